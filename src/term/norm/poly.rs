//! Polynomials: sorted sums of coefficient * monomial * exponential.
//!
//! Problem: a matrix product of depth K is a sum of K terms, met once per output. A term is 16
//! plain bytes; a polynomial is a sorted run of them in one arena, hash-consed, so that equal
//! identifiers are equal polynomials. Sums are built by pushing all terms and combining once: the
//! sort finds existing runs, so merging sorted operands is linear.
//!
//! Source: "Equivalence Checking of ML GPU Kernels", the normal form of polynomial-exponential
//! expressions. This differs in that monomials may have negative powers and inverses of
//! polynomials are atoms (`fraction.rs`).
//!
//! What is not claimed: a polynomial whose atoms are algebraically dependent (inverses, powers of
//! square roots) is not unique here; `expand.rs` and `fraction.rs` see to that.

use std::hash::Hasher;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use super::exp::ExpId;
use super::monomial::{Mono, flag};
use super::rat::Coef;
use super::ring::{Fail, Ring};

/// A hash-consed polynomial of a scratch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct PolyId(pub(super) u32);

impl PolyId {
    /// The polynomial 0.
    pub(super) const ZERO: PolyId = PolyId(0);
    /// The polynomial 1.
    pub(super) const ONE: PolyId = PolyId(1);
    /// Plus infinity: no polynomial, has no terms, never an operand of arithmetic.
    pub(super) const POS_INF: PolyId = PolyId(2);
    /// Minus infinity, likewise.
    pub(super) const NEG_INF: PolyId = PolyId(3);

    pub(super) fn is_infinite(self) -> bool {
        self == PolyId::POS_INF || self == PolyId::NEG_INF
    }
}

/// coefficient * monomial * 2^exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PTerm {
    pub(super) mono: Mono,
    pub(super) exp: ExpId,
    pub(super) coef: Coef,
}

impl PTerm {
    pub(super) const ONE: PTerm = PTerm {
        mono: Mono::ONE,
        exp: ExpId::ZERO,
        coef: Coef::ONE,
    };

    pub(super) fn constant(coef: Coef) -> PTerm {
        PTerm { coef, ..PTerm::ONE }
    }

    pub(super) fn mono(mono: Mono) -> PTerm {
        PTerm { mono, ..PTerm::ONE }
    }

    pub(super) fn key(&self) -> (Mono, ExpId) {
        (self.mono, self.exp)
    }

    pub(super) fn is_constant(&self) -> bool {
        self.key() == (Mono::ONE, ExpId::ZERO)
    }
}

/// The polynomials of one scratch.
#[derive(Debug)]
pub(super) struct Polys {
    terms: Vec<PTerm>,
    spans: Vec<(u32, u32)>,
    flags: Vec<u8>,
    table: HashTable<u32>,
}

