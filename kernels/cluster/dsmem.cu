// Distributed shared memory: each CTA of a pair reads what the other one wrote.
//
// FIRST: the barrier of the cluster between writing and reading; LAST: the one before a CTA may end.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

#ifndef FIRST
#define FIRST cluster.sync()
#endif
#ifndef LAST
#define LAST cluster.sync()
#endif
#ifndef PEER
#define PEER (rank ^ 1)
#endif

extern "C" __global__ void __cluster_dims__(2, 1, 1) ENTRY(const float *x, float *y) {
    __shared__ float tile[64];
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x;
    unsigned rank = cluster.block_rank();
    tile[t] = x[blockIdx.x * 64 + t];
    FIRST;
    const float *other = cluster.map_shared_rank(tile, PEER);
    float v = tile[t] + other[63 - t];
    LAST;
    y[blockIdx.x * 64 + t] = v;
}
