//! Reductions: what they go over, and what they make of it.
//!
//! Elements are taken in the order of the variables, the last one fastest. A condition that is known leaves out an
//! element before it is built, so that it guards what is read; one that depends on data makes a choice between the
//! element and what changes nothing.

use super::ast::{Expr, ExprId, Fold, MulOp};
use super::build::{Builder, Built, Stop, Truth};
use super::integer::{Int, Op};
use super::resolve::VarId;
use super::word::Word;
use crate::sim::UnknownKind;
use crate::term::{RCmp, Term, TermId, TermStore};

/// Most integers of one range.
const MOST_VALUES: i64 = 1 << 28;
/// Most bits of a product of known numbers.
const MOST_BITS: u64 = 1 << 16;

/// What a reduction has so far.
#[derive(Default)]
struct State {
    /// Products to be added.
    products: Vec<(TermId, TermId)>,
    /// The result of what is no sum.
    value: Option<TermId>,
    /// Elements that are in for certain.
    count: i64,
    /// How many bits the known factors of a product have.
    bits: u64,
    /// 1 for each that is in under a condition.
    counted: Vec<(TermId, TermId)>,
}

/// What is done with each element.
type Take<'t, B> = &'t mut dyn FnMut(&mut B) -> Built<()>;

/// A reduction without its variables.
#[derive(Clone, Copy)]
struct Of {
    fold: Fold,
    cond: Option<ExprId>,
    body: ExprId,
}

impl Builder<'_> {
    /// The value of a reduction.
    pub(super) fn reduction(&mut self, e: ExprId) -> Built<TermId> {
        let program = self.program;
        let Expr::Reduce {
            fold, cond, body, ..
        } = program.formula.expr(e)
        else {
            return Ok(self.store.undefined());
        };
        let of = Of {
            fold: *fold,
            cond: *cond,
            body: *body,
        };
        let vars = program.binders.get(&e).map_or(&[][..], |v| v);
        let mut state = State::default();
        self.each(vars, &mut |b| b.one(of, &mut state))?;
        Ok(match of.fold {
            Fold::Sum => self.total(&state.products),
            Fold::Mean => {
                let sum = self.total(&state.products);
                if state.counted.is_empty() {
                    return Ok(self.over(sum, state.count));
                }
                let (count, one) = (self.store.integer(state.count), self.store.integer(1));
                state.counted.push((count, one));
                let count = self.total(&state.counted);
                self.store.div(sum, count)
            }
            Fold::Prod | Fold::Max | Fold::Min => match state.value {
                Some(t) => t,
                None => self.nothing(of.fold),
            },
        })
    }

    /// What an empty reduction is.
    fn nothing(&mut self, fold: Fold) -> TermId {
        match fold {
            Fold::Sum | Fold::Mean => self.store.integer(0),
            Fold::Prod => self.store.integer(1),
            Fold::Max => self.store.infinity(true),
            Fold::Min => self.store.infinity(false),
        }
    }

    /// Takes the elements for all values of the variables; there are few of them, so that this may recurse.
    fn each(&mut self, vars: &[VarId], take: Take<Self>) -> Built<()> {
        let Some((&first, rest)) = vars.split_first() else {
            return take(self);
        };
        let range = self.range(first)?;
        if range.end.saturating_sub(range.start) > MOST_VALUES {
            let message = format!("a range of a reduction has more than {MOST_VALUES} integers");
            return Err(Stop::Unknown(UnknownKind::Limit, message));
        }
        for value in range {
            self.step()?;
            self.env[first.0 as usize] = value;
            self.each(rest, take)?;
        }
        Ok(())
    }

    /// The value of a reduction of integers.
    pub(super) fn integer_reduction(&mut self, e: ExprId) -> Built<Int> {
        let key = self.key(e);
        if let Some(&v) = self.done_integers.get(&key) {
            self.again(&key);
            return Ok(v);
        }
        let out = self.kept(&key, |b| b.reduced(e))?;
        self.done_integers.insert(key, out);
        Ok(out)
    }

    fn reduced(&mut self, e: ExprId) -> Built<Int> {
        let program = self.program;
        let Expr::Reduce {
            fold, cond, body, ..
        } = program.formula.expr(e)
        else {
            return Ok(Int::Real(self.store.undefined()));
        };
        let (op, nothing) = match fold {
            Fold::Sum | Fold::Mean => (Op::Add, Some(Int::Known(0))),
            Fold::Prod => (Op::Mul, Some(Int::Known(1))),
            Fold::Max => (Op::Max, None),
            Fold::Min => (Op::Min, None),
        };
        let vars = program.binders.get(&e).map_or(&[][..], |v| v);
        let mut out = nothing;
        let mut positions = Some(Vec::new());
        self.each(vars, &mut |b| {
            let truth = cond.map_or(Ok(Truth::Known(true)), |c| b.truth(c))?;
            let value = match truth {
                Truth::Known(false) => return Ok(()),
                Truth::Known(true) => {
                    positions = None;
                    b.integer(*body)?
                }
                Truth::Term(p) => {
                    let value = b.under(Some(p), |b| b.integer(*body))?;
                    match (value, &mut positions) {
                        (Int::Known(j), Some(list)) => list.push((j, p)),
                        _ => positions = None,
                    }
                    let nothing = nothing.unwrap_or_else(|| Int::Real(b.nothing(*fold)));
                    b.one_of(p, value, nothing)
                }
            };
            out = Some(match out {
                None => value,
                Some(v) => b.combine(e, v, value, op)?,
            });
            Ok(())
        })?;
        let first = match fold {
            Fold::Min => Some(true),
            Fold::Max => Some(false),
            Fold::Sum | Fold::Mean | Fold::Prod => None,
        };
        let place = positions.zip(first);
        let place = place.and_then(|(list, first)| place_of_extremum(&mut self.store, list, first));
        let out = match place {
            Some(word) => Some(Int::Word(word)),
            None => out,
        };
        Ok(out.unwrap_or_else(|| Int::Real(self.nothing(*fold))))
    }

    fn one(&mut self, of: Of, state: &mut State) -> Built<()> {
        let truth = match of.cond {
            None => Truth::Known(true),
            Some(c) => self.truth(c)?,
        };
        let cond = match truth {
            Truth::Known(false) => return Ok(()),
            Truth::Known(true) => None,
            Truth::Term(p) => Some(p),
        };
        match of.fold {
            Fold::Sum | Fold::Mean => {
                let one = self.store.integer(1);
                let mut product = self.under(cond, |b| b.product(of.body))?;
                match cond {
                    None => state.count += 1,
                    Some(p) => {
                        let zero = self.store.integer(0);
                        let whole = self.store.mul(product.0, product.1);
                        product = (self.store.select(p, whole, zero), one);
                        state.counted.push((self.store.select(p, one, zero), one));
                    }
                }
                state.products.push(product);
            }
            Fold::Prod | Fold::Max | Fold::Min => {
                let mut value = self.under(cond, |b| b.real(of.body))?;
                if let Some(p) = cond {
                    let nothing = self.nothing(of.fold);
                    value = self.store.select(p, value, nothing);
                }
                if let Some(q) = self.store.as_const(value).filter(|_| of.fold == Fold::Prod) {
                    state.bits += q.numer().bits() + q.denom().bits();
                    if state.bits > MOST_BITS {
                        let message =
                            format!("a product has known factors of more than {MOST_BITS} bits");
                        return Err(Stop::Unknown(UnknownKind::Limit, message));
                    }
                }
                state.value = Some(match state.value {
                    None => value,
                    Some(t) if of.fold == Fold::Prod => self.store.mul(t, value),
                    Some(t) => self.extremum(t, value, of.fold == Fold::Min),
                });
            }
        }
        Ok(())
    }

    /// An expression as a product of two, as a multiplication and an addition in one have it.
    fn product(&mut self, e: ExprId) -> Built<(TermId, TermId)> {
        if let Expr::Product(factors) = self.formula().expr(e)
            && factors.iter().all(|f| f.0 == MulOp::Times)
            && let Some((last, first)) = factors.split_last()
        {
            let mut x = self.real(first[0].1)?;
            for f in &first[1..] {
                let f = self.real(f.1)?;
                x = self.store.mul(x, f);
            }
            return Ok((x, self.real(last.1)?));
        }
        let one = self.store.integer(1);
        Ok((self.real(e)?, one))
    }
}

