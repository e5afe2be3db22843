// Running sums of more values than there are threads, one part after the other.
//
// MUTANT_NO_BARRIER: the sums of the warps are read at once.
// MUTANT_NO_REUSE_BARRIER: those of the next part are written while slower warps still read these.

const int n = 64, parts = 3, warps = n / 32;

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float sums[warps];
    int i = threadIdx.x, lane = i % 32, warp = i / 32;
    float carry = 0.0f;
    for (int part = 0; part < parts; ++part) {
        float value = in[part * n + i];
        for (int d = 1; d < 32; d *= 2) {
            float other = __shfl_up_sync(0xffffffffu, value, d);
            if (lane >= d)
                value += other;
        }
        if (lane == 31)
            sums[warp] = value;
#ifndef MUTANT_NO_BARRIER
        __syncthreads();
#endif
        float before = carry;
        for (int w = 0; w < warps; ++w) {
            if (w < warp)
                before += sums[w];
            carry += sums[w];
        }
        out[part * n + i] = value + before;
#ifndef MUTANT_NO_REUSE_BARRIER
        __syncthreads();
#endif
    }
}
