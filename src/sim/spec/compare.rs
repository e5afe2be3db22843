//! Comparisons of integers that the user assumes: `n <= 3*block.x`, `arg(2)*arg(3) < 2147483648`.
//!
//! An operand is a number, a parameter by name or as `arg(KEY)`, or a size of the launch (`block.x`, `grid.y`,
//! `cluster.x`; with `ref.` or `opt.` before it of one side). Where all are known, so is the answer. Where one side is a
//! parameter without a value alone, its range follows.

use std::fmt;

use indexmap::IndexMap;

use super::Launch;
use super::binding::{Key, ParamKey};
use super::sizes;
use crate::term::ArrayId;

/// A comparison of two integer expressions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The expression to the left, in which operands stand as names `v0`, `v1` and so on.
    left: String,
    op: Op,
    right: String,
    /// What those names are.
    operands: Vec<Operand>,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// The operators; those of two characters come before those that they begin with.
const OPS: [(&str, Op); 6] = [
    ("==", Op::Eq),
    ("!=", Op::Ne),
    ("<=", Op::Le),
    (">=", Op::Ge),
    ("<", Op::Lt),
    (">", Op::Gt),
];

/// What an operand names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A parameter.
    Param(Key),
    /// A size: of which side, if not of both; of what; which component.
    Size(Option<usize>, Size, usize),
}

/// What has a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// `%ntid`.
    Block,
    /// `%nctaid`.
    Grid,
    /// `%cluster_nctaid`.
    Cluster,
}

/// What is known of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It is bound.
    Number(i64),
    /// It has no value, and is the element of this array.
    Symbol(ArrayId),
}

/// A parameter without a value, the least value that it may have, and the largest one.
pub(super) type Narrowed = (ArrayId, i128, i128);

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Comparison {
    /// Reads a comparison; `None` if there is no operator in the text.
    pub fn parse(text: &str) -> Result<Option<Comparison>, String> {
        let found = OPS
            .iter()
            .filter_map(|&(s, op)| Some((text.find(s)?, s, op)));
        // The first operator, and of two that begin there the longer one.
        let Some((at, spelled, op)) = found.min_by_key(|&(at, s, _)| (at, 2 - s.len())) else {
            return Ok(None);
        };
        let mut operands = Vec::new();
        let left = expression(&text[..at], &mut operands)?;
        let right = expression(&text[at + spelled.len()..], &mut operands)?;
        Ok(Some(Comparison {
            left,
            op,
            right,
            operands,
            text: text.to_string(),
        }))
    }

    /// What it names.
    pub fn operands(&self) -> &[Operand] {
        &self.operands
    }

    /// Whether it holds where operands have these values.
    pub fn holds(&self, values: &[i64]) -> Result<bool, String> {
        let (a, b) = (
            self.side(&self.left, values)?,
            self.side(&self.right, values)?,
        );
        Ok(match self.op {
            Op::Eq => a == b,
            Op::Ne => a != b,
            Op::Lt => a < b,
            Op::Le => a <= b,
            Op::Gt => a > b,
            Op::Ge => a >= b,
        })
    }

    fn side(&self, text: &str, values: &[i64]) -> Result<i64, String> {
        let names: IndexMap<String, i64> = values
            .iter()
            .enumerate()
            .map(|(i, &v)| (format!("v{i}"), v))
            .collect();
        sizes::integer(text, &names).map_err(|e| e.message)
    }

    /// What it says of a parameter without a value; nothing if all is known and it holds.
    pub(super) fn settle(
        &self,
        launches: &[&Launch],
        value: impl Fn(usize, &Key) -> Option<Known>,
    ) -> Result<Option<Narrowed>, String> {
        let mut values = Vec::new();
        let mut open = None;
        for (i, o) in self.operands.iter().enumerate() {
            let known = match o {
                Operand::Size(side, what, at) => Known::Number(size(launches, *side, *what, *at)?),
                Operand::Param(key) => (0..launches.len())
                    .find_map(|side| value(side, key))
                    .ok_or_else(|| format!("`{key}` is no integer parameter"))?,
            };
            values.push(match known {
                Known::Number(v) => v,
                Known::Symbol(array) => {
                    if open.replace((i, array)).is_some_and(|(_, a)| a != array) {
                        return Err(NOT_BUILT.into());
                    }
                    0
                }
            });
        }
        let Some((i, array)) = open else {
            return match self.holds(&values)? {
                true => Ok(None),
                false => Err("the bindings and the launch say otherwise".into()),
            };
        };
        let name = format!("v{i}");
        let is_it = |text: &str| text.trim() == name;
        let uses = |text: &str| {
            text.contains('v')
                && text
                    .split(|c: char| !c.is_alphanumeric())
                    .any(|w| w == name)
        };
        let (op, other) = match (is_it(&self.left), is_it(&self.right)) {
            (true, false) if !uses(&self.right) => (self.op, &self.right),
            (false, true) if !uses(&self.left) => (self.op.turned(), &self.left),
            _ => return Err(NOT_BUILT.into()),
        };
        let k = i128::from(self.side(other, &values)?);
        let all = (i128::from(i64::MIN), i128::from(i64::MAX));
        let (lo, hi) = match op {
            Op::Eq => (k, k),
            Op::Lt => (all.0, k - 1),
            Op::Le => (all.0, k),
            Op::Gt => (k + 1, all.1),
            Op::Ge => (k, all.1),
            Op::Ne => return Err(NOT_BUILT.into()),
        };
        Ok(Some((array, lo, hi)))
    }
}

