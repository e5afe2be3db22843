// s[0] += x[i] by one thread of each CTA, under a lock.
//
// STYLE 0: atomicCAS and atomicExch with fences.  1: atomicExch(p, 1) until it was 0, and a volatile store.  2: cas.acquire
// and st.release.
// NO_FENCE_IN, NO_FENCE_OUT: a fence is missing.  NO_LOCK.  NO_UNLOCK: it is never given back.  NARROW: the scope is the CTA.
// FIRST: the number of the one who comes last stays, which depends on the order.
#ifdef NARROW
#define SCOPE "cta"
#else
#define SCOPE "gpu"
#endif
extern "C" __global__ void ENTRY(const float *x, int *m, float *s)
{
    if (threadIdx.x != 0)
        return;
#ifndef NO_LOCK
#if STYLE == 0
    while (atomicCAS(m, 0, 1) != 0)
        ;
#elif STYLE == 1
    while (atomicExch(m, 1) != 0)
        ;
#else
    int old;
    do
        asm volatile("atom.acquire." SCOPE ".global.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(m) : "memory");
    while (old != 0);
#endif
#if STYLE != 2 && !defined(NO_FENCE_IN)
    __threadfence();
#endif
#endif
#ifdef FIRST
    s[0] = 2 * s[0] + x[blockIdx.x];
#else
    s[0] += x[blockIdx.x];
#endif
#if !defined(NO_LOCK) && !defined(NO_UNLOCK)
#if STYLE != 2 && !defined(NO_FENCE_OUT)
    __threadfence();
#endif
#if STYLE == 0
    atomicExch(m, 0);
#elif STYLE == 1
    *(volatile int *)m = 0;
#else
    asm volatile("st.release." SCOPE ".global.s32 [%0], 0;" ::"l"(m) : "memory");
#endif
#endif
}
