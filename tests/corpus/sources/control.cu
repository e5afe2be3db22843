// Control flow: switches, loops, recursion, calls through pointers, virtual functions, printf, assert, malloc.
#include <cstdio>
#include <cassert>
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ __noinline__ float3 cross(float3 a, float3 b) { return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x); }
typedef int (*fn)(int);
__device__ int twice(int x) { return 2 * x; } __device__ int square(int x) { return x * x; }
__device__ fn table[2] = {twice, square};
struct Shape { __device__ virtual float area() const = 0; float w; };
struct Box : Shape { __device__ float area() const override { return w * w; } };
struct Disc : Shape { __device__ float area() const override { return 3.14f * w * w; } };
template <int N> __device__ int unrolled(const int *a) { int s = 0;
#pragma unroll
    for (int i = 0; i < N; i++) s += a[i] * i; return s; }
extern "C" __global__ void __launch_bounds__(128, 2) control(int *a, float *f, int n) {
    int t = threadIdx.x, r = a[t];
    switch (r) { case 0: r += 3; break; case 1: r *= 5; break; case 2: r ^= n; break; case 3: r = n / 3; break; case 4: r -= t; break; case 5: r = ~r; break; case 9: return; default: r = -r; }
    for (int i = 0; i < n; i++) { if (a[i] == 7) continue; if (a[i] == 9) break; r += a[i]; }
    while (r > 1000) r = r / 2 + 1;
    do { r++; } while (r & 3);
    r += fib(n & 7) + table[n & 1](r) + unrolled<13>(a);
    float3 v = cross(make_float3(f[0], f[1], f[2]), make_float3(f[3], f[4], r));
    Box box; Disc disc; box.w = v.x; disc.w = v.y; const Shape *s = n & 2 ? (Shape *)&box : (Shape *)&disc; f[t] = s->area();
    assert(r != 77);
    if (t == 0) printf("r %d f %f\n", r, f[0]);
    int *p = (int *)malloc(16); if (p) { p[0] = r; r += p[t & 3]; free(p); }
    if (n == 5) goto out;
    r += n ? (t > 3 ? a[1] : a[2]) : 0;
out:
    a[t] = r;
}
extern "C" __global__ void __launch_bounds__(256) second(const int *a, int *b) { b[threadIdx.x] = a[threadIdx.x] + 1; }
template <typename T> __global__ void templated(T *a, T k) { a[threadIdx.x] = a[threadIdx.x] * k + k; }
template __global__ void templated<float>(float *, float); template __global__ void templated<long long>(long long *, long long); template __global__ void templated<unsigned char>(unsigned char *, unsigned char);
