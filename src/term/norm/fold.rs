//! Choices whose branches are multiples of one sum, and sums of choices that are one.
//!
//! Problem: a running maximum m with a sum s that is relative to it is written with a maximum
//! (`s * exp(m - M) + exp(v - M)`), by a branch (`v > m ? s * exp(m - v) + 1 : s + exp(v - m)`), or over a
//! record that is chosen as a whole (`large.s + small.s * exp(small.m - large.m)`). Whatever the spelling, both
//! branches are one sum of exponentials times an exponential, and which exponential it is, is chosen as the
//! maximum is. So the sum comes out of the choice, and the choice becomes that of an exponent, which is a maximum
//! again; the next step meets what the spelling with a maximum has.
//!
//! What is not claimed: branches whose common factor is a sum that only one of them shows.

use super::monomial::{Mono, Powers, flag};
use super::poly::{PTerm, PolyId};
use super::rat::{Coef, Rat};
use super::ring::{Atom, Fail, Ring};
use super::rules::{Rule, rule};
use super::select::{Lit, Pred};
use super::value::Val;

/// Exponents of exponents that are chosen between, or looked into.
const MAX_DEPTH: u32 = 3;

/// Terms of a sum of which the choices are looked at, and comparisons that are tried.
const MAX_TERMS: usize = 1 << 12;
const MAX_TRIED: usize = 4;

/// The largest power of a choice that is replaced.
const MAX_POWER: i32 = 4;

/// What a comparison with zero says about the maximum of both sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Larger {
    /// The maximum.
    atom: u32,
    /// What it is where the comparison holds, and where it does not.
    images: [PolyId; 2],
}

impl Ring {
    /// match `p ? f * s : g * s` for a sum s and terms f and g; result `s * (p ? f : g)`; because s is evaluated on
    /// both sides.
    ///
    /// match `p ? t * 2^a : t * 2^b`; result `t * 2^(p ? a : b)`; because only the branch that is taken is evaluated
    /// on either side, and t is on both.
    ///
    /// `None` if the branches are nothing of the kind.
    pub(super) fn common_sum(&mut self, p: Lit, x: PolyId, y: PolyId) -> Result<Option<Val>, Fail> {
        if self.polys.len(x) == 0
            || self.polys.len(x) != self.polys.len(y)
            || self.fold_depth >= MAX_DEPTH
        {
            return Ok(None);
        }
        let parts = match (self.polys.get(x), self.polys.get(y)) {
            ([s], [t]) if s.mono == t.mono && s.exp != t.exp => Some((*s, *t, PolyId::ONE)),
            ([_], [_]) => None,
            _ => self.one_primitive(x, y)?,
        };
        let Some((mut f, mut g, sum)) = parts else {
            return Ok(None);
        };
        // A product of inverses may be a sum again, of which this would come out.
        if f.mono != g.mono && (self.term_flags(f) | self.term_flags(g)) & flag::INV != 0 {
            return Ok(None);
        }
        if sum != PolyId::ONE && !rule(Rule::CommonSumOfChoice) {
            return Ok(None);
        }
        let mut front = PTerm::ONE;
        if f.exp != g.exp {
            let (mut a, b) = (self.exps.poly(f.exp), self.exps.poly(g.exp));
            // A factor of two may stand in either place.
            if let Some(k) = self.power_between(f.coef, g.coef) {
                a = self.add_scaled(a, k, PolyId::ONE)?;
                f.coef = g.coef;
            }
            if sum == PolyId::ONE && f.coef != g.coef || !rule(Rule::PowerOfChoice) {
                return Ok(None);
            }
            let (a, b) = (self.val_of(a), self.val_of(b));
            let chosen = self.select_within(p, a, b)?;
            let chosen = self.canon(chosen)?;
            let power = self.exp2(chosen)?;
            let Some(power) = power.as_term() else {
                return Ok(None);
            };
            front = power;
            (f.exp, g.exp) = Default::default();
        }
        let rest = match f == g {
            true => Val::term(f),
            false => {
                if f.mono == g.mono {
                    front = self.term_mul(front, PTerm::mono(f.mono))?;
                    (f.mono, g.mono) = (Mono::ONE, Mono::ONE);
                }
                self.select_within(p, Val::term(f), Val::term(g))?
            }
        };
        let sum = self.val_of(sum);
        let product = self.val_mul(Val::term(front), sum)?;
        self.val_mul(product, rest).map(Some)
    }

