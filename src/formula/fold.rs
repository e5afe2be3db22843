//! Reductions: what they go over, and what they make of it.
//!
//! Elements are taken in the order of the variables, the last one fastest. A condition that is known leaves out an
//! element before it is built, so that it guards what is read; one that depends on data makes a choice between the
//! element and what changes nothing.

use super::ast::{Expr, ExprId, Fold, MulOp};
use super::build::{Builder, Built, Truth};
use super::integer::{Int, Op};
use super::resolve::VarId;
use crate::term::TermId;

/// What a reduction has so far.
#[derive(Default)]
struct State {
    /// Products to be added.
    products: Vec<(TermId, TermId)>,
    /// The result of what is no sum.
    value: Option<TermId>,
    /// Elements that are in for certain.
    count: i64,
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
        for value in self.range(first)? {
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
            return Ok(v);
        }
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
        self.each(vars, &mut |b| {
            let truth = cond.map_or(Ok(Truth::Known(true)), |c| b.truth(c))?;
            let value = match truth {
                Truth::Known(false) => return Ok(()),
                Truth::Known(true) => b.integer(*body)?,
                Truth::Term(p) => {
                    let value = b.integer(*body)?;
                    let nothing = nothing.unwrap_or_else(|| Int::Real(b.nothing(*fold)));
                    b.chosen(p, value, nothing)
                }
            };
            out = Some(match out {
                None => value,
                Some(v) => b.combine(e, v, value, op)?,
            });
            Ok(())
        })?;
        let out = out.unwrap_or_else(|| Int::Real(self.nothing(*fold)));
        self.done_integers.insert(key, out);
        Ok(out)
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
                let mut product = self.product(of.body)?;
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
                let mut value = self.real(of.body)?;
                if let Some(p) = cond {
                    let nothing = self.nothing(of.fold);
                    value = self.store.select(p, value, nothing);
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
