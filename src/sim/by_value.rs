//! Racing reads of which every racing write is made.
//!
//! Problem: each lane of a warp reads its element, the lanes add up by shuffles, and each stores the sum to one place,
//! which is also the element of one of them. Nothing orders that read before the stores of the others, but no value
//! comes out of thin air (PTX ISA 9.0, section 8.10.4): a read cannot see a write whose value is made from what it
//! returned.
//!
//! A run in which all races are of such reads and later writes is run again with an unknown of its own as the value of
//! each racing load. Each plain store of exactly the bytes of such a load, by a thread that does not know of it, must
//! store a value that is made from the unknown; any other write of these bytes, and any other read of them
//! by the threads, undoes the claim.
//!
//! Made from it: the unknown stands below the value on all sides of its selects, no choice stands beside it as a factor,
//! and two contents of it, all else fixed, give two different values, whatever the signs of the inputs. `v - v` is not.
//!
//! Sound: reads are compared with all later writes by their own list, which forgets nothing; what the shadow finds beside
//! them (earlier writes, other accesses) stays a race.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Tid;
use super::clock::{Clocks, Tick};
use super::machine::{Machine, RegionId};
use super::order::Order;
use super::race::Kind;
use super::value::Val;
use super::warp::{LANES, lanes};
use crate::kernel::Pc;
use crate::term::eval::{Cone, Inputs};
use crate::term::rebuild::rebuild;
use crate::term::{Sort, Term, TermId, TermStore};

/// Reads that are listed, and values that are looked at, before the claim is given up.
const MAX_READS: usize = 1 << 16;
const MAX_TESTS: usize = 1 << 10;
/// Terms below a value that is looked at.
const MAX_TERMS: usize = 1 << 12;

/// An element that a thread of interest read.
#[derive(Clone, Copy, Debug)]
struct Read {
    thread: Tid,
    off: u64,
    size: u32,
    at: Tick,
    /// The unknown that was read.
    serial: Option<u32>,
}

/// What a run keeps.
#[derive(Clone, Debug, Default)]
pub(super) struct ByValue {
    /// The loads that raced, by instruction.
    loads: FxHashMap<Pc, FxHashSet<Tid>>,
    threads: FxHashSet<Tid>,
    /// Reads by region and word.
    reads: FxHashMap<(RegionId, u64), Vec<Read>>,
    listed: usize,
    /// Elements that the current store writes unordered after a read: lane, offset, the unknown that was read.
    waiting: Vec<(usize, u64, u32)>,
    /// Values that were looked at, and what was found.
    tested: FxHashMap<(TermId, u32), bool>,
    failed: bool,
}

impl ByValue {
    /// For loads that raced.
    pub(super) fn new(racing: &FxHashSet<(Pc, Tid)>) -> ByValue {
        let mut out = ByValue::default();
        for &(pc, thread) in racing {
            out.loads.entry(pc).or_default().insert(thread);
            out.threads.insert(thread);
        }
        out
    }

    /// True if loads are looked at.
    #[inline]
    pub(super) fn on(&self) -> bool {
        !self.loads.is_empty()
    }

    /// True if some thread races by this instruction.
    #[inline]
    pub(super) fn has(&self, pc: Pc) -> bool {
        self.loads.contains_key(&pc)
    }

    /// The instructions of the loads.
    pub(super) fn instructions(&self) -> impl Iterator<Item = Pc> {
        self.loads.keys().copied()
    }

    /// True if all went as it must.
    pub(super) fn holds(&self) -> bool {
        !self.failed && self.waiting.is_empty()
    }

    fn list(&mut self, region: RegionId, read: Read) {
        self.listed += 1;
        self.failed |= self.listed > MAX_READS;
        if self.failed {
            return;
        }
        for word in read.off / 4..(read.off + u64::from(read.size)).div_ceil(4) {
            self.reads.entry((region, word)).or_default().push(read);
        }
    }

    /// A write of an element: every read that does not happen before it must wait for its value.
    fn write(
        &mut self,
        clocks: &Clocks,
        region: RegionId,
        (me, lane): (Tid, usize),
        (off, size): (u64, u32),
        plain: bool,
    ) {
        for word in off / 4..(off + u64::from(size)).div_ceil(4) {
            let Some(reads) = self.reads.get(&(region, word)) else {
                continue;
            };
            for r in reads {
                let apart = r.off + u64::from(r.size) <= off || off + u64::from(size) <= r.off;
                if apart || r.thread == me || clocks.ordered(r.thread.into(), r.at, me) {
                    continue;
                }
                match r.serial {
                    Some(serial) if plain && (r.off, r.size) == (off, size) => {
                        if word == off / 4 {
                            self.waiting.push((lane, off, serial));
                        }
                    }
                    _ => self.failed = true,
                }
            }
        }
    }
}

