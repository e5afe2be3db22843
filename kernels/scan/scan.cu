// Inclusive prefix sums of 64 values: out[i] = in[0] + ... + in[i].
//
// METHOD 0: each thread adds up what it needs.
// METHOD 1: in round d every thread adds what stands d places before (Hillis and Steele), with two buffers.
// METHOD 2: a tree of sums up, then down (Blelloch); 32 threads, two values each.
// METHOD 3: warps scan by shuffles, then add the sums of the warps before them.

const int n = 64;

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    int i = threadIdx.x;
#if METHOD == 0
    float sum = 0.0f;
    for (int j = 0; j <= i; ++j)
        sum += in[j];
    out[i] = sum;
#elif METHOD == 1
    __shared__ float s[2][n];
    int from = 0;
    s[0][i] = in[i];
    __syncthreads();
    for (int d = 1; d < n; d *= 2) {
#ifdef MUTANT_OFF_BY_ONE
        s[1 - from][i] = i > d ? s[from][i] + s[from][i - d] : s[from][i];
#else
        s[1 - from][i] = i >= d ? s[from][i] + s[from][i - d] : s[from][i];
#endif
        from = 1 - from;
        __syncthreads();
    }
    out[i] = s[from][i];
#elif METHOD == 2
    __shared__ float s[n];
    s[2 * i] = in[2 * i];
    s[2 * i + 1] = in[2 * i + 1];
    for (int d = 1; d < n; d *= 2) {
        __syncthreads();
        int right = (i + 1) * 2 * d - 1;
        if (right < n)
            s[right] += s[right - d];
    }
    __syncthreads();
    if (i == 0)
        s[n - 1] = 0.0f;
    for (int d = n / 2; d > 0; d /= 2) {
#ifndef MUTANT_NO_BARRIER
        __syncthreads();
#endif
        int right = (i + 1) * 2 * d - 1;
        if (right < n) {
            float left = s[right - d];
            s[right - d] = s[right];
            s[right] += left;
        }
    }
    __syncthreads();
    // The tree leaves the sum of what comes before each value.
    out[2 * i] = s[2 * i] + in[2 * i];
    out[2 * i + 1] = s[2 * i + 1] + in[2 * i + 1];
#else
    __shared__ float sums[n / 32];
    int lane = i % 32, warp = i / 32;
    float sum = in[i];
    for (int d = 1; d < 32; d *= 2) {
        float below = __shfl_up_sync(0xffffffffu, sum, d);
        if (lane >= d)
            sum += below;
    }
    if (lane == 31)
        sums[warp] = sum;
    __syncthreads();
#ifdef MUTANT_OWN_WARP
    for (int w = 0; w <= warp; ++w)
#else
    for (int w = 0; w < warp; ++w)
#endif
        sum += sums[w];
    out[i] = sum;
#endif
}
