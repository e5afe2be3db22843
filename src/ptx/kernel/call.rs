//! Expansion of calls in place.
//!
//! The problem: the simulator knows no frames, so a call becomes the callee's code with names of its
//! own. Source: PTX ISA 9.0, sections 5.1.6.4, 7.1 and 9.7.12.5: arguments and results are passed by
//! value. A `.param` argument of the caller and the parameter of the callee share their bytes
//! where both are `.param` variables, since nobody may change an argument between the call and the
//! reads of it; a callee that takes the address of a parameter gets a copy. Registers are moved.
//!
//! Functions without a body: `__assertfail` and `vprintf` are known by name, of others the user may say that they are
//! pure ([`super::pure`]); the rest is not modelled. Calls through a register: [`super::indirect`].
//!
//! Not claimed: results that the callee leaves unwritten keep the bytes of an earlier call instead
//! of being undefined.

use super::error::LowerError;
use super::lower::Lowerer;
use super::operand::Fit;
use super::scope::{At, Binding, Frame, Place};
use super::sig::{Decoded, ModSet, Sig, num_type, unsupported};
use super::{Access, Addr, Guard, NumTy, Op, Pc, RegId, Scope, Sem, Space, Src};
use crate::ptx;
use crate::ptx::{
    ExprKind, Function, Id, List, Mod, Name, Op as Opcode, Operand, OperandKind, Param, StmtKind,
    Type, TypeClass,
};

/// What a parameter of the callee is bound to.
enum Formal {
    /// The register or variable.
    Bound(Binding),
    /// A new register that gets this value first.
    Register(RegId, Type, Src),
}

impl<'a> Lowerer<'a> {
    /// `call (results), function, (arguments);`
    pub(super) fn decode_call(&mut self, sig: &Sig) -> Decoded<()> {
        sig.no_space()?;
        sig.only(const { ModSet::of(&[Mod::Uni]) })?;
        let Some((results, name, arguments)) = call_parts(self.ops) else {
            return match super::indirect::indirect_parts(self.ops) {
                Some(call) => self.decode_indirect(call),
                None => unsupported("an indirect call"),
            };
        };
        let span = self.opcode_span;
        let callee = match self.lookup(name) {
            Some(Binding::Function(callee)) => callee,
            Some(_) => return unsupported("an indirect call"),
            None => {
                self.resolve(name, span)?;
                return unsupported("an indirect call");
            }
        };
        let m = self.m;
        let function = &m[callee];
        let actuals: (&[Operand], &[Operand]) = (list(m, results), list(m, arguments));
        let is_pure = function.body.is_none() && self.is_pure(m.text(function.name));
        if function.body.is_none() && !is_pure {
            return self.external(m.text(function.name), actuals.0);
        }
        let arity = |found: usize, wanted: usize, what| {
            (found != wanted).then(|| LowerError::CallArity {
                name: m.text(function.name).to_string(),
                span,
                what,
                found,
                wanted,
            })
        };
        let (outs, ins) = (&m[function.results], &m[function.params]);
        let wrong = arity(actuals.0.len(), outs.len(), "results")
            .or_else(|| arity(actuals.1.len(), ins.len(), "arguments"));
        if let Some(error) = wrong {
            return self.fail(error);
        }
        if is_pure {
            return self.call_pure(callee, actuals);
        }
        if self.stack.len() > self.calls.depth {
            self.emit(Op::CallDepth);
            return Ok(());
        }
        self.expand(callee, actuals)
    }

