//! The functions of the CUDA library that are recognised: the PTX of each, and what it computes.
//!
//! The PTX is what nvcc makes of a kernel that computes the function alone
//! (`idioms/build.list`), or Triton of a function of the bitcode library. A meaning is
//! undefined where the function has no finite value.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::ToPrimitive;

use crate::term::{Fun, RCmp, TermId, TermStore};

/// A function of its arguments as terms that the normaliser knows.
pub(super) type Meaning = fn(&mut TermStore, &[TermId]) -> TermId;

/// A function and the PTX that a compiler makes of it.
pub(super) struct Function {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
    /// Its file; in one that ends in `_positive` the argument is a power of two.
    pub(super) file: &'static str,
    /// Which of the numbers that the kernel writes.
    pub(super) output: usize,
    pub(super) meaning: Meaning,
}

macro_rules! function {
    ($name:literal, $file:literal, $meaning:expr) => {
        function!($name, $file, 0, $meaning)
    };
    ($name:literal, $file:literal, $output:literal, $meaning:expr) => {
        Function {
            name: $name,
            text: include_str!(concat!("idioms/", $file, ".ptx")),
            file: $file,
            output: $output,
            meaning: $meaning,
        }
    };
}

/// Constants of the functions below that neither choose between cases nor make a number of bits.
pub(super) const MARKS: &[f64] = &[1.0 / 16_777_216.0, 7_077_169.0 / 536_870_912.0];

