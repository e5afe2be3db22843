// y = 2 x + 1 in tiles of 64. A CTA that is done with its tile cancels the launch of another CTA and does that one's, until
// a request fails.
//
// The first CTA that is cancelled is asked for whether or not there is one, as compilers do.
#include "tensor.cuh"

extern "C" __global__ void __launch_bounds__(64) ENTRY(const float *x, float *y) {
    __shared__ alignas(16) uint64_t answer[2];
    __shared__ alignas(8) uint64_t full;
    int t = threadIdx.x, tile = blockIdx.x;
    if (t == 0) {
        init(&full, 1);
        fence_async();
    }
    __syncthreads();
    for (uint32_t parity = 0;; parity ^= 1) {
        if (t == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 16;" ::"r"(shared(&full)) : "memory");
            asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(
                             shared(answer)),
                         "r"(shared(&full))
                         : "memory");
        }
        y[tile * 64 + t] = 2 * x[tile * 64 + t] + 1;
#ifndef NO_WAIT
        wait(&full, parity);
#else
        __syncthreads();
#endif
        uint32_t cancelled, next;
        asm volatile(
            "{\n .reg .pred p;\n .reg .b128 r;\n .reg .b64 lo, hi;\n ld.shared.v2.b64 {lo, hi}, [%2];\n"
            " mov.b128 r, {lo, hi};\n clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, r;\n"
            " selp.u32 %0, 1, 0, p;\n"
            " clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %1, r;\n}"
            : "=r"(cancelled), "=r"(next)
            : "r"(shared(answer))
            : "memory");
#ifdef ALWAYS
        if (tile == 2) break;
#else
        if (!cancelled) break;
#endif
#ifndef SAME
        tile = next;
#endif
        fence_async();
#ifndef NO_BARRIER
        __syncthreads();
#endif
    }
}
