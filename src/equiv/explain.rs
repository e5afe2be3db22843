//! Why a condition stayed open, for people: the smallest terms in which the sides differ.

use super::needs::Need;
use super::prove::Proof;
use super::text;
use crate::sim::UnknownKind;
use crate::spec::Arrays;
use crate::term::show::Bounds;
use crate::term::{Term, TermId, TermStore};

const BOUNDS: Bounds = Bounds {
    depth: 6,
    chars: 120,
};

/// The kind and the sentence of an open condition.
pub(super) fn unresolved(
    store: &TermStore,
    arrays: &Arrays,
    failure: Proof,
    pair: (TermId, TermId),
    within_rounding: bool,
) -> (UnknownKind, String) {
    let f = |t| text::formula(store, arrays, t, BOUNDS);
    if let Proof::Undefined(need) = failure {
        let what = match need {
            Need::NonZero(x) => format!("the optimized kernel divides by {}, which may be 0", f(x)),
            Need::NonNegative(x) => format!(
                "the optimized kernel takes the square root of {}, which may be negative",
                f(x)
            ),
            Need::Positive(x) => format!(
                "the optimized kernel takes the reciprocal square root of {}, which may not be positive",
                f(x)
            ),
            Need::Logarithm(x) => format!(
                "the optimized kernel takes the logarithm of {}, which may not be positive",
                f(x)
            ),
            Need::NonZeroBits(x) => format!(
                "the optimized kernel divides by the integer {}, which may be 0",
                f(x)
            ),
            Need::Never(x) => format!(
                "the optimized kernel may not be defined: {} takes part in arithmetic",
                f(x)
            ),
        };
        return (UnknownKind::Undefined, what);
    }
    let (a, b) = smallest(store, pair.0, pair.1);
    let differ = format!("reference has {}, optimized kernel has {}", f(a), f(b));
    if within_rounding {
        let what = format!(
            "the values differ by no more than the rounding of constants and the error of approximate operations explain: {differ}"
        );
        return (UnknownKind::Undecided, what);
    }
    if failure == Proof::TooLarge {
        let what = format!("the canonical form is too large: {differ}");
        return (UnknownKind::Limit, what);
    }
    let kind = kind(store, &[pair.0, pair.1]);
    (kind, format!("neither proved nor refuted: {differ}"))
}

/// The same for two terms of one kernel.
pub(super) fn unequal(
    store: &TermStore,
    arrays: &Arrays,
    failure: Proof,
    pair: (TermId, TermId),
    within_rounding: bool,
) -> (UnknownKind, String) {
    let (a, b) = smallest(store, pair.0, pair.1);
    let f = |t| text::formula(store, arrays, t, BOUNDS);
    let kind = match failure {
        Proof::Undefined(_) => UnknownKind::Undefined,
        Proof::TooLarge => UnknownKind::Limit,
        _ if within_rounding => UnknownKind::Undecided,
        _ => kind(store, &[pair.0, pair.1]),
    };
    (kind, format!("{} and {}", f(a), f(b)))
}

/// What stands in the way of a proof.
fn kind(store: &TermStore, roots: &[TermId]) -> UnknownKind {
    let (mut mixed, mut fresh) = (false, false);
    for t in store.reachable(roots) {
        let over_encoding = |c: TermId| matches!(store.get(c), Term::OfReal { .. });
        match store.get(t) {
            Term::Fresh { .. } => fresh = true,
            Term::Extract { bits, .. } | Term::OfBits { bits, .. } => mixed |= over_encoding(bits),
            Term::Concat(l) => mixed |= l.iter().any(|&c| over_encoding(TermId(c))),
            Term::BitsOp(_, a, b) | Term::ICmp(_, a, b) => {
                mixed |= over_encoding(a) || over_encoding(b);
            }
            _ => {}
        }
    }
    if fresh {
        UnknownKind::NondeterministicValue
    } else if mixed {
        UnknownKind::MixedBytes
    } else {
        UnknownKind::Undecided
    }
}

/// Follows both terms down while they are the same operation and differ in one operand only.
fn smallest(store: &TermStore, mut a: TermId, mut b: TermId) -> (TermId, TermId) {
    loop {
        if !same_operation(store, a, b) {
            return (a, b);
        }
        let (mut x, mut y) = (Vec::new(), Vec::new());
        store.children(a, |c| x.push(c));
        store.children(b, |c| y.push(c));
        if x.len() != y.len() || x.len() > 3 {
            return (a, b);
        }
        // Operands stand in the order of their ids, so that common ones may be shifted.
        let only = |x: &[TermId], y: &[TermId]| -> Vec<TermId> {
            x.iter().copied().filter(|t| !y.contains(t)).collect()
        };
        match (&only(&x, &y)[..], &only(&y, &x)[..]) {
            ([p], [q]) => (a, b) = (*p, *q),
            _ => return (a, b),
        }
    }
}

fn same_operation(store: &TermStore, a: TermId, b: TermId) -> bool {
    match (store.get(a), store.get(b)) {
        (Term::Fun(f, _), Term::Fun(g, _)) => f == g,
        (Term::BitsOp(f, ..), Term::BitsOp(g, ..)) => f == g,
        (Term::OfReal { fmt: f, .. }, Term::OfReal { fmt: g, .. }) => f == g,
        (Term::Add(..), Term::Add(..))
        | (Term::Mul(..), Term::Mul(..))
        | (Term::Div(..), Term::Div(..))
        | (Term::Neg(_), Term::Neg(_))
        | (Term::Max(..), Term::Max(..))
        | (Term::Min(..), Term::Min(..))
        | (Term::Select(..), Term::Select(..)) => true,
        _ => false,
    }
}
