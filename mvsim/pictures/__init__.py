"""Pictures of runs: read a `mvsim.Run`, never simulate."""

from mvsim.pictures.figure import run_figure
from mvsim.pictures.output import FORMATS, save_figure
from mvsim.pictures.panel import Panel
from mvsim.pictures.panels import ALL_PANELS, PANELS

__all__ = ["ALL_PANELS", "FORMATS", "PANELS", "Panel", "run_figure", "save_figure"]
