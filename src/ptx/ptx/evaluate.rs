//! The values of constant expressions.
//!
//! Source: PTX ISA 9.0, section 4.5. `~` and `%` are unsigned; other operators are unsigned if an operand is, except that the
//! type of a shift is that of its left operand and that of `?:` its chosen operand's; comparisons and logical operators
//! give signed 0 or 1. Floats meet floats only, in arithmetic and comparisons.
//!
//! Not claimed: the value of an expression over symbols; those evaluate to [`EvalError`], and the
//! stage that lays out memory resolves `symbol + offset` itself.

use thiserror::Error;

use super::ast::Module;
use super::expr::{Binary, Expr, ExprKind, Float, Int, Unary};
use super::pool::Id;
use crate::diag::Span;

/// The value of a constant expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// An integer.
    Int(Int),
    /// A float in 64 bits.
    Float(f64),
}

/// Why an expression has no value of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EvalError {
    /// It holds an address.
    #[error("an address is not a constant number here")]
    Symbol {
        /// The symbol.
        span: Span,
    },
    /// An operator that takes integers only has a float operand, or an operator has one of each.
    #[error("this operator does not take a float here; give it integers, or two floats")]
    FloatOperand {
        /// The operator with its operands.
        span: Span,
    },
    /// Division or remainder by zero.
    #[error("division by zero in a constant expression")]
    DivisionByZero {
        /// The operator with its operands.
        span: Span,
    },
    /// `0f` and `0d` constants may not stand in expressions.
    #[error("an exact float constant cannot be an operand of an operator; write it as a decimal")]
    ExactFloat {
        /// The constant.
        span: Span,
    },
}

impl EvalError {
    /// The place.
    pub fn span(self) -> Span {
        match self {
            EvalError::Symbol { span }
            | EvalError::FloatOperand { span }
            | EvalError::DivisionByZero { span }
            | EvalError::ExactFloat { span } => span,
        }
    }
}

/// The value of `root`. Both sides of `?:`, `&&` and `||` are evaluated, as their errors are
/// errors of the text. The children of an expression stand before it, and it is evaluated in that order
/// on a stack of its own, so that a chain of a million operators is no deeper than any other.
pub fn evaluate(module: &Module, root: Id<Expr>) -> Result<Value, EvalError> {
    let mut todo = vec![(root, false)];
    let mut done: Vec<Value> = Vec::new();
    // Every operator finds its operands' values: they were pushed after it and so popped before.
    let pop = |done: &mut Vec<Value>| done.pop().unwrap_or(Value::Int(Int::signed(0)));
    while let Some((id, ready)) = todo.pop() {
        let Expr { kind, span } = module[id];
        if !ready {
            match kind {
                ExprKind::Int(int) => done.push(Value::Int(int)),
                ExprKind::Float(Float::F32(_) | Float::F64(_)) if id != root => {
                    return Err(EvalError::ExactFloat { span });
                }
                ExprKind::Float(float) => done.push(float_value(float)),
                ExprKind::WarpSize => done.push(Value::Int(Int::signed(32))),
                ExprKind::Symbol(_) | ExprKind::Generic(_) | ExprKind::Masked { .. } => {
                    return Err(EvalError::Symbol { span });
                }
                ExprKind::Unary(_, a) => todo.extend([(id, true), (a, false)]),
                ExprKind::Binary(_, a, b) => {
                    todo.extend([(id, true), (b, false), (a, false)]);
                }
                ExprKind::Conditional(a, b, c) => {
                    todo.extend([(id, true), (c, false), (b, false), (a, false)]);
                }
            }
            continue;
        }
        let value = match kind {
            ExprKind::Unary(op, _) => unary(op, pop(&mut done), span)?,
            ExprKind::Binary(op, ..) => {
                let b = pop(&mut done);
                let a = pop(&mut done);
                binary(op, a, b, span)?
            }
            _ => {
                let c = pop(&mut done);
                let b = pop(&mut done);
                let condition = pop(&mut done);
                match (truth(condition, span)?, b, c) {
                    (_, Value::Float(_), _) | (_, _, Value::Float(_)) => {
                        return Err(EvalError::FloatOperand { span });
                    }
                    (true, b, _) => b,
                    (false, _, c) => c,
                }
            }
        };
        done.push(value);
    }
    Ok(pop(&mut done))
}

