"""The time-stepper with one design decision changed at a time: steps, evaluations and the error of the time between the escapes of two views.

Midpoint Mixup, k = 10, d = 20000, N = 200, P = 100, seed 0, followed to a fixed time at which all views have escaped. Between the escapes of the two
views of a class, the second one may stay near its threshold for long; steppers that err by many tolerances in that one coordinate get this time wrong
by factors and still end with the right features. The reference is the stepper itself at rtol 1e-6; the tests compare it with another integrator.
A design that needs more evaluations than the budget is stopped; the time that it reached is the result. Fails if the stepper as it is gets a time
between escapes wrong by more than a half, or misses 4,500 evaluations.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
from lib.faults import TargetMissed
from lib.flow_problems import Problem
from lib.study import FLOW
from lib.tables import table

import mvsim
from mvsim.base.errors import StalledError
from mvsim.flow import GradientFlow, State, Units, bdf, error_size, flow, newton, secants, stepper, system
from mvsim.flow.krylov import gmres
from mvsim.flow.newton import Solution
from mvsim.flow.secants import Secants
from mvsim.multi_view.kernels.shared_noise.stiff_hessian import of_pairs
from mvsim.runs.recording.entries import EscapeLog

TITLE = "Designs of the time-stepper"
SOURCES = FLOW

RTOL, FINE = 1e-3, 1e-6
BOUND = 0.5
"""Largest error of a time between escapes, over that time."""

TARGET = 4500
"""Evaluations of the stepper as it is."""


def problem() -> Problem:
    """Return what is followed."""
    return Problem("midpoint", "midpoint", mvsim.Parameters(k=10, d=20000, N=200, P=100), 6e8)


MOVED = 0.3
"""A correlation has moved if its changes add up to more: outputs change by tenths."""


SLOWEST = 0.5
"""Rate of convergence from which one correction is not tried alone."""

Design = Callable[[], AbstractContextManager[Any]]


def _constant(module: Any, name: str, value: float) -> Design:
    return lambda: patch.object(module, name, value)


@contextmanager
def _without_memory() -> Iterator[None]:
    """Forget the directions of one step before the next."""
    solve = stepper.solve_by_secants

    def forgetful(*arguments: Any) -> Any:
        return solve(*arguments[:-1], Secants.none(arguments[3]))

    with patch.object(stepper, "solve_by_secants", forgetful):
        yield


@contextmanager
def _whole_evaluations() -> Iterator[None]:
    """Evaluate all neurons each time."""
    near = system.ChartedField.near

    def whole(self: system.ChartedField, y: np.ndarray) -> Any:
        known = near(self, y)
        if known is None:
            return None

        def rate(part: np.ndarray) -> np.ndarray:
            place = y.copy()
            place[known.index] = part
            return self.rate(place)[known.index]

        return replace(known, rate=rate)

    with patch.object(system.ChartedField, "near", whole):
        yield


@contextmanager
def _filtered_errors() -> Iterator[None]:
    """Measure the error of what can be stiff after the preconditioner: what relaxes within a step errs by less than its correction says."""
    solved, of = stepper.Stepper._solved, stepper.error_size
    last: list[tuple[np.ndarray, np.ndarray]] = []

    def remembered(self: Any, now: Any, equation: Any, weight: np.ndarray, *rest: Any) -> Any:
        now, solution = solved(self, now, equation, weight, *rest)
        near = None if solution is None else self._known.linearisation(now)
        last.clear()
        if near is not None:
            error = solution.correction.copy()
            error[near.index] = near.preconditioner(equation.gamma)(error[near.index], error[near.index])
            last.append((solution.correction / weight, error / weight))
        return now, solution

    def filtered(scaled: np.ndarray) -> float:
        return of(next((small for plain, small in last if np.array_equal(plain, scaled)), scaled))

    with patch.object(stepper.Stepper, "_solved", remembered), patch.object(stepper, "error_size", filtered):
        yield


@contextmanager
def _at_once(part: float) -> Iterator[None]:
    """Evaluate once in a step where the last rate of convergence promises an error of that part of the tolerance after one correction.

    The rate is kept while the system is not linearised anew. What is allowed is measured as the error of a step is, for each coordinate. The first
    evaluation is one of the whole f, and serves the usual iteration where it does not do.
    """
    solve = stepper.solve_by_secants
    last: dict[str, Any] = {"near": None, "rate": 1.0}

    def quick(equation: Any, near: Any, precondition: Any, weight: Any, allowed: float, rate: float, known: Secants) -> Any:
        rate, usual = last["rate"] if near is last["near"] else rate, near
        if rate < SLOWEST:
            iteration, others = secants._Iteration(equation, near, precondition, weight, known), secants._Others(equation, near, weight)
            first, slope = iteration.y, others.evaluated(iteration.y)
            iteration.arrived(slope)
            if max(error_size.error_size(iteration.r) * rate, others.motion) <= part * allowed:
                return Solution(near.places.written(others.correction, iteration.next_step()), rate), iteration.secants
            usual = replace(near, rate=lambda y: slope if np.array_equal(y, first) else near.rate(y))
        solution, known = solve(equation, usual, precondition, weight, allowed, rate, known)
        last.update(near=near, rate=1.0 if solution is None else solution.rate)
        return solution, known

    with patch.object(stepper, "solve_by_secants", quick):
        yield


@contextmanager
def _newton_gmres() -> Iterator[None]:
    """Solve equations by Newton's method with GMRES, right-preconditioned on what can be stiff; Jacobian products are difference quotients."""

    def solve(equation: Any, near: Any, precondition: Any, weight: Any, allowed: float, rate: float, known: Secants) -> Any:
        f, gamma, predicted, velocity = equation
        root, enough, before = math.sqrt(len(weight)), newton.SOLVED * allowed, math.inf
        correction = np.zeros_like(predicted)

        def inverse(v: np.ndarray) -> np.ndarray:
            scaled = (v * weight)[near.index]
            return near.places.written(v, precondition(scaled, scaled) / weight[near.index])

        for iteration in range(newton.ITERATIONS):
            y = predicted + correction
            slope = f(y)

            def product(v: np.ndarray, y: np.ndarray = y, slope: np.ndarray = slope) -> np.ndarray:
                change = inverse(v)
                step = newton.DIFFERENCE * root / max(float(np.linalg.norm(change)), 1e-300)
                return change - gamma * (f(y + step * weight * change) - slope) / step / weight

            defect = (gamma * slope - velocity - correction) / weight
            found, _ = gmres(product, defect, newton.LINEARLY * enough * root, newton.KRYLOV)
            change = inverse(found)
            correction = correction + weight * change
            size = float(np.linalg.norm(change)) / root
            if not math.isfinite(size) or (iteration and size > max(2.0 * before, enough)):
                break
            if iteration:
                rate = max(secants.FORGOTTEN * rate, size / before)
            if size * min(1.0, rate) <= enough:
                return Solution(correction, rate), known
            before = size
        return None, known

    with patch.object(stepper, "solve_by_secants", solve):
        yield


