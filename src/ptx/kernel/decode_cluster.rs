//! Decoder of the operations among the CTAs of a cluster.
//!
//! Source: PTX ISA 9.0, sections 9.7.9.12, 9.7.9.23, 9.7.9.24, 9.7.13.3, 9.7.13.7, 9.7.13.17 and 9.7.13.18.

use super::cluster_op::{ClusterOp, RemoteStore};
use super::decode_bulk::REDUCTIONS;
use super::lower::Lowerer;
use super::operand::Fit;
use super::sig::{Decoded, ModSet, Sig, num_type, unsupported};
use super::{AsyncOp, Space, Src};
use crate::ptx::{Mod, Op as Opcode, OperandKind, Type};

impl Lowerer<'_> {
    fn emit_cluster(&mut self, op: ClusterOp) -> Decoded<()> {
        self.emit_async(AsyncOp::Cluster(Box::new(op)))
    }

    /// `barrier.cluster.arrive`, `barrier.cluster.wait`, `mapa`, `getctarank`.
    pub(super) fn decode_cluster(&mut self, sig: &Sig) -> Decoded<()> {
        match sig.op {
            Opcode::BarrierClusterArrive => {
                sig.only(const { ModSet::of(&[Mod::Release, Mod::Relaxed, Mod::Aligned]) })?;
                self.expect(0)?;
                self.emit_cluster(ClusterOp::Arrive {
                    release: !sig.has(Mod::Relaxed),
                    aligned: sig.has(Mod::Aligned),
                })
            }
            Opcode::BarrierClusterWait => {
                sig.only(const { ModSet::of(&[Mod::Acquire, Mod::Aligned]) })?;
                self.expect(0)?;
                self.emit_cluster(ClusterOp::Wait {
                    aligned: sig.has(Mod::Aligned),
                })
            }
            Opcode::Mapa => {
                sig.only(ModSet::of(&[]))?;
                let ty = self.window_type(sig)?;
                self.expect(3)?;
                let dst = self.dst(0, ty)?;
                let from = self.in_shared(1, ty)?;
                let rank = self.src(2, Type::U32)?;
                self.emit_cluster(ClusterOp::Map { dst, from, rank })
            }
            Opcode::StAsync | Opcode::RedAsync => self.decode_remote_store(sig),
            Opcode::ClusterlaunchcontrolTryCancel => {
                const ALL: ModSet = ModSet::of(&[
                    Mod::Async,
                    Mod::MbarrierCompleteTxBytes,
                    Mod::MulticastClusterAll,
                ]);
                sig.only(ALL)?;
                self.expect(2)?;
                let written = self.written_space(sig)?;
                let (space, to) = self.address(0, written)?;
                let (_, object) = self.address(1, written)?;
                self.emit_cluster(ClusterOp::Cancel {
                    space,
                    to,
                    object,
                    all: sig.has(Mod::MulticastClusterAll),
                })
            }
            Opcode::ClusterlaunchcontrolQueryCancel => self.decode_query(sig),
            _ => {
                sig.only(ModSet::of(&[]))?;
                let ty = self.window_type(sig)?;
                self.expect(2)?;
                let dst = self.dst(0, Type::U32)?;
                let from = self.in_shared(1, ty)?;
                self.emit_cluster(ClusterOp::Rank { dst, from })
            }
        }
    }

    /// `clusterlaunchcontrol.query_cancel.is_canceled p, response;` and `.get_first_ctaid d, response;`
    fn decode_query(&mut self, sig: &Sig) -> Decoded<()> {
        const ONE: [(Mod, u8); 3] = [
            (Mod::GetFirstCtaidX, 0),
            (Mod::GetFirstCtaidY, 1),
            (Mod::GetFirstCtaidZ, 2),
        ];
        sig.only(
            const {
                ModSet::of(&[
                    Mod::IsCanceled,
                    Mod::GetFirstCtaid,
                    Mod::GetFirstCtaidX,
                    Mod::GetFirstCtaidY,
                    Mod::GetFirstCtaidZ,
                    Mod::V4,
                ])
            },
        )?;
        self.expect(2)?;
        let response = self.operand(1)?;
        if matches!(response.kind, OperandKind::Int(_)) {
            return unsupported("a response that is a number");
        }
        let from = Src::Reg(self.halves(response)?[0]);
        if sig.has(Mod::IsCanceled) {
            let dst = self.dst(0, Type::Pred)?;
            return self.emit_cluster(ClusterOp::IsCancelled { dst, from });
        }
        if let Some((_, dimension)) = ONE.iter().find(|one| sig.has(one.0)) {
            let (dst, dimension) = (self.dst(0, Type::U32)?, *dimension);
            return self.emit_cluster(ClusterOp::FirstCta {
                dst,
                from,
                dimension,
            });
        }
        // The fourth element has no specified content.
        let elements = self.vector(sig, 0)?;
        for (dimension, operand) in elements.iter().enumerate() {
            if matches!(operand.kind, OperandKind::Sink) {
                continue;
            }
            if dimension == 3 {
                return unsupported("the fourth element of the first CTA");
            }
            let dst = self.reg(operand, Type::U32, Fit::Exact)?;
            self.emit_cluster(ClusterOp::FirstCta {
                dst,
                from,
                dimension: dimension as u8,
            })?;
        }
        Ok(())
    }

    /// `st.async [a], b, [mbar];` and `red.async.op [a], b, [mbar];`
    fn decode_remote_store(&mut self, sig: &Sig) -> Decoded<()> {
        const ONE: ModSet = ModSet::of(&[Mod::MbarrierCompleteTxBytes]);
        let reduces = sig.op == Opcode::RedAsync;
        sig.only(match reduces {
            true => ONE.or(const {
                ModSet::of(&[
                    Mod::Relaxed,
                    Mod::Cluster,
                    Mod::Add,
                    Mod::Min,
                    Mod::Max,
                    Mod::Inc,
                    Mod::Dec,
                    Mod::And,
                    Mod::Or,
                    Mod::Xor,
                ])
            }),
            false => ONE.or(const { ModSet::of(&[Mod::Weak, Mod::V2, Mod::V4]) }),
        })?;
        let reduce = match reduces {
            true => Some(sig.need(&REDUCTIONS, "its operation")?),
            false => None,
        };
        let ty = sig.ty()?;
        let Some((num, 1)) = num_type(ty) else {
            return unsupported("no such type");
        };
        self.expect(3)?;
        let (space, to) = self.address(0, Some(Space::SharedCluster))?;
        let (_, object) = self.address(2, Some(Space::SharedCluster))?;
        let mut srcs = Vec::new();
        for operand in self.vector(sig, 1)? {
            srcs.push(self.value(&operand, ty, Fit::Exact)?);
        }
        self.emit_cluster(ClusterOp::Store(RemoteStore {
            space,
            to,
            object,
            ty: num,
            srcs,
            reduce,
        }))
    }

    fn window_type(&mut self, sig: &Sig) -> Decoded<Type> {
        match sig.ty()? {
            ty @ (Type::U32 | Type::U64) => Ok(ty),
            _ => unsupported("no such type"),
        }
    }

    /// An address of shared memory: a register, or a variable and an offset.
    fn in_shared(&mut self, i: usize, ty: Type) -> Decoded<Src> {
        let operand = self.operand(i)?;
        match self.address_of(operand)? {
            Some(address) => self.address_value(address, ty),
            None => self.value(operand, ty, Fit::Exact),
        }
    }
}
