// out[i] = 2 * in[i] - max(in) - min(in), maximum and minimum by reduction in shared memory.
//
// MUTANT_NO_FINAL_BARRIER: the barrier stands at the start of each round, none is left between the last round and the
// reads of the result.

const int n = 64;

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float largest[n], smallest[n];
    int i = threadIdx.x;

    largest[i] = smallest[i] = in[i];
    for (int stride = n / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (i < stride) {
            largest[i] = fmaxf(largest[i], largest[i + stride]);
            smallest[i] = fminf(smallest[i], smallest[i + stride]);
        }
    }
#ifndef MUTANT_NO_FINAL_BARRIER
    __syncthreads();
#endif
    out[i] = 2.0f * in[i] - largest[0] - smallest[0];
}
