//! Smart constructors: the only way to make a term.
//!
//! They fold constants, apply the identities that need no condition beyond those written here,
//! and put commutative operands into id order. A rule that drops an operand does so only when the
//! operand is total (defined and finite for all inputs), so that no definedness obligation is
//! lost.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};

use super::view::{self, BitsOp, Fun, ICmp, RCmp, Term, node};
use super::{ArrayId, Sort, TermId, TermStore, pow2};
use crate::kernel::Fmt;

/// The largest exponent for which a power of two of a constant is written out.
const MAX_POW2: i64 = 4096;

/// The low `width` bits set.
fn mask(width: u8) -> u64 {
    u64::MAX >> (64 - width as u32)
}

/// Sign-extends a `width`-bit value.
fn sext(value: u64, width: u8) -> i64 {
    let s = 64 - width as u32;
    ((value << s) as i64) >> s
}

impl TermStore {
    fn pair(&mut self, tag: u8, a: TermId, b: TermId) -> TermId {
        let (a, b) = if view::is_commutative(tag, 0) && a > b {
            (b, a)
        } else {
            (a, b)
        };
        let total = self.is_total(a) && self.is_total(b);
        self.insert(node(tag, 0, 0, a.0, b.0, 0), &[], total)
    }

    /// An infinity.
    pub fn infinity(&mut self, neg: bool) -> TermId {
        self.insert(node(view::INF, neg as u8, 0, 0, 0, 0), &[], false)
    }

    /// The undefined real.
    pub fn undefined(&mut self) -> TermId {
        self.insert(node(view::UNDEFINED, 0, 0, 0, 0, 0), &[], false)
    }

    /// An element of an input array.
    pub fn elem(&mut self, array: ArrayId, fmt: Fmt, off: u64) -> TermId {
        let n = node(
            view::ELEM,
            fmt as u8,
            0,
            array.0,
            off as u32,
            (off >> 32) as u32,
        );
        self.insert(n, &[], true)
    }

    fn inf_sign(&self, t: TermId) -> Option<bool> {
        match self.get(t) {
            Term::Inf { neg } => Some(neg),
            _ => None,
        }
    }

    /// a + b. `inf + x = inf` for total x; `inf - inf` is undefined.
    pub fn add(&mut self, a: TermId, b: TermId) -> TermId {
        match (self.inf_sign(a), self.inf_sign(b)) {
            (Some(x), Some(y)) => return if x == y { a } else { self.undefined() },
            (Some(_), None) if self.is_total(b) => return a,
            (None, Some(_)) if self.is_total(a) => return b,
            _ => {}
        }
        if let (Some(x), Some(y)) = (self.as_const(a), self.as_const(b)) {
            let v = x + y;
            return self.rational(v);
        }
        if self.is_zero(a) {
            return b;
        }
        if self.is_zero(b) {
            return a;
        }
        self.pair(view::ADD, a, b)
    }

    /// a - b.
    pub fn sub(&mut self, a: TermId, b: TermId) -> TermId {
        let n = self.neg(b);
        self.add(a, n)
    }

    /// -a.
    pub fn neg(&mut self, a: TermId) -> TermId {
        match self.get(a) {
            Term::Const(c) => {
                let v = -self.constant(c);
                self.rational(v)
            }
            Term::Inf { neg } => self.infinity(!neg),
            Term::Neg(x) => x,
            _ => {
                let total = self.is_total(a);
                self.insert(node(view::NEG, 0, 0, a.0, 0, 0), &[], total)
            }
        }
    }

    /// a * b. `0 * x = 0` for total x; `0 * inf` is undefined.
    pub fn mul(&mut self, a: TermId, b: TermId) -> TermId {
        if let (Some(x), Some(y)) = (self.as_const(a), self.as_const(b)) {
            let v = x * y;
            return self.rational(v);
        }
        for (x, y) in [(a, b), (b, a)] {
            if self.is_one(x) {
                return y;
            }
            if self.is_zero(x) && self.is_total(y) {
                return x;
            }
            if let Some(neg) = self.inf_sign(x) {
                if let Some(other) = self.inf_sign(y) {
                    return self.infinity(neg != other);
                }
                if let Some(c) = self.as_const(y) {
                    if c.is_zero() {
                        return self.undefined();
                    }
                    let flip = c.is_negative();
                    return self.infinity(neg != flip);
                }
            }
        }
        self.pair(view::MUL, a, b)
    }

