// Images through texture and surface objects, whose contents and filters the host chooses.
#include <cuda_runtime.h>

#define AT                                                                                                             \
    const int x = blockIdx.x * blockDim.x + threadIdx.x;                                                               \
    const int y = blockIdx.y * blockDim.y + threadIdx.y;                                                               \
    if (x >= w || y >= h) return

// Three taps of a blur, in a loop.
extern "C" __global__ void blur_loop(cudaTextureObject_t image, float *out, int w, int h) {
    AT;
    float sum = 0.0f;
    for (int d = -1; d <= 1; ++d) sum += tex2D<float>(image, x + d + 0.5f, y + 0.5f);
    out[y * w + x] = sum / 3.0f;
}
// The same, written out.
extern "C" __global__ void blur_written(cudaTextureObject_t image, float *out, int w, int h) {
    AT;
    const float left = tex2D<float>(image, x - 0.5f, y + 0.5f);
    const float right = tex2D<float>(image, x + 1.5f, y + 0.5f);
    out[y * w + x] = (left + right + tex2D<float>(image, x + 0.5f, y + 0.5f)) * (1.0f / 3.0f);
}
// The row above in place of the own.
extern "C" __global__ void blur_slipped(cudaTextureObject_t image, float *out, int w, int h) {
    AT;
    const float left = tex2D<float>(image, x - 0.5f, y + 0.5f);
    const float right = tex2D<float>(image, x + 1.5f, y - 0.5f);
    out[y * w + x] = (left + right + tex2D<float>(image, x + 0.5f, y + 0.5f)) * (1.0f / 3.0f);
}
// Coordinates that data choose: a displacement.
extern "C" __global__ void warp_by_rows(cudaTextureObject_t image, const float2 *at, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2D<float>(image, at[i].x + 0.5f, at[i].y * 2.0f);
}
extern "C" __global__ void warp_by_parts(cudaTextureObject_t image, const float *at, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float v = at[2 * i + 1] + at[2 * i + 1];
    out[i] = tex2D<float>(image, at[2 * i] + 0.5f, v);
}
extern "C" __global__ void warp_swapped(cudaTextureObject_t image, const float2 *at, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2D<float>(image, at[i].y * 2.0f, at[i].x + 0.5f);
}
// A texture over a line of memory, and layers.
extern "C" __global__ void lines(cudaTextureObject_t line, cudaTextureObject_t layers, float *out) {
    const float2 v = tex2DLayered<float2>(layers, threadIdx.x, 0.5f, 3);
    out[threadIdx.x] = tex1Dfetch<float>(line, threadIdx.x) + v.x * v.y;
}
extern "C" __global__ void lines_mixed(cudaTextureObject_t line, cudaTextureObject_t layers, float *out) {
    const float2 v = tex2DLayered<float2>(layers, threadIdx.x, 0.5f, 3);
    out[threadIdx.x] = tex1Dfetch<float>(line, threadIdx.x) + v.x * v.x;
}
// A surface turned in place: each thread swaps two texels of a row.
extern "C" __global__ void mirror(cudaSurfaceObject_t image, int w, int h) {
    const int x = threadIdx.x, y = blockIdx.x;
    if (2 * x >= w - 1 || y >= h) return;
    const uchar4 a = surf2Dread<uchar4>(image, x * 4, y), b = surf2Dread<uchar4>(image, (w - 1 - x) * 4, y);
    surf2Dwrite(b, image, x * 4, y);
    surf2Dwrite(a, image, (w - 1 - x) * 4, y);
}
// All threads swap, so each texel is read by one and written by another.
extern "C" __global__ void mirror_twice(cudaSurfaceObject_t image, int w, int h) {
    const int x = threadIdx.x, y = blockIdx.x;
    if (x >= w || y >= h) return;
    const uchar4 a = surf2Dread<uchar4>(image, x * 4, y);
    surf2Dwrite(a, image, (w - 1 - x) * 4, y);
}
// From surface to surface.
extern "C" __global__ void invert(cudaSurfaceObject_t in, cudaSurfaceObject_t out, int w) {
    const int x = threadIdx.x, y = blockIdx.x;
    if (x < w) surf2Dwrite(1.0f - surf2Dread<float>(in, x * 4, y), out, x * 4, y);
}
extern "C" __global__ void invert_by_rows(cudaSurfaceObject_t in, cudaSurfaceObject_t out, int w) {
    const int y = threadIdx.x;
    for (int x = 0; x < w; ++x) {
        const float v = surf2Dread<float>(in, x * (int)sizeof(float), y);
        surf2Dwrite(-v + 1.0f, out, x * (int)sizeof(float), y);
    }
}
// A column is a number of texels where bytes are asked for.
extern "C" __global__ void invert_unscaled(cudaSurfaceObject_t in, cudaSurfaceObject_t out, int w) {
    const int x = threadIdx.x, y = blockIdx.x;
    if (x < w) surf2Dwrite(1.0f - surf2Dread<float>(in, x, y), out, x, y);
}
// The row before the first.
extern "C" __global__ void above(cudaSurfaceObject_t in, cudaSurfaceObject_t out, int w) {
    const int x = threadIdx.x, y = blockIdx.x;
    if (x < w) surf2Dwrite(surf2Dread<float>(in, x * 4, y - 1), out, x * 4, y);
}
extern "C" __global__ void above_clamped(cudaSurfaceObject_t in, cudaSurfaceObject_t out, int w) {
    const int x = threadIdx.x, y = blockIdx.x;
    if (x < w) surf2Dwrite(surf2Dread<float>(in, x * 4, y - 1, cudaBoundaryModeClamp), out, x * 4, y);
}
