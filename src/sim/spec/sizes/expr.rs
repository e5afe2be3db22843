//! Integer expressions: integers, names, `+ - * / %`, parentheses, `ceildiv min max`.
//!
//! One reader for all that users write of integers, `--for` and `--assume` alike; it leaves to its caller what words name.
//! Arithmetic is that of the integers; `/` and `%` round down, as in formulas, and a result that 64 bits cannot hold is
//! an error. Operators wait on a stack (Dijkstra's shunting yard) and values are computed on another, so that nesting costs
//! no stack of the machine.

use std::ops::Range;

use indexmap::IndexMap;

use super::ExprError;

/// Most characters of an expression.
const LONGEST: usize = 1000;

/// An operator between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arith {
    /// The sum.
    Add,
    /// The difference.
    Sub,
    /// The product.
    Mul,
    /// The quotient, rounded down.
    Div,
    /// What that leaves.
    Rem,
}

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// The quotient of two values, rounded up.
    CeilDiv,
    /// The least of two or more values.
    Min,
    /// The largest of two or more values.
    Max,
}

/// A step of an expression, over a stack of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExprStep<T> {
    /// An integer.
    Number(i64),
    /// What a word names.
    Named(T),
    /// The last value negated.
    Negate,
    /// An operator of the last two values.
    Binary(Arith),
    /// A function of this many values.
    Call(Function, usize),
}

/// An expression: its steps in the order in which they are made, each with its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expr<T> {
    steps: Vec<(ExprStep<T>, Range<usize>)>,
    len: usize,
}

/// Words that are functions.
pub(super) fn function(word: &str) -> Option<Function> {
    Some(match word {
        "ceildiv" => Function::CeilDiv,
        "min" => Function::Min,
        "max" => Function::Max,
        _ => return None,
    })
}

/// What waits for the values to its right.
#[derive(Clone, Copy, Debug)]
enum Waiting {
    Negate,
    Op(Arith),
    /// A parenthesis, or a function with as many arguments as there are so far.
    Open(Option<(Function, usize)>),
}

impl Waiting {
    /// How tightly it binds.
    fn rank(self) -> u8 {
        match self {
            Waiting::Open(_) => 0,
            Waiting::Op(Arith::Add | Arith::Sub) => 1,
            Waiting::Op(Arith::Mul | Arith::Div | Arith::Rem) => 2,
            Waiting::Negate => 3,
        }
    }
}

struct Reader<T> {
    steps: Vec<(ExprStep<T>, Range<usize>)>,
    waiting: Vec<(Waiting, Range<usize>)>,
}

fn error<R>(message: impl Into<String>, at: Range<usize>) -> Result<R, ExprError> {
    let message = message.into();
    Err(ExprError { message, at })
}

/// The value of an expression of `--for`.
pub(super) fn value(text: &str, names: &IndexMap<String, i64>) -> Result<i64, ExprError> {
    let named = |word: &str| {
        names.get(word).copied().ok_or_else(|| {
            let known: Vec<&str> = names.keys().map(String::as_str).collect();
            format!(
                "`{word}` is no name of --for, which gives {}",
                known.join(", ")
            )
        })
    };
    Expr::parse(text, &|c| c.is_ascii_alphanumeric() || c == '_', named)?.value(|&v| v)
}

