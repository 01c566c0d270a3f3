"""Options that every run has, each described once: type, default, meaning, what is checked, and whether the provenance keeps it.

To add one: add a field to `RunOptions`.
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError, model_validator

from mvsim.base.echo import echo, shortened
from mvsim.base.errors import UsageError
from mvsim.base.inputs import check_between, check_positive, check_threads
from mvsim.base.options import OneOf
from mvsim.flow import INTEGRATORS, LAST_TIME
from mvsim.multi_view.kernels import BACKENDS
from mvsim.multi_view.objectives import OBJECTIVES, check_name, check_options, options_of
from mvsim.numerics.random_streams import check_seed
from mvsim.runs.recording.fresh_draws import check_n_test


@dataclass(frozen=True)
class Recorded:
    """In the annotation of a field: the provenance of a run keeps the value.

    Attributes
    ----------
    under : str, optional
        Entry of the provenance that it is a part of; by default it is an entry itself.
    fixed : bool
        Whether a run can only be resumed with the same value.
    """

    under: str | None = None
    fixed: bool = True


def _check_flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise UsageError(f"{name}={echo(value)}: must be True or False")
    return bool(value)


def _check_file(name: str, value: Any) -> str | os.PathLike[str]:
    if not isinstance(value, (str, os.PathLike)):
        raise UsageError(f"{name}={echo(value)}: must be the name of a file")
    return value


def _checked(check: Callable[..., Any], **bounds: float) -> PlainValidator:
    """Return a validator that calls a check with the name of the field, its value and bounds."""
    return PlainValidator(lambda value, info: check(str(info.field_name), value, **bounds))


def _checked_unless_none(check: Callable[..., Any], **bounds: float) -> PlainValidator:
    return PlainValidator(lambda value, info: None if value is None else check(str(info.field_name), value, **bounds))


class RunOptions(BaseModel):
    """Options that every run has; `all_options.AllRunOptions`, which also has those of integrators and methods, is what is used."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    method: Annotated[str, OneOf(OBJECTIVES), Recorded()] = Field(
        "midpoint", description="What is trained on: points (erm), midpoints of all pairs (midpoint), random mixtures (mixup)."
    )
    seed: Annotated[int, PlainValidator(check_seed), Recorded()] = Field(
        0, description="Fixes data, initial weights and everything else that is drawn."
    )
    integrator: Annotated[str, OneOf(INTEGRATORS)] = Field(
        "flow", description="How time is stepped: along the gradient flow (flow; cvode, by SUNDIALS, to check it), or by gradient descent (gd)."
    )
    t_end: Annotated[float | None, _checked_unless_none(check_positive, most=LAST_TIME), Recorded("integrator", fixed=False)] = Field(
        None,
        description="Time to stop at (of gd, eta times steps); by default when the run has settled, and gd after 40,000 steps (6,000 over pairs).",
    )
    settled_factor: Annotated[float, _checked(check_between, more_than=1.0, most=1e100), Recorded("integrator", fixed=False)] = Field(
        10.0,
        description="A run has settled once training accuracy is 1, the loss of each class has fallen, and the learned features have not changed "
        "while time grew by this factor (> 1), or by its square root once all are learned.",
    )
    out: Annotated[str | os.PathLike[str] | None, _checked_unless_none(_check_file)] = Field(
        None, description="Run file; without it nothing is saved."
    )
    resume: Annotated[bool, _checked(_check_flag)] = Field(False, description="Continue the run in the file, or start it if nothing was saved.")
    force: Annotated[bool, _checked(_check_flag)] = Field(False, description="Overwrite the file.")
    n_test: Annotated[int, PlainValidator(check_n_test), Recorded("options")] = Field(
        20, description="Fresh draws per class that decide which features are learned (Definition 4.5)."
    )
    backend: Annotated[str, OneOf(BACKENDS), Recorded("options", fixed=False)] = Field(
        "auto",
        description="numba: compiled, on all cores; cupy: on a GPU; array: the kernel of cupy on NumPy, for tests; numpy: the readable reference; "
        "auto: the fastest of them here.",
    )
    threads: Annotated[int | None, PlainValidator(check_threads)] = Field(
        None, description="Threads; by default all cores. Results do not depend on it."
    )
    checkpoint_seconds: Annotated[float, _checked(check_positive, most=math.inf)] = Field(10.0, description="Seconds between two saves.")

    def __init__(self, **given: Any) -> None:
        method = check_name(given.get("method", type(self).model_fields["method"].default))
        _check_names(given, type(self).model_fields.keys() | _options_of_methods())
        others = type(self).model_fields.keys() - _options_of_methods()
        check_options(method, {name: value for name, value in given.items() if name not in others})
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise error.errors(include_url=False)[0]["ctx"]["error"] from None

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        for name, value in self._given_to_integrators().items():
            owners = [integrator.name for integrator in INTEGRATORS.values() if integrator.letter == name]
            if self.integrator not in owners:
                belongs = f"belongs to integrator={' or '.join(map(echo, owners))}, and integrator={echo(self.integrator)} was asked for"
                raise UsageError(f"{name}={echo(value)}: {belongs}")
            INTEGRATORS[self.integrator].check_option(value)
        if self.resume and self.out is None:
            raise UsageError("resume=True: needs out, the run file to continue")
        return self

    def integrator_option(self) -> float | None:
        """Return the option of the integrator that is asked for, None if it is not given."""
        return self._given_to_integrators().get(INTEGRATORS[self.integrator].letter)

    def objective_options(self) -> dict[str, Any]:
        """Return the options of the method that is asked for: what it shares with the run, as the seed, and what is given to it."""
        shared = {name for name in options_of(self.method) if name in RunOptions.model_fields}
        return {name: getattr(self, name) for name in shared | (self.model_fields_set & _options_of_methods())}

    def sums_all_pairs(self) -> bool:
        """Whether the method that is asked for sums all pairs of training points."""
        return OBJECTIVES[self.method].sums_all_pairs_with({name: getattr(self, name) for name in options_of(self.method)})

    def recorded(self, under: str | None = None) -> dict[str, Any]:
        """Return what an entry of the provenance keeps of these options; without ``under``, those that are entries themselves."""
        return {name: getattr(self, name) for name, mark in marks(type(self)) if mark.under == under}

    def _given_to_integrators(self) -> dict[str, Any]:
        letters = {integrator.letter for integrator in INTEGRATORS.values()} & type(self).model_fields.keys()
        values = {letter: getattr(self, letter) for letter in sorted(letters)}
        return {name: value for name, value in values.items() if value is not None}


def _check_names(given: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise `UsageError` if one of the names is no option of a run, of a method or of an integrator."""
    synonyms = {integrator.option: integrator.letter for integrator in INTEGRATORS.values()}
    for name, value in given.items():
        if name not in known:
            close = [synonyms[name]] if name in synonyms else difflib.get_close_matches(name, known, n=1)
            advice = f"did you mean {close[0]}?" if close else f"the options are {', '.join(sorted(known))}"
            raise UsageError(f"{shortened(name)}={echo(value)}: is not an option of a run; {advice}")


def _options_of_methods() -> set[str]:
    """Return the options that any method takes and a run does not have itself."""
    return {name for method in OBJECTIVES for name in options_of(method)} - RunOptions.model_fields.keys()


def marks(model: type[RunOptions]) -> Iterator[tuple[str, Recorded]]:
    """Yield the fields of a model that are recorded, each with how."""
    return ((name, mark) for name, field in model.model_fields.items() for mark in field.metadata if isinstance(mark, Recorded))


FREE = {name for name, mark in marks(RunOptions) if not mark.fixed}
"""Options that do not change the trajectory, only where it ends."""
