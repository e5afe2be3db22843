//! What a register lane holds: bits until a float arrives.
//!
//! A lane is a `u64`, plain bits where the register's symbolic mask is clear, else a packed
//! [`Val`]. The conversions here are the only places where bits become a real or a truth value
//! and back, so a copy, a packing or a reuse at another type gives back the same term when the
//! bytes line up.

use crate::sim::limits::LIMITS;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::kernel::{Fmt, MatTy, Pc};
use crate::term::questions::Question;
use crate::term::word::Product;
use crate::term::{BitsOp, Sort, Term, TermId, TermStore};

use super::Site;
use super::memo::{self, Memo};
use super::open::OpenSums;
use super::reach::Doubts;
use super::state::State;
use super::unwritten::Poisons;
use super::val::{NOT_YET, Val};

/// Whether a term is a finite number of single precision.
#[derive(Clone, Copy, Debug)]
pub(super) enum Single {
    /// Nobody asked yet.
    Unasked,
    /// It is this one.
    Number(f64),
    /// It is none.
    Other,
}

/// Intervals of the sums made so far, by what a lane holds of them, which hold for every input.
pub(super) type Intervals = FxHashMap<u64, (i64, i64)>;

/// Numbers whose sign at zero is open, but for what is truncated.
#[derive(Clone, Debug, Default)]
pub struct Halves {
    /// By a number below 1 with the sign of another: that other, and the number with the sign of
    /// the real.
    pub(super) numbers: FxHashMap<TermId, (TermId, TermId)>,
    /// By the sum of the two: the sum with the sign of the real.
    pub(super) sums: FxHashMap<TermId, TermId>,
}

/// What was made of words.
#[derive(Clone, Debug, Default)]
pub(super) struct Packed {
    /// Results of `prmt`.
    pub(super) permuted: FxHashMap<[TermId; 3], TermId>,
    /// The bytes of a word, extended to words, with their sign or without.
    pub(super) bytes: FxHashMap<(TermId, bool), [TermId; 4]>,
}

/// The term store of a run with the conversions between bits, reals and truth values.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// The terms.
    pub store: TermStore,
    memo: Memo,
    /// Bytes of words.
    pub(super) packed: Packed,
    /// The sums that are still growing.
    pub open: OpenSums,
    /// Intervals of saturating sums.
    pub(super) intervals: Intervals,
    /// What was brought to formats that hold less.
    pub narrow: crate::term::overflow::Narrow,
    /// Numbers remember how they were made; the value tells the code of the pair's kernels apart.
    pub trees: Option<u32>,
    /// Floats of known bits are computed as the machine does.
    pub numbers: bool,
    /// The instruction whose results are rounded up or down at random.
    pub(super) wobble: Option<super::wobble::Wobble>,
    /// Floats are words: what operations make of bits.
    pub(super) words: Option<Box<super::words::Words>>,
    /// The matrix instruction under way that is about the bits of its factors, the format of its accumulators, and where it
    /// stands.
    pub(super) product: Option<(Product, Fmt, Pc)>,
    /// The reals of factors of matrix products, by their bits.
    pub(super) factors: FxHashMap<(TermId, Fmt), TermId>,
    /// Values of terms at a few inputs.
    pub(super) samples: crate::term::samples::Samples,
    /// Of which numbers comparisons ask.
    pub(super) tested: super::choices::Tested,
    /// On which side of 0 terms are.
    pub(super) apart: crate::term::orders::apart::Apart,
    /// Numbers with a sign that is open at zero.
    pub(super) halves: Halves,
    /// The real constant 1, once it is needed.
    pub(super) one: Option<TermId>,
    /// The same of 32 and of 64 bits.
    pub(super) bit_ones: [Option<TermId>; 2],
    /// Extensions of bits by term: to 32 and to 64 bits, of each by zeros and by sign.
    extensions: [Vec<u32>; 4],
    consts: FxHashMap<(Fmt, u64), TermId>,
    /// The terms of elements of matrices by their bits, in a run on numbers.
    pub(super) elements: FxHashMap<(MatTy, u64), TermId>,
    /// Which terms are numbers of single precision, as far as a product of matrices asked.
    pub(super) singles: Vec<Single>,
    /// What was copied of what the launches before left.
    pub(super) brought: crate::term::Copied,
    /// Site number for a read of a register that was never written.
    pub unset_site: u32,
    /// True in a run that makes no numbers of data.
    pub omits: bool,
    /// True once such a run asked for one.
    pub missed: bool,
    /// Serial of the first fresh symbol.
    pub(super) first_fresh: u32,
    /// Serial of the next fresh symbol.
    pub(super) fresh: u32,
    /// Where symbols came from whose value depends on the schedule, by serial.
    pub(super) fresh_sites: BTreeMap<u32, Site>,
    /// Which terms stand above something that was never written.
    pub(super) poisons: Poisons,
    /// Values about which nothing is known, and why.
    pub(super) doubts: Doubts,
}

