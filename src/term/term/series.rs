//! Elementary functions at a dyadic number, enclosed.
//!
//! Problem: an interval that surely contains 2^x, log2 x, sin x, cos x, tanh x. Source: argument
//! reduction and Taylor (for log: inverse hyperbolic tangent) series, as in Brent and Zimmermann,
//! "Modern Computer Arithmetic", chapter 4. Every step is ball arithmetic in fixed point: an
//! integer v and an error r stand for some real in [(v - r), (v + r)] * 2^-p, and the tail of a
//! series is added to r by the ratio of its terms.
//!
//! What is not claimed: relative precision near a zero of log2, sin or cos; the error is absolute.

use std::sync::OnceLock;

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{Signed, ToPrimitive, Zero};

use super::dyadic::{Dyadic, Interval, Round};

/// Bits beyond the wanted precision.
const GUARD: u32 = 48;

/// Below minus this, a power of two is between 0 and that of it.
const TINY: i64 = 1 << 38;

/// Arguments of sine and cosine from 2^64 on are not reduced.
const MAX_ANGLE: i64 = 64;

/// Fixed point: some real in [(v - r) * 2^-p, (v + r) * 2^-p].
#[derive(Clone, Debug)]
struct Ball {
    v: BigInt,
    r: BigInt,
    p: u32,
}

impl Ball {
    fn exact(v: BigInt, p: u32) -> Self {
        Ball {
            v,
            r: BigInt::zero(),
            p,
        }
    }

    fn integer(i: i64, p: u32) -> Self {
        Ball::exact(BigInt::from(i) << p, p)
    }

    fn dyadic(d: &Dyadic, p: u32) -> Self {
        let s = d.e + p as i64;
        if s >= 0 {
            Ball::exact(&d.m << s as usize, p)
        } else if d.top() + (p as i64) < -1 {
            Ball {
                v: BigInt::zero(),
                r: BigInt::from(1),
                p,
            }
        } else {
            Ball {
                v: &d.m >> s.unsigned_abs() as usize,
                r: BigInt::from(1),
                p,
            }
        }
    }

    fn add(&self, o: &Ball) -> Ball {
        Ball {
            v: &self.v + &o.v,
            r: &self.r + &o.r,
            p: self.p,
        }
    }

    fn sub(&self, o: &Ball) -> Ball {
        Ball {
            v: &self.v - &o.v,
            r: &self.r + &o.r,
            p: self.p,
        }
    }

    fn mul(&self, o: &Ball) -> Ball {
        let r = self.v.abs() * &o.r + o.v.abs() * &self.r + &self.r * &o.r;
        Ball {
            v: (&self.v * &o.v) >> self.p,
            // One unit for the shift of the value, one for that of the error.
            r: (r >> self.p) + 2,
            p: self.p,
        }
    }

    fn div_small(&self, k: u64) -> Ball {
        let k = BigInt::from(k);
        Ball {
            v: self.v.div_floor(&k),
            r: self.r.div_floor(&k) + 2,
            p: self.p,
        }
    }

    /// The quotient by a ball that is surely at least 1/2.
    fn div(&self, o: &Ball) -> Ball {
        // |x/y - v/w| <= (r + |v/w| s) / (w - s), and w - s >= 1/2.
        let q = (&self.v << self.p).div_floor(&o.v);
        let r = &self.r + (((q.abs() + 1) * &o.r) >> self.p) + 1;
        Ball {
            v: q,
            r: r * 2 + 1,
            p: self.p,
        }
    }

    fn widen(mut self, by: BigInt) -> Ball {
        self.r += by;
        self
    }

    fn interval(&self, prec: u32) -> Interval {
        let end = |v: BigInt, d| Dyadic::new(v, -(self.p as i64)).round(prec, d);
        Interval {
            lo: end(&self.v - &self.r, Round::Down),
            hi: end(&self.v + &self.r, Round::Up),
        }
    }
}

/// atanh(1/k) for an integer k >= 2.
fn atanh_inverse(k: u64, p: u32, alternating: bool) -> Ball {
    let one = Ball::integer(1, p);
    let mut power = one.div_small(k);
    let mut sum = power.clone();
    let (mut i, mut negative) = (1u64, false);
    while power.v > BigInt::from(1) {
        power = power.div_small(k * k);
        i += 2;
        negative = !negative;
        let t = power.div_small(i);
        sum = if alternating && negative {
            sum.sub(&t)
        } else {
            sum.add(&t)
        };
    }
    // Terms fall by a factor of at least 4, so the tail is below the last term.
    let tail = power.v + power.r;
    sum.widen(tail)
}

fn scaled(b: &Ball, k: i64) -> Ball {
    Ball {
        v: &b.v * k,
        r: &b.r * k.abs(),
        p: b.p,
    }
}

/// The precisions whose constants are kept: the largest that has been asked for, rounded up.
const KEPT: u32 = 640;

