//! Where one barrier would mend the races of one root.
//!
//! Problem: each race of a missing barrier says that a barrier between its two accesses would order them, and people want to
//! know the one place that mends all. Places between the accesses are tried, the nearest to the later access first: a
//! barrier is written there into the text, and the kernel is judged again.
//!
//! Sound: a place is named only if the kernel with the barrier has none of these races, no defect that it had not before, and
//! nothing that is open. That the values are those that were meant is not claimed.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::answer::{DefectKind, Finding, Report, Site, Verdict};
use crate::diag::{Source, Span};
use crate::input::{self, Files};
use crate::spec::{Layers, Which};
use crate::work;

/// Roots of one kernel that are looked at, and places of each that are tried.
const ROOTS: usize = 3;
const PLACES: usize = 6;

/// Work of a run that is made again, in the units of a budget: what takes longer is left without advice.
const MOST: u64 = 1 << 20;

/// What tells a defect apart, whatever stands before it on its line.
type Key = (DefectKind, Vec<u32>);

/// Names the place of a barrier that mends all races of a root, as the hint of the first of them.
pub(crate) fn advise(
    report: &mut Report,
    (layers, files): (Layers, &Files),
    start: Instant,
    race: impl Fn(&Files) -> Option<Report>,
) {
    if report.verdict != Verdict::Defective || report.stats.work > MOST {
        return;
    }
    let Ok(specs) = input::launches(layers, Which::Kernel, files) else {
        return;
    };
    let (Ok(options), [spec]) = (layers.options(), &specs[..]) else {
        return;
    };
    let limits = options.limits(start);
    for root in roots(&report.defects) {
        let members: Vec<Key> = root.iter().map(|&i| key(&report.defects[i])).collect();
        let before: Vec<Key> = report.defects.iter().map(key).collect();
        let mends = |after: &Report| {
            let mut left = after.defects.iter().map(key);
            after.verdict != Verdict::Unknown
                && left.all(|k| before.contains(&k) && !members.contains(&k))
        };
        let first = &report.defects[root[0]];
        let found = places(first).into_iter().take(PLACES).find(|place| {
            if limits.reached().is_some() {
                return false;
            }
            let tried = || race(&with_barrier(&spec.file, first, place.at)?);
            work::apart(None, tried)
                .0
                .is_some_and(|after| mends(&after))
        });
        if let Some(place) = found {
            let hint = sentence(first, &place, root.len());
            report.defects[root[0]].hint = Some(hint);
        }
    }
}

fn key(f: &Finding<DefectKind>) -> Key {
    (f.kind, f.sites.iter().map(|s| s.line).collect())
}

/// The races of threads of one CTA by their roots, by their positions.
fn roots(defects: &[Finding<DefectKind>]) -> Vec<Vec<usize>> {
    let mut out: Vec<Vec<usize>> = Vec::new();
    for (i, f) in defects.iter().enumerate() {
        let same = |r: &&mut Vec<usize>| f.cause.is_some() && defects[r[0]].cause == f.cause;
        match out.iter_mut().find(same) {
            Some(root) => root.push(i),
            None => out.push(vec![i]),
        }
    }
    out.retain(|root| {
        let first = &defects[root[0]];
        let mut ctas = first.sites.iter().map(|s| s.cta);
        let cta = ctas.next();
        first.kind == DefectKind::DataRace && first.sites.len() == 2 && ctas.all(|c| Some(c) == cta)
    });
    out.truncate(ROOTS);
    out
}

/// A place for a barrier.
struct Place {
    /// Where it is written, in bytes.
    at: u32,
    /// The access that it stands at, and whether behind it.
    site: Site,
    behind: bool,
    /// Nothing but instructions one after the other stands between the accesses.
    is_between: bool,
}

/// Places that could order the two accesses of a race, the likeliest first.
fn places(f: &Finding<DefectKind>) -> Vec<Place> {
    let at = |s: &Site| s.at.as_ref().map(|(source, span)| (source.clone(), *span));
    let [a, b] = &f.sites[..] else {
        return Vec::new();
    };
    let (Some((source, x)), Some((_, y))) = (at(a), at(b)) else {
        return Vec::new();
    };
    let [(first, x), (last, y)] = match x.start <= y.start {
        true => [(a, x), (b, y)],
        false => [(b, y), (a, x)],
    };
    let is_between = is_straight(source.slice(Span::new(x.end, y.start.max(x.end))));
    let place = |site: &Site, at: u32, behind: bool| Place {
        at,
        site: site.clone(),
        behind,
        is_between: is_between && x.start < y.start,
    };
    let behind = |span: Span| after(&source.text, span.end);
    vec![
        place(last, before(&source.text, y.start), false),
        place(first, behind(x), true),
        // A loop comes back to the first access behind the last one.
        Place {
            is_between: false,
            ..place(last, behind(y), true)
        },
        Place {
            is_between: false,
            ..place(first, before(&source.text, x.start), false)
        },
    ]
}

