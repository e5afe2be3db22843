//! Every spelling of `mma` and `mma.sp` that the table of instruction forms has, against the plain product
//! by symbol: a warp loads its fragments, and what the instruction gives must be what the definition says.
//!
//! The layout is written here in another way than in the simulator: as matrices of eight rows of four
//! words each (PTX ISA 9.0, section 9.7.14.5.15), word j of row i in lane 4 i + j, which the registers of
//! a factor hold one after the other, those below each other first. Rows of a and columns of b are
//! contiguous in memory. Metadata of sparse products differ between rows and chunks; scale factors between
//! rows, columns and chunks, and lanes and bytes that are not selected hold others.

use std::fmt::Write as _;

use volta::ptx::{Op, table};

use super::manifest::{folder, gate};

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
    /// Chunks of a row that have a factor each, and the type of the factors.
    scale: Option<(usize, &'static str)>,
}

fn bits(ty: &str) -> usize {
    match ty {
        "f64" => 64,
        "f32" | "tf32" | "s32" | "b1" => 32,
        "f16" | "bf16" => 16,
        "s4" | "u4" | PACKED => 4,
        _ => 8,
    }
}

/// Elements of `.e2m1` without padding.
const PACKED: &str = "packed e2m1";

/// The type of an array that holds elements of a type.
fn array(ty: &str) -> &str {
    match ty {
        "tf32" => "f32",
        "b1" => "u32",
        "s4" | "u4" | "e2m3" | "e3m2" | "e2m1" | PACKED => "u8",
        other => other,
    }
}

