//! How a question of the command line is asked: at its sizes, and at those that it proposes.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use volta::answer::{Answer, ErrorKind, Failure, coverage};
use volta::ask::{self, Held};
use volta::instances;
use volta::spec::{Layers, Settings, Sizes, limits};
use volta::spec_file::SpecFile;

use super::Question;
use super::command_lines::{self, Line};
use super::shared::Flags;
use crate::{given, spinner};

/// The answer to the question of a command, at each of its sizes.
pub(crate) fn answer(lines: &[Line], name: &'static str) -> Result<Answer, Failure> {
    judged(lines, name, |sizes, judge| {
        instances::answer(name, sizes, judge)
    })
}

/// The same with those at the sizes that its thin coverage proposes.
pub(crate) fn covered(lines: &[Line], name: &'static str) -> Result<Answer, Failure> {
    let usage = |message: String| Failure::new(ErrorKind::Usage, message);
    let [line] = lines else {
        let message = "--cover chooses the sizes itself: leave the lists of sizes out";
        return Err(usage(message.to_string()));
    };
    let mut first = answer(lines, name)?;
    let proposals = coverage::proposals(&first.report);
    if proposals.is_empty() {
        let none = "--cover: no other size is proposed".to_string();
        instances::note(&mut first, vec![none]);
        return Ok(first);
    }
    let argv: Vec<OsString> = std::env::args_os().collect();
    let more = command_lines::proposed(&argv, line, &proposals);
    let more = more.map_err(|e| usage(format!("--cover: {e}")))?;
    let parts = judged(&more, name, instances::each)?;
    instances::cover(name, first, &proposals, parts)
}

/// Judges an instance by its number.
type Judge<'a> = &'a (dyn Fn(usize) -> Result<Answer, Failure> + Sync);

/// What is made of the answers of all instances.
fn judged<T>(
    lines: &[Line],
    name: &'static str,
    then: impl FnOnce(&[Sizes], Judge) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let questions = lines.iter().filter_map(|l| l.cli.command.question());
    let questions: Vec<&Question> = questions.collect();
    let flags: Vec<&dyn Flags> = questions.iter().map(|q| q.flags()).collect();
    let Some(question) = questions.first().map(|q| q.asked()) else {
        let message = "there is no instance to run";
        return Err(Failure::new(ErrorKind::Usage, message));
    };
    let files = given(flags.iter().flat_map(|f| f.common().files));
    let specs = Specs::default();
    let asked = |i: usize| -> Result<Vec<Settings>, Failure> {
        let sizes = &lines[i].sizes;
        let mut layers = specs.settings(flags[i].common().bind.spec.as_deref(), sizes)?;
        let own = flags[i].settings();
        let mut own = own.map_err(|message| Failure::new(ErrorKind::Usage, message))?;
        own.sizes = sizes.clone();
        layers.push(own);
        let over = lines[i]
            .over
            .as_ref()
            .and_then(|cli| cli.command.question());
        if let Some(over) = over.map(|q| q.flags().settings()) {
            let mut over = over.map_err(|message| Failure::new(ErrorKind::Usage, message))?;
            // Which kernels there are is said below.
            over.formula = None;
            layers.push(over);
        }
        Ok(layers)
    };
    super::number_args::apart(flags.iter().filter_map(|f| f.targets().certificate))?;
    let bar = spinner(name);
    // Asks about some of the instances; what is written is of the first.
    let ask = |all: &[usize]| {
        let instances = all.iter().map(|&i| asked(i));
        let instances: Vec<Vec<Settings>> = instances.collect::<Result<_, _>>()?;
        let instances: Vec<Vec<&Settings>> = instances.iter().map(|i| i.iter().collect()).collect();
        let instances: Vec<Layers> = instances.iter().map(|i| Layers(i)).collect();
        let first = all.first().filter(|&&i| lines[i].over.is_none());
        let first = first.map(|&i| flags[i].targets());
        let held = Held {
            to: first.unwrap_or_default(),
            ..Held::new(&files)
        };
        question.ask(&instances, &held)
    };
    let smallest = (0..lines.len()).min_by_key(|&i| lines[i].sizes.total());
    let judge = |i: usize| match question.sizes() {
        ask::Sizes::BesideSmallest => ask(&[i, smallest.unwrap_or(i)]),
        ask::Sizes::Each | ask::Sizes::Together => ask(&[i]),
    };
    // The memory limit of a command that does one thing is that of the process.
    let limit = |layers: Vec<Settings>| layers.iter().rev().find_map(|s| s.memory_limit);
    limits::limit_process(asked(0).ok().and_then(limit));
    let together: Vec<usize> = (0..lines.len()).collect();
    let sizes: Vec<Sizes> = lines.iter().map(|l| l.sizes.clone()).collect();
    let done = match question.sizes() {
        ask::Sizes::Together => then(&[Sizes::default()], &|_| ask(&together)),
        ask::Sizes::Each | ask::Sizes::BesideSmallest => then(&sizes, &judge),
    };
    bar.finish_and_clear();
    done
}

/// Spec files by path, each read once.
#[derive(Default)]
pub(crate) struct Specs(Mutex<HashMap<PathBuf, SpecFile>>);

impl Specs {
    /// The layers of settings of one instance.
    pub(crate) fn settings(
        &self,
        path: Option<&Path>,
        sizes: &Sizes,
    ) -> Result<Vec<Settings>, Failure> {
        let Some(path) = path else {
            return Ok(Vec::new());
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match known.get(path) {
            Some(file) => file.clone(),
            None => {
                let file = SpecFile::read(path)?;
                known.insert(path.to_path_buf(), file.clone());
                file
            }
        };
        drop(known);
        if file.lists()?.names().any(|n| !sizes.0.contains_key(n)) {
            let message = "a spec file that --for chooses cannot have `for`";
            return Err(Failure::new(ErrorKind::Manifest, message));
        }
        file.settings(sizes)
    }
}
