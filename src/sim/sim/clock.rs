//! Happens-before among the threads of one CTA, or of several that run together.
//!
//! Problem: of two accesses, the earlier one stamped with (who, when), say whether it happens
//! before what a given thread does now. Source: vector clocks with epochs in the manner of
//! FastTrack (PLDI 2009); the edges are those of PTX ISA 9.0, sections 8.9 and 9.7.13.
//!
//! How this differs: the vector of a thread is never stored as such while its knowledge is
//! regular. Stamps are drawn from one counter for the whole CTA, so that a barrier of every live
//! thread is one number, the [`Clocks::floor`]: whatever is stamped before it is known to all.
//! Above the floor, what a warp knows of another is one word of a matrix `warps x warps`; what
//! lanes know of the lanes of their own warp after a partial `bar.warp.sync` is a row of
//! `width` words; only an acquire by a single lane makes a vector of one word for each thread.
//! A thread's clock is the pointwise maximum of these parts, and every operation computes the
//! exact join.
//!
//! A stamp of thread `u` is the value of the counter when `u` did the access. A release by `u`
//! draws the next value `t`; who acquires it knows the accesses of `u` with stamp below `t`.
//!
//! Not claimed: that an order by exit is an order. A thread that waited for another to exit has
//! no promise from the manual about its memory accesses; [`Clocks::ordered`] leaves these edges
//! out and [`Clocks::exit_ordered`] counts them.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use smallvec::SmallVec;

use super::Tid;
use super::state;

mod agent;
mod apart;
mod carried;
mod exit;
mod known;
mod layer;
mod phase;
mod shape;
mod snapshot;

use agent::Agents;
pub use agent::EventId;
pub use carried::Carried;
use exit::Exits;
pub use known::{Known, join};
pub use layer::{Heard, Layer};
pub use shape::{RankShape, lanes};
pub use snapshot::Snapshot;

/// Most warps in a CTA.
pub const MAX_WARPS: usize = 32;

/// A set of lanes, or a number, for each warp.
pub type Lanes = SmallVec<[u32; MAX_WARPS]>;

/// Who made an access: a thread (its rank in the CTA), or an asynchronous agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Actor(pub u32);

impl From<Tid> for Actor {
    fn from(t: Tid) -> Actor {
        Actor(t.0)
    }
}

/// A value of the CTA's counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tick(pub u32);

impl Hash for Actor {
    fn hash<H: Hasher>(&self, h: &mut H) {
        state::numbered(state::AGENT, self.0, h);
    }
}

impl Hash for Tick {
    fn hash<H: Hasher>(&self, h: &mut H) {
        state::numbered(state::TICK, self.0, h);
    }
}

/// The clocks of all threads and agents of a CTA.
#[derive(Clone)]
pub struct Clocks {
    shape: RankShape,
    now: u32,
    floor: u32,
    live: Lanes,
    /// `base[w * warps + s]`: every live lane of warp `w` knows every live lane of `s` below it.
    base: Vec<u32>,
    /// What a lane knows of the lanes of its own warp: a row of `width` words for each thread,
    /// empty until a warp synchronises in part.
    intra: Vec<Box<[u32]>>,
    /// What a thread knows of each thread after an acquire of its own.
    full: Vec<Option<Arc<[u32]>>>,
    /// Number of threads with such a vector.
    fulls: u32,
    /// When a lane of the warp last released anything that not all threads acquired.
    published: Lanes,
    exits: Exits,
    agents: Agents,
    heritage: carried::Heritage,
    /// Clocks that see more edges than this one.
    layers: Vec<(Layer, Clocks)>,
    apart: apart::Apart,
}

impl Hash for Clocks {
    fn hash<H: Hasher>(&self, h: &mut H) {
        let Clocks {
            shape: _, // Said once, before the run.
            now: _,   // Numbers of what is new.
            floor,
            live,
            base,
            intra,
            full,
            fulls: _, // Derived.
            published,
            exits,
            agents,
            heritage,
            layers,
            apart,
        } = self;
        live.hash(h);
        // What lies below the floor is known as well as the floor.
        let known = |row: &[u32], h: &mut H| row.iter().for_each(|t| Tick(*t.max(floor)).hash(h));
        known(base, h);
        intra.iter().for_each(|row| known(row, h));
        for row in full {
            row.is_some().hash(h);
            row.iter().for_each(|row| known(row, h));
        }
        known(published, h);
        exits.hash(h);
        agents.record(self, h);
        heritage.hash(h);
        layers.hash(h);
        apart.hash(h);
    }
}

