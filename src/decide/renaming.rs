//! Elements that are others with their inputs renamed.
//!
//! The problem: the elements of an output are mostly the same function of different inputs. What
//! is proved of one element for all inputs holds of every element that comes from it by a
//! substitution of input elements, and a substitution is found by walking two pairs of terms side
//! by side: far cheaper than a canonical form. It is looked for in the stores of both kernels, before one
//! store is made for both: of what is a renaming nothing has to be copied.
//!
//! match `a1 = b1`, and one substitution of input elements takes a1 to a2 and b1 to b2; result
//! `a2 = b2` if `a1 = b1`, with b2 defined wherever a2 is; because a proof of the first holds for every
//! content of memory, and a content of memory for the second pair is one for the first, read at
//! other places.
//!
//! Conditions: both elements are of one array, so that they are compared in one way. An input element
//! goes to one of the same array and the same type, which is neither sorted nor has to do with places that data choose,
//! no two go to one, and all that either kernel
//! reads of an array in which elements move are aligned elements of one type, so that they are
//! independent of each other. Constants, unknowns and everything else stay what they are. A part that
//! both pairs share stays as it is, and nothing of it may move.
//!
//! Not claimed: that a substitution that exists is found. Operands are paired in the order of their ids,
//! which is that in which a kernel meets them, and if that fails in the order of the inputs among them.

use std::sync::Mutex;

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::goal::Element;
use super::limits::RENAMING;
use crate::spec::Limits;
use crate::term::{ArrayId, BitsOp, Term, TermId, TermStore};
use crate::work;

/// Arrays that are told apart; elements of further ones do not move.
const ARRAYS: usize = 63;

/// What a kernel reads of each array: the label of its inputs, and whether they are no aligned
/// elements of one type.
type Reads = [Option<([u32; 4], bool)>; ARRAYS];

/// Which input a term is: the array that it is in, as its bit with the last one for all from
/// [`ARRAYS`] on, and its number, which is the same for both kernels. No array if it is none.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Input {
    array: u32,
    number: u32,
}

impl Input {
    const NONE: Input = Input {
        array: u32::MAX,
        number: 0,
    };

    fn is_none(self) -> bool {
        self.array == u32::MAX
    }
}

/// The terms of one kernel, with what they look like apart from where they read.
struct Terms<'s> {
    store: &'s TermStore,
    /// Equal for terms that differ in offsets, and in the order of products, at most; 0 for terms below no
    /// element.
    shape: Vec<u64>,
    /// The arrays below each term, a bit each.
    arrays: Vec<u64>,
    inputs: Vec<Input>,
    /// The first bit that each term reads in its array, if it reads one element only, extended or cut.
    places: Vec<u64>,
}

fn mix(h: u64, v: u64) -> u64 {
    (h.rotate_left(5) ^ v).wrapping_mul(0x517c_c1b7_2722_0a95)
}

/// The array, type and offset of an input.
fn input(store: &TermStore, t: TermId) -> Option<(ArrayId, u64, u64)> {
    match store.get(t) {
        Term::Elem { array, off, fmt } => Some((array, off, fmt.bits() as u64 / 8)),
        Term::Bytes { array, off, width } => Some((array, off, width as u64 / 8)),
        _ => None,
    }
}

