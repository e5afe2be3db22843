//! Spare lanes: random kernels whose upper lanes read what the lower ones write in place.
//!
//! Two properties, by an interpreter of its own. Where some data, and some values that the racing reads may give, change
//! what is left in memory, the answer is not `clean`. Where no register that a racing read gets to is stored by a lane
//! that comes to the store, it is `clean`, with the warning.

use std::fmt::Write as _;

use super::{json, scratch, volta};

const LANES: usize = 32;
/// Elements; lane 16 and those above repeat the loads of the others.
const N: usize = 16;
const PROGRAMS: u64 = 160;
const DATA: usize = 24;

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

/// Which lanes come to a store.
#[derive(Clone, Copy, PartialEq)]
enum Who {
    Lower,
    Upper,
    All,
}

impl Who {
    fn has(self, lane: usize) -> bool {
        match self {
            Who::Lower => lane < N,
            Who::Upper => lane >= N,
            Who::All => true,
        }
    }
}

/// A step: registers and predicates by number; each makes a new one.
enum Step {
    Add(usize, usize),
    Xor(usize, usize),
    Less(usize, usize),
    Choose(usize, usize, usize),
    Exchange(usize),
    Ballot(usize),
}

/// Register 0 is the element of `x`, 1 that of `m`, 2 a number; predicate 0 says that `m` is not 0, 1 that it is.
struct Program {
    loads_if: Option<usize>,
    steps: Vec<Step>,
    /// To `x`, by the lower lanes: what, and if.
    update: (usize, usize),
    /// To `y`: what, if, and by whom.
    output: (usize, usize, Who),
}

impl Program {
    fn new(dice: &mut Dice) -> Program {
        let (mut regs, mut preds) = (3, 2);
        let mut steps = Vec::new();
        for _ in 0..2 + dice.below(4) {
            let (a, b) = (dice.below(regs), dice.below(regs));
            let (step, is_pred) = match dice.below(9) {
                0..3 => (Step::Add(a, b), false),
                3 => (Step::Xor(a, b), false),
                4 | 5 => (Step::Less(a, b), true),
                6 => (Step::Choose(a, b, dice.below(preds)), false),
                7 => (Step::Exchange(a), false),
                _ => (Step::Ballot(dice.below(preds)), false),
            };
            steps.push(step);
            regs += usize::from(!is_pred);
            preds += usize::from(is_pred);
        }
        let who = [Who::Lower, Who::Upper, Who::All][dice.below(3)];
        Program {
            loads_if: [None, Some(0), Some(1)][dice.below(3)],
            steps,
            update: (dice.below(regs), dice.below(preds)),
            output: (dice.below(regs), dice.below(preds), who),
        }
    }

    fn ptx(&self) -> String {
        let mut out = String::from(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u64 m, .param .u64 y)\n{\n\
             .reg .pred %p<12>, %lo, %hi, %s;\n.reg .b32 %r<12>, %t, %i;\n.reg .b64 %x, %m, %y, %o;\n\
             ld.param.u64 %x, [x]; ld.param.u64 %m, [m]; ld.param.u64 %y, [y];\n\
             mov.u32 %t, %tid.x; and.b32 %i, %t, 15;\n\
             mul.wide.u32 %o, %i, 4; add.u64 %x, %x, %o; add.u64 %m, %m, %o;\n\
             mul.wide.u32 %o, %t, 4; add.u64 %y, %y, %o;\n\
             setp.lt.u32 %lo, %t, 16; setp.ge.u32 %hi, %t, 16;\n\
             ld.global.u32 %r1, [%m]; mov.u32 %r2, 5; mov.u32 %r0, 7;\n\
             setp.ne.s32 %p0, %r1, 0; setp.eq.s32 %p1, %r1, 0;\n",
        );
        let guard = self.loads_if.map_or(String::new(), |p| format!("@%p{p} "));
        let _ = writeln!(out, "{guard}ld.global.u32 %r0, [%x];");
        let (mut r, mut p) = (3, 2);
        for step in &self.steps {
            let line = match step {
                Step::Add(a, b) => format!("add.s32 %r{r}, %r{a}, %r{b};"),
                Step::Xor(a, b) => format!("xor.b32 %r{r}, %r{a}, %r{b};"),
                Step::Less(a, b) => format!("setp.lt.s32 %p{p}, %r{a}, %r{b};"),
                Step::Choose(a, b, c) => format!("selp.b32 %r{r}, %r{a}, %r{b}, %p{c};"),
                Step::Exchange(a) => format!("shfl.sync.bfly.b32 %r{r}, %r{a}, 16, 31, -1;"),
                Step::Ballot(c) => format!("vote.sync.ballot.b32 %r{r}, %p{c}, -1;"),
            };
            let _ = writeln!(out, "{line}");
            match step {
                Step::Less(..) => p += 1,
                _ => r += 1,
            }
        }
        let (v, c) = self.update;
        let _ = writeln!(
            out,
            "and.pred %s, %p{c}, %lo; @%s st.global.u32 [%x], %r{v};"
        );
        let (v, c, who) = self.output;
        let also = match who {
            Who::Lower => format!("and.pred %s, %p{c}, %lo;"),
            Who::Upper => format!("and.pred %s, %p{c}, %hi;"),
            Who::All => format!("mov.pred %s, %p{c};"),
        };
        let _ = writeln!(out, "{also} @%s st.global.u32 [%y], %r{v};\nret;\n}}");
        out
    }

