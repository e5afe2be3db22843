// What kernels with barriers of the grid compute, element by element.

extern "C" __global__ void ENTRY(const float *x, float *part, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
#ifdef TWICE
    float v = x[((i + 11) % n + 37) % n];
    y[i] = v * v + 1.0f;
#else
    float v = x[(i + 37) % n];
    y[i] = v * v;
#endif
}
