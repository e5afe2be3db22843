//! Facts about sizes (`--assume`): comparisons of integer expressions, ranges and powers of two.
//!
//! A fact is a statement about whole numbers, not about machine words: `n + grid.x*block.x < 2147483648` says that the
//! sum does not wrap. It restricts the launches that an answer speaks of: a launch that breaks it is never tried, and a
//! proof may use it. A parameter counts as the kernel takes it: without a sign where each operation that depends on it
//! does, else with one. What PTX declares does not tell, since compilers declare `int` as `.u32`.

use crate::kernel::{Kernel, ParamKind};
use crate::spec::SpecError;
use crate::spec::binding::{Key, ParamKey};
use crate::spec::compare::{self, Comparison, Operand, Relation};
use crate::spec::sizes::expr::{self, Arith, Expr};

/// A size that a launch chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Size {
    /// `%ntid`, by component.
    Block(u8),
    /// `%nctaid`, by component.
    Grid(u8),
    /// The integer at this byte offset of the parameter space.
    Param(u32),
}

/// An integer expression; operands come before what uses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Number(i128),
    Size(Size),
    Binary(Arith, usize, usize),
}

/// What is said of sizes.
#[derive(Clone, Debug)]
pub(super) enum Claim {
    /// Two expressions compare so.
    Compare(Relation, usize, usize),
    /// The size is a power of two.
    PowerOfTwo(Size),
}

/// A fact about sizes.
#[derive(Clone, Debug)]
pub(super) struct SizeFact {
    /// As it was written.
    pub text: String,
    pub steps: Vec<Step>,
    pub claim: Claim,
}

/// The names that a fact may use.
pub(super) struct Names<'a> {
    pub kernel: &'a Kernel,
    /// Names that the user gave.
    pub given: &'a [(Key, String)],
}

impl Names<'_> {
    /// The offset in the parameter space that a key names, if it is a number's.
    fn offset(&self, key: &Key) -> Option<u32> {
        let params = self.kernel.params.iter().enumerate();
        let mut found = params.filter(|(i, p)| key.names(*i as u32, &[&p.name, &p.symbol]));
        let (_, param) = found.next()?;
        Some(param.offset + key.offset.unwrap_or(0))
    }

    fn named(&self, name: &str) -> Option<u32> {
        let given = self.given.iter().find(|(_, n)| n == name);
        match given {
            Some((key, _)) => self.offset(key),
            None => self.offset(&Key::parse(name).ok()?),
        }
    }

    /// What an operand of a comparison names.
    fn size(&self, operand: &Operand) -> Result<Size, String> {
        let at = match operand {
            Operand::Size(None, compare::Size::Block, axis) => return Ok(Size::Block(*axis as u8)),
            Operand::Size(None, compare::Size::Grid, axis) => return Ok(Size::Grid(*axis as u8)),
            Operand::Size(..) => None,
            Operand::Param(
                key @ Key {
                    param: ParamKey::Name(name),
                    offset: None,
                },
            ) => self.named(name).or_else(|| self.offset(key)),
            Operand::Param(key) => self.offset(key),
        };
        at.map(Size::Param).ok_or_else(|| {
            format!("`{operand}` is no number, no parameter, and none of block.x, grid.x")
        })
    }

    /// A scalar that a fact of the form `KEY in A..B` may be about.
    fn scalar(&self, text: &str) -> Option<u32> {
        let key = Key::parse(text).ok()?;
        let at = self.offset(&key).or_else(|| self.named(text))?;
        let param = self.kernel.params.iter().find(|p| {
            let int = matches!(p.kind, ParamKind::Int { pointer: false, .. });
            p.offset == at && int && p.bytes <= 4
        });
        param.map(|p| p.offset)
    }
}

impl SizeFact {
    /// Reads a fact about sizes; `None` for one about the data.
    pub(super) fn parse(text: &str, names: &Names) -> Result<Option<SizeFact>, SpecError> {
        let bad = |why: String| SpecError::BadFact {
            text: text.to_string(),
            why,
        };
        let fact = |steps, claim| {
            Ok(Some(SizeFact {
                text: text.trim().to_string(),
                steps,
                claim,
            }))
        };
        if let Some((key, range)) = text.split_once(" in ") {
            let Some(at) = names.scalar(key.trim()) else {
                return Ok(None);
            };
            let ends = range.split_once("..").and_then(|(a, b)| {
                Some((a.trim().parse::<i64>().ok()?, b.trim().parse::<i64>().ok()?))
            });
            let Some((a, b)) = ends.filter(|(a, b)| a < b) else {
                return Err(bad("a range is `A..B`, its end excluded".into()));
            };
            // A <= x and x < B as one comparison of distances: (x - A) * (B - 1 - x) >= 0.
            let steps = vec![
                Step::Size(Size::Param(at)),
                Step::Number(i128::from(a)),
                Step::Number(i128::from(b) - 1),
                Step::Binary(Arith::Sub, 0, 1),
                Step::Binary(Arith::Sub, 2, 0),
                Step::Binary(Arith::Mul, 3, 4),
                Step::Number(0),
            ];
            return fact(steps, Claim::Compare(Relation::Ge, 5, 6));
        }
        if let Some(key) = text.trim().strip_suffix(" pow2") {
            let size = match names.scalar(key.trim()) {
                Some(at) => Size::Param(at),
                None => match Operand::size(key.trim()).map(|o| names.size(&o)) {
                    Some(Ok(size)) => size,
                    _ => return Ok(None),
                },
            };
            return fact(Vec::new(), Claim::PowerOfTwo(size));
        }
        let Some(comparison) = Comparison::parse(text).map_err(bad)? else {
            return Ok(None);
        };
        let operands = comparison.operands().iter();
        let operands: Result<Vec<Size>, String> = operands.map(|o| names.size(o)).collect();
        let (mut steps, operands) = (Vec::new(), operands.map_err(bad)?);
        let (left, relation, right) = comparison.sides();
        let a = written(left, &operands, &mut steps).map_err(bad)?;
        let b = written(right, &operands, &mut steps).map_err(bad)?;
        fact(steps, Claim::Compare(relation, a, b))
    }

