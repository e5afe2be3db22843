//! Terms in which a test that only the machine decides is told by what it asks.
//!
//! Problem: the code of a library function tests its operands for what only the machine finds: an infinity that a
//! number beyond its format has become, or whether rounding changed it. Each such test is an unknown of its own, so
//! the same code is another term at each place. Here an unknown is a symbol of its question. A pattern asks what the pair
//! does: a question that the pair does not have was answered by the simulator, as one of reals.
//!
//! A number that remembers how it was made is the real that it stands for, so that a comparison of its bits is one of that
//! real, with a question of its own.
//!
//! Sound as the reading of a function only: a term is no other's equal because both have one image here. A test that the
//! function does not have stays in the image, so that what it chooses is not the function.

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::Place;
use crate::kernel::Fmt;
use crate::sim::idiom::unsigned_order;
use crate::term::questions::{Asked, Question};
use crate::term::rebuild::{Images, rebuild};
use crate::term::{ICmp, RCmp, Term, TermId, TermStore};

/// The questions of a pair, of images of its terms.
#[derive(Debug, Default)]
pub(super) struct Questions {
    all: IndexSet<Question, FxBuildHasher>,
    formats: Vec<Fmt>,
}

/// Symbols of questions have serials from this one on: no run makes as many unknowns, and those of tests are above.
const SYMBOL: u32 = 1 << 29;

impl Questions {
    /// The symbol of a question.
    fn symbol(store: &mut TermStore, i: usize) -> TermId {
        store.fresh(1, SYMBOL | i as u32)
    }

    fn add(&mut self, store: &mut TermStore, q: Question) -> TermId {
        let i = self.all.insert_full(q).0;
        if !self.formats.contains(&q.fmt) {
            self.formats.push(q.fmt);
        }
        Questions::symbol(store, i)
    }

    /// A bit of the image of a term for its question: 0 for one that the pair does not have.
    fn bit(&self, store: &mut TermStore, q: Option<Question>) -> TermId {
        match q.and_then(|q| self.all.get_index_of(&q)) {
            Some(i) => Questions::symbol(store, i),
            None => store.bits(1, 0),
        }
    }

    /// Whether the pair asks this.
    pub(super) fn has(&self, q: Question) -> bool {
        q.of(Some).is_some_and(|q| self.all.contains(&q))
    }

    /// The machine's answer to a test, given that of the reals.
    pub(super) fn answered(&self, store: &mut TermStore, holds: TermId, q: Question) -> TermId {
        let bit = self.bit(store, q.of(Some));
        let flip = is_set(store, bit);
        store.xor(holds, flip)
    }

    /// What stands for a term of a pattern in the pair, given the images of what is below it: for an unknown the symbol
    /// of its question, and for a comparison that the machine may answer otherwise in the pair, both answers.
    pub(super) fn image(
        &self,
        (from, t): (&TermStore, TermId),
        into: &mut TermStore,
        done: &Images,
    ) -> Option<TermId> {
        let image = |q: Question| q.of(|t| done.get(t));
        match from.get(t) {
            Term::Overflows(..) => {
                let bit = self.bit(into, from.question(t).and_then(image));
                Some(is_set(into, bit))
            }
            Term::RCmp(op, a, b) if !self.all.is_empty() && !from.asks_order(op, [a, b]) => {
                let (x, y) = (done.of(a), done.of(b));
                let asked = |&fmt: &Fmt| {
                    let q = Question {
                        asked: Asked::Order(op),
                        fmt,
                        operands: [x, y],
                    };
                    q.of(Some).filter(|q| self.all.contains(q))
                };
                let q = self.formats.iter().find_map(asked)?;
                let holds = into.rcmp(op, x, y);
                Some(self.answered(into, holds, q))
            }
            Term::BitsSelect(..) | Term::Extract { .. } if !self.all.is_empty() => {
                with_one_zero((from, t), into, done)
            }
            _ if from.is_flip(t) => Some(self.bit(into, from.question(t).and_then(image))),
            _ => None,
        }
    }
}

fn is_set(store: &mut TermStore, bit: TermId) -> TermId {
    let one = store.bits(1, 1);
    store.icmp(ICmp::Eq, bit, one)
}

/// match `p ? -0 : bits(x)`, `sign(bits(x))` / result `bits(p ? 0 : x)`, `x < 0` / because a function of reals has
/// one value at both zeros.
fn with_one_zero(
    (from, t): (&TermStore, TermId),
    into: &mut TermStore,
    done: &Images,
) -> Option<TermId> {
    match from.get(t) {
        Term::BitsSelect(p, a, b) => number(into, done.of(p), [done.of(a), done.of(b)]),
        Term::Extract {
            bits,
            low,
            width: 1,
        } => match into.get(done.of(bits)) {
            Term::OfReal { fmt, real } if u32::from(low) + 1 == fmt.bits() => {
                let zero = into.integer(0);
                let below = into.rcmp(RCmp::Lt, real, zero);
                Some(into.of_bool(1, below))
            }
            _ => None,
        },
        _ => None,
    }
}

