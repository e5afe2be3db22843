//! What a function is called with.

use super::decl::{DeclarationPart, Declared, align, attributes, modifier, shape};
use super::expr::dims;
use super::pragma;
use super::token::*;
use crate::diag::Span;
use crate::ptx::ast::{
    Extent, FuncDirective, FuncDirectiveKind, Function, FunctionKind, Language, Linkage, Param,
};
use crate::ptx::pool::{Id, List};
use crate::ptx::words::Space;

/// Everything before the body.
pub(super) fn header(i: Input<'_>, linkage: Linkage) -> Parsed<'_, Function> {
    let entry = value(FunctionKind::Entry, word("entry"));
    let kind = alt((entry, value(FunctionKind::Func, word("func"))));
    let (rest, (kind, attributes)) = (kind, opt(attributes)).parse(i)?;
    let (rest, results) = match kind {
        FunctionKind::Func => params(rest)?,
        FunctionKind::Entry => (rest, List::EMPTY),
    };
    let name = spanned(expect("the name of a function", name));
    let begins = expect("`{` or `;`", ahead(b"{;"));
    let (rest, ((name, name_span), params, directives, ())) =
        (name, params, directives, begins).parse(rest)?;
    let function = Function {
        kind,
        linkage,
        attributes: attributes.unwrap_or_default(),
        name,
        name_span,
        results,
        params,
        directives,
        body: None,
    };
    Ok((rest, function))
}

/// What stands for a function whose header is broken; the module is not given out.
pub(super) fn nameless(i: Input<'_>) -> Function {
    Function {
        kind: FunctionKind::Func,
        linkage: Linkage::default(),
        attributes: List::EMPTY,
        name: i.intern("_"),
        name_span: Span::default(),
        results: List::EMPTY,
        params: List::EMPTY,
        directives: List::EMPTY,
        body: None,
    }
}

/// What follows `.callprototype`: `(results) _ (params) directives;`
pub(super) fn prototype(i: Input<'_>) -> Parsed<'_, Id<Function>> {
    let nameless = nameless(i);
    let name = spanned(name_or_sink("`_`"));
    let parts = terminated((params, name, params, directives), semicolon);
    let function = |(results, (name, name_span), params, directives)| Function {
        results,
        name: Option::unwrap_or(name, nameless.name),
        name_span,
        params,
        directives,
        ..nameless
    };
    added(map(parts, function)).parse(i)
}

/// `(param, param)`, which may be left out.
fn params(i: Input<'_>) -> Parsed<'_, List<Param>> {
    let params = terminated(list(param), expect("`,` or `)`", symbol(b')')));
    let params = alt((value(List::EMPTY, symbol(b')')), params));
    let params = opt(preceded(symbol(b'('), params));
    map(params, Option::unwrap_or_default).parse(i)
}

/// Directives between parameters and body, for suggestions.
const FUNCTION_DIRECTIVES: &str = "maxnreg maxntid reqntid minnctapersm maxnctapersm noreturn \
    pragma reqnctapercluster explicitcluster maxclusterrank blocksareclusters abi_preserve \
    abi_preserve_control language";

/// `.param .align 8 .b8 name[16]`, `.param .u64 .ptr .global .align 16 name`, `.reg .b32 %r1`
fn param(i: Input<'_>) -> Parsed<'_, Param> {
    let reg = value(Space::Reg, word("reg"));
    let space = alt((value(Space::Param, word("param")), reg));
    let space = expect("`.param` or `.reg`", space);
    let (rest, (hidden, space)) = (opt(word("hidden")), space).parse(i)?;
    let part = |shape: Declared| {
        let late = shape.ptr.is_none() && shape.ty.is_some();
        let ptr = value(DeclarationPart::Ptr, word("ptr"));
        alt((align(late), ptr, modifier(shape, 4)))
    };
    let (rest, found) = shape(Declared::default(), part)(rest)?;
    let (rest, ()) = expect("a type or a name", not(dotted)).parse(rest)?;
    let Some(ty) = found.ty else {
        return missing(rest, "a type such as `.u64`");
    };
    let name = name_or_sink("the name of a parameter");
    let (rest, (name, count, dims)) = (name, count, dims).parse(rest)?;
    let param = Param {
        hidden: hidden.is_some(),
        space,
        align: found.align,
        vector: found.vector,
        ty,
        ptr: found.ptr,
        name,
        count,
        dims,
        span: i.to(rest),
    };
    Ok((rest, param))
}

/// Directives up to the body.
fn directives(i: Input<'_>) -> Parsed<'_, List<FuncDirective>> {
    let unknown = unknown_directive("before a function's body", FUNCTION_DIRECTIVES);
    let kind = alt((directive, preceded(ahead(b"."), unknown)));
    let directive = map(spanned(kind), |(kind, span)| FuncDirective { kind, span });
    stored(many0(directive)).parse(i)
}

fn directive(i: Input<'_>) -> Parsed<'_, FuncDirectiveKind> {
    use FuncDirectiveKind as K;
    let ctas = |name| preceded(word(name), integer("a number of CTAs"));
    let registers = |name| preceded(word(name), integer("a number of registers"));
    let threads = |name| preceded(word(name), extent);
    alt((
        map(registers("maxnreg"), K::MaxNReg),
        map(threads("maxntid"), K::MaxNTid),
        map(threads("reqntid"), K::ReqNTid),
        map(ctas("minnctapersm"), K::MinNCtaPerSm),
        map(ctas("maxnctapersm"), K::MaxNCtaPerSm),
        map(threads("reqnctapercluster"), K::ReqNCtaPerCluster),
        map(ctas("maxclusterrank"), K::MaxClusterRank),
        map(registers("abi_preserve"), K::AbiPreserve),
        map(registers("abi_preserve_control"), K::AbiPreserveControl),
        value(K::ExplicitCluster, word("explicitcluster")),
        value(K::BlocksAreClusters, word("blocksareclusters")),
        value(K::NoReturn, word("noreturn")),
        map(pragma, K::Pragma),
        map(preceded(word("language"), list(language)), K::Language),
    ))
    .parse(i)
}

/// `"ptx"` or `7`
fn language(i: Input<'_>) -> Parsed<'_, Language> {
    let code = integer("a language in quotes or its code");
    alt((map(string, Language::Named), map(code, Language::Code))).parse(i)
}

/// One to three numbers.
fn extent(i: Input<'_>) -> Parsed<'_, Extent> {
    let size = || integer("a number of threads or CTAs");
    let more = || opt(preceded(symbol(b','), size()));
    let extent = |(x, y, z): (u32, Option<u32>, Option<u32>)| Extent {
        sizes: [x, y.unwrap_or(1), z.unwrap_or(1)],
        written: 1 + u8::from(y.is_some()) + u8::from(z.is_some()),
    };
    map((size(), more(), more()), extent).parse(i)
}
