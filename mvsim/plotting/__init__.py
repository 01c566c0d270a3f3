"""Pictures of runs: read a `mvsim.Run`, never simulate."""

from mvsim.plotting.figure import run_figure
from mvsim.plotting.output import FORMATS, save_figure
from mvsim.plotting.panels import PANELS

__all__ = ["FORMATS", "PANELS", "run_figure", "save_figure"]
