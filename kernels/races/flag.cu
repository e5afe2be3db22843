// One thread publishes a value behind a flag, and the others wait for the flag. With the fences nothing is wrong, but
// that the wait ends depends on the schedule; without them, the value is read in a race.
extern "C" __global__ void ENTRY(const float* in, float* out) {
    __shared__ float value;
    __shared__ volatile int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        value = in[0];
#ifndef MUTANT_NO_FENCES
        __threadfence_block();
#endif
        flag = 1;
    } else {
        while (flag == 0) {
        }
#ifndef MUTANT_NO_FENCES
        __threadfence_block();
#endif
    }
    out[threadIdx.x] = value * in[threadIdx.x];
}
