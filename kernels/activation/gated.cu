// Gated activations of 32 pairs: out[i] = f(a[i]) * b[i], where a and b are the two halves of the input.
//
// SWIGLU: f(x) = x * sigmoid(x).   GEGLU: f(x) = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
//
// UNFUSED: in three steps through a scratch array, f as its definition says; else in registers, with f as a quotient,
// two pairs a thread.

#define n 32
#define root 0.7978845608f
#define cubic 0.044715f

extern "C" __global__ void ENTRY(const float *in, float *out, float *scratch)
{
#ifdef UNFUSED
    int i = threadIdx.x;
    float x = in[i];
#ifdef SWIGLU
    scratch[i] = 1.0f / (1.0f + expf(-x));
#else
    scratch[i] = 0.5f * (1.0f + tanhf(root * (x + cubic * x * x * x)));
#endif
    __syncthreads();
    scratch[i] = in[i] * scratch[i];
    __syncthreads();
    out[i] = scratch[i] * in[n + i];
#else
    for (int i = 2 * threadIdx.x; i < 2 * int(threadIdx.x) + 2; ++i) {
        float x = in[i];
#ifdef SWIGLU
        float u = x;
#else
        float u = 2.0f * root * (x + cubic * x * x * x);
#endif
#ifdef MUTANT_GATE_TWICE
        out[i] = x * in[i] / (1.0f + expf(-u));
#else
        out[i] = x * in[n + i] / (1.0f + expf(-u));
#endif
    }
#endif
}
