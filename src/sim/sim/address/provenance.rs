//! How a number depends on where memory lies: bases, linear forms of them, and parts of those.
//!
//! The problem: a kernel may use no number of a layout that an allocator, the assembler or the
//! driver chooses, but volta computes with the numbers of a layout of its own. So a number that
//! comes from the base of an array, a variable, a parameter or a local frame carries, beside its
//! bits, how it would change with the layout. An access goes to the object that its address
//! carries, and a test is decided only if every layout decides it alike.
//!
//! The domain: under a layout L, a *linear* value of w bits is its number plus the sum of
//! coefficient times (L(base) - number of base), modulo 2^w; a value in *pieces* has runs of bits
//! that are those of linear values, and known bits elsewhere; a *choice* is one of two values by a
//! condition; what is *opaque* depends on bases in another way. A base lies at a multiple of its
//! alignment, and nothing else is known of it.
//!
//! Sound: an operation gives the provenance of its exact result for every layout, or an opaque one.
//!
//! Not claimed: that what is opaque does depend on a layout.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::kernel::Space;
use crate::sim::state::recorded;
use crate::term::TermId;

use super::super::region::RegionId;

/// An interned provenance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Prov(pub u32);

impl Prov {
    /// The value is the same for every layout.
    pub const NONE: Prov = Prov(0);
    /// The value depends on the layout in some way.
    pub const OPAQUE: Prov = Prov(1);
    /// The same of a value that is not zero.
    pub const NONZERO: Prov = Prov(2);

    /// True if no rule says how the value depends on the layout.
    pub fn is_lost(self) -> bool {
        self == Prov::OPAQUE || self == Prov::NONZERO
    }

    /// True if the value depends on no base.
    #[inline]
    pub fn is_none(self) -> bool {
        self == Prov::NONE
    }
}

/// Index of a base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct BaseId(pub u32);

/// Where a state space of the CTA or the thread lies in generic addresses.
pub(crate) const SHARED_WINDOW: BaseId = BaseId(0);
/// The same of local memory.
pub(crate) const LOCAL_WINDOW: BaseId = BaseId(1);
/// The same of parameters.
pub(crate) const PARAM_WINDOW: BaseId = BaseId(2);
/// The same of constant memory, whose addresses are the same numbers with and without it.
pub(crate) const CONST_WINDOW: BaseId = BaseId(3);

/// Windows begin at multiples of this power of two, so that what is aligned in its space is
/// aligned as a generic address.
pub(crate) const WINDOW_ALIGN: u8 = 24;

/// The bits of an address in the CTA's own shared memory: with its object it lies below 2^18.
pub(crate) const OWN_BITS: u8 = 18;

/// The bits of an address of a parameter or a local variable in its own space.
const SHORT_BITS: u8 = 32;

/// The object that a base is the base of, or a window.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Base {
    /// The state space; [`Space::Generic`] for a window.
    pub space: Space,
    /// The region that holds it.
    pub region: RegionId,
    /// The number that stands for it: its address in its own space, as volta lays it out.
    pub number: u64,
    /// Bytes from it on that belong to the object, where known.
    pub size: Option<u64>,
    /// It is a multiple of two to this.
    pub align: u8,
    /// An allocation, whose alignment nothing declares.
    pub allocated: bool,
    /// An allocation whose alignment the user says: it may lie at any multiple of it.
    pub said: bool,
    /// Bytes of the largest accesses that need no assumption of how the base is aligned.
    pub plain: u32,
    /// Of a base that is another one rounded: that one, and by how much this one lies above it at
    /// least and at most.
    pub rounded: Option<(BaseId, i64, i64)>,
}

/// A run of bits of a linear value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Piece {
    /// First bit in the value.
    pub at: u8,
    /// Number of bits.
    pub len: u8,
    /// First bit in the linear value.
    pub low: u8,
    /// Provenance of the linear value; [`Prov::OPAQUE`] for bits that no rule follows, and
    /// [`Prov::NONZERO`] if with these the value as a whole is not zero.
    pub of: Prov,
    /// Its number.
    pub whole: u64,
}

