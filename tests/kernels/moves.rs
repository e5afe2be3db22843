//! Instructions that move values without changing them: every spelling of `ldmatrix`, `stmatrix`, `movmatrix`
//! and `cp.async` that the table of instruction forms has, against what the manual says goes where.
//!
//! Matrices (PTX ISA 9.0, sections 9.7.14.5.15 to 9.7.14.5.17): the elements of a matrix of 8x8 halves, 8x16 or
//! 16x16 bytes, counted row by row, lie in a warp one after the other, four bytes in each register; with
//! `.trans` they are counted column by column. So a warp that stores its registers lane by lane gives
//! the matrix, or its transpose. Elements of four and six bits become bytes. A matrix of 16x8 bytes is held as
//! the accumulator of `mma` and stored by columns. Rows lie apart
//! and in another order in shared memory, and lanes whose addresses do not count have bad ones.
//!
//! Copies (section 9.7.9.25.3.1): bytes after the first `src-size` are zeros, and so is all of a copy that
//! ignores its source. The shared memory holds something else before. A size of all bytes,
//! which compilers write, copies all: the section says "less" in one sentence, but undefined is only what is larger.

use std::fmt::Write as _;
use std::path::Path;

use volta::ptx::{Op, table};

use super::manifest::{folder, gate};

const HEAD: &str =
    ".version 9.0\n.target sm_120a\n.address_size 64\n.shared .align 16 .b8 buffer[8192];\n";
const REGISTERS: &str = "{\n.reg .b64 %q<16>;\n.reg .b32 %r<32>;\n.reg .b16 %h<4>;\n.reg .pred %p<4>;\n\
     ld.param.u64 %q1, [pa];\nld.param.u64 %q2, [pb];\nld.param.u64 %q3, [pc];\nmov.u32 %r1, %tid.x;\n";

fn entry(name: &str, body: &str) -> String {
    let params = "(.param .u64 pa, .param .u64 pb, .param .u64 pc)";
    format!("{HEAD}.visible .entry {name}{params}\n{REGISTERS}{body}ret;\n}}\n")
}

/// What the elements of a matrix are, and how they are counted.
#[derive(Clone, Copy, PartialEq)]
enum Elements {
    /// 8x8 elements of 16 bits.
    Halves { trans: bool },
    /// 16x16 bytes by columns; or by rows, which no instruction does.
    Square { trans: bool },
    /// 16x8 bytes as an accumulator; or one after the other, which no instruction does.
    Accumulator { is: bool },
    /// 8x16 elements of so many bits, which become bytes.
    Narrow { bits: usize },
    /// The same, 16x16 by columns.
    NarrowSquare { bits: usize },
}

impl Elements {
    fn read(has: impl Fn(&str) -> bool) -> Elements {
        let bits = if has("b6x16_p32") { 6 } else { 4 };
        match () {
            () if has("m16n8") => Elements::Accumulator { is: true },
            () if has("m8n16") => Elements::Narrow { bits },
            () if has("m16n16") && has("b8") => Elements::Square { trans: true },
            () if has("m16n16") => Elements::NarrowSquare { bits },
            () => Elements::Halves {
                trans: has("trans"),
            },
        }
    }

    /// Something else.
    fn wrong(self) -> Elements {
        match self {
            Elements::Halves { trans } => Elements::Halves { trans: !trans },
            Elements::Square { trans } => Elements::Square { trans: !trans },
            Elements::Accumulator { is } => Elements::Accumulator { is: !is },
            Elements::Narrow { bits } => Elements::Narrow { bits: 10 - bits },
            Elements::NarrowSquare { bits } => Elements::NarrowSquare { bits: 10 - bits },
        }
    }

