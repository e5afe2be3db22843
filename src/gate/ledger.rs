//! What each entry of a manifest came to and cost, kept beside the manifest: a verdict or a cost that becomes worse is a line
//! of a diff.
//!
//! A line is an entry: name, verdict, kinds of findings and assumptions, tactics with the elements that each proved, units
//! of work, and the least work that it ever took (`best`), apart by tabs. An entry fails where its verdict, kinds or
//! tactics differ from its line, where its work is above 1.1 times that of the line, and where it has no line; so does a
//! line without an entry. To bless rewrites the lines that fail and those whose work fell by a tenth, and no others: small
//! changes of work add up until they are seen. It lowers `best` and never raises it: an entry above twice its best, and a
//! ledger above 1.25 times the sum of its bests, fail whatever is blessed. What raises a best is a line that a person
//! writes, `reset NAME because ...`, which is marked once it is used; and an `unknown` that is decided begins anew.
//!
//! Work is the same on every machine and for any number of threads ([`crate::work`]). An entry that the clock, memory or an
//! interrupt ended has no work that could be compared: `-`.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write;
use std::path::{Component, Path, PathBuf};

use crate::answer::gate::EntryResult;
use crate::answer::{ErrorKind, Failure, Kind, Report, UnknownKind, Verdict};
use crate::input;
use crate::spec::limits;

/// The verdict of an entry that could not be run.
const ERROR: &str = "error";

/// Work of an entry above that of its line, in percent, that is a regression; and so much less is an improvement.
const DRIFT: u64 = 10;
/// Times its best that an entry may take whatever is blessed.
const MOST_OF_ENTRY: u64 = 2;
/// The sum of all work in percent of the sum of all bests, whatever is blessed.
const MOST_OF_ALL: u128 = 125;

/// The first line of a ledger that is written.
const HEAD: &str =
    "# volta ledger: entry, verdict, kinds, tactics, work, best (volta gate --ledger, --bless)";
/// What marks a line that raised a best.
const USED: &str = " [best ";

/// Where ledgers are kept, and whether they are rewritten.
#[derive(Clone, Debug)]
pub struct Ledgers {
    /// A file, for all entries; or a folder, with the ledger `A/B.ledger` for the entries of each manifest `A/B.toml`, where
    /// `A` is below the folder of the manifest that is run.
    pub path: PathBuf,
    /// Whether lines that fail, or whose work fell, are rewritten.
    pub bless: bool,
}

/// What an entry came to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    verdict: String,
    kinds: BTreeSet<String>,
    tactics: BTreeMap<String, u64>,
    work: Option<u64>,
}

/// An entry as the ledger has it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    name: String,
    seen: Seen,
    best: Option<u64>,
}

/// A line by which a person lets the best of an entry rise.
#[derive(Clone, Debug)]
struct Reset {
    name: String,
    text: String,
}

/// A ledger as its file has it.
#[derive(Clone, Debug, Default)]
struct Ledger {
    /// Comments, which stay as they are.
    comments: Vec<String>,
    resets: Vec<Reset>,
    lines: Vec<Line>,
}

/// Compares the entries of the manifest `root` with their ledgers, and rewrites those where that is asked for. Entries that fail say so themselves;
/// what concerns no entry comes back, a sentence each. `is_whole`: no entry of the manifests was left out.
pub(super) fn hold(
    root: &Path,
    entries: &mut [EntryResult],
    ledgers: &Ledgers,
    is_whole: bool,
) -> Result<Vec<String>, Failure> {
    let mut by_file: BTreeMap<PathBuf, Vec<&mut EntryResult>> = BTreeMap::new();
    let is_folder = ledgers.path.is_dir();
    for entry in entries {
        let path = match is_folder {
            false => ledgers.path.clone(),
            true => {
                let manifest = Path::new(&entry.manifest.file);
                ledgers
                    .path
                    .join(below(root, manifest)?)
                    .with_extension("ledger")
            }
        };
        by_file.entry(path).or_default().push(entry);
    }
    let mut failures = Vec::new();
    for (path, mut entries) in by_file {
        let mut ledger = read(&path, ledgers.bless)?;
        // What an interrupt left open is no result to keep.
        if ledgers.bless && !limits::interrupted() {
            let before = ledger.text();
            ledger.bless(&entries, is_whole);
            let text = ledger.text();
            if text != before {
                std::fs::write(&path, text).map_err(|e| refused(&path, &e.to_string()))?;
            }
        }
        let found = ledger.compare(&mut entries, is_whole);
        failures.extend(
            found
                .into_iter()
                .map(|f| format!("{}: {f}", path.display())),
        );
    }
    Ok(failures)
}

