//! Blocks, grids and CTAs: how the command line writes them and what a kernel makes of them.
//!
//! Source: PTX ISA 9.0, sections "Performance-Tuning Directives" (`.reqntid`) and "Special
//! Registers" (the bounds of `%ntid` and `%nctaid`). Not claimed: that a real device has the
//! resources for the launch.

use crate::kernel::Kernel;

pub use crate::answer::kernel::show;

use super::{Launch, SpecError};

/// Most threads of a CTA.
pub const MAX_THREADS: u64 = 1024;

/// Bounds of the components of `%ntid`.
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];

/// Bounds of the components of `%nctaid`.
const MAX_GRID: [u32; 3] = [0x7fff_ffff, 0xffff, 0xffff];

/// Static shared memory of every target: ptxas refuses more (`0xc000 max`), whatever a launch may
/// give dynamically.
const MAX_STATIC_SHARED: u64 = 48 << 10;

/// The shared memory window, of which no device has more than a part.
const MAX_DYNAMIC_SHARED: u64 = 1 << 24;

/// What was asked for about the launch of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchSpec {
    /// Block, from `--threads`, `--block` or the like.
    pub block: Option<[u32; 3]>,
    /// Grid.
    pub grid: Option<[u32; 3]>,
    /// CTA.
    pub cta: Option<[u32; 3]>,
    /// Extent of a cluster.
    pub cluster: Option<[u32; 3]>,
    /// Extent of dynamic shared memory in bytes.
    pub dynamic_shared: Option<u64>,
    /// Lanes of a warp run in lock step.
    pub warp_sync: bool,
    /// Accumulators of `wmma` are laid out as on sm_80.
    pub wmma_layout: bool,
}

impl LaunchSpec {
    /// The launch of `kernel`. `flag` is the flag to name where the block is missing.
    pub fn resolve(&self, kernel: &Kernel, flag: &'static str) -> Result<Launch, SpecError> {
        let name = || kernel.name.clone();
        let block = match (self.block, kernel.reqntid) {
            (Some(given), Some(required)) if given != required => {
                return Err(SpecError::BlockAgainstReqntid {
                    kernel: name(),
                    given: show(given),
                    required: show(required),
                });
            }
            (Some(block), _) | (None, Some(block)) => block,
            (None, None) => {
                return Err(SpecError::NoBlock {
                    kernel: name(),
                    flag,
                    hint: kernel.maxntid.map_or(String::new(), |most| {
                        format!(" (.maxntid allows up to {most} threads)")
                    }),
                });
            }
        };
        let threads: u64 = block.iter().map(|&n| n as u64).product();
        if (0..3).any(|i| block[i] == 0 || block[i] > MAX_BLOCK[i]) || threads > MAX_THREADS {
            return Err(SpecError::BadBlock { block: show(block) });
        }
        if let Some(most) = kernel.maxntid
            && threads > most
        {
            return Err(SpecError::BlockAboveMaxntid {
                kernel: name(),
                given: show(block),
                most,
            });
        }
        let shared: u64 = kernel.shared.iter().map(|v| u64::from(v.bytes)).sum();
        if shared > MAX_STATIC_SHARED {
            return Err(SpecError::TooMuchShared {
                kernel: name(),
                bytes: shared,
                most: MAX_STATIC_SHARED,
            });
        }
        let cluster = self.clusters(kernel)?;
        let grid = self.grid.or(cluster).unwrap_or([1; 3]);
        if (0..3).any(|i| grid[i] == 0 || grid[i] > MAX_GRID[i]) {
            return Err(SpecError::BadGrid { grid: show(grid) });
        }
        let cta = self.cta.unwrap_or([0; 3]);
        if (0..3).any(|i| cta[i] >= grid[i]) {
            return Err(SpecError::CtaOutsideGrid {
                cta: show(cta),
                grid: show(grid),
            });
        }
        if let Some(bytes) = self.dynamic_shared
            && bytes > MAX_DYNAMIC_SHARED
        {
            return Err(SpecError::BadDynamicShared { bytes });
        }
        Ok(Launch {
            block,
            grid,
            cta,
            dynamic_shared: self.dynamic_shared,
            warp_sync: self.warp_sync,
            wmma_layout: self.wmma_layout,
            cluster: cluster.unwrap_or([1; 3]),
            clustered: cluster.is_some(),
        })
    }

    /// Which CTAs are asked for.
    pub fn selection(&self) -> Selection {
        match self.cta {
            Some(_) => Selection::Given,
            None => Selection::All,
        }
    }
}

/// Which CTAs of a grid are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Every one.
    All,
    /// The one that a flag names, which the warning `partial-grid` tells.
    Given,
}

/// Reads `X[,Y[,Z]]`; what is missing is `rest`.
pub fn triple(text: &str, rest: u32) -> Result<[u32; 3], String> {
    let mut out = [rest; 3];
    for (i, part) in text.split(',').enumerate() {
        let slot = out
            .get_mut(i)
            .ok_or_else(|| format!("`{text}` has more than three components"))?;
        *slot = part
            .trim()
            .parse()
            .map_err(|_| format!("`{text}` is not X, X,Y or X,Y,Z with numbers below 2^32"))?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triples() {
        assert_eq!(triple("32", 1), Ok([32, 1, 1]));
        assert_eq!(triple("8,4", 1), Ok([8, 4, 1]));
        assert_eq!(triple("1,2,3", 0), Ok([1, 2, 3]));
        assert_eq!(triple("3", 0), Ok([3, 0, 0]));
        for bad in ["", "1,2,3,4", "x", "-1", "1,", "4294967296"] {
            assert!(triple(bad, 1).is_err(), "{bad}");
        }
    }
}
