"""What there is to know about a kernel before it is made, in one entry for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mvsim.data import Dataset
from mvsim.kernels.kernel import Kernel
from mvsim.kernels.needs import Needs, NeedsOfTest
from mvsim.parameters import Parameters


@dataclass(frozen=True)
class KernelEntry:
    """One kernel.

    Attributes
    ----------
    backend : str
        The backend it belongs to, as users name it.
    compiled : bool
        Whether it must be compiled.
    serves : callable
        Whether it takes a data set.
    serves_draws : callable
        Whether it takes what `mvsim.sample_dataset` draws with these parameters.
    needs : callable
        (parameters, mixes) -> the memory that it takes for a run.
    needs_of_test : callable
        (parameters, points) -> the memory that it takes for outputs on that many fresh draws with each view alone.
    load : callable
        Returns the class, which is imported only then.
    """

    backend: str
    compiled: bool
    serves: Callable[[Dataset], bool]
    serves_draws: Callable[[Parameters], bool]
    needs: Callable[[Parameters, bool], Needs]
    needs_of_test: Callable[[Parameters, int], NeedsOfTest]
    load: Callable[[], type[Kernel]]
