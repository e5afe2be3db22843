"""A CUDA string against another: a fused RMS norm with a reduction in shared memory, and two mistakes in it.

Run it: python examples/cuda_strings.py (needs nvcc, and no GPU).
"""

from __future__ import annotations

import volta

N = 32

NAIVE = """
extern "C" __global__ void rms_norm(const float *x, const float *w, float *y, int n) {
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += x[i] * x[i];
    y[threadIdx.x] = x[threadIdx.x] * rsqrtf(sum / n + 1e-5f) * w[threadIdx.x];
}
"""

FUSED = """
extern "C" __global__ void rms_norm(const float *x, const float *w, float *y, int n) {
    __shared__ float part[32];
    int t = threadIdx.x;
    float v = x[t];
    part[t] = v * v;
    __syncthreads();
    for (int step = 16; step > 0; step /= 2) {
        if (t < step) part[t] += part[t + step];
        __syncthreads();
    }
    y[t] = v * rsqrtf(part[0] / n + 1e-5f) * w[t];
}
"""


def main() -> None:
    """Prints three results."""
    args = {"x": volta.arg.input("f32", N), "w": volta.arg.input("f32", N), "y": volta.arg.output("f32", N), "n": N}
    naive = volta.prepare(volta.cuda(NAIVE), args=args, block=N)

    proved = naive.check(volta.cuda(FUSED))
    print(proved, "\n")
    assert proved.ok

    no_barrier = naive.check(volta.cuda(FUSED.replace("part[t + step];\n        __syncthreads();", "part[t + step];")))
    print(no_barrier.category, "-", no_barrier.hint, "\n")
    assert no_barrier.category == "race"

    half_a_sum = naive.check(volta.cuda(FUSED.replace("step = 16", "step = 8")))
    print(half_a_sum.counterexample)
    assert half_a_sum.category == "wrong-values"


if __name__ == "__main__":
    main()
