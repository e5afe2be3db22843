//! Fitting bound values to the types of parameters and to fields of by-value structures.
//!
//! Source: the section "Bindings" of the command-line contract. `field_type` finds the type of a
//! number where the declaration does not say it.

use crate::kernel::{Kernel, Param, ParamKind};

use super::binding::{Arg, ArgValue, ArrayDecl, View};
use super::field_type::{NoType, Reading, agree, bits_of, contradicted, readings};
use super::manifest::KernelSpec;
use super::pair::clash;
use super::pairing::{ByteRange, Pair, Target, targets};
use super::usage::ParamUses;
use super::{ElemTy, SpecError};

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
    /// A number: its bits and its type.
    Bits(u64, ElemTy),
    /// An array.
    Array(ArrayDecl),
    /// A buffer from some byte on, or the one element of a buffer for a parameter that is no pointer.
    View(View),
}

impl Piece {
    /// The byte after the last.
    pub(super) fn end(&self) -> u32 {
        self.offset.saturating_add(self.bytes)
    }

    /// What of the piece lies in a part of its parameter, with its offset in the part; a bound
    /// piece lies in one part as a whole.
    pub(super) fn within(&self, part: ByteRange) -> Option<Piece> {
        let (start, end) = (self.offset.max(part.start), self.end().min(part.end()));
        (start < end).then(|| Piece {
            offset: start - part.start,
            bytes: end - start,
            bound: self.bound.clone(),
        })
    }

    /// Size in bytes of the piece that stands for it in the other kernel: an array is a pointer
    /// there, or another map.
    pub(super) fn paired_bytes(&self) -> u32 {
        match &self.bound {
            Bound::Array(_) => 8,
            _ => self.bytes,
        }
    }
}

