//! Values of elements as trees, hash-consed: what is generalised.
//!
//! A sum is always a sum of products, also where it has one summand, and a product always a product of powers, so
//! that trees that differ in the number of their parts alone have one *shape*: the tree without its coefficients, the
//! indices of what it reads, and how often alike parts occur.

use indexmap::IndexSet;
use num_rational::BigRational;
use num_traits::One;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::work;

/// A place with the least and the greatest number that stands there.
type Spread = (TreePlace, i64, i64);

/// A rational.
pub(super) type Q = BigRational;

/// A tree of a [`Forest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Id(pub u32);

/// A shape of a [`Forest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Shape(u32);

/// Functions of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Call {
    /// e to the argument.
    Exp,
    /// Natural logarithm.
    Log,
    /// Square root.
    Sqrt,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Hyperbolic tangent.
    Tanh,
    /// The error function.
    Erf,
    /// Absolute value.
    Abs,
    /// Largest integer not above.
    Floor,
    /// Least integer not below.
    Ceil,
    /// Integer part.
    Trunc,
    /// Nearest integer, the even one of two.
    Rint,
    /// No number, a condition.
    IsNan,
    /// Below 0, a condition.
    Below,
    /// Equal to 0, a condition.
    Zero,
    /// The condition does not hold.
    Not,
}

/// A subscript that data choose: a number, and multiples of integers that are read.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Subscript {
    /// The number.
    pub constant: i64,
    /// Integers with their multiples.
    pub parts: Box<[(i64, Id)]>,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Tree {
    /// An infinity, true for minus.
    Infinity(bool),
    /// An element of an array, by the number of the array.
    Read(u32, Box<[i64]>),
    /// An element at a place that data choose.
    Gather(u32, Box<[Subscript]>),
    /// A constant of the kernel that stays whole, by its number.
    Constant(u32),
    /// Multiples of products, ascending by product.
    Sum(Box<[(Q, Id)]>),
    /// Powers, ascending; the empty one is 1.
    Product(Box<[(Id, i32)]>),
    /// A function of a sum, or the negation of a condition.
    Call(Call, Id),
    /// The largest of these sums.
    Max(Box<[Id]>),
    /// The least of these sums.
    Min(Box<[Id]>),
    /// Condition, value, other value.
    Choose(Id, Id, Id),
    /// All of these conditions.
    All(Box<[Id]>),
}

/// A place in a tree that reads have, whatever is read: a hash of the shapes on the way, and the dimension.
pub(super) type TreePlace = (u64, u8);

/// All trees.
#[derive(Debug, Default)]
pub(super) struct Forest {
    trees: IndexSet<Tree, FxBuildHasher>,
    shapes: IndexSet<Vec<u64>, FxBuildHasher>,
    shape_of: Vec<Shape>,
    places: FxHashMap<Id, std::rc::Rc<[Spread]>>,
}

impl Forest {
    /// The number of a tree.
    pub(super) fn put(&mut self, tree: Tree) -> Id {
        work::spend(1);
        if let Some(i) = self.trees.get_index_of(&tree) {
            return Id(i as u32);
        }
        let shape = self.shape_of_new(&tree);
        let shape = Shape(self.shapes.insert_full(shape).0 as u32);
        self.shape_of.push(shape);
        Id(self.trees.insert_full(tree).0 as u32)
    }

    /// A tree by its number.
    pub(super) fn get(&self, id: Id) -> &Tree {
        &self.trees[id.0 as usize]
    }

    /// The shape of a tree.
    pub(super) fn shape(&self, id: Id) -> Shape {
        self.shape_of[id.0 as usize]
    }

    /// The sum of multiples of products; those of one product are to be added up before.
    pub(super) fn sum(&mut self, parts: impl IntoIterator<Item = (Id, Q)>) -> Id {
        let mut list: Vec<(Q, Id)> = parts.into_iter().map(|(p, q)| (q, p)).collect();
        list.sort_by_key(|p| p.1);
        self.put(Tree::Sum(list.into()))
    }

    /// The product of powers of trees, each of which stands there once; powers of 0 are left out.
    pub(super) fn product(&mut self, parts: impl IntoIterator<Item = (Id, i32)>) -> Id {
        let mut list: Vec<(Id, i32)> = parts.into_iter().filter(|p| p.1 != 0).collect();
        list.sort_unstable();
        self.put(Tree::Product(list.into()))
    }

