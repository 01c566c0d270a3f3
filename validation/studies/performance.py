"""Measure the speed and memory of mvsim beside the machine's own limit, automatic differentiation and the designs that lost.

Everything is timed in one process, candidates that are compared take turns, and the minimum counts, so that ratios hold on a machine with
other work on it. Loss and gradient of every candidate must agree with the engine to 1e-12, and one and two threads must give the same bits:
the study fails if they do not. Targets of speed and memory that are missed are reported as missed.

It takes some minutes on an idle machine. The pictures are figures/performance-*.png. PyTorch and JAX are compared if they are installed; mvsim needs
neither.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from lib.agreement import Number, run_name
from lib.paths import RESULTS
from lib.performance import parts
from lib.performance.pictures import comparison_figure, memory_figure, said_of_libraries, scaling_figure
from lib.performance.sizes import FULL, QUICK
from lib.performance.table import rows_of, targets
from lib.stamps import processor
from lib.study import LOSS
from lib.tables import table
from matplotlib.figure import Figure

import mvsim

TITLE = "Speed of one loss and gradient"
SOURCES = (*LOSS, "simulation.memory")

PARTS = {part.__name__: part for part in (parts.comparison, parts.main_size, parts.general, parts.scaling, parts.memory, parts.half_the_bits)}


def library_versions() -> dict[str, str]:
    """Return the versions that the numbers depend on, of those libraries that are there."""
    versions = {"mvsim": mvsim.__version__, "python": platform.python_version()}
    for name in ("numpy", "numba", "scipy", "torch", "jax"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the study."""
    parser.add_argument("--quick", action="store_true", help="small sizes: to try the study, not to measure; with --results-dir only")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS), help="parts to measure again; of the others the results stay")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Time all parts."""
    if options.quick and options.file.folder == RESULTS:
        raise SystemExit("--quick measures small sizes and would replace the results of the full ones; give a folder with --results-dir")
    sizes = QUICK if options.quick else FULL
    began, load = time.perf_counter(), os.getloadavg()
    unmeasured = [name for name in PARTS if name not in options.only]
    options.file.keep(unmeasured)
    earlier = options.file.read()

    units, machine = parts.machine(sizes)
    measured: dict[str, Any] = {"machine": earlier["machine"] if unmeasured else machine}
    print(f"R {1e9 * units.R:.2f} ns, R' {1e9 * units.slope:.2f} ns, exp {1e9 * units.exponential:.2f} ns", flush=True)
    for name, part in PARTS.items():
        title = name.replace("_", " ")
        measured[title] = part(sizes, options.file.folder) if name in options.only else earlier[title]
        print(f"{title}: done after {time.perf_counter() - began:.0f} s", flush=True)
    return {
        "ok": not judge(measured),
        "quick": options.quick,
        "command": options.command,
        "targets": targets(measured),
        **measured,
        "processor": processor(),
        "cores": os.cpu_count(),
        "load_before": load,
        "versions": library_versions(),
        "seconds": round(time.perf_counter() - began, 1),
    }


def pictures(results: dict[str, Any]) -> dict[str, Figure]:
    """Draw times and memory."""
    return {
        "performance-comparison": comparison_figure(results["comparison"], results["main size"]),
        "performance-scaling": scaling_figure(results["scaling"]),
        "performance-memory": memory_figure(results["memory"]),
    }


def judge(results: dict[str, Any]) -> list[str]:
    """Return which checks of exactness fail."""
    return [f"{check['check']}: {check}" for check in parts.checks_of(results) if not check["ok"]]


def headline(results: dict[str, Any]) -> str:
    """Say how long one gradient takes, and how many targets are met."""
    goals = results["targets"]
    return f"{said_of_libraries(results['comparison'])}; {sum(goal['met'] for goal in goals)} of {len(goals)} targets of speed and memory are met"


def passage(results: dict[str, Any]) -> str:
    """Put speed and memory into a table."""
    return (
        "![Times of one loss and gradient](../figures/performance-comparison.png)\n\n"
        "The term-by-term cost is what the activations and exponentials of the exact sum over all pairs would take one by one in the best loops of "
        "this machine. PyTorch as written sums all N^2 pairs as the loss does; at its best it takes each pair once, in batches that fit the caches, "
        "with products for powers.\n\n"
        + table(["one loss and gradient of Midpoint Mixup", "measured", "target"], rows_of(results))
        + "\n![Times over each size](../figures/performance-scaling.png)\n\n![Measured over predicted memory](../figures/performance-memory.png)\n"
    )


def numbers(results: dict[str, Any]) -> list[Number]:
    """Return the memory that runs took."""
    stated = []
    for row in results["memory"]["rows"]:
        run = run_name(row["parameters"], row["method"], t_end=row["t_end"])
        stated += [Number(run, "peak bytes", row["measured"]), Number(run, "predicted bytes", row["predicted"])]
    return stated
