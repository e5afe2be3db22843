// The gradients of the weights of a layer normalisation, one thread for each of 32 columns.
//
//     dgamma[c] = sum over rows r of dy[r][c] * (x[r][c] - mean[r]) * rstd[r],   dbeta[c] = sum over rows of dy[r][c]

const int columns = 32, rows = 8;

extern "C" __global__ void ENTRY(const float *dy, const float *x, const float *mean, const float *rstd, float *dgamma,
                                 float *dbeta)
{
    int c = threadIdx.x;
    float g = 0.0f, b = 0.0f;
    for (int r = 0; r < rows; ++r) {
        g += dy[r * columns + c] * rstd[r] * (x[r * columns + c] - mean[r]);
        b += dy[r * columns + c];
    }
    dgamma[c] = g;
    dbeta[c] = b;
}
