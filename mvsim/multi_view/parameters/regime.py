"""The regime of a run: the ways in which it departs from what the theorems assume."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from mvsim.multi_view.parameters.fields import Fields


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


def assumption_of(problems: Iterable[Fields]) -> str:
    """Return what the regime of these problems is compared with, in words: that of each model among them once."""
    return " and ".join(dict.fromkeys(parameters.described.assumption for parameters in problems))


GIVEN = "data"
"""Name of the deviation of points that were given."""


def given_points(assumption: str) -> Deviation:
    """Return how points that were given depart from the ``assumption`` on the data: nothing is known of their law."""
    statement = "the points were given, and nothing is known of their law; learned features are tested on draws of the parameters' own distribution"
    return Deviation(GIVEN, "given", assumption, statement)


def regime_word(regime: Iterable[Deviation]) -> str:
    """Return the regime in a word: "literal", "scaled" and in how many ways, or what departs although d is literal."""
    names = [deviation.name for deviation in regime]
    if not names:
        return "literal"
    if GIVEN in names:
        return "given points, about which no theorem speaks; learned features are tested on draws of the parameters' own distribution"
    if "d" not in names:
        return f"as the theorems assume but for {', '.join(dict.fromkeys(names))}"
    return f"scaled (it departs from what the theorems assume in {len(names)} way{'s' if len(names) > 1 else ''})"


def regime_label(regime: Iterable[Deviation]) -> str:
    """Return the regime in a few words: "literal", or what departs, by name."""
    names = list(dict.fromkeys(deviation.name for deviation in regime))
    return f"{'scaled' if 'd' in names else 'literal d, departs in'}: {', '.join(names)}" if names else "literal"
