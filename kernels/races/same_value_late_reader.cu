// Every thread puts the same value into shared memory, but there is no barrier before it is read: the writes agree with
// each other, yet a reader may come before the write of another thread, and after its own.  This is a race of a write
// with a read, not only of equal writes.
//
// With FIXED the missing barrier is there.

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float volatile scale;
    int i = threadIdx.x;

    scale = in[0];
#ifdef FIXED
    __syncthreads();
#endif
    out[i] = in[i] * scale;
}