/// Where a manifest stands below the folder of the one that is run.
fn below<'m>(root: &Path, manifest: &'m Path) -> Result<&'m Path, Failure> {
    let folder = root.parent().unwrap_or(Path::new(""));
    let below = manifest.strip_prefix(folder).ok();
    below
        .filter(|p| p.components().all(|c| matches!(c, Component::Normal(_))))
        .ok_or_else(|| {
            let why = format!(
                "it is not below the folder of {}, so a folder of ledgers has no place for it: run it alone, with a ledger \
                 of its own",
                root.display()
            );
            refused(manifest, &why)
        })
}

fn refused(path: &Path, why: &str) -> Failure {
    Failure::new(ErrorKind::File, format!("{}: {why}", path.display()))
}

/// A ledger; one that is to be written may not be there yet.
fn read(path: &Path, bless: bool) -> Result<Ledger, Failure> {
    match (path.exists(), bless) {
        (true, _) => {
            let source = input::text(path)?;
            Ledger::parse(&source.text).map_err(|why| refused(path, &why))
        }
        (false, true) => Ok(Ledger {
            comments: vec![HEAD.to_string()],
            ..Ledger::default()
        }),
        (false, false) => Err(refused(path, "there is no such file; --bless writes it")),
    }
}

impl Seen {
    fn of(entry: &EntryResult) -> Seen {
        let Ok(answer) = &entry.result else {
            return Seen {
                verdict: ERROR.to_string(),
                kinds: BTreeSet::new(),
                tactics: BTreeMap::new(),
                work: None,
            };
        };
        let mut kinds = BTreeSet::new();
        let mut tactics = BTreeMap::new();
        let mut work = Some(0u64);
        let parts = answer.parts.iter().filter_map(|p| p.result.as_ref().ok());
        let mut reports: Vec<&Report> = parts.map(|a| &a.report).collect();
        if reports.is_empty() {
            reports.push(&answer.report);
        }
        for report in reports {
            add_kinds(report, &mut kinds);
            for (tactic, count) in report.outputs.compared().iter().flat_map(|o| &o.by) {
                *tactics.entry(tactic.clone()).or_default() += count;
            }
            let is_cut = |u: &crate::answer::Finding<UnknownKind>| {
                u.kind == UnknownKind::Limit && limits::is_of_the_machine(&u.message)
            };
            work = match report.unknown.iter().any(is_cut) {
                true => None,
                false => work.map(|w| w.saturating_add(report.stats.work)),
            };
        }
        Seen {
            verdict: answer.report.verdict.name().to_string(),
            kinds,
            tactics,
            work,
        }
    }

    /// How it is worse than, or another than, what the ledger has.
    fn differs(&self, old: &Seen) -> Vec<String> {
        let mut out = Vec::new();
        if self.verdict != old.verdict {
            out.push(format!("{} instead of {}", self.verdict, old.verdict));
        }
        let list = |a: &BTreeSet<String>, b: &BTreeSet<String>| {
            let all: Vec<&str> = a.difference(b).map(String::as_str).collect();
            all.join(", ")
        };
        let (new, gone) = (list(&self.kinds, &old.kinds), list(&old.kinds, &self.kinds));
        if !new.is_empty() {
            out.push(format!("{new} is new"));
        }
        if !gone.is_empty() {
            out.push(format!("{gone} is gone"));
        }
        if self.tactics != old.tactics {
            out.push(format!(
                "proved by {} instead of {}",
                tactics(&self.tactics),
                tactics(&old.tactics)
            ));
        }
        if let (Some(now), Some(then)) = (self.work, old.work)
            && is_above(now, then, 100 + DRIFT)
        {
            out.push(format!("{now} units of work instead of {then}"));
        }
        out
    }
}

