//! Addresses as one object and an offset.
//!
//! Problem: where objects lie is known to no kernel. The base of each object is a symbol of its own, in the state space that
//! holds it, and where a window lies in generic addresses is one too. A word is a linear form of these, modulo two to its
//! width, and an offset; it leads to an object if that remains alone with the factor 1, beside its window for a generic address.
//!
//! Rules: those of the simulator ([`crate::sim`], `address`), which has numbers beside its bases. Sums and products by
//! constants are linear, and so are the low bits of a word, at their width. A word of 64 bits that was cut to fewer leads to an
//! array no more; an address in its own window lies below 2^31 there with its whole object, so that it may be widened where its offset lies in the object
//! ([`Place::within`]). What was taken apart and is put together again is the same word ([`super::expr`]).

use super::expr::{Exprs, Id, Node};
use super::limits::MAX_PARTS;
use super::state::{Object, Walk};
use crate::kernel::{Addr, Space, Src};
use crate::term::BitsOp;

/// Numbers of bases from here on are windows.
const WINDOWS: u32 = u32::MAX - 3;

/// Where an object begins, in its own state space or as a generic address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    pub object: u32,
    pub generic: bool,
}

/// An address.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub start: Start,
    pub offset: Id,
    /// Offsets that must lie in the object for this to hold, its end included.
    pub within: Vec<Id>,
}

/// A word as bases with their factors, ordered, and the rest.
#[derive(Clone, Debug)]
struct Linear {
    bases: Vec<(u32, u64)>,
    offset: Id,
    within: Vec<Id>,
}

fn window_base(space: Space) -> Option<u32> {
    match space {
        Space::Shared | Space::SharedCluster => Some(WINDOWS),
        Space::Local => Some(WINDOWS + 1),
        Space::Param => Some(WINDOWS + 2),
        Space::Const => Some(WINDOWS + 3),
        Space::Generic | Space::Global => None,
    }
}

/// An address converted to a generic one, or (`to`) from one: those of global memory are the same.
pub(super) fn through_window(e: &mut Exprs, v: Id, space: Space, to: bool) -> Id {
    let Some(window) = window_base(space) else {
        return v;
    };
    let base = e.base(window, e.width(v));
    match to {
        true => e.minus(v, base),
        false => e.add(v, base),
    }
}

