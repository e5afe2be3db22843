"""Kernels in Triton: a softmax of a row, a layer normalisation of a row, a tile of a matrix product.

Each works on one row or tile, whose size is fixed at compile time, and has a mutant.
"""

import triton
import triton.language as tl


@triton.jit
def softmax(x, y, n: tl.constexpr):
    """y[i] = exp(x[i] - max(x)) / sum of exp(x[j] - max(x))"""
    i = tl.arange(0, n)
    v = tl.load(x + i)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + i, e / tl.sum(e, axis=0))


@triton.jit
def softmax_masked(x, y, size, n: tl.constexpr):
    """The same for the first `size` of n values; the others count as -infinity."""
    i = tl.arange(0, n)
    v = tl.load(x + i, mask=i < size, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + i, e / tl.sum(e, axis=0), mask=i < size)


@triton.jit
def softmax_wrong_coefficient(x, y, n: tl.constexpr):
    """exp(2 (x - max)) in the numerator only"""
    i = tl.arange(0, n)
    v = tl.load(x + i)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + i, e * e / tl.sum(e, axis=0))


@triton.jit
def layernorm(x, gamma, beta, y, n: tl.constexpr):
    """y[i] = (x[i] - mean) / sqrt(var + 1e-5) * gamma[i] + beta[i]"""
    i = tl.arange(0, n)
    v = tl.load(x + i)
    mean = tl.sum(v, axis=0) / n
    centred = v - mean
    var = tl.sum(centred * centred, axis=0) / n
    scale = 1.0 / tl.sqrt(var + 1e-5)
    tl.store(y + i, centred * scale * tl.load(gamma + i) + tl.load(beta + i))


@triton.jit
def layernorm_no_epsilon(x, gamma, beta, y, n: tl.constexpr):
    """The same without the constant below the root"""
    i = tl.arange(0, n)
    v = tl.load(x + i)
    mean = tl.sum(v, axis=0) / n
    centred = v - mean
    var = tl.sum(centred * centred, axis=0) / n
    scale = 1.0 / tl.sqrt(var)
    tl.store(y + i, centred * scale * tl.load(gamma + i) + tl.load(beta + i))


@triton.jit
def matmul(a, b, c, alpha, beta, k: tl.constexpr, tile: tl.constexpr, step: tl.constexpr):
    """c = alpha * a @ b + beta * c for a tile x k matrix a and a k x tile matrix b"""
    r = tl.arange(0, tile)
    s = tl.arange(0, step)
    acc = tl.zeros((tile, tile), dtype=tl.float32)
    for k0 in range(0, k, step):
        left = tl.load(a + r[:, None] * k + (k0 + s)[None, :])
        right = tl.load(b + (k0 + s)[:, None] * tile + r[None, :])
        acc = tl.dot(left, right, acc, input_precision="ieee")
    p = c + r[:, None] * tile + r[None, :]
    tl.store(p, alpha * acc + beta * tl.load(p))


@triton.jit
def matmul_no_beta(a, b, c, alpha, beta, k: tl.constexpr, tile: tl.constexpr, step: tl.constexpr):
    """The same without beta"""
    r = tl.arange(0, tile)
    s = tl.arange(0, step)
    acc = tl.zeros((tile, tile), dtype=tl.float32)
    for k0 in range(0, k, step):
        left = tl.load(a + r[:, None] * k + (k0 + s)[None, :])
        right = tl.load(b + (k0 + s)[:, None] * tile + r[None, :])
        acc = tl.dot(left, right, acc, input_precision="ieee")
    p = c + r[:, None] * tile + r[None, :]
    tl.store(p, alpha * acc + tl.load(p))


@triton.jit
def product(a, b, c, k: tl.constexpr, tile: tl.constexpr, step: tl.constexpr, late: tl.constexpr):
    """c = a @ b on tensor cores, for half-precision a (tile x k) and b (k x tile); the mutant begins late"""
    r = tl.arange(0, tile)
    s = tl.arange(0, step)
    acc = tl.zeros((tile, tile), dtype=tl.float32)
    for k0 in range(late, k, step):
        left = tl.load(a + r[:, None] * k + (k0 + s)[None, :])
        right = tl.load(b + (k0 + s)[:, None] * tile + r[None, :])
        acc = tl.dot(left, right, acc)
    tl.store(c + r[:, None] * tile + r[None, :], acc)


