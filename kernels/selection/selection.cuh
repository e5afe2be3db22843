// Exchanges of numbers and networks of them.
#define WARP 0xffffffffu
static __device__ __forceinline__ void order(float& a, float& b) {
    float low = fminf(a, b), high = fmaxf(a, b);
    a = low;
    b = high;
}
static __device__ __forceinline__ void order(int& a, int& b) {
    int low = min(a, b), high = max(a, b);
    a = low;
    b = high;
}
static __device__ __forceinline__ void order_by_branch(float& a, float& b) {
    if (a > b) {
        float t = a;
        a = b;
        b = t;
    }
}
// Insertion sort: each number moves down past those that are larger.
template <int N>
static __device__ __forceinline__ void insertion(float* v) {
#pragma unroll
    for (int i = 1; i < N; i++)
#pragma unroll
        for (int j = i; j > 0; j--) order_by_branch(v[j - 1], v[j]);
}
template <int N>
static __device__ __forceinline__ void insertion(int* v) {
#pragma unroll
    for (int i = 1; i < N; i++)
#pragma unroll
        for (int j = i; j > 0; j--) order(v[j - 1], v[j]);
}
// Bitonic sorting.
template <int N, typename T>
static __device__ __forceinline__ void bitonic(T* v) {
#pragma unroll
    for (int k = 2; k <= N; k *= 2)
#pragma unroll
        for (int j = k / 2; j > 0; j /= 2)
#pragma unroll
            for (int i = 0; i < N; i++) {
                int p = i ^ j;
                if (p > i) {
#ifdef MUTANT_ONE_DIRECTION
                    order(v[i], v[p]);
#else
                    if ((i & k) == 0) order(v[i], v[p]);
                    else order(v[p], v[i]);
#endif
                }
            }
}
