//! Warp collectives whose operands are plain bits in all lanes that meet.
//!
//! The problem: the general forms read every lane at its own instruction and make a truth term for each vote and for each pair
//! of a match. Where all lanes meet at one instruction with plain operands, what they exchange is a function of words.
//!
//! Not claimed: lanes that stand at different instructions, that ask a lane which takes no part, or whose registers carry
//! addresses: these are left to the general forms, which give the same.

use crate::kernel::{AtomOp, FloatOp, IntOp, NumTy, Op, Pc, RegId, ShflMode, Src, VoteMode};

use super::collective::source_lane;
use super::int;
use super::machine::{Core, Threads};
use super::val::Val;
use super::warp::{LANES, lanes};

impl Threads {
    /// The words of an operand, if they are plain bits in the lanes and no addresses.
    fn plain_words(&self, w: usize, members: u32, s: Src) -> Option<[u64; LANES]> {
        match s {
            Src::Reg(r) => {
                let warp = &self.warps[w];
                let other = warp.symbolic(r) | warp.carried(r);
                (other & members == 0).then(|| *warp.words(r))
            }
            Src::Imm(v) => Some([v; LANES]),
            Src::Global(..) | Src::Var(..) => None,
        }
    }

    fn match_known(
        &mut self,
        w: usize,
        members: u32,
        (all, width): (bool, u8),
        (dst, p): (RegId, Option<RegId>),
        a: Src,
    ) -> Option<()> {
        let given = self.plain_words(w, members, a)?;
        let given = given.map(|v| v & int::mask(width));
        let mut masks = [0; LANES];
        for i in lanes(members) {
            for j in lanes(members) {
                masks[i] |= u64::from(given[i] == given[j]) << j;
            }
        }
        let same = masks.map(|m| u64::from(m == u64::from(members)));
        let words = match all {
            true => same.map(|s| s * u64::from(members)),
            false => masks,
        };
        self.warps[w].set_words(dst, members, &words);
        if let Some(p) = p {
            self.warps[w].set_words(p, members, &same);
        }
        Some(())
    }
}

impl Core<'_> {
    /// Exchanges what lanes that stand at `pc` give each other; false if it is left to the general form.
    pub(super) fn exchange_known(&mut self, w: usize, members: u32, pc: Pc, op: &Op) -> bool {
        let here = |l: usize| self.threads.warps[w].pc[l] == pc.0;
        if self.values.omits || !lanes(members).all(here) {
            return false;
        }
        let done = match op {
            Op::Shfl {
                mode,
                dst,
                p,
                a,
                b,
                c,
                ..
            } => self.shuffle_known(w, members, *mode, (*dst, *p), [*a, *b, *c]),
            Op::Vote { mode, dst, a, .. } => {
                let warp = &self.threads.warps[w];
                let plain = warp.symbolic(a.reg) & members == 0;
                let yes = warp.holds(*a) & members;
                let result = match mode {
                    VoteMode::Ballot => u64::from(yes),
                    VoteMode::All => u64::from(yes == members),
                    VoteMode::Any => u64::from(yes != 0),
                    VoteMode::Uni => u64::from(yes == members || yes == 0),
                };
                plain.then(|| self.threads.warps[w].set_words(*dst, members, &[result; LANES]))
            }
            Op::Match {
                all,
                width,
                dst,
                p,
                a,
                ..
            } => self
                .threads
                .match_known(w, members, (*all, *width), (*dst, *p), *a),
            Op::Redux {
                op,
                ty,
                abs,
                nan,
                dst,
                a,
                ..
            } => self.reduce_known(w, members, (*op, *ty, [*abs, *nan]), *dst, *a),
            _ => None,
        };
        done.is_some()
    }

    fn shuffle_known(
        &mut self,
        w: usize,
        members: u32,
        mode: ShflMode,
        (dst, p): (RegId, Option<RegId>),
        operands: [Src; 3],
    ) -> Option<()> {
        let [a, b, c] = operands.map(|s| self.threads.plain_words(w, members, s));
        let (a, b, c) = (a?, b?, c?);
        let keep = int::mask(self.width(dst));
        let (mut words, mut inside) = ([0; LANES], [0; LANES]);
        for lane in lanes(members) {
            let (j, ok) = source_lane(mode, lane as u32, b[lane] as u32, c[lane] as u32);
            if members >> j & 1 == 0 {
                return None;
            }
            words[lane] = a[j as usize] & keep;
            inside[lane] = u64::from(ok);
        }
        self.threads.warps[w].set_words(dst, members, &words);
        if let Some(p) = p {
            self.threads.warps[w].set_words(p, members, &inside);
        }
        Some(())
    }

    fn reduce_known(
        &mut self,
        w: usize,
        members: u32,
        (op, ty, how): (AtomOp, NumTy, [bool; 2]),
        dst: RegId,
        a: Src,
    ) -> Option<()> {
        let given = self.threads.plain_words(w, members, a)?;
        let mut all = lanes(members).map(|l| given[l]);
        let first = all.next()?;
        let result = match ty {
            NumTy::Int(t) => {
                let op = combining(op);
                all.fold(first, |x, y| int::eval(op, t, [x, y, 0, 0]).0)
            }
            NumTy::Float(f) => {
                let op = match op {
                    AtomOp::Min => FloatOp::Min,
                    _ => FloatOp::Max,
                };
                let both = |x, y| {
                    let pair = [Val::Conc(x), Val::Conc(y)];
                    self.values.lane_extremum(op, f, how, pair)?.known()
                };
                // One lane alone is compared with itself, which takes its magnitude.
                let first = both(first, first)?;
                all.try_fold(first, both)?
            }
        };
        self.threads.warps[w].set_words(dst, members, &[result; LANES]);
        Some(())
    }
}

/// The arithmetic that a reduction of integers repeats.
pub(super) fn combining(op: AtomOp) -> IntOp {
    match op {
        AtomOp::Add => IntOp::Add,
        AtomOp::Min => IntOp::Min,
        AtomOp::Max => IntOp::Max,
        AtomOp::And => IntOp::And,
        AtomOp::Or => IntOp::Or,
        _ => IntOp::Xor,
    }
}
