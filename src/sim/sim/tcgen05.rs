//! Operations on tensor memory: `tcgen05` allocations, loads and stores, and where the others go.
//!
//! Source: PTX ISA 9.0, sections 9.7.16.7 (`alloc`) and 9.7.16.8 (`ld`, `st`).
//!
//! Not claimed: what the decoder refuses.

use crate::answer::AssumptionKind;
use crate::kernel::{Addr, Lanes, Pc, Space, Src, TensorOp};
use crate::sim::at::{At, site};

use super::DefectKind;
use super::clock::Actor;
use super::machine::{Core, Machine};
use super::proxy::Through;
use super::race::AccessKind;
use super::step::{Flow, Under};
use super::stop::Stop;
use super::tensor_memory::{COLUMNS, ROWS, Touch};
use super::val::Val;
use super::warp::{LANES, lanes};

/// What a thread issues.
pub(super) struct Issue {
    pub w: usize,
    pub lane: usize,
    pub pc: Pc,
    pub agents: Actor,
}

impl Core<'_> {
    /// A known 32-bit value of a lane.
    pub(super) fn tensor_word(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        s: Src,
    ) -> Result<u64, Stop> {
        let v = self.src(w, s, lane);
        match self.values.of_bits_plain(v, 32) {
            Val::Conc(n) => Ok(n & 0xffff_ffff),
            v => {
                self.data_dependent_address(w, 1 << lane, pc, v);
                Err(Stop::Finding)
            }
        }
    }

    /// A known 32-bit value that all lanes give alike, plus an offset.
    fn same_word(&mut self, w: usize, pc: Pc, s: Src, offset: i64) -> Result<u64, Stop> {
        let first = self.tensor_word(w, 0, pc, s)?;
        for lane in 1..LANES {
            if self.tensor_word(w, lane, pc, s)? != first {
                let name = self.collective_name(pc);
                let site = site(pc, w, 1 | 1 << lane, "is executed");
                self.defect(DefectKind::BarrierMisuse, vec![site], || {
                    format!("the lanes of a warp give different operands of {name}: all must give the same")
                });
                return Err(Stop::Finding);
            }
        }
        Ok(first.wrapping_add_signed(offset) & 0xffff_ffff)
    }
}

