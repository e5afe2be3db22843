//! Can the optimized kernel overflow where the reference does not?
//!
//! Over the reals `exp(x) / sum(exp(x))` is the softmax with or without its maximum subtracted, and a sum in f16 is a
//! sum. So a pair that is equivalent is executed on inputs that are large, and where an element of the optimized kernel
//! is infinite or NaN that is a number in the reference, the warning `range` shows it. It is shown, not guessed: both
//! kernels ran on the input.
//!
//! Not claimed: that there is no such input where none was found; kernels above a size are not executed.

use crate::answer::{Finding, Part, WarningKind};
use crate::decide::goal::is_compared;
use crate::explain::text;
use crate::grid::Subject;
use crate::number::{self, Decoded};
use crate::sim::Stats;
use crate::spec::ElemTy;
use crate::term::ArrayId;

use super::confirm::shown;
use super::execute::{Ran, execute};
use super::limits::LIMITS;
use super::sample::{LARGE, everywhere, length};

/// The warning about a pair of kernels that is equivalent.
pub(crate) fn range(subjects: &[Subject<'_>], stats: &[Stats]) -> Option<Finding<WarningKind>> {
    let [reference, optimized] = subjects else {
        return None;
    };
    if stats.iter().any(|s| s.thread_instructions > LIMITS.range) {
        return None;
    }
    for law in &LARGE {
        let Some(input) = everywhere(reference, law) else {
            continue;
        };
        let ran = [reference, optimized].map(|s| execute(s, &input, false).filter(Ran::is_known));
        let [Some(x), Some(y)] = ran else { continue };
        if let Some((element, x, y)) = overflow(reference, [&x, &y]) {
            let message = format!(
                "it can overflow where the reference does not: on inputs {} {element} is {y}, in the reference {x}",
                law.name
            );
            return Some(Finding::new(Part::Optimized, WarningKind::Range, message));
        }
    }
    None
}

/// The first element that is a number in the reference alone: its name and both values.
fn overflow(subject: &Subject<'_>, [x, y]: [&Ran; 2]) -> Option<(String, String, String)> {
    let arrays = subject.arrays.0.iter().enumerate();
    for (i, a) in arrays.filter(|(_, a)| is_compared(a)) {
        let (id, Some(elem @ ElemTy::Float(fmt))) = (ArrayId(i as u32), a.elem) else {
            continue;
        };
        let bytes = elem.bytes();
        let finite = |b: u64| {
            !matches!(
                number::decode(fmt, b).value,
                Decoded::Nan | Decoded::Infinite
            )
        };
        for off in (0..length(subject, i)).step_by(bytes as usize) {
            let [x, y] = [x, y].map(|r| r.element(id, off, bytes));
            if let (Some(x), Some(y)) = (x, y)
                && finite(x)
                && !finite(y)
            {
                let name = text::element(subject.arrays, id, off, bytes);
                return Some((name, shown(elem, x).text, shown(elem, y).text));
            }
        }
    }
    None
}
