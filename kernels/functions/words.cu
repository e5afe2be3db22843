// Integers in several spellings, one for each thread: the macro FORM chooses which.
#define NEGATE 0
#define COMPLEMENT_AND_ONE 1
#define COMPLEMENT 2
#define TIMES_TWELVE 3
#define SHIFTS_AND_SUM 4
#define SHIFTS_AND_WRONG_SUM 5
#define COUNT 6
#define COUNT_BY_FIELDS 7
#define COUNT_BY_WRONG_FIELDS 8
#define AVERAGE 9
#define AVERAGE_BY_BITS 10
#define AVERAGE_ROUNDED_UP 11
#define MAJORITY_OF_FIVE 12
#define MAJORITY_BY_NETWORK 13
#define MAJORITY_WITHOUT_ONE 14
#define ROTATE 15
#define ROTATE_BY_FUNNEL 16
#define ROTATE_THE_OTHER_WAY 17
#define SATURATED 18
#define SATURATED_BY_SIGNS 19
#define SATURATED_ONE_SIDE 20
#define POWER_OF_TWO 21
#define POWER_OF_TWO_BY_COUNT 22
#define POWER_OF_TWO_OR_ZERO 23

extern "C" __global__ void ENTRY(const unsigned *in, unsigned *out) {
    unsigned t = threadIdx.x, a = in[t], b = in[t + 32];
#if FORM == NEGATE
    out[t] = b - a;
#elif FORM == COMPLEMENT_AND_ONE
    unsigned c;
    asm("not.b32 %0, %1;" : "=r"(c) : "r"(a));
    asm("add.u32 %0, %1, 1;" : "=r"(c) : "r"(c));
    out[t] = c + b;
#elif FORM == COMPLEMENT
    unsigned c;
    asm("not.b32 %0, %1;" : "=r"(c) : "r"(a));
    out[t] = c + b;
#elif FORM == TIMES_TWELVE
    out[t] = a * 12u + (b & 0xffffu) * 65536u;
#elif FORM == SHIFTS_AND_SUM
    unsigned c = a << 2, d = a << 3, e = b << 16;
    asm("add.u32 %0, %0, %1;" : "+r"(e) : "r"(c));
    asm("add.u32 %0, %0, %1;" : "+r"(e) : "r"(d));
    out[t] = e;
#elif FORM == SHIFTS_AND_WRONG_SUM
    out[t] = (a << 2) + (a << 3) + (b << 15);
#elif FORM == COUNT
    out[t] = __popc(a);
#elif FORM == COUNT_BY_FIELDS || FORM == COUNT_BY_WRONG_FIELDS
    unsigned v = a - ((a >> 1) & 0x55555555u);
    v = (v & 0x33333333u) + ((v >> 2) & 0x33333333u);
#if FORM == COUNT_BY_FIELDS
    v = (v + (v >> 4)) & 0x0f0f0f0fu;
#else
    v = (v + (v >> 4)) & 0x0f0f070fu;
#endif
    out[t] = (v * 0x01010101u) >> 24;
#elif FORM == AVERAGE
    out[t] = (unsigned)(((unsigned long long)a + b) >> 1);
#elif FORM == AVERAGE_BY_BITS
    out[t] = (a & b) + ((a ^ b) >> 1);
#elif FORM == AVERAGE_ROUNDED_UP
    out[t] = (a | b) - ((a ^ b) >> 1);
#elif FORM == MAJORITY_OF_FIVE
    unsigned c = in[t + 64], d = in[t + 96], e = in[t + 128], sum = 0;
    for (int i = 0; i < 32; ++i) {
        unsigned n = (a >> i & 1) + (b >> i & 1) + (c >> i & 1) + (d >> i & 1) + (e >> i & 1);
        sum |= (n >= 3 ? 1u : 0u) << i;
    }
    out[t] = sum;
#elif FORM == MAJORITY_BY_NETWORK || FORM == MAJORITY_WITHOUT_ONE
    unsigned c = in[t + 64], d = in[t + 96], e = in[t + 128];
    unsigned low = a & b, high = a | b, low2 = c & d, high2 = c | d;
    unsigned x = low | low2, y = high & high2;
#if FORM == MAJORITY_BY_NETWORK
    out[t] = (x & y) | (e & (x | y));
#else
    out[t] = (x & y) | (e & x);
#endif
#elif FORM == ROTATE
    unsigned n = b & 31;
    out[t] = n == 0 ? a : (a << n) | (a >> (32 - n));
#elif FORM == ROTATE_BY_FUNNEL
    out[t] = __funnelshift_l(a, a, b);
#elif FORM == ROTATE_THE_OTHER_WAY
    out[t] = __funnelshift_r(a, a, b);
#elif FORM == SATURATED
    long long sum = (long long)(int)a + (int)b;
    sum = sum > 2147483647ll ? 2147483647ll : sum;
    out[t] = (unsigned)(sum < -2147483648ll ? -2147483648ll : sum);
#elif FORM == SATURATED_BY_SIGNS || FORM == SATURATED_ONE_SIDE
    unsigned sum = a + b, most = (a >> 31) + 0x7fffffffu;
#if FORM == SATURATED_BY_SIGNS
    out[t] = (int)((a ^ b) | ~(b ^ sum)) >= 0 ? most : sum;
#else
    out[t] = (int)((a ^ b) | ~(b ^ sum)) >= 0 ? 0x7fffffffu : sum;
#endif
#elif FORM == POWER_OF_TWO
    out[t] = a != 0 && (a & (a - 1)) == 0;
#elif FORM == POWER_OF_TWO_BY_COUNT
    out[t] = __popc(a) == 1;
#else
    out[t] = (a & (a - 1)) == 0;
#endif
}
