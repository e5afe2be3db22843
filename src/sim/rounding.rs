//! Known numbers as the machine has them.
//!
//! The problem: over the reals, 25 times the f32 nearest to 1/25 is a little less than 1; the product
//! in f32 is 1. Outputs are meant over the reals, but where a known number becomes an integer or is
//! compared, an address or a branch follows, and those are the machine's. So for each known number
//! that some rounding touched, this keeps what a register may really hold; integers and comparisons
//! are taken from that, and are `unknown` where it leaves them open.
//!
//! Sources: PTX ISA 9.0, section 9.7.3 (rounding modifiers; without one, products and sums may be
//! contracted to one rounding), IEEE 754-2019, section 4.3 (rounding).
//!
//! Sound: what each legal translation computes lies in the kept set, or between the least and the
//! greatest of it. The operations that are followed are monotone or linear in each operand, so the
//! results at the ends enclose all others; where a sign could change between them, or a number is near
//! an end of its format, it may be anything. A number may come about in two ways; its set covers both.
//!
//! Not claimed: that a number is followed through its bits; integer operations on them see the
//! real number's encoding, as everywhere.

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::kernel::{FloatMods, FloatOp, Fmt, Rnd};
use crate::term::{TermId, TermStore, layout, pow2};

use super::value::{Val, Values};

/// Values beyond which only the ends are kept.
const MOST: usize = 8;

/// The manual allows `div` and `rcp` two units in the last place: less than 2^-21 of the result.
const APPROXIMATE: i64 = -21;

/// What a register may hold for a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Held {
    values: Vec<BigRational>,
    /// What a product was before it was rounded: a sum may take it as that.
    products: Vec<BigRational>,
}

/// What registers may hold for the numbers that roundings have touched.
#[derive(Debug, Default)]
pub struct Rounded {
    /// `None` for numbers that may be anything.
    held: FxHashMap<(Fmt, TermId), Option<Held>>,
    /// Numbers that a register also holds exactly.
    exact: FxHashSet<(Fmt, TermId)>,
}

/// One number, as an instruction finds it.
pub enum Found {
    /// What it is over the reals.
    Exact,
    /// One of these, or a number between the least and the greatest.
    Among(Vec<BigRational>),
    /// Not followed.
    Anything,
}

/// A source of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    /// Its format.
    pub fmt: Fmt,
    /// The number over the reals.
    pub t: TermId,
    /// True if the register holds known bits: exactly this number.
    pub bits: bool,
}

impl Arg {
    /// The number that a register holds.
    pub fn of(v: Val, fmt: Fmt, t: TermId) -> Arg {
        let bits = matches!(v, Val::Conc(_));
        Arg { fmt, t, bits }
    }
}

impl Values {
    /// What the machine may find in a register that holds a number; none where that is open.
    pub fn numbers(&mut self, x: Arg) -> Vec<TermId> {
        let found = match x.bits {
            true => Found::Exact,
            false => self.rounded.find(x.fmt, x.t),
        };
        match found {
            Found::Exact => vec![x.t],
            Found::Anything => Vec::new(),
            Found::Among(all) => {
                let number = |v| self.store.rational(v);
                all.into_iter().map(number).collect()
            }
        }
    }
}

impl Rounded {
    /// What a register of a format may hold for a number.
    #[inline]
    pub fn find(&self, fmt: Fmt, t: TermId) -> Found {
        if self.held.is_empty() {
            return Found::Exact;
        }
        match self.held.get(&(fmt, t)) {
            None => Found::Exact,
            Some(Some(h)) => Found::Among(h.values.clone()),
            Some(None) => Found::Anything,
        }
    }

    fn get(&self, store: &TermStore, Arg { fmt, t, bits }: Arg) -> Option<Held> {
        match self.held.get(&(fmt, t)).filter(|_| !bits) {
            Some(h) => h.clone(),
            None => Some(Held {
                values: vec![store.as_const(t)?.clone()],
                products: Vec::new(),
            }),
        }
    }

    fn keep(&mut self, store: &TermStore, key: (Fmt, TermId), new: Option<Held>) {
        let exact = store.as_const(key.1);
        let plain = |h: &Held| {
            let mut all = h.values.iter().chain(&h.products);
            all.all(|v| Some(v) == exact)
        };
        match (self.held.get_mut(&key), new) {
            (None, Some(h)) if plain(&h) => {
                self.exact.insert(key);
            }
            (None, new) => {
                let both = new.map(|mut h| {
                    if self.exact.contains(&key) {
                        h.values.extend(exact.cloned());
                        h.tidy();
                    }
                    h
                });
                self.held.insert(key, both);
            }
            (Some(old), Some(h)) => {
                if let Some(o) = old {
                    o.values.extend(h.values);
                    o.products.extend(h.products);
                    o.tidy();
                }
            }
            (Some(old), None) => *old = None,
        }
    }

