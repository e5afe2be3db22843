//! Additions to accumulators: all lanes of a warp at once where each extends an open sum.
//!
//! The problem: the multiply-adds of a matrix product are most of what such a kernel executes,
//! so their common case, a product of two reals added to an open sum ([`super::open`]), goes
//! past the general evaluation of operations. Lanes that are not that case are left to it. Sums of
//! products of integers, modulo 2^32 or 2^64, go the same way.

use crate::kernel::{FloatOp, Fmt, IntOp, IntTy, RegId, Src};
use crate::term::{BitsOp, Term, TermId};

use super::machine::Core;
use super::open::SumKind;
use super::val::{BITS_HEAD, Val, of_lane, open_head, open_sum, open_word, real_head, sum_head};
use super::value::Values;
use super::warp::{LANES, lanes};

/// True if the lanes of a mask have one head.
#[inline]
fn alike(words: &[u64; LANES], mask: u32, head: u64) -> bool {
    match mask {
        u32::MAX => words.iter().fold(0, |d, w| d | w >> 48 ^ head) == 0,
        _ => lanes(mask).all(|lane| words[lane] >> 48 == head),
    }
}

impl Values {
    /// The sum that an addition extends; `None` if its addend is not an accumulator.
    pub fn grown(&mut self, op: FloatOp, fmt: Fmt, src_fmt: Fmt, v: [Val; 3]) -> Option<Val> {
        let (sum, x, y) = match op {
            FloatOp::Fma => {
                let s = self.opened(fmt, v[2])?;
                (s, self.real(v[0], src_fmt), self.real(v[1], src_fmt))
            }
            // Two sums that both grew are a sum of two terms, the same in either order: each lane of
            // a butterfly adds the other's to its own.
            FloatOp::Add
                if v[..2]
                    .iter()
                    .all(|x| matches!(x, Val::Open(f, _) if *f == fmt)) =>
            {
                return None;
            }
            _ => {
                // Of two sums, one that is open already grows.
                let second = op == FloatOp::Add
                    && matches!(v[1], Val::Open(..))
                    && !matches!(v[0], Val::Open(..));
                let first = (src_fmt == fmt && !second).then(|| self.opened(fmt, v[0]));
                let (s, other, f) = match first.flatten() {
                    Some(s) => (s, v[1], fmt),
                    None if op == FloatOp::Add => (self.opened(fmt, v[1])?, v[0], src_fmt),
                    None => return None,
                };
                let mut x = self.real(other, f);
                if op == FloatOp::Sub {
                    x = self.store.neg(x);
                }
                (s, x, self.one())
            }
        };
        Some(Val::Open(fmt, self.extend(sum, x, y)?))
    }
}

impl Core<'_> {
    /// The lanes in which `dst = a * b + c` was executed: those where `c` is an open sum of the
    /// format and the factors are reals of it.
    pub(super) fn accumulate_lanes(
        &mut self,
        w: usize,
        exec: u32,
        fmt: Fmt,
        dst: RegId,
        src: &[Src; 3],
    ) -> u32 {
        let [Src::Reg(a), Src::Reg(b), Src::Reg(c)] = *src else {
            return 0;
        };
        let warp = &self.threads.warps[w];
        let candidates = exec & warp.symbolic(a) & warp.symbolic(b) & warp.symbolic(c);
        if candidates == 0 {
            return 0;
        }
        let (real, open) = (real_head(fmt), open_head(fmt));
        for r in [a, b] {
            let words = self.threads.warps[w].words(r);
            if !alike(words, candidates, real) {
                self.settle(w, candidates, r, fmt);
            }
        }
        let warp = &self.threads.warps[w];
        let (a, b, c) = (warp.words(a), warp.words(b), warp.words(c));
        let mut out = [0; LANES];
        if alike(a, candidates, real)
            && alike(b, candidates, real)
            && alike(c, candidates, open)
            && let Some(sum) = self
                .values
                .extend_together(SumKind::Real, candidates, c, a, b)
        {
            let first = open_word(open, sum);
            for (lane, word) in out.iter_mut().enumerate() {
                *word = of_lane(first, lane);
            }
            self.threads.warps[w].set_symbolic(dst, candidates, &out);
            return candidates;
        }
        let mut done = 0;
        for lane in lanes(candidates) {
            let (x, y, s) = (a[lane], b[lane], c[lane]);
            if x >> 48 != real || y >> 48 != real || s >> 48 != open {
                continue;
            }
            if let Some(sum) = self.values.extend_words(s, x as u32, y as u32) {
                out[lane] = open_word(open, sum);
                done |= 1 << lane;
            }
        }
        self.threads.warps[w].set_symbolic(dst, done, &out);
        done
    }

    /// Turns input elements that a register holds as bits into the numbers that they are, so that
    /// this is done once and not at each use.
    fn settle(&mut self, w: usize, among: u32, r: RegId, fmt: Fmt) {
        for lane in lanes(among) {
            let v = self.threads.warps[w].get(r, lane);
            if let Some(v) = self.values.element(fmt, v) {
                self.threads.warps[w].set(r, lane, v);
            }
        }
    }
}