fn is_above(now: u64, then: u64, percent: u64) -> bool {
    u128::from(now) * 100 > u128::from(then) * u128::from(percent)
}

fn add_kinds(report: &Report, kinds: &mut BTreeSet<String>) {
    let defects = report.defects.iter().map(|f| ("defect", f.kind.name()));
    let warnings = report.warnings.iter().map(|f| ("warning", f.kind.name()));
    let unknown = report.unknown.iter().map(|f| ("unknown", f.kind.name()));
    let denied = report.denied.iter().map(|k| ("denied", k.name()));
    let assumed = report
        .assumptions
        .iter()
        .map(|a| ("assumes", a.kind.name()));
    let all = defects
        .chain(warnings)
        .chain(unknown)
        .chain(denied)
        .chain(assumed);
    kinds.extend(all.map(|(what, kind)| format!("{what}:{kind}")));
}

fn tactics(all: &BTreeMap<String, u64>) -> String {
    let all: Vec<String> = all.iter().map(|(t, n)| format!("{t}:{n}")).collect();
    or_dash(all.join(","))
}

fn or_dash(text: String) -> String {
    match text.is_empty() {
        true => "-".to_string(),
        false => text,
    }
}

fn number(n: Option<u64>) -> String {
    n.map_or("-".to_string(), |n| n.to_string())
}

impl Ledger {
    fn parse(text: &str) -> Result<Ledger, String> {
        let mut out = Ledger::default();
        let mut names = HashSet::new();
        for (i, line) in text.lines().enumerate() {
            let wrong = |why: &str| format!("line {}: {why}", i + 1);
            if line.trim().is_empty() {
                continue;
            }
            if line.starts_with('#') {
                out.comments.push(line.to_string());
                continue;
            }
            if let (Some(rest), false) = (line.strip_prefix("reset "), line.contains('\t')) {
                let Some((name, why)) = rest.split_once(" because ") else {
                    return Err(wrong("a reset says why: `reset NAME because ...`"));
                };
                if why.trim().is_empty() || why.starts_with(USED.trim_start()) {
                    return Err(wrong("a reset says why: `reset NAME because ...`"));
                }
                out.resets.push(Reset {
                    name: name.to_string(),
                    text: line.to_string(),
                });
                continue;
            }
            let line = Line::parse(line).ok_or_else(|| {
                wrong(
                    "not an entry, which has name, verdict, kinds, tactics, work and best, apart by tabs; \
                     --bless writes such lines",
                )
            })?;
            if !names.insert(line.name.clone()) {
                return Err(wrong(&format!("`{}` has two lines", line.name)));
            }
            out.lines.push(line);
        }
        Ok(out)
    }

