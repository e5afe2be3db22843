//! The tree of a PTX module: directives, declarations, functions and their statements.
//!
//! Source: PTX ISA 9.0, sections 5.4 (variables), 7 (functions), 9.7.12 (calls and branches) and 11
//! (directives). The body of a function is one flat list of statements in source order; a nested
//! scope is a pair of [`StmtKind::Open`] and [`StmtKind::Close`] that name each other, so that no
//! stage needs recursion to walk it. Instructions and operands are in [`instr`](super::instr),
//! constant expressions in [`expr`](super::expr), storage in [`pool`](super::pool).
//!
//! Not claimed: that names resolve, types agree or an opcode exists; those are judged by what
//! comes later. Comments and layout are not kept.

use std::ops::Index;

use super::expr::Expr;
use super::instr::{Address, Instr, ModKind, Modifier, Operand};
use super::names::{Name, Names};
use super::pool::{Id, List};
use super::words::{Space, Type};
use crate::diag::Span;

/// A directive at module scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Which.
    pub kind: ItemKind,
    /// Its bytes.
    pub span: Span,
}

/// Which directive stands at module scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// `.version 9.0`
    Version {
        /// 9
        major: u32,
        /// 0
        minor: u32,
    },
    /// `.target sm_90a, debug`: the words.
    Target(List<Name>),
    /// `.address_size 64`
    AddressSize(u32),
    /// A variable declaration.
    Decl(Id<Decl>),
    /// `.entry` or `.func`, with or without a body.
    Function(Id<Function>),
    /// `.alias alias, aliasee;`
    Alias {
        /// The new name.
        alias: Name,
        /// What it stands for.
        aliasee: Name,
    },
    /// `.pragma "a", "b";`
    Pragma(List<Name>),
    /// `.file 1 "x.cu"`
    File(Id<File>),
    /// `.loc` outside a function.
    Loc(Id<Loc>),
    /// `.section .debug_info { ... }`
    Section(Id<Section>),
    /// `@@dwarf ...`: the rest of the line.
    Dwarf(Name),
    /// `.nv_intermediate_source_section { ... }`: the text from brace to brace.
    Source(Name),
}

/// A statement of a function body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stmt {
    /// Which.
    pub kind: StmtKind,
    /// Its bytes.
    pub span: Span,
}

/// Which statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StmtKind {
    /// An instruction.
    Instr(Id<Instr>),
    /// `L:`
    Label(Name),
    /// A declaration of registers or variables.
    Decl(Id<Decl>),
    /// `{`: a scope begins, which ends at this statement.
    Open(Id<Stmt>),
    /// `}`: the scope ends that began at this statement.
    Close(Id<Stmt>),
    /// `.loc`
    Loc(Id<Loc>),
    /// `.loc_intermediate 2 23 6`: the place of the next instruction in an intermediate language.
    LocIntermediate {
        /// Index of a `.file`.
        file: u32,
        /// Line.
        line: u32,
        /// Column.
        column: u32,
    },
    /// `.file`
    File(Id<File>),
    /// `.pragma "a";`
    Pragma(List<Name>),
    /// `T: .branchtargets L0, L1;`
    BranchTargets {
        /// The table's label.
        label: Name,
        /// Labels in order of the index.
        targets: List<Target>,
    },
    /// `T: .calltargets f, g;`
    CallTargets {
        /// The table's label.
        label: Name,
        /// Functions.
        targets: List<Target>,
    },
    /// `T: .callprototype (ret) _ (params);`
    CallPrototype {
        /// The prototype's label.
        label: Name,
        /// The rest: a function without a body.
        prototype: Id<Function>,
    },
}

/// A name of a target list; `N<5>` stands for `N0` to `N4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The name, or the prefix.
    pub name: Name,
    /// The number in angle brackets.
    pub count: Option<u32>,
    /// Its bytes.
    pub span: Span,
}

/// Linkage of a function or variable; several directives may stand together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Linkage {
    /// `.extern`
    pub external: bool,
    /// `.visible`
    pub visible: bool,
    /// `.weak`
    pub weak: bool,
    /// `.common`
    pub common: bool,
}

/// `.attribute(...)` (section 5.4.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// `.managed`
    Managed,
    /// `.unified(a, b)`: the two halves of a 128-bit identifier.
    Unified(u64, u64),
    /// An attribute that PTX ISA 9.0 does not have, without arguments.
    Unknown(Name),
}

