//! Literals and constant expressions.
//!
//! Source: PTX ISA 9.0, section 4.5 (constants and constant expressions) and 5.4.4 (addresses in
//! initialisers). Integers are 64 bits wide, signed unless they are too big or carry a `U`.

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
