"""``mvsim plot``: run files to a picture."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from mvsim.cli.options import FLAG
from mvsim.echo import escaped


def plot(
    *runs: Annotated[Path, Parameter(name="RUN", required=True, help="Run files; several are drawn side by side on the same axes.")],
    out: Annotated[Path | None, Parameter(name=["--out", "-o"], help="Picture: .png, .svg or .pdf; by default a .png beside the first run.")] = None,
    force: Annotated[bool, FLAG, Parameter(help="Overwrite the picture.")] = False,
) -> None:
    """Draw one or several run files as one picture."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it tells where it keeps its fonts if there is no home
    from mvsim.plotting import run_figure, save_figure
    from mvsim.plotting.output import check_output
    from mvsim.run import open_run

    picture = out or default_picture(runs)
    if out is not None or picture.exists():  # before large files are read
        check_output(picture, force)
    read = [open_run(path) for path in runs]
    save_figure(run_figure(read), picture, force)
    print(f"saved in {escaped(str(picture))}")


def default_picture(runs: tuple[Path, ...]) -> Path:
    """Return where the picture of these runs goes if nobody says: beside the first run, named after what it shows."""
    first, *others = runs
    rest = "" if not others else f"-and-{others[0].stem}" if len(others) == 1 else f"-and-{len(others)}-others"
    return first.parent / f"{first.stem}{rest}.png"
