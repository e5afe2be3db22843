//! One decoded instruction as text: the operation with every typed field, registers by name.
//!
//! The format is for reading; an operation shows its modifiers in the words of PTX where there is
//! one, an unused result as `_`.

use std::fmt::{self, Write};

use super::print::Listing;
use super::{
    Access, Addr, BarKind, BoolOp, Fmt, Guard, Inst, IntOp, IntTy, NumTy, Op, RegId, Rnd, Sem,
    Space, Src,
};

impl Listing<'_> {
    pub(super) fn reg(&self, r: RegId) -> &str {
        self.kernel
            .reg_name
            .get(r.0 as usize)
            .map_or("?", |n| n.as_str())
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

    pub(super) fn addr(&self, a: &Addr) -> String {
        match a.offset {
            0 => format!("[{}]", self.src(a.base)),
            at => format!("[{}{at:+}]", self.src(a.base)),
        }
    }

    pub(super) fn pred(&self, g: Guard) -> String {
        let not = if g.negated { "!" } else { "" };
        format!("{not}{}", self.reg(g.reg))
    }

    pub(super) fn srcs(&self, list: &[Src]) -> String {
        list.iter()
            .map(|s| self.src(*s))
            .collect::<Vec<_>>()
            .join(", ")
    }

    fn opt(&self, r: Option<RegId>) -> &str {
        r.map_or("_", |r| self.reg(r))
    }

    pub(super) fn opts(&self, list: &[Option<RegId>]) -> String {
        list.iter()
            .map(|r| self.opt(*r))
            .collect::<Vec<_>>()
            .join(", ")
    }

    pub(super) fn inst(&self, w: &mut String, pc: usize, inst: &Inst) -> fmt::Result {
        if let Some(g) = inst.guard {
            write!(w, "@{} ", self.pred(g))?;
        }
        match &inst.op {
            Op::Mov { dst, src, width } => {
                write!(w, "mov.b{width} {}, {}", self.reg(*dst), self.src(*src))
            }
            Op::Special { dst, special } => write!(w, "special {}, {special:?}", self.reg(*dst)),
            Op::Pack { dst, part, srcs } => write!(
                w,
                "pack.b{part} {}, {{{}}}",
                self.reg(*dst),
                self.srcs(srcs)
            ),
            Op::Unpack { dsts, part, src } => write!(
                w,
                "unpack.b{part} {{{}}}, {}",
                self.opts(dsts),
                self.src(*src)
            ),
            Op::Int {
                op,
                ty,
                lanes,
                dst,
                dst2,
                src,
            } => {
                write!(
                    w,
                    "int {op:?}.{}{} {}",
                    int(*ty),
                    lane(*lanes),
                    self.opt(*dst)
                )?;
                if let Some(d) = dst2 {
                    write!(w, "|{}", self.reg(*d))?;
                }
                write!(w, ", {}", self.srcs(&src[..int_arity(*op)]))
            }
            Op::Float {
                op,
                fmt,
                src_fmt,
                lanes,
                mods,
                dst,
                src,
            } => {
                write!(w, "float {op:?}.{}{}", fmt.name(), lane(*lanes))?;
                if src_fmt != fmt {
                    write!(w, ".{}", src_fmt.name())?;
                }
                rounding(w, mods.rnd)?;
                flags(
                    w,
                    &[
                        (mods.sat, "sat"),
                        (mods.relu, "relu"),
                        (mods.ftz, "ftz"),
                        (mods.approx, "approx"),
                        (mods.nan, "NaN"),
                        (mods.xorsign_abs, "xorsign.abs"),
                        (mods.abs, "abs"),
                        (mods.oob, "oob"),
                    ],
                )?;
                write!(w, " {}, {}", self.reg(*dst), self.srcs(&src[..op.arity()]))
            }
            Op::Setp {
                cmp,
                ty,
                lanes,
                ftz,
                combine,
                p,
                q,
                a,
                b,
            } => {
                write!(w, "setp {cmp:?}.{}{}", num(*ty), lane(*lanes))?;
                flags(w, &[(*ftz, "ftz")])?;
                write!(w, " {}", self.opt(*p))?;
                if let Some(q) = q {
                    write!(w, "|{}", self.reg(*q))?;
                }
                write!(w, ", {}, {}", self.src(*a), self.src(*b))?;
                self.combine(w, *combine)
            }
            Op::Set {
                cmp,
                ty,
                dty,
                lanes,
                ftz,
                combine,
                dst,
                a,
                b,
            } => {
                write!(w, "set {cmp:?}.{}.{}{}", num(*dty), num(*ty), lane(*lanes))?;
                flags(w, &[(*ftz, "ftz")])?;
                write!(w, " {}, {}, {}", self.reg(*dst), self.src(*a), self.src(*b))?;
                self.combine(w, *combine)
            }
            Op::Selp {
                width,
                dst,
                a,
                b,
                p,
            } => write!(
                w,
                "selp.b{width} {}, {}, {}, {}",
                self.reg(*dst),
                self.src(*a),
                self.src(*b),
                self.pred(*p)
            ),
            Op::Slct {
                width,
                cty,
                ftz,
                dst,
                a,
                b,
                c,
            } => {
                write!(w, "slct.b{width}.{}", num(*cty))?;
                flags(w, &[(*ftz, "ftz")])?;
                write!(w, " {}, {}", self.reg(*dst), self.srcs(&[*a, *b, *c]))
            }
            Op::Lop3Bool {
                table,
                op,
                dst,
                p,
                src,
                q,
            } => {
                write!(
                    w,
                    "lop3 {table:#x} {}|{}, {}",
                    self.opt(*dst),
                    self.reg(*p),
                    self.srcs(src)
                )?;
                self.combine(w, Some((*op, *q)))
            }
            Op::Testp { test, fmt, p, a } => write!(
                w,
                "testp {test:?}.{} {}, {}",
                fmt.name(),
                self.reg(*p),
                self.src(*a)
            ),
            Op::Cvt {
                from,
                to,
                rnd,
                sat,
                satfinite,
                relu,
                ftz,
                dst,
                src,
            } => {
                write!(w, "cvt.{}.{}", num(*to), num(*from))?;
                rounding(w, *rnd)?;
                flags(
                    w,
                    &[
                        (*sat, "sat"),
                        (*satfinite, "satfinite"),
                        (*relu, "relu"),
                        (*ftz, "ftz"),
                    ],
                )?;
                write!(w, " {}, {}", self.reg(*dst), self.src(*src))
            }
            Op::CvtNarrow {
                from,
                to,
                rnd,
                satfinite,
                relu,
                dst,
                parts,
            } => {
                write!(w, "cvt.{}x{}.{}", to.name(), parts.len(), from.name())?;
                rounding(w, *rnd)?;
                flags(w, &[(*satfinite, "satfinite"), (*relu, "relu")])?;
                write!(w, " {}, low first {}", self.reg(*dst), self.srcs(parts))
            }
            Op::CvtUnpack2 {
                from,
                to,
                relu,
                dst,
                src,
            } => {
                write!(w, "cvt.{}x2.{}x2", to.name(), from.name())?;
                flags(w, &[(*relu, "relu")])?;
                write!(w, " {}, {}", self.reg(*dst), self.src(*src))
            }
            Op::CvtPackSat { to, from, dst, src } => write!(
                w,
                "cvt.pack.sat.{}.{} {}, {}",
                int(*to),
                int(*from),
                self.reg(*dst),
                self.srcs(src)
            ),
            Op::Cvta {
                space: s,
                to,
                width,
                dst,
                src,
            } => {
                let way = if *to { "to." } else { "" };
                write!(
                    w,
                    "cvta.{way}{}.b{width} {}, {}",
                    space(*s),
                    self.reg(*dst),
                    self.src(*src)
                )
            }
            Op::IsSpace { space: s, p, a } => write!(
                w,
                "isspacep.{} {}, {}",
                space(*s),
                self.reg(*p),
                self.src(*a)
            ),
            Op::Ld {
                access: a,
                dsts,
                addr,
                used,
            } => {
                write!(w, "ld")?;
                access(w, a)?;
                write!(w, " {{{}}}, {}", self.opts(dsts), self.addr(addr))?;
                if *used != u32::MAX {
                    write!(w, " used {used:#x}")?;
                }
                Ok(())
            }
            Op::St {
                access: a,
                srcs,
                addr,
            } => {
                write!(w, "st")?;
                access(w, a)?;
                let values = srcs
                    .iter()
                    .map(|s| s.map_or("_".to_string(), |s| self.src(s)));
                write!(
                    w,
                    " {}, {{{}}}",
                    self.addr(addr),
                    values.collect::<Vec<_>>().join(", ")
                )
            }
            Op::Atom {
                access: a,
                op,
                lanes,
                dsts,
                addr,
                srcs,
                cas,
            } => {
                let dsts = dsts.iter().map(|r| Some(*r)).collect::<Vec<_>>();
                write!(w, "atom {op:?}{}", lane(*lanes))?;
                access(w, a)?;
                write!(
                    w,
                    " {{{}}}, {}, {{{}}}",
                    self.opts(&dsts),
                    self.addr(addr),
                    self.srcs(srcs)
                )?;
                match cas {
                    Some(s) => write!(w, ", {}", self.src(*s)),
                    None => Ok(()),
                }
            }
            Op::Fence { sem, scope } => write!(w, "fence {sem:?} {scope:?}"),
            Op::Bar {
                kind,
                id,
                count,
                aligned,
            } => {
                let name = match kind {
                    BarKind::Sync => "sync",
                    BarKind::Arrive => "arrive",
                    BarKind::RedPopc { .. } => "red.popc",
                    BarKind::RedBool { all: true, .. } => "red.and",
                    BarKind::RedBool { all: false, .. } => "red.or",
                };
                write!(w, "bar.{name}")?;
                flags(w, &[(*aligned, "aligned")])?;
                if let BarKind::RedPopc { dst, src } | BarKind::RedBool { dst, src, .. } = kind {
                    write!(w, " {}, {},", self.reg(*dst), self.pred(*src))?;
                }
                write!(w, " {}", self.src(*id))?;
                match count {
                    Some(n) => write!(w, ", {}", self.src(*n)),
                    None => Ok(()),
                }
            }
            Op::WarpSync { mask } => write!(w, "bar.warp.sync {}", self.src(*mask)),
            Op::Shfl {
                mode,
                dst,
                p,
                a,
                b,
                c,
                mask,
            } => {
                write!(
                    w,
                    "shfl {mode:?} {}|{}, {}",
                    self.reg(*dst),
                    self.opt(*p),
                    self.srcs(&[*a, *b, *c])
                )?;
                self.mask(w, *mask)
            }
            Op::Vote { mode, dst, a, mask } => {
                write!(w, "vote {mode:?} {}, {}", self.reg(*dst), self.pred(*a))?;
                self.mask(w, *mask)
            }
            Op::Match {
                all,
                width,
                dst,
                p,
                a,
                mask,
            } => {
                let way = if *all { "all" } else { "any" };
                write!(
                    w,
                    "match.{way}.b{width} {}|{}, {}",
                    self.reg(*dst),
                    self.opt(*p),
                    self.srcs(&[*a, *mask])
                )
            }
            Op::Redux {
                op,
                ty,
                abs,
                nan,
                dst,
                a,
                mask,
            } => {
                write!(w, "redux {op:?}.{}", num(*ty))?;
                flags(w, &[(*abs, "abs"), (*nan, "NaN")])?;
                write!(w, " {}, {}", self.reg(*dst), self.srcs(&[*a, *mask]))
            }
            Op::Elect { dst, p, mask } => write!(
                w,
                "elect {}|{}, {}",
                self.opt(*dst),
                self.reg(*p),
                self.src(*mask)
            ),
            Op::ActiveMask { dst } => write!(w, "activemask {}", self.reg(*dst)),
            Op::Bra { target, uni } => {
                let back = if target.0 as usize <= pc {
                    " (back)"
                } else {
                    ""
                };
                write!(w, "bra")?;
                flags(w, &[(*uni, "uni")])?;
                write!(w, " {}{back}", target.0)
            }
            Op::Brx { table, index, uni } => {
                write!(w, "brx")?;
                flags(w, &[(*uni, "uni")])?;
                let targets = self.kernel.tables.get(*table as usize);
                let list = targets.into_iter().flatten().map(|t| t.0.to_string());
                write!(
                    w,
                    " {}, {{{}}}",
                    self.src(*index),
                    list.collect::<Vec<_>>().join(", ")
                )
            }
            Op::Exit => write!(w, "exit"),
            Op::Trap => write!(w, "trap"),
            Op::Brkpt => write!(w, "brkpt"),
            Op::AssertFail => write!(w, "assertfail"),
            Op::Printf { result: None } => write!(w, "printf"),
            Op::Printf { result: Some(at) } => write!(w, "printf -> local {at}"),
            Op::Nop => write!(w, "nop"),
            Op::Mma(_)
            | Op::Ldmatrix { .. }
            | Op::Stmatrix { .. }
            | Op::Movmatrix { .. }
            | Op::CpAsync { .. }
            | Op::CpAsyncCommit
            | Op::CpAsyncWait { .. }
            | Op::Async(_) => self.warp_op(w, &inst.op),
            Op::CallDepth => write!(w, "call too deep"),
            Op::Unsupported(i) => {
                let text = self.kernel.texts.get(*i as usize);
                write!(w, "unsupported: {}", text.map_or("?", |t| t.as_str()))
            }
        }
    }

    fn combine(&self, w: &mut String, combine: Option<(BoolOp, Guard)>) -> fmt::Result {
        match combine {
            Some((op, g)) => write!(w, " {op:?} {}", self.pred(g)),
            None => Ok(()),
        }
    }

    fn mask(&self, w: &mut String, mask: Option<Src>) -> fmt::Result {
        match mask {
            Some(m) => write!(w, ", mask {}", self.src(m)),
            None => write!(w, ", no mask"),
        }
    }
}

