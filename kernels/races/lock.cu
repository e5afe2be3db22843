// Two warps add to a counter under a lock. Sections that add commute, so any order is as good;
// without the fences the counter is not protected at all.
extern "C" __global__ void ENTRY(int* lock, int* counter) {
    if (threadIdx.x == 0) *lock = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
#ifndef MUTANT_NO_FENCES
        __threadfence();
#endif
        counter[0] = counter[0] + 1;
#ifndef MUTANT_NO_FENCES
        __threadfence();
#endif
        atomicExch(lock, 0);
    }
}
