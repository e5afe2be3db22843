//! How far the difference of two values may be from what the terms say exactly.
//!
//! The problem: kernels round constants and approximate functions, so that two of them that mean one
//! function differ in the last bits; such a difference refutes nothing. A bound that follows one value at a
//! time is useless: a shift of an exponent by 12582912 that is taken back, or a first maximum of -1e30,
//! swamps every difference. The way is a Taylor model of first order, with its rest: each term has
//! an error of its own (a constant that was rounded, a function that is approximated) and a bound on
//! how far a linear step from its operands is off; both reach the difference in hand with its
//! derivative by that term, found in one sweep from the roots down (reverse differentiation,
//! "Evaluating Derivatives", Griewank and Walther). What both sides share cancels.
//!
//! Sound: for perturbations within the stated errors the bound holds, since a rest is taken
//! over all operands that the forward sweep allows; a comparison, rounding or choice whose
//! boundary is within that reach has the jump as its rest, and bits of a number that may move have
//! an infinite one. Doubles serve, because the values that they start from are enclosures of many
//! digits. Not claimed: that the stated errors are those of every machine.

use std::collections::BTreeMap;
use std::f64::consts::LN_2;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::kernel::Fmt;
use crate::term::eval::{Cone, Value};
use crate::term::{Fun, Sort, Term, TermStore, encode_exact};

/// What a float of 32 bits rounds off, as a part of the result.
const ROUNDING: f64 = 1.0 / (1u64 << 24) as f64;

/// Constants of which an addition rounds to integers or masks, and that no result keeps.
const MAGIC: f64 = (1u64 << 22) as f64;

/// Half of the last place of a constant, as a part of it, and of the coarsest format (bf16).
const CONSTANT: f64 = 1.0 / (1u64 << 22) as f64;
const COARSEST: f64 = 1.0 / 256.0;

/// An exponent that may move this far is a whole number near a boundary, most likely: the library writes `exp` as
/// 2^(x - n) 2^n for a rounded n, and a product of powers that moves with n is one power of x.
const MOVED_EXPONENT: f64 = 1.0 / 64.0;

/// What the functions and roundings of such a product make of it, as a part.
const POWERS: f64 = 1.0 / (1u64 << 19) as f64;

/// Which errors explain a difference.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policy {
    /// Approximate functions: not where both sides evaluate the same.
    pub functions: bool,
    /// The rounding of each operation: where polynomials of a library stand in place of functions.
    pub rounding: bool,
}

/// The derivative of a term by an operand, with the operand's position.
type Slopes = SmallVec<[(usize, f64); 4]>;

/// The values of a cone at one input, with their errors.
pub(super) struct Errors<'a> {
    store: &'a TermStore,
    cone: &'a Cone,
    values: &'a [Value],
    /// The numbers; an infinity for an infinite one, NaN for what is no number.
    numbers: Vec<f64>,
    /// What a term adds that explains a difference: its own error, and the rest of its linear step.
    added: Vec<f64>,
    /// The same with every error of its own.
    own: Vec<f64>,
    /// How far the value may be off; 0 or infinite for truth values and bits, which hold or do not.
    reach: Vec<f64>,
    /// The term that each is within its reach: what it chooses for certain, else itself.
    chosen: Vec<usize>,
    /// How far the sum of the exponents of two powers may be off, by the positions of the powers, where a factor alone may
    /// move far.
    powers: FxHashMap<[usize; 2], f64>,
}

impl<'a> Errors<'a> {
    /// The errors of the terms of a cone that have these values.
    pub(super) fn new(
        store: &'a TermStore,
        cone: &'a Cone,
        values: &'a [Value],
        policy: Policy,
    ) -> Self {
        let number = |v: &Value| match v {
            Value::Encoded(_, x) => x.approx(),
            v => v.approx(),
        };
        let numbers = values.iter().map(|v| number(v).unwrap_or(f64::NAN));
        let mut all = Errors {
            store,
            cone,
            values,
            numbers: numbers.collect(),
            added: Vec::with_capacity(values.len()),
            own: Vec::with_capacity(values.len()),
            powers: FxHashMap::default(),
            reach: Vec::with_capacity(values.len()),
            chosen: Vec::with_capacity(values.len()),
        };
        for i in 0..values.len() {
            let functions = all.function(i);
            let constant = match store.as_const(cone.ids()[i]) {
                Some(q) => doubt(q),
                None => 0.0,
            };
            let has_powers = all.note_powers(i);
            let chosen = all.chosen_at(i);
            all.chosen.push(chosen);
            let (slopes, rest) = all.step(i);
            let linear = all.carried(&slopes);
            let linear = match has_powers || all.is_sum(i) && linear > MOVED_EXPONENT {
                true => linear.min(all.swept(slopes, &all.own)),
                false => linear,
            };
            let moved = f64::min(linear + rest, all.within_operands(i));
            let rounding = all.rounding(i, moved);
            let counted = constant
                + if policy.functions { functions } else { 0.0 }
                + if policy.rounding { rounding } else { 0.0 };
            all.added.push(counted + rest);
            let own = constant + functions + rounding;
            all.own.push(own + rest);
            all.reach.push(or_anything(moved + own));
        }
        all
    }

    /// Whether the value of a root stays what it is: a number some number, anything else the same.
    pub(super) fn is_certain(&self, root: usize) -> bool {
        let i = self.cone.roots()[root] as usize;
        match self.numbers[i].is_finite() && self.store.sort(self.cone.ids()[i]) == Sort::Real {
            true => self.reach[i].is_finite(),
            false => self.reach[i] == 0.0,
        }
    }

