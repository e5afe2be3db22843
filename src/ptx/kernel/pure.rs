//! Calls of functions without a body that the user says are pure (`--assume 'pure FUNCTION'`), as reads of a table.
//!
//! Problem: nothing is known of such a function, but that it touches no memory and that equal arguments give equal results. A
//! table that holds each result at the place that the arguments name says the same and no more, and reads of a table at
//! places that data choose are understood everywhere (`term::gather`). So a call becomes a load from a variable of its
//! own, which no module declares and nothing writes; both kernels see one variable, since it has the name of the function.
//!
//! A place is the one word of the arguments as a signed integer, or a name of all of them, times the bytes of a result. A name has
//! 21 bits and stands in a table of names, at the place of the first word or at the one of the name of what came before
//! and 16 bits more, so that no object is longer than the window that the simulator gives it.
//!
//! Sound for proofs: the terms of one question, which is a pair of elements or of accesses, call the function with fewer than
//! 2^21 different arguments, so some table of names is injective on them and some table of results is the function;
//! what holds for all tables holds for those. For refutations: two names that meet in a witness are a function that gives these
//! arguments one result.
//! Arguments are equal as bits, which a rounding tells apart: what is equal over the reals alone proves nothing here.
//!
//! Not claimed: functions of pointers; a base in a place is not resolved.

use super::entry::demangled;
use super::lower::Lowerer;
use super::operand::Fit;
use super::scope::At;
use super::sig::{Decoded, unsupported};
use super::texture::access_of;
use super::{Access, Addr, Begins, GlobalId, GlobalVar, IntOp, IntTy, Kernel, Op, RegId, Src};
use crate::ptx;
use crate::ptx::{Function, Id, Operand, Param, Type};

/// Bytes of the arguments, and of the result, of one call.
const MOST: u64 = 1 << 6;
/// What makes a signed word one that is not negative.
const MIDDLE: i64 = 1 << 31;
/// Bits of a name.
const NAME: u64 = 21;

/// What the table of a function is called; no module can declare it.
fn table(function: &str) -> String {
    format!("{function}()")
}

/// True if a variable is the table of a function, or one of names.
pub fn is_table(variable: &str) -> bool {
    variable.ends_with("()")
}

/// The function whose results, or names of whose arguments, a variable holds.
pub fn function_of(variable: &str) -> Option<&str> {
    let function = variable.strip_suffix("()")?;
    Some(function.split_once(" of ").map_or(function, |(_, f)| f))
}

/// True if a function is a read of a texture or a question about one.
pub fn is_texture(function: &str) -> bool {
    let words = ["tex.", "tld4.", "txq.", "suq."];
    words.iter().any(|word| function.starts_with(word))
}

/// True if the kernel calls a function of this name whose results are read from a table.
pub fn calls(kernel: &Kernel, name: &str) -> bool {
    let mut all = kernel.globals.iter();
    all.any(|g| function_of(&g.name).is_some_and(|f| is_named(f, name)))
}

/// Whether a function has this name, in PTX or in its source.
fn is_named(function: &str, name: &str) -> bool {
    let of_source = |d: String| d.split('(').next() == Some(name);
    function == name || demangled(function).is_some_and(of_source)
}

