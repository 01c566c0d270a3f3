"""Which fields contradict each other, among those that are right by themselves."""

from __future__ import annotations

import math
from typing import Any

from mvsim.multi_view.parameters.beta_laws import Law, SeparateLaw
from mvsim.multi_view.parameters.models import model_named
from mvsim.multi_view.parameters.numbers import usable_number


def contradictions(values: dict[str, Any]) -> list[str]:
    """Say which fields contradict each other, among those that are right by themselves."""
    numbers = {name: read for name, value in values.items() if (read := usable_number(value, least=-math.inf)) is not None}
    noise, law = values.get("noise", "codebook"), values.get("beta_law")
    V, model = numbers.get("V", 2.0), model_named(values.get("model"))
    wrong = model.contradictions(values)
    if wrong:  # what does not belong there contradicts the rest as well
        return wrong

    def have(*names: str) -> bool:
        return all(name in numbers for name in names)

    if have("P", "C_P") and not model.joined and numbers["P"] < V * numbers["C_P"]:
        wrong.append(f"P={numbers['P']:g}: must be at least {V:g} C_P = {V * numbers['C_P']:g}, the signal patches of a point")
    if have("d", "k") and numbers["d"] < V * numbers["k"]:
        features = "k" if V == 1.0 else f"{V:g} k"
        wrong.append(
            f"d={numbers['d']:g}: must be at least {features} = {V * numbers['k']:g}, or the {features} orthonormal features do not fit into R^d"
        )
    if have("Q", "k") and numbers["Q"] >= numbers["k"]:
        wrong.append(f"Q={numbers['Q']:g}: must be less than k = {numbers['k']:g}, because the own class is never in the noise")
    elif have("Q", "k") and noise == "codebook":
        least = math.ceil(numbers["k"] / (numbers["k"] - numbers["Q"]))
        if usable_number(values.get("G", 25), least=1) is not None and float(values.get("G", 25)) < least:
            wrong.append(f"G={values['G']}: at least {least} patterns are needed so that every class has one without its own features")
    if have("delta1", "delta2") and V * numbers["delta1"] > numbers["delta2"]:
        part = numbers["delta2"] / V
        wrong.append(f"delta1={numbers['delta1']:g}: must be at most delta2 / {V:g} = {part:g}, as {V:g} coefficients add up to delta2")
    if have("delta3", "delta4") and numbers["delta3"] > numbers["delta4"]:
        wrong.append(f"delta3={numbers['delta3']:g}: must be at most delta4 = {numbers['delta4']:g}")
    if have("k") and isinstance(law, (list, tuple)) and len(law) != numbers["k"]:
        wrong.append(f"beta_law has {len(law)} entries: give one law, or one for each of the k = {numbers['k']:g} classes")
    laws = [one for one in (law if isinstance(law, (list, tuple)) else (law,)) if isinstance(one, Law)]
    separate = [one for one in laws if isinstance(one, SeparateLaw)]
    if separate and len(separate) < len(laws):
        wrong.append("beta_law: give every class a separate law of its views, or none")
    elif separate and not all(one.serves(V) for one in laws):
        wrong.append(f"V={V:g}: a separate law of beta has a range for each view; give {V:g} of them")
    elif not all(one.serves(V) for one in laws):
        wrong.append(f"V={V:g}: a law of beta with atoms says how two views share delta2, so it needs V=2; take a uniform or a beta law")
    return wrong
