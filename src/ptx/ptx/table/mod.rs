//! The table of instruction forms: which modifiers and operands each opcode takes.
//!
//! Source: the syntax lines of PTX ISA 9.0, sections 9.7.1 to 9.7.19, condensed: forms that differ
//! only in words are one row. A row is an opcode with its forms, and a form is text:
//!
//! ```text
//! $frnd? ftz? sat? f32|f64 : d,r,r
//! ```
//!
//! Before the colon stand groups of words, of which the instruction has exactly one each, or at
//! most one if the group ends in `?`; `a|b` lists alternatives, `$set` names a list of them, `m64k16`
//! is any shape with 64 rows and this inner dimension. Words may come in any order, as ptxas takes them; those of one kind
//! (types) fill the groups from left to right. After the colon stand the operands, those with `?`
//! optional: `d` destination register, `q` destination that may be a pair `p|q`, `r` scalar source, `p` predicate
//! source, `v` vector, `w` scalar or vector (in loads of textures with `|p`), `m` address, `t` address with
//! coordinates, `l` label or name, `g` list in parentheses, `i` constant, `R` register, `Q` register or sink or pair,
//! `D` and `u` (`U`) destination and source of video instructions, `a` register or variable, `y` descriptor or
//! vector, `z` descriptor or address, `x` anything.
//!
//! Behind the letter stand the bits of its registers (`r32`), or the number of the word that is their type (`r@1`),
//! and for vectors how many there are (`v4@2`, `vn16` as many as `.v2` says, `vx` as matrix loads take, and
//! for `vd`, `va`, `vb`, `vc`, `vg`, `vw` what the shape says). [`operands`] is for who knows declarations.
//!
//! [`check`] reports the instructions that fit no form. What it says are warnings: the table is
//! about PTX as such, and takes more than any one target does (it knows no targets, and does not
//! see that two words exclude each other unless they stand in different forms). Not claimed: that
//! an instruction that passes is accepted by ptxas, or has the right types of registers.

mod arith;
mod data;
mod matrix;
mod sync;

use std::sync::LazyLock;

use thiserror::Error;

use super::ast::{Module, StmtKind};
use super::instr::{Instr, ModKind, Modifier, Opcode, Operand, OperandKind};
use super::lookup;
use super::opcode::Op;
use super::words::{Mod, Shape, Space, Type};
use crate::diag::{Diagnostic, Span, nearest};

/// An opcode with the text of its forms.
type Row = (Op, &'static [&'static str]);

