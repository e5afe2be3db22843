//! Arithmetic of words as gates.
//!
//! Problem: `~v + 1` and `-v`, `n << 2` and `4 * n`, a sum in another order and a product at another width
//! should become the same gates, so that nothing is left to search. So a sum is put in order first: operands
//! with their coefficients modulo 2^width, complements as `-x - 1`, shifts as multiples, equal operands
//! once. A product is as wide as its operands' known signs ask for, and is extended after that.
//!
//! What has too many gates (a product of wide words, a quotient) is at first a word of inputs of its own,
//! the same for the same operands; a second attempt spells it out.

use rustc_hash::FxHashMap;

use super::circuit::{Circuit, Lit};
use super::limits::{MAX_OPERANDS, MAX_PRODUCT};
use crate::term::{BitsOp, sext};

/// The bits of a word, the lowest first.
pub type Word = Vec<Lit>;

/// Low bits by which operands that may be alike are found.
const SHORT: usize = 4;

/// Words with coefficients, and a constant.
#[derive(Clone, Default)]
struct Operands {
    terms: Vec<(Word, u64)>,
    constant: u64,
}

/// The words of one question.
pub struct Words {
    /// The gates that they are made of.
    pub circuit: Circuit,
    /// Places of inputs in the order of diagrams: by their place in the word, then by word.
    pub(super) places: FxHashMap<usize, (u32, u32)>,
    /// What sums consist of.
    sums: FxHashMap<Word, Operands>,
    /// Words of inputs that stand for an operation.
    opaque: FxHashMap<(BitsOp, Word, Word), Word>,
    words: u32,
    /// Whether every operation is spelled out.
    pub(super) deep: bool,
}

fn mask(width: usize) -> u64 {
    u64::MAX >> (64 - width.clamp(1, 64))
}

/// The word of a number.
pub fn constant(width: usize, value: u64) -> Word {
    (0..width)
        .map(|i| Lit::of(value.checked_shr(i as u32).unwrap_or(0) & 1 == 1))
        .collect()
}

/// The value of a word without inputs.
pub(super) fn known(x: &[Lit]) -> Option<u64> {
    let mut bits = x.iter().enumerate();
    bits.try_fold(0, |v, (i, &l)| match l {
        Lit::TRUE => Some(v | 1 << i),
        Lit::FALSE => Some(v),
        _ => None,
    })
}

/// How many low bits tell a word: the others repeat the highest of them, or are 0.
fn significant(x: &[Lit]) -> (usize, bool) {
    let top = x.last().copied().unwrap_or(Lit::FALSE);
    let same = x.iter().rev().take_while(|l| **l == top).count();
    match top == Lit::FALSE {
        true => (x.len() - same, false),
        false => (x.len() - same + 1, true),
    }
}

fn widened(x: &[Lit], width: usize, signed: bool) -> Word {
    let fill = match signed {
        true => x.last().copied().unwrap_or(Lit::FALSE),
        false => Lit::FALSE,
    };
    let mut out = x.to_vec();
    out.resize(width, fill);
    out
}

/// A word shifted by a known amount; one that is not below the width leaves nothing, or the sign.
pub(super) fn shifted(op: BitsOp, x: &[Lit], by: u64) -> Word {
    let (w, by) = (x.len(), by.min(x.len() as u64) as usize);
    let fill = match op {
        BitsOp::AShr => x.last().copied().unwrap_or(Lit::FALSE),
        _ => Lit::FALSE,
    };
    match op {
        BitsOp::Shl => [&vec![fill; by], &x[..w - by]].concat(),
        _ => [&x[by..], &vec![fill; by]].concat(),
    }
}

impl Words {
    /// No words yet; `deep` spells out every operation.
    pub fn new(deep: bool) -> Words {
        Words {
            circuit: Circuit::new(),
            places: FxHashMap::default(),
            sums: FxHashMap::default(),
            opaque: FxHashMap::default(),
            words: 0,
            deep,
        }
    }

    /// True if no operation is a word of inputs of its own.
    pub fn is_spelled_out(&self) -> bool {
        self.opaque.is_empty()
    }

