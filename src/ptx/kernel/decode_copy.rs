//! Decoder of the asynchronous copies of Ampere.
//!
//! Source: PTX ISA 9.0, sections 9.7.9.25.3.1 to 9.7.9.25.3.3. `.ca` copies 4, 8 or 16 bytes, `.cg`
//! 16; the fourth operand is either the number of bytes to read or a predicate that ignores the
//! source.

use super::lower::Lowerer;
use super::scope::Binding;
use super::sig::{Decoded, HINTS, ModSet, Sig, unsupported};
use super::{Op, Space, Src};
use crate::ptx::{self, Mod, OperandKind, Type};

impl Lowerer<'_> {
    /// `cp.async.ca.shared.global [dst], [src], cp-size{, src-size}{, policy};`
    pub(super) fn decode_cp_async(&mut self, sig: &Sig) -> Decoded<()> {
        sig.only(HINTS)?;
        let shared = matches!(sig.space, Some(ptx::Space::Shared | ptx::Space::SharedCta));
        if !shared || sig.from != Some(ptx::Space::Global) {
            return unsupported("a copy that is not from global to shared memory");
        }
        let policy = usize::from(sig.has(Mod::L2CacheHint));
        self.expect_between(3 + policy, 4 + policy)?;
        let (_, to) = self.address(0, Some(Space::Shared))?;
        let (_, from) = self.address(1, Some(Space::Global))?;
        let bytes = match self.src(2, Type::U32)? {
            Src::Imm(n @ (4 | 8 | 16)) => n as u8,
            _ => {
                let span = self.operand(2)?.span;
                return self.wrong(span, "one of the constants 4, 8 and 16");
            }
        };
        let (mut read, mut ignore) = (None, None);
        if self.ops.len() == 4 + policy {
            let operand = self.operand(3)?;
            let predicate = match operand.kind {
                OperandKind::Not(_) => true,
                OperandKind::Name(name) => {
                    matches!(self.lookup(name), Some(Binding::Reg { ty: Type::Pred, .. }))
                }
                _ => false,
            };
            if predicate {
                ignore = Some(self.pred(3)?);
            } else {
                read = Some(self.src(3, Type::U32)?);
            }
        }
        self.emit(Op::CpAsync {
            bytes,
            read,
            ignore,
            to,
            from,
        });
        Ok(())
    }

    /// `cp.async.wait_group n;` and `cp.async.wait_all;`
    pub(super) fn decode_cp_async_wait(&mut self, sig: &Sig) -> Decoded<()> {
        sig.only(ModSet::of(&[]))?;
        let pending = if sig.op == ptx::Op::CpAsyncWaitAll {
            self.expect(0)?;
            None
        } else {
            self.expect(1)?;
            match self.src(0, Type::U32)? {
                Src::Imm(n) => Some(n as u32),
                _ => return unsupported("a number of groups that is not a constant"),
            }
        };
        self.emit(Op::CpAsyncWait { pending });
        Ok(())
    }
}
