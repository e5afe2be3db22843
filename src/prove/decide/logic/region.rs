//! Regions in which every choice is made.
//!
//! Problem: all inputs have to be covered, and every region that the solver proposes is one of very many.
//! So each is left for a reason that is as small as can be found: a few signs that contradict one another,
//! or the few choices without which the two terms are no longer seen to be equal. The reason is a clause, and
//! the solver proposes no region that has it.

use rustc_hash::{FxHashMap, FxHashSet};

use super::circuit::{Gate, Lit};
use super::encode::Encoder;
use super::limits::*;
use super::solver::{Clauses, Outcome};
use super::theory::{self, Resolved, Signed};
use crate::decide::canon::Canon;
use crate::spec::Limits;
use crate::term::rebuild::{copy, rebuild};
use crate::term::{Fun, ICmp, RCmp, Sort, Term, TermId, TermStore};

/// A term that is one of two others.
#[derive(Clone, Copy, Debug)]
struct Choice {
    p: TermId,
    yes: TermId,
    no: TermId,
    /// Whether it is the first with the other sign.
    negated: bool,
}

/// Two terms, with the predicates by which they choose. Where a term has a value, so have the operands of
/// its maxima, and the predicates of the choices on the way that is taken: what other predicates are taken
/// to be there does not matter.
pub(super) struct Question {
    pub(super) store: TermStore,
    pair: (TermId, TermId),
    conditions: Vec<TermId>,
    choices: FxHashMap<TermId, Choice>,
}

impl Question {
    /// `None` if there is nothing to choose or too much to look at.
    pub(super) fn new(
        from: &TermStore,
        (a, b): (TermId, TermId),
        conditions: &[TermId],
    ) -> Option<Question> {
        let mut roots = vec![a, b];
        roots.extend(conditions);
        if from.reachable(&roots).len() > MAX_TERMS {
            return None;
        }
        let mut store = TermStore::new();
        store.facts = from.facts.clone();
        let roots = rebuild(from, &roots, &mut store, |s, t, map| {
            super::monotone::one_power(from, t, s, map)
        });
        let mut choices = FxHashMap::default();
        for t in store.reachable(&roots) {
            let choice = match store.get(t) {
                Term::Select(p, yes, no) | Term::BitsSelect(p, yes, no) => Choice {
                    p,
                    yes,
                    no,
                    negated: false,
                },
                Term::Max(x, y) | Term::Min(x, y) => {
                    let largest = matches!(store.get(t), Term::Max(..));
                    let p = store.rcmp(RCmp::Lt, x, y);
                    let (yes, no) = if largest { (y, x) } else { (x, y) };
                    Choice {
                        p,
                        yes,
                        no,
                        negated: false,
                    }
                }
                Term::Fun(Fun::Abs, x) => {
                    let zero = store.integer(0);
                    Choice {
                        p: store.rcmp(RCmp::Lt, x, zero),
                        yes: x,
                        no: x,
                        negated: true,
                    }
                }
                _ => continue,
            };
            choices.insert(t, choice);
        }
        Some(Question {
            store,
            pair: (roots[0], roots[1]),
            conditions: roots[2..].to_vec(),
            choices,
        })
    }
}

/// Values of conditions, by gate.
type Known = FxHashMap<usize, bool>;

/// The regions of one question that are left.
pub(super) struct Search<'q> {
    question: &'q Question,
    limits: &'q Limits,
    encoder: Encoder<'q>,
    clauses: Clauses,
    /// The literals of the predicates of choices.
    literals: FxHashMap<TermId, Lit>,
    /// The literals of what is taken to hold.
    given: Vec<Lit>,
    /// The values of gates in the last proposal.
    values: Vec<bool>,
    trials: usize,
}

