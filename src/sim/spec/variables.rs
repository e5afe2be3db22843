//! Module variables (`.global`, `.const`): which arrays they are, what they hold before the first launch, and bindings
//! whose key names one (`--arg count=inout:u32[1]=0`).
//!
//! Source: the section "Input and use" of the command-line contract. What a variable holds is, in this order: the contents
//! that it is bound with; 0, for a counter ([`counters`]) of every launch that has it; its initialiser, unless it is bound;
//! else any contents.
//!
//! What is sound: any contents are more than those of an initialiser, so that to bind a variable without contents can only
//! lose proofs. That an initialiser still holds, and that a counter begins at 0, are listed as assumptions.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::answer::AssumptionKind;
use crate::kernel::counters::counters;
use crate::kernel::{Begins, GlobalVar, Kernel, WORKSPACE, demangled, pure};
use crate::term::ArrayId;

use super::binding::{Arg, ArgValue, ArrayDecl, Key, ParamKey};
use super::pair::{Draft, Table, clash};
use super::pairing::find;
use super::{Array, ElemTy, Origin, Role, SpecError, sequence};

/// The index of the variable that a key names by its PTX name, or by the name in its source that no other one has; a
/// parameter of that name goes before it.
pub(super) fn variable(kernel: &Kernel, key: &Key) -> Option<usize> {
    let ParamKey::Name(name) = &key.param else {
        return None;
    };
    if find(kernel, key).is_some() {
        return None;
    }
    let all = kernel.globals.iter().enumerate();
    let all = all.filter(|(_, g)| is_of_the_module(g));
    if let Some((i, _)) = all.clone().find(|(_, g)| g.name == *name) {
        return Some(i);
    }
    let mut of_source = all.filter(|(_, g)| demangled(&g.name).as_deref() == Some(name));
    let found = of_source.next().map(|(i, _)| i);
    found.filter(|_| of_source.next().is_none())
}

/// True of what a module declares, and not of the grid's workspace or a table of results.
fn is_of_the_module(g: &GlobalVar) -> bool {
    g.name != WORKSPACE && pure::function_of(&g.name).is_none()
}

/// True if a key names a parameter or a variable.
pub(super) fn has_key(kernel: &Kernel, key: &Key) -> bool {
    find(kernel, key).is_some() || variable(kernel, key).is_some()
}

/// The variables of a kernel, to stand behind a list of its parameters.
pub(super) fn list_variables(kernel: &Kernel) -> String {
    let all = kernel.globals.iter().filter(|g| is_of_the_module(g));
    let all: Vec<String> = all
        .map(|g| format!("{} ({})", g.name, show_type(g)))
        .collect();
    match all.is_empty() {
        true => String::new(),
        false => format!("; its variables are {}", all.join(", ")),
    }
}

fn show_type(g: &GlobalVar) -> String {
    let space = if g.constant { ".const" } else { ".global" };
    match g.bytes {
        0 => format!("{space} of unknown size"),
        n => format!("{space} of {n} bytes"),
    }
}

/// What one launch says of a variable.
struct Bound {
    /// Which launch.
    side: usize,
    decl: ArrayDecl,
}

/// The variables of one name that are one array, by the launches that have them.
#[derive(Default)]
struct Group {
    /// Each launch with the number of the variable in its kernel.
    of: Vec<(usize, usize)>,
    bound: Vec<Bound>,
}

/// Name, space, and which of the modules of its side with that name.
type GroupKey = (String, bool, usize);

