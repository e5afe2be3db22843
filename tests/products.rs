//! Every spelling of `mma` and `mma.sp` that the table of instruction forms has, against the plain product
//! by symbol: a warp loads its fragments, and what the instruction gives must be what the definition says.
//!
//! The layout is written here in another way than in the simulator: as matrices of eight rows of four
//! words each (PTX ISA 9.0, section 9.7.14.5.15), word j of row i in lane 4 i + j, which the registers of
//! a factor hold one after the other, those below each other first. Rows of a and columns of b are
//! contiguous in memory.
//!
//! Spellings that the simulator does not model are named with the reason, and must end in `unknown`.

use std::fmt::Write as _;
use std::process::Command;

use volta::ptx::{Op, table};

mod manifest;

use manifest::{folder, gate};

/// What a spelling says.
#[derive(Clone)]
struct Product {
    text: String,
    m: usize,
    k: usize,
    /// Types of d, a, b and c.
    types: [String; 4],
    sparse: bool,
    ordered: bool,
    clamp: bool,
    /// Four products of quads of lanes; true for a by columns, and for b by rows.
    quads: Option<[bool; 2]>,
    xor: bool,
}

/// Why the simulator does not take a spelling.
fn unmodelled(text: &str) -> Option<&'static str> {
    text.contains("block_scale").then_some(
        "the manual shows only in figures which bytes of which lanes scale which rows and columns",
    )
}

fn bits(ty: &str) -> usize {
    match ty {
        "f64" => 64,
        "f32" | "tf32" | "s32" | "b1" => 32,
        "f16" | "bf16" => 16,
        "s4" | "u4" => 4,
        _ => 8,
    }
}

/// The type of an array that holds elements of a type.
fn array(ty: &str) -> &str {
    match ty {
        "tf32" => "f32",
        "b1" => "u32",
        "s4" | "u4" | "e2m3" | "e3m2" | "e2m1" => "u8",
        other => other,
    }
}

const HEAD: &str = ".version 9.0\n.target sm_120a\n.address_size 64\n";
const PARAMS: &str = "(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)\n{\n.reg .b64 %q<64>;\n\
     .reg .b32 %r<64>;\n.reg .f32 %f<64>;\n.reg .f64 %d<64>;\n.reg .b16 %h<64>;\n.reg .b8 %c<4>;\n\
     .reg .pred %p<8>;\nld.param.u64 %q1, [pa];\nld.param.u64 %q2, [pb];\nld.param.u64 %q3, [pc];\n\
     ld.param.u64 %q4, [pd];\nmov.u32 %r1, %tid.x;\n";

impl Product {
    fn read(text: &str) -> Product {
        let words: Vec<&str> = text.split('.').collect();
        let has = |word: &str| words.contains(&word);
        let shape = words
            .iter()
            .find(|w| w.starts_with('m') && w.contains("n8k"))
            .unwrap();
        let (m, k) = shape[1..].split_once("n8k").unwrap();
        let known = |w: &&&str| {
            bits(w) != 8 || ["s8", "u8", "e4m3", "e5m2", "e2m3", "e3m2", "e2m1"].contains(*w)
        };
        let types: Vec<String> = words.iter().filter(known).map(|w| w.to_string()).collect();
        let quads = (*shape == "m8n8k4" && has("f16")).then(|| {
            let at = words.iter().position(|w| w == shape).unwrap();
            [words[at + 1] == "col", words[at + 2] == "row"]
        });
        Product {
            text: text.to_string(),
            m: m.parse().unwrap(),
            k: k.parse().unwrap(),
            types: types[..4].to_vec().try_into().unwrap(),
            sparse: text.starts_with("mma.sp"),
            ordered: text.contains("ordered_metadata"),
            clamp: has("satfinite"),
            quads,
            xor: has("xor"),
        }
    }

    /// Rows of the whole matrices, of which a quarter belongs to each product of quads.
    fn rows(&self) -> usize {
        if self.quads.is_some() { 32 } else { self.m }
    }

