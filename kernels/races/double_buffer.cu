// out[i] = sum over t of in[t][i] + in[t][(i + 1) % n], n threads, rows staged through shared memory.
//
// Two buffers take turns, so that one barrier a round is enough: a buffer is overwritten two rounds after it was
// filled, and the barrier of the round between lies after every read of it.
// MUTANT_SINGLE_BUFFER: with one buffer, the next row is written while others still read this one.
// MUTANT_HALF_OF_THE_BARRIERS: a barrier in even rounds only.

const int n = 64, rounds = 4;

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float buffer[2][n];
    int i = threadIdx.x;

    float sum = 0.0f;
    for (int t = 0; t < rounds; ++t) {
#ifdef MUTANT_SINGLE_BUFFER
        float *row = buffer[0];
#else
        float *row = buffer[t % 2];
#endif
        row[i] = in[t * n + i];
#ifdef MUTANT_HALF_OF_THE_BARRIERS
        if (t % 2 == 0)
#endif
            __syncthreads();
        sum += row[i] + row[(i + 1) % n];
    }
    out[i] = sum;
}
