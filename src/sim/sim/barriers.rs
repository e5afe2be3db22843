//! Barrier instructions of the machine: operands in, lanes blocked and woken, misuse and deadlock
//! told in words.

use crate::kernel::{BarKind, Op, Pc, Src};
use crate::term::{BitsOp, TermId};

use super::at::site;
use super::barrier::{ArrivalSite, Arrive, Form, Misuse, Wake};
use super::machine::{Core, Machine, Synchronisation};
use super::stop::Stop;
use super::val::Val;
use super::warp::lanes;
use super::{DefectKind, Site, UnknownKind, WarningKind};

impl Synchronisation {
    /// True if a deadlock hangs on a question that the manual leaves open.
    pub(super) fn deadlock_is_unclear(&self) -> bool {
        let clocks = &self.order.clocks;
        let mut blocked = self.barriers.iter().flat_map(|b| b.blocked(clocks));
        blocked.any(|b| b.unclear)
    }
}

impl Core<'_> {
    fn barrier_operands(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        id: Src,
        count: Option<Src>,
    ) -> Result<(u32, Option<u32>), Stop> {
        let mut known = |s: Src| {
            let v = self.src(w, s, lane);
            match self.values.of_bits_plain(v, 32) {
                Val::Conc(b) => Ok(b as u32),
                v => {
                    self.data_dependent_branch(w, 1 << lane, pc, v);
                    Err(Stop::Finding)
                }
            }
        };
        let id = known(id)?;
        Ok((id, count.map(known).transpose()?))
    }

    pub(super) fn unaligned(
        &mut self,
        w: usize,
        here: u32,
        elsewhere: u32,
        pc: Pc,
    ) -> Result<(), Stop> {
        let mut sites = vec![site(pc, w, here, "execute the barrier")];
        let mut rest = elsewhere;
        while rest != 0 {
            let at = self.threads.warps[w].pc[rest.trailing_zeros() as usize];
            let mut same = 0u32;
            for l in lanes(rest) {
                same |= ((self.threads.warps[w].pc[l] == at) as u32) << l;
            }
            rest &= !same;
            sites.push(site(Pc(at), w, same, "are here instead"));
        }
        self.defect(DefectKind::BarrierMisuse, sites, || {
            "an aligned barrier is executed by a part of a warp only: all its lanes must \
             execute it together"
                .into()
        });
        Err(Stop::Finding)
    }

    fn misused(&mut self, m: Misuse) -> Result<(), Stop> {
        let place = |p: &ArrivalSite| site(p.pc, p.warp as usize, p.mask, "arrives");
        let mut sites: Vec<Site> = m.earlier.iter().map(place).collect();
        sites.push(place(&m.later));
        let text = format!("barrier {}: {}", m.barrier, m.kind);
        if m.kind.certain() {
            self.defect(DefectKind::BarrierMisuse, sites, || text);
        } else {
            self.found.unknown(UnknownKind::Undefined, sites, || text);
        }
        Err(Stop::Finding)
    }

    /// What a blocked lane waits for.
    pub(super) fn barrier_wait(&self, pc: Pc) -> String {
        match &self.inst(pc).op {
            Op::Bar {
                id: Src::Imm(id), ..
            } => format!("waits at barrier {id}"),
            Op::Bar { .. } => "waits at a barrier".into(),
            _ => "waits".into(),
        }
    }
}