    /// a / b. A constant denominator becomes a factor; `x / 0` stays as it is, an obligation that
    /// fails.
    pub fn div(&mut self, a: TermId, b: TermId) -> TermId {
        if self.is_one(b) {
            return a;
        }
        if let Some(y) = self.as_const(b)
            && !y.is_zero()
        {
            let inv = y.recip();
            let r = self.rational(inv);
            return self.mul(a, r);
        }
        if self.inf_sign(b).is_some() && self.is_total(a) {
            return self.integer(0);
        }
        self.insert(node(view::DIV, 0, 0, a.0, b.0, 0), &[], false)
    }

    /// The sum of the products a * b over the given pairs.
    pub fn sum(&mut self, products: &[(TermId, TermId)]) -> TermId {
        match products {
            [] => return self.integer(0),
            [(a, b)] => return self.mul(*a, *b),
            _ => {}
        }
        let mut list: Vec<u32> = products.iter().flat_map(|(a, b)| [a.0, b.0]).collect();
        view::sort_products(&mut list);
        let total = products
            .iter()
            .all(|(a, b)| self.is_total(*a) && self.is_total(*b));
        self.insert(node(view::SUM, 0, 0, 0, 0, 0), &list, total)
    }

    /// A function of one argument; exact values of constants are folded.
    pub fn fun(&mut self, f: Fun, a: TermId) -> TermId {
        if let Some(neg) = self.inf_sign(a) {
            match (f, neg) {
                (Fun::Exp2, true) | (Fun::Rsqrt, false) => return self.integer(0),
                (Fun::Exp2 | Fun::Log2 | Fun::Sqrt | Fun::Abs, false) => return a,
                (Fun::Abs, true) => return self.infinity(false),
                (Fun::Tanh, n) => return self.integer(if n { -1 } else { 1 }),
                (Fun::Floor | Fun::Ceil | Fun::Trunc | Fun::RoundEven, _) => return a,
                _ => return self.undefined(),
            }
        }
        if let Some(c) = self.as_const(a)
            && let Some(v) = fold_fun(f, c)
        {
            return self.rational(v);
        }
        if f == Fun::Log2 && self.is_zero(a) {
            return self.infinity(true);
        }
        if f == Fun::Abs && matches!(self.get(a), Term::Fun(Fun::Abs | Fun::Exp2 | Fun::Sqrt, _)) {
            return a;
        }
        let total = self.is_total(a) && !matches!(f, Fun::Sqrt | Fun::Rsqrt | Fun::Log2);
        self.insert(node(view::FUN, f as u8, 0, a.0, 0, 0), &[], total)
    }

    fn extremum(&mut self, tag: u8, a: TermId, b: TermId) -> TermId {
        if a == b {
            return a;
        }
        for (x, y) in [(a, b), (b, a)] {
            if let Some(neg) = self.inf_sign(x) {
                // max(-inf, y) = y and min(+inf, y) = y for every extended real y.
                if neg == (tag == view::MAX) {
                    return y;
                }
                if self.is_total(y) {
                    return x;
                }
            }
        }
        if let (Some(x), Some(y)) = (self.as_const(a), self.as_const(b)) {
            return if (x >= y) == (tag == view::MAX) { a } else { b };
        }
        self.pair(tag, a, b)
    }

    /// The larger of two reals.
    pub fn max(&mut self, a: TermId, b: TermId) -> TermId {
        self.extremum(view::MAX, a, b)
    }

    /// The smaller of two reals.
    pub fn min(&mut self, a: TermId, b: TermId) -> TermId {
        self.extremum(view::MIN, a, b)
    }

    /// p ? a : b, for reals or for bit vectors of one width.
    pub fn select(&mut self, p: TermId, a: TermId, b: TermId) -> TermId {
        debug_assert_eq!(self.sort(a), self.sort(b));
        if a == b {
            return a;
        }
        match self.get(p) {
            Term::Bool(true) => return a,
            Term::Bool(false) => return b,
            Term::Not(q) => return self.select(q, b, a),
            _ => {}
        }
        let total = self.is_total(p) && self.is_total(a) && self.is_total(b);
        let (tag, width) = match self.sort(a) {
            Sort::Bits(w) => (view::BITS_SELECT, w),
            Sort::Bool => {
                let (x, np) = (self.and(p, a), self.not(p));
                let y = self.and(np, b);
                return self.or(x, y);
            }
            Sort::Real => (view::SELECT, 0),
        };
        self.insert(node(tag, 0, width as u16, p.0, a.0, b.0), &[], total)
    }

