//! Random programs on addresses, against an interpreter that lays memory out in several ways.
//!
//! A program computes with the addresses of three arrays, two shared variables, dynamic shared memory and
//! a local variable, stores them, takes them apart, rounds and compares them, and accesses what it gets. The interpreter here runs it
//! under layouts of its own, the first of which is the one that volta happens to use, so that what is
//! true of that one alone is tried too. If an access leaves its object under some layout, or two layouts
//! give different memory, volta must not find the kernel clean; if it does, memory must be the same.
//!
//! `VOLTA_PROGRAMS=10000` runs more of them than the sample.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use volta::diag::Source;
use volta::sim::{self, Side};
use volta::spec::{self, Layers, Limits, Settings, Which};
use volta::term::{ArrayId, Term};
use volta::{kernel, ptx};

/// Bytes of every object but dynamic shared memory.
const SIZE: u64 = 64;

/// Bytes of dynamic shared memory.
const DYNAMIC: u64 = 192;

/// Registers of a program.
const REGS: usize = 10;

/// The objects: arrays x, y, z, shared s and t, local l, dynamic shared u.
const OBJECTS: [(&str, Space); 7] = [
    ("x", Space::Global),
    ("y", Space::Global),
    ("z", Space::Global),
    ("s", Space::Shared),
    ("t", Space::Shared),
    ("l", Space::Local),
    ("u", Space::Shared),
];

fn size(object: usize) -> u64 {
    if object == 6 { DYNAMIC } else { SIZE }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Space {
    Global,
    Shared,
    Local,
    Generic,
}

/// Where objects lie in their own spaces, and where the spaces lie.
#[derive(Clone, Debug)]
struct Layout {
    base: [u64; 7],
    shared: u64,
    local: u64,
}

impl Layout {
    /// The layout that volta computes with.
    fn first() -> Layout {
        Layout {
            base: [4 << 40, 5 << 40, 6 << 40, 0, 4160, 0, 8320],
            shared: 1 << 40,
            local: 2 << 40,
        }
    }

    fn random(dice: &mut Dice) -> Layout {
        let mut place = || (256 * (1 + dice.below(1 << 50))) & !(1 << 63);
        let mut base = [place(), place(), place(), 0, 0, 0, 0];
        let windows = [
            place() & !0xff_ffff | 1 << 60,
            place() & !0xff_ffff | 1 << 61,
        ];
        // One array after another, with nothing but its alignment between.
        if dice.below(2) == 0 {
            base[1] = base[0] + 256;
        }
        let (a, b) = (16 * dice.below(500), 16 * dice.below(500));
        let after = |p: u64| p + SIZE + 16 * (a % 7);
        (base[3], base[4]) = match dice.below(3) {
            0 => (a, after(a)),
            1 => (after(b), b),
            _ => (0, after(b)),
        };
        base[5] = 16 * dice.below(3);
        base[6] = base[3].max(base[4]) + SIZE + 16 * dice.below(40);
        Layout {
            base,
            shared: windows[0],
            local: windows[1],
        }
    }

    /// The address of an object in a space.
    fn address(&self, object: usize, space: Space) -> Option<u64> {
        let own = OBJECTS[object].1;
        let window = match (own, space) {
            (Space::Global, Space::Global | Space::Generic) => 0,
            (Space::Shared, Space::Generic) => self.shared,
            (Space::Local, Space::Generic) => self.local,
            (a, b) if a == b => 0,
            _ => return None,
        };
        Some(window + self.base[object])
    }

    /// The object and offset of four bytes.
    fn find(&self, space: Space, at: u64) -> Option<(usize, u64)> {
        (0..OBJECTS.len()).find_map(|i| {
            let off = at.wrapping_sub(self.address(i, space)?);
            (off <= size(i) - 4 && at.is_multiple_of(4)).then_some((i, off))
        })
    }
}

/// A source of small random numbers.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 8
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn reg(&mut self) -> usize {
        self.below(REGS as u64) as usize
    }

    /// Constants that matter to addresses, those of volta's own layout among them.
    fn number(&mut self) -> u64 {
        let all: [u64; 28] = [
            0,
            1,
            4,
            4,
            8,
            12,
            16,
            60,
            64,
            15,
            255,
            256,
            511,
            4096,
            4160,
            0x3ffff,
            1 << 24,
            u64::MAX << 4,
            u64::MAX << 8,
            u64::MAX << 9,
            4u64.wrapping_neg(),
            16u64.wrapping_neg(),
            1 << 40,
            (1u64 << 40).wrapping_neg(),
            4 << 40,
            5 << 40,
            (1 << 40) + 4160,
            0xffff_ffff,
        ];
        all[self.below(all.len() as u64) as usize]
    }
}