KAPPA = (0.0, -0.1850, -1.0 / 9.0, -0.0823, -0.0415, 0.0, 0.0)
"""Of the numerical differentiation formulas, by their order (Shampine and Reichelt, SIAM J. Sci. Comput. 18, 1997, table 1)."""


@contextmanager
def _numerical_differentiation() -> Iterator[None]:
    """Take the NDF instead of the BDF of each order q.

    They add kappa gamma_q a to the equation of a step, gamma_q = 1 + 1/2 + .. + 1/q, which divides the step size in it by 1 - kappa, and the constant
    of the error becomes kappa gamma_q + 1 / (q + 1). The polynomial through the values is the same, so that the past is corrected as before.
    """
    plain, corrected = bdf.coefficients, bdf.History.corrected

    def constant(q: int) -> float:
        return 1.0 + KAPPA[q] * (q + 1) * sum(1.0 / j for j in range(1, q + 1))

    def stretched(l: np.ndarray, factor: float) -> np.ndarray:  # noqa: E741
        return np.concatenate([l[:1], factor * l[1:2], l[2:]])

    def of_ndf(order: int, h: float, past: np.ndarray) -> Any:
        c = plain(order, h, past)
        errors = {"error": c.error * constant(order), "lower": c.lower * constant(order - 1), "higher": c.higher * constant(order + 1)}
        return replace(c, l=stretched(c.l, 1.0 - KAPPA[order]), **errors)

    def as_before(self: Any, predicted: Any, c: Any, correction: Any) -> Any:
        return corrected(self, predicted, replace(c, l=stretched(c.l, 1.0 / (1.0 - KAPPA[self.order]))), correction)

    with patch.object(bdf, "coefficients", of_ndf), patch.object(bdf.History, "corrected", as_before):
        yield


@contextmanager
def _together(*designs: AbstractContextManager[Any]) -> Iterator[None]:
    """Change several things."""
    with ExitStack() as stack:
        for design in designs:
            stack.enter_context(design)
        yield


@contextmanager
def _coarser_others(factor: float) -> Iterator[None]:
    """Resolve correlations with features of other classes less finely."""
    tolerance = system.ChartedField.tolerance

    def coarser(self: system.ChartedField, y: np.ndarray) -> Units:
        k, _, features, _ = self.shape
        own = np.broadcast_to(np.eye(k, features, dtype=bool)[:, None, :, None], self.shape).ravel()
        return Units(*(allowed * np.where(own, 1.0, factor) for allowed in tolerance(self, y)))

    with patch.object(system.ChartedField, "tolerance", coarser):
        yield


