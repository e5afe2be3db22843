//! Whether conditions can hold together, by gates and a solver.
//!
//! Words become gates as those of the Boolean back end do ([`crate::decide::logic`]). A product of two unknown words, a
//! quotient, a function and an address are words of inputs of their own: `Never` holds whatever they are, a model that is
//! found is only a candidate.

use rustc_hash::FxHashMap;

use super::expr::{Exprs, Id, Node, Order, operands};
use super::limits::MAX_LEARNT;
use crate::decide::logic::circuit::Lit;
use crate::decide::logic::solver::{Clauses, Outcome};
use crate::decide::logic::words::{Word, Words, constant};
use crate::spec::Limits;

/// Values of symbols.
pub(super) type Model = FxHashMap<u32, u64>;

/// Whether all conditions can hold.
#[derive(Debug)]
pub(super) enum Holds {
    Never,
    /// With the values of symbols, where the solver found some.
    Perhaps(Option<Model>),
}

/// The gates of one question.
struct Gates<'a> {
    e: &'a Exprs,
    words: Words,
    known: FxHashMap<Id, Word>,
    symbols: Vec<(u32, Word)>,
    /// Conditions that bounds of symbols are.
    bounds: Vec<Lit>,
}

impl Gates<'_> {
    /// The word of a node; `None` once there are too many gates.
    fn word(&mut self, root: Id) -> Option<Word> {
        let mut stack = vec![root];
        while let Some(&id) = stack.last() {
            if self.known.contains_key(&id) {
                stack.pop();
                continue;
            }
            let mut open = Vec::new();
            let node = self.e.node(id);
            if !matches!(node, Node::Function(..)) {
                operands(node, |o| {
                    if !self.known.contains_key(&o) {
                        open.push(o);
                    }
                });
            }
            if !open.is_empty() {
                stack.extend(open);
                continue;
            }
            stack.pop();
            let word = self.make(id)?;
            self.known.insert(id, word);
        }
        self.known.get(&root).cloned()
    }

    fn make(&mut self, id: Id) -> Option<Word> {
        let width = usize::from(self.e.width(id));
        let of = |g: &Self, o: Id| g.known.get(&o).cloned();
        match self.e.node(id).clone() {
            Node::Const(v) => Some(constant(width, v)),
            Node::Symbol(s) => self.symbol(s, width),
            Node::Base(_) | Node::Function(..) => self.words.inputs(width),
            Node::Word(op, a, b) => {
                let (x, y) = (of(self, a)?, of(self, b)?);
                self.words.operation(op, &x, &y)
            }
            Node::Compare(order, a, b) => {
                let (x, y) = (of(self, a)?, of(self, b)?);
                let l = match order {
                    Order::Equal => self.words.same(&x, &y)?,
                    Order::Below => self.words.less(&x, &y, false)?,
                    Order::Less => self.words.less(&x, &y, true)?,
                };
                Some(vec![l])
            }
            Node::Choose(p, a, b) => {
                let (p, x, y) = (of(self, p)?, of(self, a)?, of(self, b)?);
                self.words.choose(*p.first()?, &x, &y)
            }
            Node::Wide(a) => {
                let mut x = of(self, a)?;
                x.resize(width, Lit::FALSE);
                Some(x)
            }
            Node::Signed(a) => {
                let mut x = of(self, a)?;
                let top = x.last().copied()?;
                x.resize(width, top);
                Some(x)
            }
            Node::Low(a) => {
                let mut x = of(self, a)?;
                x.truncate(width);
                Some(x)
            }
        }
    }

    fn symbol(&mut self, s: u32, width: usize) -> Option<Word> {
        let (lo, hi) = self.e.symbols[s as usize].range;
        let bits = (64 - hi.leading_zeros() as usize).min(width);
        let mut word = self.words.inputs(bits.max(1))?;
        word.resize(width, Lit::FALSE);
        let zeros = usize::from(self.e.symbols[s as usize].zeros).min(width);
        word[..zeros].fill(Lit::FALSE);
        if hi != u64::MAX && (hi + 1) & hi != 0 {
            let above = self.words.less(&constant(width, hi), &word, false)?;
            self.bounds.push(!above);
        }
        if lo > 0 {
            let below = self.words.less(&word, &constant(width, lo), false)?;
            self.bounds.push(!below);
        }
        self.symbols.push((s, word.clone()));
        Some(word)
    }
}

/// Whether conditions can hold together; where it is worth it, with every product and quotient spelled out.
pub(super) fn together(e: &Exprs, conditions: &[Id], deep: bool, limits: &Limits) -> Holds {
    let (first, spelled_out) = solved(e, conditions, false, limits);
    match first {
        Holds::Perhaps(Some(model)) if deep && !spelled_out => {
            match solved(e, conditions, true, limits).0 {
                Holds::Perhaps(better) => Holds::Perhaps(better.or(Some(model))),
                Holds::Never => Holds::Never,
            }
        }
        first => first,
    }
}

fn solved(e: &Exprs, conditions: &[Id], deep: bool, limits: &Limits) -> (Holds, bool) {
    if e.full || limits.reached().is_some() {
        return (Holds::Perhaps(None), true);
    }
    let no = conditions.iter().any(|c| e.value(*c) == Some(0));
    if no && !e.full {
        return (Holds::Never, true);
    }
    let mut gates = Gates {
        e,
        words: Words::new(deep),
        known: FxHashMap::default(),
        symbols: Vec::new(),
        bounds: Vec::new(),
    };
    let mut all = Vec::new();
    for &c in conditions {
        match gates.word(c).as_deref() {
            Some(&[l]) => all.push(l),
            // A condition that is left out can only let more hold.
            _ => return (Holds::Perhaps(None), true),
        }
    }
    if e.full || limits.reached().is_some() {
        return (Holds::Perhaps(None), true);
    }
    let mut clauses = Clauses::new(limits, MAX_LEARNT);
    for l in all.iter().chain(&gates.bounds) {
        if *l == Lit::FALSE {
            return (Holds::Never, true);
        }
        clauses.add(&gates.words.circuit, &[*l]);
    }
    let spelled_out = gates.words.is_spelled_out();
    let holds = match clauses.solve() {
        Outcome::Contradictory => Holds::Never,
        Outcome::GaveUp => Holds::Perhaps(None),
        Outcome::Satisfied => {
            let mut model = Model::default();
            for (s, word) in &gates.symbols {
                let bits = word.iter().enumerate();
                let value = bits.fold(0u64, |v, (i, l)| {
                    let set = match *l {
                        Lit::TRUE => true,
                        Lit::FALSE => false,
                        l => clauses.value(l.gate()) != l.is_negated(),
                    };
                    v | u64::from(set) << i
                });
                model.insert(*s, value);
            }
            Holds::Perhaps(Some(model))
        }
    };
    (holds, spelled_out)
}
