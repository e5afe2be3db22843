//! Two evaluators in doubles: of terms, and of canonical forms.

use super::*;
use crate::norm::poly::{PTerm, PolyId};
use crate::norm::rat::{Coef, Rat};
use crate::norm::ring::{Atom, Ring};
use crate::norm::select::{Lit, Pred};
use crate::term::{RCmp, Term};
use num_traits::ToPrimitive;

/// The value of every term up to `root`, for element values by byte offset and array.
pub(super) fn term(s: &TermStore, root: TermId, x: &dyn Fn(u32, u64) -> f64) -> f64 {
    let mut v: Vec<f64> = Vec::new();
    for i in 0..=root.0 {
        let g = |t: TermId| v[t.0 as usize];
        v.push(match s.get(TermId(i)) {
            Term::Const(c) => s.constant(c).to_f64().unwrap(),
            Term::Elem { array, off, .. } => x(array.0, off / 4),
            Term::Add(a, b) => g(a) + g(b),
            Term::Mul(a, b) => g(a) * g(b),
            Term::Neg(a) => -g(a),
            Term::Sum(l) => l.chunks(2).map(|p| g(TermId(p[0])) * g(TermId(p[1]))).sum(),
            Term::Div(a, b) => g(a) / g(b),
            Term::Max(a, b) | Term::Min(a, b) if g(a).is_nan() || g(b).is_nan() => f64::NAN,
            Term::Max(a, b) => g(a).max(g(b)),
            Term::Min(a, b) => g(a).min(g(b)),
            Term::Fun(f, a) => fun(f, g(a)),
            Term::Select(p, a, b) => {
                if g(p).is_nan() {
                    g(p)
                } else if g(p) == 1.0 {
                    g(a)
                } else {
                    g(b)
                }
            }
            Term::Bool(b) => b as u8 as f64,
            Term::RCmp(op, a, b) => {
                let (a, b) = (g(a), g(b));
                // Too near to tell in doubles: no value.
                if (a - b).abs().partial_cmp(&(1e-9 * (1.0 + a.abs())))
                    != Some(std::cmp::Ordering::Greater)
                {
                    v.push(f64::NAN);
                    continue;
                }
                let r = match op {
                    RCmp::Lt => a < b,
                    RCmp::Le => a <= b,
                    RCmp::Eq => a == b,
                };
                r as u8 as f64
            }
            Term::Not(a) => 1.0 - g(a),
            Term::And(a, b) => g(a) * g(b),
            Term::Or(a, b) => g(a).max(g(b)),
            Term::Xor(a, b) => (g(a) != g(b)) as u8 as f64,
            _ => f64::NAN,
        });
    }
    v[root.0 as usize]
}

fn fun(f: Fun, x: f64) -> f64 {
    // Too near to a step to tell in doubles: no value.
    let step = match f {
        Fun::Floor | Fun::Ceil | Fun::Trunc => x,
        Fun::RoundEven => x + 0.5,
        _ => 0.5,
    };
    if (step - step.round()).abs() < 1e-9 * (1.0 + x.abs()) {
        return f64::NAN;
    }
    match f {
        Fun::Sqrt => x.sqrt(),
        Fun::Rsqrt => 1.0 / x.sqrt(),
        Fun::Exp2 => x.exp2(),
        Fun::Log2 => x.log2(),
        Fun::Sin => x.sin(),
        Fun::Cos => x.cos(),
        Fun::Tanh => x.tanh(),
        Fun::Erf => libm::erf(x),
        Fun::Abs => x.abs(),
        Fun::Floor => x.floor(),
        Fun::Ceil => x.ceil(),
        Fun::Trunc => x.trunc(),
        Fun::RoundEven => x.round_ties_even(),
    }
}

fn number(r: &Ring, c: Coef) -> f64 {
    match r.coefs.get(c) {
        Rat::Small(n, d) => n as f64 / d as f64,
        Rat::Big(b) => b.to_f64().unwrap(),
    }
}

/// The value of a canonical form.
pub(super) fn canon(n: &Normalizer, p: PolyId, x: &dyn Fn(u32, u64) -> f64) -> f64 {
    let r = &n.ring;
    let one = |t: &PTerm| {
        let mut v = number(r, t.coef);
        for (a, k) in r.monos.powers(t.mono) {
            v *= atom(n, a, x).powi(k);
        }
        v * canon(n, r.exps.poly(t.exp), x).exp2()
    };
    r.polys.get(p).iter().map(one).sum()
}

fn atom(n: &Normalizer, a: u32, x: &dyn Fn(u32, u64) -> f64) -> f64 {
    match n.ring.atom(a) {
        Atom::Symbol(t) => match n.store.get(*t) {
            Term::Elem { array, off, .. } => x(array.0, off / 4),
            _ => f64::NAN,
        },
        Atom::Log2E => std::f64::consts::LOG2_E,
        Atom::Let(p) => canon(n, *p, x),
        Atom::Inv(p) => 1.0 / canon(n, *p, x),
        Atom::Sqrt(p) => canon(n, *p, x).sqrt(),
        Atom::Log2(p) => canon(n, *p, x).log2(),
        Atom::Fun(f, p) => fun(*f, canon(n, *p, x)),
        Atom::Max(s) => s.iter().map(|p| canon(n, *p, x)).fold(f64::NAN, f64::max),
        Atom::Select(l, a, b) => {
            if lit(n, *l, x) {
                canon(n, *a, x)
            } else {
                canon(n, *b, x)
            }
        }
        Atom::OfInt(..) | Atom::OfBits(..) => f64::NAN,
    }
}

fn lit(n: &Normalizer, l: Lit, x: &dyn Fn(u32, u64) -> f64) -> bool {
    let v = match n.ring.preds.get(l) {
        Pred::True => true,
        Pred::Negative(p) => canon(n, *p, x) < 0.0,
        Pred::Zero(p) => canon(n, *p, x) == 0.0,
        Pred::Bits(..) => false,
        Pred::All(s) => s.iter().all(|l| lit(n, *l, x)),
        Pred::Xor(a, b) => lit(n, *a, x) != lit(n, *b, x),
    };
    v != l.is_negated()
}

/// A term as text, for messages.
pub(super) fn text(s: &TermStore, root: TermId) -> String {
    let mut v: Vec<String> = Vec::new();
    for i in 0..=root.0 {
        let g = |t: TermId| &v[t.0 as usize];
        let t = match s.get(TermId(i)) {
            Term::Const(c) => s.constant(c).to_string(),
            Term::Elem { off, .. } => format!("x{}", off / 4),
            Term::Add(a, b) => format!("({} + {})", g(a), g(b)),
            Term::Mul(a, b) => format!("{}*{}", g(a), g(b)),
            Term::Neg(a) => format!("-{}", g(a)),
            Term::Div(a, b) => format!("({} / {})", g(a), g(b)),
            other => {
                let mut list = Vec::new();
                s.children(TermId(i), |c| list.push(g(c).clone()));
                let name = format!("{other:?}");
                let name = match other {
                    Term::Fun(f, _) => format!("{f:?}"),
                    Term::RCmp(op, ..) => format!("{op:?}"),
                    _ => name.split('(').next().unwrap_or("").to_string(),
                };
                format!("{name}({})", list.join(", "))
            }
        };
        v.push(if t.len() > 4000 { format!("t{i}") } else { t });
    }
    v.pop().unwrap_or_default()
}
