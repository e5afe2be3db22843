//! Two arbitrary threads: the second one is the first one with its own symbols.

use rustc_hash::FxHashMap;

use super::expr::{Id, Level, Node, Order, Symbol};
use super::prover::Prover;
use super::state::Counter;
use crate::term::BitsOp;

/// How the second thread lies to the first.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Relation {
    /// In one CTA; in the same iteration of these loops.
    Within(Vec<usize>),
    /// In one CTA, in the same iteration of these loops and in the next one of the last of them.
    Next(Vec<usize>),
    /// In another CTA.
    Between,
}

impl Prover<'_, '_> {
    /// Conditions and words of the second thread, with what is known of their symbols.
    pub(super) fn second(&mut self, ids: &[Id], relation: &Relation) -> (Vec<Id>, Vec<Id>) {
        let (own, known, _) = self.renamed(ids, relation);
        (own, known)
    }

    /// The same with the names that the second thread's symbols got.
    pub(super) fn renamed(
        &mut self,
        ids: &[Id],
        relation: &Relation,
    ) -> (Vec<Id>, Vec<Id>, FxHashMap<Id, Id>) {
        let mut map: FxHashMap<Id, Id> = FxHashMap::default();
        let mut known = Vec::new();
        let counting = self.counting(ids);
        let parts: Vec<Id> = counting
            .iter()
            .flat_map(|(c, _)| [c.start, c.step, c.count])
            .collect();
        let about = [ids, &parts].concat();
        let mut all = about.clone();
        all.extend(self.implications(&about));
        all.extend(self.always.clone());
        let mut done = 0;
        // In the next iteration a header's symbol is what this iteration leaves in it.
        if let Relation::Next(loops) = relation
            && let Some(&l) = loops.last()
        {
            known.extend(self.in_the_next((l, loops), &all, &mut map));
            done = 1;
        }
        let inner = |p: &Self, of: usize, loops: &[usize]| match loops.split_last() {
            Some((l, _)) if done == 1 => {
                of == *l || p.w.inner(*l).contains(&of) || !loops.contains(&of)
            }
            _ => !loops.contains(&of),
        };
        for s in self.w.e.symbols_of(&all) {
            let id = self.w.symbol_id(s);
            if map.contains_key(&id) {
                continue;
            }
            let symbol = self.w.e.symbols[s as usize].clone();
            let own = match (relation, symbol.of) {
                (Relation::Between, of) => symbol.level > Level::Grid || of.is_some(),
                (_, None) => symbol.level == Level::Thread,
                (Relation::Within(loops) | Relation::Next(loops), Some(of)) => {
                    symbol.level == Level::Thread || inner(self, of, loops)
                }
            };
            if own {
                let new = self.w.e.symbol(Symbol { of: None, ..symbol });
                map.insert(id, new);
            }
        }
        let all = self.w.e.substitute(&all, &map);
        let (own, rest) = all.split_at(ids.len());
        let (parts, rest) = rest.split_at(parts.len());
        for ((c, sign), part) in counting.iter().zip(parts.chunks(3)) {
            // A symbol that both threads share counts as it does for the first; one that has become the value of the next
            // iteration counts by the name that it has in this one.
            if let (Some(&symbol), &[start, step, count]) = (map.get(&c.symbol), part)
                && matches!(self.w.e.node(symbol), Node::Symbol(_))
            {
                let own = Counter {
                    symbol,
                    start,
                    step,
                    count,
                    ..*c
                };
                self.theirs.push((own, *sign));
            }
        }
        known.extend(rest);
        (own.to_vec(), known, map)
    }

    /// Names for the symbols of a loop's header as the iteration before leaves them, with what is known of that iteration.
    fn in_the_next(
        &mut self,
        (l, loops): (usize, &[usize]),
        all: &[Id],
        map: &mut FxHashMap<Id, Id>,
    ) -> Vec<Id> {
        let summary = self.w.out.loops.get(&l).cloned().unwrap_or_default();
        let mut nexts: Vec<(Id, Id)> = Vec::new();
        for s in self.w.e.symbols_of(all) {
            let id = self.w.symbol_id(s);
            if let Some(&next) = summary.next.get(&id) {
                nexts.push((id, next));
            }
        }
        let values: Vec<Id> = nexts.iter().map(|x| x.1).collect();
        let mut about = values.clone();
        about.extend(summary.before);
        about.extend(summary.goes_on);
        let here = Relation::Within(loops.to_vec());
        let (values_there, mut known, names) = self.renamed(&about, &here);
        // What the second thread has outside of the loop it has in both iterations.
        for (old, new) in names {
            let of = self
                .w
                .e
                .symbols_of(&[old])
                .first()
                .and_then(|s| self.w.e.symbols[*s as usize].of);
            if of.is_none_or(|o| o != l && !self.w.inner(l).contains(&o)) {
                map.insert(old, new);
            }
        }
        for ((h, _), v) in nexts.iter().zip(&values_there) {
            map.insert(*h, *v);
        }
        // Who is in the next iteration went on from this one.
        known.extend(values_there.iter().skip(values.len()));
        known
    }

    /// Counters of which some words speak, with how those are read that do not wrap.
    fn counting(&mut self, ids: &[Id]) -> Vec<(Counter, Option<bool>)> {
        let mut about = ids.to_vec();
        about.extend(self.implications(ids));
        let symbols = self.w.e.symbols_of(&about);
        let named = |id: Id| match self.w.e.node(id) {
            Node::Symbol(s) => symbols.binary_search(s).is_ok(),
            _ => false,
        };
        let all = self.counters().into_iter();
        all.filter(|(c, _)| named(c.symbol)).collect()
    }

    /// Whether two ranks are those of lanes of one warp.
    pub(super) fn same_warp(&mut self, rank: Id, other: Id) -> Id {
        let five = self.w.e.constant(5, 32);
        let (x, y) = (
            self.w.e.word(BitsOp::LShr, rank, five),
            self.w.e.word(BitsOp::LShr, other, five),
        );
        self.w.e.compare(Order::Equal, x, y)
    }

    /// Whether the two threads differ: in their CTA, or in it.
    pub(super) fn distinct(&mut self, relation: &Relation) -> Vec<Id> {
        let s = self.w.sizes;
        let ids = match relation {
            Relation::Between => s.ctaid,
            Relation::Within(_) | Relation::Next(_) => s.tid,
        };
        ids.to_vec()
    }
}
