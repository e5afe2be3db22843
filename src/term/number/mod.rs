//! Floats as a machine has them: bits to bits, for every format and every rounding.
//!
//! The problem: `run` executes a kernel on numbers, and what a user compares with is a machine. Sources:
//! IEEE 754-2019, sections 4.3 (rounding), 6 (infinities, NaN, the sign of zeros); PTX ISA 9.0, sections
//! 9.7.3 to 9.7.5 (operations, `.ftz`, `.sat`, `.relu`, the zeros of minima) and 9.7.9 (conversions).
//!
//! Every result is that of exact arithmetic rounded once: a finite number is an integer times a power of
//! two, with a bit that says whether something was cut off below it ([`Exact`]). Approximations are
//! rounded correctly, which lies within the manual's bounds; a machine may give a neighbour. A result that
//! is no number is the one NaN of its format; what bits a machine puts there, the manual leaves open.
//!
//! Not claimed: random roundings (`.rs`), whose bits no source gives.

mod any_order;
mod arithmetic;
mod compare;
mod convert;
mod directed;
mod function;
pub mod half;
mod lanes;
pub mod random;
mod sum;

pub use any_order::AnyOrder;
pub use arithmetic::operation;
pub use compare::{compare, test};
pub use convert::{Narrowing, float_to_float, float_to_int, int_to_float};
pub use lanes::{Lanes, each_packed, operation_in_lanes, packed};
pub use sum::{Term, total, total_of_doubles};

use crate::scalar::{Fmt, Rnd};

/// What an encoding says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// Not a number.
    Nan,
    /// An infinity.
    Infinite,
    /// A zero.
    Zero,
    /// `mantissa * 2^exponent`; the mantissa is not 0.
    Finite {
        /// The integer.
        mantissa: u64,
        /// The power of two.
        exponent: i32,
    },
}

/// An encoding taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Float {
    /// Its sign bit.
    pub negative: bool,
    /// The rest.
    pub value: Decoded,
}

/// A number that is yet to be rounded: `mantissa * 2^exponent`, and a bit more of the same sign if
/// `sticky`, less than a unit of the mantissa.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exact {
    /// Its sign.
    pub negative: bool,
    /// The integer, not 0.
    pub mantissa: u128,
    /// The power of two.
    pub exponent: i32,
    /// True if something was cut off.
    pub sticky: bool,
}

/// What the largest exponent of a format is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Top {
    /// Infinities and NaN.
    Special,
    /// Numbers, but for one NaN: all ones.
    OneNan,
    /// Numbers.
    Numbers,
}

/// How a format is laid out: bits of the exponent, of the fraction, of what lies unused below it.
#[derive(Clone, Copy, Debug)]
struct Layout {
    exponent: u32,
    fraction: u32,
    below: u32,
    top: Top,
}

impl Layout {
    /// The layout of a format with signs; `None` of the one that is exponents alone.
    fn of(fmt: Fmt) -> Option<Layout> {
        let (exponent, fraction, below, top) = match fmt {
            Fmt::F16 => (5, 10, 0, Top::Special),
            Fmt::Bf16 => (8, 7, 0, Top::Special),
            Fmt::F32 => (8, 23, 0, Top::Special),
            Fmt::Tf32 => (8, 10, 13, Top::Special),
            Fmt::F64 => (11, 52, 0, Top::Special),
            Fmt::E5m2 => (5, 2, 0, Top::Special),
            Fmt::E4m3 => (4, 3, 0, Top::OneNan),
            Fmt::E2m3 => (2, 3, 0, Top::Numbers),
            Fmt::E3m2 => (3, 2, 0, Top::Numbers),
            Fmt::E2m1 => (2, 1, 0, Top::Numbers),
            Fmt::Ue8m0 => return None,
        };
        Some(Layout {
            exponent,
            fraction,
            below,
            top,
        })
    }

    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    /// Exponent of the last place of the least normal numbers, which is that of subnormal ones.
    fn least(self) -> i32 {
        1 - self.bias() - self.fraction as i32
    }

    fn mask(self) -> u64 {
        (1 << (self.exponent + self.fraction)) - 1
    }

    /// The magnitude of an infinity, or of the largest number where there is none.
    fn largest(self) -> u64 {
        match self.top {
            Top::Special => (((1 << self.exponent) - 1) << self.fraction) - 1,
            Top::OneNan => self.mask() - 1,
            Top::Numbers => self.mask(),
        }
    }

