//! Products of tensor memory: `tcgen05.mma`, and the copies that bring its factors and scales.
//!
//! A product of one thread is an agent: it reads its factors from shared memory through the async
//! proxy or from tensor memory, and its accumulator in tensor memory. With 128 rows of a CTA, row i of
//! the accumulator lies in lane i; with 64 rows it lies in lane 32 (i / 16) + i % 16, from lane 0
//! or 16 on; a column of it is a column of tensor memory. A factor in tensor memory has the rows of
//! the accumulator and as many elements in a column as fit into its 32 bits.
//!
//! A product of a pair of CTAs has half of its rows in each: the CTA of even rank holds the first half of a and of the
//! accumulator, and the first half of the columns of b; the other one the rest, at the same addresses. With 64 rows in a
//! CTA, the second half of the columns of the accumulator lies in the lanes from 64 on.
//!
//! Scales: row i of a factor has its scales in the bytes that the instruction descriptor selects, of column i / 32
//! behind the address, lane i % 32 of each quarter of the lanes alike: one, or two or four for as many parts of the row.
//! Over the reals the scale of an element is part of it. Floats of four bits stand two in a byte.
//!
//! A buffer may keep the first factor for the products that follow. One that takes it from there must name the factor
//! that the buffer holds: with another one, or none, what it multiplies is undefined.
//!
//! Source: PTX ISA 9.0, sections 9.7.16.4 (descriptors), 9.7.16.9 (`cp`), 9.7.16.10 (`mma`); the layouts of pairs
//! and scales, which the manual shows in figures only, are those of CuTe.
//!
//! Not claimed: the rounding of the accumulation; accumulators of f16; what the decoder refuses.

use crate::answer::AssumptionKind;
use crate::kernel::{Addr, Collector, Fmt, MatTy, Src, TensorA, TensorCopy, TensorMma};
use crate::sim::at::{At, site, tids};
use crate::term::TermId;
use crate::term::word::{Family, Product};

use super::DefectKind;
use super::address::provenance::BaseId;
use super::descriptor::Descriptor;
use super::machine::{Core, Machine};
use super::stop::Stop;
use super::tcgen05::Issue;
use super::tensor_about::About;
use super::tensor_memory::{COLUMNS, ROWS, Touch};
use super::val::Val;

/// Where the elements of a matrix lie in tensor memory.
struct Places {
    /// The numbers of the CTAs that hold a part of its rows.
    ctas: Vec<usize>,
    /// Rows of one CTA.
    rows: usize,
    /// Columns that one lane holds.
    width: usize,
    /// The second half of the columns lies in the lanes from 64 on.
    split: bool,
    /// The first lane and the first column.
    row: usize,
    column: usize,
}

impl Places {
    /// Which of the CTAs holds an element, in which lane and column.
    fn at(&self, i: usize, j: usize) -> (usize, usize, usize) {
        let (cta, own) = (i / self.rows, i % self.rows);
        let lane = match (self.rows, self.split) {
            (64, true) => own + 64 * (j / self.width),
            (64, false) => self.row + 32 * (own / 16) + own % 16,
            _ => own,
        };
        (cta, lane, self.column + j % self.width)
    }

    /// The same as a row and a column of the tensor memory of all CTAs.
    fn cell(&self, i: usize, j: usize) -> (usize, usize) {
        let (cta, lane, column) = self.at(i, j);
        (self.ctas[cta] * ROWS + lane, column)
    }
}

