//! Operations of a pattern that tell what its arguments are.
//!
//! Problem: a finder is an operation of the pattern on an argument and a constant, another argument or what is computed of
//! known arguments. Finders that tell all arguments, one after the other, are a chain. One chain is enough where the whole
//! code stands in a pair. Facts about floats decide tests of the code, and the operation that the first chain looks for
//! may be gone with them: then every operation starts a chain of its own that may be one on an argument where choices
//! are made.
//!
//! Not claimed: that a function stands where a chain ends; the whole pattern is built there.

use std::cell::OnceCell;

use indexmap::IndexSet;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::term::{ArrayId, BitsOp, Fun, RCmp, Term, TermId, TermStore};

/// Operations between an operation and the argument.
const MAX_STEPS: usize = 3;

/// Terms that one operand may be where tests are decided.
const MAX_CHOSEN: usize = 16;

/// Terms that are computed of the known arguments where another one is looked for.
const MAX_KNOWN: usize = 400;

/// One step from an operation towards the argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    Absolute,
    Negative,
    /// From bits to the number that they encode.
    Encoded,
    /// From a function of it; where nothing nearer tells the argument.
    Of(Fun),
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
    /// A sum of bits, modulo 2^n.
    BitsSum,
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
        Term::BitsOp(BitsOp::Add, a, b) => Some((How::BitsSum, a, b)),
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
    /// The constants of the pair: numbers, and bits with their width.
    numbers: FxHashMap<BigRational, TermId>,
    words: FxHashMap<(u8, u64), TermId>,
    /// The numbers that elements are, by array, offset and width.
    elements: FxHashMap<(ArrayId, u64, u32), TermId>,
    /// True if facts may have decided tests of a function.
    pub(super) may_be_decided: bool,
}

impl Operations {
    /// Those among some terms.
    pub(super) fn of(store: &TermStore, terms: &[TermId]) -> Operations {
        let mut out = Operations {
            by_kind: ByKind::default(),
            by_operand: OnceCell::new(),
            numbers: FxHashMap::default(),
            words: FxHashMap::default(),
            elements: FxHashMap::default(),
            may_be_decided: !store.facts.numbers().is_empty(),
        };
        for &t in terms {
            out.add_leaf(store, t);
            if let Some((how, a, b)) = operation(store, t) {
                out.by_kind.entry(how).or_default().push((a, b));
                // A comparison of numbers stands for its negation too.
                let negation = match how {
                    How::Compare(RCmp::Lt) => How::Compare(RCmp::Le),
                    How::Compare(RCmp::Le) => How::Compare(RCmp::Lt),
                    _ => continue,
                };
                out.by_kind.entry(negation).or_default().push((b, a));
            }
        }
        out
    }

    fn add_leaf(&mut self, store: &TermStore, t: TermId) {
        match store.get(t) {
            Term::Const(_) => {
                let c = store.as_const(t).cloned();
                self.numbers.extend(c.map(|c| (c, t)));
            }
            Term::BitsConst { width, value } => {
                self.words.insert((width, value), t);
            }
            Term::Elem { array, fmt, off } if self.may_be_decided => {
                self.elements.insert((array, off, fmt.bits()), t);
            }
            _ => {}
        }
    }

    /// The constant of the pair that is one of another store; `None` also for what is no constant.
    fn constant(&self, store: &TermStore, t: TermId) -> Option<TermId> {
        match store.get(t) {
            Term::Const(_) => self.numbers.get(store.as_const(t)?).copied(),
            Term::BitsConst { width, value } => self.words.get(&(width, value)).copied(),
            _ => None,
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

    /// The operations of a kind, those on one operand alone where it is known and that is worth a table.
    fn of_kind(&self, how: How, operand: Option<TermId>, is_constant: bool) -> &[(TermId, TermId)] {
        match operand {
            Some(t) if !is_constant || self.may_be_decided => self.with_operand(how, t),
            _ => self.by_kind.get(&how).map_or(&[], Vec::as_slice),
        }
    }

    /// The argument that a term is after some steps.
    fn back(&self, store: &TermStore, t: TermId, steps: &[Step]) -> Option<TermId> {
        steps.iter().try_fold(t, |t, s| match (s, store.get(t)) {
            (Step::Absolute, Term::Fun(Fun::Abs, x)) | (Step::Negative, Term::Neg(x)) => Some(x),
            // The magnitude of what is not negative is that itself.
            (Step::Absolute, _) if store.is_nonnegative(t) => Some(t),
            (Step::Of(f), Term::Fun(g, x)) if f == &g => Some(x),
            (Step::Encoded, Term::OfReal { real, .. }) => Some(real),
            (Step::Encoded, Term::Bytes { array, off, width }) => {
                self.elements.get(&(array, off, width.into())).copied()
            }
            _ => None,
        })
    }
}

/// An operand of an operation of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Side {
    /// Computed of arguments that are known already, or of none.
    Known(TermId),
    /// An argument after some steps.
    Argument(usize, Vec<Step>),
}

/// An operation that tells what arguments can be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Finder {
    how: How,
    pub(super) sides: [Side; 2],
}

