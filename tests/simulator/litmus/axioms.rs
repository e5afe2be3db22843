//! The axiomatic memory model, by brute force: every execution of a litmus program that the axioms allow.
//!
//! Source: PTX ISA 9.0, sections 8.7 to 8.10. An execution chooses, for each read, the write that it reads from; for
//! each pair of morally strong `fence.sc`, which comes first; and for each pair of overlapping writes that must be
//! ordered, their order. What the axioms of section 8.10 leave is what may happen. Dependencies that section 8.10.4
//! speaks of are those of conditions and of read-modify-writes that compute with the old value.
//!
//! A loop that waits is a read that gives the value it waits for; an execution in which it never does is one whose
//! last write of the word gives another value, and its thread goes no further.

use std::collections::BTreeSet;

/// Who an access or a fence is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    Cta,
    Gpu,
}

/// How strong an access or a fence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sem {
    Weak,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    Sc,
    Volatile,
}

/// What a read-modify-write does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rmw {
    Add,
    Exch,
}

/// One step of a thread. Those that read have a register each, in order; it begins at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Fence(Sem, Scope),
    Load(usize, Sem, Scope),
    Store(usize, u32, Sem, Scope),
    Update(usize, Rmw, u32, Sem, Scope),
    /// A read-modify-write without a result.
    Reduce(usize, u32, Sem, Scope),
    /// Goes on only if the last read gave this value.
    Guard(u32),
    /// Reads until the word has this value.
    Await(usize, u32, Sem, Scope),
    /// The barrier of the CTA.
    Barrier,
}

/// Threads, each with its CTA.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub threads: Vec<(usize, Vec<Op>)>,
}

/// What may happen.
#[derive(Debug, Default)]
pub(super) struct Allowed {
    /// What the registers of all threads hold at the end.
    pub outcomes: BTreeSet<Vec<u32>>,
    /// Two accesses race in some execution.
    pub race: bool,
    /// Some execution has a thread that waits for ever.
    pub stuck: bool,
}

/// A relation over events: the successors of each.
type Rel = Vec<u32>;

#[derive(Clone, Copy)]
struct Event {
    thread: usize,
    cta: usize,
    op: Op,
}

impl Op {
    fn word(self) -> Option<usize> {
        match self {
            Op::Load(x, ..) | Op::Store(x, ..) | Op::Await(x, ..) => Some(x),
            Op::Update(x, ..) | Op::Reduce(x, ..) => Some(x),
            Op::Fence(..) | Op::Guard(_) | Op::Barrier => None,
        }
    }

    fn sem(self) -> (Sem, Scope) {
        match self {
            Op::Fence(s, c) | Op::Load(_, s, c) | Op::Store(_, _, s, c) => (s, c),
            Op::Update(_, _, _, s, c) | Op::Reduce(_, _, s, c) | Op::Await(_, _, s, c) => (s, c),
            Op::Guard(_) | Op::Barrier => (Sem::Weak, Scope::Cta),
        }
    }

    pub(super) fn reads(self) -> bool {
        matches!(
            self,
            Op::Load(..) | Op::Update(..) | Op::Reduce(..) | Op::Await(..)
        )
    }

    pub(super) fn has_register(self) -> bool {
        self.reads() && !matches!(self, Op::Reduce(..))
    }

    fn writes(self) -> bool {
        matches!(self, Op::Store(..) | Op::Update(..) | Op::Reduce(..))
    }

    fn strong(self) -> bool {
        self.sem().0 != Sem::Weak
    }

    fn releases(self) -> bool {
        matches!(self.sem().0, Sem::Release | Sem::AcqRel | Sem::Sc)
    }

    fn acquires(self) -> bool {
        matches!(self.sem().0, Sem::Acquire | Sem::AcqRel | Sem::Sc)
            && !matches!(self, Op::Reduce(..))
    }

    fn scope(self) -> Scope {
        match self.sem() {
            (Sem::Volatile, _) => Scope::Gpu,
            (_, scope) => scope,
        }
    }
}

fn has(r: &Rel, a: usize, b: usize) -> bool {
    r[a] >> b & 1 == 1
}

fn close(r: &mut Rel) {
    for k in 0..r.len() {
        for a in 0..r.len() {
            if has(r, a, k) {
                r[a] |= r[k];
            }
        }
    }
}

