//! The smallest place at which two canonical forms differ, in words.
//!
//! Problem: a person who reads that two outputs differ wants to know what is missing, not two
//! formulas of a thousand summands. Both forms are walked down together from the root: what they
//! share (equal summands, equal factors, equal operands of an atom) is stripped, and as long as one
//! pair of parts is left the walk goes on inside of it. Where it ends, a small catalogue is tried:
//! an operation that turns one part into the other, a coefficient, a summand, an index, a minimum
//! for a maximum. Source: canonical forms make equal parts equal identifiers, so stripping is a
//! merge of sorted lists; the catalogue asks the normaliser itself whether an operation fits.
//!
//! The walk is a loop of bounded length over forms of bounded size, and its result depends on
//! nothing but the two terms. What is not claimed: that the place is the only one, or the one that
//! its author would name; it proves nothing.
//!
//! In reading order: `sums` (polynomials), `factors` (single terms, and atoms), `catalogue` (what
//! turns one form into another), `bits` (integers and conditions).

mod bits;
mod catalogue;
mod factors;
mod sums;
#[cfg(test)]
mod tests;

use super::bits::NodeId;
use super::display::{Bounds, Names, Printer};
use super::poly::{PTerm, PolyId};
use super::ring::Fail;
use super::select::Lit;
use super::sweep::{Entry, Normalizer};
use crate::term::TermId;

/// Pairs that are looked at on the way down.
const MAX_STEPS: usize = 48;

/// Places on the way down that are named, the innermost first.
const MAX_PLACES: usize = 3;

/// Term operations of the catalogue.
const BUDGET: u64 = 1 << 22;

/// How much of the differing parts is shown, and of a part that a sentence quotes.
const SHOWN: Bounds = Bounds {
    terms: 4,
    chars: 140,
};
const QUOTED: Bounds = Bounds {
    terms: 3,
    chars: 60,
};

/// The place at which two forms differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What differs, as a sentence without a full stop.
    pub message: String,
    /// True if the message says more than that the forms differ.
    pub specific: bool,
    /// The first form around the difference.
    pub reference: String,
    /// The second form around the difference.
    pub optimized: String,
}

/// Two parts that stand at the same place.
#[derive(Clone, Copy, Debug)]
enum Pair {
    Real(PolyId, PolyId),
    Bits(NodeId, NodeId),
    Truth(Lit, Lit),
}

/// What was found about a pair.
enum Step {
    /// The difference lies inside of these, at a place if it has a name.
    Into(Pair, Option<String>),
    /// The difference.
    Found(String),
    /// The parts have nothing in common that has a name.
    Unlike,
}

struct Finder<'a, 's> {
    norm: &'a mut Normalizer<'s>,
    names: &'a Names<'a>,
    /// The pair stands inside of an atom.
    inside: bool,
    /// Term operations that the catalogue may still take.
    budget: u64,
}

impl Normalizer<'_> {
    /// Where the canonical forms of two terms differ; `None` if they are equal, or one has no form.
    pub fn difference(
        &mut self,
        reference: TermId,
        optimized: TermId,
        names: &Names<'_>,
    ) -> Option<Difference> {
        self.ring.refill();
        let pair = match (self.entry(reference), self.entry(optimized)) {
            (Entry::Real(v), Entry::Real(w)) => {
                let (p, q) = (self.ring.canon(v).ok()?, self.ring.canon(w).ok()?);
                if self.ring.equal(p, q).ok()? {
                    return None;
                }
                Pair::Real(p, q)
            }
            (Entry::Bits(x), Entry::Bits(y)) if x != y => Pair::Bits(x, y),
            (Entry::Bool(x), Entry::Bool(y)) if x != y => Pair::Truth(x, y),
            _ => return None,
        };
        let mut finder = Finder {
            norm: self,
            names,
            inside: false,
            budget: BUDGET,
        };
        let found = finder.walk(pair);
        (!self.is_spoilt()).then_some(found)
    }
}