    /// A word of new inputs.
    pub fn inputs(&mut self, width: usize) -> Option<Word> {
        self.words += 1;
        (0..width)
            .map(|i| {
                let l = self.circuit.input()?;
                self.places.insert(l.gate(), (i as u32, self.words));
                Some(l)
            })
            .collect()
    }

    /// Bit by bit.
    fn each(
        &mut self,
        x: &[Lit],
        y: &[Lit],
        f: fn(&mut Circuit, Lit, Lit) -> Option<Lit>,
    ) -> Option<Word> {
        let pairs = x.iter().zip(y);
        pairs.map(|(&p, &q)| f(&mut self.circuit, p, q)).collect()
    }

    /// One of two words, by a condition.
    pub fn choose(&mut self, p: Lit, x: &[Lit], y: &[Lit]) -> Option<Word> {
        let pairs = x.iter().zip(y);
        pairs.map(|(&a, &b)| self.circuit.choose(p, a, b)).collect()
    }

    /// x + y + carry, bit by bit, and the last carry.
    fn ripple(&mut self, x: &[Lit], y: &[Lit], carry: Lit) -> Option<(Word, Lit)> {
        let mut carry = carry;
        let mut out = Word::with_capacity(x.len());
        for (&p, &q) in x.iter().zip(y) {
            let half = self.circuit.xor(p, q)?;
            out.push(self.circuit.xor(half, carry)?);
            carry = self.circuit.choose(half, carry, p)?;
        }
        Some((out, carry))
    }

    /// k * x for an operand of a sum, in the form that all equal ones have.
    ///
    /// match `x = 2^s * y` / result `(k * 2^s) * y`, and of y the bits that 2^width leaves / because the rest
    /// is a multiple of 2^width.
    ///
    /// match a word whose lowest unknown bit is negated / result `-(~x) - 1` / because that is x.
    fn add_operand(&self, to: &mut Operands, x: &[Lit], k: u64) {
        let w = x.len();
        let k = k & mask(w);
        if k == 0 {
            return;
        }
        if self.add_sum(to, x, k) {
            return;
        }
        let complement: Word = x.iter().map(|l| !*l).collect();
        if self.add_sum(to, &complement, k.wrapping_neg()) {
            to.constant = to.constant.wrapping_sub(k);
            return;
        }
        let (mut x, mut k) = (x.to_vec(), k);
        let zeros = x.iter().take_while(|l| **l == Lit::FALSE).count();
        if zeros == w {
            return;
        }
        x = shifted(BitsOp::LShr, &x, zeros as u64);
        k = k.wrapping_shl(zeros as u32);
        if zeros >= 64 || k & mask(w) == 0 {
            return;
        }
        let left = w - (k & mask(w)).trailing_zeros() as usize;
        for l in &mut x[left..] {
            *l = Lit::FALSE;
        }
        for _ in 0..2 {
            // Known ones are part of the constant.
            for (i, l) in x.iter_mut().enumerate() {
                if *l == Lit::TRUE {
                    to.constant = to.constant.wrapping_add(k.wrapping_shl(i as u32));
                    *l = Lit::FALSE;
                }
            }
            let Some(first) = x.iter().find(|l| !l.is_constant()) else {
                return;
            };
            if !first.is_negated() {
                break;
            }
            to.constant = to.constant.wrapping_sub(k);
            k = k.wrapping_neg();
            for (i, l) in x.iter_mut().enumerate() {
                *l = match i < left {
                    true => !*l,
                    false => Lit::FALSE,
                };
            }
        }
        let zeros = x.iter().take_while(|l| **l == Lit::FALSE).count();
        x = shifted(BitsOp::LShr, &x, zeros as u64);
        k = k.wrapping_shl(zeros as u32) & mask(w);
        to.terms.push((x, k));
    }

