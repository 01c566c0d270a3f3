"""Hyper-parameters, the laws among them, their defaults, and the regime that they are in."""

from mvsim.multi_view.parameters.defaults import default_r0, dimension
from mvsim.multi_view.parameters.model import Parameters, check_parameters
from mvsim.multi_view.parameters.regime import Deviation, assumption_of, regime_label, regime_word

__all__ = ["Deviation", "Parameters", "assumption_of", "check_parameters", "default_r0", "dimension", "regime_label", "regime_word"]
