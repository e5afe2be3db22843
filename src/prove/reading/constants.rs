//! Rounded constants, read as the numbers that they stand for.
//!
//! Problem: exp(x) is 2^(x * log2(e)), and no format holds log2(e). Two kernels that round it
//! differently, or use ln 2 for the way back, are different functions to the last bit and the same
//! in intent. A constant within one unit in the last place of a known form may be read as that form:
//! r * log2(e), r * ln 2, r, sqrt(r) with a small fraction r, 1/n, and products, quotients and roots
//! of constants that the pair also uses; and what a constant of the pair leaves of log2(e) or ln 2,
//! where a program splits it in two. The exact reading is tried first by the caller.
//!
//! One bit pattern has one reading in the whole pair, and two patterns of one format share one only
//! where the second is what that format's arithmetic makes of the number step by step (`twins.rs`). Every reading that was used is reported as an assumption. Not claimed: that the author of
//! the kernel meant it.

mod exact;
mod forms;
mod number;
mod separate;
mod twins;

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};
use rustc_hash::FxHashMap;

use super::Reading;
use crate::answer::{Assumption, AssumptionKind};
use crate::kernel::Fmt;
use crate::spec::Limits;
use crate::term::dyadic::Interval;
use crate::term::rebuild::rebuild;
use crate::term::{Fun, Term, TermId, TermStore, encode_exact, pow2, show};
use forms::{KINDS, simple, with_partners};
use number::enclose;

/// Constants of a pair that take part in products and quotients.
const MAX_PARTNERS: usize = 64;

const PRECISION: u32 = 128;

/// The irrational part of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Base {
    One,
    Log2E,
    Ln2,
    /// The square root of all the rest.
    Sqrt,
    /// The logarithm of all the rest, to base 2 or e, or one over that.
    LogOf {
        /// To base e.
        natural: bool,
        /// One over it.
        inverse: bool,
    },
}

/// factor * times / over * base - minus, all positive; or 1 minus that.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Meaning {
    factor: BigRational,
    times: Vec<BigRational>,
    over: Option<BigRational>,
    base: Base,
    /// What a larger constant leaves of a number that is split in two.
    minus: Option<BigRational>,
    /// What the rest leaves of 1: the weight of a new value beside a decay.
    complement: bool,
}

impl Meaning {
    fn new(factor: BigRational, base: Base) -> Self {
        Meaning {
            factor,
            times: Vec::new(),
            over: None,
            base,
            minus: None,
            complement: false,
        }
    }

    /// The reciprocal of a number that names no partners.
    fn reciprocal(&self) -> Self {
        let base = match self.base {
            Base::One | Base::Sqrt => self.base,
            Base::Log2E => Base::Ln2,
            Base::Ln2 => Base::Log2E,
            Base::LogOf { natural, inverse } => {
                let base = Base::LogOf {
                    natural,
                    inverse: !inverse,
                };
                return Meaning::new(self.factor.clone(), base);
            }
        };
        Meaning::new(self.factor.recip(), base)
    }

    fn rational(&self) -> BigRational {
        let mut q = self.factor.clone();
        for t in &self.times {
            q *= t;
        }
        if let Some(o) = &self.over {
            q /= o;
        }
        q
    }

    /// The number as a term; partners that have a reading of their own are that.
    fn build(&self, store: &mut TermStore, readings: &Readings) -> TermId {
        let mut t = store.rational(self.factor.clone());
        for q in &self.times {
            let p = readings.build_simple(store, q);
            t = store.mul(t, p);
        }
        if let Some(q) = &self.over {
            let p = readings.build_simple(store, q);
            t = store.div(t, p);
        }
        let t = match self.base {
            Base::One => t,
            Base::Sqrt => store.fun(Fun::Sqrt, t),
            Base::Log2E => {
                let l = store.log2_e();
                store.mul(t, l)
            }
            Base::Ln2 => {
                let l = store.log2_e();
                store.div(t, l)
            }
            Base::LogOf { natural, inverse } => {
                let l = store.fun(Fun::Log2, t);
                let unit = match natural {
                    true => store.log2_e(),
                    false => store.integer(1),
                };
                match inverse {
                    true => store.div(unit, l),
                    false => store.div(l, unit),
                }
            }
        };
        let t = match &self.minus {
            None => t,
            Some(q) => {
                let p = readings.build_simple(store, q);
                store.sub(t, p)
            }
        };
        if self.complement {
            let one = store.integer(1);
            return store.sub(one, t);
        }
        t
    }

