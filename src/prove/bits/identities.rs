//! The identities that keep every bit, but for those of a NaN.
//!
//! Problem: compilers spell one computation in several ways, and most changes that hold over the reals change
//! bits. Each row of [`IDENTITIES`] is one that changes none, for readers that take any NaN for any other, with the reason;
//! the tests draw programs from all operations, and run those that come out equal on every f16 (and on
//! samples of wider formats). What is not here does not hold: x + 0, x * 0, an fma as a product and a sum, x / c as x
//! times 1/c, a negation pulled out of a fused product.
//!
//! Source: IEEE 754-2019, sections 4.3, 5.4 and 6.3; for double rounding Figueroa, "When is double rounding innocuous?"
//! (SIGNUM 1995); for repeated sums the fact that n x is the rounded sum of n equal numbers up to n = 5.

mod choices;
mod formats;
mod numbers;
mod products;
pub(super) mod signs;
mod sums;

use rustc_hash::FxHashMap;

use crate::answer::bits::AboutIdentity;
use crate::kernel::{FloatMods, FloatOp, Fmt, Rnd};
use crate::number::{self, Decoded};
use crate::term::word::{Does, Operation};
use crate::term::{BitsOp, TermId, TermStore};

use numbers::Number;
use signs::Signs;

/// What an identity makes of an operation.
pub enum Becomes {
    /// A term.
    Term(TermId),
    /// Another operation on other operands, to which further identities may apply.
    Operation(Operation, Vec<TermId>),
}

/// Operations on bits that are one on floats for who reads floats; they are seen where a run is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitForm {
    /// A sign.
    Sign,
    /// A widened bf16.
    Widened,
    /// A choice.
    Masks,
}

