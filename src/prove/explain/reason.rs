//! Why a condition stayed open, for people.

use super::difference::smallest;
use super::text;
use crate::decide::needs::Need;
use crate::decide::prove::Proof;
use crate::decide::refute::Seen;
use crate::sim::UnknownKind;
use crate::spec::Arrays;
use crate::term::show::Bounds;
use crate::term::{Term, TermId, TermStore};

const BOUNDS: Bounds = Bounds {
    depth: 6,
    chars: 120,
};

/// Inputs below which what they say is not worth a sentence.
const EVIDENCE: u64 = 10;
/// A difference above this that refutes nothing is one of what doubles do not have, such as a sign of zero.
const EVIDENT: f64 = 1e-2;

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
    seen: Seen,
) -> Reason {
    let f = |t| text::formula(store, arrays, t, BOUNDS);
    if failure == Proof::Loose {
        return Reason {
            kind: UnknownKind::BitsOfRounded,
            text:
                "it depends on the bits of a computed number, which the terms of reals do not have"
                    .into(),
            differs: true,
        };
    }
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
    if let Proof::Pole(Need::NonZero(x) | Need::Never(x)) = failure {
        return Reason {
            kind: UnknownKind::Undefined,
            text: format!(
                "the reference is infinite where {} is 0, and the optimized kernel may be a number there",
                f(x)
            ),
            differs: false,
        };
    }
    let (kind, text) = if seen.within_rounding {
        (
            UnknownKind::Undecided,
            "the values differ by no more than the rounding of constants and the error of approximate operations explain",
        )
    } else if failure == Proof::TooLarge {
        (UnknownKind::Limit, "the canonical form is too large")
    } else if asks_for_overflow(store, &[pair.0, pair.1]) {
        (
            UnknownKind::Undecided,
            "a test for an infinity or for what is not a number looks at a value that may be beyond its format, \
             which the reals do not say",
        )
    } else {
        (kind(store, &[pair.0, pair.1]), "neither proved nor refuted")
    };
    Reason {
        kind,
        text: format!("{text}{}", evidence(seen)),
        differs: true,
    }
}

/// What executions say, where there were enough of them.
fn evidence(seen: Seen) -> String {
    let inputs = seen.inputs;
    if inputs < EVIDENCE || seen.apart > EVIDENT {
        return String::new();
    }
    match seen.apart == 0.0 {
        true => format!(" (executed on {inputs} drawn inputs, the sides are equal)"),
        false => format!(
            " (executed on {inputs} drawn inputs, the sides differ by at most {:.1e}, of numbers above 1 relatively)",
            seen.apart
        ),
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
        Proof::Undefined(_) | Proof::Pole(_) => UnknownKind::Undefined,
        Proof::TooLarge => UnknownKind::Limit,
        Proof::Loose => UnknownKind::BitsOfRounded,
        _ if within_rounding => UnknownKind::Undecided,
        _ => kind(store, &[pair.0, pair.1]),
    };
    (kind, format!("{} and {}", f(a), f(b)))
}

/// True if a test below terms depends on what is beyond a format.
fn asks_for_overflow(store: &TermStore, roots: &[TermId]) -> bool {
    let asks = |t| matches!(store.get(t), Term::Overflows(..));
    store.find_partial(roots, asks).is_some()
}

/// What stands in the way of a proof.
fn kind(store: &TermStore, roots: &[TermId]) -> UnknownKind {
    let (mut mixed, mut fresh, mut made) = (false, false, false);
    for t in store.reachable(roots) {
        let over_encoding = |c: TermId| matches!(store.get(c), Term::OfReal { .. });
        made |= store.as_made(t).is_some() || store.is_flip(t);
        match store.get(t) {
            Term::Fresh { .. } => fresh |= !store.is_flip(t),
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
    } else if made {
        UnknownKind::BitsOfRounded
    } else if mixed {
        UnknownKind::MixedBytes
    } else {
        UnknownKind::Undecided
    }
}
