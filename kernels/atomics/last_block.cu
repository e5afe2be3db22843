// The block that draws the last ticket adds up what all have written.  Which one that is depends on the schedule.
__device__ unsigned tickets;
__device__ float parts[8];

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ bool last;
    int t = threadIdx.x, b = blockIdx.x;
    if (t == 0) {
        parts[b] = in[2 * b] + in[2 * b + 1];
        __threadfence();
        last = atomicInc(&tickets, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        __threadfence();
        float sum = 0;
        for (unsigned i = 0; i < gridDim.x; i++) sum += ((volatile float *)parts)[i];
        *out = sum;
    }
}
