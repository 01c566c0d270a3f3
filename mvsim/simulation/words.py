"""What a run says of itself: its summary, and why it ended."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mvsim.integrators import Integrator, State
from mvsim.parameters import Deviation, regime_label
from mvsim.recording import hessian
from mvsim.recording.entries import count_foretold
from mvsim.recording.feature_test import count_classes, outcomes_of
from mvsim.recording.recorder import Recorder

FAITHFUL = 0.01
"""Relative deviation of the speed below which gradient descent counts as following the flow."""


def summary(recorder: Recorder, seed: int, clock: str, ending: str, regime: Sequence[Deviation]) -> str:
    """Return the outcome of a run in a few sentences on separate lines.

    Parameters
    ----------
    recorder : Recorder
        What has been measured.
    seed : int
        Of the run.
    clock : str
        What the time was made of, e.g. "2000 steps of gradient descent with eta = 60".
    ending : str
        Whether the run settled, and if not, why it ended.
    regime : sequence of Deviation
        The ways in which it departs from the theorems' assumptions.
    """
    p, counts = recorder.objective.parameters, count_classes(recorder.last("feature_learned"))
    first, *others = (f"{outcome.phrase}{{}} in {counts[outcome.name]}" for outcome in outcomes_of(p.V))
    learned = ", ".join([f"{first.format(' learned')} of {p.k} classes", *(other.format("") for other in others)])
    statements = "; ".join(deviation.statement for deviation in regime)
    return "\n".join(
        [
            f"{p.described.label}{recorder.objective.label}, k = {p.k}, seed {seed}: {learned}",
            f"  (Definition 4.5 on all of {recorder.feature_test.draws} fresh draws per class) at t = {recorder.times[-1]:.4g} after {clock}; "
            f"training accuracy {recorder.last('training_accuracy'):.4g}.",
            f"  {ending}",
            f"  Regime: {regime_label(regime)}{f' ({statements})' if statements else ''}.",
        ]
    )


def outcome(recorder: Recorder, state: State, integrator: Integrator, horizon: float, t_end: float | None, settled_factor: float) -> str:
    """Say how a run that is over ended, and what there is to know about it.

    Parameters
    ----------
    recorder : Recorder
        What has been measured.
    state : State
        Where it ended.
    integrator : Integrator
        What stepped.
    horizon : float
        The time beyond which it would not have gone.
    t_end : float, optional
        That time if it was asked for.
    settled_factor : float
        See `mvsim.simulate`.
    """
    parts = [_ending(recorder, integrator, horizon, t_end, settled_factor), *_foretold(recorder)]
    return " ".join([*parts, *_gaps(recorder), *recorder.objective.caveats(state.c)])


def faithful_eta(recorder: Recorder) -> float | None:
    """Return the step size up to which gradient descent follows the flow to `FAITHFUL`, None if nothing tells.

    It is that of the recorded states alone: whether one of them lies in an escape changes it a hundredfold. So it stands in the provenance
    and not in the summary.
    """
    rate = hessian.faithful_learning_rate(recorder.records["turning_rate"], FAITHFUL)
    return rate if math.isfinite(rate) else None


def _ending(recorder: Recorder, integrator: Integrator, horizon: float, t_end: float | None, settled_factor: float) -> str:
    since = recorder.settling.since()
    if recorder.settling.reached(settled_factor):
        return f"Settled: training accuracy 1 and no change in the learned features (Definition 4.5) since t = {since:.4g}."
    why = "training accuracy is below 1, or the loss of a class has hardly fallen"
    if since is not None:
        settles = recorder.settling.settles_at(settled_factor)
        why = f"the last change in the learned features was at t = {since:.4g}; without another it settles at t = {settles:.4g}"
    return f"Not settled at {_limit(integrator, horizon, t_end)}: {why}."


def _limit(integrator: Integrator, horizon: float, t_end: float | None) -> str:
    """Say what ended a run that had not settled."""
    if t_end is not None:
        return "t_end"
    steps = integrator.steps_until(horizon)
    return f"t = {horizon:.4g}" if steps is None else f"the default limit of {steps} steps (t_end sets another)"


def _foretold(recorder: Recorder) -> list[str]:
    """Say how well the initial state foretold which view of each class escapes first, where there is more than one and they escape at all."""
    if recorder.objective.parameters.V == 1 or not recorder.objective.has_escapes:
        return []
    right, classes = count_foretold(recorder.escapes, recorder.start_values["predicted_escape_time"])
    return [f"The initial state predicted which feature of each class escapes first in {right} of {classes} classes."] if classes else []


def _gaps(recorder: Recorder) -> list[str]:
    """Say how far apart the two features of a class are, of a linear model: that is what Section 3 is about."""
    p = recorder.objective.parameters
    if p.V == 1 or recorder.objective.has_escapes:
        return []
    gap, strength = recorder.last("view_gap"), recorder.last("max_correlation").max(axis=1)
    what = f"Gap Delta_y between the correlations of a class with its features: median {np.median(gap):.3g}, largest {gap.max():.3g}"
    return [f"{what}, beside a larger correlation of {np.median(strength):.3g} (median)."]