    /// Columns of b.
    fn columns(&self) -> usize {
        if self.quads.is_some() { 32 } else { 8 }
    }

    /// The inner dimension in elements of memory; of b1 those are words.
    fn depth(&self) -> usize {
        if self.types[1] == "b1" {
            self.k / 32
        } else {
            self.k
        }
    }

    /// Elements of a that are held for each row.
    fn held(&self) -> usize {
        self.depth() / (1 + usize::from(self.sparse))
    }

    /// Four bits of metadata, the same for all chunks.
    fn metadata(&self) -> u32 {
        let kinds: &[u32] = match (self.types[1].as_str(), self.ordered) {
            ("tf32", _) => &[0b1110, 0b0100],
            (_, true) => &[0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110],
            _ => &[0b0001, 0b1000, 0b0110, 0b1001, 0b0111, 0b1110, 0b0010],
        };
        kinds[self.text.len() % kinds.len()]
    }

    /// Lanes of a group of four that hold metadata, and the selector that says so: the last there is.
    fn selected(&self) -> (std::ops::Range<usize>, usize) {
        let chunk = match self.types[1].as_str() {
            "tf32" => 2,
            "s4" | "u4" => 8,
            _ => 4,
        };
        // Four bits for each chunk of two rows.
        let lanes = 2 * self.k / chunk * 4 / 32;
        let selector = 4 / lanes - 1;
        (lanes * selector..lanes * (selector + 1), selector)
    }

    /// The column of a of each element held.
    fn column(&self, i: usize) -> usize {
        if !self.sparse {
            return i;
        }
        let meta = self.metadata();
        let place = |which: usize| (meta >> (2 * which) & 3) as usize;
        match self.types[1].as_str() {
            "tf32" => 2 * i + usize::from(meta == 0b1110),
            "s4" | "u4" => 8 * (i / 4) + 2 * place(i / 2 % 2) + i % 2,
            _ => 4 * (i / 2) + place(i % 2),
        }
    }

    /// The byte in memory of word `r` of a factor in a lane: of a, or of b.
    fn factor(&self, b: bool, r: usize, lane: usize) -> usize {
        let ty = &self.types[1 + usize::from(b)];
        if let Some(others) = self.quads {
            // Each lane has two words of one row (or column); by the other layout, of one column.
            let (own, half) = (8 * (lane % 16 / 4) + 4 * (lane / 16), lane % 4);
            return match others[usize::from(b)] {
                false => 8 * (own + half) + 4 * r,
                true => 2 * (32 * half + own) + 4 * r,
            };
        }
        let word = bits(ty).max(32) / 8;
        let pitch = if b { self.depth() } else { self.held() } * bits(ty) / 8;
        let (i, j) = (lane / 4, lane % 4);
        let below = if b { 1 } else { self.m / 8 };
        (8 * (r % below) + i) * pitch + word * (4 * (r / below) + j)
    }

    /// The byte in memory of register `r` of an accumulator of a type in a lane.
    fn sum(&self, ty: &str, r: usize, lane: usize) -> usize {
        let size = bits(ty) / 8;
        let per = if ty == "f16" { 2 } else { 1 };
        let (row, column) = match (self.quads.is_some(), ty) {
            (true, "f16") => (8 * (lane % 16 / 4) + 4 * (lane / 16) + lane % 4, 2 * r),
            (true, _) => {
                let own = 8 * (lane % 16 / 4) + 4 * (lane / 16);
                (own + lane % 2 + (r & 2), (r & 4) + (lane & 2) + r % 2)
            }
            _ => (8 * (r * per / 2) + lane / 4, 2 * (lane % 4) + r * per % 2),
        };
        size * (8 * row + column)
    }

