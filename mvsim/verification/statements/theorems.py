"""Theorems 4.6 and 4.7 on one run.

It is said whether what they state holds, by what margin, and whether it stays so. Each has two parts, training accuracy and features. A part
is decided only if what it is about has not changed while time grew by `mvsim.verification.evidence.persistence.FACTOR`, because the theorems speak of
all later times; before that it is inconclusive. Once every view is learned the root of it is enough (`mvsim.recording.settling.growth_to_settle`).
What has not been learned may still come, so that what is missing fails only after it has been missing while t grew by
`mvsim.verification.evidence.persistence.PATIENCE`. That Theorem 4.6 holds rests on what is missing too, but on the first factor alone, since runs
end there when they have settled: one that is followed further may still turn. What is said is about the run and up to its end; when an unlearned view
is predicted to escape after all, says `mvsim.verification.statements.permanence`.

They speak of all later times, from some time on, which is read as that from which training accuracy is 1. A theorem fails at once where since then so
many classes have lost a learned view that the others are too few. That a lost view comes back is not waited for, a convention: in none of the 60 runs
of the study flow_waiting, all of Midpoint Mixup, was one lost for a while.

A view is learned if it suffices wherever that was looked at, as Definition 4.5 has it, and not learned otherwise. One that has escaped and suffices
on a part of D is on its way or stuck: it is not enough for Theorem 4.7, and leaves its class open for Theorem 4.6. A dormant view, on which all
neurons of the class are in the polynomial part, may suffice on a part of D as well: where noise tells the class, or where all outputs are 0 but a
tiny one. That is said, and the view counts as not learned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mvsim.intervals import CONFIDENCE
from mvsim.recording.feature_test import is_learned
from mvsim.recording.settling import growth_to_settle
from mvsim.run import Run
from mvsim.verification.evidence.persistence import FACTOR, PATIENCE, has_lasted, training_status, unchanged_since
from mvsim.verification.statements.definition import Learned
from mvsim.verification.verdict import Count, Status, Verdict, margin_above

ONE_FEATURE = 0.9
"""What 1 - o(1) means at one k: all but one class in ten. The theorem leaves it open; with k = 10 nothing finer could be told."""

PARTLY = ", which is why it is undecided: by Definition 4.5 such a view is not learned, but it is not without use either"
"""Stands behind the number of classes that leave a theorem open though the run has lasted long enough."""


def theorem_4_6(run: Run, learned: Learned) -> list[Verdict]:
    """Theorem 4.6 (ERM): training accuracy 1, and exactly one feature learned in (1 - o(1)) k classes, for all later t."""
    count, partly, lost = learned.by_definition.sum(axis=1), learned.partly, learned.lost_since(_trained_since(run, learned))
    statement = f"exactly one feature is learned in (1 - o(1)) k classes, from some t on; {ONE_FEATURE:g} stands for 1 - o(1), a convention"
    classes = _Classes((count == 1) & ~partly.any(axis=1), (count < 2) & (partly & ~lost).any(axis=1), np.asarray(lost.any(axis=1)), ONE_FEATURE, 1)
    return [_training_accuracy("4.6", run, learned), _features("4.6", statement, run, learned, classes)]


def theorem_4_7(run: Run, learned: Learned) -> list[Verdict]:
    """Theorem 4.7 (Midpoint Mixup): training accuracy 1, and both features of every class learned, for all later t."""
    both, lost = learned.by_definition.sum(axis=1) == 2, np.asarray(learned.lost_since(_trained_since(run, learned)).any(axis=1))
    statement = "both features of every class are learned, from some t on"
    return [
        _training_accuracy("4.7", run, learned),
        _features("4.7", statement, run, learned, _Classes(both, np.zeros_like(both), lost, 1.0, 2)),
    ]


class _Classes(NamedTuple):
    """What the classes are at the end of a run, and what a theorem asks of them.

    Attributes
    ----------
    right, open, lost : numpy.ndarray
        (k,) bool: which are as it says, which may be, and which have lost a view that was learned while training accuracy was 1.
    bound : float
        The fraction of them that has to be as it says.
    wanted : int
        How many features such a class has.
    """

    right: np.ndarray
    open: np.ndarray
    lost: np.ndarray
    bound: float
    wanted: int

    @property
    def broken(self) -> bool:
        """Whether so many have lost a view that the others are too few."""
        return float((self.right | ~self.lost).mean()) < self.bound


class Theorem(NamedTuple):
    """A theorem about one training loss: the loss it speaks of and the function that judges a run."""

    method: str
    judge: Callable[[Run, Learned], list[Verdict]]


THEOREMS: dict[str, Theorem] = {"4.6": Theorem("erm", theorem_4_6), "4.7": Theorem("midpoint", theorem_4_7)}
"""By number."""


def _as_power(run: Run, time: float) -> str:
    """Say which power of k a time is."""
    return f" = k^{np.log(time) / np.log(run.parameters.k):.3g}" if time > 1.0 else ""


def _accuracy(run: Run, learned: Learned) -> np.ndarray:
    """Return (T,): training accuracy at the records, the last of them computed again from the final network."""
    accuracy = run.dataset["training_accuracy"].to_numpy().copy()
    accuracy[-1] = learned.accuracy
    return accuracy


def _trained_since(run: Run, learned: Learned) -> float:
    """Return since when training accuracy is 1; infinite if it is not."""
    accuracy = _accuracy(run, learned)
    return unchanged_since(run.dataset["time"].to_numpy(), accuracy) if accuracy[-1] == 1.0 else np.inf


def _training_accuracy(number: str, run: Run, learned: Learned) -> Verdict:
    """Decide whether argmax_s g_s(x_i) = y_i on all training points from some time on."""
    times, accuracy = run.dataset["time"].to_numpy(), _accuracy(run, learned)
    since, last = unchanged_since(times, accuracy), float(accuracy[-1])
    growth = growth_to_settle(FACTOR, learned.by_definition)
    status = training_status(times, accuracy, growth)
    before = int(((accuracy[:-1] == 1.0) & (accuracy[1:] < 1.0)).sum())
    detail = f"it is {last:.4g} from t = {since:.4g} to t = {times[-1]:.4g}{_as_power(run, times[-1])}"
    if status == "inconclusive" and last == 1.0:
        detail += f"; too short to tell: it has to last while t grows {_fold(growth)}"
    elif status == "inconclusive":
        detail += f"; too short to tell: it fails where it has stayed below 1 while t grew {_fold(PATIENCE)}"
    detail += f"; reached and lost {before} times before" if before else ""
    name, part = f"Theorem {number} (training accuracy)", "training accuracy"
    statement = "training accuracy is 1 from some t on"
    return Verdict(name, status, statement, last, 1.0, margin_above(last, 1.0), detail, number=number, part=part)


def _features(number: str, statement: str, run: Run, learned: Learned, classes: _Classes) -> Verdict:
    """Decide the part about features, given what the classes are at the end of the run."""
    times = run.dataset["time"].to_numpy()
    record = is_learned(run.dataset["feature_learned"].to_numpy())
    accuracy = _accuracy(run, learned)
    right, bound = classes.right, classes.bound
    measured, possible = float(right.mean()), float((right | classes.open).mean())
    since = _since(times, record, learned)
    # What is learned stays so; what is not may still come, and until then its class may become what the theorem says.
    waiting = (learned.by_definition.sum(axis=1) < classes.wanted) & ~classes.lost
    may_come = measured < bound <= float((right | classes.open | waiting).mean())
    growth = growth_to_settle(FACTOR, learned.by_definition)
    factor = PATIENCE if may_come or waiting.sum() > (1.0 - bound) * len(right) + 1e-9 else growth
    lasting = training_status(times, accuracy, growth) != "inconclusive" and has_lasted(times, since, factor)
    status: Status = "inconclusive"
    if classes.broken:
        status = "fails"
    elif lasting and not measured < bound <= possible:
        status = "holds" if measured >= bound else "fails"
    end = f"t = {times[-1]:.4g}{_as_power(run, times[-1])}"
    lasted = f"unchanged since t = {since:.4g}, true to {end}" if since < times[-1] else f"the last change is at the end, {end}"
    detail = f"{int(right.sum())} of {len(right)} classes; {lasted}"
    too_short = not lasting and status == "inconclusive"
    detail += f"; too short to tell: it and training accuracy have to last while t grows {_fold(factor)}" if too_short else ""
    detail += f"; a learned view suffices on at least {learned.least_share:.3f} of D ({100 * CONFIDENCE:g}%, {learned.draws} fresh draws per class)"
    others = np.flatnonzero(~right)
    if len(others):
        named = f"{', '.join(map(str, others[:10]))}{' ...' if len(others) > 10 else ''}"
        detail += f"; not so in {'class' if len(others) == 1 else 'classes'} {named}"
    partly = int(learned.partly.any(axis=1).sum())
    detail += f"; classes in which a view that is not learned but has escaped suffices on a part of D: {partly}{_part(learned)}" if partly else ""
    left_open = lasting and status == "inconclusive"
    detail += PARTLY if left_open else ""
    dormant = int(learned.dormant_partly.any(axis=1).sum())
    detail += f"; classes in which a dormant view is right on a part of D, which makes it no learned one: {dormant}" if dormant else ""
    differs = int((record[-1] != learned.by_definition).any(axis=1).sum())
    detail += f"; classes of which more draws say otherwise than the run's own: {differs}" if differs else ""
    lost = int(learned.lost.any(axis=1).sum())
    detail += f"; classes that have lost a view that was learned at an earlier saved state: {lost}" if lost else ""
    detail += f", {int(classes.lost.sum())} of them while training accuracy was 1" if classes.lost.any() else ""
    name, margin, count = f"Theorem {number} (features)", margin_above(measured, bound), Count(int(right.sum()), len(right), "classes")
    return Verdict(name, status, statement, measured, bound, margin, detail, number=number, part="features", count=count, partly=left_open)


def _since(times: np.ndarray, record: np.ndarray, learned: Learned) -> float:
    """Return the time since which features are as they are at the end, by the run's own draws (T, k, V) and, where saved states tell, by all draws.

    A change by all draws that comes later, and one by which a view was lost and which the run's own draws have not seen, counts from the first saved
    state after it; after the last of them, from the end. That all draws need a little longer to see a view learned than the run's own is nothing.
    """
    changed, unseen = unchanged_since(times, record), None
    for state in learned.earlier:
        at = record[max(int(np.searchsorted(times, state.time, side="right")) - 1, 0)]
        differs = state.learned & ~learned.by_definition if state.time < changed else state.learned != learned.by_definition
        if (differs & (at == record[-1])).any():
            unseen = state.time
    if unseen is None:
        return changed
    return max(changed, next((state.time for state in learned.earlier if state.time > unseen), float(times[-1])))


def _fold(factor: float) -> str:
    """Return a factor in words: "3.16-fold", "10,000-fold"."""
    return f"{factor:,.0f}-fold" if factor >= 100.0 else f"{factor:.3g}-fold"


def _part(learned: Learned) -> str:
    """Say on how many of the fresh draws the views suffice that do so on a part."""
    of_draws = learned.fresh[learned.partly]
    least, most = float(of_draws.min()), float(of_draws.max())
    return f" ({least:.3g} of the fresh draws)" if least == most else f" ({least:.3g} to {most:.3g} of the fresh draws)"
