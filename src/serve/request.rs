//! What a client can ask for, as it stands in a line.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::answer::Failure;
use crate::spec::limits::DEFAULT_TIMEOUT;

use super::answer;
use super::handles::{Handles, Prepared};
use super::subject::Subject;

/// A line that was read: its id, and the request or what is wrong with it.
pub(super) struct Line {
    /// A number or a string; null where the line gives none.
    pub id: Value,
    /// The request.
    pub request: Result<Request, Failure>,
}

/// A request.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(super) enum Request {
    /// Reads a reference, for many checks.
    Prepare(Box<Prepare>),
    /// Compares two kernels.
    Check(Box<Check>),
    /// Looks at one kernel.
    Race(Box<Alone>),
    /// Executes one kernel on numbers.
    Run(Box<Alone>),
    /// Which synchronising operations a kernel needs.
    Slack(Box<Alone>),
    /// Lifts one kernel.
    Lift(Box<Alone>),
    /// Whether a row depends on the batch that it is in.
    Rows(Box<Rows>),
    /// Which kernels leave the same bits.
    Classes(Box<Classes>),
    /// What a kind of finding means.
    Explain {
        /// Its word; all of them are listed where it is missing.
        kind: Option<String>,
    },
    /// Asks who answers.
    Version {},
    /// Ends another request.
    Cancel {
        /// Its id.
        target: Value,
    },
    /// Gives a handle back.
    Release {
        /// The handle.
        handle: String,
    },
}

/// Keys of a manifest.
pub(super) type Launch = Map<String, Value>;

/// `prepare`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Prepare {
    /// The reference.
    pub reference: Subject,
    /// Its launch, and whatever holds for every check against it.
    #[serde(default)]
    pub launch: Launch,
    /// Seconds.
    timeout: Option<f64>,
}

/// `check`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Check {
    /// A prepared reference.
    pub handle: Option<String>,
    /// Or the reference itself.
    pub reference: Option<Subject>,
    /// The optimized kernel.
    pub optimized: Subject,
    /// Launch and bindings, above those of the handle.
    #[serde(default)]
    pub launch: Launch,
    /// Seconds.
    timeout: Option<f64>,
    /// Units of work.
    budget: Option<u64>,
    /// Formats that come as texts beside the object.
    #[serde(default)]
    formats: Vec<String>,
}

/// `race` or `run`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Alone {
    /// The kernel.
    pub kernel: Subject,
    /// Launch and bindings.
    #[serde(default)]
    pub launch: Launch,
    /// Seconds.
    timeout: Option<f64>,
    /// Units of work.
    budget: Option<u64>,
    /// Formats that come as texts beside the object.
    #[serde(default)]
    formats: Vec<String>,
}

/// `rows`: the launch says which rows, as `rows` and `values` of a manifest.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rows {
    /// The kernel.
    pub kernel: Subject,
    /// Launch and bindings.
    #[serde(default)]
    pub launch: Launch,
    /// The launch whose row 0 all rows are compared with; this one if it is missing.
    pub smallest: Option<Smallest>,
    /// Seconds.
    timeout: Option<f64>,
    /// Units of work.
    budget: Option<u64>,
    /// Formats that come as texts beside the object.
    #[serde(default)]
    formats: Vec<String>,
}

/// The smallest launch of `rows`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Smallest {
    /// The kernel.
    pub kernel: Subject,
    /// Launch and bindings.
    #[serde(default)]
    pub launch: Launch,
}

/// `classes`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Classes {
    /// The kernels, each with the keys of its own table of a manifest beside it.
    pub kernels: Subject,
    /// Launch and bindings of all of them.
    #[serde(default)]
    pub launch: Launch,
    /// Seconds.
    timeout: Option<f64>,
    /// Units of work.
    budget: Option<u64>,
    /// Formats that come as texts beside the object.
    #[serde(default)]
    formats: Vec<String>,
}

/// What can be said of every verdict that is asked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct How {
    /// Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<f64>,
    /// Units of work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
    /// Formats that come as texts beside the object.
    #[serde(default)]
    pub formats: Vec<String>,
}

/// A kernel: a file, or a text with the name that reports give it. A reference may be a formula.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// A file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<PathBuf>,
    /// PTX.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// A name for the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// A formula in the place of a kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    formula: Option<String>,
}