    /// A choice between parts of what is chosen between.
    fn select_within(&mut self, p: Lit, a: Val, b: Val) -> Result<Val, Fail> {
        self.fold_depth += 1;
        let chosen = self.val_select(p, a, b);
        self.fold_depth -= 1;
        chosen
    }

    /// The contents of two sums with one primitive part, and that.
    fn one_primitive(
        &mut self,
        x: PolyId,
        y: PolyId,
    ) -> Result<Option<(PTerm, PTerm, PolyId)>, Fail> {
        let mut parts = [(PTerm::ONE, x), (PTerm::ONE, y)];
        for part in &mut parts {
            *part = match self.primitive(part.1) {
                Ok(r) => r,
                // Too large to clear of inverses, or nothing but a sum of fractions that cancel.
                Err(_) if self.has_time() => return Ok(None),
                Err(e) => return Err(e),
            };
        }
        let [(f, s), (g, t)] = parts;
        Ok((s == t).then_some((f, g, s)))
    }

    /// The k with c = 2^k * d.
    pub(super) fn power_between(&mut self, c: Coef, d: Coef) -> Option<Coef> {
        let over = self.coefs.recip(d)?;
        let ratio = self.coefs.mul(c, over);
        let Rat::Small(n, d) = self.coefs.get(ratio) else {
            return None;
        };
        let power = match (n, d) {
            (n, 1) if n > 1 && n & (n - 1) == 0 => i64::from(n.trailing_zeros()),
            (1, d) if d > 1 && d & (d - 1) == 0 => -i64::from(d.trailing_zeros()),
            _ => return None,
        };
        Some(self.coefs.of(Rat::int(power)))
    }

    /// match `f * (p ? a : b) + g * (p ? c : d)`; result `p ? f * a + g * c : f * b + g * d`, where one sum comes out of that
    /// choice; because p is one condition. What f and g are under p is used: `max(u, v)` is v where u < v.
    pub(super) fn merge_choices(&mut self, v: Val) -> Result<Val, Fail> {
        if v.infinite().is_some() {
            return Ok(v);
        }
        let mut v = self.without_maxima(v)?;
        if !self.chooses {
            return Ok(v);
        }
        for _ in 0..MAX_TRIED {
            let mut merged = None;
            for p in self.compared(v) {
                merged = self.merge(v, p)?;
                if merged.is_some() {
                    break;
                }
            }
            match merged {
                Some(w) => v = w,
                None => break,
            }
        }
        Ok(v)
    }

    /// match `1 + 2^(a + b - 2 max(a, b))`; result `(2^a + 2^b) / 2^max(a, b)`, and likewise with factors.
    fn without_maxima(&mut self, v: Val) -> Result<Val, Fail> {
        let mut v = v;
        for _ in 0..MAX_TRIED {
            if self.polys.flags(v.poly) & flag::EXP == 0 {
                break;
            }
            let Some((shift, rest)) = self.without_larger(v.poly)? else {
                break;
            };
            let power = self.exp2(shift)?;
            let rest = self.val_of(rest);
            let scaled = self.val_mul(Val::term(v.factor), rest)?;
            v = self.val_mul(power, scaled)?;
        }
        Ok(v)
    }

    /// The comparisons with zero that more than one factor of a value depends on, as far as its terms show.
    fn compared(&self, v: Val) -> Vec<Lit> {
        let mut found: Vec<Lit> = Vec::new();
        if self.polys.len(v.poly) > MAX_TERMS
            || (self.polys.flags(v.poly) | self.term_flags(v.factor)) & flag::CHOICE == 0
        {
            return found;
        }
        for t in std::iter::once(&v.factor).chain(self.polys.get(v.poly)) {
            for a in self.choices_of(t) {
                if let Atom::Select(p, ..) = *self.atom(a)
                    && let Pred::Negative(_) = self.preds.get(p)
                    && !found.contains(&p.positive())
                    && found.len() < MAX_TRIED
                {
                    found.push(p.positive());
                }
            }
        }
        found
    }

