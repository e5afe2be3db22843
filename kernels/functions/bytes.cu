// Products of bytes with signs at two widths: the macro FORM chooses which.
extern "C" __global__ void ENTRY(const signed char *x, const signed char *y, int *out) {
    int t = threadIdx.x;
#if FORM == 0
    out[t] = (int)x[t] * (int)y[t];
#elif FORM == 1
    short p;
    asm("mul.lo.s16 %0, %1, %2;" : "=h"(p) : "h"((short)x[t]), "h"((short)y[t]));
    out[t] = p;
#else
    out[t] = (int)(unsigned char)x[t] * (int)y[t];
#endif
}
