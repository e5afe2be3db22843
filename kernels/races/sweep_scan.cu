// Sums of all values before each one, by a tree that is walked up and down in place.
//
// MUTANT_NO_BARRIER_UP, MUTANT_NO_BARRIER_DOWN: the barrier of one of the ways is missing.

const int n = 128;

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float s[n];
    int i = threadIdx.x, step = 1;
    s[2 * i] = in[2 * i];
    s[2 * i + 1] = in[2 * i + 1];
    for (int d = n / 2; d > 0; d /= 2) {
#ifndef MUTANT_NO_BARRIER_UP
        __syncthreads();
#endif
        if (i < d)
            s[step * (2 * i + 2) - 1] += s[step * (2 * i + 1) - 1];
        step *= 2;
    }
    if (i == 0)
        s[n - 1] = 0.0f;
    for (int d = 1; d < n; d *= 2) {
        step /= 2;
#ifndef MUTANT_NO_BARRIER_DOWN
        __syncthreads();
#endif
        if (i < d) {
            int a = step * (2 * i + 1) - 1, b = step * (2 * i + 2) - 1;
            float x = s[a];
            s[a] = s[b];
            s[b] += x;
        }
    }
    __syncthreads();
    out[2 * i] = s[2 * i];
    out[2 * i + 1] = s[2 * i + 1];
}
