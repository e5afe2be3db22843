//! Whether equal open sums were made by equal operations.
//!
//! A log tells products and not which instructions added them: `fma` and `mul` with `add` may leave one log. While one kind
//! of multiply-add and one kind of addition extend all sums of a run, equal logs are equal operations; after that no sum
//! is known to be made alike ([`crate::term::TermStore::is_made_alike`]).

use std::hash::Hash;

use crate::kernel::{FloatMods, FloatOp, Fmt, Rnd};
use crate::term::{Term, TermId};

use crate::sim::value::{Val, Values};

/// Longer sums are not known to be made alike.
const LONGEST: usize = 128;

/// What extended the open sums of a run.
#[derive(Debug, Default)]
pub struct Extenders {
    /// The one multiply-add.
    fma: Option<(FloatMods, Fmt)>,
    /// The one addition.
    add: Option<(FloatMods, Fmt)>,
    /// Others extended some, too.
    several: bool,
    /// The operands of the sum that is closed.
    factors: Vec<TermId>,
}

impl Extenders {
    /// Matrix products extend sums, whose order within an instruction the log does not tell.
    pub fn note_matrix(&mut self) {
        self.several = true;
    }

    /// Keeps the products of a sum that is closed.
    pub(super) fn collected(&mut self, products: &[(TermId, TermId)]) {
        self.factors.clear();
        if !self.several && products.len() <= LONGEST {
            self.factors
                .extend(products.iter().flat_map(|&(x, y)| [x, y]));
        }
    }

    /// Notes the term of the sum.
    pub(super) fn made(&self, store: &mut crate::term::TermStore, t: TermId) {
        match self.factors[..] {
            [] => store.note_several_makers(t),
            _ => store.note_maker(t, Sum, &self.factors),
        }
    }
}

/// The operation that a closed sum is of.
#[derive(Hash)]
struct Sum;

impl Values {
    /// Notes an addition that extended a sum, and its operands where they may be no plain reals.
    pub fn note_extension(&mut self, (op, mods, fmt): (FloatOp, FloatMods, Fmt), operands: &[Val]) {
        let known = match op {
            FloatOp::Fma => &mut self.extenders.fma,
            _ => &mut self.extenders.add,
        };
        let is_one = *known.get_or_insert((mods, fmt)) == (mods, fmt);
        // Of such a sum the log has the real alone: not whether it was contracted, or what a number was rounded to.
        let store = &self.store;
        let hides = |v: &Val| match v {
            Val::Real(_, t) => {
                let joins = op != FloatOp::Fma && mods.rnd == Rnd::None;
                let joins = joins && matches!(store.get(*t), Term::Mul(..));
                joins
                    || store.as_made(*t).is_some()
                    || op == FloatOp::Fma && store.as_const(*t).is_some()
            }
            Val::Conc(_) => op == FloatOp::Fma,
            _ => false,
        };
        self.extenders.several |= !is_one || operands.iter().any(hides);
    }
}
