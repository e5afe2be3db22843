// Row sums: one CTA for each row; variants read more than they should.
extern "C" __global__ void ENTRY(const float *x, const float *w, float *y, int rows) {
#if KIND == 0 // A row of x and all of w.
    int i = blockIdx.x, t = threadIdx.x;
    __shared__ float s[32];
    s[t] = x[i * 32 + t] * w[t];
    __syncthreads();
    if (t == 0) {
        float sum = 0;
        for (int k = 0; k < 32; k++) sum = __fadd_rn(sum, s[k]);
        y[i] = sum;
    }
#elif KIND == 1 // With something of the first row.
    int i = blockIdx.x, t = threadIdx.x;
    if (t == 0) {
        float sum = 0;
        for (int k = 0; k < 32; k++) sum = __fadd_rn(sum, x[i * 32 + k]);
        y[i] = __fadd_rn(sum, x[0]);
    }
#elif KIND == 2 // Split in two halves where the batch is small: another order of the sum.
    int i = blockIdx.x, t = threadIdx.x;
    if (t == 0) {
        float a = 0, b = 0;
        if (rows < 4) {
            for (int k = 0; k < 16; k++) a = __fadd_rn(a, x[i * 32 + k]);
            for (int k = 16; k < 32; k++) b = __fadd_rn(b, x[i * 32 + k]);
            y[i] = __fadd_rn(a, b);
        } else {
            for (int k = 0; k < 32; k++) a = __fadd_rn(a, x[i * 32 + k]);
            y[i] = a;
        }
    }
#elif KIND == 3 // The largest in two orders that depend on the batch: the same bits all the same.
    int i = blockIdx.x, t = threadIdx.x;
    if (t == 0) {
        float a = x[i * 32];
        if (rows < 4) {
            for (int k = 1; k < 32; k++) a = fmaxf(a, x[i * 32 + k]);
        } else {
            for (int k = 31; k > 0; k--) a = fmaxf(a, x[i * 32 + k]);
        }
        y[i] = a;
    }
#elif KIND == 4 // Scaled by what depends on the row.
    int i = blockIdx.x, t = threadIdx.x;
    if (t == 0) y[i] = x[i * 32] * w[i];
#endif
}
