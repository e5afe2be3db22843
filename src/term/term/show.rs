//! Terms as formulas for people, bounded in depth and length.
//!
//! Infix where mathematics is infix, with as few parentheses as precedence allows; what lies too
//! deep is `...`. The recursion is bounded by the depth limit, not by the term.

use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive};

use super::{ArrayId, BitsOp, Class, Fun, ICmp, RCmp, Term, TermId, TermStore};

/// Names the `width` bytes of an array at a byte offset.
pub type Namer<'n> = dyn Fn(ArrayId, u64, u64) -> String + 'n;

/// How much to print.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Levels of nesting.
    pub depth: usize,
    /// Characters, roughly.
    pub chars: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            depth: 6,
            chars: 160,
        }
    }
}

struct Printer<'a> {
    store: &'a TermStore,
    name: &'a Namer<'a>,
    chars: usize,
    out: String,
}

/// The term as a formula.
pub fn show(store: &TermStore, t: TermId, name: &Namer<'_>, bounds: Bounds) -> String {
    let mut p = Printer {
        store,
        name,
        chars: bounds.chars,
        out: String::new(),
    };
    p.term(t, bounds.depth, 0);
    p.out
}

/// A rational as people write it: an integer, a short fraction, or a decimal.
pub fn number(q: &BigRational) -> String {
    if q.is_integer() && q.numer().bits() <= 64 {
        return q.numer().to_string();
    }
    if q.numer().bits() <= 8 && q.denom().bits() <= 6 {
        return q.to_string();
    }
    let i = super::dyadic::Interval::from_rational(q, 64);
    let v = i.lo.to_f64();
    if v != 0.0 && (v.abs() < 1e-4 || v.abs() >= 1e15) {
        return format!("{v:e}");
    }
    // A number that single precision holds is shown with as many digits as that needs.
    match v as f32 {
        s if s as f64 == v => s.to_string(),
        _ => v.to_string(),
    }
}

const SUM: u8 = 1;
const PRODUCT: u8 = 2;
const ATOM: u8 = 3;

