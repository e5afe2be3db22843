//! What can be wrong with the text of an entry and of what it calls: names, types, operands.
//!
//! Source: PTX ISA 9.0, sections 5.4, 6 and 9.4. All of these are input errors; what is right but
//! not modelled becomes an instruction of its own and is no error.

use thiserror::Error;

use crate::answer::kinds::near;
use crate::answer::{ErrorKind, Kind, WarningKind};
use crate::diag::{Diagnostic, Span};
use crate::ptx::EvalError;

/// An error in the selected entry or in what it calls.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LowerError {
    /// A name without a declaration in scope.
    #[error("`{name}` is not declared")]
    Undeclared {
        /// The name.
        name: String,
        /// Where it is used.
        span: Span,
        /// What the user may have meant.
        help: Option<String>,
    },
    /// A branch to a label that is not visible.
    #[error("there is no label `{name}` in this scope")]
    UnknownLabel {
        /// The label.
        name: String,
        /// Where it is used.
        span: Span,
        /// What the user may have meant.
        help: Option<String>,
    },
    /// A second declaration in one scope.
    #[error("`{name}` is declared twice in this scope")]
    Redeclared {
        /// The name.
        name: String,
        /// The second declaration.
        span: Span,
        /// The first one.
        first: Span,
    },
    /// A name that stands for something of the wrong kind.
    #[error("`{name}` is {is}, but {wanted} must stand here")]
    WrongKind {
        /// The name.
        name: String,
        /// Where it is used.
        span: Span,
        /// What it is.
        is: &'static str,
        /// What is needed.
        wanted: &'static str,
    },
    /// An operand that no instruction takes in this place.
    #[error("{wanted} must stand here")]
    WrongOperand {
        /// The operand.
        span: Span,
        /// What is needed.
        wanted: &'static str,
    },
    /// A register whose type does not fit the instruction's.
    #[error("`{name}` has type `.{found}`, which does not fit `.{wanted}` of `{opcode}`")]
    OperandType {
        /// The register.
        name: String,
        /// Where it is used.
        span: Span,
        /// Its declared type.
        found: &'static str,
        /// The instruction's type.
        wanted: &'static str,
        /// The instruction.
        opcode: String,
    },
    /// An immediate that cannot stand for a value of the instruction's type.
    #[error("this constant does not fit `.{wanted}`")]
    Immediate {
        /// The constant.
        span: Span,
        /// The instruction's type.
        wanted: &'static str,
        /// What to write.
        help: &'static str,
    },
    /// Too many or too few operands.
    #[error("`{opcode}` takes {wanted} operands, not {found}")]
    OperandCount {
        /// The instruction.
        opcode: String,
        /// The instruction.
        span: Span,
        /// How many are written.
        found: usize,
        /// How many it takes.
        wanted: String,
    },
    /// An address of a variable in another space than the instruction's.
    #[error("`{name}` is in another state space than the instruction accesses")]
    SpaceMismatch {
        /// The variable.
        name: String,
        /// Where it is used.
        span: Span,
    },
    /// A constant expression without a value.
    #[error("{0}")]
    Constant(EvalError),
    /// An array whose size is not a positive number, or memory that would not fit in 32 bits.
    #[error("the size of `{name}` cannot be used: {why}")]
    Size {
        /// The variable.
        name: String,
        /// The declaration.
        span: Span,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A call of a function with other parameters.
    #[error("`{name}` takes {wanted} {what}, not {found}")]
    CallArity {
        /// The function.
        name: String,
        /// The call.
        span: Span,
        /// Arguments or results.
        what: &'static str,
        /// How many are passed.
        found: usize,
        /// How many it declares.
        wanted: usize,
    },
    /// An argument whose size differs from the parameter's.
    #[error("`{name}` is {found} bytes large, but the parameter of `{function}` takes {wanted}")]
    ArgumentSize {
        /// The argument.
        name: String,
        /// The function.
        function: String,
        /// The argument.
        span: Span,
        /// Its size.
        found: u64,
        /// The parameter's size.
        wanted: u64,
    },
    /// No entry in the module.
    #[error("the module has no entry")]
    NoEntry,
    /// A version, target or address size that does not exist.
    #[error("there is no `{text}`")]
    Header {
        /// The directive.
        directive: &'static str,
        /// The directive with what it names.
        text: String,
        /// Where it stands.
        span: Span,
    },
    /// No entry with this name.
    #[error("no entry is named `{name}`")]
    UnknownEntry {
        /// The name asked for.
        name: String,
        /// The entries.
        entries: Vec<EntryName>,
    },
    /// Several entries fit.
    #[error("{} entries fit, say which one", .entries.len())]
    AmbiguousEntry {
        /// The entries that fit.
        entries: Vec<EntryName>,
    },
    /// One kernel where two are compared.
    #[error("it holds one kernel, and a check compares two: name the other file, or --formula")]
    OneEntry,
    /// Entries that are one, where two are compared.
    #[error("both sides are `{name}`: a file alone is compared in two of its kernels")]
    SameEntry {
        /// The entry.
        name: String,
    },
}

