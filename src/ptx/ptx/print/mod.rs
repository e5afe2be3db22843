//! Tree to PTX text: what [`parse`](super::parse::parse) reads back to the same tree.
//!
//! The layout is the usual one: a statement on a line, indented by its scope. Words keep the order and the
//! spelling of the source; literals keep their form (decimal, `0f`, `0d`) but not their base; parentheses
//! stand where precedence needs them, and where without them the text would be read as another
//! kind of operand. No function here recurses over scopes or expressions.

mod expr;
mod operand;

use std::fmt::Write;

use super::ast::*;
use super::expr::ExprKind;
use super::instr::{Instr, Operand, OperandKind};
use super::names::Name;
use super::pool::{Id, List};

/// The text of a module.
pub fn print(module: &Module) -> String {
    let mut printer = Printer::new(module);
    for item in &module.items {
        printer.item(item);
    }
    printer.out
}

/// The text of one instruction, from the guard to the semicolon.
pub fn print_instr(module: &Module, instr: &Instr) -> String {
    let mut printer = Printer::new(module);
    printer.instr(instr);
    printer.out
}

struct Printer<'a> {
    module: &'a Module,
    out: String,
    /// Open scopes.
    depth: usize,
}

impl<'a> Printer<'a> {
    fn new(module: &'a Module) -> Self {
        Self {
            module,
            out: String::new(),
            depth: 0,
        }
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn number(&mut self, number: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        let _ = write!(self.out, "{number}");
    }

    fn name(&mut self, name: Name) {
        self.put(self.module.text(name));
    }

    /// Elements with commas between.
    fn commas<T: Copy>(&mut self, items: &[T], mut print: impl FnMut(&mut Self, T)) {
        for (i, &item) in items.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            print(self, item);
        }
    }

    fn strings(&mut self, list: List<Name>) {
        self.put(".pragma ");
        self.commas(&self.module[list], |p, name| {
            p.put("\"");
            p.name(name);
            p.put("\"");
        });
        self.put(";");
    }

    fn item(&mut self, item: &Item) {
        match item.kind {
            ItemKind::Version { major, minor } => {
                self.put(".version ");
                self.number(format_args!("{major}.{minor}"));
            }
            ItemKind::Target(words) => {
                self.put(".target ");
                self.commas(&self.module[words], Self::name);
            }
            ItemKind::AddressSize(bits) => {
                self.put(".address_size ");
                self.number(bits);
            }
            ItemKind::Decl(id) => self.decl(id),
            ItemKind::Function(id) => self.function(id),
            ItemKind::Alias { alias, aliasee } => {
                self.put(".alias ");
                self.name(alias);
                self.put(", ");
                self.name(aliasee);
                self.put(";");
            }
            ItemKind::Pragma(strings) => self.strings(strings),
            ItemKind::File(id) => self.file(id),
            ItemKind::Loc(id) => self.loc(id),
            ItemKind::Section(id) => self.section(id),
            ItemKind::Dwarf(line) => {
                self.put("@@");
                self.name(line);
            }
            ItemKind::Source(text) => {
                self.put(".nv_intermediate_source_section ");
                self.name(text);
            }
        }
        self.put("\n");
    }

    // Declarations.

    fn linkage(&mut self, linkage: Linkage) {
        let words = [
            (linkage.external, ".extern "),
            (linkage.visible, ".visible "),
            (linkage.weak, ".weak "),
            (linkage.common, ".common "),
        ];
        for (_, word) in words.into_iter().filter(|(set, _)| *set) {
            self.put(word);
        }
    }

    fn attributes(&mut self, attributes: List<Attribute>) {
        if attributes.is_empty() {
            return;
        }
        self.put(".attribute(");
        self.commas(&self.module[attributes], |p, attribute| match attribute {
            Attribute::Managed => p.put(".managed"),
            Attribute::Unified(high, low) => p.number(format_args!(".unified({high}, {low})")),
            Attribute::Unknown(name) => {
                p.put(".");
                p.name(name);
            }
        });
        self.put(") ");
    }

    fn align_and_vector(&mut self, align: Option<u32>, vector: Option<u8>) {
        if let Some(align) = align {
            self.number(format_args!(".align {align} "));
        }
        if let Some(vector) = vector {
            self.number(format_args!(".v{vector} "));
        }
    }

