//! Decoder of mbarriers, products of a warpgroup, and proxy fences.
//!
//! Source: PTX ISA 9.0, sections 9.7.13.4 (`fence.proxy`), 9.7.13.15 (mbarrier), 9.7.15 (`wgmma`).
//!
//! Not claimed: sparse products, single-bit products, `mbarrier.pending_count`.

use super::decode_matrix::matrix_type;
use super::decode_mem::SCOPES;
use super::field::UpdatedRegs;
use super::lower::Lowerer;
use super::operand::Fit;
use super::sig::{Decoded, ModSet, Sig, num_type, unsupported};
use super::{
    Addr, AsyncOp, Fmt, GroupA, MatTy, NumTy, Op, Restricted, Scope, Scoped, Sem, Space, Src,
    WaitFor, Wgmma,
};
use crate::ptx::{Mod, Op as Opcode, OperandKind, Type};

const SCOPED: ModSet = ModSet::of(&[
    Mod::Release,
    Mod::Acquire,
    Mod::Relaxed,
    Mod::Cta,
    Mod::Cluster,
]);

/// To what `.sync_restrict` restricts a fence.
pub(super) const RESTRICTED: &[(Mod, Restricted)] = &[
    (Mod::SyncRestrictSharedCta, Restricted::Own),
    (Mod::SyncRestrictSharedCluster, Restricted::Cluster),
];

fn reach(sig: &Sig) -> Decoded<Scoped> {
    Ok(sig.pick(SCOPES)?.map_or(Scoped::Unsaid, Scoped::from))
}

