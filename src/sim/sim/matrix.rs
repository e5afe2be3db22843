//! Matrix instructions of a warp: their dispatch, and the products of `mma.sync`.
//!
//! Which lane holds which element follows one formula for all dense shapes (PTX ISA 9.0, section
//! 9.7.14.5): with g = lane / 4, t = lane % 4 and E elements in a register of 32 bits (1 for tf32
//! and f64),
//!
//! * a, register r, element e: row g + 8 (r & 1), column E t + e + 4 E (r >> 1); 8 rows have
//!   register 0 only;
//! * b: row E t + e + 4 E r, column g;
//! * c and d, element i: row g + 8 (i >> 1), column 2 t + (i & 1).
//!
//! Over the reals a product is the sum that it says; the order and precision of the accumulation,
//! which the manual leaves open, are roundings. Integer products are exact modulo 2^32.

use crate::kernel::{MatTy, Mma, MmaForm, NumTy, Op, Pc, Src};
use crate::term::word::{Family, Product};
use crate::term::{BitsOp, TermId};

use super::int_sym;
use super::machine::{Core, Machine};
use super::stop::Stop;
use super::val::Val;
use super::value::Values;
use super::warp::LANES;

/// Elements of an operand in one register.
fn per_register(ty: MatTy) -> usize {
    (32 / ty.bits()).max(1) as usize
}

/// Row and column of an element of a, where a register has `e_count` elements.
fn place_a(m: u16, e_count: usize, lane: usize, r: usize, e: usize) -> (usize, usize) {
    let (g, t) = (lane / 4, lane % 4);
    if m == 8 {
        return (g, e_count * t + e + 4 * e_count * r);
    }
    (g + 8 * (r & 1), e_count * t + e + 4 * e_count * (r >> 1))
}

/// Row and column of an element of b.
fn place_b(e_count: usize, lane: usize, r: usize, e: usize) -> (usize, usize) {
    (e_count * (lane % 4) + e + 4 * e_count * r, lane / 4)
}

/// Row and column of element i of c or d.
fn place_c(lane: usize, i: usize) -> (usize, usize) {
    (lane / 4 + 8 * (i >> 1), 2 * (lane % 4) + (i & 1))
}

impl Values {
    /// Element e of a register that holds elements of a type: a real, or a 32-bit integer.
    fn matrix_element(&mut self, v: Val, ty: MatTy, e: usize) -> TermId {
        let (first, wide) = ty.field();
        match ty {
            MatTy::Float(f) if ty.bits() >= 32 => return self.as_factor(v, f),
            _ => {}
        }
        let whole = self.bits(v, 32);
        let part = self.field(whole, e as u8 * ty.bits() as u8 + first, wide);
        match ty {
            MatTy::Float(f) | MatTy::Packed(f) => {
                let part = self.of_bits(part);
                self.as_factor(part, f)
            }
            MatTy::Int { signed, .. } => self.extended(part, signed, 32),
        }
    }
}

impl Values {
    /// Element e of a register that holds elements of a type: a real, or a 32-bit integer.
    pub(super) fn matrix_operand(&mut self, v: Val, ty: MatTy, e: usize) -> TermId {
        let values = self;
        let v = values.matrix_bits(v, ty);
        match v {
            Val::Conc(bits) if values.numbers && values.words.is_none() => {
                let bits = bits >> (e as u32 * ty.bits()) & super::int::mask(ty.bits() as u8);
                if let Some(&t) = values.elements.get(&(ty, bits)) {
                    return t;
                }
                let t = values.matrix_element(Val::Conc(bits), ty, 0);
                values.elements.insert((ty, bits), t);
                t
            }
            _ => values.matrix_element(v, ty, e),
        }
    }

    /// c and the number of ones in each product of single bits.
    fn bit_products(&mut self, c: TermId, products: &[(TermId, TermId)], xor: bool) -> TermId {
        let s = &mut self.store;
        let op = if xor { BitsOp::Xor } else { BitsOp::And };
        let mut acc = c;
        for &(x, y) in products {
            let both = s.bits_op(op, x, y);
            let ones = int_sym::ones(s, both, 32);
            acc = s.bits_op(BitsOp::Add, acc, ones);
        }
        acc
    }
}

