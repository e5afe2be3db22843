// The discrete Fourier transform of 8 complex values:
//
//     Y[k] = sum over j of x[j] * exp(-2 pi i j k / 8),   real and imaginary parts stored as pairs
//
// PLAIN: 8 threads, one for each k, with the eighth roots of unity from a table.
// Else:  one thread, three rounds of butterflies on values in bit-reversed order.

const float h = 0.70710678118654752440f;

#ifdef PLAIN
__constant__ float cosines[8] = {1.0f, h, 0.0f, -h, -1.0f, -h, 0.0f, h};

extern "C" __global__ void ENTRY(const float *x, float *y)
{
    int k = threadIdx.x;
    float re = 0.0f, im = 0.0f;
    for (int j = 0; j < 8; ++j) {
        float c = cosines[j * k % 8], s = -cosines[(j * k + 6) % 8];
        re += x[2 * j] * c - x[2 * j + 1] * s;
        im += x[2 * j] * s + x[2 * j + 1] * c;
    }
    y[2 * k] = re;
    y[2 * k + 1] = im;
}
#else
// (a, b) becomes (a + b * w, a - b * w) for complex a, b and w.
__device__ __forceinline__ void butterfly(float2 &a, float2 &b, float wr, float wi)
{
    float re = b.x * wr - b.y * wi, im = b.x * wi + b.y * wr;
    b = make_float2(a.x - re, a.y - im);
    a = make_float2(a.x + re, a.y + im);
}

extern "C" __global__ void ENTRY(const float *x, float *y)
{
    const int reversed[8] = {0, 4, 2, 6, 1, 5, 3, 7};
    float2 v[8];
#pragma unroll
    for (int j = 0; j < 8; ++j)
        v[j] = make_float2(x[2 * reversed[j]], x[2 * reversed[j] + 1]);
#pragma unroll
    for (int j = 0; j < 8; j += 2)
        butterfly(v[j], v[j + 1], 1.0f, 0.0f);
#pragma unroll
    for (int j = 0; j < 8; j += 4) {
        butterfly(v[j], v[j + 2], 1.0f, 0.0f);
#ifdef MUTANT_WRONG_ROOT
        butterfly(v[j + 1], v[j + 3], 0.0f, 1.0f);
#else
        butterfly(v[j + 1], v[j + 3], 0.0f, -1.0f);
#endif
    }
    butterfly(v[0], v[4], 1.0f, 0.0f);
    butterfly(v[1], v[5], h, -h);
    butterfly(v[2], v[6], 0.0f, -1.0f);
    butterfly(v[3], v[7], -h, -h);
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        y[2 * k] = v[k].x;
        y[2 * k + 1] = v[k].y;
    }
}
#endif
