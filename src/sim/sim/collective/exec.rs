//! Shuffles, votes and reductions of lanes that meet.

use crate::answer::AssumptionKind;
use crate::kernel::{
    AtomOp, FloatMods, FloatOp, Fmt, Guard, IntTy, NumTy, Op, Pc, ShflMode, Src, VoteMode,
};
use crate::sim::address::derive::Arg;
use crate::sim::address::provenance::Prov;
use crate::sim::at::{LaneAt, site};
use crate::sim::known_collectives::combining;
use crate::sim::machine::{Core, Machine, Synchronisation};
use crate::sim::stop::Stop;
use crate::sim::val::Val;
use crate::sim::value::Values;
use crate::sim::warp::{LANES, lanes};
use crate::sim::{DefectKind, UnknownKind};
use crate::term::{Fun, ICmp, TermId};

use super::{Key, source_lane};

/// The qualifiers of a collective as a number, its name, and its member mask operand.
fn kind_of(op: &Op) -> Option<(u32, &'static str, Option<Src>)> {
    Some(match op {
        Op::WarpSync { mask } => (1, "bar.warp.sync", Some(*mask)),
        Op::Shfl { mode, mask, .. } => (16 + *mode as u32, "shfl.sync", *mask),
        Op::Vote { mode, mask, .. } => (32 + *mode as u32, "vote.sync", *mask),
        Op::Match {
            all, width, mask, ..
        } => (48 + *all as u32 + *width as u32, "match.sync", Some(*mask)),
        Op::Redux { op, ty, mask, .. } => {
            let signed = matches!(ty, NumTy::Int(IntTy { signed: true, .. }));
            let float = matches!(ty, NumTy::Float(_));
            let q = *op as u32 * 4 + signed as u32 + 2 * float as u32;
            (256 + q, "redux.sync", Some(*mask))
        }
        Op::Elect { mask, .. } => (2, "elect.sync", Some(*mask)),
        _ => return None,
    })
}

impl Values {
    /// The magnitude of a lane's number.
    fn magnitude(&mut self, pc: Pc, f: Fmt, v: Val) -> Val {
        // A maximum of magnitudes, of one number and itself.
        let same = (FloatOp::Max, f, [true, false], [v, v]);
        if let Some(known) = self.known_extremum(pc, same) {
            return known;
        }
        let x = self.real(v, f);
        let t = self.store.fun(Fun::Abs, x);
        let plain = (f, FloatMods::default());
        Val::Real(f, self.exact(FloatOp::Abs, plain, [v], t))
    }

    /// An extremum of two lanes where numbers are known, or floats are words.
    fn known_extremum(
        &mut self,
        pc: Pc,
        (op, f, mods, v): (FloatOp, Fmt, [bool; 2], [Val; 2]),
    ) -> Option<Val> {
        let known = self.lane_extremum(op, f, mods, v);
        known.or_else(|| self.extremum_word(pc, (op, f), mods, v))
    }
}

impl Synchronisation {
    /// Lanes of a warp that wait in collectives.
    pub(in crate::sim) fn waiting_lanes(&self, w: usize) -> u32 {
        let mut m = 0;
        for (l, k) in self.collectives[w].keys.iter().enumerate() {
            m |= (k.is_some() as u32) << l;
        }
        m
    }
}

