//! Open sums of integers.
//!
//! Problem: the same as that of reals. An integer matrix product makes as many multiply-adds, and
//! its sums are exact modulo 2^32 or 2^64, so that their order says as little. Here is how such a
//! sum begins, what adds many products at once, and what term it becomes.
//!
//! What it stands for is what the chain of `add` and `mul` terms stands for, and short sums become
//! exactly that chain. Not claimed: anything about 8 or 16 bits, which PTX does not add up.

use super::{NOTHING, OpenSum};
use crate::sim::limits::LIMITS;
use crate::sim::val::Val;
use crate::sim::value::Values;
use crate::term::{BitsOp, Term, TermId};

impl Values {
    /// The constant 1 in 32 or 64 bits.
    #[inline]
    pub fn bits_one(&mut self, width: u8) -> TermId {
        let slot = (width == 64) as usize;
        match self.bit_ones[slot] {
            Some(t) => t,
            None => {
                let t = self.store.bits(width, 1);
                self.bit_ones[slot] = Some(t);
                t
            }
        }
    }

    /// The open sum that an integer addend is, or can start: bits that are a sum already.
    #[inline]
    pub fn opened_bits(&mut self, width: u8, v: Val) -> Option<OpenSum> {
        match v {
            Val::Sum(w, s) if w == width => Some(s),
            Val::Bits(t) if self.store.is_plain_bits(t, width) => match self.store.get(t) {
                Term::BitsOp(BitsOp::Add, ..) | Term::BitsSum(_) => Some(self.start_bits(width, t)),
                _ => None,
            },
            _ => None,
        }
    }

    fn start_bits(&mut self, width: u8, t: TermId) -> OpenSum {
        let one = self.bits_one(width);
        self.open.start(NOTHING, &[[t.0, one.0]])
    }

    /// `c` plus the sum of the products, modulo 2^width for a width of 32 or 64.
    pub fn accumulate_bits(&mut self, width: u8, c: Val, products: &[(TermId, TermId)]) -> Val {
        let one = self.bits_one(width);
        let mut open = match c {
            Val::Sum(w, s) if w == width => Some(s),
            _ => None,
        };
        for &(x, y) in products {
            // 0 * y = 0 for a y that is defined.
            let vanishes = |x, y| self.store.as_bits(x) == Some(0) && self.store.is_total(y);
            if vanishes(x, y) || vanishes(y, x) {
                continue;
            }
            let sum = match open {
                Some(s) => s,
                None => {
                    let t = self.bits(c, width);
                    self.start_bits(width, t)
                }
            };
            open = Some(self.open.append(sum, x, y, one));
        }
        match open {
            Some(s) => Val::Sum(width, s),
            None => self.of_bits_plain(c, width),
        }
    }

    /// The term of an open sum of bits.
    pub fn close_bits(&mut self, width: u8, s: OpenSum) -> TermId {
        if let Some(t) = self.open.closed(s) {
            return t;
        }
        let one = self.bits_one(width);
        self.open.collect(s, one);
        let mut products = std::mem::take(&mut self.open.scratch);
        let t = if products.len() <= LIMITS.chain {
            let mut t = None;
            for &(x, y) in &products {
                let p = self.store.bits_op(BitsOp::Mul, x, y);
                t = Some(t.map_or(p, |t| self.store.bits_op(BitsOp::Add, t, p)));
            }
            t.unwrap_or_else(|| self.store.bits(width, 0))
        } else {
            self.unroll_bits(&mut products, one);
            self.flatten(&mut products, one);
            self.store.bits_sum(width, &products)
        };
        self.open.scratch = products;
        self.open.set_closed(s, t);
        self.keep_interval(Val::Sum(width, s), Val::Bits(t));
        t
    }

