//! Every pattern is its function, by the independent evaluator.

use super::*;
use crate::kernel::Fmt;
use crate::term::eval::{Cone, Inputs};
use crate::term::{ArrayId, Fun, Sort};

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
    for p in patterns() {
        let fmt = match p
            .plain
            .store
            .get(p.plain.store.reachable(&[p.plain.root])[0])
        {
            Term::Elem { fmt, .. } => fmt,
            _ => p
                .plain
                .store
                .reachable(&[p.plain.root])
                .iter()
                .find_map(|&t| match p.plain.store.get(t) {
                    Term::Elem { fmt, .. } => Some(fmt),
                    _ => None,
                })
                .expect("an argument"),
        };
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
