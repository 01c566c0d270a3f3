"""The options of a run, each described once: type, default, meaning and what is checked.

The signature and the documentation of `mvsim.simulate` and the flags of ``mvsim simulate`` follow from `RunOptions`.
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, SkipValidation, ValidationError, model_validator

from mvsim.base.echo import echo, shortened
from mvsim.base.errors import UsageError
from mvsim.base.inputs import check_between, check_kind, check_not_negative, check_positive, check_threads, plain
from mvsim.base.options import OneOf
from mvsim.flow import INTEGRATORS, LAST_TIME
from mvsim.losses import LOSSES, CrossEntropy, loss_name
from mvsim.losses.mixing_laws import DEFAULT_NODES, LAWS
from mvsim.multi_view.kernels import BACKENDS
from mvsim.multi_view.objectives import OBJECTIVES, check_name, check_options, options_of
from mvsim.multi_view.objectives.mixup import UNIFORM
from mvsim.numerics.random_streams import check_seed
from mvsim.runs.recording.fresh_draws import check_n_test
from mvsim.runs.simulation.auto import AUTO, CHOICES, FROM_K


def _checked(check: Callable[..., Any], **bounds: Any) -> PlainValidator:
    """Return a validator that calls a check with the name of the field, its value and bounds."""
    return PlainValidator(lambda value, info: check(str(info.field_name), value, **bounds))


def _checked_unless_none(check: Callable[..., Any], **bounds: Any) -> PlainValidator:
    return PlainValidator(lambda value, info: None if value is None else check(str(info.field_name), value, **bounds))


_FLAG = _checked(check_kind, kind=bool, allowed="True or False")

OF_INTEGRATORS, OF_METHODS = ("rtol", "eta"), ("mixing", "nodes", "pairs", "redraw")
"""Options that only some integrators, and some methods, take."""

FREE = ("t_end", "settled_factor", "backend")
"""Options that do not change the trajectory, only where it ends, or its last bits."""

OF_THE_FILE = ("out", "resume", "force", "threads", "checkpoint_seconds")
"""Options that change nothing about a run but where it is saved, how often, and how fast it goes."""


class RunOptions(BaseModel):
    """The options of a run; raises `UsageError` that names the first value out of its domain, or of another integrator or method."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    method: Annotated[str, OneOf(OBJECTIVES)] = Field(
        "midpoint", description="What is trained on: points (erm), midpoints of all pairs (midpoint), random mixtures (mixup)."
    )
    seed: Annotated[int, PlainValidator(check_seed)] = Field(0, description="Fixes data, initial weights and everything else that is drawn.")
    loss: Annotated[str, PlainValidator(loss_name)] = Field(
        CrossEntropy.name,
        description=f"Loss of the outputs at one point: {', '.join(LOSSES)}; in Python also a mvsim.losses.PointwiseLoss of your own.",
    )
    weight_decay: Annotated[float, _checked(check_not_negative)] = Field(
        0.0,
        description="Adds (weight_decay / 2) |W|^2 to the loss. Correlations follow it exactly; the part of W that they leave out decays by itself.",
    )
    label_smoothing: Annotated[float, _checked(check_not_negative, most=1.0)] = Field(
        0.0, description="Mass of the uniform law in each label, from 0 to 1."
    )
    integrator: Annotated[str, OneOf(CHOICES)] = Field(
        AUTO,
        description="How time is stepped. flow: along the gradient flow, with the error of each step controlled; escapes: along it in large steps "
        f"from escape to escape; gd: gradient descent; auto: escapes for Midpoint Mixup from k = {FROM_K} on, else flow. rtol and the settings that "
        "docs/concepts.md lists make auto take flow; resume keeps that of the file.",
    )
    t_end: Annotated[float | None, _checked_unless_none(check_positive, most=LAST_TIME)] = Field(
        None,
        description="Time to stop at (of gd, eta times steps); by default when the run has settled, and gd after 40,000 steps (6,000 over pairs).",
    )
    settled_factor: Annotated[float, _checked(check_between, more_than=1.0, most=1e100)] = Field(
        10.0,
        description="A run has settled once training accuracy is 1, the loss of each class has fallen, and the learned features have not changed "
        "while time grew by this factor (> 1), or by its square root once all are learned; sooner if nothing is on its way to change them before, "
        "later if a feature is on its way to escape before it grows by that factor again.",
    )
    out: Annotated[str | os.PathLike[str] | None, _checked_unless_none(check_kind, kind=str | os.PathLike, allowed="the name of a file")] = Field(
        None, description="Run file; without it nothing is saved."
    )
    resume: Annotated[bool, _FLAG] = Field(False, description="Continue the run in the file, or start it if nothing was saved.")
    force: Annotated[bool, _FLAG] = Field(False, description="Overwrite the file.")
    n_test: Annotated[int, PlainValidator(check_n_test)] = Field(
        20, description="Fresh draws per class that decide which features are learned (Definition 4.5)."
    )
    backend: Annotated[str, OneOf(BACKENDS)] = Field(
        "auto",
        description="numba: compiled, on all cores; cupy: on a GPU; array: the kernel of cupy on NumPy, for tests; numpy: the readable reference; "
        "auto: the fastest of them here.",
    )
    threads: Annotated[int | None, PlainValidator(check_threads)] = Field(
        None, description="Threads; by default all cores. Results do not depend on it."
    )
    checkpoint_seconds: Annotated[float, _checked(check_positive, most=math.inf)] = Field(
        10.0, description="Least seconds between two saves, which take a twentieth of the time at most."
    )

    # Of an integrator or a method, which checks the value.
    rtol: Annotated[float | None, SkipValidation] = Field(
        None,
        description="Relative error of one step, 1e-10 to 0.1: of correlations with flow (default 0.001), of the time to an escape with escapes "
        "(0.005). With auto it selects flow.",
    )
    eta: Annotated[float | None, SkipValidation] = Field(None, description="gd: step size eta > 0; default 6 k.")
    mixing: Annotated[Any, SkipValidation] = Field(
        UNIFORM, description=f"mixup: law of lambda on [0, 1]: {LAWS}; in Python also a frozen distribution of scipy.stats."
    )
    nodes: Annotated[int, SkipValidation] = Field(DEFAULT_NODES, description="mixup: quadrature nodes for a continuous law of lambda.")
    pairs: Annotated[int | None, SkipValidation] = Field(
        None, description="mixup: sum over that many sampled pairs, i, j and lambda drawn independently, instead of all; by default all."
    )
    redraw: Annotated[Literal["once", "each step"], SkipValidation] = Field("once", description="mixup: when pairs are sampled.")

    def __init__(self, **values: Any) -> None:
        values = {name: plain(value) for name, value in values.items()}
        method = check_name(values.get("method", type(self).model_fields["method"].default))
        _check_names(values, type(self).model_fields)
        check_options(method, {name: value for name, value in values.items() if name in OF_METHODS})
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise error.errors(include_url=False)[0]["ctx"]["error"] from None

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        for name in OF_INTEGRATORS:
            value = getattr(self, name)
            owners = [choice for choice, integrator in CHOICES.items() if integrator.letter == name]
            if value is not None and self.integrator not in owners:
                belongs = f"belongs to integrator={' or '.join(map(echo, owners))}, not to {echo(self.integrator)}"
                raise UsageError(f"{name}={echo(value)}: {belongs}; give that integrator or leave {name} out")
        if self.integrator_option is not None:
            CHOICES[self.integrator].check_option(self.integrator_option)
        if self.resume and self.out is None:
            raise UsageError("resume=True: needs out, the run file to continue")
        return self

    @property
    def integrator_option(self) -> float | None:
        """The option of the integrator that is asked for, None if it is not given."""
        value: float | None = getattr(self, CHOICES[self.integrator].letter)
        return value

    @property
    def objective_options(self) -> dict[str, Any]:
        """The options of the training loss that is asked for, beside the pointwise loss."""
        names = ("weight_decay", "label_smoothing", *options_of(self.method))
        return {name: getattr(self, name) for name in names}

    @property
    def sums_all_pairs(self) -> bool:
        """Whether the method that is asked for sums all pairs of training points."""
        return OBJECTIVES[self.method].sums_all_pairs_with(self.objective_options)


def _check_names(options: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise `UsageError` if one of the names is no option of a run."""
    synonyms = {integrator.option: integrator.letter for integrator in INTEGRATORS.values()}
    for name, value in options.items():
        if name not in known:
            close = [synonyms[name]] if name in synonyms else difflib.get_close_matches(name, known, n=1)
            advice = f"did you mean {close[0]}?" if close else f"the options are {', '.join(sorted(known))}"
            raise UsageError(f"{shortened(name)}={echo(value)}: is not an option of a run; {advice}")


DEFAULTS = RunOptions()
