"""Values of PTX instructions, worked out in unbounded integers and exact fractions.

Source: the definitions of PTX ISA 9.0, section 9.7, one function for each opcode. Everything here is about
plain integers and `Fraction`s; nothing is taken from volta, whose answers are compared with these.
"""
from fractions import Fraction

NAN, INF, NINF = "nan", "inf", "-inf"


def low(x, w):
    return x & ((1 << w) - 1)


def signed(x, w):
    x = low(x, w)
    return x - (1 << w) if x >> (w - 1) else x


def num(x, t):
    """The integer that bits denote in a type such as `s32`."""
    w = int(t[1:])
    return signed(x, w) if t[0] == "s" else low(x, w)


def clamp(x, t):
    w = int(t[1:])
    least, most = (-(1 << (w - 1)), (1 << (w - 1)) - 1) if t[0] == "s" else (0, (1 << w) - 1)
    return min(max(x, least), most)


def bits(t):
    return int(t[1:])


# 9.7.1 and 9.7.2

def truncated(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def div(a, b, t):
    a, b = num(a, t), num(b, t)
    return None if b == 0 else low(truncated(a, b), bits(t))


def rem(a, b, t):
    a, b = num(a, t), num(b, t)
    return None if b == 0 else low(a - b * truncated(a, b), bits(t))


def bfind(a, t, shift):
    w = bits(t)
    a = num(a, t)
    if a < 0:
        a = ~a
    return low(-1, 32) if a == 0 else (w - a.bit_length() if shift else a.bit_length() - 1)


def fns(mask, base, offset):
    """Section 9.7.1.17 as its table says: the n-th set bit counted from `base`, up or down."""
    offset = signed(offset, 32)
    if base > 31:
        return None
    if offset == 0:
        return base if mask >> base & 1 else low(-1, 32)
    order = range(base, 32) if offset > 0 else range(base, -1, -1)
    found = [i for i in order if mask >> i & 1]
    return found[abs(offset) - 1] if len(found) >= abs(offset) else low(-1, 32)


def bfe(a, pos, length, t):
    w = bits(t)
    pos, length = pos & 0xff, length & 0xff
    if t[0] == "u" or length == 0:
        fill = 0
    else:
        fill = a >> min(pos + length - 1, w - 1) & 1
    out = 0
    for i in range(w):
        bit = a >> (pos + i) & 1 if i < length and pos + i < w else fill
        out |= bit << i
    return out


def bfi(a, b, pos, length, w):
    pos, length = pos & 0xff, length & 0xff
    out = b
    for i in range(length):
        if pos + i < w:
            out = out & ~(1 << (pos + i)) | (a >> i & 1) << (pos + i)
    return out


def szext(a, n, mode, t):
    if mode == "clamp" and n >= 32:
        return low(a, 32)
    n &= 31
    if n == 0:
        return 0
    field = low(a, n)
    return low(signed(field, n), 32) if t[0] == "s" else field


def bmsk(pos, length, mode):
    if mode == "wrap":
        pos, length = pos & 31, length & 31
    out = 0
    for i in range(32):
        if pos <= i < pos + length:
            out |= 1 << i
    return out


def dp4a(a, b, c, ta, tb):
    parts = [num(a >> (8 * i), ta[0] + "8") * num(b >> (8 * i), tb[0] + "8") for i in range(4)]
    return low(c + sum(parts), 32)


def dp2a(a, b, c, ta, tb, high):
    first = 2 if high else 0
    parts = [num(a >> (16 * i), ta[0] + "16") * num(b >> (8 * (first + i)), tb[0] + "8") for i in range(2)]
    return low(c + sum(parts), 32)


# 9.7.8 and 9.7.9.7

def lop3(a, b, c, table, w=32):
    out = 0
    for i in range(w):
        row = (a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1
        out |= (table >> row & 1) << i
    return out


def shl(a, n, w):
    return low(a << min(n, w), w)


def shr(a, n, t):
    return low(num(a, t) >> min(n, bits(t)), bits(t))


def shf(a, b, n, left, mode):
    n = min(n, 32) if mode == "clamp" else n & 31
    whole = b << 32 | a
    return low(whole << n >> 32, 32) if left else low(whole >> n, 32)


def prmt(a, b, c, mode):
    source = [(a if i < 4 else b) >> (8 * (i & 3)) & 0xff for i in range(8)]
    s = c & 3
    if mode is None:
        out = []
        for i in range(4):
            n = c >> (4 * i) & 15
            byte = source[n & 7]
            out.append((0xff if byte & 0x80 else 0) if n & 8 else byte)
    else:
        picks = {
            "f4e": [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]],
            "b4e": [[0, 7, 6, 5], [1, 0, 7, 6], [2, 1, 0, 7], [3, 2, 1, 0]],
            "rc8": [[0] * 4, [1] * 4, [2] * 4, [3] * 4],
            "ecl": [[0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]],
            "ecr": [[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]],
            "rc16": [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]],
        }[mode][s]
        out = [source[i] for i in picks]
    return sum(byte << (8 * i) for i, byte in enumerate(out))