fn float_value(float: Float) -> Value {
    Value::Float(match float {
        Float::Decimal(bits) | Float::F64(bits) => f64::from_bits(bits),
        Float::F32(bits) => f64::from(f32::from_bits(bits)),
    })
}

/// Conditions are integers.
fn truth(value: Value, span: Span) -> Result<bool, EvalError> {
    match value {
        Value::Int(int) => Ok(int.bits != 0),
        Value::Float(_) => Err(EvalError::FloatOperand { span }),
    }
}

fn flag(value: bool) -> Value {
    Value::Int(Int::signed(i64::from(value)))
}

fn unary(op: Unary, a: Value, span: Span) -> Result<Value, EvalError> {
    Ok(match (op, a) {
        (Unary::Plus, a) => a,
        (Unary::Minus, Value::Int(a)) => Value::Int(a.negated()),
        (Unary::Minus, Value::Float(a)) => Value::Float(-a),
        (Unary::Not, a) => flag(!truth(a, span)?),
        (Unary::Complement, Value::Int(a)) => Value::Int(Int::unsigned(!a.bits)),
        (Unary::CastS64, Value::Int(a)) => Value::Int(Int::signed(a.value())),
        (Unary::CastU64, Value::Int(a)) => Value::Int(Int::unsigned(a.bits)),
        (_, Value::Float(_)) => return Err(EvalError::FloatOperand { span }),
    })
}

fn binary(op: Binary, a: Value, b: Value, span: Span) -> Result<Value, EvalError> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => integers(op, a, b, span),
        (Value::Float(a), Value::Float(b)) => floats(op, a, b, span),
        _ => Err(EvalError::FloatOperand { span }),
    }
}

fn floats(op: Binary, a: f64, b: f64, span: Span) -> Result<Value, EvalError> {
    Ok(match op {
        Binary::Add => Value::Float(a + b),
        Binary::Sub => Value::Float(a - b),
        Binary::Mul => Value::Float(a * b),
        Binary::Div => Value::Float(a / b),
        Binary::Lt => flag(a < b),
        Binary::Gt => flag(a > b),
        Binary::Le => flag(a <= b),
        Binary::Ge => flag(a >= b),
        Binary::Eq => flag(a == b),
        Binary::Ne => flag(a != b),
        _ => return Err(EvalError::FloatOperand { span }),
    })
}

fn integers(op: Binary, a: Int, b: Int, span: Span) -> Result<Value, EvalError> {
    let unsigned = a.unsigned || b.unsigned;
    let result = |bits| Value::Int(Int { bits, unsigned });
    let ordered = |less: fn(std::cmp::Ordering) -> bool| {
        flag(less(if unsigned {
            a.bits.cmp(&b.bits)
        } else {
            a.value().cmp(&b.value())
        }))
    };
    Ok(match op {
        Binary::Add => result(a.bits.wrapping_add(b.bits)),
        Binary::Sub => result(a.bits.wrapping_sub(b.bits)),
        Binary::Mul => result(a.bits.wrapping_mul(b.bits)),
        Binary::And => result(a.bits & b.bits),
        Binary::Or => result(a.bits | b.bits),
        Binary::Xor => result(a.bits ^ b.bits),
        Binary::Div | Binary::Rem if b.bits == 0 => return Err(EvalError::DivisionByZero { span }),
        Binary::Div if unsigned => result(a.bits / b.bits),
        Binary::Div => result(a.value().wrapping_div(b.value()) as u64),
        Binary::Rem => Value::Int(Int::unsigned(a.bits % b.bits)),
        Binary::Shl | Binary::Shr => Value::Int(shift(op, a, b.bits)),
        Binary::Lt => ordered(|o| o.is_lt()),
        Binary::Gt => ordered(|o| o.is_gt()),
        Binary::Le => ordered(|o| o.is_le()),
        Binary::Ge => ordered(|o| o.is_ge()),
        Binary::Eq => ordered(|o| o.is_eq()),
        Binary::Ne => ordered(|o| o.is_ne()),
        Binary::LogicalAnd => flag(a.bits != 0 && b.bits != 0),
        Binary::LogicalOr => flag(a.bits != 0 || b.bits != 0),
    })
}

