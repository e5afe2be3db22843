//! The directives that every module begins with.
//!
//! Source: PTX ISA 9.0, sections 11.1.1 to 11.1.3 and the table of its release notes. A version or a target that
//! was never released is an error; one that is newer than this table is read, and a note says so: what it
//! adds is an unknown opcode where it is used.

use super::error::{LowerError, LowerWarning};
use crate::diag::{Span, visible};
use crate::ptx::{ItemKind, Module};

/// The last minor number of each major one, from 1.
const MINORS: [u32; 9] = [5, 3, 2, 3, 0, 5, 8, 8, 0];

/// Targets by number.
const TARGETS: [u32; 31] = [
    10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89,
    90, 100, 101, 103, 110, 120, 121,
];

/// The first target with features of its own (`a`), and the first of a family (`f`). From the latter on, numbers
/// between those of the table are released later than higher ones.
const FIRST_OWN: u32 = 90;
const FIRST_FAMILY: u32 = 100;

/// Words that stand beside targets.
const PLATFORM: [&str; 4] = [
    "texmode_unified",
    "texmode_independent",
    "debug",
    "map_f64_to_f32",
];

/// Whether something was released.
enum Release {
    Known,
    Newer,
    Never,
}

/// What is wrong with the header of a module, and what of it is newer than this table.
pub(super) fn check(m: &Module) -> (Vec<LowerError>, Vec<LowerWarning>) {
    let (mut errors, mut warnings) = (Vec::new(), Vec::new());
    let mut judge = |release, directive: &'static str, text: String, span: Span| match release {
        Release::Known => {}
        Release::Newer => warnings.push(LowerWarning::Newer { text, span }),
        Release::Never => errors.push(LowerError::Header {
            directive,
            text,
            span,
        }),
    };
    for item in &m.items {
        match item.kind {
            ItemKind::Version { major, minor } => {
                let text = format!(".version {major}.{minor}");
                judge(version(major, minor), "version", text, item.span);
            }
            ItemKind::Target(words) => {
                for &word in &m[words] {
                    let word = m.text(word);
                    let text = format!(".target {}", visible(word));
                    judge(target(word), "target", text, item.span);
                }
            }
            ItemKind::AddressSize(bits) => {
                let release = match bits {
                    32 | 64 => Release::Known,
                    _ => Release::Never,
                };
                let text = format!(".address_size {bits}");
                judge(release, "address_size", text, item.span);
            }
            _ => {}
        }
    }
    (errors, warnings)
}

fn version(major: u32, minor: u32) -> Release {
    let newest = MINORS.len() as u32;
    let last = (major as usize).checked_sub(1).and_then(|i| MINORS.get(i));
    match last {
        Some(&last) if minor <= last => Release::Known,
        Some(_) if major == newest => Release::Newer,
        None if major > newest && major <= newest + 10 => Release::Newer,
        _ => Release::Never,
    }
}

fn target(word: &str) -> Release {
    if PLATFORM.contains(&word) {
        return Release::Known;
    }
    let Some(name) = word.strip_prefix("sm_") else {
        return Release::Never;
    };
    let digits = name.trim_end_matches(['a', 'f']);
    let suffix = &name[digits.len()..];
    let Ok(number) = digits.parse::<u32>() else {
        return Release::Never;
    };
    let fits = match suffix {
        "" => true,
        "a" => number >= FIRST_OWN,
        "f" => number >= FIRST_FAMILY,
        _ => false,
    };
    let newest = TARGETS[TARGETS.len() - 1];
    match (fits, TARGETS.contains(&number)) {
        (true, true) => Release::Known,
        (true, false) if number > FIRST_FAMILY && number < 10 * newest => Release::Newer,
        _ => Release::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases() {
        let known = |v| matches!(v, Release::Known);
        assert!(
            [(1, 4), (4, 3), (6, 5), (8, 7), (9, 0)]
                .iter()
                .all(|&(a, b)| known(version(a, b)))
        );
        assert!(matches!(version(9, 3), Release::Newer));
        assert!(
            [(0, 9), (5, 1), (99, 99)]
                .iter()
                .all(|&(a, b)| matches!(version(a, b), Release::Never))
        );
        assert!(
            ["sm_80", "sm_90a", "sm_100f", "debug"]
                .iter()
                .all(|t| known(target(t)))
        );
        assert!(
            ["sm_140a", "sm_107", "sm_107a", "sm_102f"]
                .iter()
                .all(|t| matches!(target(t), Release::Newer))
        );
        assert!(
            ["foo", "sm_", "sm_81", "sm_80a", "sm_90f", "sm_100af"]
                .iter()
                .all(|t| matches!(target(t), Release::Never))
        );
    }
}
