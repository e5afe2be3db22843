//! Is a value that the reals do not have surely not a number for the machine either?
//!
//! The problem: `1 / x` at 0 and `sqrt(x)` at -1 have no value over the reals, where the machine
//! goes on with an infinity or a NaN. Arithmetic passes that on, but a maximum, a comparison or a
//! division by infinity can absorb it, so that the result is an ordinary number after all. Only
//! what cannot be absorbed refutes an optimized kernel. Source: IEEE 754, section 6, and the
//! special cases in PTX ISA 9.0, section 9.7.3.
//!
//! Sound in the direction of [`Special::Nan`] and [`Special::NotFinite`].

use crate::term::eval::{Cone, Value};
use crate::term::{Fun, Term, TermStore};

/// What the machine surely computes where the reals have no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Special {
    /// Nothing is sure.
    No,
    /// An infinity or a NaN.
    NotFinite,
    /// A NaN.
    Nan,
}

fn is_zero(v: &Value) -> bool {
    matches!(v, Value::Exact(q) if num_traits::Zero::is_zero(q))
}

fn is_number(v: &Value) -> bool {
    matches!(v, Value::Exact(_) | Value::Interval(_))
}

fn is_negative(v: &Value) -> bool {
    match v {
        Value::Exact(q) => num_traits::Signed::is_negative(q),
        Value::Interval(i) => i.hi.signum() < 0,
        Value::NegInf => true,
        _ => false,
    }
}

/// The sign of an infinity.
fn infinite(v: &Value) -> Option<bool> {
    match v {
        Value::NegInf => Some(true),
        Value::PosInf => Some(false),
        _ => None,
    }
}

/// The sign of an infinite product of two values.
fn infinite_product(a: &Value, b: &Value) -> Option<bool> {
    let negative = |v: &Value| match v {
        Value::Interval(i) if i.lo.signum() <= 0 && i.hi.signum() >= 0 => None,
        v if is_zero(v) => None,
        v if is_number(v) => Some(is_negative(v)),
        v => infinite(v),
    };
    infinite(a).or(infinite(b))?;
    Some(negative(a)? != negative(b)?)
}

/// True if infinities of both signs are among the summands of a term.
///
/// match `inf + -inf`; result NaN; because IEEE 754, section 7.2, says so.
fn infinities_meet(t: &Term, values: &[&Value]) -> bool {
    let signs: Vec<bool> = match t {
        Term::Add(..) => values.iter().filter_map(|v| infinite(v)).collect(),
        Term::Sum(_) => {
            let (products, _) = values.as_chunks::<2>();
            let signs = products.iter().filter_map(|[a, b]| infinite_product(a, b));
            signs.collect()
        }
        _ => return false,
    };
    signs.contains(&true) && signs.contains(&false)
}

/// True if the infinite value of a term is one for the machine too: it comes from a constant, and
/// not from the logarithm of what may be 0 for the reals alone.
fn is_written(t: &Term, mut of: impl Iterator<Item = (bool, bool)>) -> bool {
    match t {
        Term::Inf { .. } => true,
        Term::Fun(..) | Term::Div(..) => false,
        // Pairs of whether an operand is infinite, and whether by what is written.
        _ => of.all(|(infinite, written)| written || !infinite),
    }
}

