"""Speed and memory of one loss and gradient: beside automatic differentiation, on one and two threads, over each size.

Everything is timed in one process, candidates that are compared take turns, and the least time counts, so that ratios hold on a machine with other
work. Loss and gradient of every candidate must agree with mvsim to 1e-12, and one and two threads must give the same bits: the study fails if they
do not, or if gradients one part in a million off pass. Missed targets of speed and memory are reported as missed.

It takes some minutes on an idle machine. The picture is figures/performance-scaling.png. PyTorch and JAX are compared if they are installed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from lib import autograd, memory_probe, states
from lib.faults import TargetMissed
from lib.tables import met, table
from lib.timing import Candidate, fastest
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

import mvsim
from mvsim.pictures.style import MARK, NONE, styled

TITLE = "Speed of one loss and gradient"

COMPARISON = {"k": 10, "m": 10, "N": 100, "P": 100}
MAIN = {"k": 50, "m": 50, "N": 500, "C_P": 2, "G": 25}
GENERAL = {"k": 16, "m": 16, "N": 120, "P": 256, "noise": "patch"}
BASE = {"k": 20, "m": 20, "N": 200, "P": 400, "G": 20}
AXES = {
    "N": (50, 100, 200, 400, 800, 1600, 3200),
    "k": (5, 10, 20, 40, 80),
    "m": (5, 10, 20, 40, 80, 160),
    "P": (100, 400, 1600, 6400, 100_000, 1_000_000),
    "G": (5, 10, 20, 40, 80, 200),
}
"""Values of each size, one changed from `BASE` at a time."""

MEMORY: tuple[tuple[dict[str, Any], str, float | None], ...] = (
    ({"k": 50, "N": 500}, "erm", None),
    ({"k": 30, "N": 2000}, "erm", None),
    ({"k": 10, "N": 800}, "midpoint", 1e7),
    ({"k": 20, "N": 400, "noise": "point"}, "midpoint", 1e4),
    ({"k": 6, "m": 3, "N": 200, "P": 100, "noise": "patch"}, "midpoint", 100.0),
    ({"k": 50, "m": 1, "N": 500, "noise": "patch"}, "erm", 100.0),
)
"""Parameters, method and last time (None: until the run settles) of runs whose memory is measured."""

NAMES = {
    "numpy": "readable kernel (NumPy)",
    "torch as written": "PyTorch autograd as written",
    "torch": "PyTorch autograd at its best",
    "jax": "JAX, compiled by XLA",
}
SECONDS, THREADS, BOUND, MIB = 12.0, 2, 1e-12, 2.0**20
MEANING = {"N": "training points N", "k": "classes k", "m": "neurons m of a class", "P": "patches P", "G": "noise patterns G (last: G = N)"}

LossAndGradient = Callable[[np.ndarray], tuple[float, np.ndarray]]


def engine(p: mvsim.Parameters, data: mvsim.Dataset, threads: int, backend: str = "numba") -> LossAndGradient:
    """Return Midpoint Mixup on all pairs."""
    return mvsim.objective("midpoint", p, data, backend=backend, threads=threads).loss_and_gradient


def compared(name: str, actual: LossAndGradient, expected: LossAndGradient, c: np.ndarray) -> dict[str, Any]:
    """Compare loss and gradient at c; the control is the gradient at correlations one part in a million larger."""

    def error(one: Any, other: Any) -> float:
        return float(np.max(np.abs(np.asarray(one) - other)) / np.max(np.abs(other)))

    (loss, gradient), (expected_loss, expected_gradient) = actual(c), expected(c)
    errors = {"loss": error(loss, expected_loss), "gradient": error(gradient, expected_gradient)}
    control = error(actual(c * (1 + 1e-6))[1], expected_gradient)
    return {"check": name, "errors": errors, "control": control, "ok": bool(max(errors.values()) <= BOUND < control)}


def comparison() -> dict[str, Any]:
    """Time mvsim beside the readable kernel and automatic differentiation, on the same arrays."""
    p = mvsim.Parameters(**COMPARISON)
    data = mvsim.sample_dataset(p, 0)
    others = {"numpy": engine(p, data, THREADS, "numpy")}
    missing = [name for name in ("torch", "jax") if not autograd.available(name)]
    if "torch" not in missing:
        others |= {"torch as written": autograd.with_torch_as_written(p, data, THREADS), "torch": autograd.with_torch(p, data, THREADS)}
    if "jax" not in missing:
        others["jax"] = autograd.with_jax(p, data)
    ours = {f"mvsim, {threads} thread{'s' * (threads > 1)}": engine(p, data, threads) for threads in (1, THREADS)}
    checks = [
        compared(f"{name}, {state}", call, ours["mvsim, 1 thread"], make(p))
        for name, call in others.items()
        for state, make in {**states.RUN, "spread": states.spread}.items()
    ]
    c = states.escaped(p)
    seconds = fastest({name: Candidate(lambda call=call: call(c), THREADS) for name, call in others.items()}, SECONDS)
    seconds |= fastest({name: Candidate(lambda call=call: call(c), int(name[7])) for name, call in ours.items()}, SECONDS / 6)
    return {"parameters": COMPARISON, "seconds": seconds, "missing": missing, "threads": THREADS, "checks": checks}


def on_threads(fields: dict[str, Any], c: Callable[[mvsim.Parameters], np.ndarray]) -> dict[str, Any]:
    """Time one loss and gradient on one and two threads, and compare their bits; the control is a state one part in 10^15 larger."""
    p = mvsim.Parameters(**fields)
    data, at = mvsim.sample_dataset(p, 0), c(p)
    one, two = (engine(p, data, threads) for threads in (1, THREADS))
    (loss, gradient), (other_loss, other_gradient) = one(at), two(at)
    same = loss == other_loss and gradient.tobytes() == other_gradient.tobytes()
    control = two(at * (1 + 1e-15))[1].tobytes() != gradient.tobytes()
    seconds = fastest({"1": Candidate(lambda: one(at), 1), "2": Candidate(lambda: two(at), THREADS)}, SECONDS / 2)
    check = {"check": f"{fields}, 1 and {THREADS} threads", "same_bits": same, "control_differs": control, "ok": same and control}
    return {"seconds": seconds, "speed_up": seconds["1"] / seconds["2"], "same_bits": same, "checks": [check]}


def scaling() -> dict[str, Any]:
    """Time one loss and gradient along each size, on one and two threads."""
    timings: dict[str, Any] = {"base": BASE, "axes": {}}
    for axis, values in AXES.items():
        seconds = fastest({f"{value} {threads}": _along(axis, value, threads) for value in values for threads in (1, THREADS)}, SECONDS / 4)
        of_threads = {str(threads): [seconds[f"{value} {threads}"] for value in values] for threads in (1, THREADS)}
        timings["axes"][axis] = {"values": list(values), "seconds": of_threads}
    return timings


def _along(axis: str, value: int, threads: int) -> Candidate:
    """Return the candidate for one point of an axis; G = N is noise of each point."""
    p = mvsim.Parameters(**{**BASE, axis: value, **({"noise": "point"} if (axis, value) == ("G", BASE["N"]) else {})})
    call, c = engine(p, mvsim.sample_dataset(p, 0), threads), states.escaped(p)
    return Candidate(lambda: call(c), threads)


def memory() -> dict[str, Any]:
    """Measure peak memory in processes of their own, beside what mvsim predicts."""
    rows = []
    for parameters, method, t_end in MEMORY:
        problem = {"parameters": parameters, "method": method, "t_end": t_end}
        command = [sys.executable, memory_probe.__file__, json.dumps(problem)]
        rows.append({**problem, **json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)})
    return {"rows": rows}


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "comparison": comparison,
    "main size": lambda: {"parameters": MAIN, "states": {name: on_threads(MAIN, make) for name, make in states.ALL.items()}},
    "general": lambda: {"parameters": GENERAL, **on_threads(GENERAL, states.spread)},
    "scaling": scaling,
    "memory": memory,
}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    return {name: part() for name, part in PARTS.items()}


def _checks(results: Any) -> list[dict[str, Any]]:
    if not isinstance(results, dict):
        return []
    return [*results.get("checks", []), *(check for value in results.values() for check in _checks(value))]


def _targets(results: dict[str, Any]) -> list[tuple[str, float | None, str, bool]]:
    """Return each target: what, the value, the target in words, and whether it is met."""
    seconds = results["comparison"]["seconds"]
    torch = seconds["torch as written"] / seconds["mvsim, 2 threads"] if "torch as written" in seconds else None
    speed_up = min(results["main size"]["states"][name]["speed_up"] for name in states.RUN)
    most = results["memory"]["rows"][0]["measured"] / MIB
    ratios = [row["predicted"] / row["measured"] for row in results["memory"]["rows"]]
    worst = max(ratios, key=lambda ratio: abs(np.log(ratio)))
    return [
        ("times as fast as PyTorch autograd as written", torch, "at least 1000", torch is not None and torch >= 1000.0),
        ("speed-up by a second thread, k = 50", speed_up, "at least 1.8", speed_up >= 1.8),
        ("peak memory of a run of ERM at k = 50, MiB", most, "at most 1024", most <= 1024.0),
        ("predicted over measured memory, the worst", worst, "within a factor 1.5", 1 / 1.5 <= worst <= 1.5),
    ]


def judge(results: dict[str, Any]) -> list[str]:
    faults = [f"{check['check']}: {check}" for check in _checks(results) if not check["ok"]]
    missed: list[str] = [
        TargetMissed(f"{what}: {value or 0:.3g}; target {target}") for what, value, target, is_met in _targets(results) if not is_met
    ]
    return faults + missed


def headline(results: dict[str, Any]) -> str:
    seconds = results["comparison"]["seconds"]
    others = [f"{name} {_words(seconds[key])}" for key, name in (("jax", "JAX"), ("torch", "PyTorch")) if key in seconds]
    said = ", ".join([f"One gradient takes mvsim {_words(seconds['mvsim, 2 threads'])}", *others])
    goals = _targets(results)
    return f"{said}; {sum(goal[-1] for goal in goals)} of {len(goals)} targets are met"


def passage(results: dict[str, Any]) -> str:
    compared, main, general = (results[name] for name in ("comparison", "main size", "general"))
    fields = ", ".join(f"{name} = {value}" for name, value in COMPARISON.items())
    rows = [(f"{NAMES.get(name, name)}, {fields}", _words(seconds)) for name, seconds in compared["seconds"].items()]
    for name, state in {**{f"k = 50, {name}": state for name, state in main["states"].items()}, "arbitrary patches, k = 16": general}.items():
        one, two = (_words(state["seconds"][threads]) for threads in ("1", "2"))
        rows.append((f"mvsim, {name}, 1 and 2 threads", f"{one}, {two}: speed-up {state['speed_up']:.2f}"))
    goals = [(what, f"{value or 0:.3g}", f"{target}: {met(is_met)}") for what, value, target, is_met in _targets(results)]
    return (
        "PyTorch as written sums all N^2 pairs as the loss does; at its best it takes each pair once, in batches that fit the caches.\n\n"
        + table(["one loss and gradient of Midpoint Mixup, all pairs", "measured"], rows)
        + "\n"
        + table(["target", "measured", "wanted"], goals)
        + "\n![Times over each size](../figures/performance-scaling.png)\n"
    )


def _words(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds >= 1.0 else f"{1e3 * seconds:.3g} ms"


def pictures(results: dict[str, Any]) -> dict[str, Figure]:
    axes = results["scaling"]["axes"]
    with styled():
        figure = Figure(figsize=(6.8, 4.5))
        panels = list(figure.subplots(2, 3, sharey=True).flat)
        panels[-1].remove()
        for panel, (axis, timings) in zip(panels, axes.items(), strict=False):
            for threads, colour, shape, line in (("1", "#8C8C8C", "o", "--"), ("2", "black", "s", "-")):
                times, label = 1e3 * np.array(timings["seconds"][threads]), f"{threads} thread{'s' * (threads > '1')}"
                panel.loglog(timings["values"], times, marker=shape, markersize=3, color=colour, linestyle=line, label=label)
            if axis != "P":
                panel.xaxis.set_ticks(timings["values"], [str(value) for value in timings["values"]])
                panel.xaxis.set_minor_locator(NullLocator())
            panel.axvline(results["scaling"]["base"][axis], color=NONE, linewidth=0.8, zorder=0)
            panel.set_xlabel(MEANING[axis])
        panels[0].legend(loc="upper left")
        figure.supylabel("one loss and gradient, ms", fontsize=8)
        powers = {axis: _last_power(timings) for axis, timings in axes.items()}
        most, least = max(powers, key=lambda axis: powers[axis]), min(powers, key=lambda axis: powers[axis])
        title = f"At large sizes time grows most with {most}, as {most}$^{{{powers[most]:.1f}}}$, and least with {least}"
        figure.suptitle(title, fontsize=9, x=0.01, ha="left")
        base = ", ".join(f"{name} = {value}" for name, value in results["scaling"]["base"].items())
        note = f"Midpoint Mixup on all pairs, one size at a time changed from {base} (grey line). Times: the least of several."
        figure.supxlabel(note, fontsize=6, x=0.01, ha="left", color=MARK)
        return {"performance-scaling": figure}


def _last_power(timings: dict[str, Any]) -> float:
    """Return the power with which the time on two threads grows between the two largest values."""
    times, values = timings["seconds"]["2"], timings["values"]
    return float(np.log(times[-1] / times[-2]) / np.log(values[-1] / values[-2]))