fn hash_terms(terms: &[PTerm]) -> u64 {
    let mut h = FxHasher::default();
    for t in terms {
        h.write_u64(t.mono.word());
        h.write_u64((t.exp.0 as u64) << 32 | t.coef.word() as u64);
    }
    // Monomials of one atom differ in their upper bits only, and products keep that: spread it, since
    // the table looks at both ends.
    let h = h.finish();
    let h = (h ^ h >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h ^ h >> 32
}

impl Default for Polys {
    fn default() -> Self {
        let mut p = Polys {
            terms: vec![PTerm::ONE],
            spans: vec![(0, 0), (0, 1), (0, 0), (0, 0)],
            flags: vec![0; 4],
            table: HashTable::new(),
        };
        for id in [0, 1] {
            let hash = hash_terms(p.get(PolyId(id)));
            p.table.insert_unique(hash, id, |_| 0);
        }
        p
    }
}

impl Polys {
    #[inline]
    pub(super) fn get(&self, p: PolyId) -> &[PTerm] {
        let (start, len) = self.spans[p.0 as usize];
        &self.terms[start as usize..start as usize + len as usize]
    }

    #[inline]
    pub(super) fn len(&self, p: PolyId) -> usize {
        self.spans[p.0 as usize].1 as usize
    }

    #[inline]
    pub(super) fn term(&self, p: PolyId, i: usize) -> PTerm {
        self.terms[self.spans[p.0 as usize].0 as usize + i]
    }

    pub(super) fn flags(&self, p: PolyId) -> u8 {
        self.flags[p.0 as usize]
    }

    /// Terms held by the arena.
    pub(super) fn held(&self) -> usize {
        self.terms.len()
    }
}

impl Ring {
    /// Sorts the terms, adds those of equal key, drops zeros.
    pub(super) fn combine(&mut self, buf: &mut Vec<PTerm>) {
        if !buf.is_sorted_by_key(PTerm::key) {
            buf.sort_by_key(PTerm::key);
        }
        let mut kept = 0;
        let mut i = 0;
        while i < buf.len() {
            let mut t = buf[i];
            i += 1;
            while i < buf.len() && buf[i].key() == t.key() {
                t.coef = self.coefs.add(t.coef, buf[i].coef);
                i += 1;
            }
            if t.coef != Coef::ZERO {
                buf[kept] = t;
                kept += 1;
            }
        }
        buf.truncate(kept);
    }

    /// The identifier of combined terms.
    pub(super) fn intern(&mut self, terms: &[PTerm]) -> PolyId {
        let hash = hash_terms(terms);
        let polys = &self.polys;
        if let Some(&i) = polys.table.find(hash, |&i| polys.get(PolyId(i)) == terms) {
            return PolyId(i);
        }
        let mut flags = 0;
        for t in terms {
            if self.special {
                flags |= self.monos.flags(t.mono, &self.atom_flags);
            }
            if t.exp != ExpId::ZERO {
                flags |= flag::EXP | self.exps.flags(t.exp);
            }
            if self.coefs.is_negative(t.coef) {
                flags |= flag::NEG;
            }
        }
        let polys = &mut self.polys;
        let id = polys.spans.len() as u32;
        polys
            .spans
            .push((polys.terms.len() as u32, terms.len() as u32));
        polys.terms.extend_from_slice(terms);
        polys.flags.push(flags);
        let (all, spans) = (&polys.terms, &polys.spans);
        polys.table.insert_unique(hash, id, |&i| {
            let (start, len) = spans[i as usize];
            hash_terms(&all[start as usize..start as usize + len as usize])
        });
        PolyId(id)
    }

    /// Combines and interns.
    pub(super) fn collect(&mut self, mut buf: Vec<PTerm>) -> Result<PolyId, Fail> {
        self.charge(buf.len())?;
        self.combine(&mut buf);
        Ok(self.intern(&buf))
    }

    /// The product of two terms.
    #[inline]
    pub(super) fn term_mul(&mut self, a: PTerm, b: PTerm) -> Result<PTerm, Fail> {
        let mono = self.monos.mul(a.mono, b.mono, &self.atom_flags);
        let mut coef = self.coefs.mul(a.coef, b.coef);
        let exp = if a.exp == ExpId::ZERO {
            b.exp
        } else if b.exp == ExpId::ZERO {
            a.exp
        } else {
            let (e, carry) = self.exp_add(a.exp, b.exp)?;
            if carry != 0 {
                let k = self.coefs.pow2(carry);
                coef = self.coefs.mul(coef, k);
            }
            e
        };
        Ok(PTerm { mono, exp, coef })
    }

    /// Appends t * p.
    pub(super) fn push_scaled(
        &mut self,
        t: PTerm,
        p: PolyId,
        out: &mut Vec<PTerm>,
    ) -> Result<(), Fail> {
        if t == PTerm::ONE {
            out.extend_from_slice(self.polys.get(p));
            return Ok(());
        }
        if t.is_constant() {
            for i in 0..self.polys.len(p) {
                let mut x = self.polys.term(p, i);
                x.coef = self.coefs.mul(x.coef, t.coef);
                out.push(x);
            }
            return Ok(());
        }
        for i in 0..self.polys.len(p) {
            let x = self.polys.term(p, i);
            out.push(self.term_mul(t, x)?);
        }
        Ok(())
    }

    /// t * p.
    pub(super) fn scale(&mut self, t: PTerm, p: PolyId) -> Result<PolyId, Fail> {
        if t == PTerm::ONE {
            return Ok(p);
        }
        let mut buf = Vec::with_capacity(self.polys.len(p));
        self.push_scaled(t, p, &mut buf)?;
        self.collect(buf)
    }

    /// a + k * b.
    pub(super) fn add_scaled(&mut self, a: PolyId, k: Coef, b: PolyId) -> Result<PolyId, Fail> {
        let mut buf = Vec::with_capacity(self.polys.len(a) + self.polys.len(b));
        buf.extend_from_slice(self.polys.get(a));
        self.push_scaled(PTerm::constant(k), b, &mut buf)?;
        self.collect(buf)
    }

    /// a * b, multiplied out.
    pub(super) fn poly_mul(&mut self, a: PolyId, b: PolyId) -> Result<PolyId, Fail> {
        if a == PolyId::ONE || b == PolyId::ZERO {
            return Ok(b);
        }
        if b == PolyId::ONE || a == PolyId::ZERO {
            return Ok(a);
        }
        let (n, m) = (self.polys.len(a), self.polys.len(b));
        self.charge(n.saturating_mul(m))?;
        if n.saturating_mul(m) > self.limits.max_terms {
            return Err(Fail::Limit);
        }
        let mut buf = Vec::with_capacity(n * m);
        for i in 0..n {
            let t = self.polys.term(a, i);
            self.push_scaled(t, b, &mut buf)?;
            // Long coefficients may have made this row dear.
            self.charge(0)?;
        }
        self.collect(buf)
    }

    /// -p.
    pub(super) fn negate(&mut self, p: PolyId) -> Result<PolyId, Fail> {
        self.scale(PTerm::constant(Coef::MINUS_ONE), p)
    }

    /// The rational that a polynomial is, if it has no other terms.
    pub(super) fn as_constant(&self, p: PolyId) -> Option<Coef> {
        match self.polys.get(p) {
            [] if !p.is_infinite() => Some(Coef::ZERO),
            [t] if t.is_constant() => Some(t.coef),
            _ => None,
        }
    }

    /// The polynomial of one term.
    pub(super) fn single(&mut self, t: PTerm) -> PolyId {
        if t.coef == Coef::ZERO {
            PolyId::ZERO
        } else {
            self.intern(&[t])
        }
    }
}
