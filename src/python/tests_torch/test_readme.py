"""The examples of the package's page that need torch."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import readme_names

HEAD = '''
import torch
import triton
import wrapped_kernels

def my_softmax(x):
    y = torch.empty_like(x)
    wrapped_kernels.softmax[(x.shape[0],)](y, x, x.stride(0), y.stride(0), x.shape[1], B=triton.next_power_of_2(x.shape[1]))
    return y

CUDA = r"""
#include <torch/extension.h>
__global__ void rows(const float* x, float* y, int n) {
    float sum = 0;
    for (int k = 0; k < n; k++) sum += expf(x[threadIdx.x * n + k]);
    for (int k = 0; k < n; k++) y[threadIdx.x * n + k] = expf(x[threadIdx.x * n + k]) / sum;
}
torch::Tensor softmax(torch::Tensor x) {
    auto y = torch::empty_like(x);
    rows<<<1, x.size(0)>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

def _proved(*args, **more):
    r = volta.check(*args, **more)
    assert r.ok, r
    return True
'''

EXAMPLES = [e for e in readme_names.examples() if readme_names.needs_torch(e)]
JUDGE = Path(__file__).parent.parent / "examples" / "judge"


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_of_the_page_runs(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "volta.judge" in example:
        judge = (JUDGE / "judge.py").read_text()
        found = re.search(r"^CANDIDATE = '''\n(.*?)^'''", judge, re.M | re.S)
        assert found is not None
        (tmp_path / "candidate.py").write_text(found[1])
        (tmp_path / "task.py").write_text((JUDGE / "task.py").read_text())
    monkeypatch.chdir(tmp_path)
    # Each question is one that is proved.
    proved = re.sub(r"^volta\.check\(", "assert _proved(", example, flags=re.M)
    module = readme_names.run(proved, tmp_path, HEAD)
    if hasattr(module, "r"):
        assert module.r.category == "proved", module.r
