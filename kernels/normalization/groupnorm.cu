// Group normalisation of 8 channels of 8 values each, in 2 groups of 4 channels, 64 threads.
//
//     y[c][p] = (x[c][p] - mean(group of c)) / sqrt(var(group of c) + eps) * gamma[c] + beta[c]
//
// PLAIN: each thread runs over its group.  Else: a group is one warp, mean and mean square go through shuffles.

const int channels = 8, pixels = 8, groups = 2, size = channels / groups * pixels;

extern "C" __global__ void ENTRY(const float *x, const float *gamma, const float *beta, float *y)
{
    int i = threadIdx.x, c = i / pixels;
    float value = x[i];
#ifdef PLAIN
    int first = i / size * size;
    float mean = 0.0f, var = 0.0f;
    for (int j = 0; j < size; ++j)
        mean += x[first + j];
    mean /= size;
    for (int j = 0; j < size; ++j)
        var += (x[first + j] - mean) * (x[first + j] - mean);
    var /= size;
#else
    float mean = value, square = value * value;
#ifdef MUTANT_HALF_A_GROUP
    for (int d = size / 4; d > 0; d /= 2) {
#else
    for (int d = size / 2; d > 0; d /= 2) {
#endif
        mean += __shfl_xor_sync(0xffffffffu, mean, d);
        square += __shfl_xor_sync(0xffffffffu, square, d);
    }
    mean /= size;
    float var = square / size - mean * mean;
#endif
    float normal = (value - mean) * rsqrtf(var + 1e-5f);
#ifdef MUTANT_WRONG_CHANNEL
    y[i] = normal * gamma[i % channels] + beta[c];
#else
    y[i] = normal * gamma[c] + beta[c];
#endif
}
