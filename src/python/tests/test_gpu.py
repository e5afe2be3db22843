"""What `benches/measured/gpu.py` does without a GPU: parameters, modules, what it compares, and the calls of the driver.

The driver of these tests is a library of C that keeps memory in memory of the host, and whose one kernel doubles floats."""

from __future__ import annotations

import argparse
import importlib
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import volta
from volta import nvcc, server

MEASURED = Path(__file__).resolve().parents[3] / "benches" / "measured"
if not MEASURED.is_dir():
    pytest.skip("the programs of benches/measured are not part of the package", allow_module_level=True)
sys.path.insert(0, str(MEASURED))
gpu: Any = importlib.import_module("gpu")
driver: Any = importlib.import_module("cuda_driver")

DOUBLED = """.version 8.0
.target sm_80
.address_size 64
// .entry other(.param .u32 a)
.visible .entry doubled(
    .param .u64 .ptr .global .align 16 x, /* , */
    .param .u32 n,
    .param .align 16 .b8 pair[24],
    .param .u64 y)
{
    .reg .u64 %rd<5>; .reg .u32 %r<3>; .reg .f32 %f<3>; .reg .pred %p<2>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.u32 %r2, [n];
    mov.u32 %r1, %tid.x;
    setp.ge.u32 %p1, %r1, %r2;
    @%p1 ret;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    ld.global.f32 %f1, [%rd1];
    add.f32 %f2, %f1, %f1;
    st.global.f32 [%rd2], %f2;
    ret;
}
"""

LIBRARY = """
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
typedef int R;
R cuInit(unsigned f) { return f != 0; }
R cuGetErrorName(R code, const char **s) { *s = code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_UNKNOWN"; return 0; }
R cuDeviceGetCount(int *n) { *n = 1; return 0; }
R cuDeviceGet(int *d, int i) { *d = 7; return i; }
R cuDeviceGetName(char *s, int n, int d) { strncpy(s, "host", n); return d != 7; }
R cuDriverGetVersion(int *v) { *v = 13000; return 0; }
R cuDeviceGetAttribute(int *v, int a, int d) { *v = a == 75 ? 9 : 0; return d != 7; }
R cuDevicePrimaryCtxRetain(void **c, int d) { *c = (void *)1; return d != 7; }
R cuDevicePrimaryCtxReset_v2(int d) { return d != 7; }
R cuCtxSetCurrent(void *c) { return c != (void *)1; }
R cuCtxSynchronize(void) { return 0; }
R cuModuleLoadData(void **m, const char *image) { *m = (void *)image; return memcmp(image, "\\177ELF", 4) != 0; }
R cuModuleUnload(void *m) { return m == 0; }
R cuModuleGetFunction(void **f, void *m, const char *name) { *f = (void *)2; return strcmp(name, "doubled") ? 500 : 0; }
R cuFuncSetAttribute(void *f, int a, int v) { return a != 8; }
R cuMemAlloc_v2(uint64_t *p, size_t n) { *p = (uint64_t)malloc(n); return 0; }
R cuMemFree_v2(uint64_t p) { free((void *)p); return 0; }
R cuMemcpyHtoD_v2(uint64_t p, const void *s, size_t n) { memcpy((void *)p, s, n); return 0; }
R cuMemcpyDtoH_v2(void *d, uint64_t p, size_t n) { memcpy(d, (void *)p, n); return 0; }
R cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                 void *stream, void **params, void **extra) {
  if (params || extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4] || *(size_t *)extra[3] != 48) return 1;
  if (gx * gy * gz * by * bz != 1 || shared != 4) return 1;
  const char *space = extra[1];
  float *x = *(float **)space, *y = *(float **)(space + 40);
  uint32_t n = *(uint32_t *)(space + 8);
  if (n > 64) return 700;
  for (unsigned i = 0; i < bx && i < n; i++) y[i] = ADDED + 2 * x[i];
  return 0;
}
"""


def library(folder: Path, added: str) -> str:
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("there is no C compiler")
    source, out = folder / "driver.c", folder / f"driver{added}.so"
    source.write_text(LIBRARY)
    subprocess.run([compiler, "-shared", "-fPIC", f"-DADDED={added}", str(source), "-o", str(out)], check=True)
    return str(out)


def ptxas() -> str:
    try:
        return str(Path(nvcc.find()).parent / "ptxas")
    except volta.CompileError:
        pytest.skip("there is no ptxas")


