//! The kernels of `kernels/` as their manifests launch them.

use std::collections::BTreeMap;

use volta::input::{self, Files};
use volta::kernel::Kernel;
use volta::spec::{Entry, KernelSpec, Layers, Manifest, Settings, Which};

use super::kernels;
use super::mutants::FAMILIES;

/// Families beside those whose kernels are mutated.
const MORE: [&str; 4] = ["barriers", "races", "tensor", "unoptimized"];

/// A kernel of a manifest as an entry launches it.
pub(crate) struct Case {
    pub name: String,
    pub kernel: Kernel,
    pub spec: KernelSpec,
    /// Whether its entry expects `unknown`.
    pub is_unknown: bool,
}

/// Every kernel with its launch and bindings, once.
pub(crate) fn cases(files: &Files) -> Vec<Case> {
    let mut found = BTreeMap::new();
    for family in FAMILIES.iter().chain(&MORE) {
        let folder = kernels().join(family);
        let text = std::fs::read_to_string(folder.join("volta.toml")).expect("a manifest");
        let manifest = Manifest::parse(&text, &folder).expect("a valid manifest");
        let pairs = [Which::Reference, Which::Optimized];
        let instances = |e: &[Entry]| -> Vec<[Settings; 2]> {
            e.iter().flat_map(|e| e.instances.clone()).collect()
        };
        let (checks, races) = (instances(&manifest.check), instances(&manifest.race));
        let checks = checks.iter().map(|s| (s, &pairs[..]));
        let races = races.iter().map(|s| (s, &[Which::Kernel][..]));
        for ([defaults, settings], sides) in checks.chain(races) {
            let layers = [defaults, settings];
            let reference = settings.reference.as_ref();
            let is_formula = reference.is_some_and(|s| s.formula.is_some());
            for &which in sides {
                if is_formula && which == Which::Reference {
                    continue;
                }
                let spec = Layers(&layers).kernel(which).expect("a valid entry");
                let key = format!("{spec:?}");
                let Ok(lowered) = input::lower(files, &spec) else {
                    continue;
                };
                let kernel = lowered.kernel;
                let name = format!("{} of {:?}", kernel.name, settings.name);
                let is_unknown = settings.expect.as_deref() == Some("unknown");
                found.entry(key).or_insert(Case {
                    name,
                    kernel,
                    spec,
                    is_unknown,
                });
            }
        }
    }
    found.into_values().collect()
}
