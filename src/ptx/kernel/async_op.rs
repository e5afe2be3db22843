//! Operations of asynchronous agents and tensor cores: mbarriers, products of a warpgroup, proxy
//! fences, opaque fragments.
//!
//! Source: PTX ISA 9.0, sections 9.7.13.4, 9.7.13.15, 9.7.14.4 and 9.7.15. They are one variant of
//! [`super::Op`], since every pass but the simulator treats them alike.

use std::fmt::{self, Formatter};

use super::effects::{AGENTS, ALL, Effects, Orders, TOGETHER};
use super::field::{Field, ReadRegs, UpdatedRegs, choices};
use super::listing::Listing;
use super::table::{operands, operations};
use super::{Addr, BulkOp, ClusterOp, Guard, MatTy, NumTy, RegId, Scoped, Space, Src, TensorOp};

/// What decides that a wait on an mbarrier is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WaitFor {
    /// The phase of a state that an arrival returned.
    State(Src),
    /// The phase before the current one has this parity.
    Parity(Src),
}

choices!(WaitFor { State(state), Parity(parity) });

/// The first operand of a product of a warpgroup.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupA {
    /// A descriptor of shared memory; true if it is laid out along m.
    Shared(Src, bool),
    /// Registers.
    Regs(Vec<Src>),
}

choices!(GroupA { Shared(shared, along_m), Regs(registers) });

operands! { (l)
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
    pub d: UpdatedRegs,
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
} = (".m64n{n}k{k}.{d_ty}.{a_ty}.{b_ty}{negate}{clamp} {{{d}}}, {a}, {b}{b_major}, {scale}");
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

operands! { (l)
/// The memory of `wmma.load` or `wmma.store`.
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
} = ("{what}{col}.{space} {addr}, {stride}");
}

operands! { (l)
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
    /// Registers of d.
    pub dsts: Vec<RegId>,
    /// Registers of a, b, c.
    pub srcs: [ReadRegs; 3],
    /// `.satfinite` of an integer product.
    pub clamp: bool,
} = (".{d}.{a}.{b}.{c}{clamp} {{{dsts}}}, {{{srcs}}}");
}

impl Field for Fragment {
    fn text(&self, _: &str, list: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        let (rows, columns) = self.extent();
        write!(f, "{:?}{rows}x{columns}.", self.part)?;
        self.ty.text("", list, f)?;
        self.col.text("col", list, f)
    }
}

operations! { (l)
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
    } = ["mbarrier.init"] (".{space} {addr}, {count}"), ALL;
    /// `mbarrier.inval`.
    Inval {
        /// State space.
        space: Space,
        /// The object.
        addr: Addr,
    } = ["mbarrier.inval"] (".{space} {addr}"), ALL;
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
        /// Whom it reaches.
        reach: Scoped,
        /// Must not complete the phase.
        incomplete: bool,
        /// The state of the phase.
        dst: Option<RegId>,
    } = [if *drop { "mbarrier.arrive_drop" } else { "mbarrier.arrive" }] (".{space}{release}{reach}{incomplete} {dst}, {addr}{count}{expect}"), ALL;
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
    } = [if *complete { "mbarrier.complete_tx" } else { "mbarrier.expect_tx" }] (".{space} {addr}, {bytes}"), ALL;
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
        /// Whom it hears.
        reach: Scoped,
    } = ["mbarrier.try_wait"] (".{space}{acquire}{reach} {dst}, {addr}, {until}"), Effects { orders: Orders::Told, ..TOGETHER };
    /// `cp.async.mbarrier.arrive`.
    CopyArrive {
        /// State space.
        space: Space,
        /// The object.
        addr: Addr,
        /// `.noinc`.
        counted: bool,
    } = ["cp.async.mbarrier.arrive"] (".{space}{counted} {addr}"), ALL;
    /// `fence.proxy.async`.
    ProxyFence {
        /// For shared memory.
        shared: bool,
        /// For global memory.
        global: bool,
    } = ["fence.proxy.async"] ("{shared}{global}"), AGENTS;
    /// `fence.mbarrier_init`.
    InitFence = ["fence.mbarrier_init"] (""), AGENTS;
    /// `wgmma.mma_async`.
    Wgmma(m: Box<Wgmma>) = ["wgmma.mma_async"] ("{m}"), TOGETHER;
    /// `wmma.load`.
    WmmaLoad {
        /// The fragment.
        dsts: Vec<RegId>,
        /// The matrix.
        from: Box<WmmaMove>,
    } = ["wmma.load"] (".{from}, {{{dsts}}}"), TOGETHER;
    /// `wmma.store`.
    WmmaStore {
        /// The fragment.
        srcs: ReadRegs,
        /// The matrix.
        to: Box<WmmaMove>,
    } = ["wmma.store"] (".{to}, {{{srcs}}}"), TOGETHER;
    /// `wmma.mma`.
    WmmaMma(m: Box<WmmaMma>) = ["wmma.mma"] ("{m}"), TOGETHER;
    /// An operation on tensor memory.
    Tensor(op: Box<TensorOp>) = [op.name()] ("{op}"), op.effects();
    /// A bulk copy or an operation on a tensor map.
    Bulk(op: Box<BulkOp>) = [op.name()] ("{op}"), op.effects();
    /// An operation among the CTAs of a cluster.
    Cluster(op: Box<ClusterOp>) = [op.name()] ("{op}"), op.effects();
    /// `setmaxnreg`: a warpgroup gives registers back or takes some.
    Registers {
        /// Registers of each thread then.
        count: u32,
        /// True if it takes more, which can make it wait.
        more: bool,
    } = ["setmaxnreg"] ("{more} {count}"), TOGETHER;
    /// `wgmma.fence`.
    WgmmaFence = ["wgmma.fence"] (""), Effects { orders: Orders::Agents, ..TOGETHER };
    /// `wgmma.commit_group`.
    WgmmaCommit = ["wgmma.commit_group"] (""), Effects { orders: Orders::Agents, ..TOGETHER };
    /// `wgmma.wait_group`.
    WgmmaWait {
        /// Newest groups that may still be under way.
        pending: u32,
    } = ["wgmma.wait_group"] (" {pending}"), Effects { orders: Orders::Agents, ..TOGETHER };
}
}

impl AsyncOp {
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
            AsyncOp::WmmaLoad { from: m, .. } | AsyncOp::WmmaStore { to: m, .. } => Some(m.addr),
            AsyncOp::Tensor(op) => match **op {
                TensorOp::Alloc { addr, .. } | TensorOp::Commit { addr, .. } => Some(addr),
                _ => None,
            },
            _ => self.object().map(|o| o.1),
        }
    }

    /// True where all lanes of a warp that have not exited execute it together.
    pub fn is_aligned(&self) -> bool {
        match self {
            AsyncOp::Wait { .. } => false,
            AsyncOp::Cluster(op) => op.is_aligned(),
            op => op.effects().gathers,
        }
    }
}