fn narrowed(b: &Ball, p: u32) -> Ball {
    let s = b.p - p;
    Ball {
        v: &b.v >> s,
        r: (&b.r >> s) + 2,
        p,
    }
}

/// ln 2 = 18 atanh(1/26) - 2 atanh(1/4801) + 8 atanh(1/8749).
fn ln2(p: u32) -> Ball {
    fn compute(p: u32) -> Ball {
        scaled(&atanh_inverse(26, p, false), 18)
            .sub(&scaled(&atanh_inverse(4801, p, false), 2))
            .add(&scaled(&atanh_inverse(8749, p, false), 8))
    }
    static KEEP: OnceLock<Ball> = OnceLock::new();
    if p > KEPT {
        return compute(p);
    }
    narrowed(KEEP.get_or_init(|| compute(KEPT)), p)
}

/// pi = 16 atan(1/5) - 4 atan(1/239) (Machin).
fn pi(p: u32) -> Ball {
    fn compute(p: u32) -> Ball {
        scaled(&atanh_inverse(5, p, true), 16).sub(&scaled(&atanh_inverse(239, p, true), 4))
    }
    static KEEP: OnceLock<Ball> = OnceLock::new();
    if p > KEPT {
        return compute(p);
    }
    narrowed(KEEP.get_or_init(|| compute(KEPT)), p)
}

/// log2(e) = 1 / ln 2.
pub(super) fn log2_e(prec: u32) -> Interval {
    let p = prec + GUARD;
    Ball::integer(1, p).div(&ln2(p)).interval(prec)
}

/// exp(y) for 0 <= y < 1.
fn exp_ball(y: &Ball) -> Ball {
    const HALVINGS: u32 = 8;
    let p = y.p;
    let small = Ball {
        v: &y.v >> HALVINGS,
        r: (&y.r >> HALVINGS) + 2,
        p,
    };
    let mut term = Ball::integer(1, p);
    let mut sum = term.clone();
    let mut k = 0;
    while term.v > BigInt::from(1) {
        k += 1;
        term = term.mul(&small).div_small(k);
        sum = sum.add(&term);
    }
    // The argument is below 1/128, so the tail is below the last term.
    let tail = term.v.abs() + &term.r + 1;
    let mut sum = sum.widen(tail);
    for _ in 0..HALVINGS {
        sum = sum.mul(&sum);
    }
    sum
}

/// 2^x.
pub(super) fn exp2(x: &Dyadic, prec: u32) -> Option<Interval> {
    // What masks make of a score: nearer to 0 than any number that is written.
    let least = Dyadic::integer(-TINY);
    if *x < least {
        return Some(Interval {
            lo: Dyadic::integer(0),
            hi: Dyadic::new(BigInt::from(1), -TINY),
        });
    }
    if x.top() > 40 {
        return None;
    }
    let p = prec + GUARD;
    let n = x.floor()?;
    let f = Ball::dyadic(x, p).sub(&Ball::exact(&n << p, p));
    let e = exp_ball(&f.mul(&ln2(p)));
    let n = n.to_i64()?;
    let i = e.interval(prec);
    let shift = |d: Dyadic| Dyadic::new(d.m, d.e + n);
    Some(Interval {
        lo: shift(i.lo),
        hi: shift(i.hi),
    })
}

/// log2(x) for x > 0.
pub(super) fn log2(x: &Dyadic, prec: u32) -> Option<Interval> {
    if x.signum() <= 0 {
        return None;
    }
    let p = prec + GUARD;
    // x = t * 2^k with 1 <= t < 2.
    let k = x.top() - 1;
    let t = Ball::dyadic(&Dyadic::new(x.m.clone(), x.e - k), p);
    let one = Ball::integer(1, p);
    let z = t.sub(&one).div(&t.add(&one));
    let z2 = z.mul(&z);
    let (mut power, mut sum, mut i) = (z.clone(), z, 1u64);
    while power.v > BigInt::from(1) {
        power = power.mul(&z2);
        i += 2;
        sum = sum.add(&power.div_small(i));
    }
    // z <= 1/3, so the terms fall by a factor of 9 and the tail is below the last term.
    let tail = power.v.abs() + &power.r + 1;
    let ln = scaled(&sum.widen(tail), 2);
    let l = ln.div(&ln2(p)).add(&Ball::integer(k, p));
    Some(l.interval(prec.max(64)))
}

