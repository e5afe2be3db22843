//! Lane-wise operations of a warp whose operands are plain bits in all lanes.
//!
//! The problem: choosing, packing, comparing and converting went lane by lane through values that may be terms, and on
//! numbers, where nothing is one, a packed result was a term for each lane. The way: an operation all of whose operands are
//! plain bits is a function of words, computed here for the whole warp.
//!
//! Not claimed: floats, but in a run on numbers; elsewhere comparing and rounding known floats asks more than the machine's
//! result. What is not computed here is left to the general forms, which give the same.

use crate::kernel::{BoolOp, Fmt, Guard, NumTy, Op, Pc, RegId, Src};
use crate::number::{self, Narrowing};

use super::compare::bool_op;
use super::convert::packed_bits;
use super::int;
use super::machine::{Core, Threads};
use super::val::Val;
use super::value::Values;
use super::warp::{LANES, lanes};

/// The words of a register.
type Words = [u64; LANES];

/// The low bits of a word.
fn low(bits: u64, n: u8) -> u64 {
    bits & int::mask(n)
}

impl Values {
    /// True if floats of known bits are numbers and nothing else.
    fn computes_floats(&self) -> bool {
        self.numbers && self.words.is_none()
    }
}

impl Threads {
    /// Lanes in which a predicate holds, if it is plain in all of them.
    fn plain_guard(&self, w: usize, exec: u32, g: Guard) -> Option<u32> {
        let warp = &self.warps[w];
        (warp.symbolic(g.reg) & exec == 0).then(|| warp.holds(g))
    }

    /// Writes a predicate.
    fn write_bits(&mut self, w: usize, exec: u32, dst: Option<RegId>, bits: u32) {
        if let Some(dst) = dst {
            let words: Words = std::array::from_fn(|i| u64::from(bits >> i & 1));
            self.warps[w].set_words(dst, exec, &words);
        }
    }

    /// What truth values are combined with, if anything.
    fn combination(
        &self,
        w: usize,
        exec: u32,
        combine: Option<(BoolOp, Guard)>,
    ) -> Option<impl Fn(u32) -> u32 + use<>> {
        let with = match combine {
            Some((op, g)) => Some((op, self.plain_guard(w, exec, g)?)),
            None => None,
        };
        Some(move |r| with.map_or(r, |(op, g)| bool_op(op, r, g)))
    }
}

