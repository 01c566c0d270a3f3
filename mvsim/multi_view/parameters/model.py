"""Hyper-parameters of Definitions 4.1 and 4.2, with their letters, domains and the scalings of Assumption 4.3."""

from __future__ import annotations

import math
from typing import Any

from pydantic import ValidationError

from mvsim.base.echo import shortened
from mvsim.base.errors import UsageError
from mvsim.base.html import fragment
from mvsim.base.inputs import check_integer, check_kind, describe_invalid, joined
from mvsim.multi_view.parameters.beta_laws import Law, SeparateLaw
from mvsim.multi_view.parameters.defaults import literal, with_defaults
from mvsim.multi_view.parameters.fields import Fields
from mvsim.multi_view.parameters.models import model_named
from mvsim.multi_view.parameters.numbers import MOST_CLASSES, usable_number
from mvsim.multi_view.parameters.regime import Deviation, deviations_of


class Parameters(Fields):
    """Hyper-parameters of the data (Definition 4.1 or 3.1), the network (Definition 4.2) and their scalings (Assumption 4.3).

    Frozen and validated; every quantity is dimensionless. Only ``k`` is required: the other defaults follow the scalings of Assumption 4.3
    in k, with constants chosen by measurement, except d, for which k^20 is replaced by the d that makes the largest initial correlation
    about 0.34 k^-0.22 of the activation threshold (`deviations` says so for every run). `assumption_4_3` gives the literal assumption.

    Raises
    ------
    UsageError
        If any field is out of its domain; the message names the first wrong fields and says how many more there are.

    Examples
    --------
    >>> p = Parameters(k=10)
    >>> p.P, p.m, p.C_P
    (1200, 10, 2)
    >>> p.replace(d=20_000).d
    20000
    """

    def __init__(self, **fields: Any) -> None:
        filled, wrong, bad = with_defaults(fields), [], set()
        try:
            super().__init__(**filled)
            filled = dict(self)
        except ValidationError as error:
            wrong = [_describe(item) for item in error.errors()]
            bad = {str(item["loc"][0]) for item in error.errors() if item["loc"]}
        wrong += contradictions({name: value for name, value in filled.items() if name not in bad})
        if wrong:
            raise UsageError(joined(wrong))

    def _repr_html_(self) -> str:
        """Return what a notebook shows: a row for each field, and whether it is the default of this k and model."""
        usual = Parameters(k=self.k, model=self.model)
        rows = [
            (name, getattr(self, name), "" if getattr(self, name) == getattr(usual, name) else "not the default", field.description or "")
            for name, field in type(self).model_fields.items()
        ]
        return fragment("Parameters", rows, ("name", "value", "", "meaning"))

    def replace(self, **fields: Any) -> Parameters:
        """Return a copy with some fields changed, validated again; fields not named keep their present values."""
        return Parameters(**{**self.model_dump(), **fields})

    @classmethod
    def assumption_4_3(cls, k: int, **fields: Any) -> Parameters:
        """Return the literal Assumption 4.3 with every hidden constant 1: d = k^20, P = k^2, delta3 = delta4 = k^-1.5, rho = 1/k, alpha = 8.

        C_P = 2, Q = 2 (1 if k = 2), delta1 = 0.1 and delta2 = 1 are constants as assumed, N = max(400, 6 k^1.5),
        G = max(25, k + 5). Any field can be overridden.
        """
        k = check_integer("k", k, 2, most=MOST_CLASSES)
        return cls(**{"k": k, **literal(k, fields), **fields})

    @classmethod
    def literal(cls, **fields: Any) -> Parameters:
        """Return the defaults with d = k^20 exactly, as Assumption 4.3 has it; ``k`` is required, any field can be overridden."""
        k = usable_number(fields.get("k"), least=2)
        return cls(**({} if k is None or k > MOST_CLASSES else {"d": int(k) ** 20}) | fields)

    def deviations(self) -> list[Deviation]:
        """List the ways in which these parameters depart from what is assumed of their model; see `mvsim.multi_view.parameters.regime`."""
        return deviations_of(self)


def check_parameters(value: Any) -> Parameters:
    """Return ``value`` if it is `Parameters`, or raise `UsageError`."""
    parameters: Parameters = check_kind("parameters", value, Parameters, "mvsim.Parameters(...)")
    return parameters


def _describe(item: Any) -> str:
    tags = {"one law", "one law per class", "uniform", "beta", "discrete"}
    path = ".".join(str(part) for part in item["loc"] if part not in tags)
    field = Parameters.model_fields.get(str(item["loc"][0])) if item["loc"] else None
    if item["type"] == "missing" and field and len(item["loc"]) == 1:
        return f"{path}: is required, the {field.description}"
    if item["type"] == "extra_forbidden" and field is None:
        return f"{shortened(path)}: is not a parameter; the parameters are {', '.join(Parameters.model_fields)}"
    return describe_invalid(item, path)


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