/// What an interned provenance says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Shape {
    /// No base.
    None,
    /// Some bases.
    Opaque,
    /// Coefficients of bases, by base; none is zero.
    Linear(Box<[(BaseId, u64)]>),
    /// Runs of bits, lowest first.
    Pieces(Box<[Piece]>),
    /// By a condition.
    Choice(TermId, Prov, Prov),
    /// The low or (true) the high word of a value of 64 bits that carries this.
    Half(Prov, bool),
    /// How far the next multiple above it of two to a power lies from a linear value, whose lowest bits are a number's.
    Ahead(Prov, u64, u8),
    /// Of the plan of an operation alone: its result is a condition, that a linear value, whose lowest bits are a number's,
    /// is a multiple of two to a power, or (false) is none.
    Multiple(Prov, u64, u8, bool),
    /// The same: its result is this number, which carries this.
    Settled(Prov, u64),
}

/// Where accesses through a provenance go.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Landing {
    /// The base.
    pub base: BaseId,
    /// The region.
    pub region: RegionId,
    /// An address of this number is the first byte of the region.
    pub origin: u64,
    /// The bytes of the object as offsets of the region.
    pub bounds: (i64, i64),
    /// How many of them at either end are out of reach for some rounding.
    pub spare: (i64, i64),
    /// Bytes of the largest access that is aligned wherever the object lies.
    pub most: u32,
}

/// Why an address leads to no object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Astray {
    /// It is derived from no base of its state space.
    Nowhere,
    /// It mixes bases, or parts of them.
    Mixed,
}

/// Offsets that are accessed through a base whose roundings are accessed too.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Touched {
    /// First.
    pub from: i64,
    /// End.
    pub to: i64,
}

/// All bases and provenances of a run.
#[derive(Clone, Debug)]
pub(crate) struct Provenances {
    /// The bases; windows first.
    pub bases: Vec<Base>,
    shapes: Vec<Shape>,
    ids: FxHashMap<Shape, Prov>,
    /// The base of a variable by space and offset, of an array by region.
    of_var: FxHashMap<(Space, u32), BaseId>,
    of_region: FxHashMap<RegionId, BaseId>,
    landings: FxHashMap<(Prov, Space), Result<Landing, Astray>>,
    /// Bases that are another one and an offset, rounded down to a multiple of two to a power.
    pub roundings: FxHashMap<(BaseId, u64, u8), BaseId>,
    /// Conditions that layouts decide: that a linear value is a multiple of two to a power.
    pub multiples: FxHashMap<TermId, (Prov, u64, u8)>,
    /// Whether a condition holds one of these.
    pub by_layout: FxHashMap<TermId, bool>,
    /// What is accessed through dynamic shared memory and its roundings, by base.
    pub touched: FxHashMap<BaseId, Touched>,
    /// Variables that accesses of so many bytes take for aligned to them.
    pub taken: FxHashMap<BaseId, u32>,
    /// The bits that were asked for above the alignment of a base.
    pub asked: BTreeMap<BaseId, u8>,
    /// The alignments of pinned bases as they are declared.
    pub declared: BTreeMap<BaseId, u8>,
    /// The alignments that listed assumptions give bases.
    pub assumed: BTreeMap<BaseId, u8>,
    /// The base of dynamic shared memory.
    pub dynamic: Option<BaseId>,
    /// The alignment of an allocation was used.
    pub used_alignment: bool,
    /// Bases whose alignment, which the user says, decided something.
    pub used_said: BTreeSet<BaseId>,
    /// Several CTAs run: an address of shared memory holds the rank of its own.
    pub ranks: bool,
    /// Something was refused: nothing that follows is true of all layouts.
    pub refused: bool,
}

recorded!(Provenances { bases, refused }
beside {
    shapes: "of terms",
    ids: "derived",
    landings: "derived",
    of_var: "said once",
    of_region: "said once",
    dynamic: "said once",
    ranks: "said once",
    roundings: "of terms",
    multiples: "of terms",
    by_layout: "of terms",
    touched: "found",
    taken: "found",
    asked: "found",
    declared: "said once",
    assumed: "found",
    used_alignment: "found",
    used_said: "found",
});

/// The low bits of a number.
pub(crate) fn low(bits: u8) -> u64 {
    match bits {
        0 => 0,
        b => u64::MAX >> (64 - b.min(64)),
    }
}

