//! The table of protocol rules against the gate: the kernel that keeps a rule is clean, and the one that breaks it gets the
//! kind of finding that the row names.

use std::collections::BTreeMap;

use volta::answer::protocols::RULES;

/// What the ledgers say of each entry of `kernels/protocols`: `entry`, verdict, kinds, and more, apart by tabs.
fn recorded() -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    for file in std::fs::read_dir(super::kernels().join("protocols")).expect("the folder") {
        let path = file.expect("a file").path();
        if path.extension().is_none_or(|e| e != "ledger") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a ledger");
        for line in text.lines().filter(|l| !l.starts_with('#')) {
            if let Some((name, rest)) = line.split_once('\t') {
                out.insert(name.to_string(), rest.to_string());
            }
        }
    }
    out
}

#[test]
fn every_rule_has_a_right_and_a_wrong_kernel_in_the_gate() {
    let all = recorded();
    let of = |entry: &str| {
        let found = all.get(entry);
        found.unwrap_or_else(|| panic!("{entry} is in no ledger of kernels/protocols"))
    };
    for rule in RULES {
        let (right, wrong) = (of(rule.right.entry), of(rule.wrong.entry));
        assert!(right.contains("clean"), "{}: {right}", rule.name);
        assert!(!right.contains("defect:"), "{}: {right}", rule.name);
        let warned = format!("warning:{}", rule.kind);
        assert!(!right.contains(&warned), "{}: {right}", rule.name);
        let found = format!("defect:{}", rule.kind);
        assert!(
            wrong.contains(&found) || wrong.contains(&warned),
            "{}: {wrong}",
            rule.name
        );
    }
}
