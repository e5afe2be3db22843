// The index of the largest of 32 numbers, the first of equal ones: a loop, or a tree of exchanges between the lanes of a warp,
// where the tree has to look at the indices as well.
#include "selection.cuh"
extern "C" __global__ void ENTRY(const float* in, int* out) {
#ifdef LOOP
    float best = in[0];
    int index = 0;
    for (int i = 1; i < 32; i++)
        if (in[i] > best) {
            best = in[i];
            index = i;
        }
    out[0] = index;
#else
    int index = threadIdx.x;
    float best = in[index];
    for (int step = 16; step > 0; step /= 2) {
        float other = __shfl_xor_sync(WARP, best, step);
        int there = __shfl_xor_sync(WARP, index, step);
#ifdef MUTANT_LAST_OF_EQUALS
        if (other > best || (other == best && there > index)) {
#else
        if (other > best || (other == best && there < index)) {
#endif
            best = other;
            index = there;
        }
    }
    if (threadIdx.x == 0) out[0] = index;
#endif
}
