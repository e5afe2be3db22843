//! Predicates and selects.
//!
//! Problem: `p ? a : b` with p over canonical forms. A comparison a < b is a - b < 0 with positive
//! factors dropped; a <= b is the negation of b < a; so a predicate is a literal: an interned
//! comparison, or conjunction, with a sign. A select whose predicate compares exactly its branches
//! is a maximum or minimum. What both branches share stays outside.
//!
//! What is not claimed: predicates that are equal as functions may be different literals; no
//! decision procedure for the boolean structure is attempted.

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use super::bits::{Node, NodeId};
use super::exp::ExpId;
use super::monomial::{Mono, flag};
use super::poly::{PTerm, PolyId};
use super::rat::Coef;
use super::ring::require;
use super::ring::{Atom, Fail, Ring};
use super::rules::{Rule, rule};
use super::value::Val;
use crate::term::{ICmp, RCmp};

/// An interned predicate with a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Lit(pub(super) u32);

impl Lit {
    pub(super) const TRUE: Lit = Lit(0);
    pub(super) const FALSE: Lit = Lit(1);

    pub(super) fn negated(self) -> Lit {
        Lit(self.0 ^ 1)
    }

    /// The literal without its sign.
    pub(super) fn positive(self) -> Lit {
        Lit(self.0 & !1)
    }

    pub(super) fn is_negated(self) -> bool {
        self.0 & 1 == 1
    }

    pub(super) fn of(b: bool) -> Lit {
        if b { Lit::TRUE } else { Lit::FALSE }
    }
}

/// What a positive literal says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Pred {
    /// Always true.
    True,
    /// p < 0.
    Negative(PolyId),
    /// p = 0.
    Zero(PolyId),
    /// Comparison of bit vectors; `Eq`, `ULt` or `SLt`.
    Bits(ICmp, NodeId, NodeId),
    /// All of these, ascending.
    All(Box<[Lit]>),
    /// Exactly one of two positive literals.
    Xor(Lit, Lit),
}

/// The predicates of one scratch.
#[derive(Debug)]
pub(super) struct Preds {
    table: IndexSet<Pred, FxBuildHasher>,
    partial: Vec<u8>,
}

impl Default for Preds {
    fn default() -> Self {
        Preds {
            table: IndexSet::from_iter([Pred::True]),
            partial: vec![0],
        }
    }
}

impl Preds {
    pub(super) fn get(&self, l: Lit) -> &Pred {
        &self.table[(l.0 >> 1) as usize]
    }

    /// `flag::PARTIAL` if the predicate is not defined for all inputs, else 0.
    pub(super) fn partial(&self, l: Lit) -> u8 {
        self.partial[(l.0 >> 1) as usize]
    }

    fn literal(&mut self, p: Pred, partial: u8) -> Lit {
        let (i, new) = self.table.insert_full(p);
        if new {
            self.partial.push(partial & flag::PARTIAL);
        }
        Lit((i as u32) << 1)
    }
}

/// Conjunctions up to this size are flattened.
const MAX_ALL: usize = 64;

impl Ring {
    /// A comparison of reals.
    pub(super) fn compare(&mut self, op: RCmp, a: Val, b: Val) -> Result<Lit, Fail> {
        match (a.infinite(), b.infinite()) {
            (None, None) => {}
            (x, y) => {
                let side = |i: Option<bool>| i.map_or(0, |neg| if neg { -1 } else { 1 });
                let (x, y) = (side(x), side(y));
                return Ok(Lit::of(match op {
                    RCmp::Lt => x < y,
                    RCmp::Le => x <= y,
                    RCmp::Eq => x == y,
                }));
            }
        }
        let (a, b) = if op == RCmp::Le { (b, a) } else { (a, b) };
        let d = self.val_sub(a, b)?;
        let p = self.canon(d)?;
        match op {
            RCmp::Lt => self.negative(p),
            // match `a <= b`; result `not (b < a)`; because the reals are ordered.
            RCmp::Le => {
                require(Rule::NegatedComparison)?;
                Ok(self.negative(p)?.negated())
            }
            RCmp::Eq => self.zero(p),
        }
    }