    /// A bound on how far the difference of two roots may be from what it is exactly.
    pub(super) fn of_difference(&self, x: usize, y: usize) -> f64 {
        let roots = [(x, 1.0), (y, -1.0)].map(|(r, s)| (self.cone.roots()[r] as usize, s));
        self.swept(Slopes::from_slice(&roots), &self.added)
    }

    /// Finds how far the products of two powers at a term move together, where their factors may move far.
    fn note_powers(&mut self, i: usize) -> bool {
        let t = |k: usize| self.store.get(self.cone.ids()[k]);
        if !matches!(t(i), Term::Mul(..) | Term::Sum(_)) {
            return false;
        }
        let (pairs, _) = self.cone.kids(i).as_chunks::<2>();
        let far = |k: usize| {
            let exponent = matches!(t(k), Term::Fun(Fun::Exp2, _)).then(|| self.kid(k, 0))?;
            let is_far = self.reach[exponent] > MOVED_EXPONENT;
            (is_far && self.numbers[exponent].is_finite()).then_some((exponent, 1.0))
        };
        let found = pairs.iter().filter_map(|&[a, b]| {
            let (a, b) = (a as usize, b as usize);
            let exponents = Slopes::from_slice(&[far(a)?, far(b)?]);
            Some(([a, b], self.swept(exponents, &self.own)))
        });
        let found: Vec<([usize; 2], f64)> = found.collect();
        let any = !found.is_empty();
        self.powers.extend(found);
        any
    }

    /// Whether operands of a term may take away from each other what they share, however large: masks and first maxima.
    fn is_sum(&self, i: usize) -> bool {
        matches!(self.store.get(self.cone.ids()[i]), Term::Add(..))
    }

    /// The term that a term is wherever the operands are within their reach.
    ///
    /// match `p ? x : y` with p certain, or x and y one / result the one that is taken.
    ///
    /// match `max(x, y)`, `min(x, y)` with x and y further apart than they reach, or one / result likewise.
    fn chosen_at(&self, i: usize) -> usize {
        let kid = |k: usize| self.kid(i, k);
        let is_one = |a: usize, b: usize| self.chosen[a] == self.chosen[b];
        match self.store.get(self.cone.ids()[i]) {
            Term::Select(..) | Term::BitsSelect(..) => match self.values[kid(0)] {
                _ if is_one(kid(1), kid(2)) => self.chosen[kid(1)],
                Value::Bool(p) if self.reach[kid(0)] == 0.0 => self.chosen[kid(2 - p as usize)],
                _ => i,
            },
            Term::OfBits { fmt, .. } => {
                let bits = self.chosen[kid(0)];
                match self.store.get(self.cone.ids()[bits]) {
                    Term::OfReal { fmt: f, .. } if f == fmt => self.chosen[self.kid(bits, 0)],
                    _ => i,
                }
            }
            term @ (Term::Max(..) | Term::Min(..)) => {
                let (a, b) = (kid(0), kid(1));
                let (x, y) = (self.numbers[a], self.numbers[b]);
                let is_apart = (x - y).abs() > self.reach[a] + self.reach[b];
                match (x > y) == matches!(term, Term::Max(..)) {
                    _ if is_one(a, b) => self.chosen[a],
                    true if is_apart => self.chosen[a],
                    false if is_apart => self.chosen[b],
                    _ => i,
                }
            }
            _ => i,
        }
    }

    /// How far a linear step goes at most, where each operand moves by itself.
    fn carried(&self, slopes: &Slopes) -> f64 {
        let moving = slopes.iter().filter(|(k, _)| self.reach[*k] != 0.0);
        moving.map(|&(k, s)| s.abs() * self.reach[k]).sum()
    }

    /// The same, where what the operands share cancels, given what each term adds.
    fn swept(&self, slopes: Slopes, adds: &[f64]) -> f64 {
        let mut all: BTreeMap<usize, f64> = BTreeMap::new();
        let add = |all: &mut BTreeMap<usize, f64>, slopes: Slopes, by: f64| {
            let moving = slopes.into_iter().filter(|(k, _)| self.reach[*k] != 0.0);
            for (k, s) in moving {
                *all.entry(k).or_default() += by * s;
            }
        };
        add(&mut all, slopes, 1.0);
        let mut bound = 0.0;
        while let Some((i, by)) = all.pop_last() {
            if by == 0.0 {
                continue;
            }
            if adds[i] != 0.0 {
                bound += by.abs() * adds[i];
            }
            add(&mut all, self.step(i).0, by);
        }
        or_anything(bound)
    }

    /// The larger or smaller of two numbers moves no further than one of them does. A chain of them would double its reach
    /// at every step where its operands are near to each other, by the steps alone.
    fn within_operands(&self, i: usize) -> f64 {
        let reach = self.cone.kids(i).iter().map(|&k| self.reach[k as usize]);
        match self.store.get(self.cone.ids()[i]) {
            Term::Max(..) | Term::Min(..) if self.numbers[i].is_finite() => {
                reach.fold(0.0, f64::max)
            }
            _ => f64::INFINITY,
        }
    }

    fn kid(&self, i: usize, k: usize) -> usize {
        self.cone.kids(i)[k] as usize
    }

