//! Pages of cells. A page starts with one cell for each four bytes and splits its cells in two
//! when an access begins or ends inside one.

use super::cell::Cell;
use super::tables::Tables;

/// Log2 of the bytes of memory that a page covers.
pub(super) const PAGE_BITS: u32 = 12;

/// The cells of a page.
#[derive(Clone)]
pub(super) struct Page {
    shift: u32,
    cells: Vec<Cell>,
}

impl Page {
    pub(super) fn new() -> Box<Page> {
        Box::new(Page {
            shift: 2,
            cells: vec![Cell::default(); 1 << (PAGE_BITS - 2)],
        })
    }

    /// Log2 of the bytes of a cell.
    #[inline]
    pub(super) fn shift(&self) -> u32 {
        self.shift
    }

    /// Makes the cells at most `1 << grain` bytes.
    #[inline]
    pub(super) fn refine(&mut self, grain: u32, tables: &mut Tables) {
        while self.shift > grain {
            self.halve(tables);
        }
    }

    #[cold]
    fn halve(&mut self, tables: &mut Tables) {
        self.shift -= 1;
        let old = std::mem::take(&mut self.cells);
        self.cells.reserve_exact(old.len() * 2);
        for cell in old {
            let high = cell.duplicate(1 << self.shift, tables);
            self.cells.push(cell);
            self.cells.push(high);
        }
    }

    /// The cells in order.
    pub(super) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// All cells, if they are words.
    #[inline]
    pub(super) fn words(&mut self) -> Option<&mut [Cell]> {
        (self.shift == 2).then_some(&mut self.cells)
    }

    /// The cell of a byte.
    #[inline]
    pub(super) fn cell(&mut self, at: u64) -> &mut Cell {
        let i = (at & ((1 << PAGE_BITS) - 1)) >> self.shift;
        &mut self.cells[i as usize]
    }
}
