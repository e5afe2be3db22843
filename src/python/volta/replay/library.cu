// Functions of the CUDA library, each alone, for the replay of certificates: `library.py` says how.
#define ONE(f) extern "C" __global__ void of_##f(const float* x, float* y) { y[0] = f(x[0]); }
#define TWO(f) extern "C" __global__ void of_##f(const float* x, float* y) { y[0] = f(x[0], x[1]); }
ONE(logf) ONE(log2f) ONE(log10f) ONE(log1pf) ONE(expm1f) ONE(exp10f) ONE(tanhf) ONE(sinhf) ONE(coshf)
ONE(asinhf) ONE(acoshf) ONE(atanhf) ONE(sinf) ONE(cosf) ONE(erff) ONE(erfcf) ONE(normcdff) ONE(cbrtf)
TWO(powf) TWO(hypotf)
