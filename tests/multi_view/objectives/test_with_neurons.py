"""The same loss of a network with fewer neurons: that of the whole one whose other neurons are 0."""

import numpy as np
import pytest
from activation_examples import example
from compare import assert_close
from looping import looping
from objective_cases import EVERYTHING_ROUNDOFF, LARGER, every_objective, larger, objective
from problems import BASE, Problem, random_correlations
from tolerances import HESSIAN_ROUNDOFF, ROUNDOFF

import mvsim
from mvsim.losses import LOSSES, AllPairs, CrossEntropy, ListedPairs, Unmixed
from mvsim.multi_view.activations import ACTIVATIONS
from mvsim.multi_view.kernels import KERNELS
from mvsim.multi_view.kernels.shared_noise.shared_noise_kernel import SharedNoiseKernel
from mvsim.multi_view.kernels.sums import GenericSum, without_neurons

P = mvsim.Parameters(**{**BASE, "k": 3, "m": 5, "N": 11, "P": 9, "G": 3})
RNG = np.random.default_rng(3)
POINTS = {
    "unmixed": Unmixed(),
    "midpoints": AllPairs(0.5),
    "pairs": AllPairs(0.7, both_orders=True),
    "listed": ListedPairs(*RNG.integers(P.N, size=(2, 9)), RNG.uniform(size=9)),
}


def made(kind=SharedNoiseKernel, noise="codebook", alpha=8.0):
    p = P.replace(noise=noise)
    return kind(p, mvsim.sample_dataset(p, 2), 2, example("smoothed_relu", alpha))


def beside_0(c, m):
    """Correlations of m neurons of each class, and of all, of which the others are 0."""
    whole = c.copy()
    whole[:, m:] = 0.0
    return c[:, :m].copy(), whole


@every_objective
@looping("kind", [kind for kind in LARGER if "codebook" in kind or kind in ("loud noise", "point")])
def test_with_fewer_neurons_the_loss_is_that_of_the_others_at_0(name, kind):
    problem = larger(kind)
    tested, p = objective(name, problem, "numba"), problem.parameters
    for m in range(1, p.m):
        few = tested.with_neurons(m)
        assert few.parameters == p.replace(m=m)
        (c, c_of_all), (v, v_of_all) = (beside_0(each, m) for each in (problem.c, problem.direction))
        found = few.loss(c), few.gradient(c), few.outputs(c), few.hessian_vector_product(c, v)
        expected = (
            tested.loss(c_of_all),
            tested.gradient(c_of_all)[:, :m],
            tested.outputs(c_of_all),
            tested.hessian_vector_product(c_of_all, v_of_all)[:, :m],
        )
        for one, other, rtol in zip(found, expected, EVERYTHING_ROUNDOFF, strict=True):
            assert_close(one, other, rtol)
        assert np.array_equal(few.escaped(c), tested.escaped(c_of_all)[:, :m])
        own, of_all = few.curvature(c), tested.curvature(c_of_all)
        assert (own is None) == (of_all is None)
        if own is not None:
            dense = of_all.dense(problem.c.size).reshape(*problem.c.shape, *problem.c.shape)[:, :m, :, :, :, :m]
            assert_close(own.dense(c.size), dense.reshape(c.size, c.size), HESSIAN_ROUNDOFF)


@every_objective
def test_the_whole_one_is_left_as_it_is(name):
    problem = larger("codebook")
    tested = objective(name, problem, "numba")
    before = tested.loss_and_gradient(problem.c)
    few = tested.with_neurons(1)
    few.loss_and_gradient(problem.c[:, :1].copy())
    after = tested.loss_and_gradient(problem.c)
    assert before[0] == after[0]
    assert np.array_equal(before[1], after[1])
    assert tested.parameters.m == tested.kernel.m == problem.parameters.m
    assert few.kernel.m == 1
    with pytest.raises(mvsim.UsageError, match="c"):
        few.loss(problem.c)


@looping("points", POINTS)
@looping("loss", LOSSES)
@looping("alpha", [8.0, 2.5])
def test_a_network_of_fewer_neurons_has_the_sums_of_the_others_at_0(points, loss, alpha):
    kernel, arguments = made(alpha=alpha), (POINTS[points], LOSSES[loss]())
    c_of_all, v_of_all = random_correlations(P, np.random.default_rng(4)), np.random.default_rng(5).standard_normal(P.correlations_shape)
    for m in (1, 3):
        few = kernel.with_neurons(m)
        (c, c_of_few), (v, v_of_few) = (beside_0(each, m) for each in (c_of_all, v_of_all))
        assert_close(few.outputs(c, POINTS[points]), kernel.outputs(c_of_few, POINTS[points]), ROUNDOFF)
        (value, gradient), (expected, of_all) = few.loss_and_gradient(c, *arguments), kernel.loss_and_gradient(c_of_few, *arguments)
        assert_close(value, expected, ROUNDOFF)
        assert_close(gradient, of_all[:, :m], ROUNDOFF)
        product, expected = few.hessian_vector_product(c, v, *arguments), kernel.hessian_vector_product(c_of_few, v_of_few, *arguments)
        assert_close(product, expected[:, :m], HESSIAN_ROUNDOFF)