fn acyclic(r: &Rel) -> bool {
    let mut r = r.clone();
    close(&mut r);
    (0..r.len()).all(|a| !has(&r, a, a))
}

/// Every choice of one of `counts[i]` for each i.
fn choices(counts: &[usize], mut each: impl FnMut(&[usize])) {
    let mut at = vec![0; counts.len()];
    if counts.contains(&0) {
        return;
    }
    loop {
        each(&at);
        let Some(i) = (0..at.len()).find(|&i| at[i] + 1 < counts[i]) else {
            return;
        };
        at[..i].fill(0);
        at[i] += 1;
    }
}

fn permutations(of: &[usize]) -> Vec<Vec<usize>> {
    let mut out = vec![Vec::new()];
    for &x in of {
        let longer = out.iter().flat_map(|p: &Vec<usize>| {
            (0..=p.len()).map(move |i| {
                let mut p = p.clone();
                p.insert(i, x);
                p
            })
        });
        out = longer.collect();
    }
    out
}

/// Everything that may happen.
pub(super) fn executions(p: &Program) -> Allowed {
    let model = Model::new(p);
    let mut out = Allowed::default();
    let events = model.events.clone();
    let sources: Vec<Vec<Option<usize>>> = (model.words..events.len())
        .filter(|&e| events[e].op.reads())
        .map(|e| {
            let same = |w: &usize| {
                *w != e
                    && (*w < model.words && Some(*w) == events[e].op.word()
                        || *w >= model.words
                            && events[*w].op.writes()
                            && events[*w].op.word() == events[e].op.word())
            };
            let mut from: Vec<Option<usize>> = (0..events.len()).filter(same).map(Some).collect();
            if matches!(events[e].op, Op::Await(..)) {
                from.push(None);
            }
            from
        })
        .collect();
    let counts: Vec<usize> = sources.iter().map(Vec::len).collect();
    choices(&counts, |at| {
        let mut from = vec![None; events.len()];
        let reads = (model.words..events.len()).filter(|&e| events[e].op.reads());
        for ((e, s), i) in reads.zip(&sources).zip(at) {
            from[e] = s[*i];
        }
        if let Some(run) = model.run(&from) {
            model.judge(&run, &mut out);
        }
    });
    out
}

struct Model {
    events: Vec<Event>,
    words: usize,
    threads: usize,
}

/// The events that happen, and what each reads from.
struct Run {
    from: Vec<Option<usize>>,
    written: Vec<u32>,
    done: u32,
    stuck: Vec<usize>,
    outcome: Vec<u32>,
}

impl Model {
    /// The first events are the initial writes of the words.
    fn new(p: &Program) -> Model {
        let words = p
            .threads
            .iter()
            .flat_map(|t| &t.1)
            .filter_map(|o| o.word())
            .max()
            .map_or(0, |w| w + 1);
        let mut events: Vec<Event> = (0..words)
            .map(|x| Event {
                thread: usize::MAX,
                cta: usize::MAX,
                op: Op::Store(x, 0, Sem::Weak, Scope::Gpu),
            })
            .collect();
        for (thread, (cta, ops)) in p.threads.iter().enumerate() {
            events.extend(ops.iter().map(|&op| Event {
                thread,
                cta: *cta,
                op,
            }));
        }
        assert!(events.len() <= 32, "a relation is a row of 32 bits");
        Model {
            events,
            words,
            threads: p.threads.len(),
        }
    }

