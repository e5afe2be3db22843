//! Concrete values of every opcode that is executed, against tables that were worked out elsewhere.
//!
//! `values/*.txt` holds templates with operands and results as bits; `values/model.py` computed them from
//! the definitions of PTX ISA 9.0 and shares nothing with volta, and a `*` says that ptxas folds the
//! template to the same bits (`values/README.md`). Each row is executed in three ways: as constants in one
//! thread, as one lane of many with different operands from constant memory, and with operands that are
//! input data, where the resulting term is evaluated at them by the independent evaluator.
//!
//! A result that is not known bits is right only in a row marked `~`; a wrong one never. With input data a
//! template may end in `unknown`; those that do are listed in `values/symbolic.txt`.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use volta::diag::{Diagnostic, Source};
use volta::sim::{self, Outcome, Side};
use volta::spec::{self, Layers, Limits, Settings, Which};
use volta::term::eval::{Inputs, Mode, Value, evaluate};
use volta::term::{ArrayId, Sort, Term, TermId};
use volta::{kernel, ptx};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/values")
}

/// One line of a table.
struct Row {
    line: usize,
    /// Volta need not know the result.
    open: bool,
    outs: Vec<Option<u64>>,
    ins: Vec<u64>,
}

/// A template and its rows.
struct Section {
    file: String,
    text: String,
    outs: Vec<String>,
    ins: Vec<String>,
    rows: Vec<Row>,
}

fn hex(word: &str) -> u64 {
    u64::from_str_radix(word, 16).expect("hexadecimal digits")
}

fn sections() -> Vec<Section> {
    let mut found: Vec<Section> = Vec::new();
    let mut files: Vec<PathBuf> = fs::read_dir(folder())
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "txt"))
        .filter(|path| path.file_name().is_some_and(|n| n != "symbolic.txt"))
        .collect();
    files.sort();
    for path in files {
        let file = path.file_name().expect("a name").to_string_lossy();
        let text = fs::read_to_string(&path).expect("readable");
        let mut lines = text.lines().enumerate();
        while let Some((at, line)) = lines.next() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(template) = line.strip_prefix(": ") {
                let (_, names) = lines.next().expect("registers");
                let (outs, ins) = names.split_once(" <-").expect("registers");
                let words = |s: &str| s.split_whitespace().map(str::to_string).collect();
                found.push(Section {
                    file: file.to_string(),
                    text: template.to_string(),
                    outs: words(outs),
                    ins: words(ins),
                    rows: Vec::new(),
                });
                continue;
            }
            let (marks, rest) = line.split_at(2);
            let (outs, ins) = rest.split_once(" <-").expect("a row");
            let section = found.last_mut().expect("a template");
            section.rows.push(Row {
                line: at + 1,
                open: marks.contains('~'),
                outs: outs
                    .split_whitespace()
                    .map(|w| (w != "?").then(|| hex(w)))
                    .collect(),
                ins: ins.split_whitespace().map(hex).collect(),
            });
        }
    }
    found
}

/// Width in bits of a register by its name.
fn width(register: &str) -> u32 {
    match &register[1..2] {
        "p" => 1,
        "h" => 16,
        "r" => 32,
        _ => 64,
    }
}

const TOP: &str = ".version 9.0\n.target sm_100a\n.address_size 64\n";
const REGISTERS: &str =
    ".reg .pred %p<12>; .reg .b16 %h<12>; .reg .b32 %r<12>; .reg .b64 %l<12>;\n";

fn store(register: &str, at: usize) -> String {
    match width(register) {
        1 => format!(" selp.b32 %r11, 1, 0, {register}; st.global.b32 [%l11+{at}], %r11;"),
        n => format!(" st.global.b{n} [%l11+{at}], {register};"),
    }
}