    /// The number `t` is the result of an operation on known numbers.
    pub fn follow(
        &mut self,
        store: &TermStore,
        op: FloatOp,
        mods: &FloatMods,
        args: &[Arg],
        result: (Fmt, TermId),
    ) {
        if !store.is_rational(result.1) {
            return;
        }
        if args.iter().any(|a| !store.is_rational(a.t)) {
            // What is left when data cancels out is taken as the reals have it.
            let exact = Held {
                values: store.as_const(result.1).cloned().into_iter().collect(),
                products: Vec::new(),
            };
            return self.keep(store, result, Some(exact));
        }
        let new = self.results(store, op, mods, args, result);
        self.keep(store, result, new);
    }

    /// The number `to` is `from` in another format after it was clamped.
    pub fn clamped(&mut self, store: &TermStore, from: Arg, to: (Fmt, TermId)) {
        let exact = from.bits || matches!(self.find(from.fmt, from.t), Found::Exact);
        let arg = Arg {
            fmt: to.0,
            t: to.1,
            bits: true,
        };
        match exact {
            true => self.convert(store, arg, Rnd::Rn, to),
            false => self.keep(store, to, None),
        }
    }

    /// The number `to` is `from` in another format, or an integer as a float.
    pub fn convert(&mut self, store: &TermStore, from: Arg, rnd: Rnd, to: (Fmt, TermId)) {
        if !store.is_rational(to.1) || !store.is_rational(from.t) {
            return;
        }
        let before = self.get(store, from);
        let new = before.and_then(|h| {
            let mut new = Held::default();
            for v in &h.values {
                new.values.push(round(to.0, rnd, v)?);
            }
            new.tidy();
            Some(new)
        });
        self.keep(store, to, new);
    }

    fn results(
        &self,
        store: &TermStore,
        op: FloatOp,
        mods: &FloatMods,
        args: &[Arg],
        (fmt, t): (Fmt, TermId),
    ) -> Option<Held> {
        let widened = matches!(op, FloatOp::Div | FloatOp::Rcp) && fmt == Fmt::F32;
        if mods.approx && !widened || mods.abs || mods.xorsign_abs {
            return None;
        }
        let mut held = Vec::with_capacity(args.len());
        for &a in args {
            held.push(self.get(store, a)?);
        }
        let flushed = |v: &BigRational, f: Fmt| mods.ftz && !v.is_zero() && v.abs() < least(f);
        let mut new = Held::default();
        let contracts = mods.rnd == Rnd::None && matches!(op, FloatOp::Add | FloatOp::Sub);
        let choices: Vec<Vec<&BigRational>> = held
            .iter()
            .map(|h| {
                let products = h.products.iter().filter(|_| contracts);
                h.values.iter().chain(products).collect()
            })
            .collect();
        // Between numbers of both signs lie others for which these are not monotone.
        let one_sign = match op {
            FloatOp::Rcp | FloatOp::Abs => Some(0),
            FloatOp::Div | FloatOp::Copysign => Some(1),
            _ => None,
        };
        if let Some(list) = one_sign.and_then(|i| choices.get(i))
            && list
                .iter()
                .any(|v| v.is_negative() != list[0].is_negative())
        {
            return None;
        }
        let combinations: usize = choices.iter().map(Vec::len).product();
        for n in 0..combinations {
            let mut rest = n;
            let mut x = Vec::with_capacity(args.len());
            for (options, a) in choices.iter().zip(args) {
                let v = options[rest % options.len()];
                rest /= options.len();
                if flushed(v, a.fmt) {
                    return None;
                }
                x.push(v);
            }
            let exact = match op {
                // Only squares have roots that are numbers.
                FloatOp::Sqrt if combinations == 1 => store.as_const(t)?.clone(),
                _ => exact(op, &x)?,
            };
            if op == FloatOp::Mul && mods.rnd == Rnd::None && !mods.sat && !mods.relu {
                new.products.push(exact.clone());
            }
            let clamped = clamp(exact, mods);
            if flushed(&clamped, fmt) {
                return None;
            }
            if mods.approx {
                let error = clamped.abs() * pow2(APPROXIMATE);
                new.values.extend([&clamped - &error, &clamped + &error]);
            } else {
                new.values.push(round(fmt, mods.rnd, &clamped)?);
            }
        }
        new.tidy();
        Some(new)
    }
}

impl Held {
    fn tidy(&mut self) {
        for list in [&mut self.values, &mut self.products] {
            list.sort();
            list.dedup();
            if list.len() > MOST {
                list.drain(1..list.len() - 1);
            }
        }
    }
}

fn clamp(v: BigRational, mods: &FloatMods) -> BigRational {
    let v = if mods.relu || mods.sat {
        v.max(BigRational::zero())
    } else {
        v
    };
    if mods.sat {
        v.min(BigRational::one())
    } else {
        v
    }
}

