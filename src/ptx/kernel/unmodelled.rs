//! Operands of instructions that no decoder models: their kinds, widths and numbers of registers.
//!
//! The problem: an instruction that is not executed is still right or wrong. A decoder that gives up
//! has not looked at the operands, so a wrong one would stay hidden until the kernel is run
//! elsewhere. Source: the syntax lines of PTX ISA 9.0, section 9.7, as [`table`](crate::ptx::table) holds
//! them, and sections 9.4 and 6 for which registers fit a type.
//!
//! Not claimed: that everything `ptxas` refuses is found; ranges of constants are not checked, nor what a
//! single target lacks. What the table does not take at all is a warning elsewhere.

use super::error::{LowerError, LowerWarning};
use super::lower::Lowerer;
use super::scope::Binding;
use super::sig::Decoded;
use crate::ptx::table::{self, Count, Slot, Width};
use crate::ptx::{
    Base, Component, Instr, Mod, ModKind, Module, Name, Op, Operand, OperandKind, Shape, Space,
    Type, TypeClass,
};

/// The words of an instruction that say what its operands are.
struct Words<'a> {
    op: Op,
    types: Vec<Type>,
    shape: Option<Shape>,
    words: Vec<Mod>,
    spaces: Vec<Space>,
    module: &'a Module,
}

impl<'a> Words<'a> {
    fn new(module: &'a Module, op: Op, instr: &Instr) -> Self {
        let mut words = Words {
            op,
            types: Vec::new(),
            shape: None,
            words: Vec::new(),
            spaces: Vec::new(),
            module,
        };
        for modifier in &module[instr.mods] {
            match modifier.kind {
                ModKind::Type(ty) => words.types.push(ty),
                ModKind::Shape(shape) => words.shape = words.shape.or(Some(shape)),
                ModKind::Word(word) => words.words.push(word),
                ModKind::Space(space) => words.spaces.push(space),
                ModKind::Unknown(_) => {}
            }
        }
        words
    }

    fn has(&self, word: Mod) -> bool {
        self.words.contains(&word)
    }

    fn ty(&self, i: usize) -> Type {
        self.types.get(i).copied().unwrap_or(Type::B32)
    }

    /// The number of registers and their type; `None` where nothing is known.
    fn vector(&self, slot: Slot) -> (Option<usize>, Option<Type>) {
        let ty = match slot.width {
            Width::Any => None,
            Width::Bits(1) => Some(Type::Pred),
            Width::Bits(16) => Some(Type::U16),
            Width::Bits(64) => Some(Type::U64),
            Width::Bits(128) => Some(Type::B128),
            Width::Bits(_) => Some(Type::U32),
            Width::Type(i) => self.types.get(usize::from(i)).copied(),
        };
        match slot.count {
            Count::Any => (None, ty),
            Count::Fixed(n) => (Some(usize::from(n)), ty),
            Count::Vec => {
                let sizes = [(Mod::V2, 2), (Mod::V4, 4), (Mod::V8, 8)];
                let found = sizes.iter().find(|(word, _)| self.has(*word));
                (Some(found.map_or(1, |(_, n)| *n)), ty)
            }
            Count::Times => (self.times(), Some(Type::B32)),
            Count::Fragment(which) => match self.fragment(which) {
                Some((count, ty)) => (Some(count), Some(ty)),
                None => (None, None),
            },
        }
    }

    fn times(&self) -> Option<usize> {
        const TIMES: &[(Mod, usize)] = &[
            (Mod::X1, 1),
            (Mod::X2, 2),
            (Mod::X4, 4),
            (Mod::X8, 8),
            (Mod::X16, 16),
            (Mod::X32, 32),
            (Mod::X64, 64),
            (Mod::X128, 128),
        ];
        let times = TIMES.iter().find(|(word, _)| self.has(*word))?.1;
        let per = match self.shape.map(|s| (s.m, s.n)) {
            // Matrices of 16 rows take two registers each.
            Some((16, 16)) if self.op == Op::Ldmatrix => 2,
            _ if self.has(Mod::Lanes16x128b) => 2,
            _ if self.has(Mod::Lanes16x256b) => 4,
            _ => 1,
        };
        Some(times * per)
    }

