//! What words come to on numbers.
//!
//! Problem: different operations may have the same bits for all inputs, so that only an input shows that they differ: the
//! values of both sides on it, by the machine's arithmetic ([`crate::number`]). A product and a sum that a compiler may join
//! have two values, joined and apart; then a value is a small set of all that may come out, whatever is joined, and only
//! sets without a common element differ.
//!
//! Sound: which bits a NaN has that an operation made no manual says, so that nothing is known of what reads them as bits.
//!
//! Not claimed: the bits of approximations and of matrix instructions on a device.

use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::kernel::{FloatOp, Fmt, Rnd};
use crate::number;
use crate::term::word::{Does, Operation};
use crate::term::{ArrayId, Term, TermId, TermStore};

use super::reading::{Floats, Reader, reads};

/// All that a term may be; empty if nothing says.
pub type Values = SmallVec<[u64; 2]>;

/// Most values that one term may have.
const MOST: usize = 16;

/// The bytes of input arrays.
pub trait Inputs {
    /// `bytes` bytes of an array, little endian.
    fn read(&mut self, array: ArrayId, off: u64, bytes: u8) -> u64;
}

/// The values of terms on an input.
#[derive(Debug, Default)]
pub struct Evaluated {
    all: FxHashMap<TermId, Values>,
    /// Those that may be a NaN of an operation, with its format: no manual gives the bits of it.
    nan: FxHashMap<TermId, Fmt>,
}

impl Evaluated {
    /// All that a term may be for who reads floats of a format, or bits; empty if nothing says.
    pub fn get(&self, t: TermId, fmt: Option<Fmt>) -> Values {
        match self.nan.get(&t) {
            Some(&made) if !Floats::One(made).are(fmt) => Values::new(),
            _ => self.all.get(&t).cloned().unwrap_or_default(),
        }
    }

    /// Which NaN a term may be, given its values; `None` if one is read whose bits nothing says.
    fn nan(&self, store: &TermStore, t: TermId, values: &Values) -> Option<Floats> {
        let of = |t: TermId| self.nan.get(&t).map_or(Floats::None, |&f| Floats::One(f));
        match store.get(t) {
            Term::Word(word) => {
                let operation = word.operation(store);
                let reads_bits = |(at, c): (usize, TermId)| {
                    of(c) != Floats::None
                        && reads(&operation, Reader::Float, (at, c), of) == Reader::Bits
                };
                if word.operands().enumerate().any(reads_bits) {
                    return None;
                }
                let fmt = operation.float();
                let fmt = fmt.filter(|&f| values.iter().any(|&v| is_nan(f, v)));
                Some(fmt.map_or(Floats::None, Floats::One))
            }
            Term::BitsSelect(p, a, b) => {
                let sides = self.all.get(&p)?.iter();
                let sides = sides.map(|&side| of(if side == 1 { a } else { b }));
                let all = sides.fold(Floats::None, Floats::or);
                (all != Floats::Several).then_some(all)
            }
            _ => {
                let mut any = false;
                store.children(t, |c| any |= self.nan.contains_key(&c));
                (!any).then_some(Floats::None)
            }
        }
    }
}

/// The values of terms, operands first.
pub fn evaluate(store: &TermStore, cone: &[TermId], inputs: &mut impl Inputs) -> Evaluated {
    let mut found = Evaluated::default();
    for &t in cone {
        let mut v = value(store, t, &found.all, inputs);
        match found.nan(store, t, &v) {
            None => v.clear(),
            Some(Floats::One(fmt)) => {
                found.nan.insert(t, fmt);
            }
            Some(Floats::None | Floats::Several) => {}
        }
        found.all.insert(t, v);
    }
    found
}

fn is_nan(fmt: Fmt, bits: u64) -> bool {
    number::decode(fmt, bits).value == number::Decoded::Nan
}

/// Every result of a function on every choice of its operands.
fn each(operands: &[&Values], f: impl Fn(&[u64]) -> Option<u64>) -> Values {
    let count = operands.iter().map(|v| v.len()).product::<usize>();
    let mut out = Values::new();
    if count == 0 || count > MOST * MOST {
        return out;
    }
    for n in 0..count {
        let mut rest = n;
        let choice: SmallVec<[u64; 4]> = operands
            .iter()
            .map(|v| {
                let x = v[rest % v.len()];
                rest /= v.len();
                x
            })
            .collect();
        match f(&choice) {
            None => return Values::new(),
            Some(x) if !out.contains(&x) => out.push(x),
            Some(_) => {}
        }
    }
    if out.len() > MOST {
        out.clear();
    }
    out
}

fn value(
    store: &TermStore,
    t: TermId,
    all: &FxHashMap<TermId, Values>,
    inputs: &mut impl Inputs,
) -> Values {
    let none = Values::new();
    let of = |t: TermId| all.get(&t).unwrap_or(&none);
    match store.get(t) {
        Term::Bytes { array, off, width } if !array.is_place() => {
            smallvec![inputs.read(array, off, width / 8)]
        }
        Term::BitsSelect(p, a, b) => {
            let mut out = Values::new();
            for &side in of(p) {
                for &x in if side == 1 { of(a) } else { of(b) } {
                    if !out.contains(&x) {
                        out.push(x);
                    }
                }
                if (side == 1 && of(a).is_empty()) || (side == 0 && of(b).is_empty()) {
                    return Values::new();
                }
            }
            out
        }
        Term::Word(word) => {
            let operation = word.operation(store);
            let operands: Vec<TermId> = word.operands().collect();
            let values: Vec<&Values> = operands.iter().map(|&o| of(o)).collect();
            let apart = each(&values, |v| applied(&operation, v));
            match operation.place {
                0 => apart,
                _ => joined(store, (&operation, &operands), all, apart),
            }
        }
        term if term.is_of_words() => {
            let mut operands: SmallVec<[&Values; 4]> = SmallVec::new();
            store.children(t, |c| operands.push(of(c)));
            each(&operands, |v| store.fold_word(t, |k, _| Some(v[k])))
        }
        _ => none,
    }
}

