//! Choices among the same numbers: sorting networks, medians, the largest few, clamps.
//!
//! Problem: two programs that only compare numbers and choose among them, by maxima, minima and
//! selects. Their canonical forms grow with the number of orders. Source: the 0-1 principle of
//! sorting networks (Knuth, The Art of Computer Programming 3, 5.3.4): what commutes with every
//! non-decreasing map of its inputs is determined by its values on zeros and ones. So each
//! term becomes the Boolean function "it is at least t" of the functions of the numbers that it
//! chooses among, and equal functions are equal terms.
//!
//! How this differs: selects take part. A select commutes with non-decreasing maps if, wherever a map can
//! make equal what one of its comparisons tells apart, so that its predicate may change, both of its
//! branches have one value; that is checked on zeros and ones as well, as what follows from equal
//! values follows from equal images. Predicates that compare nothing of this are free variables. Constants keep their
//! order: the functions are compared for t between each two of them, and there a number whose bounds are beyond
//! one of the two is no variable (`max(|x|, 0)`).
//!
//! Sound: `true` is a proof for all values of the atoms, which are arbitrary terms; the same order holds for signed
//! or unsigned integers. Not claimed: a select whose branches differ at ties, as one of indices does
//! (`logic/best.rs`), is not decided here; two atoms are told apart by their ids.

use num_rational::BigRational;
use rustc_hash::FxHashMap;

#[cfg(test)]
mod tests;

use super::logic::best;
use super::logic::diagram::{Bdd, Node};
use crate::spec::Limits;

use crate::term::{ICmp, RCmp, Sort, Term, TermId, TermStore};

/// Terms that choose or compare below a pair, and numbers that they choose among.
const MAX_TERMS: usize = 20_000;
const MAX_ATOMS: usize = 256;

/// Constants among them.
const MAX_CONSTANTS: usize = 16;

/// Predicates of which nothing is known.
const MAX_FREE: u32 = 64;

/// Nodes of the diagrams for one t.
const MAX_NODES: usize = 1 << 18;

/// Choices of a pair that is decided here before it has a canonical form.
const MANY: usize = 8;

/// True if the pair is one that this decides faster than canonical forms do.
pub(super) fn is_worth_it(store: &TermStore, a: TermId, b: TermId) -> bool {
    let choices = store.met(&[a, b], MANY, |t, open| match store.get(t) {
        Term::Max(a, b) | Term::Min(a, b) | Term::Select(_, a, b) | Term::BitsSelect(_, a, b) => {
            open.extend([a, b]);
            true
        }
        _ => false,
    });
    choices.is_none()
}

/// True only if the two terms have one value on all inputs on which both are defined; false only if
/// they choose among input elements and constants and do not.
pub(super) fn decide(store: &TermStore, a: TermId, b: TermId, limits: &Limits) -> Option<bool> {
    if !(is_choice(store, a) || is_choice(store, b)) || store.sort(a) != store.sort(b) {
        return None;
    }
    match by_order(store, a, b) {
        Some((equal, free)) if equal || free => Some(equal),
        _ => best::equal(store, a, b, limits).then_some(true),
    }
}

/// What chooses one of its operands.
fn is_choice(store: &TermStore, t: TermId) -> bool {
    matches!(
        store.get(t),
        Term::Max(..) | Term::Min(..) | Term::Select(..) | Term::BitsSelect(..)
    )
}

/// Which order integers are compared in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Signed,
    Unsigned,
}

/// A comparison of two values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Less,
    AtMost,
    Same,
}

/// What stands below a pair.
struct Program {
    /// Terms that choose or combine predicates, and comparisons, children before parents.
    terms: Vec<TermId>,
    atoms: FxHashMap<TermId, Atom>,
    /// Constants with their rank, from the least.
    constants: FxHashMap<TermId, usize>,
    ranks: usize,
    /// Whether the least of them is minus infinity, and the greatest infinity: no t is beyond.
    infinite: [bool; 2],
}

/// A number that is chosen among, as a variable. It is at least the constants of lower ranks than `sure`, and at most
/// those from `never` on.
#[derive(Clone, Copy)]
struct Atom {
    variable: u32,
    sure: usize,
    never: usize,
}

