// Two arrays in one piece of dynamic shared memory.
//
// MUTANT_WRONG_SIZE: the second starts before the first ends.

const int n = 64;

extern __shared__ char memory[];

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    float *a = (float *)memory;
#ifdef MUTANT_WRONG_SIZE
    float *b = (float *)(memory + n * sizeof(short));
#else
    float *b = (float *)(memory + n * sizeof(float));
#endif
    int i = threadIdx.x;
    a[i] = in[i];
    b[i] = 2.0f * in[i];
    __syncthreads();
    out[i] = a[n - 1 - i] + b[(i + 1) % n];
}
