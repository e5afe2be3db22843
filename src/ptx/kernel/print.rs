//! A listing of a kernel for `volta dump --stage kernel`.
//!
//! The problem: a person who doubts a verdict must be able to see what the text was taken to mean,
//! one line for each decoded instruction: its program counter, its guard, the operation with every
//! typed field, registers by their PTX names, and the line of the PTX it comes from. The format
//! is for reading; nothing parses it back.

use std::fmt::{self, Display, Formatter, Write};

use super::field::Text;
use super::listing::Listing;
use super::{Begins, Inst, Kernel, Pc};

impl Kernel {
    /// The kernel as a listing.
    pub fn listing(&self) -> Listing<'_> {
        Listing { kernel: self }
    }
}

impl Display for Listing<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let k = self.kernel;
        writeln!(f, "entry {}  sm_{}", k.name, k.sm)?;
        for (i, p) in k.params.iter().enumerate() {
            writeln!(
                f,
                "param {i} {} at {} bytes {} {:?}",
                p.name, p.offset, p.bytes, p.kind
            )?;
        }
        for v in &k.shared {
            writeln!(f, "shared {} at {} bytes {}", v.name, v.offset, v.bytes)?;
        }
        if let Some(at) = k.dynamic_shared {
            writeln!(f, "shared dynamic at {at}")?;
        }
        for v in &k.locals {
            writeln!(f, "local {} at {} bytes {}", v.name, v.offset, v.bytes)?;
        }
        for (i, g) in k.globals.iter().enumerate() {
            let space = if g.constant { "const" } else { "global" };
            let from = match g.begins {
                Begins::Initialised => "",
                Begins::Filled | Begins::Elsewhere => " extern",
            };
            writeln!(f, "{space}{from} g{i} {} bytes {}", g.name, g.bytes)?;
        }
        if let Some([x, y, z]) = k.reqntid {
            writeln!(f, "reqntid {x} {y} {z}")?;
        }
        if let Some([x, y, z]) = k.cluster {
            writeln!(f, "reqnctapercluster {x} {y} {z}")?;
        }
        let mut text = String::new();
        for (pc, inst) in k.insts.iter().enumerate() {
            text.clear();
            self.inst(&mut text, inst)?;
            let span = k.spans.get(pc).copied().unwrap_or_default();
            let line = k.source.position(span.start).line;
            write!(f, "{pc:5}  {text:<60} ; line {line}")?;
            if let Some(loc) = k.loc(Pc(pc as u32)) {
                write!(f, " ({}:{})", loc.file, loc.line)?;
            }
            if let Some(join) = k.join.get(pc).filter(|j| **j != u32::MAX) {
                write!(f, " joins {join}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl Listing<'_> {
    /// One instruction without its program counter and places.
    pub fn text(&self, pc: Pc) -> String {
        let mut text = String::new();
        if let Some(inst) = self.kernel.insts.get(pc.0 as usize) {
            // Writing to a string cannot fail.
            let _ = self.inst(&mut text, inst);
        }
        text
    }

    fn inst(&self, w: &mut String, inst: &Inst) -> fmt::Result {
        if let Some(g) = inst.guard {
            write!(w, "@{} ", Text(&g, "", self))?;
        }
        write!(w, "{}{}", inst.op.name(), Text(&inst.op, "", self))
    }
}