impl Values {
    /// Adds what a run goes on from.
    pub(super) fn record(&self, state: &mut State) {
        let Values {
            wobble,
            product,
            unset_site: _, // Set before each use.
            // Said once, before the run.
            trees: _,
            numbers: _,
            omits: _,
            first_fresh: _,
            // Of terms: how they were made, what they are known to be, and what was made of them.
            store: _,
            open: _,
            narrow: _,
            words: _,
            halves: _,
            doubts: _,
            memo: _,
            packed: _,
            intervals: _,
            factors: _,
            samples: _,
            tested: _,
            apart: _,
            one: _,
            bit_ones: _,
            extensions: _,
            consts: _,
            elements: _,
            singles: _,
            brought: _,
            poisons: _,
            // Beside, and numbers of what is new.
            missed: _,
            fresh: _,
            fresh_sites: _,
        } = self;
        state.add("rounding at random", wobble);
        state.add("a product of matrices", product);
    }

    /// A symbol that nothing else equals, and the reason recorded for when it matters.
    pub(super) fn fresh_bits(&mut self, width: u8) -> TermId {
        let serial = self.fresh;
        self.fresh += 1;
        self.store.fresh(width, serial)
    }

    /// Whether rounding turns the answer of a test over.
    pub(super) fn flip(&mut self, question: Question) -> TermId {
        if self.store.facts.reals_decide {
            return self.store.bool(false);
        }
        let serial = self.fresh;
        self.fresh += 1;
        self.store.flip(serial, question)
    }

    /// A symbol whose value depends on the schedule or the machine.
    pub(super) fn volatile_bits(&mut self, width: u8, site: Site) -> TermId {
        self.fresh_sites.insert(self.fresh, site);
        self.fresh_bits(width)
    }

    /// The real of known bits.
    pub fn constant(&mut self, fmt: Fmt, bits: u64) -> TermId {
        if let Some(&t) = self.consts.get(&(fmt, bits)) {
            return t;
        }
        let b = self.store.bits(fmt.bits() as u8, bits);
        let t = self.store.of_bits(fmt, b);
        self.consts.insert((fmt, bits), t);
        t
    }

    /// The value as a real of a format. A tf32 operand is the f32 in the register: the bits that
    /// the hardware drops are a rounding.
    #[inline]
    pub fn real(&mut self, v: Val, fmt: Fmt) -> TermId {
        if let Some(words) = &mut self.words {
            words.asked_for_real = true;
        }
        let fmt = if fmt == Fmt::Tf32 { Fmt::F32 } else { fmt };
        match v {
            Val::Real(f, t) if f == fmt => self.store.face(t),
            Val::Real(Fmt::Tf32, t) if fmt == Fmt::F32 => self.store.face(t),
            Val::Conc(bits) => {
                let m = u64::MAX >> (64 - fmt.bits());
                self.constant(fmt, bits & m)
            }
            Val::Open(f, s) if f == fmt => self.close(s),
            Val::Bits(t) => {
                if let Some((array, off)) = self.store.whole_bytes(t, fmt.bits()) {
                    return self.store.elem(array, fmt, off);
                }
                let key = memo::number(fmt, t);
                if let Some(known) = self.memo.get(key) {
                    return known;
                }
                let b = self.low(t, fmt.bits() as u8);
                let real = self.store.of_selected_bits(fmt, b);
                self.memo.keep(key, real);
                real
            }
            Val::Sum(..) => {
                let v = self.settled(v);
                self.real(v, fmt)
            }
            _ => {
                let w = fmt.bits() as u8;
                let b = self.bits(v, w);
                let b = self.low(b, w);
                self.store.of_bits(fmt, b)
            }
        }
    }