    /// The values of an execution; `None` if they come from nowhere, or are of one that is counted elsewhere.
    fn run(&self, from: &[Option<usize>]) -> Option<Run> {
        let n = self.events.len();
        let mut value: Vec<Option<u32>> = vec![None; n];
        let mut written: Vec<Option<u32>> = vec![None; n];
        for _ in 0..=n {
            for (e, event) in self.events.iter().enumerate() {
                value[e] = from[e].and_then(|w| written[w]);
                written[e] = match event.op {
                    Op::Store(_, v, ..) => Some(v),
                    Op::Update(_, Rmw::Exch, v, ..) => Some(v),
                    Op::Update(_, Rmw::Add, v, ..) | Op::Reduce(_, v, ..) => {
                        value[e].map(|old| old + v)
                    }
                    _ => None,
                };
            }
        }
        let mut done: u32 = (1 << self.words) - 1;
        let (mut stuck, mut outcome) = (Vec::new(), Vec::new());
        for t in 0..self.threads {
            let (mut going, mut last) = (true, 0);
            for e in (0..n).filter(|&e| self.events[e].thread == t) {
                let op = self.events[e].op;
                if !going {
                    // One of the choices for what is not read stands for all.
                    let first = op.word().filter(|_| op.reads());
                    if from[e] != first {
                        return None;
                    }
                    outcome.extend(op.has_register().then_some(0));
                    continue;
                }
                if let (Op::Await(..), None) = (op, from[e]) {
                    going = false;
                    stuck.push(e);
                    outcome.push(0);
                    continue;
                }
                if let Op::Guard(v) = op {
                    going = last == v;
                }
                if op.reads() {
                    let v = value[e]?;
                    if op.has_register() {
                        last = v;
                        outcome.push(v);
                    }
                    if matches!(op, Op::Await(_, waited, ..) if waited != v) {
                        return None;
                    }
                }
                done |= 1 << e;
            }
        }
        let real = |e: usize| done >> e & 1 == 0 || from[e].is_none_or(|w| done >> w & 1 == 1);
        if !(0..n).all(real) {
            return None;
        }
        let written = written.into_iter().map(|v| v.unwrap_or(0)).collect();
        let run = Run {
            from: from.to_vec(),
            written,
            done,
            stuck,
            outcome,
        };
        self.has_ground(&run).then_some(run)
    }

    /// No value makes itself, through conditions and old values.
    fn has_ground(&self, run: &Run) -> bool {
        let n = self.events.len();
        // The reading half of an event, and the writing half.
        let mut r = vec![0u32; 2 * n];
        if 2 * n > 32 {
            // Few programs are that long; conditions are what makes such a cycle.
            return !self
                .events
                .iter()
                .any(|e| matches!(e.op, Op::Guard(_) | Op::Await(..)));
        }
        for e in (0..n).filter(|e| run.done >> e & 1 == 1) {
            if let Some(w) = run.from[e] {
                r[2 * w + 1] |= 1 << (2 * e);
            }
            if matches!(
                self.events[e].op,
                Op::Update(_, Rmw::Add, ..) | Op::Reduce(..)
            ) {
                r[2 * e] |= 1 << (2 * e + 1);
            }
        }
        for t in 0..self.threads {
            let (mut last, mut needed) = (None, Vec::new());
            for e in (0..n).filter(|&e| self.events[e].thread == t && run.done >> e & 1 == 1) {
                let op = self.events[e].op;
                if op.writes() {
                    for &r0 in &needed {
                        let r0: usize = r0;
                        r[2 * r0] |= 1 << (2 * e + 1);
                    }
                }
                match op {
                    Op::Guard(_) => needed.extend(last),
                    Op::Await(..) => needed.push(e),
                    _ => {}
                }
                if op.has_register() {
                    last = Some(e);
                }
            }
        }
        acyclic(&r)
    }

    fn happens(&self, run: &Run) -> Vec<usize> {
        (0..self.events.len())
            .filter(|e| run.done >> e & 1 == 1)
            .collect()
    }

    /// Both strong, each with a scope that holds the other's thread, or of one thread; memory operations of one word.
    fn morally_strong(&self, a: usize, b: usize) -> bool {
        if a < self.words || b < self.words {
            return self.events[a].op.word() == self.events[b].op.word();
        }
        let (x, y) = (&self.events[a], &self.events[b]);
        let words = (x.op.word(), y.op.word());
        if let (Some(x), Some(y)) = words
            && x != y
        {
            return false;
        }
        let holds = |e: &Event| e.op.scope() >= Scope::Gpu || x.cta == y.cta;
        x.thread == y.thread || x.op.strong() && y.op.strong() && holds(x) && holds(y)
    }

    fn before(&self, a: usize, b: usize) -> bool {
        a < self.words && b >= self.words
            || self.events[a].thread == self.events[b].thread && a < b && a >= self.words
    }

