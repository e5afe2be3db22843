//! Random programs over floats and their bits against a concrete machine: whatever volta proves equal agrees in
//! bits, and whatever it refutes differs on the input that it names.
//!
//! A program has three numbers of f32 and computes one word, by arithmetic with every rounding written, by
//! conversions to bf16 and f16 and back, by changes of sign, and by masks, shifts, sums and comparisons of the
//! encodings. Its twin is the program itself with some operations spelled otherwise: operands exchanged, sums
//! and products grouped otherwise, a multiply-add in two steps, another spelling of a conversion or of a sign.
//! The machine here is that of the host and shares nothing with volta's arithmetic.

use std::fmt::Write as _;
use std::process::Command;

use serde_json::Value;

use super::manifest::folder;

/// Pairs that are tried, and inputs on which those that are equivalent are executed.
const PAIRS: usize = 600;
const INPUTS: usize = 400;

/// A generator of numbers that says the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 11) as usize % n
    }

    /// A float of moderate size, a small integer, or one of a few that are special.
    fn float(&mut self) -> f32 {
        match self.below(4) {
            0 => self.below(17) as f32 - 8.0,
            1 => [1e8, -1e8, 1.0, 0.5, 3e-39, 65504.0, -0.1][self.below(7)],
            _ => {
                let e = 100 + self.below(50) as u32;
                let bits = self.next() as u32;
                f32::from_bits(bits & 0x807f_ffff | e << 23)
            }
        }
    }
}

/// Operations; operands are numbers of earlier results, floats and words apart.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Op {
    Add(usize, usize),
    AddZ(usize, usize),
    Sub(usize, usize),
    Mul(usize, usize),
    Fma(usize, usize, usize),
    Max(usize, usize),
    Neg(usize),
    Abs(usize),
    /// To bf16 and back, toward zero or to nearest.
    Bf16(usize, bool),
    /// To f16 and back.
    F16(usize),
    /// The upper half of the encoding.
    Cut(usize),
    /// A float by another spelling of what a float operation does.
    NegXor(usize),
    AbsAnd(usize),
    Bf16Mov(usize, bool),
}

/// What is made of the last float.
#[derive(Clone, Copy, Debug)]
enum End {
    Bits,
    Mask(u32),
    Shift(u32),
    Hash,
    /// The exclusive or with the encoding of another float.
    Xor(usize),
    Equal(usize),
    Above(u32),
}

