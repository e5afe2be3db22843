#!/usr/bin/env python3
"""How many lane-instructions `volta run` executes in a second of one core, by class of instruction.

    cargo build --release && python3 benches/run.py > benches/run.md

Each class is a loop whose body is STEPS instructions of it; what an empty loop takes is subtracted.  Times are user seconds of
the process, the least of RUNS runs.  `only` names classes:  python3 benches/run.py only shfl vote
"""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
VOLTA = os.environ.get("VOLTA_BINARY", str(TARGET / "release" / "volta"))
STEPS, TURNS, THREADS, RUNS = 16, 600, 256, 3

# Registers of each kind: f32 %f, f64 %d, b32 %r, b64 %q, b16 %h, predicates %p; numbers 0 to 3 hold something at the start.
CLASSES = {
    "integer": ["mad.lo.s32 %r1, %r1, %r2, %r3;", "add.s32 %r2, %r2, %r1;", "xor.b32 %r3, %r3, %r2;", "shl.b32 %r4, %r3, 1;"],
    "f32": ["fma.rn.f32 %f1, %f1, %f2, %f3;", "add.f32 %f2, %f1, %f3;", "mul.f32 %f3, %f3, %f1;", "max.f32 %f1, %f2, %f3;"],
    "f32 .ftz": ["fma.rn.ftz.f32 %f1, %f1, %f2, %f3;", "add.ftz.f32 %f2, %f1, %f3;"],
    "f32 .rz": ["add.rz.f32 %f1, %f1, %f2;", "mul.rz.f32 %f2, %f1, %f3;"],
    "f32 division": ["div.rn.f32 %f1, %f1, %f2;", "sqrt.rn.f32 %f2, %f3;"],
    "f64": ["fma.rn.f64 %d1, %d1, %d2, %d3;", "add.f64 %d2, %d1, %d3;", "mul.f64 %d3, %d3, %d1;"],
    "f16": ["fma.rn.f16 %h1, %h1, %h2, %h3;", "add.f16 %h2, %h1, %h3;"],
    "f16x2": ["fma.rn.f16x2 %r1, %r1, %r2, %r3;", "add.f16x2 %r2, %r1, %r3;", "mul.f16x2 %r3, %r3, %r1;"],
    "bf16x2": ["fma.rn.bf16x2 %r1, %r1, %r2, %r3;", "max.bf16x2 %r2, %r1, %r3;"],
    "ex2": ["ex2.approx.f32 %f1, %f2;", "ex2.approx.ftz.f32 %f3, %f2;"],
    "lg2": ["lg2.approx.f32 %f1, %f2;"],
    "rcp, rsqrt, sqrt": ["rcp.approx.f32 %f1, %f2;", "rsqrt.approx.f32 %f3, %f2;", "sqrt.approx.f32 %f1, %f2;"],
    "sin, cos": ["sin.approx.f32 %f1, %f2;", "cos.approx.f32 %f3, %f2;"],
    "tanh": ["tanh.approx.f32 %f1, %f2;", "ex2.approx.f16x2 %r1, %r2;"],
    "cvt of floats": ["cvt.rn.f16.f32 %h1, %f2;", "cvt.f32.f16 %f1, %h1;", "cvt.rn.bf16x2.f32 %r1, %f1, %f2;"],
    "cvt of integers": ["cvt.rn.f32.s32 %f1, %r1;", "cvt.rzi.s32.f32 %r2, %f1;", "cvt.u64.u32 %q2, %r2;", "cvt.s32.s8 %r3, %r2;"],
    "cvt of fp8": ["cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;", "cvt.rn.f16x2.e4m3x2 %r1, %h1;"],
    "setp, selp": ["setp.lt.f32 %p1, %f1, %f2;", "selp.f32 %f1, %f2, %f3, %p1;", "setp.gt.s32 %p2, %r1, %r2;", "selp.b32 %r1, %r2, %r3, %p2;"],
    "mov, pack": ["mov.b32 %r1, {%h1, %h2};", "mov.b32 {%h1, %h3}, %r1;", "mov.b64 %q2, {%r1, %r2};"],
    "shared memory": ["st.shared.f32 [%r5], %f1;", "ld.shared.f32 %f2, [%r5];"],
    "shared vectors": ["st.shared.v4.f32 [%r6], {%f1, %f2, %f3, %f1};", "ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r6];"],
    "global memory": ["ld.global.f32 %f1, [%q3];", "st.global.f32 [%q4], %f1;"],
    "shfl": ["shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;", "shfl.sync.down.b32 %r2, %r1, 1, 31, -1;"],
    "vote, match": ["vote.sync.ballot.b32 %r1, %p1, -1;", "match.any.sync.b32 %r2, %r3, -1;"],
    "redux": ["redux.sync.add.s32 %r1, %r2, -1;"],
    "atomics on shared": ["atom.shared.add.u32 %r1, [%r5], %r2;", "red.shared.add.f32 [%r7], %f1;"],
    "atomics on one word": ["red.shared.add.u32 [shared], %r2;"],
    "atomics on global": ["red.global.add.f32 [%q4], %f1;"],
    "bar.sync": ["bar.sync 0;"],
    "divergent branches": ["@%p3 bra L{n};\n  add.s32 %r1, %r1, 1;\n  add.s32 %r2, %r2, %r1;\nL{n}:"],
    "mma f16": ["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f4,%f5,%f6,%f7}, {%r1,%r2,%r3,%r1}, {%r2,%r3}, {%f4,%f5,%f6,%f7};"],
    "mma s8": ["mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r8,%r9,%r10,%r11}, {%r1,%r2,%r3,%r1}, {%r2,%r3}, {%r8,%r9,%r10,%r11};"],
}