impl Finder<'_, '_> {
    fn walk(&mut self, mut pair: Pair) -> Difference {
        let mut places: Vec<String> = Vec::new();
        let mut message = None;
        for _ in 0..MAX_STEPS {
            match self.step(pair) {
                Ok(Step::Into(next, place)) => {
                    self.inside |= place.is_some();
                    places.extend(place);
                    pair = next;
                }
                Ok(Step::Found(text)) => {
                    message = Some(text);
                    break;
                }
                Ok(Step::Unlike) | Err(_) => break,
            }
        }
        let specific = message.is_some();
        let message = message.or_else(|| self.short(pair));
        let message = message.or_else(|| self.instead(pair));
        let mut message = message.unwrap_or("the expressions differ".to_string());
        for place in places.iter().rev().take(MAX_PLACES) {
            message.push_str(", ");
            message.push_str(place);
        }
        let (reference, optimized) = match pair {
            Pair::Real(p, q) => (self.show(p, SHOWN), self.show(q, SHOWN)),
            Pair::Bits(n, m) => (self.show_bits(n, SHOWN), self.show_bits(m, SHOWN)),
            Pair::Truth(l, m) => (self.show_truth(l), self.show_truth(m)),
        };
        Difference {
            message,
            specific,
            reference,
            optimized,
        }
    }

    /// Both parts, where they fit in a sentence.
    fn short(&self, pair: Pair) -> Option<String> {
        let (a, b) = match pair {
            Pair::Real(p, q) => (self.show(p, SHOWN), self.show(q, SHOWN)),
            Pair::Bits(n, m) => (self.show_bits(n, SHOWN), self.show_bits(m, SHOWN)),
            Pair::Truth(l, m) => (self.show_truth(l), self.show_truth(m)),
        };
        (a.len().max(b.len()) <= QUOTED.chars)
            .then(|| format!("the optimized kernel has `{b}` instead of `{a}`"))
    }

    /// Both parts in brief, where that tells them apart.
    fn instead(&self, pair: Pair) -> Option<String> {
        let (a, b) = match pair {
            Pair::Real(p, q) => match self.apart(p, q) {
                Some(text) => return Some(text),
                None => (self.show(p, QUOTED), self.show(q, QUOTED)),
            },
            Pair::Bits(n, m) => (self.show_bits(n, QUOTED), self.show_bits(m, QUOTED)),
            Pair::Truth(..) => return None,
        };
        (a != b).then(|| format!("the optimized kernel has `{b}` instead of `{a}`"))
    }

    fn step(&mut self, pair: Pair) -> Result<Step, Fail> {
        match pair {
            Pair::Real(p, q) => self.sums(p, q),
            Pair::Bits(n, m) => self.nodes(n, m),
            Pair::Truth(l, m) => self.conditions(l, m),
        }
    }

    fn show(&self, p: PolyId, bounds: Bounds) -> String {
        let mut printer = Printer::new(self.norm, self.names, bounds);
        printer.poly(p, 0);
        printer.out
    }

    fn show_bits(&self, n: NodeId, bounds: Bounds) -> String {
        let mut printer = Printer::new(self.norm, self.names, bounds);
        printer.node(n, 0);
        printer.out
    }

    fn show_truth(&self, l: Lit) -> String {
        let mut printer = Printer::new(self.norm, self.names, SHOWN);
        printer.lit(l, 0);
        printer.out
    }

    /// A part in a sentence.
    fn quote(&self, p: PolyId) -> String {
        format!("`{}`", self.show(p, QUOTED))
    }

    fn quote_term(&self, t: PTerm) -> String {
        let mut printer = Printer::new(self.norm, self.names, QUOTED);
        printer.term(t, true, 0);
        format!("`{}`", printer.out)
    }

    fn quote_bits(&self, n: NodeId) -> String {
        format!("`{}`", self.show_bits(n, QUOTED))
    }
}

/// `" and 3 more"`, or nothing.
fn more(n: usize) -> String {
    match n {
        0 => String::new(),
        n => format!(" and {n} more"),
    }
}