fn program(ops: &[Op], end: End) -> String {
    let mut s = String::from(
        ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 px, .param .u64 py)\n{\n\
         .reg .pred p0;\n.reg .b16 h<4>;\n.reg .b32 r<8>;\n.reg .f32 f<64>;\n.reg .b64 rd<2>;\n\
         ld.param.u64 rd0, [px];\nld.param.u64 rd1, [py];\nld.global.f32 f0, [rd0];\n\
         ld.global.f32 f1, [rd0+4];\nld.global.f32 f2, [rd0+8];\n",
    );
    for (i, op) in ops.iter().enumerate() {
        let d = i + 3;
        let way = |rz: bool| if rz { "rz" } else { "rn" };
        let _ = match *op {
            Op::Add(a, b) => writeln!(s, "add.rn.f32 f{d}, f{a}, f{b};"),
            Op::AddZ(a, b) => writeln!(s, "add.rz.f32 f{d}, f{a}, f{b};"),
            Op::Sub(a, b) => writeln!(s, "sub.rn.f32 f{d}, f{a}, f{b};"),
            Op::Mul(a, b) => writeln!(s, "mul.rn.f32 f{d}, f{a}, f{b};"),
            Op::Fma(a, b, c) => writeln!(s, "fma.rn.f32 f{d}, f{a}, f{b}, f{c};"),
            Op::Max(a, b) => writeln!(s, "max.f32 f{d}, f{a}, f{b};"),
            Op::Neg(a) => writeln!(s, "neg.f32 f{d}, f{a};"),
            Op::Abs(a) => writeln!(s, "abs.f32 f{d}, f{a};"),
            Op::Bf16(a, rz) => writeln!(
                s,
                "cvt.{}.bf16.f32 h0, f{a};\ncvt.f32.bf16 f{d}, h0;",
                way(rz)
            ),
            Op::Bf16Mov(a, rz) => writeln!(
                s,
                "cvt.{}.bf16.f32 h0, f{a};\nmov.b16 h1, 0;\nmov.b32 f{d}, {{h1, h0}};",
                way(rz)
            ),
            Op::F16(a) => writeln!(s, "cvt.rn.f16.f32 h0, f{a};\ncvt.f32.f16 f{d}, h0;"),
            Op::Cut(a) => writeln!(
                s,
                "mov.b32 r0, f{a};\nand.b32 r0, r0, 0xffff0000;\nmov.b32 f{d}, r0;"
            ),
            Op::NegXor(a) => writeln!(
                s,
                "mov.b32 r0, f{a};\nxor.b32 r0, r0, 0x80000000;\nmov.b32 f{d}, r0;"
            ),
            Op::AbsAnd(a) => writeln!(
                s,
                "mov.b32 r0, f{a};\nand.b32 r0, r0, 0x7fffffff;\nmov.b32 f{d}, r0;"
            ),
        };
    }
    let _ = writeln!(s, "mov.b32 r1, f{};", ops.len() + 2);
    let _ = match end {
        End::Bits => writeln!(s, "mov.b32 r2, r1;"),
        End::Mask(m) => writeln!(s, "and.b32 r2, r1, {m};"),
        End::Shift(n) => writeln!(s, "shr.u32 r2, r1, {n};"),
        End::Hash => writeln!(s, "mul.lo.u32 r2, r1, 0x9e3779b1;\nshr.u32 r2, r2, 7;"),
        End::Xor(a) => writeln!(s, "mov.b32 r3, f{a};\nxor.b32 r2, r1, r3;"),
        End::Equal(a) => writeln!(
            s,
            "mov.b32 r3, f{a};\nsetp.eq.u32 p0, r1, r3;\nselp.b32 r2, 5, 7, p0;"
        ),
        End::Above(c) => writeln!(s, "setp.gt.u32 p0, r1, {c};\nselp.b32 r2, 5, 7, p0;"),
    };
    s += "st.global.u32 [rd1], r2;\nret;\n}\n";
    s
}

/// x + y toward zero: the sum in doubles is exact or has more digits than decide the rounding.
fn add_toward_zero(x: f32, y: f32) -> f32 {
    let near = x + y;
    // What the nearest leaves out, exactly.
    let part = near - x;
    let rest = (x - (near - part)) + (y - part);
    match near > 0.0 && rest < 0.0 || near < 0.0 && rest > 0.0 {
        true => f32::from_bits(near.to_bits() - 1),
        false => near,
    }
}

fn to_bf16(x: f32, rz: bool) -> f32 {
    let b = x.to_bits();
    let up = if rz { 0 } else { 0x7fff + (b >> 16 & 1) };
    f32::from_bits(b.wrapping_add(up) & 0xffff_0000)
}

/// To binary16, to nearest, and back: by multiples of the distance of its numbers.
fn to_f16(x: f32) -> f32 {
    let e = ((x.to_bits() >> 23 & 0xff) as i32 - 127).max(-14);
    let unit = 2f64.powi(e - 10);
    let r = (f64::from(x) / unit).round_ties_even() * unit;
    match r.abs() >= 65520.0 || r.abs() > 65504.0 {
        true => f32::INFINITY.copysign(x),
        false => r as f32,
    }
}