/// The result before it is rounded; `None` for operations that are not followed.
fn exact(op: FloatOp, x: &[&BigRational]) -> Option<BigRational> {
    Some(match (op, x) {
        (FloatOp::Add, [a, b]) => *a + *b,
        (FloatOp::Sub, [a, b]) => *a - *b,
        (FloatOp::Mul, [a, b]) => *a * *b,
        (FloatOp::Fma, [a, b, c]) => *a * *b + *c,
        (FloatOp::Div, [a, b]) if !b.is_zero() => *a / *b,
        (FloatOp::Rcp, [a]) if !a.is_zero() => a.recip(),
        (FloatOp::Neg, [a]) => -*a,
        (FloatOp::Abs, [a]) => a.abs(),
        (FloatOp::Min, [a, b]) => (*a).min(*b).clone(),
        (FloatOp::Max, [a, b]) => (*a).max(*b).clone(),
        (FloatOp::Min3, [a, b, c]) => (*a).min(*b).min(*c).clone(),
        (FloatOp::Max3, [a, b, c]) => (*a).max(*b).max(*c).clone(),
        // A zero counts as positive.
        (FloatOp::Copysign, [a, b]) if a.is_negative() => -b.abs(),
        (FloatOp::Copysign, [_, b]) => b.abs(),
        _ => return None,
    })
}

/// The least normal number of a format.
fn least(fmt: Fmt) -> BigRational {
    let (eb, _) = layout(fmt).unwrap_or((8, 23));
    pow2(2 - (1i64 << (eb - 1)))
}

