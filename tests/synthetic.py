"""A run with the shape of a real one and made-up trajectories, so that pictures are tested without simulating."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from example_run import example_run

from mvsim.runs.archive import write_run
from mvsim.runs.run import Run, open_run


def synthetic_run(method: str = "midpoint", k: int = 10, seed: int = 0, records: int = 60, **entries: object) -> Run:
    """Return a run in which each view escapes at a time of its own; under ERM the weaker view of all classes but one never does.

    ``entries`` replace entries of the provenance.
    """
    rng = np.random.default_rng(seed)
    step = np.unique(np.concatenate([[0], np.geomspace(1, 1e5, max(records - 1, 1)).astype(np.int64)])[:records])
    dataset, provenance = example_run(k=k, records=len(step), step=int(step[-1]))
    provenance |= {"method": method, "seed": seed, "status": "finished", "settled": True, "summary": "made up", **entries}
    run = Run(dataset, provenance)
    p = run.parameters

    escape = np.stack([10 ** rng.uniform(3.2, 3.8, k), 10 ** rng.uniform(4.4, 5.4, k)], axis=1)
    if method == "erm":
        escape[: k - 1, 1] = np.inf
    swap = rng.random(k) < 0.5
    escape[swap] = escape[swap, ::-1]
    start = rng.uniform(0.1, 0.3, (k, 2)) * p.rho
    final = np.where(np.isinf(escape), start, rng.uniform(10, 11, (k, 2)))
    time = 10.0 * step
    grown = 1.0 / (1.0 + (escape / np.maximum(time, 1e-9)[:, None, None]) ** 6)
    strongest = start * (final / start) ** grown
    active = strongest >= (1 if method == "erm" else 2) * p.rho / p.delta1
    done = active.max(axis=2).mean(axis=1)
    floor = 0.0 if method == "erm" else np.log(2) * (1 - 1 / k)

    views, own = ("time", "label", "view"), ("label", "neuron", "view")
    escaped = np.where(np.isinf(escape), np.nan, escape)[:, None].repeat(dataset.sizes["neuron"], axis=1)
    made_up = dataset.assign_coords(time=("time", time)).assign(
        step=("time", step),
        loss=("time", floor + (np.log(k) - floor) * (1 - 0.99 * done)),
        training_accuracy=("time", 1 / k + (1 - 1 / k) * done),
        max_correlation=(views, strongest),
        total_correlation=(views, np.where(active, strongest, 0.0)),
        active_neurons=(views, active.astype(np.int64)),
        feature_learned=(views, active.astype(float)),
        entry_time=(own, escaped),
        escape_time=(own, escaped),
        predicted_entry_time=(own, escape[:, None].repeat(dataset.sizes["neuron"], axis=1) * 1.2),
    )
    return Run(made_up, provenance)


def saved(run: Run, path: Path) -> Run:
    """Write a run to a file and read it back."""
    write_run(path, run.dataset, run.provenance)
    return open_run(path)
