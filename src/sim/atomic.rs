//! Atomics: `atom` and `red`, one lane after the other.
//!
//! The schedule that runs fixes an order of the operations; `race` says which of them may come in
//! any order, and the old values that depend on it are followed as such.
//!
//! Source: PTX ISA 9.0, sections 9.7.13.6 (`atom`) and 9.7.13.7 (`red`).
//!
//! Not claimed: what `inc` and `dec` do to data-dependent bits; atomics under a guard that depends
//! on input data. Both are `unknown`.

use crate::kernel::{AtomOp, IntOp, IntTy, NumTy, Op, Pc};

use super::machine::{Machine, Stop};
use super::memory::extend;
use super::race::Kind;
use super::step::Under;
use super::value::Val;

impl Machine<'_> {
    /// `atom` and `red`, one lane after the other.
    pub fn atomic(&mut self, w: usize, exec: u32, pc: Pc, under: &Under) -> Result<(), Stop> {
        let Op::Atom {
            access,
            op,
            lanes: packed,
            dsts,
            addr,
            srcs,
            cas,
        } = &self.inst(pc).op
        else {
            return Ok(());
        };
        self.stats.accesses += exec.count_ones() as u64;
        let used = self.result_used[pc.0 as usize];
        let mut targets = self.targets(w, exec, pc, access.space, *addr, under)?;
        let elem = access.ty.bits() / 8 * *packed as u32;
        let elems = (elem, srcs.len() as u32);
        let size = elem * elems.1;
        self.check(w, pc, &mut targets, size, true);
        let kind = Kind::Atomic {
            op: *op,
            ty: access.ty,
            used,
        };
        self.order_accesses(w, pc, &targets, elems, kind, false)?;
        for t in targets {
            self.strong_accesses(w, std::slice::from_ref(&t), size, kind, access.sem);
            self.note_role(w, pc, &t);
            if t.cond.is_some() {
                self.unsupported(w, 1 << t.lane, pc, "an atomic under a data-dependent guard");
                return Err(Stop::Finding);
            }
            for (k, s) in srcs.iter().enumerate() {
                let at = t.off as u64 + (k as u32 * elem) as u64;
                let word = NumTy::Int(IntTy {
                    width: (elem * 8) as u8,
                    signed: false,
                });
                let ty = if *packed == 1 { access.ty } else { word };
                let old = self.load_one(w, t.lane, pc, t.region, at, ty);
                let b = self.src(w, *s, t.lane);
                self.note_unset(w, pc);
                let c = cas.map(|c| self.src(w, c, t.lane));
                let new = self.atomic_value(w, t.lane, pc, *op, access.ty, *packed, old, b, c)?;
                self.effects += u64::from(new != old);
                if let Some(d) = dsts.get(k) {
                    let width = self.width(*d);
                    let v = extend(&mut self.values, old, ty, width);
                    self.set(w, *d, t.lane, v);
                }
                self.regions[t.region.0 as usize].store(&mut self.values, at, elem, new);
            }
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    pub fn atomic_value(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        op: AtomOp,
        ty: NumTy,
        packed: u8,
        old: Val,
        b: Val,
        cas: Option<Val>,
    ) -> Result<Val, Stop> {
        let bits = (ty.bits() * packed as u32) as u8;
        if op == AtomOp::Exch {
            return Ok(b);
        }
        if op == AtomOp::Cas {
            let (x, y) = (self.values.bits(old, bits), self.values.bits(b, bits));
            let p = self.same_bits(x, y);
            let Some(new) = cas else { return Ok(old) };
            return Ok(self.values.select(p, new, old, bits));
        }
        match ty {
            NumTy::Float(f) => {
                let part = f.bits() as u8;
                let (x, y) = (self.values.bits(old, bits), self.values.bits(b, bits));
                let mut parts = Vec::new();
                for i in 0..packed {
                    let [p, q] = [x, y].map(|t| {
                        let e = self.values.store.extract(t, i * part, part);
                        let v = self.values.of_bits(e);
                        self.values.real(v, f)
                    });
                    let r = match op {
                        AtomOp::Add => self.values.store.add(p, q),
                        AtomOp::Min => self.values.store.min(p, q),
                        AtomOp::Max => self.values.store.max(p, q),
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
                    _ => {
                        self.unsupported(w, 1 << lane, pc, "inc or dec of data-dependent bits");
                        return Err(Stop::Finding);
                    }
                };
                let zero = Val::Conc(0);
                self.int_values(w, lane, pc, op, t, [old, b, zero, zero])
            }
        }
    }
}