    /// Registers of an accumulator: their prefix, type in memory, and how many.
    fn sums(&self, ty: &str) -> (&'static str, &'static str, usize) {
        let elements = self.rows() * 8 / 32;
        match ty {
            "f64" => ("%d", "f64", elements),
            "f32" => ("%f", "f32", elements),
            "f16" => ("%r", "b32", elements / 2),
            _ => ("%r", "b32", elements),
        }
    }

    /// Puts the address of a lane into a 64-bit register; the byte must be a sum over the lane's bits.
    fn address(s: &mut String, base: usize, to: usize, byte: impl Fn(usize) -> usize) -> usize {
        let weight = |bit: usize| byte(1 << bit) - byte(0);
        for lane in 0..32 {
            let own = (0..5)
                .map(|bit| (lane >> bit & 1) * weight(bit))
                .sum::<usize>();
            assert_eq!(byte(lane), byte(0) + own, "a layout by bits of the lane");
        }
        let _ = writeln!(s, "mov.u32 %r3, 0;");
        for bit in 0..5 {
            let _ = writeln!(
                s,
                "bfe.u32 %r4, %r1, {bit}, 1;\nmad.lo.u32 %r3, %r4, {}, %r3;",
                weight(bit)
            );
        }
        let _ = writeln!(s, "cvt.u64.u32 %q9, %r3;\nadd.u64 %q{to}, %q{base}, %q9;");
        byte(0)
    }

    /// A warp with the instruction; `swap` exchanges two registers of a.
    fn fragments(&self, swap: bool) -> String {
        let mut s = format!("{HEAD}.visible .entry product{PARAMS}");
        let names = |prefix: &str, first: usize, count: usize| {
            let all: Vec<String> = (0..count)
                .map(|i| format!("{prefix}{}", first + i))
                .collect();
            format!("{{{}}}", all.join(", "))
        };
        let wide = self.types[1] == "f64";
        let (prefix, load) = if wide { ("%d", "f64") } else { ("%r", "b32") };
        let mut factor = |b: bool, first: usize| {
            let per = bits(&self.types[1 + usize::from(b)]);
            let elements = match (self.quads.is_some(), b) {
                (true, _) => 32 * 4,
                (_, true) => 8 * self.depth(),
                _ => self.m * self.held(),
            };
            let count = elements * per / (32 * per.max(32));
            for r in 0..count {
                let at = Self::address(&mut s, 1 + usize::from(b), 5, |lane| {
                    self.factor(b, r, lane)
                });
                let to = if swap && !b && (r == 1 || r == 2) {
                    3 - r
                } else {
                    r
                };
                let _ = writeln!(s, "ld.global.{load} {prefix}{}, [%q5+{at}];", first + to);
            }
            names(prefix, first, count)
        };
        let a = factor(false, 20);
        let b = factor(true, 30);
        let (reg, ty, count) = self.sums(&self.types[3]);
        for r in 0..count {
            let at = Self::address(&mut s, 3, 5, |lane| self.sum(&self.types[3], r, lane));
            let _ = writeln!(s, "ld.global.{ty} {reg}{}, [%q5+{at}];", 40 + r);
        }
        let c = names(reg, 40, count);
        let (reg, ty, count) = self.sums(&self.types[0]);
        let d = names(reg, 50, count);
        let mut tail = String::new();
        if self.sparse {
            // Lanes that are not selected hold what would be another matrix.
            let (lanes, selector) = self.selected();
            let meta = self.metadata().wrapping_mul(0x1111_1111);
            let _ = writeln!(
                s,
                "and.b32 %r5, %r1, 3;\nsetp.ge.u32 %p1, %r5, {};\nsetp.lt.and.u32 %p1, %r5, {}, %p1;\n\
                 selp.b32 %r6, {meta}, 0x44444444, %p1;",
                lanes.start, lanes.end
            );
            tail = format!(", %r6, {selector}");
        }
        let _ = writeln!(s, "{} {d}, {a}, {b}, {c}{tail};", self.text);
        for r in 0..count {
            let at = Self::address(&mut s, 4, 5, |lane| self.sum(&self.types[0], r, lane));
            let _ = writeln!(s, "st.global.{ty} [%q5+{at}], {reg}{};", 50 + r);
        }
        s + "ret;\n}\n"
    }

