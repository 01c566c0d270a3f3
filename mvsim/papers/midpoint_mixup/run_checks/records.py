"""Records that belong to each other and to the states that were saved.

A run has many records and few saved states. What is looked at, and where:

=========================  =====================================================================================================================
at saved states            everything recorded of them is evaluated again from their correlations, with the parameters and the seed of the file
at every record            what is a function of the own correlations that it has; between which records escapes lie; how the training accuracy stands
                           to the margins and softmax gaps beside it
between two records        how far own correlations have moved (`mvsim.papers.midpoint_mixup.run_checks.gradient_flow.motion`)
where a replay comes by    own correlations, the loss, the learned features, training accuracy and margins
(`mvsim.papers.midpoint_mixup.run_checks.replay_of_flow`)
=========================  =====================================================================================================================

So outputs and softmax gaps at a record between two saved states are as the file has them, and learned features and margins where no replay comes by:
since when something has been learned rests on these. Every comparison is relative to the size of the number itself.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from mvsim.flow import INTEGRATORS, State
from mvsim.flow.base import next_log_mark
from mvsim.flow.flow import MARK_EVERY
from mvsim.judging.verdict import Verdict, at_most, not_applicable
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.run_checks.origin import ROUND_OFF, relative_difference
from mvsim.runs.recording.observation import Observation
from mvsim.runs.recording.snapshots import Snapshots
from mvsim.runs.recording.variables import When, variables_of

RECOMPUTED = 1e-4
"""Most relative difference between what is recorded and what is evaluated again on points: cancellation raises round-off to 1e-7 at most."""

NOT_OF_THE_STATE = ("time", "step", "dissipation", "log_dissipation", "sharpness", "turning_rate")
"""What a state alone does not tell, or only with many products with the Hessian."""

NEXT_RECORD: dict[str, Callable[[int], int]] = {"flow": lambda step: step + MARK_EVERY, "gd": next_log_mark}
"""By integrator: from the step of a record to that at which the next one is at the latest."""

JUMPED = 0.5
"""Part of its size by which an own correlation has to move from one record to the next to have passed a threshold and come back, in steps of gradient
descent that are too large. Those that did so at k = 5 moved by 1.4 and more."""

OF_CORRELATIONS = ("c", "threshold", "off_diagonal")
"""What variables are measured of that are functions of the correlations alone."""


def recomputed(evidence: Evidence) -> list[Verdict]:
    """Evaluate all that was recorded of saved states again: functions of the correlations to round-off, what takes points to `RECOMPUTED`."""
    run, test = evidence.run, evidence.feature_test
    steps = run.dataset["step"].to_numpy()
    variables = {name: variable for name, variable in variables_of(When.RECORD).items() if name not in NOT_OF_THE_STATE}
    exact = {name for name, variable in variables.items() if set(variable.of) <= set(OF_CORRELATIONS)}
    results, times = [], []
    for snapshot in evidence.snapshots:
        if not (steps == snapshot.step).any():
            continue
        record = int(np.argmax(steps == snapshot.step))
        evidence.objective.begin_step(snapshot.step)
        observation = Observation(State(snapshot.step, snapshot.time, snapshot.c), evidence.objective, test, evidence.threshold, None)
        size = {"view_gap": evidence.total_at(snapshot).max(axis=1)}  # a difference of these
        kept = {name: run.dataset[name].values[record] for name in variables}
        again = {name: variables[name].measured(observation) for name in kept}
        results.append({name: relative_difference(kept[name], value, size.get(name)) for name, value in again.items()})
        times.append(snapshot.time)
    return [
        _worst("Records (correlations)", "functions of saved correlations", exact, results, times, len(steps), ROUND_OFF),
        _worst("Records (recomputed)", "what takes points", variables.keys() - exact, results, times, len(steps), RECOMPUTED),
    ]


def _worst(name: str, what: str, of: set[str], results: list[dict[str, float]], times: list[float], records: int, bound: float) -> Verdict:
    """Return the largest difference at the records of saved states, and the first time at which one is beyond the bound."""
    statement = f"{what}, recorded of saved states, evaluated again: largest relative difference"
    if not results:
        return not_applicable(name, statement, "no saved state has a record", bound)
    largest = [max((differences[one], one) for one in sorted(of & differences.keys())) for differences in results]
    difference, variable = max(largest)
    beyond = [time for (value, _), time in zip(largest, times, strict=True) if not value <= bound]
    detail = f"{len(of)} variables at {len(results)} of {records} records, the others have no saved state; largest in {variable}"
    return at_most(name, statement, difference, bound, detail, beyond[0] if beyond else None)


def consistent(evidence: Evidence) -> Verdict:
    """Form all that follows from own correlations again at every record."""
    own, dataset = evidence.own, evidence.run.dataset
    active = own >= evidence.threshold
    totals = np.where(active, own, 0.0).sum(axis=2)
    differences = [
        (relative_difference(dataset["max_correlation"].values, own.max(axis=2)), "max_correlation"),
        (relative_difference(dataset["total_correlation"].values, totals), "total_correlation"),
        (relative_difference(dataset["active_neurons"].values, active.sum(axis=2)), "active_neurons"),
        (relative_difference(dataset["view_gap"].values, totals.max(axis=2) - totals.min(axis=2), totals.max(axis=2)), "view_gap"),
    ]
    difference, name = max(differences)
    statement = "what follows from recorded own correlations, formed again at every record: largest relative difference"
    return at_most("Records (consistent)", statement, difference, ROUND_OFF, f"{len(differences)} variables at {len(own)} records; largest in {name}")


def ordered(evidence: Evidence) -> Verdict:
    """Look whether records, saved states and the end follow each other, and whether the states are those that a run saves.

    Which states are saved follows from the records (`mvsim.runs.recording.snapshots`), so that one that was taken out is missed: replays begin at
    them. Two records may have the same time: at t = 10^54 steps after an escape are too short for double precision to tell.
    """
    run, dataset, wrong = evidence.run, evidence.run.dataset, list[str]()
    steps, times = dataset["step"].to_numpy(), evidence.times
    final_step, final_time = int(dataset["final_step"]), float(dataset["final_time"])
    if steps[0] != 0 or (np.diff(steps) <= 0).any() or not (np.diff(times) >= 0).all():
        wrong.append("records that do not begin at step 0 or do not follow each other")
    finished = run.status == "finished"
    if final_step < steps[-1] or final_time < times[-1] or ((final_step, final_time) != (steps[-1], times[-1]) and finished):
        wrong.append(f"an end at step {final_step}, t = {final_time:.4g}, beside a last record at step {steps[-1]}, t = {times[-1]:.4g}")
    t_end, step = (run.provenance["integrator"].get(name) for name in ("t_end", "learning_rate"))
    if t_end is not None and final_time > (t_end + (step or 0.0)) * (1.0 + ROUND_OFF):  # the last step of gradient descent may go beyond
        wrong.append(f"an end at t = {final_time:.4g}, beyond t_end = {t_end:.4g}")
    if missing := _missing_records(evidence):
        wrong.append(f"no record at step {missing} or before, which a run has")
    saved = list(zip(dataset["snapshot_step"].to_numpy().tolist(), dataset["snapshot_time"].to_numpy().tolist(), strict=True))
    expected = _saved_states(evidence)
    if saved != expected:
        others = sorted({step for step, _ in {*saved} ^ {*expected}})
        wrong.append(f"saved states other than those that a run saves: steps {', '.join(map(str, others[:10]))}{' ...' if len(others) > 10 else ''}")
    statement = "records, saved states and the end in another order, or other states saved, than in a run: how many of these"
    return at_most("Records (order)", statement, float(len(wrong)), 0.0, "; ".join(wrong) or f"{len(steps)} records, {len(saved)} saved states")


def _missing_records(evidence: Evidence) -> int:
    """Return the step at which a record is missing at the latest, 0 if none is.

    The flow has a record every `MARK_EVERY` steps at least, gradient descent at `mvsim.flow.base.next_log_mark`; of another integrator
    it is not known, nor of runs that did not record the integral of |grad J|^2 / J, which were stepped otherwise.
    """
    following, dataset = NEXT_RECORD.get(evidence.run.provenance["integrator"]["name"]), evidence.run.dataset
    steps = [*dataset["step"].to_numpy().tolist(), int(dataset["final_step"])]
    if following is None or "log_dissipation" not in dataset:
        return 0
    return next((following(first) for first, second in pairwise(steps) if second > following(first)), 0)


def _saved_states(evidence: Evidence) -> list[tuple[int, float]]:
    dataset, kept, before = evidence.run.dataset, Snapshots(evidence.parameters.k), None
    gaps, entries = dataset["view_gap"].to_numpy(), dataset["entry_step"].to_numpy()
    for step, time, gap in zip(dataset["step"].to_numpy().tolist(), evidence.times.tolist(), gaps, strict=True):
        kept.consider(State(step, time, np.empty(0)), gap, entries, before)
        before = step
    return list(zip(*(kept.records[name].values.tolist() for name in ("snapshot_step", "snapshot_time")), strict=True))


def accuracy_bounds(evidence: Evidence) -> Verdict:
    """Compare the training accuracy at every record with what the margins and softmax gaps of the record say of it.

    Of the n_y points of class y the part a_y is right, and the accuracy is (1/N) sum_y n_y a_y. At a wrong point some other output is g_y or more, so
    that 1 - phi_y >= 1/2; at a right one g_y is the largest of k, so that phi_y > 1/k. With gap_y the mean of 1 - phi_y,

        1 - 2 gap_y <= a_y <= k (1 - gap_y),    a_y = 1 if the least margin of its points is positive,    a_y <= 1 - 1/n_y otherwise.
    """
    p, sizes = evidence.parameters, evidence.class_sizes
    occupied = sizes > 0
    n, gap, margin = sizes[occupied], evidence.softmax_gap[:, occupied], evidence.least_margin[:, occupied]
    low = np.where(margin > 0.0, 1.0, np.clip(1.0 - 2.0 * gap, 0.0, 1.0)) @ n / n.sum()
    high = np.minimum(np.clip(p.k * (1.0 - gap), 0.0, 1.0), np.where(margin <= 0.0, 1.0 - 1.0 / n, 1.0)) @ n / n.sum()
    beyond = np.maximum(low - evidence.training_accuracy, evidence.training_accuracy - high)
    wrong = evidence.times[beyond > ROUND_OFF]
    statement = "training accuracy at every record lies between the bounds that its margins and softmax gaps set: how far outside, at most"
    detail = f"the bounds are {float(np.median(high - low)):.3g} apart at the median record"
    return at_most("Records (training accuracy)", statement, float(beyond.max()), ROUND_OFF, detail, float(wrong[0]) if len(wrong) else None)


def escapes(evidence: Evidence) -> Verdict:
    """Look whether every escape lies between the records that show it: below the threshold before, at it or beyond in the first record from it on.

    Two thresholds are passed: that of B_{y,l} and that of escape (`mvsim.runs.recording.entries`). The time lies between those of the two records,
    and is 0 for a neuron that starts beyond. Under Midpoint Mixup a neuron may fall back before the next record; it counts as
    wrong only if no later record shows it beyond and it is below half of the threshold at both records around its escape. Steps of gradient descent
    that are too large may lead beyond the threshold and back; then the own correlation is another one afterwards (`JUMPED`).
    """
    dataset, wrong, count = evidence.run.dataset, 0, 0
    thresholds = {"entry": evidence.threshold, "escape": evidence.objective.escapes_at}
    for name, threshold in thresholds.items():
        if f"{name}_time" in dataset:
            times, steps = dataset[f"{name}_time"].to_numpy(), dataset[f"{name}_step"].to_numpy()
            wrong, count = wrong + int(_misplaced(evidence, times, steps, threshold).sum()), count + int((steps >= 0).sum())
    statement = "own correlations that pass a threshold at another time than between the records around it"
    return at_most("Records (escapes)", statement, float(wrong), 0.0, f"{count} escapes")


def _misplaced(evidence: Evidence, times: np.ndarray, steps: np.ndarray, threshold: float) -> np.ndarray:
    """Return (k, m, V) bool: whether an escape, or that there is none, is not what the records show."""
    recorded, passed = evidence.run.dataset["step"].to_numpy(), evidence.own >= threshold
    escaped = steps >= 0
    after = np.searchsorted(recorded, steps)  # the first record from the escape on
    before = np.maximum(after - 1, 0)
    ever_after = np.maximum.accumulate(passed[::-1])[::-1]
    shown = np.append(ever_after, np.ones_like(passed[:1]), axis=0)  # an escape after the last record is not shown by any
    own = np.append(evidence.own, evidence.own[-1:], axis=0)
    until = np.append(evidence.times, float(evidence.run.dataset["final_time"]))
    too_soon = (passed & (recorded[:, None, None, None] < steps)).any(axis=0)
    own_before, own_after = (np.take_along_axis(own, place[None], axis=0)[0] for place in (before, after))
    near = np.maximum(own_before, own_after) >= 0.5 * threshold
    integrator = INTEGRATORS.get(evidence.run.provenance["integrator"]["name"])
    descends = integrator is not None and not integrator.follows_flow
    jumped = descends & (np.abs(own_after - own_before) > JUMPED * np.abs(own_before))
    unseen = ~(np.take_along_axis(shown, after[None], axis=0)[0] | near | jumped)
    earliest, latest = evidence.times[before] * (1.0 - ROUND_OFF), until[after] * (1.0 + ROUND_OFF)
    elsewhere = ~((times >= earliest) & (times <= latest)) | ((steps == 0) & (times != 0.0))
    return np.where(escaped, too_soon | unseen | elsewhere, passed.any(axis=0) | ~np.isnan(times))


def records(evidence: Evidence) -> list[Verdict]:
    """Return whether records belong to each other and to the saved states."""
    return [ordered(evidence), *recomputed(evidence), consistent(evidence), accuracy_bounds(evidence), escapes(evidence)]
