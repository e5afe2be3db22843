//! Formulas as references: what they prove, what they refute, and what is wrong with them.

use serde_json::Value;

use super::{json, scratch, volta};

/// A check of the matrix product of the kernels against a formula.
fn product(formula: &str, more: &str) -> (i32, Value) {
    let bound = "kernels/formulas/matmul.ptx --block 4,8 --grid 2 --name 0=a --name 1=b --name 2=v --name 3=c \
        --name 4=n --name 5=k --arg a=in:f32[8,8] --arg b=inout:f32[8,8] --arg v=0 --arg c=out:f32[8,8] --arg n=8 --arg k=8";
    let mut args = vec!["check", "--json", "--formula", formula];
    args.extend(bound.split_whitespace());
    args.extend(more.split_whitespace());
    let output = volta(&args);
    (output.status.code().unwrap_or(-1), json(&output))
}

#[test]
fn a_formula_is_the_reference() {
    let text = "c[i,j] = sum(l: a[i,l]*b[l,j]) # as it should be";
    let (code, report) = product(text, "");
    assert_eq!(code, 0, "{report:#}");
    assert_eq!(report["verdict"], "equivalent");
    assert_eq!(report["reference"]["formula"], text);
    assert_eq!(report["outputs"][0]["proved"], 64);
    let (code, report) = product("c[i,j] = sum(l: a[i,l]*b[j,l])", "");
    assert_eq!(code, 1, "{report:#}");
    let example = &report["counterexample"];
    assert_eq!(example["output"], "c");
    assert!(example["inputs"]["a"].is_array() && example["inputs"]["b"].is_array());
}

#[test]
fn a_formula_stands_in_a_file_and_knows_sizes() {
    let file = scratch(
        "formula-file",
        "product",
        b"c[i,j] = sum(l in 0..m: a[i,l]*b[l,j])\n",
    );
    let text = format!("@{}", file.display());
    let (code, report) = product(&text, "--for m=8");
    assert_eq!(code, 0, "{report:#}");
    let (code, report) = product(&text, "--for m=7,8");
    assert_eq!(code, 1, "{report:#}");
}

#[test]
fn one_cta_is_compared_with_its_elements() {
    let (code, report) = product("c[i,j] = sum(l: a[i,l]*b[l,j])", "--cta 1");
    assert_eq!(code, 0, "{report:#}");
    assert_eq!(report["outputs"][0]["elements"], 32);
}

#[test]
fn a_definition_of_some_elements_leaves_the_others_unwritten() {
    let rows = |formula: &str| {
        let bound = "kernels/lifted/some_rows.ptx --threads 8 --grid 3 --name 0=x --name 1=y \
            --arg x=in:f32[5,8] --arg y=out:f32[5,8] --arg 2=8";
        let mut args = vec!["check", "--json", "--formula", formula];
        args.extend(bound.split_whitespace());
        let output = volta(&args);
        (output.status.code().unwrap_or(-1), json(&output))
    };
    for (formula, expected) in [
        ("y[i,j if i < 3 and j % 2 = 0] = 2*x[i,j]", 0),
        ("y[i,j if i < 3] = 2*x[i,j]", 1),
        ("y[i,j if i < 2 and j % 2 = 0] = 2*x[i,j]", 1),
        ("y[i,j] = 2*x[i,j]", 1),
        ("y[i,j if 0 = 1] = 2*x[i,j]", 1),
    ] {
        let (code, report) = rows(formula);
        assert_eq!(code, expected, "{formula}: {report:#}");
    }
    for (formula, message) in [
        ("y[i,j if x[i,j] > 0] = 1", "cannot depend on data"),
        (
            "y[i,j] = w[i] where w[i if i < 2] = 1",
            "defined wherever it is read",
        ),
        ("y[i,j if k < 2] = 1", "`k` is no index"),
    ] {
        let (code, report) = rows(formula);
        assert_eq!(code, 2, "{formula}: {report:#}");
        let said = report["error"]["message"].as_str().unwrap_or_default();
        assert!(said.contains(message), "{formula}: {said}");
    }
}

#[test]
fn one_output_resists_and_the_other_has_its_formula() {
    let args = "lift --json kernels/lifted/nibbles_and_sums.ptx --threads 16 --name 0=w --name 1=y --name 2=z \
        --arg w=in:u8[16] --arg y=out:s32[16] --arg z=out:f32[16]";
    let output = volta(&args.split_whitespace().collect::<Vec<_>>());
    let report = json(&output);
    assert_eq!(output.status.code(), Some(3), "{report:#}");
    assert_eq!(report["verdict"], "unknown");
    assert_eq!(
        report["outputs"].as_array().map(Vec::len),
        Some(1),
        "{report:#}"
    );
    assert_eq!(report["outputs"][0]["formula"], "z[i] = 2*w[i]");
    let message = report["unknown"][0]["message"].as_str().unwrap_or_default();
    assert!(message.contains("y has no formula"), "{message}");
}

#[test]
fn an_output_that_the_formula_lacks_differs() {
    let (code, report) = product("b[i,j] = b[i,j]", "");
    assert_eq!(
        (code, &report["verdict"]),
        (1, &Value::from("not-equivalent")),
        "{report:#}"
    );
}