DESIGNS: dict[str, Design] = {
    "as it is": nullcontext,
    "directions forgotten after each step": _without_memory,
    "4 directions instead of 8": _constant(secants, "MOST_DIRECTIONS", 4),
    "16 directions": _constant(secants, "MOST_DIRECTIONS", 16),
    "at most 4 evaluations a step instead of 6": _constant(secants, "EVALUATIONS", 4),
    "at most 10 evaluations a step": _constant(secants, "EVALUATIONS", 10),
    "equations solved to 0.3 of the tolerance instead of 0.1": _constant(secants, "SOLVED", 0.3),
    "equations solved to 0.01 of the tolerance, with at most 10 evaluations": lambda: _together(
        patch.object(secants, "SOLVED", 0.01), patch.object(secants, "EVALUATIONS", 10)
    ),
    "one evaluation a step where the last rate promises 0.1 of the tolerance": lambda: _at_once(0.1),
    "one evaluation where it promises 0.03": lambda: _at_once(0.03),
    "one evaluation where it promises 0.01": lambda: _at_once(0.01),
    "coordinates that are not stiff by one substitution, unchecked": lambda: patch.object(
        secants._Others, "motion", property(lambda self: 0.0, lambda self, value: None), create=True
    ),
    "all neurons evaluated each time": _whole_evaluations,
    "steps in t: no logarithm of the time since an escape": lambda: patch.object(
        stepper, "with_smaller_clock", lambda history, clock, weight: (history, clock)
    ),
    "no frame that moves with dormant correlations": lambda: patch.object(system.ChartedField, "steady", lambda self, y: np.zeros(0, dtype=np.int64)),
    "Hessian without pairs of two other classes": lambda: patch.object(of_pairs, "blocks_of_other_classes", lambda *rest: 0.0),
    "70 % of the way to an escape in a step instead of 50 %": _constant(flow, "APPROACH", 0.7),
    "steps may grow by 3 instead of 1.5": _constant(flow, "GROWTH_THAT_SEES_NOISE", 3.0),
    "error aimed at: thrice as large, at every order": lambda: _together(
        patch.object(stepper, "SAFETY_SAME", 2.0), patch.object(stepper, "SAFETY_OTHER", 2.0), patch.object(stepper, "SAFETY_HIGHER", 10.0 / 3.0)
    ),
    "numerical differentiation formulas (NDF) instead of BDF": _numerical_differentiation,
    "NDF, and one evaluation a step where the last rate promises 0.03 of the tolerance": lambda: _together(
        _numerical_differentiation(), _at_once(0.03)
    ),
    "NDF, and the error aimed at: half of what is allowed at the same order": lambda: _together(
        _numerical_differentiation(), patch.object(stepper, "SAFETY_SAME", 2.0)
    ),
    "Newton's method with preconditioned GMRES instead of directions that are kept": _newton_gmres,
    "errors in the root mean square alone": _constant(error_size, "MOST_OF_ONE", math.inf),
    "a coordinate may err by 10 tolerances instead of 3": _constant(error_size, "MOST_OF_ONE", 10.0),
    "a coordinate may err by 30 tolerances": _constant(error_size, "MOST_OF_ONE", 30.0),
    "a coordinate may err by 5 tolerances": _constant(error_size, "MOST_OF_ONE", 5.0),
    "iterations given up once residuals grow by 3 instead of 1000": _constant(secants, "DIVERGES", 3.0),
    "order at most 3 instead of 5": _constant(stepper, "MAX_ORDER", 3),
    "order at most 2": _constant(stepper, "MAX_ORDER", 2),
    "errors of what relaxes within a step measured as what is left of them": _filtered_errors,
    "correlations with other classes resolved to 10 tolerances": lambda: _coarser_others(10.0),
}


def escapes(rtol: float, budget: int) -> dict[str, Any]:
    """Follow the problem and return what it took, and the escape times of the two views of each class."""
    asked = problem()
    c = asked.start()
    own = c[np.arange(len(c)), :, np.arange(len(c))]
    log = EscapeLog.started(own, asked.parameters.rho)
    before, start, outcome = State(0, 0.0, c), time.perf_counter(), "reached the end"
    way = np.zeros_like(c)
    try:
        for visit in GradientFlow(asked.field(), rtol).trajectory(before, asked.t_end):
            log.observe(before, visit.state)
            way += np.abs(visit.state.c - before.c)
            before = visit.state
            if before.evaluations > budget:
                outcome = f"stopped at t = {before.time:.3g}"
                break
    except StalledError as error:
        outcome = f"stalled: {error}"
    first = np.where(np.isnan(log.time), np.inf, log.time).min(axis=1)
    return {
        "steps": before.step,
        "evaluations": before.evaluations,
        "seconds": time.perf_counter() - start,
        "outcome": outcome,
        "first": first.tolist(),
        "moved": int((way > MOVED).sum()),
    }


