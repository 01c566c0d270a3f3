"""What holds along every gradient flow, over random parameters from the whole domain of `mvsim.Parameters`.

Each set is followed once, to where the run ends by itself, in a process of its own with one thread; what takes longer than ``--seconds`` is cut
there, and judged as far as it came. Set n follows from the seed alone, whatever else is asked. A call goes on with the sets that earlier ones
with the same seed have measured with the same code.

Four statements are checked. L is the loss, g its gradient, s = |g| / L; along the flow L' = -|g|^2.

1.  The loss never rises: between two records ln L grows by at most 0.01. For every method and every ending. Where pairs are mixed the loss is a
    sum of terms of order 1, known to round-off; it is far above that unless all points are of one class, and below `RESOLVED` it does not count.

2.  The loss is not below what can be reached (ERM). With S = sqrt(2 m) max_i |sum_p x_i^(p)|, where coefficients are added up by feature,

        |g| <= S mean_i (1 - phi_{y_i}) <= S mean_i (-ln phi_{y_i}) = S L,

    because 0 <= R' <= 1 and the other classes share 1 - phi_{y_i} among them. So d(1/L)/dt = s^2 <= S^2, and at all t

        1 / L(t) <= 1 / L(0) + S^2 t.

    This needs no premise and holds from the first record on; 1 % is allowed for the tolerance of the flow.

3.  Late in a flow s^2 L t is about 1 (ERM). From time a on, s^2 (t - a) L(t) = (1 - L(t) / L(a)) s(t)^2 / mean of s^2 over [a, t]. With outputs
    in place of losses, s is how fast the least margins grow with |c|, which changes as the power 1 - 1/alpha of ln(1/L) at most: by a factor of
    2 while L falls from 10^-2 to 10^-4, less afterwards. So once t >= 10 a and L(a) <= 10^-2, s^2 L t lies in [0.1, 10] unless a feature
    escapes in between and s leaps. The premise is therefore: the run calls itself settled, or finished at its last time; training accuracy is 1;
    and t >= `LATE` a, a the first record at which L <= `SMALL` for good. It is reported how many runs meet it.

4.  What ln J loses between two records is the integral of |g|^2 / J that was recorded with the run: they differ by at most `BALANCE`, which is
    30 relative tolerances, times 1 plus the fall of ln J, as `mvsim verify` asks. For every method and every ending.

Fails unless all four hold in all runs, without a warning.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import signal
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np
from lib.processes import use_one_thread
from lib.tables import table

import mvsim
from mvsim.runs.archive import collect_provenance

TITLE = "What holds along every flow"

RISE = 0.01
"""Rise of ln L between two records that is left to the tolerance of the flow."""

RESOLVED = 1e-12
"""Loss of mixed points that is well above round-off."""

BALANCE = 0.03
"""Largest difference between the fall of ln J and the integral, at the default tolerance of the flow, 1e-3."""

BELOW = 1.01
"""Factor by which 1/L may exceed its bound, for the same reason."""

BAND = (0.1, 10.0)
"""Where s^2 L t lies late in a flow."""

SMALL, LATE = 1e-2, 10.0
"""Late is `LATE` times the time from which the loss stays below `SMALL`."""

ALPHAS = (1.0, 2.0, 8.0, 8.0, 8.0, 64.0)
"""Whole powers, each of which has loops of its own to be compiled; as many sets have any other power from 1 to 64."""


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """Draw a number whose logarithm is uniform."""
    return float(np.exp(rng.uniform(math.log(low), math.log(high))))


def draw(seed: int, number: int) -> dict[str, Any]:
    """Return set ``number``: the fields of `mvsim.Parameters`, the method and its options."""
    rng = np.random.default_rng([seed, number])

    def whole(low: int, high: int) -> int:
        return min(high, int(log_uniform(rng, low, high + 1)))

    k = int(rng.integers(2, 7))
    Q = int(rng.integers(1, k))
    C_P = int(rng.integers(1, 4))
    delta2 = log_uniform(rng, 2e-5, 10.0)
    delta4 = 0.0 if rng.random() < 0.15 else log_uniform(rng, 1e-5, 10.0)
    laws = ({"kind": "uniform"}, {"kind": "uniform"}, {"kind": "beta", "a": log_uniform(rng, 0.05, 50.0)}, {"kind": "discrete", "atoms": [0.5]})
    fields = {
        "k": k,
        "m": whole(1, 2 * k),
        "d": 2 * k * whole(1, k**20 // (2 * k)),
        "P": 2 * C_P + int(rng.integers(0, 15)),
        "C_P": C_P,
        "Q": Q,
        "N": whole(1, 60),
        "alpha": float(rng.choice(ALPHAS)) if rng.random() < 0.5 else log_uniform(rng, 1.01, 63.9),
        "rho": log_uniform(rng, 1e-3, 1e6),
        "delta1": log_uniform(rng, 1e-5, delta2 / 2),
        "delta2": delta2,
        "delta3": 0.0 if rng.random() < 0.3 else delta4 * rng.random(),
        "delta4": delta4,
        "signal_layout": str(rng.choice(["random", "fixed"])),
        "noise": str(rng.choice(["codebook", "point", "patch"])),
        "G": math.ceil(k / (k - Q)) + int(rng.integers(0, 10)),
        "beta_law": laws[rng.integers(len(laws))],
    }
    method = str(rng.choice(["erm", "midpoint", "mixup"], p=[0.5, 0.35, 0.15]))
    return {"parameters": fields, "method": method, "options": {"nodes": 4} if method == "mixup" else {}}


def follow(seed: int, number: int, seconds: float) -> dict[str, Any]:
    """Follow one set and return what the statements say about it."""
    asked = draw(seed, number)
    p = mvsim.Parameters(**asked["parameters"])
    row: dict[str, Any] = {"set": number, **asked}
    error = ""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        compile_loops(p, asked["method"], asked["options"])
        file = Path(folder) / "run.nc"
        start = time.perf_counter()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a shell has started this in the background, deaf to it
        signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            mvsim.simulate(p, asked["method"], seed=number, out=file, threads=1, **asked["options"])
        except (mvsim.MvsimError, KeyboardInterrupt) as stopped:
            error = f"{type(stopped).__name__}: {stopped}"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        row["seconds"] = time.perf_counter() - start
        run = mvsim.open_run(file) if file.exists() else None
    row["warnings"] = sorted({f"{one.category.__name__}: {one.message}" for one in warned})
    row["error"] = error.replace(folder, "")[:300]
    if run is None:
        return row | {"status": "nothing saved", "broken": []}
    return row | checked(run, asked["method"], mvsim.sample_dataset(p, number))


def compile_loops(p: mvsim.Parameters, method: str, options: dict[str, Any]) -> None:
    """Compile what a run of this kind needs, which takes a minute where no cache has it and is no part of the run."""
    objective = mvsim.objective(method, p, mvsim.sample_dataset(p, 0), threads=1, **options)
    c = mvsim.initial_correlations(p, 0)
    objective.loss_and_gradient(c), objective.hessian_vector_product(c, c)
    curvature = objective.curvature(c)
    if curvature is not None:
        curvature.shifted(1.0).solve(c.ravel())
    mvsim.feature_learned(p, c, n_test=1)


def checked(run: Any, method: str, data: Any) -> dict[str, Any]:
    """Return what was measured along a run, and which statements are broken."""
    t, loss, norm, accuracy = (run.dataset[name].to_numpy() for name in ("time", "loss", "gradient_norm", "training_accuracy"))
    with np.errstate(divide="ignore", invalid="ignore"):
        rises = np.diff(np.log(loss if method == "erm" else np.maximum(loss, RESOLVED)))
    finite = bool(np.isfinite(loss).all() and (loss >= 0.0).all())
    rise = float(np.nanmax(rises, initial=-np.inf)) if len(t) > 1 else 0.0
    row: dict[str, Any] = {
        "status": run.status, "settled": run.settled, "records": len(t), "steps": int(run.dataset["final_step"]), "time": float(t[-1]),
        "loss": float(loss[-1]), "training_accuracy": float(accuracy[-1]), "rise": rise if math.isfinite(rise) else str(rise),
    }  # fmt: skip
    broken = ([] if finite else ["the loss is no number >= 0"]) + (["the loss rises"] if rise > RISE else [])
    row["imbalance"] = imbalance(loss, run.dataset["log_dissipation"].to_numpy(), 0.0 if method == "erm" else RESOLVED)
    broken += ["the loss does not fall by the integral of |g|^2"] if row["imbalance"] > BALANCE else []
    if method == "erm":
        bound = 1.0 / loss[0] + (fastest(data, run.parameters.m) ** 2) * t
        with np.errstate(divide="ignore", over="ignore"):
            excess = float(np.max(1.0 / loss / bound))
        row["excess"] = excess if math.isfinite(excess) else str(excess)
        broken += ["the loss is lower than any flow can bring it"] if excess > BELOW else []
        row |= late(t, loss, norm, accuracy, run.status)
        broken += ["s^2 L t outside the band"] if row["late"] and not BAND[0] <= row["s2Lt"] <= BAND[1] else []
    return row | {"broken": broken}


def imbalance(loss: np.ndarray, log_dissipation: np.ndarray, resolved: float) -> float:
    """Return the largest difference of statement 4 between two records whose losses are above ``resolved``."""
    known = (loss[:-1] > resolved) & (loss[1:] > resolved)
    if not known.any():
        return 0.0
    fall = np.log(loss[:-1][known]) - np.log(loss[1:][known])
    return float(np.max(np.abs(fall - np.diff(log_dissipation)[known]) / (1.0 + np.abs(fall))))


def fastest(data: Any, m: int) -> float:
    """Return S of statement 2."""
    return math.sqrt(2.0 * m) * float(np.sqrt((data.to_patches().sum(axis=1) ** 2).sum(axis=(1, 2))).max())


def late(t: np.ndarray, loss: np.ndarray, norm: np.ndarray, accuracy: np.ndarray, status: str) -> dict[str, Any]:
    """Return s^2 L t at the end, and whether the premise of statement 3 holds."""
    small = np.logical_and.accumulate((loss <= SMALL)[::-1])[::-1]
    since = float(t[np.argmax(small)]) if small.any() else math.inf
    value = float((norm[-1] / loss[-1]) * norm[-1] * t[-1]) if loss[-1] > 0.0 else 0.0
    return {"s2Lt": value, "late": bool(status == "finished" and accuracy[-1] == 1.0 and t[-1] >= LATE * since and since > 0.0)}


def follow_all(sets: list[int], seed: int, seconds: float, processes: int, rows: dict[int, dict[str, Any]], save: Callable[[], None]) -> None:
    """Measure sets, each in a fresh process, and save after each."""
    use_one_thread()
    waiting = list(sets)
    while waiting:
        with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
            jobs = {pool.submit(follow, seed, number, seconds): number for number in waiting}
            for job in as_completed(jobs):
                number = jobs[job]
                try:
                    row = job.result()
                except BrokenProcessPool:  # one of those that were running killed its process: it alone is left out when it happens again
                    continue
                except Exception as error:
                    row = {"set": number, **draw(seed, number), "status": "error", "broken": [f"{type(error).__name__}: {error}"[:300]]}
                rows[number] = row
                save()
                told = f"{row['method']}: {row['status']}" + (", settled" if row.get("settled") else "")
                print(f"set {number:4} {told:28} {row.get('seconds', 0.0):6.1f} s  {'; '.join(row['broken'])}", flush=True)
        left = [number for number in waiting if number not in rows]
        for number in left[:1] if len(left) == len(waiting) else []:
            rows[number] = {"set": number, **draw(seed, number), "status": "killed", "broken": ["the process was killed"]}
        waiting = [number for number in left if number not in rows]


def faults(row: dict[str, Any]) -> list[str]:
    """Return what is wrong with one run."""
    return [*row["broken"], *row.get("warnings", [])]


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Count endings and broken statements."""
    ended = Counter(row["status"] + (", settled" if row.get("settled") else "") for row in rows)
    return {
        "sets": len(rows),
        "endings": dict(sorted(ended.items())),
        "erm": sum(row["method"] == "erm" for row in rows),
        "late": sum(bool(row.get("late")) for row in rows),
        "broken": dict(Counter(what for row in rows for what in row["broken"])),
        "sets_broken": sorted(row["set"] for row in rows if row["broken"]),
        "warnings": dict(Counter(what for row in rows for what in row.get("warnings", []))),
        "pass": not any(map(faults, rows)),
    }


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the sets")
    parser.add_argument("--seconds", type=float, default=60.0, help="after which a run is cut")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of sets to measure again")
    parser.add_argument("--fresh", action="store_true", help="measure all sets again")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    earlier = {} if options.fresh else options.file.read()
    if earlier.get("seed") != options.seed or not (options.file.is_current or options.only):
        earlier = {}
    rows = {row["set"]: row for row in earlier.get("rows", [])}
    sets = options.only if options.only else [number for number in range(options.sets) if number not in rows]
    options.file.keep([number for number in rows if number not in sets])
    about = {"command": options.command, "seed": options.seed, "git_revision": collect_provenance("")["git_revision"]}

    def results() -> dict[str, Any]:
        ordered = [rows[number] for number in sorted(rows)]
        return {**about, **summary(ordered), "rows": ordered}

    follow_all(sets, options.seed, options.seconds, options.processes, rows, lambda: options.file.write(results()))
    return results()


