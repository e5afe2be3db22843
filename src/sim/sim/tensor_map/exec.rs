//! Tensor maps, as instructions change, copy and read them.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::answer::AssumptionKind;
use crate::kernel::{Addr, IntTy, MapField, NumTy, Pc, Space, Src};
use crate::sim::at::{LaneAt, site};
use crate::sim::clock::Actor;
use crate::sim::machine::{Core, Machine, Synchronisation, Tasks};
use crate::sim::memory::RegionKind;
use crate::sim::order::Order;
use crate::sim::place::Target;
use crate::sim::proxy::{MapStep, Through};
use crate::sim::race::AccessKind;
use crate::sim::region::{PARAM, RegionId, WINDOW_BITS};
use crate::sim::stop::Stop;
use crate::sim::tensor_box::{Refusal, TensorMap};
use crate::sim::val::Val;
use crate::sim::{DefectKind, Tid, UnknownKind, Writes};
use crate::term::left::Opaque;
use crate::term::{ArrayId, TermId};

use super::MAP_BYTES;

const WORD: NumTy = NumTy::Int(IntTy {
    width: 64,
    signed: false,
});

impl Synchronisation {
    /// `fence.proxy.tensormap::generic.release`.
    pub(in crate::sim) fn release_maps(&mut self, w: usize, exec: u32) {
        let Order {
            proxies, clocks, ..
        } = &mut self.order;
        proxies.release_maps(clocks, w, exec);
    }
}

impl Tasks {
    /// The maps that stand in what was written, for the launches after this one.
    pub(in crate::sim) fn leave_maps(&self, written: &BTreeMap<ArrayId, Writes>) -> Vec<Opaque> {
        if self.maps.known.is_empty() {
            return Vec::new();
        }
        let there = written.values().flat_map(|w| w.values());
        let there: FxHashSet<TermId> = there.copied().collect();
        let all = self.maps.known.values().filter(|m| there.contains(&m.0[0]));
        let mut out: Vec<Opaque> = all
            .map(|(words, map)| Opaque {
                words: words.clone(),
                says: map.says(),
            })
            .collect();
        out.sort_by_key(|o| o.words[0]);
        out
    }
}

impl Core<'_> {
    /// Bytes that are no map: a parameter that nobody described, or something else.
    fn no_map(&mut self, w: usize, lane: usize, pc: Pc, t: &Target) {
        if t.region != PARAM {
            self.unsupported(
                w,
                1 << lane,
                pc,
                "a tensor map that was made in another way",
            );
            return;
        }
        let off = t.off as u32;
        let params = &self.fixed.kernel.params;
        let found = params
            .iter()
            .enumerate()
            .find(|(_, p)| p.offset <= off && off < p.offset + p.bytes);
        let (i, name) = match found {
            Some((i, p)) => (i, p.name.clone()),
            None => (0, String::new()),
        };
        let site = site(pc, w, 1 << lane, "copies a box of the tensor");
        self.found.unknown(UnknownKind::MissingBinding, vec![site], || {
            format!(
                "parameter `{name}` is a tensor map that the host makes: say what it describes, \
                 e.g. --arg {i}=in:f16[64,128]/box[64,64]/swizzle128"
            )
        });
    }

    /// The place of a map that a lane names.
    pub(in crate::sim) fn map_place(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        space: Space,
        addr: Addr,
    ) -> Result<Target, Stop> {
        let Some(t) = self.only_target(w, lane, pc, space, addr)? else {
            self.unsupported(w, 1 << lane, pc, "a data-dependent address of a tensor map");
            return Err(Stop::Finding);
        };
        let region = &self.memory.regions[t.region.0 as usize];
        let end = t.off.saturating_add(MAP_BYTES as i64);
        if t.off < 0 || region.extent.is_some_and(|e| end as u64 > e) {
            let place = self.place(t.region, t.off.max(0) as u64, 8);
            let site = site(pc, w, 1 << lane, format!("takes the 128 bytes at {place}"));
            self.defect(DefectKind::OutOfBounds, vec![site], || {
                "a tensor map does not lie in its array".into()
            });
            return Err(Stop::Finding);
        }
        if t.off % 64 != 0 || self.memory.prov.most(t.base) < 64 {
            let place = self.place(t.region, t.off as u64, 8);
            let site = site(pc, w, 1 << lane, format!("takes the 128 bytes at {place}"));
            self.defect(DefectKind::MisalignedAccess, vec![site], || {
                "the address of a tensor map is not a multiple of 64".into()
            });
            return Err(Stop::Finding);
        }
        Ok(t)
    }
}

