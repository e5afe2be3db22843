//! Integer expressions: subscripts, ranges, and comparisons of integers.
//!
//! `/` and `%` round down here. What does not depend on data is a machine integer of 64 bits, and a result beyond
//! that is an error; what does is a [`Word`], or a real that is an integer where 64 bits may not hold it.

use super::ast::{Cmp, Expr, ExprId, Fold, Func, MulOp};
use super::build::{Builder, Built, Stop, Truth};
use super::error::Problem;
use super::resolve::Meaning;
use super::symbols::Scalar;
use super::word::Word;
use crate::sim::UnknownKind;
use crate::spec::ElemTy;
use crate::term::{Fun, TermId, sext};
use smallvec::SmallVec;

/// An integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Int {
    Known(i64),
    /// Bits that depend on data.
    Word(Word),
    /// A real that is an integer on every input.
    Real(TermId),
}

impl Builder<'_> {
    /// True for an expression of indices, sizes and integer arrays, and for reductions of such.
    pub(super) fn is_integer(&self, e: ExprId) -> bool {
        let program = self.program;
        let both = |list: &[ExprId]| list.iter().all(|&e| self.is_integer(e));
        match self.formula().expr(e) {
            Expr::Number { integer, .. } => *integer,
            Expr::Name(_) => match program.meanings.get(&e) {
                Some(Meaning::Var(_)) => true,
                Some(&Meaning::Scalar(s)) => matches!(
                    program.symbols.scalars[s].value,
                    Scalar::Int(_) | Scalar::IntSymbol(..)
                ),
                Some(Meaning::Array(_) | Meaning::Helper(_)) | None => false,
            },
            Expr::Read { .. } => match program.meanings.get(&e) {
                Some(&Meaning::Array(a)) => {
                    let elem = program.symbols.arrays[a].array.elem;
                    matches!(elem, Some(ElemTy::Int { .. }))
                }
                _ => false,
            },
            Expr::Neg(a) => self.is_integer(*a),
            Expr::Power(a, n) => *n >= 0 && self.is_integer(*a),
            Expr::Sum(terms) => terms.iter().all(|t| self.is_integer(t.1)),
            Expr::Product(factors) => factors.iter().all(|f| self.is_integer(f.1)),
            Expr::Call(Func::Abs | Func::Max | Func::Min, args) => both(args),
            Expr::If(_, yes, no) => both(&[*yes, *no]),
            Expr::Reduce { fold, body, .. } => *fold != Fold::Mean && self.is_integer(*body),
            Expr::Infinity
            | Expr::Pi
            | Expr::Call(..)
            | Expr::Compare(..)
            | Expr::IsNan(_)
            | Expr::Not(_)
            | Expr::And(_)
            | Expr::Or(_) => false,
        }
    }

    /// True for what is an integer as a real too: an expression of integer arrays, and of intermediate arrays that are
    /// such, in which no `/` stands. What is rounded down though it is an integer may be among it.
    pub(super) fn is_whole(&self, e: ExprId) -> bool {
        let both = |list: &[ExprId]| list.iter().all(|&e| self.is_whole(e));
        match self.formula().expr(e) {
            Expr::Read { .. } => match self.program.meanings.get(&e) {
                Some(&Meaning::Helper(h)) => self.whole[h],
                _ => self.is_integer(e),
            },
            Expr::Neg(a) => self.is_whole(*a),
            Expr::Power(a, n) => *n >= 0 && self.is_whole(*a),
            Expr::Sum(terms) => terms.iter().all(|t| self.is_whole(t.1)),
            // A remainder is taken of integers, here as among reals.
            Expr::Product(factors) if factors.iter().any(|f| f.0 == MulOp::Rem) => {
                self.is_integer(e)
            }
            Expr::Product(factors) => {
                let mut all = factors.iter();
                all.all(|f| f.0 == MulOp::Times && self.is_whole(f.1))
            }
            Expr::Call(Func::Abs | Func::Max | Func::Min | Func::Floor, args) => both(args),
            Expr::If(_, yes, no) => both(&[*yes, *no]),
            Expr::Reduce { fold, body, .. } => *fold != Fold::Mean && self.is_whole(*body),
            Expr::Number { .. } | Expr::Name(_) => self.is_integer(e),
            Expr::Infinity
            | Expr::Pi
            | Expr::Call(..)
            | Expr::Compare(..)
            | Expr::IsNan(_)
            | Expr::Not(_)
            | Expr::And(_)
            | Expr::Or(_) => false,
        }
    }

    /// Finds the intermediate arrays of integers: each is one unless it is seen not to be, and none is defined by way
    /// of itself.
    pub(super) fn find_whole(&mut self) {
        self.whole = vec![true; self.program.helpers.len()];
        loop {
            let program = self.program;
            let still = |(h, w): (usize, &bool)| *w && self.is_whole(program.helpers[h].value);
            let found: Vec<bool> = self.whole.iter().enumerate().map(still).collect();
            if found == self.whole {
                return;
            }
            self.whole = found;
        }
    }

    /// True for a sum of integers one of which is a remainder, where no quotient may be meant that is not rounded: its bits
    /// tell which of those of the numerator are left, as in `(x - x % 16) / 16`.
    pub(super) fn has_remainder(&self, e: ExprId) -> bool {
        let formula = self.formula();
        let of = |e: ExprId, wanted: MulOp| match formula.expr(e) {
            Expr::Product(factors) => factors.iter().any(|f| f.0 == wanted),
            _ => false,
        };
        let is_plain = |e: ExprId| match formula.expr(e) {
            Expr::Number { .. } | Expr::Name(_) | Expr::Read { .. } => true,
            Expr::Product(_) => of(e, MulOp::Rem),
            _ => false,
        };
        match formula.expr(e) {
            Expr::Sum(terms) => {
                self.is_integer(e)
                    && terms.iter().all(|t| is_plain(t.1))
                    && terms.iter().any(|t| of(t.1, MulOp::Rem))
            }
            _ => false,
        }
    }

    /// The integer that an expression is.
    pub(super) fn integer(&mut self, e: ExprId) -> Built<Int> {
        if !self.is_integer(e) && !self.is_whole(e) {
            let what = "only indices, sizes, integers and integer arrays make one".to_string();
            return self.wrong(Problem::NotInteger { what }, e);
        }
        let formula = self.formula();
        match formula.expr(e) {
            Expr::Number { value, .. } => match i64::try_from(value.to_integer()) {
                Ok(v) => Ok(Int::Known(v)),
                Err(_) => self.overflow(e),
            },
            Expr::Name(_) => self.named_integer(e),
            Expr::Neg(a) => {
                let a = self.integer(*a)?;
                self.combine(e, Int::Known(0), a, Op::Sub)
            }
            Expr::Sum(terms) => {
                let mut out = Int::Known(0);
                for &(minus, t) in terms {
                    let t = self.integer(t)?;
                    out = self.combine(e, out, t, if minus { Op::Sub } else { Op::Add })?;
                }
                Ok(out)
            }
            Expr::Product(factors) => {
                let mut out = self.integer(factors[0].1)?;
                for &(op, f) in &factors[1..] {
                    let f = self.integer(f)?;
                    let op = match op {
                        MulOp::Times => Op::Mul,
                        MulOp::Over => Op::Div,
                        MulOp::Rem => Op::Rem,
                    };
                    out = self.combine(e, out, f, op)?;
                }
                Ok(out)
            }
            Expr::Power(a, n) => {
                let a = self.integer(*a)?;
                let mut out = Int::Known(1);
                for _ in 0..*n {
                    out = self.combine(e, out, a, Op::Mul)?;
                }
                Ok(out)
            }
            Expr::Call(f, args) => {
                let mut out = self.integer(args[0])?;
                if *f == Func::Abs {
                    let minus = self.combine(e, Int::Known(0), out, Op::Sub)?;
                    out = self.combine(e, out, minus, Op::Max)?;
                }
                let op = if *f == Func::Min { Op::Min } else { Op::Max };
                for &a in &args[1..] {
                    let a = self.integer(a)?;
                    out = self.combine(e, out, a, op)?;
                }
                Ok(out)
            }
            Expr::If(cond, yes, no) => match self.holds(*cond)? {
                Truth::Known(true) => self.integer(*yes),
                Truth::Known(false) => self.integer(*no),
                Truth::Term(p) => {
                    let not = self.store.not(p);
                    let a = self.under(Some(p), |b| b.integer(*yes))?;
                    let b = self.under(Some(not), |b| b.integer(*no))?;
                    Ok(self.one_of(p, a, b))
                }
            },
            Expr::Reduce { .. } => self.integer_reduction(e),
            // What is left is an element of an integer array, or of an intermediate one.
            Expr::Read { indices, .. } => match self.program.meanings.get(&e) {
                Some(&Meaning::Helper(h)) => {
                    let values = self.subscripts(indices)?;
                    self.integer_helper(h, values)
                }
                _ => self.integer_element(e, indices),
            },
            _ => self.overflow(e),
        }
    }

    fn overflow<T>(&self, e: ExprId) -> Built<T> {
        let at = self.at(e);
        self.wrong(Problem::Overflow { at }, e)
    }

    fn named_integer(&mut self, e: ExprId) -> Built<Int> {
        match self.program.meanings.get(&e) {
            Some(Meaning::Var(v)) => Ok(Int::Known(self.env[v.0 as usize])),
            Some(&Meaning::Scalar(s)) => {
                let symbol = &self.program.symbols.scalars[s];
                match symbol.value {
                    Scalar::Int(v) => Ok(Int::Known(v)),
                    Scalar::IntSymbol(array, width, signed) => {
                        let bits = self.store.bytes(array, 0, width);
                        Ok(self.of_bits(bits, width, signed))
                    }
                    _ => {
                        let name = symbol.name.clone();
                        self.wrong(Problem::NoValue { name }, e)
                    }
                }
            }
            _ => self.overflow(e),
        }
    }

    fn integer_helper(&mut self, h: usize, values: SmallVec<[i64; 4]>) -> Built<Int> {
        let (key, value) = self.enter(h, values);
        if let Some(&v) = self.done_integers.get(&key) {
            self.again(&key);
            return Ok(v);
        }
        let v = self.kept(&key, |b| b.integer(value))?;
        self.done_integers.insert(key, v);
        Ok(v)
    }

    fn integer_element(&mut self, e: ExprId, indices: &[ExprId]) -> Built<Int> {
        let Some(&Meaning::Array(a)) = self.program.meanings.get(&e) else {
            return self.overflow(e);
        };
        let program = self.program;
        let array = &program.symbols.arrays[a];
        let at = self.located(e, array, indices)?;
        match array.array.elem {
            Some(ElemTy::Int { width, signed }) => {
                let bits = self.input_bits(array, at, width);
                // Of unsigned elements a range that reaches below 0 says nothing.
                let known = self.store.facts.of(array.id).map(|r| (r.lo, r.hi));
                let known = known.filter(|r| signed || r.0 >= 0);
                Ok(match (self.of_bits(bits, width, signed), known) {
                    (Int::Word(word), Some((lo, hi))) => Int::Word(word.within(lo, hi)),
                    (other, _) => other,
                })
            }
            _ => self.overflow(e),
        }
    }

    /// The integer that bits of a type denote.
    pub(super) fn of_bits(&mut self, bits: TermId, width: u8, signed: bool) -> Int {
        match Word::element(&mut self.store, bits, width, signed) {
            Some(word) => self.settled(word),
            None => Int::Real(self.store.of_int(signed, bits)),
        }
    }

    /// A word, as a number if it is one.
    fn settled(&self, word: Word) -> Int {
        match self.store.as_bits(word.bits) {
            Some(v) => Int::Known(sext(v, word.width)),
            None => Int::Word(word),
        }
    }

    fn word(&mut self, v: Int) -> Option<Word> {
        match v {
            Int::Known(v) => Some(Word::known(&mut self.store, v)),
            Int::Word(w) => Some(w),
            Int::Real(_) => None,
        }
    }

    /// One of two integers, by a condition.
    pub(super) fn one_of(&mut self, p: TermId, a: Int, b: Int) -> Int {
        match (self.word(a), self.word(b)) {
            (Some(a), Some(b)) => Int::Word(Word::select(&mut self.store, p, a, b)),
            _ => {
                let (a, b) = (self.of_integer(a), self.of_integer(b));
                Int::Real(self.store.select(p, a, b))
            }
        }
    }

    /// Whether a comparison of integers holds.
    pub(super) fn compare(&mut self, a: Int, b: Int, sign: Cmp) -> Truth {
        let p = match (a, b, self.word(a), self.word(b)) {
            (Int::Known(a), Int::Known(b), ..) => return Truth::Known(sign.holds(a.cmp(&b))),
            (_, _, Some(a), Some(b)) => Word::compare(&mut self.store, a, b, sign),
            _ => {
                let (a, b) = (self.of_integer(a), self.of_integer(b));
                return self.compare_reals(a, b, sign);
            }
        };
        self.as_truth(p)
    }

    pub(super) fn combine(&mut self, e: ExprId, a: Int, b: Int, op: Op) -> Built<Int> {
        let divides = matches!(op, Op::Div | Op::Rem);
        if divides && b == Int::Known(0) {
            let at = self.at(e);
            return self.wrong(Problem::DivisionByZero { at }, e);
        }
        if let (Int::Known(a), Int::Known(b)) = (a, b) {
            return match op.known(a, b) {
                Some(v) => Ok(Int::Known(v)),
                None => self.overflow(e),
            };
        }
        if let (Some(x), Some(y)) = (self.word(a), self.word(b))
            && let Some(word) = Word::combine(&mut self.store, x, y, op)
        {
            return Ok(self.settled(word));
        }
        let (x, y) = (self.of_integer(a), self.of_integer(b));
        let s = &mut self.store;
        Ok(Int::Real(match op {
            Op::Add => s.add(x, y),
            Op::Sub => s.sub(x, y),
            Op::Mul => s.mul(x, y),
            Op::Max => s.max(x, y),
            Op::Min => s.min(x, y),
            Op::Div | Op::Rem => {
                // A denominator that data choose may be 0.
                let Int::Known(1..) = b else {
                    let message =
                        "the formula divides integers by what is not known to be positive";
                    return Err(Stop::Unknown(UnknownKind::Undefined, message.to_string()));
                };
                let q = s.div(x, y);
                let q = s.fun(Fun::Floor, q);
                match op {
                    Op::Div => q,
                    _ => {
                        let p = s.mul(q, y);
                        s.sub(x, p)
                    }
                }
            }
        }))
    }
}

/// Operations on integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Max,
    Min,
}

impl Op {
    /// The result if it fits; the denominator is not 0.
    fn known(self, a: i64, b: i64) -> Option<i64> {
        match self {
            Op::Add => a.checked_add(b),
            Op::Sub => a.checked_sub(b),
            Op::Mul => a.checked_mul(b),
            // Rounded down for either sign of the denominator.
            Op::Div => {
                let q = a.checked_div(b)?;
                Some(q - i64::from(a % b != 0 && (a < 0) != (b < 0)))
            }
            Op::Rem => {
                let r = a.checked_rem(b)?;
                Some(if r != 0 && (r < 0) != (b < 0) {
                    r + b
                } else {
                    r
                })
            }
            Op::Max => Some(a.max(b)),
            Op::Min => Some(a.min(b)),
        }
    }
}
