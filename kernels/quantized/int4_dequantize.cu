// Weights of four bits each, eight in a word, less an offset of 8, times a scale for each word:
//
//     out[8 w + e] = (float)(((in[w] >> 4 e) & 15) - 8) * scale[w]
//
// METHOD 1: as written.  METHOD 2: the four bits are put into the low bits of the float 2^23, whose last place counts
// one; subtracting 2^23 + 8 leaves the value.

extern "C" __global__ void ENTRY(const unsigned *in, const float *scale, float *out)
{
    int w = threadIdx.x;
    unsigned word = in[w];
    for (int e = 0; e < 8; ++e) {
#if METHOD == 1
        int value = int((word >> (4 * e)) & 15) - 8;
        out[8 * w + e] = float(value) * scale[w];
#else
#ifdef MUTANT_WRONG_MASK
        unsigned bits = 0x4b000000 | ((word >> (4 * e)) & 7);
#else
        unsigned bits = 0x4b000000 | ((word >> (4 * e)) & 15);
#endif
#ifdef MUTANT_WRONG_OFFSET
        out[8 * w + e] = (__uint_as_float(bits) - 8388615.0f) * scale[w];
#else
        out[8 * w + e] = (__uint_as_float(bits) - 8388616.0f) * scale[w];
#endif
#endif
    }
}
