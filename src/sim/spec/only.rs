//! Parts of outputs that are compared (`--only 'KEY[0..2,0..100]'`).
//!
//! What lies outside of the parts of its array is no part of the claim: no element there is compared,
//! which the report says. Both kernels still run whole, so that a defect there counts.

use std::sync::Arc;

use crate::answer::AssumptionKind;
use crate::term::ArrayId;

use super::binding::Key;
use super::pair::{Draft, Table};
use super::pairing::{Target, targets};
use super::variables::variable;
use super::{Array, Role, SpecError, Value};

/// A part of an array by ranges of its indices, ends excluded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Only {
    /// Which array.
    pub key: Key,
    /// A range for each dimension.
    pub ranges: Vec<(u64, u64)>,
    /// The text of the setting, for messages.
    pub text: String,
}

impl Only {
    /// Reads `KEY[A..B,...]`.
    pub fn parse(text: &str) -> Result<Only, SpecError> {
        let bad = |why: String| SpecError::BadOnly {
            text: text.to_string(),
            why,
        };
        let shape = "it is not KEY[A..B,...] with a range for each dimension, e.g. 1[0..2,0..100]";
        let cut = text
            .trim()
            .strip_suffix(']')
            .and_then(|t| t.split_once('['));
        let (key, list) = cut.ok_or_else(|| bad(shape.into()))?;
        let range = |part: &str| {
            let (a, b) = part.split_once("..").ok_or_else(|| bad(shape.into()))?;
            let number = |t: &str| t.trim().parse::<u64>().ok();
            match (number(a), number(b)) {
                (Some(a), Some(b)) if a < b => Ok((a, b)),
                (Some(_), Some(_)) => Err(bad(format!("`{}` is empty", part.trim()))),
                _ => Err(bad(format!("`{}` is no range of indices", part.trim()))),
            }
        };
        Ok(Only {
            key: Key::parse(key.trim()).map_err(bad)?,
            ranges: list.split(',').map(range).collect::<Result<_, _>>()?,
            text: text.trim().to_string(),
        })
    }
}

/// Gives the arrays of the pair the parts that are compared.
pub(super) fn restrict(
    table: &mut Table,
    drafts: &[Draft],
    only: &[(Only, Vec<Target>)],
) -> Result<(), SpecError> {
    for (part, places) in only {
        let bad = |why: String| SpecError::BadOnly {
            text: part.text.clone(),
            why,
        };
        let places = places.iter().filter(|_| !table.is_sequence);
        let mut ids = places
            .map(|&place| array(drafts, place))
            .collect::<Vec<_>>();
        let named = table.buffers.iter().filter(|(name, _)| part.key.is(name));
        ids.extend(named.map(|(_, &id)| Some(id)));
        for draft in drafts {
            let of = variable(draft.kernel, &part.key);
            ids.extend(of.map(|g| Some(draft.globals[g])));
        }
        if ids.is_empty() {
            let what = if table.is_sequence {
                "buffer"
            } else {
                "parameter"
            };
            return Err(bad(format!("it names no {what}")));
        }
        for id in ids {
            let id = id.ok_or_else(|| bad("it is of no array".into()))?;
            let a = &mut table.merged[id.0 as usize];
            fits(a, &part.ranges).map_err(bad)?;
            let mut parts = a.only.as_deref().unwrap_or_default().to_vec();
            if !parts.contains(&part.ranges) {
                parts.push(part.ranges.clone());
            }
            a.only = Some(Arc::from(parts));
        }
    }
    for a in &table.merged {
        let Some(parts) = &a.only else { continue };
        let shown: Vec<String> = parts
            .iter()
            .map(|p| format!("{}{}", a.name, show(p)))
            .collect();
        let shape: Vec<String> = a.shape.iter().map(u64::to_string).collect();
        table.assumptions.push(AssumptionKind::LeftOut.says(format!(
            "of `{}[{}]` only {} is compared; every other element of it is left out",
            a.name,
            shape.join(","),
            shown.join(", ")
        )));
    }
    Ok(())
}

/// The places in the kernels that each part is of.
pub(super) fn places(
    sides: &[super::fit::Side],
    pairs: &[super::pairing::Pair],
) -> Vec<(Only, Vec<Target>)> {
    let all = sides.first().map_or(&[][..], |s| &s.spec.only[..]);
    let places = |o: &Only| {
        targets(sides, pairs, 0, &o.key, false)
            .into_iter()
            .flatten()
    };
    all.iter()
        .map(|o| (o.clone(), places(o).collect()))
        .collect()
}

/// The array that a place of a kernel points to.
fn array(drafts: &[Draft], place: Target) -> Option<ArrayId> {
    let draft = &drafts[place.side];
    let at = draft.kernel.params[place.param].offset + place.offset.unwrap_or(0);
    let field = draft.fields.iter().find(|f| f.offset == at)?;
    match field.value {
        Value::Pointer(id, _) | Value::Map(id, _) => Some(id),
        Value::Bits(_) | Value::Symbol(_) => None,
    }
}

/// Why ranges are no part of an output, if they are none.
fn fits(a: &Array, ranges: &[(u64, u64)]) -> Result<(), String> {
    let name = &a.name;
    match a.role {
        Some(Role::In) => return Err(format!("`{name}` is an input, which is not compared")),
        Some(Role::Scratch) => return Err(format!("`{name}` is scratch, which is not compared")),
        Some(Role::Out | Role::InOut) | None => {}
    }
    if a.shape.is_empty() || a.elem.is_none() {
        return Err(format!(
            "`{name}` has no shape: bind it, e.g. as out:f32[4,128]"
        ));
    }
    let elements: u64 = a.shape.iter().product();
    let bytes = a.elem.map_or(1, |e| e.bytes());
    if a.extent != elements.checked_mul(bytes) {
        return Err(format!("the rows of `{name}` have gaps between them"));
    }
    if a.shape.len() != ranges.len() {
        let (n, m) = (a.shape.len(), ranges.len());
        return Err(format!(
            "`{name}` has {n} dimensions, and there are {m} ranges"
        ));
    }
    match ranges.iter().zip(&a.shape).find(|((_, end), d)| end > *d) {
        Some(((from, to), d)) => Err(format!(
            "{from}..{to} leaves a dimension of {d} of `{name}`"
        )),
        None => Ok(()),
    }
}

fn show(ranges: &[(u64, u64)]) -> String {
    let each: Vec<String> = ranges.iter().map(|(a, b)| format!("{a}..{b}")).collect();
    format!("[{}]", each.join(","))
}

impl Array {
    /// Whether an element, by its index in the order of memory, is compared as far as `--only` says.
    pub fn is_selected(&self, flat: u64) -> bool {
        let Some(parts) = &self.only else { return true };
        let mut rest = flat;
        let mut index: Vec<u64> = Vec::with_capacity(self.shape.len());
        for &d in self.shape.iter().rev() {
            index.push(rest % d.max(1));
            rest /= d.max(1);
        }
        index.reverse();
        // What lies behind the end of the array is in no part of it.
        rest == 0
            && parts.iter().any(|part| {
                part.iter()
                    .zip(&index)
                    .all(|((from, to), i)| (from..to).contains(&i))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read() {
        let o = Only::parse("y[0..2, 3..4]").expect("valid");
        assert_eq!(o.ranges, [(0, 2), (3, 4)]);
        for bad in [
            "y", "y[]", "y[0]", "y[2..2]", "y[3..2]", "y[0..x]", "y[-1..2]", "[0..1]", "y[0..1",
        ] {
            assert!(Only::parse(bad).is_err(), "{bad}");
        }
    }
}
