// C = A * B, 8 x 8 tiles, depth 16, staged through shared memory; the result leaves through shared memory too.
//
// There are three barriers: before the staged tiles are used, before they are overwritten (by the next tiles, and at
// the end by the result), and before the result is read back.  MISSING=1, 2 or 3 leaves one of them out.

#ifndef MISSING
#define MISSING 0
#endif
#define BARRIER(I)                                                                                                     \
    if (MISSING != I)                                                                                                  \
    __syncthreads()

const int tile = 8, depth = 16;

extern "C" __global__ void ENTRY(const float *A, const float *B, float *C)
{
    __shared__ float s[2 * tile * tile];
    float *a = s, *b = s + tile * tile;
    int x = threadIdx.x, y = threadIdx.y;

    float sum = 0.0f;
    for (int k0 = 0; k0 < depth; k0 += tile) {
        a[y * tile + x] = A[y * depth + k0 + x];
        b[y * tile + x] = B[(k0 + y) * tile + x];
        BARRIER(1);
        for (int k = 0; k < tile; ++k)
            sum += a[y * tile + k] * b[k * tile + x];
        BARRIER(2);
    }

    // A thread does not write the element that it computed, but the one on the other side of the diagonal.
    s[y * tile + x] = sum;
    BARRIER(3);
    C[x * tile + y] = s[x * tile + y];
}
