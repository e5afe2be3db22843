//! The DAG of values: hash-consed, children before parents, equal ids are equal terms.
//!
//! Three sorts share one id space. *Reals* are what float arithmetic computes; *bits* (1 to 64
//! wide) are what registers and memory hold; *booleans* are predicates. The two worlds meet in
//! [`Term::OfReal`] (the encoding of a real in a format) and in [`Term::Elem`]/[`Term::Bytes`]
//! (the same input bytes as a number and as bits).
//!
//! A node is 16 bytes in one flat array; lists and constants live beside it. Ids are assigned in
//! construction order and a child always has a smaller id than its parent, so every pass over
//! terms is a loop over ids: nothing here or above recurses over terms.
//!
//! What is not claimed: smart constructors (`build.rs`) simplify locally and never decide
//! equality; that is the work of `norm`.

use std::hash::{Hash, Hasher};

use hashbrown::HashTable;
use indexmap::IndexSet;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};
use rustc_hash::{FxBuildHasher, FxHasher};

use crate::scalar::Fmt;
use crate::work;

pub mod approx;
mod arith;
mod bits;
mod bits_sum;
mod bitval;
mod build;
mod compare_sums;
pub mod conditions;
pub mod dyadic;
pub mod elimination;
mod encoding;
pub mod enumerate;
mod equation;
pub mod eval;
#[cfg(test)]
mod eval_tests;
mod fact_numbers;
pub mod facts;
mod fields;
mod fold;
pub mod gather;
mod import;
mod inputs;
mod integer;
pub mod interval;
pub mod left;
pub mod linear;
mod loose;
mod machine;
pub mod made;
mod makers;
pub mod orders;
pub mod overflow;
pub mod premised;
mod products;
pub mod questions;
mod range;
pub mod rebuild;
pub mod samples;
mod series;
pub mod show;
mod surround;
mod value;
mod view;
mod walk;
pub mod word;

pub use bits::{fold_bits, fold_compare, sext};
pub use encoding::layout;
pub use import::{Copied, Serials};
pub use left::Left;
pub use loose::Agreement;
pub use loose::embeds;
pub use machine::{least, root, round};
pub(crate) use surround::enclosed;
pub use view::{BitsOp, Class, Fun, ICmp, RCmp, Term, pairs};

/// A term of a [`TermStore`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TermId(pub u32);

/// An array or scalar parameter, or a module variable, named the same in both kernels of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArrayId(pub u32);

impl ArrayId {
    /// The array whose element 0 is log2(e), a real that no kernel can hold: what a rounded
    /// constant may be read as.
    pub const CONSTANTS: ArrayId = ArrayId(u32::MAX);
    /// The array whose element 0 stands for a real below all others, which no kernel holds either.
    pub const LOWEST: ArrayId = ArrayId(u32::MAX - 1);
    /// The array whose elements stand for the constants of a kernel that stay whole while it is lifted.
    pub const NUMBERS: ArrayId = ArrayId(u32::MAX - 2);
    /// The array whose elements stand for sums that two kernels share.
    pub const SUMS: ArrayId = ArrayId(u32::MAX - 3);
}

/// Index of a constant in the store's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConstId(pub u32);

/// What a term denotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sort {
    /// An extended real.
    Real,
    /// A truth value.
    Bool,
    /// A bit vector of this width.
    Bits(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Node {
    tag: u8,
    aux: u8,
    width: u16,
    a: u32,
    b: u32,
    c: u32,
}

/// The hash-consed store of one kernel, or of a pair after [`TermStore::import`].
#[derive(Clone, Debug, Default)]
pub struct TermStore {
    nodes: Vec<Node>,
    /// What is known of each term: [`TOTAL`], [`LOOSE`], [`HOLES`].
    flags: Vec<u8>,
    /// True once a term that takes the bits of a rounded number was built.
    has_loose: bool,
    /// True once a value that was never written was.
    has_holes: bool,
    /// True once bits of two rounded numbers met in an operation that kept less than both.
    merged: bool,
    /// By which operation each computed real was made.
    makers: makers::Makers,
    /// True if a choice keeps the comparison that was written, where its negation would do: what is not total where it
    /// is built again must stay what it is.
    pub as_written: bool,
    /// True once rounding may turn a test over.
    has_flips: bool,
    /// What each of these tests asks, by the number of its unknown.
    questions: rustc_hash::FxHashMap<u32, questions::Question>,
    /// True if every hyperbolic tangent stands for the code of a library, or is what a formula says: none is that of
    /// `tanh.approx`, which has half of the digits.
    pub library_tanh: bool,
    table: HashTable<Entry>,
    lists: Vec<u32>,
    inputs: inputs::Inputs,
    consts: IndexSet<BigRational, FxBuildHasher>,
    /// Places that data choose, by what their ids are above the first.
    places: IndexSet<gather::Place, FxBuildHasher>,
    /// The operations of words.
    operations: IndexSet<word::Operation, FxBuildHasher>,
    /// The instruction that made a word first.
    origins: rustc_hash::FxHashMap<TermId, (u32, crate::scalar::Pc)>,
    /// True once writes came in an order that decides which NaN memory holds, and nothing else.
    nan_by_order: bool,
    /// What the user says of the data.
    pub facts: std::sync::Arc<facts::Facts>,
    /// What holds of all inputs that count.
    pub premises: Vec<TermId>,
}

/// The term is defined and finite for all real inputs.
const TOTAL: u8 = 1;
/// The term takes the bits of a number that was rounded, and does not say by which operations.
const LOOSE: u8 = 2;
/// A value that was never written stands below the term.
const HOLES: u8 = 4;

/// A term in the hash table, with its hash: to place it anew or to pass over it, its node, which is
/// somewhere else in memory, is not looked at.
#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u32,
    id: u32,
}