    /// The error of an approximate function or division; 0 for what is exact.
    fn function(&self, i: usize) -> f64 {
        let v = self.numbers[i].abs();
        let part = |bits: i32| v * 2f64.powi(-bits);
        let exact = matches!(self.values[i], Value::Exact(_));
        match self.store.get(self.cone.ids()[i]) {
            _ if !v.is_finite() => 0.0,
            Term::Div(..) | Term::Fun(Fun::Sqrt | Fun::Rsqrt, _) => part(21),
            Term::Fun(Fun::Exp2 | Fun::Erf | Fun::Tanh | Fun::Sin | Fun::Cos | Fun::Log2, _)
                if exact =>
            {
                0.0
            }
            Term::Fun(Fun::Exp2, _) => part(21),
            Term::Fun(Fun::Erf, _) => part(20),
            Term::Fun(Fun::Tanh, _) if self.store.library_tanh => part(20),
            Term::Fun(Fun::Tanh, _) => part(10),
            Term::Fun(Fun::Log2, _) => 2f64.powi(-21),
            Term::Fun(Fun::Sin | Fun::Cos, _) => 2f64.powi(-19),
            _ => 0.0,
        }
    }

    /// What a float of 32 bits may round off at a term whose operands move it by `moved` at most. A sum
    /// with a constant that only rounds or masks is one of reals, as it is everywhere.
    fn rounding(&self, i: usize, moved: f64) -> f64 {
        let t = self.cone.ids()[i];
        let is_float = |q: &BigRational| encode_exact(Fmt::F32, q).is_some();
        let v = self.numbers[i].abs();
        match (&self.values[i], self.store.get(t)) {
            _ if !v.is_finite() => 0.0,
            (Value::Exact(q), t) if moved == 0.0 && !matches!(t, Term::Sum(_)) && is_float(q) => {
                0.0
            }
            (_, Term::Add(..)) => {
                let operands = [self.kid(i, 0), self.kid(i, 1)];
                let magic = |k: &usize| {
                    self.store.as_const(self.cone.ids()[*k]).is_some()
                        && self.numbers[*k].abs() >= MAGIC
                };
                let shifts = operands.iter().filter(|k| magic(k));
                let shift: f64 = shifts.map(|&k| self.numbers[k]).sum();
                // Multiples of 2^g have no digits to round off below 2^(24 + g).
                let steps = self.store.grid(t).filter(|_| shift != 0.0);
                if steps.is_some_and(|g| ROUNDING * (v + moved) <= 2f64.powi(g as i32)) {
                    return 0.0;
                }
                ROUNDING * (v.min((self.numbers[i] - shift).abs()) + moved)
            }
            (_, Term::Sum(_)) => {
                let (pairs, _) = self.cone.kids(i).as_chunks::<2>();
                let (mut sum, mut sizes, mut shift) = (0.0, 0.0, 0.0);
                for &[a, b] in pairs {
                    let (a, b) = (a as usize, b as usize);
                    let product = self.numbers[a] * self.numbers[b];
                    let known = |k: usize| self.store.as_const(self.cone.ids()[k]).is_some();
                    if known(a) && known(b) && product.abs() >= MAGIC {
                        shift += product;
                        continue;
                    }
                    sum += product;
                    sizes += f64::abs(sum) + product.abs();
                }
                // Each product and each partial sum rounds what the ones before it made.
                let steps = 2.0 * pairs.len() as f64;
                let sizes = if shift == 0.0 { sizes } else { v.min(sizes) };
                ROUNDING * (sizes + steps * moved) * (1.0 + 2.0 * steps * ROUNDING)
            }
            (_, Term::Mul(..) | Term::Div(..) | Term::Fun(..)) => ROUNDING * (v + moved),
            _ => 0.0,
        }
    }

    /// Whether a term is a number that no double is near to.
    fn is_huge(&self, i: usize) -> bool {
        let is_number = matches!(&self.values[i], Value::Exact(_) | Value::Interval(_));
        is_number && !self.numbers[i].is_finite()
    }

    /// The derivatives of a term by its operands, and how far the step that they make is off at most.
    fn step(&self, i: usize) -> (Slopes, f64) {
        let none = Slopes::new();
        if self.is_huge(i) {
            return (none, f64::INFINITY);
        }
        let t = self.cone.ids()[i];
        match self.store.get(t) {
            Term::Const(_)
            | Term::Inf { .. }
            | Term::Elem { .. }
            | Term::Bool(_)
            | Term::BitsConst { .. }
            | Term::Bytes { .. } => (none, 0.0),
            // What depends on more than the inputs has no value to begin with.
            Term::Undefined | Term::Fresh { .. } | Term::Poison { .. } | Term::Word(_) => {
                (none, 0.0)
            }
            Term::Select(..) | Term::BitsSelect(..) => self.choice(i),
            // A number stays one, and what is none stays what it is, within a finite reach.
            Term::Is(..) | Term::Overflows(..) => match self.reach[self.kid(i, 0)].is_finite() {
                true => (none, 0.0),
                false => (none, f64::INFINITY),
            },
            Term::RCmp(..) => (none, self.comparison(self.kid(i, 0), self.kid(i, 1))),
            Term::And(..) => (none, self.absorbing(i, false)),
            Term::Or(..) => (none, self.absorbing(i, true)),
            Term::OfReal { .. } => (Slopes::from_slice(&[(self.kid(i, 0), 1.0)]), 0.0),
            Term::OfBits { fmt, bits } => match self.store.get(bits) {
                Term::OfReal { fmt: f, .. } if f == fmt => {
                    (Slopes::from_slice(&[(self.kid(i, 0), 1.0)]), 0.0)
                }
                Term::BitsSelect(..) if self.encodes(self.kid(i, 0), fmt) => {
                    (Slopes::from_slice(&[(self.kid(i, 0), 1.0)]), 0.0)
                }
                _ => (none, self.all_fixed(i)),
            },
            Term::Clamp { .. } => (none, self.jump(self.kid(i, 0), f64::trunc)),
            Term::Not(_)
            | Term::Xor(..)
            | Term::ICmp(..)
            | Term::OfBool { .. }
            | Term::OfInt { .. }
            | Term::Made(_)
            | Term::Extract { .. }
            | Term::Concat(_)
            | Term::BitsSum(_)
            | Term::BitsOp(..) => (none, self.all_fixed(i)),
            Term::Add(..)
            | Term::Mul(..)
            | Term::Neg(_)
            | Term::Sum(_)
            | Term::Div(..)
            | Term::Fun(..)
            | Term::Max(..)
            | Term::Min(..) => match self.numbers[i].is_finite() {
                true => self.arithmetic(i),
                false => (none, self.not_a_number(i)),
            },
        }
    }

