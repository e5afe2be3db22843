//! Fragments of matrices, as instructions load, multiply and store them.

use crate::answer::AssumptionKind;
use crate::kernel::{
    AsyncOp, Fragment, IntTy, MatTy, NumTy, Op, Part, Pc, RegId, Src, WmmaMma, WmmaMove, operands,
};
use crate::sim::UnknownKind;
use crate::sim::at::{At, LaneAt, site};
use crate::sim::machine::{Core, Machine};
use crate::sim::place::Target;
use crate::sim::race::View;
use crate::sim::race::{AccessKind, By, SameWrite};
use crate::sim::step::Under;
use crate::sim::stop::Stop;
use crate::sim::val::Val;
use crate::sim::warp::LANES;
use crate::term::TermId;
use crate::term::word::{Family, Product};

use super::Tag;

/// True for the accumulators that sm_80 makes of two of `mma.sync`: the layout here is theirs.
fn two_tiles(f: Fragment) -> bool {
    f.part == Part::C && f.extent() == (16, 16) && matches!(f.ty.bits(), 16 | 32)
}

/// The elements of a register, and the place of one of them.
fn place(f: Fragment, regs: usize, lane: usize, slot: usize, e: usize) -> usize {
    let n = (32 / f.ty.bits()).max(1) as usize;
    let (rows, cols) = f.extent();
    if two_tiles(f) {
        let (g, t, i) = (lane / 4, lane % 4, slot * n + e);
        return (g + 8 * (i >> 1 & 1)) * cols as usize + 8 * (i >> 2) + 2 * t + (i & 1);
    }
    (lane * regs * n + slot * n + e) % (rows as usize * cols as usize)
}

impl Core<'_> {
    fn layout(&mut self, w: usize, mask: u32, pc: Pc, why: &str) -> Stop {
        let site = site(pc, w, mask, "is here");
        self.found
            .unknown(UnknownKind::UnspecifiedLayout, vec![site], || {
                format!("the layout of a wmma fragment is unspecified, and {why}")
            });
        Stop::Finding
    }

    /// True if the layout of a fragment is assumed, and hence anything may depend on it.
    fn known_layout(&mut self, what: Fragment) -> bool {
        let known = self.fixed.launch.wmma_layout && two_tiles(what);
        if known {
            self.found
                .assumptions
                .insert(AssumptionKind::WmmaLayout.says(
                "accumulators of wmma of 16 x 16 elements are laid out as on sm_80 (--wmma-layout)",
            ));
        }
        known
    }

    /// The elements of a fragment by row and column.
    fn gather(&mut self, w: usize, what: Fragment, regs: &[RegId]) -> Vec<TermId> {
        let bits = what.ty.bits() as u8;
        let n = (32 / bits as usize).max(1);
        let (rows, cols) = what.extent();
        let mut out = vec![TermId(0); rows as usize * cols as usize];
        for (slot, r) in regs.iter().enumerate() {
            for lane in 0..LANES {
                let v = self.src(w, Src::Reg(*r), lane);
                for e in 0..n {
                    let t = self.values.matrix_operand(v, what.ty, e);
                    out[place(what, regs.len(), lane, slot, e)] = t;
                }
            }
        }
        out
    }
}