/// Where a name stands several times, the others are what is left of its code where the argument is
/// known to be positive, where the result is negated, or where the exponent is known.
pub(super) const FUNCTIONS: &[Function] = &[
    function!("logf", "logf", logarithm),
    function!("logf", "logf_positive", logarithm),
    function!("logf", "logf_negated", |s, u| {
        let x = logarithm(s, u);
        s.neg(x)
    }),
    function!("logf", "logf_negated_positive", |s, u| {
        let x = logarithm(s, u);
        s.neg(x)
    }),
    function!("log2f", "log2f", |s, u| s.fun(Fun::Log2, u[0])),
    function!("log2f", "log2f_positive", |s, u| s.fun(Fun::Log2, u[0])),
    function!("log10f", "log10f", logarithm10),
    function!("log10f", "log10f_positive", logarithm10),
    function!("log1pf", "log1pf", logarithm_plus),
    function!("log1pf", "log1pf_positive", logarithm_plus),
    function!("log1pf", "log1pf_negated", |s, u| {
        let x = logarithm_plus(s, u);
        s.neg(x)
    }),
    function!("log1pf", "log1pf_negated_positive", |s, u| {
        let x = logarithm_plus(s, u);
        s.neg(x)
    }),
    function!("expm1f", "expm1f", exponential_minus),
    function!("exp10f", "exp10f", exponential10),
    function!("tanhf", "tanhf", |s, u| s.fun(Fun::Tanh, u[0])),
    function!("sinhf", "sinhf", |s, u| hyperbolic(s, u[0], true)),
    function!("coshf", "coshf", |s, u| hyperbolic(s, u[0], false)),
    function!("asinhf", "asinhf", area_sine),
    function!("acoshf", "acoshf", area_cosine),
    function!("atanhf", "atanhf", area_tangent),
    function!("sinf", "sinf", |s, u| s.fun(Fun::Sin, u[0])),
    function!("cosf", "cosf", |s, u| s.fun(Fun::Cos, u[0])),
    function!("sincosf", "sincosf", 0, |s, u| s.fun(Fun::Sin, u[0])),
    function!("sincosf", "sincosf", 1, |s, u| s.fun(Fun::Cos, u[0])),
    function!("erff", "erff", |s, u| s.fun(Fun::Erf, u[0])),
    function!("erfcf", "erfcf", error_complement),
    function!("normcdff", "normcdff", normal),
    function!("cbrtf", "cbrtf", cube_root),
    function!("powf", "powf", power),
    function!("powf", "powf_2", |s, u| s.mul(u[0], u[0])),
    function!("powf", "powf_3", |s, u| {
        let x = s.mul(u[0], u[0]);
        s.mul(x, u[0])
    }),
    function!("powf", "powf_4", |s, u| {
        let x = s.mul(u[0], u[0]);
        s.mul(x, x)
    }),
    function!("hypotf", "hypotf", length),
    function!("rhypotf", "rhypotf", |s, u| {
        let x = squares(s, u);
        s.fun(Fun::Rsqrt, x)
    }),
    function!("norm3df", "norm3df", length),
    // As the bitcode library has them, which other compilers link.
    function!("erff", "libdevice_erf", |s, u| s.fun(Fun::Erf, u[0])),
    function!("erfcf", "libdevice_erfc", error_complement),
    function!("normcdff", "libdevice_normcdf", normal),
    function!("tanhf", "libdevice_tanh", |s, u| s.fun(Fun::Tanh, u[0])),
    function!("sinhf", "libdevice_sinh", |s, u| hyperbolic(s, u[0], true)),
    function!("expm1f", "libdevice_expm1", exponential_minus),
    function!("sinf", "libdevice_sin", |s, u| s.fun(Fun::Sin, u[0])),
    function!("cosf", "libdevice_cos", |s, u| s.fun(Fun::Cos, u[0])),
    function!("sincosf", "libdevice_sincos", 0, |s, u| s
        .fun(Fun::Sin, u[0])),
    function!("sincosf", "libdevice_sincos", 1, |s, u| s
        .fun(Fun::Cos, u[0])),
    function!("log10f", "libdevice_log10", logarithm10),
    function!("coshf", "libdevice_cosh", |s, u| hyperbolic(s, u[0], false)),
    function!("asinhf", "libdevice_asinh", area_sine),
    function!("acoshf", "libdevice_acosh", area_cosine),
    function!("atanhf", "libdevice_atanh", area_tangent),
    function!("tanf", "libdevice_tan", tangent),
    function!("cbrtf", "libdevice_cbrt", cube_root),
    function!("powf", "libdevice_pow_2", |s, u| s.mul(u[0], u[0])),
    function!("powf", "libdevice_pow_3", |s, u| {
        let x = s.mul(u[0], u[0]);
        s.mul(x, u[0])
    }),
    // The same of a later library.
    function!("erff", "libdevice_13_erf", |s, u| s.fun(Fun::Erf, u[0])),
    function!("normcdff", "libdevice_13_normcdf", normal),
    function!("sinhf", "libdevice_13_sinh", |s, u| hyperbolic(
        s, u[0], true
    )),
    function!("sincosf", "libdevice_13_sincos", 0, |s, u| s
        .fun(Fun::Sin, u[0])),
    function!("sincosf", "libdevice_13_sincos", 1, |s, u| s
        .fun(Fun::Cos, u[0])),
    function!("log10f", "libdevice_13_log10", logarithm10),
    function!("coshf", "libdevice_13_cosh", |s, u| hyperbolic(
        s, u[0], false
    )),
    function!("asinhf", "libdevice_13_asinh", area_sine),
    function!("acoshf", "libdevice_13_acosh", area_cosine),
    function!("atanhf", "libdevice_13_atanh", area_tangent),
    function!("tanf", "libdevice_13_tan", tangent),
    function!("powf", "libdevice_13_pow_2", |s, u| s.mul(u[0], u[0])),
    function!("powf", "libdevice_13_pow_3", |s, u| {
        let x = s.mul(u[0], u[0]);
        s.mul(x, u[0])
    }),
    // Of doubles.
    function!("exp", "exp", exponential),
    function!("exp2", "exp2", |s, u| s.fun(Fun::Exp2, u[0])),
    function!("exp10", "exp10", exponential10),
    function!("expm1", "expm1", exponential_minus),
    function!("log", "log", logarithm),
    function!("log", "log_positive", logarithm),
    function!("log2", "log2", |s, u| s.fun(Fun::Log2, u[0])),
    function!("log2", "log2_positive", |s, u| s.fun(Fun::Log2, u[0])),
    function!("log10", "log10", logarithm10),
    function!("log10", "log10_positive", logarithm10),
    function!("log1p", "log1p", logarithm_plus),
    function!("log1p", "log1p_positive", logarithm_plus),
    function!("tanh", "tanh", |s, u| s.fun(Fun::Tanh, u[0])),
    function!("sinh", "sinh", |s, u| hyperbolic(s, u[0], true)),
    function!("cosh", "cosh", |s, u| hyperbolic(s, u[0], false)),
    function!("erf", "erf", |s, u| s.fun(Fun::Erf, u[0])),
    function!("cbrt", "cbrt", cube_root),
    function!("pow", "pow", power),
    function!("hypot", "hypot", length),
    // Of halves: the last bit is corrected where an approximate instruction misses it.
    function!("hexp", "hexp", exponential),
    function!("hexp2", "hexp2", |s, u| s.fun(Fun::Exp2, u[0])),
    function!("hexp10", "hexp10", exponential10),
    function!("hlog", "hlog", logarithm),
    function!("hlog2", "hlog2", |s, u| s.fun(Fun::Log2, u[0])),
    function!("hlog10", "hlog10", logarithm10),
    function!("hexp10", "hexp10_brain", exponential10),
    // Unoptimised, as builds for debuggers call them.
    function!("logf", "logf_called", logarithm),
    function!("logf", "logf_called_positive", logarithm),
    function!("log2f", "log2f_called", |s, u| s.fun(Fun::Log2, u[0])),
    function!("log2f", "log2f_called_positive", |s, u| s
        .fun(Fun::Log2, u[0])),
    function!("log10f", "log10f_called", logarithm10),
    function!("log10f", "log10f_called_positive", logarithm10),
    function!("log1pf", "log1pf_called", logarithm_plus),
    function!("log1pf", "log1pf_called_positive", logarithm_plus),
    function!("sinhf", "sinhf_called", |s, u| hyperbolic(s, u[0], true)),
    function!("coshf", "coshf_called", |s, u| hyperbolic(s, u[0], false)),
    function!("asinhf", "asinhf_called", area_sine),
    function!("acoshf", "acoshf_called", area_cosine),
    function!("atanhf", "atanhf_called", area_tangent),
    function!("sinf", "sinf_called", |s, u| s.fun(Fun::Sin, u[0])),
    function!("cosf", "cosf_called", |s, u| s.fun(Fun::Cos, u[0])),
    function!("erff", "erff_called", |s, u| s.fun(Fun::Erf, u[0])),
    function!("powf", "powf_called", power),
    function!("hypotf", "hypotf_called", length),
    function!("rhypotf", "rhypotf_called", |s, u| {
        let x = squares(s, u);
        s.fun(Fun::Rsqrt, x)
    }),
    function!("exp", "exp_called", exponential),
    function!("exp2", "exp2_called", |s, u| s.fun(Fun::Exp2, u[0])),
    function!("exp10", "exp10_called", exponential10),
    function!("expm1", "expm1_called", exponential_minus),
    function!("log", "log_called", logarithm),
    function!("log", "log_called_positive", logarithm),
    function!("log2", "log2_called", |s, u| s.fun(Fun::Log2, u[0])),
    function!("log10", "log10_called", logarithm10),
    function!("log1p", "log1p_called", logarithm_plus),
    function!("log1p", "log1p_called_positive", logarithm_plus),
    function!("tanh", "tanh_called", |s, u| s.fun(Fun::Tanh, u[0])),
    function!("sinh", "sinh_called", |s, u| hyperbolic(s, u[0], true)),
    function!("cosh", "cosh_called", |s, u| hyperbolic(s, u[0], false)),
    function!("erf", "erf_called", |s, u| s.fun(Fun::Erf, u[0])),
    function!("cbrt", "cbrt_called", cube_root),
    function!("pow", "pow_called", power),
    function!("hypot", "hypot_called", length),
];