impl Core<'_> {
    /// The CTAs whose tensor memory an operation uses, by number: the own one, or the pair.
    fn tensor_ctas(&mut self, by: &Issue, pair: bool) -> Result<Vec<usize>, Stop> {
        let rank = self.fixed.team.rank(by.w);
        let ranks = match pair {
            true => vec![rank & !1, rank | 1],
            false => vec![rank],
        };
        let found: Option<Vec<usize>> = ranks
            .iter()
            .map(|r| self.fixed.team.peer(by.w, *r))
            .collect();
        found.ok_or_else(|| {
            let site = site(by.pc, by.w, 1 << by.lane, "is executed");
            self.defect(DefectKind::OutOfBounds, vec![site], || {
                "the cluster has no other CTA for a pair: .cta_group::2 takes two".into()
            });
            Stop::Finding
        })
    }

    /// The words of a mask of lanes.
    fn lanes_off(&mut self, by: &Issue, masked: &[Src]) -> Result<Vec<u64>, Stop> {
        let word = |s: &Src| self.tensor_word(by.w, by.lane, by.pc, *s);
        masked.iter().map(word).collect()
    }

    /// Where the accumulator lies.
    fn tensor_accumulator(
        &mut self,
        by: &Issue,
        at: Addr,
        about: &About,
        ctas: &[usize],
    ) -> Result<Places, Stop> {
        let rows = about.rows / ctas.len();
        let split = ctas.len() == 2 && rows == 64;
        let width = if split {
            about.columns / 2
        } else {
            about.columns
        };
        let (row, column) = self.tensor_place(by, at, rows == 64 && !split, width)?;
        Ok(Places {
            ctas: ctas.to_vec(),
            rows,
            width,
            split,
            row,
            column,
        })
    }

    /// The lane and the column of an operand in tensor memory.
    fn tensor_place(
        &mut self,
        by: &Issue,
        at: Addr,
        half: bool,
        width: usize,
    ) -> Result<(usize, usize), Stop> {
        let base = self.tensor_word(by.w, by.lane, by.pc, at.base)?;
        let base = base.wrapping_add_signed(at.offset) & 0xffff_ffff;
        let (row, column) = ((base >> 16) as usize, (base & 0xffff) as usize);
        let fits = row == 0 || (row == 16 && half);
        if !fits || column + width > COLUMNS {
            let why = "an operand of tcgen05.mma does not lie in tensor memory as its shape needs";
            return Err(self.tensor_beyond(by.w, 1 << by.lane, by.pc, why));
        }
        Ok((row, column))
    }

    /// The descriptor of a matrix in shared memory, and the object in which it lies.
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
}

