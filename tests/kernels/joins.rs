//! What one run of a kernel finds, another does not lose.
//!
//! A kernel is run again for each order of its atomics, each division of its lanes, each way of a branch on data and each
//! residue of an address. In every kernel here something happens in the k-th of these runs alone; the report has to tell
//! of it, or be open.

use std::path::{Path, PathBuf};

use volta::answer::{Report, Verdict, WarningKind};
use volta::check::check;
use volta::input::Files;
use volta::race::race;
use volta::spec::{Layers, Manifest};

/// What makes a kernel be run again.
struct Chance {
    name: &'static str,
    threads: u32,
    /// Sets `%p1` where a run is the k-th one.
    text: fn(usize) -> String,
    runs: usize,
    /// What is the same in all runs is found to be so, so that the verdict is `clean` where nothing else is wrong.
    settled: bool,
}

const CHANCES: [Chance; 4] = [
    Chance {
        name: "order",
        threads: 3,
        text: |k| {
            format!(
                "atom.global.add.u32 %r1, [%d0], 1;\nsetp.eq.u32 %p0, %r0, 0;\nsetp.eq.and.u32 %p1, %r1, {k}, %p0;\n"
            )
        },
        runs: 3,
        settled: true,
    },
    Chance {
        name: "division",
        threads: 32,
        text: |k| {
            let masks = [
                0xffff_ffffu32,
                0x2,
                0xaaaa_aaaa,
                0xffff,
                0x9249_2492,
                0xffff_fffe,
            ];
            format!(
                "activemask.b32 %r1;\nsetp.eq.u32 %p0, %r0, 1;\nsetp.eq.and.u32 %p1, %r1, {}, %p0;\n",
                masks[k]
            )
        },
        runs: 6,
        settled: true,
    },
    Chance {
        name: "way",
        threads: 2,
        text: |k| {
            let mut out = String::from("setp.eq.u32 %p1, %r0, 0;\n");
            for i in 0..3 {
                let is_set = k >> i & 1;
                out += &format!(
                    "ld.global.u32 %r6, [%d4+{}];\nsetp.ne.u32 %p2, %r6, 0;\n@!%p2 bra L{i};\nbar.sync 0;\nL{i}:\n\
                     selp.u32 %r7, 1, 0, %p2;\nsetp.eq.and.u32 %p1, %r7, {is_set}, %p1;\n",
                    4 * i
                );
            }
            out
        },
        runs: 8,
        settled: true,
    },
    Chance {
        name: "residue",
        threads: 2,
        text: |k| {
            format!(
                "mov.u32 %r1, sm;\nshr.u32 %r1, %r1, 2;\nand.b32 %r1, %r1, 3;\nsetp.eq.u32 %p0, %r0, 1;\n\
                 setp.eq.and.u32 %p1, %r1, {k}, %p0;\n"
            )
        },
        runs: 4,
        settled: false,
    },
];

/// What happens in one of the runs.
struct Event {
    name: &'static str,
    text: &'static str,
    is_told: fn(&Report) -> bool,
}

fn warns(report: &Report, kind: WarningKind) -> bool {
    report.warnings.iter().any(|w| w.kind == kind)
}

const EVENTS: [Event; 5] = [
    Event {
        name: "nothing",
        text: "",
        is_told: |r| r.verdict == Verdict::Clean,
    },
    Event {
        name: "a read of what was never written",
        text: "ld.shared.u32 %r3, [sm+8];\n",
        is_told: |r| warns(r, WarningKind::UninitializedRead),
    },
    Event {
        name: "a write to an input",
        text: "st.global.u32 [%d2], %r0;\n",
        is_told: |r| warns(r, WarningKind::WriteToInput),
    },
    Event {
        name: "a read where data choose",
        text: "ld.global.u32 %r2, [%d1];\nmul.wide.u32 %d5, %r2, 4;\nadd.u64 %d5, %d2, %d5;\nld.global.f32 %f0, [%d5];\n",
        is_told: |r| {
            let mut all = r.assumptions.iter();
            all.any(|a| a.message.contains("data choose"))
        },
    },
    Event {
        name: "a read beyond an array",
        text: "ld.global.f32 %f0, [%d2+16];\n",
        // Hardware may never divide the lanes of a warp so.
        is_told: |r| {
            let mut open = r.unknown.iter();
            let by_lanes = |message: &str| message.contains("if activemask names other lanes");
            r.verdict == Verdict::Defective || open.any(|u| by_lanes(&u.message))
        },
    },
];

