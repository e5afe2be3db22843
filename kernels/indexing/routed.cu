// Decoding with a paged cache, experts that tokens choose, padded rows of columns, jagged rows put together.
#define T 6
#define PAGE 2
#define H 4
#define E 3

// One query against the tokens of a paged cache; one thread for each column of the output.
extern "C" __global__ void decode(const float* q, const float* k, const float* v, const int* pages, float* o) {
    int j = threadIdx.x;
    float s[T], sum = 0, acc = 0;
    for (int t = 0; t < T; t++) {
        int row = pages[t / PAGE] * PAGE + t % PAGE;
        s[t] = 0;
        for (int d = 0; d < H; d++) s[t] += q[d] * k[row * H + d];
    }
    for (int t = 0; t < T; t++) sum += expf(s[t]);
    for (int t = 0; t < T; t++) {
        int row = pages[t / PAGE] * PAGE + t % PAGE;
        acc += expf(s[t]) * v[row * H + j];
    }
    o[j] = acc / sum;
}

// Page by page, with a running maximum; keys are staged in shared memory.
extern "C" __global__ void decode_online(const float* q, const float* k, const float* v, const int* pages, float* o) {
    __shared__ float key[PAGE * H], value[PAGE * H];
    int j = threadIdx.x;
    float m = -INFINITY, sum = 0, acc = 0;
    for (int p = 0; p < T / PAGE; p++) {
        __syncthreads();
        for (int r = 0; r < PAGE; r++) {
            key[r * H + j] = k[(pages[p] * PAGE + r) * H + j];
            value[r * H + j] = v[(pages[p] * PAGE + r) * H + j];
        }
        __syncthreads();
        for (int r = 0; r < PAGE; r++) {
            float s = 0;
            for (int d = 0; d < H; d++) s += q[d] * key[r * H + d];
            float next = fmaxf(m, s), scale = expf(m - next), w = expf(s - next);
            sum = sum * scale + w;
            acc = acc * scale + w * value[r * H + j];
            m = next;
        }
    }
    o[j] = acc / sum;
}

// Wrong: the values of the page before.
extern "C" __global__ void decode_before(const float* q, const float* k, const float* v, const int* pages, float* o) {
    int j = threadIdx.x;
    float s[T], sum = 0, acc = 0;
    for (int t = 0; t < T; t++) {
        int row = pages[t / PAGE] * PAGE + t % PAGE;
        s[t] = 0;
        for (int d = 0; d < H; d++) s[t] += q[d] * k[row * H + d];
    }
    for (int t = 0; t < T; t++) sum += expf(s[t]);
    for (int t = 0; t < T; t++) {
        int row = pages[max(t / PAGE - 1, 0)] * PAGE + t % PAGE;
        acc += expf(s[t]) * v[row * H + j];
    }
    o[j] = acc / sum;
}

// Each token by its expert; one thread for each token and column.
extern "C" __global__ void experts(const int* e, const float* w, const float* x, float* y) {
    int t = threadIdx.x / H, j = threadIdx.x % H;
    float sum = 0;
    for (int d = 0; d < H; d++) sum += x[t * H + d] * w[(e[t] * H + d) * H + j];
    y[t * H + j] = sum;
}

// Expert after expert, tokens of others masked.
extern "C" __global__ void experts_grouped(const int* e, const float* w, const float* x, float* y) {
    int t = threadIdx.x / H, j = threadIdx.x % H;
    float sum = 0;
    for (int k = 0; k < E; k++) {
        if (e[t] == k)
            for (int d = 0; d < H; d++) sum += x[t * H + d] * w[(k * H + d) * H + j];
    }
    y[t * H + j] = sum;
}

// Wrong: the last expert is never asked.
extern "C" __global__ void experts_short(const int* e, const float* w, const float* x, float* y) {
    int t = threadIdx.x / H, j = threadIdx.x % H;
    float sum = 0;
    for (int k = 0; k < E - 1; k++) {
        if (e[t] == k)
            for (int d = 0; d < H; d++) sum += x[t * H + d] * w[(k * H + d) * H + j];
    }
    y[t * H + j] = sum;
}

// Rows with a fixed number of columns (ELL); a column of -1 is padding.
extern "C" __global__ void ell(const int* cols, const float* a, const float* x, float* y) {
    int r = threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 3; k++) {
        int c = cols[r * 3 + k];
        if (c >= 0) sum += a[r * 3 + k] * x[c];
    }
    y[r] = sum;
}

// The padding reads column 0 and is dropped.
extern "C" __global__ void ell_masked(const int* cols, const float* a, const float* x, float* y) {
    int r = threadIdx.x;
    float sum = 0;
    for (int k = 2; k >= 0; k--) {
        int c = cols[r * 3 + k];
        float v = x[max(c, 0)];
        sum = fmaf(c < 0 ? 0.f : a[r * 3 + k], v, sum);
    }
    y[r] = sum;
}

// Wrong: the padding counts.
extern "C" __global__ void ell_padded(const int* cols, const float* a, const float* x, float* y) {
    int r = threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 3; k++) sum += a[r * 3 + k] * x[max(cols[r * 3 + k], 0)];
    y[r] = sum;
}

// Row b has at most 2 elements, which go to offsets[b] and after.
extern "C" __global__ void jagged(const int* offsets, const float* x, float* y) {
    int b = threadIdx.x;
    for (int i = offsets[b]; i < offsets[b + 1]; i++) y[i] = x[b * 2 + i - offsets[b]];
}

// For each element of the output, the row that it is of.
extern "C" __global__ void jagged_pull(const int* offsets, const float* x, float* y) {
    int i = threadIdx.x;
    for (int b = 0; b < 2; b++)
        if (offsets[b] <= i && i < offsets[b + 1]) y[i] = x[b * 2 + i - offsets[b]];
}

// Wrong: the end of a row is in it.
extern "C" __global__ void jagged_end(const int* offsets, const float* x, float* y) {
    int i = threadIdx.x;
    for (int b = 0; b < 2; b++)
        if (offsets[b] <= i && i <= offsets[b + 1]) y[i] = x[b * 2 + i - offsets[b]];
}
