//! What a float is where it is no real number.
//!
//! Problem: canonical forms are forms of real numbers, and a kernel computes with infinities and with what is not a
//! number too: it masks with -inf, divides by 0, takes the maximum of it and goes on with a number. A term denotes
//! a real, an infinity or NaN, by IEEE's rules without rounding (IEEE 754, section 6; PTX ISA 9.0, section
//! 9.7.3). This folder says of it under which conditions it is which, and what its real value is elsewhere (`faces`).
//!
//! Cheap by default: arithmetic passes on what is special, so that a term whose partial operations nothing *reads*
//! is left as it is: wherever one of them has no real value, neither has the whole. What reads is a comparison, a
//! test, a maximum, a conversion to an integer, and what has a finite value at an infinity (1 / inf, exp(-inf),
//! tanh). A reader whose operand may be special by the signs of what is divided by, or is under a root or a
//! logarithm, makes the term one that has to be lifted ([`Survey::reads`]).
//!
//! Not claimed: the sign of a zero is that of the real zero's computation in both kernels alike; so the sign of x / 0 is an
//! unknown of its own for each denominator that may be -0. Infinities that a logarithm of 0 makes are read by no
//! function here: that its argument is positive is an assumption of whoever proves that.

use rustc_hash::FxHashMap;

use crate::term::{Fun, Sort, Term, TermId, TermStore};

pub mod faces;

/// What the signs of terms are known to be wherever they are defined. Sound in the direction of `true`.
pub trait Signs {
    /// The term is not 0.
    fn nonzero(&mut self, t: TermId) -> bool;
    /// The term is not below 0.
    fn nonnegative(&mut self, t: TermId) -> bool;
    /// The term is above 0.
    fn positive(&mut self, t: TermId) -> bool;
}

/// What a real may be beside a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct May {
    pub nan: bool,
    pub infinite: bool,
    /// An infinity that is the logarithm of 0.
    pub log: bool,
}

impl May {
    const NEVER: May = May {
        nan: false,
        infinite: false,
        log: false,
    };
    const ANY: May = May {
        nan: true,
        infinite: true,
        log: false,
    };
    const NAN: May = May {
        nan: true,
        ..May::NEVER
    };
    const INFINITE: May = May {
        infinite: true,
        ..May::NEVER
    };
    const LOG: May = May {
        log: true,
        ..May::NEVER
    };

    fn or(self, other: May) -> May {
        May {
            nan: self.nan || other.nan,
            infinite: self.infinite || other.infinite,
            log: self.log || other.log,
        }
    }

    /// Whether an operand is read; where only infinities are, those of logarithms do not count.
    fn is_read(self, infinities: bool) -> bool {
        self.infinite || (self.nan || self.log) && !infinities
    }

    pub(crate) fn is_special(self) -> bool {
        self.nan || self.infinite || self.log
    }
}

/// What is known of one term.
#[derive(Clone, Copy, Debug)]
struct Known {
    may: May,
    /// A partial operation below it may make it special, and not a constant alone.
    partial: bool,
    /// Something below it, or itself, reads what may be special.
    reads: bool,
    /// What the signs of its operands left possible for itself.
    zero: bool,
    negative: bool,
}

/// What may be special among the terms of one store, found for those that are asked about.
#[derive(Default)]
pub struct Survey {
    known: FxHashMap<TermId, Known>,
}

