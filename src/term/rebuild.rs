//! Terms built again, with some of them replaced.
//!
//! Children are built before parents by the smart constructors, so that what a replacement decides
//! is folded on the way up.

use rustc_hash::FxHashMap;

use super::{Term, TermId, TermStore};

/// Builds what stands below `roots` of `from` again in `into`. For each term, children first,
/// `replace` may give what stands for it; it sees the terms that were built so far.
pub fn rebuild(
    from: &TermStore,
    roots: &[TermId],
    into: &mut TermStore,
    mut replace: impl FnMut(&mut TermStore, TermId, &FxHashMap<TermId, TermId>) -> Option<TermId>,
) -> Vec<TermId> {
    let mut map: FxHashMap<TermId, TermId> = FxHashMap::default();
    for t in from.reachable(roots) {
        let new = match replace(into, t, &map) {
            Some(new) => new,
            None => copy(from, t, into, &map),
        };
        map.insert(t, new);
    }
    roots.iter().map(|r| map[r]).collect()
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
            false => copy(from, t, &mut into, &map),
        };
        map.insert(t, new);
    }
    into.as_const(*map.get(&root)?)
        .map(num_traits::Zero::is_zero)
}

/// Builds a term again, of what `map` says of its children.
pub fn copy(
    from: &TermStore,
    t: TermId,
    into: &mut TermStore,
    map: &FxHashMap<TermId, TermId>,
) -> TermId {
    let m = |i: TermId| map[&i];
    match from.get(t) {
        Term::Const(c) => into.rational(from.constant(c).clone()),
        Term::Inf { neg } => into.infinity(neg),
        Term::Undefined => into.undefined(),
        Term::Elem { array, fmt, off } => into.elem(array, fmt, off),
        Term::Add(a, b) => into.add(m(a), m(b)),
        Term::Mul(a, b) => into.mul(m(a), m(b)),
        Term::Neg(a) => into.neg(m(a)),
        Term::Sum(list) => {
            let (pairs, _) = list.as_chunks::<2>();
            let pairs: Vec<(TermId, TermId)> = pairs
                .iter()
                .map(|[a, b]| (m(TermId(*a)), m(TermId(*b))))
                .collect();
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
        Term::ICmp(op, a, b) => into.icmp(op, m(a), m(b)),
        Term::Not(a) => into.not(m(a)),
        Term::And(a, b) => into.and(m(a), m(b)),
        Term::Or(a, b) => into.or(m(a), m(b)),
        Term::Xor(a, b) => into.xor(m(a), m(b)),
        Term::BitsConst { width, value } => into.bits(width, value),
        Term::Bytes { array, off, width } => into.bytes(array, off, width),
        Term::Fresh { width, serial } => into.fresh(width, serial),
        Term::Poison { width, site } => into.poison(width, site),
        Term::OfReal { fmt, real } => into.of_real(fmt, m(real)),
        Term::Concat(list) => {
            let parts: Vec<TermId> = list.iter().map(|&i| m(TermId(i))).collect();
            into.concat(&parts)
        }
        Term::Extract { bits, low, width } => into.extract(m(bits), low, width),
        Term::BitsOp(op, a, b) => into.bits_op(op, m(a), m(b)),
        Term::OfBool { width, p } => into.of_bool(width, m(p)),
        Term::Clamp {
            width,
            signed,
            real,
        } => into.clamp(width, signed, m(real)),
    }
}
