//! Litmus programs: what `race` and `check` say of them against every execution that the axioms allow.
//!
//! The programs are the shapes of the literature with every access and fence varied, and random ones. A verdict may
//! be `unknown`; `clean` needs that no execution has a race or waits for ever, `defective` that some has, and
//! `equivalent` to some numbers that no execution gives others.

mod axioms;
mod text;

use std::path::Path;
use std::sync::Arc;

use volta::answer::Verdict;
use volta::check::check;
use volta::diag::Source;
use volta::input::{self, Files};
use volta::race::race;
use volta::spec::{Layers, Settings};

use axioms::{Allowed, Op, Program, Rmw, Scope, Sem, executions};

struct Judged {
    verdict: Verdict,
    says: String,
}

fn settings(p: &Program, apart: usize, kept: usize, files: &str) -> Settings {
    let (ctas, threads) = text::launch(p);
    let block = (threads - 1) * apart + 1;
    let text = format!(
        "{files}\ngrid = [{ctas}, 1, 1]\nblock = [{block}, 1, 1]\n\
         args = {{ \"0\" = \"scratch:u32[4]=0\", \"1\" = \"out:u32[{}]\" }}\n",
        kept.max(1)
    );
    toml::from_str(&text).expect("settings")
}

fn file(files: &Files, name: &str, text: &str) {
    let source = Source::new(name, text).expect("a short text");
    files.insert(Path::new(name), input::parse(Arc::new(source)));
}

fn judged(command: &str, p: &Program, apart: usize, outcome: Option<&[u32]>) -> Judged {
    let (program, kept) = text::program(p, apart);
    let files = Files::new();
    file(&files, "litmus.ptx", &program);
    let result = match outcome {
        None => race(
            Layers(&[&settings(p, apart, kept, "kernel = \"litmus.ptx\"")]),
            &files,
        ),
        Some(outcome) => {
            file(&files, "outcome.ptx", &text::reference(outcome));
            let (ctas, threads) = text::launch(p);
            let block = (threads - 1) * apart + 1;
            let sides = format!(
                "reference = {{ file = \"outcome.ptx\", grid = [1, 1, 1], block = [1, 1, 1] }}\n\
                 optimized = {{ file = \"litmus.ptx\", grid = [{ctas}, 1, 1], block = [{block}, 1, 1] }}"
            );
            check(Layers(&[&settings(p, apart, kept, &sides)]), &files)
        }
    };
    let report = result.unwrap_or_else(|e| panic!("{command}: {}\n{program}", e.render()));
    let defects = report
        .defects
        .iter()
        .map(|d| format!("{:?}: {}", d.kind, d.message));
    let unknown = report
        .unknown
        .iter()
        .map(|d| format!("{:?}: {}", d.kind, d.message));
    let says = defects.chain(unknown).collect::<Vec<_>>().join("\n  ");
    Judged {
        verdict: report.verdict,
        says,
    }
}

/// Counts of verdicts.
#[derive(Debug, Default)]
struct Counts {
    decided: usize,
    unknown: usize,
    wrong: Vec<String>,
}

impl Counts {
    fn one(&mut self, name: &str, p: &Program, apart: usize, right: bool, j: &Judged) {
        if !right {
            let (program, _) = text::program(p, apart);
            let allowed = executions(p);
            let text = format!(
                "{name}: {:?} of {p:?}\n{allowed:?}\n  {}\n{program}",
                j.verdict, j.says
            );
            self.wrong.push(text);
        }
        match j.verdict {
            Verdict::Unknown => self.unknown += 1,
            _ => self.decided += 1,
        }
    }

