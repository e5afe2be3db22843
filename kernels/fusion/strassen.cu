// C = A * B for 8 x 8 matrices.
//
// PLAIN: 64 threads, one for each element.
// Else:  one level of Strassen's recursion with 4 x 4 blocks: seven products of sums of blocks instead of eight
//        products.  16 threads, each works on one element of every block.

const int n = 8, h = 4;

extern "C" __global__ void ENTRY(const float *A, const float *B, float *C)
{
#ifdef PLAIN
    int r = threadIdx.x / n, c = threadIdx.x % n;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k)
        sum += A[r * n + k] * B[k * n + c];
    C[r * n + c] = sum;
#else
    __shared__ float left[7][h][h], right[7][h][h];
    int r = threadIdx.x / h, c = threadIdx.x % h;
    float a11 = A[r * n + c], a12 = A[r * n + h + c], a21 = A[(h + r) * n + c], a22 = A[(h + r) * n + h + c];
    float b11 = B[r * n + c], b12 = B[r * n + h + c], b21 = B[(h + r) * n + c], b22 = B[(h + r) * n + h + c];

    left[0][r][c] = a11 + a22, right[0][r][c] = b11 + b22;
    left[1][r][c] = a21 + a22, right[1][r][c] = b11;
    left[2][r][c] = a11, right[2][r][c] = b12 - b22;
    left[3][r][c] = a22, right[3][r][c] = b21 - b11;
    left[4][r][c] = a11 + a12, right[4][r][c] = b22;
    left[5][r][c] = a21 - a11, right[5][r][c] = b11 + b12;
#ifdef MUTANT_WRONG_SIGN
    left[6][r][c] = a12 + a22, right[6][r][c] = b21 + b22;
#else
    left[6][r][c] = a12 - a22, right[6][r][c] = b21 + b22;
#endif
    __syncthreads();

    float m[7];
    for (int p = 0; p < 7; ++p) {
        m[p] = 0.0f;
        for (int k = 0; k < h; ++k)
            m[p] += left[p][r][k] * right[p][k][c];
    }
    C[r * n + c] = m[0] + m[3] - m[4] + m[6];
    C[r * n + h + c] = m[2] + m[4];
    C[(h + r) * n + c] = m[1] + m[3];
    C[(h + r) * n + h + c] = m[0] - m[1] + m[2] + m[5];
#endif
}
