"""Every kind of case."""

from __future__ import annotations

import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from hypothesis import strategies as st

import mvsim
from fuzzing.breach import Breach, raised
from fuzzing.calls import calls
from fuzzing.configs import configs
from fuzzing.files import files
from fuzzing.laws import laws
from fuzzing.places import apart, mounted
from fuzzing.problems import problems
from fuzzing.words import words
from fuzzing.world import watched
from mvsim.flow import INTEGRATORS
from mvsim.multi_view.objectives import OBJECTIVES


class Case(Protocol):
    """Something to be tried in an empty folder."""

    def breaches(self, folder: Path) -> list[Breach]:
        """Try it and return what is wrong."""


@dataclass(frozen=True)
class Together:
    """Runs in several Python threads at once."""

    methods: tuple[str, ...]
    integrator: str

    def breaches(self, folder: Path) -> list[Breach]:
        found: list[Breach] = []

        def run(number: int) -> None:
            try:
                p = mvsim.Parameters(k=3, m=2, N=6)
                mvsim.simulate(p, self.methods[number], integrator=self.integrator, t_end=60.0, n_test=2, out=folder / f"{number}.nc", threads=1)
            except Exception as error:
                found.append(raised("an exception in a thread", error))

        with watched("runs in threads") as watch:
            threads = [threading.Thread(target=run, args=(number,)) for number in range(len(self.methods))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        return found + watch.breaches


def together() -> st.SearchStrategy[Together]:
    return st.builds(Together, st.lists(st.sampled_from(tuple(OBJECTIVES)), min_size=2, max_size=4).map(tuple), st.sampled_from(tuple(INTEGRATORS)))


KINDS: dict[str, tuple[st.SearchStrategy[Any], int]] = {
    "words": (words(), 20),
    "configs": (configs(), 10),
    "laws": (laws(), 10),
    "calls": (calls(), 15),
    "files": (files(), 4),
    "problems": (problems(), 5),
    "together": (together(), 1),
    "mounted": (mounted(), 4),
    "apart": (apart(), 1),
}
"""Strategy, and how many of its cases quick tests try."""


def tried(case: Case) -> list[Breach]:
    """Try a case in an empty folder, which is removed."""
    with tempfile.TemporaryDirectory() as folder:
        return case.breaches(Path(folder))


def warm_up() -> None:
    """Load and compile once: what libraries do to the process when they are imported is not the doing of a call."""
    p = mvsim.Parameters(k=3, m=2, N=6)
    for alpha in (8.0, 2.5):
        for method in OBJECTIVES:
            mvsim.simulate(p.replace(alpha=alpha), method, t_end=5.0, n_test=2)
            mvsim.simulate(p.replace(alpha=alpha, noise="patch", P=6), method, t_end=5.0, n_test=2, backend="numba")
