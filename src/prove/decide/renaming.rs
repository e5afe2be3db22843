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
//! goes to one of the same array and the same type, no two go to one, and all that either kernel
//! reads of an array in which elements move are aligned elements of one type, so that they are
//! independent of each other; where facts speak of elements, these are not cut. Elements of an array that is said to be
//! sorted stay. Constants, unknowns and everything else stay what they are. A part that
//! both pairs share stays as it is, and nothing of it may move.
//!
//! match a read of an array at a place that data choose, `a[d + v]`; result `a[e + w]`, where the substitution takes the
//! integers of the index v to those of w, term by term with one coefficient each; because then v of the one content is w
//! of the other. Conditions: either `d = e`, and nothing of the array moves, so that both contents hold the same there; or all
//! that the pair reads of the array, at known places and at others, moves by one distance, `e - d`. The content for the first
//! pair is then the other one, turned around in the array by that distance. Facts alone have to keep every read of the array
//! at such a place, of either kernel, inside of it, for then no read goes around the end in either content; the array has a
//! known size and no known contents, and no premise speaks of it.
//!
//! Premises (that the places of the reference lie in their arrays) hold of every content that counts, so that they have to
//! hold of the one for the first pair. That has what the other one has at the places where the substitution comes from, and
//! elsewhere in the array the rest of it, in some order that takes each element to one of which the same is said. So
//! an element goes to one of which the same premises speak, apart from its offset; what a premise says
//! of more than one element together, or of a place that data choose, concerns arrays that stay.
//!
//! The way: elements of one row are mostly like the one before. Where they are not (each element of a softmax is another
//! function of its row) they are like the element of an earlier row whose terms look the same but for the
//! distance at which they read in each array; such elements have one key (`keys`), which proves nothing.
//!
//! Not claimed: that a substitution that exists is found. Operands are paired in the order of their ids,
//! which is that in which a kernel meets them, and if that fails in the order of the inputs among them.

use std::sync::{Mutex, OnceLock};

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::goal::Element;
use super::limits::RENAMING;
use crate::spec::{Arrays, Limits};
use crate::term::gather::{Place, distance};
use crate::term::questions::{Asked, Question};
use crate::term::{ArrayId, BitsOp, Term, TermId, TermStore};
use crate::work;

mod keys;
mod premises;
mod sliding;

use premises::Premises;

/// Arrays that are told apart; elements of further ones do not move.
const ARRAYS: usize = 62;

/// What rounding may turn over, as an array of its own behind all others.
const FLIPS: u32 = 63;

/// What a kernel reads of each array: the label of its inputs, and whether they are no aligned
/// elements of one type.
type Reads = [Option<([u32; 4], bool)>; ARRAYS];

/// The place of an array among those that are told apart.
fn slot(array: ArrayId) -> usize {
    (array.0 as usize).min(ARRAYS)
}

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
    /// Equal for terms that differ in offsets of known places and of arrays that slide, and in the order of products, at
    /// most; 0 for terms below no element.
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

/// What is asked of which terms, where rounding may turn the answer over.
fn asked(store: &TermStore, t: TermId) -> Option<Question> {
    let question = store.question(t).filter(|_| store.is_flip(t))?;
    // Operands are older than what is asked of them, wherever the simulator asks.
    let are_older = question.operands.iter().all(|x| *x < t);
    are_older.then_some(question)
}

/// What a term is made of: its operands, or those of its question.
fn operands(store: &TermStore, t: TermId, mut f: impl FnMut(TermId)) {
    match asked(store, t) {
        Some(q) => q.operands.into_iter().for_each(f),
        None => store.children(t, &mut f),
    }
}

/// The terms below roots, and these, by their ids.
fn below(store: &TermStore, roots: impl Iterator<Item = TermId>) -> Vec<bool> {
    let mut used = vec![false; store.len()];
    for t in roots {
        used[t.0 as usize] = true;
    }
    // Children have smaller ids than their parents.
    for i in (0..used.len()).rev() {
        if used[i] {
            operands(store, TermId(i as u32), |c| used[c.0 as usize] = true);
        }
    }
    used
}

/// The place that data choose at which a term reads, with its offset from there and its size.
fn chosen(store: &TermStore, t: TermId) -> Option<(&Place, u64, u64)> {
    let (array, off, bytes) = input(store, t)?;
    Some((store.place_of(array)?, off, bytes))
}