impl Lowerer<'_> {
    /// Whether the user says that a function is pure.
    pub(super) fn is_pure(&self, function: &str) -> bool {
        self.pure.iter().any(|name| is_named(function, name))
    }

    /// A call of such a function.
    pub(super) fn call_pure(
        &mut self,
        callee: Id<Function>,
        actuals: (&[Operand], &[Operand]),
    ) -> Decoded<()> {
        let m = self.m;
        let function = &m[callee];
        let name = table(m.text(function.name));
        let mut words = Vec::new();
        for (param, actual) in m[function.params].iter().zip(actuals.1) {
            self.argument_words(param, actual, &mut words)?;
        }
        let [(param, actual)] = m[function.results]
            .iter()
            .zip(actuals.0)
            .collect::<Vec<_>>()[..]
        else {
            return match actuals.0.is_empty() {
                // Nothing is left of it.
                true => Ok(()),
                false => unsupported("a pure function with several results"),
            };
        };
        let bytes = match param.space {
            ptx::Space::Reg => u64::from(param.ty.bytes()),
            _ => self.formal_size(param)?,
        };
        if bytes > MOST || words.len() as u64 * 4 > MOST {
            return unsupported("a pure function of so many bytes");
        }
        let addr = self.entry_of(&name, &words, bytes.next_power_of_two())?;
        self.read_result(addr, bytes, param, actual)
    }

    /// The words of an argument, low first, each with zeros above it in 32 bits.
    fn argument_words(
        &mut self,
        param: &Param,
        actual: &Operand,
        words: &mut Vec<Src>,
    ) -> Decoded<()> {
        if let Some(place) = self.variable(actual) {
            let At::Offset(first) = place.at else {
                return unsupported("an argument that is not a `.param` variable");
            };
            if place.bytes > MOST {
                return unsupported("a pure function of so many bytes");
            }
            let mut at = 0;
            while at < place.bytes as u32 {
                let ty = piece(first + at, place.bytes - u64::from(at), Type::B32);
                let word = self.load_part(place, at, ty)?;
                words.push(self.below_zeros(word, ty.bits() as u8, 32));
                at += ty.bytes();
            }
            return Ok(());
        }
        if param.vector.is_some() || !param.dims.is_empty() {
            return unsupported("a vector register as a parameter");
        }
        let whole = self.value(actual, param.ty, Fit::Exact)?;
        match param.ty.bits() {
            bits @ (8 | 16 | 32) => words.push(self.below_zeros(whole, bits as u8, 32)),
            64 => words.extend(self.halves_of(whole, 32).map(Src::Reg)),
            _ => return unsupported("a predicate or 128 bits as an argument"),
        }
        Ok(())
    }

    /// The halves of a number, low first.
    pub(super) fn halves_of(&mut self, src: Src, part: u8) -> [RegId; 2] {
        let ty = if part == 16 { Type::B16 } else { Type::B32 };
        let dsts = [self.temp(ty), self.temp(ty)];
        self.emit(Op::Unpack {
            dsts: dsts.map(Some).to_vec(),
            part,
            src,
        });
        dsts
    }

    /// A number with zeros above it.
    pub(super) fn below_zeros(&mut self, src: Src, from: u8, to: u8) -> Src {
        if from == to {
            return src;
        }
        let ty = if to == 32 { Type::B32 } else { Type::B64 };
        let dst = self.temp(ty);
        let mut srcs = vec![Src::Imm(0); usize::from(to / from)];
        srcs[0] = src;
        self.emit(Op::Pack {
            dst,
            part: from,
            srcs,
        });
        Src::Reg(dst)
    }

    /// The address of the result, of so many bytes, that the table of a function has for some words.
    pub(super) fn entry_of(&mut self, table: &str, words: &[Src], bytes: u64) -> Decoded<RegId> {
        let results = (table.to_string(), bytes.min(8) as u32);
        let (first, rest) = match words.split_first() {
            Some((&first, rest)) => (first, rest),
            None => (Src::Imm(0), words),
        };
        if rest.is_empty() {
            let from = Src::Global(self.table_of(results), bytes as i64 * MIDDLE);
            let words = [first, Src::Imm(bytes)];
            let scaled = self.int_op(IntOp::MulWide, (32, true), words);
            return Ok(self.int_op(IntOp::Add, (64, false), [Src::Reg(scaled), from]));
        }
        let names = format!("0 of {table}");
        let mut name = self.entry_of(&names, &[first], 4)?;
        let pieces = rest.iter().map(|&w| self.halves_of(w, 16));
        let mut pieces: Vec<RegId> = pieces.collect::<Vec<_>>().concat();
        // A name, 16 bits and four bytes fill a window; a longer result takes a name of its own.
        let last = match bytes {
            0..=4 => pieces.pop(),
            _ => None,
        };
        for (level, &piece) in pieces.iter().enumerate() {
            let names = self.table_of((format!("{} of {table}", level + 1), 4));
            let below = self.named(name)?;
            let from = self.beyond(Src::Global(names, 0), (piece, 4));
            name = self.scaled((below, 4), from);
        }
        let mut from = Src::Global(self.table_of(results), 0);
        if let Some(piece) = last {
            from = self.beyond(from, (piece, bytes));
        }
        let name = self.named(name)?;
        Ok(self.scaled((name, bytes), from))
    }

    /// The address that lies as many times all names beyond another one as 16 bits say.
    fn beyond(&mut self, from: Src, (piece, bytes): (RegId, u64)) -> Src {
        let above = [
            self.below_zeros(Src::Reg(piece), 16, 64),
            Src::Imm(bytes << NAME),
        ];
        let above = self.int_op(IntOp::MulLo, (64, false), above);
        Src::Reg(self.int_op(IntOp::Add, (64, false), [Src::Reg(above), from]))
    }

    /// The object of a table with the bytes of an element.
    fn table_of(&mut self, (name, elem): (String, u32)) -> GlobalId {
        self.foreign_object(name, (0, elem, MOST as u32))
    }

    /// The name that stands at an address.
    pub(super) fn named(&mut self, addr: RegId) -> Decoded<RegId> {
        let word = self.temp(Type::B32);
        self.load_at((addr, 0), Type::B32, word)?;
        let mask = Src::Imm((1 << NAME) - 1);
        Ok(self.int_op(IntOp::And, (32, false), [Src::Reg(word), mask]))
    }

    /// The address that lies some bytes for each unit of a name beyond another one.
    pub(super) fn scaled(&mut self, (name, bytes): (RegId, u64), from: Src) -> RegId {
        let words = [Src::Reg(name), Src::Imm(bytes)];
        let scaled = self.int_op(IntOp::MulWide, (32, false), words);
        self.int_op(IntOp::Add, (64, false), [Src::Reg(scaled), from])
    }

    /// The object of a name whose content no program knows, with its bytes, those of an element and its alignment.
    pub(super) fn foreign_object(
        &mut self,
        name: String,
        (bytes, elem, align): (u64, u32, u32),
    ) -> GlobalId {
        let known = self.k.globals.iter().position(|g| g.name == name);
        let at = known.unwrap_or(self.k.globals.len());
        if known.is_none() {
            self.k.globals.push(GlobalVar {
                name,
                constant: false,
                bytes,
                elem,
                align,
                fmt: None,
                init: Vec::new(),
                relocs: Vec::new(),
                begins: Begins::Elsewhere,
            });
        }
        GlobalId(at as u32)
    }

    /// An operation on two integers of a width and a sign, into a register of its own.
    pub(super) fn int_op(
        &mut self,
        op: IntOp,
        (width, signed): (u8, bool),
        [a, b]: [Src; 2],
    ) -> RegId {
        let wide = width == 64 || op == IntOp::MulWide;
        let dst = self.temp(if wide { Type::B64 } else { Type::B32 });
        self.emit(Op::Int {
            op,
            ty: IntTy { width, signed },
            lanes: 1,
            dst: Some(dst),
            dst2: None,
            src: [a, b, Src::Imm(0), Src::Imm(0)],
        });
        dst
    }

    /// Loads from an entry, at an offset.
    pub(super) fn load_at(
        &mut self,
        (addr, offset): (RegId, i64),
        ty: Type,
        dst: RegId,
    ) -> Decoded<()> {
        let access = Access {
            nc: true,
            ..access_of(ty)?
        };
        self.emit(Op::Ld {
            access,
            dsts: vec![Some(dst)],
            addr: Addr {
                base: Src::Reg(addr),
                offset,
            },
            used: u32::MAX,
        });
        Ok(())
    }

    /// Reads a result into the register or variable of the caller.
    fn read_result(
        &mut self,
        addr: RegId,
        bytes: u64,
        param: &Param,
        actual: &Operand,
    ) -> Decoded<()> {
        let Some(place) = self.variable(actual) else {
            let dst = self.reg(actual, param.ty, Fit::Exact)?;
            return self.load_at((addr, 0), param.ty, dst);
        };
        let At::Offset(first) = place.at else {
            return unsupported("a result that is not a `.param` variable");
        };
        if param.space == ptx::Space::Reg || place.bytes != bytes {
            return unsupported(
                "a register where the function has a `.param`, or a result of another size",
            );
        }
        let mut at = 0;
        while u64::from(at) < bytes {
            let ty = piece(first + at, bytes - u64::from(at), Type::B64);
            let dst = self.temp(ty);
            self.load_at((addr, i64::from(at)), ty, dst)?;
            self.store_part(place, at, ty, Src::Reg(dst))?;
            at += ty.bytes();
        }
        Ok(())
    }
}

/// The type of the largest piece of a variable at an offset, at most one wide.
fn piece(at: u32, left: u64, widest: Type) -> Type {
    let fits = |ty: &Type| u64::from(ty.bytes()) <= left && at.is_multiple_of(ty.bytes());
    let below = |ty: &Type| ty.bytes() <= widest.bytes();
    let all = [Type::B64, Type::B32, Type::B16];
    all.into_iter().filter(below).find(fits).unwrap_or(Type::B8)
}
