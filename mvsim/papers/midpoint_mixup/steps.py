"""What a step of the proofs is: a calculation, a claim, or a part of one, checked on a run or on draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mvsim.judging.statement import Kind
from mvsim.judging.verdict import Verdict


class Step(NamedTuple):
    """A step of the proofs, or a part of one."""

    kind: Kind  # as the paper has them: "claim", "B.26"
    number: str
    check: Callable[..., Verdict]  # Evidence, or whatever its registry gives it -> Verdict; its docstring has the formula
    part: str = ""  # which part of it is checked; empty for all of it
    erm: bool = False  # whether it speaks of losses of single points, and of losses of mixed points
    mixing: bool = False
    # whether it has no hidden constant, so that it holds or is contradicted at one k; the others report the constant of an asymptotic statement
    decides: bool = False

    @property
    def title(self) -> str:
        """Its name in the paper: "Claim B.4"."""
        return f"{self.kind.capitalize()} {self.number}"

    @property
    def name(self) -> str:
        """The name of its verdict: "Claim B.4 (off-diagonal)"."""
        return f"{self.title} ({self.part})" if self.part else self.title

    @property
    def about(self) -> str:
        """Which losses it speaks of, if not of all."""
        return "" if self.erm == self.mixing else "losses of mixed points" if self.mixing else "losses of single points (ERM)"

    def applies(self, mixes: bool) -> bool:
        """Whether it speaks of a loss that mixes points, or of one that does not."""
        return self.mixing if mixes else self.erm

    def verdict(self, *arguments: Any, **options: Any) -> Verdict:
        """Return the verdict of the check, with what it is about."""
        return self.check(*arguments, **options).about(self.number, self.title)


def by_name(*steps: Step) -> dict[str, Step]:
    """Return steps by the names of their verdicts, in their order."""
    return {step.name: step for step in steps}