/// Names for lists of words.
const SETS: &[(&str, &str)] = &[
    ("int", "u16|u32|u64|s16|s32|s64"),
    ("int32", "u32|u64|s32|s64"),
    ("int8", "u8|u16|u32|u64|s8|s16|s32|s64"),
    ("bits", "b16|b32|b64"),
    ("bits32", "b32|b64"),
    ("number", "u8|u16|u32|u64|s8|s16|s32|s64|f16|f32|f64"),
    ("number32", "b32|b64|u32|u64|s32|s64|f32|f64"),
    (
        "memory",
        "b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
    ),
    (
        "multimem",
        "f16|f16x2|bf16|bf16x2|f32|f64|e4m3|e4m3x2|e4m3x4|e5m2|e5m2x2|e5m2x4",
    ),
    ("f8", "e4m3|e5m2"),
    ("f8x2", "e4m3x2|e5m2x2"),
    ("f6x2", "e2m3x2|e3m2x2"),
    ("f8f6f4", "e4m3|e5m2|e2m3|e3m2|e2m1"),
    ("texel", "u32|s32|f16|f32"),
    ("frnd", "rn|rz|rm|rp"),
    ("irnd", "rni|rzi|rmi|rpi"),
    ("icmp", "eq|ne|lt|le|gt|ge|lo|ls|hi|hs"),
    ("fcmp", "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan"),
    ("vcmp", "eq|ne|lt|le|gt|ge"),
    ("bool", "and|or|xor"),
    ("reduce", "add|min|max|inc|dec|and|or|xor"),
    ("scope", "cta|cluster|gpu|sys"),
    ("order", "relaxed|acquire|release|acq_rel"),
    ("rorder", "relaxed|release"),
    (
        "space",
        "const|global|local|param|param::entry|param::func|shared|shared::cta|shared::cluster",
    ),
    (
        "stspace",
        "global|local|param|param::func|shared|shared::cta|shared::cluster",
    ),
    (
        "window",
        "const|global|local|param|param::entry|shared|shared::cta|shared::cluster",
    ),
    ("at", "global|shared|shared::cta|shared::cluster"),
    ("mbarrier", "shared|shared::cta|shared::cluster"),
    ("vec", "v2|v4|v8"),
    ("ldcop", "ca|cg|cs|lu|cv"),
    ("nccop", "ca|cg|cs"),
    ("stcop", "wb|cg|cs|wt"),
    ("sucop", "ca|cg|cs|cv"),
    (
        "l1",
        "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate",
    ),
    ("l2", "L2::evict_normal|L2::evict_first|L2::evict_last"),
    (
        "policy",
        "L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged",
    ),
    ("fetch", "L2::64B|L2::128B|L2::256B"),
    ("level", "L2::cache_hint"),
    ("dim", "1d|2d|3d|4d|5d"),
    ("load", "tile|tile::gather4|im2col|im2col::w|im2col::w::128"),
    ("texture", "1d|2d|3d|a1d|a2d|cube|acube|2dms|a2dms"),
    ("surface", "1d|2d|3d|a1d|a2d"),
    ("wmma", "m16n16k16|m32n8k16|m8n32k16|m8n8k4"),
    ("times", "x1|x2|x4|x8|x16|x32|x64|x128"),
    ("group", "cta_group::1|cta_group::2"),
    ("kind", "kind::f16|kind::tf32|kind::f8f6f4|kind::i8"),
    (
        "collector",
        "collector::a::fill|collector::a::use|collector::a::lastuse|collector::a::discard",
    ),
    (
        "bcollector",
        "collector::b0::fill|collector::b0::use|collector::b0::lastuse|collector::b0::discard|\
         collector::b1::fill|collector::b1::use|collector::b1::lastuse|collector::b1::discard|\
         collector::b2::fill|collector::b2::use|collector::b2::lastuse|collector::b2::discard|\
         collector::b3::fill|collector::b3::use|collector::b3::lastuse|collector::b3::discard",
    ),
];

/// Words of which an instruction has one.
struct Group {
    words: Vec<ModKind>,
    /// Any shape with 64 rows and this inner dimension.
    rows64: Option<u16>,
    optional: bool,
}

/// How many registers stand in a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Any number.
    Any,
    /// This many.
    Fixed(u8),
    /// As many as `.v2`, `.v4` or `.v8` says; a scalar without.
    Vec,
    /// As many as the shape and `.x2` of a matrix load say.
    Times,
    /// The fragment of a matrix product: `a`, `b`, `c`, `d`, `g` the accumulator of a warpgroup, `w` of
    /// `wmma.load` and `wmma.store`.
    Fragment(u8),
}

/// How wide the registers of an operand are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Nothing is said.
    Any,
    /// Bits of an integer, bit or predicate type.
    Bits(u32),
    /// The n-th type of the instruction, counted from 0.
    Type(u8),
}

/// What may stand as an operand.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The letter.
    pub class: u8,
    /// How many registers.
    pub count: Count,
    /// How wide they are.
    pub width: Width,
    optional: bool,
}

struct Form {
    groups: Vec<Group>,
    operands: Vec<Slot>,
}

