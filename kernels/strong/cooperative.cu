// Barriers of cooperative launches, as the library of the toolkit makes them.

#include <cooperative_groups.h>

#define K extern "C" __global__ void

#if defined(ONE)
// The barrier of a cooperative launch.
K ENTRY(const float *x, float *part, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    part[i] = x[i] * x[i];
    cooperative_groups::this_grid().sync();
    y[i] = part[(i + 37) % n];
}
#elif defined(TWICE)
K ENTRY(const float *x, float *part, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    part[i] = x[i] * x[i];
    cooperative_groups::this_grid().sync();
    float v = part[(i + 37) % n];
    cooperative_groups::this_grid().sync();
    part[i] = v + 1.0f;
    cooperative_groups::this_grid().sync();
    y[i] = part[(i + 11) % n];
}
#elif defined(MISSING)
// The second barrier is missing: what others still read is written.
K ENTRY(const float *x, float *part, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    part[i] = x[i] * x[i];
    cooperative_groups::this_grid().sync();
    float v = part[(i + 37) % n];
    part[i] = v + 1.0f;
    cooperative_groups::this_grid().sync();
    y[i] = part[(i + 11) % n];
}
#elif defined(SOME)
// One CTA does not come.
K ENTRY(const float *x, float *part, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    part[i] = x[i] * x[i];
    if (blockIdx.x == 1) return;
    cooperative_groups::this_grid().sync();
    y[i] = part[(i + 37) % n];
}
#endif
