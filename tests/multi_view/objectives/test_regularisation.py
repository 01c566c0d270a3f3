"""Weight decay and label smoothing, against loops over weights in R^d, and what correlations leave out of weight decay."""

import numpy as np
import problems
import pytest
import reference
from compare import assert_close
from looping import looping
from objective_cases import every_backend
from scipy.integrate import solve_ivp
from tolerances import ROUNDOFF

import mvsim
from mvsim.losses import CrossEntropy, SmoothedLabels, SquaredError

DECAY, MASS = 0.3, 0.2
REGULARISED = {"weight_decay": DECAY, "label_smoothing": MASS}
STEP = 1e-6
MIXTURES = {
    "erm": lambda N: [(i, i, 1.0) for i in range(N)],
    "midpoint": lambda N: reference.all_pairs(N, 0.5),
    "mixup": lambda N: reference.all_pairs(N, 0.3),
}
OPTIONS = {"mixup": {"mixing": 0.3}}


def by_loops(problem, method):
    """The loss and its gradient in R^d: every label is written out as a vector over the classes."""
    weights, p = problem.weights, problem.parameters
    mixtures, loss, gradient = MIXTURES[method](len(problem.points)), 0.0, np.zeros_like(weights)
    for i, j, lam in mixtures:
        z = reference.mixed_point(problem.points[i], problem.points[j], lam)
        g = reference.outputs(weights, z, p.rho, p.alpha)
        log_phi, phi = reference.log_softmax(g), reference.softmax(g)
        for y in range(p.k):
            target = lam * (problem.data.labels[i] == y) + (1 - lam) * (problem.data.labels[j] == y)
            target = (1 - MASS) * target + MASS / p.k
            loss -= target * log_phi[y] / len(mixtures)
            for r in range(p.m):
                gradient[y, r] += (phi[y] - target) * reference.output_gradient(weights, z, y, r, p.rho, p.alpha) / len(mixtures)
    return loss + 0.5 * DECAY * np.sum(weights**2), gradient + DECAY * weights


def made(problem, method, backend="auto", **regularised):
    return mvsim.objective(method, problem.parameters, problem.data, backend, 1, **OPTIONS.get(method, {}), **regularised)


@every_backend
@pytest.mark.parametrize("method", MIXTURES)
def test_agrees_with_loops_in_all_of_space(method, backend):
    problem = problems.problem("random codebook")
    rest = reference.orthogonal_part(problem.weights, problem.features)
    assert np.sum(rest**2) > 0.1
    loss, gradient = by_loops(problem, method)
    objective = made(problem, method, backend, **REGULARISED)
    mine = objective.loss_and_gradient(problem.c)
    assert_close(mine[0], loss - 0.5 * DECAY * np.sum(rest**2), ROUNDOFF)
    assert_close(objective.loss(problem.c), mine[0], ROUNDOFF)
    assert_close(mine[1], reference.correlations(gradient, problem.features), ROUNDOFF)
    assert_close(reference.orthogonal_part(gradient, problem.features), DECAY * rest, ROUNDOFF)  # it decays by itself


@looping("method", MIXTURES)
def test_second_derivatives_and_single_neurons(method):
    problem = problems.problem("random point noise")
    objective, c, v = made(problem, method, **REGULARISED), problem.c, problem.direction
    difference = (objective.gradient(c + STEP * v) - objective.gradient(c - STEP * v)) / (2 * STEP)
    assert_close(objective.hessian_vector_product(c, v), difference, 1e-6)
    neurons = np.arange(problem.parameters.k)[:, None] % problem.parameters.m
    neurons[0] = -1  # the first class has none
    y, r = np.arange(1, problem.parameters.k), neurons[1:, 0]
    moved, moving = c.copy(), v.reshape(*v.shape[:2], -1)[:, :1].copy()
    moved[y, r] = moving[y, 0].reshape(moved[y, r].shape)
    loss, gradient = objective.of_neurons(c, neurons)(moving)
    whole = objective.loss_and_gradient(moved)
    assert_close(loss, whole[0], ROUNDOFF)
    assert_close(gradient[1:, 0].reshape(whole[1][y, r].shape), whole[1][y, r], ROUNDOFF)
    assert not gradient[0].any()


