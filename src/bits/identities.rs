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

use rustc_hash::FxHashSet;

use crate::kernel::{Cmp, FloatMods, FloatOp, Fmt, Rnd};
use crate::number::{self, Value};
use crate::term::word::{Does, Operation};
use crate::term::{ICmp, Term, TermId, TermStore, embeds};

/// What an identity makes of an operation.
pub enum Becomes {
    /// A term.
    Term(TermId),
    /// Another operation on other operands, to which further identities may apply.
    Operation(Operation, Vec<TermId>),
}

/// A rule: what an operation on operands of one store is as well.
type Rule = fn(&mut Known<'_>, &Operation, &[TermId]) -> Option<Becomes>;

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
    never_minus_zero: &'a FxHashSet<TermId>,
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
pub const IDENTITIES: [Identity; 15] = [
    Identity {
        name: "no rounding modifier",
        because: "without one, sums and products round to the nearest; a sum that may be joined with a product keeps its spelling",
        rule: unrounded,
    },
    Identity {
        name: "difference",
        because: "a - b is a + (-b) in every rounding (IEEE 754, 6.3)",
        rule: difference,
    },
    Identity {
        name: "sign of a sign",
        because: "neg and abs change the sign bit alone",
        rule: signs,
    },
    Identity {
        name: "sign of a factor",
        because: "the exact product has the sign of both factors together, and rounding to the nearest or to zero does not look at it",
        rule: factors,
    },
    Identity {
        name: "operands in any order",
        because: "sums, products and equality are symmetric",
        rule: commuted,
    },
    Identity {
        name: "comparison from the other side",
        because: "a > b is b < a, and an unordered comparison is the negation of the opposite ordered one",
        rule: compared,
    },
    Identity {
        name: "largest and least of a set",
        because: "zeros are ordered by sign and a NaN is dropped or kept by all steps alike, so that order, grouping and repetition do not matter",
        rule: set,
    },
    Identity {
        name: "minus zero added",
        because: "x + -0 is x, but where zeros of both signs sum up to -0 (.rm) or a subnormal x is flushed",
        rule: minus_zero,
    },
    Identity {
        name: "zero added to what is never -0",
        because: "a rounded sum that began at +0 is -0 never, so that adding +0 leaves it",
        rule: zero,
    },
    Identity {
        name: "narrowed after widening",
        because: "a wider format holds every number of a narrower one",
        rule: narrowed,
    },
    Identity {
        name: "widened in steps",
        because: "each step is exact; a bf16 is the upper half of an f32",
        rule: widened,
    },
    Identity {
        name: "repeated sum",
        because: "2x is exact, and the rounded sums of up to five x are 2x, 3x, 4x, 5x rounded once",
        rule: repeated,
    },
    Identity {
        name: "quotient by a power of two",
        because: "x / 2^k and x * 2^-k are one real number, rounded once, where 2^-k is a normal number",
        rule: quotient,
    },
    Identity {
        name: "sum or product in twice the format",
        because: "with at least 2p + 2 bits, and no subnormal results that the narrow format could have, rounding twice is rounding once",
        rule: double,
    },
    Identity {
        name: "rounding of what is exact",
        because: "a widening rounds nothing, so that how it rounds does not matter",
        rule: exact,
    },
];

impl Identities {
    /// The simplest that an operation on operands is.
    pub fn simplest(
        &mut self,
        store: &mut TermStore,
        mut operation: Operation,
        mut operands: Vec<TermId>,
    ) -> TermId {
        for _ in 0..STEPS {
            let mut known = Known {
                store,
                never_minus_zero: &self.never_minus_zero,
            };
            let mut rules = IDENTITIES.iter().enumerate();
            let found = rules.find_map(|(i, identity)| {
                let becomes = (identity.rule)(&mut known, &operation, &operands)?;
                Some((i, becomes))
            });
            match found {
                None => break,
                Some((i, Becomes::Term(t))) => {
                    self.used[i] += 1;
                    return t;
                }
                Some((i, Becomes::Operation(o, list))) => {
                    self.used[i] += 1;
                    (operation, operands) = (o, list);
                }
            }
        }
        let t = store.word(operation, &operands);
        if self.is_never_minus_zero(store, &operation, &operands) {
            self.never_minus_zero.insert(t);
        }
        t
    }

    /// A sum to the nearest is -0 only if both operands are: what cancels is +0, and no sum is too small to be a number.
    fn is_never_minus_zero(&self, store: &TermStore, o: &Operation, operands: &[TermId]) -> bool {
        match o.does {
            Does::Float(FloatOp::Add) => {
                let never = |&t: &TermId| match store.as_bits(t) {
                    Some(bits) => bits != number::zero(o.fmt, true),
                    None => self.never_minus_zero.contains(&t),
                };
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

    fn is(&self, t: TermId, bits: u64) -> bool {
        self.store.as_bits(t) == Some(bits)
    }
}

fn unrounded(_: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let rounds = matches!(
        o.does,
        Does::Float(FloatOp::Add | FloatOp::Sub | FloatOp::Mul | FloatOp::Fma)
    );
    if !rounds || o.mods.rnd != Rnd::None || o.place != 0 {
        return None;
    }
    let mods = FloatMods {
        rnd: Rnd::Rn,
        ..o.mods
    };
    Some(Becomes::Operation(
        Operation { mods, ..*o },
        operands.to_vec(),
    ))
}

fn difference(k: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Float(FloatOp::Sub), &[a, b]) = (o.does, operands) else {
        return None;
    };
    if o.src != o.fmt {
        return None;
    }
    let b = k.negated(o.fmt, b);
    let does = Does::Float(FloatOp::Add);
    Some(Becomes::Operation(Operation { does, ..*o }, vec![a, b]))
}

fn signs(k: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let &[x] = operands else { return None };
    if o.mods != FloatMods::default() || o.src != o.fmt {
        return None;
    }
    match o.does {
        Does::Float(FloatOp::Neg) if k.store.as_bits(x).is_some() => {
            Some(Becomes::Term(k.negated(o.fmt, x)))
        }
        Does::Float(FloatOp::Neg) => k.under(x, |i| *i == *o).map(Becomes::Term),
        Does::Float(FloatOp::Abs) => {
            let inner = k.under(x, |i| *i == negation(o.fmt) || *i == *o)?;
            Some(Becomes::Operation(*o, vec![inner]))
        }
        _ => None,
    }
}

fn factors(k: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    if o.src != o.fmt || o.mods.approx {
        return None;
    }
    let fused = match (o.does, operands.len()) {
        (Does::Float(FloatOp::Mul), 2) => false,
        (Does::Float(FloatOp::Fma), 3) => true,
        _ => return None,
    };
    let mut list = operands.to_vec();
    let mut flips = 0;
    for t in &mut list[..2] {
        while let Some(inner) = k.unsigned(o.fmt, *t) {
            *t = inner;
            flips += 1;
        }
    }
    let odd = flips % 2 == 1;
    list[..2].sort_unstable();
    let even_rounding = matches!(o.mods.rnd, Rnd::Rn | Rnd::Rz);
    let one_sided = o.mods.sat || o.mods.relu || o.mods.oob;
    if odd && !fused && even_rounding && !one_sided {
        let product = k.store.word(*o, &list);
        return Some(Becomes::Term(k.negated(o.fmt, product)));
    }
    if odd {
        list[0] = k.negated(o.fmt, list[0]);
    }
    (list != operands).then_some(Becomes::Operation(*o, list))
}

fn commuted(_: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Float(FloatOp::Add), &[a, b]) = (o.does, operands) else {
        return None;
    };
    (o.src == o.fmt && b < a).then(|| Becomes::Operation(*o, vec![b, a]))
}

fn compared(k: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Compare(cmp), &[a, b]) = (o.does, operands) else {
        return None;
    };
    let (to, turned, negated) = match cmp {
        Cmp::Lt | Cmp::Le => return None,
        Cmp::Gt => (Cmp::Lt, true, false),
        Cmp::Ge => (Cmp::Le, true, false),
        Cmp::Ltu => (Cmp::Le, true, true),
        Cmp::Leu => (Cmp::Lt, true, true),
        Cmp::Gtu => (Cmp::Le, false, true),
        Cmp::Geu => (Cmp::Lt, false, true),
        Cmp::Neu => (Cmp::Eq, b < a, true),
        Cmp::Ne => (Cmp::Equ, b < a, true),
        Cmp::Nan => (Cmp::Num, b < a, true),
        Cmp::Eq | Cmp::Equ | Cmp::Num if b < a => (cmp, true, false),
        Cmp::Eq | Cmp::Equ | Cmp::Num => return None,
    };
    let list = if turned { vec![b, a] } else { vec![a, b] };
    let does = Does::Compare(to);
    let operation = Operation { does, ..*o };
    if !negated {
        return Some(Becomes::Operation(operation, list));
    }
    let word = k.store.word(operation, &list);
    let one = k.store.bits(1, 1);
    let holds = k.store.icmp(ICmp::Eq, word, one);
    let not = k.store.not(holds);
    Some(Becomes::Term(k.store.of_bool(1, not)))
}

fn set(_: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    if !chained(o) {
        return None;
    }
    let does = match o.does {
        Does::Float(FloatOp::Max3) => Does::Float(FloatOp::Max),
        Does::Float(FloatOp::Min3) => Does::Float(FloatOp::Min),
        does => does,
    };
    let mut list = operands.to_vec();
    list.sort_unstable();
    list.dedup();
    let operation = Operation { does, ..*o };
    match list[..] {
        [only] if !o.mods.ftz => Some(Becomes::Term(only)),
        _ if operation == *o && list == operands => None,
        _ => Some(Becomes::Operation(operation, list)),
    }
}

/// The other operand of a sum without modifiers of which one is a number.
fn other(k: &Known, operands: &[TermId], bits: u64) -> Option<TermId> {
    match *operands {
        [a, b] if k.is(b, bits) => Some(a),
        [a, b] if k.is(a, bits) => Some(b),
        _ => None,
    }
}

fn minus_zero(k: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let plain = [Rnd::Rn, Rnd::Rz, Rnd::Rp].iter().any(|&r| is_plain(o, r));
    if o.does != Does::Float(FloatOp::Add) || !plain || o.place != 0 {
        return None;
    }
    other(k, operands, number::zero(o.fmt, true)).map(Becomes::Term)
}

fn zero(k: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    if o.does != Does::Float(FloatOp::Add) || !is_plain(o, Rnd::Rn) || o.place != 0 {
        return None;
    }
    let x = other(k, operands, number::zero(o.fmt, false))?;
    let never = match k.store.as_bits(x) {
        Some(bits) => bits != number::zero(o.fmt, true),
        None => k.never_minus_zero.contains(&x),
    };
    never.then_some(Becomes::Term(x))
}

/// True for a conversion that is exact and does nothing else.
fn widens(o: &Operation) -> bool {
    let m = &o.mods;
    let whole = matches!(m.rnd, Rnd::Rni | Rnd::Rzi | Rnd::Rmi | Rnd::Rpi | Rnd::Rs);
    let bare = !(m.sat || m.relu || m.oob || whole);
    // A subnormal f16 is a normal f32.
    let flushes = m.ftz && (o.src, o.fmt) != (Fmt::F16, Fmt::F32);
    o.does == Does::Convert && bare && !flushes && o.src != o.fmt && embeds(o.src, o.fmt)
}

fn narrowed(k: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Convert, &[x]) = (o.does, operands) else {
        return None;
    };
    let m = &o.mods;
    let whole = matches!(m.rnd, Rnd::Rni | Rnd::Rzi | Rnd::Rmi | Rnd::Rpi | Rnd::Rs);
    let flushes = m.ftz && (o.fmt, o.src) != (Fmt::F16, Fmt::F32);
    if m.sat || m.relu || m.oob || whole || flushes {
        return None;
    }
    let widening = |i: &Operation| widens(i) && (i.src, i.fmt) == (o.fmt, o.src);
    if let Some(inner) = k.under(x, widening) {
        return Some(Becomes::Term(inner));
    }
    match (o.fmt, o.src) {
        (Fmt::Bf16, Fmt::F32) => upper_half(k, x).map(Becomes::Term),
        _ => None,
    }
}