    /// `width` bits of a term from bit `low`.
    #[inline]
    pub fn field(&mut self, t: TermId, low: u8, width: u8) -> TermId {
        let key = memo::field(t, low, width);
        if let Some(known) = self.memo.get(key) {
            return known;
        }
        let f = self.store.extract(t, low, width);
        self.memo.keep(key, f);
        f
    }

    /// The bits of an input element as the number of a format that they are.
    pub fn element(&mut self, fmt: Fmt, v: Val) -> Option<Val> {
        let Val::Bits(t) = v else { return None };
        match self.store.get(t) {
            Term::Bytes { width, .. } if width as u32 == fmt.bits() => {
                Some(Val::Real(fmt, self.store.of_bits(fmt, t)))
            }
            _ => None,
        }
    }

    pub(super) fn low(&mut self, bits: TermId, width: u8) -> TermId {
        match self.store.sort(bits) {
            Sort::Bits(w) if w > width => self.store.extract(bits, 0, width),
            Sort::Bits(w) if w < width => {
                let z = self.store.bits(width - w, 0);
                self.store.concat(&[bits, z])
            }
            _ => bits,
        }
    }

    /// The value as a bit-vector term of a width: longer ones are cut, shorter ones extended with
    /// zeros.
    pub fn bits(&mut self, v: Val, width: u8) -> TermId {
        let t = match v {
            Val::Conc(bits) => return self.store.bits(width, bits),
            Val::Real(f, t) => self
                .store
                .of_real(if f == Fmt::Tf32 { Fmt::F32 } else { f }, t),
            Val::Open(f, s) => {
                let t = self.close(s);
                self.store.of_real(f, t)
            }
            Val::Bits(t) => t,
            Val::Sum(w, s) => self.close_bits(w, s),
            Val::Pred(t) => self.store.of_bool(width, t),
            Val::Unset => {
                self.missed |= self.omits;
                self.store.poison(width, self.unset_site)
            }
            Val::Absent => {
                self.miss();
                return self.store.bits(width, 0);
            }
        };
        self.low(t, width)
    }

    /// The value as a truth value: nonzero bits.
    pub fn pred(&mut self, v: Val) -> TermId {
        match v {
            Val::Conc(b) => self.store.bool(b & 1 == 1),
            Val::Pred(t) => t,
            _ => {
                let b = self.bits(v, 1);
                let one = self.store.bits(1, 1);
                self.store.icmp(crate::term::ICmp::Eq, b, one)
            }
        }
    }

    /// The plainest value that a bit-vector term is.
    pub fn of_bits(&self, t: TermId) -> Val {
        match self.store.get(t) {
            Term::BitsConst { value, .. } => Val::Conc(value),
            Term::OfReal { fmt, real } => Val::Real(fmt, real),
            _ => Val::Bits(t),
        }
    }

    /// The plainest value that a truth term is.
    pub fn of_pred(&self, t: TermId) -> Val {
        match self.store.as_bool(t) {
            Some(b) => Val::Conc(b as u64),
            None => Val::Pred(t),
        }
    }

    /// The value with a sum of bits as its term.
    #[inline]
    pub fn settled(&mut self, v: Val) -> Val {
        match v {
            Val::Sum(w, s) => {
                let t = self.close_bits(w, s);
                self.of_bits(t)
            }
            v => v,
        }
    }

