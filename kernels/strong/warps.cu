// Warp 0 hands 32 numbers to warp 1 through shared memory, by a flag.
//
// NO_FENCE: nothing releases them.  NO_ACQUIRE: nothing acquires them.  NO_SYNCWARP: lane 0 raises the flag for all, but
// nothing says that the others have written.  LANES: every lane of warp 1 waits, else lane 0 and __syncwarp.
extern "C" __global__ void ENTRY(const float *x, float *out)
{
    __shared__ volatile int flag;
    __shared__ float d[32];
    int t = threadIdx.x;
    if (t == 0)
        flag = 0;
    __syncthreads();
    if (t < 32) {
        d[t] = 2 * x[t];
#ifndef NO_SYNCWARP
        __syncwarp();
#endif
        if (t == 0) {
#ifndef NO_FENCE
            __threadfence_block();
#endif
            flag = 1;
        }
    } else {
#ifdef LANES
        while (flag == 0)
            ;
#ifndef NO_ACQUIRE
        __threadfence_block();
#endif
#else
        if (t == 32) {
            while (flag == 0)
                ;
#ifndef NO_ACQUIRE
            __threadfence_block();
#endif
        }
        __syncwarp();
#endif
        out[t - 32] = d[63 - t];
    }
}