impl Table {
    /// Variables of one name are one array: those of launches of one module, and of the sides.
    pub(super) fn add_variables(&mut self, drafts: &mut [Draft]) -> Result<(), SpecError> {
        let numbers = sequence::modules(drafts);
        let mut groups: IndexMap<GroupKey, Group> = IndexMap::new();
        for (side, draft) in drafts.iter().enumerate() {
            for (g, var) in draft.kernel.globals.iter().enumerate() {
                let key = (var.name.clone(), var.constant, numbers[side][g]);
                let group = groups.entry(key).or_default();
                group.of.push((side, g));
                group.bound.extend(binding(draft, side, g)?);
            }
        }
        let counts: Vec<Vec<bool>> = drafts.iter().map(|d| counters(d.kernel)).collect();
        let mut ids: Vec<Vec<Option<ArrayId>>> = drafts
            .iter()
            .map(|d| vec![None; d.kernel.globals.len()])
            .collect();
        for group in groups.values() {
            let counts = group.of.iter().all(|&(side, g)| counts[side][g]);
            let id = self.add_variable(drafts, group, counts)?;
            for &(side, g) in &group.of {
                ids[side][g] = Some(id);
            }
        }
        for (draft, ids) in drafts.iter_mut().zip(ids) {
            draft.globals = ids.into_iter().flatten().collect();
        }
        Ok(())
    }

    fn add_variable(
        &mut self,
        drafts: &[Draft],
        group: &Group,
        counts: bool,
    ) -> Result<ArrayId, SpecError> {
        let var = |&(side, g): &(usize, usize)| &drafts[side].kernel.globals[g];
        let extent = |g: &GlobalVar| match g.bytes {
            0 if g.begins == Begins::Elsewhere => None,
            bytes => Some(bytes),
        };
        let begins = |g: &GlobalVar| -> Option<Arc<[u8]>> {
            let known = g.begins == Begins::Initialised && g.relocs.is_empty();
            match counts {
                true => Some(Arc::default()),
                false => known.then(|| g.init.as_slice().into()),
            }
        };
        let is_bound = !group.bound.is_empty();
        let first = var(&group.of[0]);
        let of_any = |g: &GlobalVar| if is_bound { None } else { begins(g) };
        let id = self.push(Array {
            name: first.name.clone(),
            origin: match first.constant {
                true => Origin::Const,
                false => Origin::Global,
            },
            role: match (first.constant, first.name == WORKSPACE) {
                (true, _) => Some(Role::In),
                // What a barrier leaves there is no output.
                (false, true) => Some(Role::Scratch),
                (false, false) => None,
            },
            elem: first.fmt.map(ElemTy::Float).filter(|_| !is_bound),
            shape: Vec::new(),
            extent: extent(first),
            initial: of_any(first),
            only: None,
            align: None,
            pointers: None,
            handed_on: false,
        });
        let i = id.0 as usize;
        for at in &group.of {
            let (own, here) = (of_any(var(at)), extent(var(at)));
            if self.merged[i].initial != own {
                self.merged[i].initial = None;
            }
            // A run begins with the initialiser of its own module.
            self.views[at.0][i].initial = own;
            self.views[at.0][i].extent = here;
            let merged = &mut self.merged[i].extent;
            *merged = merged.zip(here).map(|(a, b)| a.max(b));
        }
        for bound in &group.bound {
            let names = vec![first.name.clone()];
            self.declare(id, bound.side, &bound.decl, names)?;
            self.point(id, &bound.decl)?;
        }
        // A launch that is not bound begins with the initialiser of its own module.
        for at in &group.of {
            if is_bound && !group.bound.iter().any(|b| b.side == at.0) {
                let own = begins(var(at));
                if self.merged[i].initial != own {
                    self.merged[i].initial = None;
                }
                self.views[at.0][i].initial = own;
            }
        }
        let without = |b: &Bound| b.decl.contents.is_none() && b.decl.targets.is_none();
        if counts && is_bound && group.bound.iter().all(without) {
            let zeros = Some(Arc::default()).filter(|_| !self.merged[i].begins_unset());
            self.merged[i].initial = zeros.clone();
            for view in &mut self.views {
                view[i].initial = zeros.clone();
            }
        }
        Ok(id)
    }