    /// The extension of a bit-vector term to a width.
    #[inline]
    pub fn extended(&mut self, t: TermId, signed: bool, width: u8) -> TermId {
        if !matches!(width, 32 | 64) {
            return super::int_sym::extend(&mut self.store, t, signed, width);
        }
        let table = 2 * (width == 64) as usize + signed as usize;
        let i = t.0 as usize;
        if let Some(&known) = self.extensions[table].get(i)
            && known != NOT_YET
        {
            return TermId(known);
        }
        let e = super::int_sym::extend(&mut self.store, t, signed, width);
        let table = &mut self.extensions[table];
        if table.len() <= i {
            table.resize(i + 1, NOT_YET);
        }
        table[i] = e.0;
        e
    }

    /// p ? a : b for values of one register width.
    pub fn select(&mut self, p: TermId, a: Val, b: Val, width: u8) -> Val {
        if a == b {
            return a;
        }
        match self.store.as_bool(p) {
            Some(true) => return a,
            Some(false) => return b,
            None => {}
        }
        let (a, b) = (self.settled(a), self.settled(b));
        if a == Val::Absent || b == Val::Absent {
            if a == Val::Unset || b == Val::Unset {
                self.miss();
            }
            return Val::Absent;
        }
        if width == 1 {
            let (x, y) = (self.pred(a), self.pred(b));
            let t = self.store.select(p, x, y);
            return self.of_pred(t);
        }
        let fmt = match (a, b) {
            (Val::Real(f, _) | Val::Open(f, _), _) | (_, Val::Real(f, _) | Val::Open(f, _)) => {
                Some(f)
            }
            _ => None,
        };
        // A select that involves a float is a select of reals, so that arithmetic sees it; bits
        // that are not those of the real that they denote (a NaN pattern, a zero with a sign) keep it
        // a select of bits.
        let signed = |f: Fmt, v| match v {
            Val::Conc(bits) => bits == 1 << (f.bits() - 1),
            Val::Bits(t) => self.store.has_signed_zero(f, t, LIMITS.nested_selects),
            _ => false,
        };
        let fmt = fmt.filter(|&f| self.words.is_none() && !signed(f, a) && !signed(f, b));
        if let Some(f) = fmt {
            let (x, y) = (self.real(a, f), self.real(b, f));
            let finite =
                |s: &TermStore, t| !matches!(s.get(t), Term::Undefined | Term::OfBits { .. });
            if f.bits() as u8 == width && finite(&self.store, x) && finite(&self.store, y) {
                let t = self.store.select(p, x, y);
                return Val::Real(f, self.chosen(p, f, (a, b), t));
            }
        }
        let (x, y) = (self.bits(a, width), self.bits(b, width));
        let t = self.store.select(p, x, y);
        self.of_bits(t)
    }

    /// The constants that a bit term selects among, each with its condition; `None` if it is not
    /// a select among at most `cap` constants, or a sum of a few of those.
    pub fn leaves(&mut self, t: TermId, cap: usize) -> Option<Vec<(TermId, u64)>> {
        self.leaves_of_sums(t, cap, LIMITS.nested_sums)
    }

    /// False for a term that is no select among constants for certain.
    #[inline]
    pub fn may_choose(&self, t: TermId) -> bool {
        matches!(
            self.store.get(t),
            Term::BitsConst { .. }
                | Term::BitsSelect(..)
                | Term::OfBool { .. }
                | Term::BitsOp(BitsOp::Add, ..)
        )
    }

    /// A function of what a bit term selects among constants; `None` if it is no such selection, a large one, or the
    /// function has no result for one of them.
    pub fn of_each(&mut self, t: TermId, width: u8, f: impl Fn(u64) -> Option<u64>) -> Option<Val> {
        if let Some(v) = self.of_each_alike(t, width, &f) {
            return Some(v);
        }
        let leaves = self.leaves(t, LIMITS.choices)?.into_iter();
        let options = leaves.map(|(c, b)| Some((c, Val::Conc(f(b)?))));
        let options: Vec<(TermId, Val)> = options.collect::<Option<_>>()?;
        Some(self.choose(&options, width))
    }

