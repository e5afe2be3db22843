// The sum of n values, whose last steps are those of one warp without barriers of the block.
//
// MUTANT_LOCK_STEP: the last warp adds through a volatile pointer, which supposes that its lanes run in lock-step.
// MUTANT_ONE_BARRIER: a barrier of the warp after each step, but none between reading and writing.

const int n = 128;

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float s[n];
    int i = threadIdx.x;
    s[i] = in[i];
    __syncthreads();
    if (i < 64)
        s[i] += s[i + 64];
    __syncthreads();
    if (i < 32) {
#if defined(MUTANT_LOCK_STEP)
        volatile float *v = s;
        for (int d = 32; d > 0; d /= 2)
            v[i] += v[i + d];
#elif defined(MUTANT_ONE_BARRIER)
        for (int d = 32; d > 0; d /= 2) {
            s[i] += s[i + d];
            __syncwarp();
        }
#else
        float x = s[i] + s[i + 32];
        for (int d = 16; d > 0; d /= 2) {
            __syncwarp();
            s[i] = x;
            __syncwarp();
            x += s[(i + d) % 32];
        }
        if (i == 0)
            out[0] = x;
        return;
#endif
        if (i == 0)
            out[0] = s[0];
    }
}
