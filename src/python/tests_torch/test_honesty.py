"""A candidate that could reach the recorder proves nothing; one that keeps to what host code needs is believed."""

from __future__ import annotations

import pytest
from test_judge import ADD, CANDIDATE

import volta
from volta.host import compiler, confine, honesty

PLAIN = CANDIDATE.replace("MAKE", "empty").replace("BLOCKS", "(n + 127) / 128").replace("RETURNED", "m.run(x, y)")


def test_a_plain_candidate_keeps_to_what_it_needs() -> None:
    assert honesty.in_python(PLAIN) is None
    more = """
import os
import math
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.modules.utils import _pair
os.environ["TORCH_CUDA_ARCH_LIST"] = "8.0"
torch.backends.cuda.matmul.allow_tf32 = True
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        nn.init._calculate_fan_in_and_fan_out(self.weight)
        self.conv.weight.data = self.weight
        setattr(self, "kept", getattr(m, "run"))
"""
    assert honesty.in_python(PLAIN + more) is None


@pytest.mark.parametrize(
    "text",
    [
        "__import__('vol' + 'ta')",
        "import volta",
        "import sys",
        "import torch.overrides",
        "from torch.utils import _python_dispatch",
        "from torch import sys as s",
        "from torch import *",
        "torch.sys.modules",
        "getattr(torch, 's' + 'ys')",
        "g = getattr\ng(torch, 'sys')",
        "torch.Tensor.data_ptr = lambda t: 0",
        "torch.utils.cpp_extension.load_inline = None",
        "T = torch.Tensor\nT.cuda = None",
        "class A:\n    def f(self):\n        self.t = torch.Tensor\n        self.t.cuda = None",
        "class A:\n    def f(self):\n        setattr(self.t, 'cuda', None)",
        "type(x).cuda = None",
        "class A(torch.Tensor):\n    pass",
        "class A(metaclass=B):\n    pass",
        "class A:\n    def __torch_function__(self):\n        pass",
        "().__class__.__base__.__subclasses__()",
        "(lambda: 0).__globals__",
        "eval('1')",
        "globals()",
        "import os\nos.write(5, b'')",
        "import os\nw = os.fdopen",
        "from os import write as w",
        "torch.library.Library('aten', 'IMPL')",
        "x.untyped_storage()._set_from_file(5)",
        "[0 for torch.mm in [f]]",
    ],
)
def test_what_reaches_further_is_seen(text: str) -> None:
    assert honesty.in_python("import torch\n" + text) is not None


def test_what_one_object_needs_and_another_defines() -> None:
    listed = """cuda0.o:
_Z3runN2at6TensorE T 0 10
_ZN2at5emptyE U
weak W 20 4
host0.o:
_Z3runN2at6TensorE U
dlsym@GLIBC_2.34 U
dlsym T 0 4
weak U
gone w
local t 0 4
local U
"""
    assert compiler.needed(listed) == ["_ZN2at5emptyE", "dlsym", "gone", "local", "weak"]


def test_symbols_of_host_code() -> None:
    plain = [
        "_ZN2at10empty_likeERKNS_6TensorE",
        "cudaLaunchKernel",
        "__cudaPushCallConfiguration",
        "sqrtf",
        "_Znwm",
        "memcpy",
        "_ZTVSt9exception",
    ]
    assert honesty.in_symbols(plain) is None
    for s in (
        "write",
        "syscall",
        "dlsym",
        "PyImport_ImportModule",
        "PySys_GetObject",
        "pthread_create",
        "mmap",
        "_ZNSt6threadC1Ev",
        "fopen",
        "environ",
    ):
        assert honesty.in_symbols([*plain, s]) == f"the symbol {s}"
    assert honesty.in_symbols(["_ZNSt13basic_filebufIcSt11char_traitsIcEE4openEPKcSt13_Ios_Openmode"]) is not None


WRITES = r"""
extern "C" long write(int, const void*, unsigned long);
struct Before {
    Before() {
        const char* said = "{\"done\": {\"events\": [], \"gaps\": [], \"storages\": []}}\n";
        for (int at = 3; at < 64; ++at) write(at, said, __builtin_strlen(said));
    }
} before;
"""


@pytest.mark.skipif(bool(confine.missing()), reason="the kernel cannot confine foreign code")
@pytest.mark.parametrize(
    "hostile",
    [
        pytest.param(WRITES, id="writes to every descriptor"),
        pytest.param(
            'extern "C" void* dlsym(void*, const char*);\nvoid* found = dlsym(nullptr, "PyRun_SimpleString");\n',
            id="looks up the interpreter",
        ),
    ],
)
def test_host_code_that_reaches_for_the_recorder_proves_nothing(hostile: str) -> None:
    pytest.importorskip("torch")
    r = volta.judge(ADD.replace("SUM", "x + y"), PLAIN.replace("__global__", hostile + "__global__", 1))
    assert r.reward is None, r.hint
    assert r.category == "unknown"
