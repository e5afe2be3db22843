//! Open sums of a warp in one log.
//!
//! The problem: in a matrix product all lanes of a warp extend their sums at once, 32 lines of memory
//! for one instruction, and half of what a run ever writes. But the factors of its lanes are alike:
//! one element for all of them, or elements one after the other. So a record of the log is an
//! instruction: the factors of the first lane, and by how much the ids of the others differ from
//! them, which is one of few patterns.
//!
//! A sum names its lane besides its chunk, so that it keeps its meaning wherever it is moved. Where
//! lanes part, each goes on alone, and all of them may begin a common log again.
//!
//! Not claimed: that every warp has few patterns. Past [`LIMITS.patterns`] lanes go on alone.

use crate::sim::limits::LIMITS;
use rustc_hash::FxHashMap;

use super::{NOTHING, OpenSum};
use crate::sim::val::{of_lane, open_sum};
use crate::sim::warp::{LANES, lanes};
use crate::term::TermId;

/// The bit that tells a chunk of a warp from one of a lane.
pub(super) const SHARED: u32 = 1 << 31;

/// Records of a chunk; with the header they fill four cache lines.
const CHUNK: usize = 20;

/// By how much the ids of the lanes differ from that of the first.
type Pattern = [u32; LANES];

#[derive(Clone, Copy, Debug, Default)]
struct Record {
    x: u32,
    y: u32,
    x_pattern: u16,
    y_pattern: u16,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Chunk {
    /// The chunk before, which is full, or what each lane began with.
    before: Before,
    mask: u32,
    len: u8,
    /// True if some prefix in some lane is a term.
    any_closed: bool,
    records: [Record; CHUNK],
}

#[derive(Clone, Copy, Debug)]
enum Before {
    Chunk(u32),
    Start(u32),
}

/// The logs of warps.
#[derive(Clone, Debug, Default)]
pub(super) struct Together {
    chunks: Vec<Chunk>,
    starts: Vec<[OpenSum; LANES]>,
    patterns: Vec<Pattern>,
    known: FxHashMap<Pattern, u16>,
    closed: FxHashMap<OpenSum, TermId>,
}

/// The ids of a factor, one for each lane.
#[derive(Clone, Copy)]
pub(super) struct Ids<'a> {
    pub words: &'a [u64; LANES],
    pub mask: u32,
}

impl Ids<'_> {
    fn first(self) -> u32 {
        self.words[self.mask.trailing_zeros() as usize % LANES] as u32
    }

    /// True if the lanes follow a pattern.
    #[inline]
    fn follows(self, p: &Pattern) -> bool {
        let first = self.first();
        let differ = |lane: usize| self.words[lane] as u32 ^ first.wrapping_add(p[lane]);
        if self.mask == u32::MAX {
            return (0..LANES).fold(0, |d, lane| d | differ(lane)) == 0;
        }
        lanes(self.mask).all(|lane| differ(lane) == 0)
    }
}

impl Together {
    /// Memory in bytes that the logs take.
    pub(super) fn footprint(&self) -> u64 {
        let chunks = self.chunks.capacity() * size_of::<Chunk>();
        let starts = self.starts.capacity() * size_of::<[OpenSum; LANES]>();
        let closed = self.closed.capacity() * size_of::<(OpenSum, TermId)>();
        (chunks + starts + closed) as u64
    }

    /// The term of a sum, if it has been closed.
    #[inline]
    pub(super) fn closed(&self, s: OpenSum) -> Option<TermId> {
        match self.chunk(s).any_closed {
            true => self.closed.get(&s).copied(),
            false => None,
        }
    }

    /// Keeps the term of a sum.
    pub(super) fn set_closed(&mut self, s: OpenSum, t: TermId) {
        self.chunks[(s.chunk & !SHARED) as usize].any_closed = true;
        self.closed.insert(s, t);
    }

    #[inline]
    fn chunk(&self, s: OpenSum) -> &Chunk {
        &self.chunks[(s.chunk & !SHARED) as usize]
    }