impl Core<'_> {
    /// The elements of an operand by row and column: reals, or 32-bit integers.
    pub(super) fn fragment(
        &mut self,
        w: usize,
        ty: MatTy,
        regs: &[Src],
        (rows, cols): (usize, usize),
        place: impl Fn(usize, usize, usize) -> (usize, usize),
    ) -> Vec<TermId> {
        let n = per_register(ty);
        let mut out = vec![TermId(0); rows * cols];
        for (r, reg) in regs.iter().enumerate() {
            for lane in 0..LANES {
                let v = self.src(w, *reg, lane);
                for e in 0..n {
                    let (row, col) = place(lane, r, e);
                    out[row * cols + col] = self.values.matrix_operand(v, ty, e);
                }
            }
        }
        out
    }

    fn mma(&mut self, w: usize, pc: Pc, m: &Mma) -> Result<(), Stop> {
        if let NumTy::Float(from) = m.c_ty {
            let family = match (&m.form, &m.sparse) {
                (MmaForm::Quads { .. }, _) => Family::Quads,
                (_, Some(_)) => Family::MmaSparse,
                (_, None) => Family::Mma,
            };
            let product = Product {
                family,
                depth: m.k,
                factors: [m.a_ty, m.b_ty],
            };
            self.values.begin_product(pc, product, from);
        }
        if let MmaForm::Quads { a_col, b_row } = m.form {
            let results = self.mma_m8n8k4(w, m, a_col, b_row);
            self.put_results(w, m, &results);
            return Ok(());
        }
        let (rows, depth) = (m.m as usize, m.k as usize);
        let (ea, eb) = (per_register(m.a_ty), per_register(m.b_ty));
        let held = if m.sparse.is_some() { depth / 2 } else { depth };
        let a = self.fragment(w, m.a_ty, &m.a, (rows, held), |l, r, e| {
            place_a(m.m, ea, l, r, e)
        });
        let columns = self.held_columns(w, pc, m)?;
        let b = self.fragment(w, m.b_ty, &m.b, (depth, 8), |l, r, e| place_b(eb, l, r, e));
        let (a, b) = match &m.scale {
            Some(scale) => {
                let (a, b) = self.values.unlike_bits((a, b), [m.a_ty, m.b_ty]);
                self.scaled((w, pc), scale, (a, b), &columns, depth)?
            }
            None => (a, b),
        };
        let count = rows * 8 / LANES;
        let mut results: Vec<Val> = Vec::with_capacity(rows * 8);
        let mut products: Vec<(TermId, TermId)> = Vec::with_capacity(depth);
        for lane in 0..LANES {
            for i in 0..count {
                let (row, col) = place_c(lane, i);
                products.clear();
                let at = &columns[row % columns.len()];
                products.extend((0..held).map(|i| (a[row * held + i], b[at[i] * 8 + col])));
                let d = match m.d_ty {
                    NumTy::Float(f) => {
                        let c = match m.c_ty {
                            t if t == m.d_ty && f.bits() > 16 => self.src(w, m.c[i], lane),
                            _ => {
                                let c = self.accumulator(w, lane, i, m);
                                self.values.of_factor(f, c)
                            }
                        };
                        self.values.accumulate(f, c, &products)
                    }
                    NumTy::Int(_) => {
                        let types = (m.a_ty, m.b_ty);
                        match m.form {
                            MmaForm::Bits { xor } => {
                                let c = self.accumulator(w, lane, i, m);
                                let t = self.values.bit_products(c, &products, xor);
                                self.values.of_bits(t)
                            }
                            _ => {
                                let c = self.src(w, m.c[i], lane);
                                self.values.integer_sum(c, &products, types, m.clamp)
                            }
                        }
                    }
                };
                results.push(d);
            }
        }
        self.put_results(w, m, &results);
        Ok(())
    }

    /// Writes the elements of d, lane by lane.
    fn put_results(&mut self, w: usize, m: &Mma, results: &[Val]) {
        let count = results.len() / LANES;
        for lane in 0..LANES {
            let own = &results[lane * count..][..count];
            match m.d_ty {
                NumTy::Float(f) if f.bits() == 16 => {
                    for (r, d) in m.d.iter().enumerate() {
                        let parts = [0, 1].map(|e| {
                            let v = own[2 * r + e];
                            self.values.bits(v, 16)
                        });
                        let t = self.values.store.concat(&parts);
                        let v = self.values.of_bits(t);
                        self.set(w, *d, lane, v);
                    }
                }
                _ => {
                    for (v, d) in own.iter().zip(&m.d) {
                        self.set(w, *d, lane, *v);
                    }
                }
            }
        }
    }

    /// Element i of c in a lane.
    pub(super) fn accumulator(&mut self, w: usize, lane: usize, i: usize, m: &Mma) -> TermId {
        match m.c_ty {
            NumTy::Float(f) if f.bits() == 16 => {
                let v = self.src(w, m.c[i / 2], lane);
                let whole = self.values.bits(v, 32);
                let part = self.values.field(whole, 16 * (i % 2) as u8, 16);
                let part = self.values.of_bits(part);
                self.values.as_factor(part, f)
            }
            NumTy::Float(f) => {
                let v = self.src(w, m.c[i], lane);
                self.values.as_factor(v, f)
            }
            NumTy::Int(_) => {
                let v = self.src(w, m.c[i], lane);
                self.values.bits(v, 32)
            }
        }
    }
}