    /// Expands a call of a function with a body.
    pub(super) fn expand(
        &mut self,
        callee: Id<Function>,
        actuals: (&[Operand], &[Operand]),
    ) -> Decoded<()> {
        let m = self.m;
        let function = &m[callee];
        self.instances += 1;
        let suffix = format!("@{}.{}", m.text(function.name), self.instances);
        let after = self.new_label();
        if let Some(guard) = self.guard {
            let skip = Guard {
                reg: guard.reg,
                negated: !guard.negated,
            };
            self.emit_guarded(
                Some(skip),
                Op::Bra {
                    target: Pc(after.0),
                    uni: false,
                },
            );
        }
        // From here on everything runs only if the call is made.
        let guard = self.guard.take();
        let mut formals = Vec::new();
        // Results that are registers get their values after the body.
        let mut returned: Vec<(RegId, RegId, Type)> = Vec::new();
        for (param, actual) in m[function.results].iter().zip(actuals.0) {
            let formal = self.result(callee, param, actual, &suffix, &mut returned)?;
            formals.push((param, formal));
        }
        let addressed = addressed_params(self, callee);
        for (param, actual) in m[function.params].iter().zip(actuals.1) {
            let copied = param.name.is_some_and(|name| addressed.contains(&name));
            let formal = self.argument(callee, param, actual, &suffix, copied)?;
            formals.push((param, formal));
        }
        let caller = std::mem::replace(&mut self.frame, Frame::new(suffix));
        for (param, formal) in formals {
            let binding = match formal {
                Formal::Bound(binding) => binding,
                Formal::Register(id, ty, src) => {
                    self.copy_register(id, src, ty);
                    Binding::Reg { id, ty, vector: 1 }
                }
            };
            if let Some(name) = param.name {
                self.declare(name, binding, param.span);
            }
        }
        let finished = self.new_label();
        let ret = self.ret.replace(finished);
        let saved = (self.ops, self.opcode_span, self.span);
        self.stack.push(callee);
        self.body(callee);
        self.stack.pop();
        (self.ops, self.opcode_span, self.span) = saved;
        self.ret = ret;
        self.frame = caller;
        self.place(finished);
        for (to, from, ty) in returned {
            self.copy_register(to, Src::Reg(from), ty);
        }
        self.place(after);
        self.guard = guard;
        Ok(())
    }

    fn copy_register(&mut self, dst: RegId, src: Src, ty: Type) {
        let mut copy = |dst, src, width| self.emit(Op::Mov { dst, src, width });
        match (ty.bits(), src) {
            (128, Src::Reg(from)) => {
                copy(dst, src, 64);
                copy(RegId(dst.0 + 1), Src::Reg(RegId(from.0 + 1)), 64);
            }
            (bits, _) => copy(dst, src, bits.min(64) as u8),
        }
    }

    /// What an argument's formal parameter is bound to.
    fn argument(
        &mut self,
        callee: Id<Function>,
        param: &'a Param,
        actual: &Operand,
        suffix: &str,
        copied: bool,
    ) -> Decoded<Formal> {
        let variable = self.variable(actual);
        if param.space == ptx::Space::Reg {
            if param.vector.is_some() || !param.dims.is_empty() {
                return unsupported("a vector register as a parameter");
            }
            let id = self.formal_register(param, suffix);
            let src = match variable {
                Some(place) => self.load(place, param.ty)?,
                None if param.ty == Type::B128 => Src::Reg(self.halves(actual)?[0]),
                None => self.value(actual, param.ty, Fit::Exact)?,
            };
            return Ok(Formal::Register(id, param.ty, src));
        }
        let wanted = self.formal_size(param)?;
        // The last parameter of a variadic function is an array without a size.
        let unsized_array = self.m[param.dims].iter().any(Option::is_none);
        match variable {
            Some(place) => {
                if !unsized_array {
                    self.same_size(callee, actual, place.bytes, wanted)?;
                } else if copied {
                    return unsupported("a variadic argument whose address is taken");
                }
                if !copied {
                    return Ok(Formal::Bound(Binding::Var(place)));
                }
                let own = self.formal_variable(param, suffix)?;
                self.copy_bytes(place, own)?;
                Ok(Formal::Bound(Binding::Var(own)))
            }
            None if unsized_array => unsupported("a register as a variadic argument"),
            None => {
                let own = self.formal_variable(param, suffix)?;
                let src = self.value(actual, param.ty, Fit::Exact)?;
                self.store(own, param.ty, src)?;
                Ok(Formal::Bound(Binding::Var(own)))
            }
        }
    }

    /// What a result's formal parameter is bound to.
    fn result(
        &mut self,
        callee: Id<Function>,
        param: &'a Param,
        actual: &Operand,
        suffix: &str,
        returned: &mut Vec<(RegId, RegId, Type)>,
    ) -> Decoded<Formal> {
        let variable = self.variable(actual);
        match (param.space == ptx::Space::Reg, variable) {
            (true, None) => {
                let to = self.reg(actual, param.ty, Fit::Exact)?;
                let from = self.formal_register(param, suffix);
                returned.push((to, from, param.ty));
                Ok(Formal::Bound(Binding::Reg {
                    id: from,
                    ty: param.ty,
                    vector: 1,
                }))
            }
            (false, Some(place)) => {
                let wanted = self.formal_size(param)?;
                self.same_size(callee, actual, place.bytes, wanted)?;
                Ok(Formal::Bound(Binding::Var(place)))
            }
            _ => unsupported("a register where the function has a `.param`, or the reverse"),
        }
    }

