"""Hyper-parameters of Definitions 4.1 and 4.2, with their letters, domains and the scalings of Assumption 4.3."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError

from mvsim.checks import describe_invalid, joined
from mvsim.echo import echo, shortened
from mvsim.errors import UsageError
from mvsim.laws import BetaLaw, UniformLaw

DEFAULT_R0 = 0.3
"""r0 = sqrt(2 ln m / d) / rho at the default d, dimensionless: the leading-order size of max_r c[y, r, y, l] over the threshold.

Measured with it: at k = 10 ERM leaves one feature of nearly every class unlearned, at k = 50 about a tenth of the classes learn both; a smaller
r0 separates better and takes longer, in proportion to r0^-(alpha - 2).
"""


@dataclass(frozen=True)
class Deviation:
    """One way in which parameters depart from Assumption 4.3 or Definition 4.1.

    Attributes
    ----------
    name : str
        Letter of the parameter.
    value : str
        Its value here.
    assumed : str
        What the assumption asks for.
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


def default_dimension(m: int, rho: float) -> int:
    """Return the d at which r0 = sqrt(2 ln m / d) / rho equals `DEFAULT_R0` (m = 1 counts as 2)."""
    return max(1, math.ceil(2.0 * math.log(max(m, 2)) / (DEFAULT_R0 * rho) ** 2))


_MOST_CLASSES = 10**6
_MOST = 10**9
"""Larger counts are slips of the pen: nothing of that size fits anywhere, and its arithmetic overflows."""


def _one_law_or_many(value: Any) -> str:
    return "one law per class" if isinstance(value, (list, tuple)) else "one law"


_BetaLaws = Annotated[
    Annotated[BetaLaw, Tag("one law")] | Annotated[tuple[BetaLaw, ...], Tag("one law per class")],
    Discriminator(_one_law_or_many),
]


