//! Random programs on data of which facts are known, against the same programs on data that is known: what is clean for all
//! data that the facts allow has no defect on any.
//!
//! The programs have shared memory, barriers, swizzles, parameters, registers that paths leave unequal, tables of targets,
//! tickets, and branches and places that data choose. `VOLTA_RANDOM_LAUNCHES` is how many are made.

use rayon::prelude::*;

use volta::answer::{Report, Verdict};
use volta::input::Files;
use volta::race::race;
use volta::spec::{Layers, Manifest};
use volta::work;

use super::control_slice::{below, random_program};
use super::manifest::folder;

/// Programs that are made.
const PROGRAMS: u64 = 240;
/// Contents of each that are known.
const CONTENTS: u64 = 4;

/// The answer about a program, by what its arrays of numbers and of integers are bound to.
fn answer(seed: u64, n: u64, [floats, integers]: [&str; 2], facts: &str) -> Report {
    let folder = folder("random_launches");
    let path = folder.join(format!("{seed}.ptx"));
    let entry = format!(
        "[[race]]\nname = \"{seed}\"\nkernel = {path:?}\nthreads = 64\nbudget = 20000000\nassume = [{facts}]\n\
         args = {{ a = \"in:f32[80]{floats}\", b = \"out:f32[64]\", c = \"in:u32[64]{integers}\", n = \"{n}\" }}\n"
    );
    let manifest = Manifest::parse(&entry, &folder).expect("a manifest");
    let [defaults, settings] = &manifest.race[0].instances[0];
    let answer = race(Layers(&[defaults, settings]), &Files::new());
    answer.unwrap_or_else(|e| panic!("{seed}: {e}\n{}", random_program(seed, true)))
}

/// The verdict for all data, and a content that it is wrong of.
fn judged(seed: u64) -> (Verdict, Option<String>) {
    let folder = folder("random_launches");
    std::fs::write(
        folder.join(format!("{seed}.ptx")),
        random_program(seed, true),
    )
    .expect("a file");
    let mut state = (seed + 7).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let n = below(&mut state, 70);
    // Of places that threads add their number to, some facts keep all inside.
    let end = [2, 16, 17, 64, 80, 81][below(&mut state, 6) as usize];
    let all = answer(seed, n, ["", ""], &format!("\"c in 0..{end}\""));
    if all.verdict != Verdict::Clean {
        return (all.verdict, None);
    }
    for k in 0..CONTENTS {
        let values = |state: &mut u64, count: u64, end: u64| {
            let one = |_| match k {
                0 => (end - 1).to_string(),
                _ => below(state, end).to_string(),
            };
            format!("=[{}]", (0..count).map(one).collect::<Vec<_>>().join(","))
        };
        let floats = values(&mut state, 80, 9).replace('8', "-1.5");
        let integers = values(&mut state, 64, end);
        let known = answer(seed, n, [&floats, &integers], "");
        if known.verdict == Verdict::Defective {
            let why = &known.defects[0].message;
            return (all.verdict, Some(format!("{seed}: {why} with c{integers}")));
        }
    }
    (all.verdict, None)
}

#[test]
fn what_is_clean_for_all_data_is_clean_on_any() {
    let count = std::env::var("VOLTA_RANDOM_LAUNCHES").ok();
    let count = count.map_or(PROGRAMS, |n| n.parse().expect("a number"));
    let seeds: Vec<u64> = (0..count).collect();
    let all = work::each(seeds.par_iter(), |&seed| judged(seed));
    let wrong: Vec<&String> = all.iter().filter_map(|a| a.1.as_ref()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    for verdict in [Verdict::Clean, Verdict::Defective] {
        let found = all.iter().filter(|a| a.0 == verdict).count();
        assert!(found as u64 > count / 20, "{found} are {}", verdict.name());
    }
}
