//! From the spelling of a word to its enum, in one hash probe.
//!
//! The tables are built once from the declarations in [`opcode`](super::opcode) and
//! [`words`](super::words). For opcodes they also hold every proper dotted prefix, so that the
//! parser knows when to stop asking for a longer one.

use std::hash::Hasher;
use std::sync::LazyLock;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use super::instr::ModKind;
use super::opcode::Op;
use super::words::{Mod, Shape, Space, Type};

/// What is known about a dotted prefix of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefix {
    /// The opcode with exactly this spelling.
    pub(crate) op: Option<Op>,
    /// Whether a longer opcode begins with it.
    pub(crate) longer: bool,
}

/// A map from words to what they are.
struct Words<T> {
    table: HashTable<(&'static str, T)>,
}

impl<T: Copy> Words<T> {
    fn new() -> Self {
        Self {
            table: HashTable::new(),
        }
    }

    fn get(&self, text: &str) -> Option<T> {
        let found = self.table.find(hash(text), |entry| entry.0 == text);
        found.map(|entry| entry.1)
    }

    fn get_mut(&mut self, text: &str) -> Option<&mut T> {
        let found = self.table.find_mut(hash(text), |entry| entry.0 == text);
        found.map(|entry| &mut entry.1)
    }

    fn insert(&mut self, text: &'static str, value: T) {
        self.table
            .insert_unique(hash(text), (text, value), |entry| hash(entry.0));
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text.as_bytes());
    hasher.finish()
}

static OPS: LazyLock<Words<Prefix>> = LazyLock::new(|| {
    let mut words = Words::new();
    for &op in Op::ALL {
        let text = op.text();
        let dots = text.match_indices('.').map(|(at, _)| &text[..at]);
        for prefix in dots {
            match words.get_mut(prefix) {
                Some(Prefix { longer, .. }) => *longer = true,
                None => {
                    let (op, longer) = (None, true);
                    words.insert(prefix, Prefix { op, longer });
                }
            }
        }
        match words.get_mut(text) {
            Some(prefix) => prefix.op = Some(op),
            None => {
                let (op, longer) = (Some(op), false);
                words.insert(text, Prefix { op, longer });
            }
        }
    }
    words
});

static WORDS: LazyLock<Words<ModKind>> = LazyLock::new(|| {
    let mut words = Words::new();
    for &ty in Type::ALL {
        words.insert(ty.text(), ModKind::Type(ty));
    }
    for &space in Space::ALL {
        words.insert(space.text(), ModKind::Space(space));
    }
    for &word in Mod::ALL {
        words.insert(word.text(), ModKind::Word(word));
    }
    words
});

/// What is known about a dotted prefix; `None` if no opcode begins with it.
pub(crate) fn opcode(text: &str) -> Option<Prefix> {
    OPS.get(text)
}

/// The modifier with this spelling (without the dot), if PTX ISA 9.0 has it.
pub(crate) fn modifier(text: &str) -> Option<ModKind> {
    WORDS
        .get(text)
        .or_else(|| Shape::parse(text).map(ModKind::Shape))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_spelling_is_found_and_distinct() {
        for &op in Op::ALL {
            assert_eq!(opcode(op.text()).and_then(|p| p.op), Some(op), "{op}");
        }
        let mut seen = HashSet::new();
        for &ty in Type::ALL {
            assert!(seen.insert(ty.text()), "{ty}");
            assert_eq!(modifier(ty.text()), Some(ModKind::Type(ty)));
        }
        for &space in Space::ALL {
            assert!(seen.insert(space.text()), "{space}");
            assert_eq!(modifier(space.text()), Some(ModKind::Space(space)));
        }
        for &word in Mod::ALL {
            assert!(seen.insert(word.text()), "{word}");
            assert_eq!(modifier(word.text()), Some(ModKind::Word(word)));
        }
    }

    #[test]
    fn prefixes_say_whether_to_go_on() {
        let prefix = |text| opcode(text).map(|p| (p.op, p.longer));
        assert_eq!(prefix("cp"), Some((None, true)));
        assert_eq!(prefix("cp.async"), Some((Some(Op::CpAsync), true)));
        assert_eq!(prefix("add"), Some((Some(Op::Add), false)));
        assert_eq!(prefix("mma"), Some((Some(Op::Mma), true)));
        assert_eq!(prefix("frob"), None);
    }

    #[test]
    fn shapes_are_words() {
        let shape = |m, n, k| Some(ModKind::Shape(Shape { m, n, k }));
        assert_eq!(modifier("m64n256k16"), shape(64, 256, 16));
        assert_eq!(modifier("m8n8"), shape(8, 8, 0));
        for bad in [
            "m8", "m08n8", "m8n8k", "m8n8k0", "m99999n1", "m8n8k4x", "max2",
        ] {
            assert_eq!(modifier(bad), None, "{bad}");
        }
    }
}
