// What the sources of this family share.  An operator is a template over WRONG: 0 is the operator, 1 its wrong twin.
#pragma once
#define KERNEL extern "C" __global__ void
#define IN const float* __restrict__
#define OUT float* __restrict__

// The plain kernel of an operator, and the one that is to be refuted.
#define PLAIN(name, parameters, arguments)        \
    KERNEL name##_naive parameters { name<0> arguments; } \
    KERNEL name##_wrong parameters { name<1> arguments; }

__device__ __forceinline__ int element() { return blockIdx.x * blockDim.x + threadIdx.x; }

__device__ __forceinline__ float sum_of_warp(float v) {
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    return v;
}
__device__ __forceinline__ float max_of_warp(float v) {
    for (int o = 16; o > 0; o >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
    return v;
}
// The sum over a block of up to 32 warps, for every thread.
__device__ __forceinline__ float sum_of_block(float v) {
    __shared__ float sums[32];
    v = sum_of_warp(v);
    __syncthreads();
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x % 32 < blockDim.x / 32 ? sums[threadIdx.x % 32] : 0.f;
    return sum_of_warp(v);
}
