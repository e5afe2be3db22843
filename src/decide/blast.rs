//! Equality of bit vectors, a bit at a time.
//!
//! Problem: `(a & b) | (c & (a ^ b))` and `(a & b) ^ (a & c) ^ (b & c)` are one function, a select is also a
//! select by mask, and a population count is also a sum of fields; no normal form of words shows it.
//! Each bit of both sides becomes a Boolean function of the bits of the inputs, as a decision diagram
//! (`bdd.rs`): equal diagrams are equal bits. Bits of the same place stand beside one another in the order of
//! variables, in which sums are small.
//!
//! What is not a bit operation (the encoding of a computed number, a comparison of reals, a quotient) is
//! unknown bits of its own, the same wherever the same term stands. So only equality is decided, and
//! nothing about definedness. Not claimed: products of two unknown words, and what needs more nodes than the
//! bound.

use rustc_hash::{FxHashMap, FxHashSet};

use super::bdd::{Bdd, Node};
use crate::term::{ArrayId, BitsOp, ICmp, Sort, Term, TermId, TermStore};

/// Terms below a pair, bits of its inputs, and nodes of the diagrams.
const MAX_TERMS: usize = 4096;
const MAX_VARIABLES: usize = 512;
const MAX_NODES: usize = 1 << 16;

/// A bit of an input: a bit of memory, or of a term that is not looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Leaf {
    Memory(ArrayId, u64, u8),
    Of(TermId, u8),
}

/// True if the bits of a term are those of its operands, and not unknown bits of its own.
fn is_open(store: &TermStore, t: TermId) -> bool {
    match store.get(t) {
        Term::BitsOp(BitsOp::Shl | BitsOp::LShr | BitsOp::AShr, _, y) => store.as_bits(y).is_some(),
        Term::BitsOp(op, ..) => matches!(
            op,
            BitsOp::Add | BitsOp::Mul | BitsOp::And | BitsOp::Or | BitsOp::Xor
        ),
        Term::BitsSelect(..)
        | Term::BitsSum(_)
        | Term::BitsConst { .. }
        | Term::Concat(_)
        | Term::Extract { .. }
        | Term::OfBool { .. }
        | Term::ICmp(..)
        | Term::Not(_)
        | Term::And(..)
        | Term::Or(..)
        | Term::Xor(..)
        | Term::Bool(_) => true,
        _ => false,
    }
}

/// The bits of a term that is not looked into, the lowest first.
fn leaves(store: &TermStore, t: TermId) -> Option<Vec<Leaf>> {
    let width = match store.sort(t) {
        Sort::Bits(w) => w,
        Sort::Bool => 1,
        Sort::Real => return None,
    };
    Some(match store.get(t) {
        Term::Poison { .. } => return None,
        Term::Bytes { array, off, .. } => (0..width)
            .map(|i| Leaf::Memory(array, off + u64::from(i / 8), i % 8))
            .collect(),
        _ => (0..width).map(|i| Leaf::Of(t, i)).collect(),
    })
}

/// True only if two bit vectors or predicates have the same value on all inputs on which both are defined.
pub(super) fn equal(store: &TermStore, a: TermId, b: TermId) -> bool {
    if store.sort(a) != store.sort(b) || !is_open(store, a) && !is_open(store, b) {
        return false;
    }
    decide(store, a, b) == Some(true)
}

fn decide(store: &TermStore, a: TermId, b: TermId) -> Option<bool> {
    // The terms that are looked into, and the leaves below them.
    let mut seen: FxHashSet<TermId> = FxHashSet::default();
    let mut open = vec![a, b];
    while let Some(t) = open.pop() {
        if !seen.insert(t) {
            continue;
        }
        if seen.len() > MAX_TERMS {
            return None;
        }
        if is_open(store, t) {
            store.children(t, |c| open.push(c));
        }
    }
    let mut terms: Vec<TermId> = seen.into_iter().collect();
    terms.sort_unstable();
    let mut blast = Blast {
        store,
        bdd: Bdd::new(MAX_NODES),
        bits: FxHashMap::default(),
    };
    let variables = blast.variables(&terms)?;
    for &t in &terms {
        let bits = match is_open(store, t) {
            true => blast.term(t)?,
            false => {
                let bits = leaves(store, t)?.into_iter();
                let bits = bits.map(|l| blast.bdd.variable(*variables.get(&l)?));
                bits.collect::<Option<_>>()?
            }
        };
        blast.bits.insert(t, bits);
    }
    Some(blast.bits.get(&a)? == blast.bits.get(&b)?)
}

