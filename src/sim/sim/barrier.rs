//! The sixteen named barriers of a CTA, which may be one of several that run together.
//!
//! Source: PTX ISA 9.0, section 9.7.13.1 (`bar`, `barrier`) and 9.7.12.7 (`exit`). A warp
//! arrives once all its lanes that have not exited have executed the instruction; until then
//! they are blocked, those of `arrive` too. A count is a number of threads in whole warps; without
//! one a barrier waits for every warp of the CTA that has not exited. When the count is
//! reached, the waiting lanes go on, the barrier is reset, and its next generation begins.
//!
//! Well-synchronised (WEFT, PLDI 2015, property P1): which generation an arrival belongs to must
//! not depend on the schedule, so between the completion of a generation and each arrival for
//! the next there must be happens-before. How this differs from WEFT: arrivals are checked
//! as they come, against the arrivals of the generation before; a warp that waited in it
//! passes at once, so that barriers of the whole CTA cost nothing extra. An arrival waits for
//! all lanes of its warp, hence a pair of lanes in order is enough, and exits that a barrier
//! waited for count: what matters here is the order of execution, not of memory.
//!
//! Not claimed: anything after an error. The caller stops at the first one.

use std::sync::Arc;

use smallvec::SmallVec;

use super::clock::{Actor, Clocks, Lanes, Snapshot, Tick, lanes};
use crate::kernel::Pc;

/// Number of named barriers.
pub const BARRIERS: usize = 16;

/// What the instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Arrive and wait.
    Sync,
    /// Arrive only.
    Arrive,
    /// `red.popc`.
    Popc,
    /// `red.and`.
    And,
    /// `red.or`.
    Or,
}

impl Form {
    fn reduces(self) -> bool {
        matches!(self, Form::Popc | Form::And | Form::Or)
    }
}

/// Lanes of a warp execute a barrier instruction.
#[derive(Clone, Copy, Debug)]
pub struct Arrive {
    /// The warp.
    pub warp: u32,
    /// The lanes.
    pub mask: u32,
    /// The instruction.
    pub pc: Pc,
    /// The barrier.
    pub id: u32,
    /// The number of threads, if given.
    pub count: Option<u32>,
    /// What it does.
    pub form: Form,
    /// `.aligned`.
    pub aligned: bool,
    /// For a reduction, the lanes whose predicate is true.
    pub trues: u32,
}

/// Lanes that may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The warp.
    pub warp: u32,
    /// The lanes.
    pub mask: u32,
    /// For a reduction, how many predicates were true, of how many.
    pub red: Option<(u32, u32)>,
}

/// Where lanes of a warp arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArrivalSite {
    /// The warp.
    pub warp: u32,
    /// The lanes.
    pub mask: u32,
    /// The instruction.
    pub pc: Pc,
    /// What it does.
    pub form: Form,
}

/// How a barrier can be misused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum MisuseKind {
    /// The barrier number is out of range.
    #[error("there are only barriers 0 to 15: correct the barrier number")]
    Number,
    /// The count is zero or not a multiple of the warp size.
    #[error("the thread count of a barrier must be a positive multiple of the warp size")]
    Count,
    /// Two participants disagree on the count.
    #[error("participants give different thread counts: make them agree")]
    Disagree,
    /// A reduction meets a sync or arrive.
    #[error("a reduction is mixed with sync or arrive on one active barrier: use two barriers")]
    Mixed,
    /// Different reductions meet.
    #[error("different reductions meet in one generation of a barrier: use two barriers")]
    Reductions,
    /// A warp arrives again before the barrier is reset.
    #[error("a warp arrives twice before the barrier is reset: wait for its completion first")]
    Twice,
    /// Lanes of a warp execute different aligned barrier instructions.
    #[error("lanes of one warp execute different barrier instructions, one of them aligned")]
    Unaligned,
    /// Lanes of a warp arrive at one barrier with different forms.
    #[error("lanes of one warp arrive at one barrier with different instructions")]
    Lanes,
    /// The generation of an arrival depends on the schedule.
    #[error(
        "nothing orders an arrival of the previous generation of the barrier before this one: \
         which generation they belong to depends on the schedule"
    )]
    Generation,
}

