//! Values where some conditions are known.
//!
//! The problem: what a register holds after two ways have met is a choice, and whoever reads it on a way knows which
//! side that way took. A choice between numbers that remember how they were made is an operation of the tree
//! ([`Kind::Select`]), so that it is looked through as well: else a branch on data would carry what the other way left
//! in its registers into every result.
//!
//! Sound: nobody reads the value where the conditions are otherwise.

use crate::sim::limits::LIMITS;
use rustc_hash::FxHashMap;

use crate::term::made::Kind;
use crate::term::{Term, TermId, TermStore};

use super::val::Val;
use super::value::Values;

/// A choice: its condition and both sides.
pub(super) type Choice = (TermId, TermId, TermId);

/// What a term chooses between: reals if it is one, else bits. A made number is one as its encoding.
pub(super) fn choice(store: &TermStore, t: TermId) -> Option<Choice> {
    match store.get(t) {
        Term::Select(p, a, b) | Term::BitsSelect(p, a, b) => Some((p, a, b)),
        Term::OfReal { real, .. } => {
            let made = store.as_made(real)?;
            let of: Vec<TermId> = made.operands().collect();
            match of[..] {
                [p, a, b] if made.shape(store).kind == Kind::Select => Some((p, a, b)),
                _ => None,
            }
        }
        _ => None,
    }
}

impl Values {
    /// match selects, one within the other, by conditions that are known to be true or false
    /// result the sides that are taken
    /// because nobody reads the value where the conditions are otherwise.
    pub fn where_true(&mut self, known: &[TermId], v: Val) -> Val {
        let v = self.settled(v);
        let Some(t) = self.choosing(v) else {
            return v;
        };
        let new = self.taken(known, t);
        self.with_choices(v, (t, new))
    }

    /// The term in which the choices of a value are looked for.
    pub(super) fn choosing(&mut self, v: Val) -> Option<TermId> {
        match v {
            Val::Real(f, t) if self.store.as_made(t).is_some() => {
                Some(self.bits(v, f.bits() as u8))
            }
            Val::Real(_, t) | Val::Bits(t) => Some(t),
            _ => None,
        }
    }

    /// A value in which that term has become another.
    pub(super) fn with_choices(&mut self, v: Val, (old, new): (TermId, TermId)) -> Val {
        match v {
            _ if old == new => v,
            Val::Real(f, t) if t == old => Val::Real(f, new),
            _ => self.of_bits(new),
        }
    }

    /// The choice that a term is, with other sides.
    pub(super) fn with_sides(&mut self, t: TermId, (p, a, b): Choice) -> TermId {
        let Term::OfReal { fmt, .. } = self.store.get(t) else {
            return self.store.select(p, a, b);
        };
        let width = fmt.bits() as u8;
        let (a, b) = (self.of_bits(a), self.of_bits(b));
        let v = self.select(p, a, b, width);
        self.bits(v, width)
    }

    fn taken(&mut self, known: &[TermId], root: TermId) -> TermId {
        let step = |store: &TermStore, mut t: TermId| {
            while let Some((p, a, b)) = choice(store, t) {
                if known.contains(&p) {
                    t = a;
                } else if known.iter().any(|&k| store.opposite(k, p)) {
                    t = b;
                } else {
                    return (t, Some((p, a, b)));
                }
            }
            (t, None)
        };
        // The selects below, parents first.
        let mut inner = Vec::new();
        let mut seen = FxHashMap::default();
        let mut stack = vec![root];
        while let Some(t) = stack.pop() {
            if seen.contains_key(&t) {
                continue;
            }
            let (to, sides) = step(&self.store, t);
            seen.insert(t, to);
            if let Some((p, a, b)) = sides {
                if inner.len() >= LIMITS.nested_selects {
                    continue;
                }
                inner.push((to, p, a, b));
                stack.extend([a, b]);
            }
        }
        let mut new = FxHashMap::default();
        inner.sort_unstable();
        for (t, p, a, b) in inner {
            let of = |x: TermId| {
                let to = seen.get(&x).copied().unwrap_or(x);
                new.get(&to).copied().unwrap_or(to)
            };
            let (x, y) = (of(a), of(b));
            let rebuilt = match (x, y) == (a, b) {
                true => t,
                false => self.with_sides(t, (p, x, y)),
            };
            new.insert(t, rebuilt);
        }
        let to = seen.get(&root).copied().unwrap_or(root);
        new.get(&to).copied().unwrap_or(to)
    }
}
