//! How warps go at branches, and where ways meet again.

use crate::sim::limits::LIMITS;
use std::rc::Rc;

use crate::kernel::region::Region;
use crate::kernel::structured::{Blocks, NONE};
use crate::kernel::{NumTy, Op, Pc};
use crate::sim::address::derive::Arg;
use crate::sim::machine::{Core, Machine, Threads};
use crate::sim::step::{Flow, Under, is_selectable};
use crate::sim::stop::Stop;
use crate::sim::val::{ABSENT_LANE, Val};
use crate::sim::value::Values;
use crate::sim::warp::{LANES, lanes};
use crate::term::{Term, TermId};
use crate::work;

use super::{End, Literal, Saved, Walk, Way, is_harmless};

/// No branch: what ways that met have in common.
const MET: u32 = u32::MAX;

impl Values {
    /// What a value that is loaded on a way is there.
    fn on_way(&mut self, way: &Way, lane: usize, v: Val) -> Val {
        let of = |l: &Literal| [l.cond[lane], l.here[lane]];
        let known: Vec<TermId> = way.literals.iter().flat_map(of).collect();
        self.where_true(&known, v)
    }

    /// Whether the condition of some lane asks bits of rounded numbers.
    fn ask_loose_bits(&self, under: &Under) -> bool {
        let store = &self.store;
        lanes(under.mask).any(|lane| store.is_loose(under.cond[lane]))
    }

    /// Whether the condition of some lane compares numbers.
    fn ask_numbers(&self, under: &Under) -> bool {
        let mut conditions = lanes(under.mask).map(|lane| under.cond[lane]);
        conditions.any(|cond| self.asks_numbers(cond))
    }

    fn asks_numbers(&self, cond: TermId) -> bool {
        let (store, mut open) = (&self.store, vec![cond]);
        for _ in 0..LIMITS.compared_parts {
            match open.pop().map(|t| store.get(t)) {
                Some(Term::RCmp(..)) => return true,
                // Bits of a number, or floats that are words.
                Some(Term::ICmp(_, a, b)) => {
                    let is_number = |t| matches!(store.get(t), Term::OfReal { .. } | Term::Word(_));
                    if is_number(a) || is_number(b) {
                        return true;
                    }
                }
                Some(Term::Not(a)) => open.push(a),
                Some(Term::And(a, b) | Term::Or(a, b)) => open.extend([a, b]),
                Some(_) => {}
                None => return false,
            }
        }
        false
    }

    /// True if two ways differ in their last branch only, and no lane that may go one of them went
    /// elsewhere on the other.
    fn are_sides(&self, a: &Way, b: &Way) -> bool {
        let n = a.literals.len();
        if n == 0 || b.literals.len() != n || !same(&a.literals[..n - 1], &b.literals[..n - 1]) {
            return false;
        }
        let (x, y) = (&a.literals[n - 1], &b.literals[n - 1]);
        let certain = |l: &Literal, mask: u32| {
            let sure = |lane: usize| self.store.as_bool(l.cond[lane]) == Some(true);
            lanes(mask).all(sure)
        };
        x.branch == y.branch
            && x.taken != y.taken
            && certain(x, a.mask & !b.mask)
            && certain(y, b.mask & !a.mask)
    }
}

impl Threads {
    /// The registers that a region writes, as they are.
    fn save(&self, w: usize, region: &Region) -> Vec<Saved> {
        let warp = &self.warps[w];
        let of = |r: &_| Saved {
            words: *warp.words(*r),
            symbolic: warp.symbolic(*r),
            carried: warp.carried_lanes(*r),
        };
        region.defs.iter().map(of).collect()
    }
}

