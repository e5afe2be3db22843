// Integer instructions: products, carries, bit fields, SIMD within a register, packed dot products.
#include <cstdint>
extern "C" __global__ void integers(const int *a, const unsigned *b, long long *l, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = a[i];
    unsigned y = b[i], r = 0;
    r += __mulhi(x, (int)y) + __umulhi(y, x) + __mul24(x, y) + __umul24(x, y);
    r ^= __popc(y) + __clz(x) + __ffs(x) + __brev(y) + __byte_perm(x, y, 0x5410) + __byte_perm(x, y, threadIdx.x);
    r += __sad(x, y, r) + __usad(y, x, r) + __hadd(x, (int)y) + __rhadd(x, (int)y) + __uhadd(y, 3) + __urhadd(y, 5);
    r += __funnelshift_l(x, y, r) + __funnelshift_r(x, y, r) + __funnelshift_lc(x, y, r) + __funnelshift_rc(x, y, r);
    r += __dp4a(x, (int)y, 1) + __dp4a(y, (unsigned)x, 1u) + __dp2a_lo(x, (int)y, 2) + __dp2a_hi(x, (int)y, 3);
    r += x / 7 + x % 5 + y / 3u + y % 9u + x / (int)(y | 1) + y % (unsigned)(x | 1);
    r += min(x, 3) + max(y, 4u) + abs(x) + (x < 0 ? -x : x) + (x >> (y & 63)) + (y >> (x & 31)) + (y << (x & 31));
    r += __vadd2(x, y) + __vsub4(x, y) + __vmaxs2(x, y) + __vminu4(x, y) + __vabsdiffu4(x, y) + __vcmpgts2(x, y);
    long long p = (long long)x * y + __mul64hi((long long)x << 20, l[i]);
    unsigned long long q = __umul64hi(p, y) / (y | 1ull) + (p % 1000003) + __popcll(p) + __clzll(p) + __ffsll(p) + __brevll(p);
    p = p * l[i + 1] + (p >> (y & 63)) + (q << (x & 63)) + min(p, (long long)q) + llabs(p);
    short s = (short)x; unsigned short us = (unsigned short)y; signed char c = (signed char)y; unsigned char uc = (unsigned char)x;
    r += s * us + (short)(s / (c | 1)) + (unsigned char)(uc << 2) + (us >> 3) + (short)(s + c);
    unsigned w0 = x, w1 = y, w2;
    asm("add.cc.u32 %0, %1, %2;\n\taddc.cc.u32 %1, %1, %2;\n\taddc.u32 %2, %2, 0;" : "+r"(w0), "+r"(w1), "+r"(r));
    asm("sub.cc.u32 %0, %1, %2;\n\tsubc.u32 %0, %0, 0;" : "=r"(w2) : "r"(w0), "r"(w1));
    asm("mad.lo.cc.u32 %0, %1, %2, %0;\n\tmadc.hi.u32 %0, %1, %2, %0;" : "+r"(w2) : "r"(w0), "r"(w1));
    asm("{ .reg .pred p; lop3.or.b32 %0|p, %1, %2, %3, 0xE2, 0; selp.u32 %0, 1, %0, p; }" : "=r"(w0) : "r"(w1), "r"(w2), "r"(r));
    asm("bfe.u32 %0, %1, 3, 7;\n\tbfi.b32 %0, %0, %1, 8, 4;\n\tbfind.u32 %0, %0;\n\tfns.b32 %0, %1, 0, 1;" : "=r"(w1) : "r"(w0));
    asm("szext.wrap.s32 %0, %1, 7;\n\tbmsk.clamp.b32 %0, %0, 3;\n\tslct.u32.s32 %0, %0, %1, %1;\n\tcnot.b32 %0, %0;" : "=r"(w2) : "r"(w1));
    asm("vadd.s32.s32.s32.sat %0, %1.b0, %2.h1;\n\tvadd4.u32.u32.u32.add %0, %0, %1, %2;\n\tvmad.s32.s32.s32.shr7 %0, %1.h0, %2.b1, %0;" : "+r"(w2) : "r"(w1), "r"(w0));
    out[i] = r + w0 + w1 + w2;
    l[i] = p + q;
}
