"""Numba kernels for several GPUs: the first argument is the folder for the PTX."""
import math
import pathlib
import sys

from numba import cuda, float32, float64, int32, types

OUT = pathlib.Path(sys.argv[1])
V = types.Array(float32, 1, "C")
M = types.Array(float32, 2, "A")


def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


def reduce(x, o):
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    k = 64
    while k > 0:
        if t < k:
            s[t] += s[t + k]
        cuda.syncthreads()
        k //= 2
    if t == 0:
        cuda.atomic.add(o, 0, s[0])


def product(a, b, c):
    i, j = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        s = float32(0)
        for k in range(a.shape[1]):
            s += a[i, k] * b[k, j]
        c[i, j] = s


def functions(x, y):
    i = cuda.grid(1)
    local = cuda.local.array(8, float64)
    for k in range(8):
        local[k] = x[i] * k
    y[i] = math.sin(x[i]) + math.exp(local[i % 8]) + math.floor(x[i]) + cuda.shfl_down_sync(0xFFFFFFFF, x[i], 1) + i // 3


KERNELS = {"saxpy": (saxpy, (float32, V, V)), "reduce": (reduce, (V, V)), "product": (product, (M, M, M)),
           "functions": (functions, (V, V)), "copies": (lambda n, x, y: saxpy(n, x, y), None)}
for name, (kernel, signature) in KERNELS.items():
    if signature is None:
        continue
    for cc in [(7, 5), (8, 0), (8, 6), (9, 0)]:
        for fast in [False, True]:
            try:
                ptx, _ = cuda.compile_ptx(kernel, signature, cc=cc, fastmath=fast)
            except Exception as error:  # an architecture that this version does not know
                print(name, cc, error, file=sys.stderr)
                continue
            (OUT / f"numba.{name}.sm_{cc[0]}{cc[1]}.{'fast' if fast else 'o3'}.ptx").write_text(ptx)
