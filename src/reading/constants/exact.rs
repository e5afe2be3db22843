//! Numbers that a formula writes, which no float holds: the float that is nearest to one stands for it.
//!
//! Problem: a formula says `0.044715` or `sqrt(2/pi)` and means that number, and its kernel has the float next to
//! it. A term of a kernel has fractions of powers of two alone, apart from quotients of its constants; so what is
//! no such fraction is a number of a formula, or one that the kernel computes from its constants.
//!
//! Only the nearest pattern of its format is read so: the one to which a compiler rounds the number.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::{Base, Meaning, Meant, unit};
use crate::kernel::Fmt;
use crate::term::{Fun, Term, TermId, TermStore};

/// Numbers that are looked for.
const MAX_NUMBERS: usize = 64;

/// Digits that a double keeps, and that tell one from all others.
const MIN_DIGITS: u32 = 15;
const MAX_DIGITS: u32 = 17;

/// Bits of the largest denominator that is looked at.
const MAX_BITS: u64 = 1 << 10;

/// The numbers below some terms that no float holds, the shortest first; `constants` are the positive rationals
/// among them.
pub(super) fn numbers(
    store: &TermStore,
    roots: &[TermId],
    constants: &[BigRational],
) -> Vec<Meaning> {
    let own = constants.iter().filter(|q| !is_dyadic(q));
    let mut out: Vec<Meaning> = own.map(|q| Meaning::new(q.clone(), Base::One)).collect();
    if out.is_empty() {
        return out;
    }
    for t in store.reachable(roots) {
        let root = match store.get(t) {
            Term::Fun(Fun::Sqrt, x) => store.as_const(x).cloned(),
            Term::Fun(Fun::Rsqrt, x) => store
                .as_const(x)
                .filter(|q| !q.is_zero())
                .map(|q| q.recip()),
            _ => None,
        };
        // A root of a fraction of powers of two is read as other roots are.
        let root = root.filter(|q| q.is_positive() && !is_dyadic(q));
        out.extend(root.map(|q| Meaning::new(q, Base::Sqrt)));
    }
    let roots: Vec<Meaning> = out
        .iter()
        .filter(|m| m.base == Base::Sqrt)
        .cloned()
        .collect();
    out.extend(
        roots
            .into_iter()
            .map(|m| Meaning::new(m.factor.recip(), Base::Sqrt)),
    );
    out.sort_by_key(|m| (m.factor.numer().bits() + m.factor.denom().bits(), m.clone()));
    out.dedup();
    out.truncate(MAX_NUMBERS);
    out
}

/// The number to which a pattern is nearest, if it is one of these.
pub(super) fn read(q: &BigRational, fmt: Fmt, numbers: &[Meaning]) -> Option<Meant> {
    let value = q.to_f64()?;
    let half = unit(q, fmt) / BigRational::from_integer(BigInt::from(2));
    let near = |m: &&Meaning| {
        let plain = m.factor.to_f64().unwrap_or(f64::NAN);
        let plain = if m.base == Base::Sqrt {
            plain.sqrt()
        } else {
            plain
        };
        if (plain / value - 1.0).abs() > 1e-6 {
            return false;
        }
        m.enclosure().is_some_and(|i| {
            let (lo, hi) = (i.lo.to_rational(), i.hi.to_rational());
            lo.is_some_and(|lo| lo >= q - &half) && hi.is_some_and(|hi| hi <= q + &half)
        })
    };
    let meaning = numbers.iter().find(near)?.clone();
    Some(Meant {
        meaning,
        fmt: Some(fmt),
        reciprocal: None,
        computed: false,
    })
}

/// True for a number that is written with as many decimal digits as a double has: what a program computed in double
/// precision, such as `1 / 3` or `96 ** -0.5`, before it became a number of a formula.
pub(super) fn is_spelled(q: &BigRational) -> bool {
    if q.denom().bits() > MAX_BITS {
        return false;
    }
    let (ten, five) = (BigInt::from(10), BigInt::from(5));
    let twos = q.denom().trailing_zeros().unwrap_or(0);
    let mut rest = q.denom() >> twos as usize;
    let mut fives = 0;
    while (&rest % &five).is_zero() {
        rest /= &five;
        fives += 1;
    }
    if fives == 0 || !rest.is_one() {
        return false;
    }
    let places = twos.max(fives) as u32;
    let digits = q.numer().abs() * ten.pow(places) / q.denom();
    digits >= ten.pow(MIN_DIGITS - 1) && digits < ten.pow(MAX_DIGITS)
}

