//! The constants that a kernel chooses by, and inputs beside them.
//!
//! The problem: a maximum that starts at -50,000 is a maximum on all inputs that tests draw. The way: the constants that
//! reach an operand of a maximum, a minimum, a comparison or a choice, through moves, conversions and choices, are found in
//! the code, and inputs are drawn that lie as a whole below, above and on both sides of each, and at its double, its half and
//! its negative; where the kernel scales what it compares, at some power of two of it.
//!
//! Not claimed: that an input lies on both sides of a constant that is compared with anything but a multiple of an input;
//! constants in memory are not found.

use std::collections::BTreeMap;

use crate::kernel::{FloatOp, Fmt, Kernel, NumTy, Op, RegId, Src};
use crate::number;
use crate::number::random::Random;

use super::limits::LIMITS;

/// The finite constants of some kernels that are not 0, each once.
pub(super) fn constants<'a>(kernels: impl Iterator<Item = &'a Kernel>) -> Vec<f64> {
    let mut all: Vec<f64> = kernels.flat_map(of_kernel).collect();
    all.retain(|x| x.is_finite() && *x != 0.0);
    all.sort_by(f64::total_cmp);
    all.dedup();
    // Of too many the largest stand for what inputs seldom reach.
    all.sort_by(|a, b| b.abs().total_cmp(&a.abs()));
    all.truncate(LIMITS.constants);
    all
}

/// What reaches the operands of choices.
#[derive(Default)]
struct Search {
    /// Registers that do, each with the formats that it is read in.
    registers: BTreeMap<RegId, Vec<Fmt>>,
    todo: Vec<(RegId, Fmt)>,
    found: Vec<f64>,
}

impl Search {
    /// An operand that holds numbers of a format, in halves if it is wider.
    fn add(&mut self, fmt: Fmt, src: Src) {
        match src {
            Src::Imm(bits) => {
                self.found.push(number::to_double(fmt, bits));
                if fmt.bits() == 16 {
                    self.found.push(number::to_double(fmt, bits >> 16));
                }
            }
            Src::Reg(r) => {
                let known = self.registers.entry(r).or_default();
                if !known.contains(&fmt) {
                    known.push(fmt);
                    self.todo.push((r, fmt));
                }
            }
            Src::Global(..) | Src::Var(..) => {}
        }
    }

    fn all(&mut self, fmt: Fmt, srcs: &[Src]) {
        srcs.iter().for_each(|s| self.add(fmt, *s));
    }
}

/// The constants of one kernel.
fn of_kernel(kernel: &Kernel) -> Vec<f64> {
    let mut search = Search::default();
    // What moves numbers, by the register that it writes.
    let mut moves: BTreeMap<RegId, Vec<&Op>> = BTreeMap::new();
    for inst in &kernel.insts {
        match &inst.op {
            Op::Float { op, fmt, src, .. } if is_choice(*op) => {
                search.all(*fmt, &src[..op.arity()])
            }
            Op::Setp {
                ty: NumTy::Float(fmt),
                a,
                b,
                ..
            }
            | Op::Set {
                ty: NumTy::Float(fmt),
                a,
                b,
                ..
            } => {
                search.all(*fmt, &[*a, *b]);
            }
            Op::Selp { width, a, b, .. } => by_width(*width, |fmt| search.all(fmt, &[*a, *b])),
            Op::Slct {
                width,
                cty,
                a,
                b,
                c,
                ..
            } => {
                by_width(*width, |fmt| search.all(fmt, &[*a, *b]));
                if let NumTy::Float(fmt) = cty {
                    search.add(*fmt, *c);
                }
            }
            _ => {}
        }
        let written = match &inst.op {
            Op::Mov { dst, .. }
            | Op::Pack { dst, .. }
            | Op::Cvt { dst, .. }
            | Op::CvtNarrow { dst, .. }
            | Op::Selp { dst, .. } => Some(*dst),
            Op::Float {
                op: FloatOp::Neg | FloatOp::Abs,
                dst,
                ..
            } => Some(*dst),
            _ => None,
        };
        if let Some(dst) = written {
            moves.entry(dst).or_default().push(&inst.op);
        }
    }
    while let Some((register, fmt)) = search.todo.pop() {
        for op in moves.get(&register).into_iter().flatten() {
            match op {
                Op::Mov { src, .. } => search.add(fmt, *src),
                Op::Pack { srcs, .. } => search.all(fmt, srcs),
                Op::Selp { a, b, .. } => search.all(fmt, &[*a, *b]),
                Op::Cvt {
                    from: NumTy::Float(from),
                    src,
                    ..
                } => search.add(*from, *src),
                Op::CvtNarrow { from, parts, .. } => search.all(*from, parts),
                // A constant and its negative have inputs in common.
                Op::Float { src, .. } => search.add(fmt, src[0]),
                _ => {}
            }
        }
    }
    search.found
}

fn is_choice(op: FloatOp) -> bool {
    matches!(
        op,
        FloatOp::Min | FloatOp::Max | FloatOp::Min3 | FloatOp::Max3
    )
}

/// The formats of bits that are chosen as such.
fn by_width(width: u8, mut f: impl FnMut(Fmt)) {
    match width {
        16 => [Fmt::F16, Fmt::Bf16].into_iter().for_each(f),
        32 => f(Fmt::F32),
        64 => f(Fmt::F64),
        _ => {}
    }
}

/// Ways to lie beside a constant.
pub(super) const WAYS: usize = 8;

/// What is drawn once for an input beside a constant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    constant: f64,
    way: usize,
    /// A power of two.
    scale: f64,
}

impl Near {
    pub(super) fn new(constant: f64, way: usize, random: &mut Random) -> Near {
        let scale = libm::exp2(random.below(21) as f64 - 10.0);
        Near {
            constant,
            way,
            scale,
        }
    }

    /// A number at a position.
    pub(super) fn value(&self, random: &mut Random) -> f64 {
        let c = self.constant;
        let unit = (random.draw() >> 11) as f64 / (1u64 << 53) as f64;
        // A spread in which an exponential has values of every size, where the constant leaves room for it.
        let spread = (2.0 * unit - 1.0) * (c.abs() / 16.0).min(2.0);
        match self.way {
            0 => c - c.abs() / 8.0 + spread,
            1 => c + c.abs() / 8.0 + spread,
            // The numbers next to it in f32, and others near it.
            2 => {
                c * (1.0
                    + (random.below(5) as f64 - 2.0) * libm::exp2(-(random.below(21) as f64) - 3.0))
            }
            3 => 2.0 * c + spread,
            4 => c / 2.0 + spread,
            5 => -1.125 * c + spread,
            6 => c * self.scale * (1.0 + unit / 4.0),
            _ => -c * self.scale * (1.0 + unit / 4.0),
        }
    }
}
