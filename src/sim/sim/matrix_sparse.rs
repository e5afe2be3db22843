//! Where the elements of a sparse factor stand: the metadata of `mma.sp`.
//!
//! Problem: a sparse a holds half of each row. Its chunks have four elements (two of tf32, four pairs of
//! elements of four bits), half of which are held; four bits of metadata for each chunk say which. One, two
//! or four lanes of each group of four hold them (PTX ISA 9.0, section 9.7.14.6.1), lane after
//! lane from the one that the selector names, for row g and row g + 8 of a group g.
//!
//! Which bits of which lane are about which chunk the manual shows in figures only. It
//! is what CUTLASS makes of metadata before it gives them to these instructions, and for bytes what CuTe's
//! layouts of them say:
//!
//! * elements of 16 and 32 bits: a lane has four chunks of row g in its lower half and the same chunks of row
//!   g + 8 in the upper one;
//! * elements of 8 and 4 bits: a lane has eight chunks of row g, the next lane those of row g + 8.
//!
//! Products of 32 bytes (or 64 halves of bytes), for which two lanes hold metadata, stand in neither source; that they are the
//! halves of the next larger ones is an assumption, which the report lists where it matters.
//!
//! Not claimed: metadata that depend on data.

use crate::answer::AssumptionKind;
use crate::kernel::{Mma, Pc};

use super::UnknownKind;
use super::at::site;
use super::machine::Core;
use super::stop::Stop;
use super::val::Val;
use super::warp::LANES;

/// The lane, counted from the first with metadata, and the first bit of what is said of a chunk of row g, or of
/// row g + 8.
fn place(wide: bool, lower: bool, chunk: usize) -> (usize, usize) {
    let half = usize::from(lower);
    if wide {
        (chunk / 4, 16 * half + 4 * (chunk % 4))
    } else {
        (2 * (chunk / 8) + half, 4 * (chunk % 8))
    }
}

impl Core<'_> {
    /// For each row, the columns of a that registers hold; one row stands for all if a is dense.
    pub(super) fn held_columns(
        &mut self,
        w: usize,
        pc: Pc,
        m: &Mma,
    ) -> Result<Vec<Vec<usize>>, Stop> {
        let depth = m.k as usize;
        let Some(sparse) = m.sparse else {
            return Ok(vec![(0..depth).collect()]);
        };
        let single = m.a_ty.bits() == 32;
        // Elements of four bits stand and fall in pairs, unless they are padded to bytes.
        let unit = if m.a_ty.bits() == 4 { 2 } else { 1 };
        let size = unit * if single { 2 } else { 4 };
        let chunks = depth / size;
        let words = chunks / 4;
        let first = words * sparse.selector as usize;
        if first + words > 4 {
            let site = site(pc, w, u32::MAX, "executes it");
            self.found.unknown(UnknownKind::Undefined, vec![site], || {
                "the sparsity selector names lanes that hold no metadata".into()
            });
            return Err(Stop::Finding);
        }
        let mut held = [0u32; LANES];
        for (lane, word) in held.iter_mut().enumerate() {
            if !(first..first + words).contains(&(lane % 4)) {
                continue;
            }
            let v = self.src(w, sparse.metadata, lane);
            let Val::Conc(bits) = self.values.of_bits_plain(v, 32) else {
                let what = "data-dependent metadata of a sparse product";
                self.unsupported(w, u32::MAX, pc, what);
                return Err(Stop::Finding);
            };
            *word = bits as u32;
        }
        let wide = m.a_ty.bits() >= 16;
        let mut out = Vec::with_capacity(16);
        for row in 0..16 {
            let mut columns = Vec::with_capacity(depth / 2);
            for chunk in 0..chunks {
                let (lane, bit) = place(wide, row >= 8, chunk);
                let one = held[4 * (row % 8) + first + lane] >> bit & 15;
                let inside: &[usize] = match (single, one) {
                    (true, 0b1110) => &[1],
                    (true, 0b0100) => &[0],
                    (false, _)
                        if (one & 3) < one >> 2 || (one & 3) > one >> 2 && !sparse.ordered =>
                    {
                        &[one as usize & 3, one as usize >> 2]
                    }
                    _ => {
                        let site = site(pc, w, u32::MAX, format!("has metadata {one:#06b}"));
                        self.found.unknown(UnknownKind::Undefined, vec![site], || {
                            "metadata of a sparse product name no distinct elements".into()
                        });
                        return Err(Stop::Finding);
                    }
                };
                for i in inside {
                    let from = chunk * size + unit * i;
                    columns.extend(from..from + unit);
                }
            }
            out.push(columns);
        }
        let differ = || (0..8).any(|g| out[g] != out[g + 8]);
        if !wide && words == 2 && differ() {
            self.found.assumptions.insert(AssumptionKind::Machine.says(format!(
                "of the two lanes with metadata of a sparse product of depth {depth}, the first is about row g \
                 and the second about row g + 8, as in the products of twice the depth"
            )));
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every four bits of every lane are about one chunk of one row.
    #[test]
    fn metadata_are_a_bijection() {
        for (wide, chunks) in [(true, 4), (true, 8), (false, 8), (false, 16)] {
            let mut seen = vec![0; chunks / 4 * 8];
            for lower in [false, true] {
                for chunk in 0..chunks {
                    let (lane, bit) = place(wide, lower, chunk);
                    assert_eq!(bit % 4, 0);
                    seen[8 * lane + bit / 4] += 1;
                }
            }
            assert!(seen.iter().all(|n| *n == 1), "{chunks} chunks");
        }
    }
}