def test_smoothing_of_any_loss_is_the_loss_of_smoothed_labels():
    rng = np.random.default_rng(0)
    outputs, targets, tangent = rng.normal(size=(4, 6)), rng.dirichlet(np.ones(4), 6).T, rng.normal(size=(4, 6))
    for loss in (CrossEntropy(), SquaredError()):
        smoothed, spread = SmoothedLabels(loss, MASS), (1 - MASS) * targets + MASS / 4
        assert_close(smoothed.value(outputs, targets), loss.value(outputs, spread), ROUNDOFF)
        assert_close(smoothed.residual(outputs, targets), loss.residual(outputs, spread), ROUNDOFF)
        assert_close(smoothed.curvature(outputs, targets, tangent), loss.curvature(outputs, spread, tangent), ROUNDOFF)
    linear = CrossEntropy().value(outputs, targets) + MASS * ((targets - 0.25) * outputs).sum(axis=0)
    assert_close(SmoothedLabels(CrossEntropy(), MASS).value(outputs, targets), linear, ROUNDOFF)


@looping("options", [{"weight_decay": 1e-3}, {"label_smoothing": 0.1}])
def test_the_flow_is_that_of_the_regularised_loss(options):
    p = mvsim.Parameters(k=3, m=2, N=15, P=20, d=200, alpha=4)
    objective, c = mvsim.objective("erm", p, mvsim.sample_dataset(p, seed=0), **options), mvsim.initial_correlations(p, seed=0)
    run = mvsim.simulate(p, "erm", seed=0, t_end=1000.0, rtol=1e-6, n_test=2, **options)
    end = solve_ivp(lambda t, y: -objective.gradient(y.reshape(c.shape)).ravel(), (0.0, 1000.0), c.ravel(), method="LSODA", rtol=1e-9, atol=1e-12)
    expected = end.y[:, -1].reshape(c.shape)
    plain = mvsim.simulate(p, "erm", seed=0, t_end=1000.0, rtol=1e-6, n_test=2).final_correlations
    assert np.abs(plain - expected).max() > 1e-2 * np.abs(expected).max()
    assert_close(run.final_correlations, expected, 1e-4)


def test_a_run_says_what_it_is_trained_on():
    p = mvsim.Parameters(k=3, m=2, N=12, P=9, d=60, G=6)
    plain = mvsim.simulate(p, "midpoint", integrator="gd", eta=3.0, t_end=30.0, n_test=2)
    run = mvsim.simulate(p, "midpoint", integrator="gd", eta=3.0, t_end=30.0, n_test=2, **REGULARISED)
    assert {name: run.provenance["options"][name] for name in REGULARISED} == REGULARISED
    assert not REGULARISED.keys() & plain.provenance["options"].keys()
    assert {"weight_decay", "label_smoothing"} <= {one["name"] for one in run.provenance["regime"]}
    c, objective = mvsim.initial_correlations(p, seed=0), mvsim.objective("midpoint", p, mvsim.sample_dataset(p, seed=0), **REGULARISED)
    for _ in range(10):
        c = c - 3.0 * objective.gradient(c)
    assert np.array_equal(run.final_correlations, c)


@looping(("name", "value"), [("weight_decay", -1e-9), ("weight_decay", "x"), ("label_smoothing", 1.1), ("label_smoothing", float("nan"))])
def test_values_out_of_range_are_refused(name, value):
    with pytest.raises(mvsim.UsageError, match=f"^{name}="):
        mvsim.simulate(mvsim.Parameters(k=3), "erm", **{name: value})