    /// The `.param` variable that an operand names.
    pub(super) fn variable(&mut self, operand: &Operand) -> Option<Place> {
        let OperandKind::Name(name) = operand.kind else {
            return None;
        };
        match self.lookup(name) {
            Some(Binding::Var(place)) if matches!(place.space, Space::Local | Space::Param) => {
                Some(place)
            }
            _ => None,
        }
    }

    fn formal_register(&mut self, param: &Param, suffix: &str) -> RegId {
        let name = param.name.map_or("_", |name| self.m.text(name));
        let text = format!("{name}{suffix}");
        self.new_reg(param.ty, text)
    }

    pub(super) fn formal_size(&mut self, param: &Param) -> Decoded<u64> {
        let Some(name) = param.name else {
            return unsupported("a parameter without a name");
        };
        let at = (name, param.span);
        match self.extent(param.shape(), 0, at, u64::from(u32::MAX)) {
            Some(extent) => Ok(extent.bytes),
            None => Err(super::sig::Stop::Error),
        }
    }

    fn formal_variable(&mut self, param: &Param, suffix: &str) -> Decoded<Place> {
        let Some(name) = param.name else {
            return unsupported("a parameter without a name");
        };
        // The variable belongs to the callee's instance, and is named so.
        let own = std::mem::replace(&mut self.frame.suffix, suffix.to_string());
        let place = self.new_local(param.shape(), (name, param.span));
        self.frame.suffix = own;
        place.ok_or(super::sig::Stop::Error)
    }

    fn same_size(
        &mut self,
        callee: Id<Function>,
        actual: &Operand,
        found: u64,
        wanted: u64,
    ) -> Decoded<()> {
        if found == wanted {
            return Ok(());
        }
        self.fail(LowerError::ArgumentSize {
            name: self.source.slice(actual.span).to_string(),
            function: self.m.text(self.m[callee].name).to_string(),
            span: actual.span,
            found,
            wanted,
        })
    }

    fn load(&mut self, place: Place, ty: Type) -> Decoded<Src> {
        self.load_part(place, 0, ty)
    }

    /// Loads from a variable, at an offset in it.
    pub(super) fn load_part(&mut self, place: Place, at: u32, ty: Type) -> Decoded<Src> {
        let (access, addr) = part(place, at, ty)?;
        let dst = self.temp(ty);
        self.emit(Op::Ld {
            access,
            dsts: vec![Some(dst)],
            addr,
            used: u32::MAX,
        });
        Ok(Src::Reg(dst))
    }

    fn store(&mut self, place: Place, ty: Type, src: Src) -> Decoded<()> {
        self.store_part(place, 0, ty, src)
    }

    /// Stores into a variable, at an offset in it.
    pub(super) fn store_part(&mut self, place: Place, at: u32, ty: Type, src: Src) -> Decoded<()> {
        let (access, addr) = part(place, at, ty)?;
        self.emit(Op::St {
            access,
            srcs: vec![Some(src)],
            addr,
        });
        Ok(())
    }

    /// Copies a variable word by word, as wide as both allow.
    fn copy_bytes(&mut self, from: Place, to: Place) -> Decoded<()> {
        let (At::Offset(a), At::Offset(b)) = (from.at, to.at) else {
            return unsupported("an argument that is not a `.param` variable");
        };
        if from.bytes > 1 << 12 {
            return unsupported("an argument larger than 4 KiB whose address is taken");
        }
        let mut at = 0u32;
        while u64::from(at) < from.bytes {
            let left = from.bytes - u64::from(at);
            let fits = |ty: &Type| {
                let size = ty.bytes();
                u64::from(size) <= left
                    && (a + at).is_multiple_of(size)
                    && (b + at).is_multiple_of(size)
            };
            let widths = [Type::B64, Type::B32, Type::B16];
            let ty = widths.into_iter().find(fits).unwrap_or(Type::B8);
            let src = self.load_part(from, at, ty)?;
            self.store_part(to, at, ty, src)?;
            at += ty.bytes();
        }
        Ok(())
    }