    /// Collects the products of the chunk in which a sum ends, last ones first, and returns the sum
    /// before them.
    pub(super) fn collect(&self, s: OpenSum, out: &mut Vec<(TermId, TermId)>) -> OpenSum {
        let (c, lane) = (self.chunk(s), s.lane as usize);
        let term = |first: u32, p: u16| TermId(first.wrapping_add(self.patterns[p as usize][lane]));
        let records = c.records[..s.len as usize].iter().rev();
        out.extend(records.map(|r| (term(r.x, r.x_pattern), term(r.y, r.y_pattern))));
        match c.before {
            Before::Start(n) => self.starts[n as usize][lane],
            Before::Chunk(n) => OpenSum {
                chunk: n | SHARED,
                len: CHUNK as u8,
                lane: s.lane,
            },
        }
    }

    /// The pattern of a factor: `hint` or another.
    #[inline]
    fn pattern(&mut self, f: Ids<'_>, hint: u16) -> Option<u16> {
        if self
            .patterns
            .get(hint as usize)
            .is_some_and(|p| f.follows(p))
        {
            return Some(hint);
        }
        let first = f.first();
        let mut p = [0; LANES];
        for lane in lanes(f.mask) {
            p[lane] = (f.words[lane] as u32).wrapping_sub(first);
        }
        if let Some(&known) = self.known.get(&p) {
            return Some(known);
        }
        if self.patterns.len() >= LIMITS.patterns {
            return None;
        }
        let new = self.patterns.len() as u16;
        self.patterns.push(p);
        self.known.insert(p, new);
        Some(new)
    }

    /// The sums of the lanes of a mask, each with the product of its factors; the sum of lane 0
    /// stands for all, which differ in nothing else. `None` where the lanes had better go on alone.
    ///
    /// `sums` are lane words.
    pub(super) fn append(
        &mut self,
        mask: u32,
        sums: &[u64; LANES],
        x: Ids<'_>,
        y: Ids<'_>,
    ) -> Option<OpenSum> {
        if mask.count_ones() < LIMITS.log_lanes {
            return None;
        }
        let one = sums[mask.trailing_zeros() as usize];
        let first = open_sum(one);
        let zero = one & !(0xff << 32);
        let is_common = first.chunk & SHARED != 0
            && self.chunk(first).mask == mask
            && match mask {
                u32::MAX => {
                    let lanes = sums.iter().enumerate();
                    lanes.fold(0, |d, (lane, w)| d | w ^ of_lane(zero, lane)) == 0
                }
                _ => lanes(mask).all(|lane| sums[lane] == of_lane(zero, lane)),
            };
        let mut hints = [0; 2];
        if is_common {
            let last = &self.chunk(first).records[first.len as usize - 1];
            hints = [last.x_pattern, last.y_pattern];
        }
        let record = Record {
            x: x.first(),
            y: y.first(),
            x_pattern: self.pattern(x, hints[0])?,
            y_pattern: self.pattern(y, hints[1])?,
        };
        if !is_common {
            let mut start = [NOTHING; LANES];
            for lane in lanes(mask) {
                start[lane] = open_sum(sums[lane]);
            }
            self.starts.push(start);
            let before = Before::Start(self.starts.len() as u32 - 1);
            return self.start(before, mask, &[], record);
        }
        let at = (first.chunk & !SHARED) as usize;
        let c = &mut self.chunks[at];
        let n = first.len as usize;
        if c.any_closed {
            // What is a term already goes on as that term, which others share.
            return None;
        }
        if n == CHUNK {
            return self.start(Before::Chunk(at as u32), mask, &[], record);
        }
        if c.len as usize == n {
            c.records[n] = record;
            c.len += 1;
            return Some(OpenSum {
                len: first.len + 1,
                lane: 0,
                ..first
            });
        }
        // Others have extended this prefix: go on with a copy of the chunk.
        let (before, records) = (c.before, c.records);
        self.start(before, mask, &records[..n], record)
    }

    /// A new chunk: some records and one more. `None` where there is no number left for it.
    fn start(
        &mut self,
        before: Before,
        mask: u32,
        records: &[Record],
        more: Record,
    ) -> Option<OpenSum> {
        let chunk = u32::try_from(self.chunks.len()).ok();
        let chunk = chunk.filter(|c| c & SHARED == 0)?;
        let mut all = [Record::default(); CHUNK];
        all[..records.len()].copy_from_slice(records);
        all[records.len()] = more;
        let len = records.len() as u8 + 1;
        self.chunks.push(Chunk {
            before,
            mask,
            len,
            any_closed: false,
            records: all,
        });
        Some(OpenSum {
            chunk: chunk | SHARED,
            len,
            lane: 0,
        })
    }
}
