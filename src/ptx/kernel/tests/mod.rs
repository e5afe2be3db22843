//! Tests of lowering: a few lines of PTX and the listing that they must give.
//!
//! The body of a test stands in an entry with registers of every type, parameters and variables; the
//! expected text is the listing without program counters and places.

use std::sync::Arc;

use super::*;
use crate::diag::Source;
use crate::ptx;

mod arith;
mod calls;
mod corpus;
mod errors;
mod flow;
mod memory;
mod promote;
mod sync;
mod usage;

/// Declarations that every body may use.
const DECLS: &str = "
    .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<19>; .reg .b64 %rd<19>;
    .reg .f32 %f<9>; .reg .f64 %fd<9>; .reg .b128 %q<3>; .reg .v4 .f32 %v<2>;
    .shared .align 8 .b8 tile[64]; .local .align 16 .b8 stack[32];
";

/// Module text before the entry.
const HEAD: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

/// Lowers the only entry of a module, or the one named `main`.
pub(crate) fn lower_text(text: &str) -> Result<Lowered, Vec<LowerError>> {
    let source = Arc::new(Source::new("test.ptx", text).expect("short"));
    let module = ptx::parse(&source).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let name = module.entries().nth(1).map(|_| "main");
    let entry = select_entry(&module, name).map_err(|error| vec![error])?;
    lower(&module, &source, entry)
}

/// A module whose entry has the given body.
pub(crate) fn module_of(before: &str, body: &str) -> String {
    format!(
        "{HEAD}{before}\n.visible .entry main(.param .u64 a, .param .u32 n, .param .f32 x, \
         .param .align 8 .b8 s[24])\n{{{DECLS}{body}\n}}\n"
    )
}

/// The lowered entry with this body.
pub(crate) fn kernel_of(before: &str, body: &str) -> Kernel {
    match lower_text(&module_of(before, body)) {
        Ok(lowered) => lowered.kernel,
        Err(errors) => panic!("{body}: {errors:?}"),
    }
}

/// The listing of the entry with this body, the final `exit` left out.
pub(crate) fn listing(before: &str, body: &str) -> Vec<String> {
    let kernel = kernel_of(before, body);
    check(&kernel);
    let texts = (0..kernel.insts.len()).map(|pc| kernel.listing().text(Pc(pc as u32)));
    let mut texts: Vec<String> = texts.collect();
    if texts.last().is_some_and(|text| text == "exit") {
        texts.pop();
    }
    texts
}

/// Each line of the table: PTX, `=>`, the listing (several instructions separated by `;;`).
pub(crate) fn check_table(table: &str) {
    for line in table.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let (ptx, wanted) = line.split_once("=>").expect("a table line has an arrow");
        let found = listing("", ptx.trim());
        let wanted: Vec<&str> = wanted.split(";;").map(str::trim).collect();
        assert_eq!(found, wanted, "{ptx}");
    }
}

/// What holds of every kernel.
pub(crate) fn check(k: &Kernel) {
    let n = k.insts.len();
    assert_eq!((k.spans.len(), k.loc_of.len(), k.join.len()), (n, n, n));
    assert_eq!(k.reg_width.len(), k.reg_name.len());
    assert!(
        k.reg_width
            .iter()
            .all(|w| matches!(w, 1 | 8 | 16 | 32 | 64))
    );
    let regs = k.reg_width.len() as u32;
    for (pc, inst) in k.insts.iter().enumerate() {
        operands::uses(inst, |r| assert!(r.0 < regs));
        inst.op.defs(&mut |r| assert!(r.0 < regs));
        match operands::next(k, Pc(pc as u32)) {
            operands::Next::Jump { target, fall } => {
                assert!((target.0 as usize) < n);
                assert!(!fall || pc + 1 < n);
            }
            operands::Next::Table { targets, .. } => {
                assert!(targets.iter().all(|t| (t.0 as usize) < n));
            }
            operands::Next::Fall => assert!(pc + 1 < n, "{pc} falls off the end"),
            operands::Next::End { fall } => assert!(!fall || pc + 1 < n),
        }
        if let Op::Unsupported(text) = inst.op {
            assert!((text as usize) < k.texts.len());
        }
    }
}