impl Printer<'_> {
    fn push(&mut self, s: &str) {
        self.out.push_str(s);
    }

    fn full(&self) -> bool {
        self.out.len() >= self.chars
    }

    /// Prints something, in parentheses where what stands around it binds more closely.
    fn enclosed(&mut self, needed: bool, print: impl FnOnce(&mut Self)) {
        if needed {
            self.push("(");
        }
        print(self);
        if needed {
            self.push(")");
        }
    }

    fn infix(&mut self, op: &str, own: u8, a: TermId, b: TermId, depth: usize, outer: u8) {
        self.enclosed(outer > own, |s| {
            s.term(a, depth, own);
            s.push(op);
            s.term(b, depth, own + 1);
        });
    }

    fn call(&mut self, name: &str, args: &[TermId], depth: usize) {
        self.push(name);
        self.push("(");
        for (i, &a) in args.iter().enumerate() {
            if i > 0 {
                self.push(", ");
            }
            self.term(a, depth, 0);
        }
        self.push(")");
    }

    /// Adds a summand after others, with its sign.
    fn summand(&mut self, t: TermId, depth: usize) {
        if let Term::Neg(x) = self.store.get(t) {
            self.push(" - ");
            self.term(x, depth, PRODUCT);
            return;
        }
        if let Some(q) = self.store.as_const(t).filter(|q| q.is_negative()) {
            let text = format!(" - {}", number(&q.abs()));
            self.push(&text);
            return;
        }
        self.push(" + ");
        self.term(t, depth, SUM);
    }

    /// The first few products of a sum and the number of the others.
    fn products(
        &mut self,
        list: &[u32],
        plus: &str,
        mut one: impl FnMut(&mut Self, TermId, TermId),
    ) {
        let (pairs, _) = list.as_chunks::<2>();
        for (i, [a, b]) in pairs.iter().enumerate() {
            if i > 0 {
                self.push(plus);
            }
            if i > 0 && (i >= 4 && pairs.len() > 5 || self.full()) {
                let text = format!("... ({} more)", pairs.len() - i);
                self.push(&text);
                break;
            }
            one(self, TermId(*a), TermId(*b));
        }
    }

    /// A product of bit vectors; one of them alone if the other is 1.
    fn bits_product(&mut self, a: TermId, b: TermId, depth: usize) {
        match (self.store.as_bits(a), self.store.as_bits(b)) {
            (Some(1), _) => self.term(b, depth, ATOM),
            (_, Some(1)) => self.term(a, depth, ATOM),
            _ => self.enclosed(true, |s| s.bits_infix(" *i ", a, b, depth)),
        }
    }

    fn bits_infix(&mut self, op: &str, a: TermId, b: TermId, depth: usize) {
        self.term(a, depth, ATOM);
        self.push(op);
        self.term(b, depth, ATOM);
    }

    fn product(&mut self, a: TermId, b: TermId, depth: usize, outer: u8) {
        if self.store.is_one(a) {
            self.term(b, depth, outer);
        } else if self.store.is_one(b) {
            self.term(a, depth, outer);
        } else {
            self.infix("*", PRODUCT, a, b, depth, outer);
        }
    }

    /// Prints an input of so many bits.
    fn input(&mut self, array: ArrayId, off: u64, bits: u32) {
        self.push(&(self.name)(array, off, u64::from(bits) / 8));
    }

    fn term(&mut self, t: TermId, depth: usize, outer: u8) {
        if depth == 0 || self.full() {
            self.push("...");
            return;
        }
        let d = depth - 1;
        match self.store.get(t) {
            Term::Const(c) => {
                let q = self.store.constant(c);
                let text = number(q);
                self.enclosed(q.is_negative() && outer > 0, |s| s.push(&text));
            }
            Term::Inf { neg } => self.push(if neg { "-inf" } else { "inf" }),
            Term::Undefined => self.push("undefined"),
            Term::Elem {
                array: ArrayId::CONSTANTS,
                ..
            } => self.push("log2(e)"),
            Term::Elem { array, fmt, off } => self.input(array, off, fmt.bits()),
            Term::Add(a, b) => self.enclosed(outer > SUM, |s| {
                s.term(a, d, SUM);
                s.summand(b, d);
            }),
            Term::Mul(a, b) => self.product(a, b, d, outer),
            Term::Neg(a) => self.enclosed(outer > SUM, |s| {
                s.push("-");
                s.term(a, d, PRODUCT);
            }),
            Term::Sum(list) => self.enclosed(outer > SUM, |s| {
                s.products(list, " + ", |s, a, b| s.product(a, b, d, PRODUCT));
            }),
            Term::Div(a, b) => self.infix("/", PRODUCT, a, b, d, outer),
            Term::Fun(f, a) => self.call(function(f), &[a], d),
            Term::Made(made) => self.term(made.real(), depth, outer),
            Term::Max(a, b) => self.call("max", &[a, b], d),
            Term::Min(a, b) => self.call("min", &[a, b], d),
            Term::Select(p, a, b) | Term::BitsSelect(p, a, b) => self.enclosed(outer > 0, |s| {
                s.term(p, d, SUM);
                s.push(" ? ");
                s.term(a, d, SUM);
                s.push(" : ");
                s.term(b, d, SUM);
            }),
            Term::OfInt { signed, bits } => {
                self.call(if signed { "int" } else { "uint" }, &[bits], d);
            }
            Term::OfBits { fmt, bits } => self.call(&format!("as_{}", fmt.name()), &[bits], d),
            Term::Bool(b) => self.push(if b { "true" } else { "false" }),
            Term::RCmp(op, a, b) => self.infix(order_of_reals(op), 0, a, b, d, outer),
            Term::Is(c, a) => self.call(class(c), &[a], d),
            Term::Overflows(_, fmt, a) => self.call(&format!("overflows_{}", fmt.name()), &[a], d),
            Term::ICmp(op, a, b) => self.infix(order_of_integers(op), 0, a, b, d, outer),
            Term::Not(a) => self.call("not", &[a], d),
            Term::And(a, b) => self.call("and", &[a, b], d),
            Term::Or(a, b) => self.call("or", &[a, b], d),
            Term::Xor(a, b) => self.call("xor", &[a, b], d),
            Term::BitsConst { value, .. } if value < 1 << 16 => self.push(&value.to_string()),
            Term::BitsConst { value, .. } => self.push(&format!("{value:#x}")),
            Term::Bytes { array, off, width } => self.input(array, off, width.into()),
            Term::Fresh { serial, .. } => self.push(&format!("unknown#{serial}")),
            Term::Poison { .. } => self.push("uninitialized"),
            Term::Word(word) => {
                let name = word.operation(self.store).name();
                let operands: Vec<TermId> = word.operands().collect();
                self.call(&name, &operands, d);
            }
            Term::OfReal { fmt, real } => self.call(fmt.name(), &[real], d),
            Term::Concat(list) => {
                let parts: Vec<TermId> = list.iter().map(|&i| TermId(i)).collect();
                self.call("pack", &parts, d);
            }
            Term::Extract { bits, low, width } => {
                self.term(bits, d, ATOM);
                let high = low as u32 + width as u32 - 1;
                self.push(&format!("<{high}:{low}>"));
            }
            Term::BitsSum(list) => self.enclosed(outer > 0, |s| {
                s.products(list, " +i ", |s, a, b| s.bits_product(a, b, d));
            }),
            Term::BitsOp(op, a, b) => {
                self.enclosed(outer > 0, |s| s.bits_infix(operation(op), a, b, d));
            }
            Term::OfBool { p, .. } => self.call("bit", &[p], d),
            Term::Clamp {
                width,
                signed,
                real,
            } => {
                let sign = if signed { "s" } else { "u" };
                self.call(&format!("{sign}{width}"), &[real], d);
            }
        }
    }
}

