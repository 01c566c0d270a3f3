"""Training reaches the exact minimisers where it is long enough, and digits are split as they should be."""

import numpy as np
import pytest

from mvsim.papers.minimum_variance import definition_4_1, minimiser
from mvsim.papers.minimum_variance.digits_network import WIDTH, loss_and_gradient, train_network
from mvsim.papers.minimum_variance.figures import figure_1, figure_3, figure_5
from mvsim.papers.minimum_variance.training import METHODS, Protocol, exact, samples, train


def slow_adam(x, t, w, penalty, rate, steps):
    """Adam on all points at once, by its definition."""
    mean, square = np.zeros_like(w), np.zeros_like(w)
    for step in range(1, steps + 1):
        gradient = x.T @ (1.0 / (1.0 + np.exp(-x @ w)) - t) / len(t) + penalty * w
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        w = w - rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return w


def test_full_batches_follow_the_definition_of_adam():
    x, y = samples(definition_4_1(0.1, 0.2, 1.0), 2, 40)
    start = np.random.default_rng(1).uniform(-1.0, 1.0, 10) / np.sqrt(10)
    for method, strength, penalty, smoothing in (("decay", 0.03, 0.03, 0.0), ("smoothing", 0.2, 0.0, 0.1)):
        found = train(x, y, method, np.array([strength]), np.array([1]), 0.01, [25, 60], 40)[0]
        targets = smoothing + (1.0 - 2.0 * smoothing) * (y[1] + 1.0) / 2.0
        for kept, steps in zip(found, (25, 60), strict=True):
            assert kept == pytest.approx(slow_adam(x[1], targets, start, penalty, 0.01, steps), rel=1e-11)


def test_training_long_enough_reaches_the_exact_minimiser():
    d = definition_4_1(0.3, 0.2, 1.0, dimensions=(1, 1))
    x, y = samples(d, 1, 20_000)
    decayed = train(x, y, "decay", np.array([0.05]), np.array([0]), 0.01, [4000], 2000)[0, 0]
    found = minimiser(d, decay=0.05)
    assert decayed == pytest.approx([*found.w_L, *found.w_H], abs=0.03)
    mixed = train(x, y, "mixup", np.array([1.0]), np.array([0]), 0.05, [6000], 500)[0, 0]
    w_L, w_H, _ = exact(d, "mixup", 1.0)
    assert mixed == pytest.approx([*w_L, *w_H], abs=1.0)
    assert abs(mixed[1]) < 0.3 < abs(train(x, y, "mixup", np.array([1.0]), np.array([0]), 0.02, [100], 500)[0, 0, 1])


def test_same_seed_same_weights():
    x, y = samples(definition_4_1(0.1, 0.2, 1.0), 2, 100)
    protocol = Protocol(values=3, runs=2, epochs=2, batch=10)
    one, other = (protocol.train(x, y, 0.1) for _ in range(2))
    assert all(np.array_equal(one[method], other[method]) for method in METHODS)
    assert not np.array_equal(one["mixup"][1], one["mixup"][2])


def test_no_minimiser_without_augmentation():
    assert all(np.isnan(exact(definition_4_1(0.1, 0.2, 1.0), method, 0.0)[1]).all() for method in METHODS)


def test_digits():
    pytest.importorskip("sklearn")
    from mvsim.papers.minimum_variance.digits import split

    data = split(0.1, seed=0)
    assert data.x[:, 0] == pytest.approx(0.1 * data.y)
    assert (data.x.std(axis=0) > 0.0).all()
    assert data.x_test[:, 0].std() > 0.2
    assert abs(np.corrcoef(data.x_test[:, 0], data.y_test)[0, 1]) < 0.2
    errors = {}
    for name, options in {"decay": {"decay": 0.01}, "smoothing": {"smoothing": 0.05}, "mixup": {"mixing": 0.3}}.items():
        found = minimiser(data.distribution, bias=True, **options)
        errors[name] = float(data.test_error(np.concatenate([found.w_L, found.w_H]), np.array(found.bias)))
        assert (np.abs(found.w_H).max() <= 1e-9) == (name != "decay")
    assert errors["decay"] < 0.05
    assert min(errors["smoothing"], errors["mixup"]) > 0.35


def test_figures_show_exact_minimisers():
    figure = figure_1(Protocol(values=3, runs=2, epochs=1))
    assert len(figure.axes) == 6
    assert all(any(line.get_label() == "exact minimiser" for line in axes.lines) for axes in figure.axes[:3])
    assert "deviation over 2 runs" in [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    rates = [f"Adam, rate {rate}" for rate in ("0.001", "0.01", "0.1")]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [*rates, "exact minimiser"]
    pytest.importorskip("sklearn")
    figure = figure_3(Protocol(values=2, runs=1, epochs=1, batch=25))
    assert [axes.get_yscale() for axes in figure.axes] == ["log"] * 6


def test_gradient_of_the_network_on_digits():
    rng = np.random.default_rng(0)
    x, t = rng.normal(size=(7, 3)), rng.uniform(size=7)
    w, v = rng.normal(size=(2, WIDTH * 4 + WIDTH + 1))
    slope = (loss_and_gradient(w + 1e-6 * v, x, t, 0.1)[0] - loss_and_gradient(w - 1e-6 * v, x, t, 0.1)[0]) / 2e-6
    assert loss_and_gradient(w, x, t, 0.1)[1] @ v == pytest.approx(slope, rel=1e-7)


def test_networks_on_digits():
    pytest.importorskip("sklearn")
    from mvsim.papers.minimum_variance.digits import split

    weak, strong = split(0.1, seed=0), split(1.0, seed=0)
    smoothed, decayed = train_network(weak, "smoothing", 0.1, 0), train_network(weak, "decay", 0.1, 0)
    assert smoothed.output_variance(weak) < 1e-3 * decayed.output_variance(weak)
    assert smoothed.reliance(weak) == 0.0  # though its outputs hardly vary
    assert smoothed.test_error(weak) < 0.1
    for method, strength in (("smoothing", 0.1), ("mixup", 1.0)):
        network = train_network(strong, method, strength, 0)
        assert network.reliance(strong) > 0.9
        assert network.test_error(strong) > 0.3
    assert train_network(strong, "decay", 0.1, 0).test_error(strong) < 0.15
    panels = figure_5(Protocol(values=2, runs=1)).axes
    assert [axes.get_ylabel() for axes in panels][::3] == [r"$E\,\mathrm{Var}(g\,|\,y)$, $\gamma$ = 0.1", r"decided by the pixel, $\gamma$ = 0.1"]