def test_parameters_are_laid_out() -> None:
    layout = driver.parameters(DOUBLED, "doubled")
    assert [(p.name, p.type, p.offset, p.bytes) for p in layout] == [
        ("x", "u64", 0, 8),
        ("n", "u32", 8, 4),
        ("pair", None, 16, 24),
        ("y", "u64", 40, 8),
    ]
    space = driver.packed(layout, [b"x" * 8, b"n" * 4, b"p" * 24, b"y" * 8])
    assert space == b"x" * 8 + b"n" * 4 + bytes(4) + b"p" * 24 + b"y" * 8
    with pytest.raises(ValueError, match="3 bytes for n, which has 4"):
        driver.packed(layout, [b"x" * 8, b"n" * 3, b"p" * 24, b"y" * 8])


def test_there_is_no_device(capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu.main(["--volta", server.program(), "--ptxas", "ptxas", "--libcuda", "libno-such-driver.so"]) == 2
    assert "no CUDA driver" in capsys.readouterr().err


@pytest.mark.parametrize(("added", "differing"), [("0", 0), ("1", 3)])
def test_a_launch_on_both_sides(tmp_path: Path, added: str, differing: int) -> None:
    """Memory there and back, the parameter space, the sizes of a launch; and a device that adds is seen."""
    device = driver.Driver(library(tmp_path, added))
    assert (device.name(), device.version(), device.target()) == ("host", 13000, "sm_90a")
    path = tmp_path / "doubled.ptx"
    path.write_text(DOUBLED)
    x = bytearray(struct.pack("<4f", 1.5, -2, 0.25, 1000))
    layout = driver.parameters(DOUBLED, "doubled")
    arguments = [x, (3).to_bytes(4, "little"), bytes(24), bytearray(16)]
    launch = gpu.Launch("doubled", path, "doubled", (1, 1, 1), (8, 1, 1), 4, layout, arguments, ["f32", None, None, "f32"], [])
    launch.run = [server.program(), "run", str(path), "--threads", "8", "--arg", "1=3", *gpu.bound(launch)]
    found, wanted = gpu.by_gpu(device, launch, b"\x7fELF"), gpu.by_volta(launch)
    assert wanted[3] == struct.pack("<4f", 3, -4, 0.5, 0)
    assert (found[0], found[1]) == (bytes(x), None)
    difference = gpu.compared(launch, found, wanted)
    assert difference.count == differing
    assert not differing or difference.first == "element 0 of parameter 3: 0x40800000 on the device, 0x40400000 by volta"
    arguments[1] = (65).to_bytes(4, "little")
    with pytest.raises(gpu.Unfit, match="CUDA_ERROR_ILLEGAL_ADDRESS"):
        gpu.by_gpu(device, launch, b"\x7fELF")


def test_distances_are_in_units_of_the_last_place() -> None:
    launch = gpu.Launch("k", Path("k"), "k", (1, 1, 1), (1, 1, 1), 0, [], [bytearray(8)], ["f32"], [])

    def difference(a: list[float], b: list[float]) -> Any:
        return gpu.compared(launch, [struct.pack("<2f", *a)], [struct.pack("<2f", *b)])

    nan, least = float("nan"), 2.0**-149
    assert difference([nan, 1], [-nan, 1]).count == 0
    assert (difference([0.0, 1], [-0.0, 1 + 2**-22]).count, difference([0.0, 1], [-0.0, 1 + 2**-22]).ulps) == (2, 2)
    assert difference([least, 0], [-least, 0]).ulps == 2
    assert difference([nan, 0], [1, 0]).ulps is None


def test_rows_are_built_and_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tables by volta, through modules that ptxas takes; a table that is wrong is seen."""
    flags = ["--volta", server.program(), "--ptxas", ptxas(), "--build", "sm_90a", "--only", "values"]
    assert gpu.main([*flags, "--filter", "shfl.sync.bfly", "--most", "2"]) == 0
    assert "64 rows, 2 same on no device" in capsys.readouterr().out
    section = gpu.sections()[0]
    args = argparse.Namespace(volta=Path(server.program()))
    held = gpu.by_volta(gpu.of_section(section, 0, tmp_path, args, "sm_90a"))[1]
    assert [d.count for d in gpu.rows_compared(section, held, held)] == [0, 0]
    first = section.wanted[0][0]
    assert first is not None
    section.wanted[0][0] = first ^ 1
    assert [d.count for d in gpu.rows_compared(section, held, held)] == [0, 1]
    turned = bytes([held[0] ^ 1]) + held[1:]
    assert [d.count for d in gpu.rows_compared(section, turned, held)] == [1, 0]


def test_whole_kernels_are_built_and_run(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--volta", server.program(), "--ptxas", ptxas(), "--build", "sm_80", "--only", "kernels"]
    assert gpu.main([*flags, "--filter", "softmax-naive-4-online", "--most", "2"]) == 0
    assert "2 built on no device" in capsys.readouterr().out