    /// A write observed by a read, through read-modify-writes.
    fn observation(&self, run: &Run, all: &[usize]) -> Rel {
        let mut out = vec![0; self.events.len()];
        for &r in all {
            if let Some(w) = run.from[r].filter(|&w| self.morally_strong(w, r)) {
                out[w] |= 1 << r;
            }
        }
        // The reading half of a read-modify-write is its event.
        close(&mut out);
        out
    }

    /// What synchronises with what, apart from `fence.sc`.
    fn synchronises(&self, all: &[usize], observed: &Rel) -> Rel {
        let mut out = vec![0; self.events.len()];
        let op = |e: usize| self.events[e].op;
        let inner: Vec<usize> = all.iter().copied().filter(|&e| e >= self.words).collect();
        let pairs = |is_first: &dyn Fn(usize) -> bool,
                     is_second: &dyn Fn(usize) -> bool,
                     alone: &dyn Fn(usize) -> bool| {
            let mut out: Vec<(usize, usize)> = inner
                .iter()
                .filter(|&&e| alone(e))
                .map(|&e| (e, e))
                .collect();
            for &a in inner.iter().filter(|&&a| is_first(a)) {
                out.extend(
                    inner
                        .iter()
                        .filter(|&&b| self.before(a, b) && is_second(b))
                        .map(|&b| (a, b)),
                );
            }
            out
        };
        let fence = |e: usize| matches!(op(e), Op::Fence(..));
        let same = |a: usize, b: usize| fence(a) || fence(b) || op(a).word() == op(b).word();
        let released = pairs(
            &|e| op(e).releases() && (fence(e) || op(e).writes()),
            &|e| op(e).writes() && op(e).strong(),
            &|e| op(e).writes() && op(e).releases(),
        );
        let acquired = pairs(
            &|e| op(e).has_register() && op(e).strong(),
            &|e| op(e).acquires() && (fence(e) || op(e).reads()),
            &|e| op(e).has_register() && op(e).acquires(),
        );
        for &(first, w) in released.iter().filter(|p| same(p.0, p.1)) {
            for &(r, last) in acquired.iter().filter(|p| same(p.0, p.1)) {
                if has(observed, w, r) && self.morally_strong(first, last) {
                    out[first] |= 1 << last;
                }
            }
        }
        for &a in &inner {
            for &b in &inner {
                let rank = |e: usize| {
                    let own =
                        |&&o: &&usize| o <= e && self.events[o].thread == self.events[e].thread;
                    inner
                        .iter()
                        .filter(own)
                        .filter(|&&o| op(o) == Op::Barrier)
                        .count()
                };
                if op(a) == Op::Barrier
                    && op(b) == Op::Barrier
                    && a != b
                    && self.events[a].cta == self.events[b].cta
                    && rank(a) == rank(b)
                {
                    out[a] |= 1 << b;
                }
            }
        }
        out
    }

    /// Goes through the orders of fences and of writes.
    fn judge(&self, run: &Run, out: &mut Allowed) {
        let all = self.happens(run);
        let observed = self.observation(run, &all);
        let synchronised = self.synchronises(&all, &observed);
        let sc = |e: &usize| matches!(self.events[*e].op, Op::Fence(Sem::Sc, _));
        let fences: Vec<usize> = all.iter().copied().filter(sc).collect();
        for order in permutations(&fences) {
            let mut base = synchronised.clone();
            for (i, &a) in order.iter().enumerate() {
                for &b in order[i + 1..]
                    .iter()
                    .filter(|&&b| self.morally_strong(a, b))
                {
                    base[a] |= 1 << b;
                }
            }
            for &a in &all {
                for &b in all.iter().filter(|&&b| self.before(a, b)) {
                    base[a] |= 1 << b;
                }
            }
            close(&mut base);
            let place = |e: usize| order.iter().position(|&f| f == e);
            let contradicts = |a: usize, b: usize| {
                self.morally_strong(a, b) && has(&base, a, b) && place(a) > place(b)
            };
            if fences
                .iter()
                .any(|&a| fences.iter().any(|&b| a != b && contradicts(a, b)))
            {
                continue;
            }
            let mut causes = base.clone();
            for &x in &all {
                for &z in all.iter().filter(|&&z| has(&observed, x, z)) {
                    causes[x] |= base[z];
                }
            }
            self.order_writes(run, &all, &causes, out);
        }
    }

