//! Declarations of registers and variables, with their initialisers.
//!
//! Source: PTX ISA 9.0, section 5.4.

use super::expr::dims;
use super::expr::expression;
use super::token::*;
use crate::ptx::ast::{Attribute, Decl, Declarator, Init, Linkage, Ptr};
use crate::ptx::error::ParseErrorKind;
use crate::ptx::expr::ExprKind;
use crate::ptx::instr::ModKind;
use crate::ptx::lookup;
use crate::ptx::pool::{Id, List};
use crate::ptx::words::{Mod, Space, Type};

/// What stands between the space and the name of a declaration or parameter, as far as it is read.
#[derive(Clone, Copy, Default)]
pub(super) struct Declared {
    pub(super) attributes: List<Attribute>,
    pub(super) align: Option<u32>,
    pub(super) vector: Option<u8>,
    pub(super) ty: Option<Type>,
    pub(super) ptr: Option<Ptr>,
}

/// One part of a [`Declared`].
#[derive(Clone, Copy)]
pub(super) enum DeclarationPart {
    Attributes(List<Attribute>),
    Align(u32),
    Vector(u8),
    Type(Type),
    Ptr,
    /// The space of what a pointer points to.
    Space(Space),
}

impl Declared {
    fn with(mut self, part: DeclarationPart) -> Self {
        match part {
            DeclarationPart::Attributes(attributes) => self.attributes = attributes,
            DeclarationPart::Align(bytes) => match &mut self.ptr {
                Some(ptr) => ptr.align = Some(bytes),
                None => self.align = Some(bytes),
            },
            DeclarationPart::Vector(lanes) => self.vector = Some(lanes),
            DeclarationPart::Type(ty) => self.ty = Some(ty),
            DeclarationPart::Ptr => self.ptr = Some(Ptr::default()),
            DeclarationPart::Space(space) => {
                self.ptr.iter_mut().for_each(|ptr| ptr.space = Some(space))
            }
        }
        self
    }
}

