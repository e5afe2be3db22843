"""Kernels in TileLang: matrix products, a softmax and an RMS normalisation of a row, attention in tiles, a convolution.

Each function returns a program whose sizes are fixed at compile time.
"""

import tilelang.language as T


def product(m, n, k, tile, step, stages, relu=False, late=0):
    """C = A B in float16 with float32 sums by tensor cores; `late` shifts the rows of B, a mutant."""

    @T.prim_func
    def main(A: T.Tensor((m, k), "float16"), B: T.Tensor((k + late, n), "float16"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(n // tile, m // tile, threads=128) as (x, y):
            a = T.alloc_shared((tile, step), "float16")
            b = T.alloc_shared((step, tile), "float16")
            c = T.alloc_fragment((tile, tile), "float32")
            T.clear(c)
            for i in T.Pipelined(k // step, num_stages=stages):
                T.copy(A[y * tile, i * step], a)
                T.copy(B[i * step + late, x * tile], b)
                T.gemm(a, b, c)
            if relu:
                for i, j in T.Parallel(tile, tile):
                    c[i, j] = T.max(c[i, j], 0)
            T.copy(c, C[y * tile, x * tile])

    return main


def product_doubled(m, n, k, tile, step, stages):
    """C = 2 A B; the threads that bring A double it on the way."""

    @T.prim_func
    def main(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(n // tile, m // tile, threads=128) as (x, y):
            a = T.alloc_shared((tile, step), "float16")
            b = T.alloc_shared((step, tile), "float16")
            c = T.alloc_fragment((tile, tile), "float32")
            T.clear(c)
            for p in T.Pipelined(k // step, num_stages=stages):
                for i, j in T.Parallel(tile, step):
                    a[i, j] = A[y * tile + i, p * step + j] * T.float16(2.0)
                T.copy(B[p * step, x * tile], b)
                T.gemm(a, b, c)
            T.copy(c, C[y * tile, x * tile])

    return main


def product_scalar(m, n, k, tile, step, stages, late=0):
    """C = A B in float32 without tensor cores; `late` shifts the rows of B, a mutant."""

    @T.prim_func
    def main(A: T.Tensor((m, k), "float32"), B: T.Tensor((k + late, n), "float32"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(n // tile, m // tile, threads=128) as (x, y):
            a = T.alloc_shared((tile, step), "float32")
            b = T.alloc_shared((step, tile), "float32")
            c = T.alloc_fragment((tile, tile), "float32")
            T.clear(c)
            for p in T.Pipelined(k // step, num_stages=stages):
                T.copy(A[y * tile, p * step], a)
                T.copy(B[p * step + late, x * tile], b)
                for i, j in T.Parallel(tile, tile):
                    for q in T.serial(step):
                        c[i, j] += a[i, q] * b[q, j]
            T.copy(c, C[y * tile, x * tile])

    return main


def softmax(rows, n, drop_max=False, twice=False):
    """Softmax of a row; `twice` divides the wrong way, a mutant."""

    @T.prim_func
    def main(X: T.Tensor((rows, n), "float32"), Y: T.Tensor((rows, n), "float32")):
        with T.Kernel(rows, threads=128) as row:
            x = T.alloc_fragment((1, n), "float32")
            top = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], x)
            T.reduce_max(x, top, dim=1)
            for i, j in T.Parallel(1, n):
                x[i, j] = T.exp(x[i, j] - top[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(1, n):
                x[i, j] = x[i, j] / (total[i] + 1.0) if twice else x[i, j] / total[i]
            T.copy(x, Y[row, 0])

    return main


def rms_norm(rows, n):
    """x / sqrt(mean of squares + 1e-5)"""

    @T.prim_func
    def main(X: T.Tensor((rows, n), "float32"), Y: T.Tensor((rows, n), "float32")):
        with T.Kernel(rows, threads=128) as row:
            x = T.alloc_fragment((1, n), "float32")
            square = T.alloc_fragment((1, n), "float32")
            scale = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], x)
            for i, j in T.Parallel(1, n):
                square[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(square, scale, dim=1)
            for i in T.Parallel(1):
                scale[i] = T.rsqrt(scale[i] / n + 1e-5)
            for i, j in T.Parallel(1, n):
                x[i, j] = x[i, j] * scale[i]
            T.copy(x, Y[row, 0])

    return main


def scaled_rows(rows, n, signed=False):
    """A row over its largest absolute value; over its largest value, a mutant."""

    @T.prim_func
    def main(X: T.Tensor((rows, n), "float32"), Y: T.Tensor((rows, n), "float32")):
        with T.Kernel(rows, threads=128) as row:
            x = T.alloc_fragment((1, n), "float32")
            top = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], x)
            if signed:
                T.reduce_max(x, top, dim=1)
            else:
                T.reduce_absmax(x, top, dim=1)
            for i, j in T.Parallel(1, n):
                x[i, j] = x[i, j] / (T.max(top[i], 0.0) + 1e-5)
            T.copy(x, Y[row, 0])

    return main


def attention(size, dim, rows, keys, stages, rescale=True):
    """Attention with online softmax in tiles of `keys` keys; without the rescaling of the sum, a mutant."""
    scale = (1.0 / dim) ** 0.5 * 1.44269504

    @T.prim_func
    def main(
        Q: T.Tensor((size, dim), "float16"),
        K: T.Tensor((size, dim), "float16"),
        V: T.Tensor((size, dim), "float16"),
        O: T.Tensor((size, dim), "float16"),
    ):
        with T.Kernel(size // rows, threads=128) as x:
            q = T.alloc_shared((rows, dim), "float16")
            k = T.alloc_shared((keys, dim), "float16")
            v = T.alloc_shared((keys, dim), "float16")
            s = T.alloc_fragment((rows, keys), "float32")
            p = T.alloc_fragment((rows, keys), "float16")
            o = T.alloc_fragment((rows, dim), "float32")
            top = T.alloc_fragment((rows,), "float32")
            before = T.alloc_fragment((rows,), "float32")
            factor = T.alloc_fragment((rows,), "float32")
            part = T.alloc_fragment((rows,), "float32")
            total = T.alloc_fragment((rows,), "float32")
            T.copy(Q[x * rows, 0], q)
            T.fill(o, 0)
            T.fill(total, 0)
            T.fill(top, -T.infinity("float32"))
            for t in T.Pipelined(size // keys, num_stages=stages):
                T.copy(K[t * keys, 0], k)
                T.clear(s)
                T.gemm(q, k, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(V[t * keys, 0], v)
                T.copy(top, before)
                T.reduce_max(s, top, dim=1, clear=False)
                for i in T.Parallel(rows):
                    factor[i] = T.exp2(before[i] * scale - top[i] * scale)
                for i, j in T.Parallel(rows, keys):
                    s[i, j] = T.exp2(s[i, j] * scale - top[i] * scale)
                T.reduce_sum(s, part, dim=1)
                for i in T.Parallel(rows):
                    total[i] = total[i] * factor[i] + part[i] if rescale else total[i] + part[i]
                T.copy(s, p)
                for i, j in T.Parallel(rows, dim):
                    o[i, j] *= factor[i]
                T.gemm(p, v, o, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(rows, dim):
                o[i, j] /= total[i]
            T.copy(o, O[x * rows, 0])

    return main


def convolution(size, channels, outputs, rows, stages, narrow=0):
    """A 3 x 3 convolution of a square image as a product, gathered pixel by pixel; the mutant leaves out a column."""

    @T.prim_func
    def main(
        D: T.Tensor((size, size, channels), "float16"),
        K: T.Tensor((9 * channels, outputs), "float16"),
        O: T.Tensor((size * size, outputs), "float32"),
    ):
        with T.Kernel(size * size // rows, threads=128) as z:
            a = T.alloc_shared((rows, channels), "float16")
            b = T.alloc_shared((channels, outputs), "float16")
            c = T.alloc_fragment((rows, outputs), "float32")
            T.clear(c)
            for k in T.Pipelined(9, num_stages=stages):
                for i, j in T.Parallel(rows, channels):
                    y = (z * rows + i) // size + k // 3 - 1
                    x = (z * rows + i) % size + k % 3 - 1
                    inside = (y >= 0) and (x >= 0) and (y < size) and (x < size - narrow)
                    a[i, j] = T.if_then_else(inside, D[y, x, j], 0)
                T.copy(K[k * channels, 0], b)
                T.gemm(a, b, c)
            T.copy(c, O[z * rows, 0])

    return main


def product_shared_out(size, k, tile, step, parts, less=0):
    """C += A B where each of `parts` CTAs takes an equal share of all steps of all tiles; the mutant leaves out one."""
    depth = k // step
    total = (size // tile) ** 2 * depth
    share = -(-total // parts)

    @T.prim_func
    def main(A: T.Tensor((size, k), "float16"), B: T.Tensor((k, size), "float16"), C: T.Tensor((size, size), "float32")):
        with T.Kernel(parts, threads=128) as p:
            a = T.alloc_shared((tile, step), "float16")
            b = T.alloc_shared((step, tile), "float16")
            c = T.alloc_fragment((tile, tile), "float32")
            for u in T.serial(share):
                w = p * share + u
                if w < total - less:
                    y, x = w // depth // (size // tile), w // depth % (size // tile)
                    T.clear(c)
                    T.copy(A[y * tile, w % depth * step], a)
                    T.copy(B[w % depth * step, x * tile], b)
                    T.gemm(a, b, c)
                    for i, j in T.Parallel(tile, tile):
                        T.atomic_add(C[y * tile + i, x * tile + j], c[i, j])

    return main


def product_of_nibbles(m, n, k, tile, step, stages, scale=16384.0):
    """C = A B^T where B holds two floats of four bits (e2m1) in each byte; the mutant scales them wrongly."""

    @T.prim_func
    def main(A: T.Tensor((m, k), "float16"), B: T.Tensor((n, k // 2), "uint8"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(n // tile, m // tile, threads=128) as (x, y):
            a = T.alloc_shared((tile, step), "float16")
            packed = T.alloc_shared((tile, step // 2), "uint8")
            own = T.alloc_fragment((tile, step // 2), "uint8")
            wide = T.alloc_fragment((tile, step), "float16")
            b = T.alloc_shared((tile, step), "float16")
            c = T.alloc_fragment((tile, tile), "float32")
            T.clear(c)
            for i in T.Pipelined(k // step, num_stages=stages):
                T.copy(A[y * tile, i * step], a)
                T.copy(B[x * tile, i * step // 2], packed)
                T.copy(packed, own)
                for p, q in T.Parallel(tile, step):
                    four = T.cast((own[p, q // 2] >> T.cast(q % 2 * 4, "uint8")) & T.cast(15, "uint8"), "uint16")
                    sign = (four & T.cast(8, "uint16")) << T.cast(12, "uint16")
                    rest = (four & T.cast(7, "uint16")) << T.cast(9, "uint16")
                    wide[p, q] = T.reinterpret("float16", sign | rest) * T.float16(scale)
                T.copy(wide, b)
                T.gemm(a, b, c, transpose_B=True)
            T.copy(c, C[y * tile, x * tile])

    return main
