//! Places: where the lanes of an access go, and whether they may.
//!
//! Source: PTX ISA 9.0, sections 5.1 (state spaces) and 6.4.1 (addresses, which are aligned to the
//! size of the access). An address is known, or a select among few known ones; anything else is
//! `unknown`. The common case, all lanes at known places of one region, makes no target for a lane.

use crate::kernel::{Addr, Pc, Space, Src};
use crate::term::TermId;

use super::choices::choices;
use super::machine::{LOCAL, Machine, PARAM, RegionId, SHARED, Stop, base, locate};
use super::memory::RegionKind;
use super::step::Under;
use super::value::Val;
use super::warp::{LANES, lanes};
use super::{DefectKind, Site, UnknownKind};

/// Where the lanes of one access go: each lane, its condition, region and offset.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The lane.
    pub lane: usize,
    /// The access happens only if this holds; `None` is always.
    pub cond: Option<TermId>,
    /// The region.
    pub region: RegionId,
    /// Byte offset in it.
    pub off: i64,
}

impl Machine<'_> {
    /// The targets of an access. A lane whose address is a select among few known ones has
    /// several, whose conditions exclude each other.
    pub fn targets(
        &mut self,
        w: usize,
        exec: u32,
        pc: Pc,
        space: Space,
        addr: Addr,
        under: &Under,
    ) -> Result<Vec<Target>, Stop> {
        let width = match addr.base {
            Src::Reg(r) => self.width(r),
            _ => 64,
        };
        let mut out = Vec::with_capacity(exec.count_ones() as usize);
        for lane in lanes(exec) {
            let cond = (under.mask >> lane & 1 == 1).then_some(under.cond[lane]);
            let v = self.src(w, addr.base, lane);
            let v = match v {
                Val::Conc(_) => v,
                _ => {
                    self.note_unset(w, pc);
                    self.values.of_bits_plain(v, width)
                }
            };
            match v {
                Val::Conc(a) => {
                    let place = (w, lane, pc, space);
                    let (region, off) =
                        self.resolve(place, a, width, addr.offset, cond.is_none())?;
                    out.push(Target {
                        lane,
                        cond,
                        region,
                        off,
                    });
                }
                Val::Bits(t) => {
                    if self.is_poison(t) {
                        self.poison_used(w, 1 << lane, pc, t, "an address");
                        return Err(Stop::Finding);
                    }
                    let cap = super::compute::MAX_CHOICES;
                    let leaves = self.values.leaves(t, cap + 1);
                    let store = &mut self.values.store;
                    let leaves = leaves.or_else(|| choices(store, t, cond, cap));
                    let Some(leaves) = leaves else {
                        self.data_dependent_address(w, 1 << lane, pc, v);
                        return Err(Stop::Finding);
                    };
                    let certain = leaves.len() == 1 && cond.is_none();
                    for (c, a) in leaves {
                        let c = match cond {
                            Some(k) => self.values.store.and(k, c),
                            None => c,
                        };
                        let place = (w, lane, pc, space);
                        let (region, off) = self.resolve(place, a, width, addr.offset, certain)?;
                        out.push(Target {
                            lane,
                            cond: Some(c),
                            region,
                            off,
                        });
                    }
                }
                v => {
                    self.data_dependent_address(w, 1 << lane, pc, v);
                    return Err(Stop::Finding);
                }
            }
        }
        Ok(out)
    }

    /// Where one lane goes, if that does not depend on data.
    pub fn only_target(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        space: Space,
        addr: Addr,
    ) -> Result<Option<Target>, Stop> {
        let mut to = self.targets(w, 1 << lane, pc, space, addr, &Under::none())?;
        let last = to.pop().filter(|t| to.is_empty() && t.cond.is_none());
        Ok(last)
    }

    /// Where an address leads. One that leads nowhere is a defect if the access is `certain` to
    /// happen.
    fn resolve(
        &mut self,
        (w, lane, pc, space): (usize, usize, Pc, Space),
        a: u64,
        width: u8,
        offset: i64,
        certain: bool,
    ) -> Result<(RegionId, i64), Stop> {
        let a = a.wrapping_add_signed(offset);
        let a = if width == 32 { a & 0xffff_ffff } else { a };
        let window = |a: u64| {
            if width == 32 {
                a as u32 as i32 as i64
            } else {
                a as i64
            }
        };
        let found = match space {
            Space::Shared | Space::SharedCluster => Some((SHARED, window(a))),
            Space::Local => Some((LOCAL, window(a))),
            Space::Param => Some((PARAM, window(a))),
            Space::Generic | Space::Global | Space::Const => locate(a, self.regions.len()),
        };
        let Some((region, off)) = found else {
            let site = self.site(pc, w, 1 << lane, format!("accesses address {a:#x}"));
            return self.nowhere(site, certain, format!("address {a:#x} lies in no array"));
        };
        let fits = match (space, self.regions[region.0 as usize].kind) {
            (Space::Global | Space::Const, RegionKind::Array(_)) => true,
            (Space::Global | Space::Const, _) => false,
            _ => true,
        };
        if !fits {
            let site = self.site(pc, w, 1 << lane, format!("accesses address {a:#x}"));
            let message = "a global access goes to an address of another state space";
            return self.nowhere(site, certain, message.into());
        }
        if region == LOCAL {
            let stride = self.kernel.local_bytes as i64;
            if off < 0 || off >= stride.max(1) {
                let site = self.site(pc, w, 1 << lane, format!("accesses local byte {off}"));
                return self.nowhere(site, certain, format!("local memory has {stride} bytes"));
            }
            let rank = self.warps[w].first as i64 + lane as i64;
            return Ok((
                LOCAL,
                rank * local_stride(self.kernel.local_bytes) as i64 + off,
            ));
        }
        Ok((region, off))
    }

    fn nowhere<T>(&mut self, site: Site, certain: bool, message: String) -> Result<T, Stop> {
        if certain {
            self.defect(DefectKind::OutOfBounds, vec![site], || message);
        } else {
            self.unknown(UnknownKind::Undecided, vec![site], || {
                format!("{message}, if input data says so")
            });
        }
        Err(Stop::Finding)
    }

    /// True if bytes of shared memory lie within one variable, or in the dynamic part.
    fn within_variable(&self, off: u64, end: u64) -> bool {
        let k = self.kernel;
        k.dynamic_shared.is_some_and(|d| d as u64 <= off)
            || k.shared.iter().any(|v| {
                let from = v.offset as u64;
                from <= off && (v.bytes == 0 || end <= from + v.bytes as u64)
            })
    }

    /// Drops targets that are misaligned or out of bounds, and says so.
    pub fn check(&mut self, w: usize, pc: Pc, targets: &mut Vec<Target>, size: u32, write: bool) {
        let verb = if write { "writes" } else { "reads" };
        let mut bad = Vec::new();
        for (i, t) in targets.iter().enumerate() {
            let r = &self.regions[t.region.0 as usize];
            let end = t.off.saturating_add(size as i64);
            let stride = local_stride(self.kernel.local_bytes) as i64;
            let outside = t.off < 0
                || r.extent.is_some_and(|e| end as u64 > e)
                || t.region == SHARED && !self.within_variable(t.off as u64, end as u64)
                || t.region == LOCAL
                    && t.off % stride + size as i64 > self.kernel.local_bytes as i64;
            if outside || t.off & (size as i64 - 1) != 0 {
                bad.push((i, outside));
            }
        }
        for &(i, outside) in bad.iter().rev() {
            let t = targets.remove(i);
            let place = if t.off < 0 {
                let name = self.place(t.region, 0, size);
                format!("{name} minus {} bytes", -t.off)
            } else {
                self.place(t.region, t.off as u64, size)
            };
            let site = self.site(pc, w, 1 << t.lane, format!("{verb} {place}"));
            let (kind, message) = if outside {
                let extent = match t.region {
                    SHARED if self.kernel.shared.len() > 1 => None,
                    r => self.regions[r.0 as usize].extent,
                };
                let has = match extent {
                    Some(e) => format!(", which has {e} bytes"),
                    None => String::new(),
                };
                (
                    DefectKind::OutOfBounds,
                    format!("an access of {size} bytes {verb} {place}{has}"),
                )
            } else {
                (
                    DefectKind::MisalignedAccess,
                    format!("an access of {size} bytes at an address that is not a multiple of it"),
                )
            };
            if t.cond.is_some() {
                self.unknown(UnknownKind::Undecided, vec![site], || {
                    format!("{message}, if input data says so")
                });
            } else {
                self.defect(kind, vec![site], || message);
            }
        }
    }

    /// The last offset at which bytes of an access fit into a region.
    #[inline]
    fn last_offset(&self, region: RegionId, size: u32) -> Option<u64> {
        let extent = self.regions[region.0 as usize].extent.unwrap_or(1 << 39);
        extent.checked_sub(size as u64)
    }

    /// The region and offset that a known address leads to, if it is aligned and lies within one
    /// region other than local memory.
    #[inline]
    pub fn place_of(
        &self,
        space: Space,
        word: u64,
        width: u8,
        offset: i64,
        size: u32,
    ) -> Option<(RegionId, u64)> {
        let region = match space {
            Space::Shared => SHARED,
            Space::Param => PARAM,
            Space::Global | Space::Generic => {
                let (r, _) = locate(word.wrapping_add_signed(offset), self.regions.len())?;
                if r <= PARAM {
                    return None;
                }
                r
            }
            _ => return None,
        };
        let off = word.wrapping_add(delta(region, offset)) & address_bits(width);
        let fits = off <= self.last_offset(region, size)? && off & (size as u64 - 1) == 0;
        let within = region != SHARED || self.within_variable(off, off + size as u64);
        (fits && within).then_some((region, off))
    }

    /// The region and offsets of an access whose lanes all go to known, aligned addresses within
    /// one region other than local memory: the common case, without a target for each lane.
    pub fn uniform(
        &self,
        w: usize,
        exec: u32,
        space: Space,
        addr: Addr,
        size: u32,
        offs: &mut [u64; LANES],
    ) -> Option<RegionId> {
        let first = exec.trailing_zeros() as usize & (LANES - 1);
        let (start, width) = match addr.base {
            Src::Reg(r) if self.warps[w].symbolic(r) & exec == 0 => {
                (self.warps[w].words(r)[first], self.width(r))
            }
            Src::Reg(_) => return None,
            s => (self.words(w, s)[first], 64),
        };
        let (region, off) = self.place_of(space, start, width, addr.offset, size)?;
        offs[first] = off;
        if exec == 1 << first {
            return Some(region);
        }
        let (keep, delta) = (address_bits(width), delta(region, addr.offset));
        let last = self.last_offset(region, size)?;
        let wrong = |off: u64| off > last || off & (size as u64 - 1) != 0;
        let offset = |word: u64| word.wrapping_add(delta) & keep;
        match addr.base {
            Src::Reg(r) => *offs = *self.warps[w].words(r),
            s => *offs = self.words(w, s),
        }
        let mut bad = false;
        let (mut low, mut high) = (u64::MAX, 0);
        for (lane, off) in offs.iter_mut().enumerate() {
            *off = offset(*off);
            let on = exec >> lane & 1 == 1;
            bad |= wrong(*off) && on;
            if on {
                (low, high) = (low.min(*off), high.max(*off));
            }
        }
        // Lanes of one variable: anything else takes the long way, which looks at each.
        let within = || region != SHARED || self.within_variable(low, high + size as u64);
        (!bad && within()).then_some(region)
    }
}

/// Distance of the local memories of two threads: a multiple of 16, so that alignment is the
/// thread's own.
pub fn local_stride(bytes: u32) -> u64 {
    (bytes as u64).next_multiple_of(16).max(16)
}

/// What turns an address into an offset in its region. Shared and parameter addresses are offsets.
#[inline]
fn delta(region: RegionId, offset: i64) -> u64 {
    let origin = if region <= PARAM { 0 } else { base(region) };
    (offset as u64).wrapping_sub(origin)
}

/// The bits that an address of a width has.
#[inline]
fn address_bits(width: u8) -> u64 {
    if width == 32 { 0xffff_ffff } else { u64::MAX }
}
