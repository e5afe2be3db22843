//! What a refutation says: the element, both values, and the input.

use super::elements::{self, Condition};
use super::judge::Judge;
use super::minimise::minimise;
use super::prove::{Proof, Prover};
use super::ruling::Ruling;
use super::types::*;
use super::{cells, difference, explain, text, witness};
use crate::sim::{Side, UnknownKind};
use crate::term::eval::{self, Inputs, Mode, Value};
use crate::term::{Term, TermId};

/// Precision at which a whole element is evaluated.
const WHOLE_PRECISION: u32 = 160;

impl Judge<'_> {
    /// An element that only one kernel writes, in an array without initial content or where the
    /// other kernel's grid was not run as a whole.
    pub(super) fn one_sided(&self, c: &Condition, only: elements::Only) -> Ruling {
        let (who, other) = match only.side {
            Side::Reference => ("reference", "optimized kernel"),
            Side::Optimized => ("optimized kernel", "reference"),
        };
        if !only.certain {
            let what = format!(
                "only the {who} writes it in the CTAs that were run; another CTA of the {other} may write it"
            );
            return self.open(c, UnknownKind::Undecided, &what);
        }
        let (a, b) = c.pairs[0];
        let t = if only.side == Side::Reference { a } else { b };
        let mode = crate::term::eval::Mode::exact(96);
        let at = crate::term::eval::evaluate(self.store, &[t], &Default::default(), mode);
        // Bits are read in the element's type.
        let shown = at.first().and_then(|v| text::value(v, c.ty));
        let (reference, optimized) = match only.side {
            Side::Reference => (shown, None),
            Side::Optimized => (None, shown),
        };
        Ruling::Refuted(
            Box::new(Counterexample {
                reference,
                optimized,
                ..self.at(c, format!("only the {who} writes {}", self.name(c)))
            }),
            None,
        )
    }

    /// A counterexample at an element, without values.
    fn at(&self, c: &Condition, message: String) -> Counterexample {
        Counterexample {
            array: c.array,
            output: text::array_name(self.arrays, c.array),
            element: text::index(self.arrays, c.array, c.off, c.bytes as u64),
            offset: c.off,
            reference: None,
            optimized: None,
            message,
            difference: None,
            inputs: Vec::new(),
        }
    }

    pub(super) fn counterexample(&self, c: &Condition, found: &witness::Found) -> Counterexample {
        // A pair may be a part of the element; bits of a part are shown as they are.
        let whole = self.whole(c, found);
        let part = whole.is_none() && c.whole.is_some();
        let ty = if c.pairs.len() == 1 && !part {
            c.ty
        } else {
            None
        };
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
        let input = |&(cell, bits): &(cells::Cell, u64)| InputValue {
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
            inputs: found.inputs.iter().map(input).collect(),
            ..self.at(c, message)
        }
    }

    /// The values of the whole element, where a part of it was compared.
    fn whole(&self, c: &Condition, found: &witness::Found) -> Option<(Value, Value)> {
        let (a, b) = c.whole?;
        let mut inputs = Inputs::default();
        for &(cell, bits) in &found.inputs {
            inputs.set(cell.array, cell.off, cell.bytes, bits);
        }
        let mode = Mode::exact(WHOLE_PRECISION);
        let mut v = eval::evaluate(self.store, &[a, b], &inputs, mode);
        let (y, x) = (v.pop()?, v.pop()?);
        let known = |v: &Value| !matches!(v, Value::Undefined | Value::Undecided);
        (known(&x) && known(&y)).then_some((x, y))
    }

    /// The counterexample as it is reported: simple inputs, and what differs.
    pub(super) fn present(
        &self,
        c: &Condition,
        example: &mut Counterexample,
        found: Option<Box<witness::Found>>,
    ) {
        if let Some(found) = found {
            let limits = self.options.limits;
            let found = minimise(self.store, &c.pairs, self.arrays, *found, limits);
            *example = self.counterexample(c, &found);
        }
        if example.difference.is_none() {
            example.difference = self.explained(c, example);
        }
    }

    /// What tells the sides of a refuted condition apart.
    fn explained(&self, c: &Condition, found: &Counterexample) -> Option<Difference> {
        if c.only.is_some() {
            return None;
        }
        let between = |&(a, b)| difference::between(self.store, self.arrays, self.options, (a, b));
        let kept = |&&(a, b): &&(TermId, TermId)| {
            a != b && self.is_initial(c, b) && !self.is_initial(c, a)
        };
        if let Some(&(a, b)) = c.pairs.iter().find(kept) {
            let name = |t| text::formula(self.store, self.arrays, t, Default::default());
            return Some(Difference {
                message: "the optimized kernel leaves the element as it was".to_string(),
                reference: name(a),
                optimized: name(b),
            });
        }
        let differing = c.pairs.iter().filter(|(a, b)| a != b);
        if found.optimized.is_some() {
            return differing.take(1).map(between).next();
        }
        // Where the optimized kernel has no value, what it lacks is a reason for having one.
        let mut prover = Prover::new(self.store, self.options.limits);
        for &(a, b) in differing {
            let proof = prover.implied(a, b);
            if !matches!(proof, Proof::Undefined(_)) {
                continue;
            }
            let name = |t| text::formula(self.store, self.arrays, t, Default::default());
            return Some(Difference {
                message: explain::unresolved(self.store, self.arrays, proof, (a, b), false).text,
                reference: name(a),
                optimized: name(b),
            });
        }
        c.pairs
            .iter()
            .filter(|(a, b)| a != b)
            .take(1)
            .map(between)
            .next()
    }

    /// True for the initial content of the element itself.
    fn is_initial(&self, c: &Condition, t: TermId) -> bool {
        match self.store.get(t) {
            Term::Elem { array, off, .. } | Term::Bytes { array, off, .. } => {
                array == c.array && off == c.off
            }
            _ => false,
        }
    }
}
