"""``mvsim sweep``: the runs of a study."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

from mvsim.base.echo import escaped, path_text, quantity
from mvsim.base.errors import UsageError
from mvsim.base.limits import available_bytes, limit_memory
from mvsim.base.options import choices_of
from mvsim.cli.config import read_toml
from mvsim.cli.dispatch import DONE, INCONCLUSIVE
from mvsim.cli.options import FLAG, INTEGER, Flags, Json, Memory, Quiet, with_flags
from mvsim.cli.output import TIMING_NOTICE
from mvsim.cli.progress import WorkShown, duration
from mvsim.cli.sweep_progress import SweepDisplay, summary
from mvsim.multi_view.parameters import Parameters
from mvsim.runs.simulation.cost import RANGE
from mvsim.runs.simulation.options import RunOptions
from mvsim.sweeps.cell import NAMES, Cell
from mvsim.sweeps.engine import Engine, Serial
from mvsim.sweeps.estimate import Pace, bytes_of
from mvsim.sweeps.folder import Standing, SweepFolder
from mvsim.sweeps.regime import R0
from mvsim.sweeps.study import Study
from mvsim.sweeps.sweep import CHECKPOINT_SECONDS, jobs_of, work_on
from mvsim.sweeps.tally import Tally
from mvsim.sweeps.values import canonical_text

FAILED = 1

Standings = Sequence[tuple[Cell, Standing]]


def value_flags() -> Flags:
    """Return a flag for each name that a study can give values for; values are passed on as text."""
    group = Parameter(group=Group("Values: one, several as 6,10, integers as 0:20, or a list in JSON", sort_key=1))
    flags: dict[str, tuple[Any, Any]] = {}
    for name in NAMES:
        field = Parameters.model_fields.get(name) or RunOptions.model_fields.get(name)
        choices = choices_of(field) if field is not None else None
        about = field.description if field is not None else "stands for the d at which sqrt(2 ln m / d) / rho has this value"
        words = f"{about} ({', '.join(choices)})" if choices else about
        flag = name if name in Parameters.model_fields or name == R0 else name.replace("_", "-")
        flags[name] = (Annotated[str | None, Parameter(name=f"--{flag}", help=words, metavar="VALUES"), group], None)
    return flags


@with_flags(value_flags())
def sweep(
    study: Annotated[
        Path | None, Parameter(name="STUDY", help="TOML file with values for names, zip and regime; the command line takes precedence.")
    ] = None,
    /,
    *,
    out: Annotated[Path | None, Parameter(help="Folder of the runs; by default named after the study file, here.")] = None,
    zip_: Annotated[
        tuple[str, ...],
        Parameter(name="--zip", negative="", show_default=False, help="Names, as k,d, whose values go side by side; all others are crossed."),
    ] = (),
    regime: Annotated[Literal["scaled", "literal"] | None, Parameter(help="scaled: the default d of each k (default); literal: d = k^20.")] = None,
    dry_run: Annotated[bool, FLAG, Parameter(help="List the cells with predicted time and memory, and make nothing.")] = False,
    cells: Annotated[bool, FLAG, Parameter(help="Print how many cells there are, for the array of a batch system, and make nothing.")] = False,
    cell: Annotated[int | None, INTEGER, Parameter(help="Make this cell only, in this process: a task of an array.")] = None,
    engine: Annotated[Literal["dask", "serial"], Parameter(help="dask: runs side by side; serial: one after another, in this process.")] = "dask",
    workers: Annotated[
        int | None, INTEGER, Parameter(help="Processes that run side by side; by default one for each core, as far as memory allows.")
    ] = None,
    scheduler: Annotated[str | None, Parameter(help="Address of a Dask scheduler with workers of its own, as tcp://HOST:8786.")] = None,
    threads: Annotated[int | None, INTEGER, Parameter(help="Of --cell and --engine serial: threads of a run; by default all cores.")] = None,
    retry: Annotated[bool, FLAG, Parameter(help="Run failed cells again.")] = False,
    until: Annotated[float | None, Parameter(help="Runs that ended before they settled go on to this time.")] = None,
    extend: Annotated[bool, FLAG, Parameter(help="Add cells to the study that the folder holds, or make some of its cells.")] = False,
    checkpoint_seconds: Annotated[float, Parameter(help="Seconds between two saves of a run.")] = CHECKPOINT_SECONDS,
    memory: Memory = None,
    json_: Json = False,
    quiet: Quiet = False,
    **arguments: str,
) -> int:
    """Make the runs of a study in parallel; runs that exist are kept.

    The folder is the only record: the same command, repeated after whatever ended it, makes what is not there yet.
    """
    limit_memory(memory)
    whole = _study(study, arguments, zip_, regime)
    if cells:
        print(len(whole.cells))
        return DONE
    place = _place(out, study)
    folder = SweepFolder.planned(place, whole, extend)
    which: dict[str, Any] = {"retry": retry, "until": until, "checkpoint_seconds": checkpoint_seconds, "only": None if cell is None else [cell]}
    if dry_run:
        if engine == "serial" or any(option is not None for option in (workers, scheduler, threads, cell)):
            _engine(engine, workers, scheduler, threads, cell)  # what the real command refuses is refused
        stands = [folder.standing(one) for one in whole.cells]
        due = {job.cell.index for job in jobs_of(folder, stands, **which)}
        planned = [(one, standing) for one, standing in zip(whole.cells, stands, strict=True) if cell in (None, one.index)]
        _print_plan(folder, planned, due, json_, quiet)
        return DONE
    chosen = _engine(engine, workers, scheduler, threads, cell)
    with nullcontext() if quiet else SweepDisplay() as display:
        tally = work_on(folder, chosen, display, **which)
    standings = [(one, folder.standing(one)) for one in whole.cells if cell in (None, one.index)]
    if json_:
        states = {state: tally.counts[state] for state in ("done", "failed", "unfinished", "missing")}
        undecided = tally.undecided("done") + tally.undecided("failed")
        print(json.dumps({"folder": str(place), "cells": tally.cells, **states, "undecided": undecided}))
    else:
        print(_ending(folder, tally, standings, cell is not None))
    return _exit_code(standings)


def _study(file: Path | None, arguments: dict[str, str], zips: Sequence[str], regime: str | None) -> Study:
    """Return the study that a file and the command line describe together."""
    values: dict[str, Any] = {}
    groups: Any = []
    if file is not None:
        values = {name.replace("-", "_"): value for name, value in read_toml(file, "study").items()}
        groups, regime = values.pop("zip", []), regime or values.pop("regime", None)
        values.pop("regime", None)
        if isinstance(groups, list) and all(isinstance(name, str) for name in groups):
            groups = [groups] if groups else []
        if not isinstance(groups, list) or not all(isinstance(group, list) and all(isinstance(name, str) for name in group) for group in groups):
            raise UsageError(f'{path_text(file)}: zip must be a list of names, as ["k", "d"], or a list of such lists')
    groups = [[name.strip() for name in group.split(",")] for group in zips] or groups
    if not values and not arguments:
        raise UsageError("nothing to sweep: give a study file, or values as --k 6,10 --seed 0:20")
    try:
        return Study.of({**values, **arguments}, groups, regime or "scaled")
    except UsageError as error:
        raise UsageError(str(error) if file is None else f"{path_text(file)}: {error}") from None


def _place(out: Path | None, file: Path | None) -> Path:
    if out is not None:
        return out
    if file is None:
        raise UsageError("out: is required without a study file; give the folder of the runs, as --out DIR")
    return Path(file.stem)


def _engine(name: str, workers: int | None, scheduler: str | None, threads: int | None, cell: int | None) -> Engine:
    if cell is not None or name == "serial":
        for option, value in (("workers", workers), ("scheduler", scheduler)):
            if value is not None:
                raise UsageError(f"{option}={value}: is for --engine dask without --cell; leave it out")
        return Serial(threads)
    if threads is not None:
        raise UsageError(f"threads={threads}: is for --cell and --engine serial; side by side each run has one thread")
    from mvsim.sweeps.dask_engine import Dask

    return Dask(scheduler, workers, otherwise="--engine serial")


def _print_plan(folder: SweepFolder, standings: Standings, due: Collection[int], as_json: bool, quiet: bool) -> None:
    """Print what would be done of the cells that are asked for; those that are due have these numbers."""
    with WorkShown(quiet) as shown:
        shown.begin(TIMING_NOTICE)
        pace = Pace(folder.study.cells)
    rows = [(cell, standing, pace.seconds_of(cell), bytes_of(cell)) for cell, standing in standings]
    free = available_bytes()
    if as_json:
        print(json.dumps([_plan_row(*row, free) | {"to_do": row[0].index in due} for row in rows]))
        return
    width = max(len(cell.label) for cell, *_ in rows)
    print(escaped(f"in {folder.path}{_common(folder.study)}"))
    print(f"{'cell':>6}  {'values':<{width}}  {'state':<10}  {'integrator':<10}  {'about':>12}  memory")
    for cell, standing, seconds, size in rows:
        stepped_by = standing.integrator or cell.integrator
        line = f"{cell.index:>6}  {cell.label:<{width}}  {standing.state:<10}  {stepped_by:<10}  {duration(seconds):>12}  {size / 2**20:.0f} MiB"
        remark = _hindrance(standing, size, free) or ("goes on" if standing.state == "done" and cell.index in due else "")
        print(escaped(f"{line}  {remark}" if remark else line))
    left = [seconds for cell, _, seconds, _ in rows if cell.index in due]
    least, likely, most = (duration(factor * sum(left)) for factor in (1.0 / RANGE, 1.0, RANGE))
    print(f"{quantity(len(rows), 'cell')}, {len(left)} to do, about {likely} on one thread in all ({least} to {most}), on an idle machine")


def _common(study: Study) -> str:
    """Say what all cells have in common: the method in any case, and what the study fixes."""
    first, swept = study.cells[0], {name for axis in study.axes for name in axis.names}
    named = {name: values[0] for name, values in {"method": (first.method,), **study.values}.items() if name not in swept}
    common = ", ".join(f"{name}={value if isinstance(value, str) else canonical_text(value)}" for name, value in named.items())
    return f", for all cells: {common}" if common else ""


def _hindrance(standing: Standing, size: int, free: int | None) -> str:
    """Say why a cell cannot be made, or could not when it was tried; nothing if nothing speaks against it."""
    if standing.state in ("missing", "unfinished") and free is not None and size > free:
        return f"needs more memory than the {free / 2**20:.0f} MiB there are here"
    return standing.message


def _plan_row(cell: Cell, standing: Standing, seconds: float, size: int, free: int | None) -> dict[str, Any]:
    about = {"cell": cell.index, "method": cell.method, **cell.swept, "file": cell.file, "state": standing.state}
    about["integrator"] = standing.integrator or cell.integrator
    about["hindrance"] = _hindrance(standing, size, free)
    return {**about, "seconds": seconds, "seconds_range": [seconds / RANGE, seconds * RANGE], "bytes": size}


def _ending(folder: SweepFolder, tally: Tally, standings: Standings, one: bool) -> str:
    """Say what has become of the cells, or of the ``one`` that was asked for, and what can be done next."""
    if one:
        return _line(*standings[0])
    lines = [f"{summary(tally)}; runs in {escaped(str(folder.path))}"]
    if tally.undecided("done"):
        lines.append("go on with runs that had not settled by --until TIME")
    blocked = [(cell, standing) for cell, standing in standings if standing.blocked]
    if blocked:
        more = f"; and {quantity(len(blocked) - 1, 'more such cell')}, which `mvsim collect` lists" if len(blocked) > 1 else ""
        lines.append(f"{_line(*blocked[0])}{more}")
    if tally.counts["failed"] > len(blocked):
        lines.append("try failed cells again with --retry; `mvsim collect` lists why they failed")
    if tally.busy:
        busy = f"{quantity(len(tally.busy), 'cell')} {'is' if len(tally.busy) == 1 else 'are'}"
        lines.append(f"{busy} in the hands of another process; repeat the command when it has ended")
    return "\n".join(lines)


def _line(cell: Cell, standing: Standing) -> str:
    """Say how a cell stands, and why."""
    return escaped(f"cell {cell.index} ({cell.label}): {standing.state}" + (f": {standing.message}" if standing.message else ""))


def _exit_code(standings: Standings) -> int:
    """Return 0 if all that was asked for is done, 1 if a cell failed, 3 if cells that failed only stalled or diverged, or others work on them."""
    if any(standing.state == "failed" and not standing.undecided for _, standing in standings):
        return FAILED
    return DONE if all(standing.state == "done" for _, standing in standings) else INCONCLUSIVE