impl Machine<'_> {
    /// Executes a matrix instruction in the lanes `exec`, which must be the whole warp.
    pub(super) fn matrix(&mut self, w: usize, exec: u32, pc: Pc) -> Result<(), Stop> {
        self.core.whole_warp(w, exec, pc)?;
        self.core.values.note_unset(w, pc);
        self.note_meeting(w, exec);
        match &self.core.inst(pc).op {
            Op::Mma(_) if self.core.values.omits && self.core.omit_product(w, pc) => Ok(()),
            Op::Mma(m) => self.core.mma(w, pc, m),
            Op::Ldmatrix {
                dsts,
                form,
                narrow,
                space,
                addr,
            } => self.ldmatrix(w, pc, dsts, (*form, *narrow), (*space, *addr)),
            Op::Stmatrix {
                srcs,
                form,
                space,
                addr,
            } => self.stmatrix(w, pc, srcs, *form, (*space, *addr)),
            Op::Movmatrix { dst, src } => {
                self.core.movmatrix(w, *dst, *src);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Fmt;

    /// Every element of every operand is held exactly once.
    #[test]
    fn layouts_are_bijections() {
        for (m, k, bits) in [
            (16u16, 8usize, 16u32),
            (16, 16, 16),
            (16, 4, 32),
            (16, 8, 32),
            (16, 16, 8),
            (16, 32, 8),
            (8, 16, 8),
            (8, 32, 4),
            (16, 32, 4),
            (16, 64, 4),
            (8, 4, 64),
            (16, 4, 64),
            (16, 8, 64),
            (16, 16, 64),
        ] {
            let e_count = (32 / bits).max(1) as usize;
            let rows = m as usize;
            let mut seen_a = vec![0; rows * k];
            let mut seen_b = vec![0; k * 8];
            let mut seen_c = vec![0; rows * 8];
            for lane in 0..LANES {
                for r in 0..rows * k / (LANES * e_count) {
                    for e in 0..e_count {
                        let (row, col) = place_a(m, e_count, lane, r, e);
                        seen_a[row * k + col] += 1;
                    }
                }
                for r in 0..k * 8 / (LANES * e_count) {
                    for e in 0..e_count {
                        let (row, col) = place_b(e_count, lane, r, e);
                        seen_b[row * 8 + col] += 1;
                    }
                }
                for i in 0..rows * 8 / LANES {
                    let (row, col) = place_c(lane, i);
                    seen_c[row * 8 + col] += 1;
                }
            }
            for seen in [seen_a, seen_b, seen_c] {
                assert!(seen.iter().all(|n| *n == 1), "m{m}k{k} of {bits} bits");
            }
        }
    }

    /// Where the manual's figures put some elements of m16n8k16 on f16.
    #[test]
    fn layouts_agree_with_the_manual() {
        assert_eq!(place_a(16, 2, 0, 0, 0), (0, 0));
        assert_eq!(place_a(16, 2, 1, 0, 1), (0, 3));
        assert_eq!(place_a(16, 2, 4, 1, 0), (9, 0));
        assert_eq!(place_a(16, 2, 31, 3, 1), (15, 15));
        assert_eq!(place_b(2, 5, 1, 0), (10, 1));
        assert_eq!(place_c(6, 3), (9, 5));
    }

    /// The format of an element fits its register.
    #[test]
    fn registers_hold_whole_elements() {
        assert_eq!(per_register(MatTy::Float(Fmt::F16)), 2);
        assert_eq!(per_register(MatTy::Float(Fmt::Tf32)), 1);
        assert_eq!(per_register(MatTy::Float(Fmt::F64)), 1);
        let s4 = MatTy::Int {
            width: 4,
            signed: true,
        };
        assert_eq!(per_register(s4), 8);
    }
}
