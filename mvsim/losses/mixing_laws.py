"""Laws of the mixing weight lambda, and their quadrature.

Over all ordered pairs, (i, j) at lambda and (j, i) at 1 - lambda are the same mixed point with the same soft label, so

    sum_{i,j} E f(i, j, lambda) = sum_{i,j} E f(i, j, max(lambda, 1 - lambda)),

and every law may be folded onto [1/2, 1]: nodes that are mirror images of each other become one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from mvsim.base.echo import echo, shortened
from mvsim.base.errors import UsageError
from mvsim.base.inputs import check_integer
from mvsim.losses.beta_quadrature import beta_quadrature

DEFAULT_NODES = 16
MOST_NODES = 1000
LAWS = 'a number, {"distribution": NAME, "args": [...]} with a name from scipy.stats, or {"atoms": [...], "probabilities": [...]}'
"""What `law_from` reads."""


def law_from(value: Any, nodes: int = DEFAULT_NODES) -> MixingLaw:
    """Make a law from a number, a frozen scipy.stats distribution, or the plain form that `MixingLaw.plain` gives; raise `UsageError` for others."""
    if isinstance(value, str):  # from a command line
        try:
            value = float(value)
        except ValueError:
            raise UsageError(f"mixing={echo(value)}: must be {LAWS}") from None
    if not isinstance(value, Mapping):
        return MixingLaw(value, nodes)
    import scipy.stats

    try:
        if set(value) == {"atoms", "probabilities"}:
            if np.ndim(value["atoms"]) != 1 or np.shape(value["atoms"]) != np.shape(value["probabilities"]):
                raise UsageError(f"mixing={echo(dict(value))}: atoms and probabilities must be lists of the same length; must be {LAWS}")
            return MixingLaw(scipy.stats.rv_discrete(values=(value["atoms"], value["probabilities"])), nodes)
        if "distribution" not in value or set(value) - {"distribution", "args", "kwds"}:
            raise UsageError(f"mixing={echo(dict(value))}: must be {LAWS}")
        name = str(value["distribution"])
        if not isinstance(getattr(scipy.stats, name, None), (scipy.stats.rv_continuous, scipy.stats.rv_discrete)):
            raise UsageError(f"mixing={echo(dict(value))}: scipy.stats has no distribution of that name; must be {LAWS}")
        return MixingLaw(_frozen(name, tuple(value.get("args", ())), **value.get("kwds", {})), nodes)
    except UsageError:
        raise
    except (TypeError, ValueError, OverflowError) as error:  # the last of integers that are no doubles
        raise UsageError(f"mixing={echo(dict(value))}: {shortened(' '.join(str(error).split()))}; must be {LAWS}") from None


@lru_cache(maxsize=64)  # scipy writes the documentation of each anew
def _frozen(name: str, args: tuple[float, ...], /, **kwds: float) -> Any:
    import scipy.stats

    return getattr(scipy.stats, name)(*args, **kwds)


@dataclass(frozen=True)
class MixingLaw:
    """A law of lambda on [0, 1], by quadrature and by drawing from it."""

    distribution: Any  # A float is a point mass
    nodes: int = DEFAULT_NODES  # Quadrature nodes of a continuous law

    def __post_init__(self) -> None:
        check_integer("nodes", self.nodes, 1, most=MOST_NODES)
        if self._is_point:
            if not 0.0 <= self.distribution <= 1.0:
                raise UsageError(f"mixing={echo(self.distribution)}: a point mass must lie in [0, 1]")
            return
        if not hasattr(self.distribution, "support") or not hasattr(self.distribution, "ppf"):
            allowed = "a number in [0, 1] or a frozen scipy.stats distribution, e.g. scipy.stats.beta(1, 1)"
            raise UsageError(f"mixing={echo(self.distribution)}: must be {allowed}")
        try:
            low, high = (float(end) for end in self.distribution.support())
            self.describe(), self.plain()
        except (TypeError, ValueError, OverflowError, AttributeError):  # not frozen, with arrays for arguments, or not of scipy.stats after all
            allowed = "a frozen distribution of scipy.stats with numbers for arguments, e.g. scipy.stats.beta(1, 1)"
            raise UsageError(f"mixing: must be a number in [0, 1] or {allowed}") from None
        if not (math.isfinite(low) and math.isfinite(high)):
            raise UsageError(f"mixing={self.describe()}: has support [{low:g}, {high:g}]; it must lie in [0, 1], and its arguments must be legal")
        if not (low >= 0.0 and high <= 1.0):
            raise UsageError(f"mixing: the distribution has support [{low:g}, {high:g}]; it must lie in [0, 1]")

    @property
    def _is_point(self) -> bool:
        return isinstance(self.distribution, (int, float, np.integer, np.floating)) and not isinstance(self.distribution, bool)

    @property
    def needs_quadrature(self) -> bool:
        """Whether the law is continuous: a point mass and a discrete law are summed exactly."""
        return not self._is_point and not hasattr(self.distribution, "pmf")

    def describe(self) -> str:
        """Return the law in words."""
        if self._is_point:
            return f"point mass at {float(self.distribution):g}"
        if hasattr(self.distribution, "xk"):
            return f"atoms {', '.join(f'{x:g}' for x in self.distribution.xk)}"
        name = getattr(getattr(self.distribution, "dist", None), "name", type(self.distribution).__name__)
        arguments = [f"{a:g}" for a in getattr(self.distribution, "args", ())]
        arguments += [f"{key}={value:g}" for key, value in getattr(self.distribution, "kwds", {}).items()]
        return f"{name}({', '.join(arguments)})"

    def plain(self) -> Any:
        """Return the law in JSON types, for `law_from`."""
        if self._is_point:
            return float(self.distribution)
        if hasattr(self.distribution, "xk"):
            return {"atoms": [float(x) for x in self.distribution.xk], "probabilities": [float(p) for p in self.distribution.pk]}
        kwds = {key: float(value) for key, value in self.distribution.kwds.items()}
        return {"distribution": self.distribution.dist.name, "args": [float(a) for a in self.distribution.args], "kwds": kwds}

    def folded_quadrature(self, nodes: int | None = None) -> list[tuple[float, float]]:
        """Return (lambda, weight) with lambda in [1/2, 1], weights summing to 1, such that E f = sum weight f(lambda) up to the quadrature error.

        A point mass and a discrete law are exact. Beta(a, b) is integrated by Gauss-Jacobi quadrature
        (`mvsim.losses.beta_quadrature`). Any other law is integrated by
        Gauss-Legendre quadrature over its quantiles, E f(lambda) = int_0^1 f(ppf(u)) du. The loss has only as many derivatives in
        lambda as the activation in z, so the error falls algebraically with the number of nodes.
        """
        lambdas, weights = self._quadrature(self.nodes if nodes is None else nodes)
        folded: dict[float, float] = {}
        for lam, weight in zip(np.maximum(lambdas, 1.0 - lambdas), weights, strict=True):
            # Mirror images agree to round-off only, and 1/2 must be 1/2 for the pairs to be known as symmetric.
            key = next((known for known in (0.5, *folded) if abs(known - lam) <= 1e-13), float(lam))
            folded[key] = folded.get(key, 0.0) + float(weight)
        return sorted(folded.items())

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Draw ``size`` values of lambda."""
        if self._is_point:
            return np.full(size, float(self.distribution))
        return np.asarray(self.distribution.rvs(size=size, random_state=rng), dtype=np.float64)

    def _quadrature(self, nodes: int) -> tuple[np.ndarray, np.ndarray]:
        if self._is_point:
            return np.array([float(self.distribution)]), np.ones(1)
        if hasattr(self.distribution, "pmf"):
            low, high = self.distribution.support()
            atoms = np.asarray(getattr(self.distribution, "xk", np.arange(low, high + 1)), dtype=np.float64)
            weights = self.distribution.pmf(atoms)
            if not math.isclose(weights.sum(), 1.0, rel_tol=1e-9):
                raise UsageError(f"mixing={self.describe()}: its atoms cannot be listed; use scipy.stats.rv_discrete(values=...)")
            return atoms, weights
        name = getattr(getattr(self.distribution, "dist", None), "name", "")
        if name == "beta" and self.distribution.support() == (0.0, 1.0):
            a, b = _beta_shapes(self.distribution)
            if not (1e-6 <= a <= 1e6 and 1e-6 <= b <= 1e6):
                raise UsageError(f"mixing={self.describe()}: the shapes must lie in [1e-6, 1e6]; use a point mass or atoms beyond that")
            return beta_quadrature(a, b, nodes)
        x, weights = np.polynomial.legendre.leggauss(nodes)
        return np.asarray(self.distribution.ppf((x + 1.0) / 2.0)), weights / 2.0


def _beta_shapes(frozen: Any) -> tuple[float, float]:
    shapes, _, _ = frozen.dist._parse_args(*frozen.args, **frozen.kwds)
    return float(shapes[0]), float(shapes[1])