impl Finder {
    /// The arguments that it tells, as bits.
    fn told(&self) -> u32 {
        let argument = |s: &Side| match s {
            Side::Argument(i, _) => 1 << i,
            Side::Known(_) => 0,
        };
        argument(&self.sides[0]) | argument(&self.sides[1])
    }

    /// Adds to known arguments what an operation of a pair tells. `pattern` has the known operands; `built` makes one that
    /// is no constant a term of the pair, which gives `None` where the pair does not have it.
    pub(super) fn find(
        &self,
        known: &[Option<TermId>],
        (pattern, store): (&TermStore, &TermStore),
        operations: &Operations,
        mut built: impl FnMut(TermId) -> Option<TermId>,
        mut add: impl FnMut(Vec<Option<TermId>>),
    ) {
        // Terms of the pair that the known operands are.
        let mut given = [None; 2];
        let mut is_constant = false;
        for (g, side) in given.iter_mut().zip(&self.sides) {
            let Side::Known(t) = side else { continue };
            is_constant = matches!(pattern.get(*t), Term::Const(_) | Term::BitsConst { .. });
            let found = match is_constant {
                true => operations.constant(pattern, *t),
                false => built(*t),
            };
            let Some(found) = found else { return };
            *g = Some(found);
        }
        let orders = if self.how.is_symmetric() { 2 } else { 1 };
        for &(a, b) in operations.of_kind(self.how, given[0].or(given[1]), is_constant) {
            for pair in [[a, b], [b, a]].into_iter().take(orders) {
                let mut out = known.to_vec();
                let fits = (0..2).all(|i| match &self.sides[i] {
                    Side::Known(_) => given[i] == Some(pair[i]),
                    Side::Argument(n, steps) => match operations.back(store, pair[i], steps) {
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
        }
    }
}

/// The terms that one may be where tests are decided: itself, and what it chooses among.
fn chosen(store: &TermStore, t: TermId, is_decided: bool) -> Vec<TermId> {
    let mut out = vec![t];
    let mut at = 0;
    while let Some(&t) = out.get(at)
        && is_decided
        && out.len() < MAX_CHOSEN
    {
        at += 1;
        if let Term::Select(_, a, b) | Term::BitsSelect(_, a, b) = store.get(t) {
            out.extend([a, b]);
        }
    }
    out
}

/// The arguments that a term may be after some steps.
fn steps(
    store: &TermStore,
    t: TermId,
    (arguments, is_far): (&[TermId], bool),
    is_decided: bool,
) -> Vec<(usize, Vec<Step>)> {
    let mut out = Vec::new();
    let mut open = vec![(t, Vec::new())];
    while let Some((t, steps)) = open.pop() {
        for t in chosen(store, t, is_decided) {
            if let Some(i) = arguments.iter().position(|&a| a == t) {
                out.push((i, steps.clone()));
                continue;
            }
            let (step, x) = match store.get(t) {
                Term::Fun(Fun::Abs, x) => (Step::Absolute, x),
                Term::Neg(x) => (Step::Negative, x),
                Term::OfReal { real, .. } => (Step::Encoded, real),
                Term::Fun(f, x) if is_far => (Step::Of(f), x),
                _ => continue,
            };
            if steps.len() < MAX_STEPS {
                let steps = steps.iter().copied().chain([step]).collect();
                open.push((x, steps));
            }
        }
    }
    out
}

/// How little a finder tells, whether it is no comparison, and the number of steps in it.
type Rank = (u8, bool, usize);

/// The arguments of a pattern that each of its terms depends on, as bits.
fn uses(store: &TermStore, below: &[TermId], arguments: &[TermId]) -> FxHashMap<TermId, u32> {
    let mut uses: FxHashMap<TermId, u32> = FxHashMap::default();
    for &t in below {
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
    uses
}

/// The finders of a pattern.
struct Finders<'s> {
    store: &'s TermStore,
    arguments: &'s [TermId],
    /// An argument may stand below a function.
    is_far: bool,
    below: Vec<TermId>,
    uses: FxHashMap<TermId, u32>,
}

impl Finders<'_> {
    /// What an operand may be for someone who knows some arguments, given as bits.
    fn sides(&self, t: TermId, known: u32, is_decided: bool) -> Vec<Side> {
        let store = self.store;
        let constants = chosen(store, t, is_decided)
            .into_iter()
            .filter(|&t| matches!(store.get(t), Term::Const(_) | Term::BitsConst { .. }));
        let mut out: Vec<Side> = constants.map(Side::Known).collect();
        let arguments = steps(store, t, (self.arguments, self.is_far), is_decided);
        let unknown = arguments.into_iter().filter(|(i, _)| known & 1 << i == 0);
        out.extend(unknown.map(|(i, steps)| Side::Argument(i, steps)));
        let used = self.uses[&t];
        if out.is_empty() && used != 0 && used & !known == 0 {
            out.push(Side::Known(t));
        }
        out
    }

    /// What is found by someone who knows some arguments, the operation that tells most first.
    fn after(&self, known: u32, is_decided: bool) -> Vec<Finder> {
        let mut out: Vec<(Rank, TermId, Finder)> = Vec::new();
        for &t in &self.below {
            // What stands below an argument is not of the pattern.
            let operation = operation(self.store, t).filter(|_| self.uses[&t] != 0);
            let Some((how, a, b)) = operation else {
                continue;
            };
            let others = self.sides(b, known, is_decided);
            for x in self.sides(a, known, is_decided) {
                for y in &others {
                    if let Some((little, steps)) = rank(self.store, &x, y) {
                        // A comparison tells more than a product.
                        let rank = (little, !matches!(how, How::Compare(_)), steps);
                        let sides = [x.clone(), y.clone()];
                        out.push((rank, t, Finder { how, sides }));
                    }
                }
            }
        }
        out.sort_by_key(|(rank, t, _)| (*rank, *t));
        out.into_iter().map(|(_, _, f)| f).collect()
    }

    /// A finder with those that tell what it does not.
    fn chain(&self, first: Finder) -> Option<Vec<Finder>> {
        let all = (1u32 << self.arguments.len()) - 1;
        let mut known = first.told();
        let mut out = vec![first];
        while known != all {
            let next = self.after(known, false).into_iter().next()?;
            known |= next.told();
            out.push(next);
        }
        Some(out)
    }
}

/// The chains of finders of a pattern: the one that tells most, then all. Operations on a function of an argument are looked
/// at where no operation on one itself tells it.
pub(super) fn chains(store: &TermStore, root: TermId, arguments: &[TermId]) -> Vec<Vec<Finder>> {
    let near = chains_within(store, root, (arguments, false));
    match near.is_empty() {
        true => chains_within(store, root, (arguments, true)),
        false => near,
    }
}

fn chains_within(
    store: &TermStore,
    root: TermId,
    (arguments, is_far): (&[TermId], bool),
) -> Vec<Vec<Finder>> {
    let below = store.reachable(&[root]);
    let uses = uses(store, &below, arguments);
    let finders = Finders {
        store,
        arguments,
        is_far,
        below,
        uses,
    };
    let first = finders.after(0, false).into_iter().take(1);
    let mut starts: IndexSet<Finder, FxBuildHasher> = first.collect();
    starts.extend(finders.after(0, true));
    starts
        .into_iter()
        .filter_map(|f| finders.chain(f))
        .collect()
}

/// How little an operation tells, and the number of steps in it; `None` if it tells nothing.
fn rank(store: &TermStore, x: &Side, y: &Side) -> Option<(u8, usize)> {
    let known = |t: TermId| match (store.as_const(t), store.as_bits(t)) {
        (Some(c), _) if c.is_zero() || c.abs().is_one() => 3,
        (None, None) => 0,
        _ => 1,
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
