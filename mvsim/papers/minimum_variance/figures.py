"""Figures of the paper, drawn from scratch, with the exact minimisers beside what training reaches; 4 and 5 with networks of two layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mvsim.papers.minimum_variance.digits import CLASSES, Split, split
from mvsim.papers.minimum_variance.digits_network import Network, train_network
from mvsim.papers.minimum_variance.distribution import Distribution, definition_4_1
from mvsim.papers.minimum_variance.training import METHODS, Protocol, exact, samples, train
from mvsim.pictures.style import METHODS as METHOD_COLOURS
from mvsim.pictures.style import OTHER_METHOD, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GAMMA, LOW, HIGH = 0.1, 0.2, 1.0
"""Definition 4.1 of Figures 1 and 6: X_L = y gamma, y X_H from U[low, high]. The numbers of version 1 are lost."""

POINTS, SLOW, FAST = 5000, 0.001, 0.1
"""Training points of a run, and two learning rates of Adam: the standard one, at which 100 epochs are too few, and one at which they suffice."""

TRACED_RATES, TRACED_LENGTH = (0.001, 0.01, 0.1), 10
"""Learning rates of the runs that are shown during training, and how many times longer they are than those of the paper."""

NOISE = 0.1
"""Half the width of the noise in Figures 6 and 7, relative to gamma."""

DIGITS = Protocol(batch=25)
"""Training on digits: ten steps of Adam in an epoch."""

NETWORKS = Protocol(values=5, runs=3)
"""Strengths and runs of networks; their steps are no epochs."""

NAMES = {"decay": "Weight decay", "smoothing": "Label smoothing", "mixup": "Mixup"}
STRENGTHS = {
    "decay": r"weight decay $\beta$",
    "smoothing": r"label smoothing $\alpha = 2\varepsilon$",
    "mixup": r"$\alpha$ of Beta($\alpha$, $\alpha$)",
}
COLOURS = {"decay": METHOD_COLOURS["erm"], "smoothing": OTHER_METHOD, "mixup": METHOD_COLOURS["mixup"]}

Quantity = tuple[str, Callable[[Split, np.ndarray, np.ndarray], np.ndarray]]
"""A label, and what it is of a split, weights (..., pixels) and biases (...)."""

TEST_ERROR: Quantity = "test error", lambda data, w, bias: data.test_error(w, bias)
RATIO: Quantity = (
    r"$|w_\mathrm{pixel}|\,/\,|w_\mathrm{rest}|$",
    lambda data, w, bias: np.abs(w[..., 0]) / np.linalg.norm(w[..., 1:], axis=-1),
)


def figure_1(protocol: Protocol | None = None, noise: float = 0.0) -> Figure:
    """Draw Figure 1, |w_H| against the strength of each method; below it |w_H| during training, which the paper does not show.

    ``noise`` is half the width of uniform noise on every coordinate of X_L.
    """
    protocol = protocol or Protocol()
    distribution = definition_4_1(GAMMA, LOW, HIGH, noise=noise)
    low = distribution.L[1].dimension
    x, y = samples(distribution, protocol.runs, POINTS)
    with styled():
        figure, grid = _page(2)
        for rate, style in ((FAST, "-"), (SLOW, (0, (1, 1)))):
            trained = protocol.train(x, y, rate)
            for axes, method in zip(grid[0], METHODS, strict=True):
                norms = np.linalg.norm(trained[method][..., low:], axis=-1)
                _band(axes, protocol.strengths(method), norms, COLOURS[method], style, f"Adam, rate {rate:g}")
        for axes, method in zip(grid[0], METHODS, strict=True):
            strengths = protocol.strengths(method)
            _exact(axes, strengths, [float(np.linalg.norm(exact(distribution, method, value)[1])) for value in strengths])
            axes.set_title(NAMES[method])
            axes.set_xlabel(STRENGTHS[method])
        for axes, method in zip(grid[1], METHODS, strict=True):
            _during_training(axes, distribution, method, protocol, x[:1], y[:1])
        _one_scale(grid[0], r"$|w_H|$ after training")
        _one_scale(grid[1], r"$|w_H|$ during training")
        _key(grid[0][0], protocol.runs)
        key = figure.legend(handles=grid[1][0].get_lines()[:-1], loc="outside lower center", ncols=4)
        for line in key.get_lines():
            line.set_color("black")
    return figure


def figure_6(protocol: Protocol | None = None) -> Figure:
    """Draw Figure 6: Figure 1 with uniform noise on the coordinates of X_L, in +-gamma / 10.

    Under Mixup the exact minimisers are left out: with the noise there are too many pairs.
    """
    return figure_1(protocol, noise=NOISE * GAMMA)


def figure_2(protocol: Protocol = DIGITS) -> Figure:
    """Draw Figure 2: the test error on two digits after training with an identifying pixel y gamma, gamma = 0.1 and 1."""
    return _digits(protocol, [(gamma, 0.0, TEST_ERROR) for gamma in (0.1, 1.0)])


def figure_3(protocol: Protocol = DIGITS) -> Figure:
    """Draw Figure 3: the weight of the identifying pixel relative to that of the others, gamma = 0.1 and 1."""
    return _digits(protocol, [(gamma, 0.0, RATIO) for gamma in (0.1, 1.0)])


def figure_7(protocol: Protocol = DIGITS) -> Figure:
    """Draw Figure 7: Figures 2 and 3 at gamma = 0.1 with uniform noise on the identifying pixel, in +-gamma / 10.

    Under Mixup the exact minimisers are left out: with the noise there are too many pairs.
    """
    return _digits(protocol, [(0.1, 0.01, TEST_ERROR), (0.1, 0.01, RATIO)])


def figure_4(protocol: Protocol = NETWORKS) -> Figure:
    """Draw the test error of a two-layer network on the digits, in place of Figure 4 on residual networks, gamma = 0.1 and 1."""
    return _networks(protocol, [(gamma, "test error", Network.test_error) for gamma in (0.1, 1.0)])


def figure_5(protocol: Protocol = NETWORKS) -> Figure:
    """Draw the output variance of the same networks, in place of Figure 5, and the share of training points that the pixel decides, gamma = 0.1."""
    return _networks(protocol, [(0.1, r"$E\,\mathrm{Var}(g\,|\,y)$", Network.output_variance), (0.1, "decided by the pixel", Network.reliance)])


def _networks(protocol: Protocol, rows: Sequence[tuple[float, str, Callable[[Network, Split], float]]]) -> Figure:
    """Draw one row for each gamma and quantity of networks."""
    with styled():
        figure, grid = _page(len(rows))
        for row, (gamma, label, quantity) in enumerate(rows):
            data = [split(gamma, seed) for seed in range(protocol.runs)]
            for axes, method in zip(grid[row], METHODS, strict=True):
                strengths = protocol.strengths(method)
                values = [[quantity(train_network(one, method, strength, seed), one) for seed, one in enumerate(data)] for strength in strengths]
                _band(axes, strengths, np.array(values), COLOURS[method], "-", "")
                axes.set_title(NAMES[method] if row == 0 else "")
                axes.set_xlabel(STRENGTHS[method] if row == len(rows) - 1 else "")
            _one_scale(grid[row], f"{label}, $\\gamma$ = {gamma:g}")
        figure.suptitle(f"A two-layer network on the digits {CLASSES[0]} and {CLASSES[1]} with an identifying pixel", fontsize=9)
    return figure


def _digits(protocol: Protocol, rows: Sequence[tuple[float, float, Quantity]]) -> Figure:
    """Draw one row for each gamma, noise and quantity."""
    with styled():
        figure, grid = _page(len(rows))
        for row, (gamma, noise, (label, quantity)) in enumerate(rows):
            data = [split(gamma, seed, noise) for seed in range(protocol.runs)]
            trained = protocol.train(np.stack([one.x for one in data]), np.stack([one.y for one in data]).astype(float), FAST, bias=True)
            for axes, method in zip(grid[row], METHODS, strict=True):
                w, strengths = trained[method], protocol.strengths(method)
                reached = np.stack([quantity(one, w[:, run, :-1], w[:, run, -1]) for run, one in enumerate(data)], axis=1)
                _band(axes, strengths, reached, COLOURS[method], "-", f"Adam, rate {FAST:g}")
                _exact(axes, strengths, [_exact_mean(data, quantity, method, value) for value in strengths])
                axes.set_title(NAMES[method] if row == 0 else "")
                axes.set_xlabel(STRENGTHS[method] if row == len(rows) - 1 else "")
                if label == RATIO[0]:
                    axes.set_yscale("log")
            _one_scale(grid[row], f"{label}, $\\gamma$ = {gamma:g}")
        _key(grid[0][0], protocol.runs)
        figure.suptitle(f"Digits {CLASSES[0]} and {CLASSES[1]} with an identifying pixel $y\\gamma$ in the training data", fontsize=9)
    return figure


def _exact_mean(data: Sequence[Split], quantity: Callable[..., Any], method: str, strength: float) -> float:
    """Return the mean of a quantity over the exact minimisers on all splits."""
    values = []
    for one in data:
        w_L, w_H, bias = exact(one.distribution, method, strength, bias=True)
        with np.errstate(divide="ignore"):  # w_H = 0
            values.append(float(quantity(one, np.concatenate([w_L, w_H]), np.array(bias))) if np.isfinite(w_L).all() else np.nan)
    return float(np.mean(values))


def _during_training(axes: Axes, distribution: Distribution, method: str, protocol: Protocol, x: np.ndarray, y: np.ndarray) -> None:
    """Draw |w_H| of one run against the steps of Adam, at a quarter of the strengths of the method and several rates."""
    low = distribution.L[1].dimension
    strength = float(protocol.strengths(method)[protocol.values // 4])
    last = protocol.steps(x.shape[1])
    records = np.unique(np.geomspace(1, TRACED_LENGTH * last, 60).astype(int)).tolist()
    for rate, style in zip(TRACED_RATES, ((0, (1, 1)), (0, (4, 1.5)), "-"), strict=True):
        w = train(x, y, method, np.array([strength]), np.array([0]), rate, records, protocol.batch_of(x.shape[1]))[0]
        axes.plot(records, np.linalg.norm(w[:, low:], axis=1), color=COLOURS[method], linestyle=style, label=f"Adam, rate {rate:g}")
    axes.axhline(float(np.linalg.norm(exact(distribution, method, strength)[1])), color="black", linewidth=0.8, label="exact minimiser")
    axes.axvline(last, color="black", linewidth=0.6, linestyle=":")
    axes.annotate(f"{protocol.epochs} epochs", (last, 1.0), xycoords=("data", "axes fraction"), ha="center", va="bottom", fontsize=6.5)
    axes.set_xscale("log")
    axes.set_xlabel("steps of Adam")
    axes.set_title(f"{STRENGTHS[method]} = {strength:.3g}", fontsize=8, pad=10)


def _page(rows: int) -> tuple[Figure, np.ndarray]:
    """Return a figure as wide as a page, with three columns of axes."""
    from mvsim.pictures.output import Picture

    figure = Picture(figsize=(6.8, 0.6 + 1.9 * rows))
    return figure, figure.subplots(rows, 3, squeeze=False)


def _band(axes: Axes, strengths: np.ndarray, values: np.ndarray, colour: str, style: Any, label: str) -> None:
    """Draw the mean over runs, and one standard deviation around it; ``values`` are (strengths, runs)."""
    mean, deviation = values.mean(axis=1), values.std(axis=1)
    axes.fill_between(strengths, np.maximum(mean - deviation, mean / 100.0), mean + deviation, color=colour, alpha=0.2, linewidth=0)
    axes.plot(strengths, mean, color=colour, linestyle=style, label=label)


def _key(axes: Axes, runs: int) -> None:
    """Name lines, dots and shading."""
    from matplotlib.patches import Patch

    handles, _ = axes.get_legend_handles_labels()
    shading = Patch(color=COLOURS[METHODS[0]], alpha=0.2, linewidth=0, label=f"deviation over {runs} runs")
    axes.legend(handles=[*handles, shading])


def _exact(axes: Axes, strengths: np.ndarray, values: Sequence[float]) -> None:
    """Draw exact minimisers, an infinite value at the upper end of the axes; where they lie at infinity there is none."""
    dots: dict[str, Any] = {"color": "black", "linestyle": "none", "markersize": 3, "clip_on": False, "zorder": 3}
    axes.plot(strengths, np.where(np.isfinite(values), values, np.nan), marker=".", label="exact minimiser", **dots)
    infinite = strengths[np.isinf(values)]
    if len(infinite):
        axes.plot(infinite, np.ones(len(infinite)), marker="^", transform=axes.get_xaxis_transform(), **dots)
        axes.annotate("exact: infinite", (0.5, 0.96), xycoords="axes fraction", ha="center", va="top", fontsize=7)


def _one_scale(axes: Sequence[Axes], label: str) -> None:
    """Give a row of axes the same range and one label."""
    ends = [one.get_ylim() for one in axes]
    logarithmic = axes[0].get_yscale() == "log"
    for one in axes:
        one.set_ylim(min(low for low, _ in ends) if logarithmic else 0.0, (4.0 if logarithmic else 1.0) * max(high for _, high in ends))
        one.tick_params(labelleft=one is axes[0])
    axes[0].set_ylabel(label)
