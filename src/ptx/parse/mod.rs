//! PTX text to tree: the cursor, recovery after errors, and the directives at module scope.
//!
//! Source: PTX ISA 9.0, sections 4.3 and 11. The parser reads the text once from left to right, a byte of
//! look-ahead at a time, and builds nodes straight into their pools. Bodies and nested scopes are a
//! loop; only expressions, vectors and initialisers recurse, to [`MAX_DEPTH`].
//!
//! After an error the parser goes on behind the next `;`, or before the `}` or directive that ends the
//! statement, so that one run reports every broken statement, [`MAX_ERRORS`] at most. A text with an
//! error gives no module.
//!
//! Differs from ptxas in accepting more: declarations are not checked here, modifiers come in any
//! order, and blanks may stand before the dot of a modifier.

mod body;
mod decl;
mod expr;
mod function;
mod operand;
mod section;

use super::ast::{Item, ItemKind, Module};
use super::error::{ParseError, ParseErrorKind};
use super::instr::Operand;
use super::lex::{self, Literal};
use super::names::Name;
use super::pool::List;
use crate::diag::{Source, Span, nearest};

/// How deep expressions, vectors and initialisers may nest.
pub const MAX_DEPTH: u32 = 128;

/// How many errors one run reports.
pub const MAX_ERRORS: usize = 64;

/// Directives at module scope, for suggestions.
const MODULE_DIRECTIVES: &[&str] = &[
    "version",
    "target",
    "address_size",
    "entry",
    "func",
    "extern",
    "visible",
    "weak",
    "common",
    "global",
    "const",
    "shared",
    "tex",
    "alias",
    "pragma",
    "file",
    "loc",
    "section",
    "nv_intermediate_source_section",
];

/// The module that a text denotes, or everything that is wrong with it, in order of the text.
pub fn parse(source: &Source) -> Result<Module, Vec<ParseError>> {
    let mut parser = Parser::new(&source.text);
    parser.module();
    if parser.errors.is_empty() {
        Ok(parser.module)
    } else {
        Err(parser.errors)
    }
}

/// Errors are rare and big, so results hold them in a box.
type Parsed<T> = Result<T, Box<ParseError>>;

