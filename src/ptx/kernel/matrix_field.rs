//! The registers and the text of a matrix product of a warp.

use std::fmt::{self, Formatter};

use super::field::{Field, Text};
use super::listing::Listing;
use super::{IntTy, MatTy, Mma, MmaForm, RegId};

impl Field for MatTy {
    fn text(&self, name: &str, list: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            MatTy::Float(fmt) | MatTy::Packed(fmt) => fmt.text(name, list, f),
            MatTy::Int { width, signed } => IntTy { width, signed }.text(name, list, f),
        }
    }
}

impl Field for Mma {
    fn uses(&self, f: &mut impl FnMut(RegId)) {
        self.a.uses(f);
        self.b.uses(f);
        self.c.uses(f);
        if let Some(s) = &self.scale {
            for d in [s.a, s.b] {
                [d.data, d.byte, d.thread].uses(f);
            }
        }
        if let Some(s) = &self.sparse {
            s.metadata.uses(f);
        }
    }

    fn defs(&self, f: &mut impl FnMut(RegId)) {
        self.d.defs(f);
    }

    fn text(&self, _: &str, list: &Listing<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        let k = match self.form {
            MmaForm::Bits { .. } => 32 * self.k,
            MmaForm::Whole | MmaForm::Quads { .. } => self.k,
        };
        write!(f, ".m{}n8k{k}", self.m)?;
        if let MmaForm::Quads { a_col, b_row } = self.form {
            a_col.text("a_col", list, f)?;
            b_row.text("b_row", list, f)?;
        }
        let (d_ty, c_ty) = (Text(&self.d_ty, "", list), Text(&self.c_ty, "", list));
        let (a_ty, b_ty) = (Text(&self.a_ty, "", list), Text(&self.b_ty, "", list));
        write!(f, ".{d_ty}.{a_ty}.{b_ty}.{c_ty}")?;
        self.clamp.text("satfinite", list, f)?;
        write!(f, " {{{}}}", Text(&self.d, "", list))?;
        for part in [&self.a, &self.b, &self.c] {
            write!(f, ", {{{}}}", list.srcs(part))?;
        }
        if let Some(s) = self.sparse {
            write!(f, ", {}, {}", list.src(s.metadata), s.selector)?;
        }
        if let Some(s) = &self.scale {
            write!(f, ", {}x{}", s.chunks, s.fmt.name())?;
            for d in [s.a, s.b] {
                let (byte, thread) = (list.src(d.byte), list.src(d.thread));
                write!(f, ", {}[{byte}] of {thread}", list.src(d.data))?;
            }
        }
        Ok(())
    }
}

impl Mma {
    /// Its name.
    pub(super) fn name(&self) -> &'static str {
        match (self.form, self.sparse.is_some()) {
            (MmaForm::Bits { xor: true }, _) => "mma.xor.popc",
            (MmaForm::Bits { xor: false }, _) => "mma.and.popc",
            (MmaForm::Whole | MmaForm::Quads { .. }, true) => "mma.sp",
            (MmaForm::Whole | MmaForm::Quads { .. }, false) => "mma",
        }
    }
}