    /// Says what is taken for granted of the contents of variables.
    pub(super) fn assume_of_variables(&mut self, drafts: &[Draft]) {
        let [mut kept, mut counted, mut filled]: [Vec<String>; 3] = Default::default();
        let all = drafts.iter().enumerate();
        for (side, draft, g) in all.flat_map(|(i, d)| (0..d.globals.len()).map(move |g| (i, d, g)))
        {
            let var = &draft.kernel.globals[g];
            let array = &self.views[side][draft.globals[g].0 as usize];
            let bound = bound_by(draft, g).max_by_key(|a| a.layer).map(|a| &a.value);
            let list = match var.begins {
                _ if array.begins_unset() || !is_of_the_module(var) => continue,
                Begins::Initialised if bound.is_none() => &mut kept,
                Begins::Filled if array.initial.as_ref().is_some_and(|i| i.is_empty()) => {
                    // Zeros that a binding says are no assumption.
                    match bound {
                        Some(ArgValue::Array(decl)) if decl.contents.is_some() => continue,
                        _ => &mut counted,
                    }
                }
                _ if array.initial.is_none() && array.pointers.is_none() => &mut filled,
                _ => continue,
            };
            let name = format!("`{}`", var.name);
            if !list.contains(&name) {
                list.push(name);
            }
        }
        let mut say = |names: Vec<String>, before: &str, after: &str| {
            if !names.is_empty() {
                let text = format!("{before}{}{after}", names.join(", "));
                self.assumptions
                    .push(AssumptionKind::InitialValue.says(text));
            }
        };
        say(kept, "initial values hold when a kernel starts: ", "");
        let touched =
            ": integers without an initial value that only atomics and stores of constants touch";
        say(counted, "counters begin at 0: ", touched);
        say(
            filled,
            "variables without known contents hold any contents: ",
            "",
        );
    }
}

/// The bindings of a launch whose key names a variable of its kernel.
fn bound_by<'a>(draft: &'a Draft, g: usize) -> impl Iterator<Item = &'a Arg> {
    let all = draft.spec.args.iter();
    all.filter(move |a| variable(draft.kernel, &a.key) == Some(g))
}

/// What a launch says of a variable of its kernel: of several bindings that of the highest layer.
fn binding(draft: &Draft, side: usize, g: usize) -> Result<Option<Bound>, SpecError> {
    let kernel = draft.kernel;
    let var = &kernel.globals[g];
    let mut found: Option<&Arg> = None;
    for arg in bound_by(draft, g) {
        match found {
            Some(old) if old.layer == arg.layer => return Err(clash(old, arg, &var.name)),
            Some(old) if old.layer > arg.layer => {}
            _ => found = Some(arg),
        }
    }
    let Some(arg) = found else { return Ok(None) };
    let refuse = |why: String| SpecError::DoesNotFit {
        text: arg.text.clone(),
        param: var.name.clone(),
        kernel: kernel.name.clone(),
        ty: format!("a {} variable", show_type(var)).into(),
        why,
    };
    let decl = match &arg.value {
        ArgValue::Array(decl) => decl.clone(),
        _ => {
            let of = match (var.bytes, var.fmt) {
                (n, Some(fmt)) => {
                    format!("{}[{}]", fmt.name(), n / u64::from(fmt.bits() / 8).max(1))
                }
                (n, None) if n % 4 == 0 => format!("u32[{}]", n / 4),
                (n, None) => format!("u8[{n}]"),
            };
            let role = if var.constant { "in" } else { "inout" };
            return Err(refuse(format!(
                "a variable is bound as an array, e.g. {}={role}:{of}=0",
                var.name
            )));
        }
    };
    if arg.key.offset.is_some() {
        return Err(refuse("a variable is bound as a whole".into()));
    }
    if decl.map.is_some() {
        return Err(refuse("a variable is no tensor map".into()));
    }
    if decl.align.is_some() {
        return Err(refuse("the module says how it is aligned".into()));
    }
    if var.constant && !matches!(decl.role, None | Some(Role::In)) {
        return Err(refuse(
            "kernels do not write to constant memory, bind it as in:".into(),
        ));
    }
    if var.bytes > 0 && decl.extent != var.bytes {
        return Err(refuse(format!("the array has {} bytes", decl.extent)));
    }
    if !var.relocs.is_empty() {
        return Err(refuse(
            "its initialiser holds addresses, which no binding says".into(),
        ));
    }
    Ok(Some(Bound { side, decl }))
}
