"""The fields of `mvsim.Parameters`, with their letters and domains, and what follows from each by itself."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from mvsim.multi_view.parameters.beta_laws import BetaLaw, UniformLaw
from mvsim.multi_view.parameters.defaults import PATTERNS
from mvsim.multi_view.parameters.models import MODELS, Model
from mvsim.multi_view.parameters.numbers import MOST, MOST_CLASSES, MOST_VIEWS


def _one_law_or_many(value: Any) -> str:
    return "one law per class" if isinstance(value, (list, tuple)) else "one law"


_BetaLaws = Annotated[
    Annotated[BetaLaw, Tag("one law")] | Annotated[tuple[BetaLaw, ...], Tag("one law per class")],
    Discriminator(_one_law_or_many),
]


class Fields(BaseModel):
    """What `mvsim.Parameters` holds."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=False, revalidate_instances="always")

    k: Annotated[int, Field(ge=2, le=MOST_CLASSES, description="number of classes")]
    model: Annotated[
        Literal["network", "linear"],
        Field(
            description="network = Definitions 4.1 and 4.2; linear = one weight vector for each class on the data of Definition 3.1, "
            "with k, N, d, V, delta1, delta2 and beta_law only"
        ),
    ] = "network"
    m: Annotated[int, Field(ge=1, le=MOST, description="neurons per class; assumed Theta(k); default k")]
    d: Annotated[
        int,
        Field(
            ge=1,
            le=10**300,
            description="dimension of a patch, enters only through the initial correlations N(0, 1/d); assumed Omega(k^20); "
            "default makes sqrt(2 ln m / d) / rho = 0.34 k^-0.22; at least V k",
        ),
    ]
    P: Annotated[
        int,
        Field(
            ge=1,
            le=10**14,
            description="patches per point; assumed Theta(k^2); default: the least of 12 k^2 and 4800, or k^2 or V C_P if that is more. With few "
            "patches those that carry the signal coincide in most pairs of points, and Midpoint Mixup takes longer",
        ),
    ]
    C_P: Annotated[int, Field(ge=1, le=MOST, description="patches that carry each feature of the own class; assumed Theta(1); default 2")]
    V: Annotated[int, Field(ge=1, le=MOST_VIEWS, description="views, that is features, of a class; Definition 4.1 has 2; default 2")] = 2
    Q: Annotated[int, Field(ge=1, le=MOST, description="classes in the noise of a point; assumed Theta(1); default 2 (1 if k = 2), less than k")]
    N: Annotated[int, Field(ge=1, le=MOST, description="training points; assumed large; default max(400, min(6 k^1.5, 500), 10 k)")]
    alpha: Annotated[float, Field(ge=1, le=64, description="power of the smoothed ReLU; assumed 8; default 8")]
    rho: Annotated[float, Field(ge=1e-30, le=1e6, description="threshold of the smoothed ReLU; assumed Theta(1/k); default 1/k")]
    delta1: Annotated[float, Field(gt=0, le=1e6, description="least signal coefficient; assumed Theta(1); default 0.1")]
    delta2: Annotated[
        float, Field(gt=0, le=1e6, description="sum of the V signal coefficients of paired patches; assumed Theta(1); default 1, at least V delta1")
    ]
    delta3: Annotated[float, Field(ge=0, le=1e6, description="least noise coefficient; assumed Theta(k^-1.5); default 0.05 k^-1.5")]
    delta4: Annotated[float, Field(ge=0, le=1e6, description="largest noise coefficient; assumed Theta(k^-1.5); default 0.1 k^-1.5, at least delta3")]
    signal_layout: Annotated[
        Literal["random", "fixed"],
        Field(description="where the signal patches of a point lie: random = drawn for each point, fixed = the first V C_P positions"),
    ] = "random"
    noise: Annotated[
        Literal["codebook", "point", "patch"],
        Field(
            description="feature noise: codebook = one of G patterns, shared by the patches of a point; "
            "point = drawn for each point, shared by its patches; patch = classes drawn for each point, coefficients for each patch"
        ),
    ] = "codebook"
    G: Annotated[int, Field(ge=1, le=MOST, description="patterns in the noise codebook (used when noise = codebook); default 25")] = PATTERNS
    beta_law: Annotated[
        _BetaLaws,
        Field(
            description='law of the signal coefficients on [delta1, delta2 - delta1], symmetric: {"kind": "uniform"}, '
            '{"kind": "beta", "a": 2} or, for V = 2, {"kind": "discrete", "atoms": [0.5]}, where 0 is delta1 and 1 is delta2 - delta1; '
            '{"kind": "separate", "ranges": [[1, 1], [0.4, 1.6]]} draws each view by itself; one law, or a list of k laws, one per class'
        ),
    ] = UniformLaw()
    codebook_seed: Annotated[int, Field(ge=0, lt=2**128, description="fixes the noise codebook, a part of the distribution D; default 0")] = 0

    def beta_law_of(self, y: int) -> BetaLaw:
        """Return the law of beta for class ``y``."""
        return self.beta_law[y] if isinstance(self.beta_law, tuple) else self.beta_law

    @property
    def r0(self) -> float:
        """Leading-order size of the largest of m initial correlations over the threshold, sqrt(2 ln m / d) / rho (m = 1 counts as 2)."""
        return math.sqrt(2.0 * math.log(max(self.m, 2))) / (math.sqrt(self.d) * self.rho)

    @property
    def correlations_shape(self) -> tuple[int, int, int, int]:
        """(k, m, k, V): the shape of correlations c[y, r, s, l]."""
        return self.k, self.m, self.k, self.V

    @property
    def features(self) -> int:
        """The number F = V k of features."""
        return self.V * self.k

    @property
    def described(self) -> Model:
        """What the model consists of."""
        return MODELS[self.model]

    @property
    def signal_patches(self) -> int:
        """How many patches of a point carry features of its own class: V C_P, and C_P if all views of a signal lie in one patch."""
        return self.described.signal_patches(self.V, self.C_P)

    @property
    def largest_signal(self) -> float:
        """The largest signal coefficient there can be, delta2 - (V - 1) delta1."""
        return self.delta2 - (self.V - 1) * self.delta1