/// The first or the last position at which a number is the extremum of all of them, as a loop finds it: the best so far,
/// and where it stands.
///
/// match `min(j if x_j = m : j)` with m the maximum of exactly these x_j / result the index of the best, of equal
/// ones the first / because some x_j is m, and those before the first such one are smaller. `None` for other
/// conditions.
fn place_of_extremum(
    s: &mut TermStore,
    mut positions: Vec<(i64, TermId)>,
    first: bool,
) -> Option<Word> {
    positions.sort_unstable();
    let is_extremum = |s: &TermStore, t: TermId| matches!(s.get(t), Term::Max(..) | Term::Min(..));
    let mut extremum = None;
    let mut numbers: Vec<(i64, TermId)> = Vec::new();
    for &(j, p) in &positions {
        let Term::RCmp(RCmp::Eq, a, b) = s.get(p) else {
            return None;
        };
        let (x, m) = if is_extremum(s, a) { (b, a) } else { (a, b) };
        if is_extremum(s, x) || *extremum.get_or_insert(m) != m {
            return None;
        }
        numbers.push((j, x));
    }
    let m = extremum?;
    let larger = matches!(s.get(m), Term::Max(..));
    let (mut leaves, mut open) = (Vec::new(), vec![m]);
    while let Some(t) = open.pop() {
        match s.get(t) {
            Term::Max(a, b) if larger => open.extend([a, b]),
            Term::Min(a, b) if !larger => open.extend([a, b]),
            _ => leaves.push(t),
        }
    }
    let mut own: Vec<TermId> = numbers.iter().map(|n| n.1).collect();
    for list in [&mut leaves, &mut own] {
        list.sort_unstable();
        list.dedup();
    }
    let distinct = numbers.windows(2).all(|w| w[0].0 != w[1].0);
    if leaves != own || !distinct {
        return None;
    }
    let (&(start, x), rest) = numbers.split_first()?;
    let mut best = x;
    let mut place = Word::known(s, start);
    for &(j, x) in rest {
        let op = if first { RCmp::Lt } else { RCmp::Le };
        let p = match larger {
            true => s.rcmp(op, best, x),
            false => s.rcmp(op, x, best),
        };
        let here = Word::known(s, j);
        place = Word::select(s, p, here, place);
        best = s.select(p, x, best);
    }
    Some(place)
}