    /// Loads element i after the address in a register as a number into a register.
    fn load(s: &mut String, ty: &str, address: &str, i: usize, to: usize) {
        let at = i * bits(ty) / 8;
        let byte = format!("ld.global.u8 %r9, [{address}+{at}];");
        let _ = match ty {
            "f64" => writeln!(s, "ld.global.f64 %d{to}, [{address}+{at}];"),
            "f32" | "tf32" => writeln!(s, "ld.global.f32 %f{to}, [{address}+{at}];"),
            "b1" => writeln!(s, "ld.global.b32 %r{to}, [{address}+{at}];"),
            "f16" | "bf16" => writeln!(
                s,
                "ld.global.b16 %h1, [{address}+{at}];\ncvt.f32.{ty} %f{to}, %h1;"
            ),
            "e4m3" | "e5m2" => writeln!(
                s,
                "ld.global.b16 %h1, [{address}+{}];\ncvt.rn.f16x2.{ty}x2 %r9, %h1;\n\
                 mov.b32 {{%h2, %h3}}, %r9;\ncvt.f32.f16 %f{to}, %h{};",
                at & !1,
                2 + (at & 1)
            ),
            "e2m3" | "e3m2" => writeln!(
                s,
                "{byte}\ncvt.u16.u32 %h1, %r9;\ncvt.rn.f16x2.{ty}x2 %r9, %h1;\n\
                 mov.b32 {{%h2, %h3}}, %r9;\ncvt.f32.f16 %f{to}, %h2;"
            ),
            "e2m1" => writeln!(
                s,
                "{byte}\nbfe.u32 %r9, %r9, 2, 4;\ncvt.u8.u32 %c1, %r9;\ncvt.rn.f16x2.{ty}x2 %r9, %c1;\n\
                 mov.b32 {{%h2, %h3}}, %r9;\ncvt.f32.f16 %f{to}, %h2;"
            ),
            "s4" | "u4" => writeln!(
                s,
                "{byte}\nbfe.{}32 %r{to}, %r9, {}, 4;",
                &ty[..1],
                4 * (i % 2)
            ),
            _ => writeln!(s, "ld.global.{ty} %r{to}, [{address}+{at}];"),
        };
    }