/// One kernel with what is said about it.
pub(super) struct Side<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// What is said.
    pub spec: &'a KernelSpec,
    /// Its reads of parameters.
    pub uses: ParamUses,
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
    sides: &[Side],
    pairs: &[Pair],
    side: usize,
    p: usize,
) -> Result<Vec<Piece>, SpecError> {
    let Side { kernel, spec, uses } = &sides[side];
    let param = &kernel.params[p];
    let mut bound: Vec<(Piece, &Arg)> = Vec::new();
    for arg in &spec.args {
        let groups = targets(sides, pairs, side, &arg.key, arg.own);
        let here = |group: &Vec<Target>| {
            let t = group.iter().find(|t| (t.side, t.param) == (side, p))?;
            Some((t.offset, group.clone()))
        };
        let Some((offset, group)) = groups.iter().find_map(here) else {
            continue;
        };
        let said = group.iter().flat_map(|t| {
            let s = &sides[t.side];
            readings(s.kernel, &s.uses, t.param, t.offset.unwrap_or(0))
        });
        let said: Vec<Reading> = said.collect();
        let fit = Fit {
            kernel,
            uses,
            p,
            arg,
            offset,
            readings: &said,
        };
        let piece = fit.piece()?;
        let parts = pairs.iter().filter_map(|pair| pair[side]);
        let inside = |part: &ByteRange| part.start <= piece.offset && piece.end() <= part.end();
        if !parts
            .filter(|part| part.param == p)
            .any(|part| inside(&part))
        {
            let why = "it reaches beyond the field that --map pairs".to_string();
            return Err(fit.refuse(why));
        }
        let mut kept = Vec::new();
        for (old, from) in bound {
            let apart = old.end() <= piece.offset || piece.end() <= old.offset;
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
        at = piece.end();
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

/// Where a binding goes, and what both kernels say about the place.
struct Fit<'a> {
    kernel: &'a Kernel,
    uses: &'a ParamUses,
    /// Index of the parameter.
    p: usize,
    arg: &'a Arg,
    /// Byte offset of a field.
    offset: Option<u32>,
    /// What every kernel that the binding is for says about the bytes.
    readings: &'a [Reading],
}

impl Fit<'_> {
    fn refuse(&self, why: String) -> SpecError {
        let param = &self.kernel.params[self.p];
        SpecError::DoesNotFit {
            text: self.arg.text.clone(),
            param: param.name.clone(),
            kernel: self.kernel.name.clone(),
            ty: show_type(param).into(),
            why,
        }
    }

    /// The piece of the parameter that the binding is.
    fn piece(&self) -> Result<Piece, SpecError> {
        let param = &self.kernel.params[self.p];
        let offset = self.offset.unwrap_or(0);
        if self.offset.is_some() && param.kind != ParamKind::Bytes {
            return Err(self.refuse("only a by-value structure has fields".into()));
        }
        let whole = match &self.arg.value {
            ArgValue::Array(ArrayDecl { map: Some(_), .. }) => param.bytes == MAP_BYTES,
            _ => [1, 2, 4, 8].contains(&param.bytes),
        };
        if param.kind == ParamKind::Bytes && self.offset.is_none() && !whole {
            let flag = "a structure has no value of its own; bind its fields with KEY+BYTES=VALUE";
            return Err(self.refuse(flag.into()));
        }
        if offset >= param.bytes {
            return Err(self.refuse(format!("it has {} bytes", param.bytes)));
        }
        let (bytes, bound) = match &self.arg.value {
            ArgValue::Array(decl) => self.array(decl)?,
            // What a buffer is for depends on the parameter: a pointer is a view of it.
            ArgValue::View(view) => {
                let bytes = match param.kind {
                    ParamKind::Bytes => 8,
                    ParamKind::Int { .. } | ParamKind::Float(_) => param.bytes,
                };
                (bytes, Bound::View(view.clone()))
            }
            value => {
                let (ty, bits) = self.number(value, offset)?;
                (ty.bytes() as u32, Bound::Bits(bits, ty))
            }
        };
        if param.kind != ParamKind::Bytes && bytes != param.bytes {
            return Err(self.refuse(format!("it has {} bytes", param.bytes)));
        }
        if offset
            .checked_add(bytes)
            .is_none_or(|end| end > param.bytes)
        {
            return Err(self.refuse(format!("a value of {bytes} bytes does not fit there")));
        }
        if let Some(load) = self.uses.astride(self.p, (offset, offset + bytes)) {
            return Err(self.refuse(format!(
                "a load reads {} bytes at +{}, which are a part of it and others",
                load.bytes, load.offset
            )));
        }
        Ok(Piece {
            offset,
            bytes,
            bound,
        })
    }

    fn array(&self, decl: &ArrayDecl) -> Result<(u32, Bound), SpecError> {
        let bytes = match (self.kernel.params[self.p].kind, &decl.map) {
            (ParamKind::Int { .. }, Some(_)) => {
                return Err(self.refuse("a tensor map has 128 bytes".into()));
            }
            (ParamKind::Int { width, .. }, None) if width != 64 => {
                return Err(self.refuse("only 64 bits can be a pointer".into()));
            }
            (ParamKind::Float(_), _) => {
                return Err(self.refuse("a float is not a pointer".into()));
            }
            (_, Some(_)) => MAP_BYTES,
            (_, None) => 8,
        };
        Ok((bytes, Bound::Array(decl.clone())))
    }

    /// The type and bits of a number.
    fn number(&self, value: &ArgValue, offset: u32) -> Result<(ElemTy, u64), SpecError> {
        if let ArgValue::Typed(ty, bits) = value {
            let place = (self.p, offset);
            return match contradicted(self.kernel, self.uses, place, *ty) {
                None => Ok((*ty, *bits)),
                Some(load) => {
                    Err(self.refuse(format!("{} is read there; {SUFFIXES}", load.name())))
                }
            };
        }
        let ty = match (agree(self.readings), value) {
            (Ok(ty), _) => ty,
            // Such a literal says its own width.
            (Err(NoType::Silent), ArgValue::FloatBits(fmt, _)) => ElemTy::Float(*fmt),
            (Err(NoType::Silent), _) => {
                return Err(self.refuse(format!(
                    "no load or use tells what its type is there; {SUFFIXES}"
                )));
            }
            (Err(NoType::Disagree), _) => {
                return Err(self.refuse(format!(
                    "loads and uses disagree about its type there; {SUFFIXES}"
                )));
            }
        };
        if matches!(value, ArgValue::Int(v) if *v != 0) && self.uses.is_pointer(self.p, offset) {
            let why = "it is a pointer, which is an array (in:f32[128]) or 0 (null)";
            return Err(self.refuse(why.into()));
        }
        match (bits_of(value, ty), value, ty) {
            (Some(bits), ..) => Ok((ty, bits)),
            (None, ArgValue::Decimal(_) | ArgValue::FloatBits(..), ElemTy::Int { .. }) => {
                Err(self.refuse("an integer is needed".into()))
            }
            (None, ..) => Err(self.refuse(format!("{} cannot hold that value", ty.name()))),
        }
    }
}

/// How a type is said where it does not follow.
const SUFFIXES: &str = "say it with a suffix (1.5:f32, 1.5:f16, 40:s64; f16 bf16 f32 f64 s8 u8 s16 u16 s32 u32 s64 u64)";
