// The maximum of a row of 128 by comparisons, from the lowest number of the format on.
#include <cfloat>

#ifdef MUTANT_FIRST
#define FIRST -1e38f
#else
#define FIRST -FLT_MAX
#endif

extern "C" __global__ void ENTRY(const float *x, float *y) {
    int row = threadIdx.x;
    float m = FIRST;
    for (int k = 0; k < 128; ++k) {
        float v = x[row * 128 + k];
        if (v > m) m = v;
    }
    y[row] = m;
}
