//! The value of terms in doubles: fast, and without any claim about its error.
//!
//! The witness search sifts candidate inputs with this; what it finds is decided by `eval.rs`.

use num_rational::BigRational;

use super::bits::{mask, sext};
use super::eval::{Cone, Inputs, Value};
use super::made::Kind;
use super::{ArrayId, Class, Fun, RCmp, Term, TermId, TermStore};
use crate::number::half;
use crate::scalar::Fmt;

/// A real (`f`, NaN where undefined), or bits and truth values (`b`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Fast {
    /// The number.
    pub f: f64,
    /// The bits.
    pub b: u64,
}

fn decode(fmt: Fmt, bits: u64) -> f64 {
    if let Some(v) = half::value(fmt, bits) {
        // The real zero has no sign.
        return v + 0.0;
    }
    match fmt {
        Fmt::F32 | Fmt::Tf32 => f32::from_bits(bits as u32) as f64,
        Fmt::F64 => f64::from_bits(bits),
        _ => match super::decode(fmt, bits) {
            Ok(q) => super::show::approx(&q).unwrap_or(f64::NAN),
            Err(super::NotFinite::PosInf) => f64::INFINITY,
            Err(super::NotFinite::NegInf) => f64::NEG_INFINITY,
            Err(super::NotFinite::Nan) => f64::NAN,
        },
    }
}

fn encode(fmt: Fmt, v: f64) -> u64 {
    match fmt {
        Fmt::F64 => v.to_bits(),
        Fmt::Bf16 => ((v as f32).to_bits() >> 16) as u64,
        Fmt::F16 => half::exactly(fmt, v).unwrap_or(0),
        _ if fmt.bits() < 32 => BigRational::from_float(v)
            .and_then(|q| super::encode_exact(fmt, &q))
            .unwrap_or(0),
        _ => (v as f32).to_bits() as u64,
    }
}

fn fun(f: Fun, x: f64) -> f64 {
    match f {
        Fun::Sqrt => x.sqrt(),
        Fun::Rsqrt => 1.0 / x.sqrt(),
        Fun::Exp2 => x.exp2(),
        Fun::Log2 => x.log2(),
        Fun::Sin => x.sin(),
        Fun::Cos => x.cos(),
        Fun::Tanh => x.tanh(),
        Fun::Erf => libm::erf(x),
        Fun::Abs => x.abs(),
        Fun::Floor => x.floor(),
        Fun::Ceil => x.ceil(),
        Fun::Trunc => x.trunc(),
        Fun::RoundEven => x.round_ties_even(),
    }
}

impl Cone {
    /// The values of the roots in doubles; `scratch` is reused between calls.
    pub fn approximate(
        &self,
        store: &TermStore,
        constants: &[f64],
        inputs: &Inputs,
        scratch: &mut Vec<Fast>,
    ) -> Vec<Fast> {
        scratch.clear();
        for (i, &t) in self.ids().iter().enumerate() {
            let v = step(store, t, self.kids(i), scratch, constants[i], inputs);
            scratch.push(v);
        }
        self.roots().iter().map(|&i| scratch[i as usize]).collect()
    }

    /// The constants of the cone in doubles, by position: what [`Cone::approximate`] takes.
    pub fn constants(&self, store: &TermStore) -> Vec<f64> {
        self.ids()
            .iter()
            .map(|&t| match store.as_const(t) {
                Some(q) => super::show::approx(q).unwrap_or(f64::NAN),
                None => 0.0,
            })
            .collect()
    }
}

