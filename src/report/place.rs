//! Where something stands: for people, and for services that mark lines of files.

use std::fmt::Write;
use std::path::{Component, Path, PathBuf};

use crate::answer::{Report, Site};
use crate::diag::foreign::visible;

/// A place on one line.
pub(super) fn place(site: &Site) -> String {
    let mut out = format!(
        "{}:{}: {}",
        visible(&site.file),
        site.line,
        visible(&site.text)
    );
    if let Some(source) = &site.source {
        let (file, line) = source.own();
        let _ = write!(out, ", from {}:{line}", visible(file));
    }
    out
}

/// A line of a file that a service can mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot<'a> {
    /// The file as it was named, or as the `.file` of the PTX names the source.
    pub file: &'a str,
    /// The PTX that names the source.
    named_by: Option<&'a str>,
    /// Line, from 1.
    pub line: u32,
    /// The first column, from 1, and how many characters are meant, where that is known.
    pub columns: Option<(u32, usize)>,
}

impl<'a> Spot<'a> {
    /// A line as a whole.
    pub(super) fn line(file: &'a str, line: u32) -> Spot<'a> {
        Spot {
            file,
            named_by: None,
            line: line.max(1),
            columns: None,
        }
    }

    /// The line of the PTX.
    pub(super) fn ptx(site: &'a Site) -> Spot<'a> {
        Spot {
            columns: Some((site.column.max(1), site.text.chars().count().max(1))),
            ..Spot::line(&site.file, site.line)
        }
    }

    /// The line of the source that the PTX was compiled from, or of the PTX where it names none.
    pub(super) fn source(site: &'a Site) -> Spot<'a> {
        match &site.source {
            Some(source) => {
                let (file, line) = source.own();
                Spot {
                    named_by: Some(&site.file),
                    ..Spot::line(file, line)
                }
            }
            None => Spot::ptx(site),
        }
    }

    /// The kernels of a report, the optimized one first: the place of what is about no line.
    pub(super) fn kernels(report: &'a Report) -> Vec<Spot<'a>> {
        let kernels = report.kernels();
        let mut all: Vec<Spot> = kernels
            .map(|(_, _, k)| Spot::line(&k.file, k.line))
            .collect();
        all.reverse();
        all
    }

    /// `FILE:LINE`, for people.
    pub(super) fn shown(self) -> String {
        format!("{}:{}", visible(&self.path()), self.line)
    }

    /// The file as services find it: relative to the folder of the repository, which is the working directory unless GitHub
    /// names another; one that is outside of it stays as it is named. A compiler that ran in the folder of its source names
    /// it by its last part alone: it is looked for beside the PTX too.
    pub(super) fn path(self) -> String {
        let Ok(here) = std::env::current_dir() else {
            return self.file.to_string();
        };
        let named = std::env::var_os("GITHUB_WORKSPACE");
        let top = named.as_deref().map(Path::new);
        let top = top.filter(|top| here.starts_with(top)).unwrap_or(&here);
        let path = flat(&here.join(self.beside().unwrap_or(self.file.into())));
        match path.strip_prefix(top).ok().and_then(Path::to_str) {
            Some(inside) if !inside.is_empty() => inside.to_string(),
            _ => self.file.to_string(),
        }
    }

    /// The file beside the PTX that names it, if it is there and not where its name leads.
    fn beside(self) -> Option<PathBuf> {
        let name = Path::new(self.file);
        let mut parts = name.components();
        let is_below = parts.all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
        let path = Path::new(self.named_by?).with_file_name(name);
        (is_below && !name.exists() && path.exists()).then_some(path)
    }
}

/// A path without the dots that lead up.
fn flat(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}