/// The forms of each opcode, in the order of [`Op::ALL`].
static FORMS: LazyLock<Vec<Vec<Form>>> = LazyLock::new(|| {
    let mut forms: Vec<Vec<Form>> = Op::ALL.iter().map(|_| Vec::new()).collect();
    for (op, texts) in rows() {
        forms[op as usize].extend(texts.iter().map(|text| Form::read(text)));
    }
    forms
});

fn rows() -> impl Iterator<Item = Row> {
    let parts = [arith::ROWS, data::ROWS, sync::ROWS, matrix::ROWS];
    parts.into_iter().flatten().copied()
}

impl Form {
    fn read(text: &str) -> Self {
        let (groups, operands) = text.split_once(':').map_or((text, ""), |_| {
            // Words may hold `::`; the colon that separates stands among blanks.
            match text.rsplit_once(": ") {
                Some(parts) => parts,
                None => (text, ""),
            }
        });
        let operands = operands.split(',').filter(|slot| !slot.trim().is_empty());
        Self {
            groups: groups.split_whitespace().map(Group::read).collect(),
            operands: operands.map(Slot::read).collect(),
        }
    }

    /// Whether the words are those of the form: each group has one of its own.
    fn takes_words(&self, mods: &[Modifier]) -> bool {
        // No form has more than 64 groups.
        let mut filled = 0u64;
        let mut types = 0;
        for word in mods {
            // Types keep their order.
            let ty = matches!(word.kind, ModKind::Type(_));
            let least = if ty { types } else { 0 };
            let free = |(i, group): &(usize, &Group)| {
                *i >= least && filled & 1 << i == 0 && group.holds(word.kind)
            };
            match self.groups.iter().enumerate().find(free) {
                Some((i, _)) => {
                    filled |= 1 << i;
                    if ty {
                        types = i + 1;
                    }
                }
                None => return false,
            }
        }
        let needed = |(i, group): (usize, &Group)| group.optional || filled & 1 << i != 0;
        self.groups.iter().enumerate().all(needed)
    }

    fn takes_operands(&self, operands: &[Operand]) -> bool {
        let needed = self.operands.iter().filter(|slot| !slot.optional).count();
        if operands.len() < needed || operands.len() > self.operands.len() {
            return false;
        }
        // An optional operand is left out only with those behind it, but for the ones that
        // another class follows; trying each choice costs little, as there are at most ten.
        fits(&self.operands, operands)
    }
}

/// The slot of each operand of an instruction, if some form takes it.
pub fn operands(module: &Module, instr: &Instr) -> Option<Vec<Slot>> {
    let Opcode::Known(op) = instr.opcode else {
        return None;
    };
    let (mods, operands) = (&module[instr.mods], &module[instr.operands]);
    let mut worded = FORMS[op as usize].iter().filter(|f| f.takes_words(mods));
    let form = worded.find(|form| form.takes_operands(operands))?;
    let mut taken = Vec::with_capacity(operands.len());
    let mut slots = form.operands.as_slice();
    for (i, operand) in operands.iter().enumerate() {
        while let Some((slot, rest)) = slots.split_first() {
            slots = rest;
            if slot.takes(operand.kind) && fits(rest, &operands[i + 1..]) {
                taken.push(*slot);
                break;
            }
        }
    }
    (taken.len() == operands.len()).then_some(taken)
}

/// Every spelling of an opcode, its words in the order of the table; shapes with a free number of columns
/// have the least. Tests that go through the table cannot forget a form.
pub fn spelled(op: Op) -> Vec<String> {
    let mut all = Vec::new();
    for form in &FORMS[op as usize] {
        let mut found = vec![op.text().to_string()];
        for group in &form.groups {
            let words = group.words.iter().map(|kind| match kind {
                ModKind::Type(ty) => ty.text().to_string(),
                ModKind::Shape(shape) => shape.to_string(),
                ModKind::Word(word) => word.text().to_string(),
                ModKind::Space(space) => space.text().to_string(),
                ModKind::Unknown(_) => String::new(),
            });
            let wide = group.rows64.map(|k| format!("m64n8k{k}"));
            let words: Vec<String> = words.chain(wide).collect();
            let with = |text: &String| {
                let own: Vec<String> = words.iter().map(|word| format!("{text}.{word}")).collect();
                let without = group.optional.then(|| text.clone());
                without.into_iter().chain(own).collect::<Vec<_>>()
            };
            found = found.iter().flat_map(with).collect();
        }
        all.append(&mut found);
    }
    all
}

