// The place of the least of 64 numbers, the first of equal ones, as an integer of 64 bits.
//
// PLAIN: one thread, one after the other.  Else: two warps by shuffles, then the lesser of both.
// MUTANT: of equal numbers of the two warps the second is taken.
extern "C" __global__ void ENTRY(const float *x, long long *y)
{
#ifdef PLAIN
    float m = x[0];
    long long at = 0;
    for (int i = 1; i < 64; ++i)
        if (x[i] < m) {
            m = x[i];
            at = i;
        }
    y[0] = at;
#else
    __shared__ float least[2];
    __shared__ int place[2];
    int t = threadIdx.x, at = t;
    float m = x[t];
    for (int d = 16; d > 0; d /= 2) {
        float other = __shfl_down_sync(~0u, m, d);
        int there = __shfl_down_sync(~0u, at, d);
        if (other < m || (other == m && there < at)) {
            m = other;
            at = there;
        }
    }
    if (t % 32 == 0) {
        least[t / 32] = m;
        place[t / 32] = at;
    }
    __syncthreads();
#ifdef MUTANT
    if (t == 0)
        y[0] = least[1] <= least[0] ? place[1] : place[0];
#else
    if (t == 0)
        y[0] = least[1] < least[0] ? place[1] : place[0];
#endif
#endif
}