    /// Drops from a polynomial what does not change its sign: positive rationals, exponentials,
    /// atoms proved positive, and two by two those proved negative; a root is replaced by its argument, a
    /// magnitude by a square, a power by the least one with its sign. With `any_sign`, also what changes it but is
    /// never zero.
    pub(super) fn sign_part(&mut self, p: PolyId, any_sign: bool) -> Result<PolyId, Fail> {
        let (content, primitive) = match self.polys.get(p) {
            [t] => (*t, PolyId::ONE),
            _ => self.primitive(p)?,
        };
        let mut kept = super::monomial::Powers::new();
        let mut roots = Val::constant(Coef::ONE);
        let mut negative = self.coefs.is_negative(content.coef);
        let primitive = match self.magnitude(primitive) {
            Some((of, below)) if rule(Rule::SignOfMagnitude) => {
                negative ^= below;
                let size = self.val_of(of);
                let size = match any_sign {
                    true => size,
                    false => self.val_mul(size, size)?,
                };
                self.canon(size)?
            }
            _ => primitive,
        };
        for (a, k) in self.monos.powers(content.mono) {
            let s = self.atom_signs[a as usize].pow(k);
            // A root has the sign of its argument, which is not negative where there is a root.
            if let Atom::Sqrt(of) = *self.atom(a)
                && k > 0
            {
                let of = self.val_of(of);
                roots = self.val_mul(roots, of)?;
                continue;
            }
            if s.is_negative() {
                negative = !negative;
            } else if !(s.is_positive() || any_sign && !s.may_be_zero()) {
                let least = if any_sign || k % 2 != 0 { 1 } else { 2 };
                let lower = k > least && rule(Rule::SignOfPower);
                kept.push((a, if lower { least } else { k }));
            }
        }
        let negative = !any_sign && negative;
        let front = PTerm {
            mono: self.monos.of(&kept, &self.atom_flags),
            coef: if negative { Coef::MINUS_ONE } else { Coef::ONE },
            ..PTerm::ONE
        };
        let v = self.val_scaled(front, primitive)?;
        let v = self.val_mul(v, roots)?;
        self.canon(v)
    }

    /// match `f * p < 0` with f > 0; result `p < 0`, and `not (p = 0)` where p is never above 0.
    fn negative(&mut self, p: PolyId) -> Result<Lit, Fail> {
        let s = self.poly_sign(p);
        if s.is_nonneg() {
            return Ok(Lit::FALSE);
        }
        if s.is_negative() {
            return Ok(Lit::TRUE);
        }
        if s.is_nonpos() {
            return Ok(self.zero(p)?.negated());
        }
        let p = self.sign_part(p, false)?;
        let partial = self.polys.flags(p);
        Ok(self.preds.literal(Pred::Negative(p), partial))
    }

    /// match `f * p = 0` with f != 0; result `p = 0`.
    pub(super) fn zero(&mut self, p: PolyId) -> Result<Lit, Fail> {
        if p == PolyId::ZERO {
            return Ok(Lit::TRUE);
        }
        if !self.poly_sign(p).may_be_zero() {
            return Ok(Lit::FALSE);
        }
        let p = self.sign_part(p, true)?;
        let partial = self.polys.flags(p);
        Ok(self.preds.literal(Pred::Zero(p), partial))
    }

    /// A comparison of bit vectors.
    ///
    /// match `a <= b`; result `not (b < a)`; because both orders are total.
    ///
    /// match `a < c` with a constant; result `not (c - 1 < a)`, or false where c is the least;
    /// because nothing lies between. match `c < a` with the greatest; result false.
    pub(super) fn compare_bits(&mut self, op: ICmp, a: NodeId, b: NodeId) -> Lit {
        if a == b {
            return Lit::of(matches!(op, ICmp::Eq | ICmp::ULe | ICmp::SLe));
        }
        let (op, a, b, negated) = match op {
            ICmp::Eq => (op, a.min(b), a.max(b), false),
            ICmp::ULt | ICmp::SLt => (op, a, b, false),
            ICmp::ULe => (ICmp::ULt, b, a, true),
            ICmp::SLe => (ICmp::SLt, b, a, true),
        };
        let (a, b, negated) = match *self.nodes.get(b) {
            Node::Const(w, c) if op != ICmp::Eq => {
                let least = match op {
                    ICmp::SLt => 1 << (w - 1),
                    _ => 0,
                };
                if c == least {
                    return Lit::of(negated);
                }
                let below = c.wrapping_sub(1) & (u64::MAX >> (64 - w as u32));
                (self.node(Node::Const(w, below)), a, !negated)
            }
            _ => (a, b, negated),
        };
        if let Node::Const(w, c) = *self.nodes.get(a)
            && op != ICmp::Eq
        {
            let ones = u64::MAX >> (64 - w as u32);
            // Nothing is above the greatest.
            if c == ones >> (op == ICmp::SLt) as u32 {
                return Lit::of(negated);
            }
        }
        let partial = self.nodes.partial(a) | self.nodes.partial(b);
        let l = self.preds.literal(Pred::Bits(op, a, b), partial);
        if negated { l.negated() } else { l }
    }

