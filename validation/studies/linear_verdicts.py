"""The verdicts of Section 3, over five k and ten seeds: each with its measured number and the exponent of k in it.

The number is the worst over data sets where something is decided, and the median where nothing is.

Fails if a verdict is another one than `docs/linear-regime.md` says: "fails" for the statements as written, which have counterexamples, "consistent"
for a probability that draws were counted for, "holds" for all others that are decided.
"""

from __future__ import annotations

import argparse
from typing import Any

from lib.tables import table

from mvsim.judging.from_seeds import exponents, judged_over_seeds
from mvsim.papers.midpoint_mixup.section_3.statements import SECTION_3

TITLE = "The verdicts on the linear regime"

NUMBERS = ("3.2", "3.3", "3.4", "3.5")
"""Of the results; `linear_regime` has the certificates of Proposition 4.4."""

COUNTED = "Lemma 3.2 (unseen breaks)"
"""What is a probability."""


MEASURED: dict[str, tuple[str, str]] = {
    "Lemma 3.2 (sufficiency)": ("loss along the optimal direction, difference from its closed form", "0"),
    "Lemma 3.2 (necessity)": ("least loss above its infimum, with one unequal correlation", "> 0"),
    "Lemma 3.2 (unseen breaks)": ("share of data sets whose loss shows no break", "(1 - 1/k)^N + k^-N in its interval"),
    "Lemma 3.2 (sufficiency as written)": ("least loss above its infimum, with one negative correlation", "0"),
    "Lemma 3.2 (necessity as written)": ("loss above its infimum, far along a direction with unequal correlations", "> 0"),
    "Proposition 3.3": ("eps_0, least over laws with mass outside 0, 1/2, 1", "> 0"),
    "Proposition 3.3 (closed form)": ("loss, difference from its closed form", "0"),
    "Proposition 3.3 (point masses)": ("eps_0 at the point masses 1/2 and 1, the larger", "0"),
    "Proposition 3.3 (as written)": ("eps_0 of lambda = 0 or 1/2", "> 0"),
    "Proposition 3.4 (lagging feature)": ("k^2 times the least pull, lagging feature at 0, Delta_y = log k", "> 0"),
    "Proposition 3.4 (classes alike)": ("k^2 times the least pull, all classes alike, on a grid of Delta >= log k", "> 0"),
    "Proposition 3.4 (lagging feature, one class)": ("k^2 times the pull on class 0 alone, lagging feature at 0", ""),
    "Proposition 3.4 (classes alike, one class)": ("k^2 times the pull on class 0 alone, all classes alike", ""),
    "Proposition 3.4 (range)": ("a* / log k, largest lagging correlation with a positive pull", ""),
    "Proposition 3.4 (largest gap)": ("Delta* / log k, largest gap with a positive pull", ""),
    "Proposition 3.4 (premise of Claim B.24)": ("k^2 times the pull, at weights that meet the premise and make it small", ""),
    "Proposition 3.4 (as written)": ("k^2 times the least pull, over all weights", "> 0"),
    "Proposition 3.5": ("k^(0.1 C - 1) times the pull of ERM at Delta_y = C log k, largest", "at most 1"),
    "Proposition 3.5 (one class)": ("the same on class 0 alone", ""),
    "Proposition 3.5 (as written)": ("the same if <w_y, v_{y,2}> may be negative", "at most 1"),
}
"""Of each statement in words: the number, which is dimensionless, and what it is to be; nothing where nothing is decided."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--k", type=int, nargs="+", default=[5, 8, 10, 14, 20], help="numbers of classes (default %(default)s)")
    parser.add_argument("--seeds", type=int, default=10, help="data sets at each k (default %(default)s)")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    return {"seeds": options.seeds, "k": options.k, "rows": [row for number in NUMBERS for row in _rows(number, options.k, options.seeds)]}


def _rows(number: str, ks: list[int], seeds: int) -> list[dict[str, Any]]:
    statement = next(one for one in SECTION_3 if one.number == number)
    by_k = {p.k: judged_over_seeds(statement, p, seeds) for p in statement.at(ks, {})}
    trends = {verdict.name: verdict.measured for verdict in exponents(statement, {k: judged for k, (judged, _) in by_k.items()})}
    rows = []
    for parts in zip(*(verdicts for _, verdicts in by_k.values()), strict=True):
        name = parts[0].check
        measured = {"status": [part.status for part in parts], "measured": [part.measured for part in parts]}
        rows.append({"name": name} | measured | {"exponent": trends.get(f"{name} (trend in k)")})
    return rows


def judge(results: dict[str, Any]) -> list[str]:
    wrong = []
    for row in results["rows"]:
        expected = "fails" if row["name"].endswith("as written)") else "consistent" if row["name"] == COUNTED else "holds"
        for k, status in zip(results["k"], row["status"], strict=True):
            if status not in (expected, "measured"):
                wrong.append(f"k = {k}: {row['name']} {status}")
    return wrong


def headline(results: dict[str, Any]) -> str:
    failing = [row["name"] for row in results["rows"] if "fails" in row["status"] or "contradicted" in row["status"]]
    return f"Of {len(results['rows'])} statements these fail as written: {', '.join(failing) or 'none'}"


def passage(results: dict[str, Any]) -> str:
    lines = []
    for row in results["rows"]:
        numbers = ("" if value is None else f"{value:.2g}" for value in row["measured"])
        exponent = "" if row["exponent"] is None else f"{row['exponent']:.2f}"
        lines.append((row["name"], *MEASURED[row["name"]], ", ".join(dict.fromkeys(row["status"])), *numbers, exponent))
    heads = ("statement", "measured", "needed", "verdict", *(f"k = {k}" for k in results["k"]), "exponent of k")
    return (
        f"{results['seeds']} data sets at each k: the worst number where a value is needed, else the median. Numbers have no "
        "unit; those of round-off count as 0. `docs/linear-regime.md` says what the words mean; `mvsim verify midpoint/3.2 --all` says with each "
        f"verdict where the number comes from.\n\n{table(heads, lines)}"
    )
