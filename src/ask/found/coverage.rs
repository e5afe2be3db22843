//! What a launch was too small to show: loops that ran at most once, and conditions that had one value only.
//!
//! The problem: a proof is about one size. A mask that is never false there may as well be wrong, and only another
//! size tells. [`conditions`](crate::kernel::conditions) are those that a size flows into; of those that a run saw
//! with one value, each is told once, with sizes that give it the other: a condition that follows from sizes and
//! from where a thread stands is computed for sizes near the one that was run, and one that no such size changes
//! is left alone. Of others (counters of loops, mostly) the sizes named are guesses.
//!
//! Not claimed: that what is not told was looked at in every way. A warning changes no verdict.

use indexmap::IndexMap;

use crate::answer::coverage::{Looked, Proposal, Thin};
use crate::answer::{Finding, Site, WarningKind};
use crate::kernel::conditions::{Condition, Ends, Seen, Size, made_of};
use crate::kernel::{Op, Pc};
use crate::sim::Outcome;
use crate::sim::taken::Counts;
use crate::spec::launch::Selection;
use crate::spec::{ElemTy, Launch, Number};

use super::Ran;

mod dry;
mod scaled;

use dry::Dry;

/// Places of a finding that are kept.
const SITES: usize = 8;
/// Sizes that a finding names.
const NAMED: usize = 3;

/// A size with the values to try for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Try {
    size: Size,
    name: String,
    flag: String,
    now: i128,
    values: Vec<String>,
}

impl Ran<'_> {
    /// The conditions that a run came to.
    pub fn looked(self, outcome: &Outcome) -> Vec<Looked> {
        let seen = self.kernel.conditions.iter().zip(&outcome.taken.counts);
        let came = seen.filter(|(_, n)| n.yes + n.no > 0);
        came.map(|(c, n)| {
            let site = self.at(c.pc);
            Looked {
                kernel: self.part(),
                at: (site.file, site.line, site.column),
                thin: thin(c, *n),
            }
        })
        .collect()
    }

    /// What the sizes of a run that ended left in the dark.
    pub fn thin(self, outcome: &Outcome) -> Vec<Finding<WarningKind>> {
        if !outcome.defects.is_empty() || !outcome.unknowns.is_empty() {
            return Vec::new();
        }
        let seen = self.kernel.conditions.iter().zip(&outcome.taken.counts);
        let thin: Vec<(&Condition, Thin)> =
            seen.filter_map(|(c, n)| Some((c, thin(c, *n)?))).collect();
        if thin.is_empty() {
            return Vec::new();
        }
        let writers = dry::writers(self.kernel);
        let mut told: Vec<Pc> = Vec::new();
        let mut groups: IndexMap<(String, String, String), Told> = IndexMap::new();
        // A loop stands for the comparison that ends it, and a comparison for what it guards.
        for rank in [Rank::Loop, Rank::Comparison, Rank::Use] {
            for (c, thin) in thin.iter().filter(|(c, t)| self.rank(c, *t) == rank) {
                let made = match rank {
                    Rank::Comparison => vec![c.pc],
                    Rank::Loop | Rank::Use => made_of(self.kernel, c.holds.reg),
                };
                if made.iter().any(|pc| told.contains(pc)) {
                    continue;
                }
                let Some(sizes) = self.sizes(&writers, c, *thin) else {
                    continue;
                };
                told.extend(made);
                told.push(c.pc);
                let message = self.sentence(c, *thin, &sizes);
                let key = (self.place(c), message, hint(&sizes));
                let group = groups.entry(key).or_default();
                group.0.push(c.pc);
                group.1 = sizes.iter().map(|t| self.proposal(t, c)).collect();
            }
        }
        groups
            .into_iter()
            .map(|((_, message, hint), (pcs, sizes))| {
                let sites = pcs.iter().take(SITES).map(|pc| self.at(*pc));
                Finding {
                    count: pcs.len() as u64,
                    hint: Some(hint),
                    sizes,
                    ..Finding::new(self.part(), WarningKind::ThinCoverage, message)
                }
                .at(sites.collect())
            })
            .collect()
    }

    fn rank(&self, c: &Condition, thin: Thin) -> Rank {
        match (thin, c.seen, &self.kernel.insts[c.pc.0 as usize].op) {
            (Thin::Once, ..) => Rank::Loop,
            (_, Seen::Guard, _) | (_, _, Op::Selp { .. }) => Rank::Use,
            (Thin::Only(_), Seen::Result, _) => Rank::Comparison,
        }
    }

    fn at(&self, pc: Pc) -> Site {
        let mut site = Site::new(&self.kernel.source, self.kernel.span(pc), "");
        site.launch = self.spec.step;
        site.source = self.kernel.source_line(pc);
        site
    }

    /// What an unrolled loop repeats stands at one line of the source.
    fn place(&self, c: &Condition) -> String {
        match self.kernel.loc(c.pc) {
            Some(l) => format!("{}:{}", l.file, l.line),
            None => c.pc.0.to_string(),
        }
    }

    fn sentence(&self, c: &Condition, thin: Thin, sizes: &[Try]) -> String {
        let what = match (c.seen, &self.kernel.insts[c.pc.0 as usize].op) {
            (Seen::Result, Op::Selp { .. }) => "the predicate of this selection",
            (Seen::Result, _) => "this comparison",
            (Seen::Guard, Op::Bra { .. } | Op::Exit) => "the guard of this branch",
            (Seen::Guard, Op::Ld { .. }) => "the guard of this load",
            (Seen::Guard, Op::St { .. }) => "the guard of this store",
            (Seen::Guard, _) => "the guard of this instruction",
        };
        let what = match thin {
            Thin::Once => "this loop ran at most once".to_string(),
            Thin::Only(true) => format!("{what} was never false"),
            Thin::Only(false) => format!("{what} was never true"),
        };
        let each = |t: &Try| format!("{} = {}", t.name, list(&t.values, "or"));
        let sizes: Vec<String> = sizes.iter().map(each).collect();
        format!(
            "{what}, and another size could change that: try {}",
            list(&sizes, "or")
        )
    }

    /// The sizes to try for a condition; none if nothing that was tried changes it.
    fn sizes(&self, writers: &[Option<Pc>], c: &Condition, thin: Thin) -> Option<Vec<Try>> {
        let dry = Dry::new(*self, writers, c);
        let mut out: Vec<Try> = Vec::new();
        for size in &c.sizes {
            // The grid and the block follow from the numbers, where there are any.
            if !out.is_empty() && !matches!(size, Size::Number(..)) || out.len() == NAMED {
                break;
            }
            let Some((name, flag, now)) = self.described(*size) else {
                continue;
            };
            let flips = |v: &i128| dry.flips(*size, *v, thin == Thin::Only(true));
            let known = flips(&now).is_some();
            let threads = i128::from(self.launch.threads());
            let all = threads * i128::from(self.launch.ctas());
            let mut guesses = match known {
                true => guesses(now, &[dry.literals(), &[all, threads, now / 2, 2]].concat()),
                false => guesses(now, &[]),
            };
            match (size, thin) {
                (_, Thin::Once) => guesses.retain(|v| *v > now),
                (Size::Block, _) => guesses.retain(|v| *v <= 1024),
                _ => {}
            }
            guesses.retain(|v| !known || flips(v) == Some(true));
            if guesses.is_empty() {
                continue;
            }
            let shown = guesses.iter().take(NAMED).map(|v| v.to_string());
            out.push(Try {
                size: *size,
                name,
                flag,
                now,
                values: shown.collect(),
            });
        }
        (!out.is_empty()).then_some(out)
    }

    /// The name of a size, the flag that gives it, and its value.
    fn described(&self, size: Size) -> Option<(String, String, i128)> {
        let Launch { block, grid, .. } = self.launch;
        let flat = |n: &[u32; 3]| n.iter().map(|&n| i128::from(n)).product();
        match size {
            Size::Number(param, offset) => {
                let n = number(&self.resolved.numbers, param, offset)?;
                let byte = self.kernel.params.get(param as usize)?.offset + offset;
                let mut flags = self.resolved.bindings.flags.iter();
                let flag = flags.find(|f| (f.start..f.start + f.bytes).contains(&byte))?;
                Some((n.label.clone(), format!("{}=", flag.at(byte)), value(n)?))
            }
            // Of a CTA that a flag names, the grid says where it stands, and others stand elsewhere.
            Size::Grid if self.resolved.selection == Selection::Given => None,
            Size::Grid => Some(("the grid".into(), "--grid ".into(), flat(grid))),
            Size::Block => Some(("the block".into(), "--threads ".into(), flat(block))),
        }
    }
}

