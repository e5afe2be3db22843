// out[x][y] = in[y][x] for 32 x 32 values, one row after the other.

const int n = 32;

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    for (int y = 0; y < n; ++y)
        out[threadIdx.x * n + y] = in[y * n + threadIdx.x];
}
