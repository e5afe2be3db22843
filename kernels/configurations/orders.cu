// Kernels that leave one result in many orders of operations, in the configurations that a tuner would try.
// Which of them leave the same bits follows from the order of operations alone: volta.toml says why.
// Every entry is one configuration; FAMILY chooses which are compiled.

constexpr int N = 64;

#define KERNEL extern "C" __global__ void

// ---------------------------------------------------------------- sums of rows
// Thread t adds elements t, t + T, ... of its row in order; the partial sums are then added by one of three schemes.

enum Scheme { XOR, DOWN, SHARED };

template <int T, Scheme S>
__device__ float total(float own, float *shared) {
    int t = threadIdx.x;
    if (S == SHARED) {
        shared[t] = own;
        __syncthreads();
        for (int s = T / 2; s > 0; s /= 2) {
            if (t < s) shared[t] = __fadd_rn(shared[t], shared[t + s]);
            __syncthreads();
        }
        return shared[0];
    }
    for (int s = 16; s > 0; s /= 2) {
        float other = S == XOR ? __shfl_xor_sync(~0u, own, s) : __shfl_down_sync(~0u, own, s);
        own = __fadd_rn(own, other);
    }
    if (T > 32) {
        if (t % 32 == 0) shared[t / 32] = own;
        __syncthreads();
        own = shared[0];
        for (int w = 1; w < T / 32; ++w) own = __fadd_rn(own, shared[w]);
    }
    return own;
}

template <int T, Scheme S>
__device__ void row(const float *x, float *y) {
    __shared__ float shared[T];
    float own = 0;
    for (int i = threadIdx.x; i < N; i += T) own = __fadd_rn(own, x[blockIdx.x * N + i]);
    own = total<T, S>(own, shared);
    if (threadIdx.x == 0) y[blockIdx.x] = own;
}

#ifdef ROWS
KERNEL row_32_xor(const float *x, float *y) { row<32, XOR>(x, y); }
KERNEL row_32_down(const float *x, float *y) { row<32, DOWN>(x, y); }
KERNEL row_32_shared(const float *x, float *y) { row<32, SHARED>(x, y); }
KERNEL row_64_xor(const float *x, float *y) { row<64, XOR>(x, y); }
KERNEL row_64_down(const float *x, float *y) { row<64, DOWN>(x, y); }
KERNEL row_64_shared(const float *x, float *y) { row<64, SHARED>(x, y); }
#endif

// ---------------------------------------------------------------- sums of columns
// Thread t owns column t. ACROSS accumulators take rows in turn and are added in order.

template <int ACROSS>
__device__ void column(const float *x, float *y, int width) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    float sums[ACROSS] = {};
    for (int i = 0; i < 16; i += ACROSS)
        for (int k = 0; k < ACROSS; ++k) sums[k] = __fadd_rn(sums[k], x[(i + k) * width + c]);
    for (int k = 1; k < ACROSS; ++k) sums[0] = __fadd_rn(sums[0], sums[k]);
    y[c] = sums[0];
}

#ifdef COLUMNS
KERNEL column_1(const float *x, float *y) { column<1>(x, y, 32); }
KERNEL column_2(const float *x, float *y) { column<2>(x, y, 32); }
KERNEL column_4(const float *x, float *y) { column<4>(x, y, 32); }
KERNEL column_reversed(const float *x, float *y) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int i = 15; i >= 0; --i) sum = __fadd_rn(sum, x[i * 32 + c]);
    y[c] = sum;
}
KERNEL column_vector(const float2 *x, float2 *y) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    float2 sum = make_float2(0, 0);
    for (int i = 0; i < 16; ++i) {
        float2 v = x[i * 16 + c];
        sum.x = __fadd_rn(sum.x, v.x);
        sum.y = __fadd_rn(sum.y, v.y);
    }
    y[c] = sum;
}
#endif

// ---------------------------------------------------------------- softmax
// Each thread keeps N / T elements; the maximum has the same bits in any order, the sum has not.

