//! Smart constructors of bit vectors.
//!
//! A bit vector is kept as the concatenation of the fields that it consists of: constants, bytes
//! of inputs, encodings of reals, bits of something opaque. Fields that fit together again are
//! joined, so packing and unpacking give back the same term.

use num_bigint::BigInt;
use num_traits::{ToPrimitive, Zero};

use super::view::{self, BitsOp, ICmp, Term, node};
use super::{ArrayId, Sort, TermId, TermStore};
use crate::scalar::Fmt;

/// The low `width` bits set.
pub(super) fn mask(width: u8) -> u64 {
    u64::MAX >> ((64 - width as u32) & 63)
}

/// Sign-extends a `width`-bit value.
pub fn sext(value: u64, width: u8) -> i64 {
    let s = (64 - width as u32) & 63;
    ((value << s) as i64) >> s
}

impl TermStore {
    /// A bit-vector constant; bits above the width are dropped.
    pub fn bits(&mut self, width: u8, value: u64) -> TermId {
        let v = value & mask(width);
        let n = node(
            view::BITS_CONST,
            0,
            width as u16,
            0,
            v as u32,
            (v >> 32) as u32,
        );
        self.insert(n, true)
    }

    /// Bytes of an input array.
    pub fn bytes(&mut self, array: ArrayId, off: u64, width: u8) -> TermId {
        let n = node(
            view::BYTES,
            0,
            width as u16,
            array.0,
            off as u32,
            (off >> 32) as u32,
        );
        self.insert_input(n)
    }

    /// An unknown that nothing else equals.
    pub fn fresh(&mut self, width: u8, serial: u32) -> TermId {
        self.insert(node(view::FRESH, 0, width as u16, serial, 0, 0), true)
    }

    /// Uninitialised bits, read at the place with this number.
    pub fn poison(&mut self, width: u8, site: u32) -> TermId {
        let n = node(view::POISON, 0, width as u16, site, 0, 0);
        self.insert(n, false)
    }

    /// The encoding of a real in a format. The encoding of an element in its own format is the
    /// element's bytes.
    pub fn of_real(&mut self, fmt: Fmt, real: TermId) -> TermId {
        match self.get(real) {
            Term::Elem { array, fmt: f, off } if f == fmt && array != ArrayId::CONSTANTS => {
                return self.bytes(array, off, fmt.bits() as u8);
            }
            Term::Const(c) => {
                if let Some(v) = super::encode_exact(fmt, self.constant(c)) {
                    return self.bits(fmt.bits() as u8, v);
                }
            }
            Term::Inf { neg } => {
                let v = match fmt {
                    Fmt::F16 => Some(0x7c00u64),
                    Fmt::Bf16 => Some(0x7f80),
                    Fmt::F32 => Some(0x7f80_0000),
                    Fmt::F64 => Some(0x7ff0 << 48),
                    _ => None,
                };
                if let Some(v) = v {
                    let sign = (neg as u64) << (fmt.bits() - 1);
                    return self.bits(fmt.bits() as u8, v | sign);
                }
            }
            Term::OfBits { fmt: f, bits } if f == fmt => return bits,
            Term::Made(_) => {
                if let Some(bits) = self.moved(fmt, real) {
                    return bits;
                }
            }
            _ => {}
        }
        let (w, total) = (fmt.bits() as u16, self.is_total(real));
        self.insert(node(view::OF_REAL, fmt as u8, w, real.0, 0, 0), total)
    }

    /// Concatenation, low bits first; adjacent constants, bytes and fields are joined.
    pub fn concat(&mut self, parts: &[TermId]) -> TermId {
        let mut flat: Vec<TermId> = Vec::new();
        for &p in parts {
            match self.get(p) {
                Term::Concat(l) => flat.extend(l.iter().map(|&i| TermId(i))),
                _ => flat.push(p),
            }
        }
        let mut out: Vec<TermId> = Vec::new();
        for p in flat {
            match out.last().and_then(|&last| self.join(last, p)) {
                Some(j) => *out.last_mut().expect("joined with the last") = j,
                None => out.push(p),
            }
        }
        if let [one] = out[..] {
            return one;
        }
        let width: u16 = out.iter().map(|&t| self.nodes[t.0 as usize].width).sum();
        let total = out.iter().all(|&t| self.is_total(t));
        let start = self.lists.len();
        self.lists.extend(out.iter().map(|t| t.0));
        self.insert_list((view::CONCAT, width), start, total)
    }

