"""``mvsim simulate``: one run, from options to a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter, Token

import mvsim
from mvsim.cli.fields import given_fields, read_integer, read_value, with_fields
from mvsim.cli.progress import progress_on
from mvsim.echo import echo, escaped
from mvsim.errors import UsageError
from mvsim.integrators import INTEGRATORS
from mvsim.objectives import OBJECTIVES
from mvsim.parameters import Parameters
from mvsim.recording.feature_test import count_classes

FLAG = Parameter(negative="", show_default=False)


def _integer(kind: type, tokens: Sequence[Token]) -> int:
    return read_integer(tokens[0].value)


INTEGER = Parameter(converter=_integer)


@with_fields(Parameters, "Parameters (Definitions 4.1 and 4.2, Assumption 4.3)")
def simulate(
    *,
    method: Annotated[str, Parameter(help="Training loss.", choices=tuple(OBJECTIVES))] = "midpoint",
    seed: Annotated[int, INTEGER, Parameter(help="Fixes data, initial weights and everything else that is drawn.")] = 0,
    out: Annotated[Path | None, Parameter(help="Run file; default mvsim-k<k>-<method>-seed<seed>.nc here.")] = None,
    integrator: Annotated[str, Parameter(help="How time is stepped.", choices=tuple(INTEGRATORS))] = "flow",
    eta: Annotated[float | None, Parameter(help="gd: step size; by default chosen for these parameters.")] = None,
    rtol: Annotated[float | None, Parameter(help="flow: relative tolerance; default 1e-3.")] = None,
    t_end: Annotated[float | None, Parameter(help="Time to stop at (of gd, eta times steps); by default when what is measured has settled.")] = None,
    settled_factor: Annotated[float, Parameter(help="Settled is what has not changed while time grew by this factor.")] = 10.0,
    regime: Annotated[
        Literal["scaled", "literal"], Parameter(help="scaled: d chosen so that a run is short; literal: d = k^20, as Assumption 4.3 has it.")
    ] = "scaled",
    resume: Annotated[bool, FLAG, Parameter(help="Continue the run in the file, or start it if nothing was saved.")] = False,
    force: Annotated[bool, FLAG, Parameter(help="Overwrite the file.")] = False,
    config: Annotated[Path | None, Parameter(help="TOML file with any of these options; the command line wins.")] = None,
    mixing: Annotated[
        str | None,
        Parameter(help='mixup: law of lambda on [0, 1], a number or e.g. {"distribution": "beta", "args": [0.2, 0.2]}; default Beta(1, 1).'),
    ] = None,
    nodes: Annotated[int | None, INTEGER, Parameter(help="mixup: quadrature nodes for lambda.")] = None,
    pairs: Annotated[int | None, INTEGER, Parameter(help="mixup: that many sampled pairs instead of all.")] = None,
    redraw: Annotated[Literal["once", "each step"] | None, Parameter(help="mixup: when pairs are sampled.")] = None,
    backend: Annotated[Literal["auto", "numpy", "numba"], Parameter(help="Kernels to compute with.")] = "auto",
    threads: Annotated[int | None, INTEGER, Parameter(help="Threads; by default all cores. Results do not depend on it.")] = None,
    n_test: Annotated[int, INTEGER, Parameter(help="Fresh draws per class that decide which features are learned (Definition 4.5).")] = 20,
    checkpoint_seconds: Annotated[float, Parameter(help="Seconds between two saves.")] = 10.0,
    json_: Annotated[bool, FLAG, Parameter(name="--json", help="Print one JSON object instead of words.")] = False,
    quiet: Annotated[bool, FLAG, Parameter(help="No progress on stderr.")] = False,
    **fields: str | None,
) -> None:
    """Train one network and keep its trajectory in a run file.

    ``config`` has been applied before this is called (`mvsim.cli.config.apply_config`).
    """
    given = given_fields(fields)
    parameters = Parameters.literal(**given) if regime == "literal" else Parameters(**given)
    if regime == "literal" and parameters.d != parameters.k**20:
        raise UsageError(f"regime=literal, d={echo(given['d'])}: the literal regime has d = k^20; give only one of them")
    options = {"mixing": None if mixing is None else read_value("mixing", mixing), "nodes": nodes, "pairs": pairs, "redraw": redraw}
    path = out or Path(f"mvsim-k{parameters.k}-{method}-seed{seed}.nc")
    with nullcontext() if quiet else progress_on() as progress:
        run = mvsim.simulate(
            parameters,
            method=method,
            seed=seed,
            integrator=integrator,
            eta=eta,
            rtol=rtol,
            t_end=t_end,
            settled_factor=settled_factor,
            out=path,
            resume=resume,
            force=force,
            backend=backend,
            threads=threads,
            n_test=n_test,
            checkpoint_seconds=checkpoint_seconds,
            progress=progress,
            **{name: value for name, value in options.items() if value is not None},
        )
    if json_:
        print(json.dumps(outcome(run), allow_nan=False))
    else:
        print(*map(escaped, run.summary.splitlines()), f"saved in {escaped(str(path))}", sep="\n")


def outcome(run: mvsim.Run) -> dict[str, Any]:
    """Return what became of a run, for machines: where it ended, what was learned, and in which regime.

    ``classes`` counts those with both, exactly one and no feature learned (Definition 4.5).
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
