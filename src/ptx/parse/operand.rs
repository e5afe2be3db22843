//! Operands of instructions: registers, constants, addresses, vectors, predicate pairs.
//!
//! Source: PTX ISA 9.0, section 6, and the forms of addresses that ptxas takes.

use super::expr::Signed;
use super::{Parsed, Parser, error};
use crate::diag::Span;
use crate::ptx::error::ParseErrorKind;
use crate::ptx::expr::ExprKind;
use crate::ptx::instr::{Address, Base, Component, Offset, Operand, OperandKind};
use crate::ptx::lex;
use crate::ptx::names::Name;
use crate::ptx::pool::{Id, List};

/// What begins with an identifier.
enum Place {
    Name(Name),
    Component(Name, Component),
    Element(Name, Id<Operand>),
}

impl Parser<'_> {
    /// Operands up to `close`, which is taken; there may be none.
    pub(super) fn operand_list(&mut self, close: u8, what: &'static str) -> Parsed<List<Operand>> {
        let from = self.operands.len();
        if !self.eat(close) {
            loop {
                let operand = self.operand(false)?;
                self.operands.push(operand);
                if !self.eat(b',') {
                    break;
                }
            }
            self.expect(close, what)?;
        }
        Ok(self.module.pools.drain(&mut self.operands, from))
    }

    /// One operand. `groups` says that `(` opens a list of arguments, not an expression.
    pub(super) fn operand(&mut self, groups: bool) -> Parsed<Operand> {
        let start = self.start();
        let kind = match self.peek() {
            b'[' => self.deeper(Self::address)?,
            b'{' => {
                self.take(1);
                let what = "`,` or `}`";
                let elements = self.deeper(|p| p.operand_list(b'}', what))?;
                if self.eat(b'|') {
                    let pred = self.half()?;
                    OperandKind::VectorPair { elements, pred }
                } else {
                    OperandKind::Vector(elements)
                }
            }
            b'(' if groups => {
                self.take(1);
                let what = "`,` or `)`";
                OperandKind::Group(self.deeper(|p| p.operand_list(b')', what))?)
            }
            b'!' | b'-' => self.signed_operand()?,
            byte if lex::starts_identifier(byte) => self.named_operand()?,
            _ => self.constant_operand()?,
        };
        // An expression behind `(` would read as a list when it is printed; none is an operand of `call`.
        if groups && matches!(kind, OperandKind::Expr(_)) {
            return Err(self.expected("`,` or `;`"));
        }
        let span = self.since(start);
        Ok(Operand { kind, span })
    }

    /// A number or an expression that does not begin with a name.
    fn constant_operand(&mut self) -> Parsed<OperandKind> {
        if let Some((number, _)) = self.lone_number()? {
            return Ok(match number {
                Signed::Int(int) => OperandKind::Int(int),
                Signed::Float(float) => OperandKind::Float(float),
            });
        }
        match self.peek() {
            b'+' | b'-' | b'~' | b'!' | b'(' => {}
            _ if lex::starts_number(self.rest()) => {}
            _ => return Err(self.expected("an operand")),
        }
        Ok(OperandKind::Expr(self.conditional(None)?))
    }

    /// `!p`, `-r`, `-r.h1`, or a constant with such a prefix.
    fn signed_operand(&mut self) -> Parsed<OperandKind> {
        let before = (self.at, self.end);
        let negation = self.peek() == b'!';
        self.take(1);
        let len = lex::identifier(self.rest());
        let name = &self.text[self.at..self.at + len];
        if len > 0 && !matches!(name, "WARP_SZ" | "_") {
            let span = self.take(len);
            if !negation && self.peek() == b'.' && self.at == self.end {
                let base = self.name_at(span);
                let component = self.component();
                return Ok(OperandKind::NegComponent { base, component });
            }
            if matches!(self.peek(), b',' | b';' | b']' | b'}' | b')') {
                let name = self.name_at(span);
                return Ok(if negation {
                    OperandKind::Not(name)
                } else {
                    OperandKind::Neg(name)
                });
            }
        }
        (self.at, self.end) = before;
        self.constant_operand()
    }

    /// What begins with an identifier.
    fn named_operand(&mut self) -> Parsed<OperandKind> {
        let len = lex::identifier(self.rest());
        if len == 1 && self.peek() == b'_' {
            self.take(1);
            if self.peek() != b'|' {
                return Ok(OperandKind::Sink);
            }
            self.take(1);
            let second = self.half()?;
            let first = None;
            return Ok(OperandKind::Pair { first, second });
        }
        let (name, span) = match self.place()? {
            (Place::Name(name), span) => (name, span),
            (Place::Component(base, component), _) => {
                return Ok(OperandKind::Component { base, component });
            }
            (Place::Element(base, index), _) => return Ok(OperandKind::Element { base, index }),
        };
        match self.peek() {
            b',' | b';' | b'}' | b')' | b']' => match self.slice(span) {
                "WARP_SZ" => {
                    let size = self.add_expr(ExprKind::WarpSize, span);
                    Ok(OperandKind::Expr(size))
                }
                _ => Ok(OperandKind::Name(name)),
            },
            b'|' if !self.rest().starts_with(b"||") => {
                self.take(1);
                let second = self.half()?;
                let first = Some(name);
                Ok(OperandKind::Pair { first, second })
            }
            b'(' if self.slice(span) == "generic" => {
                (self.at, self.end) = (span.start as usize, span.start as usize);
                Ok(OperandKind::Expr(self.conditional(None)?))
            }
            // A register is no constant; what follows it is another operand whose comma is missing.
            _ if self.slice(span).starts_with('%') => Ok(OperandKind::Name(name)),
            b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!' | b'&' | b'^' | b'|'
            | b'?' => {
                let kind = match self.slice(span) {
                    "WARP_SZ" => ExprKind::WarpSize,
                    _ => ExprKind::Symbol(name),
                };
                let first = self.add_expr(kind, span);
                Ok(OperandKind::Expr(self.conditional(Some(first))?))
            }
            _ => Ok(OperandKind::Name(name)),
        }
    }

    /// The right side of `p|q`.
    fn half(&mut self) -> Parsed<Option<Name>> {
        if self.peek() == b'_' && lex::identifier(self.rest()) == 1 {
            self.take(1);
            return Ok(None);
        }
        Ok(Some(self.identifier("a predicate register or `_`")?.0))
    }

    /// `name`, `name.x` or `name[i]`.
    fn place(&mut self) -> Parsed<(Place, Span)> {
        let (name, span) = self.identifier("a name")?;
        // On another line a dot begins a directive, and a semicolon is missing.
        let adjacent = !self.text[self.end..self.at].contains('\n');
        match self.peek() {
            b'.' if adjacent && !self.peek_word().is_empty() => {
                let component = self.component();
                Ok((Place::Component(name, component), span))
            }
            b'[' => {
                self.take(1);
                let index = self.deeper(|p| p.operand(false))?;
                self.expect(b']', "`]`")?;
                let index = self.module.pools.add(index);
                Ok((Place::Element(name, index), span))
            }
            _ => Ok((Place::Name(name), span)),
        }
    }

    fn component(&mut self) -> Component {
        let word = self.peek_word();
        self.take(word.len() + 1);
        match word {
            "x" => Component::Xyzw(0),
            "y" => Component::Xyzw(1),
            "z" => Component::Xyzw(2),
            "w" => Component::Xyzw(3),
            "r" => Component::Rgba(0),
            "g" => Component::Rgba(1),
            "b" => Component::Rgba(2),
            "a" => Component::Rgba(3),
            _ => Component::Other(self.module.names.intern(word)),
        }
    }

    /// `[base + offset, rest...]`
    fn address(&mut self) -> Parsed<OperandKind> {
        self.take(1);
        let first = &self.text[self.at..self.at + lex::identifier(self.rest())];
        let base = if !matches!(first, "" | "WARP_SZ") {
            match self.place()?.0 {
                Place::Name(name) => Base::Name(name),
                Place::Component(base, component) => Base::Component { base, component },
                Place::Element(base, index) => Base::Element { base, index },
            }
        } else {
            Base::Absent
        };
        let offset = match self.peek() {
            b'-' if base != Base::Absent => {
                let span = Span::new(self.start(), self.start() + 1);
                return Err(error(ParseErrorKind::MinusInAddress, span));
            }
            b'+' if base != Base::Absent => {
                self.take(1);
                self.offset()?
            }
            _ if base == Base::Absent => self.offset()?,
            _ => Offset::None,
        };
        let rest = if self.eat(b',') {
            self.operand_list(b']', "`,` or `]`")?
        } else {
            self.expect(b']', "`]`")?;
            List::EMPTY
        };
        let unified = self.at == self.end && self.eat_word("unified");
        let address = Address {
            base,
            offset,
            rest,
            unified,
        };
        Ok(OperandKind::Address(self.module.pools.add(address)))
    }

    fn offset(&mut self) -> Parsed<Offset> {
        match self.lone_number()? {
            Some((Signed::Int(int), _)) => Ok(Offset::Imm(int.value())),
            Some((Signed::Float(_), span)) => {
                let found = format!("`{}`", self.slice(span));
                let expected = "an integer";
                Err(error(ParseErrorKind::Expected { expected, found }, span))
            }
            None if matches!(self.peek(), b']' | b',') => Err(self.expected("an address")),
            None => Ok(Offset::Expr(self.conditional(None)?)),
        }
    }
}
