//! Operations on tensor memory: `tcgen05` loads, stores, products.
//!
//! A product of one thread is an agent: it reads its factors from shared memory through the async
//! proxy or from tensor memory, and its accumulator in tensor memory. With 128 rows, row i of
//! the accumulator lies in lane i; with 64 rows it lies in lane 32 (i / 16) + i % 16, from lane 0
//! or 16 on; a column of it is a column of tensor memory. A factor in tensor memory has the rows of
//! the accumulator and as many elements in a column as fit into its 32 bits.
//!
//! Source: PTX ISA 9.0, sections 9.7.16.4 (descriptors), 9.7.16.8 (`ld`, `st`), 9.7.16.10 (`mma`).
//!
//! Not claimed: the rounding of the accumulation; accumulators of f16; what the decoder refuses.

use crate::answer::AssumptionKind;
use crate::kernel::{Addr, Fmt, Guard, Lanes, MatTy, Pc, Src, TensorA, TensorKind, TensorOp};
use crate::term::TermId;
use crate::term::word::Family;

use super::address::provenance::BaseId;
use super::clock::Actor;
use super::descriptor::Descriptor;
use super::machine::{Machine, Stop};
use super::race::Kind;
use super::step::Under;
use super::tensor_memory::{COLUMNS, ROWS, Touch};
use super::value::Val;
use super::warp::{LANES, lanes};

/// What an instruction descriptor says.
struct About {
    rows: usize,
    columns: usize,
    depth: usize,
    ty: [MatTy; 2],
    /// The result is an integer, which may saturate.
    int: bool,
    clamp: bool,
    negate: bool,
    /// The factors are laid out along their outer dimension.
    along: [bool; 2],
}

impl About {
    /// Decodes one; the error says what of it is not supported.
    fn new(kind: TensorKind, bits: u64) -> Result<About, &'static str> {
        let field = |at: u32, n: u32| bits >> at & ((1 << n) - 1);
        if field(2, 1) != 0 {
            return Err("a sparse product");
        }
        if field(6, 1) != 0 || field(23, 1) != 0 || field(29, 1) != 0 || field(30, 2) != 0 {
            return Err("an instruction descriptor with reserved bits");
        }
        let int = kind == TensorKind::I8;
        if field(4, 2) != if int { 2 } else { 1 } {
            return Err("this type of accumulator");
        }
        let ty = |at: u32| match (kind, field(at, 3)) {
            (TensorKind::F16, 0) => Ok(MatTy::Float(Fmt::F16)),
            (TensorKind::F16, 1) => Ok(MatTy::Float(Fmt::Bf16)),
            (TensorKind::Tf32, 2) => Ok(MatTy::Float(Fmt::Tf32)),
            (TensorKind::F8, 0) => Ok(MatTy::Float(Fmt::E4m3)),
            (TensorKind::F8, 1) => Ok(MatTy::Float(Fmt::E5m2)),
            (TensorKind::I8, s @ (0 | 1)) => Ok(MatTy::Int {
                width: 8,
                signed: s == 1,
            }),
            _ => Err("this element type"),
        };
        let ty = [ty(7)?, ty(10)?];
        if kind == TensorKind::F16 && ty[0] != ty[1] {
            return Err("factors of different types");
        }
        let (rows, columns) = (16 * field(24, 5) as usize, 8 * field(17, 6) as usize);
        let step = match rows {
            64 => 8,
            128 => 16,
            _ => return Err("this number of rows"),
        };
        if columns == 0 || columns > 256 || !columns.is_multiple_of(step) {
            return Err("this number of columns");
        }
        let along = [field(15, 1) == 1, field(16, 1) == 1];
        if kind == TensorKind::Tf32 && (along[0] || along[1]) {
            return Err("a transposed operand of tf32");
        }
        if int && field(13, 2) != 0 || !int && field(3, 1) != 0 {
            return Err("an instruction descriptor that the manual excludes");
        }
        Ok(About {
            rows,
            columns,
            depth: 256 / ty[0].bits() as usize,
            ty,
            int,
            clamp: field(3, 1) == 1,
            negate: field(13, 1) != field(14, 1),
            along,
        })
    }
}

/// What a thread issues.
struct Issue {
    w: usize,
    lane: usize,
    pc: Pc,
    agents: Actor,
}

