"""The regime of a run: the ways in which it departs from what the theorems assume."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mvsim.parameters.model import Parameters


@dataclass(frozen=True)
class Deviation:
    """One way in which a run departs from what the theorems assume: by its parameters, its objective or its integrator.

    Attributes
    ----------
    name : str
        Name of what departs, in general the letter of a parameter.
    value : str
        Its value here.
    assumed : str
        What the theorems ask for.
    statement : str
        The departure in words, with the constant that Theta hides.
    """

    name: str
    value: str
    assumed: str
    statement: str

    def as_dict(self) -> dict[str, str]:
        """Return the four fields as a plain dict."""
        return asdict(self)


def assumption_of(problems: Iterable[Parameters]) -> str:
    """Return what the regime of these problems is compared with, in words: that of each model among them once."""
    return " and ".join(dict.fromkeys(parameters.described.assumption for parameters in problems))


def regime_word(regime: Iterable[Deviation]) -> str:
    """Return the regime in a word: "literal", or "scaled" and in how many ways."""
    count = len(list(regime))
    return "literal" if not count else f"scaled (it departs from what the theorems assume in {count} way{'s' if count > 1 else ''})"


def regime_label(regime: Iterable[Deviation]) -> str:
    """Return the regime in a few words: "literal", or what is scaled, by name."""
    names = list(dict.fromkeys(deviation.name for deviation in regime))
    return f"scaled: {', '.join(names)}" if names else "literal"
