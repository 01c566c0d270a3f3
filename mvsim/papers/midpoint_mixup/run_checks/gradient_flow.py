"""Tests that a recorded run follows the gradient flow: the loss never rises, it falls by the integral of |grad J|^2, no state jumps, and late as 1/t.

Along c' = -grad J, dJ/dt = -|grad J|^2 and d ln J / dt = -|grad J|^2 / J. The integrals of both right-hand sides are recorded with a run, added
up from velocities within its steps; loss and gradient norm are recorded from full evaluations at the records. They agree up
to the error of the steps, which is in units of rtol, and that of the integrals, which is more if rtol is small (`QUADRATURE`). A record that was
changed, a step that went wrong or a gradient that does not belong to the loss shows as a difference.

`mvsim.papers.midpoint_mixup.run_checks.clock` ties the clock of a run to its parameters;
`mvsim.papers.midpoint_mixup.run_checks.records` and `mvsim.papers.midpoint_mixup.run_checks.replay_of_flow` tie records and states.
Some statements are not applicable to every run; where one is not, it says why.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from mvsim.base.echo import echo
from mvsim.flow import INTEGRATORS
from mvsim.flow.flow import RISE
from mvsim.judging.verdict import Verdict, at_most, constant, not_applicable
from mvsim.multi_view.diagnostics import own_correlations
from mvsim.numerics.logarithms import logarithm
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.evidence.persistence import FACTOR, unchanged_since
from mvsim.papers.midpoint_mixup.run_checks.clock import OF_CLOCK
from mvsim.papers.midpoint_mixup.run_checks.origin import largest_at_most
from mvsim.runs.recording.fresh_draws import is_learned

BALANCE = 30.0
"""Most difference between losses and integrals, in units of rtol. An escape changes J by its own order within tens of steps, each of which may err
by a few rtol; steps that err by more than `mvsim.flow.flow.IMBALANCE` rtol are refused while a run is made."""

QUADRATURE, SAFETY = 0.05, 10.0
"""The integrals err by `QUADRATURE` rtol^(2/3), and more than that by this factor is not allowed: at small rtol it is more than `BALANCE` rtol.

With x the size of a step in units of the time in which things change by a factor e, and L the local error of BDF of order 5:

    L = (10 / 137) x^6, which is rtol where steps are as long as they may be;
    of Gauss's rule with two nodes, for |c'|^2 growing as exp(2 t):                 x^4 / 270 = 0.0037 x^4, relative to the integral;
    of the velocities at the nodes, which are those of a cubic through both ends:   x^4 / 216 = 0.0046 x^4.

The number of steps cancels: both are relative to what a step adds. Together they are 0.0083 (13.7 rtol)^(2/3) = 0.05 rtol^(2/3). Lower orders have
smaller x. The factor is for what this leaves out: a neuron that escapes speeds up more than exponentially."""

SHORTEST = np.log(10.0) / 40.0
"""Least increase of ln t between records that are compared, half of that at which runs are recorded where nothing happens."""

LEAST_FALL = 0.03
"""Least fall of ln J between records that are compared: where it hardly falls, the gradient is mostly integration error along stiff directions."""

ROUNDING = 8.0 * float(np.finfo(float).eps)
"""Relative rounding of times, integrals and correlations that is allowed for."""

WIDEST = 0.3
"""Largest bound in place of those that go with rtol: a coarse tolerance does not make everything a flow."""

COARSEST = 0.003
"""Largest rtol at which these statements tell a run from one that was changed: their bounds go with it."""

RATE, FEWEST = 0.05, 5
"""Most median of the relative differences, and least number of pairs for it."""

TIME = 0.25
"""Most difference of a single pair. The trapezoidal rule errs by 0.09 at most at k = 4 to 10; a last time that is wrong by a fifth makes 0.4."""

MOST_CHANGE = 2.0
"""Factor within which t |grad J|^2 / J has to stay between records that are compared; where it changes more, it need not be monotone."""

SMALL_LOSS = 1e-2
"""Loss below which ln J of single points follows the late law: 1 - phi_y is the loss itself up to terms of the order of its square."""

LATE_LAW = 2.0
"""Factor within which t |grad J|^2 / J has to be 1: a last change at t0 contributes t / (t - t0), 1.11 at t = 10 t0; the rest less than 1.3."""


class FlowRecords:
    """What a run of the gradient flow recorded, as these statements need it."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.dataset = evidence.run.dataset
        self.rtol = evidence.rtol
        self.times, self.loss, self.gradient_norm = (self.dataset[name].to_numpy() for name in ("time", "loss", "gradient_norm"))

    @cached_property
    def log_loss(self) -> np.ndarray:
        """(T,): ln J, NaN where J is not positive."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.loss > 0.0, np.log(self.loss), np.nan)

    @cached_property
    def falls(self) -> np.ndarray:
        """(T - 1,): by how much ln J falls between two records."""
        return -np.diff(self.log_loss)

    @cached_property
    def rates(self) -> np.ndarray:
        """(T,): t |grad J|^2 / J, which is -d ln J / d ln t along the flow."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return np.asarray(self.times * (self.gradient_norm / self.loss) * self.gradient_norm)

    def integral(self, name: str) -> np.ndarray | None:
        """Return a recorded integral (T,), None if a run does not have it from its start on."""
        values = self.dataset[name].to_numpy() if name in self.dataset else np.array([np.nan])
        return values if np.isfinite(values).all() else None

    @property
    def balance(self) -> float:
        """The largest difference of losses and integrals that is allowed."""
        return float(min(max(BALANCE * self.rtol, SAFETY * QUADRATURE * self.rtol ** (2.0 / 3.0)), WIDEST))

    def at_most(self, name: str, statement: str, values: np.ndarray, bound: float) -> Verdict:
        """Decide whether the largest of values (T,) or (T - 1,), the second belonging to the ends of intervals, is within bound."""
        times = self.times[len(self.times) - len(values) :]
        if not len(values):
            return Verdict(name, "inconclusive", statement, bound=bound, detail="a single record")
        detail = f"largest at t = {{}}; the bound is {bound / self.rtol:g} rtol, rtol = {self.rtol:g}"
        return largest_at_most(name, statement, values, times, bound, detail)