    /// The integer that bits denote, as a real.
    pub fn of_int(&mut self, signed: bool, bits: TermId) -> TermId {
        let Sort::Bits(w) = self.sort(bits) else {
            return self.undefined();
        };
        if let Some(v) = self.as_bits(bits) {
            let i = if signed {
                BigInt::from(sext(v, w))
            } else {
                BigInt::from(v)
            };
            return self.rational(BigRational::from_integer(i));
        }
        let total = self.is_total(bits);
        self.insert(
            node(view::OF_INT, signed as u8, 0, bits.0, 0, 0),
            &[],
            total,
        )
    }

    fn is_branching(&self, t: TermId) -> bool {
        matches!(self.get(t), Term::BitsSelect(..) | Term::Concat(_))
    }

    /// The number that bits denote in a format of the same width.
    pub fn of_bits(&mut self, fmt: Fmt, bits: TermId) -> TermId {
        match self.get(bits) {
            Term::BitsConst { value, .. } => match super::decode(fmt, value) {
                Ok(v) => return self.rational(v),
                Err(super::NotFinite::PosInf) => return self.infinity(false),
                Err(super::NotFinite::NegInf) => return self.infinity(true),
                Err(super::NotFinite::Nan) => return self.undefined(),
            },
            Term::Bytes { array, off, width } if width as u32 == fmt.bits() => {
                return self.elem(array, fmt, off);
            }
            Term::OfReal { fmt: f, real } if f == fmt => return real,
            // One level only: a chain of selects must not become a recursion.
            Term::BitsSelect(p, a, b) if !self.is_branching(a) && !self.is_branching(b) => {
                let (x, y) = (self.of_bits(fmt, a), self.of_bits(fmt, b));
                return self.select(p, x, y);
            }
            _ => {}
        }
        self.insert(node(view::OF_BITS, fmt as u8, 0, bits.0, 0, 0), &[], false)
    }

    /// A truth value.
    pub fn bool(&mut self, b: bool) -> TermId {
        self.insert(node(view::BOOL, b as u8, 0, 0, 0, 0), &[], true)
    }

    /// Comparison of reals.
    pub fn rcmp(&mut self, op: RCmp, a: TermId, b: TermId) -> TermId {
        if let (Some(x), Some(y)) = (self.as_const(a), self.as_const(b)) {
            let v = match op {
                RCmp::Lt => x < y,
                RCmp::Le => x <= y,
                RCmp::Eq => x == y,
            };
            return self.bool(v);
        }
        match (self.inf_sign(a), self.inf_sign(b)) {
            (Some(x), Some(y)) => {
                let (x, y) = (!x as i8, !y as i8);
                let v = match op {
                    RCmp::Lt => x < y,
                    RCmp::Le => x <= y,
                    RCmp::Eq => x == y,
                };
                return self.bool(v);
            }
            (Some(neg), None) if self.is_total(b) => return self.bool(neg && op != RCmp::Eq),
            (None, Some(neg)) if self.is_total(a) => return self.bool(!neg && op != RCmp::Eq),
            _ => {}
        }
        if a == b && self.is_total(a) {
            return self.bool(op != RCmp::Lt);
        }
        let (a, b) = if op == RCmp::Eq && a > b {
            (b, a)
        } else {
            (a, b)
        };
        let total = self.is_total(a) && self.is_total(b);
        self.insert(node(view::RCMP, op as u8, 0, a.0, b.0, 0), &[], total)
    }

    /// Comparison of bit vectors of one width.
    pub fn icmp(&mut self, op: ICmp, a: TermId, b: TermId) -> TermId {
        if a == b {
            return self.bool(matches!(op, ICmp::Eq | ICmp::ULe | ICmp::SLe));
        }
        let Sort::Bits(w) = self.sort(a) else {
            return self.undefined();
        };
        if let (Some(x), Some(y)) = (self.as_bits(a), self.as_bits(b)) {
            let v = match op {
                ICmp::Eq => x == y,
                ICmp::ULt => x < y,
                ICmp::ULe => x <= y,
                ICmp::SLt => sext(x, w) < sext(y, w),
                ICmp::SLe => sext(x, w) <= sext(y, w),
            };
            return self.bool(v);
        }
        let (a, b) = if op == ICmp::Eq && a > b {
            (b, a)
        } else {
            (a, b)
        };
        let total = self.is_total(a) && self.is_total(b);
        self.insert(node(view::ICMP, op as u8, 0, a.0, b.0, 0), &[], total)
    }

