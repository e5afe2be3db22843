// Named barriers, ids 0 to 15.  A barrier completes when `threads` threads have arrived, counted in whole warps.

// Arrives and waits until the barrier completes.
__device__ __forceinline__ void barrier_sync(int id, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Arrives without waiting: what this thread wrote is seen by those who wait.
__device__ __forceinline__ void barrier_arrive(int id, int threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
