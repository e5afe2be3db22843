//! Formulas as trees, with the place of each part in the text.
//!
//! Nodes stand in one list, children before parents. Chains of operators of one precedence are one node with
//! many operands, so that only what a user nests makes a tree deep; [`MAX_DEPTH`] bounds that, and
//! whatever walks a tree may recurse.

use std::cmp::Ordering;

use num_rational::BigRational;

use crate::diag::Span;

/// How deep expressions may nest.
pub const MAX_DEPTH: u32 = 64;

/// A node of a [`Formula`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(pub u32);

/// A name and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name without backquotes.
    pub text: String,
    /// Its place.
    pub span: Span,
}

/// The left side of a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// What is defined.
    pub name: Name,
    /// The names of its indices.
    pub indices: Vec<Name>,
    /// Which elements are defined: all, or those where this holds.
    pub cond: Option<ExprId>,
}

/// `head = value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equation {
    /// What is defined.
    pub head: Head,
    /// As what.
    pub value: ExprId,
}

/// An output, with what stands behind `where`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Def {
    /// The output.
    pub output: Equation,
    /// Intermediate arrays.
    pub helpers: Vec<Equation>,
}

/// A parsed text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Formula {
    /// The definitions in order.
    pub defs: Vec<Def>,
    /// All nodes.
    pub nodes: Vec<Node>,
}

/// An expression or a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// What it is.
    pub expr: Expr,
    /// Its place.
    pub span: Span,
    /// One more than the deepest of its children.
    pub depth: u32,
}

/// Operators of one precedence with `*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MulOp {
    /// a * b.
    Times,
    /// a / b.
    Over,
    /// a % b.
    Rem,
}

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cmp {
    /// a = b.
    Eq,
    /// a != b.
    Ne,
    /// a < b.
    Lt,
    /// a <= b.
    Le,
    /// a > b.
    Gt,
    /// a >= b.
    Ge,
}

impl Cmp {
    /// Whether it holds of two things that stand so.
    pub(super) fn holds(self, order: Ordering) -> bool {
        match self {
            Cmp::Eq => order.is_eq(),
            Cmp::Ne => order.is_ne(),
            Cmp::Lt => order.is_lt(),
            Cmp::Le => order.is_le(),
            Cmp::Gt => order.is_gt(),
            Cmp::Ge => order.is_ge(),
        }
    }
}

/// Functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Func {
    /// e to the argument.
    Exp,
    /// Natural logarithm.
    Log,
    /// Square root.
    Sqrt,
    /// 1 / square root.
    Rsqrt,
    /// Hyperbolic tangent.
    Tanh,
    /// The error function.
    Erf,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Absolute value.
    Abs,
    /// max(x, 0).
    Relu,
    /// 1 / (1 + exp(-x)).
    Sigmoid,
    /// The largest argument.
    Max,
    /// The smallest argument.
    Min,
    /// The largest integer not above.
    Floor,
    /// The least integer not below.
    Ceil,
    /// The integer part.
    Trunc,
    /// The nearest integer, the even one of two.
    Rint,
}

impl Func {
    /// All functions with their names.
    pub const ALL: [(Func, &str); 17] = [
        (Func::Exp, "exp"),
        (Func::Log, "log"),
        (Func::Sqrt, "sqrt"),
        (Func::Rsqrt, "rsqrt"),
        (Func::Tanh, "tanh"),
        (Func::Erf, "erf"),
        (Func::Sin, "sin"),
        (Func::Cos, "cos"),
        (Func::Abs, "abs"),
        (Func::Relu, "relu"),
        (Func::Sigmoid, "sigmoid"),
        (Func::Max, "max"),
        (Func::Min, "min"),
        (Func::Floor, "floor"),
        (Func::Ceil, "ceil"),
        (Func::Trunc, "trunc"),
        (Func::Rint, "rint"),
    ];
}

/// What a reduction makes of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fold {
    /// Their sum.
    Sum,
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// Their product.
    Prod,
    /// Their sum over their number.
    Mean,
}

impl Fold {
    /// All reductions with their names.
    pub const ALL: [(Fold, &str); 5] = [
        (Fold::Sum, "sum"),
        (Fold::Max, "max"),
        (Fold::Min, "min"),
        (Fold::Prod, "prod"),
        (Fold::Mean, "mean"),
    ];
}

