//! How a kernel might be launched, and what its parameters might be.
//!
//! * The block: as many threads as `.maxntid` allows; else one for each word of the largest shared array, where that is a power
//!   of two, since tiles are mostly filled by a thread each; else [`THREADS`]. A small array of a kernel that shuffles has a
//!   word for each warp. The block has the dimensions that the kernel asks for.
//! * An integer that decides a branch or an address: [`SIZE`].
//! * An array: the role and the element type are those of its accesses, its extent is what one run of the launch touches.
//!   A run that does not come to its end tells of no extents, since too small ones would be reported as errors.

use std::path::{Path, PathBuf};
use std::time::Instant;

use indexmap::IndexMap;

use crate::alone::Alone;
use crate::answer::Failure;
use crate::input::Files;
use crate::kernel::usage::{ParamUse, param_uses};
use crate::kernel::{Fmt, Kernel, NumTy, Op, Param, Special};
use crate::sim::gather::Object;
use crate::sim::{self, Side as Role};
use crate::spec::manifest::{ArgText, Settings, Side, Triple};
use crate::spec::{ElemTy, Layers, Unbound, Value};
use crate::term::ArrayId;

/// Threads of a block that nothing tells of.
const THREADS: u64 = 256;
/// What an integer parameter is.
const SIZE: u64 = 64;
/// Seconds of the run that tells the extents of arrays.
const SECONDS: f64 = 10.0;

/// A kernel with what it might be launched with.
pub(super) struct Guess {
    /// Its file as it was named.
    pub path: PathBuf,
    /// Its entry, by a name that means it alone.
    pub entry: String,
    /// The kernel.
    pub kernel: Kernel,
    /// Its block; none where `.reqntid` says it.
    pub block: Option<Block>,
    /// Its parameters by their keys: those that are arrays, and those that want a value.
    pub args: IndexMap<String, Binding>,
}

/// A guessed block.
pub(super) struct Block {
    sizes: [u32; 3],
    /// As a manifest says it.
    pub text: String,
    /// Where the number of threads comes from.
    pub why: String,
}

/// What a parameter might be.
#[derive(Clone, Debug)]
pub(super) enum Binding {
    /// An integer.
    Size,
    /// An array.
    Array(Touched),
    /// An array in one kernel, and something else in the other.
    Unclear,
    /// Something that has this name and size in bytes, and that the kernel takes as it comes.
    Any(String, u32),
}

/// What is known of an array.
#[derive(Clone, Debug)]
pub(super) struct Touched {
    is_read: bool,
    is_written: bool,
    /// The element type, if a typed access tells it.
    elem: Option<ElemTy>,
    /// Bytes up to the last that is touched, if that is known.
    bytes: Option<u64>,
    /// Size of the accesses in bytes.
    width: u64,
}

/// A line of a manifest that binds a parameter.
pub(super) struct Line {
    /// False if it is a choice that is left to the user, hence a comment.
    pub is_active: bool,
    /// The value.
    pub value: String,
    /// Where that comes from.
    pub why: String,
}

impl Binding {
    /// What a parameter of both kernels is.
    pub(super) fn join(&mut self, other: &Binding) {
        *self = match (&*self, other) {
            (Binding::Size, Binding::Size | Binding::Any(..))
            | (Binding::Any(..), Binding::Size) => Binding::Size,
            (Binding::Any(name, bytes), Binding::Any(..)) => Binding::Any(name.clone(), *bytes),
            (Binding::Array(a), Binding::Array(b)) => Binding::Array(Touched {
                is_read: a.is_read || b.is_read,
                is_written: a.is_written || b.is_written,
                elem: a.elem.or(b.elem),
                bytes: a.bytes.zip(b.bytes).map(|(a, b)| a.max(b)),
                width: a.width.min(b.width),
            }),
            // A pointer that is not used is one all the same.
            (Binding::Array(a), Binding::Any(_, 8)) | (Binding::Any(_, 8), Binding::Array(a)) => {
                Binding::Array(a.clone())
            }
            _ => Binding::Unclear,
        };
    }

    /// The line that binds it.
    pub(super) fn line(&self) -> Line {
        let left = |value: &str, why: String| Line {
            is_active: false,
            value: value.to_string(),
            why,
        };
        match self {
            Binding::Size => Line {
                is_active: true,
                value: SIZE.to_string(),
                why: "guessed: an integer that decides a branch or an address".to_string(),
            },
            Binding::Array(touched) => touched.line(),
            Binding::Unclear => left("VALUE", "an array in one of the kernels only".to_string()),
            Binding::Any(name, bytes) => {
                let why = format!("{name}, {bytes} bytes: anything where nothing is bound");
                left("VALUE", why)
            }
        }
    }
}

