//! Numbers that a formula writes, which no float holds: the float that is nearest to one stands for it.
//!
//! Problem: a formula says `0.044715` or `sqrt(2/pi)` and means that number, and its kernel has the float next to
//! it. A term of a kernel has fractions of powers of two alone, apart from quotients of its constants; so what is
//! no such fraction, or has more digits than a float, is a number of a formula, or one that the kernel computes from
//! its constants.
//!
//! Only the nearest pattern of its format is read so: the one to which a compiler rounds the number.
//!
//! A formula that a program writes has the digits of doubles, which arithmetic of doubles made: `np.sqrt(24)` is
//! 4.898979485566356 there, and `1 - 0.9**3` is 0.2709999999999999. Digits as many as a double has are read as the
//! usual form, or the small fraction, that lies within a few roundings of doubles, as a double of a kernel is.
//!
//! A quotient by a number is a product with its reciprocal, which is what stands in the terms: a fraction that is the
//! reciprocal of a decimal one, and no decimal itself, is that of a number of a formula.

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::forms::{simple, small_fraction};
use super::{Base, Meaning, Meant, unit};
use crate::kernel::Fmt;
use crate::term::{Fun, Term, TermId, TermStore, pow2};

/// Numbers that are looked for.
const MAX_NUMBERS: usize = 64;

/// Digits from which on a decimal fraction is taken for those of a double.
const DIGITS: usize = 15;

/// The size of a double to which the roundings that made it may come: eight units in its last place.
const ROUNDINGS: i64 = -49;

