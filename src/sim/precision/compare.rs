//! Where one kernel narrows more than another.
//!
//! Problem: a list of places is long, and most of them are in both kernels. Formats are compared
//! by precision and range together, since neither f16 nor bf16 holds the values of the other. For each
//! format of the optimized kernel the strongest of these is said: the reference has no format this
//! narrow at all; it keeps no sums in one; it computes nothing from values that were rounded to
//! one. Apart from that, how many values are rounded when the kernels run.
//!
//! Not claimed: that a result is less accurate: rounding often can be harmless and rounding once
//! fatal.

use super::{Rounding, Use};
use crate::kernel::{Fmt, Pc};

/// In what the optimized kernel goes further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum More {
    /// The reference narrows to nothing as narrow.
    Narrower,
    /// The reference keeps no sum in anything as narrow.
    Sums,
    /// The reference computes nothing from values as narrow.
    Earlier,
    /// It rounds more values for the same outputs.
    Often,
}

impl More {
    /// The word that reports use.
    pub fn name(self) -> &'static str {
        match self {
            More::Narrower => "narrower",
            More::Sums => "sums",
            More::Earlier => "earlier",
            More::Often => "more-often",
        }
    }
}

/// A difference between the kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub kind: More,
    /// The format.
    pub fmt: Fmt,
    /// A sentence without a full stop.
    pub message: String,
    /// The first place in the optimized kernel.
    pub at: Pc,
}

/// The roundings of a kernel, and how much it computed.
#[derive(Clone, Copy, Debug)]
pub struct Rounded<'a> {
    /// The places.
    pub roundings: &'a [Rounding],
    /// How often a thread executed each instruction.
    pub executed: &'a [u64],
    /// Bytes of output that were written.
    pub bytes: u64,
}

impl Rounded<'_> {
    /// How often threads executed the instruction of a rounding.
    pub fn executions(&self, r: &Rounding) -> u64 {
        self.executed.get(r.pc.0 as usize).copied().unwrap_or(0)
    }

    /// Values that were rounded to `fmt` or narrower.
    fn values(&self, fmt: Fmt) -> u64 {
        let narrow = self.roundings.iter().filter(|r| within(r.fmt, fmt));
        let counts = narrow.map(|r| self.executions(r).saturating_mul(u64::from(r.values)));
        counts.fold(0, u64::saturating_add)
    }

    /// The roundings that happened.
    fn done(&self) -> impl Iterator<Item = &Rounding> {
        self.roundings.iter().filter(|r| self.executions(r) > 0)
    }

    fn has(&self, fmt: Fmt, least: Use) -> bool {
        self.done().any(|r| within(r.fmt, fmt) && r.then >= least)
    }
}

/// Bits of the exponent.
fn exponent(fmt: Fmt) -> u32 {
    match fmt {
        Fmt::F64 => 11,
        Fmt::F32 | Fmt::Bf16 | Fmt::Tf32 | Fmt::Ue8m0 => 8,
        Fmt::F16 | Fmt::E5m2 => 5,
        Fmt::E4m3 => 4,
        Fmt::E3m2 => 3,
        Fmt::E2m3 | Fmt::E2m1 => 2,
    }
}

/// Does `a` hold no more than `b`, in precision and in range?
fn within(a: Fmt, b: Fmt) -> bool {
    a.precision() <= b.precision() && exponent(a) <= exponent(b)
}

/// In what the optimized kernel narrows more than the reference, by format from the narrowest.
pub fn compare(reference: Rounded, optimized: Rounded) -> Vec<Finding> {
    let mut formats: Vec<Fmt> = optimized.done().map(|r| r.fmt).collect();
    formats.sort_unstable_by_key(|f| (f.precision(), exponent(*f), *f));
    formats.dedup();
    let mut out = Vec::new();
    for fmt in formats {
        let own = |least: Use| optimized.done().find(|r| r.fmt == fmt && r.then >= least);
        let name = fmt.name();
        let fresh = |least| own(least).filter(|_| !reference.has(fmt, least));
        let most = [Use::Summed, Use::Computed, Use::Stored].into_iter();
        let gravest = most.filter_map(own).next();
        let (kind, at, message) = if let Some(r) = fresh(Use::Stored).and(gravest) {
            let how = match r.then {
                Use::Summed => "keeps sums in",
                Use::Computed => "computes with values rounded to",
                Use::Stored => "rounds results to",
            };
            let bits = fmt.precision();
            let text = format!(
                "the optimized kernel {how} {name}, with a precision of {bits} bits, and the \
                 reference in no format this narrow"
            );
            (More::Narrower, r.pc, text)
        } else if let Some(r) = fresh(Use::Summed) {
            let text = format!(
                "the optimized kernel keeps sums in {name}, and the reference none in a format \
                 this narrow"
            );
            (More::Sums, r.pc, text)
        } else if let Some(r) = fresh(Use::Computed) {
            let text = format!(
                "the optimized kernel computes with values that it has rounded to {name}; the \
                 reference rounds to a format this narrow only what it stores"
            );
            (More::Earlier, r.pc, text)
        } else {
            match often(reference, optimized, fmt) {
                Some(text) => match own(Use::Stored) {
                    Some(r) => (More::Often, r.pc, text),
                    None => continue,
                },
                None => continue,
            }
        };
        out.push(Finding {
            kind,
            fmt,
            message,
            at,
        });
    }
    out
}

/// Are more values rounded, for each byte of output?
fn often(reference: Rounded, optimized: Rounded, fmt: Fmt) -> Option<String> {
    let (a, b) = (reference.values(fmt), optimized.values(fmt));
    let more = u128::from(b) * u128::from(reference.bytes.max(1))
        > u128::from(a) * u128::from(optimized.bytes.max(1));
    let name = fmt.name();
    let outputs = match reference.bytes == optimized.bytes {
        true => String::new(),
        false => format!(
            ", for {} and {} bytes of output",
            optimized.bytes, reference.bytes
        ),
    };
    more.then(|| {
        format!(
            "the optimized kernel rounds {b} values to {name} or narrower, the reference {a}{outputs}"
        )
    })
}
