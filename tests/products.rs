//! Each shape of `mma.sync`, and `mma.sp`, against the plain product by symbol: a warp loads its
//! fragments as the manual's tables say, and the product must be that of the definition.
//!
//! The rows of a, and the columns of b, are contiguous in memory, so that a register of a factor is
//! one word of it.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

/// One shape with its types.
#[derive(Clone, Copy)]
struct Shape {
    m: usize,
    k: usize,
    a: &'static str,
    b: &'static str,
    d: &'static str,
    /// Metadata of a sparse product, for every chunk the same four bits.
    sparse: Option<u32>,
}

fn bits(ty: &str) -> usize {
    match ty {
        "f64" => 64,
        "f32" | "tf32" | "s32" => 32,
        "f16" | "bf16" => 16,
        "s4" | "u4" => 4,
        _ => 8,
    }
}

/// The type of an array that holds elements of a type.
fn array(ty: &str) -> &str {
    match ty {
        "tf32" => "f32",
        "s4" | "u4" => "u8",
        other => other,
    }
}

const HEAD: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";
const PARAMS: &str = "(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)\n{\n.reg .b64 %q<64>;\n\
     .reg .b32 %r<64>;\n.reg .f32 %f<64>;\n.reg .f64 %d<64>;\n.reg .b16 %h<64>;\n\
     ld.param.u64 %q1, [pa];\nld.param.u64 %q2, [pb];\nld.param.u64 %q3, [pc];\n\
     ld.param.u64 %q4, [pd];\nmov.u32 %r1, %tid.x;\n";

impl Shape {
    /// Elements of a that are held for each row.
    fn held(self) -> usize {
        self.k / (1 + usize::from(self.sparse.is_some()))
    }

    /// The column of a of each element held.
    fn column(self, i: usize) -> usize {
        let Some(meta) = self.sparse else { return i };
        if self.a == "tf32" {
            return 2 * i + usize::from(meta == 0b1110);
        }
        4 * (i / 2) + (meta >> (2 * (i % 2)) & 3) as usize
    }

    /// The registers of an operand: a name for each.
    fn names(prefix: &str, count: usize) -> String {
        let all: Vec<String> = (0..count).map(|i| format!("{prefix}{}", 20 + i)).collect();
        format!("{{{}}}", all.join(", "))
    }

    /// A warp with `mma`; `swap` exchanges two registers of a.
    fn fragments(self, swap: bool) -> String {
        let each = (32 / bits(self.a)).max(1);
        let (row, col) = (self.held() * bits(self.a) / 8, self.k * bits(self.b) / 8);
        let word = each * bits(self.a) / 8;
        let (reg, ty, acc) = match self.d {
            "f64" => ("%d", "f64", 8),
            "f32" => ("%f", "f32", 4),
            _ => ("%r", "b32", 4),
        };
        let wide = self.a == "f64";
        let (factor, load) = if wide { ("%d", "f64") } else { ("%r", "b32") };
        let mut s = format!("{HEAD}.visible .entry product{PARAMS}");
        // g and t, then the first word of the lane in a, b, c and d.
        let _ = writeln!(s, "shr.u32 %r2, %r1, 2;\nand.b32 %r3, %r1, 3;");
        for (to, base, pitch, step) in [(5, 1, row, word), (6, 2, col, word)] {
            let _ = writeln!(
                s,
                "mul.lo.u32 %r4, %r2, {pitch};\nmad.lo.u32 %r4, %r3, {step}, %r4;"
            );
            let _ = writeln!(s, "cvt.u64.u32 %q9, %r4;\nadd.u64 %q{to}, %q{base}, %q9;");
        }
        for (to, base) in [(7, 3), (8, 4)] {
            let half = if self.d == "f16" { 2 } else { acc };
            let _ = writeln!(s, "mul.lo.u32 %r4, %r2, {};", 8 * half);
            let _ = writeln!(s, "mad.lo.u32 %r4, %r3, {}, %r4;", 2 * half);
            let _ = writeln!(s, "cvt.u64.u32 %q9, %r4;\nadd.u64 %q{to}, %q{base}, %q9;");
        }
        let count = |rows: usize, columns: usize| (rows * columns / (32 * each)).max(1);
        let (na, nb) = (count(self.m, self.held()), count(self.k, 8));
        for r in 0..na {
            let at = match self.m {
                8 => 4 * word * r,
                _ => 8 * row * (r & 1) + 4 * word * (r >> 1),
            };
            let to = if swap && (r == 1 || r == 2) { 3 - r } else { r };
            let _ = writeln!(s, "ld.global.{load} {factor}{}, [%q5+{at}];", 20 + to);
        }
        let a = Self::names(factor, na);
        // The registers of b follow.
        for r in 0..nb {
            let _ = writeln!(
                s,
                "ld.global.{load} {factor}{}, [%q6+{}];",
                30 + r,
                4 * word * r
            );
        }
        let b: Vec<String> = (0..nb).map(|i| format!("{factor}{}", 30 + i)).collect();
        let halves = self.d == "f16";
        let nc = self.m * 8 / 32 / (1 + usize::from(halves));
        let place = |i: usize| match halves {
            true => 8 * 8 * 2 * i,
            false => 8 * 8 * acc * (i >> 1) + acc * (i & 1),
        };
        for i in 0..nc {
            let _ = writeln!(s, "ld.global.{ty} {reg}{}, [%q7+{}];", 40 + i, place(i));
        }
        let c: Vec<String> = (0..nc).map(|i| format!("{reg}{}", 40 + i)).collect();
        let (c, b) = (c.join(", "), b.join(", "));
        let sp = if self.sparse.is_some() { ".sp" } else { "" };
        let shape = format!("m{}n8k{}", self.m, self.k);
        let types = format!("{}.{}.{}.{}", self.d, self.a, self.b, self.d);
        let tail = match self.sparse {
            Some(meta) => format!(", {}, 0", meta.wrapping_mul(0x1111_1111)),
            None => String::new(),
        };
        let _ = writeln!(
            s,
            "mma{sp}.sync.aligned.{shape}.row.col.{types} {{{c}}}, {a}, {{{b}}}, {{{c}}}{tail};"
        );
        for i in 0..nc {
            let _ = writeln!(s, "st.global.{ty} [%q8+{}], {reg}{};", place(i), 40 + i);
        }
        s + "ret;\n}\n"
    }

