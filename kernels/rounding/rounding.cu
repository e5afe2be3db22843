// Compiled without -use_fast_math, so that exp, log, division and roots are the library's: refutations whose
// difference is real beside constants of any size, and pairs that differ by rounding alone.
#define N 8

#if defined(NLL)
// x - FACTOR * log(the sum of exp(x)): 1 is right.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    float s = 0;
    for (int i = 0; i < N; i++) s += expf(x[i]);
    y[threadIdx.x] = x[threadIdx.x] - FACTOR * logf(s);
}
#elif defined(SOFTMAX)
extern "C" __global__ void ENTRY(const float *x, float *y) {
    float m = x[0], s = 0;
    for (int i = 1; i < N; i++) m = fmaxf(m, x[i]);
    for (int i = 0; i < N; i++) s += expf(x[i] - m);
    y[threadIdx.x] = expf(x[threadIdx.x] - m) / s;
}
#elif defined(FIRST)
// Softmax with a running maximum that starts at FIRST; step FORGET does not rescale the sum.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    float m = FIRST, s = 0;
    for (int i = 0; i < N; i++) {
        float n = fmaxf(m, x[i]);
        if (i != FORGET) s *= expf(m - n);
        s += expf(x[i] - n);
        m = n;
    }
    y[threadIdx.x] = expf(x[threadIdx.x] - m) / s;
}
#elif defined(RMS)
// The root of a mean of squares; with OUTSIDE the small number is outside of the root.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    float s = 0;
    for (int i = 0; i < N; i++) s += x[i] * x[i];
#if RMS == 1
    y[threadIdx.x] = x[threadIdx.x] * rsqrtf(s / N + 1e-6f);
#elif RMS == 2
    y[threadIdx.x] = x[threadIdx.x] / sqrtf(s * (1.0f / N) + 1e-6f);
#else
    y[threadIdx.x] = x[threadIdx.x] / (sqrtf(s / N) + 1e-6f);
#endif
}
#else
// Steps of a tenth, by a product and by a quotient, or of a ninth.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    y[threadIdx.x] = (float)(int)(x[threadIdx.x] STEP);
}
#endif
