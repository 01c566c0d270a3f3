"""Functions of outputs and soft labels, and the points they are summed over. Nothing here knows neurons.

To add a loss: write a file with a subclass of `PointwiseLoss` and list it in `LOSSES`.
"""

from __future__ import annotations

from typing import Any

from mvsim.base.echo import echo
from mvsim.base.errors import UsageError
from mvsim.losses.cross_entropy import CrossEntropy
from mvsim.losses.points import AllPairs, ListedPairs, Points, Unmixed
from mvsim.losses.pointwise import PointwiseLoss
from mvsim.losses.smoothed_labels import SmoothedLabels
from mvsim.losses.squared_error import SquaredError

LOSSES: dict[str, type[PointwiseLoss]] = {cls.name: cls for cls in (CrossEntropy, SquaredError)}

__all__ = [
    "LOSSES",
    "AllPairs",
    "CrossEntropy",
    "ListedPairs",
    "LossName",
    "Points",
    "PointwiseLoss",
    "SmoothedLabels",
    "SquaredError",
    "Unmixed",
    "loss_name",
]


class LossName(str):
    """The name of a loss, with the loss, which may be one that is not in `LOSSES`."""

    loss: PointwiseLoss


def loss_name(value: Any) -> LossName:
    """Return the name of a loss, a key of `LOSSES` or a loss of one's own, with the loss itself; raise `UsageError` if it is neither."""
    if isinstance(value, LossName):
        return value
    loss = value() if isinstance(value, type) and issubclass(value, PointwiseLoss) else value
    if isinstance(value, str) and value in LOSSES:
        loss = LOSSES[value]()
    if not isinstance(loss, PointwiseLoss):
        raise UsageError(f"loss={echo(value)}: must be one of {', '.join(LOSSES)}, or a mvsim.losses.PointwiseLoss of your own")
    label = getattr(loss, "name", None)
    if not isinstance(label, str) or not label:
        raise UsageError(f"loss={echo(value)}: needs a name of its own, a class attribute that is text")
    if label in LOSSES and type(loss) is not LOSSES[label]:
        raise UsageError(f"loss={echo(value)}: {label} is the name of another loss; give yours a name of its own")
    name = LossName(label)
    name.loss = loss
    return name
