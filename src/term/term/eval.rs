//! The value of terms at concrete inputs, in arithmetic whose error is known.
//!
//! Problem: a refutation needs both outputs at one input, surely apart. Source: rational arithmetic
//! while values are rational and small, interval arithmetic with outward rounding
//! (`interval.rs`) beyond. How this differs from the simplifier and the normaliser: it shares no
//! code and no rewriting rule with them, so that it can serve as their oracle.
//!
//! Special values follow IEEE's rules without rounding: the square root of a negative number, inf - inf, 0 * inf and
//! 0 / 0 are [`Value::Undefined`], which a comparison finds unordered and a maximum drops; x / 0 is an infinity
//! whose sign is open, since a real zero has none; a branch of a select that is not taken is not
//! looked at. Where an interval leaves open which case holds the value is [`Value::Undecided`].
//!
//! With [`Mode::strict`] there are no such values: what has no real value has none, and nothing that is made of it
//! has one. That is how canonical forms see terms (`norm`): equal wherever both are defined.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;
use rustc_hash::FxHashMap;

use super::arith::{add, compare, div, either, extremum, fun, inf, is, mul, neg, overflows};
use super::bitval::{
    bits_op, clamp, concrete, decode, encode, logic, low_bits, signed, truth, two,
};
pub use super::value::Value;
use super::{ArrayId, BitsOp, Fun, ICmp, Term, TermId, TermStore};
use crate::work;

/// How to evaluate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// Precision of intervals in bits.
    pub prec: u32,
    /// Only reals are values: neither infinities made of finite operands nor what a comparison or a maximum makes of
    /// what is not a number.
    pub strict: bool,
}

impl Mode {
    /// Intervals of a precision.
    pub const fn exact(prec: u32) -> Self {
        Mode {
            prec,
            strict: false,
        }
    }

    /// The same where only reals are values.
    pub const fn strict(prec: u32) -> Self {
        Mode { prec, strict: true }
    }
}

/// The content of input arrays: cells of up to 8 bytes; every other byte is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    cells: FxHashMap<(ArrayId, u64), (u8, u64)>,
}

impl Inputs {
    /// Sets the cell of `bytes` bytes at `off`; cells do not overlap.
    pub fn set(&mut self, array: ArrayId, off: u64, bytes: u8, value: u64) {
        self.cells.insert((array, off), (bytes, value));
    }

    /// `n` bytes from `off`, little endian.
    pub fn read(&self, array: ArrayId, off: u64, n: u8) -> u64 {
        let keep = u64::MAX >> (64 - 8 * n.clamp(1, 8) as u32);
        if let Some((w, v)) = self.cells.get(&(array, off))
            && *w >= n
        {
            return v & keep;
        }
        (0..n as u64).fold(0, |acc, i| {
            acc | (self.byte(array, off + i) as u64) << (8 * i)
        })
    }

    fn byte(&self, array: ArrayId, at: u64) -> u8 {
        (0..8u64.min(at + 1))
            .find_map(|back| {
                let (w, v) = self.cells.get(&(array, at - back))?;
                ((*w as u64) > back).then(|| (v >> (8 * back)) as u8)
            })
            .unwrap_or(0)
    }
}

/// The terms below some roots, children before parents, with children as positions: what is
/// prepared once and evaluated often.
#[derive(Debug)]
pub struct Cone {
    ids: Vec<TermId>,
    first: Vec<u32>,
    kids: Vec<u32>,
    roots: Vec<u32>,
}

impl Cone {
    /// The cone of the roots.
    pub fn new(store: &TermStore, roots: &[TermId]) -> Self {
        let ids = store.reachable(roots);
        let place: FxHashMap<TermId, u32> = ids
            .iter()
            .enumerate()
            .map(|(i, &t)| (t, i as u32))
            .collect();
        let (mut first, mut kids) = (Vec::with_capacity(ids.len() + 1), Vec::new());
        for &t in &ids {
            first.push(kids.len() as u32);
            store.children(t, |c| kids.push(place[&c]));
        }
        first.push(kids.len() as u32);
        let roots = roots.iter().map(|t| place[t]).collect();
        Cone {
            ids,
            first,
            kids,
            roots,
        }
    }

