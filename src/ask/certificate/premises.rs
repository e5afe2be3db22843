//! What a certificate takes for granted beyond the assumptions of its report.
//!
//! A report shows launch and bindings beside its verdict; a certificate is read for its assumptions. So everything in it
//! that makes its claim smaller is an assumption there too, in one fixed sentence: contents that are given, ranges of
//! integers and numbers, arrays that are scratch, parts of arrays, lists of CTAs. Who replays a certificate makes these
//! sentences again and refuses one that lacks any.

use sha2::{Digest, Sha256};

use crate::answer::{Assumption, AssumptionKind};

use super::{ArrayEntry, Certificate, Fact, FloatFact, Side};

/// Digits of contents that are shown.
const SHOWN: usize = 32;

/// Hexadecimal digits of a hash that are shown.
const OF_HASH: usize = 16;

/// The assumptions, in the order of what they are about.
pub(super) fn of(certificate: &Certificate) -> Vec<Assumption> {
    let arrays = &certificate.arrays;
    let name = |i: u32| arrays.get(i as usize).map_or("", |a| a.name);
    let mut out = Vec::new();
    out.extend(certificate.facts.iter().map(|f| integers(name(f.array), f)));
    out.extend(certificate.floats.iter().map(|f| numbers(name(f.array), f)));
    for (i, a) in arrays.iter().enumerate() {
        out.extend(a.contents.as_deref().map(|digits| contents(a.name, digits)));
        if a.role == Some("scratch") {
            out.push(AssumptionKind::LeftOut.says(format!(
                "what `{}` holds in the end is left out: it is scratch",
                a.name
            )));
        }
        if a.partial {
            out.push(part(certificate, i, a));
        }
    }
    let sides = [
        ("reference", &certificate.reference),
        ("optimized", &certificate.optimized),
    ];
    out.extend(sides.iter().filter_map(|(name, side)| ctas(name, side)));
    out
}

fn integers(name: &str, fact: &Fact) -> Assumption {
    let words = [
        (fact.distinct, ", distinct"),
        (fact.sorted, ", sorted"),
        (fact.pow2, ", pow2"),
    ];
    let also: String = words.iter().filter(|w| w.0).map(|w| w.1).collect();
    AssumptionKind::Fact.says(format!(
        "integers of `{name}` lie in {}..={}{also}",
        fact.least, fact.greatest
    ))
}

fn numbers(name: &str, fact: &FloatFact) -> Assumption {
    AssumptionKind::Fact.says(format!(
        "numbers of `{name}` lie in {}..={}",
        fact.least, fact.greatest
    ))
}

/// What an array holds, by its first bytes and a hash of all that are not zeros at its end.
fn contents(name: &str, digits: &str) -> Assumption {
    let bytes: Vec<u8> = (0..digits.len() / 2)
        .filter_map(|i| u8::from_str_radix(digits.get(2 * i..2 * i + 2)?, 16).ok())
        .collect();
    let hash: String = Sha256::digest(&bytes)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    let shown = match digits {
        "" => "00",
        _ => &digits[..digits.len().min(SHOWN)],
    };
    let more = if digits.len() > SHOWN { "..." } else { "" };
    AssumptionKind::Fact.says(format!(
        "`{name}` holds the bytes {shown}{more} and zeros ({} bytes, SHA-256 {})",
        bytes.len(),
        &hash[..OF_HASH]
    ))
}

fn part(certificate: &Certificate, i: usize, a: &ArrayEntry) -> Assumption {
    let matched = certificate.matched.iter().find(|m| m.array as usize == i);
    let bytes = matched.map_or("", |m| &m.bytes);
    AssumptionKind::LeftOut.says(format!(
        "of `{}` only the bytes {bytes} are compared",
        a.name
    ))
}

fn ctas(name: &str, side: &Side) -> Option<Assumption> {
    let place = |c: &[u32; 3]| format!("{},{},{}", c[0], c[1], c[2]);
    let listed: Vec<String> = side.ctas?.iter().map(place).collect();
    Some(AssumptionKind::LeftOut.says(format!(
        "of the {name} only the CTAs {} are run",
        listed.join(" ")
    )))
}
