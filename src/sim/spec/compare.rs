//! Comparisons of integers that the user assumes: `n <= 3*block.x`, `arg(2)*arg(3) < 2147483648`.
//!
//! An operand is a number, a parameter by name or as `arg(KEY)`, or a size of the launch (`block.x`, `grid.y`,
//! `cluster.x`; with `ref.` or `opt.` before it of one side). Where all are known, so is the answer. Where one side is a
//! parameter without a value alone, its range follows.

use std::fmt;

use super::Launch;
use super::binding::{Key, ParamKey};
use super::sizes::expr::{Expr, ExprStep};
use crate::term::ArrayId;

/// A comparison of two integer expressions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The expression to the left, over places of operands.
    left: Expr<usize>,
    relation: Relation,
    right: Expr<usize>,
    operands: Vec<Operand>,
    text: String,
}

/// How two integers compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}

/// The operators; those of two characters come before those that they begin with.
const RELATIONS: [(&str, Relation); 6] = [
    ("==", Relation::Eq),
    ("!=", Relation::Ne),
    ("<=", Relation::Le),
    (">=", Relation::Ge),
    ("<", Relation::Lt),
    (">", Relation::Gt),
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
pub(super) enum ParameterValue {
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

impl Operand {
    /// The size that a word names: `block.x`, `opt.grid.y`.
    pub fn size(word: &str) -> Option<Operand> {
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
        Some(Operand::Size(side, what, at))
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Param(key) => write!(f, "{key}"),
            Operand::Size(side, what, axis) => {
                let side = side.map_or("", |i| ["ref.", "opt."][i.min(1)]);
                let what = match what {
                    Size::Block => "block",
                    Size::Grid => "grid",
                    Size::Cluster => "cluster",
                };
                write!(f, "{side}{what}.{}", ["x", "y", "z"][(*axis).min(2)])
            }
        }
    }
}

impl Comparison {
    /// Reads a comparison; `None` if there is no operator in the text.
    pub fn parse(text: &str) -> Result<Option<Comparison>, String> {
        let found = RELATIONS
            .iter()
            .filter_map(|&(s, op)| Some((text.find(s)?, s, op)));
        // The first operator, and of two that begin there the longer one.
        let Some((at, spelled, relation)) = found.min_by_key(|&(at, s, _)| (at, 2 - s.len()))
        else {
            return Ok(None);
        };
        let mut operands = Vec::new();
        let left = expression(&text[..at], &mut operands)?;
        let right = expression(&text[at + spelled.len()..], &mut operands)?;
        Ok(Some(Comparison {
            left,
            relation,
            right,
            operands,
            text: text.to_string(),
        }))
    }

    /// What it names.
    pub fn operands(&self) -> &[Operand] {
        &self.operands
    }

    /// Both sides, over places of [`Comparison::operands`], and how they compare.
    pub fn sides(&self) -> (&Expr<usize>, Relation, &Expr<usize>) {
        (&self.left, self.relation, &self.right)
    }

    /// Whether it holds where operands have these values.
    pub fn holds(&self, values: &[i64]) -> Result<bool, String> {
        let (a, b) = (side(&self.left, values)?, side(&self.right, values)?);
        Ok(self.relation.holds(a, b))
    }

    /// What it says of a parameter without a value; nothing if all is known and it holds.
    pub(super) fn settle(
        &self,
        launches: &[&Launch],
        value: impl Fn(usize, &Key) -> Option<ParameterValue>,
    ) -> Result<Option<Narrowed>, String> {
        let mut values = Vec::new();
        let mut open = None;
        for (i, o) in self.operands.iter().enumerate() {
            let known = match o {
                Operand::Size(side, what, at) => {
                    ParameterValue::Number(size(launches, *side, *what, *at)?)
                }
                Operand::Param(key) => (0..launches.len())
                    .find_map(|side| value(side, key))
                    .ok_or_else(|| format!("`{key}` is no integer parameter"))?,
            };
            values.push(match known {
                ParameterValue::Number(v) => v,
                ParameterValue::Symbol(array) => {
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
        let is_it = |e: &Expr<usize>| e.steps().eq([&ExprStep::Named(i)]);
        let uses = |e: &Expr<usize>| e.steps().any(|s| *s == ExprStep::Named(i));
        let (op, other) = match (is_it(&self.left), is_it(&self.right)) {
            (true, false) if !uses(&self.right) => (self.relation, &self.right),
            (false, true) if !uses(&self.left) => (self.relation.turned(), &self.left),
            _ => return Err(NOT_BUILT.into()),
        };
        let k = i128::from(side(other, &values)?);
        let all = (i128::from(i64::MIN), i128::from(i64::MAX));
        let (lo, hi) = match op {
            Relation::Eq => (k, k),
            Relation::Lt => (all.0, k - 1),
            Relation::Le => (all.0, k),
            Relation::Gt => (k + 1, all.1),
            Relation::Ge => (k, all.1),
            Relation::Ne => return Err(NOT_BUILT.into()),
        };
        Ok(Some((array, lo, hi)))
    }
}

const NOT_BUILT: &str = "of a parameter without a value, only bounds are built, such as `n <= 3*block.x`: bind it with --arg";

fn side(side: &Expr<usize>, values: &[i64]) -> Result<i64, String> {
    let value = side.value(|&i| values[i]);
    value.map_err(|e| e.message)
}

impl Relation {
    /// Whether it holds of two integers.
    pub fn holds<N: Ord>(self, a: N, b: N) -> bool {
        match self {
            Relation::Eq => a == b,
            Relation::Ne => a != b,
            Relation::Lt => a < b,
            Relation::Le => a <= b,
            Relation::Gt => a > b,
            Relation::Ge => a >= b,
        }
    }

    /// The operator of the sides in the other order.
    fn turned(self) -> Relation {
        match self {
            Relation::Eq => Relation::Eq,
            Relation::Ne => Relation::Ne,
            Relation::Lt => Relation::Gt,
            Relation::Le => Relation::Ge,
            Relation::Gt => Relation::Lt,
            Relation::Ge => Relation::Le,
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

/// An expression, whose operands enter the list.
fn expression(text: &str, operands: &mut Vec<Operand>) -> Result<Expr<usize>, String> {
    let in_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
    let named = |word: &str| {
        operands.push(match word.strip_prefix("arg") {
            Some(key) if key.trim_start().starts_with('(') => {
                let key = key.trim_start().strip_prefix('(');
                let key = key.and_then(|k| k.strip_suffix(')'));
                let key = key.ok_or("`arg` needs the position of a parameter: `arg(2)`")?;
                Operand::Param(Key::parse(key.trim())?)
            }
            _ => Operand::size(word).unwrap_or_else(|| {
                Operand::Param(Key {
                    param: ParamKey::Name(word.to_string()),
                    offset: None,
                })
            }),
        });
        Ok(operands.len() - 1)
    };
    Expr::parse(text, &in_word, named).map_err(|e| e.message)
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
        assert!(Comparison::parse("n =< 3").is_err());
    }

    #[test]
    fn a_bound_narrows_what_has_no_value() {
        let c = Comparison::parse("4*2 > n").expect("read").expect("read");
        let found = c.settle(&[], |_, _| None);
        assert!(found.is_err());
        assert_eq!(c.relation.turned(), Relation::Lt);
    }
}