/// What the machine computes; `None` where a NaN arises, whose bits are open.
fn execute(ops: &[Op], end: End, inputs: [f32; 3]) -> Option<u32> {
    let mut f = inputs.to_vec();
    for op in ops {
        let x = match *op {
            Op::Add(a, b) => f[a] + f[b],
            Op::AddZ(a, b) => add_toward_zero(f[a], f[b]),
            Op::Sub(a, b) => f[a] - f[b],
            Op::Mul(a, b) => f[a] * f[b],
            Op::Fma(a, b, c) => f[a].mul_add(f[b], f[c]),
            // +0 is above -0.
            Op::Max(a, b) if f[a] == f[b] => f32::from_bits(f[a].to_bits() & f[b].to_bits()),
            Op::Max(a, b) => f[a].max(f[b]),
            Op::Neg(a) | Op::NegXor(a) => -f[a],
            Op::Abs(a) | Op::AbsAnd(a) => f[a].abs(),
            Op::Bf16(a, rz) | Op::Bf16Mov(a, rz) => to_bf16(f[a], rz),
            Op::F16(a) => to_f16(f[a]),
            Op::Cut(a) => to_bf16(f[a], true),
        };
        // Of what overflows nothing is claimed here.
        if !x.is_finite() {
            return None;
        }
        f.push(x);
    }
    let b = f.last()?.to_bits();
    Some(match end {
        End::Bits => b,
        End::Mask(m) => b & m,
        End::Shift(n) => b >> n,
        End::Hash => b.wrapping_mul(0x9e37_79b1) >> 7,
        End::Xor(a) => b ^ f[a].to_bits(),
        End::Equal(a) => 7 - 2 * u32::from(b == f[a].to_bits()),
        End::Above(c) => 7 - 2 * u32::from(b > c),
    })
}

fn random_op(r: &mut Random, n: usize) -> Op {
    let (a, b, c) = (r.below(n), r.below(n), r.below(n));
    match r.below(14) {
        0 | 1 => Op::Add(a, b),
        2 => Op::Sub(a, b),
        3 | 4 => Op::Mul(a, b),
        5 => Op::Fma(a, b, c),
        6 => Op::Max(a, b),
        7 => Op::Neg(a),
        8 => Op::Abs(a),
        9 => Op::Bf16(a, false),
        10 => Op::Bf16(a, true),
        11 => Op::F16(a),
        12 => Op::Cut(a),
        _ => Op::AddZ(a, b),
    }
}

/// The same program spelled otherwise, or one that is nearly the same.
fn twin(r: &mut Random, ops: &[Op]) -> Vec<Op> {
    let mut out = ops.to_vec();
    for op in &mut out {
        let other = match *op {
            Op::Add(a, b) => [Op::Add(b, a), Op::AddZ(a, b), Op::Add(b, a)][r.below(3)],
            Op::AddZ(a, b) => Op::AddZ(b, a),
            Op::Mul(a, b) => Op::Mul(b, a),
            Op::Max(a, b) => Op::Max(b, a),
            Op::Fma(a, b, c) => Op::Fma(b, a, c),
            Op::Neg(a) => Op::NegXor(a),
            Op::Abs(a) => Op::AbsAnd(a),
            Op::Bf16(a, rz) => {
                [Op::Bf16Mov(a, rz), Op::Bf16(a, !rz), Op::Bf16Mov(a, rz)][r.below(3)]
            }
            Op::Cut(a) => Op::Bf16(a, true),
            Op::Sub(a, b) if r.below(3) == 0 => Op::Sub(b, a),
            op => op,
        };
        if r.below(2) == 0 {
            *op = other;
        }
    }
    // Grouped otherwise: (a + b) + c becomes a + (b + c) where the first sum serves nothing else.
    for i in 1..out.len() {
        let (d, last) = (i + 2, r.below(3) == 0);
        match (out[i - 1], out[i]) {
            (Op::Add(a, b), Op::Add(x, c)) if x == d && last && c != d => {
                (out[i - 1], out[i]) = (Op::Add(b, c), Op::Add(a, d));
            }
            (Op::Mul(a, b), Op::Mul(x, c)) if x == d && last && c != d => {
                (out[i - 1], out[i]) = (Op::Mul(b, c), Op::Mul(a, d));
            }
            _ => {}
        }
    }
    out
}

