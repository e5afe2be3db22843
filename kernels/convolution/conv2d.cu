// Two-dimensional convolution of 2 input channels of 6 x 6 values with 3 x 3 weights to 2 output channels of 4 x 4:
//
//     y[o][r][c] = sum over channels i and 0 <= a, b < 3 of x[i][r + a][c + b] * w[o][i][a][b]
//
// METHOD 1, direct: 32 threads, one for each output.
// METHOD 2, im2col: the 18 values under each of the 16 places become a column of a matrix in shared memory, which is
//           then multiplied by the weights as a 2 x 18 matrix.  32 threads.
// METHOD 3, Winograd F(2x2, 3x3): 8 threads, one for each 2 x 2 outputs of a channel; y = A' ((G w G') * (B' x B)) A.

const int size = 6, out_size = 4, channels = 2;

#if METHOD == 3
// The rows of B', G and A' of Winograd's minimal filtering for two outputs and three weights.
__device__ __forceinline__ void transform_input(float &a, float &b, float &c, float &d)
{
    float p = a - c, q = b + c, r = c - b, s = b - d;
    a = p, b = q, c = r, d = s;
}
__device__ __forceinline__ void transform_weights(float a, float b, float c, float *out, int stride)
{
    out[0] = a;
#ifdef MUTANT_WRONG_COEFFICIENT
    out[stride] = 0.5f * (a + b) + c;
#else
    out[stride] = 0.5f * (a + b + c);
#endif
    out[2 * stride] = 0.5f * (a - b + c);
    out[3 * stride] = c;
}
#endif

extern "C" __global__ void ENTRY(const float *x, const float *w, float *y)
{
    int tid = threadIdx.x;
#if METHOD == 1
    int o = tid / 16, r = tid / 4 % 4, c = tid % 4;
    float sum = 0.0f;
    for (int i = 0; i < channels; ++i)
        for (int a = 0; a < 3; ++a)
            for (int b = 0; b < 3; ++b)
                sum += x[(i * size + r + a) * size + c + b] * w[((o * channels + i) * 3 + a) * 3 + b];
    y[tid] = sum;
#elif METHOD == 2
    __shared__ float columns[channels * 9][out_size * out_size];
    for (int e = tid; e < channels * 9 * out_size * out_size; e += 32) {
        int row = e / 16, place = e % 16;
        int i = row / 9, a = row / 3 % 3, b = row % 3;
#ifdef MUTANT_TRANSPOSED
        columns[row][place] = x[(i * size + place / 4 + b) * size + place % 4 + a];
#else
        columns[row][place] = x[(i * size + place / 4 + a) * size + place % 4 + b];
#endif
    }
#ifndef MUTANT_NO_BARRIER
    __syncthreads();
#endif
    int o = tid / 16, place = tid % 16;
    float sum = 0.0f;
    for (int row = 0; row < channels * 9; ++row)
        sum += w[o * channels * 9 + row] * columns[row][place];
    y[tid] = sum;
#else
    int o = tid / 4, r = tid / 2 % 2 * 2, c = tid % 2 * 2;
    float m[4][4] = {{0.0f}};
    for (int i = 0; i < channels; ++i) {
        float u[4][4], half[4][3], t[4][4];
        const float *weights = w + (o * channels + i) * 9;
        for (int b = 0; b < 3; ++b)
            transform_weights(weights[b], weights[3 + b], weights[6 + b], &half[0][b], 3);
        for (int a = 0; a < 4; ++a)
            transform_weights(half[a][0], half[a][1], half[a][2], u[a], 1);
        for (int a = 0; a < 4; ++a)
            for (int b = 0; b < 4; ++b)
                t[a][b] = x[(i * size + r + a) * size + c + b];
        for (int b = 0; b < 4; ++b)
            transform_input(t[0][b], t[1][b], t[2][b], t[3][b]);
        for (int a = 0; a < 4; ++a)
            transform_input(t[a][0], t[a][1], t[a][2], t[a][3]);
        for (int a = 0; a < 4; ++a)
            for (int b = 0; b < 4; ++b)
                m[a][b] += u[a][b] * t[a][b];
    }
    float half[2][4];
    for (int b = 0; b < 4; ++b) {
        half[0][b] = m[0][b] + m[1][b] + m[2][b];
        half[1][b] = m[1][b] - m[2][b] - m[3][b];
    }
    for (int a = 0; a < 2; ++a) {
        y[(o * out_size + r + a) * out_size + c] = half[a][0] + half[a][1] + half[a][2];
        y[(o * out_size + r + a) * out_size + c + 1] = half[a][1] - half[a][2] - half[a][3];
    }
#endif
}
