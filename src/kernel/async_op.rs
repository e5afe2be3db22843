//! Operations of asynchronous agents and tensor cores: mbarriers, products of a warpgroup, proxy
//! fences, opaque fragments.
//!
//! Source: PTX ISA 9.0, sections 9.7.13.4, 9.7.13.15, 9.7.14.4 and 9.7.15. They are one variant of
//! [`super::Op`], since every pass but the simulator treats them alike: registers read, registers
//! written.

use super::{Addr, BulkOp, ClusterOp, Guard, MatTy, NumTy, RegId, Space, Src, TensorOp};

/// What decides that a wait on an mbarrier is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WaitFor {
    /// The phase of a state that an arrival returned.
    State(Src),
    /// The phase before the current one has this parity.
    Parity(Src),
}

/// The first operand of a product of a warpgroup.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupA {
    /// A descriptor of shared memory; true if it is laid out along m.
    Shared(Src, bool),
    /// Registers.
    Regs(Vec<Src>),
}

/// `wgmma.mma_async`: d = a * b + d, 64 x n x k.
#[derive(Clone, Debug, PartialEq)]
pub struct Wgmma {
    /// Columns of b and d.
    pub n: u16,
    /// Inner dimension.
    pub k: u16,
    /// Element type of a.
    pub a_ty: MatTy,
    /// Element type of b.
    pub b_ty: MatTy,
    /// Type of d.
    pub d_ty: NumTy,
    /// Accumulator.
    pub d: Vec<RegId>,
    /// The first operand.
    pub a: GroupA,
    /// Descriptor of the second.
    pub b: Src,
    /// True if b is laid out along n.
    pub b_major: bool,
    /// False in the register: the old d does not count.
    pub scale: Guard,
    /// The product is subtracted.
    pub negate: bool,
    /// `.satfinite` of an integer product.
    pub clamp: bool,
}

/// Which operand of a product a fragment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The first factor, m x k.
    A,
    /// The second factor, k x n.
    B,
    /// The accumulator, m x n.
    C,
}

/// What the layout of a fragment of `wmma` may depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fragment {
    /// Operand.
    pub part: Part,
    /// Rows of the product, columns, inner dimension.
    pub shape: (u16, u16, u16),
    /// Element type.
    pub ty: MatTy,
    /// `.col`; always false for an accumulator, whose layout in memory is no part of it.
    pub col: bool,
}

impl Fragment {
    /// Rows and columns.
    pub fn extent(&self) -> (u16, u16) {
        let (m, n, k) = self.shape;
        match self.part {
            Part::A => (m, k),
            Part::B => (k, n),
            Part::C => (m, n),
        }
    }
}

/// `wmma.load` or `wmma.store`.
#[derive(Clone, Debug, PartialEq)]
pub struct WmmaMove {
    /// The fragment.
    pub what: Fragment,
    /// `.col` of the matrix in memory.
    pub col: bool,
    /// State space.
    pub space: Space,
    /// First element.
    pub addr: Addr,
    /// Elements between rows, or columns with `.col`.
    pub stride: Src,
    /// Registers.
    pub regs: Vec<RegId>,
}

/// `wmma.mma`: d = a * b + c.
#[derive(Clone, Debug, PartialEq)]
pub struct WmmaMma {
    /// The factors.
    pub a: Fragment,
    /// The factors.
    pub b: Fragment,
    /// The accumulator read.
    pub c: Fragment,
    /// The accumulator written.
    pub d: Fragment,
    /// Registers of d, a, b, c.
    pub regs: [Vec<RegId>; 4],
    /// `.satfinite` of an integer product.
    pub clamp: bool,
}