/// Constants in one thread, all rows one after the other.
fn constants(section: &Section) -> String {
    let mut text = format!(
        "{TOP}.visible .entry k(.param .b64 out, .param .b64 scratch) {{\n{REGISTERS}ld.param.b64 %l11, [out];\n\
         ld.param.b64 %l10, [scratch];\n"
    );
    for (i, row) in section.rows.iter().enumerate() {
        text.push('{');
        for (register, value) in section.ins.iter().zip(&row.ins) {
            let _ = match width(register) {
                1 => write!(text, " setp.eq.u32 {register}, {value}, 1;"),
                n => write!(text, " mov.b{n} {register}, {value:#x};"),
            };
        }
        let _ = write!(text, " {}", section.text);
        for (k, register) in section.outs.iter().enumerate() {
            text += &store(register, 8 * (i * section.outs.len() + k));
        }
        text.push_str(" }\n");
    }
    text.push_str("ret;\n}\n");
    text
}

/// One thread for each row, which loads its operands from constant memory or from an input.
fn lanes(section: &Section, symbolic: bool) -> String {
    let mut text = String::from(TOP);
    let mut head = String::from(".visible .entry k(.param .b64 out, .param .b64 scratch");
    let mut body = format!(
        ") {{\n{REGISTERS}.reg .b64 %a<20>;\nld.param.b64 %l11, [out];\nld.param.b64 %l10, [scratch];\n\
         mov.u32 %r11, %tid.x;\nmad.wide.u32 %l11, %r11, {}, %l11;\nmad.wide.u32 %l10, %r11, 64, %l10;\n\
         mul.wide.u32 %a0, %r11, 8;\n",
        8 * section.outs.len()
    );
    for (k, register) in section.ins.iter().enumerate() {
        if symbolic {
            let _ = write!(head, ", .param .b64 in{k}");
            let _ = writeln!(body, "ld.param.b64 %a{}, [in{k}];", 2 * k + 2);
        } else {
            let values: Vec<String> = section
                .rows
                .iter()
                .map(|row| format!("{:#x}", row.ins[k]))
                .collect();
            let _ = writeln!(
                text,
                ".const .align 8 .b64 in{k}[{}] = {{{}}};",
                values.len(),
                values.join(", ")
            );
            let _ = writeln!(body, "mov.b64 %a{}, in{k};", 2 * k + 2);
        }
        let at = 2 * k + 3;
        let _ = writeln!(body, "add.s64 %a{at}, %a{}, %a0;", at - 1);
        let space = if symbolic { "global" } else { "const" };
        let _ = match width(register) {
            1 => writeln!(
                body,
                "ld.{space}.b32 %r10, [%a{at}]; setp.eq.u32 {register}, %r10, 1;"
            ),
            n => writeln!(body, "ld.{space}.b{n} {register}, [%a{at}];"),
        };
    }
    body.push_str(&section.text);
    for (k, register) in section.outs.iter().enumerate() {
        body += &store(register, 8 * k);
    }
    text + &head + &body + "\nret;\n}\n"
}

/// What happened to the rows, or why there is nothing to see.
struct Run {
    outcome: Outcome,
    out: ArrayId,
    ins: Vec<ArrayId>,
}

