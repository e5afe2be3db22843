// Sum of n values by one warp: each lane sums every 32nd value, then the lanes exchange their sums by shuffles.
//
//     out[ctaid] = the sum of in[i] over the i < n that this warp visits; with one CTA, of all

extern "C" __global__ void ENTRY(const float *in, float *out, unsigned n)
{
    unsigned lane = threadIdx.x;

    float sum = 0.0f;
    for (unsigned i = blockIdx.x * 32 + lane; i < n; i += 32 * gridDim.x)
        sum += in[i];

#ifdef MUTANT_DROPPED_ROUND
    const unsigned last = 2;
#else
    const unsigned last = 1;
#endif
    for (unsigned distance = 16; distance >= last; distance /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, distance);

    if (lane == 0)
        out[blockIdx.x] = sum;
}
