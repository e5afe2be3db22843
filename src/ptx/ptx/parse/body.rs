//! Function bodies: scopes, labels, instructions and the directives among them.
//!
//! Source: PTX ISA 9.0, sections 4.3.2, 9.7.12 and 11.3.

use std::cell::RefCell;

use super::decl::{decl, linkage};
use super::operand::{call_operand, operand};
use super::pragma;
use super::recover::{recover, recovered, report};
use super::section::{file, loc, place};
use super::signature::prototype;
use super::token::*;
use crate::ptx::ast::{Stmt, StmtKind, Target};
use crate::ptx::error::{ParseError, ParseErrorKind};
use crate::ptx::instr::{Guard, Instr, ModKind, Modifier, Opcode};
use crate::ptx::lex;
use crate::ptx::lookup::{self, Prefix};
use crate::ptx::opcode::Op;
use crate::ptx::pool::{Id, List};

/// Directives in a body, for suggestions.
const BODY_DIRECTIVES: &str = "reg shared local param global const pragma loc loc_intermediate \
    file branchtargets calltargets callprototype";

/// `{ statements }`. Broken statements are reported here, and reading goes on behind them.
pub(super) fn body<'a>(i: Input<'a>) -> Parsed<'a, List<Stmt>> {
    let (inside, ()) = symbol(b'{').parse(i)?;
    let first = statements(i);
    let scopes: RefCell<Vec<Id<Stmt>>> = RefCell::default();
    let open = |i: Input<'a>| {
        let (rest, ()) = symbol(b'{').parse(i)?;
        let here = Id::new(statements(i));
        scopes.borrow_mut().push(add(i, rest, StmtKind::Open(here)));
        Ok((rest, ()))
    };
    let close = |i: Input<'a>| {
        let (rest, ()) = symbol(b'}').parse(i)?;
        let Some(open) = scopes.borrow_mut().pop() else {
            return mismatch();
        };
        let close = StmtKind::Open(add(i, rest, StmtKind::Close(open)));
        i.state.module.borrow_mut().pools.stmts[open.index()].kind = close;
        Ok((rest, ()))
    };
    let added = |i: Input<'a>| {
        let (rest, kind) = expect("a statement", statement).parse(i)?;
        Ok((rest, add(i, rest, kind)))
    };
    let resume = |kind: &ParseErrorKind, i| match kind {
        // Behind these the next statement begins.
        ParseErrorKind::GuardedScope | ParseErrorKind::UnterminatedString => Ok((i, ())),
        _ => recover(i),
    };
    let ends = alt((ahead(b"{}"), value((), eof), next_function));
    let statement = preceded(not(ends), value((), recovered(Inlined(added), resume)));
    let (rest, _) = many0_count(alt((statement, open, close))).parse(inside)?;
    let unclosed = |rest: Input<'a>| {
        let brace = |id: &Id<Stmt>| i.state.module.borrow()[*id].span;
        let span = scopes.borrow().last().map_or(i.span(1), brace);
        let kind = ParseErrorKind::Unclosed;
        Ok((report(rest, ParseError { kind, span }), ()))
    };
    let (rest, ()) = alt((symbol(b'}'), unclosed)).parse(rest)?;
    Ok((rest, List::new(first, statements(i) - first)))
}

fn add<'a>(i: Input<'a>, rest: Input<'a>, kind: StmtKind) -> Id<Stmt> {
    let span = i.to(rest);
    i.add(Stmt { kind, span })
}

/// How many statements there are.
fn statements(i: Input<'_>) -> u32 {
    i.state.module.borrow().pools.stmts.len() as u32
}

