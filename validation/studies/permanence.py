"""Escapes of unlearned views, predicted from settled ERM runs, beside what happens when the runs are followed far beyond.

k = 10 at r0 = 0.3, where some of the views that have not been learned when a run settles escape later. From each settled run, the time t* of every
such escape is predicted, with the error of the fit (`predicted_escapes`). The run is then followed to t = 10^10.5. A
hit is an escape that was predicted for that time within its error and came, a miss one that came unpredicted, a false alarm one that was predicted,
beyond its error, and did not come. The picture is figures/permanence.png.

The part of the way that a verdict counts on, `mvsim.papers.midpoint_mixup.theorems.trends.COUNTED_ON`, was chosen after these escapes. It is held
against others, which nothing was fitted to: the runs of the study theorems, k = 10 at r0 = 0.15, followed to t = 10^12.

What could undo training accuracy, and features that have been learned, is noise that enters the linear part of the activation: V Q delta4 max c / rho
above 1. Of these runs, and of runs of Midpoint Mixup at k = 6 that are followed to t = 10^10, it is told how large that number gets, and in how many
a training point is wrong again, or a learned feature misses a fresh draw at some record, after the run had settled.

Fails unless at least 90 % of the escapes that came were predicted, at most 10 % of those predicted did not come, the median error of the hits is
within 0.3 decades, and none came before the time up to which a verdict counts on none.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from lib.runs import add_runs_option, all_over_seeds, runs_of_present_code
from lib.tables import table
from matplotlib.figure import Figure

import mvsim
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.paths import path_in_k
from mvsim.papers.midpoint_mixup.theorems.predicted_escapes import predicted_escapes
from mvsim.papers.midpoint_mixup.theorems.trends import COUNTED_ON
from mvsim.pictures.style import FIRST, MARK, SECOND, styled
from mvsim.runs.recording.fresh_draws import is_learned

TITLE = "How long do unlearned views stay unlearned?"

R0, FAR = 0.3, 10.5
"""Start, and the power of ten to which runs are followed."""

PREDICTED, FALSE, WITHIN = 0.9, 0.1, 0.3

HELD_OUT, HELD_OUT_SEEDS, HELD_OUT_END = mvsim.Parameters(k=10, d=20_000), 20, 12.0
"""The runs to which nothing was fitted, and the power of ten to which they are followed."""

MIXED, MIXED_END = 6, 1e10
"""Number of classes of the runs of Midpoint Mixup, with the default r0, and the time to which they are followed: a hundred times that of settling."""


def parameters() -> mvsim.Parameters:
    """Return k = 10 at `R0`."""
    return path_in_k(f"r0={R0:g}")(k=10, N=200)


def compared(seed: int, settled: Evidence, far: Evidence) -> dict[str, Any]:
    """Foretell the escapes of one settled run, and say what came of them in the same run followed further."""
    predicted, log_end = predicted_escapes(settled), float(np.log(settled.times[-1]))
    views = []
    for y, view in np.argwhere(~np.isfinite(settled.entry_time)):
        came = float(far.entry_time[y, view])
        moment = predicted.moment(int(y), int(view), log_end)
        on_its_way = np.isfinite(moment.log_time)
        views.append(
            {
                "predicted": moment.log_time / np.log(10.0) if on_its_way else None,
                "error": moment.error / np.log(10.0) if on_its_way else None,
                "not_before": moment.known / np.log(10.0) if np.isfinite(moment.known) else None,
                "counted_on": moment.counted_on / np.log(10.0) if np.isfinite(moment.known) else None,
                "came": float(np.log10(came)) if np.isfinite(came) else None,
            }
        )
    print(f"seed {seed}: {sum(view['came'] is not None for view in views)} of {len(views)} views came", flush=True)
    return {"settled": float(np.log10(settled.times[-1])), "records": predicted.records, "views": views}


def undone(settled: Evidence, far: Evidence) -> dict[str, Any]:
    """Say what of a settled run was lost when it was followed further, and how far noise was in the linear part by then."""
    later, learned = far.times > settled.times[-1], is_learned(settled.learned_fractions[-1])
    p, last = far.parameters, far.snapshots[-1].c
    return {
        "accuracy_lost": bool((far.training_accuracy[later] < 1.0).any()),
        "features_lost": int((learned & ~is_learned(far.learned_fractions[later]).all(axis=0)).sum()),
        "features": int(learned.sum()),
        "noise": float(p.V * p.Q * p.delta4 * last.max() / p.rho),
        "least_margin": float(np.nanmin(far.least_margin[-1])),
        "log_time": float(np.log10(far.times[-1])),
    }


def counted(results: dict[str, Any]) -> dict[str, Any]:
    """Return hits, misses, false alarms, and the errors of the hits in decades."""
    views = [view for run in results["runs"].values() for view in run["views"]]
    came = [view["came"] is not None for view in views]
    expected = [view["predicted"] is not None and view["predicted"] - view["error"] <= FAR for view in views]
    surely = [view["predicted"] is not None and view["predicted"] + view["error"] <= FAR for view in views]
    hits = [view for view, c, t in zip(views, came, expected, strict=True) if c and t]
    errors = [abs(view["predicted"] - view["came"]) for view in hits]
    return {
        "views": len(views),
        "hits": len(hits),
        "misses": sum(c and not t for c, t in zip(came, expected, strict=True)),
        "false": sum(s and not c for c, s in zip(came, surely, strict=True)),
        "errors": errors,
        "within_its_error": sum(error <= max(view["error"], 0.05) for view, error in zip(hits, errors, strict=True)),
    }


EDGE = FAR + 4.0
"""Power of ten to which predicted times are drawn."""


def pictures(results: dict[str, Any]) -> dict[str, Figure]:
    """Draw when views escaped over when they were predicted to; those that did not escape stand, hollow, on the line where the runs end."""
    everything = [view for run in results["runs"].values() for view in run["views"]]
    views = [view for view in everything if view["predicted"] is not None]
    hits = [view for view in views if view["came"] is not None]
    waiting = [view["predicted"] for view in views if view["came"] is None and view["predicted"] < EDGE]
    known = [view for view in hits if view["not_before"] is not None]
    with styled():
        figure = Figure(figsize=(3.3, 3.3), layout="constrained")
        axes = figure.subplots()
        axes.plot([5.0, FAR], [5.0, FAR], color=MARK, linewidth=0.7, linestyle=":", label="as predicted")
        axes.axhline(FAR, color=MARK, linewidth=0.8, linestyle="--", label="end of the runs", zorder=1)
        x, error, came = (np.array([view[name] for view in hits]) for name in ("predicted", "error", "came"))
        axes.errorbar(x, came, xerr=error, color=FIRST, fmt="o", markersize=3.5, linewidth=0.8, label="escaped, with error of the fit")
        look: dict[str, Any] = {"color": SECOND, "marker": "|", "markersize": 9, "markeredgewidth": 1.4, "linestyle": "", "zorder": 3}
        axes.plot([view["not_before"] for view in known], [view["came"] for view in known], label="$T$: no escape before, by the fit", **look)
        label = "not by the end of the runs"
        axes.plot(waiting, np.full(len(waiting), FAR), color=FIRST, marker="o", markersize=4, markerfacecolor="white", linestyle="", label=label)
        axes.set(xlim=(5.0, EDGE), ylim=(5.0, FAR + 1.2))
        axes.set_xlabel(r"$\log_{10}$ of the predicted escape time")
        axes.set_ylabel(r"$\log_{10}$ of the escape time")
        title = f"{len(hits)} of {len(everything)} unlearned views escape by $t = 10^{{{FAR:g}}}$,\nup to {max(x - came):.2g} decades before"
        title += " the predicted time"
        figure.suptitle(title, fontsize=9, x=0.01, ha="left")
        ways = _ways(results["runs"])
        note = f"{sum(way < 1.0 for way in ways)} of {len(ways)} escapes came before $T$: it lies to the right of the dotted line.\n"
        beyond, unknown = len(views) - len(hits) - len(waiting), len(everything) - len(views)
        note += f"Not drawn: {beyond} views predicted beyond $10^{{{EDGE:g}}}$, {unknown} without a time."
        figure.supxlabel(note, fontsize=6, x=0.01, ha="left", color=MARK)
        axes.legend(loc="lower right")
        return {"permanence": figure}


def options(parser: argparse.ArgumentParser) -> None:
    add_runs_option(parser)
    parser.add_argument("--seeds", type=int, default=10, help="runs of ERM")
    parser.add_argument("--mixing-seeds", type=int, default=5, help="runs of Midpoint Mixup")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    p, folder = parameters(), runs_of_present_code(options.runs)
    settled = all_over_seeds(folder, p, "erm", options.seeds)
    far = all_over_seeds(folder, p, "erm", options.seeds, t_end=10.0**FAR)
    pairs = [(Evidence(one), Evidence(later)) for one, later in zip(settled, far, strict=True)]
    others = all_over_seeds(folder, HELD_OUT, "erm", HELD_OUT_SEEDS)
    others_far = all_over_seeds(folder, HELD_OUT, "erm", HELD_OUT_SEEDS, t_end=10.0**HELD_OUT_END)
    held_out = [(Evidence(one), Evidence(later)) for one, later in zip(others, others_far, strict=True)]
    q, seeds = mvsim.Parameters(k=MIXED), options.mixing_seeds
    mixed = zip(all_over_seeds(folder, q, "midpoint", seeds), all_over_seeds(folder, q, "midpoint", seeds, t_end=MIXED_END), strict=True)
    return {
        "runs": {str(seed): compared(seed, *pair) for seed, pair in enumerate(pairs)},
        "held_out": {str(seed): compared(seed, *pair) for seed, pair in enumerate(held_out)},
        "undone": {
            f"ERM, k = {p.k}": [undone(*pair) for pair in pairs],
            f"ERM, k = {HELD_OUT.k}, r0 = {HELD_OUT.r0:.2g}": [undone(*pair) for pair in held_out],
            f"Midpoint Mixup, k = {MIXED}": [undone(*map(Evidence, pair)) for pair in mixed],
        },
    }


def judge(results: dict[str, Any]) -> list[str]:
    found = counted(results)
    came, expected = found["hits"] + found["misses"], found["hits"] + found["false"]
    conditions = {
        f"{found['misses']} of {came} escapes were not predicted": found["misses"] <= (1.0 - PREDICTED) * came,
        f"{found['false']} of {expected} predicted escapes did not come": found["false"] <= FALSE * expected,
        f"the median error exceeds {WITHIN:g} decades": not found["errors"] or float(np.median(found["errors"])) <= WITHIN,
    }
    faults = [fault for fault, holds in conditions.items() if not holds]
    for runs, where in ((results["runs"], f"at r0 = {R0:g}"), (results.get("held_out", {}), "in runs that nothing was fitted to")):
        early = [view for run in runs.values() for view in run["views"] if _is_too_early(view)]
        faults += [f"{len(early)} escapes {where} came before the time up to which a verdict counts on none"] if early else []
    return faults


def _is_too_early(view: dict[str, Any]) -> bool:
    """Return whether a view escaped before the time up to which that is counted on not to happen."""
    return view["came"] is not None and (view["counted_on"] is None or view["came"] < view["counted_on"])


def _ways(runs: dict[str, Any]) -> list[float]:
    """Return of each escape after which part of the way it came, from where its run had settled to where no escape is possible by the fit."""
    views = [(run["settled"], view) for run in runs.values() for view in run["views"]]
    return [(v["came"] - start) / (v["not_before"] - start) for start, v in views if v["came"] is not None and v["not_before"] is not None]


def citations(results: dict[str, Any]) -> dict[str, list[str]]:
    ways, others = _ways(results["runs"]), results["held_out"]
    early = f"{sum(way < 1.0 for way in ways)} of {len(ways)} escapes came before T all the same, the earliest at {100 * min(ways):.0f} % of the way"
    return {"concepts.md": [early, *([] if _ways(others) else [f"in {len(others)} other runs no view escaped"])]}


def headline(results: dict[str, Any]) -> str:
    runs = results["runs"].values()
    early = sum(any(view["came"] is not None for view in run["views"]) for run in runs)
    said = f"At k = 10, r0 = {R0:g}, an unlearned view escaped later in {early} of {len(runs)} settled runs of ERM, by t = 10^{FAR:g}"
    return "; ".join([said, *_kept(results.get("undone", {}).get("ERM, k = 10", []))])


def _kept(runs: list[dict[str, Any]]) -> list[str]:
    """Say how much of what runs had learned when they settled was missing at some later record."""
    if not runs:
        return []
    missed, features, inaccurate = (sum(run[name] for run in runs) for name in ("features_lost", "features", "accuracy_lost"))
    return [
        f"{missed} of {features} learned features missed a fresh draw at some later record",
        f"{f'{inaccurate} runs' if inaccurate else 'no run'} lost training accuracy 1",
    ]


def passage(results: dict[str, Any]) -> str:
    found, runs = counted(results), results["runs"]
    median = f"{np.median(found['errors']):.2g}" if found["errors"] else "none"
    largest = f"{max(found['errors']):.2g}" if found["errors"] else "none"
    rows = [
        [
            len(runs),
            found["views"],
            found["hits"],
            found["misses"],
            found["false"],
            median,
            largest,
            f"{found['within_its_error']} of {found['hits']}",
        ]
    ]
    heads = ["runs", "unlearned views", "escapes predicted", "escapes not predicted", "predicted, did not come"]
    heads += ["median error, decades", "largest error", "within the error of the fit"]
    ways = _ways(runs)
    return (
        "![Escape times of unlearned views over the predicted times](../figures/permanence.png)\n\n"
        f"{len(runs)} runs of ERM were followed until they had settled, and then to t = 10^{FAR:g}.\n\n"
        + table(heads, rows)
        + (_way_passage(ways) if ways else "")
        + (_held_out_passage(results["held_out"]) if "held_out" in results else "")
        + (_undone_passage(results["undone"]) if "undone" in results else "")
    )


def _undone_passage(found: dict[str, list[dict[str, Any]]]) -> str:
    rows = [
        [
            name,
            f"10^{min(run['log_time'] for run in runs):.3g}",
            f"{sum(run['accuracy_lost'] for run in runs)} of {len(runs)}",
            f"{sum(run['features_lost'] for run in runs)} of {sum(run['features'] for run in runs)}",
            f"{min(run['noise'] for run in runs):.2g} to {max(run['noise'] for run in runs):.2g}",
            f"{min(run['least_margin'] for run in runs):.2g}",
        ]
        for name, runs in found.items()
    ]
    heads = [
        "runs",
        "followed to t =",
        "runs that lost training accuracy 1",
        "learned features that later miss a draw",
        "V Q delta4 max c / rho at the end",
        "least margin",
    ]
    return (
        "\nWhat could undo training accuracy and learned features is noise in the linear part of the activation, V Q delta4 max c / rho > 1. After "
        "runs had settled, by the draws of the run (20 for each class; a verdict tests 220 and the training points, and finds more):\n\n"
        + table(heads, rows)
    )


def _way_passage(ways: list[float]) -> str:
    """Say how early escapes came on the scale on which a verdict claims that there is none."""
    return (
        "\nThe fit gives a time T before which no view should escape. "
        f"{sum(way < 1.0 for way in ways)} of {len(ways)} escapes came before it; on the scale of ln t from the settled state to that time, the "
        f"earliest came at {min(ways):.2g}. A verdict therefore claims only the first {COUNTED_ON:g}.\n"
    )


def _held_out_passage(runs: dict[str, Any]) -> str:
    views, ways = [view for run in runs.values() for view in run["views"]], _ways(runs)
    came = sum(view["came"] is not None for view in views)
    found = (
        f"{came} of {len(views)} unlearned views escaped, {sum(map(_is_too_early, views))} of them before the time counted on; the earliest came at "
        f"{min(ways):.2g} of the way"
        if ways
        else f"none of {len(views)} unlearned views escaped: nothing contradicts the claim, and no escape tests it"
    )
    return (
        f"\nThat part was chosen after these escapes. In {len(runs)} other runs, k = {HELD_OUT.k}, r0 = {HELD_OUT.r0:.2g}, followed to "
        f"t = 10^{HELD_OUT_END:g}, {found}.\n"
    )
