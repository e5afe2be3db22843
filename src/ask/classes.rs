//! `volta classes`: which of these kernels or configurations leave the same bits?
//!
//! Problem: a tuner may choose any configuration of a class without changing a bit. Each kernel is compared, as `check
//! --bits` does, with the first one of each class so far; what is the same joins it, and having the same bits is
//! transitive. Each kernel is run once, whatever it is compared with. What joins none opens a class, with what showed that it differs from each other one, or with
//! nothing where that stayed open.
//!
//! Sound: a class is proved member by member. That two classes differ is claimed only where an input shows it.

use std::time::Instant;

use indexmap::IndexMap;

use crate::answer::{
    self, Assumption, Class, Command, ErrorKind, Failure, Part, Report, UnknownKind, Verdict,
};
use crate::check::{Among, check_among, counted};
use crate::found::{self, join};
use crate::grid::prepared::Runs;
use crate::input::Files;
use crate::spec::{Layers, Settings};

/// Fewest kernels that are compared.
const FEWEST: usize = 2;

/// Sorts kernels into classes of the same bits.
pub fn classes(layers: Layers, files: &Files) -> Result<Report, Failure> {
    let memory = layers.options()?.memory_limit;
    counted(layers, || classes_of(layers, files, &Runs::within(memory)))
}

/// The same with the runs of the kernels, each of which is run once.
fn classes_of(layers: Layers, files: &Files, runs: &Runs) -> Result<Report, Failure> {
    let start = Instant::now();
    let mut options = layers.options()?;
    options.bits = true;
    let named = layers.0.iter().rev().find(|l| !l.kernels.is_empty());
    let kernels = named.map_or(&[][..], |l| &l.kernels);
    if kernels.len() < FEWEST {
        let message = "classes are of two kernels or more";
        return Err(Failure::new(ErrorKind::Usage, message));
    }
    let compare = |a: usize, b: usize| {
        let pair = Settings {
            reference: Some(kernels[a].clone()),
            optimized: Some(kernels[b].clone()),
            bits: Some(true),
            ..Settings::default()
        };
        let mut all: Vec<&Settings> = layers.0.to_vec();
        all.push(&pair);
        let among = Among {
            pair: [a as u32, b as u32],
            of: kernels.len() as u32,
        };
        check_among(Layers(&all), files, Some(runs), Some(among))
    };
    let mut report = found::begin(Command::Classes, Vec::new(), &options);
    let mut sorted: Vec<Class> = vec![Class::of(0)];
    for i in 1..kernels.len() {
        let mut differs = IndexMap::new();
        let mut joined = false;
        for (position, class) in sorted.iter_mut().enumerate() {
            let of = class.members.first().copied().unwrap_or(0);
            let pair = compare(of, i)?;
            let verdict = pair.verdict;
            let example = pair.counterexample.clone();
            add(&mut report, pair);
            if verdict == Verdict::Equivalent {
                class.members.push(i);
                joined = true;
                break;
            }
            let example = example.filter(|_| verdict == Verdict::NotEquivalent);
            let example = example.map(|mut e| {
                // A class is the reference of one pair and the optimized kernel of another: positions say which is meant.
                e.message = e.message.replace("the reference", &format!("kernel {of}"));
                e.message = (e.message).replace("the optimized kernel", &format!("kernel {i}"));
                e
            });
            differs.insert(position.to_string(), example);
        }
        if !joined {
            sorted.push(Class {
                members: vec![i],
                differs,
            });
        }
    }
    mirror(&mut sorted);
    report.verdict = match () {
        () if !report.defects.is_empty() => Verdict::Defective,
        () if shows_difference(&sorted) => Verdict::NotEquivalent,
        () if sorted.len() == 1 => Verdict::Equivalent,
        () => Verdict::Unknown,
    };
    if report.verdict == Verdict::Unknown && report.unknown.is_empty() {
        let message = "whether these kernels have the same bits stayed open";
        let finding = answer::Finding::new(Part::Pair, UnknownKind::DifferentOrder, message);
        report.unknown.push(finding);
    }
    if report.verdict != Verdict::Unknown {
        report.unknown.clear();
    }
    report.classes = Some(sorted);
    report.stats.seconds.total = start.elapsed().as_secs_f64();
    Ok(report)
}

/// True if some pair was shown to differ.
fn shows_difference(sorted: &[Class]) -> bool {
    sorted
        .iter()
        .any(|c| c.differs.values().any(Option::is_some))
}

/// Says of each class what the later ones said of it.
fn mirror(sorted: &mut [Class]) {
    for later in 0..sorted.len() {
        for earlier in 0..later {
            let example = sorted[later].differs.get(&earlier.to_string()).cloned();
            let turned = example.flatten().map(|mut e| {
                std::mem::swap(&mut e.reference, &mut e.optimized);
                e
            });
            sorted[earlier].differs.insert(later.to_string(), turned);
        }
    }
}

/// Adds what one comparison found to the whole.
fn add(report: &mut Report, pair: Report) {
    report.inputs.files.extend(pair.inputs.files);
    join::findings(&mut report.defects, pair.defects);
    join::findings(&mut report.warnings, pair.warnings);
    join::findings(&mut report.unknown, pair.unknown);
    Assumption::unite(&mut report.assumptions, pair.assumptions);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kernels that are all different are compared pair by pair, and each of them is run once.
    #[test]
    fn each_kernel_is_run_once() {
        let file = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../kernels/configurations/orders_welford.ptx"
        );
        let entries = ["welford_1", "welford_2", "welford_1_swapped", "welford_4"];
        let kernels = entries.map(|e| format!("{{ file = '{file}', entry = '{e}' }}"));
        let text = format!(
            "kernels = [{}]\nthreads = 1\nargs = {{ 0 = 'in:f32[16]', 1 = 'out:f32[2]' }}",
            kernels.join(", ")
        );
        let settings: Settings = toml::from_str(&text).expect("settings");
        let runs = Runs::within(None);
        let report = classes_of(Layers(&[&settings]), &Files::new(), &runs).expect("classes");
        let members: Vec<Vec<usize>> = (report.classes.iter().flatten())
            .map(|c| c.members.clone())
            .collect();
        assert_eq!(members, [vec![0, 2], vec![1], vec![3]]);
        assert_eq!(runs.count(), entries.len());
    }
}
