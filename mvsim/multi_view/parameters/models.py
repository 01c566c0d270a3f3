"""The models there are: which data a network is trained on, with which activation, and which parameters it has.

``network``  the two-layer network of Definition 4.2 on the data of Definition 4.1.
``linear``   g_y(x) = <w_y, x> on the data of Definition 3.1, x = beta v_{y,1} + (delta2 - beta) v_{y,2} in one patch (Section 3).

To add one: write a `Model`, list it in `MODELS`, and say in `mvsim.multi_view.data.distribution.SAMPLERS` how its points are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mvsim.base.echo import echo
from mvsim.multi_view.parameters.numbers import usable_number


@dataclass(frozen=True)
class Model:
    """What a model consists of."""

    name: str  # How users call it
    label: str  # What stands before the method in the summary of a run; empty for the network, which is the usual case
    data: str  # The definition of its data
    assumption: str  # What the regime of a run is compared with
    activation: str  # Key of `mvsim.multi_view.activations.ACTIVATIONS`
    joined: bool  # Whether all views of a signal lie in one patch; otherwise each has a patch of its own
    fixed: Mapping[str, Any] = field(default_factory=dict)  # Parameters that the model does not have, with the only value that they may be given

    def signal_patches(self, V: int, C_P: int) -> int:
        """Return how many patches of a point carry features of its own class."""
        return C_P if self.joined else V * C_P

    def contradictions(self, values: Mapping[str, Any]) -> list[str]:
        """Say which parameters were given that this model does not have."""
        return [
            f"{name}={echo(values[name])}: is always {echo(only)} with model={self.name}; leave it out"
            for name, only in self.fixed.items()
            if name in values and _differs(values[name], only)
        ]


def _differs(value: Any, only: Any) -> bool:
    """Whether a value, which may be text still, is another one than the only one."""
    return str(value) != only if isinstance(only, str) else usable_number(value, least=-math.inf) != only


NETWORK = Model("network", "", "Definition 4.1", "Assumption 4.3", "smoothed_relu", joined=False)

LINEAR = Model(
    "linear",
    "linear model, ",
    "Definition 3.1",
    "Definition 3.1",
    "identity",
    joined=True,
    fixed={"m": 1, "P": 1, "C_P": 1, "Q": 1, "alpha": 1.0, "rho": 1.0, "delta3": 0.0, "delta4": 0.0}
    | {"signal_layout": "fixed", "noise": "patch", "G": 1, "codebook_seed": 0},
)

MODELS: dict[str, Model] = {model.name: model for model in (NETWORK, LINEAR)}


def model_named(name: Any) -> Model:
    """Return the model of that name; the network for a name that there is not, which the validator of `mvsim.Parameters` reports."""
    return MODELS.get(name, NETWORK) if isinstance(name, str) else NETWORK