/// The bf16 whose bits stand above sixteen zeros.
fn upper_half(k: &Known, t: TermId) -> Option<TermId> {
    match k.store.get(t) {
        Term::Concat(&[low, high]) if k.is(TermId(low), 0) => {
            let high = TermId(high);
            let halves = k.store.sort(high) == crate::term::Sort::Bits(16)
                && k.store.sort(TermId(low)) == crate::term::Sort::Bits(16);
            halves.then_some(high)
        }
        _ => None,
    }
}

fn widened(k: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let &[x] = operands else { return None };
    if !widens(o) {
        return None;
    }
    if (o.src, o.fmt) == (Fmt::Bf16, Fmt::F32) {
        let zeros = k.store.bits(16, 0);
        return Some(Becomes::Term(k.store.concat(&[zeros, x])));
    }
    let (inner, operand) = match k.word(x) {
        Some((inner, operands)) if widens(&inner) && inner.fmt == o.src => {
            (inner, *operands.first()?)
        }
        _ => return None,
    };
    // What was flushed before or between is not flushed at once.
    if o.mods.ftz || inner.mods.ftz {
        return None;
    }
    let src = inner.src;
    Some(Becomes::Operation(Operation { src, ..*o }, vec![operand]))
}

/// The numbers 1 to 5 in a format.
fn small(fmt: Fmt, n: u64) -> Option<u64> {
    number::Exact::new(false, n, 0).round(fmt, Rnd::Rn)
}

