"""One cell of a study: one run, and how it is told from the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mvsim.base.echo import echo
from mvsim.base.errors import UsageError
from mvsim.flow import INTEGRATORS
from mvsim.multi_view.objectives import OBJECTIVES
from mvsim.multi_view.objectives import options_of as options_of_method
from mvsim.multi_view.parameters import Parameters
from mvsim.runs.simulation.auto import CHOICES, integrator_of
from mvsim.runs.simulation.identity import run_name
from mvsim.runs.simulation.options import DEFAULTS, OF_INTEGRATORS, OF_METHODS, OF_THE_FILE, RunOptions
from mvsim.runs.simulation.plan import LEARNING_RATE_PER_CLASS
from mvsim.sweeps.regime import R0, parameters_of
from mvsim.sweeps.values import Value, canonical_text

_OPTIONS = tuple(name for name in RunOptions.model_fields if name not in OF_THE_FILE)

NAMES: tuple[str, ...] = (
    "method",
    *(name for field in Parameters.model_fields for name in ((field, R0) if field == "d" else (field,))),
    *(name for name in _OPTIONS if name not in ("method", "seed")),
    "seed",
)
"""What a study can give values for, in the order in which cells are counted: the last one changes first."""


@dataclass(frozen=True)
class Cell:
    """One run of a study."""

    index: int  # Its number, from 0
    swept: dict[str, Value]  # The swept names that mean something for this run, with their values as the study gives them
    parameters: Parameters
    method: str
    seed: int
    options: dict[str, Any]  # Further options of `mvsim.simulate`

    @cached_property
    def file(self) -> str:
        """Name of the run file: the identity of the run."""
        return run_name(self.parameters, self.method, self.seed, self.options)

    @cached_property
    def integrator(self) -> str:
        """Name of the integrator that steps the run, unless its file has begun with another."""
        return integrator_of(self.parameters, RunOptions(method=self.method, seed=self.seed, **self.options))

    @property
    def label(self) -> str:
        """What tells this cell from others of its study, for people."""
        named = self.swept or {"method": self.method, "k": self.parameters.k, "seed": self.seed}
        return ", ".join(f"{name}={value if isinstance(value, str) else canonical_text(value)}" for name, value in named.items())


def cell_of(index: int, values: Mapping[str, Value], swept: Mapping[str, Value], regime: str) -> Cell:
    """Return the run that values stand for."""
    try:
        fields = {name: values[name] for name in Parameters.model_fields if name in values}
        options = {name: values[name] for name in _OPTIONS if name in values}
        parameters = parameters_of(fields, values.get(R0), regime)
        checked = RunOptions(**options)
        integrator, option = INTEGRATORS[integrator_of(parameters, checked)], checked.integrator_option
        if option is not None:
            integrator.check_option(option)
        if checked.t_end is not None:
            integrator.check_steps(checked.t_end, option or LEARNING_RATE_PER_CLASS * parameters.k)
        checked.sums_all_pairs  # noqa: B018 - whoever owns an option of a method checks it
        method, seed = options.pop("method", DEFAULTS.method), options.pop("seed", DEFAULTS.seed)
        return Cell(index, dict(swept), parameters, method, seed, options)
    except UsageError as error:
        where = ", ".join(f"{name}={echo(value)}" for name, value in swept.items())
        raise UsageError(f"cell {index} ({where}): {error}" if where else str(error)) from None


def meaningless(values: Mapping[str, Value]) -> set[str]:
    """Return the names whose values mean nothing for a run: options of another method, or of another integrator, than it has."""
    method, integrator = values.get("method", DEFAULTS.method), values.get("integrator", DEFAULTS.integrator)
    own = set(options_of_method(method)) if isinstance(method, str) and method in OBJECTIVES else set(OF_METHODS)
    own |= {CHOICES[integrator].letter} if isinstance(integrator, str) and integrator in CHOICES else set(OF_INTEGRATORS)
    return ({*OF_METHODS, *OF_INTEGRATORS} - own) & values.keys()
