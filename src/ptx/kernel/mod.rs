//! The executable form of one entry: names are dense indices, opcodes are decoded, labels are
//! program counters.
//!
//! Nothing after this stage looks at strings: a register is a [`RegId`], an address of a shared
//! variable is a number, and the only way back to text is the side table `pc -> Span`.
//!
//! Calls are expanded in place while lowering: a callee's registers, locals and `.param`
//! variables get an instance of their own at each call site, its `ret` is a jump to the site's
//! continuation. The simulator therefore knows neither frames nor an ABI. Recursion is expanded
//! to [`MAX_CALL_DEPTH`]; a path that goes deeper meets [`Op::CallDepth`].

use std::sync::Arc;

use crate::answer::SourceLine;
use crate::answer::finding::Frame;
use crate::diag::{Source, Span};

pub mod awaits;
pub mod bodies;
pub mod conditions;
pub mod counters;
pub mod effects;
pub mod error;
pub mod lower;
pub mod op;
pub mod operands;
pub mod poll;
pub mod print;
pub mod promote;
pub mod pure;
pub mod region;
pub mod slice;
pub mod structured;
pub mod synchronisation;
pub mod usage;

mod address;
mod async_op;
mod bulk_op;
mod call;
mod callgraph;
mod cluster_op;
pub mod contraction;
mod control;
mod decode;
mod decode_async;
mod decode_atom;
mod decode_bulk;
mod decode_cluster;
mod decode_cmp;
mod decode_copy;
mod decode_cvt;
mod decode_float;
mod decode_int;
mod decode_matrix;
mod decode_mem;
mod decode_mov;
mod decode_sync;
mod decode_tensor;
mod decode_video;
mod decode_wmma;
pub mod demand;
mod entry;
mod field;
pub mod flow;
mod header;
mod indirect;
mod init;
mod instruction;
mod int_op;
mod layout;
mod listing;
mod matrix_field;
mod matrix_op;
mod operand;
pub mod rechecked;
mod relays;
mod results;
pub mod retries;
mod schedule_use;
mod scope;
mod sig;
mod special;
mod statics;
mod table;
mod tensor_op;
mod texture;
mod types;
mod unmodelled;
mod value_use;
mod warp_op;

#[cfg(test)]
pub(crate) mod tests;

pub use crate::scalar::*;
pub use async_op::{AsyncOp, Fragment, GroupA, Part, WaitFor, Wgmma, WmmaMma, WmmaMove};
pub use bulk_op::{BulkCopy, BulkEnd, BulkFar, BulkOp, MapField};
pub use cluster_op::{ClusterOp, RemoteStore};
pub use entry::{demangled, printed, select_entry};
pub use error::{LowerError, LowerWarning};
pub use int_op::*;
pub use lower::{Lowered, lower, lower_with};
pub use matrix_op::*;
pub use op::*;
pub use schedule_use::{ScheduleUse, commutes_bit_for_bit};
pub use tensor_op::{Collector, Lanes, TensorA, TensorCopy, TensorKind, TensorMma, TensorOp};
pub use types::*;
pub use usage::{AccessUse, ParamUse, param_uses};
pub use value_use::ValueUse;
pub use warp_op::*;

/// Depth to which calls are expanded; a deeper one is `unknown` (`call-depth`) when reached.
pub const MAX_CALL_DEPTH: usize = 24;

/// Index of a register. Predicates are registers of width 1; a 128-bit register takes two
/// consecutive 64-bit ones, low half first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegId(pub u32);