/// A kernel in which something happens in one run.
fn kernel(chance: &Chance, k: usize, event: &Event) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n\
         .visible .entry k(.param .u64 c, .param .u64 idx, .param .u64 x, .param .u64 y, .param .u64 flag)\n{{\n\
         .reg .u64 %d<12>; .reg .u32 %r<12>; .reg .pred %p<4>; .reg .f32 %f<4>;\n.shared .align 4 .b8 sm[64];\n\
         ld.param.u64 %d0, [c];\nld.param.u64 %d1, [idx];\nld.param.u64 %d2, [x];\nld.param.u64 %d3, [y];\n\
         ld.param.u64 %d4, [flag];\nmov.u32 %r0, %tid.x;\n{}@!%p1 bra DONE;\n{}DONE:\nmul.wide.u32 %d5, %r0, 4;\n\
         add.u64 %d5, %d3, %d5;\nmov.u32 %r5, 1;\nst.global.u32 [%d5], %r5;\nret;\n}}\n",
        (chance.text)(k),
        event.text
    )
}

fn write(folder: &Path, chance: &Chance, k: usize, event: &Event) -> PathBuf {
    let path = folder.join(format!("{}-{k}-{}.ptx", chance.name, event.text.len()));
    std::fs::write(&path, kernel(chance, k, event)).expect("a file");
    path
}

/// The entry of a manifest that asks about kernels.
fn entry(what: &str, chance: &Chance) -> String {
    let (threads, extent) = (chance.threads, chance.threads);
    format!(
        "{what}\nname = \"it\"\nthreads = {threads}\nargs = {{ c = \"inout:u32[1]=0\", idx = \"in:u32[1]\", \
         x = \"in:f32[4]\", y = \"out:u32[{extent}]\", flag = \"in:u32[3]\" }}\n"
    )
}

fn looked_at(folder: &Path, chance: &Chance, k: usize, event: &Event) -> Report {
    let kernel = write(folder, chance, k, event);
    let text = entry(&format!("[[race]]\nkernel = {kernel:?}"), chance);
    let manifest = Manifest::parse(&text, folder).expect("a manifest");
    let [defaults, settings] = &manifest.race[0].instances[0];
    race(Layers(&[defaults, settings]), &Files::new()).expect("a report")
}

fn compared(folder: &Path, chance: &Chance, k: usize, event: &Event) -> Report {
    let [reference, optimized] = [&EVENTS[0], event].map(|e| write(folder, chance, k, e));
    let files = format!("[[check]]\nreference = {reference:?}\noptimized = {optimized:?}");
    let manifest = Manifest::parse(&entry(&files, chance), folder).expect("a manifest");
    let [defaults, settings] = &manifest.check[0].instances[0];
    check(Layers(&[defaults, settings]), &Files::new()).expect("a report")
}

#[test]
fn what_one_run_finds_is_told() {
    let folder = std::env::temp_dir().join(format!("volta-joins-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut lost = Vec::new();
    for chance in &CHANCES {
        for event in &EVENTS {
            for k in 0..chance.runs {
                let report = looked_at(&folder, chance, k, event);
                let is_open = report.verdict == Verdict::Unknown && !chance.settled;
                if !(event.is_told)(&report) && !is_open {
                    let (name, what) = (chance.name, event.name);
                    let verdict = report.verdict.name();
                    lost.push(format!("{name} {k}: {what}: {verdict}"));
                }
            }
        }
    }
    std::fs::remove_dir_all(&folder).ok();
    assert!(lost.is_empty(), "{} lost:\n{}", lost.len(), lost.join("\n"));
}

/// Where data choose a place in one run only, that place has to lie in the array nevertheless.
#[test]
fn places_of_one_run_need_their_bounds() {
    let folder = std::env::temp_dir().join(format!("volta-bounds-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut lost = Vec::new();
    for chance in CHANCES.iter().filter(|c| c.settled) {
        for k in 0..chance.runs {
            let [same, chosen] = [0, 3].map(|e| compared(&folder, chance, k, &EVENTS[e]).verdict);
            if same != Verdict::Equivalent || chosen == Verdict::Equivalent {
                let [same, chosen] = [same, chosen].map(|v| v.name());
                lost.push(format!("{} {k}: {same}, then {chosen}", chance.name));
            }
        }
    }
    std::fs::remove_dir_all(&folder).ok();
    assert!(
        lost.is_empty(),
        "{} wrong:\n{}",
        lost.len(),
        lost.join("\n")
    );
}
