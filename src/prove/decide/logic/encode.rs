//! Terms as gates.
//!
//! Problem: a predicate, or a bit of a word, as a function of bits of inputs and of comparisons of reals.
//! What is not a bit operation (the encoding of a computed number, a rounding) is inputs of its own, the same
//! for all terms of one canonical form. A comparison of reals is two inputs for the form whose sign it asks
//! for: that it is below 0, and that it is above.
//!
//! Sound: a term that has a value has the value of its gates, where inputs have the values of what they stand
//! for. Poison has no gates.

use rustc_hash::FxHashMap;

use super::circuit::Lit;
use super::limits::{MAX_MONOMIALS, MAX_TERMS};
use super::linear::Linear;
use super::words::{Word, Words, constant};
use crate::decide::canon::Canon;
use crate::decide::total::Totals;
use crate::norm::{CanonId, Key, Reading, Relation};
use crate::spec::Limits;
use crate::term::{ArrayId, ICmp, RCmp, Sort, Term, TermId, TermStore, pairs};

/// A number whose sign comparisons ask for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Atom {
    pub(super) below: Lit,
    pub(super) above: Lit,
    /// A comparison of two terms that asks for it, if one does whose terms have a value on every input, and
    /// whether the first minus the second has the opposite sign.
    pub(super) example: Option<(TermId, TermId, bool)>,
    form: SignOf,
}

/// A bit of memory, or a class of terms that are not looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Leaf {
    Memory(ArrayId, u64),
    Class((u8, u32)),
    Of(TermId),
}

/// The gates of the terms of a store.
pub(super) struct Encoder<'s> {
    store: &'s TermStore,
    limits: &'s Limits,
    /// Made when it is asked.
    canon: Option<Canon<'s>>,
    totals: Totals<'s>,
    pub(super) words: Words,
    bits: FxHashMap<TermId, Word>,
    leaves: FxHashMap<Leaf, Word>,
    pub(super) atoms: Vec<Atom>,
    forms: FxHashMap<SignOf, usize>,
    /// Whether terms are taken as they stand: no canonical forms are made.
    literal: bool,
}

/// Whose sign a comparison asks for: a canonical form's, or that of a difference as it stands, of which the
/// first is the older.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum SignOf {
    Canonical(CanonId),
    Difference(TermId, TermId),
}

