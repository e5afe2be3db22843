//! The flag that binds bytes of a kernel's parameters.
//!
//! A hint must be a flag that binds what it speaks of: `--arg` with the position in the reference where
//! the bytes have a partner, since a key means that of the reference; else the flag of the one kernel.

use crate::kernel::Param;

use super::binding::{Key, ParamKey};
use super::fit::Side;
use super::pairing::{Pair, Target, targets};

/// The flag for some bytes of the parameter space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// First byte in the parameter space.
    pub start: u32,
    /// Number of bytes.
    pub bytes: u32,
    /// `--arg`, `--ref-arg` or `--opt-arg`.
    pub flag: &'static str,
    /// Position of the parameter.
    position: usize,
    /// Its name in the source where that means the same, else its position.
    key: String,
    /// Offset of the first byte in that parameter; `None` for a parameter without fields.
    offset: Option<u32>,
}

impl Flag {
    /// The position of the parameter of a byte of this range, with the offset of a field.
    pub(super) fn place(&self, byte: u32) -> (u32, Option<u32>) {
        let offset = self.offset.map(|offset| offset + (byte - self.start));
        (self.position as u32, offset)
    }

    /// The flag and key for a byte of this range, as in `--arg 2+8`.
    pub fn at(&self, byte: u32) -> String {
        let Flag { flag, key, .. } = self;
        match self.offset {
            Some(offset) => format!("{flag} {key}+{}", offset + (byte - self.start)),
            None => format!("{flag} {key}"),
        }
    }
}

/// The flags of each kernel.
pub(super) fn of(sides: &[Side], pairs: &[Pair]) -> Vec<Vec<Flag>> {
    let mut out = vec![Vec::new(); sides.len()];
    for pair in pairs {
        for (side, s) in sides.iter().enumerate() {
            let Some(part) = pair[side] else { continue };
            let param = &s.kernel.params[part.param];
            let own = Target {
                side,
                param: part.param,
                offset: None,
            };
            let (flag, named) = match (sides.len(), pair) {
                (1, _) => ("--arg", part),
                (_, [Some(reference), Some(_)]) => ("--arg", *reference),
                _ if alone(sides, pairs, own) => ("--arg", part),
                _ => (["--ref-arg", "--opt-arg"][side.min(1)], part),
            };
            let of = match pair {
                [Some(_), Some(_)] => 0,
                _ => side,
            };
            let bytes = sides[of].kernel.params[named.param].bytes;
            let scalar = named.start == 0 && named.bytes == bytes && [1, 2, 4, 8].contains(&bytes);
            out[side].push(Flag {
                start: param.offset + part.start,
                bytes: part.bytes,
                flag,
                position: named.param,
                key: key(sides, pairs, (of, named.param), flag != "--arg"),
                offset: (!scalar).then_some(named.start),
            });
        }
    }
    out
}

/// The key of a parameter of a side, in a flag of one kernel (`own`) or of both.
fn key(sides: &[Side], pairs: &[Pair], (side, param): (usize, usize), own: bool) -> String {
    let of = |param: ParamKey| {
        let key = Key {
            param,
            offset: None,
        };
        targets(sides, pairs, side, &key, own)
    };
    let Param { name, symbol, .. } = &sides[side].kernel.params[param];
    let by_name = || of(ParamKey::Name(name.clone()));
    match name != symbol && by_name() == of(ParamKey::Position(param as u32)) {
        true => name.clone(),
        false => param.to_string(),
    }
}

/// Does `--arg` with the position of a place, which has no partner, bind it and nothing else?
fn alone(sides: &[Side], pairs: &[Pair], place: Target) -> bool {
    let key = Key {
        param: ParamKey::Position(place.param as u32),
        offset: None,
    };
    targets(sides, pairs, place.side, &key, false) == [[place]]
}
