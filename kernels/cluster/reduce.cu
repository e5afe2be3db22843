// The sum of 256 numbers by a cluster of four CTAs: each CTA adds its part, and the first one the four parts.
//
// WAY 0: the first CTA reads the parts of the others; 1: the others store theirs into the first; 2: they add by an
// atomic; 3: PTX by hand. MID and LAST are the barriers of the cluster.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

#ifndef WAY
#define WAY 0
#endif
#ifndef START
#define START cluster.sync()
#endif
#ifndef MID
#define MID cluster.sync()
#endif
#ifndef LAST
#define LAST cluster.sync()
#endif
#ifndef SLOT
#define SLOT rank
#endif

extern "C" __global__ void __cluster_dims__(4, 1, 1) ENTRY(const float *x, float *y) {
    __shared__ float part[64];
    __shared__ float parts[4];
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x;
    unsigned rank = cluster.block_rank();
    part[t] = x[blockIdx.x * 64 + t];
    if (t < 4) parts[t] = 0;
    __syncthreads();
    for (int o = 32; o > 0; o >>= 1) {
        if (t < o) part[t] += part[t + o];
        __syncthreads();
    }
    START;
#if WAY == 1
    if (t == 0) cluster.map_shared_rank(parts, 0)[SLOT] = part[0];
#elif WAY == 2
    if (t == 0) atomicAdd(cluster.map_shared_rank(&parts[0], 0), part[0]);
#elif WAY == 3
    if (t == 0) {
        unsigned at = (unsigned)__cvta_generic_to_shared(&parts[SLOT]), there;
        asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(there) : "r"(at));
        asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(there), "f"(part[0]) : "memory");
    }
#endif
    MID;
    if (rank == 0 && t == 0) {
        float s = 0;
#if WAY == 0
        for (int i = 0; i < 4; i++) s += *cluster.map_shared_rank(&part[0], i);
#elif WAY == 2
        s = parts[0];
#else
        for (int i = 0; i < 4; i++) s += parts[i];
#endif
        y[blockIdx.x / 4] = s;
    }
    LAST;
}
