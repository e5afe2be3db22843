// Attention by one thread, straight from the definition:
//
//     o[i] = sum over visible j of exp(s[i][j]) * v[j] / sum over visible j of exp(s[i][j]),   s[i][j] = q[i] . k[j] * scale
//
// with QUERIES queries, KEYS keys and DIM values each.  Visibility: see masks.cuh.
// A CTA is one head.  With GROUPS, that many query heads share the keys and values of head h / GROUPS.

#include "masks.cuh"

#ifndef GROUPS
#define GROUPS 1
#endif

extern "C" __global__ void ENTRY(const float *q, const float *k, const float *v, float *o, float scale, int length)
{
    if (threadIdx.x != 0)
        return;
    int h = blockIdx.x;
    k += h / GROUPS * KEYS * DIM;
    v += h / GROUPS * KEYS * DIM;
    for (int i = 0; i < QUERIES; ++i) {
        const float *qi = q + (h * QUERIES + i) * DIM;
        float sum = 0.0f, result[DIM] = {0.0f};
#pragma unroll 1
        for (int j = 0; j < KEYS; ++j) {
            if (!visible(i, j, length))
                continue;
            float s = 0.0f;
            for (int d = 0; d < DIM; ++d)
                s += qi[d] * k[j * DIM + d];
            float e = expf(s * scale);
            sum += e;
            for (int d = 0; d < DIM; ++d)
                result[d] += e * v[j * DIM + d];
        }
        for (int d = 0; d < DIM; ++d)
            o[(h * QUERIES + i) * DIM + d] = result[d] / sum;
    }
}
