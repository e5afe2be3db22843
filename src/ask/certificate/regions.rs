//! Regions of inputs: what tests on data decide, and an input of each.
//!
//! The problem: two functions may agree wherever all tests go one way and differ where one goes the other. The way: the
//! tests of both kernels below their outputs are the comparisons of the terms and the choices of maxima and minima; inputs
//! are drawn by the laws and patterns with which rounding is measured and witnesses are looked for, until each test had
//! both outcomes, and of these the one with most outcomes that none before it has is kept, again and again. Inputs that
//! have become spare are dropped, so that each that stays is the only one for some outcome.
//!
//! Not claimed: an outcome that no input reached may be reachable. Terms are evaluated in doubles, so that a sample may
//! lie on a border; who replays it looks at its own tests.

use serde::Serialize;

use crate::decide::goal::is_compared;
use crate::decide::refute::cells::{self, Cell, inputs};
use crate::decide::refute::links::{Links, premises};
use crate::decide::refute::patterns::{self, Pattern};
use crate::number::random::Random;
use crate::rounding::sample::{LAWS, Law, PLAIN, draw};
use crate::sim::Outcome;
use crate::spec::{Arrays, ElemTy};
use crate::term::approx::Fast;
use crate::term::eval::Cone;
use crate::term::{Term, TermId, TermStore};

/// Bounds of the search.
struct Limits {
    /// Terms and edges that are evaluated.
    work: usize,
    /// Tests that are looked at; of more, some, evenly spread.
    tests: usize,
    /// Inputs that are kept before spare ones are dropped.
    samples: usize,
}

const LIMITS: Limits = Limits {
    work: 1 << 24,
    tests: 1 << 12,
    samples: 64,
};

/// Both runs as the search needs them.
pub(crate) struct Regions {
    store: TermStore,
    roots: Vec<TermId>,
}

/// The regions, as they are written.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ProvedRegions {
    /// Tests on data below the outputs of both kernels.
    tests: usize,
    /// For each test: 0 or 1 if it had one outcome, b if both, - if none was clear.
    reached: String,
    samples: Vec<Sample>,
    /// The type by which each array is read, where it is read by one.
    #[serde(skip)]
    pub types: Vec<Option<String>>,
}

impl ProvedRegions {
    pub(crate) fn count(&self) -> usize {
        self.samples.len()
    }
}

/// An input.
#[derive(Clone, Debug, Serialize)]
struct Sample {
    /// The outcome of each test: 0, 1, or - where both sides are equal.
    outcomes: String,
    inputs: Vec<Values>,
}

/// Elements of an array that follow each other, as hexadecimal bits; every other element is zero.
#[derive(Clone, Debug, Serialize)]
struct Values {
    array: u32,
    at: u64,
    r#type: String,
    bits: String,
}

impl Regions {
    /// The outputs of two runs.
    pub(crate) fn new(runs: [&Outcome; 2], arrays: &Arrays) -> Regions {
        let mut store = TermStore::new();
        let mut roots = Vec::new();
        for run in runs {
            let writes = run.writes.iter().filter(|(a, _)| is_compared(&arrays[**a]));
            let own: Vec<TermId> = writes.flat_map(|(_, w)| w.values().copied()).collect();
            roots.extend(store.import_below(&run.store, &own));
        }
        Regions { store, roots }
    }

    /// The regions that inputs of many kinds reach.
    pub(crate) fn found(&self, arrays: &Arrays) -> ProvedRegions {
        let store = &self.store;
        let cone = Cone::new(store, &self.roots);
        let tests = tests(store, &cone);
        let cells = cells::cells(store, &cone, arrays);
        let mut search = Search {
            store,
            constants: cone.constants(store),
            cone: &cone,
            tests: &tests,
            scratch: Vec::new(),
        };
        let mut pool: Vec<(Vec<u64>, String)> = Vec::new();
        let mut seen = vec![[false; 2]; tests.len()];
        let (mut left, cost) = (LIMITS.work, cone.size().max(1));
        // Masks leave outputs infinite: such inputs are taken for outcomes that no other input has.
        for is_finite in [true, false] {
            for values in self.candidates(&cone, &cells) {
                let complete = seen.iter().all(|s| s[0] && s[1]) && !pool.is_empty();
                if complete || left < cost || pool.len() >= LIMITS.samples {
                    break;
                }
                left -= cost;
                let tried = values.and_then(|v| Some((search.outcomes(&cells, &v, is_finite)?, v)));
                let Some((outcomes, values)) = tried else {
                    continue;
                };
                if news(&outcomes, &mut seen) > 0 || pool.is_empty() {
                    pool.push((values, outcomes));
                }
            }
        }
        let mut kept = cover(pool, tests.len());
        drop_spare(&mut kept);
        let samples = kept.iter().map(|(values, outcomes)| Sample {
            outcomes: outcomes.clone(),
            inputs: self.shown(&cells, values),
        });
        ProvedRegions {
            tests: tests.len(),
            reached: reached(&kept, tests.len()),
            samples: samples.collect(),
            types: types(&cells, arrays),
        }
    }

