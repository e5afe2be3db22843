//! Terms that take the bits of a rounded number.
//!
//! Problem: a term of reals does not say how a number was computed, so the encoding of a computed
//! number is not a function of the term; yet the store has one node for it. As long as the encoding is
//! only moved and read as a number again that is harmless: the claim about floats is one about reals. A
//! term that takes such bits apart, compares them or counts with them is *loose*: equal loose terms may
//! stand for different bits, and nothing may be proved or refuted of them.
//!
//! Loose is not: the encoding of an input element in its own or a wider format, with its sign changed
//! or not; of a constant of the format; of a small integer; and of a number that remembers how it was
//! made ([`super::made`]), since that is one with its bits.
//!
//! Terms are folded while they are built. Where bits of two rounded numbers meet and the result is not
//! the operation itself, the store remembers that ([`TermStore::has_merged`]): then no term tells any more
//! what was lost, and the kernel has to be run again with numbers that remember how they were made.

use num_traits::Zero;
use smallvec::SmallVec;

use super::made::{Kind, Shape};
use super::view::{self, Fun, Term};
use super::{LOOSE, Node, TermId, TermStore};
use crate::scalar::{FloatMods, Fmt};

/// Operations between a number and the elements that it is chosen among.
const MAX_EXACT: usize = 64;

/// How two writes of the same bytes compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The same bits by the same operations.
    Same,
    /// Equal over the reals; the bits may differ.
    Real,
    /// Not the same term.
    Open,
}

/// True if every number of the first format is one of the second.
pub fn embeds(from: Fmt, to: Fmt) -> bool {
    let small = matches!(
        from,
        Fmt::E4m3 | Fmt::E5m2 | Fmt::E2m3 | Fmt::E3m2 | Fmt::E2m1
    );
    match to {
        _ if from == to => true,
        Fmt::F64 => true,
        Fmt::F32 => from != Fmt::F64,
        Fmt::F16 | Fmt::Bf16 => small,
        Fmt::Tf32 => small || matches!(from, Fmt::F16 | Fmt::Bf16),
        Fmt::E4m3 | Fmt::E5m2 | Fmt::E2m3 | Fmt::E3m2 | Fmt::E2m1 | Fmt::Ue8m0 => false,
    }
}

impl TermStore {
    /// True if a term takes the bits of a rounded number.
    #[inline]
    pub fn is_loose(&self, t: TermId) -> bool {
        self.flags[t.0 as usize] & LOOSE != 0
    }

    /// How two contents of the same bytes compare, as far as their terms show it.
    ///
    /// Computed numbers that do not remember how they were made are equal over the reals only, and that
    /// is noted as if their bits had met.
    pub fn agreement(&mut self, a: TermId, b: TermId) -> Agreement {
        if a == b {
            self.merged |= self.is_loose(a);
            return match self.is_loose(a) {
                true => Agreement::Real,
                false => Agreement::Same,
            };
        }
        match self.faced(a) == self.faced(b) {
            true => Agreement::Real,
            false => Agreement::Open,
        }
    }

    /// Bits with numbers that have forgotten how they were made.
    pub fn faced(&mut self, bits: TermId) -> TermId {
        self.renumbered(bits, |s, _, real| s.face(real))
    }

    /// Bits with numbers each of which is one of several that are equal over the reals: which one is a choice with a serial
    /// of its own, the same for all that read it.
    pub fn won(&mut self, bits: TermId, mut serial: impl FnMut() -> u32) -> TermId {
        self.renumbered(bits, |s, fmt, real| {
            let choice = s.fresh(fmt.bits() as u8, serial());
            let shape = Shape::new(Kind::Won, fmt, fmt, FloatMods::default());
            s.made(real, shape, &[choice])
        })
    }

