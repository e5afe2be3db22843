//! Two products, and two atoms: which factor, and where inside of it.

use super::super::exp::ExpId;
use super::super::monomial::{Mono, Powers};
use super::super::poly::{PTerm, PolyId};
use super::super::rat::{Coef, Rat};
use super::super::ring::{Atom, Fail};
use super::sums::scaled;
use super::{Finder, Pair, Step, more};
use crate::term::show::function;

/// What is left of two lists of powers when each atom's common power is taken out.
fn beyond(x: &Powers, y: &Powers) -> (Powers, Powers) {
    let rest = |x: &Powers, y: &Powers| -> Powers {
        let power = |a: u32| y.iter().find(|e| e.0 == a).map_or(0, |e| e.1);
        let left = x.iter().map(|&(a, p)| match (p, power(a)) {
            (p, q) if p > 0 && q > 0 => (a, (p - q).max(0)),
            (p, q) if p < 0 && q < 0 => (a, (p - q).min(0)),
            (p, _) => (a, p),
        });
        left.filter(|e| e.1 != 0).collect()
    };
    (rest(x, y), rest(y, x))
}

impl Finder<'_, '_> {
    /// The powers of atoms that each side has and the other has not.
    pub(super) fn own_powers(&self, s: PTerm, t: PTerm) -> (Powers, Powers) {
        let monos = &self.norm.ring.monos;
        let (x, y) = (monos.powers(s.mono), monos.powers(t.mono));
        let own = |x: &Powers, y: &Powers| x.iter().copied().filter(|p| !y.contains(p)).collect();
        (own(&x, &y), own(&y, &x))
    }

    pub(super) fn quote_atom(&self, a: u32) -> String {
        let mut printer = super::Printer::new(self.norm, self.names, super::QUOTED);
        printer.atom(a, 0);
        format!("`{}`", printer.out)
    }

    /// Two products.
    pub(super) fn terms(&mut self, s: PTerm, t: PTerm) -> Result<Step, Fail> {
        let (mut x, mut y) = self.own_powers(s, t);
        if x.len() + y.len() > 2 {
            (x, y) = beyond(&x, &y);
        }
        let exponents = s.exp != t.exp;
        let atoms = !x.is_empty() || !y.is_empty();
        if !exponents && !atoms {
            let coefs = &self.norm.ring.coefs;
            let ratio = |a: &Rat, b: &Rat| Some(b.mul(&a.recip()?));
            let ratio = ratio(&coefs.get(s.coef), &coefs.get(t.coef));
            return Ok(Step::Found(match ratio {
                Some(r) if r == Rat::int(-1) || s.is_constant() => scaled(&r),
                _ => self.coefficient(s, t),
            }));
        }
        if exponents && !atoms {
            return Ok(self.exponents(s.exp, t.exp));
        }
        let quotients = self.quotients(s, &x, t, &y)?;
        if exponents || matches!(quotients, Step::Into(..)) {
            return Ok(quotients);
        }
        let symbols = |list: &[(u32, i32)]| list.iter().all(|e| self.element(e.0).is_some());
        if s.coef != t.coef && symbols(&x) && symbols(&y) {
            return Ok(Step::Unlike);
        }
        match (&x[..], &y[..]) {
            (&[(a, p)], &[(b, q)]) if a == b => {
                let a = self.quote_atom(a);
                Ok(Step::Found(format!("power {p} against {q} of {a}")))
            }
            (&[(a, p)], &[(b, q)]) if p == q => self.atoms(a, b),
            (&[(a, p)], []) => Ok(self.extra(a, p, "the optimized kernel lacks")),
            ([], &[(b, q)]) => Ok(self.extra(b, q, "only the optimized kernel has")),
            (x, y) => self.several(x, y),
        }
    }

    /// Quotients whose denominators differ. A denominator is kept with an exponential taken out, and
    /// which one depends on all its summands; it is put back.
    fn quotients(
        &mut self,
        s: PTerm,
        x: &[(u32, i32)],
        t: PTerm,
        y: &[(u32, i32)],
    ) -> Result<Step, Fail> {
        let (&[(a, 1)], &[(b, 1)]) = (x, y) else {
            return Ok(Step::Unlike);
        };
        let (Atom::Inv(p), Atom::Inv(q)) = (self.norm.ring.atom(a), self.norm.ring.atom(b)) else {
            return Ok(Step::Unlike);
        };
        let (p, q) = (*p, *q);
        let mut whole = |t: PTerm, p| {
            let ring = &mut self.norm.ring;
            let taken = PTerm {
                exp: t.exp,
                ..PTerm::ONE
            };
            let back = ring.term_inverse(taken)?;
            ring.scale(back, p)
        };
        Ok(Self::into(whole(s, p)?, whole(t, q)?, "in the denominator"))
    }

