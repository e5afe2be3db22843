//! `--spec` files: settings below the flags, and below those the files that they include.
//!
//! Files may be of anyone: each is read once, one that includes itself is an error, and their number is
//! bounded.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::answer::{ErrorKind, Failure, Kind};
use crate::diag::{Diagnostic, Source, Span, visible};
use crate::input;
use crate::spec::layers::Spec;
use crate::spec::{Lists, Settings, Sizes};

/// Files of one specification.
const MOST: usize = 100;

/// Where an include stands.
type IncludeSite = (Arc<Source>, Span);

/// A specification and what it includes, the lowest layer first.
#[derive(Clone, Debug, Default)]
pub struct SpecFile(Vec<Arc<Source>>);

impl SpecFile {
    /// Reads a file and those that it includes.
    pub fn read(path: &Path) -> Result<SpecFile, Failure> {
        let mut files: Vec<(PathBuf, Arc<Source>)> = Vec::new();
        let mut wanted: Vec<(PathBuf, Option<IncludeSite>)> = vec![(path.into(), None)];
        while let Some((path, by)) = wanted.pop() {
            let refuse = |why: String| match &by {
                Some((source, span)) => {
                    let d = Diagnostic::error(ErrorKind::Manifest.name(), why).label(*span, "");
                    Failure::at(ErrorKind::Manifest, source, vec![d])
                }
                None => Failure::new(ErrorKind::Manifest, why),
            };
            let source = match (input::settings_text(&path), &by) {
                (Ok(source), _) => source,
                (Err(e), None) => return Err(e),
                (Err(e), Some(_)) => return Err(refuse(format!("include: {}", e.message()))),
            };
            // One file has one resolved path, whatever links and dots lead to it.
            let real = std::fs::canonicalize(&path).unwrap_or(path.clone());
            if files.iter().any(|(p, _)| *p == real) {
                let name = path.display().to_string();
                return Err(refuse(format!(
                    "include: `{}` is included twice",
                    visible(&name)
                )));
            }
            if files.len() == MOST {
                return Err(refuse(format!("include: more than {MOST} files")));
            }
            let spec = parsed(&source)?;
            let base = path.parent().unwrap_or(Path::new(""));
            // The last of a stack is read first: what is included last lies above the others.
            for include in &spec.include {
                let span = include.span();
                let place = Span::new(span.start as u32, span.end as u32);
                wanted.push((base.join(include.get_ref()), Some((source.clone(), place))));
            }
            files.push((real, source));
        }
        Ok(SpecFile(files.into_iter().rev().map(|f| f.1).collect()))
    }

    /// The lists of sizes that the files give, those of higher layers first.
    pub fn lists(&self) -> Result<Lists, Failure> {
        let mut out = Lists::default();
        for source in self.0.iter().rev() {
            out = out.over(&parsed(source)?.lists);
        }
        Ok(out)
    }

    /// The settings of one instance, the lowest layer first.
    pub fn settings(&self, sizes: &Sizes) -> Result<Vec<Settings>, Failure> {
        let read = |source: &Arc<Source>| {
            let settings = parsed(source)?.settings(sizes);
            settings.map_err(|e| e.at(source))
        };
        self.0.iter().map(read).collect()
    }
}

fn parsed(source: &Arc<Source>) -> Result<Spec<'_>, Failure> {
    Spec::parse(&source.text).map_err(|e| e.at(source))
}
