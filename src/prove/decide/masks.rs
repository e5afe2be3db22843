//! Finite masks as minus infinity, where a user says that they stand for it.
//!
//! Problem: `masked ? -1e9 : score` means that a masked score has no weight, and a kernel that masks with minus infinity means
//! the same; over the reals they differ by the exponential of -1e9, and where a row is masked whole they are different
//! functions. With `--masks-are-infinite` a constant of a size that only masks have is minus infinity where it is chosen, added,
//! compared, or an operand of a maximum; a row that is masked whole is then not a number, of which nothing is claimed.
//!
//! match c with c <= -10^4, and |c| a power of ten, the largest number of a format, or at least 2^29 and not a few bits wide /
//! result minus infinity / because the user says so; it is listed with the constants.
//!
//! Not claimed: anything of a factor: `(1 - m) * -1e9` is 0 where m is 1, and 0 times an infinity is not a number. An input that
//! tells the kernels apart must do so with the constants as they are too.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive};

use super::Decided;
use super::goal::{Condition, Pairs};
use super::options::Options;
use super::ruling::{Ruling, Rulings};
use crate::answer::AssumptionKind;
use crate::spec::Arrays;
use crate::term::rebuild::{Images, rebuild};
use crate::term::{Term, TermId, TermStore, pairs, pow2};

/// A mask is at most minus this.
const LEAST: i64 = 10_000;

/// The exponent of two from which on a number that is no power of ten is a mask, and the least width of its digits.
const WIDE: i64 = 29;
const WIDE_BITS: u64 = 5;

/// The largest numbers of f16 and of e5m2; those of wider formats are wide.
const LARGEST: [i64; 2] = [65_504, 57_344];

/// True for a constant that stands for minus infinity.
pub(crate) fn is_mask(c: &BigRational) -> bool {
    if !c.is_negative() || !c.is_integer() {
        return false;
    }
    let size = c.numer().abs();
    if size < BigInt::from(LEAST) {
        return false;
    }
    let digits = size.to_string();
    let ten = digits.starts_with('1') && digits[1..].bytes().all(|d| d == b'0');
    let odd = &size >> size.trailing_zeros().unwrap_or(0);
    let wide = BigRational::from_integer(size.clone()) >= pow2(WIDE) && odd.bits() >= WIDE_BITS;
    ten || wide || LARGEST.iter().any(|&l| size == BigInt::from(l))
}

/// The conditions of a pair with masks that are minus infinity.
struct Read {
    store: TermStore,
    conditions: Vec<Condition>,
    /// The constants that were read so.
    masks: Vec<BigRational>,
}

impl Read {
    /// None if there is no mask.
    fn of(store: &TermStore, conditions: &[Condition]) -> Option<Read> {
        let pairs = conditions.iter().flat_map(|c| &c.pairs);
        let roots: Vec<TermId> = pairs.flat_map(|&(a, b)| [a, b]).collect();
        let (mut into, mut masks) = (TermStore::new(), Vec::new());
        let roots = rebuild(store, &roots, &mut into, |s, t, images| {
            read(store, s, t, images, &mut masks)
        });
        if masks.is_empty() {
            return None;
        }
        into.import_below(store, &[]);
        into.library_tanh = store.library_tanh;
        let mut pairs = roots.chunks(2).map(|p| (p[0], p[1]));
        let again = |c: &Condition| Condition {
            pairs: pairs.by_ref().take(c.pairs.len()).collect::<Pairs>(),
            whole: None,
            ..c.clone()
        };
        let conditions = conditions.iter().map(again).collect();
        masks.sort_unstable();
        masks.dedup();
        Some(Read {
            store: into,
            conditions,
            masks,
        })
    }
}

/// An operation one of whose operands is a mask, with minus infinity in its place.
fn read(
    from: &TermStore,
    s: &mut TermStore,
    t: TermId,
    images: &Images,
    masks: &mut Vec<BigRational>,
) -> Option<TermId> {
    let mask = |t: TermId| from.as_const(t).filter(|c| is_mask(c));
    let mut operand = |s: &mut TermStore, t: TermId| match mask(t) {
        Some(c) => {
            masks.push(c.clone());
            s.infinity(true)
        }
        None => images.of(t),
    };
    match from.get(t) {
        Term::Select(p, a, b) if mask(a).is_some() || mask(b).is_some() => {
            let (x, y) = (operand(s, a), operand(s, b));
            Some(s.select(images.of(p), x, y))
        }
        Term::Add(a, b) if mask(a).is_some() || mask(b).is_some() => {
            let (x, y) = (operand(s, a), operand(s, b));
            Some(s.add(x, y))
        }
        Term::Max(a, b) if mask(a).is_some() || mask(b).is_some() => {
            let (x, y) = (operand(s, a), operand(s, b));
            Some(s.max(x, y))
        }
        Term::Min(a, b) if mask(a).is_some() || mask(b).is_some() => {
            let (x, y) = (operand(s, a), operand(s, b));
            Some(s.min(x, y))
        }
        Term::RCmp(op, a, b) if mask(a).is_some() || mask(b).is_some() => {
            let (x, y) = (operand(s, a), operand(s, b));
            Some(s.rcmp(op, x, y))
        }
        Term::Sum(list) => {
            let one = |t: TermId| from.as_const(t).is_some_and(One::is_one);
            let is_mask = |&(a, b): &_| mask(a).is_some() && one(b) || one(a) && mask(b).is_some();
            let (masks, rest): (Vec<_>, Vec<_>) = pairs(list).partition(is_mask);
            if masks.is_empty() {
                return None;
            }
            let rest = rest.into_iter().map(|(a, b)| (images.of(a), images.of(b)));
            let mut sum = s.sum(&rest.collect::<Vec<_>>());
            for (a, b) in masks {
                let x = operand(s, if mask(a).is_some() { a } else { b });
                sum = s.add(sum, x);
            }
            Some(sum)
        }
        _ => None,
    }
}

