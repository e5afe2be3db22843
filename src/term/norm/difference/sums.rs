//! Two sums: what only one of them has, and which coefficients differ.
//!
//! Canonical polynomials are sorted, so that what they share is found by a merge. What is left is
//! a coefficient, summands of one side, or a part that both have instead of each other's; of two
//! parts the common factor is stripped as well (the content of a polynomial, `fraction.rs`).

use rustc_hash::FxHashMap;

use super::super::display::number;
use super::super::exp::ExpId;
use super::super::monomial::Mono;
use super::super::poly::{PTerm, PolyId};
use super::super::rat::{Coef, Rat};
use super::super::ring::{Atom, Fail};
use super::{Finder, Pair, Step, more};
use crate::scalar::Fmt;
use crate::term::{ArrayId, Term};

/// Summands beyond which a sum is not compared with what operations make of the other.
const MAX_CATALOGUE: usize = 4096;

/// Summands beyond which no common factor, and no partner of a summand, is looked for.
const MAX_FACTORED: usize = 4096;
const MAX_PARTNERS: usize = 256;

/// Characters of a number that is written out.
const MAX_DIGITS: usize = 48;

/// Summands that a sentence quotes.
const QUOTED: usize = 2;

/// What a merge of two sums leaves.
#[derive(Default)]
struct Merged {
    left: Vec<PTerm>,
    right: Vec<PTerm>,
    /// Summands of one key with different coefficients.
    coefs: Vec<(PTerm, PTerm)>,
    shared: usize,
}

impl Finder<'_, '_> {
    pub(super) fn sums(&mut self, p: PolyId, q: PolyId) -> Result<Step, Fail> {
        if p.is_infinite() || q.is_infinite() {
            return Ok(Step::Unlike);
        }
        let ring = &self.norm.ring;
        if let (Some(c), Some(d)) = (ring.as_constant(p), ring.as_constant(q)) {
            return Ok(Step::Found(self.against("constant", c, d)));
        }
        if let Some(c) = ring.as_constant(q) {
            let c = number(&ring.coefs.get(c));
            let p = self.quote(p);
            let text = format!("the optimized kernel has the constant {c} instead of {p}");
            return Ok(Step::Found(text));
        }
        if let Some(c) = ring.as_constant(p) {
            let c = number(&ring.coefs.get(c));
            let q = self.quote(q);
            let text = format!("the optimized kernel has {q} instead of the constant {c}");
            return Ok(Step::Found(text));
        }
        if ring.polys.len(p).max(ring.polys.len(q)) <= MAX_CATALOGUE
            && let Some(found) = self.catalogue(p, q)?
        {
            return Ok(Step::Found(found));
        }
        let m = self.merge(p, q);
        if let Some(step) = self.rescaled(p, q, &m)? {
            return Ok(step);
        }
        match (m.left.len(), m.right.len()) {
            (0, 0) => Ok(Step::Found(self.coefficients(&m))),
            (n, 0) => {
                let s = if n == 1 { "" } else { "s" };
                let list = self.list(&m.left);
                let also = also(m.coefs.len());
                let text = format!("the optimized kernel lacks the summand{s} {list}{also}");
                Ok(Step::Found(text))
            }
            (0, n) => {
                let list = self.list(&m.right);
                let verb = if n == 1 { "is" } else { "are" };
                let also = also(m.coefs.len());
                Ok(Step::Found(format!(
                    "{list} {verb} only in the optimized kernel{also}"
                )))
            }
            _ if m.shared > 0 => {
                let (mut left, mut right) = (m.left, m.right);
                left.extend(m.coefs.iter().map(|c| c.0));
                right.extend(m.coefs.iter().map(|c| c.1));
                let p = self.norm.ring.collect(left)?;
                let q = self.norm.ring.collect(right)?;
                Ok(Step::Into(Pair::Real(p, q), None))
            }
            (1, 1) if m.coefs.is_empty() => self.terms(m.left[0], m.right[0]),
            _ => self.parts(p, q, &m),
        }
    }

