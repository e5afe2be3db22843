//! Operations among the CTAs of a cluster.
//!
//! Source: PTX ISA 9.0, sections 9.7.9.23 (`mapa`), 9.7.9.24 (`getctarank`), 9.7.13.3 (`barrier.cluster`), 9.7.13.17 and
//! 9.7.13.18 (`clusterlaunchcontrol`).

use super::effects::{ALL, Effects, Orders, TOGETHER};
use super::table::{operands, operations};
use super::{Addr, AtomOp, NumTy, RegId, Space, Src};

operands! { (l)
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
} = (".{space}{reduce}.{ty} {to}, {{{srcs}}}, {object}");
}

operations! { (l)
/// An operation among the CTAs of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub enum ClusterOp {
    /// `barrier.cluster.arrive`.
    Arrive {
        /// Publishes what the thread did before.
        release: bool,
        /// All lanes of the warp execute it together.
        aligned: bool,
    } = ["barrier.cluster.arrive"] ("{release}{aligned}"), Effects { orders: Orders::Agents, ..TOGETHER };
    /// `barrier.cluster.wait`.
    Wait {
        /// All lanes of the warp execute it together.
        aligned: bool,
    } = ["barrier.cluster.wait"] ("{aligned}"), Effects { orders: Orders::Agents, ..TOGETHER };
    /// `mapa`.
    Map {
        /// The address in another CTA.
        dst: RegId,
        /// An address of shared memory.
        from: Src,
        /// The rank of that CTA.
        rank: Src,
    } = ["mapa"] (" {dst}, {from}, {rank}"), ALL;
    /// `st.async` and `red.async`.
    Store(op: RemoteStore) = [if op.reduce.is_some() { "red.async" } else { "st.async" }] ("{op}"), ALL;
    /// `getctarank`.
    Rank {
        /// The rank.
        dst: RegId,
        /// An address of shared memory.
        from: Src,
    } = ["getctarank"] (" {dst}, {from}"), ALL;
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
    } = ["clusterlaunchcontrol.try_cancel"] (".{space}{all} {to}, {object}"), ALL;
    /// `clusterlaunchcontrol.query_cancel.is_canceled`, of the lower half of a response.
    IsCancelled {
        /// The predicate.
        dst: RegId,
        /// The response.
        from: Src,
    } = ["clusterlaunchcontrol.query_cancel.is_canceled"] (" {dst}, {from}"), ALL;
    /// `clusterlaunchcontrol.query_cancel.get_first_ctaid`, of the lower half of a response.
    FirstCta {
        /// The index.
        dst: RegId,
        /// The response.
        from: Src,
        /// Of which dimension.
        dimension: u8,
    } = ["clusterlaunchcontrol.query_cancel.get_first_ctaid"] (" {dst}, {from}, {dimension}"), ALL;
}
}

impl ClusterOp {
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
}
