// Every lane of a warp stores the sum of all to the place that one of them read: a read cannot see what is made from
// what it returned.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncwarp();
    float v = s[t];
#ifdef MUTANT_NOT_USED
    float w = t == 0 ? x[0] : v;
    for (int o = 16; o; o >>= 1) w += __shfl_xor_sync(0xffffffffu, w, o);
    if (t == 0) y[32] = v;
    v = w;
#else
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
#endif
#ifdef MUTANT_LATE
    float late = s[(t + 1) % 32];
#endif
#ifdef MUTANT_CHOSEN
    v = x[32] > 0.f ? v : 0.f;
#endif
#ifdef MUTANT_NEXT
    s[1] = v;
    s[0] = 0.f;
#else
    s[0] = v;
#endif
    __syncwarp();
    y[t] = s[0];
#ifdef MUTANT_NEXT
    y[t] += s[1];
#endif
#ifdef MUTANT_LATE
    y[t] += late;
#endif
}