impl<'s> Terms<'s> {
    /// Looks at everything below the roots. Inputs are numbered by their ids.
    fn new(store: &'s TermStore, roots: impl Iterator<Item = TermId>) -> (Self, Reads) {
        let n = store.len();
        let mut used = vec![false; n];
        for t in roots {
            used[t.0 as usize] = true;
        }
        // Children have smaller ids than their parents.
        for i in (0..n).rev() {
            if used[i] {
                store.children(TermId(i as u32), |c| used[c.0 as usize] = true);
            }
        }
        let mut s = Terms {
            store,
            shape: vec![0; n],
            arrays: vec![0; n],
            inputs: vec![Input::NONE; n],
            places: vec![u64::MAX; n],
        };
        let mut reads = [None; ARRAYS];
        for i in (0..n).filter(|&i| used[i]) {
            let t = TermId(i as u32);
            let label = store.label(t);
            let mut h = label.iter().fold(1, |h, &l| mix(h, l as u64));
            let mut arrays = 0;
            if let Some((array, off, bytes)) = input(store, t) {
                let array = (array.0 as usize).min(ARRAYS);
                arrays = 1 << array;
                s.places[i] = off.saturating_mul(8);
                s.inputs[i] = Input {
                    array: array as u32,
                    number: i as u32,
                };
                if let Some(known) = reads.get_mut(array) {
                    let (first, mixed) = known.get_or_insert((label, false));
                    *mixed |= *first != label || bytes == 0 || off % bytes != 0;
                }
            } else {
                let (mut sum, mut half) = (0u64, None);
                let (is_sum, commutes) = (store.is_sum(t), store.commutes(t));
                store.children(t, |c| {
                    let shape = s.shape[c.0 as usize];
                    arrays |= s.arrays[c.0 as usize];
                    match (is_sum, half.take()) {
                        (true, None) => half = Some(shape),
                        (true, Some(other)) => {
                            sum = sum.wrapping_add(mix(shape.wrapping_add(other), shape ^ other));
                        }
                        _ if commutes => sum = sum.wrapping_add(shape),
                        _ => h = mix(h, shape),
                    }
                });
                h = mix(h, sum);
                s.places[i] = s.place(t);
            }
            s.shape[i] = h.max(1);
            s.arrays[i] = arrays;
        }
        (s, reads)
    }

    /// The place of a field of an element, of its extension by zeros or sign, else none.
    fn place(&self, t: TermId) -> u64 {
        let of = |t: u32| self.places[t as usize];
        match self.store.get(t) {
            Term::Extract { bits, low, .. } => of(bits.0).saturating_add(low as u64),
            Term::BitsOp(BitsOp::AShr, x, _) => of(x.0),
            Term::Concat(&[x, y]) => of(x).min(of(y)),
            _ => u64::MAX,
        }
    }

    fn shape(&self, t: TermId) -> u64 {
        self.shape[t.0 as usize]
    }

    /// What operands are put in order by: their shapes, where they read, and their ids.
    fn key(&self, t: u32) -> (u64, u64, u32) {
        (self.shape[t as usize], self.places[t as usize], t)
    }

    /// The two factors of a product in order, and what products are put in order by.
    fn ordered(&self, &[a, b]: &[u32; 2]) -> ([u64; 4], [u32; 2]) {
        let (x, y) = (self.key(a), self.key(b));
        let (x, y) = if x <= y { (x, y) } else { (y, x) };
        ([x.0, y.0, x.1.min(y.1), x.1.max(y.1)], [x.2, y.2])
    }
}

/// The terms of both kernels.
struct Shapes<'s> {
    terms: [Terms<'s>; 2],
    /// Arrays whose elements may move.
    movable: u64,
    /// Numbers of inputs are below it.
    inputs: usize,
}

