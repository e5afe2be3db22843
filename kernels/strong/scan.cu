// Running sums of x in parts of 8, one for each CTA, which find the sum before theirs in what the CTAs before them publish.
//
// CHAINED: each waits for the sum before it.  Else by looking back: over sums of parts (1) to a sum of all before (2).
// NO_FENCE, NO_ACQUIRE: one of the fences is missing.  NO_WAIT: they do not wait for the flag.  NO_BARRIER: the others do
// not wait for the sum.  TWICE_ADDED: the part is added again where a sum of all is found.
__device__ int look(volatile int *flag)
{
    int f;
#ifdef NO_WAIT
    f = *flag;
#else
    while ((f = *flag) == 0)
        ;
#endif
#ifndef NO_ACQUIRE
    __threadfence();
#endif
    return f;
}

__device__ void publish(volatile int *flag, float *at, float v, int f)
{
    *at = v;
#ifndef NO_FENCE
    __threadfence();
#endif
    *flag = f;
}

extern "C" __global__ void ENTRY(const float *x, int *flag, float *part, float *all, float *out)
{
    __shared__ float s[8];
    __shared__ float base;
    int b = blockIdx.x, t = threadIdx.x;
    s[t] = x[b * 8 + t];
    __syncthreads();
    if (t == 0) {
        float sum = 0, before = 0;
        for (int i = 0; i < 8; i++) {
            sum += s[i];
            s[i] = sum;
        }
#ifdef CHAINED
        if (b > 0) {
            look(flag + b - 1);
            before = all[b - 1];
        }
#else
        if (b > 0) {
            publish(flag + b, part + b, sum, 1);
            for (int j = b - 1;; j--) {
                int f = look(flag + j);
#ifdef TWICE_ADDED
                before += part[j];
#endif
                if (f == 2) {
                    before += all[j];
                    break;
                }
#ifndef TWICE_ADDED
                before += part[j];
#endif
            }
        }
#endif
        publish(flag + b, all + b, before + sum, 2);
        base = before;
    }
#ifndef NO_BARRIER
    __syncthreads();
#endif
    out[b * 8 + t] = s[t] + base;
}
