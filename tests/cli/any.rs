//! Questions about every launch: where they are offered, and when they end.

use std::time::{Duration, Instant};

use super::{NAIVE, ONLINE, json, scratch, volta};

#[test]
fn a_proof_at_some_sizes_offers_the_question_about_every_launch() {
    let sized = "--threads 4 --for n=4,8 --arg 0=in:f32[{n}] --arg 1=out:f32[{n}]";
    let copy = |name: &str, factor: &str| {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry {name}(.param .u64 x, .param .u64 y)\n{{\n\
             .reg .b32 %r<2>;\n.reg .f32 %f<3>;\n.reg .b64 %rd<6>;\nld.param.u64 %rd1, [x];\nld.param.u64 %rd2, [y];\n\
             mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\n\
             ld.global.f32 %f1, [%rd4];\nmul.f32 %f2, %f1, {factor};\nst.global.f32 [%rd5], %f2;\nret;\n}}\n"
        );
        let path = scratch("any", &format!("{name}.ptx"), text.as_bytes());
        path.to_str().expect("a name in UTF-8").to_string()
    };
    let (first, second, third) = (
        copy("first", "0f40000000"),
        copy("second", "0f40000000"),
        copy("third", "0f40400000"),
    );
    let said = |other: &str| {
        let mut args = vec!["check", first.as_str(), other];
        args.extend(sized.split(' '));
        String::from_utf8(volta(&args).stdout).expect("UTF-8")
    };
    let proved = said(&second);
    for line in [
        format!("volta race --any {first} --entry first"),
        format!("volta race --any {second} --entry second"),
    ] {
        assert!(proved.contains(&line), "{proved}");
    }
    // Nothing is offered where the sizes that were run differ already.
    let differs = said(&third);
    assert!(!differs.contains("race --any"), "{differs}");
}

#[test]
fn every_launch_ends_soon_after_its_time() {
    // Each atomic meets all that came before it at its place: one launch of it alone takes longer than is given.
    let kinds = ["add.u32", "min.u32", "and.b32", "or.b32", "max.u32"];
    let body: String = (0..40)
        .map(|i| format!("atom.global.{} %r1, [%rd1], 3;\n", kinds[i % kinds.len()]))
        .collect();
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 y)\n.reqntid 1024, 1, 1\n{{\n\
         .reg .b32 %r<2>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [y];\n{body}ret;\n}}\n"
    );
    let path = scratch("any", "atomics.ptx", text.as_bytes());
    let path = path.to_str().expect("a name in UTF-8");
    let start = Instant::now();
    let output = volta(&["race", "--any", path, "--timeout", "1", "--json"]);
    // A second more is what a user waits; the rest is for a machine that other tests load.
    assert!(start.elapsed() < Duration::from_secs(8));
    let object = json(&output);
    let code = output.status.code();
    assert!(
        matches!(object["verdict"].as_str(), Some("clean" | "unknown")),
        "{object}"
    );
    assert_eq!(code == Some(0), object["verdict"] == "clean", "{object}");
    for question in [NAIVE, ONLINE] {
        let output = volta(&["race", "--any", question, "--timeout", "0", "--json"]);
        assert_eq!(output.status.code(), Some(3));
        let object = json(&output);
        let unknown = object["unknown"].as_array().expect("reasons");
        assert!(unknown.iter().any(|u| u["kind"] == "limit"), "{object}");
    }
}
