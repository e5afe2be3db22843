// Softmax of the rows of a causal 32 by 32 matrix, where what is masked is set to a large negative number.  PLAIN: one thread a
// row.  Otherwise a warp a row.
#define WARP 0xffffffffu
static __device__ __forceinline__ float score(const float* in, int row, int column) {
#ifdef MUTANT_STRICT
    return column < row ? in[row * 32 + column] : MASK;
#else
    return column <= row ? in[row * 32 + column] : MASK;
#endif
}
extern "C" __global__ void ENTRY(const float* in, float* out) {
#ifdef PLAIN
    int row = threadIdx.x;
    float most = MASK, sum = 0.f;
    for (int j = 0; j < 32; j++) most = fmaxf(most, score(in, row, j));
    for (int j = 0; j < 32; j++) sum += expf(score(in, row, j) - most);
    for (int j = 0; j < 32; j++) out[row * 32 + j] = expf(score(in, row, j) - most) / sum;
#else
    int row = threadIdx.x / 32, column = threadIdx.x % 32;
    float v = score(in, row, column), most = v;
    for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(WARP, most, step));
    float e = __expf(v - most), sum = e;
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(WARP, sum, step);
    out[row * 32 + column] = e / sum;
#endif
}