impl Clocks {
    /// All threads live, nothing known.
    pub fn new(shape: RankShape) -> Clocks {
        let warps = shape.warps() as usize;
        let live = (0..warps as u32).map(|w| shape.members(w)).collect();
        Clocks {
            shape,
            now: 1,
            floor: 0,
            live,
            base: vec![0; warps * warps],
            intra: (0..warps).map(|_| Box::default()).collect(),
            full: vec![None; shape.threads as usize],
            fulls: 0,
            published: shape.none(),
            exits: Exits::new(shape),
            agents: Agents::new(shape),
            heritage: carried::Heritage::default(),
            layers: Vec::new(),
            apart: apart::Apart::default(),
        }
    }

    /// The shape of the CTA.
    pub fn shape(&self) -> RankShape {
        self.shape
    }

    /// The current value of the counter.
    #[inline]
    pub fn now(&self) -> Tick {
        Tick(self.now)
    }

    /// The stamp of an access made now by a lane of the warp, or by an agent that it issues:
    /// the last release of the warp, which no acquire can tell from the current value.
    #[inline]
    pub fn stamp(&self, warp: u32) -> Tick {
        Tick(self.published[warp as usize].max(self.floor).max(1))
    }

    /// Stamps below this are known to every live thread, those of exited threads and of agents
    /// excepted (see [`Clocks::settled`]).
    #[inline]
    pub fn floor(&self) -> Tick {
        Tick(self.floor)
    }

    /// A tick of its own, by which a thread says when something came between its releases. Publishes nothing: who acquires
    /// a later release of the thread knows it, and who acquires an earlier one does not.
    pub fn mark(&mut self) -> Tick {
        self.in_layers(|_, c| {
            c.mark();
        });
        self.now += 1;
        Tick(self.now)
    }