impl<'s> Shapes<'s> {
    fn new(stores: [&'s TermStore; 2], elements: &[Element]) -> Self {
        let side = |k: usize| Terms::new(stores[k], elements.iter().map(|e| e.content[k]));
        let ((a, reads), (mut b, more)) = work::both(|| side(0), || side(1));
        let mut movable = 0;
        for (i, both) in reads.iter().zip(&more).enumerate() {
            movable |= match both {
                (Some((l, false)), Some((m, false))) => u64::from(l == m) << i,
                (Some((_, mixed)), None) | (None, Some((_, mixed))) => u64::from(!mixed) << i,
                _ => 0,
            };
        }
        // Proofs rest on what places that data choose have to do with known ones, and on orders of elements.
        for store in stores {
            for array in store.linked_arrays() {
                movable &= !(1 << (array.0 as usize).min(ARRAYS));
            }
        }
        // An input has one number, whichever kernel reads it.
        let first = a.store.len();
        for (i, input) in b.inputs.iter_mut().enumerate() {
            if !input.is_none() {
                let same = a.store.same_input(b.store, TermId(i as u32));
                input.number = same.map_or((first + i) as u32, |t| t.0);
            }
        }
        let inputs = first + b.store.len();
        Shapes {
            terms: [a, b],
            movable,
            inputs,
        }
    }

    /// What elements have in common that may be each other's renaming.
    fn class(&self, e: &Element) -> Option<u64> {
        let [x, y] = e.content;
        let h = mix(e.array.0 as u64, e.bytes as u64);
        let class = || mix(mix(h, self.terms[0].shape(x)), self.terms[1].shape(y));
        e.only.is_none().then(class)
    }
}

/// What a walk writes down; kept from one walk to the next. An entry counts in the walk that it names.
struct Tables {
    /// The term that each term of a kernel goes to.
    image: [Vec<(u32, u32)>; 2],
    /// The number that the number of each input goes to, and the other way round.
    moves: Vec<(u32, u32)>,
    origin: Vec<(u32, u32)>,
    walk: u32,
    /// True if what the walk has written down is a substitution.
    valid: bool,
    /// Arrays of which elements move, and of which parts stay as they are.
    moved: u64,
    fixed: u64,
    visits: usize,
    stack: Vec<(TermId, TermId)>,
}

impl Tables {
    fn new(shapes: &Shapes<'_>) -> Self {
        let none = |n: usize| vec![(0, 0); n];
        Tables {
            image: shapes.terms.each_ref().map(|t| none(t.store.len())),
            moves: none(shapes.inputs),
            origin: none(shapes.inputs),
            walk: 0,
            valid: false,
            moved: 0,
            fixed: 0,
            visits: 0,
            stack: Vec::new(),
        }
    }
}

/// How operands that may change places are paired.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Ids,
    Inputs,
}

/// Looks for substitutions.
struct Walker<'w, 's> {
    shapes: &'w Shapes<'s>,
    tables: Tables,
}

impl<'w, 's> Walker<'w, 's> {
    /// A walker that knows no substitution yet, with the tables of one that is done, if there are any.
    fn new(shapes: &'w Shapes<'s>, tables: Option<Tables>) -> Self {
        let mut tables = tables.unwrap_or_else(|| Tables::new(shapes));
        tables.valid = false;
        Walker { shapes, tables }
    }

    /// True if one substitution takes the terms of `from`, one of each kernel, to those of `to`.
    ///
    /// The last substitution is tried first, extended by what else is needed: elements of one
    /// row share most of theirs, and what it covers is not walked again.
    fn renames(&mut self, from: [TermId; 2], to: [TermId; 2], order: Order) -> bool {
        if self.tables.valid && self.extend(from, to, order) {
            return true;
        }
        self.tables.walk += 1;
        (self.tables.moved, self.tables.fixed) = (0, 0);
        self.extend(from, to, order)
    }

    /// Extends the substitution of this walk; if that fails it is not one any more.
    fn extend(&mut self, from: [TermId; 2], to: [TermId; 2], order: Order) -> bool {
        self.tables.visits = 0;
        self.tables.valid = (0..2).all(|k| self.extend_side(k, from[k], to[k], order));
        self.tables.valid
    }

    fn extend_side(&mut self, side: usize, from: TermId, to: TermId, order: Order) -> bool {
        self.tables.stack.clear();
        if !self.meet(side, from, to) {
            return false;
        }
        while let Some((x, y)) = self.tables.stack.pop() {
            if !self.descend(side, x, y, order) {
                return false;
            }
        }
        true
    }

