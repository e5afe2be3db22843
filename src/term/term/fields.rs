//! Bit vectors as sequences of fields: extension, shifts, masks.
//!
//! Problem: kernels take packed data apart and put it together with shifts, masks, ors and byte
//! permutations. Where the amounts and masks are constants, the result is a concatenation of
//! fields of the sources and of constants, which is what these rules build; arithmetic is left
//! only where fields really meet.
//!
//! A sign extension of x by k bits is the arithmetic right shift by k of {k zeros, x}, the one
//! form of it in the store; x is then neither a constant, a concatenation nor itself extended.
//! Every rule looks at a bounded neighbourhood of its operands.

use super::bits::{fold_compare, mask, sext};
use super::view::{BitsOp, ICmp, Term};
use super::{Sort, TermId, TermStore};

/// Results of more fields than this stay an operation.
const MAX_FIELDS: usize = 24;

/// What an operation on aligned fields gives.
#[derive(Clone, Copy, PartialEq)]
enum Field {
    /// The field of the first operand.
    Left,
    /// The field of the second operand.
    Right,
    /// Constant zeros.
    Zeros,
    /// Constant ones.
    Ones,
    /// The operation itself.
    Both,
}

impl TermStore {
    /// Width in bits of a bit vector; 0 of other terms.
    pub fn width(&self, t: TermId) -> u8 {
        match self.sort(t) {
            Sort::Bits(w) => w,
            _ => 0,
        }
    }

    /// The fields of a term, low first.
    fn fields(&self, t: TermId) -> Vec<TermId> {
        match self.get(t) {
            Term::Concat(l) => l.iter().map(|&i| TermId(i)).collect(),
            _ => vec![t],
        }
    }

    /// Zero-extends to `width` bits, or keeps the low `width` bits.
    pub fn zero_extend(&mut self, t: TermId, width: u8) -> TermId {
        let w = self.width(t);
        if w >= width {
            return self.extract(t, 0, width);
        }
        if let Some((whole, range)) = self.uncut(t)
            && range.0 >= 0
            && self.width(whole) <= width
        {
            return self.zero_extend(whole, width);
        }
        let z = self.bits(width - w, 0);
        self.concat(&[t, z])
    }

    /// Sign-extends to `width` bits, or keeps the low `width` bits.
    pub fn sign_extend(&mut self, t: TermId, width: u8) -> TermId {
        let w = self.width(t);
        if w >= width {
            return self.extract(t, 0, width);
        }
        if let Some((whole, _)) = self.uncut(t)
            && self.width(whole) <= width
        {
            return self.sign_extend(whole, width);
        }
        let mut parts = self.fields(t);
        let Some(top) = parts.pop() else { return t };
        let top_width = self.width(top);
        let to = top_width + (width - w);
        let extended = match self.get(top) {
            Term::BitsConst { value, .. } => self.bits(to, sext(value, top_width) as u64),
            Term::Poison { site, .. } => self.poison(to, site),
            Term::OfBool { p, .. } if top_width > 1 => self.of_bool(to, p),
            Term::OfBool { p, .. } => {
                let (ones, zero) = (self.bits(to, u64::MAX), self.bits(to, 0));
                self.select(p, ones, zero)
            }
            _ => {
                let inner = self.extended(top).unwrap_or(top);
                let k = to - self.width(inner);
                let zeros = self.bits(k, 0);
                let shifted = self.concat(&[zeros, inner]);
                let amount = self.bits(to, k as u64);
                self.insert_op(BitsOp::AShr, to, shifted, amount)
            }
        };
        parts.push(extended);
        self.concat(&parts)
    }

    /// The x whose sign extension a term is.
    pub(super) fn extended(&self, t: TermId) -> Option<TermId> {
        let Term::BitsOp(BitsOp::AShr, c, k) = self.get(t) else {
            return None;
        };
        let (Term::Concat(&[zeros, x]), Some(k)) = (self.get(c), self.as_bits(k)) else {
            return None;
        };
        let (zeros, x) = (TermId(zeros), TermId(x));
        (self.as_bits(zeros) == Some(0) && self.width(zeros) as u64 == k).then_some(x)
    }

    /// A field of a sign extension: bits of what is extended, then copies of its sign.
    pub(super) fn extract_extended(&mut self, t: TermId, low: u8, width: u8) -> Option<TermId> {
        let x = self.extended(t)?;
        let w = self.width(x);
        if low + width <= w {
            return Some(self.extract(x, low, width));
        }
        let low = low.min(w - 1);
        let rest = self.extract(x, low, w - low);
        if self.width(t) == width {
            return None;
        }
        Some(self.sign_extend(rest, width))
    }

