//! Mutation of kernels: one place of the optimized kernel of a pair that is equivalent is changed, and
//! the pair is judged again.
//!
//! A mutant that is judged `equivalent` is evaluated beside its reference at random points with
//! intervals of high precision. That evaluation shares the simulator and the terms with the
//! judgement and nothing of the normaliser or of the proofs: where it tells the two apart, the
//! judgement is wrong. Many mutants are equivalent for good reason (a bound that is not reached, a
//! register that holds the same), so an `equivalent` alone says nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use volta::answer::Verdict;
use volta::check::check;
use volta::input::{self, Files};
use volta::kernel::Fmt;
use volta::sim::{self, Side, Writes};
use volta::spec::{self, ElemTy, Layers, Limits, Manifest, Settings, Which};
use volta::term::eval::{self, Inputs, Mode, Value};
use volta::term::{ArrayId, Term, TermId, TermStore};
use volta::work;

const PRECISION: u32 = 160;

/// A generator of numbers with a seed.
pub(crate) struct Random(pub u64);

impl Random {
    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// What was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Constant,
    Integer,
    Operator,
    Operand,
    Index,
    Guard,
    Dropped,
}

/// What became of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    NotEquivalent,
    Defective,
    Unknown,
    /// Judged equivalent, and evaluation does not tell it from the reference.
    Equivalent,
    /// Judged equivalent, and evaluation tells it from the reference: a bug of the judge.
    Wrong,
    /// No kernel: the mutation broke the text or the launch.
    Rejected,
}

/// A changed text.
#[derive(Clone, Debug)]
pub(crate) struct Mutant {
    pub kind: Kind,
    pub line: usize,
    pub was: String,
    pub now: String,
    pub text: String,
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?}, line {}: `{}` to `{}`",
            self.kind,
            self.line,
            self.was.trim(),
            self.now.trim()
        )
    }
}

/// Operators that take the same operands.
const OPERATORS: [(&str, &str); 26] = [
    ("add.", "sub."),
    ("sub.", "add."),
    ("mul.f", "add.f"),
    ("mul.ftz", "add.ftz"),
    ("mul.rn", "add.rn"),
    ("max.", "min."),
    ("min.", "max."),
    ("div.approx.ftz.f32", "mul.ftz.f32"),
    ("div.rn.f32", "mul.rn.f32"),
    ("rsqrt.approx", "sqrt.approx"),
    ("sqrt.approx", "rsqrt.approx"),
    ("sqrt.rn.f32", "neg.f32"),
    ("rcp.approx", "sqrt.approx"),
    ("ex2.approx", "lg2.approx"),
    ("lg2.approx", "ex2.approx"),
    ("neg.", "abs."),
    ("abs.", "neg."),
    ("cos.approx", "sin.approx"),
    ("sin.approx", "cos.approx"),
    ("shl.b", "shr.b"),
    ("shr.", "shl.b32 //"),
    ("and.b", "or.b"),
    ("or.b", "and.b"),
    ("xor.b", "or.b"),
    ("tanh.approx", "ex2.approx"),
    ("copysign.", "max."),
];

const COMPARISONS: [&str; 10] = [
    "lt", "le", "gt", "ge", "eq", "ne", "ltu", "leu", "gtu", "geu",
];

/// Operands of an instruction, with their places in the line.
fn operands(line: &str) -> Vec<(usize, usize)> {
    let body = line.trim_end();
    let Some(end) = body.find(';') else {
        return Vec::new();
    };
    let start = body.len() - body.trim_start().len();
    // After the guard and the opcode.
    let mut at = start;
    let words = body[start..end].split_whitespace();
    for (i, w) in words.enumerate() {
        at = body[at..].find(w).map_or(end, |p| at + p + w.len());
        if !(i == 0 && w.starts_with('@')) {
            break;
        }
    }
    let mut out = Vec::new();
    let (mut depth, mut from) = (0, at.min(end));
    for (i, c) in body[at.min(end)..end]
        .char_indices()
        .map(|(i, c)| (i + at, c))
    {
        match c {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                out.push((from, i));
                from = i + 1;
            }
            _ => {}
        }
    }
    out.push((from, end));
    out.iter()
        .map(|&(a, b)| {
            let t = &body[a..b];
            let lead = t.len() - t.trim_start().len();
            (a + lead, a + lead + t.trim().len())
        })
        .filter(|(a, b)| a < b)
        .collect()
}