/// One declaration directive: `.shared .align 16 .b8 a[64], b[4];`, `.reg .b32 %r<10>, x;`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decl {
    /// Linkage, at module scope.
    pub linkage: Linkage,
    /// `.reg`, `.global`, `.shared`, `.local`, `.const`, `.param`, `.tex`.
    pub space: Space,
    /// Attributes.
    pub attributes: List<Attribute>,
    /// `.align`, in bytes.
    pub align: Option<u32>,
    /// `.v2` 2, `.v4` 4, `.v8` 8.
    pub vector: Option<u8>,
    /// Element type.
    pub ty: Type,
    /// What is declared.
    pub declarators: List<Declarator>,
}

/// One declared name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declarator {
    /// The name, or the prefix of `%r<10>`.
    pub name: Name,
    /// 10 for `%r<10>`, which declares `%r0` to `%r9`.
    pub count: Option<u32>,
    /// Dimensions of an array, outermost first.
    pub dims: List<Dim>,
    /// Initial value.
    pub init: Option<Id<Init>>,
    /// Bytes of the name.
    pub span: Span,
}

/// A dimension of an array; `None` is `[]`.
pub type Dim = Option<Id<Expr>>;

/// An initial value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Init {
    /// A number or an address.
    Value(Id<Expr>),
    /// `{a, b}`
    List(List<Init>),
    /// `addr_mode_0 = wrap`, in the braces of a texture, sampler or surface (section 5.3).
    Field {
        /// The property.
        field: Name,
        /// Its value: a number or the name of a mode.
        value: Id<Expr>,
    },
}

/// `.entry` or `.func`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// A kernel.
    Entry,
    /// A device function.
    Func,
}

/// A kernel, device function or call prototype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Which.
    pub kind: FunctionKind,
    /// Linkage.
    pub linkage: Linkage,
    /// Attributes.
    pub attributes: List<Attribute>,
    /// Its name (`_` for most call prototypes).
    pub name: Name,
    /// Bytes of the name.
    pub name_span: Span,
    /// Return values.
    pub results: List<Param>,
    /// Parameters.
    pub params: List<Param>,
    /// Performance, cluster and other directives between the parameters and the body.
    pub directives: List<FuncDirective>,
    /// The statements; `None` for a declaration without a body.
    pub body: Option<List<Stmt>>,
}

/// A parameter or return value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// `.hidden` before the space.
    pub hidden: bool,
    /// `.param` or `.reg`.
    pub space: Space,
    /// `.align`, in bytes.
    pub align: Option<u32>,
    /// `.v2` 2, `.v4` 4.
    pub vector: Option<u8>,
    /// Element type.
    pub ty: Type,
    /// `.ptr`
    pub ptr: Option<Ptr>,
    /// The name, or the prefix of `a<4>`; `None` is `_`.
    pub name: Option<Name>,
    /// 4 for `a<4>`.
    pub count: Option<u32>,
    /// Dimensions of an array.
    pub dims: List<Dim>,
    /// Its bytes.
    pub span: Span,
}

/// `.ptr .global .align 16`: what a kernel parameter points to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ptr {
    /// The space; without one, the generic one.
    pub space: Option<Space>,
    /// Alignment of what it points to, in bytes; without one, 4.
    pub align: Option<u32>,
}

/// A directive between the parameter list and the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FuncDirective {
    /// Which.
    pub kind: FuncDirectiveKind,
    /// Its bytes.
    pub span: Span,
}

/// Which directive stands between the parameter list and the body (sections 11.4 and 11.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FuncDirectiveKind {
    /// `.maxnreg n`
    MaxNReg(u32),
    /// `.maxntid x, y, z`
    MaxNTid(Extent),
    /// `.reqntid x, y, z`
    ReqNTid(Extent),
    /// `.minnctapersm n`
    MinNCtaPerSm(u32),
    /// `.maxnctapersm n`
    MaxNCtaPerSm(u32),
    /// `.noreturn`
    NoReturn,
    /// `.pragma "a";`
    Pragma(List<Name>),
    /// `.reqnctapercluster x, y, z`
    ReqNCtaPerCluster(Extent),
    /// `.explicitcluster`
    ExplicitCluster,
    /// `.maxclusterrank n`
    MaxClusterRank(u32),
    /// `.blocksareclusters`
    BlocksAreClusters,
    /// `.abi_preserve n`
    AbiPreserve(u32),
    /// `.abi_preserve_control n`
    AbiPreserveControl(u32),
    /// `.language "ptx", 7`: what the function was written in.
    Language(List<Language>),
}

