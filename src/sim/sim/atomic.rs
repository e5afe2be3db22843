//! Atomics: `atom` and `red`, one lane after the other.
//!
//! The schedule that runs fixes an order of the operations; `race` says which of them may come in
//! any order, and the old values that depend on it are followed as such.
//!
//! An atomic under a condition that depends on input data happens in both worlds: it combines memory
//! with a select of its operand and of the value that changes nothing (0 for a sum), so that updates
//! under different conditions are still a sum in any order; where there is no such value, memory
//! becomes a select of new and old. An address that is a select among a few is as many atomics, each
//! under its condition.
//!
//! Integer atomics that the sign bit chooses are extrema of floats (`by_sign`).
//!
//! Source: PTX ISA 9.0, sections 9.7.13.6 (`atom`) and 9.7.13.7 (`red`).
//!
//! Not claimed: what unordered operations leave whose old values are used. A ticket that the last
//! of many draws is a matter of the schedule.

use crate::kernel::{AtomOp, FloatOp, Fmt, IntOp, IntTy, NumTy, Op, Pc, RegId, Scope, Src};
use crate::sim::at::LaneAt;
use crate::term::{BitsOp, ICmp, TermId};

use super::address::derive::Arg;
use super::address::provenance::Prov;
use super::float::flush;
use super::machine::{Core, Machine};
use super::memory::extend;
use super::place::Target;
use super::race::AccessKind;
use super::region::SHARED;
use super::step::Under;
use super::stop::Stop;
use super::val::Val;
use super::value::Values;
use super::warp::lanes;

impl Values {
    /// match `inc(x, n)` / result `x >= n ? 0 : x + 1` / because the manual defines it so.
    ///
    /// match `dec(x, n)` / result the smaller of n and x - 1 as unsigned numbers / because the manual
    /// defines it as `x == 0 or x > n ? n : x - 1`, and 0 - 1 is the greatest of all.
    fn wrapping_step(&mut self, up: bool, bits: u8, x: TermId, n: TermId) -> TermId {
        let s = &mut self.store;
        let step = s.bits(bits, if up { 1 } else { u64::MAX });
        let next = s.bits_op(BitsOp::Add, x, step);
        if up {
            let (wraps, zero) = (s.icmp(ICmp::ULe, n, x), s.bits(bits, 0));
            return s.select(wraps, zero, next);
        }
        let wraps = s.icmp(ICmp::ULt, n, next);
        s.select(wraps, n, next)
    }
}

