"""Where the theorems stop holding: variance of beta, initial size, noise, power, number of classes, and mixing laws between ERM and midpoint.

    python validation/beyond/phase_diagrams.py [--runs DIR] [--seeds 2] [--only NAME ...]
        # writes validation/results/phase_diagrams.json (adding to what is there) and figures/phase-diagrams.png

One parameter at a time is changed from k = 4, r0 = 0.15, every other field at its default. What is drawn is the fraction of classes that end as
the theorem says: with exactly one feature under ERM (Theorem 4.6), with both under Midpoint Mixup (4.7); bars are 95 % Clopper-Pearson
intervals over the classes of all seeds. There is no pass or fail: these are maps. Mixing laws are compared at k = 3.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from outcomes import counted

import mvsim
from mvsim.plotting import save_figure
from mvsim.plotting.style import STRONG, WEAK, styled

HERE = Path(__file__).resolve().parents[1]
FILE, FIGURE = HERE / "results" / "phase_diagrams.json", HERE.parent / "figures" / "phase-diagrams.png"
R0 = 0.15


def at(k: int = 4, r0: float = R0, **fields: Any) -> mvsim.Parameters:
    """Return parameters with a given size of the initial correlations."""
    p = mvsim.Parameters(k=k, **fields)
    return p.replace(d=max(1, math.ceil(2.0 * math.log(max(p.m, 2)) / (r0 * p.rho) ** 2)))


def _noise(scale: float) -> mvsim.Parameters:
    largest = scale * 4**-1.5
    return at(delta3=0.5 * largest, delta4=largest)


def _variance(share: float) -> mvsim.Parameters:
    """Return the law Beta(a, a) with this part of the variance of the uniform one, which is 1 / (4 (2 a + 1)) on [0, 1]."""
    if share == 0.0:
        return at(beta_law={"kind": "discrete", "atoms": [0.5]})
    return at(beta_law={"kind": "beta", "a": 0.5 * (3.0 / share - 1.0)})


BOTH_METHODS = ("erm", "midpoint")
STUDIES: dict[str, dict[str, Any]] = {
    "variance": {
        "label": "variance of beta / that of the uniform law",
        "axis": r"variance of $\beta$ / that of the uniform law",
        "values": [0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 2.0],
        "make": _variance,
    },
    "r0": {
        "label": "r0, initial size over threshold",
        "axis": r"$r_0$, initial size over threshold",
        "values": [0.1, 0.15, 0.2, 0.3, 0.45, 0.7, 1.0, 1.5],
        "make": lambda r0: at(r0=r0),
    },
    "noise": {
        "label": "delta4 k^1.5 (delta3 half of it)",
        "axis": r"$\delta_4 k^{1.5}$ ($\delta_3$ half of it)",
        "values": [0.0, 0.1, 0.2, 0.4, 0.7, 1.0],
        "make": _noise,
    },
    "alpha": {
        "label": "alpha, power of the activation",
        "axis": r"$\alpha$, power of the activation",
        "values": [2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0],
        "make": lambda alpha: at(alpha=alpha),
    },
    "k": {"label": "k, number of classes", "axis": r"$k$, number of classes", "values": [3, 4, 6, 8], "make": lambda k: at(k=k)},
    "mixing": {
        "label": "a of the mixing law Beta(a, a), at k = 3, N = 60, t = 2e9",
        "axis": r"$a$ of the mixing law Beta$(a, a)$",
        "values": [1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0],
        "make": lambda a: at(k=3).replace(N=60),
    },
}


NODES, MIXING_END = 8, 2e9
"""Each node costs a sum over all pairs, so mixing laws are compared at k = 3 with 60 points. a -> 0 is ERM, a -> infinity Midpoint Mixup."""


def measure(name: str, seeds: int, runs: Path) -> list[dict[str, Any]]:
    """Return what became of the classes at each value."""
    study, rows = STUDIES[name], []
    for value in study["values"]:
        p, start = study["make"](value), time.perf_counter()
        if name == "mixing":
            law = {"distribution": "beta", "args": [value, value]}
            found = {"mixup": counted(runs, p, "mixup", seeds, mixing=law, nodes=NODES, t_end=MIXING_END)}
        else:
            found = {method: counted(runs, p, method, seeds) for method in BOTH_METHODS}
        rows.append({"value": value, **found, "seconds": time.perf_counter() - start})
        print(name, value, {m: row["classes"] for m, row in found.items()}, f"{rows[-1]['seconds']:.1f} s", flush=True)
    return rows


def limits(seeds: int, runs: Path) -> dict[str, Any]:
    """Return what becomes of the classes in the two limits of the mixing law, ERM and Midpoint Mixup, on the same data at the same time."""
    p = STUDIES["mixing"]["make"](1.0)
    return {method: counted(runs, p, method, seeds, t_end=MIXING_END) for method in BOTH_METHODS}


def picture(found: dict[str, Any]) -> Figure:
    """Draw a panel for each study."""
    with styled():
        figure = Figure(figsize=(7.0, 4.2))
        for axes, (name, study) in zip(figure.subplots(2, 3, sharey=True).flat, STUDIES.items(), strict=True):
            rows = found[name]["rows"] if name in found else []
            lines = [("erm", "one", WEAK, 6, "ERM: exactly one"), ("midpoint", "both", STRONG, 3, "midpoint: both")]
            if name == "mixing":
                lines = [("mixup", "one", WEAK, 6, "exactly one"), ("mixup", "both", STRONG, 3, "both")]
            for method, which, colour, size, label in lines:  # where both are the same, one shows behind the other
                shown = [(row["value"], row[method][which]) for row in rows if row[method][which]]
                x = [value for value, _ in shown]
                y = [fraction for _, (fraction, _, _) in shown]
                bars = [[f - low for _, (f, low, _) in shown], [high - f for _, (f, _, high) in shown]]
                axes.errorbar(
                    x, y, bars, color=colour, marker="o", markersize=size, linewidth=size / 3, elinewidth=size / 4, capsize=size / 2, label=label
                )
            if name in ("variance", "r0", "mixing"):
                axes.set_xscale("symlog", linthresh=0.01) if name == "variance" else axes.set_xscale("log")
            axes.set_xlabel(study["axis"])
            axes.set_ylim(-0.05, 1.05)
            if name == "variance":
                axes.legend(loc="best")
            if name == "mixing":
                axes.legend(loc="lower center", bbox_to_anchor=(0.5, 0.97), ncols=2)
        figure.supylabel("fraction of classes")
        return figure


def main() -> int:
    """Measure, draw, write."""
    parser = argparse.ArgumentParser(description="Map where the theorems stop holding.")
    parser.add_argument("--runs", type=Path, default=Path("mvsim-runs"))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=list(STUDIES), default=list(STUDIES))
    arguments = parser.parse_args()
    arguments.runs.mkdir(exist_ok=True)
    for name in arguments.only:
        rows = measure(name, arguments.seeds, arguments.runs)
        found = kept()  # read again: another study may have ended meanwhile
        found[name] = {"label": STUDIES[name]["label"], "seeds": arguments.seeds, "rows": rows}
        if name == "mixing":
            found[name]["limits"] = limits(arguments.seeds, arguments.runs)
        FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        save_figure(picture(found), FIGURE, force=True)
    FIGURE.with_suffix(".txt").write_text("phase-diagrams.png is made by: python validation/beyond/phase_diagrams.py\n", encoding="utf-8")
    return 0


def kept() -> dict[str, Any]:
    """Return the studies so far, in their order."""
    found = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return {name: found[name] for name in STUDIES if name in found}


if __name__ == "__main__":
    sys.exit(main())