/// A predicate: where it holds, and where it may hold or not before a map makes values equal.
#[derive(Clone, Copy)]
struct Truth {
    holds: Node,
    may_hold: Node,
    may_fail: Node,
}

impl Program {
    fn of(store: &TermStore, a: TermId, b: TermId) -> Option<Program> {
        let (mut orders, mut leaves, mut terms) = (Vec::new(), Vec::new(), Vec::new());
        store.met(&[a, b], MAX_TERMS, |t, open| {
            match store.get(t) {
                Term::Max(x, y) | Term::Min(x, y) | Term::RCmp(_, x, y) => open.extend([x, y]),
                Term::Select(p, x, y) | Term::BitsSelect(p, x, y) => open.extend([p, x, y]),
                Term::And(x, y) | Term::Or(x, y) | Term::Xor(x, y) => open.extend([x, y]),
                Term::Not(x) => open.push(x),
                Term::ICmp(op, x, y) => {
                    orders.extend(match op {
                        ICmp::Eq => None,
                        ICmp::ULt | ICmp::ULe => Some(Order::Unsigned),
                        ICmp::SLt | ICmp::SLe => Some(Order::Signed),
                    });
                    open.extend([x, y]);
                }
                _ => {
                    leaves.push(t);
                    return true;
                }
            }
            terms.push(t);
            true
        })?;
        terms.sort_unstable();
        leaves.sort_unstable();
        let order = orders.first().copied().unwrap_or(Order::Signed);
        if orders.iter().any(|o| *o != order) {
            return None;
        }
        let mut program = Program {
            terms,
            atoms: FxHashMap::default(),
            constants: FxHashMap::default(),
            ranks: 0,
            infinite: [false; 2],
        };
        let mut constants: Vec<(Constant, TermId)> = Vec::new();
        for t in leaves {
            match constant(store, t, order) {
                Some(c) => constants.push((c, t)),
                None => {
                    let atom = Atom {
                        variable: program.atoms.len() as u32,
                        sure: 0,
                        never: usize::MAX,
                    };
                    program.atoms.insert(t, atom);
                }
            }
        }
        constants.sort();
        if program.atoms.len() > MAX_ATOMS || constants.len() > MAX_CONSTANTS {
            return None;
        }
        for (i, (c, t)) in constants.iter().enumerate() {
            if i > 0 && constants[i - 1].0 < *c {
                program.ranks += 1;
            }
            program.constants.insert(*t, program.ranks);
        }
        program.ranks += usize::from(!constants.is_empty());
        program.bound(store, &constants);
        let is = |c: Option<&(Constant, TermId)>, k: Constant| c.is_some_and(|c| c.0 == k);
        program.infinite = [
            is(constants.first(), Constant::Least),
            is(
                constants.iter().rfind(|c| !c.0.is_integer()),
                Constant::Greatest,
            ),
        ];
        Some(program)
    }

    /// Finds between which constants each atom lies: `x >= c` for a lower bound of x from c on, `x <= c` for an upper
    /// one up to c.
    fn bound(&mut self, store: &TermStore, constants: &[(Constant, TermId)]) {
        let real = |c: &Constant| match c {
            Constant::Real(q) => Some(q.clone()),
            Constant::Least | Constant::Greatest | Constant::Integer(..) => None,
        };
        let reals = constants.iter().filter_map(|(c, t)| Some((real(c)?, *t)));
        let ranked: Vec<(BigRational, usize)> =
            reals.map(|(q, t)| (q, self.constants[&t])).collect();
        if ranked.is_empty() {
            return;
        }
        for (&t, atom) in &mut self.atoms {
            if store.sort(t) != Sort::Real {
                continue;
            }
            let bounds = store.bounds_or_facts(t);
            let at_most = |q: &BigRational| bounds.lo.as_ref().is_some_and(|lo| q <= lo);
            let at_least = |q: &BigRational| bounds.hi.as_ref().is_some_and(|hi| q >= hi);
            let mut below = ranked.iter().rev().filter(|(q, _)| at_most(q));
            let mut above = ranked.iter().filter(|(q, _)| at_least(q));
            atom.sure = below.next().map_or(0, |(_, rank)| rank + 1);
            atom.never = above.next().map_or(usize::MAX, |(_, rank)| *rank);
        }
    }
}