impl Core<'_> {
    /// The region of a branch.
    fn region(&mut self, pc: Pc) -> Option<Rc<Region>> {
        let kernel = self.fixed.kernel;
        let regions = &mut self.threads.branch_regions;
        let blocks = regions
            .blocks
            .get_or_insert_with(|| Rc::new(Blocks::new(kernel)))
            .clone();
        let new = || Region::new(kernel, &blocks, pc).map(Rc::new);
        regions.known.entry(pc.0).or_insert_with(new).clone()
    }

    /// True if all that a branch does is to choose what registers hold.
    pub(in crate::sim) fn is_choice(&mut self, pc: Pc) -> bool {
        let region = self.region(pc);
        region.is_some_and(|r| self.is_harmless(&r))
    }

    /// True if whoever comes to a region can go any way through it: nothing but registers changes there, nothing is
    /// read, every operation is defined, and all ways end at the join. A branch on a value that was never written is
    /// then a choice by that value, which is a defect only where what is chosen is used.
    fn is_harmless(&self, region: &Region) -> bool {
        let code = region.blocks.iter().flat_map(|b| b.start..b.end);
        region.join != NONE && code.map(Pc).all(|pc| is_harmless(pc, &self.inst(pc).op))
    }

    /// Splits a way at a branch: lanes `sure` go on at `taken`, those of `under` under their
    /// condition, all others at `fall`.
    fn fork(
        &mut self,
        walk: &mut Walk,
        way: Way,
        sure: u32,
        under: &Under,
        (taken, fall): (u32, u32),
    ) -> Result<(), End> {
        let split = under.mask != 0;
        let rounds = way.literals.iter().filter(|l| l.fall == fall).count();
        let is_long = rounds >= LIMITS.loop_rounds && work::spent() - walk.began > LIMITS.walk_work;
        let asks = is_long && self.values.ask_numbers(under)
            || rounds >= LIMITS.loop_rounds_of_bits && self.values.ask_loose_bits(under);
        if split && asks && !self.counts(walk, way.mask) {
            return Err(End::Endless(Pc(fall - 1)));
        }
        if way.literals.len() >= LIMITS.walk_branches {
            return Err(match rounds * 2 >= LIMITS.walk_branches {
                true => End::Endless(Pc(fall - 1)),
                false => End::Unstructured,
            });
        }
        let serial = walk.serial;
        walk.serial += split as u32;
        let sides = [
            (true, sure | under.mask, taken),
            (false, way.mask & !sure, fall),
        ];
        for (side, mut mask, to) in sides {
            if mask == 0 {
                continue;
            }
            let mut literals = way.literals.clone();
            if split {
                let store = &mut self.values.store;
                let yes = store.bool(true);
                let mut cond = [yes; LANES];
                for lane in lanes(under.mask) {
                    let c = under.cond[lane];
                    cond[lane] = if side { c } else { store.not(c) };
                }
                let mut here = cond;
                if let Some(before) = way.here() {
                    for lane in lanes(mask) {
                        here[lane] = store.and(before[lane], cond[lane]);
                    }
                }
                for lane in lanes(mask) {
                    if store.as_bool(here[lane]) == Some(false) {
                        mask &= !(1 << lane);
                    }
                }
                literals.push(Literal {
                    fall,
                    branch: serial,
                    taken: side,
                    cond: Rc::new(cond),
                    here: Rc::new(here),
                });
            }
            if mask == 0 {
                continue;
            }
            let next = Way {
                rank: 0,
                mask,
                literals,
                regs: way.regs.clone(),
            };
            lead_to(walk, next, to)?;
        }
        Ok(())
    }

    /// Whether the region compares a known integer that it changes: the counter of a loop, which may end it too.
    fn counts(&self, walk: &Walk, mask: u32) -> bool {
        let is_known = |r| {
            lanes(mask).all(|lane| matches!(self.threads.warps[walk.w].get(r, lane), Val::Conc(_)))
        };
        let code = walk.region.blocks.iter().flat_map(|b| b.start..b.end);
        code.map(Pc).any(|pc| {
            let op = &self.inst(pc).op;
            let compares = matches!(op, Op::Setp { ty, .. } | Op::Set { ty, .. } if matches!(ty, NumTy::Int(_)));
            let (mut all, mut own) = (compares, false);
            op.uses(&mut |r| {
                all &= is_known(r);
                own |= walk.region.defs.binary_search(&r).is_ok();
            });
            all && own
        })
    }

    /// The registers of a way, in its lanes.
    fn restore(&mut self, w: usize, region: &Region, way: &Way) {
        for (&r, saved) in region.defs.iter().zip(&way.regs) {
            let warp = &mut self.threads.warps[w];
            warp.set_words(r, way.mask & !saved.symbolic, &saved.words);
            let mut absent = 0u32;
            for lane in lanes(way.mask & saved.symbolic) {
                absent |= ((saved.words[lane] == ABSENT_LANE) as u32) << lane;
            }
            warp.set_symbolic(r, way.mask & saved.symbolic & !absent, &saved.words);
            warp.set_absent(r, absent);
            for lane in lanes(way.mask & saved.carried.mask) {
                self.set_prov(w, r, 1 << lane, saved.carried.get(lane));
            }
        }
    }

    /// All ways that lead to one place as one.
    fn merge_all(&mut self, walk: &mut Walk, mut ways: Vec<Way>) -> Result<Option<Way>, End> {
        // The two sides of one branch first, because then the branch drops out.
        let mut i = 0;
        while i < ways.len() {
            match (i + 1..ways.len()).find(|&j| self.values.are_sides(&ways[i], &ways[j])) {
                Some(j) => {
                    let b = ways.remove(j);
                    let a = ways.remove(i);
                    let merged = self.merge(walk, a, b)?;
                    ways.push(merged);
                    i = 0;
                }
                None => i += 1,
            }
        }
        let mut ways = ways.into_iter();
        let Some(mut all) = ways.next() else {
            return Ok(None);
        };
        for way in ways {
            all = self.merge(walk, all, way)?;
        }
        Ok(Some(all))
    }

    /// Ends the walk at a limit: one step of it may build terms as large as those of the whole run before.
    fn look_at_limits(&mut self) -> Result<(), End> {
        match self.is_late() {
            true => Err(End::Stop(Stop::Finding)),
            false => Ok(()),
        }
    }

    /// Two ways as one, with selects for the registers that are still read.
    fn merge(&mut self, walk: &mut Walk, a: Way, b: Way) -> Result<Way, End> {
        self.look_at_limits()?;
        let both = a.mask & b.mask;
        let common = (0..a.literals.len().min(b.literals.len()))
            .take_while(|&i| same(&a.literals[i..i + 1], &b.literals[i..i + 1]))
            .count();
        let sides = self.values.are_sides(&a, &b);
        let equal = common == a.literals.len() && common == b.literals.len();
        if equal && both != 0 {
            return Err(End::Unstructured);
        }
        let store = &mut self.values.store;
        let yes = store.bool(true);
        // The conditions of the ways since they parted.
        let mut since = |literals: &[Literal], mask: u32| {
            let mut out = [yes; LANES];
            for l in &literals[common..] {
                for lane in lanes(mask) {
                    out[lane] = store.and(out[lane], l.cond[lane]);
                }
            }
            out
        };
        let (of_a, of_b) = (since(&a.literals, a.mask), since(&b.literals, b.mask));
        let mut literals = a.literals[..common].to_vec();
        if !sides && !equal {
            let before = literals.last().map(|l: &Literal| l.here.clone());
            let (mut cond, mut here) = ([yes; LANES], [yes; LANES]);
            for lane in lanes(a.mask | b.mask) {
                let bit = 1 << lane;
                cond[lane] = match (a.mask & bit != 0, b.mask & bit != 0) {
                    (true, true) => store.or(of_a[lane], of_b[lane]),
                    (true, false) => of_a[lane],
                    _ => of_b[lane],
                };
                here[lane] = match &before {
                    Some(h) => store.and(h[lane], cond[lane]),
                    None => cond[lane],
                };
            }
            literals.push(Literal {
                fall: MET,
                branch: walk.serial,
                taken: true,
                cond: Rc::new(cond),
                here: Rc::new(here),
            });
            walk.serial += 1;
        }
        let mut regs = a.regs;
        for (i, (&r, theirs)) in walk.region.defs.iter().zip(&b.regs).enumerate() {
            let ours = &mut regs[i];
            if !walk.region.is_live(a.rank, i) || *ours == *theirs {
                for lane in lanes(b.mask & !a.mask) {
                    put(
                        ours,
                        lane,
                        theirs.words[lane],
                        theirs.symbolic >> lane & 1 == 1,
                    );
                    ours.carried.set(lane, theirs.carried.get(lane));
                }
                continue;
            }
            self.look_at_limits()?;
            let width = self.width(r);
            self.values.note_unset(walk.w, walk.branch);
            for lane in lanes(b.mask) {
                let (v, p) = (value(theirs, lane), theirs.carried.get(lane));
                let (v, p) = if both >> lane & 1 == 1 {
                    let (old, carried) = (value(ours, lane), ours.carried.get(lane));
                    let sides = [Arg { v: old, p: carried }, Arg { v, p }];
                    match self.settled(of_a[lane], sides) {
                        Some(Some((p, number))) => (Val::Conc(number), p),
                        Some(None) => {
                            self.refuse_base(walk.w, 1 << lane, walk.branch);
                            return Err(End::Stop(Stop::Finding));
                        }
                        None => {
                            let merged = self.memory.prov.choice(of_a[lane], carried, p);
                            (self.values.select(of_a[lane], old, v, width), merged)
                        }
                    }
                } else {
                    (v, p)
                };
                let (word, symbolic) = v.pack();
                put(ours, lane, word, symbolic);
                ours.carried.set(lane, p);
            }
        }
        Ok(Way {
            rank: a.rank,
            mask: a.mask | b.mask,
            literals,
            regs,
        })
    }
}

