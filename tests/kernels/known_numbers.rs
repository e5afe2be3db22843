//! Known numbers that are cut to fewer bits: by a conversion, a mask, a shift, a move, a permutation of
//! bytes, or through memory. A register holds what the machine rounds them to, and each way of cutting
//! gives the same bits (PTX ISA 9.0, section 9.7.9.21; IEEE 754-2019, section 4.3).
//!
//! What is expected is computed here from the bits of the number alone.

use std::fmt::Write as _;

use super::manifest::{folder, gate};

/// Nearest, ties to even, with `k` bits cut off.
fn nearest(bits: u32, k: u32) -> u32 {
    let odd = bits >> k & 1;
    cut(bits.wrapping_add((1 << (k - 1)) - 1 + odd), k)
}

/// Nearest, ties away from zero.
fn nearest_away(bits: u32, k: u32) -> u32 {
    cut(bits.wrapping_add(1 << (k - 1)), k)
}

fn cut(bits: u32, k: u32) -> u32 {
    bits >> k << k
}

/// The pattern of the binary16 nearest to a single: a multiple of the last place in doubles, which is exact.
fn half(bits: u32) -> u32 {
    let x = f64::from(f32::from_bits(bits).abs());
    let sign = bits >> 31 << 15;
    let exponent = if x == 0.0 {
        -14
    } else {
        x.log2().floor().max(-14.0) as i32
    };
    let steps = (x / 2f64.powi(exponent - 10)).round_ties_even();
    // A carry out of the fraction goes into the exponent.
    let pattern = steps as u32 + ((exponent + 14) as u32) * 1024;
    sign | pattern.min(0x7c00)
}

/// A way to cut the number in `%f1`, its result in `%r1`; and what has to come of a pattern.
struct Way {
    name: &'static str,
    body: &'static str,
    expected: fn(u32) -> u32,
}

const fn way(name: &'static str, body: &'static str, expected: fn(u32) -> u32) -> Way {
    Way {
        name,
        body,
        expected,
    }
}

const WAYS: &[Way] = &[
    way(
        "bf16_widened",
        "cvt.rn.bf16.f32 %h1, %f1; cvt.f32.bf16 %f2, %h1; mov.b32 %r1, %f2;",
        |b| nearest(b, 16),
    ),
    way(
        "bf16_moved",
        "cvt.rn.bf16.f32 %h1, %f1; mov.b16 %h2, 0; mov.b32 %r1, {%h2, %h1};",
        |b| nearest(b, 16),
    ),
    way(
        "bf16_shifted",
        "cvt.rn.bf16.f32 %h1, %f1; cvt.u32.u16 %r1, %h1; shl.b32 %r1, %r1, 16;",
        |b| nearest(b, 16),
    ),
    way(
        "bf16_high",
        "cvt.rn.bf16x2.f32 %r1, %f1, %f3; and.b32 %r1, %r1, 0xffff0000;",
        |b| nearest(b, 16),
    ),
    way(
        "bf16_low",
        "cvt.rn.bf16x2.f32 %r1, %f3, %f1; prmt.b32 %r1, %r1, 0, 0x1044;",
        |b| nearest(b, 16),
    ),
    way(
        "zero_converted",
        "cvt.rz.bf16.f32 %h1, %f1; cvt.u32.u16 %r1, %h1; shl.b32 %r1, %r1, 16;",
        |b| cut(b, 16),
    ),
    way(
        "zero_masked",
        "mov.b32 %r1, %f1; and.b32 %r1, %r1, 0xffff0000;",
        |b| cut(b, 16),
    ),
    way(
        "zero_moved",
        "mov.b32 {%h1, %h2}, %f1; mov.b16 %h1, 0; mov.b32 %r1, {%h1, %h2};",
        |b| cut(b, 16),
    ),
    way(
        "zero_permuted",
        "mov.b32 %r1, %f1; prmt.b32 %r1, %r1, 0, 0x3244;",
        |b| cut(b, 16),
    ),
    way(
        "zero_inserted",
        "mov.b32 %r1, %f1; mov.b32 %r2, 0; bfi.b32 %r1, %r2, %r1, 0, 16;",
        |b| cut(b, 16),
    ),
    way(
        "zero_stored",
        "st.shared.f32 [s], %f1; ld.shared.u16 %h2, [s+2]; mov.b16 %h1, 0; mov.b32 %r1, {%h1, %h2};",
        |b| cut(b, 16),
    ),
    way(
        "zero_overwritten",
        "st.shared.f32 [s], %f1; mov.b16 %h1, 0; st.shared.u16 [s], %h1; ld.shared.u32 %r1, [s];",
        |b| cut(b, 16),
    ),
    way("tf32_away", "cvt.rna.tf32.f32 %r1, %f1;", |b| {
        nearest_away(b, 13)
    }),
    way("tf32_even", "cvt.rn.tf32.f32 %r1, %f1;", |b| nearest(b, 13)),
    way(
        "tf32_masked",
        "mov.b32 %r1, %f1; and.b32 %r1, %r1, 0xffffe000;",
        |b| cut(b, 13),
    ),
    way(
        "half",
        "cvt.rn.f16.f32 %h1, %f1; cvt.u32.u16 %r1, %h1;",
        half,
    ),
    way(
        "half_low",
        "cvt.rn.f16x2.f32 %r1, %f3, %f1; and.b32 %r1, %r1, 0xffff;",
        half,
    ),
    way(
        "half_high",
        "cvt.rn.f16x2.f32 %r1, %f1, %f3; shr.u32 %r1, %r1, 16;",
        half,
    ),
    way(
        "half_again",
        "cvt.rn.f16.f32 %h1, %f1; cvt.f32.f16 %f2, %h1; cvt.rz.f16.f32 %h1, %f2; cvt.u32.u16 %r1, %h1;",
        half,
    ),
];