    /// An enclosure of the number, with partners as their bits say.
    fn enclosure(&self) -> Option<Interval> {
        let mut store = TermStore::new();
        let plain = Meaning {
            minus: self.minus.clone(),
            complement: self.complement,
            ..Meaning::new(self.rational(), self.base)
        };
        let t = plain.build(&mut store, &Readings::default());
        enclose(&store, t)
    }

    fn uses(&self, q: &BigRational) -> bool {
        self.times.contains(q) || self.over.as_ref() == Some(q) || self.minus.as_ref() == Some(q)
    }

    fn text(&self) -> String {
        let rest = self.text_of_rest();
        if self.complement {
            format!("1 - {rest}")
        } else {
            rest
        }
    }

    fn text_of_rest(&self) -> String {
        let mut s = String::new();
        let unit = self.factor.is_one() && (!self.times.is_empty() || self.base != Base::One);
        if !unit {
            s.push_str(&fraction(&self.factor));
        }
        let times = |s: &mut String, text: &str| {
            if !s.is_empty() {
                s.push_str(" * ");
            }
            s.push_str(text);
        };
        for q in &self.times {
            times(&mut s, &show::number(q));
        }
        match self.base {
            Base::Log2E => times(&mut s, "log2(e)"),
            Base::Ln2 => times(&mut s, "ln(2)"),
            Base::LogOf { natural, inverse } => {
                let name = if natural { "ln" } else { "log2" };
                let over = if inverse { "1 / " } else { "" };
                s = format!("{over}{name}({s})");
            }
            Base::One | Base::Sqrt => {}
        }
        if let Some(q) = &self.over {
            if s.is_empty() {
                s.push('1');
            }
            s.push_str(" / ");
            s.push_str(&show::number(q));
        }
        if self.base == Base::Sqrt {
            let inner = if s.is_empty() { "1" } else { &s };
            return format!("sqrt({inner})");
        }
        if let Some(q) = &self.minus {
            s.push_str(" - ");
            s.push_str(&show::number(q));
        }
        s
    }
}

fn fraction(q: &BigRational) -> String {
    if q.numer().bits() <= 24 && q.denom().bits() <= 24 {
        q.to_string()
    } else {
        show::number(q)
    }
}

/// A constant and what it is read as.
#[derive(Clone, Debug)]
struct Meant {
    meaning: Meaning,
    /// Format of the pattern; `None` for a product that was folded from two, for a reciprocal, and for the digits
    /// of a double in a formula.
    fmt: Option<Fmt>,
    /// The pattern of which this is the reciprocal, and what that is read as.
    reciprocal: Option<(BigRational, Meaning, Fmt)>,
    /// The pattern is what arithmetic in steps makes of the number; another may be the number rounded.
    computed: bool,
}

/// The readings of a pair, by the absolute value of the constant.
#[derive(Clone, Debug, Default)]
pub struct Readings {
    map: BTreeMap<BigRational, Meant>,
}

/// The format whose pattern a number is: the one that holds it and needs its precision.
fn format(q: &BigRational) -> Option<Fmt> {
    let odd = q.numer() >> q.numer().trailing_zeros().unwrap_or(0) as usize;
    match odd.bits() {
        12..=24 if encode_exact(Fmt::F32, q).is_some() => Some(Fmt::F32),
        25..=53 if encode_exact(Fmt::F64, q).is_some() => Some(Fmt::F64),
        _ => None,
    }
}

/// One unit in the last place of a number of a format.
fn unit(q: &BigRational, fmt: Fmt) -> BigRational {
    // The denominator is a power of two, so that the difference of lengths is the exponent.
    let top = q.numer().bits() as i64 - q.denom().bits() as i64;
    pow2(top - (fmt.precision() as i64 - 1))
}

