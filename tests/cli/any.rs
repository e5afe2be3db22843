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

/// Integer instructions mean in every launch what they mean in one: places that they keep apart are apart, and others are not.
#[test]
fn integer_instructions_choose_places_in_every_launch() {
    let cases = [
        ("bfi.b32 %r2, %r1, 0, 3, 8;", "clean"),
        ("bfe.s32 %r2, %r1, 0, 9;", "clean"),
        ("lop3.b32 %r2, %r1, 0x55, 0, 0x3c;", "clean"),
        ("shf.l.wrap.b32 %r2, 0, %r1, 4;", "clean"),
        ("brev.b32 %r2, %r1; shr.u32 %r2, %r2, 24;", "clean"),
        ("prmt.b32 %r2, %r1, 0, 0x4440;", "clean"),
        ("mul24.lo.u32 %r2, %r1, 3;", "clean"),
        ("dp4a.u32.u32 %r2, %r1, 5, 0;", "clean"),
        ("slct.s32.s32 %r2, %r1, 0, %r1;", "clean"),
        (
            "add.cc.u32 %r2, %r1, 0xfffffff0; addc.u32 %r2, %r1, %r1;",
            "clean",
        ),
        ("sad.u32 %r2, %r1, 7, %r1;", "defective"),
        ("mul.hi.u32 %r2, %r1, 0x40000000;", "defective"),
        ("cnot.b32 %r2, %r1;", "defective"),
        ("popc.b32 %r2, %r1;", "defective"),
    ];
    for (i, (body, verdict)) in cases.into_iter().enumerate() {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 y)\n.reqntid 256, 1, 1\n{{\n\
             .reg .b32 %r<3>;\n.reg .b64 %rd<4>;\nld.param.u64 %rd1, [y];\nmov.u32 %r1, %tid.x;\n{body}\n\
             mul.wide.u32 %rd2, %r2, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r1;\nret;\n}}\n"
        );
        let path = scratch("any", &format!("place{i}.ptx"), text.as_bytes());
        let path = path.to_str().expect("a name in UTF-8");
        let args = ["--grid", "1", "--arg", "0=out:u32[65536]"];
        let output = volta(&[&["race", "--any", path, "--json"], &args[..]].concat());
        let object = json(&output);
        assert_eq!(object["verdict"], verdict, "{body}: {object}");
    }
}