    /// Who observed the end of an agent, and when.
    pub fn joins(&self, who: Actor) -> impl Iterator<Item = (Tid, Tick)> + '_ {
        self.agents.joins(who)
    }

    /// True when the counter is used up: nothing can be said about later accesses, so the
    /// caller must stop with a limit.
    pub fn exhausted(&self) -> bool {
        self.now >= u32::MAX - 2 * self.shape.warps()
    }

    /// The lanes of a warp that have not exited.
    #[inline]
    pub fn live(&self, warp: u32) -> u32 {
        self.live[warp as usize]
    }

    /// Number of threads that have exited.
    #[inline]
    pub fn exited(&self) -> u32 {
        self.exits.count()
    }

    /// True once an agent was forked.
    #[inline]
    pub fn has_agents(&self) -> bool {
        self.agents.any()
    }

    /// Actors from this id on are agents.
    #[inline]
    pub fn first_agent(&self) -> u32 {
        self.agents.first()
    }

    /// Does the access happen before what every live thread does now?
    #[inline]
    pub fn settled(&self, who: Actor, at: Tick) -> bool {
        if who.0 >= self.agents.first() {
            return self
                .agents
                .joins(who)
                .any(|(t, k)| self.settled(t.into(), k));
        }
        match self.exits.column(who.0) {
            None => at.0 < self.floor,
            Some(c) => at.0 < c.uniform(),
        }
    }

    /// [`Clocks::settled`] for all lanes of the mask.
    #[inline]
    pub fn all_settled(&self, base: Actor, mask: u32, at: Tick) -> bool {
        if base.0 < self.agents.first() {
            let warp = base.0 >> self.shape.shift;
            if self.live[warp as usize] & mask == mask {
                return at.0 < self.floor;
            }
        }
        lanes(mask).all(|l| self.settled(Actor(base.0 + l), at))
    }

    /// Does the earlier access happen before what `later` does now? For an agent as the later
    /// one, ask for its issuer at the time of the issue.
    #[inline]
    pub fn ordered(&self, who: Actor, at: Tick, later: Tid) -> bool {
        if who.0 == later.0 {
            return true;
        }
        if who.0 >= self.agents.first() {
            return self.agents.observed_by(who, later)
                || self
                    .agents
                    .joins(who)
                    .any(|(t, k)| self.ordered(t.into(), k, later));
        }
        if let Some(c) = self.exits.column(who.0) {
            return at.0 < c.known_to(later.0);
        }
        at.0 < self.floor || at.0 < self.known_above(who.0, later.0)
    }

    /// The first lane of the mask whose access does not happen before what `later` does now,
    /// of accesses that `base + lane` made with this stamp.
    #[inline]
    pub fn unordered(&self, base: Actor, mask: u32, at: Tick, later: Tid) -> Option<u32> {
        if !self.exits.any() && base.0 < self.agents.first() {
            let (w, s) = (self.shape.warp(later), base.0 >> self.shape.shift);
            if at.0 < self.floor || at.0 < self.base[(w * self.shape.warps() + s) as usize] {
                return None;
            }
        }
        lanes(mask).find(|&l| !self.ordered(Actor(base.0 + l), at, later))
    }

    /// Like [`Clocks::ordered`], where also every exit that a barrier had to wait for happens
    /// before what the released threads do.
    pub fn exit_ordered(&self, who: Actor, at: Tick, later: Tid) -> bool {
        if self.ordered(who, at, later) {
            return true;
        }
        if who.0 >= self.agents.first() {
            return self
                .agents
                .joins(who)
                .any(|(t, k)| self.exit_ordered(t.into(), k, later));
        }
        self.exits.any()
            && self.exits.known_exits(later.0).any(|e| {
                e == who.0
                    || self
                        .exits
                        .frozen(e)
                        .is_some_and(|s| self.covers(s, who.0, at.0))
            })
    }

    /// Up to which stamp `t` knows `u`, a thread without a column, floor apart.
    fn known_above(&self, u: u32, t: u32) -> u32 {
        let (w, s) = (t >> self.shape.shift, u >> self.shape.shift);
        let mut k = self.base[(w * self.shape.warps() + s) as usize];
        if w == s {
            let width = self.shape.width();
            let row = (t & (width - 1)) * width + (u & (width - 1));
            k = k.max(
                self.intra[w as usize]
                    .get(row as usize)
                    .copied()
                    .unwrap_or(0),
            );
        }
        if self.fulls > 0
            && let Some(f) = &self.full[t as usize]
        {
            k = k.max(f[u as usize]);
        }
        k
    }

    /// The lanes exit. Their accesses stay as they are known to others now.
    pub fn exit(&mut self, warp: u32, mask: u32) {
        self.in_layers(|_, c| c.exit(warp, mask));
        let gone = mask & self.live[warp as usize];
        self.live[warp as usize] &= !gone;
        for lane in lanes(gone) {
            self.exits.note(self.shape.tid(warp, lane).0, self.now + 1);
        }
    }

    /// `bar.warp.sync` completed: the members acquire from each other. Also one instruction of
    /// a warp in lock step, with all its live lanes as members.
    pub fn warp_sync(&mut self, warp: u32, mask: u32) {
        self.in_layers(|_, c| c.warp_sync(warp, mask));
        let mask = mask & self.live[warp as usize];
        let whole = mask == self.live[warp as usize];
        if whole && self.warps_live() == 1 {
            self.collapse_own(&self.shape.none());
            return;
        }
        self.settle_exits();
        let tick = self.draw(warp);
        let w = warp as usize;
        if whole {
            let own = w * self.shape.warps() as usize + w;
            self.base[own] = tick;
        } else {
            self.join_rows(warp, mask, tick);
        }
        if self.fulls > 0 {
            let joined = self.join_fulls(lanes(mask).map(|l| self.shape.tid(warp, l).0), &[]);
            if let Some(f) = joined {
                for lane in lanes(mask) {
                    self.set_full(self.shape.tid(warp, lane).0, Some(f.clone()));
                }
            }
        }
        let mut group = self.shape.none();
        group[w] = mask;
        self.exits.join(&group, &[], self.shape);
    }

    /// Rows of the members of a partial `bar.warp.sync`.
    fn join_rows(&mut self, warp: u32, mask: u32, tick: u32) {
        let width = self.shape.width() as usize;
        let m = &mut self.intra[warp as usize];
        if m.is_empty() {
            *m = vec![0; width * width].into_boxed_slice();
        }
        let mut row = [0u32; 32];
        for lane in lanes(mask) {
            let from = lane as usize * width;
            for (r, k) in row.iter_mut().zip(&m[from..from + width]) {
                *r = (*r).max(*k);
            }
        }
        for lane in lanes(mask) {
            row[lane as usize] = tick;
        }
        for lane in lanes(mask) {
            let to = lane as usize * width;
            m[to..to + width].copy_from_slice(&row[..width]);
        }
    }

    /// Every live thread acquired from every other: a full barrier. `exited` are the lanes that
    /// it would have waited for, had they not exited.
    pub fn collapse(&mut self, exited: &Lanes) {
        self.in_layers(|_, c| c.collapse(exited));
        self.collapse_own(exited);
    }

    fn collapse_own(&mut self, exited: &Lanes) {
        self.settle_exits();
        self.now += 1;
        if self.fulls > 0 {
            self.full.fill(None);
            self.fulls = 0;
        }
        self.exits.collapse(&self.live, exited, self.now);
        self.floor = self.now;
    }

    /// A barrier of some warps completes. The live lanes of the warps in `waiting` have been blocked since they arrived, and
    /// acquire from each other and from `arrived`, what warps published that only arrived. `exited` as for
    /// [`Clocks::collapse`].
    pub fn rendezvous(&mut self, waiting: &[u32], arrived: &[Arc<Snapshot>], exited: &Lanes) {
        self.in_layers(|i, c| c.rendezvous(waiting, &layer::in_layer(arrived, i), exited));
        self.settle_exits();
        let live = waiting.iter().filter(|&&w| self.live[w as usize] != 0);
        if live.count() as u32 == self.warps_live() {
            // A warp that arrived may have exited since: the floor does not speak for it.
            for snap in arrived {
                self.exits.absorb_all(&self.live, snap);
            }
            self.collapse_own(exited);
            self.apart.everyone(self.now);
            return;
        }
        let warps = self.shape.warps() as usize;
        let mut joined = self.shape.none();
        for &w in waiting {
            let row = w as usize * warps;
            for (j, k) in joined.iter_mut().zip(&self.base[row..row + warps]) {
                *j = (*j).max(*k);
            }
        }
        for snap in arrived {
            for (j, k) in joined.iter_mut().zip(snap.base.iter()) {
                *j = (*j).max(*k);
            }
        }
        self.now += 1;
        let mut group = self.shape.none();
        for &w in waiting {
            joined[w as usize] = self.now;
            self.published[w as usize] = self.now;
            group[w as usize] = self.live[w as usize];
            self.apart.warp(w, self.now);
            for lane in lanes(self.live[w as usize]) {
                self.apart.takes(self.shape.tid(w, lane).0, self.now);
            }
        }
        if self.fulls > 0 || arrived.iter().any(|s| s.full.is_some()) {
            let shape = self.shape;
            let members = waiting
                .iter()
                .flat_map(|&w| lanes(group[w as usize]).map(move |l| shape.tid(w, l).0));
            let full = self.join_fulls(members.clone(), arrived);
            for t in members {
                self.set_full(t, full.clone());
            }
        }
        for &w in waiting {
            let row = w as usize * warps;
            self.base[row..row + warps].copy_from_slice(&joined[..warps]);
        }
        self.exits.join(&group, arrived, self.shape);
        self.exits.learn(&group, exited);
    }

    /// A single thread releases: what it knows and did until now.
    pub fn publish(&mut self, t: Tid) -> Arc<Snapshot> {
        self.settle_exits();
        let mut snap = self.snapshot(t);
        let tick = self.draw(self.shape.warp(t));
        let lane = self.shape.lane(t) as usize;
        snap.own[lane] = tick;
        snap.tick = tick;
        self.in_layers(|_, c| snap.layers.push(c.publish(t)));
        self.apart.thread(t.0, tick);
        Arc::new(snap)
    }

    /// All live lanes of a warp release together, without acquiring from each other.
    pub fn publish_warp(&mut self, warp: u32) -> Arc<Snapshot> {
        self.settle_exits();
        let live = self.live[warp as usize];
        let mut snap = self.snapshot(self.shape.tid(warp, live.trailing_zeros() & 31));
        let members = || lanes(live).map(|l| self.shape.tid(warp, l).0);
        snap.full = self.join_fulls(members(), &[]);
        let (columns, exits) = self.exits.collect(members());
        snap.columns = columns;
        snap.exits = exits;
        let tick = self.draw(warp);
        snap.base[warp as usize] = tick;
        snap.own.fill(0);
        snap.tick = tick;
        self.in_layers(|_, c| snap.layers.push(c.publish_warp(warp)));
        self.apart.warp(warp, tick);
        Arc::new(snap)
    }

    /// A single thread acquires what was released.
    pub fn acquire(&mut self, t: Tid, snap: &Snapshot) {
        self.in_layers(|i, c| c.acquire(t, snap.layer(i)));
        self.acquire_own(t, snap);
    }

    fn acquire_own(&mut self, t: Tid, snap: &Snapshot) {
        self.settle_exits();
        self.apart.takes(t.0, self.now);
        let n = self.shape.threads;
        let mut f: Vec<u32> = match &self.full[t.0 as usize] {
            Some(f) => f.to_vec(),
            None => vec![0; n as usize],
        };
        for u in 0..n {
            f[u as usize] = f[u as usize].max(snap.of(u, self.shape));
        }
        self.set_full(t.0, Some(f.into()));
        self.exits.acquire(t.0, snap, self.shape);
    }

    /// An asynchronous operation starts in each lane of the mask: the agent of lane `l` is
    /// `Actor(base.0 + l)`. Its accesses are checked now, with the issuers' clocks.
    pub fn fork(&mut self, warp: u32) -> Actor {
        self.in_layers(|_, c| {
            c.fork(warp);
        });
        self.agents.fork(warp)
    }

    /// Each lane of the mask observes the completion of its own agent of a block that its warp
    /// forked.
    pub fn join(&mut self, base: Actor, mask: u32) {
        self.in_layers(|_, c| c.join(base, mask));
        self.agents.join_own(base, mask, self.now());
    }

    /// A thread observes the completion of an agent of anyone.
    pub fn join_by(&mut self, agent: Actor, by: Tid) {
        self.in_layers(|_, c| c.join_by(agent, by));
        self.agents.join_by(agent, by, self.now());
    }

    /// The thread that issued an agent, or the thread itself.
    pub fn thread_of(&self, who: Actor) -> Tid {
        self.agents.issuer(who).unwrap_or(Tid(who.0))
    }

    /// True for an agent.
    pub fn is_agent(&self, who: Actor) -> bool {
        who.0 >= self.agents.first()
    }

    /// The next tick, at which the warp releases.
    fn draw(&mut self, warp: u32) -> u32 {
        self.now += 1;
        self.published[warp as usize] = self.now;
        self.now
    }

    fn warps_live(&self) -> u32 {
        self.live.iter().filter(|&&l| l != 0).count() as u32
    }

    fn set_full(&mut self, t: u32, f: Option<Arc<[u32]>>) {
        let slot = &mut self.full[t as usize];
        self.fulls -= u32::from(slot.is_some());
        self.fulls += u32::from(f.is_some());
        *slot = f;
    }

    /// Maximum of the vectors of the threads and snapshots, if there is any.
    fn join_fulls(
        &self,
        of: impl Iterator<Item = u32>,
        also: &[Arc<Snapshot>],
    ) -> Option<Arc<[u32]>> {
        let mut out: Option<Arc<[u32]>> = None;
        let all = of.filter_map(|t| self.full[t as usize].as_ref());
        for f in all.chain(also.iter().filter_map(|s| s.full.as_ref())) {
            match &mut out {
                None => out = Some(f.clone()),
                Some(o) if Arc::ptr_eq(o, f) => {}
                Some(o) => {
                    for (a, b) in Arc::make_mut(o).iter_mut().zip(f.iter()) {
                        *a = (*a).max(*b);
                    }
                }
            }
        }
        out
    }

    /// What a thread knows now, its own accesses apart, and nothing of threads that have just exited.
    pub fn snapshot(&self, t: Tid) -> Snapshot {
        let warps = self.shape.warps() as usize;
        let width = self.shape.width() as usize;
        let warp = self.shape.warp(t);
        let row = warp as usize * warps;
        let at = self.shape.lane(t) as usize * width;
        let mut own = [0; 32];
        if let Some(r) = self.intra[warp as usize].get(at..at + width) {
            own[..width].copy_from_slice(r);
        }
        let base = Lanes::from_slice(&self.base[row..row + warps]);
        let (columns, exits) = self.exits.collect(std::iter::once(t.0));
        Snapshot {
            tick: self.now,
            floor: self.floor,
            warp,
            base,
            own,
            full: self.full[t.0 as usize].clone(),
            columns,
            exits,
            layers: Vec::new(),
        }
    }

    /// Builds the columns of the threads that exited since the last synchronisation: up to now
    /// the parts that the live threads share still said what is known of them.
    fn settle_exits(&mut self) {
        if !self.exits.pending() {
            return;
        }
        for t in self.exits.take_pending() {
            let w = self.shape.warp(Tid(t)) as usize;
            let mut snap = self.snapshot(Tid(t));
            snap.own[self.shape.lane(Tid(t)) as usize] = self.now + 1;
            let mut known = None;
            if self.published[w] > self.floor {
                let row = (0..self.shape.threads).map(|o| self.known_above(t, o));
                known = Some(row.collect());
            }
            self.exits.settle(t, self.floor, known, snap);
        }
        self.exits.finish_settling();
    }

    /// Did the thread whose clock was frozen in `snap` know the access?
    pub fn covers(&self, snap: &Snapshot, who: u32, at: u32) -> bool {
        match self.exits.exited_by(who, snap.tick) {
            true => {
                at < snap.column(who)
                    || self
                        .exits
                        .column(who)
                        .is_some_and(|c| at < c.uniform_at(snap.tick))
            }
            false => at < snap.floor || at < snap.of(who, self.shape),
        }
    }
}
