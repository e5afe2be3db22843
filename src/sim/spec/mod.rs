//! What a kernel is launched with: block, grid, CTA, and what its parameters stand for.
//!
//! Both kernels of a pair share one table of [`Arrays`]: an input element of the reference and of
//! the optimized kernel is the same symbol exactly when both name the same [`ArrayId`].

use std::sync::Arc;

use crate::kernel::{Fmt, GlobalId};
use crate::term::{ArrayId, Left, TermStore};

mod alias;
pub mod binding;
pub mod build;
mod cluster;
pub mod compare;
pub mod contents;
mod draw;
mod error;
pub mod facts;
mod field_type;
mod fit;
mod flags;
pub mod launch;
pub mod layers;
pub mod limits;
pub mod manifest;
pub mod mode;
mod names;
pub mod npy;
mod numbers;
mod one_sided;
pub mod only;
pub mod pair;
mod pairing;
pub mod pointers;
mod sequence;
pub mod sizes;
mod usage;
mod variables;

pub use build::Build;
pub use error::{SpecError, TomlError};
pub use flags::Flag;
pub use limits::Limits;
pub use manifest::{
    ENTRY_KEYS, Entry, FormulaText, KernelSpec, Layers, Manifest, Options, Settings, Which,
};
pub use mode::{Domain, Mode};
pub use numbers::{Number, Unbound};
pub use pair::{Resolved, Setup, resolve};
pub use sizes::{Lists, Sizes};

/// The launch of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// `%ntid`.
    pub block: [u32; 3],
    /// `%nctaid`.
    pub grid: [u32; 3],
    /// `%ctaid` of the CTA that runs.
    pub cta: [u32; 3],
    /// Extent of dynamic shared memory in bytes; `None` is unlimited.
    pub dynamic_shared: Option<u64>,
    /// Lanes of a warp run in lock step.
    pub warp_sync: bool,
    /// Accumulators of `wmma` are laid out as on sm_80.
    pub wmma_layout: bool,
    /// `%cluster_nctaid`.
    pub cluster: [u32; 3],
    /// The launch names its clusters (`%is_explicit_cluster`).
    pub clustered: bool,
}

/// Which of the lanes that reach `activemask` execute it together. The manual leaves it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Converged {
    /// All of them.
    All,
    /// Each alone.
    Alone,
    /// The even lanes, and the odd ones.
    Parity,
    /// The lower half of the warp, and the upper one.
    Halves,
    /// The lanes with one remainder by 3.
    Thirds,
    /// The lowest of them, and the others.
    Lowest,
}

impl Converged {
    /// All that are tried.
    pub const ALL: [Converged; 6] = [
        Converged::All,
        Converged::Alone,
        Converged::Parity,
        Converged::Halves,
        Converged::Thirds,
        Converged::Lowest,
    ];

    /// The lanes that execute it together with one, of those that reach it.
    pub fn with(self, lane: usize, reach: u32) -> u32 {
        const EVEN: u32 = 0x5555_5555;
        const THIRD: u32 = 0x4924_9249;
        let lowest = reach & reach.wrapping_neg();
        let part = match (self, lane) {
            (Converged::All, _) => u32::MAX,
            (Converged::Alone, lane) => 1 << lane,
            (Converged::Parity, lane) if lane % 2 == 0 => EVEN,
            (Converged::Parity, _) => !EVEN,
            (Converged::Halves, 0..16) => 0xffff,
            (Converged::Halves, _) => 0xffff_0000,
            (Converged::Thirds, lane) => match lane % 3 {
                0 => THIRD,
                1 => THIRD << 1,
                _ => !(THIRD | THIRD << 1),
            },
            (Converged::Lowest, lane) if lowest == 1 << lane => lowest,
            (Converged::Lowest, _) => !lowest,
        };
        part & reach
    }
}

impl Launch {
    /// Number of CTAs of the grid.
    pub fn ctas(&self) -> u64 {
        let [x, y, z] = self.grid.map(u64::from);
        // No component is above what `%nctaid` can hold, so that this saturates only beyond what
        // can be run.
        x.saturating_mul(y).saturating_mul(z)
    }

    /// The same launch with the CTA of this rank, x fastest.
    pub fn with_cta(&self, rank: u64) -> Launch {
        let [x, y, _] = self.grid.map(u64::from);
        let cta = [rank % x, rank / x % y, rank / x / y];
        Launch {
            cta: cta.map(|c| c as u32),
            ..self.clone()
        }
    }

    /// The rank of the CTA.
    pub fn rank(&self) -> u64 {
        let [x, y, _] = self.grid.map(u64::from);
        let [a, b, c] = self.cta.map(u64::from);
        (c.saturating_mul(y).saturating_add(b))
            .saturating_mul(x)
            .saturating_add(a)
    }

    /// Number of threads of a CTA.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// `%tid` of the thread with this rank.
    pub fn tid(&self, rank: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        [rank % x, rank / x % y, rank / x / y]
    }
}

/// Element types of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElemTy {
    /// A float format.
    Float(Fmt),
    /// An integer of this width in bits.
    Int {
        /// Width in bits.
        width: u8,
        /// Signed or unsigned.
        signed: bool,
    },
}

impl ElemTy {
    fn is_signed(self) -> bool {
        match self {
            ElemTy::Int { signed, .. } => signed,
            ElemTy::Float(_) => false,
        }
    }

    /// Size in bytes.
    pub fn bytes(self) -> u64 {
        match self {
            ElemTy::Float(f) => f.bits() as u64 / 8,
            ElemTy::Int { width, .. } => width as u64 / 8,
        }
    }
}

