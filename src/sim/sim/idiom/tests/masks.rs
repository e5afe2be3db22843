//! Masks are added, and no number is rounded by them.

use super::*;

#[test]
fn masks_are_no_rounding() {
    let s = &mut TermStore::new();
    let x = s.elem(ArrayId(0), Fmt::F32, 0);
    let masks = [-1e9, -1e30, -1e20, f32::MIN, -1e10, -0.7 * f32::MAX];
    for c in masks {
        let k = s.rational(BigRational::from_float(c).unwrap());
        assert!(may_round(s, Fmt::F32, x, k), "{c}");
        assert!(mask(s, Fmt::F32, x, k).is_some(), "{c}");
    }
    for c in [
        12_582_912.0,
        12_583_039.0,
        8_388_608.0,
        1_073_741_824.0,
        1.5 * 2f32.powi(60),
        -1_073_741_824.0,
        1e9,
        1e30,
        f32::MAX,
    ] {
        let k = s.rational(BigRational::from_float(c).unwrap());
        assert_eq!(mask(s, Fmt::F32, x, k), None, "{c}");
    }
    let k = s.integer(-65504);
    assert_eq!(mask(s, Fmt::F16, x, k).as_deref(), Some("-6.5504e4"));
}
