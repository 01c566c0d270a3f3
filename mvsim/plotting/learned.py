"""The panel of learned classes over time: bands that carry their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mvsim.plotting.panel import Limits, Panel, inches, room_before_rise, time_limits
from mvsim.plotting.shown import Shown
from mvsim.plotting.style import BOTH, MARK, OUTCOMES, paler
from mvsim.recording.feature_test import count_classes, outcomes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LETTER, LINE = 0.052, 0.13
"""Width of a letter and height of a line of the names, inches."""


CHANCE = "by chance"
"""What stands beside features that are learned before the first rise."""


class Band(NamedTuple):
    """Classes with one outcome, drawn from ``low`` to ``high`` at each record."""

    name: str
    phrase: str
    low: NDArray[np.int64]
    high: NDArray[np.int64]


def bands_of(shown: Shown) -> list[Band]:
    """Return how many classes have both features (all, if there are not two), exactly one (some), or none learned, stacked."""
    counts = [count_classes(fractions) for fractions in shown.over_time("feature_learned")]
    low = np.zeros(len(counts), dtype=np.int64)
    bands = []
    for outcome in outcomes_of(shown.run.parameters.V):
        high = low + np.array([count[outcome.name] for count in counts])
        bands.append(Band(outcome.name, outcome.phrase, low, high))
        low = high
    return bands


def _draw(axes: Axes, shown: Shown, limits: Limits) -> None:
    """Draw the bands, pale before the first rise of a correlation: what has been learned there is learned by chance."""
    from matplotlib.ticker import MaxNLocator

    bands = bands_of(shown)
    by_chance = shown.times < shown.first_rise
    for band in bands:
        colour = OUTCOMES[band.name]
        if len(shown.times) == 1:
            shade = paler(colour) if by_chance[0] else colour
            axes.bar(shown.times, band.high - band.low, bottom=band.low, color=shade, label=band.phrase)
            continue
        for part, shade in ((by_chance, paler(colour)), (~by_chance, colour)):
            until = part | np.concatenate([[False], part[:-1]])  # a record holds until the next one
            axes.fill_between(shown.times, band.low, band.high, where=until, step="post", color=shade, label=band.phrase, linewidth=0)
    for height in (0, len(shown.classes)):
        axes.axhline(height, linewidth=0.0).sticky_edges.y.append(height)  # the axis fits the run with the most classes
    axes.margins(y=0)
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.set_ylabel("classes, by features\nlearned")
    if limits[0] < limits[1]:
        _name_bands(axes, shown, bands, limits)
        _name_chance(axes, shown, bands, by_chance, limits)


def _name_bands(axes: Axes, shown: Shown, bands: list[Band], limits: Limits) -> None:
    """Write the name of each band into it, where it has most room; what has no room for its name is named above."""
    from matplotlib.patches import Patch

    handles = []
    for band in bands:
        place = _roomiest(axes, shown, band, limits)
        if place is not None:
            colour = "white" if OUTCOMES[band.name] == BOTH and place[0] > shown.first_rise else "black"
            axes.text(*place, band.phrase, ha="center", va="center", fontsize=6.5, color=colour)
        elif (band.high > band.low).any():
            only_by_chance = not (band.high > band.low)[shown.times >= shown.first_rise].any()
            shade, remark = (paler(OUTCOMES[band.name]), ", by chance") if only_by_chance else (OUTCOMES[band.name], "")
            handles.append(Patch(color=shade, label=band.phrase + remark))
    if handles:
        where: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.2, "ncols": 2}
        axes.legend(handles=handles, fontsize=6.5, handlelength=0.8, handletextpad=0.3, columnspacing=0.8, **where)


def _roomiest(axes: Axes, shown: Shown, band: Band, limits: Limits) -> tuple[float, float] | None:
    """Return where the name of a band fits best, None if it fits nowhere.

    Windows of its width are tried along the axis, first after the first rise and then before it; none reaches across.
    """
    first, last = np.log(limits)

    def part(times: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((np.log(times) - first) / (last - first))

    across, up = inches(axes)
    width, height = (len(band.phrase) + 1) * LETTER / across, LINE / up * len(shown.classes)
    times, ends = part(shown.times), [part(shown.times[[0, -1]])]
    if shown.times[0] < shown.first_rise <= shown.times[-1]:
        rise = float(part(np.array([shown.first_rise]))[0])
        ends = [np.array([rise, times[-1]]), np.array([times[0], rise])]
    for begin, end in ends:
        best, room = None, height
        edge = 0.02 * (end - begin)
        for left in np.linspace(begin + edge, end - width - edge, 41) if end - width - edge >= begin + edge else ():
            inside = (times > left) & (times < left + width)
            inside[max(np.searchsorted(times, left, side="right") - 1, 0)] = True  # the record that holds when the window begins
            low, high = band.low[inside].max(), band.high[inside].min()
            if high - low > room:
                room = high - low
                best = float(np.exp(first + (left + width / 2) * (last - first))), float(low + high) / 2
        if best is not None:
            return best
    return None


def _name_chance(axes: Axes, shown: Shown, bands: list[Band], by_chance: NDArray[np.bool_], limits: Limits) -> None:
    """Mark the first rise, and say of what was learned before it that it was by chance."""
    learned = bands[-1].low  # all that is not "none"
    where = np.flatnonzero(by_chance & (learned > 0))
    if not len(where):
        return
    if not by_chance.all():
        axes.axvline(shown.first_rise, color=MARK, linewidth=0.6, linestyle=":")
    end = min(shown.first_rise, float(shown.times[-1]))
    if room_before_rise(axes, shown, limits) < len(CHANCE) * LETTER:
        return  # no room: the footnote says it too
    height = learned[by_chance].max()
    above = height < 0.85 * len(shown.classes)
    style: dict[str, Any] = {"ha": "right", "va": "bottom" if above else "top", "fontsize": 6.5, "style": "italic", "color": MARK}
    axes.annotate(CHANCE, (end, height), xytext=(-3, 1.5 if above else -1.5), textcoords="offset points", **style)


def _notes(shown: Shown) -> str:
    pale = r"; pale before any correlation passes $\rho$, where it is chance" if shown.has_threshold else ""
    return f"Learned: Definition 4.5 on all fresh draws{pale}."


learned_classes = Panel("learned-classes", _draw, time_limits, over_time=True, notes=_notes)
