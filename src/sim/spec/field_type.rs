//! The type of a number that is bound to bytes whose declaration does not tell it.
//!
//! Source: the section "Bindings" of the command-line contract. A suffix (`0+24=1.5:f32`) decides.
//! Without one the loads that begin at the bytes do: a typed one by its type, an untyped one by what
//! takes its value. A load that is wider than every use of its value covers several fields and tells
//! nothing. Loads at addresses that are not known count where none is known to begin there: if all of
//! them take one type, whatever reads the bytes does.
//!
//! Sound: a type is guessed never. Where loads and uses are silent or disagree, and where a suffix
//! contradicts a typed load, the binding is refused with the suffixes that would settle it.

use crate::kernel::usage::ParamUse;
use crate::kernel::{Kernel, NumTy, ParamKind, ValueUse};

use super::ElemTy;
use super::binding::ArgValue;
use super::usage::ParamUses;

/// What one declaration or load says about bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// They are of this type.
    Is(ElemTy),
    /// They are of this type if nothing says otherwise.
    May(ElemTy),
    /// They are taken as several types.
    Mixed,
}

/// Why no type follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoType {
    /// Nothing tells it.
    Silent,
    /// Two things tell different ones.
    Disagree,
}

impl From<NumTy> for ElemTy {
    fn from(ty: NumTy) -> ElemTy {
        match ty {
            NumTy::Float(fmt) => ElemTy::Float(fmt),
            NumTy::Int(t) => ElemTy::Int {
                width: t.width,
                signed: t.signed,
            },
        }
    }
}

/// An integer type of loads of halves, which have no type of their own in PTX.
fn is_half(ty: NumTy) -> bool {
    matches!(ty, NumTy::Int(t) if t.width == 16 && !t.signed)
}

/// The float that every use takes the value of a load of so many bits as; an error if uses differ.
fn float_of(taken: &[ValueUse], bits: u32) -> Option<ElemTy> {
    let [ValueUse::Number(NumTy::Float(first)), rest @ ..] = taken else {
        return None;
    };
    let same = |u: &ValueUse| *u == ValueUse::Number(NumTy::Float(*first));
    (first.bits() == bits && rest.iter().all(same)).then_some(ElemTy::Float(*first))
}

/// An integer that a use takes the whole value of a load of so many bits as.
fn is_integer(taken: &ValueUse, bits: u32) -> bool {
    match taken {
        ValueUse::Number(NumTy::Int(t)) => u32::from(t.width) >= bits,
        ValueUse::Address => bits == 64,
        ValueUse::Number(NumTy::Float(_)) | ValueUse::Bits => false,
    }
}

/// What a load says with its type and the uses of its value.
fn of_load(load: &ParamUse) -> Vec<Reading> {
    let bits = 8 * load.bytes;
    let integer = |signed| ElemTy::Int {
        width: bits.min(64) as u8,
        signed,
    };
    let used = load.taken.iter().any(|u| is_integer(u, bits));
    let narrow = |u: &ValueUse| match u {
        ValueUse::Number(ty) => ty.bits() < bits,
        ValueUse::Address | ValueUse::Bits => false,
    };
    // Every use takes a part: several fields are read at once.
    let several = !load.taken.is_empty() && load.taken.iter().all(narrow);
    let mut out = Vec::new();
    for ty in &load.loaded {
        out.push(match ty {
            NumTy::Float(_) => Reading::Is((*ty).into()),
            NumTy::Int(_) if several => continue,
            NumTy::Int(_) if is_half(*ty) => Reading::May((*ty).into()),
            NumTy::Int(_) if used => Reading::Is((*ty).into()),
            NumTy::Int(_) if float_of(&load.taken, bits).is_some() => Reading::Mixed,
            NumTy::Int(_) => Reading::May((*ty).into()),
        });
    }
    let typed = load.loaded.iter().any(|ty| !is_half(*ty));
    if typed || several || load.taken.is_empty() {
        return out;
    }
    out.push(match float_of(&load.taken, bits) {
        Some(float) => Reading::Is(float),
        None if load.taken.iter().all(|u| is_integer(u, bits)) => Reading::Is(integer(false)),
        None => Reading::Mixed,
    });
    out
}

