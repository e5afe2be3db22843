// Numbers chosen among a few by their order: the macro FORM chooses how.
#define CLAMPED 0
#define CLAMPED_BY_BRANCHES 1
#define CLAMPED_THE_WRONG_WAY 2
#define MEDIAN_OF_FIVE 3
#define MEDIAN_BY_EXCHANGES 4
#define MEDIAN_WITHOUT_AN_EXCHANGE 5
#define SOFT_THRESHOLD 6
#define SOFT_THRESHOLD_BY_MAXIMA 7
#define SOFT_THRESHOLD_TWICE 8
#define RANGE 9
#define RANGE_BY_DISTANCES 10
#define RANGE_WITHOUT_ONE 11
#define HAT 12
#define HAT_BY_BRANCHES 13
#define HAT_TOO_WIDE 14
#define SCALED 15
#define SCALED_INSIDE 16
#define SCALED_WITH_A_SIGN 17

__device__ void exchange(float &a, float &b) {
    float low = fminf(a, b), high = fmaxf(a, b);
    a = low;
    b = high;
}

extern "C" __global__ void ENTRY(const float *in, float *out) {
    int t = threadIdx.x;
    float a = in[t], b = in[t + 8], c = in[t + 16], d = in[t + 24], e = in[t + 32];
#if FORM == CLAMPED
    out[t] = fminf(fmaxf(a, -1.f), 2.f) * b;
#elif FORM == CLAMPED_BY_BRANCHES
    out[t] = a > 2.f ? b + b : a < -1.f ? -b : a * b;
#elif FORM == CLAMPED_THE_WRONG_WAY
    out[t] = a > 2.f ? b + b : a < -1.f ? b : a * b;
#elif FORM == MEDIAN_OF_FIVE
    float v[5] = {a, b, c, d, e}, m = 0.f;
    for (int i = 0; i < 5; ++i) {
        int below = 0;
        for (int j = 0; j < 5; ++j) below += v[j] < v[i] || (v[j] == v[i] && j < i);
        if (below == 2) m = v[i];
    }
    out[t] = m;
#elif FORM == MEDIAN_BY_EXCHANGES || FORM == MEDIAN_WITHOUT_AN_EXCHANGE
    exchange(a, b);
    exchange(d, e);
    exchange(a, d);
    exchange(b, e);
#if FORM == MEDIAN_BY_EXCHANGES
    exchange(b, c);
#endif
    exchange(c, d);
    exchange(b, c);
    out[t] = c;
#elif FORM == SOFT_THRESHOLD
    out[t] = a > 1.f ? a - 1.f : a < -1.f ? a + 1.f : 0.f;
#elif FORM == SOFT_THRESHOLD_BY_MAXIMA
    out[t] = fmaxf(a - 1.f, 0.f) - fmaxf(-1.f - a, 0.f);
#elif FORM == SOFT_THRESHOLD_TWICE
    out[t] = fmaxf(a - 1.f, 0.f) - fmaxf(-2.f - a, 0.f);
#elif FORM == RANGE
    out[t] = fmaxf(fmaxf(a, b), c) - fminf(fminf(a, b), c);
#elif FORM == RANGE_BY_DISTANCES
    out[t] = 0.5f * (fabsf(a - b) + fabsf(b - c) + fabsf(c - a));
#elif FORM == RANGE_WITHOUT_ONE
    out[t] = fmaxf(fabsf(a - b), fabsf(b - c));
#elif FORM == HAT
    out[t] = fmaxf(1.f - fabsf(a), 0.f);
#elif FORM == HAT_BY_BRANCHES
    out[t] = a <= -1.f || a >= 1.f ? 0.f : a < 0.f ? 1.f + a : 1.f - a;
#elif FORM == HAT_TOO_WIDE
    out[t] = a <= -2.f || a >= 2.f ? 0.f : a < 0.f ? 1.f + a : 1.f - a;
#elif FORM == SCALED
    out[t] = fabsf(a) * fmaxf(b, c);
#elif FORM == SCALED_INSIDE
    out[t] = fmaxf(fabsf(a) * b, fabsf(a) * c);
#else
    out[t] = fmaxf(a * b, a * c);
#endif
}
