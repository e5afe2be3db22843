//! Operations among the CTAs of a cluster.
//!
//! Source: PTX ISA 9.0, sections 9.7.9.23 (`mapa`), 9.7.9.24 (`getctarank`), 9.7.13.3 (`barrier.cluster`), 9.7.13.17 and
//! 9.7.13.18 (`clusterlaunchcontrol`).

use super::{Addr, AtomOp, NumTy, RegId, Space, Src};

/// A store into the shared memory of a CTA of the cluster that an mbarrier counts.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteStore {
    /// State space of both addresses.
    pub space: Space,
    /// Where it goes.
    pub to: Addr,
    /// The mbarrier.
    pub object: Addr,
    /// Type of an element.
    pub ty: NumTy,
    /// The elements.
    pub srcs: Vec<Src>,
    /// What is done to memory instead of overwriting it.
    pub reduce: Option<AtomOp>,
}

/// An operation among the CTAs of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub enum ClusterOp {
    /// `barrier.cluster.arrive`.
    Arrive {
        /// Publishes what the thread did before.
        release: bool,
        /// All lanes of the warp execute it together.
        aligned: bool,
    },
    /// `barrier.cluster.wait`.
    Wait {
        /// All lanes of the warp execute it together.
        aligned: bool,
    },
    /// `mapa`.
    Map {
        /// The address in another CTA.
        dst: RegId,
        /// An address of shared memory.
        from: Src,
        /// The rank of that CTA.
        rank: Src,
    },
    /// `st.async` and `red.async`.
    Store(RemoteStore),
    /// `getctarank`.
    Rank {
        /// The rank.
        dst: RegId,
        /// An address of shared memory.
        from: Src,
    },
    /// `clusterlaunchcontrol.try_cancel`.
    Cancel {
        /// State space of both addresses.
        space: Space,
        /// Where the response goes.
        to: Addr,
        /// The mbarrier.
        object: Addr,
        /// Every CTA of the cluster gets the response.
        all: bool,
    },
    /// `clusterlaunchcontrol.query_cancel.is_canceled`, of the lower half of a response.
    IsCancelled {
        /// The predicate.
        dst: RegId,
        /// The response.
        from: Src,
    },
    /// `clusterlaunchcontrol.query_cancel.get_first_ctaid`, of the lower half of a response.
    FirstCta {
        /// The index.
        dst: RegId,
        /// The response.
        from: Src,
        /// Of which dimension.
        dimension: u8,
    },
}

impl ClusterOp {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            ClusterOp::Arrive { .. } => "barrier.cluster.arrive",
            ClusterOp::Wait { .. } => "barrier.cluster.wait",
            ClusterOp::Map { .. } => "mapa",
            ClusterOp::Store(op) if op.reduce.is_some() => "red.async",
            ClusterOp::Store(_) => "st.async",
            ClusterOp::Rank { .. } => "getctarank",
            ClusterOp::Cancel { .. } => "clusterlaunchcontrol.try_cancel",
            ClusterOp::IsCancelled { .. } | ClusterOp::FirstCta { .. } => {
                "clusterlaunchcontrol.query_cancel"
            }
        }
    }

    /// Calls `f` with each source operand.
    pub fn sources(&self, mut f: impl FnMut(&Src)) {
        match self {
            ClusterOp::Arrive { .. } | ClusterOp::Wait { .. } => {}
            ClusterOp::Map { from, rank, .. } => {
                f(from);
                f(rank);
            }
            ClusterOp::Store(op) => {
                f(&op.to.base);
                f(&op.object.base);
                op.srcs.iter().for_each(f);
            }
            ClusterOp::Rank { from, .. }
            | ClusterOp::IsCancelled { from, .. }
            | ClusterOp::FirstCta { from, .. } => f(from),
            ClusterOp::Cancel { to, object, .. } => {
                f(&to.base);
                f(&object.base);
            }
        }
    }

    /// The register that it writes.
    pub fn def(&self) -> Option<RegId> {
        match self {
            ClusterOp::Arrive { .. }
            | ClusterOp::Wait { .. }
            | ClusterOp::Store(_)
            | ClusterOp::Cancel { .. } => None,
            ClusterOp::Map { dst, .. }
            | ClusterOp::Rank { dst, .. }
            | ClusterOp::IsCancelled { dst, .. }
            | ClusterOp::FirstCta { dst, .. } => Some(*dst),
        }
    }

    /// True where all lanes of a warp that have not exited execute it together.
    pub fn is_aligned(&self) -> bool {
        match self {
            ClusterOp::Arrive { aligned, .. } | ClusterOp::Wait { aligned } => *aligned,
            ClusterOp::Map { .. }
            | ClusterOp::Rank { .. }
            | ClusterOp::Store(_)
            | ClusterOp::Cancel { .. }
            | ClusterOp::IsCancelled { .. }
            | ClusterOp::FirstCta { .. } => false,
        }
    }

    /// True where lanes of a warp wait for the others of it to come.
    pub fn gathers(&self) -> bool {
        match self {
            ClusterOp::Arrive { .. } | ClusterOp::Wait { .. } => true,
            ClusterOp::Map { .. }
            | ClusterOp::Rank { .. }
            | ClusterOp::Store(_)
            | ClusterOp::Cancel { .. }
            | ClusterOp::IsCancelled { .. }
            | ClusterOp::FirstCta { .. } => false,
        }
    }
}
