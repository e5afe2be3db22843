import tilelang
import tilelang.language as T
from tvm.target import Target

@T.prim_func
def mean(x: T.Tensor((4, 256), "float32"), y: T.Tensor((4,), "float32")):
    with T.Kernel(4, threads=128) as i:
        row = T.alloc_fragment((1, 256), "float32")
        total = T.alloc_fragment((1,), "float32")
        T.copy(x[i, 0], row)
        T.reduce_sum(row, total, dim=1)
        y[i] = total[0] / 256

target = Target({"kind": "cuda", "arch": "sm_80"})
with target:
    print(tilelang.lower(mean, target=target).kernel_source)
