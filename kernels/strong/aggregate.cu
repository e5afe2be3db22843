// Lanes that count together: one adds for all that are converged. And queues: places by counting, of which only the set matters.
#include <cooperative_groups.h>
namespace groups = cooperative_groups;

#if defined(COUNT)
// How many elements are positive.
extern "C" __global__ void ENTRY(const int *x, int *count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || x[i] <= 0) return;
#if WAY == 0
    atomicAdd(count, 1);
#elif WAY == 1
    auto group = groups::coalesced_threads();
    if (group.thread_rank() == 0) atomicAdd(count, group.size());
#elif WAY == 2
    // The place of each is computed, and forgotten.
    auto group = groups::coalesced_threads();
    int place;
    if (group.thread_rank() == 0) place = atomicAdd(count, group.size());
    place = group.shfl(place, 0) + group.thread_rank();
#elif WAY == 3
    unsigned mask = __activemask();
    if (threadIdx.x % 32 == __ffs(mask) - 1) atomicAdd(count, __popc(mask));
#elif WAY == 4
    // The leader is lane 0, which need not be there.
    unsigned mask = __activemask();
    if (threadIdx.x % 32 == 0) atomicAdd(count, __popc(mask));
#elif WAY == 5
    // Each group adds one too few.
    auto group = groups::coalesced_threads();
    if (group.thread_rank() == 0) atomicAdd(count, group.size() - 1);
#elif WAY == 6
    // Right only if all lanes are converged: each group stores its size.
    auto group = groups::coalesced_threads();
    if (group.thread_rank() == 0) atomicMax(count, (int)group.size());
#endif
}
#elif defined(SUM)
// The sum of all elements.
extern "C" __global__ void ENTRY(const int *x, int *sum) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, v = x[i];
#if WAY == 0
    atomicAdd(sum, v);
#elif WAY == 1
    for (int by = 16; by > 0; by /= 2) v += __shfl_down_sync(0xffffffff, v, by);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, v);
#elif WAY == 2
    // The mask says which lanes are here, not that all are.
    for (int by = 16; by > 0; by /= 2) v += __shfl_down_sync(__activemask(), v, by);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, v);
#endif
}
#elif defined(HISTOGRAM)
extern "C" __global__ void ENTRY(const int *x, int *bins) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, bin = x[i];
#if WAY == 0
    atomicAdd(&bins[bin], 1);
#elif WAY == 1
    unsigned same = __match_any_sync(__activemask(), bin);
    if (threadIdx.x % 32 == __ffs(same) - 1) atomicAdd(&bins[bin], __popc(same));
#elif WAY == 2
    auto group = groups::labeled_partition(groups::coalesced_threads(), bin);
    if (group.thread_rank() == 0) atomicAdd(&bins[bin], group.size());
#elif WAY == 3
    unsigned same = __match_any_sync(__activemask(), bin);
    if (threadIdx.x % 32 == 31 - __clz(same)) atomicAdd(&bins[bin], __popc(same & ~1));
#endif
}
#elif defined(QUEUE)
// Threads put their elements where they come; one adds up what is there.
extern "C" __global__ void ENTRY(const float *x, float *queue, int *tail, float *sum) {
    int t = threadIdx.x;
#if WAY == 1
    queue[atomicAdd(tail, 1)] = x[t];
#elif WAY == 2
    // Two of them may come to one place.
    queue[atomicAdd(tail, 1) / 2] = x[t];
#elif WAY == 3
    queue[atomicAdd(tail, 1)] = x[t];
#else
    queue[t] = x[t];
#endif
    __syncthreads();
    if (t == 0) {
        float s = 0;
#if WAY == 3
        // The order matters.
        for (int k = 0; k < blockDim.x; k++) s += k * queue[k];
#else
        for (int k = 0; k < blockDim.x; k++) s += queue[k];
#endif
        *sum = s;
    }
}
#endif
