//! Tensor maps: what the 128 opaque bytes say, and which bytes of memory a box of a tensor is.
//!
//! The problem: a copy of a box names a map and coordinates only; the map is made by the host, or
//! by `tensormap.replace` field by field from zeros or from another map. Its encoding is nobody's
//! business, so the bytes of a map are sixteen fresh symbols, and what they stand for is kept
//! beside them: copies of the bytes by any means are copies of the map, and anything else that
//! touches them makes them no map at all.
//!
//! Source: PTX ISA 9.0, sections 9.7.9.26 (`tensormap.replace`), 9.7.13.4 (`fence.proxy.tensormap`) and
//! 9.7.13.16 (`tensormap.cp_fenceproxy`). The geometry is in `tensor_box`.
//!
//! Which fences a map needs that the kernel writes is in `proxy`.

use rustc_hash::FxHashMap;

use crate::term::TermId;

use super::tensor_box::TensorMap;

mod exec;

/// Bytes of a map.
pub(super) const MAP_BYTES: u64 = 128;

/// All maps of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Maps {
    /// Maps by the first of their words, with the others.
    known: FxHashMap<TermId, (Vec<TermId>, TensorMap)>,
}