fn fits(slots: &[Slot], operands: &[Operand]) -> bool {
    let Some((slot, slots)) = slots.split_first() else {
        return operands.is_empty();
    };
    let taken = operands
        .split_first()
        .is_some_and(|(operand, rest)| slot.takes(operand.kind) && fits(slots, rest));
    taken || (slot.optional && fits(slots, operands))
}

impl Group {
    fn read(text: &str) -> Self {
        let (text, optional) = match text.strip_suffix('?') {
            Some(text) => (text, true),
            None => (text, false),
        };
        let mut group = Self {
            words: Vec::new(),
            rows64: None,
            optional,
        };
        for word in text.split('|') {
            let set = word.strip_prefix('$').and_then(|name| {
                let found = SETS.iter().find(|(set, _)| *set == name);
                found.map(|(_, words)| *words)
            });
            for word in set.unwrap_or(word).split('|') {
                match lookup::modifier(word) {
                    Some(kind) => group.words.push(kind),
                    None => group.rows64 = word.strip_prefix("m64k").and_then(|k| k.parse().ok()),
                }
            }
        }
        group
    }

    fn holds(&self, kind: ModKind) -> bool {
        let wide = |shape: Shape| {
            let columns = (8..=256).contains(&shape.n) && shape.n.is_multiple_of(8);
            shape.m == 64 && columns && self.rows64 == Some(shape.k)
        };
        self.words.contains(&kind) || matches!(kind, ModKind::Shape(shape) if wide(shape))
    }
}

impl Slot {
    fn read(text: &str) -> Self {
        let text = text.trim();
        let optional = text.ends_with('?');
        let mut rest = text.trim_end_matches('?').bytes().peekable();
        let class = rest.next().unwrap_or(b'x');
        let mut count = Count::Any;
        if let Some(letter) = rest.next_if(|b| b.is_ascii_lowercase()) {
            count = match letter {
                b'n' => Count::Vec,
                b'x' => Count::Times,
                letter => Count::Fragment(letter),
            };
        }
        let rest: String = rest.map(char::from).collect();
        let (before, ty) = match rest.split_once('@') {
            Some((before, ty)) => (before, ty.parse::<u8>().ok().map(|n| n.saturating_sub(1))),
            None => (rest.as_str(), None),
        };
        let number: Option<u32> = before.parse().ok();
        let width = match (ty, number) {
            (Some(ty), count_of) => {
                if let Some(n) = count_of {
                    count = Count::Fixed(n as u8);
                }
                Width::Type(ty)
            }
            (None, Some(bits)) => Width::Bits(bits),
            (None, None) => Width::Any,
        };
        Self {
            class,
            count,
            width,
            optional,
        }
    }