    /// Inputs, the plain ones first; `None` is one that the facts about the data exclude.
    fn candidates<'a>(
        &'a self,
        cone: &'a Cone,
        cells: &'a [Cell],
    ) -> impl Iterator<Item = Option<Vec<u64>>> + 'a {
        let store = &self.store;
        let links = Links::new(store, cells, &premises(store, &self.roots));
        let near = patterns::thresholds(store, cone);
        let by_pattern = patterns::patterns(cells, near.len()).into_iter();
        let mut random = Random(0);
        let plain = LAWS[..PLAIN].iter().map(Kind::Law);
        let slopes = [1.0, -1.0].into_iter().map(Kind::Slope);
        let by_law = LAWS.iter().chain(&LAWS).map(Kind::Law);
        let all = plain
            .chain(slopes)
            .chain(by_law)
            .chain(by_pattern.map(Kind::Pattern));
        all.map(move |kind| {
            let values = match kind {
                Kind::Law(law) => draw(law, cells, &store.facts, &mut random)?,
                Kind::Slope(up) => sloped(cells, up, &mut random),
                Kind::Pattern(pattern) => patterns::candidate(cells, pattern, &near, &mut random),
            };
            match &links {
                Some(links) => links.settled(store, cells, &values),
                None => Some(values),
            }
        })
    }

    /// An input with the elements that it really gives values to.
    fn shown(&self, cells: &[Cell], values: &[u64]) -> Vec<Values> {
        let found: Vec<(Cell, u64)> = cells.iter().copied().zip(values.iter().copied()).collect();
        let mut out: Vec<Values> = Vec::new();
        let mut end = None;
        let elements = crate::decide::refute::links::concrete(&self.store, &found);
        // A term may name an element before its array, which no input gives a value to.
        let is_inside = |c: &Cell| i64::try_from(c.off).is_ok();
        for (c, v) in elements.into_iter().filter(|(c, _)| is_inside(c)) {
            let bits = format!("{v:x}");
            match out.last_mut() {
                Some(last) if end == Some((c.array, c.off)) && last.r#type == c.ty.name() => {
                    last.bits.push(' ');
                    last.bits.push_str(&bits);
                }
                _ => out.push(Values {
                    array: c.array.0,
                    at: c.off,
                    r#type: c.ty.name(),
                    bits,
                }),
            }
            end = Some((c.array, c.off + u64::from(c.bytes)));
        }
        out
    }
}

/// How an input is made.
enum Kind {
    Law(&'static Law),
    /// Numbers that rise or fall with their position.
    Slope(f64),
    Pattern(Pattern),
}

/// Numbers of moderate size that rise or fall: each is a new maximum, or none but the first is.
fn sloped(cells: &[Cell], up: f64, random: &mut Random) -> Vec<u64> {
    let count = cells.len().max(2) as f64;
    let value = |(i, c): (usize, &Cell)| {
        let noise = random.below(1 << 10) as f64 / 1024.0;
        cells::encode(c.ty, up * (8.0 * (i as f64 + noise) / count - 4.0))
    };
    cells.iter().enumerate().map(value).collect()
}

/// The evaluation of the tests at inputs.
struct Search<'a> {
    store: &'a TermStore,
    constants: Vec<f64>,
    cone: &'a Cone,
    /// By their numbers in the cone.
    tests: &'a [usize],
    scratch: Vec<Fast>,
}

