//! Warnings from a measurement.
//!
//! `less-accurate`: on inputs of one kind both the largest and the mean error of the optimized kernel are above twice
//! those of the reference, and above what one rounding explains. `ill-conditioned`: the reference itself loses
//! half of its digits, so that a difference of the kernels says nothing there.

use crate::answer::rounding::{Kind, Measured, Rounding, Spread};
use crate::answer::{Finding, Part, WarningKind};

use super::measure::SEARCHED;

/// Errors of the optimized kernel by those of the reference that are told.
const WORSE: f64 = 2.0;
/// Errors in ulps that are told at all: below, both round once or twice.
const LEAST: f64 = 2.0;

/// Errors in ulps at which half of the digits of a type are lost.
fn half(ty: &str) -> f64 {
    match ty {
        "f64" => 67_108_864.0,
        "f32" | "tf32" => 4096.0,
        "f16" => 32.0,
        _ => 16.0,
    }
}

/// The warnings.
pub(crate) fn warnings(r: &Rounding) -> Vec<Finding<WarningKind>> {
    let mut out = Vec::new();
    for o in &r.outputs {
        let ratio = |k: &&Kind| worse(k).unwrap_or(0.0);
        let worst = o.inputs.iter().max_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        if let Some((k, ratio)) = worst.and_then(|k| Some((k, worse(k)?))) {
            out.push(less_accurate(o, k, ratio));
        }
        let lost = |k: &&Kind| k.errors.reference.is_some_and(|s| s.ulps > half(&o.r#type));
        if let Some(k) = o.inputs.iter().find(lost) {
            let ulps = k.errors.reference.map_or(0.0, |s| s.ulps);
            let message = format!(
                "{}: on inputs of the kind `{}` the reference itself is {ulps:.0} ulps off: a difference of roundings says nothing there",
                o.name, k.name
            );
            out.push(Finding::new(
                Part::Reference,
                WarningKind::IllConditioned,
                message,
            ));
        }
    }
    out
}

/// How much worse the optimized kernel is, where that is told; infinite if it alone is NaN or infinite somewhere.
///
/// What was searched for is left out: the search looks for errors of the optimized kernel.
fn worse(k: &Kind) -> Option<f64> {
    let (x, y) = (k.errors.reference?, k.errors.optimized?);
    if y.overflows + y.nans > x.overflows + x.nans {
        return Some(f64::INFINITY);
    }
    let same = x.overflows + x.nans == y.overflows + y.nans;
    let ratio = |of: fn(&Spread) -> f64| of(&y) / of(&x).max(f64::MIN_POSITIVE);
    // A small element that is off by many of its own ulps beside a large one is no news to anybody.
    let ratios = [
        ratio(|s| s.ulps),
        ratio(|s| s.mean_ulps),
        ratio(|s| s.absolute),
    ];
    let least = ratios.into_iter().fold(f64::INFINITY, f64::min);
    (same && k.name != SEARCHED && least > WORSE && y.ulps > LEAST).then_some(least)
}

fn less_accurate(o: &Measured, k: &Kind, ratio: f64) -> Finding<WarningKind> {
    let of = |s: Option<Spread>| s.unwrap_or_default();
    let (x, y) = (of(k.errors.reference), of(k.errors.optimized));
    let how = match ratio.is_finite() {
        true => format!(
            "is up to {:.1} ulps off, the reference {:.1}",
            y.ulps, x.ulps
        ),
        false => format!(
            "is infinite or NaN at {} elements, the reference at {}",
            y.overflows + y.nans,
            x.overflows + x.nans
        ),
    };
    let message = format!("{}: on inputs of the kind `{}` it {how}", o.name, k.name);
    Finding::new(Part::Optimized, WarningKind::LessAccurate, message)
}
