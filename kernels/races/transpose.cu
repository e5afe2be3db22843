// out[x][y] = in[y][x] for 32 x 32 values and 32 x 8 threads, through a padded tile in shared memory.
//
// MUTANT_NO_BARRIER: a thread reads what another has perhaps not written yet.
// MUTANT_WARP_BARRIER: __syncwarp orders only lanes of one warp, but a warp reads a column, which all warps wrote.

const int n = 32, rows = 8;

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float tile[n][n + 1];
    int x = threadIdx.x, y0 = threadIdx.y;

    for (int y = y0; y < n; y += rows)
        tile[y][x] = in[y * n + x];
#if defined(MUTANT_WARP_BARRIER)
    __syncwarp();
#elif !defined(MUTANT_NO_BARRIER)
    __syncthreads();
#endif
    for (int y = y0; y < n; y += rows)
        out[y * n + x] = tile[x][y];
}
