// Locks that wait by loads between two tries, rings between a producer and a consumer, and tiles that are handed out.
#include <cuda/atomic>

#ifdef NARROW
using Word = cuda::atomic_ref<int, cuda::thread_scope_block>;
#else
using Word = cuda::atomic_ref<int, cuda::thread_scope_device>;
#endif
#ifdef NO_ACQUIRE
#define ACQUIRE cuda::memory_order_relaxed
#else
#define ACQUIRE cuda::memory_order_acquire
#endif
#ifdef NO_RELEASE
#define RELEASE cuda::memory_order_relaxed
#else
#define RELEASE cuda::memory_order_release
#endif
#define RELAXED cuda::memory_order_relaxed

#if defined(LOCK)
// The sum of an element of each CTA, under a lock.
extern "C" __global__ void ENTRY(const float *x, float *sum, int *lock) {
    if (threadIdx.x) return;
    Word word(*lock);
#if LOCK == 1
    for (;;) {
        if (word.exchange(1, ACQUIRE) == 0) break;
        while (word.load(RELAXED)) {}
    }
#elif LOCK == 2
    int expected = 0;
    while (!word.compare_exchange_strong(expected, 1, ACQUIRE, RELAXED)) {
        expected = 0;
        __nanosleep(20);
    }
#elif LOCK == 3
    // Who is late waits for a value that the lock never has.
    for (;;) {
        if (word.exchange(1, ACQUIRE) == 0) break;
        while (word.load(RELAXED) != 2) {}
    }
#endif
    *sum += x[blockIdx.x];
    word.store(0, RELEASE);
}
#elif defined(RING)
// Four rounds through a ring of two places.
#ifndef PLACES
#define PLACES 2
#endif
extern "C" __global__ void ENTRY(const float *x, float *ring, int *head, int *tail, float *y) {
    int t = threadIdx.x;
    Word put(*head), taken(*tail);
    for (int i = 0; i < 4; i++) {
        int at = i % 2 * 32 + t;
        if (blockIdx.x == 0) {
            if (t == 0) while (i - taken.load(ACQUIRE) >= PLACES) {}
            __syncthreads();
            ring[at] = x[i * 32 + t];
            __syncthreads();
            if (t == 0) put.store(i + 1, RELEASE);
        } else {
            if (t == 0) while (put.load(ACQUIRE) <= i) {}
            __syncthreads();
            y[i * 32 + t] = 2 * ring[at];
            __syncthreads();
            if (t == 0) taken.store(i + 1, RELEASE);
        }
    }
}
#elif defined(TILES)
// CTAs take tiles as they come.
extern "C" __global__ void ENTRY(const float *x, float *y, int *next, int n) {
    __shared__ int tile;
    for (;;) {
        if (threadIdx.x == 0) tile = atomicAdd(next, 1);
        __syncthreads();
        int mine = tile;
#ifndef NO_BARRIER
        __syncthreads();
#endif
        if (mine >= n) break;
        y[mine * 32 + threadIdx.x] = 2 * x[mine * 32 + threadIdx.x];
    }
}
#else
extern "C" __global__ void ENTRY(const float *x, float *y) {
    int i = blockIdx.x * 32 + threadIdx.x;
    y[i] = 2 * x[i];
}
#endif
