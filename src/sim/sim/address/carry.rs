//! What registers carry of bases through moves, arithmetic, comparisons and memory.
//!
//! The problem: most instructions meet no address, and those that do mostly add an offset to one.
//! So an instruction is looked at only once some register that it reads has carried a base, and
//! where all lanes carry the same linear form, it is looked at once for all lanes.
//!
//! Sound: a number that comes to carry a base gets its provenance here, and an operation without a
//! rule here refuses operands that carry one: the run ends as `unknown`, since what would follow is
//! true of one layout only.

use crate::kernel::{Op, RegId, Space, Src};

use super::super::warp::{LANES, lanes};
use super::provenance::Prov;

mod exec;

/// What a lane-wise instruction gives its destinations.
pub(crate) struct Plan(Vec<(RegId, u32, Prov)>);

/// Destinations of one lane with their provenances.
pub(crate) type Given = Vec<(RegId, Prov)>;

/// Calls `f` with each operand of a lane-wise operation that names a variable.
fn named_sources(op: &Op, mut f: impl FnMut(Src)) {
    let mut each = |s: &Src| {
        if matches!(s, Src::Global(..) | Src::Var(..)) {
            f(*s);
        }
    };
    match op {
        Op::Mov { src, .. }
        | Op::Cvta { src, .. }
        | Op::Cvt { src, .. }
        | Op::Unpack { src, .. } => each(src),
        Op::IsSpace { a, .. } => each(a),
        Op::Int { src, .. } => src.iter().for_each(each),
        Op::Pack { srcs, .. } => srcs.iter().for_each(each),
        Op::Setp { a, b, .. } | Op::Set { a, b, .. } | Op::Selp { a, b, .. } => {
            each(a);
            each(b);
        }
        Op::Slct { a, b, c, .. } => [a, b, c].into_iter().for_each(each),
        Op::Lop3Bool { src, .. } => src.iter().for_each(each),
        _ => {}
    }
}

/// True of a lane-wise operation whose result depends on a base whatever its registers carry: it
/// names a variable, or adds or takes away a window.
fn brings_base(op: &Op) -> bool {
    let mut found = matches!(op, Op::Cvta { space, .. } if has_window(*space));
    named_sources(op, |_| found = true);
    found
}

/// The instructions that bring a base.
pub(crate) fn watched(kernel: &crate::kernel::Kernel) -> Vec<bool> {
    kernel.insts.iter().map(|i| brings_base(&i.op)).collect()
}

/// State spaces whose addresses are offsets from a window.
pub(crate) fn has_window(space: Space) -> bool {
    match space {
        Space::Shared | Space::SharedCluster | Space::Local | Space::Param => true,
        Space::Generic | Space::Global | Space::Const => false,
    }
}

/// What lanes carry in a register that a walk saves and restores.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Carried {
    /// Lanes that carry something.
    pub mask: u32,
    /// What they carry.
    pub prov: Option<Box<[Prov; LANES]>>,
}

impl Carried {
    /// What a lane carries.
    pub fn get(&self, lane: usize) -> Prov {
        match &self.prov {
            Some(all) if self.mask >> lane & 1 == 1 => all[lane],
            _ => Prov::NONE,
        }
    }

    /// Lets a lane carry something.
    pub fn set(&mut self, lane: usize, p: Prov) {
        let bit = 1 << lane;
        if p.is_none() {
            self.mask &= !bit;
            return;
        }
        self.mask |= bit;
        self.prov.get_or_insert_with(Default::default)[lane] = p;
    }
}

impl super::super::warp::Warp {
    /// What the lanes of a register carry.
    pub fn carried_lanes(&self, r: RegId) -> Carried {
        let mut out = Carried::default();
        for lane in lanes(self.carried(r)) {
            out.set(lane, self.prov(r, lane));
        }
        out
    }
}