/// A name as a shell takes it for itself.
fn quoted(name: &str) -> String {
    match name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        true => name.to_string(),
        false => format!("'{name}'"),
    }
}

/// An entry as a user can name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryName {
    /// A name that means it alone.
    pub text: String,
    /// Where it is declared.
    pub span: Span,
}

impl LowerError {
    /// Stable name of the kind.
    pub fn code(&self) -> &'static str {
        match self {
            LowerError::Undeclared { .. } => "undeclared",
            LowerError::UnknownLabel { .. } => "unknown-label",
            LowerError::Redeclared { .. } => "redeclared",
            LowerError::WrongKind { .. } => "wrong-kind",
            LowerError::WrongOperand { .. } => "wrong-operand",
            LowerError::OperandType { .. } => "operand-type",
            LowerError::Immediate { .. } => "immediate",
            LowerError::OperandCount { .. } => "operand-count",
            LowerError::SpaceMismatch { .. } => "state-space",
            LowerError::Constant(_) => "constant",
            LowerError::Size { .. } => "size",
            LowerError::Header { directive, .. } => directive,
            LowerError::CallArity { .. } | LowerError::ArgumentSize { .. } => "call",
            LowerError::NoEntry
            | LowerError::UnknownEntry { .. }
            | LowerError::AmbiguousEntry { .. }
            | LowerError::OneEntry
            | LowerError::SameEntry { .. } => "entry",
        }
    }

    /// The kind that reports name: whether an entry could not be chosen, or the code is not valid.
    pub fn kind(&self) -> ErrorKind {
        match self {
            LowerError::NoEntry
            | LowerError::UnknownEntry { .. }
            | LowerError::AmbiguousEntry { .. }
            | LowerError::OneEntry
            | LowerError::SameEntry { .. } => ErrorKind::Entry,
            LowerError::Undeclared { .. }
            | LowerError::UnknownLabel { .. }
            | LowerError::Redeclared { .. }
            | LowerError::WrongKind { .. }
            | LowerError::WrongOperand { .. }
            | LowerError::OperandType { .. }
            | LowerError::Immediate { .. }
            | LowerError::OperandCount { .. }
            | LowerError::SpaceMismatch { .. }
            | LowerError::Constant(_)
            | LowerError::Size { .. }
            | LowerError::Header { .. }
            | LowerError::CallArity { .. }
            | LowerError::ArgumentSize { .. } => ErrorKind::Syntax,
        }
    }

    /// The place, where there is one.
    pub fn span(&self) -> Option<Span> {
        match self {
            LowerError::Undeclared { span, .. }
            | LowerError::UnknownLabel { span, .. }
            | LowerError::Redeclared { span, .. }
            | LowerError::WrongKind { span, .. }
            | LowerError::WrongOperand { span, .. }
            | LowerError::OperandType { span, .. }
            | LowerError::Immediate { span, .. }
            | LowerError::OperandCount { span, .. }
            | LowerError::SpaceMismatch { span, .. }
            | LowerError::Size { span, .. }
            | LowerError::Header { span, .. }
            | LowerError::CallArity { span, .. }
            | LowerError::ArgumentSize { span, .. } => Some(*span),
            LowerError::Constant(error) => Some(error.span()),
            LowerError::NoEntry
            | LowerError::UnknownEntry { .. }
            | LowerError::AmbiguousEntry { .. }
            | LowerError::OneEntry
            | LowerError::SameEntry { .. } => None,
        }
    }

    /// The message with its places.
    pub fn diagnostic(&self) -> Diagnostic {
        self.diagnostic_by("--entry")
    }

    /// The message with its places; `flag` names the entry on the command line.
    pub fn diagnostic_by(&self, flag: &str) -> Diagnostic {
        let mut message = Diagnostic::error(self.code(), self.to_string());
        if let Some(span) = self.span() {
            message = message.label(span, "");
        }
        match self {
            LowerError::Undeclared {
                help: Some(help), ..
            }
            | LowerError::UnknownLabel {
                help: Some(help), ..
            } => message.help(help.as_str()),
            LowerError::Immediate { help, .. } => message.help(*help),
            LowerError::Redeclared { first, .. } => message.label(*first, "first declared here"),
            LowerError::UnknownEntry { name, entries } => {
                let names: Vec<&str> = entries.iter().map(|e| e.text.as_str()).collect();
                // Template arguments are the longer part of a name, and its first part is what is mistyped.
                let bases = names.iter().map(|n| n.split('<').next().unwrap_or(n));
                let bases: Vec<&str> = bases.collect();
                let nearest = near(name, &names).first().copied().or_else(|| {
                    let base = near(name, &bases).first().copied()?;
                    let at = bases.iter().position(|b| *b == base)?;
                    names.get(at).copied()
                });
                let close = nearest.map(|first| format!("did you mean {flag} {}? ", quoted(first)));
                let close = close.unwrap_or_default();
                message.help(format!("{close}The entries are: {}", names.join(", ")))
            }
            LowerError::AmbiguousEntry { entries } => {
                let flags = entries
                    .iter()
                    .map(|e| format!("{flag} {}", quoted(&e.text)));
                let flags: Vec<String> = flags.collect();
                message.help(format!("one of: {}", flags.join("   ")))
            }
            _ => message,
        }
    }
}

