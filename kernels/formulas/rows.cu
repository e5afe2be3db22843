// Operators of the rows of a matrix, one thread for each row: sum, max, softmax and its kin, norms.

#include <math.h>

extern "C" __global__ void ENTRY(const float *x, const float *w, float *z, int rows, int columns)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows)
        return;
    x += i * columns;
#if defined SUM || defined MAXIMUM
    float r = x[0];
    for (int j = 1; j < columns; ++j)
#ifdef SUM
        r += x[j];
#else
        r = fmaxf(r, x[j]);
#endif
    z[i] = r;
#elif defined ARGMAX
    int best = 0;
    for (int j = 1; j < columns; ++j)
        if (x[j] > x[best])
            best = j;
    ((int *)z)[i] = best;
#elif defined SOFTMAX || defined LOG_SOFTMAX
    z += i * columns;
    float m = 0.0f, sum = 0.0f;
#ifndef PLAIN
    m = -INFINITY;
    for (int j = 0; j < columns; ++j)
        m = fmaxf(m, x[j]);
#endif
    for (int j = 0; j < columns; ++j)
        sum += expf(x[j] - m);
    for (int j = 0; j < columns; ++j)
#ifdef SOFTMAX
        z[j] = expf(x[j] - m) / sum;
#else
        z[j] = x[j] - m - logf(sum);
#endif
#elif defined LAYER_NORM
    z += i * columns;
    float mean = 0.0f, variance = 0.0f;
    for (int j = 0; j < columns; ++j)
        mean += x[j];
    mean /= columns;
    for (int j = 0; j < columns; ++j)
        variance += (x[j] - mean) * (x[j] - mean);
    variance /= columns;
    for (int j = 0; j < columns; ++j)
        z[j] = (x[j] - mean) * rsqrtf(variance + 1e-5f) * w[j] + w[columns + j];
#elif defined RMS_NORM
    z += i * columns;
    float squares = 0.0f;
    for (int j = 0; j < columns; ++j)
        squares += x[j] * x[j];
    float scale = rsqrtf(squares / columns + 1e-6f);
    for (int j = 0; j < columns; ++j)
        z[j] = x[j] * scale * w[j];
#elif defined CUMSUM
    z += i * columns;
    float sum = 0.0f;
    for (int j = 0; j < columns; ++j) {
        sum += x[j];
        z[j] = sum;
    }
#endif
}
