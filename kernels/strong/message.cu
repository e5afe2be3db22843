// One thread of CTA 0 writes a number and raises a flag; one thread of each other CTA waits for the flag and reads the number.
//
// SET and GET are how the flag is written and read:  VOLATILE (with fences), RELAXED (with fences), RELEASE (store and load
// that release and acquire), ATOMIC (read-modify-writes with fences), REF (cuda::atomic_ref).
// NO_RELEASE, NO_ACQUIRE: a fence is missing, or the access is relaxed.  NARROW: the scope is the CTA.
// AND_RELAXED: a second, relaxed store of the flag after the one that releases, and only that one ends the wait.
// NEVER: nobody raises the flag.  RESET: the flag is put down at once.  PLAIN: the flag is an ordinary variable in the wait.
#ifdef REF
#include <cuda/atomic>
#endif

#ifdef NARROW
#define SCOPE "cta"
#else
#define SCOPE "gpu"
#endif

__device__ void fence()
{
#ifdef NARROW
    __threadfence_block();
#elif defined(ACQ_REL)
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
#else
    __threadfence();
#endif
}

__device__ void set(int *flag, int v)
{
#if defined(VOLATILE) || defined(PLAIN)
    *(volatile int *)flag = v;
#elif defined(RELAXED) || defined(NO_RELEASE)
    asm volatile("st.relaxed." SCOPE ".global.s32 [%0], %1;" ::"l"(flag), "r"(v) : "memory");
#elif defined(ATOMIC)
    atomicExch(flag, v);
#elif defined(REF)
    cuda::atomic_ref<int, cuda::thread_scope_device>(*flag).store(v, cuda::memory_order_release);
#else
    asm volatile("st.release." SCOPE ".global.s32 [%0], %1;" ::"l"(flag), "r"(v) : "memory");
#endif
}

__device__ int get(int *flag)
{
    int v;
#if defined(VOLATILE)
    v = *(volatile int *)flag;
#elif defined(PLAIN)
    asm volatile("ld.global.s32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory");
#elif defined(ATOMIC)
    v = atomicAdd(flag, 0);
#elif defined(RELAXED) || defined(NO_ACQUIRE)
    asm volatile("ld.relaxed." SCOPE ".global.s32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory");
#elif defined(REF)
    v = cuda::atomic_ref<int, cuda::thread_scope_device>(*flag).load(cuda::memory_order_acquire);
#else
    asm volatile("ld.acquire." SCOPE ".global.s32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory");
#endif
    return v;
}

extern "C" __global__ void ENTRY(const float *x, int *flag, float *data, float *out)
{
    if (threadIdx.x != 0)
        return;
    if (blockIdx.x == 0) {
        data[0] = x[0] + x[1];
#if (defined(VOLATILE) || defined(RELAXED) || defined(ATOMIC) || defined(PLAIN)) && !defined(NO_RELEASE)
        fence();
#endif
#ifndef NEVER
        set(flag, 1);
#endif
#ifdef AND_RELAXED
        asm volatile("st.relaxed.gpu.global.s32 [%0], %1;" ::"l"(flag), "r"(2) : "memory");
#endif
#ifdef RESET
        set(flag, 0);
#endif
    } else {
#ifdef AND_RELAXED
        while (get(flag) != 2)
#else
        while (get(flag) == 0)
#endif
            ;
#if (defined(VOLATILE) || defined(RELAXED) || defined(ATOMIC) || defined(PLAIN)) && !defined(NO_ACQUIRE)
        fence();
#endif
        out[blockIdx.x] = data[0] * x[blockIdx.x];
    }
}
