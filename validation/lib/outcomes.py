"""What became of the classes of a run, counted over seeds, for studies beyond the theorems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lib.ended import Ended, Job, ended
from mvsim import Parameters
from mvsim.numerics.intervals import clustered_interval
from mvsim.papers.midpoint_mixup.evidence.persistence import unchanged_since
from mvsim.runs.recording.fresh_draws import count_classes

SCALE = 1.14e5
"""Runs end at this many times r0^(2 - alpha), the time scale of escapes, at the latest: some of the regimes looked at never settle. It is several
times what it takes Midpoint Mixup to learn both views at k = 4, r0 = 0.15."""


def last_time(parameters: Parameters) -> float:
    """Return the time at which runs end at the latest, to one digit."""
    return float(f"{SCALE * parameters.r0 ** (2.0 - parameters.alpha):.0e}")


def counted(folder: Path, parameters: Parameters, method: str, seeds: int, **options: Any) -> dict[str, Any]:
    """Return what `tallied` does, of the runs of some seeds, which end when nothing can change any more (`lib.ended`)."""
    return tallied(ended(jobs_of(folder, parameters, method, seeds, last_time(parameters), **options)))


def jobs_of(folder: Path, parameters: Parameters, method: str, seeds: int, last: float, **options: Any) -> list[Job]:
    """Return the runs of some seeds, to be made."""
    return [Job(folder, parameters, method, seed, last, options) for seed in range(seeds)]


def tallied(runs: Sequence[Ended]) -> dict[str, Any]:
    """Return how many classes have both, one and none of their features at the end, over runs, and the fractions with their intervals.

    Intervals allow for classes of one run that are not independent. ``complete_since`` tells for each run since when it has both features of every
    class, None if it has not; ``ends`` why runs ended, and how many.
    """
    of_runs: dict[str, list[int]] = {"both": [], "one": [], "none": []}
    accurate, complete = 0, list[float | None]()
    there = [run.run for run in runs if run.run is not None]
    for run in there:
        last = run.dataset.isel(time=-1)
        for name, count in count_classes(last["feature_learned"].to_numpy()).items():
            of_runs[name].append(count)
        accurate += float(last["training_accuracy"]) == 1.0
        learned = run.dataset["feature_learned"].to_numpy() >= 1.0
        complete.append(unchanged_since(run.dataset["time"].to_numpy(), learned) if learned[-1].all() else None)
    trials = [sum(counts) for counts in zip(*of_runs.values(), strict=True)]
    counts: dict[str, Any] = {
        "classes": {name: sum(successes) for name, successes in of_runs.items()},
        "accurate_runs": accurate,
        "runs": len(there),
        "lost": len(runs) - len(there),
        "complete_since": complete,
        "ends": dict(Counter(run.why for run in runs)),
    }
    return counts | {name: list(clustered_interval(successes, trials)) if there else None for name, successes in of_runs.items()}