def descent(records: FlowRecords) -> Verdict:
    """J never rises: the largest ln J(t) - min over s <= t of ln J(s), at most `RISE` rtol."""
    values = records.log_loss - np.minimum.accumulate(records.log_loss)
    statement = "the loss never rises: the largest ln J(t) - min_{s <= t} ln J(s)"
    return records.at_most("Gradient flow (descent)", statement, values, min(RISE * records.rtol, WIDEST))


def energy_balance(records: FlowRecords) -> Verdict:
    """J(0) - J(t) is the integral of |grad J|^2: the largest difference at any t over J(0), at most `FlowRecords.balance`."""
    name, statement = "Gradient flow (energy balance)", "|J(0) - J(t) - integral of |grad J|^2| / J(0), the largest"
    lost = records.integral("dissipation")
    if lost is None:
        return _unrecorded(records, name, statement, "dissipation")
    values = np.abs(records.loss[0] - records.loss - (lost - lost[0])) / abs(records.loss[0])
    return records.at_most(name, statement, values, records.balance)


def log_energy_balance(records: FlowRecords) -> Verdict:
    """Compare the fall of ln J with the integral of |grad J|^2 / J between records s < t: the largest difference over 1 + |ln J(s) - ln J(t)|.

    This looks at every stage of training alike, however small the loss is there. At most `FlowRecords.balance`.
    """
    name = "Gradient flow (energy balance, logarithmic)"
    statement = "|ln J(s)/J(t) - integral of |grad J|^2 / J| / (1 + |ln J(s)/J(t)|), the largest between successive records"
    lost = records.integral("log_dissipation")
    if lost is None:
        return _unrecorded(records, name, statement, "log_dissipation")
    differences = np.abs(records.falls - np.diff(lost)) / (1.0 + np.abs(records.falls))
    return records.at_most(name, statement, differences, records.balance)


