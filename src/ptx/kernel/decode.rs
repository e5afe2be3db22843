//! Which decoder an opcode goes to.
//!
//! Source: PTX ISA 9.0, section 9.7. Opcodes that integers and floats share go by the class of their
//! first type. What has no decoder is [`Op::Unsupported`](super::Op::Unsupported).

use super::Op;
use super::lower::Lowerer;
use super::sig::{Decoded, HINTS, ModSet, Sig, unsupported};
use crate::ptx::{Mod, Op as Opcode};

impl Lowerer<'_> {
    /// Decodes the current instruction; the arms here are of what a thread does alone.
    pub(super) fn decode(&mut self, sig: &Sig) -> Decoded<()> {
        use Opcode as O;
        match sig.op {
            O::Add | O::Sub | O::Mul | O::Mad | O::Div | O::Abs | O::Neg | O::Min | O::Max => {
                match sig.types().first() {
                    Some(ty) if ty.is_float() => self.decode_float(sig),
                    _ => self.decode_int(sig),
                }
            }
            O::Addc
            | O::Subc
            | O::Madc
            | O::Mul24
            | O::Mad24
            | O::Sad
            | O::Rem
            | O::Popc
            | O::Clz
            | O::Bfind
            | O::Fns
            | O::Brev
            | O::Bfe
            | O::Bfi
            | O::Szext
            | O::Bmsk
            | O::And
            | O::Or
            | O::Xor
            | O::Not
            | O::Cnot
            | O::Shl
            | O::Shr => self.decode_int(sig),
            O::Fma
            | O::Rcp
            | O::Sqrt
            | O::Rsqrt
            | O::Sin
            | O::Cos
            | O::Lg2
            | O::Ex2
            | O::Tanh
            | O::Copysign => self.decode_float(sig),
            O::Dp4a | O::Dp2a => self.decode_dot(sig),
            O::Vadd
            | O::Vsub
            | O::Vabsdiff
            | O::Vmin
            | O::Vmax
            | O::Vshl
            | O::Vshr
            | O::Vmad
            | O::Vset
            | O::Vadd2
            | O::Vsub2
            | O::Vavrg2
            | O::Vabsdiff2
            | O::Vmin2
            | O::Vmax2
            | O::Vset2
            | O::Vadd4
            | O::Vsub4
            | O::Vavrg4
            | O::Vabsdiff4
            | O::Vmin4
            | O::Vmax4
            | O::Vset4 => self.decode_video(sig),
            O::Lop3 => self.decode_lop3(sig),
            O::Prmt => self.decode_prmt(sig),
            O::Shf => self.decode_shf(sig),
            O::Testp => self.decode_testp(sig),
            O::Set => self.decode_set(sig),
            O::Setp => self.decode_setp(sig),
            O::Selp => self.decode_selp(sig),
            O::Slct => self.decode_slct(sig),
            O::Mov => self.decode_mov(sig),
            O::Cvt => self.decode_cvt(sig),
            O::CvtPack => self.decode_cvt_pack(sig),
            O::Cvta => self.decode_cvta(sig),
            O::Isspacep => self.decode_isspacep(sig),
            O::Ld | O::Ldu => self.decode_ld(sig),
            O::St => self.decode_st(sig),
            O::Createpolicy => self.decode_createpolicy(),
            O::Atom | O::Red => self.decode_atom(sig),
            O::Bra => self.decode_bra(sig),
            O::BrxIdx => self.decode_brx(sig),
            O::Call => self.decode_call(sig),
            O::Ret => self.decode_ret(sig),
            O::Exit => self.decode_end(sig, Op::Exit),
            O::Trap => self.decode_end(sig, Op::Trap),
            O::Brkpt => self.decode_end(sig, Op::Brkpt),
            // No effect on any value or order.
            O::Prefetch | O::Prefetchu | O::Applypriority | O::Nanosleep | O::Pmevent => {
                self.decode_nop(sig)
            }
            _ => self.decode_joint(sig),
        }
    }

    /// Decodes what a thread does with others or leaves to hardware: textures, barriers, warps, matrices, asynchronous
    /// operations.
    fn decode_joint(&mut self, sig: &Sig) -> Decoded<()> {
        use Opcode as O;
        match sig.op {
            O::Tex | O::Tld4 => self.decode_texture(sig),
            O::Txq | O::Suq => self.decode_texture_query(),
            O::Suld => self.decode_surface_load(sig),
            O::Sust => self.decode_surface_store(sig),
            O::Bar | O::Barrier => self.decode_bar(sig),
            O::BarWarpSync => self.decode_warp_sync(sig),
            O::Fence | O::Membar => self.decode_fence(sig),
            O::Shfl | O::ShflSync => self.decode_shfl(sig),
            O::Vote | O::VoteSync => self.decode_vote(sig),
            O::Match => self.decode_match(sig),
            O::ReduxSync => self.decode_redux(sig),
            O::ElectSync => self.decode_elect(sig),
            O::Activemask => self.decode_activemask(sig),
            O::Mma | O::MmaSp | O::MmaSpOrdered => self.decode_mma(sig),
            O::Ldmatrix => self.decode_ldmatrix(sig),
            O::Stmatrix => self.decode_stmatrix(sig),
            O::Movmatrix => self.decode_movmatrix(sig),
            O::CpAsync => self.decode_cp_async(sig),
            O::CpAsyncCommitGroup => self.decode_end(sig, Op::CpAsyncCommit),
            O::CpAsyncWaitGroup | O::CpAsyncWaitAll => self.decode_cp_async_wait(sig),
            O::MbarrierInit
            | O::MbarrierInval
            | O::MbarrierExpectTx
            | O::MbarrierCompleteTx
            | O::MbarrierArrive
            | O::MbarrierArriveDrop
            | O::MbarrierTestWait
            | O::MbarrierTryWait
            | O::CpAsyncMbarrierArrive => self.decode_mbarrier(sig),
            O::CpAsyncBulk
            | O::CpReduceAsyncBulk
            | O::CpAsyncBulkPrefetch
            | O::CpAsyncBulkTensor
            | O::CpReduceAsyncBulkTensor
            | O::CpAsyncBulkPrefetchTensor
            | O::CpAsyncBulkCommitGroup
            | O::CpAsyncBulkWaitGroup
            | O::TensormapReplace
            | O::TensormapCpFenceproxy => self.decode_bulk(sig),
            O::FenceProxy => self.decode_proxy_fence(sig),
            O::WmmaLoad | O::WmmaStore => self.decode_wmma_move(sig),
            O::WmmaMma => self.decode_wmma_mma(sig),
            O::WgmmaMmaAsync => self.decode_wgmma(sig),
            O::WgmmaFence | O::WgmmaCommitGroup | O::WgmmaWaitGroup => self.decode_wgmma_sync(sig),
            O::Tcgen05Alloc
            | O::Tcgen05Dealloc
            | O::Tcgen05RelinquishAllocPermit
            | O::Tcgen05Ld
            | O::Tcgen05St
            | O::Tcgen05WaitLd
            | O::Tcgen05WaitSt
            | O::Tcgen05Mma
            | O::Tcgen05Cp
            | O::Tcgen05Commit
            | O::Tcgen05FenceBefore
            | O::Tcgen05FenceAfter => self.decode_tensor(sig),
            O::BarrierClusterArrive
            | O::BarrierClusterWait
            | O::Mapa
            | O::Getctarank
            | O::StAsync
            | O::RedAsync
            | O::ClusterlaunchcontrolTryCancel
            | O::ClusterlaunchcontrolQueryCancel => self.decode_cluster(sig),
            O::Setmaxnreg => self.decode_registers(sig),
            O::FenceMbarrierInit => self.emit_async(super::AsyncOp::InitFence),
            O::GriddepcontrolWait => self.decode_end(sig, Op::GridWait),
            O::GriddepcontrolLaunchDependents => self.decode_end(sig, Op::GridLaunch),
            _ => unsupported(""),
        }
    }

    /// An instruction without effect; its operands are still names that must resolve.
    fn decode_nop(&mut self, sig: &Sig) -> Decoded<()> {
        sig.only(HINTS.or(const { ModSet::of(&[Mod::L1, Mod::L2, Mod::Tensormap, Mod::Mask]) }))?;
        self.emit(Op::Nop);
        Ok(())
    }
}