/// Rules on a pair whose finite masks stand for minus infinity.
///
/// Proofs are of what is read so. A refutation is one of the constants as they are, and counts only where some input tells the
/// kernels apart as they are read too.
pub(super) fn rule(mut finite: Decided, arrays: &Arrays, options: &Options) -> Decided {
    let Some(read) = Read::of(&finite.store, &finite.conditions) else {
        finite.rule(arrays, options);
        return finite;
    };
    let mut out = Decided {
        named: None,
        store: read.store,
        conditions: read.conditions,
        rulings: Rulings::default(),
        cannot: None,
        terms: finite.terms,
    };
    out.rule(arrays, options);
    let proved = |r: &Ruling| matches!(r, Ruling::Proved(_));
    if out.rulings.of.iter().all(proved) {
        let shown: Vec<String> = read.masks.iter().map(shown).collect();
        let said = format!(
            "the finite masks {} are minus infinity; inputs that mask a row whole, where the reference is then not a number, \
             are left out",
            shown.join(", ")
        );
        out.rulings
            .assumptions
            .push(AssumptionKind::Mask.says(said));
        return out;
    }
    finite.rule(arrays, options);
    let refuted = |d: &Decided| d.rulings.of.iter().any(Ruling::is_refuted);
    // What tells only the finite masks apart is no counterexample to what was asked.
    match refuted(&finite) && !refuted(&out) {
        true => out,
        false => finite,
    }
}

/// A mask as people write it.
fn shown(c: &BigRational) -> String {
    let c = c.to_f64().unwrap_or(f64::NEG_INFINITY);
    match (c as f32).is_finite() {
        true => format!("{:e}", c as f32),
        false => format!("{c:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integer(digits: &str) -> BigRational {
        BigRational::from_integer(digits.parse().expect("digits"))
    }

    #[test]
    fn masks_have_sizes_that_nothing_else_has() {
        let float = |v: f32| BigRational::from_float(v).expect("finite");
        for c in [
            -1e4f32,
            -1e6,
            -1e9,
            -1e10,
            -1e30,
            -3e38,
            f32::MIN,
            -65504.0,
            -57344.0,
        ] {
            assert!(is_mask(&float(c)), "{c}");
        }
        assert!(is_mask(&integer("-1000000000")));
        let few = [
            -10.0f32,
            -100.0,
            -1000.0,
            -9999.0,
            -12582912.0,
            -12583039.0,
            1e9,
            0.0,
            -65505.0,
        ];
        for c in few {
            assert!(!is_mask(&float(c)), "{c}");
        }
        // What rounds integers in double precision.
        assert!(!is_mask(&integer("-6755399441055744")));
    }

    #[test]
    fn a_factor_stays_what_it_is() {
        use crate::kernel::Fmt;
        use crate::term::{ArrayId, RCmp};
        let mut s = TermStore::new();
        let x = s.elem(ArrayId(0), Fmt::F32, 0);
        let (zero, mask) = (s.integer(0), s.integer(-1_000_000_000));
        let p = s.rcmp(RCmp::Lt, x, zero);
        let chosen = s.select(p, x, mask);
        let scaled = s.mul(x, mask);
        let mut into = TermStore::new();
        let mut masks = Vec::new();
        let roots = rebuild(&s, &[chosen, scaled], &mut into, |t, id, images| {
            read(&s, t, id, images, &mut masks)
        });
        assert_eq!(masks.len(), 1);
        let Term::Select(_, _, b) = into.get(roots[0]) else {
            panic!("a choice")
        };
        assert!(matches!(into.get(b), Term::Inf { neg: true }));
        assert!(
            into.reachable(&roots[1..])
                .iter()
                .all(|&t| !matches!(into.get(t), Term::Inf { .. }))
        );
    }
}
