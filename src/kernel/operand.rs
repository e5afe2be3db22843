//! Operands of the instruction being decoded: names to registers, constants to bits, type rules.
//!
//! Source: PTX ISA 9.0, sections 6, 9.4 and 4.5, and what `ptxas` 13.0 accepts where the text is
//! silent: a register fits if one of the two types is a bit type, or both are integers, or both are
//! the same float, and the widths agree; `ld`, `st` and `cvt` take wider registers. Integers are
//! cut to the operand's width; decimal floats become the instruction's format, exact ones must be it.

use super::error::LowerError;
use super::lower::Lowerer;
use super::scope::{At, Binding, Place};
use super::sig::{Decoded, Stop, unsupported};
use super::special::{Reading, special};
use super::{Addr, Guard, Op, RegId, Space, Src};
use crate::diag::Span;
use crate::ptx::{
    Base, Component, Expr, ExprKind, Float, Id, Int, Name, Offset, Operand, OperandKind, Type,
    TypeClass, Unary, Value, evaluate,
};
use crate::ptx::{Binary, instr::Address};

/// How wide a register may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// As wide as the type.
    Exact,
    /// As wide or wider.
    Wider,
}

/// A value that `mov` and `cvta` can take the address of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressOf {
    /// The variable.
    pub place: Place,
    /// Bytes added.
    pub addend: i64,
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

    fn wrong<T>(&mut self, span: Span, wanted: &'static str) -> Decoded<T> {
        self.fail(LowerError::WrongOperand { span, wanted })
    }

    /// What a name stands for; an error if nothing.
    pub(super) fn resolve(&mut self, name: Name, span: Span) -> Decoded<Binding> {
        if let Some(binding) = self.lookup(name) {
            return Ok(binding);
        }
        let text = self.m.text(name).to_string();
        if special(&text, None).is_some() || super::special::vector(&text).is_some() {
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

    /// The variable, with an offset, whose address an operand takes; `None` if it takes none.
    pub(super) fn address_of(&mut self, operand: &Operand) -> Decoded<Option<AddressOf>> {
        let (name, addend, span) = match operand.kind {
            OperandKind::Name(name) => (name, 0, operand.span),
            OperandKind::Element { base, index } => {
                let index = self.m[index];
                let OperandKind::Int(int) = index.kind else {
                    return Ok(None);
                };
                return match self.resolve(base, operand.span)? {
                    Binding::Var(place) => Ok(Some(AddressOf {
                        place,
                        addend: int.value().wrapping_mul(i64::from(place.elem)),
                    })),
                    _ => self.wrong(operand.span, "an array"),
                };
            }
            OperandKind::Expr(id) => match symbol_plus(self, id) {
                Some(sum) if !sum.generic => (sum.name, sum.addend, sum.span),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        match self.lookup(name) {
            Some(Binding::Var(place)) => Ok(Some(AddressOf { place, addend })),
            Some(Binding::Function(_)) => unsupported("the address of a function"),
            Some(Binding::Opaque) => unsupported("a texture, sampler or surface"),
            Some(Binding::Label(_) | Binding::Branches(_) | Binding::CallTable) => {
                unsupported("the address of a label")
            }
            Some(Binding::Reg { .. }) => Ok(None),
            None if matches!(operand.kind, OperandKind::Expr(_)) => {
                self.resolve(name, span).map(|_| None)
            }
            None => Ok(None),
        }
    }

    /// A memory operand with the space that the instruction names; the space of the variable where
    /// it names none.
    pub(super) fn address(&mut self, i: usize, written: Option<Space>) -> Decoded<(Space, Addr)> {
        let operand = self.operand(i)?;
        let address = match operand.kind {
            OperandKind::Address(id) => self.m[id],
            OperandKind::Element { base, index } => Address {
                base: Base::Element { base, index },
                offset: Offset::None,
                rest: crate::ptx::List::EMPTY,
                unified: false,
            },
            _ => return self.wrong(operand.span, "an address in brackets"),
        };
        if !address.rest.is_empty() {
            return unsupported("an address with coordinates");
        }
        let span = operand.span;
        let offset = match address.offset {
            Offset::None => 0,
            Offset::Imm(value) => value,
            Offset::Expr(id) => match self.constant(id)? {
                Value::Int(int) => int.value(),
                Value::Float(_) => return self.wrong(span, "an integer offset"),
            },
        };
        let generic = written.unwrap_or(Space::Generic);
        match address.base {
            Base::Absent => Ok((
                generic,
                Addr {
                    base: Src::Imm(0),
                    offset,
                },
            )),
            Base::Component { base, component } => {
                let (reg, ty) = self.reg_of(base, Some(component), span)?;
                self.check_address((base, span), ty)?;
                let base = Src::Reg(reg);
                Ok((generic, Addr { base, offset }))
            }
            Base::Name(name) => match self.resolve(name, span)? {
                Binding::Var(place) => {
                    let space = self.space_of(name, span, place, written)?;
                    let base = match place.at {
                        At::Offset(at) => Src::Imm(u64::from(at)),
                        At::Global(id) => Src::Global(id, 0),
                    };
                    Ok((space, Addr { base, offset }))
                }
                Binding::Opaque => unsupported("a texture, sampler or surface"),
                _ => {
                    let (reg, ty) = self.reg_of(name, None, span)?;
                    self.check_address((name, span), ty)?;
                    let base = Src::Reg(reg);
                    Ok((generic, Addr { base, offset }))
                }
            },
            Base::Element { base, index } => {
                let Binding::Var(place) = self.resolve(base, span)? else {
                    return self.wrong(span, "an array");
                };
                let space = self.space_of(base, span, place, written)?;
                let addr = self.element(place, index, offset)?;
                Ok((space, addr))
            }
        }
    }

    /// The address `place[index] + offset`, computed into a register if the index is one.
    fn element(&mut self, place: Place, index: Id<Operand>, offset: i64) -> Decoded<Addr> {
        let m = self.m;
        let index = &m[index];
        let base = match place.at {
            At::Offset(at) => Src::Imm(u64::from(at)),
            At::Global(id) => Src::Global(id, 0),
        };
        let constant = match index.kind {
            OperandKind::Int(int) => Some(int.value()),
            OperandKind::Expr(id) => match self.constant(id)? {
                Value::Int(int) => Some(int.value()),
                Value::Float(_) => return self.wrong(index.span, "an integer index"),
            },
            _ => None,
        };
        if let Some(i) = constant {
            let offset = offset.wrapping_add(i.wrapping_mul(i64::from(place.elem)));
            return Ok(Addr { base, offset });
        }
        let OperandKind::Name(name) = index.kind else {
            return self.wrong(index.span, "a register or a constant index");
        };
        let (reg, ty) = self.reg_of(name, None, index.span)?;
        self.check_address((name, index.span), ty)?;
        let u64_type = super::IntTy {
            width: 64,
            signed: false,
        };
        let mut wide = reg;
        if ty.bits() < 64 {
            wide = self.temp(Type::B64);
            let from = super::sig::num_type(ty).map_or(super::NumTy::Int(u64_type), |t| t.0);
            self.emit(Op::Cvt {
                from,
                to: super::NumTy::Int(u64_type),
                rnd: super::Rnd::None,
                sat: false,
                satfinite: false,
                relu: false,
                ftz: false,
                dst: wide,
                src: Src::Reg(reg),
            });
        }
        let sum = self.temp(Type::B64);
        self.emit(Op::Int {
            op: super::IntOp::MadLo,
            ty: u64_type,
            lanes: 1,
            dst: Some(sum),
            dst2: None,
            src: [
                Src::Reg(wide),
                Src::Imm(u64::from(place.elem)),
                base,
                Src::Imm(0),
            ],
        });
        Ok(Addr {
            base: Src::Reg(sum),
            offset,
        })
    }

    fn check_address(&mut self, (name, span): (Name, Span), found: Type) -> Decoded<()> {
        let fits = matches!(
            found.class(),
            TypeClass::Bits | TypeClass::Unsigned | TypeClass::Signed
        ) && matches!(found.bits(), 16 | 32 | 64);
        if fits {
            return Ok(());
        }
        let opcode = self.opcode_text();
        self.fail(LowerError::OperandType {
            name: self.m.text(name).to_string(),
            span,
            found: found.text(),
            wanted: "u64",
            opcode,
        })
    }

    /// The space of an access to a variable: its own, which must be the one that is written.
    pub(super) fn space_of(
        &mut self,
        name: Name,
        span: Span,
        place: Place,
        written: Option<Space>,
    ) -> Decoded<Space> {
        match (written, place.space) {
            (None | Some(Space::Generic), own) => Ok(own),
            (Some(a), own) if a == own => Ok(own),
            (Some(Space::SharedCluster), Space::Shared) => Ok(Space::SharedCluster),
            // A `.param` variable of a function lies in local memory.
            (Some(Space::Param), Space::Local) => Ok(Space::Local),
            _ => self.fail(LowerError::SpaceMismatch {
                name: self.m.text(name).to_string(),
                span,
            }),
        }
    }
}

/// An integer cut to the width of a type; for predicates, whether it is not zero.
pub fn truncate(bits: u64, ty: Type) -> u64 {
    match ty.bits() {
        1 => u64::from(bits != 0),
        width @ 2..64 => bits & ((1 << width) - 1),
        _ => bits,
    }
}

/// An expression `symbol + constant`.
#[derive(Clone, Copy, Debug)]
pub struct SymbolSum {
    /// The symbol.
    pub name: Name,
    /// The sum of the constants.
    pub addend: i64,
    /// Bytes of the symbol.
    pub span: Span,
    /// Written `generic(symbol)`.
    pub generic: bool,
}

/// Reads an expression of the form `symbol + constant`.
/// The chain is walked with a loop, so its length does not matter.
pub fn symbol_plus(low: &Lowerer<'_>, mut id: Id<Expr>) -> Option<SymbolSum> {
    let m = low.m;
    let int = |id| match evaluate(m, id) {
        Ok(Value::Int(int)) => Some(int.value()),
        _ => None,
    };
    let mut addend = 0i64;
    let mut generic = false;
    // Sums of compound terms are rare; a bound on them keeps hostile nests linear.
    let mut fuel = 32;
    loop {
        let expr = m[id];
        match expr.kind {
            ExprKind::Symbol(name) => {
                return Some(SymbolSum {
                    name,
                    addend,
                    span: expr.span,
                    generic,
                });
            }
            ExprKind::Generic(a) => {
                generic = true;
                id = a;
            }
            ExprKind::Unary(Unary::Plus | Unary::CastS64 | Unary::CastU64, a) => id = a,
            ExprKind::Binary(Binary::Add, a, b) => {
                // The constant side is found by its leaf, so a long chain is not evaluated again
                // at each of its links.
                if let Some(value) = leaf(m, b).and_then(int) {
                    addend = addend.wrapping_add(value);
                    id = a;
                } else if let Some(value) = leaf(m, a).and_then(int) {
                    addend = addend.wrapping_add(value);
                    id = b;
                } else if fuel == 0 {
                    return None;
                } else if let Some(value) = int(b) {
                    fuel -= 1;
                    addend = addend.wrapping_add(value);
                    id = a;
                } else {
                    fuel -= 1;
                    addend = addend.wrapping_add(int(a)?);
                    id = b;
                }
            }
            ExprKind::Binary(Binary::Sub, a, b) => {
                // The right side is a sub-expression of its own, so no constant is read twice.
                addend = addend.wrapping_sub(int(b)?);
                id = a;
            }
            _ => return None,
        }
    }
}

fn leaf(m: &crate::ptx::Module, id: Id<Expr>) -> Option<Id<Expr>> {
    matches!(m[id].kind, ExprKind::Int(_) | ExprKind::WarpSize).then_some(id)
}
