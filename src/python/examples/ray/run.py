"""A thousand candidates on one machine, over Ray: python examples/ray/run.py [COUNT] (needs ray, and neither nvcc nor a GPU).

The candidates are PTX: y = 2 x + 1 in several right spellings, and as many wrong ones.
"""

from __future__ import annotations

import collections
import sys
import time

import volta
from volta import arg

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y) {
    .reg .u32 %r<2>; .reg .u64 %rd<6>; .reg .f32 %f<9>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd4, %rd1, %rd3;
    ld.global.f32 %f1, [%rd4];
"""
TAIL = """
    add.u64 %rd5, %rd2, %rd3;
    st.global.f32 [%rd5], %f8;
    ret;
}
"""
BODIES = {
    "add.f32 %f2, %f1, %f1; add.f32 %f8, %f2, 0f3F800000;": "proved",
    "mov.f32 %f2, 0f40000000; fma.rn.f32 %f8, %f1, %f2, 0f3F800000;": "proved",
    "add.f32 %f2, %f1, 0f3F000000; add.f32 %f8, %f2, %f2;": "proved",
    "mov.f32 %f2, 0f40000000; fma.rn.f32 %f8, %f1, %f2, 0f3F900000;": "wrong-values",
    "add.f32 %f8, %f1, 0f3F800000;": "wrong-values",
    "ld.global.f32 %f8, [%rd4+4];": "memory",
    "add.f32 %f8, %f1;": "syntax",
}


def main(count: int = 1000) -> None:
    """Prints how many there are of each category, and how long it took."""
    bodies = list(BODIES)
    candidates = [f"// {i}\n{HEAD}    {bodies[i % len(bodies)]}{TAIL}" for i in range(count)]
    args = {"x": arg.input("f32", 32), "y": arg.output("f32", 32)}
    start = time.time()
    found: collections.Counter[str] = collections.Counter()
    for candidate, r in volta.ray.check_many(volta.formula("y[i] = 2*x[i] + 1"), candidates, timeout=20, args=args, block=32):
        body = next(b for b in bodies if b in candidate)
        assert r.category == BODIES[body], (candidate, str(r))
        found[r.category] += 1
    assert sum(found.values()) == count
    print(f"{count} candidates in {time.time() - start:.1f} s: {dict(sorted(found.items()))}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
