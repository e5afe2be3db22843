//! Satisfiability of gates, by a solver of clauses.
//!
//! Source: Tseitin's encoding (1968): a variable for each gate that a question reaches, three clauses for a
//! conjunction; the solver is batsat, a port of MiniSat. It is bounded by clauses that it learns, which are
//! the same on every machine, and by the clock of the run.

use std::cell::Cell;

use batsat::{Callbacks, ClauseKind, Solver, SolverInterface, SolverOpts, Var, lbool};
use rustc_hash::FxHashMap;

use super::circuit::{Circuit, Gate, Lit};
use crate::spec::Limits;
use crate::work;

/// Steps of the solver between two looks at the clock.
const STEPS_PER_LOOK: u32 = 256;

/// When the solver gives up.
struct Bounds {
    limits: Limits,
    learnt: u64,
    most: u64,
    steps: Cell<u32>,
    late: Cell<bool>,
}

impl Callbacks for Bounds {
    fn on_new_clause(&mut self, _: &[batsat::Lit], kind: ClauseKind) {
        self.learnt += u64::from(matches!(kind, ClauseKind::Learnt));
    }

    fn stop(&self) -> bool {
        let steps = self.steps.get().wrapping_add(1);
        self.steps.set(steps);
        work::spend(1);
        if steps.is_multiple_of(STEPS_PER_LOOK) && self.limits.reached().is_some() {
            self.late.set(true);
        }
        self.late.get() || self.learnt >= self.most
    }
}

/// What the solver says of all clauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Some values satisfy them all.
    Satisfied,
    /// No values do.
    Contradictory,
    /// A bound ended the search.
    GaveUp,
}

/// Clauses over gates of one circuit.
pub struct Clauses {
    solver: Solver<Bounds>,
    variables: FxHashMap<usize, Var>,
}

impl Clauses {
    /// No clause; the solver gives up once it has learnt `most`.
    pub fn new(limits: &Limits, most: u64) -> Clauses {
        let bounds = Bounds {
            limits: *limits,
            learnt: 0,
            most,
            steps: Cell::new(0),
            late: Cell::new(false),
        };
        Clauses {
            solver: Solver::new(SolverOpts::default(), bounds),
            variables: FxHashMap::default(),
        }
    }

    /// Adds a clause; what its gates compute is made known to the solver.
    pub fn add(&mut self, circuit: &Circuit, clause: &[Lit]) {
        if clause.contains(&Lit::TRUE) {
            return;
        }
        let open = clause.iter().filter(|l| **l != Lit::FALSE);
        let mut literals: Vec<batsat::Lit> = open.map(|&l| self.literal(circuit, l)).collect();
        self.solver.add_clause_reuse(&mut literals);
    }

    /// The variable of a gate, with clauses for all below it that are new.
    fn literal(&mut self, circuit: &Circuit, l: Lit) -> batsat::Lit {
        let (mut open, mut new) = (vec![l.gate()], Vec::new());
        while let Some(gate) = open.pop() {
            if self.variables.contains_key(&gate) {
                continue;
            }
            let variable = self.solver.new_var_default();
            self.variables.insert(gate, variable);
            new.push(gate);
            if let Gate::And(a, b) = circuit.gate(gate) {
                open.extend([a.gate(), b.gate()]);
            }
        }
        for gate in new {
            let it = batsat::Lit::new(self.variables[&gate], true);
            let of = |l: Lit| batsat::Lit::new(self.variables[&l.gate()], !l.is_negated());
            let clauses = match circuit.gate(gate) {
                _ if gate == Lit::FALSE.gate() => vec![vec![!it]],
                Gate::Input => Vec::new(),
                Gate::And(a, b) => {
                    let (x, y) = (of(a), of(b));
                    vec![vec![!it, x], vec![!it, y], vec![it, !x, !y]]
                }
            };
            for mut clause in clauses {
                self.solver.add_clause_reuse(&mut clause);
            }
        }
        batsat::Lit::new(self.variables[&l.gate()], !l.is_negated())
    }

    /// Whether values of the inputs satisfy all clauses.
    pub fn solve(&mut self) -> Outcome {
        let before = self.solver.num_propagations();
        let outcome = self.solver.solve_limited(&[]);
        work::spend(self.solver.num_propagations().saturating_sub(before));
        if outcome == lbool::TRUE {
            Outcome::Satisfied
        } else if outcome == lbool::FALSE {
            Outcome::Contradictory
        } else {
            Outcome::GaveUp
        }
    }

    /// The value of an input where the last question was satisfied. What no clause reaches is free, and
    /// false.
    pub fn value(&self, input: usize) -> bool {
        let known = self.variables.get(&input);
        known.is_some_and(|v| self.solver.value_var(*v) == lbool::TRUE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_pigeons_need_three_holes() {
        let limits = Limits::NONE;
        let mut c = Circuit::new();
        let mut clauses = Clauses::new(&limits, 1000);
        // in[p][h]: pigeon p sits in hole h.
        let sits: Vec<[Lit; 2]> = (0..3)
            .map(|_| [c.input().unwrap(), c.input().unwrap()])
            .collect();
        for holes in &sits {
            let some = c.or(holes[0], holes[1]).unwrap();
            clauses.add(&c, &[some]);
        }
        assert_eq!(clauses.solve(), Outcome::Satisfied);
        assert!(sits[0].iter().any(|l| clauses.value(l.gate())));
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            for (&a, &b) in sits[p].iter().zip(&sits[q]) {
                clauses.add(&c, &[!a, !b]);
            }
        }
        assert_eq!(clauses.solve(), Outcome::Contradictory);
    }
}
