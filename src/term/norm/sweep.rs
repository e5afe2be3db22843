//! The pass over terms: each term once, operands before their users.
//!
//! Problem: terms are a million deep. Those below a root are collected with an explicit stack and handled
//! in ascending order, chains of additions and of maxima as one (`chain`).

use super::bits::{Node, NodeId};
use super::joint::Joint;
use super::poly::{PTerm, PolyId};
use super::rat::Rat;
use super::ring::{Atom, Fail, Ring};
use super::rules::{Rule, rule};
use super::select::Lit;
use super::sign::Reach;
use super::value::Val;
use super::{CanonId, Equality, Limits, NormError};
use rustc_hash::FxHashMap;

use crate::term::{ArrayId, Fun, RCmp, Sort, Term, TermId, TermStore};

mod chain;

pub(super) use chain::Chain;

/// The canonical meaning of a term.
#[derive(Clone, Copy, Debug)]
pub(super) enum Entry {
    Real(Val),
    Bool(Lit),
    Bits(NodeId),
    None(NormError),
}

/// Normalises terms of a frozen store.
///
/// What it makes is numbered in creation order, so results depend on nothing but the sequence of
/// calls. Several can read one store in parallel.
pub struct Normalizer<'s> {
    pub(super) store: &'s TermStore,
    pub(super) ring: Ring,
    /// Per term: 0, or one more than the index of its entry.
    memo: Vec<u32>,
    entries: Vec<Entry>,
    /// Per term: 0, or one more than the atom of an input element.
    symbols: Vec<u32>,
    seen: Vec<u8>,
    pub(super) signs: FxHashMap<TermId, Reach>,
}

impl<'s> Normalizer<'s> {
    /// An empty scratch for terms of `store`.
    pub fn new(store: &'s TermStore, limits: Limits) -> Self {
        let n = store.len();
        Normalizer {
            store,
            ring: Ring::new(limits),
            memo: vec![0; n],
            entries: Vec::new(),
            symbols: vec![0; n],
            seen: vec![0; n],
            signs: FxHashMap::default(),
        }
    }

    /// The canonical form of a real term.
    ///
    /// # Errors
    /// When no form was found: undefined for all inputs, infinite, or too large.
    pub fn real(&mut self, t: TermId) -> Result<CanonId, NormError> {
        self.ring.refill();
        let form = self.canon(t)?;
        match self.is_spoilt() {
            true => Err(NormError::Limit(t)),
            false => Ok(CanonId(form.0)),
        }
    }

    /// True once a coefficient was too long to compute: every answer is then the one that claims
    /// nothing, and only a new scratch gives others.
    pub fn is_spoilt(&self) -> bool {
        self.ring.coefs.overflow
    }

    pub(super) fn canon(&mut self, t: TermId) -> Result<PolyId, NormError> {
        match self.entry(t) {
            Entry::Real(v) => self.ring.canon(v).map_err(|f| error(f, t)),
            Entry::None(e) => Err(e),
            _ => Err(NormError::Undefined(t)),
        }
    }

    /// Whether two terms of one sort have the same value wherever both are defined.
    pub fn equal(&mut self, a: TermId, b: TermId) -> Equality {
        if a == b {
            return Equality::Equal;
        }
        self.ring.refill();
        match self.try_equal(a, b) {
            _ if self.is_spoilt() => Equality::Unknown(NormError::Limit(b)),
            Ok(true) => Equality::Equal,
            Ok(false) => Equality::Different,
            Err(e) => Equality::Unknown(e),
        }
    }

    fn try_equal(&mut self, a: TermId, b: TermId) -> Result<bool, NormError> {
        let (x, y) = match (self.entry(a), self.entry(b)) {
            (Entry::None(e), _) | (_, Entry::None(e)) => return Err(e),
            (Entry::Bool(x), Entry::Bool(y)) => return Ok(x == y),
            (Entry::Bits(x), Entry::Bits(y)) => {
                if x == y {
                    return Ok(true);
                }
                // Encodings in one format are equal where the numbers are.
                match (self.ring.nodes.get(x), self.ring.nodes.get(y)) {
                    (Node::OfReal(f, p), Node::OfReal(g, q)) if f == g => (*p, *q),
                    _ => return Ok(false),
                }
            }
            (Entry::Real(v), Entry::Real(w)) => {
                if v == w {
                    return Ok(true);
                }
                if self.ring.surely_differ(v, w).map_err(|f| error(f, b))? {
                    return Ok(false);
                }
                let p = self.ring.canon(v).map_err(|f| error(f, a))?;
                let q = self.ring.canon(w).map_err(|f| error(f, b))?;
                (p, q)
            }
            _ => return Ok(false),
        };
        self.ring.equal(x, y).map_err(|f| error(f, b))
    }

