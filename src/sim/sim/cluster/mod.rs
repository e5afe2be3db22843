//! Several CTAs in one run: the CTAs of a cluster, which share their shared memory, or all CTAs of a grid
//! whose CTAs wait for each other.
//!
//! The problem: a run of one CTA cannot say what its threads see of the others. So the machine holds the warps
//! of all of them, one CTA after the other, each from a warpgroup of its own on, under one clock; the
//! scheduler, happens-before and shadow memory know nothing else of it. What a CTA has for itself is found by
//! the number of the CTA: barriers, registers of the launch, and a slot of 2^24 bytes of the region of shared memory.
//!
//! An address of the shared memory of a cluster holds the rank of its CTA in bits 24 to 31, as it does on the
//! devices that have clusters: own addresses too, so that `mapa` gives the own address for the own rank. The manual
//! says nothing of it, and no access needs it: it goes to the object that its address carries, in the CTA that its
//! rank names. A kernel that computes ranks by masks of its own is told of in an assumption.
//!
//! Source: PTX ISA 9.0, sections 2.2.2 (cooperative thread arrays of a cluster), 5.1.7 and 9.7.9.23 (`mapa`).

use super::clock::RankShape;
use super::{Finding, Otherwise, Outcome, Site, Tid};

pub(super) mod barrier;
mod cancel;
pub(super) mod inits;
mod lifetime;
mod ops;
mod remote;

pub(super) use cancel::Requests;
pub(super) use lifetime::Lifetimes;

/// Bits of an address below the rank of its CTA, and of the region of shared memory below the slot of a CTA.
pub(super) const SLOT_BITS: u32 = 24;
const SLOT: i64 = 1 << SLOT_BITS;

/// The CTAs of a run.
#[derive(Clone, Debug)]
pub(super) struct Team {
    /// Their indices, cluster by cluster, each in the order of its ranks.
    ctas: Vec<[u32; 3]>,
    shape: RankShape,
    /// CTAs of a cluster.
    size: u32,
}

/// The rank and the rest of an address of shared memory, or the slot and the rest of an offset.
pub(super) fn split(at: i64) -> (i64, i64) {
    let rank = (at + SLOT / 2) >> SLOT_BITS;
    (rank, at - (rank << SLOT_BITS))
}

/// The barriers of the clusters of a team that has so many warps.
pub(super) fn barriers(team: &Team, warps: usize) -> Vec<barrier::ClusterBarrier> {
    let clusters = team.len() / team.size as usize;
    let new = |_| barrier::ClusterBarrier::new(warps / clusters);
    (0..clusters).map(new).collect()
}

impl Team {
    /// A team of these CTAs, in clusters of so many.
    pub(super) fn new(ctas: Vec<[u32; 3]>, shape: RankShape, size: u32) -> Team {
        Team { ctas, shape, size }
    }

    /// True if there is more than one CTA.
    #[inline]
    pub(super) fn many(&self) -> bool {
        self.ctas.len() > 1
    }

    /// The index of the CTA of a number.
    pub(super) fn index(&self, number: i64) -> Option<[u32; 3]> {
        self.ctas.get(usize::try_from(number).ok()?).copied()
    }

    /// Number of CTAs.
    pub(super) fn len(&self) -> usize {
        self.ctas.len()
    }

    /// CTAs of a cluster.
    pub(super) fn size(&self) -> u32 {
        self.size
    }

    /// The number of the CTA of a warp.
    #[inline]
    pub(super) fn number(&self, w: usize) -> usize {
        match self.many() {
            true => self.shape.cta(w as u32) as usize,
            false => 0,
        }
    }

    /// The index of the CTA of a warp.
    pub(super) fn cta(&self, w: usize) -> [u32; 3] {
        self.ctas[self.number(w)]
    }

    /// The rank in its cluster of the CTA of a warp.
    #[inline]
    pub(super) fn rank(&self, w: usize) -> u32 {
        self.number(w) as u32 % self.size
    }

    /// The number of the CTA of a rank in the cluster of a warp.
    pub(super) fn peer(&self, w: usize, rank: u32) -> Option<usize> {
        let first = self.number(w) as u32 / self.size * self.size;
        (rank < self.size).then_some((first + rank) as usize)
    }

