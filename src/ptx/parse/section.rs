//! Debugging directives: `.file`, `.loc`, `.section` and sources in intermediate languages.
//!
//! Source: PTX ISA 9.0, section 11.5; of 9.4, 11.5.5 and 11.5.6. None of them has a semicolon; in a section, a line ends where
//! the next token cannot continue it.

use super::{Parsed, Parser, error};
use crate::diag::Span;
use crate::ptx::ast::{File, Inlined, Loc, Section, SectionLine};
use crate::ptx::error::ParseErrorKind;
use crate::ptx::expr::{Binary, Expr, ExprKind, Int};
use crate::ptx::instr::{Operand, OperandKind};
use crate::ptx::lex::{self, Literal};
use crate::ptx::names::Name;
use crate::ptx::pool::Id;
use crate::ptx::words::Type;

impl Parser<'_> {
    /// `.file 1 "x.cu", timestamp, size`
    pub(super) fn file(&mut self) -> Parsed<Id<File>> {
        self.eat_word("file");
        let index = self.integer("the index of the file")?;
        let path = self.string("the path of the file in quotes")?;
        let mut stat = None;
        if self.eat(b',') {
            let time = self.integer64("a time stamp")?;
            self.expect(b',', "`,`")?;
            stat = Some((time, self.integer64("a file size")?));
        }
        Ok(self.module.pools.add(File { index, path, stat }))
    }

    /// `.loc 1 2 3, function_name L+4, inlined_at 1 2 3`
    pub(super) fn loc(&mut self) -> Parsed<Id<Loc>> {
        self.eat_word("loc");
        let file = self.integer("the index of a file")?;
        let line = self.integer("a line number")?;
        let column = self.integer("a column")?;
        let mut inlined = None;
        if self.eat(b',') {
            self.keyword("function_name", "`function_name`")?;
            let (function, _) = self.section_name("the label of the function's name")?;
            let mut offset = 0;
            if self.eat(b'+') {
                let start = self.start();
                let value = self.integer64("an offset")?;
                let span = self.since(start);
                let kind = ParseErrorKind::OutOfRange {
                    what: "an offset",
                    limit: 1 << 63,
                };
                offset = i64::try_from(value).map_err(|_| error(kind, span))?;
            }
            self.expect(b',', "`,`")?;
            self.keyword("inlined_at", "`inlined_at`")?;
            inlined = Some(Inlined {
                function,
                offset,
                file: self.integer("the index of a file")?,
                line: self.integer("a line number")?,
                column: self.integer("a column")?,
            });
        }
        Ok(self.module.pools.add(Loc {
            file,
            line,
            column,
            inlined,
        }))
    }

    /// A word that is no name.
    fn keyword(&mut self, word: &str, what: &'static str) -> Parsed<()> {
        let len = lex::identifier(self.rest());
        if &self.text[self.at..self.at + len] != word {
            return Err(self.expected(what));
        }
        self.take(len);
        Ok(())
    }

    /// A name, which may begin with a dot.
    fn section_name(&mut self, what: &'static str) -> Parsed<(Name, Span)> {
        let start = self.start();
        let dot = usize::from(self.peek() == b'.');
        let len = lex::identifier(&self.rest()[dot.min(self.rest().len())..]);
        if len == 0 {
            return Err(self.expected(what));
        }
        self.take(dot + len);
        let span = self.since(start);
        Ok((self.name_at(span), span))
    }

    /// `.section .debug_info { ... }`
    pub(super) fn section(&mut self) -> Parsed<Id<Section>> {
        self.eat_word("section");
        let (name, _) = self.section_name("the name of the section")?;
        let open = Span::new(self.start(), self.start() + 1);
        self.expect(b'{', "`{`")?;
        let mut lines = Vec::new();
        while !self.eat(b'}') {
            if self.at_end() {
                return Err(error(ParseErrorKind::Unclosed, open));
            }
            lines.push(self.section_line()?);
        }
        let lines = self.module.pools.drain(&mut lines, 0);
        Ok(self.module.pools.add(Section { name, lines }))
    }

    /// `.nv_intermediate_source_section { .code_block { ... .source_begin text .source_end } }`: the text
    /// between the braces as it stands. What is between `.source_begin` and a line that begins with
    /// `.source_end` is of another language, whose braces, quotes and comments mean nothing here.
    pub(super) fn intermediate_source(&mut self) -> Parsed<Name> {
        self.eat_word("nv_intermediate_source_section");
        let start = self.start();
        let mut open = vec![Span::new(start, start + 1)];
        self.expect(b'{', "`{`")?;
        while let Some(&innermost) = open.last() {
            if self.at_end() {
                return Err(error(ParseErrorKind::Unclosed, innermost));
            }
            match self.peek() {
                b'{' => {
                    let brace = self.take(1);
                    open.push(brace);
                }
                b'}' => {
                    self.take(1);
                    open.pop();
                }
                b'"' => drop(self.string("a string")?),
                b'.' if self.peek_word() == "source_begin" => self.other_language()?,
                _ => self.take_any(),
            }
        }
        let whole = self.since(start);
        Ok(self.name_at(whole))
    }

    /// From `.source_begin` to behind `.source_end`.
    fn other_language(&mut self) -> Parsed<()> {
        const END: &[u8] = b".source_end";
        let begin = Span::new(self.start(), self.start() + 13);
        let mut at = begin.end as usize;
        while at < self.bytes.len() {
            let line = &self.bytes[at..];
            let blank = line.iter().take_while(|b| matches!(b, b' ' | b'\t'));
            let text = &line[blank.count()..];
            if text.starts_with(END) && lex::word(&text[1..]) == END.len() - 1 {
                self.at = self.bytes.len() - text.len();
                self.take(END.len());
                return Ok(());
            }
            at += lex::end_of_line(line) + 1;
        }
        // What follows is all of the other language, and no PTX to be read on.
        self.at = self.bytes.len();
        Err(error(ParseErrorKind::UnclosedSource, begin))
    }

    fn section_line(&mut self) -> Parsed<SectionLine> {
        let ty = match self.peek_word() {
            "b8" => Type::B8,
            "b16" => Type::B16,
            "b32" => Type::B32,
            "b64" => Type::B64,
            _ => {
                let (label, _) = self.section_name("a label, `.b8`, `.b16`, `.b32` or `.b64`")?;
                self.expect(b':', "`:`")?;
                return Ok(SectionLine::Label(label));
            }
        };
        self.take(ty.text().len() + 1);
        let from = self.operands.len();
        loop {
            let value = self.section_value()?;
            self.operands.push(value);
            if !self.eat(b',') {
                break;
            }
        }
        let values = self.module.pools.drain(&mut self.operands, from);
        Ok(SectionLine::Data { ty, values })
    }

    /// A number, a label, `label+number` or `label-label`.
    fn section_value(&mut self) -> Parsed<Operand> {
        let start = self.start();
        let negative = self.eat(b'-');
        if negative || lex::starts_number(self.rest()) {
            let int = self.section_integer()?;
            let kind = OperandKind::Int(if negative { int.negated() } else { int });
            let span = self.since(start);
            return Ok(Operand { kind, span });
        }
        let (name, span) = self.section_name("a number or a label")?;
        let op = match self.peek() {
            b'+' => Binary::Add,
            b'-' => Binary::Sub,
            _ => {
                let kind = OperandKind::Name(name);
                return Ok(Operand { kind, span });
            }
        };
        self.take(1);
        let left = self.add_expr(ExprKind::Symbol(name), span);
        let at = self.start();
        let kind = if lex::starts_number(self.rest()) {
            ExprKind::Int(self.section_integer()?)
        } else {
            ExprKind::Symbol(self.section_name("a number or a label")?.0)
        };
        let right = Expr {
            kind,
            span: self.since(at),
        };
        let right = self.module.pools.add(right);
        let span = self.since(start);
        let whole = self.add_expr(ExprKind::Binary(op, left, right), span);
        let kind = OperandKind::Expr(whole);
        Ok(Operand { kind, span })
    }

    fn section_integer(&mut self) -> Parsed<Int> {
        let before = (self.at, self.end);
        match self.literal("an integer")? {
            Literal::Int(int) => Ok(int),
            Literal::Float(_) => {
                (self.at, self.end) = before;
                Err(self.expected("an integer"))
            }
        }
    }
}
