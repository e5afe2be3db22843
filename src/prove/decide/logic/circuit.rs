//! Boolean functions as gates that are shared.
//!
//! Problem: predicates and words of both sides are functions of the same few inputs, and most of what they
//! compute is the same. Source: and-inverter graphs with structural hashing (Kuehlmann et al., "Robust
//! Boolean Reasoning for Equivalence Checking and Functional Property Verification", 2002). Every gate is a
//! conjunction of two literals, a literal a gate with a sign; equal literals are equal functions.
//!
//! Not claimed: that different literals are different functions; the diagrams and the solver say that.

use rustc_hash::FxHashMap;

use super::limits::MAX_GATES;
use crate::work;

/// A gate with a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lit(u32);

impl Lit {
    /// The gate that is never true.
    pub const FALSE: Lit = Lit(0);
    /// The gate that is always true.
    pub const TRUE: Lit = Lit(1);

    pub(super) fn of(b: bool) -> Lit {
        Lit(u32::from(b))
    }

    /// The place of the gate.
    pub fn gate(self) -> usize {
        (self.0 >> 1) as usize
    }

    /// True if the sign is negative.
    pub fn is_negated(self) -> bool {
        self.0 & 1 == 1
    }

    /// The literal, negated where `negated` says so.
    pub(super) fn flipped(self, negated: bool) -> Lit {
        Lit(self.0 ^ u32::from(negated))
    }

    pub(super) fn is_constant(self) -> bool {
        self.gate() == 0
    }
}

impl std::ops::Not for Lit {
    type Output = Lit;

    fn not(self) -> Lit {
        self.flipped(true)
    }
}

/// A gate: an input, or the conjunction of two literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    Input,
    And(Lit, Lit),
}

/// The gates of one question; operands come before what uses them.
#[derive(Debug)]
pub struct Circuit {
    gates: Vec<Gate>,
    table: FxHashMap<(Lit, Lit), u32>,
}

impl Circuit {
    /// No gate but the constant.
    pub(super) fn new() -> Circuit {
        Circuit {
            gates: vec![Gate::Input],
            table: FxHashMap::default(),
        }
    }

    pub(super) fn gate(&self, of: usize) -> Gate {
        self.gates[of]
    }

    pub(super) fn len(&self) -> usize {
        self.gates.len()
    }

    /// A new input.
    pub(super) fn input(&mut self) -> Option<Lit> {
        self.push(Gate::Input)
    }

    fn push(&mut self, gate: Gate) -> Option<Lit> {
        if self.gates.len() >= MAX_GATES {
            return None;
        }
        work::spend(1);
        self.gates.push(gate);
        Some(Lit((self.gates.len() as u32 - 1) << 1))
    }

    /// a and b; `None` once there are too many gates.
    ///
    /// match `(c and d) and b` where b is c, its negation, or the outer one negates a conjunction with b in it /
    /// result the smaller function / because of absorption.
    pub(super) fn and(&mut self, a: Lit, b: Lit) -> Option<Lit> {
        let (a, b) = (a.min(b), a.max(b));
        match (a, b) {
            (Lit::FALSE, _) => return Some(Lit::FALSE),
            (Lit::TRUE, _) => return Some(b),
            _ if a == b => return Some(a),
            _ if a == !b => return Some(Lit::FALSE),
            _ => {}
        }
        for (x, y) in [(a, b), (b, a)] {
            let Gate::And(c, d) = self.gate(x.gate()) else {
                continue;
            };
            match x.is_negated() {
                false if y == c || y == d => return Some(x),
                false if y == !c || y == !d => return Some(Lit::FALSE),
                true if y == !c || y == !d => return Some(y),
                true if y == c => return self.and(y, !d),
                true if y == d => return self.and(y, !c),
                _ => {}
            }
        }
        if let Some(&n) = self.table.get(&(a, b)) {
            return Some(Lit(n << 1));
        }
        let gate = self.push(Gate::And(a, b))?;
        self.table.insert((a, b), gate.0 >> 1);
        Some(gate)
    }

    pub(super) fn or(&mut self, a: Lit, b: Lit) -> Option<Lit> {
        Some(!self.and(!a, !b)?)
    }

    pub(super) fn xor(&mut self, a: Lit, b: Lit) -> Option<Lit> {
        let negated = a.is_negated() != b.is_negated();
        let (a, b) = (a.flipped(a.is_negated()), b.flipped(b.is_negated()));
        let (only_a, only_b) = (self.and(a, !b)?, self.and(!a, b)?);
        Some(self.or(only_a, only_b)?.flipped(negated))
    }

    /// p ? a : b.
    pub(super) fn choose(&mut self, p: Lit, a: Lit, b: Lit) -> Option<Lit> {
        if a == b {
            return Some(a);
        }
        if a == !b {
            return self.xor(!p, a);
        }
        let (x, y) = (self.and(p, a)?, self.and(!p, b)?);
        self.or(x, y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The value of every gate where the inputs have these values.
    fn values(c: &Circuit, inputs: &[Lit], bits: u32) -> Vec<bool> {
        let mut out = vec![false; c.len()];
        for i in 1..c.len() {
            let of = |l: Lit, out: &[bool]| out[l.gate()] != l.is_negated();
            out[i] = match c.gate(i) {
                Gate::Input => inputs
                    .iter()
                    .position(|l| l.gate() == i)
                    .is_some_and(|k| bits >> k & 1 == 1),
                Gate::And(a, b) => of(a, &out) && of(b, &out),
            };
        }
        out
    }

    proptest! {
        /// A random program of operations computes what its operations say on all inputs.
        #[test]
        fn gates_compute_their_operations(program in proptest::collection::vec((0u8..4, any::<u8>(), any::<u8>(), any::<u8>(), any::<bool>()), 1..30)) {
            let mut c = Circuit::new();
            let inputs: Vec<Lit> = (0..4).map(|_| c.input().unwrap()).collect();
            let all = 16u32;
            // Truth tables beside literals.
            let mut made: Vec<(Lit, u32)> = vec![(Lit::TRUE, 0xffff)];
            for (k, l) in inputs.iter().enumerate() {
                made.push((*l, (0..all).fold(0, |t, i| t | (i >> k & 1) << i)));
            }
            for (op, i, j, k, negate) in program {
                let pick = |i: u8| made[i as usize % made.len()];
                let ((a, x), (b, y), (p, z)) = (pick(i), pick(j), pick(k));
                let (l, t) = match op {
                    0 => (c.and(a, b).unwrap(), x & y),
                    1 => (c.or(a, b).unwrap(), x | y),
                    2 => (c.xor(a, b).unwrap(), x ^ y),
                    _ => (c.choose(p, a, b).unwrap(), z & x | !z & y),
                };
                made.push((l.flipped(negate), (if negate { !t } else { t }) & 0xffff));
            }
            for bits in 0..all {
                let v = values(&c, &inputs, bits);
                for (l, t) in &made {
                    prop_assert_eq!(v[l.gate()] != l.is_negated(), t >> bits & 1 == 1);
                }
            }
        }
    }
}