    /// Loads element i after the address in a register as a number; its register.
    fn load(s: &mut String, ty: &str, address: &str, i: usize, to: usize) {
        let at = i * bits(ty) / 8;
        let _ = match ty {
            "f64" => writeln!(s, "ld.global.f64 %d{to}, [{address}+{at}];"),
            "f32" | "tf32" => writeln!(s, "ld.global.f32 %f{to}, [{address}+{at}];"),
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
            "s4" | "u4" => writeln!(
                s,
                "ld.global.u8 %r9, [{address}+{at}];\nbfe.{}32 %r{to}, %r9, {}, 4;",
                &ty[..1],
                4 * (i % 2)
            ),
            _ => writeln!(s, "ld.global.{ty} %r{to}, [{address}+{at}];"),
        };
    }

    /// The definition, a thread for each element.
    fn plain(self) -> String {
        let mut s = format!("{HEAD}.visible .entry plain{PARAMS}");
        let (row, col) = (self.held() * bits(self.a) / 8, self.k * bits(self.b) / 8);
        let size = bits(self.d) / 8;
        let _ = writeln!(s, "shr.u32 %r2, %r1, 3;\nand.b32 %r3, %r1, 7;");
        for (reg, pitch, base, to) in [
            (2, row, 1, 5),
            (3, col, 2, 6),
            (1, size, 3, 7),
            (1, size, 4, 8),
        ] {
            let _ = writeln!(
                s,
                "mul.wide.u32 %q9, %r{reg}, {pitch};\nadd.u64 %q{to}, %q{base}, %q9;"
            );
        }
        Self::load(&mut s, self.d, "%q7", 0, 20);
        for i in 0..self.held() {
            Self::load(&mut s, self.a, "%q5", i, 21);
            Self::load(&mut s, self.b, "%q6", self.column(i), 22);
            let _ = match self.d {
                "f64" => writeln!(s, "fma.rn.f64 %d20, %d21, %d22, %d20;"),
                "s32" => writeln!(s, "mad.lo.s32 %r20, %r21, %r22, %r20;"),
                _ => writeln!(s, "fma.rn.f32 %f20, %f21, %f22, %f20;"),
            };
        }
        let _ = match self.d {
            "f64" => writeln!(s, "st.global.f64 [%q8], %d20;"),
            "s32" => writeln!(s, "st.global.b32 [%q8], %r20;"),
            "f16" => writeln!(s, "cvt.rn.f16.f32 %h1, %f20;\nst.global.b16 [%q8], %h1;"),
            _ => writeln!(s, "st.global.f32 [%q8], %f20;"),
        };
        s + "ret;\n}\n"
    }

