"""How many bytes an objective needs, and whether they are there."""

from __future__ import annotations

from mvsim.multi_view.kernels import check_device_memory, entry_for_draws
from mvsim.multi_view.memory_limits import check_fits
from mvsim.multi_view.parameters import Parameters


def check_objective_memory(parameters: Parameters, mixes: bool, backend: str) -> int:
    """Return the predicted bytes of an objective and what it evaluates, or raise `UsageError` if they are not there."""
    check_device_memory(parameters, mixes, backend)
    return check_fits(parameters, lambda p: _objective_bytes(p, mixes, backend), " for the objective")


def _objective_bytes(p: Parameters, mixes: bool, backend: str) -> int:
    needs = entry_for_draws(p, backend).needs(p, mixes)
    return 8 * (needs.stays + needs.product)