    /// The summands of two sums that only one of them has.
    pub(super) fn apart(&self, p: PolyId, q: PolyId) -> Option<String> {
        if p.is_infinite() || q.is_infinite() {
            return None;
        }
        let m = self.merge(p, q);
        let (n, k) = (m.left.len(), m.right.len());
        if n == 0 || k == 0 || n.max(k) == 1 {
            return None;
        }
        let (left, right) = (self.list(&m.left), self.list(&m.right));
        let s = |n| if n == 1 { "" } else { "s" };
        let also = also(m.coefs.len());
        (left != right).then(|| {
            format!(
                "the optimized kernel has the summand{} {right} instead of {left}{also}",
                s(k)
            )
        })
    }

    fn merge(&self, p: PolyId, q: PolyId) -> Merged {
        let polys = &self.norm.ring.polys;
        let (x, y) = (polys.get(p), polys.get(q));
        let mut out = Merged::default();
        let (mut i, mut j) = (0, 0);
        loop {
            match (x.get(i), y.get(j)) {
                (Some(a), Some(b)) if a.key() == b.key() => {
                    match a.coef == b.coef {
                        true => out.shared += 1,
                        false => out.coefs.push((*a, *b)),
                    }
                    (i, j) = (i + 1, j + 1);
                }
                (Some(a), b) if b.is_none_or(|b| a.key() < b.key()) => {
                    out.left.push(*a);
                    i += 1;
                }
                (_, Some(b)) => {
                    out.right.push(*b);
                    j += 1;
                }
                (_, None) => return out,
            }
        }
    }

    /// Sums inside of an atom are scaled so that some coefficient is 1: one summand more can change
    /// all coefficients by a factor, which is taken back.
    fn rescaled(&mut self, p: PolyId, q: PolyId, m: &Merged) -> Result<Option<Step>, Fail> {
        let n = m.coefs.len();
        if !self.inside || m.shared > 0 || n < 2 || m.left.len() + m.right.len() == 0 {
            return Ok(None);
        }
        let Some(r) = self.common_ratio(m) else {
            return Ok(None);
        };
        let back = r.recip().ok_or(Fail::Undefined)?;
        let ring = &mut self.norm.ring;
        let back = PTerm::constant(ring.coefs.of(back));
        let q = ring.scale(back, q)?;
        Ok(Some(Step::Into(Pair::Real(p, q), None)))
    }

    /// The factor between all coefficients that differ, if it is one.
    fn common_ratio(&self, m: &Merged) -> Option<Rat> {
        let mut ratios = m.coefs.iter().map(|(a, b)| self.ratio(a, b));
        let first = ratios.next()??;
        ratios.all(|r| r.as_ref() == Some(&first)).then_some(first)
    }

    /// Two sums without a summand in common.
    fn parts(&mut self, p: PolyId, q: PolyId, m: &Merged) -> Result<Step, Fail> {
        let ring = &mut self.norm.ring;
        let size = ring.polys.len(p).max(ring.polys.len(q));
        if size > MAX_FACTORED {
            return Ok(Step::Unlike);
        }
        let ((c, x), (mut d, mut y)) = (ring.primitive(p)?, ring.primitive(q)?);
        // What comes first, and so the sign, depends on the common factor.
        if ring.scale(PTerm::constant(Coef::MINUS_ONE), y)? == x {
            d.coef = ring.coefs.mul(d.coef, Coef::MINUS_ONE);
            y = x;
        }
        if x == y && c != d {
            return self.terms(c, d);
        }
        if c == d && (x, y) != (p, q) {
            return Ok(Step::Into(Pair::Real(x, y), None));
        }
        if let Some(text) = self.shifted(m) {
            return Ok(Step::Found(text));
        }
        // One summand and the one of the other side that is most like it.
        let Some((s, t)) = self.partners(m) else {
            return Ok(Step::Unlike);
        };
        let others = m.left.len().max(m.right.len()) - 1;
        Ok(match self.terms(s, t)? {
            Step::Found(text) => Step::Found(match others {
                0 => text,
                n => format!("{text} ({n} more summands differ)"),
            }),
            step => step,
        })
    }