impl<T> Expr<T> {
    /// Reads an expression whose words are of some characters beside letters and digits; `named` says what a word is, `arg(..)`
    /// being one where words may have dots.
    pub fn parse(
        text: &str,
        in_word: &dyn Fn(char) -> bool,
        mut named: impl FnMut(&str) -> Result<T, String>,
    ) -> Result<Expr<T>, ExprError> {
        if text.len() > LONGEST {
            return error("the expression is too long", 0..text.len());
        }
        let (steps, waiting) = (Vec::new(), Vec::new());
        let mut r = Reader { steps, waiting };
        // Whether a value must come next, rather than an operator.
        let mut wants_value = true;
        let mut at = 0;
        while let Some((token, here)) = token(text, at, in_word)? {
            at = here.end;
            let is_word = token.starts_with(in_word);
            match (token, wants_value) {
                ("(", true) => r.waiting.push((Waiting::Open(None), here)),
                ("-", true) => r.waiting.push((Waiting::Negate, here)),
                (")", false) => r.close(here)?,
                (",", false) => {
                    r.reduce(1);
                    match r.waiting.last_mut() {
                        Some((Waiting::Open(Some((_, arguments))), _)) => *arguments += 1,
                        _ => {
                            return error(
                                "a comma stands between the arguments of a function",
                                here,
                            );
                        }
                    }
                    wants_value = true;
                }
                (word, true) if is_word => match function(word) {
                    Some(f) => {
                        let Some(("(", open)) = self::token(text, at, in_word)? else {
                            return error(format!("`{word}` needs its arguments"), here);
                        };
                        at = open.end;
                        r.waiting.push((Waiting::Open(Some((f, 1))), here));
                    }
                    None => {
                        let step = match word.starts_with(|c: char| c.is_ascii_digit()) {
                            true => word
                                .parse()
                                .map(ExprStep::Number)
                                .map_err(|_| format!("`{word}` is no integer")),
                            false => named(word).map(ExprStep::Named),
                        };
                        let step = step.or_else(|why| error(why, here.clone()))?;
                        r.steps.push((step, here));
                        wants_value = false;
                    }
                },
                (op, false) => {
                    let Some(op) = operator(op) else {
                        return error("an operator is missing", here);
                    };
                    r.reduce(Waiting::Op(op).rank());
                    r.waiting.push((Waiting::Op(op), here));
                    wants_value = true;
                }
                (_, true) => return error("a value is missing", here),
            }
        }
        if wants_value {
            return error("a value is missing", text.len()..text.len());
        }
        r.reduce(1);
        match r.waiting.pop() {
            Some((_, open)) => error("a parenthesis is not closed", open),
            None => Ok(Expr {
                steps: r.steps,
                len: text.len(),
            }),
        }
    }

    /// Its steps.
    pub fn steps(&self) -> impl Iterator<Item = &ExprStep<T>> {
        self.steps.iter().map(|(step, _)| step)
    }

    /// Its value, with those of what it names.
    pub fn value(&self, named: impl Fn(&T) -> i64) -> Result<i64, ExprError> {
        let mut values: Vec<i128> = Vec::new();
        for (step, at) in &self.steps {
            let (result, by_zero) = match step {
                ExprStep::Number(n) => (Some(i128::from(*n)), false),
                ExprStep::Named(t) => (Some(i128::from(named(t))), false),
                ExprStep::Negate => (values.pop().and_then(i128::checked_neg), false),
                ExprStep::Binary(op) => {
                    let (b, a) = (values.pop().unwrap_or(0), values.pop().unwrap_or(0));
                    let is_quotient = matches!(op, Arith::Div | Arith::Rem);
                    (applied(*op, a, b), is_quotient && b == 0)
                }
                ExprStep::Call(f, n) => {
                    let of = values.split_off(values.len().saturating_sub(*n));
                    match (f, &of[..]) {
                        (Function::CeilDiv, &[a, b]) => {
                            let quotient = applied(Arith::Div, -a, b);
                            (quotient.and_then(i128::checked_neg), b == 0)
                        }
                        (Function::CeilDiv, _) => (None, false),
                        (Function::Min, all) => (all.iter().copied().min(), false),
                        (Function::Max, all) => (all.iter().copied().max(), false),
                    }
                }
            };
            match (by_zero, result) {
                (true, _) => return error("division by 0", at.clone()),
                (false, Some(v)) if i64::try_from(v).is_ok() => values.push(v),
                (false, _) => return error("the value is too large", at.clone()),
            }
        }
        let value = values.pop().and_then(|v| i64::try_from(v).ok());
        value.map_or_else(|| error("the value is too large", 0..self.len), Ok)
    }
}

fn operator(token: &str) -> Option<Arith> {
    Some(match token {
        "+" => Arith::Add,
        "-" => Arith::Sub,
        "*" => Arith::Mul,
        "/" => Arith::Div,
        "%" => Arith::Rem,
        _ => return None,
    })
}

/// The result of an operator, if it has one.
fn applied(op: Arith, a: i128, b: i128) -> Option<i128> {
    let quotient = || {
        let q = a.checked_div(b)?;
        Some(q - i128::from(a % b != 0 && (a < 0) != (b < 0)))
    };
    match op {
        Arith::Add => a.checked_add(b),
        Arith::Sub => a.checked_sub(b),
        Arith::Mul => a.checked_mul(b),
        Arith::Div => quotient(),
        Arith::Rem => quotient().map(|q| a - q * b),
    }
}

