//! What a client can ask for, as it stands in a line.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::answer::Failure;
use crate::ask::{self, QUESTIONS, Question, Roles, Sizes};
use crate::spec::limits::DEFAULT_TIMEOUT;

use super::answer;
use super::kernel::Launch;
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
    /// Asks something about kernels.
    #[serde(skip)]
    Ask(Box<Ask>),
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

/// A question, whatever the shape of its request.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    /// The word of the question.
    pub op: &'static str,
    /// A prepared reference.
    pub handle: Option<String>,
    /// Or the reference itself; or the smallest launch, with what is said of it.
    pub reference: Option<(Subject, Launch)>,
    /// The optimized kernel, the only one, or all of them.
    pub kernel: Subject,
    /// Launch and bindings, above those of a handle.
    pub launch: Launch,
    /// How to answer.
    pub how: How,
}

/// The keys that requests of a question have, in the order in which an error lists the questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Shape {
    /// Those of [`Pair`].
    Pair,
    /// Those of [`Alone`].
    Alone,
    /// Those of [`Beside`].
    Beside,
    /// Those of [`Several`].
    Several,
}

/// A request about a reference and an optimized kernel.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    handle: Option<String>,
    reference: Option<Subject>,
    optimized: Subject,
    #[serde(default)]
    launch: Launch,
    timeout: Option<f64>,
    budget: Option<u64>,
    #[serde(default)]
    formats: Vec<String>,
}

/// A request about one kernel.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Alone {
    kernel: Subject,
    #[serde(default)]
    launch: Launch,
    timeout: Option<f64>,
    budget: Option<u64>,
    #[serde(default)]
    formats: Vec<String>,
}

/// A request about one kernel at two launches: that of the smallest instance is this one if it is missing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Beside {
    kernel: Subject,
    #[serde(default)]
    launch: Launch,
    smallest: Option<Smallest>,
    timeout: Option<f64>,
    budget: Option<u64>,
    #[serde(default)]
    formats: Vec<String>,
}

/// The smallest launch.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Smallest {
    kernel: Subject,
    #[serde(default)]
    launch: Launch,
}

/// A request about kernels of one rank, each with the keys of its own table of a manifest beside it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Several {
    kernels: Subject,
    #[serde(default)]
    launch: Launch,
    timeout: Option<f64>,
    budget: Option<u64>,
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
        let request = match object.get("op").map(|op| op.as_str().map(ask::named)) {
            Some(None) => Err(answer::usage("`op` is a word")),
            Some(Some(Some(question))) => {
                object.remove("op");
                Ask::read(question, Value::Object(object)).map(|a| Request::Ask(Box::new(a)))
            }
            _ => Request::read(object),
        };
        Line { id, request }
    }
}

impl Shape {
    fn of(question: &dyn Question) -> Shape {
        match (question.roles(), question.sizes()) {
            (Roles::Pair, _) => Shape::Pair,
            (Roles::Several, _) => Shape::Several,
            (Roles::One, Sizes::BesideSmallest) => Shape::Beside,
            (Roles::One, Sizes::Each | Sizes::Together) => Shape::Alone,
        }
    }
}

impl Ask {
    /// Reads the keys of a request.
    fn read(question: &dyn Question, keys: Value) -> Result<Ask, Failure> {
        let op = question.command().name();
        let how = |timeout, budget, formats| How {
            timeout,
            budget,
            formats,
        };
        Ok(match Shape::of(question) {
            Shape::Pair => {
                let p: Pair = read(keys)?;
                if p.handle.is_some() == p.reference.is_some() {
                    let why = format!("a {op} takes either `handle` or `reference`");
                    return Err(answer::usage(why));
                }
                Ask {
                    op,
                    handle: p.handle,
                    reference: p.reference.map(|subject| (subject, Launch::new())),
                    kernel: p.optimized,
                    launch: p.launch,
                    how: how(p.timeout, p.budget, p.formats),
                }
            }
            Shape::Alone => {
                let a: Alone = read(keys)?;
                Ask {
                    op,
                    handle: None,
                    reference: None,
                    kernel: a.kernel,
                    launch: a.launch,
                    how: how(a.timeout, a.budget, a.formats),
                }
            }
            Shape::Beside => {
                let b: Beside = read(keys)?;
                Ask {
                    op,
                    handle: None,
                    reference: b.smallest.map(|small| (small.kernel, small.launch)),
                    kernel: b.kernel,
                    launch: b.launch,
                    how: how(b.timeout, b.budget, b.formats),
                }
            }
            Shape::Several => {
                let s: Several = read(keys)?;
                Ask {
                    op,
                    handle: None,
                    reference: None,
                    kernel: s.kernels,
                    launch: s.launch,
                    how: how(s.timeout, s.budget, s.formats),
                }
            }
        })
    }
}

fn read<T: DeserializeOwned>(keys: Value) -> Result<T, Failure> {
    serde_json::from_value(keys).map_err(|e| answer::usage(e.to_string()))
}

impl Request {
    /// Reads a request that is no question.
    fn read(object: Map<String, Value>) -> Result<Request, Failure> {
        /// The other words, those before and those behind the questions.
        const OTHERS: (&str, [&str; 4]) = ("prepare", ["explain", "version", "cancel", "release"]);
        if let Some(Value::String(op)) = object.get("op")
            && *op != OTHERS.0
            && !OTHERS.1.contains(&op.as_str())
        {
            let mut questions = QUESTIONS.to_vec();
            questions.sort_by_key(|&q| Shape::of(q));
            let questions = questions.iter().map(|q| q.command().name());
            let words = [OTHERS.0].into_iter().chain(questions).chain(OTHERS.1);
            let words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
            let words = words.join(", ");
            let why = format!("unknown variant `{op}`, expected one of {words}");
            return Err(answer::usage(why));
        }
        read(Value::Object(object))
    }

    /// Its word, and what it says of the answer; `None` for what no worker does.
    pub(super) fn how(&self) -> Option<(&'static str, How)> {
        match self {
            Request::Prepare(p) => {
                let how = How {
                    timeout: p.timeout,
                    ..How::default()
                };
                Some(("prepare", how))
            }
            Request::Ask(a) => Some((a.op, a.how.clone())),
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
            Request::Ask(a) => Some(&a.launch),
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
