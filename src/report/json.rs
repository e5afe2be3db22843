//! The JSON object of the command-line contract, schema `volta/1`.

use serde_json::{Map, Value, json};

use crate::explain::{Counterexample, Difference, InputValue, Shown};
use crate::gate::GateReport;
use crate::spec::Which;

use super::precision::{Precision, type_name};
use super::{Entry, Failure, KernelReport, Report, SCHEMA, SiteReport};

/// The JSON Schema of everything below.
pub const SCHEMA_TEXT: &str = include_str!("volta-1.schema.json");

/// The object of a check or a race.
pub fn report(r: &Report) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| {
        out.insert(key.to_string(), value);
    };
    put("schema", json!(SCHEMA));
    put("command", json!(r.command));
    put("verdict", json!(r.verdict.name()));
    put("scope", scope(r));
    if let Some(text) = &r.formula {
        put(Which::Reference.name(), json!({"formula": text}));
    }
    for k in &r.kernels {
        put(k.which.name(), kernel(k));
    }
    put("inputs", inputs(r));
    put(
        "defects",
        r.defects.iter().map(|e| entry(e, true)).collect(),
    );
    put(
        "warnings",
        r.warnings.iter().map(|e| entry(e, true)).collect(),
    );
    put(
        "unknown",
        r.unknown.iter().map(|e| entry(e, false)).collect(),
    );
    if r.command == "check" {
        let example = r.counterexample.as_ref();
        put(
            "counterexample",
            example.map_or(Value::Null, counterexample),
        );
        let outputs = r
            .outputs
            .iter()
            .map(|o| json!({"name": o.name, "elements": o.elements, "proved": o.proved}));
        put("outputs", outputs.collect());
        let chance = r.chance.as_ref().map(|c| {
            json!({
                "elements": c.elements,
                "points": c.points,
                "error": c.bound(),
                "log2_error": c.error.ceil(),
            })
        });
        put("probabilistic", json!(chance));
    }
    put("assumptions", json!(r.assumptions));
    put("precision", precision(&r.precision));
    put("stats", stats(r));
    Value::Object(out)
}

fn scope(r: &Report) -> Value {
    let mut out = Map::new();
    for k in &r.kernels {
        let key = match k.which {
            Which::Kernel => "ctas",
            Which::Reference => "reference_ctas",
            Which::Optimized => "optimized_ctas",
        };
        out.insert(key.to_string(), json!(k.ctas));
    }
    let whole = r.kernels.iter().all(|k| k.whole);
    out.insert("whole_grid".to_string(), json!(whole));
    Value::Object(out)
}

/// The bytes that parameters were bound to.
fn inputs(r: &Report) -> Value {
    let mut bindings = Map::new();
    for k in &r.kernels {
        let numbers = k.numbers.iter().map(|n| {
            json!({
                "parameter": n.position,
                "name": n.name,
                "offset": n.offset,
                "type": n.ty.name(),
                "bytes": n.hex(),
            })
        });
        bindings.insert(k.which.name().to_string(), numbers.collect());
    }
    json!({ "bindings": bindings })
}

fn kernel(k: &KernelReport) -> Value {
    json!({
        "file": k.file,
        "entry": k.entry,
        "block": k.launch.block,
        "grid": k.launch.grid,
        "dynamic_shared": k.launch.dynamic_shared,
    })
}

fn entry(e: &Entry, counted: bool) -> Value {
    let mut out = Map::new();
    out.insert("kernel".into(), json!(e.kernel.map(Which::name)));
    out.insert("kind".into(), json!(e.kind));
    out.insert("message".into(), json!(e.message));
    if counted {
        out.insert("count".into(), json!(e.count));
    }
    out.insert("sites".into(), e.sites.iter().map(site).collect());
    if let Some(d) = &e.difference {
        out.insert("difference".into(), difference(d));
    }
    Value::Object(out)
}

fn precision(p: &Precision) -> Value {
    let mut out = Map::new();
    for (which, groups) in &p.kernels {
        let groups = groups.iter().map(|g| {
            json!({
                "format": g.fmt.name(),
                "kind": g.kind.name(),
                "from": g.from.map(type_name),
                "use": g.then.name(),
                "instructions": g.instructions,
                "executions": g.executions,
                "values": g.values,
                "sites": g.sites.iter().map(site).collect::<Vec<Value>>(),
            })
        });
        out.insert(which.name().into(), groups.collect());
    }
    let more = p.more.iter().map(|m| {
        json!({
            "kind": m.kind.name(),
            "format": m.fmt.name(),
            "message": m.message,
            "site": site(&m.site),
        })
    });
    out.insert("differences".into(), more.collect());
    Value::Object(out)
}

