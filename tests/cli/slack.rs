//! Which synchronising operations are needed; what is spare is cut out of the text, and the kernel is as clean as before.

use super::{json, root, scratch, volta};

/// A kernel, its launch, and what each of its operations is, in the order of the text.
type Case = (
    &'static str,
    &'static [&'static str],
    &'static [(&'static str, &'static str)],
);

const CASES: [Case; 4] = [
    (
        "kernels/races/tiled_matmul.ptx",
        &[
            "--block=8,8",
            "--arg=0=in:f32[8,16]",
            "--arg=1=in:f32[16,8]",
            "--arg=2=out:f32[8,8]",
        ],
        &[("bar.sync", "needed"); 5],
    ),
    (
        "kernels/cluster/dsmem.ptx",
        &[
            "--threads=64",
            "--grid=4",
            "--arg=0=in:f32[256]",
            "--arg=1=out:f32[256]",
        ],
        &[("barrier.cluster", "needed"); 2],
    ),
    (
        "kernels/cluster/reduce_pull.ptx",
        &[
            "--threads=64",
            "--grid=8",
            "--arg=0=in:f32[512]",
            "--arg=1=out:f32[2]",
        ],
        &[
            ("bar.sync", "needed"),
            ("bar.sync", "needed"),
            ("bar.sync", "needed"),
            ("bar.sync", "needed"),
            ("bar.sync", "needed"),
            ("bar.sync", "needed"),
            ("bar.sync", "spare"),
            ("barrier.cluster", "spare"),
            ("barrier.cluster", "spare"),
            ("barrier.cluster", "needed"),
        ],
    ),
    // The halves of a barrier of the cluster stand apart, and are one place.
    (
        "kernels/cluster/split.ptx",
        &["--threads=64", "--grid=4", "--arg=0=out:f32[256]"],
        &[("barrier.cluster", "spare")],
    ),
];

/// Takes an operation out of a text; of a barrier of the cluster both halves.
fn cut(lines: &mut [String], line: usize, op: &str) {
    let halves = ["barrier.cluster.arrive", "barrier.cluster.wait"];
    let names = if op == "barrier.cluster" {
        &halves[..]
    } else {
        &[op]
    };
    for name in names {
        let from = lines[line - 1..].iter_mut();
        let found = from.filter(|l| l.contains(name)).take(1);
        for text in found {
            let start = text.find(name).expect("the operation");
            let length = text[start..].find(';').expect("the end of it");
            text.replace_range(start..=start + length, "");
        }
    }
}

#[test]
fn what_is_spare_can_be_cut_out() {
    for (n, (kernel, launch, states)) in CASES.iter().enumerate() {
        let ask = |command: &str, file: &str| {
            let args = [&[command, file, "--json"], *launch].concat();
            json(&volta(&args))
        };
        let answer = ask("slack", kernel);
        assert_eq!(answer["verdict"], "clean", "{answer}");
        let sync = answer["sync"].as_array().expect("a list");
        let found: Vec<(&str, &str)> = sync
            .iter()
            .map(|s| {
                (
                    s["op"].as_str().expect("a name"),
                    s["state"].as_str().expect("a state"),
                )
            })
            .collect();
        assert_eq!(found, *states, "{kernel}");
        let text = std::fs::read_to_string(root().join(kernel)).expect("the PTX");
        let spare: Vec<usize> = (0..sync.len()).filter(|&i| found[i].1 == "spare").collect();
        let together = answer["together"].as_array().expect("a list");
        let together: Vec<usize> = together
            .iter()
            .filter_map(|i| Some(i.as_u64()? as usize))
            .collect();
        assert_eq!(together.is_empty(), spare.is_empty(), "{kernel}");
        let alone = spare.into_iter().map(|i| vec![i]);
        for (k, set) in alone.chain([together]).enumerate() {
            let mut lines: Vec<String> = text.lines().map(String::from).collect();
            for i in set {
                let line = sync[i]["site"]["line"].as_u64().expect("a line");
                cut(&mut lines, line as usize, found[i].0);
            }
            let path = scratch(
                "slack",
                &format!("{n}_{k}.ptx"),
                lines.join("\n").as_bytes(),
            );
            let path = path.to_str().expect("a name in UTF-8");
            assert_eq!(ask("race", path)["verdict"], "clean", "{kernel}, {k}");
        }
    }
}

/// A barrier that nothing needs in this launch, whose one warp needs none, and a fence for readers beyond the launch.
const BEYOND: &str = "
.version 8.5
.target sm_90
.address_size 64
.visible .entry beyond(.param .u64 y) .reqntid 32
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [y];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd2, %rd1, %rd2;
    bar.sync 0;
    st.global.u32 [%rd2], %r1;
    fence.acq_rel.sys;
    ret;
}
";

#[test]
fn what_is_unjudged_says_why_in_every_format() {
    let path = scratch("slack", "beyond.ptx", BEYOND.as_bytes());
    let path = path.to_str().expect("a name in UTF-8");
    let why = "no launch shows the order that the host and other devices see";
    let answer = json(&volta(&["slack", path, "--json"]));
    assert_eq!(answer["sync"][0]["state"], "spare", "{answer}");
    assert!(answer["sync"][0]["why"].is_null(), "{answer}");
    assert_eq!(answer["sync"][1]["state"], "unjudged", "{answer}");
    assert_eq!(
        answer["sync"][1]["why"]["kind"], "unsupported-instruction",
        "{answer}"
    );
    assert_eq!(answer["sync"][1]["why"]["message"], why, "{answer}");
    for format in ["human", "html"] {
        let out = volta(&["slack", path, "--format", format]);
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(text.contains(why), "{text}");
        assert!(
            text.contains("fence.acq_rel.sys") || format == "human",
            "{text}"
        );
    }
    // A limit is a reason too.
    let cut = json(&volta(&["slack", path, "--json", "--timeout", "0"]));
    let states = cut["sync"].as_array().expect("a list").iter();
    assert!(states.clone().all(|s| s["state"] == "unjudged"), "{cut}");
    assert!(states.clone().all(|s| !s["why"].is_null()), "{cut}");
}

#[test]
fn a_gate_notes_what_is_needed_beside_its_verdict() {
    scratch("slack-gate", "beyond.ptx", BEYOND.as_bytes());
    let manifest = "[[race]]\nname = \"beyond\"\nkernel = \"beyond.ptx\"\nslack = true\n";
    let path = scratch("slack-gate", "volta.toml", manifest.as_bytes());
    let path = path.to_str().expect("a name in UTF-8");
    let out = volta(&["gate", path, "--json", "--no-cache"]);
    assert_eq!(out.status.code(), Some(0));
    let entry = &json(&out)["entries"][0];
    assert_eq!(entry["ok"], true, "{entry}");
    assert_eq!(entry["result"]["command"], "race", "{entry}");
    assert_eq!(entry["result"]["sync"][0]["state"], "spare", "{entry}");
    assert_eq!(entry["result"]["together"][0], 0, "{entry}");
}

#[test]
fn every_launch_widens_what_is_said() {
    let path = scratch("slack", "beyond.ptx", BEYOND.as_bytes());
    let path = path.to_str().expect("a name in UTF-8");
    let answer = json(&volta(&["slack", path, "--json", "--any"]));
    assert_eq!(answer["every_launch"], true, "{answer}");
    assert_eq!(answer["verdict"], "clean", "{answer}");
    assert_eq!(answer["sync"][0]["state"], "spare", "{answer}");
    assert_eq!(
        json(&volta(&["slack", path, "--json"]))["every_launch"],
        false
    );
}