impl Provenances {
    /// The windows, which lie at these numbers.
    pub(crate) fn new(windows: [(RegionId, u64); 4]) -> Provenances {
        let window = |(region, number)| Base {
            space: Space::Generic,
            region,
            number,
            size: Some(0),
            align: WINDOW_ALIGN,
            allocated: false,
            said: false,
            plain: 1 << WINDOW_ALIGN,
            rounded: None,
        };
        let shapes = vec![Shape::None, Shape::Opaque, Shape::Opaque];
        Provenances {
            bases: windows.map(window).to_vec(),
            ids: FxHashMap::from_iter([(Shape::None, Prov::NONE), (Shape::Opaque, Prov::OPAQUE)]),
            shapes,
            of_var: FxHashMap::default(),
            of_region: FxHashMap::default(),
            landings: FxHashMap::default(),
            roundings: FxHashMap::default(),
            multiples: FxHashMap::default(),
            by_layout: FxHashMap::default(),
            touched: FxHashMap::default(),
            taken: FxHashMap::default(),
            asked: BTreeMap::new(),
            declared: BTreeMap::new(),
            assumed: BTreeMap::new(),
            dynamic: None,
            used_alignment: false,
            used_said: BTreeSet::new(),
            ranks: false,
            refused: false,
        }
    }

    /// Adds the base of a variable that is laid out at an offset of its space.
    pub(crate) fn add_variable(&mut self, at: u32, base: Base) -> BaseId {
        let id = BaseId(self.bases.len() as u32);
        // Of two variables at one place at most one has bytes.
        let old = self.of_var.get(&(base.space, at)).copied();
        if old.is_none_or(|o| self.bases[o.0 as usize].size == Some(0)) {
            self.of_var.insert((base.space, at), id);
        }
        self.bases.push(base);
        id
    }

    /// Adds the base of an array.
    pub(crate) fn add_array(&mut self, base: Base) {
        let id = BaseId(self.bases.len() as u32);
        self.of_region.insert(base.region, id);
        self.bases.push(base);
    }

    /// What a base is.
    pub(crate) fn base(&self, id: BaseId) -> &Base {
        &self.bases[id.0 as usize]
    }

    /// The provenance of the address of a variable in its own space.
    pub(crate) fn of_variable(&mut self, space: Space, at: u32) -> Prov {
        match self.of_var.get(&(space, at)) {
            Some(&b) => self.linear(&[(b, 1)]),
            None => Prov::NONE,
        }
    }

    /// The provenance of the address of an array.
    pub(crate) fn of_array(&mut self, region: RegionId) -> Prov {
        match self.of_region.get(&region) {
            Some(&b) => self.linear(&[(b, 1)]),
            None => Prov::NONE,
        }
    }

    /// The same of a variable of the module: of its address in its own state space, or its generic one.
    pub(crate) fn of_module(&mut self, region: RegionId, generic: bool) -> Prov {
        match self.of_region.get(&region) {
            Some(&b) if generic && self.base(b).space == Space::Const => {
                self.linear(&[(CONST_WINDOW, 1), (b, 1)])
            }
            _ => self.of_array(region),
        }
    }

    /// What a provenance says.
    pub(crate) fn shape(&self, p: Prov) -> &Shape {
        &self.shapes[p.0 as usize]
    }

    pub(crate) fn intern(&mut self, shape: Shape) -> Prov {
        if let Some(&p) = self.ids.get(&shape) {
            return p;
        }
        let p = Prov(self.shapes.len() as u32);
        self.shapes.push(shape.clone());
        self.ids.insert(shape, p);
        p
    }

    /// A linear form from coefficients in order of their bases.
    pub(crate) fn linear(&mut self, terms: &[(BaseId, u64)]) -> Prov {
        match terms.iter().all(|t| t.1 == 0) {
            true => Prov::NONE,
            false => {
                let kept = terms.iter().filter(|t| t.1 != 0).copied();
                self.intern(Shape::Linear(kept.collect()))
            }
        }
    }

