"""The one loop over time, from arguments to a run: draws the problem, steps it, records it, saves it."""

from mvsim.simulation.entry import simulate
from mvsim.simulation.progress import Progress
from mvsim.simulation.session import SETTLED_FACTOR

__all__ = ["SETTLED_FACTOR", "Progress", "simulate"]
