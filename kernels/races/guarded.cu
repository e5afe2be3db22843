// An output that is written for some inputs only keeps what it held for the others: that is no uninitialised read.
// A read of it is one, unless it happens only where it was written.
extern "C" __global__ void ENTRY(const TYPE *x, TYPE *y, int n) {
    int i = threadIdx.x;
#ifdef BOUND
    if (i < n) y[i] = x[i];
#elif defined(TWICE)
    TYPE v = x[i];
    if (v > (TYPE)0) {
        y[i] = v;
        __threadfence_block();
        y[i] = *(volatile TYPE *)&y[i] + v;
    }
#else
    TYPE v = x[i];
    if (v > (TYPE)0) y[i] = v + v;
#endif
#ifdef MUTANT_READ
    y[i] = *(volatile TYPE *)&y[i] + (TYPE)1;
#endif
}