    /// Whether a choice among bits takes an encoding in a format.
    fn encodes(&self, mut k: usize, fmt: Fmt) -> bool {
        loop {
            match self.store.get(self.cone.ids()[k]) {
                Term::OfReal { fmt: f, .. } => return f == fmt,
                // Children are older than their parents, so that this ends.
                Term::BitsSelect(..) => match self.values[self.kid(k, 0)] {
                    Value::Bool(true) => k = self.kid(k, 1),
                    Value::Bool(false) => k = self.kid(k, 2),
                    _ => return false,
                },
                _ => return false,
            }
        }
    }

    /// Nothing if no operand can move, and everything otherwise.
    fn all_fixed(&self, i: usize) -> f64 {
        let mut kids = self.cone.kids(i).iter();
        match kids.all(|&k| self.reach[k as usize] == 0.0) {
            true => 0.0,
            false => f64::INFINITY,
        }
    }

    /// A conjunction (disjunction) is certain by one operand that is false (true).
    fn absorbing(&self, i: usize, by: bool) -> f64 {
        let certain =
            |k: &u32| self.values[*k as usize] == Value::Bool(by) && self.reach[*k as usize] == 0.0;
        match self.cone.kids(i).iter().any(certain) {
            true => 0.0,
            false => self.all_fixed(i),
        }
    }

    fn comparison(&self, a: usize, b: usize) -> f64 {
        let (x, y) = (self.numbers[a], self.numbers[b]);
        let reach = self.reach[a] + self.reach[b];
        let apart = (x - y).abs();
        // Infinite operands are apart from each other, or equal for certain; so is a number that is both.
        let is_one = self.chosen[a] == self.chosen[b] && x.is_finite() && reach.is_finite();
        if is_one || reach == 0.0 || apart > reach || x.is_infinite() && reach.is_finite() {
            0.0
        } else {
            f64::INFINITY
        }
    }

    fn choice(&self, i: usize) -> (Slopes, f64) {
        let [p, x, y] = [0, 1, 2].map(|k| self.kid(i, k));
        let chosen = match self.values[p] {
            Value::Bool(true) => x,
            Value::Bool(false) => y,
            _ => return (Slopes::new(), f64::INFINITY),
        };
        let slopes = Slopes::from_slice(&[(chosen, 1.0)]);
        if self.reach[p] == 0.0 || self.chosen[x] == self.chosen[y] {
            return (slopes, 0.0);
        }
        let is_real = self.store.sort(self.cone.ids()[i]) == Sort::Real;
        let jump = (self.numbers[x] - self.numbers[y]).abs() + self.reach[x] + self.reach[y];
        match is_real && jump.is_finite() {
            true => (slopes, jump),
            false => (slopes, f64::INFINITY),
        }
    }

    /// How far a monotone step function may jump where its operand moves.
    fn jump(&self, operand: usize, f: fn(f64) -> f64) -> f64 {
        let (v, e) = (self.numbers[operand], self.reach[operand]);
        match e == 0.0 || f(v - e) == f(v + e) {
            true => 0.0,
            false => f64::INFINITY,
        }
    }

    /// An infinity or what has no value stays so as long as its operands keep their sides of 0; as a summand, or the larger
    /// or smaller of two, it stays so beside whatever is finite.
    fn not_a_number(&self, i: usize) -> f64 {
        let number = |k: usize| (self.numbers[k], self.reach[k]);
        let keeps = |k: usize| {
            let (v, e) = number(k);
            e == 0.0 || v.is_finite() && v.abs() > e
        };
        let stays = |k: usize| {
            let (v, e) = number(k);
            e == 0.0 || v.is_finite() && e.is_finite()
        };
        let mut kids = self.cone.kids(i).iter().map(|&k| k as usize);
        let is_certain = match self.store.get(self.cone.ids()[i]) {
            Term::Add(..) | Term::Max(..) | Term::Min(..) => kids.all(stays),
            Term::Sum(_) => {
                let (pairs, _) = self.cone.kids(i).as_chunks::<2>();
                pairs.iter().all(|&[a, b]| {
                    let (a, b) = (a as usize, b as usize);
                    let is_finite = self.numbers[a].is_finite() && self.numbers[b].is_finite();
                    match is_finite {
                        true => stays(a) && stays(b),
                        false => keeps(a) && keeps(b),
                    }
                })
            }
            _ => kids.all(keeps),
        };
        if is_certain { 0.0 } else { f64::INFINITY }
    }

