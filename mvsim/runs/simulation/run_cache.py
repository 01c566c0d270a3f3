"""Runs that verification and sweeps make, kept in a folder so that none is made twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mvsim.base.echo import path_text, shortened
from mvsim.base.errors import DivergedError, MvsimError, StalledError, UsageError
from mvsim.multi_view.parameters import Parameters
from mvsim.runs.run import Run, open_run
from mvsim.runs.simulation.entry import simulate
from mvsim.runs.simulation.identity import run_name, what_differs
from mvsim.runs.simulation.progress import Progress
from mvsim.version import __version__


def kept_run(
    folder: Path,
    parameters: Parameters,
    method: str,
    seed: int,
    threads: int | None = None,
    progress: Progress | None = None,
    until: float | None = None,
    **options: Any,
) -> Run:
    """Return the run with these parameters: the one in the folder if it is whole, else made now.

    One that was interrupted, or ended before the time ``until``, is taken up again. A file that cannot be read, or was made by
    another version, is left where it is, and the error says what to do.
    """
    path = folder / run_name(parameters, method, seed, options)
    if path.exists():
        run = open_run(path)  # its content is checked against its hash
        if other := what_differs(run.provenance, parameters, method, seed, options):
            raise UsageError(f"{path_text(path)}: holds another run than its name says: other {other}; move it away")
        if run.provenance["version"] != __version__:
            maker = shortened(run.provenance["version"])
            raise UsageError(f"{path_text(path)}: was made by mvsim {maker}, this is {__version__}; move it away, and it is made again")
        if run.status == "finished" and (until is None or float(run.dataset["final_time"]) >= until * (1.0 - 1e-12)):
            return run
    if until is not None:
        options = {**options, "t_end": until}
    return simulate(parameters, method, seed, out=path, resume=True, threads=threads, progress=progress, **options)


def try_kept_run(folder: Path, parameters: Parameters, method: str, seed: int, **options: Any) -> Run | MvsimError:
    """Return `kept_run`, or its error if the run diverged or stalled: such a run decides no theorem and must not stop the others."""
    try:
        return kept_run(folder, parameters, method, seed, **options)
    except (DivergedError, StalledError) as error:
        return error