impl Walk<'_> {
    /// The first byte of an object as a word.
    pub(super) fn start(&mut self, start: Start, width: u8) -> Id {
        let base = self.e.base(start.object, width);
        let window = self.out.objects[start.object as usize].window();
        match window.filter(|_| start.generic) {
            Some(space) => through_window(&mut self.e, base, space, false),
            None => base,
        }
    }

    /// The bytes of an object, where they are known.
    pub(super) fn extent(&self, object: u32) -> Option<u64> {
        let kernel = self.kernel;
        match self.out.objects[object as usize] {
            Object::Shared(v) => Some(u64::from(kernel.shared[v as usize].bytes)),
            Object::Local(v) => Some(kernel.locals.get(v as usize).map_or(0, |v| v.bytes.into())),
            Object::Param(v) => Some(kernel.params.get(v as usize).map_or(0, |v| v.bytes.into())),
            Object::Dynamic => self.resolved.launch.dynamic_shared,
            Object::Array(n) | Object::Constant(n) => self
                .resolved
                .arrays
                .0
                .get(n as usize)
                .and_then(|x| x.extent),
        }
    }

    /// The address of an access.
    pub(super) fn address(
        &mut self,
        addr: &Addr,
        plus: i64,
        space: Space,
        regs: &[Id],
    ) -> Option<Place> {
        let (base, width) = match (addr.base, space) {
            (Src::Reg(r), _) => (addr.base, self.kernel.reg_width[r.0 as usize]),
            (Src::Imm(at), Space::Param) => (Src::Var(Space::Param, at as u32, 0), 32),
            (base, Space::Global | Space::Const | Space::Generic) => (base, 64),
            (base, _) => (base, 32),
        };
        let base = self.reader(regs, |r| r.src(base, width));
        let more = addr.offset.wrapping_add(plus) as u64;
        let more = self.e.constant(more, width);
        let whole = self.e.add(base, more);
        self.resolve(whole)
    }

    /// A word that leads to an object wherever its offset lies, with the offset.
    pub(super) fn whole(&mut self, word: Id) -> Option<(Start, Id)> {
        let place = self.resolve(word)?;
        place
            .within
            .is_empty()
            .then_some((place.start, place.offset))
    }

    /// The object that a word leads to.
    pub(super) fn resolve(&mut self, word: Id) -> Option<Place> {
        if !self.e.has_base(word) {
            return None;
        }
        let mut left = MAX_PARTS;
        let linear = self.linear(word, &mut left)?;
        let is_window = |b: u32| b >= WINDOWS;
        let mut objects = linear.bases.iter().filter(|b| !is_window(b.0));
        let (&(object, 1), None) = (objects.next()?, objects.next()) else {
            return None;
        };
        let mut windows = linear.bases.iter().filter(|b| is_window(b.0));
        let kind = self.out.objects[object as usize];
        let window = kind.window();
        let generic = match (windows.next(), windows.next()) {
            (None, _) => false,
            (Some(&(w, 1)), None) if window.and_then(window_base) == Some(w) => true,
            _ => return None,
        };
        // Only in its own window an address has fewer bits.
        let bits = if kind.is_near() && !generic { 32 } else { 64 };
        (self.e.width(word) >= bits).then_some(Place {
            start: Start { object, generic },
            offset: linear.offset,
            within: linear.within,
        })
    }

    /// A word as bases and the rest; `None` if it depends on bases in another way.
    fn linear(&mut self, word: Id, left: &mut usize) -> Option<Linear> {
        *left = left.checked_sub(1)?;
        let width = self.e.width(word);
        let mask = u64::MAX >> (64 - u32::from(width));
        let zero = self.e.constant(0, width);
        if !self.e.has_base(word) {
            return Some(Linear {
                bases: Vec::new(),
                offset: word,
                within: Vec::new(),
            });
        }
        match *self.e.node(word) {
            Node::Base(b) => Some(Linear {
                bases: vec![(b, 1)],
                offset: zero,
                within: Vec::new(),
            }),
            Node::Word(BitsOp::Add, a, b) => {
                let (mut x, y) = (self.linear(a, left)?, self.linear(b, left)?);
                for (base, k) in y.bases {
                    match x.bases.iter_mut().find(|b| b.0 == base) {
                        Some(known) => known.1 = known.1.wrapping_add(k) & mask,
                        None => x.bases.push((base, k)),
                    }
                }
                x.bases.retain(|b| b.1 != 0);
                x.bases.sort_unstable();
                x.offset = self.e.add(x.offset, y.offset);
                x.within.extend(y.within);
                Some(x)
            }
            Node::Word(BitsOp::Mul, a, k) => {
                let k = self.e.value(k)?;
                let mut x = self.linear(a, left)?;
                for b in &mut x.bases {
                    b.1 = b.1.wrapping_mul(k) & mask;
                }
                x.bases.retain(|b| b.1 != 0);
                let k = self.e.constant(k, width);
                x.offset = self.e.word(BitsOp::Mul, x.offset, k);
                Some(x)
            }
            Node::Choose(p, a, b) => {
                let (x, y) = (self.linear(a, left)?, self.linear(b, left)?);
                if x.bases != y.bases {
                    return None;
                }
                // What one side asks is asked where it is chosen.
                let mut within = Vec::new();
                for (list, yes) in [(x.within, true), (y.within, false)] {
                    for id in list {
                        let zero = self.e.constant(0, self.e.width(id));
                        within.push(match yes {
                            true => self.e.choose(p, id, zero),
                            false => self.e.choose(p, zero, id),
                        });
                    }
                }
                Some(Linear {
                    bases: x.bases,
                    offset: self.e.choose(p, x.offset, y.offset),
                    within,
                })
            }
            Node::Low(a) => {
                let mut x = self.linear(a, left)?;
                for b in &mut x.bases {
                    b.1 &= mask;
                }
                x.bases.retain(|b| b.1 != 0);
                x.offset = self.e.resize(x.offset, width, false);
                Some(x)
            }
            Node::Wide(a) | Node::Signed(a) => {
                let mut x = self.linear(a, left)?;
                let [(object, 1)] = x.bases[..] else {
                    return None;
                };
                let own = |o: &Object| o.is_near();
                if self.e.width(a) < 32 || !self.out.objects.get(object as usize).is_some_and(own) {
                    return None;
                }
                x.within.push(x.offset);
                x.offset = self.e.resize(x.offset, width, false);
                Some(x)
            }
            Node::Const(_)
            | Node::Symbol(_)
            | Node::Word(..)
            | Node::Compare(..)
            | Node::Function(..) => None,
        }
    }
}
