//! Sizes that a command is run for: `--for n=1..9,50`, `for = { n = [1, 50] }`.
//!
//! A list says the values of a name; every combination of the values of all names is one instance of
//! the command, in which `{EXPR}` in any other value or file name is replaced by its number ([`expr`]).

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use indexmap::IndexMap;
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

pub mod expr;

pub mod template;

pub use crate::answer::Sizes;

/// Most instances of one command.
pub const MOST: usize = 10_000;

/// Most characters of a name.
const LONGEST: usize = 64;

/// An expression that has no value, with its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExprError {
    /// What is wrong.
    pub message: String,
    /// Where, in bytes.
    pub at: Range<usize>,
}

/// The text with every `{EXPR}` replaced by its value.
pub fn fill<'t>(text: &'t str, sizes: &Sizes) -> Result<Cow<'t, str>, ExprError> {
    let Some(first) = text.find('{') else {
        return Ok(text.into());
    };
    let mut out = String::with_capacity(text.len());
    let (mut at, mut open) = (0, Some(first));
    while let Some(start) = open {
        let rest = &text[start..];
        let len = rest.find('}').ok_or_else(|| ExprError {
            message: format!("`{rest}` lacks a closing brace"),
            at: start..text.len(),
        })?;
        let value = expr::value(&rest[1..len], &sizes.0).map_err(|e| ExprError {
            message: format!("`{}`: {}", &rest[..=len], e.message),
            at: e.at.start + start + 1..e.at.end + start + 1,
        })?;
        out.push_str(&text[at..start]);
        out.push_str(&value.to_string());
        at = start + len + 1;
        open = text[at..].find('{').map(|i| at + i);
    }
    out.push_str(&text[at..]);
    Ok(out.into())
}

/// The values of one name, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List(Vec<i64>);

impl List {
    /// Reads integers and ranges `A..B`, ends excluded.
    pub fn parse(text: &str) -> Result<List, String> {
        let mut out = List(Vec::new());
        for part in text.split(',').map(str::trim) {
            let number = |t: &str| {
                let number = t.trim().parse::<i64>();
                number.map_err(|_| format!("`{part}` is neither an integer nor a range A..B"))
            };
            match part.split_once("..") {
                None => out.push(number(part)?)?,
                Some((a, b)) => {
                    for value in number(a)?..number(b)? {
                        out.push(value)?;
                    }
                }
            }
        }
        out.filled()
    }

    fn push(&mut self, value: i64) -> Result<(), String> {
        if self.0.len() == MOST {
            return Err(format!("a list has at most {MOST} values"));
        }
        self.0.push(value);
        Ok(())
    }

    /// The list, if it is not empty, with each value once.
    fn filled(mut self) -> Result<List, String> {
        let mut seen = std::collections::HashSet::new();
        self.0.retain(|v| seen.insert(*v));
        match self.0.is_empty() {
            true => Err("the list is empty".into()),
            false => Ok(self),
        }
    }
}

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Values;
        impl<'de> Visitor<'de> for Values {
            type Value = List;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("integers and ranges, as in [1, 64] or \"1..9,50\"")
            }
            fn visit_i64<E: Error>(self, v: i64) -> Result<List, E> {
                Ok(List(vec![v]))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<List, E> {
                List::parse(text).map_err(E::custom)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<List, A::Error> {
                let mut out = List(Vec::new());
                while let Some(List(values)) = seq.next_element()? {
                    for value in values {
                        out.push(value).map_err(A::Error::custom)?;
                    }
                }
                out.filled().map_err(A::Error::custom)
            }
        }
        d.deserialize_any(Values)
    }
}

/// The lists of all names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lists(IndexMap<String, List>);

impl Lists {
    /// The lists of `--for NAME=LIST`.
    pub fn of_flags<'t>(flags: impl IntoIterator<Item = &'t str>) -> Result<Lists, String> {
        let mut out = IndexMap::new();
        for text in flags {
            let (name, list) = text
                .split_once('=')
                .ok_or_else(|| format!("--for `{text}` is not NAME=LIST, e.g. n=1..9,64"))?;
            let name = name.trim();
            let list = List::parse(list).map_err(|why| format!("--for `{text}`: {why}"))?;
            if out.insert(name.to_string(), list).is_some() {
                return Err(format!("--for is given twice for `{name}`"));
            }
        }
        Lists::new(out)
    }

    /// Lists by name.
    pub fn new(lists: IndexMap<String, List>) -> Result<Lists, String> {
        for name in lists.keys() {
            let is_word = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            if !is_word || !starts || name.len() > LONGEST {
                return Err(format!("`{name}` is no name for a size, as n is"));
            }
            if expr::function(name).is_some() {
                return Err(format!(
                    "`{name}` is a function of expressions, and no name for a size"
                ));
            }
        }
        Ok(Lists(lists))
    }

    /// These, and those of a lower layer whose names these lack.
    pub fn over(mut self, lower: &Lists) -> Lists {
        for (name, list) in &lower.0 {
            self.0.entry(name.clone()).or_insert_with(|| list.clone());
        }
        self
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// True without any list.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every combination, the first name slowest; one without names if there are no lists.
    pub fn combinations(&self) -> Result<Vec<Sizes>, String> {
        let counts = self.0.values().map(|l| l.0.len());
        let count = counts.fold(1usize, usize::saturating_mul);
        if count > MOST {
            return Err(format!(
                "{count} combinations are more than the {MOST} that one command can have"
            ));
        }
        let mut out = vec![Sizes::default()];
        for (name, List(values)) in &self.0 {
            out = out
                .iter()
                .flat_map(|sizes| {
                    values.iter().map(|&v| {
                        let mut more = sizes.clone();
                        more.0.insert(name.clone(), v);
                        more
                    })
                })
                .collect();
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        let values = |text| List::parse(text).map(|l| l.0);
        assert_eq!(values("1..4,50, 2,-1"), Ok(vec![1, 2, 3, 50, -1]));
        for bad in [
            "",
            "4..4",
            "a",
            "1,",
            "1...3",
            "1..99999999",
            "9223372036854775808",
        ] {
            assert!(values(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_combination_is_an_instance() {
        let lists = Lists::of_flags(["n=1,2", "m=3..5"]).expect("valid");
        let all = lists.combinations().expect("four");
        let shown: Vec<String> = all.iter().map(Sizes::to_string).collect();
        assert_eq!(
            shown,
            [
                "n = 1, m = 3",
                "n = 1, m = 4",
                "n = 2, m = 3",
                "n = 2, m = 4"
            ]
        );
        for bad in ["n", "1=2", "=2", "min=3", "a-b=1"] {
            assert!(Lists::of_flags([bad]).is_err(), "{bad}");
        }
        assert!(Lists::of_flags(["n=1", "n=2"]).is_err());
        let many = Lists::of_flags(["n=1..200", "m=1..200"]).expect("valid");
        assert!(many.combinations().is_err());
    }

    #[test]
    fn braces_are_replaced() {
        let sizes = Sizes(IndexMap::from([("n".to_string(), 200)]));
        let fill = |text| super::fill(text, &sizes).map(Cow::into_owned);
        assert_eq!(fill("in:f32[{n},{n*2}]").as_deref(), Ok("in:f32[200,400]"));
        assert_eq!(fill("{ceildiv(n,128)}").as_deref(), Ok("2"));
        assert_eq!(fill("plain").as_deref(), Ok("plain"));
        let e = fill("a{n+k}").expect_err("unknown");
        assert_eq!(e.at, 4..5);
        assert!(fill("a{n").is_err());
        assert!(fill("a{}").is_err());
    }
}
