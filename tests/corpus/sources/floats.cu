// Floating point: rounding modes, approximations, conversions, classification, libm.
#include <cmath>
extern "C" __global__ void floats(const float *a, const double *b, float *f, double *d, int *o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = a[i], y = a[i + 1], r = 0;
    double u = b[i], v = b[i + 1], s = 0;
    r += __fadd_rz(x, y) + __fsub_ru(x, y) + __fmul_rd(x, y) + __fmaf_rn(x, y, r) + __fmaf_rz(x, y, r) + __fdiv_rn(x, y) + __frcp_rn(x) + __fsqrt_rn(y) + __frcp_ru(x);
    r += __expf(x) + __logf(y) + __log2f(x) + __sinf(x) + __cosf(y) + __powf(x, y) + __fdividef(x, y) + __saturatef(x) + __frsqrt_rn(y) + __tanf(x);
    r += expf(x) + logf(y) + sinf(x) + cosf(y) + tanhf(x) + erff(y) + powf(x, y) + rsqrtf(x) + cbrtf(y) + atan2f(x, y) + fmodf(x, y) + exp2f(x) + log1pf(y) + expm1f(x);
    r += fminf(x, y) + fmaxf(x, y) + fabsf(x) + copysignf(x, y) + floorf(x) + ceilf(y) + truncf(x) + rintf(y) + roundf(x) + ldexpf(x, 3) + remainderf(x, y);
    s += __dadd_rz(u, v) + __dmul_ru(u, v) + __fma_rn(u, v, s) + __ddiv_rn(u, v) + __drcp_rn(u) + __dsqrt_rn(v) + fmin(u, v) + floor(u) + rint(v);
    s += exp(u) + log(v) + sin(u) + pow(u, v) + rsqrt(v) + fmod(u, v);
    int k = 0;
    k += __float2int_rn(x) + __float2int_rz(y) + __float2uint_ru(x) + __double2int_rd(u) + (int)v + (int)__float2ll_rn(x) + (int)__double2ull_rz(v);
    k += isnan(x) + isinf(y) + isfinite(u) + signbit(v) + __float_as_int(x) + (x < y) + (x != y) + (u >= v) + !(u < v) + (x > y && u < v || !(x <= y) && !(x > y));
    r += __int2float_rn(k) + __uint2float_rz(k) + (float)u + __double2float_rd(v) + (float)(short)k + (float)(unsigned char)k + __ll2float_ru(k) + __int_as_float(k);
    s += (double)x + __int2double_rn(k) + __ull2double_rn(k) + __longlong_as_double(k) + __hiloint2double(k, k + 1) + __double2hiint(u) + __double2loint(v);
    asm("tanh.approx.f32 %0, %1;\n\tex2.approx.ftz.f32 %0, %0;\n\tlg2.approx.f32 %0, %0;" : "+f"(r) : "f"(x));
    asm("{ .reg .pred p; testp.normal.f32 p, %1; @p add.sat.f32 %0, %0, 0f3F000000; }" : "+f"(r) : "f"(y));
    asm("{ .reg .f32 t; set.gt.f32.f32 t, %1, %2; add.f32 %0, %0, t; cvt.rni.f32.f32 t, %1; sub.rn.ftz.f32 %0, t, %0; }" : "+f"(r) : "f"(x), "f"(y));
    f[i] = r; d[i] = s; o[i] = k;
}