    /// Section 9.7.14 and 9.7.15: elements of the whole matrix over 32 lanes, or 128 of a warpgroup.
    fn fragment(&self, which: u8) -> Option<(usize, Type)> {
        if which == b't' {
            // Lanes that are switched off: 128 bits for one CTA, 256 for two.
            let two = self.has(Mod::CtaGroup2);
            return Some((if two { 8 } else { 4 }, Type::B32));
        }
        let shape = self.shape?;
        let (m, n, k) = (
            usize::from(shape.m),
            usize::from(shape.n),
            usize::from(shape.k),
        );
        let accumulator = |ty: Type, lanes: usize| match ty {
            Type::F16 => Some(((m * n / (2 * lanes)).max(1), Type::B32)),
            Type::F32 => Some((m * n / lanes, Type::F32)),
            Type::S32 => Some((m * n / lanes, Type::B32)),
            Type::F64 => Some((m * n / lanes, Type::F64)),
            _ => None,
        };
        match (self.op, which) {
            (Op::WgmmaMmaAsync | Op::WgmmaMmaAsyncSp, b'g') => accumulator(self.ty(0), 128),
            (Op::WgmmaMmaAsync | Op::WgmmaMmaAsyncSp, _) => Some((4, Type::B32)),
            (Op::WmmaLoad | Op::WmmaStore, _) => {
                let part = [
                    (Mod::A, b'a'),
                    (Mod::B, b'b'),
                    (Mod::C, b'c'),
                    (Mod::D, b'd'),
                ];
                let which = part.iter().find(|(word, _)| self.has(*word))?.1;
                self.tile(which, self.ty(0), (m, n, k))
            }
            (Op::WmmaMma, _) => {
                let ty = match (self.types.as_slice(), which) {
                    (&[d, _], b'd') => d,
                    (&[_, c], b'c') => c,
                    (&[_, _], _) => Type::F16,
                    (&[d, a, b, c], _) => match which {
                        b'd' => d,
                        b'a' => a,
                        b'b' => b,
                        _ => c,
                    },
                    _ => return None,
                };
                self.tile(which, ty, (m, n, k))
            }
            (Op::Mma | Op::MmaSp | Op::MmaSpOrdered, _) => {
                let &[d, a, b, c] = self.types.get(..4)? else {
                    return None;
                };
                let half = a == Type::F16 && (m, n, k) == (8, 8, 4);
                let sparse = usize::from(self.op != Op::Mma) + 1;
                match which {
                    b'a' | b'b' if half => Some((2, Type::B32)),
                    b'c' | b'd' if half => {
                        let ty = if which == b'c' { c } else { d };
                        Some(match ty {
                            Type::F16 => (4, Type::B32),
                            _ => (8, Type::F32),
                        })
                    }
                    b'd' => accumulator(d, 32),
                    b'c' => accumulator(c, 32),
                    b'a' if a == Type::F64 => Some((m * k / 32, Type::F64)),
                    b'b' if b == Type::F64 => Some((n * k / 32, Type::F64)),
                    b'a' => Some((m * k / sparse * self.bits(a)? / 1024, Type::B32)),
                    _ => Some((n * k * self.bits(b)? / 1024, Type::B32)),
                }
            }
            _ => None,
        }
    }

    fn tile(&self, which: u8, ty: Type, (m, n, k): (usize, usize, usize)) -> Option<(usize, Type)> {
        let cells = match which {
            b'a' => m * k,
            b'b' => k * n,
            _ => m * n,
        };
        Some(match (ty, which) {
            (Type::F16, b'a' | b'b') => (8, Type::B32),
            (Type::F16, _) => (4, Type::B32),
            (Type::F32, _) => (cells / 32, Type::F32),
            (Type::S32, _) => (cells / 32, Type::B32),
            (Type::F64, _) => (cells / 32, Type::F64),
            (Type::Tf32, _) => (4, Type::B32),
            (Type::Bf16, _) => (cells / 64, Type::B32),
            (Type::S8 | Type::U8, _) => (cells / 128, Type::B32),
            _ => (1, Type::B32),
        })
    }

