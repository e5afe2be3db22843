//! Comparisons.

/// Comparison operators of `setp` and `set`. For integers the signedness is in the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cmp {
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
    /// Equal or unordered.
    Equ,
    /// Not equal or unordered.
    Neu,
    /// Less or unordered.
    Ltu,
    /// Less, equal or unordered.
    Leu,
    /// Greater or unordered.
    Gtu,
    /// Greater, equal or unordered.
    Geu,
    /// Neither operand is NaN.
    Num,
    /// An operand is NaN.
    Nan,
}