impl Core<'_> {
    /// True if these lanes are all that their mask asks for, so that none of them waits.
    fn meets_at_once(&self, w: usize, exec: u32, mask: Option<Src>) -> bool {
        let Some(mask) = mask else { return true };
        let live = self.threads.warps[w].live;
        let words = self.words(w, mask);
        let first = words[exec.trailing_zeros() as usize & (LANES - 1)] as u32;
        let agree = |l: usize| words[l] as u32 == first;
        self.threads.symbolic(w, mask) & exec == 0 && first & live == exec && lanes(exec).all(agree)
    }

    fn shuffle(&mut self, w: usize, members: u32, mode: ShflMode) -> Result<(), Stop> {
        let mut results = Vec::with_capacity(LANES);
        for lane in lanes(members) {
            let pc = Pc(self.threads.warps[w].pc[lane]);
            let Op::Shfl {
                dst, p, a, b, c, ..
            } = &self.inst(pc).op
            else {
                continue;
            };
            let [b, c] = [*b, *c].map(|s| {
                let v = self.src(w, s, lane);
                self.values.of_bits_plain(v, 32)
            });
            let (Val::Conc(b), Val::Conc(c)) = (b, c) else {
                let v = if matches!(b, Val::Conc(_)) { c } else { b };
                self.data_dependent_address(w, 1 << lane, pc, v);
                return Err(Stop::Finding);
            };
            let (j, ok) = source_lane(mode, lane as u32, b as u32, c as u32);
            let (dst, p, a) = (*dst, *p, *a);
            if members >> j & 1 == 0 {
                // Only the value is undefined, which matters where it reaches something.
                let text = format!("reads lane {j}, which does not take part");
                let site = site(pc, w, 1 << lane, text);
                self.memory.unset_sites.entry(pc).or_insert(site);
                let t = self.values.store.poison(32, pc.0);
                let given = Arg {
                    v: Val::Bits(t),
                    p: Prov::NONE,
                };
                results.push((lane, dst, p, given, ok));
                continue;
            }
            // The value of the source lane, at its own instruction.
            let from = Pc(self.threads.warps[w].pc[j as usize]);
            let source = match &self.inst(from).op {
                Op::Shfl { a, .. } => *a,
                _ => a,
            };
            let mut given = self.arg(w, source, j as usize);
            if j as usize != lane {
                given.p = self.memory.prov.elsewhere(given.p);
            }
            results.push((lane, dst, p, given, ok));
        }
        for (lane, dst, p, given, ok) in results {
            self.set(w, dst, lane, given.v);
            self.set_prov(w, dst, 1 << lane, given.p);
            if let Some(p) = p {
                self.set(w, p, lane, Val::Conc(ok as u64));
            }
        }
        Ok(())
    }

    fn vote(&mut self, w: usize, members: u32, mode: VoteMode) -> Result<(), Stop> {
        if self.values.omits && self.omit_vote(w, members) {
            return Ok(());
        }
        let mut votes: Vec<(usize, TermId)> = Vec::with_capacity(LANES);
        for lane in lanes(members) {
            let pc = Pc(self.threads.warps[w].pc[lane]);
            self.values.note_unset(w, pc);
            if let Op::Vote { a, .. } = &self.inst(pc).op {
                let a: Guard = *a;
                let v = self.truth(w, a, lane);
                votes.push((lane, self.values.pred(v)));
            }
        }
        let s = &mut self.values.store;
        let result = match mode {
            VoteMode::Ballot => {
                let mut bits = vec![s.bits(1, 0); LANES];
                for (lane, t) in &votes {
                    bits[*lane] = s.of_bool(1, *t);
                }
                let t = s.concat(&bits);
                self.values.of_bits(t)
            }
            _ => {
                let (mut all, mut any) = (s.bool(true), s.bool(false));
                for (_, t) in &votes {
                    all = s.and(all, *t);
                    any = s.or(any, *t);
                }
                let t = match mode {
                    VoteMode::All => all,
                    VoteMode::Any => any,
                    _ => {
                        let none = s.not(any);
                        s.or(all, none)
                    }
                };
                self.values.of_pred(t)
            }
        };
        for lane in lanes(members) {
            let pc = Pc(self.threads.warps[w].pc[lane]);
            if let Op::Vote { dst, .. } = &self.inst(pc).op {
                let dst = *dst;
                self.set(w, dst, lane, result);
            }
        }
        Ok(())
    }

    fn match_lanes(&mut self, w: usize, members: u32, all: bool, width: u8) -> Result<(), Stop> {
        let mut vals: Vec<(usize, TermId)> = Vec::new();
        for lane in lanes(members) {
            let pc = Pc(self.threads.warps[w].pc[lane]);
            self.values.note_unset(w, pc);
            if let Op::Match { a, .. } = &self.inst(pc).op {
                let v = self.src(w, *a, lane);
                vals.push((lane, self.values.bits(v, width)));
            }
        }
        for &(lane, x) in &vals {
            let mut bits = vec![self.values.store.bits(1, 0); LANES];
            let mut same = self.values.store.bool(true);
            for &(other, y) in &vals {
                let e = self.values.store.icmp(ICmp::Eq, x, y);
                same = self.values.store.and(same, e);
                bits[other] = self.values.store.of_bool(1, e);
            }
            let pc = Pc(self.threads.warps[w].pc[lane]);
            let Op::Match { dst, p, .. } = &self.inst(pc).op else {
                continue;
            };
            let (dst, p) = (*dst, *p);
            let v = if all {
                self.values
                    .select(same, Val::Conc(members as u64), Val::Conc(0), 32)
            } else {
                let t = self.values.store.concat(&bits);
                self.values.of_bits(t)
            };
            self.set(w, dst, lane, v);
            if let Some(p) = p {
                let v = self.values.of_pred(same);
                self.set(w, p, lane, v);
            }
        }
        Ok(())
    }

    fn reduce(
        &mut self,
        w: usize,
        members: u32,
        op: AtomOp,
        ty: NumTy,
        abs: bool,
    ) -> Result<(), Stop> {
        let mut values: Vec<Val> = Vec::new();
        let (mut at, mut with_nan) = (None, false);
        for lane in lanes(members) {
            let pc = Pc(self.threads.warps[w].pc[lane]);
            self.values.note_unset(w, pc);
            let Op::Redux { a, nan, .. } = &self.inst(pc).op else {
                continue;
            };
            let (v, nan) = (self.src(w, *a, lane), *nan);
            (at, with_nan) = (Some((lane, pc)), nan);
            let v = match ty {
                NumTy::Float(f) if abs => self.values.magnitude(pc, f, v),
                _ => v,
            };
            // A minimum and a maximum, and bits that are joined, take a value in once.
            let once = !matches!(op, AtomOp::Add | AtomOp::Xor);
            if !(once && values.contains(&v)) {
                values.push(v);
            }
        }
        let Some((lane, pc)) = at else { return Ok(()) };
        match ty {
            // By halves, as a butterfly does it: what looks into the result needs no deep one.
            NumTy::Float(f) => {
                // One value is compared with itself: what is no number becomes the canonical one.
                if let [v] = values[..] {
                    values.push(v);
                }
                while values.len() > 1 {
                    let halves = values.chunks(2).map(|pair| match *pair {
                        [p, v] => self.extremum_of_lanes((pc, op), (f, with_nan), [p, v]),
                        _ => pair[0],
                    });
                    values = halves.collect();
                }
            }
            NumTy::Int(t) => {
                let zero = Val::Conc(0);
                let mut rest = values.drain(..);
                let mut acc = rest.next();
                for v in rest {
                    let operands = [acc.unwrap_or(zero), v, zero, zero];
                    acc = Some(self.int_values(
                        LaneAt { w, lane, pc },
                        combining(op),
                        t,
                        operands,
                    )?);
                }
                values.extend(acc);
            }
        }
        let acc = values.pop();
        for lane in lanes(members) {
            let pc = Pc(self.threads.warps[w].pc[lane]);
            if let (Op::Redux { dst, .. }, Some(v)) = (&self.inst(pc).op, acc) {
                let dst = *dst;
                self.set(w, dst, lane, v);
            }
        }
        Ok(())
    }

    /// The larger or the smaller of the numbers of two lanes.
    fn extremum_of_lanes(
        &mut self,
        (pc, op): (Pc, AtomOp),
        (f, nan): (Fmt, bool),
        v: [Val; 2],
    ) -> Val {
        let op = match op {
            AtomOp::Min => FloatOp::Min,
            _ => FloatOp::Max,
        };
        if let Some(known) = self.values.known_extremum(pc, (op, f, [false, nan], v)) {
            return known;
        }
        let operands = v.map(|v| self.values.real(v, f));
        let t = self.extremum(op, nan, &operands);
        let mods = FloatMods {
            nan,
            ..FloatMods::default()
        };
        Val::Real(f, self.values.exact(op, (f, mods), v, t))
    }
}

