// The median of a window of 3 by 3 numbers, as image filters take it: by sorting all nine, or from sorted columns.
#include "selection.cuh"
extern "C" __global__ void ENTRY(const float* in, float* out) {
    float v[9];
#pragma unroll
    for (int i = 0; i < 9; i++) v[i] = in[(threadIdx.x + i / 3) * 10 + i % 3];
#ifdef SORTED
    insertion<9>(v);
    out[threadIdx.x] = v[4];
#else
#pragma unroll
    for (int c = 0; c < 9; c += 3) {
        order(v[c + 1], v[c + 2]);
        order(v[c], v[c + 1]);
        order(v[c + 1], v[c + 2]);
    }
    float low = fmaxf(fmaxf(v[0], v[3]), v[6]), high = fminf(fminf(v[2], v[5]), v[8]);
#ifdef MUTANT_WRONG_COLUMN
    float middle = fmaxf(fminf(v[1], v[4]), fminf(fmaxf(v[1], v[4]), v[8]));
#else
    float middle = fmaxf(fminf(v[1], v[4]), fminf(fmaxf(v[1], v[4]), v[7]));
#endif
    out[threadIdx.x] = fmaxf(fminf(low, middle), fminf(fmaxf(low, middle), high));
#endif
}
