"""``mvsim figure``: a figure of a paper, drawn from scratch."""

from __future__ import annotations

import inspect
import logging
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from mvsim.base.echo import echo, escaped
from mvsim.base.errors import UsageError
from mvsim.cli.options import FLAG
from mvsim.cli.output import refuse_folder, saving
from mvsim.cli.progress import WorkShown
from mvsim.papers.papers import PAPERS, paper_named
from mvsim.pictures.output import check_output, save_figure


def figure(
    name: Annotated[str | None, Parameter(name="PAPER/NUMBER", help="The figure; without one, all are listed.")] = None,
    /,
    *,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"], help="Picture: .png, .svg or .pdf; by default PAPER-NUMBER.png here.")] = None,
    force: Annotated[bool, FLAG, Parameter(help="Overwrite the picture.")] = False,
) -> None:
    """Draw a figure of a paper from scratch."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it tells where it keeps its fonts if there is no home
    if name is None:
        for line in listed():
            print(line)
        return
    paper, _, number = name.partition("/")
    figures = paper_named(paper).figures
    if number not in figures:
        known = f"must be one of {', '.join(f'{paper}/{known}' for known in figures)}" if figures else f"{paper} has no figures"
        raise UsageError(f"{echo(name)}: is no figure that is drawn from scratch; {known}")
    place = out or Path(f"{paper}-{number}.png")
    refuse_folder(place, f"{paper}-{number}.png")
    check_output(place, force)
    with WorkShown() as shown:
        shown.begin(f"drawing {paper}/{number}")
        drawn = figures[number]()
    with saving(place):
        save_figure(drawn, place, force)
    print(f"saved in {escaped(str(place))}")


def listed() -> list[str]:
    """Return a line for each figure."""
    return [
        f"{paper}/{number}  {(inspect.getdoc(draw) or '').splitlines()[0]}" for paper in PAPERS for number, draw in paper_named(paper).figures.items()
    ]
