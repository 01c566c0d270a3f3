"""Where the time of `escapes` goes: gradients of all neurons, of those that are stepped, Hessians, and everything else.

Midpoint Mixup with every default, seed 0, on one thread, from the start to a time at which everything is learned, by the integrator alone: nothing
is recorded, and no feature is tested. Fails if the number of timed gradients is not the one that the integrator reports. Targets are that gradients
take 80 % of the time, and that at k = 50 a gradient by the neurons of one class takes 2 ms at most.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from lib import states
from lib.faults import TargetMissed
from lib.tables import table
from lib.timing import Candidate, fastest

import mvsim
from mvsim.base.echo import quantity
from mvsim.flow import EscapeFollower, Field, State
from mvsim.numerics.blas_threads import one_blas_thread
from mvsim.runs.simulation.field import field_of

TITLE = "Where the time of large steps goes"

RUNS = {"k = 20": (20, 3e8), "k = 50": (50, 1.3e10)}
"""k, and the time to which the flow is followed."""

GRADIENT = "gradient"
SIZES = (10, 30, 60, 100, 10**6)
"""Gradients are counted together by the number of neurons that are stepped, up to each of these."""

SHARE, ONE_CLASS = 0.8, 2e-3


class Stopwatch:
    """Adds up the seconds and the calls of functions of a field."""

    def __init__(self) -> None:
        self.seconds, self.calls = Counter[str](), Counter[str]()

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that is timed whenever it is called."""

        def call(*arguments: Any) -> Any:
            begun = time.perf_counter()
            result = function(*arguments)
            self.seconds[name] += time.perf_counter() - begun
            self.calls[name] += 1
            return result

        return call

    def watched(self, field: Field) -> Field:
        """Return a field of all neurons whose evaluations are timed, and those of the fields of few neurons that are made from it."""
        assert field.few is not None
        few = self.timed("making a field of few neurons", field.few)

        def of_few(c: np.ndarray, neurons: np.ndarray) -> Field:
            count = int((neurons >= 0).sum())
            least, most = max((0, *(size for size in SIZES if size < count))), min(size for size in SIZES if size >= count)
            words = f"{least + 1} to {most}" if most < SIZES[-1] else f"more than {least}"
            part = few(c, neurons)
            return replace(
                part,
                loss_and_gradient=self.timed(f"{GRADIENT} of {words} neurons", part.loss_and_gradient),
                curvature=self.timed("Hessian", part.curvature),
            )

        return replace(field, loss_and_gradient=self.timed(f"{GRADIENT} of all neurons", field.loss_and_gradient), few=of_few)


def follow(k: int, t_end: float) -> dict[str, Any]:
    """Follow the flow, and say what took how long."""
    p = mvsim.Parameters(k=k)
    objective = mvsim.objective("midpoint", p, mvsim.sample_dataset(p, 0), threads=1)
    state = State(0, 0.0, mvsim.initial_correlations(p, 0))
    for _ in EscapeFollower(field_of(objective)).trajectory(state, 1e3):  # compiles
        pass
    stopwatch, begun = Stopwatch(), time.perf_counter()
    with one_blas_thread():
        for visit in EscapeFollower(stopwatch.watched(field_of(objective))).trajectory(state, t_end):
            state = visit.state
    return {
        "seconds": time.perf_counter() - begun,
        "steps": state.step,
        "gradients": state.evaluations,
        "t_end": t_end,
        "parts": {name: {"seconds": stopwatch.seconds[name], "calls": stopwatch.calls[name]} for name in sorted(stopwatch.calls)},
    }


def one_class() -> dict[str, float]:
    """Time the gradient by two neurons of one class at k = 50, and by all neurons, where every class has escaped."""
    p = mvsim.Parameters(k=50)
    field = field_of(mvsim.objective("midpoint", p, mvsim.sample_dataset(p, 0), threads=1))
    c, neurons = states.escaped(p), np.full((p.k, 2), -1)
    neurons[0] = 0, 1
    assert field.few is not None
    few, x = field.few(c, neurons), np.zeros((p.k, 2, p.k, p.V))
    x[0] = c[0, :2]
    return fastest({"few": Candidate(lambda: few.loss_and_gradient(0, x)), "all": Candidate(lambda: field.loss_and_gradient(0, c))}, 10.0)


def options(parser: argparse.ArgumentParser) -> None:
    parts = [*RUNS, "one class"]
    parser.add_argument("--only", nargs="+", choices=parts, default=parts, metavar="NAME", help=f"of {', '.join(parts)}")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    return options.file.measure_parts(options.only, lambda name: follow(*RUNS[name]) if name in RUNS else one_class())


def _gradients(row: dict[str, Any], what: str) -> float:
    return sum(part[what] for name, part in row["parts"].items() if name.startswith(GRADIENT))


def _followed(results: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: results[name] for name in RUNS if name in results}


def judge(results: dict[str, Any]) -> list[str]:
    faults: list[str] = []
    for name, row in _followed(results).items():
        seen, share = _gradients(row, "calls"), _gradients(row, "seconds") / row["seconds"]
        if seen != row["gradients"]:
            faults.append(f"{name}: {seen} gradients were timed, the integrator counts {row['gradients']}")
        if share < SHARE:
            faults.append(TargetMissed(f"{name}: gradients take {share:.0%} of the time; target {SHARE:.0%}"))
    few = results["one class"]["few"]
    if few > ONE_CLASS:
        faults.append(TargetMissed(f"a gradient by neurons of one class takes {1e3 * few:.2g} ms; target {1e3 * ONE_CLASS:g} ms"))
    return faults


def headline(results: dict[str, Any]) -> str:
    shares = ", ".join(f"{_gradients(row, 'seconds') / row['seconds']:.0%} of the time at {name}" for name, row in _followed(results).items())
    few, whole = (1e3 * results["one class"][which] for which in ("few", "all"))
    return f"Gradients take {shares}; one by neurons of one class takes {few:.2g} ms at k = 50, one by all neurons {whole:.2g} ms"


def passage(results: dict[str, Any]) -> str:
    return "On one thread.\n\n" + "\n\n".join(
        f"{name} to t = {row['t_end']:.2g}, {row['seconds']:.0f} s, {quantity(row['steps'], 'step')}:\n\n{_costs(row)}"
        for name, row in _followed(results).items()
    )


def _costs(row: dict[str, Any]) -> str:
    parts = dict(sorted(row["parts"].items(), key=lambda item: -item[1]["seconds"]))
    lines: list[list[Any]] = [
        [name, part["calls"], f"{1e3 * part['seconds'] / part['calls']:.2g}", f"{part['seconds'] / row['seconds']:.1%}"]
        for name, part in parts.items()
    ]
    rest = 1.0 - sum(part["seconds"] for part in parts.values()) / row["seconds"]
    return table(["what", "calls", "ms each", "of the time"], [*lines, ["equations and everything else", "", "", f"{rest:.1%}"]])