    fn decl(&mut self, id: Id<Decl>) {
        let decl = self.module[id];
        self.linkage(decl.linkage);
        self.number(format_args!(".{} ", decl.space));
        self.attributes(decl.attributes);
        self.align_and_vector(decl.align, decl.vector);
        self.number(format_args!(".{} ", decl.ty));
        self.commas(&self.module[decl.declarators], Self::declarator);
        self.put(";");
    }

    fn declarator(&mut self, declarator: Declarator) {
        self.name(declarator.name);
        self.count(declarator.count);
        self.dims(declarator.dims);
        if let Some(init) = declarator.init {
            self.put(" = ");
            self.init(self.module[init]);
        }
    }

    fn count(&mut self, count: Option<u32>) {
        if let Some(count) = count {
            self.number(format_args!("<{count}>"));
        }
    }

    fn dims(&mut self, dims: List<Dim>) {
        for &dim in &self.module[dims] {
            self.put("[");
            if let Some(size) = dim {
                self.expr(size);
            }
            self.put("]");
        }
    }

    /// Braces nest no deeper than the parser allows, which bounds the recursion.
    fn init(&mut self, init: Init) {
        match init {
            Init::Value(id) => self.expr(id),
            Init::Field { field, value } => {
                self.name(field);
                self.put(" = ");
                self.expr(value);
            }
            Init::List(list) => {
                self.put("{");
                self.commas(&self.module[list], Self::init);
                self.put("}");
            }
        }
    }

    // Functions.

    fn function(&mut self, id: Id<Function>) {
        let function = self.module[id];
        self.linkage(function.linkage);
        self.put(match function.kind {
            FunctionKind::Entry => ".entry ",
            FunctionKind::Func => ".func ",
        });
        self.attributes(function.attributes);
        self.signature(&function);
        match function.body {
            None => self.put(";"),
            Some(body) => {
                self.put("\n{\n");
                self.depth = 1;
                for stmt in &self.module[body] {
                    self.stmt(stmt);
                }
                self.depth = 0;
                self.put("}");
            }
        }
    }

    /// Results, name, parameters and directives.
    fn signature(&mut self, function: &Function) {
        if !function.results.is_empty() {
            self.params(function.results);
            self.put(" ");
        }
        self.name(function.name);
        self.params(function.params);
        for &directive in &self.module[function.directives] {
            self.put(" ");
            self.directive(directive);
        }
    }

    fn params(&mut self, params: List<Param>) {
        self.put("(");
        self.commas(&self.module[params], Self::param);
        self.put(")");
    }

    fn param(&mut self, param: Param) {
        if param.hidden {
            self.put(".hidden ");
        }
        self.number(format_args!(".{} ", param.space));
        self.align_and_vector(param.align, param.vector);
        self.number(format_args!(".{} ", param.ty));
        if let Some(ptr) = param.ptr {
            self.put(".ptr ");
            if let Some(space) = ptr.space {
                self.number(format_args!(".{space} "));
            }
            if let Some(align) = ptr.align {
                self.number(format_args!(".align {align} "));
            }
        }
        match param.name {
            Some(name) => self.name(name),
            None => self.put("_"),
        }
        self.count(param.count);
        self.dims(param.dims);
    }

    fn directive(&mut self, directive: FuncDirective) {
        use FuncDirectiveKind as K;
        let (word, number) = match directive.kind {
            K::MaxNReg(n) => (".maxnreg", Some(n)),
            K::MinNCtaPerSm(n) => (".minnctapersm", Some(n)),
            K::MaxNCtaPerSm(n) => (".maxnctapersm", Some(n)),
            K::MaxClusterRank(n) => (".maxclusterrank", Some(n)),
            K::AbiPreserve(n) => (".abi_preserve", Some(n)),
            K::AbiPreserveControl(n) => (".abi_preserve_control", Some(n)),
            K::NoReturn => (".noreturn", None),
            K::ExplicitCluster => (".explicitcluster", None),
            K::BlocksAreClusters => (".blocksareclusters", None),
            K::MaxNTid(extent) => return self.extent(".maxntid ", extent),
            K::ReqNTid(extent) => return self.extent(".reqntid ", extent),
            K::ReqNCtaPerCluster(extent) => return self.extent(".reqnctapercluster ", extent),
            K::Pragma(strings) => return self.strings(strings),
            K::Language(languages) => return self.languages(languages),
        };
        self.put(word);
        if let Some(number) = number {
            self.number(format_args!(" {number}"));
        }
    }

