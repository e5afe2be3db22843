//! What can be wrong with a PTX text.

use thiserror::Error;

use crate::diag::{Diagnostic, Span};

/// An error of grammar with its place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{kind}")]
pub struct ParseError {
    /// What is wrong.
    pub kind: ParseErrorKind,
    /// Where.
    pub span: Span,
}

/// What is wrong with a PTX text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseErrorKind {
    /// Something else should stand here.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What should.
        expected: &'static str,
        /// What does.
        found: String,
    },
    /// The text does not begin as every PTX module does.
    ///
    /// How it does begin is not said: the file may hold anything, secrets too.
    #[error("not a PTX module: `.version` must stand first")]
    NotPtx,
    /// The text is empty.
    #[error("not a PTX module: the text holds nothing")]
    Empty,
    /// The second directive must be `.target`.
    #[error("`.target` must follow `.version`, found {found}")]
    MissingTarget {
        /// What stands there.
        found: String,
    },
    /// `.version` again.
    #[error("a second `.version`; a text holds one module")]
    SecondVersion,
    /// A directive that does not exist, or not here.
    #[error("unknown directive `.{name}` {place}")]
    UnknownDirective {
        /// Its name.
        name: String,
        /// At module scope, in a function, ...
        place: &'static str,
        /// The directive that was meant, perhaps.
        nearest: Option<&'static str>,
    },
    /// A malformed literal.
    #[error("malformed number: {reason}")]
    Number {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A number that is too big where it stands.
    #[error("{what} must be below {limit}")]
    OutOfRange {
        /// Which number.
        what: &'static str,
        /// The first that is too big.
        limit: u64,
    },
    /// `/*` without `*/`.
    #[error("this comment does not end; close it with `*/`")]
    UnterminatedComment,
    /// A quote without its partner on the line.
    #[error("this string does not end on its line")]
    UnterminatedString,
    /// Expressions, vectors or initialisers in each other.
    #[error("nested deeper than {limit} levels")]
    TooDeep {
        /// The limit.
        limit: u32,
    },
    /// `{` without `}`.
    #[error("this `{{` is never closed")]
    Unclosed,
    /// `.source_begin` without `.source_end`.
    #[error("this `.source_begin` has no `.source_end` on a line of its own")]
    UnclosedSource,
    /// `}` without `{`.
    #[error("this `}}` closes nothing")]
    Unopened,
    /// `[r-8]`.
    #[error("an address takes `+` only; write a negative offset as `[r+-8]`")]
    MinusInAddress,
    /// `@p { ... }`.
    #[error("a guard stands before one instruction, not before a block; branch around it")]
    GuardedScope,
    /// `@p L:` or `@p .reg`.
    #[error("a guard stands before an instruction only")]
    GuardedDirective,
    /// `.b8 .align 8 x`.
    #[error("`.align` must stand before the type")]
    AlignAfterType,
    /// A lone semicolon.
    #[error("an empty statement; remove this `;`")]
    EmptyStatement,
    /// `-0f3F800000`.
    #[error("an exact float takes no sign; flip its highest bit, or write a decimal")]
    SignedExactFloat,
    /// `.branchtargets` without a label.
    #[error("`.{directive}` needs a label: `name: .{directive} ...`")]
    MissingLabel {
        /// Which.
        directive: &'static str,
    },
    /// The limit of errors is reached.
    #[error("too many errors; the rest of the text was not read")]
    TooMany,
}

impl From<&ParseError> for Diagnostic {
    fn from(error: &ParseError) -> Self {
        use ParseErrorKind as K;
        let label = match &error.kind {
            K::Empty => "`.version` must stand here",
            K::MissingTarget { .. } => "`.target` must stand here",
            _ => "",
        };
        let mut diagnostic = Diagnostic::error("syntax", error.kind.to_string());
        if !matches!(error.kind, K::NotPtx) {
            diagnostic = diagnostic.label(error.span, label);
        }
        match &error.kind {
            K::NotPtx | K::Empty => diagnostic.help(
                "give PTX text, as `nvcc -ptx` writes it; a cubin, a fatbin or CUDA C++ is not PTX",
            ),
            K::UnknownDirective {
                nearest: Some(nearest),
                ..
            } => diagnostic.help(format!("did you mean `.{nearest}`?")),
            _ => diagnostic,
        }
    }
}

impl From<ParseError> for Diagnostic {
    fn from(error: ParseError) -> Self {
        Self::from(&error)
    }
}