fn with(line: &str, (a, b): (usize, usize), new: &str) -> String {
    format!("{}{new}{}", &line[..a], &line[b..])
}

/// Every mutation of one line.
fn of_line(line: &str, earlier: &[String], random: &mut Random) -> Vec<(Kind, String)> {
    let mut out = Vec::new();
    let trimmed = line.trim();
    if !trimmed.ends_with(';') || trimmed.starts_with('.') || trimmed.starts_with("ld.param") {
        return out;
    }
    let list = operands(line);
    for &(a, b) in &list {
        let t = &line[a..b];
        if let Some(bits) = t
            .strip_prefix("0f")
            .and_then(|h| u32::from_str_radix(h, 16).ok())
        {
            // Of zero, a bit makes a number that no output shows. The smallest change of the others is
            // 2^-12 of the number: below that lies what the tolerance for constants and
            // approximate operations may explain, which is `unknown` by intention.
            let news = match bits {
                0 => [0x3f80_0000, 0xbf80_0000, 0x3f00_0000, 0x4000_0000, 0, 0],
                _ => [
                    bits ^ 0x8000_0000,
                    bits ^ 0x4000,
                    bits ^ 0x0080_0000,
                    bits ^ 0x800,
                    0,
                    0x3f80_0000,
                ],
            };
            for n in news.into_iter().filter(|n| *n != bits) {
                out.push((Kind::Constant, with(line, (a, b), &format!("0f{n:08X}"))));
            }
        } else if let Ok(n) = t.parse::<i64>() {
            for n in [n + 1, n - 1, n * 2].into_iter().filter(|m| *m != n) {
                out.push((Kind::Integer, with(line, (a, b), &n.to_string())));
            }
        } else if t.starts_with('[') && t.ends_with(']') && t.contains('%') {
            let inner = &t[1..t.len() - 1];
            let new = match inner.split_once('+').map(|(r, k)| (r, k.parse::<i64>())) {
                None => format!("[{inner}+4]"),
                Some((r, Ok(k))) => format!("[{r}+{}]", k + 4),
                Some((_, Err(_))) => continue,
            };
            out.push((Kind::Index, with(line, (a, b), &new)));
        }
    }
    for (from, to) in OPERATORS {
        let opcode = trimmed.split_whitespace().find(|w| !w.starts_with('@'));
        if opcode.is_some_and(|o| o.starts_with(from)) && !to.contains("//") {
            out.push((Kind::Operator, line.replacen(from, to, 1)));
        }
    }
    if let Some(p) = line.find("setp.") {
        let op: String = line[p + 5..].chars().take_while(|c| *c != '.').collect();
        if COMPARISONS.contains(&op.as_str()) {
            let others = COMPARISONS.iter().take(6).filter(|c| **c != op);
            for c in others {
                let at = (p + 5, p + 5 + op.len());
                out.push((Kind::Operator, with(line, at, c)));
            }
        }
    }
    // Sources: all operands but the first.
    for w in list.windows(2).skip(1) {
        let (x, y) = (&line[w[0].0..w[0].1], &line[w[1].0..w[1].1]);
        if x != y {
            let swapped = with(line, w[1], x);
            out.push((Kind::Operand, with(&swapped, w[0], y)));
        }
    }
    for &(a, b) in list.iter().skip(1) {
        let t = &line[a..b];
        let class: String = t.chars().take_while(|c| !c.is_ascii_digit()).collect();
        if !t.starts_with('%') || class.len() == t.len() {
            continue;
        }
        let same: Vec<&String> = earlier
            .iter()
            .filter(|e| {
                *e != t
                    && e.starts_with(&class)
                    && e[class.len()..].chars().all(|c| c.is_ascii_digit())
            })
            .collect();
        if !same.is_empty() {
            let new = same[same.len() - 1 - random.below(same.len().min(6))];
            out.push((Kind::Operand, with(line, (a, b), new)));
        }
    }
    if let Some(p) = line.find('@') {
        let new = if line[p + 1..].starts_with('!') {
            line.replacen("@!", "@", 1)
        } else {
            line.replacen('@', "@!", 1)
        };
        out.push((Kind::Guard, new));
    }
    if trimmed.starts_with("bar.") || trimmed.starts_with("st.") || trimmed.starts_with("barrier") {
        out.push((Kind::Dropped, String::new()));
    }
    out
}