fn repeated(k: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Float(FloatOp::Add), &[a, b]) = (o.does, operands) else {
        return None;
    };
    if !is_plain(o, Rnd::Rn) || o.place != 0 {
        return None;
    }
    let product = Operation {
        does: Does::Float(FloatOp::Mul),
        ..*o
    };
    let width = o.fmt.bits() as u8;
    if a == b {
        let two = k.store.bits(width, small(o.fmt, 2)?);
        return Some(Becomes::Operation(product, vec![a, two]));
    }
    for (sum, x) in [(a, b), (b, a)] {
        let Some((inner, list)) = k.word(sum) else {
            continue;
        };
        if inner != product || !list.contains(&x) {
            continue;
        }
        for n in 2..5 {
            if list
                .iter()
                .any(|&t| t != x && k.is(t, small(o.fmt, n).unwrap_or(0)))
            {
                let next = k.store.bits(width, small(o.fmt, n + 1)?);
                return Some(Becomes::Operation(product, vec![x, next]));
            }
        }
    }
    None
}

fn quotient(k: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Float(FloatOp::Div), &[x, d]) = (o.does, operands) else {
        return None;
    };
    if !is_nearest(o) {
        return None;
    }
    let bits = k.store.as_bits(d)?;
    let Value::Finite { mantissa, .. } = number::decode(o.fmt, bits).value else {
        return None;
    };
    if !mantissa.is_power_of_two() || number::is_subnormal(o.fmt, bits) {
        return None;
    }
    let one = small(o.fmt, 1)?;
    let inverse = number::operation(FloatOp::Div, (o.fmt, o.fmt), &o.mods, [one, bits, 0])?;
    if number::is_subnormal(o.fmt, inverse) || number::decode(o.fmt, inverse).exact().is_none() {
        return None;
    }
    let inverse = k.store.bits(o.fmt.bits() as u8, inverse);
    let does = Does::Float(FloatOp::Mul);
    Some(Becomes::Operation(
        Operation { does, ..*o },
        vec![x, inverse],
    ))
}

