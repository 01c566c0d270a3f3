"""ERM at the literal dimension d = k^20: the loss never rises, falls as 1/t at the end, and the features learned do not depend on the tolerance.

Correlations reach several hundred there while the loss is exp(-margin), so this is where a time-stepper fails that resolves correlations relative to
themselves. Each problem is followed at rtol = 1e-3 and at a hundredth of it. Along the flow L' = -|g|^2, and late in it |g|^2 t / L tends to 1.
Fails if ln L rises by more than 0.01, if |g|^2 t / L lies outside [0.5, 2] at the end, if what is learned differs between the tolerances, or if a
run at k = 10 and rtol = 1e-3 takes more than ten minutes.
A call goes on with the rows of earlier ones that measured the same code.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from lib.faults import TargetMissed
from lib.tables import met, table

import mvsim
from mvsim.runs.archive import collect_provenance

TITLE = "ERM at d = k^20"

TOLERANCES = (1e-3, 1e-5)
RISE, LATE = 0.01, (0.5, 2.0)
TARGET, TARGET_SECONDS = (10, 1e-3), 600.0
"""k and tolerance of the runs that are to end within so many seconds."""


def follow(k: int, seed: int, rtol: float) -> dict[str, Any]:
    """Follow one run to its end and measure it."""
    start = time.perf_counter()
    run = mvsim.simulate(mvsim.Parameters.literal(k=k), "erm", seed=seed, rtol=rtol, threads=1)
    ds, seconds = run.dataset, time.perf_counter() - start
    log_loss, last = np.log(ds["loss"].values), ds.isel(time=-1)
    balance = float(last["log_dissipation"]) - (log_loss[0] - log_loss[-1])
    return {
        "k": k,
        "seed": seed,
        "rtol": rtol,
        "settled": run.settled,
        "rise": float(np.max(log_loss - np.minimum.accumulate(log_loss))),
        "late": float(last["gradient_norm"] ** 2 * last["time"] / last["loss"]),
        "balance": balance,
        "fallen": float(log_loss[0] - log_loss[-1]),
        "learned": last["feature_learned"].values.tolist(),
        "largest_correlation": float(np.abs(run.final_correlations).max()),
        "t": float(last["time"]),
        "steps": int(ds["final_step"]),
        "evaluations": int(ds["final_evaluations"]),
        "seconds": seconds,
        "git_revision": collect_provenance()["git_revision"],
    }


def name_of(row: dict[str, Any]) -> tuple[int, int, float]:
    """Return what tells a run from others."""
    return row["k"], row["seed"], row["rtol"]


def a_flow(row: dict[str, Any]) -> bool:
    """Whether one run does what a flow does."""
    return bool(row["settled"] and row["rise"] <= RISE and LATE[0] <= row["late"] <= LATE[1])


def features(row: dict[str, Any]) -> list[list[bool]]:
    """Return which features of which class a run has learned."""
    return [[share >= 1.0 for share in views] for views in row["learned"]]


def results_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the results with these rows."""
    results = {"rise": RISE, "late": LATE, "rows": rows}
    return {"ok": not judge(results), **results}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--k", type=int, nargs="+", default=[4, 6, 10])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--fresh", action="store_true", help="measure again what earlier calls have measured")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    rows = options.file.read().get("rows", []) if options.file.is_current and not options.fresh else []
    options.file.keep(rows)
    for rtol in TOLERANCES:
        for k in options.k:
            for seed in range(options.seeds):
                if (k, seed, rtol) in map(name_of, rows):
                    continue
                row = follow(k, seed, rtol)
                rows.append(row)
                print(f"k={k} seed={seed} rtol={rtol:g}: {'holds' if a_flow(row) else 'FAILS'}: rise {row['rise']:.2g}, |g|^2 t/L {row['late']:.3f}, "
                      f"{row['steps']} steps, {row['evaluations']} gradients, {row['seconds']:.0f} s", flush=True)  # fmt: skip
                options.file.write(results_of(rows))
    return results_of(rows)


