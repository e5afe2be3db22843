//! What one thread alone has to be shown to do: its loops end, its counters stay in their words, its accesses lie in their
//! arrays, and what an instruction asks of its operands holds.

use super::expr::{Id, Order};
use super::gates::Model;
use super::hints;
use super::linear::Poly;
use super::prover::Prover;
use super::state::{Accessed, Counter, Does, Known};
use crate::answer::{Assumption, AssumptionKind, UnknownKind};
use crate::kernel::{NumTy, Op, Pc};
use crate::spec::Arrays;

/// What is taken for granted of places that data choose.
fn places_lie_in(arrays: &Arrays, n: u32) -> Assumption {
    let array = arrays.0.get(n as usize);
    let name = array.map_or("an array", |a| a.name.as_str());
    AssumptionKind::Place.says(match array.and_then(|a| a.extent) {
        Some(e) => format!("places in {name} that data choose lie in its bytes 0..{e}"),
        None => format!("places in {name} that data choose lie in it"),
    })
}

impl Prover<'_, '_> {
    /// Whether no counter wraps, and whether loops end.
    pub(super) fn loops(&mut self) {
        for i in 0..self.w.out.counters.len() {
            let c = self.w.out.counters[i];
            if c.last {
                continue;
            }
            if let Some(sign) = self.does_not_wrap(c) {
                for j in 0..self.w.out.counters.len() {
                    let d = self.w.out.counters[j];
                    if j == i || d.of == c.of && d.last && self.is_last_of(&d, &c) {
                        self.exact.push((j, sign));
                        self.count_is_bounded(&d, &c);
                    }
                }
            }
        }
        let mut all: Vec<usize> = self.w.out.loops.keys().copied().collect();
        all.sort_unstable();
        for l in all {
            let summary = &self.w.out.loops[&l];
            if summary.ends || summary.goes_on.is_none() {
                continue;
            }
            let counts = self.exact.iter().any(|(i, _)| {
                let c = &self.w.out.counters[*i];
                c.of == l && !c.last
            });
            if !counts {
                let header = self.w.flow.loops[l].header;
                let pc = Pc(self.w.blocks.range(header).start);
                self.leave_open(
                    UnknownKind::UnboundedLoop,
                    "a loop was not shown to end: its counter may wrap, or it has none",
                    &[pc],
                    None,
                );
                let counters: Vec<Counter> = self
                    .w
                    .out
                    .counters
                    .iter()
                    .filter(|c| c.of == l && !c.last)
                    .copied()
                    .collect();
                for c in counters {
                    let known = self.implications(&[c.symbol]);
                    let fact = hints::for_counter(
                        &mut self.w,
                        &self.subject.freedom.ints,
                        (c.symbol, c.step),
                        &known,
                    );
                    self.suggest(fact);
                }
            }
        }
    }

    /// A counter that stays in its word takes no more steps than fit into it.
    fn count_is_bounded(&mut self, d: &Counter, c: &Counter) {
        let Some(before) = self.w.out.loops.get(&c.of).and_then(|s| s.before) else {
            return;
        };
        let width = self.w.e.width(c.symbol);
        let step = self
            .w
            .e
            .value(c.step)
            .map_or(1, |v| crate::term::sext(v, width).unsigned_abs());
        let most = (u64::MAX >> (64 - u32::from(width))) / step.max(1);
        let most = self.w.e.constant(most, 64);
        let above = self.w.e.compare(Order::Below, most, d.count);
        let holds = self.w.e.not(above);
        self.w.out.known.push(Known {
            premise: before,
            holds,
        });
    }

    /// Whether a counter is another's value in the last iteration.
    pub(super) fn is_last_of(&self, last: &Counter, c: &Counter) -> bool {
        // Start and step are outside of the loop, so that they are the same words, or copies for an outer loop's end.
        self.w.e.width(last.symbol) == self.w.e.width(c.symbol)
            && last.start == c.start
            && last.step == c.step
    }

    /// How a counter is read that takes its step in each iteration without leaving its range; the step is never zero.
    pub(super) fn does_not_wrap(&mut self, c: Counter) -> Option<bool> {
        let before = self.w.out.loops.get(&c.of)?.before?;
        let mut conditions = vec![before];
        conditions.extend(self.implications(&[c.symbol, c.next]));
        let width = self.w.e.width(c.symbol);
        for sign in [true, false] {
            let mut known = self.integers(&conditions);
            let (h, s) = (known.reading(c.symbol, sign), known.reading(c.step, true));
            let Some(next) = h.plus(1, &s) else { continue };
            let (lo, hi) = match sign {
                true => (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1),
                false => (0, (1i128 << width) - 1),
            };
            let below = next.plus(-1, &Poly::constant(lo));
            let above = Poly::constant(hi).plus(-1, &next);
            let one = Poly::constant(1);
            let up = s.plus(-1, &one);
            let down = Poly::constant(-1).plus(-1, &s);
            let moves = [up, down].into_iter().flatten().any(|p| known.proves(&p));
            if moves
                && [below, above]
                    .into_iter()
                    .flatten()
                    .filter(|p| known.proves(p))
                    .count()
                    == 2
            {
                return Some(sign);
            }
        }
        // By bits, for a constant step.
        let step = crate::term::sext(self.w.e.value(c.step)?, width);
        for sign in [true, false] {
            let order = if sign { Order::Less } else { Order::Below };
            let next = self.w.e.add(c.symbol, c.step);
            let wraps = match step > 0 {
                true => self.w.e.compare(order, next, c.symbol),
                false => self.w.e.compare(order, c.symbol, next),
            };
            if step != 0 && self.never(&[before, wraps]).is_ok() {
                return Some(sign);
            }
        }
        None
    }

