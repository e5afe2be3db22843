//! Tensor maps: what the 128 opaque bytes say, and which bytes of memory a box of a tensor is.
//!
//! The problem: a copy of a box names a map and coordinates only; the map is made by the host, or
//! by `tensormap.replace` field by field from zeros or from another map. Its encoding is nobody's
//! business, so the bytes of a map are sixteen fresh symbols, and what they stand for is kept
//! beside them: copies of the bytes by any means are copies of the map, and anything else that
//! touches them makes them no map at all.
//!
//! Source: PTX ISA 9.0, sections 5.5 (tensors), 9.7.9.26 (`tensormap.replace`), 9.7.13.4
//! (`fence.proxy.tensormap`). Element (i0, i1, ...) lies at the address plus i0 times the element size
//! plus the sum of ik times the stride of dimension k; a box is dense in shared memory, fastest
//! dimension first, where the swizzle xors bits of the address from bit 7 on into those from bit 4 on.
//!
//! Not claimed: interleaved layouts, steps other than 1, swizzles of larger pieces, elements of less
//! than a byte, fills other than zero. Each is refused by name.

use rustc_hash::FxHashMap;

use crate::kernel::{Addr, Fmt, IntTy, MapField, NumTy, Pc, Space, Src};
use crate::spec::ElemTy;
use crate::spec::binding::MapDecl;
use crate::term::TermId;

use super::access::Target;
use super::clock::{Actor, Tick};
use super::machine::{Machine, PARAM, RegionId, Stop};
use super::memory::RegionKind;
use super::race::Kind;
use super::step::Under;
use super::value::Val;
use super::{DefectKind, Tid, UnknownKind};

/// Bytes of a map.
pub const MAP_BYTES: u64 = 128;
const WORD: NumTy = NumTy::Int(IntTy {
    width: 64,
    signed: false,
});

