// Places that ranks give: what is kept of a list, keys in order, probabilities above a sum.

extern "C" __global__ void topp_rank(const float* p, float* o, float lim) {
    int r = blockIdx.x, i = threadIdx.x;
    __shared__ float k[4];
    float mine = p[r*4+i], before = 0;
    for (int j = 0; j < 4; j++) {
        float v = p[r*4+j];
        if (v > mine || (v == mine && j < i)) before += v;
    }
    k[i] = before < lim ? mine : 0.f;
    __syncthreads();
    float s = k[0]+k[1]+k[2]+k[3];
    o[r*4+i] = k[i]/s;
}

extern "C" __global__ void topp_sort(const float* p, float* o, float lim) {
    int r = blockIdx.x, i = threadIdx.x;
    __shared__ float v[4];
    __shared__ int id[4];
    __shared__ float c[4];
    v[i] = p[r*4+i];
    id[i] = i;
    __syncthreads();
    for (int pass = 0; pass < 4; pass++) {
        int a = 2*i + (pass & 1);
        if (i < 2 && a + 1 < 4) {
            if (v[a] < v[a+1]) {
                float t = v[a];
                v[a] = v[a+1];
                v[a+1] = t;
                int q = id[a];
                id[a] = id[a+1];
                id[a+1] = q;
            }
        }
        __syncthreads();
    }
    float before = 0;
    for (int j = 0; j < i; j++) before += v[j];
    c[i] = before < lim ? v[i] : 0.f;
    __syncthreads();
    float s = c[0]+c[1]+c[2]+c[3];
    o[r*4+id[i]] = c[i]/s;
}

extern "C" __global__ void topp_sort_late(const float* p, float* o, float lim) {
    int r = blockIdx.x, i = threadIdx.x;
    __shared__ float v[4];
    __shared__ int id[4];
    __shared__ float c[4];
    v[i] = p[r*4+i];
    id[i] = i;
    __syncthreads();
    for (int pass = 0; pass < 4; pass++) {
        int a = 2*i + (pass & 1);
        if (i < 2 && a + 1 < 4) {
            if (v[a] < v[a+1]) {
                float t = v[a];
                v[a] = v[a+1];
                v[a+1] = t;
                int q = id[a];
                id[a] = id[a+1];
                id[a+1] = q;
            }
        }
        __syncthreads();
    }
    float before = 0;
    for (int j = 0; j <= i; j++) before += v[j];
    c[i] = before < lim ? v[i] : 0.f;
    __syncthreads();
    float s = c[0]+c[1]+c[2]+c[3];
    o[r*4+id[i]] = c[i]/s;
}

extern "C" __global__ void compact_serial(const int* m, const float* x, float* o, int* n) {
    if (threadIdx.x == 0) {
        int k = 0;
        for (int i = 0; i < 6; i++) if (m[i]) o[k++] = x[i];
        *n = k;
    }
}

extern "C" __global__ void compact_ballot(const int* m, const float* x, float* o, int* n) {
    int i = threadIdx.x;
    bool k = m[i] != 0;
    unsigned b = __ballot_sync(0x3f, k);
    if (k) o[__popc(b & ((1u << i) - 1))] = x[i];
    if (i == 0) *n = __popc(b);
}

extern "C" __global__ void compact_scan(const int* m, const float* x, float* o, int* n) {
    __shared__ int s[6];
    int i = threadIdx.x;
    s[i] = m[i] != 0;
    __syncthreads();
    for (int d = 1; d < 6; d *= 2) {
        int v = i >= d ? s[i-d] : 0;
        __syncthreads();
        s[i] += v;
        __syncthreads();
    }
    if (m[i]) o[s[i]-1] = x[i];
    if (i == 5) *n = s[5];
}

extern "C" __global__ void compact_ballot_wrong(const int* m, const float* x, float* o, int* n) {
    int i = threadIdx.x;
    bool k = m[i] != 0;
    unsigned b = __ballot_sync(0x3f, k);
    if (k) o[__popc(b & ((2u << i) - 1))] = x[i];
    if (i == 0) *n = __popc(b);
}

extern "C" __global__ void sort_serial(const int* e, int* ord, int* off) {
    if (threadIdx.x) return;
    int k = 0;
    for (int x = 0; x < 3; x++) {
        off[x] = k;
        for (int i = 0; i < 6; i++) if (e[i] == x) ord[k++] = i;
    }
    off[3] = k;
}

extern "C" __global__ void sort_rank(const int* e, int* ord, int* off) {
    int i = threadIdx.x;
    int mine = e[i], before = 0;
    for (int j = 0; j < 6; j++) before += e[j] < mine || (e[j] == mine && j < i);
    ord[before] = i;
    if (i < 4) {
        int c = 0;
        for (int j = 0; j < 6; j++) c += e[j] < i;
        off[i] = c;
    }
}

extern "C" __global__ void sort_rank_wrong(const int* e, int* ord, int* off) {
    int i = threadIdx.x;
    int mine = e[i], before = 0;
    for (int j = 0; j < 6; j++) before += e[j] < mine || (e[j] == mine && j > i);
    ord[before] = i;
    if (i < 4) {
        int c = 0;
        for (int j = 0; j < 6; j++) c += e[j] < i;
        off[i] = c;
    }
}
