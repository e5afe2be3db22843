//! Smart constructors: the only way to make a term.
//!
//! They fold constants, apply the identities that need no condition beyond those written here,
//! and put commutative operands into id order. A rule that drops an operand does so only when the
//! operand is total (defined and finite for all inputs), so that no definedness obligation is
//! lost.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};

use super::bits::fold_compare;
use super::view::{self, BitsOp, Class, Fun, ICmp, RCmp, Term, node};
use super::{ArrayId, Sort, TermId, TermStore, pow2, products};
use crate::scalar::Fmt;

/// Bits of two constants that are still added or multiplied.
const MAX_BITS: u64 = 1 << 15;
/// Terms that are looked at for one that may not be a number.
const MAX_NUMBERS: usize = 4096;
/// The largest exponent for which a power of two of a constant is written out.
const MAX_POW2: i64 = 4096;

impl TermStore {
    fn pair(&mut self, tag: u8, a: TermId, b: TermId) -> TermId {
        let (a, b) = if view::is_commutative(tag, 0) && a > b {
            (b, a)
        } else {
            (a, b)
        };
        let total = self.is_total(a) && self.is_total(b);
        self.insert(node(tag, 0, 0, a.0, b.0, 0), total)
    }

    /// An infinity.
    pub fn infinity(&mut self, neg: bool) -> TermId {
        self.insert(node(view::INF, neg as u8, 0, 0, 0, 0), false)
    }

    /// The undefined real.
    pub fn undefined(&mut self) -> TermId {
        self.insert(node(view::UNDEFINED, 0, 0, 0, 0, 0), false)
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
        self.insert_input(n)
    }