/// What is sure of each term of a cone, given its values.
pub(crate) fn specials(store: &TermStore, cone: &Cone, values: &[Value]) -> Vec<Special> {
    let mut out: Vec<Special> = Vec::with_capacity(values.len());
    let mut written: Vec<bool> = Vec::with_capacity(values.len());
    for (i, (&t, v)) in cone.ids().iter().zip(values).enumerate() {
        let kids = cone.kids(i);
        let of = |k: usize| out[kids[k] as usize];
        let value = |k: usize| &values[kids[k] as usize];
        let all = || kids.iter().map(|&k| out[k as usize]);
        let term = store.get(t);
        let operands = kids.iter().map(|&k| k as usize);
        let infinities = operands.map(|k| (infinite(&values[k]).is_some(), written[k]));
        written.push(is_written(&term, infinities));
        let meet = || {
            let operands: Vec<&Value> = kids.iter().map(|&k| &values[k as usize]).collect();
            written[i] && infinities_meet(&term, &operands)
        };
        let special = match (v, store.get(t)) {
            (Value::PosInf | Value::NegInf, _) => Special::NotFinite,
            (Value::Undefined, term) => match term {
                Term::Undefined => Special::Nan,
                Term::Add(..) | Term::Sum(_) if meet() => Special::Nan,
                Term::Div(..) if is_number(value(0)) && is_zero(value(1)) => Special::NotFinite,
                // A number divided by an infinity is 0.
                Term::Div(..) if of(1) == Special::Nan => Special::Nan,
                Term::Div(..) if of(1) == Special::No => of(0),
                Term::Fun(Fun::Sqrt | Fun::Log2 | Fun::Rsqrt, _) if is_negative(value(0)) => {
                    Special::Nan
                }
                Term::Fun(Fun::Rsqrt, _) if is_zero(value(0)) => Special::NotFinite,
                Term::Fun(Fun::Sqrt | Fun::Abs, _) => of(0),
                Term::Fun(..) if of(0) == Special::Nan => Special::Nan,
                Term::Add(..) | Term::Neg(_) | Term::Mul(..) | Term::Sum(_) => {
                    all().max().unwrap_or(Special::No)
                }
                Term::OfReal { .. } | Term::Concat(_) => all().max().unwrap_or(Special::No),
                Term::Select(..) => match value(0) {
                    Value::Bool(true) => of(1),
                    Value::Bool(false) => of(2),
                    _ => of(1).min(of(2)),
                },
                _ => Special::No,
            },
            _ => Special::No,
        };
        out.push(special);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Fmt;
    use crate::term::eval::{Inputs, Mode};
    use crate::term::{ArrayId, RCmp, TermId};

    /// What is sure of a term of one input, which is 0.
    fn at_zero(f: impl FnOnce(&mut TermStore, TermId) -> TermId) -> Special {
        let mut s = TermStore::new();
        let x = s.elem(ArrayId(0), Fmt::F32, 0);
        let t = f(&mut s, x);
        let cone = Cone::new(&s, &[t]);
        let mode = Mode::exact(64);
        let values = cone.evaluate_all(&s, &Inputs::default(), mode);
        specials(&s, &cone, &values)[values.len() - 1]
    }

    fn inverse(s: &mut TermStore, x: TermId) -> TermId {
        let one = s.integer(1);
        s.div(one, x)
    }

    #[test]
    fn what_arithmetic_passes_on_is_sure() {
        assert_eq!(at_zero(inverse), Special::NotFinite);
        assert_eq!(
            at_zero(|s, x| {
                let i = inverse(s, x);
                let i = s.add(i, x);
                s.mul(i, x)
            }),
            Special::NotFinite
        );
        assert_eq!(
            at_zero(|s, x| {
                let minus = s.integer(-1);
                let x = s.add(x, minus);
                let r = s.fun(Fun::Sqrt, x);
                s.fun(Fun::Exp2, r)
            }),
            Special::Nan
        );
    }

    #[test]
    fn infinities_of_both_signs_are_no_number() {
        let masked = |s: &mut TermStore, x: TermId| {
            let (zero, low) = (s.integer(0), s.infinity(true));
            let p = s.rcmp(RCmp::Le, x, zero);
            s.select(p, low, x)
        };
        assert_eq!(
            at_zero(|s, x| {
                let m = masked(s, x);
                let minus = s.neg(m);
                let d = s.add(m, minus);
                s.fun(Fun::Exp2, d)
            }),
            Special::Nan
        );
        assert_eq!(
            at_zero(|s, x| {
                let m = masked(s, x);
                let (two, minus) = (s.integer(2), s.integer(-2));
                let d = s.sum(&[(m, two), (m, minus)]);
                s.fun(Fun::Exp2, d)
            }),
            Special::Nan
        );
        assert_eq!(
            at_zero(|s, x| {
                let m = masked(s, x);
                s.add(m, x)
            }),
            Special::NotFinite
        );
    }

    #[test]
    fn what_can_be_absorbed_is_not() {
        assert_eq!(
            at_zero(|s, x| {
                let i = inverse(s, x);
                inverse(s, i)
            }),
            Special::No
        );
        assert_eq!(
            at_zero(|s, x| {
                let i = inverse(s, x);
                s.max(i, x)
            }),
            Special::No
        );
        assert_eq!(
            at_zero(|s, x| {
                let i = inverse(s, x);
                let p = s.rcmp(RCmp::Lt, x, i);
                s.select(p, x, i)
            }),
            Special::No
        );
    }
}
