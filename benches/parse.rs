//! Speed of reading, lowering and printing PTX, on a module of 5 MB with the mix of statements that
//! compilers emit, and on modules of twice the size each, whose rates show that time is linear in the
//! text. Rates are of text, on one core. `parse.txt` holds what was measured.
//!
//!     cargo bench --bench parse

use std::fmt::Write;
use std::sync::Arc;

use divan::Bencher;
use divan::counter::BytesCount;
use volta::diag::Source;
use volta::{kernel, ptx};

fn main() {
    divan::main();
}

/// A module of at least `bytes` bytes.
fn module(bytes: usize) -> Source {
    let mut text = String::from(".version 9.0\n.target sm_80\n.address_size 64\n\n");
    let mut kernel = 0;
    while text.len() < bytes {
        let _ = write!(
            text,
            "\t// .globl\tkernel_{kernel}\n.visible .entry kernel_{kernel}(\n\t.param .u64 kernel_{kernel}_param_0,\n\
             \t.param .u64 kernel_{kernel}_param_1,\n\t.param .u32 kernel_{kernel}_param_2\n)\n.maxntid 256, 1, 1\n{{\n\
             \t.reg .pred \t%p<64>;\n\t.reg .f32 \t%f<4096>;\n\t.reg .b32 \t%r<2048>;\n\t.reg .b64 \t%rd<1024>;\n\
             \t// demoted variable\n\t.shared .align 4 .b8 tile_{kernel}[4096];\n\n\
             \tld.param.u64 \t%rd1, [kernel_{kernel}_param_0];\n\tcvta.to.global.u64 \t%rd2, %rd1;\n\tmov.u32 \t%r1, %tid.x;\n"
        );
        for i in 0..500u32 {
            let (a, b, c) = (i + 3, (i * 7) % 1000 + 1, (i * 13) % 1000 + 1);
            let _ = write!(
                text,
                "\tmad.lo.s32 \t%r{a}, %r{b}, %r{c}, %r1;\n\tmul.wide.s32 \t%rd{a}, %r{a}, 4;\n\tadd.s64 \t%rd{b}, %rd{c}, %rd2;\n\
                 \tld.global.nc.v4.f32 \t{{%f{a}, %f{b}, %f{c}, %f4}}, [%rd{b}+{offset}];\n\
                 \tfma.rn.ftz.f32 \t%f{c}, %f{a}, %f{b}, 0f{bits:08X};\n\tsetp.gt.ftz.f32 \t%p{p}, %f{a}, %f{b};\n\
                 \t@%p{p} bra \t$L__BB{kernel}_{i};\n\n\tst.shared.f32 \t[%r{a}+{offset}], %f{c};\n$L__BB{kernel}_{i}:\n\
                 \t.loc\t1 {a} 9\n\tbar.sync \t0;\n",
                offset = i * 16,
                bits = 0x3f80_0000 + i,
                p = i % 60 + 1
            );
        }
        text.push_str("\tret;\n\n}\n");
        kernel += 1;
    }
    Source::new("generated", text).expect("short")
}

/// Sizes in kilobytes.
const SIZES: [usize; 4] = [1_250, 2_500, 5_000, 10_000];

/// Text to `ptx::Module`.
#[divan::bench(args = SIZES, sample_count = 10)]
fn read(bencher: Bencher, kilobytes: usize) {
    let source = module(kilobytes * 1000);
    let bytes = BytesCount::new(source.text.len());
    bencher
        .counter(bytes)
        .bench(|| ptx::parse(&source).expect("well formed"));
}

/// Text to `kernel::Kernel`, of every entry.
#[divan::bench(args = SIZES, sample_count = 10)]
fn read_and_lower(bencher: Bencher, kilobytes: usize) {
    let source = Arc::new(module(kilobytes * 1000));
    let bytes = BytesCount::new(source.text.len());
    bencher.counter(bytes).bench(|| {
        let module = ptx::parse(&source).expect("well formed");
        let kernels: Vec<_> = module
            .entries()
            .map(|(entry, _)| kernel::lower(&module, &source, entry).expect("it lowers"))
            .collect();
        (module, kernels)
    });
}

/// `ptx::Module` to text.
#[divan::bench(args = [5_000], sample_count = 10)]
fn print(bencher: Bencher, kilobytes: usize) {
    let source = module(kilobytes * 1000);
    let module = ptx::parse(&source).expect("well formed");
    bencher
        .counter(BytesCount::new(source.text.len()))
        .bench(|| ptx::print(&module));
}
