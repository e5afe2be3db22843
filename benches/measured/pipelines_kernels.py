"""Pipelines in Triton as they are usually written: products by persistent programs and by warps with roles, and attention.

c = a @ b^T for a (m x k) and b (n x k), row by row; attention is o = softmax(q k^T / 4) v for n x 16 matrices.  Every kernel is the
right one; `late` is a mistake for the comparison: the sum begins late.
"""

import triton
import triton.language as tl


@triton.jit
def tile_of(tile, n, rows: tl.constexpr, columns: tl.constexpr):
    """The first row and column of a tile, tiles of one column of them after each other."""
    across = tl.cdiv(n, columns)
    return (tile // across) * rows, (tile % across) * columns


@triton.jit
def finish(acc, bias, column, columns: tl.constexpr, ending: tl.constexpr):
    """What is done to the product before it is stored."""
    if ending == "bias":
        acc += tl.load(bias + column + tl.arange(0, columns)).to(tl.float32)[None, :]
    if ending == "relu":
        acc = tl.maximum(acc, 0.0)
    return acc.to(tl.float16)


@triton.jit
def plain(a, b, c, bias, m, n, k, rows: tl.constexpr, columns: tl.constexpr, step: tl.constexpr, ending: tl.constexpr, late: tl.constexpr):
    """A program for each tile, by plain loads and stores: what the others are compared with."""
    row, column = tile_of(tl.program_id(0), n, rows, columns)
    r, s, e = row + tl.arange(0, rows), column + tl.arange(0, columns), tl.arange(0, step)
    acc = tl.zeros((rows, columns), tl.float32)
    for k0 in tl.range(late, k, step):
        x = tl.load(a + r[:, None] * k + (k0 + e)[None, :])
        y = tl.load(b + s[None, :] * k + (k0 + e)[:, None])
        acc = tl.dot(x, y, acc)
    tl.store(c + r[:, None] * n + s[None, :], finish(acc, bias, column, columns, ending))


@triton.jit
def persistent(
    a, b, c, bias, m, n, k, rows: tl.constexpr, columns: tl.constexpr, step: tl.constexpr, ending: tl.constexpr, flat: tl.constexpr
):
    """Programs that take tiles in turns, by pointers."""
    tiles = tl.cdiv(m, rows) * tl.cdiv(n, columns)
    e = tl.arange(0, step)
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=flat):
        row, column = tile_of(tile, n, rows, columns)
        r, s = row + tl.arange(0, rows), column + tl.arange(0, columns)
        acc = tl.zeros((rows, columns), tl.float32)
        for k0 in tl.range(0, k, step):
            x = tl.load(a + r[:, None] * k + (k0 + e)[None, :])
            y = tl.load(b + s[None, :] * k + (k0 + e)[:, None])
            acc = tl.dot(x, y, acc)
        tl.store(c + r[:, None] * n + s[None, :], finish(acc, bias, column, columns, ending))


@triton.jit
def over_tiles(
    left, right, out, bias, m, n, k, rows: tl.constexpr, columns: tl.constexpr, step: tl.constexpr, ending: tl.constexpr,
    flat: tl.constexpr, roles: tl.constexpr,
):
    """Tiles in turns, by copies of boxes; with roles, the loop over tiles is divided among warps."""
    tiles = tl.cdiv(m, rows) * tl.cdiv(n, columns)
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=flat, warp_specialize=roles):
        row, column = tile_of(tile, n, rows, columns)
        acc = tl.zeros((rows, columns), tl.float32)
        for k0 in tl.range(0, k, step):
            acc = tl.dot(left.load([row, k0]), right.load([column, k0]).T, acc)
        out.store([row, column], finish(acc, bias, column, columns, ending))


@triton.jit
def persistent_described(
    a, b, c, bias, m, n, k, rows: tl.constexpr, columns: tl.constexpr, step: tl.constexpr, ending: tl.constexpr, flat: tl.constexpr,
    roles: tl.constexpr,
):
    """Tiles in turns, with tensor maps that the kernel makes."""
    left = tl.make_tensor_descriptor(a, [m, k], [k, 1], [rows, step])
    right = tl.make_tensor_descriptor(b, [n, k], [k, 1], [columns, step])
    out = tl.make_tensor_descriptor(c, [m, n], [n, 1], [rows, columns])
    over_tiles(left, right, out, bias, m, n, k, rows, columns, step, ending, flat, roles)