impl Reading for Readings {
    /// The readings of the constants below some terms.
    fn of(store: &TermStore, roots: &[TermId], limits: &Limits) -> Self {
        let mut constants: Vec<BigRational> = store
            .reachable(roots)
            .into_iter()
            .filter_map(|t| store.as_const(t))
            .filter(|q| !q.is_zero())
            .map(Signed::abs)
            .collect();
        constants.sort_unstable();
        constants.dedup();
        let power =
            |q: &BigRational| q.numer().is_one() || q.denom().is_one() && q.numer().bits() == 1;
        let partners: Vec<BigRational> = constants
            .iter()
            .filter(|q| !power(q) && q.numer().bits() <= 53)
            .take(MAX_PARTNERS)
            .cloned()
            .collect();
        let mut out = Readings::default();
        let numbers = exact::numbers(store, roots, &constants);
        // What a formula says comes before usual forms, what a kernel computes from its constants after them.
        let (said, computed): (Vec<_>, Vec<_>) =
            numbers.into_iter().partition(|m| exact::is_said(&m.factor));
        for q in &constants {
            if limits.reached().is_some() {
                return Readings::default();
            }
            let pattern = format(q).and_then(|fmt| {
                exact::read(q, fmt, &said)
                    .or_else(|| read(q, fmt, simple))
                    .or_else(|| exact::read(q, fmt, &computed))
            });
            let pattern = pattern.or_else(|| exact::of_digits(q));
            let reading = pattern
                .or_else(|| reciprocal(q, &said))
                .or_else(|| folded(q));
            out.map.extend(reading.map(|r| (q.clone(), r)));
        }
        let found = twins::twins(&constants, |q| !out.map.contains_key(q));
        let found: Vec<_> = found.into_iter().map(|(q, r)| (q.clone(), r)).collect();
        out.map.extend(found);
        for (kind, q) in KINDS
            .into_iter()
            .flat_map(|k| constants.iter().map(move |q| (k, q)))
        {
            if out.map.contains_key(q) {
                continue;
            }
            let Some(fmt) = format(q) else { continue };
            // A partner that is itself read by way of a partner could make a circle.
            let partner =
                |p: &&BigRational| *p != q && !out.map.get(p).is_some_and(Meant::has_partner);
            let others: Vec<BigRational> = partners.iter().filter(partner).cloned().collect();
            let used = out.map.values().any(|r| r.meaning.uses(q));
            let reading = read(q, fmt, |v, t| with_partners(v, kind, &others, t));
            // What is exactly what a partner leaves of 1 says nothing new unless the partner is read.
            let idle = |r: &Meant| {
                let m = &r.meaning;
                m.complement
                    && m.rational() == BigRational::one() - q
                    && !m.times.iter().any(|p| out.map.contains_key(p))
            };
            if let Some(r) = reading.filter(|r| !used && !idle(r)) {
                out.map.insert(q.clone(), r);
            }
        }
        out.separate();
        out
    }

    /// True if nothing is read.
    fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// The terms with every constant as it is read.
    fn apply(&self, from: &TermStore, roots: &[TermId], into: &mut TermStore) -> Vec<TermId> {
        let mut done: FxHashMap<TermId, TermId> = FxHashMap::default();
        rebuild(from, roots, into, |s, t, _| {
            let Term::Const(_) = from.get(t) else {
                return None;
            };
            if let Some(&x) = done.get(&t) {
                return Some(x);
            }
            let q = from.as_const(t)?;
            let r = self.map.get(&q.abs())?;
            let mut x = r.meaning.build(s, self);
            if q.is_negative() {
                x = s.neg(x);
            }
            done.insert(t, x);
            Some(x)
        })
    }

    /// What the readings take for granted.
    fn assumptions(&self) -> Vec<Assumption> {
        let sentence = |(q, r): (&BigRational, &Meant)| {
            let bits = r.fmt.and_then(|f| Some((f, encode_exact(f, q)?)));
            let what = match bits {
                Some((f, b)) => format!("{b:#x} ({}, {})", show::number(q), f.name()),
                None => match &r.reciprocal {
                    Some((p, _, fmt)) => {
                        let b = encode_exact(*fmt, p).unwrap_or_default();
                        let (value, fmt) = (show::number(p), fmt.name());
                        format!("the reciprocal of {b:#x} ({value}, {fmt})")
                    }
                    None if exact::is_divided_by(q) => {
                        let divisor = show::number(&q.recip());
                        format!("the reciprocal of {divisor} of the formula")
                    }
                    None if !exact::is_dyadic(q) => {
                        format!("{} of the formula", show::number(q))
                    }
                    None => format!("the product of constants {}", show::number(q)),
                },
            };
            AssumptionKind::Constant.says(format!("{what} is read as {}", r.meaning.text()))
        };
        self.map.iter().map(sentence).collect()
    }
}

impl Readings {
    /// A positive constant by its reading, if that has no partner, else exactly.
    fn build_simple(&self, store: &mut TermStore, q: &BigRational) -> TermId {
        match self.map.get(q) {
            Some(r) if !r.has_partner() => r.meaning.build(store, self),
            _ => store.rational(q.clone()),
        }
    }
}

impl Meant {
    /// True for what is no partner of others: it has one, or is a logarithm.
    fn has_partner(&self) -> bool {
        let m = &self.meaning;
        matches!(m.base, Base::LogOf { .. })
            || !m.times.is_empty()
            || m.over.is_some()
            || m.minus.is_some()
    }
}

