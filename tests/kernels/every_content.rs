//! Reads, writes and updates at places that data choose, against every content of the integers that choose: random pairs of
//! small kernels, a few of whose indices, guards and ranks come from an array of two or three small integers.
//!
//! Each pair is run here, by an interpreter of its own, on all contents of that array and in several orders of its threads. What volta
//! proves must hold on every content on which the reference stays inside of its arrays: the second kernel stays inside too, no
//! order changes a result, and all results agree. What volta refutes must fail on one of them. Of the first kernel alone,
//! what is clean must stay inside on every content, and no order may change a result.

use std::fmt::Write as _;
use std::process::Command;

use serde_json::Value;

use super::manifest::folder;
use super::mutants::Random;

/// Pairs that are made.
const PAIRS: u64 = 160;
/// Those in which CTAs may end before others.
const LEAVING: u64 = 120;
/// Elements of each array but the integers.
const EXTENT: usize = 4;
/// Sums and products are taken modulo a prime.
const PRIME: u128 = (1 << 61) - 1;

/// A number of 32 bits.
#[derive(Clone, Debug)]
enum Int {
    Thread,
    Cta,
    Number(u32),
    /// The integer at a place modulo their number.
    Chosen(Box<Int>),
    /// How many integers at places before the thread are below a number.
    Rank(u32),
    Two(&'static str, Box<Int>, Box<Int>),
    Either(Box<Test>, Box<Int>, Box<Int>),
}

/// A comparison without signs.
#[derive(Clone, Debug)]
struct Test(&'static str, Int, Int);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Array {
    Input,
    Output,
    Shared,
}

#[derive(Clone, Debug)]
enum Step {
    Load(usize, Array, Int),
    Float(usize, &'static str, usize, usize),
    /// A store, or an addition by an atomic.
    Write(bool, Array, Int, usize, Option<Test>),
    Barrier,
    /// A CTA ends here if a test holds that is one for all of its threads.
    Leave(Test),
}

/// What both kernels are launched with.
struct Launch {
    threads: usize,
    ctas: usize,
    /// How many integers there are, and below which number they lie.
    integers: (usize, u32),
    distinct: bool,
}

impl Launch {
    fn contents(&self) -> Vec<Vec<u32>> {
        let (n, end) = self.integers;
        let all = (0..end.pow(n as u32)).map(|c| (0..n as u32).map(move |i| c / end.pow(i) % end));
        let all = all.map(Iterator::collect::<Vec<u32>>);
        let differ = |c: &Vec<u32>| (0..n).all(|i| !c[..i].contains(&c[i]));
        all.filter(|c| !self.distinct || differ(c)).collect()
    }
}

fn int(random: &mut Random, depth: usize) -> Int {
    let leaf = depth == 0 || random.below(3) == 0;
    let part = |r: &mut Random| Box::new(int(r, depth.saturating_sub(1)));
    match random.below(if leaf { 6 } else { 12 }) {
        0 | 1 => Int::Thread,
        2 => Int::Number(random.below(4) as u32),
        3..6 => Int::Chosen(Box::new(match random.below(3) {
            0 => Int::Number(random.below(3) as u32),
            _ => Int::Thread,
        })),
        6 => Int::Rank(1 + random.below(3) as u32),
        7 => Int::Chosen(part(random)),
        8 => Int::Either(Box::new(test(random, 0)), part(random), part(random)),
        9 => {
            let by = Int::Number(2 + random.below(3) as u32);
            Int::Two("rem.u32", part(random), Box::new(by))
        }
        _ => {
            let all = [
                "add.u32",
                "sub.u32",
                "mul.lo.u32",
                "xor.b32",
                "min.u32",
                "max.u32",
            ];
            let op = all[random.below(all.len())];
            Int::Two(op, part(random), part(random))
        }
    }
}

fn test(random: &mut Random, depth: usize) -> Test {
    let op = ["lt", "eq", "ne", "ge"][random.below(4)];
    Test(op, int(random, depth), int(random, 0))
}

/// A place, most often inside of the array.
fn place(random: &mut Random) -> Int {
    let depth = random.below(3);
    let at = Box::new(int(random, depth));
    let end = Int::Number(EXTENT as u32);
    match random.below(3) {
        0 => *at,
        1 => Int::Two("rem.u32", at, Box::new(end)),
        _ => Int::Two("min.u32", at, Box::new(Int::Number(EXTENT as u32 - 1))),
    }
}

fn kernel(random: &mut Random, shared: bool) -> Vec<Step> {
    let mut out = Vec::new();
    let mut made = 0;
    let array = |r: &mut Random| match shared && r.below(3) > 0 {
        true => Array::Shared,
        false => Array::Output,
    };
    if shared {
        out.push(Step::Load(0, Array::Input, Int::Thread));
        out.push(Step::Write(false, Array::Shared, Int::Thread, 0, None));
        out.push(Step::Barrier);
        made = 1;
    }
    out.push(Step::Load(made, Array::Input, place(random)));
    made += 1;
    for _ in 0..1 + random.below(4) {
        let guard = (random.below(3) == 0).then(|| test(random, 1));
        match random.below(8) {
            0 | 1 => {
                let from = match random.below(2) {
                    0 => Array::Input,
                    _ => array(random),
                };
                out.push(Step::Load(made, from, place(random)));
                made += 1;
            }
            2 => {
                let op = ["add.rn.f32", "mul.rn.f32"][random.below(2)];
                out.push(Step::Float(
                    made,
                    op,
                    random.below(made),
                    random.below(made),
                ));
                made += 1;
            }
            3 if shared => out.push(Step::Barrier),
            k => {
                let (to, at) = (array(random), place(random));
                out.push(Step::Write(k > 3, to, at, random.below(made), guard));
            }
        }
    }
    if shared {
        out.push(Step::Barrier);
        out.push(Step::Load(made, Array::Shared, place(random)));
        made += 1;
    }
    out.push(Step::Write(
        random.below(3) > 0,
        Array::Output,
        place(random),
        made - 1,
        None,
    ));
    out
}

/// A test whose answer is that of all threads of a CTA.
fn common(random: &mut Random) -> Test {
    let at = match random.below(3) {
        0 => Int::Number(random.below(3) as u32),
        _ => Int::Cta,
    };
    let op = ["lt", "eq", "ne", "ge"][random.below(4)];
    Test(
        op,
        Int::Chosen(Box::new(at)),
        Int::Number(random.below(3) as u32),
    )
}

/// The kernel, where some CTAs may end before others.
fn leaving(random: &mut Random, mut kernel: Vec<Step>) -> Vec<Step> {
    for _ in 0..1 + random.below(2) {
        let test = common(random);
        kernel.insert(random.below(kernel.len()), Step::Leave(test));
    }
    kernel
}

/// The kernel with one step spelled in another way, or changed.
fn variant(random: &mut Random, kernel: &[Step], wrong: bool) -> Vec<Step> {
    let mut out = kernel.to_vec();
    let i = random.below(out.len());
    match (out[i].clone(), wrong, random.below(3)) {
        // Element by element.
        (Step::Write(add, to, at, from, None), false, 0 | 1) => {
            let one = |k: usize| {
                let is_there = Test("eq", at.clone(), Int::Number(k as u32));
                Step::Write(add, to, Int::Number(k as u32), from, Some(is_there))
            };
            out.splice(i..=i, (0..EXTENT).map(one));
        }
        // Under a condition and its opposite.
        (Step::Write(add, to, at, from, None), false, _) => {
            let (a, b) = (int(random, 1), int(random, 0));
            let part = |op| {
                let guard = Test(op, a.clone(), b.clone());
                Step::Write(add, to, at.clone(), from, Some(guard))
            };
            out.splice(i..=i, [part("lt"), part("ge")]);
        }
        (Step::Write(add, to, at, from, guard), true, k) => {
            out[i] = match k {
                0 => Step::Write(add, to, place(random), from, guard),
                1 => Step::Write(!add, to, at, from, guard),
                _ => Step::Write(add, to, at, from, Some(test(random, 1))),
            }
        }
        (Step::Load(to, from, at), true, _) if i > 0 => {
            let at = Int::Two("xor.b32", Box::new(at), Box::new(Int::Number(1)));
            out[i] = Step::Load(to, from, at);
        }
        (Step::Load(to, from, at), false, _) => {
            let same = Int::Two("add.u32", Box::new(Int::Number(0)), Box::new(at));
            out[i] = Step::Load(to, from, same);
        }
        (Step::Leave(Test(op, at, n)), false, _) => {
            let at = Int::Two("add.u32", Box::new(Int::Number(0)), Box::new(at));
            out[i] = Step::Leave(Test(op, at, n));
        }
        (Step::Leave(_), true, 0) => drop(out.remove(i)),
        (Step::Leave(_), true, _) => out[i] = Step::Leave(common(random)),
        (Step::Barrier, true, _) if i > 3 => drop(out.remove(i)),
        (Step::Float(to, op, a, b), false, _) => out[i] = Step::Float(to, op, b, a),
        _ => {}
    }
    out
}

/// The text of a kernel.
struct Text<'l> {
    launch: &'l Launch,
    body: String,
    registers: u32,
}

impl Text<'_> {
    fn write(launch: &Launch, name: &str, steps: &[Step]) -> String {
        let mut t = Text {
            launch,
            body: String::new(),
            registers: 0,
        };
        steps.iter().for_each(|s| t.step(s));
        let (body, n, threads) = (t.body, t.registers + 1, launch.threads);
        format!(
            ".visible .entry {name}(.param .u64 i, .param .u64 x, .param .u64 y)\n{{\n.reg .b32 %r<{n}>, %thread, %cta;\n\
             .reg .b64 %q<{n}>, %i, %x, %y, %s;\n.reg .pred %p<{n}>;\n.reg .f32 %f<32>;\n.shared .align 16 .b8 s[16];\n\
             ld.param.u64 %i, [i];\nld.param.u64 %x, [x];\nld.param.u64 %y, [y];\nmov.u64 %s, s;\nmov.u32 %cta, %ctaid.x;\n\
             mov.u32 %thread, %tid.x;\nmad.lo.u32 %thread, %cta, {threads}, %thread;\n{body}DONE:\nret;\n}}\n"
        )
    }