    fn place(self, negative: bool, magnitude: u64) -> u64 {
        (u64::from(negative) << (self.exponent + self.fraction) | magnitude) << self.below
    }
}

/// The bits of the NaN of a format; of a format without one, those of its largest number.
pub fn nan(fmt: Fmt) -> u64 {
    match fmt {
        Fmt::F16 | Fmt::Bf16 => 0x7fff,
        Fmt::F32 | Fmt::Tf32 => 0x7fff_ffff,
        Fmt::F64 => 0x7fff_ffff_ffff_ffff,
        Fmt::E4m3 | Fmt::E5m2 => 0x7f,
        Fmt::Ue8m0 => 0xff,
        Fmt::E2m3 | Fmt::E3m2 | Fmt::E2m1 => largest(fmt, false),
    }
}

/// The bits of an infinity; of a format without one, those of its largest number.
pub fn infinity(fmt: Fmt, negative: bool) -> u64 {
    match Layout::of(fmt) {
        Some(l) => l.place(negative, l.largest() + u64::from(l.top == Top::Special)),
        None => 0xfe,
    }
}

/// The bits of the largest finite number.
pub fn largest(fmt: Fmt, negative: bool) -> u64 {
    Layout::of(fmt).map_or(0xfe, |l| l.place(negative, l.largest()))
}

/// Bits of the significand of a format, and the exponent of the last place of its least numbers.
pub fn precision(fmt: Fmt) -> (u32, i32) {
    Layout::of(fmt).map_or((1, -127), |l| (l.fraction + 1, l.least()))
}

/// A number as the double that it is: every format is a part of f64.
pub fn to_double(fmt: Fmt, bits: u64) -> f64 {
    let wide = decode(fmt, bits).encode(Fmt::F64, Rnd::Rn);
    wide.map_or(f64::NAN, f64::from_bits)
}

/// The bits of one; `None` of a format without it.
pub fn one(fmt: Fmt) -> Option<u64> {
    Exact::new(false, 1, 0).round(fmt, Rnd::Rn)
}

/// The bits of a zero; the format of exponents alone has its least number for it.
pub fn zero(fmt: Fmt, negative: bool) -> u64 {
    Layout::of(fmt).map_or(0, |l| l.place(negative, 0))
}

/// True if a number is subnormal.
pub fn is_subnormal(fmt: Fmt, bits: u64) -> bool {
    let Some(l) = Layout::of(fmt) else {
        return false;
    };
    let magnitude = bits >> l.below & l.mask();
    magnitude != 0 && magnitude >> l.fraction == 0
}

/// A subnormal number as a zero of its sign.
pub fn flushed(fmt: Fmt, bits: u64) -> u64 {
    match is_subnormal(fmt, bits) {
        true => zero(fmt, decode(fmt, bits).negative),
        false => bits,
    }
}

/// What bits say in a format. Of tf32 the bits below its fraction are ignored.
pub fn decode(fmt: Fmt, bits: u64) -> Float {
    let Some(l) = Layout::of(fmt) else {
        let e = bits as i32 & 0xff;
        let value = match e {
            0xff => Decoded::Nan,
            e => Decoded::Finite {
                mantissa: 1,
                exponent: e - 127,
            },
        };
        return Float {
            negative: false,
            value,
        };
    };
    let bits = bits >> l.below;
    let magnitude = bits & l.mask();
    let fraction = magnitude & ((1 << l.fraction) - 1);
    let e = (magnitude >> l.fraction) as i32;
    let all = e == (1 << l.exponent) - 1;
    let value = match l.top {
        Top::Special if all && fraction == 0 => Decoded::Infinite,
        Top::Special if all => Decoded::Nan,
        Top::OneNan if magnitude == l.mask() => Decoded::Nan,
        _ if magnitude == 0 => Decoded::Zero,
        _ if e == 0 => Decoded::Finite {
            mantissa: fraction,
            exponent: l.least(),
        },
        _ => Decoded::Finite {
            mantissa: fraction | 1 << l.fraction,
            exponent: l.least() + e - 1,
        },
    };
    Float {
        negative: bits >> (l.exponent + l.fraction) & 1 == 1,
        value,
    }
}

impl Exact {
    /// A finite number of a format.
    pub fn new(negative: bool, mantissa: u64, exponent: i32) -> Exact {
        Exact {
            negative,
            mantissa: mantissa.into(),
            exponent,
            sticky: false,
        }
    }