    /// The definition, a thread for each element.
    fn plain(&self) -> String {
        let [d, a, b, c] = &self.types;
        let mut s = format!("{HEAD}.visible .entry plain{PARAMS}");
        let _ = writeln!(s, "shr.u32 %r2, %r1, 3;\nand.b32 %r3, %r1, 7;");
        // A product of quads takes eight columns of b, those of its eight rows.
        let quads = self.quads.unwrap_or_default();
        if self.quads.is_some() {
            let _ = writeln!(s, "and.b32 %r4, %r2, 24;\nadd.u32 %r3, %r3, %r4;");
        }
        let pitch = |ty: &str, other: bool, row: usize| {
            if other {
                bits(ty) / 8
            } else {
                row * bits(ty) / 8
            }
        };
        let (row, column) = (
            pitch(a, quads[0], self.held()),
            pitch(b, quads[1], self.depth()),
        );
        for (reg, pitch, base, to) in [
            (2, row, 1, 5),
            (3, column, 2, 6),
            (1, bits(c) / 8, 3, 7),
            (1, bits(d) / 8, 4, 8),
        ] {
            let _ = writeln!(
                s,
                "mul.wide.u32 %q9, %r{reg}, {pitch};\nadd.u64 %q{to}, %q{base}, %q9;"
            );
        }
        Self::load(&mut s, c, "%q7", 0, 20);
        if self.clamp {
            let _ = writeln!(s, "cvt.s64.s32 %q20, %r20;");
        }
        for i in 0..self.held() {
            let at = |other: bool, i: usize| if other { 32 * i } else { i };
            Self::load(&mut s, a, "%q5", at(quads[0], i), 21);
            Self::load(&mut s, b, "%q6", at(quads[1], self.column(i)), 22);
            let _ = match (a.as_str(), self.clamp) {
                ("f64", _) => writeln!(s, "fma.rn.f64 %d20, %d21, %d22, %d20;"),
                ("b1", _) => writeln!(
                    s,
                    "{}.b32 %r21, %r21, %r22;\npopc.b32 %r21, %r21;\nadd.s32 %r20, %r20, %r21;",
                    if self.xor { "xor" } else { "and" }
                ),
                ("s8" | "u8" | "s4" | "u4", true) => writeln!(
                    s,
                    "mul.lo.s32 %r21, %r21, %r22;\ncvt.s64.s32 %q9, %r21;\nadd.s64 %q20, %q20, %q9;"
                ),
                ("s8" | "u8" | "s4" | "u4", _) => {
                    writeln!(s, "mad.lo.s32 %r20, %r21, %r22, %r20;")
                }
                _ => writeln!(s, "fma.rn.f32 %f20, %f21, %f22, %f20;"),
            };
        }
        if self.clamp {
            let _ = writeln!(s, "cvt.sat.s32.s64 %r20, %q20;");
        }
        let _ = match d.as_str() {
            "f64" => writeln!(s, "st.global.f64 [%q8], %d20;"),
            "s32" => writeln!(s, "st.global.b32 [%q8], %r20;"),
            "f16" => writeln!(s, "cvt.rn.f16.f32 %h1, %f20;\nst.global.b16 [%q8], %h1;"),
            _ => writeln!(s, "st.global.f32 [%q8], %f20;"),
        };
        s + "ret;\n}\n"
    }

    /// The entry of a manifest that compares both.
    fn entry(&self, folder: &std::path::Path, name: &str, swap: bool, expect: &str) -> String {
        let write = |kind: &str, text: String| {
            let file = format!("{name}_{kind}.ptx");
            std::fs::write(folder.join(&file), text).unwrap();
            file
        };
        let (plain, product) = (
            write("plain", self.plain()),
            write("mma", self.fragments(swap)),
        );
        let [d, a, b, c] = &self.types;
        let bytes = |ty: &str, n: usize| if bits(ty) == 4 { n / 2 } else { n };
        let args = [
            format!("in:{}[{},{}]", array(a), self.rows(), bytes(a, self.held())),
            format!(
                "in:{}[{},{}]",
                array(b),
                self.columns(),
                bytes(b, self.depth())
            ),
            format!("in:{c}[{},8]", self.rows()),
            format!("out:{d}[{},8]", self.rows()),
        ];
        let args: Vec<String> = args
            .iter()
            .enumerate()
            .map(|(i, text)| format!("\"{i}\" = \"{text}\""))
            .collect();
        format!(
            "[[check]]\nname = \"{name}\"\nreference = {{ file = \"{plain}\", block = [{}, 1, 1] }}\n\
             optimized = {{ file = \"{product}\", block = [32, 1, 1] }}\nargs = {{ {} }}\nexpect = \"{expect}\"\n\n",
            self.rows() * 8,
            args.join(", ")
        )
    }
}

fn all(op: Op) -> Vec<Product> {
    let spelled = table::spelled(op);
    assert!(spelled.len() > 100, "{op}");
    spelled
        .iter()
        .filter(|text| unmodelled(text).is_none())
        .map(|text| Product::read(text))
        .collect()
}

fn expect_all(op: Op, name: &str) {
    let folder = folder(name);
    let products = all(op);
    let entries = products.iter().map(|p| {
        let name = p.text.replace(['.', ':'], "_");
        p.entry(&folder, &name, false, "equivalent")
    });
    gate(&folder, &entries.collect::<Vec<_>>(), false);
}

