// Reads of threads that have nothing to do: what they load in place of nothing races with the stores of others, and
// is used by nobody, unless BUG says so.
//   WAY 1: spare threads load again what the first 32 do.   WAY 2: they load the last element.
//   WAY 3: as 1, through shared memory.                       WAY 4: a shuffle with a mask of eight lanes.
//   BUG 1: a spare thread stores what it loaded.             BUG 2: it chooses an element by what it loaded.
//   BUG 3: the first threads read their neighbour's element.
#ifndef BUG
#define BUG 0
#endif

extern "C" __global__ void ENTRY(float *y, const float *m, float *z) {
    int t = threadIdx.x;
#if WAY == 1 || WAY == 3
    int i = t % 32;
#elif WAY == 2
    int i = min(t, 31);
#endif
#if WAY == 4
    if (t < 8) {
        float v = m[t];
        for (int o = BUG == 1 ? 8 : 4; o; o >>= 1)
            v += __shfl_down_sync(0xff, v, o);
        if (t == 0)
            z[0] = v;
    }
#else
    if (BUG == 3)
        i = (i + 1) % 32;
    float v = y[i];
    float w = 0.9f * v + 0.1f * m[i];
#if WAY == 3
    __shared__ float s[128];
    volatile float *own = s + t;
    *own = w;
    w = *own;
#endif
    if (t < 32)
        y[t] = w;
    else if (BUG == 1)
        z[t] = WAY == 3 ? w : v;
    else if (BUG == 2)
        z[t] = v > 0.f ? 1.f : 2.f;
#endif
}