    /// The definition, a thread for each element.
    fn plain(self) -> String {
        // %r2: what element %r1 of the output is of the input.
        let by_columns = "and.b32 %r2, %r1, -256;\nbfe.u32 %r3, %r1, 4, 4;\nor.b32 %r2, %r2, %r3;\n\
                          and.b32 %r3, %r1, 15;\nshl.b32 %r3, %r3, 4;\nor.b32 %r2, %r2, %r3;\n";
        let mut s = String::from("mov.u32 %r2, %r1;\n");
        s += match self {
            Elements::Halves { trans: true } => {
                "and.b32 %r2, %r1, 192;\nbfe.u32 %r3, %r1, 3, 3;\nor.b32 %r2, %r2, %r3;\n\
                 and.b32 %r3, %r1, 7;\nshl.b32 %r3, %r3, 3;\nor.b32 %r2, %r2, %r3;\n"
            }
            Elements::Square { trans: true } | Elements::NarrowSquare { .. } => by_columns,
            // Byte m of memory row n: lane 4 (m % 8) + n / 2, byte n % 2 + 2 (m / 8).
            Elements::Accumulator { is: true } => {
                "and.b32 %r2, %r1, -128;\nbfe.u32 %r3, %r1, 0, 3;\nbfi.b32 %r2, %r3, %r2, 4, 3;\n\
                 bfe.u32 %r3, %r1, 5, 2;\nbfi.b32 %r2, %r3, %r2, 2, 2;\n\
                 bfe.u32 %r3, %r1, 3, 1;\nbfi.b32 %r2, %r3, %r2, 1, 1;\n\
                 bfe.u32 %r3, %r1, 4, 1;\nbfi.b32 %r2, %r3, %r2, 0, 1;\n"
            }
            _ => "",
        };
        match self {
            Elements::Halves { .. } => {
                s += "mul.wide.u32 %q4, %r2, 2;\nadd.u64 %q4, %q1, %q4;\nld.global.b16 %h1, [%q4];\n\
                      mul.wide.u32 %q5, %r1, 2;\nadd.u64 %q5, %q2, %q5;\nst.global.b16 [%q5], %h1;\n";
            }
            Elements::Narrow { bits } | Elements::NarrowSquare { bits } => {
                // The element begins in byte %r4 of its row, after %r5 bits.
                let _ = write!(
                    s,
                    "and.b32 %r3, %r2, 15;\nsub.u32 %r2, %r2, %r3;\nmul.lo.u32 %r3, %r3, {bits};\n\
                     shr.u32 %r4, %r3, 3;\nand.b32 %r5, %r3, 7;\nadd.u32 %r2, %r2, %r4;\n\
                     cvt.u64.u32 %q4, %r2;\nadd.u64 %q4, %q1, %q4;\nld.global.u8 %r6, [%q4];\n\
                     ld.global.u8 %r7, [%q4+1];\nshl.b32 %r7, %r7, 8;\nor.b32 %r6, %r6, %r7;\n\
                     shr.u32 %r6, %r6, %r5;\nand.b32 %r6, %r6, {};\n",
                    (1 << bits) - 1
                );
                s += "cvt.u64.u32 %q5, %r1;\nadd.u64 %q5, %q2, %q5;\nst.global.u8 [%q5], %r6;\n";
            }
            Elements::Square { .. } | Elements::Accumulator { .. } => {
                s += "cvt.u64.u32 %q4, %r2;\nadd.u64 %q4, %q1, %q4;\nld.global.u8 %r6, [%q4];\n\
                      cvt.u64.u32 %q5, %r1;\nadd.u64 %q5, %q2, %q5;\nst.global.u8 [%q5], %r6;\n";
            }
        }
        entry("plain", &s)
    }
}

/// What a spelling of a matrix instruction says.
struct Matrices {
    text: String,
    registers: usize,
    elements: Elements,
    generic: bool,
}

impl Matrices {
    fn read(text: &str) -> Matrices {
        let has = |word: &str| text.split('.').any(|w| w == word);
        let count = ["x1", "x2", "x4"].iter().position(|x| has(x)).unwrap_or(0);
        Matrices {
            text: text.to_string(),
            registers: (1 << count) * if has("m16n16") { 2 } else { 1 },
            elements: Elements::read(has),
            generic: !has("shared") && !has("shared::cta"),
        }
    }