/// Something that the user should know about code that was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LowerWarning {
    /// An opcode that PTX ISA 9.0 does not have, or a modifier that is not known with its opcode.
    #[error("`{text}` is not known: {why}")]
    UnknownOpcode {
        /// The instruction.
        text: String,
        /// What of it.
        why: String,
        /// Where it stands.
        span: Span,
        /// What the user may have meant.
        help: Option<String>,
    },
    /// A version or a target that is newer than what is known here.
    #[error("`{text}` is newer than PTX ISA 9.0; what it adds is not executed")]
    Newer {
        /// The directive with what it names.
        text: String,
        /// Where it stands.
        span: Span,
    },
}

impl LowerWarning {
    /// The kind that reports name.
    pub fn kind(&self) -> WarningKind {
        match self {
            LowerWarning::UnknownOpcode { .. } => WarningKind::UnknownOpcode,
            LowerWarning::Newer { .. } => WarningKind::Note,
        }
    }

    /// The place.
    pub fn span(&self) -> Span {
        match self {
            LowerWarning::UnknownOpcode { span, .. } | LowerWarning::Newer { span, .. } => *span,
        }
    }

    /// The message with its place.
    pub fn diagnostic(&self) -> Diagnostic {
        let message =
            Diagnostic::warning(self.kind().name(), self.to_string()).label(self.span(), "");
        match self {
            LowerWarning::UnknownOpcode {
                help: Some(help), ..
            } => message.help(help.as_str()),
            LowerWarning::UnknownOpcode { .. } | LowerWarning::Newer { .. } => message,
        }
    }
}
