"""Time-steppers for the flow that were tried, on the same problems: evaluations and seconds to the error they reach.

What mvsim does is the first row; then the same without one of its parts each; a multirate scheme (`projective.py`); then methods of libraries
on the plain equation: explicit Runge-Kutta, stabilised (Runge-Kutta-Chebyshev, from extensisq, if it is installed) and not, implicit ones with
a Jacobian by differences, CVODE (from scikit-sundae, which the tests need too) without help. A method that needs more evaluations than the
budget is stopped, and the time that it reached is the result. Fails if what mvsim does ends further than 10 rtol from the reference.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from lib.flow_problems import Problem, error, follow, small_problems
from lib.projective import projective
from lib.study import FLOW
from lib.tables import table
from scipy.integrate import DOP853, LSODA, RK45, Radau
from sksundae.cvode import CVODE
from threadpoolctl import threadpool_limits

from mvsim.flow import Escaping, GradientFlow, State
from mvsim.pictures.labels import METHOD_NAMES

TITLE = "Other time-steppers"
SOURCES = FLOW

RTOL = 1e-4
BOUND = 10.0
"""Error of mvsim, in units of rtol."""


class _OverBudgetError(Exception):
    pass


class Counted:
    """The rate of a problem, counting evaluations."""

    def __init__(self, problem: Problem, budget: int) -> None:
        self.field, self.start, self.budget = problem.field(), problem.start(), budget
        self.evaluations, self.reached = 0, 0.0

    def took(self, evaluations: int) -> None:
        """Take note of how many evaluations there were; raise an exception where these are more than allowed."""
        self.evaluations = evaluations
        if evaluations > self.budget:
            raise _OverBudgetError

    def loss_and_gradient(self, n: int, c: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss and its gradient."""
        self.took(self.evaluations + 1)
        return self.field.loss_and_gradient(n, c)

    def rate(self, t: float, c: np.ndarray) -> np.ndarray:
        """Return c' for c (n,)."""
        return -self.loss_and_gradient(0, np.array(c).reshape(self.start.shape))[1].ravel()


def ours(problem: Problem, counted: Counted, **parts: Any) -> np.ndarray:
    """Follow the flow as mvsim does, with other ``parts`` of the field; evaluations of few neurons and products with the Hessian count, too."""
    for visit in GradientFlow(replace(counted.field, **parts), RTOL).trajectory(State(0, 0.0, counted.start), problem.t_end):
        counted.reached, c = visit.state.time, visit.state.c
        counted.took(visit.state.evaluations)
    return c


def without_chart(problem: Problem, counted: Counted) -> np.ndarray:
    """Do it in the correlations themselves."""
    return ours(problem, counted, escaping=Escaping(np.zeros(0, np.int64), np.zeros(0), problem.parameters.alpha))


def multirate(problem: Problem, counted: Counted) -> np.ndarray:
    """Advance laggards by their closed form and solve for the rest."""
    field = replace(counted.field, loss_and_gradient=counted.loss_and_gradient)
    for time_reached, state in projective(field, counted.start, problem.t_end, RTOL):
        counted.reached, c = time_reached, state
    return c


def stabilised(problem: Problem, counted: Counted) -> np.ndarray:
    """Use Runge-Kutta-Chebyshev steps, with as many stages as the stiffness asks for."""
    from extensisq import SSV2stab  # an optional library

    return of_scipy(SSV2stab, problem, counted)


def of_scipy(method: type[Any], problem: Problem, counted: Counted) -> np.ndarray:
    """Use a method of scipy.integrate."""
    solver = method(counted.rate, 0.0, counted.start.ravel(), problem.t_end, rtol=RTOL, atol=1e-3 * RTOL)
    while solver.status == "running":
        solver.step()
        counted.reached = solver.t
    return solver.y.reshape(counted.start.shape)


def plain_cvode(problem: Problem, counted: Counted) -> np.ndarray:
    """Use CVODE with GMRES and no preconditioner, no chart, its own difference quotients."""

    def rate(t: float, c: np.ndarray, out: np.ndarray) -> None:
        out[:] = counted.rate(t, c)

    with threadpool_limits(1):
        solver = CVODE(rate, method="BDF", linsolver="gmres", krylov_dim=20, rtol=RTOL, atol=1e-3 * RTOL)
        result = solver.init_step(0.0, counted.start.ravel().copy())
        while counted.reached < problem.t_end:
            result = solver.step(problem.t_end, method="onestep", tstop=problem.t_end)
            counted.reached = float(np.ravel(result.t)[-1])
            if not result.success:
                raise RuntimeError(result.message)
    return np.array(result.y).reshape(counted.start.shape)


