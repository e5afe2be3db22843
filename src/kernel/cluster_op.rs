//! Operations among the CTAs of a cluster.
//!
//! Source: PTX ISA 9.0, sections 9.7.9.23 (`mapa`), 9.7.9.24 (`getctarank`) and 9.7.13.3 (`barrier.cluster`).

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
            ClusterOp::Rank { from, .. } => f(from),
        }
    }

    /// The register that it writes.
    pub fn def(&self) -> Option<RegId> {
        match self {
            ClusterOp::Arrive { .. } | ClusterOp::Wait { .. } | ClusterOp::Store(_) => None,
            ClusterOp::Map { dst, .. } | ClusterOp::Rank { dst, .. } => Some(*dst),
        }
    }

    /// True where all lanes of a warp that have not exited execute it together.
    pub fn is_aligned(&self) -> bool {
        match self {
            ClusterOp::Arrive { aligned, .. } | ClusterOp::Wait { aligned } => *aligned,
            ClusterOp::Map { .. } | ClusterOp::Rank { .. } | ClusterOp::Store(_) => false,
        }
    }

    /// True where lanes of a warp wait for the others of it to come.
    pub fn gathers(&self) -> bool {
        match self {
            ClusterOp::Arrive { .. } | ClusterOp::Wait { .. } => true,
            ClusterOp::Map { .. } | ClusterOp::Rank { .. } | ClusterOp::Store(_) => false,
        }
    }
}