/// One step of a program.
#[derive(Clone, Debug)]
enum Step {
    Number(usize, u64),
    /// Opcode, destination, source, constant.
    With(&'static str, usize, usize, u64),
    Two(&'static str, usize, usize, usize),
    /// Low half of one, high half of another.
    Halves(usize, usize, usize),
    /// The low word alone.
    Word(usize, usize),
    /// Sixteen-bit parts: three of one, the i-th of another.
    Parts(usize, usize, usize, usize),
    /// Rounded to a multiple of two to the k: down, up, down by what is above, up by what lacks.
    Round(usize, usize, usize, u32),
    /// Bits above some exchanged with the lowest of these: a ^ (a >> shift & mask).
    Swizzle(usize, usize, u64, u64),
    /// Generic to shared, or back.
    Window(bool, usize, usize),
    /// d = a cmp b ? c : d.
    Choose(&'static str, usize, usize, usize, usize),
    /// The same with a constant.
    ChooseBy(&'static str, usize, usize, u64, usize),
    /// Stores eight bytes in the local variable.
    Spill(usize, u64),
    /// Stores the lowest so many bytes of a register there.
    SpillPart(usize, u64, u64),
    /// Loads eight bytes from it.
    Fill(usize, u64),
    /// Loads four bytes through a register, for the k-th word of z.
    Load(Space, usize, u64),
    /// Stores a number through a register.
    Store(Space, usize, u64),
    /// The low word of a register is the k-th word of z.
    Show(usize, u64),
}

const WITH: [&str; 8] = ["add", "sub", "and", "or", "xor", "shl", "shr", "mul"];
const COMPARE: [&str; 4] = ["eq", "ne", "lt", "ge"];

fn with(op: &str, a: u64, k: u64) -> u64 {
    match op {
        "add" => a.wrapping_add(k),
        "sub" => a.wrapping_sub(k),
        "and" => a & k,
        "or" => a | k,
        "xor" => a ^ k,
        "mul" => a.wrapping_mul(k),
        "shl" => a.checked_shl(k as u32).unwrap_or(0),
        _ => a.checked_shr(k as u32).unwrap_or(0),
    }
}

fn compare(op: &str, a: u64, b: u64) -> bool {
    match op {
        "eq" => a == b,
        "ne" => a != b,
        "lt" => a < b,
        _ => a >= b,
    }
}

/// Registers and memory under a layout.
#[derive(Clone, Debug)]
struct State {
    layout: Layout,
    regs: [u64; REGS],
    memory: [[u8; DYNAMIC as usize]; 7],
}

impl State {
    fn new(layout: Layout) -> State {
        let mut memory = [[0; DYNAMIC as usize]; 7];
        for (i, object) in memory.iter_mut().enumerate() {
            for (k, word) in object.chunks_mut(4).enumerate() {
                word.copy_from_slice(&initial(i, k).to_le_bytes());
            }
        }
        let at = |i, space| layout.address(i, space).unwrap_or(0);
        let regs = [
            at(0, Space::Global),
            at(1, Space::Global),
            at(3, Space::Generic),
            at(3, Space::Shared),
            at(4, Space::Generic),
            at(4, Space::Shared),
            at(5, Space::Generic),
            8,
            at(6, Space::Generic),
            at(6, Space::Shared),
        ];
        State {
            layout,
            regs,
            memory,
        }
    }

    /// Executes a step; `None` if an access leaves its object.
    fn step(&mut self, step: &Step) -> Option<()> {
        let r = self.regs;
        match *step {
            Step::Number(d, k) => self.regs[d] = k,
            Step::With(op, d, a, k) => self.regs[d] = with(op, r[a], k),
            Step::Two(op, d, a, b) => self.regs[d] = with(op, r[a], r[b]),
            Step::Halves(d, a, b) => self.regs[d] = r[a] & 0xffff_ffff | r[b] >> 32 << 32,
            Step::Word(d, a) => self.regs[d] = r[a] & 0xffff_ffff,
            Step::Parts(d, a, b, i) => {
                let mask = 0xffff << (16 * i);
                self.regs[d] = r[a] & !mask | r[b] & mask;
            }
            Step::Round(way, d, a, bits) => {
                let m = (1u64 << bits) - 1;
                self.regs[d] = match way {
                    0 => r[a] & !m,
                    1 => r[a].wrapping_add(m) & !m,
                    2 => r[a] - (r[a] & m),
                    _ => r[a].wrapping_add(r[a].wrapping_neg() & m),
                };
            }
            Step::Swizzle(d, a, shift, mask) => self.regs[d] = r[a] ^ (r[a] >> shift & mask),
            Step::Window(to, d, a) => {
                let w = self.layout.shared;
                self.regs[d] = if to {
                    r[a].wrapping_sub(w)
                } else {
                    r[a].wrapping_add(w)
                };
            }
            Step::Choose(op, d, a, b, c) => {
                if compare(op, r[a], r[b]) {
                    self.regs[d] = r[c];
                }
            }
            Step::ChooseBy(op, d, a, k, c) => {
                if compare(op, r[a], k) {
                    self.regs[d] = r[c];
                }
            }
            Step::Spill(a, at) => {
                self.memory[5][at as usize..][..8].copy_from_slice(&r[a].to_le_bytes());
            }
            Step::SpillPart(a, at, n) => {
                let bytes = &r[a].to_le_bytes()[..n as usize];
                self.memory[5][at as usize..][..n as usize].copy_from_slice(bytes);
            }
            Step::Fill(d, at) => {
                let bytes = self.memory[5][at as usize..][..8].try_into().ok()?;
                self.regs[d] = u64::from_le_bytes(bytes);
            }
            Step::Load(space, a, k) => {
                let (i, off) = self.layout.find(space, r[a])?;
                let word: [u8; 4] = self.memory[i][off as usize..][..4].try_into().ok()?;
                self.memory[2][4 * k as usize..][..4].copy_from_slice(&word);
            }
            Step::Store(space, a, v) => {
                let (i, off) = self.layout.find(space, r[a])?;
                let word = (v as u32).to_le_bytes();
                self.memory[i][off as usize..][..4].copy_from_slice(&word);
            }
            Step::Show(a, k) => {
                let word = (r[a] as u32).to_le_bytes();
                self.memory[2][4 * k as usize..][..4].copy_from_slice(&word);
            }
        }
        Some(())
    }
}

fn initial(object: usize, word: usize) -> u32 {
    (1000 * (object + 1) + word) as u32
}

/// A program that fails under no access of the first layout.
fn program(dice: &mut Dice) -> Vec<Step> {
    let mut state = State::new(Layout::first());
    let mut steps = Vec::new();
    let mut shown = 0;
    let wanted = 6 + dice.below(14);
    while steps.len() < wanted as usize {
        let (d, a, b, c) = (dice.reg(), dice.reg(), dice.reg(), dice.reg());
        let op = WITH[dice.below(8) as usize];
        let k = dice.number();
        let cmp = COMPARE[dice.below(4) as usize];
        let at = 8 * dice.below(8);
        let step = match dice.below(30) {
            0 => Step::Number(d, k),
            1..=3 => Step::With(op, d, a, if op.starts_with("sh") { k & 63 } else { k }),
            4 | 5 => Step::With("add", d, a, 4 * dice.below(6)),
            6 => Step::Two(
                ["add", "sub", "or", "xor", "and"][dice.below(5) as usize],
                d,
                a,
                b,
            ),
            7 => Step::Two("sub", d, a, b),
            8 => Step::Halves(d, a, if dice.below(3) > 0 { a } else { b }),
            9 => Step::Word(d, a),
            10 => {
                let b = if dice.below(3) > 0 { a } else { b };
                Step::Parts(d, a, b, dice.below(4) as usize)
            }
            11 => Step::Window(dice.below(2) == 0, d, a),
            12 => Step::Choose(cmp, d, a, b, c),
            13 => Step::ChooseBy(cmp, d, a, k, c),
            14 => Step::Spill(a, at),
            15 => Step::Fill(d, at),
            16 => {
                let n = 1 << dice.below(3);
                Step::SpillPart(a, at + n * dice.below(8 / n), n)
            }
            17..=24 if shown < 16 => {
                let spaces = [Space::Global, Space::Shared, Space::Generic];
                let space = spaces[dice.below(3) as usize];
                // What is stored in the local variable in parts is followed in parts.
                let Some((object, _)) = state.layout.find(space, state.regs[a]) else {
                    continue;
                };
                if dice.below(3) == 0 && object != 2 {
                    Step::Store(space, a, k.wrapping_mul(7))
                } else {
                    shown += 1;
                    Step::Load(space, a, shown - 1)
                }
            }
            25 | 26 => Step::Round(
                dice.below(4) as usize,
                d,
                if dice.below(2) == 0 {
                    9 - dice.below(2) as usize
                } else {
                    a
                },
                3 + dice.below(5) as u32,
            ),
            28 | 29 => {
                let (a, mask) = (
                    9 - dice.below(2) as usize,
                    [0x10, 0x30, 0x70][dice.below(3) as usize],
                );
                Step::Swizzle(d, a, 2 + dice.below(2), mask)
            }
            27 if shown < 16 && dice.below(4) == 0 => {
                shown += 1;
                Step::Show(a, shown - 1)
            }
            _ => continue,
        };
        if state.step(&step).is_some() {
            steps.push(step);
        }
    }
    steps
}

/// The program as PTX.
fn text(steps: &[Step]) -> String {
    let mut t = String::from(
        ".version 8.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 u[];\n\
         .visible .entry k(.param .u64 x, .param .u64 y, .param .u64 z)\n{\n\
         .reg .b64 %r<12>; .reg .b64 %q<6>; .reg .b32 %w<8>; .reg .b16 %h<10>; .reg .pred %p;\n\
         .shared .align 16 .b8 s[64]; .shared .align 16 .b8 t[64]; .local .align 16 .b8 l[64];\n\
         .reg .b64 %m;\n\
         ld.param.u64 %q0, [x]; ld.param.u64 %q1, [y]; ld.param.u64 %q2, [z];\n",
    );
    let names = ["%q0", "%q1", "%q2", "s", "t", "l", "u"];
    for (i, (_, space)) in OBJECTS.iter().enumerate() {
        let space = own(*space);
        for k in 0..size(i) as usize / 4 {
            let (at, v) = (4 * k, initial(i, k));
            let _ = writeln!(t, "st{space}.u32 [{}+{at}], {v};", names[i]);
        }
    }
    t.push_str(
        "mov.u64 %r0, %q0; mov.u64 %r1, %q1; mov.u64 %r3, s; cvta.shared.u64 %r2, %r3;\n\
         mov.u64 %r5, t; cvta.shared.u64 %r4, %r5; mov.u64 %r6, l; cvta.local.u64 %r6, %r6;\n\
         mov.u64 %r7, 8; mov.u64 %r9, u; cvta.shared.u64 %r8, %r9;\n",
    );
    for step in steps {
        let _ = match *step {
            Step::Number(d, k) => writeln!(t, "mov.u64 %r{d}, {k:#x};"),
            Step::With(op, d, a, k) => writeln!(t, "{} %r{d}, %r{a}, {k:#x};", opcode(op)),
            Step::Two(op, d, a, b) => writeln!(t, "{} %r{d}, %r{a}, %r{b};", opcode(op)),
            Step::Halves(d, a, b) => writeln!(
                t,
                "mov.b64 {{%w0, %w1}}, %r{a}; mov.b64 {{%w2, %w3}}, %r{b}; mov.b64 %r{d}, {{%w0, %w3}};"
            ),
            Step::Word(d, a) => writeln!(t, "cvt.u32.u64 %w0, %r{a}; cvt.u64.u32 %r{d}, %w0;"),
            Step::Parts(d, a, b, i) => {
                let part = |j: usize| if j == i { 4 + j } else { j };
                writeln!(
                    t,
                    "mov.b64 {{%h0, %h1, %h2, %h3}}, %r{a}; mov.b64 {{%h4, %h5, %h6, %h7}}, %r{b}; \
                     mov.b64 %r{d}, {{%h{}, %h{}, %h{}, %h{}}};",
                    part(0),
                    part(1),
                    part(2),
                    part(3)
                )
            }
            Step::Round(way, d, a, bits) => {
                let m = (1u64 << bits) - 1;
                match way {
                    0 => writeln!(t, "and.b64 %r{d}, %r{a}, {:#x};", !m),
                    1 => writeln!(
                        t,
                        "add.s64 %m, %r{a}, {m:#x}; and.b64 %r{d}, %m, {:#x};",
                        !m
                    ),
                    2 => writeln!(t, "and.b64 %m, %r{a}, {m:#x}; sub.s64 %r{d}, %r{a}, %m;"),
                    _ => writeln!(
                        t,
                        "neg.s64 %m, %r{a}; and.b64 %m, %m, {m:#x}; add.s64 %r{d}, %r{a}, %m;"
                    ),
                }
            }
            Step::Swizzle(d, a, shift, mask) => writeln!(
                t,
                "shr.u64 %m, %r{a}, {shift}; and.b64 %m, %m, {mask:#x}; xor.b64 %r{d}, %r{a}, %m;"
            ),
            Step::Window(true, d, a) => writeln!(t, "cvta.to.shared.u64 %r{d}, %r{a};"),
            Step::Window(false, d, a) => writeln!(t, "cvta.shared.u64 %r{d}, %r{a};"),
            Step::Choose(op, d, a, b, c) => writeln!(
                t,
                "setp.{op}.u64 %p, %r{a}, %r{b}; selp.b64 %r{d}, %r{c}, %r{d}, %p;"
            ),
            Step::ChooseBy(op, d, a, k, c) => {
                writeln!(
                    t,
                    "setp.{op}.u64 %p, %r{a}, {k:#x}; @%p mov.u64 %r{d}, %r{c};"
                )
            }
            Step::Spill(a, at) => writeln!(t, "st.local.u64 [l+{at}], %r{a};"),
            Step::SpillPart(a, at, n) => writeln!(t, "st.local.u{} [l+{at}], %r{a};", 8 * n),
            Step::Fill(d, at) => writeln!(t, "ld.local.u64 %r{d}, [l+{at}];"),
            Step::Load(space, a, k) => writeln!(
                t,
                "ld{}.u32 %w0, [%r{a}]; st.global.u32 [%q2+{}], %w0;",
                own(space),
                4 * k
            ),
            Step::Store(space, a, v) => {
                writeln!(
                    t,
                    "mov.u32 %w0, {:#x}; st{}.u32 [%r{a}], %w0;",
                    v as u32,
                    own(space)
                )
            }
            Step::Show(a, k) => {
                writeln!(
                    t,
                    "cvt.u32.u64 %w0, %r{a}; st.global.u32 [%q2+{}], %w0;",
                    4 * k
                )
            }
        };
    }
    t + "ret;\n}\n"
}

fn own(space: Space) -> &'static str {
    match space {
        Space::Global => ".global",
        Space::Shared => ".shared",
        Space::Local => ".local",
        Space::Generic => "",
    }
}

fn opcode(op: &str) -> &'static str {
    match op {
        "add" => "add.s64",
        "sub" => "sub.s64",
        "and" => "and.b64",
        "or" => "or.b64",
        "xor" => "xor.b64",
        "mul" => "mul.lo.s64",
        "shl" => "shl.b64",
        _ => "shr.u64",
    }
}

/// What volta says memory holds at the end, array by array, if it finds the kernel clean.
fn proved(text: &str) -> Option<[BTreeMap<u64, u8>; 3]> {
    let source = Arc::new(Source::new("program", text.to_string()).expect("short"));
    let module = ptx::parse(&source).expect("PTX");
    let entry = kernel::select_entry(&module, None).expect("one entry");
    let lowered =
        kernel::lower(&module, &source, entry).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let args = ["x", "y", "z"].map(|n| format!("{n} = \"inout:u32[16]\""));
    let settings = format!(
        "kernel = \"k.ptx\"\nthreads = 1\ndynamic_shared = {DYNAMIC}\nargs = {{ {} }}",
        args.join(", ")
    );
    let settings: Settings = toml::from_str(&settings).expect("settings");
    let spec = Layers(&[&settings])
        .kernel(Which::Kernel)
        .expect("a kernel");
    let setup = spec::resolve(&[(&lowered.kernel, &spec)], &[]).expect("bindings");
    let resolved = &setup.kernels[0];
    let limits = Limits {
        deadline: None,
        memory: None,
    };
    let (launch, bindings) = (&resolved.launch, &resolved.bindings);
    let arrays = &resolved.arrays;
    let out = sim::run(
        &lowered.kernel,
        launch,
        bindings,
        arrays,
        Side::Reference,
        &limits,
    );
    let open = out.obligations.len() + out.conditionals.len();
    if open + out.defects.len() + out.unknowns.len() > 0 {
        return None;
    }
    let id = |param: u32| {
        let field = bindings.fields.iter().find(|f| f.param == param);
        match field.map(|f| f.value) {
            Some(spec::Value::Pointer(array, _)) => array,
            _ => ArrayId(u32::MAX),
        }
    };
    Some([0, 1, 2].map(|param| {
        let mut bytes = BTreeMap::new();
        for (off, t) in &out.writes[&id(param)] {
            let Term::BitsConst { width, value } = out.store.get(*t) else {
                panic!("data in a program without any\n{text}");
            };
            for i in 0..u64::from(width) / 8 {
                bytes.insert(off + i, (value >> (8 * i)) as u8);
            }
        }
        bytes
    }))
}

#[test]
fn every_layout() {
    let programs = std::env::var("VOLTA_PROGRAMS").ok();
    let programs: u64 = programs.and_then(|n| n.parse().ok()).unwrap_or(600);
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let (mut right, mut kept, mut cheats) = (0, 0, 0);
    for n in 0..programs {
        let steps = program(&mut dice);
        let text = text(&steps);
        let mut layouts = vec![Layout::first()];
        layouts.extend((0..8).map(|_| Layout::random(&mut dice)));
        let run = |layout: &Layout| {
            let mut state = State::new(layout.clone());
            steps.iter().try_for_each(|s| state.step(s))?;
            Some([state.memory[0], state.memory[1], state.memory[2]])
        };
        let runs: Vec<_> = layouts.iter().map(run).collect();
        let alike = runs[0].is_some() && runs.iter().all(|r| *r == runs[0]);
        right += u64::from(alike);
        cheats += u64::from(!alike);
        let Some(found) = proved(&text) else { continue };
        assert!(
            alike,
            "program {n} is not the same under every layout\n{text}"
        );
        kept += 1;
        for (memory, bytes) in runs[0].iter().flatten().zip(&found) {
            for (at, byte) in bytes {
                assert_eq!(
                    memory[*at as usize], *byte,
                    "program {n}, byte {at}\n{text}"
                );
            }
        }
    }
    println!("{programs} programs: {right} right, {kept} of them proved, {cheats} wrong");
    assert!(
        5 * kept > 2 * right && cheats > programs / 20,
        "{kept} of {right}, {cheats}"
    );
}