impl Machine<'_> {
    /// Lanes `exec` arrive at a collective.
    pub(in crate::sim) fn meet_lanes(&mut self, w: usize, exec: u32, pc: Pc) -> Result<(), Stop> {
        let Some((kind, name, mask)) = kind_of(&self.core.inst(pc).op) else {
            return Ok(());
        };
        if self.core.meets_at_once(w, exec, mask) {
            self.exchange(w, exec)?;
            self.note_meeting(w, exec);
            self.core.threads.warps[w].jump(exec, pc.0 + 1);
            return Ok(());
        }
        for lane in lanes(exec) {
            let m = match mask {
                // The forms without `.sync` exchange among the lanes that run together.
                None => exec,
                Some(s) => {
                    let v = self.core.src(w, s, lane);
                    match self.core.values.of_bits_plain(v, 32) {
                        Val::Conc(m) => m as u32,
                        _ => {
                            let site = site(pc, w, 1 << lane, "takes a mask from input data");
                            self.core.found.unknown(
                                UnknownKind::DataDependentBranch,
                                vec![site],
                                || format!("the member mask of {name} depends on input data"),
                            );
                            return Err(Stop::Finding);
                        }
                    }
                }
            };
            if m >> lane & 1 == 0 {
                let site = site(
                    pc,
                    w,
                    1 << lane,
                    format!("executes {name} with mask {m:#x}"),
                );
                self.core.defect(DefectKind::BarrierMisuse, vec![site], || {
                    format!("a lane executes {name} with a mask that does not name it")
                });
                return Err(Stop::Finding);
            }
            self.sync.collectives[w].keys[lane] = Some(Key { mask: m, kind });
        }
        self.core.threads.warps[w].blocked |= exec;
        self.complete_meetings(w)
    }

    /// Carries out the collectives of a warp for which nobody is missing any more.
    pub(in crate::sim) fn complete_meetings(&mut self, w: usize) -> Result<(), Stop> {
        let mut rest = self.sync.waiting_lanes(w);
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            let Some(key) = self.sync.collectives[w].keys[lane] else {
                break;
            };
            let members = key.mask & self.core.threads.warps[w].live;
            let mut here = 0u32;
            for l in lanes(members) {
                here |= ((self.sync.collectives[w].keys[l] == Some(key)) as u32) << l;
            }
            rest &= !(1 << lane);
            if here != members {
                continue;
            }
            rest &= !members;
            self.exchange(w, members)?;
            self.note_meeting(w, members);
            for l in lanes(members) {
                self.sync.collectives[w].keys[l] = None;
                self.core.threads.warps[w].pc[l] += 1;
            }
            self.core.threads.warps[w].blocked &= !members;
        }
        Ok(())
    }

    /// What a waiting lane waits for: the name of the collective and the lanes that are missing.
    pub(in crate::sim) fn missing_lanes(
        &self,
        w: usize,
        lane: usize,
    ) -> Option<(&'static str, u32)> {
        let key = self.sync.collectives[w].keys[lane]?;
        let mut missing = 0;
        for l in lanes(key.mask & self.core.threads.warps[w].live) {
            missing |= ((self.sync.collectives[w].keys[l] != Some(key)) as u32) << l;
        }
        let pc = Pc(self.core.threads.warps[w].pc[lane]);
        kind_of(&self.core.inst(pc).op).map(|k| (k.1, missing))
    }

    fn exchange(&mut self, w: usize, members: u32) -> Result<(), Stop> {
        let first = members.trailing_zeros() as usize;
        let pc = Pc(self.core.threads.warps[w].pc[first]);
        let op = &self.core.inst(pc).op;
        if self.core.exchange_known(w, members, pc, op) {
            return Ok(());
        }
        match *op {
            Op::WarpSync { .. } => {
                self.core.threads.stats.warp_syncs += members.count_ones() as u64;
                self.sync.order.warp_sync(w, members);
                Ok(())
            }
            Op::Shfl { mode, .. } => self.core.shuffle(w, members, mode),
            Op::Vote { mode, .. } => self.core.vote(w, members, mode),
            Op::Match { all, width, .. } => self.core.match_lanes(w, members, all, width),
            Op::Redux { op, ty, abs, .. } => self.core.reduce(w, members, op, ty, abs),
            Op::Elect { .. } => {
                self.core
                    .found
                    .assumptions
                    .insert(AssumptionKind::Machine.says(
                    "elect.sync elects the lowest lane of its mask (PTX leaves the choice open)",
                ));
                for lane in lanes(members) {
                    let pc = Pc(self.core.threads.warps[w].pc[lane]);
                    if let Op::Elect { dst, p, .. } = &self.core.inst(pc).op {
                        let (dst, p) = (*dst, *p);
                        if let Some(d) = dst {
                            self.core.set(w, d, lane, Val::Conc(first as u64));
                        }
                        self.core.set(w, p, lane, Val::Conc((lane == first) as u64));
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
