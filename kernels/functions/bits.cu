// Functions of three words, bit by bit, in two forms each: the majority of SHA-2, its choice, a select by the lowest bit, a
// byte of a cyclic redundancy check.  PLAIN: as the definition says.

extern "C" __global__ void ENTRY(const unsigned *x, const unsigned *y, const unsigned *z, unsigned *out)
{
    int i = threadIdx.x;
    unsigned a = x[i], b = y[i], c = z[i];
#if defined(MAJORITY)
#if defined(PLAIN)
    out[i] = (a & b) ^ (a & c) ^ (b & c);
#elif defined(MUTANT)
    out[i] = (a | b) & (c | (a ^ b));
#else
    out[i] = (a & b) | (c & (a ^ b));
#endif
#elif defined(CHOICE)
#if defined(PLAIN)
    out[i] = (a & b) | (~a & c);
#elif defined(MUTANT)
    out[i] = b ^ (a & (b ^ c));
#else
    out[i] = c ^ (a & (b ^ c));
#endif
#elif defined(SELECT)
#if defined(PLAIN)
    out[i] = a & 1 ? b : c;
#else
    unsigned mask = 0u - (a & 1);
#if defined(MUTANT)
    out[i] = (c & mask) | (b & ~mask);
#else
    out[i] = (b & mask) | (c & ~mask);
#endif
#endif
#else
    unsigned r = a ^ (b & 255);
#pragma unroll
    for (int k = 0; k < 8; ++k)
#if defined(PLAIN)
        r = r & 1 ? (r >> 1) ^ 0xEDB88320u : r >> 1;
#elif defined(MUTANT)
        r = (r >> 1) ^ (0xEDB88320u & (0u - (r >> 1 & 1)));
#else
        r = (r >> 1) ^ (0xEDB88320u & (0u - (r & 1)));
#endif
    out[i] = r ^ c;
#endif
}
