"""The main job of the README, timed, with its escapes beside those of the flow at rtol = 1e-4 (`escape_references`).

``mvsim simulate --k 50 --method midpoint`` with every default, which goes from escape to escape. Fails if the run takes more than five minutes or has
not settled, if the time of one of the escapes that the reference has is off by more than 2 %, or the time between the two views of a class by more
than 10 % of it.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from lib.faults import TargetMissed
from lib.results import results_of

import mvsim
from studies.main_job import simulated, time_faults

TITLE = "Midpoint Mixup at k = 50 from escape to escape"

REFERENCE = "k = 50, seed 0, flow, rtol = 0.0001"
TIME, GAP = 0.02, 0.1


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=float, default=3600.0, metavar="SECONDS", help="after which the run is interrupted")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    mvsim.simulate(mvsim.Parameters(k=3, m=2, N=6, P=9, d=10), "midpoint", integrator="escapes", t_end=1e3, n_test=2)  # compiles
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run.nc"
        result = simulated(out, options.limit, {})
        times = mvsim.open_run(out).dataset["escape_time"].min("neuron").to_numpy()
    return result | compared(times, np.array(results_of("escape_references")[REFERENCE]["times"], dtype=np.float64))


def compared(times: np.ndarray, reference: np.ndarray) -> dict[str, Any]:
    """Return relative differences of times (k, V) of first escapes, and of those between the views of a class, where the reference has them."""
    has = ~np.isnan(reference)
    off = np.abs(times - reference)[has] / reference[has]
    both = has.all(axis=1)
    gaps = np.diff(times[both], axis=1)[:, 0], np.diff(reference[both], axis=1)[:, 0]
    gap = np.abs(gaps[0] / gaps[1] - 1.0)
    return {
        "escapes": int(has.sum()),
        "times": {"largest": float(off.max()), "median": float(np.median(off)), "over": int((off > TIME).sum())},
        "gaps": {"number": int(both.sum()), "largest": float(gap.max()), "median": float(np.median(gap)), "over": int((gap > GAP).sum())},
        "order": int((np.argsort(times[has]) != np.argsort(reference[has])).sum()),
    }


def judge(results: dict[str, Any]) -> list[str]:
    faults = time_faults(results)
    time, gap = results["times"], results["gaps"]
    if time["over"]:
        faults.append(TargetMissed(f"the times of {time['over']} of {results['escapes']} escapes are off by more than {100 * TIME:g} %"))
    if gap["over"]:
        faults.append(TargetMissed(f"the times between the views of {gap['over']} of {gap['number']} classes are off by more than {100 * GAP:g} %"))
    if results["order"]:
        faults.append(TargetMissed(f"{results['order']} escapes come in another place"))
    return faults


def quotes(results: dict[str, Any]) -> list[str]:
    return [f"after {results['seconds'] / 60:.0f} minutes {results['classes']['both']} of 50 classes have both features"]


def citations(results: dict[str, Any]) -> dict[str, list[str]]:
    return {"limits.md": [f"Midpoint Mixup at k = 50, all defaults | {results['seconds'] / 60:.0f} minutes on two cores"]}


def headline(results: dict[str, Any]) -> str:
    ended = "settled" if results["settled"] else "not settled"
    return (
        f"Both features in {results['classes']['both']} of 50 classes after {results['seconds'] / 60:.1f} minutes, {ended}; times of "
        f"{results['escapes']} escapes are off by at most {100 * results['times']['largest']:.2g} %, in the median by "
        f"{100 * results['times']['median']:.1g} %"
    )


def passage(results: dict[str, Any]) -> str:
    gap = results["gaps"]
    return (
        f"`{results['command']}` on {results['cores']} cores: {results['step']} steps, {results['evaluations']} gradients, a file of "
        f"{results['file_bytes'] / 1e6:.0f} MB, {results['peak_bytes'] / 2**20:.0f} MiB of memory at most. Times between the two views of "
        f"{gap['number']} classes are off by at most {100 * gap['largest']:.2g} %, in the median by {100 * gap['median']:.2g} %. "
        "Outputs are not compared: the study `escapes` does that, up to k = 20.\n"
    )
