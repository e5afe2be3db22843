//! Numbers, as the machine computes with them.

use std::sync::Arc;

use crate::kernel::{FloatMods, FloatOp, Fmt, MatTy, NumTy, Op, Pc, Rnd, Src};
use crate::number::{self, Float, Narrowing};
use crate::sim::machine::{Core, Spaces};
use crate::sim::memory::{Region, RegionKind};
use crate::sim::val::Val;
use crate::sim::value::{Single, Values};
use crate::sim::warp::LANES;
use crate::sim::wobble;
use crate::term::{ArrayId, Term, TermId};

use super::Memory;

impl Memory {
    /// What a CTA leaves.
    fn of(mut regions: Vec<Region>, values: &mut Values) -> Memory {
        let mut open = Vec::new();
        for r in &mut regions {
            let known = r.keep_known(values);
            if let (false, RegionKind::Array(a)) = (known, r.kind) {
                open.push(a);
            }
        }
        Memory {
            regions: Arc::new(regions),
            open,
        }
    }

    /// True if everything that was written is known.
    pub fn is_known(&self) -> bool {
        self.open.is_empty()
    }

    /// The bytes of an array from its first one, none where nothing is; `None` if some are not known.
    pub fn bytes(&self, array: ArrayId, count: u64) -> Option<Vec<Option<u8>>> {
        if self.open.contains(&array) {
            return None;
        }
        let mut regions = self.regions.iter();
        let region = regions.find(|r| r.kind == RegionKind::Array(array));
        let byte = |at| region.and_then(|r| r.known_byte(at));
        Some((0..count).map(byte).collect())
    }

    /// The bits of at most 8 bytes of an array; `None` if some are not known.
    pub fn word(&self, array: ArrayId, off: u64, bytes: u64) -> Option<u64> {
        if self.open.contains(&array) {
            return None;
        }
        let mut regions = self.regions.iter();
        let region = regions.find(|r| r.kind == RegionKind::Array(array))?;
        let mut all = (off..off.checked_add(bytes)?).rev();
        all.try_fold(0, |v, at| Some(v << 8 | u64::from(region.known_byte(at)?)))
    }
}

impl Spaces {
    /// Starts from what other CTAs left.
    pub(in crate::sim) fn start_from(&mut self, memory: &Memory) {
        for old in memory.regions.iter() {
            let same = self.regions.iter_mut().find(|r| r.kind == old.kind);
            if let Some(region) = same {
                *region = old.clone();
                region.begin();
            }
        }
    }
}

impl Core<'_> {
    /// The arrays, once the CTA has ended.
    pub(in crate::sim) fn left(&mut self) -> Memory {
        let arrays = self.memory.regions.drain(..);
        let arrays = arrays.filter(|r| matches!(r.kind, RegionKind::Array(_)));
        Memory::of(arrays.collect(), &mut self.values)
    }

    /// Computes a float operation in the lanes whose operands are known; gives these lanes.
    pub(in crate::sim) fn float_numbers(
        &mut self,
        (w, pc): (usize, Pc),
        exec: u32,
        op: &Op,
    ) -> u32 {
        let Op::Float {
            op,
            fmt,
            src_fmt,
            lanes: parts,
            mods,
            dst,
            src,
        } = op
        else {
            return 0;
        };
        // What the manual leaves to the device is known to no word, nor a product that a compiler may join.
        let words = self.values.words.as_ref();
        if words.is_some_and(|w| w.unfolded || mods.approx || w.may_join(*op)) {
            return 0;
        }
        let known = exec & !src.iter().fold(0, |m, s| m | self.threads.symbolic(w, *s));
        if known == 0 {
            return 0;
        }
        let words = src.map(|s: Src| self.words(w, s));
        let given = words.each_ref();
        let formats = (*fmt, *src_fmt);
        let mut out = [0; LANES];
        let mut wobble = self.values.wobble.take();
        let done = match wobble.as_mut().filter(|w| w.is_at(pc)) {
            None => {
                number::operation_in_lanes(*op, formats, *parts, mods, (known, given), &mut out)
            }
            Some(wobble) => {
                let one = |words| wobbled(*op, formats, mods, words, wobble.coin());
                number::each_packed((*fmt, *parts), (known, given), &mut out, one)
            }
        };
        self.values.wobble = wobble;
        self.threads.warps[w].set_words(*dst, done, &out);
        done
    }

    /// A conversion of known bits, as the destination register holds it.
    pub(in crate::sim) fn cvt_number(&mut self, pc: Pc, op: &Op, bits: u64) -> Option<Val> {
        let Op::Cvt {
            from,
            to,
            rnd,
            sat,
            satfinite,
            relu,
            ftz,
            dst,
            ..
        } = op
        else {
            return None;
        };
        let wobble = self.values.wobble.as_mut().filter(|w| w.is_at(pc));
        let up = wobble
            .filter(|_| wobble::is_narrowing(op))
            .map(|w| w.coin());
        let rnd = match up {
            Some(true) => Rnd::Rp,
            Some(false) => Rnd::Rm,
            None => *rnd,
        };
        let how = Narrowing {
            rnd,
            sat: *sat,
            satfinite: *satfinite,
            relu: *relu,
            ftz: *ftz,
        };
        let width = self.width(*dst);
        Some(Val::Conc(match (*from, *to) {
            (NumTy::Float(f), NumTy::Float(t)) => {
                number::float_to_float(f, t, &how, low(bits, f.bits()))?
            }
            (NumTy::Float(f), NumTy::Int(t)) => {
                let n = number::float_to_int(f, t, &how, low(bits, f.bits()));
                crate::sim::int::cvt_int(t, t, false, n, width)
            }
            (NumTy::Int(f), NumTy::Float(t)) => {
                number::int_to_float(f, t, &how, low(bits, f.width.into()))?
            }
            (NumTy::Int(_), NumTy::Int(_)) => return None,
        }))
    }
}

