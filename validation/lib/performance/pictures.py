"""The pictures of the study of performance."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from lib.performance.table import COST, LOST, NAMES, in_words, ours, size
from mvsim.pictures.labels import METHOD_NAMES
from mvsim.pictures.style import MARK, METHODS, NONE, styled

MEANING = {"N": "training points N", "k": "classes k", "m": "neurons m of a class", "P": "patches P", "G": "noise patterns G (last: G = N)"}

OURS, OTHERS = "black", "#8C8C8C"
"""Shades of the engine and of what it is compared with: methods and outcomes, which have colours, are not compared here."""

WIDEST = 24
"""Most letters of a name at an axis that is not broken into lines."""


def scaling_figure(scaling: dict[str, Any]) -> Figure:
    """Draw time along each size."""
    with styled():
        figure = Figure(figsize=(6.8, 4.5))
        axes = figure.subplots(2, 3)
        panels = list(axes.flat)
        for spare in panels[len(scaling["axes"]) :]:
            spare.remove()
        for panel, (axis, timings) in zip(panels, scaling["axes"].items(), strict=False):
            if panel is not panels[0]:
                panel.sharey(panels[0])
            _along(panel, axis, timings, scaling, named=panel is panels[0])
            panel.tick_params(labelleft=panel in axes[:, 0])
        figure.supylabel("one loss and gradient, ms", fontsize=8)
        base = ", ".join(f"{name} = {value}" for name, value in scaling["base"].items())
        powers = {axis: _last_power(timings) for axis, timings in scaling["axes"].items()}
        most, least = max(powers, key=lambda axis: powers[axis]), min(powers, key=lambda axis: powers[axis])
        title = f"At large sizes time grows most with {most}, as {most}$^{{{powers[most]:.1f}}}$, and least with {least}"
        figure.suptitle(title, fontsize=9, x=0.01, ha="left")
        note = f"Midpoint Mixup on all pairs, one size at a time changed from {base} (grey line). Times: the least of several."
        figure.supxlabel(note, fontsize=6, x=0.01, ha="left", color=MARK)
        return figure


def memory_figure(memory: dict[str, Any]) -> Figure:
    """Draw measured over predicted memory."""
    with styled():
        figure = Figure(figsize=(3.3, 3.2))
        _memory(figure.subplots(), memory)
        most = 100 * max(abs(row["predicted_over_measured"] - 1) for row in memory["rows"])
        figure.suptitle(f"Memory of {len(memory['rows'])} runs is predicted within {most:.0f} %", fontsize=9, x=0.01, ha="left")
        return figure


def _last_power(timings: dict[str, Any]) -> float:
    """Return the power with which the time on two threads grows between the two largest values."""
    times, values = timings["seconds"]["2"], timings["values"]
    return float(np.log(times[-1] / times[-2]) / np.log(values[-1] / values[-2]))


def _along(panel: Axes, axis: str, timings: dict[str, Any], scaling: dict[str, Any], named: bool) -> None:
    for threads, colour, shape, line in (("1", OTHERS, "o", "--"), ("2", OURS, "s", "-")):
        times = 1e3 * np.array(timings["seconds"][threads])
        panel.loglog(timings["values"], times, marker=shape, markersize=3, color=colour, linestyle=line)
        if named:
            above = threads == "1"
            words = f"{threads} thread{'' if above else 's'}"
            side: dict[str, Any] = {"ha": "right", "va": "bottom"} if above else {"ha": "left", "va": "top"}
            offset = (-4, 1) if above else (4, -2)
            panel.annotate(words, (timings["values"][4], times[4]), xytext=offset, textcoords="offset points", fontsize=7, color=MARK, **side)
    if axis == "P":
        patches = scaling["patches"]
        panel.loglog(patches["values"], 1e3 * np.array(patches["seconds"]), marker="^", markersize=3, color=OURS)
        place = (patches["values"][-1], 1e3 * patches["seconds"][-1])
        panel.annotate("arbitrary patches,\n2 threads", place, xytext=(6, -3), textcoords="offset points", va="top", fontsize=7, color=MARK)
    else:
        _ticks(panel.xaxis, timings["values"])
    panel.axvline(scaling["base"][axis], color=NONE, linewidth=0.8, zorder=0)
    panel.set_xlabel(MEANING[axis])


def _ticks(axis: Axis, values: list[int]) -> None:
    """Label these values and no others."""
    axis.set_ticks(values, [str(value) for value in values])
    axis.set_minor_locator(NullLocator())


def _memory(panel: Axes, memory: dict[str, Any]) -> None:
    rows = memory["rows"]
    most = 1.3 * max(max(row["measured"], row["predicted"]) for row in rows) / 2**20
    least = 0.8 * min(row["measured"] for row in rows) / 2**20
    line = np.array([least, most])
    panel.fill_between(line, line / 1.2, line / 0.8, color=NONE, alpha=0.5, linewidth=0)
    panel.plot(line, line, color=MARK, linewidth=0.8)
    panel.text(0.03, 0.97, "grey: predicted within\n20 % of measured", transform=panel.transAxes, va="top", fontsize=7, color=MARK)
    for method, marker in (("erm", "o"), ("midpoint", "s")):
        of_method = [row for row in rows if row["method"] == method]
        predicted, measured = ([row[key] / 2**20 for row in of_method] for key in ("predicted", "measured"))
        panel.loglog(predicted, measured, linestyle="", marker=marker, markersize=3.5, color=METHODS[method], label=METHOD_NAMES[method])
    panel.set_xlim(least, most)
    panel.set_ylim(least, most)
    for axis in (panel.xaxis, panel.yaxis):
        _ticks(axis, [value for value in (100, 200, 300, 400, 600, 800, 1200, 1600, 3200) if least < value < most])
    panel.set_xlabel("predicted peak memory, MiB")
    panel.set_ylabel("measured, MiB")
    panel.legend(loc="lower right", handletextpad=0.1, borderpad=0.1)


def said_of_libraries(compared: dict[str, Any]) -> str:
    """Say how long one gradient takes with mvsim, and with what it is compared with."""
    seconds = compared["seconds"]
    said = f"One gradient takes mvsim {in_words(ours(compared), 1)}"
    others = [f"JAX takes {in_words(seconds['jax'])}"] if "jax" in seconds else []
    torch = [seconds[name] for name in ("torch", "torch as written") if name in seconds]
    if torch:
        more = " or more" if len(torch) > 1 else ""
        least = f"{min(torch):.1f} s" if min(torch) >= 0.1 else in_words(min(torch))
        others.append(f"PyTorch {'' if others else 'takes '}{least}{more}")
    return said + (f"; {', '.join(others)}" if others else "")


def comparison_figure(compared: dict[str, Any], main: dict[str, Any]) -> Figure:
    """Draw times of the engine beside other ways to the same numbers, and beside the term-by-term cost and the designs that lost."""
    with styled():
        figure = Figure(figsize=(6.8, 2.8))
        left, right = figure.subplots(1, 2)
        times = [(NAMES[name], compared["seconds"][name], OTHERS) for name in NAMES if name in compared["seconds"]]
        times += [(name, seconds, OURS) for name, seconds in compared["seconds"].items() if name.startswith("mvsim")]
        _times(left, times, compared["parameters"])
        state = main["states"]["escaped"]
        times = [
            *((LOST[route], state["lost"][route], OTHERS) for route in reversed(LOST)),
            (COST, state["limit"], "white"),
            ("mvsim, 1 thread", state["seconds"]["1"], OURS),
            ("mvsim, 2 threads", state["seconds"]["2"], OURS),
        ]
        _times(right, times, main["parameters"])
        figure.suptitle(said_of_libraries(compared), fontsize=9, x=0.01, ha="left")
        note = (
            "One loss and gradient of Midpoint Mixup on all pairs. Left: beside libraries. Right, grey: designs of mvsim that lost.\n"
            f"Hollow: the {COST} is computed, not run: what the best loops would take on one core for all terms of the sum\n"
            "one by one. mvsim is faster where it sums most of them together."
        )
        figure.supxlabel(note, fontsize=6, x=0.01, ha="left", color=MARK)
        return figure


def _in_lines(name: str) -> str:
    """Break a long name into lines of about the same length."""
    return name if len(name) <= WIDEST else textwrap.fill(name, len(name) // 2 + 3)


def _times(panel: Axes, times: list[tuple[str, float, str]], parameters: dict[str, Any]) -> None:
    places = np.arange(len(times))[::-1]
    values = np.array([1e3 * seconds for _, seconds, _ in times])
    panel.scatter(values, places, color=[colour for _, _, colour in times], edgecolor=OURS, linewidth=0.6, s=20, zorder=3)
    panel.set_xscale("log")
    panel.set_xlim(values.min() / 2, values.max() * 10)
    panel.set_ylim(-0.6, len(times) - 0.4)
    panel.set_yticks(places, [_in_lines(name) for name, _, _ in times])
    panel.tick_params(axis="y", length=0)
    for place, value in zip(places, values, strict=True):
        panel.annotate(in_words(value / 1e3), (value, place), xytext=(6, 0), textcoords="offset points", va="center", fontsize=7)
    panel.set_xlabel("ms")
    panel.set_title(size(parameters).replace("C_P", "$C_P$"), fontsize=7.5, loc="right")
