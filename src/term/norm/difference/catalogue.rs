//! What turns one form into another: an operation that one of the kernels lacks.
//!
//! match a form p and a form q; result the name of an operation f with f(p) = q; because the
//! canonical form of f(p), made by the normaliser's own rules, is q.

use num_traits::ToPrimitive;

use super::super::display::number;
use super::super::exp::ExpId;
use super::super::monomial::Mono;
use super::super::poly::{PTerm, PolyId};
use super::super::rat::Coef;
use super::super::ring::{Atom, Fail, Ring};
use super::super::value::Val;
use super::{Finder, SHOWN};
use crate::term::show::function;
use crate::term::{ConstId, Fun};

/// Constants of the pair that are tried as limits of a clamp.
const MAX_LIMITS: usize = 24;

/// Maxima of a sum that are tried as minima.
const MAX_MAXIMA: usize = 8;

/// Summands of a sum that is squared.
const MAX_SQUARED: usize = 64;

/// Summands of a sum from which a function was taken away.
const MAX_ERASED: usize = 1 << 16;

/// Term operations that trying one operation may take.
const PER_OPERATION: u64 = 1 << 18;

type Operation = fn(&mut Ring, Val) -> Result<Val, Fail>;

fn log2_e(r: &mut Ring) -> Val {
    r.atom_val(Atom::Log2E)
}

fn natural_exp(r: &mut Ring, v: Val) -> Result<Val, Fail> {
    let k = log2_e(r);
    let v = r.val_mul(v, k)?;
    r.val_fun(Fun::Exp2, v)
}

fn sigmoid(r: &mut Ring, v: Val) -> Result<Val, Fail> {
    let v = r.val_times(Coef::MINUS_ONE, v)?;
    let e = natural_exp(r, v)?;
    let one = Val::constant(Coef::ONE);
    let d = r.val_add(one, e)?;
    r.val_inverse(d)
}

fn natural_log(r: &mut Ring, v: Val) -> Result<Val, Fail> {
    let k = log2_e(r);
    let k = r.val_inverse(k)?;
    let v = r.val_fun(Fun::Log2, v)?;
    r.val_mul(v, k)
}

/// Operations by their names; a dot stands for the argument.
const OPERATIONS: &[(&str, Operation)] = &[
    ("max(0, .)", |r, v| r.val_max(v, Val::ZERO)),
    ("min(0, .)", |r, v| r.val_min(v, Val::ZERO)),
    ("|.|", |r, v| r.val_abs(v)),
    ("sqrt(.)", |r, v| r.val_fun(Fun::Sqrt, v)),
    ("1/.", |r, v| r.val_inverse(v)),
    ("1/sqrt(.)", |r, v| r.val_fun(Fun::Rsqrt, v)),
    ("exp(.)", natural_exp),
    ("exp2(.)", |r, v| r.val_fun(Fun::Exp2, v)),
    ("log(.)", natural_log),
    ("log2(.)", |r, v| r.val_fun(Fun::Log2, v)),
    ("1/(1 + exp(-.))", sigmoid),
    (".*1/(1 + exp(-.))", |r, v| {
        let s = sigmoid(r, v)?;
        r.val_mul(v, s)
    }),
    ("tanh(.)", |r, v| r.val_fun(Fun::Tanh, v)),
    ("sin(.)", |r, v| r.val_fun(Fun::Sin, v)),
    ("cos(.)", |r, v| r.val_fun(Fun::Cos, v)),
    ("floor(.)", |r, v| r.val_fun(Fun::Floor, v)),
    ("ceil(.)", |r, v| r.val_fun(Fun::Ceil, v)),
    ("trunc(.)", |r, v| r.val_fun(Fun::Trunc, v)),
    ("round(.)", |r, v| r.val_fun(Fun::RoundEven, v)),
];

fn times(n: usize) -> String {
    match n {
        1 => String::new(),
        n => format!(" in {n} summands"),
    }
}