    /// A value as one choice by `p`, if a sum comes out of it that does not depend on `p`.
    fn merge(&mut self, v: Val, p: Lit) -> Result<Option<Val>, Fail> {
        let sum = self.held(v)?;
        if self.polys.flags(sum) & flag::LET != 0 || self.polys.len(sum) > MAX_TERMS {
            return Ok(None);
        }
        let larger = self.larger(p)?;
        let (mut dependent, mut rest) = (Vec::new(), Vec::new());
        let mut atoms: Vec<u32> = Vec::new();
        for &t in self.polys.get(sum) {
            match self.depends(t, p, larger, &mut atoms) {
                true => dependent.push(t),
                false => rest.push(t),
            }
        }
        if atoms.len() < 2 {
            return Ok(None);
        }
        let mut branches = [Val::ZERO; 2];
        for (i, branch) in branches.iter_mut().enumerate() {
            let Some(q) = self.under(&dependent, p, i == 0, larger, 0)? else {
                return Ok(None);
            };
            *branch = self.val_of(q);
        }
        let chosen = self.val_select(p, branches[0], branches[1])?;
        let chosen = self.held(chosen)?;
        let mut left = Vec::new();
        let terms = self.polys.get(chosen);
        if terms.iter().any(|&t| self.depends(t, p, None, &mut left)) {
            return Ok(None);
        }
        if !rule(Rule::MergedChoices) {
            return Ok(None);
        }
        let (chosen, rest) = (self.val_of(chosen), self.intern(&rest));
        let rest = self.val_of(rest);
        self.val_add(chosen, rest).map(Some)
    }

    /// A sum where q is 0.
    ///
    /// match `q = 0` where q is a sum of terms of one sign, or one term; result each of them is 0, and so is x where one is a power
    /// of x with a factor that is not 0; because what is not negative cannot cancel.
    pub(super) fn where_zero(&mut self, q: PolyId, p: PolyId) -> Result<PolyId, Fail> {
        let terms = self.polys.get(q);
        if terms.len() > MAX_TERMS || self.polys.len(p) > MAX_TERMS {
            return Ok(p);
        }
        let signs: Vec<_> = terms.iter().map(|t| self.term_sign(*t)).collect();
        let alike = signs.len() == 1
            || signs.iter().all(|s| s.is_nonneg())
            || signs.iter().all(|s| s.is_nonpos());
        if !alike {
            return Ok(p);
        }
        let zero = |t: &PTerm| match self.monos.powers(t.mono)[..] {
            [(a, k)] if k > 0 => Some(a),
            _ => None,
        };
        let zeros: Vec<u32> = terms.iter().filter_map(zero).collect();
        let is_left = |t: &&PTerm| {
            let powers = self.monos.powers(t.mono);
            !powers.iter().any(|(a, k)| *k > 0 && zeros.contains(a))
        };
        let left: Vec<PTerm> = self.polys.get(p).iter().filter(is_left).copied().collect();
        if left.len() == self.polys.len(p) || !rule(Rule::VanishingSum) {
            return Ok(p);
        }
        Ok(self.intern(&left))
    }

    /// The maximum that a comparison tells: `q < 0` says that `max(q, 0)` is 0, and else it is q.
    fn larger(&mut self, p: Lit) -> Result<Option<Larger>, Fail> {
        if let Some(&known) = self.larger_of.get(&p) {
            return Ok(known);
        }
        let found = self.find_larger(p)?;
        self.larger_of.insert(p, found);
        Ok(found)
    }

