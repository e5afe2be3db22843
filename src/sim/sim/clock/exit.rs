//! Threads that have exited.
//!
//! A barrier of all live threads says nothing about the accesses of a thread that has exited,
//! and neither does a later release by the rest of its warp. What each live thread knows of an
//! exited one is therefore kept apart, as a column: one number while all know the same (always,
//! if it exited without a release since the last full barrier, and again after the next full
//! barrier), else one for each observer.
//!
//! The other half are the edges that the manual does not promise: a barrier that had to wait for
//! an exit. They are kept as sets of known exits, each with the clock that the thread had.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::{Lanes, RankShape, Snapshot, Tick};

/// What is known of an exited thread.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// (since, stamp): from that tick on, every thread live then knew it below the stamp.
    uniform: SmallVec<[(u32, u32); 1]>,
    /// For each observer, where they differ.
    ragged: Option<Box<[u32]>>,
}

impl Hash for Column {
    fn hash<H: Hasher>(&self, h: &mut H) {
        let Column { uniform, ragged } = self;
        let uniform = uniform.iter().map(|(a, b)| (Tick(*a), Tick(*b)));
        uniform.for_each(|pair| pair.hash(h));
        ragged.is_some().hash(h);
        let ragged = ragged.iter().flat_map(|row| row.iter());
        ragged.for_each(|t| Tick(*t).hash(h));
    }
}

impl Column {
    pub(super) fn uniform(&self) -> u32 {
        self.uniform.last().map_or(0, |u| u.1)
    }

    /// What everyone knew when the tick was drawn.
    pub(super) fn uniform_at(&self, tick: u32) -> u32 {
        self.uniform
            .iter()
            .rev()
            .find(|u| u.0 <= tick)
            .map_or(0, |u| u.1)
    }

    pub(super) fn known_to(&self, t: u32) -> u32 {
        let own = self.ragged.as_ref().map_or(0, |r| r[t as usize]);
        own.max(self.uniform())
    }
}

/// Exited threads and what is known of them.
#[derive(Clone)]
pub(super) struct Exits {
    shape: RankShape,
    /// The tick from which on the thread counts as exited; 0 while it is live.
    at: Vec<u32>,
    /// Boxed per thread once it is settled.
    columns: Vec<Option<Box<Column>>>,
    pending: Vec<u32>,
    /// Exited threads in order of exit.
    log: Vec<u32>,
    /// Exited threads whose columns differ between observers, ascending.
    ragged: Vec<u32>,
    frozen: Vec<Option<Box<Snapshot>>>,
    /// Exits that every live thread knows of.
    floor: Lanes,
    /// More exits that a thread knows of.
    rows: Vec<Option<Arc<Lanes>>>,
    /// True when a row is in use.
    any_rows: bool,
}

impl Hash for Exits {
    fn hash<H: Hasher>(&self, h: &mut H) {
        let Exits {
            shape: _, // Said once, before the run.
            at,
            columns,
            pending,
            log,
            ragged,
            frozen,
            floor,
            rows,
            any_rows,
        } = self;
        at.iter().for_each(|t| Tick(*t).hash(h));
        (columns, pending, log, ragged).hash(h);
        (frozen, floor, rows, any_rows).hash(h);
    }
}

impl Exits {
    pub(super) fn new(shape: RankShape) -> Exits {
        Exits {
            shape,
            at: vec![0; shape.threads() as usize],
            columns: Vec::new(),
            pending: Vec::new(),
            log: Vec::new(),
            ragged: Vec::new(),
            frozen: Vec::new(),
            floor: shape.none(),
            rows: Vec::new(),
            any_rows: false,
        }
    }

    #[inline]
    pub(super) fn any(&self) -> bool {
        !self.log.is_empty()
    }

    pub(super) fn count(&self) -> u32 {
        self.log.len() as u32
    }

    #[inline]
    pub(super) fn column(&self, t: u32) -> Option<&Column> {
        self.columns.get(t as usize)?.as_deref()
    }

