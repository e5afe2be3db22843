"""Candidates of a language model, judged without a GPU: right ones, wrong ones, and ones that are hostile.

Run it: python examples/judge/judge.py (needs torch, nvcc, and a kernel that confines: Linux 6.2 or newer).
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import volta

HERE = Path(__file__).parent

CANDIDATE = '''
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

cuda = r"""
__global__ void rms_norm(const float* x, const float* w, float* y, int n, float eps) {
    __shared__ float part[64];
    const float* row = x + (size_t)blockIdx.x * n;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += 64) sum += row[i] * row[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int step = 32; step > 0; step /= 2) {
        if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    float scale = 1.0f / sqrtf(part[0] / n + eps);
    for (int i = threadIdx.x; i < n; i += 64) y[(size_t)blockIdx.x * n + i] = row[i] * scale * w[i];
}
torch::Tensor run(torch::Tensor x, torch::Tensor w, double eps) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous());
    auto y = torch::empty_like(x);
    rms_norm<<<x.size(0), 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), x.size(1), eps);
    return y;
}
"""
cpp = "torch::Tensor run(torch::Tensor x, torch::Tensor w, double eps);"
built = load_inline("rms", cpp_sources=cpp, cuda_sources=cuda, functions=["run"])


class ModelNew(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(features) + 0.5)
        self.eps = eps

    def forward(self, x):
        return built.run(x, self.weight, self.eps)
'''

TORCH_ONLY = CANDIDATE.replace(
    "built.run(x, self.weight, self.eps)", "x / torch.sqrt((x * x).mean(1, True) + self.eps) * self.weight"
)

#: What a candidate is, and the category that it must get.
CANDIDATES = {
    "right": (CANDIDATE, "proved"),
    "an operation of torch at the end": (
        CANDIDATE.replace("built.run(x, self.weight, self.eps)", "2 * built.run(x, self.weight / 2, self.eps)"),
        "proved",
    ),
    "no barrier": (CANDIDATE.replace("part[threadIdx.x + step];\n        __syncthreads();", "part[threadIdx.x + step];"), "race"),
    "half of the sum": (CANDIDATE.replace("step = 32", "step = 16"), "wrong-values"),
    "sum of one pass": (
        CANDIDATE.replace("for (int i = threadIdx.x; i < n; i += 64) sum", "for (int i = threadIdx.x; i < 64; i += 64) sum"),
        "wrong-values",
    ),
    "writes past the row": (CANDIDATE.replace("i < n; i += 64) y", "i <= n; i += 64) y"), "memory"),
    "another weight": (CANDIDATE.replace("torch.rand(features) + 0.5", "torch.ones(features)"), "wrong-values"),
    "grid in y": (
        CANDIDATE.replace("<<<x.size(0), 64>>>", "<<<dim3(1, 32 * x.size(0)), 64>>>").replace("blockIdx.x", "blockIdx.y"),
        "launch",
    ),
    "torch does it all": (TORCH_ONLY, "fallback"),
    "does not compile": (CANDIDATE.replace("float sum = 0.0f;", "float sum = 0.0f"), "compile"),
    "looks at the data": (CANDIDATE.replace("return built.run", "return x if x.sum().item() == 0 else built.run"), "unknown"),
}

#: Each tries to reach out of its worker, and then does its work.
HOSTILE = {
    "writes files": "open(TARGET, 'w').write('was here')",
    "reads files": "open('/etc/passwd').read()",
    "forks": "import os\nwhile True: os.fork()",
    "starts programs": "import subprocess\nsubprocess.run(['touch', TARGET], check=True)",
    "calls home": "import socket\nsocket.create_connection(('127.0.0.1', 80), 1)",
    "reads the environment": "import os\nassert 'VOLTA_CACHE_KEY' in os.environ",
    "loops": "while True: pass",
}


def main() -> None:
    """Prints one line for each candidate."""
    for name, (text, wanted) in CANDIDATES.items():
        r = volta.judge(HERE / "task.py", text)
        print(f"{name}: {r.category}, reward {r.reward} - {r.hint}")
        assert r.category == wanted, f"{name}: {wanted} was expected\n{r}"
    os.environ["VOLTA_CACHE_KEY"] = "a secret"
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "target"
        for name, body in HOSTILE.items():
            r = volta.judge(HERE / "task.py", f"TARGET = {str(target)!r}\n{body}\n{CANDIDATE}", timeout=5)
            print(f"{name}: {r.category}, reward {r.reward} - {r.hint}")
            assert r.category in ("launch", "limit"), name
            assert not target.exists()


if __name__ == "__main__":
    main()