/// A constant as it orders; those of one program are of one kind or never compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Constant {
    Least,
    Real(BigRational),
    Greatest,
    Integer(u8, i128),
}

impl Constant {
    fn is_integer(&self) -> bool {
        matches!(self, Constant::Integer(..))
    }
}

fn constant(store: &TermStore, t: TermId, order: Order) -> Option<Constant> {
    Some(match store.get(t) {
        Term::Const(c) => Constant::Real(store.constant(c).clone()),
        Term::Inf { neg: true } => Constant::Least,
        Term::Inf { neg: false } => Constant::Greatest,
        Term::BitsConst { width, value } => {
            let high = 1i128 << (width - 1).min(63);
            let v = value as i128;
            let v = match order {
                Order::Signed if v >= high => v - 2 * high,
                _ => v,
            };
            Constant::Integer(width, v)
        }
        _ => return None,
    })
}

/// Equality by the functions "at least t", and whether all atoms are input elements, which take any
/// values; `None` if that decides nothing.
fn by_order(store: &TermStore, a: TermId, b: TermId) -> Option<(bool, bool)> {
    let program = Program::of(store, a, b)?;
    if store.sort(a) == Sort::Bool {
        return None;
    }
    let element = |t: &TermId| matches!(store.get(*t), Term::Elem { .. });
    let mut free = program.atoms.keys().all(element);
    // Of t only matters which constants it lies above.
    let [below, above] = program.infinite.map(usize::from);
    for least in below..=program.ranks - above.min(program.ranks) {
        let mut run = Run {
            store,
            program: &program,
            least,
            bdd: Bdd::new(MAX_NODES),
            values: FxHashMap::default(),
            truths: FxHashMap::default(),
            free: program.atoms.len() as u32,
        };
        for &t in &program.terms {
            run.step(t)?;
        }
        // Of a predicate of which nothing is known both values may not occur.
        free &= run.free == program.atoms.len() as u32;
        if run.value(a)? != run.value(b)? {
            return Some((false, free));
        }
    }
    Some((true, free))
}

/// The functions for one t.
struct Run<'s> {
    store: &'s TermStore,
    program: &'s Program,
    /// Constants of this rank and above are at least t.
    least: usize,
    bdd: Bdd,
    values: FxHashMap<TermId, Node>,
    truths: FxHashMap<TermId, Truth>,
    /// The next variable for a predicate of which nothing is known.
    free: u32,
}