    /// Bits with other numbers encoded in them.
    fn renumbered(
        &mut self,
        bits: TermId,
        mut number: impl FnMut(&mut Self, Fmt, TermId) -> TermId,
    ) -> TermId {
        let mut encoded = |s: &mut Self, t| match s.get(t) {
            Term::OfReal { fmt, real } => {
                let real = number(s, fmt, real);
                s.of_real(fmt, real)
            }
            _ => t,
        };
        match self.get(bits) {
            Term::Concat(list) => {
                let parts: Vec<TermId> = list.iter().map(|&i| TermId(i)).collect();
                let parts: Vec<TermId> = parts.into_iter().map(|t| encoded(self, t)).collect();
                self.concat(&parts)
            }
            _ => encoded(self, bits),
        }
    }

    /// True if one of two encodings is that of a computed number.
    pub fn takes_made(&self, a: TermId, b: TermId) -> bool {
        let made = |t| match self.get(t) {
            Term::OfReal { real, .. } => self.as_made(real).is_some(),
            _ => false,
        };
        [a, b].iter().any(|&t| self.is_loose(t) || made(t))
    }

    /// True if bits of two rounded numbers met, and what came of it does not show both.
    pub fn has_merged(&self) -> bool {
        self.merged
    }

    /// Notes that something depends on the bits of rounded numbers and does not show which.
    pub fn note_merged(&mut self) {
        self.merged = true;
    }

    /// Notes that bits of `a` and `b` met and became `result`.
    #[inline]
    pub(super) fn note_meeting(&mut self, a: TermId, b: TermId, result: TermId) -> TermId {
        if self.has_loose && self.is_loose(a) && self.is_loose(b) && !self.merged {
            let (mut has_a, mut has_b) = (false, false);
            self.children(result, |c| {
                has_a |= c == a;
                has_b |= c == b;
            });
            self.merged = !(has_a && has_b);
        }
        result
    }

    /// Whether a new node takes the bits of a rounded number.
    pub(super) fn takes_bits(&self, n: &Node) -> bool {
        match n.tag {
            view::OF_REAL => self.is_rounded(Fmt::ALL[n.aux as usize], TermId(n.a)),
            view::MADE => {
                self.has_loose && {
                    let operands = &self.lists[n.a as usize..][view::FIRST_OPERAND..n.b as usize];
                    operands.iter().any(|&c| self.is_loose(TermId(c)))
                }
            }
            _ if !self.has_loose => false,
            tag if view::is_list(tag) => {
                let list = &self.lists[n.a as usize..][view::first_child(tag)..n.b as usize];
                list.iter().any(|&c| self.is_loose(TermId(c)))
            }
            tag => {
                let children = [n.a, n.b, n.c];
                let children = &children[..view::child_count(tag)];
                children.iter().any(|&c| self.is_loose(TermId(c)))
            }
        }
    }

    /// True if the encoding of a number in a format depends on how it was computed: it is not made of
    /// numbers of the format by choosing the largest or the least, and changing signs.
    pub fn is_rounded(&self, fmt: Fmt, real: TermId) -> bool {
        let mut stack: SmallVec<[TermId; 8]> = SmallVec::from_slice(&[real]);
        for _ in 0..MAX_EXACT {
            let Some(t) = stack.pop() else { return false };
            match self.get(t) {
                Term::Neg(x) | Term::Fun(Fun::Abs, x) => stack.push(x),
                Term::Max(x, y) | Term::Min(x, y) => stack.extend([x, y]),
                // A zero has two encodings.
                Term::Const(c) => {
                    let c = self.constant(c);
                    if c.is_zero() || super::encode_exact(fmt, c).is_none() {
                        return true;
                    }
                }
                Term::Elem { fmt: f, .. } | Term::OfBits { fmt: f, .. } if embeds(f, fmt) => {}
                Term::OfInt { bits, .. } if u32::from(self.width(bits)) <= fmt.precision() => {}
                _ => return t != real || self.is_computed(real),
            }
        }
        true
    }

    fn is_computed(&self, real: TermId) -> bool {
        match self.get(real) {
            // A known number has known bits where a register can hold only one.
            Term::Made(made) if made.shape(self).kind == Kind::Known => {
                let one = made.operands().len() == 1;
                let nonzero = |t| self.as_const(t).is_some_and(|c| !c.is_zero());
                !(one && made.operands().all(nonzero))
            }
            Term::Made(_) => self.is_loose(real),
            _ => true,
        }
    }
}
