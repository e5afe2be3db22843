//! Runs without values against runs with them, on the kernels of `kernels/` and on random programs: the same
//! findings, warnings and counts, and nothing taken for granted that a run with values does not.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use volta::input::{self, Files};
use volta::kernel::Kernel;
use volta::sim::{self, Noting, Outcome, Side, UnknownKind};
use volta::spec::{self, KernelSpec, Layers, Limits, Manifest, Which};
use volta::work;

use super::launched::{Case, cases};

/// Every so many entries are compared, unless all are asked for.
const SAMPLE: usize = 12;
/// Set by the script that compares all.
const ALL: &str = "VOLTA_COMPARE_ALL";
/// Entries whose runs take longer are left to the script.
const SECONDS: u64 = 4;

/// What was found, where and how often; and what was written.
fn told(o: &Outcome) -> String {
    fn all<K: std::fmt::Debug>(list: &[sim::Finding<K>]) -> Vec<String> {
        let one = |f: &sim::Finding<K>| {
            let at: Vec<u32> = f.sites.iter().map(|s| s.pc.0).collect();
            format!("{:?} at {at:?}, {} times", f.kind, f.count)
        };
        list.iter().map(one).collect()
    }
    let found = [all(&o.defects), all(&o.warnings), all(&o.unknowns)];
    let open = (o.conditionals.len(), o.obligations.len());
    let places: Vec<_> = o.writes.keys().collect();
    let (arrivals, syncs) = (o.stats.barrier_arrivals, o.stats.warp_syncs);
    format!("{found:?}, {open:?}, {arrivals} arrivals, {syncs} of warps, {places:?}")
}

/// Instructions of threads and accesses. A run without values takes both ways of a test whose answer is known, but only
/// by the values of numbers.
fn steps(o: &Outcome) -> [u64; 2] {
    [o.stats.thread_instructions, o.stats.accesses]
}

/// What a run without values tells otherwise than one with values, and whether it was used; `None` if they take too
/// long.
fn told_otherwise(kernel: &Kernel, spec: &KernelSpec) -> Option<(bool, Option<String>)> {
    let setup = spec::resolve(&[(kernel, spec)], &[]).ok()?;
    let resolved = &setup.kernels[0];
    let seconds = std::env::var_os(ALL).map_or(SECONDS, |_| 60 * SECONDS);
    let run = |without_values| {
        let limits = Limits {
            deadline: Some(Instant::now() + Duration::from_secs(seconds)),
            memory: None,
        };
        let mut noting = Noting::default();
        noting.known.without_values = without_values;
        let inputs = sim::Inputs {
            kernel,
            launch: &resolved.launch,
            mode: resolved.mode,
            bindings: &resolved.bindings,
            arrays: &resolved.arrays,
            side: Side::Reference,
            limits: &limits,
        };
        sim::run_noting(&inputs, &noting)
    };
    let kind = |kind| move |u: &sim::Finding<UnknownKind>| u.kind == kind;
    let ends = |o: &Outcome| !o.unknowns.iter().any(kind(UnknownKind::Limit));
    let with = Some(run(false)).filter(ends)?;
    let without = Some(run(true)).filter(ends)?;
    if !without.without_values {
        let (a, b) = (told(&with), told(&without));
        let same = a == b && with.assumptions == without.assumptions;
        return Some((
            false,
            (!same).then(|| format!("{a} with values, {b} at last")),
        ));
    }
    // That a number is not known says nothing about accesses that do not depend on it.
    let open = with.conditionals.len() + with.obligations.len() + with.defects.len();
    let of_numbers = open == 0 && !with.unknowns.is_empty();
    if of_numbers && with.unknowns.iter().all(kind(UnknownKind::Undecided)) {
        return Some((true, None));
    }
    let (a, b) = (told(&with), told(&without));
    let more = without.assumptions.iter();
    let more: Vec<_> = more.filter(|a| !with.assumptions.contains(a)).collect();
    let fewer = steps(&with)
        .iter()
        .zip(steps(&without))
        .any(|(a, b)| *a > b);
    let why = (a != b || fewer).then(|| format!("{a} with values, {b} without"));
    let taken = (!more.is_empty()).then(|| format!("takes for granted {more:?}"));
    Some((true, why.or(taken)))
}

