// Rotary position embedding of one row of 32 values: pairs (x[2p], x[2p + 1]) are turned by the angle position * f[p].
//
//     y[2p] = x[2p] * cos(a) - x[2p + 1] * sin(a),   y[2p + 1] = x[2p] * sin(a) + x[2p + 1] * cos(a)
//
// FORM 1: one thread a pair.  FORM 2: one thread an element, which reads its partner too.
// FORM 3: a pair at a time as one 8-byte access, with three products instead of four:
//         k = cos(a) * (x0 + x1),   y0 = k - x1 * (cos(a) + sin(a)),   y1 = k + x0 * (sin(a) - cos(a))

extern "C" __global__ void ENTRY(const float *x, const float *f, float *y, float position)
{
#if FORM == 1
    int p = threadIdx.x;
    float a = position * f[p];
    float c = cosf(a), s = sinf(a);
    y[2 * p] = x[2 * p] * c - x[2 * p + 1] * s;
#ifdef MUTANT_WRONG_SIGN
    y[2 * p + 1] = x[2 * p + 1] * c - x[2 * p] * s;
#else
    y[2 * p + 1] = x[2 * p] * s + x[2 * p + 1] * c;
#endif
#elif FORM == 2
    int i = threadIdx.x;
    float a = position * f[i / 2];
    float sign = i % 2 == 0 ? -1.0f : 1.0f;
#ifdef MUTANT_WRONG_PARTNER
    y[i] = x[i] * cosf(a) + sign * x[(i + 1) % 32] * sinf(a);
#else
    y[i] = x[i] * cosf(a) + sign * x[i ^ 1] * sinf(a);
#endif
#else
    int p = threadIdx.x;
    float2 v = reinterpret_cast<const float2 *>(x)[p];
    float a = position * f[p];
    float c = cosf(a), s = sinf(a);
    float k = c * (v.x + v.y);
    reinterpret_cast<float2 *>(y)[p] = make_float2(k - v.y * (c + s), k + v.x * (s - c));
#endif
}