    /// The term's meaning; normalises what is missing.
    pub(super) fn entry(&mut self, t: TermId) -> Entry {
        self.normalise(t);
        self.known(t)
    }

    fn normalise(&mut self, root: TermId) {
        if self.is_ready(root) {
            return;
        }
        let order = self.reach(root);
        for &t in &order {
            if self.seen[t.0 as usize] == chain::LINK {
                continue;
            }
            let entry = self.step(t).unwrap_or_else(Entry::None);
            self.entries.push(entry);
            self.memo[t.0 as usize] = self.entries.len() as u32;
        }
        for t in order {
            self.seen[t.0 as usize] = 0;
        }
    }

    /// True if the meaning is known or can be read off the node.
    fn is_ready(&mut self, t: TermId) -> bool {
        if self.memo[t.0 as usize] != 0 || self.symbols[t.0 as usize] != 0 {
            return true;
        }
        match self.store.get(t) {
            Term::Const(_) | Term::Elem { .. } => true,
            Term::Mul(a, b) => self.is_leaf(a) && self.is_leaf(b),
            _ => false,
        }
    }

    fn is_leaf(&self, t: TermId) -> bool {
        self.symbols[t.0 as usize] != 0
            || matches!(self.store.get(t), Term::Const(_) | Term::Elem { .. })
    }

    fn is_const(&self, t: TermId) -> bool {
        matches!(self.store.get(t), Term::Const(_))
    }

    /// True if the meaning of a term has been found by itself.
    pub(super) fn is_known(&self, t: TermId) -> bool {
        self.memo[t.0 as usize] != 0
    }

    pub(super) fn symbol(&mut self, t: TermId) -> u32 {
        let i = t.0 as usize;
        if self.symbols[i] == 0 {
            let atom = match self.store.get(t) {
                Term::Elem {
                    array: ArrayId::CONSTANTS,
                    ..
                } => Atom::Log2E,
                _ => Atom::Symbol(t),
            };
            let id = self.ring.atom_id(atom);
            if self.store.numbers(t).is_some() {
                self.ring.atom_signs[id as usize] = self.sign_of_element(t);
            }
            self.symbols[i] = id + 1;
        }
        self.symbols[i] - 1
    }

    /// The meaning of a term that is ready.
    pub(super) fn known(&mut self, t: TermId) -> Entry {
        match self.memo[t.0 as usize] {
            0 => match self.leaf_term(t) {
                Some(x) => Entry::Real(Val::term(x)),
                None => Entry::None(NormError::Limit(t)),
            },
            i => self.entries[i as usize - 1],
        }
    }

    /// The term of a constant, an element, or a product of two of those.
    fn leaf_term(&mut self, t: TermId) -> Option<PTerm> {
        match self.store.get(t) {
            Term::Const(c) => {
                let k = self.ring.coefs.of_big(self.store.constant(c));
                Some(PTerm::constant(k))
            }
            Term::Elem { .. } => {
                let a = self.symbol(t);
                let mono = self.ring.monos.atom(a, &self.ring.atom_flags);
                Some(PTerm::mono(mono))
            }
            Term::Mul(a, b) if self.is_leaf(a) && self.is_leaf(b) => {
                let (x, y) = (self.leaf_term(a)?, self.leaf_term(b)?);
                self.ring.term_mul(x, y).ok()
            }
            _ => None,
        }
    }

    fn value(&mut self, t: TermId) -> Result<Val, NormError> {
        match self.known(t) {
            Entry::Real(v) => Ok(v),
            Entry::None(e) => Err(e),
            _ => Err(NormError::Undefined(t)),
        }
    }

