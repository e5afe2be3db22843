//! Values in the place of symbols, in all that a loop recorded.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::expr::Id;
use super::state::{Registers, Summary, Walk};

impl Walk<'_> {
    /// Puts values in the place of symbols in all that the loop recorded.
    pub(super) fn replace(&mut self, map: &FxHashMap<Id, Id>, summary: &mut Summary) {
        let Some(top) = self.open.last() else { return };
        let (marks, l) = (top.marks, top.index);
        let done = &mut map.clone();
        self.rewrite(marks, done);
        let inner = self.inner(l);
        let e = &mut self.e;
        let mut one = |id: &mut Id| *id = e.rewritten(&[*id], done)[0];
        summary.words().for_each(&mut one);
        for i in inner {
            let read = self.out.loops.get_mut(&i);
            read.into_iter().flat_map(Summary::words).for_each(&mut one);
        }
        for (_, when, regs) in self.open.last_mut().into_iter().flat_map(|t| &mut t.exits) {
            let regs = Rc::make_mut(regs);
            regs.iter_mut().chain([when]).for_each(&mut one);
        }
    }

    pub(super) fn moved(
        &mut self,
        b: u32,
        c: Id,
        regs: &Registers,
        done: &mut FxHashMap<Id, Id>,
    ) -> (u32, Id, Registers) {
        let mut all = regs.as_ref().clone();
        all.push(c);
        let mut all = self.e.rewritten(&all, done);
        let c = all.pop().unwrap_or(c);
        (b, c, Rc::new(all))
    }

    pub(super) fn rewrite(&mut self, marks: [usize; 8], done: &mut FxHashMap<Id, Id>) {
        let e = &mut self.e;
        let o = &mut self.out;
        let mut one = |id: &mut Id| *id = e.rewritten(&[*id], done)[0];
        let own = o.own[marks[7]..].iter_mut();
        for a in o.accesses[marks[0]..].iter_mut().chain(own) {
            let always = [&mut a.offset, &mut a.guard].into_iter();
            always.chain(&mut a.value).for_each(&mut one);
        }
        for b in &mut o.barriers[marks[1]..] {
            one(&mut b.guard);
            b.mask.iter_mut().for_each(&mut one);
        }
        let ends = o.ends[marks[2]..].iter_mut().map(|b| &mut b.guard);
        let waits = o.waits[marks[6]..].iter_mut().map(|w| &mut w.guard);
        ends.chain(waits).for_each(&mut one);
        let duties = o.duties[marks[3]..].iter_mut();
        duties.for_each(|d| [&mut d.guard, &mut d.holds].into_iter().for_each(&mut one));
        let known = o.known[marks[4]..].iter_mut();
        known.for_each(|k| {
            [&mut k.premise, &mut k.holds]
                .into_iter()
                .for_each(&mut one)
        });
        for c in &mut o.counters[marks[5]..] {
            let of = [&mut c.start, &mut c.step, &mut c.goes_on, &mut c.next];
            of.into_iter().for_each(&mut one);
        }
    }
}
