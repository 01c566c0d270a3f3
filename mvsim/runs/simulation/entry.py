"""`mvsim.simulate`."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, TypeVar

from mvsim.base.options import document
from mvsim.multi_view.data import Dataset
from mvsim.multi_view.kernels import usable_backend
from mvsim.multi_view.parameters import Parameters
from mvsim.numerics.blas_threads import one_blas_thread
from mvsim.runs.archive import ensure_writable, lock_run, read_run
from mvsim.runs.run import Run
from mvsim.runs.simulation.cost import check_memory
from mvsim.runs.simulation.estimate import Estimate, estimate_run
from mvsim.runs.simulation.options import DEFAULTS, RunOptions
from mvsim.runs.simulation.progress import Progress, Silent
from mvsim.runs.simulation.request import Request
from mvsim.runs.simulation.session import Session

Function = TypeVar("Function", bound=Callable[..., Any])


def show_options(function: Function) -> Function:
    """Show the fields of `RunOptions` in the signature and the documentation of a function that takes them as ``**options``."""
    signature = inspect.signature(function, eval_str=True)
    own = [argument for argument in signature.parameters.values() if argument.kind is not argument.VAR_KEYWORD]
    shown = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.annotation)
        for name, field in RunOptions.model_fields.items()
        if name not in signature.parameters
    ]
    function.__signature__ = signature.replace(parameters=[*own, *shown])  # type: ignore[attr-defined]
    return document(RunOptions.model_fields)(function)


def requested(parameters: Parameters, data: Dataset | None, progress: Progress, **options: Any) -> Request:
    """Return what is asked for, checked, if it fits in memory."""
    run_options = RunOptions(**options)
    request = Request(parameters, run_options, data, progress)
    sized = parameters if data is None else data.sized(parameters)
    check_memory(sized, run_options.sums_all_pairs, usable_backend(run_options.backend), run_options.n_test, run_options.integrator)
    return request


@show_options
def estimate(
    parameters: Parameters,
    method: str = DEFAULTS.method,
    seed: int = DEFAULTS.seed,
    *,
    data: Dataset | None = None,
    **options: Any,
) -> Estimate:
    """Predict what `simulate` with the same arguments will take: memory, time of a gradient, measured here and now, and a range for the whole run.

    Parameters
    ----------
    parameters : Parameters
        The problem.
    {options}
    data : Dataset, optional
        Other training points.

    Returns
    -------
    Estimate
        Memory in bytes, the time of one gradient in seconds, and a range, from least to most, for the gradients and the seconds of the whole run.

    Raises
    ------
    UsageError
        If an argument is out of its domain, or the problem does not fit in memory.
    """
    return estimate_run(requested(parameters, data, Silent(), method=method, seed=seed, **options))


@show_options
def simulate(
    parameters: Parameters,
    method: str = DEFAULTS.method,
    seed: int = DEFAULTS.seed,
    *,
    data: Dataset | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Run:
    """Train one network from ``initial_correlations(parameters, seed)`` on ``sample_dataset(parameters, seed)`` and record the trajectory.

    Parameters
    ----------
    parameters : Parameters
        The problem.
    {options}
    data : Dataset, optional
        Other training points than those, as many and with as many patches as the parameters say. The file keeps a hash of them, by which
        they are known again, not the points.
    progress : Progress, optional
        Is told how the run goes.

    Returns
    -------
    Run

    Raises
    ------
    UsageError
        If an argument is out of its domain, the problem does not fit in memory, or the file cannot be used.
    DivergedError
        If a value is not finite; the last good state has been saved.
    StalledError
        If the gradient flow cannot be followed further; the last good state has been saved.
    Interrupted
        If SIGINT arrives while stepping; the last state has been saved.

    Notes
    -----
    Without ``t_end`` a run goes on until it has settled, that is, until the softmax gap of every class has fallen by a tenth, training accuracy is 1
    and the answer of Definition 4.5 has not changed for any feature while time grew by ``settled_factor``; once every feature is learned, by its
    square root, or sooner by a certificate (`mvsim.runs.recording.settling`). Gradient descent goes not beyond the number of steps that
    `mvsim.runs.simulation.plan` calls affordable. With it the first step that reaches it is the last. The step size of gradient
    descent is by default `mvsim.runs.simulation.plan.LEARNING_RATE_PER_CLASS` times k.
    """
    request = requested(parameters, data, Silent() if progress is None else progress, method=method, seed=seed, **options)
    run_options = request.options
    with ExitStack() as stack:
        stack.enter_context(one_blas_thread())
        if run_options.out is not None:
            stack.enter_context(lock_run(run_options.out))
            ensure_writable(run_options.out, force=run_options.force, resume=run_options.resume)
        return Session(request, _saved(run_options)).run()


def _saved(options: RunOptions) -> Any:
    """Return the saved run that is to go on, None if there is none; whoever asks keeps no other hold on it, since it is large."""
    return read_run(options.out) if options.out is not None and options.resume and os.path.exists(options.out) else None
