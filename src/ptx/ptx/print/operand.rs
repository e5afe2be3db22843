//! Instructions and operands to text.

use super::Printer;
use super::expr::Context;
use crate::ptx::instr::{
    Address, Base, Component, Instr, ModKind, Offset, Opcode, Operand, OperandKind,
};
use crate::ptx::names::Name;
use crate::ptx::pool::Id;

impl Printer<'_> {
    pub(super) fn instr(&mut self, instr: &Instr) {
        if let Some(guard) = instr.guard {
            self.put(if guard.negated { "@!" } else { "@" });
            self.name(guard.pred);
            self.put(" ");
        }
        match instr.opcode {
            Opcode::Known(op) => self.put(op.text()),
            Opcode::Unknown(name) => self.name(name),
        }
        for modifier in &self.module[instr.mods] {
            self.put(".");
            match modifier.kind {
                ModKind::Type(ty) => self.put(ty.text()),
                ModKind::Space(space) => self.put(space.text()),
                ModKind::Shape(shape) => self.number(shape),
                ModKind::Word(word) => self.put(word.text()),
                ModKind::Unknown(name) => self.name(name),
            }
        }
        let operands = &self.module[instr.operands];
        if !operands.is_empty() {
            self.put(" ");
            self.commas(operands, Self::operand);
        }
        self.put(";");
    }

    /// Operands nest no deeper than the parser allows, which bounds the recursion.
    pub(super) fn operand(&mut self, operand: Operand) {
        match operand.kind {
            OperandKind::Name(name) => self.name(name),
            OperandKind::Component { base, component } => self.component(base, component),
            OperandKind::Element { base, index } => self.element(base, index),
            OperandKind::Int(int) => self.int(int),
            OperandKind::Float(float) => self.float(float),
            OperandKind::Expr(id) => self.expr_in(id, Context::Operand),
            OperandKind::Address(id) => self.address(self.module[id]),
            OperandKind::Vector(list) => {
                self.put("{");
                self.commas(&self.module[list], Self::operand);
                self.put("}");
            }
            OperandKind::Group(list) => {
                self.put("(");
                self.commas(&self.module[list], Self::operand);
                self.put(")");
            }
            OperandKind::Sink => self.put("_"),
            OperandKind::Pair { first, second } => {
                self.half(first);
                self.put("|");
                self.half(second);
            }
            OperandKind::VectorPair { elements, pred } => {
                self.put("{");
                self.commas(&self.module[elements], Self::operand);
                self.put("}|");
                self.half(pred);
            }
            OperandKind::NegComponent { base, component } => {
                self.put("-");
                self.component(base, component);
            }
            OperandKind::Not(name) => {
                self.put("!");
                self.name(name);
            }
            OperandKind::Neg(name) => {
                self.put("-");
                self.name(name);
            }
        }
    }

    fn half(&mut self, name: Option<Name>) {
        match name {
            Some(name) => self.name(name),
            None => self.put("_"),
        }
    }

    fn component(&mut self, base: Name, component: Component) {
        self.name(base);
        self.put(".");
        match component {
            Component::Xyzw(i) => self.put(["x", "y", "z", "w"][usize::from(i & 3)]),
            Component::Rgba(i) => self.put(["r", "g", "b", "a"][usize::from(i & 3)]),
            Component::Other(name) => self.name(name),
        }
    }

    fn element(&mut self, base: Name, index: Id<Operand>) {
        self.name(base);
        self.put("[");
        self.operand(self.module[index]);
        self.put("]");
    }

    fn address(&mut self, address: Address) {
        self.put("[");
        match address.base {
            Base::Absent => {}
            Base::Name(name) => self.name(name),
            Base::Component { base, component } => self.component(base, component),
            Base::Element { base, index } => self.element(base, index),
        }
        if address.base != Base::Absent && address.offset != Offset::None {
            self.put("+");
        }
        match address.offset {
            Offset::None => {}
            Offset::Imm(value) => self.number(value),
            // Parentheses keep a lone literal from being read as an immediate offset.
            Offset::Expr(id) => self.expr_in(id, Context::Address),
        }
        for &operand in &self.module[address.rest] {
            self.put(", ");
            self.operand(operand);
        }
        self.put("]");
        if address.unified {
            self.put(".unified");
        }
    }
}
