// Elements at places that data choose, one thread for each element of the result.

extern "C" __global__ void ENTRY(const float *x, const int *at, float *z, int rows, int columns)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef TAKE
    if (t < rows * columns)
        z[t] = x[at[t / columns] * columns + t % columns];
#elif defined PICK
    // The loss of a row whose class is given; a row of class -1 has none.
    if (t >= rows)
        return;
    int c = at[t];
    z[t] = c == -1 ? 0.0f : -x[t * columns + c];
#endif
}
