"""``mvsim simulate``: one run, from options to a file."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

import mvsim
from mvsim.archive import ensure_writable, read_provenance, read_run
from mvsim.cli.fields import given_for, text_flags, typed_flags, with_flags
from mvsim.cli.options import FLAG, Json, Quiet
from mvsim.cli.progress import progress_on
from mvsim.cli.remarks import note
from mvsim.cli.words import TIMING_NOTICE, bytes_text, deviation_lines, print_wrapped, seconds_text, span_text
from mvsim.echo import escaped, path_text
from mvsim.errors import UsageError
from mvsim.parameters import Parameters
from mvsim.recording.feature_test import count_classes
from mvsim.simulation.all_options import DEFAULTS, AllRunOptions
from mvsim.simulation.entry import requested
from mvsim.simulation.estimate import estimate_run, nothing_left
from mvsim.simulation.identity import readable_name
from mvsim.simulation.options import RunOptions
from mvsim.simulation.progress import Silent
from mvsim.simulation.request import Request
from mvsim.sweep.regime import parameters_of

NO_RUN = "is no run that could be continued"
"""Of a file that is there where a run is to be saved."""


@with_flags(typed_flags(AllRunOptions), text_flags(Parameters, "Parameters (Definitions 4.1, 4.2 and 3.1, Assumption 4.3)"))
def simulate(
    *,
    out: Annotated[
        Path | None, Parameter(help="Run file; by default one here, named after k, method, seed and what else is not the default, except --t-end.")
    ] = None,
    config: Annotated[Path | None, Parameter(help="TOML file with any of these options; the command line takes precedence.")] = None,
    r0: Annotated[float | None, Parameter(help="In the place of d: the largest initial correlation is about this part of the threshold.")] = None,
    regime: Annotated[
        Literal["scaled", "literal"], Parameter(help="scaled: d chosen so that a run is short; literal: d = k^20, as Assumption 4.3 has it.")
    ] = "scaled",
    dry_run: Annotated[bool, FLAG, Parameter(help="Predict memory and time, with one gradient timed here and now, and simulate nothing.")] = False,
    verbose: Annotated[bool, FLAG, Parameter(name=["--verbose", "-v"], help="List how the run departs from what the theorems assume.")] = False,
    json_: Json = False,
    quiet: Quiet = False,
    **given: Any,
) -> None:
    """Train one network and keep its trajectory in a run file.

    ``config`` has been applied before this is called (`mvsim.cli.config.apply_config`).
    """
    fields, options = given_for(Parameters, given), given_for(AllRunOptions, given)
    parameters = parameters_of(fields, r0, regime)
    path = out or default_path(parameters, options)
    if dry_run:
        _predict(requested(parameters, None, Silent(), out=path, **options), path, json_, quiet)
        return
    _note_coarse_steps(options.get("rtol"))
    before = _last_written(path)
    if options.get("resume") and not options.get("force") and before is None and not quiet:
        AllRunOptions(out=path, **options)  # what is refused is refused in one line
        note(f"{path_text(path)}: nothing was saved there, so the run starts from the beginning")
    if path.is_file() and not options.get("resume") and not options.get("force") and not _is_run(path):
        AllRunOptions(out=path, **options)
        raise UsageError(f"{path_text(path)}: exists already and {NO_RUN}; overwrite it with --force, or choose another file")
    with nullcontext() if quiet else progress_on() as progress:
        run = mvsim.simulate(parameters, out=path, progress=progress, **options)
    if json_:
        print(json.dumps(outcome(run), allow_nan=False))
    else:
        what = "had finished and is left as it is:" if _last_written(path) == before else "saved in"
        print_wrapped([*run.summary.splitlines(), *(deviation_lines(run.regime) if verbose else []), f"{what} {escaped(str(path))}"])


def _note_coarse_steps(rtol: float | None) -> None:
    """Say of a relative tolerance that the checks of a run tell nothing with it."""
    if rtol is None:
        return
    from mvsim.verification.statements.gradient_flow import COARSEST  # all verdicts come with it, which a run does not need

    if rtol > COARSEST:
        note(f"rtol={rtol:g}: `mvsim verify` cannot tell so coarse a run from a changed one; take {COARSEST:g} or less to have it judged")


def _last_written(path: Path) -> int | None:
    """Return when a file was written last, None if there is none."""
    return path.stat().st_mtime_ns if path.exists() else None


def default_path(parameters: Parameters, options: dict[str, Any]) -> Path:
    """Return where a run goes if nobody says."""
    asked = DEFAULTS.model_copy(update=options)
    rest = {name: value for name, value in options.items() if name not in ("method", "seed", "resume", "force")}
    return Path(readable_name(parameters, asked.method, asked.seed, rest))


def outcome(run: mvsim.Run) -> dict[str, Any]:
    """Return what became of a run, for machines: where it ended, what was learned, and in which regime.

    ``classes`` counts those with all features learned, with some and with none (Definition 4.5).
    """
    last = run.dataset.isel(time=-1)
    return {
        "file": str(run.path),
        "status": run.status,
        "settled": run.settled,
        "method": run.method,
        "seed": run.seed,
        "parameters": run.provenance["parameters"],
        "integrator": run.provenance["integrator"],
        "regime": run.provenance["regime"],
        "step": int(last["step"]),
        "time": float(last["time"]),
        "loss": float(last["loss"]),
        "training_accuracy": float(last["training_accuracy"]),
        "classes": count_classes(last["feature_learned"].to_numpy()),
        "wall_seconds": run.provenance["wall_seconds"],
    }


def _predict(request: Request, path: Path, as_json: bool, quiet: bool) -> None:
    """Print what a run would take, refusing what the run would refuse; that a file is there which it would not overwrite is only told."""
    asked = request.options
    ensure_writable(path, force=asked.force or not asked.resume, resume=asked.resume)
    if asked.resume and path.exists() and nothing_left(request, read_run(path)):
        if as_json:
            print(json.dumps({"file": str(path), "exists": True, "finished": True, "gradients": [0, 0], "seconds": [0.0, 0.0]}))
        else:
            goes_on = "A later --t-end, or a larger --settled-factor, goes on with it"
            print_wrapped([f"{escaped(str(path))} has finished: nothing would be done. {goes_on}."])
        return
    if not quiet:
        note(TIMING_NOTICE)
    estimate = estimate_run(request)
    if as_json:
        print(json.dumps({"file": str(path), "exists": path.exists(), "finished": False, **asdict(estimate)}))
    else:
        _print_estimate(estimate, path, asked)


def _print_estimate(estimate: mvsim.Estimate, path: Path, asked: RunOptions) -> None:
    """Print what a run would take."""
    available = "" if estimate.available_bytes is None else f" of {bytes_text(estimate.available_bytes)} available"
    least, most = estimate.gradients
    count = f"{least}" if least == most else f"{least} to {most}"
    goes_on = asked.resume and path.exists()
    print_wrapped(
        [
            f"This run would take {span_text(estimate.seconds)}{' from its start; what is saved of it is not subtracted' if goes_on else ''}.",
            f"  Memory: {bytes_text(estimate.memory_bytes)}{available}.",
            f"  One gradient takes {seconds_text(estimate.gradient_seconds)}, measured now; {count} are expected.",
            f"  Computed by: {estimate.algorithm}.",
            f"  File: {escaped(str(path))}{_what_becomes_of(path, asked)}.",
        ]
    )


def _what_becomes_of(path: Path, asked: RunOptions) -> str:
    """Say what would become of the file that is there, in brackets; nothing if there is none."""
    if not path.exists():
        return ""
    if asked.resume:
        return " (goes on from what is saved)"
    if asked.force:
        return " (exists already, and would be overwritten)"
    return f" (exists already{': --resume continues it,' if _is_run(path) else f' and {NO_RUN}:'} --force overwrites it)"


def _is_run(path: Path) -> bool:
    """Whether a file can be read as a run."""
    try:
        read_provenance(path)
    except UsageError:
        return False
    return True