/// Every mutant of a text.
pub(crate) fn mutants(text: &str, random: &mut Random) -> Vec<Mutant> {
    let lines: Vec<&str> = text.lines().collect();
    let mut earlier: Vec<String> = Vec::new();
    let mut out = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        for (kind, now) in of_line(line, &earlier, random) {
            let mut all: Vec<&str> = lines.clone();
            all[i] = &now;
            out.push(Mutant {
                kind,
                line: i + 1,
                was: line.to_string(),
                text: all.join("\n") + "\n",
                now: now.clone(),
            });
        }
        if let Some(&(a, b)) = operands(line)
            .first()
            .filter(|_| line.trim().ends_with(';'))
        {
            let t = line[a..b].to_string();
            if t.starts_with('%') && !earlier.contains(&t) {
                earlier.push(t);
            }
        }
    }
    out
}

/// A pair whose optimized kernel is to be changed.
pub(crate) struct Pair {
    pub name: String,
    /// Of every entry, and its own.
    pub settings: [Settings; 2],
    pub text: String,
    /// Lines times threads.
    pub size: usize,
}

impl Pair {
    /// The family: the folder of the optimized kernel.
    pub(crate) fn family(&self) -> String {
        let file = self.settings[1].optimized.as_ref();
        let file = file.and_then(|s| s.file.as_ref());
        let folder = file.and_then(|f| f.parent()?.file_name());
        folder.map_or(String::new(), |f| f.to_string_lossy().into_owned())
    }

    /// A number that changes with the text of the kernel.
    pub(crate) fn stamp(&self) -> u64 {
        stamp(&self.text)
    }

    /// So many different mutants, the same each time.
    pub(crate) fn choose(&self, count: usize) -> Vec<Mutant> {
        let mut random = Random(stamp(&self.name));
        let mut all = mutants(&self.text, &mut random);
        let count = count.min(all.len());
        for i in 0..count {
            let j = i + random.below(all.len() - i);
            all.swap(i, j);
        }
        all.truncate(count);
        all
    }
}

/// A number that changes with a text, by FNV-1a.
pub(crate) fn stamp(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
    })
}

/// Units of work that the judgement of a mutant may take, since some mutants loop for ever: what a budget ends is `unknown` on
/// every machine. The dearest refutation of the sample that the tests judge takes 36 million.
pub(crate) const BUDGET: u64 = 60_000_000;

/// The families of `kernels/` whose pairs are mutated.
pub(crate) const FAMILIES: [&str; 16] = [
    "activation",
    "attention",
    "backward",
    "convolution",
    "fusion",
    "loss",
    "matmul",
    "normalization",
    "optimizer",
    "pooling",
    "quantized",
    "reduction",
    "scan",
    "softmax",
    "transform",
    "triton",
];

/// Lines times threads of the largest kernels that are mutated.
pub(crate) const MOST: usize = 40_000;

/// What the table says: the stamp and the number of mutants of each pair, and the mutants that were
/// not refuted.
pub(crate) struct Listed {
    pub pairs: BTreeMap<String, (String, usize)>,
    pub open: BTreeSet<(String, String)>,
}

impl Listed {
    /// Reads the text of the table.
    pub(crate) fn read(text: &str) -> Listed {
        let blocks: Vec<&str> = text.split("```\n").collect();
        let pair = |line: &str| {
            let mut words = line.split(' ');
            let (name, stamp) = (words.next()?.to_string(), words.next()?.to_string());
            Some((name, (stamp, words.next()?.parse().ok()?)))
        };
        let open = |line: &str| {
            let mut fields = line.splitn(3, '\t').skip(1);
            Some((fields.next()?.to_string(), fields.next()?.to_string()))
        };
        Listed {
            pairs: blocks[1].lines().filter_map(pair).collect(),
            open: blocks[3].lines().filter_map(open).collect(),
        }
    }

    /// How many mutants of a pair the table tells of; none if it tells of another text, or of none.
    pub(crate) fn count(&self, pair: &Pair) -> Option<usize> {
        let (stamp, count) = self.pairs.get(&pair.name)?;
        (*stamp == format!("{:016x}", pair.stamp())).then_some(*count)
    }
}

