"""Methods: what can be trained on, in correlation coordinates. To add one: write a subclass of `Objective` in a file, and list it in `OBJECTIVES`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mvsim.base.echo import echo
from mvsim.base.errors import UsageError
from mvsim.base.options import check_choice, fields_of
from mvsim.losses import CrossEntropy, PointwiseLoss
from mvsim.multi_view.data import Dataset
from mvsim.multi_view.objectives.base import Objective
from mvsim.multi_view.objectives.erm import Erm
from mvsim.multi_view.objectives.midpoint import Midpoint
from mvsim.multi_view.objectives.mixup import Mixup
from mvsim.multi_view.parameters import Parameters

OBJECTIVES: dict[str, type[Objective]] = {cls.name: cls for cls in (Erm, Midpoint, Mixup)}

__all__ = ["OBJECTIVES", "Erm", "Midpoint", "Mixup", "Objective", "objective"]


def objective(
    name: str,
    parameters: Parameters,
    data: Dataset,
    backend: str = "auto",
    threads: int | None = None,
    *,
    loss: str | PointwiseLoss | type[PointwiseLoss] = CrossEntropy.name,
    weight_decay: float = 0.0,
    label_smoothing: float = 0.0,
    **options: Any,
) -> Objective:
    """Make the objective called ``name`` on a data set.

    Parameters
    ----------
    name : str
        A key of `OBJECTIVES`.
    parameters : Parameters
        Hyper-parameters.
    data : Dataset
        Training data.
    backend : str
        See `Objective`.
    threads : int, optional
        See `Objective`.
    loss : str or PointwiseLoss, optional
        A key of `mvsim.losses.LOSSES`, or a loss of your own, class or instance; the theorems are about the default, the cross-entropy.
    weight_decay, label_smoothing
        See `Objective`.
    **options
        What this objective takes besides, e.g. ``mixing`` for `Mixup`.

    Returns
    -------
    Objective

    Raises
    ------
    UsageError
        If there is no objective of that name, or it does not take an option.
    """
    check_name(name)
    check_options(name, options)
    return OBJECTIVES[name](parameters, data, backend, threads, loss=loss, weight_decay=weight_decay, label_smoothing=label_smoothing, **options)


def check_name(name: Any) -> str:
    """Return the name of an objective, or raise `UsageError` if there is none of that name."""
    return check_choice("method", name, OBJECTIVES)


def options_of(name: str) -> tuple[str, ...]:
    """Return the options that an objective takes besides data, backend and threads: those that its constructor describes."""
    return tuple(fields_of(OBJECTIVES[name]))


def check_options(name: str, options: Mapping[str, Any]) -> None:
    """Raise `UsageError` for options that the objective ``name`` does not take."""
    for key in options:
        if key not in options_of(name):
            known = options_of(name)
            raise UsageError(f"{key}={echo(options[key])}: {name} has no such option; it takes {', '.join(known) if known else 'none'}")
