//! The identities that keep every bit, but for those of a NaN.
//!
//! Problem: compilers spell one computation in several ways, and most changes that hold over the reals change
//! bits. Each row of [`IDENTITIES`] is one that changes none, for readers that take any NaN for any other, with the reason;
//! the tests draw programs from all operations, and run those that come out equal on every f16 (and on
//! samples of wider formats). What is not here does not hold: x + 0, an fma as a product and a sum, x / c as x times
//! 1/c, a negation pulled out of a fused product.
//!
//! Source: IEEE 754-2019, sections 4.3, 5.4 and 6.3; for double rounding Figueroa, "When is double rounding innocuous?"
//! (SIGNUM 1995); for repeated sums the fact that n x is the rounded sum of n equal numbers up to n = 5.

mod choices;
mod formats;
mod products;
mod sums;

use rustc_hash::FxHashSet;

use crate::kernel::{FloatMods, FloatOp, Fmt, Rnd};
use crate::number::{self, Value};
use crate::term::word::{Does, Operation};
use crate::term::{TermId, TermStore};

/// What an identity makes of an operation.
pub enum Becomes {
    /// A term.
    Term(TermId),
    /// Another operation on other operands, to which further identities may apply.
    Operation(Operation, Vec<TermId>),
}

/// What something in one store is as well.
enum Rule {
    /// An operation on operands.
    Operation(fn(&mut Known<'_>, &Operation, &[TermId]) -> Option<Becomes>),
    /// The choice by a condition between two terms.
    Choice(fn(&mut Known<'_>, TermId, [TermId; 2]) -> Option<TermId>),
}

/// An identity.
pub struct Identity {
    /// Its name.
    pub name: &'static str,
    /// Why every bit is the same.
    pub because: &'static str,
    rule: Rule,
}

/// A store, and what is known of its terms.
pub struct Known<'a> {
    store: &'a mut TermStore,
    never_minus_zero: &'a mut FxHashSet<TermId>,
}

/// What the identities know of the terms of one store.
#[derive(Debug, Default)]
pub struct Identities {
    never_minus_zero: FxHashSet<TermId>,
    /// How often each identity was used.
    pub used: [u64; IDENTITIES.len()],
}

/// Most identities that are used on one operation: none undoes another, so that this is never reached.
const STEPS: usize = 32;

/// All identities, in the order in which they are tried.
pub const IDENTITIES: [Identity; 28] = [
    Identity {
        name: "no rounding modifier",
        because: "without one, sums and products round to the nearest; a sum that may be joined with a product keeps its spelling",
        rule: Rule::Operation(sums::unrounded),
    },
    Identity {
        name: "difference",
        because: "a - b is a + (-b) in every rounding (IEEE 754, 6.3)",
        rule: Rule::Operation(sums::difference),
    },
    Identity {
        name: "sign of a sign",
        because: "neg and abs change the sign bit alone",
        rule: Rule::Operation(choices::signs),
    },
    Identity {
        name: "sign of a factor",
        because: "the exact product has the sign of both factors together, and rounding to the nearest or to zero does not look at it",
        rule: Rule::Operation(products::factors),
    },
    Identity {
        name: "operands in any order",
        because: "sums, products and equality are symmetric",
        rule: Rule::Operation(sums::commuted),
    },
    Identity {
        name: "comparison from the other side",
        because: "a > b is b < a, and an unordered comparison is the negation of the opposite ordered one",
        rule: Rule::Operation(choices::compared),
    },
    Identity {
        name: "largest and least of a set",
        because: "zeros are ordered by sign and a NaN is dropped or kept by all steps alike, so that order, grouping and repetition do not matter",
        rule: Rule::Operation(choices::set),
    },
    Identity {
        name: "minus zero added",
        because: "x + -0 is x, but where zeros of both signs sum up to -0 (.rm) or a subnormal x is flushed",
        rule: Rule::Operation(sums::minus_zero),
    },
    Identity {
        name: "zero added to what is never -0",
        because: "a rounded sum that began at +0 is -0 never, so that adding +0 leaves it",
        rule: Rule::Operation(sums::zero),
    },
    Identity {
        name: "two summands onto zero",
        because: "(0 + a) + b, (0 + b) + a and (0 + a) + (0 + b) are +0 where both are zeros, and else a + b, flushed alike",
        rule: Rule::Operation(sums::onto_zero),
    },
    Identity {
        name: "narrowed after widening",
        because: "a wider format holds every number of a narrower one",
        rule: Rule::Operation(formats::narrowed),
    },
    Identity {
        name: "widened in steps",
        because: "each step is exact; a bf16 is the upper half of an f32",
        rule: Rule::Operation(formats::widened),
    },
    Identity {
        name: "repeated sum",
        because: "2x is exact, and the rounded sums of up to five x are 2x, 3x, 4x, 5x rounded once",
        rule: Rule::Operation(sums::repeated),
    },
    Identity {
        name: "quotient by a power of two",
        because: "x / 2^k and x * 2^-k are one real number, rounded once, where 2^-k is a normal number",
        rule: Rule::Operation(products::quotient),
    },
    Identity {
        name: "exact product",
        because: "a product of two numbers of a format with half of the digits and exponents is exact, so that it is not rounded before the sum",
        rule: Rule::Operation(products::exact),
    },
    Identity {
        name: "product with 1",
        because: "the exact product is x, which is a number of the format; fused with a sum it is that sum",
        rule: Rule::Operation(products::one),
    },
    Identity {
        name: "product onto minus zero",
        because: "x + -0 is x in the exact sum too, of which a zero keeps its sign to the nearest",
        rule: Rule::Operation(products::onto_minus_zero),
    },
    Identity {
        name: "reciprocal",
        because: "1/x is one real number, rounded once by either operation",
        rule: Rule::Operation(products::reciprocal),
    },
    Identity {
        name: "powers of two",
        because: "a product with 2^n, n from 0 up, is exact or overflows, and then one with a larger power does",
        rule: Rule::Operation(products::powers),
    },
    Identity {
        name: "operation in twice the format",
        because: "with at least 2p + 2 bits rounding twice is rounding once, and what the wide format cannot hold becomes zero in the narrow one",
        rule: Rule::Operation(formats::double),
    },
    Identity {
        name: "narrowed from a wider format",
        because: "the widening is exact, so that the number is rounded once",
        rule: Rule::Operation(formats::from_wider),
    },
    Identity {
        name: "integer that is not negative",
        because: "it is the same number with a sign and without, in as many bits as hold it",
        rule: Rule::Operation(formats::of_natural),
    },
    Identity {
        name: "test for a number",
        because: "x equals x, and |x| is at most infinity, for all x but a NaN",
        rule: Rule::Operation(choices::number),
    },
    Identity {
        name: "rounding of what is exact",
        because: "a widening rounds nothing, so that how it rounds does not matter",
        rule: Rule::Operation(formats::exact),
    },
    Identity {
        name: "size of a difference",
        because: "a - b and b - a differ in their sign alone, to the nearest and to zero",
        rule: Rule::Operation(sums::size),
    },
    Identity {
        name: "saturated afterwards",
        because: "an operation with .sat cuts off its rounded result, as a conversion with .sat does",
        rule: Rule::Operation(formats::saturated),
    },
    Identity {
        name: "flushed twice",
        because: "an operation with .ftz flushes its operands, with their sign, so that neg and abs before it need not",
        rule: Rule::Operation(choices::flushed),
    },
    Identity {
        name: "chosen by size",
        because: "x > c ? x : c is the larger of both for a known number c: of a NaN it is c, and of equal numbers c, so that c is no zero of the other sign",
        rule: Rule::Choice(choices::extremum),
    },
];

/// The simplest that an operation on operands is; `used` is told of each identity that was used.
fn simplest(
    known: &mut Known<'_>,
    mut operation: Operation,
    mut operands: Vec<TermId>,
    used: &mut dyn FnMut(usize),
) -> TermId {
    for _ in 0..STEPS {
        let mut rules = IDENTITIES.iter().enumerate();
        let found = rules.find_map(|(i, identity)| {
            let Rule::Operation(rule) = identity.rule else {
                return None;
            };
            Some((i, rule(known, &operation, &operands)?))
        });
        match found {
            None => break,
            Some((i, Becomes::Term(t))) => {
                used(i);
                return t;
            }
            Some((i, Becomes::Operation(o, list))) => {
                used(i);
                (operation, operands) = (o, list);
            }
        }
    }
    let t = known.store.word(operation, &operands);
    if known.makes_no_minus_zero(&operation, &operands) {
        known.never_minus_zero.insert(t);
    }
    t
}

impl Identities {
    /// The simplest that an operation on operands is.
    pub fn simplest(
        &mut self,
        store: &mut TermStore,
        operation: Operation,
        operands: Vec<TermId>,
    ) -> TermId {
        let mut known = Known {
            store,
            never_minus_zero: &mut self.never_minus_zero,
        };
        let used = &mut self.used;
        simplest(&mut known, operation, operands, &mut |i| used[i] += 1)
    }

    /// The simplest that the choice by a condition between two floats is.
    pub fn chosen(&mut self, store: &mut TermStore, p: TermId, sides: [TermId; 2]) -> TermId {
        let mut known = Known {
            store,
            never_minus_zero: &mut self.never_minus_zero,
        };
        for (i, identity) in IDENTITIES.iter().enumerate() {
            if let Rule::Choice(rule) = identity.rule
                && let Some(t) = rule(&mut known, p, sides)
            {
                self.used[i] += 1;
                return t;
            }
        }
        store.select(p, sides[0], sides[1])
    }

    /// True for a product, with any sign, that is exact in a format: a sum with it is the same joined and apart.
    pub fn is_exact_product(&mut self, store: &mut TermStore, fmt: Fmt, t: TermId) -> bool {
        let known = Known {
            store,
            never_minus_zero: &mut self.never_minus_zero,
        };
        products::is_exact(&known, fmt, t)
    }
}

/// True for a maximum or minimum whose steps may be taken in any order.
pub fn chained(o: &Operation) -> bool {
    let m = &o.mods;
    let extremum = matches!(
        o.does,
        Does::Float(FloatOp::Max | FloatOp::Min | FloatOp::Max3 | FloatOp::Min3)
    );
    extremum && o.src == o.fmt && !(m.xorsign_abs || m.abs || m.oob || m.sat || m.relu)
}

/// True for an operation of one format with a rounding and no other modifier.
fn is_plain(o: &Operation, rnd: Rnd) -> bool {
    let mods = FloatMods {
        rnd,
        ..FloatMods::default()
    };
    o.src == o.fmt && o.mods == mods
}

/// True for a sum or product of one format that rounds to the nearest, flushing or not.
fn is_nearest(o: &Operation) -> bool {
    let mods = FloatMods {
        rnd: Rnd::Rn,
        ftz: o.mods.ftz,
        ..FloatMods::default()
    };
    o.src == o.fmt && o.mods == mods
}

/// A negation without modifiers.
fn negation(fmt: Fmt) -> Operation {
    Operation::new(Does::Float(FloatOp::Neg), (fmt, fmt), FloatMods::default())
}

fn is_nan(fmt: Fmt, bits: u64) -> bool {
    number::decode(fmt, bits).value == Value::Nan
}

impl Known<'_> {
    /// The simplest that another operation on operands is.
    fn simplest(&mut self, operation: Operation, operands: Vec<TermId>) -> TermId {
        simplest(self, operation, operands, &mut |_| {})
    }

    fn word(&self, t: TermId) -> Option<(Operation, Vec<TermId>)> {
        let word = self.store.as_word(t)?;
        Some((word.operation(self.store), word.operands().collect()))
    }

    /// The operand of an operation.
    fn under(&self, t: TermId, is: impl Fn(&Operation) -> bool) -> Option<TermId> {
        let word = self.store.as_word(t)?;
        let operand = word.operands().next()?;
        is(&word.operation(self.store)).then_some(operand)
    }

    /// A number with the other sign.
    fn negated(&mut self, fmt: Fmt, t: TermId) -> TermId {
        let sign = 1 << (fmt.bits() - 1);
        match self.store.as_bits(t) {
            Some(bits) => self.store.bits(fmt.bits() as u8, bits ^ sign),
            None => match self.under(t, |o| *o == negation(fmt)) {
                Some(x) => x,
                None => self.store.word(negation(fmt), &[t]),
            },
        }
    }

    /// A factor without its sign, if it has one to take off.
    fn unsigned(&mut self, fmt: Fmt, t: TermId) -> Option<TermId> {
        let sign = 1 << (fmt.bits() - 1);
        match self.store.as_bits(t) {
            Some(bits) => (bits & sign != 0 && !is_nan(fmt, bits))
                .then(|| self.store.bits(fmt.bits() as u8, bits ^ sign)),
            None => self.under(t, |o| *o == negation(fmt)),
        }
    }

    /// A sum to the nearest is -0 only if both operands are: what cancels is +0, and no sum is too small to be a number.
    fn makes_no_minus_zero(&self, o: &Operation, operands: &[TermId]) -> bool {
        match o.does {
            Does::Float(FloatOp::Add) => {
                let never = |&t: &TermId| self.is_never_minus_zero(o, t);
                is_plain(o, Rnd::Rn) && o.place == 0 && operands.iter().any(never)
            }
            Does::OfInt(_) => true,
            Does::Float(_)
            | Does::Convert
            | Does::ToInt(_)
            | Does::Compare(_)
            | Does::Test(_)
            | Does::Product(..) => false,
        }
    }

    /// True for an operand of an operation whose zeros are +0.
    fn is_never_minus_zero(&self, o: &Operation, t: TermId) -> bool {
        match self.store.as_bits(t) {
            Some(bits) => bits != number::zero(o.fmt, true),
            None => self.never_minus_zero.contains(&t),
        }
    }

    fn is(&self, t: TermId, bits: u64) -> bool {
        self.store.as_bits(t) == Some(bits)
    }
}

/// The numbers 1 to 5 in a format.
fn small(fmt: Fmt, n: u64) -> Option<u64> {
    number::Exact::new(false, n, 0).round(fmt, Rnd::Rn)
}
