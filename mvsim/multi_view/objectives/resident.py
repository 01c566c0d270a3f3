"""A loss on arrays that stay where its kernel computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mvsim.multi_view.kernels.finite import check_finite
from mvsim.multi_view.kernels.sums import NeuronSum
from mvsim.numerics.arrow_matrix import Curvature
from mvsim.numerics.namespaces import namespace_of

if TYPE_CHECKING:
    from mvsim.multi_view.objectives.base import Objective


class Resident:
    """The loss as a function of correlations on the device of the kernel; results are there too, and only numbers leave it.

    It is what integrators and the checked methods of `Objective` call. Correlations are taken as they come; results that are not finite raise
    `mvsim.base.errors.NotFiniteError`.

    Parameters
    ----------
    objective : Objective
        Whose loss, which says what is summed, and with which weights.

    Attributes
    ----------
    device : Device
        Where arrays are.
    """

    def __init__(self, objective: Objective) -> None:
        self._of, self._kernel = objective, objective.kernel
        self.device = self._kernel.device

    def outputs(self, c: Any) -> Any:
        """Return (k, N): g_y(x_i) on the unmixed training points."""
        with np.errstate(over="ignore", invalid="ignore"):  # what is wrong is said below
            outputs = self._kernel.outputs_on_data(c)
        check_finite("the outputs are", c, outputs)
        return outputs

    def loss(self, c: Any) -> float:
        """Return the loss."""
        with np.errstate(over="ignore", invalid="ignore"):  # what is wrong is said below
            loss = sum(weight * self._kernel.loss(c, points, self._of.pointwise) for weight, points in self._of.points)
        check_finite("the loss is", c, number=loss)
        return loss

    def loss_and_gradient(self, c: Any) -> tuple[float, Any]:
        """Return the loss and its gradient, the shape of c."""
        loss, gradient = 0.0, namespace_of(c).zeros_like(c)
        with np.errstate(over="ignore", invalid="ignore"):  # what is wrong is said below
            for weight, points in self._of.points:
                value, slope = self._kernel.loss_and_gradient(c, points, self._of.pointwise)
                loss += weight * value
                gradient += weight * slope
        check_finite("the loss and its gradient are", c, gradient, number=loss)
        return loss, gradient

    def of_neurons(self, c: Any, neurons: Any) -> NeuronSum:
        """Return the loss as a function of some neurons (k, E) alone, see `Objective.of_neurons`; what is not finite is returned."""
        sums = [(weight, self._kernel.of_neurons(c, neurons, points, self._of.pointwise)) for weight, points in self._of.points]

        def loss_and_gradient(moving: Any) -> tuple[float, Any]:
            loss, gradient = 0.0, namespace_of(moving).zeros_like(moving)
            with np.errstate(over="ignore", invalid="ignore"):  # what is wrong is said by whoever asks
                for weight, of_neurons in sums:
                    value, slope = of_neurons(moving)
                    loss += weight * value
                    gradient += weight * slope
            return loss, gradient

        return loss_and_gradient

    def hessian_vector_product(self, c: Any, v: Any) -> Any:
        """Return the derivative of the gradient at c along v."""
        product = namespace_of(c).zeros_like(c)
        with np.errstate(over="ignore", invalid="ignore"):  # what is wrong is said below
            for weight, points in self._of.points:
                product += weight * self._kernel.hessian_vector_product(c, v, points, self._of.pointwise)
        check_finite("the derivatives of the gradient are", c, product)
        return product

    def escaped(self, c: Any, part: float = 1.0) -> Any:
        """Return (k, m): which neurons have escaped, see `Objective.escaped`."""
        return namespace_of(c).max(c, axis=(2, 3)) > part * self._of.stiff_from

    def curvature(self, c: Any) -> Curvature | None:
        """Return the stiff part of the Hessian; None if the kernel cannot tell it."""
        escaped = self.escaped(c)
        parts = [self._kernel.curvature(c, points, self._of.pointwise, escaped) for _, points in self._of.points]
        known = [part.with_arrays(self.device.fetch) for part in parts if part is not None]
        return Curvature.mean([weight for weight, _ in self._of.points], known) if len(known) == len(parts) else None
