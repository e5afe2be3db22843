// The score of a query and a key of 2 with rotary embeddings at two positions.
//
// STYLE 1: both are rotated, each by its angle.
// STYLE 2: by the difference of the angles.

extern "C" __global__ void ENTRY(const float *angle, const float *q, const float *k, float *score)
{
#if STYLE == 1
    float c0 = cosf(angle[0]), s0 = sinf(angle[0]);
    float c1 = cosf(angle[1]), s1 = sinf(angle[1]);
    float a = q[0] * c0 - q[1] * s0, b = q[0] * s0 + q[1] * c0;
    float d = k[0] * c1 - k[1] * s1, e = k[0] * s1 + k[1] * c1;
    score[0] = a * d + b * e;
#else
    float c = cosf(angle[0] - angle[1]), s = sinf(angle[0] - angle[1]);
    float along = (q[0] * k[0] + q[1] * k[1]) * c;
    float across = (q[0] * k[1] - q[1] * k[0]) * s;
#ifdef MUTANT_OTHER_WAY
    score[0] = along - across;
#else
    score[0] = along + across;
#endif
#endif
}
