//! Interned names: each distinct identifier or string of a module is stored once and named by a
//! dense index, so that the tree holds no `String`s and later stages index side tables.

use std::hash::Hasher;
use std::num::NonZeroU32;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

/// An interned name of one module: a register, variable, label, function, unknown word or string.
///
/// Names of one module are equal exactly if their texts are. They are numbered in order of first
/// occurrence, so [`Name::index`] is dense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(NonZeroU32);

impl Name {
    /// Position in the table, from 0: an index for side tables of length [`Names::len`].
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    /// The name at a position of the table. Positions are below 2^31, as sources are.
    fn at(index: usize) -> Self {
        Self(NonZeroU32::MIN.saturating_add(index as u32))
    }
}

/// The table of names: one buffer of text and the places of the names in it.
#[derive(Clone, Debug, Default)]
pub struct Names {
    text: String,
    spans: Vec<(u32, u32)>,
    index: HashTable<u32>,
}

impl Names {
    /// Number of names.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The text of a name of this table; empty for one of a longer table.
    pub fn text(&self, name: Name) -> &str {
        self.at(name.index())
    }

    fn at(&self, index: usize) -> &str {
        match self.spans.get(index) {
            Some(&(start, end)) => &self.text[start as usize..end as usize],
            None => "",
        }
    }

    /// Whether the name at a position has this text.
    fn is(&self, index: u32, text: &[u8]) -> bool {
        let (start, end) = self.spans[index as usize];
        &self.text.as_bytes()[start as usize..end as usize] == text
    }

    /// The name with this text, if the module uses it.
    pub fn find(&self, text: &str) -> Option<Name> {
        let same = |&i: &u32| self.is(i, text.as_bytes());
        let found = self.index.find(hash(text.as_bytes()), same);
        found.map(|&i| Name::at(i as usize))
    }

    /// The name with this text, made if it is new.
    pub fn intern(&mut self, text: &str) -> Name {
        let hash_of_text = hash(text.as_bytes());
        let same = |&i: &u32| self.is(i, text.as_bytes());
        if let Some(&i) = self.index.find(hash_of_text, same) {
            return Name::at(i as usize);
        }
        let new = self.spans.len();
        let start = self.text.len() as u32;
        self.text.push_str(text);
        self.spans.push((start, self.text.len() as u32));
        let Self { text, spans, index } = self;
        index.insert_unique(hash_of_text, new as u32, |&i| {
            let (start, end) = spans[i as usize];
            hash(&text.as_bytes()[start as usize..end as usize])
        });
        Name::at(new)
    }

    /// All names in order.
    pub fn iter(&self) -> impl Iterator<Item = (Name, &str)> {
        (0..self.len()).map(|i| (Name::at(i), self.at(i)))
    }
}

/// Tables are equal if they hold the same texts in the same order.
impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        self.spans == other.spans && self.text == other.text
    }
}

impl Eq for Names {}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_equal_names() {
        let mut names = Names::default();
        let a = names.intern("%r1");
        let b = names.intern("");
        let c = names.intern("%r2");
        assert_eq!(names.intern("%r1"), a);
        assert_eq!((a.index(), b.index(), c.index()), (0, 1, 2));
        assert_eq!(
            (names.text(a), names.text(b), names.text(c)),
            ("%r1", "", "%r2")
        );
        assert_eq!(names.find("%r2"), Some(c));
        assert_eq!(names.find("%r3"), None);
        assert_eq!(names.iter().count(), 3);
    }

    #[test]
    fn many_names_survive_growth() {
        let mut names = Names::default();
        let made: Vec<Name> = (0..10_000)
            .map(|i| names.intern(&format!("%rd{i}")))
            .collect();
        for (i, name) in made.into_iter().enumerate() {
            assert_eq!(names.text(name), format!("%rd{i}"));
        }
    }
}
