//! Addresses as an object and an offset, and the accesses to them.

use rustc_hash::FxHashSet;

use super::expr::{CONTENTS, Exprs, Id, Level, Node};
use super::limits::MAX_LISTED;
use super::state::{Accessed, By, Does, Object, Walk};
use super::words::Places;
use crate::answer::UnknownKind;
use crate::kernel::{Access as Modifiers, Addr, Kernel, Pc, RegId, Space, Src, SymbolRef};
use crate::spec::{Field, Resolved, Value};
use crate::term::BitsOp;

/// The objects of addresses.
pub(super) struct Named<'a> {
    pub kernel: &'a Kernel,
    pub resolved: &'a Resolved,
    pub objects: &'a mut Vec<Object>,
}

impl Named<'_> {
    fn number(&mut self, object: Object) -> u32 {
        match self.objects.iter().position(|o| *o == object) {
            Some(i) => i as u32,
            None => {
                self.objects.push(object);
                self.objects.len() as u32 - 1
            }
        }
    }
}

impl Places for Named<'_> {
    fn place(&mut self, e: &mut Exprs, src: Src, width: u8) -> Id {
        let (object, plus) = match src {
            Src::Global(g, plus) => (Object::Array(self.resolved.bindings.global(g).0), plus),
            Src::Var(Space::Shared | Space::SharedCluster, at, plus) => {
                let mut vars = self.kernel.shared.iter().enumerate();
                let dynamic = self.kernel.dynamic_shared;
                match vars.find(|(_, v)| v.offset <= at && at < v.offset + v.bytes) {
                    _ if dynamic.is_some_and(|d| at >= d) => (
                        Object::Dynamic,
                        plus + i64::from(at - dynamic.unwrap_or(at)),
                    ),
                    Some((i, v)) => (Object::Shared(i as u32), plus + i64::from(at - v.offset)),
                    None => (Object::Dynamic, plus),
                }
            }
            Src::Var(_, at, plus) => {
                let mut vars = self.kernel.locals.iter().enumerate();
                match vars.find(|(_, v)| v.offset <= at && at < v.offset + v.bytes) {
                    Some((i, v)) => (
                        Object::Local(i as u32),
                        plus.wrapping_add(i64::from(at - v.offset)),
                    ),
                    // Nothing is known to lie there.
                    None => (Object::Local(u32::MAX), plus),
                }
            }
            Src::Reg(_) | Src::Imm(_) => return e.constant(0, width),
        };
        let number = self.number(object);
        let (base, plus) = (e.base(number, width), e.constant(plus as u64, width));
        e.add(base, plus)
    }
}

