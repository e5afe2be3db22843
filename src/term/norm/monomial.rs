//! Monomials: products of integer powers of atoms.
//!
//! Problem: a matrix product of depth K has K monomials per output, so a monomial must be a word.
//! Products of up to three atoms with identifiers below 2^21 are packed: three fields of 21 bits,
//! identifiers plus one in ascending order from the high end, absent fields zero at the low end.
//! Everything else (higher degree, negative powers, more atoms) is interned. The forms do not
//! overlap, so equal words are equal monomials. Powers may be negative: 1/x of a single atom x is
//! the power -1 of x.

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

const FIELD: u32 = 21;
const MASK: u64 = (1 << FIELD) - 1;
const INTERNED: u64 = 1 << 63;

/// Properties of an atom or of what is made of atoms, as bits.
pub(super) mod flag {
    /// Holds the inverse of a polynomial.
    pub(crate) const INV: u8 = 1;
    /// Holds a power of an atom that rewrites to something else.
    pub(crate) const REDUCIBLE: u8 = 2;
    /// Is not defined for all inputs.
    pub(crate) const PARTIAL: u8 = 4;
    /// Holds a square root, or a sine, whose square is rewritten likewise.
    pub(crate) const SQRT: u8 = 8;
    /// Holds a maximum or a choice.
    pub(crate) const CHOICE: u8 = 16;
    /// Stands for a polynomial that is expanded later.
    pub(crate) const LET: u8 = 32;
    /// Holds an exponential (polynomials only).
    pub(crate) const EXP: u8 = 64;
    /// Holds a negative coefficient (polynomials only).
    pub(crate) const NEG: u8 = 128;
}

/// A monomial of a [`Monomials`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Mono(u64);

/// Atoms with their powers, ascending by atom, powers not zero.
pub(super) type Powers = SmallVec<[(u32, i32); 4]>;

impl Mono {
    /// The empty product.
    pub(super) const ONE: Mono = Mono(0);

    /// The word.
    pub(super) fn word(self) -> u64 {
        self.0
    }

    /// The single atom with power 1, if it is that and packed.
    pub(super) fn as_atom(self) -> Option<u32> {
        let id = self.0 >> (2 * FIELD);
        let single = self.0 & ((1 << (2 * FIELD)) - 1) == 0;
        (self.0 & INTERNED == 0 && id != 0 && single).then(|| id as u32 - 1)
    }

    /// The number of its atoms with their powers, if it is packed.
    pub(super) fn packed_degree(self) -> Option<u32> {
        (self.0 & INTERNED == 0).then(|| self.degree())
    }

    /// Its atoms, each as often as its power says, if it is packed.
    #[inline]
    pub(super) fn packed(self) -> Option<[Option<u32>; 3]> {
        let atom = |shift: u32| ((self.0 >> shift & MASK) as u32).checked_sub(1);
        (self.0 & INTERNED == 0).then(|| [atom(2 * FIELD), atom(FIELD), atom(0)])
    }

    fn degree(self) -> u32 {
        if self.0 & MASK != 0 {
            3
        } else if self.0 >> FIELD & MASK != 0 {
            2
        } else {
            (self.0 != 0) as u32
        }
    }

    /// The product of two atoms, if both identifiers can be packed.
    #[inline]
    pub(super) fn pair(a: u32, b: u32) -> Option<Mono> {
        let (x, y) = (a.min(b) as u64 + 1, a.max(b) as u64 + 1);
        (y <= MASK).then_some(Mono(x << (2 * FIELD) | y << FIELD))
    }
}

/// The interned monomials of one scratch.
#[derive(Debug, Default)]
pub(super) struct Monomials {
    table: IndexSet<Box<[(u32, i32)]>, FxBuildHasher>,
    flags: Vec<u8>,
}

impl Monomials {
    /// The powers of a monomial.
    pub(super) fn powers(&self, m: Mono) -> Powers {
        if m.0 & INTERNED != 0 {
            return Powers::from_slice(&self.table[(m.0 ^ INTERNED) as usize]);
        }
        let mut out = Powers::new();
        for shift in [2 * FIELD, FIELD, 0] {
            let f = m.0 >> shift & MASK;
            if f == 0 {
                break;
            }
            let atom = f as u32 - 1;
            match out.last_mut() {
                Some((a, p)) if *a == atom => *p += 1,
                _ => out.push((atom, 1)),
            }
        }
        out
    }

