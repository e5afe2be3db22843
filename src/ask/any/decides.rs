//! How a question about every launch decides each kind of defect that a fixed launch knows, in one table.
//!
//! A kind or a memory that is added does not compile before it has its row, and a test has a kernel for each row: one that
//! is wrong in some launch alone, and a right one.

use crate::answer::DefectKind;

/// How a kind of defect is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    /// Shown for every launch, or the answer is `unknown`.
    Proved,
    /// Shown for every launch where that is simple; else looked at in the launches that are run, which is a listed assumption.
    Launches,
    /// The answer is `unknown` wherever a thread may come to it.
    Unknown,
    /// There is no such defect.
    Impossible,
}

/// What a defect is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// Registers and predicates.
    Registers,
    /// Arrays.
    Global,
    /// Variables in constant memory.
    Constant,
    /// Shared memory of the CTA.
    Shared,
    /// Shared memory of other CTAs of a cluster.
    Cluster,
    /// A thread's own memory.
    Local,
    /// Parameters.
    Parameters,
    /// Tensor memory, barriers in memory, and what agents do.
    Agents,
    /// Control flow: barriers, collectives, tables of branches, assertions.
    Control,
}

impl About {
    /// All of them.
    pub const ALL: [About; 9] = [
        About::Registers,
        About::Global,
        About::Constant,
        About::Shared,
        About::Cluster,
        About::Local,
        About::Parameters,
        About::Agents,
        About::Control,
    ];
}

/// How defects of a kind are decided.
pub fn decided(kind: DefectKind, about: About) -> Decided {
    use About::*;
    use Decided::*;
    match about {
        // Nothing of these is followed.
        Cluster | Agents => return Unknown,
        Registers | Global | Constant | Shared | Local | Parameters | Control => {}
    }
    match kind {
        DefectKind::DataRace => match about {
            Global | Shared => Proved,
            // Nobody else writes there.
            Registers | Constant | Local | Parameters | Control | Cluster | Agents => Impossible,
        },
        DefectKind::Deadlock | DefectKind::BarrierMisuse | DefectKind::Assertion => match about {
            Control => Proved,
            Registers | Global | Constant | Shared | Local | Parameters | Cluster | Agents => {
                Impossible
            }
        },
        DefectKind::OutOfBounds => match about {
            // Of an array of unknown extent: what lies before it; with data that nothing bounds: a listed assumption.
            Global | Constant | Shared | Local | Parameters | Control => Proved,
            Registers | Cluster | Agents => Impossible,
        },
        DefectKind::UninitializedRead => match about {
            Registers => Proved,
            Shared | Local | Global => Launches,
            Constant | Parameters | Control | Cluster | Agents => Impossible,
        },
        DefectKind::MisalignedAccess => match about {
            Global | Constant | Shared | Local | Parameters => Proved,
            Registers | Control | Cluster | Agents => Impossible,
        },
        // Of what is not followed alone.
        DefectKind::OrderDependent | DefectKind::Lifetime => Impossible,
    }
}
