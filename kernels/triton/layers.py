"""Layers of networks and their gradients as Triton writes them; each program works on one row, channel or tile."""

import triton
import triton.language as tl


@triton.jit
def convolution(
    x, w, y, c: tl.constexpr, h: tl.constexpr, s: tl.constexpr, o: tl.constexpr, r: tl.constexpr, tile: tl.constexpr
):
    """y = x * w for images with a border of one zero, one output channel for each program"""
    channel = tl.program_id(0)
    at = tl.program_id(1) * tile + tl.arange(0, tile)
    row, column = at // s, at % s
    acc = tl.zeros((tile,), tl.float32)
    for k in range(c):
        for i in tl.static_range(r):
            for j in tl.static_range(r):
                m, n = row + i - 1, column + j - 1
                inside = (m >= 0) & (m < h) & (n >= 0) & (n < s)
                value = tl.load(x + (k * h + m) * s + n, mask=inside, other=0.0)
                acc += value * tl.load(w + ((channel * c + k) * r + i) * r + j)
    tl.store(y + channel * h * s + at, acc, mask=at < h * s)


@triton.jit
def convolution_product(
    x, w, y, h: tl.constexpr, s: tl.constexpr, c: tl.constexpr, o: tl.constexpr, tile: tl.constexpr
):
    """The same for images of halves whose channels are next to each other, by nine products on tensor cores"""
    at = tl.program_id(0) * tile + tl.arange(0, tile)
    row, column = at // s, at % s
    e, f = tl.arange(0, c), tl.arange(0, o)
    acc = tl.zeros((tile, o), tl.float32)
    for t in range(9):
        m, n = row + t // 3 - 1, column + t % 3 - 1
        inside = (m >= 0) & (m < h) & (n >= 0) & (n < s)
        left = tl.load(x + ((m * s + n) * c)[:, None] + e[None, :], mask=inside[:, None], other=0.0)
        acc = tl.dot(left, tl.load(w + (t * c + e)[:, None] * o + f[None, :]), acc)
    tl.store(y + at[:, None] * o + f[None, :], acc, mask=(at < h * s)[:, None])


@triton.jit
def pool(
    x, y, h: tl.constexpr, s: tl.constexpr, oh: tl.constexpr, os: tl.constexpr, tile: tl.constexpr, mean: tl.constexpr
):
    """The largest, or the mean, of windows of 3 x 3 at every second place, with a border of one"""
    image = tl.program_id(0)
    at = tl.arange(0, tile)
    row, column = at // os, at % os
    acc = tl.full((tile,), 0.0 if mean else -float("inf"), tl.float32)
    for i in tl.static_range(3):
        for j in tl.static_range(3):
            m, n = 2 * row + i - 1, 2 * column + j - 1
            inside = (m >= 0) & (m < h) & (n >= 0) & (n < s)
            value = tl.load(x + (image * h + m) * s + n, mask=inside, other=0.0 if mean else -float("inf"))
            acc = acc + value if mean else tl.maximum(acc, value)
    if mean:
        acc = acc / 9
    tl.store(y + image * oh * os + at, acc, mask=at < oh * os)