    fn takes(self, kind: OperandKind) -> bool {
        use OperandKind as K;
        let register = matches!(kind, K::Name(_) | K::Component { .. });
        let constant = matches!(kind, K::Int(_) | K::Float(_) | K::Expr(_));
        let scalar = register || constant || matches!(kind, K::Element { .. } | K::Neg(_));
        match self.class {
            b'd' => register || kind == K::Sink,
            b'q' => register || matches!(kind, K::Sink | K::Pair { .. }),
            b'r' => scalar,
            b'p' => register || constant || matches!(kind, K::Not(_)),
            b'v' if self.count == Count::Fragment(b't') => matches!(kind, K::Vector(_)),
            b'v' if self.count == Count::Vec => {
                register || constant || matches!(kind, K::Vector(_) | K::Sink)
            }
            b'v' => register || matches!(kind, K::Vector(_) | K::Sink),
            b'w' => scalar || matches!(kind, K::Vector(_) | K::VectorPair { .. } | K::Sink),
            b'm' | b't' => matches!(kind, K::Address(_) | K::Element { .. }),
            b'i' => matches!(kind, K::Int(_) | K::Expr(_)),
            b'R' => register,
            b'Q' => register || matches!(kind, K::Sink | K::Pair { .. }),
            b'D' => register,
            b'u' | b'U' => scalar || matches!(kind, K::NegComponent { .. }),
            b'a' => scalar,
            b'y' => register || matches!(kind, K::Vector(_)),
            b'z' => register || matches!(kind, K::Address(_)),
            b'l' => matches!(kind, K::Name(_)),
            b'g' => matches!(kind, K::Group(_)),
            _ => true,
        }
    }
}

/// An instruction that PTX ISA 9.0 does not have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FormError {
    /// No such opcode.
    #[error("`{name}` is no instruction of PTX ISA 9.0")]
    Opcode {
        /// The opcode.
        name: String,
        /// Its bytes.
        span: Span,
        /// What may be meant.
        nearest: Option<&'static str>,
    },
    /// No instruction has such a modifier.
    #[error("`.{name}` is no modifier of PTX ISA 9.0")]
    Modifier {
        /// The modifier.
        name: String,
        /// Its bytes.
        span: Span,
        /// What may be meant.
        nearest: Option<&'static str>,
    },
    /// The opcode has no such modifier.
    #[error("`{op}` takes no modifier `.{name}`")]
    ForeignModifier {
        /// The opcode.
        op: Op,
        /// The modifier.
        name: String,
        /// Its bytes.
        span: Span,
    },
    /// The opcode's modifiers do not go together, or one is missing.
    #[error("`{op}` does not take this combination of modifiers")]
    Combination {
        /// The opcode.
        op: Op,
        /// The opcode with its modifiers.
        span: Span,
    },
    /// The form takes other operands.
    #[error("`{op}` does not take these operands")]
    Operands {
        /// The opcode.
        op: Op,
        /// The operands.
        span: Span,
    },
}

impl FormError {
    /// The place.
    pub fn span(&self) -> Span {
        match *self {
            FormError::Opcode { span, .. }
            | FormError::Modifier { span, .. }
            | FormError::ForeignModifier { span, .. }
            | FormError::Combination { span, .. }
            | FormError::Operands { span, .. } => span,
        }
    }
}

impl From<&FormError> for Diagnostic {
    fn from(error: &FormError) -> Self {
        let diagnostic =
            Diagnostic::warning("unknown-opcode", error.to_string()).label(error.span(), "");
        match error {
            FormError::Opcode { nearest, .. } => match nearest {
                Some(nearest) => diagnostic.help(format!("did you mean `{nearest}`?")),
                None => diagnostic,
            },
            FormError::Modifier { nearest, .. } => match nearest {
                Some(nearest) => diagnostic.help(format!("did you mean `.{nearest}`?")),
                None => diagnostic,
            },
            FormError::ForeignModifier { op, .. }
            | FormError::Combination { op, .. }
            | FormError::Operands { op, .. } => diagnostic.help(format!(
                "see section {} of the PTX ISA 9.0 manual",
                op.section()
            )),
        }
    }
}

impl From<FormError> for Diagnostic {
    fn from(error: FormError) -> Self {
        Self::from(&error)
    }
}

/// Everything in the bodies of a module that is no instruction of PTX ISA 9.0, in order of the text.
pub fn check(module: &Module) -> Vec<FormError> {
    let bodies = module.functions().filter_map(|(_, function)| function.body);
    let stmts = bodies.flat_map(|body| &module[body]);
    let instrs = stmts.filter_map(|stmt| match stmt.kind {
        StmtKind::Instr(id) => Some(&module[id]),
        _ => None,
    });
    instrs
        .filter_map(|instr| check_instr(module, instr))
        .collect()
}

