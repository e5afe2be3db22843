// A fence is not a barrier.
extern "C" __global__ void ENTRY(const float* in, float* out) {
    __shared__ float values[64];
    values[threadIdx.x] = in[threadIdx.x];
    __threadfence_block();
#ifdef FIXED
    __syncthreads();
#endif
    out[threadIdx.x] = values[63 - threadIdx.x];
}
