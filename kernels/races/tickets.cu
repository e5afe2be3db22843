// Threads of all CTAs take tickets of one counter: in every execution each is another place, whatever a CTA would find alone.
// With BESIDE what every CTA writes does not depend on its tickets, and races.
extern "C" __global__ void ENTRY(const int *x, unsigned *count, int *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#if defined(BESIDE)
    y[64 + i] = atomicAdd(count, 1);
    y[threadIdx.x] = x[i];
#elif defined(OF_CTA)
    // One thread of each CTA takes places for all of its threads.
    __shared__ unsigned first;
    if (threadIdx.x == 0)
        first = atomicAdd(count, blockDim.x);
    __syncthreads();
    y[first + threadIdx.x] = 2 * x[i];
#else
    y[atomicAdd(count, 1) & 63] = x[i];
#endif
}
