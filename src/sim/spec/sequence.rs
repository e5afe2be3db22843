//! What launches of a sequence have to say of their parameters, and what they share.
//!
//! Source: the section "Launches in a sequence" of the command-line contract. Buffers pair the sides by name, so that
//! nothing else does: a pointer that is bound to none would be memory that no other launch sees, and a number without a
//! value a symbol that the other side does not know. Both are input errors, since the pair would differ for no reason of
//! the kernels.

use std::sync::Arc;

use crate::diag::Source;
use crate::kernel::{GlobalVar, Kernel, ParamKind};

use super::SpecError;
use super::binding::{Key, View};
use super::fit::{Bound, Piece};
use super::manifest::KernelSpec;
use super::pair::{Draft, Table};
use super::pairing::{ByteRange, find, list_params, nearest};
use super::{Role, Value};

/// What is said of a sequence as a whole: bindings for all launches name a parameter of one, and nothing pairs by
/// position.
pub(super) fn check(
    kernels: &[(&Kernel, &KernelSpec)],
    map: &[(Key, Key)],
) -> Result<(), SpecError> {
    let said = |key, is_said: bool| match is_said {
        true => Err(SpecError::NotForSequences { key }),
        false => Ok(()),
    };
    said("map", !map.is_empty())?;
    let Some((_, spec)) = kernels.first() else {
        return Ok(());
    };
    said("alias", !spec.alias.is_empty())?;
    said("names", !spec.names.is_empty())?;
    let mut shared = spec.args.iter().filter(|arg| !arg.own && !arg.optional);
    let lost = shared.find(|arg| kernels.iter().all(|k| find(k.0, &arg.key).is_none()));
    match lost {
        None => Ok(()),
        Some(arg) => {
            let all: Vec<&Kernel> = kernels.iter().map(|k| k.0).collect();
            let names: Vec<String> = kernels.iter().map(|k| format!("`{}`", k.0.name)).collect();
            let params: Vec<String> = kernels.iter().map(|k| list_params(k.0)).collect();
            Err(SpecError::NoSuchParam {
                near: nearest(&all, &arg.key),
                text: arg.text.clone(),
                kernels: names.join(" or "),
                params: params.join("; "),
            })
        }
    }
}

impl Table {
    /// An error for a piece of a parameter that no other launch and no other side can see.
    pub(super) fn fits_sequence(
        &self,
        draft: &Draft,
        part: ByteRange,
        piece: &Piece,
        is_pointer: bool,
    ) -> Result<(), SpecError> {
        let position = part.param as u32;
        let start = part.start + piece.offset;
        let whole = &draft.kernel.params[part.param];
        let param = match piece.bytes == whole.bytes {
            true => whole.name.clone(),
            false => format!("{}+{start}", whole.name),
        };
        let kernel = draft.kernel.name.clone();
        match &piece.bound {
            Bound::Bits(..) | Bound::View(_) => Ok(()),
            // Memory for a launch alone, as compilers ask for.
            Bound::Array(decl) if decl.role == Some(Role::Scratch) => Ok(()),
            Bound::Array(_) => Err(SpecError::OwnArray {
                param,
                kernel,
                position,
            }),
            Bound::Free => {
                // What a compiler adds and no load reads is nothing to anyone.
                let mut reads = draft.uses.inside(part.param, start, start + piece.bytes);
                match reads.next() {
                    None => Ok(()),
                    Some(_) if is_pointer => Err(SpecError::NoBuffer {
                        param,
                        kernel,
                        position,
                    }),
                    Some(_) if self.is_compared => Err(SpecError::NoValue {
                        param,
                        kernel,
                        position,
                    }),
                    Some(_) => Ok(()),
                }
            }
        }
    }

    /// What a parameter that is bound to a buffer holds: an address in it, or its only element.
    pub(super) fn seen(&self, draft: &Draft, p: usize, view: &View) -> Result<Value, SpecError> {
        let param = &draft.kernel.params[p];
        let bad = |why: String| SpecError::BadView {
            key: p.to_string(),
            view: view.to_string(),
            kernel: draft.kernel.name.clone(),
            why,
        };
        let id = self.view(view).map_err(bad)?;
        let is_address = match param.kind {
            ParamKind::Int { width, .. } => width == 64,
            ParamKind::Bytes => true,
            ParamKind::Float(_) => false,
        };
        if is_address {
            return Ok(Value::Pointer(id, view.offset));
        }
        let buffer = &self.merged[id.0 as usize];
        let bytes = u64::from(param.bytes);
        let fits =
            buffer.role == Some(Role::In) && buffer.extent == Some(bytes) && view.offset == 0;
        match (fits, buffer.initial_bits(0..bytes)) {
            (true, Some(bits)) => Ok(Value::Bits(bits)),
            (true, None) => Ok(Value::Symbol(id)),
            (false, _) => Err(bad(format!(
                "`{}` is a number of {bytes} bytes, which only an `in:` buffer of one element of that size can give",
                param.name
            ))),
        }
    }
}

/// For each launch and each variable of its module, which of the modules of its side with a variable of that name it
/// is of. Launches of one file share the module that it is loaded as; other files have variables of their own, and those
/// of the sides stand for each other in order.
pub(super) fn modules(drafts: &[Draft]) -> Vec<Vec<usize>> {
    let of = |draft: &Draft, var: &GlobalVar| {
        let has = |d: &&Draft| {
            let same = |g: &GlobalVar| (&g.name, g.constant) == (&var.name, var.constant);
            d.spec.which == draft.spec.which && d.kernel.globals.iter().any(same)
        };
        let mut seen: Vec<&Arc<Source>> = Vec::new();
        for d in drafts.iter().filter(has) {
            if !seen.iter().any(|s| Arc::ptr_eq(s, &d.kernel.source)) {
                seen.push(&d.kernel.source);
            }
        }
        let own = |s: &&Arc<Source>| Arc::ptr_eq(s, &draft.kernel.source);
        seen.iter().position(own).unwrap_or(0)
    };
    let each = drafts.iter();
    each.map(|d| d.kernel.globals.iter().map(|g| of(d, g)).collect())
        .collect()
}
