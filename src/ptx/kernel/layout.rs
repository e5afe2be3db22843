//! Where variables lie: offsets in shared, local and parameter memory, indices of global ones.
//!
//! The problem: every variable becomes a number before the code is lowered. Source: PTX ISA 9.0,
//! sections 5.1 and 5.4, and `ptxas`: static shared variables in declaration order, those of the
//! module first, then those of each function in order of first call; each has one copy however
//! often its function is called. All `.extern .shared` arrays start at one address after the
//! static part. Local variables and `.param` variables of functions have one copy for each expanded
//! call. Module-scope variables count only where the reached code names them.
//!
//! Not claimed: that hardware lays them out so; code that depends on the distance between two
//! variables is out of bounds by its own text.

use rustc_hash::FxHashSet;

use super::entry::demangled;
use super::error::LowerError;
use super::lower::Lowerer;
use super::scope::{At, Binding, Place};
use super::sig::float_type;
use super::{Begins, Fmt, GlobalId, GlobalVar, Param, ParamKind, Space, Var};
use crate::diag::Span;
use crate::ptx;
use crate::ptx::{
    Decl, Declarator, Dim, Function, Id, Init, ItemKind, List, Name, StmtKind, Type, TypeClass,
    Value, evaluate,
};

/// Largest size of a variable in a 32-bit space, and of that space.
const MAX_SMALL: u64 = 1 << 31;
/// Largest size of a global variable.
const MAX_GLOBAL: u64 = 1 << 47;

/// Size and alignment of a variable in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// One element, vectors included.
    pub elem: u32,
    /// All of it.
    pub bytes: u64,
    /// Alignment.
    pub align: u32,
}

/// What a declaration says about a variable's size.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeclaredSize {
    /// Element type.
    pub ty: Type,
    /// `.v2` 2, `.v4` 4.
    pub vector: Option<u8>,
    /// `.align`.
    pub align: Option<u32>,
    /// Dimensions.
    pub dims: List<Dim>,
}

impl Decl {
    fn shape(&self, dims: List<Dim>) -> DeclaredSize {
        DeclaredSize {
            ty: self.ty,
            vector: self.vector,
            align: self.align,
            dims,
        }
    }
}

