//! `mma.sync.m8n8k4` on f16: four products of eight lanes each.
//!
//! Source: PTX ISA 9.0, section 9.7.14.5.1. Quad q is made of the lanes 4 q to 4 q + 3 and 16 more. With p =
//! lane % 4 and h = 1 for the upper half of the warp, element i of a lane is
//!
//! * a by rows: row p + 4 h, column i; by columns: row i + 4 h, column p;
//! * b by columns: row i, column p + 4 h; by rows: row p, column i + 4 h;
//! * c and d of f16: row p + 4 h, column i; of f32: row (p & 1) + (i & 2) + 4 h, column (i & 4) + (p &
//!   2) + (i & 1).
//!
//! How this differs from the other products: c and d of different types lie in different lanes, so c
//! is gathered first. The four products stand below (a, c, d) and beside (b) each other.

use crate::kernel::{Fmt, MatTy, Mma, NumTy};
use crate::term::TermId;

use super::machine::Core;
use super::val::Val;
use super::warp::LANES;

/// The first row or column of a lane's quad, and the four that its half has.
fn origin(lane: usize) -> (usize, usize) {
    (8 * (lane % 16 / 4), 4 * (lane / 16))
}

/// Row and column of an element of c or d.
fn place(ty: NumTy, lane: usize, i: usize) -> (usize, usize) {
    let ((quad, half), p) = (origin(lane), lane % 4);
    if ty.bits() == 16 {
        return (quad + half + p, i);
    }
    (quad + half + (p & 1) + (i & 2), (i & 4) + (p & 2) + (i & 1))
}

impl Core<'_> {
    /// The elements of d, eight for each lane.
    pub(super) fn mma_m8n8k4(&mut self, w: usize, m: &Mma, a_col: bool, b_row: bool) -> Vec<Val> {
        let half_float = MatTy::Float(Fmt::F16);
        let a = self.fragment(w, half_float, &m.a, (32, 4), |lane, r, e| {
            let ((quad, half), i) = (origin(lane), 2 * r + e);
            match a_col {
                false => (quad + half + lane % 4, i),
                true => (quad + half + i, lane % 4),
            }
        });
        let b = self.fragment(w, half_float, &m.b, (4, 32), |lane, r, e| {
            let ((quad, half), i) = (origin(lane), 2 * r + e);
            match b_row {
                false => (i, quad + half + lane % 4),
                true => (lane % 4, quad + half + i),
            }
        });
        let mut c = vec![TermId(0); 32 * 8];
        for lane in 0..LANES {
            for i in 0..8 {
                let (row, col) = place(m.c_ty, lane, i);
                c[row * 8 + col] = self.accumulator(w, lane, i, m);
            }
        }
        let NumTy::Float(to) = m.d_ty else {
            return Vec::new();
        };
        let mut out = Vec::with_capacity(LANES * 8);
        for lane in 0..LANES {
            let quad = origin(lane).0;
            for i in 0..8 {
                let (row, col) = place(m.d_ty, lane, i);
                let products: Vec<(TermId, TermId)> = (0..4)
                    .map(|k| (a[row * 4 + k], b[k * 32 + quad + col]))
                    .collect();
                let start = self.values.of_factor(to, c[row * 8 + col]);
                out.push(self.values.accumulate(to, start, &products));
            }
        }
        out
    }
}