def judge(results: dict[str, Any]) -> list[str]:
    wrong = [
        f"k = {row['k']}, seed {row['seed']}, rtol = {row['rtol']:g}: ln L rises by {row['rise']:.2g}, |g|^2 t / L = {row['late']:.3g} at the end"
        + ("" if row["settled"] else ", not settled")
        for row in results["rows"]
        if not a_flow(row)
    ]
    different = [f"k = {k}, seed {seed}: other features at another tolerance" for (k, seed), same in compared(results).items() if same is False]
    slow = [TargetMissed(f"k = {row['k']}, seed {row['seed']}: {row['seconds']:.0f} s; target {TARGET_SECONDS:g} s") for row in too_slow(results)]
    return wrong + different + slow


def too_slow(results: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the runs that miss the target."""
    return [row for row in results["rows"] if (row["k"], row["rtol"]) == TARGET and row["seconds"] > TARGET_SECONDS]


def compared(results: dict[str, Any]) -> dict[tuple[int, int], bool | None]:
    """Return for each k and seed whether the features are the same at all tolerances; None if there is only one."""
    runs: dict[tuple[int, int], list[list[list[bool]]]] = {}
    for row in results["rows"]:
        runs.setdefault((row["k"], row["seed"]), []).append(features(row))
    return {problem: all(one == learned[0] for one in learned) if len(learned) > 1 else None for problem, learned in runs.items()}


def citations(results: dict[str, Any]) -> dict[str, list[str]]:
    same = [one for one in compared(results).values() if one is not None]
    return {"concepts.md": [f"at rtol = 1e-3 and 1e-5 | ERM at d = k^20 | the same in {sum(same)} of {len(same)} runs"]}


def headline(results: dict[str, Any]) -> str:
    rows, same = results["rows"], [one for one in compared(results).values() if one is not None]
    rise = max((row["rise"] for row in rows), default=0.0)
    never = "never rises" if rise == 0.0 else f"rises by at most {rise:.1g}"
    return (
        f"At d = k^20 {sum(row['settled'] for row in rows)} of {len(rows)} runs of ERM settle, ln L {never}, and {sum(same)} of {len(same)} learn "
        f"the same features at rtol {TOLERANCES[0]:g} and {TOLERANCES[1]:g}"
    )


def passage(results: dict[str, Any]) -> str:
    heads = ["k", "rtol", "runs", "settled", "largest rise", "at the end", "the same features at both tolerances", "gradients", "seconds, one thread"]
    same, lines = compared(results), []
    for k, rtol in sorted({(row["k"], row["rtol"]) for row in results["rows"]}, key=lambda pair: (pair[0], -pair[1])):
        rows = [row for row in results["rows"] if (row["k"], row["rtol"]) == (k, rtol)]
        both = [same[k, row["seed"]] for row in rows if same[k, row["seed"]] is not None]
        late = f"{min(row['late'] for row in rows):.2f} to {max(row['late'] for row in rows):.2f}"
        evaluations = f"{min(row['evaluations'] for row in rows)} to {max(row['evaluations'] for row in rows)}"
        seconds = f"{min(row['seconds'] for row in rows):.0f} to {max(row['seconds'] for row in rows):.0f}"
        cells = [k, f"{rtol:g}", len(rows), sum(row["settled"] for row in rows), f"{max(row['rise'] for row in rows):.1g}", late]
        lines.append([*cells, f"{sum(both)} of {len(both)}" if both else "", evaluations, seconds])
    timed = any((row["k"], row["rtol"]) == TARGET for row in results["rows"])
    target = f"\nTarget at k = {TARGET[0]}, rtol = {TARGET[1]:g}: {TARGET_SECONDS:g} s, {met(not too_slow(results))}.\n"
    return (
        "Along the flow ln L cannot rise, and late |g|^2 t / L tends to 1. The table has the largest rise of ln L above its least value so far, and "
        "the range of |g|^2 t / L at the end:\n\n" + table(heads, lines) + (target if timed else "")
    )
