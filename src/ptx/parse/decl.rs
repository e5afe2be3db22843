//! Declarations of registers and variables, with their initialisers.
//!
//! Source: PTX ISA 9.0, section 5.4.

use super::{MODULE_DIRECTIVES, Parsed, Parser, error};
use crate::diag::Span;
use crate::ptx::ast::{Attribute, Decl, Declarator, Dim, Init, ItemKind, Linkage};
use crate::ptx::error::ParseErrorKind;
use crate::ptx::expr::ExprKind;
use crate::ptx::instr::ModKind;
use crate::ptx::lookup;
use crate::ptx::pool::{Id, List};
use crate::ptx::words::{Mod, Space, Type};

/// What stands between the space and the name of a declaration.
pub(super) struct Shape {
    pub(super) attributes: List<Attribute>,
    pub(super) align: Option<u32>,
    pub(super) vector: Option<u8>,
    pub(super) ty: Type,
}

/// What may stand before the space of a declaration.
#[derive(Default)]
pub(super) struct Early {
    attributes: List<Attribute>,
    align: Option<u32>,
}

impl Parser<'_> {
    /// A function or variable at module scope.
    pub(super) fn declaration(&mut self) -> Parsed<ItemKind> {
        let linkage = self.linkage();
        match self.peek_word() {
            "entry" | "func" => Ok(ItemKind::Function(self.function(linkage)?)),
            word if self.begins_decl(word) => Ok(ItemKind::Decl(self.decl(linkage)?)),
            "" if self.peek() == b'}' => {
                let span = Span::new(self.start(), self.start() + 1);
                Err(error(ParseErrorKind::Unopened, span))
            }
            "" => Err(self.expected("a directive")),
            _ => Err(self.unknown_directive("at module scope", MODULE_DIRECTIVES)),
        }
    }

    /// `.extern`, `.visible`, `.weak`, `.common`, in any number.
    pub(super) fn linkage(&mut self) -> Linkage {
        let mut linkage = Linkage::default();
        loop {
            let flag = match self.peek_word() {
                "extern" => &mut linkage.external,
                "visible" => &mut linkage.visible,
                "weak" => &mut linkage.weak,
                "common" => &mut linkage.common,
                _ => return linkage,
            };
            *flag = true;
            self.take(self.peek_word().len() + 1);
        }
    }

    /// Whether a declaration of variables begins with this word.
    pub(super) fn begins_decl(&self, word: &str) -> bool {
        matches!(word, "align" | "attribute") || self.space_of(word).is_some()
    }

    /// The space that a declaration may name.
    pub(super) fn space_of(&self, word: &str) -> Option<Space> {
        Some(match word {
            "reg" => Space::Reg,
            "sreg" => Space::Sreg,
            "const" => Space::Const,
            "global" => Space::Global,
            "local" => Space::Local,
            "param" => Space::Param,
            "shared" => Space::Shared,
            "tex" => Space::Tex,
            _ => return None,
        })
    }

    /// `.space shape name, name;`, where attributes and alignment may also precede the space.
    pub(super) fn decl(&mut self, linkage: Linkage) -> Parsed<Id<Decl>> {
        let mut early = Early::default();
        loop {
            match self.peek_word() {
                "attribute" => early.attributes = self.attributes()?,
                "align" => early.align = Some(self.align()?),
                _ => break,
            }
        }
        let word = self.peek_word();
        let Some(space) = self.space_of(word) else {
            return Err(self.expected("a state space"));
        };
        self.take(word.len() + 1);
        let shape = self.shape(early)?;
        let mut declarators = self.separated(Self::declarator)?;
        self.semicolon()?;
        let declarators = self.module.pools.drain(&mut declarators, 0);
        Ok(self.module.pools.add(Decl {
            linkage,
            space,
            attributes: shape.attributes,
            align: shape.align,
            vector: shape.vector,
            ty: shape.ty,
            declarators,
        }))
    }

    /// `.attribute(...) .align 8 .v4 .f32`: the type is last.
    fn shape(&mut self, early: Early) -> Parsed<Shape> {
        let Early {
            mut attributes,
            mut align,
        } = early;
        let (mut vector, mut ty) = (None, None);
        loop {
            let word = self.peek_word();
            match word {
                "attribute" => attributes = self.attributes()?,
                "align" if ty.is_some() => {
                    let span = Span::new(self.start(), self.start() + 6);
                    return Err(error(ParseErrorKind::AlignAfterType, span));
                }
                "align" => align = Some(self.align()?),
                _ => match lookup::modifier(word) {
                    Some(ModKind::Word(Mod::V2)) => vector = Some(2),
                    Some(ModKind::Word(Mod::V4)) => vector = Some(4),
                    Some(ModKind::Word(Mod::V8)) => vector = Some(8),
                    Some(ModKind::Type(found)) if ty.is_none() => ty = Some(found),
                    _ => match ty {
                        Some(ty) if word.is_empty() => {
                            return Ok(Shape {
                                attributes,
                                align,
                                vector,
                                ty,
                            });
                        }
                        Some(_) => return Err(self.expected("a name")),
                        None => return Err(self.expected("a type such as `.b32`")),
                    },
                },
            }
            if !matches!(word, "attribute" | "align") {
                self.take(word.len() + 1);
            }
        }
    }

    /// `.align 8`
    pub(super) fn align(&mut self) -> Parsed<u32> {
        self.eat_word("align");
        self.integer("an alignment in bytes")
    }

    /// `.attribute(.managed, .unified(a, b))`
    pub(super) fn attributes(&mut self) -> Parsed<List<Attribute>> {
        self.eat_word("attribute");
        self.expect(b'(', "`(`")?;
        let mut attributes = self.separated(|p| {
            let word = p.peek_word();
            if word.is_empty() {
                return Err(p.expected("an attribute such as `.managed`"));
            }
            p.take(word.len() + 1);
            match word {
                "managed" => Ok(Attribute::Managed),
                "unified" => {
                    p.expect(b'(', "`(`")?;
                    let high = p.integer64("an integer")?;
                    p.expect(b',', "`,`")?;
                    let low = p.integer64("an integer")?;
                    p.expect(b')', "`)`")?;
                    Ok(Attribute::Unified(high, low))
                }
                _ => Ok(Attribute::Unknown(p.module.names.intern(word))),
            }
        })?;
        self.expect(b')', "`)`")?;
        Ok(self.module.pools.drain(&mut attributes, 0))
    }

    /// `name<10>`, `name[4][] = init`
    fn declarator(&mut self) -> Parsed<Declarator> {
        let (name, span) = self.identifier("a name")?;
        let count = self.count()?;
        let dims = self.dims()?;
        let mut init = None;
        if self.eat(b'=') {
            let value = self.init()?;
            init = Some(self.module.pools.add(value));
        }
        Ok(Declarator {
            name,
            count,
            dims,
            init,
            span,
        })
    }

    /// `<10>`
    pub(super) fn count(&mut self) -> Parsed<Option<u32>> {
        if !self.eat(b'<') {
            return Ok(None);
        }
        let count = self.integer("a number of names")?;
        self.expect(b'>', "`>`")?;
        Ok(Some(count))
    }

    /// `[4][]`
    pub(super) fn dims(&mut self) -> Parsed<List<Dim>> {
        if self.peek() != b'[' {
            return Ok(List::EMPTY);
        }
        let mut dims: Vec<Dim> = Vec::new();
        while self.eat(b'[') {
            if self.eat(b']') {
                dims.push(None);
                continue;
            }
            dims.push(Some(self.expression()?));
            self.expect(b']', "`]`")?;
        }
        Ok(self.module.pools.drain(&mut dims, 0))
    }

    /// `value`, `{a, {b, c}}` or `field = value`
    fn init(&mut self) -> Parsed<Init> {
        if !self.eat(b'{') {
            let value = self.expression()?;
            let ExprKind::Symbol(field) = self.module[value].kind else {
                return Ok(Init::Value(value));
            };
            if self.peek() != b'=' {
                return Ok(Init::Value(value));
            }
            self.take(1);
            let value = self.expression()?;
            return Ok(Init::Field { field, value });
        }
        if self.eat(b'}') {
            return Ok(Init::List(List::EMPTY));
        }
        let mut values = self.deeper(|p| p.separated(Self::init))?;
        self.expect(b'}', "`,` or `}`")?;
        Ok(Init::List(self.module.pools.drain(&mut values, 0)))
    }
}
