"""A step of the proofs that is an identity or a lemma on its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mvsim.judging.verdict import Verdict


class Step(NamedTuple):
    """Its number in the paper, and the function that checks it."""

    number: str
    check: Callable[..., Verdict]

    def verdict(self, *arguments: Any, **options: Any) -> Verdict:
        """Return the verdict of the check, with the number."""
        return self.check(*arguments, **options).about(self.number)
