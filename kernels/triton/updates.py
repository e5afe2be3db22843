"""Rows that data mask, and sums and extrema that several programs update, as Triton writes them."""

import triton
import triton.language as tl


@triton.jit
def masked_softmax(x, keep, y, n: tl.constexpr, way: tl.constexpr, mask: tl.constexpr, guard: tl.constexpr):
    """softmax of the elements of a row that are kept; what is not has the value `mask`; `way` 0 subtracts no maximum, 2 adds
    the mask, and with `guard` a row of which nothing is kept is 0"""
    o = tl.program_id(0) * n + tl.arange(0, n)
    kept = tl.load(keep + o) != 0
    if way == 2:
        v = tl.load(x + o) + tl.where(kept, 0.0, mask)
    else:
        v = tl.where(kept, tl.load(x + o), mask)
    m = tl.max(v, 0)
    if guard:
        m = tl.where(m == mask, 0.0, m)
    e = tl.exp(v) if way == 0 else tl.exp(v - m)
    s = tl.sum(e, 0)
    if guard:
        s = tl.where(s == 0.0, 1.0, s)
    tl.store(y + o, e / s)


@triton.jit
def causal_softmax(x, y, n: tl.constexpr, mask: tl.constexpr):
    """softmax of the first i + 1 elements of row i"""
    row, o = tl.program_id(0), tl.arange(0, n)
    v = tl.where(o <= row, tl.load(x + row * n + o), mask)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + row * n + o, e / tl.sum(e, 0))


@triton.jit
def locked_sum(x, total, lock, n: tl.constexpr, groups: tl.constexpr):
    """adds row i to row i % groups of the total, under the lock of that row"""
    row, o = tl.program_id(0), tl.arange(0, n)
    group = row % groups
    v = tl.load(x + row * n + o)
    while tl.atomic_cas(lock + group, 0, 1) == 1:
        pass
    tl.debug_barrier()
    tl.store(total + group * n + o, tl.load(total + group * n + o) + v)
    tl.debug_barrier()
    tl.atomic_xchg(lock + group, 0)


@triton.jit
def counted_sum(x, total, lock, count, n: tl.constexpr, groups: tl.constexpr):
    """the same for totals that hold nothing at first: the first program of a group stores its row"""
    row, o = tl.program_id(0), tl.arange(0, n)
    group = row % groups
    v = tl.load(x + row * n + o)
    while tl.atomic_cas(lock + group, 0, 1) == 1:
        pass
    if tl.load(count + group) == 0:
        tl.atomic_xchg(count + group, 1)
    else:
        v += tl.load(total + group * n + o)
    tl.store(total + group * n + o, v)
    tl.debug_barrier()
    tl.atomic_xchg(lock + group, 0)


@triton.jit
def largest(x, out, size, n: tl.constexpr, least: tl.constexpr):
    """out = max(out, x), and what is beyond the size counts as `least`"""
    o = tl.program_id(0) * n + tl.arange(0, n)
    tl.atomic_max(out, tl.max(tl.load(x + o, mask=o < size, other=least), 0))


@triton.jit
def smallest_of_columns(x, out, n: tl.constexpr):
    """out[j] = min(out[j], x[i, j])"""
    o = tl.arange(0, n)
    tl.atomic_min(out + o, tl.load(x + tl.program_id(0) * n + o))


@triton.jit
def checked(x, y, n: tl.constexpr, positive: tl.constexpr):
    """y = 2 x, and that squares, or the elements themselves, are above 0"""
    tl.static_assert(n > 1)
    o = tl.program_id(0) * n + tl.arange(0, n)
    v = tl.load(x + o)
    if positive:
        tl.device_assert(v > 0.0, "not above 0")
    else:
        tl.device_assert(v * v >= 0.0, "a square below 0")
    tl.store(y + o, v * 2.0)


@triton.jit
def checked_lookup(table, ids, y, rows, n: tl.constexpr):
    """y[i] = table[ids[i]], and that ids[i] is in the table"""
    o = tl.arange(0, n)
    k = tl.load(ids + o)
    tl.device_assert((k >= 0) & (k < rows), "not in the table")
    tl.store(y + o, tl.load(table + k))
