"""The parts of the study of performance. Each returns what it measured in JSON types, with its checks of exactness under "checks"."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import mvsim
from lib.performance import baselines, lost, memory_probe, states
from lib.performance.exact import BOUND, compared, same_bits
from lib.performance.limit import Counts, Units, UnitTimes, done, loop_errors, needed, needed_densely
from lib.performance.sizes import Sizes
from lib.timing import Candidate, fastest

THREADS = 2


def engine(p: mvsim.Parameters, data: mvsim.Dataset, threads: int | None, backend: str = "numba") -> Any:
    """Return Midpoint Mixup on all pairs."""
    return mvsim.objective("midpoint", p, data, backend=backend, threads=threads)


def machine(sizes: Sizes) -> tuple[Units, dict[str, Any]]:
    """Measure seconds for one operation by themselves; the loops must compute what `mvsim.smoothed_relu` computes."""
    unit_times = UnitTimes()
    seconds = fastest(unit_times.candidates(), sizes.seconds / 2, rounds=5)
    units = unit_times.units(seconds)
    checks = [{"check": f"loop of the limit: {name}", "errors": {"sum": error}, "ok": error <= BOUND} for name, error in loop_errors().items()]
    nanoseconds = {name: 1e9 * value for name, value in unit_times.each(seconds).items()}
    return units, {"nanoseconds": nanoseconds, "units": _nanoseconds(units), "checks": checks}


def comparison(sizes: Sizes, results: Path) -> dict[str, Any]:
    """Time the engine against the readable kernel and against automatic differentiation, on the same arrays."""
    p = mvsim.Parameters(**sizes.comparison)
    data = mvsim.sample_dataset(p, 0)
    ours, oracle = engine(p, data, None), engine(p, data, None, "numpy")
    others = {"numpy": oracle.loss_and_gradient}
    missing = [name for name in ("torch", "jax") if not baselines.available(name)]
    if "torch" not in missing:
        others["torch as written"] = baselines.with_torch_as_written(p, data, THREADS)
        others["torch"] = baselines.with_torch(p, data, THREADS)
    if "jax" not in missing:
        others["jax"] = baselines.with_jax(p, data)
    dense = engine(p, mvsim.Dataset.from_patches(data.labels, data.to_patches()), THREADS)
    checks = [
        compared(f"{name} and mvsim, {state}", call, ours.loss_and_gradient, make(p))
        for name, call in {**others, "arbitrary patches": dense.loss_and_gradient}.items()
        for state, make in {**states.RUN, "spread": states.spread}.items()
    ]

    c = states.escaped(p)
    candidates = {name: Candidate(lambda call=call: call(c), THREADS) for name, call in others.items()}
    for threads in (1, THREADS):
        objective = engine(p, data, threads)
        candidates[f"mvsim, {_threads(threads)}"] = Candidate(lambda objective=objective: objective.loss_and_gradient(c), threads)
    # Minutes of two-thread libraries between two turns of a millisecond leave few turns, so the short ones have turns of their own.
    seconds = fastest(candidates, sizes.seconds)
    short = {name: candidate for name, candidate in candidates.items() if name.startswith("mvsim")}
    seconds |= {name: min(value, seconds[name]) for name, value in fastest(short, sizes.seconds / 6).items()}
    return {"parameters": sizes.comparison, "seconds": seconds, "missing": missing, "threads": THREADS, "checks": checks}


def main_size(sizes: Sizes, results: Path) -> dict[str, Any]:
    """Time the main job on one and two threads beside the operations of its limit, and the designs that lost."""
    p = mvsim.Parameters(**sizes.main)
    data = mvsim.sample_dataset(p, 0)
    objectives = {threads: engine(p, data, threads) for threads in (1, THREADS)}
    kernel = objectives[1].kernel
    routes = {"without moments": lost.without_moments(p, data, THREADS), "with exponentials": lost.with_exponentials(p, data, THREADS)}
    checks, bits = [], {}
    for name, make in states.ALL.items():
        c = make(p)
        bits[name] = same_bits(f"main size, 1 and {THREADS} threads, {name}", *(o.loss_and_gradient for o in objectives.values()), c)
        checks += [compared(f"main size, {route}, {name}", call, objectives[1].loss_and_gradient, c) for route, call in routes.items()]
    checks += bits.values()

    unit_times = UnitTimes()
    timings: dict[str, Any] = {"parameters": sizes.main, "states": {}, "checks": checks, "counts": {"needed": needed(p, kernel).as_dict()}}
    for name, make in states.ALL.items():
        c = make(p)
        candidates = unit_times.candidates()
        for threads, objective in objectives.items():
            candidates[f"mvsim {threads}"] = Candidate(lambda objective=objective, c=c: objective.loss_and_gradient(c), threads)
        if name in states.RUN:
            candidates |= {route: Candidate(lambda call=call, c=c: call(c), THREADS) for route, call in routes.items()}
        seconds = fastest(candidates, sizes.seconds, rounds=5)
        units, counts = unit_times.units(seconds), done(p, kernel, c)
        one, two = seconds["mvsim 1"], seconds[f"mvsim {THREADS}"]
        limit, own = needed(p, kernel).seconds(units), counts.seconds(units)
        timings["states"][name] = {
            "seconds": {"1": one, str(THREADS): two},
            "units": _nanoseconds(units),
            "limit": limit,
            "ratio": one / limit,
            "done": counts.as_dict(),
            "limit_of_done": own,
            "ratio_to_done": one / own,
            "speed_up": one / two,
            "same_bits": bits[name]["same_bits"],
            "lost": {route: seconds[route] for route in routes if route in seconds},
        }
    return timings


def general(sizes: Sizes, results: Path) -> dict[str, Any]:
    """Time arbitrary patches beside the operations of their limit."""
    p = mvsim.Parameters(**sizes.general)
    data = mvsim.sample_dataset(p, 0)
    objectives = {threads: engine(p, data, threads) for threads in (1, THREADS)}
    c = states.spread(p)
    small = mvsim.Parameters(**{**sizes.general, "k": 5, "m": 3, "N": 20, "P": 30})
    points = mvsim.sample_dataset(small, 0)
    checks = [
        same_bits(f"arbitrary patches, 1 and {THREADS} threads", *(o.loss_and_gradient for o in objectives.values()), c),
        compared(
            "arbitrary patches and the readable kernel",
            engine(small, points, 1).loss_and_gradient,
            engine(small, points, 1, "numpy").loss_and_gradient,
            states.spread(small),
        ),
    ]
    unit_times = UnitTimes()
    candidates = unit_times.candidates()
    for threads, objective in objectives.items():
        candidates[f"mvsim {threads}"] = Candidate(lambda objective=objective: objective.loss_and_gradient(c), threads)
    seconds = fastest(candidates, sizes.seconds)
    counts: Counts = needed_densely(p.k, p.m, p.N, p.P)
    limit = counts.seconds(unit_times.units(seconds))
    one, two = seconds["mvsim 1"], seconds[f"mvsim {THREADS}"]
    return {
        "parameters": sizes.general,
        "seconds": {"1": one, str(THREADS): two},
        "counts": counts.as_dict(),
        "limit": limit,
        "ratio": one / limit,
        "speed_up": one / two,
        "checks": checks,
    }


def scaling(sizes: Sizes, results: Path) -> dict[str, Any]:
    """Time one loss and gradient along each size, on one and two threads; along P also arbitrary patches."""
    timings: dict[str, Any] = {"base": sizes.base, "axes": {}}
    for axis, values in sizes.axes.items():
        candidates = {f"{value} {threads}": _along(sizes.base, axis, value, threads) for value in values for threads in (1, THREADS)}
        seconds = fastest(candidates, sizes.seconds / 4)
        timings["axes"][axis] = {
            "values": list(values),
            "seconds": {str(threads): [seconds[f"{value} {threads}"] for value in values] for threads in (1, THREADS)},
        }
    patches = {str(P): _along({**sizes.base, "noise": "patch"}, "P", P, THREADS) for P in sizes.axis_patches}
    seconds = fastest(patches, 0.0, rounds=2)
    timings["patches"] = {"values": list(sizes.axis_patches), "threads": THREADS, "seconds": [seconds[str(P)] for P in sizes.axis_patches]}
    return timings


def memory(sizes: Sizes, results: Path) -> dict[str, Any]:
    """Measure peak memory in processes of their own, beside what `mvsim.runs.simulation.cost` predicts."""
    rows = []
    for parameters, method, t_end in sizes.memory:
        problem = {"parameters": parameters, "method": method, "t_end": t_end}
        command = [sys.executable, memory_probe.__file__, json.dumps(problem)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        rows.append({**problem, **json.loads(output)})
    return {"rows": [{**row, "predicted_over_measured": row["predicted"] / row["measured"]} for row in rows]}


def half_the_bits(sizes: Sizes, results: Path) -> dict[str, Any]:
    """Time the loops of a table in single and in double precision, and see what becomes of small gradients."""
    p = mvsim.Parameters(**sizes.main)
    candidates = {}
    for dtype in (np.float64, np.float32):
        table = lost.TableLoops(p, dtype)
        candidates |= {f"values {dtype.__name__}": Candidate(table.values), f"gradient {dtype.__name__}": Candidate(table.gradient)}
    seconds = fastest(candidates, sizes.seconds / 6)
    speed_up = {part: seconds[f"{part} float64"] / seconds[f"{part} float32"] for part in ("values", "gradient")}
    literal = float(np.sqrt(p.d) / float(p.k) ** 10)  # initial correlations at d = k^20 over those at the default d
    errors = {"default d": lost.small_gradient_errors(p, 1.0), "d = k^20": lost.small_gradient_errors(p, literal)}
    return {"parameters": sizes.main, "seconds": seconds, "speed_up": speed_up, "errors": errors}


def checks_of(results: Any) -> Iterator[dict[str, Any]]:
    """Yield every check of exactness in what the parts found."""
    if isinstance(results, dict):
        for name, value in results.items():
            if name == "checks":
                yield from value
            else:
                yield from checks_of(value)


def _along(base: dict[str, Any], axis: str, value: int, threads: int) -> Candidate:
    """Return the candidate for one point of an axis; G = N is noise of each point."""
    fields = {**base, axis: value}
    if axis == "G" and value == base["N"]:
        fields |= {"noise": "point"}
    p = mvsim.Parameters(**fields)
    call: Callable[[np.ndarray], Any] = engine(p, mvsim.sample_dataset(p, 0), threads).loss_and_gradient
    c = states.escaped(p)
    return Candidate(lambda: call(c), threads)


def _nanoseconds(units: Units) -> dict[str, float]:
    return {
        "R": 1e9 * units.R,
        "R'": 1e9 * units.slope,
        "exponential": 1e9 * units.exponential,
        "multiply-add": 1e9 * units.multiply_add,
    }


def _threads(threads: int) -> str:
    return "1 thread" if threads == 1 else f"{threads} threads"