@triton.jit
def product_described(
    a, b, c, m, n, k, depth: tl.constexpr, tile: tl.constexpr, step: tl.constexpr, late: tl.constexpr
):
    """c = a @ b by copies of boxes, whose tensor maps the kernel makes; the mutant begins late"""
    left = tl.make_tensor_descriptor(a, [m, k], [k, 1], [tile, step])
    right = tl.make_tensor_descriptor(b, [k, n], [n, 1], [step, tile])
    out = tl.make_tensor_descriptor(c, [m, n], [n, 1], [tile, tile])
    row, column = tl.program_id(0) * tile, tl.program_id(1) * tile
    acc = tl.zeros((tile, tile), dtype=tl.float32)
    for k0 in range(late, depth, step):
        acc = tl.dot(left.load([row, k0]), right.load([k0, column]), acc)
    out.store([row, column], acc)


@triton.jit
def product_mapped(left, right, out, depth: tl.constexpr, tile: tl.constexpr, step: tl.constexpr):
    """c = a @ b by copies of boxes, whose tensor maps the host makes"""
    row, column = tl.program_id(0) * tile, tl.program_id(1) * tile
    acc = tl.zeros((tile, tile), dtype=tl.float32)
    for k0 in range(0, depth, step):
        acc = tl.dot(left.load([row, k0]), right.load([k0, column]), acc)
    out.store([row, column], acc)


@triton.jit
def attention(q, k, v, o, n: tl.constexpr, d: tl.constexpr, step: tl.constexpr, rescale: tl.constexpr):
    """o = softmax(q k^T / sqrt(d)) v for n x d matrices, by blocks of keys; the mutant forgets to rescale"""
    r = tl.arange(0, n)
    s = tl.arange(0, step)
    e = tl.arange(0, d)
    left = tl.load(q + r[:, None] * d + e[None, :])
    top = tl.full((n,), -float("inf"), tl.float32)
    total = tl.zeros((n,), tl.float32)
    acc = tl.zeros((n, d), tl.float32)
    for k0 in range(0, n, step):
        keys = tl.load(k + (k0 + s)[None, :] * d + e[:, None])
        score = tl.dot(left, keys) * 0.25
        higher = tl.maximum(top, tl.max(score, 1))
        p = tl.exp(score - higher[:, None])
        scale = tl.exp(top - higher)
        total = total * scale + tl.sum(p, 1)
        if rescale:
            acc = acc * scale[:, None]
        values = tl.load(v + (k0 + s)[:, None] * d + e[None, :])
        acc = tl.dot(p.to(tl.float16), values, acc)
        top = higher
    tl.store(o + r[:, None] * d + e[None, :], (acc / total[:, None]).to(tl.float16))


@triton.jit
def product_bytes(a, b, left, right, c, k: tl.constexpr, tile: tl.constexpr, step: tl.constexpr, swap: tl.constexpr):
    """c[i, j] = left[i] * right[j] * (a @ b)[i, j] for bytes; the mutant swaps the scales"""
    r = tl.arange(0, tile)
    s = tl.arange(0, step)
    acc = tl.zeros((tile, tile), dtype=tl.int32)
    for k0 in range(0, k, step):
        x = tl.load(a + r[:, None] * k + (k0 + s)[None, :])
        y = tl.load(b + (k0 + s)[:, None] * tile + r[None, :])
        acc = tl.dot(x, y, acc, out_dtype=tl.int32)
    x, y = tl.load(left + r), tl.load(right + r)
    if swap:
        scale = x[None, :] * y[:, None]
    else:
        scale = x[:, None] * y[None, :]
    tl.store(c + r[:, None] * tile + r[None, :], acc.to(tl.float32) * scale)


@triton.jit
def gelu(x, y, n: tl.constexpr, scale: tl.constexpr):
    """y = x (1 + erf(scale x)) / 2"""
    i = tl.arange(0, n)
    v = tl.load(x + i)
    tl.store(y + i, 0.5 * v * (1.0 + tl.erf(v * scale)))


@triton.jit
def gated(x, gate, up, out, k: tl.constexpr, tile: tl.constexpr, step: tl.constexpr, swap: tl.constexpr):
    """out = silu(x @ gate) * (x @ up); the mutant swaps gate and up"""
    r = tl.arange(0, tile)
    s = tl.arange(0, step)
    g = tl.zeros((tile, tile), dtype=tl.float32)
    u = tl.zeros((tile, tile), dtype=tl.float32)
    for k0 in range(0, k, step):
        left = tl.load(x + r[:, None] * k + (k0 + s)[None, :])
        g = tl.dot(left, tl.load(gate + (k0 + s)[:, None] * tile + r[None, :]), g)
        u = tl.dot(left, tl.load(up + (k0 + s)[:, None] * tile + r[None, :]), u)
    if swap:
        tl.store(out + r[:, None] * tile + r[None, :], u * tl.sigmoid(u) * g)
    else:
        tl.store(out + r[:, None] * tile + r[None, :], g * tl.sigmoid(g) * u)