    /// x << k for k below the width.
    pub(super) fn shift_left(&mut self, t: TermId, k: u8) -> TermId {
        if k == 0 {
            return t;
        }
        let w = self.width(t);
        let (zeros, rest) = (self.bits(k, 0), self.extract(t, 0, w - k));
        self.concat(&[zeros, rest])
    }

    /// x >> k for k below the width.
    pub(super) fn shift_right(&mut self, t: TermId, k: u8) -> TermId {
        if k == 0 {
            return t;
        }
        let w = self.width(t);
        let (zeros, rest) = (self.bits(k, 0), self.extract(t, k, w - k));
        self.concat(&[rest, zeros])
    }

    /// x >> k filled with the sign.
    pub(super) fn shift_right_signed(&mut self, t: TermId, k: u8) -> TermId {
        let w = self.width(t);
        let k = k.min(w - 1);
        let rest = self.extract(t, k, w - k);
        self.sign_extend(rest, w)
    }

    /// For each bit, its value if it is a constant.
    fn known(&self, t: TermId) -> [Option<bool>; 64] {
        let (mut out, mut at) = ([None; 64], 0usize);
        let mut visit = |t: TermId| {
            let w = self.width(t) as usize;
            if let Some(v) = self.as_bits(t) {
                for (i, bit) in out.iter_mut().skip(at).take(w).enumerate() {
                    *bit = Some(v >> i & 1 == 1);
                }
            }
            at += w;
        };
        match self.get(t) {
            Term::Concat(l) => l.iter().for_each(|&i| visit(TermId(i))),
            _ => visit(t),
        }
        out
    }

    /// An operation as a concatenation of fields, if that is simpler somewhere. An addition must
    /// be without carries: in each bit one operand is zero.
    ///
    /// match `x op y` / result: for every field the operand, a constant, or the operation on that
    /// field / because the operation works bit by bit.
    pub(super) fn by_fields(&mut self, op: BitsOp, w: u8, a: TermId, b: TermId) -> Option<TermId> {
        let (ka, kb) = (self.known(a), self.known(b));
        let mut fields: Vec<(u8, u8, Field)> = Vec::new();
        let mut constants = true;
        for i in 0..w {
            use Field::{Both, Left, Ones, Right, Zeros};
            let f =
                match (op, ka[i as usize], kb[i as usize]) {
                    (BitsOp::And, Some(false), _) | (BitsOp::And, _, Some(false)) => Zeros,
                    (BitsOp::And, Some(true), Some(true)) => Ones,
                    (BitsOp::And, Some(true), _) => Right,
                    (BitsOp::And, _, Some(true)) => Left,
                    (BitsOp::Or, Some(true), _) | (BitsOp::Or, _, Some(true)) => Ones,
                    (BitsOp::Xor, Some(true), Some(true)) => Zeros,
                    (_, Some(false), Some(false)) if op != BitsOp::And => Zeros,
                    (BitsOp::Xor, Some(true), Some(false))
                    | (BitsOp::Xor, Some(false), Some(true)) => Ones,
                    (BitsOp::Add, Some(true), Some(false))
                    | (BitsOp::Add, Some(false), Some(true)) => Ones,
                    (BitsOp::Or | BitsOp::Xor | BitsOp::Add, Some(false), _) => Right,
                    (BitsOp::Or | BitsOp::Xor | BitsOp::Add, _, Some(false)) => Left,
                    _ => Both,
                };
            if op == BitsOp::Add && f == Both {
                return None;
            }
            constants &= matches!(f, Zeros | Ones);
            match fields.last_mut() {
                Some((_, n, last)) if *last == f => *n += 1,
                _ => fields.push((i, 1, f)),
            }
        }
        if fields.len() > MAX_FIELDS || fields.iter().all(|f| f.2 == Field::Both) {
            return None;
        }
        if constants && !(self.is_some_bits(a) && self.is_some_bits(b)) {
            return None;
        }
        let mut out = Vec::with_capacity(fields.len());
        for (low, n, f) in fields {
            out.push(match f {
                Field::Left => self.extract(a, low, n),
                Field::Right => self.extract(b, low, n),
                Field::Zeros => self.bits(n, 0),
                Field::Ones => self.bits(n, mask(n)),
                Field::Both => {
                    let (x, y) = (self.extract(a, low, n), self.extract(b, low, n));
                    self.op_node(op, n, x, y)
                }
            });
        }
        Some(self.concat(&out))
    }

