"""A harness in the manner of KernelBench: tasks with a reference, candidates as a model might write them, rewards.

Most of the candidates cheat, and every one is caught. Run it: python examples/harness.py (needs nvcc, and no GPU).
"""

from __future__ import annotations

from dataclasses import dataclass

import volta
from volta import arg

N = 24
INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x; "
HEAD = '#include <cuda_fp16.h>\nextern "C" __global__ void k(const float *x, const float *w, float *y, int n) {\n'


@dataclass(frozen=True)
class Candidate:
    """A text, and what a harness should make of it."""

    name: str
    body: str
    category: str

    def __str__(self) -> str:
        return HEAD + self.body + "\n}\n"


REFERENCE = Candidate(
    "reference",
    INDEX + "if (i < n) y[i] = fmaxf(x[i] * w[i] + x[i], 0.0f);",
    "proved",
)

CANDIDATES = [
    Candidate(
        "factored",
        INDEX + "if (i < n) { float v = x[i] * (w[i] + 1.0f); y[i] = v > 0.0f ? v : 0.0f; }",
        "proved",
    ),
    Candidate(
        "staged in shared memory",
        "__shared__ float s[16]; int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;"
        "s[t] = i < n ? w[i] : 0.0f; __syncthreads(); if (i < n) y[i] = fmaxf(fmaf(s[t], x[i], x[i]), 0.0f);",
        "proved",
    ),
    Candidate("does nothing", "", "wrong-values"),
    Candidate("leaves what the last run wrote", "int i = threadIdx.x; if (i < n) y[i] = fmaxf(y[i], 0.0f);", "memory"),
    Candidate("a constant", INDEX + "if (i < n) y[i] = 0.5f;", "wrong-values"),
    Candidate(
        "the first block only",
        "int i = threadIdx.x; if (blockIdx.x == 0 && i < n) y[i] = fmaxf(x[i] * w[i] + x[i], 0.0f);",
        "wrong-values",
    ),
    Candidate(
        "writes its input",
        INDEX + "if (i < n) { float v = fmaxf(x[i] * w[i] + x[i], 0.0f);"
        " y[i] = v; ((float *)x)[i] = v; }",
        "wrong-values",
    ),
    Candidate("unmasked tail", INDEX + "y[i] = fmaxf(x[i] * w[i] + x[i], 0.0f);", "memory"),
    Candidate("one size only", INDEX + "if (i < 16) y[i] = fmaxf(x[i] * w[i] + x[i], 0.0f);", "wrong-values"),
    Candidate(
        "racing",
        "__shared__ float s[16]; int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;"
        "s[15 - t] = i < n ? w[i] : 0.0f; float u = s[t]; if (i < n) y[i] = fmaxf(u * x[i] + x[i], 0.0f);",
        "race",
    ),
    Candidate("does not compile", "y[threadIdx.x] = reference(x);", "compile"),
]  # fmt: skip


def main() -> None:
    """Prints a table."""
    args = {"x": arg.input("f32", N), "w": arg.input("f32", N), "y": arg.output("f32", N), "n": N}
    reference = volta.prepare(volta.cuda(str(REFERENCE)), args=args, grid=2, block=16)
    wrong = []
    by_text = {str(c): c for c in CANDIDATES}
    for text, r in reference.check_many(by_text, timeout=20, jobs=2):
        candidate = by_text[text]
        print(f"{candidate.name:32} {r.category:13} {r.reward!s:5} {r.hint.splitlines()[0][:100]}")
        if r.category != candidate.category:
            wrong.append(f"{candidate.name}: {r.category} instead of {candidate.category}\n{r}")
    assert not wrong, "\n".join(wrong)


if __name__ == "__main__":
    main()
