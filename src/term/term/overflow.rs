//! What classes of numbers the machine may find in the place of a term.
//!
//! Problem: over the reals `x * x` is a number, and on the machine an infinity where x is large; a
//! kernel that tests for that is not the one that never does. Which tests only the reals decide is found by the
//! signs of operands: a square is never negative, a sum of squares never a NaN, the product of two inputs may
//! be an infinity of either sign, and the sum of two such not a number.
//!
//! How this differs from [`bounds`](TermStore::bounds): an infinity, or what is not a number, that a real operation makes is
//! told from one that a number beyond the format has become, since the term itself says where
//! the first occurs. Source: IEEE 754, sections 6 and 7, without underflow: a positive real is not
//! rounded to 0.
//!
//! Sound in the direction of "cannot be": a class that is missing does not occur.

use num_traits::Signed;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{ArrayId, Class, Fun, Term, TermId, TermStore, pairs, pow2};
use crate::scalar::Fmt;

/// A set of kinds of numbers.
type Kinds = u16;

const MINUS: Kinds = 1;
const ZERO: Kinds = 2;
const PLUS: Kinds = 4;
const FINITE: Kinds = MINUS | ZERO | PLUS;
const NEG_INF: Kinds = 8;
const POS_INF: Kinds = 16;
const NAN: Kinds = 32;
/// What is a number over the reals, and infinite for the machine.
const OVER_NEG: Kinds = 64;
const OVER_POS: Kinds = 128;
/// Not a number because of such an infinity.
const OVER_NAN: Kinds = 256;
const ALL: Kinds = 511;

const NEGATIVE: Kinds = MINUS | NEG_INF | OVER_NEG;
const INFINITE: Kinds = NEG_INF | POS_INF | OVER_NEG | OVER_POS;
const OVER: Kinds = OVER_NEG | OVER_POS | OVER_NAN;

/// Terms that are looked at for one question.
const MAX_TERMS: usize = 1 << 14;

/// Numbers below these powers of two overflow in no format of 32 bits or more, nor in bf16; and in no format.
const SAFE: i64 = 100;
const SAFE_HALF: i64 = 2;

/// Whether a number may be below 0, 0, above 0.
pub(super) type Sides = [bool; 3];

/// What was brought to formats in which less can be said.
#[derive(Clone, Debug, Default)]
pub struct Narrow {
    /// Terms that were converted to a format that holds less.
    pub terms: FxHashSet<TermId>,
    /// True once something was computed in a format of less range than 32 bits.
    pub small: bool,
}

fn kinds() -> impl Iterator<Item = Kinds> {
    (0..9).map(|i| 1 << i)
}

/// The union of what an operation makes of each two kinds of operands.
fn each(a: Kinds, b: Kinds, f: impl Fn(Kinds, Kinds) -> Kinds) -> Kinds {
    let of = |s: Kinds| kinds().filter(move |k| s & k != 0);
    of(a)
        .flat_map(|x| of(b).map(move |y| (x, y)))
        .fold(0, |all, (x, y)| all | f(x, y))
}

/// What is not a number stays so; one that only the machine has may meet one that the reals have.
fn nan(a: Kinds, b: Kinds) -> Option<Kinds> {
    let both = a | b;
    (both & (NAN | OVER_NAN) != 0).then_some(match both & OVER_NAN != 0 {
        true => both & (NAN | OVER_NAN),
        false => NAN,
    })
}

/// Not a number, for a reason that the reals have or that they do not.
fn clash(a: Kinds, b: Kinds) -> Kinds {
    if (a | b) & OVER != 0 { OVER_NAN } else { NAN }
}

fn opposite(a: Kinds) -> Kinds {
    let swap =
        |x: Kinds, y: Kinds| (if a & x != 0 { y } else { 0 }) | if a & y != 0 { x } else { 0 };
    swap(MINUS, PLUS)
        | swap(NEG_INF, POS_INF)
        | swap(OVER_NEG, OVER_POS)
        | a & (ZERO | NAN | OVER_NAN)
}

fn add(a: Kinds, b: Kinds) -> Kinds {
    if let Some(n) = nan(a, b) {
        return n;
    }
    match (a & INFINITE != 0, b & INFINITE != 0) {
        (true, true) if (a & NEGATIVE != 0) != (b & NEGATIVE != 0) => clash(a, b),
        (true, true) if a & OVER != 0 => b,
        (true, _) => a,
        (_, true) => b,
        _ => match (a, b) {
            (ZERO, x) | (x, ZERO) => x,
            (PLUS, PLUS) => PLUS | OVER_POS,
            (MINUS, MINUS) => MINUS | OVER_NEG,
            _ => FINITE,
        },
    }
}

