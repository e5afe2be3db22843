//! What the parts of operations are called in a listing of their kernel.

use super::{Kernel, RegId, Src};

/// Displays a kernel as a listing.
pub struct Listing<'a> {
    pub(super) kernel: &'a Kernel,
}

impl Listing<'_> {
    pub(super) fn reg(&self, r: RegId) -> &str {
        let name = self.kernel.reg_name.get(r.0 as usize);
        name.map_or("?", |n| n.as_str())
    }

    pub(super) fn src(&self, s: Src) -> String {
        match s {
            Src::Reg(r) => self.reg(r).to_string(),
            Src::Imm(v) if v < 10 => v.to_string(),
            Src::Imm(v) => format!("{v:#x}"),
            Src::Global(g, 0) => format!("g{}", g.0),
            Src::Global(g, at) => format!("g{}{at:+}", g.0),
            Src::Var(_, at, plus) => self.src(Src::Imm(i64::from(at).wrapping_add(plus) as u64)),
        }
    }

    /// Sources between commas.
    pub(super) fn srcs(&self, list: &[Src]) -> String {
        let texts = list.iter().map(|s| self.src(*s));
        texts.collect::<Vec<_>>().join(", ")
    }

    /// The targets of a table of branches.
    pub(super) fn targets(&self, table: u32) -> String {
        let targets = self.kernel.tables.get(table as usize);
        let texts = targets.into_iter().flatten().map(|t| t.0.to_string());
        texts.collect::<Vec<_>>().join(", ")
    }

    /// What an operation that is not modelled is.
    pub(super) fn note(&self, text: u32) -> &str {
        let text = self.kernel.texts.get(text as usize);
        text.map_or("?", |t| t.as_str())
    }
}
