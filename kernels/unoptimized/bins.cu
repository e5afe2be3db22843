// Sums by column with atomics in shared memory. Without optimisation the old values of the atomics travel through calls
// and the stack before they are forgotten.
extern "C" __global__ void ENTRY(const float* in, float* out) {
#ifdef PLAIN
    if (threadIdx.x < 8) {
        float sum = out[threadIdx.x];
        for (int i = 0; i < 8; i++) sum += in[threadIdx.x + 8 * i];
        out[threadIdx.x] = sum;
    }
#else
    __shared__ float bins[8];
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[threadIdx.x % 8], in[threadIdx.x]);
#ifndef MUTANT_NO_BARRIER
    __syncthreads();
#endif
    if (threadIdx.x < 8) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
#endif
}