    fn find_larger(&mut self, p: Lit) -> Result<Option<Larger>, Fail> {
        let Pred::Negative(q) = *self.preds.get(p) else {
            return Ok(None);
        };
        let m = self.max_of(vec![q, PolyId::ZERO])?;
        let m = self.canon(m)?;
        let Some((i, _)) = self.max_term(m) else {
            return Ok(None);
        };
        let mut outside = self.polys.get(m).to_vec();
        let term = outside.remove(i);
        let (Some(atom), Some(over)) = (term.mono.as_atom(), self.coefs.recip(term.coef)) else {
            return Ok(None);
        };
        let outside = self.intern(&outside);
        let mut images = [PolyId::ZERO, q];
        for image in &mut images {
            let d = self.add_scaled(*image, Coef::MINUS_ONE, outside)?;
            let d = self.scale(PTerm::constant(over), d)?;
            *image = self.identify(d)?;
        }
        Ok(Some(Larger { atom, images }))
    }

    /// Whether a term depends on `p` by a choice or by the maximum that it tells; the atoms that do are added.
    fn depends(&self, t: PTerm, p: Lit, larger: Option<Larger>, atoms: &mut Vec<u32>) -> bool {
        let mut found = false;
        for a in self.choices_of(&t) {
            let chosen = matches!(*self.atom(a), Atom::Select(q, ..) if q.positive() == p);
            if chosen || larger.is_some_and(|l| l.atom == a) {
                found = true;
                if !atoms.contains(&a) {
                    atoms.push(a);
                }
            }
        }
        found
    }

    /// The atoms of a term, and of its exponent, in monomials that hold a choice or a maximum.
    fn choices_of(&self, t: &PTerm) -> impl Iterator<Item = u32> {
        let above = self.polys.get(self.exps.poly(t.exp));
        let monos = std::iter::once(t.mono).chain(above.iter().map(|t| t.mono));
        let choose = |m: &Mono| self.monos.flags(*m, &self.atom_flags) & flag::CHOICE != 0;
        let atoms = monos.filter(choose).flat_map(|m| self.monos.powers(m));
        atoms.map(|(a, _)| a)
    }

    /// A sum where `p` is known. `None` if something has a power that is not looked at.
    fn under(
        &mut self,
        terms: &[PTerm],
        p: Lit,
        holds: bool,
        larger: Option<Larger>,
        depth: u32,
    ) -> Result<Option<PolyId>, Fail> {
        let mut sum = Vec::with_capacity(terms.len());
        for &t in terms {
            let mut kept = Powers::new();
            let mut value = Val::constant(Coef::ONE);
            for (a, k) in self.monos.powers(t.mono) {
                let image = match *self.atom(a) {
                    Atom::Select(q, x, _) if q.positive() == p && q.is_negated() != holds => {
                        Some(x)
                    }
                    Atom::Select(q, _, y) if q.positive() == p => Some(y),
                    _ => larger
                        .filter(|l| l.atom == a)
                        .map(|l| l.images[usize::from(!holds)]),
                };
                match image {
                    None => kept.push((a, k)),
                    Some(_) if !(1..=MAX_POWER).contains(&k) => return Ok(None),
                    Some(image) => {
                        let image = self.val_of(image);
                        for _ in 0..k {
                            value = self.val_mul(value, image)?;
                        }
                    }
                }
            }
            let mut front = PTerm {
                mono: self.monos.of(&kept, &self.atom_flags),
                ..t
            };
            let above = self.exps.poly(t.exp);
            if self.polys.flags(above) & flag::CHOICE != 0 && depth < MAX_DEPTH {
                let above = self.polys.get(above).to_vec();
                let Some(above) = self.under(&above, p, holds, larger, depth + 1)? else {
                    return Ok(None);
                };
                front.exp = Default::default();
                let power = self.exp2(above)?;
                value = self.val_mul(value, power)?;
            }
            sum.push(self.val_mul(Val::term(front), value)?);
        }
        let (mut flat, mut parts) = (Vec::new(), Vec::new());
        for v in sum {
            self.add_operand(v, &mut flat, &mut parts)?;
        }
        let v = self.val_sum(flat, parts)?;
        self.canon(v).map(Some)
    }
}
