// The position of each value in a stable sort into buckets 0, 1, 2: for each bucket in turn, the threads publish
// whether their value belongs to it, then count the flags before theirs.
//
//     position[i] = (number of j with bucket[j] < bucket[i]) + (number of j < i with bucket[j] == bucket[i])
//
// MUTANT_EARLY_REWRITE: the flags of the next bucket overwrite flags that other threads still count.

const int n = 32 * 2, buckets = 3;

extern "C" __global__ void ENTRY(const int *bucket, int *position)
{
    __shared__ int flags[n];
    int i = threadIdx.x;
    int mine = bucket[i];

    int result = 0;
    for (int b = 0; b < buckets; ++b) {
        int member = mine == b;
        flags[i] = member;
        __syncthreads();
        int before = 0, total = 0;
#pragma unroll 4
        for (int j = 0; j < n; ++j) {
            total += flags[j];
            before += j < i ? flags[j] : 0;
        }
        result += member * before + (mine > b) * total;
#ifndef MUTANT_EARLY_REWRITE
        __syncthreads();
#endif
    }
    position[i] = result;
}