const HEAD: &str = ".version 9.0\n.target sm_120a\n.address_size 64\n";
const PARAMS: &str = "(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd, .param .u64 pe, .param .u64 pf)\n{\n.reg .b64 %q<64>;\n\
     .reg .b32 %r<64>;\n.reg .f32 %f<64>;\n.reg .f64 %d<64>;\n.reg .b16 %h<64>;\n.reg .b8 %c<4>;\n\
     .reg .pred %p<8>;\nld.param.u64 %q1, [pa];\nld.param.u64 %q2, [pb];\nld.param.u64 %q3, [pc];\n\
     ld.param.u64 %q4, [pd];\nld.param.u64 %q10, [pe];\nld.param.u64 %q11, [pf];\nmov.u32 %r1, %tid.x;\n";

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
        let mut types: Vec<String> = words.iter().filter(known).map(|w| w.to_string()).collect();
        if has("kind::mxf4") || has("kind::mxf4nvf4") {
            types[1..3].fill(PACKED.into());
        }
        let scale = has("block_scale").then(|| {
            let chunks = match () {
                () if has("scale_vec::4X") => 4,
                () if has("kind::mxf8f6f4") => 1,
                () => 2,
            };
            (chunks, if has("ue4m3") { "ue4m3" } else { "ue8m0" })
        });
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
            scale,
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

    /// Elements of a chunk, and how many neighbours of it stand and fall together.
    fn chunk(&self) -> (usize, usize) {
        match self.types[1].as_str() {
            "tf32" => (2, 1),
            "s4" | "u4" | PACKED => (8, 2),
            _ => (4, 1),
        }
    }

    /// The metadata that occur.
    fn kinds(&self) -> &'static [u32] {
        match (self.types[1].as_str(), self.ordered) {
            ("tf32", _) => &[0b1110, 0b0100],
            (_, true) => &[0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110],
            _ => &[0b0001, 0b1000, 0b0110, 0b1001, 0b0111, 0b1110, 0b0010],
        }
    }

    /// Rows and chunks differ: metadata kind `ROW` * row + `start(chunk)`, modulo the number of kinds.
    const ROW: usize = 3;

    fn start(&self, chunk: usize) -> usize {
        self.text.len() + 5 * chunk
    }

    /// Lanes of a group of four that hold metadata, and the selector that says so: the last there is.
    fn selected(&self) -> (std::ops::Range<usize>, usize) {
        // Four bits for each chunk of two rows.
        let lanes = 2 * self.k / self.chunk().0 * 4 / 32;
        let selector = 4 / lanes - 1;
        (lanes * selector..lanes * (selector + 1), selector)
    }

    /// The metadata in each lane. Lanes that are not selected hold what would be another matrix.
    fn metadata(&self) -> Vec<u32> {
        let (lanes, _) = self.selected();
        let kinds = self.kinds();
        let of =
            |row: usize, chunk: usize| kinds[(Self::ROW * row + self.start(chunk)) % kinds.len()];
        let word = |lane: usize| {
            let (g, t) = (lane / 4, lane % 4);
            if !lanes.contains(&t) {
                return 0x4444_4444;
            }
            let j = t - lanes.start;
            let nibble = |i: usize| match bits(&self.types[1]) {
                // Four chunks of a row, then the same of the other row.
                16.. => of(g + i / 4 * 8, 4 * j + i % 4),
                // Eight chunks of a row; the next lane has the other row.
                _ => of(g + j % 2 * 8, 8 * (j / 2) + i),
            };
            (0..8).map(|i| nibble(i) << (4 * i)).sum()
        };
        (0..32).map(word).collect()
    }

    /// The first byte of the factors, and the lanes of four that hold them: a pair for a, one for b.
    fn selectors(&self) -> (usize, [usize; 2]) {
        let by = self.text.len();
        let byte = match self.scale {
            Some((1, _)) => by % 4,
            Some((2, _)) => 2 * (by % 2),
            _ => 0,
        };
        (byte, [by / 2 % 2, by % 4])
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
        let mut s = String::from(HEAD);
        if self.sparse {
            let words: Vec<String> = self.metadata().iter().map(u32::to_string).collect();
            let _ = writeln!(
                s,
                ".const .align 4 .b32 metadata[32] = {{{}}};",
                words.join(", ")
            );
        }
        let _ = write!(s, ".visible .entry product{PARAMS}");
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
            s += "mul.wide.u32 %q9, %r1, 4;\nmov.u64 %q5, metadata;\nadd.u64 %q5, %q5, %q9;\n\
                  ld.const.b32 %r6, [%q5];\n";
            tail = format!(", %r6, {}", self.selected().1);
        }
        if let Some((chunks, _)) = self.scale {
            let (byte, lanes) = self.selectors();
            // The row of a or the column of b, and whether the lane is selected.
            s += "shr.u32 %r3, %r1, 2;\nand.b32 %r4, %r1, 3;\nand.b32 %r5, %r1, 1;\nmad.lo.u32 %r5, %r5, 8, %r3;\n";
            let _ = writeln!(
                s,
                "shr.u32 %r9, %r4, 1;\nsetp.eq.u32 %p1, %r9, {};\nsetp.eq.u32 %p2, %r4, {};",
                lanes[0], lanes[1]
            );
            for (to, base, index, p) in [(7, 10, 5, 1), (8, 11, 3, 2)] {
                let _ = writeln!(
                    s,
                    "mul.wide.u32 %q9, %r{index}, {chunks};\nadd.u64 %q9, %q9, %q{base};\nmov.u32 %r{to}, 0x7b7b7b7b;"
                );
                for i in 0..chunks {
                    let _ = writeln!(
                        s,
                        "ld.global.u8 %r9, [%q9+{i}];\nbfi.b32 %r{to}, %r9, %r{to}, {}, 8;",
                        8 * (byte + i)
                    );
                }
                let _ = writeln!(s, "selp.b32 %r{to}, %r{to}, 0x7a7a7a7a, %p{p};");
            }
            let _ = write!(
                tail,
                ", %r7, {{{byte}, {}}}, %r8, {{{byte}, {}}}",
                lanes[0], lanes[1]
            );
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
            "e4m3" | "e5m2" | "e2m3" | "e3m2" => writeln!(
                s,
                "{byte}\ncvt.u16.u32 %h1, %r9;\ncvt.rn.f16x2.{ty}x2 %r9, %h1;\n\
                 mov.b32 {{%h2, %h3}}, %r9;\ncvt.f32.f16 %f{to}, %h2;"
            ),
            "e2m1" => writeln!(
                s,
                "{byte}\nbfe.u32 %r9, %r9, 2, 4;\ncvt.u8.u32 %c1, %r9;\ncvt.rn.f16x2.{ty}x2 %r9, %c1;\n\
                 mov.b32 {{%h2, %h3}}, %r9;\ncvt.f32.f16 %f{to}, %h2;"
            ),
            PACKED => writeln!(
                s,
                "{byte}\nbfe.u32 %r9, %r9, {}, 4;\ncvt.u8.u32 %c1, %r9;\ncvt.rn.f16x2.e2m1x2 %r9, %c1;\n\
                 mov.b32 {{%h2, %h3}}, %r9;\ncvt.f32.f16 %f{to}, %h2;",
                4 * (i % 2)
            ),
            "ue8m0" => writeln!(
                s,
                "{byte}\ncvt.u16.u32 %h1, %r9;\ncvt.rn.bf16x2.ue8m0x2 %r9, %h1;\n\
                 mov.b32 {{%h2, %h3}}, %r9;\ncvt.f32.bf16 %f{to}, %h2;"
            ),
            "ue4m3" => writeln!(
                s,
                "{byte}\ncvt.u16.u32 %h1, %r9;\ncvt.rn.f16x2.e4m3x2 %r9, %h1;\n\
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
        if let Some((chunks, _)) = self.scale {
            let _ = writeln!(
                s,
                "mul.wide.u32 %q9, %r2, {chunks};\nadd.u64 %q10, %q10, %q9;\n\
                 mul.wide.u32 %q9, %r3, {chunks};\nadd.u64 %q11, %q11, %q9;"
            );
        }
        let (size, unit) = self.chunk();
        for i in 0..self.held() {
            let at = |other: bool, i: usize| if other { 32 * i } else { i };
            Self::load(&mut s, a, "%q5", at(quads[0], i), 21);
            let column = if self.sparse {
                // %q12: where the held element of b stands, by the metadata of row %r2.
                let (chunk, inside) = (i / (size / 2), i % (size / 2));
                let (which, kinds) = (inside / unit, self.kinds());
                let packed: u32 = kinds
                    .iter()
                    .enumerate()
                    .map(|(i, kind)| kind << (4 * i))
                    .sum();
                let low = if size == 2 { 3 } else { 2 * which };
                let _ = writeln!(
                    s,
                    "mad.lo.u32 %r10, %r2, {}, {};\nrem.u32 %r10, %r10, {};\nshl.b32 %r10, %r10, 2;\n\
                     mov.u32 %r11, {packed};\nshr.b32 %r11, %r11, %r10;\nbfe.u32 %r11, %r11, {low}, {};\n\
                     mul.wide.u32 %q12, %r11, {};\nadd.u64 %q12, %q12, %q6;",
                    Self::ROW,
                    self.start(chunk),
                    kinds.len(),
                    if size == 2 { 1 } else { 2 },
                    unit * bits(b) / 8
                );
                let first = chunk * size + inside % unit;
                Self::load(&mut s, b, "%q12", first, 22);
                first
            } else {
                Self::load(&mut s, b, "%q6", at(quads[1], i), 22);
                i
            };
            if let Some((chunks, ty)) = self.scale {
                let chunk = column / (self.k / chunks);
                Self::load(&mut s, ty, "%q10", chunk, 23);
                Self::load(&mut s, ty, "%q11", chunk, 24);
                s += "mul.f32 %f21, %f21, %f23;\nmul.f32 %f22, %f22, %f24;\n";
            }
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
    fn entry(
        &self,
        folder: &std::path::Path,
        name: &str,
        fragments: String,
        expect: &str,
    ) -> String {
        let write = |kind: &str, text: String| {
            let file = format!("{name}_{kind}.ptx");
            std::fs::write(folder.join(&file), text).unwrap();
            file
        };
        let (plain, product) = (write("plain", self.plain()), write("mma", fragments));
        format!(
            "[[check]]\nname = \"{name}\"\nreference = {{ file = \"{plain}\", block = [{}, 1, 1] }}\n\
             optimized = {{ file = \"{product}\", block = [32, 1, 1] }}\nargs = {{ {} }}\nexpect = \"{expect}\"\n\n",
            self.rows() * 8,
            self.args()
        )
    }

    /// The arguments, as a manifest writes them.
    fn args(&self) -> String {
        let [d, a, b, c] = &self.types;
        let chunks = self.scale.map_or(1, |(chunks, _)| chunks);
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
            format!("in:u8[16,{chunks}]"),
            format!("in:u8[8,{chunks}]"),
        ];
        let args: Vec<String> = args
            .iter()
            .enumerate()
            .map(|(i, text)| format!("\"{i}\" = \"{text}\""))
            .collect();
        args.join(", ")
    }
}

fn all(op: Op) -> Vec<Product> {
    let spelled = table::spelled(op);
    assert!(spelled.len() > 100, "{op}");
    spelled.iter().map(|text| Product::read(text)).collect()
}

fn expect_all(op: Op, name: &str) {
    let folder = folder(name);
    let products = all(op);
    let entries = products.iter().map(|p| {
        let name = p.text.replace(['.', ':'], "_");
        p.entry(&folder, &name, p.fragments(false), "equivalent")
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

/// Two registers of a in the other order are another product, and so are other metadata or factors.
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
        manifest.push(p.entry(&folder, &name, p.fragments(true), "not-equivalent"));
    }
    let all = all(Op::Mma).into_iter().chain(all(Op::MmaSpOrdered));
    let told = all.filter(|p| !p.clamp && (p.sparse || p.scale.is_some()));
    for (i, p) in told.step_by(9).enumerate() {
        let right = p.fragments(false);
        let wrong = match p.scale {
            // The factors of lanes that hold others.
            Some(_) => {
                let (byte, lanes) = p.selectors();
                let own = format!("{{{byte}, {}}};", lanes[1]);
                right.replace(&own, &format!("{{{byte}, {}}};", (lanes[1] + 1) % 4))
            }
            // The metadata of the next row.
            None => {
                let list = |words: &[u32]| {
                    let words: Vec<String> = words.iter().map(u32::to_string).collect();
                    words.join(", ")
                };
                let mut words = p.metadata();
                let own = list(&words);
                words.rotate_left(4);
                right.replace(&own, &list(&words))
            }
        };
        assert_ne!(right, wrong, "{}", p.text);
        let name = format!("told_{i}");
        manifest.push(p.entry(&folder, &name, wrong, "not-equivalent"));
    }
    assert!(!manifest.is_empty());
    gate(&folder, &manifest, false);
}

/// Selectors that the manual does not list are undefined.
#[test]
fn undefined_selectors() {
    let text = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0";
    let p = Product::read(text);
    let (byte, [pair, _]) = p.selectors();
    let valid = format!("{{{byte}, {pair}}}, %r8");
    let folder = folder("products_selectors");
    let mut manifest = Vec::new();
    for (name, byte, pair) in [("byte", 1, 0), ("lanes", 0, 2)] {
        let text = p.fragments(false);
        assert!(text.contains(&valid), "{text}");
        let text = text.replace(&valid, &format!("{{{byte}, {pair}}}, %r8"));
        std::fs::write(folder.join(format!("{name}.ptx")), text).unwrap();
        manifest.push(format!(
            "[[race]]\nname = \"{name}\"\nkernel = \"{name}.ptx\"\nthreads = 32\nexpect = \"unknown\"\n\
             args = {{ {} }}\n\n",
            p.args()
        ));
    }
    let text = gate(&folder, &manifest, true);
    let found = text.matches("not among the valid ones").count();
    assert!(found >= 2, "{text}");
}
