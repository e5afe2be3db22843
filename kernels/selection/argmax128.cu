// The index of the largest of 128 numbers, the first of equal ones: a loop; four warps, each with a tree of exchanges, whose
// winners meet in shared memory; or one warp that goes over four rows of 32.
#define WARP 0xffffffffu
__device__ void keep(float& best, int& index, float other, int there) {
#ifdef MUTANT_FORGETS_TIES
    if (other > best) {
#else
    if (other > best || (other == best && there < index)) {
#endif
        best = other;
        index = there;
    }
}
__device__ void within_warp(float& best, int& index) {
    for (int step = 16; step > 0; step /= 2) {
        float other = __shfl_xor_sync(WARP, best, step);
        int there = __shfl_xor_sync(WARP, index, step);
        keep(best, index, other, there);
    }
}
extern "C" __global__ void ENTRY(const float* in, int* out) {
    int t = threadIdx.x;
#if defined(LOOP)
    float best = in[0];
    int index = 0;
    for (int i = 1; i < 128; i++)
        if (in[i] > best) {
            best = in[i];
            index = i;
        }
    out[0] = index;
#elif defined(ROWS)
    float best = in[t];
    int index = t;
    for (int row = 1; row < 4; row++) keep(best, index, in[t + 32 * row], t + 32 * row);
    within_warp(best, index);
    if (t == 0) out[0] = index;
#else
    __shared__ float bests[4];
    __shared__ int indices[4];
    float best = in[t];
    int index = t;
    within_warp(best, index);
    if (t % 32 == 0) {
        bests[t / 32] = best;
        indices[t / 32] = index;
    }
    __syncthreads();
    if (t == 0) {
        for (int warp = 1; warp < 4; warp++) keep(best, index, bests[warp], indices[warp]);
        out[0] = index;
    }
#endif
}
