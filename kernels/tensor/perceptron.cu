// Two layers in one kernel: y = relu(x v + b) w, for 32 rows x of 32 values and 64 hidden values.  PLAIN keeps the hidden values of a
// row in shared memory.  Otherwise two warps have 16 rows each: the accumulators of the first product are, after bias and
// activation, the first factor of the second one in the same registers, so that hidden values never leave the warp.
#include <cuda_fp16.h>

const int IN = 32, HIDDEN = 64, OUT = 32, ROWS = 32;

#ifdef PLAIN
extern "C" __global__ void ENTRY(const __half *x, const __half *v, const float *b, const __half *w, float *y) {
    __shared__ __half hidden[ROWS * HIDDEN];
    for (int e = threadIdx.x; e < ROWS * HIDDEN; e += blockDim.x) {
        float sum = b[e % HIDDEN];
        for (int k = 0; k < IN; k++) {
            sum += __half2float(x[e / HIDDEN * IN + k]) * __half2float(v[k * HIDDEN + e % HIDDEN]);
        }
        hidden[e] = __float2half(fmaxf(sum, 0.0f));
    }
    __syncthreads();
    for (int e = threadIdx.x; e < ROWS * OUT; e += blockDim.x) {
        float sum = 0.0f;
        for (int k = 0; k < HIDDEN; k++) {
            sum += __half2float(hidden[e / OUT * HIDDEN + k]) * __half2float(w[k * OUT + e % OUT]);
        }
        y[e] = sum;
    }
}
#else
// The pitch of each matrix is 16 bytes more than its rows, against conflicts of banks.
const int PV = HIDDEN + 8, PW = OUT + 8, PX = IN + 8;

__device__ unsigned address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void copy(void *to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(to)), "l"(from) : "memory");
}

__device__ void matrices(unsigned (&r)[4], const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address(p))
                 : "memory");
}

// Two 16 x 8 factors side by side, from rows of depth.
__device__ void transposed(unsigned (&r)[4], const void *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address(p))
                 : "memory");
}

__device__ void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ unsigned packed(float low, float high) {
    __half2 h = __floats2half2_rn(fmaxf(low, 0.0f), fmaxf(high, 0.0f));
#ifdef MUTANT_NO_ACTIVATION
    h = __floats2half2_rn(low, high);
#endif
    return *(unsigned *)&h;
}

extern "C" __global__ void ENTRY(const __half *x, const __half *v, const float *b, const __half *w, float *y) {
    __shared__ __align__(16) __half xs[ROWS * PX], vs[IN * PV], ws[HIDDEN * PW];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    for (int i = t; i < ROWS * IN / 8; i += 64) {
        copy(xs + i / (IN / 8) * PX + i % (IN / 8) * 8, x + i * 8);
    }
    for (int i = t; i < IN * HIDDEN / 8; i += 64) {
        copy(vs + i / (HIDDEN / 8) * PV + i % (HIDDEN / 8) * 8, v + i * 8);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    for (int i = t; i < HIDDEN * OUT / 8; i += 64) {
        copy(ws + i / (OUT / 8) * PW + i % (OUT / 8) * 8, w + i * 8);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    // The second layer's weights may still be under way.
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    float hidden[HIDDEN / 8][4];
    for (int n = 0; n < HIDDEN / 8; n++) {
        float2 bias = *(const float2 *)(b + n * 8 + lane % 4 * 2);
        hidden[n][0] = hidden[n][2] = bias.x;
        hidden[n][1] = hidden[n][3] = bias.y;
#ifdef MUTANT_BIAS
        hidden[n][2] = bias.y;
#endif
    }
    for (int k = 0; k < IN; k += 16) {
        unsigned rows[4], columns[4];
        matrices(rows, xs + (warp * 16 + lane % 16) * PX + k + lane / 16 * 8);
        for (int n = 0; n < HIDDEN / 8; n += 2) {
            transposed(columns, vs + (k + lane % 16) * PV + n * 8 + lane / 16 * 8);
            multiply(hidden[n], rows, columns[0], columns[1]);
            multiply(hidden[n + 1], rows, columns[2], columns[3]);
        }
    }
#ifndef MUTANT_NO_WAIT
    asm volatile("cp.async.wait_group 0;" ::: "memory");
#endif
#ifndef MUTANT_NO_BARRIER
    __syncthreads();
#endif
    float sum[OUT / 8][4] = {};
    for (int k = 0; k < HIDDEN / 16; k++) {
        const float(&left)[4] = hidden[2 * k], (&right)[4] = hidden[2 * k + 1];
        unsigned rows[4] = {packed(left[0], left[1]), packed(left[2], left[3]), packed(right[0], right[1]), packed(right[2], right[3])};
        unsigned columns[4];
        for (int n = 0; n < OUT / 8; n += 2) {
            transposed(columns, ws + (k * 16 + lane % 16) * PW + n * 8 + lane / 16 * 8);
            multiply(sum[n], rows, columns[0], columns[1]);
            multiply(sum[n + 1], rows, columns[2], columns[3]);
        }
    }
    for (int n = 0; n < OUT / 8; n++) {
        int row = warp * 16 + lane / 4, column = n * 8 + lane % 4 * 2;
        *(float2 *)(y + row * OUT + column) = make_float2(sum[n][0], sum[n][1]);
        *(float2 *)(y + (row + 8) * OUT + column) = make_float2(sum[n][2], sum[n][3]);
    }
}
#endif