impl Machine<'_> {
    /// Looks at the loads of a trial.
    pub(super) fn take_by_value(&mut self, by_value: ByValue) {
        for pc in by_value.instructions() {
            self.classes[pc.0 as usize] = super::plain::Class::General;
            self.order.report.apart.insert(pc);
        }
        self.order.by_value = by_value;
    }

    /// An access is made, whose values are not known yet.
    pub(super) fn follow_reads(
        &mut self,
        region: RegionId,
        (w, mask): (usize, u32),
        offs: &[u64; LANES],
        (size, count): (u32, u32),
        (kind, cond): (Kind, bool),
    ) {
        let is_copied = self.order.agent.is_some();
        let Order {
            by_value, clocks, ..
        } = &mut self.order;
        by_value.failed |= !by_value.waiting.is_empty();
        by_value.waiting.clear();
        let plain = kind == Kind::Write && !cond && !is_copied;
        for lane in lanes(mask) {
            let me = Tid((w * LANES + lane) as u32);
            for k in 0..count {
                let off = offs[lane] + u64::from(k * size);
                if kind.writes() {
                    by_value.write(clocks, region, (me, lane), (off, size), plain);
                } else if by_value.threads.contains(&me) {
                    let at = clocks.stamp(w as u32);
                    let read = Read {
                        thread: me,
                        off,
                        size,
                        at,
                        serial: None,
                    };
                    by_value.list(region, read);
                }
            }
        }
    }

    /// The value of an element that a lane loads: an unknown of its own, if the load raced. `place` is where it
    /// lies, if that is one place.
    pub(super) fn racing_value(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        place: Option<(RegionId, u64)>,
        bits: u8,
    ) -> Option<Val> {
        let me = Tid((w * LANES + lane) as u32);
        if !self.order.by_value.loads.get(&pc)?.contains(&me) {
            return None;
        }
        let serial = self.fresh;
        let v = Val::Bits(self.fresh_bits(bits));
        let by_value = &mut self.order.by_value;
        let Some((region, off)) = place else {
            by_value.failed = true;
            return Some(v);
        };
        for word in off / 4..(off + u64::from(bits) / 8).div_ceil(4) {
            let reads = by_value.reads.get_mut(&(region, word));
            let last = reads.and_then(|r| r.iter_mut().rfind(|r| (r.thread, r.off) == (me, off)));
            match last {
                Some(r) => r.serial = Some(serial),
                None => by_value.failed = true,
            }
        }
        Some(v)
    }

    /// The value that a lane stores to an element, where reads wait for it.
    pub(super) fn check_made(&mut self, lane: usize, off: u64, v: Val, bits: u8) {
        let by_value = &mut self.order.by_value;
        let here = |p: &&(usize, u64, u32)| (p.0, p.1) == (lane, off);
        let mine: Vec<u32> = by_value.waiting.iter().filter(here).map(|p| p.2).collect();
        by_value.waiting.retain(|p| (p.0, p.1) != (lane, off));
        for serial in mine {
            let t = self.values.bits(v, bits);
            let fine = match self.order.by_value.tested.get(&(t, serial)) {
                Some(&known) => known,
                None => {
                    self.order.by_value.tested.len() < MAX_TESTS
                        && is_made_of(&self.values.store, t, serial)
                }
            };
            self.order.by_value.tested.insert((t, serial), fine);
            self.order.by_value.failed |= !fine;
        }
    }
}

/// Is a value made from an unknown, whatever else it depends on?
fn is_made_of(store: &TermStore, t: TermId, serial: u32) -> bool {
    let terms = store.reachable(&[t]);
    if terms.len() > MAX_TERMS || !carries(store, &terms, serial) {
        return false;
    }
    let differ = |signs: Signs| {
        let mut pairs = PAIRS.iter();
        pairs.any(|&pair| differs(store, t, serial, pair, signs))
    };
    [Signs::Plus, Signs::Minus, Signs::Both]
        .into_iter()
        .all(differ)
}