/// What a kernel says about the bytes from an offset of a parameter on.
pub(super) fn readings(
    kernel: &Kernel,
    uses: &ParamUses,
    param: usize,
    offset: u32,
) -> Vec<Reading> {
    let from_loads = || uses.at(param, offset).flat_map(of_load);
    match kernel.params.get(param).map(|p| p.kind) {
        Some(ParamKind::Float(fmt)) => vec![Reading::Is(ElemTy::Float(fmt))],
        Some(ParamKind::Int {
            width,
            signed,
            untyped,
            ..
        }) => {
            let declared = ElemTy::Int { width, signed };
            match untyped {
                false => vec![Reading::Is(declared)],
                // Its width is known, so that an integer needs no use that tells it.
                true => {
                    let told = from_loads().filter(|r| *r != Reading::Mixed);
                    told.chain([Reading::May(declared)]).collect()
                }
            }
        }
        Some(ParamKind::Bytes) => from_loads().collect(),
        None => Vec::new(),
    }
}

/// The type that all readings allow.
pub(super) fn agree(readings: &[Reading]) -> Result<ElemTy, NoType> {
    if readings.contains(&Reading::Mixed) {
        return Err(NoType::Disagree);
    }
    let sure: Vec<ElemTy> = readings.iter().filter_map(|r| r.sure()).collect();
    let may = readings.iter().filter_map(|r| r.possible());
    let of: Vec<ElemTy> = match sure.is_empty() {
        true => may.collect(),
        false => sure,
    };
    let Some(&first) = of.first() else {
        return Err(NoType::Silent);
    };
    match of.iter().all(|&ty| same(ty, first)) {
        // An unsigned reading of an integer takes more values than a signed one.
        true => Ok(of.into_iter().find(|ty| !ty.is_signed()).unwrap_or(first)),
        false => Err(NoType::Disagree),
    }
}

impl Reading {
    fn sure(&self) -> Option<ElemTy> {
        match self {
            Reading::Is(ty) => Some(*ty),
            Reading::May(_) | Reading::Mixed => None,
        }
    }

    fn possible(&self) -> Option<ElemTy> {
        match self {
            Reading::Is(ty) | Reading::May(ty) => Some(*ty),
            Reading::Mixed => None,
        }
    }
}

/// Do two types write the same bytes for a number?
fn same(a: ElemTy, b: ElemTy) -> bool {
    match (a, b) {
        (ElemTy::Int { width: a, .. }, ElemTy::Int { width: b, .. }) => a == b,
        (ElemTy::Float(a), ElemTy::Float(b)) => a == b,
        (ElemTy::Int { .. }, ElemTy::Float(_)) | (ElemTy::Float(_), ElemTy::Int { .. }) => false,
    }
}

/// The type of a typed load or declaration that a suffix contradicts.
pub(super) fn contradicted(
    kernel: &Kernel,
    uses: &ParamUses,
    (param, offset): (usize, u32),
    suffix: ElemTy,
) -> Option<ElemTy> {
    let against = |ty: ElemTy| match (ty, suffix) {
        // A wider load covers the field with others, a narrower one reads a part of an integer.
        (ElemTy::Float(load), ElemTy::Float(said)) => load != said,
        (ElemTy::Float(_), ElemTy::Int { .. }) => true,
        (ElemTy::Int { width, .. }, ElemTy::Float(said)) => said.bits() > u32::from(width),
        (ElemTy::Int { .. }, ElemTy::Int { .. }) => false,
    };
    let same_size = |ty: ElemTy| ty.bytes() == suffix.bytes() && !same(ty, suffix);
    let mut said: Vec<NumTy> = Vec::new();
    match kernel.params.get(param).map(|p| p.kind) {
        Some(ParamKind::Float(fmt)) => said.push(NumTy::Float(fmt)),
        Some(ParamKind::Int {
            width,
            signed,
            untyped: false,
            ..
        }) => said.push(NumTy::Int(crate::kernel::IntTy { width, signed })),
        Some(ParamKind::Int { .. } | ParamKind::Bytes) => {
            // Some compilers copy a structure as integers, whatever its fields are.
            let copied = |l: &&ParamUse| float_of(&l.taken, 8 * l.bytes) != Some(suffix);
            let loads = uses.at(param, offset).filter(copied);
            said.extend(loads.flat_map(|load| &load.loaded));
        }
        None => {}
    }
    let mut said = said.into_iter().filter(|ty| !is_half(*ty));
    said.find(|ty| against((*ty).into()) || same_size((*ty).into()))
        .map(ElemTy::from)
}

/// The bits of a number as a value of a type; `None` if the type cannot hold it.
pub(super) fn bits_of(value: &ArgValue, ty: ElemTy) -> Option<u64> {
    match ty {
        ElemTy::Float(fmt) => value.float_bits(fmt),
        ElemTy::Int { width, signed } => value.int_bits(width.into(), signed),
    }
}
