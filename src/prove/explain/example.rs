//! What a refutation says: the element, both values, the input, and what differs.

use super::text;
use super::types::{Counterexample, Difference, InputValue, Shown, Writes};
use super::{difference, reason};
use crate::answer::Assumption;
use crate::decide::goal::{Condition, Only, Pairs};
use crate::decide::prove::{Proof, Prover};
use crate::decide::refute::Seen;
use crate::decide::refute::cells::Cell;
use crate::decide::refute::links::concrete;
use crate::decide::refute::{DifferingInput, minimise};
use crate::decide::ruling::Ruling;
use crate::decide::tactics::{self, FORMS};
use crate::decide::{Decided, Named, Options};
use crate::reading::Reading;
use crate::sim::Side;
use crate::spec::{Arrays, Limits};
use crate::term::eval::{self, Inputs, Mode, Value};
use crate::term::{Term, TermId, TermStore};
use crate::work;

/// Precision at which a whole element is evaluated, and the content of one that only one kernel writes.
const WHOLE_PRECISION: u32 = 160;
const PRECISION: u32 = 96;

/// Why an element that only one kernel writes is open.
pub(super) fn one_sided(only: &Only) -> String {
    let (who, other) = names(only);
    format!(
        "only the {who} writes it in the CTAs that were run; another CTA of the {other} may write it"
    )
}

fn names(only: &Only) -> (&'static str, &'static str) {
    match only.side {
        Side::Reference => ("reference", "optimized kernel"),
        Side::Optimized => ("optimized kernel", "reference"),
    }
}

/// Counterexamples of a decision.
pub(super) struct Examples<'a> {
    decided: &'a Decided,
    arrays: &'a Arrays,
    options: &'a Options,
}

impl<'a> Examples<'a> {
    pub(super) fn new(decided: &'a Decided, arrays: &'a Arrays, options: &'a Options) -> Self {
        Examples {
            decided,
            arrays,
            options,
        }
    }

    /// The counterexample of a refuted element, with what it takes for granted of library functions.
    pub(super) fn of(
        &self,
        c: &Condition,
        ruling: &Ruling,
    ) -> (Option<Counterexample>, Vec<Assumption>) {
        match ruling {
            Ruling::OneSided(only) => (Some(self.only(c, only)), Vec::new()),
            Ruling::Refuted { found, named } => {
                let place = |d: &Condition| std::ptr::eq(c, d);
                let own;
                let ground = match &self.decided.named {
                    _ if !*named => None,
                    Some(n) => {
                        let i = self.decided.conditions.iter().position(place);
                        i.and_then(|i| Some((n, n.pairs.get(i)?)))
                    }
                    // Functions were named for this element alone.
                    None => {
                        // The same as was found, whatever is left.
                        let name =
                            || Named::of_element(&self.decided.store, &c.pairs, &Limits::NONE);
                        own = work::apart(None, name).0;
                        own.as_ref().map(|n| (n, &n.pairs[0]))
                    }
                };
                let assumed = ground.map(|(n, _)| n.idioms.assumptions());
                let plain = (&self.decided.store, &c.pairs);
                let (store, pairs) = ground.map_or(plain, |(n, pairs)| (&n.store, pairs));
                let example = self.present(c, store, pairs, found);
                (Some(example), assumed.unwrap_or_default())
            }
            Ruling::Proved(_) | Ruling::Deferred(_) | Ruling::Open(_) => (None, Vec::new()),
        }
    }

    /// The elements that each kernel writes, if they are different ones. An element that a kernel leaves holds its initial
    /// content after the run; a kernel that stores that content there is taken for one that leaves it.
    pub(super) fn writes(&self) -> Option<Writes> {
        let mut out = Writes {
            reference: 0,
            optimized: 0,
            only_reference: 0,
            only_optimized: 0,
        };
        for c in &self.decided.conditions {
            let initial = |t: TermId| is_initial(&self.decided.store, c, t);
            let leaves = |of: fn(&(TermId, TermId)) -> TermId| {
                !c.pairs.is_empty() && c.pairs.iter().all(|p| initial(of(p)))
            };
            let only = c.only.map(|only| only.side);
            let [reference, optimized] = match only {
                Some(side) => [side == Side::Reference, side == Side::Optimized],
                None => [!leaves(|p| p.0), !leaves(|p| p.1)],
            };
            let n = c.elements();
            out.reference += if reference { n } else { 0 };
            out.optimized += if optimized { n } else { 0 };
            out.only_reference += if reference && !optimized { n } else { 0 };
            out.only_optimized += if optimized && !reference { n } else { 0 };
        }
        (out.only_reference + out.only_optimized > 0).then_some(out)
    }

    /// An element that only one kernel writes, in an array without initial content.
    fn only(&self, c: &Condition, only: &Only) -> Counterexample {
        let (who, _) = names(only);
        let (a, b) = c.pairs[0];
        let t = if only.side == Side::Reference { a } else { b };
        let mode = Mode::exact(PRECISION);
        let at = eval::evaluate(&self.decided.store, &[t], &Inputs::default(), mode);
        // Bits are read in the element's type.
        let shown = at.first().and_then(|v| text::value(v, c.ty));
        let (reference, optimized) = match only.side {
            Side::Reference => (shown, None),
            Side::Optimized => (None, shown),
        };
        Counterexample {
            reference,
            optimized,
            ..self.at(c, format!("only the {who} writes {}", self.name(c)))
        }
    }

