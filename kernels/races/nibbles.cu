// Numbers of four bits, two in each byte.
//
// MUTANT_ONE_EACH: a thread for each number, which rewrites the other half of the byte.

const int n = 64;

extern "C" __global__ void ENTRY(const unsigned *in, unsigned char *out)
{
    int i = threadIdx.x;
#ifdef MUTANT_ONE_EACH
    unsigned char old = out[i / 2];
    out[i / 2] = i % 2 ? (old & 15) | (in[i] << 4) : (old & 240) | (in[i] & 15);
#else
    if (i < n / 2)
        out[i] = (in[2 * i] & 15) | (in[2 * i + 1] << 4);
#endif
}
