"""``mvsim simulate --dry-run``: what a run would take, and what would become of the file that is there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import mvsim
from mvsim.base.echo import escaped
from mvsim.cli.remarks import note
from mvsim.cli.words import TIMING_NOTICE, bytes_text, deviation_lines, print_wrapped, seconds_text, span_text
from mvsim.multi_view.parameters import Parameters
from mvsim.runs.archive import NO_RUN, ensure_writable, is_run, read_run
from mvsim.runs.simulation.entry import requested
from mvsim.runs.simulation.estimate import estimate_run, nothing_left
from mvsim.runs.simulation.options import RunOptions
from mvsim.runs.simulation.plan import plan_of
from mvsim.runs.simulation.progress import Silent


def predict(parameters: Parameters, options: Mapping[str, Any], path: Path, as_json: bool, quiet: bool, verbose: bool) -> None:
    """Print what a run would take, and refuse what it would refuse; but a file that it would not overwrite is only told of.

    With ``verbose``, say how the run would depart from what the theorems assume.
    """
    request = requested(parameters, None, Silent(), out=path, **options)
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
        print_wrapped(deviation_lines(plan_of(request, None).regime) if verbose else [])


def _print_estimate(estimate: mvsim.Estimate, path: Path, asked: RunOptions) -> None:
    """Print what a run would take."""
    available = "" if estimate.available_bytes is None else f" of {bytes_text(estimate.available_bytes)} available"
    least, most = estimate.gradients
    count = f"{least:,}" if least == most else f"{_two_digits(least):,} to {_two_digits(most):,}"
    goes_on = asked.resume and path.exists()
    print_wrapped(
        [
            f"This run would take {span_text(estimate.seconds)}{' from its start; what is saved of it is not subtracted' if goes_on else ''}.",
            f"  Memory: {bytes_text(estimate.memory_bytes)}{available}.",
            f"  Gradients: {count} expected, {seconds_text(estimate.gradient_seconds)} each (measured now).",
            f"  Computed by: {estimate.algorithm}.",
            f"  File: {escaped(str(path))}{_what_becomes_of(path, asked)}.",
        ]
    )


def _two_digits(count: int) -> int:
    """Return a count with two digits: more of them nobody knows."""
    return int(float(f"{count:.2g}"))


def _what_becomes_of(path: Path, asked: RunOptions) -> str:
    """Say what would become of the file that is there, in brackets; nothing if there is none."""
    if not path.exists():
        return ""
    if asked.resume:
        return " (goes on from what is saved)"
    if asked.force:
        return " (exists already, and would be overwritten)"
    return f" (exists already{': --resume continues it,' if is_run(path) else f' and {NO_RUN}:'} --force overwrites it)"