    fn text(&self) -> String {
        let mut out = String::new();
        let resets = self.resets.iter().map(|r| &r.text);
        for line in self.comments.iter().chain(resets) {
            out += line;
            out.push('\n');
        }
        for line in &self.lines {
            let kinds: Vec<&str> = line.seen.kinds.iter().map(String::as_str).collect();
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "{}\t{}\t{}\t{}\t{}\t{}",
                line.name,
                line.seen.verdict,
                or_dash(kinds.join(",")),
                tactics(&line.seen.tactics),
                number(line.seen.work),
                number(line.best),
            );
        }
        out
    }

    /// Rewrites the lines that fail or whose work fell; those of a whole run are in the order of its entries.
    fn bless(&mut self, entries: &[&mut EntryResult], is_whole: bool) {
        let mut known: HashMap<String, Line> = HashMap::new();
        let mut order: Vec<String> = Vec::new();
        for line in self.lines.drain(..) {
            order.push(line.name.clone());
            known.insert(line.name.clone(), line);
        }
        if is_whole {
            order.clear();
        }
        for entry in entries {
            if is_whole || !known.contains_key(&entry.name) {
                order.push(entry.name.clone());
            }
            let seen = Seen::of(entry);
            let line = match known.remove(&entry.name) {
                Some(old) => old.blessed(seen, &mut self.resets),
                None => Line {
                    name: entry.name.clone(),
                    best: seen.work,
                    seen,
                },
            };
            known.insert(entry.name.clone(), line);
        }
        self.lines
            .extend(order.iter().filter_map(|name| known.remove(name)));
    }

    /// Says of each entry how it differs from its line, and of the whole what concerns no entry.
    fn compare(&self, entries: &mut [&mut EntryResult], is_whole: bool) -> Vec<String> {
        let lines: HashMap<&str, &Line> = self.lines.iter().map(|l| (&*l.name, l)).collect();
        let mut works: HashMap<&str, u64> = self
            .lines
            .iter()
            .filter_map(|l| Some((&*l.name, l.seen.work?)))
            .collect();
        let mut known: HashSet<String> = HashSet::new();
        for entry in entries {
            known.insert(entry.name.clone());
            let seen = Seen::of(entry);
            let mut why = match lines.get(&*entry.name) {
                Some(line) => {
                    if let Some(work) = seen.work {
                        works.insert(&line.name, work);
                    }
                    let mut why = seen.differs(&line.seen);
                    why.extend(line.is_beyond(&seen));
                    why
                }
                None => vec!["it has no line (--bless writes one)".to_string()],
            };
            if why.is_empty() {
                continue;
            }
            why[0].insert_str(0, "ledger: ");
            let why = entry.why.take().into_iter().chain(why);
            entry.why = Some(why.collect::<Vec<_>>().join("; "));
            entry.ok = false;
        }
        let mut out = Vec::new();
        if is_whole {
            let stale = self.lines.iter().filter(|l| !known.contains(&l.name));
            out.extend(stale.map(|l| format!("`{}` is no entry (--bless removes it)", l.name)));
        }
        let best: u128 = self
            .lines
            .iter()
            .filter_map(|l| l.best)
            .map(u128::from)
            .sum();
        let now: u128 = works.values().map(|&w| u128::from(w)).sum();
        if now * 100 > best * MOST_OF_ALL {
            out.push(format!(
                "all entries together take {now} units of work, more than 1.25 times the sum of their bests, {best}; \
                 `reset NAME because ...` lets the best of an entry rise"
            ));
        }
        out
    }
}

impl Line {
    fn parse(text: &str) -> Option<Line> {
        let fields: Vec<&str> = text.split('\t').collect();
        let [name, verdict, kinds, tactics, work, best] = fields[..] else {
            return None;
        };
        let list = |text: &str| -> Vec<String> {
            match text {
                "-" => Vec::new(),
                text => text.split(',').map(str::to_string).collect(),
            }
        };
        let count = |text: String| {
            let (tactic, n) = text.rsplit_once(':')?;
            Some((tactic.to_string(), n.parse().ok()?))
        };
        let number = |text: &str| match text {
            "-" => Some(None),
            text => text.parse().ok().map(Some),
        };
        Some(Line {
            name: name.to_string(),
            seen: Seen {
                verdict: verdict.to_string(),
                kinds: list(kinds).into_iter().collect(),
                tactics: list(tactics)
                    .into_iter()
                    .map(count)
                    .collect::<Option<_>>()?,
                work: number(work)?,
            },
            best: number(best)?,
        })
    }