impl Entry {
    /// What the table goes by: its lowest and its highest bits.
    fn spread(hash: u32) -> u64 {
        hash as u64 | (hash as u64) << 32
    }

    fn place(&self) -> u64 {
        Entry::spread(self.hash)
    }
}

fn hash_node(n: &Node) -> u32 {
    let mut h = FxHasher::default();
    (n.tag as u32 | (n.aux as u32) << 8 | (n.width as u32) << 16).hash(&mut h);
    // Where a list stands says nothing.
    if !view::is_list(n.tag) {
        n.a.hash(&mut h);
    }
    n.b.hash(&mut h);
    n.c.hash(&mut h);
    fold(h.finish())
}

fn fold(h: u64) -> u32 {
    (h ^ h >> 32) as u32
}

/// What the node of a list keeps of what is in it: lists are long, and hashed once.
fn hash_list(list: &[u32]) -> u32 {
    let mut h = FxHasher::default();
    list.hash(&mut h);
    fold(h.finish())
}

/// Where an input stands in the flat tables, if it is aligned.
fn flat_place(node: &Node) -> Option<(u64, usize)> {
    let off = (node.c as u64) << 32 | node.b as u64;
    let bits = match node.tag {
        view::ELEM => Fmt::ALL[node.aux as usize].bits(),
        _ => node.width as u32,
    };
    let index = inputs::Inputs::index(off, bits as u64 / 8)?;
    let key = (node.a as u64) << 32
        | (node.width as u64) << 16
        | (node.aux as u64) << 8
        | node.tag as u64;
    Some((key, index))
}