    /// Bits that an element takes in a register.
    fn bits(&self, ty: Type) -> Option<usize> {
        let small = self.has(Mod::KindMxf4) || self.has(Mod::KindMxf4nvf4);
        Some(match ty {
            Type::B1 => 1,
            Type::S4 | Type::U4 => 4,
            Type::E2m1 if small => 4,
            Type::E4m3 | Type::E5m2 | Type::E2m3 | Type::E3m2 | Type::E2m1 => 8,
            Type::S8 | Type::U8 => 8,
            Type::F16 | Type::Bf16 => 16,
            Type::Tf32 => 32,
            _ => return None,
        })
    }
}

impl<'a> Lowerer<'a> {
    /// Reports operands that the instruction cannot have. An instruction of no known form is not
    /// looked at: the table of forms has warned of it.
    pub(super) fn check_operands(&mut self, instr: &'a Instr) {
        let Some(op) = instr.op() else { return };
        let Some(slots) = table::operands(self.m, instr) else {
            return;
        };
        let before = self.errors.len();
        let words = Words::new(self.m, op, instr);
        let operands = &self.m[instr.operands];
        for (operand, slot) in operands.iter().zip(slots) {
            // The first wrong operand is told; what follows may be wrong because of it.
            if self.check_operand(&words, operand, slot).is_err() {
                break;
            }
        }
        // What no decoder has read is warned of: the entry may never come here.
        let names = |e: &LowerError| matches!(e, LowerError::Undeclared { .. });
        if self.errors[before..].iter().any(names) {
            return;
        }
        for error in self.errors.split_off(before) {
            self.warnings.push(LowerWarning::UnknownOpcode {
                text: self.opcode_text(),
                why: error.to_string(),
                span: error.span().unwrap_or(self.opcode_span),
                help: None,
            });
        }
    }

    fn check_operand(
        &mut self,
        words: &Words<'_>,
        operand: &'a Operand,
        slot: Slot,
    ) -> Decoded<()> {
        let (count, ty) = words.vector(slot);
        match slot.class {
            b'm' | b't' | b'z' if matches!(operand.kind, OperandKind::Address(_)) => {
                return self.check_place(words, operand, slot);
            }
            b'z' => return self.scalar(operand, Type::B64),
            b'y' => {
                if let OperandKind::Vector(list) = operand.kind {
                    let list = &self.m[list];
                    if list.len() != 4 {
                        return self.wrong(operand.span, "a vector of 4 registers");
                    }
                    return list.iter().try_for_each(|e| self.scalar(e, Type::B32));
                }
                return self.scalar(operand, Type::B64);
            }
            b'p' => return self.predicate(operand),
            b'D' | b'u' | b'U' => return self.video(operand),
            b'a' => {
                if let OperandKind::Name(name) = operand.kind
                    && !matches!(self.resolve(name, operand.span)?, Binding::Reg { .. })
                {
                    return Ok(());
                }
            }
            _ => {}
        }
        if count.is_some() || slot.class == b'v' {
            return self.many(operand, count, ty);
        }
        match ty {
            Some(ty) => self.scalar(operand, ty),
            None => Ok(()),
        }
    }

    fn many(
        &mut self,
        operand: &'a Operand,
        count: Option<usize>,
        ty: Option<Type>,
    ) -> Decoded<()> {
        let elements = self.elements(operand)?;
        let vector = matches!(operand.kind, OperandKind::Vector(_));
        if count.is_some_and(|count| count != elements.len())
            || (!vector && elements.len() == 1 && count.is_none())
        {
            return self.wrong(operand.span, "a vector of another size");
        }
        let Some(ty) = ty else { return Ok(()) };
        for element in &elements {
            self.scalar(element, ty)?;
        }
        Ok(())
    }

    /// A register, constant or sink of a type. Types narrower than a register take one of the
    /// register's width.
    fn scalar(&mut self, operand: &Operand, ty: Type) -> Decoded<()> {
        match operand.kind {
            OperandKind::Name(name) => self.fits(operand, name, None, ty),
            OperandKind::Component { base, component } => {
                self.fits(operand, base, Some(component), ty)
            }
            OperandKind::Pair {
                first: Some(name), ..
            } => self.fits(operand, name, None, ty),
            // A decimal float has 64 bits, so it fits untyped operands of that size.
            OperandKind::Float(_) if !ty.is_float() && !matches!(ty, Type::Tf32 | Type::B64) => {
                self.wrong(operand.span, "an integer or a register")
            }
            OperandKind::Int(_) if ty.class() == TypeClass::Float && ty.bits() >= 32 => {
                self.wrong(operand.span, "a float or a register")
            }
            OperandKind::Vector(_) | OperandKind::Address(_) | OperandKind::Group(_) => {
                self.wrong(operand.span, "a register")
            }
            _ => Ok(()),
        }
    }