fn run(text: &str, threads: usize) -> Result<Run, String> {
    let source = Arc::new(Source::new("row", text.to_string()).expect("short"));
    let shown = |d: Diagnostic| d.render(&source, false);
    let module = ptx::parse(&source).map_err(|e| shown(Diagnostic::from(&e[0])))?;
    let entry = kernel::select_entry(&module, None).expect("one entry");
    let lowered = kernel::lower(&module, &source, entry).map_err(|e| shown(e[0].diagnostic()))?;
    let settings =
        Settings::parse(&format!("kernel = \"k.ptx\"\nthreads = {threads}")).expect("settings");
    let spec = Layers(&[&settings])
        .kernel(Which::Kernel)
        .expect("a kernel");
    let setup = spec::resolve(&[(&lowered.kernel, &spec)], &[]).expect("bindings");
    let resolved = &setup.kernels[0];
    let array = |param: u32| {
        let field = resolved.bindings.fields.iter().find(|f| f.param == param);
        match field.map(|f| f.value) {
            Some(spec::Value::Pointer(array)) => array,
            _ => ArrayId(u32::MAX),
        }
    };
    let limits = Limits {
        deadline: None,
        memory: None,
    };
    let outcome = sim::run(
        &lowered.kernel,
        &resolved.launch,
        &resolved.bindings,
        &resolved.arrays,
        Side::Reference,
        &limits,
    );
    let bad = outcome.defects.iter().map(|d| &d.message);
    let bad: Vec<&String> = bad
        .chain(outcome.unknowns.iter().map(|u| &u.message))
        .collect();
    if let Some(first) = bad.first() {
        return Err(first.to_string());
    }
    let params = lowered.kernel.params.len() as u32;
    let ins = (2..params).map(array).collect();
    Ok(Run {
        outcome,
        out: array(0),
        ins,
    })
}

/// The terms that make up a result, low bytes first, with their widths in bits.
fn parts(run: &Run, at: u64, bytes: u64) -> Vec<(u32, TermId)> {
    let store = &run.outcome.store;
    let Some(writes) = run.outcome.writes.get(&run.out) else {
        return Vec::new();
    };
    let width = |t: TermId| match store.sort(t) {
        Sort::Bits(n) => u32::from(n),
        _ => 0,
    };
    writes
        .range(at..at + bytes)
        .map(|(_, t)| (width(*t), *t))
        .collect()
}

/// Size in bytes of a stored result.
fn stored_bytes(register: &str) -> u64 {
    match width(register) {
        1 => 4,
        n => u64::from(n / 8),
    }
}

/// What is wrong with the results of a run at known operands.
fn judge_known(section: &Section, run: &Run, way: &str) -> Vec<String> {
    let store = &run.outcome.store;
    let mut wrong = Vec::new();
    for (i, row) in section.rows.iter().enumerate() {
        for (k, expected) in row.outs.iter().enumerate() {
            let at = 8 * (i * section.outs.len() + k) as u64;
            let mut found = Ok(0);
            let mut low = 0;
            for (width, t) in parts(run, at, stored_bytes(&section.outs[k])) {
                match (store.get(t), &mut found) {
                    (Term::BitsConst { value, .. }, Ok(all)) => *all |= value << low,
                    (other, _) => found = Err(format!("{other:?}")),
                }
                low += width;
            }
            if u64::from(low) != 8 * stored_bytes(&section.outs[k]) {
                found = Err(format!("{low} bits"));
            }
            let fine = match (&found, expected) {
                (Ok(v), Some(e)) => v == e,
                (Ok(_), None) => true,
                (Err(_), _) => row.open,
            };
            if !fine {
                let text = &section.text;
                let expected = expected.map(|e| format!("{e:x}"));
                wrong.push(format!(
                    "{}:{} ({way}): `{text}` of {:x?} gives {} in {}, not {expected:?}",
                    section.file,
                    row.line,
                    row.ins,
                    found.map_or_else(|t| t, |v| format!("{v:x}")),
                    section.outs[k],
                ));
            }
        }
    }
    wrong
}