impl<'q> Search<'q> {
    /// No region is left out yet but those in which a condition fails.
    pub(super) fn new(question: &'q Question, limits: &'q Limits, deep: bool) -> Option<Self> {
        let mut encoder = Encoder::new(&question.store, limits, deep);
        let mut clauses = Clauses::new(limits, MAX_LEARNT);
        let mut predicates: Vec<TermId> = question.choices.values().map(|c| c.p).collect();
        predicates.sort_unstable();
        predicates.dedup();
        let mut literals = FxHashMap::default();
        for p in predicates {
            literals.insert(p, encoder.predicate(p)?);
        }
        let mut given = Vec::new();
        for &p in &question.conditions {
            let holds = encoder.predicate(p)?;
            clauses.add(&encoder.words.circuit, &[holds]);
            given.push(holds);
        }
        Some(Search {
            question,
            limits,
            encoder,
            clauses,
            literals,
            given,
            values: Vec::new(),
            trials: MAX_TRIALS,
        })
    }

    /// No number is both below and above 0.
    fn tell_signs(&mut self) {
        for atom in &self.encoder.atoms {
            let clause = [!atom.below, !atom.above];
            self.clauses.add(&self.encoder.words.circuit, &clause);
        }
        let forms = self.encoder.forms();
        for clause in theory::sums(&self.encoder.atoms, &forms) {
            self.clauses.add(&self.encoder.words.circuit, &clause);
        }
    }

    /// What the solver says, with the values of all gates where it proposes some.
    fn propose(&mut self) -> Outcome {
        if self.limits.reached().is_some() {
            return Outcome::GaveUp;
        }
        let outcome = self.clauses.solve();
        if outcome != Outcome::Satisfied {
            return outcome;
        }
        let circuit = &self.encoder.words.circuit;
        self.values.clear();
        for i in 0..circuit.len() {
            let of = |l: Lit| self.values[l.gate()] != l.is_negated();
            let value = match circuit.gate(i) {
                _ if i == Lit::FALSE.gate() => false,
                Gate::Input => self.clauses.value(i),
                Gate::And(a, b) => of(a) && of(b),
            };
            self.values.push(value);
        }
        outcome
    }

    /// The value of a literal in the proposal.
    fn value(&self, l: Lit) -> bool {
        self.values[l.gate()] != l.is_negated()
    }

    /// True if no inputs make a bit of both words differ.
    pub(super) fn no_difference(&mut self) -> Option<bool> {
        let (a, b) = self.question.pair;
        let (x, y) = (self.encoder.encode(a)?, self.encoder.encode(b)?);
        let mut same = Lit::TRUE;
        for (p, q) in x.into_iter().zip(y) {
            let circuit = &mut self.encoder.words.circuit;
            let differ = circuit.xor(p, q)?;
            same = circuit.and(same, !differ)?;
        }
        if same == Lit::TRUE {
            return Some(true);
        }
        self.tell_signs();
        self.clauses.add(&self.encoder.words.circuit, &[!same]);
        for _ in 0..MAX_REGIONS {
            match self.propose() {
                Outcome::Contradictory => return Some(true),
                Outcome::GaveUp => return Some(false),
                Outcome::Satisfied => {}
            }
            let Some(clause) = self.emptiness(!same) else {
                return Some(false);
            };
            self.clauses.add(&self.encoder.words.circuit, &clause);
        }
        Some(false)
    }

    /// True if in every region the terms are equal.
    pub(super) fn every_region(&mut self) -> Option<bool> {
        if self.question.choices.is_empty() {
            return Some(false);
        }
        self.tell_signs();
        let most = MAX_REGION_TERMS / self.question.store.len().max(1);
        for _ in 0..most.clamp(MIN_REGIONS, MAX_REGIONS) {
            match self.propose() {
                Outcome::Contradictory => return Some(true),
                Outcome::GaveUp => return Some(false),
                Outcome::Satisfied => {}
            }
            let clause = self.leave()?;
            self.clauses.add(&self.encoder.words.circuit, &clause);
        }
        Some(false)
    }

