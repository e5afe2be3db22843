//! Initial values of global and constant variables as bytes.
//!
//! The problem: nested braces, numbers of the element type and addresses of other variables become
//! one run of bytes and a list of addresses to fill in. Source: PTX ISA 9.0, section 5.4.4; as in
//! C, a value without braces of its own continues where the last one ended, a brace starts the
//! next row, and what is missing is zero.
//!
//! Not claimed: the content of a variable that holds something else than numbers and 64-bit
//! addresses of global variables and functions (masked addresses); it counts as unknown.

use super::address::symbol_plus;
use super::lower::Lowerer;
use super::scope::{At, Binding};
use super::{Begins, SymbolRef};
use crate::ptx::{Decl, Expr, ExprKind, Float, Id, Init, List, Type, Value, evaluate};

/// Initial values behind this offset are not kept; the variable then counts as unknown.
const MAX_INIT: u64 = 1 << 28;

/// One element of an initialiser.
enum Element {
    Bits(u64),
    Address(SymbolRef, i64),
    Unknown,
}

impl Lowerer<'_> {
    /// Fills in the initial values of every global variable that the code names; initialisers can
    /// name further ones.
    pub(super) fn initialise_globals(&mut self) {
        let mut next = 0;
        while let Some(&(decl, declarator)) = self.statics.declared.get(next) {
            if let Some(init) = self.m[declarator].init {
                let dims = self.m[declarator].dims;
                // Functions and tables of pure ones stand among the variables.
                if let Some(global) = self.statics.globals.get(&declarator.index()) {
                    self.initialise(global.0 as usize, &self.m[decl], dims, init);
                }
            }
            next += 1;
        }
    }

    fn initialise(
        &mut self,
        global: usize,
        decl: &Decl,
        dims: List<Option<Id<Expr>>>,
        init: Id<Init>,
    ) {
        let m = self.m;
        let total = self.k.globals[global].bytes;
        let unit = u64::from(decl.ty.bytes());
        // Bytes of one item at each depth of braces: rows of the array, then parts of a vector.
        let mut strides = Vec::new();
        let mut stride = total;
        for (i, dim) in m[dims].iter().enumerate() {
            let count = match (dim, m[init]) {
                (Some(id), _) => match evaluate(m, *id) {
                    Ok(Value::Int(int)) => int.bits,
                    _ => 0,
                },
                (None, Init::List(items)) if i == 0 => items.len() as u64,
                (None, _) => 1,
            };
            stride = stride.checked_div(count).unwrap_or(0);
            strides.push(stride);
        }
        if decl.vector.is_some() {
            strides.push(unit);
        }
        let mut bytes: Vec<u8> = Vec::new();
        let mut relocs = Vec::new();
        let mut unknown = false;
        // Open braces: the items left, the depth's base offset and the end of the last item.
        struct Open<'m> {
            items: std::slice::Iter<'m, Init>,
            base: u64,
            at: u64,
        }
        let single = [m[init]];
        let outer = match m[init] {
            Init::List(items) => m[items].iter(),
            Init::Value(_) | Init::Field { .. } => single.iter(),
        };
        let mut stack = vec![Open {
            items: outer,
            base: 0,
            at: 0,
        }];
        while let Some(open) = stack.last_mut() {
            let Some(item) = open.items.next() else {
                stack.pop();
                continue;
            };
            match *item {
                Init::Value(expr) => {
                    let at = open.at;
                    open.at += unit;
                    match self.element_value(decl.ty, expr) {
                        _ if at + unit > total => {}
                        _ if at > MAX_INIT => unknown = true,
                        Element::Bits(0) => {}
                        Element::Bits(bits) => {
                            let end = (at + unit) as usize;
                            if bytes.len() < end {
                                bytes.resize(end, 0);
                            }
                            let from = &bits.to_le_bytes()[..(unit as usize).min(8)];
                            bytes[at as usize..at as usize + from.len()].copy_from_slice(from);
                        }
                        Element::Address(symbol, addend) => relocs.push((at, symbol, addend)),
                        Element::Unknown => unknown = true,
                    }
                }
                // Only opaque types have fields, and those are no memory.
                Init::Field { .. } => unknown = true,
                Init::List(items) => {
                    let depth = stack.len() - 1;
                    let stride = strides.get(depth).copied().unwrap_or(unit).max(1);
                    let Some(open) = stack.last_mut() else { break };
                    let row = (open.at - open.base).div_ceil(stride) * stride + open.base;
                    open.at = row + stride;
                    stack.push(Open {
                        items: m[items].iter(),
                        base: row,
                        at: row,
                    });
                }
            }
        }
        let var = &mut self.k.globals[global];
        var.init = bytes;
        var.relocs = relocs;
        if unknown {
            var.begins = Begins::Elsewhere;
        }
    }

    /// The value of one element.
    fn element_value(&mut self, ty: Type, expr: Id<Expr>) -> Element {
        match evaluate(self.m, expr) {
            Ok(Value::Int(int)) if !ty.is_float() => Element::Bits(int.bits),
            Ok(Value::Float(value)) => float_bits(ty, value, self.m[expr].kind),
            Ok(Value::Int(_)) => Element::Unknown,
            Err(_) => self.element_address(ty, expr),
        }
    }

    fn element_address(&mut self, ty: Type, expr: Id<Expr>) -> Element {
        let Some(sum) = symbol_plus(self, expr) else {
            return Element::Unknown;
        };
        match self.module_name(sum.name) {
            Some(Binding::Var(place)) => match place.at {
                At::Global(global) if ty.bits() == 64 => Element::Address(
                    match sum.generic {
                        true => SymbolRef::Generic(global),
                        false => SymbolRef::Global(global),
                    },
                    sum.addend,
                ),
                _ => Element::Unknown,
            },
            Some(Binding::Function(function)) if ty.bits() == 64 => {
                match self.function_place(function).at {
                    At::Global(global) => Element::Address(SymbolRef::Global(global), sum.addend),
                    At::Offset(_) => Element::Unknown,
                }
            }
            _ => Element::Unknown,
        }
    }
}

fn float_bits(ty: Type, value: f64, kind: ExprKind) -> Element {
    match (ty, kind) {
        (Type::F32 | Type::B32, ExprKind::Float(Float::F32(bits))) => {
            Element::Bits(u64::from(bits))
        }
        (Type::F32, _) => Element::Bits(u64::from((value as f32).to_bits())),
        (Type::F64 | Type::B64, _) => Element::Bits(value.to_bits()),
        _ => Element::Unknown,
    }
}
