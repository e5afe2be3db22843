//! The term of a function, and how its arguments are found in a pair.
//!
//! Problem: the term of a function, with other terms as arguments, may stand anywhere in a pair.
//! Operations of the pattern that bring an argument together with a constant, with another argument
//! or with what is computed of the arguments that are known already tell, one after the other, what
//! the arguments can be; the first of these operations is looked for in the whole pair, the
//! others among the operations on a term that is known then.
//!
//! Not claimed: that all places are found; that a function stands there is shown by building the
//! whole pattern.

use std::path::PathBuf;
use std::sync::Arc;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashSet};

use super::catalogue::{Function, Meaning};
#[cfg(test)]
use super::finders::Side;
use super::finders::{Finder, Operations, chains};
use super::ideal::Questions;
use crate::diag::Source;
use crate::kernel::{Fmt, lower, select_entry};
use crate::ptx;
use crate::sim::{self, Side as Kernel};
use crate::spec::{self, KernelSpec, Limits, Mode, Which};
use crate::term::rebuild::rebuild;
use crate::term::{Fun, ICmp, RCmp, Sort, Term, TermId, TermStore};

/// Places of a pair where one pattern is tried.
const MAX_TRIES: usize = 1 << 16;

/// A term of some arguments.
pub(super) struct ArgumentForm {
    pub(super) store: TermStore,
    pub(super) root: TermId,
    pub(super) arguments: Vec<TermId>,
}

impl ArgumentForm {
    /// A function of products of two elements, or of powers of them.
    fn of(store: TermStore, root: TermId, power: bool) -> Option<ArgumentForm> {
        let below = store.reachable(&store.with_questions(&[root]));
        let offset = |t| match store.get(t) {
            Term::Elem { off, .. } => Some(off),
            _ => None,
        };
        let product = |&t: &TermId| match store.get(t) {
            Term::Mul(a, b) if a != b && offset(a) == offset(b) => Some((offset(a)?, t)),
            _ => None,
        };
        let mut arguments: Vec<(u64, TermId)> = below.iter().filter_map(product).collect();
        arguments.sort_unstable();
        let mut arguments: Vec<TermId> = arguments.into_iter().map(|a| a.1).collect();
        if power {
            for a in &mut arguments {
                let power = |&t: &TermId| store.get(t) == Term::Fun(Fun::Exp2, *a);
                *a = below.iter().copied().find(power)?;
            }
        }
        Some(ArgumentForm {
            store,
            root,
            arguments,
        })
    }

    /// A term of it with other arguments, as the simulator has it for these in a pair that asks some questions.
    fn built(
        &self,
        into: &mut TermStore,
        t: TermId,
        (arguments, clear): (&[Option<TermId>], bool),
        questions: &Questions,
    ) -> TermId {
        let roots: Vec<TermId> = self.store.with_questions(&[t]);
        rebuild(&self.store, &roots, into, |s, t, done| {
            if let Some(i) = self.arguments.iter().position(|&a| a == t) {
                return arguments[i];
            }
            if let Term::RCmp(RCmp::Lt, a, b) = self.store.get(t)
                && clear
                && self.store.is_zero(b)
                && s.has_clear_sign(done.get(a)?)
            {
                return Some(s.bool(false));
            }
            if let Some(image) = questions.image((&self.store, t), s, done) {
                return Some(image);
            }
            // Of encodings with a clear sign bit the simulator compares the numbers.
            match self.store.get(t) {
                Term::ICmp(op, a, b) => order(s, op, (done.get(a)?, done.get(b)?), questions),
                _ => None,
            }
        })[0]
    }
}

/// An unsigned order of encodings as the simulator has it in a pair that asks some questions: this one, or the one that it
/// negates.
fn order(
    s: &mut TermStore,
    op: ICmp,
    (a, b): (TermId, TermId),
    questions: &Questions,
) -> Option<TermId> {
    let (holds, question) = sim::idiom::unsigned_order(s, op, a, b)?;
    let negation = match op {
        ICmp::ULt => ICmp::ULe,
        _ => ICmp::ULt,
    };
    if !questions.has(question)
        && let Some((fails, question)) = sim::idiom::unsigned_order(s, negation, b, a)
        && questions.has(question)
    {
        let fails = questions.answered(s, fails, question);
        return Some(s.not(fails));
    }
    Some(questions.answered(s, holds, question))
}

/// The term of a function.
pub(super) struct Pattern {
    pub(super) name: &'static str,
    /// As the simulator has it.
    pub(super) whole: ArgumentForm,
    /// The same with all tests answered as those of reals.
    pub(super) plain: ArgumentForm,
    pub(super) meaning: Meaning,
    chains: Vec<Vec<Finder>>,
}

