//! Operations that were started and go on beside the threads.

use crate::kernel::Kernel;

use super::super::bulk::Bulk;
use super::super::copy::Copies;
use super::super::mbarrier::Objects;
use super::super::tensor_map::Maps;
use super::super::tensor_memory::TensorMemory;
use super::super::wgmma::Products;
use super::super::wmma::Fragments;

/// Copies and matrix products under way, and the objects that tell of their end.
#[derive(Clone)]
pub(in crate::sim) struct Tasks {
    /// Asynchronous copies under way, by warp.
    pub copies: Vec<Copies>,
    /// Bulk copies to global memory under way, by warp.
    pub bulk: Vec<Bulk>,
    /// Tensor maps.
    pub maps: Maps,
    /// Products of warpgroups under way.
    pub products: Products,
    /// Tensor memory.
    pub tensor: TensorMemory,
    /// Opaque fragments.
    pub fragments: Fragments,
    /// The mbarriers.
    pub objects: Objects,
}

impl Tasks {
    /// Nothing under way in a number of CTAs that have a number of warps together.
    pub(super) fn new(kernel: &Kernel, ctas: usize, warps: usize) -> Tasks {
        Tasks {
            copies: (0..warps).map(|_| Copies::default()).collect(),
            bulk: (0..warps).map(|_| Bulk::default()).collect(),
            maps: Maps::default(),
            products: Products::new(kernel, warps),
            tensor: TensorMemory::new(kernel, ctas),
            fragments: Fragments::new(warps),
            objects: Objects::default(),
        }
    }
}
