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

use std::cell::OnceCell;
use std::path::PathBuf;
use std::sync::Arc;

use num_traits::{One, Signed, Zero};
use rustc_hash::{FxHashMap, FxHashSet};

use super::catalogue::{Function, Meaning};
use super::ideal::Questions;
use crate::diag::Source;
use crate::kernel::{Fmt, lower, select_entry};
use crate::ptx;
use crate::sim::{self, Side as Kernel};
use crate::spec::{self, KernelSpec, Launch, Limits, Which};
use crate::term::rebuild::rebuild;
use crate::term::{Fun, ICmp, RCmp, Sort, Term, TermId, TermStore};

/// Operations between an operation and the argument.
const MAX_STEPS: usize = 3;

/// Places of a pair where one pattern is tried.
const MAX_TRIES: usize = 1 << 16;

/// Terms that are computed of the known arguments where another one is looked for.
const MAX_KNOWN: usize = 400;

/// One step from an operation towards the argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Absolute,
    Negative,
}

/// An operation with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum How {
    Compare(RCmp),
    Sum,
    Product,
    Quotient,
    Larger,
    Smaller,
}

impl How {
    fn is_symmetric(self) -> bool {
        !matches!(self, How::Quotient | How::Compare(RCmp::Lt | RCmp::Le))
    }
}

/// The operation that a term is.
fn operation(store: &TermStore, t: TermId) -> Option<(How, TermId, TermId)> {
    match store.get(t) {
        Term::RCmp(op, a, b) => Some((How::Compare(op), a, b)),
        Term::Add(a, b) => Some((How::Sum, a, b)),
        Term::Mul(a, b) => Some((How::Product, a, b)),
        Term::Div(a, b) => Some((How::Quotient, a, b)),
        Term::Max(a, b) => Some((How::Larger, a, b)),
        Term::Min(a, b) => Some((How::Smaller, a, b)),
        _ => None,
    }
}

/// The operands of operations of a pair, by what they do.
type ByKind = FxHashMap<How, Vec<(TermId, TermId)>>;

/// The same by what they do and one operand.
type ByOperand = FxHashMap<(How, TermId), Vec<(TermId, TermId)>>;

/// The operations of a pair.
pub(super) struct Operations {
    by_kind: ByKind,
    /// Few pairs need this, and it is larger than the pair.
    by_operand: OnceCell<ByOperand>,
}

impl Operations {
    /// Those among some terms.
    pub(super) fn of(store: &TermStore, terms: &[TermId]) -> Operations {
        let mut by_kind = ByKind::default();
        for &t in terms {
            if let Some((how, a, b)) = operation(store, t) {
                by_kind.entry(how).or_default().push((a, b));
                // A comparison of numbers stands for its negation too.
                let negation = match how {
                    How::Compare(RCmp::Lt) => How::Compare(RCmp::Le),
                    How::Compare(RCmp::Le) => How::Compare(RCmp::Lt),
                    _ => continue,
                };
                by_kind.entry(negation).or_default().push((b, a));
            }
        }
        Operations {
            by_kind,
            by_operand: OnceCell::new(),
        }
    }

    fn with_operand(&self, how: How, t: TermId) -> &[(TermId, TermId)] {
        let all = self.by_operand.get_or_init(|| {
            let mut out = ByOperand::default();
            for (how, pairs) in &self.by_kind {
                for &(a, b) in pairs {
                    out.entry((*how, a)).or_default().push((a, b));
                    if a != b {
                        out.entry((*how, b)).or_default().push((a, b));
                    }
                }
            }
            out
        });
        all.get(&(how, t)).map_or(&[], Vec::as_slice)
    }
}

/// An operand of an operation of a pattern.
#[derive(Clone, Debug)]
enum Side {
    /// Computed of arguments that are known already, or of none.
    Known(TermId),
    /// An argument after some steps.
    Argument(usize, Vec<Step>),
}

/// An operation that tells what arguments can be.
#[derive(Clone, Debug)]
struct Finder {
    how: How,
    sides: [Side; 2],
}

/// A term of some arguments.
pub(super) struct Form {
    pub(super) store: TermStore,
    pub(super) root: TermId,
    pub(super) arguments: Vec<TermId>,
}

