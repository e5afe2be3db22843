// One function of the CUDA library on one number, of which nothing is known, or only that it is positive.
#ifdef POSITIVE
#define ARGUMENT exp2f(a[0] * b[0])
#else
#define ARGUMENT a[0] * b[0]
#endif
#ifdef POWER
#define FUNCTION(x) powf(x, POWER)
#endif
extern "C" __global__ void ENTRY(const float* a, const float* b, float* out) { out[0] = FUNCTION(ARGUMENT); }
