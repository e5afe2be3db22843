// The gradients of the weights of a layer normalisation: for each of 32 columns, sums over the rows.
//
//     dgamma[c] = sum over rows r of dy[r][c] * (x[r][c] - mean[r]) * rstd[r],   dbeta[c] = sum over rows of dy[r][c]
//
// Each of four warps sums every fourth row, the first warp then adds what the warps have.
// MUTANT_NO_BARRIER: it does not wait for them.

const int columns = 32, rows = 8, warps = 4;

extern "C" __global__ void ENTRY(const float *dy, const float *x, const float *mean, const float *rstd, float *dgamma,
                                 float *dbeta)
{
    __shared__ float partial[2][warps][columns];
    int c = threadIdx.x % 32, warp = threadIdx.x / 32;

    float g = 0.0f, b = 0.0f;
    for (int r = warp; r < rows; r += warps) {
        float d = dy[r * columns + c];
        g += d * (x[r * columns + c] - mean[r]) * rstd[r];
        b += d;
    }
    partial[0][warp][c] = g;
    partial[1][warp][c] = b;
#ifndef MUTANT_NO_BARRIER
    __syncthreads();
#endif

    if (warp == 0) {
        g = b = 0.0f;
        for (int w = 0; w < warps; ++w) {
            g += partial[0][w][c];
            b += partial[1][w][c];
        }
        dgamma[c] = g;
        dbeta[c] = b;
    }
}