    /// The number log2(e).
    pub fn log2_e(&mut self) -> TermId {
        self.elem(ArrayId::CONSTANTS, Fmt::F64, 0)
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
        if let (Some(x), Some(y)) = (self.as_const(a), self.as_const(b))
            && is_short(x, y)
        {
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
                self.insert(node(view::NEG, 0, 0, a.0, 0, 0), total)
            }
        }
    }

    /// a * b. `0 * x = 0` for total x; `0 * inf` is undefined.
    pub fn mul(&mut self, a: TermId, b: TermId) -> TermId {
        if let (Some(x), Some(y)) = (self.as_const(a), self.as_const(b))
            && is_short(x, y)
        {
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
        self.insert(node(view::DIV, 0, 0, a.0, b.0, 0), false)
    }

    /// The sum of the products a * b over the given pairs.
    pub fn sum(&mut self, products: &[(TermId, TermId)]) -> TermId {
        match products {
            [] => return self.integer(0),
            [(a, b)] => return self.mul(*a, *b),
            _ => {}
        }
        let start = self.lists.len();
        self.lists
            .extend(products.iter().flat_map(|(a, b)| [a.0, b.0]));
        products::sort(&mut self.lists[start..]);
        let total = products
            .iter()
            .all(|(a, b)| self.is_total(*a) && self.is_total(*b));
        self.insert_list((view::SUM, 0), start, total)
    }

    /// A function of one argument; exact values of constants are folded.
    pub fn fun(&mut self, f: Fun, a: TermId) -> TermId {
        if let Some(neg) = self.inf_sign(a) {
            match (f, neg) {
                (Fun::Exp2, true) | (Fun::Rsqrt, false) => return self.integer(0),
                (Fun::Exp2 | Fun::Log2 | Fun::Sqrt | Fun::Abs, false) => return a,
                (Fun::Abs, true) => return self.infinity(false),
                (Fun::Tanh | Fun::Erf, n) => return self.integer(if n { -1 } else { 1 }),
                (Fun::Floor | Fun::Ceil | Fun::Trunc | Fun::RoundEven, _) => return a,
                _ => return self.undefined(),
            }
        }
        if let Some(c) = self.as_const(a)
            && let Some(v) = fold_fun(f, c)
        {
            return self.rational(v);
        }
        // What is an integer for certain is its own rounding.
        let rounds = matches!(f, Fun::Floor | Fun::Ceil | Fun::Trunc | Fun::RoundEven);
        if rounds && self.grid(a).is_some_and(|g| g >= 0) {
            return a;
        }
        if f == Fun::Log2 && self.is_zero(a) {
            return self.infinity(true);
        }
        if f == Fun::Abs && matches!(self.get(a), Term::Fun(Fun::Abs | Fun::Exp2 | Fun::Sqrt, _)) {
            return a;
        }
        let total = self.is_total(a) && !matches!(f, Fun::Sqrt | Fun::Rsqrt | Fun::Log2);
        self.insert(node(view::FUN, f as u8, 0, a.0, 0, 0), total)
    }

    fn extremum(&mut self, tag: u8, a: TermId, b: TermId) -> TermId {
        if a == b {
            return a;
        }
        for (x, y) in [(a, b), (b, a)] {
            if self.get(x) == Term::Undefined {
                return y;
            }
            if let Some(neg) = self.inf_sign(x) {
                // max(-inf, y) = y and min(+inf, y) = y for every y that is a number.
                if neg == (tag == view::MAX) && self.is_number(y) {
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
        if let Some((least, most)) = self.in_known_order(a, b) {
            return if tag == view::MAX { most } else { least };
        }
        for (x, y) in [(a, b), (b, a)] {
            // match max(c, y) for a y that holds an input element and a c that no element of its format is below
            // result y
            // because inputs are finite. min(c, y) likewise.
            if let Some(c) = self.as_const(x)
                && self.is_beyond(tag, c, y)
            {
                return y;
            }
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

    /// A choice between two sorts would be a term without a meaning. This stands apart for a small frame of `select`.
    fn of_one_sort(&self, a: TermId, b: TermId) {
        assert!(self.sort(a) == self.sort(b), "choices are of one sort");
    }

    /// p ? a : b, for reals or for bit vectors of one width.
    pub fn select(&mut self, p: TermId, a: TermId, b: TermId) -> TermId {
        if a == b {
            return a;
        }
        self.of_one_sort(a, b);
        match self.get(p) {
            Term::Bool(true) => return a,
            Term::Bool(false) => return b,
            Term::Not(q) => return self.select(q, b, a),
            // One of a comparison and its negation chooses, whichever was written.
            Term::RCmp(RCmp::Le, ..) | Term::ICmp(ICmp::ULe | ICmp::SLe, ..)
                if !self.as_written =>
            {
                let q = self.not(p);
                if !matches!(self.get(q), Term::Not(_)) {
                    return self.select(q, b, a);
                }
            }
            _ => {}
        }
        if let Some(t) = self.clamped(p, a, b) {
            return t;
        }
        // match p ? (q ? x : y) : b, result p ? x : b for q = p, p ? y : b for q = not p;
        // because only that side is reached. The same for the other branch.
        if let Some(x) = self.reached(p, a, true) {
            return self.select(p, x, b);
        }
        if let Some(y) = self.reached(p, b, false) {
            return self.select(p, a, y);
        }
        if let Some(t) = self.in_order(p, a, b) {
            return t;
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
        self.insert(node(tag, 0, width as u16, p.0, a.0, b.0), total)
    }

    /// The smaller or larger of a constant and a number that was converted to an integer; of a constant and a real as
    /// [`first_extremum`](Self::first_extremum) has it.
    ///
    /// match `n < c ? n : c` with n = clamp(x), and the other choices of n and c by their order;
    /// result `clamp(min(x, c))`, `clamp(max(x, c))`; because clamping keeps the order and takes c,
    /// which is in its range, to c.
    fn clamped(&mut self, p: TermId, a: TermId, b: TermId) -> Option<TermId> {
        let Term::ICmp(op, x, y) = self.get(p) else {
            return self.first_extremum(p, a, b);
        };
        let smaller = match (a == x && b == y, a == y && b == x) {
            (true, _) => true,
            (_, true) => false,
            _ => return None,
        };
        let (n, c) = match (self.as_bits(x), self.as_bits(y)) {
            (None, Some(c)) => (x, c),
            (Some(c), None) => (y, c),
            _ => return None,
        };
        let Term::Clamp {
            width,
            signed,
            real,
        } = self.get(n)
        else {
            return None;
        };
        if signed != matches!(op, ICmp::SLt | ICmp::SLe) || op == ICmp::Eq {
            return None;
        }
        let c = match signed {
            true => BigInt::from(super::sext(c, width)),
            false => BigInt::from(c),
        };
        let c = self.rational(BigRational::from_integer(c));
        let real = if smaller {
            self.min(real, c)
        } else {
            self.max(real, c)
        };
        Some(self.clamp(width, signed, real))
    }

    /// What a branch is where `p` has this value, if it is a select by `p` or its negation.
    fn reached(&self, p: TermId, branch: TermId, value: bool) -> Option<TermId> {
        let (Term::Select(q, x, y) | Term::BitsSelect(q, x, y)) = self.get(branch) else {
            return None;
        };
        if q == p {
            Some(if value { x } else { y })
        } else if self.opposite(q, p) {
            Some(if value { y } else { x })
        } else {
            None
        }
    }

    pub(super) fn is_branching(&self, t: TermId) -> bool {
        matches!(
            self.get(t),
            Term::BitsSelect(..) | Term::Concat(_) | Term::BitsOp(BitsOp::AShr, ..)
        )
    }

    /// A truth value.
    pub fn bool(&mut self, b: bool) -> TermId {
        self.insert(node(view::BOOL, b as u8, 0, 0, 0, 0), true)
    }

    /// True only if the term is a number, finite or not, for all inputs.
    pub fn is_number(&self, root: TermId) -> bool {
        let mut open = vec![root];
        for _ in 0..MAX_NUMBERS {
            let Some(t) = open.pop() else { return true };
            if self.is_total(t) {
                continue;
            }
            match self.get(t) {
                Term::Inf { .. } => {}
                Term::Select(_, a, b) => open.extend([a, b]),
                // One number is enough; which of them is one is asked of the first alone.
                Term::Max(a, b) | Term::Min(a, b) => {
                    open.push(if self.is_total(b) { b } else { a });
                }
                Term::Neg(a) | Term::Fun(Fun::Abs | Fun::Exp2 | Fun::Tanh | Fun::Erf, a) => {
                    open.push(a);
                }
                Term::Fun(f, a) if f.is_rounding() => open.push(a),
                Term::Div(..) if self.is_finite_quotient(t) => {}
                Term::Mul(a, b)
                    if [a, b]
                        .iter()
                        .all(|&t| self.is_total(t) || self.is_finite_quotient(t)) => {}
                _ => return false,
            }
        }
        open.is_empty()
    }

    /// True for a quotient of finite numbers whose denominator keeps away from zero, as bounds show.
    fn is_finite_quotient(&self, t: TermId) -> bool {
        let Term::Div(a, b) = self.get(t) else {
            return false;
        };
        let bounds = self.bounds(b);
        let is_apart = bounds.lo.is_some_and(|x| x.is_positive())
            || bounds.hi.is_some_and(|x| x.is_negative());
        is_apart && self.is_total(a) && self.is_total(b)
    }

    /// Whether a value is of a class.
    ///
    /// A term that is total is of none; what keeps the class of its operand hands the question on.
    pub fn is(&mut self, class: Class, a: TermId) -> TermId {
        if self.is_total(a) {
            return self.bool(false);
        }
        match (class, self.get(a)) {
            (c, Term::Inf { neg }) => {
                return self.bool(c == if neg { Class::NegInf } else { Class::PosInf });
            }
            (c, Term::Undefined) => return self.bool(c == Class::Nan),
            (Class::Nan, _) if self.is_number(a) => return self.bool(false),
            (Class::Nan, Term::Neg(x) | Term::Fun(Fun::Abs, x)) => return self.is(Class::Nan, x),
            (c, Term::Fun(f, x)) if f.is_rounding() => return self.is(c, x),
            _ => {}
        }
        self.insert(node(view::IS, class as u8, 0, a.0, 0, 0), false)
    }

    /// x where that is not a number, else y.
    pub fn unless_nan(&mut self, x: TermId, y: TermId) -> TermId {
        let p = self.is(Class::Nan, x);
        self.select(p, x, y)
    }

    /// Whether the machine's number for a real in a format is of a class though the real is a number.
    pub fn overflows(&mut self, class: Class, fmt: Fmt, a: TermId) -> TermId {
        if self.as_const(a).is_some() || !self.is_ordinary(a) {
            return self.bool(false);
        }
        self.insert(
            node(view::OVERFLOWS, class as u8, fmt as u16, a.0, 0, 0),
            false,
        )
    }

    /// Ordered comparison of reals.
    pub fn rcmp(&mut self, op: RCmp, a: TermId, b: TermId) -> TermId {
        let (a, b) = self.unnegated(a, b);
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
        if let Some(v) = self.by_numbers(op, a, b) {
            return self.bool(v);
        }
        let (a, b) = if op == RCmp::Eq && a > b {
            (b, a)
        } else {
            (a, b)
        };
        let total = self.is_total(a) && self.is_total(b);
        self.insert(node(view::RCMP, op as u8, 0, a.0, b.0, 0), total)
    }

    /// The operands of a comparison without a negation that both can do without.
    ///
    /// match `-x < c`, `-x < -y` / result `-c < x`, `y < x`, for `<=` and `=` too / because compilers compare what they
    /// negated either way, and a negation is exact and turns every order.
    fn unnegated(&mut self, a: TermId, b: TermId) -> (TermId, TermId) {
        let is_negated = |t| matches!(self.get(t), Term::Neg(_));
        if !is_negated(a) && !is_negated(b) {
            return (a, b);
        }
        let can = |t| is_negated(t) || self.as_const(t).is_some();
        match can(a) && can(b) {
            true => (self.neg(b), self.neg(a)),
            false => (a, b),
        }
    }

    /// Comparison of bit vectors of one width.
    pub fn icmp(&mut self, op: ICmp, a: TermId, b: TermId) -> TermId {
        let result = self.compared(op, a, b);
        self.note_meeting(a, b, result)
    }

    fn compared(&mut self, op: ICmp, a: TermId, b: TermId) -> TermId {
        let Sort::Bits(w) = self.sort(a) else {
            return self.undefined();
        };
        if let Some(t) = self.compared_whole(op, a, b) {
            return t;
        }
        if let Some(t) = self.compared_sums(op, w, a, b) {
            return t;
        }
        let (a, b) = match op {
            ICmp::Eq => self.solved(w, a, b),
            _ => (a, b),
        };
        if a != b
            && (self.as_bits(a).is_none() || self.as_bits(b).is_none())
            && let Some(t) = self.compare_fields(op, w, a, b)
        {
            return t;
        }
        self.compare_node(op, w, a, b)
    }

    /// The node of a comparison of bit vectors of width `w`; constants are folded.
    pub(super) fn compare_node(&mut self, op: ICmp, w: u8, a: TermId, b: TermId) -> TermId {
        if a == b {
            return self.bool(matches!(op, ICmp::Eq | ICmp::ULe | ICmp::SLe));
        }
        if let (Some(x), Some(y)) = (self.as_bits(a), self.as_bits(b)) {
            return self.bool(fold_compare(op, w, x, y));
        }
        if let Some(v) = self.by_facts(op, a, b) {
            return self.bool(v);
        }
        if let Some(t) = self.of_two_values(op, w, a, b) {
            return t;
        }
        if w == 1 && op == ICmp::Eq {
            // One form for a test of a bit: that it is set.
            for (x, y) in [(a, b), (b, a)] {
                if self.as_bits(y) == Some(0) {
                    let one = self.bits(1, 1);
                    let set = self.compare_node(op, w, x, one);
                    return self.not(set);
                }
            }
        }
        let (a, b) = if op == ICmp::Eq && a > b {
            (b, a)
        } else {
            (a, b)
        };
        let total = self.is_total(a) && self.is_total(b);
        self.insert(node(view::ICMP, op as u8, 0, a.0, b.0, 0), total)
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
                self.insert(node(view::NOT, 0, 0, a.0, 0, 0), total)
            }
        }
    }

    /// True if one of two total predicates is the negation of the other.
    pub fn opposite(&self, a: TermId, b: TermId) -> bool {
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
}

/// The exact rational value of a function at a rational, where there is one.
/// Whether an operation on two constants is carried out. A loop that squares doubles the digits
/// each time; constants beyond this many bits stay terms.
fn is_short(x: &BigRational, y: &BigRational) -> bool {
    let bits = |q: &BigRational| q.numer().bits() + q.denom().bits();
    bits(x) + bits(y) <= MAX_BITS
}

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
        Fun::Sin | Fun::Tanh | Fun::Erf if c.is_zero() => Some(c.clone()),
        Fun::Cos if c.is_zero() => Some(BigRational::from_integer(BigInt::from(1))),
        Fun::Sin | Fun::Cos | Fun::Tanh | Fun::Erf => None,
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
