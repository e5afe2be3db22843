// What is fuzzed: any bytes to a module and back, and each entry lowered; any text as a formula.  Included by the fuzz target and by
// `tests/modules.rs`, so that both are about the same code.

use std::sync::Arc;
use volta::diag::Source;
use volta::{formula, kernel, ptx};

/// Reads any bytes as PTX; what can be read is checked, printed and read again.
#[allow(dead_code, reason = "each fuzz target uses a part of this file")]
pub(crate) fn read(bytes: &[u8]) -> Option<(ptx::Module, Arc<Source>)> {
    let source = Source::from_bytes("mutant".to_string(), bytes.to_vec()).ok()?;
    match ptx::parse(&source) {
        Ok(module) => {
            let _ = ptx::check(&module);
            let again = Source::new("printed", ptx::print(&module)).expect("short");
            if let Err(errors) = ptx::parse(&again) {
                let shown = volta::diag::Diagnostic::from(&errors[0]).render(&again, false);
                panic!("what is printed cannot be read:\n{shown}");
            }
            Some((module, Arc::new(source)))
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            None
        }
    }
}

/// Lowers every entry.
#[allow(dead_code, reason = "each fuzz target uses a part of this file")]
pub(crate) fn lower((module, source): &(ptx::Module, Arc<Source>)) {
    for (entry, _) in module.entries() {
        let _ = kernel::lower(module, source, entry);
    }
}

/// Reads any text as a formula; what is wrong with it has places inside of the text, and can be shown.
#[allow(dead_code, reason = "each fuzz target uses a part of this file")]
pub(crate) fn formula(text: &str) {
    let Err(troubles) = formula::parse(text) else {
        return;
    };
    assert!(!troubles.is_empty());
    let source = Source::new("formula", text.to_string()).expect("short");
    for trouble in &troubles {
        let _ = volta::diag::Diagnostic::from(trouble).render(&source, false);
    }
}
