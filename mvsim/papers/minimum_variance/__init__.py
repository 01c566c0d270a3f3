"""Label augmentation learns minimum-variance features (Chidambaram and Ge, arXiv 2402.06855, version 1), exactly.

===================  =====================================================================
`laws`               one-dimensional laws, their products, atoms
`distribution`       a law of (X_L, X_H, y), Definition 4.1
`margins`            max-margin directions and distances of convex hulls
`conditions`         what Definition 2.1 and the proofs ask for, each with its number
`losses`             cross-entropy with smoothed labels, with Mixup, weight decay
`minimisers`         exact minimisers, and where they lie at infinity
`output_variance`    lower bounds of the excess loss, for any model; `network_variance` for the two-layer network on multi-view data
`theorems`           what the paper states, with derivations, on one distribution
`counterexamples`    where it fails as written
`statements`         both, over a grid (`drawn_distributions`), with controls
`training`           the paper's experiments (`adam_loops`), `digits`, `digits_network`, `figures`
===================  =====================================================================
"""

from mvsim.papers.minimum_variance.conditions import Condition, check
from mvsim.papers.minimum_variance.distribution import Distribution, definition_4_1
from mvsim.papers.minimum_variance.laws import Atoms, Product, Uniform
from mvsim.papers.minimum_variance.margins import MaxMargin, max_margin
from mvsim.papers.minimum_variance.minimisers import Minimiser, minimiser
from mvsim.papers.minimum_variance.output_variance import OutputVariance, output_variance

__all__ = [
    "Atoms",
    "Condition",
    "Distribution",
    "MaxMargin",
    "Minimiser",
    "OutputVariance",
    "Product",
    "Uniform",
    "check",
    "definition_4_1",
    "max_margin",
    "minimiser",
    "output_variance",
]
