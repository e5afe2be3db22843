// Layer normalization of one row of N values by one warp, y = (x - mean) / sqrt(variance + 1e-5) * g + b.
//
// PLAIN: every lane sums the row. Else lane l takes the values l, l + 32, ... and lanes are joined by shuffles; MOMENTS takes the sum and
// the sum of squares in one pass, VECTOR loads four values at a time, WELFORD updates mean and squares with each value,
// and WELFORD_LANES does so in each lane and joins the lanes after Chan, Golub and LeVeque.

constexpr float epsilon = 1e-5f;

__device__ __forceinline__ float total(float v)
{
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    return v;
}

extern "C" __global__ void ENTRY(const float *x, const float *g, const float *b, float *y)
{
    float mean, squares;
#if defined(PLAIN)
    float sum = 0.0f;
    for (int i = 0; i < N; i++) sum += x[i];
    mean = sum / N;
    squares = 0.0f;
    for (int i = 0; i < N; i++) squares += (x[i] - mean) * (x[i] - mean);
#elif defined(MOMENTS)
    float sum = 0.0f, square = 0.0f;
    for (int i = threadIdx.x; i < N; i += 32) {
        sum += x[i];
        square += x[i] * x[i];
    }
    mean = total(sum) / N;
    squares = total(square) - N * mean * mean;
#elif defined(VECTOR)
    const float4 *four = (const float4 *)x;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < N / 4; i += 32) {
        float4 v = four[i];
        sum += v.x + v.y + v.z + v.w;
    }
    mean = total(sum) * (1.0f / N);
    squares = 0.0f;
    for (int i = threadIdx.x; i < N / 4; i += 32) {
        float4 v = four[i];
        v.x -= mean, v.y -= mean, v.z -= mean, v.w -= mean;
        squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    squares = total(squares);
#elif defined(WELFORD)
    mean = 0.0f;
    squares = 0.0f;
    for (int i = 0; i < N; i++) {
        float d = x[i] - mean;
        mean += d / (i + 1);
#ifdef MUTANT_STALE_MEAN
        squares += d * d;
#else
        squares += d * (x[i] - mean);
#endif
    }
#else
    float count = 0.0f;
    mean = 0.0f;
    squares = 0.0f;
    for (int i = threadIdx.x; i < N; i += 32) {
        count += 1.0f;
        float d = x[i] - mean;
        mean += d / count;
        squares += d * (x[i] - mean);
    }
    for (int o = 16; o; o >>= 1) {
        float other = __shfl_xor_sync(~0u, mean, o), more = __shfl_xor_sync(~0u, squares, o);
        float n = __shfl_xor_sync(~0u, count, o), d = other - mean;
        mean += d * n / (count + n);
        squares += more + d * d * count * n / (count + n);
        count += n;
    }
#endif
#ifdef MUTANT_UNBIASED
    float r = rsqrtf(squares / (N - 1) + epsilon);
#else
    float r = rsqrtf(squares / N + epsilon);
#endif
    for (int i = threadIdx.x; i < N; i += 32) y[i] = (x[i] - mean) * r * g[i] + b[i];
}
