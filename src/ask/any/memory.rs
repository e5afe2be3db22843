//! Addresses as an object and an offset, and the accesses to them.

use super::addresses::through_window;
use super::expr::{CONTENTS, Exprs, Id, Level, Order, PARAMETER};
use super::lanes::Common;
use super::limits::MAX_LISTED;
use super::state::{Accessed, By, Does, Known, Object, Walk};
use super::words::Places;
use crate::answer::{Assumption, AssumptionKind, UnknownKind};
use crate::kernel::{Access as Modifiers, Addr, Kernel, Pc, RegId, Space, Src, SymbolRef};
use crate::spec::{ElemTy, Field, Resolved, Value};
use crate::term::facts::Elements;
use crate::term::{BitsOp, sext};

/// The objects of addresses.
pub(super) struct Named<'a> {
    pub kernel: &'a Kernel,
    pub resolved: &'a Resolved,
    pub objects: &'a mut Vec<Object>,
}

impl Named<'_> {
    pub(super) fn number(&mut self, object: Object) -> u32 {
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
            Src::Global(g, plus) => {
                let n = self.resolved.bindings.global(g).0;
                let object = match self.kernel.globals[g.0 as usize].constant {
                    true => Object::Constant(n),
                    false => Object::Array(n),
                };
                (object, plus)
            }
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
            Src::Var(space, at, plus) => {
                let inside = |(offset, bytes): (u32, u32)| offset <= at && at - offset < bytes;
                let (locals, params) = (&self.kernel.locals, &self.kernel.params);
                let (object, from) = match space {
                    Space::Param => {
                        let i = params.iter().position(|p| inside((p.offset, p.bytes)));
                        let from = i.map(|i| params[i].offset);
                        (Object::Param(i.map_or(u32::MAX, |i| i as u32)), from)
                    }
                    _ => {
                        let i = locals.iter().position(|v| inside((v.offset, v.bytes)));
                        let from = i.map(|i| locals[i].offset);
                        (Object::Local(i.map_or(u32::MAX, |i| i as u32)), from)
                    }
                };
                // Where no variable is, nothing is known to lie.
                let from = i64::from(at) - i64::from(from.unwrap_or(at));
                (object, plus.wrapping_add(from))
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
            self.weak(pc, access);
            let does = (Does::Reads, None);
            let object = self.access((pc, access.space), (addr, plus), bytes, does, when, regs);
            let value = object.and_then(|(o, offset)| self.holds(o, offset, bytes));
            let read = object.filter(|(o, _)| !self.out.objects[*o as usize].is_private());
            let Some(dst) = dst else { continue };
            let width = self.kernel.reg_width[dst.0 as usize];
            let of = self.open.last().map(|o| o.index);
            let value = match value {
                Some(v) => self.e.resize(v, width, sign),
                None => {
                    let value = self.e.fresh(width, Level::Thread, of);
                    if let Some((_, offset)) = read {
                        self.out.common.insert(value, Common::Read(offset));
                    }
                    value
                }
            };
            out.push((*dst, value));
        }
        let whole = bytes * dsts.len() as u32;
        self.aligned(pc, access.space, (addr, whole), when, regs);
        out
    }

    /// What an object that nothing writes holds at an offset.
    fn holds(&mut self, o: u32, offset: Id, bytes: u32) -> Option<Id> {
        let tag = match self.out.objects[o as usize] {
            Object::Array(_) | Object::Constant(_) if self.is_constant(o) => {
                if let Some(known) = self.initial(o, offset, bytes) {
                    return Some(known);
                }
                CONTENTS
            }
            Object::Param(i) => {
                let from = self.kernel.params.get(i as usize)?.offset;
                if let Some(at) = self.e.value(offset) {
                    return Some(self.parameter(from.wrapping_add(at as u32), bytes));
                }
                PARAMETER
            }
            Object::Array(_)
            | Object::Constant(_)
            | Object::Shared(_)
            | Object::Dynamic
            | Object::Local(_) => return None,
        };
        let is_content = tag == CONTENTS;
        if is_content {
            let unit = self.unit(o, bytes);
            if unit != bytes && unit.max(bytes) <= 8 {
                return Some(self.by_units(o, offset, (bytes, unit)));
            }
        }
        let tag = tag | u64::from(o) << 8 | u64::from(bytes);
        let width = (bytes * 8).min(64) as u8;
        let value = self.e.function(tag, vec![offset], width);
        if is_content && let Some(ends) = self.range(o, Some(bytes)) {
            self.lies_between(value, ends, (offset, bytes));
        }
        Some(value)
    }

    /// The bytes of one number that stands for the contents of an object: of its element, or of what is read of it first,
    /// whichever is larger.
    fn unit(&mut self, o: u32, bytes: u32) -> u32 {
        let n = self.out.objects.get(o as usize).and_then(|o| o.bound());
        let array = n.and_then(|n| self.resolved.arrays.0.get(n as usize));
        let element = array.and_then(|a| a.elem).map_or(0, |e| e.bytes() as u32);
        *self.units.entry(o).or_insert(bytes.max(element))
    }

    /// What is read of contents at another size than their unit: a part of one, or several in a row. A part begins at a
    /// multiple of its size, or the access is an error by itself.
    fn by_units(&mut self, o: u32, offset: Id, (bytes, unit): (u32, u32)) -> Id {
        let width = (bytes * 8).min(64) as u8;
        let tag = CONTENTS | u64::from(o) << 8 | u64::from(unit);
        let size = self.e.width(offset);
        if bytes < unit {
            let mask = self.e.constant(u64::from(unit) - 1, size);
            let low = self.e.and(offset, mask);
            let start = self.e.minus(offset, low);
            let whole = self.e.function(tag, vec![start], (unit * 8).min(64) as u8);
            let eight = self.e.constant(8, size);
            let by = self.e.word(BitsOp::Mul, low, eight);
            let by = self.e.resize(by, self.e.width(whole), false);
            let part = self.e.word(BitsOp::LShr, whole, by);
            return self.e.resize(part, width, false);
        }
        let mut all = self.e.constant(0, width);
        for i in 0..bytes / unit {
            let plus = self.e.constant(u64::from(i * unit), size);
            let at = self.e.add(offset, plus);
            let part = self.e.function(tag, vec![at], (unit * 8) as u8);
            let part = self.e.resize(part, width, false);
            let by = self.e.constant(u64::from(8 * i * unit), width);
            let part = self.e.word(BitsOp::Shl, part, by);
            all = self.e.word(BitsOp::Or, all, part);
        }
        all
    }

    /// The least and the largest element of an array, as the facts and its contents say.
    pub(super) fn range(&self, o: u32, bytes: Option<u32>) -> Option<(i128, i128)> {
        let n = self.out.objects.get(o as usize)?.bound()?;
        let own = |e: &&Elements| {
            let whole = Elements::new(e.array, e.width, e.count);
            e.array.0 == n
                && bytes.is_none_or(|b| b * 8 == u32::from(e.width))
                && (e.lo, e.hi) != (whole.lo, whole.hi)
        };
        if let Some(e) = self.resolved.bindings.facts.all().iter().find(own) {
            return Some((e.lo, e.hi));
        }
        let array = self.resolved.arrays.0.get(n as usize)?;
        let (content, extent) = (array.initial.as_ref()?, array.extent?);
        let size = match array.elem {
            Some(ElemTy::Int { width, .. }) => usize::from(width / 8).max(1),
            Some(ElemTy::Float(_)) | None => return None,
        };
        if bytes.is_some_and(|b| b as usize != size) {
            return None;
        }
        let element = |e: &[u8]| {
            let bits = e.iter().rev().fold(0u64, |v, &b| v << 8 | u64::from(b));
            i128::from(sext(bits, size as u8 * 8))
        };
        let rest = (content.len() as u64) < extent;
        let all = content.chunks(size).map(element);
        let all: Vec<i128> = all.chain(rest.then_some(0)).collect();
        Some((*all.iter().min()?, *all.iter().max()?))
    }

    /// An element at a multiple of its size lies in a range.
    fn lies_between(&mut self, value: Id, (lo, hi): (i128, i128), (offset, bytes): (Id, u32)) {
        let width = self.e.width(value);
        let half = 1i128 << (width - 1);
        if lo < -half || hi >= half {
            return;
        }
        let least = self.e.constant(lo as i64 as u64, width);
        let most = self.e.constant(hi as i64 as u64, width);
        let below = self.e.compare(Order::Less, value, least);
        let above = self.e.compare(Order::Less, most, value);
        let (below, above) = (self.e.not(below), self.e.not(above));
        let holds = self.e.and(below, above);
        let size = self.e.width(offset);
        let low = self.e.constant(u64::from(bytes) - 1, size);
        let zero = self.e.constant(0, size);
        let rest = self.e.and(offset, low);
        let premise = self.e.compare(Order::Equal, rest, zero);
        let known = |k: &Known| (k.premise, k.holds) == (premise, holds);
        if !self.out.known.iter().any(known) {
            self.out.known.push(Known { premise, holds });
        }
    }

    /// What a variable that nothing writes holds at an offset inside of it that is a multiple of the size: one of few
    /// numbers or addresses with which it begins.
    fn initial(&mut self, object: u32, offset: Id, bytes: u32) -> Option<Id> {
        let n = self.out.objects.get(object as usize)?.bound()?;
        let mut variables = self
            .resolved
            .bindings
            .globals
            .iter()
            .zip(&self.kernel.globals);
        let (_, var) = variables.find(|(a, _)| a.0 == n)?;
        let content = match &self.resolved.arrays.0.get(n as usize)?.initial {
            Some(content) => content.clone(),
            None if var.relocs.is_empty() => return None,
            None => var.init.as_slice().into(),
        };
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
                Some((at, symbol, plus)) if *at == from && size == 8 => {
                    let (to, window) = match *symbol {
                        SymbolRef::Global(to) => (to, None),
                        SymbolRef::Generic(to) => {
                            let constant = self.kernel.globals[to.0 as usize].constant;
                            (to, constant.then_some(Space::Const))
                        }
                    };
                    let src = Src::Global(to, *plus);
                    let mut named = Named {
                        kernel: self.kernel,
                        resolved: self.resolved,
                        objects: &mut self.out.objects,
                    };
                    let address = named.place(&mut self.e, src, 64);
                    match window {
                        Some(space) => through_window(&mut self.e, address, space, false),
                        None => address,
                    }
                }
                Some(_) => return None,
                None => {
                    let byte = |at: u64| u64::from(content.get(at as usize).copied().unwrap_or(0));
                    let bits = (from..end).rev().fold(0, |bits, at| bits << 8 | byte(at));
                    self.e.constant(bits, bytes as u8 * 8)
                }
            };
            let width = self.e.width(offset);
            let here = self.e.constant(from, width);
            let is = self.e.compare(Order::Equal, offset, here);
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
        let object = self.out.objects.get(object as usize);
        unwritten && object.is_some_and(|o| o.bound().is_some())
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
                bytes: 8,
                ..
            }) => {
                let mut named = Named {
                    kernel: self.kernel,
                    resolved: self.resolved,
                    objects: &mut self.out.objects,
                };
                let number = named.number(Object::Array(a.0));
                let base = self.e.base(number, 64);
                let by = self.e.constant(u64::from(8 * (at - offset)), 64);
                let moved = self.e.word(BitsOp::LShr, base, by);
                self.e.resize(moved, width, false)
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

    /// Records an access; its object and offset where they are known.
    pub(super) fn access(
        &mut self,
        (pc, space): (Pc, Space),
        (addr, plus): (&Addr, i64),
        bytes: u32,
        (does, value): (Does, Option<Id>),
        guard: Id,
        regs: &[Id],
    ) -> Option<(u32, Id)> {
        if space == Space::SharedCluster {
            self.gap(
                UnknownKind::UnsupportedInstruction,
                pc,
                "shared memory of a cluster is not followed in all launches",
            );
            return None;
        }
        let Some(place) = self.address(addr, plus, space, regs) else {
            self.gap(
                UnknownKind::DataDependentAddress,
                pc,
                "an address that is no known object and an offset",
            );
            return None;
        };
        let (object, offset) = (place.start.object, place.offset);
        let kind = self.out.objects[object as usize];
        let fits = match space {
            Space::Generic => {
                let is_read = does == Does::Reads || kind.window() != Some(Space::Const);
                is_read && (place.start.generic || kind.window().is_none())
            }
            Space::Global => kind.window().is_none(),
            Space::Const => {
                let own = !place.start.generic && kind.window() == Some(Space::Const);
                own && does == Does::Reads
            }
            Space::Shared | Space::Local | Space::Param | Space::SharedCluster => {
                !place.start.generic && kind.window() == Some(space)
            }
        };
        if !fits {
            self.gap(
                UnknownKind::DataDependentAddress,
                pc,
                "an address in another state space than the access names, or a write to constants",
            );
            return None;
        }
        let room = self.extent(object);
        for narrow in place.within {
            let width = self.e.width(narrow);
            let most = room
                .unwrap_or(u64::MAX >> 1)
                .min(u64::MAX >> (65 - u32::from(width)));
            let most = self.e.constant(most, width);
            let above = self.e.compare(Order::Below, most, narrow);
            let holds = self.e.not(above);
            self.duty(
                pc,
                guard,
                holds,
                "an address may wrap around before it is widened",
            );
        }
        // A thread's own memory has no conflicts; only where an access lies is asked, and what it finds there.
        let mut own = false;
        if kind.is_private() {
            let inside = |v: u64| {
                let end = v.checked_add(u64::from(bytes));
                end.is_some_and(|end| Some(end) <= room)
            };
            own = self.e.value(offset).is_some_and(inside);
        }
        let (at, loops) = (self.tick(), self.around());
        let list = match own {
            true => &mut self.out.own,
            false => &mut self.out.accesses,
        };
        list.push(Accessed {
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
    pub(super) fn aligned(
        &mut self,
        pc: Pc,
        space: Space,
        (addr, bytes): (&Addr, u32),
        guard: Id,
        regs: &[Id],
    ) {
        if bytes <= 1 || !bytes.is_power_of_two() {
            return;
        }
        let Some(place) = self.address(addr, 0, space, regs) else {
            return;
        };
        let offset = place.offset;
        let align = match self.out.objects[place.start.object as usize] {
            Object::Array(n) | Object::Constant(n) => self.array_alignment(n),
            Object::Shared(i) => self.kernel.shared[i as usize].align,
            Object::Dynamic => self.kernel.dynamic_align,
            Object::Local(i) => self.kernel.locals.get(i as usize).map_or(1, |v| v.align),
            Object::Param(i) => {
                let param = self.kernel.params.get(i as usize);
                let align = param.map_or(1, |p| p.align.max(1));
                if let Some(param) = param.filter(|_| align < bytes) {
                    // Fixed launches take the same for granted.
                    let said = AssumptionKind::Alignment.says(format!(
                        "{} lies at a multiple of {bytes} bytes, which no declaration promises",
                        param.name
                    ));
                    Assumption::unite(&mut self.out.assumed, [said]);
                }
                align.max(bytes)
            }
        };
        let width = self.e.width(offset);
        let zero = self.e.constant(0, width);
        let low = self.e.constant(u64::from(bytes) - 1, width);
        let rest = self.e.and(offset, low);
        let is = match align >= bytes {
            true => self.e.compare(Order::Equal, rest, zero),
            false => self.e.truth(false),
        };
        self.duty(pc, guard, is, "an access may be misaligned");
    }
}
