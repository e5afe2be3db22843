use super::*;
use crate::term::{Fun, decode};

fn of(x: f32) -> BigRational {
    decode(Fmt::F32, x.to_bits() as u64).unwrap()
}

fn number(v: &mut Values, x: f32) -> Arg {
    let t = v.store.rational(of(x));
    Arg::exact(Fmt::F32, t)
}

fn made(t: TermId, v: &Values) -> Arg {
    Arg::of(Val::Real(Fmt::F32, t), Fmt::F32, v.store.face(t))
}

fn values(v: &Values, t: TermId) -> Vec<BigRational> {
    let (all, _) = v.store.held(t).expect("something is remembered");
    let number = |t: &TermId| v.store.as_const(*t).cloned();
    all.iter().filter_map(number).collect()
}

const RN: FloatMods = FloatMods {
    sat: false,
    relu: false,
    ftz: false,
    approx: false,
    full: false,
    nan: false,
    xorsign_abs: false,
    abs: false,
    oob: false,
    rnd: Rnd::Rn,
};

/// The host's own arithmetic, operation by operation, square roots and overflow with it.
#[test]
fn rounding_is_that_of_the_host() {
    let mut h = 1u32;
    for i in 0..20_000 {
        let mut next = || {
            h = h.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let span = if i % 4 == 0 { 254 } else { 60 };
            let e = (if span == 60 { 97 } else { 1 }) + (h >> 8) % span;
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
            (a.abs().sqrt(), root(Fmt::F32, &x.abs()).unwrap()),
        ];
        for (host, exact) in cases {
            match rounded(Fmt::F32, Rnd::Rn, exact.clone()).unwrap() {
                Finite(r) => assert_eq!(r, of(host), "{a} {b} {c}"),
                Infinite { negative } => {
                    assert!(host.is_infinite() && host.is_sign_negative() == negative);
                }
            }
            let ends = [Rnd::Rm, Rnd::Rp].map(|m| rounded(Fmt::F32, m, exact.clone()).unwrap());
            let exact = Finite(exact);
            assert!(ends[0].compare(&exact).is_le() && exact.compare(&ends[1]).is_le());
        }
    }
}

#[test]
fn subnormal_and_large_numbers() {
    let tiny = pow2(-149);
    assert_eq!(round(Fmt::F32, Rnd::Rn, &tiny), Some(tiny.clone()));
    let less = &tiny / num_bigint::BigInt::from(2);
    assert_eq!(round(Fmt::F32, Rnd::Rn, &less), Some(BigRational::zero()));
    assert_eq!(round(Fmt::F32, Rnd::Rp, &less), Some(tiny));
    assert_eq!(round(Fmt::F32, Rnd::Rn, &pow2(128)), None);
    assert_eq!(round(Fmt::F32, Rnd::Rz, &pow2(127)), Some(pow2(127)));
}

#[test]
fn a_product_is_followed_and_contracted() {
    let mut v = Values::default();
    let (n, inv, one) = (
        number(&mut v, 25.0),
        number(&mut v, 0.04),
        number(&mut v, 1.0),
    );
    let t = v.store.mul(n.t, inv.t);
    let mods = FloatMods::default();
    let product = v
        .follow(FloatOp::Mul, &mods, &[n, inv], (Fmt::F32, t))
        .unwrap();
    assert_eq!(values(&v, product), [BigRational::one()]);
    assert!(*v.store.as_const(t).unwrap() < BigRational::one());
    // The same real that nobody computed remembers nothing.
    assert!(v.store.held(t).is_none());
    // A sum may be contracted with the product, or not.
    let sum = v.store.sub(t, one.t);
    let p = made(product, &v);
    let s = v
        .follow(FloatOp::Sub, &mods, &[p, one], (Fmt::F32, sum))
        .unwrap();
    let all = values(&v, s);
    assert!(all.len() == 2 && all[0].is_negative() && all[1].is_zero());
    // With a rounding of its own it is not.
    let product = v
        .follow(FloatOp::Mul, &RN, &[n, inv], (Fmt::F32, t))
        .unwrap();
    let p = made(product, &v);
    let s = v
        .follow(FloatOp::Sub, &RN, &[p, one], (Fmt::F32, sum))
        .unwrap();
    assert_eq!(values(&v, s), [BigRational::zero()]);
}

