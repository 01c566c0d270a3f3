"""``mvsim show``: what a run file holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from mvsim.base.echo import bytes_text, path_text, quantity
from mvsim.base.errors import UsageError
from mvsim.cli.options import FLAG, Json
from mvsim.cli.output import deviation_lines, print_wrapped
from mvsim.runs.archive import revision_text
from mvsim.runs.run import Run, open_run
from mvsim.sweeps.folder import is_sweep


def show(
    file: Annotated[Path, Parameter(name="RUN", help="Run file.")],
    /,
    *,
    verbose: Annotated[
        bool, FLAG, Parameter(name=["--verbose", "-v"], help="Also list the departures from what the theorems assume, and all variables.")
    ] = False,
    json_: Json = False,
) -> None:
    """Say what a run file holds: outcome, parameters, origin."""
    if is_sweep(file):
        raise UsageError(f"{path_text(file)}: is the folder of a sweep; mvsim collect shows its runs, mvsim report what came out")
    run = open_run(file)
    if json_:
        print(json.dumps({"file": str(file), "variables": _variables(run), **run.provenance}, default=str))
        return
    print_wrapped([*run.summary.splitlines(), *(deviation_lines(run.regime) if verbose else []), "", *_facts(run, file)])
    if verbose:
        print_wrapped(["", "Variables:", *(f"  {name} {tuple(of['dims'])}: {of['meaning']}" for name, of in _variables(run).items())])


def _facts(run: Run, file: Path) -> list[str]:
    made, p = run.provenance, run.parameters
    usual = type(p)(k=p.k, model=p.model).model_dump(mode="json")
    fields = p.model_dump(mode="json")
    changed = [f"{name}={_text(value)}" for name, value in fields.items() if value != usual[name]]
    stepping = ", ".join(f"{name}={_text(value)}" for name, value in made["integrator"].items() if name != "name" and value is not None)
    options = ", ".join(f"{name}={_text(value)}" for name, value in made["options"].items() if name != "algorithm" and value is not None)
    size = f"{file.stat().st_size / 2**20:.1f} MiB" if file.stat().st_size < 2**30 else bytes_text(file.stat().st_size)
    running = "Running when it was last saved; if it was killed, it can be resumed (--resume, resume=True)."
    return [
        *([running] if run.status == "running" else []),
        f"Status: {run.status}{'' if run.settled is None else ', settled' if run.settled else ', not settled'}; "
        f"{quantity(run.dataset.sizes['time'], 'record')}, {quantity(run.dataset.sizes['snapshot'], 'saved state')}, {size}",
        "Parameters: " + ", ".join(f"{name}={_text(value)}" for name, value in fields.items()),
        "Other than the default: " + (", ".join(changed) or "none"),
        f"Integrator: {made['integrator']['name']} ({stepping})",
        f"Options: {options}",
        *_worth(run),
        f"Computed by: {made['options']['algorithm']}",
        f"Made: {made['created']} by mvsim {made['version']}, {revision_text(made)}, {made['wall_seconds']:.3g} s"
        + (f", continued {len(made['continued'])} x" if made.get("continued") else ""),
        *(f"{'Continued by' if number else 'Command'}: {command}" for number, command in enumerate(run.commands)),
    ]


def _worth(run: Run) -> list[str]:
    """Say how far the integrator vouches for escape times, if it jumps."""
    if "escape_error" not in run.dataset:
        return []
    first = (run.dataset["escape_error"] / run.dataset["escape_time"]).min("neuron")
    return (
        [f"Escape times: estimated errors {float(first.median()):.2g} (median) to {float(first.max()):.2g} of the time"]
        if first.notnull().any()
        else []
    )


def _variables(run: Run) -> dict[str, dict[str, Any]]:
    return {str(name): {"dims": list(of.dims), "meaning": str(of.attrs.get("long_name", ""))} for name, of in run.dataset.variables.items()}


def _text(value: Any) -> str:
    return json.dumps(value) if isinstance(value, dict | list) else f"{value:.6g}" if isinstance(value, float) else str(value)