/// A shift keeps the type of its left operand; its amount counts modulo 64, as ptxas has it (the
/// manual does not say).
fn shift(op: Binary, a: Int, amount: u64) -> Int {
    let by = amount as u32 & 63;
    let bits = match (op, a.unsigned) {
        (Binary::Shl, _) => a.bits << by,
        (_, true) => a.bits >> by,
        (_, false) => (a.value() >> by) as u64,
    };
    Int { bits, ..a }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Source;
    use crate::ptx::{Init, parse};

    fn value(text: &str) -> Result<Value, EvalError> {
        let text = format!(".version 9.0\n.target sm_90\n.global .u64 x = {text};\n");
        let source = Source::new("expression", text).expect("short");
        let module = parse(&source).expect("grammatical");
        let decl = module.variables().next().expect("declared");
        let init = module[decl.declarators][0].init.expect("initialised");
        match module[init] {
            Init::Value(root) => evaluate(&module, root),
            _ => unreachable!("one value"),
        }
    }

    fn bits(text: &str) -> Option<u64> {
        match value(text) {
            Ok(Value::Int(int)) => Some(int.bits),
            _ => None,
        }
    }

    /// The bits that ptxas stores for the same initialisers.
    #[test]
    fn integers_as_ptxas_has_them() {
        let cases = [
            ("(-7) % 3", 0),
            ("-7 % -3", -7),
            ("-7/2", -3),
            ("(-7)/2U", 0x7fff_ffff_ffff_fffc),
            ("-8>>1", -4),
            ("(-8U)>>1", 0x7fff_ffff_ffff_fffc),
            ("1<<64", 1),
            ("1<<-1", i64::MIN),
            ("-1>>64", -1),
            ("(.u64)-1>>63", 1),
            ("(.s64)0xffffffffffffffff>>63", -1),
            ("0xffffffffffffffff>>63", 1),
            ("~0>>60", 15),
            ("~0-0>>63", 1),
            ("~0<0", 0),
            ("-1<0U", 0),
            ("-1<0", 1),
            ("!5", 0),
            ("1?-1:5U", -1),
            ("(1?-1:5U)>>63", -1),
            ("2+3*4", 14),
            ("10-4-3", 3),
            ("100/10/2", 5),
            ("1<<2+1", 8),
            ("6&3==3", 0),
            ("1|2^3&4", 3),
            ("1==1==1", 1),
            ("9223372036854775807+1", i64::MIN),
            ("(9223372036854775807+1)>>1", -0x4000_0000_0000_0000),
            ("0x8000000000000000>>1", 0x4000_0000_0000_0000),
            ("WARP_SZ-33", -1),
            ("-1*1U>>63", 1),
            ("(2U>1U)-2>>1", -1),
            ("(1U&&1U)-2>>1", -1),
            ("(!5U)-2>>1", -1),
            ("-(5U)>>63", 1),
            ("(-7) % 3-3>>63", 1),
            ("1 ? 2 : 0 ? 3 : 4", 2),
            ("1.0==1.0", 1),
        ];
        for (text, expected) in cases {
            assert_eq!(bits(text), Some(expected as u64), "{text}");
        }
    }

    #[test]
    fn floats_stay_among_themselves() {
        assert_eq!(value("1.0+2.5"), Ok(Value::Float(3.5)));
        assert_eq!(value("-3.0"), Ok(Value::Float(-3.0)));
        for bad in [
            "3>2.0",
            "1.5*2",
            "!1.5",
            "~1.5",
            "1.0?2:3",
            "1.0&&0.0",
            "1.0<<2",
            "(.u64)1.5",
        ] {
            assert!(
                matches!(value(bad), Err(EvalError::FloatOperand { .. })),
                "{bad}"
            );
        }
        assert!(matches!(
            value("1.0+0f3F800000"),
            Err(EvalError::ExactFloat { .. })
        ));
    }

    #[test]
    fn what_has_no_value() {
        assert!(matches!(
            value("1/0"),
            Err(EvalError::DivisionByZero { .. })
        ));
        assert!(matches!(
            value("1 % 0"),
            Err(EvalError::DivisionByZero { .. })
        ));
        assert!(matches!(value("x+4"), Err(EvalError::Symbol { .. })));
        // The quotient that overflows wraps, as the other operators do.
        assert_eq!(bits("(-9223372036854775807-1)/-1"), Some(1 << 63));
    }

    #[test]
    fn a_long_chain_is_no_deep_one() {
        let chain = format!("1{}", "+1".repeat(200_000));
        assert_eq!(bits(&chain), Some(200_001));
    }
}