impl Lowerer<'_> {
    /// Size of a variable; an omitted first dimension has `first` elements.
    pub(super) fn extent(
        &mut self,
        shape: DeclaredSize,
        first: u64,
        (name, span): (Name, Span),
        most: u64,
    ) -> Option<Extent> {
        let fail = |low: &mut Self, why| {
            let name = low.m.text(name).to_string();
            low.error(LowerError::Size { name, span, why });
            None
        };
        let elem = shape.ty.bytes() * u32::from(shape.vector.unwrap_or(1));
        let mut bytes = u64::from(elem);
        let m = self.m;
        for (i, dim) in m[shape.dims].iter().enumerate() {
            let count = match dim {
                None if i == 0 => first,
                None => return fail(self, "only the first dimension may be omitted"),
                Some(id) => match evaluate(m, *id) {
                    Ok(Value::Int(int)) if int.unsigned || int.value() >= 0 => int.bits,
                    Ok(_) => {
                        return fail(self, "a dimension must be a number that is not negative");
                    }
                    Err(error) => {
                        self.error(LowerError::Constant(error));
                        return None;
                    }
                },
            };
            bytes = match bytes.checked_mul(count) {
                Some(bytes) if bytes <= most => bytes,
                _ => return fail(self, "it is larger than its state space"),
            };
        }
        let align = shape.align.unwrap_or(elem).max(1);
        if !align.is_power_of_two() {
            return fail(self, "an alignment must be a power of two");
        }
        Some(Extent { elem, bytes, align })
    }

    /// Puts a variable after `end`; returns its offset and the new end.
    fn after(
        &mut self,
        end: u32,
        extent: Extent,
        (name, span): (Name, Span),
    ) -> Option<(u32, u32)> {
        let offset = u64::from(end).next_multiple_of(u64::from(extent.align));
        let next = offset + extent.bytes;
        if next > MAX_SMALL {
            let name = self.m.text(name).to_string();
            let why = "its state space would be larger than 2 GiB";
            self.error(LowerError::Size { name, span, why });
            return None;
        }
        Some((offset as u32, next as u32))
    }

    /// Lays out shared memory and finds the module-scope variables.
    pub(super) fn lay_out_statics(&mut self) {
        let m = self.m;
        let mut shared = Vec::new();
        for item in &m.items {
            let ItemKind::Decl(id) = item.kind else {
                continue;
            };
            for declarator in m[id].declarators.ids() {
                let name = m[declarator].name;
                let known = self.statics.module.entry(name).or_insert((id, declarator));
                // A definition is preferred to a declaration.
                if m[known.0].linkage.external {
                    *known = (id, declarator);
                }
                if m[id].space.is_shared_cta() {
                    shared.push((id, declarator));
                }
            }
        }
        let names: FxHashSet<Name> = shared.iter().map(|(_, d)| m[*d].name).collect();
        let used = self.calls.mentioned(m, &names);
        shared.retain(|(_, d)| used.contains(&m[*d].name));
        for function in self.calls.reached.clone() {
            for stmt in m[function].body.map_or(&[][..], |body| &m[body]) {
                if let StmtKind::Decl(id) = stmt.kind
                    && m[id].space.is_shared_cta()
                {
                    shared.extend(m[id].declarators.ids().map(|d| (id, d)));
                }
            }
        }
        let mut dynamic = Vec::new();
        let mut dynamic_align = 1;
        // PTX promises no order and no distance of variables: an access beyond the end of one must
        // not pass for an access to the next.
        let gap = (MOST_GAPS / shared.len().max(1) as u32).clamp(16, 4096) & !15;
        for (id, declarator) in shared {
            let (decl, var) = (&m[id], &m[declarator]);
            let at = (var.name, var.span);
            let Some(extent) = self.extent(decl.shape(var.dims), 0, at, MAX_SMALL) else {
                continue;
            };
            if decl.linkage.external {
                dynamic_align = dynamic_align.max(extent.align);
                dynamic.push((declarator, extent));
                continue;
            }
            let from = match self.k.shared_bytes {
                0 => 0,
                end => end + gap,
            };
            let Some((offset, end)) = self.after(from, extent, at) else {
                continue;
            };
            self.k.shared_bytes = end;
            self.k.shared.push(Var {
                name: source_name(m.text(var.name)),
                offset,
                bytes: extent.bytes as u32,
                elem: extent.elem,
                align: extent.align,
            });
            self.shared_place(declarator, offset, extent);
        }
        if !dynamic.is_empty() {
            let after = match self.k.shared_bytes {
                0 => 0,
                end => end + gap,
            };
            let start = after.next_multiple_of(dynamic_align);
            self.k.dynamic_shared = Some(start);
            self.k.dynamic_align = dynamic_align;
            for (declarator, extent) in dynamic {
                self.shared_place(declarator, start, extent);
            }
        }
    }

    fn shared_place(&mut self, declarator: Id<Declarator>, offset: u32, extent: Extent) {
        let place = Place {
            space: Space::Shared,
            at: At::Offset(offset),
            elem: extent.elem,
            bytes: extent.bytes,
        };
        self.statics.shared.insert(declarator.index(), place);
    }

    /// What a name stands for at module scope.
    pub(super) fn module_name(&mut self, name: Name) -> Option<Binding> {
        if let Some((decl, declarator)) = self.statics.module.get(&name).copied() {
            return self.static_variable(decl, declarator);
        }
        self.calls.function(name).map(Binding::Function)
    }

    /// A shared, global or constant variable.
    fn static_variable(&mut self, id: Id<Decl>, declarator: Id<Declarator>) -> Option<Binding> {
        let m = self.m;
        let (decl, var) = (&m[id], &m[declarator]);
        let constant = match decl.space {
            ptx::Space::Shared | ptx::Space::SharedCta => {
                let place = self.statics.shared.get(&declarator.index());
                return place.copied().map(Binding::Var);
            }
            _ if decl.ty.class() == TypeClass::Opaque => return Some(Binding::Opaque),
            ptx::Space::Global => false,
            ptx::Space::Const => true,
            _ => return Some(Binding::Opaque),
        };
        let known = self.statics.globals.get(&declarator.index()).copied();
        let global = match known {
            Some(global) => global,
            None => {
                let first = var.init.map_or(0, |init| match m[init] {
                    Init::List(items) => items.len() as u64,
                    Init::Value(_) | Init::Field { .. } => 1,
                });
                let at = (var.name, var.span);
                let extent = self.extent(decl.shape(var.dims), first, at, MAX_GLOBAL)?;
                let global = GlobalId(self.k.globals.len() as u32);
                self.k.globals.push(GlobalVar {
                    name: m.text(var.name).to_string(),
                    constant,
                    bytes: extent.bytes,
                    elem: extent.elem,
                    align: extent.align,
                    fmt: float_type(decl.ty).map(|(fmt, _)| fmt),
                    init: Vec::new(),
                    relocs: Vec::new(),
                    begins: match (decl.linkage.external, var.init) {
                        (true, _) => Begins::Elsewhere,
                        (false, Some(_)) => Begins::Initialised,
                        (false, None) => Begins::Filled,
                    },
                });
                self.statics.globals.insert(declarator.index(), global);
                self.statics.declared.push((id, declarator));
                global
            }
        };
        let var = &self.k.globals[global.0 as usize];
        Some(Binding::Var(Place {
            space: if constant {
                Space::Const
            } else {
                Space::Global
            },
            at: At::Global(global),
            elem: var.elem,
            bytes: var.bytes,
        }))
    }

    /// A declaration in a function body.
    pub(super) fn declaration(&mut self, id: Id<Decl>) {
        let m = self.m;
        let decl = &m[id];
        for declarator in decl.declarators.ids() {
            let var = &m[declarator];
            match decl.space {
                ptx::Space::Reg => {
                    let ty = (decl.ty, decl.vector.unwrap_or(1));
                    self.declare_reg(var.name, var.count, ty, var.span);
                }
                ptx::Space::Local | ptx::Space::Param => {
                    let shape = decl.shape(var.dims);
                    for name in self.members(var.name, var.count) {
                        let at = (name, var.span);
                        if let Some(place) = self.new_local(shape, at) {
                            if let (At::Offset(from), ptx::Space::Param) = (place.at, decl.space) {
                                let end = self.k.local_bytes;
                                self.k.unaddressed.push((from, end));
                            }
                            self.declare(name, Binding::Var(place), var.span);
                        }
                    }
                }
                _ => {
                    if let Some(binding) = self.static_variable(id, declarator) {
                        self.declare(var.name, binding, var.span);
                    }
                }
            }
        }
    }

    /// The names that `a<4>` declares, as far as the module uses them.
    pub(super) fn members(&self, name: Name, count: Option<u32>) -> Vec<Name> {
        let Some(count) = count else {
            return vec![name];
        };
        let (m, head) = (self.m, self.m.text(name));
        let member = |i| m.names.find(&format!("{head}{i}"));
        // No module has more members than names.
        (0..count.min(1 << 16)).filter_map(member).collect()
    }

    /// A new variable in local memory.
    pub(super) fn new_local(&mut self, shape: DeclaredSize, at: (Name, Span)) -> Option<Place> {
        let extent = self.extent(shape, 0, at, MAX_SMALL)?;
        let (offset, end) = self.after(self.k.local_bytes, extent, at)?;
        self.k.local_bytes = end;
        self.k.locals.push(Var {
            name: format!("{}{}", self.m.text(at.0), self.frame.suffix),
            offset,
            bytes: extent.bytes as u32,
            elem: extent.elem,
            align: extent.align,
        });
        Some(Place {
            space: Space::Local,
            at: At::Offset(offset),
            elem: extent.elem,
            bytes: extent.bytes,
        })
    }

    /// Declares the parameters of the entry.
    pub(super) fn kernel_params(&mut self, entry: Id<Function>) {
        let m = self.m;
        for param in &m[m[entry].params] {
            let Some(name) = param.name else { continue };
            let at = (name, param.span);
            let Some(extent) = self.extent(param.shape(), 0, at, MAX_SMALL) else {
                continue;
            };
            let Some((offset, _)) = self.after(self.k.param_bytes, extent, at) else {
                continue;
            };
            self.push_param(Param {
                name: m.text(name).to_string(),
                symbol: m.text(name).to_string(),
                offset,
                bytes: extent.bytes as u32,
                align: extent.align,
                kind: param.kind(),
            });
            let place = Place {
                space: Space::Param,
                at: At::Offset(offset),
                elem: extent.elem,
                bytes: extent.bytes,
            };
            self.declare(name, Binding::Var(place), param.span);
        }
    }
}