/// A shape of parts in any number; which part may come next depends on what is there.
pub(super) fn shape<'a, P: Rule<'a, DeclarationPart>>(
    mut shape: Declared,
    part: impl Fn(Declared) -> P,
) -> impl FnOnce(Input<'a>) -> Parsed<'a, Declared> {
    move |mut i| loop {
        match part(shape).parse(i) {
            Ok((rest, part)) => (i, shape) = (rest, shape.with(part)),
            Err(Err::Error(_)) => return Ok((i, shape)),
            Err(error) => return Err(error),
        }
    }
}

/// `.extern`, `.visible`, `.weak`, `.common`, in any number.
pub(super) fn linkage(i: Input<'_>) -> Parsed<'_, Linkage> {
    let flag = token(dotted_of(&["extern", "visible", "weak", "common"]));
    let set = |mut linkage: Linkage, flag| {
        match flag {
            "extern" => linkage.external = true,
            "visible" => linkage.visible = true,
            "weak" => linkage.weak = true,
            _ => linkage.common = true,
        }
        linkage
    };
    fold_many0(flag, Linkage::default, set).parse(i)
}

/// The space that a declaration may name, which is one without sub-qualifier.
fn space(i: Input<'_>) -> Parsed<'_, Space> {
    let space = |word: &str| match lookup::modifier(word) {
        Some(ModKind::Space(space)) if !word.contains(':') => Some(space),
        _ => None,
    };
    map_opt(dotted, space).parse(i)
}

/// `.space shape name, name;`, where attributes and alignment may also precede the space.
pub(super) fn decl<'a>(linkage: Linkage) -> impl Rule<'a, Id<Decl>> {
    move |i: Input<'a>| {
        let early = dotted_of(&["align", "attribute"]);
        let (_, _) = alt((value((), early), value((), space))).parse(i)?;
        let early = |_| alt((map(attributes, DeclarationPart::Attributes), align(false)));
        let (rest, found) = shape(Declared::default(), early)(i)?;
        let (rest, space) = expect("a state space", token(space)).parse(rest)?;
        let part = |shape: Declared| {
            let align = align(shape.ty.is_some());
            alt((
                map(attributes, DeclarationPart::Attributes),
                align,
                modifier(shape, 8),
            ))
        };
        let (rest, found) = shape(found, part)(rest)?;
        let Some(ty) = found.ty else {
            return missing(rest, "a type such as `.b32`");
        };
        let (rest, declarators) = terminated(list(declarator), semicolon).parse(rest)?;
        let decl = Decl {
            linkage,
            space,
            attributes: found.attributes,
            align: found.align,
            vector: found.vector,
            ty,
            declarators,
        };
        Ok((rest, rest.add(decl)))
    }
}

/// `.align 8`, which may not be `late`: behind the type.
pub(super) fn align<'a>(late: bool) -> impl Rule<'a, DeclarationPart> {
    move |i: Input<'a>| {
        let (_, _) = dotted_of(&["align"]).parse(i)?;
        if late {
            return fail(i, ParseErrorKind::AlignAfterType, i.span(6));
        }
        let bytes = preceded(word("align"), integer("an alignment in bytes"));
        map(bytes, DeclarationPart::Align).parse(i)
    }
}

/// `.v4`, of the `widest` vectors at most, a type, if there is none yet, or the space of a pointer.
pub(super) fn modifier<'a>(shape: Declared, widest: u8) -> impl Rule<'a, DeclarationPart> {
    let part = move |word: &str| {
        Some(match lookup::modifier(word)? {
            ModKind::Word(Mod::V2) => DeclarationPart::Vector(2),
            ModKind::Word(Mod::V4) => DeclarationPart::Vector(4),
            ModKind::Word(Mod::V8) if widest == 8 => DeclarationPart::Vector(8),
            ModKind::Type(ty) if shape.ty.is_none() => DeclarationPart::Type(ty),
            ModKind::Space(space) if shape.ptr.is_some() => DeclarationPart::Space(space),
            _ => return None,
        })
    };
    token(map_opt(dotted, part))
}

/// `.attribute(.managed, .unified(a, b))`
pub(super) fn attributes(i: Input<'_>) -> Parsed<'_, List<Attribute>> {
    let integer = || integer64("an integer");
    let open = || mark("`(`");
    let close = || mark("`)`");
    let halves = separated_pair(integer(), mark("`,`"), integer());
    let unified = preceded(word("unified"), delimited(open(), halves, close()));
    let attribute = alt((
        value(Attribute::Managed, word("managed")),
        map(unified, |(high, low)| Attribute::Unified(high, low)),
        map(interned(token(dotted)), Attribute::Unknown),
    ));
    let attributes = list(expect("an attribute such as `.managed`", attribute));
    preceded(word("attribute"), delimited(open(), attributes, close())).parse(i)
}

/// `name<10>`, `name[4][] = init`
fn declarator(i: Input<'_>) -> Parsed<'_, Declarator> {
    let init = opt(preceded(symbol(b'='), added(init)));
    let parts = (spanned(expect("a name", name)), count, dims, init);
    let declarator = |((name, span), count, dims, init)| Declarator {
        name,
        count,
        dims,
        init,
        span,
    };
    map(parts, declarator).parse(i)
}

/// `value`, `{a, {b, c}}` or `field = value`
fn init(i: Input<'_>) -> Parsed<'_, Init> {
    let values = alt((
        value(List::EMPTY, symbol(b'}')),
        terminated(deeper(list(init)), expect("`,` or `}`", symbol(b'}'))),
    ));
    let listed = map(preceded(symbol(b'{'), values), Init::List);
    alt((listed, single)).parse(i)
}

/// `value` or `field = value`
fn single(i: Input<'_>) -> Parsed<'_, Init> {
    let (rest, first) = expression(i)?;
    let ExprKind::Symbol(field) = i.state.module.borrow()[first].kind else {
        return Ok((rest, Init::Value(first)));
    };
    let second = opt(preceded(symbol(b'='), expression));
    let init = |second| match second {
        Some(value) => Init::Field { field, value },
        None => Init::Value(first),
    };
    map(second, init).parse(rest)
}
