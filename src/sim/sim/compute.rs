//! Arithmetic and moves: a lane-wise function of registers.
//!
//! Known bits take the machine's own arithmetic, all lanes at once; a lane with a symbolic
//! operand goes through terms.

use crate::sim::limits::LIMITS;
use std::array::from_fn;

use smallvec::SmallVec;

use crate::kernel::{IntOp, IntTy, Op, Pc, RegId, Special, Src};
use crate::sim::at::{At, LaneAt, site};
use crate::term::{BitsOp, Term, TermId};

use super::machine::Core;
use super::stop::Stop;
use super::val::Val;
use super::value::Values;
use super::warp::{LANES, lanes};
use super::{UnknownKind, int, int_sym};

impl Values {
    /// Result and carry out of an operation on packed lanes or with a carry, as terms.
    fn int_terms(&mut self, op: IntOp, ty: IntTy, n: u8, vals: [Val; 4]) -> Option<(Val, Val)> {
        let args = from_fn(|i| {
            let width = if n > 1 {
                ty.width * n
            } else {
                operand_width(op, ty, i)
            };
            self.bits(vals[i], width)
        });
        let s = &mut self.store;
        let t = int_sym::symbolic_packed(s, op, ty, n, args)?;
        let c = if n > 1 {
            s.bits(1, 0)
        } else {
            int_sym::symbolic_carry(s, op, ty, args)?
        };
        Some((self.of_bits(t), self.of_bits(c)))
    }

    /// Boolean connectives of predicates.
    fn logic(&mut self, op: IntOp, v: [Val; 4]) -> Option<Val> {
        let (a, b) = (self.pred(v[0]), self.pred(v[1]));
        let s = &mut self.store;
        let t = match op {
            IntOp::And => s.and(a, b),
            IntOp::Or => s.or(a, b),
            IntOp::Xor => s.xor(a, b),
            IntOp::Not | IntOp::Cnot => s.not(a),
            _ => return None,
        };
        Some(self.of_pred(t))
    }

    /// An operation on values that are selects among few known ones is a select among few
    /// results. A sum of two such values stays a sum, so that counts are the same in any order.
    fn choices(&mut self, op: IntOp, ty: IntTy, v: [Val; 4]) -> Option<Val> {
        let known = |v: &Val| matches!(v, Val::Conc(_));
        let sum = |v: &Val| {
            let store = &self.store;
            matches!(v, Val::Bits(t) if matches!(store.get(*t), Term::BitsOp(BitsOp::Add, ..)))
        };
        let [a, b, ..] = &v;
        let chooses = |v: &Val| match v {
            Val::Conc(_) | Val::Pred(_) => true,
            Val::Bits(t) => self.may_choose(*t),
            _ => false,
        };
        if !v.iter().all(chooses) {
            return None;
        }
        if op == IntOp::Add && (!known(a) && !known(b) || sum(a) || sum(b)) {
            return None;
        }
        let unknown = v.iter().enumerate().filter(|(_, v)| !known(v));
        if let [(i, Val::Bits(t))] = unknown.collect::<SmallVec<[_; 4]>>()[..] {
            let all: [u64; 4] = from_fn(|k| match v[k] {
                Val::Conc(b) => b,
                _ => 0,
            });
            return self.of_each(*t, result_width(op, ty), |b| {
                let args = from_fn(|k| if k == i { b } else { all[k] });
                (!int::is_undefined(op, ty, args)).then(|| int::eval(op, ty, args).0)
            });
        }
        let mut options: Vec<(TermId, [u64; 4])> = vec![(self.store.bool(true), [0; 4])];
        for (i, v) in v.into_iter().enumerate() {
            let leaves = match v {
                Val::Conc(b) => {
                    for o in &mut options {
                        o.1[i] = b;
                    }
                    continue;
                }
                Val::Bits(t) => self.leaves(t, LIMITS.choices)?,
                Val::Pred(p) => {
                    let n = self.store.not(p);
                    vec![(n, 0), (p, 1)]
                }
                _ => return None,
            };
            if options.len() * leaves.len() > LIMITS.choices {
                return None;
            }
            let mut next = Vec::new();
            for (c, args) in &options {
                for (d, value) in &leaves {
                    let both = self.store.and(*c, *d);
                    if self.store.as_bool(both) != Some(false) {
                        let mut a = *args;
                        a[i] = *value;
                        next.push((both, a));
                    }
                }
            }
            options = next;
        }
        let mut results: Vec<(TermId, Val)> = Vec::new();
        for (c, args) in options {
            if int::is_undefined(op, ty, args) {
                return None;
            }
            let v = Val::Conc(int::eval(op, ty, args).0);
            match results.iter_mut().find(|r| r.1 == v) {
                Some(r) => r.0 = self.store.or(r.0, c),
                None => results.push((c, v)),
            }
        }
        Some(self.choose(&results, result_width(op, ty)))
    }
}

