"""The correlation matrix of a run over time, as an animation: GIF, or an HTML file that needs nothing else."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mvsim.base.echo import echo, path_text
from mvsim.base.errors import UsageError
from mvsim.pictures.labels import check_title, identity, plain, time_text, what_was_learned
from mvsim.pictures.output import check_output
from mvsim.pictures.shown import Shown, shown_of
from mvsim.pictures.style import MARK, styled
from mvsim.runs.archive.atomic import write_atomically
from mvsim.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.animation import AbstractMovieWriter
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

MOVIES = ("gif", "html")
"""What an animation can be written as, told by the end of the file name."""

MOST_FRAMES = 80
"""More records than this are thinned out, evenly in the logarithm of time."""

FRAMES_PER_SECOND = 8
DOTS_PER_INCH = 110

_ICONS = {
    "fa-minus": "&minus;", "fa-fast-backward": "|&#9664;", "fa-step-backward": "&#9664;|", "fa-play fa-flip-horizontal": "&#9664;",
    "fa-pause": "||", "fa-play": "&#9654;", "fa-step-forward": "|&#9654;", "fa-fast-forward": "&#9654;|", "fa-plus": "+",
}  # fmt: skip
"""Signs on the buttons of the HTML page; matplotlib takes pictures from the network for them."""


def matrices(shown: Shown) -> NDArray[np.float64]:
    """Return (record, class y, class s, view): the largest correlation max_r <w_{y,r}, v_{s,l}> over the neurons of class y, dimensionless.

    Correlations with the features of the own class, the diagonal, are those of each record. The others are kept at few times: between these they are
    those of the last time at which they were kept.
    """
    dataset, classes = shown.run.dataset, shown.classes
    kept = dataset["correlations"].to_numpy()[:, classes].max(axis=2)[:, :, classes]
    times = dataset["time"].to_numpy()[shown.kept]
    last = np.searchsorted(dataset["snapshot_time"].to_numpy(), times, side="right") - 1
    values = kept[np.maximum(last, 0)]
    own = np.arange(len(classes))
    values[:, own, own] = dataset["max_correlation"].to_numpy()[shown.kept][:, classes]
    return np.asarray(values)


def frames_of(times: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return which records are frames: all, or those next to `MOST_FRAMES` times evenly spaced in their logarithm, first and last among them."""
    if len(times) <= MOST_FRAMES:
        return np.arange(len(times))
    places = np.log(times)
    targets = np.linspace(places[0], places[-1], MOST_FRAMES)
    return np.unique(np.abs(places[:, None] - targets).argmin(axis=0))


def save_animation(
    run: Run,
    path: str | os.PathLike[str],
    classes: Any = None,
    title: str | None = None,
    force: bool = False,
    notice: Callable[[str], None] | None = None,
) -> Path:
    """Write the correlation matrix over time to a .gif or .html file, the same bytes every time, and return its path; arguments are as for `plot`.

    ``force`` overwrites a file, and ``notice`` is told in words what takes long, before it begins. Raises `UsageError` if the file may not be.
    """
    path = check_output(path, force, MOVIES)
    (shown,) = shown_of([run], classes)
    check_title(title)
    values = matrices(shown)
    if not (values > 0).any():
        raise UsageError(
            f"{path_text(run.path or 'run')}: no correlation is positive, so that a matrix on a logarithmic scale is empty; draw another run"
        )
    frames = frames_of(shown.times)
    if notice is not None:
        notice(f"drawing {len(frames)} frames, which may take a minute")
    try:
        content = _movie(shown, values, frames, title, path.suffix.lower())
    except OSError as error:
        folder = path_text(tempfile.gettempdir())
        raise UsageError(f"{folder}: {error.strerror or error}; frames are collected there, TMPDIR names another folder") from None
    write_atomically(path, content)
    return path


def _movie(shown: Shown, values: NDArray[np.float64], frames: NDArray[np.int64], title: str | None, suffix: str) -> bytes:
    with styled(), tempfile.TemporaryDirectory() as folder:
        figure, images, above = _first_frame(shown, values, title)
        movie = Path(folder) / f"movie{suffix}"
        writer = _writer(suffix)
        with writer.saving(figure, str(movie), DOTS_PER_INCH):
            for frame in frames:
                for view, image in enumerate(images):
                    image.set_data(_on_scale(values[frame, :, :, view]))
                _name(figure, above, _so_far(shown, int(frame)))
                writer.grab_frame()
        content = movie.read_bytes()
    return content if suffix == ".gif" else _alone(content.decode()).encode()