/// The places at which one thing is told, and the sizes that are proposed there.
type Told = (Vec<Pc>, Vec<Proposal>);

/// In which order conditions are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rank {
    Loop,
    Comparison,
    Use,
}

fn thin(c: &Condition, n: Counts) -> Option<Thin> {
    match (c.ends, n.yes, n.no) {
        (_, 0, 0) => None,
        (Some(Ends::Behind), 0, _) => Some(Thin::Once),
        // As many turns as ends, where there was a turn.
        (Some(Ends::Before), yes, no) if no > 0 && no <= yes => Some(Thin::Once),
        (_, _, 0) => Some(Thin::Only(true)),
        (_, 0, _) => Some(Thin::Only(false)),
        _ => None,
    }
}

/// The number that a byte of a parameter was bound to.
fn number(numbers: &[Number], param: u32, offset: u32) -> Option<&Number> {
    let inside = |n: &Number| (n.offset..n.offset + n.ty.bytes() as u32).contains(&offset);
    numbers.iter().find(|n| n.position == param && inside(n))
}

/// What an integer was bound to.
fn value(n: &Number) -> Option<i128> {
    match n.ty {
        ElemTy::Int {
            width,
            signed: true,
        } => Some(i128::from((n.bits << (64 - width)) as i64 >> (64 - width))),
        ElemTy::Int { .. } => Some(i128::from(n.bits)),
        ElemTy::Float(_) => None,
    }
}

/// Sizes around one and its double, then around other numbers that it may be compared with.
fn guesses(now: i128, near: &[i128]) -> Vec<i128> {
    let mut out = vec![now - 1, now + 1, 2 * now + 1];
    out.extend(near.iter().flat_map(|n| [n - 1, *n, n + 1]));
    out.retain(|v| *v > 0 && *v != now && *v < 1 << 31);
    let mut seen = Vec::new();
    out.retain(|v| {
        !seen.contains(v) && {
            seen.push(*v);
            true
        }
    });
    out
}

/// The flags that give the sizes to try.
fn hint(sizes: &[Try]) -> String {
    let each = |t: &Try| {
        let flags = t.values.iter().map(|v| format!("{}{v}", t.flag));
        flags.collect::<Vec<_>>()
    };
    let flags: Vec<String> = sizes.iter().flat_map(each).collect();
    format!("{}; `--for` runs several", list(&flags, "or"))
}

/// `a, b or c`.
fn list(parts: &[String], word: &str) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} {word} {last}", first.join(", ")),
    }
}
