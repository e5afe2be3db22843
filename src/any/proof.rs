//! What has to be shown for every launch, and what of it is left.
//!
//! Each obligation is a question whether conditions can hold together: the guards of one or two threads, what is known of
//! their symbols, and what would be wrong. It is asked of gates first, and of whole numbers where products of sizes stand
//! in the way. A question that is not answered `never` is an open obligation; its model is a launch to try.

use rustc_hash::FxHashSet;

use super::conflicts;
use super::expr::{Id, Level, Order};
use super::facts::{Arith, Claim, Relation, Size, SizeFact, Step};
use super::flow::Flow;
use super::gates::{Holds, Model, together};
use super::hints;
use super::integers::Integers;
use super::launches::{Concrete, Freedom};
use super::limits::MAX_INSTRUCTIONS;
use super::linear::Poly;
use super::walk::{Object, Walk};
use crate::answer::{Finding, Part, Site, UnknownKind, WarningKind};
use crate::kernel::structured::Blocks;
use crate::kernel::{Kernel, Pc};
use crate::spec::{Arrays, Limits, Resolved};
use crate::term::BitsOp;

/// What a proof came to.
#[derive(Default)]
pub(super) struct Proof {
    pub open: Vec<Finding<UnknownKind>>,
    pub warnings: Vec<Finding<WarningKind>>,
    pub candidates: Vec<Concrete>,
    /// Whether nothing was left out and all was shown.
    pub holds: bool,
}

/// What a proof is about.
pub(super) struct Subject<'a> {
    pub kernel: &'a Kernel,
    pub resolved: &'a Resolved,
    pub arrays: &'a Arrays,
    pub freedom: &'a Freedom,
    pub strict: bool,
    pub limits: &'a Limits,
}

/// A proof that is under way.
pub(super) struct Prover<'a, 'w> {
    pub subject: &'a Subject<'a>,
    pub w: Walk<'w>,
    /// Conditions that hold of every launch.
    pub always: Vec<Id>,
    pub out: Proof,
    /// Counters that were shown not to wrap, with how they are read.
    pub exact: Vec<(usize, bool)>,
}

/// Whether there is a launch in which the kernel may break.
pub(super) fn prove(subject: &Subject) -> Proof {
    let mut out = Proof::default();
    let kernel = subject.kernel;
    let blocks = Blocks::new(kernel);
    let flow = Flow::new(&blocks).filter(|_| kernel.insts.len() <= MAX_INSTRUCTIONS);
    let Some(flow) = flow else {
        let message = "the control flow has loops with several entries, or is too large";
        out.open.push(Finding::new(
            Part::Kernel,
            UnknownKind::UnboundedLoop,
            message,
        ));
        return out;
    };
    let f = subject.freedom;
    let mut written: FxHashSet<u32> = FxHashSet::default();
    let mut always;
    let walk = loop {
        let mut walk = Walk::new(
            kernel,
            subject.resolved,
            &blocks,
            &flow,
            (f.block, f.grid, f.most),
        )
        .with_written(written.clone());
        always = launch_conditions(&mut walk, f);
        walk.always = always.clone();
        walk.limits = Some(*subject.limits);
        walk.run();
        let writes = walk.writes();
        if writes.is_subset(&written) {
            break walk;
        }
        written.extend(writes);
    };
    let mut prover = Prover {
        subject,
        w: walk,
        always,
        out,
        exact: Vec::new(),
    };
    prover.all();
    prover.out
}

/// What holds of the launch: indices are below their extents, and the facts.
fn launch_conditions(w: &mut Walk, f: &Freedom) -> Vec<Id> {
    let mut out = Vec::new();
    let s = w.sizes;
    for (i, n) in s.tid.iter().zip(s.ntid).chain(s.ctaid.iter().zip(s.nctaid)) {
        out.push(w.e.compare(Order::Below, *i, n));
    }
    for fact in &f.facts {
        out.extend(fact_condition(w, fact));
    }
    out.retain(|c| w.e.value(*c) != Some(1));
    out
}