fn double(k: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Convert, &[x]) = (o.does, operands) else {
        return None;
    };
    // Of these the wide format has 2p + 2 bits, and every result that the narrow one has as a normal number in it.
    let pair = matches!((o.fmt, o.src), (Fmt::F32, Fmt::F64) | (Fmt::F16, Fmt::F32));
    let nearest = FloatMods {
        rnd: Rnd::Rn,
        ..FloatMods::default()
    };
    if !pair || o.mods != nearest {
        return None;
    }
    let (inner, list) = k.word(x)?;
    let ring = matches!(inner.does, Does::Float(FloatOp::Add | FloatOp::Mul));
    if !ring || inner.fmt != o.src || !is_plain(&inner, Rnd::Rn) || inner.place != 0 {
        return None;
    }
    let wide = |i: &Operation| widens(i) && (i.src, i.fmt) == (o.fmt, o.src) && !i.mods.ftz;
    let exact = FloatMods {
        rnd: Rnd::Rn,
        ..FloatMods::default()
    };
    let mut narrow = Vec::new();
    for t in list {
        // A negated one is the widened negation; a known one may be of the narrow format.
        let (plain, negative) = match k.under(t, |i| *i == negation(o.src)) {
            Some(inner) => (inner, true),
            None => (t, false),
        };
        let n = match k.store.as_bits(plain) {
            Some(bits) => {
                let cut = number::float_to_float(o.src, o.fmt, &narrowing(&exact), bits)?;
                let back = number::float_to_float(o.fmt, o.src, &narrowing(&exact), cut)?;
                (back == bits).then(|| k.store.bits(o.fmt.bits() as u8, cut))?
            }
            None => k.under(plain, wide)?,
        };
        narrow.push(if negative { k.negated(o.fmt, n) } else { n });
    }
    let operation = Operation::new(inner.does, (o.fmt, o.fmt), nearest);
    Some(Becomes::Operation(operation, narrow))
}

fn narrowing(m: &FloatMods) -> number::Narrowing {
    number::Narrowing {
        rnd: m.rnd,
        ..number::Narrowing::default()
    }
}

fn exact(_: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    if !widens(o) || o.mods == FloatMods::default() {
        return None;
    }
    let mods = FloatMods::default();
    Some(Becomes::Operation(
        Operation { mods, ..*o },
        operands.to_vec(),
    ))
}
