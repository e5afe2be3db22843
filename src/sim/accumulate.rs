//! Additions to accumulators: all lanes of a warp at once where each extends an open sum.
//!
//! The problem: the multiply-adds of a matrix product are most of what such a kernel executes,
//! so their common case, a product of two reals added to an open sum ([`super::open`]), goes
//! past the general evaluation of float operations. Lanes that are not that case are left to it.

use crate::kernel::{FloatMods, FloatOp, Fmt, RegId, Src};

use super::machine::Machine;
use super::value::{Val, Values, of_lane, open_head, open_word, real_head};
use super::warp::{LANES, lanes};

/// True for a plain addition, or one with a product.
pub fn accumulates(op: FloatOp, m: &FloatMods) -> bool {
    matches!(op, FloatOp::Add | FloatOp::Sub | FloatOp::Fma)
        && !(m.sat || m.relu || m.abs || m.oob || m.xorsign_abs)
}

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

impl Machine<'_> {
    /// The lanes in which `dst = a * b + c` was executed: those where `c` is an open sum of the
    /// format and the factors are reals of it.
    pub fn accumulate_lanes(
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
        let warp = &self.warps[w];
        let candidates = exec & warp.symbolic(a) & warp.symbolic(b) & warp.symbolic(c);
        if candidates == 0 {
            return 0;
        }
        let (real, open) = (real_head(fmt), open_head(fmt));
        for r in [a, b] {
            let words = self.warps[w].words(r);
            if !alike(words, candidates, real) {
                self.settle(w, candidates, r, fmt);
            }
        }
        let warp = &self.warps[w];
        let (a, b, c) = (warp.words(a), warp.words(b), warp.words(c));
        let mut out = [0; LANES];
        if alike(a, candidates, real)
            && alike(b, candidates, real)
            && alike(c, candidates, open)
            && let Some(sum) = self.values.extend_together(candidates, c, a, b)
        {
            let first = open_word(fmt, sum);
            for (lane, word) in out.iter_mut().enumerate() {
                *word = of_lane(first, lane);
            }
            self.warps[w].set_symbolic(dst, candidates, &out);
            return candidates;
        }
        let mut done = 0;
        for lane in lanes(candidates) {
            let (x, y, s) = (a[lane], b[lane], c[lane]);
            if x >> 48 != real || y >> 48 != real || s >> 48 != open {
                continue;
            }
            if let Some(sum) = self.values.extend_words(s, x as u32, y as u32) {
                out[lane] = open_word(fmt, sum);
                done |= 1 << lane;
            }
        }
        self.warps[w].set_symbolic(dst, done, &out);
        done
    }

    /// Turns input elements that a register holds as bits into the numbers that they are, so that
    /// this is done once and not at each use.
    fn settle(&mut self, w: usize, among: u32, r: RegId, fmt: Fmt) {
        for lane in lanes(among) {
            let v = self.warps[w].get(r, lane);
            if let Some(v) = self.values.element(fmt, v) {
                self.warps[w].set(r, lane, v);
            }
        }
    }
}