impl Machine<'_> {
    /// Takes over the maps that launches before made.
    pub(in crate::sim) fn take_maps(&mut self) {
        let Some(left) = self.core.fixed.bindings.left.clone() else {
            return;
        };
        for o in &left.opaque {
            let mut into = self.core.values.brought();
            let words: Vec<TermId> = o.words.iter().map(|t| left.piece(*t, &mut into)).collect();
            let mut map = TensorMap::of_says(&o.says);
            // The windows of addresses reach to both sides of their arrays.
            let window = (map.address + (1 << (WINDOW_BITS - 1))) >> WINDOW_BITS;
            let region = window.checked_sub(1).map(|r| RegionId(r as u32));
            let array = region.filter(|r| {
                let of = self.core.memory.regions.get(r.0 as usize);
                of.is_some_and(|r| matches!(r.kind, RegionKind::Array(_)))
            });
            if let Some(region) = array {
                map.carried = self.core.memory.prov.of_array(region);
            }
            self.tasks.maps.known.insert(words[0], (words, map));
        }
    }

    /// Stores a map.
    pub(in crate::sim) fn put_map(&mut self, region: RegionId, off: u64, map: TensorMap) {
        let words: Vec<TermId> = (0..16).map(|_| self.core.values.fresh_bits(64)).collect();
        for (i, t) in words.iter().enumerate() {
            let r = &mut self.core.memory.regions[region.0 as usize];
            let at = off + 8 * i as u64;
            if region == PARAM {
                r.preset_value(&mut self.core.values, at, 8, Val::Bits(*t));
            } else {
                r.store(&mut self.core.values, at, 8, Val::Bits(*t));
            }
        }
        self.tasks.maps.known.insert(words[0], (words, map));
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
            .map(|i| {
                self.core
                    .load_one(LaneAt { w, lane, pc }, region, off + 8 * i, WORD)
            })
            .collect();
        if words.iter().all(|v| *v == Val::Conc(0)) {
            return Some(TensorMap::default());
        }
        let Val::Bits(first) = words[0] else {
            return None;
        };
        let (own, map) = self.tasks.maps.known.get(&first)?;
        let same = own.iter().zip(&words).all(|(t, v)| *v == Val::Bits(*t));
        same.then(|| map.clone())
    }

    /// Tells the order of accesses about the bytes of a map.
    pub(in crate::sim) fn touch_map(
        &mut self,
        w: usize,
        pc: Pc,
        t: &Target,
        kind: AccessKind,
        agent: Option<Actor>,
    ) -> Result<(), Stop> {
        self.sync.order.agent = agent;
        self.sync.order.through = Through::Map;
        let found = self.order_accesses((w, pc), std::slice::from_ref(t), (4, 32), kind, false);
        self.sync.order.agent = None;
        self.sync.order.through = Through::Thread;
        for (_, c) in &found? {
            self.sync.add_race(c.otherwise, c);
        }
        Ok(())
    }

    /// The map of a copy of this many dimensions, whose first byte of the tensor is known.
    pub(in crate::sim) fn used_map(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        t: &Target,
        rank: usize,
    ) -> Result<TensorMap, Stop> {
        // A copy takes maps from global, constant and parameter memory only.
        if matches!(
            self.core.memory.regions[t.region.0 as usize].kind,
            RegionKind::Shared | RegionKind::Local
        ) {
            let site = site(pc, w, 1 << lane, "uses the tensor map");
            self.core
                .found
                .unknown(UnknownKind::Undefined, vec![site], || {
                    "a copy takes a tensor map from shared or local memory".into()
                });
            return Err(Stop::Finding);
        }
        let Some(map) = self.get_map(w, lane, pc, t.region, t.off as u64) else {
            self.core.no_map(w, lane, pc, t);
            return Err(Stop::Finding);
        };
        self.map_visible(w, lane, pc, t)?;
        match map.refusal(rank) {
            None => Ok(map),
            Some(Refusal::Unsupported(what)) => {
                self.core.unsupported(w, 1 << lane, pc, what);
                Err(Stop::Finding)
            }
            Some(Refusal::Wrong(why)) => {
                let site = site(pc, w, 1 << lane, "uses the tensor map");
                self.core
                    .found
                    .unknown(UnknownKind::Undefined, vec![site], || {
                        format!("a tensor map cannot be used as it is: {why}")
                    });
                Err(Stop::Finding)
            }
        }
    }

    /// A map that the kernel wrote must be released and acquired through the proxy of tensor maps.
    fn map_visible(&mut self, w: usize, lane: usize, pc: Pc, t: &Target) -> Result<(), Stop> {
        let place = (t.region, t.off as u64);
        let reader = Tid(self.core.threads.warps[w].first + lane as u32);
        let Order {
            proxies, clocks, ..
        } = &self.sync.order;
        let Some((word, step)) = proxies.unseen_map(clocks, reader, place) else {
            let acquired = proxies.acquired_map(clocks, reader, place);
            let RegionKind::Array(a) = self.core.memory.regions[t.region.0 as usize].kind else {
                return Ok(());
            };
            let left = self.core.fixed.bindings.left.as_ref();
            let made =
                left.is_some_and(|l| !l.touching(a, place.1, place.1 + MAP_BYTES).is_empty());
            if made && !acquired {
                let name = self.core.place(t.region, t.off as u64, 128);
                let line = self.core.line(pc);
                self.core.found.assumptions.insert(AssumptionKind::Visibility.says(format!(
                    "the end of a launch releases the tensor map {name} that it wrote to the copy in line {line}, without \
                     fence.proxy.tensormap::generic.acquire"
                )));
            }
            return Ok(());
        };
        let (release, acquire) = (
            "fence.proxy.tensormap::generic.release after it was written",
            "fence.proxy.tensormap::generic.acquire of its 128 bytes before the copy",
        );
        let missing = match step {
            MapStep::Release => format!("{release} is missing"),
            MapStep::Acquire => format!("{acquire} is missing"),
            MapStep::Both => format!("{release}, and {acquire}, are missing"),
            MapStep::Order => format!("{release} does not happen before {acquire}"),
            MapStep::Bulk => {
                let site = site(pc, w, 1 << lane, "uses the tensor map");
                self.core
                    .found
                    .unknown(UnknownKind::Undecided, vec![site], || {
                        "a tensor map that a bulk copy wrote is used".into()
                    });
                return Err(Stop::Finding);
            }
        };
        let name = self.core.place(t.region, t.off as u64, 128);
        let first = self
            .core
            .threads
            .written_site(&word, format!("writes the tensor map {name}"));
        let sites = vec![first, site(pc, w, 1 << lane, "uses the tensor map")];
        let by = self.core.fixed.team.name(word.who());
        self.unordered_proxies(&word, sites, || {
            format!(
                "the tensor map {name} is written by thread {by} and used by the copy: {missing}"
            )
        });
        Err(Stop::Finding)
    }

    /// `tensormap.replace`.
    pub(in crate::sim) fn replace_map(
        &mut self,
        LaneAt { w, lane, pc }: LaneAt,
        space: Space,
        addr: Addr,
        field: MapField,
        value: Src,
    ) -> Result<(), Stop> {
        let t = self.core.map_place(w, lane, pc, space, addr)?;
        let width = if matches!(field, MapField::Address | MapField::Stride(_)) {
            64
        } else {
            32
        };
        let (v, carried) = (
            self.core.src(w, value, lane),
            self.core.src_prov(w, value, lane),
        );
        let Val::Conc(value) = self.core.values.of_bits_plain(v, width) else {
            self.core.data_dependent_address(w, 1 << lane, pc, v);
            return Err(Stop::Finding);
        };
        self.touch_map(w, pc, &t, AccessKind::Read, None)?;
        self.touch_map(w, pc, &t, AccessKind::Write, None)?;
        let Some(mut map) = self.get_map(w, lane, pc, t.region, t.off as u64) else {
            self.core.no_map(w, lane, pc, &t);
            return Err(Stop::Finding);
        };
        map.set(field, value);
        if field == MapField::Address {
            map.carried = carried;
        }
        self.put_map(t.region, t.off as u64, map);
        Ok(())
    }

    /// `tensormap.cp_fenceproxy`: one lane stands for the warp, which has come together.
    pub(in crate::sim) fn copy_map(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        to: Addr,
        from: Addr,
    ) -> Result<(), Stop> {
        let from = self.core.map_place(w, lane, pc, Space::Shared, from)?;
        let to = self.core.map_place(w, lane, pc, Space::Global, to)?;
        self.touch_map(w, pc, &from, AccessKind::Read, None)?;
        let staged = (from.off as u64, MAP_BYTES);
        self.sync.order.proxies.published(from.region, staged);
        self.touch_map(w, pc, &to, AccessKind::Write, None)?;
        for i in 0..16 {
            let v = self.core.load_one(
                LaneAt { w, lane, pc },
                from.region,
                from.off as u64 + 8 * i,
                WORD,
            );
            let r = &mut self.core.memory.regions[to.region.0 as usize];
            r.store(&mut self.core.values, to.off as u64 + 8 * i, 8, v);
        }
        let (to, whole) = (to.region, (to.off as u64, MAP_BYTES));
        self.sync.order.proxies.published(to, whole);
        Ok(())
    }

    /// `fence.proxy.tensormap::generic.acquire`.
    pub(in crate::sim) fn acquire_map(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        addr: Addr,
    ) -> Result<(), Stop> {
        let t = self.core.map_place(w, lane, pc, Space::Generic, addr)?;
        let Order {
            proxies, clocks, ..
        } = &mut self.sync.order;
        proxies.acquire_map(clocks, (w, 1 << lane), (t.region, t.off as u64));
        Ok(())
    }
}
