//! The value of an EXPR: integers, names, `+ - * / %`, parentheses, `ceildiv min max`.
//!
//! Arithmetic is that of the integers; `/` and `%` round down, as in formulas, and a result that 64 bits
//! cannot hold is an error. Operators and values stand on two stacks (Dijkstra's shunting yard), so that
//! nesting costs no stack of the machine.

use std::ops::Range;

use indexmap::IndexMap;

use super::ExprError;

/// Functions of expressions.
pub(super) const FUNCTIONS: [&str; 3] = ["ceildiv", "min", "max"];

/// Most characters of an expression.
const LONGEST: usize = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Negate,
}

impl Op {
    /// How tightly it binds.
    fn rank(self) -> u8 {
        match self {
            Op::Add | Op::Sub => 1,
            Op::Mul | Op::Div | Op::Rem => 2,
            Op::Negate => 3,
        }
    }
}

/// What waits for the values to its right.
#[derive(Clone, Copy, Debug)]
enum Waiting<'t> {
    Op(Op),
    /// A parenthesis, and the values before the arguments of its function.
    Open(Option<(&'t str, usize)>),
}

struct Machine<'t> {
    values: Vec<i128>,
    waiting: Vec<(Waiting<'t>, Range<usize>)>,
}

/// The value of an expression.
pub(in crate::spec) fn value(text: &str, names: &IndexMap<String, i64>) -> Result<i64, ExprError> {
    let error = |message: &str, at: Range<usize>| ExprError {
        message: message.to_string(),
        at,
    };
    if text.len() > LONGEST {
        return Err(error("the expression is too long", 0..text.len()));
    }
    let mut m = Machine {
        values: Vec::new(),
        waiting: Vec::new(),
    };
    // Whether a value must come next, rather than an operator.
    let mut wants_value = true;
    let mut at = 0;
    while let Some((token, here)) = token(text, at)? {
        at = here.end;
        let is_word = token.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        match (token, wants_value) {
            ("(", true) => m.waiting.push((Waiting::Open(None), here)),
            ("-", true) => m.waiting.push((Waiting::Op(Op::Negate), here)),
            (")", false) => m.close(here)?,
            (",", false) => {
                m.reduce(0)?;
                if !matches!(m.waiting.last(), Some((Waiting::Open(Some(_)), _))) {
                    return Err(error(
                        "a comma stands between the arguments of a function",
                        here,
                    ));
                }
                wants_value = true;
            }
            (word, true) if is_word => {
                if FUNCTIONS.contains(&word) {
                    let Some(("(", open)) = self::token(text, at)? else {
                        return Err(error(&format!("`{word}` needs its arguments"), here));
                    };
                    at = open.end;
                    let before = m.values.len();
                    m.waiting.push((Waiting::Open(Some((word, before))), here));
                } else {
                    m.values
                        .push(operand(word, names).map_err(|why| error(&why, here))?);
                    wants_value = false;
                }
            }
            (op, false) => {
                let op =
                    operator(op).ok_or_else(|| error("an operator is missing", here.clone()))?;
                m.reduce(op.rank())?;
                m.waiting.push((Waiting::Op(op), here));
                wants_value = true;
            }
            (_, true) => return Err(error("a value is missing", here)),
        }
    }
    if wants_value {
        return Err(error("a value is missing", text.len()..text.len()));
    }
    m.reduce(0)?;
    match (m.values.pop(), m.waiting.pop()) {
        (Some(v), None) => {
            i64::try_from(v).map_err(|_| error("the value is too large", 0..text.len()))
        }
        (_, open) => {
            let at = open.map_or(0..text.len(), |o| o.1);
            Err(error("a parenthesis is not closed", at))
        }
    }
}

fn operator(token: &str) -> Option<Op> {
    Some(match token {
        "+" => Op::Add,
        "-" => Op::Sub,
        "*" => Op::Mul,
        "/" => Op::Div,
        "%" => Op::Rem,
        _ => return None,
    })
}

fn operand(word: &str, names: &IndexMap<String, i64>) -> Result<i128, String> {
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        let number = word.parse::<i64>();
        return number
            .map(i128::from)
            .map_err(|_| format!("`{word}` is no integer"));
    }
    names.get(word).map(|&v| v.into()).ok_or_else(|| {
        let known: Vec<&str> = names.keys().map(String::as_str).collect();
        format!(
            "`{word}` is no name of --for, which gives {}",
            known.join(", ")
        )
    })
}

