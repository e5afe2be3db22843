//! Operands of the instruction being decoded: names to registers, constants to bits, type rules.
//!
//! Source: PTX ISA 9.0, sections 6, 9.4 and 4.5, and what `ptxas` 13.0 accepts where the text is
//! silent: a register fits if one of the two types is a bit type, or both are integers, or both are
//! the same float, and the widths agree; `ld`, `st` and `cvt` take wider registers. Integers are
//! cut to the operand's width; decimal floats become the instruction's format, exact ones must be it.

use super::error::LowerError;
use super::lower::Lowerer;
use super::scope::Binding;
use super::sig::{Decoded, Stop, unsupported};
use super::special::{Reading, special, vector};
use super::{Guard, Op, RegId, Src};
use crate::diag::Span;
use crate::ptx::{
    Component, Expr, Float, Id, Int, Name, Operand, OperandKind, Type, TypeClass, Value, evaluate,
};

/// How wide a register may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// As wide as the type.
    Exact,
    /// As wide or wider.
    Wider,
}

impl<'a> Lowerer<'a> {
    /// Records an error and stops the instruction.
    pub(super) fn fail<T>(&mut self, error: LowerError) -> Decoded<T> {
        self.error(error);
        Err(Stop::Error)
    }

    /// Stops unless the instruction has this many operands.
    pub(super) fn expect(&mut self, wanted: usize) -> Decoded<()> {
        self.expect_between(wanted, wanted)
    }

    /// Stops unless the number of operands is in this range.
    pub(super) fn expect_between(&mut self, least: usize, most: usize) -> Decoded<()> {
        let found = self.ops.len();
        if (least..=most).contains(&found) {
            return Ok(());
        }
        let wanted = if least == most {
            least.to_string()
        } else {
            format!("{least} to {most}")
        };
        let (opcode, span) = (self.opcode_text(), self.opcode_span);
        self.fail(LowerError::OperandCount {
            opcode,
            span,
            found,
            wanted,
        })
    }

