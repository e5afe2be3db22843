//! Concrete values of every opcode that is executed, against tables that were worked out elsewhere.
//!
//! `values/*.txt` holds templates with operands and results as bits; `values/model.py` computed them from
//! the definitions of PTX ISA 9.0 and shares nothing with volta, and a `*` says that ptxas folds the
//! template to the same bits (`values/README.md`). Each row is executed in three ways: as constants in one
//! thread, as one lane of many with different operands from constant memory, and with one or all operands
//! as input data, where the resulting term is evaluated at them by the independent evaluator.
//!
//! A result that is not known bits is right only in a row marked `~`; a wrong one never. With input data a
//! row may end in `unknown`; `values/symbolic.txt` lists how many do, by what is data.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use num_rational::BigRational;
use rayon::prelude::*;
use volta::diag::{Diagnostic, Source};
use volta::kernel::Fmt;
use volta::sim::{self, Outcome, Side};
use volta::spec::{self, Layers, Limits, Settings, Which};
use volta::term::eval::{Inputs, Mode, Value, evaluate};
use volta::term::{ArrayId, Sort, Term, TermId};
use volta::{kernel, ptx, work};

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
    /// The rows are the lanes of one warp.
    warp: bool,
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
                let (names, flags) = names.split_once(" : ").unwrap_or((names, ""));
                let (outs, ins) = names.split_once(" <-").expect("registers");
                let words = |s: &str| s.split_whitespace().map(str::to_string).collect();
                found.push(Section {
                    file: file.to_string(),
                    text: template.to_string(),
                    outs: words(outs),
                    ins: words(ins),
                    warp: flags == "warp",
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

/// Some rows in one thread, one after the other, with constants as operands but for operand `data`, which is an
/// input.
fn one_by_one(section: &Section, rows: std::ops::Range<usize>, data: Option<usize>) -> String {
    let input = if data.is_some() {
        ", .param .b64 in"
    } else {
        ""
    };
    let mut text = format!(
        "{TOP}.visible .entry k(.param .b64 out, .param .b64 scratch{input}) {{\n{REGISTERS}\
         ld.param.b64 %l11, [out];\nld.param.b64 %l10, [scratch];\n"
    );
    if data.is_some() {
        text += ".reg .b64 %a; ld.param.b64 %a, [in];\n";
    }
    for i in rows {
        text.push('{');
        for (k, register) in section.ins.iter().enumerate() {
            let value = section.rows[i].ins[k];
            let at = 8 * i;
            let _ = match width(register) {
                1 if data == Some(k) => {
                    write!(
                        text,
                        " ld.global.b32 %r10, [%a+{at}]; setp.eq.u32 {register}, %r10, 1;"
                    )
                }
                n if data == Some(k) => write!(text, " ld.global.b{n} {register}, [%a+{at}];"),
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
            // An array of zeros alone is what the host may set; so the last element is none.
            let values: Vec<String> = section
                .rows
                .iter()
                .map(|row| format!("{:#x}", row.ins[k]))
                .collect();
            let _ = writeln!(
                text,
                ".const .align 8 .b64 in{k}[{}] = {{{}, 1}};",
                values.len() + 1,
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
    run_on(text, threads, false)
}

/// The same, with floats of known bits computed as the machine does if `numbers`.
fn run_on(text: &str, threads: usize, numbers: bool) -> Result<Run, String> {
    let source = Arc::new(Source::new("row", text.to_string()).expect("short"));
    let shown = |d: Diagnostic| d.render(&source, false);
    let module = ptx::parse(&source).map_err(|e| shown(Diagnostic::from(&e[0])))?;
    let entry = kernel::select_entry(&module, None).expect("one entry");
    let lowered = kernel::lower(&module, &source, entry).map_err(|e| shown(e[0].diagnostic()))?;
    let settings = format!("kernel = \"k.ptx\"\nthreads = {threads}");
    let settings: Settings = toml::from_str(&settings).expect("settings");
    let spec = Layers(&[&settings])
        .kernel(Which::Kernel)
        .expect("a kernel");
    let setup = spec::resolve(&[(&lowered.kernel, &spec)], &[]).expect("bindings");
    let resolved = &setup.kernels[0];
    let mode = match numbers {
        true => resolved.mode.over(spec::Domain::Numbers { wobbling: None }),
        false => resolved.mode,
    };
    let array = |param: u32| {
        let field = resolved.bindings.fields.iter().find(|f| f.param == param);
        match field.map(|f| f.value) {
            Some(spec::Value::Pointer(array, _)) => array,
            _ => ArrayId(u32::MAX),
        }
    };
    let limits = Limits {
        deadline: None,
        memory: None,
    };
    let inputs = sim::Inputs {
        kernel: &lowered.kernel,
        launch: &resolved.launch,
        mode,
        bindings: &resolved.bindings,
        arrays: &resolved.arrays,
        side: Side::Reference,
        limits: &limits,
    };
    let outcome = sim::run_noting(&inputs, &sim::Noting::default());
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
    let mut out = Vec::new();
    for (_, &t) in writes.range(at..at + bytes) {
        match store.get(t) {
            Term::Concat(parts) => {
                out.extend(parts.iter().map(|&t| (width(TermId(t)), TermId(t))));
            }
            _ => out.push((width(t), t)),
        }
    }
    out
}

/// What an encoding of a float format denotes; all of them are exact as `f64`.
fn number(fmt: Fmt, bits: u64) -> f64 {
    let (exponent, fraction, top) = match fmt {
        Fmt::F16 => (5, 10, true),
        Fmt::Bf16 => (8, 7, true),
        Fmt::F32 | Fmt::Tf32 => (8, 23, true),
        Fmt::F64 => return f64::from_bits(bits),
        Fmt::E4m3 => (4, 3, false),
        Fmt::E5m2 => (5, 2, true),
        Fmt::E2m3 => (2, 3, false),
        Fmt::E3m2 => (3, 2, false),
        Fmt::E2m1 => (2, 1, false),
        Fmt::Ue8m0 if bits == 255 => return f64::NAN,
        Fmt::Ue8m0 => return 2f64.powi(bits as i32 - 127),
    };
    let (e, f) = (
        bits >> fraction & ((1 << exponent) - 1),
        bits & ((1 << fraction) - 1),
    );
    let bias = (1 << (exponent - 1)) - 1;
    let magnitude = if fmt == Fmt::E4m3 && bits & 0x7f == 0x7f {
        f64::NAN
    } else if top && e == (1 << exponent) - 1 {
        return if f != 0 {
            f64::NAN
        } else if bits >> (exponent + fraction) & 1 == 1 {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        };
    } else if e == 0 {
        f as f64 * 2f64.powi(1 - bias - fraction)
    } else {
        (f + (1 << fraction)) as f64 * 2f64.powi(e as i32 - bias - fraction)
    };
    if bits >> (exponent + fraction) & 1 == 1 {
        -magnitude
    } else {
        magnitude
    }
}

/// True if an operand may be no finite number, or a zero whose sign a real does not have:
/// what is assumed of input data excludes them.
fn not_finite(section: &Section, k: usize, bits: u64) -> bool {
    let formats = [
        ("f16", Fmt::F16),
        ("bf16", Fmt::Bf16),
        ("f32", Fmt::F32),
        ("f64", Fmt::F64),
        ("e4m3", Fmt::E4m3),
        ("e5m2", Fmt::E5m2),
        ("ue8m0", Fmt::Ue8m0),
    ];
    let operand = width(&section.ins[k]);
    formats.iter().any(|&(name, fmt)| {
        let one = section.text.contains(&format!(".{name}"));
        let two = section.text.contains(&format!(".{name}x2"));
        let n = fmt.bits();
        let arithmetic = [
            "add",
            "sub",
            "fma",
            "copysign",
            "min.xorsign",
            "max.xorsign",
        ]
        .iter()
        .any(|op| section.text.starts_with(op));
        let at = |low: u32| {
            let x = number(fmt, bits >> low & (u64::MAX >> (64 - n)));
            let down = section.text.contains(".rm.");
            !x.is_finite() || arithmetic && x == 0.0 && (x.is_sign_negative() || down)
        };
        one && operand == n && at(0) || two && operand == 2 * n && (at(0) || at(n))
    })
}

/// What a term says about the bits that it stands for.
enum Said {
    /// Those of the table.
    Right,
    /// Others.
    Wrong,
    /// Nothing.
    Nothing,
}

/// Compares a value with the expected bits. A real has one zero, so that of a computed float has no sign.
fn says(value: &Value, expected: u64) -> Said {
    let right = match value {
        Value::Bits(bits) => *bits == expected,
        Value::Encoded(fmt, real) => {
            let wanted = number(*fmt, expected);
            match &**real {
                Value::Exact(v) => BigRational::from_float(wanted).as_ref() == Some(v),
                Value::PosInf => wanted == f64::INFINITY,
                Value::NegInf => wanted == f64::NEG_INFINITY,
                _ => return Said::Nothing,
            }
        }
        _ => return Said::Nothing,
    };
    if right { Said::Right } else { Said::Wrong }
}

/// What is wrong with the results of some rows, whose operands `data` were inputs.
fn judge(
    section: &Section,
    rows: std::ops::Range<usize>,
    data: &[usize],
    run: &Run,
    way: &str,
) -> Vec<String> {
    let store = &run.outcome.store;
    let mut inputs = Inputs::default();
    for (k, array) in data.iter().zip(&run.ins) {
        for (i, row) in section.rows.iter().enumerate() {
            inputs.set(*array, 8 * i as u64, 8, row.ins[*k]);
        }
    }
    let mode = Mode::exact(128);
    let mut wrong = Vec::new();
    for i in rows {
        let row = &section.rows[i];
        if data.iter().any(|&k| not_finite(section, k, row.ins[k])) {
            continue;
        }
        for (k, expected) in row.outs.iter().enumerate() {
            let at = 8 * (i * section.outs.len() + k) as u64;
            let bytes = stored_bytes(&section.outs[k]);
            let parts = parts(run, at, bytes);
            let mut low = 0;
            let mut bad = None;
            for &(width, t) in &parts {
                let value = evaluate(store, &[t], &inputs, mode).remove(0);
                if let Some(expected) = expected {
                    let part = expected >> low & (u64::MAX >> (64 - width));
                    // On input data, what is undefined or open ends in `unknown`, and so do the bits of
                    // an approximation, whose error the manual bounds only.
                    let approximate = section.text.contains(".approx");
                    let fine = match says(&value, part) {
                        Said::Right => true,
                        Said::Wrong => row.open && matches!(value, Value::Encoded(..)),
                        Said::Nothing => row.open || approximate || !data.is_empty(),
                    };
                    if !fine {
                        bad = Some(format!("{value:x?}"));
                    }
                }
                low += width;
            }
            if u64::from(low) != 8 * bytes {
                bad = Some("nothing".to_string());
            }
            if let Some(found) = bad {
                let expected = expected.map(|e| format!("{e:x}"));
                wrong.push(format!(
                    "{}:{} ({way}): `{}` of {:x?} gives {found} in {}, not {expected:?}",
                    section.file, row.line, section.text, row.ins, section.outs[k],
                ));
            }
        }
    }
    wrong
}

/// Size in bytes of a stored result.
fn stored_bytes(register: &str) -> u64 {
    match width(register) {
        1 => 4,
        n => u64::from(n / 8),
    }
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
            warp: section.warp,
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
    let results: Vec<(Vec<String>, Option<String>)> = work::each(all.par_iter(), |section| {
        let mut wrong = Vec::new();
        let ways = [
            (
                "constants",
                one_by_one(section, 0..section.rows.len(), None),
                1,
            ),
            ("lanes", lanes(section, false), section.rows.len()),
        ];
        let mut stopped = None;
        for (way, text, threads) in ways {
            if section.warp && way != "lanes" {
                continue;
            }
            match run(&text, threads) {
                Ok(run) => wrong.extend(judge(section, 0..section.rows.len(), &[], &run, way)),
                Err(why) => stopped = Some(why),
            }
        }
        if let (true, Some(why)) = (section.warp, &stopped) {
            wrong.push(format!("{}: `{}`: {why}", section.file, section.text));
            stopped = None;
        }
        // A row that may stay open can end the run; then each is run alone.
        for (i, row) in section.rows.iter().enumerate() {
            let Some(why) = &stopped else { break };
            match run(&one_by_one(section, i..i + 1, None), 1) {
                Ok(run) => wrong.extend(judge(section, i..i + 1, &[], &run, "alone")),
                Err(_) if row.open => {}
                Err(_) => wrong.push(format!(
                    "{}:{} (alone): `{}`: {why}",
                    section.file, row.line, section.text
                )),
            }
        }
        let all: Vec<usize> = (0..section.ins.len()).collect();
        let rows = 0..section.rows.len();
        let mut unknown = Vec::new();
        let mut count = |of: &str, many: usize| {
            unknown.push(format!("{of}: {many} of {}", section.rows.len()));
        };
        match run(&lanes(section, true), rows.len()) {
            Ok(run) => wrong.extend(judge(section, rows.clone(), &all, &run, "all data")),
            Err(_) => count("all operands", rows.len()),
        }
        // The operands of a collective cannot be told apart by lane in one thread.
        for k in all.into_iter().filter(|_| !section.warp) {
            if let Ok(run) = run(&one_by_one(section, rows.clone(), Some(k)), 1) {
                wrong.extend(judge(section, rows.clone(), &[k], &run, "one data"));
                continue;
            }
            // Some row stops the run; the others are judged alone.
            let mut stopped = 0;
            for i in rows.clone() {
                match run(&one_by_one(section, i..i + 1, Some(k)), 1) {
                    Ok(run) => wrong.extend(judge(section, i..i + 1, &[k], &run, "one data")),
                    Err(_) => stopped += 1,
                }
            }
            if stopped > 0 {
                count(&section.ins[k], stopped);
            }
        }
        let symbolic = (!unknown.is_empty())
            .then(|| format!("{}: {} {}", section.file, section.text, unknown.join(", ")));
        (wrong, symbolic)
    });
    let wrong: Vec<&String> = results.iter().flat_map(|(wrong, _)| wrong).collect();
    let rows: usize = all.iter().map(|s| s.rows.len()).sum();
    let unknown: Vec<&str> = results.iter().filter_map(|(_, s)| s.as_deref()).collect();
    let listed = unknown.join("\n") + "\n";
    let path = folder().join("symbolic.txt");
    if std::env::var_os("VOLTA_BLESS").is_some() {
        fs::write(&path, &listed).expect("writable");
    }
    let (shown, count): (Vec<_>, _) = (wrong.iter().take(4000).collect(), wrong.len());
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

/// On numbers every row is the bits of the table, rounded results and infinities too; a NaN is any NaN.
#[test]
fn numbers_are_those_of_the_tables() {
    let only = std::env::var("VOLTA_VALUES").unwrap_or_default();
    let all: Vec<Section> = sections()
        .into_iter()
        .filter(|s| format!("{}: {}", s.file, s.text).contains(&only))
        .flat_map(pieces)
        .collect();
    let wrong = work::each(all.par_iter(), |section| {
        match run_on(&lanes(section, false), section.rows.len(), true) {
            Ok(run) => differing(section, &run),
            Err(why) => vec![format!("{}: `{}`: {why}", section.file, section.text)],
        }
    })
    .concat();
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(200)].join("\n")
    );
}

/// The rows of which a run on numbers gives other bits than the table.
fn differing(section: &Section, run: &Run) -> Vec<String> {
    let store = &run.outcome.store;
    let mut wrong = Vec::new();
    for (i, row) in section.rows.iter().enumerate() {
        for (k, expected) in row.outs.iter().enumerate() {
            let Some(expected) = expected else { continue };
            let at = 8 * (i * section.outs.len() + k) as u64;
            let (mut low, mut bits, mut known) = (0, 0, true);
            for (width, t) in parts(run, at, stored_bytes(&section.outs[k])) {
                match store.as_bits(t) {
                    Some(b) => bits |= b << low,
                    None => known = false,
                }
                low += width;
            }
            if !known || bits != *expected {
                wrong.push(format!(
                    "{}:{}: `{}` of {:x?} gives {bits:x} (known: {known}) in {}, not {expected:x}",
                    section.file, row.line, section.text, row.ins, section.outs[k],
                ));
            }
        }
    }
    wrong
}