    /// A clause that leaves the region that the solver proposes, if it is empty or the terms are equal
    /// in it.
    fn leave(&mut self) -> Option<Vec<Lit>> {
        let (a, b) = self.question.pair;
        let taken = self.taken(&[a, b]);
        let hold = [&taken[..], &self.given].concat();
        let signs = self.signs(&hold);
        let resolved = self.resolved(&taken, &signs);
        if let Some(core) =
            theory::contradiction(&resolved, &signs, &self.encoder.atoms, self.limits)
        {
            return Some(clause(core.iter().map(|&i| &signs[i]), &[]));
        }
        let (x, y) = resolved.pair;
        if x == y || Canon::new(&resolved.store, self.limits).equal(x, y) {
            let needed = self.without_idle(taken);
            return Some(clause([], &needed));
        }
        if let Some(core) = theory::no_gap(&resolved, &signs, &self.encoder.atoms, self.limits) {
            return Some(clause(core.iter().map(|&i| &signs[i]), &taken));
        }
        let signs = self.whole_signs(signs);
        if theory::equal_on_boundary(&resolved, &signs, self.limits) {
            let zeros = theory::zeros(&signs);
            let zeros = signs.iter().filter(|s| zeros.contains(&s.atom));
            return Some(clause(zeros, &taken));
        }
        let atoms = &self.encoder.atoms;
        if let Some(places) = theory::equal_by_signs(&resolved, &signs, atoms, self.limits) {
            return Some(clause(places.iter().map(|&i| &signs[i]), &taken));
        }
        self.contradiction_of_all(&resolved, &signs)
    }

    /// A clause that leaves the region in which this literal holds, if it is empty.
    fn emptiness(&self, hold: Lit) -> Option<Vec<Lit>> {
        let hold = [&[hold], &self.given[..]].concat();
        let signs = self.signs(&hold);
        let resolved = self.resolved(&[], &signs);
        let atoms = &self.encoder.atoms;
        if let Some(core) = theory::contradiction(&resolved, &signs, atoms, self.limits) {
            return Some(clause(core.iter().map(|&i| &signs[i]), &[]));
        }
        let signs = self.whole_signs(signs);
        self.contradiction_of_all(&resolved, &signs)
    }

    fn contradiction_of_all(&self, resolved: &Resolved, signs: &[Signed]) -> Option<Vec<Lit>> {
        let atoms = &self.encoder.atoms;
        let core = theory::contradiction(resolved, signs, atoms, self.limits)
            .or_else(|| theory::contradiction_by_signs(resolved, signs, atoms, self.limits))
            .or_else(|| theory::by_monotony(resolved, signs, atoms))?;
        Some(clause(core.iter().map(|&i| &signs[i]), &[]))
    }

    /// Whether a choice takes its first operand, and the literal of that, unless it is constant.
    fn side(&self, choice: &Choice) -> Option<(bool, Lit)> {
        let l = *self.literals.get(&choice.p)?;
        let value = self.value(l);
        Some((value, l.flipped(!value)))
    }

    /// The literals of the choices that are made below some terms, from the outermost.
    fn taken(&self, roots: &[TermId]) -> Vec<Lit> {
        let mut out = Vec::new();
        let mut seen: FxHashSet<TermId> = FxHashSet::default();
        let mut open: Vec<TermId> = roots.to_vec();
        while let Some(t) = open.pop() {
            if !seen.insert(t) {
                continue;
            }
            let side = self.question.choices.get(&t).map(|c| (c, self.side(c)));
            match side {
                Some((c, Some((value, l)))) => {
                    open.push(if value { c.yes } else { c.no });
                    if !l.is_constant() && !out.contains(&l) {
                        out.push(l);
                    }
                }
                _ => self.question.store.children(t, |c| open.push(c)),
            }
        }
        out
    }

