"""Wrappers that launch Triton kernels on tensors of torch, recorded without a GPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import triton
import wrapped_kernels as kernels

import volta


def softmax(x: Any) -> Any:
    assert x.is_cuda
    assert x.device.type == "cuda"
    y = torch.empty_like(x)
    width = triton.next_power_of_2(x.shape[1])
    with torch.cuda.device(x.device):
        kernels.softmax[(x.shape[0],)](y, x, x.stride(0), y.stride(0), x.shape[1], B=width, num_warps=1)
    return y


def total_of_rest(x: Any) -> Any:
    y = softmax(x)
    kernels.scale[(triton.cdiv(y.numel(), 32),)](y, y.numel(), 2.0, B=32, num_warps=1)
    rest, out = y[1:], torch.empty(1, device=x.device)
    kernels.total[(1,)](rest, out, rest.numel(), B=16, num_warps=1)
    return out


def test_one_launch_against_a_function() -> None:
    with volta.record() as calls:
        softmax(volta.fake(3, 20))
    assert volta.check(lambda x: torch.softmax(x, -1), calls).ok
    assert volta.check(lambda x: torch.softmax(x, 0), calls).verdict == "not-equivalent"
    roles = {name: a.role for name, a in calls.arrays().items()}
    assert roles == {"out_ptr": "out", "in_ptr": "in"}


def test_several_launches_with_views_and_memory_of_their_own() -> None:
    with volta.record() as calls:
        total_of_rest(volta.fake(3, 8))
    assert [k.uses for k in calls.sequence()] == [{0: "out", 1: "in"}, {0: "inout"}, {0: "in", 1: "out"}]
    assert [a.role for a in calls.arrays().values()] == ["in", "scratch", "out"]
    assert volta.race(calls).ok
    assert volta.check(lambda x: 2 * torch.softmax(x, -1)[1:].sum()[None], calls).ok
    wrong = volta.check(lambda x: 2 * torch.softmax(x, -1).sum()[None], calls)
    assert wrong.verdict == "not-equivalent"


def test_what_is_returned_can_be_said() -> None:
    with volta.record() as calls:
        x = volta.fake(2, 8)
        y = softmax(x)
        total = torch.empty(1, device=x.device)
        kernels.total[(1,)](y, total, y.numel(), B=16, num_warps=1)
        calls.returns(total, y)
    assert volta.check(lambda x: (torch.softmax(x, -1).sum()[None], torch.softmax(x, -1)), calls).ok


def test_zeros_are_contents() -> None:
    with volta.record() as calls:
        x, y = volta.fake(24), torch.zeros(24, device="cuda")
        kernels.add[(1,)](y, x, 24, B=32, num_warps=1)
    assert calls.arrays()["x_ptr"].contents == "0"
    assert volta.check(lambda x: x, calls).ok
    with volta.record() as calls:
        x, y = volta.fake(24), torch.empty(24, device="cuda")
        kernels.add[(1,)](y, x, 24, B=32, num_warps=1)
    r = volta.check(lambda x: x, calls)
    assert (r.verdict, r.category) == ("defective", "memory")


def test_what_torch_computes_in_between_is_named() -> None:
    with volta.record() as calls:
        softmax(volta.fake(3, 8) * 2)
    with pytest.raises(volta.InputError, match=r"torch\.mul"):
        volta.race(calls)
    with volta.record() as calls:
        y = softmax(volta.fake(3, 8))
        calls.returns(y.sum())
    with pytest.raises(volta.InputError, match=r"torch\.sum"):
        volta.race(calls)


def test_a_wrapper_may_ask_for_the_device_and_launch_what_it_warmed_up() -> None:
    def warmed(x: Any) -> Any:
        driver = triton.runtime.driver.active
        device = driver.get_active_torch_device()
        assert x.device == device
        assert driver.get_current_target().backend == "cuda"
        y = torch.empty_like(x, device=device)
        made = kernels.softmax.warmup(y, x, x.stride(0), y.stride(0), x.shape[1], B=32, num_warps=2, grid=(1,))
        made._init_handles()
        room = driver.utils.get_device_properties(device.index)["max_shared_mem"]
        assert made.metadata.shared <= room
        assert made.n_regs > 0
        made[(x.shape[0], 1, 1)](y, x, x.stride(0), y.stride(0), x.shape[1], 32)
        return y

    with volta.record() as calls:
        calls.returns(warmed(volta.fake(3, 20)))
    (launch,) = calls.sequence()
    assert launch.grid == (3, 1, 1)
    assert ".reqntid 64" in launch.ptx
    assert volta.check(lambda x: torch.softmax(x, -1), calls).ok
    assert volta.check(lambda x: torch.softmax(x, 0), calls).verdict == "not-equivalent"


def test_nothing_is_left_behind() -> None:
    with volta.record():
        volta.fake(3)
    assert not torch.cuda.is_available()
    assert torch.zeros(2).device.type == "cpu"
    assert "recording" not in kernels.softmax.run.__module__


class Shifted:
    """A tensor of a library of its own: another one from an element on, for whoever asks for its address."""

    def __init__(self, base: Any, offset: int) -> None:
        self.base, self.offset = base, offset
        self.dtype = base.dtype
        self.shape = (base.numel() - offset,)

    def data_ptr(self) -> int:
        return int(self.base.data_ptr()) + self.offset * int(self.base.element_size())

    def stride(self) -> tuple[int, ...]:
        return (1,)


def test_wrappers_of_tensors_are_the_memory_under_them() -> None:
    def doubled(x: Any, wrapped: Any) -> Any:
        y = x.clone()
        kernels.scale[(1,)](wrapped(y), y.numel() - 2, 2.0, B=32, num_warps=1)
        return y

    def expected(x: Any) -> Any:
        return torch.cat([x[:2], x[2:] * 2])

    with volta.record() as calls:
        calls.returns(doubled(volta.fake(8), lambda y: Shifted(y, 2)))
    assert volta.check(expected, calls).ok
    assert volta.check(lambda x: x * 2, calls).verdict == "not-equivalent"
    with volta.record() as calls:
        calls.returns(doubled(volta.fake(8), lambda y: triton.reinterpret(y, torch.float32)))
    assert volta.check(lambda x: torch.cat([x[:6] * 2, x[6:]]), calls).ok