class Parameters(BaseModel):
    """Hyper-parameters of the data (Definition 4.1), the network (Definition 4.2) and their scalings (Assumption 4.3).

    Frozen and validated; every quantity is dimensionless. Only ``k`` is required: the other defaults follow the scalings of Assumption 4.3
    in k, with constants chosen by measurement, except d, for which k^20 is replaced by the d that makes the largest initial correlation
    about 0.3 of the activation threshold (`deviations` says so for every run). `assumption_4_3` gives the literal assumption.

    Raises
    ------
    UsageError
        If any field is out of its domain; the message names the first wrong fields and says how many more there are.

    Examples
    --------
    >>> p = Parameters(k=10)
    >>> p.P, p.m, p.C_P
    (100, 10, 2)
    >>> p.replace(d=20_000).d
    20000
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=False, revalidate_instances="always")

    k: Annotated[int, Field(ge=2, le=_MOST_CLASSES, description="number of classes")]
    m: Annotated[int, Field(ge=1, le=_MOST, description="neurons per class; assumed Theta(k); default k")]
    d: Annotated[
        int,
        Field(
            ge=1,
            le=10**300,
            description="dimension of a patch, enters only through the initial correlations N(0, 1/d); assumed Omega(k^20); "
            "default makes sqrt(2 ln m / d) / rho = 0.3; at least 2 k",
        ),
    ]
    P: Annotated[int, Field(ge=2, le=10**12, description="patches per point; assumed Theta(k^2); default k^2, at least 2 C_P")]
    C_P: Annotated[int, Field(ge=1, le=_MOST, description="patches that carry each feature of the own class; assumed Theta(1); default 2")]
    Q: Annotated[int, Field(ge=1, le=_MOST, description="classes in the noise of a point; assumed Theta(1); default 2 (1 if k = 2), less than k")]
    N: Annotated[int, Field(ge=1, le=_MOST, description="training points; assumed large; default max(200, 10 k)")]
    alpha: Annotated[float, Field(ge=1, le=64, description="power of the smoothed ReLU; assumed 8; default 8")]
    rho: Annotated[float, Field(ge=1e-30, le=1e6, description="threshold of the smoothed ReLU; assumed Theta(1/k); default 1/k")]
    delta1: Annotated[float, Field(gt=0, le=1e6, description="least signal coefficient; assumed Theta(1); default 0.1")]
    delta2: Annotated[
        float, Field(gt=0, le=1e6, description="sum of the two signal coefficients of paired patches; assumed Theta(1); default 1, at least 2 delta1")
    ]
    delta3: Annotated[float, Field(ge=0, le=1e6, description="least noise coefficient; assumed Theta(k^-1.5); default 0.05 k^-1.5")]
    delta4: Annotated[float, Field(ge=0, le=1e6, description="largest noise coefficient; assumed Theta(k^-1.5); default 0.1 k^-1.5, at least delta3")]
    signal_layout: Annotated[
        Literal["random", "fixed"],
        Field(description="where the signal patches of a point lie: random = drawn for each point, fixed = the first 2 C_P positions"),
    ] = "random"
    noise: Annotated[
        Literal["codebook", "point", "patch"],
        Field(
            description="feature noise: codebook = one of G patterns, shared by the patches of a point; "
            "point = drawn for each point, shared by its patches; patch = classes drawn for each point, coefficients for each patch"
        ),
    ] = "codebook"
    G: Annotated[int, Field(ge=1, le=_MOST, description="patterns in the noise codebook (used when noise = codebook); default 25")] = 25
    beta_law: Annotated[
        _BetaLaws,
        Field(
            description='law of the signal coefficients on [delta1, delta2 - delta1], symmetric: {"kind": "uniform"}, '
            '{"kind": "beta", "a": 2} or {"kind": "discrete", "atoms": [0.5]}; one law, or a list of k laws, one per class'
        ),
    ] = UniformLaw()
    codebook_seed: Annotated[int, Field(ge=0, lt=2**128, description="fixes the noise codebook, a part of the distribution D; default 0")] = 0

    def __init__(self, **fields: Any) -> None:
        filled, wrong, bad = _with_defaults(fields), [], set()
        try:
            super().__init__(**filled)
            filled = dict(self)
        except ValidationError as error:
            wrong = [_describe(item) for item in error.errors()]
            bad = {str(item["loc"][0]) for item in error.errors() if item["loc"]}
        wrong += _contradictions({name: value for name, value in filled.items() if name not in bad})
        if wrong:
            raise UsageError(joined(wrong))

    def replace(self, **fields: Any) -> Parameters:
        """Return a copy with some fields changed, validated again; fields not named keep their present values."""
        return Parameters(**{**self.model_dump(), **fields})

    @classmethod
    def assumption_4_3(cls, k: int, **fields: Any) -> Parameters:
        """Return the literal Assumption 4.3 with every hidden constant 1: d = k^20, P = k^2, delta3 = delta4 = k^-1.5, rho = 1/k, alpha = 8.

        C_P = 2, Q = 2 (1 if k = 2), delta1 = 0.1 and delta2 = 1 are constants as assumed, N = max(200, 10 k). Any field can be overridden.
        """
        if isinstance(k, bool) or not isinstance(k, int) or not 2 <= k <= _MOST_CLASSES:
            raise UsageError(f"k={echo(k)}: must be an integer from 2 to {_MOST_CLASSES}")
        return cls(**{"k": k, "d": k**20, "delta3": k**-1.5, "delta4": k**-1.5, **fields})

    @classmethod
    def literal(cls, **fields: Any) -> Parameters:
        """Return the defaults with d = k^20 exactly, as Assumption 4.3 has it; ``k`` is required, any field can be overridden."""
        k = _number(fields.get("k"), least=2)
        return cls(**({} if k is None or k > _MOST_CLASSES else {"d": int(k) ** 20}) | fields)

    def _concentration(self) -> list[Deviation]:
        """List the law of beta if a set of Lebesgue measure 1 / (10 log k) can hold more than half of its probability."""
        share = min(1.0, 0.1 / math.log(max(self.k, 2)) / max(self.delta2 - 2.0 * self.delta1, 1e-300))
        laws = self.beta_law if isinstance(self.beta_law, tuple) else (self.beta_law,)
        probability = max(law.largest_probability(share) for law in laws)
        if probability <= 0.5:
            return []
        statement = f"the law of beta puts probability {probability:.2g} on a set of measure 1/(10 log k), Definition 4.1 asks for o(1)"
        return [Deviation("beta_law", f"{probability:.2g}", "anti-concentrated", statement)]

    def beta_law_of(self, y: int) -> BetaLaw:
        """Return the law of beta for class ``y``."""
        return self.beta_law[y] if isinstance(self.beta_law, tuple) else self.beta_law

    @property
    def r0(self) -> float:
        """Leading-order size of the largest of m initial correlations over the threshold, sqrt(2 ln m / d) / rho (m = 1 counts as 2)."""
        return math.sqrt(2.0 * math.log(max(self.m, 2))) / (math.sqrt(self.d) * self.rho)

    def deviations(self) -> list[Deviation]:
        """List the ways in which these parameters depart from Assumption 4.3 or Definition 4.1.

        A Theta that holds with constant 1 is not listed; one that holds with another constant is, with that constant, because at one k
        nothing but the constant can be seen. C_P, Q, delta1 and delta2 are Theta(1) at any value, and N has no scale to be compared with;
        of these only what takes away a part of the model is listed: no noise patches, a constant or nearly constant beta.
        """
        k = self.k
        found = []
        if self.d < k**20:
            literal_r0 = self.r0 * math.sqrt(self.d / k**20)
            statement = f"d = {self.d} instead of k^20 = {float(k) ** 20:.2g}; r0 = {self.r0:.3g} instead of {literal_r0:.2g}"
            found.append(Deviation("d", str(self.d), "Omega(k^20)", statement))
        scalings = [
            ("P", self.P, k**2, "Theta(k^2)", "k^2"),
            ("m", self.m, k, "Theta(k)", "k"),
            ("rho", self.rho, 1 / k, "Theta(1/k)", "1/k"),
            ("delta3", self.delta3, k**-1.5, "Theta(k^-1.5)", "k^-1.5"),
            ("delta4", self.delta4, k**-1.5, "Theta(k^-1.5)", "k^-1.5"),
        ]
        for name, value, scale, assumed, formula in scalings:
            if not math.isclose(value, scale, rel_tol=1e-12):
                found.append(Deviation(name, f"{value:g}", assumed, f"{name} = {value:.3g} = {value / scale:.3g} {formula}"))
        if self.alpha != 8:
            found.append(Deviation("alpha", f"{self.alpha:g}", "8", f"alpha = {self.alpha:g} instead of 8"))
        if self.P == 2 * self.C_P:
            found.append(Deviation("P", str(self.P), "P - 2 C_P noise patches", "no patch is left for feature noise"))
        elif self.P * self.delta3 < self.delta2:
            ratio = self.P * self.delta3 / self.delta2
            statement = f"P delta3 = {ratio:.3g} delta2 instead of >> delta2, so linear models can fit the data (Proposition 4.4)"
            found.append(Deviation("P delta3", f"{self.P * self.delta3:.3g}", ">> delta2", statement))
        found += self._concentration()
        return found


def check_parameters(value: Any) -> Parameters:
    """Return ``value`` if it is `Parameters`, or raise `UsageError`."""
    if not isinstance(value, Parameters):
        raise UsageError(f"parameters={echo(value)}: must be mvsim.Parameters(...)")
    return value


def _contradictions(values: dict[str, Any]) -> list[str]:
    """Say which fields contradict each other, among those that are right by themselves."""
    number = {name: found for name, value in values.items() if (found := _number(value, least=-math.inf)) is not None}
    noise, law = values.get("noise", "codebook"), values.get("beta_law")
    wrong = []

    def have(*names: str) -> bool:
        return all(name in number for name in names)

    if have("P", "C_P") and number["P"] < 2 * number["C_P"]:
        wrong.append(f"P={number['P']:g}: must be at least 2 C_P = {2 * number['C_P']:g}, the signal patches of a point")
    if have("d", "k") and number["d"] < 2 * number["k"]:
        wrong.append(f"d={number['d']:g}: must be at least 2 k = {2 * number['k']:g}, or the 2 k orthonormal features do not fit into R^d")
    if have("Q", "k") and number["Q"] >= number["k"]:
        wrong.append(f"Q={number['Q']:g}: must be less than k = {number['k']:g}, because the own class is never in the noise")
    elif have("Q", "k") and noise == "codebook":
        least = math.ceil(number["k"] / (number["k"] - number["Q"]))
        if _number(values.get("G", 25), least=1) is not None and float(values.get("G", 25)) < least:
            wrong.append(f"G={values['G']}: at least {least} patterns are needed so that every class has one without its own features")
    if have("delta1", "delta2") and 2 * number["delta1"] > number["delta2"]:
        half = number["delta2"] / 2
        wrong.append(f"delta1={number['delta1']:g}: must be at most delta2 / 2 = {half:g}, else [delta1, delta2 - delta1] is empty")
    if have("delta3", "delta4") and number["delta3"] > number["delta4"]:
        wrong.append(f"delta3={number['delta3']:g}: must be at most delta4 = {number['delta4']:g}")
    if have("k") and isinstance(law, (list, tuple)) and len(law) != number["k"]:
        wrong.append(f"beta_law has {len(law)} entries: give one law, or one for each of the k = {number['k']:g} classes")
    return wrong


def _with_defaults(fields: dict[str, Any]) -> dict[str, Any]:
    """Fill in the defaults that depend on other fields; leave anything malformed for the validator to name."""
    filled = dict(fields)
    k = _number(fields.get("k"), least=2)
    if k is None or k > _MOST_CLASSES:
        k = 2.0  # any legal value: the validator reports k itself, and the other fields still get checked
    k_int = int(k)
    filled.setdefault("m", k_int)
    filled.setdefault("C_P", 2)
    C_P = _number(filled["C_P"], least=1) or 1
    filled.setdefault("P", max(k_int**2, 2 * int(C_P)))
    filled.setdefault("Q", min(2, k_int - 1))
    filled.setdefault("N", max(200, 10 * k_int))
    filled.setdefault("alpha", 8.0)
    filled.setdefault("rho", 1.0 / k)
    m, rho = _number(filled["m"], least=1) or 1, min(_number(filled["rho"], least=1e-30) or 1.0, 1e6)
    filled.setdefault("d", max(2 * k_int, default_dimension(int(m), rho)))
    filled.setdefault("delta1", 0.1)
    filled.setdefault("delta2", 1.0)
    filled.setdefault("delta3", min(0.05 * k**-1.5, found if (found := _number(fields.get("delta4"), least=0)) is not None else math.inf))
    filled.setdefault("delta4", max(0.1 * k**-1.5, _number(filled["delta3"], least=0) or 0.0))
    return filled


def _number(value: Any, least: float) -> float | None:
    """Return ``value`` as a float if it is a usable number >= least, else None."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and number >= least else None


def _describe(item: Any) -> str:
    """Turn one pydantic error into ``field=value: what is allowed``."""
    tags = {"one law", "one law per class", "uniform", "beta", "discrete"}
    path = ".".join(str(part) for part in item["loc"] if part not in tags)
    field = Parameters.model_fields.get(str(item["loc"][0])) if item["loc"] else None
    if item["type"] == "missing" and field and len(item["loc"]) == 1:
        return f"{path}: is required, the {field.description}"
    if item["type"] == "extra_forbidden":
        known = "is not a parameter; the parameters are " + ", ".join(Parameters.model_fields)
        return f"{shortened(path)}: {known if field is None else 'is not known there'}"
    return describe_invalid(item, path)