impl Values {
    /// The sum of bits that an integer addition extends; `None` if its addend is not an accumulator.
    ///
    /// match `x * y + c`, `p + c` and the dot product of packed bytes with c a sum; result c with the
    /// products; because PTX has these modulo 2^width, as the sum is. The extensions of factors to
    /// twice the width are those of the operation.
    ///
    /// Values that choose among few are left alone: such sums are counts, and stay choices.
    pub fn grown_bits(&mut self, op: IntOp, ty: IntTy, v: [Val; 4]) -> Option<Val> {
        let width = match op {
            IntOp::MadWide => ty.width.checked_mul(2)?,
            _ => ty.width,
        };
        if !matches!(width, 32 | 64) {
            return None;
        }
        let [a, b, c, _] = v;
        let (sum, x, y) = match op {
            IntOp::MadLo | IntOp::MadWide => {
                let sum = self.opened_bits(width, c)?;
                let (x, y) = (self.factor(a, ty.width)?, self.factor(b, ty.width)?);
                match width == ty.width {
                    true => (sum, x, y),
                    false => {
                        let (x, y) = (
                            self.extended(x, ty.signed, width),
                            self.extended(y, ty.signed, width),
                        );
                        (sum, x, y)
                    }
                }
            }
            IntOp::Add => {
                let open = |v: Val| matches!(v, Val::Sum(..));
                let (sum, p) = match (open(a), open(b)) {
                    // Two sums that both grew are a sum of two terms, the same in either order.
                    (true, true) => return None,
                    (false, true) => (self.opened_bits(width, b)?, a),
                    (true, false) => (self.opened_bits(width, a)?, b),
                    (false, false) => match self.opened_bits(width, a) {
                        Some(sum) => (sum, b),
                        None => (self.opened_bits(width, b)?, a),
                    },
                };
                let p = self.factor(p, width)?;
                let (x, y) = match self.store.get(p) {
                    Term::BitsOp(BitsOp::Mul, x, y) => (x, y),
                    _ => (p, self.bits_one(width)),
                };
                (sum, x, y)
            }
            IntOp::Dp4a(sa, sb) => return self.packed_dot((sa, sb), v),
            _ => return None,
        };
        let sum = self.append_as(SumKind::Bits(width), sum, x, y)?;
        Some(Val::Sum(width, sum))
    }

    /// The factors of the lanes of a mask that hold products, as lane words; those of others are 0.
    fn products_of(&self, terms: &[u64; LANES], mask: u32) -> ([u64; LANES], [u64; LANES]) {
        let (mut x, mut y) = ([0; LANES], [0; LANES]);
        for lane in lanes(mask).filter(|&lane| terms[lane] >> 48 == BITS_HEAD) {
            let t = TermId(terms[lane] as u32);
            if let Term::BitsOp(BitsOp::Mul, a, b) = self.store.get(t) {
                x[lane] = Val::Bits(a).pack().0;
                y[lane] = Val::Bits(b).pack().0;
            }
        }
        (x, y)
    }

