// Gradients of the scale and the shift of a layer: rows are added up by halves of the warps, through shared memory that
// every round uses again.
extern "C" __global__ void ENTRY(const float* dy, const float* x, float* dscale, float* dshift, int rows) {
    __shared__ float part[2][4][32];
    const int column = threadIdx.x, row = threadIdx.y;
    float scale = 0, shift = 0;
    for (int i = row; i < rows; i += 8) {
        const float d = dy[i * 32 + column];
        shift += d;
        scale += d * x[i * 32 + column];
    }
    for (int half = 4; half >= 1; half /= 2) {
        if (row >= half && row < 2 * half) {
            part[0][row - half][column] = scale;
            part[1][row - half][column] = shift;
        }
        __syncthreads();
        if (row < half) {
            scale += part[0][row][column];
            shift += part[1][row][column];
        }
#ifndef MUTANT_NO_BARRIER_AFTER_USE
        __syncthreads();
#endif
    }
    if (row == 0) {
        dscale[column] = scale;
        dshift[column] = shift;
    }
}