/// The word of a function or a reduction.
pub(super) fn named<T: Copy + PartialEq>(all: &[(T, &'static str)], item: T) -> &'static str {
    all.iter().find(|f| f.0 == item).map_or("", |f| f.1)
}

/// A variable of a reduction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Its name.
    pub name: Name,
    /// First value and the one behind the last.
    pub range: Option<(ExprId, ExprId)>,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A number; `integer` if it was written without a point and an exponent.
    Number {
        /// Its value.
        value: BigRational,
        /// Written as an integer.
        integer: bool,
    },
    /// Plus infinity.
    Infinity,
    /// The circle's circumference over its diameter.
    Pi,
    /// An index, a size or a scalar.
    Name(String),
    /// An element of an array.
    Read {
        /// The array.
        name: Name,
        /// Its indices.
        indices: Vec<ExprId>,
    },
    /// -a.
    Neg(ExprId),
    /// Terms that are added, or subtracted where the flag is set.
    Sum(Vec<(bool, ExprId)>),
    /// Factors from left to right; the operator of the first is `Times`.
    Product(Vec<(MulOp, ExprId)>),
    /// A power.
    Power(ExprId, i32),
    /// A function.
    Call(Func, Vec<ExprId>),
    /// A reduction.
    Reduce {
        /// Of which kind.
        fold: Fold,
        /// Over what.
        vars: Vec<Bound>,
        /// Where.
        cond: Option<ExprId>,
        /// Of what.
        body: ExprId,
    },
    /// Condition, value, other value.
    If(ExprId, ExprId, ExprId),
    /// A chain of comparisons: one operator fewer than operands.
    Compare(Vec<ExprId>, Vec<Cmp>),
    /// Whether a number is none.
    IsNan(ExprId),
    /// Negation.
    Not(ExprId),
    /// Conjunction.
    And(Vec<ExprId>),
    /// Disjunction.
    Or(Vec<ExprId>),
}

impl Expr {
    /// True for what is true or false.
    pub(super) fn is_condition(&self) -> bool {
        match self {
            Expr::Compare(..) | Expr::IsNan(_) | Expr::Not(_) | Expr::And(_) | Expr::Or(_) => true,
            Expr::Number { .. }
            | Expr::Infinity
            | Expr::Pi
            | Expr::Name(_)
            | Expr::Read { .. }
            | Expr::Neg(_)
            | Expr::Sum(_)
            | Expr::Product(_)
            | Expr::Power(..)
            | Expr::Call(..)
            | Expr::Reduce { .. }
            | Expr::If(..) => false,
        }
    }

    /// Calls `f` with each child.
    pub(super) fn children(&self, f: &mut dyn FnMut(ExprId)) {
        match self {
            Expr::Number { .. } | Expr::Infinity | Expr::Pi | Expr::Name(_) => {}
            Expr::Read { indices: list, .. }
            | Expr::Call(_, list)
            | Expr::Compare(list, _)
            | Expr::And(list)
            | Expr::Or(list) => list.iter().for_each(|&e| f(e)),
            Expr::Neg(a) | Expr::Power(a, _) | Expr::IsNan(a) | Expr::Not(a) => f(*a),
            Expr::Sum(list) => list.iter().for_each(|t| f(t.1)),
            Expr::Product(list) => list.iter().for_each(|t| f(t.1)),
            Expr::Reduce {
                vars, cond, body, ..
            } => {
                for (lo, hi) in vars.iter().filter_map(|v| v.range) {
                    f(lo);
                    f(hi);
                }
                cond.iter().for_each(|&c| f(c));
                f(*body);
            }
            Expr::If(c, a, b) => [c, a, b].into_iter().for_each(|&e| f(e)),
        }
    }
}

impl Formula {
    /// A node.
    pub(super) fn expr(&self, e: ExprId) -> &Expr {
        &self.nodes[e.0 as usize].expr
    }

    /// The place of a node.
    pub(super) fn span(&self, e: ExprId) -> Span {
        self.nodes[e.0 as usize].span
    }
}