    /// The step of an operation with a finite result; infinite operands leave none that counts.
    fn arithmetic(&self, i: usize) -> (Slopes, f64) {
        let number = |k: usize| (self.numbers[k], self.reach[k]);
        let certain = |k: &u32| {
            let (v, e) = number(*k as usize);
            v.is_finite() || e == 0.0
        };
        if !self.cone.kids(i).iter().all(certain) {
            return (Slopes::new(), f64::INFINITY);
        }
        let finite = |slopes: &[(usize, f64)]| -> Slopes {
            let of_numbers = slopes.iter().filter(|(k, _)| self.numbers[*k].is_finite());
            of_numbers.copied().collect()
        };
        let kid = |k: usize| self.kid(i, k);
        match self.store.get(self.cone.ids()[i]) {
            Term::Add(..) => (finite(&[(kid(0), 1.0), (kid(1), 1.0)]), 0.0),
            Term::Neg(_) => (finite(&[(kid(0), -1.0)]), 0.0),
            Term::Mul(..) => self.products(&[kid(0), kid(1)]),
            Term::Sum(_) => {
                let kids: Vec<usize> = self.cone.kids(i).iter().map(|&k| k as usize).collect();
                self.products(&kids)
            }
            Term::Div(..) => self.quotient(kid(0), kid(1)),
            Term::Max(..) => self.extremum(kid(0), kid(1), 1.0),
            Term::Min(..) => self.extremum(kid(0), kid(1), -1.0),
            Term::Fun(f, _) => self.of_function(f, kid(0), self.numbers[i]),
            _ => (Slopes::new(), f64::INFINITY),
        }
    }

    fn products(&self, kids: &[usize]) -> (Slopes, f64) {
        let (pairs, _) = kids.as_chunks::<2>();
        let (mut slopes, mut rest) = (Slopes::new(), 0.0);
        for &[a, b] in pairs {
            if let Some(&reach) = self.powers.get(&[a, b]) {
                let v = self.numbers[a] * self.numbers[b];
                let exponents = [a, b].map(|k| self.kid(k, 0));
                slopes.extend(exponents.map(|k| (k, LN_2 * v)));
                // 2^(x + d) (1 + f) is further from 2^x (1 + d ln 2) the larger d and f are.
                let beyond = match reach < 1e-3 {
                    true => (reach * LN_2).powi(2),
                    false => reach.exp2() - 1.0 - reach * LN_2,
                };
                rest += or_anything(v * (beyond + POWERS * reach.exp2()));
                continue;
            }
            if self.reach[a] != 0.0 && self.reach[b] != 0.0 {
                rest += self.reach[a] * self.reach[b];
            }
            slopes.extend([(a, self.numbers[b]), (b, self.numbers[a])]);
        }
        (slopes, rest)
    }

    fn quotient(&self, x: usize, y: usize) -> (Slopes, f64) {
        let (n, d) = (self.numbers[x], self.numbers[y]);
        let (e, f) = (self.reach[x], self.reach[y]);
        if d.is_infinite() {
            return (Slopes::new(), 0.0);
        }
        let slopes = Slopes::from_slice(&[(x, 1.0 / d), (y, -n / d / d)]);
        let size = d.abs();
        let rest = match f {
            0.0 => 0.0,
            _ if f >= size => f64::INFINITY,
            _ => (e + (n / d).abs() * f) * f / (size * (size - f)),
        };
        (slopes, rest)
    }

    /// The larger of two, or with `sign` -1 the smaller one.
    fn extremum(&self, a: usize, b: usize, sign: f64) -> (Slopes, f64) {
        let (x, y) = (sign * self.numbers[a], sign * self.numbers[b]);
        // An operand that has no value, for certain, is passed over.
        let (taken, above) = match (x.is_nan(), y.is_nan()) {
            (_, true) => (a, f64::INFINITY),
            (true, false) => (b, f64::INFINITY),
            _ if x >= y => (a, x - y),
            _ => (b, y - x),
        };
        if self.chosen[a] == self.chosen[b] {
            return (Slopes::from_slice(&[(taken, 1.0)]), 0.0);
        }
        let over = self.reach[a] + self.reach[b] - above;
        (
            Slopes::from_slice(&[(taken, 1.0)]),
            or_anything(over).max(0.0),
        )
    }