/// The same for operands that are input data: the terms are evaluated.
fn judge_symbolic(section: &Section, run: &Run) -> Vec<String> {
    let store = &run.outcome.store;
    let mut inputs = Inputs::default();
    for (k, array) in run.ins.iter().enumerate() {
        for (i, row) in section.rows.iter().enumerate() {
            inputs.set(*array, 8 * i as u64, 8, row.ins[k]);
        }
    }
    let mode = Mode {
        prec: 128,
        tolerant: false,
        approximate: false,
    };
    let mut wrong = Vec::new();
    for (i, row) in section.rows.iter().enumerate() {
        for (k, expected) in row.outs.iter().enumerate() {
            let at = 8 * (i * section.outs.len() + k) as u64;
            let bytes = stored_bytes(&section.outs[k]);
            let mut value = Some(Value::Bits(0));
            let mut low = 0;
            for (width, t) in parts(run, at, bytes) {
                let part = evaluate(store, &[t], &inputs, mode).remove(0);
                value = match (value, part) {
                    (Some(Value::Bits(all)), Value::Bits(v)) => Some(Value::Bits(all | v << low)),
                    (Some(Value::Bits(_)), other) => Some(other),
                    (value, _) => value,
                };
                low += width;
            }
            if u64::from(low) != 8 * bytes {
                value = None;
            }
            let fine = match (&value, expected) {
                (Some(Value::Bits(v)), Some(e)) => v == e,
                (Some(_), None) => true,
                (Some(_), _) => row.open,
                (None, _) => false,
            };
            if !fine {
                wrong.push(format!(
                    "{}:{} (input data): `{}` of {:x?} gives {value:x?} in {}, not {expected:x?}",
                    section.file, row.line, section.text, row.ins, section.outs[k],
                ));
            }
        }
    }
    wrong
}

/// A section with at most so many rows, the threads of a CTA.
fn pieces(section: Section) -> Vec<Section> {
    let mut rows = section.rows.into_iter().peekable();
    let mut out = Vec::new();
    while rows.peek().is_some() {
        out.push(Section {
            file: section.file.clone(),
            text: section.text.clone(),
            outs: section.outs.clone(),
            ins: section.ins.clone(),
            rows: rows.by_ref().take(512).collect(),
        });
    }
    out
}

#[test]
fn values_are_those_of_the_tables() {
    let only = std::env::var("VOLTA_VALUES").unwrap_or_default();
    let all: Vec<Section> = sections()
        .into_iter()
        .filter(|s| format!("{}: {}", s.file, s.text).contains(&only))
        .flat_map(pieces)
        .collect();
    assert!(!all.is_empty());
    let results: Vec<(Vec<String>, Option<String>)> = all
        .par_iter()
        .map(|section| {
            let mut wrong = Vec::new();
            let ways = [
                ("constants", constants(section), 1),
                ("lanes", lanes(section, false), section.rows.len()),
            ];
            for (way, text, threads) in ways {
                match run(&text, threads) {
                    Ok(run) => wrong.extend(judge_known(section, &run, way)),
                    Err(why) => {
                        wrong.push(format!(
                            "{}: `{}` ({way}): {why}",
                            section.file, section.text
                        ));
                    }
                }
            }
            let symbolic = match run(&lanes(section, true), section.rows.len()) {
                Ok(run) => {
                    wrong.extend(judge_symbolic(section, &run));
                    None
                }
                Err(why) => {
                    let why = why.lines().next().unwrap_or_default();
                    Some(format!("{}: {}: {why}", section.file, section.text))
                }
            };
            (wrong, symbolic)
        })
        .collect();
    let wrong: Vec<&String> = results.iter().flat_map(|(wrong, _)| wrong).collect();
    let rows: usize = all.iter().map(|s| s.rows.len()).sum();
    let unknown: Vec<&str> = results.iter().filter_map(|(_, s)| s.as_deref()).collect();
    let listed = unknown.join("\n") + "\n";
    let path = folder().join("symbolic.txt");
    if std::env::var_os("VOLTA_BLESS").is_some() {
        fs::write(&path, &listed).expect("writable");
    }
    let (shown, count): (Vec<_>, _) = (wrong.iter().take(60).collect(), wrong.len());
    assert!(
        wrong.is_empty(),
        "{count} wrong of {rows} rows in {} templates:\n{}",
        all.len(),
        shown
            .iter()
            .map(|s| s.as_str())
            .collect::<Vec<_>>()
            .join("\n")
    );
    if only.is_empty() {
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == listed, "values/symbolic.txt is stale:\n{listed}");
    }
}
