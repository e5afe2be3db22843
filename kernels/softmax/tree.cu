// Softmax of N values by N threads: maximum and sum by trees in shared memory.
//
//     m = max(in),   out[i] = exp(in[i] - m) / sum over j of exp(in[j] - m)
//
// With LOG the logarithm of that: out[i] = in[i] - m - log(sum over j of exp(in[j] - m)).

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float s[N];
    int i = threadIdx.x;
    float x = in[i];

    s[i] = x;
    __syncthreads();
    for (int stride = N / 2; stride > 0; stride /= 2) {
        if (i < stride)
            s[i] = fmaxf(s[i], s[i + stride]);
        __syncthreads();
    }
    float m = s[0];
#ifndef MUTANT_NO_REUSE_BARRIER
    __syncthreads();
#endif

    float e = expf(x - m);
    s[i] = e;
    __syncthreads();
    for (int stride = N / 2; stride > 0; stride /= 2) {
        if (i < stride)
            s[i] += s[i + stride];
        __syncthreads();
    }

#if defined(LOG) && defined(MUTANT_NO_MAXIMUM)
    out[i] = x - logf(s[0]);
#elif defined(LOG)
    out[i] = x - m - logf(s[0]);
#else
    out[i] = e / s[0];
#endif
}