    /// The registers and predicates of all lanes, where `read` says what each lane finds in `x`.
    fn values(&self, read: &[i32; LANES], m: &[i32; N]) -> (Vec<[i32; LANES]>, Vec<[bool; LANES]>) {
        let lanes = |f: &dyn Fn(usize) -> i32| -> [i32; LANES] { std::array::from_fn(f) };
        let holds = |f: &dyn Fn(usize) -> bool| -> [bool; LANES] { std::array::from_fn(f) };
        let mut p = vec![holds(&|l| m[l % N] != 0), holds(&|l| m[l % N] == 0)];
        let loads = |l: usize| self.loads_if.is_none_or(|g| p[g][l]);
        let loaded = lanes(&|l| if loads(l) { read[l] } else { 7 });
        let mut r = vec![loaded, lanes(&|l| m[l % N]), [5; LANES]];
        for step in &self.steps {
            let new = match *step {
                Step::Add(a, b) => lanes(&|l| r[a][l].wrapping_add(r[b][l])),
                Step::Xor(a, b) => lanes(&|l| r[a][l] ^ r[b][l]),
                Step::Choose(a, b, c) => lanes(&|l| if p[c][l] { r[a][l] } else { r[b][l] }),
                Step::Exchange(a) => lanes(&|l| r[a][l ^ 16]),
                Step::Ballot(c) => {
                    let all = (0..LANES).fold(0u32, |m, l| m | u32::from(p[c][l]) << l);
                    [all as i32; LANES]
                }
                Step::Less(a, b) => {
                    p.push(holds(&|l| r[a][l] < r[b][l]));
                    continue;
                }
            };
            r.push(new);
        }
        (r, p)
    }

    /// What is left in `x` and `y`, and the lanes that update `x`.
    fn left(&self, x: &[i32; N], m: &[i32; N], read: &[i32; LANES]) -> (Vec<i32>, [bool; N]) {
        let (r, p) = self.values(read, m);
        let mut memory: Vec<i32> = x.iter().copied().chain([0; LANES]).collect();
        let mut updates = [false; N];
        for l in 0..N {
            updates[l] = p[self.update.1][l];
            if updates[l] {
                memory[l] = r[self.update.0][l];
            }
        }
        let (v, c, who) = self.output;
        for l in (0..LANES).filter(|&l| who.has(l) && p[c][l]) {
            memory[N + l] = r[v][l];
        }
        (memory, updates)
    }

    /// True if data are found for which what is left depends on what racing reads give.
    fn depends(&self, dice: &mut Dice) -> bool {
        (0..DATA).any(|_| {
            let x: [i32; N] = std::array::from_fn(|_| dice.below(9) as i32 - 4);
            let m: [i32; N] = std::array::from_fn(|_| dice.below(3) as i32 - 1);
            let plain: [i32; LANES] = std::array::from_fn(|l| x[l % N]);
            let (before, updates) = self.left(&x, &m, &plain);
            let other = std::array::from_fn(|l| match l >= N && updates[l % N] {
                true => dice.below(1 << 20) as i32 - (1 << 19),
                false => plain[l],
            });
            self.left(&x, &m, &other).0 != before
        })
    }

    /// True if what an upper lane reads gets to a store that some lane comes to, whatever data are.
    fn reaches(&self) -> bool {
        // Of the lower and of the upper lanes.
        let mut r = vec![[false, true], [false; 2], [false; 2]];
        let mut p = vec![[false; 2], [false; 2]];
        for step in &self.steps {
            let both = |a: [bool; 2], b: [bool; 2]| [a[0] | b[0], a[1] | b[1]];
            let new = match *step {
                Step::Add(a, b) | Step::Xor(a, b) => both(r[a], r[b]),
                Step::Choose(a, b, c) => both(both(r[a], r[b]), p[c]),
                Step::Exchange(a) => [r[a][1], r[a][0]],
                Step::Ballot(c) => [p[c][0] | p[c][1]; 2],
                Step::Less(a, b) => {
                    p.push(both(r[a], r[b]));
                    continue;
                }
            };
            r.push(new);
        }
        let (v, c, who) = self.output;
        let stored = |half: usize| r[v][half] || p[c][half];
        let (v, c) = self.update;
        r[v][0] || p[c][0] || who.has(0) && stored(0) || who.has(N) && stored(1)
    }
}

#[test]
fn a_spare_read_is_excused_where_it_reaches_nothing() {
    let mut dice = Dice(1);
    let (mut excused, mut reported) = (0, 0);
    for n in 0..PROGRAMS {
        let program = Program::new(&mut dice);
        let text = program.ptx();
        let file = scratch("spare_lanes", &format!("{n}.ptx"), text.as_bytes());
        let file = file.to_str().expect("a path that is text");
        let args = ["race", file, "--threads", "32", "--arg", "x=inout:s32[16]"];
        let more = [
            "--arg",
            "m=in:s32[16]",
            "--arg",
            "y=inout:s32[32]",
            "--json",
        ];
        let report = json(&volta(&[&args[..], &more].concat()));
        let verdict = report["verdict"].as_str().unwrap_or_default();
        let by_value = report["warnings"].to_string().contains("ordered-by-value");
        if program.depends(&mut dice) {
            assert!(verdict != "clean" || by_value, "{report}\n{text}");
            reported += usize::from(verdict == "defective");
        }
        if !program.reaches() {
            assert_eq!(verdict, "clean", "{report}\n{text}");
            excused += 1;
        }
    }
    assert!(
        excused > 10 && reported > 10,
        "{excused} excused, {reported} reported"
    );
}