    fn literal(&mut self, t: TermId) -> Result<Lit, NormError> {
        match self.known(t) {
            Entry::Bool(l) => Ok(l),
            Entry::None(e) => Err(e),
            _ => Err(NormError::Undefined(t)),
        }
    }

    pub(super) fn bits(&mut self, t: TermId) -> Result<NodeId, NormError> {
        match self.known(t) {
            Entry::Bits(n) => Ok(n),
            Entry::None(e) => Err(e),
            _ => Err(NormError::Undefined(t)),
        }
    }

    fn canonical(&mut self, t: TermId) -> Result<PolyId, NormError> {
        let v = self.value(t)?;
        self.ring.canon(v).map_err(|f| error(f, t))
    }

    /// The meaning of a term whose operands are ready.
    fn step(&mut self, t: TermId) -> Result<Entry, NormError> {
        let store = self.store;
        let fail = |f: Fail| error(f, t);
        Ok(match store.get(t) {
            Term::Const(_) | Term::Elem { .. } => self.known(t),
            Term::Add(..) | Term::Neg(_) | Term::Sum(_) => {
                let v = self.gather(t)?;
                Entry::Real(self.ring.merge_choices(v).map_err(fail)?)
            }
            Term::Mul(a, b) => {
                if self.is_const(a) || self.is_const(b) {
                    return Ok(Entry::Real(self.gather(t)?));
                }
                let (x, y) = (self.value(a)?, self.value(b)?);
                let v = self.ring.val_mul(x, y).map_err(fail)?;
                Entry::Real(self.ring.merge_choices(v).map_err(fail)?)
            }
            Term::Inf { neg } => Entry::Real(Val::infinity(neg)),
            Term::Undefined => return Err(NormError::Undefined(t)),
            Term::Div(a, b) => {
                let (x, y) = (self.value(a)?, self.value(b)?);
                let i = self.ring.val_inverse(y).map_err(fail)?;
                Entry::Real(self.ring.val_mul(x, i).map_err(fail)?)
            }
            Term::Fun(f, a) => Entry::Real(self.step_fun(t, f, a)?),
            Term::Max(a, b) => {
                if let Some(v) = self.clamps_squares(a, b)
                    && rule(Rule::ClampedSumOfSquares)
                {
                    return Ok(Entry::Real(self.value(v)?));
                }
                Entry::Real(self.gather_max(t)?)
            }
            Term::Min(a, b) => {
                let (x, y) = (self.value(a)?, self.value(b)?);
                Entry::Real(self.ring.val_min(x, y).map_err(fail)?)
            }
            Term::Select(p, a, b) => {
                let p = self.literal(p)?;
                let (x, y) = (self.value(a)?, self.value(b)?);
                Entry::Real(self.ring.val_select(p, x, y).map_err(fail)?)
            }
            Term::OfInt { signed, bits } => {
                let n = self.bits(bits)?;
                Entry::Real(self.ring.atom_val(Atom::OfInt(signed, n)))
            }
            Term::OfBits { fmt, bits } => {
                let n = self.bits(bits)?;
                Entry::Real(self.ring.atom_val(Atom::OfBits(fmt, n)))
            }
            Term::Made(made) => Entry::Real(self.value(made.real())?),
            Term::Bool(b) => Entry::Bool(Lit::of(b)),
            Term::RCmp(RCmp::Lt, a, b) if self.never_below(a, b) => Entry::Bool(Lit::FALSE),
            Term::RCmp(RCmp::Le, a, b) if self.never_below(b, a) => Entry::Bool(Lit::TRUE),
            Term::RCmp(op, a, b) => {
                let (x, y) = (self.value(a)?, self.value(b)?);
                Entry::Bool(self.ring.compare(op, x, y).map_err(fail)?)
            }
            Term::ICmp(op, a, b) => {
                let (x, y) = (self.bits(a)?, self.bits(b)?);
                Entry::Bool(self.ring.compare_bits(op, x, y))
            }
            Term::Not(a) => Entry::Bool(self.literal(a)?.negated()),
            Term::And(a, b) => {
                let (x, y) = (self.literal(a)?, self.literal(b)?);
                Entry::Bool(self.ring.all(x, y))
            }
            Term::Or(a, b) => {
                let (x, y) = (self.literal(a)?, self.literal(b)?);
                Entry::Bool(self.ring.any(x, y))
            }
            Term::Xor(a, b) => {
                let (x, y) = (self.literal(a)?, self.literal(b)?);
                Entry::Bool(self.ring.xor(x, y))
            }
            Term::Poison { .. } => return Err(NormError::Poison(t)),
            _ => Entry::Bits(self.step_bits(t)?),
        })
    }