impl Machine<'_> {
    /// An instruction of a warp that holds fragments: what becomes of the tags.
    pub(in crate::sim) fn follow_fragments(
        &mut self,
        w: usize,
        mask: u32,
        pc: Pc,
    ) -> Result<(), Stop> {
        let inst = self.core.inst(pc);
        if is_wmma(&inst.op) {
            return Ok(());
        }
        let tags = &self.tasks.fragments.tags[w];
        let mut reads = false;
        operands::uses(inst, |r| reads |= tags.contains_key(&r));
        if !reads {
            let tags = &mut self.tasks.fragments.tags[w];
            inst.op.defs(&mut |r| {
                tags.remove(&r);
            });
            return Ok(());
        }
        if mask != self.core.threads.warps[w].live || inst.guard.is_some() {
            return Err(self
                .core
                .layout(w, mask, pc, "a part of the lanes works on it"));
        }
        let (dst, sources, name, halves) = match &inst.op {
            Op::Mov { dst, src, .. } => {
                if let Src::Reg(r) = src
                    && let Some(tag) = self.tasks.fragments.tags[w].get(r).copied()
                {
                    self.tasks.fragments.tags[w].insert(*dst, tag);
                }
                return Ok(());
            }
            Op::Float {
                op,
                fmt,
                src_fmt,
                lanes,
                mods,
                dst,
                src,
            } => {
                let name = format!("{op:?} {fmt:?} {src_fmt:?} {lanes} {mods:?}");
                (*dst, *src, name, *lanes == 2)
            }
            _ => {
                let why = "an instruction that is not elementwise reads it";
                return Err(self.core.layout(w, mask, pc, why));
            }
        };
        let mut of = [(0, Val::Unset); 3];
        let mut tag: Option<Tag> = None;
        for (k, s) in sources.iter().enumerate() {
            let found = match s {
                Src::Reg(r) => self.tasks.fragments.tags[w].get(r).copied(),
                _ => None,
            };
            if let Some(t) = found {
                if tag.is_some_and(|o| (o.what, o.slot) != (t.what, t.slot)) {
                    return Err(self
                        .core
                        .layout(w, mask, pc, "registers of two fragments meet"));
                }
                tag = Some(t);
                of[k] = (t.history + 1, Val::Unset);
                continue;
            }
            let v = self.core.src(w, *s, 0);
            let uniform = (1..LANES).all(|l| self.core.src(w, *s, l) == v);
            let even = !halves || {
                let whole = self.core.values.bits(v, 32);
                let low = self.core.values.store.extract(whole, 0, 16);
                low == self.core.values.store.extract(whole, 16, 16)
            };
            if !uniform || !even {
                let why = "it is combined with values that differ between elements";
                return Err(self.core.layout(w, mask, pc, why));
            }
            of[k] = (0, v);
        }
        if let Some(tag) = tag {
            // A packed format is elementwise on the elements of the fragment only.
            let wide = tag.what.ty.bits()
                == if halves {
                    16
                } else {
                    self.core.width(dst) as u32
                };
            if !wide {
                return Err(self.core.layout(w, mask, pc, "it is read as another type"));
            }
            let history = self.tasks.fragments.history(name, of);
            self.tasks.fragments.tags[w].insert(dst, Tag { history, ..tag });
        }
        Ok(())
    }

    /// Registers that are to be a fragment: all of one, or all the same value.
    fn expect_fragment(
        &mut self,
        w: usize,
        pc: Pc,
        what: Fragment,
        regs: &[RegId],
    ) -> Result<(), Stop> {
        if self.core.known_layout(what) {
            return Ok(());
        }
        let tags = &self.tasks.fragments.tags[w];
        let first = tags.get(&regs[0]).copied();
        let one = regs.iter().enumerate().all(|(i, r)| {
            let t = tags.get(r);
            t.is_some_and(|t| {
                t.what == what
                    && t.slot as usize == i
                    && first.is_some_and(|f| f.history == t.history)
            })
        });
        if one {
            return Ok(());
        }
        let filled = regs.iter().all(|r| !tags.contains_key(r));
        let v = self.core.threads.warps[w].get(regs[0], 0);
        let same = filled
            && regs
                .iter()
                .all(|r| (0..LANES).all(|lane| self.core.threads.warps[w].get(*r, lane) == v));
        let even = what.ty.bits() >= 32 || {
            let whole = self.core.values.bits(v, 32);
            let n = what.ty.bits() as u8;
            let low = self.core.values.store.extract(whole, 0, n);
            (1..32 / n).all(|i| self.core.values.store.extract(whole, i * n, n) == low)
        };
        if same && even {
            return Ok(());
        }
        Err(self.core.layout(
            w,
            u32::MAX,
            pc,
            "the registers are not one fragment in order",
        ))
    }

    /// Puts values into the registers of a fragment.
    fn scatter(&mut self, w: usize, what: Fragment, regs: &[RegId], values: &[Val]) {
        let bits = what.ty.bits() as u8;
        let n = (32 / bits as usize).max(1);
        for (slot, r) in regs.iter().enumerate() {
            for lane in 0..LANES {
                let v = if n == 1 {
                    values[place(what, regs.len(), lane, slot, 0)]
                } else {
                    let parts: Vec<TermId> = (0..n)
                        .map(|e| {
                            let v = values[place(what, regs.len(), lane, slot, e)];
                            self.core.values.bits(v, bits)
                        })
                        .collect();
                    let t = self.core.values.store.concat(&parts);
                    self.core.values.of_bits(t)
                };
                self.core.set(w, *r, lane, v);
            }
            if self.core.known_layout(what) {
                self.tasks.fragments.tags[w].remove(r);
                continue;
            }
            let tag = Tag {
                what,
                slot: slot as u8,
                history: 0,
            };
            self.tasks.fragments.tags[w].insert(*r, tag);
        }
    }

    /// The rows in memory, as targets, one for each row (or column) of the matrix, each with the number of the
    /// lane that accesses an element of it.
    fn wmma_lines(&mut self, w: usize, pc: Pc, m: &WmmaMove) -> Result<Vec<(Target, By)>, Stop> {
        let none = Under::none();
        let mut all = self.core.targets(
            At {
                w,
                exec: u32::MAX,
                pc,
            },
            m.space,
            m.addr,
            &none,
        )?;
        let v = self.core.src(w, m.stride, 0);
        let v = self.core.values.of_bits_plain(v, 32);
        let Val::Conc(stride) = v else {
            self.core.data_dependent_address(w, u32::MAX, pc, v);
            return Err(Stop::Finding);
        };
        let first = all.swap_remove(0);
        let differ = all.len() != LANES - 1
            || first.cond.is_some()
            || all
                .iter()
                .any(|t| (t.region, t.off) != (first.region, first.off))
            || (1..LANES).any(|l| {
                let other = self.core.src(w, m.stride, l);
                self.core.values.of_bits_plain(other, 32) != Val::Conc(stride)
            });
        if differ {
            let site = site(pc, w, u32::MAX, "give different addresses or strides");
            self.core
                .found
                .unknown(UnknownKind::Undefined, vec![site], || {
                    "the lanes of a warp must give wmma one address and one stride".into()
                });
            return Err(Stop::Finding);
        }
        let (rows, cols) = m.what.extent();
        let (lines, length) = if m.col { (cols, rows) } else { (rows, cols) };
        let size = m.what.ty.bits() as i64 / 8;
        let overlap = stride < u64::from(length);
        let matrices = &mut self.tasks.fragments.matrices;
        let line = |i: u32| {
            let at = (first.region, first.off);
            let which = if overlap { i + 1 } else { 0 };
            let matrix = (m.what, m.col, at.0, at.1, stride, which);
            let by = By::OneOf(matrices.insert_full(matrix).0 as u32);
            let target = Target {
                lane: 0,
                cond: None,
                region: first.region,
                off: first.off + i64::from(i) * stride as i64 * size,
                base: first.base,
            };
            (target, by)
        };
        Ok((0..u32::from(lines)).map(line).collect())
    }

    /// A line of a matrix, which its lanes access, and which of them, nothing says. Unordered writes come back.
    fn order_line(
        &mut self,
        (w, pc): (usize, Pc),
        (line, by): (Target, By),
        (size, length): (u32, u32),
        kind: AccessKind,
    ) -> Result<Vec<SameWrite>, Stop> {
        let mut every: Vec<Target> = (0..LANES).map(|lane| Target { lane, ..line }).collect();
        self.check_line((w, pc), &mut every, length * size, size, kind.writes())?;
        // Reads conflict by bytes, however wide they are.
        let bytes = size * length;
        let wide = !kind.writes() && (line.off | i64::from(bytes)) % 4 == 0;
        let elements = if wide { (4, bytes / 4) } else { (size, length) };
        let by = (View::Both, by);
        let found = self.order_collective((w, pc), &every, elements, kind, by)?;
        Ok(found.into_iter().map(|c| c.1).collect())
    }

    /// `wmma.load`.
    pub(in crate::sim) fn wmma_load(
        &mut self,
        w: usize,
        pc: Pc,
        (dsts, m): (&[RegId], &WmmaMove),
    ) -> Result<(), Stop> {
        let lines = self.wmma_lines(w, pc, m)?;
        let (rows, cols) = m.what.extent();
        let length = if m.col { rows } else { cols } as u32;
        let size = m.what.ty.bits() / 8;
        let ty = match m.what.ty {
            MatTy::Float(_) | MatTy::Packed(_) => m.what.ty.element(),
            MatTy::Int { width, .. } => NumTy::Int(IntTy {
                width,
                signed: false,
            }),
        };
        let mut values = vec![Val::Unset; rows as usize * cols as usize];
        for (i, (line, by)) in lines.into_iter().enumerate() {
            self.order_line((w, pc), (line, by), (size, length), AccessKind::Read)?;
            for j in 0..length {
                let at = line.off as u64 + (j * size) as u64;
                let v = self
                    .core
                    .load_one(LaneAt { w, lane: 0, pc }, line.region, at, ty);
                let (row, col) = if m.col {
                    (j as usize, i)
                } else {
                    (i, j as usize)
                };
                values[row * cols as usize + col] = v;
            }
        }
        self.core.threads.stats.accesses += values.len() as u64;
        self.scatter(w, m.what, dsts, &values);
        Ok(())
    }

    /// Bounds and alignment of one line: its last element lies in bounds if all do.
    fn check_line(
        &mut self,
        (w, pc): (usize, Pc),
        line: &mut Vec<Target>,
        bytes: u32,
        size: u32,
        write: bool,
    ) -> Result<(), Stop> {
        let wanted = line.len();
        self.check(w, pc, line, size, write);
        let by = (bytes - size) as i64;
        line.iter_mut().for_each(|t| t.off += by);
        self.check(w, pc, line, size, write);
        line.iter_mut().for_each(|t| t.off -= by);
        if line.len() != wanted {
            return Err(Stop::Finding);
        }
        Ok(())
    }

    /// `wmma.store`.
    pub(in crate::sim) fn wmma_store(
        &mut self,
        w: usize,
        pc: Pc,
        (srcs, m): (&[RegId], &WmmaMove),
    ) -> Result<(), Stop> {
        self.core.values.note_unset(w, pc);
        self.expect_fragment(w, pc, m.what, srcs)?;
        let values = self.core.gather(w, m.what, srcs);
        let lines = self.wmma_lines(w, pc, m)?;
        let (rows, cols) = m.what.extent();
        let length = if m.col { rows } else { cols } as u32;
        let size = m.what.ty.bits() / 8;
        for (i, (line, by)) in lines.into_iter().enumerate() {
            let found = self.order_line((w, pc), (line, by), (size, length), AccessKind::Write)?;
            self.core.note_role(w, pc, &line);
            for c in &found {
                self.sync.add_race(c.otherwise, c);
            }
            for j in 0..length {
                let at = line.off as u64 + (j * size) as u64;
                let (row, col) = if m.col {
                    (j as usize, i)
                } else {
                    (i, j as usize)
                };
                let t = values[row * cols as usize + col];
                let v = match m.what.ty {
                    MatTy::Float(f) | MatTy::Packed(f) if self.core.values.has_bit_factors() => {
                        self.core.values.of_factor(f, t)
                    }
                    MatTy::Float(f) | MatTy::Packed(f) => self.core.values.real_number(f, t),
                    MatTy::Int { .. } => self.core.values.of_bits(t),
                };
                let region = &mut self.core.memory.regions[line.region.0 as usize];
                region.store(&mut self.core.values, at, size, v);
            }
        }
        self.core.threads.stats.accesses += values.len() as u64;
        Ok(())
    }

    /// `wmma.mma`.
    pub(in crate::sim) fn wmma_mma(&mut self, w: usize, pc: Pc, m: &WmmaMma) -> Result<(), Stop> {
        self.core.values.note_unset(w, pc);
        for (what, regs) in [m.a, m.b, m.c].iter().zip(&m.srcs) {
            self.expect_fragment(w, pc, *what, regs)?;
        }
        let a = self.core.gather(w, m.a, &m.srcs[0]);
        let b = self.core.gather(w, m.b, &m.srcs[1]);
        let (rows, cols) = m.d.extent();
        let depth = m.a.extent().1 as usize;
        let cols = cols as usize;
        // The accumulator stays as it is, an open sum perhaps.
        let mut c = vec![Val::Unset; rows as usize * cols];
        if m.c.ty.bits() >= 32 {
            for (slot, r) in m.srcs[2].iter().enumerate() {
                for lane in 0..LANES {
                    c[place(m.c, m.srcs[2].len(), lane, slot, 0)] =
                        self.core.threads.warps[w].get(*r, lane);
                }
            }
        } else if let MatTy::Float(f) = m.c.ty {
            let reals = self.core.gather(w, m.c, &m.srcs[2]);
            let values = reals.into_iter().map(|t| self.core.values.of_factor(f, t));
            c = values.collect();
        }
        if let MatTy::Float(from) = m.c.ty {
            let product = Product {
                family: Family::Wmma,
                depth: depth as u16,
                factors: [m.a.ty, m.b.ty],
            };
            self.core.values.begin_product(pc, product, from);
        }
        let mut products = Vec::with_capacity(depth);
        let mut out = Vec::with_capacity(c.len());
        for (i, c) in c.into_iter().enumerate() {
            let (row, col) = (i / cols, i % cols);
            products.clear();
            products.extend((0..depth).map(|k| (a[row * depth + k], b[k * cols + col])));
            out.push(match m.d.ty {
                MatTy::Float(f) | MatTy::Packed(f) => {
                    let c = match m.c.ty {
                        MatTy::Float(g) if g != f => {
                            let c = self.core.values.as_factor(c, g);
                            self.core.values.of_factor(f, c)
                        }
                        _ => c,
                    };
                    self.core.values.accumulate(f, c, &products)
                }
                MatTy::Int { .. } => {
                    self.core
                        .values
                        .integer_sum(c, &products, (m.a.ty, m.b.ty), m.clamp)
                }
            });
        }
        self.scatter(w, m.d, &m.dsts, &out);
        Ok(())
    }
}

/// True for an operation of opaque fragments.
fn is_wmma(op: &Op) -> bool {
    let Op::Async(op) = op else {
        return false;
    };
    matches!(
        **op,
        AsyncOp::WmmaLoad { .. } | AsyncOp::WmmaStore { .. } | AsyncOp::WmmaMma(_)
    )
}