def judge(results: dict[str, Any]) -> list[str]:
    broken = [f"set {row['set']}, {row['method']}: {'; '.join(faults(row))}" for row in results["rows"] if faults(row)]
    outside = [f"set {row['set']}: settled with s^2 L t = {row['s2Lt']:.2g}" for row in settled(results) if not BAND[0] <= row["s2Lt"] <= BAND[1]]
    return broken + outside + ([] if results["rows"] else ["no set was followed"])


def settled(results: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the runs of ERM that call themselves settled."""
    return [row for row in results["rows"] if row["method"] == "erm" and row.get("settled")]


def _least(results: dict[str, Any]) -> float:
    return min((row["s2Lt"] for row in settled(results)), default=math.nan)


def _most(results: dict[str, Any]) -> float:
    return max((row["s2Lt"] for row in settled(results)), default=math.nan)


def headline(results: dict[str, Any]) -> str:
    warned = sum(bool(row.get("warnings")) for row in results["rows"])
    return f"{len(results['sets_broken'])} of {len(results['rows'])} runs break a statement, {warned} give a warning"


def passage(results: dict[str, Any]) -> str:
    rows, closing = results["rows"], settled(results)
    return (
        f"The parameters are drawn from the whole domain, seed {results['seed']}. L is the loss, g its gradient, s = |g| / L, and S a bound of s at "
        "all weights.\n\n"
        + table(["statement", "of", "runs", "broken in"], _statements(rows))
        + f"\nIn the {len(closing)} runs of ERM that have settled, s^2 L t ends between {_least(results):.2g} and {_most(results):.2g}.\n\n"
        + table(["ending", "runs"], results["endings"].items())
    )


def _statements(rows: list[dict[str, Any]]) -> list[tuple[str, str, int, int]]:
    """Return each statement with its bound, which runs it is about, how many these are, and how many break it."""
    erm = [row for row in rows if row["method"] == "erm"]

    def broken(words: str) -> int:
        return sum(words in row["broken"] for row in rows)

    late = f"s^2 L t ends in [{BAND[0]:g}, {BAND[1]:g}]"
    fall = rf"ln L falls by the integral of \|g\|^2 / L, to {BALANCE:g} of 1 plus the fall"
    return [
        (f"ln L rises by at most {RISE:g} between two records", "all runs", len(rows), broken("the loss rises")),
        ("1 / L stays below 1 / L(0) + S^2 t", "ERM", len(erm), broken("the loss is lower than any flow can bring it")),
        (late, "ERM, late in the flow", sum(bool(row.get("late")) for row in erm), broken("s^2 L t outside the band")),
        (fall, "all runs", sum("imbalance" in row for row in rows), broken("the loss does not fall by the integral of |g|^2")),
    ]