/// The cursor over the text, and the module as far as it is built.
struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    /// Offset of the next token: blanks before it are skipped already.
    at: usize,
    /// Offset behind the last token.
    end: usize,
    /// Current nesting of what recurses.
    depth: u32,
    module: Module,
    errors: Vec<ParseError>,
    /// Operands of lists that are not complete.
    operands: Vec<Operand>,
    /// Words of the opcode that is read.
    words: Vec<(u32, u32)>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        let mut parser = Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            end: 0,
            depth: 0,
            module: Module::default(),
            errors: Vec::new(),
            operands: Vec::new(),
            words: Vec::new(),
        };
        parser.module.pools.reserve(text.len());
        parser.skip(true);
        parser
    }

    // The cursor.

    /// Moves over the blanks behind a token, which are mostly none or one.
    fn skip_behind(&mut self) {
        let blank = |byte: u8| byte <= b' ' || byte == b'/' || byte == b'#';
        match self.bytes.get(self.at..self.at + 2) {
            Some(&[first, _]) if !blank(first) => {}
            Some(&[b' ' | b'\t', second]) if !blank(second) => self.at += 1,
            _ => self.skip(false),
        }
    }

    /// Moves over blanks. A comment that does not end is an error, and the end of the text.
    fn skip(&mut self, line_start: bool) {
        match lex::blanks(&self.bytes[self.at..], line_start) {
            Ok(len) => self.at += len,
            Err(offset) => {
                let start = self.at + offset;
                let span = Span::new(start as u32, start as u32 + 2);
                self.at = self.bytes.len();
                let kind = ParseErrorKind::UnterminatedComment;
                let reported = ParseError { kind, span };
                // The parser may come here again after looking ahead.
                if self.errors.last() != Some(&reported) {
                    self.errors.push(reported);
                }
            }
        }
    }

    /// The next byte; 0 at the end.
    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    /// The bytes from here on.
    fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    fn at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Takes a token of `len` bytes and the blanks behind it.
    fn take(&mut self, len: usize) -> Span {
        let start = self.at;
        self.end = start + len;
        self.at = self.end;
        self.skip_behind();
        Span::new(start as u32, self.end as u32)
    }

    /// Takes the byte if it comes next.
    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == byte;
        if found {
            self.take(1);
        }
        found
    }

    /// Takes the byte, or says that it is missing.
    fn expect(&mut self, byte: u8, what: &'static str) -> Parsed<()> {
        if self.eat(byte) {
            Ok(())
        } else {
            Err(self.expected(what))
        }
    }

    fn start(&self) -> u32 {
        self.at as u32
    }

    /// The span from `start` to the end of the last token.
    fn since(&self, start: u32) -> Span {
        Span::new(start, (self.end as u32).max(start))
    }

    fn slice(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }

    fn name_at(&mut self, span: Span) -> Name {
        let text = self.slice(span);
        self.module.names.intern(text)
    }

    /// An identifier; a lone `_` is none.
    fn identifier(&mut self, what: &'static str) -> Parsed<(Name, Span)> {
        let len = lex::identifier(self.rest());
        if len == 0 || (len == 1 && self.peek() == b'_') {
            return Err(self.expected(what));
        }
        let span = self.take(len);
        Ok((self.name_at(span), span))
    }

    /// The word of the directive that comes next, without its dot; empty if none does.
    fn peek_word(&self) -> &'a str {
        if self.peek() != b'.' {
            return "";
        }
        let len = lex::word(&self.bytes[self.at + 1..]);
        &self.text[self.at + 1..self.at + 1 + len]
    }

    /// Takes `.word` if it comes next.
    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek_word() == word;
        if found {
            self.take(word.len() + 1);
        }
        found
    }

    /// A number without sign or operators.
    fn literal(&mut self, what: &'static str) -> Parsed<Literal> {
        if !lex::starts_number(self.rest()) {
            return Err(self.expected(what));
        }
        match lex::number(self.rest()) {
            Ok((literal, len)) => {
                self.take(len);
                Ok(literal)
            }
            Err(malformed) => {
                let len = self
                    .rest()
                    .iter()
                    .take_while(|b| b.is_ascii_alphanumeric() || **b == b'.');
                let span = Span::new(self.at as u32, (self.at + len.count()) as u32);
                let kind = ParseErrorKind::Number {
                    reason: malformed.0,
                };
                Err(error(kind, span))
            }
        }
    }

    /// A plain integer below 2^64.
    fn integer64(&mut self, what: &'static str) -> Parsed<u64> {
        let before = (self.at, self.end);
        if let Literal::Int(int) = self.literal(what)? {
            return Ok(int.bits);
        }
        (self.at, self.end) = before;
        Err(self.expected(what))
    }

    /// A plain integer below 2^32.
    fn integer(&mut self, what: &'static str) -> Parsed<u32> {
        let start = self.start();
        let value = self.integer64(what)?;
        let limit = 1 << 32;
        let span = self.since(start);
        u32::try_from(value).map_err(|_| error(ParseErrorKind::OutOfRange { what, limit }, span))
    }

    /// A string in quotes.
    fn string(&mut self, what: &'static str) -> Parsed<Name> {
        if self.peek() != b'"' {
            return Err(self.expected(what));
        }
        let Some(len) = lex::string(self.rest()) else {
            let start = self.start();
            self.take(lex::end_of_line(self.rest()));
            return Err(error(ParseErrorKind::UnterminatedString, self.since(start)));
        };
        let span = self.take(len + 2);
        Ok(self.name_at(Span::new(span.start + 1, span.end - 1)))
    }

    /// One or more of something, with commas between.
    fn separated<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat(b',') {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Runs something that nests in itself one level deeper.
    fn deeper<T>(&mut self, run: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_DEPTH {
            let kind = ParseErrorKind::TooDeep { limit: MAX_DEPTH };
            return Err(error(kind, Span::new(self.start(), self.start() + 1)));
        }
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        result
    }

    // Errors.

    /// The token that comes next, in words.
    fn found(&self) -> (String, Span) {
        let rest = self.rest();
        let dot = usize::from(self.peek() == b'.');
        let word = lex::word(&rest[dot.min(rest.len())..]);
        let len = match lex::identifier(rest) {
            0 if dot + word > 0 => dot + word,
            0 => self.text[self.at..]
                .chars()
                .next()
                .map_or(0, char::len_utf8),
            len => len,
        };
        let span = Span::new(self.at as u32, (self.at + len) as u32);
        const SHOWN: usize = 40;
        let text = self.slice(span);
        let words = match text.chars().next() {
            None => "the end of the text".to_string(),
            Some(c) if c.is_control() => format!("the control character {}", c.escape_default()),
            Some(_) if text.len() > SHOWN => format!("`{}...`", &text[..SHOWN]),
            Some(_) => format!("`{text}`"),
        };
        (words, span)
    }

    pub(super) fn expected(&self, expected: &'static str) -> Box<ParseError> {
        let (found, span) = self.found();
        error(ParseErrorKind::Expected { expected, found }, span)
    }

    /// Records an error; at the limit, the rest of the text is given up.
    fn report(&mut self, reported: ParseError) {
        self.depth = 0;
        self.operands.clear();
        let span = reported.span;
        let kind = self.errors.last().map(|last| &last.kind);
        if self.at_end() && kind == Some(&ParseErrorKind::UnterminatedComment) {
            // What is missing is inside the comment.
            return;
        }
        self.errors.push(reported);
        if self.errors.len() >= MAX_ERRORS {
            self.at = self.bytes.len();
            let kind = ParseErrorKind::TooMany;
            self.errors.push(ParseError { kind, span });
        }
    }

    /// Moves behind the end of a broken statement: behind the next `;`, or before a `}` that ends
    /// the scope, or before a function at the start of a line.
    fn recover(&mut self) {
        let mut open = 0usize;
        while !self.at_end() {
            match self.peek() {
                b';' => {
                    self.take(1);
                    return;
                }
                b'{' => {
                    open += 1;
                    self.take(1);
                }
                b'}' => {
                    // A brace that is followed by more of a statement closes a vector.
                    let next =
                        self.at + 1 + lex::blanks(&self.bytes[self.at + 1..], false).unwrap_or(0);
                    let vector =
                        matches!(self.bytes.get(next), Some(b',' | b';' | b'|' | b')' | b']'));
                    if open == 0 && !vector {
                        return;
                    }
                    open = open.saturating_sub(1);
                    self.take(1);
                }
                b'.' if self.starts_function() => return,
                b'"' => {
                    let len = lex::string(self.rest());
                    self.take(len.map_or(1, |len| len + 2));
                }
                _ => self.take_any(),
            }
        }
    }

    /// Takes some token of no interest.
    fn take_any(&mut self) {
        let len = match lex::identifier(self.rest()) {
            0 => {
                let next = self.text[self.at..].chars().next();
                next.map_or(0, char::len_utf8)
            }
            len => len,
        };
        self.take(len);
    }

    /// Whether a function begins here, first on its line.
    fn starts_function(&self) -> bool {
        let line = self.bytes[..self.at]
            .iter()
            .rev()
            .take_while(|b| **b != b'\n');
        let blank = line.clone().all(|b| b.is_ascii_whitespace());
        blank
            && matches!(
                self.peek_word(),
                "entry" | "func" | "visible" | "extern" | "weak"
            )
    }

    // Module scope.

    fn module(&mut self) {
        if self.at_end() {
            if self.errors.is_empty() {
                let span = Span::new(0, 0);
                self.report(*error(ParseErrorKind::Empty, span));
            }
            return;
        }
        if self.peek_word() != "version" {
            let (_, span) = self.found();
            return self.report(*error(ParseErrorKind::NotPtx, span));
        }
        if let Err(error) = self.item() {
            // A module whose version cannot be read is most likely none at all.
            return self.report(*error);
        }
        if self.peek_word() != "target" {
            let (found, span) = self.found();
            self.report(*error(ParseErrorKind::MissingTarget { found }, span));
        }
        while !self.at_end() {
            let before = self.at;
            if let Err(error) = self.item() {
                self.report(*error);
                self.recover();
                if self.peek() == b'}' && !self.at_end() {
                    self.take(1);
                }
                if self.at == before {
                    self.take_any();
                }
            }
        }
    }

    /// One directive at module scope.
    fn item(&mut self) -> Parsed<()> {
        let start = self.start();
        let kind = match self.peek_word() {
            "version" if !self.module.items.is_empty() => {
                let span = Span::new(start, start + 8);
                return Err(error(ParseErrorKind::SecondVersion, span));
            }
            "version" => {
                self.eat_word("version");
                let (major, minor) = self.version()?;
                ItemKind::Version { major, minor }
            }
            "target" => {
                self.eat_word("target");
                let words = self.separated(|p| Ok(p.identifier("a target such as `sm_90`")?.0))?;
                ItemKind::Target(self.names(words))
            }
            "address_size" => {
                self.eat_word("address_size");
                ItemKind::AddressSize(self.integer("the address size")?)
            }
            "alias" => {
                self.eat_word("alias");
                let (alias, _) = self.identifier("the name of the alias")?;
                self.expect(b',', "`,`")?;
                let (aliasee, _) = self.identifier("the name of a function")?;
                self.semicolon()?;
                ItemKind::Alias { alias, aliasee }
            }
            "pragma" => ItemKind::Pragma(self.pragma()?),
            "file" => ItemKind::File(self.file()?),
            "loc" => ItemKind::Loc(self.loc()?),
            "section" => ItemKind::Section(self.section()?),
            "nv_intermediate_source_section" => ItemKind::Source(self.intermediate_source()?),
            _ if self.rest().starts_with(b"@@") => {
                self.take(2);
                let len = lex::end_of_line(self.rest());
                let line = self.take(len);
                let text = self.slice(line).trim_end();
                ItemKind::Dwarf(self.module.names.intern(text))
            }
            _ => self.declaration()?,
        };
        let span = self.since(start);
        self.module.items.push(Item { kind, span });
        Ok(())
    }

    /// `9.0`, which is two integers and no float.
    fn version(&mut self) -> Parsed<(u32, u32)> {
        let digits = |bytes: &[u8]| bytes.iter().take_while(|b| b.is_ascii_digit()).count();
        let major = digits(self.rest());
        let rest = &self.rest()[major..];
        let minor = digits(rest.get(1..).unwrap_or_default());
        if major == 0 || minor == 0 || rest.first() != Some(&b'.') {
            return Err(self.expected("a version such as `9.0`"));
        }
        let span = self.take(major + 1 + minor);
        let text = self.slice(span);
        let number = |text: &str| {
            let limit = 1 << 32;
            let kind = ParseErrorKind::OutOfRange {
                what: "a version",
                limit,
            };
            text.parse().map_err(|_| error(kind, span))
        };
        Ok((number(&text[..major])?, number(&text[major + 1..])?))
    }

    /// `.pragma "a", "b";`
    fn pragma(&mut self) -> Parsed<List<Name>> {
        self.eat_word("pragma");
        let strings = self.separated(|p| p.string("a string"))?;
        self.semicolon()?;
        Ok(self.names(strings))
    }

    /// Stores a list of names.
    fn names(&mut self, mut names: Vec<Name>) -> List<Name> {
        self.module.pools.drain(&mut names, 0)
    }

    /// An error for a directive that does not exist or not here.
    fn unknown_directive(&self, place: &'static str, known: &[&'static str]) -> Box<ParseError> {
        let name = self.peek_word();
        let span = Span::new(self.at as u32, (self.at + 1 + name.len()) as u32);
        // `nearest` returns one of `known`, which live for ever.
        let nearest = nearest(name, known.iter().copied());
        let nearest = known.iter().copied().find(|k| Some(*k) == nearest);
        let name = name.to_string();
        let kind = ParseErrorKind::UnknownDirective {
            name,
            place,
            nearest,
        };
        error(kind, span)
    }
}

fn error(kind: ParseErrorKind, span: Span) -> Box<ParseError> {
    Box::new(ParseError { kind, span })
}
