// A bitonic sorting network in shared memory: one barrier after each stage, or none after those of one distance.
extern "C" __global__ void ENTRY(const float* in, float* out) {
    __shared__ float v[64];
    const int t = threadIdx.x;
    v[t] = in[t];
    __syncthreads();
    for (int size = 2; size <= 64; size *= 2) {
        for (int distance = size / 2; distance > 0; distance /= 2) {
            const int partner = t ^ distance;
            if (partner > t) {
                const float a = v[t], b = v[partner];
                const bool up = (t & size) == 0;
                v[t] = up ? fminf(a, b) : fmaxf(a, b);
                v[partner] = up ? fmaxf(a, b) : fminf(a, b);
            }
#ifdef MUTANT_NO_BARRIER
            if (distance != 4)
#endif
                __syncthreads();
        }
    }
    out[t] = v[t];
}