impl Core<'_> {
    fn copy(&mut self, w: usize, exec: u32, dst: RegId, src: Src) {
        match src {
            Src::Reg(r) if self.width(r) == self.width(dst) => {
                let sym = self.threads.warps[w].symbolic(r) & exec;
                let words = *self.threads.warps[w].words(r);
                if exec & !sym != 0 {
                    self.threads.warps[w].set_words(dst, exec & !sym, &words);
                }
                for lane in lanes(sym) {
                    self.threads.warps[w].set(dst, lane, Val::unpack(words[lane]));
                }
            }
            _ => {
                for lane in lanes(exec) {
                    let v = self.src(w, src, lane);
                    let v = match v {
                        Val::Conc(_) | Val::Unset | Val::Absent => v,
                        _ => {
                            let width = self.width(dst);
                            self.values.of_bits_plain(v, width)
                        }
                    };
                    self.set(w, dst, lane, v);
                }
            }
        }
    }

    fn special(&mut self, w: usize, exec: u32, pc: Pc, dst: RegId, s: Special) {
        let l = self.fixed.launch;
        let (cta, cluster) = (self.fixed.team.cta(w), l.cluster);
        let within = |c: usize| cta[c] % cluster[c];
        let at = |c: u8, f: &dyn Fn(usize) -> u32| match c {
            0..3 => f(usize::from(c)),
            _ => 0,
        };
        let uniform = match s {
            Special::Ntid(c) => Some(dim(l.block, c)),
            Special::Ctaid(c) => Some(at(c, &|c| cta[c])),
            Special::ClusterId(c) => Some(at(c, &|c| cta[c] / cluster[c])),
            Special::Nctaid(c) => Some(dim(l.grid, c)),
            Special::NclusterId(c) => Some(at(c, &|c| l.grid[c] / cluster[c])),
            Special::ClusterCtaid(c) => Some(at(c, &within)),
            Special::ClusterCtarank => {
                Some(within(0) + cluster[0] * (within(1) + cluster[1] * within(2)))
            }
            Special::IsExplicitCluster => Some(u32::from(l.clustered)),
            Special::ClusterNctaid(c) => Some(dim(cluster, c)),
            Special::ClusterNctarank => Some(l.cluster_ctas()),
            Special::DynamicSmem => l.dynamic_shared.map(|n| n as u32),
            _ => None,
        };
        if let Some(v) = uniform {
            self.threads.warps[w].set_words(dst, exec, &[v as u64; LANES]);
            return;
        }
        let first = self.fixed.team.first(w);
        for lane in lanes(exec) {
            let n = lane as u32;
            let v = match s {
                Special::Tid(c) => l.tid(first + n).get(c as usize).copied().unwrap_or(0),
                Special::LaneId => n,
                Special::LaneMaskEq => 1 << n,
                Special::LaneMaskLt => (1 << n) - 1,
                Special::LaneMaskLe => (1u32 << n) | ((1 << n) - 1),
                Special::LaneMaskGt => !((1u32 << n) | ((1 << n) - 1)),
                Special::LaneMaskGe => !((1u32 << n) - 1),
                // The manual promises nothing about the rest; each read is a symbol of its own.
                _ => {
                    let width = self.width(dst);
                    let site = site(pc, w, 1 << lane, "reads a special register");
                    let t = self.values.volatile_bits(width, site);
                    let v = if width == 1 {
                        let p = self.values.pred(Val::Bits(t));
                        self.values.of_pred(p)
                    } else {
                        Val::Bits(t)
                    };
                    self.set(w, dst, lane, v);
                    continue;
                }
            };
            self.set(w, dst, lane, Val::Conc(v as u64));
        }
    }

    fn pack(&mut self, At { w, exec, pc }: At, dst: RegId, part: u8, srcs: &[Src]) {
        for lane in lanes(exec) {
            let vals: Vec<Val> = srcs.iter().map(|s| self.src(w, *s, lane)).collect();
            let v = if vals.iter().all(|v| matches!(v, Val::Conc(_))) {
                let mut x = 0u64;
                for (i, v) in vals.iter().enumerate() {
                    if let Val::Conc(b) = v {
                        x |= (b & (u64::MAX >> (64 - part as u32))) << (i as u32 * part as u32);
                    }
                }
                Val::Conc(x)
            } else {
                self.values.note_unset(w, pc);
                let parts: Vec<TermId> = vals.iter().map(|v| self.values.bits(*v, part)).collect();
                let t = self.values.store.concat(&parts);
                self.values.of_bits(t)
            };
            self.set(w, dst, lane, v);
        }
    }

    fn unpack(&mut self, At { w, exec, pc }: At, dsts: &[Option<RegId>], part: u8, src: Src) {
        for lane in lanes(exec) {
            let v = self.src(w, src, lane);
            let bits = match v {
                Val::Conc(_) => None,
                _ => {
                    self.values.note_unset(w, pc);
                    Some(self.values.bits(v, part * dsts.len() as u8))
                }
            };
            for (i, d) in dsts.iter().enumerate() {
                let Some(d) = d else { continue };
                let shift = i as u8 * part;
                let x = match (v, bits) {
                    (Val::Conc(b), _) => Val::Conc(b >> shift & (u64::MAX >> (64 - part as u32))),
                    (_, Some(t)) => {
                        let e = self.values.field(t, shift, part);
                        self.values.of_bits(e)
                    }
                    _ => Val::Unset,
                };
                self.set(w, *d, lane, x);
            }
        }
    }

    /// Integer arithmetic.
    pub(super) fn int(
        &mut self,
        At { w, exec, pc }: At,
        (op, ty, n): (IntOp, IntTy, u8),
        dst: Option<RegId>,
        dst2: Option<RegId>,
        src: &[Src; 4],
    ) -> Result<(), Stop> {
        let sym = exec & src.iter().fold(0, |m, s| m | self.threads.symbolic(w, *s));
        let conc = exec & !sym;
        if conc != 0 {
            let words = [
                self.words(w, src[0]),
                self.words(w, src[1]),
                self.words(w, src[2]),
                self.words(w, src[3]),
            ];
            if int::may_be_undefined(op, ty) {
                for lane in lanes(conc) {
                    if int::is_undefined(op, ty, words.map(|x| x[lane])) {
                        return self.undefined(w, 1 << lane, pc, op);
                    }
                }
            }
            let mut out = [0u64; LANES];
            if n > 1 {
                for lane in lanes(conc) {
                    out[lane] = int::eval_packed(op, ty, n, words.map(|x| x[lane])).0;
                }
            } else if let Some(d2) = dst2 {
                let mut carry = [0u64; LANES];
                for lane in lanes(conc) {
                    let (v, c) = int::eval(op, ty, words.map(|x| x[lane]));
                    out[lane] = v;
                    carry[lane] = c as u64;
                }
                self.threads.warps[w].set_words(d2, conc, &carry);
            } else {
                let [a, b, c, d] = &words;
                int::eval_lanes(op, ty, conc, [a, b, c, d], &mut out);
            }
            if let Some(d) = dst {
                self.threads.warps[w].set_words(d, conc, &out);
            }
        }
        let done = match (op, dst) {
            (IntOp::MadLo | IntOp::Add, Some(d)) if sym != 0 && n == 1 && dst2.is_none() => {
                self.accumulate_bits((w, sym), op, ty.width, d, src)
            }
            _ => 0,
        };
        for lane in lanes(sym & !done) {
            if n > 1 || dst2.is_some() {
                let vals = self.resolved(w, lane, pc, (ty.width * n).max(1), src);
                let mut known = [0u64; 4];
                let mut all = true;
                for (k, v) in known.iter_mut().zip(vals) {
                    match v {
                        Val::Conc(b) => *k = b,
                        _ => all = false,
                    }
                }
                let (v, c) = if !all {
                    self.values
                        .int_terms(op, ty, n, vals)
                        .unwrap_or_else(|| self.inexpressible((w, lane, pc), vals, [dst, dst2]))
                } else if n > 1 {
                    (
                        Val::Conc(int::eval_packed(op, ty, n, known).0),
                        Val::Conc(0),
                    )
                } else {
                    let (v, c) = int::eval(op, ty, known);
                    (Val::Conc(v), Val::Conc(c as u64))
                };
                if let Some(d) = dst {
                    self.set(w, d, lane, v);
                }
                if let Some(d) = dst2 {
                    self.set(w, d, lane, c);
                }
                continue;
            }
            let v = self.int_lane(LaneAt { w, lane, pc }, op, ty, src)?;
            if let Some(d) = dst {
                self.set(w, d, lane, v);
            }
        }
        Ok(())
    }

    fn undefined(&mut self, w: usize, mask: u32, pc: Pc, op: IntOp) -> Result<(), Stop> {
        let (does, what) = match op {
            IntOp::Div | IntOp::Rem => (
                "divides by zero",
                "an integer is divided by zero: PTX leaves the result unspecified",
            ),
            IntOp::Fns => (
                "is executed",
                "`fns` counts from a bit above 31 or by -2^31: the result is unspecified",
            ),
            _ => (
                "is executed",
                "a position or length of a bit field in 64 bits is above 255: compilers and the manual disagree",
            ),
        };
        let site = site(pc, w, mask, does);
        self.found
            .unknown(UnknownKind::Undefined, vec![site], || what.into());
        Err(Stop::Finding)
    }

    /// Source values of a lane, floats with known bits made plain.
    fn resolved(&mut self, w: usize, lane: usize, pc: Pc, width: u8, src: &[Src; 4]) -> [Val; 4] {
        self.values.note_unset(w, pc);
        src.map(|s| {
            let v = self.src(w, s, lane);
            self.plain((w, lane, pc), v, width)
        })
    }

    /// The value with known bits made plain.
    fn plain(&mut self, at: (usize, usize, Pc), v: Val, width: u8) -> Val {
        match self.as_held(at, v) {
            v @ (Val::Conc(_) | Val::Pred(_)) => v,
            v => self.values.of_bits_plain(v, width),
        }
    }

    fn inexpressible(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        operands: [Val; 4],
        [dst, dst2]: [Option<RegId>; 2],
    ) -> (Val, Val) {
        let mut operands = operands.into_iter();
        let what = "an operation without a model";
        let missing = operands.any(|v| self.missing_binding(w, 1 << lane, pc, v, what));
        let mut one = |d: Option<RegId>| {
            let width = d.map_or(32, |d| self.width(d));
            let kind = UnknownKind::UnsupportedInstruction;
            let says = [
                "works on bits that depend on input data",
                "this operation on data-dependent bits has no model",
            ];
            Val::Bits(match missing {
                true => self.values.fresh_bits(width),
                false => self.open_bits((w, lane, pc), width, kind, says),
            })
        };
        (one(dst), one(dst2))
    }

    /// An integer operation in a lane with a symbolic operand.
    pub(super) fn int_lane(
        &mut self,
        LaneAt { w, lane, pc }: LaneAt,
        op: IntOp,
        ty: IntTy,
        src: &[Src; 4],
    ) -> Result<Val, Stop> {
        self.values.note_unset(w, pc);
        let vals = src.map(|s| self.src(w, s, lane));
        self.int_values(LaneAt { w, lane, pc }, op, ty, vals)
    }

    /// An integer operation on values.
    pub(super) fn int_values(
        &mut self,
        LaneAt { w, lane, pc }: LaneAt,
        op: IntOp,
        ty: IntTy,
        vals: [Val; 4],
    ) -> Result<Val, Stop> {
        if let Some(v) = self.values.grown_bits(op, ty, vals) {
            return Ok(v);
        }
        if let Some(v) = self.values.plain_product(op, ty, vals) {
            return Ok(v);
        }
        if let Some(v) = self.sign_of_known((w, lane, pc), (op, ty), vals) {
            return Ok(v);
        }
        let vals = from_fn(|i| self.plain((w, lane, pc), vals[i], operand_width(op, ty, i)));
        if let [Val::Conc(a), Val::Conc(b), Val::Conc(c), Val::Conc(d)] = vals {
            if int::is_undefined(op, ty, [a, b, c, d]) {
                self.undefined(w, 1 << lane, pc, op)?;
            }
            return Ok(Val::Conc(int::eval(op, ty, [a, b, c, d]).0));
        }
        if ty.width == 1 {
            if let Some(v) = self.values.logic(op, vals) {
                return Ok(v);
            }
        } else if let Some(v) = self.values.choices(op, ty, vals) {
            return Ok(v);
        }
        self.int_values_as_they_are(LaneAt { w, lane, pc }, op, ty, vals)
    }

    /// The same, but values that are selects among few known ones are not tried out: counts that
    /// grow under conditions are sums.
    pub(super) fn int_values_as_they_are(
        &mut self,
        LaneAt { w, lane, pc }: LaneAt,
        op: IntOp,
        ty: IntTy,
        vals: [Val; 4],
    ) -> Result<Val, Stop> {
        let args = from_fn(|i| self.values.bits(vals[i], operand_width(op, ty, i)));
        Ok(match self.values.integer(op, ty, args) {
            Some(t) => self.values.of_bits(t),
            None => self.inexpressible((w, lane, pc), vals, [None; 2]).0,
        })
    }

    /// Executes a lane-wise operation.
    pub(super) fn compute(&mut self, w: usize, exec: u32, pc: Pc, op: &Op) -> Result<(), Stop> {
        if self.compute_known(w, exec, pc, op) {
            return Ok(());
        }
        match op {
            Op::Mov { dst, src, .. } => self.copy(w, exec, *dst, *src),
            Op::Special { dst, special } => self.special(w, exec, pc, *dst, *special),
            Op::Pack { dst, part, srcs } => self.pack(At { w, exec, pc }, *dst, *part, srcs),
            Op::Unpack { dsts, part, src } => self.unpack(At { w, exec, pc }, dsts, *part, *src),
            Op::Int {
                op,
                ty,
                lanes: n,
                dst,
                dst2,
                src,
            } => self.int(At { w, exec, pc }, (*op, *ty, *n), *dst, *dst2, src)?,
            Op::Float { .. } => self.float(w, exec, pc, op)?,
            Op::Setp { .. } | Op::Set { .. } | Op::Testp { .. } => self.compare(w, exec, pc, op),
            Op::Selp {
                width,
                dst,
                a,
                b,
                p,
            } => {
                for lane in lanes(exec) {
                    let v = match self.truth(w, *p, lane) {
                        Val::Conc(1) => self.src(w, *a, lane),
                        Val::Conc(_) => self.src(w, *b, lane),
                        c => {
                            self.values.note_unset(w, pc);
                            let (x, y) = (self.src(w, *a, lane), self.src(w, *b, lane));
                            let p = self.values.pred(c);
                            self.values.select(p, x, y, *width)
                        }
                    };
                    self.set(w, *dst, lane, v);
                }
            }
            Op::Slct { .. } => self.slct(w, exec, pc, op),
            Op::Lop3Bool {
                table,
                op,
                dst,
                p,
                src,
                q,
            } => {
                let ty = IntTy {
                    width: 32,
                    signed: false,
                };
                for lane in lanes(exec) {
                    let s = [src[0], src[1], src[2], Src::Imm(0)];
                    let d = self.int_lane(LaneAt { w, lane, pc }, IntOp::Lop3(*table), ty, &s)?;
                    let zero = self.values.bits(Val::Conc(0), 32);
                    let bits = self.values.bits(d, 32);
                    let z = self.values.store.icmp(crate::term::ICmp::Eq, bits, zero);
                    let nz = self.values.store.not(z);
                    let q = self.truth(w, *q, lane);
                    let q = self.values.pred(q);
                    let r = self.values.combine(*op, nz, q);
                    let v = self.values.of_pred(r);
                    if let Some(dst) = dst {
                        self.set(w, *dst, lane, d);
                    }
                    self.set(w, *p, lane, v);
                }
            }
            Op::Cvt { .. }
            | Op::CvtNarrow { .. }
            | Op::CvtUnpack2 { .. }
            | Op::CvtPackSat { .. } => self.convert(w, exec, pc, op),
            Op::Cvta { .. } | Op::IsSpace { .. } => self.window(w, exec, pc, op)?,
            _ => {
                let site = site(pc, w, exec, "is executed");
                self.found
                    .unknown(UnknownKind::UnsupportedInstruction, vec![site], || {
                        format!("{op:?} is not supported")
                    });
                return Err(Stop::Finding);
            }
        }
        Ok(())
    }
}

/// Width in bits of an operation's result.
pub(super) fn result_width(op: IntOp, ty: IntTy) -> u8 {
    match op {
        IntOp::MulWide | IntOp::MadWide => ty.width * 2,
        IntOp::Popc | IntOp::Clz | IntOp::Bfind | IntOp::BfindShift => 32,
        _ => ty.width,
    }
}

/// Width in bits of an operation's operand.
pub fn operand_width(op: IntOp, ty: IntTy, i: usize) -> u8 {
    match (op, i) {
        (IntOp::MadWide, 2) => ty.width * 2,
        (IntOp::Shl | IntOp::Shr, 1) | (IntOp::Bfe, 1 | 2) | (IntOp::Bfi, 2 | 3) => 32,
        (IntOp::AddCarry | IntOp::SubBorrow, 2) | (IntOp::MadLoCarry | IntOp::MadHiCarry, 3) => 1,
        _ => ty.width,
    }
}

fn dim(v: [u32; 3], c: u8) -> u32 {
    v.get(c as usize).copied().unwrap_or(0)
}