/// The double that a number with the digits of one stands for.
pub(super) fn double(q: &BigRational) -> Option<BigRational> {
    is_spelled(q).then(|| BigRational::from_float(q.to_f64()?))?
}

/// True for an integer over a power of two.
fn is_dyadic(q: &BigRational) -> bool {
    let d = q.denom();
    *d == BigInt::one() << d.trailing_zeros().unwrap_or(0) as usize
}

#[cfg(test)]
mod tests {
    use super::super::Readings;
    use super::*;
    use crate::reading::Reading;
    use crate::spec::Limits;

    /// What the kernel's constants are read as beside these numbers of a formula.
    fn of(numbers: &[(i64, i64)], patterns: &[f32]) -> Vec<String> {
        let mut s = TermStore::new();
        let exact = |(n, d): &(i64, i64)| BigRational::new((*n).into(), (*d).into());
        let mut roots: Vec<TermId> = numbers.iter().map(|q| s.rational(exact(q))).collect();
        for &p in patterns {
            roots.push(s.rational(BigRational::from_float(p).expect("finite")));
        }
        let all = Readings::of(&s, &roots, &Limits::NONE).assumptions();
        all.into_iter().map(|a| a.message).collect()
    }

    #[test]
    fn the_nearest_float_is_the_number() {
        let number = (44715, 1_000_000);
        let got = of(&[number], &[0.044715]);
        assert_eq!(got.len(), 1, "{got:?}");
        assert!(got[0].contains("is read as 8943/200000"), "{got:?}");
        // Its neighbours are not, and without the formula nothing is.
        let bits = 0.044715f32.to_bits();
        for beside in [bits - 1, bits + 1] {
            assert_eq!(of(&[number], &[f32::from_bits(beside)]).len(), 0);
        }
        assert_eq!(of(&[], &[0.044715]).len(), 0);
    }

    /// A number with sixteen digits or so, as a formula has it that was computed in double precision.
    fn spelled(text: &str) -> BigRational {
        let (whole, part) = text.split_once('.').expect("a point");
        let digits: BigInt = format!("{whole}{part}").parse().expect("digits");
        BigRational::new(digits, BigInt::from(10).pow(part.len() as u32))
    }

    #[test]
    fn the_digits_of_a_double_are_read_as_its_pattern() {
        let half = std::f32::consts::FRAC_1_SQRT_2;
        let all = [
            ("0.3333333333333333", 1.0 / 3.0, "is read as 1/3"),
            (
                "0.0003333333333333334",
                (0.1f64 / 300.0) as f32,
                "is read as 1/3000",
            ),
            ("0.7071067811865476", half, "is read as sqrt(1/2)"),
            (
                "1.4426950408889634",
                std::f32::consts::LOG2_E,
                "is read as log2(e)",
            ),
        ];
        for (text, pattern, want) in all {
            let mut s = TermStore::new();
            let pattern = BigRational::from_float(pattern).expect("finite");
            let roots = [s.rational(spelled(text)), s.rational(pattern)];
            let got = Readings::of(&s, &roots, &Limits::NONE).assumptions();
            let read = got.iter().filter(|t| t.message.ends_with(want)).count();
            assert_eq!(read, 2, "{got:?}");
        }
        // What is written with fewer digits is that number, and so is what lies beside the double.
        for text in ["0.33333333333333", "0.3333333333333311", "0.5", "0.25"] {
            assert!(!is_spelled(&spelled(text)) || text.len() == 18, "{text}");
            let mut s = TermStore::new();
            let root = s.rational(spelled(text));
            let got = Readings::of(&s, &[root], &Limits::NONE).assumptions();
            assert!(got.is_empty(), "{got:?}");
        }
        // Two numbers beside each other do not both stand for the third.
        let mut s = TermStore::new();
        let roots = ["0.3333333333333333", "0.33333333333333337"].map(|t| s.rational(spelled(t)));
        let got = Readings::of(&s, &roots, &Limits::NONE).assumptions();
        assert_eq!(got.len(), 1, "{got:?}");
    }

    #[test]
    fn a_root_of_a_number_is_one() {
        let mut s = TermStore::new();
        let third = s.rational(BigRational::new(1.into(), 777_777.into()));
        let root = s.fun(Fun::Sqrt, third);
        let near = (1.0f64 / 777_777.0).sqrt() as f32;
        let pattern = s.rational(BigRational::from_float(near).expect("finite"));
        let got = Readings::of(&s, &[root, pattern], &Limits::NONE).assumptions();
        assert!(
            got.iter()
                .any(|t| t.message.ends_with("is read as sqrt(1/777777)")),
            "{got:?}"
        );
    }
}