    /// The terms, in ascending order.
    pub fn ids(&self) -> &[TermId] {
        &self.ids
    }

    /// Number of terms and edges.
    pub fn size(&self) -> usize {
        self.ids.len() + self.kids.len()
    }

    /// The children of the term at a place, by their places.
    pub fn kids(&self, i: usize) -> &[u32] {
        &self.kids[self.first[i] as usize..self.first[i + 1] as usize]
    }

    /// The places of the roots.
    pub fn roots(&self) -> &[u32] {
        &self.roots
    }

    /// The values of the roots.
    pub fn evaluate(&self, store: &TermStore, inputs: &Inputs, mode: Mode) -> Vec<Value> {
        let values = self.evaluate_all(store, inputs, mode);
        self.values_of_roots(&values).into_iter().cloned().collect()
    }

    /// The values of the roots among those of all terms.
    pub fn values_of_roots<'v>(&self, values: &'v [Value]) -> Vec<&'v Value> {
        self.roots.iter().map(|&i| &values[i as usize]).collect()
    }

    /// The values of all terms, in the order of [`Cone::ids`].
    pub fn evaluate_all(&self, store: &TermStore, inputs: &Inputs, mode: Mode) -> Vec<Value> {
        /// A value of many digits, with its error, takes so many times what a term takes.
        const UNITS: u64 = 8;
        work::spend(UNITS * self.ids.len() as u64);
        let mut values: Vec<Value> = Vec::with_capacity(self.ids.len());
        for (i, &t) in self.ids.iter().enumerate() {
            let v = match mode.strict {
                true => strict_step(store, t, self.kids(i), &values, inputs, mode),
                false => step(store, t, self.kids(i), &values, inputs, mode),
            };
            values.push(v);
        }
        values
    }
}

/// Evaluates terms at one input.
pub fn evaluate(store: &TermStore, roots: &[TermId], inputs: &Inputs, mode: Mode) -> Vec<Value> {
    Cone::new(store, roots).evaluate(store, inputs, mode)
}

fn choose(p: &Value, x: &Value, y: &Value, prec: u32) -> Value {
    match truth(p) {
        Ok(true) => x.clone(),
        Ok(false) => y.clone(),
        Err(Value::Undefined) => Value::Undefined,
        Err(_) => either(x, y, prec),
    }
}

/// The value of one term where only reals are values.
fn strict_step(
    store: &TermStore,
    t: TermId,
    kids: &[u32],
    values: &[Value],
    inputs: &Inputs,
    mode: Mode,
) -> Value {
    let absorbs = matches!(
        store.get(t),
        Term::RCmp(..) | Term::Is(..) | Term::Overflows(..) | Term::Max(..) | Term::Min(..)
    );
    if absorbs && kids.iter().any(|&k| values[k as usize] == Value::Undefined) {
        return Value::Undefined;
    }
    match step(store, t, kids, values, inputs, mode) {
        Value::Pole(Some(neg)) if matches!(store.get(t), Term::Fun(Fun::Log2, _)) => inf(neg),
        Value::Pole(_) | Value::NotFinite => Value::Undefined,
        v => v,
    }
}