    /// Negation.
    pub fn not(&mut self, a: TermId) -> TermId {
        match self.get(a) {
            Term::Bool(b) => self.bool(!b),
            Term::Not(x) => x,
            Term::RCmp(RCmp::Lt, x, y) if self.is_total(a) => self.rcmp(RCmp::Le, y, x),
            Term::RCmp(RCmp::Le, x, y) if self.is_total(a) => self.rcmp(RCmp::Lt, y, x),
            Term::ICmp(ICmp::ULt, x, y) => self.icmp(ICmp::ULe, y, x),
            Term::ICmp(ICmp::ULe, x, y) => self.icmp(ICmp::ULt, y, x),
            Term::ICmp(ICmp::SLt, x, y) => self.icmp(ICmp::SLe, y, x),
            Term::ICmp(ICmp::SLe, x, y) => self.icmp(ICmp::SLt, y, x),
            _ => {
                let total = self.is_total(a);
                self.insert(node(view::NOT, 0, 0, a.0, 0, 0), &[], total)
            }
        }
    }

    /// True if one of two total predicates is the negation of the other.
    fn opposite(&self, a: TermId, b: TermId) -> bool {
        let negates = |x: TermId, y: TermId| match (self.get(x), self.get(y)) {
            (Term::Not(z), _) => z == y,
            (Term::RCmp(RCmp::Lt, p, q), Term::RCmp(RCmp::Le, r, s)) => p == s && q == r,
            (Term::ICmp(ICmp::ULt, p, q), Term::ICmp(ICmp::ULe, r, s)) => p == s && q == r,
            (Term::ICmp(ICmp::SLt, p, q), Term::ICmp(ICmp::SLe, r, s)) => p == s && q == r,
            _ => false,
        };
        self.is_total(a) && self.is_total(b) && (negates(a, b) || negates(b, a))
    }

    /// Conjunction.
    pub fn and(&mut self, a: TermId, b: TermId) -> TermId {
        match (self.as_bool(a), self.as_bool(b)) {
            (Some(true), _) => return b,
            (_, Some(true)) => return a,
            (Some(false), _) => return a,
            (_, Some(false)) => return b,
            _ if a == b => return a,
            _ if self.opposite(a, b) => return self.bool(false),
            _ => {}
        }
        self.pair(view::AND, a, b)
    }

    /// Disjunction.
    pub fn or(&mut self, a: TermId, b: TermId) -> TermId {
        match (self.as_bool(a), self.as_bool(b)) {
            (Some(false), _) => return b,
            (_, Some(false)) => return a,
            (Some(true), _) => return a,
            (_, Some(true)) => return b,
            _ if a == b => return a,
            _ if self.opposite(a, b) => return self.bool(true),
            _ => {}
        }
        self.pair(view::OR, a, b)
    }