    fn line(&mut self, text: std::fmt::Arguments) {
        writeln!(self.body, "{text}").unwrap();
    }

    fn next(&mut self) -> u32 {
        self.registers += 1;
        self.registers
    }

    /// The register of a number.
    fn int(&mut self, e: &Int) -> u32 {
        let n = self.launch.integers.0;
        match e {
            Int::Thread => {
                let r = self.next();
                self.line(format_args!("mov.u32 %r{r}, %thread;"));
                r
            }
            Int::Cta => {
                let r = self.next();
                self.line(format_args!("mov.u32 %r{r}, %cta;"));
                r
            }
            Int::Number(v) => {
                let r = self.next();
                self.line(format_args!("mov.u32 %r{r}, {v};"));
                r
            }
            Int::Chosen(at) => {
                let (a, r) = (self.int(at), self.next());
                self.line(format_args!("rem.u32 %r{r}, %r{a}, {n};"));
                self.integer(r)
            }
            Int::Rank(below) => {
                let mut sum = self.int(&Int::Number(0));
                for j in 0..n {
                    let at = self.int(&Int::Number(j as u32));
                    let v = self.integer(at);
                    let [p, q, r] = [self.next(), self.next(), self.next()];
                    self.line(format_args!("setp.gt.u32 %p{p}, %thread, {j};"));
                    self.line(format_args!(
                        "setp.lt.and.u32 %p{q}, %r{v}, {below}, %p{p};"
                    ));
                    self.line(format_args!("selp.u32 %r{r}, 1, 0, %p{q};"));
                    let next = self.next();
                    self.line(format_args!("add.u32 %r{next}, %r{sum}, %r{r};"));
                    sum = next;
                }
                sum
            }
            Int::Two(op, a, b) => {
                let (a, b, r) = (self.int(a), self.int(b), self.next());
                self.line(format_args!("{op} %r{r}, %r{a}, %r{b};"));
                r
            }
            Int::Either(test, a, b) => {
                let (p, a, b, r) = (self.test(test), self.int(a), self.int(b), self.next());
                self.line(format_args!("selp.u32 %r{r}, %r{a}, %r{b}, %p{p};"));
                r
            }
        }
    }

