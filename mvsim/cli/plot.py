"""``mvsim plot``: run files, or a sweep, to a picture, or one run to an animation."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from mvsim.base.echo import echo, escaped, path_text
from mvsim.base.errors import UsageError
from mvsim.cli.options import FLAG, read_integer
from mvsim.cli.output import refuse_folder, runs_text, saving
from mvsim.cli.progress import WorkShown
from mvsim.pictures.animation import MOVIES, save_animation
from mvsim.pictures.output import FORMATS, check_output, save_figure
from mvsim.pictures.panels import ALL_PANELS, check_panels
from mvsim.pictures.plot import plot as drawn
from mvsim.pictures.shown import shown_of
from mvsim.runs.run import Run, open_run
from mvsim.sweeps.identity import refuse_repeated
from mvsim.sweeps.runs import SweepRuns, open_sweep


def plot(
    *runs: Annotated[
        Path,
        Parameter(name="RUN", required=True, help="Run files, which are drawn side by side on the same axes, or the folder of one sweep."),
    ],
    out: Annotated[
        Path | None,
        Parameter(
            name=["--out", "-o"],
            help="Picture: .png, .svg or .pdf, of an animation .gif or .html; by default a .png, or a .gif, beside the first run.",
        ),
    ] = None,
    panels: Annotated[
        str | None, Parameter(help=f"Panels, with commas, from the top: {', '.join(ALL_PANELS)}. By default those that show something.")
    ] = None,
    classes: Annotated[str | None, Parameter(help="Classes to show, with commas, counted from 0; by default all.")] = None,
    title: Annotated[str | None, Parameter(help="What stands above; by default what came out. An empty one is left out.")] = None,
    animate: Annotated[bool, FLAG, Parameter(help="Write the correlation matrix of one run over time as an animation.")] = False,
    force: Annotated[bool, FLAG, Parameter(help="Overwrite the picture.")] = False,
) -> None:
    """Draw one or several run files, or a sweep, as one picture."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it tells where it keeps its fonts if there is no home
    folders = [path for path in runs if path.is_dir()]
    if folders and len(runs) > 1:
        raise UsageError(f"{path_text(folders[0])}: the folder of a sweep is drawn alone; give run files only, or this folder only")
    if animate and (folders or len(runs) > 1):
        raise UsageError("--animate: an animation shows one run; give one run file")
    if animate and panels is not None:
        raise UsageError("--panels: an animation has none; leave out --panels or --animate")
    title = None if title is None else " ".join(title.split())
    chosen, names = _classes(classes), None if panels is None else [name.strip() for name in panels.split(",")]
    read = None
    if names is not None:
        check_panels(names)
    if chosen is not None and not folders:
        read = _read(runs)
        shown_of(read, chosen)
    picture = out or (folders[0] / "sweep.png" if folders else runs[0].parent / f"{runs_text(runs)}{'.gif' if animate else '.png'}")
    refuse_folder(picture, f"run{picture.suffix}")
    if out is not None or picture.exists():  # before large files are read
        check_output(picture, force, MOVIES if animate else FORMATS)
    if read is None and not folders:
        read = _read(runs)
    if animate and read is not None:
        with saving(picture), WorkShown() as shown:
            save_animation(read[0], picture, chosen, title, force, shown.begin)
    else:
        with WorkShown() as shown:
            figure = drawn(_sweep(runs[0], shown) if read is None else read, panels=names, classes=chosen, title=title)
        with saving(picture):
            save_figure(figure, picture, force)
    print(f"saved in {escaped(str(picture))}")


def _read(paths: Sequence[Path]) -> list[Run]:
    """Return the runs in some files, or raise `UsageError` if one is there twice."""
    runs = [open_run(path) for path in paths]
    refuse_repeated(runs)
    return runs


def _sweep(folder: Path, shown: WorkShown) -> SweepRuns:
    """Return the runs of a sweep, read; a picture of many takes a while after that."""
    runs = open_sweep(folder, shown.count)
    runs.table  # noqa: B018 - reads them
    shown.begin("drawing")
    return runs


def _classes(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [read_integer(word) for word in text.split(",")]
    except ValueError:
        raise UsageError(f"--classes={echo(text)}: must be integers from 0, with commas, for example 0,3") from None