    /// The two ends of a fact of the form `KEY in A..B`.
    pub(super) fn range(&self) -> Option<(Size, i128, i128)> {
        match (&self.steps[..], &self.claim) {
            (
                [
                    Step::Size(s),
                    Step::Number(a),
                    Step::Number(b),
                    Step::Binary(Arith::Sub, 0, 1),
                    Step::Binary(Arith::Sub, 2, 0),
                    Step::Binary(Arith::Mul, 3, 4),
                    Step::Number(0),
                ],
                Claim::Compare(Relation::Ge, 5, 6),
            ) => Some((*s, *a, *b)),
            _ => None,
        }
    }

    /// Whether a launch has the property; `None` where a size of it has no value or a division none.
    pub(super) fn holds(&self, value: &dyn Fn(Size) -> Option<i128>) -> Option<bool> {
        let mut known: Vec<i128> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let v = match *step {
                Step::Number(n) => n,
                Step::Size(s) => value(s)?,
                Step::Binary(op, a, b) => {
                    let (a, b) = (known[a], known[b]);
                    match op {
                        Arith::Add => a.checked_add(b)?,
                        Arith::Sub => a.checked_sub(b)?,
                        Arith::Mul => a.checked_mul(b)?,
                        Arith::Div if b > 0 => a.div_euclid(b),
                        Arith::Rem if b > 0 => a.rem_euclid(b),
                        Arith::Div | Arith::Rem => return None,
                    }
                }
            };
            known.push(v);
        }
        Some(match self.claim {
            Claim::Compare(r, a, b) => r.holds(known[a], known[b]),
            Claim::PowerOfTwo(s) => {
                let v = value(s)?;
                v > 0 && v & (v - 1) == 0
            }
        })
    }

    /// Sizes that it speaks of.
    pub(super) fn sizes(&self) -> impl Iterator<Item = Size> {
        let named = self.steps.iter().filter_map(|s| match s {
            Step::Size(s) => Some(*s),
            Step::Number(_) | Step::Binary(..) => None,
        });
        let alone = match self.claim {
            Claim::PowerOfTwo(s) => Some(s),
            Claim::Compare(..) => None,
        };
        named.chain(alone)
    }
}

/// The steps of an expression after those that there are; the place of its value.
fn written(of: &Expr<usize>, operands: &[Size], steps: &mut Vec<Step>) -> Result<usize, String> {
    let mut values: Vec<usize> = Vec::new();
    for step in of.steps() {
        let mut last = || values.pop().ok_or("an operand is missing");
        let step = match *step {
            expr::ExprStep::Number(n) => Step::Number(i128::from(n)),
            expr::ExprStep::Named(i) => Step::Size(operands[i]),
            expr::ExprStep::Negate => {
                let (value, zero) = (last()?, steps.len());
                steps.push(Step::Number(0));
                Step::Binary(Arith::Sub, zero, value)
            }
            expr::ExprStep::Binary(op) => {
                let (b, a) = (last()?, last()?);
                Step::Binary(op, a, b)
            }
            expr::ExprStep::Call(..) => {
                return Err(
                    "of sizes of every launch, `ceildiv`, `min` and `max` are not built".into(),
                );
            }
        };
        values.push(steps.len());
        steps.push(step);
    }
    Ok(values.pop().ok_or("an operand is missing")?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::diag::Source;
    use crate::kernel;

    /// A fact says of sizes of every launch what it says of those of one.
    #[test]
    fn facts_have_one_meaning() {
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f(.param .u32 n, .param .u32 m)\n{ ret; }\n";
        let source = Arc::new(Source::new("f.ptx", text).expect("short"));
        let module = volta_ptx::ptx::parse(&source).expect("a module");
        let entry = kernel::select_entry(&module, None).expect("an entry");
        let kernel = kernel::lower(&module, &source, entry)
            .expect("a kernel")
            .kernel;
        let names = Names {
            kernel: &kernel,
            given: &[],
        };
        for text in [
            "-n % 4 == 2",
            "n * -m % 5 >= 1",
            "n - -m * 3 < 40",
            "(n + 2) / 3 <= m",
            "arg(0) * arg(m) != 12",
            "- (n - m) > -2",
            "block.x * n / 7 == 18",
        ] {
            let fact = SizeFact::parse(text, &names)
                .expect(text)
                .expect("of sizes");
            let comparison = Comparison::parse(text).expect(text).expect("a comparison");
            for (n, m) in [(2, 6), (6, 2), (3, 4), (7, 1), (10, 30)] {
                let size = |size: Size| match size {
                    Size::Block(_) => 64,
                    Size::Grid(_) => 3,
                    Size::Param(0) => n,
                    Size::Param(_) => m,
                };
                let values = comparison
                    .operands()
                    .iter()
                    .map(|o| size(names.size(o).expect("a size")));
                let values: Vec<i64> = values.collect();
                let wide = |s| Some(i128::from(size(s)));
                assert_eq!(
                    fact.holds(&wide),
                    comparison.holds(&values).ok(),
                    "{text} {n} {m}"
                );
            }
        }
        assert!(SizeFact::parse("min(n, 2) < 3", &names).is_err());
    }
}