    fn name(&self, c: &Condition) -> String {
        text::element(self.arrays, c.array, c.off, c.bytes as u64)
    }

    /// A counterexample at an element, without values.
    fn at(&self, c: &Condition, message: String) -> Counterexample {
        Counterexample {
            array: c.array,
            output: text::array_name(self.arrays, c.array),
            element: text::index(self.arrays, c.array, c.off, c.bytes as u64),
            offset: c.off,
            elem: c.ty,
            reference: None,
            optimized: None,
            message,
            difference: None,
            inputs: Vec::new(),
            writes: None,
        }
    }

    fn counterexample(
        &self,
        c: &Condition,
        store: &TermStore,
        found: &DifferingInput,
    ) -> Counterexample {
        // A pair may be a part of the element; bits of a part are shown as they are.
        let whole = self.whole(c, found);
        let part = whole.is_none() && c.whole.is_some();
        let ty = c.ty.filter(|_| c.pairs.len() == 1 && !part);
        let (x, y) = match &whole {
            Some((x, y)) => (text::value(x, c.ty), text::value(y, c.ty)),
            None => (None, None),
        };
        let (reference, optimized) = match x.is_some() && y.is_some() {
            true => (x, y),
            false => (
                text::value(&found.reference, ty),
                text::value(&found.optimized, ty),
            ),
        };
        let of = if part { "a part of " } else { "" };
        let text_of = |s: &Option<Shown>| s.as_ref().map_or("undefined".into(), |s| s.text.clone());
        let message = format!(
            "{of}{} is {} in the reference and {} in the optimized kernel",
            self.name(c),
            text_of(&reference),
            text_of(&optimized)
        );
        let input = |&(cell, bits): &(Cell, u64)| InputValue {
            array: cell.array,
            name: text::array_name(self.arrays, cell.array),
            element: text::index(self.arrays, cell.array, cell.off, cell.bytes as u64),
            offset: cell.off,
            ty: text::type_name(cell.ty),
            value: text::bits(bits, Some(cell.ty)),
        };
        Counterexample {
            reference,
            optimized,
            inputs: concrete(store, &found.inputs).iter().map(input).collect(),
            ..self.at(c, message)
        }
    }

    /// The values of the whole element, where a part of it was compared.
    fn whole(&self, c: &Condition, found: &DifferingInput) -> Option<(Value, Value)> {
        let (a, b) = c.whole?;
        let mut inputs = Inputs::default();
        for &(cell, bits) in &found.inputs {
            inputs.set(cell.array, cell.off, cell.bytes, bits);
        }
        let mode = Mode::exact(WHOLE_PRECISION);
        let mut v = eval::evaluate(&self.decided.store, &[a, b], &inputs, mode);
        let (y, x) = (v.pop()?, v.pop()?);
        let known = |v: &Value| !matches!(v, Value::Undefined | Value::Undecided);
        (known(&x) && known(&y)).then_some((x, y))
    }

    /// The counterexample as it is reported: simple inputs, and what differs.
    fn present(
        &self,
        c: &Condition,
        store: &TermStore,
        pairs: &Pairs,
        found: &DifferingInput,
    ) -> Counterexample {
        let limits = self.options.limits;
        let found = minimise(store, pairs, self.arrays, found.clone(), limits);
        let mut example = self.counterexample(c, store, &found);
        example.difference = self.explained(c, store, pairs, &example);
        example
    }

    /// What tells the sides of a refuted element apart.
    fn explained(
        &self,
        c: &Condition,
        store: &TermStore,
        pairs: &Pairs,
        found: &Counterexample,
    ) -> Option<Difference> {
        let name = |t| text::formula(store, self.arrays, t, Default::default());
        let said = |message: String, (a, b): (TermId, TermId)| Difference {
            message,
            reference: name(a),
            optimized: name(b),
        };
        let initial = |t: TermId| is_initial(store, c, t);
        let kept = |&&(a, b): &&(TermId, TermId)| a != b && initial(b) && !initial(a);
        if let Some(&pair) = pairs.iter().find(kept) {
            let message = "the optimized kernel leaves the element as it was";
            return Some(said(message.to_string(), pair));
        }
        let differing = || pairs.iter().filter(|(a, b)| a != b).copied();
        // Where the optimized kernel has no value, what it lacks is a reason for having one.
        if found.optimized.is_none() {
            let mut prover = Prover::new(store, self.options.limits);
            let undefined =
                differing().find_map(|(a, b)| match tactics::implied(&mut prover, FORMS, a, b) {
                    proof @ Proof::Undefined(_) => Some((proof, (a, b))),
                    _ => None,
                });
            if let Some((proof, pair)) = undefined {
                let why = reason::unresolved(store, self.arrays, proof, pair, Seen::default());
                return Some(said(why.text, pair));
            }
        }
        let pair = differing().next()?;
        Some(difference::between(store, self.arrays, self.options, pair))
    }
}

/// True for the initial content of the element itself.
fn is_initial(store: &TermStore, c: &Condition, t: TermId) -> bool {
    match store.get(t) {
        Term::Elem { array, off, .. } | Term::Bytes { array, off, .. } => {
            array == c.array && off == c.off
        }
        _ => false,
    }
}
