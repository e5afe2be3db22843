// Elements that indices of each kind choose, read and written.
typedef long long i64;

extern "C" __global__ void gather_dim(const float* x, const i64* ix, float* o) {
    int t = threadIdx.x;
    o[t] = x[t / 3 * 5 + ix[t]];
}

extern "C" __global__ void gather_dim_stride(const float* x, const i64* ix, float* o) {
    for (int t = threadIdx.x; t < 12; t += 4) {
        i64 k = ix[t];
        const float* row = x + (t/3)*5;
        o[t] = row[k];
    }
}

extern "C" __global__ void gather_dim_wrong(const float* x, const i64* ix, float* o) {
    int t = threadIdx.x;
    o[t] = x[(t%3)*5 + ix[t]];
}

extern "C" __global__ void index_add(const float* s, const int* ix, float* o) {
    int t = threadIdx.x;
    atomicAdd(&o[ix[t/2]*2 + t%2], s[t]);
}

extern "C" __global__ void index_add_serial(const float* s, const int* ix, float* o) {
    int c = threadIdx.x;
    for (int i = 0; i < 4; i++) o[ix[i]*2 + c] += s[i*2+c];
}

extern "C" __global__ void index_add_owner(const float* s, const int* ix, float* o) {
    int r = threadIdx.x / 2, c = threadIdx.x % 2;
    float a = 0;
    for (int i = 0; i < 4; i++) if (ix[i] == r) a += s[i*2+c];
    o[r*2+c] += a;
}

extern "C" __global__ void index_add_owner_wrong(const float* s, const int* ix, float* o) {
    int r = threadIdx.x / 2, c = threadIdx.x % 2;
    float a = 0;
    for (int i = 0; i < 4; i++) if (ix[i] == r) a = s[i*2+c];
    o[r*2+c] += a;
}

extern "C" __global__ void one_hot(const i64* ix, float* o) {
    int t = threadIdx.x;
    for (int c = 0; c < 5; c++) o[t*5+c] = c == ix[t] ? 1.f : 0.f;
}

extern "C" __global__ void one_hot_flat(const i64* ix, float* o) {
    int t = threadIdx.x;
    o[t] = (t%5) == ix[t/5];
}

extern "C" __global__ void one_hot_put(const i64* ix, float* o) {
    int t = threadIdx.x;
    for (int c = 0; c < 5; c++) o[t*5+c] = 0;
    o[t*5+ix[t]] = 1.f;
}

extern "C" __global__ void one_hot_put_wrong(const i64* ix, float* o) {
    int t = threadIdx.x;
    o[t*5+ix[t]] = 1.f;
    for (int c = 0; c < 4; c++) o[t*5+c] = c == ix[t];
}

extern "C" __global__ void varlen_plain(const float* x, const int* cu, float* o) {
    int t = threadIdx.x;
    float s = 0;
    int b = 0;
    while (b < 2 && t >= cu[b+1]) b++;
    for (int j = cu[b]; j <= t; j++) s += x[j];
    o[t] = s;
}

extern "C" __global__ void varlen_search(const float* x, const int* cu, float* o) {
    int t = threadIdx.x;
    int lo = 0, hi = 3;
    while (hi - lo > 1) {
        int m = (lo+hi)/2;
        if (cu[m] <= t) lo = m;
        else hi = m;
    }
    float s = 0;
    for (int j = t; j >= cu[lo]; j--) s += x[j];
    o[t] = s;
}

extern "C" __global__ void varlen_search_wrong(const float* x, const int* cu, float* o) {
    int t = threadIdx.x;
    int lo = 0, hi = 3;
    while (hi - lo > 1) {
        int m = (lo+hi)/2;
        if (cu[m] < t) lo = m;
        else hi = m;
    }
    float s = 0;
    for (int j = t; j >= cu[lo]; j--) s += x[j];
    o[t] = s;
}

extern "C" __global__ void padded_from(const float* v, const int* off, float* o) {
    int b = blockIdx.x, j = threadIdx.x;
    int n = off[b+1] - off[b];
    o[b*4+j] = j < n ? v[off[b]+j] : 0.f;
}

extern "C" __global__ void padded_from2(const float* v, const int* off, float* o) {
    int t = threadIdx.x;
    int b = t / 4, j = t % 4;
    float r = 0;
    int p = off[b] + j;
    if (p < off[b+1]) r = v[p];
    o[t] = r;
}

extern "C" __global__ void padded_from_wrong(const float* v, const int* off, float* o) {
    int t = threadIdx.x;
    int b = t / 4, j = t % 4;
    float r = 0;
    int p = off[b] + j;
    if (p <= off[b+1]) r = v[p];
    o[t] = r;
}

extern "C" __global__ void coo(const int* r, const int* c, const float* v, const float* x, float* y) {
    int i = threadIdx.x;
    atomicAdd(&y[r[i]], v[i]*x[c[i]]);
}

extern "C" __global__ void coo_rows(const int* r, const int* c, const float* v, const float* x, float* y) {
    int q = threadIdx.x;
    float s = y[q];
    for (int i = 0; i < 5; i++) s += r[i] == q ? v[i]*x[c[i]] : 0.f;
    y[q] = s;
}

extern "C" __global__ void coo_rows_wrong(const int* r, const int* c, const float* v, const float* x, float* y) {
    int q = threadIdx.x;
    float s = y[q];
    for (int i = 0; i < 5; i++) s += c[i] == q ? v[i]*x[r[i]] : 0.f;
    y[q] = s;
}