#[test]
fn wrong_formulas_are_input_errors_with_a_place() {
    let cases = [
        ("c[i,j] = a[i,j", "expected `]`", 15),
        ("c[i,j] = aa[i,j]", "`aa` is no array", 10),
        ("c[i,j] = a[i,t]", "`t` is no index, size or scalar", 14),
        ("c[i,j] = a[i]", "`a` has 2 dimensions, not 1", 10),
        (
            "c[i,j] = c[i,j]",
            "`c` is bound `out:`, so that it cannot be read",
            10,
        ),
        (
            "a[i,j] = 1",
            "`a` is bound `in:`, so that it cannot be defined",
            1,
        ),
        (
            "c[i,j] = a[i,j+1]",
            "index 8 of dimension 1 of `a` leaves its 8 elements where j = 7",
            14,
        ),
        ("c[i,j] = a[i,j/(k-8)]", "division of integers by 0", 14),
        ("c[i,j] = sum(t: i)", "nothing gives the range of `t`", 14),
        (
            "c[i,j] = h[i] where h[t] = h[t]",
            "`h` is defined by itself",
            28,
        ),
        ("c[i,j] = 1; c[i,j] = 2", "`c` is defined twice", 13),
        (
            "c[i,j] = h[] where h[] = 1 where h[] = 2",
            "`h` is defined twice",
            34,
        ),
        (
            "c[i,j] = b[] where b[] = 1",
            "`b` is an array of the kernel already",
            20,
        ),
        ("c[i,j] = a[i,j] + a[i,sqrt(j)]", "needs an integer", 23),
    ];
    for (formula, message, column) in cases {
        let (code, report) = product(formula, "");
        let error = &report["error"];
        let text = error["message"].as_str().unwrap_or("");
        assert!(code == 2 && text.contains(message), "{formula}: {report:#}");
        assert_eq!(error["sites"][0]["column"], column, "{formula}");
    }
    let guarded = "c[i,j] = sum(l: a[i,l]*b[l,j]) + (if j + 1 < 8 then 0*a[i,j+1] else 0)";
    let (code, report) = product(guarded, "");
    assert_eq!(code, 0, "{report:#}");
}

#[test]
fn what_no_formula_needs_ends_at_a_limit() {
    for (formula, what) in [
        (
            "c[i,j] = sum(l in 0..9223372036854775807: a[i,0])",
            "more than 268435456 integers",
        ),
        (
            "c[i,j] = max(l in 0..1000000000: a[i,j] + l)",
            "more than 268435456 integers",
        ),
        (
            "c[i,j] = prod(l in 1..100000: l)*a[i,j]",
            "more than 65536 bits",
        ),
    ] {
        let (code, report) = product(formula, "");
        assert_eq!(code, 3, "{formula}: {report:#}");
        assert_eq!(report["unknown"][0]["kind"], "limit");
        let message = report["unknown"][0]["message"].as_str().unwrap_or_default();
        assert!(message.contains(what), "{formula}: {message}");
    }
    let indices: Vec<String> = (0..10_000).map(|k| format!("i{k}")).collect();
    let (code, report) = product(&format!("c[{}] = 1", indices.join(",")), "");
    assert_eq!(code, 2, "{report:#}");
    let message = report["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("17 indices"), "{message}");
}

#[test]
fn a_formula_and_a_kernel_are_one_reference_too_many() {
    let (code, _) = product("c[i,j] = 1", "kernels/formulas/matmul.ptx");
    assert_eq!(code, 2);
    let (code, _) = product("c[i,j] = 1", "--formula c[i,j]=2");
    assert_eq!(code, 2);
    let (code, _) = product("c[i,j] = 1", "--ref-block 8");
    assert_eq!(code, 2);
}

/// The larger of two integers.
const LARGER: &[u8] = b".version 8.0
.target sm_80
.address_size 64
.visible .entry larger(.param .u64 x, .param .u64 y)
{
.reg .b64 %rd<4>; .reg .b32 %r<4>;
ld.param.u64 %rd0,[x]; ld.param.u64 %rd1,[y];
ld.global.b32 %r0,[%rd0]; ld.global.b32 %r1,[%rd0+4]; max.s32 %r2,%r0,%r1; st.global.b32 [%rd1],%r2; ret;
}
";

#[test]
fn an_intermediate_array_of_integers_holds_integers() {
    let file = scratch("formula-integers", "larger.ptx", LARGER);
    let asked = |formula: &str| {
        let bound = "--threads 1 --arg x=in:s32[2] --arg y=out:s32[1]";
        let mut args = vec!["check", "--json", "--formula", formula];
        let path = file.display().to_string();
        args.push(&path);
        args.extend(bound.split_whitespace());
        json(&volta(&args))["verdict"].clone()
    };
    assert_eq!(asked("y[i] = max(j: x[j])"), "equivalent");
    assert_eq!(asked("y[i] = t[] where t[] = max(j: x[j])"), "equivalent");
    let chain = "y[i] = u[] where t[k] = x[k] + 1, u[] = max(k in 0..2: t[k]) - 1";
    assert_ne!(asked(chain), "not-equivalent");
    assert_eq!(
        asked("y[i] = t[] where t[] = min(j: x[j])"),
        "not-equivalent"
    );
    // As a real it is a half where as an integer it is rounded down: it is one thing, in whichever place it is read.
    let halves = "y[i] = 2*t[] where t[] = max(j: x[j])/2";
    assert_ne!(asked(halves), "not-equivalent");
}
