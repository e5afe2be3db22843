//! Instructions and operands of the tree.
//!
//! Source: PTX ISA 9.0, section 6 (operands) and the syntax lines of 9.7. What a modifier or an
//! operand means for an opcode is not judged here: `{%r1, %r2}` is a vector wherever it stands.

use super::expr::{Expr, Float, Int};
use super::names::Name;
use super::opcode::Op;
use super::pool::{Id, List};
use super::words::{Mod, Shape, Space, Type};
use crate::diag::Span;

/// An instruction. The span of its statement reaches from the guard to the semicolon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instr {
    /// `@p` or `@!p`.
    pub guard: Option<Guard>,
    /// The opcode, without modifiers.
    pub opcode: Opcode,
    /// The bytes of the opcode with its modifiers.
    pub opcode_span: Span,
    /// Modifiers in source order.
    pub mods: List<Modifier>,
    /// Operands in source order.
    pub operands: List<Operand>,
}

impl Instr {
    /// The opcode if it is one of PTX ISA 9.0.
    pub fn op(&self) -> Option<Op> {
        match self.opcode {
            Opcode::Known(op) => Some(op),
            Opcode::Unknown(_) => None,
        }
    }
}

/// The predicate that guards an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate register.
    pub pred: Name,
    /// `@!p`.
    pub negated: bool,
    /// From `@` to the end of the register.
    pub span: Span,
}

/// The opcode of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opcode {
    /// A row of the opcode table.
    Known(Op),
    /// The first word of an instruction that no row matches; its other words are modifiers.
    Unknown(Name),
}

/// A modifier: a word after a dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modifier {
    /// Which word.
    pub kind: ModKind,
    /// Byte offset of its dot.
    pub at: u32,
}

/// Which word a modifier is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModKind {
    /// A type: `.f32`, `.u16x2`, `.texref`.
    Type(Type),
    /// A state space: `.global`, `.shared::cta`.
    Space(Space),
    /// A matrix shape: `.m16n8k16`, `.m8n8`.
    Shape(Shape),
    /// Any other word of PTX ISA 9.0.
    Word(Mod),
    /// A word that PTX ISA 9.0 does not have; its text without the dot.
    Unknown(Name),
}

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// What it is.
    pub kind: OperandKind,
    /// Its bytes.
    pub span: Span,
}

/// What an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandKind {
    /// A register, special register, variable, label or function.
    Name(Name),
    /// `V.x`, `%tid.x`, `a.h1`.
    Component {
        /// The vector.
        base: Name,
        /// Which element.
        component: Component,
    },
    /// `V[i]`: an element of an array variable; the index is scaled by the element size.
    Element {
        /// The array.
        base: Name,
        /// The index: a register, integer or expression.
        index: Id<Operand>,
    },
    /// An integer, a leading minus included (`-1`).
    Int(Int),
    /// A float, a leading minus included.
    Float(Float),
    /// Any other constant expression: `sym+4`, `(1<<4)|3`, `WARP_SZ`.
    Expr(Id<Expr>),
    /// `[...]`.
    Address(Id<Address>),
    /// `{a, b, _}`.
    Vector(List<Operand>),
    /// `(a, b)`: arguments or results of a call.
    Group(List<Operand>),
    /// `_`.
    Sink,
    /// `p|q`; `None` is `_`.
    Pair {
        /// Left of the bar.
        first: Option<Name>,
        /// Right of the bar.
        second: Option<Name>,
    },
    /// `{a, b}|p`: a vector with the predicate that says whether a texture was resident; `None` is
    /// `_`.
    VectorPair {
        /// The vector's elements.
        elements: List<Operand>,
        /// Right of the bar.
        pred: Option<Name>,
    },
    /// `!p`.
    Not(Name),
    /// `-r`.
    Neg(Name),
    /// `-r.h1`, in video instructions.
    NegComponent {
        /// The register.
        base: Name,
        /// Which part.
        component: Component,
    },
}

/// Which part of a vector (section 6.4.3) or of a register of a video instruction (9.7.18).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Component {
    /// `.x` 0, `.y` 1, `.z` 2, `.w` 3.
    Xyzw(u8),
    /// `.r` 0, `.g` 1, `.b` 2, `.a` 3.
    Rgba(u8),
    /// Any other word, such as the `.b0`, `.h1`, `.b3210` of video instructions.
    Other(Name),
}

impl Component {
    /// The element, counted from 0, of a vector component.
    pub fn index(self) -> Option<u8> {
        match self {
            Component::Xyzw(i) | Component::Rgba(i) => Some(i),
            Component::Other(_) => None,
        }
    }
}

/// An address in brackets: `[base + offset, rest...]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// What the offset is added to.
    pub base: Base,
    /// Bytes added to the base.
    pub offset: Offset,
    /// What follows the first comma: samplers and coordinates of texture and tensor forms,
    /// `[tex, {x, y}]`.
    pub rest: List<Operand>,
    /// `.unified` after the bracket.
    pub unified: bool,
}

/// The first part of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// None: the offset is the address.
    Absent,
    /// A register or variable.
    Name(Name),
    /// `V.x`.
    Component {
        /// The vector.
        base: Name,
        /// Which element.
        component: Component,
    },
    /// `var[i]` inside the brackets.
    Element {
        /// The array.
        base: Name,
        /// The index: a register, integer or expression.
        index: Id<Operand>,
    },
}

/// Bytes added to the base of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offset {
    /// Nothing is written.
    None,
    /// One integer, `[r+8]`, `[r+-8]`, `[16]`: its value as a signed number.
    Imm(i64),
    /// Anything else: `[r+4+4]`, `[r+(WARP_SZ*4)]`.
    Expr(Id<Expr>),
}
