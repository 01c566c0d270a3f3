"""What sweeps cost, and what kills cost them.

- ``throughput``: cells of k = 6 ERM, side by side. The ideal time is what the runs themselves took, over the number of workers; the sweep, with all
  that starting, handing out, checking and saving adds, is to take at most 1.3 times that.
- ``kills``: a shorter sweep of such cells, killed as a whole by SIGKILL at random instants and started again. Its table and every variable of its
  runs are to be those of the undisturbed sweep, bit for bit.
- ``workers``: one sweep in which a worker is killed again and again. A kill costs what the run in its hands had not saved, at most the time since
  its last save; over all kills that is to be at most as many checkpoints. Kills before a worker had saved anything cost its start, and are counted
  apart. The runs are to be the same bits again.
- ``predicted``: the time that ``--dry-run`` predicts is compared with the time that runs take, and the law of the number of gradients is fitted
  again. Nine runs of ten are to take a third to three times what was predicted.
- ``report``: the report of a settled run of k = 50, midpoint, is to have at most 3 MB and to take at most 10 s.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from lib.faults import TargetMissed
from lib.runs import add_runs_option, runs_of_present_code
from lib.sweep_processes import differing_runs, start_sweep, workers_of
from lib.tables import table

import mvsim
from mvsim.runs.simulation.cost import RANGE
from mvsim.runs.simulation.run_cache import kept_run
from mvsim.sweeps.estimate import Pace, count_of
from mvsim.sweeps.folder import STUDY_FILE

TITLE = "Sweeps and reports"

PARTS = ("throughput", "kills", "workers", "predicted", "report")
MOST_OVER_IDEAL, MOST_BYTES, MOST_SECONDS = 1.3, 3_000_000, 10.0
PREDICTED = 0.9
"""Fraction of runs that is to lie within the range that is predicted."""


def options(parser: argparse.ArgumentParser) -> None:
    add_runs_option(parser)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts to measure again; the others stay")
    parser.add_argument("--k", type=int, default=6, help="classes of the runs of the sweeps")
    parser.add_argument("--cells", type=int, default=200, help="runs of the sweep that is timed")
    parser.add_argument("--killed-cells", type=int, default=60, help="runs of a sweep that is killed, or loses its workers")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kills", type=int, default=10, help="how often a sweep is killed")
    parser.add_argument("--worker-kills", type=int, default=20, help="how often a worker is killed")
    parser.add_argument("--checkpoint-seconds", type=float, default=0.2)
    parser.add_argument("--predicted-k", default="5,8", help="classes of the runs whose time is predicted, other ones than it was fitted to")
    parser.add_argument("--predicted-r0", default="0.2,0.25", help="initial sizes of the runs whose time is predicted")
    parser.add_argument("--report-k", type=int, default=50, help="classes of the run that is reported")
    parser.add_argument("--report-t-end", type=float, help="time at which that run ends; by default when it has settled")
    parser.add_argument("--seed", type=int, default=0, help="of the instants of the kills")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    measured: dict[str, Callable[[argparse.Namespace, Path], Any]] = {
        "throughput": throughput, "kills": kills, "workers": workers, "predicted": predicted, "report": report
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        return options.file.measure_parts(options.only, lambda name: measured[name](options, Path(folder)))


def throughput(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Return the time of an undisturbed sweep and that of its runs."""
    start = time.perf_counter()
    _sweep(options, options.cells, folder / "timed").wait()
    seconds = time.perf_counter() - start
    runs = mvsim.open_runs(folder / "timed")
    own = sum(run.provenance["wall_seconds"] for run in runs)
    return {"cells": len(runs.study.cells), "k": options.k, "workers": options.workers, "seconds": seconds, "runs_seconds": own,
            "over_ideal": seconds * options.workers / own}  # fmt: skip