    fn coefficients(&mut self, m: &Merged) -> String {
        let ratio = self.common_ratio(m);
        let n = m.coefs.len();
        if let Some(r) = &ratio
            && m.shared == 0
            && (n > 1 || *r == Rat::int(-1))
        {
            return scaled(r);
        }
        let (a, b) = m.coefs[0];
        let text = self.coefficient(a, b);
        match (n, ratio) {
            (1, _) => text,
            (n, Some(r)) => format!(
                "{text} (and of {} more summands, each by the factor {})",
                n - 1,
                number(&r)
            ),
            (n, None) => format!("{text} (and {} more coefficients differ)", n - 1),
        }
    }

    /// `coefficient 1/8 against 1/4 of x*y`.
    pub(super) fn coefficient(&self, a: PTerm, b: PTerm) -> String {
        if a.is_constant() {
            return self.against("constant summand", a.coef, b.coef);
        }
        let one = PTerm {
            coef: Coef::ONE,
            ..a
        };
        let text = self.against("coefficient", a.coef, b.coef);
        format!("{text} of {}", self.quote_term(one))
    }

    fn against(&self, what: &str, a: Coef, b: Coef) -> String {
        let coefs = &self.norm.ring.coefs;
        let (a, b) = (coefs.get(a), coefs.get(b));
        let (mut x, mut y) = (number(&a), number(&b));
        if x == y {
            // Numbers that differ in the last digits only.
            let (m, n) = (a.to_big().to_string(), b.to_big().to_string());
            if m.len().max(n.len()) > MAX_DIGITS {
                return format!("{what} {x}, in digits that are not shown,");
            }
            (x, y) = (m, n);
        }
        format!("{what} {x} against {y}")
    }

    /// Second coefficient by the first.
    fn ratio(&self, a: &PTerm, b: &PTerm) -> Option<Rat> {
        let coefs = &self.norm.ring.coefs;
        Some(coefs.get(b.coef).mul(&coefs.get(a.coef).recip()?))
    }

    fn list(&self, terms: &[PTerm]) -> String {
        let quoted: Vec<String> = terms
            .iter()
            .take(QUOTED)
            .map(|&t| self.quote_term(t))
            .collect();
        let rest = terms.len().saturating_sub(QUOTED);
        match rest {
            0 => quoted.join(" and "),
            n => quoted.join(", ") + &more(n),
        }
    }

    /// An array that is read at a distance: replacing each of its elements by the one that lies so
    /// far away turns the left summands into the right ones.
    fn shifted(&self, m: &Merged) -> Option<String> {
        if m.left.len() != m.right.len() || m.left.len() < 2 || !m.coefs.is_empty() {
            return None;
        }
        let (s, t) = self.partners(m)?;
        let (a, b) = self.replaced(s, t)?;
        let ((array, fmt, from), (other, _, to)) = (self.element(a)?, self.element(b)?);
        if array != other {
            return None;
        }
        let right: FxHashMap<(Mono, ExpId), Coef> =
            m.right.iter().map(|t| (t.key(), t.coef)).collect();
        let mut at: FxHashMap<u64, u32> = FxHashMap::default();
        for t in &m.right {
            for (x, _) in self.norm.ring.monos.powers(t.mono) {
                if let Some((c, f, off)) = self.element(x)
                    && (c, f) == (array, fmt)
                {
                    at.insert(off, x);
                }
            }
        }
        // Monomials are made only of what exists, so that nothing new is interned here.
        let moved = |s: &PTerm| {
            let powers = self.norm.ring.monos.powers(s.mono);
            let mut key: Vec<(u32, i32)> = Vec::new();
            let mut changed = false;
            for &(x, p) in &powers {
                match self.element(x) {
                    Some((c, f, off)) if (c, f) == (array, fmt) => {
                        let off = (off as i64 + to as i64 - from as i64) as u64;
                        key.push((*at.get(&off)?, p));
                        changed = true;
                    }
                    _ => key.push((x, p)),
                }
            }
            key.sort_unstable();
            changed.then_some(key)
        };
        let keys: FxHashMap<Vec<(u32, i32)>, (ExpId, Coef)> = right
            .iter()
            .map(|(&(mono, exp), &coef)| (self.norm.ring.monos.powers(mono).to_vec(), (exp, coef)))
            .collect();
        let fits = |s: &PTerm| {
            moved(s).is_some_and(|key| keys.get(&key).is_some_and(|&v| v == (s.exp, s.coef)))
        };
        m.left.iter().all(fits).then(|| {
            format!(
                "another index: {} against {}, and so in all {} summands",
                self.quote_atom(a),
                self.quote_atom(b),
                m.left.len()
            )
        })
    }

