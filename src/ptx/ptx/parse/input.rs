//! The input of the grammar: a place in the text, and the module as far as it is built.
//!
//! An [`Input`] is copied freely, so a rule that does not match leaves nothing behind and another can
//! be tried. Nodes are stored behind it, where a copy sees them too. nom may run a rule only to see
//! whether it matches and leaves out what `map` would do with the result; so nodes are stored and
//! names interned in functions of an input, never in `map`.

use std::cell::{Cell, RefCell};
use std::iter::{Copied, Enumerate};
use std::slice::Iter;

use nom::error::{ErrorKind, ParseError as NomError};
use nom::{Err, IResult, Mode, Needed, OutputMode, PResult};

use crate::diag::Span;
use crate::ptx::ast::{Module, Pool, Pools};
use crate::ptx::error::{ParseError, ParseErrorKind};
use crate::ptx::instr::Operand;
use crate::ptx::lex;
use crate::ptx::names::Name;
use crate::ptx::pool::Id;

/// The text, and what is built from it.
pub(super) struct State<'a> {
    text: &'a str,
    pub(super) module: RefCell<Module>,
    pub(super) errors: RefCell<Vec<ParseError>>,
    /// Operands of lists that are not complete.
    pub(super) operands: RefCell<Vec<Operand>>,
    /// Current nesting of what recurses.
    pub(super) depth: Cell<u32>,
}

impl<'a> State<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut module = Module::default();
        module.pools.reserve(text.len());
        Self {
            text,
            module: RefCell::new(module),
            errors: RefCell::default(),
            operands: RefCell::default(),
            depth: Cell::new(0),
        }
    }
}

/// A place in the text. Between tokens, the blanks before the next one are skipped already.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    pub(super) state: &'a State<'a>,
    /// Offset of the next token.
    pub(super) at: u32,
    /// Offset behind the last token.
    pub(super) end: u32,
}

/// Why a rule does not match. Most say nothing, and another rule may be tried; an error that is to be
/// reported is a [`Err::Failure`] and holds the place where reading stopped. Errors are rare and big,
/// so results hold them in a box.
pub(super) struct Problem<'a>(pub(super) Option<Box<(ParseError, Input<'a>)>>);

pub(super) type Parsed<'a, T> = IResult<Input<'a>, T, Problem<'a>>;

/// A rule of the grammar.
pub(super) trait Rule<'a, T>:
    nom::Parser<Input<'a>, Output = T, Error = Problem<'a>>
{
}

impl<'a, T, R: nom::Parser<Input<'a>, Output = T, Error = Problem<'a>>> Rule<'a, T> for R {}

/// A function as a rule that is inlined. The compiler does not inline what nom makes of a function where the
/// rule stands in many places, and reading then takes a quarter more instructions.
pub(super) struct Inlined<F>(pub(super) F);

impl<'a, T, F: FnMut(Input<'a>) -> Parsed<'a, T>> nom::Parser<Input<'a>> for Inlined<F> {
    type Output = T;
    type Error = Problem<'a>;

    #[inline(always)]
    fn process<M: OutputMode>(&mut self, i: Input<'a>) -> PResult<M, Input<'a>, T, Problem<'a>> {
        match self.0(i) {
            Ok((rest, found)) => Ok((rest, M::Output::bind(|| found))),
            Err(Err::Error(problem)) => Err(Err::Error(M::Error::bind(|| problem))),
            Err(Err::Failure(problem)) => Err(Err::Failure(problem)),
            Err(Err::Incomplete(needed)) => Err(Err::Incomplete(needed)),
        }
    }
}

impl<'a> NomError<Input<'a>> for Problem<'a> {
    fn from_error_kind(_: Input<'a>, _: ErrorKind) -> Self {
        Problem(None)
    }

    fn append(_: Input<'a>, _: ErrorKind, other: Self) -> Self {
        other
    }
}

/// The failure of a rule: the error, and the place where reading goes on.
pub(super) fn fail<'a, T>(i: Input<'a>, kind: ParseErrorKind, span: Span) -> Parsed<'a, T> {
    let broken = Box::new((ParseError { kind, span }, i));
    Err(Err::Failure(Problem(Some(broken))))
}

/// That a rule does not match here, which another may.
pub(super) fn mismatch<'a, T>() -> Parsed<'a, T> {
    Err(Err::Error(Problem(None)))
}

impl<'a> Input<'a> {
    /// The first token of the text.
    pub(super) fn new(state: &'a State<'a>) -> Self {
        let (at, end) = (0, 0);
        let start = Self { state, at, end };
        let at = all_blanks(start, true);
        Self { at, ..start }
    }

