// Calls whose target is a value: tables of functions, functions as arguments, and virtual methods. Every kernel computes, of
// element i, the function i % 3 of x[i]: its square, its double plus one, or its negative.
typedef float (*Function)(float);

__device__ __noinline__ float square(float x) { return x * x; }
__device__ __noinline__ float line(float x) { return x + x + 1; }
__device__ __noinline__ float negative(float x) { return -x; }

#if defined(TABLE)
#if WAY == 2
__device__ Function table[3] = {square, negative, line};
#elif WAY == 3
__constant__ Function table[3] = {square, line, negative};
#else
__device__ Function table[3] = {square, line, negative};
#endif

extern "C" __global__ void ENTRY(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = table[i % 3](x[i]);
}
#elif defined(LOCAL)
extern "C" __global__ void ENTRY(const float *x, float *y) {
    Function own[3] = {square, line, negative};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = own[i % 3](x[i]);
}
#elif defined(ARGUMENT)
__device__ __noinline__ float apply(Function f, float x) { return f(x); }

extern "C" __global__ void ENTRY(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Function f = i % 3 == 0 ? square : i % 3 == 1 ? line : negative;
    y[i] = apply(f, x[i]);
}
#elif defined(PLACES)
// The function says where a thread writes.
__device__ __noinline__ unsigned own(unsigned i) { return i; }
#if WAY == 1
__device__ __noinline__ unsigned other(unsigned i) { return i ^ 1; }
#else
__device__ __noinline__ unsigned other(unsigned i) { return i ? i - 1 : 0; }
#endif
__device__ __noinline__ unsigned apply(unsigned (*place)(unsigned), unsigned i) { return place(i); }

extern "C" __global__ void ENTRY(const float *x, float *y, int n, int turned) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
#if WAY == 1
    y[apply(turned ? other : own, i)] = x[i];
#else
    y[apply(i & turned ? other : own, i)] = x[i];
#endif
}
#elif defined(GIVEN)
// The host says which function it is: nothing is known of it.
extern "C" __global__ void ENTRY(const float *x, float *y, Function f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = f(x[i]);
}
#elif defined(VIRTUAL)
struct Map {
    __device__ virtual float of(float x) const = 0;
    __device__ virtual float twice(float x) const { return of(of(x)); }
};
struct Square : Map {
    __device__ float of(float x) const override { return square(x); }
};
struct Line : Map {
    float slope, offset;
    __device__ Line(float slope, float offset) : slope(slope), offset(offset) {}
    __device__ float of(float x) const override { return slope * x + offset; }
};
struct Negative : Line {
    __device__ Negative() : Line(-1, 0) {}
#if WAY == 2
    __device__ float of(float x) const override { return Line::of(x) + 1; }
#endif
};

__device__ __noinline__ float apply(const Map &map, float x) { return map.of(x); }

extern "C" __global__ void ENTRY(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Square a;
    Line b(2, 1);
    Negative c;
    const Map *map = i % 3 == 0 ? (const Map *)&a : i % 3 == 1 ? (const Map *)&b : (const Map *)&c;
    y[i] = apply(*map, x[i]);
}
#elif defined(OBJECTS)
// Objects in shared memory, each made by one thread and used by another.
struct Map {
    __device__ virtual void apply(float *tile, int at) const = 0;
};
struct Square : Map {
    __device__ void apply(float *tile, int at) const override { tile[at] = square(tile[at]); }
};
struct Line : Map {
    __device__ void apply(float *tile, int at) const override { tile[at] = line(tile[at]); }
};
struct Negative : Map {
#if WAY == 2
    __device__ void apply(float *tile, int at) const override { tile[at] = negative(tile[at ^ 3]); }
#else
    __device__ void apply(float *tile, int at) const override { tile[at] = negative(tile[at]); }
#endif
};
#include <new>

extern "C" __global__ void ENTRY(const float *x, float *y) {
    __shared__ float tile[64];
    __shared__ Map *maps[3];
    __shared__ alignas(8) char room[3][8];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t == 0) maps[0] = new (room[0]) Square;
    if (t == 1) maps[1] = new (room[1]) Line;
    if (t == 2) maps[2] = new (room[2]) Negative;
    tile[t] = x[i];
#if WAY != 3
    __syncthreads();
#endif
    maps[i % 3]->apply(tile, t);
    y[i] = tile[t];
}
#elif defined(RECURSION)
// The power by halves: a depth that the data do not choose.
__device__ __noinline__ float power(float x, int n) {
    if (n == 0) return 1;
    float half = power(x, n / 2);
    return n % 2 ? half * half * x : half * half;
}

extern "C" __global__ void ENTRY(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = power(x[i], i % 8);
}
#elif defined(POWERS)
extern "C" __global__ void ENTRY(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float product = 1;
    for (int k = 0; k < i % 8; k++) product *= x[i];
    y[i] = product;
}
#else
extern "C" __global__ void ENTRY(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = i % 3 == 0 ? x[i] * x[i] : i % 3 == 1 ? 2 * x[i] + 1 : -x[i];
}
#endif
