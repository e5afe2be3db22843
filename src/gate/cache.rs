//! Results that need not be computed again.
//!
//! A result is kept under a hash of everything that it depends on: the texts of the kernels as they were read to be
//! judged, how they are launched and bound, every option, and the executable itself, so that another build of
//! volta shares nothing with this one. Results that a limit cut short are not kept. [`Store`] says who is believed.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::answer::{Answer, Report, UnknownKind};
use crate::cache::{Store, hex};
use crate::input::{self, Files, Written};
use crate::report::human;
use crate::spec::{Layers, Which};

/// A folder of results.
#[derive(Clone, Debug)]
pub struct Cache {
    store: Store,
    executable: String,
}

impl Cache {
    /// The cache in a folder; `None` if the executable cannot be read, without which no result
    /// is known to be its own, or if the user has no key.
    pub fn open(dir: &Path) -> Option<Cache> {
        let path = std::env::current_exe().ok()?;
        let bytes = std::fs::read(path).ok()?;
        Some(Cache {
            store: Store::open(dir, "volta-cache/4")?,
            executable: hex(&Sha256::digest(bytes)),
        })
    }

    /// The key of a check (of two kernels, or of one and a formula) or a race; `None` if something cannot be read.
    pub fn key(&self, layers: Layers, sides: &[Which], files: &Files) -> Option<String> {
        let mut parts = vec![
            self.executable.clone(),
            format!("{:?}", layers.options().ok()?),
        ];
        let formula = match sides.contains(&Which::Reference) {
            true => layers.formula().ok()?,
            false => None,
        };
        if let Some(formula) = &formula {
            parts.push("formula".to_string());
            parts.push(Written::read(formula).ok()?.source.text.clone());
        }
        for &side in sides {
            if formula.is_some() && side == Which::Reference {
                continue;
            }
            for spec in input::launches(layers, side, files).ok()? {
                let file = files.open(&spec.file, &spec.build).ok()?;
                parts.push(file.source.text.clone());
                parts.push(format!("{spec:?}"));
            }
        }
        Some(self.store.name(parts.iter().map(String::as_str)))
    }

    /// The result under a key.
    pub fn get(&self, key: &str) -> Option<Answer> {
        let body = self.store.get(key)?;
        let (report, text): (Report, String) = serde_json::from_str(&body).ok()?;
        Some(Answer {
            report,
            text: Some(text),
            cached: true,
            parts: Vec::new(),
        })
    }

    /// Keeps a result, if it is one that any run would come to.
    pub fn put(&self, key: &str, answer: &Answer) {
        let mut reasons = answer.report.unknown.iter();
        if reasons.any(|u| u.kind == UnknownKind::Limit) {
            return;
        }
        if let Ok(body) = serde_json::to_string(&(&answer.report, human::answer(answer))) {
            self.store.put(key, &body);
        }
    }
}
