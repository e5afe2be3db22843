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
            "no buffer is called `q`; the buffers are `a`, `m`, `x`, `y`",
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
            "launch",
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
        if keys.is_empty() && kind == "binding" && !said.contains("no pointer") {
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
    let all =
        std::fs::read_to_string(format!("{root}/kernels/sequence/volta.toml")).expect("a manifest");
    let mut entries = all.split("\n[[").map(|e| format!("[[{e}"));
    let entry = entries.find(|e| e.contains(&format!("name = \"{name}\"")));
    let entry = entry.expect("an entry");
    let kept = entry
        .lines()
        .filter(|l| !l.starts_with("expect") && !l.starts_with("defects"));
    let entry = kept.map(|l| format!("{l}\n")).collect::<String>() + "expect = \"unknown\"\n";
    let entry = entry.replace("file = \"", &format!("file = \"{root}/kernels/sequence/"));
    let manifest = scratch("sequences", &format!("{name}.toml"), entry.as_bytes());
    let manifest = manifest.to_str().expect("a name in UTF-8");
    let output = volta(&["gate", manifest, "--no-cache"]);
    let text = String::from_utf8_lossy(&output.stdout).replace(root, "");
    let lines = text.lines().skip_while(|l| !l.starts_with("failed"));
    let lines = lines.filter(|l| !l.trim_start().starts_with("time: "));
    lines.map(|l| format!("{l}\n")).collect()
}

/// The report on an entry of the manifest of sequences as programs read it.
fn for_programs(name: &str) -> Value {
    let manifest = "kernels/sequence/volta.toml";
    let args = ["gate", manifest, "--no-cache", "--filter", name, "--json"];
    let mut object = json(&volta(&args));
    object["entries"][0]["result"].take()
}

#[test]
fn findings_name_the_launch() {
    let result = for_programs("softmax-no-maximum");
    assert_eq!(result["verdict"], "defective", "{result}");
    let site = &result["defects"][0]["sites"][0];
    assert_eq!(site["launch"], 0, "{site}");
    let text = for_people("softmax-no-maximum");
    let said = "optimized, launch 0: a value that was never written";
    assert!(text.contains(said), "{text}");
    assert!(text.contains("launch 1 was not run"), "{text}");

    let result = for_programs("race-second-launch");
    let defects = result["defects"].as_array().expect("a list");
    let sites = defects.iter().flat_map(|d| d["sites"].as_array());
    assert!(sites.flatten().all(|s| s["launch"] == 1), "{result}");
    let text = for_people("race-second-launch");
    assert!(text.contains("launch 1: an access of 4 bytes"), "{text}");
}

#[test]
fn a_witness_names_the_launch_that_wrote_it() {
    let result = for_programs("softmax-formula-no-quotient");
    let message = &result["counterexample"]["message"];
    let message = message.as_str().expect("a message");
    let said = "launch 1 of the optimized kernel wrote it last";
    assert!(message.contains(said), "{message}");
}

#[test]
fn an_answer_describes_each_launch() {
    let result = for_programs("attention-three-one");
    let launches = result["reference"]["launches"].as_array().expect("a list");
    let entries: Vec<&Value> = launches.iter().map(|l| &l["entry"]).collect();
    assert_eq!(entries, ["scores", "softmax", "product"]);
    assert_eq!(result["optimized"]["entry"], "attention");
    assert_eq!(result["scope"]["whole_grid"], true);
    assert!(result["inputs"]["launch"]["reference"].is_array());
    let text = for_people("attention-three-one");
    assert!(
        text.contains("0: /kernels/sequence/chain.ptx `scores`"),
        "{text}"
    );
    assert!(
        text.contains("2: /kernels/sequence/chain.ptx `product`"),
        "{text}"
    );
}
