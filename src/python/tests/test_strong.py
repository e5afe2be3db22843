"""Clusters, flags and locks, through the program."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import volta

KERNELS = Path(__file__).parents[3] / "kernels"


def kernel(name: str) -> volta.Kernel:
    return volta.ptx(KERNELS / f"{name}.ptx")


def cluster_args() -> list[volta.arg.Array]:
    return [volta.arg.input("f32", (256,)), volta.arg.output("f32", (256,))]


def lock_args() -> list[volta.arg.Array]:
    return [
        volta.arg.input("f32", (3,)),
        volta.arg.known(np.zeros(1, np.int32), "scratch"),
        volta.arg.inout("f32", (1,)),
    ]


@pytest.mark.parametrize(
    ("name", "verdict"),
    [("dsmem", "equivalent"), ("dsmem_own", "not-equivalent"), ("dsmem_gone", "defective"), ("dsmem_unwritten", "defective")],
)
def test_distributed_shared_memory(name: str, verdict: str) -> None:
    r = volta.check(kernel("cluster/plain"), kernel(f"cluster/{name}"), args=cluster_args(), grid=4, block=64)
    assert r.verdict == verdict


@pytest.mark.parametrize(
    ("name", "verdict", "kind"),
    [
        ("lock_cas", "clean", None),
        ("lock_exch", "clean", None),
        ("lock_cas_no_fence_in", "defective", "data-race"),
        ("lock_no_lock", "defective", "data-race"),
        ("lock_no_unlock", "defective", "deadlock"),
    ],
)
def test_locks(name: str, verdict: str, kind: str | None) -> None:
    r = volta.race(kernel(f"strong/{name}"), args=lock_args(), grid=3, block=32)
    assert r.verdict == verdict
    assert kind is None or kind in [d.kind for d in r.defects]


@pytest.mark.parametrize(("name", "verdict"), [("message_release", "equivalent"), ("message_release_no_acquire", "defective")])
def test_a_flag_between_blocks(name: str, verdict: str) -> None:
    args = [
        volta.arg.input("f32", (3,)),
        volta.arg.known(np.zeros(1, np.int32), "scratch"),
        volta.arg.scratch("f32", (1,)),
        volta.arg.output("f32", (3,)),
    ]
    r = volta.check(kernel("strong/message_ref"), kernel(f"strong/{name}"), args=args, grid=3, block=32)
    assert r.verdict == verdict
