//! Warnings that a user has looked at and allows.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::precision::Rounding;
use super::{Site, WarningKind};

/// A warning that is counted and not shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allow {
    /// Its kind.
    pub kind: WarningKind,
    /// The file of one of its places, of the PTX or of what that was compiled from: a path, or the end of one.
    #[serde(default)]
    pub file: Option<String>,
    /// The line of that place.
    #[serde(default)]
    pub line: Option<u32>,
    /// Why it is allowed; an entry of a manifest has to say it.
    #[serde(default)]
    pub reason: Option<String>,
}

impl Allow {
    /// Reads `KIND`, `KIND@FILE` or `KIND@FILE:LINE`.
    pub fn parse(text: &str) -> Result<Allow, String> {
        let (word, place) = match text.split_once('@') {
            Some((word, place)) => (word, Some(place)),
            None => (text, None),
        };
        let kind = WarningKind::parse(word.trim()).ok_or_else(|| {
            format!(
                "`{}` is no kind of warning; `volta explain` lists them",
                word.trim()
            )
        })?;
        let (file, line) = match place.map(|p| (p, p.rsplit_once(':'))) {
            None => (None, None),
            Some((_, Some((file, line)))) if line.parse::<u32>().is_ok() => {
                (Some(file), line.parse().ok())
            }
            Some((file, _)) => (Some(file), None),
        };
        if file.is_some_and(str::is_empty) || line == Some(0) {
            return Err("it is KIND, KIND@FILE or KIND@FILE:LINE".to_string());
        }
        Ok(Allow {
            kind,
            file: file.map(str::to_string),
            line,
            reason: None,
        })
    }

    /// Whether it is about a warning; `narrowing` is what the optimized kernel rounds in the way that the warning tells of.
    pub(super) fn is_of(&self, warning: &Finding<WarningKind>, narrowing: &[&Rounding]) -> bool {
        let is_named = |file: &str, line: u32| {
            let file = Path::new(file);
            self.file.as_ref().is_none_or(|f| file.ends_with(f))
                && self.line.is_none_or(|l| l == line)
        };
        let is_at = |s: &Site| {
            let source = s.source.as_ref();
            is_named(&s.file, s.line)
                || source.is_some_and(|s| {
                    let (file, line) = s.own();
                    is_named(file, line) || is_named(&s.file, s.line)
                })
        };
        let is_anywhere = self.file.is_none() && self.line.is_none();
        // The warning names the first of the lines that narrow so: it is allowed where all of them are.
        let all_of = |r: &Rounding| {
            let is_whole = r.sites.len() as u64 == r.instructions;
            let has_line = r.sites.iter().all(|s| s.source.is_some());
            (is_whole || has_line) && r.sites.iter().all(is_at)
        };
        let is_whole = warning.kind != WarningKind::Narrower || narrowing.iter().all(|r| all_of(r));
        self.kind == warning.kind && (is_anywhere || is_whole && warning.sites.iter().any(is_at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read() {
        let read = |text| Allow::parse(text).map(|a| (a.file, a.line));
        assert_eq!(read("narrower"), Ok((None, None)));
        assert_eq!(
            read("narrower@a/k.cu:12"),
            Ok((Some("a/k.cu".into()), Some(12)))
        );
        assert_eq!(read("narrower@C:k.cu"), Ok((Some("C:k.cu".into()), None)));
        for wrong in [
            "",
            "data-race",
            "narrower@",
            "narrower@:3",
            "narrower@k.cu:0",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