# Floats: a format is (exponent bits, fraction bits, kind). `ieee` has infinities and NaN, `fn` one NaN
# pattern of all ones and no infinity, `fin` neither.

FORMATS = {
    "f16": (5, 10, "ieee"), "bf16": (8, 7, "ieee"), "f32": (8, 23, "ieee"), "f64": (11, 52, "ieee"),
    "e4m3": (4, 3, "fn"), "e5m2": (5, 2, "ieee"), "e2m3": (2, 3, "fin"), "e3m2": (3, 2, "fin"),
    "e2m1": (2, 1, "fin"),
}


def fwidth(f):
    e, m, _ = FORMATS[f]
    return 1 + e + m


def decode(x, f):
    """A Fraction, NAN, INF or NINF. The sign of a zero is lost: see `negative`."""
    if f == "ue8m0":
        return NAN if x == 255 else Fraction(2) ** (x - 127)
    e, m, kind = FORMATS[f]
    sign = x >> (e + m) & 1
    exponent, fraction = x >> m & ((1 << e) - 1), x & ((1 << m) - 1)
    bias = (1 << (e - 1)) - 1
    top = exponent == (1 << e) - 1
    if kind == "ieee" and top:
        return NAN if fraction else (NINF if sign else INF)
    if kind == "fn" and top and fraction == (1 << m) - 1:
        return NAN
    if exponent == 0:
        value = Fraction(fraction, 1 << m) * Fraction(2) ** (1 - bias)
    else:
        value = (1 + Fraction(fraction, 1 << m)) * Fraction(2) ** (exponent - bias)
    return -value if sign else value


def negative(x, f):
    return bool(x >> (fwidth(f) - 1) & 1)


def special(v, f):
    """Bits of an infinity or of the canonical NaN."""
    e, m, kind = FORMATS[f]
    if v == NAN:
        return (1 << (e + m)) - 1
    if kind != "ieee":
        return None
    return ((1 << e) - 1) << m | ((1 << (e + m)) if v == NINF else 0)


def largest(f):
    e, m, kind = FORMATS[f]
    top = (1 << (e + m)) - 1
    if kind == "ieee":
        return decode((((1 << e) - 1) << m) - 1, f)
    return decode(top - 1 if kind == "fn" else top, f)


def round_int(v, mode):
    """An integer: rn to even, rz, rm, rp, rna."""
    floor = v.numerator // v.denominator
    part = v - floor
    if mode == "rm" or part == 0:
        return floor
    if mode == "rp":
        return floor + 1
    if mode == "rz":
        return floor if v > 0 else floor + 1
    if part != Fraction(1, 2):
        return floor + (part > Fraction(1, 2))
    if mode == "rna":
        return floor + (v > 0)
    return floor + (floor & 1)


def encode(v, f, mode="rn", zero_negative=False, finite=False):
    """(bits, exact). Overflow gives an infinity or the largest number, as the rounding says; `finite` clamps."""
    e, m, kind = FORMATS[f]
    sign_bit = 1 << (e + m)
    if v in (NAN, INF, NINF):
        if v != NAN and finite:
            return encode(largest(f) * (1 if v == INF else -1), f)
        return special(v, f), True
    if v == 0:
        return (sign_bit if zero_negative else 0), True
    sign = v < 0
    a = -v if sign else v
    mode = {"rm": "rz" if not sign else "away", "rp": "away" if not sign else "rz"}.get(mode, mode)
    bias = (1 << (e - 1)) - 1
    exponent = max(a.numerator.bit_length() - a.denominator.bit_length() - 1, 1 - bias)
    while a >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - m)
    scaled = a / unit
    n = round_int(scaled, "rp" if mode == "away" else mode)
    exact = n == scaled
    value = n * unit
    if value > largest(f):
        if finite or mode == "rz":
            return encode(largest(f) * (-1 if sign else 1), f)[0], False
        out = special(NINF if sign else INF, f)
        return out, False
    if value < Fraction(2) ** (1 - bias):
        fields = n
    else:
        while value >= Fraction(2) ** (exponent + 1):
            exponent += 1
        fields = (exponent + bias) << m | int(value / Fraction(2) ** (exponent - m)) - (1 << m)
    return fields | (sign_bit if sign else 0), exact


def float_to_int(v, mode, t, source):
    """9.7.9.21: clamped; NaN is 0, or the top bit where either side has 64 bits."""
    w = bits(t)
    if v == NAN:
        return 1 << (w - 1) if source == "f64" or w == 64 else 0
    if v in (INF, NINF):
        return low(clamp((1 << 200) * (1 if v == INF else -1), t), w)
    return low(clamp(round_int(v, mode), t), w)


def compare(cmp, a, b):
    """Of Fractions or infinities."""
    if cmp == "num":
        return NAN not in (a, b)
    if cmp == "nan":
        return NAN in (a, b)
    if NAN in (a, b):
        return cmp in ("equ", "neu", "ltu", "leu", "gtu", "geu")
    order = {NINF: (-1, 0), INF: (1, 0)}
    a, b = order.get(a, (0, a)), order.get(b, (0, b))
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[cmp[:2]]