impl Core<'_> {
    pub(super) fn atomic_result(&mut self, w: usize, lane: usize, dst: RegId, old: Val, ty: NumTy) {
        let width = self.width(dst);
        let v = extend(&mut self.values, old, ty, width);
        self.set(w, dst, lane, v);
    }

    /// The operand of an operation that commutes with itself at one operand only, if it is known and
    /// the same in all lanes.
    fn one_operand(
        &self,
        (w, exec): (usize, u32),
        op: AtomOp,
        srcs: &[Src],
        scope: Scope,
    ) -> Option<u32> {
        let fixed = matches!(op, AtomOp::Exch | AtomOp::Inc | AtomOp::Dec);
        if scope == Scope::Cta && self.fixed.team.many() {
            // For a thread of another CTA it is not atomic, so that it commutes within its own CTA at best.
            return (!fixed).then_some(self.fixed.team.number(w) as u32);
        }
        let [src] = srcs else { return None };
        if !fixed {
            return None;
        }
        let mut found = None;
        for lane in lanes(exec) {
            let Val::Conc(bits) = self.src(w, *src, lane) else {
                return None;
            };
            let bits = u32::try_from(bits).ok()?;
            if found.is_some_and(|f| f != bits) {
                return None;
            }
            found = Some(bits);
        }
        found
    }

    /// What memory holds after an atomic that happens if `cond` holds.
    fn guarded_value(
        &mut self,
        place: (usize, usize, Pc),
        what: (AtomOp, NumTy, u8),
        cond: TermId,
        [old, b]: [Val; 2],
        cas: Option<Val>,
    ) -> Result<Val, Stop> {
        let (op, ty, packed) = what;
        let bits = (ty.bits() * packed as u32) as u8;
        // A float as the operand of an integer operation is an idiom of its own.
        let plain = !matches!((ty, b), (NumTy::Int(_), Val::Real(..) | Val::Open(..)));
        if let Some(neutral) = neutral(op, ty).filter(|_| plain) {
            let b = match ty {
                NumTy::Float(f) if packed == 1 && !matches!(b, Val::Real(..)) => {
                    Val::Real(f, self.values.real(b, f))
                }
                _ => b,
            };
            let b = self.values.select(cond, b, Val::Conc(neutral), bits);
            return self.atomic_value(place, what, old, b, cas);
        }
        let new = self.atomic_value(place, what, old, b, cas)?;
        Ok(self.values.select(cond, new, old, bits))
    }

    /// What memory holds after an atomic.
    pub(super) fn atomic_value(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        (op, ty, packed): (AtomOp, NumTy, u8),
        old: Val,
        b: Val,
        cas: Option<Val>,
    ) -> Result<Val, Stop> {
        let bits = (ty.bits() * packed as u32) as u8;
        if op == AtomOp::Exch {
            return Ok(b);
        }
        let folds = matches!(op, AtomOp::Add | AtomOp::Min | AtomOp::Max);
        if folds && (old == Val::Absent || b == Val::Absent) {
            if old == Val::Unset || b == Val::Unset {
                self.values.miss();
            }
            return Ok(Val::Absent);
        }
        if op == AtomOp::Cas {
            let (x, y) = (self.values.bits(old, bits), self.values.bits(b, bits));
            let p = self.values.same_bits(x, y);
            let Some(new) = cas else { return Ok(old) };
            return Ok(self.values.select(p, new, old, bits));
        }
        match ty {
            NumTy::Float(f) => {
                if let Some(v) = self.values.atomic_number(op, (f, packed), [old, b]) {
                    return Ok(v);
                }
                let part = f.bits() as u8;
                let (x, y) = (self.values.bits(old, bits), self.values.bits(b, bits));
                let mut parts = Vec::new();
                for i in 0..packed {
                    let both = [x, y].map(|t| {
                        let e = self.values.store.extract(t, i * part, part);
                        self.values.of_bits(e)
                    });
                    let [p, q] = both.map(|v| self.values.real(v, f));
                    let r = match op {
                        AtomOp::Add => {
                            let t = self.values.store.add(p, q);
                            self.values.store.note_several_makers(t);
                            t
                        }
                        AtomOp::Min => {
                            let t = self.values.store.min(p, q);
                            self.values.extremum(FloatOp::Min, f, both, t)
                        }
                        AtomOp::Max => {
                            let t = self.values.store.max(p, q);
                            self.values.extremum(FloatOp::Max, f, both, t)
                        }
                        _ => {
                            self.unsupported(w, 1 << lane, pc, "this atomic on floats");
                            return Err(Stop::Finding);
                        }
                    };
                    if packed == 1 {
                        return Ok(Val::Real(f, r));
                    }
                    parts.push(self.values.bits(Val::Real(f, r), part));
                }
                let t = self.values.store.concat(&parts);
                Ok(self.values.of_bits(t))
            }
            NumTy::Int(t) => {
                if let (Val::Conc(o), Val::Conc(v)) = (old, b) {
                    return Ok(Val::Conc(super::int::atom_int(op, t, o, v, 0)));
                }
                let op = match op {
                    AtomOp::Add => IntOp::Add,
                    AtomOp::Min => IntOp::Min,
                    AtomOp::Max => IntOp::Max,
                    AtomOp::And => IntOp::And,
                    AtomOp::Or => IntOp::Or,
                    AtomOp::Xor => IntOp::Xor,
                    AtomOp::Inc | AtomOp::Dec => {
                        let (x, y) = (self.values.bits(old, bits), self.values.bits(b, bits));
                        let new = self.values.wrapping_step(op == AtomOp::Inc, bits, x, y);
                        return Ok(self.values.of_bits(new));
                    }
                    AtomOp::Exch | AtomOp::Cas => return Ok(b),
                };
                let zero = Val::Conc(0);
                self.int_values_as_they_are(LaneAt { w, lane, pc }, op, t, [old, b, zero, zero])
            }
        }
    }

    /// Makes an atomic on one element in one lane; gives what memory held, and what that carried where it is passed on.
    #[inline]
    fn atomic_one(
        &mut self,
        (w, pc): (usize, Pc),
        (t, at): (&Target, u64),
        what: (AtomOp, NumTy, u8),
        (src, cas): (Src, Option<Src>),
        by_sign: Option<(AtomOp, Fmt)>,
    ) -> Result<(Val, Prov), Stop> {
        let (op, ty, packed) = what;
        let (lane, elem) = (t.lane, ty.bits() / 8 * packed as u32);
        let ty = held_type(ty, packed);
        // An exchange passes on what memory holds; any other operation works on a number.
        let exchange = op == AtomOp::Exch && t.cond.is_none();
        let (held, old) = match exchange {
            true => (
                self.memory.load_prov(t.region, at, elem),
                self.load_value((w, lane, pc), t.region, at, ty),
            ),
            false => (
                Prov::NONE,
                self.load_one(LaneAt { w, lane, pc }, t.region, at, ty),
            ),
        };
        let given = self.src_prov(w, src, lane);
        if !exchange && !given.is_none() {
            self.refuse_base(w, 1 << lane, pc);
        }
        let b = self.src(w, src, lane);
        self.values.note_unset(w, pc);
        let cas = cas.map(|c| self.src(w, c, lane));
        let new = self.atomic_new((w, pc), (t, at), what, ([old, b], cas), by_sign)?;
        self.threads.effects += u64::from(new != old);
        match exchange {
            true => self.put(t.region, (at, elem), Arg { v: new, p: given }, pc),
            false => {
                let region = &mut self.memory.regions[t.region.0 as usize];
                region.store(&mut self.values, at, elem, new);
            }
        }
        Ok((old, held))
    }

    /// The value that an atomic leaves in one element, which may be an extremum by its sign or happen under a condition.
    fn atomic_new(
        &mut self,
        (w, pc): (usize, Pc),
        (t, at): (&Target, u64),
        what: (AtomOp, NumTy, u8),
        ([old, b], cas): ([Val; 2], Option<Val>),
        by_sign: Option<(AtomOp, Fmt)>,
    ) -> Result<Val, Stop> {
        let ((op, ty, packed), place) = (what, (w, t.lane, pc));
        let word = match (ty, float_op(op)) {
            (NumTy::Float(f), Some(op)) => {
                self.atomic_word(place, (op, f, packed), (t.region, at), [old, b])
            }
            _ => None,
        };
        if let Some(by) = by_sign
            && let Some(new) = self.after_extremum(by, (t.region, t.cond), [old, b])
        {
            return Ok(new);
        }
        match (word, t.cond) {
            (Some(word), None) => Ok(word),
            (Some(word), Some(cond)) => {
                let bits = (ty.bits() * packed as u32) as u8;
                Ok(self.values.select(cond, word, old, bits))
            }
            (None, None) => {
                // A sum of singles outside of shared memory flushes subnormal numbers.
                let flushes = self.values.numbers
                    && (op, ty) == (AtomOp::Add, NumTy::Float(Fmt::F32))
                    && t.region != SHARED;
                let flushed = |v| if flushes { flush(v) } else { v };
                let (old, b) = (flushed(old), flushed(b));
                Ok(flushed(self.atomic_value(place, what, old, b, cas)?))
            }
            (None, Some(cond)) => self.guarded_value(place, what, cond, [old, b], cas),
        }
    }
}