/// The name of a function of a real.
pub fn function(f: Fun) -> &'static str {
    match f {
        Fun::Sqrt => "sqrt",
        Fun::Rsqrt => "rsqrt",
        Fun::Exp2 => "exp2",
        Fun::Log2 => "log2",
        Fun::Sin => "sin",
        Fun::Cos => "cos",
        Fun::Tanh => "tanh",
        Fun::Erf => "erf",
        Fun::Abs => "abs",
        Fun::Floor => "floor",
        Fun::Ceil => "ceil",
        Fun::Trunc => "trunc",
        Fun::RoundEven => "round",
    }
}

/// The name of a class of floats.
fn class(c: Class) -> &'static str {
    match c {
        Class::Nan => "is_nan",
        Class::PosInf => "is_inf",
        Class::NegInf => "is_minus_inf",
    }
}

/// The sign of a comparison of reals.
fn order_of_reals(op: RCmp) -> &'static str {
    match op {
        RCmp::Lt => " < ",
        RCmp::Le => " <= ",
        RCmp::Eq => " = ",
    }
}

/// The sign of a comparison of bits.
fn order_of_integers(op: ICmp) -> &'static str {
    match op {
        ICmp::Eq => " = ",
        ICmp::ULt => " <u ",
        ICmp::ULe => " <=u ",
        ICmp::SLt => " <s ",
        ICmp::SLe => " <=s ",
    }
}

/// The sign of an operation on bits.
fn operation(op: BitsOp) -> &'static str {
    match op {
        BitsOp::Add => " +i ",
        BitsOp::Mul => " *i ",
        BitsOp::And => " & ",
        BitsOp::Or => " | ",
        BitsOp::Xor => " ^ ",
        BitsOp::Shl => " << ",
        BitsOp::LShr => " >>u ",
        BitsOp::AShr => " >>s ",
        BitsOp::UDiv => " /u ",
        BitsOp::SDiv => " /s ",
        BitsOp::URem => " %u ",
        BitsOp::SRem => " %s ",
    }
}

/// A rational as a double, for reports.
pub fn approx(q: &BigRational) -> Option<f64> {
    q.to_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::Fmt;

    #[test]
    fn formulas_read_well_and_stay_short() {
        let mut s = TermStore::new();
        let name = |_: ArrayId, off: u64, w: u64| format!("in[{}]", off / w);
        let x: Vec<TermId> = (0..9)
            .map(|i| s.elem(ArrayId(0), Fmt::F32, 4 * i))
            .collect();
        let sum = s.add(x[0], x[1]);
        let half = s.rational(BigRational::new(1.into(), 2.into()));
        let t = s.mul(sum, half);
        let n = s.neg(x[3]);
        let t = s.add(t, n);
        let show = |s: &TermStore, t| show(s, t, &name, Bounds::default());
        assert_eq!(show(&s, t), "(in[0] + in[1])*1/2 - in[3]");
        let pairs: Vec<_> = x.iter().map(|&a| (a, a)).collect();
        let t = s.sum(&pairs);
        assert_eq!(
            show(&s, t),
            "in[0]*in[0] + in[1]*in[1] + in[2]*in[2] + in[3]*in[3] + ... (5 more)"
        );
        let mut t = x[0];
        for _ in 0..100_000 {
            let one = s.integer(1);
            let a = s.add(t, one);
            t = s.fun(Fun::Exp2, a);
        }
        assert!(show(&s, t).len() < 300);
    }
}
