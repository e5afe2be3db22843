// Places that a ticket, data or a partner's number choose: apart for every launch, or only for some inputs.
extern "C" __global__ void ENTRY(const int *x, int *y, int *count, int n, int k) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
#if defined(COMPACT)
    if (i < n && x[i] > 0) y[atomicAdd(count, 1)] = x[i];
#elif defined(COMPACT_PAIRS)
    if (i < n && x[i] > 0) {
        int at = atomicAdd(count, 2);
        y[at] = i;
        y[at + 1] = x[i];
    }
#elif defined(COMPACT_SHORT)
    if (i < n && x[i] > 0) {
        int at = atomicAdd(count, 1);  // Takes one place and writes two.
        y[at] = i;
        y[at + 1] = x[i];
    }
#elif defined(COMPACT_RANK)
    if (i < n) y[atomicAdd(count, threadIdx.x)] = x[i];  // The first thread and the second get one place.
#elif defined(PARTNER)
    unsigned j = i ^ k;
    if (j > i) {
        int a = y[i], b = y[j];
        if (a > b) {
            y[i] = b;
            y[j] = a;
        }
    }
#elif defined(PARTNER_BOTH)
    unsigned j = i ^ k;
    int a = y[i], b = y[j];  // Both partners exchange.
    if (a > b) {
        y[i] = b;
        y[j] = a;
    }
#elif defined(SCATTER)
    if (i < n) y[x[i]] = i;
#elif defined(SCATTER_SUM)
    if (i < n) y[x[i]] += x[i] + 1;
#elif defined(SCATTER_ATOMIC)
    if (i < n) atomicAdd(&y[x[i]], 1);
#elif defined(COPY)
    if (i < n) {  // Neighbours write the same of what they share.
        y[i] = x[i];
        y[i + 1] = x[i + 1];
    }
#elif defined(COPY_OTHER)
    if (i < n) {
        y[i] = x[i];
        y[i + 1] = x[i + 2];
    }
#endif
}