impl Lowerer<'_> {
    pub(super) fn emit_async(&mut self, op: AsyncOp) -> Decoded<()> {
        self.emit(Op::Async(Box::new(op)));
        Ok(())
    }

    /// The mbarrier that operand `i` addresses.
    fn object(&mut self, i: usize, sig: &Sig) -> Decoded<(Space, Addr)> {
        let written = self.written_space(sig)?;
        let found = self.address(i, written)?;
        match found.0 {
            Space::Shared | Space::SharedCluster | Space::Generic => Ok(found),
            _ => unsupported("an mbarrier outside shared memory"),
        }
    }

    /// The operations of section 9.7.13.15 and `cp.async.mbarrier.arrive`.
    pub(super) fn decode_mbarrier(&mut self, sig: &Sig) -> Decoded<()> {
        if sig.ty()? != Type::B64 {
            return unsupported("a type other than `.b64`");
        }
        match sig.op {
            Opcode::MbarrierInit => {
                sig.only(ModSet::of(&[]))?;
                self.expect(2)?;
                let (space, addr) = self.object(0, sig)?;
                let count = self.src(1, Type::U32)?;
                self.emit_async(AsyncOp::Init { space, addr, count })
            }
            Opcode::MbarrierInval => {
                sig.only(ModSet::of(&[]))?;
                self.expect(1)?;
                let (space, addr) = self.object(0, sig)?;
                self.emit_async(AsyncOp::Inval { space, addr })
            }
            Opcode::CpAsyncMbarrierArrive => {
                sig.only(const { ModSet::of(&[Mod::Noinc]) })?;
                self.expect(1)?;
                let (space, addr) = self.object(0, sig)?;
                let counted = sig.has(Mod::Noinc);
                self.emit_async(AsyncOp::CopyArrive {
                    space,
                    addr,
                    counted,
                })
            }
            Opcode::MbarrierExpectTx | Opcode::MbarrierCompleteTx => {
                sig.only(SCOPED)?;
                self.expect(2)?;
                let (space, addr) = self.object(0, sig)?;
                let bytes = self.src(1, Type::U32)?;
                let complete = sig.op == Opcode::MbarrierCompleteTx;
                self.emit_async(AsyncOp::Bytes {
                    space,
                    addr,
                    bytes,
                    complete,
                })
            }
            Opcode::MbarrierTestWait | Opcode::MbarrierTryWait => self.decode_mbarrier_wait(sig),
            _ => self.decode_mbarrier_arrive(sig),
        }
    }

    fn decode_mbarrier_wait(&mut self, sig: &Sig) -> Decoded<()> {
        sig.only(SCOPED.or(const { ModSet::of(&[Mod::Parity]) }))?;
        self.expect_between(3, 4)?;
        let dst = self.dst(0, Type::Pred)?;
        let (space, addr) = self.object(1, sig)?;
        let until = match sig.has(Mod::Parity) {
            true => WaitFor::Parity(self.src(2, Type::U32)?),
            false => WaitFor::State(self.src(2, Type::B64)?),
        };
        self.emit_async(AsyncOp::Wait {
            space,
            addr,
            dst,
            until,
            acquire: !sig.has(Mod::Relaxed),
            reach: reach(sig)?,
        })
    }

    fn decode_mbarrier_arrive(&mut self, sig: &Sig) -> Decoded<()> {
        sig.only(SCOPED.or(const { ModSet::of(&[Mod::ExpectTx, Mod::NoComplete]) }))?;
        self.expect_between(1, 3)?;
        // A remote object gives no state back, and its form has no destination.
        let bare = matches!(self.operand(0)?.kind, OperandKind::Address(_));
        let dst = match bare {
            true => None,
            false => {
                let first = self.operand(0)?;
                self.dst_or_sink(first, Type::B64, Fit::Exact)?
            }
        };
        let at = usize::from(!bare);
        let (space, addr) = self.object(at, sig)?;
        let last = match self.ops.len() > at + 1 {
            true => Some(self.src(at + 1, Type::U32)?),
            false => None,
        };
        let expects = sig.has(Mod::ExpectTx);
        if expects && last.is_none() {
            return unsupported("no number of bytes");
        }
        self.emit_async(AsyncOp::Arrive {
            space,
            addr,
            count: last.filter(|_| !expects),
            expect: last.filter(|_| expects),
            drop: sig.op == Opcode::MbarrierArriveDrop,
            release: !sig.has(Mod::Relaxed),
            reach: reach(sig)?,
            incomplete: sig.has(Mod::NoComplete),
            dst,
        })
    }

    /// `fence.proxy.async{.space};`
    pub(super) fn decode_proxy_fence(&mut self, sig: &Sig) -> Decoded<()> {
        if sig.has(Mod::TensormapGeneric) {
            return self.decode_map_fence(sig);
        }
        if sig.has(Mod::AsyncGeneric) {
            return self.decode_restricted_fence(sig);
        }
        sig.only(const { ModSet::of(&[Mod::Async, Mod::Alias]) })?;
        self.expect(0)?;
        // Nothing is read through an alias.
        if sig.has(Mod::Async) {
            let is_global = matches!(sig.space, Some(crate::ptx::Space::Global));
            return self.emit_async(AsyncOp::ProxyFence {
                shared: !is_global,
                global: is_global || sig.space.is_none(),
            });
        }
        self.emit(Op::Nop);
        Ok(())
    }

    /// `fence.proxy.async::generic.{acquire, release}.sync_restrict.cluster;`: a fence between the proxies, and a restricted
    /// fence of the generic one.
    fn decode_restricted_fence(&mut self, sig: &Sig) -> Decoded<()> {
        sig.only(
            const {
                ModSet::of(&[
                    Mod::AsyncGeneric,
                    Mod::Acquire,
                    Mod::Release,
                    Mod::SyncRestrictSharedCta,
                    Mod::SyncRestrictSharedCluster,
                    Mod::Cluster,
                ])
            },
        )?;
        self.expect(0)?;
        const ORDERS: &[(Mod, Sem)] = &[(Mod::Acquire, Sem::Acquire), (Mod::Release, Sem::Release)];
        let sem = sig.need(ORDERS, "an order")?;
        let proxies = AsyncOp::ProxyFence {
            shared: true,
            global: false,
        };
        let fence = Op::Fence {
            sem,
            scope: Scope::Cluster,
            only: sig.pick(RESTRICTED)?,
        };
        // What is acquired is acquired before the proxies meet, and what is released after.
        if sem == Sem::Acquire {
            self.emit(fence);
            return self.emit_async(proxies);
        }
        self.emit_async(proxies)?;
        self.emit(fence);
        Ok(())
    }

    /// `setmaxnreg.inc` and `.dec`: from 24 to 256 registers, a multiple of 8.
    pub(super) fn decode_registers(&mut self, sig: &Sig) -> Decoded<()> {
        self.expect(1)?;
        let Src::Imm(n) = self.src(0, Type::U32)? else {
            return unsupported("a number of registers that is not a constant");
        };
        if !(24..=256).contains(&n) || n % 8 != 0 {
            return unsupported("a number of registers that is no multiple of 8 from 24 to 256");
        }
        self.emit_async(AsyncOp::Registers {
            count: n as u32,
            more: sig.has(Mod::Inc),
        })
    }

    /// `wgmma.fence`, `wgmma.commit_group`, `wgmma.wait_group n`.
    pub(super) fn decode_wgmma_sync(&mut self, sig: &Sig) -> Decoded<()> {
        sig.only(const { ModSet::of(&[Mod::Sync, Mod::Aligned]) })?;
        let op = match sig.op {
            Opcode::WgmmaFence => AsyncOp::WgmmaFence,
            Opcode::WgmmaCommitGroup => AsyncOp::WgmmaCommit,
            _ => {
                self.expect(1)?;
                let Src::Imm(n) = self.src(0, Type::U32)? else {
                    return unsupported("a number of groups that is not a constant");
                };
                return self.emit_async(AsyncOp::WgmmaWait { pending: n as u32 });
            }
        };
        self.expect(0)?;
        self.emit_async(op)
    }

    /// `wgmma.mma_async.sync.aligned.shape.d.a.b d, a, b-desc, scale-d, ...;`
    pub(super) fn decode_wgmma(&mut self, sig: &Sig) -> Decoded<()> {
        sig.no_space()?;
        sig.only(const { ModSet::of(&[Mod::Sync, Mod::Aligned, Mod::Satfinite]) })?;
        let (&[d, a, b], Some(shape)) = (sig.types(), sig.shape) else {
            return unsupported("it must have a shape and three types");
        };
        let (Some(a_ty), Some(b_ty)) = (matrix_type(a), matrix_type(b)) else {
            return unsupported("this element type");
        };
        let Some((d_ty, 1)) = num_type(d) else {
            return unsupported("this type of accumulator");
        };
        let depth = match (a_ty, b_ty, d_ty) {
            (MatTy::Float(x @ (Fmt::F16 | Fmt::Bf16)), MatTy::Float(y), NumTy::Float(_))
                if x == y =>
            {
                16
            }
            (MatTy::Float(Fmt::Tf32), MatTy::Float(Fmt::Tf32), NumTy::Float(Fmt::F32)) => 8,
            (
                MatTy::Float(Fmt::E4m3 | Fmt::E5m2),
                MatTy::Float(Fmt::E4m3 | Fmt::E5m2),
                NumTy::Float(_),
            ) => 32,
            (MatTy::Int { width: 8, .. }, MatTy::Int { width: 8, .. }, NumTy::Int(_)) => 32,
            _ => return unsupported("this combination of types"),
        };
        let n = shape.n;
        if shape.m != 64 || shape.k != depth || n == 0 || n > 256 || !n.is_multiple_of(8) {
            return unsupported(format!("shape `.{shape}`"));
        }
        let (count, reg) = match d_ty {
            NumTy::Float(Fmt::F32) => (n / 2, Type::F32),
            NumTy::Float(Fmt::F16) => (n / 4, Type::B32),
            NumTy::Int(t) if t.width == 32 => (n / 2, Type::B32),
            _ => return unsupported("this type of accumulator"),
        };
        let d = self.matrix_regs(0, reg, count as usize)?;
        let first = self.operand(1)?;
        let regs = matches!(first.kind, OperandKind::Vector(_));
        let half = depth == 16;
        let int = matches!(a_ty, MatTy::Int { .. });
        let wanted = match (int, half, regs) {
            (true, ..) => 4,
            (_, false, _) => 6,
            (_, true, true) => 7,
            (_, true, false) => 8,
        };
        self.expect(wanted)?;
        let scale = self.pred(3)?;
        let (sign, major) = ([(1, false), (-1, true)], [(0, false), (1, true)]);
        let mut flag = |i: usize, choices: [(i64, bool); 2]| -> Decoded<bool> {
            let Src::Imm(v) = self.src(i, Type::S32)? else {
                return unsupported("a scale or layout that is not a constant");
            };
            let found = choices.iter().find(|c| c.0 == v as u32 as i32 as i64);
            match found {
                Some(c) => Ok(c.1),
                None => {
                    let span = self.operand(i)?.span;
                    let signs = choices == sign;
                    self.wrong(span, if signs { "1 or -1" } else { "0 or 1" })
                }
            }
        };
        let negate = !int && flag(4, sign)? != flag(5, sign)?;
        let a_major = half && !regs && flag(6, major)?;
        let b_major = half && flag(if regs { 6 } else { 7 }, major)?;
        let a = match regs {
            true => GroupA::Regs(self.matrix_srcs(1, Type::B32, 4)?),
            false => GroupA::Shared(self.src(1, Type::B64)?, a_major),
        };
        let b = self.src(2, Type::B64)?;
        self.emit_async(AsyncOp::Wgmma(Box::new(Wgmma {
            n,
            k: depth,
            a_ty,
            b_ty,
            d_ty,
            d: UpdatedRegs(d),
            a,
            b,
            b_major,
            scale,
            negate,
            clamp: sig.has(Mod::Satfinite),
        })))
    }
}
