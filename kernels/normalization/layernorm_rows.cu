// Layer normalisation of rows of any length, without weights: y = (x - mean) / sqrt(variance + epsilon).
//
// FORM 1: one thread for a row, in two passes. FORM 2: one thread, by Welford's recurrence. FORM 3: a warp for a row, each
// lane by that recurrence, the lanes' parts put together as by Chan, Golub and LeVeque. FORM 4: a CTA of 256 threads
// for a row, by sums and sums of squares of four elements at a time.
#define WARP 0xffffffffu

extern "C" __global__ void ENTRY(const float *x, float *y, int n) {
    const float *row = x + (size_t)blockIdx.x * n;
    float *out = y + (size_t)blockIdx.x * n;
    int t = threadIdx.x;
#if FORM == 1
    float mean = 0, squares = 0;
    for (int i = 0; i < n; ++i) mean += row[i];
    mean /= n;
    for (int i = 0; i < n; ++i) squares += (row[i] - mean) * (row[i] - mean);
    float scale = rsqrtf(squares / n + 1e-5f);
    for (int i = 0; i < n; ++i) out[i] = (row[i] - mean) * scale;
#elif FORM == 2
    float mean = 0, squares = 0;
    for (int i = 0; i < n; ++i) {
        float apart = row[i] - mean;
        mean += apart / (i + 1);
        squares += apart * (row[i] - mean);
    }
    float scale = rsqrtf(squares / n + 1e-5f);
    for (int i = 0; i < n; ++i) out[i] = (row[i] - mean) * scale;
#elif FORM == 3
    float mean = 0, squares = 0, count = 0;
    for (int i = t; i < n; i += 32) {
        count += 1;
        float apart = row[i] - mean;
        mean += apart / count;
#ifdef MUTANT_OLD_MEAN
        squares += apart * apart;
#else
        squares += apart * (row[i] - mean);
#endif
    }
    for (int step = 16; step > 0; step /= 2) {
        float other = __shfl_xor_sync(WARP, mean, step);
        float others = __shfl_xor_sync(WARP, squares, step);
        float counted = __shfl_xor_sync(WARP, count, step);
        float both = count + counted, apart = other - mean;
        mean += apart * counted / both;
#ifdef MUTANT_NOT_WEIGHTED
        squares += others + apart * apart * count;
#else
        squares += others + apart * apart * count * counted / both;
#endif
        count = both;
    }
    float scale = rsqrtf(squares / n + 1e-5f);
    for (int i = t; i < n; i += 32) out[i] = (row[i] - mean) * scale;
#else
    __shared__ float parts[2][8];
    float sum = 0, squares = 0;
    for (int i = t; i < n / 4; i += 256) {
        float4 v = ((const float4 *)row)[i];
        sum += v.x + v.y + v.z + v.w;
        squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(WARP, sum, step);
        squares += __shfl_xor_sync(WARP, squares, step);
    }
    if (t % 32 == 0) {
        parts[0][t / 32] = sum;
        parts[1][t / 32] = squares;
    }
    __syncthreads();
    sum = squares = 0;
    for (int i = 0; i < 8; ++i) {
        sum += parts[0][i];
        squares += parts[1][i];
    }
    float mean = sum / n;
    float scale = rsqrtf(squares / n - mean * mean + 1e-5f);
    for (int i = t; i < n / 4; i += 256) {
        float4 v = ((const float4 *)row)[i];
        v.x = (v.x - mean) * scale, v.y = (v.y - mean) * scale, v.z = (v.z - mean) * scale, v.w = (v.w - mean) * scale;
        ((float4 *)out)[i] = v;
    }
#endif
}