    /// The line after an entry came to `seen`; as it is where it neither fails nor takes a tenth less.
    fn blessed(self, seen: Seen, resets: &mut [Reset]) -> Line {
        let mut pending = resets
            .iter_mut()
            .filter(|r| r.name == self.name && !r.text.contains(USED));
        if let (Some(best), Some(work)) = (self.best, seen.work)
            && work > best
            && let Some(reset) = pending.next()
        {
            reset.text += &format!("{USED}{best} -> {work}]");
            return Line {
                best: seen.work,
                seen,
                ..self
            };
        }
        let fell = match (seen.work, self.seen.work) {
            (Some(now), Some(then)) => {
                u128::from(now) * 100 < u128::from(then) * u128::from(100 - DRIFT)
            }
            (now, then) => now != then,
        };
        if seen.differs(&self.seen).is_empty() && !fell {
            return self;
        }
        let is_decided = self.seen.verdict == Verdict::Unknown.name()
            && ![Verdict::Unknown.name(), ERROR].contains(&&*seen.verdict);
        let best = match (self.best, seen.work) {
            (Some(best), Some(work)) if !is_decided => Some(best.min(work)),
            (old, now) => now.or(old),
        };
        Line { best, seen, ..self }
    }

    /// That an entry takes more than twice its best.
    fn is_beyond(&self, seen: &Seen) -> Option<String> {
        let (best, now) = (self.best?, seen.work?);
        is_above(now, best, 100 * MOST_OF_ENTRY).then(|| {
            format!(
                "{now} units of work, more than {MOST_OF_ENTRY} times its best, {best}; \
                 `reset {} because ...` lets the best rise",
                self.name
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        Line::parse(text).expect("a line")
    }

    fn with_work(line: &Line, work: u64) -> Seen {
        Seen {
            work: Some(work),
            ..line.seen.clone()
        }
    }

    #[test]
    fn a_ledger_is_read_as_it_was_written() {
        let text = "# about\nreset b because it proves more [best 1 -> 3]\n\
                    a\tequivalent\tassumes:alignment,warning:narrower\tform:2,same-term:6\t120\t100\n\
                    b c\tunknown\tunknown:limit\t-\t-\t-\n";
        let ledger = Ledger::parse(text).expect("a ledger");
        assert_eq!(ledger.text(), text);
        for bad in [
            "a\tequivalent\t-\t-\t1",
            "a\tclean\t-\t-\tmany\t1",
            "reset a",
            "reset a because ",
            "a\tclean\t-\t-\t1\t1\na\tclean\t-\t-\t1\t1",
        ] {
            assert!(Ledger::parse(bad).is_err(), "{bad}");
        }
    }

    /// Drift adds up against the line, which to bless leaves alone; a best never rises without a reset.
    #[test]
    fn a_best_only_falls() {
        let old = line("a\tclean\t-\t-\t100\t100");
        assert!(with_work(&old, 110).differs(&old.seen).is_empty());
        assert!(!with_work(&old, 111).differs(&old.seen).is_empty());
        let more = old.clone().blessed(with_work(&old, 201), &mut []);
        assert_eq!((more.seen.work, more.best), (Some(201), Some(100)));
        assert!(more.is_beyond(&more.seen).is_some());
        assert!(more.is_beyond(&with_work(&old, 200)).is_none());
        for work in [90, 110] {
            assert_eq!(old.clone().blessed(with_work(&old, work), &mut []), old);
        }
        let less = old.clone().blessed(with_work(&old, 50), &mut []);
        assert_eq!((less.seen.work, less.best), (Some(50), Some(50)));
        let mut resets = [Reset {
            name: "a".into(),
            text: "reset a because it looks at both orders".into(),
        }];
        let raised = old.clone().blessed(with_work(&old, 300), &mut resets);
        assert_eq!(raised.best, Some(300));
        assert!(resets[0].text.ends_with(" [best 100 -> 300]"));
        // A reset that was used raises nothing again.
        let again = raised.clone().blessed(with_work(&old, 900), &mut resets);
        assert_eq!(again.best, Some(300));
    }

    #[test]
    fn what_is_decided_begins_anew() {
        let old = line("a\tunknown\tunknown:undecided\t-\t10\t10");
        let seen = line("a\tequivalent\t-\tform:4\t5000\t1").seen;
        assert_eq!(old.blessed(seen, &mut []).best, Some(5000));
        let old = line("a\tequivalent\t-\tform:4\t10\t10");
        let seen = line("a\tunknown\tunknown:undecided\t-\t5000\t1").seen;
        assert_eq!(old.blessed(seen, &mut []).best, Some(10));
    }
}
