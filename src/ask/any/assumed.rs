//! What holds of every launch that the question is about, as conditions on machine words.

use super::expr::{Id, Node, Order};
use super::facts::{Claim, Size, SizeFact, Step};
use super::launches::Freedom;
use super::state::Walk;
use crate::spec::compare::Relation;
use crate::spec::sizes::expr::Arith;
use crate::term::BitsOp;

/// What holds of the launch: indices are below their extents, and the facts.
pub(super) fn launch_conditions(w: &mut Walk, f: &Freedom) -> Vec<Id> {
    let mut out = Vec::new();
    let s = w.sizes;
    for (i, n) in s.tid.iter().zip(s.ntid).chain(s.ctaid.iter().zip(s.nctaid)) {
        out.push(w.e.compare(Order::Below, *i, n));
    }
    for fact in &f.facts {
        out.extend(fact_condition(w, f, fact));
    }
    out.retain(|c| w.e.value(*c) != Some(1));
    out
}

/// A fact as a condition on 64-bit words, where no step of it can leave them.
fn fact_condition(w: &mut Walk, f: &Freedom, fact: &SizeFact) -> Option<Id> {
    if let Some((size, a, b)) = fact.range() {
        let x = size_word(w, f, size);
        let (a, b) = (
            w.e.constant(i64::try_from(a).ok()? as u64, 64),
            w.e.constant(i64::try_from(b).ok()? as u64, 64),
        );
        let (low, high) = (
            w.e.compare(Order::Less, x, a),
            w.e.compare(Order::Less, b, x),
        );
        let (low, high) = (w.e.not(low), w.e.not(high));
        return Some(w.e.and(low, high));
    }
    if let Claim::PowerOfTwo(size) = fact.claim {
        let x = size_word(w, f, size);
        let (zero, ones) = (w.e.constant(0, 64), w.e.constant(u64::MAX, 64));
        let less = w.e.add(x, ones);
        let both = w.e.and(x, less);
        let (one_bit, some) = (
            w.e.compare(Order::Equal, both, zero),
            w.e.compare(Order::Less, zero, x),
        );
        return Some(w.e.and(one_bit, some));
    }
    let mut known: Vec<(Id, i128)> = Vec::new();
    for step in &fact.steps {
        let next = match *step {
            Step::Number(n) => (w.e.constant(i64::try_from(n).ok()? as u64, 64), n.abs()),
            Step::Size(s @ Size::Block(_)) => (size_word(w, f, s), 1 << 10),
            Step::Size(s @ Size::Grid(_)) => (size_word(w, f, s), 1 << 31),
            Step::Size(s @ Size::Param(_)) => {
                let x = size_word(w, f, s);
                let bits = match *w.e.node(x) {
                    Node::Signed(inner) => w.e.width(inner) - 1,
                    Node::Wide(inner) => w.e.width(inner),
                    _ => 63,
                };
                (x, 1 << bits)
            }
            Step::Binary(op, a, b) => {
                let ((x, n), (y, k)) = (known[a], known[b]);
                match op {
                    Arith::Add => (w.e.add(x, y), n + k),
                    Arith::Sub => (w.e.minus(x, y), n + k),
                    Arith::Mul => (w.e.word(BitsOp::Mul, x, y), n.checked_mul(k)?),
                    // Quotients of what may be negative round down in a fact and towards zero on the machine.
                    Arith::Div | Arith::Rem => {
                        let d = w.e.value(y).filter(|d| *d > 0 && *d < 1 << 32)?;
                        let natural = !matches!(
                            fact.steps.get(a),
                            Some(Step::Size(Size::Param(_)) | Step::Binary(..))
                        );
                        if !natural {
                            return None;
                        }
                        let op = if op == Arith::Div {
                            BitsOp::UDiv
                        } else {
                            BitsOp::URem
                        };
                        let d = w.e.constant(d, 64);
                        (w.e.word(op, x, d), n)
                    }
                }
            }
        };
        // A word of 64 bits is a number as it is; sums and products that may leave it are left to the search.
        let alone = matches!(step, Step::Size(_) | Step::Number(_));
        if next.1 >= 1 << 63 && !(alone && next.1 == 1 << 63) {
            return None;
        }
        known.push(next);
    }
    let Claim::Compare(relation, a, b) = fact.claim else {
        return None;
    };
    let (a, b) = (known[a].0, known[b].0);
    Some(match relation {
        Relation::Eq => w.e.compare(Order::Equal, a, b),
        Relation::Ne => {
            let c = w.e.compare(Order::Equal, a, b);
            w.e.not(c)
        }
        Relation::Lt => w.e.compare(Order::Less, a, b),
        Relation::Gt => w.e.compare(Order::Less, b, a),
        Relation::Ge => {
            let c = w.e.compare(Order::Less, a, b);
            w.e.not(c)
        }
        Relation::Le => {
            let c = w.e.compare(Order::Less, b, a);
            w.e.not(c)
        }
    })
}

fn size_word(w: &mut Walk, f: &Freedom, size: Size) -> Id {
    let (id, sign) = match size {
        Size::Block(a) => (w.sizes.ntid[usize::from(a).min(2)], false),
        Size::Grid(a) => (w.sizes.nctaid[usize::from(a).min(2)], false),
        Size::Param(at) => (w.scalar(at), !f.is_unsigned(at)),
    };
    w.e.resize(id, 64, sign)
}
