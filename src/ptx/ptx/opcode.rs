//! The opcodes of PTX ISA 9.0, one row for each instruction of sections 9.7.1 to 9.7.19.
//!
//! An opcode is the longest dotted prefix of an instruction that is a row of this table:
//! `cp.async.bulk.tensor.2d...` is [`Op::CpAsyncBulkTensor`] with the modifiers from `.2d` on,
//! `ld.global.f32` is [`Op::Ld`]. Parts that may stand in another place of the instruction
//! (`.sync` of `mma`, `.cta` of `barrier`) are modifiers, not parts of the opcode.

use std::fmt;

macro_rules! ops {
    ($($variant:ident = $text:literal $section:literal,)*) => {
        /// An opcode.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Op { $(#[doc = concat!("`", $text, "`, section ", $section)] $variant,)* }

        impl Op {
            /// All of them, in the order of the manual.
            pub const ALL: &'static [Op] = &[$(Op::$variant,)*];
            const TEXTS: &'static [&'static str] = &[$($text,)*];
            const SECTIONS: &'static [&'static str] = &[$($section,)*];
        }
    };
}

ops! {
    // 9.7.1 to 9.7.5: arithmetic. An opcode of several sections has the first one's number.
    Add = "add" "9.7.1.1", Sub = "sub" "9.7.1.2", Mul = "mul" "9.7.1.3", Mad = "mad" "9.7.1.4",
    Mul24 = "mul24" "9.7.1.5", Mad24 = "mad24" "9.7.1.6", Sad = "sad" "9.7.1.7",
    Div = "div" "9.7.1.8", Rem = "rem" "9.7.1.9", Abs = "abs" "9.7.1.10", Neg = "neg" "9.7.1.11",
    Min = "min" "9.7.1.12", Max = "max" "9.7.1.13", Popc = "popc" "9.7.1.14",
    Clz = "clz" "9.7.1.15", Bfind = "bfind" "9.7.1.16", Fns = "fns" "9.7.1.17",
    Brev = "brev" "9.7.1.18", Bfe = "bfe" "9.7.1.19", Bfi = "bfi" "9.7.1.20",
    Szext = "szext" "9.7.1.21", Bmsk = "bmsk" "9.7.1.22", Dp4a = "dp4a" "9.7.1.23",
    Dp2a = "dp2a" "9.7.1.24",
    Addc = "addc" "9.7.2.2", Subc = "subc" "9.7.2.4", Madc = "madc" "9.7.2.6",
    Testp = "testp" "9.7.3.1", Copysign = "copysign" "9.7.3.2", Fma = "fma" "9.7.3.6",
    Rcp = "rcp" "9.7.3.13", Sqrt = "sqrt" "9.7.3.15", Rsqrt = "rsqrt" "9.7.3.16",
    Sin = "sin" "9.7.3.18", Cos = "cos" "9.7.3.19", Lg2 = "lg2" "9.7.3.20",
    Ex2 = "ex2" "9.7.3.21", Tanh = "tanh" "9.7.3.22",
    // 9.7.6 to 9.7.8: comparison, selection, logic, shifts.
    Set = "set" "9.7.6.1", Setp = "setp" "9.7.6.2", Selp = "selp" "9.7.6.3",
    Slct = "slct" "9.7.6.4",
    And = "and" "9.7.8.1", Or = "or" "9.7.8.2", Xor = "xor" "9.7.8.3", Not = "not" "9.7.8.4",
    Cnot = "cnot" "9.7.8.5", Lop3 = "lop3" "9.7.8.6", Shf = "shf" "9.7.8.7",
    Shl = "shl" "9.7.8.8", Shr = "shr" "9.7.8.9",
    // 9.7.9: data movement and conversion.
    Mov = "mov" "9.7.9.3", Shfl = "shfl" "9.7.9.5", ShflSync = "shfl.sync" "9.7.9.6",
    Prmt = "prmt" "9.7.9.7", Ld = "ld" "9.7.9.8", Ldu = "ldu" "9.7.9.10", St = "st" "9.7.9.11",
    StAsync = "st.async" "9.7.9.12", StBulk = "st.bulk" "9.7.9.13",
    MultimemLdReduce = "multimem.ld_reduce" "9.7.9.14", MultimemSt = "multimem.st" "9.7.9.14",
    MultimemRed = "multimem.red" "9.7.9.14",
    Prefetch = "prefetch" "9.7.9.15", Prefetchu = "prefetchu" "9.7.9.15",
    Applypriority = "applypriority" "9.7.9.16", Discard = "discard" "9.7.9.17",
    Createpolicy = "createpolicy" "9.7.9.18", Isspacep = "isspacep" "9.7.9.19",
    Cvta = "cvta" "9.7.9.20", Cvt = "cvt" "9.7.9.21", CvtPack = "cvt.pack" "9.7.9.22",
    Mapa = "mapa" "9.7.9.23", Getctarank = "getctarank" "9.7.9.24",
    CpAsync = "cp.async" "9.7.9.25.3.1",
    CpAsyncCommitGroup = "cp.async.commit_group" "9.7.9.25.3.2",
    CpAsyncWaitGroup = "cp.async.wait_group" "9.7.9.25.3.3",
    CpAsyncWaitAll = "cp.async.wait_all" "9.7.9.25.3.3",
    CpAsyncBulk = "cp.async.bulk" "9.7.9.25.4.1",
    CpReduceAsyncBulk = "cp.reduce.async.bulk" "9.7.9.25.4.2",
    CpAsyncBulkPrefetch = "cp.async.bulk.prefetch" "9.7.9.25.4.3",
    CpAsyncBulkTensor = "cp.async.bulk.tensor" "9.7.9.25.5.2",
    CpReduceAsyncBulkTensor = "cp.reduce.async.bulk.tensor" "9.7.9.25.5.3",
    CpAsyncBulkPrefetchTensor = "cp.async.bulk.prefetch.tensor" "9.7.9.25.5.4",
    CpAsyncBulkCommitGroup = "cp.async.bulk.commit_group" "9.7.9.25.6.1",
    CpAsyncBulkWaitGroup = "cp.async.bulk.wait_group" "9.7.9.25.6.2",
    TensormapReplace = "tensormap.replace" "9.7.9.26",
    // 9.7.10 and 9.7.11: textures and surfaces.
    Tex = "tex" "9.7.10.3", Tld4 = "tld4" "9.7.10.4", Txq = "txq" "9.7.10.5",
    Istypep = "istypep" "9.7.10.6", Suld = "suld" "9.7.11.1", Sust = "sust" "9.7.11.2",
    Sured = "sured" "9.7.11.3", Suq = "suq" "9.7.11.4",
    // 9.7.12: control flow.
    Bra = "bra" "9.7.12.3", BrxIdx = "brx.idx" "9.7.12.4", Call = "call" "9.7.12.5",
    Ret = "ret" "9.7.12.6", Exit = "exit" "9.7.12.7",
    // 9.7.13: synchronisation and communication.
    Bar = "bar" "9.7.13.1", Barrier = "barrier" "9.7.13.1",
    BarWarpSync = "bar.warp.sync" "9.7.13.2",
    BarrierClusterArrive = "barrier.cluster.arrive" "9.7.13.3",
    BarrierClusterWait = "barrier.cluster.wait" "9.7.13.3",
    Membar = "membar" "9.7.13.4", MembarProxy = "membar.proxy" "9.7.13.4",
    Fence = "fence" "9.7.13.4", FenceProxy = "fence.proxy" "9.7.13.4",
    FenceMbarrierInit = "fence.mbarrier_init" "9.7.13.4",
    Atom = "atom" "9.7.13.5", Red = "red" "9.7.13.6", RedAsync = "red.async" "9.7.13.7",
    Vote = "vote" "9.7.13.8", VoteSync = "vote.sync" "9.7.13.9",
    Match = "match" "9.7.13.10",
    Activemask = "activemask" "9.7.13.11", ReduxSync = "redux.sync" "9.7.13.12",
    GriddepcontrolLaunchDependents = "griddepcontrol.launch_dependents" "9.7.13.13",
    GriddepcontrolWait = "griddepcontrol.wait" "9.7.13.13",
    ElectSync = "elect.sync" "9.7.13.14",
    MbarrierInit = "mbarrier.init" "9.7.13.15.9", MbarrierInval = "mbarrier.inval" "9.7.13.15.10",
    MbarrierExpectTx = "mbarrier.expect_tx" "9.7.13.15.11",
    MbarrierCompleteTx = "mbarrier.complete_tx" "9.7.13.15.12",
    MbarrierArrive = "mbarrier.arrive" "9.7.13.15.13",
    MbarrierArriveDrop = "mbarrier.arrive_drop" "9.7.13.15.14",
    CpAsyncMbarrierArrive = "cp.async.mbarrier.arrive" "9.7.13.15.15",
    MbarrierTestWait = "mbarrier.test_wait" "9.7.13.15.16",
    MbarrierTryWait = "mbarrier.try_wait" "9.7.13.15.16",
    MbarrierPendingCount = "mbarrier.pending_count" "9.7.13.15.17",
    TensormapCpFenceproxy = "tensormap.cp_fenceproxy" "9.7.13.16",
    ClusterlaunchcontrolTryCancel = "clusterlaunchcontrol.try_cancel" "9.7.13.17",
    ClusterlaunchcontrolQueryCancel = "clusterlaunchcontrol.query_cancel" "9.7.13.18",
    // 9.7.14 to 9.7.16: matrices.
    WmmaLoad = "wmma.load" "9.7.14.4.3", WmmaStore = "wmma.store" "9.7.14.4.4",
    WmmaMma = "wmma.mma" "9.7.14.4.5", Mma = "mma" "9.7.14.5.14", MmaSp = "mma.sp" "9.7.14.6.3",
    MmaSpOrdered = "mma.sp::ordered_metadata" "9.7.14.6.3",
    Ldmatrix = "ldmatrix" "9.7.14.5.15", Stmatrix = "stmatrix" "9.7.14.5.16",
    Movmatrix = "movmatrix" "9.7.14.5.17",
    WgmmaMmaAsync = "wgmma.mma_async" "9.7.15.5.2",
    WgmmaMmaAsyncSp = "wgmma.mma_async.sp" "9.7.15.6.4",
    WgmmaFence = "wgmma.fence" "9.7.15.7.1", WgmmaCommitGroup = "wgmma.commit_group" "9.7.15.7.2",
    WgmmaWaitGroup = "wgmma.wait_group" "9.7.15.7.3",
    Tcgen05Alloc = "tcgen05.alloc" "9.7.16.7.1", Tcgen05Dealloc = "tcgen05.dealloc" "9.7.16.7.1",
    Tcgen05RelinquishAllocPermit = "tcgen05.relinquish_alloc_permit" "9.7.16.7.1",
    Tcgen05Ld = "tcgen05.ld" "9.7.16.8.3", Tcgen05St = "tcgen05.st" "9.7.16.8.4",
    Tcgen05WaitLd = "tcgen05.wait::ld" "9.7.16.8.5",
    Tcgen05WaitSt = "tcgen05.wait::st" "9.7.16.8.5",
    Tcgen05Cp = "tcgen05.cp" "9.7.16.9.2", Tcgen05Shift = "tcgen05.shift" "9.7.16.9.3",
    Tcgen05Mma = "tcgen05.mma" "9.7.16.10.9.1", Tcgen05MmaSp = "tcgen05.mma.sp" "9.7.16.10.9.2",
    Tcgen05MmaWs = "tcgen05.mma.ws" "9.7.16.10.9.3",
    Tcgen05MmaWsSp = "tcgen05.mma.ws.sp" "9.7.16.10.9.4",
    Tcgen05FenceBefore = "tcgen05.fence::before_thread_sync" "9.7.16.11.1",
    Tcgen05FenceAfter = "tcgen05.fence::after_thread_sync" "9.7.16.11.1",
    Tcgen05Commit = "tcgen05.commit" "9.7.16.12.1",
    // 9.7.17 to 9.7.19: stack, video, miscellaneous.
    Stacksave = "stacksave" "9.7.17.1", Stackrestore = "stackrestore" "9.7.17.2",
    Alloca = "alloca" "9.7.17.3",
    Vadd = "vadd" "9.7.18.1.1", Vsub = "vsub" "9.7.18.1.1", Vabsdiff = "vabsdiff" "9.7.18.1.1",
    Vmin = "vmin" "9.7.18.1.1", Vmax = "vmax" "9.7.18.1.1", Vshl = "vshl" "9.7.18.1.2",
    Vshr = "vshr" "9.7.18.1.2", Vmad = "vmad" "9.7.18.1.3", Vset = "vset" "9.7.18.1.4",
    Vadd2 = "vadd2" "9.7.18.2.1", Vsub2 = "vsub2" "9.7.18.2.1", Vavrg2 = "vavrg2" "9.7.18.2.1",
    Vabsdiff2 = "vabsdiff2" "9.7.18.2.1", Vmin2 = "vmin2" "9.7.18.2.1",
    Vmax2 = "vmax2" "9.7.18.2.1", Vset2 = "vset2" "9.7.18.2.2",
    Vadd4 = "vadd4" "9.7.18.2.3", Vsub4 = "vsub4" "9.7.18.2.3", Vavrg4 = "vavrg4" "9.7.18.2.3",
    Vabsdiff4 = "vabsdiff4" "9.7.18.2.3", Vmin4 = "vmin4" "9.7.18.2.3",
    Vmax4 = "vmax4" "9.7.18.2.3", Vset4 = "vset4" "9.7.18.2.4",
    Brkpt = "brkpt" "9.7.19.1", Nanosleep = "nanosleep" "9.7.19.2", Pmevent = "pmevent" "9.7.19.3",
    Trap = "trap" "9.7.19.4", Setmaxnreg = "setmaxnreg" "9.7.19.5",
}

impl Op {
    /// The spelling, e.g. `cp.async.bulk`.
    pub fn text(self) -> &'static str {
        Self::TEXTS[self as usize]
    }

    /// Number of the section of the PTX ISA 9.0 manual that defines it; of an opcode that several
    /// sections define (integer, float and half `add`), the first.
    pub fn section(self) -> &'static str {
        Self::SECTIONS[self as usize]
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