/// Does an unknown stand below the last of some terms so that no choice beside it can take it away? Children come
/// before their parents.
fn carries(store: &TermStore, terms: &[TermId], serial: u32) -> bool {
    // Whether the unknown is carried, and whether anything is chosen below.
    let mut marks: FxHashMap<TermId, (bool, bool)> = FxHashMap::default();
    for &t in terms {
        let of = |c: TermId| marks.get(&c).copied().unwrap_or_default();
        let factors = |a: TermId, b: TermId| {
            let (a, b) = (of(a), of(b));
            a.0 && !b.1 || b.0 && !a.1
        };
        let mut children = Vec::new();
        store.children(t, |c| children.push(c));
        let mut chooses = children.iter().any(|&c| of(c).1);
        let carried = match store.get(t) {
            Term::Fresh { serial: s, .. } => s == serial,
            Term::Select(_, a, b) | Term::BitsSelect(_, a, b) => {
                chooses = true;
                of(a).0 && of(b).0
            }
            Term::Add(a, b) => of(a).0 || of(b).0,
            Term::Sum(list) => {
                let (pairs, _) = list.as_chunks::<2>();
                pairs.iter().any(|[a, b]| factors(TermId(*a), TermId(*b)))
            }
            // A truth value that became a number is a choice.
            _ if matches!(store.sort(t), Sort::Bool) => {
                chooses = true;
                false
            }
            _ => {
                let choices = children.iter().filter(|c| of(**c).1).count();
                let alone = |c: &TermId| choices == usize::from(of(*c).1);
                children.iter().any(|c| of(*c).0 && alone(c))
            }
        };
        marks.insert(t, (carried, chooses));
    }
    terms.last().is_some_and(|t| marks[t].0)
}

/// The signs of the inputs at which values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signs {
    Plus,
    Minus,
    Both,
}

/// Numbers that an unknown of so many bits may hold: 1, 3, -7, -9, 4096 and -4096 as floats.
fn content(width: u8, which: usize) -> u64 {
    match width {
        64 => [1.0f64, 3.0, -7.0, -9.0, 4096.0, -4096.0][which].to_bits(),
        32 => u64::from([1.0f32, 3.0, -7.0, -9.0, 4096.0, -4096.0][which].to_bits()),
        16 => [0x3c00, 0x4200, 0xc700, 0xc880, 0x6c00, 0xec00][which],
        _ => [1, 3, 0x47, 0x49, 0x7f, 0x81][which],
    }
}

/// Contents of an unknown that are compared, by their place in [`content`].
const PAIRS: [(usize, usize); 4] = [(0, 1), (2, 3), (0, 4), (0, 5)];

/// Do two contents of an unknown give two values at one input?
fn differs(
    store: &TermStore,
    t: TermId,
    serial: u32,
    (a, b): (usize, usize),
    signs: Signs,
) -> bool {
    let mut into = TermStore::new();
    let roots: Vec<TermId> = [a, b]
        .iter()
        .flat_map(|&which| {
            rebuild(store, &[t], &mut into, |into, t, _| match store.get(t) {
                Term::Fresh { serial: s, width } if s == serial => {
                    Some(into.bits(width, content(width, which)))
                }
                Term::Fresh { width, .. } => Some(into.bits(width, content(width, 0))),
                _ => None,
            })
        })
        .collect();
    let cone = Cone::new(&into, &roots);
    let mut inputs = Inputs::default();
    for &t in cone.ids() {
        let (array, off, bits) = match into.get(t) {
            Term::Elem { array, fmt, off } => (array, off, fmt.bits() as u8),
            Term::Bytes { array, off, width } => (array, off, width),
            _ => continue,
        };
        // From 1 to 2 without the sign, and not all alike.
        let mixed = off.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        let spread = if bits >= 32 {
            mixed << (bits - 26)
        } else {
            mixed & 0x7f
        };
        let odd = mixed & 1 == 1;
        let minus = signs == Signs::Minus || signs == Signs::Both && odd;
        let sign = u64::from(minus) << (bits - 1);
        let spread = spread & ((1 << bits.saturating_sub(10).min(52)) - 1);
        inputs.set(array, off, bits / 8, content(bits, 0) | sign | spread);
    }
    let constants = cone.constants(&into);
    let values = cone.approximate(&into, &constants, &inputs, &mut Vec::new());
    let number = |t: TermId| match into.get(t) {
        Term::OfReal { real, .. } => Some(real),
        _ => None,
    };
    let reals: Option<Vec<TermId>> = roots.iter().map(|&r| number(r)).collect();
    match reals {
        Some(reals) => {
            let cone = Cone::new(&into, &reals);
            let constants = cone.constants(&into);
            let v = cone.approximate(&into, &constants, &inputs, &mut Vec::new());
            let (x, y) = (v[0].f, v[1].f);
            // Apart by more than a rounding to any format.
            x.is_finite() && y.is_finite() && (x - y).abs() > 0.125 * x.abs().min(y.abs())
        }
        None => values[0].b != values[1].b,
    }
}
