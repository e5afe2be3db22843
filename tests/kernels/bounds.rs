//! Bounds of errors for all inputs, against executions: random programs of every operation that has an enclosure, and
//! kernels as people write them, run on inputs of the range that is assumed, and no error that is measured there is above
//! the bound. What is measured comes from the machine's arithmetic and from the evaluator of terms, which the bound shares
//! nothing with.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use super::manifest::{folder, gate};

const HEAD: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

/// A generator of Marsaglia's.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
}

/// One operation on registers of f32 before number `n`, which it writes; some go through f16 and bf16.
fn operation(random: &mut Random, n: u64) -> String {
    let any = |r: &mut Random| format!("%f{}", r.below(n));
    let (a, b, c) = (any(random), any(random), any(random));
    let ftz = random.pick(&["", ".ftz"]);
    let rnd = random.pick(&[".rn", ".rz", ".rm", ".rp"]);
    let half = random.pick(&["f16", "bf16"]);
    let d = format!("%f{n}");
    // Roots, logarithms and divisors are kept above 1/2.
    let above = format!("abs.f32 %t1, {a}; add.f32 %t1, %t1, 0f3F000000;");
    match random.below(26) {
        0 | 1 => format!("add{rnd}{ftz}.f32 {d}, {a}, {b};"),
        2 => format!("sub{rnd}{ftz}.f32 {d}, {a}, {b};"),
        3 => format!("mul{rnd}{ftz}.f32 {d}, {a}, {b};"),
        4 | 5 => format!("fma{rnd}{ftz}.f32 {d}, {a}, {b}, {c};"),
        6 => format!("{above} div.rn.f32 {d}, {b}, %t1;"),
        7 => format!("{above} div.approx{ftz}.f32 {d}, {b}, %t1;"),
        8 => format!("{above} rcp.approx{ftz}.f32 {d}, %t1;"),
        9 => format!("{above} sqrt.rn{ftz}.f32 {d}, %t1;"),
        10 => format!("{above} rsqrt.approx{ftz}.f32 {d}, %t1;"),
        11 => format!("ex2.approx{ftz}.f32 {d}, {a};"),
        12 => format!("{above} lg2.approx{ftz}.f32 {d}, %t1;"),
        13 => format!("tanh.approx.f32 {d}, {a};"),
        14 => format!("max{ftz}.f32 {d}, {a}, {b}; sub{ftz}.f32 {d}, {b}, {d};"),
        15 => format!("min{ftz}.f32 {d}, {a}, {b};"),
        16 => format!("neg{ftz}.f32 %t1, {a}; abs{ftz}.f32 {d}, %t1;"),
        17 => format!("add.sat{ftz}.f32 {d}, {a}, {b};"),
        18 => format!("cvt.rn.{half}.f32 %h1, {a}; cvt.f32.{half} {d}, %h1;"),
        // A maximum or minimum as a choice, a bend at 0, and a choice that has nothing to do with what it tests.
        19 => {
            let test = random.pick(&["lt", "le", "gt", "geu"]);
            let (x, y) = [(&a, &b), (&b, &a), (&c, &a)][random.below(3) as usize];
            format!("setp.{test}{ftz}.f32 %p1, {a}, {b}; selp.f32 {d}, {x}, {y}, %p1;")
        }
        20 => format!(
            "mul.f32 %t1, {a}, 0f3C800000; setp.gt{ftz}.f32 %p1, {a}, 0f00000000; selp.f32 {d}, {a}, %t1, %p1;"
        ),
        21 => format!(
            "setp.lt.f32 %p1, %f0, %f4; setp.ge.and.f32 %p1, %f1, %f4, %p1; selp.f32 {d}, {a}, {b}, %p1;"
        ),
        22 => format!(
            "cvt.{}{ftz}.f32.f32 {d}, {a};",
            random.pick(&["rni", "rzi", "rmi", "rpi"])
        ),
        23 => format!("cvt.rni{ftz}.s32.f32 %r2, {a}; cvt.rn.f32.s32 {d}, %r2;"),
        24 => format!(
            "cvt.rn.satfinite.e4m3x2.f32 %h1, {b}, {a}; cvt.rn.f16x2.e4m3x2 %r2, %h1; mov.b32 {{%h2, %h3}}, %r2; cvt.f32.f16 {d}, %h2;"
        ),
        _ => format!(
            "cvt.rz.{half}.f32 %h1, {a}; cvt.rn.{half}.f32 %h2, {b}; fma.rn.{half} %h3, %h1, %h2, %h1; cvt.f32.{half} {d}, %h3;"
        ),
    }
}

