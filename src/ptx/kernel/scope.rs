//! The names of one function instance: nested scopes with shadowing, register ranges, labels.
//!
//! The problem: PTX declares registers by the thousand (`%r<5000>`), shadows names in inner scopes,
//! and lets a branch name a label that comes later in an enclosing scope; an inlined callee must not
//! see its caller's names. Source: PTX ISA 9.0, sections 5.4.1, 5.4.6 and 9.3, with what `ptxas`
//! accepts where the text is silent: one namespace for registers, variables and labels.
//!
//! A frame is one hash table from name to binding and a log for each open scope of what to put
//! back when it closes. A range costs one entry; a member becomes a register when it is first
//! named, so that registers are dense and only those that the code uses.

use rustc_hash::FxHashMap;

use super::{GlobalId, RegId, Space};
use crate::diag::{Span, nearest};
use crate::ptx::{Function, Id, Module, Name, Type};

/// Index of a label of the whole kernel; becomes a program counter at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(pub u32);

/// Where a variable lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// At an offset of its space.
    Offset(u32),
    /// In global or constant memory.
    Global(GlobalId),
}

/// A variable in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Its space.
    pub space: Space,
    /// Where in it.
    pub at: At,
    /// Size of one element in bytes.
    pub elem: u32,
    /// Total size in bytes.
    pub bytes: u64,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    /// A register, or the first of a vector of `vector` registers.
    Reg {
        /// The first register.
        id: RegId,
        /// Element type.
        ty: Type,
        /// Number of elements, 1 for a scalar.
        vector: u8,
    },
    /// A variable in memory.
    Var(Place),
    /// A label.
    Label(Label),
    /// A `.branchtargets` list: index of its jump table, if it is one that can be used.
    Branches(Option<u32>),
    /// A `.callprototype` or `.calltargets`.
    CallTable,
    /// A function.
    Function(Id<Function>),
    /// A texture, sampler or surface, or a variable of a kind that is not modelled.
    Opaque,
}

impl Binding {
    /// What it is, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Binding::Reg {
                ty: Type::Pred,
                vector: 1,
                ..
            } => "a predicate register",
            Binding::Reg { vector: 1, .. } => "a register",
            Binding::Reg { .. } => "a vector register",
            Binding::Var(_) => "a variable",
            Binding::Label(_) => "a label",
            Binding::Branches(_) => "a branch target list",
            Binding::CallTable => "a call prototype",
            Binding::Function(_) => "a function",
            Binding::Opaque => "a variable of an opaque type",
        }
    }
}

/// A declaration `%r<10>`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    /// Number of members.
    pub count: u32,
    /// Element type.
    pub ty: Type,
    /// Number of elements, 1 for scalars.
    pub vector: u8,
    depth: u32,
    span: Span,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    binding: Binding,
    depth: u32,
    span: Span,
}

#[derive(Debug)]
enum Undo {
    Name(Name, Option<Entry>),
    Range(Name),
}

/// The names that one function instance sees.
#[derive(Debug)]
pub(super) struct Frame {
    names: FxHashMap<Name, Entry>,
    ranges: FxHashMap<Name, Vec<Range>>,
    scopes: Vec<Vec<Undo>>,
    /// Appended to register names in listings, empty for the entry.
    pub suffix: String,
}

impl Frame {
    /// A frame with its outermost scope open.
    pub(super) fn new(suffix: String) -> Frame {
        Frame {
            names: FxHashMap::default(),
            ranges: FxHashMap::default(),
            scopes: vec![Vec::new()],
            suffix,
        }
    }

    /// Opens a scope.
    pub(super) fn open(&mut self) {
        self.scopes.push(Vec::new());
    }

    /// Closes the innermost scope.
    pub(super) fn close(&mut self) {
        let undo = self.scopes.pop().unwrap_or_default();
        for step in undo.into_iter().rev() {
            match step {
                Undo::Name(name, Some(entry)) => {
                    self.names.insert(name, entry);
                }
                Undo::Name(name, None) => {
                    self.names.remove(&name);
                }
                Undo::Range(prefix) => {
                    if let Some(list) = self.ranges.get_mut(&prefix) {
                        list.pop();
                    }
                }
            }
        }
    }

    fn depth(&self) -> u32 {
        self.scopes.len() as u32
    }

    /// Binds a name in the innermost scope; if it is already declared there, says where.
    pub(super) fn declare(
        &mut self,
        module: &Module,
        name: Name,
        binding: Binding,
        span: Span,
    ) -> Result<(), Span> {
        let depth = self.depth();
        match self.names.get(&name) {
            Some(entry) if entry.depth == depth => return Err(entry.span),
            _ => {}
        }
        if let Some((range, _)) = self.range_of(module, name)
            && range.depth == depth
        {
            return Err(range.span);
        }
        self.bind(name, binding, depth, span);
        Ok(())
    }