def test_a_network_of_fewer_neurons_is_made_once_and_its_own_number_is_itself():
    kernel = made()
    assert kernel.with_neurons(5) is kernel
    assert kernel.with_neurons(2) is kernel.with_neurons(2)
    assert (kernel.with_neurons(2).m, kernel.m) == (2, 5)
    assert kernel.with_neurons(2).neurons.m == 2
    assert kernel.with_neurons(2).columns is not kernel.columns
    assert kernel.with_neurons(2).layout is kernel.layout


@looping("entry", [entry for entry in KERNELS if not entry.on_gpu])
def test_all_other_kernels_offer_no_other_network(entry):
    """What they do not offer, the objective does not."""
    offers = entry.load() is SharedNoiseKernel
    p = mvsim.Parameters(k=3, N=7, model="linear") if not entry.takes.data(mvsim.sample_dataset(P, 2)) else P
    kernel = entry.load()(p, mvsim.sample_dataset(p, 2), 1, example("smoothed_relu", 8.0) if p is P else ACTIVATIONS["identity"]())
    assert (kernel.with_neurons(2) is not None) == offers
    tested = mvsim.objective("erm", p, mvsim.sample_dataset(p, 2))
    tested.kernel = kernel
    assert (tested.with_neurons(2) is not None) == offers


@looping("neurons", [np.zeros((3, 0), int), np.array([[4, 0], [1, 2], [3, 4]])])
def test_without_some_neurons_the_others_are_as_they_were(neurons):
    c = random_correlations(P, np.random.default_rng(4)).reshape(3, 5, 6)
    kept = c.copy()
    without = without_neurons(c, neurons)
    assert np.array_equal(c, kept)
    kept[np.arange(3)[:, None], neurons] = 0.0
    assert np.array_equal(without, kept)


def test_outputs_beside_shift_loss_gradient_and_its_derivative():
    """As a bias of each output in each point."""
    kernel, c = made(), random_correlations(P, np.random.default_rng(4)).reshape(3, 5, 6)
    v, loss = np.random.default_rng(5).standard_normal((3, 5, 6)), CrossEntropy()
    beside = [np.random.default_rng(6).standard_normal((3, P.N))]
    total = GenericSum(kernel, Unmixed(), loss, beside)
    evaluation = kernel.evaluate(c, Unmixed())
    [batch] = evaluation.batches()
    outputs = evaluation.outputs(batch) + beside[0]
    expected = float(np.mean(loss.value(outputs, evaluation.targets(batch))))
    assert_close(total.loss(c), expected, ROUNDOFF)
    value, gradient = total.loss_and_gradient(c)
    assert_close(value, expected, ROUNDOFF)
    step = 1e-6
    slope = (total.loss(c + step * v) - total.loss(c - step * v)) / (2.0 * step)
    assert float(np.sum(gradient * v)) == pytest.approx(slope, rel=1e-6)
    change = (total.loss_and_gradient(c + step * v)[1] - total.loss_and_gradient(c - step * v)[1]) / (2.0 * step)
    assert_close(total.hessian_vector_product(c, v), change, 1e-5)


def test_where_outputs_are_few_those_of_the_others_are_formed_once(monkeypatch):
    """Under ERM all neurons are evaluated when some are asked for, and never again."""
    tested = objective("erm", Problem("few", P, mvsim.sample_dataset(P, 2), None, None), "numba")
    neurons, evaluated = np.array([[4, 0], [1, 2], [3, 4]]), []
    evaluate = SharedNoiseKernel.evaluate
    monkeypatch.setattr(SharedNoiseKernel, "evaluate", lambda kernel, *at: evaluated.append(kernel.m) or evaluate(kernel, *at))
    of_neurons = tested.of_neurons(random_correlations(P, np.random.default_rng(4)), neurons)
    assert evaluated == [5]
    for _ in range(3):
        of_neurons(np.ones((3, 2, 6)))
    assert evaluated == [5, 2, 2, 2]
