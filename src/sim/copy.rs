//! Asynchronous copies from global to shared memory.
//!
//! A copy is an agent of its own: it forks from its issuer when it is issued, its reads and writes
//! are checked then, and it joins the issuer where that waits for it. Whatever touches the
//! destination, or writes the source, in between conflicts with it. Completion is visible to the
//! issuing thread only; others need a barrier after its wait.
//!
//! Source: PTX ISA 9.0, section 9.7.9.25.3; `cp.async` is a weak access of the generic proxy.

use crate::kernel::{IntTy, NumTy, Op, Pc, Space};

use super::UnknownKind;
use super::clock::Actor;
use super::machine::{Machine, Stop};
use super::race::Kind;
use super::step::Under;
use super::value::Val;
use super::warp::{LANES, lanes};

/// Copies that one instruction of a warp issued and that are not waited for yet.
#[derive(Clone, Copy, Debug)]
struct Issued {
    agents: Actor,
    mask: u32,
    /// Number of groups that the lanes had committed before.
    group: u32,
}

/// The copies of a warp that are under way.
#[derive(Clone, Debug)]
pub struct Copies {
    issued: Vec<Issued>,
    committed: [u32; LANES],
}

impl Copies {
    /// The blocks of agents that a lane issued and did not wait for.
    pub fn under_way(&self, lane: usize) -> Vec<Actor> {
        let mine = self.issued.iter().filter(|i| i.mask >> lane & 1 == 1);
        mine.map(|i| i.agents).collect()
    }
}

impl Default for Copies {
    fn default() -> Self {
        Copies {
            issued: Vec::new(),
            committed: [0; LANES],
        }
    }
}

impl Machine<'_> {
    /// `cp.async`.
    pub fn copy_async(&mut self, w: usize, exec: u32, pc: Pc, under: &Under) -> Result<(), Stop> {
        let Op::CpAsync {
            bytes,
            read,
            ignore,
            to,
            from,
        } = &self.inst(pc).op
        else {
            return Ok(());
        };
        if under.mask != 0 {
            let site = self.site(pc, w, under.mask, "copies only if input data says so");
            self.unknown(UnknownKind::DataDependentBranch, vec![site], || {
                "an asynchronous copy is guarded by input data".into()
            });
            return Err(Stop::Finding);
        }
        let size = *bytes as u32;
        // How many bytes each lane reads; lanes that read alike go together.
        let mut sizes = [0u32; LANES];
        for lane in lanes(exec) {
            let v = match (read, ignore) {
                (Some(s), _) => {
                    let v = self.src(w, *s, lane);
                    self.values.of_bits_plain(v, 32)
                }
                (None, Some(g)) => match self.truth(w, *g, lane) {
                    Val::Conc(b) => Val::Conc(if b == 1 { 0 } else { size as u64 }),
                    v => v,
                },
                _ => Val::Conc(size as u64),
            };
            match v {
                Val::Conc(n) if n <= size as u64 => sizes[lane] = n as u32,
                Val::Conc(n) => {
                    let site = self.site(pc, w, 1 << lane, format!("reads {n} of {size} bytes"));
                    self.unknown(UnknownKind::Undefined, vec![site], || {
                        "a copy that reads more than it writes is undefined".into()
                    });
                    return Err(Stop::Finding);
                }
                v => {
                    self.data_dependent_address(w, 1 << lane, pc, v);
                    return Err(Stop::Finding);
                }
            }
        }
        let agents = self.order.clocks.fork(w as u32);
        let mut rest = exec;
        while rest != 0 {
            let first = rest.trailing_zeros() as usize;
            let (n, group) = (sizes[first], self.copies[w].committed[first]);
            let mut mask = 0u32;
            for lane in lanes(rest) {
                let same = sizes[lane] == n && self.copies[w].committed[lane] == group;
                mask |= (same as u32) << lane;
            }
            rest &= !mask;
            self.copies[w].issued.push(Issued {
                agents,
                mask,
                group,
            });
            self.order.agent = Some(agents);
            let done = self.copy_lanes(w, mask, pc, size, n, *to, *from);
            self.order.agent = None;
            done?;
        }
        Ok(())
    }

    /// Copies the first `n` of `size` bytes and fills the rest with zeros.
    #[allow(clippy::too_many_arguments)]
    fn copy_lanes(
        &mut self,
        w: usize,
        mask: u32,
        pc: Pc,
        size: u32,
        n: u32,
        to: crate::kernel::Addr,
        from: crate::kernel::Addr,
    ) -> Result<(), Stop> {
        let none = Under::none();
        self.stats.accesses += 2 * mask.count_ones() as u64;
        let mut sources = self.targets(w, mask, pc, Space::Global, from, &none)?;
        let mut dests = self.targets(w, mask, pc, Space::Shared, to, &none)?;
        let wanted = mask.count_ones() as usize;
        if sources.len() != wanted || dests.len() != wanted {
            let site = self.site(pc, w, mask, "copies between selected addresses");
            self.unknown(UnknownKind::DataDependentAddress, vec![site], || {
                "an address of an asynchronous copy depends on input data".into()
            });
            return Err(Stop::Finding);
        }
        if n > 0 {
            self.check(w, pc, &mut sources, n.next_power_of_two(), false);
        }
        self.check(w, pc, &mut dests, size, true);
        if sources.len() != wanted || dests.len() != wanted {
            return Err(Stop::Finding);
        }
        let (unit, count) = if n.is_multiple_of(4) {
            (4, n / 4)
        } else {
            (1, n)
        };
        if n > 0 {
            self.order_accesses(w, pc, &sources, (unit, count), Kind::Read, false)?;
        }
        let conflicts = self.order_accesses(w, pc, &dests, (4, size / 4), Kind::Write, false)?;
        for (_, c) in &conflicts {
            self.add_race(c.otherwise, c);
        }
        let ty = NumTy::Int(IntTy {
            width: (unit * 8) as u8,
            signed: false,
        });
        for (s, d) in sources.iter().zip(&dests) {
            for i in 0..size / unit {
                let v = if i < count {
                    let off = s.off as u64 + (i * unit) as u64;
                    self.load_one(w, s.lane, pc, s.region, off, ty)
                } else {
                    Val::Conc(0)
                };
                let region = &mut self.regions[d.region.0 as usize];
                let off = d.off as u64 + (i * unit) as u64;
                region.store(&mut self.values, off, unit, v);
            }
        }
        Ok(())
    }

    /// `cp.async.commit_group`: closes the open group of each lane.
    pub fn commit_copies(&mut self, w: usize, exec: u32) {
        for lane in lanes(exec) {
            self.copies[w].committed[lane] += 1;
        }
    }

    /// `cp.async.wait_group`: each lane observes its copies, but for those of its `pending` newest
    /// groups.
    pub fn wait_copies(&mut self, w: usize, exec: u32, pending: Option<u32>) {
        let Copies { issued, committed } = &mut self.copies[w];
        let clocks = &mut self.order.clocks;
        issued.retain_mut(|copy| {
            let mut done = 0u32;
            for lane in lanes(copy.mask & exec) {
                let over = match pending {
                    None => true,
                    Some(n) => copy.group + n < committed[lane],
                };
                done |= (over as u32) << lane;
            }
            if done != 0 {
                clocks.join(copy.agents, done);
                copy.mask &= !done;
            }
            copy.mask != 0
        });
    }
}