    /// The atom of each side that the other has not, where there is one of each.
    fn replaced(&self, s: PTerm, t: PTerm) -> Option<(u32, u32)> {
        let (x, y) = self.own_powers(s, t);
        match (&x[..], &y[..]) {
            (&[(a, 1)], &[(b, 1)]) => Some((a, b)),
            _ => None,
        }
    }

    /// Array, format and offset of an atom that is an input element.
    pub(super) fn element(&self, a: u32) -> Option<(ArrayId, Fmt, u64)> {
        let Atom::Symbol(t) = *self.norm.ring.atom(a) else {
            return None;
        };
        match self.norm.store.get(t) {
            Term::Elem { array, fmt, off } => Some((array, fmt, off)),
            _ => None,
        }
    }

    /// The first left summand that has something in common with a right one, and the most similar
    /// of those.
    fn partners(&self, m: &Merged) -> Option<(PTerm, PTerm)> {
        let right = m.right.iter().take(MAX_PARTNERS);
        m.left.iter().take(8).find_map(|s| {
            let scores = right.clone().map(|t| (self.likeness(*s, *t), *t));
            // The first of equals.
            let best = scores.rev().max_by_key(|x| x.0)?;
            (best.0 >= 4).then_some((*s, best.1))
        })
    }

    fn likeness(&self, s: PTerm, t: PTerm) -> usize {
        let ring = &self.norm.ring;
        let (x, y) = (ring.monos.powers(s.mono), ring.monos.powers(t.mono));
        let shared = x.iter().filter(|p| y.contains(p)).count();
        let kind = |a: u32| {
            (
                std::mem::discriminant(ring.atom(a)),
                self.element(a).map(|e| e.0),
            )
        };
        let kinds = |powers: &[(u32, i32)]| {
            let mut out = 0;
            for &(a, p) in powers {
                let same = |&&(b, q): &&(u32, i32)| q == p && kind(a) == kind(b);
                out += usize::from(y.iter().any(|b| same(&b)));
            }
            out
        };
        let alike = x.len() == y.len() && kinds(&x) == x.len();
        let exponents = (s.exp == ExpId::ZERO) == (t.exp == ExpId::ZERO);
        4 * shared
            + usize::from(s.exp == t.exp && s.exp != ExpId::ZERO) * 4
            + usize::from(alike && exponents) * 4
            + usize::from(exponents)
            + usize::from(s.coef == t.coef)
    }
}

fn also(coefs: usize) -> String {
    match coefs {
        0 => String::new(),
        1 => ", and a coefficient differs".to_string(),
        n => format!(", and {n} coefficients differ"),
    }
}

/// What it means that the second form is r times the first.
pub(super) fn scaled(r: &Rat) -> String {
    if *r == Rat::int(-1) {
        return "the sign: the optimized kernel has the negative of the reference".to_string();
    }
    match r.recip().and_then(|i| i.as_integer()) {
        Some(n) if n > 1 => format!("the optimized kernel divides by {n} more than the reference"),
        _ if r.as_integer().is_some_and(|n| n > 1) => format!(
            "the optimized kernel lacks a division by {n}, or multiplies by {n} more",
            n = number(r)
        ),
        _ => format!("the optimized kernel has {} times the reference", number(r)),
    }
}
