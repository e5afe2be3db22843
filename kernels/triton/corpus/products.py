"""Matrix products: masks at every edge, epilogues, split sums, groups, batches, persistent programs, integer weights."""

import numpy as np
import triton
import triton.language as tl
from cases import case
from triton.language.extra import libdevice

from volta import arg


def gelu_by_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


@triton.jit
def matmul_edges(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, SLIP: tl.constexpr):
    """c = a @ b at sizes that no tile divides, tiles in groups of rows for the cache; the twin forgets the last columns of a"""
    pid = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = (pid // (GROUP * tiles_n)) * GROUP
    size = min(tiles_m - first, GROUP)
    m = (first + (pid % (GROUP * tiles_n)) % size) * BM + tl.arange(0, BM)
    n = ((pid % (GROUP * tiles_n)) // size) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    left, right = a + m[:, None] * K + k[None, :], b + k[:, None] * N + n[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K // BK if SLIP else tl.cdiv(K, BK)):
        x = tl.load(left, mask=(m[:, None] < M) & (k[None, :] < K - k0 * BK), other=0.0)
        y = tl.load(right, mask=(k[:, None] < K - k0 * BK) & (n[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc, input_precision="ieee")
        left += BK
        right += BK * N
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


case(
    "matmul_edges",
    matmul_edges,
    lambda a, b: a @ b,
    [arg.input("f32", (20, 21)), arg.input("f32", (21, 18)), arg.output("f32", (20, 18)), 20, 18, 21],
    grid=(4,),
    BM=16,
    BN=16,
    BK=16,
    GROUP=2,
    num_warps=4,
)


@triton.jit
def matmul_bias_gelu(a, b, bias, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SLIP: tl.constexpr):
    """gelu(a @ b + bias) in half precision, the tangent from the library; the twin takes the bias of the row"""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in tl.range(0, K, BK, num_stages=3):
        k = k0 + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=m[:, None] < M, other=0.0)
        y = tl.load(b + k[:, None] * N + n[None, :], mask=n[None, :] < N, other=0.0, eviction_policy="evict_last")
        acc += tl.dot(x, y)
    if SLIP:
        acc += tl.load(bias + m, mask=m < N, other=0.0)[:, None].to(tl.float32)
    else:
        acc += tl.load(bias + n, mask=n < N, other=0.0)[None, :].to(tl.float32)
    inner = 0.7978845608028654 * (acc + 0.044715 * acc * acc * acc)
    out = 0.5 * acc * (1.0 + libdevice.tanh(inner))
    tl.store(c + m[:, None] * N + n[None, :], out.to(c.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


case(
    "matmul_bias_gelu",
    matmul_bias_gelu,
    lambda a, b, bias: gelu_by_tanh(a @ b + bias),
    [arg.input("f16", (40, 64)), arg.input("f16", (64, 24)), arg.input("f16", (24,)), arg.output("f16", (40, 24)), 40, 24, 64],
    grid=(2, 1),
    BM=32,
    BN=32,
    BK=32,
    num_warps=4,
    num_stages=3,
)


@triton.jit
def matmul_residual_relu(a, w, r, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SLIP: tl.constexpr):
    """relu(a @ w^T + r) in bfloat16, w as a layer keeps it; the twin adds what is left over after the maximum"""
    m = (tl.program_id(0) * BM + tl.arange(0, BM)) % M
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (k0 + k)[None, :])
        y = tl.load(w + n[:, None] * K + (k0 + k)[None, :], mask=n[:, None] < N, other=0.0)
        acc = tl.dot(x, tl.trans(y), acc)
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    inside = (rows[:, None] < M) & (n[None, :] < N)
    kept = tl.load(r + rows[:, None] * N + n[None, :], mask=inside, other=0.0).to(tl.float32)
    if SLIP:
        out = tl.maximum(acc, 0.0) + kept
    else:
        out = tl.maximum(acc + kept, 0.0)
    tl.store(c + rows[:, None] * N + n[None, :], out.to(tl.bfloat16), mask=inside)


case(
    "matmul_residual_relu",
    matmul_residual_relu,
    lambda a, w, r: np.maximum(a @ w.T + r, 0),
    [
        arg.input("bf16", (24, 64)),
        arg.input("bf16", (40, 64)),
        arg.input("bf16", (24, 40)),
        arg.output("bf16", (24, 40)),
        24,
        40,
        64,
    ],
    grid=(1, 2),
    BM=32,
    BN=32,
    BK=32,
    num_warps=4,
    num_stages=2,
)


@triton.jit
def matmul_bytes(a, b, row_scale, scale, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SLIP: tl.constexpr):
    """Bytes times bytes, a scale for each row and one for each group of 32 rows of b and column; the twin is one group late"""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for group in range(0, K // BK):
        k = group * BK + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=m[:, None] < M, other=0)
        y = tl.load(b + k[:, None] * N + n[None, :])
        part = tl.dot(x, y, out_dtype=tl.int32)
        at = max(group - 1, 0) if SLIP else group
        acc += part.to(tl.float32) * tl.load(scale + at * N + n)[None, :]
    acc *= tl.load(row_scale + m, mask=m < M, other=1.0)[:, None]
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.bfloat16), mask=m[:, None] < M)


def bytes_by_groups(a, b, row_scale, scale):
    wide = np.repeat(scale, 32, axis=0) * b.astype(np.float64)
    return row_scale[:, None] * (a.astype(np.float64) @ wide)


case(
    "matmul_bytes",
    matmul_bytes,
    bytes_by_groups,
    [
        arg.input("s8", (20, 64)),
        arg.input("s8", (64, 16)),
        arg.input("f32", (20,)),
        arg.input("f32", (2, 16)),
        arg.output("bf16", (20, 16)),
        20,
        16,
        64,
    ],
    grid=(2,),
    BM=16,
    BN=16,
    BK=32,
    num_warps=4,
)


@triton.jit
def matmul_split(
    a, b, bias, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PARTS: tl.constexpr, SLIP: tl.constexpr
):
    """c += a @ b + bias, the sum split among programs that add to zeros; in the twin each of them adds the bias"""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    part = tl.program_id(2)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(part * BK, K, BK * PARTS):
        k = k0 + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        y = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
    if SLIP:
        acc += tl.load(bias + n, mask=n < N, other=0.0)[None, :]
    elif part == 0:
        acc += tl.load(bias + n, mask=n < N, other=0.0)[None, :]
    tl.atomic_add(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N), sem="relaxed")


case(
    "matmul_split",
    matmul_split,
    lambda a, b, bias: a @ b + bias,
    [
        arg.input("f16", (20, 88)),
        arg.input("f16", (88, 16)),
        arg.input("f32", (16,)),
        arg.zeros("f32", (20, 16)),
        20,
        16,
        88,
    ],
    grid=(2, 1, 2),
    BM=16,
    BN=16,
    BK=32,
    PARTS=2,
    num_warps=2,
)


@triton.jit
def matmul_experts(x, w, expert, row, y, N, K, pairs, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SLIP: tl.constexpr):
    """Each block of rows times the weights of its expert, rows gathered and scattered by a list; the twin confuses strides"""
    block = tl.program_id(0)
    slot = tl.load(row + block * BM + tl.arange(0, BM))
    real = slot < pairs
    e = tl.load(expert + block)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    weights = w + e * (N * N if SLIP else K * N)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        # Two slots for each row: the token is half of it.
        left = tl.load(x + (slot // 2)[:, None] * K + k[None, :], mask=real[:, None], other=0.0)
        right = tl.load(weights + k[:, None] * N + n[None, :], mask=n[None, :] < N, other=0.0)
        acc = tl.dot(left, right, acc)
    tl.store(y + slot[:, None] * N + n[None, :], acc.to(tl.float16), mask=real[:, None] & (n[None, :] < N))


#: Of 10 slots the expert 1 has the first and the fourth to seventh, the expert 0 the others; 99 fills up.
ROWS = np.array([1, 2, 7, 8, 9] + [99] * 11 + [0, 3, 4, 5, 6] + [99] * 11, np.int32)
EXPERTS = np.array([0, 1], np.int32)


def experts(x, w):
    of = [1, 0, 0, 1, 1, 1, 1, 0, 0, 0]
    return np.stack([x[slot // 2] @ w[of[slot]] for slot in range(10)])


case(
    "matmul_experts",
    matmul_experts,
    lambda x, w, *_: experts(x, w),
    [
        arg.input("f16", (5, 32)),
        arg.input("f16", (2, 32, 24)),
        arg.known(EXPERTS),
        arg.known(ROWS),
        arg.output("f16", (10, 24)),
        24,
        32,
        10,
    ],
    grid=(2, 1),
    BM=16,
    BN=32,
    BK=32,
    num_warps=4,
)


@triton.jit
def matmul_batched(a, b, c, M, N, K, a_batch, b_batch, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SLIP: tl.constexpr):
    """A product for each batch, by numbers of 64 bits; the twin steps from b to b as from a to a"""
    batch = tl.program_id(2).to(tl.int64)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    left = a + batch * a_batch
    right = b + batch * (a_batch if SLIP else b_batch)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in tl.range(0, tl.cdiv(K, BK), num_stages=2):
        k = tl.max_contiguous(tl.multiple_of(k0 * BK + tl.arange(0, BK), BK), BK)
        x = tl.load(left + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        y = tl.load(right + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
    out = c + batch * M * N + m[:, None] * N + n[None, :]
    tl.store(out, acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


case(
    "matmul_batched",
    matmul_batched,
    lambda a, b: a @ b,
    [
        arg.input("f16", (2, 18, 40)),
        arg.input("f16", (2, 40, 24)),
        arg.output("f16", (2, 18, 24)),
        18,
        24,
        40,
        18 * 40,
        40 * 24,
    ],
    grid=(1, 1, 2),
    BM=32,
    BN=32,
    BK=32,
    num_warps=4,
    num_stages=2,
)


@triton.jit
def matmul_persistent(
    a, b, c, M, N, K, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SLIP: tl.constexpr
):
    """Fewer programs than tiles, each takes one after the other; the twin goes on with the sums of the tile before"""
    across = tl.cdiv(N, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * across, PROGRAMS):
        m = (tile // across) * BM + tl.arange(0, BM)
        n = (tile % across) * BN + tl.arange(0, BN)
        if not SLIP:
            acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k0 in range(0, K, BK):
            k = k0 + tl.arange(0, BK)
            x = tl.load(a + m[:, None] * K + k[None, :], mask=m[:, None] < M, other=0.0)
            y = tl.load(b + k[:, None] * N + n[None, :], mask=n[None, :] < N, other=0.0)
            acc = tl.dot(x, y, acc)
        tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


case(
    "matmul_persistent",
    matmul_persistent,
    lambda a, b: a @ b,
    [arg.input("f16", (24, 32)), arg.input("f16", (32, 24)), arg.output("f32", (24, 24)), 24, 24, 32],
    grid=(2,),
    PROGRAMS=2,
    BM=16,
    BN=16,
    BK=16,
    num_warps=2,
)


@triton.jit
def matmul_nibbles(x, w, scale, y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SLIP: tl.constexpr):
    """Half precision times weights of 4 bits, two in a byte along k, around 8; the twin takes the high half first"""
    m, n = tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        left = tl.load(x + m[:, None] * K + k[None, :], mask=m[:, None] < M, other=0.0)
        packed = tl.load(w + (k // 2)[:, None] * N + n[None, :], mask=n[None, :] < N, other=0)
        shift = ((k + 1) % 2 if SLIP else k % 2) * 4
        whole = ((packed.to(tl.int32) >> shift[:, None]) & 0xF) - 8
        factor = tl.load(scale + (k // 32)[:, None] * N + n[None, :], mask=n[None, :] < N, other=0.0)
        acc = tl.dot(left, (whole.to(tl.float16) * factor).to(tl.float16), acc)
    tl.store(y + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


def unpacked(w, scale):
    halves = np.stack([w % 16, w // 16], axis=1).reshape(2 * w.shape[0], w.shape[1])
    return (halves.astype(np.float64) - 8) * np.repeat(scale, 32, axis=0)


case(
    "matmul_nibbles",
    matmul_nibbles,
    lambda x, w, scale: x @ unpacked(w, scale),
    [
        arg.input("f16", (6, 64)),
        arg.input("u8", (32, 24)),
        arg.input("f16", (2, 24)),
        arg.output("f16", (6, 24)),
        6,
        24,
        64,
    ],
    grid=(2,),
    BM=16,
    BN=16,
    BK=32,
    num_warps=2,
)
