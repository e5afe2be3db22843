//! Addresses: memory operands, addresses of variables, indexed arrays.
//!
//! Source: PTX ISA 9.0, sections 6.4.1, 6.4.2 and 9.7.9.3, and `ptxas`: an access through a variable
//! without a written space is in the variable's own, `var[i]` is scaled by the element size and
//! may have a register for index, an access through a register is generic unless a space is
//! written.

use super::error::LowerError;
use super::lower::Lowerer;
use super::scope::{At, Binding, Place};
use super::sig::{Decoded, num_type, unsupported};
use super::{Addr, IntOp, IntTy, NumTy, Op, Space, Src};
use crate::diag::Span;
use crate::ptx::{
    Address, Base, Binary, Expr, ExprKind, Id, List, Module, Name, Offset, Operand, OperandKind,
    Type, TypeClass, Unary, Value, evaluate,
};

/// A value that `mov` and `cvta` can take the address of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AddressOf {
    /// The variable.
    pub place: Place,
    /// Bytes added.
    pub addend: i64,
}

impl Lowerer<'_> {
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
            Some(Binding::Function(function)) => {
                let place = self.function_place(function);
                Ok(Some(AddressOf { place, addend }))
            }
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
        self.address_of_width(i, written, true)
    }

    /// The same; without `wide`, a 32-bit register may hold an address of any space: the assembler
    /// takes it for bulk copies and tensor maps.
    pub(super) fn address_of_width(
        &mut self,
        i: usize,
        written: Option<Space>,
        wide: bool,
    ) -> Decoded<(Space, Addr)> {
        let operand = self.operand(i)?;
        let address = match operand.kind {
            OperandKind::Address(id) => self.m[id],
            OperandKind::Element { base, index } => Address {
                base: Base::Element { base, index },
                offset: Offset::None,
                rest: List::EMPTY,
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
                        At::Offset(at) => Src::Var(place.space, at, 0),
                        At::Global(id) => Src::Global(id, 0),
                    };
                    Ok((space, Addr { base, offset }))
                }
                Binding::Opaque => unsupported("a texture, sampler or surface"),
                _ => {
                    let (reg, ty) = self.reg_of(name, None, span)?;
                    self.check_address((name, span), ty)?;
                    if wide {
                        self.check_wide((name, span), ty, generic)?;
                    }
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
            At::Offset(at) => Src::Var(place.space, at, 0),
            At::Global(id) => Src::Global(id, 0),
        };
        let register = matches!(index.kind, OperandKind::Name(_));
        if let (true, At::Offset(at), Space::Local) = (register, place.at, place.space) {
            self.k.unaddressed.retain(|(from, _)| *from != at);
        }
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
        let u64_type = IntTy {
            width: 64,
            signed: false,
        };
        let mut wide = reg;
        if ty.bits() < 64 {
            wide = self.temp(Type::B64);
            let from = num_type(ty).map_or(NumTy::Int(u64_type), |t| t.0);
            self.emit_cvt(from, NumTy::Int(u64_type), wide, Src::Reg(reg));
        }
        let sum = self.temp(Type::B64);
        self.emit(Op::Int {
            op: IntOp::MadLo,
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

    /// Generic and global addresses of a module with addresses of 64 bits take all of them.
    fn check_wide(&mut self, (name, span): (Name, Span), found: Type, space: Space) -> Decoded<()> {
        let wide = matches!(space, Space::Generic | Space::Global);
        if !wide || found.bits() == 64 || self.m.address_size() == 32 {
            return Ok(());
        }
        let opcode = self.opcode_text();
        // `ldmatrix` and `stmatrix` are about shared memory whether they say so or not.
        if opcode.contains("matrix.") {
            return Ok(());
        }
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

/// An expression `symbol + constant`.
#[derive(Clone, Copy, Debug)]
pub(super) struct SymbolSum {
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
pub(super) fn symbol_plus(low: &Lowerer<'_>, mut id: Id<Expr>) -> Option<SymbolSum> {
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

fn leaf(m: &Module, id: Id<Expr>) -> Option<Id<Expr>> {
    matches!(m[id].kind, ExprKind::Int(_) | ExprKind::WarpSize).then_some(id)
}
