// Collectives of a warp on matrices, in place and beside accesses of single lanes.
//
// The manual does not say which lane of the warp accesses an element.  A load and a store of one fragment are taken
// to be the same lane's; everything else needs a barrier of the warp.
#include <mma.h>
using namespace nvcuda;

#if defined(ACCUMULATOR)
// Scales tiles of 16 x 16 where they stand, one for each warp.
extern "C" __global__ void ENTRY(float *y) {
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    int warp = threadIdx.x / 32;
#ifdef MUTANT_ONE_TILE
    warp = 0;
#endif
    float *tile = y + warp * 256;
    wmma::load_matrix_sync(c, tile, 16, wmma::mem_row_major);
    for (int i = 0; i < c.num_elements; i++) c.x[i] = 2.0f * c.x[i];
#ifdef MUTANT_TRANSPOSED
    wmma::store_matrix_sync(tile, c, 16, wmma::mem_col_major);
#else
    wmma::store_matrix_sync(tile, c, 16, wmma::mem_row_major);
#endif
}
#elif defined(STAGED)
// The accumulator goes to shared memory, and every lane takes what it needs.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    __shared__ __align__(32) float s[256];
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::load_matrix_sync(c, x, 16, wmma::mem_row_major);
    wmma::store_matrix_sync(s, c, 16, wmma::mem_row_major);
#ifndef MUTANT_NO_BARRIER
    __syncwarp();
#endif
    int t = threadIdx.x;
#ifdef ALL
    for (int i = 0; i < 8; i++) y[8 * t + i] = s[8 * t + i] + s[0];
#else
    for (int i = 0; i < 8; i++) y[8 * t + i] = s[8 * t + i];
#endif
}
#else
__device__ unsigned rows(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

// Two matrices of 8 x 8 halves, changed where they stand.
extern "C" __global__ void ENTRY(const unsigned *x, unsigned *y) {
    __shared__ __align__(16) unsigned s[64 + 4];
    int t = threadIdx.x;
    s[t] = x[t];
    s[t + 32] = x[t + 32];
    if (t < 4) s[64 + t] = 0;
    __syncwarp();
    unsigned a, b, from = rows(s + 4 * (t % 16)), to = from;
#ifdef MUTANT_NEXT_ROW
    to = rows(s + 4 * (t % 16) + 4);
#endif
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(from) : "memory");
    a ^= 0x80008000u;
    b ^= 0x80008000u;
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(to), "r"(a), "r"(b) : "memory");
#ifndef MUTANT_NO_BARRIER
    __syncwarp();
#endif
#ifdef OWN
    y[t] = s[t];
    y[t + 32] = s[t + 32];
#else
    y[t] = s[63 - t];
    y[t + 32] = s[31 - t];
#endif
}
#endif