/// A magnitude with a sign.
fn signed(negative: bool, k: Kinds) -> Kinds {
    if negative { opposite(k) } else { k }
}

fn mul(a: Kinds, b: Kinds) -> Kinds {
    if let Some(n) = nan(a, b) {
        return n;
    }
    let negative = (a & NEGATIVE != 0) != (b & NEGATIVE != 0);
    match (a == ZERO || b == ZERO, (a | b) & INFINITE) {
        (true, 0) => ZERO,
        (true, _) => clash(a, b),
        (_, 0) => signed(negative, PLUS | OVER_POS),
        (_, i) if i & (NEG_INF | POS_INF) != 0 => signed(negative, POS_INF),
        _ => signed(negative, OVER_POS),
    }
}

fn div(a: Kinds, b: Kinds) -> Kinds {
    if let Some(n) = nan(a, b) {
        return n;
    }
    let negative = (a & NEGATIVE != 0) != (b & NEGATIVE != 0);
    match (a & INFINITE != 0, b & INFINITE != 0) {
        (true, true) => clash(a, b),
        (false, true) => ZERO,
        (_, false) if b == ZERO && a == ZERO => NAN,
        (_, false) if b == ZERO => POS_INF | NEG_INF,
        (true, false) => signed(negative, if a & OVER != 0 { OVER_POS } else { POS_INF }),
        _ if a == ZERO => ZERO,
        _ => signed(negative, PLUS | OVER_POS),
    }
}

fn fun(f: Fun, a: Kinds) -> Kinds {
    let negative = a & NEGATIVE != 0;
    match (f, a) {
        (_, NAN | OVER_NAN) => a,
        (Fun::Sqrt | Fun::Rsqrt | Fun::Log2, _) if negative => clash(a, NAN) | NAN,
        (Fun::Sqrt, _) => a,
        (Fun::Rsqrt, ZERO) => POS_INF | NEG_INF,
        (Fun::Rsqrt, PLUS) => PLUS | OVER_POS,
        (Fun::Rsqrt, _) => ZERO,
        (Fun::Log2, ZERO) => NEG_INF,
        (Fun::Log2, PLUS) => FINITE,
        (Fun::Log2, _) => a,
        (Fun::Exp2, NEG_INF | OVER_NEG) => ZERO,
        (Fun::Exp2, PLUS) => PLUS | OVER_POS,
        (Fun::Exp2, MINUS | ZERO) => PLUS,
        (Fun::Exp2, _) => a,
        (Fun::Sin | Fun::Cos, _) if a & INFINITE != 0 => clash(a, a),
        (Fun::Sin | Fun::Cos, _) => FINITE,
        (Fun::Tanh | Fun::Erf, ZERO) => ZERO,
        (Fun::Tanh | Fun::Erf, _) => signed(negative, PLUS),
        (Fun::Abs, _) => signed(negative, a),
        (Fun::Floor | Fun::Ceil | Fun::Trunc | Fun::RoundEven, PLUS | MINUS) => a | ZERO,
        (Fun::Floor | Fun::Ceil | Fun::Trunc | Fun::RoundEven, _) => a,
    }
}

/// The larger or smaller: one of both, and no number only where neither is.
fn extremum(a: Kinds, b: Kinds) -> Kinds {
    let none = NAN | OVER_NAN;
    match (a & none != 0, b & none != 0) {
        (true, true) => (a | b) & none,
        (true, false) => b,
        (false, true) => a,
        _ => a | b,
    }
}

impl TermStore {
    /// Whether the machine's number for a term may be of a class for no other reason than that
    /// something was beyond its format.
    pub fn may_overflow(&self, class: Class, root: TermId, narrow: &Narrow) -> bool {
        let kind = match class {
            Class::Nan => OVER_NAN,
            Class::PosInf => OVER_POS,
            Class::NegInf => OVER_NEG,
        };
        self.kinds(root, narrow) & kind != 0
    }

    /// Whether a number of the machine may be below 0, 0, above 0, where it is a number and none is beyond its format.
    pub(super) fn sides(&self, t: TermId) -> Sides {
        let found = self.kinds_within(t, !OVER, &Narrow::default());
        [NEGATIVE, ZERO, PLUS | POS_INF].map(|side| found & side != 0)
    }

    fn kinds(&self, root: TermId, narrow: &Narrow) -> Kinds {
        self.kinds_within(root, ALL, narrow)
    }

