// Neighbouring threads share a word but not a byte: thread i owns byte i of the tile, and the bytes are read back four
// at a time after a barrier.  Accesses conflict by bytes, not by words: no race.
//
// MUTANT_WIDE_WRITE: the even threads write two bytes, the second of which the next thread writes as well.

const int n = 64;

extern "C" __global__ void ENTRY(const unsigned char *in, unsigned *out)
{
    __shared__ __align__(4) unsigned char bytes[n];
    int i = threadIdx.x;

#ifdef MUTANT_WIDE_WRITE
    if (i % 2 == 0)
        *reinterpret_cast<unsigned short *>(&bytes[i]) = in[i];
    else
        bytes[i] = in[i];
#else
    bytes[i] = in[i];
#endif
    __syncthreads();
    if (i < n / 4)
        out[i] = reinterpret_cast<unsigned *>(bytes)[i];
}