@triton.jit
def gathered(x, y, m: tl.constexpr, n: tl.constexpr, tile: tl.constexpr, shift: tl.constexpr):
    """y = every third row of x, four rows in each copy; the mutant takes the ones after them"""
    source = tl.make_tensor_descriptor(x, [m, n], [n, 1], [1, n])
    r = tl.arange(0, tile)
    rows = source.gather((r * 3 + shift) % m, 0)
    tl.store(y + r[:, None] * n + tl.arange(0, n)[None, :], rows)


@triton.jit
def scattered(x, y, m: tl.constexpr, n: tl.constexpr, tile: tl.constexpr, shift: tl.constexpr):
    """every third row of y = x, four rows in each copy; the mutant writes the ones after them"""
    r = tl.arange(0, tile)
    rows = tl.load(x + r[:, None] * n + tl.arange(0, n)[None, :])
    out = tl.make_tensor_descriptor(y, [m, n], [n, 1], [1, n])
    out.scatter(rows, (r * 3 + shift) % m, 0)


@triton.jit
def product_by_roles(
    a, b, c, m, n, k, rows: tl.constexpr, columns: tl.constexpr, step: tl.constexpr, scale: tl.constexpr
):
    """c = a @ b^T where some warps copy, some multiply and some store; the mutant scales the result"""
    left = tl.make_tensor_descriptor(a, [m, k], [k, 1], [rows, step])
    right = tl.make_tensor_descriptor(b, [n, k], [k, 1], [columns, step])
    out = tl.make_tensor_descriptor(c, [m, n], [n, 1], [rows, columns])
    row, column = tl.program_id(0) * rows, tl.program_id(1) * columns
    acc = tl.zeros((rows, columns), tl.float32)
    for i in tl.range(tl.cdiv(k, step), warp_specialize=True):
        acc = tl.dot(left.load([row, i * step]), right.load([column, i * step]).T, acc)
    out.store([row, column], (acc * scale).to(tl.float16))


@triton.jit
def attention_by_roles(
    q, k, v, o, n, d: tl.constexpr, rows: tl.constexpr, step: tl.constexpr, rescale: tl.constexpr
):
    """o = softmax(q k^T / 4) v where some warps copy, some multiply and some take exponentials; the mutant forgets to
    rescale"""
    left = tl.make_tensor_descriptor(q, [n, d], [d, 1], [rows, d])
    keys = tl.make_tensor_descriptor(k, [n, d], [d, 1], [step, d])
    values = tl.make_tensor_descriptor(v, [n, d], [d, 1], [step, d])
    r, e = tl.program_id(0) * rows + tl.arange(0, rows), tl.arange(0, d)
    x = left.load([tl.program_id(0) * rows, 0])
    top = tl.full((rows,), -float("inf"), tl.float32)
    total = tl.zeros((rows,), tl.float32)
    acc = tl.zeros((rows, d), tl.float32)
    for k0 in tl.range(0, n, step, warp_specialize=True):
        score = tl.dot(x, tl.trans(keys.load([k0, 0]))) * 0.25
        higher = tl.maximum(top, tl.max(score, 1))
        p = tl.exp(score - higher[:, None])
        scale = tl.exp(top - higher)
        total = total * scale + tl.sum(p, 1)
        if rescale:
            acc = acc * scale[:, None]
        acc = tl.dot(p.to(tl.float16), values.load([k0, 0]), acc)
        top = higher
    tl.store(o + r[:, None] * d + e[None, :], (acc / total[:, None]).to(tl.float16))


@triton.jit
def woven(x, y, z, n: tl.constexpr, swap: tl.constexpr):
    """z = x and y in turns, from the end; reversing a vector is an exclusive or of values and zeros"""
    i = tl.arange(0, n)
    v, w = tl.load(x + i), tl.load(y + i)
    both = tl.interleave(w, v) if swap else tl.interleave(v, w)
    tl.store(z + tl.arange(0, 2 * n), tl.flip(both, 0))