    fn bind(&mut self, name: Name, binding: Binding, depth: u32, span: Span) {
        let entry = Entry {
            binding,
            depth,
            span,
        };
        let before = self.names.insert(name, entry);
        if let Some(scope) = self.scopes.get_mut(depth as usize - 1) {
            scope.push(Undo::Name(name, before));
        }
    }

    /// Declares a range in the innermost scope; says where if it is already declared there, else
    /// which visible names its members shadow: the caller binds them anew with
    /// [`Frame::bind_member`].
    pub(super) fn declare_range(
        &mut self,
        module: &Module,
        prefix: Name,
        (count, ty, vector): (u32, Type, u8),
        span: Span,
    ) -> Result<Vec<Name>, Span> {
        let depth = self.depth();
        let list = self.ranges.entry(prefix).or_default();
        if let Some(last) = list.last()
            && last.depth == depth
        {
            return Err(last.span);
        }
        list.push(Range {
            count,
            ty,
            vector,
            depth,
            span,
        });
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(Undo::Range(prefix));
        }
        // Members that are bound already: in this scope that is an error, in an outer one they are
        // shadowed. Whichever list is shorter is walked.
        let text = module.text(prefix);
        let bound: Vec<Name> = if (count as usize) < self.names.len() {
            let member = |i| module.names.find(&format!("{text}{i}"));
            let members = (0..count).filter_map(member);
            members.filter(|n| self.names.contains_key(n)).collect()
        } else {
            let is_member = |name: &Name| {
                let rest = module.text(*name).strip_prefix(text);
                rest.and_then(number).is_some_and(|n| n < count)
            };
            let mut bound: Vec<Name> = self.names.keys().copied().filter(is_member).collect();
            bound.sort_unstable();
            bound
        };
        for name in &bound {
            if let Some(entry) = self.names.get(name)
                && entry.depth == depth
            {
                return Err(entry.span);
            }
        }
        Ok(bound)
    }

    /// The declared range that a name is a member of, and its prefix.
    pub(super) fn range_of(&self, module: &Module, name: Name) -> Option<(Range, Name)> {
        if self.ranges.is_empty() {
            return None;
        }
        let text = module.text(name);
        // Counts have 32 bits, so an index has ten digits at most.
        let tail = text.bytes().rev().take(10);
        let digits = tail.take_while(u8::is_ascii_digit).count();
        for cut in text.len() - digits..text.len() {
            let (head, tail) = text.split_at(cut);
            let Some(n) = number(tail) else { continue };
            let Some(prefix) = module.names.find(head) else {
                continue;
            };
            let list = self.ranges.get(&prefix).map_or(&[][..], |l| l.as_slice());
            if let Some(range) = list.iter().rev().find(|r| n < r.count) {
                return Some((*range, prefix));
            }
        }
        None
    }

    /// Binds a member of a range, in the scope of the range.
    pub(super) fn bind_member(&mut self, name: Name, range: Range, binding: Binding) {
        self.bind(name, binding, range.depth, range.span);
    }

    /// What a name stands for, members of ranges that have not been bound left out.
    pub(super) fn get(&self, name: Name) -> Option<Binding> {
        self.names.get(&name).map(|entry| entry.binding)
    }

    /// The visible name that is nearest to an unknown one, or what to say about its range.
    pub(super) fn suggest(&self, module: &Module, name: Name, labels: bool) -> Option<String> {
        let text = module.text(name);
        let head = text.trim_end_matches(|c: char| c.is_ascii_digit());
        if let Some(prefix) = module.names.find(head)
            && let Some(range) = self.ranges.get(&prefix).and_then(|l| l.last())
            && range.count > 0
        {
            let last = range.count - 1;
            return Some(format!(
                "`{head}<{}>` declares {head}0 to {head}{last}",
                range.count
            ));
        }
        let fits = |entry: &Entry| !labels || matches!(entry.binding, Binding::Label(_));
        let names = self.names.iter().filter(|(_, entry)| fits(entry));
        let mut candidates: Vec<Name> = names.map(|(name, _)| *name).collect();
        candidates.sort_unstable();
        candidates.truncate(10_000);
        let texts = candidates.iter().map(|name| module.text(*name));
        nearest(text, texts).map(|near| format!("did you mean `{near}`?"))
    }
}

/// The number that a suffix of a member's name is; `01` is none.
fn number(text: &str) -> Option<u32> {
    let plain = !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}
