//! What the user says of the data (`--assume`): ranges of integers.
//!
//! A fact is about the elements of one array. It enters the store of terms ([`crate::term::gather::Facts`]), where
//! comparisons, bounds and searches for inputs ask it, and is listed in the report.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::answer::{Assumption, AssumptionKind};
use crate::kernel::Kernel;
use crate::term::ArrayId;
use crate::term::gather::{Facts, Range};

use super::binding::Key;
use super::pairing::{find, list_params};
use super::{Array, ElemTy, Field, SpecError, Value};

/// What is said of the elements of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// What was written.
    text: String,
    /// The parameter.
    pub(super) key: Key,
    /// The least element, and the end of what follows it.
    range: (i64, i64),
}

impl Fact {
    /// Reads `KEY in A..B`.
    pub fn parse(text: &str) -> Result<Fact, SpecError> {
        let bad = |why: String| SpecError::BadFact {
            text: text.to_string(),
            why,
        };
        let Some((key, range)) = text.split_once(" in ") else {
            return Err(bad(
                "facts of the form `KEY in A..B` are built, such as `0 in 0..100`; no others are"
                    .into(),
            ));
        };
        let key = Key::parse(key.trim()).map_err(bad)?;
        let Some((a, b)) = range.split_once("..") else {
            return Err(bad("a range is `A..B`, its end excluded".into()));
        };
        let number = |s: &str| {
            let s = s.trim();
            s.parse::<i64>()
                .map_err(|_| bad(format!("`{s}` is no integer")))
        };
        let range = (number(a)?, number(b)?);
        if range.0 >= range.1 {
            return Err(bad("nothing lies in this range".into()));
        }
        Ok(Fact {
            text: text.to_string(),
            key,
            range,
        })
    }
}

/// One kernel with what stands in its parameter space.
pub(super) struct Subject<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Its fields.
    pub fields: &'a [Field],
}

/// The facts of a launch, with the sentences that list them.
pub(super) fn resolve(
    facts: &[Fact],
    subjects: &[Subject<'_>],
    (arrays, buffers): (&[Array], &IndexMap<String, ArrayId>),
) -> Result<(Arc<Facts>, Vec<Assumption>), SpecError> {
    let mut out = Facts::default();
    let mut said = Vec::new();
    for f in facts {
        let bad = |why: String| SpecError::BadFact {
            text: f.text.clone(),
            why,
        };
        let named = |(name, id): (&String, &ArrayId)| f.key.is(name).then_some(*id);
        let array = subjects.iter().find_map(|s| array_of(s, &f.key));
        let array = array.or_else(|| buffers.iter().find_map(named));
        let Some(array) = array else {
            let all: Vec<String> = subjects.iter().map(|s| list_params(s.kernel)).collect();
            let known = match subjects {
                [] => format!("the buffers are {}", names(buffers)),
                _ => format!("the parameters are {}", all.join("; ")),
            };
            return Err(bad(format!("KEY is no array of the launch; {known}")));
        };
        let info = &arrays[array.0 as usize];
        let Some(ElemTy::Int { width, signed }) = info.elem else {
            return Err(bad(format!(
                "{} is not bound as an array of integers",
                info.name
            )));
        };
        let least = if signed { -(1i128 << (width - 1)) } else { 0 };
        let end = least + (1i128 << width);
        let (a, b) = (i128::from(f.range.0), i128::from(f.range.1));
        if b <= least || end <= a {
            return Err(bad(format!("no element of {} is in this range", info.name)));
        }
        // Integers are compared as two's complement below.
        let half = 1i128 << (width - 1);
        let (lo, hi) = (a.max(least), (b - 1).min(end - 1));
        if hi >= half {
            return Err(bad(format!(
                "the range has to end at or below {half} for an array of this type"
            )));
        }
        if let Some(known) = &info.initial {
            let n = usize::from(width / 8);
            for (i, e) in known.chunks(n).enumerate() {
                let bits = e.iter().rev().fold(0u64, |v, &b| v << 8 | u64::from(b));
                let v = i128::from(crate::term::sext(bits, width));
                if v < lo || hi < v {
                    return Err(bad(format!("{}[{i}] is {v}", info.name)));
                }
            }
        }
        if let Some(old) = out.range(array)
            && (old.hi < lo || hi < old.lo)
        {
            return Err(bad("it contradicts another fact".into()));
        }
        out.add(Range {
            array,
            width,
            lo,
            hi,
        });
        said.push(AssumptionKind::Fact.says(format!(
            "each element of {} is in {}..{}, as --assume says",
            info.name, f.range.0, f.range.1
        )));
    }
    Ok((Arc::new(out), said))
}

fn names(buffers: &IndexMap<String, ArrayId>) -> String {
    let names: Vec<&str> = buffers.keys().map(String::as_str).collect();
    names.join(", ")
}

/// The array that a parameter points to.
fn array_of(s: &Subject<'_>, key: &Key) -> Option<ArrayId> {
    let param = find(s.kernel, key)?;
    let at = s.kernel.params[param].offset + key.offset.unwrap_or(0);
    let mut fields = s.fields.iter();
    let field = fields.find(|f| f.param as usize == param && f.offset == at)?;
    match field.value {
        Value::Pointer(a, _) | Value::Map(a, _) => Some(a),
        Value::Bits(_) | Value::Symbol(_) => None,
    }
}