    /// True if a sum of squares is compared with a number that it is never below.
    fn never_below(&mut self, v: TermId, c: TermId) -> bool {
        self.is_below_squares(v, c) && rule(Rule::ClampedSumOfSquares)
    }

    /// A function; roots and logarithms of squares and products are looked at before they are multiplied out.
    fn step_fun(&mut self, t: TermId, f: Fun, a: TermId) -> Result<Val, NormError> {
        let fail = |f: Fail| error(f, t);
        if let Fun::Sqrt | Fun::Rsqrt | Fun::Log2 = f
            && let Some(size) = self.root_of_square(a)?
        {
            return match f {
                Fun::Sqrt => Ok(size),
                Fun::Rsqrt => self.ring.val_inverse(size).map_err(fail),
                _ => {
                    let log = self.ring.val_fun(f, size).map_err(fail)?;
                    let two = self.ring.coefs.of(Rat::int(2));
                    self.ring.val_times(two, log).map_err(fail)
                }
            };
        }
        let x = self.value(a)?;
        if let Fun::Sqrt | Fun::Rsqrt = f
            && let Some(root) = self.root_of_factors(a)?
        {
            return match f {
                Fun::Rsqrt => self.ring.val_inverse(root).map_err(fail),
                _ => Ok(root),
            };
        }
        self.ring.val_fun(f, x).map_err(fail)
    }

    fn step_bits(&mut self, t: TermId) -> Result<NodeId, NormError> {
        let store = self.store;
        let fail = |f: Fail| error(f, t);
        let node = match store.get(t) {
            Term::BitsConst { width, value } => Node::Const(width, value),
            Term::Bytes { array, off, width } => Node::Bytes(array, off, width),
            Term::Fresh { width, serial } => Node::Fresh(width, serial),
            // What the machine makes of bits is no matter of reals.
            Term::Word(_) => return Err(NormError::Undefined(t)),
            // What was made by an operation has that operation's bits, and no others.
            Term::OfReal { fmt, real } if store.as_made(real).is_some() => Node::Made(fmt, real),
            Term::OfReal { fmt, real } => Node::OfReal(fmt, self.canonical(real)?),
            Term::Concat(list) => {
                let mut parts = Vec::with_capacity(list.len());
                for &c in list {
                    parts.push(self.bits(TermId(c))?);
                }
                Node::Concat(parts.into_boxed_slice())
            }
            Term::Extract { bits, low, width } => Node::Extract(self.bits(bits)?, low, width),
            _ if self.is_in_ring(t) => return self.gather_bits(t),
            Term::BitsOp(op, a, b) => {
                let (x, y) = (self.bits(a)?, self.bits(b)?);
                match (Joint::of(op), store.sort(t)) {
                    (Some(op), Sort::Bits(width)) => {
                        return self.ring.join(op, width, &[x, y]).map_err(fail);
                    }
                    _ => Node::Op(op, x, y),
                }
            }
            Term::BitsSelect(p, a, b) => {
                let (p, x, y) = (self.literal(p)?, self.bits(a)?, self.bits(b)?);
                let Sort::Bits(width) = store.sort(t) else {
                    return Err(NormError::Undefined(t));
                };
                return self.ring.bits_select(p, width, x, y).map_err(fail);
            }
            Term::OfBool { width, p } => Node::OfBool(width, self.literal(p)?),
            Term::Clamp {
                width,
                signed,
                real,
            } => Node::Clamp(width, signed, self.canonical(real)?),
            _ => return Err(NormError::Undefined(t)),
        };
        Ok(self.ring.node(node))
    }
}

/// The error of a failed operation of a term.
pub(super) fn error(f: Fail, t: TermId) -> NormError {
    match f {
        Fail::Limit => NormError::Limit(t),
        Fail::Undefined => NormError::Undefined(t),
        Fail::Infinite => NormError::Infinite(t),
    }
}