template <int T, Scheme S>
__device__ void softmax(const float *x, float *y) {
    __shared__ float shared[T];
    int t = threadIdx.x;
    float v[N / T], m = -INFINITY, s = 0;
    for (int k = 0; k < N / T; ++k) m = fmaxf(m, v[k] = x[k * T + t]);
    for (int d = 16; d > 0; d /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
    if (T > 32) {
        if (t % 32 == 0) shared[t / 32] = m;
        __syncthreads();
        for (int w = 0; w < T / 32; ++w) m = fmaxf(m, shared[w]);
        __syncthreads();
    }
    for (int k = 0; k < N / T; ++k) s = __fadd_rn(s, v[k] = __expf(v[k] - m));
    s = total<T, S>(s, shared);
    if (S == DOWN && T == 32) s = __shfl_sync(~0u, s, 0);
    for (int k = 0; k < N / T; ++k) y[k * T + t] = __fdiv_rn(v[k], s);
}

#ifdef SOFTMAX
KERNEL softmax_32_xor(const float *x, float *y) { softmax<32, XOR>(x, y); }
KERNEL softmax_32_down(const float *x, float *y) { softmax<32, DOWN>(x, y); }
KERNEL softmax_32_shared(const float *x, float *y) { softmax<32, SHARED>(x, y); }
KERNEL softmax_64_xor(const float *x, float *y) { softmax<64, XOR>(x, y); }
KERNEL softmax_64_shared(const float *x, float *y) { softmax<64, SHARED>(x, y); }
#endif

// ---------------------------------------------------------------- Welford
// Means and squared distances of N / PARTS elements each by Welford's recurrence, merged in order by Chan's formula.

template <int PARTS, bool SWAPPED>
__device__ void welford(const float *x, float *y) {
    const int each = 16 / PARTS;
    float mean = 0, square = 0;
    for (int p = 0; p < PARTS; ++p) {
        float m = 0, s = 0;
        for (int i = 0; i < each; ++i) {
            float v = x[p * each + i], d = __fsub_rn(v, m);
            m = __fadd_rn(m, __fmul_rn(d, 1.0f / (i + 1)));
            s = SWAPPED ? __fmaf_rn(__fsub_rn(v, m), d, s) : __fmaf_rn(d, __fsub_rn(v, m), s);
        }
        if (p == 0) {
            mean = m, square = s;
            continue;
        }
        float d = __fsub_rn(m, mean), n = p * each, of = n + each;
        mean = __fadd_rn(mean, __fmul_rn(d, each / of));
        square = __fadd_rn(__fadd_rn(square, s), __fmul_rn(__fmul_rn(d, d), n * each / of));
    }
    y[0] = mean;
    y[1] = square;
}

#ifdef WELFORD
KERNEL welford_1(const float *x, float *y) { welford<1, false>(x, y); }
KERNEL welford_1_swapped(const float *x, float *y) { welford<1, true>(x, y); }
KERNEL welford_2(const float *x, float *y) { welford<2, false>(x, y); }
KERNEL welford_4(const float *x, float *y) { welford<4, false>(x, y); }
KERNEL welford_two_passes(const float *x, float *y) {
    float s = 0, q = 0;
    for (int i = 0; i < 16; ++i) s = __fadd_rn(s, x[i]);
    s = __fmul_rn(s, 1.0f / 16);
    for (int i = 0; i < 16; ++i) q = __fmaf_rn(__fsub_rn(x[i], s), __fsub_rn(x[i], s), q);
    y[0] = s;
    y[1] = q;
}
#endif

// ---------------------------------------------------------------- layer norm
// One warp a row; the variance of distances from the mean, or the mean of squares less the square of the mean.

template <int T, bool DISTANCES>
__device__ void layernorm(const float *x, const float *g, float *y) {
    __shared__ float shared[T];
    int t = threadIdx.x;
    float v[N / T], s = 0, q = 0;
    for (int k = 0; k < N / T; ++k) s = __fadd_rn(s, v[k] = x[k * T + t]);
    float mean = __fmul_rn(total<T, XOR>(s, shared), 1.0f / N);
    __syncthreads();
    for (int k = 0; k < N / T; ++k) {
        float d = DISTANCES ? __fsub_rn(v[k], mean) : v[k];
        q = __fmaf_rn(d, d, q);
    }
    q = __fmul_rn(total<T, XOR>(q, shared), 1.0f / N);
    if (!DISTANCES) q = __fmaf_rn(-mean, mean, q);
    float scale = __frcp_rn(__fsqrt_rn(__fadd_rn(q, 1e-5f)));
    for (int k = 0; k < N / T; ++k)
        y[k * T + t] = __fmul_rn(__fmul_rn(__fsub_rn(v[k], mean), scale), g[k * T + t]);
}

#ifdef LAYERNORM
KERNEL layernorm_32(const float *x, const float *g, float *y) { layernorm<32, true>(x, g, y); }
KERNEL layernorm_64(const float *x, const float *g, float *y) { layernorm<64, true>(x, g, y); }
KERNEL layernorm_32_squares(const float *x, const float *g, float *y) { layernorm<32, false>(x, g, y); }
#endif

// ---------------------------------------------------------------- attention
// One query a thread. Keys come in blocks of B, the sums are scaled whenever the maximum may have grown.

template <int B, int KEYS, int D>
__device__ void attention(const float *q, const float *k, const float *v, float *y) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float m = -INFINITY, sum = 0, acc[D] = {};
    for (int j = 0; j < KEYS; j += B) {
        float s[B], next = m;
        for (int b = 0; b < B; ++b) {
            float dot = 0;
            for (int d = 0; d < D; ++d) dot = __fmaf_rn(q[row * D + d], k[(j + b) * D + d], dot);
            next = fmaxf(next, s[b] = dot);
        }
        float scale = __expf(m - next);
        m = next;
        sum = __fmul_rn(sum, scale);
        for (int d = 0; d < D; ++d) acc[d] = __fmul_rn(acc[d], scale);
        for (int b = 0; b < B; ++b) {
            float p = __expf(s[b] - m);
            sum = __fadd_rn(sum, p);
            for (int d = 0; d < D; ++d) acc[d] = __fmaf_rn(p, v[(j + b) * D + d], acc[d]);
        }
    }
    for (int d = 0; d < D; ++d) y[row * D + d] = __fdiv_rn(acc[d], sum);
}

