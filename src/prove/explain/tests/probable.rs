//! What evaluation at random points proves, and what it does not.

use super::*;

/// The product of 20 (a + b) * (a - b), as written or as a * a - b * b; `wrong` has one a * a + b * b.
fn products(s: &mut TermStore, squares: bool, wrong: bool) -> TermId {
    let mut all = s.integer(1);
    for i in 0..20 {
        let [a, b] = [8 * i, 8 * i + 4].map(|o| s.elem(IN, Fmt::F32, o));
        let factor = if squares {
            let (aa, bb) = (s.mul(a, a), s.mul(b, b));
            match wrong && i == 7 {
                true => s.add(aa, bb),
                false => s.sub(aa, bb),
            }
        } else {
            let (p, q) = (s.add(a, b), s.sub(a, b));
            s.mul(p, q)
        };
        all = s.mul(all, factor);
    }
    all
}

fn probably(seconds: u64) -> Options {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(seconds);
    Options {
        probabilistic: true,
        limits: crate::spec::Limits {
            deadline: Some(deadline),
            memory: None,
        },
        ..Options::default()
    }
}

#[test]
fn evaluation_decides_what_forms_do_not() {
    let r = |s: &mut TermStore, _: [TermId; 4]| vec![products(s, false, false)];
    let o = |s: &mut TermStore, _: [TermId; 4]| vec![products(s, true, false)];
    let arrays = arrays(Some(Role::Out));
    let exactly = Options {
        probabilistic: false,
        ..probably(1)
    };
    let d = decide(kernel(r), kernel(o), &arrays, &exactly);
    assert_eq!((d.verdict, d.chance), (Verdict::Unknown, None));
    let d = decide(kernel(r), kernel(o), &arrays, &probably(100));
    assert_eq!(d.verdict, Verdict::Equivalent);
    assert_eq!(d.counts.by["points"], 1);
    let chance = d.chance.expect("an error");
    assert!(chance.elements == 1 && chance.error <= -64.0, "{chance:?}");
    assert!(
        d.assumptions
            .iter()
            .any(|a| a.message.contains(&chance.bound()))
    );
}

#[test]
fn evaluation_proves_nothing_wrong() {
    let r = |s: &mut TermStore, _: [TermId; 4]| vec![products(s, false, false)];
    let o = |s: &mut TermStore, _: [TermId; 4]| vec![products(s, true, true)];
    let arrays = arrays(Some(Role::Out));
    let d = decide(kernel(r), kernel(o), &arrays, &probably(5));
    assert_ne!(d.verdict, Verdict::Equivalent);
    assert_eq!(d.chance, None);
    // Equal wherever both are defined, but divided by what may be 0.
    let o = |s: &mut TermStore, [_, b, ..]: [TermId; 4]| {
        let p = products(s, true, false);
        let p = s.mul(p, b);
        vec![s.div(p, b)]
    };
    let d = decide(kernel(r), kernel(o), &arrays, &probably(5));
    assert_ne!(d.verdict, Verdict::Equivalent);
}

#[test]
fn evaluation_reads_constants_as_forms_do() {
    let side = |bits: u64, fmt: Fmt, squares: bool| {
        move |s: &mut TermStore, [a, ..]: [TermId; 4]| {
            let c = s.rational(crate::term::decode(fmt, bits).expect("finite"));
            let t = s.mul(a, c);
            let e = s.fun(crate::term::Fun::Exp2, t);
            let p = products(s, squares, false);
            vec![s.mul(p, e), e]
        }
    };
    let f32_bits = std::f32::consts::LOG2_E.to_bits() as u64;
    let f64_bits = std::f64::consts::LOG2_E.to_bits();
    let d = decide(
        kernel(side(f32_bits, Fmt::F32, false)),
        kernel(side(f64_bits, Fmt::F64, true)),
        &arrays(Some(Role::Out)),
        &probably(100),
    );
    assert_eq!(d.verdict, Verdict::Equivalent);
    let by: Vec<_> = d.counts.by.iter().collect();
    assert_eq!(by, [(&"points", &1), (&"terms", &1)]);
    assert_eq!(d.assumptions.len(), 3);
}