/// One entry, ready to run.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The entry's PTX name.
    pub name: String,
    /// Where the file declares it.
    pub name_span: Span,
    /// The PTX text that spans point into.
    pub source: Arc<Source>,
    /// `.target sm_XX`: the number XX.
    pub sm: u32,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// Total size of the kernel parameter space in bytes.
    pub param_bytes: u32,
    /// The code; execution starts at 0. The last instruction never falls through.
    pub insts: Vec<Inst>,
    /// Where in the PTX each instruction stands.
    pub spans: Vec<Span>,
    /// The `.loc` in force at each instruction: index into `locs`, `u32::MAX` for none.
    pub loc_of: Vec<u32>,
    /// Source locations named by `.loc`.
    pub locs: Vec<Loc>,
    /// Bit widths (1, 8, 16, 32, 64) of the registers.
    pub reg_width: Vec<u8>,
    /// PTX names of the registers, for reports.
    pub reg_name: Vec<String>,
    /// Statically sized shared variables with their offsets; dynamic ones follow them.
    pub shared: Vec<Var>,
    /// Size of the static part of shared memory in bytes.
    pub shared_bytes: u32,
    /// Offset at which `.extern .shared` arrays start, when there is one.
    pub dynamic_shared: Option<u32>,
    /// The largest declared alignment of those arrays.
    pub dynamic_align: u32,
    /// Per-thread local memory: `.local` variables and the `.param` variables of expanded calls.
    pub locals: Vec<Var>,
    /// Parts of local memory, as offset and end, that no address leads to: `.param` variables that
    /// are named by loads, stores and calls only.
    pub unaddressed: Vec<(u32, u32)>,
    /// Size of the local memory of one thread in bytes.
    pub local_bytes: u32,
    /// Module-scope `.global` and `.const` variables that the code names, by [`GlobalId`].
    pub globals: Vec<GlobalVar>,
    /// `.reqntid`, if given.
    pub reqntid: Option<[u32; 3]>,
    /// `.reqnctapercluster`, if given.
    pub cluster: Option<[u32; 3]>,
    /// Threads that `.maxntid` allows, if given.
    pub maxntid: Option<u64>,
    /// Registers of a thread when it starts, where directives say so.
    pub registers: Option<Owned>,
    /// Jump tables of `brx.idx`.
    pub tables: Vec<Vec<Pc>>,
    /// Texts of the `Unsupported` instructions.
    pub texts: Vec<String>,
    /// For each conditional branch, by pc: the immediate post-dominator (where both ways meet),
    /// or `u32::MAX` where only the exit is common.
    pub join: Vec<u32>,
    /// Conditions that the size of a launch can change, in order of their instructions.
    pub conditions: Vec<conditions::Condition>,
}

/// Registers of a thread when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owned {
    /// How many.
    pub count: u32,
    /// False if `.maxnreg` gives the number; true if it is the most that `.maxntid` and `.minnctapersm` leave.
    pub computed: bool,
}

impl Owned {
    /// Registers of a multiprocessor.
    const ALL: u64 = 1 << 16;

    /// As many as `.maxnreg` gives: a multiple of 8.
    pub fn given(count: u32) -> Owned {
        Owned {
            count: count.min(256) & !7,
            computed: false,
        }
    }

    /// As many as so many CTAs of so many threads leave each other on a multiprocessor, whose warps come in fours.
    pub fn left(ctas: u32, threads: u64) -> Option<Owned> {
        let warps = (u64::from(ctas) * threads.div_ceil(32)).next_multiple_of(4);
        let count = (Owned::ALL.checked_div(32 * warps)? & !7).min(256) as u32;
        let computed = true;
        (count > 0).then_some(Owned { count, computed })
    }
}

/// A source location of a `.loc` directive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Loc {
    /// File name as `.file` gives it.
    pub file: String,
    /// 1-based line.
    pub line: u32,
    /// File and line of the calls that it was inlined from, the nearest first.
    pub inlined_from: Vec<(String, u32)>,
}

/// A kernel parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its name for people: that of its source where it is known, else its PTX name.
    pub name: String,
    /// PTX name.
    pub symbol: String,
    /// Byte offset in the parameter space.
    pub offset: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// Its declared alignment in bytes.
    pub align: u32,
    /// How it was declared.
    pub kind: ParamKind,
}

impl Param {
    /// True if a user may mean it by a name.
    pub fn is_named(&self, name: &str) -> bool {
        self.name == name || self.symbol == name
    }
}

/// The declared type of a kernel parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// An integer or untyped scalar of this many bits; a 64-bit one may be a pointer. `pointer`
    /// says that `.ptr` declared it one; `signed` that the type was `.s*`.
    Int {
        /// Width in bits.
        width: u8,
        /// Declared with a signed type.
        signed: bool,
        /// Declared with `.ptr`.
        pointer: bool,
        /// Declared with a type of bits, which may as well be those of a float.
        untyped: bool,
    },
    /// A float scalar.
    Float(Fmt),
    /// A by-value array or structure.
    Bytes,
}

/// A variable in shared or local memory.
#[derive(Clone, Debug)]
pub struct Var {
    /// PTX name.
    pub name: String,
    /// Offset in its space.
    pub offset: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// Size of one element in bytes, for reports (`array[index]`).
    pub elem: u32,
    /// Its declared alignment in bytes.
    pub align: u32,
}

/// Index into [`Kernel::globals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GlobalId(pub u32);

