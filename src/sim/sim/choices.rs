//! Addresses that a few bits of input data choose.
//!
//! The problem: a table indexed by data (`t[x & 3]`, the words of a range reduction chosen by the
//! exponent of its argument) has an address that is no select, and yet is one of a few. If all
//! that an address depends on is a handful of bits, each of their values is tried, and the
//! address is a select among what comes out.
//!
//! Values of the bits that the condition of the access excludes are left out: where the condition
//! compares integers of the same bits, by evaluation; where it compares an integer whose upper bits they are with a
//! constant, by the least and the largest such integer; where it compares a float
//! whose exponent the bits are, or its magnitude, with a constant, because an exponent field e bounds the magnitude
//! by 2^(e-bias) and 2^(e-bias+1) (IEEE 754, section 3.4).
//!
//! Sound: what is left out cannot happen; what is kept may.

use crate::sim::limits::LIMITS;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::term::{ICmp, Sort, Term, TermId, TermStore};

mod excluded;

pub(super) use excluded::Tested;
use excluded::{Magnitude, Upper};

/// Terms over a few free bits.
struct Cone {
    /// Operations, children first.
    steps: Vec<TermId>,
    /// What is free, with the first of its bits in a trial.
    leaves: Vec<(TermId, u8)>,
    bits: u8,
}

impl Cone {
    fn new() -> Cone {
        Cone {
            steps: Vec::new(),
            leaves: Vec::new(),
            bits: 0,
        }
    }

    /// Adds what stands below a term; `None` if that is not a function of few bits. With `grow`
    /// unset, no bits are added to those that are there.
    fn add(&mut self, s: &TermStore, root: TermId, grow: bool) -> Option<()> {
        let known = self.steps.iter().chain(self.leaves.iter().map(|l| &l.0));
        let mut seen: FxHashSet<TermId> = known.copied().collect();
        let mut fresh = Vec::new();
        let mut stack = vec![root];
        while let Some(t) = stack.pop() {
            if !seen.insert(t) {
                continue;
            }
            if seen.len() > LIMITS.choice_cone {
                return None;
            }
            fresh.push(t);
            if !is_leaf(s, t) {
                s.children(t, |c| stack.push(c));
            }
        }
        // Children have smaller ids than their parents.
        fresh.sort_unstable();
        let (leaves, bits, at) = (self.leaves.len(), self.bits, self.steps.len());
        for t in fresh {
            if !is_leaf(s, t) {
                self.steps.push(t);
                continue;
            }
            let w = leaf_width(s, t);
            if !grow || w == 0 || self.bits + w > LIMITS.chosen_bits {
                self.leaves.truncate(leaves);
                self.bits = bits;
                self.steps.truncate(at);
                return None;
            }
            self.leaves.push((t, self.bits));
            self.bits += w;
        }
        Some(())
    }

    /// The values of all terms where the free bits are `trial`; a division by zero has none, nor
    /// has what depends on it.
    fn evaluate(&self, s: &TermStore, trial: u64, out: &mut FxHashMap<TermId, u64>) {
        out.clear();
        let leaves = self.leaves.iter();
        out.extend(leaves.map(|&(t, from)| (t, low(trial >> from, leaf_width(s, t)))));
        for &t in &self.steps {
            if let Some(x) = s.fold_word(t, |_, c| out.get(&c).copied()) {
                out.insert(t, x);
            }
        }
    }
}

/// Bits of a term that is free; 0 for a real.
fn leaf_width(s: &TermStore, t: TermId) -> u8 {
    match s.sort(t) {
        Sort::Bits(w) => w,
        Sort::Bool => 1,
        Sort::Real => 0,
    }
}

fn low(x: u64, width: u8) -> u64 {
    x & u64::MAX >> (64 - width.clamp(1, 64))
}

/// True for a term that is free: not an operation on bits.
fn is_leaf(s: &TermStore, t: TermId) -> bool {
    match s.get(t) {
        Term::Extract { bits, .. } => !matches!(
            s.get(bits),
            Term::BitsOp(..) | Term::Concat(_) | Term::BitsSelect(..)
        ),
        Term::Bool(_)
        | Term::BitsConst { .. }
        | Term::Concat(_)
        | Term::BitsOp(..)
        | Term::ICmp(..)
        | Term::Not(_)
        | Term::And(..)
        | Term::Or(..)
        | Term::BitsSelect(..)
        | Term::OfBool { .. } => false,
        _ => true,
    }
}

