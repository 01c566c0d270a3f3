"""The pictures of the study of performance."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from lib.performance.table import NAMES, size
from mvsim.plotting.style import BOTH, MARK, NONE, STRONG, WEAK, styled

MEANING = {"N": "training points N", "k": "classes k", "m": "neurons m of a class", "P": "patches P", "G": "noise patterns G (last: G = N)"}


def scaling_figure(scaling: dict[str, Any], memory: dict[str, Any]) -> Figure:
    """Draw time along each size, and predicted beside measured memory."""
    with styled():
        figure = Figure(figsize=(7.0, 4.4))
        axes = figure.subplots(2, 3)
        panels = list(axes.flat)
        for panel, (axis, timings) in zip(panels, scaling["axes"].items(), strict=False):
            if panel is not panels[0]:
                panel.sharey(panels[0])
            _along(panel, axis, timings, scaling)
        _memory(panels[-1], memory)
        for row in axes:
            row[0].set_ylabel("loss and gradient, ms")
        base = ", ".join(f"{name} = {value}" for name, value in scaling["base"].items())
        figure.suptitle(f"One loss and gradient of Midpoint Mixup on all pairs. Grey line: {base}", fontsize=9)
        return figure


def _along(panel: Axes, axis: str, timings: dict[str, Any], scaling: dict[str, Any]) -> None:
    for threads, colour, marker in (("1", WEAK, "o"), ("2", STRONG, "s")):
        label = f"{threads} thread{'s' if threads != '1' else ''}"
        panel.loglog(timings["values"], 1e3 * np.array(timings["seconds"][threads]), marker=marker, markersize=3, color=colour, label=label)
    if axis == "P":
        patches = scaling["patches"]
        (line,) = panel.loglog(patches["values"], 1e3 * np.array(patches["seconds"]), marker="^", markersize=3, color=MARK)
        panel.legend([line], ["arbitrary patches, 2 threads"], loc="center right")
    else:
        _ticks(panel.xaxis, timings["values"])
    panel.axvline(scaling["base"][axis], color=NONE, linewidth=0.8, zorder=0)
    panel.set_xlabel(MEANING[axis])
    if axis == "N":
        panel.legend(loc="upper left")


def _ticks(axis: Axis, values: list[int]) -> None:
    """Label these values and no others."""
    axis.set_ticks(values, [str(value) for value in values])
    axis.set_minor_locator(NullLocator())


def _memory(panel: Axes, memory: dict[str, Any]) -> None:
    rows = memory["rows"]
    most = 1.3 * max(max(row["measured"], row["predicted"]) for row in rows) / 2**20
    least = 0.8 * min(row["measured"] for row in rows) / 2**20
    line = np.array([least, most])
    panel.fill_between(line, 0.8 * line, 1.2 * line, color=NONE, alpha=0.5, linewidth=0, label="within 20 %")
    panel.plot(line, line, color=MARK, linewidth=0.8)
    for method, colour, marker in (("erm", WEAK, "o"), ("midpoint", STRONG, "s")):
        of_method = [row for row in rows if row["method"] == method]
        predicted, measured = ([row[key] / 2**20 for row in of_method] for key in ("predicted", "measured"))
        panel.loglog(predicted, measured, linestyle="", marker=marker, markersize=3.5, color=colour, label=method)
    panel.set_xlim(least, most)
    panel.set_ylim(least, most)
    for axis in (panel.xaxis, panel.yaxis):
        _ticks(axis, [value for value in (200, 400, 800, 1600, 3200) if least < value < most])
    panel.set_xlabel("predicted peak memory, MiB")
    panel.set_ylabel("measured, MiB")
    panel.legend(loc="lower right")


def comparison_figure(compared: dict[str, Any], main: dict[str, Any]) -> Figure:
    """Draw times of the engine beside other ways to the same numbers, and beside its limit and the designs that lost."""
    with styled():
        figure = Figure(figsize=(7.0, 2.3))
        left, right = figure.subplots(1, 2)
        times = [(NAMES[name], compared["seconds"][name], MARK) for name in NAMES if name in compared["seconds"]]
        times += [(name, seconds, BOTH) for name, seconds in compared["seconds"].items() if name.startswith("mvsim")]
        _times(left, times, compared["parameters"])
        state = main["states"]["escaped"]
        times = [
            ("an exponential for each pair", state["lost"]["with exponentials"], MARK),
            ("without moments", state["lost"]["without moments"], MARK),
            ("limit of one core", state["limit"], WEAK),
            ("mvsim, 1 thread", state["seconds"]["1"], BOTH),
            ("mvsim, 2 threads", state["seconds"]["2"], BOTH),
        ]
        _times(right, times, main["parameters"])
        return figure


def _times(panel: Axes, times: list[tuple[str, float, str]], parameters: dict[str, Any]) -> None:
    places = np.arange(len(times))[::-1]
    values = np.array([1e3 * seconds for _, seconds, _ in times])
    panel.hlines(places, values.min() / 4, values, color=NONE, linewidth=0.8)
    panel.scatter(values, places, color=[colour for _, _, colour in times], s=22, zorder=3)
    panel.set_xscale("log")
    panel.set_xlim(values.min() / 4, values.max() * 8)
    panel.set_ylim(-0.6, len(times) - 0.4)
    panel.set_yticks(places, [name for name, _, _ in times])
    for place, value in zip(places, values, strict=True):
        text = f"{value:.3g} ms" if value < 1000 else f"{value / 1000:.2g} s"
        panel.annotate(text, (value, place), xytext=(6, 0), textcoords="offset points", va="center", fontsize=7)
    panel.set_xlabel("loss and gradient, ms")
    panel.set_title(size(parameters).replace("C_P", "$C_P$"), fontsize=7.5, loc="right")