    /// The monomial of powers that ascend by atom; zero powers are dropped. `flags` are those of
    /// each atom.
    pub(super) fn of(&mut self, powers: &[(u32, i32)], flags: &[u8]) -> Mono {
        let degree: i64 = powers.iter().map(|p| p.1 as i64).sum();
        let fits = powers
            .iter()
            .all(|&(a, p)| p >= 0 && (a as u64) < MASK || p == 0);
        if fits && degree <= 3 {
            let (mut word, mut shift) = (0, 3 * FIELD);
            for &(a, p) in powers {
                for _ in 0..p {
                    shift -= FIELD;
                    word |= (a as u64 + 1) << shift;
                }
            }
            return Mono(word);
        }
        let list: Box<[(u32, i32)]> = powers.iter().copied().filter(|p| p.1 != 0).collect();
        let (i, new) = self.table.insert_full(list);
        if new {
            let mut all = 0;
            for &(a, p) in powers.iter().filter(|p| p.1 != 0) {
                let f = flags[a as usize];
                all |= f;
                if p < 0 {
                    all |= flag::PARTIAL;
                }
                let fixed = f & flag::SQRT != 0 && p != 1 || f & flag::INV != 0 && p < 0;
                if fixed || f & flag::LET != 0 {
                    all |= flag::REDUCIBLE;
                }
            }
            self.flags.push(all);
        }
        Mono(i as u64 | INTERNED)
    }

    /// A single atom.
    pub(super) fn atom(&mut self, a: u32, flags: &[u8]) -> Mono {
        self.of(&[(a, 1)], flags)
    }

    /// The product.
    #[inline]
    pub(super) fn mul(&mut self, a: Mono, b: Mono, flags: &[u8]) -> Mono {
        if a.0 == 0 {
            return b;
        }
        if b.0 == 0 {
            return a;
        }
        if (a.0 | b.0) & INTERNED == 0 {
            let (da, db) = (a.degree(), b.degree());
            if da + db <= 3 {
                // One of the two is a single atom: insert it into the other.
                let (one, other) = if da == 1 { (a, b) } else { (b, a) };
                let x = one.0 >> (2 * FIELD);
                let (f1, f2) = (other.0 >> (2 * FIELD), other.0 >> FIELD & MASK);
                let word = if x <= f1 {
                    x << (2 * FIELD) | f1 << FIELD | f2
                } else if f2 == 0 || x <= f2 {
                    f1 << (2 * FIELD) | x << FIELD | f2
                } else {
                    f1 << (2 * FIELD) | f2 << FIELD | x
                };
                return Mono(word);
            }
        }
        let (x, y) = (self.powers(a), self.powers(b));
        let mut out = Powers::new();
        let (mut i, mut j) = (0, 0);
        while i < x.len() || j < y.len() {
            let ka = x.get(i).map_or(u32::MAX, |p| p.0);
            let kb = y.get(j).map_or(u32::MAX, |p| p.0);
            let k = ka.min(kb);
            let mut p = 0i32;
            if ka == k {
                p = x[i].1;
                i += 1;
            }
            if kb == k {
                p = p.saturating_add(y[j].1);
                j += 1;
            }
            if p != 0 {
                out.push((k, p));
            }
        }
        self.of(&out, flags)
    }

    /// The inverse.
    pub(super) fn inverse(&mut self, m: Mono, flags: &[u8]) -> Mono {
        let mut p = self.powers(m);
        for e in &mut p {
            e.1 = e.1.saturating_neg();
        }
        self.of(&p, flags)
    }

    /// The union of the properties of the atoms, and whether some power rewrites.
    #[inline]
    pub(super) fn flags(&self, m: Mono, flags: &[u8]) -> u8 {
        if m.0 & INTERNED != 0 {
            return self.flags[(m.0 ^ INTERNED) as usize];
        }
        let mut all = 0;
        let mut last = 0;
        for shift in [2 * FIELD, FIELD, 0] {
            let f = m.0 >> shift & MASK;
            if f == 0 {
                break;
            }
            let g = flags[f as usize - 1];
            all |= g;
            if g & flag::LET != 0 || g & flag::SQRT != 0 && f == last {
                all |= flag::REDUCIBLE;
            }
            last = f;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn product_adds_powers(
            a in proptest::collection::btree_map(prop_oneof![0u32..5, 2_097_140u32..2_097_160], -2i32..3, 0..4),
            b in proptest::collection::btree_map(prop_oneof![0u32..5, 2_097_140u32..2_097_160], -2i32..3, 0..4),
        ) {
            let flags = vec![0u8; 2_097_160];
            let mut m = Monomials::default();
            let list = |x: &BTreeMap<u32, i32>| -> Vec<(u32, i32)> {
                x.iter().map(|(a, p)| (*a, *p)).collect()
            };
            let (x, y) = (m.of(&list(&a), &flags), m.of(&list(&b), &flags));
            let mut want = a.clone();
            for (k, p) in &b {
                *want.entry(*k).or_default() += p;
            }
            want.retain(|_, p| *p != 0);
            let z = m.mul(x, y, &flags);
            prop_assert_eq!(z, m.mul(y, x, &flags));
            prop_assert_eq!(m.powers(z).to_vec(), list(&want));
            prop_assert_eq!(z, m.of(&list(&want), &flags));
            let i = m.inverse(z, &flags);
            prop_assert_eq!(m.mul(z, i, &flags), Mono::ONE);
        }
    }
}
