//! The page of `volta explain bits`: the identities that keep every bit.

use std::fmt::Write;

use crate::answer::bits::AboutIdentity;

/// Columns of a line.
const COLUMNS: usize = 100;

/// Each identity with its condition and its reason.
pub(super) fn page(all: &[AboutIdentity]) -> String {
    let mut out = String::from(
        "Identities that keep all bits: what `check --bits`, `classes` and `rows` take for the same beyond the same\n\
         operations on the same operands. They hold for who reads floats, for whom any NaN is any other; for who\n\
         reads bits, only of numbers that are no NaN for any input. What is not here does not hold, or is not known.\n",
    );
    for i in all {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "\n{}", i.name);
        for (word, says) in [("where", i.holds), ("because", i.because)] {
            let _ = write!(out, "  {word:<7}");
            let mut at = 9;
            for part in says.split(' ') {
                if at + 1 + part.len() > COLUMNS {
                    let _ = write!(out, "\n         ");
                    at = 9;
                }
                let _ = write!(out, " {part}");
                at += 1 + part.len();
            }
            out.push('\n');
        }
    }
    out
}
