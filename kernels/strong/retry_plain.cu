// Sums and maxima by one thread, one element after the other.

#include <cuda_fp16.h>

#ifndef ELEMENT
#define ELEMENT float
#endif

#ifdef HALVES
extern "C" __global__ void ENTRY(const __half2 *x, __half2 *y) {
    __half2 s = y[0];
    for (int i = 0; i < 128; i++) s = __hadd2(s, x[i]);
    y[0] = s;
}
#else
extern "C" __global__ void ENTRY(const ELEMENT *x, ELEMENT *y) {
    ELEMENT s = y[0];
#ifdef MAX
    for (int i = 0; i < 128; i++) s = fmaxf(s, x[i]);
#else
    for (int i = 0; i < 128; i++) s += x[i];
#endif
    y[0] = s;
}
#endif