fn random_end(r: &mut Random, n: usize) -> End {
    match r.below(8) {
        0 | 1 => End::Bits,
        2 => End::Mask([0xff, 0xffff, 0xffff_0000, 0x7fff_ffff, 1][r.below(5)]),
        3 => End::Shift([16, 23, 31, 3][r.below(4)]),
        4 => End::Hash,
        5 => End::Xor(r.below(n)),
        6 => End::Equal(r.below(n)),
        _ => End::Above([0x7f80_0000, 0x3f80_0000, 0x8000_0000][r.below(3)]),
    }
}

#[test]
fn what_is_equivalent_has_the_same_bits() {
    let (equal, refuted) = executed("bits", false, 0x1234_5678_9abc_def1);
    // The test says something only if there are many of both.
    assert!(
        equal > PAIRS / 6 && refuted > PAIRS / 30,
        "{equal} {refuted}"
    );
}

/// The same where bits are compared, not values: other pairs are proved, and more are refuted.
#[test]
fn what_is_the_same_bit_for_bit_has_the_same_bits() {
    let (equal, refuted) = executed("same_bits", true, 0x0fed_cba9_8765_4321);
    assert!(
        equal > PAIRS / 3 && refuted > PAIRS / 30,
        "{equal} {refuted}"
    );
}

/// Judges pairs and executes them; gives how many were proved and how many refuted.
fn executed(name: &str, bits: bool, seed: u64) -> (usize, usize) {
    let folder = folder(name);
    let mut r = Random(seed);
    let (mut text, mut pairs) = (format!("[defaults]\nbits = {bits}\n"), Vec::new());
    for i in 0..PAIRS {
        let n = 1 + r.below(5);
        let ops: Vec<Op> = (0..n).map(|k| random_op(&mut r, 3 + k)).collect();
        let end = random_end(&mut r, n + 2);
        let other = twin(&mut r, &ops);
        for (name, p) in [("a", &ops), ("b", &other)] {
            std::fs::write(folder.join(format!("{name}{i}.ptx")), program(p, end)).unwrap();
        }
        let _ = write!(
            text,
            "[[check]]\nname = \"p{i}\"\nreference = \"a{i}.ptx\"\noptimized = \"b{i}.ptx\"\nthreads = 1\n\
             args = {{ \"0\" = \"in:f32[3]\", \"1\" = \"out:u32[1]\" }}\n"
        );
        pairs.push((ops, other, end));
    }
    let path = folder.join("volta.toml");
    std::fs::write(&path, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_volta"));
    command
        .arg("gate")
        .arg(&path)
        .args(["--no-cache", "--json"]);
    let out: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    let entries = out["entries"].as_array().unwrap();
    assert_eq!(entries.len(), PAIRS);
    let (mut equal, mut refuted) = (0, 0);
    for (e, (a, b, end)) in entries.iter().zip(&pairs) {
        match e["result"]["verdict"].as_str() {
            Some("equivalent") => {
                equal += 1;
                for _ in 0..INPUTS {
                    let x = [(); 3].map(|_| r.float());
                    if let (Some(p), Some(q)) = (execute(a, *end, x), execute(b, *end, x)) {
                        assert_eq!(p, q, "{}: {a:?} and {b:?}, {end:?} on {x:?}", e["name"]);
                    }
                }
            }
            Some("not-equivalent") => {
                refuted += 1;
                let mut x = [0f32; 3];
                // What is not named is 0.
                let given = e["result"]["counterexample"]["inputs"]["px"].as_array();
                for v in given.into_iter().flatten() {
                    let at = v["element"][0].as_u64().unwrap() as usize;
                    x[at] = f32::from_bits(v["value"]["bits"].as_u64().unwrap() as u32);
                }
                // Of what overflows nothing is claimed here.
                if let (Some(p), Some(q)) = (execute(a, *end, x), execute(b, *end, x)) {
                    assert_ne!(p, q, "{}: {a:?} and {b:?}, {end:?} on {x:?}", e["name"]);
                }
            }
            Some("unknown") => {}
            other => panic!("{other:?} of {}", e["name"]),
        }
    }
    (equal, refuted)
}