    /// The integer at a place.
    fn integer(&mut self, at: u32) -> u32 {
        let r = self.next();
        self.line(format_args!("mad.wide.u32 %q{r}, %r{at}, 4, %i;"));
        self.line(format_args!("ld.global.u32 %r{r}, [%q{r}];"));
        r
    }

    fn test(&mut self, Test(op, a, b): &Test) -> u32 {
        let (a, b, p) = (self.int(a), self.int(b), self.next());
        self.line(format_args!("setp.{op}.u32 %p{p}, %r{a}, %r{b};"));
        p
    }

    fn step(&mut self, step: &Step) {
        let of = |a: &Array| match a {
            Array::Input => ("global", "%x"),
            Array::Output => ("global", "%y"),
            Array::Shared => ("shared", "%s"),
        };
        match step {
            Step::Barrier => self.line(format_args!("bar.sync 0;")),
            Step::Leave(test) => {
                let p = self.test(test);
                self.line(format_args!("@%p{p} bra DONE;"));
            }
            Step::Float(to, op, a, b) => self.line(format_args!("{op} %f{to}, %f{a}, %f{b};")),
            Step::Load(to, array, at) => {
                let (a, (space, base)) = (self.int(at), of(array));
                self.line(format_args!("mad.wide.u32 %q{a}, %r{a}, 4, {base};"));
                self.line(format_args!("ld.{space}.f32 %f{to}, [%q{a}];"));
            }
            Step::Write(add, array, at, from, guard) => {
                let (a, (space, base)) = (self.int(at), of(array));
                let guard = guard.as_ref().map(|g| format!("@%p{} ", self.test(g)));
                let guard = guard.unwrap_or_default();
                let op = if *add { "red" } else { "st" };
                let what = if *add { ".add" } else { "" };
                self.line(format_args!("mad.wide.u32 %q{a}, %r{a}, 4, {base};"));
                self.line(format_args!(
                    "{guard}{op}.{space}{what}.f32 [%q{a}], %f{from};"
                ));
            }
        }
    }
}