/// The bits of terms.
struct Blast<'s> {
    store: &'s TermStore,
    bdd: Bdd,
    /// The lowest first; of a predicate there is one.
    bits: FxHashMap<TermId, Vec<Node>>,
}

impl Blast<'_> {
    /// The places of input bits in the order of variables: by their place in the word, then by word.
    fn variables(&self, terms: &[TermId]) -> Option<FxHashMap<Leaf, u32>> {
        let mut places: FxHashMap<Leaf, (usize, usize)> = FxHashMap::default();
        for (k, &t) in terms.iter().enumerate() {
            if is_open(self.store, t) {
                continue;
            }
            for (i, leaf) in leaves(self.store, t)?.into_iter().enumerate() {
                places.entry(leaf).or_insert((i, k));
            }
            if places.len() > MAX_VARIABLES {
                return None;
            }
        }
        let mut order: Vec<((usize, usize), Leaf)> =
            places.into_iter().map(|(l, p)| (p, l)).collect();
        order.sort_unstable_by_key(|(p, _)| *p);
        let numbered = order.into_iter().enumerate();
        Some(numbered.map(|(n, (_, l))| (l, n as u32)).collect())
    }

    fn of(&self, t: TermId) -> Option<&[Node]> {
        self.bits.get(&t).map(Vec::as_slice)
    }

    /// Both operands bit by bit.
    fn each(
        &mut self,
        x: &[Node],
        y: &[Node],
        f: fn(&mut Bdd, Node, Node) -> Option<Node>,
    ) -> Option<Vec<Node>> {
        let pairs = x.iter().zip(y);
        pairs.map(|(&p, &q)| f(&mut self.bdd, p, q)).collect()
    }

    /// x + y, and whether it carries.
    fn sum(&mut self, x: &[Node], y: &[Node]) -> Option<Vec<Node>> {
        let mut carry = Node::FALSE;
        let mut out = Vec::with_capacity(x.len());
        for (&p, &q) in x.iter().zip(y) {
            let half = self.bdd.xor(p, q)?;
            out.push(self.bdd.xor(half, carry)?);
            carry = self.bdd.choose(half, carry, p)?;
        }
        Some(out)
    }

    /// x * y, as a sum of multiples of x by powers of two.
    fn product(&mut self, x: &[Node], y: &[Node]) -> Option<Vec<Node>> {
        let known = |n: &[Node]| {
            let open = n.iter().filter(|b| **b != Node::TRUE && **b != Node::FALSE);
            open.count()
        };
        let (x, y) = match known(x) < known(y) {
            true => (y, x),
            false => (x, y),
        };
        let mut out = vec![Node::FALSE; x.len()];
        for (i, &bit) in y.iter().enumerate().filter(|(_, b)| **b != Node::FALSE) {
            let mut part = vec![Node::FALSE; i];
            for &p in &x[..x.len() - i] {
                part.push(self.bdd.and(p, bit)?);
            }
            out = self.sum(&out, &part)?;
        }
        Some(out)
    }

    /// x < y, or with `or_equal` x <= y: the highest bit in which they differ decides.
    fn less(&mut self, x: &[Node], y: &[Node], signed: bool, or_equal: bool) -> Option<Node> {
        let mut less = Node::of(or_equal);
        for (i, (&p, &q)) in x.iter().zip(y).enumerate() {
            let (p, q) = match signed && i + 1 == x.len() {
                true => (q, p),
                false => (p, q),
            };
            let differ = self.bdd.xor(p, q)?;
            less = self.bdd.choose(differ, q, less)?;
        }
        Some(less)
    }

    fn compare(&mut self, op: ICmp, x: &[Node], y: &[Node]) -> Option<Node> {
        match op {
            ICmp::Eq => {
                let mut equal = Node::TRUE;
                for (&p, &q) in x.iter().zip(y) {
                    let differ = self.bdd.xor(p, q)?;
                    equal = self.bdd.choose(differ, Node::FALSE, equal)?;
                }
                Some(equal)
            }
            ICmp::ULt => self.less(x, y, false, false),
            ICmp::ULe => self.less(x, y, false, true),
            ICmp::SLt => self.less(x, y, true, false),
            ICmp::SLe => self.less(x, y, true, true),
        }
    }

    /// The bits of a term from those of its operands.
    fn term(&mut self, t: TermId) -> Option<Vec<Node>> {
        let store = self.store;
        let of = |s: &Self, t: TermId| s.of(t).map(<[Node]>::to_vec);
        let truth = |s: &Self, t: TermId| s.of(t)?.first().copied();
        Some(match store.get(t) {
            Term::Bool(b) => vec![Node::of(b)],
            Term::BitsConst { width, value } => {
                (0..width).map(|i| Node::of(value >> i & 1 == 1)).collect()
            }
            Term::Concat(parts) => {
                let mut out = Vec::new();
                for &p in parts {
                    out.extend(of(self, TermId(p))?);
                }
                out
            }
            Term::Extract { bits, low, width } => {
                let all = self.of(bits)?;
                all.get(low as usize..low as usize + width as usize)?
                    .to_vec()
            }
            Term::BitsOp(op, a, b) => {
                let (x, y) = (of(self, a)?, of(self, b)?);
                match op {
                    BitsOp::Add => self.sum(&x, &y)?,
                    BitsOp::Mul => self.product(&x, &y)?,
                    BitsOp::And => self.each(&x, &y, Bdd::and)?,
                    BitsOp::Or => self.each(&x, &y, Bdd::or)?,
                    BitsOp::Xor => self.each(&x, &y, Bdd::xor)?,
                    _ => shifted(op, &x, store.as_bits(b)?)?,
                }
            }
            Term::BitsSum(list) => {
                let Sort::Bits(width) = store.sort(t) else {
                    return None;
                };
                let mut sum = vec![Node::FALSE; width as usize];
                let (pairs, _) = list.as_chunks::<2>();
                for [a, b] in pairs {
                    let (x, y) = (of(self, TermId(*a))?, of(self, TermId(*b))?);
                    let product = self.product(&x, &y)?;
                    sum = self.sum(&sum, &product)?;
                }
                sum
            }
            Term::BitsSelect(p, a, b) => {
                let (p, x, y) = (truth(self, p)?, of(self, a)?, of(self, b)?);
                let mut out = Vec::with_capacity(x.len());
                for (&yes, &no) in x.iter().zip(&y) {
                    out.push(self.bdd.choose(p, yes, no)?);
                }
                out
            }
            Term::OfBool { width, p } => {
                let mut out = vec![Node::FALSE; width as usize];
                *out.first_mut()? = truth(self, p)?;
                out
            }
            Term::ICmp(op, a, b) => {
                let (x, y) = (of(self, a)?, of(self, b)?);
                vec![self.compare(op, &x, &y)?]
            }
            Term::Not(p) => {
                let p = truth(self, p)?;
                vec![self.bdd.not(p)?]
            }
            Term::And(p, q) => {
                let (p, q) = (truth(self, p)?, truth(self, q)?);
                vec![self.bdd.and(p, q)?]
            }
            Term::Or(p, q) => {
                let (p, q) = (truth(self, p)?, truth(self, q)?);
                vec![self.bdd.or(p, q)?]
            }
            Term::Xor(p, q) => {
                let (p, q) = (truth(self, p)?, truth(self, q)?);
                vec![self.bdd.xor(p, q)?]
            }
            _ => return None,
        })
    }
}

/// A word shifted by a known amount; one that is not below the width leaves nothing, or the sign.
fn shifted(op: BitsOp, x: &[Node], by: u64) -> Option<Vec<Node>> {
    let (w, by) = (x.len(), by.min(x.len() as u64) as usize);
    let fill = match op {
        BitsOp::AShr => *x.last()?,
        BitsOp::Shl | BitsOp::LShr => Node::FALSE,
        _ => return None,
    };
    let kept = w - by;
    Some(match op {
        BitsOp::Shl => [&vec![fill; by], &x[..kept]].concat(),
        _ => [&x[by..], &vec![fill; by]].concat(),
    })
}

#[cfg(test)]
mod tests;
