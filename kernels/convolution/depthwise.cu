// Depthwise convolution of 2 channels of 6 x 6 values with 3 x 3 weights, padded with zeros to keep the size:
//
//     y[i][r][c] = sum over 0 <= a, b < 3 of x[i][r + a - 1][c + b - 1] * w[i][a][b],   x is 0 outside
//
// PLAIN: 72 threads, one for each output, that skip what is outside.
// Else:  a padded copy of the channels in shared memory, 36 threads, two outputs each.

const int size = 6, channels = 2, padded = size + 2;

extern "C" __global__ void ENTRY(const float *x, const float *w, float *y)
{
    int tid = threadIdx.x;
#ifdef PLAIN
    int i = tid / (size * size), r = tid / size % size, c = tid % size;
    float sum = 0.0f;
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) {
            int rr = r + a - 1, cc = c + b - 1;
            if (rr >= 0 && rr < size && cc >= 0 && cc < size)
                sum += x[(i * size + rr) * size + cc] * w[i * 9 + a * 3 + b];
        }
    y[tid] = sum;
#else
    __shared__ float s[channels][padded][padded];
    for (int e = tid; e < channels * padded * padded; e += size * size) {
        int i = e / (padded * padded), r = e / padded % padded - 1, c = e % padded - 1;
        bool inside = r >= 0 && r < size && c >= 0 && c < size;
        s[i][r + 1][c + 1] = inside ? x[(i * size + r) * size + c] : 0.0f;
    }
    __syncthreads();
    int r = tid / size, c = tid % size;
    for (int i = 0; i < channels; ++i) {
        float sum = 0.0f;
#pragma unroll
        for (int a = 0; a < 3; ++a)
#pragma unroll
            for (int b = 0; b < 3; ++b)
#ifdef MUTANT_SHARED_WEIGHTS
                sum += s[i][r + a][c + b] * w[a * 3 + b];
#else
                sum += s[i][r + a][c + b] * w[i * 9 + a * 3 + b];
#endif
        y[(i * size + r) * size + c] = sum;
    }
#endif
}
