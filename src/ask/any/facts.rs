//! Facts about sizes (`--assume`): comparisons of integer expressions, ranges and powers of two.
//!
//! A fact is a statement about whole numbers, not about machine words: `n + grid.x*block.x < 2147483648` says that the
//! sum does not wrap. It restricts the launches that an answer speaks of: a launch that breaks it is never tried, and a
//! proof may use it. A parameter counts as the kernel takes it: without a sign where each operation that depends on it
//! does, else with one. What PTX declares does not tell, since compilers declare `int` as `.u32`.

use crate::kernel::{Kernel, ParamKind};
use crate::spec::SpecError;
use crate::spec::binding::Key;

/// Operators and parentheses of one fact.
const MAX_TOKENS: usize = 200;

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arith {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
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
        let mut found = params.filter(|(i, p)| key.names(*i as u32, &p.name));
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
                None => match component(key.trim()) {
                    Some(size) => size,
                    None => return Ok(None),
                },
            };
            return fact(Vec::new(), Claim::PowerOfTwo(size));
        }
        let Some((relation, at, len)) = relation(text) else {
            return Ok(None);
        };
        let mut steps = Vec::new();
        let mut side = |part: &str| {
            Reader::new(part, names)
                .and_then(|r| r.read(&mut steps))
                .map_err(bad)
        };
        let a = side(&text[..at])?;
        let b = side(&text[at + len..])?;
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
            Claim::Compare(r, a, b) => {
                let (a, b) = (known[a], known[b]);
                match r {
                    Relation::Eq => a == b,
                    Relation::Ne => a != b,
                    Relation::Lt => a < b,
                    Relation::Le => a <= b,
                    Relation::Gt => a > b,
                    Relation::Ge => a >= b,
                }
            }
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

/// The comparison of a text: its place and length.
fn relation(text: &str) -> Option<(Relation, usize, usize)> {
    let two = [
        ("==", Relation::Eq),
        ("!=", Relation::Ne),
        ("<=", Relation::Le),
        (">=", Relation::Ge),
    ];
    for (word, r) in two {
        if let Some(at) = text.find(word) {
            return Some((r, at, 2));
        }
    }
    let one = [('<', Relation::Lt), ('>', Relation::Gt)];
    one.iter()
        .find_map(|(c, r)| text.find(*c).map(|at| (*r, at, 1)))
}

/// `block.x`, `grid.y`, as a size.
fn component(word: &str) -> Option<Size> {
    let (what, axis) = word.split_once('.')?;
    let axis = ["x", "y", "z"].iter().position(|a| *a == axis)? as u8;
    match what {
        "block" => Some(Size::Block(axis)),
        "grid" => Some(Size::Grid(axis)),
        _ => None,
    }
}

/// An operator or parenthesis that waits for its right side.
#[derive(Clone, Copy, PartialEq)]
enum Waiting {
    Open,
    Op(Arith),
}

struct Reader<'a> {
    tokens: Vec<String>,
    names: &'a Names<'a>,
}

impl<'a> Reader<'a> {
    fn new(text: &str, names: &'a Names<'a>) -> Result<Reader<'a>, String> {
        let mut tokens: Vec<String> = Vec::new();
        let mut word = String::new();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            // `arg(2+8)` is one word.
            if c == '(' && word == "arg" {
                word.push(c);
                for d in chars.by_ref() {
                    word.push(d);
                    if d == ')' {
                        break;
                    }
                }
                continue;
            }
            if c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '%') && c != '%' {
                word.push(c);
                continue;
            }
            if !word.is_empty() {
                tokens.push(std::mem::take(&mut word));
            }
            if !c.is_whitespace() {
                tokens.push(c.to_string());
            }
        }
        if !word.is_empty() {
            tokens.push(word);
        }
        match tokens.len() {
            0 => Err("an expression is missing".into()),
            n if n > MAX_TOKENS => Err("it is too long".into()),
            _ => Ok(Reader { tokens, names }),
        }
    }

    /// Precedence climbing with a stack of operators; the result is the index of the last step.
    fn read(self, steps: &mut Vec<Step>) -> Result<usize, String> {
        let (mut values, mut waiting): (Vec<usize>, Vec<Waiting>) = (Vec::new(), Vec::new());
        let rank = |op: Arith| match op {
            Arith::Add | Arith::Sub => 1,
            Arith::Mul | Arith::Div | Arith::Rem => 2,
        };
        let mut operand = true;
        let missing = || "an operand is missing".to_string();
        for token in &self.tokens {
            let op = match token.as_str() {
                "+" => Some(Arith::Add),
                "-" => Some(Arith::Sub),
                "*" => Some(Arith::Mul),
                "/" => Some(Arith::Div),
                "%" => Some(Arith::Rem),
                _ => None,
            };
            match (token.as_str(), op, operand) {
                ("(", _, true) => waiting.push(Waiting::Open),
                (")", _, false) => {
                    loop {
                        match waiting.pop() {
                            Some(Waiting::Open) => break,
                            Some(Waiting::Op(op)) => {
                                apply(op, &mut values, steps).ok_or_else(missing)?
                            }
                            None => return Err("a parenthesis is not opened".into()),
                        }
                    }
                    operand = false;
                }
                (_, Some(Arith::Sub), true) => {
                    values.push(steps.len());
                    steps.push(Step::Number(0));
                    waiting.push(Waiting::Op(Arith::Sub));
                }
                (_, Some(op), false) => {
                    while let Some(&Waiting::Op(above)) = waiting.last() {
                        if rank(above) < rank(op) {
                            break;
                        }
                        waiting.pop();
                        apply(above, &mut values, steps).ok_or_else(missing)?;
                    }
                    waiting.push(Waiting::Op(op));
                    operand = true;
                }
                (word, None, true) => {
                    let step = self.word(word)?;
                    values.push(steps.len());
                    steps.push(step);
                    operand = false;
                }
                (word, _, _) => return Err(format!("`{word}` does not fit here")),
            }
        }
        while let Some(w) = waiting.pop() {
            match w {
                Waiting::Op(op) => apply(op, &mut values, steps).ok_or_else(missing)?,
                Waiting::Open => return Err("a parenthesis is not closed".into()),
            }
        }
        match values[..] {
            [one] => Ok(one),
            _ => Err(missing()),
        }
    }

    fn word(&self, word: &str) -> Result<Step, String> {
        if let Ok(n) = word.parse::<i64>() {
            return Ok(Step::Number(i128::from(n)));
        }
        if let Some(size) = component(word) {
            return Ok(Step::Size(size));
        }
        let at = match word.strip_prefix("arg(").and_then(|w| w.strip_suffix(')')) {
            Some(key) => {
                let key = Key::parse(key.trim())?;
                self.names.offset(&key)
            }
            None => self.names.named(word),
        };
        match at {
            Some(at) => Ok(Step::Size(Size::Param(at))),
            None => Err(format!(
                "`{word}` is no number, no parameter, and none of block.x, grid.x"
            )),
        }
    }
}

fn apply(op: Arith, values: &mut Vec<usize>, steps: &mut Vec<Step>) -> Option<()> {
    let (b, a) = (values.pop()?, values.pop()?);
    values.push(steps.len());
    steps.push(Step::Binary(op, a, b));
    Some(())
}
