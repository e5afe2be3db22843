//! Kinds of barriers and exchanges between lanes, and special registers.

use super::{Guard, RegId};

/// What a named-barrier instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarKind {
    /// Arrive and wait.
    Sync,
    /// Arrive only.
    Arrive,
    /// Arrive, wait, and count the true predicates into a 32-bit register.
    RedPopc {
        /// Destination.
        dst: RegId,
        /// The predicate.
        src: Guard,
    },
    /// Arrive, wait, and reduce predicates by and (`all`) or by or.
    RedBool {
        /// Destination predicate.
        dst: RegId,
        /// The predicate.
        src: Guard,
        /// True for `.and`.
        all: bool,
    },
}

impl BarKind {
    /// The name of the instruction.
    pub(super) fn name(self) -> &'static str {
        match self {
            BarKind::Sync => "bar.sync",
            BarKind::Arrive => "bar.arrive",
            BarKind::RedPopc { .. } | BarKind::RedBool { .. } => "bar.red",
        }
    }
}

/// Modes of `shfl.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShflMode {
    /// From a lower lane.
    Up,
    /// From a higher lane.
    Down,
    /// From the lane with xor-ed index.
    Bfly,
    /// From an indexed lane.
    Idx,
}

/// Modes of `vote.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VoteMode {
    /// All true.
    All,
    /// Any true.
    Any,
    /// All equal.
    Uni,
    /// Mask of the true ones.
    Ballot,
}

/// Special registers. Vector ones carry their component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// `%tid`.
    Tid(u8),
    /// `%ntid`.
    Ntid(u8),
    /// `%ctaid`.
    Ctaid(u8),
    /// `%nctaid`.
    Nctaid(u8),
    /// `%clusterid`.
    ClusterId(u8),
    /// `%nclusterid`.
    NclusterId(u8),
    /// `%cluster_ctaid`.
    ClusterCtaid(u8),
    /// `%cluster_nctaid`.
    ClusterNctaid(u8),
    /// `%cluster_ctarank`.
    ClusterCtarank,
    /// `%cluster_nctarank`.
    ClusterNctarank,
    /// `%is_explicit_cluster`.
    IsExplicitCluster,
    /// `%laneid`.
    LaneId,
    /// `%warpid`.
    WarpId,
    /// `%nwarpid`.
    NwarpId,
    /// `%lanemask_eq`.
    LaneMaskEq,
    /// `%lanemask_le`.
    LaneMaskLe,
    /// `%lanemask_lt`.
    LaneMaskLt,
    /// `%lanemask_ge`.
    LaneMaskGe,
    /// `%lanemask_gt`.
    LaneMaskGt,
    /// `%total_smem_size`.
    TotalSmem,
    /// `%aggr_smem_size`.
    AggrSmem,
    /// `%dynamic_smem_size`.
    DynamicSmem,
    /// A register whose value depends on the schedule or the machine (`%clock`, `%smid`, ...).
    Volatile,
}

impl Special {
    /// True if it tells of clusters.
    pub fn is_of_cluster(self) -> bool {
        matches!(
            self,
            Special::ClusterId(_)
                | Special::NclusterId(_)
                | Special::ClusterCtaid(_)
                | Special::ClusterNctaid(_)
                | Special::ClusterCtarank
                | Special::ClusterNctarank
                | Special::IsExplicitCluster
        )
    }
}
