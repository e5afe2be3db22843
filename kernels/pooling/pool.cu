// Pooling of 8 x 8 values to 4 x 4 by windows of 2 x 2.
//
// AVERAGE: y[r][c] = sum of the window / 4.   Else: y[r][c] = the maximum of the window.
//
// FIRST=V: the result starts at V: at the lowest number of f32 it is that of the window; an f32 may be below
// the lowest number of f16.
//
// PLAIN: 16 threads, one for each output.  Else: 32 threads combine the rows of each window first, and pass the
// result through shared memory.

const int size = 8, out_size = 4;

#ifdef AVERAGE
#define COMBINE(A, B) ((A) + (B))
#define FINISH(A) ((A) / 4.0f)
#else
#define COMBINE(A, B) fmaxf(A, B)
#define FINISH(A) (A)
#endif

extern "C" __global__ void ENTRY(const float *x, float *y)
{
    int tid = threadIdx.x;
#ifdef PLAIN
    const float *w = x + tid / out_size * 2 * size + tid % out_size * 2;
#ifdef FIRST
    float result = COMBINE(FIRST, w[0]);
#else
    float result = w[0];
#endif
    result = COMBINE(result, w[1]);
    result = COMBINE(result, w[size]);
#ifndef MUTANT_DROPPED_ELEMENT
    result = COMBINE(result, w[size + 1]);
#endif
    y[tid] = FINISH(result);
#else
    __shared__ float pairs[size][out_size];
    int r = tid / out_size, c = tid % out_size;
    float2 v = reinterpret_cast<const float2 *>(x)[tid];
    pairs[r][c] = COMBINE(v.x, v.y);
    __syncthreads();
#ifdef MUTANT_OVERLAP
    if (r < out_size)
        y[tid] = FINISH(COMBINE(pairs[r][c], pairs[r + 1][c]));
#else
    if (r < out_size)
        y[tid] = FINISH(COMBINE(pairs[2 * r][c], pairs[2 * r + 1][c]));
#endif
#endif
}