/// The first form that is within one unit in the last place of a pattern.
fn read(q: &BigRational, fmt: Fmt, forms: impl Fn(f64, f64) -> Vec<Meaning>) -> Option<Meant> {
    let tolerance = match fmt {
        Fmt::F64 => 1e-14,
        _ => 3e-7,
    };
    let unit = unit(q, fmt);
    let (low, high) = (q - &unit, q + &unit);
    let fits = |m: &Meaning| {
        if m.complement {
            return leaves_of_one(q, &unit, fmt, &m.rational());
        }
        // A number that the format holds is not what another pattern was rounded from.
        let q = m.rational();
        let own = match m.base {
            Base::One => encode_exact(fmt, &q).is_some(),
            Base::Sqrt => is_square(q.numer()) && is_square(q.denom()),
            _ => false,
        };
        let near = m.enclosure().is_some_and(|i| {
            let (a, b) = (i.lo.to_rational(), i.hi.to_rational());
            a.is_some_and(|a| a >= low) && b.is_some_and(|b| b <= high)
        });
        !own && near
    };
    let meaning = forms(q.to_f64()?, tolerance).into_iter().find(fits)?;
    Some(Meant {
        meaning,
        fmt: Some(fmt),
        reciprocal: None,
        computed: false,
    })
}

/// True if a pattern is what a rational leaves of 1, rounded once: a part of 1 that is large beside
/// the rounding, so that it shows.
fn leaves_of_one(q: &BigRational, unit: &BigRational, fmt: Fmt, part: &BigRational) -> bool {
    let rest = BigRational::one() - part;
    let distance = (&rest - q).abs();
    let rounded = distance * BigRational::from_integer(16.into())
        <= unit * BigRational::from_integer(9.into());
    // A number that the format holds is not what another pattern was rounded from.
    let own = &rest != q && encode_exact(fmt, &rest).is_some();
    rounded && !own && part * part > unit * unit * BigRational::from_integer(256.into())
}

fn is_square(n: &BigInt) -> bool {
    let r = n.sqrt();
    &r * &r == *n
}

/// The reciprocal of a constant that has a reading: what a division by it was folded to. What a formula says comes
/// first.
fn reciprocal(q: &BigRational, said: &[Meaning]) -> Option<Meant> {
    let p = q.recip();
    let fmt = format(&p).filter(|_| encode_exact(Fmt::F32, q).is_none())?;
    let m = exact::read(&p, fmt, said).or_else(|| read(&p, fmt, simple))?;
    let m = m.meaning;
    Some(Meant {
        meaning: m.reciprocal(),
        fmt: None,
        reciprocal: Some((p, m, fmt)),
        computed: false,
    })
}

