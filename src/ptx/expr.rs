//! Literals and constant expressions, and their evaluation.
//!
//! Source: PTX ISA 9.0, section 4.5 (constants and constant expressions) and 5.4.4 (addresses in
//! initialisers). Integers are 64 bits wide, signed unless they are too big or carry a `U`. `~` and
//! `%` are unsigned; other operators are unsigned if an operand is, except that the type of a
//! shift is that of its left operand; comparisons and logical operators give signed 0 or 1.
//!
//! Not claimed: the value of an expression over symbols; those evaluate to [`EvalError`], and the
//! stage that lays out memory resolves `symbol + offset` itself.

use thiserror::Error;

use super::ast::Module;
use super::names::Name;
use super::pool::Id;
use crate::diag::Span;

/// A 64-bit integer constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Int {
    /// The bits.
    pub bits: u64,
    /// `.u64` instead of `.s64`.
    pub unsigned: bool,
}

impl Int {
    /// A signed constant.
    pub const fn signed(value: i64) -> Self {
        Self {
            bits: value as u64,
            unsigned: false,
        }
    }

    /// An unsigned constant.
    pub const fn unsigned(value: u64) -> Self {
        Self {
            bits: value,
            unsigned: true,
        }
    }

    /// The bits read as a signed number, which is how they meet registers and offsets.
    pub const fn value(self) -> i64 {
        self.bits as i64
    }

    /// The negated constant, of the same signedness.
    pub const fn negated(self) -> Self {
        Self {
            bits: self.bits.wrapping_neg(),
            unsigned: self.unsigned,
        }
    }
}

/// A float constant: which form it was written in, and its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Float {
    /// Decimal, `1.5e3`: the bits of the nearest f64.
    Decimal(u64),
    /// `0f3F800000`: the bits of an f32.
    F32(u32),
    /// `0d3FF0000000000000`: the bits of an f64.
    F64(u64),
}

/// A constant expression. Children stand before their parents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its bytes.
    pub span: Span,
}

/// What a constant expression is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExprKind {
    /// An integer.
    Int(Int),
    /// A float.
    Float(Float),
    /// The address of a variable or function, or a label.
    Symbol(Name),
    /// `WARP_SZ`.
    WarpSize,
    /// `-a`.
    Unary(Unary, Id<Expr>),
    /// `a + b`.
    Binary(Binary, Id<Expr>, Id<Expr>),
    /// `a ? b : c`.
    Conditional(Id<Expr>, Id<Expr>, Id<Expr>),
    /// `generic(a)`: the generic address of a variable.
    Generic(Id<Expr>),
    /// `0xFF00(a)`: the bits of an address under a mask, shifted down to bit 0.
    Masked {
        /// The mask.
        mask: Id<Expr>,
        /// The address.
        of: Id<Expr>,
    },
}

/// Operators of one operand, casts included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unary {
    /// `+a`
    Plus,
    /// `-a`
    Minus,
    /// `!a`
    Not,
    /// `~a`
    Complement,
    /// `(.s64) a`
    CastS64,
    /// `(.u64) a`
    CastU64,
}

impl Unary {
    /// The spelling.
    pub fn text(self) -> &'static str {
        match self {
            Unary::Plus => "+",
            Unary::Minus => "-",
            Unary::Not => "!",
            Unary::Complement => "~",
            Unary::CastS64 => "(.s64)",
            Unary::CastU64 => "(.u64)",
        }
    }
}