    /// A product of two values that depend on data and choose among nothing: what the general way
    /// makes of it.
    pub fn plain_product(&mut self, op: IntOp, ty: IntTy, v: [Val; 4]) -> Option<Val> {
        let (Val::Bits(a), Val::Bits(b)) = (v[0], v[1]) else {
            return None;
        };
        let plain = |t| self.store.is_plain_bits(t, ty.width) && !self.may_choose(t);
        if !plain(a) || !plain(b) {
            return None;
        }
        let (x, y) = match op {
            IntOp::MulLo => (a, b),
            IntOp::MulWide if matches!(ty.width, 16 | 32) => {
                let wide = 2 * ty.width;
                let x = self.extended(a, ty.signed, wide);
                (x, self.extended(b, ty.signed, wide))
            }
            _ => return None,
        };
        let t = self.store.bits_op(BitsOp::Mul, x, y);
        Some(self.of_bits(t))
    }

    /// A factor of an integer product that is no constant and chooses among nothing.
    fn factor(&mut self, v: Val, width: u8) -> Option<TermId> {
        match v {
            Val::Bits(t) if self.store.is_plain_bits(t, width) => Some(t),
            _ => None,
        }
    }
}

impl Core<'_> {
    /// The lanes in which `dst = a * b + c`, or `dst = a + b` with one of the two a product, was
    /// executed on integers: those where the addend is an open sum and the factors are bits of its
    /// width.
    pub(super) fn accumulate_bits(
        &mut self,
        (w, exec): (usize, u32),
        op: IntOp,
        width: u8,
        dst: RegId,
        src: &[Src; 4],
    ) -> u32 {
        let open = sum_head(width);
        let (sums, x, y, candidates) = match (op, src) {
            (IntOp::MadLo, &[Src::Reg(a), Src::Reg(b), Src::Reg(c), _]) => {
                let warp = &self.threads.warps[w];
                let mask = exec & warp.symbolic(a) & warp.symbolic(b) & warp.symbolic(c);
                let [a, b, c] = [a, b, c].map(|r| *warp.words(r));
                (c, a, b, mask)
            }
            (IntOp::Add, &[Src::Reg(a), Src::Reg(b), ..]) => {
                let warp = &self.threads.warps[w];
                let mask = exec & warp.symbolic(a) & warp.symbolic(b);
                let [a, b] = [a, b].map(|r| *warp.words(r));
                let one = lanes(mask).next();
                let first = one.is_some_and(|lane| a[lane] >> 48 == open);
                let (sums, terms) = if first { (a, b) } else { (b, a) };
                let (x, y) = self.values.products_of(&terms, mask);
                (sums, x, y, mask)
            }
            _ => return 0,
        };
        if candidates == 0 {
            return 0;
        }
        let mut out = [0; LANES];
        let alike = alike(&x, candidates, BITS_HEAD)
            && alike(&y, candidates, BITS_HEAD)
            && alike(&sums, candidates, open);
        let kind = SumKind::Bits(width);
        if alike && let Some(sum) = self.values.extend_together(kind, candidates, &sums, &x, &y) {
            let first = open_word(open, sum);
            for (lane, word) in out.iter_mut().enumerate() {
                *word = of_lane(first, lane);
            }
            self.threads.warps[w].set_symbolic(dst, candidates, &out);
            return candidates;
        }
        let mut done = 0;
        for lane in lanes(candidates) {
            let (x, y, s) = (x[lane], y[lane], sums[lane]);
            if x >> 48 != BITS_HEAD || y >> 48 != BITS_HEAD || s >> 48 != open {
                continue;
            }
            let (x, y) = (TermId(x as u32), TermId(y as u32));
            if let Some(sum) = self.values.append_as(kind, open_sum(s), x, y) {
                out[lane] = open_word(open, sum);
                done |= 1 << lane;
            }
        }
        self.threads.warps[w].set_symbolic(dst, done, &out);
        done
    }
}
