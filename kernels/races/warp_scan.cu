// out[i] = in[0] + ... + in[i] within each warp: in round d every lane adds what the lane d below it has so far.
// Lanes read each other's words of shared memory, so reads and writes of a round are separated by __syncwarp.
//
// MUTANT_NO_SYNC_AFTER_READ, MUTANT_NO_SYNC_AFTER_WRITE: one of the two is left out.

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float s[THREADS];
    int i = threadIdx.x, lane = i % 32;

    s[i] = in[i];
    __syncwarp();

    for (int d = 1; d < 32; d *= 2) {
        float below = lane >= d ? s[i - d] : 0.0f;
#ifndef MUTANT_NO_SYNC_AFTER_READ
        __syncwarp();
#endif
        s[i] += below;
#ifndef MUTANT_NO_SYNC_AFTER_WRITE
        __syncwarp();
#endif
    }
    out[i] = s[i];
}
