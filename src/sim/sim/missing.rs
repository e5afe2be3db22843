//! Branches and addresses that are not known: which parameter has no value, or that it is data.
//!
//! The flag that a message asks for names the position of the parameter: names are mangled, and those
//! of one kernel mean nothing in the other.

use crate::kernel::Pc;
use crate::sim::limits::LIMITS;
use crate::spec::{Origin, Role, Value};
use crate::term::{ArrayId, Term};

use super::UnknownKind;
use super::at::site;
use super::machine::Core;
use super::val::Val;

impl Core<'_> {
    /// Records why an address is not known.
    pub(super) fn data_dependent_address(&mut self, w: usize, mask: u32, pc: Pc, v: Val) {
        if self.missing_binding(w, mask, pc, v, "an address") {
            return;
        }
        let site = site(pc, w, mask, "computes an address from input data");
        if let Val::Bits(t) = v
            && self.values.store.is_loose(t)
        {
            // With numbers that remember how they were made it may be a place like others.
            self.values.store.note_merged();
            self.found
                .unknown(UnknownKind::BitsOfRounded, vec![site], || {
                    "an address depends on the bits of a number that was rounded".into()
                });
            return;
        }
        self.found
            .unknown(UnknownKind::DataDependentAddress, vec![site], || {
                "an address depends on input data".into()
            });
    }

    /// Records why a branch cannot be followed.
    pub(super) fn data_dependent_branch(&mut self, w: usize, mask: u32, pc: Pc, v: Val) {
        if self.missing_binding(w, mask, pc, v, "a branch") {
            return;
        }
        let site = site(pc, w, mask, "branches on input data");
        let floats = self.floats_of(v);
        self.found.unknown(UnknownKind::DataDependentBranch, vec![site], || {
            let why = "a branch depends on input data, and its two ways cannot be merged: there is a barrier \
                       or another effect on them, or a loop that the data ends";
            match floats {
                Some(name) => format!(
                    "{why}; it asks floats of {name}, which contents decide (--arg '{name}=in:f32[...]=0')"
                ),
                None => why.into(),
            }
        });
    }

    /// An array of floats that a value is made of, if one is, and no array that holds none.
    fn floats_of(&self, v: Val) -> Option<String> {
        let t = match v {
            Val::Bits(t) | Val::Pred(t) | Val::Real(_, t) => t,
            _ => return None,
        };
        let store = &self.values.store;
        let mut found: Option<ArrayId> = None;
        let mut integers = false;
        store.met(&[t], LIMITS.missing_terms, |t, open| {
            if let Term::Elem { array, .. } = store.get(t)
                && !array.is_place()
            {
                found = Some(found.map_or(array, |f| f.min(array)));
            }
            integers |= matches!(store.get(t), Term::Bytes { .. });
            store.children(t, |c| open.push(c));
            true
        });
        let array = found.filter(|_| !integers)?;
        let given = &self.fixed.arrays[array];
        let known = given.extent.is_some() && given.role == Some(Role::In);
        known.then(|| given.name.clone())
    }

    /// Records that a parameter has no value, if that is why `v` has none.
    pub(super) fn missing_binding(
        &mut self,
        w: usize,
        mask: u32,
        pc: Pc,
        v: Val,
        what: &str,
    ) -> bool {
        let Some((array, off)) = self.unbound_integer(v) else {
            return false;
        };
        let (name, flag) = self.parameter(array, off);
        let site = site(pc, w, mask, format!("depends on parameter {name}"));
        self.found
            .unknown(UnknownKind::MissingBinding, vec![site], || {
                format!(
                    "parameter {name} reaches {what}, and has no value: bind it with {flag}=VALUE"
                )
            });
        true
    }

    /// Name in this kernel of what stands at a byte of a scalar or structure, and the flag that
    /// binds it.
    fn parameter(&self, array: ArrayId, off: u64) -> (String, String) {
        let mut fields = self.fixed.bindings.fields.iter();
        let field = fields.find(|f| f.value == Value::Symbol(array));
        let param = field.and_then(|f| self.fixed.kernel.params.get(f.param as usize));
        let (Some(f), Some(p)) = (field, param) else {
            let name = self.fixed.arrays[array].name.clone();
            return (name.clone(), format!("--arg {name}"));
        };
        let byte = f.offset.saturating_add(off as u32);
        let mut flags = self.fixed.bindings.flags.iter();
        let flag = flags.find(|g| (g.start..g.start + g.bytes).contains(&byte));
        let flag = flag.map_or_else(|| format!("--arg {}", f.param), |g| g.at(byte));
        match byte - p.offset {
            0 => (p.name.clone(), flag),
            at => (format!("{}+{at}", p.name), flag),
        }
    }

    /// The scalar parameter behind an integer that has no value, and the first of its bytes that
    /// matters.
    fn unbound_integer(&self, v: Val) -> Option<(ArrayId, u64)> {
        let t = match v {
            Val::Bits(t) | Val::Pred(t) | Val::Real(_, t) => t,
            _ => return None,
        };
        let store = &self.values.store;
        let mut seen = rustc_hash::FxHashSet::default();
        let mut stack = vec![t];
        let mut found: Option<(ArrayId, u64)> = None;
        while let Some(t) = stack.pop() {
            if !seen.insert(t) {
                continue;
            }
            if let Term::Bytes { array, off, .. } = store.get(t)
                && !array.is_place()
                && self.fixed.arrays[array].origin == Origin::Scalar
            {
                found = Some(found.map_or((array, off), |f| f.min((array, off))));
            }
            store.children(t, |c| stack.push(c));
        }
        found
    }
}