fn ratio(s: &mut TermStore, n: i64, d: i64) -> TermId {
    s.rational(BigRational::new(BigInt::from(n), BigInt::from(d)))
}

fn natural(s: &mut TermStore, u: TermId) -> TermId {
    let (x, e) = (s.fun(Fun::Log2, u), s.log2_e());
    s.div(x, e)
}

fn logarithm(s: &mut TermStore, u: &[TermId]) -> TermId {
    natural(s, u[0])
}

fn logarithm10(s: &mut TermStore, u: &[TermId]) -> TermId {
    let ten = s.integer(10);
    let (x, y) = (s.fun(Fun::Log2, u[0]), s.fun(Fun::Log2, ten));
    s.div(x, y)
}

fn logarithm_plus(s: &mut TermStore, u: &[TermId]) -> TermId {
    let one = s.integer(1);
    let x = s.add(one, u[0]);
    natural(s, x)
}

fn exponential(s: &mut TermStore, u: &[TermId]) -> TermId {
    let e = s.log2_e();
    let x = s.mul(u[0], e);
    s.fun(Fun::Exp2, x)
}

fn exponential_minus(s: &mut TermStore, u: &[TermId]) -> TermId {
    let one = s.integer(1);
    let x = exponential(s, u);
    s.sub(x, one)
}

fn exponential10(s: &mut TermStore, u: &[TermId]) -> TermId {
    let ten = s.integer(10);
    let k = s.fun(Fun::Log2, ten);
    let x = s.mul(u[0], k);
    s.fun(Fun::Exp2, x)
}

fn normal(s: &mut TermStore, u: &[TermId]) -> TermId {
    let (one, two) = (s.integer(1), s.integer(2));
    let root = s.fun(Fun::Sqrt, two);
    let x = s.div(u[0], root);
    let x = s.fun(Fun::Erf, x);
    let x = s.add(one, x);
    s.div(x, two)
}

fn error_complement(s: &mut TermStore, u: &[TermId]) -> TermId {
    let (one, x) = (s.integer(1), s.fun(Fun::Erf, u[0]));
    s.sub(one, x)
}