impl Machine<'_> {
    /// `tcgen05.mma`.
    pub(super) fn tensor_product(&mut self, by: &Issue, m: &TensorMma) -> Result<(), Stop> {
        let (w, pc, mask) = (by.w, by.pc, 1 << by.lane);
        let word = self.core.tensor_word(w, by.lane, pc, m.about)?;
        let about = match About::new(m.kind, word, m.pair) {
            Ok(about) => about,
            Err(what) => {
                self.core
                    .unsupported(w, mask, pc, &format!("in tcgen05.mma, {what}"));
                return Err(Stop::Finding);
            }
        };
        let Val::Conc(keep) = self.core.truth(w, m.keep, by.lane) else {
            self.core
                .unsupported(w, mask, pc, "a data-dependent operand of tcgen05.mma");
            return Err(Stop::Finding);
        };
        let ctas = self.core.tensor_ctas(by, m.pair)?;
        let (mut left, mut right) = self.tensor_factors(by, m, &about, &ctas)?;
        self.tensor_collect(by, m.collector, ctas[0], &left)?;
        let off = self.core.lanes_off(by, &m.masked)?;
        let places = self.core.tensor_accumulator(by, m.d, &about, &ctas)?;
        let kept = |i: usize, j: usize| {
            let (cta, lane, _) = places.at(i, j);
            off.get(cta * ROWS / 32 + lane / 32)
                .is_none_or(|bits| bits >> (lane % 32) & 1 == 0)
        };
        let mut cells = Vec::with_capacity(about.rows * about.columns);
        let all = (0..about.rows).flat_map(|i| (0..about.columns).map(move |j| (i, j)));
        cells.extend(
            all.filter(|p| kept(p.0, p.1))
                .map(|p| places.cell(p.0, p.1)),
        );
        self.tensor_accumulate(by, m, &about, &places, &cells)?;
        let product = Product {
            family: Family::Tcgen05(about.negate),
            depth: about.depth as u16,
            factors: about.ty,
        };
        self.core.values.begin_product(pc, product, Fmt::F32);
        if let Some(scales) = m.scales {
            (left, right) = self.core.values.unlike_bits((left, right), about.ty);
            let chunks = usize::from(m.chunks);
            self.scale_factors(by, (&about, chunks), &ctas, scales, (&mut left, &mut right))?;
        }
        self.tensor_sums(by, &about, keep == 1, (&left, &right), |i, j| {
            kept(i, j).then(|| places.cell(i, j))
        });
        Ok(())
    }

    /// The buffer for the first factor: what it holds must be what a product takes from it.
    fn tensor_collect(
        &mut self,
        by: &Issue,
        op: Collector,
        cta: usize,
        factor: &[TermId],
    ) -> Result<(), Stop> {
        let taken = matches!(op, Collector::Use | Collector::LastUse);
        let held = self.tasks.tensor.collected.get(&cta);
        if taken && held.is_none_or(|held| held[..] != *factor) {
            let why =
                "the collector buffer does not hold the factor that the product takes from it";
            return Err(self.core.tensor_undefined(by.w, 1 << by.lane, by.pc, why));
        }
        match op {
            Collector::Fill => {
                self.tasks.tensor.collected.insert(cta, factor.to_vec());
            }
            Collector::Use => {}
            Collector::LastUse | Collector::Discard => {
                self.tasks.tensor.collected.remove(&cta);
            }
        }
        Ok(())
    }

    /// The factors, by rows of each CTA that has a part of the accumulator: all of a, and b once for each CTA where it
    /// is scaled there.
    fn tensor_factors(
        &mut self,
        by: &Issue,
        m: &TensorMma,
        about: &About,
        ctas: &[usize],
    ) -> Result<(Vec<TermId>, Vec<TermId>), Stop> {
        let (w, pc) = (by.w, by.pc);
        let size = |n: usize| (n / ctas.len(), about.depth);
        let mut left = Vec::with_capacity(about.rows * about.depth);
        match &m.a {
            TensorA::Shared(s) => {
                let (desc, base) = self.core.tensor_descriptor(by, *s)?;
                for &cta in ctas {
                    let place = |i: u64, k: u64, e: u64| desc.element(e, about.along[0], i, k);
                    let from = (w, pc, base, self.core.fixed.team.slot(cta));
                    let lane = Some(by.lane);
                    let ty = about.ty[0];
                    left.extend(self.shared_operand(
                        from,
                        by.agents,
                        lane,
                        ty,
                        size(about.rows),
                        place,
                    )?);
                }
            }
            TensorA::Tensor(_) if about.along[0] => {
                let why = "a transposed factor cannot lie in tensor memory";
                return Err(self.core.tensor_undefined(w, 1 << by.lane, pc, why));
            }
            TensorA::Tensor(at) => left = self.tensor_factor(by, *at, about, ctas)?,
        }
        let mut right = Vec::with_capacity(about.columns * about.depth);
        let (desc, base) = self.core.tensor_descriptor(by, m.b)?;
        for &cta in ctas {
            let place = |i: u64, k: u64, e: u64| desc.element(e, about.along[1], i, k);
            let from = (w, pc, base, self.core.fixed.team.slot(cta));
            let (lane, ty) = (Some(by.lane), about.ty[1]);
            let part =
                self.shared_operand(from, by.agents, lane, ty, size(about.columns), place)?;
            right.extend(part);
        }
        Ok((left, right))
    }

    /// The product writes its accumulator, and is one of those that a commit of its thread tracks.
    fn tensor_accumulate(
        &mut self,
        by: &Issue,
        m: &TensorMma,
        about: &About,
        places: &Places,
        cells: &[(usize, usize)],
    ) -> Result<(), Stop> {
        let (w, pc, mask) = (by.w, by.pc, 1 << by.lane);
        // The address stands for the accumulator: same columns, same alignment of lanes.
        let shape = (about.rows << 32 | about.columns << 16 | about.depth) as u64;
        let (row, column) = places.cell(0, 0);
        let touch = Touch::Accumulate {
            at: (row * COLUMNS + column) as u64,
            shape,
            kind: m.kind,
            pair: m.pair,
        };
        self.tensor_touch(At { w, exec: mask, pc }, by.agents, touch, true, cells)?;
        self.track(by);
        Ok(())
    }

    /// An operation that commits of its thread track.
    fn track(&mut self, by: &Issue) {
        let tid = tids(by.w, 1 << by.lane)[0];
        let tracked = self.tasks.tensor.products.entry(tid).or_default();
        tracked.push((by.agents, 1 << by.lane));
        let carried = std::sync::Arc::new(self.sync.order.clocks.carry(tid));
        self.tasks.tensor.carried.insert(tid, carried);
        self.tasks.tensor.commits.product(tid);
    }

    /// The sums, into the cells that `cell` gives.
    fn tensor_sums(
        &mut self,
        by: &Issue,
        about: &About,
        keep: bool,
        (left, right): (&[TermId], &[TermId]),
        cell: impl Fn(usize, usize) -> Option<(usize, usize)>,
    ) {
        let (depth, n, mask) = (about.depth, about.columns, 1 << by.lane);
        // Where b is scaled by each CTA for itself, there is one for each.
        let copies = right.len() / (n * depth);
        let mut products: Vec<(TermId, TermId)> = Vec::with_capacity(depth);
        for i in 0..about.rows {
            let mut line = left[i * depth..(i + 1) * depth].to_vec();
            if about.negate && self.core.values.product.is_none() {
                line.iter_mut()
                    .for_each(|t| *t = self.core.values.store.neg(*t));
            }
            let b = &right[i * copies / about.rows * n * depth..][..n * depth];
            for j in 0..n {
                let Some((row, column)) = cell(i, j) else {
                    continue;
                };
                products.clear();
                products.extend((0..depth).map(|k| (line[k], b[j * depth + k])));
                let c = match keep {
                    true => self.tensor_cell(by.w, mask, by.pc, row, column),
                    false => Val::Conc(0),
                };
                let v = if about.int {
                    let types = (about.ty[0], about.ty[1]);
                    self.core
                        .values
                        .integer_sum(c, &products, types, about.clamp)
                } else {
                    self.core.values.accumulate(Fmt::F32, c, &products)
                };
                self.tasks.tensor.set(row, column, v);
            }
        }
    }

    /// Scales the rows of both factors. The second one becomes one for each CTA.
    fn scale_factors(
        &mut self,
        by: &Issue,
        (about, chunks): (&About, usize),
        ctas: &[usize],
        at: [Addr; 2],
        (left, right): (&mut Vec<TermId>, &mut Vec<TermId>),
    ) -> Result<(), Stop> {
        let depth = about.depth;
        let rows = about.rows / ctas.len();
        let size = depth / chunks;
        let plain = std::mem::take(right);
        for (c, &cta) in ctas.iter().enumerate() {
            let at_a = (at[0], about.scales[0], chunks);
            let scales = self.tensor_scales(by, at_a, about.scale, (cta, ctas.len()), rows)?;
            for (k, x) in left[c * rows * depth..][..rows * depth]
                .iter_mut()
                .enumerate()
            {
                *x = self.core.values.store.mul(*x, scales[k / size]);
            }
            let at_b = (at[1], about.scales[1], chunks);
            let scales =
                self.tensor_scales(by, at_b, about.scale, (cta, ctas.len()), about.columns)?;
            for (k, x) in plain.iter().enumerate() {
                right.push(self.core.values.store.mul(*x, scales[k / size]));
            }
        }
        Ok(())
    }

    /// The scales of so many rows, in the tensor memory of a CTA, row by row.
    fn tensor_scales(
        &mut self,
        by: &Issue,
        (at, byte, chunks): (Addr, u8, usize),
        fmt: Fmt,
        (cta, ctas): (usize, usize),
        rows: usize,
    ) -> Result<Vec<TermId>, Stop> {
        let (w, pc, mask) = (by.w, by.pc, 1 << by.lane);
        if usize::from(byte) % chunks != 0 || fmt == Fmt::E4m3 && chunks != 4 {
            let why = "the scales of a factor are selected as the manual excludes";
            return Err(self.core.tensor_undefined(w, mask, pc, why));
        }
        if fmt == Fmt::E4m3 {
            self.core
                .found
                .assumptions
                .insert(AssumptionKind::Machine.says(super::matrix_scale::POSITIVE));
        }
        let base = self.core.tensor_word(w, by.lane, pc, at.base)?;
        let base = base.wrapping_add_signed(at.offset) & 0xffff_ffff;
        let column = (base & 0x3fff_ffff & 0xffff) as usize;
        let width = rows.div_ceil(32);
        if base >> 16 & 0x3fff != 0 || column + width > COLUMNS {
            let why = "the scales of a factor do not lie in tensor memory as its shape needs";
            return Err(self.core.tensor_beyond(w, mask, pc, why));
        }
        let first = cta * ROWS;
        let cells: Vec<(usize, usize)> = (0..ROWS.min(rows.next_multiple_of(32) * 4))
            .flat_map(|lane| (column..column + width).map(move |c| (first + lane, c)))
            .collect();
        let pair = ctas == 2;
        self.tensor_touch(
            At { w, exec: mask, pc },
            by.agents,
            Touch::Factor { pair },
            false,
            &cells,
        )?;
        let mut out = Vec::with_capacity(rows * chunks);
        for i in 0..rows {
            let (lane, c) = (first + i % 32, column + i / 32);
            let v = self.tensor_cell(w, mask, pc, lane, c);
            for quarter in 1..4 {
                if self.tasks.tensor.get(lane + 32 * quarter, c) != v {
                    let what =
                        "in tcgen05.mma, scales that differ between the quarters of the lanes";
                    self.core.unsupported(w, mask, pc, what);
                    return Err(Stop::Finding);
                }
            }
            let whole = self.core.values.bits(v, 32);
            for chunk in 0..chunks as u8 {
                let bits = self.core.values.field(whole, 8 * (byte + chunk), 8);
                let v = self.core.values.of_bits(bits);
                out.push(self.core.values.real(v, fmt));
            }
        }
        Ok(out)
    }

    /// `tcgen05.cp`.
    pub(super) fn tensor_copy(
        &mut self,
        by: &Issue,
        to: Addr,
        from: Src,
        shape: TensorCopy,
        pair: bool,
    ) -> Result<(), Stop> {
        let (w, pc, mask) = (by.w, by.pc, 1 << by.lane);
        let (rows, bytes) = shape.extent();
        let base = self.core.tensor_word(w, by.lane, pc, to.base)?;
        let base = base.wrapping_add_signed(to.offset) & 0xffff_ffff;
        let column = (base & 0xffff) as usize;
        if base >> 16 != 0 || column + bytes / 4 > COLUMNS {
            let why = "tcgen05.cp goes to lane 0 of columns from 0 to 511";
            return Err(self.core.tensor_beyond(w, mask, pc, why));
        }
        let (desc, object) = self.core.tensor_descriptor(by, from)?;
        let word = MatTy::Int {
            width: 32,
            signed: false,
        };
        for cta in self.core.tensor_ctas(by, pair)? {
            let place = |i: u64, k: u64, e: u64| desc.element(e, false, i, k);
            let source = (w, pc, object, self.core.fixed.team.slot(cta));
            let size = (rows, bytes / 4);
            let lane = Some(by.lane);
            let words = self.shared_operand(source, by.agents, lane, word, size, place)?;
            let mut cells = Vec::new();
            for row in 0..rows {
                for lane in shape.lanes(row) {
                    cells.extend((0..bytes / 4).map(|c| (cta * ROWS + lane, column + c, row, c)));
                }
            }
            let touched: Vec<(usize, usize)> = cells.iter().map(|c| (c.0, c.1)).collect();
            self.tensor_touch(
                At { w, exec: mask, pc },
                by.agents,
                Touch::Copy { pair },
                true,
                &touched,
            )?;
            for (lane, at, row, c) in cells {
                let v = self.core.values.of_bits(words[row * bytes / 4 + c]);
                self.tasks.tensor.set(lane, at, v);
            }
        }
        self.track(by);
        Ok(())
    }

    /// The first factor in tensor memory, row by row.
    fn tensor_factor(
        &mut self,
        by: &Issue,
        at: Addr,
        about: &About,
        ctas: &[usize],
    ) -> Result<Vec<TermId>, Stop> {
        let ty = about.ty[0];
        let bits = ty.bits() as usize;
        let each = 32 / bits;
        let width = about.depth / each;
        let rows = about.rows / ctas.len();
        if ctas.len() == 2 && rows == 64 {
            self.core.unsupported(
                by.w,
                1 << by.lane,
                by.pc,
                "64 rows of a pair in tensor memory",
            );
            return Err(Stop::Finding);
        }
        let (row, first) = self.core.tensor_place(by, at, rows == 64, width)?;
        let places = Places {
            ctas: ctas.to_vec(),
            rows,
            width,
            split: false,
            row,
            column: first,
        };
        let mut cells = Vec::with_capacity(about.rows * width);
        for i in 0..about.rows {
            cells.extend((0..width).map(|c| places.cell(i, c)));
        }
        let (w, mask, pc) = (by.w, 1 << by.lane, by.pc);
        let pair = ctas.len() == 2;
        self.tensor_touch(
            At { w, exec: mask, pc },
            by.agents,
            Touch::Factor { pair },
            false,
            &cells,
        )?;
        let mut out = Vec::with_capacity(about.rows * about.depth);
        for (row, column) in cells {
            let v = self.tensor_cell(w, mask, pc, row, column);
            for e in 0..each {
                out.push(self.core.values.matrix_operand(v, ty, e));
            }
        }
        Ok(out)
    }
}
