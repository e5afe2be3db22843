//! What `race --any` calls clean, run in small launches: a fixed sample of what `benches/measured/any.py` does for all of them.
//!
//! Every entry of the families `any`, `calls` and `every` that expects `clean` is launched with blocks, grids and integers of
//! its own, by the command for one launch, which shares the simulator alone with the proof. Launches that the facts exclude
//! are passed over.

use rayon::prelude::*;

use volta::answer::{ErrorKind, Verdict};
use volta::input::{self, Files};
use volta::kernel::ParamKind;
use volta::race::race;
use volta::spec::manifest::{ArgText, Triple};
use volta::spec::{Layers, Manifest, Settings, Which};
use volta::work;

use super::kernels;

/// Block, grid, and the first of the integers, which the others follow.
const TRIED: [(u32, u32, u32); 7] = [
    (32, 3, 65),
    (64, 2, 127),
    (64, 4, 3),
    (5, 4, 17),
    (33, 2, 130),
    (1, 3, 2),
    (4, 1, 0),
];

#[test]
fn no_small_launch_breaks_what_is_clean_in_all() {
    let files = Files::new();
    let clean = |e: &[Settings; 2]| e[1].expect.as_deref() == Some("clean");
    let entries: Vec<[Settings; 2]> = ["any", "calls", "every"]
        .iter()
        .flat_map(|family| read(family).race)
        .flat_map(|e| e.instances)
        .filter(clean)
        .collect();
    let tried: Vec<Result<usize, String>> = work::each(entries.par_iter(), |e| sample(e, &files));
    let wrong: Vec<&String> = tried.iter().filter_map(|r| r.as_ref().err()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let count: usize = tried.iter().flatten().sum();
    assert!(count > 3 * entries.len(), "{count} launches were run");
}

fn read(family: &str) -> Manifest {
    let folder = kernels().join(family);
    let text = std::fs::read_to_string(folder.join("volta.toml")).expect("a manifest");
    Manifest::parse(&text, &folder).expect("a valid manifest")
}

/// How many launches of an entry were run, or the first one that breaks.
fn sample([defaults, entry]: &[Settings; 2], files: &Files) -> Result<usize, String> {
    let mut own = [defaults.clone(), entry.clone()];
    for settings in &mut own {
        settings.any = Some(false);
    }
    let [defaults, plain] = &own;
    let spec = Layers(&[defaults, plain]).kernel(Which::Kernel);
    let spec = spec.map_err(|e| format!("{:?}: {e:?}", entry.name))?;
    let lowered = input::lower(files, &spec).map_err(|e| e.message().to_string())?;
    let params = lowered.kernel.params.iter().enumerate();
    let is_free = |(i, p): &(usize, &volta::kernel::Param)| {
        let int = matches!(p.kind, ParamKind::Int { pointer: false, .. });
        int && p.bytes == 4 && !entry.args.contains_key(&i.to_string())
    };
    let free: Vec<usize> = params.filter(is_free).map(|(i, _)| i).collect();
    let mut count = 0;
    for (block, grid, first) in TRIED {
        let ints = free.iter().enumerate();
        let args = ints.map(|(k, i)| (i.to_string(), ArgText((first + k as u32 * 7).to_string())));
        let top = Settings {
            block: entry
                .block
                .or(entry.threads.map_or(Some(Triple([block, 1, 1])), |_| None)),
            grid: entry.grid.or(Some(Triple([grid, 1, 1]))),
            args: args.collect(),
            ..Settings::default()
        };
        let shown = format!(
            "{:?} block {block} grid {grid} integers from {first}",
            entry.name
        );
        match race(Layers(&[defaults, plain, &top]), files) {
            Ok(report) if report.verdict == Verdict::Defective => return Err(shown),
            Ok(_) => count += 1,
            // What the facts exclude is not asked.
            Err(failure) if failure.kind == ErrorKind::Fact => {}
            Err(failure) => return Err(format!("{shown}: {}", failure.message())),
        }
    }
    Ok(count)
}
