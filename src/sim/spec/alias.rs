//! Pointer parameters that are the same array (`--alias A=B`), as for a kernel that works in place.
//!
//! An alias is of parameters of the reference, and of their partners, or of the optimized kernel where
//! the reference lacks one. The arrays of the two become one for the whole pair, since what is one array for one kernel is one argument of the launch for both.
//! What is said about either holds for both: an input that is also an output is read and written.

use crate::answer::AssumptionKind;
use crate::term::ArrayId;

use super::binding::Key;
use super::fit::show_type;
use super::pair::{Draft, Table, show_decl};
use super::pairing::{find, list_params, show_key};
use super::{Array, Field, Role, SpecError, Value};

/// Joins the arrays of aliases.
pub(super) fn join(
    table: &mut Table,
    drafts: &mut [Draft],
    pairs: &[(Key, Key)],
) -> Result<(), SpecError> {
    for (a, b) in pairs {
        let text = format!("{}={}", show_key(a), show_key(b));
        let mut known = false;
        for side in 0..drafts.len() {
            let kernel = drafts[side].kernel;
            if find(kernel, a).is_none() || find(kernel, b).is_none() {
                continue;
            }
            known = true;
            let x = pointer(&drafts[side], a, &text)?;
            let y = pointer(&drafts[side], b, &text)?;
            if let (Some(x), Some(y)) = (x, y) {
                // What is paired with these is joined too; other keys of the same names are not meant.
                merge(table, drafts, x, y)?;
                break;
            }
        }
        if !known {
            let names: Vec<String> = drafts.iter().map(|d| d.kernel.name.clone()).collect();
            let names: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
            let params: Vec<String> = drafts.iter().map(|d| list_params(d.kernel)).collect();
            return Err(SpecError::NoSuchAlias {
                text,
                kernels: names.join(" or "),
                params: params.join("; "),
            });
        }
    }
    Ok(())
}

/// The array that a parameter points to; `None` for eight bytes that the kernel never uses as a
/// pointer, which can be an alias of anything.
fn pointer(draft: &Draft, key: &Key, text: &str) -> Result<Option<ArrayId>, SpecError> {
    let Some(p) = find(draft.kernel, key) else {
        return Ok(None);
    };
    let param = &draft.kernel.params[p];
    let offset = param.offset + key.offset.unwrap_or(0);
    let mut fields = draft.fields.iter();
    let here =
        |f: &&Field| f.param as usize == p && (f.offset..f.offset + f.bytes).contains(&offset);
    let found = fields.find(here);
    let left = found.map_or(0, |f| f.offset + f.bytes - offset);
    match found.map(|f| (f.value, f.offset == offset)) {
        Some((Value::Pointer(a, _) | Value::Map(a, _), true)) => Ok(Some(a)),
        Some((Value::Symbol(_), _)) if left >= 8 => Ok(None),
        Some((Value::Bits(_), _)) => Err(SpecError::AliasOfNumber {
            text: text.to_string(),
            param: param.name.clone(),
            kernel: draft.kernel.name.clone(),
        }),
        _ => Err(SpecError::AliasOfScalar {
            text: text.to_string(),
            param: param.name.clone(),
            kernel: draft.kernel.name.clone(),
            ty: show_type(param),
        }),
    }
}

/// Makes two arrays one, the one with the smaller number.
fn merge(table: &mut Table, drafts: &mut [Draft], x: ArrayId, y: ArrayId) -> Result<(), SpecError> {
    if x == y {
        return Ok(());
    }
    let (keep, drop) = (x.min(y), x.max(y));
    let (k, d) = (keep.0 as usize, drop.0 as usize);
    for draft in drafts.iter_mut() {
        for f in &mut draft.fields {
            match f.value {
                Value::Pointer(a, at) if a == drop => f.value = Value::Pointer(keep, at),
                Value::Map(a, i) if a == drop => f.value = Value::Map(keep, i),
                _ => {}
            }
        }
    }
    for list in std::iter::once(&mut table.merged).chain(&mut table.views) {
        let other = list[d].clone();
        one(&mut list[k], &other)?;
    }
    table.aliased.push(drop);
    let (a, b) = (&table.merged[k].name, &table.merged[d].name);
    table
        .assumptions
        .push(AssumptionKind::Alias.says(format!("`{a}` and `{b}` are the same array")));
    Ok(())
}

/// What is said about two arrays that are one.
fn one(a: &mut Array, b: &Array) -> Result<(), SpecError> {
    let extents = a.extent.is_some() && b.extent.is_some() && a.extent != b.extent;
    let types = a.elem.is_some() && b.elem.is_some() && a.elem != b.elem;
    if let (true, Some(x), Some(y)) = (extents || types, a.elem, b.elem) {
        return Err(SpecError::DeclaredTwice {
            reference: a.name.clone(),
            optimized: b.name.clone(),
            first: show_decl(a.role, x, &a.shape),
            second: show_decl(b.role, y, &b.shape),
        });
    }
    if a.initial.is_some() && b.initial.is_some() && a.initial != b.initial {
        return Err(SpecError::TwoContents {
            reference: a.name.clone(),
            optimized: b.name.clone(),
        });
    }
    a.initial = a.initial.take().or(b.initial.clone());
    a.role = match (a.role, b.role) {
        (x, y) if x == y => x,
        (Some(_), Some(_)) => Some(Role::InOut),
        // The role of one of them follows from its use.
        _ => None,
    };
    a.elem = a.elem.or(b.elem);
    if a.shape.is_empty() {
        a.shape = b.shape.clone();
    }
    a.extent = a.extent.or(b.extent);
    // Both are said of one base, so that the larger one holds.
    a.align = a.align.max(b.align);
    if a.pointers.is_some() && b.pointers.is_some() && a.pointers != b.pointers {
        return Err(SpecError::TwoContents {
            reference: a.name.clone(),
            optimized: b.name.clone(),
        });
    }
    a.pointers = a.pointers.take().or(b.pointers.clone());
    Ok(())
}