    pub(super) fn duties(&mut self) {
        for d in std::mem::take(&mut self.w.out.duties) {
            let not = self.w.e.not(d.holds);
            if let Err(model) = self.never_or_small(&[d.guard, not]) {
                self.leave_open(d.kind, &d.what, &[d.pc], model.as_ref());
            }
        }
    }

    /// Accesses lie in their objects; one of unknown extent begins somewhere, and what lies before it is out of its bounds.
    pub(super) fn bounds(&mut self) {
        for i in 0..self.w.out.accesses.len() {
            if self.subject.limits.reached().is_some() {
                return;
            }
            let a = self.w.out.accesses[i].clone();
            if let Err(model) = self.lies_inside(&a) {
                let is_data = self.w.e.is_data(a.offset);
                let is_bounded = is_data && self.is_bounded(a.offset);
                if let Some(n) = self.w.out.objects[a.object as usize].bound()
                    && is_data
                    && !is_bounded
                {
                    // Fixed launches take the same for granted.
                    let said = places_lie_in(self.subject.arrays, n);
                    Assumption::unite(&mut self.out.assumed, [said]);
                    continue;
                }
                let (kind, what) = match is_bounded {
                    true => (
                        UnknownKind::DataDependentAddress,
                        "data that the facts allow may choose a place out of the bounds of its array",
                    ),
                    false => (
                        UnknownKind::Undefined,
                        "an access may be out of the bounds of its array",
                    ),
                };
                self.leave_open(kind, what, &[a.pc], model.as_ref());
                let facts = hints::against_wrap(
                    &mut self.w,
                    &self.subject.freedom.ints,
                    &[a.offset],
                    &[a.guard],
                );
                self.suggest(facts.into_iter().next());
            }
        }
    }

    /// Whether facts or contents bound all data that a word is made of, so that nothing is left to take for granted.
    fn is_bounded(&self, word: Id) -> bool {
        let mut from = self.w.e.data_of(word);
        // What an iteration hands to the next one may come from anything that is read.
        if from.remove(&None) {
            let tickets = self.w.out.tickets.iter().map(|t| t.symbol);
            if self.w.e.is_among(word, &tickets.collect::<Vec<Id>>()) {
                return false;
            }
            let reads = self.w.out.accesses.iter();
            let reads = reads.filter(|a| a.does == Does::Reads && self.w.is_constant(a.object));
            let integers = reads.filter(|a| match &self.w.kernel.insts[a.pc.0 as usize].op {
                Op::Ld { access, .. } => matches!(access.ty, NumTy::Int(_)),
                _ => false,
            });
            from.extend(integers.map(|a| Some(a.object)));
        }
        let bounded = |o: &Option<u32>| o.is_some_and(|o| self.w.range(o, None).is_some());
        !from.is_empty() && from.iter().all(bounded)
    }

    /// Whether an access lies in its object: over the integers first, which products of sizes do not slow down, then by
    /// bits.
    fn lies_inside(&mut self, a: &Accessed) -> Result<(), Option<Model>> {
        let width = self.w.e.width(a.offset);
        if width < 64 && !self.w.out.objects[a.object as usize].is_near() {
            return Err(None);
        }
        let extent = self.w.extent(a.object);
        // The half of all offsets that count as negative lies before the object.
        let positive = (1 << (width - 1)) - 1;
        let Some(last) = extent.unwrap_or(positive).checked_sub(u64::from(a.bytes)) else {
            return Err(None);
        };
        let mut conditions = vec![a.guard];
        conditions.extend(self.implications(&[a.guard, a.offset]));
        let mut known = self.integers(&conditions);
        let at = known.reading(a.offset, false);
        let room = Poly::constant(i128::from(last)).plus(-1, &at);
        if room.is_some_and(|r| known.proves(&r)) {
            return Ok(());
        }
        let last = self.w.e.constant(last, width);
        let outside = self.w.e.compare(Order::Below, last, a.offset);
        self.never_or_small(&[a.guard, outside])
    }
}