impl Finder<'_, '_> {
    /// A known relation between two forms.
    pub(super) fn catalogue(&mut self, p: PolyId, q: PolyId) -> Result<Option<String>, Fail> {
        // Of an operation and its inverse, the one that made the longer formula.
        let lacks = (q, p, "the optimized kernel lacks");
        let has = (p, q, "only the optimized kernel has");
        let longer = self.show(q, SHOWN).len() > self.show(p, SHOWN).len();
        for (argument, result, who) in if longer { [has, lacks] } else { [lacks, has] } {
            if let Some(name) = self.operation(argument, result)? {
                return Ok(Some(format!("{who} `{name}`")));
            }
        }
        // Last, for what takes a root has lost no square.
        for (x, y, who) in [(q, p, "lacks"), (p, q, "has")] {
            let v = self.norm.ring.val_of(x);
            let small = self.norm.ring.polys.len(x) <= MAX_SQUARED;
            if small && self.gives(y, |r| r.val_mul(v, v))? {
                let only = if who == "has" { "only " } else { "" };
                return Ok(Some(format!("{only}the optimized kernel {who} `(.)^2`")));
            }
        }
        if let Some(what) = self.extremes(p, q)? {
            return Ok(Some(what));
        }
        if let Some((name, n)) = self.erased(p, q)? {
            let times = times(n);
            return Ok(Some(format!("the optimized kernel lacks `{name}`{times}")));
        }
        if let Some((name, n)) = self.erased(q, p)? {
            let times = times(n);
            return Ok(Some(format!(
                "only the optimized kernel has `{name}`{times}"
            )));
        }
        Ok(None)
    }

    /// The function whose arguments, put in its place wherever it stands in a sum, give the other
    /// sum: the name, and in how many summands it stands.
    fn erased(&mut self, p: PolyId, q: PolyId) -> Result<Option<(String, usize)>, Fail> {
        let terms: Vec<PTerm> = self.norm.ring.polys.get(p).to_vec();
        let mut names: Vec<String> = Vec::new();
        for t in &terms {
            for (a, k) in self.norm.ring.monos.powers(t.mono) {
                if let Some((name, _)) = self.function(a)
                    && k > 0
                    && !names.contains(&name)
                {
                    names.push(name);
                }
            }
            if names.len() > MAX_MAXIMA {
                break;
            }
        }
        for name in names {
            let mut sum = Vec::new();
            let mut count = 0;
            for t in &terms {
                let mut rest = *t;
                let mut product = PolyId::ONE;
                let mut left = Vec::new();
                for (a, k) in self.norm.ring.monos.powers(t.mono) {
                    match self.function(a).filter(|(n, _)| *n == name && k > 0) {
                        Some((_, inner)) => {
                            for _ in 0..k {
                                product = self.norm.ring.poly_mul(product, inner)?;
                            }
                            count += 1;
                        }
                        None => left.push((a, k)),
                    }
                }
                let ring = &mut self.norm.ring;
                rest.mono = ring.monos.of(&left, &ring.atom_flags);
                if sum.len() + ring.polys.len(product) > MAX_ERASED {
                    return Ok(None);
                }
                ring.push_scaled(rest, product, &mut sum)?;
            }
            let fits = self.gives(q, |r| {
                let p = r.collect(sum)?;
                Ok(r.val_of(p))
            })?;
            if fits {
                return Ok(Some((name, count)));
            }
        }
        Ok(None)
    }

    /// A function of one argument, maxima with 0 among them.
    fn function(&self, a: u32) -> Option<(String, PolyId)> {
        match self.norm.ring.atom(a) {
            Atom::Max(s) => match s[..] {
                [x, PolyId::ZERO] | [PolyId::ZERO, x] => Some(("max(0, .)".to_string(), x)),
                _ => None,
            },
            Atom::Sqrt(p) => Some(("sqrt(.)".to_string(), *p)),
            Atom::Log2(p) => Some(("log2(.)".to_string(), *p)),
            Atom::Fun(f, p) => Some((format!("{}(.)", function(*f)), *p)),
            _ => None,
        }
    }

    /// The operation that makes `result` of `argument`.
    fn operation(&mut self, argument: PolyId, result: PolyId) -> Result<Option<String>, Fail> {
        // A constant says too little to have been made by anything.
        if self.norm.ring.as_constant(argument).is_some() {
            return Ok(None);
        }
        let v = self.norm.ring.val_of(argument);
        for (name, f) in OPERATIONS {
            if self.gives(result, |r| f(r, v))? {
                return Ok(Some(name.to_string()));
            }
        }
        if let Some(name) = self.rounded_exp(argument, result) {
            return Ok(Some(name));
        }
        let mut limits: Vec<_> = (0..self.norm.store.constant_count().min(MAX_LIMITS) as u32)
            .map(|i| self.norm.store.constant(ConstId(i)).clone())
            .collect();
        limits.sort();
        for limit in limits {
            let c = Val::constant(self.norm.ring.coefs.of_big(&limit));
            for (name, f) in [
                (
                    "max",
                    Ring::val_max as fn(&mut Ring, Val, Val) -> Result<Val, Fail>,
                ),
                ("min", Ring::val_min),
            ] {
                if self.gives(result, |r| f(r, v, c))? {
                    let limit = number(&super::super::rat::Rat::from_big(&limit));
                    return Ok(Some(format!("{name}({limit}, .)")));
                }
            }
        }
        Ok(None)
    }

