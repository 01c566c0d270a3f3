"""Search the worst of the choices that Definition 4.1 leaves open: patch sets, noise classes and noise coefficients, "via any method".

1. *Against a trained network.* For the settled networks of k = 10 (ERM and midpoint), over all points that D could be made of: the least
   margin g_y - max_{s != y} g_s on a point of class y that keeps one view only. Own neurons read the kept view at its least value, delta1, in
   all C_P patches; noise classes (all choices of Q) and coefficients (all corners of [delta3, delta4]^(2 Q), where convex functions are
   largest) are searched one by one. A feature that random draws call learned and that has a margin <= 0 here would refute the guarantee for
   some D.
2. *Against training.* Data sets inside Definition 4.1 that a random draw never looks like, k = 6: signal always in the same patches, one or
   two noise patterns for all, the largest noise allowed, noise that names the class (that of class y holds the classes y + 1 ... y + Q), and
   noise drawn patch by patch. Counted is whether the theorems' outcome survives.

What the search finds is reported, not judged. The study fails if the theorems' outcome is not there where nothing is changed: on random draws.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from typing import Any

import numpy as np
from lib.outcomes import counted
from lib.runs import add_runs_option, runs_of_present_code
from lib.tables import table

import mvsim
from mvsim.multi_view.data import SharedNoiseDataset
from mvsim.pictures.labels import METHOD_NAMES
from mvsim.runs.recording.fresh_draws import count_classes
from mvsim.runs.simulation.run_cache import kept_run

TITLE = "Beyond the theorems: worst points and worst data"
OUTCOMES = ("both", "one", "none")

NAMING_END = 3.2e9
"""Time at which runs end where noise names the class, settled or not."""


def worst_margins(p: mvsim.Parameters, c: np.ndarray) -> np.ndarray:
    """Return (k, 2): the least margin over all noise, with the kept view at delta1 in each of its patches."""
    corners = np.array(list(itertools.product((p.delta3, p.delta4), repeat=2 * p.Q))).reshape(-1, p.Q, 2)
    margins = np.full((p.k, 2), np.inf)
    for y in range(p.k):
        for classes in itertools.combinations([s for s in range(p.k) if s != y], p.Q):
            read = np.einsum("srjl,njl->nsr", c[:, :, list(classes)], corners)  # (corners, k, m)
            noise = (p.P - 2 * p.C_P) * mvsim.smoothed_relu(read, p.rho, p.alpha).sum(axis=2)
            for view in (0, 1):
                g = noise + p.C_P * mvsim.smoothed_relu(p.delta1 * c[:, :, y, view], p.rho, p.alpha).sum(axis=1)
                others = np.delete(g, y, axis=1).max(axis=1)
                margins[y, view] = min(margins[y, view], float((g[:, y] - others).min()))
    return margins


def against_networks(runs: Path) -> dict[str, Any]:
    """Search the worst points for the networks of both methods."""
    p, networks = mvsim.Parameters(k=10, d=20_000, N=200), {}
    for method in ("erm", "midpoint"):
        run = kept_run(runs, p, method, 0)
        learned = mvsim.feature_learned(p, run.final_correlations, n_test=200, seed=1) == 1.0
        margins = worst_margins(p, run.final_correlations)
        networks[method] = {
            "learned_on_random_draws": int(learned.sum()),
            "of_these_with_positive_margin_on_every_point": int((learned & (margins > 0.0)).sum()),
            "least_margin_of_learned": float(margins[learned].min()),
            "largest_margin_of_others": float(margins[~learned].max()) if (~learned).any() else None,
        }
        print(method, networks[method], flush=True)
    return networks


def naming_noise(p: mvsim.Parameters, seed: int) -> SharedNoiseDataset:
    """Return a data set in which the noise of class y holds the classes y + 1, ..., y + Q at the largest coefficients."""
    data = mvsim.sample_dataset(p, seed)
    assert isinstance(data, SharedNoiseDataset)
    patterns = np.zeros((p.k, p.k, 2))
    for y in range(p.k):
        patterns[y, [(y + j) % p.k for j in range(1, p.Q + 1)]] = p.delta4
    return SharedNoiseDataset(data.labels, data.signal_coefficients, data.signal_patches, patterns, data.labels.copy(), p.P)


def against_training(runs: Path, seeds: int) -> dict[str, Any]:
    """Train on data that an adversary would choose."""
    p = mvsim.Parameters(k=6, d=5800)
    choices: dict[str, tuple[mvsim.Parameters, bool]] = {
        "random draws": (p, False),
        "signal always in the same patches": (p.replace(signal_layout="fixed"), False),
        "two noise patterns": (p.replace(G=2), False),
        "largest noise everywhere": (p.replace(delta3=p.delta4), False),
        "noise that names the class": (p, True),
        "noise of each point": (p.replace(noise="point"), False),
        "noise of each patch": (p.replace(noise="patch", N=60), False),
    }
    training: dict[str, Any] = {}
    for name, (q, naming) in choices.items():
        training[name] = {}
        for method in ("erm", "midpoint"):
            if naming:
                rows = [counted_on(runs, q, method, seed) for seed in range(seeds)]
                training[name][method] = {key: sum(row[key] for row in rows) for key in OUTCOMES}
            else:
                training[name][method] = counted(runs, q, method, seeds)["classes"]
        print(name, training[name], flush=True)
    return training


def counted_on(runs: Path, p: mvsim.Parameters, method: str, seed: int) -> dict[str, int]:
    """Count the classes of a run on `naming_noise`."""
    run = kept_run(runs, p, method, seed, until=NAMING_END, data=naming_noise(p, seed))
    return count_classes(run.dataset["feature_learned"].isel(time=-1).to_numpy())


def options(parser: argparse.ArgumentParser) -> None:
    add_runs_option(parser)
    parser.add_argument("--seeds", type=int, default=2)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    runs = runs_of_present_code(options.runs)
    return {"seeds": options.seeds, "networks": against_networks(runs), "training": against_training(runs, options.seeds)}


def judge(results: dict[str, Any]) -> list[str]:
    usual = results["training"]["random draws"]
    expected = {"erm": "one", "midpoint": "both"}
    return [f"{method} on random draws: {usual[method]}" for method, key in expected.items() if usual[method][key] < sum(usual[method].values())]


EXPECTED_OF = {"erm": "ERM learns one feature", "midpoint": "Midpoint Mixup learns both"}
"""What the theorems say of a class."""


def citations(results: dict[str, Any]) -> dict[str, list[str]]:
    erm, midpoint = (results["networks"][method] for method in ("erm", "midpoint"))
    fixed = results["training"]["signal always in the same patches"]["midpoint"]
    naming = results["training"]["noise that names the class"]["erm"]
    points = f"{_wrong(erm)} features that ERM had learned at k = 10 are wrong, and {_wrong(midpoint)} of Midpoint Mixup"
    return {
        "limits.md": [
            points,
            f"learned both features of {fixed['both']} of {sum(fixed.values())} classes at k = 6",
            f"ERM had learned one feature of {naming['one']} of {sum(naming.values())}",
        ]
    }


def _wrong(network: dict[str, Any]) -> str:
    learned = network["learned_on_random_draws"]
    return f"{learned - network['of_these_with_positive_margin_on_every_point']} of {learned}"


def headline(results: dict[str, Any]) -> str:
    missing = [
        f"{name} ({EXPECTED_OF[method]} in {row[method][outcome]} of {sum(row[method].values())} classes)"
        for name, row in results["training"].items()
        for method, outcome in (("erm", "one"), ("midpoint", "both"))
        if row[method][outcome] < sum(row[method].values())
    ]
    wrong = ", ".join(f"{_wrong(row)} ({METHOD_NAMES[method]})" for method, row in results["networks"].items())
    without = f"data on which runs end without a theorem's outcome: {'; '.join(missing) or 'none'}"
    return f"Learned features that are wrong on the worst point: {wrong}; {without}"


def passage(results: dict[str, Any]) -> str:
    margins = [
        [method, row["learned_on_random_draws"], row["of_these_with_positive_margin_on_every_point"], f"{row['least_margin_of_learned']:.2g}"]
        for method, row in results["networks"].items()
    ]
    rows = [
        [name, *(" / ".join(str(row[method][outcome]) for outcome in OUTCOMES) for method in ("erm", "midpoint"))]
        for name, row in results["training"].items()
    ]
    return (
        "Against settled networks of k = 10, over all noise classes and all corners of the coefficients:\n\n"
        + table(["method", "features learned on random draws", "of these right on every point of D", "least margin"], margins)
        + f"\nAnd against training (k = 6, seeds: {results['seeds']}), classes with both, exactly one and no feature learned (right on every "
        f"draw) at the end of runs; where noise names the class that is t = {NAMING_END:.2g}, settled or not:\n\n"
        + table(["data inside Definition 4.1", "erm", "midpoint"], rows)
    )
