"""Runs that are interrupted after a time, and judged as far as they have come."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import mvsim
from lib.runs import on_all_cores
from mvsim.base.errors import Interrupted
from mvsim.papers.midpoint_mixup.judge_run import Judgement, judge
from mvsim.papers.midpoint_mixup.over_runs import followed_run
from mvsim.papers.midpoint_mixup.theorems.theorems import THEOREMS
from mvsim.runs.simulation.run_cache import run_name


class Limited(NamedTuple):
    """What is known of some runs after a time.

    Attributes
    ----------
    judgements : list of Judgement
        Of the runs that have not stalled or diverged.
    stopped : list of str
        Why the others have.
    interrupted : list of str
        How far those have come that were interrupted.
    """

    judgements: list[Judgement]
    stopped: list[str]
    interrupted: list[str]

    @property
    def finished(self) -> list[Judgement]:
        """The judgements of the runs that were not interrupted: only these tell a constant that is a largest or least value over all of a run."""
        return [judgement for judgement in self.judgements if judgement.run.status == "finished"]


def judged_within(seconds: float, number: str, p: mvsim.Parameters, seeds: int, folder: Path, follow: bool = True) -> Limited:
    """Follow runs side by side, each for so many seconds at most, and judge each by a theorem as far as it has come.

    What an earlier call left in the folder goes on from there.

    Parameters
    ----------
    seconds : float
        For each run, in this call.
    number, p
        As for `mvsim.papers.midpoint_mixup.over_runs.judgements_over_seeds`.
    seeds, folder, follow
        As those of its `mvsim.judging.statement.Request`.

    Raises
    ------
    RuntimeError
        If a run was interrupted before its first step.
    """
    faults = on_all_cores(partial(_followed, seconds, number, p, folder, follow), range(seeds))
    judgements, interrupted = [], []
    for seed in (seed for seed, fault in enumerate(faults) if fault is None):
        path = folder / run_name(p, THEOREMS[number].method, seed, {})
        if not path.exists():
            raise RuntimeError(f"seed {seed} of Theorem {number}, k = {p.k}: nothing was saved within {seconds:g} s; allow more")
        run = mvsim.open_run(path)
        judgements.append(judge(run, number))
        if run.status != "finished":
            gradients, time = int(run.dataset["final_evaluations"]), float(run.dataset["final_time"])
            interrupted.append(f"seed {seed} after {gradients:,} gradients at t = {time:.3g}")
    return Limited(judgements, [f"seed {seed} stopped: {fault}" for seed, fault in enumerate(faults) if fault is not None], interrupted)


def _followed(seconds: float, number: str, p: mvsim.Parameters, folder: Path, follow: bool, seed: int) -> str | None:
    """Follow one run for at most so long; return why it stalled or diverged, None if it did not."""
    try:
        with interrupted_after(seconds):
            run = followed_run(number, p, seed, folder, threads=1, follow=follow)
    except (Interrupted, KeyboardInterrupt):
        return None
    return None if isinstance(run, mvsim.Run) else str(run)


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Send this process a SIGINT, as Ctrl-C does, if the block has not ended after so many seconds."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a process that a shell has started in the background ignores it
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