    /// The warp with the instruction; `swap` exchanges the first two registers.
    fn warp(&self, swap: bool) -> String {
        let moves = self.text.starts_with("movmatrix");
        let loads = self.text.starts_with("ldmatrix");
        let rows = 8 * self.registers;
        let mut s = String::new();
        // %q4 and %q5: the lane's row in the arrays; %q6 and %q7: its word of the first matrix.
        s += "mul.wide.u32 %q9, %r1, 16;\nadd.u64 %q4, %q1, %q9;\nadd.u64 %q5, %q2, %q9;\n\
              mul.wide.u32 %q9, %r1, 4;\nadd.u64 %q6, %q1, %q9;\nadd.u64 %q7, %q2, %q9;\n";
        // Row i is the (5 i + 3)-th of 32 rows of 48 bytes.
        let _ = write!(
            s,
            "mad.lo.u32 %r2, %r1, 5, 3;\nand.b32 %r2, %r2, 31;\nmov.u32 %r3, buffer;\n\
             mad.lo.u32 %r2, %r2, 48, %r3;\nsetp.lt.u32 %p1, %r1, {rows};\nadd.u32 %r4, %r2, 1;\n\
             selp.b32 %r4, %r2, %r4, %p1;\ncvt.u64.u32 %q8, %r4;\ncvta.shared.u64 %q8, %q8;\n"
        );
        let address = if self.generic { "%q8" } else { "%r4" };
        let mut names: Vec<String> = (0..self.registers)
            .map(|i| format!("%r{}", 10 + i))
            .collect();
        if loads {
            s += "@%p1 ld.global.v4.b32 {%r20, %r21, %r22, %r23}, [%q4];\n\
                  @%p1 st.shared.v4.b32 [%r2], {%r20, %r21, %r22, %r23};\nbar.sync 0;\n";
        } else {
            for (i, name) in names.iter().enumerate() {
                let _ = writeln!(s, "ld.global.b32 {name}, [%q6+{}];", 128 * i);
            }
        }
        let ordered = names.clone();
        if swap {
            names.swap(0, 1);
        }
        let list = names.join(", ");
        let _ = match (moves, loads) {
            (true, _) => writeln!(s, "{} %r10, %r10;", self.text),
            (_, true) => writeln!(s, "{} {{{list}}}, [{address}];", self.text),
            _ => writeln!(s, "{} [{address}], {{{list}}};", self.text),
        };
        if loads || moves {
            for (i, name) in ordered.iter().enumerate() {
                let _ = writeln!(s, "st.global.b32 [%q7+{}], {name};", 128 * i);
            }
        } else {
            s += "bar.sync 0;\n@%p1 ld.shared.v4.b32 {%r20, %r21, %r22, %r23}, [%r2];\n\
                  @%p1 st.global.v4.b32 [%q5], {%r20, %r21, %r22, %r23};\n";
        }
        entry("warp", &s)
    }

    fn check(&self, folder: &Path, plain: String, warp: String, expect: &str) -> String {
        let name = self.text.replace(['.', ':'], "_");
        let (ty, threads) = match self.elements {
            Elements::Halves { .. } => ("f16", 64 * self.registers),
            _ => ("u8", 128 * self.registers),
        };
        let args = format!(
            "\"0\" = \"in:{ty}[{threads}]\", \"1\" = \"out:{ty}[{threads}]\", \"2\" = \"in:u32[32]\""
        );
        pair(folder, &name, (plain, threads), warp, &args, expect)
    }
}

/// A pair of kernels, and its entry in a manifest.
fn pair(
    folder: &Path,
    name: &str,
    (plain, threads): (String, usize),
    warp: String,
    args: &str,
    expect: &str,
) -> String {
    std::fs::write(folder.join(format!("{name}_plain.ptx")), plain).unwrap();
    std::fs::write(folder.join(format!("{name}_warp.ptx")), warp).unwrap();
    format!(
        "[[check]]\nname = \"{name}\"\nreference = {{ file = \"{name}_plain.ptx\", block = [{threads}, 1, 1] }}\n\
         optimized = {{ file = \"{name}_warp.ptx\", block = [32, 1, 1] }}\nargs = {{ {args} }}\n\
         expect = \"{expect}\"\n\n"
    )
}

fn matrices() -> Vec<Matrices> {
    [Op::Ldmatrix, Op::Stmatrix, Op::Movmatrix]
        .into_iter()
        .flat_map(table::spelled)
        .map(|text| Matrices::read(&text))
        .collect()
}

#[test]
fn matrices_by_definition() {
    let folder = folder("moves_matrices");
    let all = matrices();
    // Three spaces for three counts of four and two counts of three kinds of loads, and three counts of three kinds
    // of stores; and one more.
    assert_eq!(all.len(), 3 * (3 * 4 + 2 * 3 + 3 * 3) + 1);
    let manifest: Vec<String> = all
        .iter()
        .map(|m| m.check(&folder, m.elements.plain(), m.warp(false), "equivalent"))
        .collect();
    gate(&folder, &manifest, false);
}

/// The other order is another matrix.
#[test]
fn matrices_in_the_other_order() {
    let folder = folder("moves_other_order");
    let manifest: Vec<String> = matrices()
        .iter()
        .map(|m| {
            m.check(
                &folder,
                m.elements.wrong().plain(),
                m.warp(false),
                "not-equivalent",
            )
        })
        .collect();
    gate(&folder, &manifest, false);
}

/// And so are two matrices in the other order.
#[test]
fn matrices_exchanged() {
    let folder = folder("moves_exchanged");
    let all = matrices();
    let manifest: Vec<String> = all
        .iter()
        .filter(|m| m.registers > 1)
        .map(|m| m.check(&folder, m.elements.plain(), m.warp(true), "not-equivalent"))
        .collect();
    gate(&folder, &manifest, false);
}