/// A kernel of operations: each thread reads four elements and writes the last result.
fn program(random: &mut Random, name: &str) -> String {
    let mut body = String::new();
    let last = 5 + random.below(8);
    for n in 5..=last {
        writeln!(body, "{}", operation(random, n)).unwrap();
    }
    let constant = 0x3e80_0000 + random.below(1 << 25);
    format!(
        ".visible .entry {name}(.param .u64 x, .param .u64 y)\n{{\n.reg .b64 %q<6>;\n.reg .b32 %r<3>;\n.reg .f32 %f<20>;\n\
         .reg .f32 %t<3>;\n.reg .b16 %h<5>;\n.reg .pred %p<2>;\nld.param.u64 %q1, [x];\nld.param.u64 %q2, [y];\nmov.u32 %r1, %tid.x;\n\
         mul.wide.u32 %q3, %r1, 16;\nadd.s64 %q1, %q1, %q3;\nmul.wide.u32 %q4, %r1, 4;\nadd.s64 %q2, %q2, %q4;\n\
         ld.global.v4.f32 {{%f0, %f1, %f2, %f3}}, [%q1];\nmov.f32 %f4, 0f{constant:08X};\n{body}\
         st.global.f32 [%q2], %f{last};\nret;\n}}\n"
    )
}

fn entry(name: &str, file: &str, launch: &str, range: &str) -> String {
    format!(
        "[[check]]\nname = \"{name}\"\nreference = {{ file = {file:?}, {launch} }}\n\
         optimized = {{ file = {file:?}, {launch} }}\nassume = [\"0 in {range}\"]\nrounding = 18\n"
    )
}

/// The errors and bounds of every output of a report, which must be right; how many there are, and how many are bounded.
fn judged(report: &str) -> (usize, usize) {
    let report: Value = serde_json::from_str(report).expect("a report");
    let (mut all, mut bounded) = (0, 0);
    for e in report["entries"].as_array().expect("entries") {
        for o in e["result"]["rounding"]["outputs"]
            .as_array()
            .expect("outputs")
        {
            let errors = &o["errors"]["reference"];
            all += 1;
            let Some(most) = errors["bound"]["absolute"].as_f64() else {
                continue;
            };
            bounded += 1;
            let found = errors["absolute"].as_f64().expect("an error");
            assert!(found <= most, "{}: {found:e} is above {most:e}", e["name"]);
        }
    }
    (all, bounded)
}

#[test]
fn no_error_is_above_its_bound() {
    let folder = folder("bounds");
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut manifest = Vec::new();
    for k in 0..60 {
        let name = format!("p{k}");
        let file = format!("{name}.ptx");
        let text = format!("{HEAD}{}", program(&mut random, &name));
        std::fs::write(folder.join(&file), text).expect("a file");
        let range = ["-1.5..2", "0.25..0.5", "-1e-3..1", "-12..12.5"][k % 4];
        let launch = "threads = 8, args = { \"0\" = \"in:f32[8,4]\", \"1\" = \"out:f32[8]\" }";
        manifest.push(entry(&name, &file, launch, range));
    }
    let (all, bounded) = judged(&gate(&folder, &manifest, true));
    assert_eq!(all, 60);
    assert!(bounded > 40, "{bounded} are bounded");
}

/// Two matrix instructions of a warp, whose fragments lie in memory one after the other.
fn products(half: &str) -> String {
    let mma = format!(
        "mma.sync.aligned.m16n8k16.row.col.f32.{half}.{half}.f32 {{%f1, %f2, %f3, %f4}}, {{%r2, %r3, %r4, %r5}}, {{%r6, %r7}}, \
         {{%f1, %f2, %f3, %f4}};"
    );
    format!(
        "{HEAD}.visible .entry k(.param .u64 x, .param .u64 y)\n{{\n.reg .b64 %q<6>;\n.reg .b32 %r<8>;\n.reg .f32 %f<5>;\n\
         ld.param.u64 %q1, [x];\nld.param.u64 %q2, [y];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %q3, %r1, 24;\n\
         add.s64 %q1, %q1, %q3;\nmul.wide.u32 %q4, %r1, 16;\nadd.s64 %q2, %q2, %q4;\n\
         ld.global.v2.b32 {{%r2, %r3}}, [%q1];\nld.global.v2.b32 {{%r4, %r5}}, [%q1+8];\n\
         ld.global.v2.b32 {{%r6, %r7}}, [%q1+16];\nmov.f32 %f1, 0f00000000;\nmov.f32 %f2, %f1;\nmov.f32 %f3, %f1;\n\
         mov.f32 %f4, %f1;\n{mma}\n{mma}\nst.global.v4.f32 [%q2], {{%f1, %f2, %f3, %f4}};\nret;\n}}\n"
    )
}

#[test]
fn matrix_products_have_bounds() {
    let folder = folder("bounds_of_products");
    let one = |half: &&str| {
        let file = format!("{half}.ptx");
        std::fs::write(folder.join(&file), products(half)).expect("a file");
        let args = format!("args = {{ \"0\" = \"in:{half}[384]\", \"1\" = \"out:f32[128]\" }}");
        entry(half, &file, &format!("threads = 32, {args}"), "-1..1")
    };
    let manifest: Vec<String> = ["f16", "bf16"].iter().map(one).collect();
    assert_eq!(judged(&gate(&folder, &manifest, true)), (2, 2));
}

