//! The machine: everything that the threads of one CTA, or of several that run together, share while they run.
//!
//! It has parts, and what an instruction does is a method of the least of them that has what it needs: [`Values`],
//! [`Threads`], [`Spaces`], [`Found`], [`Synchronisation`], [`Tasks`] or [`Conditions`] where one is enough, [`Core`]
//! where it runs as if nobody else did, [`Machine`] where it meets others.

mod conditions;
mod core;
mod findings;
mod fixed;
mod spaces;
mod state;
mod sync;
mod tasks;
mod threads;

pub(super) use self::conditions::Conditions;
pub(super) use self::core::Core;
pub(super) use self::findings::Found;
pub(super) use self::fixed::Fixed;
pub(super) use self::spaces::Spaces;
pub(super) use self::sync::Synchronisation;
pub(super) use self::tasks::Tasks;
pub(super) use self::threads::Threads;

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::spec::{Numbered, Value};
use crate::term::ArrayId;

use super::Side;
use super::address::layout;
use super::clock::RankShape;
use super::cluster::Team;
use super::cta::Inputs;
use super::program::Program;
use super::region::{PARAM, base, region_of};
use super::setup::{given, put_field, put_globals, regions, values};
use super::tensor_box::TensorMap;

/// The state of a run.
#[derive(Clone)]
pub(super) struct Machine<'k> {
    /// Registers, memory and values.
    pub core: Core<'k>,
    /// What happens before what.
    pub sync: Synchronisation,
    /// What goes on beside the threads.
    pub tasks: Tasks,
    /// What data decide.
    pub conditions: Conditions,
}

impl<'k> Machine<'k> {
    /// A machine with memory laid out and all threads at the first instruction; `None` if the
    /// block has more threads than a CTA can have.
    pub(super) fn new(
        inputs: &Inputs<'k>,
        program: Arc<Program>,
        tracked: &FxHashSet<ArrayId>,
    ) -> Option<Self> {
        let Inputs {
            kernel,
            launch,
            bindings,
            arrays,
            ..
        } = *inputs;
        let ctas = launch.team(inputs.mode.together);
        let shape = RankShape::several(launch.threads(), ctas.len() as u32)?;
        let team = Team::new(ctas, shape, launch.cluster_ctas());
        let fixed = Fixed::new(inputs, program, team);
        let (program, team) = (&fixed.program, &fixed.team);
        let mut values = values(inputs);
        let mut regions = regions(inputs);
        let given = given(bindings, &mut regions);
        let global_regions = fixed.global_regions();
        let mut prov = layout::bases(kernel, launch, arrays, global_regions);
        prov.ranks = team.many();
        let param = &mut regions[PARAM.0 as usize];
        for f in &bindings.fields {
            put_field(f, param, (&mut values, &mut prov), &given);
        }
        put_globals(kernel, global_regions, &mut regions, &mut prov);
        layout::preset_pointers(arrays, &mut regions, &mut prov);
        regions.iter_mut().for_each(|r| r.take_over(&mut values));
        let before = bindings.left.as_ref().map_or(0, |left| left.fresh);
        values.first_fresh = first_fresh(inputs.side, inputs.mode.words()) + before;
        values.fresh = values.first_fresh;
        let threads = Threads::new(kernel, program, shape);
        let tasks = Tasks::new(kernel, team.len(), threads.warps.len());
        let of = (kernel, launch);
        let sync = Synchronisation::new(of, (team, shape), regions.len(), tracked);
        let memory = Spaces::new(kernel, program, regions, prov);
        let core = Core {
            fixed,
            values,
            threads,
            memory,
            found: Found::default(),
        };
        let mut machine = Machine {
            core,
            sync,
            tasks,
            conditions: Conditions::new(),
        };
        machine.take_maps();
        for f in &bindings.fields {
            if let Value::Map(a, i) = f.value
                && let Some(decl) = bindings.maps.get(i as usize)
            {
                let mut map = TensorMap::of_host(decl, base(region_of(a)));
                map.carried = machine.core.memory.prov.of_array(region_of(a));
                machine.put_map(PARAM, u64::from(f.offset), map);
            }
        }
        Some(machine)
    }

    /// True if no defect was found so far, and no pair of accesses that nothing orders.
    pub(super) fn finds_nothing(&self) -> bool {
        self.core.found.defects.is_empty() && self.sync.order.finds_nothing()
    }
}

/// Where the serials of the fresh symbols of a side start; the bit below is that of flips.
fn first_fresh(side: Side, words: Option<Numbered>) -> u32 {
    let run = words.and_then(|w| Some((w.run?, w.of.div_ceil(2).max(1))));
    match (run, side) {
        (Some((run, pairs)), _) => ((run % 2) << 31) | (run / 2 * ((1 << 30) / pairs)),
        (None, Side::Reference) => 0,
        (None, Side::Optimized) => 1 << 31,
    }
}