impl TermStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of terms; ids are `0..len`.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Memory in bytes that the terms take, constants aside.
    pub fn footprint(&self) -> u64 {
        self.nodes.capacity() as u64 * 17
            + self.table.capacity() as u64 * 9
            + self.lists.capacity() as u64 * 4
            + self.inputs.footprint()
    }

    /// True if there is no term.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// True if the term is defined and finite for every real input: nothing partial, infinite or
    /// undefined stands below it.
    pub fn is_total(&self, t: TermId) -> bool {
        self.flags[t.0 as usize] & TOTAL != 0
    }

    /// Number of constants; their ids are below it.
    pub fn constant_count(&self) -> usize {
        self.consts.len()
    }

    /// The value of a constant.
    pub fn constant(&self, c: ConstId) -> &BigRational {
        &self.consts[c.0 as usize]
    }

    /// The rational value of a real term that is a constant.
    pub fn as_const(&self, t: TermId) -> Option<&BigRational> {
        match self.get(t) {
            Term::Const(c) => Some(self.constant(c)),
            _ => None,
        }
    }

    /// The value of a bit-vector term that is a constant.
    pub fn as_bits(&self, t: TermId) -> Option<u64> {
        match self.get(t) {
            Term::BitsConst { value, .. } => Some(value),
            _ => None,
        }
    }

    /// The value of a boolean term that is a constant.
    pub fn as_bool(&self, t: TermId) -> Option<bool> {
        match self.get(t) {
            Term::Bool(b) => Some(b),
            _ => None,
        }
    }

    fn insert(&mut self, node: Node, total: bool) -> TermId {
        let hash = hash_node(&node);
        match self.find(hash, |n| *n == node) {
            Some(t) => t,
            None => self.append(hash, node, total),
        }
    }

    /// The term with a hash of which `same` holds.
    #[inline]
    fn find(&self, hash: u32, same: impl Fn(&Node) -> bool) -> Option<TermId> {
        let nodes = &self.nodes;
        let same = |e: &Entry| e.hash == hash && same(&nodes[e.id as usize]);
        let found = self.table.find(Entry::spread(hash), same);
        found.map(|e| TermId(e.id))
    }

    /// Inserts the list that stands at the end of all lists, from `start` on.
    fn insert_list(&mut self, (tag, width): (u8, u16), start: usize, total: bool) -> TermId {
        let hash = hash_list(&self.lists[start..]);
        self.insert_hashed((tag, width), start, hash, total)
    }

    /// As [`insert_list`](Self::insert_list) with what [`hash_list`] says of it.
    fn insert_hashed(
        &mut self,
        (tag, width): (u8, u16),
        start: usize,
        of_list: u32,
        total: bool,
    ) -> TermId {
        let lists = &self.lists;
        let list = &lists[start..];
        let node = view::node(tag, 0, width, start as u32, list.len() as u32, of_list);
        let hash = hash_node(&node);
        let same = |n: &Node| {
            Node { a: node.a, ..*n } == node && &lists[n.a as usize..][..n.b as usize] == list
        };
        if let Some(t) = self.find(hash, same) {
            self.lists.truncate(start);
            return t;
        }
        self.append(hash, node, total)
    }

    fn append(&mut self, hash: u32, node: Node, total: bool) -> TermId {
        let id = self.push(node, total);
        let entry = Entry { hash, id: id.0 };
        self.table.insert_unique(entry.place(), entry, Entry::place);
        id
    }

    fn push(&mut self, node: Node, total: bool) -> TermId {
        let id = self.nodes.len() as u32;
        work::spend(1);
        let loose = self.takes_bits(&node);
        self.has_loose |= loose;
        self.nodes.push(node);
        self.flags
            .push((u8::from(total) * TOTAL) | (u8::from(loose) * LOOSE));
        let is_hole = node.tag == view::POISON;
        self.has_holes |= is_hole;
        if self.has_holes && !total {
            let mut below = is_hole;
            self.children(TermId(id), |c| below |= self.has_hole(c));
            self.flags[id as usize] |= u8::from(below) * HOLES;
        }
        TermId(id)
    }

    /// True if a value that was never written stands below a term.
    pub(crate) fn has_hole(&self, t: TermId) -> bool {
        self.flags[t.0 as usize] & HOLES != 0
    }

    /// Inserts an input element or bytes of one, found again by its offset.
    #[inline]
    fn insert_input(&mut self, node: Node) -> TermId {
        let Some((key, index)) = flat_place(&node) else {
            return self.insert(node, true);
        };
        if let Some(id) = self.inputs.get(key, index) {
            return TermId(id);
        }
        if self.inputs.has_strays()
            && let Some(t) = self.find(hash_node(&node), |n| *n == node)
        {
            return t;
        }
        match self.inputs.keep(key, index, self.nodes.len() as u32) {
            true => self.push(node, true),
            false => self.append(hash_node(&node), node, true),
        }
    }

    /// The input of this store that is the input `t` of another.
    pub fn same_input(&self, other: &TermStore, t: TermId) -> Option<TermId> {
        let node = other.nodes[t.0 as usize];
        let (key, index) = flat_place(&node).unzip();
        if let Some(id) = key.and_then(|k| self.inputs.peek(k, index?)) {
            return Some(TermId(id));
        }
        self.find(hash_node(&node), |n| *n == node)
    }

    fn const_id(&mut self, value: BigRational) -> ConstId {
        ConstId(self.consts.insert_full(value).0 as u32)
    }

    /// The real constant `value`.
    pub fn rational(&mut self, value: BigRational) -> TermId {
        let c = self.const_id(value);
        self.insert(view::node(view::CONST, 0, 0, c.0, 0, 0), true)
    }

    /// The real constant `value`.
    pub fn integer(&mut self, value: i64) -> TermId {
        self.rational(BigRational::from_integer(BigInt::from(value)))
    }

    fn is_value(&self, t: TermId, one: bool) -> bool {
        match self.as_const(t) {
            Some(c) if one => c.is_one(),
            Some(c) => c.is_zero(),
            None => false,
        }
    }

    /// True if `t` is the real constant 0.
    pub fn is_zero(&self, t: TermId) -> bool {
        self.is_value(t, false)
    }

    /// True if `t` is the real constant 1.
    pub fn is_one(&self, t: TermId) -> bool {
        self.is_value(t, true)
    }
}

