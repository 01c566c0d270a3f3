"""What the operations are. An index is an array of integers, of which -1 stands for none."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any


class Places(ABC):
    """Some coordinates of vectors, none twice.

    Parameters
    ----------
    index : array
        (s,) integers.
    """

    def __init__(self, index: Any) -> None:
        self.index = index

    @abstractmethod
    def written(self, x: Any, values: Any) -> Any:
        """Return x (..., n) with values (..., s) at these coordinates; n is the same in every call."""

    @abstractmethod
    def among(self, number: float, values: Any, like: Any) -> Any:
        """Return a vector as long as another one (n,), of one number everywhere but at these coordinates, where values (s,) are."""


class Spread(ABC):
    """Sums of entries by where they belong.

    Parameters
    ----------
    index : array
        (t,) integers >= 0, where each entry belongs.
    count : int
        How many sums there are.
    """

    @abstractmethod
    def __init__(self, index: Any, count: int) -> None: ...

    @abstractmethod
    def __call__(self, values: Any) -> Any:
        """Return (..., count): the sums of values (..., t)."""


class Primitives(ABC):
    """The operations for arrays of some namespaces."""

    @abstractmethod
    def places(self, index: Any) -> Places:
        """Return the coordinates of an index (s,)."""

    @abstractmethod
    def spread(self, index: Any, count: int) -> Spread:
        """Return the sums by an index (t,)."""

    @abstractmethod
    def entries(self, x: Any, place: Any) -> Any:
        """Return the entries of x (..., n) at places of any shape, 0 where a place is -1."""

    @abstractmethod
    def lookup(self, index: Any, wanted: Any) -> Any:
        """Return where in an index (s,), none twice, each wanted integer (any shape) stands; -1 for those that it does not have, and for -1."""

    @abstractmethod
    def less_at(self, matrix: Any, index: Any, terms: Any) -> Any:
        """Return a matrix (a, a) less terms (B, e, e), each at the rows and columns that an index (B, e) names."""

    @abstractmethod
    def products(self, matrices: Any, x: Any) -> Any:
        """Return (..., B, p): the products of matrices (B, p, q) with x (..., B, q)."""

    @abstractmethod
    def transposed_products(self, matrices: Any, x: Any) -> Any:
        """Return (..., B, q): the products of the transposes of matrices (B, p, q) with x (..., B, p)."""

    @abstractmethod
    def solver(self, matrix: Any) -> Callable[[Any], Any]:
        """Return r (..., a) -> the solutions x of matrix x = r, for a matrix (a, a).

        Raises
        ------
        numpy.linalg.LinAlgError
            If it is singular to working precision; solutions that are not finite say the same.
        """

    @abstractmethod
    def least_squares(self, gram: Any, target: Any, rank: float) -> Any:
        """Return the shortest theta (p,) that minimises |gram theta - target|; eigenvalues of gram (p, p) below a part of the largest count as 0."""

    @abstractmethod
    def sums_by(self, label: Any, values: Any, count: int) -> Any:
        """Return (count,): the sums of values (n,) by their labels (n,)."""
