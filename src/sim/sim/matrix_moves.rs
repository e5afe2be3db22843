//! Matrices between shared memory and the registers of a warp: `ldmatrix`, `stmatrix`, `movmatrix`.
//!
//! Problem: lanes give addresses of rows of 16 bytes, and each register of each lane holds four bytes of
//! them. Which ones (PTX ISA 9.0, sections 9.7.14.5.15 to 9.7.14.5.17) one function says for all forms: with
//! g = lane / 4 and t = lane % 4, byte b of register r is
//!
//! * by rows: byte 4 t + b of row 8 r + g;
//! * by columns of 16 bits: byte 2 g + b % 2 of row 8 r + 2 t + b / 2;
//! * of 16x16 bytes, transposed: byte g + 8 (r % 2) of row 16 (r / 2) + 4 t + b, so that registers hold what an
//!   8-bit factor a of `mma` wants;
//! * of 16x8 bytes, transposed: byte g + 8 (b / 2) of row 8 r + 2 t + b % 2, so that they hold an accumulator of
//!   `mma` that became bytes.
//!
//! The manual shows the last two in figures only; CuTe's layouts of these instructions say the same.
//!
//! Not claimed: what the upper bits of a widened element are. The manual calls them padding; that they
//! are zeros is an assumption, which the report lists.

use crate::answer::AssumptionKind;
use crate::kernel::{Addr, IntTy, MatrixForm, NumTy, Pc, RegId, Space, Src};
use crate::sim::at::{At, LaneAt};
use crate::term::TermId;

use super::attribution::exec::of_both_views;
use super::machine::{Core, Machine};
use super::place::Target;
use super::race::View;
use super::race::{AccessKind, By, SameWrite};
use super::step::Under;
use super::stop::Stop;
use super::val::Val;
use super::warp::LANES;

/// Bytes of a row.
const ROW: usize = 16;

/// Unordered writes of the same bytes, by target.
type Conflicts = Vec<(usize, SameWrite)>;

/// An integer of so many bytes.
const fn whole(bytes: usize) -> NumTy {
    NumTy::Int(IntTy {
        width: 8 * bytes as u8,
        signed: false,
    })
}

/// Row and byte of a byte of a register.
fn place(form: MatrixForm, lane: usize, r: usize, b: usize) -> (usize, usize) {
    let (g, t) = (lane / 4, lane % 4);
    match form {
        MatrixForm::Rows => (8 * r + g, 4 * t + b),
        MatrixForm::Columns => (8 * r + 2 * t + b / 2, 2 * g + b % 2),
        MatrixForm::Square => (16 * (r / 2) + 4 * t + b, g + 8 * (r % 2)),
        MatrixForm::Pairs => (8 * r + 2 * t + b % 2, g + 8 * (b / 2)),
    }
}

/// How many bytes stay neighbours.
fn piece(form: MatrixForm) -> usize {
    match form {
        MatrixForm::Rows => 4,
        MatrixForm::Columns => 2,
        MatrixForm::Square | MatrixForm::Pairs => 1,
    }
}

impl Core<'_> {
    /// Lane (g, t) gets elements (2t, g) and (2t + 1, g) of the matrix that is held by rows.
    pub(super) fn movmatrix(&mut self, w: usize, dst: RegId, src: Src) {
        let held: Vec<TermId> = (0..LANES)
            .map(|lane| {
                let v = self.src(w, src, lane);
                self.values.bits(v, 32)
            })
            .collect();
        for lane in 0..LANES {
            let (g, t) = (lane / 4, lane % 4);
            let parts = [0, 1].map(|e| {
                let from = held[(2 * t + e) * 4 + g / 2];
                self.values.field(from, 16 * (g % 2) as u8, 16)
            });
            let v = self.values.store.concat(&parts);
            let v = self.values.of_bits(v);
            self.set(w, dst, lane, v);
        }
    }
}