    fn of_function(&self, f: Fun, k: usize, value: f64) -> (Slopes, f64) {
        let (v, e) = (self.numbers[k], self.reach[k]);
        if v.is_infinite() {
            return (Slopes::new(), 0.0);
        }
        let rounds = |f: fn(f64) -> f64| {
            let (low, high) = (f(v - e), f(v + e));
            if e == 0.0 { 0.0 } else { high - low }
        };
        let part = e / v.abs();
        let inside = |rest: f64| match e {
            0.0 => 0.0,
            _ if v > e => rest,
            _ => f64::INFINITY,
        };
        let (slope, rest) = match f {
            Fun::Exp2 => {
                let slope = LN_2 * v.exp2();
                let rest = match e < 1e-3 {
                    true => v.exp2() * (e * LN_2).powi(2),
                    false => or_anything((v + e).exp2() - v.exp2() - slope * e).max(0.0),
                };
                (slope, rest)
            }
            Fun::Log2 => {
                let rest = part * part / (2.0 * LN_2 * (1.0 - part));
                (1.0 / (v * LN_2), inside(rest))
            }
            Fun::Sqrt if v == 0.0 && e == 0.0 => (0.0, 0.0),
            Fun::Sqrt => (0.5 / value, inside(value * part * part / 2.0)),
            Fun::Rsqrt => {
                let rest = value * part * part / (1.0 - part).powi(3);
                (-0.5 * value / v, inside(rest))
            }
            Fun::Sin => (v.cos(), e * e),
            Fun::Cos => (-v.sin(), e * e),
            Fun::Tanh => (1.0 - value * value, e * e),
            Fun::Erf => (std::f64::consts::FRAC_2_SQRT_PI * (-v * v).exp(), e * e),
            Fun::Abs if v.abs() < e => (0.0, e),
            Fun::Abs => (v.signum(), 0.0),
            Fun::Floor => (0.0, rounds(f64::floor)),
            Fun::Ceil => (0.0, rounds(f64::ceil)),
            Fun::Trunc => (0.0, rounds(f64::trunc)),
            Fun::RoundEven => (0.0, rounds(f64::round_ties_even)),
        };
        (Slopes::from_slice(&[(k, slope)]), rest)
    }
}

/// What cannot be told may be anything.
fn or_anything(error: f64) -> f64 {
    if error.is_nan() { f64::INFINITY } else { error }
}

/// log2 of a denominator that is a power of two.
fn power_of_two(d: &BigInt) -> Option<u64> {
    let k = d.trailing_zeros()?;
    (d.bits() == k + 1).then_some(k)
}