/// A way's name, its instruction before the cut, and the number that it makes of the bound one.
type First = (&'static str, &'static str, fn(f32) -> f32);

/// As it is bound, or computed from what is bound.
const FIRST: [First; 2] = [
    ("bound", "", |a| a),
    ("computed", "mul.rn.f32 %f1, %f1, 0f3F99999A;", |a| a * 1.2),
];

const HEAD: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";

#[test]
fn known_numbers_are_cut_alike() {
    let folder = folder("known_numbers");
    let mut text = String::from(HEAD);
    for (first, before, _) in FIRST {
        for w in WAYS {
            let _ = write!(
                text,
                ".visible .entry {}_{first}(.param .u64 y, .param .f32 a)\n{{\n.reg .b64 %q<2>; .reg .f32 %f<4>;\n\
                 .reg .b16 %h<4>; .reg .b32 %r<4>; .shared .align 4 .b8 s[4];\nld.param.u64 %q1, [y];\n\
                 ld.param.f32 %f1, [a];\nmov.f32 %f3, 0f3FC00000;\n{before}\n{}\nst.global.u32 [%q1], %r1;\nret;\n}}\n",
                w.name, w.body
            );
        }
    }
    std::fs::write(folder.join("ways.ptx"), text).unwrap();
    // Ordinary ones, ties, a carry into the exponent, subnormal ones, and some beyond the half formats.
    let numbers = [
        1.001f32,
        0.1,
        -3.3333333,
        1e-5,
        65519.0,
        65520.0,
        7e-8,
        1e30,
        f32::from_bits(0x3f80_8000),
        f32::from_bits(0x3f81_8000),
        f32::from_bits(0x3fff_ffff),
        f32::from_bits(0x3f80_1000),
        f32::from_bits(0x0001_2345),
    ];
    let mut manifest = Vec::new();
    for (n, number) in numbers.into_iter().enumerate() {
        for (first, _, compute) in FIRST {
            for w in WAYS {
                let right = (w.expected)(compute(number).to_bits());
                // A computed number that is rounded to zero has a sign that is not followed.
                if first == "computed" && right == 0 {
                    continue;
                }
                for (word, verdict) in [(right, "equivalent"), (right ^ 1 << 14, "not-equivalent")]
                {
                    let file = format!("word_{word:08x}.ptx");
                    let body = format!(
                        "{HEAD}.visible .entry word(.param .u64 y, .param .f32 a)\n{{\n.reg .b64 %q<2>;\n\
                         ld.param.u64 %q1, [y];\nst.global.u32 [%q1], {word:#010x};\nret;\n}}\n"
                    );
                    std::fs::write(folder.join(&file), body).unwrap();
                    manifest.push(format!(
                        "[[check]]\nname = \"{}_{first}_{n}_{verdict}\"\nreference = \"{file}\"\n\
                         optimized = {{ file = \"ways.ptx\", entry = \"{}_{first}\" }}\nthreads = 1\n\
                         args = {{ \"0\" = \"out:u32[1]\", \"1\" = \"0f{:08X}\" }}\nexpect = \"{verdict}\"\n\n",
                        w.name, w.name, number.to_bits()
                    ));
                }
            }
        }
    }
    // Four ways of halves lose the last number, computed.
    let all = numbers.len() * FIRST.len() * WAYS.len() - 4;
    assert_eq!(manifest.len(), 2 * all);
    gate(&folder, &manifest, false);
}