/// What tells a copy how much to read.
#[derive(Clone, Copy)]
enum Limit {
    /// Nothing does.
    All,
    Constant(usize),
    /// The lane modulo one more than all.
    ByLane,
    /// Odd lanes ignore the source; even ones do where the predicate is negated.
    Odd {
        negated: bool,
    },
    /// Half or nothing, by an element of the input.
    ByInput,
    /// Ignored or not, by an element of the input.
    IgnoredByInput,
}

/// How the definition is changed.
#[derive(Clone, Copy, PartialEq)]
enum Twin {
    Right,
    /// The rest is something else than zeros.
    Filled,
    /// Predicates mean the opposite.
    Opposite,
    /// Sizes are one more, where there is one more.
    Longer,
}

/// A spelling of `cp.async` with a number of bytes.
struct Copies {
    text: String,
    size: usize,
}

impl Copies {
    fn all() -> Vec<Copies> {
        let sizes = |text: String| {
            let all: &[usize] = if text.contains(".ca.") {
                &[4, 8, 16]
            } else {
                &[16]
            };
            all.iter().map(move |&size| Copies {
                text: text.clone(),
                size,
            })
        };
        table::spelled(Op::CpAsync)
            .into_iter()
            .flat_map(sizes)
            .collect()
    }

    fn limits(&self) -> Vec<Limit> {
        let constants = [0, 1, 3, self.size / 2, self.size].map(Limit::Constant);
        let [odd, even] = [false, true].map(|negated| Limit::Odd { negated });
        let others = [odd, even, Limit::ByInput, Limit::IgnoredByInput];
        [Limit::All, Limit::ByLane]
            .into_iter()
            .chain(constants)
            .chain(others)
            .collect()
    }

    /// Puts the lane's element of the second array, compared with 7, into a predicate.
    const BY_INPUT: &str = "mul.wide.u32 %q9, %r2, 4;\nadd.u64 %q9, %q3, %q9;\n\
        ld.global.b32 %r9, [%q9];\nsetp.lt.u32 %p1, %r9, 7;\n";

    /// A warp that makes all copies; lanes are 16 bytes apart.
    fn warp(&self) -> String {
        let size = self.size;
        let mut s = String::from(
            "mov.u32 %r2, %r1;\nmul.wide.u32 %q9, %r1, 16;\nadd.u64 %q4, %q1, %q9;\nadd.u64 %q5, %q2, %q9;\n\
             mov.u32 %r3, buffer;\nmad.lo.u32 %r3, %r1, 16, %r3;\nmov.u32 %r5, 0x55555555;\n",
        );
        let hint = self.text.contains("cache_hint");
        if hint {
            s += "createpolicy.fractional.L2::evict_first.b64 %q10, 1.0;\n";
        }
        let policy = if hint { ", %q10" } else { "" };
        for (i, limit) in self.limits().into_iter().enumerate() {
            let at = 512 * i;
            let _ = writeln!(s, "st.shared.v4.b32 [%r3+{at}], {{%r5, %r5, %r5, %r5}};");
            let how = match limit {
                Limit::All => String::new(),
                Limit::Constant(n) => format!(", {n}"),
                Limit::ByLane => {
                    let _ = writeln!(s, "rem.u32 %r6, %r1, {};", size + 1);
                    ", %r6".into()
                }
                Limit::Odd { negated } => {
                    s += "and.b32 %r6, %r1, 1;\nsetp.eq.u32 %p2, %r6, 1;\n";
                    if negated { ", !%p2" } else { ", %p2" }.into()
                }
                Limit::ByInput => {
                    let _ = writeln!(s, "{}selp.b32 %r6, {}, 0, %p1;", Self::BY_INPUT, size / 2);
                    ", %r6".into()
                }
                Limit::IgnoredByInput => {
                    s += Self::BY_INPUT;
                    ", %p1".into()
                }
            };
            let text = &self.text;
            let _ = writeln!(s, "{text} [%r3+{at}], [%q4+{at}], {size}{how}{policy};");
        }
        s += "cp.async.commit_group;\ncp.async.wait_group 0;\n";
        let words = [
            "",
            "b32 %r6",
            "v2.b32 {%r6, %r7}",
            "",
            "v4.b32 {%r6, %r7, %r8, %r9}",
        ];
        let (ty, to) = words[size / 4].split_once(' ').unwrap();
        for at in (0..self.limits().len()).map(|i| 512 * i) {
            let _ = writeln!(
                s,
                "ld.shared.{ty} {to}, [%r3+{at}];\nst.global.{ty} [%q5+{at}], {to};"
            );
        }
        entry("warp", &s)
    }