/// How far a constant may be from the number that was meant.
///
/// Rounding to nearest moves a number by at most half of the lowest bit of the result, in whatever
/// format, and 2^-8 of itself in the coarsest (bf16); a folded product of constants carries the
/// relative errors of its factors. Integers below 2^24 and numbers of up to three significant bits
/// are taken as meant, and so are fractions of small integers.
fn doubt(q: &BigRational) -> f64 {
    let power = power_of_two(q.denom());
    let small = q.is_integer() && q.numer().bits() <= 24;
    let fraction = q.numer().bits() + q.denom().bits() <= 16 && power.is_none();
    if q.is_zero() || small || fraction {
        return 0.0;
    }
    let size = q.abs().to_f64().unwrap_or(f64::INFINITY);
    let Some(k) = power else {
        return CONSTANT * size;
    };
    let zeros = q.numer().trailing_zeros().unwrap_or(0);
    if q.numer().bits() - zeros <= 3 {
        return 0.0;
    }
    let half = 2f64.powf(zeros as f64 - k as f64 - 1.0);
    half.min(COARSEST * size).max(CONSTANT * size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::eval::{Inputs, Mode, evaluate};
    use crate::term::rebuild::rebuild;
    use crate::term::{ArrayId, RCmp, TermId};
    use proptest::prelude::*;

    fn float(s: &mut TermStore, v: f32) -> TermId {
        s.rational(BigRational::from_float(v).expect("finite"))
    }

    /// The bound on the difference of two terms at x = `x`, with functions and rounding counted.
    fn bound(
        s: &mut TermStore,
        x: f32,
        f: impl FnOnce(&mut TermStore, TermId) -> [TermId; 2],
    ) -> f64 {
        let t = s.elem(ArrayId(0), Fmt::F32, 0);
        let roots = f(s, t);
        let cone = Cone::new(s, &roots);
        let mut inputs = Inputs::default();
        inputs.set(ArrayId(0), 0, 4, x.to_bits() as u64);
        let values = cone.evaluate_all(s, &inputs, Mode::exact(160));
        let policy = Policy {
            functions: true,
            rounding: true,
        };
        Errors::new(s, &cone, &values, policy).of_difference(0, 1)
    }

    #[test]
    fn what_is_shared_cancels() {
        let mut s = TermStore::new();
        // 2^(x - m) * 2^m with a huge m that both factors have.
        let b = bound(&mut s, 1.5, |s, x| {
            let k = float(s, 12582913.0);
            let big = s.add(x, k);
            let back = float(s, -12582912.0);
            let j = s.add(big, back);
            let rest = s.sub(x, j);
            let (p, q) = (s.fun(Fun::Exp2, rest), s.fun(Fun::Exp2, j));
            [s.mul(p, q), s.fun(Fun::Exp2, x)]
        });
        assert!(b > 0.0 && b < 1e-5, "{b}");
    }

    #[test]
    fn a_first_maximum_of_any_size_costs_nothing() {
        for first in [-1e9, -1e30, f32::MIN] {
            let mut s = TermStore::new();
            let b = bound(&mut s, 1.5, |s, x| {
                let m = float(s, first);
                let c = float(s, std::f32::consts::LOG2_E);
                let n = s.max(m, x);
                let d = s.sub(m, n);
                let d = s.mul(c, d);
                let zero = s.fun(Fun::Exp2, d);
                [s.add(zero, x), x]
            });
            assert!(b < 1e-6, "{first} {b}");
        }
    }

    /// A row that is masked whole: its maximum is the mask, and the difference from it is 0 on the machine too. A
    /// product of the mask is rounded, which a fused difference sees.
    #[test]
    fn a_mask_takes_itself_away() {
        for (mask, scaled_first) in [-1e9, -3e38, f32::MIN, -123456792.0]
            .into_iter()
            .flat_map(|m| [(m, false), (m, true)])
        {
            let mut s = TermStore::new();
            let b = bound(&mut s, 1.5, |s, x| {
                let (low, zero) = (float(s, mask), s.integer(0));
                let p = s.rcmp(RCmp::Lt, x, zero);
                let masked = s.select(p, x, low);
                let other = s.mul(x, x);
                let other = s.select(p, other, low);
                let m = s.max(masked, other);
                let (yes, no) = (s.integer(7), s.integer(0));
                let is_masked = s.rcmp(RCmp::Eq, m, low);
                let c = float(s, std::f32::consts::LOG2_E);
                let d = match scaled_first {
                    true => {
                        let (a, b) = (s.mul(masked, c), s.mul(m, c));
                        s.sub(a, b)
                    }
                    false => {
                        let d = s.sub(masked, m);
                        s.mul(d, c)
                    }
                };
                let e = s.fun(Fun::Exp2, d);
                let known = s.select(is_masked, yes, no);
                [s.add(e, known), s.integer(8)]
            });
            assert_eq!(b < 1e-6, !scaled_first, "{mask} {scaled_first} {b}");
        }
    }

    /// Each of the maxima may be either of its operands.
    #[test]
    fn a_chain_of_near_maxima_is_no_further_than_they_are() {
        let mut s = TermStore::new();
        let b = bound(&mut s, 1.5, |s, x| {
            let scaled = |s: &mut TermStore, i: u32| {
                let c = float(s, f32::from_bits(0.3f32.to_bits() + i));
                s.mul(x, c)
            };
            let last = scaled(s, 0);
            let near = (1..100).fold(last, |m, i| {
                let next = scaled(s, i);
                s.max(m, next)
            });
            [near, last]
        });
        assert!(b > 0.0 && b < 1e-4, "{b}");
    }

    #[test]
    fn a_choice_near_its_boundary_is_none() {
        // floor(x * 10) against floor(x / 0.1f) at 1, and at 1.05.
        for (x, fixed) in [(1.0, false), (1.05, true)] {
            let mut s = TermStore::new();
            let b = bound(&mut s, x, |s, x| {
                let (ten, tenth) = (s.integer(10), float(s, 0.1));
                let (p, q) = (s.mul(x, ten), s.div(x, tenth));
                [s.fun(Fun::Floor, p), s.fun(Fun::Floor, q)]
            });
            assert_eq!(b < 0.5, fixed, "{x} {b}");
        }
    }

    #[test]
    fn doubt_covers_the_usual_roundings() {
        use std::f64::consts::{FRAC_1_SQRT_2, LN_2, LOG2_E, PI};
        let q = |v: f64| BigRational::from_float(v).expect("finite");
        let check = |c: f32, meant: f64| {
            let off = (f64::from(c) - meant).abs();
            assert!(doubt(&q(c.into())) >= off, "{c} {meant}");
        };
        for v in [
            LOG2_E,
            LN_2,
            FRAC_1_SQRT_2,
            PI,
            0.044715,
            0.7978845608028654,
            0.1,
            1e-5,
        ] {
            let f = v as f32;
            check(f, v);
            check(f32::from_bits((f.to_bits() + 0x8000) & 0xffff_0000), v);
        }
        // Formed in single precision.
        check(1.0 - 0.999, 0.001);
        for exact in [0.0, 1.0, -7.0, 0.75, 1000.0, 1.0 / 64.0, 12582912.0] {
            assert_eq!(doubt(&q(exact)), 0.0, "{exact}");
        }
        assert_eq!(doubt(&BigRational::new(1.into(), 3.into())), 0.0);
    }

    type Step = (u8, u8, u8);

    /// 2^a as the library has it, with the floor of b as the whole part.
    fn split_power(s: &mut TermStore, a: TermId, b: TermId) -> TermId {
        let n = s.fun(Fun::Floor, b);
        let rest = s.sub(a, n);
        let (p, q) = (s.fun(Fun::Exp2, rest), s.fun(Fun::Exp2, n));
        s.mul(p, q)
    }

    /// The whole part may be one or the other, the power is what it is.
    #[test]
    fn a_power_at_the_boundary_of_its_whole_part_is_near() {
        let mut s = TermStore::new();
        // The floor of 252 (0.3 x / 252 + 0.5) at 0, and 2^y for a y that a constant moves.
        let b = bound(&mut s, 0.0, |s, x| {
            let [c, k, half] = [0.3 / 252.0, 252.0, 0.5].map(|v| float(s, v));
            let scaled = s.mul(x, c);
            let argument = s.add(scaled, half);
            let n = s.mul(argument, k);
            let power = split_power(s, x, n);
            let (one, two) = (s.integer(1), s.integer(2));
            let sum = s.add(power, one);
            [s.div(two, sum), one]
        });
        assert!(b > 0.0 && b < 1e-4, "{b}");
    }

    /// A random program over two inputs and constants.
    fn program(s: &mut TermStore, steps: &[Step]) -> Vec<TermId> {
        let mut terms: Vec<TermId> = (0..2)
            .map(|i| s.elem(ArrayId(0), Fmt::F32, 4 * i))
            .collect();
        let constants = [0.3, 1.1, -2.7, 0.001];
        terms.extend(constants.map(|c| float(s, c)));
        for &(op, a, b) in steps {
            let (a, b) = (
                terms[a as usize % terms.len()],
                terms[b as usize % terms.len()],
            );
            let t = match op {
                0 | 1 => s.add(a, b),
                2 => s.sub(a, b),
                3 | 4 => s.mul(a, b),
                5 => s.div(a, b),
                6 => s.max(a, b),
                7 => s.min(a, b),
                8 => s.fun(Fun::Sqrt, a),
                9 => s.fun(Fun::Rsqrt, a),
                10 => s.fun(Fun::Exp2, a),
                11 => s.fun(Fun::Log2, a),
                12 => s.fun(Fun::Sin, a),
                13 => s.fun(Fun::Tanh, a),
                14 => s.fun(Fun::Abs, a),
                15 => s.fun(Fun::Floor, a),
                16 => s.fun(Fun::Erf, a),
                17 => s.fun(Fun::RoundEven, a),
                18 | 19 => split_power(s, a, b),
                _ => {
                    let p = s.rcmp(crate::term::RCmp::Lt, a, b);
                    let sum = s.add(a, b);
                    s.select(p, sum, b)
                }
            };
            terms.push(t);
        }
        terms
    }

    /// The terms with each constant moved by a part of its doubt.
    fn moved(
        from: &TermStore,
        roots: &[TermId],
        moves: &[f64],
        into: &mut TermStore,
    ) -> Vec<TermId> {
        rebuild(from, roots, into, |s, t, _| {
            let c = from.as_const(t)?;
            let part = moves[t.0 as usize % moves.len()] * doubt(c);
            Some(s.rational(c + BigRational::from_float(part)?))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

        /// Constants that are moved within their doubt move no difference of two results by more than its bound.
        #[test]
        fn moved_constants_stay_within_the_bound(
            steps in proptest::collection::vec((0u8..22, any::<u8>(), any::<u8>()), 1..24),
            moves in proptest::collection::vec(-1.0f64..1.0, 4..5),
            x in -64i32..64, y in -64i32..64,
        ) {
            let mut inputs = Inputs::default();
            inputs.set(ArrayId(0), 0, 4, (x as f32 / 8.0).to_bits() as u64);
            inputs.set(ArrayId(0), 4, 4, (y as f32 / 8.0).to_bits() as u64);
            let (mut s, mut t) = (TermStore::new(), TermStore::new());
            let terms = program(&mut s, &steps);
            let others = moved(&s, &terms, &moves, &mut t);
            let others = evaluate(&t, &others, &inputs, Mode::exact(160));
            let cone = Cone::new(&s, &terms);
            let values = cone.evaluate_all(&s, &inputs, Mode::exact(160));
            let roots = cone.values_of_roots(&values);
            let policy = Policy { functions: false, rounding: false };
            let errors = Errors::new(&s, &cone, &values, policy);
            let number = |v: &Value| v.approx().filter(|v| v.is_finite());
            for i in 1..roots.len() {
                let all = [roots[i - 1], roots[i], &others[i - 1], &others[i]].map(number);
                let bound = errors.of_difference(i - 1, i);
                match all {
                    [Some(a), Some(b), Some(c), Some(d)] => {
                        let noise = 1e-13 * (a.abs() + b.abs() + c.abs() + d.abs());
                        let change = ((a - b) - (c - d)).abs();
                        prop_assert!(change <= bound * 1.000001 + noise, "{change} {bound}");
                    }
                    // What stays certain keeps having a value.
                    [Some(_), Some(_), _, _] => prop_assert!(!bound.is_finite()),
                    _ => {}
                }
            }
        }

        /// What floats of 32 bits make of a chain of operations is within the bound with rounding.
        #[test]
        fn floats_stay_within_the_bound(
            steps in proptest::collection::vec((0u8..4, -1000i16..1000), 1..12),
            x in -1000i16..1000,
        ) {
            let mut s = TermStore::new();
            let mut inputs = Inputs::default();
            let mut element = |s: &mut TermStore, k: usize, v: f32| {
                inputs.set(ArrayId(0), 4 * k as u64, 4, u64::from(v.to_bits()));
                s.elem(ArrayId(0), Fmt::F32, 4 * k as u64)
            };
            let mut float = f32::from(x) / 7.0;
            let mut t = element(&mut s, 0, float);
            for (k, (op, y)) in steps.into_iter().enumerate() {
                let v = f32::from(y) / 9.0 + 0.01;
                let e = element(&mut s, k + 1, v);
                (float, t) = match op {
                    0 => (float + v, s.add(t, e)),
                    1 => (float - v, s.sub(t, e)),
                    2 => (float * v, s.mul(t, e)),
                    _ => (float / v, s.div(t, e)),
                };
            }
            let zero = s.integer(0);
            let cone = Cone::new(&s, &[t, zero]);
            let values = cone.evaluate_all(&s, &inputs, Mode::exact(160));
            let exact = cone.values_of_roots(&values)[0].approx();
            let policy = Policy { functions: false, rounding: true };
            let bound = Errors::new(&s, &cone, &values, policy).of_difference(0, 1);
            if let Some(v) = exact
                && float.is_finite()
                && (float == 0.0 || float.abs() > 1e-30)
            {
                let off = (f64::from(float) - v).abs();
                prop_assert!(off <= bound * 1.000001 + 1e-13 * v.abs(), "{off} {bound}");
            }
        }
    }
}