extern "C" __global__ void rope_half(const float* q, const int* pos, const float* cs, float* o) {
    int t = blockIdx.x, i = threadIdx.x;
    const float* c = cs + pos[t]*8;
    float a = q[t*8+i], b = q[t*8+i+4];
    o[t*8+i] = a*c[i] - b*c[4+i];
    o[t*8+i+4] = b*c[i] + a*c[4+i];
}

extern "C" __global__ void rope_flat(const float* q, const int* pos, const float* cs, float* o) {
    int k = threadIdx.x;
    int t = k/8, d = k%8;
    int p = pos[t];
    float c = cs[p*8 + d%4], s = cs[p*8 + 4 + d%4];
    float other = d < 4 ? -q[t*8+d+4] : q[t*8+d-4];
    o[k] = q[k]*c + other*s;
}

extern "C" __global__ void rope_flat_wrong(const float* q, const int* pos, const float* cs, float* o) {
    int k = threadIdx.x;
    int t = k/8, d = k%8;
    int p = pos[t];
    float c = cs[p*8 + d%4], s = cs[p*8 + 4 + d%4];
    float other = d < 4 ? q[t*8+d+4] : -q[t*8+d-4];
    o[k] = q[k]*c + other*s;
}

extern "C" __global__ void ce_mean(const float* x, const i64* y, float* o) {
    if (threadIdx.x) return;
    float s = 0;
    int n = 0;
    for (int r = 0; r < 3; r++) {
        i64 k = y[r];
        if (k == -100) continue;
        float z = 0;
        for (int j = 0; j < 4; j++) z += expf(x[r*4+j]);
        s += logf(z) - x[r*4+k];
        n++;
    }
    *o = s / n;
}

extern "C" __global__ void ce_mean_par(const float* x, const i64* y, float* o) {
    __shared__ float l[3];
    __shared__ int v[3];
    int r = threadIdx.x;
    i64 k = y[r];
    float m = x[r*4];
    for (int j = 1; j < 4; j++) m = fmaxf(m, x[r*4+j]);
    float z = 0;
    for (int j = 0; j < 4; j++) z += expf(x[r*4+j]-m);
    bool ok = k != -100;
    l[r] = ok ? logf(z) + m - x[r*4+(ok ? k : 0)] : 0.f;
    v[r] = ok;
    __syncthreads();
    if (r == 0) *o = (l[0]+l[1]+l[2]) / (float)(v[0]+v[1]+v[2]);
}

extern "C" __global__ void ce_mean_wrong(const float* x, const i64* y, float* o) {
    __shared__ float l[3];
    int r = threadIdx.x;
    i64 k = y[r];
    float m = x[r*4];
    for (int j = 1; j < 4; j++) m = fmaxf(m, x[r*4+j]);
    float z = 0;
    for (int j = 0; j < 4; j++) z += expf(x[r*4+j]-m);
    bool ok = k != -100;
    l[r] = ok ? logf(z) + m - x[r*4+(ok ? k : 0)] : 0.f;
    __syncthreads();
    if (r == 0) *o = (l[0]+l[1]+l[2]) / 3.f;
}

extern "C" __global__ void paged(const float* q, const float* kc, const int* bt, const int* len, float* o) {
    int n = len[0];
    float s = 0;
    for (int j = 0; j < n; j++) {
        int b = bt[j/2];
        float d = 0;
        for (int e = 0; e < 2; e++) d += q[e]*kc[(b*2 + j%2)*2 + e];
        s += d;
    }
    o[threadIdx.x] = s;
}

extern "C" __global__ void paged_masked(const float* q, const float* kc, const int* bt, const int* len, float* o) {
    float s = 0;
    for (int j = 0; j < 6; j++) {
        bool in = j < len[0];
        int b = in ? bt[j/2] : 0;
        float d = 0;
        for (int e = 0; e < 2; e++) d += in ? q[e]*kc[(b*2 + j%2)*2 + e] : 0.f;
        s += d;
    }
    o[threadIdx.x] = s;
}

extern "C" __global__ void paged_masked_wrong(const float* q, const float* kc, const int* bt, const int* len, float* o) {
    float s = 0;
    for (int j = 0; j < 6; j++) {
        bool in = j <= len[0];
        int b = in ? bt[j/2] : 0;
        float d = 0;
        for (int e = 0; e < 2; e++) d += in ? q[e]*kc[(b*2 + j%2)*2 + e] : 0.f;
        s += d;
    }
    o[threadIdx.x] = s;
}

extern "C" __global__ void cache_put(const float* k, const i64* slot, float* c) {
    int t = blockIdx.x, i = threadIdx.x;
    i64 s = slot[t];
    if (s < 0) return;
    c[s*4+i] = k[t*4+i];
}

extern "C" __global__ void cache_put_blocks(const float* k, const i64* slot, float* c) {
    int t = threadIdx.x / 4, i = threadIdx.x % 4;
    i64 s = slot[t];
    if (s < 0) return;
    i64 b = s / 2, o = s % 2;
    c[b*8 + o*4 + i] = k[t*4+i];
}

extern "C" __global__ void cache_put_wrong(const float* k, const i64* slot, float* c) {
    int t = threadIdx.x / 4, i = threadIdx.x % 4;
    i64 s = slot[t];
    i64 b = s / 2, o = s % 2;
    c[b*8 + o*4 + i] = k[t*4+i];
}