    /// match `{.., y[i..j] ^ r, ..} ^ y` with y total / result `{.., r, ..}`, zeros for fields that are y's own / because
    /// y ^ y = 0, field by field: an exclusive or with a constant was taken apart where that has zeros or ones.
    pub(super) fn undone(&mut self, c: TermId, y: TermId) -> Option<TermId> {
        if !matches!(self.get(c), Term::Concat(_)) || !self.is_total(y) {
            return None;
        }
        let (mut out, mut at) = (Vec::new(), 0);
        for f in self.fields(c) {
            let n = self.width(f);
            let own = self.extract(y, at, n);
            out.push(match self.get(f) {
                _ if f == own => self.bits(n, 0),
                Term::BitsOp(BitsOp::Xor, p, rest) if p == own => rest,
                Term::BitsOp(BitsOp::Xor, rest, p) if p == own => rest,
                _ => return None,
            });
            at += n;
        }
        Some(self.concat(&out))
    }

    /// The operation of a term with a hole, if no bit of its result depends on higher ones of its operands.
    fn upward(&self, t: TermId) -> Option<(BitsOp, TermId, TermId)> {
        use BitsOp::{Add, And, Mul, Or, Xor};
        match self.get(t) {
            Term::BitsOp(op @ (Add | And | Mul | Or | Xor), a, b) if self.has_hole(t) => {
                Some((op, a, b))
            }
            _ => None,
        }
    }

    /// The lowest `n` bits of operations on registers of which only higher bits were never written, without those.
    ///
    /// match `(x op y)[0..n]` with `op` of sums, products and logic; result `x[0..n] op y[0..n]` where that has no hole
    /// and what it was had; because carries go upwards. A thread that has fewer elements than its code packs leaves the others
    /// undefined, and what is stored of the sums of packed halves are the lower ones.
    pub(super) fn low_part(&mut self, root: TermId, n: u8) -> Option<TermId> {
        let (mut stack, mut cone) = (vec![root], Vec::new());
        while let Some(t) = stack.pop() {
            if cone.contains(&t) {
                continue;
            }
            if cone.len() == MAX_FIELDS {
                return None;
            }
            cone.push(t);
            match self.upward(t) {
                Some((_, a, b)) => stack.extend([a, b]),
                None if self.has_whole_part(t, n) => {}
                None => return None,
            }
        }
        cone.sort_unstable();
        let mut parts: Vec<TermId> = Vec::with_capacity(cone.len());
        for &t in &cone {
            let of = |t: TermId| Some(parts[cone.binary_search(&t).ok()?]);
            let part = match self.upward(t) {
                Some((op, a, b)) => {
                    let (x, y) = (of(a)?, of(b)?);
                    self.bits_op(op, x, y)
                }
                None => self.extract(t, 0, n),
            };
            parts.push(part);
        }
        parts.last().copied()
    }

    /// True if the fields that hold the lowest `n` bits of a term have no hole.
    fn has_whole_part(&self, t: TermId, n: u8) -> bool {
        let mut at = 0;
        let mut low = self.fields(t).into_iter().take_while(|&f| {
            let is_low = at < n;
            at += self.width(f);
            is_low
        });
        low.all(|f| !self.has_hole(f))
    }

    /// x - y where y is the lowest field of x and zeros above it.
    ///
    /// match `x - {x[0..k], zeros}`; result `{k zeros, x[k..]}`; because no bit of x that is taken away borrows from
    /// one above. A quotient that is rounded down is written so where there are only exact ones: (x - x % 16) / 16.
    pub(super) fn without_low_field(&mut self, x: TermId, y: TermId) -> Option<TermId> {
        let Term::Concat(&[low, zeros]) = self.get(y) else {
            return None;
        };
        let low = TermId(low);
        if self.as_bits(TermId(zeros)) != Some(0) || !self.is_total(x) {
            return None;
        }
        let (w, k) = (self.width(x), self.width(low));
        if self.extract(x, 0, k) != low {
            return None;
        }
        let (zeros, rest) = (self.bits(k, 0), self.extract(x, k, w - k));
        Some(self.concat(&[zeros, rest]))
    }