/// The next token from a byte on, with its place.
fn token<'t>(
    text: &'t str,
    from: usize,
    in_word: &dyn Fn(char) -> bool,
) -> Result<Option<(&'t str, Range<usize>)>, ExprError> {
    let rest = text[from..].trim_start();
    let start = text.len() - rest.len();
    let Some(first) = rest.chars().next() else {
        return Ok(None);
    };
    let len = match first {
        c if in_word(c) => {
            let len = rest.find(|c| !in_word(c)).unwrap_or(rest.len());
            let key = rest[len..].trim_start();
            match rest[..len] == *"arg" && in_word('.') && key.starts_with('(') {
                true => rest.find(')').map_or(rest.len(), |end| end + 1),
                false => len,
            }
        }
        '+' | '-' | '*' | '/' | '%' | '(' | ')' | ',' => 1,
        other => {
            let at = start..start + other.len_utf8();
            return error(format!("`{other}` is no part of an expression"), at);
        }
    };
    Ok(Some((&rest[..len], start..start + len)))
}

impl<T> Reader<T> {
    /// Applies the operators that bind at least as tightly, back to the last parenthesis.
    fn reduce(&mut self, rank: u8) {
        while let Some((op, at)) = self.waiting.pop_if(|(w, _)| w.rank() >= rank) {
            let step = match op {
                Waiting::Negate => ExprStep::Negate,
                Waiting::Op(op) => ExprStep::Binary(op),
                Waiting::Open(_) => return,
            };
            self.steps.push((step, at));
        }
    }

    /// A closing parenthesis: the value in it, or of its function.
    fn close(&mut self, at: Range<usize>) -> Result<(), ExprError> {
        self.reduce(1);
        match self.waiting.pop() {
            Some((Waiting::Open(None), _)) => Ok(()),
            Some((Waiting::Open(Some((f, n))), here)) => match (f, n) {
                (Function::CeilDiv, 2) | (Function::Min | Function::Max, 2..) => {
                    self.steps.push((ExprStep::Call(f, n), here));
                    Ok(())
                }
                (Function::CeilDiv, _) => error("`ceildiv` takes two arguments", here),
                (Function::Min, _) => error("`min` takes two or more arguments", here),
                (Function::Max, _) => error("`max` takes two or more arguments", here),
            },
            _ => error("a parenthesis was not opened", at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(text: &str) -> Option<i64> {
        let names = IndexMap::from([("n".to_string(), 7), ("m_2".to_string(), -3)]);
        value(text, &names).ok()
    }

    #[test]
    fn values() {
        for (text, expected) in [
            ("n", 7),
            (" 1 + 2*3 ", 7),
            ("(1+2)*3", 9),
            ("10-3-2", 5),
            ("7/2", 3),
            ("-7/2", -4),
            ("-7%2", 1),
            ("7%-2", -1),
            ("--n", 7),
            ("2*-n", -14),
            ("-n*2+1", -13),
            ("ceildiv(n,2)", 4),
            ("ceildiv(-7, 2)", -3),
            ("min(n,2,9)", 2),
            ("max(m_2, min(n, 1+1)) * 2", 4),
            ("max((n),(8))", 8),
        ] {
            assert_eq!(eval(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_has_no_value() {
        for bad in [
            "",
            "k",
            "1+",
            "*2",
            "(1",
            "1)",
            "1 2",
            "n(2)",
            "min",
            "min(1)",
            "min()",
            "ceildiv(1,2,3)",
            "1,2",
            "(1,2)",
            "1/0",
            "n%0",
            "ceildiv(1,0)",
            "9223372036854775807+1",
            "0x10",
            "1.5",
            "2^3",
            "min(1,)",
            "()",
            "n!",
            "9223372036854775808",
            "é",
            "min 1",
            "min)",
        ] {
            assert_eq!(eval(bad), None, "{bad}");
        }
        assert_eq!(eval(&"(".repeat(999)), None);
        assert_eq!(
            eval(&format!("{}1{}", "(".repeat(400), ")".repeat(400))),
            Some(1)
        );
    }
}