impl MisuseKind {
    /// False where the manual leaves open what happens, so that nothing is refuted.
    pub fn certain(self) -> bool {
        !matches!(self, MisuseKind::Reductions | MisuseKind::Lanes)
    }
}

/// A misuse, with both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("barrier {barrier}: {kind}")]
pub struct Misuse {
    /// What is wrong.
    pub kind: MisuseKind,
    /// The barrier.
    pub barrier: u32,
    /// The earlier arrival, if two are involved.
    pub earlier: Option<ArrivalSite>,
    /// The arrival.
    pub later: ArrivalSite,
}

/// A barrier on which threads are blocked, or which has arrivals pending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The barrier.
    pub barrier: u32,
    /// The number of threads that it waits for; without a count, the size of the CTA in warps.
    pub expected: u32,
    /// True if a count was given.
    pub counted: bool,
    /// Warps that have arrived.
    pub arrived: Vec<ArrivalSite>,
    /// Lanes that wait for the other lanes of their warp.
    pub partial: Vec<ArrivalSite>,
    /// Lanes that are neither here nor have exited.
    pub missing: Lanes,
    /// True if the count is the size of the CTA and only exited threads are missing: whether
    /// they release it, as they do without a count, the manual does not say.
    pub unclear: bool,
}

/// The arrival of a warp.
#[derive(Clone, Hash)]
struct Arrival {
    place: ArrivalSite,
    at: Tick,
}

/// Lanes that wait for the rest of their warp.
#[derive(Clone, Hash)]
struct Partial {
    id: u32,
    count: Option<u32>,
    place: ArrivalSite,
    aligned: bool,
    trues: u32,
}

/// One named barrier.
#[derive(Clone, Default, Hash)]
struct Named {
    arrivals: SmallVec<[Arrival; 4]>,
    snapshots: Vec<Arc<Snapshot>>,
    expected: u32,
    /// No participant so far gave a count.
    counted: bool,
    trues: u32,
    /// The arrivals of the last generation, and the warps that waited in it.
    last: SmallVec<[Arrival; 4]>,
    waited: SmallVec<[u32; 4]>,
    generation: u64,
}

/// All barriers of a CTA.
#[derive(Clone, Hash)]
pub struct Barriers {
    /// The number of the CTA.
    cta: u32,
    named: [Named; BARRIERS],
    partial: Vec<Partial>,
}

impl Default for Barriers {
    fn default() -> Barriers {
        Barriers::new()
    }
}

impl Barriers {
    /// All barriers of the one CTA that runs idle.
    pub fn new() -> Barriers {
        Barriers::of(0)
    }

    /// All barriers of the CTA of a number idle.
    pub fn of(cta: u32) -> Barriers {
        Barriers {
            cta,
            named: std::array::from_fn(|_| Named::default()),
            partial: Vec::new(),
        }
    }

