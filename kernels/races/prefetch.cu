// out[i] = sum over t of t * in[t][n - 1 - i], n threads, the next row is fetched while this one is used.
//
// MUTANT_EARLY_PREFETCH: the fetch stands before the barrier, while a slower thread may still read the same buffer
// in the round before.

const int n = 32 * 3, rounds = 4;

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float buffer[2][n];
    int i = threadIdx.x;

    buffer[0][i] = in[i];
    float sum = 0.0f;
    for (int t = 0; t < rounds; ++t) {
#ifndef MUTANT_EARLY_PREFETCH
        __syncthreads();
#endif
        if (t + 1 < rounds)
            buffer[(t + 1) % 2][i] = in[(t + 1) * n + i];
#ifdef MUTANT_EARLY_PREFETCH
        __syncthreads();
#endif
        sum += float(t) * buffer[t % 2][n - 1 - i];
    }
    out[i] = sum;
}