/// A language that a function was generated from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// A name in quotes.
    Named(Name),
    /// A code.
    Code(u32),
}

/// One to three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The numbers; those that are not written are 1.
    pub sizes: [u32; 3],
    /// How many are written.
    pub written: u8,
}

/// `.file 1 "x.cu", timestamp, size`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// Index that `.loc` uses.
    pub index: u32,
    /// Path.
    pub path: Name,
    /// Time stamp and size, if written.
    pub stat: Option<(u64, u64)>,
}

/// `.loc file line column`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loc {
    /// Index of a `.file`.
    pub file: u32,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// `, function_name label+offset, inlined_at file line column`
    pub inlined: Option<Inlined>,
}

/// The call site into which the code of a `.loc` was inlined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inlined {
    /// Label in the section `.debug_str`.
    pub function: Name,
    /// Offset from it.
    pub offset: i64,
    /// Index of a `.file`.
    pub file: u32,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// `.section name { ... }`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// Name, the dot included.
    pub name: Name,
    /// Lines.
    pub lines: List<SectionLine>,
}

/// A line of a debugging section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionLine {
    /// `L:`
    Label(Name),
    /// `.b32 1, label+4, label-label`
    Data {
        /// `.b8`, `.b16`, `.b32` or `.b64`.
        ty: Type,
        /// Values; names may begin with a dot.
        values: List<Operand>,
    },
}

macro_rules! pools {
    ($($field:ident: $node:ty,)*) => {
        /// All nodes of a module, by kind.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub(crate) struct Pools { $(pub(crate) $field: Vec<$node>,)* }

        $(
            impl Index<List<$node>> for Module {
                type Output = [$node];
                fn index(&self, list: List<$node>) -> &[$node] {
                    &self.pools.$field[list.range()]
                }
            }

            impl Index<Id<$node>> for Module {
                type Output = $node;
                fn index(&self, id: Id<$node>) -> &$node {
                    &self.pools.$field[id.index()]
                }
            }

            impl Pool<$node> for Pools {
                fn pool(&mut self) -> &mut Vec<$node> {
                    &mut self.$field
                }
            }
        )*
    };
}

/// Access to the vector of a kind of node, for building.
pub(crate) trait Pool<T> {
    fn pool(&mut self) -> &mut Vec<T>;
}

pools! {
    names: Name, stmts: Stmt, instrs: Instr, mods: Modifier, operands: Operand,
    addresses: Address, exprs: Expr, decls: Decl, declarators: Declarator, dims: Dim,
    inits: Init, attributes: Attribute, functions: Function, params: Param,
    directives: FuncDirective, targets: Target, files: File, locs: Loc, sections: Section,
    lines: SectionLine, languages: Language,
}

impl Pools {
    /// Stores a node.
    pub(crate) fn add<T>(&mut self, node: T) -> Id<T>
    where
        Self: Pool<T>,
    {
        let pool = self.pool();
        pool.push(node);
        Id::new(pool.len() as u32 - 1)
    }

    /// Moves the nodes of `stack` from position `from` on into a list.
    pub(crate) fn drain<T: Copy>(&mut self, stack: &mut Vec<T>, from: usize) -> List<T>
    where
        Self: Pool<T>,
    {
        let pool = self.pool();
        let start = pool.len() as u32;
        pool.extend_from_slice(&stack[from..]);
        stack.truncate(from);
        List::new(start, pool.len() as u32 - start)
    }

    /// Makes room for what a text of this length usually holds, so that the big vectors do not move.
    pub(crate) fn reserve(&mut self, text: usize) {
        self.stmts.reserve(text / 32);
        self.instrs.reserve(text / 40);
        self.mods.reserve(text / 16);
        self.operands.reserve(text / 12);
    }
}

/// A PTX module.
///
/// Two modules are equal if their trees are, spans included; [`Module::erase_spans`] makes trees
/// comparable that were read from different texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// The names that the module uses.
    pub names: Names,
    /// The directives at module scope, in source order.
    pub items: Vec<Item>,
    pub(crate) pools: Pools,
}