def motion(records: FlowRecords) -> Verdict:
    """No correlation moves further between two records than the energy that is lost allows, by Cauchy and Schwarz.

    |c(t) - c(s)| <= integral |c'| dt <= sqrt((t - s) integral |grad J|^2 dt) <= sqrt((t - s) J(s) integral |grad J|^2 / J dt), J falling. Own
    correlations are compared, as one vector over all classes: a jump by more is found, replayed or not; a smaller one is not. A final state without a
    record, of a run that was interrupted, is compared with the last record, and what ln J has lost until then is the difference, to within
    `FlowRecords.balance`. Rounding of t, of the integral and of c is allowed for. Largest over that, at most 1 + `FlowRecords.balance`.
    """
    name, statement = "Gradient flow (motion)", "|c(t) - c(s)| / sqrt((t - s) integral of |grad J|^2), the largest between successive records"
    lost = records.integral("log_dissipation")
    if lost is None:
        return _unrecorded(records, name, statement, "log_dissipation")
    evidence, end = records.evidence, records.evidence.snapshots[-1]
    own, times, spent = evidence.own, records.times, np.diff(lost)
    if end.step > evidence.run.dataset["step"][-1]:
        own, times = np.concatenate([own, own_correlations(end.c)[None]]), np.append(times, end.time)
        with np.errstate(divide="ignore"):
            fall = records.log_loss[-1] - logarithm(evidence.objective.loss(end.c))
        spent = np.append(spent, fall + records.balance * (1.0 + abs(fall)))
    if len(times) < 2:
        return not_applicable(name, statement, "there is one record")
    sizes = np.sqrt((own**2).sum(axis=(1, 2, 3)))
    moved = np.sqrt((np.diff(own, axis=0) ** 2).sum(axis=(1, 2, 3)))
    spent = np.maximum(spent, 0.0) + ROUNDING * np.maximum(np.append(lost, lost[-1])[1 : len(times)], 1.0)
    allowed = np.sqrt((np.diff(times) + ROUNDING * times[1:]) * records.loss[: len(times) - 1] * spent) + ROUNDING * sizes[1:]
    ratio = np.where(moved > 0.0, moved / np.maximum(allowed, 1e-300), 0.0)
    return largest_at_most(name, statement, ratio, times[1:], 1.0 + records.balance, "largest at t = {}")


def tolerance(records: FlowRecords) -> Verdict:
    """Decide whether rtol is fine enough: the bounds of these statements go with it, and beyond `COARSEST` they tell nothing."""
    statement = "rtol of the flow by whose bounds the states are judged; a coarser run cannot be told from a changed one"
    return at_most("Gradient flow (tolerance)", statement, records.rtol, COARSEST, otherwise="inconclusive")


def recorded_rate(records: FlowRecords) -> Verdict:
    """Compare the fall of ln J with its rate from the recorded times, losses and gradient norms alone.

    Along the flow ln J(s) / J(t) is the integral of f = t |grad J|^2 / J over ln t; between two records it is compared with the trapezoidal rule.
    Measured is the median over pairs of the difference, relative to the rule, at most `RATE`: an f that has a peak between two records spoils
    one pair, a clock or a gradient that does not belong to the losses spoils them all. Compared are records with training accuracy 1 between which
    no neuron escapes or enters B, ln t grows by `SHORTEST`, ln J falls by `LEAST_FALL` and f changes by a factor of at most `MOST_CHANGE`.
    """
    name, statement = "Gradient flow (recorded rate)", "ln J(s)/J(t) beside (ln t/s) (f(s) + f(t)) / 2, f = t |grad J|^2 / J: median difference"
    _, differences = _rate_differences(records)
    if len(differences) < FEWEST:
        return not_applicable(name, statement, f"{len(differences)} pairs of records qualify, {FEWEST} are needed")
    return at_most(name, statement, float(np.median(differences)), RATE, f"{len(differences)} pairs of records")


def recorded_times(records: FlowRecords) -> Verdict:
    """Compare the same of every single pair: the largest difference, at most `TIME`. It ties the time of each of these records, the last among them.

    A record of a state at rest has no such rate. It is as right at any other time to which the state stays at rest.
    """
    name, statement = "Gradient flow (recorded times)", "ln J(s)/J(t) beside (ln t/s) (f(s) + f(t)) / 2: largest difference of two successive records"
    times, differences = _rate_differences(records)
    if not len(differences):
        return not_applicable(name, statement, "no pair of records qualifies")
    return largest_at_most(name, statement, differences, times, TIME, f"{len(differences)} pairs of records; largest at t = {{}}")