    /// Whether an operation gives a form; one that is not defined does not.
    fn gives(
        &mut self,
        result: PolyId,
        f: impl FnOnce(&mut Ring) -> Result<Val, Fail>,
    ) -> Result<bool, Fail> {
        if self.budget == 0 {
            return Ok(false);
        }
        let ring = &mut self.norm.ring;
        // An operation that is dear is not one that a kernel forgot.
        let (before, limit) = (ring.work, ring.limits.max_work);
        ring.limits.max_work = limit.min(before + self.budget.min(PER_OPERATION));
        let made = f(ring).and_then(|v| ring.canon(v));
        ring.limits.max_work = limit;
        self.budget = self.budget.saturating_sub(ring.work - before);
        ring.work = before;
        match made {
            Ok(p) => Ok(p == result),
            Err(Fail::Limit) if !ring.has_time() => Err(Fail::Limit),
            Err(_) => Ok(false),
        }
    }

    /// 2^(k * argument) with a rational k near log2(e), as kernels round it.
    fn rounded_exp(&self, argument: PolyId, result: PolyId) -> Option<String> {
        let ring = &self.norm.ring;
        let [t] = ring.polys.get(result) else {
            return None;
        };
        if t.mono != Mono::ONE || t.coef != Coef::ONE || t.exp == ExpId::ZERO {
            return None;
        }
        let (e, a) = (
            ring.polys.get(ring.exps.poly(t.exp)),
            ring.polys.get(argument),
        );
        if e.len() != a.len() || e.iter().zip(a).any(|(x, y)| x.key() != y.key()) {
            return None;
        }
        let ratio = |(x, y): (&PTerm, &PTerm)| {
            Some(ring.coefs.get(x.coef).mul(&ring.coefs.get(y.coef).recip()?))
        };
        let first = ratio((e.first()?, a.first()?))?;
        let same = |pair| ratio(pair).is_some_and(|r| r == first);
        if !e.iter().zip(a).all(same) {
            return None;
        }
        let k = first.to_big().to_f64()?;
        Some(match (k - std::f64::consts::LOG2_E).abs() < 1e-4 {
            true => "exp(.)".to_string(),
            false => format!("exp2({}*.)", number(&first)),
        })
    }

    /// A minimum that stands for a maximum of the same operands.
    fn extremes(&mut self, p: PolyId, q: PolyId) -> Result<Option<String>, Fail> {
        let terms: Vec<PTerm> = self.norm.ring.polys.get(p).to_vec();
        let max_of = |f: &Self, t: &PTerm| match f.lone_atom(PTerm {
            coef: Coef::ONE,
            ..*t
        }) {
            Some(a) => match f.norm.ring.atom(a) {
                Atom::Max(s) => Some(s.to_vec()),
                _ => None,
            },
            None => None,
        };
        let mut tried = 0;
        for (i, t) in terms.iter().enumerate() {
            let Some(set) = max_of(self, t) else {
                continue;
            };
            tried += 1;
            if tried > MAX_MAXIMA {
                break;
            }
            let mut rest = terms.clone();
            rest.remove(i);
            let fits = self.gives(q, |r| {
                let mut least = r.val_of(set[0]);
                for &x in &set[1..] {
                    let x = r.val_of(x);
                    least = r.val_min(least, x)?;
                }
                let least = r.val_times(t.coef, least)?;
                let rest = r.collect(rest)?;
                let rest = r.val_of(rest);
                r.val_add(rest, least)
            })?;
            if fits {
                let (a, b) = match self.norm.ring.coefs.is_negative(t.coef) {
                    true => ("minimum", "maximum"),
                    false => ("maximum", "minimum"),
                };
                return Ok(Some(format!(
                    "the reference takes the {a} where the optimized kernel takes the {b}"
                )));
            }
        }
        Ok(None)
    }
}
