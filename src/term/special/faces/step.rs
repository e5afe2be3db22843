//! What a term is, whose children are done: the operations and their faces.

use super::cond::Cond;
use super::{Extended, LAST_OVERFLOW, Lift};
use crate::term::rebuild::copy;
use crate::term::{Fun, Term, TermId, TermStore, pairs};

impl Lift<'_> {
    /// What a term of `from` is, whose children are done.
    pub(super) fn step(&mut self, from: &TermStore, t: TermId) -> Option<Extended> {
        let arithmetic = matches!(
            from.get(t),
            Term::Add(..)
                | Term::Neg(_)
                | Term::Sum(_)
                | Term::Mul(..)
                | Term::Select(..)
                | Term::Fun(Fun::Exp2, _)
        );
        let mut plain = true;
        let mut fails = false;
        from.children(t, |c| match self.done[&c] {
            Some(x) if arithmetic => plain &= x.is_bare(),
            Some(x) => plain &= x.is_plain(),
            None => fails = true,
        });
        if fails {
            return None;
        }
        let of = |l: &Self, t: TermId| l.done[&t];
        match from.get(t) {
            Term::Inf { neg } => {
                let mut x = Extended::plain(self.store.integer(0));
                *(if neg { &mut x.neg } else { &mut x.pos }) = Cond::Always;
                Some(x)
            }
            Term::Undefined => Some(Extended {
                undefined: Cond::Always,
                ..Extended::plain(self.store.integer(0))
            }),
            Term::Is(class, a) => {
                let x = of(self, a)?;
                self.is(class, x)
            }
            Term::Overflows(class, fmt, a) => {
                let i = self.overflows.insert_full((class, fmt, a)).0 as u32;
                let c = self.unknown(LAST_OVERFLOW - i)?;
                self.truth(c, Cond::Never)
            }
            _ if plain && !self.read.contains(&t) => {
                let value = copy(from, t, self.store, |c| self.values[&c]);
                self.note_defined(from, t, value);
                Some(Extended {
                    positive: matches!(self.store.get(value), Term::Fun(Fun::Exp2, _)),
                    ..Extended::plain(value)
                })
            }
            _ => self.operation(from, t, plain),
        }
    }

    /// The same of an operation that reads what may be special, or makes it.
    fn operation(&mut self, from: &TermStore, t: TermId, plain: bool) -> Option<Extended> {
        let of = |l: &Self, t: TermId| l.done[&t];
        match from.get(t) {
            // Any bits: of what they are nothing is known.
            Term::OfBits { .. } if plain => {
                let value = copy(from, t, self.store, |c| self.values[&c]);
                Some(Extended {
                    wild: Cond::Always,
                    ..Extended::plain(value)
                })
            }
            Term::Div(a, b) => {
                let (x, y) = (of(self, a)?, of(self, b)?);
                self.div(t, x, y)
            }
            Term::Clamp {
                width,
                signed,
                real,
            } => {
                let x = of(self, real)?;
                self.clamp((width, signed), x)
            }
            Term::Add(a, b) => {
                let (x, y) = (of(self, a)?, of(self, b)?);
                let value = self.store.add(x.value, y.value);
                let elsewhere = self.elsewhere(&[x, y], |s, t| s.add(t[0], t[1]));
                self.add(&[x, y], value, elsewhere)
            }
            Term::Neg(a) => {
                let x = of(self, a)?;
                Some(self.negated(x))
            }
            Term::Sum(list) => {
                let mut products = Vec::new();
                let mut factors = Vec::with_capacity(list.len() / 2);
                for (a, b) in pairs(list) {
                    let (x, y) = (of(self, a)?, of(self, b)?);
                    let (product, x, y) = self.mul(x, y)?;
                    products.push(product);
                    factors.push((x, y));
                }
                let value = self.store.sum(&factors);
                let elsewhere = self.elsewhere(&products, |s, terms| {
                    let one = s.integer(1);
                    let terms: Vec<(TermId, TermId)> = terms.iter().map(|&t| (t, one)).collect();
                    s.sum(&terms)
                });
                self.add(&products, value, elsewhere)
            }
            Term::Mul(a, b) => {
                let (x, y) = (of(self, a)?, of(self, b)?);
                self.mul(x, y).map(|m| m.0)
            }
            Term::Max(a, b) => {
                let (x, y) = (of(self, a)?, of(self, b)?);
                self.max(x, y)
            }
            Term::Min(a, b) => {
                let (x, y) = (of(self, a)?, of(self, b)?);
                let (x, y) = (self.negated(x), self.negated(y));
                let m = self.max(x, y)?;
                Some(self.negated(m))
            }
            Term::Select(p, a, b) => {
                let (p, x, y) = (of(self, p)?, of(self, a)?, of(self, b)?);
                let plain = p.is_plain() && x.is_plain() && y.is_plain();
                if plain && !self.is_defined(p.value) {
                    let value = copy(from, t, self.store, |c| self.values[&c]);
                    return Some(Extended::plain(value));
                }
                self.select(p, x, y)
            }
            Term::RCmp(op, a, b) => {
                let (x, y) = (of(self, a)?, of(self, b)?);
                self.compare(op, x, y)
            }
            Term::Fun(f, a) => {
                let x = of(self, a)?;
                self.fun(t, f, x)
            }
            // Anything else has no value where an operand has none.
            _ => {
                let mut out = Extended::plain(copy(from, t, self.store, |c| self.values[&c]));
                let mut children = Vec::new();
                from.children(t, |c| children.push(c));
                for c in children {
                    let x = of(self, c)?;
                    let x = self.tamed(x)?;
                    (out.wild, out.undefined) = self.troubles(out, x)?;
                }
                Some(out)
            }
        }
    }

    /// The term for an operation of which nothing is known where its operand is infinite.
    pub(super) fn tamed(&mut self, x: Extended) -> Option<Extended> {
        let infinite = self.or(x.neg, x.pos)?;
        Some(Extended {
            wild: self.or(x.wild, infinite)?,
            neg: Cond::Never,
            pos: Cond::Never,
            ..x
        })
    }

    /// True for what has a value on every input.
    pub(super) fn is_defined(&self, t: TermId) -> bool {
        self.store.is_total(t) || self.defined.contains(&t)
    }

    /// Notes that a truth value or bits have a value on every input, where all that they are made of has one, or a
    /// comparison reads nothing that may be special.
    pub(super) fn note_defined(&mut self, from: &TermStore, t: TermId, value: TermId) {
        if from.is_total(t) || self.store.is_total(value) {
            return;
        }
        let comparison = matches!(from.get(t), Term::RCmp(..));
        let mut all = from.sort(t) == crate::term::Sort::Bool;
        from.children(t, |c| {
            let has_value = match comparison {
                true => !self.survey.is_special(c),
                false => self.is_defined(self.values[&c]),
            };
            all &= has_value;
        });
        if all {
            self.defined.insert(value);
        }
    }
}