impl Machine<'_> {
    /// The rows of the matrices: their targets in order.
    fn matrix_rows(
        &mut self,
        (w, pc): (usize, Pc),
        count: usize,
        (space, addr): (Space, Addr),
        kind: AccessKind,
    ) -> Result<Vec<Target>, Stop> {
        let mask = (u64::from(u32::MAX) >> (LANES - count)) as u32;
        let mut rows = self
            .core
            .targets(At { w, exec: mask, pc }, space, addr, &Under::none())?;
        let wanted = rows.len();
        self.check(w, pc, &mut rows, ROW as u32, kind.writes());
        if rows.len() != wanted {
            return Err(Stop::Finding);
        }
        if wanted != count {
            let v = match addr.base {
                Src::Reg(_) => self.core.src(w, addr.base, 0),
                _ => Val::Conc(0),
            };
            self.core.data_dependent_address(w, mask, pc, v);
            return Err(Stop::Finding);
        }
        self.core.threads.stats.accesses += wanted as u64;
        Ok(rows)
    }

    /// Tells the order of accesses what lanes read or write: the rows whose addresses they give, or what they hold
    /// of rows, whoever gave the addresses. Unordered writes come back by row.
    fn order_rows(
        &mut self,
        (w, pc): (usize, Pc),
        rows: &[Target],
        registers: usize,
        (form, narrow): (MatrixForm, Option<u8>),
        kind: AccessKind,
    ) -> Result<Conflicts, Stop> {
        let piece = piece(form);
        let size = piece.min(2);
        let whole = (size as u32, (ROW / size) as u32);
        let at = (w, pc);
        let giver = self.order_collective(at, rows, whole, kind, (View::Giver, By::Lanes))?;
        let mut holder = Conflicts::new();
        let mut targets = Vec::with_capacity(LANES);
        for r in 0..registers {
            for b in (0..4).step_by(piece) {
                targets.clear();
                let mut row_of = [0; LANES];
                for (lane, of_lane) in row_of.iter_mut().enumerate() {
                    let (row, byte) = place(form, lane, r, b);
                    *of_lane = row;
                    let mut target = rows[row];
                    target.lane = lane;
                    if narrow.is_none() {
                        target.off += byte as i64;
                    }
                    targets.push(target);
                }
                // Where elements are packed, a row is read as a whole.
                let elements = match narrow {
                    None => (size as u32, (piece / size) as u32),
                    Some(_) => (1, ROW as u32),
                };
                let as_holder = (View::Holder, By::Lanes);
                let found = self.order_collective(at, &targets, elements, kind, as_holder)?;
                holder.extend(found.into_iter().map(|(lane, c)| (row_of[lane], c)));
            }
        }
        if narrow.is_none() {
            self.note_rows(w, rows, form, kind.writes());
        }
        Ok(of_both_views(giver, holder))
    }

    /// `ldmatrix`; `narrow` are the bits of an element in memory that becomes a byte.
    pub(super) fn ldmatrix(
        &mut self,
        w: usize,
        pc: Pc,
        dsts: &[RegId],
        (form, narrow): (MatrixForm, Option<u8>),
        at: (Space, Addr),
    ) -> Result<(), Stop> {
        let piece = piece(form);
        let rows = self.matrix_rows((w, pc), form.rows(dsts.len()), at, AccessKind::Read)?;
        self.order_rows((w, pc), &rows, dsts.len(), (form, narrow), AccessKind::Read)?;
        if narrow.is_some() {
            self.core.found.assumptions.insert(AssumptionKind::Machine.says("an element of four or six bits that `ldmatrix` widens stands in the low bits of its byte, \
                 with zeros above it"));
        }
        for (r, d) in dsts.iter().enumerate() {
            for lane in 0..LANES {
                let from = |b: usize| {
                    let (row, byte) = place(form, lane, r, b);
                    let row = &rows[row];
                    (row.region, row.off as u64, byte)
                };
                if let (4, None) = (piece, narrow) {
                    let (region, off, byte) = from(0);
                    let v = self.core.load_one(
                        LaneAt { w, lane, pc },
                        region,
                        off + byte as u64,
                        whole(4),
                    );
                    self.core.set(w, *d, lane, v);
                    continue;
                }
                let mut parts = [TermId(0); 4];
                let mut n = 0;
                let step = if narrow.is_some() { 1 } else { piece };
                for b in (0..4).step_by(step) {
                    let (region, off, byte) = from(b);
                    let bits = |m: &mut Self, at: u64, bytes: usize| {
                        let v = m
                            .core
                            .load_one(LaneAt { w, lane, pc }, region, at, whole(bytes));
                        m.core.values.bits(v, 8 * bytes as u8)
                    };
                    parts[n] = match narrow {
                        None => bits(self, off + byte as u64, step),
                        Some(width) => {
                            // An element may lie in two bytes.
                            let low = byte * usize::from(width);
                            let last = (low + usize::from(width) - 1) / 8;
                            let both = [low / 8, last].map(|i| bits(self, off + i as u64, 1));
                            let two = 1 + usize::from(last > low / 8);
                            let held = self.core.values.store.concat(&both[..two]);
                            let element = self.core.values.field(held, (low % 8) as u8, width);
                            let zeros = self.core.values.store.bits(8 - width, 0);
                            self.core.values.store.concat(&[element, zeros])
                        }
                    };
                    n += 1;
                }
                let t = self.core.values.store.concat(&parts[..n]);
                let v = self.core.values.of_bits(t);
                self.core.set(w, *d, lane, v);
            }
        }
        Ok(())
    }

    /// `stmatrix`.
    pub(super) fn stmatrix(
        &mut self,
        w: usize,
        pc: Pc,
        srcs: &[Src],
        form: MatrixForm,
        at: (Space, Addr),
    ) -> Result<(), Stop> {
        // Elements are what is stored, and what conflicts are about.
        let size = piece(form).min(2);
        let rows = self.matrix_rows((w, pc), form.rows(srcs.len()), at, AccessKind::Write)?;
        let conflicts =
            self.order_rows((w, pc), &rows, srcs.len(), (form, None), AccessKind::Write)?;
        // Where each element of each row is held: lane, register and first bit.
        let per_row = ROW / size;
        let mut held = vec![(0, 0, 0); rows.len() * per_row];
        for lane in 0..LANES {
            for r in 0..srcs.len() {
                for b in (0..4).step_by(size) {
                    let (row, byte) = place(form, lane, r, b);
                    held[row * per_row + byte / size] = (lane, r, 8 * b as u8);
                }
            }
        }
        // Row by row, so that each is compared with what the ones before it stored.
        for (i, target) in rows.iter().enumerate() {
            let mine = |c: &&(usize, SameWrite)| c.0 == i;
            let found: Vec<SameWrite> = conflicts.iter().filter(mine).map(|c| c.1).collect();
            for word in 0..4 {
                let at = target.off as u64 + 4 * word as u64;
                let here = &held[i * per_row + word * 4 / size..][..4 / size];
                let mut parts = [TermId(0); 4];
                for (part, &(lane, r, low)) in parts.iter_mut().zip(here) {
                    let v = self.core.src(w, srcs[r], lane);
                    let all = self.core.values.bits(v, 32);
                    *part = self.core.values.field(all, low, 8 * size as u8);
                }
                let parts = &parts[..here.len()];
                let upon = |o: u64| found.iter().filter(move |c| c.offset == o);
                let mut each = (at..at + 4).step_by(size);
                let first = upon(at).count();
                let mut forget = false;
                // A word that is written twice as a whole is compared as one.
                if each.all(|o| upon(o).count() == first) {
                    if first > 0 {
                        let t = self.core.values.store.concat(parts);
                        let v = self.core.values.of_bits(t);
                        for c in upon(at) {
                            let left = self.same_value(target.region, (at, 4), (v, v), whole(4), c);
                            forget |= left != v;
                        }
                    }
                } else {
                    for (at, t) in (at..).step_by(size).zip(parts) {
                        let v = self.core.values.of_bits(*t);
                        for c in upon(at) {
                            let (bytes, ty) = (size as u32, whole(size));
                            let left = self.same_value(target.region, (at, bytes), (v, v), ty, c);
                            forget |= left != v;
                        }
                    }
                }
                for (at, t) in (at..).step_by(size).zip(parts) {
                    let t = match forget {
                        true => self.core.values.store.faced(*t),
                        false => *t,
                    };
                    let v = self.core.values.of_bits(t);
                    let region = &mut self.core.memory.regions[target.region.0 as usize];
                    region.store(&mut self.core.values, at, size as u32, v);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte of every row is held exactly once, and pieces are neighbours.
    #[test]
    fn forms_are_bijections() {
        for (form, registers) in [
            (MatrixForm::Rows, 4),
            (MatrixForm::Columns, 4),
            (MatrixForm::Square, 4),
            (MatrixForm::Pairs, 4),
            (MatrixForm::Square, 2),
        ] {
            let mut seen = vec![0; form.rows(registers) * ROW];
            for lane in 0..LANES {
                for r in 0..registers {
                    for b in 0..4 {
                        let (row, byte) = place(form, lane, r, b);
                        seen[row * ROW + byte] += 1;
                        let first = b - b % piece(form);
                        let (row0, byte0) = place(form, lane, r, first);
                        assert_eq!((row, byte), (row0, byte0 + b - first));
                    }
                }
            }
            assert!(seen.iter().all(|n| *n == 1), "{form:?}");
        }
    }
}
