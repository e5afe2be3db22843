//! A counterexample on the machine: both kernels executed on its input.
//!
//! A refutation is about real numbers; a user has a machine. So both kernels are executed on the input, and the report
//! says what each writes there. The verdict stays where the machine gives equal numbers: that two different reals are
//! rounded to one number, or both overflow, takes nothing from the claim, and the report says it. It does not stay
//! where the reference ends in a defect on the input: such an input is none on which the reference is defined, so it
//! refutes nothing, and the answer is `unknown`. A defect of the optimized kernel alone is said beside the verdict.
//!
//! Not claimed: anything where a run is too long, or does not know the element; then the field is null.

use crate::answer::{Machine, Value};
use crate::explain::{Counterexample, text};
use crate::grid::Subject;
use crate::kernel::Fmt;
use crate::number;
use crate::sim::Stats;
use crate::spec::ElemTy;

use super::execute::{Bits, Ran, execute};
use super::limits::LIMITS;

/// What the machine says of a counterexample.
pub(crate) enum Confirmed {
    /// What it writes.
    Ran(Machine),
    /// The reference ends in this defect.
    Undefined(String),
    /// Nothing.
    Unknown,
}

/// Executes the kernels of a pair, or the one beside a formula, on the input of a counterexample.
pub(crate) fn confirm(
    subjects: &[Subject<'_>],
    stats: &[Stats],
    example: &Counterexample,
) -> Confirmed {
    let large = |s: &Stats| s.thread_instructions > LIMITS.confirm;
    if stats.iter().any(large) {
        return Confirmed::Unknown;
    }
    let input: Option<Vec<Bits>> = example
        .inputs
        .iter()
        .map(|i| {
            let bytes = ElemTy::parse(&i.ty).ok()?.bytes();
            Some((i.array, i.offset, bytes as u8, i.value.bits?))
        })
        .collect();
    let Some(input) = input else {
        return Confirmed::Unknown;
    };
    let ran: Vec<Option<Ran>> = subjects.iter().map(|s| execute(s, &input, false)).collect();
    let is_pair = subjects.len() == 2;
    if let (true, Some(Some(reference))) = (is_pair, ran.first())
        && let Some(defect) = reference.covered.outcome.defects.first()
    {
        return Confirmed::Undefined(defect.message.clone());
    }
    let Some(elem) = example.elem else {
        return Confirmed::Unknown;
    };
    let value = |r: &Option<Ran>| {
        let r = r.as_ref()?;
        let bits = r
            .element(example.array, example.offset, elem.bytes())
            .filter(|_| r.is_known());
        bits.map(|b| shown(elem, b))
    };
    let defect = ran
        .last()
        .and_then(|r| r.as_ref()?.covered.outcome.defects.first());
    let optimized = ran.last().and_then(value);
    let reference = match is_pair {
        true => ran.first().and_then(value),
        // A formula is no machine: its value is the real one.
        false => example.reference.clone(),
    };
    let text = |v: &Value| v.text.clone();
    let message = match (&reference, &optimized, defect) {
        (_, _, Some(d)) => format!(
            "on the machine the optimized kernel ends otherwise: {}",
            d.message
        ),
        (Some(x), Some(y), None) if same(x, y) => format!(
            "on the machine both are {}: the difference of the real numbers is lost in rounding",
            x.text
        ),
        (Some(x), Some(y), None) => format!("on the machine: {} and {}", x.text, y.text),
        (None, Some(y), None) if is_pair => format!("on the machine: nothing and {}", text(y)),
        (Some(x), None, None) => format!("on the machine: {} and nothing", text(x)),
        _ => return Confirmed::Unknown,
    };
    let differs = match (&reference, &optimized) {
        (Some(x), Some(y)) => !same(x, y),
        (x, y) => x.is_some() != y.is_some(),
    };
    Confirmed::Ran(Machine {
        reference,
        optimized,
        differs,
        message,
    })
}

/// True for one number: zeros of both signs are one.
fn same(x: &Value, y: &Value) -> bool {
    match (x.approx, y.approx) {
        (Some(a), Some(b)) => a == b && (x.bits == y.bits || a == 0.0 || x.bits.is_none()),
        _ => x.text == y.text,
    }
}

/// Bits as a value of reports: a float by the fewest digits that tell it from others.
pub(crate) fn shown(elem: ElemTy, bits: u64) -> Value {
    let ElemTy::Float(fmt) = elem else {
        return text::bits(bits, Some(elem));
    };
    let approx = number::to_double(fmt, bits);
    let text = match fmt {
        Fmt::F64 => approx.to_string(),
        _ => (approx as f32).to_string(),
    };
    let approx = approx.is_finite().then_some(approx);
    Value {
        text,
        approx,
        bits: Some(bits),
    }
}
