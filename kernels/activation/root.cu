// The approximation of the Gaussian error linear unit by tanh, with sqrt(2 / pi) as a literal or computed by the compiler,
// which rounds at each step and comes to the neighbour of the literal.

extern "C" __global__ void ENTRY(const float *x, float *y)
{
#if STYLE == 1
    const float root = 0.7978845608f;
#elif STYLE == 2
    const float root = sqrtf(2.0f / 3.14159265358979f);
#else
    const float root = sqrtf(2.0f / 3.0f);
#endif
    float v = x[threadIdx.x];
    y[threadIdx.x] = 0.5f * v * (1.0f + tanhf(root * (v + 0.044715f * v * v * v)));
}
