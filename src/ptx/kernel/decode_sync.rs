//! Decoder of synchronisation: barriers, fences, warp collectives.
//!
//! Source: PTX ISA 9.0, sections 9.7.9.5, 9.7.9.6 and 9.7.13.1 to 9.7.13.14. `bar` is `barrier` with
//! `.aligned`; `membar` is `fence.sc` of the scope that it names.
//!
//! Not claimed: cluster barriers, proxy fences.

use super::decode_async::RESTRICTED;
use super::decode_mem::SCOPES;
use super::lower::Lowerer;
use super::sig::{Decoded, ModSet, Sig, unsupported};
use super::{AtomOp, BarKind, Fmt, IntTy, NumTy, Op, Scope, Sem, ShflMode, VoteMode};
use crate::ptx::{Mod, Op as Opcode, Type};

#[derive(Clone, Copy, PartialEq)]
enum Barrier {
    Sync,
    Arrive,
    Red,
}

#[derive(Clone, Copy)]
enum Reduction {
    Popc,
    And,
    Or,
}

impl Lowerer<'_> {
    /// `bar.sync a, b;`, `bar.arrive a, b;`, `bar.red.op.type p, a, b, c;` and `barrier`.
    pub(super) fn decode_bar(&mut self, sig: &Sig) -> Decoded<()> {
        sig.no_space()?;
        sig.only(
            const {
                ModSet::of(&[
                    Mod::Cta,
                    Mod::Sync,
                    Mod::Arrive,
                    Mod::Red,
                    Mod::Aligned,
                    Mod::Popc,
                    Mod::And,
                    Mod::Or,
                ])
            },
        )?;
        let aligned = sig.op == Opcode::Bar || sig.has(Mod::Aligned);
        let action = sig.need(
            &[
                (Mod::Sync, Barrier::Sync),
                (Mod::Arrive, Barrier::Arrive),
                (Mod::Red, Barrier::Red),
            ],
            "an action",
        )?;
        let reduction = sig.pick(&[
            (Mod::Popc, Reduction::Popc),
            (Mod::And, Reduction::And),
            (Mod::Or, Reduction::Or),
        ])?;
        let (kind, at, predicates) = match (action, reduction, sig.types()) {
            (Barrier::Sync, None, []) => (BarKind::Sync, 0, 0),
            (Barrier::Arrive, None, []) => (BarKind::Arrive, 0, 0),
            (Barrier::Red, Some(Reduction::Popc), [Type::U32]) => {
                self.expect_between(3, 4)?;
                let src = self.pred(self.ops.len() - 1)?;
                let dst = self.dst(0, Type::U32)?;
                (BarKind::RedPopc { dst, src }, 1, 1)
            }
            (Barrier::Red, Some(op), [Type::Pred]) => {
                self.expect_between(3, 4)?;
                let src = self.pred(self.ops.len() - 1)?;
                let dst = self.dst(0, Type::Pred)?;
                let all = matches!(op, Reduction::And);
                if matches!(op, Reduction::Popc) {
                    return unsupported("no such types");
                }
                (BarKind::RedBool { dst, src, all }, 1, 1)
            }
            _ => return unsupported("no such form"),
        };
        let most = at + 2 + predicates;
        let least = if action == Barrier::Arrive {
            most
        } else {
            most - 1
        };
        self.expect_between(least, most)?;
        let id = self.src(at, Type::U32)?;
        let count = match self.ops.len() == most {
            true => Some(self.src(at + 1, Type::U32)?),
            false => None,
        };
        self.emit(Op::Bar {
            kind,
            id,
            count,
            aligned,
        });
        Ok(())
    }

    /// `bar.warp.sync mask;`
    pub(super) fn decode_warp_sync(&mut self, sig: &Sig) -> Decoded<()> {
        plain(sig, &[])?;
        sig.only(const { ModSet::of(&[]) })?;
        self.expect(1)?;
        let mask = self.src(0, Type::B32)?;
        self.emit(Op::WarpSync { mask });
        Ok(())
    }

    /// `fence.sem.scope;` and `membar.level;`
    pub(super) fn decode_fence(&mut self, sig: &Sig) -> Decoded<()> {
        self.expect(0)?;
        let op = if sig.op == Opcode::Membar {
            plain(sig, &[])?;
            sig.only(const { ModSet::of(&[Mod::Cta, Mod::Gl, Mod::Sys]) })?;
            const LEVELS: &[(Mod, Scope)] = &[
                (Mod::Cta, Scope::Cta),
                (Mod::Gl, Scope::Gpu),
                (Mod::Sys, Scope::Sys),
            ];
            Op::Fence {
                sem: Sem::Sc,
                scope: sig.need(LEVELS, "a level")?,
                only: None,
            }
        } else {
            plain(sig, &[])?;
            sig.only(
                const {
                    ModSet::of(&[
                        Mod::Sc,
                        Mod::AcqRel,
                        Mod::Acquire,
                        Mod::Release,
                        Mod::Cta,
                        Mod::Cluster,
                        Mod::Gpu,
                        Mod::Sys,
                        Mod::SyncRestrictSharedCta,
                        Mod::SyncRestrictSharedCluster,
                    ])
                },
            )?;
            const ORDERS: &[(Mod, Sem)] = &[
                (Mod::Sc, Sem::Sc),
                (Mod::AcqRel, Sem::AcqRel),
                (Mod::Acquire, Sem::Acquire),
                (Mod::Release, Sem::Release),
            ];
            Op::Fence {
                sem: sig.pick(ORDERS)?.unwrap_or(Sem::AcqRel),
                scope: sig.need(SCOPES, "a scope")?,
                only: sig.pick(RESTRICTED)?,
            }
        };
        self.emit(op);
        Ok(())
    }

    /// `shfl.sync.mode.b32 d|p, a, b, c, mask;` and the form without `.sync`.
    pub(super) fn decode_shfl(&mut self, sig: &Sig) -> Decoded<()> {
        const MODES: &[(Mod, ShflMode)] = &[
            (Mod::Up, ShflMode::Up),
            (Mod::Down, ShflMode::Down),
            (Mod::Bfly, ShflMode::Bfly),
            (Mod::Idx, ShflMode::Idx),
        ];
        plain(sig, &[Type::B32])?;
        sig.only(const { ModSet::of(&[Mod::Up, Mod::Down, Mod::Bfly, Mod::Idx]) })?;
        let mode = sig.need(MODES, "a mode")?;
        let sync = sig.op == Opcode::ShflSync;
        self.expect(if sync { 5 } else { 4 })?;
        let (Some(dst), p) = self.dst_pair(0, Type::B32)? else {
            return unsupported("no destination");
        };
        let op = Op::Shfl {
            mode,
            dst,
            p,
            a: self.src(1, Type::B32)?,
            b: self.src(2, Type::B32)?,
            c: self.src(3, Type::B32)?,
            mask: match sync {
                true => Some(self.src(4, Type::B32)?),
                false => None,
            },
        };
        self.emit(op);
        Ok(())
    }

    /// `vote.sync.mode.type d, a, mask;` and the form without `.sync`.
    pub(super) fn decode_vote(&mut self, sig: &Sig) -> Decoded<()> {
        const MODES: &[(Mod, VoteMode)] = &[
            (Mod::All, VoteMode::All),
            (Mod::Any, VoteMode::Any),
            (Mod::Uni, VoteMode::Uni),
            (Mod::Ballot, VoteMode::Ballot),
        ];
        sig.no_space()?;
        sig.only(const { ModSet::of(&[Mod::All, Mod::Any, Mod::Uni, Mod::Ballot]) })?;
        let mode = sig.need(MODES, "a mode")?;
        let wanted = if mode == VoteMode::Ballot {
            Type::B32
        } else {
            Type::Pred
        };
        if sig.ty()? != wanted {
            return unsupported("no such type");
        }
        let sync = sig.op == Opcode::VoteSync;
        self.expect(if sync { 3 } else { 2 })?;
        let op = Op::Vote {
            mode,
            dst: self.dst(0, wanted)?,
            a: self.pred(1)?,
            mask: match sync {
                true => Some(self.src(2, Type::B32)?),
                false => None,
            },
        };
        self.emit(op);
        Ok(())
    }

    /// `match.any.sync.type d, a, mask;` and `match.all.sync.type d|p, a, mask;`
    pub(super) fn decode_match(&mut self, sig: &Sig) -> Decoded<()> {
        sig.no_space()?;
        sig.only(const { ModSet::of(&[Mod::Any, Mod::All, Mod::Sync]) })?;
        if !sig.has(Mod::Sync) {
            return unsupported("it lacks `.sync`");
        }
        let all = sig.need(&[(Mod::All, true), (Mod::Any, false)], "a mode")?;
        let ty = sig.ty()?;
        if !matches!(ty, Type::B32 | Type::B64) {
            return unsupported("no such type");
        }
        self.expect(3)?;
        let (Some(dst), p) = self.dst_pair(0, Type::B32)? else {
            return unsupported("no destination");
        };
        if p.is_some() && !all {
            return unsupported("a predicate result of `.any`");
        }
        let op = Op::Match {
            all,
            width: ty.bits() as u8,
            dst,
            p,
            a: self.src(1, ty)?,
            mask: self.src(2, Type::B32)?,
        };
        self.emit(op);
        Ok(())
    }

    /// `redux.sync.op.type d, a, mask;`
    pub(super) fn decode_redux(&mut self, sig: &Sig) -> Decoded<()> {
        const OPERATIONS: &[(Mod, AtomOp)] = &[
            (Mod::Add, AtomOp::Add),
            (Mod::Min, AtomOp::Min),
            (Mod::Max, AtomOp::Max),
            (Mod::And, AtomOp::And),
            (Mod::Or, AtomOp::Or),
            (Mod::Xor, AtomOp::Xor),
        ];
        sig.no_space()?;
        sig.only(
            const {
                ModSet::of(&[
                    Mod::Add,
                    Mod::Min,
                    Mod::Max,
                    Mod::And,
                    Mod::Or,
                    Mod::Xor,
                    Mod::Abs,
                    Mod::NaN,
                ])
            },
        )?;
        let op = sig.need(OPERATIONS, "an operation")?;
        let (abs, nan) = (sig.has(Mod::Abs), sig.has(Mod::NaN));
        let ty = sig.ty()?;
        let int = |signed| NumTy::Int(IntTy { width: 32, signed });
        let num = match (op, ty) {
            (AtomOp::Min | AtomOp::Max, Type::F32) => NumTy::Float(Fmt::F32),
            _ if abs || nan => return unsupported("no such modifier of integers"),
            (AtomOp::Add | AtomOp::Min | AtomOp::Max, Type::U32) => int(false),
            (AtomOp::Add | AtomOp::Min | AtomOp::Max, Type::S32) => int(true),
            (AtomOp::And | AtomOp::Or | AtomOp::Xor, Type::B32) => int(false),
            _ => return unsupported("no such operation of this type"),
        };
        self.expect(3)?;
        let op = Op::Redux {
            op,
            ty: num,
            abs,
            nan,
            dst: self.dst(0, ty)?,
            a: self.src(1, ty)?,
            mask: self.src(2, Type::B32)?,
        };
        self.emit(op);
        Ok(())
    }

    /// `elect.sync d|p, mask;`
    pub(super) fn decode_elect(&mut self, sig: &Sig) -> Decoded<()> {
        plain(sig, &[])?;
        sig.only(const { ModSet::of(&[]) })?;
        self.expect(2)?;
        let (dst, Some(p)) = self.dst_pair(0, Type::B32)? else {
            return unsupported("no predicate");
        };
        let mask = self.src(1, Type::B32)?;
        self.emit(Op::Elect { dst, p, mask });
        Ok(())
    }

    /// `activemask.b32 d;`
    pub(super) fn decode_activemask(&mut self, sig: &Sig) -> Decoded<()> {
        plain(sig, &[Type::B32])?;
        sig.only(const { ModSet::of(&[]) })?;
        self.expect(1)?;
        let dst = self.dst(0, Type::B32)?;
        self.emit(Op::ActiveMask { dst });
        Ok(())
    }
}

/// Stops unless the types are exactly these and no state space is written.
fn plain(sig: &Sig, types: &[Type]) -> Decoded<()> {
    sig.no_space()?;
    match sig.types() == types {
        true => Ok(()),
        false => unsupported("no such type"),
    }
}
