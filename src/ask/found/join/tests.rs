//! What one part of an answer says is said by the whole, field by field.

use serde_json::{Value, json};

use super::*;
use crate::answer::{Command, Report};
use crate::found::begin;
use crate::spec::Options;

/// What becomes of a field of another part.
enum Fate {
    /// The part says this, and then the whole does.
    Kept(Value),
    /// It is the same in every part of one question, or said of the whole by the question.
    OfTheQuestion,
}
use Fate::*;

/// The list of fields, without a rest: a field that has no row here does not compile.
macro_rules! fields {
    ($($field:ident: $fate:expr,)*) => {
        fn fates(report: &Report) -> Vec<(&'static str, Fate)> {
            let Report { $($field: _),* } = report;
            vec![$((stringify!($field), $fate)),*]
        }
    };
}

fields! {
    schema: OfTheQuestion,
    volta: OfTheQuestion,
    command: OfTheQuestion,
    sizes: OfTheQuestion,
    instances: OfTheQuestion,
    inputs: OfTheQuestion,
    verdict: Kept(json!("defective")),
    values: Kept(json!("different")),
    scope: Kept(json!({ "whole_grid": false })),
    kernel: Kept(json!({ "formula": "y[i] = 0" })),
    reference: Kept(json!({ "formula": "y[i] = 1" })),
    optimized: Kept(json!({ "formula": "y[i] = 2" })),
    sync: Kept(json!([])),
    together: Kept(json!([0])),
    every_launch: Kept(json!(true)),
    classes: Kept(json!([{ "members": [0], "differs": {} }])),
    sass: Kept(json!({ "tool": "t", "target": "sm_90", "contracted": 1, "pairs": [] })),
    defects: Kept(json!([finding("data-race")])),
    warnings: Kept(json!([finding("note")])),
    denied: Kept(json!(["note"])),
    unknown: Kept(json!([finding("limit")])),
    counterexample: Kept(json!({
        "output": "y", "element": [1], "reference": null, "optimized": null, "message": "m",
        "difference": null, "inputs": {}
    })),
    outputs: Kept(json!([{ "name": "y", "elements": 4, "proved": 3, "by": { "same-term": 3 } }])),
    probabilistic: Kept(json!({ "elements": 2, "points": 3, "error": "2^-60", "log2_error": -60.0 })),
    assumptions: Kept(json!([{ "kind": "fact", "message": "f", "sites": [] }])),
    precision: Kept(json!({
        "reference": [], "optimized": [],
        "differences": [{ "kind": "narrower", "format": "f16", "message": "p", "site": site() }]
    })),
    deterministic: Kept(json!("no")),
    determinism: Kept(json!({ "answer": "no", "because": "d", "sites": [] })),
    rounding: Kept(json!({ "samples": 1, "seed": 2, "left_out": "all of it", "outputs": [] })),
    certificate: Kept(json!({ "file": null })),
    stats: Kept(json!({ "work": 7, "runs": { "orders": 3 }, "rules": { "Pythagoras": 2 }, "seconds": {
        "parse": 1.0, "simulate": 1.0, "decide": 1.0, "total": 9.0
    } })),
    looked: OfTheQuestion,
}

fn site() -> Value {
    json!({ "file": "k.ptx", "line": 3, "column": 5, "text": "is here", "threads": [] })
}

fn finding(kind: &str) -> Value {
    json!({ "kind": kind, "kernel": "kernel", "message": "m", "count": 1, "sites": [site()] })
}

/// True if all that a value says stands in another one; numbers only grow.
fn says(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Array(whole), Value::Array(part)) => {
            part.iter().all(|p| whole.iter().any(|w| says(w, p)))
        }
        (Value::Object(whole), Value::Object(part)) => {
            let of = |k: &String| whole.get(k).unwrap_or(&Value::Null);
            part.iter().all(|(k, p)| says(of(k), p))
        }
        (Value::Number(whole), Value::Number(part)) => whole.as_f64() >= part.as_f64(),
        // A chance of all parts is the sum of theirs.
        (Value::String(_), Value::String(chance)) if chance.starts_with("2^") => true,
        _ => whole == part,
    }
}

/// A part with some fields filled in.
fn part(filled: &[(&str, &Value)]) -> Report {
    let report = begin(Command::Check, Vec::new(), &Options::default());
    let mut text = serde_json::to_value(report).expect("JSON");
    text["verdict"] = json!("clean");
    for (name, value) in filled {
        merge(&mut text[*name], value);
    }
    serde_json::from_value(text).unwrap_or_else(|e| panic!("{filled:?}: {e}"))
}

/// Sets what a value says, and leaves the rest of an object.
fn merge(all: &mut Value, value: &Value) {
    match (&mut *all, value) {
        (Value::Object(all), Value::Object(value)) => {
            for (k, v) in value {
                merge(all.entry(k).or_insert(Value::Null), v);
            }
        }
        _ => *all = value.clone(),
    }
}

#[test]
fn what_a_part_says_is_said_by_the_whole() {
    let fates = fates(&part(&[]));
    let kept = |(name, fate): &'static (&str, Fate)| match fate {
        Kept(value) => Some((*name, value)),
        OfTheQuestion => None,
    };
    let fates: &'static [(&str, Fate)] = Box::leak(fates.into_boxed_slice());
    let all: Vec<(&str, &Value)> = fates.iter().filter_map(kept).collect();
    for &(name, value) in &all {
        let says_it = |r: &Report| says(&serde_json::to_value(r).expect("JSON")[name], value);
        for (first, later) in [(true, false), (false, true), (true, true)] {
            // Nothing of it stands in a part of which nothing was said.
            assert!(
                !says_it(&part(&[])) || name == "sync",
                "{name} shows nothing"
            );
            let filled = |is_filled: bool| part(&[(name, value)][..usize::from(is_filled)]);
            let mut whole = filled(first);
            join(&mut whole, filled(later));
            assert!(says_it(&whole), "{name} is lost: {first} {later}");
        }
    }
}
