//! Where a term is defined: its partial operations and the conditions under which they run.
//!
//! Problem: equality of forms is equality wherever both sides are defined; that the optimized
//! kernel is defined wherever the reference is must be shown for each of its partial operations.
//! An operation below a select runs only under the predicate. The operations below a root are
//! collected from parents to children; where an operation is reached in several ways its
//! condition is what they share.
//!
//! Soundness: the condition of an obligation never claims less than the inputs that run it: to
//! prove the obligation under it is enough. To *assume* the obligation of a defined reference, its
//! condition must be `exact`.

use rustc_hash::FxHashMap;

use super::sweep::Normalizer;
use crate::term::{BitsOp, Fun, Term, TermId};

/// What an operation asks of its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// A real that is not 0: a denominator.
    NonZero,
    /// A real that is not below 0: under a square root.
    NonNegative,
    /// A real above 0: under a logarithm or a reciprocal square root.
    Positive,
    /// Bits that encode a finite number.
    FiniteBits,
    /// Bits that are not all 0: an integer divisor.
    NonZeroBits,
    /// Nothing satisfies it: undefined, or bytes that were never written.
    Never,
}

/// A partial operation below a term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obligation {
    /// What it asks.
    pub need: Need,
    /// Of which term.
    pub operand: TermId,
    /// The operation.
    pub site: TermId,
    /// Predicates that hold (or, with `false`, do not) whenever the operation runs.
    pub condition: Vec<(TermId, bool)>,
    /// True if the operation runs on every input that satisfies the condition.
    pub exact: bool,
}

/// Conditions beyond this many predicates are not tracked further.
const MAX_CONDITION: usize = 32;

#[derive(Clone)]
struct Path {
    literals: Vec<(TermId, bool)>,
    exact: bool,
}

impl Path {
    fn below(&self, p: TermId, branch: bool) -> Option<Path> {
        if self.literals.contains(&(p, !branch)) {
            return None;
        }
        let mut path = self.clone();
        if let Err(i) = path.literals.binary_search(&(p, branch)) {
            if path.literals.len() >= MAX_CONDITION {
                path.exact = false;
            } else {
                path.literals.insert(i, (p, branch));
            }
        }
        Some(path)
    }

    fn join(&mut self, o: &Path) {
        let within = |a: &Path, b: &Path| a.literals.iter().all(|l| b.literals.contains(l));
        match (within(self, o), within(o, self)) {
            (true, true) => self.exact |= o.exact,
            (true, false) => {}
            (false, true) => *self = o.clone(),
            (false, false) => {
                self.literals.retain(|l| o.literals.contains(l));
                self.exact = false;
            }
        }
    }
}

impl Normalizer<'_> {
    /// The partial operations below a term, by descending site.
    pub fn obligations(&self, root: TermId) -> Vec<Obligation> {
        let store = self.store;
        if store.is_total(root) {
            return Vec::new();
        }
        let mut order = Vec::new();
        let mut seen = rustc_hash::FxHashSet::default();
        let mut stack = vec![root];
        while let Some(t) = stack.pop() {
            if store.is_total(t) || !seen.insert(t) {
                continue;
            }
            order.push(t);
            store.children(t, |c| stack.push(c));
        }
        order.sort_unstable_by(|a, b| b.cmp(a));
        let mut paths: FxHashMap<TermId, Path> = FxHashMap::default();
        let start = Path {
            literals: Vec::new(),
            exact: true,
        };
        paths.insert(root, start);
        let mut out = Vec::new();
        for t in order {
            // Without a path the term runs under contradicting predicates only.
            let Some(path) = paths.remove(&t) else {
                continue;
            };
            let mut reach = |c: TermId, path: &Path| {
                if !store.is_total(c) {
                    match paths.get_mut(&c) {
                        Some(p) => p.join(path),
                        None => {
                            paths.insert(c, path.clone());
                        }
                    }
                }
            };
            match store.get(t) {
                Term::Select(p, a, b) | Term::BitsSelect(p, a, b) => {
                    reach(p, &path);
                    if let Some(below) = path.below(p, true) {
                        reach(a, &below);
                    }
                    if let Some(below) = path.below(p, false) {
                        reach(b, &below);
                    }
                }
                _ => store.children(t, |c| reach(c, &path)),
            }
            let need = match store.get(t) {
                Term::Div(_, b) => Some((Need::NonZero, b)),
                Term::Fun(Fun::Sqrt, a) => Some((Need::NonNegative, a)),
                Term::Fun(Fun::Rsqrt | Fun::Log2, a) => Some((Need::Positive, a)),
                Term::OfBits { fmt, bits } if !fmt.is_always_finite() => {
                    Some((Need::FiniteBits, bits))
                }
                Term::BitsOp(BitsOp::UDiv | BitsOp::SDiv | BitsOp::URem | BitsOp::SRem, _, b) => {
                    Some((Need::NonZeroBits, b))
                }
                Term::Undefined | Term::Poison { .. } => Some((Need::Never, t)),
                _ => None,
            };
            if let Some((need, operand)) = need {
                out.push(Obligation {
                    need,
                    operand,
                    site: t,
                    condition: path.literals,
                    exact: path.exact,
                });
            }
        }
        out
    }
}
