//! Parameters and module variables of one or two kernels to arrays and bindings.
//!
//! The kernel parameter space is cut into pieces: a scalar parameter is one piece; a by-value
//! structure is cut where something is bound and where a pointer is read. A piece is bound bits, a
//! pointer, or a symbol. Parameters of the same type are paired by position or by `--map`; both are
//! cut at the same places, and pieces in the same place of a pair are the same array.
//!
//! What is sound: sharing an array between the kernels says that both are given the same argument,
//! which is what the pairing means; not sharing can only lose proofs. Extent and role of an array
//! come from the bindings of each side alone, the element type and shape from either.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::answer::{Assumption, AssumptionKind};
use crate::kernel::{Kernel, Param, ParamKind};
use crate::term::ArrayId;

use super::alias;
use super::binding::{Arg, ArrayDecl, Key, MapDecl};
use super::contents::Contents;
use super::facts;
use super::fit::{Bound, Piece, Side, bound_pieces};
use super::flags::{self, Flag};
use super::launch::Selection;
use super::manifest::{KernelSpec, Which};
use super::mode::Mode;
use super::names::{self, Names};
use super::numbers::{Number, Unbound};
use super::one_sided;
use super::only;
use super::pairing::{ByteRange, Pair, Target, list_params, nearest, pair_up};
use super::sequence;
use super::usage::ParamUses;
use super::variables::{self, list_variables};
use super::{
    Array, Arrays, Bindings, ElemTy, Field, Launch, Origin, Role, SpecError, Value, launch,
};

/// A kernel with its launch and bindings.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// How it is launched.
    pub launch: Launch,
    /// How that is run.
    pub mode: Mode,
    /// Which CTAs are asked for.
    pub selection: Selection,
    /// What its parameters are.
    pub bindings: Bindings,
    /// The numbers that its parameters were bound to.
    pub numbers: Vec<Number>,
    /// Integers without a value that decide something.
    pub unbound: Vec<Unbound>,
    /// Offsets in the parameter space of what no load reads.
    pub unread: Vec<u32>,
    /// All numbers without a value that are read.
    pub without_value: Vec<Unbound>,
    /// The arrays as this kernel sees them: ids are those of the pair, extents and roles its own.
    pub arrays: Arrays,
}

/// One kernel or a pair, resolved.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The kernels in the order that they were given in.
    pub kernels: Vec<Resolved>,
    /// The arrays as the pair sees them.
    pub arrays: Arrays,
    /// What was taken for granted.
    pub assumptions: Vec<Assumption>,
}

/// One side while it is resolved.
pub(super) struct Draft<'a> {
    /// The kernel.
    pub(super) kernel: &'a Kernel,
    pub(super) spec: &'a KernelSpec,
    pub(super) uses: ParamUses,
    /// The pieces of each parameter.
    pub(super) pieces: Vec<Vec<Piece>>,
    pub(super) flags: Vec<Flag>,
    /// What stands in the parameter space.
    pub(super) fields: Vec<Field>,
    maps: Vec<MapDecl>,
    /// The array of each variable.
    pub(super) globals: Vec<ArrayId>,
    /// Names that the user gave.
    pub(super) names: Arc<Names>,
    /// Its place among the kernels that it is paired with.
    pub(super) side: usize,
}

