//! One side of a request: a kernel, a formula, or the launches of a sequence.
//!
//! A launch of a sequence is a kernel with the keys of its own table of a manifest beside it.

use serde::de::{Deserializer, Error as _};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::answer::Failure;
use crate::input;
use crate::spec::manifest::Side;

use super::answer;
use super::kernel::{Kernel, Launch, Origin};

/// Keys of a launch that say which kernel it is of.
const KERNEL: [&str; 3] = ["path", "text", "name"];

/// One side of a request.
#[derive(Clone, Debug)]
pub(super) enum Subject {
    /// A kernel or a formula.
    One(Kernel),
    /// Launches, one after the other, each with what is said of it.
    Sequence(Vec<(Kernel, Launch)>),
}

impl<'de> Deserialize<'de> for Subject {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let list = match Value::deserialize(d)? {
            Value::Array(list) => list,
            one => {
                return Kernel::deserialize(one)
                    .map(Subject::One)
                    .map_err(D::Error::custom);
            }
        };
        let launch = |value: Value| -> Result<(Kernel, Launch), String> {
            let Value::Object(all) = value else {
                return Err("a launch is an object".into());
            };
            let (kernel, own): (Map<_, _>, Map<_, _>) = all
                .into_iter()
                .partition(|(key, _)| KERNEL.contains(&key.as_str()));
            if own.contains_key("file") || own.contains_key("formula") {
                return Err("a launch of a request is of a `path` or a `text`".into());
            }
            let kernel = Kernel::deserialize(Value::Object(kernel)).map_err(|e| e.to_string())?;
            Ok((kernel, own))
        };
        let all = list.into_iter().enumerate();
        let all = all.map(|(i, v)| launch(v).map_err(|why| format!("launch {i}: {why}")));
        let all: Result<Vec<_>, String> = all.collect();
        all.map(Subject::Sequence).map_err(D::Error::custom)
    }
}

impl Serialize for Subject {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        use serde::ser::Error;
        let list = match self {
            Subject::One(kernel) => return kernel.serialize(s),
            Subject::Sequence(list) => list,
        };
        let launch = |(kernel, own): &(Kernel, Launch)| {
            let mut all = own.clone();
            if let Value::Object(kernel) = serde_json::to_value(kernel)? {
                all.extend(kernel);
            }
            Ok(all)
        };
        let all: Result<Vec<Launch>, serde_json::Error> = list.iter().map(launch).collect();
        all.map_err(S::Error::custom)?.serialize(s)
    }
}

impl Subject {
    /// True for a formula.
    pub(super) fn is_formula(&self) -> bool {
        matches!(self, Subject::One(kernel) if kernel.is_formula())
    }

    /// Its kernels, each with the word that names a text without a name.
    pub(super) fn kernels(&self, role: &str) -> Vec<(&Kernel, String)> {
        match self {
            Subject::One(kernel) => vec![(kernel, role.to_string())],
            Subject::Sequence(list) => {
                let named = list.iter().enumerate();
                named
                    .map(|(i, (k, _))| (k, format!("{role}, launch {i}")))
                    .collect()
            }
        }
    }

    /// The same with the texts of its files as they are now, and their bytes together.
    pub(super) fn held(&self, role: &str) -> Result<(Subject, usize), Failure> {
        let mut bytes = 0;
        let mut read = |kernel: &Kernel, role: &str| {
            let held = match kernel.origin(role)? {
                Origin::Text(..) | Origin::Formula(_) => kernel.clone(),
                // A worker compiles it.
                Origin::File(path) if input::is_cuda(path) => kernel.clone(),
                Origin::File(path) => {
                    let source = input::text(path)?;
                    Kernel::text(source.text.to_string(), source.name.clone())
                }
            };
            bytes += match held.origin(role)? {
                Origin::Text(text, _) | Origin::Formula(text) => text.len(),
                Origin::File(_) => 0,
            };
            Ok::<Kernel, Failure>(held)
        };
        let held = match self {
            Subject::One(kernel) => Subject::One(read(kernel, role)?),
            Subject::Sequence(list) => {
                let all = list.iter();
                let all = all.map(|(kernel, own)| Ok((read(kernel, role)?, own.clone())));
                Subject::Sequence(all.collect::<Result<_, Failure>>()?)
            }
        };
        Ok((held, bytes))
    }

    /// What a manifest would say of it, with the name of each of its files.
    pub(super) fn side(&self, files: Vec<std::path::PathBuf>) -> Result<Side, Failure> {
        let launches = match self {
            Subject::One(_) => {
                return Ok(files.into_iter().next().map_or(Side::default(), Side::path));
            }
            Subject::Sequence(_) => self.launches(files)?,
        };
        match launches.is_empty() {
            true => Err(answer::usage("a sequence has at least one launch")),
            false => Ok(Side::sequence(launches)),
        }
    }

    /// What a manifest would say of each of its kernels, with the name of its file.
    pub(super) fn launches(&self, files: Vec<std::path::PathBuf>) -> Result<Vec<Side>, Failure> {
        let list = match self {
            Subject::One(_) => return Ok(files.into_iter().map(Side::path).collect()),
            Subject::Sequence(list) => list,
        };
        let mut launches = Vec::new();
        for (i, ((_, own), file)) in list.iter().zip(files).enumerate() {
            // Keys without a file stand in a table all the same.
            let read = serde_json::from_value(Value::Object(own.clone()));
            let mut launch: Side = read.map_err(|e| answer::usage(format!("launch {i}: {e}")))?;
            launch.file = Some(file);
            launches.push(launch);
        }
        Ok(launches)
    }
}
