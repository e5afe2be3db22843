//! What is known of the number that a term is.
//!
//! Problem: some identities need a number that is no NaN, is finite, or is not -0: max(x, -inf) is x only if x is a number. What
//! is said here follows from the operations below a term alone, so that neither the order in which terms were
//! made nor what else was computed changes it.
//!
//! Sound: what is said holds for every input on which inputs without known contents are finite; who relies on that says so.

use crate::kernel::{FloatOp, Fmt, Rnd};
use crate::number::{self, Decoded};
use crate::term::word::{Does, Operation};
use crate::term::{ArrayId, Term, TermId, embeds};

use super::{KnownBits, is_plain};

/// What is known of a number in a format. Nothing is known of most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Number {
    /// It is no NaN.
    pub never_nan: bool,
    /// It is neither a NaN nor infinite.
    pub finite: bool,
    /// It is not -0.
    pub never_minus_zero: bool,
    /// It is finite and not 0, whatever the inputs are.
    known_nonzero: bool,
    /// It is a zero, whatever the inputs are.
    known_zero: bool,
    /// This holds because inputs without known contents are finite.
    by_inputs: bool,
}

impl Number {
    const FINITE: Number = Number {
        never_nan: true,
        finite: true,
        never_minus_zero: false,
        known_nonzero: false,
        known_zero: false,
        by_inputs: false,
    };

    fn of_bits(fmt: Fmt, bits: u64) -> Number {
        let value = number::decode(fmt, bits).value;
        let finite = !matches!(value, Decoded::Nan | Decoded::Infinite);
        let is_zero = [false, true].map(|s| number::zero(fmt, s)).contains(&bits);
        Number {
            never_nan: value != Decoded::Nan,
            finite,
            never_minus_zero: bits != number::zero(fmt, true),
            known_nonzero: finite && !is_zero,
            known_zero: is_zero,
            by_inputs: false,
        }
    }

    fn both(self, other: Number) -> Number {
        Number {
            never_nan: self.never_nan && other.never_nan,
            finite: self.finite && other.finite,
            never_minus_zero: self.never_minus_zero && other.never_minus_zero,
            known_nonzero: self.known_nonzero && other.known_nonzero,
            known_zero: self.known_zero && other.known_zero,
            by_inputs: self.by_inputs || other.by_inputs,
        }
    }
}

/// True for the formats in which an overflow is infinite.
fn has_infinity(fmt: Fmt) -> bool {
    matches!(fmt, Fmt::F16 | Fmt::Bf16 | Fmt::Tf32 | Fmt::F32 | Fmt::F64)
}

/// A tf32 is kept as an f32.
fn kept(fmt: Fmt) -> Fmt {
    if fmt == Fmt::Tf32 { Fmt::F32 } else { fmt }
}

/// What the numbers of the operands say of the result of an operation.
fn of_result(o: &Operation, of: &[Number]) -> Number {
    let nothing = Number::default();
    let m = &o.mods;
    let is_mixed = o.src != o.fmt && matches!(o.does, Does::Float(_));
    if m.sat || m.relu || m.oob || m.xorsign_abs || is_mixed || !has_infinity(o.fmt) {
        return nothing;
    }
    let by_inputs = of.iter().any(|n| n.by_inputs);
    let number = |never_nan: bool, finite: bool| Number {
        never_nan: never_nan || finite,
        finite,
        by_inputs,
        ..nothing
    };
    let all = |is: fn(&Number) -> bool| of.iter().all(is);
    match (o.does, of) {
        (Does::OfInt(_), _) => Number {
            never_minus_zero: true,
            ..number(true, o.fmt != Fmt::F16)
        },
        (Does::Convert, &[x]) => number(x.never_nan, x.finite && embeds(o.src, o.fmt)),
        (Does::Float(op), _) => match (op, of) {
            (FloatOp::Neg | FloatOp::Abs, &[x]) => Number {
                never_minus_zero: op == FloatOp::Abs,
                ..number(x.never_nan, x.finite)
            },
            (FloatOp::Copysign, &[_, x]) => number(x.never_nan, x.finite),
            // Infinities of both signs have no sum.
            (FloatOp::Add | FloatOp::Sub, &[a, b]) if o.place == 0 => Number {
                // A sum to the nearest is -0 only if both operands are: what cancels is +0, and no sum is too small to be a number.
                never_minus_zero: op == FloatOp::Add
                    && is_plain(o, Rnd::Rn)
                    && (a.never_minus_zero || b.never_minus_zero),
                ..number(
                    a.never_nan && b.finite || a.finite && b.never_nan,
                    a.known_zero && b.finite || a.finite && b.known_zero,
                )
            },
            // Zero times infinity is no number.
            (FloatOp::Mul, &[a, b]) => {
                let scaled = a.never_nan && b.known_nonzero || b.never_nan && a.known_nonzero;
                number(scaled && !m.ftz || a.finite && b.finite, false)
            }
            (FloatOp::Fma, &[a, b, c]) => number(a.finite && b.finite && c.never_nan, false),
            (FloatOp::Div, &[a, b]) if !m.approx && !m.ftz => {
                number(a.never_nan && b.known_nonzero, false)
            }
            (FloatOp::Rcp | FloatOp::Ex2, &[x]) => number(x.never_nan, false),
            (FloatOp::Tanh, &[x]) => number(x.never_nan, false),
            (FloatOp::Max | FloatOp::Min | FloatOp::Max3 | FloatOp::Min3, _) => {
                let any = of.iter().any(|n| n.never_nan);
                let is_number = if m.nan { all(|n| n.never_nan) } else { any };
                number(is_number, all(|n| n.finite))
            }
            _ => nothing,
        },
        _ => nothing,
    }
}