    /// Exclusive or.
    pub fn xor(&mut self, a: TermId, b: TermId) -> TermId {
        match (self.as_bool(a), self.as_bool(b)) {
            (Some(false), _) => return b,
            (_, Some(false)) => return a,
            (Some(true), _) => return self.not(b),
            (_, Some(true)) => return self.not(a),
            _ if a == b => return self.bool(false),
            _ => {}
        }
        self.pair(view::XOR, a, b)
    }

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
        self.insert(n, &[], true)
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
        self.insert(n, &[], true)
    }

    /// An unknown that nothing else equals.
    pub fn fresh(&mut self, width: u8, serial: u32) -> TermId {
        self.insert(node(view::FRESH, 0, width as u16, serial, 0, 0), &[], true)
    }

    /// Uninitialised bits, read at the place with this number.
    pub fn poison(&mut self, width: u8, site: u32) -> TermId {
        let n = node(view::POISON, 0, width as u16, site, 0, 0);
        self.insert(n, &[], false)
    }

    /// The encoding of a real in a format. The encoding of an element in its own format is the
    /// element's bytes.
    pub fn of_real(&mut self, fmt: Fmt, real: TermId) -> TermId {
        match self.get(real) {
            Term::Elem { array, fmt: f, off } if f == fmt => {
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
            _ => {}
        }
        let (w, total) = (fmt.bits() as u16, self.is_total(real));
        self.insert(node(view::OF_REAL, fmt as u8, w, real.0, 0, 0), &[], total)
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
        let list: Vec<u32> = out.iter().map(|t| t.0).collect();
        self.insert(node(view::CONCAT, 0, width, 0, 0, 0), &list, total)
    }

    fn join(&mut self, low: TermId, high: TermId) -> Option<TermId> {
        let (Sort::Bits(wl), Sort::Bits(wh)) = (self.sort(low), self.sort(high)) else {
            return None;
        };
        if wl + wh > 64 {
            return None;
        }
        match (self.get(low), self.get(high)) {
            (Term::BitsConst { value: a, .. }, Term::BitsConst { value: b, .. }) => {
                Some(self.bits(wl + wh, a | b << wl))
            }
            (Term::Poison { site, .. }, Term::Poison { site: s2, .. }) if site == s2 => {
                Some(self.poison(wl + wh, site))
            }
            (
                Term::Bytes { array, off, width },
                Term::Bytes {
                    array: a2,
                    off: o2,
                    width: w2,
                },
            ) if array == a2 && off + width as u64 / 8 == o2 => {
                Some(self.bytes(array, off, width + w2))
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
            Term::Bytes { array, off, .. } if low.is_multiple_of(8) && width.is_multiple_of(8) => {
                return self.bytes(array, off + low as u64 / 8, width);
            }
            Term::Extract {
                bits: b, low: l, ..
            } => return self.extract(b, l + low, width),
            Term::BitsSelect(p, a, b) if !self.is_branching(a) && !self.is_branching(b) => {
                let (x, y) = (self.extract(a, low, width), self.extract(b, low, width));
                return self.select(p, x, y);
            }
            Term::OfBool { p, .. } if low == 0 => return self.of_bool(width, p),
            Term::OfBool { .. } => return self.bits(width, 0),
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
        self.insert(n, &[], total)
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
                BitsOp::And | BitsOp::Mul if c == 0 && self.is_total(x) => return y,
                BitsOp::Or if ones && self.is_total(x) => return y,
                BitsOp::Mul if c == 1 => return x,
                BitsOp::Shl | BitsOp::LShr | BitsOp::AShr if !flipped && c == 0 => return x,
                BitsOp::Shl if !flipped && c < w as u64 => {
                    let k = self.bits(w, 1 << c);
                    return self.bits_op(BitsOp::Mul, x, k);
                }
                BitsOp::Shl | BitsOp::LShr if !flipped && c >= w as u64 && self.is_total(x) => {
                    return self.bits(w, 0);
                }
                _ => {}
            }
        }
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
        self.insert(n, &[], total)
    }

    /// 1 or 0 in `width` bits.
    pub fn of_bool(&mut self, width: u8, p: TermId) -> TermId {
        if let Some(b) = self.as_bool(p) {
            return self.bits(width, b as u64);
        }
        let total = self.is_total(p);
        self.insert(node(view::OF_BOOL, 0, width as u16, p.0, 0, 0), &[], total)
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
        self.insert(n, &[], total)
    }
}

fn fold_bits(op: BitsOp, w: u8, x: u64, y: u64) -> Option<u64> {
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

/// The exact rational value of a function at a rational, where there is one.
fn fold_fun(f: Fun, c: &BigRational) -> Option<BigRational> {
    let sqrt = |v: &BigRational| {
        if v.is_negative() {
            return None;
        }
        let (n, d) = (v.numer().sqrt(), v.denom().sqrt());
        (&n * &n == *v.numer() && &d * &d == *v.denom()).then(|| BigRational::new(n, d))
    };
    match f {
        Fun::Sqrt => sqrt(c),
        Fun::Rsqrt if c.is_positive() => sqrt(c).map(|s| s.recip()),
        Fun::Rsqrt => None,
        Fun::Exp2 => {
            let e = c.is_integer().then(|| c.to_integer().to_i64())??;
            (e.abs() <= MAX_POW2).then(|| pow2(e))
        }
        Fun::Log2 => {
            if !c.is_positive() {
                return None;
            }
            let e = c.numer().bits() as i64 - c.denom().bits() as i64;
            (pow2(e) == *c).then(|| BigRational::from_integer(BigInt::from(e)))
        }
        Fun::Sin | Fun::Tanh if c.is_zero() => Some(c.clone()),
        Fun::Cos if c.is_zero() => Some(BigRational::from_integer(BigInt::from(1))),
        Fun::Sin | Fun::Cos | Fun::Tanh => None,
        Fun::Abs => Some(c.abs()),
        Fun::Floor => Some(c.floor()),
        Fun::Ceil => Some(c.ceil()),
        Fun::Trunc => Some(c.trunc()),
        Fun::RoundEven => {
            let f = c.floor();
            let half = BigRational::new(BigInt::from(1), BigInt::from(2));
            let rest = c - &f;
            let one = BigRational::from_integer(BigInt::from(1));
            let odd = (f.to_integer() % BigInt::from(2)) != BigInt::from(0);
            Some(match rest.cmp(&half) {
                std::cmp::Ordering::Less => f,
                std::cmp::Ordering::Greater => f + one,
                std::cmp::Ordering::Equal if odd => f + one,
                std::cmp::Ordering::Equal => f,
            })
        }
    }
}