@triton.jit
def grouped_attention(
    q, k, v, o, size: tl.constexpr, d: tl.constexpr, group: tl.constexpr, step: tl.constexpr, more: tl.constexpr
):
    """Attention of a group of heads that share their keys, whose number fills no tile; the mutant takes one too many"""
    head = tl.program_id(0)
    r, e = tl.arange(0, group), tl.arange(0, d)
    left = tl.load(q + (head * group + r)[:, None] * d + e[None, :])
    top = tl.full((group,), -float("inf"), tl.float32)
    total = tl.zeros((group,), tl.float32)
    acc = tl.zeros((group, d), tl.float32)
    for k0 in range(0, size, step):
        j = k0 + tl.arange(0, step)
        at = head * size * d + j * d
        keys = tl.load(k + at[None, :] + e[:, None], mask=(j < size)[None, :], other=0.0)
        score = tl.where((j < size + more)[None, :], tl.dot(left, keys) * 0.25, -float("inf"))
        higher = tl.maximum(top, tl.max(score, 1))
        p = tl.exp(score - higher[:, None])
        scale = tl.exp(top - higher)
        total = total * scale + tl.sum(p, 1)
        values = tl.load(v + at[:, None] + e[None, :], mask=(j < size)[:, None], other=0.0)
        acc = acc * scale[:, None] + tl.dot(p.to(tl.float16), values)
        top = higher
    tl.store(o + (head * group + r)[:, None] * d + e[None, :], (acc / total[:, None]).to(tl.float16))


@triton.jit
def adafactor(p, g, r, c, out, m: tl.constexpr, n: tl.constexpr, mean: tl.constexpr):
    """A step of Adafactor: rows and columns of squares stand for all of them; the mutant forgets their mean"""
    i, j = tl.arange(0, m), tl.arange(0, n)
    at = i[:, None] * n + j[None, :]
    grad = tl.load(g + at)
    square = grad * grad + 1e-30
    rows = 0.9 * tl.load(r + i) + 0.1 * tl.sum(square, 1) / n
    columns = 0.9 * tl.load(c + j) + 0.1 * tl.sum(square, 0) / m
    moment = rows[:, None] * columns[None, :]
    if mean:
        moment = moment / (tl.sum(rows, 0) / m)
    tl.store(out + at, tl.load(p + at) - 0.01 * grad / tl.sqrt(moment))


@triton.jit
def capped_window(
    q, k, v, o, n: tl.constexpr, d: tl.constexpr, step: tl.constexpr, window: tl.constexpr, cap: tl.constexpr
):
    """Attention to the last keys only, scores squeezed between -cap and cap"""
    r = tl.program_id(0) * step + tl.arange(0, step)
    e = tl.arange(0, d)
    left = tl.load(q + r[:, None] * d + e[None, :])
    top = tl.full((step,), -1e30, tl.float32)
    total = tl.zeros((step,), tl.float32)
    acc = tl.zeros((step, d), tl.float32)
    for k0 in range(0, n, step):
        j = k0 + tl.arange(0, step)
        score = tl.dot(left, tl.trans(tl.load(k + j[:, None] * d + e[None, :]))) * 0.25
        power = tl.exp(2 * score / cap)
        score = cap * (power - 1) / (power + 1)
        seen = (r[:, None] >= j[None, :]) & (r[:, None] - j[None, :] < window)
        score = tl.where(seen, score, -1e30)
        higher = tl.maximum(top, tl.max(score, 1))
        scale = tl.exp(top - higher)
        p = tl.where(seen, tl.exp(score - higher[:, None]), 0.0)
        total = total * scale + tl.sum(p, 1)
        acc = acc * scale[:, None] + tl.dot(p.to(tl.float16), tl.load(v + j[:, None] * d + e[None, :]))
        top = higher
    tl.store(o + r[:, None] * d + e[None, :], acc / total[:, None])


@triton.jit
def argmax(x, y, n: tl.constexpr, first: tl.constexpr):
    """Where the largest of n numbers stands: the first of equal ones, or any"""
    value = tl.load(x + tl.arange(0, n))
    tl.store(y, tl.argmax(value, 0, tie_break_left=first))


@triton.jit
def lookup(ids, table, out, rows: tl.constexpr, d: tl.constexpr, shift: tl.constexpr):
    """Rows of a table; a negative id is padding, and gives zeros"""
    r = tl.arange(0, rows)
    c = tl.arange(0, d)
    row = tl.load(ids + r)
    valid = (row >= 0)[:, None]
    found = tl.load(table + (row[:, None] + shift) * d + c[None, :], mask=valid, other=0.0)
    tl.store(out + r[:, None] * d + c[None, :], found)


@triton.jit
def lookup_backward(ids, grad, table, rows: tl.constexpr, d: tl.constexpr, shift: tl.constexpr):
    """The gradient of the table, by atomics"""
    r = tl.arange(0, rows)
    c = tl.arange(0, d)
    row = tl.load(ids + r)
    valid = (row >= 0)[:, None]
    given = tl.load(grad + r[:, None] * d + (c[None, :] ^ shift))
    tl.atomic_add(table + row[:, None] * d + c[None, :], given, mask=valid)
