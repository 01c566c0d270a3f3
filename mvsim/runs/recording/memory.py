"""How many bytes the test of Definition 4.5 needs, and whether they are there."""

from __future__ import annotations

from mvsim.multi_view.data.memory import allowed_patterns
from mvsim.multi_view.kernels import entry_for_draws
from mvsim.multi_view.kernels.needs import NeedsOfTest
from mvsim.multi_view.memory_limits import check_fits
from mvsim.multi_view.parameters import Parameters


def needs_of_test(p: Parameters, n_test: int, backend: str) -> NeedsOfTest:
    """Return the doubles that stay for the fresh draws, and those of drawing and of evaluating them."""
    draws = p.k * n_test
    needs = entry_for_draws(p, backend).needs_of_test(p, draws)
    return NeedsOfTest(needs.stays, max(needs.once, allowed_patterns(p, draws)))


def check_test_memory(parameters: Parameters, n_test: int, backend: str) -> int:
    """Return the predicted bytes of a test of feature learning, or raise `UsageError` if they are not there."""
    return check_fits(parameters, lambda p: 8 * sum(needs_of_test(p, n_test, backend)), f" for {n_test} draws of each class")