impl Form {
    /// A function of products of two elements, or of powers of them.
    fn of(store: TermStore, root: TermId, power: bool) -> Option<Form> {
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
        Some(Form {
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
    pub(super) whole: Form,
    /// The same with all tests answered as those of reals.
    pub(super) plain: Form,
    pub(super) meaning: Meaning,
    finders: Vec<Finder>,
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
            entry: None,
            launch: Default::default(),
            args: Vec::new(),
        };
        spec.launch.block = Some([1, 1, 1]);
        let setup = spec::resolve(&[(&kernel, &spec)], &[]).ok()?;
        let r = setup.kernels.first()?;
        let launch = Launch {
            as_written: true,
            ..r.launch
        };
        let limits = Limits::NONE;
        let outcome = sim::run(
            &kernel,
            &launch,
            &r.bindings,
            &r.arrays,
            Kernel::Reference,
            &limits,
        );
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
        let whole = Form::of(store, root, power)?;
        let mut store = TermStore::new();
        store.as_written = true;
        let none = Questions::default();
        let root = rebuild(&whole.store, &[root], &mut store, |s, t, done| {
            none.image((&whole.store, t), s, done)
        })[0];
        let plain = Form::of(store, root, power)?;
        let finders = finders(&plain.store, root, &plain.arguments)?;
        Some(Pattern {
            name: f.name,
            whole,
            plain,
            finders,
            meaning: f.meaning,
        })
    }

    /// The constant that its first finder looks for.
    #[cfg(test)]
    pub(super) fn mark(&self) -> Option<num_rational::BigRational> {
        let sides = &self.finders.first()?.sides;
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
        let mut found: Vec<Vec<Option<TermId>>> = vec![vec![None; self.whole.arguments.len()]];
        for f in &self.finders {
            let mut next = Vec::new();
            let mut seen = FxHashSet::default();
            for known in &found {
                self.find(f, known, pair, operations, copy, |one| {
                    if next.len() < MAX_TRIES && seen.insert(one.clone()) {
                        next.push(one);
                    }
                });
            }
            found = next;
        }
        let whole = found
            .into_iter()
            .map(|f| f.into_iter().collect::<Option<Vec<TermId>>>());
        whole.flatten().collect()
    }

    /// What a finder adds to known arguments.
    fn find(
        &self,
        f: &Finder,
        known: &[Option<TermId>],
        (store, questions): (&TermStore, &Questions),
        operations: &Operations,
        copy: &mut Option<TermStore>,
        mut add: impl FnMut(Vec<Option<TermId>>),
    ) {
        // Terms of the pair that the known operands are.
        let mut given = [None; 2];
        for (g, side) in given.iter_mut().zip(&f.sides) {
            let Side::Known(t) = side else { continue };
            if self.plain.store.as_const(*t).is_some() {
                continue;
            }
            let copy = copy.get_or_insert_with(|| store.clone());
            let t = self.plain.built(copy, *t, (known, false), questions);
            if t.0 as usize >= store.len() {
                return;
            }
            *g = Some(t);
        }
        let mut visit = |a: TermId, b: TermId| {
            let orders = if f.how.is_symmetric() { 2 } else { 1 };
            for pair in [[a, b], [b, a]].into_iter().take(orders) {
                let mut out = known.to_vec();
                let fits = (0..2).all(|i| match (&f.sides[i], given[i]) {
                    (Side::Known(_), Some(t)) => t == pair[i],
                    (Side::Known(t), None) => {
                        store.as_const(pair[i]) == self.plain.store.as_const(*t)
                    }
                    (Side::Argument(n, steps), _) => match back(store, pair[i], steps) {
                        Some(u) if out[*n].is_none_or(|v| v == u) => {
                            out[*n] = Some(u);
                            true
                        }
                        _ => false,
                    },
                });
                if fits {
                    add(out);
                }
            }
        };
        match given[0].or(given[1]) {
            Some(t) => {
                let found = operations.with_operand(f.how, t);
                found.iter().for_each(|&(a, b)| visit(a, b));
            }
            None => {
                let of_kind = operations.by_kind.get(&f.how).into_iter().flatten();
                of_kind.for_each(|&(a, b)| visit(a, b));
            }
        }
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

/// The argument that a term is after some steps.
fn back(store: &TermStore, t: TermId, steps: &[Step]) -> Option<TermId> {
    steps.iter().try_fold(t, |t, s| match (s, store.get(t)) {
        (Step::Absolute, Term::Fun(Fun::Abs, x)) | (Step::Negative, Term::Neg(x)) => Some(x),
        // The magnitude of what is not negative is that itself.
        (Step::Absolute, _) if store.is_nonnegative(t) => Some(t),
        _ => None,
    })
}

/// The steps from a term to an argument.
fn steps(store: &TermStore, t: TermId, arguments: &[TermId]) -> Option<(usize, Vec<Step>)> {
    let (mut t, mut steps) = (t, Vec::new());
    loop {
        if let Some(i) = arguments.iter().position(|&a| a == t) {
            return Some((i, steps));
        }
        if steps.len() >= MAX_STEPS {
            return None;
        }
        let (step, x) = match store.get(t) {
            Term::Fun(Fun::Abs, x) => (Step::Absolute, x),
            Term::Neg(x) => (Step::Negative, x),
            _ => return None,
        };
        steps.push(step);
        t = x;
    }
}

/// Operations that tell all arguments, one after the other.
fn finders(store: &TermStore, root: TermId, arguments: &[TermId]) -> Option<Vec<Finder>> {
    let below = store.reachable(&[root]);
    // The arguments that a term depends on, as bits.
    let mut uses: FxHashMap<TermId, u32> = FxHashMap::default();
    for &t in &below {
        let used = match arguments.iter().position(|&a| a == t) {
            Some(i) => 1 << i,
            None => {
                let mut all = 0;
                store.children(t, |c| all |= uses[&c]);
                all
            }
        };
        uses.insert(t, used);
    }
    let all = (1u32 << arguments.len()) - 1;
    let (mut known, mut out) = (0u32, Vec::new());
    while known != all {
        let side = |t: TermId| {
            if store.as_const(t).is_some() {
                return Some(Side::Known(t));
            }
            if let Some((i, steps)) = steps(store, t, arguments)
                && known & 1 << i == 0
            {
                return Some(Side::Argument(i, steps));
            }
            let used = uses[&t];
            (used != 0 && used & !known == 0).then_some(Side::Known(t))
        };
        let mut best = None;
        for &t in &below {
            let Some((how, a, b)) = operation(store, t) else {
                continue;
            };
            // What stands below an argument is not of the pattern.
            if uses[&t] == 0 {
                continue;
            }
            let (Some(x), Some(y)) = (side(a), side(b)) else {
                continue;
            };
            let Some(rank) = rank(store, &x, &y) else {
                continue;
            };
            // A comparison tells more than a product.
            let rank = (rank.0, !matches!(how, How::Compare(_)), rank.1, t);
            if best.as_ref().is_none_or(|(r, _)| rank < *r) {
                let sides = [x, y];
                best = Some((rank, Finder { how, sides }));
            }
        }
        let (_, finder) = best?;
        for s in &finder.sides {
            if let Side::Argument(i, _) = s {
                known |= 1 << i;
            }
        }
        out.push(finder);
    }
    Some(out)
}

/// How little an operation tells, and the number of steps in it; `None` if it tells nothing.
fn rank(store: &TermStore, x: &Side, y: &Side) -> Option<(u8, usize)> {
    let known = |t: TermId| match store.as_const(t) {
        None => 0,
        Some(c) if c.is_zero() || c.abs().is_one() => 3,
        Some(_) => 1,
    };
    match (x, y) {
        (Side::Known(_), Side::Known(_)) => None,
        (Side::Known(t), Side::Argument(_, s)) | (Side::Argument(_, s), Side::Known(t)) => {
            let large = store.cone_size([*t]) > MAX_KNOWN;
            (!large).then(|| (known(*t), s.len()))
        }
        (Side::Argument(_, s), Side::Argument(_, r)) => Some((2, s.len() + r.len())),
    }
}
