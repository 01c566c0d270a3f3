"""The default P and N: the least at which Proposition 4.4 holds on the sampled data, that is, no linear classifier is right on all points.

For each k up to 14, over seeds: with default parameters but P = t k^2, the least t of `CONSTANTS` at which no data set can be separated, and with
P = 12 k^2 the least number of points for each class, of `EACH`. For each k up to 20 the same question at the defaults. A linear program (HiGHS) over
all weights of the classifier decides: infeasible means that the points cannot be separated. Where it ends with numerical trouble nothing was
decided, and the data set does not count. Up to k = 10 the answer for the defaults is proved by a Farkas vector in exact arithmetic, as `mvsim verify
midpoint/4.4` does; for larger k that takes too long.

Fails if at the default P and N of a k up to 20 a data set can be separated or was not decided, or if a proof is missing.
"""

from __future__ import annotations

import argparse
from typing import Any

from lib.tables import table

import mvsim
from mvsim.multi_view.parameters.defaults import ENOUGH, MOST_POINTS, PATCHES
from mvsim.papers.midpoint_mixup.section_3.farkas import any_certificate, separable

TITLE = "The default P and N: where no linear classifier is perfect"

CONSTANTS = (1, 4, 6, 8, 10, 12, 20)
"""P over k^2, beside the default N."""

EACH = (10, 15, 20, 30)
"""Points for each class, beside the default P."""

PROVED = 10
"""Largest k for which the answers for the defaults are proved."""

DETAILED = 14
"""Largest k for which the least sizes are sought: near them a linear program takes minutes for more classes."""

PROMISED = 20
"""Largest k for which the defaults are to be such that no data set can be separated."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--k", type=int, nargs="+", default=[4, 5, 6, 8, 10, 14, 20], help="numbers of classes (default %(default)s)")
    parser.add_argument("--seeds", type=int, default=10, help="data sets of each kind (default %(default)s)")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "seeds": options.seeds,
        "default": {str(k): _counted(mvsim.Parameters(k=k), options.seeds) for k in options.k},
        "proved": {str(k): _proved(mvsim.Parameters(k=k), options.seeds) for k in options.k if k <= PROVED},
        "patches": {str(k): [_counted(mvsim.Parameters(k=k, P=t * k**2), options.seeds) for t in CONSTANTS] for k in options.k if k <= DETAILED},
        "points": {str(k): [_counted(mvsim.Parameters(k=k, N=n * k), options.seeds) for n in EACH] for k in options.k if k <= DETAILED},
    }


def _counted(parameters: mvsim.Parameters, seeds: int) -> dict[str, int | float]:
    p = parameters
    answers = [separable(mvsim.sample_dataset(p, seed)) for seed in range(seeds)]
    return {"N": p.N, "P": p.P, "strength": p.P * p.delta3 / p.delta2, "separable": answers.count(True), "not": answers.count(False)}


def _proved(parameters: mvsim.Parameters, seeds: int) -> int:
    return sum(any_certificate(mvsim.sample_dataset(parameters, seed)) is not None for seed in range(seeds))


def judge(results: dict[str, Any]) -> list[str]:
    seeds = results["seeds"]
    missing = [f"k = {k}: {seeds - proved} of {seeds} proofs are missing" for k, proved in results["proved"].items() if proved < seeds]
    return missing + [
        f"k = {k}: with the default P and N {row['not']} of {seeds} data sets cannot be separated"
        for k, row in results["default"].items()
        if int(k) <= PROMISED and row["not"] < seeds
    ]


def citations(results: dict[str, Any]) -> dict[str, list[str]]:
    promised = {int(k): row["not"] for k, row in results["default"].items() if int(k) <= PROMISED}
    of = results["seeds"] * len(promised)
    never = f"None of {of} data sets with all defaults, k = {min(promised)} to {max(promised)}, can be separated"
    proved = sorted(map(int, results["proved"]))
    exactly = f"that is proved in fractions for k = {proved[0]} to {proved[-1]}"
    return {"linear-regime.md": [never, exactly] if sum(promised.values()) == of else []}


def headline(results: dict[str, Any]) -> str:
    seeds, rows = results["seeds"], results["default"]
    promised = {k: row["not"] for k, row in rows.items() if int(k) <= PROMISED}
    proved = f", {sum(results['proved'].values())} of them proved exactly" if results["proved"] else ""
    return (
        f"With the default P and N no linear classifier is perfect on {sum(promised.values())} of {seeds * len(promised)} data sets of up to "
        f"{PROMISED} classes{proved}"
    )


def passage(results: dict[str, Any]) -> str:
    seeds = results["seeds"]
    rows = [
        (
            k,
            f"{default['N']}",
            f"{default['P']}",
            f"{default['strength']:.2g}",
            f"{default['not']} of {seeds}",
            f"{results['proved'][k]} of {seeds}" if k in results["proved"] else "",
            *_least(CONSTANTS, results["patches"].get(k, []), seeds),
            *_least(EACH, results["points"].get(k, []), seeds)[:1],
        )
        for k, default in results["default"].items()
    ]
    heads = ("k", "N", "P", "P delta3 / delta2", "not separable", "proved exactly", "least P / k^2", "P delta3 / delta2 there", "least N / k")
    return (
        f"By default, up to k = {PROMISED}, P = {PATCHES} k^2, and N = 6 k^1.5, but at least {ENOUGH} and at most {MOST_POINTS}.\n\n"
        f"- Least P / k^2: the smallest of {_words(CONSTANTS)} from which none of {seeds} data sets is separable, with the default N.\n"
        f"- Least N / k: the smallest of {_words(EACH)} from which none of {seeds} data sets is separable, with the default P.\n\n"
        f"{table(heads, rows)}\n"
        f"Empty cells were not measured: they take too long. Beyond k = {PROMISED} a linear classifier may fit the points (`p.deviations()` says "
        "where that is to be expected).\n"
    )


def _least(sizes: tuple[int, ...], rows: list[dict[str, Any]], seeds: int) -> tuple[str, str]:
    """Return the least size from which on no data set can be separated, and the strength of the noise there; nothing where none was sought."""
    if not rows:
        return "", ""
    enough = len(rows)
    while enough and rows[enough - 1]["not"] == seeds:
        enough -= 1
    return (str(sizes[enough]), f"{rows[enough]['strength']:.2g}") if enough < len(rows) else ("none", "")


def _words(sizes: tuple[int, ...]) -> str:
    return f"{', '.join(str(size) for size in sizes[:-1])} and {sizes[-1]}"