#ifdef ATTENTION
KERNEL attention_1(const float *q, const float *k, const float *v, float *y) { attention<1, 8, 4>(q, k, v, y); }
KERNEL attention_2(const float *q, const float *k, const float *v, float *y) { attention<2, 8, 4>(q, k, v, y); }
KERNEL attention_4(const float *q, const float *k, const float *v, float *y) { attention<4, 8, 4>(q, k, v, y); }
KERNEL attention_8(const float *q, const float *k, const float *v, float *y) { attention<8, 8, 4>(q, k, v, y); }
#endif

// ---------------------------------------------------------------- matrix products
// Tiles of a product only say who computes what. SPLIT parts of the depth are added at the end (split-K); a stream of
// CTAs that takes as many steps each, whatever the tile, cuts the depth where the share of a CTA ends (stream-K).

template <int TILE>
__device__ void product(const float *a, const float *b, float *c) {
    __shared__ float left[TILE][TILE + 1], right[TILE][TILE + 1];
    int i = blockIdx.y * TILE + threadIdx.y, j = blockIdx.x * TILE + threadIdx.x;
    float acc = 0;
    for (int k = 0; k < 16; k += TILE) {
        left[threadIdx.y][threadIdx.x] = a[i * 16 + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * 8 + j];
        __syncthreads();
        for (int d = 0; d < TILE; ++d) acc = __fmaf_rn(left[threadIdx.y][d], right[d][threadIdx.x], acc);
        __syncthreads();
    }
    c[i * 8 + j] = acc;
}

template <int SPLIT>
__device__ void split(const float *a, const float *b, float *c) {
    __shared__ float parts[SPLIT][8];
    int j = threadIdx.x, i = blockIdx.x, p = threadIdx.y;
    float acc = 0;
    for (int k = p * (16 / SPLIT); k < (p + 1) * (16 / SPLIT); ++k) acc = __fmaf_rn(a[i * 16 + k], b[k * 8 + j], acc);
    parts[p][j] = acc;
    __syncthreads();
    if (p) return;
    for (int q = 1; q < SPLIT; ++q) acc = __fadd_rn(acc, parts[q][j]);
    c[i * 8 + j] = acc;
}

