//! The value of an element as a term.
//!
//! Indices and sizes are known integers while an element is built, so that a subscript that leaves its shape, a
//! division by 0 and a wrap are found where they happen. Values are built by the constructors of terms that the
//! simulator uses, an input element being the same symbol; long sums become one term of many products.
//!
//! A formula is mathematics: a maximum of what is not a number is not a number, so that nothing is claimed there.

use std::rc::Rc;
use std::sync::Arc;

use num_bigint::BigInt;
use num_rational::BigRational;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::ast::{Cmp, Expr, ExprId, Formula, Func, MulOp};
use super::error::{Problem, Trouble};
use super::integer::Int;
use super::resolve::{Meaning, Program, Range, VarId};
use super::symbols::{ArraySymbol, Scalar, dense_strides};
use crate::diag::Span;
use crate::sim::UnknownKind;
use crate::sim::gather::{Gather, Gathers};
use crate::spec::{ElemTy, Limits};
use crate::term::facts::Facts;
use crate::term::{ArrayId, Class, Fun, RCmp, TermId, TermStore};

/// Steps between two looks at the limits.
const STEPS_BETWEEN_LOOKS: u64 = 1 << 14;
/// Most elements and operands of reductions.
const MOST_STEPS: u64 = 1 << 28;

/// Why an element has no term.
#[derive(Clone, Debug)]
pub(super) enum Stop {
    /// The formula is wrong.
    Wrong(Trouble),
    /// It is not known what it means.
    Unknown(UnknownKind, String),
}

pub(super) type Built<T> = Result<T, Stop>;

/// A condition that is known, or a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Truth {
    Known(bool),
    Term(TermId),
}

/// The values of the variables that a part of a formula depends on.
pub(super) type Key = (u32, SmallVec<[i64; 4]>);

/// Builds terms; one for each formula.
pub(super) struct Builder<'p> {
    pub program: &'p Program<'p>,
    pub store: TermStore,
    /// The value of each variable.
    pub env: Vec<i64>,
    /// Reductions and elements of intermediate arrays that are built.
    done: FxHashMap<Key, TermId>,
    /// Reductions of integers.
    pub done_integers: FxHashMap<Key, Int>,
    /// Which intermediate arrays are of integers.
    pub whole: Vec<bool>,
    /// Conditions under which what is built counts.
    pub conds: Vec<TermId>,
    /// Reads at places that data choose, since the last thing that is kept under a key was begun.
    pub reads: Gathers,
    /// Those of what is kept.
    pub reads_of: FxHashMap<Key, Rc<[Gather]>>,
    /// The variables that each reduction depends on.
    free: FxHashMap<ExprId, Vec<VarId>>,
    /// An integer may be beyond the type of the element that it is stored in.
    pub beyond: bool,
    steps: u64,
    limits: Limits,
}

impl<'p> Builder<'p> {
    pub(super) fn new(program: &'p Program<'p>, facts: Arc<Facts>, limits: Limits) -> Self {
        let mut store = TermStore::new();
        store.facts = facts;
        let mut builder = Builder {
            program,
            store,
            env: vec![0; program.vars.len()],
            done: FxHashMap::default(),
            done_integers: FxHashMap::default(),
            whole: Vec::new(),
            conds: Vec::new(),
            reads: Gathers::default(),
            reads_of: FxHashMap::default(),
            free: FxHashMap::default(),
            beyond: false,
            steps: 0,
            limits,
        };
        builder.find_whole();
        builder
    }

