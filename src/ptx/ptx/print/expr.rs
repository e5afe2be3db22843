//! Constant expressions to text, with the parentheses that precedence needs.

use super::Printer;
use crate::ptx::ast::Module;
use crate::ptx::expr::{Binary, Expr, ExprKind, Float, Int, Unary};
use crate::ptx::pool::Id;

/// What an expression must not be mistaken for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    /// Only expressions stand here.
    Expression,
    /// An operand, where a name alone is no expression and `a|b` a pair.
    Operand,
    /// The first part of an address, where a name is the base.
    Address,
}

/// Binding strength of what is neither `?:` nor an operator of two operands.
const UNARY: u8 = 11;

enum Step {
    /// An expression; parenthesised if it binds more weakly than the number.
    Expr(Id<Expr>, u8),
    Text(&'static str),
}

impl Printer<'_> {
    /// An expression where only expressions stand.
    pub(super) fn expr(&mut self, root: Id<Expr>) {
        self.expr_in(root, Context::Expression);
    }

    pub(super) fn expr_in(&mut self, root: Id<Expr>, place: Context) {
        let wrapped = wrapped(self.module, root, place);
        let mut todo = vec![Step::Expr(root, 0)];
        while let Some(step) = todo.pop() {
            let (id, weakest) = match step {
                Step::Text(text) => {
                    self.put(text);
                    continue;
                }
                Step::Expr(id, weakest) => (id, weakest),
            };
            let kind = self.module[id].kind;
            if wrapped == Some(id) || strength(kind) < weakest {
                self.put("(");
                todo.push(Step::Text(")"));
            }
            match kind {
                ExprKind::Int(int) => self.int(int),
                ExprKind::Float(float) => self.float(float),
                ExprKind::Symbol(name) => self.name(name),
                ExprKind::WarpSize => self.put("WARP_SZ"),
                ExprKind::Unary(op, a) => {
                    self.put(op.text());
                    todo.push(Step::Expr(a, UNARY));
                }
                ExprKind::Binary(op, a, b) => {
                    let strength = op.precedence();
                    todo.push(Step::Expr(b, strength + 1));
                    todo.push(Step::Text(spaced(op)));
                    todo.push(Step::Expr(a, strength));
                }
                ExprKind::Conditional(a, b, c) => {
                    todo.push(Step::Expr(c, 0));
                    todo.push(Step::Text(" : "));
                    todo.push(Step::Expr(b, 0));
                    todo.push(Step::Text(" ? "));
                    todo.push(Step::Expr(a, 1));
                }
                ExprKind::Generic(of) => {
                    self.put("generic(");
                    todo.push(Step::Text(")"));
                    todo.push(Step::Expr(of, 0));
                }
                ExprKind::Masked { mask, of } => {
                    todo.push(Step::Text(")"));
                    todo.push(Step::Expr(of, 0));
                    todo.push(Step::Text("("));
                    todo.push(Step::Expr(mask, UNARY));
                }
            }
        }
    }

    pub(super) fn int(&mut self, int: Int) {
        if int.unsigned {
            self.number(format_args!("{}U", int.bits));
        } else {
            self.number(int.value());
        }
    }

    pub(super) fn float(&mut self, float: Float) {
        match float {
            Float::Decimal(bits) => self.number(format_args!("{:?}", f64::from_bits(bits))),
            Float::F32(bits) => self.number(format_args!("0f{bits:08X}")),
            Float::F64(bits) => self.number(format_args!("0d{bits:016X}")),
        }
    }
}

fn strength(kind: ExprKind) -> u8 {
    match kind {
        ExprKind::Conditional(..) => 0,
        ExprKind::Binary(op, ..) => op.precedence(),
        _ => UNARY,
    }
}

fn spaced(op: Binary) -> &'static str {
    match op {
        Binary::Mul => " * ",
        Binary::Div => " / ",
        Binary::Rem => " % ",
        Binary::Add => " + ",
        Binary::Sub => " - ",
        Binary::Shl => " << ",
        Binary::Shr => " >> ",
        Binary::Lt => " < ",
        Binary::Gt => " > ",
        Binary::Le => " <= ",
        Binary::Ge => " >= ",
        Binary::Eq => " == ",
        Binary::Ne => " != ",
        Binary::And => " & ",
        Binary::Xor => " ^ ",
        Binary::Or => " | ",
        Binary::LogicalAnd => " && ",
        Binary::LogicalOr => " || ",
    }
}

/// The leaf that needs parentheses of its own, so that the text is read as an expression: a lone
/// literal or name, the operand of a lone sign (`-5` is a number, `!p` a predicate), or the name
/// that an operand or address begins with.
fn wrapped(module: &Module, root: Id<Expr>, place: Context) -> Option<Id<Expr>> {
    let leaf = |id: Id<Expr>| {
        let kind = module[id].kind;
        matches!(
            kind,
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Symbol(_)
        )
        .then_some(id)
    };
    match module[root].kind {
        ExprKind::Unary(Unary::Minus | Unary::Not, operand) => leaf(operand),
        ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Symbol(_)
            if place != Context::Expression =>
        {
            Some(root)
        }
        ExprKind::Binary(Binary::Add | Binary::Sub, left, _)
            if place == Context::Operand && is_plain_symbol(module, left) =>
        {
            None
        }
        _ if place == Context::Expression => None,
        _ => leftmost(module, root),
    }
}

/// A symbol that cannot be a register.
fn is_plain_symbol(module: &Module, id: Id<Expr>) -> bool {
    match module[id].kind {
        ExprKind::Symbol(name) => !module.text(name).starts_with('%'),
        _ => false,
    }
}

/// The symbol or `generic(...)` that the text of an expression begins with.
fn leftmost(module: &Module, root: Id<Expr>) -> Option<Id<Expr>> {
    let mut id = root;
    loop {
        id = match module[id].kind {
            ExprKind::Binary(_, left, _) => left,
            ExprKind::Conditional(condition, ..) => condition,
            ExprKind::Symbol(_) | ExprKind::Generic(_) => return Some(id),
            _ => return None,
        };
    }
}
