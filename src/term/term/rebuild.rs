//! Terms built again, with some of them replaced.
//!
//! Children are built before parents by the smart constructors, so that what a replacement decides
//! is folded on the way up.

use rustc_hash::FxHashMap;

use super::walk::GOOD_PART;
use super::{Term, TermId, TermStore, pairs};

/// Terms that became others: a flat table where they are a good part of a store, else a hash table.
pub struct Images {
    flat: Vec<TermId>,
    sparse: FxHashMap<TermId, TermId>,
}

const NONE: TermId = TermId(u32::MAX);

impl Images {
    /// For `many` terms of a store.
    fn new(store: &TermStore, many: usize) -> Images {
        let is_flat = many > store.len() / GOOD_PART;
        Images {
            flat: vec![NONE; if is_flat { store.len() } else { 0 }],
            sparse: FxHashMap::default(),
        }
    }

    fn insert(&mut self, t: TermId, image: TermId) {
        match self.flat.get_mut(t.0 as usize) {
            Some(place) => *place = image,
            None => {
                self.sparse.insert(t, image);
            }
        }
    }

    /// What a term became, if it was met.
    pub fn get(&self, t: TermId) -> Option<TermId> {
        match self.flat.get(t.0 as usize) {
            Some(&image) => (image != NONE).then_some(image),
            None => self.sparse.get(&t).copied(),
        }
    }

    /// What a child became: children come before their parents.
    pub fn of(&self, child: TermId) -> TermId {
        match self.flat.get(child.0 as usize) {
            Some(&image) => image,
            None => self.sparse[&child],
        }
    }
}

/// Builds what stands below `roots` of `from` again in `into`. For each term, children first,
/// `replace` may give what stands for it; it sees the terms that were built so far.
pub fn rebuild(
    from: &TermStore,
    roots: &[TermId],
    into: &mut TermStore,
    mut replace: impl FnMut(&mut TermStore, TermId, &Images) -> Option<TermId>,
) -> Vec<TermId> {
    let all = from.reachable(roots);
    let mut map = Images::new(from, all.len());
    for t in all {
        let new = match replace(into, t, &map) {
            Some(new) => new,
            None => copy(from, t, into, |c| map.of(c)),
        };
        map.insert(t, new);
    }
    roots.iter().map(|&r| map.of(r)).collect()
}

/// Whether a term is zero where another below it is: `None` if more than `limit` terms stand between
/// them or it does not fold to a number there.
pub fn is_zero_at_zero_of(
    from: &TermStore,
    root: TermId,
    at: TermId,
    limit: usize,
) -> Option<bool> {
    let mut seen = rustc_hash::FxHashSet::default();
    let mut stack = vec![root];
    while let Some(t) = stack.pop() {
        if !seen.insert(t) || t == at {
            continue;
        }
        if seen.len() > limit {
            return None;
        }
        from.children(t, |c| stack.push(c));
    }
    let mut terms: Vec<TermId> = seen.into_iter().collect();
    // Children are older than their parents.
    terms.sort_unstable();
    let mut into = TermStore::new();
    let mut map: FxHashMap<TermId, TermId> = FxHashMap::default();
    for t in terms {
        let new = match t == at {
            true => into.integer(0),
            false => copy(from, t, &mut into, |c| map[&c]),
        };
        map.insert(t, new);
    }
    into.as_const(*map.get(&root)?)
        .map(num_traits::Zero::is_zero)
}

/// Builds a term again, of what `m` makes of its children.
pub fn copy(
    from: &TermStore,
    t: TermId,
    into: &mut TermStore,
    m: impl Fn(TermId) -> TermId,
) -> TermId {
    match from.get(t) {
        Term::Const(c) => into.rational(from.constant(c).clone()),
        Term::Inf { neg } => into.infinity(neg),
        Term::Undefined => into.undefined(),
        Term::Elem { array, fmt, off } => {
            let array = from.moved_array(array, into, m);
            into.elem(array, fmt, off)
        }
        Term::Add(a, b) => into.add(m(a), m(b)),
        Term::Mul(a, b) => into.mul(m(a), m(b)),
        Term::Neg(a) => into.neg(m(a)),
        Term::Sum(list) => {
            let pairs: Vec<_> = pairs(list).map(|(a, b)| (m(a), m(b))).collect();
            into.sum(&pairs)
        }
        Term::Div(a, b) => into.div(m(a), m(b)),
        Term::Fun(f, a) => into.fun(f, m(a)),
        Term::Max(a, b) => into.max(m(a), m(b)),
        Term::Min(a, b) => into.min(m(a), m(b)),
        Term::Select(p, a, b) | Term::BitsSelect(p, a, b) => into.select(m(p), m(a), m(b)),
        Term::OfInt { signed, bits } => into.of_int(signed, m(bits)),
        Term::OfBits { fmt, bits } => into.of_bits(fmt, m(bits)),
        Term::Bool(b) => into.bool(b),
        Term::RCmp(op, a, b) => into.rcmp(op, m(a), m(b)),
        Term::Is(c, a) => into.is(c, m(a)),
        Term::Overflows(c, fmt, a) => into.overflows(c, fmt, m(a)),
        Term::ICmp(op, a, b) => into.icmp(op, m(a), m(b)),
        Term::Not(a) => into.not(m(a)),
        Term::And(a, b) => into.and(m(a), m(b)),
        Term::Or(a, b) => into.or(m(a), m(b)),
        Term::Xor(a, b) => into.xor(m(a), m(b)),
        Term::BitsConst { width, value } => into.bits(width, value),
        Term::Bytes { array, off, width } => {
            let array = from.moved_array(array, into, m);
            into.bytes(array, off, width)
        }
        Term::Fresh { width, serial } => into.fresh(width, serial),
        Term::Poison { width, site } => into.poison(width, site),
        Term::OfReal { fmt, real } => into.of_real(fmt, m(real)),
        Term::Made(made) => made.copy(into, m),
        Term::Word(word) => word.copy(from, into, m),
        Term::Concat(list) => {
            let parts: Vec<TermId> = list.iter().map(|&i| m(TermId(i))).collect();
            into.concat(&parts)
        }
        Term::Extract { bits, low, width } => into.extract(m(bits), low, width),
        Term::BitsOp(op, a, b) => into.bits_op(op, m(a), m(b)),
        Term::BitsSum(list) => {
            let pairs: Vec<_> = pairs(list).map(|(a, b)| (m(a), m(b))).collect();
            into.bits_sum(from.width(t), &pairs)
        }
        Term::OfBool { width, p } => into.of_bool(width, m(p)),
        Term::Clamp {
            width,
            signed,
            real,
        } => into.clamp(width, signed, m(real)),
    }
}