    /// One of two by a condition.
    pub(crate) fn choice(&mut self, cond: TermId, a: Prov, b: Prov) -> Prov {
        match a == b {
            true => a,
            false => self.intern(Shape::Choice(cond, a, b)),
        }
    }

    /// The coefficients of a linear form; `None` for any other shape.
    pub(crate) fn terms(&self, p: Prov) -> Option<&[(BaseId, u64)]> {
        match self.shape(p) {
            Shape::None => Some(&[]),
            Shape::Linear(l) => Some(l),
            _ => None,
        }
    }

    /// True for a linear value that is the same modulo two to the width: a sum of that width with a number carries what
    /// the value carries.
    pub(crate) fn is_linear_within(&self, p: Prov, width: u8) -> bool {
        match self.shape(p) {
            Shape::Linear(terms) => terms.iter().all(|t| t.1 <= low(width)),
            _ => false,
        }
    }

    /// True if some bits of the value depend on the layout in a way that no rule follows.
    pub(crate) fn is_vague(&self, p: Prov) -> bool {
        match self.shape(p) {
            Shape::Opaque | Shape::Ahead(..) | Shape::Multiple(..) | Shape::Settled(..) => true,
            Shape::Pieces(all) => all.iter().any(|q| q.of.is_lost()),
            Shape::None | Shape::Linear(_) | Shape::Choice(..) | Shape::Half(..) => false,
        }
    }

    /// True of a value that is not zero under any layout, as it is marked.
    pub(crate) fn is_not_zero(&self, p: Prov) -> bool {
        match self.shape(p) {
            Shape::Pieces(all) => all.iter().any(|q| q.of == Prov::NONZERO),
            Shape::None | Shape::Opaque | Shape::Linear(_) => p == Prov::NONZERO,
            Shape::Choice(..) | Shape::Half(..) => false,
            Shape::Ahead(..) | Shape::Multiple(..) | Shape::Settled(..) => false,
        }
    }

    /// The same of a value that is not zero, if it is vague.
    pub(crate) fn not_zero(&mut self, p: Prov) -> Prov {
        let mut pieces = match self.shape(p) {
            Shape::Opaque => return Prov::NONZERO,
            Shape::Pieces(all) => all.clone(),
            Shape::None | Shape::Linear(_) | Shape::Choice(..) | Shape::Half(..) => return p,
            Shape::Ahead(..) | Shape::Multiple(..) | Shape::Settled(..) => return p,
        };
        let lost = pieces.iter_mut().filter(|q| q.of.is_lost());
        lost.for_each(|q| q.of = Prov::NONZERO);
        self.intern(Shape::Pieces(pieces))
    }

    /// a + k b, modulo two to the width.
    pub(crate) fn sum(&mut self, a: Prov, b: Prov, k: u64, width: u8) -> Option<Prov> {
        let (x, y) = (self.terms(a)?, self.terms(b)?);
        let mut out: Vec<(BaseId, u64)> = x.to_vec();
        for &(base, c) in y {
            let c = c.wrapping_mul(k);
            match out.iter_mut().find(|t| t.0 == base) {
                Some(t) => t.1 = t.1.wrapping_add(c),
                None => out.push((base, c)),
            }
        }
        out.iter_mut().for_each(|t| t.1 &= low(width));
        out.sort_unstable();
        Some(self.linear(&out))
    }

    /// The power of two that divides how far a linear value moves with the layout.
    pub(crate) fn aligned(&self, p: Prov) -> u8 {
        let terms = self.terms(p).unwrap_or(&[]);
        let each = terms
            .iter()
            .map(|&(b, c)| self.base(b).align as u32 + c.trailing_zeros());
        each.min().unwrap_or(64).min(64) as u8
    }

    /// The object that a linear value points to, with its offset, if it is an address in some
    /// space: one base, beside a window.
    pub(crate) fn pointed(&self, p: Prov, number: u64) -> Option<(BaseId, i64)> {
        let objects = |t: &&(BaseId, u64)| self.base(t.0).space != Space::Generic;
        let terms = self.terms(p)?;
        let mut all = terms.iter().filter(objects);
        let (&(base, 1), None) = (all.next()?, all.next()) else {
            return None;
        };
        let mut at = self.base(base).number;
        for &(window, c) in terms.iter().filter(|t| t.0 != base) {
            at = at.wrapping_add(self.base(window).number.wrapping_mul(c));
        }
        Some((base, self.beside_rank(base, number.wrapping_sub(at))))
    }