/// Number of sources that an integer operation reads.
fn int_arity(op: IntOp) -> usize {
    use IntOp::*;
    match op {
        Abs | Neg | Not | Cnot | Popc | Clz | Brev | Bfind | BfindShift => 1,
        Add | AddSat | Sub | SubSat | MulLo | MulHi | MulWide | Mul24Lo | Mul24Hi | Div | Rem
        | Min | Max | MinRelu | MaxRelu | And | Or | Xor | Shl | Shr | SzextClamp | SzextWrap
        | BmskClamp | BmskWrap => 2,
        MadLo | MadHi | MadHiSat | MadWide | Mad24Lo | Mad24Hi | Mad24HiSat | AddCarry
        | SubBorrow | Sad | ShfLClamp | ShfLWrap | ShfRClamp | ShfRWrap | Lop3(_) | Prmt
        | PrmtMode(_) | Bfe | Fns | Dp4a(..) | Dp2aLo(..) | Dp2aHi(..) => 3,
        MadLoCarry | MadHiCarry | Bfi => 4,
    }
}

pub(super) fn int(ty: IntTy) -> String {
    format!("{}{}", if ty.signed { 's' } else { 'u' }, ty.width)
}

pub(super) fn num(ty: NumTy) -> String {
    match ty {
        NumTy::Int(t) => int(t),
        NumTy::Float(f) => Fmt::name(f).to_string(),
    }
}