impl Machine<'_> {
    /// Executes an operation in the lanes `exec` of a warp.
    pub(super) fn tensor_op(
        &mut self,
        w: usize,
        exec: u32,
        pc: Pc,
        op: &TensorOp,
    ) -> Result<Flow, Stop> {
        self.core.values.note_unset(w, pc);
        match op {
            TensorOp::Alloc { .. } | TensorOp::Dealloc { .. } | TensorOp::Relinquish(_) => {
                return self.tensor_columns(w, pc, op);
            }
            TensorOp::Load { lanes, at, dsts } => {
                let cells = self.tensor_move((w, pc), *lanes, *at, dsts.len(), false)?;
                for (i, (row, column)) in cells.into_iter().enumerate() {
                    let v = self.tensor_cell(w, 1 << (i % LANES), pc, row, column);
                    self.core.set(w, dsts[i / LANES], i % LANES, v);
                }
                let load = self.tasks.tensor.last();
                self.tasks.begin_load(w, pc, load, dsts);
            }
            TensorOp::Store { lanes, at, srcs } => {
                let cells = self.tensor_move((w, pc), *lanes, *at, srcs.len(), true)?;
                for (i, (row, column)) in cells.into_iter().enumerate() {
                    let v = self.core.src(w, srcs[i / LANES], i % LANES);
                    self.tasks.tensor.set(row, column, v);
                }
                if let Some(agents) = self.tasks.tensor.moving[&(w, true)].last().copied() {
                    self.store_labels(w, srcs, agents);
                }
            }
            TensorOp::Wait(store) => {
                if !*store {
                    self.tasks.end_loads(w);
                }
                // All lanes wait together for the operations of all.
                let clocks = &mut self.sync.order.clocks;
                let event = clocks.new_event();
                for who in self
                    .tasks
                    .tensor
                    .moving
                    .remove(&(w, *store))
                    .unwrap_or_default()
                {
                    clocks.join_event(who, u32::MAX, event);
                }
                clocks.observe(event, w as u32, u32::MAX);
            }
            TensorOp::Mma(m) => {
                for lane in lanes(exec) {
                    let agents = self.sync.order.clocks.fork(w as u32);
                    let issue = Issue {
                        w,
                        lane,
                        pc,
                        agents,
                    };
                    self.tensor_product(&issue, m)?;
                }
            }
            TensorOp::Copy {
                to,
                from,
                shape,
                pair,
            } => {
                for lane in lanes(exec) {
                    let agents = self.sync.order.clocks.fork(w as u32);
                    let issue = Issue {
                        w,
                        lane,
                        pc,
                        agents,
                    };
                    self.tensor_copy(&issue, *to, *from, *shape, *pair)?;
                }
            }
            TensorOp::Commit {
                space,
                addr,
                multicast,
            } => {
                for lane in lanes(exec) {
                    self.tensor_commit((w, lane, pc), *space, *addr, *multicast)?;
                }
            }
            TensorOp::Fence(after) => self.tensor_fence(w, exec, *after),
        }
        Ok(Flow::Next)
    }

    /// Operations that allocate columns, give them back, or say that nobody will allocate any more.
    fn tensor_columns(&mut self, w: usize, pc: Pc, op: &TensorOp) -> Result<Flow, Stop> {
        let (TensorOp::Alloc { pair, .. }
        | TensorOp::Dealloc { pair, .. }
        | TensorOp::Relinquish(pair)) = op
        else {
            return Ok(Flow::Next);
        };
        let partner = match pair {
            true => self.tensor_partner(w, pc)?,
            false => None,
        };
        let (mut given, mut columns) = (None, None);
        match op {
            TensorOp::Alloc {
                space,
                addr,
                columns: n,
                ..
            } => {
                let n = self.core.same_word(w, pc, *n, 0)?;
                let agents = pair.then(|| self.sync.order.clocks.fork(w as u32));
                let of_pair = agents.map(|a| (a, self.tasks.tensor_given(partner)));
                let first = self.tensor_alloc(w, pc, n, of_pair)?;
                self.tensor_tell(w, pc, (*space, *addr), first)?;
                (given, columns) = (agents.map(|a| (a, first)), Some(n));
            }
            TensorOp::Dealloc { at, columns: n, .. } => {
                let at = self.core.same_word(w, pc, *at, 0)?;
                let n = self.core.same_word(w, pc, *n, 0)?;
                let peer = match pair {
                    true => self
                        .core
                        .fixed
                        .team
                        .peer(w, self.core.fixed.team.rank(w) ^ 1),
                    false => None,
                };
                self.tensor_free(w, pc, (at, n), peer)?;
                columns = Some(n);
            }
            _ => {
                self.tensor_relinquish(w, pc);
            }
        }
        match pair {
            true => self.tensor_meet((w, pc), op, columns, given, partner),
            false => Ok(Flow::Next),
        }
    }

    /// Stores the address of what was allocated.
    fn tensor_tell(
        &mut self,
        w: usize,
        pc: Pc,
        (space, addr): (Space, Addr),
        first: usize,
    ) -> Result<(), Stop> {
        let mut to = self
            .core
            .targets(At { w, exec: 1, pc }, space, addr, &Under::none())?;
        self.check(w, pc, &mut to, 4, true);
        self.sync.order.through = Through::Word;
        let conflicts = self.order_accesses((w, pc), &to, (4, 1), AccessKind::Write, false);
        self.sync.order.through = Through::Thread;
        for (_, c) in &conflicts? {
            self.sync.add_race(c.otherwise, c);
        }
        for t in to {
            let region = &mut self.core.memory.regions[t.region.0 as usize];
            region.store(
                &mut self.core.values,
                t.off as u64,
                4,
                Val::Conc(first as u64),
            );
        }
        Ok(())
    }

    /// The content of a cell; one that nobody wrote is a read of nothing.
    pub(super) fn tensor_cell(
        &mut self,
        w: usize,
        mask: u32,
        pc: Pc,
        row: usize,
        column: usize,
    ) -> Val {
        let v = self.tasks.tensor.get(row, column);
        if v != Val::Unset {
            return v;
        }
        self.core.memory.unset_sites.entry(pc).or_insert_with(|| {
            let text = format!("reads lane {row}, column {column} of tensor memory, never written");
            site(pc, w, mask, text)
        });
        Val::Bits(self.core.values.store.poison(32, pc.0))
    }

    /// The cells of a load or store, all lanes of the first register first.
    fn tensor_move(
        &mut self,
        (w, pc): (usize, Pc),
        shape: Lanes,
        at: Addr,
        count: usize,
        write: bool,
    ) -> Result<Vec<(usize, usize)>, Stop> {
        let base = self.core.same_word(w, pc, at.base, at.offset)?;
        let (row, column) = ((base >> 16) as usize, (base & 0xffff) as i64);
        let own = 32 * (w % 4);
        // The manual ties the lane to the warp; shipped kernels name lane 0 in all of them.
        let row = match row {
            0 | 16 if own != 0 => {
                self.core.found.assumptions.insert(AssumptionKind::Machine.says(
                    "an address of tensor memory with lane 0 means the first lane of the warp that uses it",
                ));
                own + row
            }
            row => row,
        };
        if row != own && (shape.rows() == 32 || row != own + 16) {
            let (quarter, last) = (w % 4, own + 31);
            let why = format!(
                "warp {quarter} of a warpgroup reaches lanes {own} to {last} of tensor memory, from the first or \
                 seventeenth of them on, and the address names lane {row}"
            );
            return Err(self.core.tensor_lifetime(w, pc, None, &why));
        }
        let first = ROWS * self.core.fixed.team.number(w);
        let mut cells = Vec::with_capacity(count * LANES);
        for reg in 0..count {
            for lane in 0..LANES {
                let (r, c) = shape.cell(lane, reg);
                let c = column + c;
                if !(0..COLUMNS as i64).contains(&c) {
                    let why = format!(
                        "column {c} of tensor memory is used, which has those from 0 to 511"
                    );
                    return Err(self.core.tensor_beyond(w, u32::MAX, pc, &why));
                }
                cells.push((first + row + r, c as usize));
            }
        }
        let agents = self.sync.order.clocks.fork(w as u32);
        let touch = if write { Touch::Store } else { Touch::Load };
        self.tensor_touch(
            At {
                w,
                exec: u32::MAX,
                pc,
            },
            agents,
            touch,
            write,
            &cells,
        )?;
        self.tasks
            .tensor
            .moving
            .entry((w, write))
            .or_default()
            .push(agents);
        Ok(cells)
    }
}