    /// k * x for a word that is a sum, operand by operand; false if it is none or too long.
    fn add_sum(&self, to: &mut Operands, x: &[Lit], k: u64) -> bool {
        let Some(of) = self.sums.get(x) else {
            return false;
        };
        if of.terms.len() + to.terms.len() > MAX_OPERANDS {
            return false;
        }
        to.constant = to.constant.wrapping_add(of.constant.wrapping_mul(k));
        let scaled = of.terms.iter().map(|(y, c)| (y.clone(), c.wrapping_mul(k)));
        to.terms.extend(scaled);
        true
    }

    /// Operands with coefficients, each once and in one order.
    ///
    /// match `k * x + l * y` where 2^width leaves of `l * y` only low bits of y, which x begins with / result
    /// `(k + l) * x` / because that is the same.
    fn merged(width: usize, mut terms: Vec<(Word, u64)>) -> Vec<(Word, u64)> {
        let left = |k: u64| width - (k.trailing_zeros() as usize).min(width);
        terms.iter_mut().for_each(|t| t.1 &= mask(width));
        terms.retain(|t| t.1 != 0);
        // What keeps the most bits comes first.
        terms.sort_unstable_by(|a, b| left(b.1).cmp(&left(a.1)).then_with(|| a.0.cmp(&b.0)));
        let begin = |x: &Word| x[..x.len().min(SHORT)].to_vec();
        let mut places: FxHashMap<Word, Vec<usize>> = FxHashMap::default();
        let mut out: Vec<(Word, u64)> = Vec::new();
        for (y, l) in terms {
            let n = left(l);
            let alike = places.entry(begin(&y)).or_default();
            let found = alike.iter().find(|&&i| out[i].0[..n] == y[..n]);
            match found {
                Some(&i) => out[i].1 = out[i].1.wrapping_add(l) & mask(width),
                None => {
                    alike.push(out.len());
                    out.push((y, l));
                }
            }
        }
        for (x, k) in &mut out {
            x[left(*k)..].fill(Lit::FALSE);
        }
        out.retain(|t| t.1 != 0);
        out.sort_unstable();
        out
    }

    /// The word of operands with coefficients.
    fn gathered(&mut self, width: usize, mut of: Operands) -> Option<Word> {
        of.terms = Words::merged(width, of.terms);
        of.constant &= mask(width);
        if let ([(x, 1)], 0) = (&of.terms[..], of.constant) {
            return Some(x.clone());
        }
        let mut sum = constant(width, of.constant);
        for (x, k) in &of.terms {
            sum = self.plus_multiple(sum, x, *k)?;
        }
        if of.terms.len() <= MAX_OPERANDS {
            self.sums.insert(sum.clone(), of);
        }
        Some(sum)
    }

    /// sum + k * x by the digits -1, 0, 1 of k, of which few are not 0.
    fn plus_multiple(&mut self, mut sum: Word, x: &[Lit], k: u64) -> Option<Word> {
        let w = sum.len();
        let (mut k, mut at) = (k as u128, 0);
        while k != 0 && at < w {
            if k & 1 == 1 {
                let negative = k & 3 == 3;
                let part = shifted(BitsOp::Shl, x, at as u64);
                let part: Word = part.into_iter().map(|l| l.flipped(negative)).collect();
                sum = self.ripple(&sum, &part, Lit::of(negative))?.0;
                k = if negative { k + 1 } else { k - 1 };
            }
            k >>= 1;
            at += 1;
        }
        Some(sum)
    }

    /// The sum of products of pairs of words.
    pub(super) fn sum(&mut self, width: usize, pairs: &[(Word, Word)]) -> Option<Word> {
        let mut all = Operands::default();
        for (x, y) in pairs {
            match (known(x), known(y)) {
                (Some(a), Some(b)) => {
                    all.constant = all.constant.wrapping_add(a.wrapping_mul(b));
                }
                (Some(k), _) => self.add_operand(&mut all, y, k),
                (_, Some(k)) => self.add_operand(&mut all, x, k),
                _ => {
                    let product = self.product(x, y)?;
                    self.add_operand(&mut all, &product, 1);
                }
            }
        }
        self.gathered(width, all)
    }

