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
        for list in [&mut summary.first, &mut summary.next] {
            let keys: Vec<Id> = list.keys().copied().collect();
            let values: Vec<Id> = keys.iter().map(|k| list[k]).collect();
            let values = self.e.rewritten(&values, done);
            *list = keys.into_iter().zip(values).collect();
        }
        if let Some(on) = summary.goes_on {
            summary.goes_on = Some(self.e.rewritten(&[on], done)[0]);
        }
        let inner: Vec<usize> = self.inner(l);
        for i in inner {
            if let Some(mut s) = self.out.loops.remove(&i) {
                for list in [&mut s.first, &mut s.next] {
                    let keys: Vec<Id> = list.keys().copied().collect();
                    let values: Vec<Id> = keys.iter().map(|k| list[k]).collect();
                    let values = self.e.rewritten(&values, done);
                    *list = keys.into_iter().zip(values).collect();
                }
                for slot in [&mut s.goes_on, &mut s.before] {
                    if let Some(id) = *slot {
                        *slot = Some(self.e.rewritten(&[id], done)[0]);
                    }
                }
                self.out.loops.insert(i, s);
            }
        }
        let exits: Vec<(u32, Id, Registers)> = self
            .open
            .last()
            .map(|t| t.exits.clone())
            .unwrap_or_default();
        let exits = exits
            .into_iter()
            .map(|(b, c, regs)| self.moved(b, c, &regs, done))
            .collect();
        if let Some(top) = self.open.last_mut() {
            top.exits = exits;
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
            one(&mut a.offset);
            one(&mut a.guard);
            if let Some(v) = &mut a.value {
                one(v);
            }
        }
        for b in &mut o.barriers[marks[1]..] {
            one(&mut b.guard);
            if let Some(mask) = &mut b.mask {
                one(mask);
            }
        }
        o.ends[marks[2]..]
            .iter_mut()
            .for_each(|b| one(&mut b.guard));
        for d in &mut o.duties[marks[3]..] {
            one(&mut d.guard);
            one(&mut d.holds);
        }
        for k in &mut o.known[marks[4]..] {
            one(&mut k.premise);
            one(&mut k.holds);
        }
        o.waits[marks[6]..]
            .iter_mut()
            .for_each(|w| one(&mut w.guard));
        for c in &mut o.counters[marks[5]..] {
            for id in [&mut c.start, &mut c.step, &mut c.goes_on, &mut c.next] {
                one(id);
            }
        }
    }
}