/// An operation of section 9.7.13.15, 9.7.14.4 or 9.7.15.
#[derive(Clone, Debug, PartialEq)]
pub enum AsyncOp {
    /// `mbarrier.init`.
    Init {
        /// State space.
        space: Space,
        /// The object.
        addr: Addr,
        /// Arrivals of a phase.
        count: Src,
    },
    /// `mbarrier.inval`.
    Inval {
        /// State space.
        space: Space,
        /// The object.
        addr: Addr,
    },
    /// `mbarrier.arrive` and `mbarrier.arrive_drop`.
    Arrive {
        /// State space.
        space: Space,
        /// The object.
        addr: Addr,
        /// How many arrivals; default one.
        count: Option<Src>,
        /// Bytes expected before it arrives.
        expect: Option<Src>,
        /// Leaves the later phases.
        drop: bool,
        /// Publishes what the thread did before.
        release: bool,
        /// Must not complete the phase.
        incomplete: bool,
        /// The state of the phase.
        dst: Option<RegId>,
    },
    /// `mbarrier.expect_tx` and `mbarrier.complete_tx`.
    Bytes {
        /// State space.
        space: Space,
        /// The object.
        addr: Addr,
        /// How many.
        bytes: Src,
        /// They have come, not they are expected.
        complete: bool,
    },
    /// `mbarrier.test_wait` and `mbarrier.try_wait`.
    Wait {
        /// State space.
        space: Space,
        /// The object.
        addr: Addr,
        /// The predicate.
        dst: RegId,
        /// What it waits for.
        until: WaitFor,
        /// Acquires what the arrivals released.
        acquire: bool,
    },
    /// `cp.async.mbarrier.arrive`.
    CopyArrive {
        /// State space.
        space: Space,
        /// The object.
        addr: Addr,
        /// `.noinc`.
        counted: bool,
    },
    /// `fence.proxy.async`.
    ProxyFence {
        /// For shared memory.
        shared: bool,
        /// For global memory.
        global: bool,
    },
    /// `fence.mbarrier_init`.
    InitFence,
    /// `wgmma.mma_async`.
    Wgmma(Box<Wgmma>),
    /// `wmma.load`.
    WmmaLoad(Box<WmmaMove>),
    /// `wmma.store`.
    WmmaStore(Box<WmmaMove>),
    /// `wmma.mma`.
    WmmaMma(Box<WmmaMma>),
    /// An operation on tensor memory.
    Tensor(Box<TensorOp>),
    /// A bulk copy or an operation on a tensor map.
    Bulk(Box<BulkOp>),
    /// An operation among the CTAs of a cluster.
    Cluster(Box<ClusterOp>),
    /// `setmaxnreg`: a warpgroup gives registers back or takes some.
    Registers {
        /// Registers of each thread then.
        count: u32,
        /// True if it takes more, which can make it wait.
        more: bool,
    },
    /// `wgmma.fence`.
    WgmmaFence,
    /// `wgmma.commit_group`.
    WgmmaCommit,
    /// `wgmma.wait_group`.
    WgmmaWait {
        /// Newest groups that may still be under way.
        pending: u32,
    },
}