def _rate_differences(records: FlowRecords) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the pairs of records that `recorded_rate` compares, and the relative differences; (n,) each."""
    before, after = records.rates[:-1], records.rates[1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        grown = np.diff(np.log(records.times))
        rule = 0.5 * grown * (before + after)
        steady = np.maximum(before, after) <= MOST_CHANGE * np.minimum(before, after)
        right = records.evidence.training_accuracy == 1.0
        compared = right[:-1] & right[1:] & (grown >= SHORTEST) & (records.falls >= LEAST_FALL) & steady & (rule > 0.0) & np.isfinite(rule)
    events = [records.dataset[name].to_numpy().ravel() for name in ("escape_time", "entry_time") if name in records.dataset]
    compared &= ~_some_between(np.concatenate(events), records.times)
    return records.times[1:][compared], np.abs(records.falls[compared] / rule[compared] - 1.0)


def late_law(records: FlowRecords) -> Verdict:
    """Late in training on single points J falls as 1 / t: f = t |grad J|^2 / J is within a factor of `LATE_LAW` of 1 at the end.

    |grad J| is proportional to J once all points are right, as exp(-margin) and the activation is linear. Judged are runs in which training accuracy
    is 1, and in which for the last factor `FACTOR` of time J has been below `SMALL_LOSS`, no learned feature has changed and no neuron escaped.
    """
    name, statement = "Gradient flow (late law)", "t |grad J|^2 / J or its inverse at the end: late, J falls as 1 / t"
    run, times = records.evidence.run, records.times
    small = (records.loss < SMALL_LOSS) & (records.evidence.training_accuracy == 1.0)
    if records.evidence.mixes or not small[-1]:
        which = "mixed points keep a loss" if records.evidence.mixes else f"the loss is not below {SMALL_LOSS:g} at training accuracy 1"
        return not_applicable(name, statement, f"{which}")
    escapes = run.dataset["entry_time"].to_numpy()
    changed = [unchanged_since(times, small), unchanged_since(times, is_learned(run.dataset["feature_learned"].to_numpy()))]
    since = max(*changed, float(np.nanmax(escapes, initial=0.0)))
    if not times[-1] >= FACTOR * since or times[-1] <= 0.0:
        return not_applicable(name, statement, f"something changed at t = {since:.4g}, less than {FACTOR:g} times ago")
    rate = float(records.rates[-1])
    detail = f"{rate:.4g} at t = {times[-1]:.4g}; loss below {SMALL_LOSS:g} and nothing changed since t = {since:.4g}"
    factor = max(rate, 1.0 / rate) if rate > 0.0 else float("inf")
    return at_most(name, statement, factor, LATE_LAW, detail)


def escape_times(records: FlowRecords) -> Verdict:
    """Say how far an integrator under which neurons wait vouches for the time of the first escape of each view: the largest error over the time."""
    name, statement = "Gradient flow (escape times)", "estimated error of the time of the first escape of a view, over that time: the largest"
    dataset = records.dataset
    if not dataset["escape_error"].notnull().any():
        return not_applicable(name, statement, "nothing has escaped")
    first = (dataset["escape_error"] / dataset["escape_time"]).min("neuron")
    return constant(name, statement, float(first.max()), detail=f"the median is {float(first.median()):.2g}")


STATEMENTS: tuple[Callable[[FlowRecords], Verdict], ...] = (
    tolerance, descent, energy_balance, log_energy_balance, motion, recorded_rate, recorded_times, late_law,
)  # fmt: skip


def gradient_flow(evidence: Evidence) -> list[Verdict]:
    """Return what there is to say of a run as a gradient flow; of gradient descent, nothing."""
    integrator = evidence.run.provenance["integrator"]
    if integrator["name"] not in INTEGRATORS:
        detail = f"its file says that it was stepped by {echo(integrator['name'])}, which is none of {', '.join(INTEGRATORS)}"
        return [Verdict("Gradient flow", "inconclusive", "the run is a gradient flow", detail=detail)]
    if not INTEGRATORS[integrator["name"]].follows_flow:
        return []
    rtol = integrator.get("rtol")
    if not isinstance(rtol, (int, float)) or not rtol > 0.0:
        return [Verdict("Gradient flow", "inconclusive", "the run is a gradient flow", detail="its file names no relative tolerance")]
    records = FlowRecords(evidence)
    jumps = [escape_times(records)] if "escape_error" in records.dataset else []
    return [*(statement(records) for statement in STATEMENTS), *jumps, *(statement(evidence) for statement in OF_CLOCK)]


def _unrecorded(records: FlowRecords, name: str, statement: str, variable: str) -> Verdict:
    integrator = INTEGRATORS[records.evidence.run.provenance["integrator"]["name"]]
    if not integrator.adds_up_dissipation:
        return not_applicable(name, statement, f"the integrator {integrator.name} does not add it up; its states are replayed")
    detail = f"{variable} was not recorded from the start: the run, or its beginning, is of an earlier version"
    return Verdict(name, "inconclusive", statement, detail=detail)


def _some_between(events: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return (T - 1,) bool: whether one of some events, at these times or never, lies between two records."""
    came = np.sort(events[np.isfinite(events)])
    return np.asarray(np.diff(np.searchsorted(came, times, side="right")) > 0)
