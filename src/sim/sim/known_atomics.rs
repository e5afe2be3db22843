//! Atomics of a warp on numbers, at known places of one object.
//!
//! The problem: the general form makes a target for each lane, and asks of each of them what terms, addresses in memory and
//! conditions would need. In a run on numbers nearly all atomics add a known number to a known place; here the places are
//! found for the warp at once, and each lane's update is one of words.
//!
//! Not claimed: exchanges, which may pass on addresses; lanes in a drawn order; packed numbers. What is left out here
//! takes the general form, which gives the same.

use crate::kernel::{AtomOp, Fmt, NumTy, Op, Pc, Src};
use crate::sim::at::At;
use crate::sim::order::Batch;
use crate::spec::Role;

use super::float::flush;
use super::machine::{Machine, Threads};
use super::memory::RegionKind;
use super::race::AccessKind;
use super::region::SHARED;
use super::step::Under;
use super::stop::Stop;
use super::val::Val;
use super::warp::{LANES, lanes};

impl Threads {
    /// True of an operand that is plain bits in the lanes, and no address.
    fn are_numbers(&self, w: usize, exec: u32, s: Src) -> bool {
        match s {
            Src::Reg(r) => {
                let warp = &self.warps[w];
                (warp.symbolic(r) | warp.carried(r)) & exec == 0
            }
            Src::Imm(_) => true,
            Src::Global(..) | Src::Var(..) => false,
        }
    }
}

impl Machine<'_> {
    /// Carries out an atomic in the lanes `exec`; false if it is left to the general form.
    pub(super) fn atomic_known(
        &mut self,
        (w, exec, pc): (usize, u32, Pc),
        kind: AccessKind,
        under: &Under,
    ) -> Result<bool, Stop> {
        let Op::Atom {
            access,
            op,
            lanes: 1,
            dsts,
            addr,
            srcs,
            cas,
        } = &self.core.inst(pc).op
        else {
            return Ok(false);
        };
        let ([src], true) = (
            &srcs[..],
            self.core.values.numbers && self.core.values.words.is_none(),
        ) else {
            return Ok(false);
        };
        let elem = access.ty.bits() / 8;
        let followed =
            self.sync.strong.on || self.sync.fences.present || self.core.threads.rng.is_some();
        let open = under.mask != 0 || followed || *op == AtomOp::Exch || !matches!(elem, 4 | 8);
        if open
            || !self.core.threads.are_numbers(w, exec, *src)
            || !cas.is_none_or(|c| self.core.threads.are_numbers(w, exec, c))
        {
            return Ok(false);
        }
        let mut offs = [0; LANES];
        let Some(landing) = self
            .core
            .uniform((w, exec), access.space, *addr, elem, &mut offs)
        else {
            return Ok(false);
        };
        let region = landing.region;
        let r = &self.core.memory.regions[region.0 as usize];
        let is_input = match r.kind {
            RegionKind::Array(a) => self.core.fixed.arrays[a].role == Some(Role::In),
            RegionKind::Shared | RegionKind::Local | RegionKind::Param => false,
        };
        if r.has_carried() || r.keeps || r.read_only || is_input {
            return Ok(false);
        }
        let batch = Batch::of(region, &offs, (elem, 1), kind);
        self.order_batch(At { w, exec, pc }, &batch)?;
        let (given, compared) = (self.core.words(w, *src), cas.map(|c| self.core.words(w, c)));
        // A sum of singles outside of shared memory flushes subnormal numbers.
        let flushes = (*op, access.ty) == (AtomOp::Add, NumTy::Float(Fmt::F32)) && region != SHARED;
        let flushed = |v| if flushes { flush(v) } else { v };
        for lane in lanes(exec) {
            let old = self
                .core
                .load_value((w, lane, pc), region, offs[lane], access.ty);
            let b = Val::Conc(given[lane]);
            let c = compared.map(|c| Val::Conc(c[lane]));
            let what = (*op, access.ty, 1);
            let new = self
                .core
                .atomic_value((w, lane, pc), what, flushed(old), flushed(b), c)?;
            let new = flushed(new);
            self.core.threads.effects += u64::from(new != old);
            self.core.memory.regions[region.0 as usize].store(
                &mut self.core.values,
                offs[lane],
                elem,
                new,
            );
            if let [d] = dsts[..] {
                self.core.atomic_result(w, lane, d, old, access.ty);
            }
        }
        Ok(true)
    }
}