/// One access: array, element, thread, CTA, how many barriers came before, whether it writes, and whether it adds.
type Access = (Array, usize, usize, usize, usize, bool, bool);

/// A run on one content.
struct Run<'a> {
    launch: &'a Launch,
    integers: &'a [u32],
    /// Nothing is in shared memory at first.
    memory: [Vec<Option<u128>>; 3],
    outside: bool,
    unwritten: bool,
    accesses: Vec<Access>,
}

impl Run<'_> {
    fn int(&self, e: &Int, thread: usize) -> u32 {
        let n = self.integers.len();
        match e {
            Int::Thread => thread as u32,
            Int::Cta => (thread / self.launch.threads) as u32,
            Int::Number(v) => *v,
            Int::Chosen(at) => self.integers[self.int(at, thread) as usize % n],
            Int::Rank(below) => {
                let before = self.integers[..n.min(thread)].iter();
                before.filter(|v| *v < below).count() as u32
            }
            Int::Two(op, a, b) => {
                let (a, b) = (self.int(a, thread), self.int(b, thread));
                match *op {
                    "add.u32" => a.wrapping_add(b),
                    "sub.u32" => a.wrapping_sub(b),
                    "mul.lo.u32" => a.wrapping_mul(b),
                    "xor.b32" => a ^ b,
                    "min.u32" => a.min(b),
                    "max.u32" => a.max(b),
                    _ => a % b,
                }
            }
            Int::Either(test, a, b) => match self.test(test, thread) {
                true => self.int(a, thread),
                false => self.int(b, thread),
            },
        }
    }

    fn test(&self, Test(op, a, b): &Test, thread: usize) -> bool {
        let (a, b) = (self.int(a, thread), self.int(b, thread));
        match *op {
            "lt" => a < b,
            "eq" => a == b,
            "ne" => a != b,
            _ => a >= b,
        }
    }

    /// The element that is accessed.
    fn element(&mut self, at: &Int, thread: usize) -> Option<usize> {
        let at = self.int(at, thread) as usize;
        self.outside |= at >= EXTENT;
        (at < EXTENT).then_some(at)
    }

    /// Runs all threads; `next` chooses among those that can go on.
    fn all(&mut self, steps: &[Step], mut next: impl FnMut(usize) -> usize) {
        let count = self.launch.threads * self.launch.ctas;
        let (mut at, mut barriers) = (vec![0; count], vec![0; count]);
        let mut floats = vec![[None; 32]; count];
        loop {
            let can = |&t: &usize| at[t] < steps.len() && !matches!(steps[at[t]], Step::Barrier);
            let ready: Vec<usize> = (0..count).filter(can).collect();
            if ready.is_empty() {
                let waiting: Vec<usize> = (0..count).filter(|&t| at[t] < steps.len()).collect();
                if waiting.is_empty() {
                    return;
                }
                for t in waiting {
                    (at[t], barriers[t]) = (at[t] + 1, barriers[t] + 1);
                }
                continue;
            }
            let t = ready[next(ready.len())];
            let access = |run: &mut Self, array: Array, k: usize, writes, adds| {
                let cta = t / run.launch.threads;
                run.accesses
                    .push((array, k, t, cta, barriers[t], writes, adds));
            };
            match &steps[at[t]] {
                Step::Barrier => {}
                Step::Leave(test) if self.test(test, t) => at[t] = steps.len() - 1,
                Step::Leave(_) => {}
                Step::Float(to, op, a, b) => {
                    let (a, b) = (floats[t][*a], floats[t][*b]);
                    floats[t][*to] = two(a, b, op.starts_with("mul"));
                }
                Step::Load(to, array, place) => {
                    let found = self.element(place, t);
                    floats[t][*to] = found.and_then(|k| self.memory[*array as usize][k]);
                    self.unwritten |= floats[t][*to].is_none();
                    found
                        .into_iter()
                        .for_each(|k| access(self, *array, k, false, false));
                }
                Step::Write(add, array, place, from, guard) => {
                    let does = guard.as_ref().is_none_or(|g| self.test(g, t));
                    if let Some(k) = does.then(|| self.element(place, t)).flatten() {
                        let (place, new) = (&mut self.memory[*array as usize][k], floats[t][*from]);
                        self.unwritten |= *add && place.is_none();
                        *place = if *add { two(*place, new, false) } else { new };
                        access(self, *array, k, true, *add);
                    }
                }
            }
            at[t] += 1;
        }
    }

    /// Whether two threads conflict.
    fn races(&self) -> bool {
        let conflict = |a: &Access, b: &Access| {
            let ordered = a.2 == b.2 || a.3 == b.3 && a.4 != b.4;
            let meet = (a.0, a.1) == (b.0, b.1) && (a.5 || b.5) && !(a.6 && b.6);
            meet && !ordered
        };
        let all = &self.accesses;
        (0..all.len()).any(|i| all[..i].iter().any(|b| conflict(&all[i], b)))
    }
}