@triton.jit
def persistent_mapped(
    a, b, c, bias, m, n, k, rows: tl.constexpr, columns: tl.constexpr, step: tl.constexpr, ending: tl.constexpr, flat: tl.constexpr,
    roles: tl.constexpr,
):
    """Tiles in turns, with tensor maps that the host makes."""
    over_tiles(a, b, c, bias, m, n, k, rows, columns, step, ending, flat, roles)


@triton.jit
def by_roles(
    a, b, c, bias, m, n, k, rows: tl.constexpr, columns: tl.constexpr, step: tl.constexpr, ending: tl.constexpr, stored: tl.constexpr
):
    """A program for each tile, whose loop is divided among warps: some copy, some multiply."""
    left = tl.make_tensor_descriptor(a, [m, k], [k, 1], [rows, step])
    right = tl.make_tensor_descriptor(b, [n, k], [k, 1], [columns, step])
    row, column = tile_of(tl.program_id(0), n, rows, columns)
    acc = tl.zeros((rows, columns), tl.float32)
    for k0 in tl.range(0, k, step, warp_specialize=True):
        acc = tl.dot(left.load([row, k0]), right.load([column, k0]).T, acc)
    done = finish(acc, bias, column, columns, ending)
    if stored:
        out = tl.make_tensor_descriptor(c, [m, n], [n, 1], [rows, columns])
        out.store([row, column], done)
    else:
        r, s = row + tl.arange(0, rows), column + tl.arange(0, columns)
        tl.store(c + r[:, None] * n + s[None, :], done)


@triton.jit
def weigh(score, top, total, acc):
    """One block of the softmax: its weights, and what was summed so far, rescaled."""
    higher = tl.maximum(top, tl.max(score, 1))
    p = tl.exp(score - higher[:, None])
    scale = tl.exp(top - higher)
    return p.to(tl.float16), higher, total * scale + tl.sum(p, 1), acc * scale[:, None]


@triton.jit
def attention(q, k, v, o, n, d: tl.constexpr, rows: tl.constexpr, step: tl.constexpr):
    """By plain loads."""
    r, s, e = tl.program_id(0) * rows + tl.arange(0, rows), tl.arange(0, step), tl.arange(0, d)
    x = tl.load(q + r[:, None] * d + e[None, :])
    top = tl.full((rows,), -float("inf"), tl.float32)
    total = tl.zeros((rows,), tl.float32)
    acc = tl.zeros((rows, d), tl.float32)
    for k0 in tl.range(0, n, step):
        keys = tl.load(k + (k0 + s)[None, :] * d + e[:, None])
        p, top, total, acc = weigh(tl.dot(x, keys) * 0.25, top, total, acc)
        acc = tl.dot(p, tl.load(v + (k0 + s)[:, None] * d + e[None, :]), acc)
    tl.store(o + r[:, None] * d + e[None, :], (acc / total[:, None]).to(tl.float16))


@triton.jit
def attention_described(
    q, k, v, o, n, d: tl.constexpr, rows: tl.constexpr, step: tl.constexpr, roles: tl.constexpr, stored: tl.constexpr
):
    """By copies of boxes; with roles, the loop is divided among warps; what is stored by a copy leaves by the unit of copies."""
    left = tl.make_tensor_descriptor(q, [n, d], [d, 1], [rows, d])
    keys = tl.make_tensor_descriptor(k, [n, d], [d, 1], [step, d])
    values = tl.make_tensor_descriptor(v, [n, d], [d, 1], [step, d])
    row = tl.program_id(0) * rows
    x = left.load([row, 0])
    top = tl.full((rows,), -float("inf"), tl.float32)
    total = tl.zeros((rows,), tl.float32)
    acc = tl.zeros((rows, d), tl.float32)
    for k0 in tl.range(0, n, step, warp_specialize=roles):
        p, top, total, acc = weigh(tl.dot(x, keys.load([k0, 0]).T) * 0.25, top, total, acc)
        acc = tl.dot(p, values.load([k0, 0]), acc)
    done = (acc / total[:, None]).to(tl.float16)
    if stored:
        out = tl.make_tensor_descriptor(o, [n, d], [d, 1], [rows, d])
        out.store([row, 0], done)
    else:
        r, e = row + tl.arange(0, rows), tl.arange(0, d)
        tl.store(o + r[:, None] * d + e[None, :], done)
