"""What a run consists of, put together from what is asked for: loss, integrator, measurements, provenance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mvsim.base.errors import UsageError
from mvsim.flow import INTEGRATORS, Integrator
from mvsim.multi_view.data import Dataset, sample_dataset
from mvsim.multi_view.diagnostics import signal_strength
from mvsim.multi_view.kernels import usable_backend
from mvsim.multi_view.objectives import OBJECTIVES, Objective
from mvsim.multi_view.parameters import Deviation, Parameters
from mvsim.multi_view.parameters.regime import given_points
from mvsim.runs.archive import collect_provenance
from mvsim.runs.recording.fresh_draws import FeatureTest
from mvsim.runs.recording.recorder import Recorder
from mvsim.runs.simulation.auto import integrator_of
from mvsim.runs.simulation.field import field_of
from mvsim.runs.simulation.options import RunOptions
from mvsim.runs.simulation.request import Request
from mvsim.runs.simulation.resuming import refuse_going_back, refuse_other_run

LEARNING_RATE_PER_CLASS = 6.0
"""Times k, a step size of gradient descent that stays below 2 / lambda_max in the default regime."""

AFFORDABLE_GRADIENTS, AFFORDABLE_PAIR_GRADIENTS = 40_000, 6_000
"""Default limits on gradient evaluations where no t_end is given: of a loss over points, and of one that mixes pairs."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What a run consists of."""

    objective: Objective  # Training loss on its points
    integrator: Integrator  # What steps
    horizon: float  # Time beyond which it does not go
    recorder: Recorder  # What measures, empty
    regime: list[Deviation]  # Departures from what the theorems assume
    provenance: dict[str, Any]  # All that makes the run repeatable

    def is_over(self, time: float, options: RunOptions) -> bool:
        """Whether a run that has come to a time, and was measured up to it, has come to its end: it has settled, or has been followed far enough."""
        settled = options.t_end is None and self.recorder.settling.reached(options.settled_factor)
        return settled or time >= self.horizon * (1.0 - 1e-12)


def plan_of(request: Request, saved: Any) -> Plan:
    """Put a run together."""
    objective = _objective(request)
    _check_signal_strength(objective, request.data)
    integrator = _integrator(request, objective, saved)
    options = request.options
    problem = departures_of_problem(request.parameters, own_points=request.data is not None)
    regime = problem + objective.deviations() + [Deviation(*each) for each in integrator.deviations()]
    provenance = _provenance(request, objective, integrator, regime)
    if saved:
        provenance = _continued(provenance, saved[1])
        refuse_other_run(provenance, saved[1], options.out)
        refuse_going_back(saved, options.t_end, integrator, options.out)
    feature_test = FeatureTest(request.parameters, options.n_test, options.seed, options.threads, options.backend)
    return Plan(objective, integrator, integrator.horizon(options.t_end), Recorder(objective, feature_test, options.seed), regime, provenance)


def _objective(request: Request) -> Objective:
    """Return the training loss on the points that are asked for."""
    options = request.options
    data = sample_dataset(request.parameters, options.seed) if request.data is None else request.data
    return OBJECTIVES[options.method](request.parameters, data, options.backend, options.threads, loss=options.loss, **options.objective_options)


def _check_signal_strength(objective: Objective, own_points: Dataset | None) -> None:
    """Raise `UsageError` if S_{y,l} is no double: a run records it."""
    p = objective.parameters
    if np.isfinite(signal_strength(p, objective.data)).all():
        return
    wrong = f"alpha={p.alpha:g}, {f'delta2={p.delta2:g}' if own_points is None else 'data'}"
    raise UsageError(f"{wrong}: beta^alpha, summed for the signal strength, is beyond double precision; take a smaller alpha or smaller coefficients")


def _integrator(request: Request, objective: Objective, saved: Any) -> Integrator:
    """Return the integrator, with the option that is asked for, that of the saved run, or the default."""
    before = saved[1]["integrator"] if saved else {}
    usable = request.options.model_copy(update={"backend": usable_backend(request.options.backend)})
    chosen = INTEGRATORS[integrator_of(request.parameters, usable, request.data is not None, before.get("name"))]
    saved_option = before.get(chosen.option) if before.get("name") == chosen.name else None
    affordable = AFFORDABLE_PAIR_GRADIENTS if objective.mixes else AFFORDABLE_GRADIENTS
    field = field_of(objective, LEARNING_RATE_PER_CLASS * request.parameters.k, affordable)
    option = request.options.integrator_option
    return chosen(field, saved_option if option is None else option)


def _provenance(request: Request, objective: Objective, integrator: Integrator, regime: list[Deviation]) -> dict[str, Any]:
    options = request.options
    own_points = {} if request.data is None else {"data": request.data.digest()}  # other points follow from parameters and seed
    return {
        **collect_provenance(),
        "parameters": request.parameters.model_dump(mode="json"),
        "method": options.method,
        "seed": options.seed,
        "integrator": {**integrator.options(), "t_end": options.t_end, "settled_factor": options.settled_factor},
        "options": {
            "loss": options.loss,
            "n_test": options.n_test,
            "backend": options.backend,
            **own_points,
            **objective.options(),
            **objective.regularisation(),
            "algorithm": objective.describe(),
        },
        "regime": [deviation.as_dict() for deviation in regime],
        "settled": None,
        "wall_seconds": 0.0,
    }


def _continued(now: dict[str, Any], saved: dict[str, Any]) -> dict[str, Any]:
    """Return the provenance of a run that goes on: its origin stays, with the kernels it began with, and what continues it is listed."""
    origin, kernels = ("version", "git_revision", "sources", "command", "versions", "platform", "created"), ("backend", "algorithm")
    computed = {name: now["options"][name] for name in kernels}
    continued = [*saved.get("continued", []), {**{name: now[name] for name in origin}, **computed}]
    options = {**now["options"], **{name: saved["options"][name] for name in kernels if name in saved["options"]}}
    return {**now, "options": options, **{name: saved.get(name) for name in origin}, "continued": continued}


OF_THE_NETWORK = frozenset({"d", "m", "rho", "alpha"})
"""Departures that are about the network and its start; all others of parameters are about their distribution of points."""


def departures_of_problem(parameters: Parameters, own_points: bool) -> list[Deviation]:
    """Return the departures of parameters and points."""
    deviations = parameters.deviations()
    if not own_points:
        return deviations
    return [given_points(parameters.described.assumption), *(one for one in deviations if one.name in OF_THE_NETWORK)]