/// Resolves the launches of a command, those of the reference first. Where one of the sides is a list, buffers pair
/// them; else a pair of kernels is paired by position or by `map`.
pub fn resolve(kernels: &[(&Kernel, &KernelSpec)], map: &[(Key, Key)]) -> Result<Setup, SpecError> {
    let is_sequence = kernels.iter().any(|k| k.1.step.is_some());
    if is_sequence {
        sequence::check(kernels, map)?;
    }
    let given = kernels.first().map_or(&[][..], |(_, spec)| &spec.names[..]);
    let meant = |key: &Key| names::meant(given, key);
    let map: Vec<(Key, Key)> = map.iter().map(|(a, b)| (meant(a), meant(b))).collect();
    let mut spelled: Vec<KernelSpec> = kernels.iter().map(|k| names::spelled(k.1)).collect();
    for (i, spec) in spelled.iter_mut().enumerate() {
        let foreign =
            |arg: &Arg| is_sequence && !arg.own && !variables::has_key(kernels[i].0, &arg.key);
        spec.args
            .retain(|arg| !foreign(arg) && (!arg.optional || is_known(kernels, i, arg)));
    }
    let kernels = kernels.iter().zip(&spelled).map(|(k, spec)| (k.0, spec));
    let kernels: Vec<(&Kernel, &KernelSpec)> = kernels.collect();
    let mut table = Table {
        views: vec![Vec::new(); kernels.len()],
        is_sequence,
        is_compared: kernels.iter().any(|k| k.1.which != Which::Kernel),
        ..Table::default()
    };
    if let Some((_, spec)) = kernels.first() {
        table.add_buffers(&spec.buffers)?;
    }
    let (mut drafts, mut parts) = (Vec::new(), Vec::new());
    let together = if is_sequence { 1 } else { kernels.len().max(1) };
    for group in kernels.chunks(together) {
        let found = table.add_group(group, &map, &mut drafts);
        parts = found.map_err(|e| e.of(group[0].1))?;
    }
    table.add_variables(&mut drafts)?;
    if let Some((_, spec)) = kernels.first() {
        alias::join(&mut table, &mut drafts, &spec.alias)?;
    }
    only::restrict(&mut table, &drafts, &parts)?;
    let given = kernels.first().map_or(&[][..], |(_, spec)| &spec.assume);
    let mut setup = table.finish(drafts)?;
    let of: Vec<&Kernel> = kernels.iter().map(|k| k.0).collect();
    facts::resolve(given, &of, &mut setup)?;
    Ok(setup)
}

/// Whether the key of a binding of a kernel names a parameter or a variable of a kernel that it is for.
fn is_known(kernels: &[(&Kernel, &KernelSpec)], of: usize, arg: &Arg) -> bool {
    let mut all = kernels.iter().enumerate();
    all.any(|(i, (k, _))| (i == of || !arg.own) && variables::has_key(k, &arg.key))
}

/// Every key must name a parameter or a variable of one of the kernels that its binding is for.
fn check_keys(kernels: &[(&Kernel, &KernelSpec)]) -> Result<(), SpecError> {
    for (i, &(kernel, spec)) in kernels.iter().enumerate() {
        for arg in &spec.args {
            if is_known(kernels, i, arg) {
                continue;
            }
            let all: Vec<&Kernel> = match arg.own {
                true => vec![kernel],
                false => kernels.iter().map(|k| k.0).collect(),
            };
            let names: Vec<String> = all.iter().map(|k| format!("`{}`", k.name)).collect();
            let params = all.iter().map(|k| list_params(k) + &list_variables(k));
            let params: Vec<String> = params.collect();
            return Err(SpecError::NoSuchParam {
                text: arg.text.clone(),
                near: nearest(&all, &arg.key),
                kernels: names.join(" or "),
                params: params.join("; "),
            });
        }
    }
    Ok(())
}

/// The arrays of a pair, and each side's view of them.
#[derive(Default)]
pub(super) struct Table {
    /// The arrays of the pair.
    pub(super) merged: Vec<Array>,
    /// The arrays as each launch sees them.
    pub(super) views: Vec<Vec<Array>>,
    /// Arrays that are another one.
    pub(super) aliased: Vec<ArrayId>,
    /// What was taken for granted.
    pub(super) assumptions: Vec<Assumption>,
    /// Arrays that no parameter is.
    pub(super) buffers: IndexMap<String, ArrayId>,
    /// Launches hand buffers on to each other.
    pub(super) is_sequence: bool,
    /// There are two sides.
    pub(super) is_compared: bool,
}