    /// True for the address in the CTA's own shared memory of a byte of an object, or of its end.
    pub(crate) fn is_own(&self, p: Prov, number: u64) -> bool {
        let Some([(base, 1)]) = self.terms(p) else {
            return false;
        };
        let b = self.base(*base);
        let off = self.beside_rank(*base, number.wrapping_sub(b.number)) as u64;
        b.space == Space::Shared && off <= b.size.unwrap_or(1 << OWN_BITS)
    }

    /// A distance from a base, without the rank of a CTA.
    fn beside_rank(&self, base: BaseId, off: u64) -> i64 {
        match self.ranks && self.base(base).space == Space::Shared {
            true => super::super::cluster::split(off as i64).1,
            false => off as i64,
        }
    }

    /// The number of bits of a linear value of a width that may be ones.
    pub(crate) fn significant(&self, p: Prov, number: u64, width: u8) -> u8 {
        match self.is_own(p, number) {
            true => OWN_BITS.min(width),
            false if self.is_short(p, number) => SHORT_BITS.min(width),
            false => width,
        }
    }

    /// True for the address of a byte of a parameter, or of a local variable, in its own space: it may be taken in 32 bits
    /// and extended by zeros (PTX ISA 9.3, section 9.7.9.22).
    fn is_short(&self, p: Prov, number: u64) -> bool {
        let Some([(base, 1)]) = self.terms(p) else {
            return false;
        };
        let b = self.base(*base);
        matches!(b.space, Space::Param | Space::Local)
            && b.size
                .is_some_and(|size| number.wrapping_sub(b.number) <= size)
    }

    /// The object whose address the field of a matrix descriptor holds.
    pub(crate) fn field(&self, p: Prov) -> Result<BaseId, Astray> {
        match self.shape(p) {
            Shape::None => Err(Astray::Nowhere),
            Shape::Pieces(all) => match (&all[..], self.terms(all[0].of)) {
                ([q], Some([(base, 1)]))
                    // What lies below is known where the object is aligned so far.
                    if q.low == q.at + 4
                        && (q.at == 0 || q.low <= self.aligned(q.of))
                        && q.low + q.len == OWN_BITS
                        && self.is_own(q.of, q.whole) =>
                {
                    Ok(*base)
                }
                _ => Err(Astray::Mixed),
            },
            _ => Err(Astray::Mixed),
        }
    }

    /// Where accesses of a state space through a provenance go.
    pub(crate) fn landing(&mut self, p: Prov, space: Space) -> Result<Landing, Astray> {
        if let Some(known) = self.landings.get(&(p, space)) {
            return *known;
        }
        let found = self.find_landing(p, space);
        self.landings.insert((p, space), found);
        found
    }

    fn find_landing(&self, p: Prov, space: Space) -> Result<Landing, Astray> {
        let terms = match self.shape(p) {
            Shape::None => return Err(Astray::Nowhere),
            Shape::Linear(l) => l,
            _ => return Err(Astray::Mixed),
        };
        let is_window = |b: BaseId| self.base(b).space == Space::Generic;
        let mut objects = terms.iter().filter(|t| !is_window(t.0));
        let (id, b) = match (objects.next(), objects.next()) {
            (Some(&(id, 1)), None) => (id, self.base(id)),
            (None, _) => return Err(Astray::Nowhere),
            _ => return Err(Astray::Mixed),
        };
        let window = match b.space {
            Space::Shared => Some(SHARED_WINDOW),
            Space::Local => Some(LOCAL_WINDOW),
            Space::Param => Some(PARAM_WINDOW),
            Space::Const => Some(CONST_WINDOW),
            Space::Generic | Space::Global | Space::SharedCluster => None,
        };
        let windows: Vec<(BaseId, u64)> =
            terms.iter().filter(|t| is_window(t.0)).copied().collect();
        let own = match space {
            Space::Generic => window.is_none(),
            Space::SharedCluster => b.space == Space::Shared,
            s => b.space == s,
        };
        let wanted = window.filter(|_| space == Space::Generic).map(|w| (w, 1));
        if !own && wanted.is_none() || windows != Vec::from_iter(wanted) {
            // The address of a variable in its own space, or a generic one, elsewhere.
            let generic = Vec::from_iter(window.map(|w| (w, 1))) == windows;
            // A parameter may be declared to point to constant memory.
            let may_point = space == Space::Const && b.space == Space::Global;
            let global = matches!(space, Space::Global | Space::Const);
            return Err(
                match !may_point && (windows.is_empty() || generic && global) {
                    true => Astray::Nowhere,
                    false => Astray::Mixed,
                },
            );
        }
        let o = self.base(b.rounded.map_or(id, |r| r.0));
        let origin = match (window, wanted) {
            (Some(CONST_WINDOW), _) | (None, _) => o.number,
            (Some(_), Some((w, _))) => self.base(w).number,
            (Some(_), None) => 0,
        };
        Ok(Landing {
            base: id,
            region: o.region,
            origin,
            bounds: self.bounds(id),
            spare: self.spare(id),
            most: self.most(id),
        })
    }

