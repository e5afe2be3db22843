#!/usr/bin/env python3
"""WEFT and `volta race` side by side on WEFT's own examples.

    python3 benches/weft.py FOLDER weft    # runs WEFT (once: it takes an hour), keeps FOLDER/weft.json
    python3 benches/weft.py FOLDER volta   # runs volta, keeps FOLDER/volta.json
    python3 benches/weft.py FOLDER > benches/weft.md

FOLDER holds `weft`, built from github.com/lightsighter/Weft by its makefile, and `ptx`, its examples compiled by nvcc 11.8
(-ptx -lineinfo -m64 -arch=compute_35), one file for each, named FOLDER_EXAMPLE.ptx.  Times are processor time of one thread each,
so that they can be compared on a machine that does other things too.  WEFT looks at one CTA and takes no bindings.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
LIMIT = 1800
MEMORY = 12 << 30
BOUND = 1024

# Block where the kernel has no `.maxntid`, and lock-step warps as WEFT's own script asks for them.
EXAMPLES = {
    "saxpy_saxpy_single": dict(block=320),
    "saxpy_saxpy_double": dict(block=384),
    "sgemv_vec_single": {},
    "sgemv_vec_double": {},
    "sgemv_vec_manual": {},
    "sgemv_both_single": {},
    "sgemv_both_double": {},
    "sgemv_both_manual": {},
    "RTM_one_phase_manual_buffer": {},
    "RTM_one_phase_single_buffer": {},
    "RTM_two_phase_manual_buffer": {},
    "RTM_two_phase_quad_buffer": {},
    "RTM_two_phase_single_buffer": {},
    "DME_diff_fermi": dict(lock_step=True),
    "DME_visc_fermi": dict(lock_step=True),
    "DME_chem_fermi": dict(lock_step=True),
    "DME_diff_kepler": {},
    "DME_visc_kepler": {},
    "DME_chem_kepler": {},
    "Heptane_diff_fermi": dict(lock_step=True),
    "Heptane_visc_fermi": dict(lock_step=True),
    "Heptane_chem_fermi": dict(lock_step=True),
    "Heptane_diff_kepler": {},
    "Heptane_visc_kepler": {},
    "Heptane_chem_kepler": {},
    "PRF_diff_fermi": dict(lock_step=True),
    "PRF_visc_fermi": dict(lock_step=True),
    "PRF_diff_kepler": {},
    "PRF_visc_kepler": {},
    "negatives_arrival": dict(block=64),
    "negatives_deadlock": dict(block=64),
    "negatives_different": dict(block=64),
    "negatives_over": dict(block=64),
}


def measured(command):
    """Output, seconds of processor time, MiB at the most, and whether it was stopped by the limit."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=2 * LIMIT)
        stopped = False
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        stopped = True
    text = output.decode(errors="replace")
    usage = re.search(r"CPU ([\d.]+) ([\d.]+) (\d+)\s*$", text)
    seconds, memory = (float(usage[1]) + float(usage[2]), int(usage[3]) / 1024) if usage else (LIMIT, 0)
    return text[: usage.start()] if usage else text, seconds, memory, stopped


def timed(command):
    return ["/usr/bin/time", "-f", "CPU %U %S %M", "prlimit", f"--cpu={LIMIT}", f"--as={MEMORY}", *map(str, command)]


def ptx(folder, name):
    """The file without the lines that say where its source is: WEFT cannot read those of this compiler."""
    text = (folder / "ptx" / f"{name}.ptx").read_text()
    kept = [line for line in text.splitlines() if not re.match(r"\s*\.(loc|file)\b", line)]
    path = folder / "stripped" / f"{name}.ptx"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(kept) + "\n")
    return path, ".maxntid" in text


