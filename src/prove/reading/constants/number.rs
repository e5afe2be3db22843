//! The number that a reading says, however it says it.
//!
//! Two readings that say the same number are one constant; two that do not may lie so close that only
//! an enclosure tells them apart.

use num_rational::BigRational;
use num_traits::One;

use super::{Base, Meaning, PRECISION, Readings};
use crate::term::dyadic::Interval;
use crate::term::eval::{self, Mode};
use crate::term::{Fun, TermId, TermStore};

/// sqrt(square) * log2(e)^logarithms - minus, or 1 minus that, or that times or over the logarithm of another one: what a reading
/// says, however it says it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Number {
    square: BigRational,
    logarithms: i32,
    minus: Option<BigRational>,
    complement: bool,
    /// The argument of a logarithm to base 2 that is a factor of it, or a divisor.
    log_of: Option<(BigRational, bool)>,
}

impl Number {
    pub(super) fn enclosure(&self) -> Option<Interval> {
        let mut store = TermStore::new();
        let square = store.rational(self.square.clone());
        let mut t = store.fun(Fun::Sqrt, square);
        let l = store.log2_e();
        for _ in 0..self.logarithms.abs() {
            t = match self.logarithms > 0 {
                true => store.mul(t, l),
                false => store.div(t, l),
            };
        }
        if let Some((q, inverse)) = &self.log_of {
            let q = store.rational(q.clone());
            let l = store.fun(Fun::Log2, q);
            t = match inverse {
                true => store.div(t, l),
                false => store.mul(t, l),
            };
        }
        if let Some(q) = &self.minus {
            let p = store.rational(q.clone());
            t = store.sub(t, p);
        }
        if self.complement {
            let one = store.integer(1);
            t = store.sub(one, t);
        }
        enclose(&store, t)
    }

    /// 1 minus the number; of a fraction it is a fraction.
    fn complement(mut self) -> Number {
        let (n, d) = (self.square.numer().sqrt(), self.square.denom().sqrt());
        let root = BigRational::new(n, d);
        if self.logarithms == 0 && self.minus.is_none() && &root * &root == self.square {
            let rest = BigRational::one() - root;
            self.square = &rest * &rest;
        } else {
            self.complement = true;
        }
        self
    }
}

/// An enclosure of a number.
pub(super) fn enclose(store: &TermStore, t: TermId) -> Option<Interval> {
    let mode = Mode::exact(PRECISION);
    let v = eval::evaluate(store, &[t], &Default::default(), mode);
    v.first()?.interval(PRECISION)
}

impl Readings {
    /// The number that a meaning is: partners that have a reading of their own are that.
    pub(super) fn number(&self, m: &Meaning) -> Number {
        let n = self.number_of_rest(m);
        if m.complement { n.complement() } else { n }
    }

    fn number_of_rest(&self, m: &Meaning) -> Number {
        let mut n = Number {
            square: BigRational::one(),
            logarithms: 0,
            minus: m.minus.clone(),
            complement: false,
            log_of: None,
        };
        for (q, inverse) in m
            .times
            .iter()
            .map(|q| (q, false))
            .chain(m.over.iter().map(|q| (q, true)))
        {
            let own = self
                .map
                .get(q)
                .filter(|r| !r.has_partner())
                .map(|r| &r.meaning);
            let p = match own {
                Some(own) => self.number(own),
                None => Number {
                    square: q * q,
                    logarithms: 0,
                    minus: None,
                    complement: false,
                    log_of: None,
                },
            };
            if inverse {
                n.square /= p.square;
                n.logarithms -= p.logarithms;
            } else {
                n.square *= p.square;
                n.logarithms += p.logarithms;
            }
        }
        if m.base == Base::Sqrt {
            // The root of a partner that is no fraction is the root of its bits.
            n.logarithms = 0;
            n.square = m.rational();
            return n;
        }
        if let Base::LogOf { natural, inverse } = m.base {
            n.logarithms = match (natural, inverse) {
                (false, _) => 0,
                (true, false) => -1,
                (true, true) => 1,
            };
            n.log_of = Some((m.rational(), inverse));
            return n;
        }
        n.square *= &m.factor * &m.factor;
        n.logarithms += match m.base {
            Base::Log2E => 1,
            Base::Ln2 => -1,
            Base::One | Base::Sqrt | Base::LogOf { .. } => 0,
        };
        n
    }
}
