//! Why a condition stayed open, for people.

use super::difference::smallest;
use super::text;
use crate::decide::needs::Need;
use crate::decide::prove::Proof;
use crate::sim::UnknownKind;
use crate::spec::Arrays;
use crate::term::show::Bounds;
use crate::term::{Term, TermId, TermStore};

const BOUNDS: Bounds = Bounds {
    depth: 6,
    chars: 120,
};

/// Why a condition is open.
pub(crate) struct Reason {
    /// The kind.
    pub kind: UnknownKind,
    /// A sentence.
    pub text: String,
    /// True if the sentence ends with what differs, which is looked for only in what is reported.
    pub differs: bool,
}

/// The kind and the sentence of an open condition.
pub(crate) fn unresolved(
    store: &TermStore,
    arrays: &Arrays,
    failure: Proof,
    pair: (TermId, TermId),
    within_rounding: bool,
) -> Reason {
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
        return Reason {
            kind: UnknownKind::Undefined,
            text: what,
            differs: false,
        };
    }
    let (kind, text) = if within_rounding {
        (
            UnknownKind::Undecided,
            "the values differ by no more than the rounding of constants and the error of approximate operations explain",
        )
    } else if failure == Proof::TooLarge {
        (UnknownKind::Limit, "the canonical form is too large")
    } else {
        (kind(store, &[pair.0, pair.1]), "neither proved nor refuted")
    };
    Reason {
        kind,
        text: text.to_string(),
        differs: true,
    }
}

/// The same for two terms of one kernel.
pub(crate) fn unequal(
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