def _writer(suffix: str) -> AbstractMovieWriter:
    from matplotlib.animation import HTMLWriter, PillowWriter

    if suffix == ".gif":
        return PillowWriter(fps=FRAMES_PER_SECOND)
    return HTMLWriter(fps=FRAMES_PER_SECOND, embed_frames=True, embed_limit=1000, default_mode="once")


def _on_scale(values: NDArray[np.float64]) -> np.ma.MaskedArray[Any, Any]:
    return np.ma.masked_less_equal(values, 0.0)


def _first_frame(shown: Shown, values: NDArray[np.float64], title: str | None) -> tuple[Figure, list[AxesImage], str]:
    """Return the figure, an image for each view, and what stands above every frame."""
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import MaxNLocator

    from mvsim.pictures.output import Picture

    views, n = values.shape[3], len(shown.classes)
    figure = Picture(figsize=(1.2 + 2.8 * views, 3.9))
    grid = figure.subplots(1, views, squeeze=False, sharey=True)[0]
    positive = values[values > 0]
    norm = LogNorm(float(np.quantile(positive, 0.02)), float(positive.max()))
    images = []
    for view, axes in enumerate(grid):
        axes.set_facecolor("white")
        images.append(axes.imshow(_on_scale(values[0, :, :, view]), norm=norm, cmap="cividis", interpolation="nearest"))
        axes.set_title(f"features $v_{{s,{view + 1}}}$")
        axes.set_xlabel("class $s$ of the feature")
        for axis in (axes.xaxis, axes.yaxis):
            if n <= 12:
                axis.set_ticks(range(n), [str(one) for one in shown.classes])
            else:
                axis.set_major_locator(MaxNLocator(6, integer=True))
                axis.set_major_formatter(lambda place, _: str(shown.classes[int(place)]) if 0 <= place < n else "")
    grid[0].set_ylabel("class $y$ of the neurons")
    bar = figure.colorbar(images[0], ax=list(grid), label=r"largest correlation $\max_r\,\langle w_{y,r}, v_{s,\ell}\rangle$", shrink=0.8)
    if shown.has_threshold and norm.vmin is not None and norm.vmin < shown.run.parameters.rho < (norm.vmax or 0.0):
        bar.ax.axhline(shown.run.parameters.rho, color="white", linewidth=1.0)
        bar.ax.annotate(r"$\rho$", (0.5, shown.run.parameters.rho), ha="center", va="bottom", color="white", fontsize=9)
    above = "\n".join(line for line in (plain(title or ""), ", ".join(identity(shown))) if line)
    _name(figure, above, _so_far(shown, len(shown.times) - 1))
    kept = f"White: not positive. Off the diagonal: as last kept in full ({shown.run.dataset.sizes['snapshot']} times)."
    figure.supxlabel(kept, fontsize=6, x=0.01, ha="left", color=MARK)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # from here on nothing moves from frame to frame
    return figure, images, above


def _name(figure: Figure, above: str, below: str) -> None:
    figure.suptitle(f"{above}\n{below}", fontsize=9, x=0.01, ha="left")


def _so_far(shown: Shown, record: int) -> str:
    """Return the time of a record, and what has been learned by then."""
    return f"$t$ = {time_text(float(shown.times[record]))}: {what_was_learned(shown, record)}"


def _alone(page: str) -> str:
    """Return the page of matplotlib such that it needs no network and is the same every time."""
    page = re.sub(r"<link[^>]*>", "", page, count=1)
    for name, sign in _ICONS.items():
        page = page.replace(f'<i class="fa {name}"></i>', sign)
    match = re.search(r'id="_anim_img([0-9a-f]{32})"', page)
    if match is None:
        raise UsageError(f"html: matplotlib made a page of another kind, {echo(page[:80])}; write a .gif instead")
    page = page.replace(match[1], "0")
    return f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>mvsim</title></head><body>\n{page}\n</body></html>\n'
