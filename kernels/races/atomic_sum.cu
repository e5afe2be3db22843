// out[0] += in[0] + ... + in[n - 1], with n threads: the warps add their sums to one word of shared memory, then one thread adds that
// to the output.  Additions that commute and whose old values nobody uses give the same result in any order.
//
// MUTANT_PLAIN_ADD: the addition to shared memory is an ordinary load and store.

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float total;
    int i = threadIdx.x;

    if (i == 0)
        total = 0.0f;
    __syncthreads();

    float sum = in[i];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (i % 32 == 0)
#ifdef MUTANT_PLAIN_ADD
        total += sum;
#else
        atomicAdd(&total, sum);
#endif
    __syncthreads();

    if (i == 0)
        out[0] += total;
}