def kills(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Return what became of a sweep that was killed again and again."""
    rng = random.Random(options.seed)
    whole = _whole(options, folder)
    last = sum(run.provenance["wall_seconds"] for run in mvsim.open_runs(whole)) / options.workers
    counted = 0
    while counted < options.kills:
        process = _sweep(options, options.killed_cells, folder / "killed")
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(rng.uniform(2.0, 8.0 + 1.5 * last / options.kills))  # some while it starts, most while it works
        if process.poll() is not None:  # it came to its end first
            shutil.rmtree(folder / "killed")
            continue
        children = psutil.Process(process.pid).children(recursive=True)
        for one in (psutil.Process(process.pid), *children):
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        process.wait()
        psutil.wait_procs(children, timeout=10.0)
        counted += 1
    code = _sweep(options, options.killed_cells, folder / "killed").wait()
    return {"kills": counted, "exit_code": code, **_compared(whole, folder / "killed")}


def workers(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Return what it cost to kill workers."""
    rng, lost, starting = random.Random(options.seed + 1), [], 0
    process = _sweep(options, options.killed_cells, folder / "workers")
    while process.poll() is None and not (folder / "workers" / STUDY_FILE).exists():
        time.sleep(0.1)  # workers that are still being started have nothing in their hands
    while process.poll() is None and len(lost) < options.worker_kills:
        time.sleep(rng.uniform(0.5, 3.0))
        with contextlib.suppress(psutil.Error, IndexError):
            victim = rng.choice(workers_of(process))
            (lock,) = [Path(file.path) for file in victim.open_files() if file.path.endswith(".lock")] or [None]
            victim.kill()
            since = _since_save(lock)
            victim.wait(10.0)
            lost += [] if since is None else [since]
            starting += since is None
            if lock is not None:
                lock.unlink(missing_ok=True)  # the next one tells by its age when the run was taken up again
    code = process.wait()
    return {"kills": len(lost), "kills_at_start": starting, "exit_code": code, "checkpoint_seconds": options.checkpoint_seconds,
            "lost_seconds": lost, **_compared(_whole(options, folder), folder / "workers")}  # fmt: skip


def predicted(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Return what was predicted of runs, what they took, and the law of the number of gradients that fits them best."""
    values = {"k": options.predicted_k, "r0": options.predicted_r0, "method": "erm,midpoint"}
    start_sweep(values, folder / "predicted", "--workers", 1, "--quiet", stdout=subprocess.DEVNULL).wait()
    runs = mvsim.open_runs(folder / "predicted")
    pace, rows = Pace(runs.study.cells), []
    for cell, run in zip(runs.study.cells, runs, strict=True):
        took = {"gradients": int(run.dataset["final_evaluations"]), "seconds": run.provenance["wall_seconds"]}
        said = {"predicted_gradients": count_of(cell), "predicted_seconds": pace.seconds_of(cell)}
        rows.append({"method": cell.method, "k": cell.parameters.k, "r0": cell.parameters.r0, **took, **said})
    return {"rows": rows, "law": {method: _law([row for row in rows if row["method"] == method]) for method in ("erm", "midpoint")}}


def _law(rows: list[dict[str, Any]]) -> list[float]:
    """Return a and p of the law a k^p (1 + log(1 / r0)) by least squares of the logarithm."""
    k, r0, gradients = (np.array([row[name] for row in rows]) for name in ("k", "r0", "gradients"))
    p, log_a = np.polyfit(np.log(k), np.log(gradients / (1.0 + np.maximum(-np.log(r0), 0.0))), 1)
    return [float(np.exp(log_a)), float(p)]


def report(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Return the size of a report and how long it takes."""
    runs, p = runs_of_present_code(options.runs), mvsim.Parameters(k=options.report_k)
    run, place = kept_run(runs, p, "midpoint", 0, t_end=options.report_t_end), folder / "report.html"
    answer, program = folder / "answer.json", [sys.executable, "-m", "mvsim"]
    commands = {
        "seconds": [*program, "report", run.path, "--out", place, "--quiet"],
        "verify_seconds": [*program, "verify", run.path, "--out", answer, "--quiet"],
        "given_seconds": [*program, "report", run.path, "--out", place, "--verdicts", answer, "--force", "--quiet"],
    }
    took = {}
    for name, command in commands.items():
        start = time.perf_counter()
        subprocess.run(command, check=name != "verify_seconds", stdout=subprocess.DEVNULL)  # the answer may be unfavourable
        took[name] = time.perf_counter() - start
    return {"k": options.report_k, "t_end": options.report_t_end, "bytes": place.stat().st_size, **took}


def _sweep(options: argparse.Namespace, cells: int, out: Path) -> subprocess.Popen[Any]:
    values = {"k": options.k, "method": "erm", "seed": f"0:{cells}", "workers": options.workers, "checkpoint_seconds": options.checkpoint_seconds}
    return start_sweep(values, out, "--quiet", stdout=subprocess.DEVNULL)


def _whole(options: argparse.Namespace, folder: Path) -> Path:
    _sweep(options, options.killed_cells, folder / "whole").wait()
    return folder / "whole"


def _since_save(lock: Path | None) -> float | None:
    """Return the seconds since the holder of a lock saved its run, None if it has not."""
    if lock is None:
        return None
    run = lock.with_name(lock.name.removeprefix(".").removesuffix(".lock"))
    with contextlib.suppress(OSError):
        saved, now = run.stat().st_mtime, time.time()
        return now - saved if saved > lock.stat().st_mtime else None
    return None


def _compared(one: Path, other: Path) -> dict[str, Any]:
    """Return whether two folders hold the same table and the same runs, and remove the second."""
    first, second = mvsim.open_runs(one), mvsim.open_runs(other)
    table, different = first.table.to_csv() == second.table.to_csv(), differing_runs(first, second)
    shutil.rmtree(other)
    return {"cells": len(first.study.cells), "same_table": table, "different_runs": different}


def judge(results: dict[str, Any]) -> list[str]:
    wrong: list[str] = []
    if "throughput" in results and results["throughput"]["over_ideal"] > MOST_OVER_IDEAL:
        wrong.append(TargetMissed(f"a sweep takes {results['throughput']['over_ideal']:.2f} times the ideal time, {MOST_OVER_IDEAL:g} allowed"))
    for name in ("kills", "workers"):
        part = results.get(name)
        if part is None:
            continue
        if part["exit_code"] != 0:
            wrong.append(f"{name}: the last sweep ends with exit code {part['exit_code']}")
        if not part["same_table"] or part["different_runs"]:
            wrong.append(f"{name}: the table is {'the same' if part['same_table'] else 'another'}, {len(part['different_runs'])} runs differ")
    if "workers" in results:
        part = results["workers"]
        if sum(part["lost_seconds"]) > part["kills"] * part["checkpoint_seconds"]:
            wrong.append(f"workers: {part['kills']} kills cost {sum(part['lost_seconds']):.1f} s, more than as many checkpoints")
    if "predicted" in results:
        inside = _predicted(results["predicted"])
        if sum(inside) < PREDICTED * len(inside):
            wrong.append(f"predicted: {sum(inside)} of {len(inside)} runs take a third to three times what was predicted, fewer than {PREDICTED:.0%}")
    return wrong + (_report_faults(results["report"]) if "report" in results else [])


def _report_faults(part: dict[str, Any]) -> list[str]:
    faults: list[str] = []
    if part["bytes"] > MOST_BYTES:
        faults.append(TargetMissed(f"the report has {part['bytes'] / 1e6:.1f} MB, {MOST_BYTES / 1e6:g} MB allowed"))
    if part["seconds"] > MOST_SECONDS:
        faults.append(TargetMissed(f"the report takes {part['seconds']:.1f} s, {MOST_SECONDS:g} s allowed"))
    return faults


def headline(results: dict[str, Any]) -> str:
    said = []
    if part := results.get("throughput"):
        said.append(f"a sweep of {part['cells']} runs takes {part['over_ideal']:.2f} times the time of its runs")
    killed = [results[name] for name in ("kills", "workers") if name in results]
    if killed:
        said.append(f"{sum(part['kills'] for part in killed)} kills change {sum(len(part['different_runs']) for part in killed)} runs")
    if part := results.get("report"):
        said.append(f"a report of k = {part['k']} takes {part['seconds']:.1f} s")
    words = "; ".join(said)
    return words[:1].upper() + words[1:]


def passage(results: dict[str, Any]) -> str:
    rows = [row for part, told in _TOLD.items() if part in results for row in told(results[part])]
    return table(["what", "measured", "allowed"], rows)


def _told_throughput(part: dict[str, Any]) -> list[tuple[str, str, str]]:
    what = f"{part['cells']} runs of k = {part['k']}, ERM, on {part['workers']} workers: time over that of the runs themselves, shared out"
    return [(what, f"{part['over_ideal']:.2f} ({part['seconds']:.0f} s)", f"{MOST_OVER_IDEAL:g}")]


def _told_kills(part: dict[str, Any]) -> list[tuple[str, str, str]]:
    table_is = "the same table" if part["same_table"] else "ANOTHER TABLE"
    return [(f"SIGKILL of the whole sweep, {part['kills']} times: what is different", f"{table_is}, {_differing(part)}", "nothing")]


def _told_workers(part: dict[str, Any]) -> list[tuple[str, str, str]]:
    every, lost, kills = part["checkpoint_seconds"], sum(part["lost_seconds"]), part["kills"]
    what = f"SIGKILL of a worker at work, {kills} times, with a save every {every:g} s: work lost, and what is different"
    early = f"; {part['kills_at_start']} more had saved nothing yet" if part["kills_at_start"] else ""
    return [(what, f"{lost:.1f} s, {_differing(part)}{early}", f"{kills} saves of work, nothing")]


def _told_predicted(part: dict[str, Any]) -> list[tuple[str, str, str]]:
    inside = _predicted(part)
    rows = [("runs that take a third to three times what was predicted", f"{sum(inside)} of {len(inside)}", f"{PREDICTED:.0%} or more")]
    return rows + [(f"gradients of {method}, fitted", f"{a:.0f} k^{p:.2f} (1 + log(1 / r0))", "") for method, (a, p) in part["law"].items()]


def _told_report(part: dict[str, Any]) -> list[tuple[str, str, str]]:
    end = "" if part["t_end"] is None else f" to t = {part['t_end']:g}"
    what = f"the report of the run of k = {part['k']}{end}"
    return [
        (f"{what}, judged anew", f"{part['bytes'] / 1e6:.2f} MB, {part['seconds']:.1f} s", f"{MOST_BYTES / 1e6:g} MB, {MOST_SECONDS:g} s"),
        (f"{what}, with the verdicts of `mvsim verify`, which take {part['verify_seconds']:.1f} s", f"{part['given_seconds']:.1f} s", ""),
    ]


_TOLD: dict[str, Callable[[dict[str, Any]], list[tuple[str, str, str]]]] = {
    "throughput": _told_throughput,
    "kills": _told_kills,
    "workers": _told_workers,
    "predicted": _told_predicted,
    "report": _told_report,
}


def _predicted(part: dict[str, Any]) -> list[bool]:
    return [1.0 / RANGE <= row["seconds"] / row["predicted_seconds"] <= RANGE for row in part["rows"]]


def _differing(part: dict[str, Any]) -> str:
    return f"{len(part['different_runs'])} of {part['cells']} runs differ in a bit"
