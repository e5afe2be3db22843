// out[i] = the sum of row elements i over all warps, of which the upper half hands over to the lower one in each round.
//
// MUTANT_NO_BARRIER: the lower warps read at once.
// MUTANT_NO_REUSE_BARRIER: the next round overwrites what slower warps still read.

const int n = 32, warps = 4;

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float scratch[warps / 2][n];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float sum = in[threadIdx.x];
    for (int left = warps; left > 1; left /= 2) {
        int half = left / 2;
        if (warp >= half && warp < left)
            scratch[warp - half][lane ^ 1] = sum;
#ifndef MUTANT_NO_BARRIER
        __syncthreads();
#endif
        if (warp < half)
            sum += scratch[warp][lane ^ (left == warps ? 1 : 0)];
#ifndef MUTANT_NO_REUSE_BARRIER
        __syncthreads();
#endif
    }
    if (warp == 0)
        out[lane] = sum;
}
