//! Definedness: what must hold for a term to have a value.
//!
//! Problem: the optimized kernel must be defined wherever the reference is. Each partial operation
//! below the optimized output needs a fact about an operand (a denominator is not zero, ...). A
//! need is met when it is proved, or when the reference has the same or a stronger one
//! unconditionally.
//!
//! A term that both share and that the reference evaluates unconditionally brings no need of its
//! own: where it is undefined, so is the reference. It can still be infinite, so an operation of
//! the optimized kernel alone on something that may be infinite needs what is never proved here;
//! but for the logarithm of zero, which is an assumption that the caller reports. Below one branch
//! of a select a need holds only under that branch's condition; such needs of the reference imply
//! nothing.
//!
//! What is not claimed: that an unproved need fails. It makes the answer `unknown`.

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashSet};

use super::guards;
use crate::term::{BitsOp, Fun, Sort, Term, TermId, TermStore};

/// A fact that an operation relies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Need {
    /// The real is not 0.
    NonZero(TermId),
    /// The real is at least 0.
    NonNegative(TermId),
    /// The real is greater than 0.
    Positive(TermId),
    /// The argument of a logarithm is at least 0, and 0 only if the result minus infinity does no
    /// harm.
    Logarithm(TermId),
    /// The bit vector is not 0.
    NonZeroBits(TermId),
    /// Nothing that is proved here makes the term defined: an infinity in arithmetic, bits that
    /// may not be a number, an undefined constant.
    Never(TermId),
}

/// A condition and the value that it has below one of the branches.
pub(crate) type Guard = (TermId, bool);

/// A need, and the branches under which alone it matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Guarded {
    /// What must hold.
    pub need: Need,
    /// The conditions with the values that all of them have where the need matters, the innermost
    /// first.
    pub guards: Vec<Guard>,
}

/// What a term that is partial by itself relies on.
pub(crate) fn need(store: &TermStore, t: TermId) -> Option<Need> {
    Some(match store.get(t) {
        Term::Div(_, b) if store.as_const(b).is_none() || store.is_zero(b) => Need::NonZero(b),
        Term::Fun(Fun::Sqrt, a) => Need::NonNegative(a),
        Term::Fun(Fun::Rsqrt, a) => Need::Positive(a),
        Term::Fun(Fun::Log2, a) => Need::Logarithm(a),
        Term::Inf { .. } | Term::Undefined | Term::Poison { .. } => Need::Never(t),
        Term::OfBits { fmt, .. } if !fmt.is_always_finite() => Need::Never(t),
        Term::BitsOp(BitsOp::UDiv | BitsOp::SDiv | BitsOp::URem | BitsOp::SRem, _, b)
            if store.as_bits(b).is_none_or(|v| v == 0) =>
        {
            Need::NonZeroBits(b)
        }
        _ => return None,
    })
}

/// Products with more factors than this are not taken apart.
const MAX_FACTORS: usize = 32;

/// The needs that one need comes down to, which together say what it says wherever the operand is
/// defined and finite.
///
/// match `a * b != 0` / result `a != 0`, `b != 0` / because the reals have no zero divisors.
///
/// match `sqrt(a) != 0` / result `a > 0` / because a root is 0 only at 0.
///
/// match `-a != 0`, `|a| != 0` / result `a != 0`.
pub(super) fn parts(store: &TermStore, need: Need) -> Vec<Need> {
    let mut out = Vec::new();
    let mut seen = FxHashSet::default();
    let mut stack = vec![need];
    while let Some(n) = stack.pop() {
        if seen.len() > MAX_FACTORS {
            return vec![need];
        }
        if !seen.insert(n) {
            continue;
        }
        let Need::NonZero(x) = n else {
            out.push(n);
            continue;
        };
        match store.get(x) {
            Term::Mul(a, b) => stack.extend([Need::NonZero(a), Need::NonZero(b)]),
            Term::Neg(a) | Term::Fun(Fun::Abs, a) => stack.push(Need::NonZero(a)),
            Term::Fun(Fun::Sqrt, a) => stack.push(Need::Positive(a)),
            _ => out.push(n),
        }
    }
    out
}