impl Machine<'_> {
    /// `atom` and `red`, one lane after the other.
    pub(super) fn atomic(
        &mut self,
        w: usize,
        exec: u32,
        pc: Pc,
        under: &Under,
    ) -> Result<(), Stop> {
        let Op::Atom {
            access,
            op,
            lanes: packed,
            dsts,
            addr,
            srcs,
            cas,
        } = &self.core.inst(pc).op
        else {
            return Ok(());
        };
        let path = self.on_path(exec, access.space, under);
        let under = path.as_ref().unwrap_or(under);
        self.core.threads.stats.accesses += exec.count_ones() as u64;
        let used = self.core.fixed.program.result_used[pc.0 as usize];
        let elem = access.ty.bits() / 8 * *packed as u32;
        let elems = (elem, srcs.len() as u32);
        let size = elem * elems.1;
        let by_sign = match *packed {
            1 => self
                .core
                .extremum_by_sign((w, exec), (*op, access.ty), srcs, under),
            _ => None,
        };
        // Extrema in one order of all encodings change places, whichever integer atomic each is.
        let (kind_op, kind_ty) = match by_sign {
            Some((op, fmt)) => (op, NumTy::Float(fmt)),
            None => (*op, plain_type(*op, access.ty)),
        };
        let kind = AccessKind::Atomic {
            op: kind_op,
            ty: kind_ty,
            used,
            operand: self.core.one_operand((w, exec), *op, srcs, access.scope),
        };
        if self.atomic_known((w, exec, pc), kind, under)? {
            return Ok(());
        }
        let mut targets = self.all_targets((w, exec, pc), access.space, *addr, under, size)?;
        self.check(w, pc, &mut targets, size, true);
        self.order_accesses((w, pc), &targets, elems, kind, false)?;
        // Which lane of an instruction comes first, nothing says.
        if let Some(rng) = &mut self.core.threads.rng {
            let order = rng.order();
            targets.sort_by_key(|t| order[t.lane]);
        }
        let (what, ty) = ((*op, access.ty, *packed), held_type(access.ty, *packed));
        // The old values of the targets of a lane, of which one is its target.
        let mut olds: Vec<(TermId, Val)> = Vec::new();
        for (i, t) in targets.iter().enumerate() {
            self.strong_accesses((w, pc), std::slice::from_ref(t), elems, kind, access);
            self.core.note_role(w, pc, t);
            let last = targets.get(i + 1).is_none_or(|n| n.lane != t.lane);
            for (k, s) in srcs.iter().enumerate() {
                let at = t.off as u64 + (k as u32 * elem) as u64;
                let operands = (*s, *cas);
                let (old, held) =
                    self.core
                        .atomic_one((w, pc), (t, at), what, operands, by_sign)?;
                let Some(d) = dsts.get(k) else { continue };
                if let Some(cond) = t.cond {
                    olds.push((cond, old));
                    if last {
                        let of_this = olds.iter().skip(k).step_by(dsts.len());
                        let of_this: Vec<(TermId, Val)> = of_this.copied().collect();
                        let old = self.core.values.choose(&of_this, (elem * 8) as u8);
                        self.core.atomic_result(w, t.lane, *d, old, ty);
                    }
                } else {
                    self.core.atomic_result(w, t.lane, *d, old, ty);
                    self.core.set_prov(w, *d, 1 << t.lane, held);
                }
            }
            if last {
                olds.clear();
            }
        }
        Ok(())
    }
}

