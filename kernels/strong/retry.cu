// Updates that loops around a compare-and-swap make, and wrong ones beside them.

#include <cuda_fp16.h>
#include <cuda/atomic>

#define K extern "C" __global__ void

#if defined(ADD)
// A float added by rounds that take what the exchange found.
K ENTRY(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned *a = (unsigned *)y, old = *a, seen;
    do {
        seen = old;
        old = atomicCAS(a, seen, __float_as_uint(__uint_as_float(seen) + x[i]));
    } while (seen != old);
}
#elif defined(READS)
// Each round reads memory again.
K ENTRY(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    volatile int *a = (volatile int *)y;
    int old, found;
    do {
        old = *a;
        found = atomicCAS((int *)y, old, __float_as_int(__int_as_float(old) + x[i]));
    } while (found != old);
}
#elif defined(PRODUCT)
// A product is added, which the compiler contracts.
K ENTRY(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned *a = (unsigned *)y, old = *a, seen;
    do {
        seen = old;
        old = atomicCAS(a, seen, __float_as_uint(__uint_as_float(seen) + x[i] * 3.0f));
    } while (seen != old);
}
#elif defined(DOUBLE)
__device__ double add(double *at, double v) {
    unsigned long long *a = (unsigned long long *)at, old = *a, seen;
    do {
        seen = old;
        old = atomicCAS(a, seen, __double_as_longlong(v + __longlong_as_double(seen)));
    } while (seen != old);
    return __longlong_as_double(old);
}
K ENTRY(const double *x, double *y) { add(y, x[blockIdx.x * blockDim.x + threadIdx.x]); }
#elif defined(HALVES)
K ENTRY(const __half2 *x, __half2 *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned *a = (unsigned *)y, old = *a, seen;
    do {
        seen = old;
        __half2 sum = __hadd2(*reinterpret_cast<__half2 *>(&seen), x[i]);
        old = atomicCAS(a, seen, *reinterpret_cast<unsigned *>(&sum));
    } while (seen != old);
}
#elif defined(BREAKS)
// The other way to write the end.
K ENTRY(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int *a = (int *)y;
    float v = x[i];
    int old = *a;
    while (true) {
        int found = atomicCAS(a, old, __float_as_int(__int_as_float(old) + v));
        if (found == old) break;
        old = found;
    }
}
#elif defined(MAX)
K ENTRY(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int *a = (int *)y, old = *a, seen;
    do {
        seen = old;
        old = atomicCAS(a, seen, __float_as_int(fmaxf(x[i], __int_as_float(seen))));
    } while (seen != old);
}
#elif defined(SHARED)
// In shared memory, and the sum is written once.
K ENTRY(const float *x, float *y) {
    __shared__ unsigned sum;
    int t = threadIdx.x;
    if (t == 0) sum = 0;
    __syncthreads();
    unsigned old = sum, seen;
    do {
        seen = old;
        old = atomicCAS(&sum, seen, __float_as_uint(__uint_as_float(seen) + x[t]));
    } while (seen != old);
    __syncthreads();
    if (t == 0) y[0] += __uint_as_float(sum);
}
#elif defined(LIBRARY)
K ENTRY(const float *x, float *y) {
    cuda::atomic_ref<float, cuda::thread_scope_device> a(*y);
    float v = x[blockIdx.x * blockDim.x + threadIdx.x], old = a.load(cuda::memory_order_relaxed);
    while (!a.compare_exchange_weak(old, old + v, cuda::memory_order_relaxed)) {}
}
// Wrong ones.
#elif defined(ONCE)
// It does not try again.
K ENTRY(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned *a = (unsigned *)y, old = *a;
    atomicCAS(a, old, __float_as_uint(__uint_as_float(old) + x[i]));
}
#elif defined(NARROW)
// For the other CTAs it is not atomic.
K ENTRY(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned *a = (unsigned *)y, old = *a, seen;
    do {
        seen = old;
        old = atomicCAS_block(a, seen, __float_as_uint(__uint_as_float(seen) + x[i]));
    } while (seen != old);
}
#endif
