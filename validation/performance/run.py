"""Measure the speed and memory of mvsim beside the machine's own limit, automatic differentiation and the designs that lost.

Everything is timed in one process, candidates that are compared take turns, and the minimum counts, so that ratios hold on a machine with
other work on it. Loss and gradient of every candidate must agree with the engine to 1e-12, and one and two threads must give the same bits:
the exit code says whether they do. Targets of speed and memory that are missed are reported as missed.

    python validation/performance/run.py            # some minutes on an idle machine
    python validation/performance/run.py --quick    # small sizes, to see whether it runs; writes only with --out

writes validation/results/performance.json and figures/performance-*.png. PyTorch and JAX are compared if they are installed; mvsim needs neither.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import parts
from pictures import comparison_figure, scaling_figure
from sizes import FULL, QUICK
from table import table, targets

import mvsim
from mvsim.plotting import save_figure

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def library_versions() -> dict[str, str]:
    """Return the versions that the numbers depend on, of those libraries that are there."""
    found = {"mvsim": mvsim.__version__, "python": platform.python_version()}
    for name in ("numpy", "numba", "scipy", "torch", "jax"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def processor() -> str:
    """Return the name of the processor as far as the system tells."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def print_table(rows: list[list[str]]) -> None:
    """Print the table of the README."""
    for what, measured, goal in rows:
        print(f"{what.strip('*'):72}{measured}{f'   [{goal}]' if goal else ''}" if measured else f"\n{what.strip('*')}")


PARTS = (parts.comparison, parts.main_size, parts.general, parts.scaling, parts.memory, parts.half_the_bits)


def main() -> int:
    """Measure, print, write, and return the exit code."""
    parser = argparse.ArgumentParser(description="Measure speed and memory.")
    parser.add_argument("--quick", action="store_true", help="small sizes: to try the script, not to measure")
    parser.add_argument("--out", type=Path, help="directory for all files, instead of validation/results and figures")
    parser.add_argument(
        "--only", nargs="*", help=f"parts to measure again, of {', '.join(part.__name__ for part in PARTS)}; of the others the results stay"
    )
    arguments = parser.parse_args()
    sizes = QUICK if arguments.quick else FULL
    began, load = time.perf_counter(), os.getloadavg()

    units, found = parts.machine(sizes)
    before = HERE.parent / "results" / "performance.json"
    kept = json.loads(before.read_text(encoding="utf-8")) if arguments.only is not None else {}
    found = {"machine": kept["machine"] if arguments.only is not None else found}
    print(f"R {1e9 * units.R:.2f} ns, R' {1e9 * units.slope:.2f} ns, exp {1e9 * units.exponential:.2f} ns", flush=True)
    for part in PARTS:
        name = part.__name__.replace("_", " ")
        if arguments.only is not None and part.__name__ not in arguments.only:
            found[name] = kept[name]
            continue
        found[name] = part(sizes)
        print(f"{name}: done after {time.perf_counter() - began:.0f} s", flush=True)
    checks = list(parts.checks_of(found))
    found = {
        "ok": all(check["ok"] for check in checks),
        "quick": arguments.quick,
        "command": "python validation/performance/run.py" + (" --quick" if arguments.quick else ""),
        "targets": targets(found),
        **found,
        "processor": processor(),
        "cores": os.cpu_count(),
        "load_before": load,
        "versions": library_versions(),
        "seconds": round(time.perf_counter() - began, 1),
    }
    found["table"] = table(found)

    results, figures = (arguments.out, arguments.out) if arguments.out else (HERE.parent / "results", ROOT / "figures")
    if arguments.out or not arguments.quick:
        results.mkdir(parents=True, exist_ok=True)
        (results / "performance.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        pictures = {
            "performance-comparison": comparison_figure(found["comparison"], found["main size"]),
            "performance-scaling": scaling_figure(found["scaling"], found["memory"]),
        }
        for name, figure in pictures.items():
            save_figure(figure, figures / f"{name}.png", force=True)
            (figures / f"{name}.txt").write_text(f"{name}.png is made by: {found['command']}\n", encoding="utf-8")

    print_table(found["table"])
    failed = [check for check in checks if not check["ok"]]
    for check in failed:
        print(f"FAILS: {check}")
    missed = sum(not target["met"] for target in found["targets"])
    print(f"\n{len(checks)} checks of exactness, {len(failed)} failed; {missed} of {len(found['targets'])} targets missed")
    return 0 if found["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
