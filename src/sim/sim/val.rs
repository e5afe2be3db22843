//! A value of a register of one thread or of a warp, and how the values of lanes are written as words.

use crate::kernel::Fmt;
use crate::term::TermId;

use super::open::OpenSum;

/// The value of one lane of one register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Val {
    /// Known bits.
    Conc(u64),
    /// The encoding of a real in a format; the register has the format's width.
    Real(Fmt, TermId),
    /// A real that is still being summed up.
    Open(Fmt, OpenSum),
    /// A bit-vector term of the register's width.
    Bits(TermId),
    /// Bits of this width that are still being summed up; the register has it.
    Sum(u8, OpenSum),
    /// A truth value.
    Pred(TermId),
    /// Never written.
    Unset,
    /// Written, by a run that does not make this value.
    Absent,
}

pub(super) const REAL: u64 = 1;
pub(super) const BITS: u64 = 2;
pub(super) const PRED: u64 = 3;
pub(super) const UNSET: u64 = 4;
pub(super) const OPEN: u64 = 5;
pub(super) const SUM: u64 = 6;
pub(super) const ABSENT: u64 = 7;

/// No term.
pub(super) const NOT_YET: u32 = u32::MAX;

/// The packed form of a lane that was never written.
pub(super) const UNSET_LANE: u64 = UNSET << 56;

/// The packed form of a lane whose value is absent.
pub(super) const ABSENT_LANE: u64 = ABSENT << 56;

/// The upper 16 bits of the packed form of a real of a format.
pub(super) fn real_head(fmt: Fmt) -> u64 {
    REAL << 8 | fmt as u64
}

/// True if a symbolic lane word packs a real.
#[inline]
pub(super) fn is_number(word: u64) -> bool {
    word >> 56 == REAL
}

/// The upper 16 bits of the packed form of an open sum of a format.
pub(super) fn open_head(fmt: Fmt) -> u64 {
    OPEN << 8 | fmt as u64
}

/// The upper 16 bits of the packed form of a bit-vector term.
pub(super) const BITS_HEAD: u64 = BITS << 8;

/// The upper 16 bits of the packed form of an open sum of bits of a width.
pub(super) fn sum_head(width: u8) -> u64 {
    SUM << 8 | width as u64
}

/// The packed form of an open sum with this head.
#[inline]
pub(super) fn open_word(head: u64, s: OpenSum) -> u64 {
    head << 48 | (s.len as u64) << 40 | (s.lane as u64) << 32 | s.chunk as u64
}

/// The packed form of the sum of a lane, from that of lane 0, where they differ in nothing else.
#[inline]
pub(super) fn of_lane(word: u64, lane: usize) -> u64 {
    word | (lane as u64) << 32
}

/// The open sum that a lane word packs.
#[inline]
pub(super) fn open_sum(word: u64) -> OpenSum {
    OpenSum {
        chunk: word as u32,
        len: (word >> 40) as u8,
        lane: (word >> 32) as u8,
    }
}

impl Val {
    /// The lane word, and whether it is symbolic.
    #[inline]
    pub fn pack(self) -> (u64, bool) {
        match self {
            Val::Conc(v) => (v, false),
            Val::Real(f, t) => (REAL << 56 | (f as u64) << 48 | t.0 as u64, true),
            Val::Open(f, s) => (open_word(open_head(f), s), true),
            Val::Bits(t) => (BITS << 56 | t.0 as u64, true),
            Val::Sum(w, s) => (open_word(sum_head(w), s), true),
            Val::Pred(t) => (PRED << 56 | t.0 as u64, true),
            Val::Unset => (UNSET_LANE, true),
            Val::Absent => (ABSENT_LANE, true),
        }
    }

    /// The bits, where they are known.
    #[inline]
    pub fn known(self) -> Option<u64> {
        match self {
            Val::Conc(n) => Some(n),
            _ => None,
        }
    }

    /// The value that a symbolic lane word packs.
    #[inline]
    pub fn unpack(word: u64) -> Val {
        let t = TermId(word as u32);
        match word >> 56 {
            REAL => Val::Real(Fmt::ALL[(word >> 48 & 0xff) as usize], t),
            OPEN => Val::Open(Fmt::ALL[(word >> 48 & 0xff) as usize], open_sum(word)),
            BITS => Val::Bits(t),
            SUM => Val::Sum((word >> 48) as u8, open_sum(word)),
            PRED => Val::Pred(t),
            ABSENT => Val::Absent,
            _ => Val::Unset,
        }
    }
}
