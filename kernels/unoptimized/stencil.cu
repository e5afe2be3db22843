// Five points of a grid with zeros around it. The plain one reads through a lambda that captures pointers and numbers by
// reference, which without optimisation all live on the stack.
extern "C" __global__ void ENTRY(const float* in, float* out, int n) {
    const int x = threadIdx.x, y = threadIdx.y;
#ifdef PLAIN
    auto at = [&](int row, int column) {
        return row < 0 || column < 0 || row >= n || column >= n ? 0.f : in[row * n + column];
    };
    out[y * n + x] = 0.25f * (at(y - 1, x) + at(y + 1, x) + at(y, x - 1) + at(y, x + 1));
#else
    __shared__ float tile[10][10];
    for (int i = y * 8 + x; i < 100; i += 64) {
        const int row = i / 10 - 1, column = i % 10 - 1;
        const bool inside = row >= 0 && column >= 0 && row < n && column < n;
        tile[i / 10][i % 10] = inside ? in[row * n + column] : 0.f;
    }
    __syncthreads();
#ifdef MUTANT_CORNER
    const float right = tile[y + 2][x + 2];
#else
    const float right = tile[y + 1][x + 2];
#endif
    out[y * n + x] = (tile[y][x + 1] + tile[y + 2][x + 1] + tile[y + 1][x] + right) / 4.f;
#endif
}