impl Search<'_> {
    /// The outcome of each test at an input; `None` if some output is no number there, or infinite where all have to
    /// be finite.
    fn outcomes(&mut self, cells: &[Cell], values: &[u64], is_finite: bool) -> Option<String> {
        let known = inputs(cells, values);
        let roots = self
            .cone
            .approximate(self.store, &self.constants, &known, &mut self.scratch);
        let ids = self.cone.ids();
        let is_real = |i: &u32| matches!(self.store.get(ids[*i as usize]), Term::OfReal { .. });
        let mut outputs = self
            .cone
            .roots()
            .iter()
            .zip(&roots)
            .filter(|(i, _)| is_real(i));
        if !outputs.all(|(_, v)| v.f.is_finite() || !is_finite && v.f.is_infinite()) {
            return None;
        }
        let value = |k: u32| self.scratch[k as usize].f;
        let outcome = |&i: &usize| match (self.store.get(ids[i]), self.cone.kids(i)) {
            (Term::Max(..) | Term::Min(..) | Term::RCmp(..), &[a, b]) if value(a) == value(b) => {
                '-'
            }
            (Term::Max(..) | Term::Min(..), &[a, b]) => {
                if value(a) < value(b) {
                    '1'
                } else {
                    '0'
                }
            }
            _ => {
                if self.scratch[i].b != 0 {
                    '1'
                } else {
                    '0'
                }
            }
        };
        Some(self.tests.iter().map(outcome).collect())
    }
}

/// The tests of a cone, by their numbers in it.
fn tests(store: &TermStore, cone: &Cone) -> Vec<usize> {
    let is_test = |&i: &usize| {
        matches!(
            store.get(cone.ids()[i]),
            Term::RCmp(..) | Term::ICmp(..) | Term::Is(..) | Term::Max(..) | Term::Min(..)
        )
    };
    let all: Vec<usize> = (0..cone.ids().len()).filter(is_test).collect();
    let step = all.len().div_ceil(LIMITS.tests).max(1);
    all.into_iter().step_by(step).collect()
}

/// Notes the outcomes of an input; how many of them are new.
fn news(outcomes: &str, seen: &mut [[bool; 2]]) -> usize {
    let mut new = 0;
    for (o, s) in outcomes.bytes().zip(seen) {
        let which = match o {
            b'0' => 0,
            b'1' => 1,
            _ => continue,
        };
        new += usize::from(!std::mem::replace(&mut s[which], true));
    }
    new
}

/// Inputs that have all outcomes together, the first one and then those with most new ones.
fn cover(mut pool: Vec<(Vec<u64>, String)>, tests: usize) -> Vec<(Vec<u64>, String)> {
    let mut seen = vec![[false; 2]; tests];
    let mut kept = Vec::new();
    if !pool.is_empty() {
        // A plain one stays whatever it shows: others may lie where the machine leaves the range of a function.
        kept.push(pool.remove(0));
        news(&kept[0].1, &mut seen);
    }
    while !pool.is_empty() {
        let gain = |i: &usize| (news(&pool[*i].1, &mut seen.clone()), std::cmp::Reverse(*i));
        let Some(best) = (0..pool.len()).max_by_key(gain) else {
            break;
        };
        if gain(&best).0 == 0 {
            break;
        }
        let input = pool.remove(best);
        news(&input.1, &mut seen);
        kept.push(input);
    }
    kept
}

/// Drops inputs all of whose outcomes others have; the first one stays.
fn drop_spare(kept: &mut Vec<(Vec<u64>, String)>) {
    let mut i = 1;
    while i < kept.len() {
        let mut seen = vec![[false; 2]; kept[i].1.len()];
        for (k, (_, outcomes)) in kept.iter().enumerate() {
            if k != i {
                news(outcomes, &mut seen);
            }
        }
        match news(&kept[i].1, &mut seen) {
            0 => {
                kept.remove(i);
            }
            _ => i += 1,
        }
    }
}

fn reached(kept: &[(Vec<u64>, String)], tests: usize) -> String {
    let mut seen = vec![[false; 2]; tests];
    for (_, outcomes) in kept {
        news(outcomes, &mut seen);
    }
    let letter = |s: &[bool; 2]| match s {
        [true, true] => 'b',
        [true, false] => '0',
        [false, true] => '1',
        [false, false] => '-',
    };
    seen.iter().map(letter).collect()
}

/// The type by which the cells of each array are read.
fn types(cells: &[Cell], arrays: &Arrays) -> Vec<Option<String>> {
    let of = |i: usize| {
        let mut own = cells
            .iter()
            .filter(|c| c.array.0 as usize == i)
            .map(|c| c.ty);
        let first = own.next()?;
        let is_float = matches!(first, ElemTy::Float(_));
        (is_float && own.all(|t| t == first)).then(|| first.name())
    };
    (0..arrays.0.len()).map(of).collect()
}