/// The list is of kernels whose every operation is known to the bound, the compilers' exponential among them.
#[test]
fn kernels_have_bounds() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let (four, eight) = ("in:f32[4]", "in:f32[8]");
    let list = [
        ("softmax/naive_4.ptx", four),
        ("softmax/naive_4_ieee.ptx", four),
        ("softmax/online_4.ptx", four),
        ("softmax/max_subtracted_4.ptx", four),
        ("rounding/softmax.ptx", eight),
        ("rounding/rms.ptx", eight),
    ];
    let one = |(file, input): &(&str, &str)| {
        let n = if *input == four { 4 } else { 8 };
        let path = kernels.join(file);
        let launch =
            format!("threads = {n}, args = {{ \"0\" = \"{input}\", \"1\" = \"out:f32[{n}]\" }}");
        // Inverse roots of sums of squares near 0 have no bound that says something.
        let range = match *file {
            "rounding/rms.ptx" => "0.5..1",
            _ => "-1..1",
        };
        entry(file, path.to_str().expect("a name"), &launch, range)
    };
    let manifest: Vec<String> = list.iter().map(one).collect();
    let (all, bounded) = judged(&gate(&folder("kernel_bounds"), &manifest, true));
    assert_eq!((all, bounded), (list.len(), list.len()));
}

/// Errors of both kernels in ulps on inputs of one kind, as they are in a report: the largest, the mean, and how many are
/// NaN.
struct Errors {
    largest: [f64; 2],
    mean: [f64; 2],
    nans: [f64; 2],
    passes: bool,
}

fn errors(report: &Value, entry: &str, kind: &str) -> Errors {
    let entries = report["entries"].as_array().expect("entries");
    let entry = entries.iter().find(|e| e["name"] == entry).expect("it ran");
    let kinds = entry["result"]["rounding"]["outputs"][0]["inputs"].as_array();
    let kinds = kinds.expect("it was measured");
    let kind = kinds.iter().find(|k| k["name"] == kind).expect("a kind");
    let sides = ["reference", "optimized"].map(|s| &kind["errors"][s]);
    let of = |name: &str| sides.map(|s| s[name].as_f64().expect("a number"));
    Errors {
        largest: of("ulps"),
        mean: of("mean_ulps"),
        nans: of("nans"),
        passes: kind["close"]["passes"] == true,
    }
}

/// Sums, variances, softmax and products, with and without care: the tables say what Higham's book does.
#[test]
fn tables_say_what_is_known_of_summation() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/rounding");
    let pair = |reference: &str, optimized: &str, n: u32, threads: u32| {
        let [a, b] = [reference, optimized].map(|k| kernels.join(k).with_extension("ptx"));
        format!(
            "[[check]]\nname = \"{optimized}\"\nreference = {a:?}\noptimized = {b:?}\nthreads = {threads}\nrounding = 60\n\
             args = {{ \"0\" = \"in:f32[{n}]\", \"1\" = \"out:f32[{threads}]\" }}\n"
        )
    };
    let manifest = [
        pair("sum_serial", "sum_tree", 32, 1),
        pair("sum_serial", "sum_half", 32, 1),
        pair("sum_serial", "sum_kahan", 32, 1),
        pair("variance_two_passes", "variance_welford", 32, 1),
        pair("variance_two_passes", "variance_moments", 32, 1),
        pair("softmax_plain", "softmax_maximum", 8, 8),
        pair("product_single", "product_bf16", 32, 1),
        pair("product_single", "product_bf16x3", 32, 1),
    ];
    let text = gate(&folder("summation"), &manifest, true);
    let report: Value = serde_json::from_str(&text).expect("a report");
    let of = |entry: &str, kind: &str| errors(&report, entry, kind);

    let tree = of("sum_tree", "uniform");
    assert!(tree.mean[1] < tree.mean[0] && tree.passes);
    let half = of("sum_half", "uniform");
    assert!(half.largest[1] > 1000.0 * half.largest[0] && !half.passes);
    let kahan = of("sum_kahan", "all equal");
    assert!(kahan.largest[0] >= 2.0 && kahan.largest[1] <= 0.5);
    let welford = of("variance_welford", "far from 0");
    let moments = of("variance_moments", "far from 0");
    assert!(welford.largest[0] < 4.0 && welford.largest[1] < 2000.0);
    assert!(moments.largest[1] > 100.0 * welford.largest[1] && !moments.passes);
    let softmax = of("softmax_maximum", "far from 0");
    assert!(softmax.nans[0] > 0.0 && softmax.nans[1] == 0.0);
    let [one, three] = ["product_bf16", "product_bf16x3"].map(|n| of(n, "normal"));
    assert!(!one.passes && one.mean[1] > 20.0 * three.mean[1] && three.mean[1] > three.mean[0]);
}