impl Machine<'_> {
    /// Lanes `exec` execute the barrier instruction at `pc`.
    pub(super) fn barrier(&mut self, w: usize, exec: u32, pc: Pc) -> Result<(), Stop> {
        let Op::Bar {
            kind,
            id,
            count,
            aligned,
        } = self.core.inst(pc).op.clone()
        else {
            return Ok(());
        };
        let form = match kind {
            BarKind::Sync => Form::Sync,
            BarKind::Arrive => Form::Arrive,
            BarKind::RedPopc { .. } => Form::Popc,
            BarKind::RedBool { all: true, .. } => Form::And,
            BarKind::RedBool { all: false, .. } => Form::Or,
        };
        self.core.threads.stats.barrier_arrivals += exec.count_ones() as u64;
        let elsewhere = self.core.threads.warps[w].live & !exec;
        if aligned && elsewhere != 0 {
            return self.core.unaligned(w, exec, elsewhere, pc);
        }
        if let BarKind::RedPopc { src, .. } | BarKind::RedBool { src, .. } = kind {
            self.core.values.note_unset(w, pc);
            for lane in lanes(exec) {
                let v = self.core.truth(w, src, lane);
                let t = self.core.values.pred(v);
                self.sync.votes.push((w, lane, t));
            }
        }
        // Lanes of one warp may name different barriers where the operand is a register.
        let mut rest = exec;
        let mut wake = Vec::new();
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            let ops = self.core.barrier_operands(w, lane, pc, id, count)?;
            let mut mask = 0u32;
            for l in lanes(rest) {
                if self.core.barrier_operands(w, l, pc, id, count)? == ops {
                    mask |= 1 << l;
                }
            }
            rest &= !mask;
            self.core.threads.warps[w].blocked |= mask;
            let arrive = Arrive {
                warp: w as u32,
                mask,
                pc,
                id: ops.0,
                count: ops.1,
                form,
                aligned,
                trues: 0,
            };
            let clocks = &mut self.sync.order.clocks;
            let own = &mut self.sync.barriers[self.core.fixed.team.number(w)];
            if let Err(m) = own.arrive(&arrive, clocks, &mut wake) {
                return self.core.misused(m);
            }
        }
        self.wake(wake)
    }

    /// Lets lanes go on behind their barrier.
    fn wake(&mut self, wake: Vec<Wake>) -> Result<(), Stop> {
        let mut result: Option<Val> = None;
        for k in &wake {
            let w = k.warp as usize;
            if k.red.is_some() {
                let pc = Pc(self.core.threads.warps[w].pc[k.mask.trailing_zeros() as usize]);
                let v = match result {
                    Some(v) => v,
                    None => self.reduce_votes(&wake, pc),
                };
                result = Some(v);
                for lane in lanes(k.mask) {
                    let pc = Pc(self.core.threads.warps[w].pc[lane]);
                    if let Op::Bar {
                        kind: BarKind::RedPopc { dst, .. } | BarKind::RedBool { dst, .. },
                        ..
                    } = self.core.inst(pc).op
                    {
                        self.core.set(w, dst, lane, v);
                    }
                }
            }
            for lane in lanes(k.mask) {
                self.core.threads.warps[w].pc[lane] += 1;
            }
            self.core.threads.warps[w].blocked &= !k.mask;
        }
        Ok(())
    }

    /// The reduction over the predicates of the lanes that a completed barrier wakes.
    fn reduce_votes(&mut self, wake: &[Wake], pc: Pc) -> Val {
        let mut terms: Vec<TermId> = Vec::new();
        self.sync.votes.retain(|(w, lane, t)| {
            let here = wake
                .iter()
                .any(|k| k.warp as usize == *w && k.mask >> lane & 1 == 1);
            if here {
                terms.push(*t);
            }
            !here
        });
        let s = &mut self.core.values.store;
        match self.core.fixed.kernel.insts[pc.0 as usize].op {
            Op::Bar {
                kind: BarKind::RedBool { all, .. },
                ..
            } => {
                let mut acc = s.bool(all);
                for t in terms {
                    acc = if all { s.and(acc, t) } else { s.or(acc, t) };
                }
                self.core.values.of_pred(acc)
            }
            _ => {
                let mut acc = s.bits(32, 0);
                for t in terms {
                    let one = s.of_bool(32, t);
                    acc = s.bits_op(BitsOp::Add, acc, one);
                }
                self.core.values.of_bits(acc)
            }
        }
    }

    /// Lanes have exited: barriers that waited only for them let the others go.
    pub(super) fn exit_barriers(&mut self, w: usize) -> Result<(), Stop> {
        let mut wake = Vec::new();
        let clocks = &mut self.sync.order.clocks;
        let own = &mut self.sync.barriers[self.core.fixed.team.number(w)];
        if let Err(m) = own.exit(w as u32, clocks, &mut wake) {
            return self.core.misused(m);
        }
        self.wake(wake)
    }

    /// All threads have exited: arrivals that no warp waited for. They block no thread and are read by none, so that no
    /// schedule differs by them; that another schedule counts them is a finding of its own.
    pub(super) fn pending_barriers(&mut self) {
        let pending: Vec<_> = self
            .sync
            .barriers
            .iter()
            .flat_map(|b| b.pending())
            .collect();
        for (id, p) in pending {
            let site = site(
                p.pc,
                p.warp as usize,
                p.mask,
                format!("arrives at barrier {id}"),
            );
            self.core.found.warn(WarningKind::PendingArrival, vec![site], || {
                format!(
                    "barrier {id}: a warp arrives, and the CTA ends before any warp waits for it: the last turn hands on to none"
                )
            });
        }
    }

    /// For each barrier with threads blocked: who is missing and where those are.
    pub(super) fn barrier_absentees(&self) -> Vec<String> {
        let mut out = Vec::new();
        let clocks = &self.sync.order.clocks;
        for b in self.sync.barriers.iter().flat_map(|b| b.blocked(clocks)) {
            let arrived: u32 = b.arrived.iter().map(|p| p.mask.count_ones()).sum();
            let mut missing = Vec::new();
            for (w, m) in b.missing.iter().enumerate() {
                missing.extend(lanes(*m).map(|l| self.core.fixed.team.first(w) + l as u32));
            }
            let who = ranges(&missing);
            let rest = if missing.is_empty() {
                "nobody is left to arrive".to_string()
            } else {
                format!("threads {who} have not arrived")
            };
            out.push(format!(
                "barrier {} waits for {} threads, {arrived} have arrived, {rest}",
                b.barrier, b.expected
            ));
        }
        out
    }
}

/// Ascending numbers as ranges: `0-31, 40`.
fn ranges(list: &[u32]) -> String {
    let mut out = String::new();
    let mut i = 0;
    while i < list.len() {
        let mut j = i;
        while j + 1 < list.len() && list[j + 1] == list[j] + 1 {
            j += 1;
        }
        if !out.is_empty() {
            out.push_str(", ");
        }
        if i == j {
            out.push_str(&list[i].to_string());
        } else {
            out.push_str(&format!("{}-{}", list[i], list[j]));
        }
        i = j + 1;
    }
    out
}
