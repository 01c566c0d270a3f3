"""The two parts of Theorems 4.6 and 4.7: training accuracy is 1, and in enough classes as many features are learned as it says, for all later times.

What is wrong counts only once it has lasted: see `mvsim.papers.midpoint_mixup.theorems.theorems`, which says what a theorem asks of the classes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mvsim.judging.number_text import fold_text, time_text, times_text
from mvsim.judging.verdict import Count, Status, Verdict, margin_above
from mvsim.numerics.intervals import CONFIDENCE
from mvsim.papers.midpoint_mixup.evidence.persistence import FACTOR, PATIENCE, has_lasted, lasting_times, too_short, training_status, unchanged_since
from mvsim.papers.midpoint_mixup.theorems.definition import Learned
from mvsim.runs.recording.fresh_draws import is_learned
from mvsim.runs.recording.settling import growth_to_settle
from mvsim.runs.run import Run


def accuracy_of(run: Run, learned: Learned) -> np.ndarray:
    """Return (T,): training accuracy at the records, the last of them computed again from the final network."""
    accuracy = run.dataset["training_accuracy"].to_numpy().copy()
    accuracy[-1] = learned.accuracy
    return accuracy


def trained_since(run: Run, learned: Learned) -> float:
    """Return since when training accuracy is 1; infinite if it is not."""
    accuracy = accuracy_of(run, learned)
    return unchanged_since(run.dataset["time"].to_numpy(), accuracy) if accuracy[-1] == 1.0 else np.inf


def training_accuracy(number: str, run: Run, learned: Learned) -> Verdict:
    """Decide whether argmax_s g_s(x_i) = y_i on all training points from some time on."""
    times, accuracy = run.dataset["time"].to_numpy(), accuracy_of(run, learned)
    since, last = unchanged_since(times, accuracy), float(accuracy[-1])
    growth = growth_to_settle(FACTOR, learned.by_definition)
    status = training_status(lasting_times(run), accuracy, growth)
    before = int(((accuracy[:-1] == 1.0) & (accuracy[1:] < 1.0)).sum())
    detail = f"it is {last:.4g} from t = {since:.4g} to {time_text(times[-1], run.parameters.k)}"
    detail += f"; {too_short(last, growth)}" if status == "inconclusive" else ""
    detail += f"; reached and lost {times_text(before)} before" if before else ""
    name, part = f"Theorem {number} (training accuracy)", "training accuracy"
    statement = "training accuracy is 1 from some t on"
    return Verdict(name, status, statement, last, 1.0, margin_above(last, 1.0), detail, number=number, part=part)


PARTLY = ", which is why it is undecided: by Definition 4.5 such a view is not learned, but it is not without use either"
"""Stands behind the number of classes that leave a theorem open though the run has lasted long enough."""


class Classes(NamedTuple):
    """What the classes are at the end of a run, and what a theorem asks of them."""

    right: np.ndarray  # (k,) bool: which are as it says, which may be, and which have lost a view that was learned while training accuracy was 1
    open: np.ndarray
    lost: np.ndarray
    bound: float  # the fraction of them that has to be as it says
    features: int  # how many features such a class has
    outcome: str  # what that is, in words
    stays: float = -np.inf  # ln of the time up to which no more features than that are predicted in the fraction of them

    @property
    def broken(self) -> bool:
        """Whether so many have lost a view that the others are too few."""
        return float((self.right | ~self.lost).mean()) < self.bound


def features(number: str, statement: str, run: Run, learned: Learned, classes: Classes) -> Verdict:
    """Return the verdict on the part about features, given what the classes are at the end of the run."""
    decision, right = _decided(run, learned, classes), classes.right
    count, measured = Count(int(right.sum()), len(right), "classes", outcome=classes.outcome), float(right.mean())
    left_open = decision.is_lasting and decision.status == "inconclusive"
    details = [f"{count.right} of {count.of} classes", *_lasting_text(run, decision)]
    details += [f"a learned view suffices on at least {learned.least_share_text} of D ({100 * CONFIDENCE:g}%, {learned.draws} fresh draws per class)"]
    details += [] if right.all() else [f"not so in {_classes_named(np.flatnonzero(~right))}"]
    details += [*_partly_text(learned, left_open), *_seen_otherwise(run, learned, classes)]
    name, margin = f"Theorem {number} (features)", margin_above(measured, classes.bound)
    detail = "; ".join(details)
    return Verdict(
        name, decision.status, statement, measured, classes.bound, margin, detail, number=number, part="features", count=count, partly=left_open
    )


class Decision(NamedTuple):
    """What is said of the part about features."""

    status: Status
    since: float  # the time since which features are as they are at the end
    factor: float  # by which time has to grow after that
    is_lasting: bool  # whether it has, with training accuracy through with its changes
    until: float  # the time to which a run has to be followed for that, if nothing changes any more


def _decided(run: Run, learned: Learned, classes: Classes) -> Decision:
    times, record = run.dataset["time"].to_numpy(), is_learned(run.dataset["feature_learned"].to_numpy())
    right, bound = classes.right, classes.bound
    measured, possible = float(right.mean()), float((right | classes.open).mean())
    since = _since(times, record, learned)
    # What is learned stays so; what is not may still come, and make its class what the theorem says, or end that it is so.
    count = learned.by_definition.sum(axis=1)
    waiting = (count < classes.features) & ~classes.lost
    may_come = measured < bound <= float((right | classes.open | waiting).mean())
    may_end = float((right & (count == learned.by_definition.shape[1])).mean()) < bound <= measured
    certified = len(times) > 1 and classes.stays >= np.log(PATIENCE * max(since, times[1]))
    growth = growth_to_settle(FACTOR, learned.by_definition)
    is_missing = may_come or waiting.sum() > (1.0 - bound) * len(right) + 1e-9
    factor = PATIENCE if is_missing or (may_end and not certified) else growth
    accuracy = accuracy_of(run, learned)
    lasting = lasting_times(run)
    is_lasting = training_status(lasting, accuracy, growth) != "inconclusive" and has_lasted(lasting, since, factor)
    status: Status = "inconclusive"
    if classes.broken:
        status = "fails"
    elif is_lasting and not measured < bound <= possible:
        status = "holds" if measured >= bound else "fails"
    return Decision(status, since, factor, is_lasting, max(factor * since, growth * unchanged_since(times, accuracy)))


def _since(times: np.ndarray, record: np.ndarray, learned: Learned) -> float:
    """Return the time since which features are as they are at the end, by the run's own draws (T, k, V) and, where saved states tell, by all draws.

    A change by all draws that comes later, and one by which a view was lost and which the run's own draws have not seen, counts from the first saved
    state after it; after the last of them, from the end. That all draws need a little longer to see a view learned than the run's own is nothing.
    """
    changed, unseen = unchanged_since(times, record), None
    for state in learned.earlier:
        by_own_draws = record[max(int(np.searchsorted(times, state.time, side="right")) - 1, 0)]
        differs = state.learned & ~learned.by_definition if state.time < changed else state.learned != learned.by_definition
        if (differs & (by_own_draws == record[-1])).any():
            unseen = state.time
    if unseen is None:
        return changed
    return max(changed, next((state.time for state in learned.earlier if state.time > unseen), float(times[-1])))


def _lasting_text(run: Run, decision: Decision) -> list[str]:
    """Say since when features are as they are, and whether that is long enough."""
    last = float(run.dataset["time"][-1])
    end = time_text(last, run.parameters.k)
    until = "true to" if decision.status == "holds" else "so to"
    details = [f"unchanged since t = {decision.since:.4g}, {until} {end}" if decision.since < last else f"the last change is at the end, {end}"]
    certified = float(lasting_times(run)[-1])
    details += [f"nothing is on its way to change it before t = {certified:.4g}"] if certified > last else []
    if not decision.is_lasting and decision.status == "inconclusive":
        why = "what is missing may still come, so that " if decision.factor == PATIENCE else ""
        details.append(f"too short to tell: {why}it and training accuracy have to last while t grows {fold_text(decision.factor)}")
        until = "" if run.status in ("interrupted", "running") else f" --t-end {decision.until:.2g} or more"
        details += [f"go on with --resume{until}"] if decision.until > last else []
    return details


def _classes_named(classes: np.ndarray) -> str:
    """Return classes by their numbers, ten at most: "classes 3, 5"."""
    return f"{'class' if len(classes) == 1 else 'classes'} {', '.join(map(str, classes[:10]))}{' ...' if len(classes) > 10 else ''}"


def _partly_text(learned: Learned, left_open: bool) -> list[str]:
    """Name the classes in which a view suffices on a part of what was looked at, and count those in which a dormant one does."""
    partly, dormant = np.flatnonzero(learned.partly.any(axis=1)), int(learned.dormant_partly.any(axis=1).sum())
    why = PARTLY if left_open else ""
    details = [f"{_classes_named(partly)}: a view has escaped and is not learned, though it is right on {_part(learned)}{why}"] if len(partly) else []
    return details + ([f"classes in which a dormant view is right on a part of D, which makes it no learned one: {dormant}"] if dormant else [])


def _part(learned: Learned) -> str:
    """Say on how many fresh draws the views suffice that do so on a part; where that is on all or none, on how many training points, too."""
    by_training = learned.partly & (is_learned(learned.fresh) | (learned.fresh == 0.0))
    share = f"{_percent(learned.fresh[learned.partly])} of the fresh draws"
    return share + (f" and {_percent(learned.training[by_training])} of the training points" if by_training.any() else "")


def _percent(shares: np.ndarray) -> str:
    least, most = (f"{100.0 * float(share):.3g}" for share in (shares.min(), shares.max()))
    return f"{least} %" if least == most else f"{least} to {most} %"


def _seen_otherwise(run: Run, learned: Learned, classes: Classes) -> list[str]:
    """Count the classes of which the run's own draws say something else, and those that have lost a view; say if that may not have been seen."""
    record, details = is_learned(run.dataset["feature_learned"].to_numpy()[-1]), []
    differs, own = int((record != learned.by_definition).any(axis=1).sum()), run.provenance["options"]["n_test"]
    if differs:
        details.append(f"classes in which all draws disagree with the {own} of the run: {differs}")
    if lost := int(learned.lost.any(axis=1).sum()):
        while_trained = f", {int(classes.lost.sum())} of them while training accuracy was 1" if classes.lost.any() else ""
        details.append(f"classes that have lost a view that was learned at an earlier saved state: {lost}{while_trained}")
    trained = trained_since(run, learned)
    if np.isfinite(trained) and not any(state.time >= trained for state in learned.earlier):
        between = f"between t = {trained:.4g}, when it was trained, and the end"
        details.append(f"no state was saved {between}: a view that was learned and lost meanwhile would not be noticed")
    return details