    fn fits(
        &mut self,
        operand: &Operand,
        name: Name,
        component: Option<Component>,
        ty: Type,
    ) -> Decoded<()> {
        let (_, found) = self.reg_of(name, component, operand.span)?;
        // Narrow and packed types live in registers of 16 bits or more.
        let bits = if ty == Type::Pred {
            1
        } else {
            ty.bits().max(16)
        };
        let class = match (found.class(), ty.class()) {
            (TypeClass::Predicate, TypeClass::Predicate) => true,
            (TypeClass::Predicate, _) | (_, TypeClass::Predicate) => false,
            (TypeClass::Float, TypeClass::Unsigned | TypeClass::Signed) => false,
            (TypeClass::Unsigned | TypeClass::Signed, TypeClass::Float) => false,
            _ => true,
        };
        if class && found.bits() == bits {
            return Ok(());
        }
        let opcode = self.opcode_text();
        self.fail(LowerError::OperandType {
            name: self.m.text(name).to_string(),
            span: operand.span,
            found: found.text(),
            wanted: ty.text(),
            opcode,
        })
    }

    fn predicate(&mut self, operand: &Operand) -> Decoded<()> {
        match operand.kind {
            OperandKind::Name(name) | OperandKind::Not(name) => {
                self.fits(operand, name, None, Type::Pred)
            }
            OperandKind::Int(_) | OperandKind::Component { .. } => Ok(()),
            _ => self.wrong(operand.span, "a predicate"),
        }
    }

    /// Sources and destinations of section 9.7.18: 32 bits, or part of them.
    fn video(&mut self, operand: &Operand) -> Decoded<()> {
        match operand.kind {
            OperandKind::Component {
                base: name,
                component: Component::Other(_),
            }
            | OperandKind::NegComponent { base: name, .. }
            | OperandKind::Name(name)
            | OperandKind::Neg(name) => self.fits(operand, name, None, Type::U32),
            OperandKind::Int(_) => Ok(()),
            _ => self.wrong(operand.span, "a register of 32 bits or a part of it"),
        }
    }

    fn check_place(&mut self, words: &Words<'_>, operand: &'a Operand, slot: Slot) -> Decoded<()> {
        let OperandKind::Address(id) = operand.kind else {
            return Ok(());
        };
        let address = &words.module[id];
        let rest = &words.module[address.rest];
        if (slot.class == b't') == rest.is_empty() {
            let wanted = match slot.class {
                b't' => "an address with coordinates",
                _ => "an address without coordinates",
            };
            return self.wrong(operand.span, wanted);
        }
        let Base::Name(name) = address.base else {
            return Ok(());
        };
        let ty = match self.resolve(name, operand.span)? {
            Binding::Reg { ty, .. } => ty,
            _ if slot.width == Width::Bits(32) => {
                return self.wrong(operand.span, "an address in tensor memory");
            }
            _ => return Ok(()),
        };
        // Tensor memory has addresses of 32 bits, and so has shared memory if it is named.
        let implied = matches!(
            words.op,
            Op::RedAsync
                | Op::StAsync
                | Op::Ldmatrix
                | Op::Stmatrix
                | Op::Tcgen05Alloc
                | Op::Tcgen05Commit
                | Op::CpAsyncBulkPrefetch
                | Op::TensormapReplace
        );
        let short = implied
            || words
                .spaces
                .iter()
                .any(|space| !matches!(space, Space::Global | Space::Const | Space::Local));
        let wanted = match slot.width {
            Width::Bits(32) => Some(32),
            _ if slot.class == b'z' => Some(32),
            _ if slot.class == b't' || !short => Some(64),
            _ => None,
        };
        if wanted.is_some_and(|bits| bits != ty.bits()) && self.m.address_size() == 64 {
            let opcode = self.opcode_text();
            return self.fail(LowerError::OperandType {
                name: self.m.text(name).to_string(),
                span: operand.span,
                found: ty.text(),
                wanted: if wanted == Some(32) { "b32" } else { "b64" },
                opcode,
            });
        }
        Ok(())
    }
}