/// What something in one store is as well.
enum Rule {
    /// An operation on operands.
    Operation(fn(&mut KnownBits<'_>, &Operation, &[TermId]) -> Option<Becomes>),
    /// The choice by a condition between two terms.
    Choice(fn(&mut KnownBits<'_>, TermId, [TermId; 2]) -> Option<TermId>),
    /// Bits as they are read.
    Bits(BitForm),
}

/// An identity.
pub struct Identity {
    /// Its name.
    pub name: &'static str,
    /// Where it holds.
    pub holds: &'static str,
    /// Why every bit is the same.
    pub because: &'static str,
    rule: Rule,
}

/// All identities, as `explain` says them.
pub fn about() -> Vec<AboutIdentity> {
    let about = |i: &Identity| AboutIdentity {
        name: i.name,
        holds: i.holds,
        because: i.because,
    };
    IDENTITIES.iter().map(about).collect()
}

/// A store, and what is known of its terms.
pub struct KnownBits<'a> {
    store: &'a mut TermStore,
    /// By array: the format of its elements, if these are finite for every input.
    finite: &'a [Option<Fmt>],
    numbers: &'a mut FxHashMap<(TermId, Fmt), Number>,
    relies_on_inputs: &'a mut bool,
}

/// What the identities know of the terms of one store.
#[derive(Debug, Default)]
pub struct Identities {
    /// By array: the format of its elements, if these are finite for every input.
    pub finite: Vec<Option<Fmt>>,
    /// True once an identity was used because inputs without known contents are finite.
    pub relies_on_inputs: bool,
    numbers: FxHashMap<(TermId, Fmt), Number>,
    /// How often each identity was used.
    pub used: Vec<u64>,
}

/// Most identities that are used on one operation: none undoes another, so that this is never reached.
const STEPS: usize = 32;

/// All identities, in the order in which they are tried.
pub const IDENTITIES: [Identity; 35] = [
    Identity {
        name: "no rounding modifier",
        holds: "sums, products and fma of one rounding; not a sum that may be joined with a product",
        because: "without a modifier they round to the nearest",
        rule: Rule::Operation(sums::unrounded),
    },
    Identity {
        name: "difference",
        holds: "always",
        because: "a - b is a + (-b) in every rounding (IEEE 754, 6.3)",
        rule: Rule::Operation(sums::difference),
    },
    Identity {
        name: "sign of a sign",
        holds: "neg, abs and copysign without modifiers",
        because: "they change the sign bit alone",
        rule: Rule::Operation(signs::signs),
    },
    Identity {
        name: "sign of a conversion",
        holds: "a widening, or one to the nearest or to zero; not .sat or .relu",
        because: "no widening and no symmetric rounding looks at the sign",
        rule: Rule::Operation(signs::converted),
    },
    Identity {
        name: "sign of a factor",
        holds: "out of a product: to the nearest or to zero, not .sat or .relu; from one factor to the other: always",
        because: "the exact product has the sign of both factors together",
        rule: Rule::Operation(products::factors),
    },
    Identity {
        name: "operands in any order",
        holds: "sums, products and comparisons for equality",
        because: "they are symmetric",
        rule: Rule::Operation(sums::commuted),
    },
    Identity {
        name: "comparison from the other side",
        holds: "always",
        because: "a > b is b < a, and an unordered comparison is the negation of the opposite ordered one",
        rule: Rule::Operation(choices::compared),
    },
    Identity {
        name: "largest and least of a set",
        holds: "max and min of one treatment of NaN: an infinity beyond all others goes if one of them is no NaN, or with .NaN; of known numbers one stays",
        because: "zeros are ordered by sign and a NaN is dropped or kept by all steps alike, so that order, grouping and repetition do not matter; of x and -x the larger is |x|",
        rule: Rule::Operation(choices::set),
    },
    Identity {
        name: "largest of negations",
        holds: "max and min of one treatment of NaN",
        because: "a negation turns the order, that of zeros too",
        rule: Rule::Operation(choices::turned),
    },
    Identity {
        name: "minus zero added",
        holds: "not .rm, .ftz or .sat",
        because: "x + -0 is x, but where zeros of both signs sum up to -0 (.rm) or a subnormal x is flushed",
        rule: Rule::Operation(sums::minus_zero),
    },
    Identity {
        name: "zero added to what is never -0",
        holds: "to the nearest, not .ftz or .sat: x is a sum that began at +0, of an integer or a size; .rm: any x",
        because: "x + 0 is another number only for x = -0, which .rm leaves",
        rule: Rule::Operation(sums::zero),
    },
    Identity {
        name: "finite number less itself",
        holds: "x is finite: an input without known contents, or made of such; not .sat",
        because: "what cancels is +0, and -0 by .rm; an infinity or a NaN would leave a NaN",
        rule: Rule::Operation(sums::vanishing),
    },
    Identity {
        name: "two summands onto zero",
        holds: "to the nearest",
        because: "(0 + a) + b, (0 + b) + a and (0 + a) + (0 + b) are +0 where both are zeros, and else a + b, flushed alike",
        rule: Rule::Operation(sums::onto_zero),
    },
    Identity {
        name: "narrowed after widening",
        holds: "not .sat or .relu",
        because: "a wider format holds every number of a narrower one",
        rule: Rule::Operation(formats::narrowed),
    },
    Identity {
        name: "widened in steps",
        holds: "not .ftz between formats of one range",
        because: "each step is exact; a bf16 is the upper half of an f32",
        rule: Rule::Operation(formats::widened),
    },
    Identity {
        name: "repeated sum",
        holds: "to the nearest, up to 5x",
        because: "2x is exact, and the rounded sums of up to five x are 2x, 3x, 4x, 5x rounded once",
        rule: Rule::Operation(sums::repeated),
    },
    Identity {
        name: "quotient by a power of two",
        holds: "div.rn, 2^-k is a normal number",
        because: "x / 2^k and x * 2^-k are one real number, rounded once",
        rule: Rule::Operation(products::quotient),
    },
    Identity {
        name: "exact product",
        holds: "both factors are of a format with half of the digits and exponents",
        because: "their product is exact, so that it is not rounded before the sum",
        rule: Rule::Operation(products::exact),
    },
    Identity {
        name: "product with 1",
        holds: "not .ftz for a product alone",
        because: "the exact product is x, which is a number of the format; fused with a sum it is that sum",
        rule: Rule::Operation(products::one),
    },
    Identity {
        name: "product onto minus zero",
        holds: "fma.rn, not .ftz or .sat",
        because: "x + -0 is x in the exact sum too, of which a zero keeps its sign to the nearest",
        rule: Rule::Operation(products::onto_minus_zero),
    },
    Identity {
        name: "reciprocal",
        holds: "rcp and div of one rounding, not .approx",
        because: "1/x is one real number, rounded once by either operation",
        rule: Rule::Operation(products::reciprocal),
    },
    Identity {
        name: "powers of two",
        holds: "to the nearest",
        because: "a product with 2^n, n from 0 up, is exact or overflows, and then one with a larger power does",
        rule: Rule::Operation(products::powers),
    },
    Identity {
        name: "operation in twice the format",
        holds: "add, mul, div and sqrt by .rn, f32 in f64, f16 and bf16 in f32; not fma",
        because: "with at least 2p + 2 bits rounding twice is rounding once, and what the wide format cannot hold becomes zero in the narrow one",
        rule: Rule::Operation(formats::double),
    },
    Identity {
        name: "narrowed from a wider format",
        holds: "an f32 that was widened to f64",
        because: "the widening is exact, so that the number is rounded once",
        rule: Rule::Operation(formats::from_wider),
    },
    Identity {
        name: "integer that is not negative",
        holds: "its upper bits are known zeros",
        because: "it is the same number with a sign and without, in as many bits as hold it",
        rule: Rule::Operation(formats::of_natural),
    },
    Identity {
        name: "test for a number",
        holds: "always",
        because: "x equals x, and |x| is at most infinity, for all x but a NaN",
        rule: Rule::Operation(choices::number),
    },
    Identity {
        name: "rounding of what is exact",
        holds: "a widening",
        because: "it rounds nothing, so that how it rounds does not matter",
        rule: Rule::Operation(formats::exact),
    },
    Identity {
        name: "size of a difference",
        holds: "to the nearest and to zero",
        because: "a - b and b - a differ in their sign alone",
        rule: Rule::Operation(sums::size),
    },
    Identity {
        name: "saturated afterwards",
        holds: "add, mul and fma",
        because: "an operation with .sat cuts off its rounded result, as a conversion with .sat does",
        rule: Rule::Operation(formats::saturated),
    },
    Identity {
        name: "flushed twice",
        holds: "operands of add, mul and fma with .ftz",
        because: "the operation flushes its operands, with their sign, so that neg and abs before it need not",
        rule: Rule::Operation(choices::flushed),
    },
    Identity {
        name: "known numbers",
        holds: "nothing that the manual leaves to the device; a product only where it is exact",
        because: "the machine computes them so",
        rule: Rule::Operation(known),
    },
    Identity {
        name: "chosen by size",
        holds: "c is a known number, and no zero of the other sign",
        because: "x > c ? x : c is the larger of both: of a NaN it is c, and of equal numbers c",
        rule: Rule::Choice(choices::extremum),
    },
    Identity {
        name: "sign by bits",
        holds: "xor, and, or with the sign bit of f16, bf16, f32 or f64, or with that of another number, in packed halves too",
        because: "the other bits stay as they are",
        rule: Rule::Bits(BitForm::Sign),
    },
    Identity {
        name: "widening by bits",
        holds: "a bf16 above sixteen zeros: shl, mov, prmt or a mask",
        because: "a bf16 is the upper half of an f32",
        rule: Rule::Bits(BitForm::Widened),
    },
    Identity {
        name: "choice by masks",
        holds: "(m & a) | (~m & b), with + or ^ too, and ((a ^ b) & m) ^ b, m all ones or all zeros by one condition",
        because: "each bit of the mask lets the same side through",
        rule: Rule::Bits(BitForm::Masks),
    },
];

/// The simplest that an operation on operands is; `used` is told of each identity that was used.
fn simplest(
    known: &mut KnownBits<'_>,
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
    known.store.word(operation, &operands)
}

impl Identities {
    /// The simplest that an operation on operands is.
    pub fn simplest(
        &mut self,
        store: &mut TermStore,
        operation: Operation,
        operands: Vec<TermId>,
    ) -> TermId {
        let (mut known, used) = self.of(store);
        simplest(&mut known, operation, operands, &mut |i| count(used, i))
    }

    fn of<'a>(&'a mut self, store: &'a mut TermStore) -> (KnownBits<'a>, &'a mut Vec<u64>) {
        let known = KnownBits {
            store,
            finite: &self.finite,
            numbers: &mut self.numbers,
            relies_on_inputs: &mut self.relies_on_inputs,
        };
        (known, &mut self.used)
    }

    /// The simplest that the choice by a condition between two floats is.
    pub fn chosen(&mut self, store: &mut TermStore, p: TermId, sides: [TermId; 2]) -> TermId {
        let (mut known, used) = self.of(store);
        for (i, identity) in IDENTITIES.iter().enumerate() {
            if let Rule::Choice(rule) = identity.rule
                && let Some(t) = rule(&mut known, p, sides)
            {
                count(used, i);
                return t;
            }
        }
        store.select(p, sides[0], sides[1])
    }

    /// True for a product, with any sign, that is exact in a format: a sum with it is the same joined and apart.
    pub fn is_exact_product(&mut self, store: &mut TermStore, fmt: Fmt, t: TermId) -> bool {
        products::is_exact(&self.of(store).0, fmt, t)
    }

    /// True for a number that is no NaN, for all inputs.
    pub fn is_never_nan(&mut self, store: &mut TermStore, fmt: Fmt, t: TermId) -> bool {
        self.of(store).0.is_never_nan(fmt, t)
    }

    /// A number with something done to its sign.
    pub fn with_signs(
        &mut self,
        store: &mut TermStore,
        fmt: Fmt,
        signs: Signs,
        t: TermId,
    ) -> TermId {
        self.of(store).0.with_signs(fmt, signs, t)
    }

    /// Known bits as who reads floats sees them: every NaN is the one of its format.
    pub fn known(store: &mut TermStore, fmt: Fmt, t: TermId) -> TermId {
        match store.as_bits(t) {
            Some(bits) if is_nan(fmt, bits) => store.bits(fmt.bits() as u8, number::nan(fmt)),
            _ => t,
        }
    }

    /// A number that is no NaN, what was done to its sign as operations on bits.
    pub fn sign_bits(&mut self, store: &mut TermStore, fmt: Fmt, t: TermId) -> TermId {
        let (signs, x) = self.of(store).0.without_signs(fmt, t);
        let width = fmt.bits() as u8;
        let top = 1u64 << (width - 1);
        let (op, mask) = match signs {
            Signs::Kept => return t,
            Signs::Neg => (BitsOp::Xor, top),
            Signs::Abs => (BitsOp::And, top - 1),
            Signs::NegAbs => (BitsOp::Or, top),
        };
        let mask = store.bits(width, mask);
        store.bits_op(op, x, mask)
    }

    /// Counts a use of the identity of a form.
    pub fn note(&mut self, form: BitForm) {
        let is = |i: &Identity| matches!(i.rule, Rule::Bits(f) if f == form);
        let found = IDENTITIES.iter().position(is);
        found.into_iter().for_each(|i| count(&mut self.used, i));
    }
}

/// Counts a use of an identity.
fn count(used: &mut Vec<u64>, i: usize) {
    used.resize(used.len().max(i + 1), 0);
    used[i] += 1;
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
    number::decode(fmt, bits).value == Decoded::Nan
}

impl KnownBits<'_> {
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
            Some(bits) if is_nan(fmt, bits) => t,
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

    fn is(&self, t: TermId, bits: u64) -> bool {
        self.store.as_bits(t) == Some(bits)
    }
}

/// What an operation makes of known numbers; a NaN is the one of its format.
fn known(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    // A set may have more operands than an operation, or one.
    if o.device != 0 || o.place != 0 || chained(o) {
        return None;
    }
    let all = operands.iter().map(|&t| k.store.as_bits(t));
    let bits = all.collect::<Option<Vec<u64>>>()?;
    // A product that is rounded has another value where it is joined with a sum.
    if o.does == Does::Float(FloatOp::Mul) && !o.is_exact(&bits) {
        return None;
    }
    let bits = match (o.apply(&bits)?, o.float()) {
        (bits, Some(fmt)) if is_nan(fmt, bits) => number::nan(fmt),
        (bits, _) => bits,
    };
    Some(Becomes::Term(k.store.bits(o.width(), bits)))
}

/// The numbers 1 to 5 in a format.
fn small(fmt: Fmt, n: u64) -> Option<u64> {
    number::Exact::new(false, n, 0).round(fmt, Rnd::Rn)
}