/// Operators of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// `a * b`
    Mul,
    /// `a / b`
    Div,
    /// `a % b`
    Rem,
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a << b`
    Shl,
    /// `a >> b`
    Shr,
    /// `a < b`
    Lt,
    /// `a > b`
    Gt,
    /// `a <= b`
    Le,
    /// `a >= b`
    Ge,
    /// `a == b`
    Eq,
    /// `a != b`
    Ne,
    /// `a & b`
    And,
    /// `a ^ b`
    Xor,
    /// `a | b`
    Or,
    /// `a && b`
    LogicalAnd,
    /// `a || b`
    LogicalOr,
}

impl Binary {
    /// The spelling.
    pub fn text(self) -> &'static str {
        match self {
            Binary::Mul => "*",
            Binary::Div => "/",
            Binary::Rem => "%",
            Binary::Add => "+",
            Binary::Sub => "-",
            Binary::Shl => "<<",
            Binary::Shr => ">>",
            Binary::Lt => "<",
            Binary::Gt => ">",
            Binary::Le => "<=",
            Binary::Ge => ">=",
            Binary::Eq => "==",
            Binary::Ne => "!=",
            Binary::And => "&",
            Binary::Xor => "^",
            Binary::Or => "|",
            Binary::LogicalAnd => "&&",
            Binary::LogicalOr => "||",
        }
    }

    /// Binding strength as in C: a higher one binds tighter; all associate to the left.
    pub fn precedence(self) -> u8 {
        match self {
            Binary::Mul | Binary::Div | Binary::Rem => 10,
            Binary::Add | Binary::Sub => 9,
            Binary::Shl | Binary::Shr => 8,
            Binary::Lt | Binary::Gt | Binary::Le | Binary::Ge => 7,
            Binary::Eq | Binary::Ne => 6,
            Binary::And => 5,
            Binary::Xor => 4,
            Binary::Or => 3,
            Binary::LogicalAnd => 2,
            Binary::LogicalOr => 1,
        }
    }
}

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
    /// An operator that takes integers only has a float operand, or the reverse.
    #[error("this operator takes integer operands")]
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
                let taken = truth(pop(&mut done));
                if taken { b } else { c }
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

fn truth(value: Value) -> bool {
    match value {
        Value::Int(int) => int.bits != 0,
        Value::Float(float) => float != 0.0,
    }
}

fn flag(value: bool) -> Value {
    Value::Int(Int::signed(i64::from(value)))
}

fn unary(op: Unary, a: Value, span: Span) -> Result<Value, EvalError> {
    match (op, a) {
        (Unary::Plus, a) => Ok(a),
        (Unary::Minus, Value::Int(a)) => Ok(Value::Int(a.negated())),
        (Unary::Minus, Value::Float(a)) => Ok(Value::Float(-a)),
        (Unary::Not, a) => Ok(flag(!truth(a))),
        (Unary::Complement, Value::Int(a)) => Ok(Value::Int(Int::unsigned(!a.bits))),
        (Unary::CastS64, Value::Int(a)) => Ok(Value::Int(Int::signed(a.value()))),
        (Unary::CastU64, Value::Int(a)) => Ok(Value::Int(Int::unsigned(a.bits))),
        (Unary::CastS64, Value::Float(a)) => Ok(Value::Int(Int::signed(a as i64))),
        (Unary::CastU64, Value::Float(a)) => Ok(Value::Int(Int::unsigned(a as u64))),
        (Unary::Complement, Value::Float(_)) => Err(EvalError::FloatOperand { span }),
    }
}

fn binary(op: Binary, a: Value, b: Value, span: Span) -> Result<Value, EvalError> {
    match (op, a, b) {
        (Binary::LogicalAnd, a, b) => Ok(flag(truth(a) && truth(b))),
        (Binary::LogicalOr, a, b) => Ok(flag(truth(a) || truth(b))),
        (_, Value::Int(a), Value::Int(b)) => integers(op, a, b, span),
        (_, Value::Float(a), Value::Float(b)) => floats(op, a, b, span),
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

/// A shift keeps the type of its left operand; an amount of 64 or more shifts everything out.
fn shift(op: Binary, a: Int, amount: u64) -> Int {
    let wide = amount >= 64;
    let by = amount as u32 & 63;
    let bits = match (op, a.unsigned, wide) {
        (Binary::Shl, _, false) => a.bits << by,
        (Binary::Shl, _, true) => 0,
        (_, true, false) => a.bits >> by,
        (_, true, true) => 0,
        (_, false, false) => (a.value() >> by) as u64,
        (_, false, true) => (a.value() >> 63) as u64,
    };
    Int { bits, ..a }
}