    /// Several factors that stand for several: often one sum inside of all of them, such as a
    /// variance under a root and in a denominator.
    fn several(&mut self, x: &[(u32, i32)], y: &[(u32, i32)]) -> Result<Step, Fail> {
        let inner = |a: u32| match *self.norm.ring.atom(a) {
            Atom::Inv(p) | Atom::Sqrt(p) | Atom::Log2(p) | Atom::Fun(_, p) => Some(p),
            _ => None,
        };
        let known = |a: u32| inner(a).is_some_and(|p| self.norm.ring.as_constant(p).is_some());
        let kind = |a: u32| std::mem::discriminant(self.norm.ring.atom(a));
        let varies = |list: &[(u32, i32)]| -> Vec<u32> {
            let atoms = list.iter().map(|e| e.0);
            atoms.filter(|&a| inner(a).is_some() && !known(a)).collect()
        };
        let (x, y) = (varies(x), varies(y));
        for &a in &x {
            let alike: Vec<u32> = y.iter().copied().filter(|&b| kind(b) == kind(a)).collect();
            if let [b] = alike[..]
                && x.iter().filter(|&&c| kind(c) == kind(a)).count() == 1
            {
                return self.atoms(a, b);
            }
        }
        Ok(Step::Unlike)
    }

    /// A factor that only one side has.
    fn extra(&self, a: u32, p: i32, who: &str) -> Step {
        let inverse = match *self.norm.ring.atom(a) {
            Atom::Inv(d) => Some(self.quote(d)),
            _ if p < 0 => Some(self.quote_atom(a)),
            _ => None,
        };
        Step::Found(match inverse {
            Some(d) => format!("{who} the division by {d}"),
            None => format!("{who} the factor {}", self.quote_atom(a)),
        })
    }

    /// Exponentials that stand for each other.
    fn exponents(&mut self, s: ExpId, t: ExpId) -> Step {
        let exps = &self.norm.ring.exps;
        let (p, q) = (exps.poly(s), exps.poly(t));
        let factor = |e: ExpId| {
            self.quote_term(PTerm {
                exp: e,
                ..PTerm::ONE
            })
        };
        if p == PolyId::ZERO {
            return Step::Found(format!(
                "only the optimized kernel has the factor {}",
                factor(t)
            ));
        }
        if q == PolyId::ZERO {
            return Step::Found(format!(
                "the optimized kernel lacks the factor {}",
                factor(s)
            ));
        }
        match (self.without_log2_e(p), self.without_log2_e(q)) {
            (Some(p), Some(q)) => Self::into(p, q, "in the argument of `exp`"),
            _ => Self::into(p, q, "in the exponent"),
        }
    }

    /// A sum of which log2(e) is a factor everywhere, without it.
    fn without_log2_e(&mut self, p: PolyId) -> Option<PolyId> {
        let ring = &mut self.norm.ring;
        let log = ring.find_atom(&Atom::Log2E)?;
        let has = |t: &PTerm| ring.monos.powers(t.mono).contains(&(log, 1));
        if !ring.polys.get(p).iter().all(has) {
            return None;
        }
        let log = PTerm::mono(ring.atom_mono(Atom::Log2E));
        let inverse = ring.term_inverse(log).ok()?;
        ring.scale(inverse, p).ok()
    }

    fn into(p: PolyId, q: PolyId, place: &str) -> Step {
        Step::Into(Pair::Real(p, q), Some(place.to_string()))
    }

