//! Does a result depend on the numeric address of an array?
//!
//! The problem: an answer must not depend on where arrays lie. `kernel::pointer_bits` lists, once
//! for all executions, the instructions that may make it so; without optimisation, where all
//! variables live in memory and every pointer is generic, it lists far too many. Here each
//! execution of a listed one is judged by the values at hand: addresses of arrays are known by
//! their window.
//!
//! Soundness, by induction over the run: as long as no part of an address was taken, every value
//! that is derived from a base either is an address in its window, or comes from an instruction
//! that was reported. Parts are taken by the instructions that `kernel::pointer_bits` lists as
//! such, or loaded from a cell that holds half of an address; after the first one, the
//! list alone decides.
//!
//! Not claimed: that a reported instruction matters. Known numbers that happen to look like an
//! address are taken for one.

use crate::kernel::operands::uses;
use crate::kernel::{Cmp, IntOp, Op, Pc, RegId, Space, Src};

use super::machine::{Machine, locate};
use super::memory::RegionKind;
use super::value::Val;
use super::warp::lanes;

/// What one instruction may do with addresses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Use {
    /// The result may depend on the base of an array.
    pub depends: bool,
    /// It may take a part of an address.
    pub parts: bool,
}

/// What a lane holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    /// Nothing that is derived from a base.
    Plain,
    /// An address in a region by number.
    Address(u32),
    /// Bits that may be one of several addresses.
    Any,
}

impl Machine<'_> {
    /// Records that a part of an address is taken, if one is.
    pub fn take_parts(&mut self, w: usize, mask: u32, pc: Pc) {
        if self.values.address_part {
            return;
        }
        self.values.address_part = self.any_address(w, mask, pc);
    }

    /// Whether the result of a listed instruction depends on a base.
    pub fn depends_on_base(&self, w: usize, mask: u32, pc: Pc) -> bool {
        if self.values.address_part {
            return true;
        }
        let each = |f: &dyn Fn(usize) -> bool| lanes(mask).any(f);
        let held = |s: Src, lane| self.held(w, s, lane);
        // Does a mask change or keep such bits of an address only?
        let low = |op: IntOp, mask: Src, lane| match self.src(w, mask, lane) {
            Val::Conc(m) => m < 256 || op == IntOp::And && !m < 256,
            _ => false,
        };
        match &self.inst(pc).op {
            Op::Int {
                op, lanes: 1, src, ..
            } => {
                let [a, b, c, d] = *src;
                each(&|lane| {
                    let (x, y) = (held(a, lane), held(b, lane));
                    match op {
                        IntOp::Add => x != Held::Plain && y != Held::Plain,
                        IntOp::Sub => y != Held::Plain && (x != y || x == Held::Any),
                        IntOp::MadLo | IntOp::MadWide => x != Held::Plain || y != Held::Plain,
                        // The low eight bits of an address are those of its offset.
                        IntOp::And | IntOp::Or | IntOp::Xor => match (x, y) {
                            (Held::Plain, Held::Plain) => false,
                            (Held::Address(_), Held::Plain) => !low(*op, b, lane),
                            (Held::Plain, Held::Address(_)) => !low(*op, a, lane),
                            _ => true,
                        },
                        _ => [a, b, c, d]
                            .into_iter()
                            .any(|s| held(s, lane) != Held::Plain),
                    }
                })
            }
            Op::Setp { cmp, a, b, .. } | Op::Set { cmp, a, b, .. } => {
                let zero = |s: Src| s == Src::Imm(0);
                let null = matches!(cmp, Cmp::Eq | Cmp::Ne) && (zero(*a) || zero(*b));
                each(&|lane| match (held(*a, lane), held(*b, lane)) {
                    (Held::Plain, Held::Plain) => false,
                    (Held::Address(x), Held::Address(y)) => x != y,
                    _ => !null,
                })
            }
            // An address may be spilled whole to memory of the thread or the CTA.
            Op::St { access, srcs, addr } => each(&|lane| {
                let given = srcs.iter().flatten().any(|s| held(*s, lane) != Held::Plain);
                let misused = !is_global(access.space) && held(addr.base, lane) != Held::Plain;
                let whole = access.ty.bits() == 64;
                misused || given && !(whole && self.is_private(w, access.space, addr.base, lane))
            }),
            Op::Ld { access, addr, .. } => {
                !is_global(access.space) && each(&|lane| held(addr.base, lane) != Held::Plain)
            }
            Op::Atom { srcs, cas, .. } => each(&|lane| {
                srcs.iter()
                    .chain(cas)
                    .any(|s| held(*s, lane) != Held::Plain)
            }),
            // What these give is narrower than an address.
            Op::CpAsync { .. } | Op::Ldmatrix { .. } | Op::Stmatrix { .. } => false,
            _ => self.any_address(w, mask, pc),
        }
    }

    fn any_address(&self, w: usize, mask: u32, pc: Pc) -> bool {
        let mut found = false;
        uses(self.inst(pc), |r: RegId| {
            found = found || lanes(mask).any(|l| self.held(w, Src::Reg(r), l) != Held::Plain);
        });
        found
    }

    /// What a source holds, while no part of an address was taken.
    fn held(&self, w: usize, s: Src, lane: usize) -> Held {
        if let Src::Reg(r) = s
            && self.kernel.reg_width[r.0 as usize] != 64
        {
            return Held::Plain;
        }
        match self.src(w, s, lane) {
            Val::Conc(v) => match locate(v, self.regions.len()) {
                Some((r, _)) if self.is_array(r.0) => Held::Address(r.0),
                _ => Held::Plain,
            },
            Val::Bits(_) | Val::Sum(..) => Held::Any,
            Val::Real(..) | Val::Open(..) | Val::Pred(_) | Val::Unset => Held::Plain,
        }
    }

    fn is_array(&self, region: u32) -> bool {
        let kind = self.regions.get(region as usize).map(|r| r.kind);
        !matches!(kind, None | Some(RegionKind::Shared | RegionKind::Local))
    }

    /// Does an access go to memory of the thread or the CTA?
    fn is_private(&self, w: usize, space: Space, base: Src, lane: usize) -> bool {
        match space {
            Space::Local | Space::Shared => true,
            Space::Generic => match self.src(w, base, lane) {
                Val::Conc(v) => {
                    locate(v, self.regions.len()).is_some_and(|(r, _)| !self.is_array(r.0))
                }
                _ => false,
            },
            _ => false,
        }
    }
}

fn is_global(space: Space) -> bool {
    matches!(space, Space::Generic | Space::Global | Space::Const)
}
