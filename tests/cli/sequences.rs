//! Launches in a sequence: what is wrong with a manifest, and what the answers say.

use serde_json::Value;

use super::{json, scratch, volta};

/// The answer to a manifest of one entry, whose sides stand in `text`.
fn gate(name: &str, text: &str) -> (Option<i32>, Value) {
    let chain = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/sequence/chain.ptx");
    let text = text.replace("CHAIN", chain);
    let manifest = scratch("sequences", &format!("{name}.toml"), text.as_bytes());
    let manifest = manifest.to_str().expect("a name in UTF-8");
    let output = volta(&["gate", manifest, "--no-cache", "--json"]);
    (output.status.code(), json(&output))
}

/// A softmax in two launches and in one; the arguments of the second launch, and further keys, are given.
fn softmax(second: &str, keys: &str) -> String {
    format!(
        "[[check]]
        buffers = {{ x = 'in:f32[4,8]', m = 'scratch:f32[4]', y = 'inout:f32[4,8]', a = 'in:f32[1]' }}
        reference = {{ formula = 'y[i,j] = exp(x[i,j] - max(k: x[i,k]))' }}
        optimized = [
            {{ file = 'CHAIN', entry = 'row_max', threads = 4, args = {{ 0 = '$x', 1 = '$m', 2 = 8 }} }},
            {{ file = 'CHAIN', entry = 'row_exp', threads = 4, {second} }},
        ]
        {keys}"
    )
}

#[test]
fn what_is_wrong_with_a_sequence_is_an_input_error() {
    let right = "args = { 0 = '$x', 1 = '$m', 2 = '$y', 3 = '$m', 4 = 8 }";
    let (code, object) = gate("right", &softmax(right, ""));
    assert_eq!(code, Some(0), "{object}");
    for (i, (second, keys, kind, said)) in [
        (
            "args = { 0 = '$x', 1 = '$q', 2 = '$y', 3 = '$m', 4 = 8 }",
            "",
            "binding",
            "no buffer is called `q`; the buffers are `x`, `m`",
        ),
        (
            "args = { 0 = '$x', 1 = '$m+17', 2 = '$y', 3 = '$m', 4 = 8 }",
            "",
            "binding",
            "begins at byte 17 of `m`, which has 16",
        ),
        (
            "args = { 0 = '$x', 1 = '$m', 2 = '$y', 4 = 8 }",
            "",
            "binding",
            "no buffer is bound to it: bind it with `\"3\" = \"$NAME\"`",
        ),
        (
            "args = { 0 = '$x', 1 = 'in:f32[4]', 2 = '$y', 3 = '$m', 4 = 8 }",
            "",
            "binding",
            "an array of its own",
        ),
        (
            "args = { 0 = '$x', 1 = '$m', 2 = '$y', 3 = '$m' }",
            "",
            "binding",
            "has no value",
        ),
        (
            "args = { 0 = '$x', 1 = '$m', 2 = '$y', 3 = '$m', 4 = '$x' }",
            "",
            "binding",
            "only an `in:` buffer of one element",
        ),
        (
            "args = { 0 = '$x+', 1 = '$m', 2 = '$y', 3 = '$m', 4 = 8 }",
            "",
            "binding",
            "`$x+` is no pointer",
        ),
        (
            "args = { 0 = '$x', 1 = '$m', 2 = '$y', 3 = '$m', 4 = 8, 9 = 1 }",
            "",
            "binding",
            "names no parameter",
        ),
        (
            "cta = 0, args = { 0 = '$x', 1 = '$m', 2 = '$y', 3 = '$m', 4 = 8 }",
            "",
            "launch",
            "leave out `cta`",
        ),
        (
            "args = { 0 = '$x', 1 = '$m', 2 = '$y', 3 = '$m', 4 = 8 }",
            "map = { 0 = '1' }",
            "binding",
            "`map` is not for sequences",
        ),
        (
            "args = { 0 = '$x', 1 = '$m', 2 = '$y', 3 = '$m', 4 = 8 }",
            "names = { 0 = 'rows' }",
            "binding",
            "`names` is not for sequences",
        ),
        (
            "args = { 0 = '$x', 1 = '$m', 2 = '$y', 3 = '$m', 4 = 8 }",
            "only = ['z[0..1,0..1]']",
            "binding",
            "names no buffer",
        ),
        (
            "args = { 0 = '$x', 1 = '$m', 2 = '$y', 3 = '$m', 4 = 8 }",
            "assume = ['n in 0..4']",
            "fact",
            "the buffers are",
        ),
        (
            "block = [4, 1, 2048], args = { 0 = '$x', 1 = '$m', 2 = '$y', 3 = '$m', 4 = 8 }",
            "",
            "usage",
            "either threads or block",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let (code, object) = gate(&format!("wrong-{i}"), &softmax(second, keys));
        let error = &object["entries"][0]["result"]["error"];
        assert_eq!(
            (code, &error["kind"]),
            (Some(2), &kind.into()),
            "{second} {keys}: {object}"
        );
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains(said), "{second} {keys}: {message}");
        if keys.is_empty() && kind == "binding" {
            assert!(message.contains("optimized, launch 1:"), "{message}");
        }
    }
}

