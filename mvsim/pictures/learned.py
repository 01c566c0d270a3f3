"""The panel of learned classes over time: bands that carry their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mvsim.pictures.panel import Limits, Panel, inches, time_limits
from mvsim.pictures.shown import Shown
from mvsim.pictures.style import BOTH, MARK, ONE, OUTCOMES, paler
from mvsim.runs.recording.fresh_draws import count_classes, outcomes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LETTER, LINE = 0.052, 0.13
"""Width of a letter and height of a line of the names, inches."""


BY_CHANCE = paler(ONE)
"""Tint of all features that are learned by chance."""

SLIVER = 0.02
"""Part of the panel that a band fills at least to be named in the legend."""

CHANCE = "by chance"
"""What stands in bands of features that are learned before a correlation with them has risen."""


class Band(NamedTuple):
    """Classes with one outcome, drawn from ``low`` to ``high`` at each record; pale if it came by chance."""

    name: str
    phrase: str
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    pale: bool = False

    @property
    def colour(self) -> str:
        """What it is drawn in."""
        return BY_CHANCE if self.pale else OUTCOMES[self.name]

    @property
    def is_empty(self) -> bool:
        """Whether no class is ever in it."""
        return not (self.high > self.low).any()


def bands_of(shown: Shown) -> list[Band]:
    """Return how many classes have both features (all, if there are not two), exactly one (some), or none learned, stacked.

    A class is in a pale band if a feature of it counts as learned of which no correlation has risen above rho: outputs are tiny then, and the test of
    Definition 4.5 asks only which is the largest.
    """
    fractions = shown.over_time("feature_learned")
    by_chance = shown.by_chance
    outcomes = outcomes_of(shown.run.parameters.V)
    low = np.zeros(len(fractions), dtype=np.int64)
    bands = []
    for outcome, pale in [(outcome, pale) for pale in (False, True) for outcome in outcomes[:-1]] + [(outcomes[-1], False)]:
        chosen = by_chance if pale else ~by_chance
        high = low + np.array([count_classes(at[mask])[outcome.name] for at, mask in zip(fractions, np.asarray(chosen), strict=True)])
        bands.append(Band(outcome.name, outcome.phrase, low, high, pale))
        low = high
    return bands


def _draw(axes: Axes, shown: Shown, limits: Limits) -> None:
    bands = bands_of(shown)
    for band in bands:
        if len(shown.times) == 1:
            axes.bar(shown.times, band.high - band.low, bottom=band.low, color=band.colour, label=band.phrase)
        else:  # a record holds until the next one
            axes.fill_between(shown.times, band.low, band.high, step="post", color=band.colour, label=band.phrase, linewidth=0)
    for height in (0, len(shown.classes)):
        axes.axhline(height, linewidth=0.0).sticky_edges.y.append(height)  # the axis fits the run with the most classes
    axes.margins(y=0)
    axes.set_yticks(_ticks(max(round(axes.get_ylim()[1]), len(shown.classes))))  # the same for all runs: they share the axis
    axes.set_ylabel("classes, by features\nlearned")
    if limits[0] < limits[1]:
        _name_bands(axes, shown, bands, limits)


def _ticks(k: int) -> list[int]:
    """Return ticks that begin at 0 and end at k: equally far apart where k has a divisor that allows it, else with round numbers between."""
    from matplotlib.ticker import MaxNLocator

    parts = next((n for n in (5, 4, 3, 2) if k % n == 0 and k > n), None)
    if parts is not None:
        return list(range(0, k + 1, k // parts))
    between = [round(tick) for tick in MaxNLocator(4, integer=True).tick_values(0, k) if k / 6 <= tick <= 5 * k / 6]
    return [0, *between, k]


def _name_bands(axes: Axes, shown: Shown, bands: list[Band], limits: Limits) -> None:
    """Write the name of each band into it, where it has most room, of the one that wins upright if need be; others without room are named above."""
    from matplotlib.patches import Patch

    handles = []
    winner = max(bands, key=lambda band: band.high[-1] - band.low[-1])
    for band in [*(band for band in bands if not band.pale), *_all_by_chance(bands)]:
        colour = MARK if band.pale else "white" if OUTCOMES[band.name] == BOTH else "black"
        if (place := _roomiest(axes, shown, band, limits)) is not None:
            axes.text(*place, band.phrase, ha="center", va="center", fontsize=6.5, color=colour, style="italic" if band.pale else "normal")
        elif band is winner and (height := _upright(axes, shown, band, limits)) is not None:
            upright: dict[str, Any] = {"rotation": 90, "ha": "right", "va": "center", "fontsize": 6.5, "color": colour}
            axes.annotate(band.phrase, (float(shown.times[-1]), height), xytext=(-2, 0), textcoords="offset points", **upright)
        elif band is winner or _part_filled(shown, band, limits) >= SLIVER:
            handles.append(Patch(color=band.colour, label=band.phrase))
    if handles:
        where: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.2, "ncols": len(handles)}
        axes.legend(handles=handles, fontsize=6.5, handlelength=0.8, handletextpad=0.3, columnspacing=0.8, **where)


def _part_filled(shown: Shown, band: Band, limits: Limits) -> float:
    widths = np.diff(np.log(shown.times)) / np.log(limits[1] / limits[0])
    return float(widths @ (band.high - band.low)[:-1]) / len(shown.classes)


def _all_by_chance(bands: list[Band]) -> list[Band]:
    """Return what lies between the lowest and the highest pale band as one, in a list; nothing if there is none."""
    pale = [band for band in bands if band.pale]
    filled = [band for band in pale if not band.is_empty]
    return [Band(filled[-1].name, CHANCE, pale[0].low, pale[-1].high, pale=True)] if filled else []


def _roomiest(axes: Axes, shown: Shown, band: Band, limits: Limits) -> tuple[float, float] | None:
    """Return where the name of a band fits best, of all windows of its width along the axis; None if it fits nowhere."""
    first, last = np.log(limits)
    width, height = _length(band) / inches(axes)[0], LINE / _inches_of_a_class(axes)
    begin, end = _part(shown.times[[0, -1]], limits)
    edge = 0.02 * (end - begin)
    best, room = None, height
    for left in np.linspace(begin + edge, end - width - edge, 41) if end - width - edge >= begin + edge else ():
        low, high = _inside(band, shown, limits, left, left + width)
        if high - low > room:
            room = high - low
            best = float(np.exp(first + (left + width / 2) * (last - first))), float(low + high) / 2
    return best


def _upright(axes: Axes, shown: Shown, band: Band, limits: Limits) -> float | None:
    """Return at which height the name of a band fits upright at the end of a run; None if it does not."""
    end = float(_part(shown.times[-1:], limits)[0])
    low, high = _inside(band, shown, limits, end - LINE / inches(axes)[0], end)
    return float(low + high) / 2 if (high - low) * _inches_of_a_class(axes) >= _length(band) else None


def _inside(band: Band, shown: Shown, limits: Limits, left: float, right: float) -> tuple[int, int]:
    """Return between which heights a band fills a window all along, given as parts of the axis of time."""
    times = _part(shown.times, limits)
    inside = (times > left) & (times < right)
    inside[max(int(np.searchsorted(times, left, side="right")) - 1, 0)] = True  # the record that holds when the window begins
    return int(band.low[inside].max()), int(band.high[inside].min())


def _part(times: NDArray[np.float64], limits: Limits) -> NDArray[np.float64]:
    """Return times as parts of their logarithmic axis, from 0 to 1."""
    first, last = np.log(limits)
    return np.asarray((np.log(times) - first) / (last - first))


def _length(band: Band) -> float:
    """Return how many inches the name of a band takes, with some air."""
    return (len(band.phrase) + 1) * LETTER


def _inches_of_a_class(axes: Axes) -> float:
    """Return the height of a class; the axis fits the run with the most."""
    return inches(axes)[1] / float(axes.get_ylim()[1])


def _notes(runs: Sequence[Shown]) -> str:
    pale = r"; pale: by chance, no correlation with the feature has passed $\rho$" if any(shown.has_threshold for shown in runs) else ""
    return f"Learned: Definition 4.5 on all fresh draws{pale}."


learned_classes = Panel("learned-classes", _draw, time_limits, over_time=True, notes=_notes)
