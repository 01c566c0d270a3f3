"""Losses in correlation coordinates. To add one: write a file with a subclass of `Objective` and list it in `OBJECTIVES`."""

from __future__ import annotations

from mvsim.data import Dataset
from mvsim.errors import UsageError
from mvsim.objectives.base import Objective
from mvsim.objectives.erm import Erm
from mvsim.objectives.midpoint import Midpoint
from mvsim.parameters import Parameters

OBJECTIVES: dict[str, type[Objective]] = {cls.name: cls for cls in (Erm, Midpoint)}

__all__ = ["OBJECTIVES", "Erm", "Midpoint", "Objective", "objective"]


def objective(name: str, parameters: Parameters, data: Dataset, backend: str = "auto", threads: int | None = None) -> Objective:
    """Make the objective called ``name`` on a data set.

    Parameters
    ----------
    name : str
        A key of `OBJECTIVES`.
    parameters : Parameters
        Hyper-parameters.
    data : Dataset
        Training data.
    backend : {"auto", "numpy", "numba"}
        See `Objective`.
    threads : int, optional
        See `Objective`.

    Returns
    -------
    Objective

    Raises
    ------
    UsageError
        If there is no objective of that name.
    """
    if name not in OBJECTIVES:
        raise UsageError(f"method={name!r}: must be one of {', '.join(OBJECTIVES)}")
    return OBJECTIVES[name](parameters, data, backend, threads)