TEXT = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 turns) {{
  .reg .pred %p<8>;
  .reg .b16 %h<8>;
  .reg .b32 %r<24>;
  .reg .b64 %q<8>;
  .reg .f32 %f<16>;
  .reg .f64 %d<8>;
  .shared .align 16 .b8 shared[16384];
  ld.param.u64 %q0, [a];
  ld.param.u64 %q1, [b];
  ld.param.u32 %r0, [turns];
  mov.u32 %r20, %tid.x;
  mov.u32 %r21, shared;
  mad.lo.u32 %r5, %r20, 4, %r21;
  mad.lo.u32 %r6, %r20, 16, %r21;
  add.u32 %r7, %r5, 4096;
  mul.wide.u32 %q5, %r20, 4;
  add.u64 %q3, %q0, %q5;
  add.u64 %q4, %q1, %q5;
  ld.global.f32 %f1, [%q3];
  abs.f32 %f1, %f1;
  add.f32 %f2, %f1, 0f3E000000;
  mov.f32 %f3, 0f3F7FBE77;
  mov.f32 %f4, 0f00000000;
  mov.f32 %f5, %f4;
  mov.f32 %f6, %f4;
  mov.f32 %f7, %f4;
  cvt.f64.f32 %d1, %f1;
  cvt.f64.f32 %d2, %f2;
  mov.f64 %d3, 0d3FEFF7CED916872B;
  cvt.rn.f16.f32 %h1, %f1;
  cvt.rn.f16.f32 %h2, %f2;
  mov.b16 %h3, 0x3bf0;
  mov.b32 %r1, {{%h1, %h2}};
  mov.b32 %r2, {{%h2, %h3}};
  mov.b32 %r3, {{%h3, %h1}};
  mov.u32 %r8, 0;
  mov.u32 %r9, 0;
  mov.u32 %r10, 0;
  mov.u32 %r11, 0;
  st.shared.u32 [%r5], %r20;
  st.shared.f32 [%r7], %f4;
  setp.gt.f32 %p1, %f1, 0f3F000000;
  and.b32 %r22, %r20, 1;
  setp.eq.u32 %p3, %r22, 0;
  bar.sync 0;
  mov.u32 %r23, 0;
LOOP:
{body}
  add.u32 %r23, %r23, 1;
  setp.lt.u32 %p0, %r23, %r0;
  @%p0 bra LOOP;
  add.f32 %f1, %f1, %f2;
  st.global.f32 [%q4], %f1;
  ret;
}}
"""


def seconds(path, turns):
    times = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        command = [VOLTA, "run", path, "--threads", str(THREADS), "--arg", f"0=in:f32[{THREADS}]=normal", "--arg", f"1=inout:f32[{THREADS}]=0"]
        done = subprocess.run([*command, "--arg", f"2={turns}", "--jobs", "1", "--json"], capture_output=True, text=True)
        if done.returncode not in (0, 1):
            sys.exit(f"{path}: {done.returncode} {done.stderr[-800:]} {done.stdout[-800:]}")
        times.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    return min(times)


def main():
    only = sys.argv[2:] if sys.argv[1:2] == ["only"] else list(CLASSES)
    print("# Lane-instructions a second of `volta run`\n\n`cargo build --release && python3 benches/run.py > benches/run.md`")
    print(f"\n{THREADS} threads, user seconds of one core.\n\n| class | million a second |\n|---|---|")
    with tempfile.TemporaryDirectory() as folder:

        def time(name, body, turns):
            path = os.path.join(folder, "k.ptx")
            with open(path, "w") as f:
                f.write(TEXT.format(body=body))
            return seconds(path, turns)

        empty = time("empty", "", TURNS)
        for name in only:
            lines = [CLASSES[name][i % len(CLASSES[name])].replace("{n}", str(i)) for i in range(STEPS)]
            # The lanes that jump skip two of three instructions.
            count = STEPS * 2 if name == "divergent branches" else STEPS
            taken = max(time(name, "\n".join(lines), TURNS) - empty, 1e-3)
            print(f"| {name} | {count * TURNS * THREADS / taken / 1e6:.1f} |", flush=True)


if __name__ == "__main__":
    main()