/// The sum or the product of two numbers that are known.
fn two(a: Option<u128>, b: Option<u128>, product: bool) -> Option<u128> {
    let (a, b) = (a?, b?);
    Some(if product { a * b } else { a + b } % PRIME)
}

/// What a kernel does on a content.
struct Seen {
    outside: bool,
    races: bool,
    /// It reads what was never written.
    unwritten: bool,
    /// Some order of the threads gives other results.
    differs: bool,
    results: Vec<Option<u128>>,
}

fn seen(launch: &Launch, integers: &[u32], steps: &[Step]) -> Seen {
    // Different at each element, so that sums and products are, but for chance.
    let fill =
        |s: u64| (0..EXTENT as u64).map(move |k| Some(u128::from(Random(s + k).next()) % PRIME));
    let run = |next: &mut dyn FnMut(usize) -> usize| {
        let mut r = Run {
            launch,
            integers,
            memory: [fill(1).collect(), fill(100).collect(), vec![None; EXTENT]],
            outside: false,
            unwritten: false,
            accesses: Vec::new(),
        };
        r.all(steps, next);
        r
    };
    let first = run(&mut |_| 0);
    let (races, results) = (first.races(), first.memory[1].clone());
    let mut differs = false;
    if races {
        let mut random = Random(7);
        let mut orders: Vec<Run> = (0..4).map(|_| run(&mut |n| random.below(n))).collect();
        orders.push(run(&mut |n| n - 1));
        differs = orders.iter().any(|r| r.memory[1] != results);
    }
    Seen {
        outside: first.outside,
        unwritten: first.unwritten,
        races,
        differs,
        results,
    }
}

