// Equalities of what is ordered or sized, WAY 1 and 2 of each; WAY 3 is a mistake.
//
//   LARGEST   the largest of exponentials and the exponential of the largest
//   LEAST     the least of exponentials and the exponential of the least
//   SIZE      a size in front of a maximum and inside of it
//   DISTANCE  the root of a square of a difference, and its size
//   TREE      the logarithm of a sum of exponentials, in pairs and at once

__device__ __forceinline__ float joined(float a, float b)
{
    return fmaxf(a, b) + log1pf(expf(-fabsf(a - b)));
}

extern "C" __global__ void ENTRY(const float *x, float *y)
{
    int t = threadIdx.x;
    float a = x[4 * t], b = x[4 * t + 1], c = x[4 * t + 2], d = x[4 * t + 3], r;
#if defined(LARGEST)
    r = WAY == 1   ? fmaxf(fmaxf(expf(a - d), expf(b - d)), expf(c - d))
        : WAY == 2 ? expf(fmaxf(a, fmaxf(b, c)) - d)
                   : expf(fmaxf(a, fminf(b, c)) - d);
#elif defined(LEAST)
    r = WAY == 1 ? fminf(expf(a), expf(b)) : WAY == 2 ? expf(fminf(a, b)) : expf(fmaxf(a, b));
#elif defined(SIZE)
    r = WAY == 1   ? fmaxf(fabsf(a - d) * b, fabsf(a - d) * c)
        : WAY == 2 ? fabsf(a - d) * fmaxf(b, c)
                   : (a - d) * fmaxf(b, c);
#elif defined(DISTANCE)
    r = WAY == 1 ? sqrtf((a - b) * (a - b)) * c : WAY == 2 ? fabsf(a - b) * c : (a - b) * c;
#else
    float m = fmaxf(fmaxf(a, b), fmaxf(c, d));
    r = WAY == 1   ? joined(joined(joined(a, b), c), d)
        : WAY == 2 ? m + logf(expf(a - m) + expf(b - m) + expf(c - m) + expf(d - m))
                   : joined(joined(a, b), joined(c, c));
#endif
    y[t] = r;
}
