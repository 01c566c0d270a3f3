"""What is asked of one run, checked before anything is drawn."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mvsim.data import Dataset
from mvsim.echo import echo
from mvsim.errors import UsageError
from mvsim.inputs import check_between, check_positive
from mvsim.integrators import INTEGRATORS, LAST_TIME
from mvsim.kernels import BACKENDS
from mvsim.objectives import check_name, check_options
from mvsim.parameters import Parameters, check_parameters
from mvsim.random_streams import check_seed
from mvsim.recording.feature_test import check_n_test
from mvsim.simulation.progress import Progress, Silent


@dataclass(frozen=True, eq=False, kw_only=True)
class Request:
    """Arguments of `mvsim.simulate`, which says what they are; ``options`` has the value of each integrator's option under its name.

    Raises
    ------
    UsageError
        If one of them is out of its domain.
    """

    parameters: Parameters
    method: str
    seed: int
    integrator: str
    options: dict[str, float | None]
    t_end: float | None
    settled_factor: float
    out: str | os.PathLike[str] | None
    resume: bool
    force: bool
    backend: str
    threads: int | None
    n_test: int
    checkpoint_seconds: float
    data: Dataset | None
    objective_options: dict[str, Any]
    progress: Progress = field(default_factory=Silent)

    def __post_init__(self) -> None:
        check_parameters(self.parameters)
        check_seed(self.seed)
        check_name(self.method)
        for name, value, known in (("integrator", self.integrator, INTEGRATORS), ("backend", self.backend, BACKENDS)):
            if not isinstance(value, str) or value not in known:
                raise UsageError(f"{name}={echo(value)}: must be one of {', '.join(known)}")
        check_options(self.method, self.objective_options)
        check_n_test(self.n_test)
        _check_data(self.parameters, self.data)
        if self.t_end is not None:
            check_positive("t_end", self.t_end, most=LAST_TIME)
        self._check_integrator_options()
        check_between("settled_factor", self.settled_factor, more_than=1.0, most=1e100)
        check_positive("checkpoint_seconds", self.checkpoint_seconds, most=math.inf)
        if self.out is not None and not isinstance(self.out, (str, os.PathLike)):
            raise UsageError(f"out={echo(self.out)}: must be the name of a file")
        for name in ("resume", "force"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise UsageError(f"{name}={echo(getattr(self, name))}: must be True or False")
        if not all(callable(getattr(self.progress, name, None)) for name in ("start", "update", "finish")):
            raise UsageError(f"progress={echo(self.progress)}: must have start, update and finish, as mvsim.simulation.Progress says")
        if self.resume and self.out is None:
            raise UsageError("resume=True: needs out, the run file to continue")

    @property
    def option(self) -> float | None:
        """The option of the integrator that is asked for, if it is given."""
        return self.options[INTEGRATORS[self.integrator].option]

    def _check_integrator_options(self) -> None:
        for name, integrator in INTEGRATORS.items():
            value = self.options[integrator.option]
            if value is None:
                continue
            if name != self.integrator:
                belongs = f"belongs to integrator={echo(name)}, and integrator={echo(self.integrator)} was asked for"
                raise UsageError(f"{integrator.letter}={echo(value)}: {belongs}")
            integrator.check_option(value)


def _check_data(parameters: Parameters, data: Dataset | None) -> None:
    """Raise `UsageError` if data are given that are not what the parameters say."""
    if data is None:
        return
    if not isinstance(data, Dataset):
        raise UsageError("data: must be a data set, from mvsim.sample_dataset or mvsim.Dataset.from_patches")
    for name in ("k", "N", "P"):
        if getattr(data, name) != getattr(parameters, name):
            raise UsageError(f"{name}={getattr(parameters, name)}: the data have {name} = {getattr(data, name)}; they must agree")
