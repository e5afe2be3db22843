// Functions of the CUDA library in kernels that are compiled without -use_fast_math: WAY 1 calls one, WAY 2 writes the same
// in another way, WAY 3 something else.
#ifndef TYPE
#define TYPE float
#endif
#define PICK(one, two, three) (WAY == 1 ? (one) : WAY == 2 ? (two) : (three))
static __device__ __forceinline__ TYPE value(TYPE a, TYPE b) {
#if defined(LENGTH)
    return PICK(hypotf(a, b), sqrtf(a * a + b * b), sqrtf(a * a + 2.f * b * b));
#elif defined(RAISED)
    return PICK(powf(fabsf(a) + 0.5f, b), exp2f(b * log2f(fabsf(a) + 0.5f)), exp2f(b * log2f(fabsf(a) + 1.f)));
#elif defined(TEN)
    return PICK(exp10f(a) * exp10f(b), exp10f(a + b), exp10f(a - b));
#elif defined(TURN)
    float s, c;
    sincosf(a, &s, &c);
    return PICK(s * b + c, sinf(a) * b + cosf(a), cosf(a) * b + sinf(a));
#elif defined(SIGMOID)
    return PICK(exp(a) / (exp(a) + exp(b)), 1. / (1. + exp(b - a)), 1. / (1. + exp(a - b)));
#elif defined(TANH)
    return PICK(tanh(a) * b, b * (1. - 2. / (exp(2. * a) + 1.)), b * (1. - 2. / (exp(a) + 1.)));
#elif defined(PRODUCT)
    return PICK(logf(a * b), __log2f(a * b) * 0.6931472f, __log2f(a * b) * 0.7f);
#elif defined(GUARDED) // Tests beside the function, which are no part of its code.
    return PICK(isinf(a * b) ? 0.f : logf(a * b), isinf(a * a) ? 0.f : logf(a * b), a + 1.f - 1.f != a ? 0.f : logf(a * b));
#elif defined(GROWTH)
    return PICK(tanhf(expf(a)) * b, b - 2.f * b / (expf(2.f * expf(a)) + 1.f), b - 2.f * b / (expf(expf(a)) + 1.f));
#endif
}
extern "C" __global__ void ENTRY(const TYPE* x, const TYPE* y, TYPE* out) {
    out[threadIdx.x] = value(x[threadIdx.x], y[threadIdx.x]);
}