impl Core<'_> {
    /// Computes an operation in the lanes `exec`; false if it is left to the general form.
    pub(super) fn compute_known(&mut self, w: usize, exec: u32, pc: Pc, op: &Op) -> bool {
        let done = match op {
            Op::Selp { dst, a, b, p, .. } => self.select_known(w, exec, *dst, ([*a, *b], *p)),
            Op::Pack { dst, part, srcs } => self.pack_known(w, exec, *dst, (*part, srcs)),
            Op::Unpack { dsts, part, src } => self.unpack_known(w, exec, dsts, (*part, *src)),
            Op::Setp { .. } => self.setp_known(w, exec, op),
            Op::Set { .. } => self.set_known(w, exec, op),
            Op::Cvt { .. } | Op::CvtNarrow { .. } | Op::CvtUnpack2 { .. } => {
                self.convert_known(w, exec, pc, op)
            }
            _ => None,
        };
        done.is_some()
    }

    /// The words of an operand, if it is plain bits in the lanes.
    fn known_words(&self, w: usize, exec: u32, s: Src) -> Option<Words> {
        (self.threads.symbolic(w, s) & exec == 0).then(|| self.words(w, s))
    }

    /// Writes lanes of a register, cut to its width.
    fn write_known(&mut self, w: usize, exec: u32, dst: RegId, mut words: Words) {
        let keep = int::mask(self.width(dst));
        for word in &mut words {
            *word &= keep;
        }
        self.threads.warps[w].set_words(dst, exec, &words);
    }

    fn select_known(
        &mut self,
        w: usize,
        exec: u32,
        dst: RegId,
        ([a, b], p): ([Src; 2], Guard),
    ) -> Option<()> {
        let yes = self.threads.plain_guard(w, exec, p)?;
        let (a, b) = (self.known_words(w, exec, a)?, self.known_words(w, exec, b)?);
        let words = std::array::from_fn(|i| if yes >> i & 1 == 1 { a[i] } else { b[i] });
        self.write_known(w, exec, dst, words);
        Some(())
    }

    fn pack_known(
        &mut self,
        w: usize,
        exec: u32,
        dst: RegId,
        (part, srcs): (u8, &[Src]),
    ) -> Option<()> {
        let mut words = [0; LANES];
        for (k, s) in srcs.iter().enumerate() {
            let given = self.known_words(w, exec, *s)?;
            for (word, g) in words.iter_mut().zip(given) {
                *word |= low(g, part) << (k as u32 * u32::from(part));
            }
        }
        self.write_known(w, exec, dst, words);
        Some(())
    }

    fn unpack_known(
        &mut self,
        w: usize,
        exec: u32,
        dsts: &[Option<RegId>],
        (part, src): (u8, Src),
    ) -> Option<()> {
        let given = self.known_words(w, exec, src)?;
        for (k, d) in dsts.iter().enumerate() {
            let Some(d) = d else { continue };
            let shift = k as u32 * u32::from(part);
            self.write_known(w, exec, *d, given.map(|g| low(g >> shift, part)));
        }
        Some(())
    }

    /// The lanes in which a comparison holds, of each of the packed numbers.
    fn comparisons(
        &self,
        (w, exec): (usize, u32),
        (cmp, ty, parts, ftz): (crate::kernel::Cmp, NumTy, u8, bool),
        [a, b]: [Src; 2],
    ) -> Option<[u32; 2]> {
        let (a, b) = (self.known_words(w, exec, a)?, self.known_words(w, exec, b)?);
        let mut holds = [0, 0];
        match ty {
            NumTy::Int(t) if parts == 1 => {
                for (i, (&x, &y)) in a.iter().zip(&b).enumerate() {
                    holds[0] |= u32::from(int::compare(cmp, t, x, y)) << i;
                }
            }
            NumTy::Float(f) if self.values.computes_floats() => {
                let bits = f.bits() as u8;
                let given = |x: u64, k: usize| {
                    let x = low(x >> (k as u32 * f.bits()), bits);
                    if ftz { number::flushed(f, x) } else { x }
                };
                for (k, holds) in holds.iter_mut().enumerate().take(parts.into()) {
                    for i in lanes(exec) {
                        let r = number::compare(cmp, f, given(a[i], k), given(b[i], k));
                        *holds |= u32::from(r) << i;
                    }
                }
            }
            _ => return None,
        }
        Some(holds)
    }

    fn setp_known(&mut self, w: usize, exec: u32, op: &Op) -> Option<()> {
        let Op::Setp {
            cmp,
            ty,
            lanes: parts,
            ftz,
            combine,
            p,
            q,
            a,
            b,
        } = op
        else {
            return None;
        };
        let combined = self.threads.combination(w, exec, *combine)?;
        let how = (*cmp, *ty, *parts, *ftz);
        let [first, second] = self.comparisons((w, exec), how, [*a, *b])?;
        // Of packed numbers the two destinations are the two parts.
        let other = if *parts == 1 { !first } else { second };
        self.threads.write_bits(w, exec, *p, combined(first));
        self.threads.write_bits(w, exec, *q, combined(other));
        Some(())
    }

    fn set_known(&mut self, w: usize, exec: u32, op: &Op) -> Option<()> {
        let Op::Set {
            cmp,
            ty,
            dty,
            lanes: parts,
            ftz,
            combine,
            dst,
            a,
            b,
        } = op
        else {
            return None;
        };
        let combined = self.threads.combination(w, exec, *combine)?;
        let how = (*cmp, *ty, *parts, *ftz);
        let holds = self.comparisons((w, exec), how, [*a, *b])?.map(combined);
        let yes = match dty {
            NumTy::Float(f) => number::one(*f)?,
            NumTy::Int(t) => int::mask(t.width),
        };
        let mut words = [0; LANES];
        for (i, word) in words.iter_mut().enumerate() {
            for (k, holds) in holds.iter().enumerate().take((*parts).into()) {
                let bit = u64::from(holds >> i & 1);
                *word |= (bit * yes) << (k as u32 * dty.bits());
            }
        }
        self.write_known(w, exec, *dst, words);
        Some(())
    }

    fn convert_known(&mut self, w: usize, exec: u32, pc: Pc, op: &Op) -> Option<()> {
        match op {
            Op::Cvt {
                from: NumTy::Int(f),
                to: NumTy::Int(t),
                sat,
                dst,
                src,
                ..
            } => {
                let width = self.width(*dst);
                let given = self.known_words(w, exec, *src)?;
                let words = given.map(|b| int::cvt_int(*f, *t, *sat, b, width));
                self.write_known(w, exec, *dst, words);
            }
            Op::Cvt { dst, src, .. }
                if self.values.computes_floats() && !self.values.wobbles(pc) =>
            {
                let mut words = self.known_words(w, exec, *src)?;
                for i in lanes(exec) {
                    let Val::Conc(bits) = self.cvt_number(pc, op, words[i])? else {
                        return None;
                    };
                    words[i] = bits;
                }
                self.write_known(w, exec, *dst, words);
            }
            Op::CvtNarrow {
                from,
                to,
                rnd,
                satfinite,
                relu,
                dst,
                parts,
                ..
            } if self.values.computes_floats() => {
                let how = Narrowing {
                    rnd: *rnd,
                    satfinite: *satfinite,
                    relu: *relu,
                    ..Narrowing::default()
                };
                let mut words = [0; LANES];
                let each = u32::from(packed_bits(*to));
                for (k, s) in parts.iter().enumerate() {
                    let given = self.known_words(w, exec, *s)?;
                    for i in lanes(exec) {
                        let x = low(given[i], from.bits() as u8);
                        let x = number::float_to_float(*from, *to, &how, x)?;
                        words[i] |= low(x, packed_bits(*to)) << (k as u32 * each);
                    }
                }
                self.write_known(w, exec, *dst, words);
            }
            Op::CvtUnpack2 {
                from,
                to,
                relu,
                dst,
                src,
            } if self.values.computes_floats() => {
                let given = self.known_words(w, exec, *src)?;
                let words = widened_pairs(exec, (*from, *to), *relu, &given)?;
                self.write_known(w, exec, *dst, words);
            }
            _ => return None,
        }
        Some(())
    }
}

/// Two packed numbers of each word in a wider format.
fn widened_pairs(exec: u32, (from, to): (Fmt, Fmt), relu: bool, given: &Words) -> Option<Words> {
    let how = Narrowing {
        relu,
        ..Narrowing::default()
    };
    let mut words = [0; LANES];
    for i in lanes(exec) {
        for k in 0..2 {
            let x = low(
                given[i] >> (k * u32::from(packed_bits(from))),
                packed_bits(from),
            );
            words[i] |= number::float_to_float(from, to, &how, x)? << (k * to.bits());
        }
    }
    Some(words)
}
