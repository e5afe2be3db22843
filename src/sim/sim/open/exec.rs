//! Products, as they are added to open sums.

use crate::kernel::Fmt;
use crate::sim::limits::LIMITS;
use crate::sim::val::{Val, open_sum};
use crate::sim::value::Values;
use crate::sim::warp::{LANES, lanes};
use crate::term::{Term, TermId, TermStore};
use crate::work;

use super::together::Ids;
use super::{Factor, NONE, NOTHING, OpenSum, SumKind};

fn factor(store: &TermStore, t: TermId) -> Factor {
    match store.get(t) {
        Term::Const(_) => Factor::Constant,
        Term::Inf { .. } | Term::Undefined => Factor::Odd,
        _ => Factor::Plain,
    }
}

impl Values {
    /// The open sum that an addend is, or can start: a real that is a sum already. One product
    /// alone is no accumulator.
    #[inline]
    pub fn opened(&mut self, fmt: Fmt, v: Val) -> Option<OpenSum> {
        match v {
            // The order of an addition is part of how a number was made.
            _ if self.trees.is_some() => None,
            Val::Open(f, s) if f == fmt => Some(s),
            Val::Real(f, t) if f == fmt => match self.store.get(t) {
                Term::Add(..) | Term::Sum(_) => {
                    let one = self.one();
                    Some(self.open.start(NOTHING, &[[t.0, one.0]]))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The real constant 1.
    #[inline]
    pub fn one(&mut self) -> TermId {
        match self.one {
            Some(t) => t,
            None => {
                let t = self.store.integer(1);
                self.one = Some(t);
                t
            }
        }
    }

    /// `s + x * y`; `None` where the rules for constants and infinities decide what that is.
    #[inline]
    pub fn extend(&mut self, s: OpenSum, x: TermId, y: TermId) -> Option<OpenSum> {
        match (factor(&self.store, x), factor(&self.store, y)) {
            (Factor::Plain, Factor::Plain) => {}
            (Factor::Odd, _) | (_, Factor::Odd) | (Factor::Constant, Factor::Constant) => {
                return None;
            }
            _ => {
                let s_zero = |a, b| self.store.is_zero(a) && self.store.is_total(b);
                if s_zero(x, y) || s_zero(y, x) {
                    return Some(s);
                }
            }
        }
        let one = self.one();
        Some(self.open.append(s, x, y, one))
    }

    /// As [`Values::extend`] with what lane words pack, where nothing but an append is needed.
    #[inline]
    pub fn extend_words(&mut self, sum: u64, x: u32, y: u32) -> Option<OpenSum> {
        self.append(open_sum(sum), TermId(x), TermId(y))
    }

    /// The sums of the lanes of a mask, each extended by the product of its factors, in lane words;
    /// the sum of lane 0 stands for all, which differ in nothing else. `None` where each lane is for
    /// itself.
    pub fn extend_together(
        &mut self,
        kind: SumKind,
        mask: u32,
        sums: &[u64; LANES],
        x: &[u64; LANES],
        y: &[u64; LANES],
    ) -> Option<OpenSum> {
        let ordinary = |words: &[u64; LANES]| {
            let mut last = NONE;
            lanes(mask).all(|lane| {
                let t = words[lane] as u32;
                let is_same = std::mem::replace(&mut last, t) == t;
                is_same || self.is_factor(kind, TermId(t))
            })
        };
        if !ordinary(x) || !ordinary(y) {
            return None;
        }
        let factor = |words| Ids { words, mask };
        let together = &mut self.open.together;
        together.append(mask, sums, factor(x), factor(y))
    }

    /// As [`Values::extend`], where nothing but an append is needed.
    #[inline]
    pub fn append(&mut self, sum: OpenSum, x: TermId, y: TermId) -> Option<OpenSum> {
        self.append_as(SumKind::Real, sum, x, y)
    }

    /// The same for a sum of a kind.
    #[inline]
    pub fn append_as(
        &mut self,
        kind: SumKind,
        sum: OpenSum,
        x: TermId,
        y: TermId,
    ) -> Option<OpenSum> {
        if !self.is_factor(kind, x) || !self.is_factor(kind, y) {
            return None;
        }
        let one = self.one_of(kind);
        Some(self.open.append(sum, x, y, one))
    }

    /// True for a factor that no rule about constants concerns.
    #[inline]
    fn is_factor(&self, kind: SumKind, t: TermId) -> bool {
        match kind {
            SumKind::Real => self.store.is_ordinary(t),
            SumKind::Bits(width) => self.store.is_plain_bits(t, width),
        }
    }

    fn one_of(&mut self, kind: SumKind) -> TermId {
        match kind {
            SumKind::Real => self.one(),
            SumKind::Bits(width) => self.bits_one(width),
        }
    }

    /// The term of an open sum.
    pub fn close(&mut self, s: OpenSum) -> TermId {
        if let Some(t) = self.open.closed(s) {
            return t;
        }
        let one = self.one();
        self.open.collect(s, one);
        let mut products = std::mem::take(&mut self.open.scratch);
        let t = if products.len() <= LIMITS.chain {
            let mut t = None;
            for &(x, y) in &products {
                let p = self.store.mul(x, y);
                t = Some(t.map_or(p, |t| self.store.add(t, p)));
            }
            t.unwrap_or_else(|| self.store.integer(0))
        } else {
            self.unroll(&mut products, one);
            // A sum that began with 0 is the same without it.
            let (base, factor) = products[0];
            let skip = (factor == one && self.store.is_zero(base)) as usize;
            self.store.sum(&products[skip..])
        };
        self.open.scratch = products;
        self.open.set_closed(s, t);
        t
    }

    /// Replaces a first term that is a short chain of additions by its operands.
    fn unroll(&mut self, products: &mut Vec<(TermId, TermId)>, one: TermId) {
        for _ in 0..LIMITS.chain {
            let (base, y) = products[0];
            if y != one {
                return;
            }
            match self.store.get(base) {
                Term::Add(a, b) => {
                    // The operand that is a sum itself stays in front.
                    let deeper = matches!(self.store.get(a), Term::Add(..) | Term::Sum(_));
                    let (first, other) = if deeper { (a, b) } else { (b, a) };
                    products[0] = (first, one);
                    products.push(self.as_product(other, one));
                }
                _ => break,
            }
        }
        let (base, _) = products[0];
        products[0] = self.as_product(base, one);
    }

    fn as_product(&self, t: TermId, one: TermId) -> (TermId, TermId) {
        match self.store.get(t) {
            Term::Mul(x, y) => (x, y),
            _ => (t, one),
        }
    }

    /// `c` plus the sum of the products, as a value of a format. Factors that are infinities
    /// follow the rules of `add` and `mul`.
    pub fn accumulate(&mut self, fmt: Fmt, c: Val, products: &[(TermId, TermId)]) -> Val {
        /// Products that are appended to an open sum in the time of a term.
        const A_UNIT: u64 = 8;
        work::spend((products.len() as u64).div_ceil(A_UNIT));
        if let Some(v) = self.total(fmt, c, products) {
            return v;
        }
        if let Some(v) = self.product_word(fmt, c, products) {
            return v;
        }
        match self.product.filter(|_| self.trees.is_some()) {
            Some((product, from, _)) => self.product_tree(product, (fmt, from), c, products),
            None => self.summed(fmt, c, products),
        }
    }

    /// `c` plus the sum of the products, over the reals.
    pub fn summed(&mut self, fmt: Fmt, c: Val, products: &[(TermId, TermId)]) -> Val {
        let mut v = c;
        for (i, &(x, y)) in products.iter().enumerate() {
            let opened = match v {
                Val::Open(f, s) if f == fmt => Some(s),
                // A sum that will be long is opened at once.
                _ if i == 0 && products.len() > 1 => {
                    let t = self.real(v, fmt);
                    let one = self.one();
                    (!matches!(factor(&self.store, t), Factor::Odd))
                        .then(|| self.open.start(NOTHING, &[[t.0, one.0]]))
                }
                _ => self.opened(fmt, v),
            };
            v = match opened.and_then(|s| self.extend(s, x, y)) {
                Some(s) => Val::Open(fmt, s),
                None => {
                    let t = self.real(v, fmt);
                    let p = self.store.mul(x, y);
                    Val::Real(fmt, self.store.add(t, p))
                }
            };
        }
        v
    }
}
