//! Fitting bound values to the types of parameters and to fields of by-value structures.
//!
//! Source: the section "Bindings" of the command-line contract. The width of a field of a
//! structure is that of the widest load at its offset; a field that is never read cannot matter,
//! and takes four bytes, or eight where its value needs them.

use crate::kernel::{Fmt, Kernel, Param, ParamKind};

use super::SpecError;
use super::binding::{Arg, ArgValue, ArrayDecl};
use super::manifest::KernelSpec;
use super::pair::{clash, find, is_array};
use super::usage::ParamUses;

/// Bytes of a tensor map.
pub(super) const MAP_BYTES: u32 = 128;

/// A part of one parameter.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Piece {
    /// Byte offset in the parameter.
    pub offset: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// What is there.
    pub bound: Bound,
}

/// What a user said about a part of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Bound {
    /// Nothing.
    Free,
    /// Bits.
    Bits(u64),
    /// An array.
    Array(ArrayDecl),
}

impl Piece {
    /// Size in bytes of the piece that stands for it in the other kernel: an array is a pointer
    /// there, or another map.
    pub fn paired_bytes(&self) -> u32 {
        match &self.bound {
            Bound::Array(_) => 8,
            _ => self.bytes,
        }
    }
}

/// The declared type of a parameter as PTX writes it.
pub(super) fn show_type(param: &Param) -> String {
    match param.kind {
        ParamKind::Int { width, signed, .. } => {
            format!(".{}{width}", if signed { 's' } else { 'u' })
        }
        ParamKind::Float(fmt) => format!(".{}", fmt.name()),
        ParamKind::Bytes => format!(".b8[{}]", param.bytes),
    }
}

/// The pieces of a parameter in offset order, without holes: those that are bound, and the free
/// ones between them, cut around the places where a pointer is read.
pub(super) fn bound_pieces(
    kernel: &Kernel,
    p: usize,
    spec: &KernelSpec,
    uses: &ParamUses,
) -> Result<Vec<Piece>, SpecError> {
    let param = &kernel.params[p];
    let mut bound: Vec<(Piece, &Arg)> = Vec::new();
    for arg in &spec.args {
        if find(kernel, &arg.key) != Some(p) {
            continue;
        }
        let piece = fit(kernel, p, arg, uses)?;
        let mut kept = Vec::new();
        for (old, from) in bound {
            let apart =
                old.offset + old.bytes <= piece.offset || piece.offset + piece.bytes <= old.offset;
            if apart {
                kept.push((old, from));
            } else if from.layer == arg.layer {
                return Err(clash(from, arg, &param.name));
            }
        }
        kept.push((piece, arg));
        bound = kept;
    }
    bound.sort_by_key(|(piece, _)| piece.offset);
    let mut out = Vec::new();
    let mut at = 0;
    for (piece, _) in bound {
        free(&mut out, at, piece.offset, p, uses);
        at = piece.offset + piece.bytes;
        out.push(piece);
    }
    free(&mut out, at, param.bytes, p, uses);
    Ok(out)
}

/// Adds the free bytes `start..end`, every pointer in a piece of its own.
fn free(out: &mut Vec<Piece>, start: u32, end: u32, p: usize, uses: &ParamUses) {
    let mut push = |start: u32, end: u32| {
        if end > start {
            out.push(Piece {
                offset: start,
                bytes: end - start,
                bound: Bound::Free,
            });
        }
    };
    let mut at = start;
    for offset in uses.pointers(p) {
        if offset >= at && offset + 8 <= end {
            push(at, offset);
            push(offset, offset + 8);
            at = offset + 8;
        }
    }
    push(at, end);
}

fn fit(kernel: &Kernel, p: usize, arg: &Arg, uses: &ParamUses) -> Result<Piece, SpecError> {
    let param = &kernel.params[p];
    let refuse = |why: String| SpecError::DoesNotFit {
        text: arg.text.clone(),
        param: param.name.clone(),
        kernel: kernel.name.clone(),
        ty: show_type(param),
        why,
    };
    let whole = |bound| Piece {
        offset: 0,
        bytes: param.bytes,
        bound,
    };
    if arg.key.offset.is_some() && param.kind != ParamKind::Bytes {
        return Err(refuse("only a by-value structure has fields".into()));
    }
    match param.kind {
        ParamKind::Int { .. }
            if matches!(&arg.value, ArgValue::Array(ArrayDecl { map: Some(_), .. })) =>
        {
            Err(refuse("a tensor map has 128 bytes".into()))
        }
        ParamKind::Int { width, signed, .. } => match &arg.value {
            ArgValue::Array(decl) if width == 64 => Ok(whole(Bound::Array(decl.clone()))),
            ArgValue::Array(_) => Err(refuse("only 64 bits can be a pointer".into())),
            value => match value.int_bits(width as u32, signed) {
                Some(bits) => Ok(whole(Bound::Bits(bits))),
                None => Err(refuse(not_integer(value))),
            },
        },
        ParamKind::Float(fmt) => match arg.value.float_bits(fmt) {
            Some(bits) => Ok(whole(Bound::Bits(bits))),
            None if is_array(&arg.value) => Err(refuse("a float is not a pointer".into())),
            None => Err(refuse("the type cannot hold that value".into())),
        },
        ParamKind::Bytes => {
            let is_map = matches!(&arg.value, ArgValue::Array(ArrayDecl { map: Some(_), .. }));
            let offset = match arg.key.offset {
                Some(offset) => offset,
                None if is_map && param.bytes == MAP_BYTES => 0,
                None if [1, 2, 4, 8].contains(&param.bytes) => 0,
                None => {
                    let flag = "bind its fields with KEY+BYTES=VALUE";
                    return Err(refuse(format!(
                        "a structure has no value of its own; {flag}"
                    )));
                }
            };
            let bytes = match (arg.key.offset, &arg.value) {
                (_, ArgValue::Array(_)) if is_map => MAP_BYTES,
                (_, ArgValue::Array(_)) => 8,
                (None, _) => param.bytes,
                (Some(_), ArgValue::FloatBits(fmt, _)) => fmt.bits() / 8,
                (Some(_), value) => match uses.load_bytes(p, offset) {
                    Some(bytes) => bytes,
                    None if value.int_bits(32, false).is_some() => 4,
                    None => 8,
                },
            };
            if offset
                .checked_add(bytes)
                .is_none_or(|end| end > param.bytes)
            {
                return Err(refuse(format!(
                    "a value of {bytes} bytes does not fit there"
                )));
            }
            let bound = match &arg.value {
                ArgValue::Array(decl) => Bound::Array(decl.clone()),
                value @ ArgValue::Int(_) => match value.int_bits(8 * bytes, false) {
                    Some(bits) => Bound::Bits(bits),
                    None => return Err(refuse(not_integer(value))),
                },
                value => {
                    let fmt = match bytes {
                        4 => Fmt::F32,
                        8 => Fmt::F64,
                        _ => {
                            return Err(refuse("give the bits of this field as an integer".into()));
                        }
                    };
                    match value.float_bits(fmt) {
                        Some(bits) => Bound::Bits(bits),
                        None => return Err(refuse("the type cannot hold that value".into())),
                    }
                }
            };
            Ok(Piece {
                offset,
                bytes,
                bound,
            })
        }
    }
}

fn not_integer(value: &ArgValue) -> String {
    match value {
        ArgValue::Int(_) => "the type cannot hold that value".into(),
        _ => "an integer is needed".into(),
    }
}
