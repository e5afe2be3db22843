//! Function bodies: scopes, labels, instructions and the directives among them.
//!
//! Source: PTX ISA 9.0, sections 4.3.2, 9.7.12 and 11.3.

use super::{Parsed, Parser, error};
use crate::diag::Span;
use crate::ptx::ast::{Stmt, StmtKind, Target};
use crate::ptx::error::ParseErrorKind;
use crate::ptx::instr::{Guard, Instr, ModKind, Modifier, Opcode};
use crate::ptx::lex;
use crate::ptx::lookup::{self, Prefix};
use crate::ptx::names::Name;
use crate::ptx::opcode::Op;
use crate::ptx::pool::{Id, List};

/// Directives in a body, for suggestions.
const BODY_DIRECTIVES: &[&str] = &[
    "reg",
    "shared",
    "local",
    "param",
    "global",
    "const",
    "pragma",
    "loc",
    "loc_intermediate",
    "file",
    "branchtargets",
    "calltargets",
    "callprototype",
];

impl Parser<'_> {
    /// `{ statements }`. Broken statements are reported here, and reading goes on behind them.
    pub(super) fn body(&mut self) -> List<Stmt> {
        let first = self.module.pools.stmts.len() as u32;
        let brace = self.take(1);
        let mut scopes: Vec<Id<Stmt>> = Vec::new();
        loop {
            let innermost = scopes.last().map_or(brace, |&id| self.module[id].span);
            if self.at_end() || self.ends_early() {
                self.report(*error(ParseErrorKind::Unclosed, innermost));
                break;
            }
            let start = self.start();
            match self.peek() {
                b'}' => {
                    let span = self.take(1);
                    let Some(open) = scopes.pop() else {
                        break;
                    };
                    let close = self.add_stmt(StmtKind::Close(open), span);
                    self.module.pools.stmts[open.index()].kind = StmtKind::Open(close);
                }
                b'{' => {
                    let span = self.take(1);
                    let here = Id::new(self.module.pools.stmts.len() as u32);
                    scopes.push(self.add_stmt(StmtKind::Open(here), span));
                }
                _ => match self.statement(start) {
                    Ok(kind) => {
                        let span = self.since(start);
                        self.add_stmt(kind, span);
                    }
                    Err(error) => {
                        // Behind these the next statement begins.
                        let complete = matches!(
                            error.kind,
                            ParseErrorKind::GuardedScope | ParseErrorKind::UnterminatedString
                        );
                        self.report(*error);
                        if !complete {
                            self.recover();
                        }
                    }
                },
            }
        }
        let end = self.module.pools.stmts.len() as u32;
        List::new(first, end - first)
    }

    fn add_stmt(&mut self, kind: StmtKind, span: Span) -> Id<Stmt> {
        self.module.pools.add(Stmt { kind, span })
    }

    /// Whether the next function begins although this one has not ended.
    fn ends_early(&mut self) -> bool {
        if self.peek() != b'.' {
            return false;
        }
        let before = (self.at, self.end);
        self.linkage();
        let function = matches!(self.peek_word(), "entry" | "func");
        (self.at, self.end) = before;
        function
    }

    /// The end of a statement. A missing semicolon is shown behind the last token, as the next one
    /// usually stands on another line.
    pub(super) fn semicolon(&mut self) -> Parsed<()> {
        if self.eat(b';') {
            return Ok(());
        }
        let mut error = self.expected("`,` or `;`");
        if self.text[self.end..self.at].contains('\n') {
            error.span = Span::new(self.end as u32, self.end as u32 + 1);
        }
        Err(error)
    }

    fn statement(&mut self, start: u32) -> Parsed<StmtKind> {
        match self.peek() {
            b'@' => {
                let guard = self.guard()?;
                self.instruction(start, Some(guard))
            }
            b'.' => self.body_directive(),
            b';' => {
                let span = Span::new(start, start + 1);
                Err(error(ParseErrorKind::EmptyStatement, span))
            }
            byte if lex::starts_identifier(byte) => match self.label()? {
                Some(label) => self.labelled(label),
                None => self.instruction(start, None),
            },
            _ => Err(self.expected("a statement")),
        }
    }

    /// `@p` or `@!p`
    fn guard(&mut self) -> Parsed<Guard> {
        let start = self.start();
        self.take(1);
        let negated = self.eat(b'!');
        let (pred, _) = self.identifier("a predicate register")?;
        let span = self.since(start);
        match self.peek() {
            b'{' => Err(error(ParseErrorKind::GuardedScope, span)),
            b'.' => Err(error(ParseErrorKind::GuardedDirective, span)),
            _ => Ok(Guard {
                pred,
                negated,
                span,
            }),
        }
    }

    /// `name:`, if that is what comes next.
    fn label(&mut self) -> Parsed<Option<Name>> {
        let len = lex::identifier(self.rest());
        let next = match self.rest().get(len) {
            Some(b':') => len,
            Some(b' ' | b'\t' | b'\r' | b'\n' | b'/') => {
                len + lex::blanks(&self.rest()[len..], false).unwrap_or(0)
            }
            _ => return Ok(None),
        };
        if self.rest().get(next) != Some(&b':') {
            return Ok(None);
        }
        let (label, _) = self.identifier("a label")?;
        self.take(1);
        Ok(Some(label))
    }

    /// What a label stands before.
    fn labelled(&mut self, label: Name) -> Parsed<StmtKind> {
        match self.peek_word() {
            "branchtargets" => {
                self.eat_word("branchtargets");
                let targets = self.targets()?;
                Ok(StmtKind::BranchTargets { label, targets })
            }
            "calltargets" => {
                self.eat_word("calltargets");
                let targets = self.targets()?;
                Ok(StmtKind::CallTargets { label, targets })
            }
            "callprototype" => {
                self.eat_word("callprototype");
                let prototype = self.prototype()?;
                Ok(StmtKind::CallPrototype { label, prototype })
            }
            _ => Ok(StmtKind::Label(label)),
        }
    }

    /// `L0, N<5>;`
    fn targets(&mut self) -> Parsed<List<Target>> {
        let mut targets = self.separated(|p| {
            let start = p.start();
            let (name, _) = p.identifier("a label or function")?;
            let count = p.count()?;
            let span = p.since(start);
            Ok(Target { name, count, span })
        })?;
        self.semicolon()?;
        Ok(self.module.pools.drain(&mut targets, 0))
    }

    fn body_directive(&mut self) -> Parsed<StmtKind> {
        let missing = |directive| ParseErrorKind::MissingLabel { directive };
        let start = self.start();
        let linkage = self.linkage();
        let word = self.peek_word();
        let kind = match word {
            "loc" => return Ok(StmtKind::Loc(self.loc()?)),
            "loc_intermediate" => {
                self.take(word.len() + 1);
                return Ok(StmtKind::LocIntermediate {
                    file: self.integer("the index of a file")?,
                    line: self.integer("a line number")?,
                    column: self.integer("a column")?,
                });
            }
            "file" => return Ok(StmtKind::File(self.file()?)),
            "pragma" => return Ok(StmtKind::Pragma(self.pragma()?)),
            _ if self.begins_decl(word) => return Ok(StmtKind::Decl(self.decl(linkage)?)),
            "branchtargets" => missing("branchtargets"),
            "calltargets" => missing("calltargets"),
            "callprototype" => missing("callprototype"),
            _ => return Err(self.unknown_directive("in a function", BODY_DIRECTIVES)),
        };
        self.take(word.len() + 1);
        Err(error(kind, self.since(start)))
    }

    /// `opcode.mods operands;`
    fn instruction(&mut self, start: u32, guard: Option<Guard>) -> Parsed<StmtKind> {
        let (opcode, opcode_span, mods) = self.opcode()?;
        let groups = matches!(opcode, Opcode::Known(Op::Call) | Opcode::Unknown(_));
        let from = self.operands.len();
        if self.peek() == b':' && guard.is_some() {
            let span = self.since(start);
            return Err(error(ParseErrorKind::GuardedDirective, span));
        }
        // These cannot begin an operand, so what is missing is the semicolon.
        if !matches!(self.peek(), b';' | b'}' | b'@') {
            loop {
                let operand = self.operand(groups)?;
                self.operands.push(operand);
                if !self.eat(b',') {
                    break;
                }
            }
        }
        self.semicolon()?;
        let operands = self.module.pools.drain(&mut self.operands, from);
        Ok(StmtKind::Instr(self.module.pools.add(Instr {
            guard,
            opcode,
            opcode_span,
            mods,
            operands,
        })))
    }

    /// The opcode: the longest dotted prefix in the table; the words behind it are modifiers.
    fn opcode(&mut self) -> Parsed<(Opcode, Span, List<Modifier>)> {
        let start = self.start();
        let len = lex::identifier(self.rest());
        if len == 0 {
            return Err(self.expected("an instruction"));
        }
        let head = self.take(len);
        self.words.clear();
        while self.peek() == b'.' {
            let len = self.peek_word().len();
            if len == 0 {
                self.take(1);
                return Err(self.expected("a modifier"));
            }
            let word = self.take(len + 1);
            self.words.push((word.start + 1, word.end));
        }
        let span = self.since(start);
        let (opcode, taken) = self.longest_opcode(head);
        let first = self.module.pools.mods.len() as u32;
        for i in taken..self.words.len() {
            let (start, end) = self.words[i];
            let text = &self.text[start as usize..end as usize];
            let kind = lookup::modifier(text)
                .unwrap_or_else(|| ModKind::Unknown(self.module.names.intern(text)));
            let at = start - 1;
            self.module.pools.mods.push(Modifier { kind, at });
        }
        let count = self.module.pools.mods.len() as u32 - first;
        Ok((opcode, span, List::new(first, count)))
    }

    /// The opcode that begins with `head`, and how many words belong to it.
    fn longest_opcode(&mut self, head: Span) -> (Opcode, usize) {
        let mut found = None;
        let mut prefix = lookup::opcode(self.slice(head));
        let mut taken = 0;
        let mut spelled = String::new();
        while let Some(Prefix { op, longer }) = prefix {
            if let Some(op) = op {
                found = Some((Opcode::Known(op), taken));
            }
            let Some(&(start, end)) = self.words.get(taken).filter(|_| longer) else {
                break;
            };
            // Only the few opcodes with dots come here.
            if spelled.is_empty() {
                spelled.push_str(self.slice(head));
            }
            spelled.push('.');
            spelled.push_str(&self.text[start as usize..end as usize]);
            taken += 1;
            prefix = lookup::opcode(&spelled);
        }
        found.unwrap_or_else(|| (Opcode::Unknown(self.name_at(head)), 0))
    }
}
