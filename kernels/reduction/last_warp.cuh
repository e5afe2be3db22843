// The last six rounds of a sum in shared memory, done by the first warp: s[0] becomes s[0] + ... + s[63].
// COUNT is the number of values that are left, a power of two: rounds for more than that are left out.
//
// Without a definition of the choices below the rounds follow each other with nothing in between.  This is how such
// code was once written, for warps whose lanes run in lock step; it is a data race on every GPU since Volta,
// whether or not the memory is volatile.
//
// * WARP_SYNC_GUARDED: a round reads only what no lane writes in that round, and rounds are separated by __syncwarp.
// * WARP_SYNC_SPLIT: all lanes read, then __syncwarp, then all lanes write, then __syncwarp.
// * WARP_SYNC_ONCE: rounds are separated, but within a round one lane reads what another writes: still a data race.

#ifdef VOLATILE
typedef volatile float *Shared;
#else
typedef float *Shared;
#endif

template <unsigned COUNT> __device__ void reduce_last_warp(Shared s, unsigned tid)
{
#if defined(WARP_SYNC_GUARDED)
#define ROUND(STRIDE)                                                                                                  \
    if (COUNT >= 2 * STRIDE) {                                                                                         \
        if (tid < STRIDE)                                                                                              \
            s[tid] += s[tid + STRIDE];                                                                                 \
        __syncwarp();                                                                                                  \
    }
#elif defined(WARP_SYNC_SPLIT)
#define ROUND(STRIDE)                                                                                                  \
    if (COUNT >= 2 * STRIDE) {                                                                                         \
        float sum = s[tid] + s[tid + STRIDE];                                                                          \
        __syncwarp();                                                                                                  \
        s[tid] = sum;                                                                                                  \
        __syncwarp();                                                                                                  \
    }
#elif defined(WARP_SYNC_ONCE)
#define ROUND(STRIDE)                                                                                                  \
    if (COUNT >= 2 * STRIDE) {                                                                                         \
        s[tid] += s[tid + STRIDE];                                                                                     \
        __syncwarp();                                                                                                  \
    }
#else
#define ROUND(STRIDE)                                                                                                  \
    if (COUNT >= 2 * STRIDE)                                                                                           \
        s[tid] += s[tid + STRIDE];
#endif
    ROUND(32)
    ROUND(16)
    ROUND(8)
    ROUND(4)
    ROUND(2)
    ROUND(1)
}