/// The values that a bit term may have where `cond` holds, each with its condition; `None` if
/// they are more than `cap`, or it depends on more than a few bits.
pub(super) fn choices(
    s: &mut TermStore,
    t: TermId,
    (cond, tested): (Option<TermId>, &Tested),
    cap: usize,
) -> Option<Vec<(TermId, u64)>> {
    let mut cone = Cone::new();
    cone.add(s, t, true)?;
    let facts = s.conjuncts(cond);
    let mut tests = Vec::new();
    let (mut magnitudes, mut uppers) = (Vec::new(), Vec::new());
    for &f in &facts {
        if cone.add(s, f, false).is_some() {
            tests.push(f);
        } else if let Some(m) = Magnitude::of(s, (f, tested), &cone.leaves) {
            magnitudes.push(m);
        } else {
            uppers.extend(Upper::of(s, f, &cone.leaves));
        }
    }
    let mut found: Vec<(u64, Vec<u64>)> = Vec::new();
    let mut values = FxHashMap::default();
    for trial in 0..1u64 << cone.bits {
        cone.evaluate(s, trial, &mut values);
        if tests.iter().any(|f| values.get(f) == Some(&0))
            || magnitudes.iter().any(|m| m.excludes(trial))
            || uppers.iter().any(|u| u.excludes(trial))
        {
            continue;
        }
        let value = *values.get(&t)?;
        match found.iter_mut().find(|f| f.0 == value) {
            Some(f) => f.1.push(trial),
            None => found.push((value, vec![trial])),
        }
        if found.len() > cap {
            return None;
        }
    }
    let Sort::Bits(width) = s.sort(t) else {
        return None;
    };
    let mut out = Vec::with_capacity(found.len());
    for (value, trials) in found {
        let c = match (&cone.leaves[..], &trials[..]) {
            ([(leaf, 0)], [only]) if matches!(s.sort(*leaf), Sort::Bits(_)) => {
                let v = s.bits(cone.bits, *only);
                s.icmp(ICmp::Eq, *leaf, v)
            }
            _ => {
                let v = s.bits(width, value);
                s.icmp(ICmp::Eq, t, v)
            }
        };
        out.push((c, value));
    }
    (!out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use num_rational::BigRational;

    use super::*;
    use crate::kernel::Fmt;
    use crate::term::made::Kind;
    use crate::term::{ArrayId, Fun, RCmp};

    const IN: ArrayId = ArrayId(0);

    /// What the bits of an f32 input from `low` on, up to its sign, may be where its magnitude
    /// compares with a constant.
    fn upper_bits(low: u8, op: RCmp, constant_first: bool, c: f32) -> Vec<u64> {
        let s = &mut TermStore::new();
        let (x, bits) = (s.elem(IN, Fmt::F32, 0), s.bytes(IN, 0, 32));
        let (x, t) = (s.fun(Fun::Abs, x), s.extract(bits, low, 31 - low));
        let c = s.rational(BigRational::from_float(c).expect("a finite number"));
        let p = match constant_first {
            true => s.rcmp(op, c, x),
            false => s.rcmp(op, x, c),
        };
        let all = choices(s, t, (Some(p), &Tested::default()), 256).expect("a few bits");
        all.into_iter().map(|(_, v)| v).collect()
    }

    fn holds(op: RCmp, a: f32, b: f32) -> bool {
        match op {
            RCmp::Lt => a < b,
            RCmp::Le => a <= b,
            RCmp::Eq => a == b,
        }
    }

    /// Floats of every exponent, the first and last of each.
    fn magnitudes() -> impl Iterator<Item = f32> {
        (0..255u32).flat_map(|e| [0, 1, 0x40_0000, 0x7f_ffff].map(|m| f32::from_bits(e << 23 | m)))
    }

    /// Whole and partial exponents: nothing that can happen is left out, and what is kept is at most a
    /// factor of two away from what can.
    #[test]
    fn magnitudes_bound_exponents() {
        for low in 23..29 {
            for op in [RCmp::Lt, RCmp::Le, RCmp::Eq] {
                for c in [0.0, 1.0e-40, 1.5e-20, 0.75, 1.0, 3.0, 65536.0, 3.0e38f32] {
                    for first in [false, true] {
                        let kept = match (op, first, c) {
                            // No magnitude is below zero.
                            (RCmp::Lt, false, 0.0) => continue,
                            _ => upper_bits(low, op, first, c),
                        };
                        let test = |x: f32, c: f32| match first {
                            true => holds(op, c, x),
                            false => holds(op, x, c),
                        };
                        for x in magnitudes().chain([c]) {
                            let own = u64::from(x.to_bits()) >> low;
                            assert!(!test(x, c) || kept.contains(&own), "{low} {op:?} {c} {x}");
                        }
                        for v in kept {
                            let mut near =
                                magnitudes().filter(|x| u64::from(x.to_bits()) >> low == v);
                            let close =
                                |x: f32| [0.25, 0.5, 1.0, 2.0, 4.0].iter().any(|f| test(x * f, c));
                            let top = v == u64::from(f32::MAX.to_bits()) >> low;
                            let tiny = v == 0;
                            let equal = op == RCmp::Eq;
                            assert!(
                                top || tiny || equal || near.any(close),
                                "{low} {op:?} {c} {v}"
                            );
                        }
                    }
                }
            }
        }
    }

    /// Rounding may reach the next power of two: just below 2, f16 has the exponent of 2.
    #[test]
    fn rounding_up_is_counted() {
        let s = &mut TermStore::new();
        let (x, y) = (s.elem(IN, Fmt::F32, 0), s.elem(IN, Fmt::F32, 4));
        let x = s.mul(x, y);
        let bits = s.of_real(Fmt::F16, x);
        let (a, t) = (s.fun(Fun::Abs, x), s.extract(bits, 10, 5));
        let two = s.integer(2);
        let p = s.rcmp(RCmp::Lt, a, two);
        let all = choices(s, t, (Some(p), &Tested::default()), 256).expect("five bits");
        let kept: Vec<u64> = all.into_iter().map(|(_, v)| v).collect();
        assert!((0..=16).all(|v| kept.contains(&v)), "{kept:?}");
        assert!(!kept.contains(&18) && !kept.contains(&31), "{kept:?}");
    }

    /// A number on one side of a constant has a magnitude on one side of it, where it is not between it and its negative.
    #[test]
    fn numbers_with_a_sign_bound_exponents() {
        let kept = |op, first, c: i64| {
            let s = &mut TermStore::new();
            let (x, bits) = (s.elem(IN, Fmt::F32, 0), s.bytes(IN, 0, 32));
            let (c, t) = (s.integer(c), s.extract(bits, 23, 8));
            let p = match first {
                true => s.rcmp(op, c, x),
                false => s.rcmp(op, x, c),
            };
            let all = choices(s, t, (Some(p), &Tested::default()), 256).expect("eight bits");
            let all: Vec<u64> = all.into_iter().map(|(_, v)| v).collect();
            (all[0], all.len())
        };
        assert_eq!(kept(RCmp::Le, true, 4), (129, 126));
        assert_eq!(kept(RCmp::Le, false, -4), (129, 126));
        // Between -4 and 4, and beyond, every exponent is.
        for (first, c) in [(false, 4), (true, -4), (true, 0), (false, 0)] {
            assert_eq!(kept(RCmp::Lt, first, c), (0, 256));
        }
    }

    /// A comparison of an integer bounds its upper bits, and them alone.
    #[test]
    fn integers_bound_their_upper_bits() {
        let all = |s: &mut TermStore, t, p| {
            let all = choices(s, t, (Some(p), &Tested::default()), 256).expect("four bits");
            all.into_iter().map(|(_, v)| v).collect::<Vec<u64>>()
        };
        for op in [ICmp::ULt, ICmp::ULe, ICmp::Eq] {
            for c in [0u64, 1, 0x2f, 0x30, 0x31, 0x7e, 0x7f] {
                for first in [true, false] {
                    let s = &mut TermStore::new();
                    let bits = s.bytes(IN, 0, 32);
                    let (x, t) = (s.extract(bits, 0, 7), s.extract(bits, 3, 4));
                    let k = s.bits(7, c);
                    let p = if first {
                        s.icmp(op, k, x)
                    } else {
                        s.icmp(op, x, k)
                    };
                    let holds = |x: u64| {
                        let (a, b) = if first { (c, x) } else { (x, c) };
                        match op {
                            ICmp::ULt => a < b,
                            ICmp::ULe => a <= b,
                            _ => a == b,
                        }
                    };
                    let mut right: Vec<u64> =
                        (0..128).filter(|&x| holds(x)).map(|x| x >> 3).collect();
                    right.dedup();
                    // What never holds has no choices.
                    if right.is_empty() {
                        continue;
                    }
                    let mut kept = all(s, t, p);
                    kept.sort_unstable();
                    assert_eq!(kept, right, "{op:?} {c} {first}");
                    // Bits that are not the upper ones are left alone.
                    let lower = s.extract(bits, 2, 4);
                    assert_eq!(all(s, lower, p).len(), 16);
                }
            }
        }
    }

    /// A test of another computation of the same real says nothing of a number that was rounded on the way.
    #[test]
    fn a_test_is_of_one_computation() {
        use crate::kernel::{FloatMods, FloatOp};
        use crate::term::made::Shape;
        let s = &mut TermStore::new();
        let [a, b, c] = [0, 4, 8].map(|off| s.elem(IN, Fmt::F32, off));
        let [p, q, r] = [0, 4, 8].map(|off| s.bytes(IN, off, 32));
        let shape = |op| Shape::new(Kind::Float(op), Fmt::F32, Fmt::F32, FloatMods::default());
        let sum = |s: &mut TermStore, (x, y, z), (p, q, r)| {
            let xy = s.add(x, y);
            let first = s.made(xy, shape(FloatOp::Add), &[p, q]);
            let (first, whole) = (s.of_real(Fmt::F32, first), s.add(xy, z));
            let all = s.made(whole, shape(FloatOp::Add), &[first, r]);
            (s.of_real(Fmt::F32, all), whole)
        };
        let (one, x) = sum(s, (a, b, c), (p, q, r));
        let (other, _) = sum(s, (b, c, a), (q, r, p));
        let (x, bound) = (s.fun(Fun::Abs, x), s.integer(1 << 20));
        let test = s.rcmp(RCmp::Le, bound, x);
        let exponent = s.extract(one, 23, 8);
        let count = |s: &mut TermStore, tested: &Tested| {
            choices(s, exponent, (Some(test), tested), 256).map(|l| l.len())
        };
        let mut tested = Tested::default();
        assert_eq!(count(s, &tested), Some(256));
        tested.note(s, test, one);
        assert_eq!(count(s, &tested), Some(255 - 147));
        // Where the comparison was made of another computation as well, it may be that one's.
        tested.note(s, test, other);
        assert_eq!(count(s, &tested), Some(256));
    }

    /// A comparison of another number, or of other bits, excludes nothing.
    #[test]
    fn what_is_not_about_the_exponent_excludes_nothing() {
        let s = &mut TermStore::new();
        let (x, bits) = (s.elem(IN, Fmt::F32, 4), s.bytes(IN, 0, 32));
        let (a, t) = (s.fun(Fun::Abs, x), s.extract(bits, 23, 8));
        let one = s.integer(1);
        let p = s.rcmp(RCmp::Lt, a, one);
        assert_eq!(
            choices(s, t, (Some(p), &Tested::default()), 256).map(|l| l.len()),
            Some(256)
        );
        let (x, t) = (s.elem(IN, Fmt::F32, 0), s.extract(bits, 20, 8));
        let a = s.fun(Fun::Abs, x);
        let p = s.rcmp(RCmp::Lt, a, one);
        assert_eq!(
            choices(s, t, (Some(p), &Tested::default()), 256).map(|l| l.len()),
            Some(256)
        );
        // More values than are asked for are none.
        assert_eq!(choices(s, t, (None, &Tested::default()), 255), None);
    }
}