impl Resolved {
    /// True if a kernel runs alike under both, and what is found is said alike.
    pub fn is_same(&self, other: &Resolved) -> bool {
        let Resolved {
            launch,
            mode,
            selection,
            bindings,
            numbers,
            unbound,
            unread,
            without_value,
            arrays,
        } = self;
        let given = bindings.is_same(&other.bindings) && *numbers == other.numbers;
        let open = *unbound == other.unbound
            && *unread == other.unread
            && *without_value == other.without_value;
        let launched =
            *launch == other.launch && *mode == other.mode && *selection == other.selection;
        given && open && launched && *arrays == other.arrays
    }
}

impl Table {
    /// Adds an array that both sides see alike.
    pub(super) fn push(&mut self, array: Array) -> ArrayId {
        let id = ArrayId(self.merged.len() as u32);
        for view in &mut self.views {
            view.push(array.clone());
        }
        self.merged.push(array);
        id
    }

    /// Adds kernels that are paired with each other: a pair, or one launch. The parts of outputs are those that they name.
    fn add_group<'a>(
        &mut self,
        kernels: &[(&'a Kernel, &'a KernelSpec)],
        map: &[(Key, Key)],
        drafts: &mut Vec<Draft<'a>>,
    ) -> Result<Vec<(only::Only, Vec<Target>)>, SpecError> {
        check_keys(kernels)?;
        let sides = kernels.iter().map(|&(kernel, spec)| Side {
            kernel,
            spec,
            uses: ParamUses::of(kernel),
        });
        let sides: Vec<Side> = sides.collect();
        let pairs = pair_up(&sides, map)?;
        let names = Arc::new(Names::of(&sides, &pairs)?);
        let parts = only::places(&sides, &pairs);
        let mut bound = Vec::new();
        for (side, s) in sides.iter().enumerate() {
            let pieces = (0..s.kernel.params.len()).map(|p| bound_pieces(&sides, &pairs, side, p));
            bound.push(pieces.collect::<Result<Vec<_>, _>>()?);
        }
        one_sided::check(&sides, &pairs, &bound)?;
        let flags = flags::of(&sides, &pairs);
        let first = drafts.len();
        for (side, ((s, pieces), flags)) in sides.into_iter().zip(bound).zip(flags).enumerate() {
            drafts.push(Draft {
                kernel: s.kernel,
                spec: s.spec,
                uses: s.uses,
                pieces,
                flags,
                fields: Vec::new(),
                maps: Vec::new(),
                globals: Vec::new(),
                names: names.clone(),
                side,
            });
        }
        for pair in &pairs {
            self.add_pair(&mut drafts[first..], first, pair)?;
        }
        Ok(parts)
    }

    /// Cuts the parameters of a pair alike and gives every piece its value. The views of the drafts begin at `first`.
    fn add_pair(
        &mut self,
        drafts: &mut [Draft],
        first: usize,
        pair: &Pair,
    ) -> Result<(), SpecError> {
        let present: Vec<(usize, ByteRange)> = (0..2).filter_map(|s| Some((s, pair[s]?))).collect();
        // Offsets are those in the part, so that both sides have the same.
        let of_part = |drafts: &[Draft], side: usize, part: ByteRange| -> Vec<Piece> {
            let all = drafts[side].pieces[part.param].iter();
            all.filter_map(|piece| piece.within(part)).collect()
        };
        let mut cuts: Vec<u32> = Vec::new();
        for &(side, part) in &present {
            for piece in of_part(drafts, side, part) {
                cuts.extend([piece.offset, piece.end()]);
            }
        }
        cuts.sort_unstable();
        cuts.dedup();
        let mut shared: IndexMap<(u32, u32, bool), ArrayId> = IndexMap::new();
        for &(side, part) in &present {
            let p = part.param;
            let param = &drafts[side].kernel.params[p];
            let base = param.offset + part.start;
            for piece in cut(&of_part(drafts, side, part), &cuts) {
                let place = (piece.offset, piece.paired_bytes());
                let pointer = match &piece.bound {
                    Bound::Bits(..) | Bound::View(_) => None,
                    Bound::Array(_) => Some(true),
                    Bound::Free => Some(present.iter().any(|&(s, other)| {
                        let array = |x: &Piece| {
                            matches!(x.bound, Bound::Array(_))
                                && (x.offset, x.paired_bytes()) == place
                        };
                        let at = other.start + piece.offset;
                        of_part(drafts, s, other).iter().any(array)
                            || piece.bytes == 8 && drafts[s].uses.is_pointer(other.param, at)
                    })),
                };
                if self.is_sequence {
                    self.fits_sequence(&drafts[side], part, &piece, pointer == Some(true))?;
                }
                let value = match (&piece.bound, pointer) {
                    (Bound::Bits(bits, _), _) => Value::Bits(*bits),
                    (Bound::View(view), _) => self.seen(&drafts[side], p, view)?,
                    (_, is_pointer) => {
                        let is_pointer = is_pointer == Some(true);
                        let key = (piece.offset, piece.paired_bytes(), is_pointer);
                        let start = part.start + piece.offset;
                        let of = Target {
                            side,
                            param: p,
                            offset: (piece.bytes != param.bytes).then_some(start),
                        };
                        let label = drafts[side].names.label(drafts[side].kernel, of);
                        let id = match shared.get(&key) {
                            Some(&id) => id,
                            None => {
                                let label = label.clone();
                                let id = self.add_param(label, param, &piece, is_pointer);
                                shared.insert(key, id);
                                id
                            }
                        };
                        // Findings about a run name the parameter as that kernel does.
                        self.views[first + side][id.0 as usize].name = label;
                        if let Bound::Array(decl) = &piece.bound {
                            let names = present
                                .iter()
                                .map(|&(s, q)| drafts[s].kernel.params[q.param].name.clone());
                            self.declare(id, first + side, decl, names.collect())?;
                            self.point(id, decl)?;
                        }
                        let map = match &piece.bound {
                            Bound::Array(decl) => decl.map.clone(),
                            _ => None,
                        };
                        match (is_pointer, map) {
                            (_, Some(map)) => {
                                let maps = &mut drafts[side].maps;
                                maps.push(map);
                                Value::Map(id, maps.len() as u32 - 1)
                            }
                            (true, None) => Value::Pointer(id, 0),
                            (false, None) => Value::Symbol(id),
                        }
                    }
                };
                drafts[side].fields.push(Field {
                    param: p as u32,
                    offset: base + piece.offset,
                    bytes: piece.bytes,
                    value,
                });
            }
        }
        Ok(())
    }

    fn add_param(&mut self, name: String, param: &Param, piece: &Piece, pointer: bool) -> ArrayId {
        if pointer {
            return self.push(Array {
                name,
                origin: Origin::Pointer,
                role: None,
                elem: None,
                shape: Vec::new(),
                extent: None,
                initial: None,
                only: None,
                align: None,
                pointers: None,
                handed_on: false,
            });
        }
        let elem = match param.kind {
            ParamKind::Int { width, signed, .. } => Some(ElemTy::Int { width, signed }),
            ParamKind::Float(fmt) => Some(ElemTy::Float(fmt)),
            ParamKind::Bytes => None,
        };
        self.push(Array {
            name,
            origin: Origin::Scalar,
            role: None,
            elem,
            shape: vec![1],
            extent: Some(piece.bytes as u64),
            initial: None,
            only: None,
            align: None,
            pointers: None,
            handed_on: false,
        })
    }

    /// Gives an array what one side's binding says.
    pub(super) fn declare(
        &mut self,
        id: ArrayId,
        side: usize,
        decl: &ArrayDecl,
        names: Vec<String>,
    ) -> Result<(), SpecError> {
        let i = id.0 as usize;
        let merged = &mut self.merged[i];
        let role_clash = merged.role.is_some() && decl.role.is_some() && merged.role != decl.role;
        let type_clash = merged.elem.is_some_and(|e| e != decl.elem)
            || !merged.shape.is_empty() && merged.shape != decl.shape && decl.map.is_none();
        if role_clash || type_clash {
            let first = show_decl(merged.role, merged.elem.unwrap_or(decl.elem), &merged.shape);
            return Err(SpecError::DeclaredTwice {
                reference: names.first().cloned().unwrap_or_default(),
                optimized: names.last().cloned().unwrap_or_default(),
                first,
                second: show_decl(decl.role, decl.elem, &decl.shape),
            });
        }
        let contents = decl.contents.as_ref().and_then(Contents::bytes).cloned();
        if let (Some(a), Some(b)) = (&merged.initial, &contents)
            && a != b
        {
            return Err(SpecError::TwoContents {
                reference: names.first().cloned().unwrap_or_default(),
                optimized: names.last().cloned().unwrap_or_default(),
            });
        }
        merged.initial = merged.initial.take().or(contents);
        // What lies behind known contents is no zero.
        if merged.initial.is_some() && merged.extent.is_some_and(|e| e != decl.extent) {
            return Err(SpecError::Contents {
                text: names.first().cloned().unwrap_or_default(),
                why: "the two kernels see the array with different extents".into(),
            });
        }
        merged.role = merged.role.or(decl.role);
        merged.elem = Some(decl.elem);
        // A map may see the array in another shape than the other kernel does.
        if merged.shape.is_empty() || decl.map.is_none() {
            merged.shape = decl.shape.clone();
        }
        merged.extent = Some(merged.extent.unwrap_or(0).max(decl.extent));
        // Of two alignments of one array only the smaller one holds whatever the other says.
        let least = merged.align.into_iter().chain(decl.align).min();
        merged.align = least;
        let (shape, initial) = (merged.shape.clone(), merged.initial.clone());
        for (s, view) in self.views.iter_mut().enumerate() {
            view[i].elem = Some(decl.elem);
            view[i].shape = shape.clone();
            view[i].align = least;
            view[i].initial = initial.clone();
            if initial.is_some() {
                view[i].extent = view[i].extent.or(Some(decl.extent));
            }
            if s == side {
                view[i].role = decl.role;
                view[i].extent = Some(decl.extent);
            }
        }
        Ok(())
    }

    fn finish(mut self, drafts: Vec<Draft>) -> Result<Setup, SpecError> {
        self.name_apart();
        self.assume(&drafts);
        let mut kernels = Vec::new();
        let mut views = self.views.into_iter();
        for draft in drafts {
            let flag = match draft.spec.which {
                _ if draft.spec.step.is_some() => "`threads` or `block`",
                Which::Kernel => "--threads or --block",
                Which::Reference => "--threads, --block or --ref-block",
                Which::Optimized => "--threads, --block or --opt-block",
            };
            let numbers = draft.numbers();
            let unbound = draft.unbound(false);
            let without_value = draft.unbound(true);
            let unread = draft.unread();
            let mut fields = draft.fields;
            fields.sort_unstable_by_key(|f| f.offset);
            kernels.push(Resolved {
                mode: Mode::default(),
                numbers,
                unbound,
                without_value,
                unread,
                launch: {
                    let launch = draft.spec.launch.resolve(draft.kernel, flag);
                    launch.map_err(|e| e.of(draft.spec))?
                },
                selection: draft.spec.launch.selection(),
                bindings: Bindings {
                    flags: draft.flags,
                    fields,
                    maps: draft.maps,
                    globals: draft.globals,
                    given: Vec::new(),
                    left: None,
                    premises: None,
                    facts: Arc::default(),
                },
                arrays: Arrays(views.next().unwrap_or_default()),
            });
        }
        Ok(Setup {
            kernels,
            arrays: Arrays(self.merged),
            assumptions: self.assumptions,
        })
    }

    /// Two arrays of one name (parameters of the two kernels that are not paired) get a number.
    fn name_apart(&mut self) {
        let mut seen: IndexMap<String, u32> = IndexMap::new();
        for i in 0..self.merged.len() {
            let count = seen.entry(self.merged[i].name.clone()).or_insert(0);
            *count += 1;
            if *count > 1 {
                self.merged[i].name = format!("{}#{count}", self.merged[i].name);
            }
        }
    }

    fn assume(&mut self, drafts: &[Draft]) {
        let pointers: Vec<usize> = (0..self.merged.len())
            .filter(|&i| self.merged[i].origin == Origin::Pointer)
            .filter(|&i| !self.aliased.contains(&ArrayId(i as u32)))
            .collect();
        if pointers.len() > 1 {
            let text = match self.is_sequence {
                true => "different buffers do not overlap",
                false => "different pointer parameters point to arrays that do not overlap",
            };
            self.assumptions.push(AssumptionKind::NoOverlap.says(text));
        }
        let open = pointers.iter().map(|&i| &self.merged[i]);
        let open = open.filter(|a| a.extent.is_none());
        let open: Vec<String> = open.map(|a| format!("`{}`", a.name)).collect();
        match open.as_slice() {
            [] => {}
            [one] => self.assumptions.push(AssumptionKind::Extent.says(format!(
                "{one} is an array of unknown extent, aligned to 256 bytes"
            ))),
            all => self.assumptions.push(AssumptionKind::Extent.says(format!(
                "{} are arrays of unknown extent, aligned to 256 bytes",
                all.join(", ")
            ))),
        }
        self.assume_of_variables(drafts);
        for draft in drafts {
            if draft.kernel.dynamic_shared.is_some() && draft.spec.launch.dynamic_shared.is_none() {
                let said = AssumptionKind::Extent.says(format!(
                    "the dynamic shared memory of `{}` is large enough for every access",
                    draft.kernel.name
                ));
                Assumption::unite(&mut self.assumptions, [said]);
            }
        }
    }
}

