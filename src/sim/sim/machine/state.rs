//! The fields of the machine and of its parts, taken apart: what each of them is to a run that goes on.

use super::super::region::RegionId;
use super::super::state::{Place, State, Table};
use super::super::taken::Taken;
use super::super::trail::Trails;
use super::super::warp::lanes;
use super::super::{Stats, Tid};
use super::{Conditions, Core, Machine, Spaces, Synchronisation, Tasks, Threads};
use crate::kernel::RegId;

impl Machine<'_> {
    /// What the run goes on from.
    pub(in crate::sim) fn state(&self) -> State {
        let Machine {
            core,
            sync,
            tasks,
            conditions,
        } = self;
        let mut state = State::default();
        let Core {
            fixed: _, // No instruction changes it.
            values,
            threads,
            memory,
            found: _, // Beside.
        } = core;
        values.record(&mut state);
        threads.record(&mut state);
        memory.record(&mut state);
        sync.record(&mut state);
        tasks.record(&mut state);
        conditions.record(&mut state);
        state.ranked()
    }
}

impl Machine<'_> {
    /// Forgets what is derived or beside, as far as it can be made again or is looked at by nobody.
    pub(in crate::sim) fn forget(&mut self) {
        let Core {
            fixed,
            values,
            threads,
            ..
        } = &mut self.core;
        values.fresh_sites.clear();
        threads.branch_regions = Default::default();
        let seen = threads.trails.seen;
        threads.trails = Trails::new(fixed.program.kinds.clone(), threads.warps.len());
        threads.trails.seen = seen;
        // Times of what is executed are counts of instructions, and those of accesses end runs that leave their arrays.
        threads.stats = Stats {
            warp_instructions: threads.stats.warp_instructions,
            accesses: threads.stats.accesses,
            ..Stats::default()
        };
        threads.executed.fill(0);
        threads.taken = Taken::new(fixed.kernel);
        threads.trace = None;
        self.sync.weak = Default::default();
        self.conditions.conditionals.clear();
        self.conditions.pending.clear();
        self.conditions.compared.clear();
    }
}

impl Threads {
    fn record(&self, state: &mut State) {
        let Threads {
            warps,
            rng,
            runaway,
            effects,
            last_turn: (before, idle, waits),
            classes: _,        // Said once, before the run.
            branch_regions: _, // Derived.
            stats: _, // Numbers of what is new, the times of instructions among them, and beside.
            trails: _, // Beside, as all that follow.
            executed: _,
            taken: _,
            trace: _,
            budget: _,
            late: _,
            ended_early: _,
        } = self;
        for warp in warps {
            for r in (0..warp.registers()).map(RegId) {
                for lane in lanes(warp.live) {
                    let thread = Tid(warp.first + lane as u32);
                    let place = Place::Register(thread, r);
                    state.places.push((place, warp.words(r)[lane]));
                }
            }
        }
        state.add("threads", warps);
        state.add("schedule", rng);
        state.add("accesses out of bounds", runaway);
        state.add("turns without effect", &(effects - before, idle, waits));
    }
}

impl Spaces {
    fn record(&self, state: &mut State) {
        let Spaces {
            regions,
            prov,
            carriers,
            watched,
            moved,
            float_updates,
            gathers,
            unset_sites: _, // Of terms: where poison was read.
            footprint: _,   // Beside, and said once: whether it is on.
        } = self;
        for (id, region) in (0..).map(RegionId).zip(regions) {
            let words = region.words();
            let place = |(word, cell, written)| (Place::Word(id, word, written), cell);
            state.places.extend(words.map(place));
        }
        state.add("memory", regions);
        state.add("what numbers carry", prov);
        state.add("registers that carry", &(carriers, watched));
        state.add("variables that were moved", moved);
        state.add("reads where data choose", gathers);
        state.add("sums of words", &Table(float_updates));
    }
}

impl Synchronisation {
    fn record(&self, state: &mut State) {
        let Synchronisation {
            order,
            fences,
            strong,
            barriers,
            votes,
            collectives,
            cluster_barriers,
            inits,
            lifetimes,
            requests,
            dependents,
            patterns,
            weak: _, // Beside: for messages.
        } = self;
        state.first_agent = order.clocks.first_agent();
        state.add("order", order);
        state.add("fences", fences);
        state.add("strong accesses", strong);
        state.add("barriers", &(barriers, votes));
        state.add("collectives", collectives);
        state.add("barriers of clusters", cluster_barriers);
        state.add("initialisations", inits);
        state.add("lifetimes", lifetimes);
        state.add("requests", requests);
        state.add("launches before", dependents);
        state.add("patterns of fences", patterns);
    }
}

impl Tasks {
    fn record(&self, state: &mut State) {
        let Tasks {
            copies,
            bulk,
            maps: _, // Of terms.
            products,
            tensor,
            fragments,
            objects,
        } = self;
        state.add("copies", copies);
        state.add("bulk copies", bulk);
        state.add("products of warpgroups", products);
        state.add("tensor memory", tensor);
        state.add("fragments", fragments);
        state.add("mbarriers", objects);
    }
}

impl Conditions {
    fn record(&self, state: &mut State) {
        let Conditions {
            ways,
            guarded,
            conditionals: _,   // Beside: owed.
            pending: _,        // Beside: owed.
            compared: _,       // Derived from what is owed.
            unused: _,         // Said once, before the run.
            unused_serials: _, // Numbers of what is new.
        } = self;
        state.add("ways", ways);
        state.add("accesses under conditions", guarded);
    }
}