/// The exact value of a finite float given by its bits; `Err` says why there is none.
pub fn decode(fmt: Fmt, bits: u64) -> Result<BigRational, NotFinite> {
    // (exponent bits, mantissa bits, bias, has infinities, only the all-ones mantissa is NaN)
    let (eb, mb, bias, ieee): (u32, u32, i64, bool) = match fmt {
        Fmt::F16 => (5, 10, 15, true),
        Fmt::Bf16 => (8, 7, 127, true),
        Fmt::F32 | Fmt::Tf32 => (8, 23, 127, true),
        Fmt::F64 => (11, 52, 1023, true),
        Fmt::E5m2 => (5, 2, 15, true),
        Fmt::E4m3 => (4, 3, 7, false),
        Fmt::E2m3 => (2, 3, 1, false),
        Fmt::E3m2 => (3, 2, 3, false),
        Fmt::E2m1 => (2, 1, 1, false),
        Fmt::Ue8m0 => {
            let e = bits & 0xff;
            if e == 0xff {
                return Err(NotFinite::Nan);
            }
            return Ok(pow2(e as i64 - 127));
        }
    };
    let mant = bits & ((1 << mb) - 1);
    let exp = (bits >> mb) & ((1 << eb) - 1);
    let neg = bits >> (mb + eb) & 1 == 1;
    if ieee && exp == (1 << eb) - 1 {
        return Err(match (mant, neg) {
            (0, false) => NotFinite::PosInf,
            (0, true) => NotFinite::NegInf,
            _ => NotFinite::Nan,
        });
    }
    if fmt == Fmt::E4m3 && exp == 15 && mant == 7 {
        return Err(NotFinite::Nan);
    }
    let (m, e) = if exp == 0 {
        (mant, 1 - bias - mb as i64)
    } else {
        (mant | 1 << mb, exp as i64 - bias - mb as i64)
    };
    let m = BigRational::from_integer(BigInt::from(m)) * pow2(e);
    Ok(if neg { -m } else { m })
}

/// The bits of a rational in a float format, if it is exactly representable. Zero has no unique
/// encoding (two signs) and gives `None`; so do values that only a rounding could represent.
pub fn encode_exact(fmt: Fmt, value: &BigRational) -> Option<u64> {
    // A real zero has no sign, and a format of exponents alone has other rules.
    if value.is_zero() || fmt == Fmt::Ue8m0 {
        return None;
    }
    let neg = *value < BigRational::zero();
    let v = if neg { -value } else { value.clone() };
    let (eb, mb): (u32, u32) = match fmt {
        Fmt::F16 => (5, 10),
        Fmt::Bf16 => (8, 7),
        Fmt::F64 => (11, 52),
        Fmt::F32 | Fmt::Tf32 | Fmt::Ue8m0 => (8, 23),
        Fmt::E4m3 => (4, 3),
        Fmt::E5m2 => (5, 2),
        Fmt::E2m3 => (2, 3),
        Fmt::E3m2 => (3, 2),
        Fmt::E2m1 => (2, 1),
    };
    let bias = (1i64 << (eb - 1)) - 1;
    // Formats without infinities use the largest exponent for numbers too.
    let infinite = !matches!(fmt, Fmt::E4m3 | Fmt::E2m3 | Fmt::E3m2 | Fmt::E2m1);
    // v = n / 2^k for a finite float.
    let d = v.denom();
    let k = d.bits() as i64 - 1;
    if *d != BigInt::one() << k as usize {
        return None;
    }
    let msb = v.numer().bits() as i64 - 1 - k;
    let e = msb.max(1 - bias);
    if e > bias + i64::from(!infinite) {
        return None;
    }
    let m = &v * pow2(mb as i64 - e);
    if !m.is_integer() {
        return None;
    }
    let m: u64 = m.to_integer().try_into().ok()?;
    let exp = if m >> mb == 0 { 0 } else { (e + bias) as u64 };
    let magnitude = exp << mb | (m & ((1 << mb) - 1));
    if fmt == Fmt::E4m3 && magnitude == 0x7f {
        return None;
    }
    Some((neg as u64) << (eb + mb) | magnitude)
}

/// Two to an integer power.
pub fn pow2(e: i64) -> BigRational {
    let p = BigInt::one() << e.unsigned_abs() as usize;
    if e >= 0 {
        BigRational::from_integer(p)
    } else {
        BigRational::new_raw(BigInt::one(), p)
    }
}

/// Why bits are not a finite number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotFinite {
    /// Plus infinity.
    PosInf,
    /// Minus infinity.
    NegInf,
    /// Not a number.
    Nan,
}
