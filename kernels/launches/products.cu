// A matrix product C += A B of M x K and K x N, added up by launches of many shapes.
//
// FORM 1: a thread for each element.  FORM 2: tiles with tails, one for each CTA.  FORM 3: the same with the numbers of
// CTAs swizzled, so that neighbours share columns.  FORM 4: a persistent launch, each CTA walks over tiles.  FORM 5: the
// depth split over blockIdx.z, added by atomics.  FORM 6: equal shares of all steps of all tiles (stream-k), so that a CTA
// begins and ends within tiles.

#ifndef TILE
#define TILE 8
#endif

typedef const float *In;

__device__ float part(In A, In B, int N, int K, int r, int c, int from, int to)
{
    float sum = 0.0f;
    for (int k = from; k < to; ++k)
        sum += A[r * K + k] * B[k * N + c];
    return sum;
}

__device__ void tile(In A, In B, float *C, int M, int N, int K, int by, int bx)
{
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y, r = by * TILE + ty, c = bx * TILE + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        as[ty][tx] = r < M && k0 + tx < K ? A[r * K + k0 + tx] : 0.0f;
        bs[ty][tx] = k0 + ty < K && c < N ? B[(k0 + ty) * N + c] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k)
            sum += as[ty][k] * bs[k][tx];
#ifdef MUTANT_NO_BARRIER
        // The next tile of the walk is staged while others still read this one.
        if (k0 + TILE < K)
#endif
            __syncthreads();
    }
    if (r < M && c < N)
        C[r * N + c] += sum;
}

extern "C" __global__ void ENTRY(In A, In B, float *C, int M, int N, int K)
{
    int across = (N + TILE - 1) / TILE, down = (M + TILE - 1) / TILE;
#if FORM == 1 || FORM == 5
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    int share = (K + gridDim.z - 1) / gridDim.z, from = blockIdx.z * share, to = min(K, from + share);
#ifdef MUTANT_LAST_LOST
    to = min(to, K - 1);
#endif
    if (r < M && c < N) {
        float sum = part(A, B, N, K, r, c, from, to);
#if FORM == 1
        C[r * N + c] += sum;
#else
        atomicAdd(&C[r * N + c], sum);
#endif
    }
#elif FORM == 2
    tile(A, B, C, M, N, K, blockIdx.y, blockIdx.x);
#elif FORM == 3
    const int group = 2;
    int first = blockIdx.x / (group * across) * group, size = min(down - first, group);
    int within = blockIdx.x % (group * across);
    tile(A, B, C, M, N, K, first + within % size, within / size);
#elif FORM == 4
    for (int t = blockIdx.x; t < across * down; t += gridDim.x)
        tile(A, B, C, M, N, K, t / across, t % across);
#else
    const int step = 4;
    int each = K / step, all = across * down * each, share = (all + gridDim.x - 1) / gridDim.x;
    int at = blockIdx.x * share, end = min(all, at + share);
    while (at < end) {
        int t = at / each, from = at % each, to = min(each, from + end - at);
        int r = t / across * TILE + threadIdx.x / TILE, c = t % across * TILE + threadIdx.x % TILE;
#ifdef MUTANT_PLAIN_ADD
        C[r * N + c] += part(A, B, N, K, r, c, from * step, to * step);
#else
        atomicAdd(&C[r * N + c], part(A, B, N, K, r, c, from * step, to * step));
#endif
        at += to - from;
    }
#endif
}