fn difference(d: &Difference) -> Value {
    json!({
        "message": d.message,
        "reference": d.reference,
        "optimized": d.optimized,
    })
}

fn site(s: &SiteReport) -> Value {
    let source = s.source.as_ref();
    let mut out = json!({
        "file": s.file,
        "line": s.line,
        "column": s.column,
        "text": s.text,
        "threads": s.threads,
        "source": source.map(|(file, line)| json!({"file": file, "line": line})),
    });
    if let Value::Object(map) = &mut out {
        if let Some(cta) = s.cta {
            map.insert("cta".into(), json!(cta));
        }
        if !s.what.is_empty() {
            map.insert("what".into(), json!(s.what));
        }
        if !s.around.is_empty() {
            let steps = s.around.iter().map(
                |e| json!({"step": e.step, "line": e.line, "text": e.text, "barrier": e.barrier}),
            );
            map.insert("around".into(), steps.collect());
        }
    }
    out
}

fn value(v: &Shown) -> Value {
    let mut out = Map::new();
    out.insert("text".into(), json!(v.text));
    out.insert("approx".into(), json!(v.approx));
    if let Some(bits) = v.bits {
        out.insert("bits".into(), json!(bits));
    }
    Value::Object(out)
}

fn counterexample(c: &Counterexample) -> Value {
    let mut inputs: Map<String, Value> = Map::new();
    for i in &c.inputs {
        let list = inputs.entry(i.name.clone()).or_insert(json!([]));
        if let Value::Array(list) = list {
            list.push(input(i));
        }
    }
    json!({
        "output": c.output,
        "element": c.element,
        "reference": c.reference.as_ref().map(value),
        "optimized": c.optimized.as_ref().map(value),
        "message": c.message,
        "difference": c.difference.as_ref().map(difference),
        "inputs": inputs,
    })
}

fn input(i: &InputValue) -> Value {
    json!({"element": i.element, "type": i.ty, "value": value(&i.value)})
}

fn stats(r: &Report) -> Value {
    let mut out = Map::new();
    for k in &r.kernels {
        let counts = json!({
            "thread_instructions": k.stats.thread_instructions,
            "warp_instructions": k.stats.warp_instructions,
            "barrier_arrivals": k.stats.barrier_arrivals,
            "warp_syncs": k.stats.warp_syncs,
            "accesses": k.stats.accesses,
            "terms": k.terms,
        });
        out.insert(k.which.name().into(), counts);
    }
    if let Some(c) = &r.counts {
        let counts = json!({
            "conditions": c.conditions,
            "by": c.by,
            "terms": c.terms,
            "candidates": c.candidates,
        });
        out.insert("decision".into(), counts);
    }
    let seconds = json!({
        "parse": r.times.parse.as_secs_f64(),
        "simulate": r.times.simulate.as_secs_f64(),
        "decide": r.times.decide.as_secs_f64(),
        "total": r.times.total.as_secs_f64(),
    });
    out.insert("seconds".into(), seconds);
    Value::Object(out)
}

/// The object of a usage or input error.
pub fn failure(command: Option<&str>, f: &Failure) -> Value {
    let sites: Vec<Value> = f.sites().iter().map(site).collect();
    let mut out = json!({
        "schema": SCHEMA,
        "command": command,
        "error": {"message": f.message(), "sites": sites},
    });
    if !f.instances.is_empty() {
        out["instances"] = json!(f.instances);
    }
    out
}

/// The object of a gate.
pub fn gate(g: &GateReport) -> Value {
    let entries = g.entries.iter().map(|e| {
        let result = match &e.result {
            Ok(answer) => answer.object.clone(),
            Err(f) => failure(None, f),
        };
        let mut out = Map::new();
        out.insert("name".into(), json!(e.name));
        out.insert("expect".into(), json!(e.expect));
        out.insert("ok".into(), json!(e.ok));
        out.insert("seconds".into(), json!(e.time.as_secs_f64()));
        if let Some(why) = &e.why {
            out.insert("why".into(), json!(why));
        }
        if e.result.as_ref().is_ok_and(|a| a.cached) {
            out.insert("cached".into(), json!(true));
        }
        if let Some(peak) = e.peak {
            out.insert("peak_bytes".into(), json!(peak));
        }
        out.insert("result".into(), result);
        Value::Object(out)
    });
    let entries: Vec<Value> = entries.collect();
    json!({
        "schema": SCHEMA,
        "command": "gate",
        "passed": g.passed(),
        "failed": g.entries.len() - g.passed(),
        "entries": entries,
    })
}