def run_weft(folder, name, block=None, lock_step=False):
    path, declared = ptx(folder, name)
    command = [folder / "weft", "-t", 1]
    command += [] if declared else ["-n", block]
    command += ["-s"] if lock_step else []
    text, seconds, memory, stopped = measured(timed([*command, path]))
    says = re.findall(r"WEFT (?:ERROR \d+|INFO): (.*)", text)
    found = [line for line in says if not re.match("No |Barriers properly", line)]
    clean = any("No races" in line for line in says)
    verdict = "no race" if clean and not found else re.sub(r" (in|on|of) .*|!.*", "", found[-1]).lower() if found else "stopped"
    return dict(verdict=verdict, seconds=seconds, memory=memory, text=text[-2000:])


def run_volta(folder, name, block=None, lock_step=False):
    """Integers that volta has to know, because addresses depend on them, are bound to BOUND one after the other; WEFT ignores such
    accesses.  The time is that of the run with all of them."""
    bind = []
    while True:
        result = run_volta_with(folder, name, block, lock_step, bind)
        missing = re.search(r"bind it with --arg ([^=\s]+)=", result["text"])
        if not missing or len(bind) == 20:
            return result | dict(bound=bind)
        bind.append(f"{missing[1]}={BOUND}")


def run_volta_with(folder, name, block, lock_step, bind):
    path, _ = ptx(folder, name)
    declared = re.search(r"\.maxntid\s+(\d+)(?:,\s*(\d+))?(?:,\s*(\d+))?", path.read_text())
    shape = ",".join(filter(None, declared.groups())) if declared else str(block)
    command = [TARGET / "release" / "volta", "race", path, "--block", shape, "--cta", "0", "--json", "--jobs", 1]
    command += ["--warp-sync"] if lock_step else []
    for b in bind:
        command += ["--arg", b]
    text, seconds, memory, stopped = measured(timed(command))
    report = json.JSONDecoder().raw_decode(text)[0] if text.startswith("{") else {}
    verdict = "stopped" if stopped else report.get("verdict", "error")
    kinds = sorted({f["kind"] for key in ("defects", "unknown") for f in report.get(key, [])})
    return dict(verdict=verdict, kinds=kinds, seconds=seconds, memory=memory, text=text[:6000])


def table(folder):
    weft, volta = (json.loads((folder / f"{tool}.json").read_text()) for tool in ("weft", "volta"))
    print("# WEFT's examples\n\nMade by `python3 benches/weft.py`, which says how.  Seconds of processor time, one thread each; both on a machine that did other things.")
    print(f"Integers that addresses depend on are bound to {BOUND} for volta; WEFT ignores such accesses.  Arrivals that nobody waits for block nothing,")
    print("so that volta does not report them.\n")
    print("| example | WEFT | s | MiB | volta | s | MiB | ratio |\n|---|---|---|---|---|---|---|---|")
    for name in EXAMPLES:
        w, v = weft.get(name), volta.get(name)
        cells = [f"{w['verdict']} | {w['seconds']:.2f} | {w['memory']:.0f}" if w else "not run | | "]
        cells += [f"{', '.join([v['verdict'], *v['kinds']])} | {v['seconds']:.2f} | {v['memory']:.0f}" if v else "not run | | "]
        comparable = w and v and v["seconds"] >= 0.01
        cells += [f"{w['seconds'] / v['seconds']:.0f}" if comparable else ""]
        print("|", " | ".join([name, *cells]), "|")


def main():
    folder = pathlib.Path(sys.argv[1])
    if len(sys.argv) < 3:
        return table(folder)
    tool, only = sys.argv[2], sys.argv[3:]
    kept = folder / f"{tool}.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    run = run_weft if tool == "weft" else run_volta
    for name, how in EXAMPLES.items():
        if not only or any(o in name for o in only):
            results[name] = run(folder, name, **how)
            print(name, results[name]["verdict"], f"{results[name]['seconds']:.2f} s", f"{results[name]['memory']:.0f} MiB", file=sys.stderr, flush=True)
            kept.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