/// How a term is reached from the root.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reached {
    No,
    Always,
    /// Only below these branches, a number in [`Chains`], or below several.
    Below(Option<u32>),
}

/// Conditions of a chain that are used.
const MAX_GUARDS: usize = 8;

/// Branches within branches: each is a condition and the chain that is around it.
#[derive(Default)]
struct Chains {
    list: IndexSet<(Guard, Option<u32>), FxBuildHasher>,
}

impl Chains {
    /// A branch within a chain.
    fn within(&mut self, outer: Option<u32>, guard: Guard) -> u32 {
        self.list.insert_full((guard, outer)).0 as u32
    }

    /// The conditions of a chain, from the inside.
    fn guards(&self, chain: Option<u32>) -> Vec<Guard> {
        let mut out = Vec::new();
        let mut at = chain;
        while let Some(i) = at
            && out.len() < MAX_GUARDS
        {
            let (guard, outer) = self.list[i as usize];
            out.push(guard);
            at = outer;
        }
        out
    }

    /// The chain that is around both.
    fn common(&self, a: Option<u32>, b: Option<u32>) -> Option<u32> {
        let (mut a, mut b) = (a, b);
        // A chain is younger than the one around it.
        while a != b {
            let (i, j) = (a?, b?);
            if i > j {
                a = self.list[i as usize].1;
            } else {
                b = self.list[j as usize].1;
            }
        }
        a
    }
}

impl Reached {
    fn join(self, other: Reached, chains: &Chains) -> Reached {
        match (self, other) {
            (Reached::No, r) | (r, Reached::No) => r,
            (Reached::Always, _) | (_, Reached::Always) => Reached::Always,
            (Reached::Below(a), Reached::Below(b)) => Reached::Below(chains.common(a, b)),
        }
    }
}

/// Calls `f` with every partial term that the evaluation of `root` meets, parents first; `f` says
/// whether to look below the term.
fn walk(store: &TermStore, ids: &[TermId], mut f: impl FnMut(TermId, Reached, &Chains) -> bool) {
    let mut chains = Chains::default();
    let mut state = vec![Reached::No; ids.len()];
    if let Some(last) = state.last_mut() {
        *last = Reached::Always;
    }
    for i in (0..ids.len()).rev() {
        let (t, how) = (ids[i], state[i]);
        // Total terms have nothing partial below them.
        if how == Reached::No || store.is_total(t) || !f(t, how, &chains) {
            continue;
        }
        let mut reach = |chains: &Chains, c: TermId, r: Reached| {
            if let Ok(p) = ids.binary_search(&c) {
                state[p] = state[p].join(r, chains);
            }
        };
        match store.get(t) {
            Term::Select(p, a, b) | Term::BitsSelect(p, a, b) => {
                let outer = match how {
                    Reached::Below(chain) => chain,
                    _ => None,
                };
                let [x, y] = [true, false].map(|v| Some(chains.within(outer, (p, v))));
                reach(&chains, p, how);
                reach(&chains, a, Reached::Below(x));
                reach(&chains, b, Reached::Below(y));
            }
            _ => store.children(t, |c| reach(&chains, c, how)),
        }
    }
}

/// The partial terms below `root`, in ascending order; `root` is the last.
pub(super) fn partial(store: &TermStore, root: TermId) -> Vec<TermId> {
    store.partial(&[root], usize::MAX).unwrap_or_default()
}

/// What the reference relies on: everything that it evaluates unconditionally.
#[derive(Debug, Default)]
pub(crate) struct Given {
    /// Terms that it evaluates.
    pub terms: FxHashSet<TermId>,
    /// Needs that it has.
    pub needs: Vec<Need>,
    /// Where it chooses at the top: the condition, and the needs of what it takes where that holds and where not.
    branches: Option<(TermId, [Vec<Need>; 2])>,
}