/// What is wrong with one instruction.
pub fn check_instr(module: &Module, instr: &Instr) -> Option<FormError> {
    let mods = &module[instr.mods];
    let op = match instr.opcode {
        Opcode::Known(op) => op,
        Opcode::Unknown(name) => {
            let nearest = nearest_opcode(module, module.text(name), mods);
            return Some(FormError::Opcode {
                name: module.text(name).to_string(),
                span: instr.opcode_span,
                nearest,
            });
        }
    };
    let forms = &FORMS[op as usize];
    let operands = &module[instr.operands];
    let mut worded = forms
        .iter()
        .filter(|form| form.takes_words(mods))
        .peekable();
    if worded.peek().is_some() {
        let takes = worded.any(|form| form.takes_operands(operands));
        let whole = operands.iter().map(|o| o.span).reduce(Span::to);
        let span = whole.unwrap_or(instr.opcode_span);
        return (!takes).then_some(FormError::Operands { op, span });
    }
    let known = |word: &Modifier| {
        let groups = forms.iter().flat_map(|form| &form.groups);
        groups.into_iter().any(|group| group.holds(word.kind))
    };
    let Some(word) = mods.iter().find(|word| !known(word)) else {
        let span = instr.opcode_span;
        return Some(FormError::Combination { op, span });
    };
    let name = module.modifier_text(word).into_owned();
    let span = Span::new(word.at, word.at + 1 + name.len() as u32);
    Some(match word.kind {
        ModKind::Unknown(_) => FormError::Modifier {
            nearest: nearest_word(&name),
            name,
            span,
        },
        _ => FormError::ForeignModifier { op, name, span },
    })
}

/// The opcode that is meant. If the first word begins opcodes with dots, those are compared with as many
/// words of the instruction as they have.
fn nearest_opcode(module: &Module, head: &str, mods: &[Modifier]) -> Option<&'static str> {
    let family = lookup::opcode(head).is_some();
    let mut spelled = head.to_string();
    let mut best = None;
    for parts in 1..=mods.len().min(4) + 1 {
        let same = |text: &&str| text.split('.').count() == parts;
        let found = nearest(&spelled, Op::ALL.iter().map(|op| op.text()).filter(same));
        best = found.or(best);
        if !family {
            break;
        }
        let Some(word) = mods.get(parts - 1) else {
            break;
        };
        spelled.push('.');
        spelled.push_str(&module.modifier_text(word));
    }
    Op::ALL
        .iter()
        .map(|op| op.text())
        .find(|text| Some(*text) == best)
}