    /// True of a generic address of an object of a space.
    pub(crate) fn leads_to(&mut self, p: Prov, space: Space) -> bool {
        let found = self.landing(p, Space::Generic);
        found.is_ok_and(|l| self.base(l.base).space == space)
    }

    /// The space that a window is of.
    pub(crate) fn space_of_window(&self, window: BaseId) -> Space {
        match window {
            SHARED_WINDOW => Space::Shared,
            LOCAL_WINDOW => Space::Local,
            CONST_WINDOW => Space::Const,
            _ => Space::Param,
        }
    }

    /// What a value carries for another thread, whose local memory is its own.
    pub(crate) fn elsewhere(&self, p: Prov) -> Prov {
        let mut open = vec![p];
        while let Some(p) = open.pop() {
            match self.shape(p) {
                Shape::None | Shape::Opaque => {}
                Shape::Linear(terms) => {
                    let local = |b: &Base| b.space == Space::Local;
                    if terms
                        .iter()
                        .any(|t| t.0 == LOCAL_WINDOW || local(self.base(t.0)))
                    {
                        return Prov::OPAQUE;
                    }
                }
                Shape::Pieces(all) => open.extend(all.iter().map(|q| q.of)),
                Shape::Choice(_, x, y) => open.extend([*x, *y]),
                Shape::Half(of, _) => open.push(*of),
                Shape::Ahead(of, ..) | Shape::Multiple(of, ..) | Shape::Settled(of, _) => {
                    open.push(*of);
                }
            }
        }
        p
    }

    /// The bytes of an object as offsets of its region.
    pub(crate) fn bounds(&self, id: BaseId) -> (i64, i64) {
        let b = self.base(id);
        let o = self.base(b.rounded.map_or(id, |r| r.0));
        let start = match o.space {
            Space::Global | Space::Const | Space::Generic => 0,
            _ => o.number as i64,
        };
        // What is larger than half a window is as good as without end.
        let size = o.size.map_or(1 << 39, |s| s.min(1 << 39) as i64);
        (start, start + size)
    }

    #[cold]
    fn take_for_aligned(&mut self, base: BaseId, size: u32) {
        let b = &mut self.bases[base.0 as usize];
        b.plain = size;
        match (b.allocated, b.said) {
            (true, _) => self.used_alignment = true,
            (false, true) => _ = self.used_said.insert(base),
            (false, false) => {
                self.taken.insert(base, size);
                self.assume_aligned(base, size.trailing_zeros() as u8);
            }
        }
    }

    /// Notes accesses of a size from an offset of the region to another.
    #[inline]
    pub(crate) fn touch(&mut self, base: BaseId, (from, to): (i64, i64), size: u32) {
        let b = *self.base(base);
        if size > b.plain {
            self.take_for_aligned(base, size);
        }
        if b.space != Space::Shared {
            return;
        }
        if self.dynamic != Some(base) && b.rounded.is_none() {
            return;
        }
        let t = self.touched.entry(base).or_insert(Touched { from, to });
        t.from = t.from.min(from);
        t.to = t.to.max(to);
    }
}