impl Given {
    /// What the evaluation of `root` relies on.
    pub(crate) fn of(store: &TermStore, root: TermId) -> Self {
        let mut given = Given::evaluated(store, root);
        if let Term::Select(p, a, b) = store.get(root) {
            let branches = [a, b].map(|t| Given::evaluated(store, t).needs);
            given.branches = Some((p, branches));
        }
        given
    }

    /// The needs where conditions have these values: what is taken at the top is evaluated there.
    pub(crate) fn under(&self, store: &TermStore, guards: &[Guard]) -> Vec<Need> {
        let mut out = self.needs.clone();
        if let Some((p, [yes, no])) = &self.branches {
            for (_, value) in guards::parts(store, guards).filter(|g| g.0 == *p) {
                out.extend(if value { yes } else { no });
            }
        }
        out
    }

    /// What is evaluated whatever the input is.
    fn evaluated(store: &TermStore, root: TermId) -> Self {
        let mut given = Given::default();
        walk(store, &partial(store, root), |t, how, _| {
            if how == Reached::Always {
                given.terms.insert(t);
                if let Some(n) = need(store, t) {
                    given.needs.extend(parts(store, n));
                    // No factor of what is above 0 is 0.
                    if let Need::Positive(x) = n {
                        given.needs.extend(parts(store, Need::NonZero(x)));
                    }
                }
            }
            true
        });
        given
    }
}

/// Whether a term may be infinite, and why.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Infinite {
    No,
    /// Only if the argument of a logarithm is 0.
    Logarithm,
    Yes,
}

fn infinite(store: &TermStore, ids: &[TermId]) -> Vec<Infinite> {
    let mut out = Vec::with_capacity(ids.len());
    for &t in ids {
        let v = match store.get(t) {
            Term::Inf { .. } => Infinite::Yes,
            Term::OfBits { fmt, .. } if !fmt.is_always_finite() => Infinite::Yes,
            _ if store.sort(t) != Sort::Real => Infinite::No,
            // A quotient by an infinity is 0; what is infinite above passes on.
            term => {
                let mut v = match term {
                    Term::Fun(Fun::Log2, _) => Infinite::Logarithm,
                    _ => Infinite::No,
                };
                store.children(t, |c| {
                    if let Ok(p) = ids.binary_search(&c) {
                        v = v.max(out[p]);
                    }
                });
                v
            }
        };
        out.push(v);
    }
    out
}

/// The needs of an optimized term.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// Needs that do not follow from the terms that it shares with the reference.
    pub open: Vec<Guarded>,
    /// True if the arguments of shared logarithms must be positive, not just at least 0.
    pub positive_logarithms: bool,
}

/// The needs of `root` under what the reference relies on.
pub(crate) fn needs(store: &TermStore, root: TermId, given: &Given) -> Needs {
    let ids = partial(store, root);
    let infinite = infinite(store, &ids);
    let mut out = Needs::default();
    walk(store, &ids, |t, how, chains| {
        if given.terms.contains(&t) && !matches!(store.get(t), Term::Inf { .. }) {
            return false;
        }
        let guards = || match how {
            Reached::Below(chain) => chains.guards(chain),
            _ => Vec::new(),
        };
        if let Some(need) = need(store, t) {
            let guards = guards();
            let parts = parts(store, need).into_iter();
            out.open.extend(parts.map(|need| Guarded {
                need,
                guards: guards.clone(),
            }));
        }
        store.children(t, |c| {
            let shared = given.terms.contains(&c);
            match ids.binary_search(&c).map(|p| infinite[p]) {
                Ok(Infinite::Yes) if shared => out.open.push(Guarded {
                    need: Need::Never(c),
                    guards: guards(),
                }),
                Ok(Infinite::Logarithm) if shared => out.positive_logarithms = true,
                _ => {}
            }
        });
        true
    });
    out.open.reverse();
    out
}