/// The type of what an atomic loads: packed elements are one word.
fn held_type(ty: NumTy, packed: u8) -> NumTy {
    match packed {
        1 => ty,
        _ => NumTy::Int(IntTy {
            width: (ty.bits() * packed as u32) as u8,
            signed: false,
        }),
    }
}

/// What an operation is on floats.
fn float_op(op: AtomOp) -> Option<FloatOp> {
    match op {
        AtomOp::Add => Some(FloatOp::Add),
        AtomOp::Min => Some(FloatOp::Min),
        AtomOp::Max => Some(FloatOp::Max),
        AtomOp::And
        | AtomOp::Or
        | AtomOp::Xor
        | AtomOp::Exch
        | AtomOp::Cas
        | AtomOp::Inc
        | AtomOp::Dec => None,
    }
}

/// The type of an operation to which signedness does not matter.
fn plain_type(op: AtomOp, ty: NumTy) -> NumTy {
    match (op, ty) {
        (AtomOp::Min | AtomOp::Max, _) | (_, NumTy::Float(_)) => ty,
        (_, NumTy::Int(t)) => NumTy::Int(IntTy { signed: false, ..t }),
    }
}

/// The operand with which an operation changes nothing, as bits.
fn neutral(op: AtomOp, ty: NumTy) -> Option<u64> {
    Some(match (op, ty) {
        (AtomOp::Add, _) | (AtomOp::Or | AtomOp::Xor, NumTy::Int(_)) => 0,
        (AtomOp::And, NumTy::Int(t)) => u64::MAX >> (64 - t.width),
        (AtomOp::Min, NumTy::Int(t)) => u64::MAX >> (64 - t.width + t.signed as u8),
        (AtomOp::Max, NumTy::Int(t)) => (t.signed as u64) << (t.width - 1),
        _ => return None,
    })
}