    fn order_writes(&self, run: &Run, all: &[usize], causes: &Rel, out: &mut Allowed) {
        let writes_of = |x: usize| -> Vec<usize> {
            let own =
                |e: &usize| self.events[*e].op.writes() && self.events[*e].op.word() == Some(x);
            all.iter()
                .copied()
                .filter(|e| *e >= self.words)
                .filter(own)
                .collect()
        };
        let orders: Vec<Vec<Vec<usize>>> = (0..self.words)
            .map(|x| permutations(&writes_of(x)))
            .collect();
        let counts: Vec<usize> = orders.iter().map(Vec::len).collect();
        choices(&counts, |at| {
            let mut coherent = vec![0u32; self.events.len()];
            let mut lasts = Vec::new();
            for (x, i) in at.iter().enumerate() {
                let order = &orders[x][*i];
                lasts.push(order.last().copied().unwrap_or(x));
                for (i, &a) in order.iter().enumerate() {
                    coherent[x] |= 1 << a;
                    for &b in &order[i + 1..] {
                        if has(causes, b, a) {
                            return;
                        }
                        if self.morally_strong(a, b) || has(causes, a, b) {
                            coherent[a] |= 1 << b;
                        }
                    }
                }
            }
            close(&mut coherent);
            if self.holds(run, all, causes, &coherent) {
                self.record(run, all, causes, &lasts, out);
            }
        });
    }

    /// The axioms of atomicity, of each location, and of causality.
    fn holds(&self, run: &Run, all: &[usize], causes: &Rel, coherent: &Rel) -> bool {
        let n = self.events.len();
        let mut communication = coherent.clone();
        let mut visible = vec![0u32; n];
        for &r in all {
            let Some(w) = run.from[r] else { continue };
            visible[w] |= 1 << r;
            visible[r] |= coherent[w] & !(1 << r);
        }
        for (c, v) in communication.iter_mut().zip(&visible) {
            *c |= v;
        }
        for &a in all
            .iter()
            .filter(|&&a| self.events[a].op.reads() && self.events[a].op.writes())
        {
            let Some(from) = run.from[a] else { continue };
            // What it reads comes before what it writes.
            if has(coherent, a, from) {
                return false;
            }
            let between = |&&w: &&usize| {
                w != a
                    && w >= self.words
                    && has(coherent, from, w)
                    && has(coherent, w, a)
                    && self.morally_strong(a, w)
            };
            if all.iter().any(|w| between(&w)) {
                return false;
            }
        }
        let mut place = vec![0u32; n];
        for &a in all {
            for &b in all {
                let (x, y) = (self.events[a].op.word(), self.events[b].op.word());
                let same = x.is_some() && x == y && a != b;
                if same
                    && (self.before(a, b) || has(&communication, a, b) && self.morally_strong(a, b))
                {
                    place[a] |= 1 << b;
                }
            }
        }
        if !acyclic(&place) {
            return false;
        }
        all.iter().all(|&a| {
            all.iter()
                .all(|&b| !(has(&visible, a, b) && has(causes, b, a)))
        })
    }

    fn record(&self, run: &Run, all: &[usize], causes: &Rel, lasts: &[usize], out: &mut Allowed) {
        for &e in &run.stuck {
            let Op::Await(x, v, ..) = self.events[e].op else {
                continue;
            };
            if run.written[lasts[x]] == v {
                return;
            }
        }
        let races = |&a: &usize, &b: &usize| {
            let (x, y) = (&self.events[a], &self.events[b]);
            x.thread != y.thread
                && x.op.word().is_some()
                && x.op.word() == y.op.word()
                && (x.op.writes() || y.op.writes())
                && !self.morally_strong(a, b)
                && !has(causes, a, b)
                && !has(causes, b, a)
        };
        let inner: Vec<usize> = all.iter().copied().filter(|e| *e >= self.words).collect();
        out.race |= inner.iter().any(|a| inner.iter().any(|b| races(a, b)));
        match run.stuck.is_empty() {
            true => {
                out.outcomes.insert(run.outcome.clone());
            }
            false => out.stuck = true,
        }
    }
}