    fn look(&mut self, p: &Program, apart: usize) {
        if races_with_rounds(p) {
            return;
        }
        let allowed = executions(p);
        let bad = allowed.race || allowed.stuck;
        let j = judged("race", p, apart, None);
        let right = match j.verdict {
            Verdict::Clean => !bad,
            Verdict::Defective => bad,
            _ => true,
        };
        self.one("race", p, apart, right, &j);
        if allowed.race && j.verdict == Verdict::Defective {
            return;
        }
        let Allowed { outcomes, .. } = &allowed;
        for outcome in outcomes.iter().take(3) {
            let j = judged("check", p, apart, Some(outcome));
            let right = match j.verdict {
                Verdict::Equivalent => !bad && outcomes.len() == 1,
                Verdict::NotEquivalent => outcomes.len() > 1,
                Verdict::Defective => bad,
                _ => true,
            };
            self.one(&format!("check against {outcome:?}"), p, apart, right, &j);
        }
    }
}

/// True if some thread waits for a word that a plain store writes: the rounds that go on waiting, which no execution
/// has, may race with that store.
fn races_with_rounds(p: &Program) -> bool {
    let all = || p.threads.iter().flat_map(|t| &t.1);
    let waited = |x: usize| all().any(|o| matches!(o, Op::Await(y, ..) if *y == x));
    all().any(|o| matches!(o, Op::Store(x, _, Sem::Weak, _) if waited(*x)))
}

/// Picks of a generator of numbers (SplitMix64).
struct Picks(u64);

impl Picks {
    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        of[(z ^ (z >> 31)) as usize % of.len()]
    }

    fn scope(&mut self) -> Scope {
        self.one(&[Scope::Cta, Scope::Gpu, Scope::Gpu])
    }

    fn fence(&mut self) -> Op {
        let sem = self.one(&[
            Sem::AcqRel,
            Sem::AcqRel,
            Sem::Sc,
            Sem::Acquire,
            Sem::Release,
        ]);
        Op::Fence(sem, self.scope())
    }

    fn load(&mut self, x: usize) -> Op {
        let sem = self.one(&[Sem::Weak, Sem::Relaxed, Sem::Acquire, Sem::Volatile]);
        Op::Load(x, sem, self.scope())
    }

    fn store(&mut self, x: usize, v: u32) -> Op {
        let sem = self.one(&[Sem::Weak, Sem::Relaxed, Sem::Release, Sem::Volatile]);
        Op::Store(x, v, sem, self.scope())
    }

    fn update(&mut self, x: usize, v: u32) -> Op {
        let rmw = self.one(&[Rmw::Add, Rmw::Exch]);
        let sem = self.one(&[Sem::Relaxed, Sem::Acquire, Sem::Release, Sem::AcqRel]);
        match self.one(&[0, 0, 1]) {
            0 => Op::Update(x, rmw, v, sem, self.scope()),
            _ => Op::Reduce(x, v, self.one(&[Sem::Relaxed, Sem::Release]), self.scope()),
        }
    }

    fn wait(&mut self, x: usize, v: u32) -> Op {
        let sem = self.one(&[Sem::Relaxed, Sem::Acquire, Sem::Volatile]);
        Op::Await(x, v, sem, self.scope())
    }

    /// A step of a sort: `W` and `w` write word 0 and 1, `R` and `r` read them, `F` is a fence or nothing, `U` and `u`
    /// update, `A` and `a` wait, `G` goes on if the last read gave 1; capitals of `D` and `d` are plain accesses.
    fn step(&mut self, c: char, out: &mut Vec<Op>) {
        let op = match c {
            'W' => self.store(0, 1),
            'w' => self.store(1, 1),
            'V' => self.store(0, 2),
            'v' => self.store(1, 2),
            'z' => self.store(2, 1),
            'R' => self.load(0),
            'r' => self.load(1),
            'Z' => self.load(2),
            'U' => self.update(0, 1),
            'u' => self.update(1, 1),
            'A' => self.wait(0, 1),
            'a' => self.wait(1, 1),
            'b' => self.wait(1, 2),
            'G' => Op::Guard(1),
            'H' => Op::Guard(2),
            'D' => Op::Store(0, 1, Sem::Weak, Scope::Gpu),
            'E' => Op::Load(0, Sem::Weak, Scope::Gpu),
            '|' => Op::Barrier,
            _ => match self.one(&[0, 1, 1]) {
                0 => return,
                _ => self.fence(),
            },
        };
        out.push(op);
    }

    /// A program of a shape: threads with their steps, in CTAs of their own or not.
    fn shape(&mut self, threads: &[&str], together: bool) -> Program {
        let mut out = Vec::new();
        for (t, steps) in threads.iter().enumerate() {
            let mut ops = Vec::new();
            steps.chars().for_each(|c| self.step(c, &mut ops));
            out.push((if together { 0 } else { t }, ops));
        }
        Program { threads: out }
    }

    fn random(&mut self) -> Program {
        let n = self.one(&[2, 2, 3]);
        let alphabet: Vec<char> = "WwVvRrRrUuFFFFGHaDE".chars().collect();
        let mut out = Vec::new();
        for _ in 0..n {
            let mut ops = Vec::new();
            for _ in 0..self.one(&[2, 3, 3, 4, 5]) {
                let c = self.one(&alphabet);
                if "GH".contains(c) && !ops.iter().any(|o: &Op| o.has_register()) {
                    continue;
                }
                self.step(c, &mut ops);
            }
            out.push((self.one(&[0, 0, 1]), ops));
        }
        // More has too many executions.
        match out.iter().map(|t| t.1.len()).sum::<usize>() {
            0..=8 => Program { threads: out },
            _ => self.random(),
        }
    }
}

