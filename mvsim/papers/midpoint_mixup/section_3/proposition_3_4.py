"""Proposition 3.4: the gradient of Midpoint Mixup on a lagging feature, pull = -<grad_{w_y} J_MM, v_{y,2}> >= Theta(1/k^2) if Delta_y >= log k.

Premises: <w_s, v_{u,l}> = 0 for s != u (cross-class orthogonality), Delta_y = <w_y, v_{y,1} - v_{y,2}> >= log k and <w_y, v_{y,1}> >= 0. Of
<w_y, v_{y,2}> >= 0 only the remark after the proposition speaks; where it is negative the pull is larger than at 0 with the same Delta_y, so that
nothing is lost with a = <w_y, v_{y,2}> >= 0. Of the own correlations of other classes nothing is supposed, they may be negative.
`mvsim.papers.midpoint_mixup.section_3.orthogonal` has the pull in closed form.

**Worst case.** phi_ij falls in h_j, so the pull grows with the weights of the other classes: at given w_y it tends to its least value as
<w_s, v_{s,l}> -> -infinity for all of them. It falls in a and in Delta_y. Where a or Delta_y is large class y takes every midpoint, 1 - 2 phi -> -1
and

    pull -> -(1/2N^2) (N - N_y) sum_i beta[i, 2],      about -1/(4k) :

against the statement. Its proof shows that <grad, v_{y,1} - v_{y,2}> >= Theta(1/k^2) in that case, which gives a bound on the pull only with a
premise that it does not state and Claim B.24 does, -<grad, v_{y,1}> >= 0. With it the expected pull is not negative, but it can be arbitrarily near
to 0: let class y take every midpoint with one half of the other classes (w_s = 0) and none with the other half (w_s large). Then 1 - 2 phi is -1 for
one half and 1 for the other, whatever beta is, and both components of the gradient cancel. If the halves have equally many points nothing is left.
Else a class is split between them, and it has points with an h_j among those of class y, at which the components do not cancel: the fewer, the larger
the weights are. With weights as large as here what is left falls with N.

**What holds.** (a) The lagging feature lags: <w_y, v_{y,2}> = 0, Delta_y = log k. Then e^(h_i/2) <= k^0.45, so that phi < 1/2 for all k >= 4 and
the pull is about 1/(4k), whatever the other classes do. For k = 3 it is positive where it was tried; for k = 2 no third class is left beside one
whose weights are very negative, and class y takes the midpoints. (b) All classes are alike: the own correlations of each are a + Delta and a, in some
order, with any a >= 0 and Delta >= log k. Then the pull is Theta(1/k), whatever the order is in which class; the worst is found exactly
(`worst_order`).

(a) extends to a up to a* = Theta(log k) at Delta_y = log k, and to Delta_y up to Delta* = Theta(log k) at a = 0. Both are measured. For
k -> infinity class y takes the midpoints of points with beta Delta_y > 2 log k, and half of the sum of 1 - beta belongs to beta < 1 - sqrt(0.41):
Delta* tends to 2 log k / (1 - sqrt(0.41)) = 5.56 log k. Beyond, the lagging feature is at 0 and is pushed down: the plainest counterexample to the
statement.

**Which class.** The statement is one for every y, so (a) and (b) are judged on the class of a sample with the least pull. The pull is about N_y / N
times a number, and the least N_y of k falls with k by itself: exponents of k are those of class 0, which is chosen before the points are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from mvsim.judging.verdict import Verdict, not_applicable
from mvsim.multi_view.parameters import Parameters
from mvsim.papers.midpoint_mixup.section_3.orthogonal import OneClass
from mvsim.papers.midpoint_mixup.section_3.sample import ONE, Sample, positive

LEAST = 1e-3
"""k^2 times the pull below this counts as 0. For k = 2 it is about 0.004 and grows with k; without variance of beta it is exponentially small."""

LARGEST = 30.0
"""Size up to which own correlations and gaps are considered, in units of log k."""

BEYOND = 10.0
"""A gap in units of log k beyond Delta*, at which the pull on a feature with correlation 0 is shown."""

FAR = 100.0 * LARGEST
"""Of the weights that split the other classes in two halves, in units of log k: the larger, the fewer points are between the halves."""


def at_worst_others(one: OneClass, a: float, gap: float) -> np.ndarray:
    """Return own correlations (k, 2): a + gap and a of class y, and -`LARGEST` of all others; in units of log k."""
    own = np.full((one.k, 2), -LARGEST)
    own[one.y] = a + gap, a
    return own * math.log(one.k)


Pull = Callable[[OneClass, np.ndarray], np.ndarray]


def midpoint_pull(one: OneClass, own: np.ndarray) -> np.ndarray:
    """Return (2,): the pull of Midpoint Mixup on both features of a class, for own correlations (k, 2) of all classes."""
    return one.midpoint_pull(own)


def worst_order(one: OneClass, a: float, gap: float) -> np.ndarray:
    """Return the own correlations (k, 2), a + gap and a in some order in every class, with the least pull of Midpoint Mixup on v_{y,2}.

    In class y the first feature leads. The pull is a sum over the points of the other classes, in which the order in class s is seen by its own
    points alone. So the best order of each class can be chosen for itself: of the two, the one with the lesser sum over its points.
    """
    own = np.tile([a + gap, a], (one.k, 1))
    swapped = own[:, ::-1].copy()
    swapped[one.y] = own[one.y]
    lesser = one.lagging_by_class(swapped) < one.lagging_by_class(own)
    own[lesser] = swapped[lesser]
    return own


A, GAP = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, LARGEST), (1.0, 1.5, 2.0, 4.0, 8.0, 16.0, LARGEST)
"""Grid on which the worst correlations are looked for while all classes are alike, in units of log k. The order of the views of each class is chosen
exactly; between the points of the grid nothing is known."""


def worst_pull_if_alike(one: OneClass, pull: Pull = midpoint_pull) -> tuple[float, float, float]:
    """Return the least pull on v_{y,2} while all classes are alike, and where it is.

    Over a >= 0 and gap >= log k, on the grid `A` x `GAP`, each with the `worst_order` for Midpoint Mixup.
    """
    unit = math.log(one.k)
    return min((float(pull(one, worst_order(one, a * unit, gap * unit))[1]), a, gap) for a in A for gap in GAP)


def pull_with_premise(one: OneClass) -> np.ndarray | None:
    """Return (2,): the pull at weights with -<grad, v_{y,1}> = 0 where other classes are in two halves; None where these cannot be made equal.

    One class, the last, goes to both halves: <w_s, v_{s,2}> = q is so large that points of it with beta below a border are in one half and the rest
    in the other one, and q is chosen such that the first component vanishes.
    """
    from scipy.optimize import brentq

    if one.k < 4:
        return None
    unit = math.log(one.k)
    own = np.zeros((one.k, 2))
    own[one.y] = (FAR + 1.0) * unit, FAR * unit
    sizes = np.bincount(one.classes, minlength=one.k)
    *others, last = sorted((s for s in range(one.k) if s != one.y), key=lambda s: -sizes[s])
    points = np.zeros(2)
    for s in others:  # the largest first, each into the smaller half
        half = int(points.argmin())
        points[half] += sizes[s]
        own[s] = half * 3.0 * FAR * unit

    def first_component(q: float) -> float:
        own[last] = 0.0, q
        return float(one.midpoint_pull(own)[0])

    most = 30.0 * FAR * unit
    if first_component(0.0) * first_component(most) > 0.0:
        return None
    first_component(float(brentq(first_component, 0.0, most, xtol=1e-12)))
    return one.midpoint_pull(own)


def largest_lagging(one: OneClass) -> float:
    """Return a* in units of log k: the <w_y, v_{y,2}> up to which no weights of other classes make the pull negative, at Delta_y = log k."""
    from scipy.optimize import brentq

    return float(brentq(lambda a: lagging_pull(one, a), 0.0, LARGEST)) if lagging_pull(one) > 0.0 else 0.0


def largest_gap(one: OneClass) -> float | None:
    """Return Delta* in units of log k: the Delta_y up to which no weights of other classes make the pull negative, with <w_y, v_{y,2}> = 0.

    None if they do at log k already.
    """
    from scipy.optimize import brentq

    return float(brentq(lambda gap: lagging_pull(one, 0.0, gap), 1.0, LARGEST)) if lagging_pull(one) > 0.0 else None


def lagging_feature(classes: Sequence[OneClass]) -> Verdict:
    """Decide that the worst pull on any class is positive while the lagging feature has correlation 0."""
    name = "lagging feature"
    statement = (
        "k^2 times the least -<grad_{w_y} J_MM, v_{y,2}> over y and the weights of other classes, with <w_y, v_{y,2}> = 0 and Delta_y = log k, "
        "is positive"
    )
    if classes[0].k == 2:
        return not_applicable(name, statement, "it is about many classes: with two, negative weights of the other one leave no third beside class y")
    worst = min(classes, key=lagging_pull)
    pull = lagging_pull(worst)
    detail = f"{_which(worst)}; k times it is {worst.k * pull:.4g}"
    return positive(name, statement, worst.k**2 * pull, LEAST, detail)


def lagging_pull(one: OneClass, a: float = 0.0, gap: float = 1.0) -> float:
    """Return the pull on v_{y,2} with <w_y, v_{y,2}> = a and Delta_y = gap, in units of log k, at the worst weights of other classes."""
    return float(one.midpoint_pull(at_worst_others(one, a, gap))[1])


def alike(classes: Sequence[OneClass], pull_of: Pull = midpoint_pull) -> Verdict:
    """Decide that the worst pull on any class is positive while all classes are alike; another pull is a control."""
    (pull, a, gap), worst = min(((worst_pull_if_alike(one, pull_of), one) for one in classes), key=lambda pair: pair[0])
    statement = (
        "k^2 times the least -<grad_{w_y} J_MM, v_{y,2}> over y with the own correlations a + Delta and a in all classes, Delta >= log k, is "
        f"positive on a grid of {len(A)} a and {len(GAP)} Delta up to {LARGEST:g} log k"
    )
    detail = f"{_which(worst)}; least at a = {a:g} log k, Delta = {gap:g} log k; k times it is {worst.k * pull:.4g}"
    return positive("classes alike", statement, worst.k**2 * pull, LEAST, detail)


def _which(one: OneClass) -> str:
    return f"class {one.y} with {len(one.beta)} of {one.N} points"


def of_one_class(one: OneClass) -> list[Verdict]:
    """Report both pulls on a class that was chosen before the points: the least over classes has an extreme number of points in it."""
    statement = "k^2 times the same pull on class {y} alone, whichever points it has"
    pulls = {"lagging feature": lagging_pull(one), "classes alike": worst_pull_if_alike(one)[0]}
    return [
        Verdict(f"{name}, one class", "measured", f"{name}: {statement.format(y=one.y)}", one.k**2 * pull, detail=_which(one))
        for name, pull in pulls.items()
    ]


def threshold(one: OneClass) -> Verdict:
    """Report up to which correlation of the lagging feature the statement holds for all weights of other classes."""
    statement = "a* / log k: no weights of other classes make -<grad_{w_y} J_MM, v_{y,2}> negative while <w_y, v_{y,2}> <= a*, at Delta_y = log k"
    return Verdict("range", "measured", statement, largest_lagging(one))


def gap_range(one: OneClass) -> Verdict:
    """Report up to which Delta_y the statement holds for all weights of other classes while the lagging feature has correlation 0."""
    statement = "Delta* / log k: no weights of other classes make -<grad_{w_y} J_MM, v_{y,2}> negative while Delta_y <= Delta*, at <w_y, v_{y,2}> = 0"
    return Verdict("largest gap", "measured", statement, largest_gap(one))


def with_premise(one: OneClass) -> Verdict:
    """Report the pull at weights that meet the premise of Claim B.24 as well."""
    pull = pull_with_premise(one)
    statement = "k^2 times -<grad_{w_y} J_MM, v_{y,2}> at weights with Delta_y = log k and -<grad, v_{y,1}> = 0 that make it nearly 0"
    name = "premise of Claim B.24"
    if pull is None:
        return Verdict(name, "measured", statement, detail="the halves of the other classes differ by more than the class that is split")
    detail = f"weights of {FAR:g} log k and more; what is left comes from the points of the class that is split, and falls with N and the weights"
    return Verdict(name, "measured", statement, one.k**2 * float(pull[1]), detail=detail)


def as_written(one: OneClass) -> Verdict:
    """Decide it over all admissible weights up to `LARGEST` log k, of which the worst have the largest a and Delta_y."""
    pull = lagging_pull(one, LARGEST, LARGEST)
    limit = -(1.0 - one.share) * float(one.beta[:, 1].sum()) / (2.0 * one.N)
    statement = (
        "k^2 times the least -<grad_{w_y} J_MM, v_{y,2}> over Delta_y >= log k, <w_y, v_{y,2}> >= 0 and the weights of other classes is positive"
    )
    where = f"<w_y, v_{{y,2}}> = {LARGEST:g} log k, Delta_y = {LARGEST:g} log k, all correlations of other classes -{LARGEST:g} log k"
    plain = f"with <w_y, v_{{y,2}}> = 0, Delta_y = {BEYOND:g} log k it is {one.k**2 * lagging_pull(one, 0.0, BEYOND):.4g}"
    missing = "missing is the premise of Claim B.24, -<grad, v_{y,1}> >= 0"
    detail = f"counterexample: {where}; {plain}; the limit is {one.k**2 * limit:.4g}; {missing}"
    return positive("as written", statement, one.k**2 * pull, LEAST, detail)


def proposition_3_4(parameters: Parameters, seed: int) -> list[Verdict]:
    """Judge the pull on the lagging feature in the worst case, where it holds on the worst class, and as written."""
    classes = OneClass.each_of(Sample(parameters, seed))
    one = classes[ONE]
    return [lagging_feature(classes), alike(classes), *of_one_class(one), threshold(one), gap_range(one), with_premise(one), as_written(one)]