impl AsyncOp {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            AsyncOp::Init { .. } => "mbarrier.init",
            AsyncOp::Inval { .. } => "mbarrier.inval",
            AsyncOp::Arrive { drop: true, .. } => "mbarrier.arrive_drop",
            AsyncOp::Arrive { .. } => "mbarrier.arrive",
            AsyncOp::Bytes { complete: true, .. } => "mbarrier.complete_tx",
            AsyncOp::Bytes { .. } => "mbarrier.expect_tx",
            AsyncOp::Wait { .. } => "mbarrier.try_wait",
            AsyncOp::CopyArrive { .. } => "cp.async.mbarrier.arrive",
            AsyncOp::ProxyFence { .. } => "fence.proxy.async",
            AsyncOp::InitFence => "fence.mbarrier_init",
            AsyncOp::Wgmma(_) => "wgmma.mma_async",
            AsyncOp::Tensor(op) => op.name(),
            AsyncOp::Bulk(op) => op.name(),
            AsyncOp::Cluster(op) => op.name(),
            AsyncOp::WmmaLoad(_) => "wmma.load",
            AsyncOp::WmmaStore(_) => "wmma.store",
            AsyncOp::WmmaMma(_) => "wmma.mma",
            AsyncOp::Registers { .. } => "setmaxnreg",
            AsyncOp::WgmmaFence => "wgmma.fence",
            AsyncOp::WgmmaCommit => "wgmma.commit_group",
            AsyncOp::WgmmaWait { .. } => "wgmma.wait_group",
        }
    }

    /// The object that an operation on an mbarrier names.
    pub fn object(&self) -> Option<(Space, Addr)> {
        match *self {
            AsyncOp::Init { space, addr, .. }
            | AsyncOp::Inval { space, addr }
            | AsyncOp::Arrive { space, addr, .. }
            | AsyncOp::Bytes { space, addr, .. }
            | AsyncOp::Wait { space, addr, .. }
            | AsyncOp::CopyArrive { space, addr, .. } => Some((space, addr)),
            _ => None,
        }
    }

    /// The address that it accesses.
    pub fn address(&self) -> Option<Addr> {
        match self {
            AsyncOp::WmmaLoad(m) | AsyncOp::WmmaStore(m) => Some(m.addr),
            AsyncOp::Tensor(op) => match **op {
                TensorOp::Alloc { addr, .. } | TensorOp::Commit { addr, .. } => Some(addr),
                _ => None,
            },
            _ => self.object().map(|o| o.1),
        }
    }

    /// Calls `f` with each register that it reads.
    pub fn uses(&self, f: &mut impl FnMut(RegId)) {
        if let AsyncOp::Tensor(op) = self {
            return op.uses(f);
        }
        if let AsyncOp::Bulk(op) = self {
            return op.uses(f);
        }
        let mut src = |s: &Src| {
            if let Src::Reg(r) = s {
                f(*r);
            }
        };
        if let Some((_, addr)) = self.object() {
            src(&addr.base);
        }
        match self {
            AsyncOp::Cluster(op) => op.sources(src),
            AsyncOp::Init { count, .. } => src(count),
            AsyncOp::Arrive { count, expect, .. } => count.iter().chain(expect).for_each(src),
            AsyncOp::Bytes { bytes, .. } => src(bytes),
            AsyncOp::Wait { until, .. } => match until {
                WaitFor::State(s) | WaitFor::Parity(s) => src(s),
            },
            AsyncOp::WmmaLoad(m) => {
                src(&m.addr.base);
                src(&m.stride);
            }
            AsyncOp::WmmaStore(m) => {
                src(&m.addr.base);
                src(&m.stride);
                m.regs.iter().for_each(|r| f(*r));
            }
            AsyncOp::WmmaMma(m) => m.regs[1..].iter().flatten().for_each(|r| f(*r)),
            AsyncOp::Wgmma(m) => {
                match &m.a {
                    GroupA::Shared(s, _) => src(s),
                    GroupA::Regs(list) => list.iter().for_each(&mut src),
                }
                src(&m.b);
                f(m.scale.reg);
                m.d.iter().for_each(|r| f(*r));
            }
            _ => {}
        }
    }

    /// Calls `f` with each register that it writes.
    pub fn defs(&self, f: &mut impl FnMut(RegId)) {
        match self {
            AsyncOp::Arrive { dst, .. } => dst.iter().for_each(|r| f(*r)),
            AsyncOp::Wait { dst, .. } => f(*dst),
            AsyncOp::Wgmma(m) => m.d.iter().for_each(|r| f(*r)),
            AsyncOp::Tensor(op) => op.defs(f),
            AsyncOp::Cluster(op) => op.def().into_iter().for_each(f),
            AsyncOp::WmmaLoad(m) => m.regs.iter().for_each(|r| f(*r)),
            AsyncOp::WmmaMma(m) => m.regs[0].iter().for_each(|r| f(*r)),
            _ => {}
        }
    }

    /// True where all lanes of a warp that have not exited execute it together.
    pub fn is_aligned(&self) -> bool {
        match self {
            AsyncOp::Wait { .. } => false,
            AsyncOp::Cluster(op) => op.is_aligned(),
            op => op.gathers(),
        }
    }

    /// True where lanes of a warp wait for the others of it to come.
    pub fn gathers(&self) -> bool {
        if let AsyncOp::Tensor(op) = self {
            return op.gathers();
        }
        if let AsyncOp::Bulk(op) = self {
            return op.gathers();
        }
        if let AsyncOp::Cluster(op) = self {
            return op.gathers();
        }
        matches!(
            self,
            AsyncOp::Wait { .. }
                | AsyncOp::Wgmma(_)
                | AsyncOp::WmmaLoad(_)
                | AsyncOp::WmmaStore(_)
                | AsyncOp::WmmaMma(_)
                | AsyncOp::Registers { .. }
                | AsyncOp::WgmmaFence
                | AsyncOp::WgmmaCommit
                | AsyncOp::WgmmaWait { .. }
        )
    }
}
