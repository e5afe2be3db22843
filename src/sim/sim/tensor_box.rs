//! The geometry of tensor maps: which bytes of memory a box of a tensor is, and where they lie in
//! shared memory.
//!
//! Source: PTX ISA 9.0, sections 5.5 (tensors) and 9.7.9.26 (the codes of the fields). Element
//! (i0, i1, ...) lies at the address plus i0 times the element size plus the sum of ik times the stride
//! of dimension k; a box is dense in shared memory, fastest dimension first, where the swizzle xors
//! bits of the address from bit 7 on into those from bit 4 on.
//!
//! Not claimed: interleaved layouts, steps other than 1, swizzles of larger pieces, elements of less
//! than a byte, fills other than zero. Each is refused by name.

use crate::kernel::{Fmt, IntTy, MapField, NumTy};
use crate::spec::ElemTy;
use crate::spec::binding::MapDecl;

use super::address::provenance::Prov;

/// What a map says; fields that were never set are zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TensorMap {
    /// Generic address of the first element.
    pub address: u64,
    /// What the address carries.
    pub carried: Prov,
    /// Number of dimensions, less one.
    pub rank: u64,
    /// Extent of the box, fastest dimension first.
    pub bounds: [u64; 5],
    /// Extent of the tensor.
    pub extent: [u64; 5],
    /// Bytes between neighbours of the dimensions from the second on.
    pub stride: [u64; 5],
    /// Elements between neighbours of the box.
    pub step: [u64; 5],
    /// Code of the element type.
    pub element: u64,
    /// Code of the interleaving.
    pub interleave: u64,
    /// Code of the swizzle.
    pub swizzle: u64,
    /// Code of the swizzle's pieces.
    pub atomicity: u64,
    /// Code of the fill.
    pub fill: u64,
}

/// Sixteen bytes of a box, or fewer of its last row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Offset of its first byte in shared memory.
    pub near: u64,
    /// Offset of its first byte from the address of the tensor, as if there were no bounds.
    pub far: i64,
    /// The bytes from `from` to `to` lie in the tensor.
    pub from: u32,
    /// End of these bytes.
    pub to: u32,
}

/// Bytes of a chunk.
pub(super) const CHUNK: u32 = 16;

impl TensorMap {
    /// The map that the host makes of an array at this address.
    pub(super) fn of_host(decl: &MapDecl, address: u64) -> TensorMap {
        let rank = decl.shape.len().clamp(1, 5);
        let mut map = TensorMap {
            address,
            rank: rank as u64 - 1,
            step: [1; 5],
            swizzle: [0, 32, 64, 128]
                .iter()
                .position(|s| *s == decl.swizzle)
                .unwrap_or(0) as u64,
            element: match decl.elem {
                ElemTy::Int { width: 8, .. } | ElemTy::Float(Fmt::E4m3 | Fmt::E5m2) => 0,
                ElemTy::Int { width: 16, .. } => 1,
                ElemTy::Int {
                    width: 32,
                    signed: false,
                } => 2,
                ElemTy::Int { width: 32, .. } => 3,
                ElemTy::Int { signed: false, .. } => 4,
                ElemTy::Int { .. } => 5,
                ElemTy::Float(Fmt::F16) => 6,
                ElemTy::Float(Fmt::F64) => 9,
                ElemTy::Float(Fmt::Bf16) => 10,
                ElemTy::Float(_) => 7,
            },
            ..TensorMap::default()
        };
        let fastest_first = decl.shape.iter().zip(&decl.bounds).zip(&decl.strides).rev();
        for (k, ((extent, bounds), stride)) in fastest_first.enumerate().take(rank) {
            map.extent[k] = *extent;
            map.bounds[k] = *bounds;
            if k > 0 {
                map.stride[k - 1] = stride.saturating_mul(decl.elem.bytes());
            }
        }
        map
    }

    /// All fields as numbers; what the address carries is not among them.
    pub(super) fn says(&self) -> Vec<u64> {
        let TensorMap {
            address,
            carried: _,
            rank,
            bounds,
            extent,
            stride,
            step,
            element,
            interleave,
            swizzle,
            atomicity,
            fill,
        } = self;
        let mut out = Vec::with_capacity(27);
        out.extend([
            *address,
            *rank,
            *element,
            *interleave,
            *swizzle,
            *atomicity,
            *fill,
        ]);
        for list in [bounds, extent, stride, step] {
            out.extend(list);
        }
        out
    }

    /// The map of which [`TensorMap::says`] gave the numbers.
    pub(super) fn of_says(says: &[u64]) -> TensorMap {
        let mut map = TensorMap::default();
        let mut next = says.iter().copied();
        let TensorMap {
            address,
            carried: _,
            rank,
            bounds,
            extent,
            stride,
            step,
            element,
            interleave,
            swizzle,
            atomicity,
            fill,
        } = &mut map;
        let single = [address, rank, element, interleave, swizzle, atomicity, fill];
        let lists = [bounds, extent, stride, step].into_iter().flatten();
        for field in single.into_iter().chain(lists) {
            *field = next.next().unwrap_or(0);
        }
        map
    }