/// The result of an operation; any NaN is the one of its format.
fn applied(operation: &Operation, operands: &[u64]) -> Option<u64> {
    let bits = operation.apply(operands)?;
    Some(match operation.float() {
        Some(fmt) => quiet(fmt, bits),
        None => bits,
    })
}

/// Bits with the one NaN of a format for every NaN.
pub fn quiet(fmt: Fmt, bits: u64) -> u64 {
    match is_nan(fmt, bits) {
        true => number::nan(fmt),
        false => bits,
    }
}

/// The values of a sum that may be joined with a product below it: what comes out apart, and joined with either.
fn joined(
    store: &TermStore,
    (sum, operands): (&Operation, &[TermId]),
    all: &FxHashMap<TermId, Values>,
    mut out: Values,
) -> Values {
    let none = Values::new();
    let of = |t: TermId| all.get(&t).unwrap_or(&none);
    let &[a, b] = operands else {
        return Values::new();
    };
    if out.is_empty() {
        return out;
    }
    let minus = sum.does == Does::Float(FloatOp::Sub);
    let fma = Operation {
        does: Does::Float(FloatOp::Fma),
        place: 0,
        ..*sum
    };
    let reciprocal = Operation {
        does: Does::Float(FloatOp::Rcp),
        ..fma
    };
    let sign = 1u64 << (sum.fmt.bits() - 1);
    for (t, rest, flip_product, flip_rest) in [(a, b, false, minus), (b, a, minus, false)] {
        let product = match product(store, t) {
            Product::None => continue,
            Product::Hidden => return Values::new(),
            Product::Of(product) => product,
        };
        let [x, y] = product.of;
        let flip = flip_product != product.negated;
        let more = each(&[of(x), of(y), of(rest)], |v| {
            let x = if flip { v[0] ^ sign } else { v[0] };
            let y = match product.divides {
                true => applied(&reciprocal, &v[1..2])?,
                false => v[1],
            };
            let z = if flip_rest { v[2] ^ sign } else { v[2] };
            applied(&fma, &[x, y, z])
        });
        if more.is_empty() {
            return more;
        }
        for x in more {
            if !out.contains(&x) {
                out.push(x);
            }
        }
    }
    if out.len() > MOST {
        out.clear();
    }
    out
}

/// What an operand of a sum is as a product.
enum Product {
    /// None that a compiler joins.
    None,
    /// Perhaps one, behind a choice, a change of bits or what is the identity for some operands.
    Hidden,
    /// Its factors.
    Of(Factors),
}

/// The factors of a product.
struct Factors {
    of: [TermId; 2],
    /// It is a quotient: the second factor is the reciprocal of the second operand.
    divides: bool,
    negated: bool,
}

fn product(store: &TermStore, mut t: TermId) -> Product {
    let mut negated = false;
    // Children are older than their parents, so that this ends.
    loop {
        let word = match store.get(t) {
            Term::Word(word) => word,
            Term::Bytes { .. } | Term::BitsConst { .. } => return Product::None,
            _ => return Product::Hidden,
        };
        let operation = word.operation(store);
        let operands: SmallVec<[TermId; 3]> = word.operands().collect();
        let op = match operation.does {
            Does::Float(op) => op,
            Does::Convert if operation.src == operation.fmt => return Product::Hidden,
            Does::Convert
            | Does::ToInt(_)
            | Does::OfInt(_)
            | Does::Compare(_)
            | Does::Test(_)
            | Does::Product(..) => return Product::None,
        };
        match (op, &operands[..]) {
            (FloatOp::Mul | FloatOp::Div, &[x, y]) => {
                let divides = op == FloatOp::Div;
                // Of two singles at once the rounding that is written does not tell.
                let is_one = operation.mods.rnd == Rnd::None || operation.fmt == Fmt::F32;
                return match divides {
                    true if !operation.mods.approx => Product::None,
                    false if !is_one => Product::None,
                    false if [x, y].iter().any(|&f| is_unit(store, &operation, f)) => {
                        Product::Hidden
                    }
                    true | false => Product::Of(Factors {
                        of: [x, y],
                        divides,
                        negated,
                    }),
                };
            }
            (FloatOp::Neg, &[x]) => {
                negated = !negated;
                t = x;
            }
            (FloatOp::Rcp, _) if operation.mods.approx => return Product::Hidden,
            (
                FloatOp::Abs
                | FloatOp::Copysign
                | FloatOp::Min
                | FloatOp::Max
                | FloatOp::Min3
                | FloatOp::Max3,
                _,
            ) => return Product::Hidden,
            _ => return Product::None,
        }
    }
}

/// True for a known 1 or -1, a product with which is its other factor.
fn is_unit(store: &TermStore, o: &Operation, t: TermId) -> bool {
    let one = number::Exact::new(false, 1, 0).round(o.fmt, Rnd::Rn);
    let sign = 1u64 << (o.fmt.bits() - 1);
    store.as_bits(t).map(|b| b & !sign) == one
}