impl ptx::Param {
    /// What the declaration says about the size.
    pub(super) fn shape(&self) -> DeclaredSize {
        DeclaredSize {
            ty: self.ty,
            vector: self.vector,
            align: self.align,
            dims: self.dims,
        }
    }

    fn kind(&self) -> ParamKind {
        let scalar = self.dims.is_empty() && self.vector.is_none();
        match (self.ty.class(), float_type(self.ty)) {
            (TypeClass::Bits | TypeClass::Unsigned | TypeClass::Signed, _)
                if scalar && self.ty.bits() <= 64 =>
            {
                ParamKind::Int {
                    width: self.ty.bits() as u8,
                    signed: self.ty.is_signed(),
                    pointer: self.ptr.is_some(),
                    untyped: self.ty.class() == TypeClass::Bits,
                }
            }
            (TypeClass::Float, Some((fmt @ (Fmt::F16 | Fmt::Bf16 | Fmt::F32 | Fmt::F64), 1)))
                if scalar =>
            {
                ParamKind::Float(fmt)
            }
            _ => ParamKind::Bytes,
        }
    }
}

/// Bytes that all gaps between shared variables may take: addresses of shared memory must stay small
/// enough for descriptors of matrices.
const MOST_GAPS: u32 = 48 << 10;

/// The name that a variable of a C++ function has in the source: `tile` for
/// `_ZZ6kernelPfE4tile`. Any other name is what it is.
fn source_name(symbol: &str) -> String {
    let plain = || symbol.to_string();
    let Some(path) = demangled(symbol) else {
        return plain();
    };
    match path.rsplit("::").next() {
        Some(last) if last.chars().all(|c| c.is_alphanumeric() || c == '_') => last.to_string(),
        _ => plain(),
    }
}

#[cfg(test)]
mod tests {
    use super::source_name;

    #[test]
    fn variables_of_functions_have_their_own_name() {
        assert_eq!(source_name("_ZZ6kernelPfE4tile"), "tile");
        assert_eq!(source_name("_ZZ26barriers_rounds_no_barrierE1s"), "s");
        assert_eq!(source_name("_ZN2ns5tableE"), "table");
        assert_eq!(source_name("global_smem"), "global_smem");
        assert_eq!(source_name("_Znonsense"), "_Znonsense");
    }
}
