//! The scratch: everything that is made while normalising, and the atoms.
//!
//! An atom is a variable of the polynomials: an input element, or an opaque function of canonical
//! polynomials. Atoms get dense identifiers in creation order, which is the same for the same
//! sequence of calls. What is known about an atom (properties, possible signs, images under the
//! homomorphism) is computed when it is made, from parts that exist already, so nothing here
//! recurses over the depth of a term.
//!
//! What is not claimed: two atoms with different identifiers may denote the same function.

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::Limits;
use super::binary::Binary;
use super::bits::{NodeId, Nodes};
use super::exp::Exps;
use super::fingerprint::Image;
use super::fold::Larger;
use super::monomial::{Mono, Monomials, flag};
use super::poly::{PTerm, PolyId, Polys};
use super::rat::Coefs;
use super::rules::{Rule, rule};
use super::select::{Lit, Preds};
use super::sign::Sign;
use super::value::Val;
use crate::scalar::Fmt;
use crate::term::{Fun, TermId};
use crate::work;

/// A variable of the polynomials.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Atom {
    /// An input element.
    Symbol(TermId),
    /// The base-2 logarithm of e.
    Log2E,
    /// Stands for a canonical polynomial until it is expanded.
    Let(PolyId),
    /// 1 / p, for a p without common factor and with leading coefficient 1.
    Inv(PolyId),
    /// The square root of p.
    Sqrt(PolyId),
    /// The base-2 logarithm of p.
    Log2(PolyId),
    /// An opaque function of p.
    Fun(Fun, PolyId),
    /// The largest of these, ascending by identifier.
    Max(Box<[PolyId]>),
    /// p ? a : b.
    Select(Lit, PolyId, PolyId),
    /// The integer that bits denote.
    OfInt(bool, NodeId),
    /// The number that bits denote in a format.
    OfBits(Fmt, NodeId),
}

/// Why an operation has no canonical result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fail {
    /// Too many terms or too much work.
    Limit,
    /// A formally zero denominator, inf - inf and the like.
    Undefined,
    /// An infinity where its sign or its condition could not be settled.
    Infinite,
}

/// Counts a rule that is applied to what has no form without it.
#[inline]
pub(super) fn require(of: Rule) -> Result<(), Fail> {
    match rule(of) {
        true => Ok(()),
        false => Err(Fail::Limit),
    }
}

/// The clock is looked at each time that two to this power term operations are done.
const LOOK_EVERY: u32 = 18;

/// Everything that normalising makes.
#[derive(Debug)]
pub(super) struct Ring {
    pub(super) coefs: Coefs,
    pub(super) monos: Monomials,
    pub(super) polys: Polys,
    pub(super) exps: Exps,
    pub(super) nodes: Nodes,
    pub(super) preds: Preds,
    atoms: IndexSet<Atom, FxBuildHasher>,
    pub(super) atom_flags: Vec<u8>,
    pub(super) atom_signs: Vec<Sign>,
    pub(super) atom_images: Vec<Image>,
    /// True once an atom is anything but an input element.
    pub(super) special: bool,
    /// True once an atom is a square root, a logarithm or a sine.
    pub(super) rooted: bool,
    /// True once an atom is a choice.
    pub(super) chooses: bool,
    /// Inverses of two-term sums, by atom.
    pub(super) binaries: FxHashMap<u32, Binary>,
    /// Denominators that are not 0 by assumption.
    pub(super) nonzero: rustc_hash::FxHashSet<PolyId>,
    pub(super) limits: Limits,
    pub(super) work: u64,
    /// Set once the deadline has passed.
    pub(super) late: bool,
    pub(super) canon_of: FxHashMap<Val, PolyId>,
    pub(super) primitive_of: FxHashMap<PolyId, (PTerm, PolyId)>,
    pub(super) same_as: FxHashMap<PolyId, PolyId>,
    pub(super) by_image: FxHashMap<u64, Vec<PolyId>>,
    pub(super) identify_depth: u32,
    pub(super) fold_depth: u32,
    pub(super) larger_of: FxHashMap<Lit, Option<Larger>>,
    pub(super) coef_images: FxHashMap<u32, Image>,
    pub(super) commons: FxHashMap<(u32, u32), super::exp::ExpId>,
}

impl Ring {
    pub(super) fn new(limits: Limits) -> Ring {
        Ring {
            coefs: Coefs::default(),
            monos: Monomials::default(),
            polys: Polys::default(),
            exps: Exps::default(),
            nodes: Nodes::default(),
            preds: Preds::default(),
            atoms: IndexSet::default(),
            atom_flags: Vec::new(),
            atom_signs: Vec::new(),
            atom_images: Vec::new(),
            special: false,
            rooted: false,
            chooses: false,
            binaries: FxHashMap::default(),
            nonzero: rustc_hash::FxHashSet::default(),
            limits,
            work: 0,
            late: false,
            canon_of: FxHashMap::default(),
            primitive_of: FxHashMap::default(),
            same_as: FxHashMap::default(),
            by_image: FxHashMap::default(),
            identify_depth: 0,
            fold_depth: 0,
            larger_of: FxHashMap::default(),
            coef_images: FxHashMap::default(),
            commons: FxHashMap::default(),
        }
    }

