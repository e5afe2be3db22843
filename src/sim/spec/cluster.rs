//! Clusters: which CTAs of a grid are launched together.
//!
//! Source: PTX ISA 9.0, sections "Cluster Dimension Directives" and the special registers `%clusterid` to
//! `%is_explicit_cluster`; the CUDA programming guide says that a grid is a multiple of its clusters, of which
//! sixteen CTAs is the most that any device takes.

use crate::kernel::{Kernel, Op, Scope, Space};

use super::launch::{LaunchSpec, show};
use super::{Launch, SpecError};

/// Most CTAs of a cluster.
const MOST: u64 = 16;

impl LaunchSpec {
    /// The extent of the clusters, if the launch has any.
    pub(super) fn clusters(&self, kernel: &Kernel) -> Result<Option<[u32; 3]>, SpecError> {
        let name = || kernel.name.clone();
        let cluster = match (self.cluster, kernel.cluster) {
            (Some(given), Some(required)) if given != required => {
                return Err(SpecError::ClusterAgainstDirective {
                    kernel: name(),
                    given: show(given),
                    required: show(required),
                });
            }
            // One that asks for nothing of clusters cannot tell.
            (Some(_), None) if !knows_clusters(kernel) => return Ok(None),
            (Some(cluster), _) | (None, Some(cluster)) => cluster,
            (None, None) => return Ok(None),
        };
        let ctas: u64 = cluster.iter().map(|&n| u64::from(n)).product();
        if ctas == 0 || ctas > MOST {
            return Err(SpecError::BadCluster {
                cluster: show(cluster),
            });
        }
        let grid = self.grid.unwrap_or(cluster);
        if (0..3).any(|i| !grid[i].is_multiple_of(cluster[i])) {
            return Err(SpecError::ClusterInGrid {
                cluster: show(cluster),
                grid: show(grid),
            });
        }
        Ok(Some(cluster))
    }
}

/// True if anything of a kernel depends on the clusters that it is launched in.
fn knows_clusters(kernel: &Kernel) -> bool {
    kernel.insts.iter().any(|i| match &i.op {
        Op::Special { special, .. } => special.is_of_cluster(),
        Op::Ld { access, .. } | Op::St { access, .. } | Op::Atom { access, .. } => {
            access.scope == Scope::Cluster || access.space == Space::SharedCluster
        }
        Op::Fence { scope, .. } => *scope == Scope::Cluster,
        Op::Async(_) | Op::Unsupported(_) => true,
        _ => false,
    })
}

impl Launch {
    /// Number of CTAs of a cluster.
    pub fn cluster_ctas(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// The CTAs that run together with the one that is named, cluster by cluster, each in the order of its ranks: those of
    /// its cluster, or `together` all of the grid.
    pub fn team(&self, together: bool) -> Vec<[u32; 3]> {
        let size = self.cluster;
        let counts = [0, 1, 2].map(|i| self.grid[i] / size[i]);
        let within = |first: [u32; 3]| {
            (0..self.cluster_ctas()).map(move |rank| {
                let at = [
                    rank % size[0],
                    rank / size[0] % size[1],
                    rank / size[0] / size[1],
                ];
                [0, 1, 2].map(|i| first[i] + at[i])
            })
        };
        if !together {
            return within([0, 1, 2].map(|i| self.cta[i] / size[i] * size[i])).collect();
        }
        let clusters: u32 = counts.iter().product();
        let first = |c: u32| {
            let at = [
                c % counts[0],
                c / counts[0] % counts[1],
                c / counts[0] / counts[1],
            ];
            [0, 1, 2].map(|i| at[i] * size[i])
        };
        (0..clusters).flat_map(|c| within(first(c))).collect()
    }

    /// The rank of the first CTA of those that run together with the one of this rank ([`Launch::team`]).
    pub fn leader(&self, rank: u64, together: bool) -> u64 {
        if together {
            return 0;
        }
        let own = self.with_cta(rank);
        let cta = [0, 1, 2].map(|i| own.cta[i] / own.cluster[i] * own.cluster[i]);
        Launch { cta, ..own }.rank()
    }
}

impl Launch {
    /// Clusters in each dimension.
    fn clusters(&self) -> [u64; 3] {
        [0, 1, 2].map(|i| u64::from(self.grid[i] / self.cluster[i]))
    }

    /// Clusters whose launch the first one cancels in the schedule that is run: all others but, of three or more, the last.
    fn cancelled_clusters(&self) -> u64 {
        match self.clusters().iter().product::<u64>() {
            0 | 1 => 0,
            2 => 1,
            n => n - 2,
        }
    }

    /// The number of the cluster of a CTA.
    fn cluster_number(&self, cta: [u32; 3]) -> u64 {
        let at = [0, 1, 2].map(|i| u64::from(cta[i] / self.cluster[i]));
        let n = self.clusters();
        at[0] + n[0] * (at[1] + n[1] * at[2])
    }

    /// The first CTA of the cluster that the cluster of a CTA cancels by its request of a number; none if that fails.
    pub fn cancelled(&self, cta: [u32; 3], request: u64) -> Option<[u32; 3]> {
        if self.cluster_number(cta) != 0 || request >= self.cancelled_clusters() {
            return None;
        }
        let (i, n) = (request + 1, self.clusters());
        let at = [i % n[0], i / n[0] % n[1], i / n[0] / n[1]];
        Some([0, 1, 2].map(|d| at[d] as u32 * self.cluster[d]))
    }

    /// The rank of the CTA whose run does the work of a CTA where clusters cancel the launch of others.
    pub fn taker(&self, rank: u64, together: bool) -> u64 {
        let number = self.cluster_number(self.with_cta(rank).cta);
        match (1..=self.cancelled_clusters()).contains(&number) {
            true => 0,
            false => self.leader(rank, together),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_team_is_a_cluster_or_the_grid() {
        let spec = LaunchSpec {
            block: Some([32, 1, 1]),
            grid: Some([4, 2, 1]),
            cluster: Some([2, 1, 1]),
            ..LaunchSpec::default()
        };
        let kernel = crate::precision::tests::kernel_of("", "mov.u32 %r1, %cluster_ctarank;");
        let launch = spec.resolve(&kernel, "--threads").expect("a launch");
        let third = launch.with_cta(3);
        assert_eq!(third.team(false), [[2, 0, 0], [3, 0, 0]]);
        assert_eq!((launch.leader(3, false), launch.leader(7, false)), (2, 6));
        let all = launch.team(true);
        assert_eq!((all.len(), all[2], all[4]), (8, [2, 0, 0], [0, 1, 0]));
        assert_eq!(launch.leader(7, true), 0);
    }
}