def worst(first: list[list[float]], reference: list[list[float]]) -> float | None:
    """Return the largest error of the time between the escapes of the two views of a class, over that time; None if one is missing."""
    found, right = np.array(first), np.array(reference)
    if not np.isfinite(found).all():
        return None
    gap, expected = found[:, 1] - found[:, 0], right[:, 1] - right[:, 0]
    return float(np.max(np.abs(gap - expected) / np.abs(expected)))


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the study."""
    parser.add_argument("--budget", type=int, default=20_000, help="most evaluations of one design")
    parser.add_argument("--only", nargs="+", choices=list(DESIGNS), default=list(DESIGNS), metavar="DESIGN", help="designs to try")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Follow the reference once, and the problem with every design."""
    reference = escapes(FINE, 10**9)
    print(f"reference: {reference['evaluations']} evaluations", flush=True)
    rows = []
    for name in options.only:
        with DESIGNS[name]():
            row = escapes(RTOL, options.budget)
        row = {"design": name, **row, "worst": worst(row["first"], reference["first"])}
        rows.append(row)
        print(f"{name:64} {row['steps']:6} steps {row['evaluations']:6} evaluations {row['seconds']:6.1f} s, error {row['worst']}", flush=True)
    return {"rtol": RTOL, "fine": FINE, "budget": options.budget, "reference": reference, "rows": rows}


def judge(results: dict[str, Any]) -> list[str]:
    """Return what is wrong with the stepper as it is."""
    ours = results["rows"][0]
    wrong = [] if ours["worst"] is not None and ours["worst"] <= BOUND else [f"times between escapes are wrong by {ours['worst']} of themselves"]
    return wrong + ([] if ours["evaluations"] <= TARGET else [TargetMissed(f"{ours['evaluations']} gradients; target {TARGET}")])


REACHED = "reached the end"
"""What `escapes` says of a design that is not stopped."""


def citations(results: dict[str, Any]) -> dict[str, list[str]]:
    """Return what the documentation says of times between escapes."""
    error = f"with that at rtol = {results['fine']:.0e}".replace("e-0", "e-")
    return {"concepts.md": [f"{error} | k = 10, Midpoint Mixup | {100 * results['rows'][0]['worst']:.2g} % at most"]}


def headline(results: dict[str, Any]) -> str:
    """Say what the stepper as it is takes, and what a change saves that errs by no more."""
    ours, *others = results["rows"]
    if ours["worst"] is None:
        return "With the stepper as it is not all views escape"
    no_worse = [row for row in others if row["worst"] is not None and row["worst"] <= ours["worst"] and row["outcome"] == REACHED]
    best = min(no_worse, key=lambda row: row["evaluations"], default=ours)
    saved = 1.0 - best["evaluations"] / ours["evaluations"]
    said = f"the one that saves most with an error that is no larger saves {100 * saved:.2g} % ({best['design']})"
    took = f"{ours['evaluations']} evaluations with an error of {100 * ours['worst']:.2g} %"
    none = "none needs fewer with an error that is no larger"
    return f"The stepper as it is takes {took}; of {len(others)} changes {said if saved > 0.0 else none}, in one flow"


def passage(results: dict[str, Any]) -> str:
    """Put the designs into a table."""
    first, reference = results["rows"][0]["seconds"], np.array(results["reference"]["first"])
    shortest = float(np.abs(reference[:, 1] - reference[:, 0]).min())
    rows = [
        [
            row["design"],
            row["steps"],
            row["evaluations"],
            f"{row['seconds'] / first:.2f}",
            "not all escaped" if row["worst"] is None else f"{100 * row['worst']:.2g} %",
            row["outcome"],
        ]
        for row in results["rows"]
    ]
    return (
        f"Midpoint Mixup at k = 10, d = 20000, N = 200, P = 100, seed 0, is followed to a fixed time with rtol {results['rtol']:g}. Each row changes "
        "one thing. The error is the largest of a time between the escapes of the two views of a class, over that time, against "
        f"rtol {results['fine']:g} ({results['reference']['evaluations']} evaluations). The shortest of these times is {shortest:.3g}. "
        f"Along the reference the changes of {results['reference']['moved']} correlations add up to more than {MOVED}; the stepper as it is takes "
        f"{results['rows'][0]['steps'] / results['reference']['moved']:.2g} steps for each of them.\n\n"
        + table(["design", "steps", "evaluations", "seconds, over the first row", "error", "outcome"], rows)
        + "\nA design that saves some evaluations with no larger error in this one flow is not taken over for that: it would change every run, "
        "and with it every result on this page.\n"
    )