@triton.jit
def rope(x, cos, sin, y, heads: tl.constexpr, d: tl.constexpr, sign: tl.constexpr):
    """The halves of each head turned by the angles of a position; backwards with a sign of -1"""
    position = tl.program_id(0)
    j = tl.arange(0, d // 2)
    at = position * heads * d + tl.arange(0, heads)[:, None] * d + j[None, :]
    c = tl.load(cos + position * (d // 2) + j)[None, :]
    s = tl.load(sin + position * (d // 2) + j)[None, :] * sign
    low, high = tl.load(x + at), tl.load(x + at + d // 2)
    tl.store(y + at, low * c - high * s)
    tl.store(y + at + d // 2, high * c + low * s)


@triton.jit
def group_norm(x, g, b, y, groups: tl.constexpr, size: tl.constexpr, s: tl.constexpr, tile: tl.constexpr):
    """y[n, c, s], normalised over each group of channels"""
    image, group = tl.program_id(0), tl.program_id(1)
    at = tl.arange(0, tile)
    inside = at < size * s
    base = (image * groups + group) * size * s
    value = tl.load(x + base + at, mask=inside, other=0.0)
    mean = tl.sum(value, 0) / (size * s)
    centred = tl.where(inside, value - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, 0) / (size * s) + 1e-5)
    channel = group * size + at // s
    out = centred * scale * tl.load(g + channel, mask=inside) + tl.load(b + channel, mask=inside)
    tl.store(y + base + at, out, mask=inside)


@triton.jit
def batch_norm(x, g, b, y, mean_out, scale_out, n: tl.constexpr, c: tl.constexpr, rows: tl.constexpr):
    """y[n, c], normalised over n; the mean and the reciprocal root are kept for the way back"""
    channel = tl.program_id(0)
    at = tl.arange(0, rows)
    inside = at < n
    value = tl.load(x + at * c + channel, mask=inside, other=0.0)
    mean = tl.sum(value, 0) / n
    centred = tl.where(inside, value - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, 0) / n + 1e-5)
    tl.store(mean_out + channel, mean)
    tl.store(scale_out + channel, scale)
    tl.store(y + at * c + channel, centred * scale * tl.load(g + channel) + tl.load(b + channel), mask=inside)


@triton.jit
def batch_norm_backward(x, g, d, mean_in, scale_in, dx, dg, db, n: tl.constexpr, c: tl.constexpr, rows: tl.constexpr):
    """The gradients of the input, the factors and the summands, from the mean and the reciprocal root"""
    channel = tl.program_id(0)
    at = tl.arange(0, rows)
    inside = at < n
    mean, scale = tl.load(mean_in + channel), tl.load(scale_in + channel)
    value = tl.load(x + at * c + channel, mask=inside, other=0.0)
    given = tl.load(d + at * c + channel, mask=inside, other=0.0)
    normal = tl.where(inside, (value - mean) * scale, 0.0)
    along, total = tl.sum(given * normal, 0), tl.sum(given, 0)
    tl.store(dg + channel, along)
    tl.store(db + channel, total)
    out = tl.load(g + channel) * scale * (given - total / n - normal * along / n)
    tl.store(dx + at * c + channel, out, mask=inside)


@triton.jit
def causal(q, k, v, o, n: tl.constexpr, d: tl.constexpr, step: tl.constexpr, group: tl.constexpr):
    """Attention to the keys up to its own position, by blocks of keys; `group` heads share their keys"""
    head = tl.program_id(1)
    shared = head // group
    r, e = tl.program_id(0) * step + tl.arange(0, step), tl.arange(0, d)
    left = tl.load(q + (head * n + r)[:, None] * d + e[None, :])
    top = tl.full((step,), -float("inf"), tl.float32)
    total = tl.zeros((step,), tl.float32)
    acc = tl.zeros((step, d), tl.float32)
    for k0 in range(0, (tl.program_id(0) + 1) * step, step):
        j = k0 + tl.arange(0, step)
        keys = tl.load(k + (shared * n + j)[None, :] * d + e[:, None])
        score = tl.dot(left, keys, input_precision="ieee") * 0.25
        score = tl.where(r[:, None] >= j[None, :], score, -float("inf"))
        higher = tl.maximum(top, tl.max(score, 1))
        p = tl.exp(score - higher[:, None])
        scale = tl.exp(top - higher)
        total = total * scale + tl.sum(p, 1)
        values = tl.load(v + (shared * n + j)[:, None] * d + e[None, :])
        acc = acc * scale[:, None] + tl.dot(p, values, input_precision="ieee")
        top = higher
    tl.store(o + (head * n + r)[:, None] * d + e[None, :], acc / total[:, None])


@triton.jit
def attention_backward(
    q, k, v, o, do, lse, dq, dk, dv, n: tl.constexpr, d: tl.constexpr, masked: tl.constexpr, inner: tl.constexpr
):
    """The gradients of attention of one tile, from its output and the logarithms of its sums; without `inner`, what a
    row has in common is not subtracted"""
    r, e = tl.arange(0, n), tl.arange(0, d)
    at = r[:, None] * d + e[None, :]
    x, y, z = tl.load(q + at), tl.load(k + at), tl.load(v + at)
    given = tl.load(do + at)
    score = tl.dot(x, tl.trans(y), input_precision="ieee") * 0.25
    p = tl.exp(score - tl.load(lse + r)[:, None])
    if masked:
        p = tl.where(r[:, None] >= r[None, :], p, 0.0)
    tl.store(dv + at, tl.dot(tl.trans(p), given, input_precision="ieee"))
    dp = tl.dot(given, tl.trans(z), input_precision="ieee")
    if inner:
        dp = dp - tl.sum(tl.load(o + at) * given, 1)[:, None]
    ds = p * dp * 0.25
    tl.store(dq + at, tl.dot(ds, y, input_precision="ieee"))
    tl.store(dk + at, tl.dot(tl.trans(ds), x, input_precision="ieee"))


@triton.jit
def cross_entropy(
    x, t, loss, dx, n, ignored, tile: tl.constexpr, smoothing: tl.constexpr, classes: tl.constexpr
):
    """The loss of a row and its gradient, with smoothed labels; rows of one label count as zero"""
    row = tl.program_id(0)
    j = tl.arange(0, tile)
    label = tl.load(t + row)
    if label == ignored:
        tl.store(loss + row, 0.0)
        tl.store(dx + row * n + j, tl.zeros((tile,), tl.float32), mask=j < n)
        return
    value = tl.load(x + row * n + j, mask=j < n, other=-float("inf"))
    top = tl.max(value, 0)
    power = tl.exp(value - top)
    total = tl.sum(power, 0)
    log_sum = tl.log(total) + top
    chosen = tl.load(x + row * n + label)
    out = log_sum - chosen
    if smoothing > 0:
        spread = tl.sum(tl.where(j < n, value, 0.0), 0)
        out = (1 - smoothing) * out + smoothing * (log_sum - spread / classes)
    tl.store(loss + row, out)
    grad = power / total - smoothing / classes - tl.where(j == label, 1 - smoothing, 0.0)
    tl.store(dx + row * n + j, grad, mask=j < n)


@triton.jit
def together(mean, moment, weight, other_mean, other_moment, other_weight):
    delta = other_mean - mean
    sum_of_weights = weight + other_weight
    share = other_weight / sum_of_weights
    return (
        mean + delta * share,
        moment + other_moment + delta * delta * weight * share,
        sum_of_weights,
    )


@triton.jit
def welford(x, g, b, y, n: tl.constexpr):
    """Layer normalisation of a row whose mean and variance come from one reduction of pairs"""
    row = tl.program_id(0)
    j = tl.arange(0, n)
    value = tl.load(x + row * n + j)
    mean, moment, weight = tl.reduce(
        (value, tl.zeros((n,), tl.float32), tl.full((n,), 1.0, tl.float32)), 0, together
    )
    scale = 1 / tl.sqrt(moment / weight + 1e-5)
    tl.store(y + row * n + j, (value - mean) * scale * tl.load(g + j) + tl.load(b + j))


@triton.jit
def bytes_with_zeros(x, w, scale, zero, row_scale, y, k: tl.constexpr, tile: tl.constexpr, step: tl.constexpr):
    """y = row_scale scale (x @ (w - zero)) for bytes, what the zeros take away subtracted at the end"""
    r, s = tl.arange(0, tile), tl.arange(0, step)
    acc = tl.zeros((tile, tile), tl.int32)
    sums = tl.zeros((tile,), tl.int32)
    for k0 in range(0, k, step):
        left = tl.load(x + r[:, None] * k + (k0 + s)[None, :])
        acc = tl.dot(left, tl.load(w + (k0 + s)[:, None] * tile + r[None, :]), acc, out_dtype=tl.int32)
        sums += tl.sum(left.to(tl.int32), 1)
    acc = acc - sums[:, None] * tl.load(zero + r).to(tl.int32)[None, :]
    out = acc.to(tl.float32) * tl.load(scale + r)[None, :] * tl.load(row_scale + r)[:, None]
    tl.store(y + r[:, None] * tile + r[None, :], out)


@triton.jit
def running(x, y, n, tile: tl.constexpr, reverse: tl.constexpr):
    """Sums of the elements up to each one, or from each one on"""
    row = tl.program_id(0)
    j = tl.arange(0, tile)
    value = tl.load(x + row * n + j, mask=j < n, other=0.0)
    tl.store(y + row * n + j, tl.cumsum(value, 0, reverse=reverse), mask=j < n)


@triton.jit
def times(a, b):
    return a * b


@triton.jit
def running_product(x, y, n: tl.constexpr):
    """Products of the elements up to each one"""
    j = tl.arange(0, n)
    tl.store(y + j, tl.associative_scan(tl.load(x + j), 0, times))


@triton.jit
def rms_norm_backward(x, w, d, dx, n, tile: tl.constexpr):
    """The gradient of the input of a row that was divided by the root of its mean square"""
    row = tl.program_id(0)
    j = tl.arange(0, tile)
    inside = j < n
    value = tl.load(x + row * n + j, mask=inside, other=0.0)
    given = tl.load(d + row * n + j, mask=inside, other=0.0) * tl.load(w + j, mask=inside, other=0.0)
    scale = tl.rsqrt(tl.sum(value * value, 0) / n + 1e-6)
    along = tl.sum(given * value, 0)
    tl.store(dx + row * n + j, scale * (given - value * scale * scale * along / n), mask=inside)


@triton.jit
def layer_norm_backward(x, w, d, mean_in, scale_in, dx, n, tile: tl.constexpr):
    """The gradient of the input of a row that was normalised, from its mean and its reciprocal root"""
    row = tl.program_id(0)
    j = tl.arange(0, tile)
    inside = j < n
    mean, scale = tl.load(mean_in + row), tl.load(scale_in + row)
    value = tl.load(x + row * n + j, mask=inside, other=0.0)
    given = tl.load(d + row * n + j, mask=inside, other=0.0) * tl.load(w + j, mask=inside, other=0.0)
    normal = tl.where(inside, (value - mean) * scale, 0.0)
    along = tl.sum(normal * given, 0) / n
    total = tl.sum(given, 0) / n
    tl.store(dx + row * n + j, (given - normal * along - total) * scale, mask=inside)


@triton.jit
def softmax_backward(y, d, dx, n, tile: tl.constexpr):
    """The gradient of what went into a softmax, from what came out"""
    row = tl.program_id(0)
    j = tl.arange(0, tile)
    value = tl.load(y + row * n + j, mask=j < n, other=0.0)
    given = tl.load(d + row * n + j, mask=j < n, other=0.0)
    tl.store(dx + row * n + j, value * (given - tl.sum(value * given, 0)), mask=j < n)


@triton.jit
def swiglu_backward(a, b, d, da, db, n, tile: tl.constexpr):
    """The gradients of both factors of silu(a) b"""
    i = tl.program_id(0) * tile + tl.arange(0, tile)
    x, y = tl.load(a + i, mask=i < n), tl.load(b + i, mask=i < n)
    given = tl.load(d + i, mask=i < n)
    s = tl.sigmoid(x)
    tl.store(db + i, given * x * s, mask=i < n)
    tl.store(da + i, given * y * s * (1 + x * (1 - s)), mask=i < n)


@triton.jit
def largest(x, y, n, tile: tl.constexpr, first: tl.constexpr):
    """Where the largest of the first n numbers stands: the first of equal ones, or any"""
    i = tl.arange(0, tile)
    value = tl.load(x + i, mask=i < n, other=-float("inf"))
    tl.store(y, tl.argmax(value, 0, tie_break_left=first))


@triton.jit
def surprise(p, q, y, n, tile: tl.constexpr, factor: tl.constexpr):
    """-p log(q) of probabilities, and the error function of p in place of a number"""
    i = tl.program_id(0) * tile + tl.arange(0, tile)
    value = tl.load(p + i, mask=i < n)
    tl.store(y + i, factor * tl.erf(value) - value * tl.log(tl.load(q + i, mask=i < n, other=1.0)), mask=i < n)