    /// Replaces a first term that is itself a long sum by its products, unless they are many more than
    /// the others: sums that are read now and then are flat, and what all of them hold together is
    /// at most a few times what was added.
    fn flatten(&self, products: &mut Vec<(TermId, TermId)>, one: TermId) {
        let (base, y) = products[0];
        let Term::BitsSum(list) = self.store.get(base) else {
            return;
        };
        let (pairs, _) = list.as_chunks::<2>();
        if y != one || pairs.len() > LIMITS.open_growth * products.len() {
            return;
        }
        products.swap_remove(0);
        products.extend(pairs.iter().map(|p| (TermId(p[0]), TermId(p[1]))));
    }

    /// Replaces a first term that is a short chain of additions by its operands.
    fn unroll_bits(&mut self, products: &mut Vec<(TermId, TermId)>, one: TermId) {
        for _ in 0..LIMITS.chain {
            let (base, y) = products[0];
            let Term::BitsOp(BitsOp::Add, a, b) = self.store.get(base) else {
                break;
            };
            if y != one {
                return;
            }
            // The operand that is a sum itself stays in front.
            let is_sum = matches!(
                self.store.get(a),
                Term::BitsOp(BitsOp::Add, ..) | Term::BitsSum(_)
            );
            let (first, other) = if is_sum { (a, b) } else { (b, a) };
            products[0] = (first, one);
            products.push(self.store.factors(other));
        }
        if products[0].1 == one {
            products[0] = self.store.factors(products[0].0);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::{IntOp, IntTy};
    use crate::sim::int;
    use crate::sim::int_sym::symbolic;
    use crate::term::ArrayId;
    use crate::term::eval::{Inputs, Mode, Value, evaluate};

    const EXACT: Mode = Mode::exact(64);
    const WORDS: usize = 4;

    /// What a kernel does with registers: an operation, a copy by way of memory.
    #[derive(Clone, Debug)]
    struct Step {
        kind: u8,
        signed: bool,
        dst: usize,
        src: [usize; 3],
    }

    /// A 32-bit factor: an input word, one of its bytes extended, a constant, or what a register holds.
    fn source(v: &mut Values, i: usize, input: &[u32], regs: &[(Val, u64)]) -> (Val, u64) {
        let word = |v: &mut Values, k: usize| v.store.bytes(ArrayId(0), 4 * k as u64, 32);
        match i {
            0..WORDS => (Val::Bits(word(v, i)), input[i] as u64),
            4..12 => {
                let (k, signed) = (i % WORDS, i < 8);
                let w = word(v, k);
                let byte = v.field(w, 8, 8);
                let x = (input[k] >> 8) as u8;
                let x = if signed { x as i8 as u32 } else { x as u32 };
                (Val::Bits(v.extended(byte, signed, 32)), x as u64)
            }
            12..15 => {
                let c = [0, 1, 0xffff_fffd][i - 12];
                (Val::Conc(c), c)
            }
            _ => {
                let t = v.bits(regs[i % regs.len()].0, 32);
                (v.of_bits(t), regs[i % regs.len()].1 & 0xffff_ffff)
            }
        }
    }

    fn step() -> impl Strategy<Value = Step> {
        let parts = (
            0u8..12,
            any::<bool>(),
            0usize..4,
            [0usize..18, 0usize..18, 0usize..4],
        );
        parts.prop_map(|(kind, signed, dst, src)| Step {
            kind,
            signed,
            dst,
            src,
        })
    }

    proptest! {
        /// Registers of 64 bits, of which the first two are used as such of 32.
        #[test]
        fn an_open_sum_is_what_the_machine_adds_up(
            steps in proptest::collection::vec(step(), 1..90),
            input in proptest::collection::vec(any::<u32>(), WORDS),
        ) {
            let mut v = Values::default();
            let mut regs = [(Val::Conc(0), 0u64); 4];
            for s in &steps {
                let wide = s.dst >= 2;
                let width = if wide { 64 } else { 32 };
                let ty = |width| IntTy { width, signed: s.signed };
                let (x, y) = (
                    source(&mut v, s.src[0], &input, &regs),
                    source(&mut v, s.src[1], &input, &regs),
                );
                let c = regs[s.src[2] % 2 + 2 * wide as usize];
                let zero = (Val::Conc(0), 0);
                let (op, ty, args) = match (s.kind, wide) {
                    (0, _) => {
                        let t = v.bits(c.0, width);
                        regs[s.dst] = (v.of_bits(t), c.1);
                        continue;
                    }
                    (1, _) => {
                        regs[s.dst] = c;
                        continue;
                    }
                    (2, false) => (IntOp::Dp4a(s.signed, !s.signed), ty(32), [x, y, c, zero]),
                    (3 | 4, false) => {
                        let p = v.plain_product(IntOp::MulLo, ty(32), [x.0, y.0, zero.0, zero.0]);
                        let p = (p.unwrap_or(x.0), if p.is_some() { x.1 * y.1 } else { x.1 });
                        (IntOp::Add, ty(32), [c, (p.0, p.1 & 0xffff_ffff), zero, zero])
                    }
                    (5, _) => {
                        let other = regs[s.src[0] % 2 + 2 * wide as usize];
                        (IntOp::Add, ty(width), [other, c, zero, zero])
                    }
                    (_, false) => (IntOp::MadLo, ty(32), [x, y, c, zero]),
                    (_, true) => (IntOp::MadWide, ty(32), [x, y, c, zero]),
                };
                let exact = int::eval(op, ty, args.map(|a| a.1)).0;
                let vals = args.map(|a| a.0);
                let result = v.grown_bits(op, ty, vals).unwrap_or_else(|| {
                    let widths = [ty.width, ty.width, width, width];
                    let terms = std::array::from_fn(|i| v.bits(vals[i], widths[i]));
                    let t = symbolic(&mut v.store, op, ty, terms).expect("arithmetic");
                    v.of_bits(t)
                });
                regs[s.dst] = (result, exact);
            }
            let mut inputs = Inputs::default();
            for (i, x) in input.iter().enumerate() {
                inputs.set(ArrayId(0), 4 * i as u64, 4, *x as u64);
            }
            let widths = [32, 32, 64, 64];
            let roots: Vec<TermId> = (0..4).map(|i| v.bits(regs[i].0, widths[i])).collect();
            let values = evaluate(&v.store, &roots, &inputs, EXACT);
            for i in 0..4 {
                prop_assert_eq!(&values[i], &Value::Bits(regs[i].1), "register {}", i);
            }
            // A number that a sum is read as is that of its bits.
            let reals: Vec<TermId> = roots.iter().map(|t| v.store.of_int(true, *t)).collect();
            let values = evaluate(&v.store, &reals, &inputs, EXACT);
            for (i, width) in widths.into_iter().enumerate() {
                let shift = 64 - width as u32;
                let n = (regs[i].1 << shift) as i64 >> shift;
                let exact = num_rational::BigRational::from_integer(n.into());
                prop_assert_eq!(&values[i], &Value::Exact(exact), "register {}", i);
            }
        }
    }

    /// However they come, the same products are the same term.
    #[test]
    fn the_order_of_products_says_nothing() {
        let mut v = Values::default();
        let x: Vec<TermId> = (0..64)
            .map(|i| v.store.bytes(ArrayId(0), 4 * i, 32))
            .collect();
        let products: Vec<_> = x.chunks(2).map(|p| (p[0], p[1])).collect();
        let mut swapped: Vec<_> = products.iter().rev().map(|&(a, b)| (b, a)).collect();
        let one = |v: &mut Values, p: &[_]| {
            let sum = v.accumulate_bits(32, Val::Conc(0), p);
            v.bits(sum, 32)
        };
        let all = one(&mut v, &products);
        assert_eq!(all, one(&mut v, &swapped));
        swapped[3].0 = x[0];
        assert_ne!(all, one(&mut v, &swapped));
        // Read in the middle, it goes on as the same sum.
        let mut sum = Val::Conc(0);
        for part in products.chunks(11) {
            sum = v.accumulate_bits(32, sum, part);
            sum = v.settled(sum);
        }
        assert_eq!(all, v.bits(sum, 32));
    }
}