    /// The inputs that make these literals hold in the proposal.
    fn justified(&self, hold: &[Lit]) -> Vec<Lit> {
        let circuit = &self.encoder.words.circuit;
        let (mut open, mut seen, mut out) = (hold.to_vec(), FxHashSet::default(), Vec::new());
        while let Some(l) = open.pop() {
            if l.is_constant() || !seen.insert(l) {
                continue;
            }
            match (circuit.gate(l.gate()), l.is_negated()) {
                (Gate::Input, _) => out.push(l),
                (Gate::And(a, b), false) => open.extend([a, b]),
                (Gate::And(a, b), true) => {
                    // One operand that fails is enough; one that is known already costs nothing.
                    let fails = |l: Lit| !self.value(l);
                    let first =
                        fails(a) && (!fails(b) || seen.contains(&!a) || !seen.contains(&!b));
                    open.push(if first { !a } else { !b });
                }
            }
        }
        out
    }

    /// The signs of numbers by which these literals hold, and those by which the choices below the
    /// numbers are made.
    fn signs(&self, hold: &[Lit]) -> Vec<Signed> {
        let mut out: Vec<Signed> = Vec::new();
        let mut open = hold.to_vec();
        let mut seen: FxHashSet<Lit> = FxHashSet::default();
        let place: FxHashMap<usize, usize> = self.places();
        while !open.is_empty() {
            let inputs = self.justified(&open);
            open.clear();
            for l in inputs {
                let Some(&atom) = place.get(&l.gate()) else {
                    continue;
                };
                let Some((x, y, _)) = self.encoder.atoms[atom].example else {
                    continue;
                };
                if !seen.insert(l) {
                    continue;
                }
                let reasons = self.taken(&[x, y]);
                open.extend(&reasons);
                out.push(Signed {
                    atom,
                    literal: l,
                    reasons,
                });
            }
        }
        out
    }

    fn places(&self) -> FxHashMap<usize, usize> {
        let atoms = self.encoder.atoms.iter().enumerate();
        atoms
            .flat_map(|(i, a)| [(a.below.gate(), i), (a.above.gate(), i)])
            .collect()
    }

    /// With both halves of each sign: what is not above 0 and not below is 0.
    fn whole_signs(&self, signs: Vec<Signed>) -> Vec<Signed> {
        let mut out = signs;
        for i in 0..out.len() {
            let of = &self.encoder.atoms[out[i].atom];
            for l in [of.below, of.above] {
                let literal = l.flipped(!self.value(l));
                if out.iter().all(|s| s.literal != literal) {
                    let (atom, reasons) = (out[i].atom, out[i].reasons.clone());
                    out.push(Signed {
                        atom,
                        literal,
                        reasons,
                    });
                }
            }
        }
        out
    }

    /// The pair, and the sides of comparisons, where all choices on the way are made.
    fn resolved(&self, taken: &[Lit], signs: &[Signed]) -> Resolved {
        let all = taken.iter().chain(signs.iter().flat_map(|s| &s.reasons));
        let known: Known = all.map(|l| (l.gate(), !l.is_negated())).collect();
        let (a, b) = self.question.pair;
        let mut roots = vec![a, b];
        let mut atoms: Vec<usize> = signs.iter().map(|s| s.atom).collect();
        atoms.sort_unstable();
        atoms.dedup();
        for &i in &atoms {
            if let Some((x, y, _)) = self.encoder.atoms[i].example {
                roots.extend([x, y]);
            }
        }
        let (mut store, images) = self.made(&roots, &known);
        let pair = (images[0], images[1]);
        let gap = (store.sort(pair.0) == Sort::Real).then(|| store.sub(pair.0, pair.1));
        let (sides, _) = images[2..].as_chunks::<2>();
        let sides = atoms.into_iter().zip(sides);
        let differences = sides.map(|(i, &[x, y])| (i, store.sub(x, y))).collect();
        Resolved {
            store,
            pair,
            gap,
            differences,
        }
    }