/// What is wrong with a verdict.
fn judge(verdict: &str, launch: &Launch, pair: [&[Step]; 2]) -> Option<String> {
    let contents = launch.contents();
    let both = contents
        .iter()
        .map(|c| pair.map(|steps| seen(launch, c, steps)));
    let both: Vec<[Seen; 2]> = both.collect();
    let fails = |[a, b]: &[Seen; 2]| {
        b.outside || a.differs || b.differs || a.results != b.results || b.results.contains(&None)
    };
    let is_broken = |s: &Seen| s.races || s.outside || s.unwritten;
    let broken = |both: &[Seen; 2]| both.iter().any(is_broken);
    let mut all = both.iter().zip(&contents);
    let mut defined = both.iter().zip(&contents).filter(|(s, _)| !s[0].outside);
    match verdict {
        "equivalent" => {
            let bad = defined.clone().find(|(s, _)| fails(s));
            bad.map(|(_, c)| format!("fails on {c:?}")).or_else(|| {
                defined
                    .next()
                    .is_none()
                    .then(|| "is of nothing".to_string())
            })
        }
        "not-equivalent" => defined.all(|(s, _)| !fails(s)).then(|| "holds".to_string()),
        "defective" => all
            .all(|(s, _)| !broken(s))
            .then(|| "is of no content".to_string()),
        "unknown" => None,
        other => Some(format!("is {other}")),
    }
}

/// What is wrong with a verdict about one kernel.
fn judge_alone(verdict: &str, launch: &Launch, steps: &[Step]) -> Option<String> {
    let contents = launch.contents();
    let all: Vec<Seen> = contents.iter().map(|c| seen(launch, c, steps)).collect();
    let fails = |s: &Seen| s.outside || s.differs;
    let is_broken = |s: &Seen| s.races || s.outside || s.unwritten;
    match verdict {
        "clean" => {
            let bad = all.iter().position(fails);
            bad.map(|i| format!("fails on {:?}", contents[i]))
        }
        "defective" => (!all.iter().any(is_broken)).then(|| "is of no content".to_string()),
        "unknown" => None,
        other => Some(format!("is {other}")),
    }
}

#[test]
fn no_content_of_indices_tells_otherwise() {
    judged(PAIRS, false);
}

#[test]
fn no_content_tells_otherwise_where_ctas_leave() {
    judged(LEAVING, true);
}

