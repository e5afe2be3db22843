//! Racing reads, as they are followed to the stores that are made of them.

use crate::sim::limits::LIMITS;
use rustc_hash::FxHashMap;

use crate::kernel::Pc;
use crate::sim::Tid;
use crate::sim::machine::{Machine, Synchronisation};
use crate::sim::order::Order;
use crate::sim::race::AccessKind;
use crate::sim::region::RegionId;
use crate::sim::val::Val;
use crate::sim::warp::{LANES, lanes};
use crate::term::eval::{Cone, Inputs};
use crate::term::rebuild::rebuild;
use crate::term::{Sort, Term, TermId, TermStore};

use super::{ByValue, Read, Signs};

impl Synchronisation {
    /// An access is made, whose values are not known yet.
    pub(in crate::sim) fn follow_reads(
        &mut self,
        region: RegionId,
        (w, mask): (usize, u32),
        offs: &[u64; LANES],
        (size, count): (u32, u32),
        (kind, cond): (AccessKind, bool),
    ) {
        let is_copied = self.order.agent.is_some();
        let Order {
            by_value, clocks, ..
        } = &mut self.order;
        by_value.failed |= !by_value.waiting.is_empty();
        by_value.waiting.clear();
        let plain = kind == AccessKind::Write && !cond && !is_copied;
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
}

impl Machine<'_> {
    /// Looks at the loads of a trial.
    pub(in crate::sim) fn take_by_value(&mut self, by_value: ByValue) {
        for pc in by_value.instructions() {
            self.core.threads.classes[pc.0 as usize] = crate::sim::plain::Class::General;
            self.sync.order.report.apart.insert(pc);
        }
        self.sync.order.by_value = by_value;
    }

    /// The value of an element that a lane loads: an unknown of its own, if the load raced. `place` is where it
    /// lies, if that is one place.
    pub(in crate::sim) fn racing_value(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        place: Option<(RegionId, u64)>,
        bits: u8,
    ) -> Option<Val> {
        let me = Tid((w * LANES + lane) as u32);
        if !self.sync.order.by_value.loads.get(&pc)?.contains(&me) {
            return None;
        }
        let serial = self.core.values.fresh;
        let v = Val::Bits(self.core.values.fresh_bits(bits));
        let by_value = &mut self.sync.order.by_value;
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
    pub(in crate::sim) fn check_made(&mut self, lane: usize, off: u64, v: Val, bits: u8) {
        let by_value = &mut self.sync.order.by_value;
        let here = |p: &&(usize, u64, u32)| (p.0, p.1) == (lane, off);
        let mine: Vec<u32> = by_value.waiting.iter().filter(here).map(|p| p.2).collect();
        by_value.waiting.retain(|p| (p.0, p.1) != (lane, off));
        for serial in mine {
            let t = self.core.values.bits(v, bits);
            let fine = match self.sync.order.by_value.tested.get(&(t, serial)) {
                Some(&known) => known,
                None => {
                    self.sync.order.by_value.tested.len() < LIMITS.value_tests
                        && is_made_of(&self.core.values.store, t, serial)
                }
            };
            self.sync.order.by_value.tested.insert((t, serial), fine);
            self.sync.order.by_value.failed |= !fine;
        }
    }
}

/// Is a value made from an unknown, whatever else it depends on?
fn is_made_of(store: &TermStore, t: TermId, serial: u32) -> bool {
    let terms = store.reachable(&[t]);
    if terms.len() > LIMITS.value_terms || !carries(store, &terms, serial) {
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