impl Pattern {
    /// The pattern of a function; `None` if its code is not understood.
    pub(super) fn of(f: &Function) -> Option<Pattern> {
        let source = Arc::new(Source::new(f.name, f.text).ok()?);
        let module = ptx::parse(&source).ok()?;
        let entry = select_entry(&module, None).ok()?;
        let kernel = lower(&module, &source, entry).ok()?.kernel;
        let mut spec = KernelSpec {
            alias: Vec::new(),
            assume: Vec::new(),
            names: Vec::new(),
            only: Vec::new(),
            buffers: Vec::new(),
            without: Vec::new(),
            which: Which::Kernel,
            step: None,
            file: PathBuf::new(),
            build: Default::default(),
            beside: None,
            entry: None,
            launch: Default::default(),
            args: Vec::new(),
        };
        spec.launch.block = Some([1, 1, 1]);
        let setup = spec::resolve(&[(&kernel, &spec)], &[]).ok()?;
        let r = setup.kernels.first()?;
        let inputs = sim::Inputs {
            kernel: &kernel,
            launch: &r.launch,
            mode: Mode {
                as_written: true,
                ..r.mode
            },
            bindings: &r.bindings,
            arrays: &r.arrays,
            side: Kernel::Reference,
            limits: &Limits::NONE,
        };
        let outcome = sim::run_noting(&inputs, &sim::Noting::default());
        if !outcome.unknowns.is_empty() || !outcome.defects.is_empty() {
            return None;
        }
        let mut store = outcome.store;
        let written = *outcome.writes.values().next()?.values().nth(f.output)?;
        let root = match (store.get(written), store.sort(written)) {
            (Term::OfReal { real, .. }, _) => real,
            // Parts of encodings that are put together, and zeros with a sign among numbers.
            (_, Sort::Bits(64)) => store.of_selected_bits(Fmt::F64, written),
            (_, Sort::Bits(32)) => store.of_selected_bits(Fmt::F32, written),
            _ => return None,
        };
        let power = f.file.ends_with("_positive");
        let whole = ArgumentForm::of(store, root, power)?;
        let mut store = TermStore::new();
        store.as_written = true;
        let none = Questions::default();
        let root = rebuild(&whole.store, &[root], &mut store, |s, t, done| {
            none.image((&whole.store, t), s, done)
        })[0];
        let plain = ArgumentForm::of(store, root, power)?;
        let chains = chains(&plain.store, root, &plain.arguments);
        if chains.is_empty() {
            return None;
        }
        Some(Pattern {
            name: f.name,
            whole,
            plain,
            chains,
            meaning: f.meaning,
        })
    }

    /// The constant that its first finder looks for.
    #[cfg(test)]
    pub(super) fn mark(&self) -> Option<num_rational::BigRational> {
        let sides = &self.chains.first()?.first()?.sides;
        sides.iter().find_map(|s| match s {
            Side::Known(t) => self.plain.store.as_const(*t).cloned(),
            Side::Argument(..) => None,
        })
    }

    /// The arguments with which the pattern may stand among some operations of a pair. Terms are
    /// built in `copy`, a copy of the store of the pair.
    pub(super) fn arguments_in(
        &self,
        pair: (&TermStore, &Questions),
        operations: &Operations,
        copy: &mut Option<TermStore>,
    ) -> Vec<Vec<TermId>> {
        let chains = match operations.may_be_decided {
            true => &self.chains[..],
            false => &self.chains[..1],
        };
        let mut out: IndexSet<Vec<TermId>, FxBuildHasher> = IndexSet::default();
        for chain in chains {
            out.extend(self.along(chain, pair, operations, copy));
        }
        out.into_iter().collect()
    }

    /// The arguments that a chain of finders tells.
    fn along(
        &self,
        chain: &[Finder],
        (store, questions): (&TermStore, &Questions),
        operations: &Operations,
        copy: &mut Option<TermStore>,
    ) -> Vec<Vec<TermId>> {
        let mut found: Vec<Vec<Option<TermId>>> = vec![vec![None; self.whole.arguments.len()]];
        for f in chain {
            let mut next = Vec::new();
            let mut seen = FxHashSet::default();
            for known in &found {
                let built = |t| {
                    let copy = copy.get_or_insert_with(|| store.clone());
                    let t = self.plain.built(copy, t, (known, false), questions);
                    ((t.0 as usize) < store.len()).then_some(t)
                };
                f.find(
                    known,
                    (&self.plain.store, store),
                    operations,
                    built,
                    |one| {
                        if next.len() < MAX_TRIES && seen.insert(one.clone()) {
                            next.push(one);
                        }
                    },
                );
            }
            found = next;
        }
        let whole = found
            .into_iter()
            .map(|f| f.into_iter().collect::<Option<Vec<TermId>>>());
        whole.flatten().collect()
    }

    /// The pattern with these arguments; and where a sign that is copied from what has none is another term, that one.
    pub(super) fn instances(
        &self,
        into: &mut TermStore,
        arguments: &[TermId],
        questions: &Questions,
    ) -> [TermId; 2] {
        let arguments: Vec<Option<TermId>> = arguments.iter().copied().map(Some).collect();
        let root = self.whole.root;
        [false, true].map(|clear| self.whole.built(into, root, (&arguments, clear), questions))
    }
}