    fn join(&mut self, low: TermId, high: TermId) -> Option<TermId> {
        let (Sort::Bits(wl), Sort::Bits(wh)) = (self.sort(low), self.sort(high)) else {
            return None;
        };
        if wl + wh > 64 {
            return None;
        }
        if let (Some((array, at, _)), Some((a2, at2, _))) =
            (self.input_field(low), self.input_field(high))
        {
            let joins = array == a2 && at.checked_add(wl as u64) == Some(at2);
            return if joins {
                self.field_of_input(array, at, wl + wh)
            } else {
                None
            };
        }
        match (self.get(low), self.get(high)) {
            (Term::BitsConst { value: a, .. }, Term::BitsConst { value: b, .. }) => {
                Some(self.bits(wl + wh, a | b << wl))
            }
            (Term::Poison { site, .. }, Term::Poison { site: s2, .. }) if site == s2 => {
                Some(self.poison(wl + wh, site))
            }
            (Term::OfBool { p, .. }, Term::BitsConst { value: 0, .. }) => {
                Some(self.of_bool(wl + wh, p))
            }
            (
                Term::Extract {
                    bits,
                    low: l1,
                    width: w1,
                },
                Term::Extract {
                    bits: b2,
                    low: l2,
                    width: w2,
                },
            ) if bits == b2 && l1 + w1 == l2 => Some(self.extract(bits, l1, w1 + w2)),
            _ => None,
        }
    }

    /// Array, first bit and width of a term that is a run of bits of an input array.
    pub(super) fn input_field(&self, t: TermId) -> Option<(ArrayId, u64, u8)> {
        let (bits, low, width) = match self.get(t) {
            Term::Extract { bits, low, width } => (bits, low, Some(width)),
            _ => (t, 0, None),
        };
        match self.get(bits) {
            Term::Bytes {
                array,
                off,
                width: w,
            } => {
                let at = off.checked_mul(8)?.checked_add(low as u64)?;
                Some((array, at, width.unwrap_or(w)))
            }
            _ => None,
        }
    }

    /// `width` bits of an input array from a bit on, as part of the fewest bytes that hold them;
    /// `None` if these are more than eight.
    pub(super) fn field_of_input(&mut self, array: ArrayId, at: u64, width: u8) -> Option<TermId> {
        let (first, low) = (at / 8, (at % 8) as u8);
        let whole = (low + width).next_multiple_of(8);
        if whole > 64 {
            return None;
        }
        let bytes = self.bytes(array, first, whole);
        if whole == width {
            return Some(bytes);
        }
        let n = node(view::EXTRACT, low, width as u16, bytes.0, 0, 0);
        Some(self.insert(n, true))
    }