CANDIDATES: dict[str, Callable[[Problem, Counted], np.ndarray]] = {
    "mvsim: BDF on the chart, secants with the stiff Hessian": ours,
    "Newton-GMRES without that Hessian": lambda problem, counted: ours(problem, counted, curvature=lambda c: None),
    "without the chart": without_chart,
    "multirate: closed form + implicit Euler": multirate,
    "CVODE BDF + GMRES alone": plain_cvode,
    "Runge-Kutta-Chebyshev (RKC)": stabilised,
    "Dormand-Prince 5(4)": lambda problem, counted: of_scipy(RK45, problem, counted),
    "Dormand-Prince 8(5,3)": lambda problem, counted: of_scipy(DOP853, problem, counted),
    "LSODA": lambda problem, counted: of_scipy(LSODA, problem, counted),
    "Radau IIA, order 5": lambda problem, counted: of_scipy(Radau, problem, counted),
}


def tried(name: str, problem: Problem, reference: np.ndarray, budget: int) -> dict[str, Any]:
    """Return what became of one candidate on one problem."""
    counted = Counted(problem, budget)
    start, outcome = time.perf_counter(), "reached the end"
    off: float | None = None
    try:
        off = error(CANDIDATES[name](problem, counted), reference)
    except _OverBudgetError:
        outcome = f"stopped after {budget} evaluations"
    except ImportError:
        outcome = "not installed"
    except RuntimeError as failure:
        outcome = f"failed: {failure}"
    seconds = time.perf_counter() - start
    accuracy = "" if off is None else f", error {off:.1e}"
    print(f"{problem.name:9} {name:42} {counted.evaluations:7} evaluations, {seconds:.1f} s{accuracy}, {outcome}", flush=True)
    row = {"candidate": name, "problem": problem.name, "outcome": outcome, "reached": counted.reached, "t_end": problem.t_end}
    return row | {"evaluations": min(counted.evaluations, budget), "seconds": seconds, "error": off}


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the study."""
    parser.add_argument("--budget", type=int, default=200_000, help="most evaluations of one candidate on one problem")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Try every candidate on every problem."""
    rows = []
    for problem in small_problems():
        reference = follow(problem, RTOL / 1000).c
        rows += [tried(name, problem, reference, options.budget) for name in CANDIDATES]
    return {"rtol": RTOL, "budget": options.budget, "rows": rows}


def judge(results: dict[str, Any]) -> list[str]:
    """Return on which problems mvsim does not come to the end within the bound."""
    ours = [row for row in results["rows"] if row["candidate"] == results["rows"][0]["candidate"]]
    wrong = [row for row in ours if row["error"] is None or not row["error"] <= BOUND * results["rtol"]]
    return [f"{row['candidate']}, {row['problem']}: {row['outcome']}, error {row['error']}" for row in wrong]


ABSENT = "not installed"
"""Outcome of a solver whose package is not there; it has no row in the table."""

OWN = 3
"""The first candidates are mvsim and mvsim without one of its parts; the others are other solvers."""


def headline(results: dict[str, Any]) -> str:
    """Say what mvsim needs under each loss, and what the cheapest other solver needs that is accurate enough."""
    return "; ".join(f"{METHOD_NAMES[problem]}: {_compared(results, problem)}" for problem in _problems(results))


def _problems(results: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(row["problem"] for row in results["rows"]))


def _compared(results: dict[str, Any], problem: str) -> str:
    """Say what mvsim needs on a problem, and what the cheapest other solver does."""
    first, *others = (row for place, row in enumerate(row for row in results["rows"] if row["problem"] == problem) if place == 0 or place >= OWN)
    bound = BOUND * results["rtol"]
    good = [row for row in others if row["error"] is not None and row["error"] <= bound]
    best = min(good, key=lambda row: row["evaluations"], default=None)
    needs = f"mvsim needs {first['evaluations']} gradients for an error of {_power(first['error'])}"
    if best is None:
        return f"{needs}, no other solver comes to the end with {_power(bound)} or less"
    return f"{needs}, the cheapest other solver {best['evaluations']} for {_power(best['error'])} ({best['candidate']})"


def _power(error: float | None) -> str:
    """Return an error with one digit."""
    if error is None:
        return "nothing"
    digits, exponent = f"{error:.0e}".split("e")
    return f"{digits}e{int(exponent)}"


def passage(results: dict[str, Any]) -> str:
    """Say what other time-steppers need."""
    problems = _problems(results)
    rows = {(row["candidate"], row["problem"]): row for row in results["rows"]}
    names = list(dict.fromkeys(row["candidate"] for row in results["rows"] if row["outcome"] != ABSENT))
    cells = [[name, *(cell for problem in problems for cell in _cells(rows[name, problem]))] for name in names]
    heads = ["time-stepper", *(f"{problem}: {what}" for problem in problems for what in ("gradients", "error"))]
    return (
        f"ERM and Midpoint Mixup at k = 4 are followed until every class has learned what it learns, with rtol {results['rtol']:g}. The first {OWN} "
        "rows are mvsim, and mvsim without one of its parts.\n\n" + table(heads, cells)
    )


def _cells(row: dict[str, Any]) -> tuple[str, str]:
    """Return what a time-stepper took and its error; where it did not come to the end, why."""
    return (row["outcome"], "") if row["error"] is None else (str(row["evaluations"]), f"{row['error']:.0e}")
