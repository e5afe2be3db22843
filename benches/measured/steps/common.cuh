// Reductions over a warp, which the kernels of this folder share.
#include <cuda_fp16.h>
#define ALL 0xffffffffu
#define LOG2E 1.4426950408889634f
#define LN2 0.6931471805599453f
#define NEVER (-__int_as_float(0x7f800000))

static __device__ __forceinline__ float warp_sum(float v, int from = 16) {
    for (int o = from; o > 0; o /= 2) v += __shfl_xor_sync(ALL, v, o);
    return v;
}
static __device__ __forceinline__ float warp_max(float v, int from = 16) {
    for (int o = from; o > 0; o /= 2) v = fmaxf(v, __shfl_xor_sync(ALL, v, o));
    return v;
}
