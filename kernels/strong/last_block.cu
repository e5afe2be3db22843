// Each CTA adds up its part; the last one to finish adds up the sums.
//
// PLAIN_RESET: the last one puts the counter back by an ordinary store.  INC: atomicInc, which wraps by itself.
// ACQ_REL: the counter's atomic releases and acquires.  FENCE_AFTER: a fence behind the counter, before the sums are read.
// NO_FENCE: nothing releases the partial sums.  NO_BARRIER: the threads do not wait for the answer.
// OFF_BY_ONE: the one before the last believes that it is the last.  EVERY: the sums are read by all.
extern "C" __global__ void ENTRY(const float *x, float *part, unsigned *count, float *out)
{
    __shared__ float s[32];
    __shared__ bool last;
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 32 + t];
    __syncthreads();
    for (int d = 16; d > 0; d /= 2) {
        if (t < d)
            s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) {
        part[blockIdx.x] = s[0];
#if !defined(NO_FENCE) && !defined(ACQ_REL)
        __threadfence();
#endif
        unsigned ticket, n = gridDim.x - 1;
#ifdef OFF_BY_ONE
        n -= 1;
#endif
#ifdef INC
        ticket = atomicInc(count, n);
#elif defined(ACQ_REL)
        asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(ticket) : "l"(count) : "memory");
#else
        ticket = atomicAdd(count, 1);
#endif
        last = ticket == n;
    }
#ifndef NO_BARRIER
    __syncthreads();
#endif
#ifdef EVERY
    if (true) {
#else
    if (last) {
#endif
#ifndef NO_FENCE_AFTER
        __threadfence();
#endif
        if (t == 0) {
            float a = 0;
            for (int i = 0; i < gridDim.x; i++)
                a += part[i];
            out[0] = a;
#ifdef PLAIN_RESET
            *count = 0;
#endif
        }
    }
}
