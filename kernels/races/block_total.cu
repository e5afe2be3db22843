// The position of each value among the running sums of a block, and the total of all beside it.
//
//     out[i] = in[0] + ... + in[i] + the sum of all
//
// MUTANT_NO_TOTAL_BARRIER: one thread adds up the sums of the warps, and the others read them at once. nvcc may move
// the reads below another barrier, and then a tool that looks at one run of the machine sees nothing.

const unsigned n = 128, warps = n / 32;

extern "C" __global__ void ENTRY(const unsigned *in, unsigned *out)
{
    __shared__ unsigned sums[warps], before[warps], total;
    unsigned i = threadIdx.x, lane = i % 32;
    unsigned value = in[i];
    for (int d = 1; d < 32; d *= 2) {
        unsigned other = __shfl_up_sync(0xffffffffu, value, d);
        if (lane >= d)
            value += other;
    }
    if (lane == 31)
        sums[i / 32] = value;
    __syncthreads();
    if (i == 0) {
        unsigned sum = 0;
        for (int w = 0; w < warps; ++w) {
            before[w] = sum;
            sum += sums[w];
        }
        total = sum;
    }
#ifndef MUTANT_NO_TOTAL_BARRIER
    __syncthreads();
#endif
    out[i] = value + before[i / 32] + total;
}
