"""The vector field of an objective: which neurons it evaluates by themselves, and for how long they are those that can be stiff."""

import numpy as np
import pytest
from compare import assert_close
from tolerances import ROUNDOFF

import mvsim
from mvsim.runs.simulation.field import SOON, field_of

P = mvsim.Parameters(k=3, m=4, N=12, P=16)


@pytest.fixture(scope="module")
def objective():
    return mvsim.objective("midpoint", P, mvsim.sample_dataset(P, 0))


def with_own(objective, **own):
    """Small correlations but for some own ones: n01 is that of neuron 1 of class 0 with the first view, as a part of `stiff_from`."""
    c = 1e-3 * np.random.default_rng(0).standard_normal(P.correlations_shape)
    for name, part in own.items():
        y, r = int(name[1]), int(name[2])
        c[y, r, y, 0] = part * objective.stiff_from
    return c


def neurons_of(part):
    """The neurons whose coordinates a part has, all of each."""
    classes, neurons, *_ = np.unravel_index(part.positions.reshape(-1, 2 * P.k), P.correlations_shape)
    assert np.array_equal(part.positions.reshape(-1, 2 * P.k) % (2 * P.k), np.tile(np.arange(2 * P.k), (len(classes), 1)))
    return set(zip(classes[:, 0].tolist(), neurons[:, 0].tolist(), strict=True))


def test_a_part_has_the_neurons_that_have_escaped_or_soon_will_of_each_class_as_many(objective):
    part = field_of(objective).part(with_own(objective, n03=5.0, n01=SOON + 0.01, n12=1.01, n20=SOON - 0.01))
    chosen = neurons_of(part)
    assert len(part.positions) == 6 * 2 * P.k
    assert len(chosen) == 6
    assert chosen >= {(0, 1), (0, 3), (1, 2)}
    assert [sum(y == each for each, _ in chosen) for y in range(3)] == [2, 2, 2]


def test_before_anything_escapes_the_part_is_empty(objective):
    c = with_own(objective)
    part = field_of(objective).part(c)
    assert part.positions.shape == (0,)
    loss, gradient = part.loss_and_gradient(np.zeros(0))
    assert loss == pytest.approx(objective.loss(c), rel=ROUNDOFF)
    assert gradient.shape == (0,)
    assert part.is_whole_at(c)
    assert not part.is_whole_at(with_own(objective, n03=1.01))


def test_a_part_is_whole_until_another_neuron_has_escaped(objective):
    """So it is made anew well before that neuron is stiff, and not at every step while one is on the border."""
    part = field_of(objective).part(with_own(objective, n01=2.0, n11=2.0, n21=SOON + 0.01))
    assert neurons_of(part) == {(0, 1), (1, 1), (2, 1)}
    assert part.is_whole_at(with_own(objective, n01=2.0, n11=2.0, n21=1.5))
    assert part.is_whole_at(with_own(objective, n01=0.1, n11=2.0, n21=0.1))
    assert part.is_whole_at(with_own(objective, n01=2.0, n11=2.0, n21=1.0, n02=0.99))
    assert not part.is_whole_at(with_own(objective, n01=2.0, n11=2.0, n21=1.0, n02=1.01))


def test_a_part_is_the_loss_while_the_others_stay(objective):
    field, c = field_of(objective), with_own(objective, n03=5.0, n01=2.0, n12=1.01)
    part, moved = field.part(c), c.ravel().copy()
    moved[part.positions] += 0.1 * np.random.default_rng(1).standard_normal(len(part.positions))
    loss, gradient = part.loss_and_gradient(moved[part.positions])
    whole_loss, whole = field.loss_and_gradient(0, moved.reshape(c.shape))
    assert_close(loss, whole_loss, ROUNDOFF)
    assert_close(gradient, whole.ravel()[part.positions], ROUNDOFF, np.abs(whole).max())
