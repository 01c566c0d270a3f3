"""``mvsim simulate``: one run, from options to a file, or with ``--dry-run`` what it would take."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

import mvsim
from mvsim.base.echo import bytes_text, escaped, path_text
from mvsim.base.limits import limit_memory
from mvsim.cli.options import FLAG, Json, Memory, Quiet, given_for, text_flags, typed_flags, with_flags
from mvsim.cli.output import TIMING_NOTICE, deviation_lines, note, print_wrapped, seconds_text, span_text
from mvsim.cli.progress import WorkShown, progress_on
from mvsim.flow import INTEGRATORS
from mvsim.multi_view.parameters import Parameters
from mvsim.runs.archive import NO_RUN, ensure_writable, is_run, read_run
from mvsim.runs.recording.fresh_draws import count_classes
from mvsim.runs.simulation.auto import AUTO, integrator_of
from mvsim.runs.simulation.identity import readable_name
from mvsim.runs.simulation.options import DEFAULTS, RunOptions
from mvsim.runs.simulation.progress import Silent
from mvsim.sweeps.regime import parameters_of


@with_flags(typed_flags(RunOptions), text_flags(Parameters, "Parameters (Definitions 4.1, 4.2 and 3.1, Assumption 4.3)"))
def simulate(
    *,
    out: Annotated[
        Path | None, Parameter(help="Run file; by default one here, named after k, method, seed and what else is not the default, except --t-end.")
    ] = None,
    config: Annotated[Path | None, Parameter(help="TOML file with any of these options; the command line takes precedence.")] = None,
    r0: Annotated[float | None, Parameter(help="Instead of d: the largest initial correlation is about this part of the threshold.")] = None,
    regime: Annotated[
        Literal["scaled", "literal"],
        Parameter(help="scaled: the default d, at which ERM is predicted to learn both features in at most 2 % of the classes; literal: d = k^20."),
    ] = "scaled",
    dry_run: Annotated[bool, FLAG, Parameter(help="Predict memory and time, with one gradient timed here and now, and simulate nothing.")] = False,
    verbose: Annotated[bool, FLAG, Parameter(name=["--verbose", "-v"], help="List how the run departs from what the theorems assume.")] = False,
    memory: Memory = None,
    json_: Json = False,
    quiet: Quiet = False,
    **arguments: Any,
) -> None:
    """Train one network and keep its trajectory in a run file.

    ``config`` has been applied before this is called (`mvsim.cli.config.apply_config`).
    """
    limit_memory(memory)
    fields, options = given_for(Parameters, arguments), given_for(RunOptions, arguments)
    parameters = parameters_of(fields, r0, regime)
    path = out or default_path(parameters, options)
    checked = RunOptions(out=path, **options)
    checked.sums_all_pairs  # noqa: B018 - what is refused is refused in one line, before any other is printed
    _note_coarse_steps(checked.rtol, integrator_of(parameters, checked))
    if dry_run:
        _predict(parameters, options, path, json_, quiet, verbose)
        return
    before = _last_written(path)
    if options.get("resume") and not options.get("force") and before is None and not quiet:
        note(f"{path_text(path)}: nothing was saved there, so the run starts from the beginning")
    with nullcontext() if quiet else progress_on() as progress:
        try:
            run = mvsim.simulate(parameters, out=path, progress=progress, **options)
        except KeyboardInterrupt:
            if _last_written(path) == before:
                raise KeyboardInterrupt(f"interrupted before anything was saved; nothing was written to {path_text(path)}") from None
            raise
    if json_:
        print(json.dumps(outcome(run), allow_nan=False))
    else:
        what = "had finished and is left as it is:" if _last_written(path) == before else "saved in"
        print_wrapped([*run.summary.splitlines(), *(deviation_lines(run.regime) if verbose else []), f"{what} {escaped(str(path))}"])


def _note_coarse_steps(rtol: float | None, integrator: str) -> None:
    """Warn if rtol is too coarse for a run to be judged."""
    if rtol is None:
        return
    from mvsim.papers.on_runs import run_judges  # here, because it loads all verdicts

    coarsest = min(judge.coarsest_rtol for judge in run_judges()) / INTEGRATORS[integrator].as_flow
    if rtol > coarsest:
        note(f"rtol={rtol:g}: `mvsim verify` cannot tell so coarse a run from a changed one; take {coarsest:g} or less to have it judged")


def _last_written(path: Path) -> int | None:
    return path.stat().st_mtime_ns if path.exists() else None


def default_path(parameters: Parameters, options: dict[str, Any]) -> Path:
    """Return where a run goes without --out."""
    all_options = DEFAULTS.model_copy(update=options)
    rest = {name: value for name, value in options.items() if name not in ("method", "seed", "resume", "force")}
    return Path(readable_name(parameters, all_options.method, all_options.seed, rest))


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


def _predict(parameters: Parameters, options: Mapping[str, Any], path: Path, as_json: bool, quiet: bool, verbose: bool) -> None:
    """Print what a run would take, and refuse what it would refuse; but a file that it would not overwrite is only told of."""
    from mvsim.runs.simulation.entry import requested
    from mvsim.runs.simulation.estimate import estimate_run, nothing_left
    from mvsim.runs.simulation.plan import plan_of

    request = requested(parameters, None, Silent(), out=path, **options)
    run_options = request.options
    ensure_writable(path, force=run_options.force or not run_options.resume, resume=run_options.resume)
    saved = read_run(path) if run_options.resume and path.exists() else None
    if saved is not None and nothing_left(request, saved):
        if as_json:
            print(json.dumps({"file": str(path), "exists": True, "finished": True, "gradients": [0, 0], "seconds": [0.0, 0.0]}))
        else:
            goes_on = "A later --t-end, or a larger --settled-factor, goes on with it"
            print_wrapped([f"{escaped(str(path))} has finished: nothing would be done. {goes_on}."])
        return
    with WorkShown(quiet) as shown:
        shown.begin(TIMING_NOTICE)
        estimate = estimate_run(request, saved)
    if as_json:
        print(json.dumps({"file": str(path), "exists": path.exists(), "finished": False, **asdict(estimate)}))
    else:
        _print_estimate(estimate, path, run_options)
        print_wrapped(deviation_lines(plan_of(request, saved).regime) if verbose else [])


def _print_estimate(estimate: mvsim.Estimate, path: Path, run_options: RunOptions) -> None:
    available = "" if estimate.available_bytes is None else f" of {bytes_text(estimate.available_bytes)} available"
    least, most = estimate.gradients
    count = f"{least:,}" if least == most else f"{_two_digits(least):,} to {_two_digits(most):,}"
    start = " from its start; what is saved of it is not subtracted" if run_options.resume and path.exists() else ""
    print_wrapped(
        [
            f"This run would take {span_text(estimate.seconds)} on an idle machine{start}.",
            f"  Memory: {bytes_text(estimate.memory_bytes)}{available}.",
            f"  Gradients: {count} expected, {seconds_text(estimate.gradient_seconds)} each (measured now).",
            f"  Computed by: {estimate.algorithm}.",
            f"  Integrator: {estimate.integrator}{', chosen by auto' if run_options.integrator == AUTO else ''}.",
            f"  File: {escaped(str(path))}{_what_becomes_of(path, run_options)}.",
        ]
    )


def _two_digits(count: int) -> int:
    """Return a count with two digits: the estimate is no better."""
    return int(float(f"{count:.2g}"))


def _what_becomes_of(path: Path, run_options: RunOptions) -> str:
    """Say what would become of the file that is there, in brackets; nothing if there is none."""
    if not path.exists():
        return ""
    if run_options.resume:
        return " (goes on from what is saved)"
    if run_options.force:
        return " (exists already, and would be overwritten)"
    return f" (exists already{': --resume continues it,' if is_run(path) else f' and {NO_RUN}:'} --force overwrites it)"