/// An operation that is rounded up or down.
fn wobbled(
    op: FloatOp,
    formats: (Fmt, Fmt),
    mods: &FloatMods,
    given: [u64; 3],
    up: bool,
) -> Option<u64> {
    match wobble::directed(op, mods, up) {
        Some(mods) => number::operation(op, formats, &mods, given),
        None => {
            let bits = number::operation(op, formats, mods, given)?;
            Some(match wobble::is_approximate(op, mods) {
                true => wobble::neighbour(formats.0, bits, up),
                false => bits,
            })
        }
    }
}

/// The low bits of a word.
fn low(bits: u64, n: u32) -> u64 {
    bits & (u64::MAX >> (64 - n))
}

impl Values {
    /// A float of a format, where its bits are known.
    pub(in crate::sim) fn known_float(&self, v: Val, fmt: Fmt) -> Option<Float> {
        match v {
            Val::Conc(bits) if self.numbers => Some(number::decode(fmt, low(bits, fmt.bits()))),
            _ => None,
        }
    }

    /// True of the instruction that rounds up or down at random.
    pub(in crate::sim) fn wobbles(&self, pc: Pc) -> bool {
        self.wobble.as_ref().is_some_and(|w| w.is_at(pc))
    }

    /// True if floats are words, and so is what rounds known ones.
    pub(in crate::sim) fn is_unfolded(&self) -> bool {
        self.words.as_ref().is_some_and(|w| w.unfolded)
    }

    /// A float of known bits rounded to a narrow format, and packed floats of one to those of another.
    pub(in crate::sim) fn narrow_number(
        &self,
        (from, to): (Fmt, Fmt),
        how: &Narrowing,
        v: Val,
    ) -> Option<u64> {
        match v {
            Val::Conc(bits) if !self.is_unfolded() => {
                number::float_to_float(from, to, how, low(bits, from.bits()))
            }
            _ => None,
        }
    }

    /// An operand of a matrix instruction as it reads it: of tf32 the bits below its fraction are ignored.
    pub(in crate::sim) fn matrix_bits(&self, v: Val, ty: MatTy) -> Val {
        match (v, ty) {
            (Val::Conc(bits), MatTy::Float(Fmt::Tf32)) => Val::Conc(bits & !0x1fff),
            _ => v,
        }
    }

    /// The sum of an accumulator and of products, where all of them are known.
    pub(in crate::sim) fn total(
        &mut self,
        fmt: Fmt,
        c: Val,
        products: &[(TermId, TermId)],
    ) -> Option<Val> {
        if !self.numbers || self.words.is_some() {
            return None;
        }
        let c = match c {
            Val::Real(_, t) => self.constant_float(t)?,
            v => self.known_float(v, fmt)?,
        };
        if fmt != Fmt::F64
            && let Some(start) = c.to_double()
        {
            let mut singles = true;
            let factors = products.iter().map(|&(x, y)| {
                let both = [x, y].map(|t| self.single(t));
                singles &= both.iter().all(Option::is_some);
                both.map(|x| x.unwrap_or(0.0)).into()
            });
            let sum = number::total_of_doubles(fmt, start, factors);
            if let Some(bits) = sum.filter(|_| singles) {
                return Some(Val::Conc(bits));
            }
        }
        let products: Option<Vec<(Float, Float)>> = products
            .iter()
            .map(|&(x, y)| Some((self.constant_float(x)?, self.constant_float(y)?)))
            .collect();
        number::total(fmt, c, &products?).map(Val::Conc)
    }