impl<'s> Terms<'s> {
    /// Looks at everything below the roots. Inputs are numbered by their ids. Elements of an array may be of a size that
    /// is at least as in `sizes`; `slides` are the arrays that may slide.
    fn new(
        store: &'s TermStore,
        roots: impl Iterator<Item = TermId>,
        slides: u64,
        sizes: &[u64; ARRAYS],
    ) -> (Self, Reads) {
        let (n, used) = (store.len(), below(store, roots));
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
            let mut read =
                |array: usize, label: [u32; 4], bytes: u64, aligned: &dyn Fn(i64) -> bool| {
                    if let Some(known) = reads.get_mut(array) {
                        let (first, mixed) = known.get_or_insert((label, false));
                        let size = bytes.max(sizes[array]) as i64;
                        *mixed |= *first != label || bytes == 0 || !aligned(size);
                    }
                };
            let element = input(store, t);
            if let Some((array, off, bytes)) = element
                && let Some(p) = store.place_of(array)
            {
                let array = slot(p.array);
                arrays = 1 << array;
                let at = distance(off);
                h = mix(mix(1, label[0].into()), p.array.0.into());
                if slides & 1 << array == 0 {
                    h = mix(h, off);
                }
                for &(x, k) in &p.form {
                    h = mix(mix(h, k as u64), s.shape[x.0 as usize]);
                    arrays |= s.arrays[x.0 as usize];
                    s.places[i] = s.places[i].min(s.places[x.0 as usize]);
                }
                read(array, [label[0], p.array.0, 0, 0], bytes, &|size| {
                    at % size == 0 && p.form.iter().all(|f| f.1 % size == 0)
                });
            } else if let Some((array, off, bytes)) = element {
                let array = slot(array);
                arrays = 1 << array;
                s.places[i] = off.saturating_mul(8);
                s.inputs[i] = Input {
                    array: array as u32,
                    number: i as u32,
                };
                read(array, label, bytes, &|size| off.is_multiple_of(size as u64));
            } else if let Some(q) = asked(store, t) {
                arrays = 1 << FLIPS;
                h = match q.asked {
                    Asked::Order(op) => mix(2, op as u64),
                    Asked::Class(class) => mix(3, class as u64),
                };
                h = mix(h, q.fmt.bits().into());
                for x in q.operands {
                    h = mix(h, s.shape[x.0 as usize]);
                    arrays |= s.arrays[x.0 as usize];
                }
                s.inputs[i] = Input {
                    array: FLIPS,
                    number: i as u32,
                };
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

/// The sizes of the elements of each array of which facts speak, in bytes; 1 for the others.
fn sizes_in_facts(stores: [&TermStore; 2]) -> [u64; ARRAYS] {
    let mut sizes = [1; ARRAYS];
    for store in stores {
        let integers = store.facts.all().iter();
        let integers = integers.map(|e| (e.array, u64::from(e.width) / 8));
        let floats = store.facts.numbers().iter();
        let floats = floats.map(|n| (n.array, u64::from(n.fmt.bits()) / 8));
        for (array, bytes) in integers.chain(floats) {
            if let Some(size) = sizes.get_mut(slot(array)) {
                *size = bytes.max(*size);
            }
        }
    }
    sizes
}

/// The terms of both kernels.
struct Shapes<'s> {
    terms: [Terms<'s>; 2],
    /// Arrays whose elements may move.
    movable: u64,
    /// Those of them of which all that moves has to move by one distance.
    slides: u64,
    /// True if data choose some place.
    has_places: bool,
    /// What premises say of inputs, by their numbers.
    premises: Premises,
    /// Numbers of inputs are below it.
    inputs: usize,
}

impl<'s> Shapes<'s> {
    fn new(stores: [&'s TermStore; 2], elements: &[Element], arrays: &Arrays) -> Self {
        let slides = sliding::arrays(stores, arrays);
        let sizes = sizes_in_facts(stores);
        let side = |k: usize| {
            let contents = elements.iter().map(|e| e.content[k]);
            let roots = contents.chain(stores[k].premises.iter().copied());
            Terms::new(stores[k], roots, slides, &sizes)
        };
        let ((a, reads), (mut b, more)) = work::both(|| side(0), || side(1));
        let mut movable = 0;
        for (i, both) in reads.iter().zip(&more).enumerate() {
            movable |= match both {
                (Some((l, false)), Some((m, false))) => u64::from(l == m) << i,
                (Some((_, mixed)), None) | (None, Some((_, mixed))) => u64::from(!mixed) << i,
                _ => 0,
            };
        }
        movable |= 1 << FLIPS;
        // An input has one number, whichever kernel reads it.
        let first = a.store.len();
        for (i, input) in b.inputs.iter_mut().enumerate() {
            if input.array == FLIPS {
                input.number += first as u32;
            } else if !input.is_none() {
                let same = a.store.same_input(b.store, TermId(i as u32));
                input.number = same.map_or((first + i) as u32, |t| t.0);
            }
        }
        let terms = [a, b];
        let inputs = first + terms[1].store.len();
        let premises = Premises::of(&terms, inputs);
        let slides = slides & !premises.arrays;
        // Proofs rest on orders of elements, and on what places that data choose have to do with known ones.
        for store in stores {
            let sorted = store.facts.all().iter().filter(|e| e.sorted);
            let chosen = store
                .chosen_arrays()
                .filter(|&a| slides & 1 << slot(a) == 0);
            for array in sorted.map(|e| e.array).chain(chosen) {
                movable &= !(1 << slot(array));
            }
        }
        Shapes {
            terms,
            movable: movable & !premises.fixed,
            slides,
            has_places: stores.iter().any(|s| s.has_places()),
            premises,
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
    /// The distance by which an array that slides has moved.
    slid: Vec<(u32, i64)>,
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
            slid: vec![(0, 0); if shapes.slides == 0 { 0 } else { ARRAYS }],
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
        if self.shapes.slides & 1 << from.array != 0 {
            let at = |t: TermId| (terms.places[t.0 as usize] / 8) as i64;
            return self.slide(from.array as usize, at(y) - at(x));
        }
        if from.array == FLIPS {
            return self.turn(side, (x, from == to), y);
        }
        from == to
            || self.may(1 << from.array, 0)
                && self.shapes.premises.are_alike(from.number, to.number)
    }

    /// Whether all that moves in an array may move by a distance.
    fn slide(&mut self, array: usize, by: i64) -> bool {
        let slid = &mut self.tables.slid[array];
        if slid.0 == self.tables.walk && slid.1 != by {
            return false;
        }
        *slid = (self.tables.walk, by);
        match by {
            0 => self.may(0, 1 << array),
            _ => self.may(1 << array, 0),
        }
    }

    /// Whether what rounding turns over in one test may go to that of another; what is below them is looked at later.
    fn turn(&mut self, side: usize, (x, stays): (TermId, bool), y: TermId) -> bool {
        if stays {
            let arrays = self.shapes.terms[side].arrays[x.0 as usize];
            return self.may(0, arrays & !(1 << FLIPS));
        }
        self.tables.stack.push((x, y));
        self.may(1 << FLIPS, 0)
    }

    /// Meets what is asked in two tests.
    fn ask(&mut self, side: usize, x: TermId, y: TermId) -> bool {
        let store = self.shapes.terms[side].store;
        let (Some(p), Some(q)) = (asked(store, x), asked(store, y)) else {
            return false;
        };
        let mut both = p.operands.into_iter().zip(q.operands);
        let alike = (p.asked, p.fmt) == (q.asked, q.fmt);
        alike && both.all(|(a, b)| self.meet(side, a, b))
    }

    /// Meets what chooses the places at which two terms read; `None` if nothing does.
    fn choose(&mut self, side: usize, x: TermId, y: TermId) -> Option<bool> {
        let store = self.shapes.terms[side].store;
        let ((p, from, _), (q, to, _)) = (chosen(store, x)?, chosen(store, y)?);
        let alike = store.label(x)[0] == store.label(y)[0]
            && p.array == q.array
            && p.form.len() == q.form.len()
            && p.form.iter().zip(&q.form).all(|(a, b)| a.1 == b.1);
        let (array, by) = (slot(p.array), distance(to) - distance(from));
        let stays = |w: &mut Self| match w.shapes.slides & 1 << array {
            0 => by == 0 && w.may(0, 1 << array),
            _ => w.slide(array, by),
        };
        let mut both = p.form.iter().zip(&q.form);
        Some(alike && stays(self) && both.all(|(a, b)| self.meet(side, a.0, b.0)))
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
        if terms.shape(x) != terms.shape(y) {
            return false;
        }
        if self.shapes.has_places
            && let Some(alike) = self.choose(side, x, y)
        {
            return alike;
        }
        if terms.inputs[x.0 as usize].array == FLIPS {
            return self.ask(side, x, y);
        }
        if store.label(x) != store.label(y) {
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

/// What a chunk knows of a class.
#[derive(Clone, Default)]
struct ClassState {
    /// Members, the last one first, and what stands for them: what comes next is mostly like one of them in the order
    /// of its ids.
    recent: SmallVec<[(usize, usize); RENAMING.recent]>,
    /// True if the last member was found by its key: the next one is in the same row, then.
    by_key: bool,
}

/// Finds what stands for the elements of a chunk, one after the other.
struct Finder<'f, 's> {
    elements: &'f [Element],
    classes: &'f Classes,
    /// For each element the first one with its key. Keys are made when the first of them is asked for, and no thread that
    /// waits for them works on something else.
    twins: &'f (dyn Fn() -> &'f [usize] + Sync),
    limits: &'f Limits,
    walker: Walker<'f, 's>,
    known: Vec<ClassState>,
}

impl Finder<'_, '_> {
    fn are_alike(&mut self, from: usize, to: usize, order: Order) -> bool {
        let (from, to) = (&self.elements[from], &self.elements[to]);
        (from.array, from.bytes) == (to.array, to.bytes)
            && self.limits.reached().is_none()
            && self.walker.renames(from.content, to.content, order)
    }

    /// The element with the same key, if this one is its renaming.
    fn twin(&mut self, i: usize, order: Order) -> Option<usize> {
        let twin = (self.twins)()[i];
        (twin != i && self.are_alike(twin, i, order)).then_some(twin)
    }

    /// An element that proves another, not after it: itself, or one that another may stand for in turn.
    fn find(&mut self, i: usize) -> usize {
        let Some(class) = self.classes.of[i].map(|c| c as usize) else {
            return i;
        };
        let mut recent = std::mem::take(&mut self.known[class].recent);
        let by_key = std::mem::take(&mut self.known[class].by_key);
        let mut stands = None;
        if by_key {
            stands = self.twin(i, Order::Ids);
            self.known[class].by_key = stands.is_some();
        }
        if stands.is_none() {
            let like = |&(j, _): &(usize, usize)| self.are_alike(j, i, Order::Ids);
            if let Some(k) = recent.iter().position(like) {
                stands = Some(recent.remove(k).1);
            }
        }
        let first = self.classes.first[class];
        let orders = [Order::Ids, Order::Inputs];
        if stands.is_none() && (i == first || orders.iter().any(|&o| self.are_alike(first, i, o))) {
            stands = Some(first);
        }
        if stands.is_none() {
            stands = orders.into_iter().find_map(|o| self.twin(i, o));
            self.known[class].by_key = stands.is_some();
        }
        let stands = stands.unwrap_or(i);
        recent.truncate(RENAMING.recent - 1);
        recent.insert(0, (i, stands));
        self.known[class].recent = recent;
        stands
    }
}

/// For each element the one that it is a renaming of, itself if it is none: a proof of those that
/// stand for themselves proves all.
///
/// `stores` are the reference's and the optimized kernel's.
pub(super) fn representatives(
    stores: [&TermStore; 2],
    elements: &[Element],
    arrays: &Arrays,
    limits: &Limits,
) -> Vec<usize> {
    let themselves = || (0..elements.len()).collect();
    if elements.len() < RENAMING.elements || samples_are_equal(stores, elements) {
        return themselves();
    }
    let shapes = Shapes::new(stores, elements, arrays);
    let classes = Classes::new(&shapes, elements);
    if classes.first.is_empty() {
        return themselves();
    }
    let twins: OnceLock<Vec<usize>> = OnceLock::new();
    let twins = || &twins.get_or_init(|| keys::twins(&shapes, elements))[..];
    // Tables of walkers that are done: it takes time to make them. The substitution in them counts no
    // more, for what extends it may not be found from the start, and which chunk was done is chance.
    let free: Mutex<Vec<Tables>> = Mutex::default();
    let size = elements.len().div_ceil(RENAMING.chunks).max(RENAMING.chunk);
    let parts = elements.par_chunks(size).enumerate();
    let chunks: Vec<Vec<usize>> = work::side_by_side(parts, |(n, chunk)| {
        let tables = free.lock().ok().and_then(|mut free| free.pop());
        let mut finder = Finder {
            elements,
            classes: &classes,
            twins: &twins,
            limits,
            walker: Walker::new(&shapes, tables),
            known: vec![ClassState::default(); classes.first.len()],
        };
        let start = n * size;
        let found = (start..start + chunk.len())
            .map(|i| finder.find(i))
            .collect();
        if let Ok(mut free) = free.lock() {
            free.push(finder.walker.tables);
        }
        found
    });
    // What stands for an element of another chunk may be like an earlier one.
    let mut stands = chunks.concat();
    for i in 0..stands.len() {
        stands[i] = stands[stands[i]];
    }
    stands
}

#[cfg(test)]
mod row_tests;
#[cfg(test)]
mod tests;
