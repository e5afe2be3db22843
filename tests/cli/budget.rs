//! Budgets of work: where they end a verdict, and that no machine and no number of threads changes where.

use serde_json::{Value, json};

use super::serve::Server;
use super::{NAIVE, ONLINE, json as object, root, scratch, volta};

/// The report of a command with some threads.
fn report(args: &[&str], jobs: &str) -> Value {
    object(&volta(&[args, &["--json", "--jobs", jobs]].concat()))
}

/// The same without what depends on the clock.
fn timeless(args: &[&str], jobs: &str) -> Value {
    let mut report = report(args, jobs);
    let stats = report["stats"].as_object_mut().expect("counts");
    assert!(stats.remove("seconds").is_some());
    report
}

const CHECK: &[&str] = &["check", NAIVE, ONLINE, "--threads", "4"];

#[test]
fn work_is_the_same_for_any_number_of_threads_and_ends_where_the_budget_ends() {
    let whole = timeless(CHECK, "1");
    assert_eq!(whole["verdict"], "equivalent");
    assert_eq!(timeless(CHECK, "3"), whole);
    let all = whole["stats"]["work"].as_u64().expect("units");
    assert!(all > 100, "{all}");
    let mut verdicts = Vec::new();
    for budget in [0, all / 100, all / 10, all / 2, 40 * all] {
        let text = budget.to_string();
        let args = [CHECK, &["--budget", &text]].concat();
        let one = timeless(&args, "1");
        assert_eq!(timeless(&args, "3"), one, "{budget} of {all}");
        assert_eq!(one["inputs"]["options"]["budget"], budget);
        assert!(one["inputs"]["options"].get("timeout").is_none());
        let said = one["unknown"][0]["message"].as_str().unwrap_or_default();
        let ended = one["unknown"][0]["kind"] == "limit" && said.contains("budget");
        assert_eq!(one["verdict"] == "unknown", ended, "{one}");
        verdicts.push(one["verdict"].clone());
    }
    assert_eq!(verdicts.first(), Some(&json!("unknown")));
    assert_eq!(verdicts.last(), Some(&json!("equivalent")));
}

#[test]
fn the_earlier_of_time_and_budget_ends_a_run_and_is_named() {
    let said = |more: &[&str]| {
        let report = report(&[CHECK, more].concat(), "2");
        assert_eq!(report["unknown"][0]["kind"], "limit", "{report}");
        report["unknown"][0]["message"].to_string()
    };
    let late = said(&["--budget", "1000000000000", "--timeout", "0"]);
    assert!(late.contains("time limit"), "{late}");
    let spent = said(&["--budget", "0", "--timeout", "500"]);
    assert!(spent.contains("budget of work"), "{spent}");
}

/// A loop without end, a question about every launch, formulas, numbers: whatever asks, a budget alone ends it.
#[test]
fn every_command_ends_with_its_budget() {
    let endless = scratch(
        "budget",
        "endless.ptx",
        b".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 y)\n{\n.reg .b32 %r<2>;\n\
          mov.u32 %r1, 0;\nL: add.s32 %r1, %r1, 1;\nbra L;\n}\n",
    );
    let endless = endless.to_str().expect("a name in UTF-8");
    let launch = ["--threads", "64", "--budget", "200000"];
    for args in [
        &["race", endless][..],
        &["check", endless, endless],
        &["run", endless, "--arg", "0=out:f32[4]"],
        &["lift", endless],
        &["slack", endless],
        &["race", "--deterministic", endless],
        &["classes", endless, endless],
    ] {
        let args = [args, &launch].concat();
        let one = timeless(&args, "1");
        assert_eq!(one["verdict"], "unknown", "{args:?}: {one}");
        assert!(
            one["unknown"].to_string().contains("budget of work"),
            "{one}"
        );
        assert_eq!(timeless(&args, "3"), one, "{args:?}");
    }
    let any = ["race", "--any", endless, "--budget", "200000"];
    assert_eq!(timeless(&any, "1")["verdict"], "unknown");
}

#[test]
fn a_manifest_and_a_request_have_budgets() {
    let [naive, online] = [NAIVE, ONLINE].map(|file| root().join(file));
    let text = format!(
        "[[check]]\nname = \"small\"\nreference = {{ file = {naive:?} }}\noptimized = {{ file = {online:?} }}\nthreads = 4\n\
         budget = 10\nexpect = \"unknown\"\n\n\
         [[check]]\nname = \"large\"\nreference = {{ file = {naive:?} }}\noptimized = {{ file = {online:?} }}\nthreads = 4\n\
         budget = 100000000\nexpect = \"equivalent\"\n",
    );
    let manifest = scratch("budget", "volta.toml", text.as_bytes());
    let manifest = manifest.to_str().expect("a name in UTF-8");
    let gate = |jobs| {
        object(&volta(&[
            "gate",
            manifest,
            "--no-cache",
            "--json",
            "--jobs",
            jobs,
        ]))
    };
    let work = |gate: &Value| -> Vec<Value> {
        let entries = gate["entries"].as_array().expect("entries").iter();
        entries
            .map(|e| {
                assert_eq!(e["ok"], true, "{e}");
                e["result"]["stats"]["work"].clone()
            })
            .collect()
    };
    // The second entry finds the run of the first one's reference, which was not finished.
    assert_eq!(work(&gate("1")), work(&gate("3")));

    let mut server = Server::start(&["--jobs", "1"]);
    let mut ask = |budget: u64| {
        let answer = server.ask(&json!({"id": 1, "op": "check", "reference": {"path": naive}, "optimized": {"path": online},
            "launch": {"threads": 4}, "budget": budget}));
        answer["result"].clone()
    };
    assert_eq!(ask(10)["verdict"], "unknown");
    let large = ask(100_000_000);
    assert_eq!(large["verdict"], "equivalent");
    assert_eq!(large["inputs"]["options"]["budget"], 100_000_000);
    assert!(large["stats"]["work"].as_u64() > Some(10));
    server.end();
}