/// A product that was folded from a constant and a rounded log2(e) or ln 2.
fn folded(q: &BigRational) -> Option<Meant> {
    let known = [
        (std::f32::consts::LOG2_E, Base::Log2E),
        (std::f32::consts::LN_2, Base::Ln2),
    ];
    known.into_iter().find_map(|(k, base)| {
        let k = BigRational::from_float(k)?;
        let c = q / &k;
        // The other factor was a number of single precision.
        encode_exact(Fmt::F32, &c)?;
        let mut meaning = Meaning::new(BigRational::one(), base);
        meaning.times.push(c);
        Some(Meant {
            meaning,
            fmt: None,
            reciprocal: None,
            computed: false,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(all: Vec<Assumption>) -> Vec<String> {
        all.into_iter().map(|a| a.message).collect()
    }

    fn of(values: &[f64]) -> Vec<String> {
        let mut s = TermStore::new();
        let roots: Vec<TermId> = values
            .iter()
            .map(|&v| s.rational(BigRational::from_float(v).expect("finite")))
            .collect();
        sentences(Readings::of(&s, &roots, &Limits::NONE).assumptions())
    }

    #[test]
    fn the_usual_constants_are_recognised() {
        let f = |v: f64| (v as f32) as f64;
        let has = |values: &[f64], what: &str| {
            let got = of(values);
            assert!(got.iter().any(|t| t.ends_with(what)), "{what}: {got:?}");
        };
        use std::f64::consts::*;
        has(
            &[f(LOG2_E)],
            "0x3fb8aa3b (1.442695, f32) is read as log2(e)",
        );
        has(&[f(-LOG2_E)], "is read as log2(e)");
        has(&[LOG2_E], "is read as log2(e)");
        has(&[f(LN_2)], "is read as ln(2)");
        has(&[f(2.0 * LOG2_E / 3.0)], "is read as 2/3 * log2(e)");
        has(&[f(1.0 / 3.0)], "is read as 1/3");
        has(&[f(1.0 / 768.0)], "is read as 1/768");
        has(&[f(0.1)], "is read as 1/10");
        has(
            &[f(LOG2_E), f(1.925_963e-8)],
            "0x32a57060 (1.925963033500011e-8, f32) is read as log2(e) - 1.442695",
        );
        has(&[f(FRAC_1_SQRT_2)], "is read as sqrt(1/2)");
        let mut s = TermStore::new();
        let root = BigRational::from_float(std::f32::consts::SQRT_2).expect("finite");
        let t = s.rational(root.recip());
        let got = sentences(Readings::of(&s, &[t], &Limits::NONE).assumptions());
        let want = "the reciprocal of 0x3fb504f3 (1.4142135, f32) is read as sqrt(1/2)";
        assert_eq!(got, [want]);
        has(&[f(1.0 / 128f64.sqrt())], "is read as sqrt(1/128)");
        let c = 1.5957691216057308;
        has(&[f(c), f(f(c) * LOG2_E)], "* log2(e)");
        // A folded product of two constants of single precision.
        has(&[f(c) * f(LOG2_E)], "* log2(e)");
    }

    #[test]
    fn what_is_left_of_one_is_recognised() {
        let f = |v: f64| (v as f32) as f64;
        let one = |values: &[f64], what: &str| {
            let got = of(values);
            assert!(got.iter().any(|t| t.contains(what)), "{what}: {got:?}");
        };
        one(&[f(0.9), f(1.0 - f(0.9))], "is read as 1 - 0.9");
        let small = f(1e-3 * 0.0123);
        one(&[small, f(1.0 - small)], "is read as 1 - ");
        let (rate, decay) = (f(1.7e-3), f(0.0123));
        one(&[rate, decay, f(1.0 - f(rate * decay))], "is read as 1 - ");
        // What is exactly left by a constant that is not read is that already.
        assert_eq!(of(&[f(0.9137), 1.0 - f(0.9137)]).len(), 0);
        // A neighbour is not the rounded number.
        let next = f32::from_bits((1.0 - small as f32).to_bits() - 1) as f64;
        assert_eq!(of(&[small, next]).len(), 0);
        // 0.1 is 1/10; then 1 - 0.9 is not, and both stay as they are.
        let got = of(&[f(0.9), f(0.1), f(1.0 - f(0.9))]);
        assert_eq!(got.len(), 1, "{got:?}");
        assert!(got[0].ends_with("is read as 1/10"), "{got:?}");
        // What is lost in the rounding of 1 is no part of it.
        let below = f32::from_bits(0x3f7f_ffff) as f64;
        assert_eq!(of(&[f(3.3e-8), below]).len(), 0);
    }

    #[test]
    fn other_constants_are_left_alone() {
        let f = |v: f64| (v as f32) as f64;
        let none: &[&str] = &[];
        assert_eq!(of(&[0.5, 3.0, 0.75, 1024.0, 0.1875]), none);
        assert_eq!(of(&[f(0.044715), f(0.7978845608)]), none);
        // The neighbours of 1 are not 1, and a constant that is off by some units is not log2(e).
        assert_eq!(of(&[f32::from_bits(0x3f7f_ffff) as f64]), none);
        assert_eq!(of(&[f32::from_bits(0x3fb8_aa40) as f64]), none);
    }

    #[test]
    fn two_patterns_do_not_share_a_reading() {
        // Nor do a pattern and the reciprocal of another.
        let mut s = TermStore::new();
        let root = BigRational::from_float(f32::from_bits(0x3fb5_04f4)).expect("finite");
        let other = BigRational::from_float(std::f32::consts::SQRT_2).expect("finite");
        let roots = [s.rational(root), s.rational(other.recip())];
        let got = sentences(Readings::of(&s, &roots, &Limits::NONE).assumptions());
        assert_eq!(got.len(), 1, "{got:?}");
        assert!(got[0].starts_with("the reciprocal of 0x3fb504f3"));
        // Nor do the reciprocal of log2(e) and ln 2.
        let f = f32::from_bits;
        let three = [f(0x3fb8_aa3b), f(0x3f31_7218), f(0x3f31_7219)].map(f64::from);
        let got = of(&three);
        assert!(got.iter().any(|t| t.starts_with("0x3f317218")), "{got:?}");
        assert!(!got.iter().any(|t| t.starts_with("0x3f317219")), "{got:?}");
        let near = f32::from_bits(0x3fb8_aa3c) as f64;
        let got = of(&[std::f32::consts::LOG2_E as f64, near]);
        assert_eq!(got.len(), 1);
        assert!(got[0].starts_with("0x3fb8aa3b"));
    }
}
