//! Which rows of outputs are made of which rows of inputs: `y[i,*] of x[i,*], r[i]`.

use crate::answer::{ErrorKind, Failure};
use crate::spec::{Array, Setup, Value};
use crate::term::ArrayId;

/// An array and the dimension along which its rows lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rowed {
    /// The array as it was named: by `--name`, by PTX or by position.
    pub name: String,
    /// The position of the row's index.
    pub dimension: usize,
    /// Number of indices.
    pub rank: usize,
}

/// What was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The outputs.
    pub outputs: Vec<Rowed>,
    /// The inputs of which a row is made of the same row alone.
    pub inputs: Vec<Rowed>,
}

fn bad(text: &str, why: &str) -> Failure {
    let message = format!("--rows `{text}`: {why}; write for example 'y[i,*] of x[i,*], r[i]'");
    Failure::new(ErrorKind::Usage, message)
}

impl Pattern {
    /// Reads a pattern.
    pub fn parse(text: &str) -> Result<Pattern, Failure> {
        let (left, right) = match text.split_once(" of ") {
            Some((left, right)) => (left, right),
            None => (text, ""),
        };
        let mut index: Option<String> = None;
        let mut list = |part: &str| -> Result<Vec<Rowed>, Failure> {
            let mut out = Vec::new();
            let mut rest = part.trim();
            while !rest.is_empty() {
                let refuse = |why: &str| bad(text, why);
                let (name, after) = rest
                    .split_once('[')
                    .ok_or_else(|| refuse("an array has its indices in brackets"))?;
                let (inside, after) = after
                    .split_once(']')
                    .ok_or_else(|| refuse("a bracket is open"))?;
                let indices: Vec<&str> = inside.split(',').map(str::trim).collect();
                let rows: Vec<usize> = (0..indices.len()).filter(|&k| indices[k] != "*").collect();
                let &[dimension] = &rows[..] else {
                    return Err(refuse(
                        "each array has the row's index once, and `*` elsewhere",
                    ));
                };
                let word = indices[dimension];
                let known = index.get_or_insert_with(|| word.to_string());
                let is_name = word.chars().all(|c| c.is_alphanumeric() || c == '_');
                if known != word || !is_name || word.is_empty() {
                    return Err(refuse("all arrays have one name for the row's index"));
                }
                out.push(Rowed {
                    name: name.trim().trim_matches('`').to_string(),
                    dimension,
                    rank: indices.len(),
                });
                rest = after.trim_start();
                rest = match rest.strip_prefix(',') {
                    Some(more) if !more.trim().is_empty() => more.trim_start(),
                    None if rest.is_empty() => rest,
                    _ => return Err(refuse("arrays are separated by commas")),
                };
            }
            Ok(out)
        };
        let (outputs, inputs) = (list(left)?, list(right)?);
        if outputs.is_empty() {
            return Err(bad(text, "no output is named"));
        }
        Ok(Pattern { outputs, inputs })
    }
}

impl Rowed {
    /// The array of a launch.
    pub fn array(&self, setup: &Setup) -> Result<ArrayId, Failure> {
        let refuse = |why: String| Failure::new(ErrorKind::Usage, format!("--rows: {why}"));
        let by_name = setup.arrays.0.iter().position(|a| a.name == self.name);
        let fields = setup.kernels[0].bindings.fields.iter();
        let position: Option<u32> = self.name.parse().ok();
        let by_position =
            fields
                .filter(|f| Some(f.param) == position)
                .find_map(|f| match f.value {
                    Value::Pointer(a, _) | Value::Map(a, _) => Some(a),
                    Value::Bits(_) | Value::Symbol(_) => None,
                });
        let id = by_position.or(by_name.map(|i| ArrayId(i as u32)));
        let id = id.ok_or_else(|| refuse(format!("`{}` is no array of the kernel", self.name)))?;
        let a: &Array = &setup.arrays[id];
        if a.shape.len() != self.rank || a.elem.is_none() {
            let shape: Vec<String> = a.shape.iter().map(u64::to_string).collect();
            return Err(refuse(format!(
                "`{}` has {} indices here and is bound with the shape [{}]",
                self.name,
                self.rank,
                shape.join(",")
            )));
        }
        Ok(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_name_a_dimension_of_each_array() {
        let p = Pattern::parse("y[i,*] of x[*, i], r[i]").expect("a pattern");
        let of = |r: &Rowed| (r.name.clone(), r.dimension, r.rank);
        assert_eq!(of(&p.outputs[0]), ("y".into(), 0, 2));
        assert_eq!(of(&p.inputs[0]), ("x".into(), 1, 2));
        assert_eq!(of(&p.inputs[1]), ("r".into(), 0, 1));
        for wrong in [
            "",
            "y",
            "y[*]",
            "y[i,i]",
            "y[i] of x[j]",
            "y[i] of x[i],",
            "y[i",
            "y[i]x[i]",
        ] {
            assert!(Pattern::parse(wrong).is_err(), "{wrong}");
        }
    }
}
