//! One instruction: its guard, its decoder, and what becomes of one that is not modelled; and the
//! directives that speak of instructions, `.loc` and `.pragma`.
//!
//! Source: PTX ISA 9.0, sections 9.3 (guards), 11.3 (`.pragma "used_bytes_mask"`) and 11.5 (`.loc`).
//! An instruction that is not modelled stays in the code as [`Op::Unsupported`] with its text, under
//! its guard, so that it matters only where it is executed; a word that PTX ISA 9.0 does not have
//! is a warning besides.

use super::error::{LowerError, LowerWarning};
use super::lower::Lowerer;
use super::sig::{Decoded, Sig, Stop};
use super::{Guard, Loc, Op};
use crate::diag::{Span, nearest, visible};
use crate::ptx;
use crate::ptx::{Id, Instr, Name, Opcode, Type};

/// Calls that a line is followed through; what is deeper is left out of reports.
const MAX_FRAMES: usize = 32;

impl<'a> Lowerer<'a> {
    /// Lowers one instruction: its guard, then the decoder of its family.
    pub(super) fn instruction(&mut self, id: Id<Instr>, span: Span) {
        let m = self.m;
        let instr = &m[id];
        self.ops = &m[instr.operands];
        self.opcode_span = instr.opcode_span;
        self.span = span;
        self.guard = None;
        let start = self.k.insts.len();
        let decoded = self.guarded(instr);
        match decoded {
            // What has no effect is not decoded either.
            Ok(()) if matches!(self.k.insts.last().map(|i| &i.op), Some(super::Op::Nop)) => {
                self.check_operands(instr);
            }
            Ok(()) => {}
            Err(Stop::Error) => self.take_back(start),
            Err(Stop::Unsupported(why)) => {
                self.take_back(start);
                self.check_operands(instr);
                self.unsupported(why);
            }
        }
        self.guard = None;
        // The pragma speaks of the next load only.
        if self.used_bytes.is_some() && instr.op() != Some(ptx::Op::Ld) {
            self.used_bytes = None;
        }
    }

    fn guarded(&mut self, instr: &'a Instr) -> Decoded<()> {
        if let Some(guard) = &instr.guard {
            let (reg, ty) = self.reg_of(guard.pred, None, guard.span)?;
            if ty != Type::Pred {
                return self.fail(LowerError::WrongKind {
                    name: self.m.text(guard.pred).to_string(),
                    span: guard.span,
                    is: "a register",
                    wanted: "a predicate register",
                });
            }
            self.guard = Some(Guard {
                reg,
                negated: guard.negated,
            });
        }
        let op = match instr.opcode {
            Opcode::Known(op) => op,
            Opcode::Unknown(name) => {
                let text = self.m.text(name);
                let names = ptx::Op::ALL.iter().map(|op| op.text());
                let help = nearest(text, names).map(|near| format!("did you mean `{near}`?"));
                self.warnings.push(LowerWarning::UnknownOpcode {
                    text: self.opcode_text(),
                    why: "PTX ISA 9.0 has no such opcode".to_string(),
                    span: self.opcode_span,
                    help,
                });
                return Err(Stop::Unsupported("unknown opcode".to_string()));
            }
        };
        let sig = match Sig::new(self.m, op, instr) {
            Ok(sig) => sig,
            Err(stop) => {
                self.warn_unknown_modifier(instr);
                return Err(stop);
            }
        };
        self.decode(&sig)
    }

    fn warn_unknown_modifier(&mut self, instr: &Instr) {
        for modifier in &self.m[instr.mods] {
            let ptx::ModKind::Unknown(name) = modifier.kind else {
                continue;
            };
            let text = self.m.text(name);
            let words = ptx::Mod::ALL.iter().map(|word| word.text());
            let types = Type::ALL.iter().map(|ty| ty.text());
            let spaces = ptx::Space::ALL.iter().map(|space| space.text());
            let near = nearest(text, words.chain(types).chain(spaces));
            self.warnings.push(LowerWarning::UnknownOpcode {
                text: self.opcode_text(),
                why: format!("PTX ISA 9.0 has no modifier `.{text}`"),
                span: Span {
                    start: modifier.at,
                    end: modifier.at + 1 + text.len() as u32,
                },
                help: near.map(|near| format!("did you mean `.{near}`?")),
            });
        }
    }

    /// Appends an instruction that is not modelled.
    pub(super) fn unsupported(&mut self, why: String) {
        let text = match why.is_empty() {
            true => self.opcode_text(),
            false => format!("{} ({why})", self.opcode_text()),
        };
        let op = self.left_out(text);
        self.emit(op);
    }

    /// An instruction that stands for what is not modelled.
    pub(super) fn left_out(&mut self, text: String) -> Op {
        let next = self.k.texts.len() as u32;
        let index = match self.texts.get(&text) {
            Some(index) => *index,
            None => {
                self.k.texts.push(text.clone());
                self.texts.insert(text, next);
                next
            }
        };
        Op::Unsupported(index)
    }

    /// Takes back what an instruction that failed has appended. Registers that it made stay.
    fn take_back(&mut self, len: usize) {
        self.k.insts.truncate(len);
        self.k.spans.truncate(len);
        self.k.loc_of.truncate(len);
    }

    /// The opcode with its modifiers, as written.
    pub(super) fn opcode_text(&self) -> String {
        self.source.slice(self.opcode_span).to_string()
    }

    /// `.loc`: the source location of what follows.
    pub(super) fn location(&mut self, id: Id<ptx::Loc>) {
        let loc = &self.m[id];
        if let Some(inlined) = loc.inlined {
            let place = (loc.file, loc.line, loc.column);
            self.inlined.entry(place).or_insert(inlined);
        }
        let mut chain = vec![(loc.file, loc.line)];
        let mut next = loc.inlined;
        while let Some(call) = next.filter(|_| chain.len() < MAX_FRAMES) {
            chain.push((call.file, call.line));
            next = self
                .inlined
                .get(&(call.file, call.line, call.column))
                .copied();
        }
        // Code whose own place is unknown is reported where it was called from.
        chain.retain(|c| c.1 != 0);
        if chain.is_empty() {
            self.loc = u32::MAX;
            return;
        }
        let next = self.k.locs.len() as u32;
        let index = *self.locs.entry(chain.clone()).or_insert(next);
        if index == next {
            let mut frames = chain.iter().map(|(file, line)| {
                let path = self.files.get(file).map(|path| self.m.text(*path));
                (visible(path.unwrap_or("")).into_owned(), *line)
            });
            if let Some((file, line)) = frames.next() {
                let inlined_from = frames.collect();
                self.k.locs.push(Loc {
                    file,
                    line,
                    inlined_from,
                });
            }
        }
        self.loc = index;
    }

    /// `.pragma`: which bytes of the next load are used.
    pub(super) fn pragma(&mut self, texts: ptx::List<Name>) {
        for text in &self.m[texts] {
            let Some(mask) = self.m.text(*text).trim().strip_prefix("used_bytes_mask") else {
                continue;
            };
            let mask = mask.trim();
            let number = match mask.strip_prefix("0x").or(mask.strip_prefix("0X")) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => mask.parse(),
            };
            // A mask that cannot be read leaves every byte used, which claims less.
            self.used_bytes = number.ok();
        }
    }
}
