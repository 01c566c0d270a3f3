"""Pictures of runs: read a `mvsim.Run`, never simulate."""

from mvsim.plotting.figure import run_figure
from mvsim.plotting.output import FORMATS, save_figure
from mvsim.plotting.panel import Panel
from mvsim.plotting.panels import ALL_PANELS, PANELS

__all__ = ["ALL_PANELS", "FORMATS", "PANELS", "Panel", "run_figure", "save_figure"]