    /// `width` bits of `bits` from bit `low`.
    pub fn extract(&mut self, bits: TermId, low: u8, width: u8) -> TermId {
        let Sort::Bits(w) = self.sort(bits) else {
            return self.undefined();
        };
        if low == 0 && width == w {
            return bits;
        }
        match self.get(bits) {
            Term::BitsConst { value, .. } => return self.bits(width, value >> low),
            Term::Poison { site, .. } => return self.poison(width, site),
            Term::Bytes { array, off, .. } => {
                let at = off.checked_mul(8).map(|b| b + low as u64);
                if let Some(t) = at.and_then(|at| self.field_of_input(array, at, width)) {
                    return t;
                }
            }
            Term::Extract {
                bits: b, low: l, ..
            } => return self.extract(b, l + low, width),
            Term::OfReal { fmt, real } => {
                if let Some(known) = self.machine_bits(fmt, real) {
                    return self.bits(width, known >> low);
                }
            }
            Term::BitsSelect(p, a, b) if !self.is_branching(a) && !self.is_branching(b) => {
                let (x, y) = (self.extract(a, low, width), self.extract(b, low, width));
                return self.select(p, x, y);
            }
            Term::OfBool { p, .. } if low == 0 => return self.of_bool(width, p),
            Term::OfBool { .. } => return self.bits(width, 0),
            Term::BitsOp(BitsOp::AShr, ..) => {
                if let Some(t) = self.extract_extended(bits, low, width) {
                    return t;
                }
            }
            Term::Clamp { signed, real, .. } if low == 0 => {
                if let Some(signed) = self.kept_signed(signed, width, real) {
                    return self.clamp(width, signed, real);
                }
            }
            Term::BitsOp(..) if low + width < w && self.has_hole(bits) => {
                if let Some(t) = self.low_part(bits, low + width) {
                    return self.extract(t, low, width);
                }
            }
            Term::Concat(l) => {
                let parts: Vec<TermId> = l.iter().map(|&i| TermId(i)).collect();
                let (mut at, mut out) = (0u8, Vec::new());
                for p in parts {
                    let Sort::Bits(pw) = self.sort(p) else {
                        continue;
                    };
                    let (lo, hi) = (low.max(at), (low + width).min(at + pw));
                    if lo < hi {
                        let e = self.extract(p, lo - at, hi - lo);
                        out.push(e);
                    }
                    at += pw;
                }
                return self.concat(&out);
            }
            _ => {}
        }
        let total = self.is_total(bits);
        let n = node(view::EXTRACT, low, width as u16, bits.0, 0, 0);
        self.insert(n, total)
    }

    /// The bits that a register holds for a known number that was rounded on its way, if they can be only
    /// these. The halves of a 64-bit number are moved one by one and meet again as that number over the
    /// reals, so they stay parts of it.
    fn machine_bits(&self, fmt: Fmt, real: TermId) -> Option<u64> {
        if fmt == Fmt::F64 {
            return None;
        }
        let (values, _) = self.held(real)?;
        let [only] = values[..] else { return None };
        let only = self.as_const(only).filter(|q| !q.is_zero())?;
        super::encode_exact(fmt, only)
    }

    /// Arithmetic or logic on two bit vectors of one width. Division by a constant zero stays as
    /// it is.
    pub fn bits_op(&mut self, op: BitsOp, a: TermId, b: TermId) -> TermId {
        let Sort::Bits(w) = self.sort(a) else {
            return self.undefined();
        };
        if let (Some(x), Some(y)) = (self.as_bits(a), self.as_bits(b))
            && let Some(v) = fold_bits(op, w, x, y)
        {
            return self.bits(w, v);
        }
        for (x, y, flipped) in [(a, b, false), (b, a, true)] {
            let Some(c) = self.as_bits(y) else { continue };
            let ones = c == mask(w);
            match op {
                BitsOp::Add | BitsOp::Or | BitsOp::Xor if c == 0 => return x,
                BitsOp::And if ones => return x,
                BitsOp::And | BitsOp::Mul if c == 0 && self.is_some_bits(x) => return y,
                BitsOp::Or if ones && self.is_some_bits(x) => return y,
                BitsOp::Mul if c.is_power_of_two() => return self.shift_left(x, c.ilog2() as u8),
                BitsOp::UDiv if !flipped && c.is_power_of_two() => {
                    return self.shift_right(x, c.ilog2() as u8);
                }
                BitsOp::URem if !flipped && c.is_power_of_two() && self.is_total(x) => {
                    let low = c.ilog2() as u8;
                    if low == 0 {
                        return self.bits(w, 0);
                    }
                    let e = self.extract(x, 0, low);
                    return self.zero_extend(e, w);
                }
                BitsOp::SDiv if !flipped && c == 1 => return x,
                BitsOp::Shl if !flipped && c < w as u64 => return self.shift_left(x, c as u8),
                BitsOp::LShr if !flipped && c < w as u64 => return self.shift_right(x, c as u8),
                BitsOp::AShr if !flipped => {
                    return self.shift_right_signed(x, c.min(w as u64) as u8);
                }
                BitsOp::Shl | BitsOp::LShr if !flipped && c >= w as u64 && self.is_total(x) => {
                    return self.bits(w, 0);
                }
                _ => {}
            }
        }
        if matches!(op, BitsOp::And | BitsOp::Or | BitsOp::Xor | BitsOp::Add)
            && let Some(t) = self.by_fields(op, w, a, b)
        {
            return t;
        }
        self.op_node(op, w, a, b)
    }