    pub(super) fn frozen(&self, t: u32) -> Option<&Snapshot> {
        self.frozen.get(t as usize)?.as_deref()
    }

    /// Had the thread exited when the tick was drawn?
    pub(super) fn exited_by(&self, t: u32, tick: u32) -> bool {
        let at = self.at[t as usize];
        at != 0 && at <= tick
    }

    /// The thread exits; whatever is drawn from `tick` on comes later.
    pub(super) fn note(&mut self, t: u32, tick: u32) {
        self.at[t as usize] = tick;
        self.pending.push(t);
        self.log.push(t);
    }

    pub(super) fn pending(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(super) fn take_pending(&mut self) -> Vec<u32> {
        if self.columns.is_empty() {
            let n = self.shape.threads() as usize;
            self.columns.resize(n, None);
            self.frozen.resize(n, None);
            self.rows.resize(n, None);
        }
        std::mem::take(&mut self.pending)
    }

    pub(super) fn settle(
        &mut self,
        t: u32,
        floor: u32,
        ragged: Option<Box<[u32]>>,
        frozen: Snapshot,
    ) {
        if ragged.is_some() {
            self.ragged.push(t);
        }
        // The exiting threads still count as observers: their own clocks are frozen already.
        self.frozen[t as usize] = Some(Box::new(frozen));
        self.columns[t as usize] = Some(Box::new(Column {
            uniform: smallvec![(0, floor)],
            ragged,
        }));
    }

    pub(super) fn finish_settling(&mut self) {
        self.ragged.sort_unstable();
    }

    /// What the threads know that not everyone does: columns and exits.
    pub(super) fn collect(
        &self,
        of: impl Iterator<Item = u32> + Clone,
    ) -> (Vec<(u32, u32)>, Option<Arc<Lanes>>) {
        let mut columns = Vec::new();
        for &e in &self.ragged {
            if let Some(c) = self.column(e) {
                let known = of.clone().map(|t| c.known_to(t)).max().unwrap_or(0);
                columns.push((e, known));
            }
        }
        let mut exits: Option<Arc<Lanes>> = None;
        if self.any_rows {
            for row in of.filter_map(|t| self.rows[t as usize].as_ref()) {
                unite(&mut exits, row);
            }
        }
        (columns, exits)
    }

    /// The threads of the group acquire from each other and from the snapshots.
    pub(super) fn join(&mut self, group: &Lanes, also: &[Arc<Snapshot>], shape: RankShape) {
        if self.columns.is_empty() {
            return;
        }
        let members = || members(group, shape);
        let (columns, exits) = self.collect(members());
        for (e, known) in columns {
            self.raise(e, known, members());
        }
        if let Some(row) = exits {
            self.set_rows(members(), &row);
        }
        for snap in also {
            self.absorb(snap, members(), shape);
        }
    }

    /// All live threads acquire.
    pub(super) fn absorb_all(&mut self, live: &Lanes, snap: &Snapshot) {
        if !self.columns.is_empty() {
            self.absorb(snap, members(live, self.shape), self.shape);
        }
    }

    /// A single thread acquires.
    pub(super) fn acquire(&mut self, t: u32, snap: &Snapshot, shape: RankShape) {
        if !self.columns.is_empty() {
            self.absorb(snap, std::iter::once(t), shape);
        }
    }

    /// Adds what a snapshot says about exited threads and exits to what the threads know.
    fn absorb(&mut self, snap: &Snapshot, to: impl Iterator<Item = u32> + Clone, shape: RankShape) {
        for &(e, known) in &snap.columns {
            self.raise(e, known, to.clone());
        }
        // Threads that were live at the release and have exited since.
        for i in (0..self.log.len()).rev() {
            let e = self.log[i];
            if self.exited_by(e, snap.tick) {
                break;
            }
            self.raise(e, snap.of(e, shape), to.clone());
        }
        if let Some(row) = &snap.exits {
            self.set_rows(to, row);
        }
    }

    /// The threads know the exited thread below `known`.
    fn raise(&mut self, e: u32, known: u32, to: impl Iterator<Item = u32>) {
        let n = self.shape.threads() as usize;
        let Some(c) = self.columns[e as usize].as_deref_mut() else {
            return;
        };
        if known <= c.uniform() {
            return;
        }
        if c.ragged.is_none()
            && let Err(i) = self.ragged.binary_search(&e)
        {
            self.ragged.insert(i, e);
        }
        let row = c
            .ragged
            .get_or_insert_with(|| vec![0; n].into_boxed_slice());
        for t in to {
            let k = &mut row[t as usize];
            *k = (*k).max(known);
        }
    }

    fn set_rows(&mut self, to: impl Iterator<Item = u32>, row: &Arc<Lanes>) {
        for t in to {
            unite(&mut self.rows[t as usize], row);
        }
        self.any_rows = true;
    }

    /// The threads of the group waited for the exits.
    pub(super) fn learn(&mut self, group: &Lanes, exited: &Lanes) {
        if self.columns.is_empty() || exited.iter().all(|&e| e == 0) {
            return;
        }
        let row = Arc::new(self.close(exited));
        self.set_rows(members(group, self.shape), &row);
    }

    /// The exits, and all that these threads knew of.
    fn close(&self, exited: &Lanes) -> Lanes {
        let mut all = exited.clone();
        for e in members(exited, self.shape) {
            if let Some(row) = self.frozen(e).and_then(|s| s.exits.as_deref()) {
                for (a, r) in all.iter_mut().zip(row.iter()) {
                    *a |= r;
                }
            }
        }
        all
    }

    /// Every live thread acquires from every other, and waited for the exits.
    pub(super) fn collapse(&mut self, live: &Lanes, exited: &Lanes, now: u32) {
        if self.columns.is_empty() {
            return;
        }
        for e in std::mem::take(&mut self.ragged) {
            let shape = self.shape;
            let Some(c) = self.columns[e as usize].as_deref_mut() else {
                continue;
            };
            let known = members(live, shape).map(|t| c.known_to(t)).max();
            if let Some(k) = known
                && k > c.uniform()
            {
                c.uniform.push((now, k));
            }
            c.ragged = None;
        }
        if exited.iter().zip(&self.floor).any(|(e, f)| e & !f != 0) {
            let all = self.close(exited);
            for (f, a) in self.floor.iter_mut().zip(&all) {
                *f |= a;
            }
        }
        if self.any_rows {
            for t in members(live, self.shape) {
                if let Some(row) = self.rows[t as usize].take() {
                    for (f, r) in self.floor.iter_mut().zip(row.iter()) {
                        *f |= r;
                    }
                }
            }
            self.any_rows = false;
        }
    }

    /// The exits that a live thread knows of.
    pub(super) fn known_exits(&self, t: u32) -> impl Iterator<Item = u32> + '_ {
        let mut all = self.floor.clone();
        if let Some(Some(row)) = self.rows.get(t as usize) {
            for (a, r) in all.iter_mut().zip(row.iter()) {
                *a |= r;
            }
        }
        members_of(all, self.shape)
    }
}

fn unite(to: &mut Option<Arc<Lanes>>, row: &Arc<Lanes>) {
    match to {
        None => *to = Some(row.clone()),
        Some(have) if Arc::ptr_eq(have, row) => {}
        Some(have) => {
            for (a, b) in Arc::make_mut(have).iter_mut().zip(row.iter()) {
                *a |= b;
            }
        }
    }
}

fn members_of(group: Lanes, shape: RankShape) -> impl Iterator<Item = u32> {
    group.into_iter().zip(0..).flat_map(move |(mask, w)| {
        (0..shape.width())
            .filter(move |l| mask >> l & 1 != 0)
            .map(move |l| shape.tid(w, l).0)
    })
}

fn members(group: &Lanes, shape: RankShape) -> impl Iterator<Item = u32> + Clone {
    group.iter().zip(0..).flat_map(move |(&mask, w)| {
        (0..shape.width())
            .filter(move |l| mask >> l & 1 != 0)
            .map(move |l| shape.tid(w, l).0)
    })
}
