//! Decoder of the operations on tensor memory: `tcgen05`.
//!
//! Source: PTX ISA 9.0, section 9.7.16.
//!
//! Not claimed: sparse products, `.ws`, `shift`, decompression, packing, reductions
//! while loading, scaled accumulators. Each is refused by name.

use super::lower::Lowerer;
use super::sig::{Decoded, ModSet, Sig, unsupported};
use super::tensor_op::{Collector, Lanes, TensorA, TensorCopy, TensorKind, TensorMma, TensorOp};
use super::{Addr, AsyncOp, Op, Space, Src};
use crate::ptx::{Mod, Op as Opcode, OperandKind, Type};

const COLLECTIVE: ModSet = ModSet::of(&[Mod::Sync, Mod::Aligned, Mod::CtaGroup1, Mod::CtaGroup2]);

impl Lowerer<'_> {
    fn emit_tensor(&mut self, op: TensorOp) -> Decoded<()> {
        self.emit(Op::Async(Box::new(AsyncOp::Tensor(Box::new(op)))));
        Ok(())
    }

    /// An address of tensor memory, which is 32 bits wide and in no window.
    fn tensor_address(&mut self, i: usize) -> Decoded<Addr> {
        Ok(self.address(i, Some(Space::Shared))?.1)
    }

    /// The operations of section 9.7.16.
    pub(super) fn decode_tensor(&mut self, sig: &Sig) -> Decoded<()> {
        match sig.op {
            Opcode::Tcgen05Alloc => {
                sig.only(COLLECTIVE)?;
                self.expect(2)?;
                let written = self.written_space(sig)?;
                let (space, addr) = self.address(0, written)?;
                let columns = self.src(1, Type::U32)?;
                self.emit_tensor(TensorOp::Alloc {
                    space,
                    addr,
                    columns,
                    pair: sig.has(Mod::CtaGroup2),
                })
            }
            Opcode::Tcgen05Dealloc => {
                sig.only(COLLECTIVE)?;
                self.expect(2)?;
                let at = self.src(0, Type::U32)?;
                let columns = self.src(1, Type::U32)?;
                let pair = sig.has(Mod::CtaGroup2);
                self.emit_tensor(TensorOp::Dealloc { at, columns, pair })
            }
            Opcode::Tcgen05RelinquishAllocPermit => {
                sig.only(COLLECTIVE)?;
                self.expect(0)?;
                self.emit_tensor(TensorOp::Relinquish(sig.has(Mod::CtaGroup2)))
            }
            Opcode::Tcgen05Ld | Opcode::Tcgen05St => self.decode_tensor_move(sig),
            Opcode::Tcgen05WaitLd | Opcode::Tcgen05WaitSt => {
                sig.only(COLLECTIVE)?;
                self.expect(0)?;
                self.emit_tensor(TensorOp::Wait(sig.op == Opcode::Tcgen05WaitSt))
            }
            Opcode::Tcgen05FenceBefore | Opcode::Tcgen05FenceAfter => {
                sig.only(ModSet::of(&[]))?;
                self.expect(0)?;
                self.emit_tensor(TensorOp::Fence(sig.op == Opcode::Tcgen05FenceAfter))
            }
            Opcode::Tcgen05Commit => {
                sig.only(
                    const {
                        ModSet::of(&[
                            Mod::CtaGroup1,
                            Mod::CtaGroup2,
                            Mod::MbarrierArriveOne,
                            Mod::MulticastCluster,
                        ])
                    },
                )?;
                let many = sig.has(Mod::MulticastCluster);
                self.expect(1 + usize::from(many))?;
                let written = self.written_space(sig)?;
                if many && written.is_none() {
                    // The assembler takes 32 and 64 bits here, and the manual does not say what 32 mean.
                    return unsupported("a commit to several CTAs without `.shared::cluster`");
                }
                let (space, addr) = self.address(0, written)?;
                let multicast = match many {
                    true => Some(self.src(1, Type::U16)?),
                    false => None,
                };
                self.emit_tensor(TensorOp::Commit {
                    space,
                    addr,
                    multicast,
                })
            }
            Opcode::Tcgen05Cp => self.decode_tensor_copy(sig),
            _ => self.decode_tensor_mma(sig),
        }
    }

    /// `tcgen05.ld` and `tcgen05.st`.
    fn decode_tensor_move(&mut self, sig: &Sig) -> Decoded<()> {
        let shapes = [
            (Mod::Lanes32x32b, Lanes::Rows32),
            (Mod::Lanes16x64b, Lanes::Rows16x64),
            (Mod::Lanes16x128b, Lanes::Rows16x128),
            (Mod::Lanes16x256b, Lanes::Rows16x256),
            (Mod::Lanes16x32bx2, Lanes::Halves(0)),
        ];
        let counts = [
            (Mod::X1, 1usize),
            (Mod::X2, 2),
            (Mod::X4, 4),
            (Mod::X8, 8),
            (Mod::X16, 16),
            (Mod::X32, 32),
            (Mod::X64, 64),
            (Mod::X128, 128),
        ];
        sig.only(
            const {
                COLLECTIVE.or(ModSet::of(&[
                    Mod::Lanes32x32b,
                    Mod::Lanes16x64b,
                    Mod::Lanes16x128b,
                    Mod::Lanes16x256b,
                    Mod::Lanes16x32bx2,
                    Mod::X1,
                    Mod::X2,
                    Mod::X4,
                    Mod::X8,
                    Mod::X16,
                    Mod::X32,
                    Mod::X64,
                    Mod::X128,
                ]))
            },
        )?;
        sig.no_space()?;
        if sig.ty()? != Type::B32 {
            return unsupported("a type other than `.b32`");
        }
        let mut lanes = sig.need(&shapes, "a shape")?;
        let count = sig.need(&counts, "the number of repetitions")? * lanes.registers();
        if count > 128 {
            return unsupported("more than 128 registers");
        }
        let load = sig.op == Opcode::Tcgen05Ld;
        let split = matches!(lanes, Lanes::Halves(_));
        self.expect(2 + usize::from(split))?;
        let at = self.tensor_address(usize::from(load))?;
        if split {
            let Src::Imm(half) = self.src(if load { 2 } else { 1 }, Type::S32)? else {
                return unsupported("a half offset that is not a constant");
            };
            lanes = Lanes::Halves(half as u32 as i32 as i64);
        }
        let op = if load {
            let dsts = self.matrix_regs(0, Type::B32, count)?;
            TensorOp::Load { lanes, at, dsts }
        } else {
            let srcs = self.matrix_srcs(1 + usize::from(split), Type::B32, count)?;
            TensorOp::Store { lanes, at, srcs }
        };
        self.emit_tensor(op)
    }

    /// `tcgen05.cp.cta_group.shape [to], descriptor;`
    fn decode_tensor_copy(&mut self, sig: &Sig) -> Decoded<()> {
        sig.only(
            const {
                ModSet::of(&[
                    Mod::CtaGroup1,
                    Mod::CtaGroup2,
                    Mod::Lanes128x256b,
                    Mod::Lanes4x256b,
                    Mod::Lanes128x128b,
                    Mod::Lanes64x128b,
                    Mod::Lanes32x128b,
                    Mod::Warpx2Even,
                    Mod::Warpx2Halves,
                    Mod::Warpx4,
                ])
            },
        )?;
        sig.no_space()?;
        let shapes = [
            (Mod::Lanes128x256b, TensorCopy::Rows128x256),
            (Mod::Lanes4x256b, TensorCopy::Rows4x256),
            (Mod::Lanes128x128b, TensorCopy::Rows128x128),
            (Mod::Warpx2Even, TensorCopy::Apart64x128),
            (Mod::Warpx2Halves, TensorCopy::Near64x128),
            (Mod::Warpx4, TensorCopy::All32x128),
        ];
        let shape = sig.need(&shapes, "a shape")?;
        self.expect(2)?;
        let to = self.tensor_address(0)?;
        let from = self.src(1, Type::B64)?;
        self.emit_tensor(TensorOp::Copy {
            to,
            from,
            shape,
            pair: sig.has(Mod::CtaGroup2),
        })
    }

    /// `tcgen05.mma.cta_group.kind [d], a, b-desc, idesc, {mask}, enable-input-d, scale-input-d;` and
    /// `tcgen05.mma.cta_group.kind.block_scale [d], a, b-desc, idesc, [scale-a], [scale-b], enable-input-d;`
    fn decode_tensor_mma(&mut self, sig: &Sig) -> Decoded<()> {
        sig.only(
            const {
                ModSet::of(&[
                    Mod::CtaGroup1,
                    Mod::CtaGroup2,
                    Mod::KindF16,
                    Mod::KindTf32,
                    Mod::KindF8f6f4,
                    Mod::KindI8,
                    Mod::KindMxf8f6f4,
                    Mod::KindMxf4,
                    Mod::KindMxf4nvf4,
                    Mod::BlockScale,
                    Mod::ScaleVec1X,
                    Mod::ScaleVec2X,
                    Mod::ScaleVec4X,
                    Mod::Block16,
                    Mod::Block32,
                    Mod::CollectorAFill,
                    Mod::CollectorAUse,
                    Mod::CollectorALastuse,
                    Mod::CollectorADiscard,
                ])
            },
        )?;
        sig.no_space()?;
        let kinds = [
            (Mod::KindF16, TensorKind::F16),
            (Mod::KindTf32, TensorKind::Tf32),
            (Mod::KindF8f6f4, TensorKind::F8),
            (Mod::KindI8, TensorKind::I8),
            (Mod::KindMxf8f6f4, TensorKind::Mx8),
            (Mod::KindMxf4, TensorKind::Mx4),
            (Mod::KindMxf4nvf4, TensorKind::Nv4),
        ];
        let kind = sig.need(&kinds, "its kind")?;
        let chunks = match (kind, sig.has(Mod::ScaleVec4X) || sig.has(Mod::Block16)) {
            (TensorKind::Mx4 | TensorKind::Nv4, false) => 2,
            (TensorKind::Nv4, true) => 4,
            _ => 1,
        };
        let collectors = [
            (Mod::CollectorAFill, Collector::Fill),
            (Mod::CollectorAUse, Collector::Use),
            (Mod::CollectorALastuse, Collector::LastUse),
        ];
        let collector = collectors.iter().find(|c| sig.has(c.0));
        let pair = sig.has(Mod::CtaGroup2);
        let d = self.tensor_address(0)?;
        let a = match self.operand(1)?.kind {
            OperandKind::Address(_) => TensorA::Tensor(self.tensor_address(1)?),
            _ => TensorA::Shared(self.src(1, Type::B64)?),
        };
        let b = self.src(2, Type::B64)?;
        let about = self.src(3, Type::B32)?;
        let (mut masked, mut scales, mut at) = (Vec::new(), None, 4);
        if sig.has(Mod::BlockScale) {
            scales = Some([self.tensor_address(4)?, self.tensor_address(5)?]);
            at = 6;
        } else if let OperandKind::Vector(_) = self.operand(4)?.kind {
            masked = self.matrix_srcs(4, Type::B32, if pair { 8 } else { 4 })?;
            at = 5;
        }
        self.expect_between(at + 1, at + 2)?;
        if self.ops.len() == at + 2 && self.src(at + 1, Type::U32)? != Src::Imm(0) {
            return unsupported("a scale of the accumulator");
        }
        let keep = self.pred(at)?;
        self.emit_tensor(TensorOp::Mma(Box::new(TensorMma {
            kind,
            pair,
            d,
            a,
            b,
            about,
            masked,
            keep,
            scales,
            chunks,
            collector: collector.map_or(Collector::Discard, |c| c.1),
        })))
    }
}
