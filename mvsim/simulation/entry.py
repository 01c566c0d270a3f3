"""`mvsim.simulate`."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from mvsim.archive import ensure_writable, lock_run, read_run
from mvsim.data import Dataset
from mvsim.kernels import usable_backend
from mvsim.objectives import OBJECTIVES
from mvsim.parameters import Parameters
from mvsim.run import Run
from mvsim.simulation.memory import check_memory
from mvsim.simulation.progress import Progress, Silent
from mvsim.simulation.request import Request
from mvsim.simulation.session import SETTLED_FACTOR, Session


def simulate(
    parameters: Parameters,
    method: str = "midpoint",
    seed: int = 0,
    integrator: str = "flow",
    eta: float | None = None,
    rtol: float | None = None,
    t_end: float | None = None,
    settled_factor: float = SETTLED_FACTOR,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    force: bool = False,
    backend: str = "auto",
    threads: int | None = None,
    n_test: int = 20,
    checkpoint_seconds: float = 10.0,
    progress: Progress | None = None,
    data: Dataset | None = None,
    **objective_options: Any,
) -> Run:
    """Train one network from ``initial_correlations(parameters, seed)`` on ``sample_dataset(parameters, seed)`` and record the trajectory.

    Parameters
    ----------
    parameters : Parameters
        The problem.
    method : str
        Training loss, a key of `mvsim.objectives.OBJECTIVES`.
    seed : int
        Fixes data, initial weights and fresh draws.
    integrator : str
        A key of `mvsim.integrators.INTEGRATORS`.
    eta : float, optional
        Step size of gradient descent; default `mvsim.simulation.plan.LEARNING_RATE_PER_CLASS` times k.
    rtol : float, optional
        Relative tolerance of the gradient flow; default 1e-3.
    t_end : float, optional
        Time to stop at (of gradient descent eta times steps: the first step that reaches it is the last). Without it a run goes on until it
        has settled, that is, until training accuracy is 1 and the answer of Definition 4.5 has not changed for any feature while time grew
        by ``settled_factor``, but gradient descent not beyond the number of steps that `mvsim.simulation.plan` calls affordable.
    settled_factor : float
        See ``t_end``; more than 1.
    out : path, optional
        Run file; without it nothing is saved.
    resume : bool
        Continue the run in ``out``, or start it if nothing was saved.
    force : bool
        Overwrite ``out``.
    backend : {"auto", "numpy", "numba"}
        See `mvsim.objective`.
    threads : int, optional
        Threads to compute with; default all available cores. The bits do not depend on it.
    n_test : int
        Fresh draws for each class on which Definition 4.5 is tested.
    checkpoint_seconds : float
        Seconds between two saves.
    progress : Progress, optional
        Is told how the run goes.
    data : Dataset, optional
        Other training points than those, as many and with as many patches as the parameters say. The file keeps a hash of them, by which
        they are known again, not the points.
    **objective_options
        Options of the training loss, e.g. ``mixing`` for `mvsim.objectives.Mixup`; its seed is that of the run.

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
    """
    request = Request(
        parameters=parameters,
        method=method,
        seed=seed,
        integrator=integrator,
        options={"learning_rate": eta, "rtol": rtol},
        t_end=t_end,
        settled_factor=settled_factor,
        out=out,
        resume=resume,
        force=force,
        backend=backend,
        threads=threads,
        n_test=n_test,
        checkpoint_seconds=checkpoint_seconds,
        data=data,
        objective_options=objective_options,
        progress=Silent() if progress is None else progress,
    )
    check_memory(parameters, OBJECTIVES[method].mixes, usable_backend(backend), n_test, integrator)
    with ExitStack() as stack:
        if out is not None:
            stack.enter_context(lock_run(out))
            ensure_writable(out, force=force, resume=resume)
        saved = read_run(out) if out is not None and resume and Path(out).exists() else None
        return Session(request, saved).run()
