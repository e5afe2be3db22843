// One function of the CUDA library on numbers of which nothing is known, or only that the number is positive: each argument
// is the product of two inputs.
#ifdef HALF
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif
#ifndef TYPE
#define TYPE float
#endif
#ifdef POSITIVE
#define ARGUMENT (TYPE)exp2f((float)(a[0] * b[0]))
#else
#define ARGUMENT a[0] * b[0]
#endif
#ifdef POWER
#define FUNCTION(x) powf(x, POWER)
#endif
extern "C" __global__ void ENTRY(const TYPE* a, const TYPE* b, TYPE* out) {
#if defined(BOTH)
    TYPE first, second;
    BOTH(ARGUMENT, &first, &second);
    out[0] = first;
    out[1] = second;
#elif defined(OF_TWO)
    out[0] = OF_TWO(a[0] * b[0], a[1] * b[1]);
#elif defined(OF_THREE)
    out[0] = OF_THREE(a[0] * b[0], a[1] * b[1], a[2] * b[2]);
#else
    out[0] = FUNCTION(ARGUMENT);
#endif
}
