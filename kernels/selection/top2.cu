// The two largest of 16 numbers: a loop with two running values, or pairs that lanes merge.
#include "selection.cuh"
extern "C" __global__ void ENTRY(const float* in, float* out) {
    const float none = -__int_as_float(0x7f800000);
#ifdef LOOP
    float first = none, second = none;
    for (int i = 0; i < 16; i++) {
        float v = in[i];
        if (v > first) {
            second = first;
            first = v;
        } else if (v > second) {
            second = v;
        }
    }
    out[0] = first;
    out[1] = second;
#else
    float first = in[threadIdx.x & 15], second = none;
    for (int step = 8; step > 0; step /= 2) {
        float a = __shfl_xor_sync(WARP, first, step), b = __shfl_xor_sync(WARP, second, step);
#ifdef MUTANT_FORGETS_THE_LOSER
        second = fmaxf(second, b);
#else
        second = fmaxf(fminf(first, a), fmaxf(second, b));
#endif
        first = fmaxf(first, a);
    }
    if (threadIdx.x == 0) {
        out[0] = first;
        out[1] = second;
    }
#endif
}
