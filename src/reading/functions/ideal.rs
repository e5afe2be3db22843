//! Terms as they were if no number were rounded, nor beyond its format.
//!
//! Problem: the code of a library function tests its operands for what only the machine finds: an infinity that a
//! number beyond its format has become, or whether rounding changed it. What comes of such a test depends on how the
//! operands were made, so the same code is another term for each operand. Over the reals it is one.
//!
//! Sound as the reading of a function only: a term is no other's equal because both have one image here.

use rustc_hash::FxHashMap;

use super::Place;
use crate::term::rebuild::rebuild;
use crate::term::{Term, TermId, TermStore};

/// Terms of a store and their images.
pub(super) struct Ideal {
    pub(super) store: TermStore,
    images: Vec<TermId>,
}

impl Ideal {
    /// The images of terms that contain all that stands below them; `None` if all are their own.
    pub(super) fn of(store: &TermStore, terms: &[TermId]) -> Option<Ideal> {
        let asks = |t: &TermId| store.is_flip(*t) || matches!(store.get(*t), Term::Overflows(..));
        if !terms.iter().any(asks) {
            return None;
        }
        let mut into = TermStore::new();
        into.as_written = store.as_written;
        let images = rebuild(store, terms, &mut into, |s, t, _| match store.get(t) {
            Term::Overflows(..) => Some(s.bool(false)),
            _ if store.is_flip(t) => Some(s.bits(1, 0)),
            _ => None,
        });
        Some(Ideal {
            store: into,
            images,
        })
    }

    /// The image of the last of the terms.
    pub(super) fn last(self) -> Option<(TermStore, TermId)> {
        let last = *self.images.last()?;
        Some((self.store, last))
    }

    /// All images and what stands below them, in ascending order.
    pub(super) fn terms(&self) -> Vec<TermId> {
        self.store.reachable(&self.images)
    }

    /// Functions of the images as those of the terms. An argument is a term that alone has its image.
    pub(super) fn in_pair(
        &self,
        terms: &[TermId],
        found: FxHashMap<TermId, Place>,
    ) -> FxHashMap<TermId, Place> {
        let mut origins: FxHashMap<TermId, Option<TermId>> = FxHashMap::default();
        for (&t, &image) in terms.iter().zip(&self.images) {
            let origin = origins.entry(image).or_insert(Some(t));
            if *origin != Some(t) {
                *origin = None;
            }
        }
        let mut out = FxHashMap::default();
        for (&t, image) in terms.iter().zip(&self.images) {
            let Some(place) = found.get(image) else {
                continue;
            };
            let arguments = place.arguments.iter();
            let arguments = arguments.map(|u| origins.get(u).copied().flatten());
            if let Some(arguments) = arguments.collect() {
                out.insert(
                    t,
                    Place {
                        arguments,
                        ..place.clone()
                    },
                );
            }
        }
        out
    }
}
