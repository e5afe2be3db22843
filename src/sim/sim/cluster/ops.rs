//! `mapa`, `getctarank`, and where the other operations of a cluster go.

use crate::kernel::{ClusterOp, Pc, Space, Src};

use super::super::DefectKind;
use super::super::address::provenance::Prov;
use super::super::at::site;
use super::super::machine::{Core, Machine};
use super::super::step::Flow;
use super::super::stop::Stop;
use super::super::val::Val;
use super::super::warp::lanes;
use super::{SLOT_BITS, split};

/// Ranks below this one stand in an address; no cluster has more CTAs.
const FEW: u32 = 1 << (31 - SLOT_BITS);

impl Core<'_> {
    /// The number of an address of shared memory, in its own window or as a generic one, and what it carries.
    fn shared_number(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        s: Src,
    ) -> Result<(u64, Prov), Stop> {
        let p = self.src_prov(w, s, lane);
        let v = self.src(w, s, lane);
        match self.values.of_bits_plain(v, 64) {
            Val::Conc(at) => Ok((at, p)),
            v => {
                self.data_dependent_address(w, 1 << lane, pc, v);
                Err(Stop::Finding)
            }
        }
    }

    /// The offset in the region of shared memory of an address in the window of a cluster.
    pub(crate) fn place_in_cluster(
        &mut self,
        (w, lane, pc, space): (usize, usize, Pc, Space),
        certain: bool,
        at: i64,
    ) -> Result<i64, Stop> {
        let found = self.fixed.team.place(w, at);
        let own = self.fixed.team.own_slot(w);
        if let Some((slot, rest)) = found
            && (space != Space::Shared || slot == own)
        {
            return Ok(slot + rest);
        }
        let site = site(pc, w, 1 << lane, "accesses it");
        let message = match found {
            Some(_) => "an address in the shared memory of another CTA is accessed as .shared::cta",
            None => "an address of shared memory names no CTA of the cluster",
        };
        self.nowhere(site, certain, message.into())
    }

    /// The rank of a CTA of the cluster.
    fn rank_operand(&mut self, w: usize, lane: usize, pc: Pc, s: Src) -> Result<u32, Stop> {
        let v = self.src(w, s, lane);
        let rank = match self.values.of_bits_plain(v, 32) {
            Val::Conc(n) => n as u32,
            v => {
                self.data_dependent_address(w, 1 << lane, pc, v);
                return Err(Stop::Finding);
            }
        };
        // An address in a CTA that the cluster has not is wrong only where it is used: lanes that do not use theirs map
        // to such ranks.
        if rank >= FEW {
            let size = self.fixed.team.size();
            let site = site(pc, w, 1 << lane, format!("names the CTA of rank {rank}"));
            self.defect(DefectKind::OutOfBounds, vec![site], || {
                format!("the cluster has {size} CTAs, none of rank {rank}")
            });
            return Err(Stop::Finding);
        }
        Ok(rank)
    }
}

impl Machine<'_> {
    /// An operation among the CTAs of a cluster.
    pub(crate) fn cluster_op(
        &mut self,
        w: usize,
        exec: u32,
        pc: Pc,
        op: &ClusterOp,
    ) -> Result<Flow, Stop> {
        match op {
            ClusterOp::Arrive { .. } | ClusterOp::Wait { .. } => {
                return self.cluster_barrier(w, exec, pc, op);
            }
            ClusterOp::Store(op) => self.remote_store(w, exec, pc, op)?,
            ClusterOp::Cancel { .. } => self.cancel_launch(w, exec, pc, op)?,
            ClusterOp::IsCancelled { dst, from } => {
                for lane in lanes(exec) {
                    let response = self.response(w, lane, pc, *from)?;
                    let v = Val::Conc(u64::from(response.first.is_some()));
                    self.core.set(w, *dst, lane, v);
                }
            }
            ClusterOp::FirstCta {
                dst,
                from,
                dimension,
            } => {
                for lane in lanes(exec) {
                    let v = self.first_cancelled((w, lane, pc), *from, *dimension)?;
                    self.core.set(w, *dst, lane, v);
                }
            }
            ClusterOp::Map { dst, from, rank } => {
                for lane in lanes(exec) {
                    let (at, p) = self.core.shared_number(w, lane, pc, *from)?;
                    let rank = self.core.rank_operand(w, lane, pc, *rank)?;
                    let (_, rest) = split(at as u32 as i32 as i64);
                    let number = (at & !0xffff_ffff)
                        .wrapping_add_signed(rest)
                        .wrapping_add(u64::from(rank) << SLOT_BITS);
                    self.core.set(w, *dst, lane, Val::Conc(number));
                    self.core.set_prov(w, *dst, 1 << lane, p);
                }
            }
            ClusterOp::Rank { dst, from } => {
                for lane in lanes(exec) {
                    let (at, _) = self.core.shared_number(w, lane, pc, *from)?;
                    let (rank, _) = split(at as u32 as i32 as i64);
                    self.core.set(w, *dst, lane, Val::Conc(rank as u64));
                }
            }
        }
        Ok(Flow::Next)
    }
}