    /// True if a term is bits, though perhaps unknown ones: memory that was never written holds
    /// something, which a mask can remove. A value that depends on an undefined real is not.
    pub(super) fn is_some_bits(&self, t: TermId) -> bool {
        let field = |t| self.is_total(t) || matches!(self.get(t), Term::Poison { .. });
        match self.get(t) {
            Term::Concat(parts) => parts.iter().all(|&p| field(TermId(p))),
            _ => field(t),
        }
    }

    /// The node of an operation after the rules that look at its operands only.
    pub(super) fn op_node(&mut self, op: BitsOp, w: u8, a: TermId, b: TermId) -> TermId {
        let result = self.simplified(op, w, a, b);
        self.note_meeting(a, b, result)
    }

    fn simplified(&mut self, op: BitsOp, w: u8, a: TermId, b: TermId) -> TermId {
        if a == b {
            match op {
                BitsOp::And | BitsOp::Or => return a,
                BitsOp::Xor if self.is_total(a) => return self.bits(w, 0),
                _ => {}
            }
        }
        // match `(p ^ q) ^ p` with p total; result `q`; because p ^ p = 0 and 0 is neutral.
        if op == BitsOp::Xor {
            for (x, y) in [(a, b), (b, a)] {
                if let Some(t) = self.undone(x, y) {
                    return t;
                }
                let Term::BitsOp(BitsOp::Xor, p, q) = self.get(x) else {
                    continue;
                };
                if y == p && self.is_total(p) {
                    return q;
                }
                if y == q && self.is_total(q) {
                    return p;
                }
            }
        }
        // (x op c) op d = x op (c op d).
        if op.is_commutative() {
            for (x, y) in [(a, b), (b, a)] {
                let (Some(d), Term::BitsOp(inner, p, q)) = (self.as_bits(y), self.get(x)) else {
                    continue;
                };
                if inner != op {
                    continue;
                }
                for (z, k) in [(p, q), (q, p)] {
                    if let Some(c) = self.as_bits(k)
                        && let Some(v) = fold_bits(op, w, c, d)
                    {
                        let neutral = if op == BitsOp::And { mask(w) } else { 0 };
                        if v == neutral && op != BitsOp::Mul {
                            return z;
                        }
                        let k = self.bits(w, v);
                        return self.insert_op(op, w, z, k);
                    }
                }
            }
        }
        // x + (-1) * x = 0, and of a field of x it is what is left.
        if op == BitsOp::Add {
            for (x, y) in [(a, b), (b, a)] {
                let Term::BitsOp(BitsOp::Mul, p, q) = self.get(y) else {
                    continue;
                };
                let taken = match (self.as_bits(p), self.as_bits(q)) {
                    (_, Some(c)) if c == mask(w) => p,
                    (Some(c), _) if c == mask(w) => q,
                    _ => continue,
                };
                if taken == x && self.is_total(x) {
                    return self.bits(w, 0);
                }
                if let Some(rest) = self.without_low_field(x, taken) {
                    return rest;
                }
            }
        }
        self.insert_op(op, w, a, b)
    }

    pub(super) fn insert_op(&mut self, op: BitsOp, w: u8, a: TermId, b: TermId) -> TermId {
        let (a, b) = if op.is_commutative() && a > b {
            (b, a)
        } else {
            (a, b)
        };
        let total = self.is_total(a)
            && self.is_total(b)
            && !matches!(
                op,
                BitsOp::UDiv | BitsOp::SDiv | BitsOp::URem | BitsOp::SRem
            );
        let n = node(view::BITS_OP, op as u8, w as u16, a.0, b.0, 0);
        self.insert(n, total)
    }