/// The value of one term from those of its children.
fn step(
    store: &TermStore,
    t: TermId,
    kids: &[u32],
    values: &[Value],
    inputs: &Inputs,
    mode: Mode,
) -> Value {
    let prec = mode.prec;
    let v = |i: usize| &values[kids[i] as usize];
    match store.get(t) {
        Term::Const(c) => Value::Exact(store.constant(c).clone()),
        Term::Inf { neg } => inf(neg),
        Term::Undefined => Value::Undefined,
        Term::Elem {
            array: ArrayId::CONSTANTS,
            ..
        } => Value::Interval(super::series::log2_e(prec)),
        Term::Elem { array, fmt, off } => {
            let n = (fmt.bits() / 8) as u8;
            decode(fmt, &Value::Bits(inputs.read(array, off, n)))
        }
        Term::Add(..) => add(v(0), v(1), prec),
        Term::Mul(..) => mul(v(0), v(1), prec),
        Term::Neg(_) => neg(v(0)),
        Term::Sum(_) => {
            let mut sum = Value::Exact(BigRational::zero());
            for k in 0..kids.len() / 2 {
                let product = mul(v(2 * k), v(2 * k + 1), prec);
                sum = add(&sum, &product, prec);
            }
            sum
        }
        Term::Div(..) => div(v(0), v(1), prec),
        Term::Fun(f, _) => fun(f, v(0), prec),
        Term::Max(..) => extremum(v(0), v(1), false, prec),
        Term::Min(..) => extremum(v(0), v(1), true, prec),
        Term::Select(..) | Term::BitsSelect(..) => choose(v(0), v(1), v(2), prec),
        Term::OfInt { signed: s, bits } => match concrete(v(0)) {
            Ok(b) => {
                let w = store.width(bits);
                let i = if s {
                    BigInt::from(signed(b, w))
                } else {
                    BigInt::from(b)
                };
                Value::Exact(BigRational::from_integer(i))
            }
            // What bits there are that nothing determines, no one knows: they are some number.
            Err(_) => Value::Undecided,
        },
        Term::OfBits { fmt, .. } => decode(fmt, v(0)),
        Term::Made(made) => {
            let operands: Vec<&Value> = (2..kids.len()).map(v).collect();
            super::machine::value(made.shape(store), &operands)
        }
        Term::Bool(b) => Value::Bool(b),
        Term::RCmp(op, ..) => compare(op, v(0), v(1), prec),
        Term::Is(class, _) => is(class, v(0)),
        Term::Overflows(_, fmt, _) => overflows(fmt, v(0), prec),
        Term::ICmp(op, x, _) => {
            let w = store.width(x);
            two(v(0), v(1), |a, b| {
                Value::Bool(match op {
                    ICmp::Eq => a == b,
                    ICmp::ULt => a < b,
                    ICmp::ULe => a <= b,
                    ICmp::SLt => signed(a, w) < signed(b, w),
                    ICmp::SLe => signed(a, w) <= signed(b, w),
                })
            })
        }
        Term::Not(_) => match truth(v(0)) {
            Ok(b) => Value::Bool(!b),
            Err(e) => e,
        },
        Term::And(..) => logic(v(0), v(1), |a, b| a && b),
        Term::Or(..) => logic(v(0), v(1), |a, b| a || b),
        Term::Xor(..) => logic(v(0), v(1), |a, b| a != b),
        Term::BitsConst { value, .. } => Value::Bits(value),
        Term::Bytes { array, off, width } => Value::Bits(inputs.read(array, off, width / 8)),
        Term::Fresh { .. } | Term::Word(_) => Value::Undecided,
        Term::Poison { .. } => Value::Undefined,
        Term::OfReal { fmt, .. } => encode(fmt, v(0)),
        Term::Concat(l) => {
            let (mut acc, mut at) = (0u64, 0u32);
            let mut open = None;
            for (k, &part) in l.iter().enumerate() {
                match concrete(v(k)) {
                    Ok(b) => acc |= b.checked_shl(at).unwrap_or(0),
                    Err(Value::Undefined) => return Value::Undefined,
                    Err(e) => open = Some(e),
                }
                at += store.width(TermId(part)) as u32;
            }
            open.unwrap_or(Value::Bits(acc))
        }
        Term::Extract { low, width: w, .. } => match concrete(v(0)) {
            Ok(b) => Value::Bits(low_bits(b >> low, w)),
            Err(e) => e,
        },
        Term::BitsSum(_) => {
            let w = store.width(t);
            let mut sum = Value::Bits(0);
            for k in 0..kids.len() / 2 {
                let (x, y) = (v(2 * k), v(2 * k + 1));
                let product = two(x, y, |a, b| bits_op(BitsOp::Mul, a, b, w));
                sum = two(&sum, &product, |a, b| bits_op(BitsOp::Add, a, b, w));
            }
            sum
        }
        Term::BitsOp(op, ..) => {
            let w = store.width(t);
            two(v(0), v(1), |a, b| bits_op(op, a, b, w))
        }
        Term::OfBool { .. } => match truth(v(0)) {
            Ok(b) => Value::Bits(b as u64),
            Err(e) => e,
        },
        Term::Clamp { width, signed, .. } => clamp(width, signed, v(0)),
    }
}