    pub(super) fn set(&mut self, field: MapField, value: u64) {
        match field {
            MapField::Address => self.address = value,
            MapField::Rank => self.rank = value,
            MapField::Box(i) => self.bounds[usize::from(i)] = value,
            MapField::Extent(i) => self.extent[usize::from(i)] = value,
            MapField::Stride(i) => self.stride[usize::from(i)] = value,
            MapField::Step(i) => self.step[usize::from(i)] = value,
            MapField::Element => self.element = value,
            MapField::Interleave => self.interleave = value,
            MapField::Swizzle => self.swizzle = value,
            MapField::Atomicity => self.atomicity = value,
            MapField::Fill => self.fill = value,
        }
    }

    /// The element type; `None` for one of less than a byte.
    pub(super) fn element(&self) -> Option<NumTy> {
        let int = |width, signed| Some(NumTy::Int(IntTy { width, signed }));
        match self.element {
            0 => int(8, false),
            1 => int(16, false),
            2 => int(32, false),
            3 => int(32, true),
            4 => int(64, false),
            5 => int(64, true),
            6 => Some(NumTy::Float(Fmt::F16)),
            7 | 8 | 11 | 12 => Some(NumTy::Float(Fmt::F32)),
            9 => Some(NumTy::Float(Fmt::F64)),
            10 => Some(NumTy::Float(Fmt::Bf16)),
            _ => None,
        }
    }

    /// Why the map cannot be used for this many dimensions.
    pub(super) fn refusal(&self, rank: usize) -> Option<Refusal> {
        use Refusal::{Unsupported, Wrong};
        if self.rank + 1 != rank as u64 {
            return Some(Wrong("the map has another number of dimensions"));
        }
        let Some(element) = self.element() else {
            return Some(Unsupported("a tensor of this element type"));
        };
        if self.interleave != 0 {
            return Some(Unsupported("an interleaved tensor"));
        }
        if self.atomicity != 0 || self.swizzle > 3 {
            return Some(Unsupported("this swizzle of a tensor"));
        }
        if self.fill != 0 {
            return Some(Unsupported("a fill other than zero"));
        }
        if self.step[..rank].iter().any(|s| *s != 1) {
            return Some(Unsupported("a traversal stride other than 1"));
        }
        if self.bounds[..rank].iter().any(|n| !(1..=256).contains(n)) {
            return Some(Wrong("an extent of its box is not from 1 to 256"));
        }
        let too_long = |n: &u64| !(1..=1 << 32).contains(n);
        if self.extent[..rank].iter().any(too_long) {
            return Some(Wrong("an extent of the tensor is not from 1 to 2^32"));
        }
        let strange = |s: &u64| !s.is_multiple_of(16) || *s >= 1 << 40;
        if self.stride[..rank - 1].iter().any(strange) || !self.address.is_multiple_of(16) {
            return Some(Wrong("its address and strides must be multiples of 16"));
        }
        let row = self.bounds[0] * u64::from(element.bits() / 8);
        if !row.is_multiple_of(16) {
            return Some(Wrong("the rows of its box must be multiples of 16 bytes"));
        }
        if self.swizzle > 0 && row > 16 << self.swizzle {
            return Some(Wrong("the rows of its box are longer than the swizzle"));
        }
        None
    }

    /// The chunks of the box with its first element at these coordinates, to or from this offset of
    /// shared memory.
    pub(super) fn chunks(&self, near: u64, coords: &[i64]) -> Vec<Chunk> {
        let rank = coords.len();
        let size = self.element().map_or(1, |e| i64::from(e.bits() / 8));
        let row = self.bounds[0] as i64 * size;
        let lines: u64 = self.bounds[1..rank].iter().product();
        let mut out = Vec::with_capacity((lines * row as u64 / u64::from(CHUNK)) as usize);
        for line in 0..lines {
            let (mut rest, mut far, mut inside) = (line, 0i64, true);
            for (k, c) in coords.iter().enumerate().skip(1) {
                let i = c + (rest % self.bounds[k]) as i64;
                rest /= self.bounds[k];
                inside &= i >= 0 && (i as u64) < self.extent[k];
                far += i * self.stride[k - 1] as i64;
            }
            // The bytes of the row that lie in the tensor.
            let first = coords[0] * size;
            let low = (-first).clamp(0, row);
            let high = (self.extent[0] as i64 * size - first).clamp(0, row);
            for at in (0..row).step_by(CHUNK as usize) {
                let dense = near + line * row as u64 + at as u64;
                let end = at + i64::from(CHUNK);
                let (from, to) = (low.clamp(at, end) - at, high.clamp(at, end) - at);
                out.push(Chunk {
                    near: self.swizzled(dense),
                    far: far + first + at,
                    from: if inside { from as u32 } else { 0 },
                    to: if inside { to.max(from) as u32 } else { 0 },
                });
            }
        }
        out
    }