const NOT_BUILT: &str = "of a parameter without a value, only bounds are built, such as `n <= 3*block.x`: bind it with --arg";

impl Op {
    /// The operator of the sides in the other order.
    fn turned(self) -> Op {
        match self {
            Op::Eq => Op::Eq,
            Op::Ne => Op::Ne,
            Op::Lt => Op::Gt,
            Op::Le => Op::Ge,
            Op::Gt => Op::Lt,
            Op::Ge => Op::Le,
        }
    }
}

/// A size of the launch.
fn size(launches: &[&Launch], side: Option<usize>, what: Size, at: usize) -> Result<i64, String> {
    let of = |l: &&Launch| match what {
        Size::Block => Some(l.block[at]),
        Size::Grid => Some(l.grid[at]),
        Size::Cluster => Some(l.cluster[at]),
    };
    let chosen: Vec<Option<u32>> = match side {
        Some(i) => launches.get(i).map(of).into_iter().collect(),
        None => launches.iter().map(of).collect(),
    };
    match chosen[..] {
        [Some(a)] => Ok(a.into()),
        [Some(a), Some(b)] if a == b => Ok(a.into()),
        [Some(_), Some(_)] => Err("this size differs: write `ref.` or `opt.` before it".into()),
        _ => Err("the launch has no such size".into()),
    }
}

/// An expression in which operands are replaced by names.
fn expression(text: &str, operands: &mut Vec<Operand>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let in_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | '%');
        let begins = c.is_ascii_alphabetic() || matches!(c, '_' | '$');
        if !begins {
            // Digits of a number are no beginning of a word.
            let len = match c.is_ascii_digit() {
                true => rest
                    .find(|c: char| !c.is_ascii_alphanumeric())
                    .unwrap_or(rest.len()),
                false => c.len_utf8(),
            };
            out.push_str(&rest[..len]);
            rest = &rest[len..];
            continue;
        }
        let len = rest.find(|c| !in_word(c) || c == '%').unwrap_or(rest.len());
        let (word, after) = rest.split_at(len);
        rest = after;
        if matches!(word, "ceildiv" | "min" | "max") {
            out.push_str(word);
            continue;
        }
        let operand = match word {
            "arg" => {
                let inner = after.trim_start().strip_prefix('(');
                let (key, after) = inner
                    .and_then(|t| t.split_once(')'))
                    .ok_or("`arg` needs the position of a parameter: `arg(2)`")?;
                rest = after;
                Operand::Param(Key::parse(key.trim())?)
            }
            _ => size_named(word).map_or_else(
                || {
                    Operand::Param(Key {
                        param: ParamKey::Name(word.to_string()),
                        offset: None,
                    })
                },
                |(side, what, at)| Operand::Size(side, what, at),
            ),
        };
        out.push_str(&format!("v{}", operands.len()));
        operands.push(operand);
    }
    Ok(out)
}

fn size_named(word: &str) -> Option<(Option<usize>, Size, usize)> {
    let (side, word) = match word.split_once('.') {
        Some(("ref", rest)) => (Some(0), rest),
        Some(("opt", rest)) => (Some(1), rest),
        _ => (None, word),
    };
    let (what, at) = word.split_once('.')?;
    let what = match what {
        "block" => Size::Block,
        "grid" => Size::Grid,
        "cluster" => Size::Cluster,
        _ => return None,
    };
    let at = ["x", "y", "z"].iter().position(|a| *a == at)?;
    Some((side, what, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_are_read() {
        for (text, values, holds) in [
            ("n <= 3*m", &[6, 2][..], true),
            ("n <= 3*m", &[7, 2], false),
            ("arg(2)*arg(3) < 2147483648", &[65536, 32767], true),
            ("block.x % 32 == 0", &[64], true),
            ("ref.block.x != opt.block.x", &[64, 64], false),
            ("arg(1+8) >= -4", &[-4], true),
            ("min(n, 4) > 3", &[9], true),
        ] {
            let c = Comparison::parse(text).expect(text).expect(text);
            assert_eq!(c.holds(values), Ok(holds), "{text}");
        }
        assert_eq!(Comparison::parse("0 distinct"), Ok(None));
        assert!(Comparison::parse("arg 2 < 3").is_err());
        let c = Comparison::parse("n =< 3")
            .expect("an operator")
            .expect("an operator");
        assert!(c.holds(&[1]).is_err());
    }

    #[test]
    fn a_bound_narrows_what_has_no_value() {
        let c = Comparison::parse("4*2 > n").expect("read").expect("read");
        let found = c.settle(&[], |_, _| None);
        assert!(found.is_err());
        assert_eq!(c.op.turned(), Op::Lt);
    }
}