    /// The end of the text.
    pub(super) fn at_stop(self) -> Self {
        let at = self.state.text.len() as u32;
        Self { at, ..self }
    }

    /// The text from here on.
    pub(super) fn text(self) -> &'a str {
        &self.state.text[self.at as usize..]
    }

    pub(super) fn bytes(self) -> &'a [u8] {
        &self.state.text.as_bytes()[self.at as usize..]
    }

    /// The text of a piece that a rule of nom took.
    pub(super) fn piece(self) -> &'a str {
        &self.state.text[self.at as usize..self.end as usize]
    }

    /// The text before the next token: blanks, back to the last token or to the start.
    pub(super) fn gap(self) -> &'a str {
        &self.state.text[self.end as usize..self.at as usize]
    }

    pub(super) fn slice(self, span: Span) -> &'a str {
        &self.state.text[span.start as usize..span.end as usize]
    }

    /// The span of the next `len` bytes.
    pub(super) fn span(self, len: usize) -> Span {
        Span::new(self.at, self.at + len as u32)
    }

    /// The span from here to the last token before `rest`.
    pub(super) fn to(self, rest: Self) -> Span {
        Span::new(self.at, rest.end.max(self.at))
    }

    pub(super) fn intern(self, text: &str) -> Name {
        self.state.module.borrow_mut().names.intern(text)
    }

    /// Stores a node.
    pub(super) fn add<T>(self, node: T) -> Id<T>
    where
        Pools: Pool<T>,
    {
        self.state.module.borrow_mut().pools.add(node)
    }
}

/// Moves over the blanks behind a token. A comment that does not end is an error, and the end of the text.
#[inline(always)]
pub(super) fn blanks(i: Input<'_>) -> Parsed<'_, ()> {
    let at = match i.bytes() {
        [first, ..] if ends_blanks(*first) => i.at,
        _ => some_blanks(i),
    };
    Ok((Input { at, ..i }, ()))
}

fn ends_blanks(byte: u8) -> bool {
    byte > b' ' && byte != b'/' && byte != b'#'
}

/// Where the blanks end that begin here. Mostly there are neither comments nor lines of `#`.
#[inline(never)]
fn some_blanks(i: Input<'_>) -> u32 {
    let mut blank = i.bytes().iter();
    match blank.position(|byte| !matches!(byte, b' ' | b'\t' | b'\n')) {
        Some(len) if ends_blanks(i.bytes()[len]) => i.at + len as u32,
        _ => all_blanks(i, false),
    }
}

/// Where the blanks end that begin here; `line_start` says that only blanks stand before on the line.
fn all_blanks(i: Input<'_>, line_start: bool) -> u32 {
    match lex::blanks(i.bytes(), line_start) {
        Ok(len) => i.at + len as u32,
        Err(offset) => {
            let start = i.at + offset as u32;
            let span = Span::new(start, start + 2);
            let kind = ParseErrorKind::UnterminatedComment;
            let reported = ParseError { kind, span };
            // Rules that look ahead come here more than once.
            let mut errors = i.state.errors.borrow_mut();
            if errors.last() != Some(&reported) {
                errors.push(reported);
            }
            i.at_stop().at
        }
    }
}

impl<'a> nom::Input for Input<'a> {
    type Item = u8;
    type Iter = Copied<Iter<'a, u8>>;
    type IterIndices = Enumerate<Self::Iter>;

    fn input_len(&self) -> usize {
        self.state.text.len() - self.at as usize
    }

    fn take(&self, len: usize) -> Self {
        self.take_split(len).1
    }

    fn take_from(&self, len: usize) -> Self {
        let at = self.at + len as u32;
        let (state, end) = (self.state, at);
        Self { state, at, end }
    }

    /// What is behind the next bytes, and these, to be read by [`Input::piece`] only: an input does not know
    /// where it stops.
    fn take_split(&self, len: usize) -> (Self, Self) {
        let rest = self.take_from(len);
        let end = rest.at;
        (rest, Self { end, ..*self })
    }

    fn position<P: Fn(u8) -> bool>(&self, predicate: P) -> Option<usize> {
        self.bytes().iter().position(|&byte| predicate(byte))
    }

    fn iter_elements(&self) -> Self::Iter {
        self.bytes().iter().copied()
    }

    fn iter_indices(&self) -> Self::IterIndices {
        self.iter_elements().enumerate()
    }

    fn slice_index(&self, count: usize) -> Result<usize, Needed> {
        self.bytes().slice_index(count)
    }
}