/// A module-scope variable in global or constant memory.
#[derive(Clone, Debug)]
pub struct GlobalVar {
    /// PTX name.
    pub name: String,
    /// True for `.const`.
    pub constant: bool,
    /// Size in bytes.
    pub bytes: u64,
    /// Size of one element in bytes.
    pub elem: u32,
    /// Its declared alignment in bytes.
    pub align: u32,
    /// The declared element type, when it is a float.
    pub fmt: Option<Fmt>,
    /// Initial bytes; what is missing at the end is zero. Addresses inside are in `relocs`.
    pub init: Vec<u8>,
    /// Initialisers that are addresses: (byte offset, what is addressed, addend).
    pub relocs: Vec<(u64, SymbolRef, i64)>,
    /// Where its initial content comes from.
    pub begins: Begins,
}

/// Where the content of a variable before the first launch comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    /// Its initialiser.
    Initialised,
    /// The host, or an earlier launch: the module defines it without an initialiser.
    Filled,
    /// Another module, or an initialiser that has no known bytes.
    Elsewhere,
}

/// The name of the memory that a cooperative launch gives its grid for barriers.
pub const WORKSPACE: &str = "%envreg1:%envreg2";

/// Its size: a word that nobody reads, and the word of the barrier.
pub const WORKSPACE_BYTES: u64 = 8;

/// A symbol whose address is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolRef {
    /// A variable of [`Kernel::globals`], its address in its own state space.
    Global(GlobalId),
    /// The same, its generic address.
    Generic(GlobalId),
}

/// Whether bytes from one offset to another lie in one of some parts that are in order and apart.
pub(crate) fn lies_in_one(parts: &[(u32, u32)], (from, end): (i64, i64)) -> bool {
    let before = parts.partition_point(|part| i64::from(part.0) <= from);
    let last = before.checked_sub(1).and_then(|i| parts.get(i));
    last.is_some_and(|part| end <= i64::from(part.1))
}

impl Kernel {
    /// The parts of local memory that no address leads to, by their offsets.
    pub(crate) fn unaddressed_in_order(&self) -> Vec<(u32, u32)> {
        let mut parts = self.unaddressed.clone();
        parts.sort_unstable();
        parts
    }

    /// True if it asks for the launch of other clusters to be cancelled.
    pub fn cancels_launches(&self) -> bool {
        let asks = |op: &AsyncOp| matches!(op, AsyncOp::Cluster(op) if matches!(**op, ClusterOp::Cancel { .. }));
        let mut ops = self.insts.iter().map(|i| &i.op);
        ops.any(|op| matches!(op, Op::Async(op) if asks(op)))
    }

    /// The span of an instruction.
    pub fn span(&self, pc: Pc) -> Span {
        self.spans[pc.0 as usize]
    }

    /// True if there is an operation of asynchronous agents or tensor cores of which this holds.
    pub fn any_async(&self, holds: impl Fn(&AsyncOp) -> bool) -> bool {
        self.insts.iter().any(|i| match &i.op {
            Op::Async(op) => holds(op),
            _ => false,
        })
    }

    /// The scope of a strong access; nothing for other instructions.
    pub fn scope(&self, pc: Pc) -> Option<Scope> {
        match &self.insts.get(pc.0 as usize)?.op {
            Op::Ld { access, .. } | Op::St { access, .. } if access.sem != Sem::Weak => {
                Some(access.scope)
            }
            Op::Atom { access, .. } => Some(access.scope),
            _ => None,
        }
    }

    /// True for an access that is strong in the memory model, as volatile ones are.
    pub fn is_strong(&self, pc: Pc) -> bool {
        match self.insts.get(pc.0 as usize).map(|i| &i.op) {
            Some(Op::Ld { access, .. } | Op::St { access, .. }) => {
                access.volatile || access.sem != Sem::Weak
            }
            Some(Op::Atom { .. }) => true,
            _ => false,
        }
    }

    /// The source line that `.loc` gives for an instruction.
    pub fn loc(&self, pc: Pc) -> Option<&Loc> {
        self.locs.get(*self.loc_of.get(pc.0 as usize)? as usize)
    }

    /// The same as an answer says it, with the calls that the line was inlined from.
    pub fn source_line(&self, pc: Pc) -> Option<SourceLine> {
        let loc = self.loc(pc)?;
        let frames = loc.inlined_from.iter().map(|(file, line)| Frame {
            file: file.clone(),
            line: *line,
        });
        Some(SourceLine {
            file: loc.file.clone(),
            line: loc.line,
            inlined_from: frames.collect(),
        })
    }
}