/// The shapes of the literature.
const SHAPES: [&[&str]; 34] = [
    &["DFw", "rGFE"],
    &["DFw", "aFE"],
    &["DFu", "rGFE"],
    &["DFu", "aFE"],
    &["DFwFv", "rHFE"],
    &["Dwv", "rHFE"],
    &["DwFv", "bFE"],
    &["DFw", "FuF", "bFE"],
    &["DFw", "u", "rHFE"],
    &["DFw", "v", "rGFE"],
    &["DFw", "rrFE"],
    &["DFw", "rGrFE"],
    &["WFr", "wFR"],
    &["WFrFR", "wFRFr"],
    &["RFw", "rFW"],
    &["RGFw", "rGFW"],
    &["WFw", "vFV"],
    &["WFw", "vFR"],
    &["VFw", "rFW"],
    &["W", "RR"],
    &["W", "V", "RR"],
    &["WV", "RFR"],
    &["WR", "V"],
    &["RW", "V"],
    &["UR", "U"],
    &["DFu", "uGFE"],
    &["DFuGFE", "DFuGFE"],
    &["W", "RFw", "rFR"],
    &["D", "RGFw", "rGFE"],
    &["DFw", "aFz", "ZGFE"],
    &["W", "RFr", "wFR"],
    &["DFw", "aFV", "R"],
    &["DFu", "FuG", "bFE"],
    &["D|R", "E|W"],
];

fn sweep(rounds: usize, random: usize) -> Counts {
    let mut picks = Picks(1);
    let mut counts = Counts::default();
    for _ in 0..rounds {
        for shape in SHAPES {
            let together = shape[0].contains('|') || picks.one(&[false, false, true]);
            let p = picks.shape(shape, together);
            let apart = picks.one(&[1, 32]);
            counts.look(&p, apart);
        }
    }
    for _ in 0..random {
        let p = picks.random();
        let apart = picks.one(&[1, 32]);
        counts.look(&p, apart);
    }
    counts
}

#[test]
fn verdicts_are_what_the_axioms_allow() {
    let rounds = std::env::var("VOLTA_LITMUS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(6);
    let counts = sweep(rounds, rounds * 20);
    println!(
        "{} decided, {} unknown, {} wrong",
        counts.decided,
        counts.unknown,
        counts.wrong.len()
    );
    assert!(counts.wrong.is_empty(), "{}", counts.wrong.join("\n\n"));
    assert!(counts.decided > counts.unknown, "most are decided");
}
