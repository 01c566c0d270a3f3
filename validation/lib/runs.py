"""Folders of runs that studies keep, so that what is stopped goes on and what several need is made once."""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import mvsim
from lib.processes import use_one_thread
from lib.stamps import git
from mvsim.papers.midpoint_mixup.over_runs import followed_run
from mvsim.runs.simulation.run_cache import run_name
from mvsim.sweeps.dask_engine import Dask


def add_runs_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the folder."""
    parser.add_argument("--runs", type=Path, default=Path("mvsim-runs"), metavar="DIR", help="where runs are kept, apart for each state of the code")


def runs_of_present_code(folder: Path) -> Path:
    """Return the part of a folder for runs of mvsim as it is now: those of an earlier one must not pass for a new measurement."""
    digest = hashlib.sha256((git("rev-parse", "HEAD:mvsim") + git("diff", "HEAD", "--", "mvsim")).encode()).hexdigest()
    present = folder / f"code-{digest[:10]}"
    present.mkdir(parents=True, exist_ok=True)
    return present


def swept(folder: Path, name: str, values: Mapping[str, Any], zips: Sequence[Sequence[str]] = ()) -> mvsim.Runs:
    """Make the runs of a sweep that are not there yet, side by side, and read them.

    Parameters
    ----------
    folder : Path
        Where runs are kept; the sweep has a folder of its own in it.
    name : str
        Name of that folder. A study that is asked for more of its values later goes on in it.
    values, zips
        As for `mvsim.run_sweep`.
    """
    return mvsim.open_runs(mvsim.run_sweep(values, folder / name, zips=zips, extend=True, engine=Dask()).path)


def over_seeds(folder: Path, parameters: mvsim.Parameters, method: str, seeds: int, **options: Any) -> list[mvsim.Run | None]:
    """Return the runs of the first seeds, made side by side as one sweep, None for one that stalled or diverged.

    Parameters
    ----------
    folder : Path
        Where runs are kept.
    parameters, method, options
        Of all runs; an option that is None is not given.
    seeds : int
        How many.
    """
    given = {name: value for name, value in options.items() if value is not None}
    name = Path(run_name(parameters, method, 0, given)).stem
    made = swept(folder, f"sweep-{name}", {**parameters.model_dump(mode="json"), "method": method, "seed": f"0:{seeds}", **given})
    return [made.run(cell.index) if made.standings[cell.index].state == "done" else None for cell in made.study.cells[:seeds]]


def all_over_seeds(folder: Path, parameters: mvsim.Parameters, method: str, seeds: int, **options: Any) -> list[mvsim.Run]:
    """Return what `over_seeds` does; raise `RuntimeError` if a run is lost."""
    runs = over_seeds(folder, parameters, method, seeds, **options)
    there = [run for run in runs if run is not None]
    if len(there) < len(runs):
        raise RuntimeError(f"{method}, {parameters}: {len(runs) - len(there)} of {len(runs)} runs stalled or diverged")
    return there


def followed_side_by_side(number: str, parameters: mvsim.Parameters, seeds: int, folder: Path, follow: bool = True) -> None:
    """Make the runs of the first seeds that `midpoint_mixup.over_runs.judgements_over_seeds` judges and that are not there yet, on all cores."""
    on_all_cores(partial(_follow, number, parameters, folder, follow), range(seeds))


def _follow(number: str, parameters: mvsim.Parameters, folder: Path, follow: bool, seed: int) -> None:
    followed_run(number, parameters, seed, folder, threads=1, follow=follow)


def on_all_cores(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Return what a function, which processes can be sent, returns of each item: in as many processes as there are cores, each with one thread."""
    use_one_thread()
    with ProcessPoolExecutor(min(len(os.sched_getaffinity(0)), len(items)), multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(work, items))
