"""The first hour of a user: the README, the time from a clone to the first result, one screen of verdicts, the documentation and its tutorial.

readme     Its number of characters.
first      The repository is cloned and mvsim installed into a new environment; the first command of the README is run there. What is timed is all of
           that, kernels compiled on the way; how long the package index takes to answer is part of it.
screen     `mvsim verify` of that run, and of one of Midpoint Mixup at k = 6, on a terminal of 80 columns and 24 lines, the prompt among them.
startup    `mvsim --help`, the compiling before the first step of the first run (processor time, announced on stderr), and the time to the first step
           of later ones.
site       The documentation is built from nothing, all notebooks executed, with every warning an error. The time of the tutorial is what its cells
           take.

Fails if the README has more than 5,000 characters, the first result takes more than 2 minutes, the site more than 3, the tutorial more than one,
the help more than 0.3 s, compiling more than 15 s or a later first step more than 1 s, if the site does not build, or if a verdict does not fit on
the screen. Needs ``pip install ".[docs]"``. It measures what is committed.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from lib.faults import TargetMissed
from lib.paths import ROOT
from lib.terminal import shown_on_terminal

from mvsim.cli.progress import COMPILE_NOTICE

TITLE = "The first hour"

CHARACTERS, FIRST, SITE, TUTORIAL, HELP, COMPILING, LATER = 5000, 120.0, 180.0, 60.0, 0.3, 15.0, 1.0
"""Most characters of the README, and most seconds of the others."""

REPETITIONS = 5
"""Of what is quick; the least time counts."""

COLUMNS, LINES = 80, 24

MIDPOINT = "mvsim simulate --k 6 --method midpoint --quiet --out midpoint.nc"
"""A run of the other method, whose verdicts are shown on a screen, too."""


def first_command() -> list[str]:
    """Return the first call of mvsim in the README, as words."""
    return shlex.split(re.findall(r"^mvsim simulate .*$", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[0])


def first_result(folder: Path) -> dict[str, Any]:
    """Clone, install and run in a folder, and return how long that takes and what came out."""
    start = time.perf_counter()
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder / "clone")], check=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    binaries = folder / "venv" / "bin"
    subprocess.run([str(binaries / "python"), "-m", "pip", "install", "--quiet", "."], cwd=folder / "clone", check=True)
    installed = time.perf_counter()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"NUMBA_CACHE_DIR": str(folder / "cache")}
    words = first_command()
    said = subprocess.run([str(binaries / words[0]), *words[1:]], cwd=folder, env=environment, check=True, capture_output=True, text=True)
    return {"install_seconds": installed - start, "seconds": time.perf_counter() - start, "said": said.stdout.splitlines()[0]}


def screens(folder: Path) -> dict[str, Any]:
    """Return the verdicts on the first run, which is in a folder, and on one of Midpoint Mixup: their lines, and the longest of them."""
    subprocess.run([sys.executable, "-m", *shlex.split(MIDPOINT)], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    found = {}
    for path in sorted(folder.glob("*.nc")):
        _, text = shown_on_terminal([sys.executable, "-m", "mvsim", "verify", path.name, "--quiet"], folder, COLUMNS, LINES)
        lines = re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()
        found[path.name] = {"lines": len(lines), "columns": max(map(len, lines)), "said": lines[0]}
    return found


def site(folder: Path) -> dict[str, Any]:
    """Build the documentation in a folder, and return how long that and the notebooks on it take."""
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-d", str(folder / "trees"), str(ROOT / "docs"), str(folder / "site")]
    start = time.perf_counter()
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=os.environ | {"NO_COLOR": "1"})
    seconds = time.perf_counter() - start
    notebooks = {Path(page).stem: float(took) for page, took in re.findall(r"(\S+\.md): Executed notebook in ([\d.]+) seconds", built.stdout)}
    return {"seconds": seconds, "exit_code": built.returncode, "warnings": built.stderr.count("WARNING:"), "notebooks": notebooks}


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


def startup(folder: Path) -> dict[str, Any]:
    """Return how long a user waits for the help, and for the first step of the first run and of later ones."""
    cache, run = str(folder / "cache"), str(folder / "first-step.nc")
    announced = compilation_is_announced(str(folder / "other"), str(folder / "announced.nc"))
    wall, processor = until_first_step(cache, run)
    return {
        "help_seconds": min(help_seconds() for _ in range(REPETITIONS)),
        "first_step_compiling_seconds": processor,
        "first_step_compiling_wall_seconds": wall,
        "compilation_is_announced": announced,
        "first_step_later_seconds": min(until_first_step(cache, run)[0] for _ in range(REPETITIONS)),
    }


def measure(options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return {
            "load": os.getloadavg()[0],
            "readme": len((ROOT / "README.md").read_text(encoding="utf-8")),
            "first": first_result(folder),
            "screen": screens(folder),
            "site": site(folder),
            "startup": startup(folder),
        }


def judge(results: dict[str, Any]) -> list[str]:
    built = results["site"]
    sizes = [
        ("the README has {:,.0f} characters; target {:,.0f}", results["readme"], CHARACTERS),
        ("the first result takes {:.0f} s; target {:.0f}", results["first"]["seconds"], FIRST),
        ("the site takes {:.0f} s; target {:.0f}", built["seconds"], SITE),
        ("the tutorial takes {:.0f} s; target {:.0f}", built["notebooks"].get("tutorial", math.inf), TUTORIAL),
    ]
    waits = results["startup"]
    sizes += [
        ("`mvsim --help` takes {:.2f} s; target {:g}", waits["help_seconds"], HELP),
        ("the first run compiles for {:.1f} s; target {:g}", waits["first_step_compiling_seconds"], COMPILING),
        ("later runs take {:.1f} s to their first step; target {:g}", waits["first_step_later_seconds"], LATER),
    ]
    faults: list[str] = [] if waits["compilation_is_announced"] else ["the first run does not say that it compiles"]
    faults += [TargetMissed(words.format(found, most)) for words, found, most in sizes if found > most]
    if built["exit_code"] or built["warnings"]:
        faults.append(f"the site does not build: exit code {built['exit_code']}, {built['warnings']} warnings")
    for run, shown in results["screen"].items():
        if shown["lines"] >= LINES or shown["columns"] > COLUMNS:
            faults.append(f"the verdicts on {run} take {shown['lines']} lines of {shown['columns']} columns, which do not fit")
    return faults


def headline(results: dict[str, Any]) -> str:
    first, built, waits = results["first"], results["site"], results["startup"]
    return (
        f"From a clone to the first result in {first['seconds']:.0f} s; `mvsim --help` takes {waits['help_seconds']:.2f} s, later runs "
        f"{waits['first_step_later_seconds']:.1f} s to their first step, the first one compiles for "
        f"{waits['first_step_compiling_seconds']:.0f} s; the site builds in {built['seconds']:.0f} s with {built['warnings']} warnings, "
        f"its tutorial takes {built['notebooks'].get('tutorial', math.inf):.0f} s"
    )


def passage(results: dict[str, Any]) -> str:
    first, built = results["first"], results["site"]
    notebooks = ", ".join(f"{page} {seconds:.0f} s" for page, seconds in sorted(built["notebooks"].items()))
    fitting = "; ".join(f"`{run}` {shown['lines']} lines of at most {shown['columns']} columns" for run, shown in results["screen"].items())
    return (
        f"The README has {results['readme']:,} characters. Clone, environment and installation take {first['install_seconds']:.0f} s, and with "
        f'`{shlex.join(first_command())}` it is {first["seconds"]:.0f} s until "{first["said"]}" stands there. `mvsim verify` on a terminal of '
        f"{COLUMNS} x {LINES}: {fitting}. The notebooks of the site: {notebooks}. Load at the beginning: {results['load']:.1f}.\n"
    )
