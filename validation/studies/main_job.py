"""The main job of the README by the flow: ``mvsim simulate --k 50 --method midpoint --integrator flow``, and ``mvsim verify`` of its file, timed.

Kernels are compiled before, if they have not been yet. A run that takes longer than ``--limit`` seconds is interrupted and saved, and what is told is
how far it has come. Another call with the same ``--runs`` goes on with it; seconds are those of the run in all calls. Fails if the run takes more
than five minutes or 1 GiB or has not settled, or if a verdict on it fails.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lib.faults import TargetMissed
from lib.runs import runs_of_present_code
from lib.tables import met

import mvsim
from mvsim.base.echo import quantity
from mvsim.cli.simulate import outcome
from mvsim.runs.simulation import run_cache
from mvsim.runs.simulation.cost import required_bytes

TITLE = "Midpoint Mixup at k = 50 by the flow"

TARGET = 300.0
"""Seconds."""

GIB = 2**30


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=Path, help="folder where the run is kept, for the study of the theorems; by default it is thrown away")
    parser.add_argument("--limit", type=float, default=5400.0, metavar="SECONDS", help="after which the run is interrupted")
    parser.add_argument("--verify", type=Path, metavar="RUN", help="time only the verdicts on this file of an earlier call")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    if options.verify:
        earlier = options.file.read()
        options.file.keep(earlier)
        return earlier | verified(options.verify)
    mvsim.simulate(mvsim.Parameters(k=3, m=2, N=6, P=9, d=10), "midpoint", integrator="flow", t_end=10.0, n_test=2)  # compiles
    with tempfile.TemporaryDirectory() as folder:
        out = (runs_of_present_code(options.runs) if options.runs else Path(folder)) / run_cache.run_name(mvsim.Parameters(k=50), "midpoint", 0, {})
        earlier = options.file.read() if out.exists() else {}
        return simulated(out, options.limit, earlier, ["--integrator", "flow"]) | verified(out)


def simulated(out: Path, limit: float, earlier: Mapping[str, Any], words: Sequence[str] = ()) -> dict[str, Any]:
    """Return what the run took and came to, with the results of the call that began it, if another did; ``words`` are added to the command."""
    command = ["mvsim", "simulate", "--k", "50", "--method", "midpoint", *words]
    more = ["--quiet", "--out", str(out), *(["--resume"] if earlier else [])]
    process = subprocess.Popen([sys.executable, "-m", *command, *more], stdout=subprocess.DEVNULL)
    try:
        process.wait(limit)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)  # SIGINT is ignored where a shell has started the study in the background
        process.wait()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    run = mvsim.open_run(out)
    result = outcome(run)
    return {
        "command": " ".join(command),
        "load": max(os.getloadavg()[0], earlier.get("load", 0.0)),
        "cores": len(os.sched_getaffinity(0)),
        "seconds": run.provenance["wall_seconds"],
        "predicted_bytes": required_bytes(mvsim.Parameters(k=50), mixes=True),
        "peak_bytes": max(peak, earlier.get("peak_bytes", 0)),
        "file_bytes": out.stat().st_size,
        "evaluations": int(run.dataset["final_evaluations"]),
        **{name: result[name] for name in ("status", "step", "time", "loss", "training_accuracy", "classes", "settled", "integrator", "regime")},
    }


def verified(run: Path) -> dict[str, Any]:
    """Return how long the verdicts on the run take."""
    command = [sys.executable, "-m", "mvsim", "verify", str(run)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)  # compiles what is missing
    start = time.perf_counter()
    verdict = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
    return {"verify_seconds": time.perf_counter() - start, "verify_exit_code": verdict}


def judge(results: dict[str, Any]) -> list[str]:
    faults = time_faults(results)
    if results["peak_bytes"] > GIB:
        faults.append(TargetMissed(f"{results['peak_bytes'] / GIB:.2g} GiB of memory; target 1 GiB"))
    if code := results["verify_exit_code"]:
        faults.append(f"mvsim verify ends with exit code {code}{' (inconclusive)' if code == 3 else ''}")
    return faults


def time_faults(results: dict[str, Any]) -> list[str]:
    stopped, late = results["status"] == "interrupted", results["seconds"] > TARGET
    took = f"{results['seconds']:.0f} s"
    missed = TargetMissed(f"{f'stopped at {took}, not settled' if stopped else f'the run takes {took}'}; target {TARGET:g} s")
    settles = results["settled"] or (stopped and late)  # of a run that was stopped that late the missed target says so
    return [*([missed] if late else []), *([] if settles else ["the run has not settled"])]


def quotes(results: dict[str, Any]) -> list[str]:
    return [f"with `--integrator flow` after {results['seconds'] / 60:.0f} minutes"]


def citations(results: dict[str, Any]) -> dict[str, list[str]]:
    return {"limits.md": [f"the same with `--integrator flow` | {results['seconds'] / 60:.0f} minutes beside other work"]}


def headline(results: dict[str, Any]) -> str:
    both, minutes = results["classes"]["both"], results["seconds"] / 60
    ended = "settled" if results["settled"] else "not settled"
    memory = f"{results['peak_bytes'] / 2**20:.0f} MiB, {results['peak_bytes'] / results['predicted_bytes']:.1f} times what is predicted"
    where = quantity(results["cores"], "core") + (" beside other work" if results["load"] > 1.5 * results["cores"] else "")
    return f"Both features in {both} of 50 classes after {minutes:.0f} minutes on {where}, {ended}; {memory}"


def passage(results: dict[str, Any]) -> str:
    classes = results["classes"]
    took = "had not settled after" if results["status"] == "interrupted" else "took"
    settled = "settled" if results["settled"] else "stopped" if results["status"] == "interrupted" else "not settled"
    return (
        f"`{results['command']}`: on {quantity(results['cores'], 'core')} it {took} {results['seconds'] / 60:.1f} minutes (target {TARGET / 60:g}: "
        f"{met(results['seconds'] <= TARGET and results['settled'])}; {results['step']} steps, {results['evaluations']} gradients, a file of "
        f"{results['file_bytes'] / 1e6:.0f} MB) and was at t = {results['time']:.2g}, {settled}: both features learned in {classes['both']} of 50 "
        f"classes, exactly one in {classes['one']}, none in {classes['none']}. At most {results['peak_bytes'] / 2**20:.0f} MiB of memory were taken, "
        f"{results['predicted_bytes'] / 2**20:.0f} are predicted; `mvsim verify` of the file takes {results['verify_seconds']:.1f} s.\n"
    )