/// The free pieces of a parameter, cut at the given offsets; bound ones stay whole.
fn cut(pieces: &[Piece], cuts: &[u32]) -> Vec<Piece> {
    let mut out = Vec::new();
    for piece in pieces {
        if !matches!(piece.bound, Bound::Free) {
            out.push(piece.clone());
            continue;
        }
        let end = piece.offset + piece.bytes;
        let mut start = piece.offset;
        let inside = cuts.iter().filter(|&&c| c > piece.offset && c < end);
        for &stop in inside.chain([&end]) {
            out.push(Piece {
                offset: start,
                bytes: stop - start,
                bound: Bound::Free,
            });
            start = stop;
        }
    }
    out
}

pub(super) fn show_decl(role: Option<Role>, elem: ElemTy, shape: &[u64]) -> String {
    let role = match role {
        None => "",
        Some(Role::In) => "in:",
        Some(Role::Out) => "out:",
        Some(Role::InOut) => "inout:",
        Some(Role::Scratch) => "scratch:",
    };
    let dims: Vec<String> = shape.iter().map(u64::to_string).collect();
    format!("{role}{}[{}]", elem.name(), dims.join(","))
}

/// The text of a launch for messages: used by reports as well.
pub fn show_launch(launch: &Launch) -> String {
    format!(
        "block {}, grid {}, CTA {}",
        launch::show(launch.block),
        launch::show(launch.grid),
        launch::show(launch.cta)
    )
}

/// A binding that another one of the same layer contradicts.
pub(super) fn clash(first: &Arg, second: &Arg, param: &str) -> SpecError {
    SpecError::BoundTwice {
        first: first.text.clone(),
        second: second.text.clone(),
        param: param.to_string(),
    }
}