impl Machine<'_> {
    /// Executes an operation in the lanes `exec` of a warp.
    pub fn tensor_op(&mut self, w: usize, exec: u32, pc: Pc, op: &TensorOp) -> Result<(), Stop> {
        self.note_unset(w, pc);
        match op {
            TensorOp::Alloc {
                space,
                addr,
                columns,
            } => {
                let columns = self.same_word(w, pc, *columns, 0)?;
                let first = self.tensor_alloc(w, pc, columns)?;
                let mut to = self.targets(w, 1, pc, *space, *addr, &Under::none())?;
                self.check(w, pc, &mut to, 4, true);
                let conflicts = self.order_accesses(w, pc, &to, (4, 1), Kind::Write, false)?;
                for (_, c) in &conflicts {
                    self.add_race(c.otherwise, c);
                }
                for t in to {
                    let region = &mut self.regions[t.region.0 as usize];
                    region.store(&mut self.values, t.off as u64, 4, Val::Conc(first as u64));
                }
            }
            TensorOp::Dealloc { at, columns } => {
                let at = self.same_word(w, pc, *at, 0)?;
                let columns = self.same_word(w, pc, *columns, 0)?;
                self.tensor_free(w, pc, at, columns)?;
            }
            TensorOp::Relinquish => self.tensor.closed = true,
            TensorOp::Load { lanes, at, dsts } => {
                let cells = self.tensor_move(w, pc, *lanes, *at, dsts.len(), false)?;
                for (i, (row, column)) in cells.into_iter().enumerate() {
                    let v = self.tensor_cell(w, 1 << (i % LANES), pc, row, column);
                    self.set(w, dsts[i / LANES], i % LANES, v);
                }
                let loading = dsts.iter().map(|r| (*r, pc));
                self.products.warps[w].loading.extend(loading);
            }
            TensorOp::Store { lanes, at, srcs } => {
                let cells = self.tensor_move(w, pc, *lanes, *at, srcs.len(), true)?;
                for (i, (row, column)) in cells.into_iter().enumerate() {
                    let v = self.src(w, srcs[i / LANES], i % LANES);
                    self.tensor.set(row, column, v);
                }
            }
            TensorOp::Wait(store) => {
                if !*store {
                    self.products.warps[w].loading.clear();
                }
                // All lanes wait together for the operations of all.
                let clocks = &mut self.order.clocks;
                let event = clocks.new_event();
                for who in self.tensor.moving.remove(&(w, *store)).unwrap_or_default() {
                    clocks.join_event(who, u32::MAX, event);
                }
                clocks.observe(event, w as u32, u32::MAX);
            }
            TensorOp::Mma {
                kind,
                d,
                a,
                b,
                about,
                keep,
            } => {
                for lane in lanes(exec) {
                    let agents = self.order.clocks.fork(w as u32);
                    let issue = Issue {
                        w,
                        lane,
                        pc,
                        agents,
                    };
                    self.tensor_product(&issue, *kind, *d, a, *b, *about, *keep)?;
                }
            }
            TensorOp::Commit { space, addr } => {
                for lane in lanes(exec) {
                    self.tensor_commit(w, lane, pc, *space, *addr)?;
                }
            }
            TensorOp::Fence(after) => self.tensor_fence(w, exec, *after),
        }
        Ok(())
    }

    /// The content of a cell; one that nobody wrote is a read of nothing.
    fn tensor_cell(&mut self, w: usize, mask: u32, pc: Pc, row: usize, column: usize) -> Val {
        let v = self.tensor.get(row, column);
        if v != Val::Unset {
            return v;
        }
        if !self.unset_sites.contains_key(&pc) {
            let text = format!("reads lane {row}, column {column} of tensor memory, never written");
            let site = self.site(pc, w, mask, text);
            self.unset_sites.insert(pc, site);
        }
        Val::Bits(self.values.store.poison(32, pc.0))
    }

    /// A known 32-bit value of a lane.
    fn tensor_word(&mut self, w: usize, lane: usize, pc: Pc, s: Src) -> Result<u64, Stop> {
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
                let why = "the lanes of a warp give different operands";
                return Err(self.tensor_undefined(w, u32::MAX, pc, why));
            }
        }
        Ok(first.wrapping_add_signed(offset) & 0xffff_ffff)
    }

    /// The cells of a load or store, all lanes of the first register first.
    fn tensor_move(
        &mut self,
        w: usize,
        pc: Pc,
        shape: Lanes,
        at: Addr,
        count: usize,
        write: bool,
    ) -> Result<Vec<(usize, usize)>, Stop> {
        let base = self.same_word(w, pc, at.base, at.offset)?;
        let (row, column) = ((base >> 16) as usize, (base & 0xffff) as i64);
        let own = 32 * (w % 4);
        if row != own && (shape.rows() == 32 || row != own + 16) {
            let why = "a warp reaches only its own 32 lanes of tensor memory, from the first or \
                       seventeenth on";
            return Err(self.tensor_undefined(w, u32::MAX, pc, why));
        }
        let mut cells = Vec::with_capacity(count * LANES);
        for reg in 0..count {
            for lane in 0..LANES {
                let (r, c) = shape.cell(lane, reg);
                let c = column + c;
                if !(0..COLUMNS as i64).contains(&c) {
                    let why = "a column of tensor memory is from 0 to 511";
                    return Err(self.tensor_undefined(w, u32::MAX, pc, why));
                }
                cells.push((row + r, c as usize));
            }
        }
        let agents = self.order.clocks.fork(w as u32);
        let touch = if write { Touch::Store } else { Touch::Load };
        self.tensor_touch(w, u32::MAX, pc, agents, touch, write, &cells)?;
        self.tensor
            .moving
            .entry((w, write))
            .or_default()
            .push(agents);
        Ok(cells)
    }

    /// The rows of an operand in tensor memory, and its first column.
    fn tensor_rows(
        &mut self,
        by: &Issue,
        at: Addr,
        about: &About,
        width: usize,
    ) -> Result<(Vec<usize>, usize), Stop> {
        let base = self.tensor_word(by.w, by.lane, by.pc, at.base)?;
        let base = base.wrapping_add_signed(at.offset) & 0xffff_ffff;
        let (row, column) = ((base >> 16) as usize, (base & 0xffff) as usize);
        let fits = row == 0 || (row == 16 && about.rows == 64);
        if !fits || column + width > COLUMNS {
            let why = "an operand of tcgen05.mma does not lie in tensor memory as its shape needs";
            return Err(self.tensor_undefined(by.w, 1 << by.lane, by.pc, why));
        }
        let rows = match about.rows {
            64 => (0..64).map(|i| row + 32 * (i / 16) + i % 16).collect(),
            _ => (0..ROWS).collect(),
        };
        Ok((rows, column))
    }

    fn tensor_descriptor(&mut self, by: &Issue, s: Src) -> Result<(Descriptor, BaseId), Stop> {
        let v = self.src(by.w, s, by.lane);
        let Val::Conc(bits) = self.values.of_bits_plain(v, 64) else {
            self.data_dependent_address(by.w, 1 << by.lane, by.pc, v);
            return Err(Stop::Finding);
        };
        let Some(d) = Descriptor::of_tensor(bits) else {
            self.unsupported(by.w, 1 << by.lane, by.pc, "this matrix descriptor");
            return Err(Stop::Finding);
        };
        if bits >> 46 & 7 == 0 {
            self.found.assumptions.insert(AssumptionKind::Machine.says(
                "a matrix descriptor of tcgen05 means the same with bits 46 to 48 clear, where \
                 the manual wants 1",
            ));
        }
        let base = self.descriptor_base((by.w, by.lane, by.pc), s, d.pattern())?;
        Ok((d, base))
    }

    /// `tcgen05.mma`.
    #[allow(clippy::too_many_arguments)]
    fn tensor_product(
        &mut self,
        by: &Issue,
        kind: TensorKind,
        d: Addr,
        a: &TensorA,
        b: Src,
        about: Src,
        keep: Guard,
    ) -> Result<(), Stop> {
        let (w, pc, mask) = (by.w, by.pc, 1 << by.lane);
        let word = self.tensor_word(w, by.lane, pc, about)?;
        let about = match About::new(kind, word) {
            Ok(about) => about,
            Err(what) => {
                self.unsupported(w, mask, pc, &format!("in tcgen05.mma, {what}"));
                return Err(Stop::Finding);
            }
        };
        let Val::Conc(keep) = self.truth(w, keep, by.lane) else {
            self.unsupported(w, mask, pc, "a data-dependent operand of tcgen05.mma");
            return Err(Stop::Finding);
        };
        let (depth, n) = (about.depth, about.columns);
        let left = match a {
            TensorA::Shared(s) => {
                let (desc, base) = self.tensor_descriptor(by, *s)?;
                let place = |i: u64, k: u64, e: u64| desc.element(e, about.along[0], i, k);
                let size = (about.rows, depth);
                self.shared_operand(
                    (w, pc, base),
                    by.agents,
                    Some(by.lane),
                    about.ty[0],
                    size,
                    place,
                )?
            }
            TensorA::Tensor(_) if about.along[0] => {
                let why = "a transposed factor cannot lie in tensor memory";
                return Err(self.tensor_undefined(w, mask, pc, why));
            }
            TensorA::Tensor(at) => self.tensor_factor(by, *at, &about)?,
        };
        let (desc, base) = self.tensor_descriptor(by, b)?;
        let place = |i: u64, k: u64, e: u64| desc.element(e, about.along[1], i, k);
        let right = self.shared_operand(
            (w, pc, base),
            by.agents,
            Some(by.lane),
            about.ty[1],
            (n, depth),
            place,
        )?;
        let (rows, first) = self.tensor_rows(by, d, &about, n)?;
        let mut cells = Vec::with_capacity(rows.len() * n);
        for &row in &rows {
            cells.extend((first..first + n).map(|c| (row, c)));
        }
        // The address stands for the accumulator: same columns, same alignment of lanes.
        let shape = (about.rows << 32 | n << 16 | depth) as u64;
        let touch = Touch::Accumulate((rows[0] * COLUMNS + first) as u64, shape);
        self.tensor_touch(w, mask, pc, by.agents, touch, true, &cells)?;
        let tid = self.tids(w, mask)[0];
        self.tensor.products.entry(tid).or_default().push(by.agents);
        let carried = std::sync::Arc::new(self.order.clocks.carry(tid));
        self.tensor.carried.insert(tid, carried);
        self.tensor.commits.product(tid);

        let family = Family::Tcgen05(about.negate);
        self.values
            .begin_product(pc, (family, depth as u16), about.ty, Fmt::F32);
        let mut products: Vec<(TermId, TermId)> = Vec::with_capacity(depth);
        for (i, &row) in rows.iter().enumerate() {
            let mut line = left[i * depth..(i + 1) * depth].to_vec();
            if about.negate && self.values.words.is_none() {
                line.iter_mut().for_each(|t| *t = self.values.store.neg(*t));
            }
            for j in 0..n {
                products.clear();
                products.extend((0..depth).map(|k| (line[k], right[j * depth + k])));
                let c = match keep {
                    1 => self.tensor_cell(w, mask, pc, row, first + j),
                    _ => Val::Conc(0),
                };
                let v = if about.int {
                    let types = (about.ty[0], about.ty[1]);
                    self.integer_sum(c, &products, types, about.clamp)
                } else {
                    self.values.accumulate(Fmt::F32, c, &products)
                };
                self.tensor.set(row, first + j, v);
            }
        }
        Ok(())
    }

    /// The first factor in tensor memory, row by row.
    fn tensor_factor(&mut self, by: &Issue, at: Addr, about: &About) -> Result<Vec<TermId>, Stop> {
        let ty = about.ty[0];
        let bits = ty.bits() as usize;
        let each = 32 / bits;
        let width = about.depth / each;
        let (rows, first) = self.tensor_rows(by, at, about, width)?;
        let mut cells = Vec::with_capacity(rows.len() * width);
        for &row in &rows {
            cells.extend((first..first + width).map(|c| (row, c)));
        }
        let (w, mask, pc) = (by.w, 1 << by.lane, by.pc);
        self.tensor_touch(w, mask, pc, by.agents, Touch::Factor, false, &cells)?;
        let mut out = Vec::with_capacity(rows.len() * about.depth);
        for (row, column) in cells {
            let v = self.tensor_cell(w, mask, pc, row, column);
            for e in 0..each {
                out.push(self.matrix_element(v, ty, e));
            }
        }
        Ok(out)
    }
}