/// A number rounded to a format; `None` where it overflows or the format has no IEEE layout.
fn round(fmt: Fmt, rnd: Rnd, v: &BigRational) -> Option<BigRational> {
    let (eb, _) = layout(fmt)?;
    let precision = i64::from(fmt.precision());
    if v.is_zero() {
        return Some(BigRational::zero());
    }
    let bias = (1i64 << (eb - 1)) - 1;
    let magnitude = v.abs();
    // 2^e <= magnitude < 2^(e + 1).
    let mut e = magnitude.numer().bits() as i64 - magnitude.denom().bits() as i64;
    if pow2(e) > magnitude {
        e -= 1;
    }
    let unit = pow2(e.max(1 - bias) - (precision - 1));
    let scaled = &magnitude / &unit;
    let (low, rest) = scaled.numer().div_rem(scaled.denom());
    let rest = BigRational::new(rest, scaled.denom().clone());
    let half = BigRational::new(BigInt::one(), BigInt::from(2));
    let up = match rnd {
        Rnd::None | Rnd::Rn => rest > half || rest == half && low.is_odd(),
        Rnd::Rna => rest >= half,
        Rnd::Rz => false,
        Rnd::Rm => v.is_negative() && !rest.is_zero(),
        Rnd::Rp => v.is_positive() && !rest.is_zero(),
        _ => return None,
    };
    let n = if up { low + 1 } else { low };
    let r = BigRational::from_integer(n) * unit;
    if r >= pow2(bias + 1) {
        return None;
    }
    Some(if v.is_negative() { -r } else { r })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::decode;

    fn of(x: f32) -> BigRational {
        decode(Fmt::F32, x.to_bits() as u64).unwrap()
    }

    fn arg(s: &mut TermStore, v: BigRational, bits: bool) -> Arg {
        let t = s.rational(v);
        Arg {
            fmt: Fmt::F32,
            t,
            bits,
        }
    }

    /// The host's own arithmetic, operation by operation.
    #[test]
    fn rounding_is_that_of_the_host() {
        let mut h = 1u32;
        for _ in 0..20_000 {
            let mut next = || {
                h = h.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let e = 97 + (h >> 8) % 60;
                f32::from_bits((h & 0x8000_0000) | e << 23 | (h.wrapping_mul(0x9e37) & 0x7f_ffff))
            };
            let (a, b, c) = (next(), next(), next());
            let (x, y, z) = (of(a), of(b), of(c));
            let cases = [
                (a + b, &x + &y),
                (a - b, &x - &y),
                (a * b, &x * &y),
                (a / b, &x / &y),
                (a.mul_add(b, c), &x * &y + &z),
            ];
            for (host, exact) in cases {
                let r = round(Fmt::F32, Rnd::None, &exact).unwrap();
                assert_eq!(r, of(host), "{a} {b} {c}");
                let (low, high) = [Rnd::Rm, Rnd::Rp]
                    .map(|m| round(Fmt::F32, m, &exact).unwrap())
                    .into();
                assert!(low <= exact && exact <= high && (r == low || r == high));
            }
            let half = round(Fmt::F16, Rnd::Rn, &x);
            assert!(
                half.is_none_or(|v| (&v - &x).abs() <= x.abs() / BigInt::from(1 << 11) + pow2(-25))
            );
        }
    }

    #[test]
    fn subnormal_and_large_numbers() {
        let tiny = pow2(-149);
        assert_eq!(round(Fmt::F32, Rnd::Rn, &tiny), Some(tiny.clone()));
        let less = &tiny / BigInt::from(2);
        assert_eq!(round(Fmt::F32, Rnd::Rn, &less), Some(BigRational::zero()));
        assert_eq!(round(Fmt::F32, Rnd::Rp, &less), Some(tiny));
        assert_eq!(round(Fmt::F32, Rnd::Rn, &pow2(128)), None);
        assert_eq!(round(Fmt::F32, Rnd::Rz, &pow2(127)), Some(pow2(127)));
    }

    #[test]
    fn a_product_is_followed_and_contracted() {
        let mut s = TermStore::new();
        let mut r = Rounded::default();
        let whole = |n: i64| BigRational::from_integer(BigInt::from(n));
        let (n, inv) = (arg(&mut s, whole(25), true), arg(&mut s, of(0.04), true));
        let product = s.mul(n.t, inv.t);
        let mods = FloatMods::default();
        r.follow(&s, FloatOp::Mul, &mods, &[n, inv], (Fmt::F32, product));
        let Found::Among(values) = r.find(Fmt::F32, product) else {
            panic!("the product is rounded");
        };
        assert_eq!(values, [whole(1)]);
        assert!(*s.as_const(product).unwrap() < whole(1));
        // A sum may be contracted with the product, or not.
        let one = arg(&mut s, whole(1), true);
        let minus = s.neg(one.t);
        let sum = s.add(product, minus);
        let p = Arg {
            t: product,
            bits: false,
            ..n
        };
        r.follow(&s, FloatOp::Sub, &mods, &[p, one], (Fmt::F32, sum));
        let Found::Among(values) = r.find(Fmt::F32, sum) else {
            panic!("two roundings or one");
        };
        assert_eq!(values.len(), 2);
        assert!(values[0] < BigRational::zero() && values[1].is_zero());
        // With a rounding of its own it is not.
        let own = FloatMods {
            rnd: Rnd::Rn,
            ..mods
        };
        let mut r = Rounded::default();
        r.follow(&s, FloatOp::Mul, &own, &[n, inv], (Fmt::F32, product));
        r.follow(&s, FloatOp::Sub, &own, &[p, one], (Fmt::F32, sum));
        let Found::Among(values) = r.find(Fmt::F32, sum) else {
            panic!("rounded to zero");
        };
        assert_eq!(values, [BigRational::zero()]);
    }

    #[test]
    fn exact_results_are_not_kept_and_approximate_ones_are_open() {
        let mut s = TermStore::new();
        let mut r = Rounded::default();
        let (half, three) = (arg(&mut s, of(0.5), true), arg(&mut s, of(3.0), true));
        let p = s.mul(half.t, three.t);
        r.follow(
            &s,
            FloatOp::Mul,
            &FloatMods::default(),
            &[half, three],
            (Fmt::F32, p),
        );
        assert!(matches!(r.find(Fmt::F32, p), Found::Exact));
        let approx = FloatMods {
            approx: true,
            ..FloatMods::default()
        };
        let q = s.div(three.t, half.t);
        r.follow(&s, FloatOp::Div, &approx, &[three, half], (Fmt::F32, q));
        let Found::Among(values) = r.find(Fmt::F32, q) else {
            panic!("two units in the last place");
        };
        assert!(values[0] < of(6.0) && of(6.0) < values[1]);
        let e = s.fun(crate::term::Fun::Exp2, three.t);
        r.follow(&s, FloatOp::Ex2, &approx, &[three], (Fmt::F32, e));
        assert!(s.is_rational(e) == matches!(r.find(Fmt::F32, e), Found::Anything));
        // A sum of numbers that are a little off is a little off, and its sign is open.
        let six = arg(&mut s, of(6.0), true);
        let sum = s.integer(0);
        let quotient = Arg {
            t: q,
            bits: false,
            ..six
        };
        r.follow(
            &s,
            FloatOp::Sub,
            &FloatMods::default(),
            &[quotient, six],
            (Fmt::F32, sum),
        );
        let Found::Among(values) = r.find(Fmt::F32, sum) else {
            panic!("about zero");
        };
        assert!(values[0].is_negative() && values.last().unwrap().is_positive());
        let zero = Arg {
            t: sum,
            bits: false,
            ..six
        };
        let over = s.integer(7);
        r.follow(&s, FloatOp::Div, &approx, &[six, zero], (Fmt::F32, over));
        assert!(matches!(r.find(Fmt::F32, over), Found::Anything));
    }
}
