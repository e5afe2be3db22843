//! What a store under a condition leaves as it was, read by the kernel.
//!
//! The problem: a store that happens for some inputs only leaves an element of an array without content as it was for
//! the others. That alone is no uninitialised read: the element keeps the bytes that the array had, which are a symbol
//! of their own. A load that may find them is one.
//!
//! Sound: such symbols stand only below what stores build of old and new content, which is selects, parts of words and
//! conversions between bits and numbers; every load takes them out.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::term::{ArrayId, Term, TermId};

use super::val::Val;
use super::value::Values;

impl Values {
    /// match a value of an array that keeps unwritten content / result that content is poison / because it is loaded.
    pub fn loaded(&mut self, v: Val, array: ArrayId, site: u32) -> Val {
        match self.settled(v) {
            Val::Real(f, t) => Val::Real(f, self.without_symbols(t, array, site)),
            Val::Bits(t) => {
                let new = self.without_symbols(t, array, site);
                if new == t { v } else { self.of_bits(new) }
            }
            v => v,
        }
    }

    fn without_symbols(&mut self, root: TermId, array: ArrayId, site: u32) -> TermId {
        let mut terms = Vec::new();
        let mut seen = FxHashSet::default();
        let mut stack = vec![root];
        while let Some(t) = stack.pop() {
            if !seen.insert(t) {
                continue;
            }
            terms.push(t);
            match self.store.get(t) {
                Term::Select(_, a, b) | Term::BitsSelect(_, a, b) => stack.extend([a, b]),
                Term::Concat(parts) => stack.extend(parts.iter().map(|p| TermId(*p))),
                Term::Extract { bits, .. } => stack.push(bits),
                Term::OfReal { real, .. } => stack.push(real),
                Term::OfBits { bits, .. } => stack.push(bits),
                _ => {}
            }
        }
        // Children are older than their parents.
        terms.sort_unstable();
        let mut new: FxHashMap<TermId, TermId> = FxHashMap::default();
        for t in terms {
            let of = |c: TermId| new.get(&c).copied().unwrap_or(c);
            let s = &mut self.store;
            let to = match s.get(t) {
                Term::Bytes {
                    array: a, width, ..
                } if a == array => s.poison(width, site),
                Term::Elem { array: a, fmt, .. } if a == array => {
                    let bits = s.poison(fmt.bits() as u8, site);
                    s.of_bits(fmt, bits)
                }
                Term::Select(p, a, b) | Term::BitsSelect(p, a, b) if (of(a), of(b)) != (a, b) => {
                    s.select(p, of(a), of(b))
                }
                Term::Concat(parts) => {
                    let old: Vec<TermId> = parts.iter().map(|p| TermId(*p)).collect();
                    let parts: Vec<TermId> = old.iter().map(|p| of(*p)).collect();
                    if parts == old { t } else { s.concat(&parts) }
                }
                Term::Extract { bits, low, width } if of(bits) != bits => {
                    s.extract(of(bits), low, width)
                }
                Term::OfReal { fmt, real } if of(real) != real => s.of_real(fmt, of(real)),
                Term::OfBits { fmt, bits } if of(bits) != bits => s.of_bits(fmt, of(bits)),
                _ => t,
            };
            new.insert(t, to);
        }
        new[&root]
    }
}