#[test]
fn runs_without_values_find_what_runs_with_values_find() {
    let files = Files::new();
    let cases = cases(&files);
    let step = std::env::var_os(ALL).map_or(SAMPLE, |_| 1);
    let sample: Vec<&Case> = cases.iter().step_by(step).collect();
    let results = work::each(sample.par_iter(), |c| {
        let (used, why) = told_otherwise(&c.kernel, &c.spec)?;
        Some((&*c.name, used, why))
    });
    let results: Vec<(&str, bool, Option<String>)> = results.into_iter().flatten().collect();
    let used = results.iter().filter(|r| r.1).count();
    println!(
        "{used} of {} made no values, {} in all",
        results.len(),
        cases.len()
    );
    assert!(
        3 * used > results.len(),
        "{used} of {} made no values",
        results.len()
    );
    let differ = results.iter().filter_map(|r| Some((r.0, r.2.as_ref()?)));
    let differ: Vec<String> = differ.map(|(name, why)| format!("{name}: {why}")).collect();
    assert!(
        differ.is_empty(),
        "{} differ:\n{}",
        differ.len(),
        differ.join("\n")
    );
}

/// A number below `n`, by xorshift.
pub(crate) fn below(state: &mut u64, n: u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) % n
}

fn pick(state: &mut u64, list: &[&'static str]) -> &'static str {
    list[below(state, list.len() as u64) as usize]
}

/// A program of 64 threads on floats, integers made of their bits, shared memory, barriers and branches; with integers,
/// those of an array choose places and targets of branches too, and threads take tickets.
pub(crate) fn random_program(seed: u64, integers: bool) -> String {
    let mut state = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let r = &mut state;
    let mut code = String::new();
    let (mut open, mut labels) = (None, 0);
    let places = ["%r10", "%r11", "%r12"];
    for _ in 0..4 + below(r, 14) {
        let floats = ["%f0", "%f1", "%f2"];
        let (a, b) = (pick(r, &floats), pick(r, &floats));
        let (at, p) = (pick(r, &places), pick(r, &["%p0", "%p1"]));
        let guard = pick(r, &["", "", "", "@%p0 ", "@!%p1 "]);
        let line = match below(r, if integers { 24 } else { 17 }) {
            0 => format!("{guard}ld.global.f32 {a}, [%rd1];"),
            n @ 1..=4 => {
                let access = match n {
                    1 | 2 => format!("{guard}st.shared.f32 [{at}], {a};"),
                    _ => format!("{guard}ld.shared.f32 {a}, [{at}];"),
                };
                let [before, after] = [below(r, 8), below(r, 8)].map(|n| match n {
                    1.. if open.is_none() => "bar.sync 0;",
                    _ => "",
                });
                format!("{before} {access} {after}")
            }
            5 | 6 if open.is_none() => "bar.sync 0;".to_string(),
            7 => format!("fma.rn.f32 {a}, {a}, {b}, {b};"),
            8 => format!("setp.gt.f32 {p}, {a}, {b};"),
            9 => format!("selp.f32 {a}, {a}, {b}, {p};"),
            10 => format!("mov.b32 %r1, {a}; and.b32 %r1, %r1, 4; setp.eq.s32 {p}, %r1, 4;"),
            11 => format!("cvt.rzi.s32.f32 %r2, {a}; and.b32 %r2, %r2, 252;"),
            12 => format!("setp.lt.u32 {p}, %r0, {};", below(r, 64)),
            13 if open.is_none() => {
                labels += 1;
                open = Some(labels);
                format!("{} bra L{labels};", pick(r, &["@%p0", "@!%p1"]))
            }
            14 => match open.take() {
                Some(n) => format!("L{n}:"),
                None => format!("{guard}st.global.f32 [%rd2], {a};"),
            },
            15 => format!("{guard}st.shared.u16 [{at}], %h1; cvt.rn.f16.f32 %h1, {a};"),
            17 => format!("and.b32 %r4, %r0, {}; shl.b32 %r4, %r4, 2; xor.b32 %r5, %r8, %r4; add.s32 %r12, %r9, %r5;", below(r, 8)),
            18 => format!("and.b32 %r4, %r3, {}; shl.b32 %r4, %r4, 2; add.s32 %r11, %r9, %r4;", pick(r, &["255", "63", "15"])),
            19 => "add.u32 %r4, %r3, %r0; shl.b32 %r4, %r4, 2; add.s32 %r10, %r9, %r4;".to_string(),
            20 => format!("setp.lt.u32 {p}, {}, %r6;", pick(r, &["%r0", "%r3"])),
            21 => format!("{guard}atom.shared.add.u32 %r13, [s+316], 1; setp.eq.u32 {p}, %r13, {};", pick(r, &["0", "63"])),
            22 if open.is_none() => {
                labels += 1;
                format!("T{labels}: .branchtargets A{labels}, B{labels}; and.b32 %r4, %r3, 1; brx.idx %r4, T{labels}; A{labels}: add.f32 {a}, {a}, {b}; {} B{labels}:", pick(r, &["st.shared.f32 [%r10], %f0;", "", "ld.shared.f32 %f1, [%r11];"]))
            }
            23 => "shl.b32 %r4, %r3, 2; cvt.u64.u32 %rd4, %r4; add.s64 %rd4, %rd6, %rd4; ld.global.f32 %f2, [%rd4];".to_string(),
            _ if open.is_none() => {
                format!("shfl.sync.bfly.b32 {a}, {b}, 1, 31, -1; vote.sync.any.pred {p}, {p}, -1;")
            }
            _ => format!("div.rn.f32 {a}, {b}, 0f40000000;"),
        };
        code += &format!("    {line}\n");
    }
    let end = open.map_or(String::new(), |n| format!("L{n}:\n"));
    let (more, read) = match integers {
        true => (
            ", .param .u64 c, .param .u32 n",
            "ld.param.u64 %rd5, [c]; ld.param.u64 %rd6, [a]; ld.param.u32 %r6, [n]; add.s64 %rd5, %rd5, %rd3; ld.global.u32 %r3, [%rd5];\n",
        ),
        false => ("", ""),
    };
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b{more})\n{{\n\
         .reg .pred %p<4>; .reg .f32 %f<4>; .reg .b16 %h<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>; .shared .align 4 .f32 s[80];\n\
         ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd3, %r0, 4;\n\
         add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd3; mov.u32 %r9, s; shl.b32 %r8, %r0, 2; add.s32 %r10, %r9, %r8;\n\
         xor.b32 %r7, %r8, 4; add.s32 %r11, %r9, %r7; add.s32 %r12, %r10, 32;\n{read}\
         ld.global.f32 %f0, [%rd1]; mov.f32 %f1, 0f3F800000; mov.f32 %f2, %f0; mov.b16 %h1, 0;\n\
         setp.gt.f32 %p0, %f0, 0f00000000; setp.lt.u32 %p1, %r0, 32; st.shared.f32 [%r10], %f0; setp.ge.u32 %p2, %r0, 48; @%p2 st.shared.f32 [%r10+64], %f0;\n\
         bar.sync 0;\n{code}{end}    st.global.f32 [%rd2], %f0;\n    ret;\n}}\n"
    )
}