    /// A term that is a finite number of single precision, as a double.
    fn single(&mut self, t: TermId) -> Option<f64> {
        let at = t.0 as usize;
        if self.singles.len() <= at {
            self.singles.resize(at + 1, Single::Unasked);
        }
        if let Single::Unasked = self.singles[at] {
            let known = self.constant_float(t).and_then(Float::to_double);
            self.singles[at] = match known.filter(|&x| f64::from(x as f32) == x) {
                Some(x) => Single::Number(x),
                None => Single::Other,
            };
        }
        match self.singles[at] {
            Single::Number(x) => Some(x),
            Single::Unasked | Single::Other => None,
        }
    }

    /// A real as a register holds it: on numbers, as its bits.
    pub(in crate::sim) fn real_number(&self, fmt: Fmt, t: TermId) -> Val {
        let known = self.numbers.then(|| self.constant_float(t)).flatten();
        let bits = known.and_then(|x| x.encode(fmt, Rnd::Rn));
        bits.map_or(Val::Real(fmt, t), Val::Conc)
    }

    /// A term that is a known number.
    fn constant_float(&self, t: TermId) -> Option<Float> {
        use crate::number::Decoded;
        let float = |negative, value| Some(Float { negative, value });
        match self.store.get(t) {
            Term::Const(c) => {
                let q = self.store.constant(c);
                let negative = num_traits::Signed::is_negative(q);
                let (n, d) = (q.numer().magnitude(), q.denom().magnitude());
                if n.bits() == 0 {
                    return float(false, Decoded::Zero);
                }
                let zeros = n.trailing_zeros().unwrap_or(0);
                let mantissa = u64::try_from(n >> zeros).ok()?;
                // Every float is an integer by a power of two.
                let power = d.bits().checked_sub(1)?;
                if d.trailing_zeros() != Some(power) {
                    return None;
                }
                let exponent = i32::try_from(zeros as i64 - power as i64).ok()?;
                float(negative, Decoded::Finite { mantissa, exponent })
            }
            Term::Inf { neg } => float(neg, Decoded::Infinite),
            Term::Undefined => float(false, Decoded::Nan),
            _ => None,
        }
    }

    /// What an atomic on floats leaves.
    pub(in crate::sim) fn atomic_number(
        &self,
        op: crate::kernel::AtomOp,
        (fmt, parts): (Fmt, u8),
        [old, b]: [Val; 2],
    ) -> Option<Val> {
        use crate::kernel::AtomOp;
        let (Val::Conc(x), Val::Conc(y), true) = (old, b, self.numbers) else {
            return None;
        };
        let op = match op {
            AtomOp::Add => FloatOp::Add,
            AtomOp::Min => FloatOp::Min,
            AtomOp::Max => FloatOp::Max,
            _ => return None,
        };
        let mods = FloatMods {
            rnd: Rnd::Rn,
            ..FloatMods::default()
        };
        number::packed(op, (fmt, fmt), parts, &mods, [x, y, 0]).map(Val::Conc)
    }

    /// The float extremum of two lanes.
    pub(in crate::sim) fn lane_extremum(
        &self,
        op: FloatOp,
        fmt: Fmt,
        [abs, nan]: [bool; 2],
        v: [Val; 2],
    ) -> Option<Val> {
        let [Val::Conc(x), Val::Conc(y)] = v else {
            return None;
        };
        let mods = FloatMods {
            abs,
            nan,
            ..FloatMods::default()
        };
        let r = self
            .numbers
            .then(|| number::operation(op, (fmt, fmt), &mods, [x, y, 0]));
        r.flatten().map(Val::Conc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_computed_apart() {
        let mods = FloatMods::default();
        // 1 + 2 and -1 + 1 in f16.
        let r = number::packed(
            FloatOp::Add,
            (Fmt::F16, Fmt::F16),
            2,
            &mods,
            [0xbc00_3c00, 0x3c00_4000, 0],
        );
        assert_eq!(r, Some(0x4200));
    }
}
