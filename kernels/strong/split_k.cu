// c[t] = the sum over k of a[t, k] b[k], where CTA (tile, z) has part z of the k. They add to c one after the other, by a
// semaphore that counts whose turn it is.
//
// STYLE 0: atomicAdd(p, 0), atomicExch.  1: ld.acquire and st.release.  2: as in CUTLASS, where all threads vote whether to
// go on.  3: volatile with fences.  4: a Triton kernel's: atom.cas.acquire until it is the own turn, atom.exch.release.
// NO_WAIT, NO_RELEASE (no fence, or a relaxed store), NO_ACQUIRE, NO_BARRIER (the other threads store after the turn is
// given away), EARLY (the turn is given away before c is written), WRONG_TURN (two CTAs have the same turn),
// NO_RESET is no defect within one launch; NARROW: the scope is the CTA.
#define K 3
#ifdef NARROW
#define SCOPE "cta"
#else
#define SCOPE "gpu"
#endif
__device__ int look(int *p, int turn)
{
    int v;
#if STYLE == 0
    v = atomicAdd(p, 0);
#elif STYLE == 3
    v = *(volatile int *)p;
#elif STYLE == 4
    asm volatile("atom.acquire." SCOPE ".global.cas.b32 %0, [%1], %2, %2;" : "=r"(v) : "l"(p), "r"(turn) : "memory");
#elif defined(NO_ACQUIRE)
    asm volatile("ld.relaxed." SCOPE ".global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
#else
    asm volatile("ld.acquire." SCOPE ".global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
#endif
    return v;
}

__device__ void give(int *p, int turn)
{
#if STYLE == 0
#ifndef NO_RELEASE
    __threadfence();
#endif
    atomicExch(p, turn);
#elif STYLE == 3
#ifndef NO_RELEASE
    __threadfence();
#endif
    *(volatile int *)p = turn;
#elif STYLE == 4
    int old;
    asm volatile("atom.release." SCOPE ".global.exch.b32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(turn) : "memory");
#elif defined(NO_RELEASE)
    asm volatile("st.relaxed." SCOPE ".global.s32 [%0], %1;" ::"l"(p), "r"(turn) : "memory");
#else
    asm volatile("st.release." SCOPE ".global.s32 [%0], %1;" ::"l"(p), "r"(turn) : "memory");
#endif
}

extern "C" __global__ void ENTRY(const float *a, const float *b, float *c, int *sem)
{
    int t = threadIdx.x, z = blockIdx.y, parts = gridDim.y, at = blockIdx.x * blockDim.x + t;
    float s = 0;
    for (int k = z * K; k < z * K + K; k++)
        s += a[at * K * parts + k] * b[k];
    int *p = sem + blockIdx.x, turn = z;
#ifdef WRONG_TURN
    turn = z / 2;
#endif
#ifndef NO_WAIT
#if STYLE == 2
    int state = -1;
    if (t == 0)
        state = look(p, turn);
    while (__syncthreads_and(state != turn)) {
        if (t == 0)
            state = look(p, turn);
    }
    __syncthreads();
#else
    if (t == 0) {
        while (look(p, turn) != turn)
            ;
#if (STYLE == 0 || STYLE == 3) && !defined(NO_ACQUIRE)
        __threadfence();
#endif
    }
    __syncthreads();
#endif
#endif
#ifdef EARLY
    if (t == 0)
        give(p, z + 1);
#endif
    if (z > 0)
        s += c[at];
    c[at] = s;
#ifndef NO_BARRIER
    __syncthreads();
#endif
#ifndef EARLY
    if (t == 0)
        give(p, z == parts - 1 ? 0 : z + 1);
#endif
}
