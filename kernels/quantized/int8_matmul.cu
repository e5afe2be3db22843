// A product of 8-bit integer matrices with scales: A is 8 x 16 with a scale a row, B is 16 x 8 with a scale a column,
// B is stored by columns.
//
//     C[r][c] = scale_a[r] * scale_b[c] * (sum over k of A[r][k] * B[k][c])
//
// METHOD 1: integers, one by one.  METHOD 2: four at a time as one word, by the dot product instruction.
// METHOD 3: values are first turned into floats and scaled, then multiplied.

const int n = 8, depth = 16;

extern "C" __global__ void ENTRY(const signed char *A, const signed char *B, const float *scale_a, const float *scale_b,
                                 float *C)
{
    int r = threadIdx.x / n, c = threadIdx.x % n;
#if METHOD == 1
    int sum = 0;
    for (int k = 0; k < depth; ++k)
        sum += int(A[r * depth + k]) * int(B[c * depth + k]);
    C[threadIdx.x] = scale_a[r] * scale_b[c] * float(sum);
#elif METHOD == 2
    const int *a = reinterpret_cast<const int *>(A), *b = reinterpret_cast<const int *>(B);
    int sum = 0;
#ifdef MUTANT_DROPPED_WORD
    for (int k = 1; k < depth / 4; ++k)
#else
    for (int k = 0; k < depth / 4; ++k)
#endif
        sum = __dp4a(a[r * depth / 4 + k], b[c * depth / 4 + k], sum);
    C[threadIdx.x] = float(sum) * scale_a[r] * scale_b[c];
#else
    float sum = 0.0f;
#ifdef MUTANT_WRONG_SCALE
    for (int k = 0; k < depth; ++k)
        sum += scale_a[c] * float(A[r * depth + k]) * (scale_b[c] * float(B[c * depth + k]));
#else
    for (int k = 0; k < depth; ++k)
        sum += scale_a[r] * float(A[r * depth + k]) * (scale_b[c] * float(B[c * depth + k]));
#endif
    C[threadIdx.x] = sum;
#endif
}