fn hyperbolic(s: &mut TermStore, u: TermId, odd: bool) -> TermId {
    let minus = s.neg(u);
    let (x, y) = (exponential(s, &[u]), exponential(s, &[minus]));
    let x = if odd { s.sub(x, y) } else { s.add(x, y) };
    let two = s.integer(2);
    s.div(x, two)
}

/// log(u + sqrt(u^2 + k)).
fn area(s: &mut TermStore, u: TermId, k: i64) -> TermId {
    let (k, x) = (s.integer(k), s.mul(u, u));
    let x = s.add(x, k);
    let x = s.fun(Fun::Sqrt, x);
    let x = s.add(u, x);
    natural(s, x)
}

fn area_sine(s: &mut TermStore, u: &[TermId]) -> TermId {
    area(s, u[0], 1)
}

fn area_cosine(s: &mut TermStore, u: &[TermId]) -> TermId {
    area(s, u[0], -1)
}

fn area_tangent(s: &mut TermStore, u: &[TermId]) -> TermId {
    let (one, two) = (s.integer(1), s.integer(2));
    let (x, y) = (s.add(one, u[0]), s.sub(one, u[0]));
    let x = s.div(x, y);
    let x = natural(s, x);
    s.div(x, two)
}

fn tangent(s: &mut TermStore, u: &[TermId]) -> TermId {
    let (x, y) = (s.fun(Fun::Sin, u[0]), s.fun(Fun::Cos, u[0]));
    s.div(x, y)
}

fn squares(s: &mut TermStore, u: &[TermId]) -> TermId {
    let pairs: Vec<(TermId, TermId)> = u.iter().map(|&x| (x, x)).collect();
    s.sum(&pairs)
}

fn length(s: &mut TermStore, u: &[TermId]) -> TermId {
    let x = squares(s, u);
    s.fun(Fun::Sqrt, x)
}

/// 2^(k * log2(x)), for positive x.
fn power_of(s: &mut TermStore, x: TermId, k: TermId) -> TermId {
    let l = s.fun(Fun::Log2, x);
    let l = s.mul(k, l);
    s.fun(Fun::Exp2, l)
}

fn cube_root(s: &mut TermStore, u: &[TermId]) -> TermId {
    let (zero, third) = (s.integer(0), ratio(s, 1, 3));
    let minus = s.neg(u[0]);
    let (x, y) = (power_of(s, u[0], third), power_of(s, minus, third));
    let y = s.neg(y);
    let (above, below) = (s.rcmp(RCmp::Lt, zero, u[0]), s.rcmp(RCmp::Lt, u[0], zero));
    let rest = s.select(below, y, zero);
    s.select(above, x, rest)
}

/// x to the power of y: for a known y as products and roots where it has some, else by cases.
fn power(s: &mut TermStore, u: &[TermId]) -> TermId {
    let (x, y) = (u[0], u[1]);
    let (zero, one, two) = (s.integer(0), s.integer(1), s.integer(2));
    if let Some(k) = s.as_const(y).cloned() {
        let twice: BigRational = &k + &k;
        if let Some(n) = twice
            .is_integer()
            .then(|| twice.to_integer().to_i64())
            .flatten()
            && n.abs() <= 64
        {
            let half = if n % 2 == 0 { one } else { s.fun(Fun::Sqrt, x) };
            let p = (0..n.abs() / 2).fold(half, |p, _| s.mul(p, x));
            return if n < 0 { s.div(one, p) } else { p };
        }
    }
    let p = power_of(s, x, y);
    // 0 to a positive power is 0, and anything to the power of 0 is 1.
    let (positive, none) = (s.rcmp(RCmp::Lt, zero, y), s.rcmp(RCmp::Eq, y, zero));
    let undefined = s.undefined();
    let at_zero = s.select(none, one, undefined);
    let at_zero = s.select(positive, zero, at_zero);
    // A negative number has the powers of integers, with the sign that says whether they are odd.
    let minus = s.neg(x);
    let q = power_of(s, minus, y);
    let n = s.neg(q);
    let (whole, half) = (s.fun(Fun::Floor, y), s.div(y, two));
    let half_whole = s.fun(Fun::Floor, half);
    let (integer, even) = (
        s.rcmp(RCmp::Eq, whole, y),
        s.rcmp(RCmp::Eq, half_whole, half),
    );
    let below = s.select(even, q, n);
    let below = s.select(integer, below, undefined);
    let (above, is_zero) = (s.rcmp(RCmp::Lt, zero, x), s.rcmp(RCmp::Eq, x, zero));
    let rest = s.select(is_zero, at_zero, below);
    s.select(above, p, rest)
}
