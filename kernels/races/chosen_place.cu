// Each thread leaves its value in its own place or in its neighbour's, as the data say, and reads its own after a barrier.
//
// All threads look at one number, so that either all go to their own place or all to their neighbour's.
// MUTANT_OWN_CHOICE: each thread looks at its own number, and two may go to one place.

extern "C" __global__ void ENTRY(const float *x, float *y)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    float v = x[t];
#ifdef MUTANT_OWN_CHOICE
    float chosen = v * v - 3.0f * v;
#else
    float chosen = x[0] * x[0] - 3.0f * x[0];
#endif
    if (chosen > 0.0f)
        s[t] = v;
    else
        s[t ^ 1] = v + 1.0f;
    __syncthreads();
    y[t] = s[t];
}