    /// The chunks of a row from a column on, for each of these rows; they are dense in shared memory.
    pub(super) fn rows(&self, near: u64, column: i64, rows: &[i64]) -> Vec<Chunk> {
        let size = self.element().map_or(1, |e| u64::from(e.bits() / 8));
        let places = rows.iter().zip((0..).map(|i| i * self.bounds[0] * size));
        places
            .flat_map(|(row, at)| self.chunks(near + at, &[column, *row]))
            .collect()
    }

    /// Where the swizzle puts an address of shared memory.
    fn swizzled(&self, a: u64) -> u64 {
        let mask = (1u64 << self.swizzle) - 1;
        a ^ (a >> 7 & mask) << 4
    }
}

/// Why a map cannot be used.
pub(super) enum Refusal {
    /// Against the rules.
    Wrong(&'static str),
    /// Without a model.
    Unsupported(&'static str),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(swizzle: u64, bounds: [u64; 2], extent: [u64; 2]) -> TensorMap {
        TensorMap {
            rank: 1,
            bounds: [bounds[0], bounds[1], 0, 0, 0],
            extent: [extent[0], extent[1], 0, 0, 0],
            stride: [extent[0] * 2, 0, 0, 0, 0],
            step: [1; 5],
            element: 6,
            swizzle,
            ..TensorMap::default()
        }
    }

    /// Every byte of a box has one place in shared memory, in each swizzle, and rows of 128 bytes go
    /// where the table of section 5.5.7 puts them.
    #[test]
    fn boxes_are_permuted() {
        for swizzle in 0..4 {
            let columns = if swizzle == 0 { 64 } else { 8u64 << swizzle };
            let m = map(swizzle, [columns, 64], [256, 64]);
            assert!(m.refusal(2).is_none());
            let chunks = m.chunks(1024, &[columns as i64, 0]);
            let mut near: Vec<u64> = chunks.iter().map(|c| c.near).collect();
            near.sort_unstable();
            let dense: Vec<u64> = (0..chunks.len() as u64).map(|i| 1024 + 16 * i).collect();
            assert_eq!(near, dense, "{swizzle}");
            for (i, c) in chunks.iter().enumerate() {
                let per_row = columns as usize * 2 / 16;
                let (line, at) = (i / per_row, i % per_row);
                let far = line as i64 * 512 + columns as i64 * 2 + 16 * at as i64;
                assert_eq!((c.far, c.from, c.to), (far, 0, 16));
                if swizzle == 3 {
                    let place = 1024 + line * 128 + ((at ^ (line % 8)) * 16);
                    assert_eq!(c.near, place as u64);
                }
            }
        }
    }

    /// Rows that lie apart are the rows of a box that has them all, each at its own place.
    #[test]
    fn rows_apart_fill_a_box() {
        for swizzle in 1..4 {
            let columns = 8u64 << swizzle;
            let (box_of_rows, row) = (
                map(swizzle, [columns, 4], [256, 64]),
                map(swizzle, [columns, 1], [256, 64]),
            );
            let apart = row.rows(2048, 8, &[9, 70, -1, 2]);
            let dense = box_of_rows.chunks(2048, &[8, 9]);
            let per_row = dense.len() / 4;
            for (i, (a, b)) in apart.iter().zip(&dense).enumerate() {
                assert_eq!(a.near, b.near);
                let moved = [0, 60, -12, -10][i / per_row] * 512;
                assert_eq!(a.far, b.far + moved);
                assert_eq!(a.to > 0, [true, false, false, true][i / per_row]);
            }
            assert_eq!(apart.len(), dense.len());
        }
    }

    /// Elements on either side of the tensor are outside of it.
    #[test]
    fn bounds_cut_boxes() {
        let m = map(0, [16, 4], [24, 3]);
        let chunks = m.chunks(0, &[-3, 1]);
        let inside: Vec<(u32, u32)> = chunks.iter().map(|c| (c.from, c.to)).collect();
        let line = [(6, 16), (0, 16)];
        assert_eq!(inside[..4], [line[0], line[1], line[0], line[1]]);
        assert!(inside[4..].iter().all(|(a, b)| a == b));
        let chunks = m.chunks(0, &[20, 0]);
        assert_eq!((chunks[0].from, chunks[0].to), (0, 8));
        assert_eq!((chunks[1].from, chunks[1].to), (0, 0));
    }
}