fn nearest_word(name: &str) -> Option<&'static str> {
    let words = || {
        let types = Type::ALL.iter().map(|ty| ty.text());
        let spaces = Space::ALL.iter().map(|space| space.text());
        types
            .chain(spaces)
            .chain(Mod::ALL.iter().map(|word| word.text()))
    };
    let best = nearest(name, words())?;
    words().find(|text| *text == best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Source;
    use crate::ptx::parse;

    #[test]
    fn every_opcode_has_a_row_of_words_that_exist() {
        for &op in Op::ALL {
            let count = rows().filter(|row| row.0 == op).count();
            assert_eq!(count, 1, "rows of {op}");
        }
        for (op, texts) in rows() {
            assert!(!texts.is_empty(), "{op}");
            for text in texts {
                let (groups, slots) = text.rsplit_once(": ").expect("a colon among blanks");
                for word in groups
                    .split_whitespace()
                    .flat_map(|g| g.trim_end_matches('?').split('|'))
                {
                    let known = match word.strip_prefix('$') {
                        Some(set) => SETS.iter().any(|(name, _)| *name == set),
                        None => word.starts_with("m64k") || lookup::modifier(word).is_some(),
                    };
                    assert!(known, "{op}: {word} in {text}");
                }
                for slot in slots
                    .split(',')
                    .map(str::trim)
                    .filter(|slot| !slot.is_empty())
                {
                    let class = &slot[..1];
                    assert!("dqrpvwmtlgiRQDuUayzx".contains(class), "{op}: {text}");
                }
            }
        }
        for (set, words) in SETS {
            for word in words.split('|') {
                assert!(lookup::modifier(word).is_some(), "{word} in {set}");
            }
        }
    }

    /// Every word of the vocabulary is a word of some form: nothing is there for nothing.
    #[test]
    fn every_modifier_belongs_to_some_opcode() {
        let used = |kind: ModKind| {
            let groups = FORMS.iter().flatten().flat_map(|form| &form.groups);
            groups.into_iter().any(|group| group.holds(kind))
        };
        let unused = Mod::ALL.iter().filter(|word| !used(ModKind::Word(**word)));
        assert_eq!(
            unused.map(|word| word.text()).collect::<Vec<_>>(),
            Vec::<&str>::new()
        );
    }

    fn messages(body: &str) -> Vec<String> {
        let text = format!(".version 9.0\n.target sm_90a\n.entry k() {{\n{body}\n}}\n");
        let source = Source::new("k", text).expect("short");
        let module = parse(&source).expect("grammatical");
        let shown = |error: &FormError| {
            let diagnostic = Diagnostic::from(error);
            let place = source.slice(error.span());
            format!(
                "{place}: {}; {}",
                diagnostic.message,
                diagnostic.help.unwrap_or_default()
            )
        };
        check(&module).iter().map(shown).collect()
    }

    #[test]
    fn accepts_words_in_any_order() {
        let body = "add.s32 %r1, %r2, %r3; ld.volatile.global.f32 %f1, [%rd1]; ld.global.volatile.f32 %f1, [%rd1];\n\
                    setp.lt.and.s32 %p1|%p2, %r1, 5, !%p3; bar.sync 0; bar.sync 1, 64; ret; call (r), f, (a, b), p;\n\
                    wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%f1, %f2}, %rd1, %rd2, %p1, 1, 1, 0, 0;\n\
                    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {a,b,c,d}, {a,b,c,d}, {a,b}, {a,b,c,d};";
        assert_eq!(messages(body), Vec::<String>::new());
    }

    #[test]
    fn names_what_does_not_exist() {
        let found = messages(
            "addd.s32 %r1, %r2; cp.asink.ca.shared.global [a], [b], 16; add.rnn.f32 %f1, %f2, %f3; \
             add.global.f32 %f1, %f2, %f3; add.sat.u32 %r1, %r2, %r3; add.s32 %r1, %r2; bfe.b32 a, b, c, d; xyzzy;",
        );
        let expected = [
            "addd.s32: `addd` is no instruction of PTX ISA 9.0; did you mean `add`?",
            "cp.asink.ca.shared.global: `cp` is no instruction of PTX ISA 9.0; did you mean `cp.async`?",
            ".rnn: `.rnn` is no modifier of PTX ISA 9.0; did you mean `.rn`?",
            ".global: `add` takes no modifier `.global`; see section 9.7.1.1 of the PTX ISA 9.0 manual",
            "add.sat.u32: `add` does not take this combination of modifiers; see section 9.7.1.1 of the PTX ISA 9.0 manual",
            "%r1, %r2: `add` does not take these operands; see section 9.7.1.1 of the PTX ISA 9.0 manual",
            ".b32: `bfe` takes no modifier `.b32`; see section 9.7.1.19 of the PTX ISA 9.0 manual",
            "xyzzy: `xyzzy` is no instruction of PTX ISA 9.0; ",
        ];
        assert_eq!(found, expected);
    }
}
