//! Variables that exist once for the whole kernel, as lowering finds them.

use rustc_hash::FxHashMap;

use super::GlobalId;
use super::scope::Place;
use crate::ptx::{Decl, Declarator, Id, Name};

/// Variables that exist once for the whole kernel.
#[derive(Debug, Default)]
pub(super) struct Statics {
    /// Shared variables by the index of their declarator.
    pub shared: FxHashMap<usize, Place>,
    /// Module-scope variables by name.
    pub module: FxHashMap<Name, (Id<Decl>, Id<Declarator>)>,
    /// Global and constant variables by the index of their declarator.
    pub globals: FxHashMap<usize, GlobalId>,
    /// The declaration of each global variable.
    pub declared: Vec<(Id<Decl>, Id<Declarator>)>,
}
