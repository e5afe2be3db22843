//! Storage of the tree: one vector for each kind of node, and typed references into them.
//!
//! A node that holds others holds a [`List`] (a run of neighbours) or an [`Id`] (one node); the
//! nodes themselves stand in the [`Module`](super::Module), which is indexed with them:
//! `&module[instr.operands]` is a slice. So the tree is flat, is dropped without recursion, and a
//! node costs no allocation.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

/// A run of neighbouring nodes of one kind.
pub struct List<T> {
    start: u32,
    len: u32,
    of: PhantomData<fn() -> T>,
}

/// One node of a kind.
pub struct Id<T> {
    index: u32,
    of: PhantomData<fn() -> T>,
}

impl<T> List<T> {
    /// The list of no nodes.
    pub const EMPTY: Self = Self::new(0, 0);

    pub(crate) const fn new(start: u32, len: u32) -> Self {
        Self {
            start,
            len,
            of: PhantomData,
        }
    }

    /// Number of nodes.
    pub fn len(self) -> usize {
        self.len as usize
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The nodes' ids in order.
    pub fn ids(self) -> impl DoubleEndedIterator<Item = Id<T>> + ExactSizeIterator {
        (self.start..self.start + self.len).map(Id::new)
    }

    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

impl<T> Id<T> {
    pub(crate) const fn new(index: u32) -> Self {
        Self {
            index,
            of: PhantomData,
        }
    }

    /// Position among all nodes of the kind in the module: dense, an index for side tables.
    pub fn index(self) -> usize {
        self.index as usize
    }
}

// Derived impls would ask the same of `T`, which is only a tag here.
impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for List<T> {}
impl<T> PartialEq for List<T> {
    fn eq(&self, other: &Self) -> bool {
        // Empty lists are equal wherever they were made.
        self.len == other.len && (self.len == 0 || self.start == other.start)
    }
}
impl<T> Eq for List<T> {}
impl<T> Default for List<T> {
    fn default() -> Self {
        Self::EMPTY
    }
}
impl<T> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}+{}", self.start, self.len)
    }
}
impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Id<T> {}
impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        self.index == other.index
    }
}
impl<T> Eq for Id<T> {}
impl<T> Hash for Id<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.index.hash(state);
    }
}
impl<T> fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.index)
    }
}