    /// Takes note that a term goes to another; what is below them is looked at later.
    #[inline]
    fn meet(&mut self, side: usize, x: TermId, y: TermId) -> bool {
        let terms = &self.shapes.terms[side];
        let t = &mut self.tables;
        let image = &mut t.image[side][x.0 as usize];
        if image.0 == t.walk {
            return image.1 == y.0;
        }
        *image = (t.walk, y.0);
        t.visits += 1;
        let (from, to) = (terms.inputs[x.0 as usize], terms.inputs[y.0 as usize]);
        if from.is_none() {
            t.stack.push((x, y));
            return to.is_none() && t.visits <= RENAMING.visits;
        }
        // In an array of which elements may move all inputs are of one type.
        if from.array != to.array {
            return false;
        }
        let moves = &mut t.moves[from.number as usize];
        let origin = &mut t.origin[to.number as usize];
        if moves.0 == t.walk && moves.1 != to.number
            || origin.0 == t.walk && origin.1 != from.number
        {
            return false;
        }
        *moves = (t.walk, to.number);
        *origin = (t.walk, from.number);
        from == to || self.may(1 << from.array, 0)
    }

    /// Whether elements of these arrays may move, and parts that read those stay as they are.
    #[inline]
    fn may(&mut self, move_in: u64, stay_in: u64) -> bool {
        let t = &mut self.tables;
        t.moved |= move_in;
        t.fixed |= stay_in;
        t.moved & t.fixed == 0 && t.moved & !self.shapes.movable == 0
    }

    /// Meets what is below two terms, neither of which is an input.
    fn descend(&mut self, side: usize, x: TermId, y: TermId, order: Order) -> bool {
        let terms = &self.shapes.terms[side];
        let store = terms.store;
        if x == y {
            return self.may(0, terms.arrays[x.0 as usize]);
        }
        if store.label(x) != store.label(y) || terms.shape(x) != terms.shape(y) {
            return false;
        }
        let shape = |t: u32| terms.shape[t as usize];
        let swapped = |a, b, c| shape(a) != shape(b) && shape(a) == shape(c);
        if let (Term::Sum(p), Term::Sum(q)) | (Term::BitsSum(p), Term::BitsSum(q)) =
            (store.get(x), store.get(y))
        {
            let (p, _) = p.as_chunks::<2>();
            let (q, _) = q.as_chunks::<2>();
            let mut both = |a, b, c, d| {
                self.meet(side, TermId(a), TermId(c)) && self.meet(side, TermId(b), TermId(d))
            };
            return match order {
                Order::Ids => p.iter().zip(q).all(|(&[a, b], &[c, d])| {
                    let (c, d) = if swapped(a, c, d) { (d, c) } else { (c, d) };
                    both(a, b, c, d)
                }),
                Order::Inputs => {
                    let sorted = |products: &[[u32; 2]]| {
                        let mut all: Vec<_> = products.iter().map(|p| terms.ordered(p)).collect();
                        all.sort_unstable();
                        all
                    };
                    let pairs = sorted(p).into_iter().zip(sorted(q));
                    pairs
                        .into_iter()
                        .all(|((_, [a, b]), (_, [c, d]))| both(a, b, c, d))
                }
            };
        }
        let children = |t| {
            let mut out: SmallVec<[TermId; 4]> = SmallVec::new();
            store.children(t, |c| out.push(c));
            out
        };
        let (p, mut q) = (children(x), children(y));
        if store.commutes(x)
            && let ([a, b], [c, d]) = (&p[..], &mut q[..])
        {
            let less = |a: TermId, b: TermId| terms.key(a.0) < terms.key(b.0);
            let crossed = match order {
                Order::Ids => swapped(a.0, c.0, d.0),
                Order::Inputs => less(*a, *b) != less(*c, *d),
            };
            if crossed {
                std::mem::swap(c, d);
            }
        }
        p.len() == q.len() && p.into_iter().zip(q).all(|(a, b)| self.meet(side, a, b))
    }
}

/// Elements that may be renamings of each other.
struct Classes {
    /// The class of each element.
    of: Vec<Option<u32>>,
    /// The first element of each class.
    first: Vec<usize>,
}

