// One step of AdamW for 32 weights p with gradients g and moments m and v, all of which are updated except g:
//
//     m' = beta1 * m + (1 - beta1) * g,   v' = beta2 * v + (1 - beta2) * g^2,
//     p' = p - lr * decay * p - lr * (m' / correction1) / (sqrt(v' / correction2) + eps)
//
// where correction = 1 - beta^step comes from the caller.
//
// UNFUSED: one step after the other, with the intermediate values in a scratch array.  Else: in registers, two weights
// a thread.

const int n = 32;

extern "C" __global__ void ENTRY(float *p, const float *g, float *m, float *v, float *scratch, float lr, float beta1,
                                 float beta2, float eps, float decay, float correction1, float correction2)
{
#ifdef UNFUSED
    int i = threadIdx.x;
    m[i] = beta1 * m[i];
    m[i] = m[i] + (1.0f - beta1) * g[i];
    scratch[i] = g[i] * g[i];
    scratch[n + i] = v[i] * beta2;
    __syncthreads();
    v[i] = scratch[n + i] + (1.0f - beta2) * scratch[i];
    scratch[i] = sqrtf(v[i] / correction2) + eps;
    scratch[n + i] = m[i] / correction1;
    __syncthreads();
    p[i] = p[i] - lr * decay * p[i];
    p[i] = p[i] - lr * scratch[n + i] / scratch[i];
#else
#pragma unroll
    for (int j = 0; j < 2; ++j) {
        int i = threadIdx.x + j * (n / 2);
        float grad = g[i];
        float m1 = grad + beta1 * (m[i] - grad);
#ifdef MUTANT_PLAIN_GRADIENT
        float v1 = beta2 * v[i] + (1.0f - beta2) * grad;
#else
        float v1 = beta2 * v[i] + (1.0f - beta2) * grad * grad;
#endif
        m[i] = m1;
        v[i] = v1;
#ifdef MUTANT_COUPLED_DECAY
        float weight = p[i] - lr * decay;
#else
        float weight = p[i] * (1.0f - lr * decay);
#endif
        p[i] = weight - lr / correction1 * m1 / (sqrtf(v1 / correction2) + eps);
    }
#endif
}