    /// 1 or 0 in `width` bits.
    pub fn of_bool(&mut self, width: u8, p: TermId) -> TermId {
        if let Some(b) = self.as_bool(p) {
            return self.bits(width, b as u64);
        }
        let total = self.is_total(p);
        self.insert(node(view::OF_BOOL, 0, width as u16, p.0, 0, 0), total)
    }

    /// Whether the integers of a narrower type that hold all values of a real have signs, if there are such.
    ///
    /// match the lowest bits of an integer that a real was clamped to; result the real clamped to a type of as many bits;
    /// because within its range both are the bits of the real.
    fn kept_signed(&self, signed: bool, width: u8, real: TermId) -> Option<bool> {
        let bounds = self.bounds(real);
        let (lo, hi) = (
            bounds.lo?.floor().to_integer(),
            bounds.hi?.ceil().to_integer(),
        );
        let holds = |signed: bool| {
            let half = BigInt::from(1u64) << (width - 1) as usize;
            match signed {
                true => -&half <= lo && hi < half,
                false => lo.sign() != num_bigint::Sign::Minus && hi < half * 2,
            }
        };
        [signed, !signed].into_iter().find(|&s| holds(s))
    }

    /// An integral real as an integer of a type, clamped to its range.
    pub fn clamp(&mut self, width: u8, signed: bool, real: TermId) -> TermId {
        let (lo, hi) = if signed {
            (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1)
        } else {
            (0, (1i128 << width) - 1)
        };
        match self.get(real) {
            Term::Const(c) if self.constant(c).is_integer() => {
                let i = self.constant(c).to_integer();
                let v = i.clamp(BigInt::from(lo), BigInt::from(hi));
                let v = v.to_i128().unwrap_or(0);
                return self.bits(width, v as u64);
            }
            Term::Inf { neg } => {
                let v = if neg { lo } else { hi };
                return self.bits(width, v as u64);
            }
            Term::OfInt { signed: s, bits }
                if s == signed && self.sort(bits) == Sort::Bits(width) =>
            {
                return bits;
            }
            _ => {}
        }
        let total = self.is_total(real);
        let n = node(view::CLAMP, signed as u8, width as u16, real.0, 0, 0);
        self.insert(n, total)
    }
}

/// What a comparison of known bits of a width says.
pub fn fold_compare(op: ICmp, w: u8, x: u64, y: u64) -> bool {
    match op {
        ICmp::Eq => x == y,
        ICmp::ULt => x < y,
        ICmp::ULe => x <= y,
        ICmp::SLt => sext(x, w) < sext(y, w),
        ICmp::SLe => sext(x, w) <= sext(y, w),
    }
}

/// An operation on constants of a width; the result may have bits above it. `None` for a division
/// by zero.
pub fn fold_bits(op: BitsOp, w: u8, x: u64, y: u64) -> Option<u64> {
    let (sx, sy) = (sext(x, w), sext(y, w));
    Some(match op {
        BitsOp::Add => x.wrapping_add(y),
        BitsOp::Mul => x.wrapping_mul(y),
        BitsOp::And => x & y,
        BitsOp::Or => x | y,
        BitsOp::Xor => x ^ y,
        BitsOp::Shl if y >= w as u64 => 0,
        BitsOp::Shl => x << y,
        BitsOp::LShr if y >= w as u64 => 0,
        BitsOp::LShr => x >> y,
        BitsOp::AShr => (sx >> y.min(w as u64 - 1)) as u64,
        _ if y == 0 => return None,
        BitsOp::UDiv => x / y,
        BitsOp::SDiv => sx.wrapping_div(sy) as u64,
        BitsOp::URem => x % y,
        BitsOp::SRem => sx.wrapping_rem(sy) as u64,
    })
}