    /// The rank of a warp in its CTA.
    pub(super) fn warp(&self, w: usize) -> usize {
        match self.many() {
            true => w % self.shape.stride() as usize,
            false => w,
        }
    }

    /// The rank in its CTA of the first thread of a warp.
    pub(super) fn first(&self, w: usize) -> u32 {
        self.warp(w) as u32 * self.shape.width()
    }

    /// The warps of a CTA.
    pub(super) fn warps(&self, number: usize) -> std::ops::Range<usize> {
        let all = self.shape.warps_of(number as u32);
        all.start as usize..all.end as usize
    }

    /// Where the slot of a CTA begins in the region of shared memory.
    pub(super) fn slot(&self, number: usize) -> i64 {
        (number as i64) << SLOT_BITS
    }

    /// Where the own slot of a warp begins.
    pub(super) fn own_slot(&self, w: usize) -> i64 {
        self.slot(self.number(w))
    }

    /// What a warp adds to the offset of a variable for its address.
    #[inline]
    pub(super) fn own_rank_bits(&self, w: usize) -> u64 {
        match self.many() {
            true => u64::from(self.rank(w)) << SLOT_BITS,
            false => 0,
        }
    }

    /// The slot and the offset in it of an address of shared memory that a warp has; nothing where the cluster has
    /// no such CTA.
    #[inline]
    pub(super) fn place(&self, w: usize, at: i64) -> Option<(i64, i64)> {
        if !self.many() {
            return Some((0, at));
        }
        let (rank, rest) = split(at);
        let peer = self.peer(w, u32::try_from(rank).ok()?)?;
        Some((self.slot(peer), rest))
    }

    /// The offset in its slot of an offset of the region of shared memory.
    #[inline]
    pub(super) fn local(&self, off: i64) -> i64 {
        match self.many() {
            true => split(off).1,
            false => off,
        }
    }

    /// The CTA of a thread and its rank in that.
    pub(super) fn split_tid(&self, t: Tid) -> ([u32; 3], Tid) {
        let w = (t.0 / self.shape.width()) as usize;
        let own = self.first(w) + t.0 % self.shape.width();
        (self.cta(w), Tid(own))
    }

    /// A thread as messages name it.
    pub(super) fn name(&self, t: u32) -> String {
        if !self.many() {
            return t.to_string();
        }
        let (cta, own) = self.split_tid(Tid(t));
        format!("{} of CTA {}", own.0, crate::spec::launch::show(cta))
    }

    /// Names the CTA at each place of an outcome, whose threads have their ranks in that from then on.
    pub(super) fn tell(&self, out: &mut Outcome) {
        if !self.many() {
            return;
        }
        out.defects.iter_mut().for_each(|f| self.tell_finding(f));
        out.warnings.iter_mut().for_each(|f| self.tell_finding(f));
        out.unknowns.iter_mut().for_each(|f| self.tell_finding(f));
        let by_schedule = out.by_schedule.iter_mut();
        by_schedule.for_each(|f| self.tell_finding(f));
        for o in &mut out.obligations {
            self.tell_finding(&mut o.warning);
            match &mut o.otherwise {
                Otherwise::Defect(f) => self.tell_finding(f),
                Otherwise::Open(f) => self.tell_finding(f),
            }
        }
        for c in &mut out.conditionals {
            self.tell_finding(&mut c.defect);
            self.tell_finding(&mut c.open);
        }
    }

    fn tell_finding<K>(&self, f: &mut Finding<K>) {
        let sites = std::mem::take(&mut f.sites);
        f.sites = sites.into_iter().flat_map(|s| self.tell_site(s)).collect();
    }

    /// A place for each CTA whose threads are there.
    fn tell_site(&self, s: Site) -> Vec<Site> {
        let mut out: Vec<Site> = Vec::new();
        for &t in &s.threads {
            let (cta, own) = self.split_tid(t);
            match out.iter_mut().find(|o| o.cta == Some(cta)) {
                Some(o) => o.threads.push(own),
                None => out.push(Site {
                    cta: Some(cta),
                    threads: vec![own],
                    ..s.clone()
                }),
            }
        }
        match out.is_empty() {
            true => vec![s],
            false => out,
        }
    }
}
