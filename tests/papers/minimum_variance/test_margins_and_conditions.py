"""Margins against a general quadratic program, and the conditions of Definition 2.1 with their numbers."""

import itertools

import numpy as np
import pytest
from papers.minimum_variance.examples import CE1, CE2, D1, D3, IMBALANCED, NOISY
from scipy.optimize import minimize

import mvsim
from mvsim.papers.minimum_variance import Atoms, Distribution, Product, Uniform, check, definition_4_1, max_margin, minimiser

PROGRAM = 1e-7  # SLSQP stops at about the root of its tolerance of 1e-15


def corners(law):
    return law.points if isinstance(law, Atoms) else np.array(list(itertools.product(*(u.ends for u in law.laws))))


def program(rows):
    """min |w|^2 subject to rows w >= 1, as a margin and a unit vector."""
    constraint = {"type": "ineq", "fun": lambda w: rows @ w - 1.0, "jac": lambda w: rows}
    w = minimize(
        lambda w: w @ w, rows.mean(axis=0), jac=lambda w: 2 * w, constraints=constraint, method="SLSQP", options={"ftol": 1e-15, "maxiter": 500}
    ).x
    return 1.0 / np.linalg.norm(w), w / np.linalg.norm(w)


def test_max_margin_is_that_of_a_quadratic_program():
    rng = np.random.default_rng(0)
    random = Distribution(
        {1: Atoms(rng.normal(size=(4, 2)) + 1), -1: Atoms(rng.normal(size=(3, 2)) - 1)}, {y: Atoms(rng.normal(size=(6, 3)) + 3 * y) for y in (1, -1)}
    )
    for d in (D1, D3, CE1, CE2, IMBALANCED, NOISY, random, definition_4_1(0.1, 0.2, 1.0, dimensions=(2, 3))):
        rows = np.array([y * np.concatenate([a, b]) for y in (1, -1) for a in corners(d.L[y]) for b in corners(d.H[y])])
        margin, w = program(rows)
        found = max_margin(d)
        assert found.margin == pytest.approx(margin, rel=PROGRAM)
        assert np.concatenate([found.w_L, found.w_H]) == pytest.approx(w, abs=PROGRAM)
        assert (rows @ np.concatenate([found.w_L, found.w_H])).min() == pytest.approx(found.margin, rel=1e-12)
        with_bias = max_margin(d, bias=True)
        scores = [corners_of @ np.concatenate([with_bias.w_L, with_bias.w_H]) + with_bias.bias for corners_of in classes(d)]
        assert scores[0].min() == pytest.approx(with_bias.margin, rel=1e-12)
        assert -scores[1].max() == pytest.approx(with_bias.margin, rel=1e-12)
        assert with_bias.margin >= found.margin - 1e-12


def classes(d):
    return [np.array([np.concatenate([a, b]) for a in corners(d.L[y]) for b in corners(d.H[y])]) for y in (1, -1)]


def test_many_atoms():
    rng = np.random.default_rng(3)
    d = Distribution({1: Atoms([0.1]), -1: Atoms([-0.1])}, {y: Atoms(rng.normal(size=(5000, 10)) + 3 * y) for y in (1, -1)})
    found = max_margin(d)
    scores = [y * (d.H[y].points @ found.w_H) + 0.1 * found.w_L[0] for y in (1, -1)]
    assert min(s.min() for s in scores) == pytest.approx(found.margin, rel=1e-11)
    assert sum((s <= found.margin * (1 + 1e-9)).sum() for s in scores) >= 2


def test_conditions_with_their_numbers():
    for d in (D1, CE1, CE2, definition_4_1(0.1, 0.2, 1.0)):
        assert [name for name, condition in check(d).items() if not condition.holds] == ([] if d not in (CE1, CE2) else ["M"])
    found = check(CE2)
    assert (found["M"].measured, found["M"].bound) == pytest.approx((0.1, 0.2), rel=1e-12)
    assert (found["separable H"].measured, found["separable H"].bound) == pytest.approx((0.6, 0.4), rel=1e-12)
    assert check(CE1)["M"].measured == 0.0
    assert check(D1)["H varies"].measured == pytest.approx(1 / 3, rel=1e-12)
    failing = {
        "balanced": IMBALANCED,
        "mean zero": IMBALANCED,
        "constant L": NOISY,
        "opposite L": Distribution({1: Atoms([0.5]), -1: Atoms([-0.4])}, D1.H),
        "H varies": Distribution(D1.L, {y: Atoms([[y, y]]) for y in (1, -1)}),
        "convex H": D3,
        "separable H": Distribution({1: Atoms([2.5]), -1: Atoms([-2.5])}, D1.H),
    }
    assert [name for name, d in failing.items() if check(d)[name].holds] == []


BAD = {
    "weights": lambda: Atoms([[1.0], [2.0]], [0.5, 0.4]),
    "weights: has shape": lambda: Atoms([[0.3, 0.4]], [0.5, 0.5]),
    "points": lambda: Atoms([], []),
    "points=": lambda: Atoms([[np.nan]]),
    "Uniform": lambda: Uniform(3, 1),
    "laws": lambda: Product([]),
    "H: the convex hulls": lambda: Distribution(D1.L, {1: Product([Uniform(1, 3)]), -1: Product([Uniform(-3, 1.5)])}),
    "L: both classes": lambda: Distribution({1: Atoms([0.0]), -1: Atoms([0.0])}, D1.H),
    "H[-1]=": lambda: Distribution(D1.L, {1: D1.H[1], -1: 3.0}),
    "L=": lambda: Distribution({1: Atoms([1.0])}, D1.H),
    "H: has": lambda: Distribution(D1.L, {1: D1.H[1], -1: Atoms([[-1.0, 0.0]])}),
    "prior": lambda: Distribution(D1.L, D1.H, prior=1.0),
    "gamma": lambda: definition_4_1(0.0, 0.2, 1.0),
    "a=": lambda: definition_4_1(0.1, -0.2, 1.0),
    "mixing": lambda: mvsim.papers.minimum_variance.minimiser(D1, mixing=1.5),
    "mixing: the distribution": lambda: mvsim.papers.minimum_variance.minimiser(D1, mixing={"distribution": "uniform", "args": [0, 2]}),
    "decay": lambda: mvsim.papers.minimum_variance.minimiser(D1, decay=-1.0),
    "smoothing": lambda: mvsim.papers.minimum_variance.minimiser(D1, smoothing=0.6),
}


@pytest.mark.parametrize("field", BAD)
def test_bad_input_is_one_line_that_names_the_field(field):
    with pytest.raises(mvsim.UsageError) as error:
        BAD[field]()
    assert str(error.value).startswith(field)
    assert "\n" not in str(error.value)


def test_no_hyperplane_through_the_origin():
    d = Distribution({1: Atoms([0.5, -0.4]), -1: Atoms([-0.5, 0.7])}, {1: Product([Uniform(2, 4)]), -1: Product([Uniform(-7, 1)])})
    with pytest.raises(mvsim.UsageError, match="through the origin"):
        max_margin(d)
    assert max_margin(d, bias=True).margin > 0.0


def test_what_is_no_distribution_is_refused():
    for function in (check, max_margin, minimiser):
        with pytest.raises(mvsim.UsageError, match="distribution='D1': must be a Distribution"):
            function("D1")
    with pytest.raises(mvsim.UsageError, match="bias='yes': must be True or False"):
        minimiser(D1, bias="yes")