    /// A number as a sum.
    pub(super) fn number(&mut self, q: Q) -> Id {
        let one = self.product([]);
        let zero = q == Q::default();
        self.sum((!zero).then_some((one, q)))
    }

    /// A single factor as a sum.
    pub(super) fn alone(&mut self, factor: Id) -> Id {
        let product = self.product([(factor, 1)]);
        self.sum([(product, Q::one())])
    }

    fn shape_of_new(&self, tree: &Tree) -> Vec<u64> {
        let of = |id: &Id| u64::from(self.shape_of[id.0 as usize].0);
        let set = |tag: u64, mut list: Vec<u64>| {
            list.sort_unstable();
            list.dedup();
            list.insert(0, tag);
            list
        };
        match tree {
            Tree::Infinity(neg) => vec![0, u64::from(*neg)],
            Tree::Read(array, _) => vec![1, u64::from(*array)],
            Tree::Gather(array, at) => {
                let mut out = vec![9, u64::from(*array)];
                for s in at {
                    out.push(s.parts.len() as u64);
                    out.extend(s.parts.iter().flat_map(|(k, x)| [*k as u64, of(x)]));
                }
                out
            }
            Tree::Constant(c) => vec![2, u64::from(*c)],
            Tree::Sum(list) => set(3, list.iter().map(|(_, p)| of(p)).collect()),
            Tree::Product(list) => {
                let power = |p: i32| u64::from(p as u32) << 32;
                set(4, list.iter().map(|(f, p)| of(f) | power(*p)).collect())
            }
            Tree::Call(f, x) => vec![5, *f as u64, of(x)],
            Tree::Max(list) => set(6, list.iter().map(of).collect()),
            Tree::Min(list) => set(10, list.iter().map(of).collect()),
            Tree::Choose(c, a, b) => vec![7, of(c), of(a), of(b)],
            Tree::All(list) => set(8, list.iter().map(of).collect()),
        }
    }

    /// The least and the greatest index at each place of a tree.
    pub(super) fn places(&mut self, id: Id) -> std::rc::Rc<[(TreePlace, i64, i64)]> {
        if let Some(known) = self.places.get(&id) {
            return known.clone();
        }
        let mut out: std::collections::BTreeMap<TreePlace, (i64, i64)> = Default::default();
        let tree = self.get(id).clone();
        if let Tree::Read(array, at) = &tree {
            for (d, &v) in at.iter().enumerate() {
                out.insert((u64::from(*array), d as u8), (v, v));
            }
        }
        if let Tree::Gather(array, at) = &tree {
            for (d, s) in at.iter().enumerate() {
                out.insert((u64::from(*array), d as u8), (s.constant, s.constant));
            }
        }
        for (step, child) in steps(&tree) {
            let step = step.wrapping_mul(31) ^ u64::from(self.shape(child).0);
            for &((path, d), lo, hi) in self.places(child).iter() {
                let path = (path ^ step.wrapping_mul(0x9e37_79b9_7f4a_7c15))
                    .wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let range = out.entry((path ^ path >> 31, d)).or_insert((lo, hi));
                *range = (range.0.min(lo), range.1.max(hi));
            }
        }
        let list: std::rc::Rc<[_]> = out.into_iter().map(|(p, (lo, hi))| (p, lo, hi)).collect();
        self.places.insert(id, list.clone());
        list
    }
}

impl Tree {
    /// The trees below.
    pub(super) fn children(&self) -> Vec<Id> {
        steps(self).into_iter().map(|s| s.1).collect()
    }
}

/// The children of a tree, each with what tells its role.
fn steps(tree: &Tree) -> Vec<(u64, Id)> {
    match tree {
        Tree::Infinity(_) | Tree::Read(..) | Tree::Constant(_) => Vec::new(),
        Tree::Gather(_, at) => {
            let parts = at.iter().flat_map(|s| s.parts.iter());
            parts.map(|&(_, x)| (0, x)).collect()
        }
        Tree::Sum(list) => list.iter().map(|&(_, p)| (0, p)).collect(),
        Tree::Product(list) => list
            .iter()
            .map(|&(f, p)| (u64::from(p as u32), f))
            .collect(),
        Tree::Call(_, x) => vec![(0, *x)],
        Tree::Max(list) | Tree::Min(list) | Tree::All(list) => {
            list.iter().map(|&x| (0, x)).collect()
        }
        Tree::Choose(c, a, b) => vec![(0, *c), (1, *a), (2, *b)],
    }
}
