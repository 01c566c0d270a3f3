"""Activations of the network. To add one: write a file with a subclass of `Activation` and list it in `ACTIVATIONS`."""

from __future__ import annotations

from mvsim.multi_view.activations.base import Activation, Elementwise
from mvsim.multi_view.activations.identity import Identity
from mvsim.multi_view.activations.smoothed_relu import SmoothedRelu
from mvsim.multi_view.parameters import Parameters

ACTIVATIONS: dict[str, type[Activation]] = {cls.name: cls for cls in (SmoothedRelu, Identity)}


def activation_of(parameters: Parameters) -> Activation:
    """Return the activation of the model that the parameters are for."""
    return ACTIVATIONS[parameters.described.activation].of(parameters)


__all__ = ["ACTIVATIONS", "Activation", "Elementwise", "Identity", "SmoothedRelu", "activation_of"]
