import triton, triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

@triton.jit
def mean(x, y, N: tl.constexpr):
    i = tl.program_id(0)
    v = tl.load(x + i * N + tl.arange(0, N))
    tl.store(y + i, tl.sum(v) / N)

source = ASTSource(fn=mean, signature={"x": "*fp32", "y": "*fp32", "N": "constexpr"}, constexprs={"N": 256})
built = triton.compile(source, target=GPUTarget("cuda", 80, 32), options={"num_warps": 4})
open("mean_triton.ptx", "w").write(built.asm["ptx"])
print("shared memory:", built.metadata.shared)
