//! Kernels, device functions and call prototypes: everything but their bodies.
//!
//! Source: PTX ISA 9.0, sections 5.1.6, 7.1, 11.2 to 11.4 and 11.7 to 11.9; `.language` is of 9.3 (11.8.2).
//! `.hidden` before a parameter stands in no edition; compilers of tiles write it.

use super::{Parsed, Parser, error};
use crate::diag::Span;
use crate::ptx::ast::{
    Extent, FuncDirective, FuncDirectiveKind, Function, FunctionKind, Language, Linkage, Param, Ptr,
};
use crate::ptx::error::ParseErrorKind;
use crate::ptx::instr::ModKind;
use crate::ptx::pool::{Id, List};
use crate::ptx::words::{Mod, Space};
use crate::ptx::{lex, lookup};

/// Directives between parameters and body, for suggestions.
const FUNCTION_DIRECTIVES: &[&str] = &[
    "maxnreg",
    "maxntid",
    "reqntid",
    "minnctapersm",
    "maxnctapersm",
    "noreturn",
    "pragma",
    "reqnctapercluster",
    "explicitcluster",
    "maxclusterrank",
    "blocksareclusters",
    "abi_preserve",
    "abi_preserve_control",
    "language",
];

impl Parser<'_> {
    /// `.entry name (params) directives body`, `.func (results) name (params) directives body`
    ///
    /// An error before the body is reported here, so that the body is read nevertheless.
    pub(super) fn function(&mut self, linkage: Linkage) -> Parsed<Id<Function>> {
        let mut function = match self.header(linkage) {
            Ok(function) => function,
            Err(error) => {
                self.report(*error);
                self.skip_to_body();
                self.nameless()
            }
        };
        match self.peek() {
            b'{' => function.body = Some(self.body()),
            b';' => drop(self.take(1)),
            _ if self.errors.is_empty() => return Err(self.expected("`{` or `;`")),
            _ => {}
        }
        Ok(self.module.pools.add(function))
    }

    /// Everything before the body.
    fn header(&mut self, linkage: Linkage) -> Parsed<Function> {
        let kind = match self.peek_word() {
            "entry" => FunctionKind::Entry,
            _ => FunctionKind::Func,
        };
        self.take(self.peek_word().len() + 1);
        let mut attributes = List::EMPTY;
        if self.peek_word() == "attribute" {
            attributes = self.attributes()?;
        }
        let results = match kind {
            FunctionKind::Func => self.optional_params()?,
            FunctionKind::Entry => List::EMPTY,
        };
        let (name, name_span) = self.identifier("the name of a function")?;
        let params = self.optional_params()?;
        let directives = self.directives()?;
        if !matches!(self.peek(), b'{' | b';') {
            return Err(self.expected("`{` or `;`"));
        }
        Ok(Function {
            kind,
            linkage,
            attributes,
            name,
            name_span,
            results,
            params,
            directives,
            body: None,
        })
    }

    /// What stands for a function whose header is broken; the module is not given out.
    fn nameless(&mut self) -> Function {
        Function {
            kind: FunctionKind::Func,
            linkage: Linkage::default(),
            attributes: List::EMPTY,
            name: self.module.names.intern("_"),
            name_span: Span::default(),
            results: List::EMPTY,
            params: List::EMPTY,
            directives: List::EMPTY,
            body: None,
        }
    }

    /// Moves to the body or the semicolon behind a broken header.
    fn skip_to_body(&mut self) {
        while !self.at_end() && !matches!(self.peek(), b'{' | b';' | b'}') {
            if self.starts_function() {
                return;
            }
            self.take_any();
        }
    }

    /// What follows `.callprototype`: `(results) _ (params) directives;`
    pub(super) fn prototype(&mut self) -> Parsed<Id<Function>> {
        let mut function = self.nameless();
        function.results = self.optional_params()?;
        let start = self.start();
        if self.peek() == b'_' && lex::identifier(self.rest()) == 1 {
            self.take(1);
        } else {
            function.name = self.identifier("`_`")?.0;
        }
        function.name_span = self.since(start);
        function.params = self.optional_params()?;
        function.directives = self.directives()?;
        self.semicolon()?;
        Ok(self.module.pools.add(function))
    }

    fn optional_params(&mut self) -> Parsed<List<Param>> {
        match self.peek() {
            b'(' => self.params(),
            _ => Ok(List::EMPTY),
        }
    }

    /// `(param, param)`
    fn params(&mut self) -> Parsed<List<Param>> {
        self.take(1);
        if self.eat(b')') {
            return Ok(List::EMPTY);
        }
        let mut params = self.separated(Self::param)?;
        self.expect(b')', "`,` or `)`")?;
        Ok(self.module.pools.drain(&mut params, 0))
    }

    /// `.param .align 8 .b8 name[16]`, `.param .u64 .ptr .global .align 16 name`, `.reg .b32 %r1`
    fn param(&mut self) -> Parsed<Param> {
        let start = self.start();
        let hidden = self.eat_word("hidden");
        let space = match self.peek_word() {
            "param" => Space::Param,
            "reg" => Space::Reg,
            _ => return Err(self.expected("`.param` or `.reg`")),
        };
        self.take(self.peek_word().len() + 1);
        let (mut align, mut vector, mut ty) = (None, None, None);
        let mut ptr: Option<Ptr> = None;
        loop {
            let word = self.peek_word();
            let len = word.len() + 1;
            match (word, lookup::modifier(word)) {
                ("", _) => break,
                ("align", _) if ptr.is_none() && ty.is_some() => {
                    let span = Span::new(self.start(), self.start() + 6);
                    return Err(error(ParseErrorKind::AlignAfterType, span));
                }
                ("align", _) => {
                    let value = Some(self.align()?);
                    match &mut ptr {
                        Some(ptr) => ptr.align = value,
                        None => align = value,
                    }
                    continue;
                }
                ("ptr", _) => {
                    ptr = Some(Ptr {
                        space: None,
                        align: None,
                    });
                }
                (_, Some(ModKind::Space(space))) if ptr.is_some() => {
                    ptr = ptr.map(|ptr| Ptr {
                        space: Some(space),
                        ..ptr
                    });
                }
                (_, Some(ModKind::Word(Mod::V2))) => vector = Some(2),
                (_, Some(ModKind::Word(Mod::V4))) => vector = Some(4),
                (_, Some(ModKind::Type(found))) if ty.is_none() => ty = Some(found),
                _ => return Err(self.expected("a type or a name")),
            }
            self.take(len);
        }
        let Some(ty) = ty else {
            return Err(self.expected("a type such as `.u64`"));
        };
        let name = match lex::identifier(self.rest()) {
            1 if self.peek() == b'_' => {
                self.take(1);
                None
            }
            _ => Some(self.identifier("the name of a parameter")?.0),
        };
        let count = self.count()?;
        let dims = self.dims()?;
        Ok(Param {
            hidden,
            space,
            align,
            vector,
            ty,
            ptr,
            name,
            count,
            dims,
            span: self.since(start),
        })
    }

    /// Directives up to the body.
    fn directives(&mut self) -> Parsed<List<FuncDirective>> {
        let mut directives = Vec::new();
        while self.peek() == b'.' {
            let start = self.start();
            let kind = self.directive()?;
            let span = self.since(start);
            directives.push(FuncDirective { kind, span });
        }
        Ok(self.module.pools.drain(&mut directives, 0))
    }

    fn directive(&mut self) -> Parsed<FuncDirectiveKind> {
        use FuncDirectiveKind as K;
        let word = self.peek_word();
        if word == "pragma" {
            return Ok(K::Pragma(self.pragma()?));
        }
        if self.eat_word("language") {
            let mut languages = self.separated(Self::language)?;
            return Ok(K::Language(self.module.pools.drain(&mut languages, 0)));
        }
        if !FUNCTION_DIRECTIVES.contains(&word) {
            return Err(self.unknown_directive("before a function's body", FUNCTION_DIRECTIVES));
        }
        self.take(word.len() + 1);
        Ok(match word {
            "maxnreg" => K::MaxNReg(self.integer("a number of registers")?),
            "maxntid" => K::MaxNTid(self.extent()?),
            "reqntid" => K::ReqNTid(self.extent()?),
            "minnctapersm" => K::MinNCtaPerSm(self.integer("a number of CTAs")?),
            "maxnctapersm" => K::MaxNCtaPerSm(self.integer("a number of CTAs")?),
            "reqnctapercluster" => K::ReqNCtaPerCluster(self.extent()?),
            "maxclusterrank" => K::MaxClusterRank(self.integer("a number of CTAs")?),
            "abi_preserve" => K::AbiPreserve(self.integer("a number of registers")?),
            "abi_preserve_control" => K::AbiPreserveControl(self.integer("a number of registers")?),
            "explicitcluster" => K::ExplicitCluster,
            "blocksareclusters" => K::BlocksAreClusters,
            _ => K::NoReturn,
        })
    }

    /// `"ptx"` or `7`
    fn language(&mut self) -> Parsed<Language> {
        Ok(match self.peek() {
            b'"' => Language::Named(self.string("a language")?),
            _ => Language::Code(self.integer("a language in quotes or its code")?),
        })
    }

    /// One to three numbers.
    fn extent(&mut self) -> Parsed<Extent> {
        let mut sizes = [self.integer("a number of threads or CTAs")?, 1, 1];
        let mut written = 1;
        while written < 3 && self.eat(b',') {
            sizes[written as usize] = self.integer("a number of threads or CTAs")?;
            written += 1;
        }
        Ok(Extent { sizes, written })
    }
}