    /// a and b.
    pub(super) fn all(&mut self, a: Lit, b: Lit) -> Lit {
        let mut set = Vec::new();
        for l in [a, b] {
            match self.preds.get(l) {
                Pred::All(inner) if !l.is_negated() && inner.len() <= MAX_ALL => {
                    set.extend_from_slice(inner);
                }
                _ => set.push(l),
            }
        }
        set.retain(|l| *l != Lit::TRUE);
        set.sort_unstable();
        set.dedup();
        if set.contains(&Lit::FALSE) || set.windows(2).any(|w| w[0].negated() == w[1]) {
            return Lit::FALSE;
        }
        match set[..] {
            [] => Lit::TRUE,
            [l] => l,
            _ => {
                let partial = set.iter().fold(0, |f, l| f | self.preds.partial(*l));
                self.preds
                    .literal(Pred::All(set.into_boxed_slice()), partial)
            }
        }
    }

    /// a or b, by De Morgan.
    pub(super) fn any(&mut self, a: Lit, b: Lit) -> Lit {
        self.all(a.negated(), b.negated()).negated()
    }

    /// a xor b; signs are taken out.
    pub(super) fn xor(&mut self, a: Lit, b: Lit) -> Lit {
        let flip = a.is_negated() != b.is_negated();
        let (a, b) = (a.positive(), b.positive());
        let l = if a == b {
            Lit::FALSE
        } else if a == Lit::TRUE || b == Lit::TRUE {
            a.max(b).negated()
        } else {
            let partial = self.preds.partial(a) | self.preds.partial(b);
            self.preds.literal(Pred::Xor(a.min(b), a.max(b)), partial)
        };
        if flip { l.negated() } else { l }
    }

    /// p ? a : b.
    ///
    /// match `p ? a : a`; result `a`.
    ///
    /// match `a < b ? a : b`; result `min(a, b)`, and `a < b ? b : a`: `max(a, b)`; because on the
    /// boundary both are equal.
    ///
    /// match `p ? c + f * a : c + f * b`; result `c + f * (p ? a : b)`, where f is defined
    /// everywhere; because c is evaluated on both sides.
    pub(super) fn val_select(&mut self, p: Lit, a: Val, b: Val) -> Result<Val, Fail> {
        let (p, a, b) = if p.is_negated() {
            (p.negated(), b, a)
        } else {
            (p, a, b)
        };
        if p == Lit::TRUE || a == b {
            return Ok(a);
        }
        if a.infinite().is_some() || b.infinite().is_some() {
            return Err(Fail::Infinite);
        }
        let (x, y) = (self.held(a)?, self.held(b)?);
        if x == y {
            return Ok(a);
        }
        let held = (self.polys.flags(x) | self.polys.flags(y)) & flag::LET != 0;
        if let Pred::Negative(q) = *self.preds.get(p)
            && !held
        {
            let d = self.add_scaled(x, Coef::MINUS_ONE, y)?;
            let d = self.identify(d)?;
            if d == PolyId::ZERO {
                return Ok(a);
            }
            if self.sign_part(d, false)? == q && rule(Rule::ExtremumByChoice) {
                return self.val_min(a, b);
            }
            let n = self.negate(d)?;
            if self.sign_part(n, false)? == q && rule(Rule::ExtremumByChoice) {
                return self.val_max(a, b);
            }
            match self.chooses_clamp(q, d)? {
                Some(least) if rule(Rule::ClampByChoice) => {
                    return match least {
                        true => self.val_min(a, b),
                        false => self.val_max(a, b),
                    };
                }
                _ => {}
            }
        }
        let mut x = x;
        if let Pred::Zero(q) = *self.preds.get(p)
            && !held
        {
            x = self.where_zero(q, x)?;
            if x == y || self.polys.flags(y) & flag::PARTIAL == 0 && self.where_zero(q, y)? == x {
                return Ok(b);
            }
        }
        if let Some(v) = self.told_apart(p, x, y)? {
            return Ok(v);
        }
        if !held && let Some(v) = self.common_sum(p, x, y)? {
            return Ok(v);
        }
        // Terms that both branches have.
        let mut shared = Vec::new();
        let ys = self.polys.get(y);
        for t in self.polys.get(x) {
            if let Ok(i) = ys.binary_search_by_key(&t.key(), PTerm::key)
                && ys[i].coef == t.coef
            {
                shared.push(*t);
            }
        }
        if !shared.is_empty() && !rule(Rule::CommonPartOfChoice) {
            shared.clear();
        }
        let outside = self.intern(&shared);
        let mut x = self.add_scaled(x, Coef::MINUS_ONE, outside)?;
        let mut y = self.add_scaled(y, Coef::MINUS_ONE, outside)?;
        let mut front = self.shared_factor(x, y)?;
        if front != PTerm::ONE && !rule(Rule::CommonPartOfChoice) {
            front = PTerm::ONE;
        }
        if front != PTerm::ONE {
            let inverse = self.term_inverse(front)?;
            let (v, w) = (self.val_scaled(inverse, x)?, self.val_scaled(inverse, y)?);
            (x, y) = (self.held(v)?, self.held(w)?);
        }
        if !held {
            x = self.identify(x)?;
            y = self.identify(y)?;
        }
        if x == y {
            return Ok(a);
        }
        let inside = self.atom_val(Atom::Select(p, x, y));
        let inside = self.val_mul(Val::term(front), inside)?;
        let outside = self.val_of(outside);
        self.val_add(outside, inside)
    }

