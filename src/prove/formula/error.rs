//! What is wrong with a formula: a kind, its places, and what to do.

use thiserror::Error;

use crate::diag::{Diagnostic, Span, visible};

/// Kinds of errors; each is a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// A character that begins no token.
    #[error("`{character}` begins no name, number or operator")]
    NoToken {
        /// The character.
        character: char,
    },
    /// A backquote without its partner.
    #[error("a backquote is not closed on its line")]
    OpenQuote,
    /// Something else was expected.
    #[error("expected {wanted}, found {found}")]
    Expected {
        /// What.
        wanted: String,
        /// What stands there.
        found: String,
    },
    /// Expressions nest too deep.
    #[error(
        "expressions nest deeper than {} levels; name parts of it with `where`",
        super::ast::MAX_DEPTH
    )]
    TooDeep,
    /// The text is too long.
    #[error("the formula has {count} {what}; at most {most} are read")]
    TooLong {
        /// Of what there is too much.
        what: &'static str,
        /// How much there is.
        count: usize,
        /// How much is read.
        most: usize,
    },
    /// A number that is out of reach.
    #[error("the number `{text}` is out of range: {why}")]
    BadNumber {
        /// As it is written.
        text: String,
        /// Why.
        why: &'static str,
    },
    /// A function with the wrong number of arguments.
    #[error("`{name}` takes {wanted}, not {count}")]
    Arguments {
        /// The function.
        name: &'static str,
        /// What it takes.
        wanted: &'static str,
        /// What it was given.
        count: usize,
    },
    /// A condition where a number belongs, or the other way around.
    #[error("{found} stands where {wanted} belongs")]
    Sort {
        /// What is there.
        found: &'static str,
        /// What belongs there.
        wanted: &'static str,
    },
    /// There is no definition.
    #[error("the formula defines nothing; write an equation such as `y[i] = 2*x[i]`")]
    Empty,
    /// A name that nothing has.
    #[error("`{name}` is no {what}; there {}", list(.known))]
    Unknown {
        /// The name.
        name: String,
        /// What it should be.
        what: &'static str,
        /// What there is.
        known: Vec<String>,
    },
    /// A name that is defined or bound twice.
    #[error("`{name}` is {what} twice")]
    Doubled {
        /// The name.
        name: String,
        /// What happens twice.
        what: &'static str,
    },
    /// A helper with the name of an array of the kernel.
    #[error("`{name}` is an array of the kernel already; give the intermediate array another name")]
    Taken {
        /// The name.
        name: String,
    },
    /// A wrong number of indices.
    #[error("`{name}` has {rank} dimension{}, not {given}", plural(*.rank))]
    Rank {
        /// The array.
        name: String,
        /// Its number of dimensions.
        rank: usize,
        /// How many indices it was given.
        given: usize,
    },
    /// An array without type or shape.
    #[error("`{name}` has no {what}; bind it with --arg, e.g. `--arg '{name}=in:f32[64,64]'`")]
    Unbound {
        /// The array.
        name: String,
        /// What it lacks.
        what: &'static str,
    },
    /// An array that is used against its role.
    #[error("`{name}` is bound `{role}`, so that it cannot be {what}")]
    Role {
        /// The array.
        name: String,
        /// Its role.
        role: &'static str,
        /// What was done.
        what: &'static str,
    },
    /// A range that nothing gives.
    #[error("nothing gives the range of `{name}`; write it out, e.g. `{name} in 0..n`")]
    NoRange {
        /// The variable.
        name: String,
    },
    /// Two shapes that give different ranges.
    #[error(
        "`{name}` runs over {first} elements here and over {second} there; write its range out"
    )]
    TwoRanges {
        /// The variable.
        name: String,
        /// One extent.
        first: u64,
        /// The other.
        second: u64,
    },
    /// A condition on the left side that depends on data.
    #[error("which elements are defined cannot depend on data; choose the value with `if`")]
    PartOfData,
    /// A condition on the left side of an intermediate array.
    #[error("an intermediate array is defined wherever it is read; choose its value with `if`")]
    PartOfHelper,
    /// A circle of intermediate arrays.
    #[error("`{name}` is defined by itself")]
    Circle {
        /// An array of the circle.
        name: String,
    },
    /// An index that leaves the shape.
    #[error("index {value} of dimension {dimension} of `{name}` leaves its {extent} elements{at}")]
    Leaves {
        /// The array.
        name: String,
        /// Which dimension.
        dimension: usize,
        /// The index.
        value: i64,
        /// The extent.
        extent: u64,
        /// The values of the variables around it.
        at: String,
    },
    /// A number where an integer belongs.
    #[error("an index, a size or a range needs an integer; {what}")]
    NotInteger {
        /// What stands there.
        what: String,
    },
    /// An integer without a value in a range or a subscript.
    #[error("`{name}` has no value here; bind it with --arg {name}=VALUE")]
    NoValue {
        /// The scalar.
        name: String,
    },
    /// An integer beyond 64 bits.
    #[error("this integer has more than 63 bits{at}")]
    Overflow {
        /// The values of the variables around it.
        at: String,
    },
    /// Integer division by zero.
    #[error("division of integers by 0{at}")]
    DivisionByZero {
        /// The values of the variables around it.
        at: String,
    },
    /// A value that the element type of an output cannot hold.
    #[error("`{name}` holds {ty}, and {why}{at}")]
    Unrepresentable {
        /// The array.
        name: String,
        /// Its type.
        ty: String,
        /// Why it cannot be held.
        why: String,
        /// The values of the variables around it.
        at: String,
    },
}

fn plural(n: usize) -> &'static str {
    match n {
        1 => "",
        _ => "s",
    }
}

fn list(known: &[String]) -> String {
    /// Names that are listed.
    const MOST: usize = 12;
    let names = known.iter().take(MOST).map(|n| format!("`{}`", visible(n)));
    let names: Vec<String> = names.collect();
    match known {
        [] => "is none".to_string(),
        [_] => format!("is {}", names[0]),
        all if all.len() > MOST => {
            format!("are {} and {} more", names.join(", "), all.len() - MOST)
        }
        _ => format!("are {}", names.join(", ")),
    }
}

/// An error with its places.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{problem}")]
pub struct Trouble {
    /// What is wrong.
    pub problem: Box<Problem>,
    /// Where.
    pub span: Span,
    /// A second place, with what it is.
    pub other: Option<(Span, &'static str)>,
    /// What may be meant.
    pub help: Option<String>,
}

impl Trouble {
    /// An error at a place.
    pub(super) fn new(problem: Problem, span: Span) -> Trouble {
        Trouble {
            problem: Box::new(problem),
            span,
            other: None,
            help: None,
        }
    }

    /// The same with another place.
    pub(super) fn beside(mut self, span: Span, what: &'static str) -> Trouble {
        self.other = Some((span, what));
        self
    }

    /// The same with the name that may be meant.
    pub(super) fn meant(mut self, name: Option<&str>) -> Trouble {
        self.help = name.map(|n| format!("is `{n}` meant?"));
        self
    }
}

impl From<&Trouble> for Diagnostic {
    fn from(t: &Trouble) -> Diagnostic {
        let mut d = Diagnostic::error("formula", t.problem.to_string()).label(t.span, "");
        if let Some((span, what)) = t.other {
            d = d.label(span, what);
        }
        match &t.help {
            Some(help) => d.help(help.clone()),
            None => d,
        }
    }
}