    /// The definition, a thread for each byte of a copy of a warp.
    fn plain(&self, twin: Twin) -> String {
        let size = self.size;
        let mut s = String::from(
            "shr.u32 %r2, %r1, 4;\nand.b32 %r3, %r1, 15;\ncvt.u64.u32 %q9, %r1;\nadd.u64 %q4, %q1, %q9;\n\
             add.u64 %q5, %q2, %q9;\n",
        );
        let _ = writeln!(s, "setp.ge.u32 %p3, %r3, {size};\n@%p3 ret;");
        let fill = if twin == Twin::Filled { 0x55 } else { 0 };
        for (i, limit) in self.limits().into_iter().enumerate() {
            let at = 512 * i;
            let (mut yes, mut no) = (size, 0);
            if twin == Twin::Opposite {
                (yes, no) = (no, yes);
            }
            let _ = match limit {
                Limit::All => writeln!(s, "mov.u32 %r6, {size};"),
                Limit::Constant(n) => writeln!(s, "mov.u32 %r6, {n};"),
                Limit::ByLane => writeln!(s, "rem.u32 %r6, %r2, {};", size + 1),
                Limit::Odd { negated } => {
                    let odd = if negated { yes } else { no };
                    let even = yes + no - odd;
                    writeln!(
                        s,
                        "and.b32 %r6, %r2, 1;\nsetp.eq.u32 %p2, %r6, 1;\nselp.b32 %r6, {odd}, {even}, %p2;"
                    )
                }
                Limit::ByInput => {
                    writeln!(s, "{}selp.b32 %r6, {}, 0, %p1;", Self::BY_INPUT, size / 2)
                }
                Limit::IgnoredByInput => {
                    writeln!(s, "{}selp.b32 %r6, {no}, {yes}, %p1;", Self::BY_INPUT)
                }
            };
            if twin == Twin::Longer {
                s += "add.u32 %r6, %r6, 1;\n";
            }
            let _ = writeln!(
                s,
                "ld.global.u8 %r7, [%q4+{at}];\nsetp.lt.u32 %p2, %r3, %r6;\nselp.b32 %r7, %r7, {fill}, %p2;\n\
                 st.global.u8 [%q5+{at}], %r7;"
            );
        }
        entry("plain", &s)
    }

    fn check(&self, folder: &Path, twin: Twin, expect: &str) -> String {
        let name = format!(
            "{}_{}_{}",
            self.text.replace(['.', ':'], "_"),
            self.size,
            twin as u8
        );
        let bytes = 512 * self.limits().len();
        let args = format!(
            "\"0\" = \"in:u8[{bytes}]\", \"1\" = \"out:u8[{bytes}]\", \"2\" = \"in:u32[32]\""
        );
        pair(
            folder,
            &name,
            (self.plain(twin), 512),
            self.warp(),
            &args,
            expect,
        )
    }
}

#[test]
fn copies_by_definition() {
    let folder = folder("moves_copies");
    let all = Copies::all();
    // Two spaces, with and without a policy, four widths of fetching; three sizes and one.
    assert_eq!(all.len(), 2 * 2 * 4 * (3 + 1));
    let manifest: Vec<String> = all
        .iter()
        .map(|c| c.check(&folder, Twin::Right, "equivalent"))
        .collect();
    gate(&folder, &manifest, false);
}

#[test]
fn copies_of_wrong_twins() {
    let folder = folder("moves_wrong_copies");
    let twins = [Twin::Filled, Twin::Opposite, Twin::Longer];
    let manifest: Vec<String> = Copies::all()
        .iter()
        .step_by(7)
        .flat_map(|c| twins.map(|twin| c.check(&folder, twin, "not-equivalent")))
        .collect();
    gate(&folder, &manifest, false);
}

/// Reading more than is written is undefined.
#[test]
fn copies_of_too_much() {
    let folder = folder("moves_too_much");
    let copy = "cp.async.ca.shared.global [%r3], [%q1], 4, 5;\ncp.async.wait_all;\n";
    let text = entry("warp", &format!("mov.u32 %r3, buffer;\n{copy}"));
    std::fs::write(folder.join("much.ptx"), text).unwrap();
    let manifest = "[[race]]\nname = \"much\"\nkernel = \"much.ptx\"\nthreads = 1\nexpect = \"unknown\"\n\
         args = { \"0\" = \"in:u8[16]\", \"1\" = \"out:u8[16]\", \"2\" = \"in:u32[32]\" }\n";
    let text = gate(&folder, &[manifest.to_string()], true);
    assert!(text.contains("reads more than it writes"), "{text}");
}