/// The next token from a byte on, with its place.
fn token(text: &str, from: usize) -> Result<Option<(&str, Range<usize>)>, ExprError> {
    let rest = text[from..].trim_start();
    let start = text.len() - rest.len();
    let Some(first) = rest.chars().next() else {
        return Ok(None);
    };
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let len = match first {
        c if in_word(c) => rest.find(|c| !in_word(c)).unwrap_or(rest.len()),
        '+' | '-' | '*' | '/' | '%' | '(' | ')' | ',' => 1,
        other => {
            return Err(ExprError {
                message: format!("`{other}` is no part of an expression"),
                at: start..start + other.len_utf8(),
            });
        }
    };
    Ok(Some((&rest[..len], start..start + len)))
}

impl Machine<'_> {
    /// Applies the operators that bind at least as tightly, back to the last parenthesis.
    fn reduce(&mut self, rank: u8) -> Result<(), ExprError> {
        while let Some((Waiting::Op(op), at)) = self.waiting.last().cloned() {
            if op.rank() < rank {
                break;
            }
            self.waiting.pop();
            let b = self.values.pop().unwrap_or_default();
            let result = match op {
                Op::Negate => b.checked_neg(),
                _ => {
                    let a = self.values.pop().unwrap_or_default();
                    match op {
                        Op::Add => a.checked_add(b),
                        Op::Sub => a.checked_sub(b),
                        Op::Mul => a.checked_mul(b),
                        Op::Div => floor_div(a, b),
                        Op::Rem => floor_div(a, b).map(|q| a - q * b),
                        Op::Negate => None,
                    }
                }
            };
            let zero = matches!(op, Op::Div | Op::Rem) && b == 0;
            self.values.push(small(result, zero, at)?);
        }
        Ok(())
    }

    /// A closing parenthesis: the value in it, or of its function.
    fn close(&mut self, at: Range<usize>) -> Result<(), ExprError> {
        self.reduce(0)?;
        let error = |message: String, at| Err(ExprError { message, at });
        match self.waiting.pop() {
            Some((Waiting::Open(None), _)) => Ok(()),
            Some((Waiting::Open(Some((name, before))), here)) => {
                let arguments = self.values.split_off(before.min(self.values.len()));
                let value = match (name, &arguments[..]) {
                    ("ceildiv", &[a, b]) => {
                        let quotient = a.checked_neg().and_then(|a| floor_div(a, b));
                        small(quotient.map(|q| -q), b == 0, here)?
                    }
                    ("min", all @ [_, _, ..]) => all.iter().copied().min().unwrap_or_default(),
                    ("max", all @ [_, _, ..]) => all.iter().copied().max().unwrap_or_default(),
                    ("ceildiv", _) => return error("`ceildiv` takes two arguments".into(), here),
                    _ => return error(format!("`{name}` takes two or more arguments"), here),
                };
                self.values.push(value);
                Ok(())
            }
            _ => error("a parenthesis was not opened".into(), at),
        }
    }
}

/// A result of 64 bits.
fn small(v: Option<i128>, zero: bool, at: Range<usize>) -> Result<i128, ExprError> {
    let message = match (zero, v) {
        (true, _) => "division by 0",
        (false, Some(v)) if i64::try_from(v).is_ok() => return Ok(v),
        (false, _) => "the value is too large",
    };
    Err(ExprError {
        message: message.into(),
        at,
    })
}

/// The quotient, rounded down.
fn floor_div(a: i128, b: i128) -> Option<i128> {
    let q = a.checked_div(b)?;
    Some(q - i128::from(a % b != 0 && (a < 0) != (b < 0)))
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