/// tanh(x) = 1 - 2 / (exp(2x) + 1), by its odd symmetry for x >= 0.
pub(super) fn tanh(x: &Dyadic, prec: u32) -> Option<Interval> {
    if x.signum() < 0 {
        return tanh(&x.neg(), prec).map(|i| i.neg());
    }
    if x.is_zero() {
        return Some(Interval::point(Dyadic::zero()));
    }
    let p = prec + GUARD;
    let one = Dyadic::integer(1);
    let tail = Dyadic::new(BigInt::from(1), -(prec as i64));
    // tanh x > 1 - 2 exp(-2x) > 1 - 2^-prec for x >= prec.
    if x >= &Dyadic::integer(prec as i64) {
        return Some(Interval {
            lo: one.add(&tail.neg(), p, Round::Down),
            hi: one,
        });
    }
    let two = Interval::point(Dyadic::integer(2));
    let unit = Interval::point(one);
    let y = Interval::point(x.clone())
        .mul(&two, p + 8)
        .div(&ln2(p + 16).interval(p + 8), p + 8)?;
    let e = y.exp2(p)?;
    let d = two.div(&e.add(&unit, p), p)?;
    let t = unit.add(&d.neg(), p);
    Some(Interval {
        lo: t.lo.round(prec, Round::Down).max(Dyadic::zero()),
        hi: t.hi.round(prec, Round::Up).min(Dyadic::integer(1)),
    })
}

/// erf(x) = 2/sqrt(pi) exp(-x^2) (x + 2x^3/3 + 4x^5/15 + ...) (Abramowitz and Stegun, 7.1.6), by its
/// odd symmetry for x >= 0.
pub(super) fn erf(x: &Dyadic, prec: u32) -> Option<Interval> {
    if x.signum() < 0 {
        return erf(&x.neg(), prec).map(|i| i.neg());
    }
    if x.is_zero() {
        return Some(Interval::point(Dyadic::zero()));
    }
    let p = prec + GUARD;
    let one = Dyadic::integer(1);
    // 1 - erf x <= exp(-x^2) < 2^-prec where x^2 >= prec.
    let tail = Dyadic::new(BigInt::from(1), -(prec as i64));
    if x.top() > 16 || x.mul(x, p, Round::Down) >= Dyadic::integer(prec as i64) {
        return Some(Interval {
            lo: one.add(&tail.neg(), p, Round::Down),
            hi: one,
        });
    }
    let y = Ball::dyadic(x, p);
    let twice = scaled(&y.mul(&y), 2);
    let (mut term, mut sum, mut k) = (y.clone(), y, 1u64);
    // Each term is the last one times 2x^2 / k.
    while term.v > BigInt::from(1) || (&twice.v + &twice.r) * 2 > BigInt::from(k) << p {
        k += 2;
        term = term.mul(&twice).div_small(k);
        sum = sum.add(&term);
    }
    // From here on the terms fall by half or more, and the tail is below the last term.
    let last = term.v.abs() + &term.r + 1;
    let sum = sum.widen(last).interval(p);
    let x = Interval::point(x.clone());
    let exponent = x
        .mul(&x, p + 16)
        .neg()
        .div(&ln2(p + 32).interval(p + 16), p + 16)?;
    let scale = Interval::point(Dyadic::integer(2)).div(&pi(p).interval(p).sqrt(p)?, p)?;
    let e = sum.mul(&exponent.exp2(p)?, p).mul(&scale, p);
    Some(Interval {
        lo: e.lo.round(prec, Round::Down).max(Dyadic::zero()),
        hi: e.hi.round(prec, Round::Up).min(Dyadic::integer(1)),
    })
}

/// sin(x), or cos(x) = sin(x + pi/2).
pub(super) fn sin_cos(x: &Dyadic, cosine: bool, prec: u32) -> Option<Interval> {
    if x.top() > MAX_ANGLE {
        return None;
    }
    let p = prec + GUARD + MAX_ANGLE as u32;
    // pi with p + 1 bits, divided by 4, is pi/2 with p bits.
    let twice = pi(p + 1);
    let half_pi = Ball {
        v: twice.v >> 2,
        r: (twice.r >> 2) + 2,
        p,
    };
    let b = Ball::dyadic(x, p);
    // The nearest multiple of pi/2; being off by one only lengthens the series.
    let twice: BigInt = &b.v * 2 + &half_pi.v;
    let n = twice.div_floor(&(&half_pi.v * 2));
    let turn = Ball {
        v: &half_pi.v * &n,
        r: &half_pi.r * n.abs(),
        p,
    };
    let y = b.sub(&turn);
    let quadrant: BigInt = n + cosine as i64;
    let quadrant = quadrant.mod_floor(&BigInt::from(4));
    let quadrant = quadrant.to_u32()?;
    let y2 = y.mul(&y);
    // Even quadrants are a sine series, odd ones a cosine series.
    let (mut term, mut k) = if quadrant % 2 == 0 {
        (y, 1u64)
    } else {
        (Ball::integer(1, p), 0)
    };
    let mut sum = term.clone();
    let mut negative = false;
    while term.v.abs() > BigInt::from(1) {
        term = term.mul(&y2).div_small((k + 1) * (k + 2));
        k += 2;
        negative = !negative;
        sum = if negative {
            sum.sub(&term)
        } else {
            sum.add(&term)
        };
    }
    // |y| < 1, so the terms fall at least by half and the tail is below the last term.
    let tail = term.v.abs() + &term.r + 1;
    let sum = sum.widen(tail);
    let i = sum.interval(prec);
    Some(if quadrant >= 2 { i.neg() } else { i })
}
