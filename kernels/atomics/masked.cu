// Extremes, a sum and sets of bits over the elements whose mask is set: by atomics of 64 threads in one
// version, by a loop of one thread in the other (PLAIN), from the last element to the first.
extern "C" __global__ void ENTRY(const int *mask, const int *in, const float *x, int *out, float *sum)
{
#ifdef PLAIN
    int least = out[0], most = out[1], every = out[2], some = out[3], odd = out[4];
    unsigned top = out[5];
    float total = *sum;
    for (int i = 15; i >= 0; i--) {
#ifdef MUTANT_UNMASKED
        if (i == 3 || mask[i] > 0) {
#else
        if (mask[i] > 0) {
#endif
            least = min(least, in[i]);
            most = max(most, in[i]);
            every &= in[i];
            some |= in[i];
            odd ^= in[i];
            top = max(top, (unsigned)in[i]);
            total += x[i];
        }
    }
    out[0] = least, out[1] = most, out[2] = every, out[3] = some, out[4] = odd, out[5] = top;
    *sum = total;
#else
    int i = threadIdx.x;
    if (mask[i] > 0) {
        atomicMin(&out[0], in[i]);
        atomicMax(&out[1], in[i]);
        atomicAnd(&out[2], in[i]);
        atomicOr(&out[3], in[i]);
        atomicXor(&out[4], in[i]);
        atomicMax((unsigned *)&out[5], (unsigned)in[i]);
        atomicAdd(sum, x[i]);
    }
#endif
}