    /// A comparison whose outcome depends on one field only.
    pub(super) fn compare_fields(
        &mut self,
        op: ICmp,
        w: u8,
        a: TermId,
        b: TermId,
    ) -> Option<TermId> {
        if let (Term::OfBool { p, .. }, Some(c)) = (self.get(a), self.as_bits(b)) {
            return Some(self.compare_truth(op, w, p, c, false));
        }
        if let (Some(c), Term::OfBool { p, .. }) = (self.as_bits(a), self.get(b)) {
            return Some(self.compare_truth(op, w, p, c, true));
        }
        if op == ICmp::Eq
            && let Some(t) = self.equal_fields(a, b)
        {
            return Some(t);
        }
        let (sa, sb) = (self.significant(a, false), self.significant(b, false));
        let n = sa.max(sb);
        if n < w {
            // Zero above bit n, and the top bit is zero: signed and unsigned agree.
            let op = match op {
                ICmp::SLt => ICmp::ULt,
                ICmp::SLe => ICmp::ULe,
                other => other,
            };
            // A constant that the other operand cannot reach decides an unsigned comparison.
            if self.is_total(a) && self.is_total(b) {
                let (ca, cb) = (self.as_bits(a), self.as_bits(b));
                let decided = match (ca, cb, op) {
                    (_, Some(c), _) if sa < 64 && c >> sa != 0 => Some(op != ICmp::Eq),
                    (Some(c), _, _) if sb < 64 && c >> sb != 0 => Some(false),
                    _ => None,
                };
                if let Some(v) = decided {
                    return Some(self.bool(v));
                }
            }
            let n = n.max(1);
            if n == w {
                return None;
            }
            let (x, y) = (self.extract(a, 0, n), self.extract(b, 0, n));
            return Some(self.icmp(op, x, y));
        }
        let n = self.significant(a, true).max(self.significant(b, true));
        if n < w {
            let (x, y) = (self.extract(a, 0, n), self.extract(b, 0, n));
            // Sign extension keeps both orders.
            return Some(self.icmp(op, x, y));
        }
        None
    }

    /// Equality with a constant of a concatenation that has constant fields.
    fn equal_fields(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        let (x, c) = match (self.as_bits(a), self.as_bits(b)) {
            (None, Some(c)) => (a, c),
            (Some(c), None) => (b, c),
            _ => return None,
        };
        let (mut at, mut open, mut differs, mut some) = (0u8, None, false, false);
        let mut several = false;
        for f in self.fields(x) {
            let n = self.width(f);
            let want = c >> (at & 63) & mask(n);
            match self.as_bits(f) {
                Some(v) => {
                    some = true;
                    differs |= v != want;
                }
                None => {
                    several |= open.is_some();
                    open = Some((f, want));
                }
            }
            at += n;
        }
        let (f, want) = open?;
        // One field that differs decides, whatever the others are.
        if differs {
            return self.is_total(x).then(|| self.bool(false));
        }
        if !some || several {
            return None;
        }
        let n = self.width(f);
        let k = self.bits(n, want);
        Some(self.icmp(ICmp::Eq, f, k))
    }

    /// A comparison of a truth value, as 0 or 1 in `w` bits, with a constant; `flipped`: the
    /// constant stands on the left.
    fn compare_truth(&mut self, op: ICmp, w: u8, p: TermId, c: u64, flipped: bool) -> TermId {
        let holds = |v: u64| {
            let (x, y) = if flipped { (c, v) } else { (v, c) };
            fold_compare(op, w, x, y)
        };
        match (holds(0), holds(1)) {
            (false, true) => p,
            (true, false) => self.not(p),
            (v, _) => self.bool(v),
        }
    }

    /// Number of low bits that determine the value, the others being zero (or, if `signed`,
    /// copies of the top one of them).
    fn significant(&self, t: TermId, signed: bool) -> u8 {
        let w = self.width(t);
        if let Some(v) = self.as_bits(t) {
            let lead = if signed {
                let s = sext(v, w);
                (if s < 0 { !s } else { s }).leading_zeros() as u8 - 1
            } else {
                v.leading_zeros() as u8
            };
            return w - (lead - (64 - w)).min(w);
        }
        let top = match self.get(t) {
            Term::Concat(l) => l.last().map_or(t, |&i| TermId(i)),
            _ => t,
        };
        let below = w - self.width(top);
        if signed {
            return match self.extended(top) {
                Some(x) => below + self.width(x),
                None if self.as_bits(top) == Some(0) => below + 1,
                None => w,
            };
        }
        match self.as_bits(top) {
            Some(v) => w - (v.leading_zeros() as u8 - (64 - self.width(top))),
            None => w,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::term::{ArrayId, BitsOp, TermStore};

    /// An exclusive or that was taken apart is undone, and not by other fields.
    #[test]
    fn an_exclusive_or_is_undone() {
        let s = &mut TermStore::new();
        let (x, y) = (s.bytes(ArrayId(0), 0, 32), s.bytes(ArrayId(0), 4, 32));
        let (low, high) = (s.extract(x, 0, 16), s.extract(x, 16, 16));
        let turned = s.concat(&[high, low]);
        for c in [0x7f80_0000, 1, 0x8000_0001, 0xffff_0000] {
            let k = s.bits(32, c);
            let cut = s.bits_op(BitsOp::Xor, x, k);
            assert_eq!(s.bits_op(BitsOp::Xor, cut, x), k);
            assert_eq!(s.bits_op(BitsOp::Xor, x, cut), k);
            let cut = s.bits_op(BitsOp::Xor, turned, k);
            for wrong in [x, y] {
                let t = s.bits_op(BitsOp::Xor, cut, wrong);
                assert_eq!(s.as_bits(t), None);
            }
        }
    }
}
