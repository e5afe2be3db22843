//! PTX text to tree: the module and the directives at its scope.
//!
//! Source: PTX ISA 9.0, sections 4.3 and 11. The grammar is rules of nom over an [`Input`]; a token or two
//! decide which rule matches, and from there on it must, so that the text is read once from left to right.
//! Nodes are built straight into their pools. Bodies and nested scopes are a loop; only expressions, vectors
//! and initialisers recurse, to [`MAX_DEPTH`].
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
mod input;
mod operand;
mod recover;
mod section;
mod signature;
mod token;

use self::decl::{decl, linkage};
use self::function::function;
use self::recover::{any_token, recover, recovered};
use self::section::{file, intermediate_source, loc, section};
use self::token::*;
use super::ast::{Item, ItemKind, Module};
use super::error::{ParseError, ParseErrorKind};
use super::names::Name;
use super::pool::List;
use crate::diag::{Source, Span};

/// How deep expressions, vectors and initialisers may nest.
pub const MAX_DEPTH: u32 = 128;

/// How many errors one run reports.
pub const MAX_ERRORS: usize = 64;

/// Directives at module scope, for suggestions.
const MODULE_DIRECTIVES: &str = "version target address_size entry func extern visible weak common \
    global const shared tex alias pragma file loc section nv_intermediate_source_section";

/// The module that a text denotes, or everything that is wrong with it, in order of the text.
pub fn parse(source: &Source) -> Result<Module, Vec<ParseError>> {
    let state = State::new(&source.text);
    // What does not match is reported already.
    let _ = module(Input::new(&state));
    let (module, errors) = (state.module.into_inner(), state.errors.into_inner());
    match errors.is_empty() {
        true => Ok(module),
        false => Err(errors),
    }
}

fn module<'a>(i: Input<'a>) -> Parsed<'a, usize> {
    let ended = |_: &_, i: Input<'a>| Ok((i.at_stop(), ()));
    let version = alt((preceded(peek(dotted_of(&["version"])), item), not_ptx));
    // A module whose version cannot be read is most likely none at all.
    let (rest, first) = recovered(version, ended).parse(i)?;
    let (rest, _) = match first {
        Some(()) => recovered(target_ahead, |_, i| Ok((i, ()))).parse(rest)?,
        None => (rest, None),
    };
    many0_count(recovered_item).parse(rest)
}

/// A directive, or a broken one.
fn recovered_item<'a>(i: Input<'a>) -> Parsed<'a, ()> {
    let resume = |_: &_, broken: Input<'a>| {
        let (rest, _) = (recover, opt(symbol(b'}'))).parse(broken)?;
        match rest.at == i.at {
            true => any_token(rest),
            false => Ok((rest, ())),
        }
    };
    let (rest, _) = recovered(item, resume).parse(i)?;
    Ok((rest, ()))
}

/// A text that does not begin with `.version`.
fn not_ptx(i: Input<'_>) -> Parsed<'_, ()> {
    match i.input_len() {
        0 => fail(i, ParseErrorKind::Empty, Span::new(0, 0)),
        _ => fail(i, ParseErrorKind::NotPtx, found(i).1),
    }
}

/// That `.target` comes next; it is not taken.
fn target_ahead(i: Input<'_>) -> Parsed<'_, ()> {
    if dotted_of(&["target"]).parse(i).is_ok() {
        return Ok((i, ()));
    }
    let (found, span) = found(i);
    fail(i, ParseErrorKind::MissingTarget { found }, span)
}

/// One directive at module scope.
fn item(i: Input<'_>) -> Parsed<'_, ()> {
    let target = list(expect("a target such as `sm_90`", name));
    let size = integer("the address size");
    let kind = alt((
        version,
        map(preceded(word("target"), target), ItemKind::Target),
        map(preceded(word("address_size"), size), ItemKind::AddressSize),
        alias,
        map(pragma, ItemKind::Pragma),
        map(file, ItemKind::File),
        map(loc, ItemKind::Loc),
        map(section, ItemKind::Section),
        map(intermediate_source, ItemKind::Source),
        dwarf,
        declaration,
    ));
    let (rest, (kind, span)) = preceded(not(eof), spanned(kind)).parse(i)?;
    i.state.module.borrow_mut().items.push(Item { kind, span });
    Ok((rest, ()))
}

/// `.version 9.0`, which is two integers and no float.
fn version(i: Input<'_>) -> Parsed<'_, ItemKind> {
    let numbers = separated_pair(digit1, byte(b'.'), digit1);
    let numbers = expect("a version such as `9.0`", token(numbers));
    let (_, _) = dotted_of(&["version"]).parse(i)?;
    if !i.state.module.borrow().items.is_empty() {
        return fail(i, ParseErrorKind::SecondVersion, i.span(8));
    }
    let (rest, ((major, minor), span)) = preceded(word("version"), spanned(numbers)).parse(i)?;
    match (major.piece().parse(), minor.piece().parse()) {
        (Ok(major), Ok(minor)) => Ok((rest, ItemKind::Version { major, minor })),
        _ => {
            let (what, limit) = ("a version", 1 << 32);
            fail(rest, ParseErrorKind::OutOfRange { what, limit }, span)
        }
    }
}

/// `.alias alias, aliasee;`
fn alias(i: Input<'_>) -> Parsed<'_, ItemKind> {
    let comma = mark("`,`");
    let alias = terminated(expect("the name of the alias", name), comma);
    let aliasee = terminated(expect("the name of a function", name), semicolon);
    let names = preceded(word("alias"), (alias, aliasee));
    map(names, |(alias, aliasee)| ItemKind::Alias { alias, aliasee }).parse(i)
}

/// `.pragma "a", "b";`
fn pragma(i: Input<'_>) -> Parsed<'_, List<Name>> {
    let strings = list(expect("a string", string));
    delimited(word("pragma"), strings, semicolon).parse(i)
}

/// `@@dwarf ...`: the rest of the line.
fn dwarf(i: Input<'_>) -> Parsed<'_, ItemKind> {
    let line = map(take_till(|byte| byte == b'\n'), Input::piece);
    let line = preceded(token(spelled("@@")), token(map(line, str::trim_end)));
    map(interned(line), ItemKind::Dwarf).parse(i)
}

/// A function or variable at module scope.
fn declaration<'a>(i: Input<'a>) -> Parsed<'a, ItemKind> {
    let (i, linkage) = linkage(i)?;
    let unopened = |i: Input<'a>| fail(i, ParseErrorKind::Unopened, i.span(1));
    alt((
        map(function(linkage), ItemKind::Function),
        map(decl(linkage), ItemKind::Decl),
        preceded(ahead(b"}"), unopened),
        preceded(not(dotted), |i: Input<'a>| missing(i, "a directive")),
        unknown_directive("at module scope", MODULE_DIRECTIVES),
    ))
    .parse(i)
}
