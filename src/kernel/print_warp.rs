//! Matrix products of a warp and asynchronous copies as text.

use std::fmt::{self, Write};

use super::print::Listing;
use super::print_op::{flags, int, num, space};
use super::{IntTy, MatTy, MatrixForm, Mma, MmaForm, Op, Src};

/// What a matrix load or store says about where elements go.
fn matrix_form(w: &mut String, form: MatrixForm) -> fmt::Result {
    w.write_str(match form {
        MatrixForm::Rows => "",
        MatrixForm::Columns => ".trans",
        MatrixForm::Square => ".trans.m16n16",
        MatrixForm::Pairs => ".trans.m16n8",
    })
}

impl Listing<'_> {
    /// An operation of a whole warp, or of its copy engine.
    pub(super) fn warp_op(&self, w: &mut String, op: &Op) -> fmt::Result {
        match op {
            Op::Mma(mma) => self.mma(w, mma),
            Op::Ldmatrix {
                dsts,
                form,
                narrow,
                space: from,
                addr,
            } => {
                let dsts: Vec<_> = dsts.iter().map(|r| Some(*r)).collect();
                write!(w, "ldmatrix.{}", space(*from))?;
                matrix_form(w, *form)?;
                if let Some(bits) = narrow {
                    write!(w, ".b{bits}")?;
                }
                write!(w, " {{{}}}, {}", self.opts(&dsts), self.addr(addr))
            }
            Op::Stmatrix {
                srcs,
                form,
                space: to,
                addr,
            } => {
                write!(w, "stmatrix.{}", space(*to))?;
                matrix_form(w, *form)?;
                write!(w, " {}, {{{}}}", self.addr(addr), self.srcs(srcs))
            }
            Op::Movmatrix { dst, src } => {
                write!(w, "movmatrix {}, {}", self.reg(*dst), self.src(*src))
            }
            Op::CpAsync {
                bytes,
                read,
                ignore,
                to,
                from,
            } => {
                write!(
                    w,
                    "cp.async {}, {}, {bytes}",
                    self.addr(to),
                    self.addr(from)
                )?;
                if let Some(read) = read {
                    write!(w, ", reads {}", self.src(*read))?;
                }
                match ignore {
                    Some(guard) => write!(w, ", zero if {}", self.pred(*guard)),
                    None => Ok(()),
                }
            }
            Op::CpAsyncCommit => write!(w, "cp.async.commit"),
            Op::CpAsyncWait { pending: None } => write!(w, "cp.async.wait all"),
            Op::CpAsyncWait { pending: Some(n) } => write!(w, "cp.async.wait all but {n}"),
            Op::Async(op) => {
                let (mut d, mut s) = (Vec::new(), Vec::new());
                op.defs(&mut |r| d.push(Some(r)));
                op.uses(&mut |r| s.push(Src::Reg(r)));
                write!(w, "{} {}", op.name(), self.opts(&d))?;
                write!(w, " <- {}", self.srcs(&s))
            }
            _ => Ok(()),
        }
    }

    fn mma(&self, w: &mut String, mma: &Mma) -> fmt::Result {
        let d: Vec<_> = mma.d.iter().map(|r| Some(*r)).collect();
        let name = if mma.sparse.is_some() {
            "mma.sp"
        } else {
            "mma"
        };
        let (name, k) = match mma.form {
            MmaForm::Bits { xor: true } => ("mma.xor.popc", 32 * mma.k),
            MmaForm::Bits { xor: false } => ("mma.and.popc", 32 * mma.k),
            _ => (name, mma.k),
        };
        write!(w, "{name}.m{}n8k{k}", mma.m)?;
        if let MmaForm::Quads { a_col, b_row } = mma.form {
            flags(w, &[(a_col, "a_col"), (b_row, "b_row")])?;
        }
        write!(w, ".{}.{}", num(mma.d_ty), element(mma.a_ty))?;
        write!(w, ".{}.{}", element(mma.b_ty), num(mma.c_ty))?;
        flags(w, &[(mma.clamp, "satfinite")])?;
        write!(w, " {{{}}}, {{{}}}", self.opts(&d), self.srcs(&mma.a))?;
        write!(w, ", {{{}}}, {{{}}}", self.srcs(&mma.b), self.srcs(&mma.c))?;
        if let Some(s) = mma.sparse {
            write!(w, ", {}, {}", self.src(s.metadata), s.selector)?;
        }
        if let Some(s) = &mma.scale {
            write!(w, ", {}x{}", s.chunks, s.fmt.name())?;
            for d in [s.a, s.b] {
                let (byte, thread) = (self.src(d.byte), self.src(d.thread));
                write!(w, ", {}[{byte}] of {thread}", self.src(d.data))?;
            }
        }
        Ok(())
    }
}

fn element(ty: MatTy) -> String {
    match ty {
        MatTy::Float(fmt) | MatTy::Packed(fmt) => fmt.name().to_string(),
        MatTy::Int { width, signed } => int(IntTy { width, signed }),
    }
}
