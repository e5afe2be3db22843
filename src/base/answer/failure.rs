//! Usage and input errors: as a command ends with one, and as it is printed with exit status 2.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ErrorKind, Instance, Kind, Part, Schema, Site, schema};
use crate::diag::foreign::{sentence, styled, visible};
use crate::diag::{Diagnostic, MOST_ERRORS, Source};

/// A usage or input error that a command ends with.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The kind.
    pub kind: ErrorKind,
    /// What it is about, if that is one of the kernels.
    pub which: Option<Part>,
    /// One or more messages.
    pub diagnostics: Vec<Diagnostic>,
    /// The text that they point into.
    pub source: Option<Arc<Source>>,
    /// All instances, where the command was run at several sizes.
    pub instances: Vec<Instance>,
}

impl Failure {
    /// An error without a place.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Failure {
        Failure {
            kind,
            which: None,
            diagnostics: vec![Diagnostic::error(kind.name(), message)],
            source: None,
            instances: Vec::new(),
        }
    }

    /// Errors in a text; of very many the first ones, and how many there are.
    pub fn at(kind: ErrorKind, source: &Arc<Source>, mut diagnostics: Vec<Diagnostic>) -> Failure {
        if diagnostics.len() > MOST_ERRORS {
            let code = diagnostics[0].code;
            let more = diagnostics.len() - MOST_ERRORS;
            diagnostics.truncate(MOST_ERRORS);
            diagnostics.push(Diagnostic::error(code, format!("{more} more errors")));
        }
        Failure {
            kind,
            which: None,
            diagnostics,
            source: Some(source.clone()),
            instances: Vec::new(),
        }
    }

    /// The same about one kernel.
    pub fn about(mut self, part: Part) -> Failure {
        self.which = Some(part);
        self
    }

    /// What the user can do about the first error.
    pub fn hint(&self) -> Option<String> {
        self.diagnostics.first()?.help.clone()
    }

    /// The message of the first error.
    pub fn message(&self) -> &str {
        self.diagnostics.first().map_or("", |d| &d.message)
    }

    /// The places of all errors.
    pub fn sites(&self) -> Vec<Site> {
        let Some(source) = &self.source else {
            return Vec::new();
        };
        let labels = self.diagnostics.iter().flat_map(|d| &d.labels);
        labels
            .map(|(span, what)| Site::new(source, *span, what))
            .collect()
    }

    /// The object that is printed with exit status 2.
    pub fn answer(&self, command: Option<&str>) -> ErrorAnswer {
        ErrorAnswer {
            schema: Schema::V2,
            volta: schema::version(),
            command: command.map(str::to_string),
            error: Error {
                kind: self.kind,
                message: self.message().to_string(),
                sites: self.sites(),
                which: self.which,
                hint: self.hint(),
            },
            instances: self.instances.clone(),
        }
    }

    /// The errors for people, with the lines that they are about.
    pub fn render(&self) -> String {
        let mut out = String::new();
        for d in &self.diagnostics {
            match &self.source {
                Some(source) if !d.labels.is_empty() => out.push_str(&d.render(source, true)),
                _ => {
                    out.push_str(&d.to_string());
                    if let Some(help) = &d.help {
                        out.push_str("\n  help: ");
                        out.push_str(&sentence(help));
                    }
                }
            }
            out.push('\n');
        }
        styled(&out)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, d) in self.diagnostics.iter().enumerate() {
            let place = d.labels.first().zip(self.source.as_ref());
            if i > 0 {
                f.write_str("\n")?;
            }
            if let Some(((span, _), source)) = place {
                let line = source.position(span.start).line;
                write!(f, "{}:{line}: ", visible(&source.name))?;
            }
            f.write_str(&sentence(&d.message))?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

/// A usage or input error.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ErrorAnswer {
    /// Version of this shape.
    pub schema: Schema,
    /// Version of volta.
    pub volta: String,
    /// The command; null where none could be read.
    pub command: Option<String>,
    /// What is wrong.
    pub error: Error,
    /// Of a command at several sizes: all instances.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<Instance>,
}

/// What is wrong with the input.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Error {
    /// The kind.
    pub kind: ErrorKind,
    /// A sentence: the first error.
    pub message: String,
    /// The places of all errors.
    pub sites: Vec<Site>,
    /// What it is about; null for the command as a whole.
    pub which: Option<Part>,
    /// What the user can do.
    pub hint: Option<String>,
}
