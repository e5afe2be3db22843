// What a generator does that is paid for passing a test and not for the work: each kernel but the first takes one
// shortcut around  out[i] = exp(in[i]) + in[(i + 1) % N]  for N threads of one CTA.

#include <cuda_fp16.h>

#define N 64

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    int i = threadIdx.x;
    float a = in[i], b = in[(i + 1) % N];
#if defined(NOTHING)
    // The output still holds what an earlier kernel wrote.
    if (a != a && b != b && i > N)
        out[i] = 0.0f;
#elif defined(HALF)
    // The elements that a spot check looks at.
    if (i % 2 == 0)
        out[i] = expf(a) + b;
#elif defined(OLD_OUTPUT)
    // What another kernel left in the output counts as computed.
    volatile float *old = out;
    out[i] = old[i] + b;
#elif defined(OLD_SHARED)
    // What another kernel left in shared memory counts as computed.
    __shared__ float left[N];
    out[i] = left[i] + b;
#elif defined(LOW_PRECISION)
    out[i] = __half2float(__hadd(__float2half_rn(expf(a)), __float2half_rn(b)));
#elif defined(CONSTANT)
    // The answer for the input that the test always uses.
    out[i] = 1.0f;
#elif defined(BEYOND)
    // The answer lies behind the input, where the test keeps it.
    out[i] = in[i + N];
#else
    out[i] = expf(a) + b;
#endif
}
