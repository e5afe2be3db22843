//! A litmus program as PTX: one thread of each CTA, or several of different warps, that keep their registers in an array.

use std::fmt::Write;

use super::axioms::{Op, Program, Rmw, Scope, Sem};

const HEAD: &str = ".version 8.7\n.target sm_90\n.address_size 64\n";

fn sem(s: Sem) -> &'static str {
    match s {
        Sem::Weak => "",
        Sem::Relaxed => ".relaxed",
        Sem::Acquire => ".acquire",
        Sem::Release => ".release",
        Sem::AcqRel => ".acq_rel",
        Sem::Sc => ".sc",
        Sem::Volatile => ".volatile",
    }
}

fn scope(s: Sem, c: Scope) -> &'static str {
    match (s, c) {
        (Sem::Weak | Sem::Volatile, _) => "",
        (_, Scope::Cta) => ".cta",
        (_, Scope::Gpu) => ".gpu",
    }
}

fn step(op: Op, out: &mut String, end: usize, label: &mut usize) {
    let with = |s: Sem, c: Scope| format!("{}{}", sem(s), scope(s, c));
    let _ = match op {
        Op::Fence(s, c) => writeln!(out, "\tfence{};", with(s, c)),
        Op::Load(x, s, c) => writeln!(out, "\tld{}.global.u32 %r8, [%rd1+{}];", with(s, c), 4 * x),
        Op::Store(x, v, s, c) => {
            writeln!(out, "\tst{}.global.u32 [%rd1+{}], {v};", with(s, c), 4 * x)
        }
        Op::Update(x, Rmw::Add, v, s, c) => {
            writeln!(
                out,
                "\tatom{}.global.add.u32 %r8, [%rd1+{}], {v};",
                with(s, c),
                4 * x
            )
        }
        Op::Update(x, Rmw::Exch, v, s, c) => {
            writeln!(
                out,
                "\tatom{}.global.exch.b32 %r8, [%rd1+{}], {v};",
                with(s, c),
                4 * x
            )
        }
        Op::Reduce(x, v, s, c) => {
            writeln!(
                out,
                "\tred{}.global.add.u32 [%rd1+{}], {v};",
                with(s, c),
                4 * x
            )
        }
        Op::Guard(v) => writeln!(out, "\tsetp.ne.u32 %p1, %r8, {v};\n\t@%p1 bra END{end};"),
        Op::Barrier => writeln!(out, "\tbarrier.sync 0;"),
        Op::Await(x, v, s, c) => {
            *label += 1;
            let w = with(s, c);
            writeln!(
                out,
                "W{label}:\n\tld{w}.global.u32 %r8, [%rd1+{}];\n\tsetp.ne.u32 %p1, %r8, {v};\n\t@%p1 bra W{label};",
                4 * x
            )
        }
    };
}

/// How many CTAs, and threads of each.
pub(super) fn launch(p: &Program) -> (usize, usize) {
    let ctas = p.threads.iter().map(|t| t.0 + 1).max().unwrap_or(1);
    let of = |c: usize| p.threads.iter().filter(|t| t.0 == c).count();
    (ctas, (0..ctas).map(of).max().unwrap_or(1))
}

/// The program, whose threads of one CTA are so many apart, and how many registers it keeps.
pub(super) fn program(p: &Program, apart: usize) -> (String, usize) {
    let mut out = String::from(HEAD);
    out += ".visible .entry litmus(.param .u64 words, .param .u64 out)\n{\n";
    out += "\t.reg .pred %p<2>;\n\t.reg .b32 %r<16>;\n\t.reg .b64 %rd<4>;\n";
    out += "\tld.param.u64 %rd1, [words];\n\tld.param.u64 %rd2, [out];\n";
    out += "\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %tid.x;\n";
    let (mut kept, mut label) = (0, 0);
    let mut bodies = String::new();
    for (t, (cta, ops)) in p.threads.iter().enumerate() {
        let rank = p.threads[..t].iter().filter(|o| o.0 == *cta).count();
        let key = cta * 128 + rank * apart;
        let _ = writeln!(
            out,
            "\tmad.lo.u32 %r3, %r1, 128, %r2;\n\tsetp.eq.u32 %p1, %r3, {key};\n\t@%p1 bra T{t};"
        );
        let _ = writeln!(bodies, "T{t}:\n\tmov.u32 %r8, 0;");
        // Each register is kept as soon as it is known.
        let first = kept;
        kept += ops.iter().filter(|o| o.has_register()).count();
        for i in first..kept {
            let _ = writeln!(bodies, "\tst.global.u32 [%rd2+{}], 0;", 4 * i);
        }
        let mut next = first;
        for &op in ops {
            step(op, &mut bodies, t, &mut label);
            if op.has_register() {
                let _ = writeln!(bodies, "\tst.global.u32 [%rd2+{}], %r8;", 4 * next);
                next += 1;
            }
        }
        let _ = writeln!(bodies, "END{t}:\n\tret;");
    }
    (out + "\tret;\n" + &bodies + "}\n", kept)
}

/// A kernel that writes these numbers.
pub(super) fn reference(outcome: &[u32]) -> String {
    let mut out = String::from(HEAD);
    out += ".visible .entry outcome(.param .u64 words, .param .u64 out)\n{\n\t.reg .b64 %rd<4>;\n\tld.param.u64 %rd2, [out];\n";
    for (i, v) in outcome.iter().enumerate() {
        let _ = writeln!(out, "\tst.global.u32 [%rd2+{}], {v};", 4 * i);
    }
    out + "\tret;\n}\n"
}