impl KnownBits<'_> {
    /// What is known of a term as a number of a format.
    fn number(&mut self, fmt: Fmt, t: TermId) -> Number {
        let root = (t, kept(fmt));
        let mut open = vec![root];
        // Children are older than their parents, so that this ends.
        while let Some(&(t, fmt)) = open.last() {
            if self.numbers.contains_key(&(t, fmt)) {
                open.pop();
                continue;
            }
            let below = self.below(fmt, t);
            let known: Vec<Option<Number>> = (below.iter())
                .map(|b| self.numbers.get(b).copied())
                .collect();
            if known.contains(&None) {
                let unknown = below.iter().zip(&known).filter(|(_, k)| k.is_none());
                open.extend(unknown.map(|(&b, _)| b));
                continue;
            }
            let known: Vec<Number> = known.into_iter().flatten().collect();
            let number = self.by_below(fmt, t, &known);
            self.numbers.insert((t, fmt), number);
            open.pop();
        }
        self.numbers[&root]
    }

    /// The terms that say what a term is as a number of a format, each with its own format.
    fn below(&self, fmt: Fmt, t: TermId) -> Vec<(TermId, Fmt)> {
        match self.store.get(t) {
            Term::Word(word) => {
                let o = word.operation(self.store);
                match o.does {
                    Does::Float(_) | Does::Convert if kept(o.fmt) == fmt => {
                        word.operands().map(|c| (c, kept(o.src))).collect()
                    }
                    _ => Vec::new(),
                }
            }
            Term::BitsSelect(_, a, b) => vec![(a, fmt), (b, fmt)],
            Term::Concat(&[low, high]) if self.is_widened(fmt, TermId(low)) => {
                vec![(TermId(high), Fmt::Bf16)]
            }
            _ => Vec::new(),
        }
    }

    /// True for the sixteen zeros below a bf16 that is read as an f32.
    fn is_widened(&self, fmt: Fmt, low: TermId) -> bool {
        fmt == Fmt::F32 && self.is(low, 0) && self.store.width(low) == Fmt::Bf16.bits() as u8
    }

    fn by_below(&self, fmt: Fmt, t: TermId, below: &[Number]) -> Number {
        match self.store.get(t) {
            Term::BitsConst { value, .. } => Number::of_bits(fmt, value),
            Term::Bytes { array, off, width } if self.is_finite_input(fmt, array, off, width) => {
                Number {
                    by_inputs: true,
                    ..Number::FINITE
                }
            }
            Term::Word(word) => {
                let o = word.operation(self.store);
                match kept(o.fmt) == fmt && o.float().is_some() {
                    true => of_result(&o, below),
                    false => Number::default(),
                }
            }
            Term::BitsSelect(..) | Term::Concat(&[_, _]) => match *below {
                [a, b] => a.both(b),
                [x] => x,
                _ => Number::default(),
            },
            _ => Number::default(),
        }
    }

    /// True for an element of an array of a format whose contents are not known.
    fn is_finite_input(&self, fmt: Fmt, array: ArrayId, off: u64, width: u8) -> bool {
        let of = self.finite.get(array.0 as usize).copied().flatten();
        let bytes = fmt.bits() as u64 / 8;
        of.is_some_and(|f| kept(f) == fmt)
            && u64::from(width) == fmt.bits() as u64
            && off.is_multiple_of(bytes)
    }

    fn relied(&mut self, holds: bool, number: Number) -> bool {
        *self.relies_on_inputs |= holds && number.by_inputs;
        holds
    }

    /// True for an operand whose zeros are +0.
    pub(super) fn is_never_minus_zero(&mut self, fmt: Fmt, t: TermId) -> bool {
        self.number(fmt, t).never_minus_zero
    }

    /// True for a number that is no NaN.
    pub(super) fn is_never_nan(&mut self, fmt: Fmt, t: TermId) -> bool {
        let number = self.number(fmt, t);
        self.relied(number.never_nan, number)
    }

    /// True for numbers none of which is a NaN.
    pub(super) fn are_never_nan(&mut self, fmt: Fmt, all: &[TermId]) -> bool {
        let numbers = all.iter().map(|&t| self.number(fmt, t));
        let all = numbers.reduce(Number::both).unwrap_or(Number::FINITE);
        self.relied(all.never_nan, all)
    }

    /// True for a number that is neither a NaN nor infinite.
    pub(super) fn is_finite(&mut self, fmt: Fmt, t: TermId) -> bool {
        let number = self.number(fmt, t);
        self.relied(number.finite, number)
    }
}