/// Where a kernel's text is.
pub enum Origin<'a> {
    /// It is a formula.
    Formula(&'a str),

    /// In a file.
    File(&'a Path),
    /// Here, with its name.
    Text(&'a str, &'a str),
}

impl Kernel {
    /// A text with its name.
    pub fn text(text: String, name: String) -> Kernel {
        Kernel {
            path: None,
            text: Some(text),
            name: Some(name),
            formula: None,
        }
    }

    /// True for a formula.
    pub fn is_formula(&self) -> bool {
        self.formula.is_some()
    }

    /// Where its text is; `role` names a text that has no name.
    pub fn origin<'a>(&'a self, role: &'a str) -> Result<Origin<'a>, Failure> {
        let name = self.name.as_deref();
        let why = match (&self.path, &self.text, &self.formula) {
            (None, None, Some(formula)) if formula.starts_with('@') => {
                "the text of a formula belongs here, not the file that holds it"
            }
            (None, None, Some(formula)) if name.is_none() => return Ok(Origin::Formula(formula)),
            // A name with a NUL is that of a text in a worker, and of no file.
            (Some(path), None, None) if path.as_os_str().as_encoded_bytes().contains(&0) => {
                "no path has a NUL in it"
            }
            (Some(path), None, None) if name.is_none() => return Ok(Origin::File(path)),
            (None, Some(text), None) => return Ok(Origin::Text(text, name.unwrap_or(role))),
            _ => "a kernel is {\"path\": ...} or {\"text\": ..., \"name\": ...}",
        };
        Err(answer::usage(format!("{role}: {why}")))
    }
}

impl Line {
    /// Reads a line.
    pub(super) fn parse(line: &[u8]) -> Line {
        let refuse = |id, why: String| Line {
            id,
            request: Err(answer::usage(why)),
        };
        let mut object = match serde_json::from_slice(line) {
            Ok(Value::Object(object)) => object,
            Ok(_) => return refuse(Value::Null, "a request is one JSON object a line".into()),
            Err(e) => return refuse(Value::Null, format!("this line is no JSON: {e}")),
        };
        let id = object.remove("id").unwrap_or(Value::Null);
        if !matches!(id, Value::Null | Value::Number(_) | Value::String(_)) {
            return refuse(Value::Null, "`id` is a number or a string".into());
        }
        match serde_json::from_value(Value::Object(object)) {
            Ok(request) => Line {
                id,
                request: Ok(request),
            },
            Err(e) => refuse(id, e.to_string()),
        }
    }
}

impl Check {
    /// The reference that its handle names, if it names one.
    pub(super) fn prepared(&self, handles: &mut Handles) -> Result<Option<Arc<Prepared>>, Failure> {
        match (&self.handle, &self.reference) {
            (Some(handle), None) => handles.get(handle).map(Some),
            (None, Some(_)) => Ok(None),
            _ => {
                let why = "a check takes either `handle` or `reference`";
                Err(answer::usage(why))
            }
        }
    }
}

impl Request {
    /// Its word, and what it says of the answer; `None` for what no worker does.
    pub(super) fn how(&self) -> Option<(&'static str, How)> {
        let how = |timeout, budget, formats: &[String]| How {
            timeout,
            budget,
            formats: formats.to_vec(),
        };
        match self {
            Request::Prepare(p) => Some(("prepare", how(p.timeout, None, &[]))),
            Request::Check(c) => Some(("check", how(c.timeout, c.budget, &c.formats))),
            Request::Race(a) => Some(("race", how(a.timeout, a.budget, &a.formats))),
            Request::Run(a) => Some(("run", how(a.timeout, a.budget, &a.formats))),
            Request::Slack(a) => Some(("slack", how(a.timeout, a.budget, &a.formats))),
            Request::Lift(a) => Some(("lift", how(a.timeout, a.budget, &a.formats))),
            Request::Rows(r) => Some(("rows", how(r.timeout, r.budget, &r.formats))),
            Request::Classes(c) => Some(("classes", how(c.timeout, c.budget, &c.formats))),
            Request::Version {}
            | Request::Explain { .. }
            | Request::Cancel { .. }
            | Request::Release { .. } => None,
        }
    }

    /// What it says of the launch.
    pub(super) fn launch(&self) -> Option<&Launch> {
        match self {
            Request::Prepare(p) => Some(&p.launch),
            Request::Check(c) => Some(&c.launch),
            Request::Race(a) | Request::Run(a) | Request::Lift(a) | Request::Slack(a) => {
                Some(&a.launch)
            }
            Request::Rows(r) => Some(&r.launch),
            Request::Classes(c) => Some(&c.launch),
            Request::Version {}
            | Request::Explain { .. }
            | Request::Cancel { .. }
            | Request::Release { .. } => None,
        }
    }
}

impl How {
    /// The time that a request may take; a value that makes no sense is refused by the worker.
    pub fn limit(&self, launches: &[&Launch]) -> Duration {
        let of = |l: &&Launch| l.get("timeout").and_then(Value::as_f64);
        let seconds = self.timeout.or_else(|| launches.iter().rev().find_map(of));
        seconds
            .and_then(|s| Duration::try_from_secs_f64(s).ok())
            .unwrap_or(DEFAULT_TIMEOUT)
    }
}
