//! Where cells keep what does not fit into them: plain reads of several warps, and lists.

use super::entry::List;
use crate::sim::clock::RankShape;

/// Plain reads of one warp.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reader {
    pub(super) tick: u32,
    pub(super) mask: u32,
    pub(super) pc: u32,
}

/// Where cells keep what does not fit into them.
#[derive(Clone)]
pub(super) struct Tables {
    pub(super) warps: u32,
    pub(super) shift: u32,
    /// Readers of each warp, `warps` for each record.
    readers: Vec<Reader>,
    free_readers: Vec<u32>,
    pub(super) lists: Vec<List>,
    pub(super) free_lists: Vec<u32>,
}

/// Bit of a link that names a list.
pub(super) const LIST: u32 = 1 << 31;
/// Bit of a link that names a record of readers.
pub(super) const READERS: u32 = 1 << 30;
/// The rest of a link.
pub(super) const INDEX: u32 = READERS - 1;

impl Tables {
    pub(super) fn new(shape: RankShape) -> Tables {
        Tables {
            warps: shape.warps(),
            shift: shape.width().trailing_zeros(),
            readers: Vec::new(),
            free_readers: Vec::new(),
            lists: Vec::new(),
            free_lists: Vec::new(),
        }
    }

    /// The reads of one warp.
    #[inline]
    pub(super) fn reader(&mut self, link: u32, warp: u32) -> &mut Reader {
        &mut self.readers[((link & INDEX) * self.warps + warp) as usize]
    }

    /// The reads of each warp, to look at.
    pub(super) fn readers(&self, link: u32) -> &[Reader] {
        let at = ((link & INDEX) * self.warps) as usize;
        &self.readers[at..at + self.warps as usize]
    }

    /// The reads of each warp.
    #[inline]
    pub(super) fn record(&mut self, link: u32) -> &mut [Reader] {
        let at = ((link & INDEX) * self.warps) as usize;
        &mut self.readers[at..at + self.warps as usize]
    }

    pub(super) fn new_record(&mut self) -> u32 {
        let i = self.free_readers.pop().unwrap_or_else(|| {
            let i = self.readers.len() as u32 / self.warps;
            let n = self.readers.len() + self.warps as usize;
            self.readers.resize(n, Reader::default());
            i
        });
        READERS | i
    }

    pub(super) fn new_list(&mut self) -> u32 {
        self.free_lists.pop().unwrap_or_else(|| {
            self.lists.push(List::new());
            self.lists.len() as u32 - 1
        })
    }

    pub(super) fn free_record(&mut self, link: u32) {
        self.record(link).fill(Reader::default());
        self.free_readers.push(link & INDEX);
    }
}
