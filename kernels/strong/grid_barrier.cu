// All CTAs double their part, meet, and read each other's: out[i] = 2 x[n - 1 - i].  With TWICE they meet a second time.
//
// A counter counts arrivals.  SPIN 0: a volatile load.  1: atomicAdd(p, 0).  2: ld.acquire.  3: volatile with a sleep.
// SENSE: the last one to arrive resets the counter and turns a flag over, and the others wait for the flag.
// GROUPS: as cooperative groups do, by the highest bit.  TICKET: the last one, by its ticket, opens a gate.
// NO_FENCE_BEFORE, NO_FENCE_AFTER, NO_BARRIER_BEFORE, NO_BARRIER_AFTER: one of them is missing.
// FEWER: they wait for one arrival less.  MORE: for one more.
__device__ unsigned look(unsigned *p)
{
#if SPIN == 1
    return atomicAdd(p, 0);
#elif SPIN == 2
    unsigned v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
#elif SPIN == 3
    __nanosleep(20);
    return *(volatile unsigned *)p;
#else
    return *(volatile unsigned *)p;
#endif
}

__device__ void meet(unsigned *bar, unsigned round)
{
#ifndef NO_BARRIER_BEFORE
    __syncthreads();
#endif
    if (threadIdx.x == 0) {
        unsigned n = gridDim.x;
#ifdef FEWER
        n -= 1;
#elif defined(MORE)
        n += 1;
#endif
#ifndef NO_FENCE_BEFORE
        __threadfence();
#endif
#ifdef SENSE
        unsigned sense = round & 1;
        if (atomicAdd(bar, 1) == n - 1) {
            bar[0] = 0;
            __threadfence();
            *(volatile unsigned *)(bar + 1) = sense;
        } else {
            while (look(bar + 1) != sense)
                ;
        }
#elif defined(GROUPS)
        unsigned add = blockIdx.x == 0 ? 0x80000000u - (n - 1) : 1;
        unsigned old = atomicAdd(bar, add);
        while ((((old ^ look(bar)) & 0x80000000u)) == 0)
            ;
#elif defined(TICKET)
        unsigned t = atomicAdd(bar, 1);
        if (t == round * n - 1)
            atomicExch(bar + 1, round);
        while (look(bar + 1) < round)
            ;
#else
        atomicAdd(bar, 1);
        while (look(bar) < round * n)
            ;
#endif
#ifndef NO_FENCE_AFTER
        __threadfence();
#endif
    }
#ifndef NO_BARRIER_AFTER
    __syncthreads();
#endif
}

extern "C" __global__ void ENTRY(const float *x, unsigned *bar, float *tmp, float *out)
{
    int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    tmp[i] = 2 * x[i];
    meet(bar, 1);
#ifdef TWICE
    float v = tmp[n - 1 - i];
    meet(bar, 2);
    tmp[i] = v;
    out[i] = tmp[i];
#else
    out[i] = tmp[n - 1 - i];
#endif
}