    /// The same, with the structure of the selection.
    ///
    /// match `f(p ? a : b)` / result `p ? f(a) : f(b)` / because a function of equal values is equal.
    fn of_each_alike(
        &mut self,
        t: TermId,
        width: u8,
        f: &impl Fn(u64) -> Option<u64>,
    ) -> Option<Val> {
        let mut open: SmallVec<[TermId; 8]> = smallvec![t];
        let mut images: FxHashMap<TermId, TermId> = FxHashMap::default();
        while let Some(&t) = open.last() {
            if images.len() > LIMITS.selects {
                return None;
            }
            let image = match self.store.get(t) {
                Term::BitsConst { value, .. } => self.store.bits(width, f(value)?),
                Term::BitsSelect(p, a, b) => match (images.get(&a), images.get(&b)) {
                    (Some(&x), Some(&y)) => self.store.select(p, x, y),
                    (x, y) => {
                        let lacks = [(a, x.is_none()), (b, y.is_none())];
                        open.extend(lacks.iter().filter(|l| l.1).map(|l| l.0));
                        continue;
                    }
                },
                Term::OfBool { p, .. } => {
                    let [zero, one] = [f(0)?, f(1)?].map(|v| self.store.bits(width, v));
                    self.store.select(p, one, zero)
                }
                _ => return None,
            };
            images.insert(t, image);
            open.pop();
        }
        Some(self.of_bits(*images.get(&t)?))
    }

    fn leaves_of_sums(
        &mut self,
        t: TermId,
        cap: usize,
        depth: usize,
    ) -> Option<Vec<(TermId, u64)>> {
        if !self.may_choose(t) {
            return None;
        }
        let yes = self.store.bool(true);
        let mut work = vec![(yes, t)];
        let mut out: Vec<(TermId, u64)> = Vec::new();
        while let Some((cond, t)) = work.pop() {
            if out.len() + work.len() >= cap {
                return None;
            }
            match self.store.get(t) {
                Term::BitsConst { value, .. } => match out.iter().position(|l| l.1 == value) {
                    Some(i) => out[i].0 = self.store.or(out[i].0, cond),
                    None => out.push((cond, value)),
                },
                Term::BitsSelect(p, a, b) => {
                    let n = self.store.not(p);
                    let (ca, cb) = (self.store.and(cond, p), self.store.and(cond, n));
                    for (c, x) in [(cb, b), (ca, a)] {
                        if self.store.as_bool(c) != Some(false) {
                            work.push((c, x));
                        }
                    }
                }
                Term::OfBool { p, .. } => {
                    let n = self.store.not(p);
                    let (ca, cb) = (self.store.and(cond, p), self.store.and(cond, n));
                    out.push((ca, 1));
                    out.push((cb, 0));
                }
                Term::BitsOp(BitsOp::Add, a, b) if depth > 0 => {
                    let Sort::Bits(width) = self.store.sort(t) else {
                        return None;
                    };
                    let x = self.leaves_of_sums(a, cap, depth - 1)?;
                    let y = self.leaves_of_sums(b, cap, depth - 1)?;
                    if x.len() * y.len() > cap {
                        return None;
                    }
                    for (ca, va) in x {
                        for &(cb, vb) in &y {
                            let both = self.store.and(ca, cb);
                            let c = self.store.and(cond, both);
                            let v = va.wrapping_add(vb) & (u64::MAX >> (64 - width as u32));
                            match out.iter().position(|l| l.1 == v) {
                                _ if self.store.as_bool(c) == Some(false) => {}
                                Some(i) => out[i].0 = self.store.or(out[i].0, c),
                                None => out.push((c, v)),
                            }
                        }
                    }
                }
                _ => return None,
            }
        }
        out.sort_by_key(|l| l.1);
        Some(out)
    }

    /// The select among values whose conditions exclude each other and cover everything.
    pub fn choose(&mut self, options: &[(TermId, Val)], width: u8) -> Val {
        let mut it = options.iter().rev();
        let Some(&(_, mut v)) = it.next() else {
            return Val::Unset;
        };
        for &(c, x) in it {
            v = self.select(c, x, v, width);
        }
        v
    }
}