/// That the next function begins, although this one has not ended.
fn next_function(i: Input<'_>) -> Parsed<'_, ()> {
    let function = preceded(linkage, dotted_of(&["entry", "func"]));
    value((), preceded(ahead(b"."), function)).parse(i)
}

fn statement(i: Input<'_>) -> Parsed<'_, StmtKind> {
    alt((labelled, instruction, directive, empty)).parse(i)
}

/// A lone semicolon.
fn empty(i: Input<'_>) -> Parsed<'_, StmtKind> {
    let (_, ()) = ahead(b";").parse(i)?;
    fail(i, ParseErrorKind::EmptyStatement, i.span(1))
}

/// `name:`, with the list of targets or the prototype that it names.
fn labelled(i: Input<'_>) -> Parsed<'_, StmtKind> {
    let colon = preceded(ahead(b": \t\r\n/"), (blanks, byte(b':')));
    let colon = preceded(lexeme(lex::identifier), colon);
    let label = terminated(expect("a label", name), symbol(b':'));
    let (rest, label) = preceded(peek(colon), label).parse(i)?;
    let targets = |name| preceded(word(name), terminated(list(target), semicolon));
    let prototype = preceded(word("callprototype"), prototype);
    let branch = |targets| StmtKind::BranchTargets { label, targets };
    let call = |targets| StmtKind::CallTargets { label, targets };
    let indirect = |prototype| StmtKind::CallPrototype { label, prototype };
    alt((
        map(targets("branchtargets"), branch),
        map(targets("calltargets"), call),
        map(prototype, indirect),
        success(StmtKind::Label(label)),
    ))
    .parse(rest)
}

/// `L0` or `N<5>`
fn target(i: Input<'_>) -> Parsed<'_, Target> {
    let target = spanned(pair(expect("a label or function", name), count));
    map(target, |((name, count), span)| Target { name, count, span }).parse(i)
}

/// What begins with a dot.
fn directive<'a>(i: Input<'a>) -> Parsed<'a, StmtKind> {
    let (rest, linkage) = preceded(ahead(b"."), linkage).parse(i)?;
    let unlabelled = |rest: Input<'a>| {
        let labelled = dotted_of(&["branchtargets", "calltargets", "callprototype"]);
        let (rest, directive) = token(labelled).parse(rest)?;
        fail(rest, ParseErrorKind::MissingLabel { directive }, i.to(rest))
    };
    let intermediate = |(file, line, column)| StmtKind::LocIntermediate { file, line, column };
    alt((
        map(loc, StmtKind::Loc),
        map(preceded(word("loc_intermediate"), place), intermediate),
        map(file, StmtKind::File),
        map(pragma, StmtKind::Pragma),
        map(decl(linkage), StmtKind::Decl),
        unlabelled,
        unknown_directive("in a function", BODY_DIRECTIVES),
    ))
    .parse(rest)
}

/// `@p` or `@!p`
fn guard(i: Input<'_>) -> Parsed<'_, Guard> {
    let pred = expect("a predicate register", name);
    let guard = preceded(symbol(b'@'), pair(opt(symbol(b'!')), pred));
    let (rest, ((not, pred), span)) = spanned(guard).parse(i)?;
    let negated = not.is_some();
    match opt(one_of("{.")).parse(rest)?.1 {
        Some('{') => fail(rest, ParseErrorKind::GuardedScope, span),
        Some(_) => fail(rest, ParseErrorKind::GuardedDirective, span),
        None => Ok((
            rest,
            Guard {
                pred,
                negated,
                span,
            },
        )),
    }
}

/// `@p opcode.mods operands;`
fn instruction(i: Input<'_>) -> Parsed<'_, StmtKind> {
    let unguarded = value(None, next(lex::starts_identifier));
    let (rest, guard) = alt((map(guard, Some), unguarded)).parse(i)?;
    let (rest, ((opcode, mods), opcode_span)) = spanned(opcode).parse(rest)?;
    if guard.is_some() && ahead(b":").parse(rest).is_ok() {
        return fail(rest, ParseErrorKind::GuardedDirective, i.to(rest));
    }
    let call = matches!(opcode, Opcode::Known(Op::Call) | Opcode::Unknown(_));
    let call = value((), preceded(given(call), operands(call_operand)));
    // These cannot begin an operand, so what is missing is the semicolon.
    let operands = alt((ahead(b";}@"), call, value((), operands(operand))));
    let (rest, operands) = terminated(gathered(operands), semicolon).parse(rest)?;
    let instr = Instr {
        guard,
        opcode,
        opcode_span,
        mods,
        operands,
    };
    Ok((rest, StmtKind::Instr(rest.add(instr))))
}

/// The opcode: the longest dotted prefix in the table; the words behind it are modifiers.
fn opcode(i: Input<'_>) -> Parsed<'_, (Opcode, List<Modifier>)> {
    let (rest, head) = expect("an instruction", token(identifier)).parse(i)?;
    let (rest, opcode) = longest_opcode(rest, head);
    let first = i.state.module.borrow().pools.mods.len() as u32;
    let (rest, count) = many0_count(modifier).parse(rest)?;
    Ok((rest, (opcode, List::new(first, count as u32))))
}

/// The opcode that begins with `head`, and the place behind its words.
fn longest_opcode<'a>(i: Input<'a>, head: &str) -> (Input<'a>, Opcode) {
    let (mut rest, mut found, mut prefix) = (i, None, lookup::opcode(head));
    let mut spelled = String::new();
    while let Some(Prefix { op, longer }) = prefix {
        found = op.map(|op| (rest, Opcode::Known(op))).or(found);
        let Ok((behind, word)) = preceded(given(longer), token(dotted)).parse(rest) else {
            break;
        };
        // Only the few opcodes with dots come here.
        if spelled.is_empty() {
            spelled.push_str(head);
        }
        spelled.push('.');
        spelled.push_str(word);
        (rest, prefix) = (behind, lookup::opcode(&spelled));
    }
    found.unwrap_or_else(|| (i, Opcode::Unknown(i.intern(head))))
}

/// `.word`, stored.
fn modifier<'a>(i: Input<'a>) -> Parsed<'a, ()> {
    let nothing = |i: Input<'a>| missing(i, "a modifier");
    let word = alt((token(dotted), preceded(symbol(b'.'), nothing)));
    let (rest, text) = { word }.parse(i)?;
    let kind = lookup::modifier(text).unwrap_or_else(|| ModKind::Unknown(i.intern(text)));
    let modifier = Modifier { kind, at: i.at };
    i.state.module.borrow_mut().pools.mods.push(modifier);
    Ok((rest, ()))
}