impl Touched {
    fn line(&self) -> Line {
        let role = match (self.is_read, self.is_written) {
            (_, false) => "in",
            (false, true) => "out",
            (true, true) => "inout",
        };
        let untold = match self.elem {
            Some(_) => "",
            None => ", whose type nothing tells",
        };
        let elem = self.elem.unwrap_or_else(|| float(self.width));
        let count = self.bytes.map(|bytes| bytes.div_ceil(elem.bytes()));
        let extent = count.map_or("N".to_string(), |n| n.to_string());
        let why = match count {
            Some(_) => "guessed: what this launch touches",
            None => "an array of any extent",
        };
        Line {
            is_active: count.is_some(),
            value: format!("{role}:{}[{extent}]", elem.name()),
            why: format!("{why}{untold}"),
        }
    }
}

/// The type of elements of which only the width in bytes is known.
fn float(width: u64) -> ElemTy {
    match width {
        w if w.is_multiple_of(8) => ElemTy::Float(Fmt::F64),
        w if w.is_multiple_of(4) => ElemTy::Float(Fmt::F32),
        w if w.is_multiple_of(2) => ElemTy::Float(Fmt::F16),
        _ => ElemTy::Int {
            width: 8,
            signed: false,
        },
    }
}

/// The position of a parameter, and the offset of a field in it.
pub(super) fn position(key: &str) -> Vec<u32> {
    let parts = key.split('+').map(|n| n.parse().unwrap_or(0));
    parts.collect()
}

impl Guess {
    /// Guesses for a kernel of a file.
    pub(super) fn of(path: &Path, entry: String, kernel: Kernel, files: &Files) -> Guess {
        let block = Block::of(&kernel);
        let mut out = Guess {
            path: path.to_path_buf(),
            entry,
            kernel,
            block,
            args: IndexMap::new(),
        };
        // Where a kernel cannot be bound, the entry says so.
        if let Ok(args) = out.arguments(files) {
            out.args = args;
        }
        let bound = |key: &str, i: usize| key.split('+').next() == Some(&i.to_string());
        for (i, param) in out.kernel.params.iter().enumerate() {
            if !out.args.keys().any(|key| bound(key, i)) {
                let any = Binding::Any(param.name.clone(), param.bytes);
                out.args.insert(i.to_string(), any);
            }
        }
        out.args.sort_by(|a, _, b, _| position(a).cmp(&position(b)));
        out
    }

    /// Why its parameters are not those of another kernel in the same order, if their names or what becomes of them say so.
    pub(super) fn apart(&self, other: &Guess) -> Option<String> {
        let named = |p: &Param| p.name != p.symbol;
        let others = &other.kernel.params;
        for (i, param) in self
            .kernel
            .params
            .iter()
            .enumerate()
            .filter(|(_, p)| named(p))
        {
            let there = others.iter().position(|p| named(p) && p.name == param.name);
            if let Some(j) = there.filter(|&j| j != i) {
                let name = &param.name;
                return Some(format!(
                    "`{name}` is parameter {i} of one kernel and {j} of the other: say which are one with map = {{ {name} = \"{name}\" }}, \
                     and bind them by their names"
                ));
            }
        }
        let mut both = self
            .args
            .iter()
            .filter_map(|(key, a)| match (a, other.args.get(key)?) {
                (Binding::Array(a), Binding::Array(b)) => Some((key, a, b)),
                _ => None,
            });
        let only =
            |a: &Touched, b: &Touched| a.is_read && !a.is_written && b.is_written && !b.is_read;
        let (key, ..) = both.find(|(_, a, b)| only(a, b) || only(b, a))?;
        Some(format!(
            "parameter {key} is only read by one kernel and only written by the other: say which are one with map"
        ))
    }

    /// Settings that launch it alone.
    fn settings(&self, sizes: &IndexMap<String, Binding>) -> Settings {
        let mut kernel = Side::path(&self.path);
        kernel.own.entry = Some(self.entry.clone());
        Settings {
            kernel: Some(kernel),
            block: self.block.as_ref().map(|b| Triple(b.sizes)),
            args: sizes
                .keys()
                .map(|key| (key.clone(), ArgText(SIZE.to_string())))
                .collect(),
            timeout: Some(SECONDS),
            ..Settings::default()
        }
    }