    /// x * y modulo 2^width.
    ///
    /// match words that low bits of p and q places tell / result their product in p + q places, extended /
    /// because it fits there.
    fn product(&mut self, x: &[Lit], y: &[Lit]) -> Option<Word> {
        let w = x.len();
        let (x, y) = match x <= y {
            true => (x, y),
            false => (y, x),
        };
        let ((p, sign_x), (q, sign_y)) = (significant(x), significant(y));
        if p == 0 || q == 0 {
            return Some(constant(w, 0));
        }
        let signed = sign_x || sign_y;
        // A word without a sign has one more place, of 0, beside one with a sign.
        let (p, q) = (
            p + usize::from(signed && !sign_x),
            q + usize::from(signed && !sign_y),
        );
        let n = (p + q).min(w);
        if !self.deep && n > MAX_PRODUCT {
            return self.unknown(BitsOp::Mul, (x, y), w);
        }
        let narrow = |v: &[Lit], of: usize, sign: bool| {
            let of = of.min(v.len());
            widened(&v[..of], n, sign)
        };
        let (a, b) = (narrow(x, p, sign_x), narrow(y, q, sign_y));
        let mut sum = constant(n, 0);
        for (i, &bit) in b.iter().enumerate() {
            if bit == Lit::FALSE {
                continue;
            }
            let mut part = vec![Lit::FALSE; i];
            for &l in &a[..n - i] {
                part.push(self.circuit.and(l, bit)?);
            }
            sum = self.ripple(&sum, &part, Lit::FALSE)?.0;
        }
        Some(widened(&sum, w, signed))
    }

    /// A word of inputs for an operation, the same for the same operands.
    fn unknown(&mut self, op: BitsOp, (x, y): (&[Lit], &[Lit]), width: usize) -> Option<Word> {
        let key = (op, x.to_vec(), y.to_vec());
        if let Some(word) = self.opaque.get(&key) {
            return Some(word.clone());
        }
        let word = self.inputs(width)?;
        self.opaque.insert(key, word.clone());
        Some(word)
    }

    /// x < y, or with `or_equal` x <= y: the highest bit in which they differ decides.
    pub fn less(&mut self, x: &[Lit], y: &[Lit], signed: bool) -> Option<Lit> {
        let mut less = Lit::FALSE;
        for (i, (&p, &q)) in x.iter().zip(y).enumerate() {
            let (p, q) = match signed && i + 1 == x.len() {
                true => (q, p),
                false => (p, q),
            };
            let differ = self.circuit.xor(p, q)?;
            less = self.circuit.choose(differ, q, less)?;
        }
        Some(less)
    }

    /// Whether all bits are the same.
    pub fn same(&mut self, x: &[Lit], y: &[Lit]) -> Option<Lit> {
        let mut all = Lit::TRUE;
        for (&p, &q) in x.iter().zip(y) {
            let differ = self.circuit.xor(p, q)?;
            all = self.circuit.and(all, !differ)?;
        }
        Some(all)
    }

    /// The bits of an operation.
    pub fn operation(&mut self, op: BitsOp, x: &[Lit], y: &[Lit]) -> Option<Word> {
        let w = x.len();
        match op {
            BitsOp::Add => {
                let one = constant(w, 1);
                self.sum(w, &[(x.to_vec(), one.clone()), (y.to_vec(), one)])
            }
            BitsOp::Mul => self.sum(w, &[(x.to_vec(), y.to_vec())]),
            BitsOp::And => self.each(x, y, Circuit::and),
            BitsOp::Or => self.each(x, y, Circuit::or),
            BitsOp::Xor => match (known(x), known(y)) {
                (Some(ones), _) if ones == mask(w) => self.complement(y),
                (_, Some(ones)) if ones == mask(w) => self.complement(x),
                _ => self.each(x, y, Circuit::xor),
            },
            BitsOp::Shl | BitsOp::LShr | BitsOp::AShr => match known(y) {
                Some(by) => Some(shifted(op, x, by)),
                None => self.shift(op, x, y),
            },
            BitsOp::UDiv | BitsOp::URem | BitsOp::SDiv | BitsOp::SRem => self.quotient(op, x, y),
        }
    }