    /// Accounts for `n` term operations; fails beyond the limit.
    #[inline]
    pub(super) fn charge(&mut self, n: usize) -> Result<(), Fail> {
        let before = self.work >> LOOK_EVERY;
        let spent = std::mem::take(&mut self.coefs.spent);
        let units = (n as u64).saturating_add(spent);
        self.work = self.work.saturating_add(units);
        work::spend(units);
        if self.work >> LOOK_EVERY != before || work::is_over() {
            self.late |= self.limits.is_late();
        }
        if !self.has_time() {
            return Err(Fail::Limit);
        }
        Ok(())
    }

    /// Begins a call, which may spend everything that the limits allow.
    pub(super) fn refill(&mut self) {
        self.work = 0;
        self.coefs.spent = 0;
        self.coefs.allowance = self.limits.max_work;
    }

    /// True if a limit that was met was not the one on all work.
    pub(super) fn has_time(&self) -> bool {
        self.work <= self.limits.max_work
            && self.polys.held() <= self.limits.max_held
            && !self.coefs.overflow
            && !self.late
    }

    /// An atom by its identifier.
    pub(super) fn atom(&self, a: u32) -> &Atom {
        &self.atoms[a as usize]
    }

    /// The identifier of an atom, if it exists.
    pub(super) fn find_atom(&self, a: &Atom) -> Option<u32> {
        self.atoms.get_index_of(a).map(|i| i as u32)
    }

    /// The identifier of an atom.
    pub(super) fn atom_id(&mut self, atom: Atom) -> u32 {
        if let Some(i) = self.find_atom(&atom) {
            return i;
        }
        let sign = self.sign_of_atom(&atom);
        let flags = self.flags_of_atom(&atom, sign);
        let id = self.atoms.len() as u32;
        let image = self.image_of_atom(id, &atom);
        self.special |= !matches!(atom, Atom::Symbol(_));
        self.rooted |= matches!(atom, Atom::Sqrt(_) | Atom::Log2(_) | Atom::Fun(Fun::Sin, _));
        self.chooses |= matches!(atom, Atom::Select(..));
        if let Atom::Inv(d) = atom
            && let Some(b) = self.binary_shape(d)
        {
            self.binaries.insert(id, b);
        }
        self.atom_signs.push(sign);
        self.atom_flags.push(flags);
        self.atom_images.push(image);
        self.atoms.insert(atom);
        id
    }

    fn flags_of_atom(&self, atom: &Atom, sign: Sign) -> u8 {
        let partial = |p: PolyId| self.polys.flags(p) & flag::PARTIAL;
        let unless = |ok: bool, p: PolyId| if ok { partial(p) } else { flag::PARTIAL };
        match atom {
            Atom::Symbol(_) | Atom::Log2E => 0,
            Atom::Let(p) => flag::LET | partial(*p),
            Atom::Inv(p) => {
                let nonzero = !sign.may_be_zero() || self.nonzero.contains(p);
                flag::INV | unless(nonzero, *p)
            }
            Atom::Sqrt(p) => flag::SQRT | unless(self.poly_sign(*p).is_nonneg(), *p),
            Atom::Log2(p) => unless(self.poly_sign(*p).is_positive(), *p),
            // The square of a sine is rewritten as that of a root is.
            Atom::Fun(Fun::Sin, p) => flag::SQRT | partial(*p),
            Atom::Fun(_, p) => partial(*p),
            Atom::Max(s) => s.iter().fold(flag::CHOICE, |f, p| f | partial(*p)),
            Atom::Select(c, a, b) => {
                flag::CHOICE | self.preds.partial(*c) | partial(*a) | partial(*b)
            }
            Atom::OfInt(_, n) => self.nodes.partial(*n),
            Atom::OfBits(..) => flag::PARTIAL,
        }
    }

    /// The properties of a term, those of polynomials aside.
    #[inline]
    pub(super) fn term_flags(&self, t: PTerm) -> u8 {
        self.monos.flags(t.mono, &self.atom_flags) | self.exps.flags(t.exp)
    }

    /// The monomial of a single atom.
    pub(super) fn atom_mono(&mut self, atom: Atom) -> Mono {
        let a = self.atom_id(atom);
        self.monos.atom(a, &self.atom_flags)
    }

    /// The value of a single atom.
    pub(super) fn atom_val(&mut self, atom: Atom) -> Val {
        let m = self.atom_mono(atom);
        Val::term(PTerm::mono(m))
    }
}
