// A bulk copy reads global memory that the threads of the CTA have written: through another proxy, so that a barrier
// alone does not show it what they wrote.
__device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

extern "C" __global__ void ENTRY(const float *x, float *y, float *z) {
    __shared__ __align__(16) float s[128];
    __shared__ __align__(8) unsigned long long full;
    int t = threadIdx.x;
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(&full)) : "memory");
#ifndef MUTANT_NO_INIT_FENCE
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
    }
    y[t] = 2.0f * x[t];
#if defined(LATE_FENCE)
#elif defined(GLOBAL_FENCE)
    asm volatile("fence.proxy.async.global;" ::: "memory");
#elif defined(MUTANT_SHARED_FENCE)
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#elif !defined(MUTANT_NO_FENCE)
    asm volatile("fence.proxy.async;" ::: "memory");
#endif
    __syncthreads();
    if (t == 0) {
#ifdef LATE_FENCE
        asm volatile("fence.proxy.async;" ::: "memory");
#endif
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 512;" ::"r"(shared_address(&full)) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];" ::"r"(
                         shared_address(s)), "l"(__cvta_generic_to_global(y)), "r"(shared_address(&full))
                     : "memory");
    }
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "WAIT:\n"
        "mbarrier.try_wait.parity.shared.b64 done, [%0], 0;\n"
        "@!done bra WAIT;\n"
        "}" ::"r"(shared_address(&full))
        : "memory");
    z[t] = s[t];
}