fn lane(lanes: u8) -> &'static str {
    if lanes == 2 { "x2" } else { "" }
}

pub(super) fn space(s: Space) -> &'static str {
    match s {
        Space::Generic => "generic",
        Space::Global => "global",
        Space::Shared => "shared",
        Space::SharedCluster => "shared::cluster",
        Space::Local => "local",
        Space::Const => "const",
        Space::Param => "param",
    }
}

fn access(w: &mut String, a: &Access) -> fmt::Result {
    write!(w, ".{}", space(a.space))?;
    if a.sem != Sem::Weak {
        write!(w, ".{:?}.{:?}", a.sem, a.scope)?;
    }
    flags(w, &[(a.volatile, "volatile"), (a.nc, "nc")])?;
    match (a.untyped, a.ty) {
        (true, ty) => write!(w, ".b{}", ty.bits()),
        (false, ty) => write!(w, ".{}", num(ty)),
    }
}

fn rounding(w: &mut String, rnd: Rnd) -> fmt::Result {
    match rnd {
        Rnd::None => Ok(()),
        r => write!(w, ".{r:?}"),
    }
}

pub(super) fn flags(w: &mut String, list: &[(bool, &str)]) -> fmt::Result {
    for (set, name) in list {
        if *set {
            write!(w, ".{name}")?;
        }
    }
    Ok(())
}