    /// match `n = c ? a : b` where b chooses by n = d for other constants d; result
    /// `b + (n = c ? a - b' : 0)` with the branches of b' that are taken where n is c; because n is
    /// one number. So a table of choices is a sum of choices in any order. For b defined everywhere.
    fn told_apart(&mut self, p: Lit, x: PolyId, y: PolyId) -> Result<Option<Val>, Fail> {
        let Pred::Bits(ICmp::Eq, a, b) = *self.preds.get(p) else {
            return Ok(None);
        };
        let constant = |n: NodeId| matches!(self.nodes.get(n), Node::Const(..));
        if y == PolyId::ZERO
            || constant(a) == constant(b)
            || self.polys.flags(y) & flag::PARTIAL != 0
        {
            return Ok(None);
        }
        let (n, c) = if constant(a) { (b, a) } else { (a, b) };
        let mut taken = Val::ZERO;
        let mut found = false;
        for i in 0..self.polys.len(y) {
            let t = self.polys.term(y, i);
            let mut rest = super::monomial::Powers::new();
            let mut value = Val::constant(Coef::ONE);
            for (atom, k) in self.monos.powers(t.mono) {
                match self.branch_where(atom, n, c) {
                    Some(branch) if k > 0 => {
                        found = true;
                        let branch = self.val_of(branch);
                        for _ in 0..k {
                            value = self.val_mul(value, branch)?;
                        }
                    }
                    _ => rest.push((atom, k)),
                }
            }
            let mono = self.monos.of(&rest, &self.atom_flags);
            let value = self.val_mul(Val::term(PTerm { mono, ..t }), value)?;
            taken = self.val_add(taken, value)?;
        }
        if !found {
            return Ok(None);
        }
        let x = self.val_of(x);
        let difference = self.val_sub(x, taken)?;
        let only = self.val_select(p, difference, Val::ZERO)?;
        let y = self.val_of(y);
        self.val_add(y, only).map(Some)
    }

    /// The branch that a select takes where `n` is `c`, if it compares `n` with a constant.
    fn branch_where(&self, atom: u32, n: NodeId, c: NodeId) -> Option<PolyId> {
        let Atom::Select(q, u, v) = *self.atom(atom) else {
            return None;
        };
        let Pred::Bits(ICmp::Eq, a, b) = *self.preds.get(q) else {
            return None;
        };
        let d = match (a == n, b == n) {
            (true, _) => b,
            (_, true) => a,
            _ => return None,
        };
        let known = matches!(self.nodes.get(d), Node::Const(..));
        known.then_some(if (d == c) != q.is_negated() { u } else { v })
    }

    /// The common atoms of positive power and the first coefficient of two polynomials, of those
    /// that are defined for all inputs; if one of them is 0, also the greatest exponential of the other.
    fn shared_factor(&mut self, x: PolyId, y: PolyId) -> Result<PTerm, Fail> {
        let all = || self.polys.get(x).iter().chain(self.polys.get(y));
        let coef = all().next().map_or(Coef::ONE, |t| t.coef);
        let mut monos = all().map(|t| t.mono);
        let Some(first) = monos.next() else {
            return Ok(PTerm::ONE);
        };
        let mut shared = self.monos.powers(first);
        shared.retain(|e| e.1 > 0 && self.atom_flags[e.0 as usize] & flag::PARTIAL == 0);
        for m in monos {
            if shared.is_empty() {
                break;
            }
            let powers = self.monos.powers(m);
            shared.retain(|e| match powers.iter().find(|q| q.0 == e.0) {
                Some(q) if q.1 > 0 => {
                    e.1 = e.1.min(q.1);
                    true
                }
                _ => false,
            });
        }
        let mono = if shared.is_empty() {
            Mono::ONE
        } else {
            self.monos.of(&shared, &self.atom_flags)
        };
        let mut exp = ExpId::ZERO;
        if x == PolyId::ZERO || y == PolyId::ZERO {
            let greatest = self.greatest_exp(all().map(|t| t.exp));
            if self.exps.flags(greatest) & flag::PARTIAL == 0 {
                exp = greatest;
            }
        }
        Ok(PTerm { mono, exp, coef })
    }
}
