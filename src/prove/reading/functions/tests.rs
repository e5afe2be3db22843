//! Every pattern is its function, by the independent evaluator.

use std::sync::Arc;

use super::*;
use crate::kernel::{FloatMods, Fmt};
use crate::term::eval::{Cone, Inputs};
use crate::term::facts::{Facts, Numbers};
use crate::term::made::{Kind, Shape};
use crate::term::{ArrayId, BitsOp, Fun, Sort};

#[test]
fn every_function_has_a_pattern() {
    let names: Vec<&str> = patterns().iter().map(|p| p.name).collect();
    let wanted: Vec<&str> = FUNCTIONS.iter().map(|f| f.name).collect();
    assert_eq!(names, wanted);
}

#[test]
fn every_pattern_may_be_an_expansion() {
    for p in patterns() {
        assert!(
            may_expand(&p.plain.store, &p.plain.store.reachable(&[p.plain.root])),
            "{}",
            p.name
        );
    }
}

/// The list is looked at before any pattern is built.
#[test]
fn marks_are_constants_of_what_has_no_parts() {
    let plain = |p: &&Pattern| {
        let below = p.plain.store.reachable(&[p.plain.root]);
        !below.iter().any(|&t| is_part(&p.plain.store, t))
    };
    let marks = patterns().iter().filter(plain).filter_map(Pattern::mark);
    let mut marks: Vec<BigRational> = marks.collect();
    marks.sort();
    marks.dedup();
    let mut listed: Vec<BigRational> = MARKS
        .iter()
        .filter_map(|&m| BigRational::from_float(m))
        .collect();
    listed.sort();
    assert_eq!(marks, listed);
    assert!(marks.iter().all(|m| !m.is_integer()), "{marks:?}");
}

/// The format of the arguments.
fn format(p: &Pattern) -> Fmt {
    let below = p.plain.store.reachable(&[p.plain.root]);
    let element = below.iter().find_map(|&t| match p.plain.store.get(t) {
        Term::Elem { fmt, .. } => Some(fmt),
        _ => None,
    });
    element.expect("an argument")
}

/// Ranges of an argument that decide tests of one function or another.
const RANGES: [(f64, f64); 10] = [
    (0.1, 1.0),
    (1.0, 2.0),
    (0.0, 0.5),
    (2.0, 3.0),
    (-1.0, 1.0),
    (-0.1, 0.1),
    (1e-3, 1e3),
    (-3.0, -2.0),
    (20.0, 30.0),
    (-2.0, 40.0),
];

/// The code of a function of an element in a range, and the element.
fn in_range(p: &Pattern, ends: (f64, f64)) -> (TermStore, TermId, TermId) {
    let mut facts = Facts::default();
    let numbers = Numbers::new(ArrayId(0), format(p), ends);
    facts.add_numbers(numbers.expect("a format with numbers"));
    let mut s = TermStore::new();
    s.facts = Arc::new(facts);
    let u = s.elem(ArrayId(0), format(p), 0);
    let [t, _] = p.instances(&mut s, &[u], &Questions::default());
    (s, t, u)
}

/// Whether a term is a function; a multiple of one is none.
fn is_found(s: &TermStore, t: TermId) -> bool {
    let found = Idioms::of(s, &[t], &Limits::NONE);
    found.map.get(&t).is_some_and(|p| p.factor.is_none())
}

/// Functions of which a range may leave too little to find the argument: bits alone, or a polynomial of a part of it.
const GAPS: [&str; 6] = ["logf", "log2f", "log10f", "cbrtf", "tanhf", "powf"];

/// What facts leave of the code of a function is the function still, and none with another constant.
#[test]
fn functions_are_found_where_facts_decide_tests() {
    let mut missed = Vec::new();
    for p in patterns().iter().filter(|p| p.whole.arguments.len() == 1) {
        for ends in RANGES {
            let (mut s, t, u) = in_range(p, ends);
            let code = matches!(s.get(t), Term::Select(..) | Term::Mul(..) | Term::Add(..));
            if !code || !is_long(&s, t, &[u]) {
                continue;
            }
            if !is_found(&s, t) {
                missed.push((p.name, ends));
            }
            let constants = s.reachable(&[t]);
            let mut constants = constants.into_iter().filter(|&c| {
                let c = s.as_const(c);
                c.is_some_and(|c| !c.is_zero() && !c.abs().is_one())
            });
            let Some(other) = constants.next_back() else {
                continue;
            };
            let from = s.clone();
            let nearly = BigRational::new(1025.into(), 1024.into());
            let twin = rebuild(&from, &[t], &mut s, |s, x, _| {
                let c = from.as_const(x).filter(|_| x == other)?;
                Some(s.rational(c * &nearly))
            })[0];
            assert!(twin == t || !is_found(&s, twin), "{} in {ends:?}", p.name);
        }
    }
    missed.retain(|(name, _)| !GAPS.contains(name));
    assert!(missed.is_empty(), "{missed:?}");
}

