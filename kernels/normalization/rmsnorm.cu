// Root mean square normalisation of a row of 64 values: y[i] = x[i] / sqrt(sum over j of x[j]^2 / 64 + eps) * gamma[i].
//
// PLAIN: 64 threads, each sums the squares itself and divides by a square root.
// Else: 32 threads with two values each, read and written as a pair; the sum goes through shuffles.

const int n = 64;

extern "C" __global__ void ENTRY(const float *x, const float *gamma, float *y)
{
#ifdef PLAIN
    int i = threadIdx.x;
    float square = 0.0f;
    for (int j = 0; j < n; ++j)
        square += x[j] * x[j];
#ifdef MUTANT_NO_MEAN
    y[i] = x[i] / sqrtf(square + 1e-6f) * gamma[i];
#else
    y[i] = x[i] / sqrtf(square / n + 1e-6f) * gamma[i];
#endif
#else
    int lane = threadIdx.x;
    float2 v = reinterpret_cast<const float2 *>(x)[lane];
    float2 g = reinterpret_cast<const float2 *>(gamma)[lane];
    float square = v.x * v.x + v.y * v.y;
    for (int d = 16; d > 0; d /= 2)
        square += __shfl_xor_sync(0xffffffffu, square, d);
    float scale = rsqrtf(square * (1.0f / n) + 1e-6f);
#ifdef MUTANT_SWAPPED
    v = make_float2(v.y * scale * g.x, v.x * scale * g.y);
#else
    v = make_float2(v.x * scale * g.x, v.y * scale * g.y);
#endif
    reinterpret_cast<float2 *>(y)[lane] = v;
#endif
}
