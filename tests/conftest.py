"""Fixtures shared by all tests, and the one Hypothesis profile: derandomised, so that the same commit gives the same outcome everywhere."""

import hypothesis
import problems
import pytest
from hypothesis import HealthCheck

hypothesis.settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=25,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],  # the first example of a test also waits for numba to compile
)
hypothesis.settings.load_profile("ci")


@pytest.fixture(params=sorted(problems.PARAMETERS))
def problem(request):
    """Every problem of problems.PARAMETERS in turn."""
    return problems.problem(request.param)


@pytest.fixture(params=["numpy", "numba"])
def backend(request):
    """Every CPU backend in turn."""
    return request.param
