"""The summary of a run: what came out, and why it ended."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Context

import numpy as np

from mvsim.flow import LAST_TIME, Integrator, State
from mvsim.flow.stalls import NOTHING_MOVES, fall_while_time_doubles
from mvsim.multi_view.parameters import Deviation, regime_word
from mvsim.runs.recording import hessian
from mvsim.runs.recording.entries import count_predicted
from mvsim.runs.recording.fresh_draws import Outcome, count_classes, is_learned, outcomes_of
from mvsim.runs.recording.recorder import Recorder
from mvsim.runs.run import REGIME

FAITHFUL = 0.01
"""Relative deviation of the speed below which gradient descent counts as following the flow."""


def number(value: float) -> str:
    """Return a number with three digits, as 1.34e8 from ten thousand on; whole ones below that as they are."""
    if float(value).is_integer() and abs(value) < 1e4:
        return f"{value:.0f}"
    digits, _, power = f"{value:.3g}".partition("e")
    return f"{digits}e{int(power)}" if power else digits


def summary(recorder: Recorder, seed: int, clock: str, time: float, ending: str, facts: Sequence[str], regime: Sequence[Deviation]) -> str:
    """Return the outcome of a run: a headline, then what there is to know about it, on separate lines."""
    p = recorder.objective.parameters
    accuracy = f"training accuracy {recorder.last('training_accuracy'):.4g}"
    draws = f"learned means on all of {recorder.feature_test.draws} fresh draws per class (Definition 4.5)"
    end, last = number(time), number(recorder.times[-1])
    measured = "" if last == end else f", measured last at t = {last}"
    lines = [
        f"{learned(recorder)}, {accuracy}, {ending}.",
        f"{p.described.label}{recorder.objective.label}, k = {p.k}, seed {seed}: {clock} to t = {end}{measured}; {draws}.",
        *facts,
        f"{REGIME}{regime_word(regime)}.",
    ]
    return "\n  ".join(lines)


def learned(recorder: Recorder) -> str:
    """Say how many classes have learned which of their features, those first that have learned most; what became of no class is left out."""
    p, fractions = recorder.objective.parameters, recorder.last("feature_learned")
    counts, remarks = count_classes(fractions), [_without_escape(recorder), _on_some_draws(recorder)] if recorder.objective.has_escapes else []
    first, *others = [outcome for outcome in outcomes_of(p.V) if counts[outcome.name]]
    phrases = [
        f"{first.headline} learned in {counts[first.name]} of {p.k} classes{_in_brackets(first, fractions, remarks)}",
        *(f"{of.phrase} in {counts[of.name]}{_in_brackets(of, fractions, remarks)}" for of in others),
    ]
    return ", ".join(phrases)


def _in_brackets(outcome: Outcome, fractions: np.ndarray, remarks: Sequence[tuple[np.ndarray, str]]) -> str:
    """Return in brackets of how many of the classes with an outcome each remark is; nothing if of none."""
    of_all = count_classes(fractions)[outcome.name]
    counts = [(count_classes(fractions[classes])[outcome.name], words) for classes, words in remarks]
    text = "; ".join(words if count == of_all else f"{count} of them {words}" for count, words in counts if count)
    return f" ({text})" if text else ""


def _without_escape(recorder: Recorder) -> tuple[np.ndarray, str]:
    """Return which classes have a feature that passes the test of Definition 4.5 and for which no neuron has escaped, and what to call that.

    Before the first escape outputs are tiny, and the test only asks which is the largest: that is chance. Later, what has escaped may decide it: the
    noise of a point shows features of some classes, not of its own.
    """
    escaped = recorder.escapes.views()
    classes = (is_learned(recorder.last("feature_learned")) & ~escaped).any(axis=1)
    return classes, "with a feature for which no neuron has escaped" if escaped.any() else "before any escape, by chance"


def _on_some_draws(recorder: Recorder) -> tuple[np.ndarray, str]:
    """Return in which classes a neuron has escaped for a feature that suffices on some of the fresh draws and not on all, and what to call that."""
    share = np.asarray(recorder.last("feature_learned"))
    classes = (recorder.escapes.views() & (share > 0.0) & ~is_learned(share)).any(axis=1)
    return classes, "with a feature that suffices on some draws only"


def ended(recorder: Recorder, integrator: Integrator, horizon: float, t_end: float | None, settled_factor: float) -> str:
    """Say in a phrase how a run that is over ended."""
    if recorder.settling.reached(settled_factor):
        return f"settled (unchanged since t = {number(recorder.settling.since() or 0.0)})"
    return f"not settled at {_limit(integrator, horizon, t_end)}"


def facts(recorder: Recorder, state: State, integrator: Integrator, settled_factor: float) -> list[str]:
    """Return what there is to know about a run that is over, each in a sentence."""
    return [
        *_without_points(recorder),
        _since(recorder, settled_factor),
        *_standstill(recorder, state, integrator, settled_factor),
        *_predicted(recorder),
        *_gaps(recorder),
        *recorder.objective.caveats(state.c),
        *_descent(recorder, integrator),
    ]


def faithful_eta(recorder: Recorder) -> float | None:
    """Return the step size up to which gradient descent follows the flow to `FAITHFUL` at all recorded states, None if nothing tells.

    The first record after each escape is among them (`mvsim.runs.recording.observation.Observation`), where the limit is least. Between records it
    can be less: it is an upper bound, in runs at k = 4 and 10 by a factor of 1 to 5.
    """
    rate = hessian.faithful_learning_rate(recorder.records["turning_rate"], FAITHFUL)
    return rate if math.isfinite(rate) else None


def _since(recorder: Recorder, settled_factor: float) -> str:
    """Say since when the learned features have not changed, and when that is enough."""
    since, settles_at = recorder.settling.since(), recorder.settling.settles_at(settled_factor)
    if since is not None and settles_at is None:
        return f"Not settled: at its present pace a feature that has not escaped does at t = {number(recorder.settling.coming)}."
    if since is None or settles_at is None:
        accuracy = recorder.last("training_accuracy")
        return f"Not settled: {f'training accuracy is {accuracy:.4g}' if accuracy < 1.0 else 'the loss of a class has hardly fallen'}."
    unchanged = "the learned features have not changed"
    if recorder.settling.reached(settled_factor):
        growth = f" while time grew by the factor {number(recorder.times[-1] / since)}" if since > 0.0 else ""
        return f"Settled: training accuracy is 1, and {unchanged}{growth}{_certified(recorder, settled_factor)}."
    return f"{unchanged.capitalize()} since t = {number(since)}; without another change the run settles at t = {number(settles_at)}."


def _certified(recorder: Recorder, settled_factor: float) -> str:
    """Say what the certificate of a run tells, if it has settled by one; nothing else."""
    horizon = recorder.settling.certified_until(settled_factor)
    if horizon is None:
        return ""
    dormant, margin = recorder.last("dormant_until"), min(float(np.nanmin(recorder.last(name))) for name in ("margin_min", "draw_margin_min"))
    first = "no dormant neuron is on its way to escape" if math.isinf(dormant) else f"no dormant neuron escapes before t = {number(dormant)}"
    return f". Until t = {number(horizon)} nothing is foretold to change them: by present forces {first}, and the least margin, {margin:.3g}, lasts"


def _standstill(recorder: Recorder, state: State, integrator: Integrator, settled_factor: float) -> list[str]:
    """Say whether a flow moves, and what moves most, that was followed as long as times go, or has no gradient left, without settling."""
    times, loss, norm = (np.asarray(recorder.records[name]) for name in ("time", "loss", "gradient_norm"))
    over = times[-1] >= LAST_TIME * (1.0 - 1e-12) or norm[-1] == 0.0
    if not integrator.follows_flow or recorder.settling.reached(settled_factor) or not over:
        return []
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        falls = np.log(times) + 2.0 * np.log(norm) - np.log(loss)
    moving = np.flatnonzero(~(falls < math.log(NOTHING_MOVES)) & (times > 0.0))
    still = times[moving[-1] + 1 :] if len(moving) else times[1:]
    gradient = np.abs(np.asarray(recorder.objective.gradient(state.c))).ravel()
    fastest = int(gradient.argmax())
    fall = fall_while_time_doubles(times[-1], float(loss[-1]), float(norm[-1])).sentence
    what = f"{integrator.field.component(fastest)} = {np.asarray(state.c).ravel()[fastest]:.3g} moves most" if gradient[fastest] > 0.0 else ""
    return [f"{_since_when(still, from_start=float(norm[0]) == 0.0)}: {'; '.join(filter(None, (fall, what)))}."]


def _since_when(still: np.ndarray, *, from_start: bool) -> str:
    """Say since when nothing moves, from the times of the records from which on nothing does; none, and the flow creeps."""
    if from_start:
        return "Nothing moves from the beginning"
    return f"Nothing moves since t = {number(float(still[0]))}" if len(still) else "It creeps"


def _limit(integrator: Integrator, horizon: float, t_end: float | None) -> str:
    """Say what ended a run that had not settled."""
    if t_end is not None:
        return f"t_end = {number(t_end)}"
    steps = integrator.steps_until(horizon)
    if steps is None:
        return f"t = {number(horizon)}"
    return f"the default limit of {steps} step{'s' * (steps != 1)}; to go on: --resume and a later --t-end, in Python resume=True and t_end"


def _predicted(recorder: Recorder) -> list[str]:
    """Say how well the initial state predicted which view of each class escapes first, where there is more than one and they escape at all."""
    if recorder.objective.parameters.V == 1 or not recorder.objective.has_escapes:
        return []
    right, classes = count_predicted(recorder.escapes, recorder.start_values["predicted_entry_time"])
    return [f"The initial state predicted which feature of a class escapes first in {right} of {classes} classes."] if classes else []


def _gaps(recorder: Recorder) -> list[str]:
    """Say how far apart the two features of a class are, of a linear model: that is what Section 3 is about."""
    p = recorder.objective.parameters
    if p.V == 1 or recorder.objective.has_escapes:
        return []
    has_points = np.bincount(recorder.objective.data.labels, minlength=p.k) > 0
    gap, strength = recorder.last("view_gap")[has_points], np.abs(recorder.last("own_correlations")).max(axis=(1, 2))[has_points]
    what = f"Gap Delta_y between the correlations of a class with its features: median {np.median(gap):.3g}, largest {gap.max():.3g}"
    of = "" if has_points.all() else f" over the {len(gap)} classes that have training points"
    return [f"{what}{of}, beside a larger correlation of {np.median(strength):.3g} (median)."]


def _without_points(recorder: Recorder) -> list[str]:
    """Say how many classes nothing was trained on."""
    p = recorder.objective.parameters
    empty = p.k - len(np.unique(recorder.objective.data.labels))
    return [f"{empty} of {p.k} classes have no training point."] if empty else []


def _descent(recorder: Recorder, integrator: Integrator) -> list[str]:
    """Say what gradient descent would need to go where a flow has gone, or how far its steps are from that where it has been.

    The largest step is told with two digits, rounded down: it is a bound, and depends on which states happened to be recorded. A flow records its
    escapes, where the limit is least; gradient descent with large steps jumps over them.
    """
    eta, taken = faithful_eta(recorder), integrator.learning_rate
    if eta is None:
        return []
    largest = _two_digits(eta, ROUND_FLOOR)
    needed = f"steps of at most {number(largest)}"
    if taken is None:
        steps = number(_two_digits(max(1.0, recorder.times[-1] / largest)))
        return [f"Plain gradient descent would need {needed} to follow this to {100.0 * FAITHFUL:g} %: {steps} of them or more."]
    times = number(_two_digits(taken / largest))
    comparison = "" if taken <= eta else f"; these are {'a little larger' if times == '1' else f'{times} times as large'}"
    elsewhere = "It may have jumped over states where the limit is far smaller: a run with integrator flow names that"
    return [f"At the states that this run recorded, {needed} follow the gradient flow to {100.0 * FAITHFUL:g} %{comparison}. {elsewhere}."]


def _two_digits(value: float, rounding: str = ROUND_HALF_EVEN) -> float:
    """Return a positive number rounded to two digits."""
    return float(Context(prec=2, rounding=rounding).create_decimal(value))