#[test]
fn dense() {
    expect_all(Op::Mma, "products_dense");
}

#[test]
fn sparse() {
    expect_all(Op::MmaSp, "products_sparse");
}

#[test]
fn sparse_in_order() {
    expect_all(Op::MmaSpOrdered, "products_ordered");
}

/// What is not modelled is refused by name, and nothing else is in that list.
#[test]
fn refused() {
    let folder = folder("products_refused");
    let mut manifest = Vec::new();
    for op in [Op::Mma, Op::MmaSp, Op::MmaSpOrdered] {
        for text in table::spelled(op)
            .iter()
            .filter(|text| unmodelled(text).is_some())
        {
            let name = text.replace(['.', ':'], "_");
            let scale = "%r1, {%h1, %h2}, %r1, {%h1, %h2}";
            let sparse = if op == Op::Mma { "" } else { "%r1, 0, " };
            let four = |p: &str| format!("{{{p}1, {p}2, {p}3, {p}4}}");
            let b = if op == Op::Mma {
                "{%r1, %r2}".into()
            } else {
                four("%r")
            };
            let body = format!(
                "{HEAD}.visible .entry product{PARAMS}mov.u32 %r2, 0;\nmov.u32 %r3, 0;\nmov.u32 %r4, 0;\n\
                 mov.b16 %h1, 0;\nmov.b16 %h2, 0;\nmov.f32 %f1, 0f00000000;\nmov.f32 %f2, %f1;\n\
                 mov.f32 %f3, %f1;\nmov.f32 %f4, %f1;\n\
                 {text} {}, {}, {b}, {}, {sparse}{scale};\nret;\n}}\n",
                four("%f"),
                four("%r"),
                four("%f"),
            );
            std::fs::write(folder.join(format!("{name}.ptx")), body).unwrap();
            manifest.push(format!(
                "[[race]]\nname = \"{name}\"\nkernel = \"{name}.ptx\"\nthreads = 32\nexpect = \"unknown\"\n\n"
            ));
        }
    }
    let text = gate(&folder, &manifest, true);
    assert_eq!(
        text.matches("\"kind\":\"unsupported-instruction\"").count()
            + text
                .matches("\"kind\": \"unsupported-instruction\"")
                .count(),
        manifest.len(),
        "{text}"
    );
}

/// Two registers of a in the other order are another product, and so is other metadata.
#[test]
fn wrong_twins() {
    let folder = folder("products_wrong");
    let mut manifest = Vec::new();
    let products = all(Op::Mma).into_iter().chain(all(Op::MmaSp));
    let four = products.filter(|p| {
        let size = p.m * p.held() * bits(&p.types[1]) / (32 * bits(&p.types[1]).max(32));
        p.m == 16 && size == 4 && !p.clamp
    });
    for p in four.step_by(5) {
        let name = p.text.replace(['.', ':'], "_");
        manifest.push(p.entry(&folder, &name, true, "not-equivalent"));
    }
    assert!(!manifest.is_empty());
    gate(&folder, &manifest, false);
}

/// Metadata that say different things of the chunks of a group are refused by name.
#[test]
fn mixed_metadata() {
    let p = Product::read("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
    let meta = p.metadata().wrapping_mul(0x1111_1111).to_string();
    let text = p.fragments(false).replace(&meta, "0x4444eeee");
    let path = folder("products_mixed").join("mixed.ptx");
    std::fs::write(&path, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_volta"));
    let out = command
        .arg("race")
        .arg(&path)
        .args([
            "--block",
            "32",
            "--arg",
            "0=in:f16[16,8]",
            "--arg",
            "1=in:f16[8,16]",
        ])
        .args(["--arg", "2=in:f32[16,8]", "--arg", "3=out:f32[16,8]"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(text.contains("unknown[unspecified-layout]"), "{text}");
}
