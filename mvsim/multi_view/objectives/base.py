"""What an objective is: a pointwise loss summed over a set of (mixed) points.

Conventions, fixed once for all objectives
    c, v, gradient    (k, m, k, V) float64, c[y, r, s, l] = <w_{y,r}, v_{s,l}>
    outputs           (k, N) float64, g_y(x_i) on the unmixed training points
    gradient          of the loss by c, not its negative. Since the features are orthonormal, entry [y, r, s, l] is also the correlation
                      <grad_{w_{y,r}} J, v_{s,l}> of the gradient in R^d, and the gradient has no other component.

Weight decay adds (b / 2) |W|^2 = (b / 2) (|c|^2 + |rest|^2), where rest is what W has orthogonal to the features. No point has a part there, so rest
does not enter outputs and decays by itself: as e^(-b t) under the flow, by 1 - eta b in a step of gradient descent. Correlations follow the loss
J(c) + (b / 2) |c|^2 exactly. They leave out the norm of rest, d - V k coordinates of each weight, and its part of the penalty.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from typing import Any, ClassVar

import numpy as np

from mvsim.base.errors import UsageError
from mvsim.base.inputs import check_not_negative, correlations_array
from mvsim.losses import CrossEntropy, Points, PointwiseLoss, SmoothedLabels, loss_name
from mvsim.multi_view.data import Dataset
from mvsim.multi_view.diagnostics import log_signal_strength
from mvsim.multi_view.kernels import check_device_memory, make_kernel, memory_of, usable_backend
from mvsim.multi_view.kernels.finite import check_finite, evaluating, finite_outputs
from mvsim.multi_view.kernels.sums import NeuronSum
from mvsim.multi_view.memory import bytes_of_objective, check_fits
from mvsim.multi_view.parameters import Deviation, Parameters
from mvsim.multi_view.thresholds import linear_from, stiff_from
from mvsim.numerics.arrow_matrix import Curvature
from mvsim.numerics.blas_threads import one_blas_thread
from mvsim.numerics.logarithms import logarithm

SELF_PAIRS = 0.1
"""Part of the early growth from which on pairs of a point with itself are named as a departure from large N."""


class Objective(ABC):
    """A loss of the correlations on one data set.

    Its methods refuse correlations that are not finite, and so large ones that double precision does not hold the result, with
    `mvsim.base.errors.NotFiniteError`.

    The constructor of a subclass with options of its own takes those of every objective as ``**common`` and hands them on.

    Its memory is used again and again, so one objective must not be evaluated by two Python threads at once; two objectives may.

    Parameters
    ----------
    parameters : Parameters
        m, alpha and rho are used; k must agree with the data.
    data : Dataset
        Any data set.
    backend : str
        One of `mvsim.multi_view.kernels.BACKENDS`: ``numba`` compiled, ``cupy`` on a GPU, ``array`` what runs there on NumPy, ``numpy`` the readable
        oracle, ``auto`` the fastest that is there.
    threads : int, optional
        Threads of the compiled kernel; default all cores available. The bits do not depend on it.
    loss : str or PointwiseLoss, optional
        A key of `mvsim.losses.LOSSES`, or a loss of your own, class or instance.
    weight_decay : float
        b >= 0 of the term (b / 2) |c|^2 of the loss.
    label_smoothing : float
        Mass of the uniform law in each label, from 0 to 1.

    Raises
    ------
    UsageError
        If the data do not fit the parameters or the backend is unknown; when it is first evaluated, if that does not fit in memory.
    """

    name: ClassVar[str]
    mixes: bool
    """Whether training points are mixed: decides the threshold of B_{y,l}."""

    def __init__(
        self,
        parameters: Parameters,
        data: Dataset,
        backend: str = "auto",
        threads: int | None = None,
        *,
        loss: str | PointwiseLoss | type[PointwiseLoss] = CrossEntropy.name,
        weight_decay: float = 0.0,
        label_smoothing: float = 0.0,
    ) -> None:
        if not isinstance(parameters, Parameters) or not isinstance(data, Dataset):
            raise UsageError("parameters, data: must be mvsim.Parameters and a data set, from mvsim.sample_dataset or mvsim.Dataset.from_patches")
        if data.k != parameters.k:
            raise UsageError(f"k={parameters.k}: the data have {data.k} classes; they must agree")
        if data.V != parameters.V:
            raise UsageError(f"V={parameters.V}: the data have {data.V} views of a class; they must agree")
        self.parameters = parameters
        self.data = data
        self.weight_decay = check_not_negative("weight_decay", weight_decay)
        self.label_smoothing = check_not_negative("label_smoothing", label_smoothing, most=1.0)
        unsmoothed: PointwiseLoss = loss_name(loss).loss
        self.pointwise = SmoothedLabels(unsmoothed, self.label_smoothing) if self.label_smoothing else unsmoothed
        self.kernel = make_kernel(parameters, data, backend, threads)
        self._backend, self._fits = usable_backend(backend), False

    @property
    @abstractmethod
    def points(self) -> tuple[tuple[float, Points], ...]:
        """The sets of points summed over, each with its weight."""

    @property
    def sums_all_pairs(self) -> bool:
        """Whether `points` are all pairs of training points, for which tables are kept."""
        return self.sums_all_pairs_with(self.options())

    @classmethod
    def mixes_with(cls, options: Mapping[str, Any]) -> bool:
        """Whether an objective with these options, as `options` gives them, mixes points."""
        return cls.mixes

    @classmethod
    def sums_all_pairs_with(cls, options: Mapping[str, Any]) -> bool:
        """Whether an objective with these options sums all pairs of training points."""
        return cls.mixes_with(options)

    def options(self) -> dict[str, Any]:
        """Return the options of this kind of objective in JSON types, for the provenance of a run."""
        return {}

    def regularisation(self) -> dict[str, float]:
        """Return weight decay and label smoothing, those that are not 0, for the provenance of a run."""
        return {name: value for name in ("weight_decay", "label_smoothing") if (value := getattr(self, name))}

    def caveats(self, c: np.ndarray) -> list[str]:
        """Return what a reader of results at c has to know about their accuracy, a sentence each."""
        return []

    def begin_step(self, step: int) -> None:  # noqa: B027 - most objectives are the same at every step
        """Prepare for step number ``step`` of gradient descent; an objective that draws its points afresh does so here."""

    @property
    def label(self) -> str:
        """The objective in a few words, with what distinguishes it from others of its name."""
        return self.name

    def with_neurons(self, m: int) -> Objective | None:
        """Return the same loss of a network with m neurons of each class, None if the kernel offers no other than its own."""
        kernel = self.kernel.with_neurons(m)
        if kernel is None:
            return None
        few = copy(self)
        few.kernel, few.parameters = kernel, self.parameters.model_copy(update={"m": m})
        return few

    def outputs(self, c: np.ndarray) -> np.ndarray:
        """Return (k, N): g_y(x_i) on the unmixed training points (Definition 4.2)."""
        return finite_outputs(self.kernel, self._checked(c))

    def loss(self, c: np.ndarray) -> float:
        """Return the loss, dimensionless."""
        c = self._ready(c)
        with evaluating():
            loss = sum(weight * self.kernel.loss(c, points, self.pointwise) for weight, points in self.points) + self._penalty(c)
        check_finite("the loss is", c, number=loss)
        return loss

    def gradient(self, c: np.ndarray) -> np.ndarray:
        """Return the gradient of the loss by c, (k, m, k, V)."""
        return self.loss_and_gradient(c)[1]

    def loss_and_gradient(self, c: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss and its gradient, at little more than the price of the gradient."""
        c = self._ready(c)
        loss, gradient = 0.0, np.zeros_like(c)
        with evaluating():
            for weight, points in self.points:
                value, slope = self.kernel.loss_and_gradient(c, points, self.pointwise)
                loss += weight * value
                gradient += weight * slope
            if self.weight_decay:
                loss += self._penalty(c)
                gradient += self.weight_decay * c
        check_finite("the loss and its gradient are", c, gradient, number=loss)
        return loss, gradient

    def _penalty(self, c: np.ndarray) -> float:
        return 0.5 * self.weight_decay * float(c.ravel() @ c.ravel()) if self.weight_decay else 0.0

    def of_neurons(self, c: np.ndarray, neurons: np.ndarray) -> NeuronSum:
        """Return the loss as a function of some neurons (k, E) of each class, none twice, while the others are those of c (k, m, k, V).

        It takes correlations (k, E, k V) of these neurons and returns the loss and its gradient by them. Where a class has fewer, -1 stands in their
        place: correlations there are ignored, and the gradient is 0. It serves until another one is asked for.
        """
        c, (y, e) = self._ready(c), np.nonzero(neurons >= 0)
        with evaluating():
            sums = [(weight, self.kernel.of_neurons(c, neurons, points, self.pointwise)) for weight, points in self.points]
            others = self._penalty(c) - self._penalty(c[y, neurons[y, e]])

        def loss_and_gradient(moving: np.ndarray) -> tuple[float, np.ndarray]:
            loss, gradient = 0.0, np.zeros_like(moving)
            with evaluating():
                for weight, of_neurons in sums:
                    value, slope = of_neurons(moving)
                    loss += weight * value
                    gradient += weight * slope
                if self.weight_decay:
                    loss += others + self._penalty(moving[y, e])
                    gradient[y, e] += self.weight_decay * moving[y, e]
            check_finite("the loss and its gradient are", moving, gradient, number=loss)
            return loss, gradient

        return loss_and_gradient

    def hessian_vector_product(self, c: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the derivative of the gradient at c along v, (k, m, k, V)."""
        c, v = self._ready(c), self._checked(v, "v")
        product = np.zeros_like(c)
        with evaluating():
            for weight, points in self.points:
                product += weight * self.kernel.hessian_vector_product(c, v, points, self.pointwise)
            if self.weight_decay:
                product += self.weight_decay * v
        check_finite(f"the derivatives of the gradient along v, largest |v| = {np.abs(v).max(initial=0.0):.3g}, are", c, product)
        return product

    def curvature(self, c: np.ndarray) -> Curvature | None:
        """Return the stiff part of the Hessian, the means to precondition implicit time-steppers; None if the kernel cannot tell it.

        It is told without weight decay alone: directions that the other part of the loss does not see count as null directions there.
        """
        c = self._checked(c)
        if self.weight_decay:
            return None
        escaped, known = self.escaped(c), []
        with one_blas_thread():
            for weight, points in self.points:
                part = self.kernel.curvature(c, points, self.pointwise, escaped)
                if part is None:
                    return None
                known.append((weight, part))
            return Curvature.mean(*zip(*known, strict=True))

    @property
    def has_escapes(self) -> bool:
        """Whether neurons have a threshold that they escape; those of a linear model have none."""
        return self.kernel.activation.escapes

    @property
    def linear_from(self) -> float:
        """The correlation from which on a feature with coefficient 1 is in the linear regime: see `mvsim.multi_view.thresholds`."""
        return linear_from(self.parameters, max(float(np.maximum(points.lam, 1.0 - points.lam).max()) for _, points in self.points))

    @property
    def escapes_at(self) -> float:
        """The own correlation at which a neuron escapes, `linear_from`; infinite where neurons have no threshold."""
        return self.linear_from if self.has_escapes else np.inf

    @property
    def stiff_from(self) -> float:
        """The own correlation from which on a neuron counts as stiff: see `mvsim.multi_view.thresholds`."""
        return stiff_from(self.linear_from, self.has_escapes)

    def escaped(self, c: np.ndarray, part: float = 1.0) -> np.ndarray:
        """Return (k, m): whether any correlation of each neuron is beyond a part of `stiff_from`: noise can carry others than the own ones so far."""
        return c.max(axis=(2, 3)) > part * self.stiff_from

    @property
    def fixed(self) -> bool:
        """Whether the loss is the same at every step."""
        return True

    def log_growth_rates(self) -> np.ndarray:
        """Return (k, V): log K_{y,l}, -inf where nothing grows.

        While outputs and noise are 0, own correlations grow by c' = K (c / rho)^(alpha - 1).

        A point of class y that is mixed with weight lam with one of another class pulls with a(lam), minus the derivative of the pointwise loss by
        g_y at outputs 0 for its soft label: of the cross-entropy lam - 1/k, as all softmax probabilities are 1/k. Over the pairs i != j the mean
        of 1[y_j = y] is n_y = (N_y - 1) / N and that of 1 is n = (N - 1) / N; for i = j the point is itself. So at one lam

            K_{y,l} = S_{y,l} [ lam^alpha (n_y a(1) + (n - n_y) a(lam)) + (1 - lam)^alpha (n_y a(1) + (n - n_y) a(1 - lam)) + a(1) / N ],

        and S_{y,l} a(1) on single points. The last summand is larger than the others together as long as N < 2^alpha, although only one
        pair in N contributes to it: mixing a point with anything else costs its features a factor 2^-alpha. Coinciding signal patches are
        neglected; they raise K, the more the larger V C_P / P.
        """
        others, themselves = self._pulls()
        return log_signal_strength(self.parameters, self.data) + logarithm(others + themselves)

    def deviations(self) -> list[Deviation]:
        """Name another loss than the cross-entropy, and pairs of a point with itself if they matter: for the theorems N is large enough."""
        added = [
            Deviation(name, f"{value:g}", "0", f"{name.replace('_', ' ')} {value:g}: the training loss is not that of the theorems")
            for name, value in self.regularisation().items()
        ]
        if added:
            return added
        if type(self.pointwise) is not CrossEntropy:
            name = self.pointwise.name
            return [Deviation("loss", name, CrossEntropy.name, f"the loss is {name}, not the cross-entropy of the theorems")]
        if not self.mixes:
            return []
        others, themselves = self._pulls()
        share = float(np.median((themselves / (np.maximum(others, 0.0) + themselves))[np.bincount(self.data.labels, minlength=self.data.k) > 0]))
        if share < SELF_PAIRS:
            return []
        N = self.data.N
        statement = f"N = {N}: pairs of a point with itself make {100.0 * share:.0f} % of the early growth, 0 for N -> infinity"
        return [Deviation("N", str(N), "sufficiently large", statement)]

    def _pulls(self) -> tuple[np.ndarray, float]:
        """Return (k, 1) and a number, which add up to K / S of `log_growth_rates`: the latter is what pairs of a point with itself contribute.

        A point of a set that does not mix is no such pair, though its pull is the same.
        """
        p, N = self.parameters, self.data.N
        n_y = np.maximum(np.bincount(self.data.labels, minlength=p.k)[:, None] - 1.0, 0.0) / N
        n, alone = (N - 1.0) / N, self._pull(np.ones(1))
        others, themselves = np.zeros((p.k, 1)), 0.0
        for weight, points in self.points:
            single = weight * float(alone[0]) / points.per_single(N)
            if points.mixes:
                themselves += single
            else:
                others += single
            for lam in points.partners:
                others += weight * (lam**p.alpha * (n_y * alone + (n - n_y) * self._pull(lam))).mean(axis=1, keepdims=True)
        return others, themselves

    def _pull(self, lam: np.ndarray) -> np.ndarray:
        """Return a(lam), the shape of lam (n,): minus the derivative of the loss by the first output, for labels lam and 1 - lam at outputs 0."""
        targets = np.zeros((self.parameters.k, len(lam)))
        targets[:2] = lam, 1.0 - lam
        return -self.pointwise.residual(np.zeros_like(targets), targets)[0]

    def describe(self) -> str:
        """Say in words which algorithm computes this objective."""
        return "; ".join(dict.fromkeys(self.kernel.describe(points) for _, points in self.points))

    def _ready(self, c: np.ndarray) -> np.ndarray:
        """Return c, checked, and make sure before the first evaluation that it fits in memory."""
        c = self._checked(c)
        if not self._fits:
            sized, mixes, backend = self.data.sized(self.parameters), self.sums_all_pairs, self._backend
            check_device_memory(sized, mixes, backend)
            check_fits(sized, lambda p: bytes_of_objective(p, mixes, memory_of(p, backend)), " for the objective")
            self._fits = True
        return c

    def _checked(self, c: np.ndarray, name: str = "c") -> np.ndarray:
        return correlations_array(name, c, self.parameters.correlations_shape)