#[test]
fn a_quotient_by_zero_is_that_of_the_reals() {
    let mut v = Values::default();
    let [two, zero, tenth] = [2.0, 0.0, 0.1].map(|x| number(&mut v, x));
    for (op, args) in [
        (FloatOp::Div, vec![two, zero]),
        (FloatOp::Div, vec![zero, zero]),
        (FloatOp::Rcp, vec![zero]),
    ] {
        let one = v.store.integer(1);
        let above = if args.len() == 2 { args[0].t } else { one };
        let t = v.store.div(above, zero.t);
        assert_eq!(v.follow(op, &RN, &args, (Fmt::F32, t)), Some(t));
        assert!(v.store.held(t).is_none());
    }
    // A divisor that only rounding may make 0 leaves the quotient open.
    let ten = number(&mut v, 10.0);
    let product = v.store.mul(tenth.t, ten.t);
    let plain = FloatMods::default();
    let product = v
        .follow(FloatOp::Mul, &plain, &[tenth, ten], (Fmt::F32, product))
        .unwrap();
    let p = made(product, &v);
    let one = number(&mut v, 1.0);
    let rest = v.store.sub(p.t, one.t);
    let rest = v
        .follow(FloatOp::Sub, &plain, &[p, one], (Fmt::F32, rest))
        .unwrap();
    let r = made(rest, &v);
    assert_eq!(values(&v, rest).len(), 2);
    let quotient = v.store.div(two.t, r.t);
    let open = v.follow(FloatOp::Div, &plain, &[two, r], (Fmt::F32, quotient));
    assert!(v.store.held(open.unwrap()).is_some_and(|h| h.0.is_empty()));
}

#[test]
fn roots_and_approximations() {
    let mut v = Values::default();
    let (two, three) = (number(&mut v, 2.0), number(&mut v, 3.0));
    let approx = FloatMods {
        approx: true,
        ..FloatMods::default()
    };
    // The square of the rounded root of 2 is below 2.
    let t = v.store.fun(Fun::Sqrt, two.t);
    let root = v.follow(FloatOp::Sqrt, &RN, &[two], (Fmt::F32, t)).unwrap();
    assert_eq!(values(&v, root), [of(2f32.sqrt())]);
    let r = made(root, &v);
    let t = v.store.mul(t, t);
    let square = v.follow(FloatOp::Mul, &RN, &[r, r], (Fmt::F32, t)).unwrap();
    assert_eq!(values(&v, square), [of(2f32.sqrt() * 2f32.sqrt())]);
    // An approximation lies between two numbers.
    let t = v.store.fun(Fun::Exp2, three.t);
    let e = v
        .follow(FloatOp::Ex2, &approx, &[three], (Fmt::F32, t))
        .unwrap();
    let all = values(&v, e);
    assert!(all[0] < of(8.0) && of(8.0) < all[1] && all[0] > of(7.99) && all[1] < of(8.01));
    // Overflow is the machine's.
    let large = number(&mut v, 1e38);
    let t = v.store.mul(large.t, three.t);
    let t = v
        .follow(FloatOp::Mul, &RN, &[large, three], (Fmt::F32, t))
        .unwrap();
    assert!(!matches!(v.store.get(t), Term::Inf { .. }));
    let ten = number(&mut v, 10.0);
    let t = v.store.mul(large.t, ten.t);
    let t = v
        .follow(FloatOp::Mul, &RN, &[large, ten], (Fmt::F32, t))
        .unwrap();
    assert_eq!(v.store.get(t), Term::Inf { neg: false });
}

#[test]
fn what_data_decides_is_not_followed() {
    let mut v = Values::default();
    let x = v.store.elem(crate::term::ArrayId(0), Fmt::F32, 0);
    let (x, two) = (
        Arg::of(Val::Real(Fmt::F32, x), Fmt::F32, x),
        number(&mut v, 2.0),
    );
    let t = v.store.mul(x.t, two.t);
    assert_eq!(v.follow(FloatOp::Mul, &RN, &[x, two], (Fmt::F32, t)), None);
    // Nor is an operation whose result a register holds exactly.
    let t = v.store.mul(two.t, two.t);
    assert_eq!(
        v.follow(FloatOp::Mul, &RN, &[two, two], (Fmt::F32, t)),
        Some(t)
    );
}
