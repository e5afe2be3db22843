//! Formulas: a line of mathematics as the reference of a kernel.
//!
//! Problem: most who have one kernel have no second one, but know what it should compute. A formula says that of
//! whole arrays, `y[i,j] = sum(k: a[i,k]*b[k,j])`, and [`expand`] makes of it what a run makes of a kernel: an
//! [`Outcome`] with a term for each element. From there on it is decided by the same code. An input element is
//! the same symbol as in the kernel, since arrays and scalars are found by the names of its parameters.
//!
//! The grammar is that of the command-line contract. [`parse`] reads it (`lex`, `parse`), `resolve` finds what names
//! mean and which ranges variables have, `build`, `integer` and `fold` make terms.
//!
//! Sound: a formula is the reference, so that what it leaves undefined is not claimed. Numbers are real numbers,
//! indices integers without bounds; where a kernel wraps or saturates, they differ, and an integer that
//! may be beyond the type of its element proves nothing.
//!
#![doc = include_str!("operators.md")]

mod ast;
mod build;
mod chosen;
mod error;
mod fold;
mod integer;
mod lex;
mod parse;
mod resolve;
mod symbols;
mod word;

pub use ast::{Formula, MAX_DEPTH};
pub use error::{Problem, Trouble};
pub use parse::is_keyword;
pub use parse::parse;

use std::sync::Arc;

use num_rational::BigRational;

use build::{Builder, Built, Stop, Truth, place};
use integer::Int;
use resolve::{Program, Target};
use symbols::Symbols;

use crate::kernel::Kernel;
use crate::sim::{Finding, Outcome, UnknownKind};
use crate::spec::{ElemTy, Limits, Resolved, Sizes};
use crate::term::facts::Facts;
use crate::term::{ArrayId, Term, TermId};

/// Bytes of stack of the thread that walks a formula: [`MAX_DEPTH`] levels of each intermediate array that reads
/// another one.
const STACK: usize = 256 << 20;

/// Which elements are wanted: the array, the byte offset and the size in bytes.
pub type Wanted<'a> = &'a (dyn Fn(ArrayId, u64, u64) -> bool + Sync);

/// The elements that a formula defines for a kernel, as terms; or everything that is wrong with it.
pub fn expand(
    formula: &Formula,
    (launches, sizes): (&[(&Kernel, &Resolved)], &Sizes),
    wanted: Wanted,
    limits: Limits,
) -> Result<Outcome, Vec<Trouble>> {
    let work = || {
        let symbols = Symbols::of(launches, sizes);
        let program = resolve::resolve(formula, symbols)?;
        let facts = launches.first().map(|(_, r)| r.bindings.facts.clone());
        elements(&program, facts.unwrap_or_default(), wanted, limits).map_err(|t| vec![t])
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        match thread.spawn_scoped(scope, work).map(|t| t.join()) {
            Ok(Ok(done)) => done,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(e) => Ok(stopped(
                UnknownKind::Limit,
                format!("no thread could be started for the formula: {e}"),
            )),
        }
    })
}

fn stopped(kind: UnknownKind, message: String) -> Outcome {
    let mut out = Outcome::default();
    out.unknowns.push(Finding::new(kind, message));
    out
}

fn elements(
    program: &Program,
    facts: Arc<Facts>,
    wanted: Wanted,
    limits: Limits,
) -> Result<Outcome, Trouble> {
    let mut builder = Builder::new(program, facts, limits);
    let mut out = Outcome::default();
    for target in &program.targets {
        match builder.target(target, wanted, &mut out) {
            Ok(()) => {}
            Err(Stop::Wrong(trouble)) => return Err(trouble),
            Err(Stop::Unknown(kind, message)) => return Ok(stopped(kind, message)),
        }
    }
    out.beyond = builder.beyond;
    out.gathers = builder.reads.into_list();
    out.store = builder.store;
    out.store.library_tanh = true;
    Ok(out)
}