    /// Two atoms that stand for each other.
    fn atoms(&mut self, a: u32, b: u32) -> Result<Step, Fail> {
        let (x, y) = (
            self.norm.ring.atom(a).clone(),
            self.norm.ring.atom(b).clone(),
        );
        Ok(match (x, y) {
            (Atom::Symbol(_), Atom::Symbol(_)) => {
                let what = match (self.element(a), self.element(b)) {
                    (Some(x), Some(y)) if x.0 != y.0 => "another array",
                    _ => "another index",
                };
                let (a, b) = (self.quote_atom(a), self.quote_atom(b));
                Step::Found(format!("{what}: {a} against {b}"))
            }
            (Atom::Inv(p), Atom::Inv(q)) => Self::into(p, q, "in the denominator"),
            (Atom::Sqrt(p), Atom::Sqrt(q)) => Self::into(p, q, "under the square root"),
            (Atom::Log2(p), Atom::Log2(q)) => Self::into(p, q, "in the logarithm"),
            (Atom::Fun(f, p), Atom::Fun(g, q)) if f == g => {
                Self::into(p, q, &format!("inside `{}`", function(f)))
            }
            (Atom::Fun(f, p), Atom::Fun(g, q)) if p == q => Step::Found(format!(
                "`{}` against `{}` of {}",
                function(f),
                function(g),
                self.quote(p)
            )),
            (Atom::Max(s), Atom::Max(t)) => self.maxima(&s, &t),
            (Atom::Select(c, p, q), Atom::Select(d, r, s)) => match (c == d, p == r, q == s) {
                (true, false, true) => Self::into(p, r, "where the condition holds"),
                (true, true, false) => Self::into(q, s, "where the condition does not hold"),
                (false, true, true) if c == d.negated() => {
                    Step::Found("the two cases are swapped".to_string())
                }
                (false, true, true) => {
                    Step::Into(Pair::Truth(c, d), Some("in the condition".to_string()))
                }
                (true, false, false) if (p, q) == (s, r) => {
                    Step::Found("the two cases are swapped".to_string())
                }
                _ => Step::Unlike,
            },
            (Atom::OfInt(s, n), Atom::OfInt(u, m)) => match n == m {
                true => {
                    let name = |signed| if signed { "signed" } else { "unsigned" };
                    Step::Found(format!(
                        "{} is read as {} against {}",
                        self.quote_bits(n),
                        name(s),
                        name(u)
                    ))
                }
                false => Step::Into(Pair::Bits(n, m), Some("in the integer".to_string())),
            },
            (Atom::OfBits(f, n), Atom::OfBits(g, m)) => match n == m {
                true => Step::Found(format!(
                    "{} is read as {} against {}",
                    self.quote_bits(n),
                    f.name(),
                    g.name()
                )),
                false => Step::Into(Pair::Bits(n, m), Some("in the bits".to_string())),
            },
            (x, y) => match (named(&x), named(&y)) {
                (Some((f, p)), Some((g, q))) if p == q => {
                    Step::Found(format!("`{f}` against `{g}` of {}", self.quote(p)))
                }
                _ => Step::Unlike,
            },
        })
    }

    fn maxima(&self, s: &[PolyId], t: &[PolyId]) -> Step {
        let own = |s: &[PolyId], t: &[PolyId]| -> Vec<PolyId> {
            s.iter().copied().filter(|p| !t.contains(p)).collect()
        };
        let (x, y) = (own(s, t), own(t, s));
        let list = |v: &[PolyId]| {
            let quoted: Vec<String> = v.iter().take(2).map(|&p| self.quote(p)).collect();
            quoted.join(", ") + &more(v.len().saturating_sub(2))
        };
        match (&x[..], &y[..]) {
            (&[p], &[q]) => Self::into(p, q, "in an operand of the maximum"),
            (x, []) => Step::Found(format!(
                "the maximum of the optimized kernel lacks {}",
                list(x)
            )),
            ([], y) => Step::Found(format!(
                "the maximum of the optimized kernel also has {}",
                list(y)
            )),
            _ => Step::Unlike,
        }
    }

    /// A product of one atom with a coefficient of 1.
    pub(super) fn lone_atom(&self, t: PTerm) -> Option<u32> {
        (t.exp == ExpId::ZERO && t.coef == Coef::ONE && t.mono != Mono::ONE)
            .then(|| t.mono.as_atom())
            .flatten()
    }
}

/// The name and the argument of a function of one argument.
fn named(a: &Atom) -> Option<(&'static str, PolyId)> {
    Some(match a {
        Atom::Inv(p) => ("1/.", *p),
        Atom::Sqrt(p) => ("sqrt", *p),
        Atom::Log2(p) => ("log2", *p),
        Atom::Fun(f, p) => (function(*f), *p),
        _ => return None,
    })
}