    /// Lanes arrive: they are blocked until a [`Wake`] names them, perhaps at once.
    pub fn arrive(
        &mut self,
        a: &Arrive,
        clocks: &mut Clocks,
        wake: &mut Vec<Wake>,
    ) -> Result<(), Misuse> {
        let place = ArrivalSite {
            warp: a.warp,
            mask: a.mask,
            pc: a.pc,
            form: a.form,
        };
        let misuse = |kind, earlier| Misuse {
            kind,
            barrier: a.id,
            earlier,
            later: place,
        };
        let Some(named) = self.named.get(a.id as usize) else {
            return Err(misuse(MisuseKind::Number, None));
        };
        let width = clocks.shape().width();
        if a.count.is_some_and(|n| n == 0 || n % width != 0) {
            return Err(misuse(MisuseKind::Count, None));
        }
        if let Some(e) = named.arrivals.iter().find(|e| e.place.warp == a.warp) {
            return Err(misuse(MisuseKind::Twice, Some(e.place)));
        }
        let mut whole = Partial {
            id: a.id,
            count: a.count,
            place,
            aligned: a.aligned,
            trues: a.trues & a.mask,
        };
        if let Some(p) = self
            .partial
            .iter()
            .find(|p| p.place.warp == a.warp && p.place.pc != a.pc && (p.aligned || a.aligned))
        {
            return Err(misuse(MisuseKind::Unaligned, Some(p.place)));
        }
        // A lane may not come back before the barrier is reset, be its warp complete or not.
        let again = named.last.iter().any(|e| e.place.warp == a.warp);
        if again && !named.waited.contains(&a.warp) {
            for lane in lanes(a.mask) {
                let alone = ArrivalSite {
                    mask: 1 << lane,
                    ..place
                };
                if let Some(e) = named.before(alone, clocks) {
                    return Err(misuse(MisuseKind::Generation, Some(e)));
                }
            }
        }
        let here = |p: &Partial| p.place.warp == a.warp && p.id == a.id;
        if let Some(i) = self.partial.iter().position(here) {
            let p = self.partial.remove(i);
            if size(p.count, clocks) != size(a.count, clocks) {
                return Err(misuse(MisuseKind::Disagree, Some(p.place)));
            }
            if p.place.form != a.form {
                return Err(misuse(MisuseKind::Lanes, Some(p.place)));
            }
            whole.place.mask |= p.place.mask;
            whole.trues |= p.trues;
            whole.count = p.count.and(whole.count);
        }
        if clocks.live(a.warp) & !whole.place.mask != 0 {
            self.partial.push(whole);
            return Ok(());
        }
        self.warp_arrives(whole, clocks, wake)
    }

    /// Lanes have exited (and the clocks know): what waited only for them goes on.
    pub fn exit(
        &mut self,
        warp: u32,
        clocks: &mut Clocks,
        wake: &mut Vec<Wake>,
    ) -> Result<(), Misuse> {
        let live = clocks.live(warp);
        let done = |p: &Partial| p.place.warp == warp && live & !p.place.mask == 0;
        if let Some(i) = self.partial.iter().position(done) {
            let whole = self.partial.remove(i);
            self.warp_arrives(whole, clocks, wake)?;
        }
        if live == 0 {
            for id in 0..BARRIERS {
                self.complete(id, clocks, wake);
            }
        }
        Ok(())
    }

    /// All live lanes of a warp have arrived.
    fn warp_arrives(
        &mut self,
        p: Partial,
        clocks: &mut Clocks,
        wake: &mut Vec<Wake>,
    ) -> Result<(), Misuse> {
        let named = &mut self.named[p.id as usize];
        let place = p.place;
        let misuse = |kind, earlier| Misuse {
            kind,
            barrier: p.id,
            earlier: Some(earlier),
            later: place,
        };
        let expected = size(p.count, clocks);
        if let Some(first) = named.arrivals.first() {
            let other = first.place.form;
            if named.expected != expected {
                return Err(misuse(MisuseKind::Disagree, first.place));
            }
            if other.reduces() != place.form.reduces() {
                return Err(misuse(MisuseKind::Mixed, first.place));
            }
            if other.reduces() && other != place.form {
                return Err(misuse(MisuseKind::Reductions, first.place));
            }
        } else {
            named.expected = expected;
            named.counted = true;
            named.trues = 0;
        }
        if let Some(e) = named.before(place, clocks) {
            return Err(misuse(MisuseKind::Generation, e));
        }
        named.counted &= p.count.is_some();
        named.trues += p.trues.count_ones();
        named.arrivals.push(Arrival {
            place,
            at: clocks.stamp(place.warp),
        });
        if place.form == Form::Arrive {
            named.snapshots.push(clocks.publish_warp(place.warp));
            wake.push(Wake {
                warp: place.warp,
                mask: place.mask,
                red: None,
            });
        }
        self.complete(p.id as usize, clocks, wake);
        Ok(())
    }