    /// Exponent of the leading bit.
    fn top(self) -> i32 {
        self.exponent + 127 - self.mantissa.leading_zeros() as i32
    }

    /// The number without what lies below 2^place, which is noted.
    fn cut(self, place: i32) -> (u128, bool, bool) {
        let by = place - self.exponent;
        if by <= 0 {
            return (self.mantissa << -by, false, self.sticky);
        }
        if by > 128 {
            return (0, false, true);
        }
        let (kept, rest) = match by {
            128 => (0, self.mantissa),
            by => (self.mantissa >> by, self.mantissa & ((1 << by) - 1)),
        };
        let half = 1u128 << (by - 1);
        (
            kept,
            rest & half != 0,
            rest & (half - 1) != 0 || self.sticky,
        )
    }

    /// The bits of the number rounded to a format; `None` for a random rounding.
    ///
    /// A number beyond the largest becomes an infinity or the largest, as the direction says, and of a
    /// format without infinities the largest.
    pub fn round(self, fmt: Fmt, rnd: Rnd) -> Option<u64> {
        let Some(l) = Layout::of(fmt) else {
            return self.exponent_alone(rnd);
        };
        let place = (self.top() - l.fraction as i32).max(l.least());
        let (kept, half, more) = self.cut(place);
        let odd = kept & 1 == 1;
        let up = match rnd {
            Rnd::None | Rnd::Rn | Rnd::Rni => half && (more || odd),
            Rnd::Rna => half,
            Rnd::Rz | Rnd::Rzi => false,
            Rnd::Rm | Rnd::Rmi => self.negative && (half || more),
            Rnd::Rp | Rnd::Rpi => !self.negative && (half || more),
            Rnd::Rs => return None,
        };
        // A carry out of the fraction goes into the exponent, which is what it should do.
        let kept = kept as u64 + u64::from(up);
        let steps = (place - l.least()) as u64;
        let magnitude = if kept >> l.fraction == 0 {
            kept
        } else {
            kept + (steps << l.fraction)
        };
        if magnitude <= l.largest() {
            return Some(l.place(self.negative, magnitude));
        }
        let stays = match rnd {
            Rnd::Rz | Rnd::Rzi => true,
            Rnd::Rm | Rnd::Rmi => !self.negative,
            Rnd::Rp | Rnd::Rpi => self.negative,
            _ => false,
        };
        Some(match stays {
            true => largest(fmt, self.negative),
            false => infinity(fmt, self.negative),
        })
    }

    /// The power of two that a number is rounded to, by its magnitude.
    fn exponent_alone(self, rnd: Rnd) -> Option<u64> {
        let top = self.top();
        let (_, half, more) = self.cut(top);
        let up = match rnd {
            Rnd::Rp => half || more,
            Rnd::Rz => false,
            _ => return None,
        };
        Some(((top + i32::from(up)).clamp(-127, 127) + 127) as u64)
    }
}

impl Float {
    /// The number, if it is finite and no zero.
    pub fn exact(self) -> Option<Exact> {
        match self.value {
            Decoded::Finite { mantissa, exponent } => {
                Some(Exact::new(self.negative, mantissa, exponent))
            }
            Decoded::Nan | Decoded::Infinite | Decoded::Zero => None,
        }
    }

    /// The double that it is, if it is finite and one of at most 53 bits.
    pub fn to_double(self) -> Option<f64> {
        let magnitude = match self.value {
            Decoded::Nan | Decoded::Infinite => return None,
            Decoded::Zero => 0.0,
            Decoded::Finite { mantissa, exponent } => {
                if mantissa >> 53 != 0 || !(-1074..=970).contains(&exponent) {
                    return None;
                }
                libm::ldexp(mantissa as f64, exponent)
            }
        };
        Some(if self.negative { -magnitude } else { magnitude })
    }

    /// Its bits in another format, rounded.
    pub fn encode(self, fmt: Fmt, rnd: Rnd) -> Option<u64> {
        match self.value {
            Decoded::Nan => Some(nan(fmt)),
            Decoded::Infinite => Some(infinity(fmt, self.negative)),
            Decoded::Zero => Some(zero(fmt, self.negative)),
            Decoded::Finite { mantissa, exponent } => {
                Exact::new(self.negative, mantissa, exponent).round(fmt, rnd)
            }
        }
    }
}

#[cfg(test)]
mod tests;
