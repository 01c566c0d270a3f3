"""What is predicted of a run beyond its end, as a time and a power of k: until when no second feature comes, and nothing undoes training accuracy.

What is said here is predicted from trends over the last factor of time (`mvsim.papers.midpoint_mixup.theorems.trends`), with the error of the fit.
It is measured, and decides only whether a run that rests on missing features was followed for long enough
(`mvsim.papers.midpoint_mixup.theorems.theorems`): up to its end a run has been followed, beyond it has not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mvsim.judging.verdict import Verdict, constant, not_applicable
from mvsim.papers.midpoint_mixup.assumptions import noise
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.evidence.persistence import FACTOR
from mvsim.papers.midpoint_mixup.theorems.definition import Learned
from mvsim.papers.midpoint_mixup.theorems.predicted_escapes import predicted_escapes
from mvsim.papers.midpoint_mixup.theorems.theorems import ONE_FEATURE
from mvsim.papers.midpoint_mixup.theorems.trends import COUNTED_ON, FEWEST, TESTED, Moment, power_of_ten, trend

NEVER = Moment(np.inf, 0.0, np.inf, 0.0)
"""Of a view that has escaped or has no neuron on its way."""


def permanence(evidence: Evidence, learned: Learned, theorem: str) -> list[Verdict]:
    """Return how long what a theorem says of a run is predicted to stay true."""
    parts = {"permanence": one_feature_stays(evidence, learned)} if theorem == "4.6" else {}
    parts["what could undo it"] = nothing_undoes_it(evidence, theorem)
    return [replace(verdict, number=theorem, part=part, gathered="least") for part, verdict in parts.items()]


def stays_until(evidence: Evidence, predicted: Sequence[Verdict]) -> float:
    """Return ln of the time up to which no second feature is counted on in enough classes; minus infinity where that is not predicted."""
    return max(
        (verdict.measured * evidence.log_k for verdict in predicted if verdict.part == "permanence" and verdict.measured is not None), default=-np.inf
    )


def one_feature_stays(evidence: Evidence, learned: Learned) -> Verdict:
    """Theorem 4.6: the power C of k such that no second feature is predicted to be learned in (1 - o(1)) k classes up to t = k^C.

    That ends when one class more than there may be has learned both. Of the way in ln t to where that cannot have happened by the fit, the part
    `mvsim.papers.midpoint_mixup.theorems.trends.COUNTED_ON` is counted on. The detail has the first escape of any unlearned view as it is predicted.
    Whether the feature that is learned stays so is not predicted: noise in the linear part of the activation can undo it on a part of D.
    """
    name = "Theorem 4.6 (permanence)"
    statement = f"the power C of k up to which, t = k^C, no second feature is predicted in {ONE_FEATURE:g} k classes; of the first nothing is said"
    p = evidence.parameters
    if p.alpha <= 2.0:
        return not_applicable(name, statement, "at alpha <= 2 there is no dormant view whose escape could be predicted")
    predicted = predicted_escapes(evidence)
    if predicted.records < FEWEST:
        return not_applicable(name, statement, _too_few(predicted.records))
    one, needed = (learned.by_definition.sum(axis=1) == 1) & ~learned.partly.any(axis=1), int(np.ceil(ONE_FEATURE * p.k - 1e-9))
    if int(one.sum()) < needed:
        return not_applicable(name, statement, f"at the end {int(one.sum())} of {p.k} classes have exactly one feature, fewer than {needed}")
    waits = ~learned.by_definition & ~np.isnan(predicted.log_time)
    log_end = float(np.log(evidence.times[-1]))
    moments = [min(predicted.moment(int(y), view, log_end) if waits[y, view] else NEVER for view in range(p.V)) for y in np.flatnonzero(one)]
    order, classes = sorted(range(len(moments)), key=lambda i: moments[i].known), np.flatnonzero(one)
    first, last = moments[order[0]], moments[order[int(one.sum()) - needed]]
    which = f"a second feature comes first in class {classes[order[0]]}, {first}"
    which = "no class is on its way to learn both" if first == NEVER else which
    until = "ever, by its trend" if last.counted_on == np.inf else f"before t = {power_of_ten(last.counted_on)}"
    now = f"in at least {needed} of the {int(one.sum())} classes with one feature no second is expected {until}"
    detail = f"{_reached(evidence)}; by a trend of {predicted.records} records: {which}; {now}{_extrapolated(last)}"
    loud = noise(evidence)[-1]
    if loud >= 1.0:
        detail += f"; noise is in the linear regime (V Q delta4 max c / rho = {loud:.3g}, not << 1): it may turn the trend, and undo learned features"
    return replace(constant(name, statement, last.counted_on / evidence.log_k, detail=detail), soon=which)


def not_for_long(evidence: Evidence, predicted: Sequence[Verdict]) -> str:
    """Return what can end what a theorem says, by its fit, before time has grown by `FACTOR` after the end of a run; nothing if it lasts longer."""
    for verdict in predicted:
        if verdict.measured is not None and verdict.measured * evidence.log_k - np.log(evidence.times[-1]) < COUNTED_ON * np.log(FACTOR):
            return verdict.soon
    return ""


def nothing_undoes_it(evidence: Evidence, theorem: str) -> Verdict:
    """Theorems 4.6 and 4.7: the power C of k up to which nothing is predicted to undo training accuracy.

    That is until the margins are gone or the premise under which they are followed: that noise stays in the polynomial part.

    The margin of a training point is its own output minus the largest other one on the same point. The least of all points is followed in ln t;
    training accuracy is 1 if and only if it is positive. V Q delta4 max c / rho is followed, too: above 1 a patch of noise enters the linear
    regime and speaks for its own classes, and that is what could turn the trend. Where it is above 1 already nothing is predicted.
    """
    name = f"Theorem {theorem} (what could undo it)"
    statement = "the power C of k such that outputs on training points are predicted to keep their order up to t = k^C"
    margin = evidence.least_margin[:, evidence.class_sizes > 0].min(axis=1)
    linear = noise(evidence)
    if not margin[-1] > 0.0:
        return not_applicable(name, statement, f"the least margin of a training point is {margin[-1]:.4g}: it is not right, and trends tell nothing")
    fitted = trend(evidence, np.stack([margin, linear], axis=1))
    if np.isnan(fitted.slope).any():
        return not_applicable(name, statement, _too_few(fitted.records))
    margins = f"least margin {margin[-1]:.4g}, changing by {fitted.slope[0]:.3g} +- {fitted.error[0]:.2g} per factor e of time"
    if linear[-1] >= 1.0:
        why = f"V Q delta4 max c / rho = {linear[-1]:.3g} instead of << 1, so noise is in the linear regime and a trend of margins predicts nothing"
        return not_applicable(name, statement, f"{why}; {margins}; {_reached(evidence)}")
    lost, loud = fitted.moment(0, 0.0), fitted.moment(1, 1.0)
    first = f"{margins}, gone {lost}"
    sooner = min(lost, loud, key=lambda moment: moment.counted_on)
    detail = f"{first}; V Q delta4 max c / rho = {linear[-1]:.3g}, above 1 {loud}; {_reached(evidence)}{_extrapolated(sooner)}"
    return replace(constant(name, statement, sooner.counted_on / evidence.log_k, detail=detail), soon=first)


def _extrapolated(moment: Moment) -> str:
    return f"; such predictions were tested over {TESTED:g} decades of time only" if moment.is_extrapolated else ""


def _too_few(records: int) -> str:
    return f"too short for a prediction: {records} records since things settled, a trend needs {FEWEST}; go on with --resume and a later --t-end"


def _reached(evidence: Evidence) -> str:
    end = np.log(max(float(evidence.times[-1]), 1e-300))
    return f"followed to t = 10^{end / np.log(10.0):.3g} = k^{end / evidence.log_k:.3g}"