    /// The verdict on a pair.
    fn check(self, name: &str, swap: bool) -> String {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let write = |kind: &str, text: String| {
            let path = folder.join(format!("{name}_{kind}.ptx"));
            std::fs::write(&path, text).unwrap();
            path
        };
        let (plain, product) = (
            write("plain", self.plain()),
            write("mma", self.fragments(swap)),
        );
        let columns = |ty: &str, n: usize| if bits(ty) == 4 { n / 2 } else { n };
        let args = [
            format!(
                "0=in:{}[{},{}]",
                array(self.a),
                self.m,
                columns(self.a, self.held())
            ),
            format!("1=in:{}[8,{}]", array(self.b), columns(self.b, self.k)),
            format!("2=in:{}[{},8]", self.d, self.m),
            format!("3=out:{}[{},8]", self.d, self.m),
        ];
        let mut command = Command::new(env!("CARGO_BIN_EXE_volta"));
        command.arg("check").args([plain, product]);
        command.args([
            "--ref-block",
            &(self.m * 8).to_string(),
            "--opt-block",
            "32",
        ]);
        for arg in args {
            command.args(["--arg", &arg]);
        }
        let out = command.output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        text + &String::from_utf8_lossy(&out.stderr)
    }
}

const fn dense(m: usize, k: usize, a: &'static str, b: &'static str, d: &'static str) -> Shape {
    let sparse = None;
    Shape {
        m,
        k,
        a,
        b,
        d,
        sparse,
    }
}

const fn sparse(k: usize, a: &'static str, d: &'static str, meta: u32) -> Shape {
    Shape {
        m: 16,
        k,
        a,
        b: a,
        d,
        sparse: Some(meta),
    }
}

fn expect(shapes: &[Shape]) {
    for s in shapes {
        let name = format!("{}_{}_{}_{}_{}_{:?}", s.m, s.k, s.a, s.b, s.d, s.sparse);
        let text = s.check(&name, false);
        assert!(text.starts_with("equivalent"), "{name}: {text}");
    }
}

#[test]
fn floats() {
    expect(&[
        dense(16, 8, "f16", "f16", "f32"),
        dense(16, 16, "f16", "f16", "f32"),
        dense(16, 8, "f16", "f16", "f16"),
        dense(16, 16, "f16", "f16", "f16"),
        dense(16, 8, "bf16", "bf16", "f32"),
        dense(16, 16, "bf16", "bf16", "f32"),
        dense(16, 4, "tf32", "tf32", "f32"),
        dense(16, 8, "tf32", "tf32", "f32"),
        dense(8, 4, "f64", "f64", "f64"),
        dense(16, 4, "f64", "f64", "f64"),
        dense(16, 8, "f64", "f64", "f64"),
        dense(16, 16, "f64", "f64", "f64"),
        dense(16, 16, "e4m3", "e5m2", "f32"),
        dense(16, 32, "e4m3", "e4m3", "f32"),
        dense(16, 32, "e5m2", "e4m3", "f16"),
    ]);
}

#[test]
fn integers() {
    expect(&[
        dense(8, 16, "s8", "u8", "s32"),
        dense(16, 16, "u8", "s8", "s32"),
        dense(16, 32, "s8", "s8", "s32"),
        dense(8, 32, "s4", "u4", "s32"),
        dense(16, 32, "u4", "s4", "s32"),
        dense(16, 64, "s4", "s4", "s32"),
    ]);
}

#[test]
fn sparse_products() {
    expect(&[
        sparse(16, "f16", "f32", 0b1110),
        sparse(32, "bf16", "f32", 0b1001),
        sparse(16, "f16", "f16", 0b0001),
        sparse(8, "tf32", "f32", 0b1110),
        sparse(16, "tf32", "f32", 0b0100),
        sparse(32, "s8", "s32", 0b1100),
        sparse(64, "u8", "s32", 0b1101),
        sparse(64, "e4m3", "f32", 0b1000),
    ]);
}

/// Two registers of a in the other order are another product.
#[test]
fn order_of_registers() {
    let text = dense(16, 16, "f16", "f16", "f32").check("swapped", true);
    assert!(text.starts_with("not-equivalent"), "{text}");
}

/// Metadata that say different things of the chunks of a group are refused by name.
#[test]
fn mixed_metadata() {
    let shape = sparse(16, "f16", "f32", 0b1110);
    let text = shape
        .fragments(false)
        .replace(&0xeeee_eeee_u32.to_string(), "0x4444eeee");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join("mixed_metadata.ptx");
    std::fs::write(&path, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_volta"));
    let out = command
        .arg("race")
        .arg(&path)
        .args(["--block", "32"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(text.contains("unknown[unspecified-layout]"), "{text}");
}
