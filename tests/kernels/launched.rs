//! The kernels of `kernels/` as their manifests launch them.

use std::collections::BTreeMap;
use std::path::Path;

use volta::input::{self, Files};
use volta::kernel::Kernel;
use volta::spec::{Entry, KernelSpec, Layers, Manifest, Settings, Which};

const MANIFESTS: [&str; 5] = [
    "volta.toml",
    "nn.toml",
    "races.toml",
    "tensor.toml",
    "triton.toml",
];

/// A kernel of a manifest as an entry launches it.
pub(crate) struct Case {
    pub name: String,
    pub kernel: Kernel,
    pub spec: KernelSpec,
}

/// Every kernel with its launch and bindings, once.
pub(crate) fn cases(files: &Files) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let mut found = BTreeMap::new();
    for name in MANIFESTS {
        let text = std::fs::read_to_string(folder.join(name)).expect("a manifest");
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
            for &which in sides {
                let spec = Layers(&layers).kernel(which).expect("a valid entry");
                let key = format!("{spec:?}");
                let Ok(lowered) = input::lower(files, &spec) else {
                    continue;
                };
                let kernel = lowered.kernel;
                let name = format!("{} of {:?}", kernel.name, settings.name);
                found.entry(key).or_insert(Case { name, kernel, spec });
            }
        }
    }
    found.into_values().collect()
}