    /// A call of a function that has no body here.
    fn external(&mut self, name: &str, results: &[Operand]) -> Decoded<()> {
        match name {
            "__assertfail" => {
                self.emit(Op::AssertFail);
                Ok(())
            }
            "vprintf" => {
                let result = match results {
                    [result] => Some(result),
                    _ => None,
                };
                let place = result.and_then(|operand| self.variable(operand));
                let offset = match place.map(|place| place.at) {
                    Some(At::Offset(at)) => Some(at),
                    _ => None,
                };
                self.emit(Op::Printf { result: offset });
                if let (None, Some(operand)) = (offset, result) {
                    let dst = self.reg(operand, Type::B32, Fit::Exact)?;
                    self.emit_unspecified(dst);
                }
                Ok(())
            }
            _ => unsupported(format!(
                "`{name}` has no body here (if it touches no memory and equal arguments give equal results, say --assume \
                 'pure {name}')"
            )),
        }
    }
}

pub(super) fn list(m: &ptx::Module, operands: Option<List<Operand>>) -> &[Operand] {
    operands.map_or(&[], |list| &m[list])
}

/// Results, function and arguments of a call; `None` if it has another form.
#[allow(clippy::type_complexity)]
fn call_parts(
    operands: &[Operand],
) -> Option<(Option<List<Operand>>, Name, Option<List<Operand>>)> {
    let kinds: Vec<OperandKind> = operands.iter().map(|o| o.kind).collect();
    match kinds[..] {
        [OperandKind::Name(f)] => Some((None, f, None)),
        [OperandKind::Name(f), OperandKind::Group(a)] => Some((None, f, Some(a))),
        [OperandKind::Group(r), OperandKind::Name(f)] => Some((Some(r), f, None)),
        [
            OperandKind::Group(r),
            OperandKind::Name(f),
            OperandKind::Group(a),
        ] => Some((Some(r), f, Some(a))),
        _ => None,
    }
}

/// An access to a variable, at an offset in it.
fn part(place: Place, at: u32, ty: Type) -> Decoded<(Access, Addr)> {
    let (At::Offset(base), Some((num, 1))) = (place.at, num_type(ty)) else {
        return unsupported("no such argument");
    };
    if num
        == NumTy::Int(super::IntTy {
            width: 1,
            signed: false,
        })
    {
        return unsupported("a predicate as an argument");
    }
    let access = Access {
        space: place.space,
        ty: num,
        untyped: ty.class() == TypeClass::Bits,
        sem: Sem::Weak,
        scope: Scope::Sys,
        volatile: false,
        nc: false,
    };
    let addr = Addr {
        base: Src::Var(place.space, base, 0),
        offset: i64::from(at),
    };
    Ok((access, addr))
}

/// Names that the body of a function uses in another way than to load from: their address may
/// be taken.
fn addressed_params(low: &Lowerer<'_>, callee: Id<Function>) -> Vec<Name> {
    let m = low.m;
    let params = m[m[callee].params].iter();
    let names: Vec<Name> = params.filter_map(|p| p.name).collect();
    let mut found = Vec::new();
    if names.is_empty() {
        return found;
    }
    let mut mention = |name: Name| {
        if names.contains(&name) && !found.contains(&name) {
            found.push(name);
        }
    };
    for stmt in m[callee].body.map_or(&[][..], |body| &m[body]) {
        let StmtKind::Instr(id) = stmt.kind else {
            continue;
        };
        let op = m[id].op();
        for operand in &m[m[id].operands] {
            match operand.kind {
                // Passing a parameter on is a read of it.
                OperandKind::Name(name) if op != Some(Opcode::Call) => mention(name),
                OperandKind::Expr(id) => match m[id].kind {
                    ExprKind::Int(_) | ExprKind::Float(_) => {}
                    _ => super::callgraph::symbols_in(m, id, &mut mention),
                },
                OperandKind::Address(id) if op == Some(Opcode::St) => {
                    if let ptx::Base::Name(name) = m[id].base {
                        mention(name);
                    }
                }
                _ => {}
            }
        }
    }
    found
}
