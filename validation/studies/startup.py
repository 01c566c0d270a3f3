"""How long a user waits: for the help, for the first step of the first run after installing, and of later runs.

Limits: help 0.3 s; compilation on the first run 15 s, announced; later runs 1 s before the first step. Wall-clock times on a busy machine are longer
than they need be, so the least of several repetitions counts; compilation is done once, and its processor time is what counts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

from lib.faults import TargetMissed
from lib.study import TRAINING

from mvsim.cli.progress import COMPILE_NOTICE

TITLE = "Start-up time"
SOURCES = (*TRAINING, "cli")

REPETITIONS = 5
LIMITS = {"help_seconds": 0.3, "first_step_compiling_seconds": 15.0, "first_step_later_seconds": 1.0}
TOOK = {
    "help_seconds": "`mvsim --help` takes {:.2f} s",
    "first_step_compiling_seconds": "the first run compiles for {:.1f} s",
    "first_step_later_seconds": "later runs take {:.1f} s to their first step",
}
"""The same in words."""

UNTIL_FIRST_STEP = """
import os, sys, time
from mvsim.flow.stepper import Stepper
step = Stepper.step
def stop(*arguments):
    step(*arguments)
    print(time.time() - float(os.environ["STARTED"]), time.process_time())
    sys.stdout.flush()
    os._exit(0)
Stepper.step = stop
from mvsim.cli import main
main(["simulate", "--k", "4", "--method", "midpoint", "--out", os.environ["RUN"], "--quiet"])
"""


def until_first_step(cache: str, run: str) -> tuple[float, float]:
    """Return wall and processor seconds from the start of a process to its first step."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "RUN": run, "STARTED": repr(time.time())}
    answer = subprocess.run([sys.executable, "-c", UNTIL_FIRST_STEP], env=environment, capture_output=True, text=True, check=True)
    wall, processor = answer.stdout.split()
    return float(wall), float(processor)


def help_seconds() -> float:
    """Return the wall time of ``mvsim --help``."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "mvsim", "--help"], capture_output=True, check=True)
    return time.perf_counter() - start


def compilation_is_announced(cache: str, run: str) -> bool:
    """Whether the first run says on stderr what it is doing."""
    command = [sys.executable, "-m", "mvsim", "simulate", "--k", "4", "--t-end", "24", "--out", run]
    answer = subprocess.run(command, env=os.environ | {"NUMBA_CACHE_DIR": cache}, capture_output=True, text=True, check=True)
    return COMPILE_NOTICE in answer.stderr


def options(parser: argparse.ArgumentParser) -> None:
    """Add no options."""


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Start mvsim again and again."""
    with tempfile.TemporaryDirectory() as folder:
        cache, run = f"{folder}/cache", f"{folder}/run.nc"
        announced = compilation_is_announced(f"{folder}/other", f"{folder}/first.nc")
        first_wall, first_processor = until_first_step(cache, run)
        later = min(until_first_step(cache, run)[0] for _ in range(REPETITIONS))
    results = {
        "help_seconds": min(help_seconds() for _ in range(REPETITIONS)),
        "first_step_compiling_seconds": first_processor,
        "first_step_compiling_wall_seconds": first_wall,
        "compilation_is_announced": announced,
        "first_step_later_seconds": later,
        "limits": LIMITS,
    }
    return results | {"ok": not judge(results)}


def judge(results: dict[str, Any]) -> list[str]:
    """Return which limits are missed."""
    missed: list[str] = [
        TargetMissed(f"{TOOK[name].format(results[name])}, {limit:g} s allowed")
        for name, limit in results["limits"].items()
        if results[name] >= limit
    ]
    return missed + ([] if results["compilation_is_announced"] else ["the first run does not say that it compiles"])


def headline(results: dict[str, Any]) -> str:
    """Say how long a user waits before the first step."""
    return (
        f"`mvsim --help` takes {results['help_seconds']:.2f} s; the first run after installing compiles for "
        f"{results['first_step_compiling_seconds']:.0f} s, later ones take {results['first_step_later_seconds']:.1f} s to their first step"
    )


def passage(results: dict[str, Any]) -> str:
    """Say what is counted."""
    says = "says" if results["compilation_is_announced"] else "does not say"
    return f"The time of compiling is processor time. The first run {says} that it compiles.\n"