/// A fact as a condition on 64-bit words, where no step of it can leave them.
fn fact_condition(w: &mut Walk, fact: &SizeFact) -> Option<Id> {
    if let Some((size, a, b)) = fact.range() {
        let x = size_word(w, size);
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
        let x = size_word(w, size);
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
            Step::Size(s @ Size::Block(_)) => (size_word(w, s), 1 << 10),
            Step::Size(s) => (size_word(w, s), 1 << 31),
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
        if next.1 >= 1 << 63 {
            // Products of three sizes and more are left to the search.
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

fn size_word(w: &mut Walk, size: Size) -> Id {
    let (id, sign) = match size {
        Size::Block(a) => (w.sizes.ntid[usize::from(a).min(2)], false),
        Size::Grid(a) => (w.sizes.nctaid[usize::from(a).min(2)], false),
        // Signed, as `int` is and as the command line binds it.
        Size::Param(at) => (w.scalar(at), true),
    };
    w.e.resize(id, 64, sign)
}

impl Prover<'_, '_> {
    fn all(&mut self) {
        let gaps = std::mem::take(&mut self.w.out.gaps);
        for g in gaps {
            self.leave_open(g.kind, &g.what, &[g.pc], None);
        }
        // What is not followed leaves the answer open whatever else is shown.
        if self.w.e.full || !self.out.open.is_empty() {
            return;
        }
        self.loops();
        self.duties();
        self.bounds();
        conflicts::barriers(self);
        conflicts::accesses(self);
        if let Some(why) = self.subject.limits.reached() {
            self.leave_open(UnknownKind::Limit, why, &[], None);
        }
        self.out.holds = self.out.open.is_empty() && !self.w.e.full;
    }

    /// Records an obligation that is open, with a launch to try.
    pub(super) fn leave_open(
        &mut self,
        kind: UnknownKind,
        what: &str,
        at: &[Pc],
        model: Option<&Model>,
    ) {
        let kernel = self.subject.kernel;
        let sites = at
            .iter()
            .map(|pc| Site::new(&kernel.source, kernel.span(*pc), ""))
            .collect();
        let finding = Finding::new(Part::Kernel, kind, what).at(sites);
        self.out.open.push(finding);
        if let Some(model) = model {
            let launch = self.launch_of(model);
            if !self.out.candidates.contains(&launch) {
                self.out.candidates.push(launch);
            }
        }
    }

    /// Says which fact would help with what was left open last.
    pub(super) fn suggest(&mut self, fact: Option<String>) {
        if let (Some(fact), Some(last)) = (fact, self.out.open.last_mut()) {
            last.hint = Some(format!(
                "if that cannot wrap around, say so: --assume '{fact}'"
            ));
        }
    }

    /// The launch that values of symbols speak of.
    fn launch_of(&mut self, model: &Model) -> Concrete {
        let f = self.subject.freedom;
        let s = self.w.sizes;
        let value = |w: &Walk, id: Id| match w.e.node(id) {
            super::expr::Node::Const(v) => *v,
            super::expr::Node::Symbol(s) => model.get(s).copied().unwrap_or(1),
            _ => 1,
        };
        let triple = |w: &Walk, ids: [Id; 3]| ids.map(|id| value(w, id) as u32);
        let (block, grid) = (triple(&self.w, s.ntid), triple(&self.w, s.nctaid));
        let mut ints = Vec::new();
        for p in &f.ints {
            let id = self.w.scalar_of(p.offset, p.bytes.min(8));
            let v = value(&self.w, id);
            ints.push(match p.bytes {
                4 => i64::from(v as u32 as i32),
                _ => v as i64,
            });
        }
        Concrete { block, grid, ints }
    }

    /// What is known of the symbols that a question speaks of, each as an implication.
    pub(super) fn implications(&mut self, about: &[Id]) -> Vec<Id> {
        let e = &self.w.e;
        let own = |s: &u32| {
            e.symbols[*s as usize].level > Level::Grid || e.symbols[*s as usize].of.is_some()
        };
        let mut seen: FxHashSet<u32> = e.symbols_of(about).into_iter().filter(own).collect();
        let mut left: Vec<(Vec<u32>, usize)> = Vec::new();
        for (i, k) in self.w.out.known.iter().enumerate() {
            left.push((e.symbols_of(&[k.holds]), i));
        }
        let mut near: Vec<usize> = Vec::new();
        loop {
            let before = left.len();
            left.retain(|(symbols, i)| {
                let meets = symbols.iter().any(|s| seen.contains(s));
                if meets {
                    seen.extend(symbols.iter().copied().filter(own));
                    near.push(*i);
                }
                !meets
            });
            if left.len() == before {
                break;
            }
        }
        near.sort_unstable();
        let mut out = Vec::new();
        for i in near {
            let k = self.w.out.known[i];
            let not = self.w.e.not(k.premise);
            let id = self.w.e.or(not, k.holds);
            if self.w.e.value(id) != Some(1) && !out.contains(&id) {
                out.push(id);
            }
        }
        out
    }

    /// Whole numbers under conditions, with the counters that do not wrap.
    pub(super) fn integers(&mut self, conditions: &[Id]) -> Integers<'_> {
        let s = self.w.sizes;
        let counters: Vec<(super::loops::Counter, bool)> = self
            .exact
            .iter()
            .map(|(i, sign)| (self.w.out.counters[*i], *sign))
            .collect();
        let block = s.ntid.to_vec();
        let whole = [s.ntid, s.nctaid].concat();
        let products = vec![
            (block, i128::from(self.subject.freedom.most)),
            (whole, (1 << 31) - 1),
        ];
        let literals: Vec<Id> = conditions
            .iter()
            .flat_map(|c| self.w.e.literals(*c))
            .collect();
        let always = self.always.clone();
        let mut out = Integers::new(&mut self.w.e, products, *self.subject.limits);
        for (c, sign) in counters {
            out.counter(c.symbol, (c.start, c.step, c.count), sign);
        }
        // Implications whose premise is among the literals are facts.
        for c in always.iter().chain(&literals) {
            out.condition_or(*c, &literals);
        }
        // Once more: what was learnt helps to read.
        for c in always.iter().chain(&literals) {
            out.condition_or(*c, &literals);
        }
        out
    }

    /// Whether conditions of one thread never hold together.
    pub(super) fn never(&mut self, conditions: &[Id]) -> Result<(), Option<Model>> {
        let mut all = conditions.to_vec();
        all.extend(self.implications(conditions));
        all.extend(&self.always);
        match together(&self.w.e, &all, true, self.subject.limits) {
            Holds::Never => Ok(()),
            Holds::Perhaps(model) => Err(model),
        }
    }

    /// Whether no counter wraps, and whether loops end.
    fn loops(&mut self) {
        for i in 0..self.w.out.counters.len() {
            let c = self.w.out.counters[i];
            if c.last {
                continue;
            }
            if let Some(sign) = self.does_not_wrap(c) {
                for j in 0..self.w.out.counters.len() {
                    let d = self.w.out.counters[j];
                    if j == i || d.of == c.of && d.last && self.is_last_of(&d, &c) {
                        self.exact.push((j, sign));
                    }
                }
            }
        }
        let mut all: Vec<usize> = self.w.out.loops.keys().copied().collect();
        all.sort_unstable();
        for l in all {
            let summary = &self.w.out.loops[&l];
            if summary.ends || summary.goes_on.is_none() {
                continue;
            }
            let counts = self.exact.iter().any(|(i, _)| {
                let c = &self.w.out.counters[*i];
                c.of == l && !c.last
            });
            if !counts {
                let header = self.w.flow.loops[l].header;
                let pc = Pc(self.w.blocks.range(header).start);
                self.leave_open(
                    UnknownKind::UnboundedLoop,
                    "a loop was not shown to end: its counter may wrap, or it has none",
                    &[pc],
                    None,
                );
                let counters: Vec<super::loops::Counter> = self
                    .w
                    .out
                    .counters
                    .iter()
                    .filter(|c| c.of == l && !c.last)
                    .copied()
                    .collect();
                for c in counters {
                    let known = self.implications(&[c.symbol]);
                    let fact = hints::for_counter(
                        &mut self.w,
                        &self.subject.freedom.ints,
                        (c.symbol, c.step),
                        &known,
                    );
                    self.suggest(fact);
                }
            }
        }
    }

    /// Whether a counter is another's value in the last iteration.
    fn is_last_of(&self, last: &super::loops::Counter, c: &super::loops::Counter) -> bool {
        // Start and step are outside of the loop, so that they are the same words, or copies for an outer loop's end.
        self.w.e.width(last.symbol) == self.w.e.width(c.symbol)
            && last.start == c.start
            && last.step == c.step
    }

    /// How a counter is read that takes its step in each iteration without leaving its range; the step is never zero.
    fn does_not_wrap(&mut self, c: super::loops::Counter) -> Option<bool> {
        let before = self.w.out.loops.get(&c.of)?.before?;
        let mut conditions = vec![before];
        conditions.extend(self.implications(&[c.symbol, c.next]));
        let width = self.w.e.width(c.symbol);
        for sign in [true, false] {
            let mut known = self.integers(&conditions);
            let (h, s) = (known.reading(c.symbol, sign), known.reading(c.step, true));
            let Some(next) = h.plus(1, &s) else { continue };
            let (lo, hi) = match sign {
                true => (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1),
                false => (0, (1i128 << width) - 1),
            };
            let below = next.plus(-1, &Poly::constant(lo));
            let above = Poly::constant(hi).plus(-1, &next);
            let one = Poly::constant(1);
            let up = s.plus(-1, &one);
            let down = Poly::constant(-1).plus(-1, &s);
            let moves = [up, down].into_iter().flatten().any(|p| known.proves(&p));
            if moves
                && [below, above]
                    .into_iter()
                    .flatten()
                    .filter(|p| known.proves(p))
                    .count()
                    == 2
            {
                return Some(sign);
            }
        }
        // By bits, for a constant step.
        let step = super::expr::signed(self.w.e.value(c.step)?, width);
        for sign in [true, false] {
            let order = if sign { Order::Less } else { Order::Below };
            let next = self.w.e.add(c.symbol, c.step);
            let wraps = match step > 0 {
                true => self.w.e.compare(order, next, c.symbol),
                false => self.w.e.compare(order, c.symbol, next),
            };
            if step != 0 && self.never(&[before, wraps]).is_ok() {
                return Some(sign);
            }
        }
        None
    }

    fn duties(&mut self) {
        for d in std::mem::take(&mut self.w.out.duties) {
            let not = self.w.e.not(d.holds);
            if let Err(model) = self.never(&[d.guard, not]) {
                self.leave_open(UnknownKind::Undefined, d.what, &[d.pc], model.as_ref());
            }
        }
    }

    /// Accesses of objects whose extent is known lie in them.
    fn bounds(&mut self) {
        for i in 0..self.w.out.accesses.len() {
            if self.subject.limits.reached().is_some() {
                return;
            }
            let a = self.w.out.accesses[i].clone();
            let extent = match self.w.out.objects[a.object as usize] {
                Object::Shared(v) => Some(u64::from(self.subject.kernel.shared[v as usize].bytes)),
                Object::Dynamic => self.subject.resolved.launch.dynamic_shared,
                Object::Array(n) => self.subject.arrays.0.get(n as usize).and_then(|x| x.extent),
                Object::Local => None,
            };
            let array = matches!(self.w.out.objects[a.object as usize], Object::Array(_));
            if extent.is_none() && !array {
                continue;
            }
            let width = self.w.e.width(a.offset);
            // An array of unknown extent begins somewhere: what lies before it is out of its bounds.
            let all = i64::MAX as u64;
            let last = extent.unwrap_or(all).checked_sub(u64::from(a.bytes));
            let outside = match last {
                None => self.w.e.truth(true),
                Some(last) => {
                    let last = self.w.e.constant(last, width);
                    self.w.e.compare(Order::Below, last, a.offset)
                }
            };
            let Err(model) = self.never(&[a.guard, outside]) else {
                continue;
            };
            let mut conditions = vec![a.guard];
            conditions.extend(self.implications(&[a.guard, a.offset]));
            let mut known = self.integers(&conditions);
            let at = known.reading(a.offset, false);
            let room = last.and_then(|l| Poly::constant(i128::from(l)).plus(-1, &at));
            if room.is_some_and(|r| known.proves(&r)) {
                continue;
            }
            self.leave_open(
                UnknownKind::Undefined,
                "an access may be out of the bounds of its array",
                &[a.pc],
                model.as_ref(),
            );
        }
    }
}