fn step(
    store: &TermStore,
    t: TermId,
    kids: &[u32],
    values: &[Fast],
    constant: f64,
    inputs: &Inputs,
) -> Fast {
    let v = |i: usize| values[kids[i] as usize];
    let real = |f: f64| Fast { f, b: 0 };
    let bits = |b: u64| Fast { f: f64::NAN, b };
    let truth = |b: bool| Fast {
        f: f64::NAN,
        b: b as u64,
    };
    match store.get(t) {
        Term::Const(_) => real(constant),
        Term::Inf { neg: true } => real(f64::NEG_INFINITY),
        Term::Inf { neg: false } => real(f64::INFINITY),
        Term::Undefined => real(f64::NAN),
        Term::Elem {
            array: ArrayId::CONSTANTS,
            ..
        } => real(std::f64::consts::LOG2_E),
        Term::Elem { array, fmt, off } => {
            let raw = inputs.read(array, off, (fmt.bits() / 8) as u8);
            real(decode(fmt, raw))
        }
        Term::Add(..) => real(v(0).f + v(1).f),
        Term::Mul(..) => real(v(0).f * v(1).f),
        Term::Neg(_) => real(-v(0).f),
        Term::Sum(_) => {
            let (pairs, _) = kids.as_chunks::<2>();
            real(
                pairs
                    .iter()
                    .map(|[a, b]| values[*a as usize].f * values[*b as usize].f)
                    .sum(),
            )
        }
        Term::Div(..) => real(v(0).f / v(1).f),
        Term::Fun(f, _) => real(fun(f, v(0).f)),
        Term::Max(..) => real(v(0).f.max(v(1).f)),
        Term::Min(..) => real(v(0).f.min(v(1).f)),
        Term::Select(..) | Term::BitsSelect(..) => {
            if v(0).b != 0 {
                v(1)
            } else {
                v(2)
            }
        }
        Term::OfInt { signed, bits } => real(match signed {
            true => sext(v(0).b, store.width(bits)) as f64,
            false => v(0).b as f64,
        }),
        Term::OfBits { fmt, .. } => {
            // An encoding keeps its number in `f`.
            let x = v(0);
            real(if x.f.is_nan() { decode(fmt, x.b) } else { x.f })
        }
        Term::Made(made) => {
            let operand = |(i, &k): (usize, &u32)| match (made.shape(store).kind, i) {
                (Kind::Select, 0) => Value::Bool(values[k as usize].b != 0),
                _ => Value::Bits(values[k as usize].b),
            };
            let operands: Vec<Value> = kids[2..].iter().enumerate().map(operand).collect();
            let all: Vec<&Value> = operands.iter().collect();
            match super::machine::value(made.shape(store), &all) {
                Value::Exact(q) => super::show::approx(&q).map_or(v(0), real),
                _ => v(0),
            }
        }
        Term::RCmp(op, ..) => {
            let (a, b) = (v(0).f, v(1).f);
            truth(match op {
                RCmp::Lt => a < b,
                RCmp::Le => a <= b,
                RCmp::Eq => a == b,
            })
        }
        Term::Is(class, _) => truth(match class {
            Class::Nan => v(0).f.is_nan(),
            Class::PosInf => v(0).f == f64::INFINITY,
            Class::NegInf => v(0).f == f64::NEG_INFINITY,
        }),
        Term::Overflows(..) => truth(false),
        Term::Bool(_)
        | Term::ICmp(..)
        | Term::Not(_)
        | Term::And(..)
        | Term::Or(..)
        | Term::Xor(..)
        | Term::BitsConst { .. }
        | Term::Concat(_)
        | Term::Extract { .. }
        | Term::BitsOp(..)
        | Term::BitsSum(_)
        | Term::OfBool { .. } => {
            let word = store.fold_word(t, |k, _| Some(v(k).b));
            bits(word.unwrap_or(0))
        }
        Term::Bytes { array, off, width } => bits(inputs.read(array, off, width / 8)),
        Term::Fresh { .. } | Term::Poison { .. } | Term::Word(_) => bits(0),
        Term::OfReal { fmt, .. } => Fast {
            f: v(0).f,
            b: encode(fmt, v(0).f),
        },
        Term::Clamp {
            width: w, signed, ..
        } => {
            let x = v(0).f;
            bits(if signed {
                let h = 2f64.powi(w as i32 - 1);
                mask(w) & x.clamp(-h, h - 1.0) as i64 as u64
            } else {
                mask(w) & x.clamp(0.0, 2f64.powi(w as i32) - 1.0) as u64
            })
        }
    }
}