/// What a map says; fields that were never set are zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TensorMap {
    /// Generic address of the first element.
    pub address: u64,
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
pub struct Chunk {
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
pub const CHUNK: u32 = 16;

impl TensorMap {
    /// The map that the host makes of an array at this address.
    pub fn of_host(decl: &MapDecl, address: u64) -> TensorMap {
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

    fn set(&mut self, field: MapField, value: u64) {
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
    pub fn element(&self) -> Option<NumTy> {
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
    fn refusal(&self, rank: usize) -> Option<Refusal> {
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
        let strange = |s: &u64| s % 16 != 0 || *s >= 1 << 40;
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
    pub fn chunks(&self, near: u64, coords: &[i64]) -> Vec<Chunk> {
        let rank = coords.len();
        let size = self.element().map_or(1, |e| i64::from(e.bits() / 8));
        let row = self.bounds[0] as i64 * size;
        let lines: u64 = self.bounds[1..rank].iter().product();
        let mut out = Vec::with_capacity((lines * row as u64 / u64::from(CHUNK)) as usize);
        for line in 0..lines {
            let (mut rest, mut far, mut inside) = (line, 0i64, true);
            for k in 1..rank {
                let i = coords[k] + (rest % self.bounds[k]) as i64;
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

    /// Where the swizzle puts an address of shared memory.
    fn swizzled(&self, a: u64) -> u64 {
        let mask = (1u64 << self.swizzle) - 1;
        a ^ (a >> 7 & mask) << 4
    }
}

enum Refusal {
    /// Against the rules.
    Wrong(&'static str),
    /// Without a model.
    Unsupported(&'static str),
}

/// A map in memory that the kernel wrote.
#[derive(Clone, Copy, Debug)]
struct Written {
    number: u64,
    /// Who must still release it.
    unreleased: Option<Tid>,
}

/// An acquire of a map.
#[derive(Clone, Copy, Debug)]
struct Acquired {
    place: (RegionId, u64),
    number: u64,
    by: Tid,
    at: Tick,
}

/// All maps of a run.
#[derive(Clone, Debug, Default)]
pub struct Maps {
    /// Maps by the first of their words, with the others.
    known: FxHashMap<TermId, (Vec<TermId>, TensorMap)>,
    written: FxHashMap<(RegionId, u64), Written>,
    acquired: Vec<Acquired>,
    number: u64,
}

impl Machine<'_> {
    /// Stores a map.
    pub fn put_map(&mut self, region: RegionId, off: u64, map: TensorMap) {
        let words: Vec<TermId> = (0..16).map(|_| self.fresh_bits(64)).collect();
        for (i, t) in words.iter().enumerate() {
            let r = &mut self.regions[region.0 as usize];
            let at = off + 8 * i as u64;
            if region == PARAM {
                r.preset_value(&mut self.values, at, 8, Val::Bits(*t));
            } else {
                r.store(&mut self.values, at, 8, Val::Bits(*t));
            }
        }
        self.maps.known.insert(words[0], (words, map));
    }

    /// The map that lies in memory; `None` if these bytes are none.
    fn get_map(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        region: RegionId,
        off: u64,
    ) -> Option<TensorMap> {
        let words: Vec<Val> = (0..16)
            .map(|i| self.load_one(w, lane, pc, region, off + 8 * i, WORD))
            .collect();
        if words.iter().all(|v| *v == Val::Conc(0)) {
            return Some(TensorMap::default());
        }
        let Val::Bits(first) = words[0] else {
            return None;
        };
        let (own, map) = self.maps.known.get(&first)?;
        let same = own.iter().zip(&words).all(|(t, v)| *v == Val::Bits(*t));
        same.then(|| map.clone())
    }

    /// The place of a map that a lane names.
    pub fn map_place(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        space: Space,
        addr: Addr,
    ) -> Result<Target, Stop> {
        let mut to = self.targets(w, 1 << lane, pc, space, addr, &Under::none())?;
        if to.len() != 1 || to[0].cond.is_some() {
            self.unsupported(w, 1 << lane, pc, "a data-dependent address of a tensor map");
            return Err(Stop::Finding);
        }
        let Some(t) = to.pop() else {
            return Err(Stop::Finding);
        };
        let region = &self.regions[t.region.0 as usize];
        let end = t.off.saturating_add(MAP_BYTES as i64);
        if t.off < 0 || region.extent.is_some_and(|e| end as u64 > e) {
            let place = self.place(t.region, t.off.max(0) as u64, 8);
            let site = self.site(pc, w, 1 << lane, format!("takes the 128 bytes at {place}"));
            self.defect(DefectKind::OutOfBounds, vec![site], || {
                "a tensor map does not lie in its array".into()
            });
            return Err(Stop::Finding);
        }
        if t.off % 64 != 0 {
            let place = self.place(t.region, t.off as u64, 8);
            let site = self.site(pc, w, 1 << lane, format!("takes the 128 bytes at {place}"));
            self.defect(DefectKind::MisalignedAccess, vec![site], || {
                "the address of a tensor map is not a multiple of 64".into()
            });
            return Err(Stop::Finding);
        }
        Ok(t)
    }

    /// Tells the order of accesses about the bytes of a map.
    pub fn touch_map(
        &mut self,
        w: usize,
        pc: Pc,
        t: &Target,
        kind: Kind,
        agent: Option<Actor>,
    ) -> Result<(), Stop> {
        self.order.agent = agent;
        let found = self.order_accesses(w, pc, std::slice::from_ref(t), (4, 32), kind, false);
        self.order.agent = None;
        for (_, c) in &found? {
            self.add_race(c.otherwise, c);
        }
        Ok(())
    }

    /// The map of a copy of this many dimensions, whose first byte of the tensor is known.
    pub fn used_map(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        t: &Target,
        rank: usize,
    ) -> Result<TensorMap, Stop> {
        let Some(map) = self.get_map(w, lane, pc, t.region, t.off as u64) else {
            self.no_map(w, lane, pc, t);
            return Err(Stop::Finding);
        };
        self.map_visible(w, lane, pc, t)?;
        match map.refusal(rank) {
            None => Ok(map),
            Some(Refusal::Unsupported(what)) => {
                self.unsupported(w, 1 << lane, pc, what);
                Err(Stop::Finding)
            }
            Some(Refusal::Wrong(why)) => {
                let site = self.site(pc, w, 1 << lane, "uses the tensor map");
                self.unknown(UnknownKind::Undefined, vec![site], || {
                    format!("a tensor map cannot be used as it is: {why}")
                });
                Err(Stop::Finding)
            }
        }
    }

    /// Bytes that are no map: a parameter that nobody described, or something else.
    fn no_map(&mut self, w: usize, lane: usize, pc: Pc, t: &Target) {
        if t.region != PARAM {
            self.unsupported(w, 1 << lane, pc, "a tensor map that was made in another way");
            return;
        }
        let off = t.off as u32;
        let params = &self.kernel.params;
        let found = params
            .iter()
            .enumerate()
            .find(|(_, p)| p.offset <= off && off < p.offset + p.bytes);
        let (i, name) = match found {
            Some((i, p)) => (i, p.name.clone()),
            None => (0, String::new()),
        };
        let site = self.site(pc, w, 1 << lane, "copies a box of the tensor");
        self.unknown(UnknownKind::MissingBinding, vec![site], || {
            format!(
                "parameter `{name}` is a tensor map that the host makes: say what it describes, \
                 e.g. --arg {i}=in:f16[64,128]/box[64,64]/swizzle128"
            )
        });
    }

    /// A map that the kernel wrote must be acquired through the proxy of tensor maps.
    fn map_visible(&mut self, w: usize, lane: usize, pc: Pc, t: &Target) -> Result<(), Stop> {
        let place = (t.region, t.off as u64);
        let Some(written) = self.maps.written.get(&place).copied() else {
            return Ok(());
        };
        let reader = Tid(self.warps[w].first + lane as u32);
        let clocks = &self.order.clocks;
        let acquired = self.maps.acquired.iter().any(|a| {
            a.place == place
                && a.number > written.number
                && clocks.ordered(Actor(a.by.0), a.at, reader)
        });
        let why = match (written.unreleased, acquired) {
            (None, true) => return Ok(()),
            (Some(_), _) => "fence.proxy.tensormap::generic.release",
            (None, false) => "fence.proxy.tensormap::generic.acquire",
        };
        let site = self.site(pc, w, 1 << lane, "uses the tensor map");
        self.unknown(UnknownKind::Undecided, vec![site], || {
            format!("a tensor map that the kernel wrote is used without a {why} before")
        });
        Err(Stop::Finding)
    }

    /// `tensormap.replace`.
    #[allow(clippy::too_many_arguments)]
    pub fn replace_map(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        space: Space,
        addr: Addr,
        field: MapField,
        value: Src,
    ) -> Result<(), Stop> {
        let t = self.map_place(w, lane, pc, space, addr)?;
        let width = if matches!(field, MapField::Address | MapField::Stride(_)) {
            64
        } else {
            32
        };
        let v = self.src(w, value, lane);
        let Val::Conc(value) = self.values.of_bits_plain(v, width) else {
            self.data_dependent_address(w, 1 << lane, pc, v);
            return Err(Stop::Finding);
        };
        self.touch_map(w, pc, &t, Kind::Read, None)?;
        self.touch_map(w, pc, &t, Kind::Write, None)?;
        let Some(mut map) = self.get_map(w, lane, pc, t.region, t.off as u64) else {
            self.no_map(w, lane, pc, &t);
            return Err(Stop::Finding);
        };
        map.set(field, value);
        self.put_map(t.region, t.off as u64, map);
        let by = Tid(self.warps[w].first + lane as u32);
        self.note_map(&t, Some(by));
        Ok(())
    }

    fn note_map(&mut self, t: &Target, unreleased: Option<Tid>) {
        if !matches!(
            self.regions[t.region.0 as usize].kind,
            RegionKind::Array(_)
        ) {
            return;
        }
        self.maps.number += 1;
        let number = self.maps.number;
        let place = (t.region, t.off as u64);
        self.maps.written.insert(place, Written { number, unreleased });
    }

    /// `tensormap.cp_fenceproxy`: one lane stands for the warp, which has come together.
    pub fn copy_map(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        to: Addr,
        from: Addr,
    ) -> Result<(), Stop> {
        let from = self.map_place(w, lane, pc, Space::Shared, from)?;
        let to = self.map_place(w, lane, pc, Space::Global, to)?;
        self.touch_map(w, pc, &from, Kind::Read, None)?;
        self.touch_map(w, pc, &to, Kind::Write, None)?;
        for i in 0..16 {
            let v = self.load_one(w, lane, pc, from.region, from.off as u64 + 8 * i, WORD);
            let r = &mut self.regions[to.region.0 as usize];
            r.store(&mut self.values, to.off as u64 + 8 * i, 8, v);
        }
        self.note_map(&to, None);
        Ok(())
    }

    /// `fence.proxy.tensormap::generic.acquire`.
    pub fn acquire_map(&mut self, w: usize, lane: usize, pc: Pc, addr: Addr) -> Result<(), Stop> {
        let t = self.map_place(w, lane, pc, Space::Generic, addr)?;
        self.maps.number += 1;
        let acquired = Acquired {
            place: (t.region, t.off as u64),
            number: self.maps.number,
            by: Tid(self.warps[w].first + lane as u32),
            at: self.order.clocks.stamp(w as u32),
        };
        self.maps.acquired.push(acquired);
        Ok(())
    }

    /// `fence.proxy.tensormap::generic.release`.
    pub fn release_maps(&mut self, w: usize, exec: u32) {
        let by = self.tids(w, exec);
        for written in self.maps.written.values_mut() {
            if written.unreleased.is_some_and(|t| by.contains(&t)) {
                written.unreleased = None;
            }
        }
    }
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