impl Walk<'_> {
    pub(super) fn load(
        &mut self,
        pc: Pc,
        (access, addr): (&Modifiers, &Addr),
        dsts: &[Option<RegId>],
        when: Id,
        regs: &[Id],
    ) -> Vec<(RegId, Id)> {
        let bits = access.ty.bits();
        let bytes = bits / 8;
        let sign = matches!(access.ty, crate::kernel::NumTy::Int(t) if t.signed);
        let mut out = Vec::new();
        for (i, dst) in dsts.iter().enumerate() {
            let plus = i as i64 * i64::from(bytes);
            let value = match access.space {
                Space::Param => {
                    let known = match addr.base {
                        Src::Imm(at) => Some(at as i64),
                        Src::Var(Space::Param, at, more) => Some(i64::from(at) + more),
                        _ => None,
                    };
                    known.map(|at| self.parameter((at + addr.offset + plus) as u32, bytes))
                }
                space => {
                    self.weak(pc, access);
                    let object = self.access(
                        pc,
                        space,
                        (addr, plus),
                        bytes,
                        (Does::Reads, None),
                        when,
                        regs,
                    );
                    object
                        .filter(|(o, _)| self.is_constant(*o))
                        .map(|(o, offset)| {
                            if let Some(known) = self.initial(o, offset, bytes) {
                                return known;
                            }
                            let tag = CONTENTS | u64::from(o) << 8 | u64::from(bytes);
                            self.e.function(tag, vec![offset], bits.min(64) as u8)
                        })
                }
            };
            let Some(dst) = dst else { continue };
            let width = self.kernel.reg_width[dst.0 as usize];
            let of = self.open.last().map(|o| o.index);
            let value = match value {
                Some(v) => self.e.resize(v, width, sign),
                None => self.e.fresh(width, Level::Thread, of),
            };
            out.push((*dst, value));
        }
        if access.space != Space::Param {
            self.aligned(pc, addr, bytes * dsts.len() as u32, when, regs);
        }
        out
    }

    /// What a variable that nothing writes holds at an offset inside of it that is a multiple of the size: one of few
    /// numbers or addresses with which it begins.
    fn initial(&mut self, object: u32, offset: Id, bytes: u32) -> Option<Id> {
        let Some(Object::Array(n)) = self.out.objects.get(object as usize).copied() else {
            return None;
        };
        let mut variables = self
            .resolved
            .bindings
            .globals
            .iter()
            .zip(&self.kernel.globals);
        let (_, var) = variables.find(|(a, v)| a.0 == n && !v.external)?;
        let size = u64::from(bytes);
        let count = var.bytes / size.max(1);
        if !matches!(bytes, 1 | 2 | 4 | 8) || count == 0 || count > MAX_LISTED {
            return None;
        }
        let mut found = None;
        for i in (0..count).rev() {
            let (from, end) = (i * size, i * size + size);
            let near = var.relocs.iter().find(|r| r.0 < end && from < r.0 + 8);
            let value = match near {
                Some((at, SymbolRef::Global(to), plus)) if *at == from && size == 8 => {
                    let src = Src::Global(*to, *plus);
                    let mut named = Named {
                        kernel: self.kernel,
                        resolved: self.resolved,
                        objects: &mut self.out.objects,
                    };
                    named.place(&mut self.e, src, 64)
                }
                Some(_) => return None,
                None => {
                    let byte = |at: u64| u64::from(var.init.get(at as usize).copied().unwrap_or(0));
                    let bits = (from..end).rev().fold(0, |bits, at| bits << 8 | byte(at));
                    self.e.constant(bits, bytes as u8 * 8)
                }
            };
            let width = self.e.width(offset);
            let here = self.e.constant(from, width);
            let is = self.e.compare(super::expr::Order::Equal, offset, here);
            found = Some(match found {
                Some(other) => self.e.choose(is, value, other),
                None => value,
            });
        }
        found
    }

    /// An array that nothing writes gives equal values at equal places.
    pub(super) fn is_constant(&self, object: u32) -> bool {
        let unwritten = !self.written.contains(&object);
        unwritten
            && matches!(
                self.out.objects.get(object as usize),
                Some(Object::Array(_))
            )
    }

    /// The bytes of the parameter space.
    pub(super) fn parameter(&mut self, at: u32, bytes: u32) -> Id {
        let width = (bytes * 8).min(64) as u8;
        let fields = &self.resolved.bindings.fields;
        let holds = |f: &&Field| f.offset <= at && at + bytes <= f.offset + f.bytes;
        let field = fields.iter().find(holds).copied();
        match field {
            Some(Field {
                value: Value::Pointer(a, 0),
                offset,
                ..
            }) if offset == at && bytes == 8 => {
                let mut named = Named {
                    kernel: self.kernel,
                    resolved: self.resolved,
                    objects: &mut self.out.objects,
                };
                let number = named.number(Object::Array(a.0));
                self.e.base(number, 64)
            }
            Some(Field {
                value: Value::Bits(v),
                offset,
                ..
            }) => {
                let by = 8 * (at - offset);
                self.e.constant(v >> by.min(63), width)
            }
            _ => match self.scalars.get(&(at, bytes)) {
                Some(id) => *id,
                None => {
                    let id = self.e.fresh(width, Level::Grid, None);
                    self.scalars.insert((at, bytes), id);
                    id
                }
            },
        }
    }

    /// The word of an integer parameter that a fact names.
    pub(super) fn scalar(&mut self, at: u32) -> Id {
        let width = self
            .kernel
            .params
            .iter()
            .find(|p| p.offset == at)
            .map_or(4, |p| p.bytes.min(8));
        self.parameter(at, width)
    }

    /// The word of some bytes of the parameter space.
    pub(super) fn scalar_of(&mut self, at: u32, bytes: u32) -> Id {
        self.parameter(at, bytes)
    }

    /// The address of an access as an object and an offset.
    pub(super) fn address(
        &mut self,
        addr: &Addr,
        plus: i64,
        space: Space,
        regs: &[Id],
    ) -> Option<(u32, Id)> {
        let width = match (addr.base, space) {
            (Src::Reg(r), _) => self.kernel.reg_width[r.0 as usize],
            (_, Space::Global | Space::Generic) => 64,
            _ => 32,
        };
        let base = self.reader(regs, |r| r.src(addr.base, width));
        let more = self
            .e
            .constant(addr.offset.wrapping_add(plus) as u64, width);
        let whole = self.e.add(base, more);
        self.resolve(whole)
    }

    /// An address as exactly one base and the rest.
    pub(super) fn resolve(&mut self, address: Id) -> Option<(u32, Id)> {
        let width = self.e.width(address);
        let mut rest = self.e.constant(0, width);
        let mut found = None;
        let mut stack = vec![address];
        while let Some(id) = stack.pop() {
            match *self.e.node(id) {
                Node::Word(BitsOp::Add, a, b) => stack.extend([a, b]),
                Node::Base(object) if found.is_none() => found = Some(object),
                Node::Base(_) => return None,
                Node::Choose(p, a, b) => {
                    let (x, y) = (self.resolve(a), self.resolve(b));
                    match (x, y) {
                        (Some((o, x)), Some((q, y))) if o == q && found.is_none() => {
                            found = Some(o);
                            let offset = self.e.choose(p, x, y);
                            rest = self.e.add(rest, offset);
                        }
                        (None, None) => rest = self.e.add(rest, id),
                        _ => return None,
                    }
                }
                Node::Wide(a) | Node::Signed(a) if self.has_base(a) => {
                    // A shared address at another width; its bounds are shown.
                    let (object, offset) = self.resolve(a)?;
                    if found.replace(object).is_some() {
                        return None;
                    }
                    let wide = self.e.resize(offset, width, false);
                    rest = self.e.add(rest, wide);
                }
                _ if self.has_base(id) => return None,
                _ => rest = self.e.add(rest, id),
            }
        }
        found.map(|o| (o, rest))
    }

    pub(super) fn has_base(&self, id: Id) -> bool {
        let mut stack = vec![id];
        let mut seen = FxHashSet::default();
        while let Some(id) = stack.pop() {
            if !seen.insert(id) {
                continue;
            }
            match self.e.node(id) {
                Node::Base(_) => return true,
                // A function of an address is no address.
                Node::Function(..) | Node::Compare(..) => {}
                node => super::expr::operands(node, |o| stack.push(o)),
            }
        }
        false
    }

    /// Records an access; its object and offset where they are known.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn access(
        &mut self,
        pc: Pc,
        space: Space,
        (addr, plus): (&Addr, i64),
        bytes: u32,
        (does, value): (Does, Option<Id>),
        guard: Id,
        regs: &[Id],
    ) -> Option<(u32, Id)> {
        if space == Space::Param {
            return None;
        }
        if space == Space::SharedCluster {
            self.gap(
                UnknownKind::UnsupportedInstruction,
                pc,
                "shared memory of a cluster is not followed in all launches",
            );
            return None;
        }
        let Some((object, offset)) = self.address(addr, plus, space, regs) else {
            self.gap(
                UnknownKind::DataDependentAddress,
                pc,
                "an address that is no known object and an offset",
            );
            return None;
        };
        let kind = self.out.objects[object as usize];
        let fits = match space {
            Space::Shared => kind.is_shared(),
            Space::Global | Space::Const => matches!(kind, Object::Array(_)),
            Space::Local => matches!(kind, Object::Local(_)),
            Space::Generic | Space::SharedCluster | Space::Param => true,
        };
        if !fits {
            self.gap(
                UnknownKind::DataDependentAddress,
                pc,
                "an address in another state space than the access names",
            );
            return None;
        }
        // A thread's own memory has no conflicts; only where an access lies is asked.
        if let Object::Local(i) = kind {
            let room = self.kernel.locals.get(i as usize).map_or(0, |v| v.bytes);
            let inside = |v: u64| {
                v.checked_add(u64::from(bytes))
                    .is_some_and(|end| end <= u64::from(room))
            };
            if self.e.value(offset).is_some_and(inside) {
                return None;
            }
        }
        let (at, loops) = (self.tick(), self.around());
        self.out.accesses.push(Accessed {
            at,
            pc,
            does,
            object,
            offset,
            bytes,
            guard,
            loops,
            value,
            by: By::Thread,
        });
        Some((object, offset))
    }

    /// Allocations are aligned to 256 bytes where nothing else is said, variables as they are declared.
    pub(super) fn array_alignment(&self, n: u32) -> u32 {
        let globals = self.resolved.bindings.globals.iter();
        let mut variables = globals.zip(&self.kernel.globals);
        match variables.find(|(a, _)| a.0 == n) {
            Some((_, v)) => v.align,
            None => {
                let array = self.resolved.arrays.0.get(n as usize);
                array.and_then(|a| a.align).unwrap_or(256)
            }
        }
    }

    /// The address must be a multiple of the size of the whole access.
    pub(super) fn aligned(&mut self, pc: Pc, addr: &Addr, bytes: u32, guard: Id, regs: &[Id]) {
        if bytes <= 1 || !bytes.is_power_of_two() {
            return;
        }
        let Some((object, offset)) = self.address(addr, 0, Space::Generic, regs) else {
            return;
        };
        let align = match self.out.objects.get(object as usize) {
            Some(Object::Array(n)) => self.array_alignment(*n),
            Some(Object::Shared(i)) => self.kernel.shared[*i as usize].align,
            Some(Object::Dynamic) => self.kernel.dynamic_align,
            Some(Object::Local(i)) => self.kernel.locals.get(*i as usize).map_or(1, |v| v.align),
            None => return,
        };
        let width = self.e.width(offset);
        let zero = self.e.constant(0, width);
        let low = self.e.constant(u64::from(bytes) - 1, width);
        let rest = self.e.and(offset, low);
        let is = match align >= bytes {
            true => self.e.compare(super::expr::Order::Equal, rest, zero),
            false => self.e.truth(false),
        };
        self.duty(pc, guard, is, "an access may be misaligned");
    }
}