    /// The same where no term is of another kind than some.
    fn kinds_within(&self, root: TermId, all: Kinds, narrow: &Narrow) -> Kinds {
        let ids = self.reachable(&[root]);
        if ids.len() > MAX_TERMS {
            return ALL;
        }
        let mut known: FxHashMap<TermId, Kinds> = FxHashMap::default();
        let mut sizes: FxHashMap<TermId, i64> = FxHashMap::default();
        for t in ids {
            if let Some(size) = self.size_of(t, &sizes) {
                sizes.insert(t, size);
            }
            let mut k = self.kinds_of((t, all), &known, &sizes, narrow);
            if narrow.terms.contains(&t) {
                k |= (if k & PLUS != 0 { OVER_POS } else { 0 })
                    | if k & MINUS != 0 { OVER_NEG } else { 0 };
            }
            known.insert(t, k & all);
        }
        known.get(&root).copied().unwrap_or(ALL)
    }

    fn kinds_of(
        &self,
        (t, all): (TermId, Kinds),
        known: &FxHashMap<TermId, Kinds>,
        sizes: &FxHashMap<TermId, i64>,
        narrow: &Narrow,
    ) -> Kinds {
        let of = |t: TermId| known.get(&t).copied().unwrap_or(ALL);
        let both = |a: TermId, b: TermId, f: fn(Kinds, Kinds) -> Kinds| match a == b {
            true => kinds()
                .filter(|k| of(a) & k != 0)
                .fold(0, |all, k| all | f(k, k)),
            false => each(of(a), of(b), f),
        };
        let product = |a: TermId, b: TermId| both(a, b, mul);
        let k = match self.get(t) {
            Term::Const(c) => match self.constant(c) {
                c if c.is_positive() => PLUS,
                c if c.is_negative() => MINUS,
                _ => ZERO,
            },
            Term::Inf { neg: true } => NEG_INF,
            Term::Inf { neg: false } => POS_INF,
            Term::Undefined => NAN,
            Term::Elem {
                array: ArrayId::CONSTANTS,
                ..
            } => PLUS,
            // Integers are beyond a format of small range only.
            Term::OfInt { .. } if narrow.small => FINITE | OVER_POS | OVER_NEG,
            Term::Elem { .. } => match self.element_ends(t) {
                Some((lo, _)) if lo > 0.0 => PLUS,
                Some((_, hi)) if hi < 0.0 => MINUS,
                Some((lo, _)) if lo >= 0.0 => PLUS | ZERO,
                Some((_, hi)) if hi <= 0.0 => MINUS | ZERO,
                _ => FINITE,
            },
            Term::OfInt { .. } => FINITE,
            Term::Add(a, b) => both(a, b, add),
            Term::Mul(a, b) => product(a, b),
            Term::Neg(a) => opposite(of(a)),
            Term::Sum(list) => {
                let products = pairs(list).map(|(a, b)| product(a, b));
                products.fold(ZERO, |sum, p| each(sum, p, add))
            }
            Term::Div(a, b) => both(a, b, div),
            Term::Fun(f, a) => each(of(a), ZERO, |k, _| fun(f, k)),
            Term::Max(a, b) | Term::Min(a, b) => each(of(a), of(b), extremum),
            Term::Select(_, a, b) => of(a) | of(b),
            Term::OfBits { fmt, .. } if fmt.is_always_finite() => FINITE,
            // Bits of which nothing is known may be any number, as may those of nothing else here.
            Term::OfBits { .. } => FINITE | NEG_INF | POS_INF | NAN,
            _ => return ALL,
        };
        // Bounds cost more than all else here, and take away nothing but this.
        if k & all & OVER == 0 {
            return k;
        }
        let mut below = 0;
        self.children(t, |c| below |= of(c));
        let limit = if narrow.small { SAFE_HALF } else { SAFE };
        let is_small = || sizes.get(&t).is_some_and(|size| *size <= limit);
        match below & (INFINITE | NAN | OVER_NAN) == 0 && (is_small() || self.is_safe(t, narrow)) {
            true => k & !OVER,
            false => k,
        }
    }

