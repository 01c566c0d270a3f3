"""Laws of the signal coefficient beta (Definition 4.1, item 2).

Every law lives on the unit interval and is symmetric about 1/2; a draw ``x`` becomes
``beta = delta1 + x (delta2 - 2 delta1)``, which lies in ``[delta1, delta2 - delta1]`` and is symmetric about ``delta2 / 2``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from mvsim.errors import UsageError
from mvsim.inputs import describe_invalid, joined

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass as _ModelType
else:
    _ModelType = type(BaseModel)  # it has no public name

LEAST_SHAPE, LARGEST_SHAPE = 1e-6, 1e6
"""Of a beta law; beyond them draws are 0, 1 or 1/2 to within what matters, and the arithmetic that draws them overflows."""


class _LawType(_ModelType):
    """Says what is wrong with a law that is made by its name; one that stands in `mvsim.Parameters` is described there, with its place."""

    def __call__(self, *arguments: Any, **fields: Any) -> Any:
        try:
            return super().__call__(*arguments, **fields)
        except ValidationError as error:
            wrong = [describe_invalid(item, ".".join(str(part) for part in item["loc"])) for item in error.errors()]
            raise UsageError(f"{self.__name__}: {joined(wrong)}") from None


class _Law(BaseModel, metaclass=_LawType):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class UniformLaw(_Law):
    """Uniform on the whole interval: the standard choice of the paper."""

    kind: Literal["uniform"] = "uniform"

    def largest_probability(self, share: float) -> float:
        """Return the largest probability of a set that takes up ``share`` of the interval."""
        return share

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Draw ``size`` values in [0, 1], dimensionless."""
        return rng.random(size)


class SymmetricBetaLaw(_Law):
    """Beta(a, a) on the interval: a -> 0 piles up at the ends, a = 1 is uniform, a -> infinity is constant."""

    kind: Literal["beta"] = "beta"
    a: Annotated[float, Field(description="shape parameter of Beta(a, a), from 1e-6 to 1e6")]

    @field_validator("a")
    @classmethod
    def _in_domain(cls, a: float) -> float:
        if not LEAST_SHAPE <= a <= LARGEST_SHAPE:
            allowed = f"must lie in [{LEAST_SHAPE:g}, {LARGEST_SHAPE:g}]"
            raise ValueError(f'{allowed}; beyond that use {{"kind": "discrete", "atoms": [0, 1]}} for small shapes and "atoms": [0.5] for large ones')
        return a

    def largest_probability(self, share: float) -> float:
        """Return the largest probability of a set that takes up ``share`` of the interval: the middle if a >= 1, else the two ends."""
        from scipy.special import betainc

        if self.a >= 1.0:
            return float(1.0 - 2.0 * betainc(self.a, self.a, (1.0 - share) / 2.0))
        return float(2.0 * betainc(self.a, self.a, share / 2.0))

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Draw ``size`` values in [0, 1], dimensionless."""
        return rng.beta(self.a, self.a, size)


class DiscreteLaw(_Law):
    """Finitely many atoms: a control, because it is *not* anti-concentrated (one atom at 1/2 is a constant beta)."""

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
                raise ValueError(f"atom {atom:g} has no mirror image {1 - atom:g} of equal probability; the law must be symmetric about 1/2")
        return self

    def _weights(self) -> tuple[float, ...]:
        return self.probabilities if self.probabilities is not None else (1.0 / len(self.atoms),) * len(self.atoms)

    def largest_probability(self, share: float) -> float:
        """Return the largest probability of a set that takes up ``share`` of the interval: 1, the atoms."""
        return 1.0

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Draw ``size`` values in [0, 1], dimensionless."""
        return rng.choice(np.asarray(self.atoms), size=size, p=np.asarray(self._weights()))


BetaLaw = Annotated[UniformLaw | SymmetricBetaLaw | DiscreteLaw, Field(discriminator="kind")]