impl Machine<'_> {
    /// A conditional branch in lanes `mask`: `yes` take it, those of `under` may.
    pub(in crate::sim) fn branch_on_data(
        &mut self,
        w: usize,
        mask: u32,
        yes: u32,
        under: Under,
        pc: Pc,
    ) -> Result<Flow, Stop> {
        let Op::Bra { target, .. } = self.core.inst(pc).op else {
            return Ok(Flow::Next);
        };
        if let Some(yes) = self.decide_ways(yes, &under, pc)? {
            self.core.threads.warps[w].jump(mask & !yes, pc.0 + 1);
            self.core.threads.warps[w].jump(yes, target.0);
            return Ok(Flow::Set);
        }
        let region = self.core.region(pc);
        if !region.as_ref().is_some_and(|r| self.core.is_harmless(r)) {
            self.core.check_set(w, pc, &under)?;
        }
        if self.core.assertion(w, (mask, yes), &under, (pc, target)) {
            return Ok(Flow::Set);
        }
        let sure = mask & !under.mask;
        self.core.threads.warps[w].jump(sure & !yes, pc.0 + 1);
        self.core.threads.warps[w].jump(yes, target.0);
        let result = match region {
            Some(region) => self.walk(w, &under, pc, target, &region),
            None => Err(End::Unstructured),
        };
        match result {
            Ok(()) => Ok(Flow::Set),
            Err(End::Stop(s)) => Err(s),
            Err(end) => {
                // Runs that each decide a few rounds do not end such a loop either.
                if matches!(end, End::Unstructured) {
                    self.ask_for_ways(&under, pc)?;
                }
                let lane = under.mask.trailing_zeros() as usize;
                let v = Val::Pred(under.cond[lane]);
                let at = match end {
                    End::Endless(branch) => branch,
                    End::Stop(_) | End::Unstructured => pc,
                };
                self.core.data_dependent_branch(w, under.mask, at, v);
                Err(Stop::Finding)
            }
        }
    }

    /// Executes the region in the lanes of `under`, whose conditions say who takes the branch.
    fn walk(
        &mut self,
        w: usize,
        under: &Under,
        branch: Pc,
        target: Pc,
        region: &Region,
    ) -> Result<(), End> {
        let mut walk = Walk {
            w,
            region,
            branch,
            harmless: self.core.is_harmless(region),
            serial: 0,
            steps: 0,
            began: work::spent(),
            pending: Vec::new(),
        };
        let regs = self.core.threads.save(w, region);
        let start = Way {
            rank: 0,
            mask: under.mask,
            literals: Vec::new(),
            regs,
        };
        self.core
            .fork(&mut walk, start, 0, under, (target.0, branch.0 + 1))?;
        loop {
            let rank = walk.pending.iter().map(|p| p.rank).min();
            let rank = rank.unwrap_or(region.end());
            let (here, rest): (Vec<Way>, Vec<Way>) =
                walk.pending.drain(..).partition(|p| p.rank == rank);
            walk.pending = rest;
            let way = self.core.merge_all(&mut walk, here)?;
            if rank == region.end() {
                if let Some(way) = way {
                    self.core.restore(w, region, &way);
                }
                break;
            }
            if let Some(way) = way {
                self.walk_block(&mut walk, way)?;
            }
        }
        if region.join == NONE {
            self.exit(w, under.mask)?;
        } else {
            self.core.threads.warps[w].jump(under.mask, region.join);
        }
        Ok(())
    }

    /// Executes one block on a way, and puts where it leads among the pending.
    fn walk_block(&mut self, walk: &mut Walk, way: Way) -> Result<(), End> {
        let (w, region) = (walk.w, walk.region);
        self.core.look_at_limits()?;
        self.core.restore(w, region, &way);
        let (here, mut under, mut yes) = (way.here(), Under::none(), 0u32);
        for lane in lanes(way.mask) {
            match here.map(|h| h[lane]) {
                Some(c) if self.core.values.store.as_bool(c) != Some(true) => {
                    under.mask |= 1 << lane;
                    under.cond[lane] = c;
                }
                _ => yes |= 1 << lane,
            }
        }
        let block = &region.blocks[way.rank as usize];
        for pc in block.start..block.end {
            walk.steps += 1;
            if walk.steps > LIMITS.walk_steps {
                return Err(End::Unstructured);
            }
            let pc = Pc(pc);
            let inst = self.core.inst(pc);
            self.prelude(w, (way.mask, yes), pc)?;
            let (sure, guards) = self.core.guarded(w, way.mask, inst.guard);
            if !walk.harmless {
                self.core.check_set(w, pc, &guards)?;
            }
            let onward = match inst.op {
                Op::Bra { target, .. } => target.0,
                Op::Exit if region.join == NONE => NONE,
                _ if !is_selectable(&inst.op) => return Err(End::Unstructured),
                _ => {
                    self.execute_on_way(&way, w, pc, (yes, &under), (sure, &guards))?;
                    self.keep_trails();
                    continue;
                }
            };
            let mut way = way;
            way.regs = self.core.threads.save(w, region);
            return self.core.fork(walk, way, sure, &guards, (onward, pc.0 + 1));
        }
        let mut way = way;
        way.regs = self.core.threads.save(w, region);
        let end = block.end;
        lead_to(walk, way, end)
    }

    /// One instruction other than a branch on a way: `yes` and `under` are the lanes that go this
    /// way, for certain or under a condition, `sure` and `guards` those whose guard holds.
    fn execute_on_way(
        &mut self,
        way: &Way,
        w: usize,
        pc: Pc,
        (yes, under): (u32, &Under),
        (sure, guards): (u32, &Under),
    ) -> Result<(), Stop> {
        let exec = sure | guards.mask;
        if exec == 0 {
            return Ok(());
        }
        if guards.mask == 0 && exec & yes == exec {
            self.execute(w, way.mask, exec, pc, &Under::none())?;
            return Ok(());
        }
        // Where an access happens is a matter of the way and the guard, what a register then
        // holds of the guard alone.
        let mut both = Under::none();
        for lane in lanes(exec) {
            let bit = 1 << lane;
            let cond = match (guards.mask & bit != 0, under.mask & bit != 0) {
                (false, false) => continue,
                (true, false) => guards.cond[lane],
                (false, true) => under.cond[lane],
                (true, true) => {
                    let store = &mut self.core.values.store;
                    store.and(under.cond[lane], guards.cond[lane])
                }
            };
            if self.core.values.store.as_bool(cond) != Some(true) {
                both.mask |= bit;
                both.cond[lane] = cond;
            }
        }
        self.execute_guarded((w, way.mask), exec, pc, guards, &both)?;
        if let Op::Ld { dsts, .. } = &self.core.inst(pc).op {
            for r in dsts.iter().flatten() {
                for lane in lanes(exec & both.mask) {
                    let v = self.core.threads.warps[w].get(*r, lane);
                    let p = self.core.threads.warps[w].prov(*r, lane);
                    let new = self.core.values.on_way(way, lane, v);
                    if new != v {
                        self.core.set(w, *r, lane, new);
                        self.core.set_prov(w, *r, 1 << lane, p);
                    }
                }
            }
        }
        Ok(())
    }
}

/// True if two ways took the same branches in the same directions.
fn same(a: &[Literal], b: &[Literal]) -> bool {
    let alike = |(x, y): (&Literal, &Literal)| x.branch == y.branch && x.taken == y.taken;
    a.len() == b.len() && a.iter().zip(b).all(alike)
}

fn value(saved: &Saved, lane: usize) -> Val {
    match saved.symbolic >> lane & 1 {
        0 => Val::Conc(saved.words[lane]),
        _ => Val::unpack(saved.words[lane]),
    }
}

fn put(saved: &mut Saved, lane: usize, word: u64, is_symbolic: bool) {
    saved.words[lane] = word;
    saved.symbolic = saved.symbolic & !(1 << lane) | (is_symbolic as u32) << lane;
}

/// A way leads to the block or join that starts at a pc.
fn lead_to(walk: &mut Walk, mut way: Way, pc: u32) -> Result<(), End> {
    let Some(rank) = walk.region.rank(pc) else {
        return Err(End::Unstructured);
    };
    way.rank = rank;
    walk.pending.push(way);
    Ok(())
}
