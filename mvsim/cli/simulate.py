"""``mvsim simulate``: one run, from options to a file."""

from __future__ import annotations

import json
import shutil
import textwrap
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

import mvsim
from mvsim.cli.fields import given_for, text_flags, typed_flags, with_flags
from mvsim.cli.options import Json, Quiet
from mvsim.cli.progress import progress_on
from mvsim.echo import echo, escaped
from mvsim.errors import UsageError
from mvsim.parameters import Parameters
from mvsim.parameters.models import NETWORK
from mvsim.recording.feature_test import count_classes
from mvsim.simulation.all_options import DEFAULTS, AllRunOptions

WIDTH = 150
"""Columns of the summary where there is no terminal to ask, and at most."""


@with_flags(typed_flags(AllRunOptions), text_flags(Parameters, "Parameters (Definitions 4.1, 4.2 and 3.1, Assumption 4.3)"))
def simulate(
    *,
    out: Annotated[
        Path | None, Parameter(help="Run file; default mvsim-k<k>-<method>-seed<seed>.nc here, of a linear model mvsim-linear-k<k>-...")
    ] = None,
    config: Annotated[Path | None, Parameter(help="TOML file with any of these options; the command line wins.")] = None,
    regime: Annotated[
        Literal["scaled", "literal"], Parameter(help="scaled: d chosen so that a run is short; literal: d = k^20, as Assumption 4.3 has it.")
    ] = "scaled",
    json_: Json = False,
    quiet: Quiet = False,
    **given: Any,
) -> None:
    """Train one network and keep its trajectory in a run file.

    ``config`` has been applied before this is called (`mvsim.cli.config.apply_config`).
    """
    fields, options = given_for(Parameters, given), given_for(AllRunOptions, given)
    parameters = Parameters.literal(**fields) if regime == "literal" else Parameters(**fields)
    if regime == "literal" and parameters.d != parameters.k**20:
        raise UsageError(f"regime=literal, d={echo(fields['d'])}: the literal regime has d = k^20; give only one of them")
    named = DEFAULTS.model_copy(update=options)
    model = "" if parameters.model == NETWORK.name else f"{parameters.model}-"
    path = out or Path(f"mvsim-{model}k{parameters.k}-{named.method}-seed{named.seed}.nc")
    with nullcontext() if quiet else progress_on() as progress:
        run = mvsim.simulate(parameters, out=path, progress=progress, **options)
    if json_:
        print(json.dumps(outcome(run), allow_nan=False))
    else:
        width = min(shutil.get_terminal_size((WIDTH, 24)).columns, WIDTH)
        lines = [part for line in run.summary.splitlines() for part in textwrap.wrap(escaped(line), max(width, 40), subsequent_indent="    ")]
        print(*lines, f"saved in {escaped(str(path))}", sep="\n")


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