impl Module {
    /// The text of a name.
    pub fn text(&self, name: Name) -> &str {
        self.names.text(name)
    }

    /// All functions with and without body, in source order, call prototypes left out.
    pub fn functions(&self) -> impl Iterator<Item = (Id<Function>, &Function)> {
        self.items.iter().filter_map(|item| match item.kind {
            ItemKind::Function(id) => Some((id, &self[id])),
            _ => None,
        })
    }

    /// Kernels with a body, in source order.
    pub fn entries(&self) -> impl Iterator<Item = (Id<Function>, &Function)> {
        self.functions()
            .filter(|(_, f)| f.kind == FunctionKind::Entry && f.body.is_some())
    }

    /// Variable declarations at module scope, in source order.
    pub fn variables(&self) -> impl Iterator<Item = &Decl> {
        self.items.iter().filter_map(|item| match item.kind {
            ItemKind::Decl(id) => Some(&self[id]),
            _ => None,
        })
    }

    /// `.version`: major and minor number.
    pub fn version(&self) -> Option<(u32, u32)> {
        self.items.iter().find_map(|item| match item.kind {
            ItemKind::Version { major, minor } => Some((major, minor)),
            _ => None,
        })
    }

    /// The number of the first `.target sm_NN` and its suffix: `(90, "a")`.
    pub fn sm(&self) -> Option<(u32, &str)> {
        let targets = self.items.iter().filter_map(|item| match item.kind {
            ItemKind::Target(words) => Some(words),
            _ => None,
        });
        let mut words = targets.flat_map(|list| &self[list]);
        words.find_map(|&word| {
            let digits = self.text(word).strip_prefix("sm_")?;
            let end = digits.find(|c: char| !c.is_ascii_digit());
            let (number, suffix) = digits.split_at(end.unwrap_or(digits.len()));
            Some((number.parse().ok()?, suffix))
        })
    }

    /// `.address_size`; 32 where none is given.
    pub fn address_size(&self) -> u32 {
        let sizes = self.items.iter().filter_map(|item| match item.kind {
            ItemKind::AddressSize(bits) => Some(bits),
            _ => None,
        });
        sizes.fold(32, |_, bits| bits)
    }

    /// The types among an instruction's modifiers, in source order.
    pub fn types(&self, instr: &Instr) -> impl Iterator<Item = Type> {
        self[instr.mods].iter().filter_map(|m| match m.kind {
            ModKind::Type(ty) => Some(ty),
            _ => None,
        })
    }

    /// The text of a modifier, without the dot.
    pub fn modifier_text(&self, modifier: &Modifier) -> std::borrow::Cow<'_, str> {
        match modifier.kind {
            ModKind::Type(ty) => ty.text().into(),
            ModKind::Space(space) => space.text().into(),
            ModKind::Shape(shape) => shape.to_string().into(),
            ModKind::Word(word) => word.text().into(),
            ModKind::Unknown(name) => self.text(name).into(),
        }
    }

    /// Sets every span to nothing, so that trees of different texts can be compared.
    pub fn erase_spans(&mut self) {
        let none = Span::default();
        let Pools {
            stmts,
            instrs,
            mods,
            operands,
            exprs,
            declarators,
            functions,
            params,
            directives,
            targets,
            ..
        } = &mut self.pools;
        self.items.iter_mut().for_each(|item| item.span = none);
        stmts.iter_mut().for_each(|stmt| stmt.span = none);
        for instr in instrs {
            instr.opcode_span = none;
            if let Some(guard) = &mut instr.guard {
                guard.span = none;
            }
        }
        mods.iter_mut().for_each(|modifier| modifier.at = 0);
        operands.iter_mut().for_each(|operand| operand.span = none);
        exprs.iter_mut().for_each(|expr| expr.span = none);
        declarators
            .iter_mut()
            .for_each(|declarator| declarator.span = none);
        functions
            .iter_mut()
            .for_each(|function| function.name_span = none);
        params.iter_mut().for_each(|param| param.span = none);
        directives
            .iter_mut()
            .for_each(|directive| directive.span = none);
        targets.iter_mut().for_each(|target| target.span = none);
    }
}