impl Run<'_> {
    fn value(&mut self, t: TermId) -> Option<Node> {
        if let Some(&n) = self.values.get(&t) {
            return Some(n);
        }
        let n = match (self.program.constants.get(&t), self.program.atoms.get(&t)) {
            (Some(rank), _) => Node::of(*rank >= self.least),
            // For t above the constant before, up to that of rank `least`.
            (_, Some(atom)) if self.least < atom.sure => Node::of(true),
            (_, Some(atom)) if self.least > atom.never => Node::of(false),
            (_, Some(atom)) => self.bdd.variable(atom.variable)?,
            _ => return None,
        };
        self.values.insert(t, n);
        Some(n)
    }

    fn truth(&mut self, t: TermId) -> Option<Truth> {
        if let Some(&p) = self.truths.get(&t) {
            return Some(p);
        }
        let holds = match self.store.get(t) {
            Term::Bool(b) => Node::of(b),
            _ if self.free >= self.program.atoms.len() as u32 + MAX_FREE => return None,
            _ => {
                self.free += 1;
                self.bdd.variable(self.free - 1)?
            }
        };
        let p = Truth {
            holds,
            may_hold: holds,
            may_fail: self.bdd.not(holds)?,
        };
        self.truths.insert(t, p);
        Some(p)
    }

    /// match `x op y` / result the comparison of zeros and ones; where both are one it may have been
    /// anything / because a non-decreasing map keeps the order of what it does not make equal.
    fn comparison(&mut self, op: Comparison, x: TermId, y: TermId) -> Option<Truth> {
        let (x, y) = (self.value(x)?, self.value(y)?);
        let differ = self.bdd.xor(x, y)?;
        let tied = self.bdd.not(differ)?;
        let holds = match op {
            Comparison::Same => tied,
            Comparison::Less => {
                let n = self.bdd.not(x)?;
                self.bdd.and(n, y)?
            }
            Comparison::AtMost => {
                let n = self.bdd.not(x)?;
                self.bdd.or(n, y)?
            }
        };
        let fails = self.bdd.not(holds)?;
        Some(Truth {
            holds,
            may_hold: self.bdd.or(holds, tied)?,
            may_fail: self.bdd.or(fails, tied)?,
        })
    }

    /// match `p and q` / result both parts; it may fail where one may / because nothing is known of
    /// how the two depend on each other. Likewise `or`, `xor`.
    fn connective(&mut self, t: Term<'_>, x: TermId, y: TermId) -> Option<Truth> {
        let (p, q) = (self.truth(x)?, self.truth(y)?);
        let b = &mut self.bdd;
        Some(match t {
            Term::And(..) => Truth {
                holds: b.and(p.holds, q.holds)?,
                may_hold: b.and(p.may_hold, q.may_hold)?,
                may_fail: b.or(p.may_fail, q.may_fail)?,
            },
            Term::Or(..) => Truth {
                holds: b.or(p.holds, q.holds)?,
                may_hold: b.or(p.may_hold, q.may_hold)?,
                may_fail: b.and(p.may_fail, q.may_fail)?,
            },
            _ => {
                let (u, v) = (
                    b.and(p.may_hold, q.may_fail)?,
                    b.and(p.may_fail, q.may_hold)?,
                );
                let (w, z) = (
                    b.and(p.may_hold, q.may_hold)?,
                    b.and(p.may_fail, q.may_fail)?,
                );
                Truth {
                    holds: b.xor(p.holds, q.holds)?,
                    may_hold: b.or(u, v)?,
                    may_fail: b.or(w, z)?,
                }
            }
        })
    }

    fn step(&mut self, t: TermId) -> Option<()> {
        let term = self.store.get(t);
        let truth = match term {
            Term::Max(x, y) | Term::Min(x, y) => {
                let (x, y) = (self.value(x)?, self.value(y)?);
                let n = match term {
                    Term::Max(..) => self.bdd.or(x, y)?,
                    _ => self.bdd.and(x, y)?,
                };
                self.values.insert(t, n);
                return Some(());
            }
            Term::Select(p, x, y) | Term::BitsSelect(p, x, y) => {
                let p = self.truth(p)?;
                let (x, y) = (self.value(x)?, self.value(y)?);
                let open = self.bdd.and(p.may_hold, p.may_fail)?;
                let differ = self.bdd.xor(x, y)?;
                if self.bdd.and(open, differ)? != Node::FALSE {
                    return None;
                }
                let n = self.bdd.choose(p.holds, x, y)?;
                self.values.insert(t, n);
                return Some(());
            }
            Term::RCmp(op, x, y) => {
                let op = match op {
                    RCmp::Lt => Comparison::Less,
                    RCmp::Le => Comparison::AtMost,
                    RCmp::Eq => Comparison::Same,
                };
                self.comparison(op, x, y)?
            }
            Term::ICmp(op, x, y) => {
                let op = match op {
                    ICmp::ULt | ICmp::SLt => Comparison::Less,
                    ICmp::ULe | ICmp::SLe => Comparison::AtMost,
                    ICmp::Eq => Comparison::Same,
                };
                self.comparison(op, x, y)?
            }
            Term::And(x, y) | Term::Or(x, y) | Term::Xor(x, y) => self.connective(term, x, y)?,
            Term::Not(x) => {
                let p = self.truth(x)?;
                Truth {
                    holds: self.bdd.not(p.holds)?,
                    may_hold: p.may_fail,
                    may_fail: p.may_hold,
                }
            }
            _ => return None,
        };
        self.truths.insert(t, truth);
        Some(())
    }
}