// Row i is 16 steps of the stream; worker p takes steps p * EACH to (p + 1) * EACH of all rows of a column.
template <int WORKERS>
__device__ void stream(const float *a, const float *b, float *c) {
    __shared__ float ends[WORKERS][8];
    const int each = 8 * 16 / WORKERS;
    int j = threadIdx.x, p = threadIdx.y, step = p * each, last = step + each;
    // What a worker begins in the middle of a row it leaves for the one that began the row.
    while (step < last) {
        int i = step / 16, end = min(last, i * 16 + 16), begin = step % 16;
        float acc = 0;
        for (; step < end; ++step) acc = __fmaf_rn(a[i * 16 + step % 16], b[step % 16 * 8 + j], acc);
        if (begin) ends[p][j] = acc;
        else c[i * 8 + j] = acc;
    }
    __syncthreads();
    if (p) return;
    for (int q = 1; q < WORKERS; ++q) {
        int i = q * each / 16;
        if (q * each % 16) c[i * 8 + j] = __fadd_rn(c[i * 8 + j], ends[q][j]);
    }
}

#ifdef PRODUCTS
KERNEL product_4(const float *a, const float *b, float *c) { product<4>(a, b, c); }
KERNEL product_8(const float *a, const float *b, float *c) { product<8>(a, b, c); }
KERNEL product_2(const float *a, const float *b, float *c) { product<2>(a, b, c); }
KERNEL split_1(const float *a, const float *b, float *c) { split<1>(a, b, c); }
KERNEL split_2(const float *a, const float *b, float *c) { split<2>(a, b, c); }
KERNEL split_4(const float *a, const float *b, float *c) { split<4>(a, b, c); }
KERNEL stream_2(const float *a, const float *b, float *c) { stream<2>(a, b, c); }
KERNEL stream_8(const float *a, const float *b, float *c) { stream<8>(a, b, c); }
KERNEL stream_16(const float *a, const float *b, float *c) { stream<16>(a, b, c); }
#endif

// ---------------------------------------------------------------- scans

#ifdef SCANS
KERNEL scan_in_order(const float *x, float *y) {
    float s = x[0];
    y[0] = s;
    for (int i = 1; i < 16; ++i) y[i] = s = __fadd_rn(s, x[i]);
}
// Hillis and Steele: each lane adds what stands 1, 2, 4, 8 places before it.
KERNEL scan_lanes(const float *x, float *y) {
    int t = threadIdx.x;
    float s = x[t];
    for (int d = 1; d < 16; d *= 2) {
        float other = __shfl_up_sync(0xffffu, s, d, 16);
        if (t >= d) s = __fadd_rn(other, s);
    }
    y[t] = s;
}
KERNEL scan_shared(const float *x, float *y) {
    __shared__ float s[2][16];
    int t = threadIdx.x, at = 0;
    s[0][t] = x[t];
    __syncthreads();
    for (int d = 1; d < 16; d *= 2, at ^= 1) {
        s[at ^ 1][t] = t >= d ? __fadd_rn(s[at][t - d], s[at][t]) : s[at][t];
        __syncthreads();
    }
    y[t] = s[at][t];
}
// Blelloch: sums up a tree and down again.
KERNEL scan_tree(const float *x, float *y) {
    __shared__ float s[16];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int d = 1; d < 16; d *= 2) {
        if (t % (2 * d) == 2 * d - 1) s[t] = __fadd_rn(s[t - d], s[t]);
        __syncthreads();
    }
    for (int d = 4; d > 0; d /= 2) {
        if (t >= 2 * d && t % (2 * d) == d - 1) s[t] = __fadd_rn(s[t - d], s[t]);
        __syncthreads();
    }
    y[t] = s[t];
}
KERNEL scan_blocks(const float *x, float *y) {
    float before = 0;
    for (int b = 0; b < 16; b += 4) {
        float s = 0;
        for (int i = b; i < b + 4; ++i) {
            s = i == b ? x[i] : __fadd_rn(s, x[i]);
            y[i] = b ? __fadd_rn(before, s) : s;
        }
        before = b ? __fadd_rn(before, s) : s;
    }
}
#endif