impl Builder<'_> {
    /// Writes the elements of one definition.
    fn target(&mut self, target: &Target, wanted: Wanted, out: &mut Outcome) -> Built<()> {
        let program = self.program;
        let symbol = &program.symbols.arrays[target.array];
        let Some(elem) = symbol.array.elem else {
            return Ok(());
        };
        let shape: Vec<i64> = match target.output.indices.is_empty() {
            true => Vec::new(),
            false => symbol.array.shape.iter().map(|&n| n as i64).collect(),
        };
        if shape.contains(&0) {
            return Ok(());
        }
        let mut at = vec![0i64; shape.len()];
        loop {
            self.step()?;
            let off = place(symbol, &at);
            for (v, &value) in target.output.indices.iter().zip(&at) {
                self.env[v.0 as usize] = value;
            }
            if wanted(symbol.id, off, elem.bytes()) && self.is_defined(target)? {
                let bits = self.output(target, elem)?;
                out.writes.entry(symbol.id).or_default().insert(off, bits);
            }
            // The next element, the last index fastest.
            let Some(i) = (0..at.len()).rev().find(|&i| at[i] + 1 < shape[i]) else {
                return Ok(());
            };
            at[i] += 1;
            at[i + 1..].fill(0);
        }
    }

    /// Whether a definition is of the element at the indices of the moment.
    fn is_defined(&mut self, target: &Target) -> Built<bool> {
        let Some(cond) = target.cond else {
            return Ok(true);
        };
        match self.truth(cond)? {
            Truth::Known(holds) => Ok(holds),
            Truth::Term(_) => self.wrong(Problem::PartOfData, cond),
        }
    }

    /// The bits of an element.
    fn output(&mut self, target: &Target, elem: ElemTy) -> Built<TermId> {
        let value = target.output.value;
        match elem {
            ElemTy::Float(fmt) => {
                let real = self.real(value)?;
                Ok(self.store.of_real(fmt, real))
            }
            ElemTy::Int { width, signed } => {
                let v = match self.is_integer(value) || self.is_whole(value) {
                    true => self.integer(value)?,
                    false => Int::Real(self.real(value)?),
                };
                if let Int::Word(word) = v {
                    let (bits, is_beyond) = word.stored(&mut self.store, width, signed);
                    self.beyond |= is_beyond;
                    return Ok(bits);
                }
                let real = self.of_integer(v);
                let ends = range(width, signed);
                if let Some(why) = self.unrepresentable(real, ends) {
                    let problem = Problem::Unrepresentable {
                        name: self.program.symbols.arrays[target.array].name.clone(),
                        ty: elem.name(),
                        why: why.to_string(),
                        at: self.at(value),
                    };
                    return self.wrong(problem, value);
                }
                self.beyond |= !self.is_within(real, ends);
                Ok(self.store.clamp(width, signed, real))
            }
        }
    }

    /// True if a number is known to lie between two, wherever it is one.
    fn is_within(&self, real: TermId, (lo, hi): (i128, i128)) -> bool {
        let bounds = self.store.bounds_or_facts(real);
        let known = |end: Option<BigRational>, fits: fn(i128, i128) -> bool, limit: i128| {
            let end = end.and_then(|q| i128::try_from(q.to_integer()).ok());
            end.is_some_and(|v| fits(v, limit))
        };
        known(bounds.lo, |v, lo| v >= lo, lo) && known(bounds.hi, |v, hi| v <= hi, hi)
    }

    /// Why an integer type holds no value of this kind, whatever the inputs are.
    fn unrepresentable(&self, real: TermId, (lo, hi): (i128, i128)) -> Option<&'static str> {
        if let Some(v) = self.store.as_const(real) {
            let integer = i128::try_from(v.to_integer());
            return match (v.is_integer(), integer) {
                (false, _) => Some("this value is no integer; write floor(...)"),
                (true, Ok(v)) if (lo..=hi).contains(&v) => None,
                (true, _) => Some("this value is beyond it"),
            };
        }
        let mut open = vec![real];
        while let Some(t) = open.pop() {
            match self.store.get(t) {
                Term::Inf { .. } => {}
                Term::Select(_, a, b) | Term::Max(a, b) | Term::Min(a, b) => open.extend([a, b]),
                _ if self.store.grid(t).is_some_and(|g| g >= 0) => {}
                _ => return Some("this value may be no integer; write floor(...)"),
            }
        }
        None
    }
}

fn range(width: u8, signed: bool) -> (i128, i128) {
    match signed {
        true => (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1),
        false => (0, (1i128 << width) - 1),
    }
}
