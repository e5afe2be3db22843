//! One CTA for every residue of the variables whose addresses it takes apart.
//!
//! The problem: `a ^ (a >> 3 & 0x70)` of an absolute address in shared memory depends on bits of a base that its
//! declaration leaves open, so one run says nothing of it; and yet such a kernel may compute the same wherever its
//! memory lies. So where a run is open because of such bits, the CTA is run once for each residue of these bases
//! modulo the power of two in play.
//!
//! Sound: every layout has one of the residues, and the run of that residue stands for it. What is returned is the
//! run with all of them 0, and only if every other one is free of findings, asks for nothing to be shown that this one
//! does not ask for, touches the same bytes of the arrays and leaves the same values there.
//!
//! Not claimed: that a kernel whose runs differ is wrong. A defect of the run with all residues 0 is one, because an
//! assembler may put each variable at a multiple of any power of two.

use crate::explore::{Next, Reason, Refinement};
use crate::term::{Term, TermId};

use super::address::pins::{Asked, Pins};
use super::cta::{OneCta, Ran};
use super::join::Symbols;
use super::knowledge::Knowledge;
use super::{Finding, Outcome, Site, UnknownKind};

/// The residues that are looked at, one after the other.
#[derive(Default)]
pub(super) struct Residues {
    at: At,
    /// What all runs asked for.
    asked: Asked,
    /// The first run, which stands if the others leave it open.
    first: Outcome,
    /// The run in which all residues are 0, with what those after it found.
    zero: Outcome,
    /// Those that are left, the next one last.
    left: Vec<Pins>,
}

/// How far the runs are.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum At {
    /// No base has a residue.
    #[default]
    First,
    /// All residues are 0, of ever more bases.
    Zero,
    /// Residues are the one that was taken last.
    Others,
    /// All was looked at.
    Done,
}

impl Refinement<OneCta<'_>> for Residues {
    fn reason(&self) -> Reason {
        Reason::Residues
    }

    fn look(&mut self, _: &OneCta, known: &mut Knowledge, mut ran: Ran) -> Next<Ran> {
        // Choices of strong accesses, and ways at branches, are followed from run to run elsewhere.
        let is_followed = known.order.is_some() || known.found.path.is_some();
        if ran.obstacle.is_some() || is_followed || self.at == At::Done {
            return Next::Pass(ran);
        }
        self.asked.extend(std::mem::take(&mut ran.asked));
        let outcome = std::mem::take(&mut ran.outcome);
        ran.outcome = match self.take(known, outcome) {
            Some(outcome) => outcome,
            None => return Next::Again,
        };
        self.at = At::Done;
        Next::Pass(ran)
    }

    fn reset(&mut self, known: &mut Knowledge) {
        *self = Residues::default();
        known.found.pins = Pins::default();
    }
}

impl Residues {
    /// Takes what a run left; `None` if the CTA is to be run again.
    fn take(&mut self, known: &mut Knowledge, out: Outcome) -> Option<Outcome> {
        match self.at {
            At::First if self.asked.bits.is_empty() || !is_open(&out) => return Some(out),
            At::First => {
                self.first = out;
                self.at = At::Zero;
                // The values are compared.
                known.without_values = false;
                return self.pin_more(known);
            }
            At::Zero => {
                self.zero = out;
                if is_open(&self.zero) {
                    return self.pin_more(known);
                }
            }
            At::Others => {
                if let Err(open) = self.zero.take_alike(out) {
                    self.zero.unknowns.push(open);
                    self.left.clear();
                }
                return self.next(known);
            }
            At::Done => return Some(out),
        }
        let Some(mut cases) = known.found.pins.cases(&self.asked) else {
            return Some(std::mem::take(&mut self.first));
        };
        let is_settled = self.zero.defects.is_empty() && self.zero.unknowns.is_empty();
        if is_settled {
            self.left = cases.split_off(1);
            self.left.reverse();
        }
        self.at = At::Others;
        self.next(known)
    }

    /// Lets all residues be 0 of more bases; the first outcome where no more are asked for.
    fn pin_more(&mut self, known: &mut Knowledge) -> Option<Outcome> {
        match known.found.pins.extended(&self.asked) {
            Some(more) => {
                known.found.pins = more;
                None
            }
            None => Some(std::mem::take(&mut self.first)),
        }
    }

    fn next(&mut self, known: &mut Knowledge) -> Option<Outcome> {
        match self.left.pop() {
            Some(pins) => {
                known.found.pins = pins;
                None
            }
            None => Some(std::mem::take(&mut self.zero)),
        }
    }
}

/// True if a run says nothing because of where something lies.
fn is_open(out: &Outcome) -> bool {
    let lies = |u: &Finding<UnknownKind>| u.kind == UnknownKind::NondeterministicValue;
    out.unknowns.iter().any(lies)
}

impl Outcome {
    /// Takes in what a run of another residue found, or says why that may leave something else.
    fn take_alike(&mut self, other: Outcome) -> Result<(), Finding<UnknownKind>> {
        let limit = |u: &&Finding<UnknownKind>| u.kind == UnknownKind::Limit;
        if let Some(u) = other.unknowns.iter().find(limit) {
            return Err(u.clone());
        }
        let first = other.defects.first().map(|d| (&d.message, &d.sites));
        let first = first.or(other.unknowns.first().map(|u| (&u.message, &u.sites)));
        if let Some((message, sites)) = first {
            return Err(open(sites.clone(), message));
        }
        let touched = self.footprint.accesses() == other.footprint.accesses();
        let left = self.join(other, Symbols::Shared);
        let is_same = self.differing(&left, |_| true).next().is_none();
        // A symbol of a schedule is told by its number alone, which may be that of another read.
        let is_fresh = |t: &TermId| matches!(self.store.get(*t), Term::Fresh { .. });
        let written = self.writes.values().flat_map(|w| w.values().copied());
        let written: Vec<TermId> = written.collect();
        if !is_same || self.store.reachable(&written).iter().any(is_fresh) {
            let leaves = "what the arrays hold in the end is not the same";
            return Err(open(Vec::new(), leaves));
        }
        match touched {
            true => Ok(()),
            false => Err(open(Vec::new(), "what it accesses is not the same")),
        }
    }
}

/// What is said of a kernel that its own residues tell apart.
fn open(sites: Vec<Site>, why: &str) -> Finding<UnknownKind> {
    let message = format!(
        "the kernel takes apart addresses of shared memory, which is aligned as it is declared and no more: it was \
         run with that at a multiple of what it asks for, and elsewhere, where {why}; an alignment in the \
         declaration (`.align 1024`) would settle it"
    );
    Finding::new(UnknownKind::NondeterministicValue, message).at(sites)
}