/// The numbers below some terms that no float holds, the shortest first; `constants` are the positive rationals
/// among them.
pub(super) fn numbers(
    store: &TermStore,
    roots: &[TermId],
    constants: &[BigRational],
) -> Vec<Meaning> {
    let own = constants.iter().filter(|q| !is_float(q));
    let plain = |q: &BigRational| Meaning::new(q.clone(), Base::One);
    let mut out: Vec<Meaning> = Vec::new();
    for q in own {
        let m = of_digits(q).map_or_else(|| plain(q), |r| r.meaning);
        // What a formula divides by: its kernel may divide by it too.
        out.extend(is_divided_by(q).then(|| m.reciprocal()));
        out.push(m);
    }
    let says = !out.is_empty();
    for t in store.reachable(roots) {
        out.extend(logarithms(store, t));
        let root = match store.get(t) {
            Term::Fun(Fun::Sqrt, x) => store.as_const(x).cloned(),
            Term::Fun(Fun::Rsqrt, x) => store
                .as_const(x)
                .filter(|q| !q.is_zero())
                .map(|q| q.recip()),
            _ => None,
        };
        // A root of a fraction of powers of two is read as other roots are.
        let root = root.filter(|q| says && q.is_positive() && !is_dyadic(q));
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

/// What a kernel may have in place of the logarithm of a number: that of either base, and one over it.
fn logarithms(store: &TermStore, t: TermId) -> Vec<Meaning> {
    let Term::Fun(Fun::Log2, x) = store.get(t) else {
        return Vec::new();
    };
    // That of a power of two is known.
    let odd = |n: &BigInt| n >> n.trailing_zeros().unwrap_or(0) as usize;
    let is_open =
        |q: &&BigRational| q.is_positive() && !(odd(q.numer()).is_one() && odd(q.denom()).is_one());
    let Some(q) = store.as_const(x).filter(is_open).cloned() else {
        return Vec::new();
    };
    // Constants are read without their signs.
    let q = if q < BigRational::one() { q.recip() } else { q };
    let forms = [(false, false), (false, true), (true, false), (true, true)];
    let form = |(natural, inverse)| Meaning::new(q.clone(), Base::LogOf { natural, inverse });
    forms.into_iter().map(form).collect()
}

/// The number to which a pattern is nearest, if it is one of these.
pub(super) fn read(q: &BigRational, fmt: Fmt, numbers: &[Meaning]) -> Option<Meant> {
    let value = q.to_f64()?;
    let half = unit(q, fmt) / BigRational::from_integer(BigInt::from(2));
    let near = |m: &&Meaning| {
        let plain = m.factor.to_f64().unwrap_or(f64::NAN);
        let plain = match m.base {
            Base::Sqrt => plain.sqrt(),
            Base::LogOf { natural, inverse } => {
                let log = if natural { plain.ln() } else { plain.log2() };
                if inverse { log.recip() } else { log }.abs()
            }
            Base::One | Base::Log2E | Base::Ln2 => plain,
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

/// What the digits of a double, or their reciprocal, are read as, if it is a form that lies within a few roundings.
pub(super) fn of_digits(q: &BigRational) -> Option<Meant> {
    if is_divided_by(q) {
        let meant = of_digits(&q.recip())?;
        let meaning = meant.meaning.reciprocal();
        return Some(Meant { meaning, ..meant });
    }
    if !has_digits_of_a_double(q) {
        return None;
    }
    let v = q.to_f64()?;
    let slack = q * pow2(ROUNDINGS);
    let (low, high) = (q - &slack, q + &slack);
    let near = |m: &Meaning| {
        m.enclosure().is_some_and(|i| {
            let (a, b) = (i.lo.to_rational(), i.hi.to_rational());
            a.is_some_and(|a| a >= low) && b.is_some_and(|b| b <= high)
        })
    };
    let fraction = small_fraction(q, &slack).map(|q| Meaning::new(q, Base::One));
    let forms = simple(v, (ROUNDINGS as f64).exp2());
    Some(Meant {
        meaning: forms.into_iter().chain(fraction).find(near)?,
        fmt: None,
        reciprocal: None,
        computed: false,
    })
}

/// True for a decimal fraction of as many digits as a double has, which no double is.
fn has_digits_of_a_double(q: &BigRational) -> bool {
    scaled_to_an_integer(q).is_some_and(|n| n.to_string().len() >= DIGITS) && !is_dyadic(q)
}

/// True for a number that a formula says, as a factor or as what it divides by.
pub(super) fn is_said(q: &BigRational) -> bool {
    is_decimal(q) || is_divided_by(q)
}

/// True for a decimal fraction.
fn is_decimal(q: &BigRational) -> bool {
    scaled_to_an_integer(q).is_some()
}

/// True for the reciprocal of a decimal fraction that no kernel has.
pub(super) fn is_divided_by(q: &BigRational) -> bool {
    let d = q.recip();
    !is_decimal(q) && !is_dyadic(&d) && is_decimal(&d)
}

/// The digits of a decimal fraction.
fn scaled_to_an_integer(q: &BigRational) -> Option<BigInt> {
    let (five, ten) = (BigInt::from(5), BigInt::from(10));
    let twos = q.denom().trailing_zeros().unwrap_or(0);
    let mut rest = q.denom() >> twos as usize;
    let mut fives = 0;
    while !rest.is_one() {
        let (quotient, remainder) = rest.div_rem(&five);
        if !remainder.is_zero() {
            return None;
        }
        rest = quotient;
        fives += 1;
    }
    let places = u32::try_from(twos.max(fives)).ok()?;
    Some(q.numer() * ten.pow(places) / q.denom())
}

/// True for what a float holds: an integer of few digits times or over a power of two. A mask such as -3e38 is an integer
/// that no format holds.
fn is_float(q: &BigRational) -> bool {
    let odd = q.numer() >> q.numer().trailing_zeros().unwrap_or(0) as usize;
    is_dyadic(q) && odd.bits() <= Fmt::F64.precision() as u64
}

/// True for an integer over a power of two.
pub(super) fn is_dyadic(q: &BigRational) -> bool {
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

    #[test]
    fn what_a_formula_divides_by_is_a_number_of_it() {
        // A kernel multiplies by the pattern that is nearest to the reciprocal, or by the reciprocal of a pattern.
        let divisor = (1_000_000, 44_715);
        let nearest = (1.0f64 / 0.044715) as f32;
        let got = of(&[divisor], &[nearest]);
        assert_eq!(got.len(), 1, "{got:?}");
        assert!(got[0].ends_with("is read as 200000/8943"), "{got:?}");
        for beside in [nearest.to_bits() - 1, nearest.to_bits() + 1] {
            assert_eq!(of(&[divisor], &[f32::from_bits(beside)]).len(), 0);
        }
        assert_eq!(of(&[], &[nearest]).len(), 0);
        let divided = |pattern: f32| {
            let mut s = TermStore::new();
            let number = s.rational(BigRational::new(divisor.0.into(), divisor.1.into()));
            let pattern = BigRational::from_float(pattern).expect("finite");
            let pattern = s.rational(pattern.recip());
            let all = Readings::of(&s, &[number, pattern], &Limits::NONE).assumptions();
            all.into_iter().map(|a| a.message).collect::<Vec<_>>()
        };
        let got = divided(0.044715);
        assert_eq!(got.len(), 1, "{got:?}");
        assert!(got[0].starts_with("the reciprocal of 0x"), "{got:?}");
        let bits = 0.044715f32.to_bits();
        for beside in [bits - 1, bits + 1] {
            assert_eq!(divided(f32::from_bits(beside)).len(), 0);
        }
    }

    /// What the digits of a double are read as.
    fn digits(text: &str) -> Option<String> {
        let (whole, places) = text.split_once('.').expect("a fraction");
        let unit = BigInt::from(10).pow(places.len() as u32);
        let q = BigRational::new(format!("{whole}{places}").parse().expect("digits"), unit);
        of_digits(&q).map(|r| r.meaning.text())
    }

    #[test]
    fn the_digits_of_a_double_are_a_form() {
        let is = |text: &str, form: &str| {
            assert_eq!(digits(text).as_deref(), Some(form), "{text}");
        };
        is("4.898979485566356", "sqrt(24)");
        is("0.17677669529663687", "sqrt(1/32)");
        is("1.4426950408889634", "log2(e)");
        is("0.3333333333333333", "1/3");
        is("0.30000000000000004", "3/10");
        is("0.2709999999999999", "271/1000");
        is("0.029700999999999977", "29701/1000000");
        // So are the digits that a formula divides by.
        let divided = |n: i64| {
            let q = BigRational::new(10_000_000_000_000_000i64.into(), n.into());
            of_digits(&q).map(|r| r.meaning.text())
        };
        let is_divided = |n, form: &str| assert_eq!(divided(n).as_deref(), Some(form), "{n}");
        is_divided(28_284_271_247_461_903, "sqrt(1/8)");
        is_divided(2_709_999_999_999_999, "1000/271");
        is_divided(14_426_950_408_889_634, "ln(2)");
        assert_eq!(divided(28_284_271_247_469_903), None);
        assert_eq!(divided(44_715), None);
        // Fewer digits are the number that they say, and so are digits beside a form, or of none.
        for text in [
            "0.333333",
            "0.7071067811",
            "0.044715",
            "2.5",
            "0.333333333333330",
        ] {
            assert_eq!(digits(text), None, "{text}");
        }
        for text in [
            "1.4426950408889700",
            "0.7978845608028654",
            "4.898979485566400",
        ] {
            assert_eq!(digits(text), None, "{text}");
        }
    }

    #[test]
    fn a_pattern_is_what_the_formula_says_before_it_is_a_form() {
        // Nearest to both, but the formula says which.
        let number = (1_732_050_807, 1_000_000_000);
        let got = of(&[number], &[3f32.sqrt()]);
        assert_eq!(got.len(), 1, "{got:?}");
        assert!(got[0].contains("is read as 1.732050807"), "{got:?}");
        let digits = (4_898_979_485_566_356, 1_000_000_000_000_000);
        let got = of(&[digits], &[24f32.sqrt()]);
        assert_eq!(got.len(), 2, "{got:?}");
        assert!(
            got.iter().all(|t| t.ends_with("is read as sqrt(24)")),
            "{got:?}"
        );
        // The pattern beside the nearest one is neither.
        let beside = f32::from_bits(3f32.sqrt().to_bits() + 2);
        assert_eq!(of(&[number], &[beside]).len(), 0);
    }

    #[test]
    fn a_mask_has_more_digits_than_a_float() {
        let of = |text: &str, patterns: &[f32]| {
            let mut s = TermStore::new();
            let number: BigInt = text.parse().expect("digits");
            let mut roots = vec![s.rational(BigRational::from_integer(number))];
            for &p in patterns {
                roots.push(s.rational(BigRational::from_float(p).expect("finite")));
            }
            Readings::of(&s, &roots, &Limits::NONE).assumptions().len()
        };
        let zeros = |digits: &str, n| format!("-{digits}{}", "0".repeat(n));
        assert_eq!(of(&zeros("3", 38), &[-3e38]), 1);
        // As it is printed.
        assert_eq!(of(&zeros("34028234663852886", 22), &[f32::MIN]), 1);
        let bits = (-3e38f32).to_bits();
        for beside in [bits - 1, bits + 1] {
            assert_eq!(of(&zeros("3", 38), &[f32::from_bits(beside)]), 0);
        }
        // One that floats hold is another constant.
        assert_eq!(of("-1000000000", &[-1000000064.0]), 0);
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

    #[test]
    fn a_logarithm_that_the_pair_takes_is_one() {
        let read = |argument: i64, pattern: f32| {
            let mut s = TermStore::new();
            let x = s.integer(argument);
            let log = s.fun(Fun::Log2, x);
            let p = s.rational(BigRational::from_float(pattern).expect("finite"));
            let all = Readings::of(&s, &[log, p], &Limits::NONE).assumptions();
            all.into_iter().map(|a| a.message).collect::<Vec<_>>()
        };
        let forms = [
            (10f64.log2(), "log2(10)"),
            (10f64.log2().recip(), "1 / log2(10)"),
            (10f64.ln(), "ln(10)"),
            (10f64.ln().recip(), "1 / ln(10)"),
        ];
        for (v, form) in forms {
            let pattern = v as f32;
            let got = read(10, pattern);
            assert!(
                got.len() == 1 && got[0].ends_with(&format!("is read as {form}")),
                "{got:?}"
            );
            // Its neighbours are none, nor is it one where the pair takes another logarithm.
            for beside in [pattern.to_bits() - 1, pattern.to_bits() + 1] {
                assert_eq!(read(10, f32::from_bits(beside)).len(), 0, "{form}");
            }
            assert_eq!(read(11, pattern).len(), 0, "{form}");
        }
    }
}
