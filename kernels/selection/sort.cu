// COUNT numbers in order, by one thread in registers: insertion, or a network of exchanges without branches.
#include "selection.cuh"
extern "C" __global__ void ENTRY(const TYPE* in, TYPE* out) {
    TYPE v[COUNT];
#pragma unroll
    for (int i = 0; i < COUNT; i++) v[i] = in[i];
#ifdef NETWORK
    bitonic<COUNT>(v);
#else
    insertion<COUNT>(v);
#endif
#pragma unroll
    for (int i = 0; i < COUNT; i++) out[i] = v[i];
}
