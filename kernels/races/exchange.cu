// A long chain of double arithmetic in each thread, and after each step a value of a thread further on: many outputs
// above one large expression, none of which decides who accesses what.
//
// MUTANT_NO_BARRIER: the next step overwrites values that others have not read yet.

extern "C" __global__ void ENTRY(const double *x, double *y, double b, int steps)
{
    __shared__ double s[512];
    int t = threadIdx.x, n = blockDim.x;
    double v = x[t], w = b;
    for (int k = 0; k < steps; ++k) {
#pragma unroll
        for (int j = 0; j < 48; ++j) {
            v = v * (b + j) + b;
            w = w * v - (b + j);
            v = v / (1.0 + w * w);
        }
        s[t] = v;
        __syncthreads();
        v += s[(t + 37) % n];
#ifndef MUTANT_NO_BARRIER
        __syncthreads();
#endif
    }
    y[t] = v + w;
}
