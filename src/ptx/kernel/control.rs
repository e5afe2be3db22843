//! Decoder of control flow: `bra`, `brx.idx`, `ret`, `exit`, `trap`.
//!
//! Source: PTX ISA 9.0, sections 9.7.12 and 9.7.19.4. Branch targets are label numbers until the
//! whole kernel is lowered. `ret` in the entry ends the thread; in an expanded callee it is a jump
//! to the call's continuation.

use super::error::LowerError;
use super::lower::Lowerer;
use super::scope::{Binding, Label};
use super::sig::{Decoded, ModSet, Sig, unsupported};
use super::{Op, Pc};
use crate::diag::Span;
use crate::ptx::{List, Mod, Name, OperandKind, Target, Type};

/// Targets of all jump tables together.
const MAX_TARGETS: usize = 1 << 20;

impl Lowerer<'_> {
    fn uniform(&mut self, sig: &Sig) -> Decoded<bool> {
        sig.no_space()?;
        sig.only(const { ModSet::of(&[Mod::Uni]) })?;
        match sig.types() {
            [] => Ok(sig.has(Mod::Uni)),
            _ => unsupported("no such type"),
        }
    }

    /// The label that a name stands for.
    fn label(&mut self, name: Name, span: Span) -> Decoded<Label> {
        match self.frame.get(name) {
            Some(Binding::Label(label)) => Ok(label),
            Some(other) => self.fail(LowerError::WrongKind {
                name: self.m.text(name).to_string(),
                span,
                is: other.kind(),
                wanted: "a label",
            }),
            None => {
                let help = self.frame.suggest(self.m, name, true);
                self.fail(LowerError::UnknownLabel {
                    name: self.m.text(name).to_string(),
                    span,
                    help,
                })
            }
        }
    }

    /// `bra L;`
    pub(super) fn decode_bra(&mut self, sig: &Sig) -> Decoded<()> {
        let uni = self.uniform(sig)?;
        self.expect(1)?;
        let operand = self.operand(0)?;
        let OperandKind::Name(name) = operand.kind else {
            return self.fail(LowerError::WrongOperand {
                span: operand.span,
                wanted: "a label",
            });
        };
        let label = self.label(name, operand.span)?;
        self.emit(Op::Bra {
            target: Pc(label.0),
            uni,
        });
        Ok(())
    }

    /// `brx.idx index, table;`
    pub(super) fn decode_brx(&mut self, sig: &Sig) -> Decoded<()> {
        let uni = self.uniform(sig)?;
        self.expect(2)?;
        let index = self.src(0, Type::U32)?;
        let operand = self.operand(1)?;
        let binding = match operand.kind {
            OperandKind::Name(name) => self.frame.get(name),
            _ => None,
        };
        let Some(Binding::Branches(table)) = binding else {
            return self.fail(LowerError::WrongOperand {
                span: operand.span,
                wanted: "the label of a `.branchtargets` list",
            });
        };
        let Some(table) = table else {
            return unsupported("an empty or too large jump table");
        };
        self.emit(Op::Brx { table, index, uni });
        Ok(())
    }

    /// The jump table of a `.branchtargets` list; `None` for one that cannot be used.
    pub(super) fn jump_table(&mut self, targets: List<Target>) -> Option<u32> {
        let m = self.m;
        let mut table = Vec::new();
        for target in &m[targets] {
            let Some(count) = target.count else {
                table.push(Pc(self.label(target.name, target.span).ok()?.0));
                continue;
            };
            for i in 0..count {
                let text = format!("{}{i}", m.text(target.name));
                let Some(name) = m.names.find(&text) else {
                    let (name, help) = (text, None);
                    let span = target.span;
                    self.error(LowerError::UnknownLabel { name, span, help });
                    return None;
                };
                table.push(Pc(self.label(name, target.span).ok()?.0));
                if self.table_entries + table.len() > MAX_TARGETS {
                    return None;
                }
            }
        }
        self.table_entries += table.len();
        if table.is_empty() || self.table_entries > MAX_TARGETS {
            return None;
        }
        self.k.tables.push(table);
        Some(self.k.tables.len() as u32 - 1)
    }

    /// `ret;`
    pub(super) fn decode_ret(&mut self, sig: &Sig) -> Decoded<()> {
        let uni = self.uniform(sig)?;
        self.expect(0)?;
        let op = match self.ret {
            None => Op::Exit,
            Some(label) => Op::Bra {
                target: Pc(label.0),
                uni,
            },
        };
        self.emit(op);
        Ok(())
    }

    /// `exit;` and `trap;`
    pub(super) fn decode_end(&mut self, sig: &Sig, op: Op) -> Decoded<()> {
        self.uniform(sig)?;
        self.expect(0)?;
        self.emit(op);
        Ok(())
    }
}