impl Classes {
    fn new(shapes: &Shapes<'_>, elements: &[Element]) -> Self {
        let mut members: FxHashMap<u64, (usize, usize)> = FxHashMap::default();
        for (i, e) in elements.iter().enumerate() {
            if let Some(c) = shapes.class(e) {
                members.entry(c).or_insert((i, 0)).1 += 1;
            }
        }
        let large = members.values().filter(|&&(_, n)| n >= RENAMING.members);
        let mut first: Vec<usize> = large.map(|&(i, _)| i).collect();
        first.sort_unstable();
        let numbers = first.iter().enumerate();
        let numbers: FxHashMap<u64, u32> = numbers
            .filter_map(|(k, &i)| Some((shapes.class(&elements[i])?, k as u32)))
            .collect();
        let number = |e: &Element| numbers.get(&shapes.class(e)?).copied();
        Classes {
            of: elements.iter().map(number).collect(),
            first,
        }
    }
}

/// Whether the first, the middle and the last element are the same in both kernels. Then the others are too,
/// most likely, and making one store of both tells so at less cost than walks over long sums.
fn samples_are_equal(stores: [&TermStore; 2], elements: &[Element]) -> bool {
    let picked = [0, elements.len() / 2, elements.len() - 1].map(|i| elements[i].content);
    let mut both = TermStore::new();
    let [x, y] = [0, 1].map(|k| both.import_below(stores[k], &picked.map(|c| c[k])));
    x == y
}

/// For each element the one that it is a renaming of, itself if it is none: a proof of those that
/// stand for themselves proves all.
///
/// `stores` are the reference's and the optimized kernel's.
pub(super) fn representatives(
    stores: [&TermStore; 2],
    elements: &[Element],
    limits: &Limits,
) -> Vec<usize> {
    let themselves = || (0..elements.len()).collect();
    if elements.len() < RENAMING.elements || samples_are_equal(stores, elements) {
        return themselves();
    }
    let shapes = Shapes::new(stores, elements);
    let classes = Classes::new(&shapes, elements);
    if classes.first.is_empty() {
        return themselves();
    }
    // Tables of walkers that are done: it takes time to make them. The substitution in them counts no
    // more, for what extends it may not be found from the start, and which chunk was done is chance.
    let free: Mutex<Vec<Tables>> = Mutex::default();
    let size = elements.len().div_ceil(RENAMING.chunks).max(RENAMING.chunk);
    let parts = elements.par_chunks(size).enumerate();
    let chunks: Vec<Vec<usize>> = work::side_by_side(parts, |(n, chunk)| {
        let tables = free.lock().ok().and_then(|mut free| free.pop());
        let mut walker = Walker::new(&shapes, tables);
        // Members of each class, the last one first, and what stands for them: what comes next is
        // mostly like one of them in the order of its ids.
        let mut last: Vec<SmallVec<[(usize, usize); RENAMING.recent]>> =
            vec![SmallVec::new(); classes.first.len()];
        let mut find = |i: usize| {
            let Some(class) = classes.of[i].map(|c| c as usize) else {
                return i;
            };
            let first = classes.first[class];
            let late = limits.reached().is_some();
            let mut like = |j: usize, order: Order| {
                let (from, to) = (&elements[j], &elements[i]);
                let one_way = (from.array, from.bytes) == (to.array, to.bytes);
                i == j || one_way && !late && walker.renames(from.content, to.content, order)
            };
            let recent = &mut last[class];
            if let Some(k) = recent.iter().position(|&(j, _)| like(j, Order::Ids)) {
                let (_, stands) = recent.remove(k);
                recent.insert(0, (i, stands));
                return stands;
            }
            let is_like = like(first, Order::Ids) || like(first, Order::Inputs);
            let stands = if is_like { first } else { i };
            recent.truncate(RENAMING.recent - 1);
            recent.insert(0, (i, stands));
            stands
        };
        let start = n * size;
        let found = (start..start + chunk.len()).map(&mut find).collect();
        if let Ok(mut free) = free.lock() {
            free.push(walker.tables);
        }
        found
    });
    chunks.concat()
}

#[cfg(test)]
mod tests;
