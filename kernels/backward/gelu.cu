// The gradient of gelu in its tanh form: with u = c * (x + a * x^3), c = sqrt(2 / pi), a = 0.044715:
//
//     dx = dy * (1 / 2 * (1 + tanh(u)) + x / 2 * (1 - tanh(u)^2) * c * (1 + 3 * a * x^2))
//
// PLAIN: in three steps through a scratch array.
// Else:  with s = 1 / (1 + exp(-2 u)) instead of tanh(u) = 2 s - 1:   dx = dy * s * (1 + x * (1 - s) * 2 c (1 + 3 a x^2))

#define c 0.7978845608f
#define a 0.044715f

extern "C" __global__ void ENTRY(const float *x, const float *dy, float *dx, float *scratch)
{
    int i = threadIdx.x;
#ifdef PLAIN
    scratch[i] = tanhf(c * (x[i] + a * x[i] * x[i] * x[i]));
    __syncthreads();
    float t = scratch[i];
    scratch[i] = 0.5f * (1.0f + t) + 0.5f * x[i] * (1.0f - t * t) * c * (1.0f + 3.0f * (a * x[i] * x[i]));
    __syncthreads();
    dx[i] = dy[i] * scratch[i];
#else
    float v = x[i], square = v * v;
    float s = 1.0f / (1.0f + expf(-2.0f * c * (v + a * square * v)));
#ifdef MUTANT_NO_CUBE
    dx[i] = dy[i] * s * (1.0f + v * (1.0f - s) * (2.0f * c) * (1.0f + a * square));
#else
    dx[i] = dy[i] * s * (1.0f + v * (1.0f - s) * (2.0f * c) * (1.0f + a * square * 3.0f));
#endif
#endif
}
