// The gradients of attention with 8 queries, 8 keys and 4 values each:
//
//     P = softmax(Q K' * scale),   dV = P' dO,   dP = dO V',   dS = P * (dP - rowsum(P * dP)),
//     dQ = dS K * scale,   dK = dS' Q * scale
//
// PLAIN: 64 threads; P, dP and dS are matrices in shared memory.
// Else:  32 threads, each works out its rows of dQ, and of dK and dV, without storing a matrix: a row of P from the
//        logarithm of its sum, and rowsum(P * dP) = rowsum(dO * O).

const int t = 8, dim = 4;

extern "C" __global__ void ENTRY(const float *q, const float *k, const float *v, const float *go, float *dq, float *dk,
                                 float *dv, float scale)
{
    int tid = threadIdx.x;
#ifdef PLAIN
    __shared__ float p[t][t], ds[t][t];
    int i = tid / t, j = tid % t;

    float s = 0.0f, dp = 0.0f;
    for (int d = 0; d < dim; ++d) {
        s += q[i * dim + d] * k[j * dim + d];
        dp += go[i * dim + d] * v[j * dim + d];
    }
    p[i][j] = expf(s * scale);
    __syncthreads();
    float sum = 0.0f;
    for (int l = 0; l < t; ++l)
        sum += p[i][l];
    __syncthreads();
    p[i][j] /= sum;
    ds[i][j] = p[i][j] * dp;
    __syncthreads();
    float row = 0.0f;
    for (int l = 0; l < t; ++l)
        row += ds[i][l];
    __syncthreads();
    ds[i][j] = p[i][j] * (dp - row);
    __syncthreads();

    if (tid < t * dim) {
        int r = tid / dim, d = tid % dim;
        float a = 0.0f, b = 0.0f, c = 0.0f;
        for (int l = 0; l < t; ++l) {
            a += ds[r][l] * k[l * dim + d];
            b += ds[l][r] * q[l * dim + d];
            c += p[l][r] * go[l * dim + d];
        }
        dq[tid] = a * scale;
        dk[tid] = b * scale;
        dv[tid] = c;
    }
#else
    __shared__ float lse[t], delta[t];
    if (tid < t) {
        float m = -__builtin_huge_valf(), sum = 0.0f, o[dim] = {0.0f};
        for (int l = 0; l < t; ++l) {
            float s = 0.0f;
            for (int d = 0; d < dim; ++d)
                s += q[tid * dim + d] * scale * k[l * dim + d];
            float larger = fmaxf(m, s), rescale = expf(m - larger), e = expf(s - larger);
            sum = sum * rescale + e;
            for (int d = 0; d < dim; ++d)
                o[d] = o[d] * rescale + e * v[l * dim + d];
            m = larger;
        }
        lse[tid] = m + logf(sum);
        float product = 0.0f;
        for (int d = 0; d < dim; ++d)
            product += go[tid * dim + d] * o[d];
        delta[tid] = product / sum;
    }
    __syncthreads();

    int r = tid / dim, d = tid % dim;
    float a = 0.0f, b = 0.0f, c = 0.0f;
    for (int l = 0; l < t; ++l) {
        float s = 0.0f, dp = 0.0f, s2 = 0.0f, dp2 = 0.0f;
        for (int e = 0; e < dim; ++e) {
            s += q[r * dim + e] * k[l * dim + e];
            dp += go[r * dim + e] * v[l * dim + e];
            s2 += q[l * dim + e] * k[r * dim + e];
            dp2 += go[l * dim + e] * v[r * dim + e];
        }
        float p = expf(s * scale - lse[r]), p2 = expf(s2 * scale - lse[l]);
        a += p * (dp - delta[r]) * k[l * dim + d];
#ifdef MUTANT_WRONG_DELTA
        b += p2 * (dp2 - delta[r]) * q[l * dim + d];
#else
        b += p2 * (dp2 - delta[l]) * q[l * dim + d];
#endif
        c += p2 * go[l * dim + d];
    }
    dq[tid] = a * scale;
#ifdef MUTANT_NO_SCALE
    dk[tid] = b;
#else
    dk[tid] = b * scale;
#endif
    dv[tid] = c;
#endif
}
