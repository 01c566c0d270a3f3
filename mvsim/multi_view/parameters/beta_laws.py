"""Laws of the signal coefficients (Definition 4.1, item 2), for classes with two views and with any number V of them.

Definition 4.1 has two views. A law then lives on the unit interval and is symmetric about 1/2; a draw ``x`` becomes
``beta = delta1 + x (delta2 - 2 delta1)``, which lies in ``[delta1, delta2 - delta1]`` and is symmetric about ``delta2 / 2``; the other view has
``delta2 - beta``.

For V views the coefficients of paired patches are ``beta_l = delta1 + w_l (delta2 - V delta1)`` with shares w_l >= 0 that add up to 1: they are at
least delta1 and add up to delta2. The law of w is to be exchangeable, as symmetry says for two views, and to be the law of (x, 1 - x) for V = 2. The
Dirichlet law with all parameters a is both for x ~ Beta(a, a), and uniform on the simplex for a = 1. It is drawn by splitting what views
0 .. v - 1 have together, for v = V, ..., 2, into the part of views 0 .. v - 2 and the rest, which is that of view v - 1: the part is
Beta((v - 1) a, a), independent of everything else, because a Dirichlet vector is one of independent Gamma(a) variables over their sum, and
Gamma((v - 1) a) / (Gamma((v - 1) a) + Gamma(a)) does not depend on its denominator. The last split, v = 2, is x. A law says how parts
are drawn. For V = 1 there is nothing to split, and beta = delta2.

A `SeparateLaw` stands apart: it draws the coefficients of each view by themselves.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from mvsim.base.errors import UsageError
from mvsim.base.inputs import describe_invalid, joined

LEAST_SHAPE, LARGEST_SHAPE = 1e-6, 1e6
"""Of a beta law; beyond them draws are 0, 1 or 1/2 to within what matters, and the arithmetic that draws them overflows."""


class Law(BaseModel):
    """What every law offers."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            wrong = [describe_invalid(item, ".".join(str(part) for part in item["loc"])) for item in error.errors()]
            raise UsageError(f"{type(self).__name__}: {joined(wrong)}") from None

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # a law that stands in `mvsim.Parameters` is described there, with its place

    def serves(self, views: float) -> bool:
        """Whether the law says how that many views share."""
        return True

    @abstractmethod
    def largest_probability(self, share: float, views: int) -> float:
        """Return the largest probability with which the share of one view, of two or more, is in a set of Lebesgue measure ``share``."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, size: int, views: int = 2) -> np.ndarray:
        """Draw ``size`` parts in [0, 1], dimensionless: of what so many views have, the part of all but the last."""


class UniformLaw(Law):
    """Uniform on the whole interval, for V views on the simplex: the standard choice of the paper."""

    kind: Literal["uniform"] = "uniform"

    def largest_probability(self, share: float, views: int) -> float:
        # a share is Beta(1, V - 1), whose density falls from 0 on
        return 1.0 - (1.0 - share) ** (views - 1)

    def sample(self, rng: np.random.Generator, size: int, views: int = 2) -> np.ndarray:
        return rng.random(size) ** (1.0 / (views - 1))


class SymmetricBetaLaw(Law):
    """Beta(a, a) on the interval, for V views Dirichlet(a, ..., a): a -> 0 piles up at the ends, a = 1 is uniform, a -> infinity is constant."""

    kind: Literal["beta"] = "beta"
    a: Annotated[float, Field(description="shape parameter of Beta(a, a), from 1e-6 to 1e6")]

    @field_validator("a")
    @classmethod
    def _in_domain(cls, a: float) -> float:
        if not LEAST_SHAPE <= a <= LARGEST_SHAPE:
            allowed = f"must lie in [{LEAST_SHAPE:g}, {LARGEST_SHAPE:g}]"
            raise ValueError(f'{allowed}; beyond that use {{"kind": "discrete", "atoms": [0, 1]}} for small shapes and "atoms": [0.5] for large ones')
        return a

    def largest_probability(self, share: float, views: int) -> float:
        # A share is Beta(a, (V - 1) a). Its density is largest on an interval if a >= 1, else at the two ends. On a circle, where 0 and 1 are one
        # point, that is an interval, too: from x to x + share.
        from scipy.optimize import minimize_scalar
        from scipy.special import betainc

        a, b = self.a, (views - 1) * self.a

        def within(x: float) -> float:
            end = x + share
            return float(betainc(a, b, min(end, 1.0)) - betainc(a, b, x) + betainc(a, b, max(end - 1.0, 0.0)))

        low, high = (0.0, 1.0 - share) if self.a >= 1.0 else (1.0 - share, 1.0)
        middle = low + (high - low) / views  # the best for two views, by symmetry
        best = minimize_scalar(lambda x: -within(x), bounds=(low, high), method="bounded")
        return max(within(x) for x in (low, middle, high, float(best.x)))

    def sample(self, rng: np.random.Generator, size: int, views: int = 2) -> np.ndarray:
        return rng.beta((views - 1) * self.a, self.a, size)


class DiscreteLaw(Law):
    """Finitely many atoms, for two views: a control, because it is *not* anti-concentrated (one atom at 1/2 is a constant beta)."""

    kind: Literal["discrete"] = "discrete"
    atoms: Annotated[tuple[Annotated[float, Field(ge=0, le=1)], ...], Field(min_length=1)]
    probabilities: tuple[Annotated[float, Field(ge=0, le=1)], ...] | None = None

    @field_validator("atoms", "probabilities", mode="before")
    @classmethod
    def _nothing_masked(cls, values: Any) -> Any:
        if np.ma.is_masked(values):
            raise ValueError("must be numbers; some are masked")
        return values

    @model_validator(mode="after")
    def _check(self) -> DiscreteLaw:
        weights = self._weights()
        if len(weights) != len(self.atoms):
            raise ValueError(f"probabilities has {len(weights)} entries for {len(self.atoms)} atoms; give one per atom")
        if not math.isclose(sum(weights), 1.0, abs_tol=1e-9):
            raise ValueError(f"probabilities sum to {sum(weights):g}; they must sum to 1")
        mass: dict[float, float] = {}
        for atom, weight in zip(self.atoms, weights, strict=True):
            mass[round(atom, 12)] = mass.get(round(atom, 12), 0.0) + weight
        for atom, weight in mass.items():
            if not math.isclose(mass.get(round(1.0 - atom, 12), 0.0), weight, abs_tol=1e-9):
                raise ValueError(
                    f"atom {atom!r} has no mirror image {round(1 - atom, 12)!r} of equal probability; the law must be symmetric about 1/2"
                )
        return self

    def _weights(self) -> tuple[float, ...]:
        return self.probabilities if self.probabilities is not None else (1.0 / len(self.atoms),) * len(self.atoms)

    def serves(self, views: float) -> bool:
        return views == 2

    def largest_probability(self, share: float, views: int) -> float:
        return 1.0

    def sample(self, rng: np.random.Generator, size: int, views: int = 2) -> np.ndarray:
        return rng.choice(np.asarray(self.atoms), size=size, p=np.asarray(self._weights()))


class SeparateLaw(Law):
    """A law of its own for each view: its coefficients are uniform on an interval, independently of those of other views.

    This departs from Definition 4.1, in which the coefficients of paired patches add up to delta2: delta2 is not used, and delta1 only
    in thresholds of correlations, rho / delta1.
    """

    kind: Literal["separate"] = "separate"
    ranges: Annotated[
        tuple[tuple[Annotated[float, Field(ge=0, le=1e6)], Annotated[float, Field(ge=0, le=1e6)]], ...],
        Field(min_length=1, description="least and largest coefficient of each view; where they are equal it is constant"),
    ]

    @model_validator(mode="after")
    def _check(self) -> SeparateLaw:
        for low, high in self.ranges:
            if not low <= high or high == 0.0:
                raise ValueError(f"range [{low:g}, {high:g}]: must be 0 <= least <= largest, and largest > 0")
        return self

    def serves(self, views: float) -> bool:
        return views == len(self.ranges)

    def largest_probability(self, share: float, views: int) -> float:
        return max(1.0 if low == high else min(1.0, share / (high - low)) for low, high in self.ranges)

    def sample(self, rng: np.random.Generator, size: int, views: int = 2) -> np.ndarray:
        raise NotImplementedError("views do not share a sum; take `coefficients`")

    def coefficients(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Draw (V, ``size``) signal coefficients."""
        low, high = np.array(self.ranges).T[:, :, None]
        return low + (high - low) * rng.random((len(self.ranges), size))


BetaLaw = Annotated[UniformLaw | SymmetricBetaLaw | DiscreteLaw | SeparateLaw, Field(discriminator="kind")]