    /// An e such that no number a term stands for is as large as 2^e, in whichever order its sums are taken: from the
    /// largest number that the formats of its elements hold.
    fn size_of(&self, t: TermId, sizes: &FxHashMap<TermId, i64>) -> Option<i64> {
        let of = |t: TermId| sizes.get(&t).copied();
        let product = |a: TermId, b: TermId| Some(of(a)? + of(b)?);
        let both = |a: TermId, b: TermId| Some(of(a)?.max(of(b)?));
        Some(match self.get(t) {
            Term::Const(c) => {
                let c = self.constant(c);
                c.numer().bits() as i64 - c.denom().bits() as i64 + 1
            }
            Term::Elem {
                array: ArrayId::CONSTANTS,
                ..
            } => 1,
            Term::Elem { fmt, .. } => match fmt {
                Fmt::F16 | Fmt::E5m2 => 16,
                Fmt::E4m3 => 9,
                Fmt::E3m2 => 5,
                Fmt::E2m3 | Fmt::E2m1 => 3,
                _ => return None,
            },
            Term::OfInt { bits, .. } => self.width(bits).into(),
            Term::Neg(a) | Term::Fun(Fun::Abs, a) => of(a)?,
            Term::Add(a, b) => both(a, b)? + 1,
            Term::Mul(a, b) => product(a, b)?,
            Term::Sum(list) => {
                let mut size = i64::MIN;
                for (a, b) in pairs(list) {
                    size = size.max(product(a, b)?);
                }
                size.checked_add(i64::from((list.len() / 2).ilog2()) + 1)?
            }
            Term::Max(a, b) | Term::Min(a, b) | Term::Select(_, a, b) => both(a, b)?,
            Term::Fun(f, a) if f.is_rounding() => of(a)?.max(0) + 1,
            Term::Fun(Fun::Tanh | Fun::Erf | Fun::Sin | Fun::Cos, _) => 1,
            _ => return None,
        })
    }

    /// True if its bounds exclude that a real is beyond the formats that are computed in.
    fn is_safe(&self, t: TermId, narrow: &Narrow) -> bool {
        let b = self.bounds(t);
        let limit = pow2(if narrow.small { SAFE_HALF } else { SAFE });
        b.lo.is_some_and(|lo| -lo < limit) && b.hi.is_some_and(|hi| hi < limit)
    }

    /// True if the machine can have computed a term in one way only, as far as it matters for what is beyond a format: a
    /// sum that was gathered has lost its order, a product that is added may have been rounded or not, and there are
    /// quotients that overflow early.
    pub fn has_one_tree(&self, root: TermId, narrow: &Narrow) -> bool {
        let is_product = |t: TermId| {
            let inner = match self.get(t) {
                Term::Neg(x) => x,
                _ => t,
            };
            matches!(self.get(inner), Term::Mul(..) | Term::Sum(_))
        };
        let ids = self.reachable(&[root]);
        ids.len() <= MAX_TERMS
            && !narrow.small
            && ids.iter().all(|&t| match self.get(t) {
                Term::Sum(_) | Term::Div(..) => false,
                Term::Add(a, b) => !is_product(a) && !is_product(b),
                _ => !narrow.terms.contains(&t),
            })
    }

    /// Whether the number that a format has for a term is of a class: by the rules for special
    /// values, or, where only the reals decide that it is not, by what is left open.
    pub fn is_found(&mut self, class: Class, (fmt, t): (Fmt, TermId), narrow: &Narrow) -> TermId {
        let is = self.is(class, t);
        if !self.may_overflow(class, t, narrow) {
            return is;
        }
        let over = self.overflows(class, fmt, t);
        self.or(is, over)
    }
}

#[cfg(test)]
mod tests {
    use super::super::RCmp;
    use super::*;

    /// A score of attention in half precision is far from the end of single precision; one in single precision, or of
    /// bfloat16, is not, nor is what was computed in half precision.
    #[test]
    fn sums_of_products_of_small_formats_do_not_overflow() {
        for (fmt, open) in [
            (Fmt::F16, false),
            (Fmt::E4m3, false),
            (Fmt::E5m2, false),
            (Fmt::Bf16, true),
            (Fmt::F32, true),
        ] {
            let mut s = TermStore::new();
            let x: Vec<TermId> = (0..64).map(|i| s.elem(ArrayId(0), fmt, 4 * i)).collect();
            let pairs: Vec<_> = x.iter().map(|&a| (a, x[0])).collect();
            let dot = s.sum(&pairs);
            let (minus, quarter) = (s.infinity(true), s.integer(3));
            let score = s.mul(dot, quarter);
            let (p, highest) = (s.rcmp(RCmp::Lt, x[0], x[1]), s.max(score, x[1]));
            let masked = s.select(p, highest, minus);
            let scores = [dot, score, masked];
            let small = Narrow {
                small: true,
                ..Narrow::default()
            };
            for t in scores {
                assert_eq!(
                    s.may_overflow(Class::NegInf, t, &Narrow::default()),
                    open,
                    "{fmt:?}"
                );
                assert!(s.may_overflow(Class::NegInf, t, &small), "{fmt:?}");
            }
            // Eight factors are beyond it.
            let square = s.mul(dot, dot);
            let fourth = s.mul(square, square);
            if fmt == Fmt::F16 {
                assert!(s.may_overflow(Class::PosInf, fourth, &Narrow::default()));
                assert!(!s.may_overflow(Class::PosInf, square, &Narrow::default()));
            }
        }
    }
}
