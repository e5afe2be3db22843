//! Where one barrier would mend the races of one root.
//!
//! Problem: each race of a missing barrier says that a barrier between its two accesses would order them, and people want to
//! know the one place that mends all. Places between the accesses are tried, the nearest to the later access first: a
//! barrier of all threads is written there into the text, and the kernel is judged again. A line of the source may have become
//! many instructions at many places, of which a barrier before the line stands before each first one.
//!
//! Sound: a place is named only if the kernel with the barrier has none of these races, no defect that it had not before, and
//! nothing that is open. That the values are those that were meant is not claimed, nor that a compiler leaves the other
//! instructions where they are.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::answer::{DefectKind, Finding, Report, Site, Verdict};
use crate::diag::{Source, Span};
use crate::input::{self, File, Files, Lowered};
use crate::kernel::{Kernel, Pc};
use crate::spec::{KernelSpec, Layers, Which};
use crate::work;

/// Roots of one kernel that are looked at.
const ROOTS: usize = 3;

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
    let Ok(Lowered { kernel, .. }) = input::lower(files, spec) else {
        return;
    };
    let Some((_, _, ran)) = report.kernels().next() else {
        return;
    };
    // A barrier counts whole warps.
    let threads: u32 = ran.block.iter().product();
    let threads = threads.next_multiple_of(32);
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
        let found = places(first, &kernel).into_iter().find(|place| {
            if limits.reached().is_some() {
                return false;
            }
            let tried = || race(&with_barrier(spec, &kernel, &place.at, threads)?);
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
    /// Where it is written, in bytes, in ascending order.
    at: Vec<u32>,
    /// What people are told of it.
    words: String,
}

/// Places that could order the two accesses of a race, the likeliest first.
fn places(f: &Finding<DefectKind>, kernel: &Kernel) -> Vec<Place> {
    let [a, b] = &f.sites[..] else {
        return Vec::new();
    };
    let at = |s: &Site| s.at.as_ref().map(|(_, span)| *span);
    let (Some(x), Some(y)) = (at(a), at(b)) else {
        return Vec::new();
    };
    let [(first, x), (last, y)] = match x.start <= y.start {
        true => [(a, x), (b, y)],
        false => [(b, y), (a, x)],
    };
    match (own(first), own(last)) {
        (None, None) => of_text(&kernel.source.text, (first, x), (last, y)),
        (Some(first), Some(last)) => of_source(kernel, &first, &last),
        _ => Vec::new(),
    }
}

/// The line of the source that a place belongs to, of the kernel itself.
fn own(site: &Site) -> Option<(String, u32)> {
    let (file, line) = site.source.as_ref()?.own();
    Some((file.to_string(), line))
}

/// Places between instructions of a text that has no source.
fn of_text(text: &str, (first, x): (&Site, Span), (last, y): (&Site, Span)) -> Vec<Place> {
    let is_between = x.start < y.start
        && text
            .get(x.end as usize..y.start.max(x.end) as usize)
            .is_some_and(is_straight);
    let between = format!("between lines {} and {}", first.line, last.line);
    let place = |at: u32, words: String| Place {
        at: vec![at],
        words,
    };
    let [before_last, behind_first] = match is_between {
        true => [between.clone(), between],
        false => [
            format!("before line {}", last.line),
            format!("behind line {}", first.line),
        ],
    };
    vec![
        place(before(text, y.start), before_last),
        place(after(text, x.end), behind_first),
        // A loop comes back to the first access behind the last one.
        place(after(text, y.end), format!("behind line {}", last.line)),
        place(before(text, x.start), format!("before line {}", first.line)),
    ]
}

/// Places before a line of the source. A line may stand in the text many times, and a barrier before it stands before each
/// of its first instructions: what is inlined into a line belongs to it, and is not cut.
fn of_source(kernel: &Kernel, first: &(String, u32), last: &(String, u32)) -> Vec<Place> {
    let lines = (0..kernel.insts.len()).map(|pc| {
        let line = kernel.source_line(Pc(pc as u32))?;
        let (file, line) = line.own();
        Some((file.to_string(), line))
    });
    let lines: Vec<Option<(String, u32)>> = lines.collect();
    let starts = |line: &(String, u32)| -> Vec<u32> {
        let is_here = |pc: usize| lines[pc].as_ref() == Some(line);
        let begins = (0..lines.len()).filter(|&pc| is_here(pc) && (pc == 0 || !is_here(pc - 1)));
        let bytes = begins.map(|pc| kernel.span(Pc(pc as u32)).start);
        let mut at: Vec<u32> = bytes.map(|at| before(&kernel.source.text, at)).collect();
        at.sort_unstable();
        at.dedup();
        at
    };
    let words = match first.0 == last.0 && first.1 < last.1 {
        true => format!("between lines {} and {}", first.1, last.1),
        false => format!("before line {}", last.1),
    };
    let mut out = vec![Place {
        at: starts(last),
        words,
    }];
    if first != last {
        out.push(Place {
            at: starts(first),
            words: format!("before line {}", first.1),
        });
    }
    out.retain(|place| !place.at.is_empty());
    out
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

/// The kernel's file with a barrier of all threads at a place: one that some threads do not reach would be no
/// `__syncthreads()`.
fn with_barrier(spec: &KernelSpec, kernel: &Kernel, at: &[u32], threads: u32) -> Option<Files> {
    let mut text = String::with_capacity(kernel.source.text.len() + 32 * at.len());
    let mut from = 0;
    for &at in at {
        text.push_str(kernel.source.text.get(from..at as usize)?);
        text.push_str(&format!(" bar.sync 0, {threads}; "));
        from = at as usize;
    }
    text.push_str(kernel.source.text.get(from..)?);
    let files = Files::new();
    let source = Source::new(kernel.source.name.clone(), text).ok()?;
    let file = Arc::into_inner(input::parse(Arc::new(source)).ok()?)?;
    // Keys may be names of its source.
    let path = Some(spec.file.clone());
    let file = Arc::new(File { path, ..file });
    files.insert_built(&spec.file, &spec.build, Ok(file));
    Some(files)
}

/// The advice in the words of the language of the source.
fn sentence(f: &Finding<DefectKind>, place: &Place, members: usize) -> String {
    let file = f.sites.first().and_then(own).map(|(file, _)| file);
    let barrier = match file.as_deref().map(Path::new).map(Path::extension) {
        Some(Some(ending)) if ending == "py" => "tl.debug_barrier()",
        Some(_) => "__syncthreads()",
        None => "bar.sync 0",
    };
    let mended = match members {
        1 => "this race is gone".to_string(),
        2 => "both of this cause are gone".to_string(),
        n => format!("all {n} of this cause are gone"),
    };
    format!(
        "put `{barrier}` {}, where no thread may miss it: with it {mended}",
        place.words
    )
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