    /// The operand at a position, which [`Lowerer::expect`] has checked.
    pub(super) fn operand(&mut self, i: usize) -> Decoded<&'a Operand> {
        match self.ops.get(i) {
            Some(operand) => Ok(operand),
            None => {
                self.expect(i + 1)?;
                Err(Stop::Error)
            }
        }
    }

    pub(super) fn wrong<T>(&mut self, span: Span, wanted: &'static str) -> Decoded<T> {
        self.fail(LowerError::WrongOperand { span, wanted })
    }

    /// What a name stands for; an error if nothing.
    pub(super) fn resolve(&mut self, name: Name, span: Span) -> Decoded<Binding> {
        if let Some(binding) = self.lookup(name) {
            return Ok(binding);
        }
        let text = self.m.text(name).to_string();
        if special(&text, None).is_some() || vector(&text).is_some() {
            return self.fail(LowerError::WrongKind {
                name: text,
                span,
                is: "a special register (readable only by mov and cvt)",
                wanted: "a register",
            });
        }
        let help = self.frame.suggest(self.m, name, false);
        self.fail(LowerError::Undeclared {
            name: text,
            span,
            help,
        })
    }

    /// The register that a name stands for.
    pub(super) fn reg_of(
        &mut self,
        name: Name,
        component: Option<Component>,
        span: Span,
    ) -> Decoded<(RegId, Type)> {
        let binding = self.resolve(name, span)?;
        let Binding::Reg { id, ty, vector } = binding else {
            return self.fail(LowerError::WrongKind {
                name: self.m.text(name).to_string(),
                span,
                is: binding.kind(),
                wanted: "a register",
            });
        };
        let index = match component {
            None if vector == 1 => 0,
            None => {
                return self.fail(LowerError::WrongKind {
                    name: self.m.text(name).to_string(),
                    span,
                    is: binding.kind(),
                    wanted: "a scalar register",
                });
            }
            Some(component) => match component.index() {
                Some(i) if vector > 1 && i < vector => i,
                Some(_) => return self.wrong(span, "an element of a vector register"),
                None => return unsupported("part of a register as an operand"),
            },
        };
        Ok((RegId(id.0 + u32::from(index)), ty))
    }

    fn check(
        &mut self,
        (name, span): (Name, Span),
        found: Type,
        wanted: Type,
        fit: Fit,
    ) -> Decoded<()> {
        use TypeClass::*;
        let class_fits = match (found.class(), wanted.class()) {
            (Predicate, Predicate) => true,
            (Predicate, _) | (_, Predicate) => false,
            (Bits, _) | (_, Bits) => true,
            (Unsigned | Signed, Unsigned | Signed) => true,
            (Float, Float) => found == wanted,
            _ => false,
        };
        let width_fits = match fit {
            Fit::Exact => found.bits() == wanted.bits(),
            Fit::Wider => found.bits() >= wanted.bits(),
        };
        if class_fits && width_fits {
            return Ok(());
        }
        let opcode = self.opcode_text();
        self.fail(LowerError::OperandType {
            name: self.m.text(name).to_string(),
            span,
            found: found.text(),
            wanted: wanted.text(),
            opcode,
        })
    }

    /// The register that an operand names, if it fits.
    pub(super) fn reg(&mut self, operand: &Operand, ty: Type, fit: Fit) -> Decoded<RegId> {
        let (name, component) = match operand.kind {
            OperandKind::Name(name) => (name, None),
            OperandKind::Component { base, component } => (base, Some(component)),
            _ => return self.wrong(operand.span, "a register"),
        };
        let (id, found) = self.reg_of(name, component, operand.span)?;
        self.check((name, operand.span), found, ty, fit)?;
        Ok(id)
    }

    /// A destination register.
    pub(super) fn dst(&mut self, i: usize, ty: Type) -> Decoded<RegId> {
        let operand = self.operand(i)?;
        self.reg(operand, ty, Fit::Exact)
    }

    /// A destination register or the sink `_`.
    pub(super) fn dst_or_sink(
        &mut self,
        operand: &Operand,
        ty: Type,
        fit: Fit,
    ) -> Decoded<Option<RegId>> {
        match operand.kind {
            OperandKind::Sink => Ok(None),
            _ => self.reg(operand, ty, fit).map(Some),
        }
    }

    /// A source of exactly the type's width.
    pub(super) fn src(&mut self, i: usize, ty: Type) -> Decoded<Src> {
        let operand = self.operand(i)?;
        self.value(operand, ty, Fit::Exact)
    }

    /// A source operand.
    pub(super) fn value(&mut self, operand: &Operand, ty: Type, fit: Fit) -> Decoded<Src> {
        let span = operand.span;
        match operand.kind {
            OperandKind::Name(_) | OperandKind::Component { .. } => {
                self.reg(operand, ty, fit).map(Src::Reg)
            }
            OperandKind::Int(int) => self.int_bits(int, ty, span).map(Src::Imm),
            OperandKind::Float(float) => self.float_bits(float, ty, span).map(Src::Imm),
            OperandKind::Expr(id) => match self.constant(id)? {
                Value::Int(int) => self.int_bits(int, ty, span).map(Src::Imm),
                Value::Float(value) => {
                    let float = Float::Decimal(value.to_bits());
                    self.float_bits(float, ty, span).map(Src::Imm)
                }
            },
            OperandKind::Neg(_) => unsupported("a negated register as an operand"),
            OperandKind::Not(_) if ty == Type::Pred => {
                unsupported("a negated predicate as an operand")
            }
            _ => self.wrong(span, "a register or a constant"),
        }
    }

    /// The value of a constant expression.
    pub(super) fn constant(&mut self, id: Id<Expr>) -> Decoded<Value> {
        match evaluate(self.m, id) {
            Ok(value) => Ok(value),
            Err(error) => self.fail(LowerError::Constant(error)),
        }
    }

    fn int_bits(&mut self, int: Int, ty: Type, span: Span) -> Decoded<u64> {
        if ty == Type::Bf16 {
            return unsupported("an integer as a value of `.bf16`");
        }
        if ty.is_float() {
            return self.fail(LowerError::Immediate {
                span,
                wanted: ty.text(),
                help: "write a float constant, e.g. `1.0` or `0f3F800000`",
            });
        }
        Ok(truncate(int.bits, ty))
    }

    fn float_bits(&mut self, float: Float, ty: Type, span: Span) -> Decoded<u64> {
        let bits = match (ty, float) {
            (Type::F32, Float::Decimal(bits) | Float::F64(bits)) => {
                Some(u64::from((f64::from_bits(bits) as f32).to_bits()))
            }
            (Type::F32 | Type::B32, Float::F32(bits)) => Some(u64::from(bits)),
            (Type::F64 | Type::B64, Float::Decimal(bits) | Float::F64(bits)) => Some(bits),
            _ => None,
        };
        match bits {
            Some(bits) => Ok(bits),
            None => self.fail(LowerError::Immediate {
                span,
                wanted: ty.text(),
                help: "write a constant of the instruction's own format",
            }),
        }
    }

    /// A predicate operand: `p`, `!p`, or a constant.
    pub(super) fn pred(&mut self, i: usize) -> Decoded<Guard> {
        let operand = self.operand(i)?;
        let (name, component, negated) = match operand.kind {
            OperandKind::Name(name) => (name, None, false),
            OperandKind::Not(name) => (name, None, true),
            OperandKind::Component { base, component } => (base, Some(component), false),
            _ => {
                let value = self.value(operand, Type::Pred, Fit::Exact)?;
                let reg = self.temp(Type::Pred);
                self.emit(Op::Mov {
                    dst: reg,
                    src: value,
                    width: 1,
                });
                return Ok(Guard {
                    reg,
                    negated: false,
                });
            }
        };
        let (reg, found) = self.reg_of(name, component, operand.span)?;
        self.check((name, operand.span), found, Type::Pred, Fit::Exact)?;
        Ok(Guard { reg, negated })
    }

    /// A destination `d` or `d|p`: the first of type `ty`, the second a predicate.
    pub(super) fn dst_pair(
        &mut self,
        i: usize,
        ty: Type,
    ) -> Decoded<(Option<RegId>, Option<RegId>)> {
        let operand = self.operand(i)?;
        let OperandKind::Pair { first, second } = operand.kind else {
            return Ok((self.dst_or_sink(operand, ty, Fit::Exact)?, None));
        };
        let mut one = |name: Option<Name>, ty: Type| match name {
            None => Ok(None),
            Some(name) => {
                let kind = OperandKind::Name(name);
                let span = operand.span;
                self.reg(&Operand { kind, span }, ty, Fit::Exact).map(Some)
            }
        };
        Ok((one(first, ty)?, one(second, Type::Pred)?))
    }

    /// The elements of a vector operand: `{a, b}`, a vector register, or one scalar.
    pub(super) fn elements(&mut self, operand: &'a Operand) -> Decoded<Vec<Operand>> {
        match operand.kind {
            OperandKind::Vector(list) => Ok(self.m[list].to_vec()),
            OperandKind::Name(name) => match self.lookup(name) {
                Some(Binding::Reg { vector, .. }) if vector > 1 => Ok((0..vector)
                    .map(|i| Operand {
                        kind: OperandKind::Component {
                            base: name,
                            component: Component::Xyzw(i),
                        },
                        span: operand.span,
                    })
                    .collect()),
                _ => Ok(vec![*operand]),
            },
            _ => Ok(vec![*operand]),
        }
    }

    /// Both halves of a 128-bit register.
    pub(super) fn halves(&mut self, operand: &Operand) -> Decoded<[RegId; 2]> {
        let low = self.reg(operand, Type::B128, Fit::Exact)?;
        Ok([low, RegId(low.0 + 1)])
    }

    /// The special register that an operand names.
    pub(super) fn special_of(&mut self, operand: &Operand) -> Option<(Reading, Type)> {
        let (name, component) = match operand.kind {
            OperandKind::Name(name) => (name, None),
            OperandKind::Component { base, component } => (base, Some(component.index()?)),
            _ => return None,
        };
        let text = self.m.text(name);
        if !text.starts_with('%') || self.lookup(name).is_some() {
            return None;
        }
        special(self.m.text(name), component)
    }
}

/// An integer cut to the width of a type; for predicates, whether it is not zero.
pub(super) fn truncate(bits: u64, ty: Type) -> u64 {
    match ty.bits() {
        1 => u64::from(bits != 0),
        width @ 2..64 => bits & ((1 << width) - 1),
        _ => bits,
    }
}