    pub(super) fn formula(&self) -> &'p Formula {
        self.program.formula
    }

    pub(super) fn span(&self, e: ExprId) -> Span {
        self.formula().span(e)
    }

    pub(super) fn wrong<T>(&self, problem: Problem, e: ExprId) -> Built<T> {
        Err(Stop::Wrong(Trouble::new(problem, self.span(e))))
    }

    /// The values of the variables below a part, as the end of a sentence.
    pub(super) fn at(&self, e: ExprId) -> String {
        let mut values = Vec::new();
        for v in self.variables(e) {
            let i = v.0 as usize;
            values.push(format!(
                "{} = {}",
                self.program.vars[i].name.text, self.env[i]
            ));
        }
        match values.is_empty() {
            true => String::new(),
            false => format!(" where {}", values.join(", ")),
        }
    }

    /// The variables that a part depends on, in order, without those that it binds itself.
    fn variables(&self, e: ExprId) -> Vec<VarId> {
        let (mut open, mut found, mut bound) = (vec![e], Vec::new(), Vec::new());
        while let Some(e) = open.pop() {
            if let Some(Meaning::Var(v)) = self.program.meanings.get(&e) {
                found.push(*v);
            }
            bound.extend(self.program.binders.get(&e).into_iter().flatten().copied());
            self.formula().expr(e).children(&mut |c| open.push(c));
        }
        found.retain(|v| !bound.contains(v));
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Looks at the limits now and then.
    pub(super) fn step(&mut self) -> Built<()> {
        self.steps += 1;
        if !self.steps.is_multiple_of(STEPS_BETWEEN_LOOKS) {
            return Ok(());
        }
        let held = self
            .limits
            .memory
            .is_some_and(|m| self.store.footprint() > m);
        let what = match held {
            true => Some("the memory limit was reached"),
            false if self.steps > MOST_STEPS => Some("more than 268,435,456 operands were met"),
            false => self.limits.reached(),
        };
        match what {
            Some(what) => {
                let message = format!("{what} while the formula was expanded");
                Err(Stop::Unknown(UnknownKind::Limit, message))
            }
            None => Ok(()),
        }
    }

    /// The real that an expression is.
    pub(super) fn real(&mut self, e: ExprId) -> Built<TermId> {
        let formula = self.formula();
        match formula.expr(e) {
            Expr::Number { value, .. } => Ok(self.store.rational(value.clone())),
            Expr::Infinity => Ok(self.store.infinity(false)),
            Expr::Pi => Ok(self.pi()),
            Expr::Name(_) => self.named(e),
            Expr::Read { indices, .. } => self.element(e, indices),
            Expr::Neg(a) => {
                let a = self.real(*a)?;
                Ok(self.store.neg(a))
            }
            Expr::Sum(_) if self.has_remainder(e) => {
                let v = self.integer(e)?;
                Ok(self.of_integer(v))
            }
            Expr::Sum(terms) => {
                let mut products = Vec::with_capacity(terms.len());
                let one = self.store.integer(1);
                for &(minus, t) in terms {
                    let t = self.real(t)?;
                    let t = if minus { self.store.neg(t) } else { t };
                    products.push((t, one));
                }
                Ok(self.total(&products))
            }
            Expr::Product(factors) if factors.iter().any(|f| f.0 == MulOp::Rem) => {
                let v = self.integer(e)?;
                Ok(self.of_integer(v))
            }
            Expr::Product(factors) => {
                let mut out = self.real(factors[0].1)?;
                for &(op, f) in &factors[1..] {
                    let f = self.real(f)?;
                    out = match op {
                        MulOp::Over => self.store.div(out, f),
                        MulOp::Times | MulOp::Rem => self.store.mul(out, f),
                    };
                }
                Ok(out)
            }
            Expr::Power(a, n) => {
                let a = self.real(*a)?;
                Ok(self.power(a, *n))
            }
            Expr::Call(f, args) => self.call(*f, args),
            Expr::Reduce { .. } => {
                let key = self.key(e);
                if let Some(&t) = self.done.get(&key) {
                    self.again(&key);
                    return Ok(t);
                }
                let t = self.kept(&key, |b| b.reduction(e))?;
                self.done.insert(key, t);
                Ok(t)
            }
            Expr::If(cond, yes, no) => match self.holds(*cond)? {
                Truth::Known(true) => self.real(*yes),
                Truth::Known(false) => self.real(*no),
                Truth::Term(p) => {
                    let not = self.store.not(p);
                    let a = self.under(Some(p), |b| b.real(*yes))?;
                    let b = self.under(Some(not), |b| b.real(*no))?;
                    Ok(self.store.select(p, a, b))
                }
            },
            Expr::Compare(..) | Expr::IsNan(_) | Expr::Not(_) | Expr::And(_) | Expr::Or(_) => {
                let problem = Problem::Sort {
                    found: "a condition",
                    wanted: "a number",
                };
                self.wrong(problem, e)
            }
        }
    }

    /// A rational that is pi to 60 digits, which no float and no product of some tells from it.
    fn pi(&mut self) -> TermId {
        const DIGITS: &str = "3141592653589793238462643383279502884197169399375105820974944";
        let digits: BigInt = DIGITS.parse().unwrap_or_default();
        let unit = BigInt::from(10).pow(DIGITS.len() as u32 - 1);
        self.store.rational(BigRational::new(digits, unit))
    }

    /// What a reduction depends on.
    pub(super) fn key(&mut self, e: ExprId) -> Key {
        if !self.free.contains_key(&e) {
            let vars = self.variables(e);
            self.free.insert(e, vars);
        }
        let values = self.free[&e].iter().map(|v| self.env[v.0 as usize]);
        (e.0, values.collect())
    }

    fn named(&mut self, e: ExprId) -> Built<TermId> {
        match self.program.meanings.get(&e) {
            Some(Meaning::Var(v)) => {
                let value = self.env[v.0 as usize];
                Ok(self.store.integer(value))
            }
            Some(&Meaning::Scalar(s)) => {
                let scalar = self.program.symbols.scalars[s].value.clone();
                Ok(self.scalar(&scalar))
            }
            Some(Meaning::Array(_) | Meaning::Helper(_)) | None => Ok(self.store.undefined()),
        }
    }

    fn scalar(&mut self, scalar: &Scalar) -> TermId {
        match scalar {
            Scalar::Int(v) => self.store.integer(*v),
            Scalar::Float(v) => self.store.rational(v.clone()),
            Scalar::Infinity(neg) => self.store.infinity(*neg),
            Scalar::Nan => self.store.undefined(),
            Scalar::FloatSymbol(array, fmt) => self.store.elem(*array, *fmt, 0),
            Scalar::IntSymbol(array, width, signed) => {
                let bits = self.store.bytes(*array, 0, *width);
                let v = self.of_bits(bits, *width, *signed);
                self.of_integer(v)
            }
        }
    }

    pub(super) fn of_integer(&mut self, v: Int) -> TermId {
        match v {
            Int::Known(v) => self.store.integer(v),
            Int::Word(w) => w.real(&mut self.store),
            Int::Real(t) => t,
        }
    }

    /// The known values of subscripts.
    pub(super) fn subscripts(&mut self, indices: &[ExprId]) -> Built<SmallVec<[i64; 4]>> {
        let mut out = SmallVec::new();
        for &i in indices {
            match self.integer(i)? {
                Int::Known(v) => out.push(v),
                Int::Word(_) | Int::Real(_) => {
                    let message = "an index of the formula depends on data";
                    let kind = UnknownKind::DataDependentAddress;
                    return Err(Stop::Unknown(kind, message.to_string()));
                }
            }
        }
        Ok(out)
    }

    /// An element of an array or of an intermediate array, as a real.
    fn element(&mut self, e: ExprId, indices: &[ExprId]) -> Built<TermId> {
        match self.program.meanings.get(&e) {
            Some(&Meaning::Helper(h)) => {
                let values = self.subscripts(indices)?;
                self.helper(h, values)
            }
            Some(&Meaning::Array(a)) => {
                let program = self.program;
                let array = &program.symbols.arrays[a];
                let at = self.located(e, array, indices)?;
                Ok(self.input(array, at))
            }
            _ => Ok(self.store.undefined()),
        }
    }

    fn helper(&mut self, h: usize, values: SmallVec<[i64; 4]>) -> Built<TermId> {
        let (key, value) = self.enter(h, values);
        if let Some(&t) = self.done.get(&key) {
            self.again(&key);
            return Ok(t);
        }
        let t = self.kept(&key, |b| b.real(value))?;
        self.done.insert(key, t);
        Ok(t)
    }

    /// The name of an element of an intermediate array, and its value, whose variables are bound.
    pub(super) fn enter(&mut self, h: usize, values: SmallVec<[i64; 4]>) -> (Key, ExprId) {
        let helper = &self.program.helpers[h];
        for (v, &value) in helper.indices.iter().zip(&values) {
            self.env[v.0 as usize] = value;
        }
        // Names of helpers count from the end, those of nodes from the start.
        ((u32::MAX - h as u32, values), helper.value)
    }

    /// The symbols and the byte offset of an element that is inside of its array.
    pub(super) fn located(
        &mut self,
        e: ExprId,
        array: &ArraySymbol,
        indices: &[ExprId],
    ) -> Built<(ArrayId, u64)> {
        let mut values = SmallVec::<[Int; 4]>::new();
        for &i in indices {
            values.push(self.integer(i)?);
        }
        let known = values.iter().map(|v| match v {
            Int::Known(v) => Some(*v),
            Int::Word(_) | Int::Real(_) => None,
        });
        let Some(known) = known.collect::<Option<SmallVec<[i64; 4]>>>() else {
            return self.chosen(e, array, &values);
        };
        let shape = &array.array.shape;
        for (i, (&value, &extent)) in known.iter().zip(shape).enumerate() {
            if value < 0 || value as u64 >= extent {
                let problem = Problem::Leaves {
                    name: array.name.clone(),
                    dimension: i,
                    value,
                    extent,
                    at: self.at(indices[i]),
                };
                return self.wrong(problem, *indices.get(i).unwrap_or(&e));
            }
        }
        Ok((array.id, place(array, &known)))
    }

    /// The bits of an input element: those before the launch, where they are known.
    pub(super) fn input_bits(
        &mut self,
        array: &ArraySymbol,
        (symbols, off): (ArrayId, u64),
        width: u8,
    ) -> TermId {
        let known = array.array.initial_bits(off..off + u64::from(width) / 8);
        match known {
            Some(bits) => self.store.bits(width, bits),
            None => self.store.bytes(symbols, off, width),
        }
    }

    /// An input element as a real.
    fn input(&mut self, array: &ArraySymbol, at: (ArrayId, u64)) -> TermId {
        let Some(elem) = array.array.elem else {
            return self.store.undefined();
        };
        let bits = self.input_bits(array, at, elem.bytes() as u8 * 8);
        match elem {
            ElemTy::Float(fmt) => self.store.of_bits(fmt, bits),
            ElemTy::Int { width, signed } => {
                let v = self.of_bits(bits, width, signed);
                self.of_integer(v)
            }
        }
    }

    fn power(&mut self, a: TermId, n: i32) -> TermId {
        let mut out = self.store.integer(1);
        let (mut square, mut left) = (a, n.unsigned_abs());
        while left > 0 {
            if left & 1 == 1 {
                out = self.store.mul(out, square);
            }
            left >>= 1;
            if left > 0 {
                square = self.store.mul(square, square);
            }
        }
        match n < 0 {
            true => {
                let one = self.store.integer(1);
                self.store.div(one, out)
            }
            false => out,
        }
    }

    /// e to a term.
    fn exp(&mut self, t: TermId) -> TermId {
        let l = self.store.log2_e();
        let t = self.store.mul(t, l);
        self.store.fun(Fun::Exp2, t)
    }

    fn call(&mut self, f: Func, args: &[ExprId]) -> Built<TermId> {
        let mut values = SmallVec::<[TermId; 4]>::new();
        for &a in args {
            values.push(self.real(a)?);
        }
        let x = values[0];
        let s = &mut self.store;
        Ok(match f {
            Func::Exp => self.exp(x),
            Func::Log => {
                let (log, l) = (s.fun(Fun::Log2, x), s.log2_e());
                s.div(log, l)
            }
            Func::Sqrt => s.fun(Fun::Sqrt, x),
            Func::Rsqrt => s.fun(Fun::Rsqrt, x),
            Func::Tanh => s.fun(Fun::Tanh, x),
            Func::Erf => s.fun(Fun::Erf, x),
            Func::Sin => s.fun(Fun::Sin, x),
            Func::Cos => s.fun(Fun::Cos, x),
            Func::Abs => s.fun(Fun::Abs, x),
            Func::Floor => s.fun(Fun::Floor, x),
            Func::Ceil => s.fun(Fun::Ceil, x),
            Func::Trunc => s.fun(Fun::Trunc, x),
            Func::Rint => s.fun(Fun::RoundEven, x),
            Func::Relu => {
                let zero = s.integer(0);
                self.extremum(x, zero, false)
            }
            Func::Sigmoid => {
                let minus = s.neg(x);
                let e = self.exp(minus);
                let one = self.store.integer(1);
                let sum = self.store.add(one, e);
                self.store.div(one, sum)
            }
            Func::Max | Func::Min => {
                let mut out = x;
                for &v in &values[1..] {
                    out = self.extremum(out, v, f == Func::Min);
                }
                out
            }
        })
    }

    /// The larger or the smaller, and not a number where one of them is none.
    pub(super) fn extremum(&mut self, a: TermId, b: TermId, smaller: bool) -> TermId {
        let s = &mut self.store;
        let mut out = match smaller {
            true => s.min(a, b),
            false => s.max(a, b),
        };
        for x in [b, a] {
            if !s.is_number(x) {
                out = s.unless_nan(x, out);
            }
        }
        out
    }

    /// Whether a condition holds.
    pub(super) fn truth(&mut self, e: ExprId) -> Built<Truth> {
        let formula = self.formula();
        match formula.expr(e) {
            Expr::Compare(operands, signs) => self.chain(operands, signs),
            Expr::IsNan(a) => {
                let a = self.real(*a)?;
                let p = self.store.is(Class::Nan, a);
                Ok(self.as_truth(p))
            }
            Expr::Not(a) => Ok(match self.truth(*a)? {
                Truth::Known(b) => Truth::Known(!b),
                Truth::Term(p) => Truth::Term(self.store.not(p)),
            }),
            Expr::And(list) => self.all(list, true),
            Expr::Or(list) => self.all(list, false),
            _ => {
                let problem = Problem::Sort {
                    found: "a number",
                    wanted: "a condition",
                };
                self.wrong(problem, e)
            }
        }
    }

    /// Whether a condition holds where what is built counts: what was asked around it is known there.
    pub(super) fn holds(&mut self, e: ExprId) -> Built<Truth> {
        let truth = self.truth(e)?;
        let Truth::Term(p) = truth else {
            return Ok(truth);
        };
        let not = self.store.not(p);
        Ok(match (self.conds.contains(&p), self.conds.contains(&not)) {
            (true, _) => Truth::Known(true),
            (_, true) => Truth::Known(false),
            _ => truth,
        })
    }

    /// Whether all hold, or with `unit` false whether one does. What a known condition settles is not asked: it may
    /// guard what comes after it.
    fn all(&mut self, list: &[ExprId], unit: bool) -> Built<Truth> {
        let mut out = Truth::Known(unit);
        for &e in list {
            let next = self.truth(e)?;
            if next == Truth::Known(!unit) {
                return Ok(next);
            }
            out = self.both(out, next, unit);
        }
        Ok(out)
    }

    fn both(&mut self, a: Truth, b: Truth, unit: bool) -> Truth {
        match (a, b) {
            (Truth::Known(x), other) | (other, Truth::Known(x)) if x == unit => other,
            (Truth::Known(_), _) | (_, Truth::Known(_)) => Truth::Known(!unit),
            (Truth::Term(p), Truth::Term(q)) => Truth::Term(match unit {
                true => self.store.and(p, q),
                false => self.store.or(p, q),
            }),
        }
    }

    fn chain(&mut self, operands: &[ExprId], signs: &[Cmp]) -> Built<Truth> {
        let whole = operands.iter().all(|&e| self.is_integer(e));
        let mut values = SmallVec::<[Int; 4]>::new();
        for &e in operands {
            values.push(match whole {
                true => self.integer(e)?,
                false => Int::Real(self.real(e)?),
            });
        }
        let mut out = Truth::Known(true);
        for (pair, &sign) in values.windows(2).zip(signs) {
            let one = self.compare(pair[0], pair[1], sign);
            out = self.both(out, one, true);
        }
        Ok(out)
    }

    pub(super) fn compare_reals(&mut self, a: TermId, b: TermId, sign: Cmp) -> Truth {
        let s = &mut self.store;
        let p = match sign {
            Cmp::Eq => s.rcmp(RCmp::Eq, a, b),
            Cmp::Ne => {
                let p = s.rcmp(RCmp::Eq, a, b);
                s.not(p)
            }
            Cmp::Lt => s.rcmp(RCmp::Lt, a, b),
            Cmp::Le => s.rcmp(RCmp::Le, a, b),
            Cmp::Gt => s.rcmp(RCmp::Lt, b, a),
            Cmp::Ge => s.rcmp(RCmp::Le, b, a),
        };
        self.as_truth(p)
    }

    /// A condition, known if its term is.
    pub(super) fn as_truth(&self, p: TermId) -> Truth {
        match self.store.as_bool(p) {
            Some(b) => Truth::Known(b),
            None => Truth::Term(p),
        }
    }

    /// The values of a variable.
    pub(super) fn range(&mut self, v: VarId) -> Built<std::ops::Range<i64>> {
        match self.program.vars[v.0 as usize].range {
            Some(Range::Extent(n)) => Ok(0..i64::try_from(n).unwrap_or(i64::MAX)),
            Some(Range::Given(lo, hi)) => Ok(self.known(lo)?..self.known(hi)?),
            None => Ok(0..0),
        }
    }

    /// An integer that does not depend on data.
    fn known(&mut self, e: ExprId) -> Built<i64> {
        match self.integer(e)? {
            Int::Known(v) => Ok(v),
            Int::Word(_) | Int::Real(_) => {
                let what = "this one depends on data".to_string();
                self.wrong(Problem::NotInteger { what }, e)
            }
        }
    }

    /// The sum of products.
    pub(super) fn total(&mut self, products: &[(TermId, TermId)]) -> TermId {
        /// As many products become a chain of additions, as the simulator has it.
        const SHORT: usize = 8;
        let s = &mut self.store;
        let odd = |s: &TermStore, t| !s.is_ordinary(t) && s.as_const(t).is_none();
        let is_odd = products.iter().any(|&(a, b)| odd(s, a) || odd(s, b));
        if products.len() > SHORT && !is_odd {
            return s.sum(products);
        }
        let mut out = None;
        for &(a, b) in products {
            let p = s.mul(a, b);
            out = Some(out.map_or(p, |t| s.add(t, p)));
        }
        out.unwrap_or_else(|| s.integer(0))
    }

    /// The quotient by a count.
    pub(super) fn over(&mut self, t: TermId, count: i64) -> TermId {
        let count = BigRational::from_integer(BigInt::from(count));
        let count = self.store.rational(count);
        self.store.div(t, count)
    }
}

/// The byte offset of an element.
pub(super) fn place(array: &ArraySymbol, indices: &[i64]) -> u64 {
    let dense = || dense_strides(&array.array.shape);
    let strides = array.strides.clone().unwrap_or_else(dense);
    let at = indices.iter().zip(&strides);
    let at: u64 = at.map(|(&i, &s)| (i as u64).saturating_mul(s)).sum();
    at * array.array.elem.map_or(1, |e| e.bytes())
}