/// The pairs of kernels of the manifest of a family that are to be equivalent, with at most so many lines of the optimized
/// kernel times threads.
pub(crate) fn pairs(family: &str, most: usize) -> Vec<Pair> {
    let base = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("kernels")
        .join(family);
    let text = std::fs::read_to_string(base.join("volta.toml")).expect("a manifest");
    let manifest = Manifest::parse(&text, &base).expect("a valid manifest");
    let mut out = Vec::new();
    for settings in manifest.check.into_iter().flat_map(|e| e.instances) {
        let [defaults, entry] = &settings;
        let is_of_kernels = entry.reference.as_ref().is_some_and(|s| s.file.is_some());
        if entry.expect.as_deref() != Some("equivalent") || !is_of_kernels {
            continue;
        }
        let file = entry.optimized.as_ref().and_then(|s| s.file.clone());
        let text = file.and_then(|f| std::fs::read_to_string(f).ok());
        let text = text.expect("a kernel");
        let spec = Layers(&[defaults, entry]).kernel(Which::Optimized);
        let block = spec
            .ok()
            .and_then(|s| s.launch.block)
            .unwrap_or([128, 1, 1]);
        let threads: u32 = block.iter().product();
        let size = text.lines().count() * threads as usize;
        if size > most {
            continue;
        }
        out.push(Pair {
            name: entry.name.clone().unwrap_or_default(),
            text,
            size,
            settings,
        });
    }
    out
}

/// Judges a mutant, which is written to `file`: what became of it, and the units of work of the judgement.
///
/// One that is judged equivalent is evaluated at so many points.
pub(crate) fn judge(pair: &Pair, mutant: &Mutant, file: &PathBuf, points: u64) -> (Fate, u64) {
    std::fs::write(file, &mutant.text).expect("a scratch file");
    let [mut defaults, mut settings] = pair.settings.clone();
    if let Some(side) = &mut settings.optimized {
        side.file = Some(file.clone());
    }
    (defaults.timeout, settings.timeout) = (None, None);
    settings.budget = Some(BUDGET);
    let layers = [&defaults, &settings];
    let files = Files::new();
    // A thread may take a mutant while it waits for a piece of another one.
    let (judged, work) = work::apart(None, || check(Layers(&layers), &files));
    let fate = match judged {
        Err(_) => Fate::Rejected,
        Ok(report) => match report.verdict {
            Verdict::NotEquivalent => Fate::NotEquivalent,
            Verdict::Defective => Fate::Defective,
            Verdict::Equivalent if tells_apart(Layers(&layers), &files, points) => Fate::Wrong,
            Verdict::Equivalent => Fate::Equivalent,
            _ => Fate::Unknown,
        },
    };
    (fate, work.units)
}

/// True if evaluation at random points tells the kernels apart.
pub(crate) fn tells_apart(layers: Layers, files: &Files, points: u64) -> bool {
    let specs = [
        layers.kernel(Which::Reference).expect("a specification"),
        layers.kernel(Which::Optimized).expect("a specification"),
    ];
    let lowered = specs
        .each_ref()
        .map(|s| input::lower(files, s).expect("a kernel"));
    let options = layers.options().expect("options");
    let both = [
        (&lowered[0].kernel, &specs[0]),
        (&lowered[1].kernel, &specs[1]),
    ];
    let setup = spec::resolve(&both, &options.map).expect("a launch");
    let limits = Limits {
        deadline: None,
        memory: None,
    };
    let run = |i: usize, side| {
        let r = &setup.kernels[i];
        sim::run(
            &lowered[i].kernel,
            &r.launch,
            &r.bindings,
            &r.arrays,
            side,
            &limits,
        )
    };
    let (reference, optimized) = (run(0, Side::Reference), run(1, Side::Optimized));
    let mut store = reference.store;
    let map = store.import(&optimized.store);
    let mut compared: Vec<(TermId, TermId)> = Vec::new();
    for (array, writes) in &reference.writes {
        let empty = Writes::new();
        let other = optimized.writes.get(array).unwrap_or(&empty);
        for (off, &t) in writes {
            if let Some(u) = other.get(off) {
                let u = map[u.0 as usize];
                if u != t {
                    compared.push((t, u));
                }
            }
        }
    }
    let roots: Vec<TermId> = compared.iter().flat_map(|&(a, b)| [a, b]).collect();
    (0..points).any(|point| {
        let inputs = random_inputs(&store, &roots, &setup.arrays, point);
        let mode = Mode::exact(PRECISION);
        let values = eval::evaluate(&store, &roots, &inputs, mode);
        values.chunks(2).any(|v| differ(&v[0], &v[1]))
    })
}