/// Judges random pairs, in which some CTAs may end before others.
fn judged(pairs: u64, leaves: bool) {
    let folder = folder(if leaves { "leaving" } else { "every_content" });
    let mut manifest = String::new();
    let mut all = Vec::new();
    for seed in 0..pairs {
        let random = &mut Random(seed);
        let shared = random.below(2) == 0;
        let launch = Launch {
            threads: 2 + random.below(if shared { 3 } else { 2 }),
            ctas: match shared && !leaves {
                true => 1,
                false => 1 + random.below(2),
            },
            integers: (2 + random.below(2), 2 + random.below(3) as u32),
            distinct: false,
        };
        let distinct = launch.integers.0 <= launch.integers.1 as usize && random.below(4) == 0;
        let launch = Launch { distinct, ..launch };
        let first = match (kernel(random, shared), leaves) {
            (kernel, true) => leaving(random, kernel),
            (kernel, false) => kernel,
        };
        let mut second = variant(random, &first, false);
        if random.below(2) == 0 {
            second = variant(random, &second, true);
        }
        let text = [("a", &first), ("b", &second)].map(|(n, k)| Text::write(&launch, n, k));
        let head = ".version 8.0\n.target sm_80\n.address_size 64\n";
        let file = folder.join(format!("{seed}.ptx"));
        std::fs::write(&file, format!("{head}{}", text.concat())).unwrap();
        let (n, end) = launch.integers;
        let more = if launch.distinct {
            ", \"0 distinct\""
        } else {
            ""
        };
        let with = format!(
            "threads = {}\ngrid = {}\ntimeout = 20\n\
             args = {{ \"0\" = \"in:u32[{n}]\", \"1\" = \"in:f32[{EXTENT}]\", \"2\" = \"inout:f32[{EXTENT}]\" }}\n\
             assume = [\"0 in 0..{end}\"{more}]",
            launch.threads, launch.ctas
        );
        writeln!(
            manifest,
            "[[check]]\nname = \"{seed}\"\nreference = {{ file = {file:?}, entry = \"a\" }}\n\
             optimized = {{ file = {file:?}, entry = \"b\" }}\n{with}\n\
             [[race]]\nname = \"alone-{seed}\"\nkernel = {{ file = {file:?}, entry = \"a\" }}\n{with}"
        )
        .unwrap();
        all.push((launch, first, second));
    }
    let path = folder.join("volta.toml");
    std::fs::write(&path, manifest).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_volta"));
    command
        .arg("gate")
        .arg(&path)
        .args(["--no-cache", "--json"]);
    let out = command.output().unwrap();
    let report: Value = serde_json::from_slice(&out.stdout).expect("a report");
    let entries = report["entries"].as_array().expect("entries");
    assert_eq!(entries.len(), 2 * all.len());
    let mut wrong = Vec::new();
    let mut counts = std::collections::BTreeMap::new();
    let name = |e: &Value| e["name"].as_str().unwrap_or_default().to_string();
    let by_name: std::collections::BTreeMap<String, &Value> =
        entries.iter().map(|e| (name(e), e)).collect();
    for (seed, (launch, a, b)) in all.iter().enumerate() {
        for alone in [false, true] {
            let named = format!("{}{seed}", if alone { "alone-" } else { "" });
            let verdict = by_name[&named]["result"]["verdict"].as_str();
            let verdict = verdict.unwrap_or("no verdict");
            let kind = format!("{verdict}{}", if alone { " alone" } else { "" });
            *counts.entry(kind).or_insert(0) += 1;
            let why = match alone {
                true => judge_alone(verdict, launch, a),
                false => judge(verdict, launch, [a, b]),
            };
            wrong.extend(why.map(|why| format!("{named}: {verdict} {why}")));
        }
    }
    assert!(wrong.is_empty(), "{counts:?}\n{}", wrong.join("\n"));
    let count = |v: &str| counts.get(v).copied().unwrap_or(0);
    let decided = [
        "equivalent",
        "not-equivalent",
        "defective",
        "clean alone",
        "defective alone",
    ];
    assert!(decided.map(count).iter().all(|&n| n > 4), "{counts:?}");
    println!("{counts:?}");
}