    /// match `~x` of a sum / result the sum `-x - 1` / because that is the complement.
    fn complement(&mut self, x: &[Lit]) -> Option<Word> {
        if !self.sums.contains_key(x) {
            return Some(x.iter().map(|l| !*l).collect());
        }
        let ones = mask(x.len());
        let mut all = Operands {
            constant: ones,
            ..Operands::default()
        };
        self.add_operand(&mut all, x, ones);
        self.gathered(x.len(), all)
    }

    /// A shift by an amount that data decide: by each of its bits in turn.
    fn shift(&mut self, op: BitsOp, x: &[Lit], y: &[Lit]) -> Option<Word> {
        let mut out = x.to_vec();
        for (i, &bit) in y.iter().enumerate() {
            let by = 1u64.checked_shl(i as u32).unwrap_or(u64::MAX);
            let moved = shifted(op, &out, by);
            out = self.choose(bit, &moved, &out)?;
        }
        Some(out)
    }

    /// A quotient or remainder, place by place from the highest. Where the divisor is 0 it is some value: no
    /// input is compared there.
    fn quotient(&mut self, op: BitsOp, x: &[Lit], y: &[Lit]) -> Option<Word> {
        if !self.deep {
            return self.unknown_quotient(op, x, y);
        }
        let w = x.len();
        let signed = matches!(op, BitsOp::SDiv | BitsOp::SRem);
        let sign = |v: &[Lit]| match signed {
            true => v.last().copied().unwrap_or(Lit::FALSE),
            false => Lit::FALSE,
        };
        let (sx, sy) = (sign(x), sign(y));
        let (a, b) = (self.turned(sx, x)?, self.turned(sy, y)?);
        // One more place: the remainder is doubled before the divisor is taken off.
        let divisor = widened(&b, w + 1, false);
        let minus: Word = divisor.iter().map(|l| !*l).collect();
        let (mut rest, mut quotient) = (constant(w + 1, 0), constant(w, 0));
        for i in (0..w).rev() {
            rest = shifted(BitsOp::Shl, &rest, 1);
            rest[0] = a[i];
            let (less, fits) = self.ripple(&rest, &minus, Lit::TRUE)?;
            rest = self.choose(fits, &less, &rest)?;
            quotient[i] = fits;
        }
        rest.truncate(w);
        match op {
            BitsOp::UDiv | BitsOp::SDiv => {
                let negative = self.circuit.xor(sx, sy)?;
                self.turned(negative, &quotient)
            }
            _ => self.turned(sx, &rest),
        }
    }

    /// A quotient or remainder of which only the sign and the size of a remainder are known.
    ///
    /// match `x % y` / result `x < 0 ? -r : r` if there are signs, else r, with r of as many bits as a number below
    /// the magnitude of y has / because a remainder has the sign of what is divided, and is smaller than the divisor.
    fn unknown_quotient(&mut self, op: BitsOp, x: &[Lit], y: &[Lit]) -> Option<Word> {
        let w = x.len();
        let signed = match op {
            BitsOp::SRem => true,
            BitsOp::URem => false,
            _ => return self.unknown(op, (x, y), w),
        };
        let size = known(y).map(|v| match signed {
            true => sext(v, w as u8).unsigned_abs(),
            false => v,
        });
        let width = match size {
            // Of a division by 0 nothing is known.
            Some(0) => return self.unknown(op, (x, y), w),
            Some(n) => (u64::BITS - (n - 1).leading_zeros()) as usize,
            None => w - usize::from(signed),
        };
        let rest = self.unknown(op, (x, y), width)?;
        let rest = widened(&rest, w, false);
        let negative = match signed {
            true => x.last().copied().unwrap_or(Lit::FALSE),
            false => Lit::FALSE,
        };
        self.turned(negative, &rest)
    }

    /// negative ? -x : x.
    fn turned(&mut self, negative: Lit, x: &[Lit]) -> Option<Word> {
        if negative == Lit::FALSE {
            return Some(x.to_vec());
        }
        let flipped: Option<Word> = x.iter().map(|&l| self.circuit.xor(l, negative)).collect();
        Some(self.ripple(&flipped?, &constant(x.len(), 0), negative)?.0)
    }
}
