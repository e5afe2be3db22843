//! Values that were never written and reach an output.
//!
//! The problem: an output that holds poison whatever the input is a defect. One that selects between
//! poison and something else by input data is one only if some input selects the poison, and such an
//! input is looked for with the other findings that data decides about.
//!
//! Sound: the condition is that of one way through the selects at the top of the term to a part that is
//! poison for certain. Where none is found, or no input, the output stays `unknown`.
//!
//! Many outputs share one large cone of terms, so whether poison stands below a term is marked from the
//! leaves upwards, once for each term, and no question walks down again.

use crate::term::{Term, TermId, TermStore};

mod exec;

/// What is known of the poison below the terms of one store, which may grow.
#[derive(Clone, Debug, Default)]
pub(super) struct Poisons {
    marks: Vec<Mark>,
}

/// The poison below a term.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    /// A poison term below: the one that a walk meets that looks at last operands first.
    below: Option<TermId>,
    /// True if the term is poison whichever sides its selects take.
    surely: bool,
}

impl Poisons {
    /// The marks of a term, once all terms up to it have theirs.
    fn of(&mut self, store: &TermStore, t: TermId) -> Mark {
        if store.is_total(t) {
            return Mark::default();
        }
        for i in self.marks.len()..=t.0 as usize {
            let mark = self.mark(store, TermId(i as u32));
            self.marks.push(mark);
        }
        self.marks[t.0 as usize]
    }

    /// The marks of a term from those of its operands, which have smaller ids.
    fn mark(&self, store: &TermStore, t: TermId) -> Mark {
        let mut mark = Mark::default();
        if store.is_total(t) {
            return mark;
        }
        store.children(t, |c| {
            let below = self.marks[c.0 as usize];
            mark.below = below.below.or(mark.below);
            mark.surely |= below.surely;
        });
        match store.get(t) {
            // The tree of operations keeps choices that the real has decided.
            Term::Made(made) => self.marks[made.real().0 as usize],
            Term::Poison { .. } => Mark {
                below: Some(t),
                surely: true,
            },
            Term::Select(p, ..) | Term::BitsSelect(p, ..) => Mark {
                surely: self.marks[p.0 as usize].surely,
                ..mark
            },
            _ => mark,
        }
    }
}
