"""Candidates in KernelBench's form: the example, and what a candidate could try to be taken for right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import volta
from volta.host import confine, shrink

pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(bool(confine.missing()), reason="the kernel cannot confine foreign code")

FOLDER = Path(__file__).parent.parent / "examples" / "judge"


def test_the_example_finds_what_it_says() -> None:
    done = subprocess.run([sys.executable, str(FOLDER / "judge.py")], capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


ADD = """
import torch
class Model(torch.nn.Module):
    def forward(self, x, y):
        return SUM
size = 4096
def get_inputs():
    return [torch.rand(size), torch.rand(size)]
def get_init_inputs():
    return []
"""
CANDIDATE = '''
import torch
from torch.utils.cpp_extension import load_inline
source = r"""
__global__ void add(const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
torch::Tensor run(torch::Tensor x, torch::Tensor y) {
    auto z = torch::MAKE(x.sizes(), x.options());
    int n = x.numel();
    add<<<BLOCKS, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), z.data_ptr<float>(), n);
    return z;
}
"""
m = load_inline("m", cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor y);", cuda_sources=source, functions=["run"])
class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return RETURNED
'''


def judged(
    total: str = "x + y", make: str = "empty", blocks: str = "(n + 127) / 128", returned: str = "m.run(x, y)"
) -> volta.Judgement:
    text = CANDIDATE.replace("MAKE", make).replace("BLOCKS", blocks).replace("RETURNED", returned)
    return volta.judge(ADD.replace("SUM", total), text)


def test_a_right_one_is_proved_at_sizes_that_cover_it() -> None:
    r = judged()
    assert r.category == "proved"
    assert r.reward == 1.0
    assert r.fallback is None
    assert r.recorded == 1


def test_contents_follow_from_how_memory_was_made() -> None:
    assert judged(blocks="n / 256", make="zeros").category == "wrong-values"
    assert (
        judged(blocks="n / 256", total="torch.cat([(x + y)[:size // 2], torch.zeros(size - size // 2)])", make="zeros").category
        != "wrong-values"
    )


def test_what_torch_does_around_the_launches_is_part_of_it() -> None:
    assert judged(total="torch.relu(x + y).sum()", returned="torch.relu(m.run(x, y)).sum()").category == "proved"
    r = judged(total="torch.relu(x + y).sum()", returned="m.run(x, y).sum()")
    assert r.category == "wrong-values"
    assert r.fallback == "epilogue"


def test_a_candidate_that_reaches_for_the_recorder_is_not_believed() -> None:
    r = judged(returned="[__import__('volta.host.bridge'), m.run(x, y)][1]")
    assert r.category == "unknown"
    assert "records" in r.hint


def test_inputs_are_not_to_be_written() -> None:
    assert judged(total="2 * x + y", returned="m.run(x.mul_(2), y)").reward != 1.0


def test_what_is_kept_from_call_to_call_is_there_in_the_second() -> None:
    kept = "self.__dict__.setdefault('kept', m.run(x, y))"
    assert judged(returned=kept).reward != 1.0
    counted = "m.run(x, y) if self.__dict__.setdefault('calls', []).append(1) is None and len(self.calls) < 2 else x"
    assert judged(returned=counted).reward != 1.0


def test_outputs_are_of_the_same_shape_and_type() -> None:
    assert judged(returned="m.run(x, y)[None]").category == "wrong-values"
    assert judged(returned="m.run(x, y).double()").category == "wrong-values"
    assert judged(returned="(m.run(x, y), x)").category == "wrong-values"


def test_memory_of_the_host_is_no_memory_of_the_device() -> None:
    assert judged(returned="m.run(torch.zeros_like(x).cpu(), y)").reward == 0.0
    assert judged(returned="m.run(x, torch.zeros(x.shape[0]))").category == "memory"


def test_a_library_is_a_fallback() -> None:
    r = judged(total="(x + y) * (x @ y)", returned="m.run(x, y) * torch.dot(x, y)")
    assert r.category == "fallback"
    assert r.fallback == "main"
    assert r.reward == 0.0


def test_sizes_keep_what_relates_them() -> None:
    text = "batch_size = 128\nM = 1024\nK = M * 1\nN = 1000\nkernel_size = 3\n"
    small = shrink.shrink(text + "def get_inputs():\n    return [torch.rand(M, K), torch.rand(K, 65)]\n", shrink.PLANS[0])
    assert "M = 32" in small
    assert "N = 32" in small
    assert "kernel_size = 3" in small
    assert "rand(K, 31)" in small


TRIED = """
        try:
            FIRST
            return m.run(x, y)
        except Exception:
            OTHERWISE
"""


def tried(first: str, otherwise: str) -> volta.Judgement:
    text = CANDIDATE.replace("MAKE", "empty").replace("BLOCKS", "(n + 127) / 128").replace("        return RETURNED", TRIED)
    return volta.judge(ADD.replace("SUM", "x + y"), text.replace("FIRST", first).replace("OTHERWISE", otherwise))


def test_what_a_candidate_catches_a_gpu_may_not_raise() -> None:
    assert tried("pass", "return x").category == "proved"
    # Where the value can be looked at the other kernel runs, or the whole of torch.
    for otherwise in ("return m.run(x, y)", "return x + y", "raise"):
        r = tried("x = x - x.sum().item()", otherwise)
        assert r.category != "proved", r
        assert r.reward is None, r
    r = tried("raise ValueError(3)", "return m.run(x, y)")
    assert (r.category, r.reward) == ("unknown", None)
    assert "caught ValueError: 3" in r.hint


def test_an_extension_that_is_rejected_and_caught_is_a_fallback() -> None:
    text = CANDIDATE.replace("MAKE", "empty").replace("BLOCKS", "nothing").replace("RETURNED", "m.run(x, y) if m else x + y")
    before, _, after = text.partition("m = load_inline")
    line, _, rest = after.partition("\n")
    text = f"{before}try:\n    m = load_inline{line}\nexcept Exception:\n    m = None\n{rest}"
    r = volta.judge(ADD.replace("SUM", "x + y"), text)
    assert (r.category, r.fallback, r.reward) == ("fallback", "whole", 0.0)
    assert "does not compile" in r.hint
    assert "nothing" in r.hint


def test_the_name_that_handlers_call_is_not_the_candidates() -> None:
    assert judged(returned="(_volta_reached_a_handler := print) and m.run(x, y)").category == "unknown"


def test_a_batch_that_a_row_must_equal_has_two_sizes() -> None:
    task = ADD.replace("size = 4096", "batch_size = 4096\nwide = (4096,)").replace("SUM", "x * y")
    task = task.replace("[torch.rand(size), torch.rand(size)]", "[torch.rand(batch_size, *wide), torch.rand(batch_size)]")
    tied = [shrink.shrink(task, plan, tied=True) for plan in shrink.PLANS[:2]]
    found = [(shrink.sizes(t)["batch_size"], t.partition("wide = (")[2].partition(",")[0]) for t in tied]
    assert all(str(batch) == row for batch, row in found)
    assert len(set(found)) == 2


@pytest.mark.parametrize("candidate", ["", "to be or not to be\n", "x = 1\n"])
def test_a_text_without_a_model_is_a_judgement(candidate: str) -> None:
    r = volta.judge(ADD.replace("SUM", "x + y"), candidate)
    assert (r.category, r.reward) == ("syntax", 0.0), r