/// Inputs for every element that is read.
fn random_inputs(store: &TermStore, roots: &[TermId], arrays: &spec::Arrays, point: u64) -> Inputs {
    let mut cells: BTreeMap<(ArrayId, u64), (u8, Option<Fmt>)> = BTreeMap::new();
    for t in store.reachable(roots) {
        match store.get(t) {
            Term::Elem { array, fmt, off } => {
                cells.insert((array, off), ((fmt.bits() / 8) as u8, Some(fmt)));
            }
            Term::Bytes { array, off, width } => {
                let fmt = match arrays.0.get(array.0 as usize).and_then(|a| a.elem) {
                    Some(ElemTy::Float(f)) => Some(f),
                    _ => None,
                };
                cells.entry((array, off)).or_insert((width / 8, fmt));
            }
            _ => {}
        }
    }
    let mut out = Inputs::default();
    for ((array, off), (bytes, fmt)) in cells {
        let mut random = Random(point << 40 ^ (array.0 as u64) << 20 ^ off);
        let r = random.next();
        // Halves, quarters and eighths from -4 to 4, which every format holds.
        let x = (r % 65) as f64 / 8.0 - 4.0;
        let bits = match fmt {
            Some(Fmt::F32) => (x as f32).to_bits() as u64,
            Some(Fmt::F64) => x.to_bits(),
            Some(f) => volta::term::encode_exact(
                f,
                &num_rational::BigRational::from_float(x).expect("finite"),
            )
            .unwrap_or(0),
            None => r % 5,
        };
        out.set(array, off, bytes, bits);
    }
    out
}

/// The least and the largest number that a value may be.
fn number(v: &Value) -> Option<(f64, f64)> {
    match v {
        Value::Encoded(_, v) => number(v),
        Value::Interval(i) => Some((i.lo.to_f64(), i.hi.to_f64())),
        v => v.approx().map(|x| (x, x)),
    }
}

/// True if the values are surely apart by more than the rounding of constants explains.
fn differ(x: &Value, y: &Value) -> bool {
    if let (Value::Bits(a), Value::Bits(b)) = (x, y) {
        return a != b;
    }
    let finite = |(lo, hi): (f64, f64)| lo.is_finite() && hi.is_finite();
    if *y == Value::Undefined {
        return number(x).is_some_and(finite);
    }
    match (number(x), number(y)) {
        (Some(a), Some(b)) if finite(a) && finite(b) => {
            let size = [a.0, a.1, b.0, b.1].map(f64::abs).into_iter();
            let size = size.fold(0.0, f64::max);
            (a.0 - b.1).max(b.0 - a.1) > 1e-4 * size + 1e-7
        }
        (Some(a), Some(b)) => finite(a) && b.0.is_infinite() && b.1.is_infinite(),
        _ => false,
    }
}

/// Counts by kind and fate.
#[derive(Default)]
pub(crate) struct Table(pub BTreeMap<(Kind, Fate), usize>);

impl Table {
    pub(crate) fn count(&self, fate: Fate) -> usize {
        self.0
            .iter()
            .filter(|((_, f), _)| *f == fate)
            .map(|(_, n)| n)
            .sum()
    }
}

/// Fates and their names.
pub(crate) const FATES: [(Fate, &str); 6] = [
    (Fate::NotEquivalent, "not-equivalent"),
    (Fate::Defective, "defective"),
    (Fate::Unknown, "unknown"),
    (Fate::Equivalent, "equivalent"),
    (Fate::Wrong, "wrong"),
    (Fate::Rejected, "rejected"),
];

/// Kinds of changes and their names.
pub(crate) const KINDS: [(Kind, &str); 7] = [
    (Kind::Constant, "float constant"),
    (Kind::Integer, "integer constant"),
    (Kind::Operator, "operator"),
    (Kind::Operand, "operand"),
    (Kind::Index, "address"),
    (Kind::Guard, "guard"),
    (Kind::Dropped, "dropped"),
];

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "| changed |")?;
        for (_, name) in FATES {
            write!(f, " {name} |")?;
        }
        writeln!(f, "\n|---|{}", "---:|".repeat(FATES.len()))?;
        let cell = |k: Kind, fate: Fate| self.0.get(&(k, fate)).copied().unwrap_or(0);
        for (k, name) in KINDS {
            write!(f, "| {name} |")?;
            for (fate, _) in FATES {
                write!(f, " {} |", cell(k, fate))?;
            }
            writeln!(f)?;
        }
        write!(f, "| all |")?;
        for (fate, _) in FATES {
            write!(f, " {} |", self.count(fate))?;
        }
        writeln!(f)
    }
}
