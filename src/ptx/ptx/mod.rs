//! PTX text to [`Module`]: the whole of PTX ISA 9.0 as a spanned syntax tree.
//!
//! The tree is flat: nodes of a kind stand in one vector, and a [`List`] or an [`Id`] in a node
//! says which. `&module[instr.operands]` is a slice of [`Operand`]s. Names are interned, opcodes,
//! types and modifiers are enums; what PTX ISA 9.0 does not have is kept as a node of its own.
//!
//! In reading order: [`ast`] (module, directives, statements), [`instr`] (instructions and
//! operands), [`expr`] (constants), [`opcode`] and [`words`] (the vocabulary), [`table`]
//! (what goes together), [`names`] and
//! [`pool`] (storage), [`parse`](mod@parse) and [`print`].

pub mod ast;
pub mod error;
mod evaluate;
pub mod expr;
pub mod instr;
mod lex;
mod lookup;
pub mod names;
pub mod opcode;
pub mod parse;
pub mod pool;
pub mod print;
pub mod table;
pub mod words;

pub use ast::*;
pub use error::{ParseError, ParseErrorKind};
pub use evaluate::{EvalError, Value, evaluate};
pub use expr::{Binary, Expr, ExprKind, Float, Int, Unary};
pub use instr::*;
pub use names::{Name, Names};
pub use opcode::Op;
pub use parse::parse;
pub use pool::{Id, List};
pub use print::{print, print_instr};
pub use table::{FormError, check};
pub use words::{Mod, Shape, Space, Type, TypeClass};