    fn arguments(&self, files: &Files) -> Result<IndexMap<String, Binding>, Failure> {
        let mut out = IndexMap::new();
        let alone = Alone::read(Layers(&[&self.settings(&out)]), None, files)?;
        let unbound = alone.setup.kernels.iter().flat_map(|k| &k.unbound);
        let keys = unbound.map(Unbound::key);
        let keys = keys.filter(|key| !self.may_be_pointer(key));
        out.extend(keys.map(|key| (key, Binding::Size)));

        let settings = self.settings(&out);
        let layers = Layers(&[&settings]);
        let alone = Alone::read(layers, None, files)?;
        let resolved = &alone.setup.kernels[0];
        let limits = layers.options()?.limits(Instant::now());
        let all = (0..resolved.arrays.0.len()).map(|i| ArrayId(i as u32));
        let noting = sim::Noting {
            accesses: Some(all.collect()),
            ..sim::Noting::default()
        };
        let inputs = sim::Inputs {
            kernel: &alone.lowered.kernel,
            launch: &resolved.launch,
            mode: resolved.mode,
            bindings: &resolved.bindings,
            arrays: &resolved.arrays,
            side: Role::Reference,
            limits: &limits,
        };
        let outcome = sim::run_noting(&inputs, &noting);
        let has_ended = outcome.unknowns.is_empty();
        // What data choose from may be of any extent.
        let is_chosen = |array| {
            outcome
                .gathers
                .iter()
                .any(|g| g.object == Object::Array(array))
        };
        let accesses = outcome.footprint.accesses();
        for field in &resolved.bindings.fields {
            let Value::Pointer(array, 0) = field.value else {
                continue;
            };
            let own = accesses.iter().filter(|a| a.array == array);
            let end = own
                .clone()
                .filter_map(|a| a.bytes.last())
                .map(|b| b.1)
                .max();
            let param = &self.kernel.params[field.param as usize];
            let offset = field.offset - param.offset;
            let key = match param.bytes {
                8 => field.param.to_string(),
                _ => format!("{}+{offset}", field.param),
            };
            let width = own.map(|a| u64::from(a.elem)).min();
            let touched = Touched {
                bytes: end.filter(|_| has_ended && !is_chosen(array)),
                width: width.unwrap_or(4),
                ..self.touched((field.param, offset))
            };
            out.insert(key, Binding::Array(touched));
        }
        Ok(out)
    }

    /// Whether a parameter or a field may be the base of an address: then an integer would be an address of nothing.
    fn may_be_pointer(&self, key: &str) -> bool {
        let place = position(key);
        let (param, offset) = (place[0], place.get(1).copied().unwrap_or(0));
        let uses = param_uses(&self.kernel);
        let mut here = uses
            .iter()
            .filter(|u| (u.param, u.offset) == (Some(param), offset));
        here.any(|u| u.bytes == 8 && u.pointer)
    }

    /// What the accesses through a pointer tell of its array.
    fn touched(&self, place: (u32, u32)) -> Touched {
        let uses = param_uses(&self.kernel);
        let here = |u: &&ParamUse| u.param.map(|p| (p, u.offset)) == Some(place);
        let (mut is_read, mut is_written, mut ty) = (false, false, None);
        for u in uses.iter().filter(here) {
            is_read |= !u.reads.is_empty() || !u.atomics.is_empty();
            is_written |= !u.writes.is_empty() || !u.atomics.is_empty();
            let mut accesses = u.reads.iter().chain(&u.writes).chain(&u.atomics);
            ty = ty.or_else(|| accesses.find(|a| !a.untyped).map(|a| a.ty));
        }
        let elem = ty.map(|ty| match ty {
            NumTy::Float(f) => ElemTy::Float(f),
            NumTy::Int(t) => ElemTy::Int {
                width: t.width,
                signed: t.signed,
            },
        });
        // Not every format that an instruction has is one that a binding can name.
        let named = |elem: &ElemTy| ElemTy::NAMES.iter().any(|e| e.1 == *elem);
        Touched {
            is_read,
            is_written,
            elem: elem.filter(named),
            bytes: None,
            width: 4,
        }
    }
}

impl Block {
    fn of(kernel: &Kernel) -> Option<Block> {
        if kernel.reqntid.is_some() {
            return None;
        }
        let most = kernel.maxntid.unwrap_or(1024).clamp(1, 1024);
        let words = kernel
            .shared
            .iter()
            .map(|v| u64::from(v.bytes / v.elem.max(4)));
        let shuffles = kernel.insts.iter().any(|i| matches!(i.op, Op::Shfl { .. }));
        let least = if shuffles { 64 } else { 2 };
        let is_tile = |n: &u64| n.is_power_of_two() && (least..=most).contains(n);
        let tile = words.max().filter(is_tile);
        let (threads, why) = match (kernel.maxntid, tile) {
            (Some(_), _) => (most, "what .maxntid allows"),
            (None, Some(tile)) => (tile, "a thread for each word of a shared array"),
            (None, None) => (THREADS, "nothing says the block"),
        };
        let sizes = shaped(threads as u32, dimensions(kernel));
        let [x, y, z] = sizes;
        Some(Block {
            sizes,
            text: match sizes {
                [x, 1, 1] => format!("threads = {x}"),
                _ => format!("block = [{x}, {y}, {z}]"),
            },
            why: why.to_string(),
        })
    }
}

/// The dimensions of the block that a kernel asks for.
fn dimensions(kernel: &Kernel) -> u8 {
    let axes = kernel.insts.iter().filter_map(|i| match i.op {
        Op::Special {
            special: Special::Tid(axis) | Special::Ntid(axis),
            ..
        } => Some(axis + 1),
        _ => None,
    });
    axes.max().unwrap_or(1)
}

/// So many threads in so many dimensions, as even as powers of two go.
fn shaped(threads: u32, dimensions: u8) -> [u32; 3] {
    let mut sizes = [threads, 1, 1];
    for axis in 1..usize::from(dimensions.min(3)) {
        while sizes[0].is_multiple_of(2) && sizes[0] / 2 >= 2 * sizes[axis] {
            sizes[0] /= 2;
            sizes[axis] *= 2;
        }
    }
    sizes
}
