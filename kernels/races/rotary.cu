// Pairs of values, half a row apart, are turned in place.
//
// MUTANT_ONE_EACH: a thread for each value, which also reads the other one of its pair.

const int half_row = 32;

extern "C" __global__ void ENTRY(float *x, const float *cosine, const float *sine)
{
    int i = threadIdx.x;
#ifdef MUTANT_ONE_EACH
    float other = i < half_row ? -x[i + half_row] : x[i - half_row];
    x[i] = x[i] * cosine[i] + other * sine[i];
#else
    if (i < half_row) {
        float a = x[i], b = x[i + half_row];
        x[i] = a * cosine[i] - b * sine[i];
        x[i + half_row] = b * cosine[i + half_row] + a * sine[i + half_row];
    }
#endif
}