    fn languages(&mut self, languages: List<Language>) {
        self.put(".language ");
        self.commas(&self.module[languages], |p, language| match language {
            Language::Named(name) => {
                p.put("\"");
                p.name(name);
                p.put("\"");
            }
            Language::Code(code) => p.number(code),
        });
    }

    fn extent(&mut self, word: &str, extent: Extent) {
        self.put(word);
        let written = usize::from(extent.written).min(3);
        self.commas(&extent.sizes[..written], |p, size| p.number(size));
    }

    // Statements.

    fn stmt(&mut self, stmt: &Stmt) {
        if matches!(stmt.kind, StmtKind::Close(_)) {
            self.depth = self.depth.saturating_sub(1);
        }
        // Deep nesting gets no deeper indentation, or the text would grow quadratically.
        for _ in 0..self.depth.min(16) {
            self.put("\t");
        }
        match stmt.kind {
            StmtKind::Instr(id) => self.instr(&self.module[id]),
            StmtKind::Label(name) => {
                self.name(name);
                self.put(":");
            }
            StmtKind::Decl(id) => self.decl(id),
            StmtKind::Open(_) => {
                self.put("{");
                self.depth += 1;
            }
            StmtKind::Close(_) => self.put("}"),
            StmtKind::Loc(id) => self.loc(id),
            StmtKind::LocIntermediate { file, line, column } => {
                self.number(format_args!(".loc_intermediate {file} {line} {column}"));
            }
            StmtKind::File(id) => self.file(id),
            StmtKind::Pragma(strings) => self.strings(strings),
            StmtKind::BranchTargets { label, targets } => {
                self.targets(label, ": .branchtargets ", targets);
            }
            StmtKind::CallTargets { label, targets } => {
                self.targets(label, ": .calltargets ", targets);
            }
            StmtKind::CallPrototype { label, prototype } => {
                self.name(label);
                self.put(": .callprototype ");
                self.signature(&self.module[prototype]);
                self.put(";");
            }
        }
        self.put("\n");
    }

    fn targets(&mut self, label: Name, word: &str, targets: List<Target>) {
        self.name(label);
        self.put(word);
        self.commas(&self.module[targets], |p, target| {
            p.name(target.name);
            p.count(target.count);
        });
        self.put(";");
    }

    // Debugging directives.

    fn file(&mut self, id: Id<File>) {
        let file = self.module[id];
        self.number(format_args!(".file {} \"", file.index));
        self.name(file.path);
        self.put("\"");
        if let Some((time, size)) = file.stat {
            self.number(format_args!(", {time}, {size}"));
        }
    }

    fn loc(&mut self, id: Id<Loc>) {
        let loc = self.module[id];
        self.number(format_args!(
            ".loc {} {} {}",
            loc.file, loc.line, loc.column
        ));
        if let Some(inlined) = loc.inlined {
            self.put(", function_name ");
            self.name(inlined.function);
            if inlined.offset != 0 {
                self.number(format_args!("+{}", inlined.offset));
            }
            self.number(format_args!(
                ", inlined_at {} {} {}",
                inlined.file, inlined.line, inlined.column
            ));
        }
    }

    fn section(&mut self, id: Id<Section>) {
        let section = self.module[id];
        self.put(".section ");
        self.name(section.name);
        self.put("\n{\n");
        for &line in &self.module[section.lines] {
            match line {
                SectionLine::Label(name) => {
                    self.name(name);
                    self.put(":");
                }
                SectionLine::Data { ty, values } => {
                    self.number(format_args!(".{ty} "));
                    self.commas(&self.module[values], Self::section_value);
                }
            }
            self.put("\n");
        }
        self.put("}");
    }

    /// A number, a label, or two of them with an operator.
    fn section_value(&mut self, value: Operand) {
        match value.kind {
            OperandKind::Expr(id) => match self.module[id].kind {
                ExprKind::Binary(op, left, right) => {
                    self.expr(left);
                    self.put(op.text());
                    self.expr(right);
                }
                _ => self.expr(id),
            },
            _ => self.operand(value),
        }
    }
}