impl<'s> Encoder<'s> {
    pub(super) fn new(store: &'s TermStore, limits: &'s Limits, deep: bool) -> Encoder<'s> {
        Encoder {
            store,
            limits,
            canon: None,
            totals: Totals::new(limits),
            words: Words::new(deep),
            bits: FxHashMap::default(),
            leaves: FxHashMap::default(),
            atoms: Vec::new(),
            forms: FxHashMap::default(),
            literal: false,
        }
    }

    /// The same without canonical forms: terms are the same only as they stand.
    pub(super) fn literally(store: &'s TermStore, limits: &'s Limits) -> Encoder<'s> {
        Encoder {
            literal: true,
            ..Encoder::new(store, limits, false)
        }
    }

    /// That x is below y, and that it is above, as terms stand.
    pub(super) fn order(&mut self, x: TermId, y: TermId) -> Option<(Lit, Lit)> {
        let at = self.atom(SignOf::Difference(x.min(y), x.max(y)))?;
        let atom = self.atoms[at];
        Some(match x <= y {
            true => (atom.below, atom.above),
            false => (atom.above, atom.below),
        })
    }

    /// Encodes a term as a word whose further bits are 0 in all that is encoded from now on, if the word is not longer.
    pub(super) fn stands_for(&mut self, word: &[Lit], t: TermId) {
        let width = self.width(t);
        if word.len() <= width {
            let mut word = word.to_vec();
            word.resize(width, Lit::FALSE);
            self.bits.insert(t, word);
        }
    }

    /// The numbers of atoms as linear forms, of those that have a value on every input.
    pub(super) fn forms(&mut self) -> Vec<Option<Linear<Key>>> {
        let atoms = self.atoms.clone();
        let form = |atom: &Atom| match (atom.form, atom.example) {
            (SignOf::Canonical(form), Some(_)) => {
                let p = self.canon().polynomial_of(form, MAX_MONOMIALS)?;
                let terms = p.terms.into_iter().map(|(key, k, _)| (key, k));
                Some(Linear::of(p.constant, terms))
            }
            _ => None,
        };
        atoms.iter().map(form).collect()
    }

    fn canon(&mut self) -> &mut Canon<'s> {
        let new = || Canon::new(self.store, self.limits);
        self.canon.get_or_insert_with(new)
    }

    /// The bits of a word, or the one of a predicate.
    pub(super) fn encode(&mut self, root: TermId) -> Option<Word> {
        let most = MAX_TERMS.saturating_sub(self.bits.len());
        let new = self.store.met(&[root], most, |t, open| {
            let new = !self.bits.contains_key(&t);
            if new && self.store.get(t).is_of_words() {
                self.store.children(t, |c| open.push(c));
            }
            new
        })?;
        for t in new {
            let bits = self.step(t)?;
            self.bits.insert(t, bits);
        }
        self.bits.get(&root).cloned()
    }

    /// The literal of a predicate.
    pub(super) fn predicate(&mut self, p: TermId) -> Option<Lit> {
        self.encode(p)?.first().copied()
    }

    fn of(&self, t: TermId) -> Option<&Word> {
        self.bits.get(&t)
    }

    fn truth(&self, t: TermId) -> Option<Lit> {
        self.of(t)?.first().copied()
    }

    fn width(&self, t: TermId) -> usize {
        match self.store.sort(t) {
            Sort::Bits(w) => w.into(),
            Sort::Bool | Sort::Real => 1,
        }
    }

    /// The bits of a term from those of its operands.
    fn step(&mut self, t: TermId) -> Option<Word> {
        let store = self.store;
        let one = |l: Lit| Some(vec![l]);
        match store.get(t) {
            Term::Bool(b) => one(Lit::of(b)),
            Term::BitsConst { width, value } => Some(constant(width.into(), value)),
            Term::Concat(parts) => {
                let parts = parts.iter().map(|&p| self.of(TermId(p)));
                Some(
                    parts
                        .collect::<Option<Vec<_>>>()?
                        .into_iter()
                        .flatten()
                        .copied()
                        .collect(),
                )
            }
            Term::Extract { bits, low, width } => {
                let all = self.of(bits)?;
                Some(
                    all.get(low as usize..low as usize + width as usize)?
                        .to_vec(),
                )
            }
            Term::BitsOp(op, a, b) => {
                let (x, y) = (self.of(a)?.clone(), self.of(b)?.clone());
                self.words.operation(op, &x, &y)
            }
            Term::BitsSum(list) => {
                let pair = |(a, b)| Some((self.of(a)?.clone(), self.of(b)?.clone()));
                let pairs: Vec<(Word, Word)> = pairs(list).map(pair).collect::<Option<_>>()?;
                self.words.sum(self.width(t), &pairs)
            }
            Term::BitsSelect(p, a, b) => {
                let (p, x, y) = (self.truth(p)?, self.of(a)?.clone(), self.of(b)?.clone());
                self.words.choose(p, &x, &y)
            }
            Term::OfBool { width, p } => {
                let mut out = constant(width.into(), 0);
                *out.first_mut()? = self.truth(p)?;
                Some(out)
            }
            Term::ICmp(op, a, b) => {
                let (x, y) = (self.of(a)?.clone(), self.of(b)?.clone());
                one(match op {
                    ICmp::Eq => self.words.same(&x, &y)?,
                    ICmp::ULt => self.words.less(&x, &y, false)?,
                    ICmp::SLt => self.words.less(&x, &y, true)?,
                    ICmp::ULe => !self.words.less(&y, &x, false)?,
                    ICmp::SLe => !self.words.less(&y, &x, true)?,
                })
            }
            Term::Not(p) => one(!self.truth(p)?),
            Term::And(p, q) | Term::Or(p, q) | Term::Xor(p, q) => {
                let (p, q) = (self.truth(p)?, self.truth(q)?);
                let c = &mut self.words.circuit;
                one(match store.get(t) {
                    Term::And(..) => c.and(p, q)?,
                    Term::Or(..) => c.or(p, q)?,
                    _ => c.xor(p, q)?,
                })
            }
            Term::RCmp(..) => one(self.comparison(t)?),
            Term::Poison { .. } => None,
            Term::Bytes { array, off, width } => {
                let mut out = Word::new();
                for i in 0..u64::from(width / 8) {
                    out.extend(self.leaf(Leaf::Memory(array, off.checked_add(i)?), 8)?);
                }
                Some(out)
            }
            _ => {
                let class = match self.literal {
                    true => None,
                    false => self.canon().class(t),
                };
                let leaf = class.map_or(Leaf::Of(t), Leaf::Class);
                self.leaf(leaf, self.width(t))
            }
        }
    }

    fn leaf(&mut self, leaf: Leaf, width: usize) -> Option<Word> {
        if let Some(word) = self.leaves.get(&leaf) {
            return (word.len() == width).then(|| word.clone());
        }
        let word = self.words.inputs(width)?;
        self.leaves.insert(leaf, word.clone());
        Some(word)
    }

    /// The inputs for the sign of a form.
    fn atom(&mut self, form: SignOf) -> Option<usize> {
        if let Some(&at) = self.forms.get(&form) {
            return Some(at);
        }
        let inputs = self.words.inputs(2)?;
        self.atoms.push(Atom {
            below: inputs[0],
            above: inputs[1],
            example: None,
            form,
        });
        self.forms.insert(form, self.atoms.len() - 1);
        Some(self.atoms.len() - 1)
    }

    /// A comparison of reals: by the sign of its canonical form, if it has one.
    fn comparison(&mut self, t: TermId) -> Option<Lit> {
        if let (true, Term::RCmp(op, x, y)) = (self.literal, self.store.get(t)) {
            let (below, above) = self.order(x, y)?;
            return match op {
                RCmp::Lt => Some(below),
                RCmp::Le => Some(!above),
                RCmp::Eq => self.words.circuit.and(!below, !above),
            };
        }
        let (form, relation, negated) = match self.canon().reading(t) {
            Some(Reading::Known(b)) => return Some(Lit::of(b)),
            Some(Reading::Sign {
                form,
                relation,
                negated,
            }) => (form, relation, negated),
            None => return self.leaf(Leaf::Of(t), 1)?.first().copied(),
        };
        let at = self.atom(SignOf::Canonical(form))?;
        self.give_example(at, t, relation, negated);
        let atom = self.atoms[at];
        let holds = match relation {
            Relation::Below => atom.below,
            Relation::Above => atom.above,
            Relation::Zero => self.words.circuit.and(!atom.below, !atom.above)?,
        };
        Some(holds.flipped(negated))
    }

    /// Keeps the terms of a comparison by order, from which the sign of the form can be told.
    fn give_example(&mut self, at: usize, t: TermId, relation: Relation, negated: bool) {
        let Term::RCmp(op, a, b) = self.store.get(t) else {
            return;
        };
        let total = |s: &mut Self, t| s.totals.is_total(s.store, t);
        if self.atoms[at].example.is_some() || !total(self, a) || !total(self, b) {
            return;
        }
        // `a < b` is `a - b` below 0, `a <= b` is not `b - a` below 0.
        let (x, y) = match (op, negated) {
            (RCmp::Lt, false) => (a, b),
            (RCmp::Le, true) => (b, a),
            // The reading of an equation drops factors of any sign.
            _ => return,
        };
        self.atoms[at].example = Some((x, y, relation == Relation::Above));
    }
}
