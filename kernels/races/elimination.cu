// Elimination in place, a thread for each element of a 4 by 4 matrix, with pivots that are never zero.
//
// MUTANT_NO_BARRIER: a row is changed while others still read what it was.
// MUTANT_NO_STEP_BARRIER: the next step starts while this one is under way.

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float a[4][4];
    int column = threadIdx.x, row = threadIdx.y;
    a[row][column] = in[row * 4 + column];
    __syncthreads();
    for (int p = 0; p < 3; ++p) {
        float factor = a[row][p] / (a[p][p] * a[p][p] + 1.0f), top = a[p][column];
#ifndef MUTANT_NO_BARRIER
        __syncthreads();
#endif
        if (row > p)
            a[row][column] -= factor * top;
#ifndef MUTANT_NO_STEP_BARRIER
        __syncthreads();
#endif
    }
    out[row * 4 + column] = a[row][column];
}