/// Where the instruction begins that holds a place: its guard stands before it.
fn before(text: &str, at: u32) -> u32 {
    let head = &text.as_bytes()[..(at as usize).min(text.len())];
    let from = head
        .iter()
        .rposition(|b| matches!(b, b';' | b':' | b'{' | b'}' | b'\n'));
    from.map_or(0, |i| i as u32 + 1)
}

/// Where the instruction ends that holds a place.
fn after(text: &str, at: u32) -> u32 {
    let at = (at as usize).min(text.len());
    // A span may hold the semicolon.
    if text.as_bytes()[..at].last() == Some(&b';') {
        return at as u32;
    }
    let end = text.as_bytes()[at..].iter().position(|&b| b == b';');
    end.map_or(at as u32, |i| (at + i + 1) as u32)
}

/// True for text without labels, branches and calls.
fn is_straight(text: &str) -> bool {
    text.lines().all(|line| {
        let code = line.split("//").next().unwrap_or("").trim();
        let word = code.split_whitespace().find(|w| !w.starts_with('@'));
        let word = word.unwrap_or("");
        !code.ends_with(':')
            && !["bra", "brx", "call", "ret", "exit"]
                .iter()
                .any(|w| word.starts_with(w))
    })
}

/// The kernel's file with a barrier at a place.
fn with_barrier(path: &Path, f: &Finding<DefectKind>, at: u32) -> Option<Files> {
    let (source, _) = f.sites.first()?.at.as_ref()?;
    let (head, tail) = source.text.split_at_checked(at as usize)?;
    let text = format!("{head} bar.sync 0; {tail}");
    let files = Files::new();
    let source = Source::new(source.name.clone(), text).ok()?;
    files.insert(path, Ok(input::parse(Arc::new(source)).ok()?));
    Some(files)
}

/// The advice in the words of the language of the source.
fn sentence(f: &Finding<DefectKind>, place: &Place, members: usize) -> String {
    let own = |s: &Site| {
        s.source
            .as_ref()
            .map(|s| (s.own().0.to_string(), s.own().1))
    };
    let ending = own(&place.site).and_then(|(file, _)| {
        let ending = Path::new(&file).extension()?.to_str()?;
        Some(ending.to_string())
    });
    let barrier = match ending.as_deref() {
        Some("py") => "tl.debug_barrier()",
        Some(_) => "__syncthreads()",
        None => "bar.sync 0",
    };
    let line = |s: &Site| own(s).unwrap_or_else(|| (s.file.clone(), s.line));
    let mut lines: Vec<(String, u32)> = f.sites.iter().map(line).collect();
    lines.sort();
    let at = line(&place.site).1;
    let place = match &lines[..] {
        [(one, a), (other, b)] if place.is_between && one == other && a < b => {
            format!("between lines {a} and {b}")
        }
        _ if place.behind => format!("behind line {at}"),
        _ => format!("before line {at}"),
    };
    let mended = match members {
        1 => "this race is gone".to_string(),
        2 => "both of this cause are gone".to_string(),
        n => format!("all {n} of this cause are gone"),
    };
    format!("put `{barrier}` {place}: with it {mended}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_found_around_a_place() {
        let text = "L1: @%p1 st.f32 [a], %f;\n  ld.f32 %f, [a] ;\n}";
        let st = text.find("st").expect("there") as u32;
        assert_eq!(before(text, st), 3);
        assert_eq!(after(text, st), text.find(";").expect("there") as u32 + 1);
        let ld = text.find("ld").expect("there") as u32;
        assert_eq!(&text[before(text, ld) as usize..ld as usize], "  ");
        assert_eq!((before("", 9), after("", 9)), (0, 0));
    }

    #[test]
    fn a_barrier_between_lines_is_one_without_branches() {
        assert!(is_straight(
            ";\n add.f32 a, b, c; // bra\n @%p mov.u32 a, b;\n"
        ));
        assert!(!is_straight("\nL1:\n") && !is_straight("@%p bra L1;"));
    }
}