    /// Terms built again with the choices made that are known.
    fn made(&self, roots: &[TermId], known: &Known) -> (TermStore, Vec<TermId>) {
        let from = &self.question.store;
        let value = |l: Lit| match l {
            Lit::TRUE => Some(true),
            Lit::FALSE => Some(false),
            l => known.get(&l.gate()).map(|v| *v != l.is_negated()),
        };
        let branch = |t: TermId| {
            let choice = self.question.choices.get(&t)?;
            let holds = value(*self.literals.get(&choice.p)?)?;
            Some(match holds {
                true => (choice.yes, choice.negated),
                false => (choice.no, false),
            })
        };
        let fixed = self.fixed(value);
        let truth = |t: TermId| match from.sort(t) {
            Sort::Bool => self.literals.get(&t).and_then(|l| value(*l)),
            _ => None,
        };
        let order = from.met(roots, usize::MAX, |t, open| {
            match branch(t) {
                _ if truth(t).is_some() || fixed.contains_key(&t) => {}
                Some((other, _)) => open.push(other),
                None => from.children(t, |c| open.push(c)),
            }
            true
        });
        let mut store = TermStore::new();
        store.facts = from.facts.clone();
        let mut images: FxHashMap<TermId, TermId> = FxHashMap::default();
        for of in order.unwrap_or_default() {
            let t = fixed.get(&of).copied().unwrap_or(of);
            let image = match (truth(t), branch(t)) {
                (Some(b), _) => store.bool(b),
                (_, Some((other, false))) => images[&other],
                (_, Some((other, true))) => store.neg(images[&other]),
                _ => copy(from, t, &mut store, |c| images[&c]),
            };
            images.insert(of, image);
        }
        let roots = roots.iter().map(|r| images[r]).collect();
        (store, roots)
    }

    /// Words that a condition which holds says to be a constant, with the constant.
    fn fixed(&self, value: impl Fn(Lit) -> Option<bool>) -> FxHashMap<TermId, TermId> {
        let store = &self.question.store;
        let is_known = |t| matches!(store.get(t), Term::BitsConst { .. });
        let holding = self.literals.iter();
        let holding = holding.filter(|(_, l)| !l.is_constant() && value(**l) == Some(true));
        let says = |(p, _): (&TermId, &Lit)| match store.get(*p) {
            Term::ICmp(ICmp::Eq, a, b) if is_known(b) => Some((a, b)),
            Term::ICmp(ICmp::Eq, a, b) if is_known(a) => Some((b, a)),
            _ => None,
        };
        holding.filter_map(says).collect()
    }

    /// The choices without those that may stay open: the terms are seen to be equal all the same.
    fn without_idle(&mut self, taken: Vec<Lit>) -> Vec<Lit> {
        let (a, b) = self.question.pair;
        let mut needed = taken;
        let mut at = 0;
        for _ in 0..MAX_DROPPED {
            if at >= needed.len() || self.trials == 0 {
                break;
            }
            self.trials -= 1;
            let others = needed.iter().enumerate().filter(|(i, _)| *i != at);
            let known: Known = others.map(|(_, l)| (l.gate(), !l.is_negated())).collect();
            let (store, images) = self.made(&[a, b], &known);
            let (x, y) = (images[0], images[1]);
            match x == y || Canon::new(&store, self.limits).equal(x, y) {
                true => drop(needed.remove(at)),
                false => at += 1,
            }
        }
        needed
    }
}

/// That one of these does not hold.
fn clause<'s>(signs: impl IntoIterator<Item = &'s Signed>, choices: &[Lit]) -> Vec<Lit> {
    let mut out: Vec<Lit> = choices.iter().map(|l| !*l).collect();
    for s in signs {
        out.push(!s.literal);
        out.extend(s.reasons.iter().map(|l| !*l));
    }
    out.sort_unstable();
    out.dedup();
    out
}