    /// Completes the generation if all that it waits for have arrived.
    fn complete(&mut self, id: usize, clocks: &mut Clocks, wake: &mut Vec<Wake>) {
        let named = &mut self.named[id];
        if named.arrivals.is_empty() {
            return;
        }
        let shape = clocks.shape();
        let own = shape.warps_of(self.cta);
        let arrived = |w: u32| named.arrivals.iter().any(|a| a.place.warp == w);
        let full = match named.counted {
            true => named.arrivals.len() as u32 * shape.width() >= named.expected,
            false => own.clone().all(|w| clocks.live(w) == 0 || arrived(w)),
        };
        if !full {
            return;
        }
        let mut exited = shape.none();
        let (mut waiting, mut participants) = (SmallVec::<[u32; 4]>::new(), 0);
        if !named.counted {
            for w in own.filter(|&w| !arrived(w)) {
                exited[w as usize] = shape.members(w);
            }
        }
        for a in &named.arrivals {
            let w = a.place.warp;
            exited[w as usize] = shape.members(w) & !a.place.mask;
            participants += a.place.mask.count_ones();
            if a.place.form != Form::Arrive {
                waiting.push(w);
            }
        }
        if !waiting.is_empty() {
            clocks.rendezvous(&waiting, &named.snapshots, &exited);
        }
        for a in named
            .arrivals
            .iter()
            .filter(|a| a.place.form != Form::Arrive)
        {
            wake.push(Wake {
                warp: a.place.warp,
                mask: a.place.mask,
                red: a
                    .place
                    .form
                    .reduces()
                    .then_some((named.trues, participants)),
            });
        }
        named.last = std::mem::take(&mut named.arrivals);
        named.waited = waiting;
        named.snapshots.clear();
        named.generation += 1;
    }

    /// How many generations of a barrier have completed.
    pub fn generations(&self, id: u32) -> u64 {
        self.named.get(id as usize).map_or(0, |n| n.generation)
    }

    /// Every barrier with arrivals pending, for a deadlock report.
    pub fn blocked(&self, clocks: &Clocks) -> Vec<Blocked> {
        let mut out = Vec::new();
        for (id, named) in self.named.iter().enumerate() {
            let partial: Vec<&Partial> = self
                .partial
                .iter()
                .filter(|p| p.id as usize == id)
                .collect();
            if named.arrivals.is_empty() && partial.is_empty() {
                continue;
            }
            let shape = clocks.shape();
            let mut missing = shape.none();
            for w in shape.warps_of(self.cta) {
                missing[w as usize] = clocks.live(w);
            }
            let places = named.arrivals.iter().map(|a| a.place);
            for p in places.clone().chain(partial.iter().map(|p| p.place)) {
                missing[p.warp as usize] &= !p.mask;
            }
            let (expected, counted) = match partial.first() {
                Some(p) if named.arrivals.is_empty() => (size(p.count, clocks), p.count.is_some()),
                _ => (named.expected, named.counted),
            };
            out.push(Blocked {
                barrier: id as u32,
                expected,
                counted,
                arrived: places.collect(),
                partial: partial.iter().map(|p| p.place).collect(),
                unclear: counted
                    && expected == size(None, clocks)
                    && partial.is_empty()
                    && missing.iter().all(|&m| m == 0),
                missing,
            });
        }
        out
    }

    /// When all threads have exited: the barriers that still wait for arrivals, and who arrived at each.
    pub fn pending(&self) -> impl Iterator<Item = (u32, ArrivalSite)> + '_ {
        let named = self.named.iter().zip(0..);
        named.flat_map(|(n, id)| n.arrivals.iter().map(move |a| (id, a.place)))
    }
}

impl Named {
    /// An arrival of the generation before that is not ordered before this one.
    fn before(&self, place: ArrivalSite, clocks: &Clocks) -> Option<ArrivalSite> {
        if self.waited.contains(&place.warp) {
            return None;
        }
        let shape = clocks.shape();
        let ordered = |e: &Arrival| {
            lanes(place.mask).any(|t| {
                let t = shape.tid(place.warp, t);
                lanes(e.place.mask).any(|l| {
                    let who = Actor::from(shape.tid(e.place.warp, l));
                    clocks.exit_ordered(who, e.at, t)
                })
            })
        };
        self.last.iter().find(|e| !ordered(e)).map(|e| e.place)
    }
}

/// The number of threads in whole warps.
fn size(count: Option<u32>, clocks: &Clocks) -> u32 {
    let shape = clocks.shape();
    count.unwrap_or(shape.warps_of(0).len() as u32 * shape.width())
}