#[test]
fn a_side_is_a_kernel_or_a_list_of_kernels() {
    for (i, (side, said)) in [
        ("[]", "at least one launch"),
        ("[{ formula = 'y[] = 0' }]", "a formula is not launched"),
        ("[['CHAIN']]", "not a list"),
        ("[{ entry = 'softmax', threads = 8 }]", "no file is given"),
        ("[3]", "a path, a table"),
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!("[[race]]\nkernel = {side}");
        let (code, object) = gate(&format!("sides-{i}"), &text);
        assert_eq!(code, Some(2), "{side}: {object}");
        let text = object.to_string();
        assert!(text.contains(said), "{side}: {text}");
    }
}

/// The report on an entry of the manifest of sequences as people read it: `gate` shows those that it did not expect.
fn for_people(name: &str) -> String {
    let root = env!("CARGO_MANIFEST_DIR");
    let all = std::fs::read_to_string(format!("{root}/kernels/sequence.toml")).expect("a manifest");
    let mut entries = all.split("\n[[").map(|e| format!("[[{e}"));
    let entry = entries.find(|e| e.contains(&format!("name = \"{name}\"")));
    let entry = entry.expect("an entry").replace("\"sequence/", "\"CHAIN/");
    let kept = entry
        .lines()
        .filter(|l| !l.starts_with("expect") && !l.starts_with("defects"));
    let entry = kept.map(|l| format!("{l}\n")).collect::<String>() + "expect = \"unknown\"\n";
    let entry = entry.replace("CHAIN", &format!("{root}/kernels/sequence"));
    let manifest = scratch("sequences", &format!("{name}.toml"), entry.as_bytes());
    let manifest = manifest.to_str().expect("a name in UTF-8");
    let output = volta(&["gate", manifest, "--no-cache"]);
    let text = String::from_utf8_lossy(&output.stdout).replace(root, "");
    let lines = text.lines().skip_while(|l| !l.starts_with("failed"));
    let lines = lines.filter(|l| !l.trim_start().starts_with("time: "));
    lines.map(|l| format!("{l}\n")).collect()
}

/// Answers to entries of the manifest of sequences, as people and programs read them.
#[test]
fn answers_name_the_launch() {
    for name in [
        "softmax-no-maximum",
        "layernorm-buffer-reused",
        "race-second-launch",
        "attention-three-one",
    ] {
        let args = [
            "gate",
            "kernels/sequence.toml",
            "--no-cache",
            "--filter",
            name,
        ];
        let object = json(&volta(&[&args[..], &["--json"]].concat()));
        let result = &object["entries"][0]["result"];
        let sides = ["kernel", "reference", "optimized"].map(|side| &result[side]);
        let shown = serde_json::json!({
            "verdict": result["verdict"],
            "sides": sides,
            "scope": result["scope"],
            "launch": result["inputs"]["launch"],
            "defects": result["defects"],
            "message": result["counterexample"]["message"],
            "outputs": result["outputs"],
            "assumptions": result["assumptions"],
        });
        let json = format!("{shown:#}\n");
        for (kind, shown) in [("json", json), ("txt", for_people(name))] {
            let root = env!("CARGO_MANIFEST_DIR");
            let golden = format!("{root}/tests/cli/sequences/{name}.{kind}");
            if std::env::var_os("VOLTA_BLESS").is_some() {
                std::fs::write(&golden, &shown).expect("a golden");
            }
            let before = std::fs::read_to_string(&golden).unwrap_or_default();
            assert_eq!(before, shown, "{name}");
        }
    }
}
