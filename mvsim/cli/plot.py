"""``mvsim plot``: run files, or a sweep, to a picture."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from mvsim.cli.options import FLAG
from mvsim.echo import escaped, path_text
from mvsim.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot(
    *runs: Annotated[
        Path,
        Parameter(name="RUN", required=True, help="Run files, which are drawn side by side on the same axes, or the folder of one sweep."),
    ],
    out: Annotated[Path | None, Parameter(name=["--out", "-o"], help="Picture: .png, .svg or .pdf; by default a .png beside the first run.")] = None,
    force: Annotated[bool, FLAG, Parameter(help="Overwrite the picture.")] = False,
) -> None:
    """Draw one or several run files, or a sweep, as one picture."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it tells where it keeps its fonts if there is no home
    from mvsim.plotting import save_figure
    from mvsim.plotting.output import check_output

    folders = [path for path in runs if path.is_dir()]
    if folders and len(runs) > 1:
        raise UsageError(f"{path_text(folders[0])}: the folder of a sweep is drawn alone; give run files only, or this folder only")
    picture = out or (folders[0] / "sweep.png" if folders else default_picture(runs))
    if out is not None or picture.exists():  # before large files are read
        check_output(picture, force)
    save_figure(_figure_of_sweep(folders[0]) if folders else _figure_of_runs(runs), picture, force)
    print(f"saved in {escaped(str(picture))}")


def _figure_of_runs(runs: tuple[Path, ...]) -> Figure:
    from mvsim.plotting import run_figure
    from mvsim.run import open_run

    return run_figure([open_run(path) for path in runs])


def _figure_of_sweep(folder: Path) -> Figure:
    from mvsim.plotting.sweep_figure import sweep_figure
    from mvsim.sweep.runs import open_runs

    return sweep_figure(open_runs(folder))


def default_picture(runs: tuple[Path, ...]) -> Path:
    """Return where the picture of these runs goes if nobody says: beside the first run, named after what it shows."""
    first, *others = runs
    rest = "" if not others else f"-and-{others[0].stem}" if len(others) == 1 else f"-and-{len(others)}-others"
    return first.parent / f"{first.stem}{rest}.png"
