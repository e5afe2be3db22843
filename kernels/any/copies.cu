// Copies behind a thread's back, and rows of matrices that other lanes read: any grid, any number of tiles.
__device__ unsigned place(const void *p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ void copy(const void *to, const void *from, bool reads) {
    int size = reads ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place(to)), "l"(from), "r"(size) : "memory");
}
__device__ void wait() { asm volatile("cp.async.wait_all;" ::: "memory"); }

extern "C" __global__ void ENTRY(const float4 *x, float *y, int n) {
    __shared__ __align__(128) float4 s[256];
    int t = threadIdx.x;
    const float *own = reinterpret_cast<const float *>(s);
#if defined(REVERSED)
    int i = blockIdx.x * 256 + t;
    copy(&s[t], &x[i], i < n);
    wait();
#ifndef NO_BARRIER
    __syncthreads();
#endif
    y[i] = own[4 * (255 - t)];
#elif defined(NOT_WAITED)
    int i = blockIdx.x * 256 + t;
    copy(&s[t], &x[i], i < n);
    __syncthreads();
    y[i] = own[4 * t];  // Its own copy may be under way.
    wait();
#elif defined(BARRIER_FIRST)
    int i = blockIdx.x * 256 + t;
    copy(&s[t], &x[i], i < n);
    __syncthreads();
    wait();  // Others are not waited for.
    y[i] = own[4 * (255 - t)];
#elif defined(TILES)
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < n; k++) {
        copy(&s[t], &x[k * 256 + t], true);
        wait();
        __syncthreads();
        sum += own[4 * (255 - t)];
        // The next tile may come while others read this one.
    }
    y[blockIdx.x * 256 + t] = sum;
#elif defined(ROWS)
    // A warp writes its rows, and any lane reads a part of each.
    float4 *mine = s + t / 32 * 32;
    mine[t % 32] = x[blockIdx.x * 256 + t];
#ifndef NO_BARRIER
    __syncwarp();
#endif
    unsigned a, b, c, d;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "r"(place(&mine[t % 32])));
    y[blockIdx.x * 256 + t] = __uint_as_float(a ^ b ^ c ^ d);
#elif defined(ROWS_STORED)
    // Four rows for each of the first warps, from registers of all lanes.
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(place(&s[t ROW])), "r"(n), "r"(t), "r"(n), "r"(t) : "memory");
    __syncthreads();
    y[blockIdx.x * 256 + t] = own[t];
#endif
}
