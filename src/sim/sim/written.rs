//! Memory that is written on every way.
//!
//! The problem: where each of several ways of a branch stores to the same place, what the place holds is
//! a select within a select, and the last one still names what was there before, though no input
//! leaves it. The conditions are formulas over comparisons; what stands under a path that no truth
//! values of the comparisons satisfy is never reached.
//!
//! Sound: comparisons are taken as independent of each other, so that what is left out cannot be
//! reached; what is kept may be.

use crate::sim::limits::LIMITS;
use crate::term::{ArrayId, Term, TermId, TermStore};

use super::chosen::choice;
use super::val::Val;
use super::value::Values;

type Path = Vec<(TermId, bool)>;

impl Values {
    /// match a select that may be something never written, or a symbol of the array that stands for it / result the same without it, if it cannot be
    /// reached / because the conditions on the way to it exclude each other.
    pub fn where_written(&mut self, v: Val, kept: Option<ArrayId>) -> Val {
        let v = self.settled(v);
        let Some(t) = self.choosing(v) else {
            return v;
        };
        if self.store.is_total(t) && kept.is_none() {
            return v;
        }
        match self.reached(t, kept, &mut Path::new()) {
            Some(new) => self.with_choices(v, (t, new)),
            None => v,
        }
    }

    /// The term without what was never written and is not reached; `None` if it is all of that.
    fn reached(&mut self, t: TermId, kept: Option<ArrayId>, path: &mut Path) -> Option<TermId> {
        let unwritten = |t: Term| match t {
            Term::Poison { .. } => true,
            Term::Bytes { array, .. } | Term::Elem { array, .. } => kept == Some(array),
            _ => false,
        };
        let leaf = match self.store.get(t) {
            Term::OfBits { bits, .. } => self.store.get(bits),
            leaf => leaf,
        };
        if unwritten(leaf) && !may_hold(&self.store, path) {
            return None;
        }
        let Some((p, a, b)) = choice(&self.store, t).filter(|_| path.len() < LIMITS.written_depth)
        else {
            return Some(t);
        };
        path.push((p, true));
        let x = self.reached(a, kept, path);
        path.pop();
        path.push((p, false));
        let y = self.reached(b, kept, path);
        path.pop();
        match (x, y) {
            (Some(x), Some(y)) if (x, y) == (a, b) => Some(t),
            (Some(x), Some(y)) => Some(self.with_sides(t, (p, x, y))),
            (x, y) => x.or(y),
        }
    }
}

/// True unless no truth values of the comparisons satisfy all conditions of a path.
fn may_hold(s: &TermStore, path: &Path) -> bool {
    let mut atoms: Vec<TermId> = Vec::new();
    let mut stack: Vec<TermId> = path.iter().map(|l| l.0).collect();
    let mut seen = 0;
    while let Some(t) = stack.pop() {
        seen += 1;
        match s.get(t) {
            Term::And(a, b) | Term::Or(a, b) | Term::Xor(a, b) => stack.extend([a, b]),
            Term::Not(a) => stack.push(a),
            Term::Bool(_) => {}
            _ if atoms.iter().any(|&a| a == t || s.opposite(a, t)) => {}
            _ => atoms.push(t),
        }
        if atoms.len() > LIMITS.written_comparisons || seen > LIMITS.written_conditions {
            return true;
        }
    }
    (0..1u32 << atoms.len()).any(|values| {
        path.iter()
            .all(|&(t, side)| truth(s, t, &atoms, values) == side)
    })
}

/// The value of a formula; it has at most [`LIMITS.written_conditions`] terms.
fn truth(s: &TermStore, t: TermId, atoms: &[TermId], values: u32) -> bool {
    let of = |t| truth(s, t, atoms, values);
    match s.get(t) {
        Term::And(a, b) => of(a) && of(b),
        Term::Or(a, b) => of(a) || of(b),
        Term::Xor(a, b) => of(a) != of(b),
        Term::Not(a) => !of(a),
        Term::Bool(b) => b,
        _ => match atoms.iter().position(|&a| a == t) {
            Some(i) => values >> i & 1 == 1,
            None => {
                let other = atoms.iter().position(|&a| s.opposite(a, t));
                other.is_some_and(|i| values >> i & 1 == 0)
            }
        },
    }
}
