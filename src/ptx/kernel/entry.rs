//! Which entry of a module is meant.
//!
//! The problem: mangled names are long, so a part of one is enough where only one entry has it.

use super::error::LowerError;
use crate::diag::Span;
use crate::ptx::{Function, Id, Module};

/// Bytes of a name that is demangled.
const LONGEST_NAME: usize = 4096;

/// The name of a function or a variable as its C++ source has it; `None` for a name of another language.
pub fn demangled(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_Z") || symbol.len() > LONGEST_NAME {
        return None;
    }
    cpp_demangle::Symbol::new(symbol).ok()?.demangle().ok()
}

/// The entry with this exact name, or the only one whose name holds it; without a name, the only
/// entry of the module.
pub fn select_entry(module: &Module, name: Option<&str>) -> Result<Id<Function>, LowerError> {
    let list = |ids: &[Id<Function>]| -> Vec<(String, Span)> {
        let entry = |id: &Id<Function>| {
            let f = &module[*id];
            (module.text(f.name).to_string(), f.name_span)
        };
        ids.iter().map(entry).collect()
    };
    let all: Vec<Id<Function>> = module.entries().map(|(id, _)| id).collect();
    if all.is_empty() {
        return Err(LowerError::NoEntry);
    }
    let Some(name) = name else {
        return match all[..] {
            [only] => Ok(only),
            _ => Err(LowerError::AmbiguousEntry {
                entries: list(&all),
            }),
        };
    };
    let text = |id: &Id<Function>| module.text(module[*id].name);
    if let Some(exact) = all.iter().find(|id| text(id) == name) {
        return Ok(*exact);
    }
    let fits: Vec<Id<Function>> = all
        .iter()
        .copied()
        .filter(|id| text(id).contains(name))
        .collect();
    match fits[..] {
        [only] => Ok(only),
        [] => Err(LowerError::UnknownEntry {
            name: name.to_string(),
            entries: list(&all),
        }),
        _ => Err(LowerError::AmbiguousEntry {
            entries: list(&fits),
        }),
    }
}
