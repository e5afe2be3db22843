//! Special registers by name.
//!
//! Source: PTX ISA 9.0, section 10. Registers whose value depends on the schedule, the clock or the
//! machine are all [`Special::Volatile`]: each read may give any value.

use super::Special;
use crate::ptx::Type;

/// What reading a special register gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// The register.
    Special(Special),
    /// A constant (`%tid.w`).
    Constant(u64),
    /// One half of the address of the memory that a cooperative launch gives its grid for barriers.
    Workspace {
        /// The upper half.
        upper: bool,
    },
}

/// The special register with this name and component, and its type. A vector without a component
/// is `None`; see [`vector`].
pub(super) fn special(name: &str, component: Option<u8>) -> Option<(Reading, Type)> {
    let name = name.strip_prefix('%')?;
    if let Some(make) = vector_of(name) {
        return Some(match component? {
            c @ 0..=2 => (Reading::Special(make(c)), Type::U32),
            _ => (Reading::Constant(0), Type::U32),
        });
    }
    if component.is_some() {
        return None;
    }
    let (special, ty) = match name {
        "laneid" => (Special::LaneId, Type::U32),
        "warpid" => (Special::WarpId, Type::U32),
        "nwarpid" => (Special::NwarpId, Type::U32),
        "lanemask_eq" => (Special::LaneMaskEq, Type::U32),
        "lanemask_le" => (Special::LaneMaskLe, Type::U32),
        "lanemask_lt" => (Special::LaneMaskLt, Type::U32),
        "lanemask_ge" => (Special::LaneMaskGe, Type::U32),
        "lanemask_gt" => (Special::LaneMaskGt, Type::U32),
        "cluster_ctarank" => (Special::ClusterCtarank, Type::U32),
        "cluster_nctarank" => (Special::ClusterNctarank, Type::U32),
        "is_explicit_cluster" => (Special::IsExplicitCluster, Type::Pred),
        "total_smem_size" => (Special::TotalSmem, Type::U32),
        "aggr_smem_size" => (Special::AggrSmem, Type::U32),
        "dynamic_smem_size" => (Special::DynamicSmem, Type::U32),
        "smid" | "nsmid" | "clock" | "clock_hi" | "globaltimer_lo" | "globaltimer_hi" => {
            (Special::Volatile, Type::U32)
        }
        "gridid" | "clock64" | "globaltimer" | "current_graph_exec" => {
            (Special::Volatile, Type::U64)
        }
        "reserved_smem_offset_begin"
        | "reserved_smem_offset_end"
        | "reserved_smem_offset_cap"
        | "reserved_smem_offset_0"
        | "reserved_smem_offset_1" => (Special::Volatile, Type::B32),
        _ => return numbered(name),
    };
    Some((Reading::Special(special), ty))
}

/// The constructor of a vector special register with this name (with its `%`).
pub(super) fn vector(name: &str) -> Option<fn(u8) -> Special> {
    vector_of(name.strip_prefix('%')?)
}

fn vector_of(name: &str) -> Option<fn(u8) -> Special> {
    Some(match name {
        "tid" => Special::Tid,
        "ntid" => Special::Ntid,
        "ctaid" => Special::Ctaid,
        "nctaid" => Special::Nctaid,
        "clusterid" => Special::ClusterId,
        "nclusterid" => Special::NclusterId,
        "cluster_ctaid" => Special::ClusterCtaid,
        "cluster_nctaid" => Special::ClusterNctaid,
        _ => return None,
    })
}

/// `%pm0` to `%pm7`, `%pm0_64` to `%pm7_64`, `%envreg0` to `%envreg31`.
///
/// What the driver puts into `%envreg` is not documented; that `%envreg1` and `%envreg2` are the halves of the address
/// of the grid's workspace is how code of cooperative groups reads them, in every version of the toolkit.
fn numbered(name: &str) -> Option<(Reading, Type)> {
    let (digits, limit, ty) = if let Some(rest) = name.strip_prefix("envreg") {
        match rest {
            "1" => return Some((Reading::Workspace { upper: true }, Type::B32)),
            "2" => return Some((Reading::Workspace { upper: false }, Type::B32)),
            _ => (rest, 32, Type::B32),
        }
    } else {
        let rest = name.strip_prefix("pm")?;
        match rest.strip_suffix("_64") {
            Some(digits) => (digits, 8, Type::U64),
            None => (rest, 8, Type::U32),
        }
    };
    let number: u32 = digits.parse().ok()?;
    (number < limit).then_some((Reading::Special(Special::Volatile), ty))
}
