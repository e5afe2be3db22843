//! Bulk copies between global and shared memory, and tensor maps.
//!
//! Source: PTX ISA 9.0, sections 9.7.9.25.4 to 9.7.9.26, 9.7.13.4 and 9.7.13.16. A copy moves a run of
//! bytes, or the box of a tensor that a map of 128 bytes describes.

use super::effects::{AGENTS, ALL, Effects, TOGETHER};
use super::field::choices;
use super::schedule_use::{self, ScheduleUse};
use super::table::{operands, operations};
use super::{Addr, AtomOp, NumTy, RegId, Space, Src};

/// How others learn that a copy is over.
#[derive(Clone, Debug, PartialEq)]
pub enum BulkEnd {
    /// An mbarrier counts the bytes.
    Object(Space, Addr),
    /// The issuing thread commits groups and waits for them.
    Group,
}

choices!(BulkEnd { Object(space, object), Group });

/// The side of a copy that is not the shared memory of its end.
#[derive(Clone, Debug, PartialEq)]
pub enum BulkFar {
    /// A run of bytes in a state space.
    Run {
        /// State space.
        space: Space,
        /// First byte.
        addr: Addr,
        /// How many.
        bytes: Src,
    },
    /// A box of a tensor.
    Box {
        /// State space of the map.
        space: Space,
        /// The map.
        map: Addr,
        /// Coordinates of the first element, fastest dimension first; or where the rows lie apart,
        /// the first column and four rows.
        coords: Vec<Src>,
        /// Four rows of a matrix, each with a place of its own.
        apart: bool,
    },
}

choices!(BulkFar { Run { space, addr, bytes }, Box { space, map, coords, apart } });

operands! { (l)
/// A bulk copy.
#[derive(Clone, Debug, PartialEq)]
pub struct BulkCopy {
    /// True if it writes this side.
    pub fill: bool,
    /// State space of shared memory, and the address there.
    pub near: (Space, Addr),
    /// The other side.
    pub far: BulkFar,
    /// Completion.
    pub end: BulkEnd,
    /// What is done to the destination instead of overwriting it.
    pub reduce: Option<(AtomOp, Option<NumTy>)>,
    /// CTAs of the cluster that are written.
    pub multicast: Option<Src>,
    /// The mbarrier may be that of the other CTA of a pair.
    pub pair: bool,
} = ("{fill}{pair}{reduce} {near}, {far}, {end}{multicast}");
}

/// A field of a tensor map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapField {
    /// Address of the first element.
    Address,
    /// Number of dimensions, less one.
    Rank,
    /// Extent of the box in a dimension.
    Box(u8),
    /// Extent of the tensor in a dimension.
    Extent(u8),
    /// Bytes between neighbours of a dimension, from the second on.
    Stride(u8),
    /// Elements between neighbours of the box.
    Step(u8),
    /// Element type.
    Element,
    /// Interleaving.
    Interleave,
    /// Swizzle.
    Swizzle,
    /// Swizzle of larger pieces.
    Atomicity,
    /// What stands for elements outside of the tensor.
    Fill,
}

operations! { (l)
/// An operation on bulk copies or tensor maps.
#[derive(Clone, Debug, PartialEq)]
pub enum BulkOp {
    /// `cp.async.bulk`, `cp.async.bulk.tensor` and their reductions.
    Copy(copy: BulkCopy) = [copy.name()] ("{copy}"), Effects { schedule: copy.schedule(), ..ALL };
    /// `cp.async.bulk.commit_group`.
    Commit = ["cp.async.bulk.commit_group"] (""), AGENTS;
    /// `cp.async.bulk.wait_group`.
    Wait {
        /// Newest groups that may still be under way.
        pending: u32,
        /// Only the reads of their sources need be over.
        read: bool,
    } = ["cp.async.bulk.wait_group"] ("{read} {pending}"), AGENTS;
    /// `tensormap.replace`.
    Replace {
        /// State space of the map.
        space: Space,
        /// The map.
        addr: Addr,
        /// What is replaced.
        field: MapField,
        /// By what.
        value: Src,
    } = ["tensormap.replace"] (".{field}.{space} {addr}, {value}"), ALL;
    /// `tensormap.cp_fenceproxy`.
    MapCopy {
        /// Destination in global memory.
        to: Addr,
        /// Source in shared memory.
        from: Addr,
    } = ["tensormap.cp_fenceproxy"] (" {to}, {from}"), TOGETHER;
    /// `fence.proxy.tensormap::generic.acquire`.
    MapAcquire {
        /// The map.
        addr: Addr,
    } = ["fence.proxy.tensormap"] (".acquire {addr}"), AGENTS;
    /// `fence.proxy.tensormap::generic.release`.
    MapRelease = ["fence.proxy.tensormap"] (".release"), AGENTS;
}
}

impl BulkCopy {
    /// Its name.
    fn name(&self) -> &'static str {
        match (&self.far, self.reduce.is_some()) {
            (BulkFar::Run { .. }, false) => "cp.async.bulk",
            (BulkFar::Run { .. }, true) => "cp.reduce.async.bulk",
            (BulkFar::Box { .. }, false) => "cp.async.bulk.tensor",
            (BulkFar::Box { .. }, true) => "cp.reduce.async.bulk.tensor",
        }
    }

    /// How the schedule enters what it leaves.
    fn schedule(&self) -> ScheduleUse {
        let update = |(op, ty)| schedule_use::update(op, ty);
        self.reduce.map_or(ScheduleUse::Free, update)
    }
}

impl BulkOp {
    /// Calls `f` with each address of memory outside the CTA, and whether it is written there.
    pub fn far_addresses(&self, mut f: impl FnMut(Space, Addr, bool)) {
        match self {
            BulkOp::Copy(copy) => match &copy.far {
                BulkFar::Run { space, addr, .. } => f(*space, *addr, !copy.fill),
                BulkFar::Box { space, map, .. } => f(*space, *map, false),
            },
            BulkOp::Replace {
                space,
                addr,
                field,
                value,
            } => {
                f(*space, *addr, true);
                if *field == MapField::Address {
                    let base = *value;
                    f(Space::Global, Addr { base, offset: 0 }, false);
                }
            }
            BulkOp::MapCopy { to, .. } => f(Space::Global, *to, true),
            BulkOp::MapAcquire { addr } => f(Space::Generic, *addr, false),
            BulkOp::Commit | BulkOp::Wait { .. } | BulkOp::MapRelease => {}
        }
    }
}