/// A short product is no function, though it is all that a range leaves of one.
#[test]
fn what_stands_for_itself_is_no_function() {
    for p in patterns().iter().filter(|p| p.whole.arguments.len() == 1) {
        for ends in RANGES {
            let (s, t, u) = in_range(p, ends);
            assert!(
                is_long(&s, t, &[u]) || !is_found(&s, t),
                "{} in {ends:?}",
                p.name
            );
        }
    }
}

/// The code of a function of a sum, as a run has it in which numbers remember how they were made: each encoding is of a
/// number that the first of two roundings made, or with `mixed` the sums and differences of bits of one of the second.
fn made(p: &Pattern, mixed: bool) -> (TermStore, TermId) {
    let mut s = TermStore::new();
    let [a, b] = [0, 4].map(|off| s.elem(ArrayId(0), Fmt::F32, off));
    let x = s.add(a, b);
    let [t, _] = p.instances(&mut s, &[x], &Questions::default());
    let from = s.clone();
    let shape = Shape::new(Kind::Won, Fmt::F32, Fmt::F32, FloatMods::default());
    let [first, second] = [a, b].map(|held| {
        move |s: &mut TermStore, x: TermId| {
            let made = s.made(x, shape, &[held]);
            s.of_real(Fmt::F32, made)
        }
    });
    let root = rebuild(&from, &[t], &mut s, |s, t, done| match from.get(t) {
        Term::OfReal { real, .. } => Some(first(s, done.of(real))),
        Term::BitsOp(BitsOp::Add, x, y) if mixed => {
            // The sum that takes the exponent off is the one of the encoding and a product.
            let is_scaled = |t| matches!(from.get(t), Term::BitsOp(BitsOp::Mul, ..));
            let (x, y) = if is_scaled(y) { (x, y) } else { (y, x) };
            let Term::OfReal { real, .. } = from.get(x) else {
                return None;
            };
            let encoding = second(s, done.of(real));
            is_scaled(y).then(|| s.bits_op(BitsOp::Add, encoding, done.of(y)))
        }
        _ => None,
    })[0];
    (s, root)
}

/// Two numbers that one real stands for are no argument of a function.
#[test]
fn functions_of_numbers_that_were_made_are_found() {
    let logarithms = patterns().iter().filter(|p| p.name == "logf");
    let p = logarithms.into_iter().next().expect("a logarithm");
    let (s, t) = made(p, false);
    assert!(is_found(&s, t));
    let (s, twin) = made(p, true);
    assert!(s.reachable(&[twin]).len() > 40, "the code is there");
    assert!(!is_found(&s, twin));
}

/// Arguments of every size and sign.
fn arguments() -> Vec<f32> {
    let mut xs: Vec<f32> = vec![0.0, 1.0, -1.0, 0.5, 2.0, 1e-30, 3e38, -3e38, 0.55, 0.6, 9.1];
    for i in 0..3000u32 {
        let h = i.wrapping_mul(2_654_435_761) ^ 0x5bd1_e995;
        let unit = (h >> 8) as f32 / (1 << 24) as f32;
        xs.extend([
            unit,
            unit * 20.0 - 10.0,
            unit * 2.0 - 1.0,
            unit * 160.0 - 80.0,
        ]);
        xs.push(f32::from_bits(h % 0x7f80_0000));
        // Integers and halves, where powers of negative numbers and roundings to integers are.
        xs.push((h % 41) as f32 / 2.0 - 10.0);
    }
    xs
}

