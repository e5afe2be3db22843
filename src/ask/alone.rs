//! Kernels as they are launched: read, lowered and bound, as every driver needs them before it asks anything.

use std::slice::from_ref;

use rayon::prelude::*;

use crate::answer::Failure;
use crate::decide;
use crate::found::launches::{Ran, ran};
use crate::grid::{self, Covered, Subject};
use crate::input::{self, Files, Lowered};
use crate::kernel::Kernel;
use crate::sim::Side;
use crate::spec::binding::Key;
use crate::spec::launch::Selection;
use crate::spec::{self, KernelSpec, Layers, Setup, Which};
use crate::work;

/// Lowers the kernels of some launches, those of the reference first, and binds what they are given.
pub(crate) fn bound(
    specs: &[KernelSpec],
    map: &[(Key, Key)],
    files: &Files,
) -> Result<(Vec<Lowered>, Setup), Failure> {
    let lowered = work::side_by_side(specs.par_iter(), |spec| input::lower(files, spec));
    let lowered: Vec<Lowered> = lowered.into_iter().collect::<Result<_, _>>()?;
    let kernels = lowered.iter().zip(specs);
    let kernels: Vec<(&Kernel, &KernelSpec)> = kernels.map(|(l, s)| (&l.kernel, s)).collect();
    let setup = spec::resolve(&kernels, map).map_err(|e| e.about(&kernels))?;
    Ok((lowered, setup))
}

/// One launch of one kernel.
pub(crate) struct Alone {
    pub spec: KernelSpec,
    pub lowered: Lowered,
    pub setup: Setup,
}

impl Alone {
    /// Reads what the layers say; `seed` is that of contents that are drawn.
    pub(crate) fn read(layers: Layers, seed: Option<u64>, files: &Files) -> Result<Alone, Failure> {
        let spec = input::spec(layers, Which::Kernel, files, seed)?;
        let (mut lowered, setup) = bound(from_ref(&spec), &[], files)?;
        Ok(Alone {
            spec,
            lowered: lowered.remove(0),
            setup,
        })
    }

    /// The launch, for findings.
    pub(crate) fn ran(&self) -> Vec<Ran<'_>> {
        ran(from_ref(&self.spec), from_ref(&self.lowered), &self.setup)
    }

    /// What is run.
    pub(crate) fn subject<'a>(&'a self, deciding: &'a decide::Options) -> Subject<'a> {
        Subject {
            kernel: self.lowered.run_by(&self.setup.kernels[0].mode),
            resolved: &self.setup.kernels[0],
            side: Side::Reference,
            arrays: &self.setup.arrays,
            deciding,
            without_values: false,
        }
    }
}

/// Runs the CTAs that are asked for.
pub(crate) fn asked(subject: &Subject) -> Covered {
    match subject.resolved.selection {
        Selection::All => grid::all(subject),
        Selection::Given => grid::cover(subject, &[subject.resolved.launch.rank()]),
    }
}