#[test]
fn random_programs_without_values_are_told_as_with_values() {
    let folder = std::env::temp_dir().join(format!("volta-omit-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let seeds: Vec<u64> = (0..600).collect();
    let results = work::each(seeds.par_iter(), |&seed| {
        let path = folder.join(format!("{seed}.ptx"));
        std::fs::write(&path, random_program(seed, false)).expect("a file");
        let entry = format!("[[race]]\nname = \"{seed}\"\nkernel = {path:?}\nthreads = 64\n");
        let manifest = Manifest::parse(&entry, &folder).expect("a manifest");
        let [defaults, settings] = &manifest.race[0].instances[0];
        let spec = Layers(&[defaults, settings])
            .kernel(Which::Kernel)
            .expect("an entry");
        let lowered = input::lower(&Files::new(), &spec).expect("a program");
        let (used, why) = told_otherwise(&lowered.kernel, &spec)?;
        Some((seed, used, why))
    });
    let results: Vec<(u64, bool, Option<String>)> = results.into_iter().flatten().collect();
    std::fs::remove_dir_all(&folder).expect("the folder");
    let used = results.iter().filter(|r| r.1).count();
    assert!(used > 60, "{used} of {} made no values", results.len());
    for (seed, _, why) in results {
        let why = why.map(|w| format!("{w}\n{}", random_program(seed, false)));
        assert!(why.is_none(), "{}", why.unwrap_or_default());
    }
}