/// A choice between encodings of numbers, or between one and minus zero, as the encoding of the number that is chosen.
fn number(store: &mut TermStore, p: TermId, [a, b]: [TermId; 2]) -> Option<TermId> {
    let encoded = |t| match store.get(t) {
        Term::OfReal { fmt, real } => Some((fmt, real)),
        _ => None,
    };
    let (fmt, _) = encoded(a).or(encoded(b))?;
    let sign = 1 << (fmt.bits() - 1);
    let real = |t| match store.as_bits(t) {
        Some(bits) => (bits == sign).then_some(None),
        None => encoded(t).filter(|e| e.0 == fmt).map(|e| Some(e.1)),
    };
    let parts = [real(a)?, real(b)?];
    let [x, y] = parts.map(|r| r.unwrap_or_else(|| store.integer(0)));
    let chosen = store.select(p, x, y);
    Some(store.of_real(fmt, chosen))
}

/// True if a function of some arguments reads no real that operations made in several ways, each with an encoding of its
/// own.
pub(super) fn reads_alike(store: &TermStore, function: (TermId, &[TermId])) -> bool {
    all_read(store, function, |_, real| store.is_made_alike(real))
}

/// True if something holds of each real whose encoding a function of some arguments reads.
fn all_read(
    store: &TermStore,
    (root, arguments): (TermId, &[TermId]),
    mut holds: impl FnMut(Fmt, TermId) -> bool,
) -> bool {
    let (mut seen, mut open) = (FxHashSet::default(), vec![root]);
    while let Some(t) = open.pop() {
        if arguments.contains(&t) || !seen.insert(t) {
            continue;
        }
        if let Term::OfReal { fmt, real } = store.get(t)
            && !holds(fmt, real)
        {
            return false;
        }
        match store.as_made(t) {
            Some(made) => open.push(made.real()),
            None => store.children(t, |c| open.push(c)),
        }
    }
    true
}

/// Terms of a store and their images.
pub(super) struct Ideal {
    pub(super) store: TermStore,
    pub(super) questions: Questions,
    images: Vec<TermId>,
}

impl Ideal {
    /// The images of terms that contain all that stands below them; `None` if all are their own.
    pub(super) fn of(store: &TermStore, terms: &[TermId]) -> Option<Ideal> {
        let is_own = |t: &TermId| !store.is_flip(*t) && store.as_made(*t).is_none();
        let asks = |t: &TermId| !is_own(t) || matches!(store.get(*t), Term::Overflows(..));
        if !terms.iter().any(asks) {
            return None;
        }
        let mut into = TermStore::new();
        into.as_written = store.as_written;
        into.facts = store.facts.clone();
        let mut questions = Questions::default();
        let images = rebuild(store, terms, &mut into, |s, t, done| {
            if let Some(image) = with_one_zero((store, t), s, done) {
                return Some(image);
            }
            // Which number was made does not tell what it is; that one function reads one number is asked of its place.
            if store.as_made(t).is_some() {
                return done.get(store.face(t));
            }
            if let Term::ICmp(op, a, b) = store.get(t)
                && let Some((holds, question)) = unsigned_order(s, op, done.of(a), done.of(b))
            {
                let bit = questions.add(s, question);
                let flip = is_set(s, bit);
                return Some(s.xor(holds, flip));
            }
            let question = store.question(t)?.of(|t| done.get(t))?;
            let bit = questions.add(s, question);
            match store.get(t) {
                Term::Overflows(..) => Some(is_set(s, bit)),
                _ => Some(bit),
            }
        });
        Some(Ideal {
            store: into,
            questions,
            images,
        })
    }

    /// All images and what stands below them, in ascending order.
    pub(super) fn terms(&self) -> Vec<TermId> {
        self.store.reachable(&self.images)
    }

    /// Functions of the images as those of the terms. An argument is a term that alone has its image, but for numbers that
    /// were made of it.
    pub(super) fn in_pair(
        &self,
        store: &TermStore,
        terms: &[TermId],
        found: FxHashMap<TermId, Place>,
    ) -> FxHashMap<TermId, Place> {
        let mut origins: FxHashMap<TermId, Option<TermId>> = FxHashMap::default();
        let reals = terms.iter().zip(&self.images);
        for (&t, &image) in reals.filter(|(t, _)| store.as_made(**t).is_none()) {
            let origin = origins.entry(image).or_insert(Some(t));
            if *origin != Some(t) {
                *origin = None;
            }
        }
        let mut out = FxHashMap::default();
        for (&t, image) in terms.iter().zip(&self.images) {
            let Some(place) = found.get(image) else {
                continue;
            };
            let arguments = place.arguments.iter();
            let arguments = arguments.map(|u| origins.get(u).copied().flatten());
            if let Some(arguments) = arguments.collect::<Option<Vec<TermId>>>()
                && self.reads_one_number(store, terms, (t, &arguments))
            {
                out.insert(
                    t,
                    Place {
                        arguments,
                        ..place.clone()
                    },
                );
            }
        }
        out
    }

    /// True if a function of some arguments reads no real in two encodings: those of two numbers that only rounding tells
    /// apart have exponents and fractions that do not fit together.
    fn reads_one_number(
        &self,
        store: &TermStore,
        terms: &[TermId],
        function: (TermId, &[TermId]),
    ) -> bool {
        let mut read: FxHashMap<(Fmt, TermId), TermId> = FxHashMap::default();
        all_read(store, function, |fmt, real| {
            let face = store.face(real);
            let image = terms.binary_search(&face).map_or(face, |i| self.images[i]);
            *read.entry((fmt, image)).or_insert(real) == real && store.is_made_alike(real)
        })
    }
}