/// What the user said that an array is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Read only; a write is a warning.
    In,
    /// Written only; it has no initial content.
    Out,
    /// Read and written.
    InOut,
    /// Not compared.
    Scratch,
}

/// Where an array comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A pointer parameter.
    Pointer,
    /// A scalar parameter: an array of one element, its value.
    Scalar,
    /// A module-scope `.global` variable.
    Global,
    /// A module-scope `.const` variable.
    Const,
}

/// A part of an array: a range for each dimension, ends excluded.
pub type Part = Vec<(u64, u64)>;

/// One array of the pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// Name for reports: the reference's parameter name.
    pub name: String,
    /// Where it comes from.
    pub origin: Origin,
    /// What the user bound it as.
    pub role: Option<Role>,
    /// Element type, where bound or declared.
    pub elem: Option<ElemTy>,
    /// Dimensions, slowest first; empty if not known.
    pub shape: Vec<u64>,
    /// Extent in bytes, where known.
    pub extent: Option<u64>,
    /// Its first byte is at a multiple of this, where that was said.
    pub align: Option<u32>,
    /// The pointers that it holds before the launch.
    pub pointers: Option<Arc<[pointers::Pointer]>>,
    /// Its bytes before the launch where an initialiser or its contents say them, alike in all kernels; zeros follow.
    pub initial: Option<Arc<[u8]>>,
    /// The parts that are compared, by a range for each dimension; all of it if there are none.
    pub only: Option<Arc<[Part]>>,
    /// Launches hand it on to each other, so that a `scratch:` array holds what one of them put there, and nothing before.
    pub handed_on: bool,
}

/// Which of several runs by words a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// Tells the code of the kernels apart: runs of one kernel have one number.
    pub code: u32,
    /// Tells the runs apart, where each is compared with several others; else their sides do.
    pub run: Option<u32>,
    /// How many kernels there are.
    pub of: u32,
}

impl Numbered {
    /// The number of an instruction, which no other of the kernels has, and is not 0.
    pub fn place(self, pc: crate::kernel::Pc) -> u32 {
        1 + pc.0 * self.of + self.code
    }
}

impl Array {
    /// True if nothing is in it before the first launch: reading it is an uninitialised read.
    pub fn begins_unset(&self) -> bool {
        match self.role {
            Some(Role::Out) => true,
            Some(Role::Scratch) => self.handed_on && self.initial.is_none(),
            Some(Role::In | Role::InOut) | None => false,
        }
    }

    /// The bits of a range of at most eight bytes before the launch, where they are known.
    pub fn initial_bits(&self, range: std::ops::Range<u64>) -> Option<u64> {
        let init = self.initial.as_ref()?;
        let byte = |i: u64| init.get(i as usize).copied().unwrap_or(0);
        Some(range.rev().fold(0, |v, i| v << 8 | u64::from(byte(i))))
    }
}

/// The arrays of a pair, by [`ArrayId`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrays(pub Vec<Array>);

impl std::ops::Index<ArrayId> for Arrays {
    type Output = Array;
    fn index(&self, id: ArrayId) -> &Array {
        &self.0[id.0 as usize]
    }
}

/// What stands at a byte offset of the kernel parameter space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// The address of a byte of an array, by its offset.
    Pointer(ArrayId, u64),
    /// Known bits (integers and floats that the user bound).
    Bits(u64),
    /// A tensor map of an array: its number in [`Bindings::maps`].
    Map(ArrayId, u32),
    /// An unbound scalar: the bytes of the one-element array.
    Symbol(ArrayId),
}

/// A bound piece of the kernel parameter space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Index of the parameter.
    pub param: u32,
    /// Byte offset in the parameter space.
    pub offset: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// What is there.
    pub value: Value,
}

/// The parameters and module variables of one kernel, resolved.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    /// Fields in offset order; they do not overlap.
    pub fields: Vec<Field>,
    /// The flags that bind the bytes of the parameter space.
    pub flags: Vec<Flag>,
    /// The tensor maps that are parameters.
    pub maps: Vec<binding::MapDecl>,
    /// Array of each module-scope variable, by [`GlobalId`].
    pub globals: Vec<ArrayId>,
    /// Initial content of arrays that is known: none, but for a run on known data.
    pub given: Vec<Given>,
    /// What the launches before left, in a sequence.
    pub left: Option<Arc<Left>>,
    /// What holds of every input on which the reference is defined, as the premises of a store: none, but where an
    /// input that was found has to keep them.
    pub premises: Option<Arc<TermStore>>,
    /// What the user says of the data.
    pub facts: Arc<crate::term::facts::Facts>,
}

/// Known bytes of an array before the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// The array.
    pub array: ArrayId,
    /// Byte offset.
    pub off: u64,
    /// Size in bytes, at most 8.
    pub bytes: u8,
    /// The bytes, little endian.
    pub value: u64,
}

impl Bindings {
    /// True if a kernel is given the same by both; one that runs on what others left is given what nothing else is.
    pub fn is_same(&self, other: &Bindings) -> bool {
        let Bindings {
            fields,
            flags,
            maps,
            globals,
            given,
            left,
            premises,
            facts,
        } = self;
        let memory = (left.is_none() && other.left.is_none())
            && (premises.is_none() && other.premises.is_none())
            && *given == other.given
            && *facts == other.facts;
        let values = *fields == other.fields && *maps == other.maps && *globals == other.globals;
        memory && values && *flags == other.flags
    }

    /// The array that a module-scope variable is.
    pub fn global(&self, g: GlobalId) -> ArrayId {
        self.globals[g.0 as usize]
    }
}