/// Both sides at many arguments: equal to a few units in the last place, undefined together.
#[test]
fn patterns_are_the_functions() {
    let xs = arguments();
    for p in patterns().iter().filter(|p| !is_half(format(p))) {
        let fmt = format(p);
        let bytes = fmt.bits() as u64 / 8;
        let mut s = TermStore::new();
        let n = p.whole.arguments.len();
        let u: Vec<TermId> = (0..n as u64)
            .map(|i| s.elem(ArrayId(0), fmt, i * bytes))
            .collect();
        let [t, _] = p.instances(&mut s, &u, &Questions::default());
        let f = (p.meaning)(&mut s, &u);
        assert_eq!(s.sort(f), Sort::Real);
        let positive = matches!(
            p.whole.store.get(p.whole.arguments[0]),
            Term::Fun(Fun::Exp2, _)
        );
        let cone = Cone::new(&s, &[t, f]);
        let constants = cone.constants(&s);
        let largest = if fmt == Fmt::F64 {
            f64::MAX
        } else {
            f32::MAX as f64
        };
        for (i, x) in xs.iter().enumerate() {
            // Other arguments are taken from elsewhere in the list.
            let at = |k: usize| xs[(i + k * (i % 977 + 1)) % xs.len()];
            let x: Vec<f32> = (0..n).map(|k| if k == 0 { *x } else { at(k) }).collect();
            if x.iter().any(|x| !x.is_finite() || positive && *x <= 0.0) {
                continue;
            }
            // There the evaluator, which rounds to doubles, has nothing left of u + sqrt(u^2 + 1).
            if matches!(p.name, "asinhf" | "acoshf") && x[0] < -1000.0 {
                continue;
            }
            let mut inputs = Inputs::default();
            for (k, &x) in x.iter().enumerate() {
                let bits = match fmt {
                    Fmt::F64 => (x as f64).to_bits(),
                    _ => x.to_bits() as u64,
                };
                inputs.set(ArrayId(0), k as u64 * bytes, bytes as u8, bits);
            }
            let v = cone.approximate(&s, &constants, &inputs, &mut Vec::new());
            let (y, z) = (v[0].f, v[1].f);
            let near = (y - z).abs() <= 1e-6 * z.abs().max(1e-7);
            // Beyond the largest float the pattern is infinite.
            let large = z.abs() > largest / 1.01 && y.abs() > largest / 1.01;
            let both = y.is_nan() && z.is_nan() || y == z || large;
            // Where the function has no finite value it is undefined.
            let infinite = !z.is_finite() && !y.is_finite();
            assert!(near || both || infinite, "{} at {x:?}: {y} and {z}", p.name);
        }
    }
}

/// A format of 16 bits.
fn is_half(fmt: Fmt) -> bool {
    matches!(fmt, Fmt::F16 | Fmt::Bf16)
}

/// Of halves every argument is tried: the code is the function but for a few of them, where what lies beside the middle
/// between two halves is brought towards one of them, by one unit in the last place at most.
#[test]
fn patterns_of_halves_are_the_functions() {
    for p in patterns().iter().filter(|p| is_half(format(p))) {
        let fmt = format(p);
        let (places, least, largest, infinity) = match fmt {
            Fmt::F16 => (1024.0, -14.0, 65504.0, 0x7c00),
            _ => (128.0, -126.0, 3.3e38, 0x7f80),
        };
        let mut s = TermStore::new();
        let u = [s.elem(ArrayId(0), fmt, 0)];
        let [t, _] = p.instances(&mut s, &u, &Questions::default());
        let f = (p.meaning)(&mut s, &u);
        let cone = Cone::new(&s, &[t, f]);
        let constants = cone.constants(&s);
        let mut corrected = 0;
        for bits in (0..1 << 16u64).filter(|b| b & infinity != infinity) {
            let mut inputs = Inputs::default();
            inputs.set(ArrayId(0), 0, 2, bits);
            let v = cone.approximate(&s, &constants, &inputs, &mut Vec::new());
            let (y, z) = (v[0].f, v[1].f);
            // The distance of the halves about a value, and how far it lies from the middle of two.
            let unit = z.abs().log2().floor().max(least).exp2() / places;
            let large = z.abs() > largest && y.abs() > largest;
            if (y - z).abs() <= 0.01 * unit || large || !y.is_finite() && !z.is_finite() {
                continue;
            }
            corrected += 1;
            let middle = ((z / unit).fract().abs() - 0.5).abs();
            let moved = (y - z).abs() / unit;
            assert!(moved < 1.001, "{} at {bits:#x}: {moved}", p.name);
            assert!(middle < 0.01, "{} at {bits:#x}: {middle}", p.name);
        }
        assert!(corrected <= 5, "{}: {corrected}", p.name);
    }
}