/// The operands of a term that it reads, by position, and whether an infinity alone is read.
fn readers(term: Term<'_>) -> &'static [(usize, bool)] {
    match term {
        Term::RCmp(..) | Term::Max(..) | Term::Min(..) => &[(0, false), (1, false)],
        Term::Is(..) | Term::Overflows(..) | Term::Clamp { .. } => &[(0, false)],
        Term::Div(..) => &[(1, true)],
        Term::Fun(Fun::Exp2 | Fun::Tanh | Fun::Erf | Fun::Rsqrt, _) => &[(0, true)],
        Term::Const(_)
        | Term::Inf { .. }
        | Term::Undefined
        | Term::Elem { .. }
        | Term::Add(..)
        | Term::Mul(..)
        | Term::Neg(_)
        | Term::Sum(_)
        | Term::Made(_)
        | Term::Fun(..)
        | Term::Select(..)
        | Term::OfInt { .. }
        | Term::OfBits { .. }
        | Term::Bool(_)
        | Term::ICmp(..)
        | Term::Not(_)
        | Term::And(..)
        | Term::Or(..)
        | Term::Xor(..)
        | Term::BitsConst { .. }
        | Term::Bytes { .. }
        | Term::Fresh { .. }
        | Term::Word(_)
        | Term::Poison { .. }
        | Term::OfReal { .. }
        | Term::Concat(_)
        | Term::Extract { .. }
        | Term::BitsOp(..)
        | Term::BitsSum(_)
        | Term::BitsSelect(..)
        | Term::OfBool { .. } => &[],
    }
}

impl Survey {
    /// True if something below a term reads what may be special, or is an infinity or no number by itself: canonical
    /// forms say nothing of it as it stands.
    pub fn reads(&mut self, store: &TermStore, t: TermId, signs: &mut dyn Signs) -> bool {
        !store.is_total(t) && self.known(store, t, signs).reads
    }

    /// Whether a term may be an infinity that finite operands make.
    pub fn has_poles(&mut self, store: &TermStore, t: TermId, signs: &mut dyn Signs) -> bool {
        !store.is_total(t) && self.known(store, t, signs).may.infinite
    }

    fn known(&mut self, store: &TermStore, root: TermId, signs: &mut dyn Signs) -> Known {
        if let Some(&k) = self.known.get(&root) {
            return k;
        }
        let order = store.met(&[root], usize::MAX, |t, open| {
            let new = !store.is_total(t) && !self.known.contains_key(&t);
            if new {
                store.children(t, |c| open.push(c));
            }
            new
        });
        for t in order.unwrap_or_default() {
            let k = self.step(store, t, signs);
            self.known.insert(t, k);
        }
        self.known[&root]
    }

    fn step(&self, store: &TermStore, t: TermId, signs: &mut dyn Signs) -> Known {
        let mut kids: smallvec::SmallVec<[TermId; 4]> = smallvec::SmallVec::new();
        store.children(t, |c| kids.push(c));
        let of = |c: TermId| self.known.get(&c);
        let may = |c: TermId| of(c).map_or(May::NEVER, |k| k.may);
        let below = kids.iter().fold(May::NEVER, |m, &c| m.or(may(c)));
        let mut reads = kids.iter().any(|&c| of(c).is_some_and(|k| k.reads));
        // What a sign says where the operand is defined says nothing where a reader below made a number of it.
        let plain = |c: TermId| of(c).is_none_or(|k| !k.reads);
        let term = store.get(t);
        for &(i, infinities) in readers(term) {
            reads |= may(kids[i]).is_read(infinities);
        }
        let (mut zero, mut negative) = (false, false);
        let mut partial = kids.iter().any(|&c| of(c).is_some_and(|k| k.partial));
        let may = match term {
            Term::Div(_, b) => {
                zero = !(plain(b) && signs.nonzero(b));
                if zero || may(b).is_special() {
                    below.or(May::ANY)
                } else {
                    below
                }
            }
            Term::Fun(Fun::Sqrt, a) => {
                negative = !(plain(a) && signs.nonnegative(a));
                if negative || below.infinite || below.log {
                    below.or(May::NAN)
                } else {
                    below
                }
            }
            Term::Fun(Fun::Rsqrt, a) => {
                zero = !(plain(a) && signs.positive(a));
                negative = zero && !(plain(a) && signs.nonnegative(a));
                if zero { below.or(May::ANY) } else { below }
            }
            Term::Fun(Fun::Log2, a) => {
                let positive = plain(a) && signs.positive(a);
                zero = !positive;
                negative = !(positive || plain(a) && signs.nonnegative(a));
                let more = if zero { May::LOG } else { May::NEVER };
                let more = if negative || below.infinite || below.log {
                    more.or(May::NAN)
                } else {
                    more
                };
                below.or(more)
            }
            Term::Fun(Fun::Sin | Fun::Cos, _) if below.is_special() => May::NAN,
            Term::Fun(Fun::Tanh | Fun::Erf, _) => May {
                nan: below.nan,
                ..May::NEVER
            },
            Term::Add(..) | Term::Mul(..) | Term::Sum(_) if below.infinite || below.log => {
                below.or(May::NAN)
            }
            Term::Inf { .. } => {
                reads = true;
                May::INFINITE
            }
            Term::Undefined => {
                reads = true;
                May::NAN
            }
            Term::OfBits { fmt, .. } if !fmt.is_always_finite() => May::ANY,
            // A question of rounding is open whatever its operand is.
            Term::Overflows(..) | Term::Is(..) => {
                reads = true;
                May::NEVER
            }
            _ if store.sort(t) != Sort::Real => May::NEVER,
            _ => below,
        };
        // A truth value and an integer have no special values; bits of numbers keep theirs.
        let may = match term {
            Term::OfReal { .. } | Term::Concat(_) | Term::Extract { .. } | Term::BitsSelect(..) => {
                below
            }
            _ => may,
        };
        partial |= zero || negative || matches!(term, Term::OfBits { .. }) && may.is_special();
        partial &= may.is_special();
        Known {
            may,
            partial,
            reads,
            zero,
            negative,
        }
    }

    /// Whether the operand of a quotient, a root or a logarithm may be 0, and whether it may be negative.
    pub(crate) fn operand(&self, t: TermId) -> (bool, bool) {
        self.known
            .get(&t)
            .map_or((true, true), |k| (k.zero, k.negative))
    }

    /// Whether a term that was asked about may be special.
    pub(crate) fn is_special(&self, t: TermId) -> bool {
        self.known.get(&t).is_some_and(|k| k.may.is_special())
    }

    /// The terms below roots whose special values something reads.
    pub(crate) fn read_ones(
        &mut self,
        store: &TermStore,
        roots: &[TermId],
        signs: &mut dyn Signs,
    ) -> rustc_hash::FxHashSet<TermId> {
        let mut out = rustc_hash::FxHashSet::default();
        for &r in roots {
            self.reads(store, r, signs);
        }
        for t in store.reachable(roots).into_iter().rev() {
            let mut kids: smallvec::SmallVec<[TermId; 4]> = smallvec::SmallVec::new();
            store.children(t, |c| kids.push(c));
            let special = |c: TermId| match self.known.get(&c) {
                Some(k) if k.partial => k.may,
                _ => May::NEVER,
            };
            let is_read = out.contains(&t);
            for (i, &c) in kids.iter().enumerate() {
                let m = special(c);
                let mut of = readers(store.get(t)).iter();
                let read = of.any(|&(j, infinities)| i == j && m.is_read(infinities));
                if m.is_special() && store.sort(c) == Sort::Real && (read || is_read) {
                    out.insert(c);
                }
            }
        }
        out
    }
}
